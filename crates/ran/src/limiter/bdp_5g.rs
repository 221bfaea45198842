//! 5G-BDP: the RLC holds the data that the next slot can carry, spread evenly over the slot.
//!
//! Source: T20 section 4.1, Algorithm 2. At each pull (SET_VALUES): `to_send = max(0, capacity -
//! remaining)`. The paper's capacity is "the last number of used RBs" in bytes; here it is the
//! bearer's grant: its used part plus its share of the unused rest (for a bearer alone in its cell,
//! the whole slot). At each query (GET_OPTIMAL_VALUE):
//! `room = (elapsed / slot + offset) x to_send - sent`. Packets of the bulk flow enter gradually
//! during the slot instead of filling the RLC just after the pull, so an urgent packet that arrives
//! meanwhile still makes the next pull.
//!
//! Defaults: offset 0.33 (T20 section 5), no floor, elapsed share clamped to 1. T20's program
//! differs: at least 1 packet per slot even when the RLC is full (`floor = 1`), elapsed not clamped
//! (`clamp = false`), start 5.
//!
//! Known weaknesses: the capacity is the last slot's, so a falling channel leaves a remainder
//! (subtracted in the next slot) and a rising one starves for a slot. In packets, truncation to
//! whole ones starves at low capacity unless the offset compensates: count in bytes. Without
//! `overdraw` an SDU waits until the allowance covers it. An SDU larger than the capacity of 1 +
//! offset slots waits until the channel improves, and so do all SDUs behind it.
//!
//! Deviations from the source: the three switches; with `overdraw` an SDU may exceed the room if
//! there is any; the unused share counts as granted, since a bearer whose used amount alone counted
//! could never send more.

use super::{CapacityUnit, GrantContext, Limiter, LimiterSettings, RlcView};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Ratio, SlotReport, params};

params! {
    /// Settings of [`Bdp5g`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct Bdp5gConfig: "T20 Algorithm 2" {
        /// Share of the allowance that is open at once.
        offset: Ratio = Ratio(0.33), at_least(Ratio(0.0)).below(Ratio(1.0));
        /// Least allowance per slot, even when the RLC is full (T20's program: 1).
        floor: u32 as "packets" = 0,
            within(0, 16), "a floor above a slot's capacity fills the RLC without end";
        /// Count at most one slot as elapsed (T20's program: false).
        clamp: bool = true;
        /// Allowance before the first slot.
        start: u32 as "packets" = 5, within(0, 65_535);
        /// Let an SDU larger than the rest of the allowance enter if anything is left; false holds
        /// it until the channel is better.
        overdraw: bool = true;
    }
}

impl LimiterSettings for Bdp5gConfig {}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "bdp_5g",
    kind: "limiter",
    title: "5G-BDP: one slot's worth in the RLC, paced over the slot",
    text: "After each pull the RLC may get the bytes that the slot could carry less the bytes that \
           remained. This allowance opens in proportion to the time since the pull, plus an \
           offset. SDAP must be polled several times a slot.",
    sources: "T20 section 4.1, Algorithm 2",
    deviations: "switches for what T20's program does differently: floor, clamp, start; overdraw \
                 by one SDU; a share of what was left over counts as granted",
    params: Bdp5gConfig::params,
};

/// The 5G-BDP limiter of a bearer.
#[derive(Clone, Debug)]
pub struct Bdp5g {
    unit: CapacityUnit,
    slot_ns: f64,
    offset: f64,
    floor: u64,
    clamp: bool,
    overdraw: bool,
    to_send: u64,
    sent: u64,
    updated: Instant,
}

impl Bdp5g {
    /// A 5G-BDP limiter for the bearer in `context`.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub fn new(config: &Bdp5gConfig, context: &GrantContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let c = config;
        Ok(Self {
            unit: context.unit,
            slot_ns: context.slot.as_nanos() as f64,
            offset: c.offset.0,
            floor: context.amount(u64::from(c.floor)),
            clamp: c.clamp,
            overdraw: c.overdraw,
            to_send: context.amount(u64::from(c.start)),
            sent: 0,
            updated: Instant::ZERO,
        })
    }
}

impl Limiter for Bdp5g {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }

    fn room(&mut self, now: Instant, _queue: &RlcView) -> u64 {
        let elapsed = now.since(self.updated).as_nanos() as f64 / self.slot_ns;
        let share = if self.clamp { elapsed.min(1.0) } else { elapsed } + self.offset;
        ((share * self.to_send as f64) as u64).saturating_sub(self.sent)
    }

    fn overdraws(&self) -> bool {
        self.overdraw
    }

    fn on_admitted(&mut self, _now: Instant, amount: u64, _queue: &RlcView) {
        self.sent += amount;
    }

    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}

    fn on_slot(&mut self, report: &SlotReport) {
        self.to_send = report.granted.saturating_sub(report.remaining).max(self.floor);
        self.sent = 0;
        self.updated = report.pulled_at;
    }

    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(config: &Bdp5gConfig, unit: CapacityUnit) -> Bdp5g {
        let context = GrantContext { unit, slot: Duration::from_millis(1), mtu: 1500 };
        Bdp5g::new(config, &context).expect("in bounds")
    }

    fn report(granted: u64, remaining: u64) -> SlotReport {
        SlotReport {
            pulled_at: Instant::from_nanos(5_000_000),
            granted,
            remaining,
            ..SlotReport::default()
        }
    }

    fn room_at(limiter: &mut Bdp5g, us: u64) -> u64 {
        limiter.room(Instant::from_nanos(5_000_000 + us * 1000), &RlcView::default())
    }

    #[test]
    fn half_a_slot_opens_half_of_2200_bytes_as_in_section_4_1() {
        let mut l = limiter(
            &Bdp5gConfig { offset: Ratio(0.0), ..Bdp5gConfig::default() },
            CapacityUnit::Bytes,
        );
        l.on_slot(&report(2200, 0));
        assert_eq!(room_at(&mut l, 500), 1100);
        l.on_admitted(Instant::ZERO, 1500, &RlcView::default());
        assert_eq!(room_at(&mut l, 500), 0);
        assert_eq!(room_at(&mut l, 1000), 700);
    }

    #[test]
    fn remaining_bytes_are_taken_off_and_a_full_rlc_gets_nothing() {
        let mut l = limiter(&Bdp5gConfig::default(), CapacityUnit::Packets);
        l.on_slot(&report(6, 2));
        assert_eq!(room_at(&mut l, 1000), 5); // floor(1.33 x 4)
        l.on_slot(&report(6, 6));
        assert_eq!(room_at(&mut l, 1000), 0);
    }

    #[test]
    fn the_released_program_gives_a_full_rlc_one_packet_and_does_not_clamp() {
        let config = Bdp5gConfig { floor: 1, clamp: false, ..Bdp5gConfig::default() };
        let mut l = limiter(&config, CapacityUnit::Packets);
        l.on_slot(&report(6, 9));
        assert_eq!(room_at(&mut l, 1000), 1);
        assert_eq!(room_at(&mut l, 2000), 2);
    }
}
