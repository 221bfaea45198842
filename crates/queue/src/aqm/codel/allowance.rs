//! The drops that a lane may make: one packet for `spacing` packets that it passed.
//!
//! Each passed packet pays a `spacing`th of a drop. A lane saves at least eight drops, and as many
//! as it can send packets in the time `deadline` at its greatest recent rate: a radio that slows
//! down leaves that many late packets in the lane, which are dropped at once.
//!
//! Two kinds of packets need no allowance. The first have waited for ten deadlines, which bounds
//! the queue of a sender that never reacts. The second are smaller than half of the MTU: bulk
//! senders fill their packets, and a call that sends more than its share reacts only to losses.

use super::CoDelConfig;
use justfull_base::{Duration, Packet};

/// Drops that may always be saved.
const LEAST_SAVED: u32 = 8;
/// Deadlines after which a drop needs no allowance.
const DEADLINES: u64 = 10;

/// Packets passed that no drop has used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowance(u32);

impl Allowance {
    /// True when `packet`, which has waited for `sojourn`, may be dropped.
    pub(super) fn is_enough(
        self,
        config: &CoDelConfig,
        packet: &Packet,
        sojourn: Duration,
    ) -> bool {
        let deadline = config.deadline;
        let too_late = !deadline.is_zero() && sojourn >= deadline.times(DEADLINES);
        self.0 >= config.spacing || too_late || u64::from(packet.size) < config.mtu.0 / 2
    }

    /// A packet was dropped.
    pub(super) fn spend(&mut self, spacing: u32) {
        self.0 = self.0.saturating_sub(spacing);
    }

    /// A packet was passed; `rate` is the lane's greatest rate of late in bytes a second.
    pub(super) fn save(&mut self, config: &CoDelConfig, rate: f64) {
        let packets = rate * config.deadline.as_secs_f64() / config.mtu.0.max(1) as f64;
        let most = (packets as u32).max(LEAST_SAVED).saturating_mul(config.spacing);
        self.0 = (self.0 + 1).min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: fn() -> CoDelConfig = || CoDelConfig {
        deadline: Duration::from_millis(90),
        spacing: 6,
        ..CoDelConfig::default()
    };

    /// Whether a packet of `size` that waited for `ms` may be dropped.
    fn is_enough(allowance: Allowance, ms: u64, size: u32) -> bool {
        let packet = Packet { size, ..Packet::default() };
        allowance.is_enough(&CONFIG(), &packet, Duration::from_millis(ms))
    }

    #[test]
    fn six_packets_pay_for_a_drop() {
        let mut allowance = Allowance::default();
        (0..5).for_each(|_| allowance.save(&CONFIG(), 0.0));
        assert!(!is_enough(allowance, 100, 1500));
        allowance.save(&CONFIG(), 0.0);
        assert!(is_enough(allowance, 100, 1500));
        allowance.spend(6);
        assert!(!is_enough(allowance, 100, 1500));
    }

    #[test]
    fn packets_that_waited_for_ten_deadlines_or_are_small_need_no_allowance() {
        let nothing = Allowance::default();
        assert_eq!([is_enough(nothing, 899, 1500), is_enough(nothing, 900, 1500)], [false, true]);
        assert_eq!([is_enough(nothing, 90, 750), is_enough(nothing, 90, 749)], [false, true]);
    }

    #[test]
    fn eight_drops_are_saved_or_what_the_radio_sent_in_a_deadline() {
        let drops = |rate: f64| {
            let mut allowance = Allowance::default();
            (0..10_000).for_each(|_| allowance.save(&CONFIG(), rate));
            allowance.0 / 6
        };
        // 1 Mbit/s sends 7 packets of 1500 B in 90 ms, 100 Mbit/s 750.
        assert_eq!([drops(0.0), drops(125e3), drops(12.5e6)], [8, 8, 750]);
    }
}
