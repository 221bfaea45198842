//! DRQL, the dynamic RLC queue limit: it grows when the radio starved although the limit was
//! reached, and shrinks by the amount that always remained.
//!
//! Source: T20 section 4.1, Algorithm 1, after Linux's dynamic queue limits (BQL). At each pull:
//! - nothing remains and the limit had been reached: the radio could have had more, `limit =
//!   ceil(growth x limit)`;
//! - something remains: keep the least amount that remained; once `hold` has passed with data
//!   always remaining, `limit -= least remaining`;
//! - nothing remains and the limit was not reached: there was too little traffic to judge, start
//!   the hold anew.
//!
//! Defaults: hold = one slot and start at the maximum, like the paper; growth 1.2 like the program
//! (the paper says only "increase"). T20's program holds 100 ms, starts at 25 packets, and allows 1
//! to 512. A21 runs it with one packet kept (it "tries to maintain the equivalent of one MTU") and
//! forwards in a burst just after the pull, so that later arrivals wait for the next: `keep` and
//! `first_poll_only`. Known weaknesses: reacts to a rise of the channel by a fifth per slot; the
//! queue is just full at the pull, so a packet that arrives between two pulls waits for the second
//! pull after it. Deviations from the source: Algorithm 1 prints the same comparison in lines 13
//! and 17, the wrong way round; this code follows the text. The program's count of queued packets
//! is wrong after a drop; here the queue itself is inspected.

use super::{CapacityUnit, FirstPoll, GrantContext, Limiter, LimiterSettings, RlcView};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, SlotReport, params};

params! {
    /// Settings of [`Drql`]. Limits are counted in packets; where the MAC grants bytes, a packet
    /// stands for one MTU.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DrqlConfig: "T20 Algorithm 1" {
        /// Time with data always remaining before the limit shrinks; 0s stands for one slot.
        hold: Duration = Duration::ZERO;
        /// Factor by which a starved limit grows, rounded up.
        growth: f64 as "factor" = 1.2, above(1.0).to(16.0);
        /// Least limit.
        min: u32 as "packets" = 1, at_least(1), "a limit of 0 forwards nothing for ever";
        /// Greatest limit.
        max: u32 as "packets" = 1024, rule("at least min", |c| c.max >= c.min);
        /// Limit at the start.
        start: u32 as "packets" = 1024,
            rule("min to max", |c| (c.min..=c.max).contains(&c.start));
        /// Let an SDU larger than the rest of the allowance enter if anything is left.
        overdraw: bool = true;
        /// Packets that may always remain without shrinking the limit (A21: 1).
        keep: u32 as "packets" = 0;
        /// Forward at the first poll after each pull and at no other, as A21 describes it.
        first_poll_only: bool = false;
    }
}

impl LimiterSettings for DrqlConfig {}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "drql",
    kind: "limiter",
    title: "DRQL: dynamic RLC queue limit",
    text: "At each pull the limit grows when the queue was drained although it had been filled to \
           the limit, and shrinks by the least backlog that always remained over the hold time.",
    sources: "T20 section 4.1, Algorithm 1; Linux dynamic queue limits",
    deviations: "lines 13 and 17 of Algorithm 1 by its text, not by its print; the backlog is \
                 asked, not counted along",
    params: DrqlConfig::params,
};

/// The DRQL limiter of a bearer.
#[derive(Clone, Debug)]
pub struct Drql {
    unit: CapacityUnit,
    hold: Duration,
    growth: f64,
    min: u64,
    max: u64,
    overdraw: bool,
    limit: u64,
    limit_reached: bool,
    hold_since: Instant,
    least_remaining: u64,
    keep: u64,
    first_poll: FirstPoll,
}

impl Drql {
    /// A DRQL limiter for the bearer in `context`.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub fn new(config: &DrqlConfig, context: &GrantContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let c = config;
        Ok(Self {
            unit: context.unit,
            hold: if c.hold.is_zero() { context.slot } else { c.hold },
            growth: c.growth,
            min: context.amount(u64::from(c.min)),
            max: context.amount(u64::from(c.max)),
            overdraw: c.overdraw,
            limit: context.amount(u64::from(c.start)),
            limit_reached: false,
            hold_since: Instant::ZERO,
            least_remaining: u64::MAX,
            keep: context.amount(u64::from(c.keep)),
            first_poll: FirstPoll::new(c.first_poll_only),
        })
    }

    /// The current limit, in the unit of grants.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    fn restart_hold(&mut self, now: Instant) {
        self.hold_since = now;
        self.least_remaining = u64::MAX;
    }
}

impl Limiter for Drql {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }

    fn room(&mut self, now: Instant, queue: &RlcView) -> u64 {
        if !self.first_poll.is_open(now) {
            return 0;
        }
        self.limit.saturating_sub(queue.backlog(self.unit))
    }

    fn overdraws(&self) -> bool {
        self.overdraw
    }

    fn on_admitted(&mut self, _now: Instant, _amount: u64, queue: &RlcView) {
        self.limit_reached |= queue.backlog(self.unit) >= self.limit;
    }

    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}

    fn on_slot(&mut self, report: &SlotReport) {
        let now = report.pulled_at;
        self.first_poll.on_slot();
        if report.remaining == 0 && self.limit_reached {
            self.limit = (libm::ceil(self.growth * self.limit as f64) as u64).min(self.max);
            self.restart_hold(now);
        } else if report.remaining > 0 {
            self.least_remaining = self.least_remaining.min(report.remaining);
            if now.since(self.hold_since) >= self.hold {
                self.limit = self
                    .limit
                    .saturating_sub(self.least_remaining.saturating_sub(self.keep))
                    .max(self.min);
                self.restart_hold(now);
            }
        } else {
            self.restart_hold(now);
        }
        // If the limit shrank to the remaining amount, the queue is still at its limit.
        self.limit_reached = report.remaining >= self.limit;
    }

    fn paces(&self) -> bool {
        self.first_poll.only
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drql(start: u32) -> Drql {
        let context = GrantContext {
            unit: CapacityUnit::Packets,
            slot: Duration::from_millis(10),
            mtu: 1500,
        };
        let config =
            DrqlConfig { start, hold: Duration::from_millis(100), ..DrqlConfig::default() };
        Drql::new(&config, &context).expect("in bounds")
    }

    fn fill(limiter: &mut Drql, packets: u64) {
        limiter.on_admitted(Instant::ZERO, 1, &RlcView { packets, bytes: packets * 1500 });
    }

    fn slot(limiter: &mut Drql, ms: u64, remaining: u64) -> u64 {
        let pulled_at = Instant::ZERO + Duration::from_millis(ms);
        limiter.on_slot(&SlotReport { pulled_at, remaining, ..SlotReport::default() });
        limiter.limit()
    }

    #[test]
    fn a_step_of_capacity_from_3_to_6_costs_three_starved_slots() {
        let mut limiter = drql(4);
        fill(&mut limiter, 4);
        assert_eq!(slot(&mut limiter, 10, 0), 5);
        fill(&mut limiter, 5);
        assert_eq!(slot(&mut limiter, 20, 0), 6);
        fill(&mut limiter, 6);
        assert_eq!(slot(&mut limiter, 30, 0), 8);
    }

    #[test]
    fn bytes_that_always_remained_over_the_hold_are_taken_off() {
        let mut limiter = drql(20);
        fill(&mut limiter, 20);
        slot(&mut limiter, 10, 0);
        let grown = limiter.limit();
        for ms in 2..11 {
            assert_eq!(slot(&mut limiter, ms * 10, 7 + ms % 3), grown);
        }
        assert_eq!(slot(&mut limiter, 110, 9), grown - 7);
    }

    #[test]
    fn kept_bytes_do_not_shrink_the_limit() {
        let context =
            GrantContext { unit: CapacityUnit::Bytes, slot: Duration::from_millis(10), mtu: 1500 };
        let config = DrqlConfig { start: 4, keep: 1, ..DrqlConfig::default() };
        let mut limiter = Drql::new(&config, &context).expect("in bounds");
        assert_eq!(slot(&mut limiter, 10, 1500), 6000);
        assert_eq!(slot(&mut limiter, 20, 2300), 5200);
    }

    #[test]
    fn a_limiter_for_bursts_is_shut_from_the_second_poll_to_the_next_pull() {
        let context = GrantContext {
            unit: CapacityUnit::Packets,
            slot: Duration::from_millis(10),
            mtu: 1500,
        };
        let config = DrqlConfig { start: 4, first_poll_only: true, ..DrqlConfig::default() };
        let mut limiter = Drql::new(&config, &context).expect("in bounds");
        let one = RlcView { packets: 1, bytes: 1500 };
        for ms in [10, 20] {
            slot(&mut limiter, ms, 0);
            let rooms = [1, 1, 2, 9]
                .map(|later| limiter.room(Instant::ZERO + Duration::from_millis(ms + later), &one));
            assert_eq!(rooms, [3, 3, 0, 0]);
        }
    }

    #[test]
    fn an_idle_slot_restarts_the_hold() {
        let mut limiter = drql(20);
        for ms in 1..10 {
            slot(&mut limiter, ms * 10, 5);
        }
        assert_eq!(slot(&mut limiter, 95, 0), 20);
        assert_eq!(slot(&mut limiter, 110, 5), 20);
        for ms in 12..20 {
            assert_eq!(slot(&mut limiter, ms * 10, 5), 20);
        }
        assert_eq!(slot(&mut limiter, 200, 5), 15, "a hold after the idle slot");
    }
}
