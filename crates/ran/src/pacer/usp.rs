//! USP, the UPF-SDAP pacer: keeps in the SDAP queue the amount that the UPF must send per
//! opportunity to keep the RLC fed.
//!
//! Source: T20 section 4.2, Algorithm 3. When the RLC stops accepting data (*saturation*) and
//! accepts again, the desired occupancy becomes the amount that SDAP took in since the last
//! saturation, divided by the number of the UPF's opportunities in that time. Once per T, after
//! half of it, the desired occupancy doubles, so that it follows a missed opportunity or a faster
//! channel. The paper measures the bytes that SDAP passed on; T20's program counts the data that
//! entered SDAP, divides by the constant 10 and counts T in polls that moved data.
//!
//! Defaults are the paper's: T = one slot, opportunities counted, 1 to 1024 packets, start at the
//! maximum. `variant = "released"` is the program: divisor 10, T of 10 moving polls, doubling on
//! the 5th, and saturation also when SDAP holds more than the RLC's room plus `slack` packets.
//! Known weakness: it does not measure the channel and follows a rise by one doubling per slot.
//! Deviations from the source: a fractional occupancy is rounded up, never below `min`.

use super::{GrantContext, Pacer, PacerSettings, SdapPoll};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, choice, params};

choice! {
    /// The source that the pacer follows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum UspVariant {
        /// Algorithm 3.
        #[default]
        Published = "published",
        /// T20's program.
        Released = "released",
    }
}

params! {
    /// Settings of [`Usp`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct UspConfig: "T20 Algorithm 3" {
        /// The paper's text or its program.
        variant: UspVariant = UspVariant::Published;
        /// Least occupancy.
        min: u32 as "packets" = 1,
            at_least(1), "an occupancy of 0 forwards nothing for ever";
        /// Greatest occupancy and the one at the start.
        max: u32 as "packets" = 1024, rule("at least min", |c| c.max >= c.min);
        /// Saturation also when SDAP holds more than the RLC's room plus this; 0 for off.
        slack: u32 as "packets" = 0;
    }
}

impl PacerSettings for UspConfig {}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "usp",
    kind: "pacer",
    title: "USP: the UPF-SDAP pacer",
    text: "The UPF fills SDAP only up to an occupancy that follows from the data which the RLC accepted between \
           two saturations per opportunity of the UPF, doubled once per slot after half of it. \
           The bulk flow's packets wait in the UPF, where flows have queues of their own.",
    sources: "T20 section 4.2, Algorithm 3",
    deviations: "variant = released follows T20's program: divisor 10, T in moving polls, slack",
    params: UspConfig::params,
};

/// The USP pacer of a queue.
#[derive(Clone, Debug)]
pub struct Usp {
    variant: UspVariant,
    slot: Duration,
    min: u64,
    max: u64,
    slack: Option<u64>,
    occupancy: u64,
    saturated: bool,
    /// Amount since the last saturation: passed on (published) or taken in (released).
    counted: u64,
    /// Opportunities of the UPF (published) or moving polls (released) in this T.
    ticks: u64,
    period_start: Instant,
    doubled: bool,
}

/// Divisor of T20's program, and length of its T in moving polls.
const RELEASED_TICKS: u64 = 10;

impl Usp {
    /// A USP pacer.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub fn new(config: &UspConfig, context: &GrantContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let c = config;
        Ok(Self {
            variant: c.variant,
            slot: context.slot,
            min: context.amount(u64::from(c.min)),
            max: context.amount(u64::from(c.max)),
            slack: (c.slack > 0).then(|| context.amount(u64::from(c.slack))),
            occupancy: context.amount(u64::from(c.max)),
            saturated: false,
            counted: 0,
            ticks: 0,
            period_start: Instant::ZERO,
            doubled: false,
        })
    }

    fn double(&mut self) {
        self.occupancy = self.occupancy.saturating_mul(2).clamp(self.min, self.max);
        self.doubled = true;
    }

    fn restart_period(&mut self, now: Instant) {
        self.period_start = now;
        self.ticks = 0;
        self.doubled = false;
    }

    fn measure(&mut self, now: Instant, divisor: u64) {
        self.saturated = false;
        self.occupancy = self.counted.div_ceil(divisor.max(1)).clamp(self.min, self.max);
        self.counted = 0;
        self.restart_period(now);
    }

    /// Procedure DEQUEUED of Algorithm 3.
    fn dequeued_published(&mut self, now: Instant, moved: u64) {
        if self.saturated {
            self.measure(now, self.ticks);
        } else if now > self.period_start + self.slot {
            self.counted = 0;
            self.restart_period(now);
        }
        self.counted += moved;
    }

    fn dequeued_released(&mut self, now: Instant) {
        if self.saturated {
            self.measure(now, RELEASED_TICKS);
            return;
        }
        self.ticks += 1;
        if self.ticks == RELEASED_TICKS / 2 {
            self.double();
        } else if self.ticks >= RELEASED_TICKS {
            self.restart_period(now);
        }
    }
}

impl Pacer for Usp {
    /// Function GET_OPT_OCCUPANCY of Algorithm 3.
    fn occupancy(&mut self, now: Instant) -> u64 {
        if self.variant == UspVariant::Published {
            self.ticks += 1;
            let half = Duration::from_nanos(self.slot.as_nanos() / 2);
            if !self.doubled && now > self.period_start + half {
                self.double();
            }
        }
        self.occupancy
    }

    fn on_enqueued(&mut self, amount: u64) {
        if self.variant == UspVariant::Released {
            self.counted += amount;
        }
    }

    fn on_poll(&mut self, now: Instant, poll: &SdapPoll) {
        if poll.moved > 0 {
            match self.variant {
                UspVariant::Published => self.dequeued_published(now, poll.moved),
                UspVariant::Released => self.dequeued_released(now),
            }
        }
        let over_slack =
            self.slack.is_some_and(|slack| poll.backlog > poll.room.saturating_add(slack));
        self.saturated |= (poll.room == 0 && poll.backlog > 0) || over_slack;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::CapacityUnit;
    use alloc::{vec, vec::Vec};

    fn usp(variant: UspVariant) -> Usp {
        let context = GrantContext {
            unit: CapacityUnit::Packets,
            slot: Duration::from_millis(10),
            mtu: 1500,
        };
        Usp::new(&UspConfig { variant, ..UspConfig::default() }, &context).expect("in bounds")
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn poll(moved: u64, backlog: u64, room: u64) -> SdapPoll {
        SdapPoll { moved, backlog, room }
    }

    #[test]
    fn the_occupancy_is_what_was_passed_on_per_opportunity_between_saturations() {
        let mut p = usp(UspVariant::Published);
        p.on_poll(at(0), &poll(1, 50, 0)); // saturates
        p.on_poll(at(1), &poll(1, 50, 3)); // learns from the first
        for ms in 2..6 {
            p.occupancy(at(ms));
            p.on_poll(at(ms), &poll(3, 50, u64::MAX));
        }
        p.on_poll(at(6), &poll(0, 50, 0)); // saturates after 1 + 12 in 4 opportunities
        p.on_poll(at(10), &poll(1, 50, 5));
        assert_eq!(p.occupancy, 13_u64.div_ceil(4));
    }

    #[test]
    fn the_occupancy_doubles_once_after_half_a_slot() {
        let mut p = usp(UspVariant::Published);
        p.occupancy = 3;
        assert_eq!(p.occupancy(at(5)), 3);
        assert_eq!(p.occupancy(at(6)), 6);
        assert_eq!(p.occupancy(at(7)), 6);
    }

    #[test]
    fn the_released_program_divides_by_ten_and_doubles_on_the_fifth_moving_poll() {
        let mut p = usp(UspVariant::Released);
        p.on_enqueued(25);
        p.on_poll(at(0), &poll(1, 5, 0));
        p.on_poll(at(1), &poll(1, 5, 9));
        assert_eq!(p.occupancy(at(1)), 3);
        for ms in 2..6 {
            p.on_poll(at(ms), &poll(1, 5, 9));
            assert_eq!(p.occupancy(at(ms)), 3);
        }
        p.on_poll(at(6), &poll(1, 5, 9));
        assert_eq!(p.occupancy(at(6)), 6);
    }

    #[test]
    fn slack_saturates_before_the_room_is_gone() {
        let context = GrantContext {
            unit: CapacityUnit::Packets,
            slot: Duration::from_millis(10),
            mtu: 1500,
        };
        let config = UspConfig { variant: UspVariant::Released, slack: 5, ..UspConfig::default() };
        let mut p = Usp::new(&config, &context).expect("in bounds");
        p.on_poll(at(0), &poll(1, 8, 3));
        assert!(!p.saturated);
        p.on_poll(at(1), &poll(1, 9, 3));
        assert!(p.saturated);
    }

    #[test]
    fn the_period_begins_anew_once_more_than_a_slot_has_passed_without_saturation() {
        let mut p = usp(UspVariant::Published);
        p.occupancy = 3;
        p.on_poll(at(10), &poll(4, 50, 9));
        // Exactly one slot after its start the period still runs; data passed on in it counts.
        assert_eq!((p.counted, p.period_start), (4, at(0)));
        p.occupancy(at(10));
        assert_eq!((p.ticks, p.doubled, p.occupancy), (1, true, 6));
        p.on_poll(at(11), &poll(5, 50, 9));
        assert_eq!((p.counted, p.period_start, p.ticks, p.doubled), (5, at(11), 0, false));
        // Lets it double again, more than half a slot later.
        assert_eq!((p.occupancy(at(16)), p.occupancy(at(17))), (6, 12));
    }

    #[test]
    fn polls_that_move_nothing_are_no_time_of_the_released_program_whose_period_has_ten() {
        let mut p = usp(UspVariant::Released);
        p.occupancy = 3;
        let mut doubled_at = Vec::new();
        for n in 1..=30 {
            p.on_poll(at(n), &poll(0, 5, 9));
            let before = p.occupancy;
            p.on_poll(at(n), &poll(1, 5, 9));
            if p.occupancy(at(n)) > before {
                doubled_at.push(n);
            }
        }
        assert_eq!((doubled_at, p.occupancy), (vec![5, 15, 25], 24));
    }

    #[test]
    fn only_a_queue_that_waits_before_a_full_rlc_saturates_until_something_moves() {
        for (backlog, room, expected) in [(0, 0, false), (5, 1, false), (1, 0, true)] {
            let mut p = usp(UspVariant::Published);
            p.on_poll(at(1), &poll(0, backlog, room));
            assert_eq!(p.saturated, expected, "{backlog} wait before room for {room}");
            p.on_poll(at(2), &poll(0, 0, 9));
            assert_eq!(p.saturated, expected, "nothing moved since");
        }
    }

    #[test]
    fn entries_to_sdap_count_in_the_released_program_and_departures_in_the_published_one() {
        let [mut published, mut released] = [UspVariant::Published, UspVariant::Released].map(usp);
        for p in [&mut published, &mut released] {
            p.on_enqueued(7);
            p.on_enqueued(8);
            p.on_poll(at(1), &poll(3, 0, 9));
            p.on_poll(at(2), &poll(3, 0, 9));
        }
        assert_eq!((published.counted, released.counted), (6, 15));
    }
}
