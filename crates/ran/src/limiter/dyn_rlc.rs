//! DynRLC: a limit that shrinks when packets stay in the RLC queue longer than a target and grows
//! when they leave sooner.
//!
//! Source: Kumar et al. 2018 (DynRLC) as described in T20 section 5 and A21 section III. Every
//! `interval` it compares the mean sojourn time of the packets that left with `target`: above,
//! `limit -= max(1, alpha (limit - min))`; else `limit += max(1, alpha (max - limit))`.
//!
//! Defaults are T20's program's: interval 100 ms, target 11 ms (a 10 ms slot plus 1), alpha 0.1, 2
//! to 20 packets, start 10. A21 uses 10 ms, 3 ms, 0.05, 1 to 10, and forwards in a burst just after
//! the pull (`first_poll_only`). With such small ranges alpha's step is nearly always 1.
//!
//! Known weaknesses: it is slow (one packet per interval), does not follow the channel, and has
//! four settings that depend on the slot. Deviations from the source: the maximum is enforced;
//! T20's program keeps adding 1 past it (`clamp_max = false`).

use super::{CapacityUnit, FirstPoll, GrantContext, Limiter, LimiterSettings, RlcView};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Ratio, SlotReport, params};

params! {
    /// Settings of [`DynRlc`]. The limit counts packets.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DynRlcConfig: "T20 section 5" {
        /// Time between adjustments.
        interval: Duration = Duration::from_millis(100), above(Duration::ZERO);
        /// Wanted mean sojourn time in the RLC queue.
        target: Duration = Duration::from_millis(11), above(Duration::ZERO);
        /// Share of the distance to the bound covered by one step (at least 1 packet).
        alpha: Ratio = Ratio(0.1), within(Ratio(0.0), Ratio(1.0));
        /// Least limit.
        min: u32 as "packets" = 2, at_least(1), "a limit of 0 forwards nothing for ever";
        /// Greatest limit.
        max: u32 as "packets" = 20, rule("at least min", |c| c.max >= c.min);
        /// Limit at the start.
        start: u32 as "packets" = 10,
            rule("min to max", |c| (c.min..=c.max).contains(&c.start));
        /// Enforce max; false goes on adding 1 past it, as T20's program.
        clamp_max: bool = true;
        /// Forward at the first poll after each pull and at no other, as A21 describes it.
        first_poll_only: bool = false;
    }
}

impl LimiterSettings for DynRlcConfig {
    /// False because it needs each departure at once.
    fn allows_late_reports(&self) -> bool {
        false
    }
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "dyn_rlc",
    kind: "limiter",
    title: "DynRLC: an RLC limit steered by the mean sojourn time",
    text: "Every interval the mean time that packets spent in the RLC queue is compared with the \
           target; the limit shrinks by a step when it was above and grows by a step otherwise.",
    sources: "Kumar et al. 2018; T20 section 5; A21 section III",
    deviations: "the maximum is enforced (T20's program is not: clamp_max = false)",
    params: DynRlcConfig::params,
};

/// The DynRLC limiter of a bearer.
#[derive(Clone, Debug)]
pub struct DynRlc {
    config: DynRlcConfig,
    limit: u32,
    next_adjustment: Option<Instant>,
    sojourn_ns: u64,
    departed: u64,
    first_poll: FirstPoll,
}

impl DynRlc {
    /// A DynRLC limiter.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub fn new(config: &DynRlcConfig, _: &GrantContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let c = config;
        Ok(Self {
            config: c.clone(),
            limit: c.start,
            next_adjustment: None,
            sojourn_ns: 0,
            departed: 0,
            first_poll: FirstPoll::new(c.first_poll_only),
        })
    }

    /// The current limit, in packets.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    fn adjust(&mut self) {
        let c = &self.config;
        let step = |distance: u32| ((c.alpha.0 * f64::from(distance)) as u32).max(1);
        if self.sojourn_ns > c.target.as_nanos().saturating_mul(self.departed) {
            self.limit =
                self.limit.saturating_sub(step(self.limit.saturating_sub(c.min))).max(c.min);
        } else {
            let grown = self.limit.saturating_add(step(c.max.saturating_sub(self.limit)));
            self.limit = if c.clamp_max { grown.min(c.max) } else { grown };
        }
        self.sojourn_ns = 0;
        self.departed = 0;
    }
}

impl Limiter for DynRlc {
    fn unit(&self) -> CapacityUnit {
        CapacityUnit::Packets
    }
    fn room(&mut self, now: Instant, queue: &RlcView) -> u64 {
        if !self.first_poll.is_open(now) {
            return 0;
        }
        u64::from(self.limit).saturating_sub(queue.packets)
    }
    fn overdraws(&self) -> bool {
        true
    }
    fn on_admitted(&mut self, _now: Instant, _amount: u64, _queue: &RlcView) {}

    fn on_departed(&mut self, _now: Instant, sojourn: Duration) {
        self.sojourn_ns += sojourn.as_nanos();
        self.departed += 1;
    }

    fn on_slot(&mut self, report: &SlotReport) {
        self.first_poll.on_slot();
        let due = *self.next_adjustment.get_or_insert(report.pulled_at + self.config.interval);
        if report.pulled_at >= due {
            if self.departed > 0 {
                self.adjust();
            }
            // Keeps the phase, so that one report for many idle slots has the same effect as a
            // report for each.
            let whole = report.pulled_at.since(due).as_nanos() / self.config.interval.as_nanos();
            self.next_adjustment = Some(due + self.config.interval.times(whole + 1));
        }
    }

    fn paces(&self) -> bool {
        self.first_poll.only
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(config: DynRlcConfig) -> DynRlc {
        let slot = Duration::from_millis(10);
        let context = GrantContext { unit: CapacityUnit::Packets, slot, mtu: 1500 };
        DynRlc::new(&config, &context).expect("in bounds")
    }

    /// One interval with a mean sojourn of `ms`. Returns the limit after it.
    fn interval(limiter: &mut DynRlc, start_ms: u64, sojourn_ms: u64) -> u32 {
        for slot in 0..=10 {
            let pulled_at = Instant::ZERO + Duration::from_millis(start_ms + slot * 10);
            limiter.on_departed(pulled_at, Duration::from_millis(sojourn_ms));
            limiter.on_slot(&SlotReport { pulled_at, ..SlotReport::default() });
        }
        limiter.limit()
    }

    #[test]
    fn the_limit_falls_by_one_above_the_target_and_rises_by_one_below() {
        let mut limiter = limiter(DynRlcConfig::default());
        assert_eq!(interval(&mut limiter, 0, 20), 9);
        assert_eq!(interval(&mut limiter, 110, 20), 8);
        assert_eq!(interval(&mut limiter, 220, 5), 9);
    }

    #[test]
    fn a_mean_of_the_target_itself_is_not_above_it() {
        assert_eq!(interval(&mut limiter(DynRlcConfig::default()), 0, 11), 11);
        assert_eq!(interval(&mut limiter(DynRlcConfig::default()), 0, 12), 9);
    }

    #[test]
    fn the_limit_stays_within_its_bounds_unless_the_released_program_is_asked_for() {
        for (clamp_max, top) in [(true, 20), (false, 23)] {
            let config = DynRlcConfig { start: 19, clamp_max, ..DynRlcConfig::default() };
            let mut limiter = limiter(config);
            let mut last = 0;
            for i in 0..4 {
                last = interval(&mut limiter, i * 110, 1);
            }
            assert_eq!(last, top);
            for i in 4..40 {
                last = interval(&mut limiter, i * 110, 50);
            }
            assert_eq!(last, 2);
        }
    }

    #[test]
    fn an_interval_in_which_nothing_left_changes_nothing() {
        let mut limiter = limiter(DynRlcConfig::default());
        for slot in 0..50 {
            let pulled_at = Instant::ZERO + Duration::from_millis(slot * 10);
            limiter.on_slot(&SlotReport { pulled_at, ..SlotReport::default() });
        }
        assert_eq!(limiter.limit(), 10);
    }
}
