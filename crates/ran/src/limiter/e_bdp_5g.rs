//! e5G-BDP: paces data into the RLC at the average of the last pulls, small SDUs before large ones.
//!
//! Source: A21 section IV-A, Algorithms 1 to 3. Per bearer, let `srs` be the bytes submitted since
//! the pull, `acc` the bytes left by the pull, and `bw` the average of the pulled bytes. An SDU of
//! `size` may enter at `elapsed` slots after the pull unless `srs + acc > max_bytes` (the capacity
//! of a slot at the current MCS, also after a slot with fewer blocks), if
//!
//! - `paced x reduce > size + srs` (this ignores the left-over bytes, so that a bearer left out
//!   once does not starve), or
//! - `srs + acc + size / k <= paced`, k = 5, but 3 when `srs` and `acc` are both above 0 (small
//!   SDUs first),
//!
//! where `paced = incr x elapsed x bw + MTU / 7`, `incr` 1.2 in the first half of the slot and 1.33
//! from then on. Without an average, `paced` is MTU / 4 once half of the slot has passed with an
//! empty queue, else 0. Both conditions are bounds on `size`, so the result is a room: the greater
//! of the two.
//!
//! Defaults: the constants of the algorithms. The paper gives neither `reduce_const`, only (0, 1],
//! nor the average's weights. They may be fitted only on the static case with one call. This case
//! does not separate weights that sum to 1 (47 to 49 % within 1 ms, the same capacity unused), so
//! they are halves. With a gain of 0.85 it is 58 %; with 0.8 a tenth of the capacity is lost. A
//! later program of the authors feeds the average its own last three outputs with weights that sum
//! to more than 1 (`ewma_new = 0.7`, `ewma_old = [0.3, 0.09, 0.027]`, gain 1.2) and swaps the two
//! divisors.
//!
//! Algorithm 2 line 6 sets the time of the pull inside SDAP's first call after it, so elapsed time
//! is late by up to a poll; the prose and the worked example fit both readings. `clock` chooses
//! (default: the pull itself). With both clocks a poll that comes a slot or more after the previous
//! poll counts from the pull: if polls are rarer than pulls, each poll would be the first after its
//! pull, and no time would ever pass.
//!
//! Known weaknesses: bulk SDUs that could have waited take the room at the start of a slot; the
//! second half paces a third more than the average; an SDU enters whole if a fifth of it has room,
//! is then cut and waits for the next slot, and all SDUs behind it wait too.
//!
//! Deviations from the source: the pulled bytes come from the MAC's reports, not from a count of
//! submissions (which is wrong after a drop in the RLC); an average below one byte counts as none,
//! as with integers; pulls while the bearer was idle count as 0 bytes all at once, at the next
//! query.

use super::{CapacityUnit, GrantContext, Limiter, LimiterSettings, RlcView};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Ratio, SlotReport, choice, params};

choice! {
    /// From when on e5G-BDP counts the time of a slot.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum EBdp5gClock {
        /// The pull.
        #[default]
        Pull = "pull",
        /// The first poll of SDAP after the pull.
        FirstPoll = "first_poll",
    }
}

params! {
    /// Settings of [`EBdp5g`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct EBdp5gConfig: "A21 Algorithms 1 to 3" {
        /// Share of the paced amount that may enter whatever is left over (reduce_const).
        reduce: Ratio = Ratio(0.5), above(Ratio(0.0)).to(Ratio(1.0));
        /// Weight of the last pull in the average.
        ewma_new: f64 as "weight" = 0.5, above(0.0).to(2.0);
        /// Weights of the average's last three values, latest first.
        ewma_old: [f64; 3] as "weights" = [0.5, 0.0, 0.0],
            rule("three, at least 0, together at most 0.95", |c| {
                c.ewma_old.iter().all(|w| *w >= 0.0) && c.ewma_old.iter().sum::<f64>() <= 0.95
            }), "an average has a finite memory";
        /// Factor of the pace before switch_at.
        pace_early: f64 as "factor" = 1.2, within(0.0, 4.0);
        /// Factor of the pace from switch_at on.
        pace_late: f64 as "factor" = 1.33, within(0.0, 4.0);
        /// Share of the slot after which the late factor holds.
        switch_at: Ratio = Ratio(0.5), within(Ratio(0.0), Ratio(1.0));
        /// The paced amount starts at the MTU over this.
        start_divisor: f64 as "divisor" = 7.0, within(1.0, 100.0);
        /// Without an average, the paced amount from switch_at on is the MTU over this.
        idle_divisor: f64 as "divisor" = 4.0, within(1.0, 100.0);
        /// An SDU counts by its size over this.
        size_divisor: f64 as "divisor" = 5.0, within(1.0, 100.0);
        /// The same when bytes were left over and others have been submitted since.
        backlogged_divisor: f64 as "divisor" = 3.0, within(1.0, 100.0);
        /// Whether time counts from the pull or from SDAP's first poll after it (line 6).
        clock: EBdp5gClock = EBdp5gClock::Pull;
    }
}

impl LimiterSettings for EBdp5gConfig {}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "e_bdp_5g",
    kind: "limiter",
    title: "e5G-BDP: an average pull's worth in the RLC, paced over the slot, small packets first",
    text: "The average size of the last pulls opens in proportion to the time since the pull, \
           somewhat faster in the second half of the slot. A packet enters when it fits into a \
           reduced share of that whatever is left over, or when what is left over, what was \
           submitted and a fraction of its size fit into all of it. SDAP must be polled several \
           times a slot.",
    sources: "A21 section IV-A, Algorithms 1 to 3",
    deviations: "bytes pulled are reported by the MAC, not counted along; an average below one \
                 byte is none; reduce and the average's weights, which the paper does not give, \
                 are fitted",
    params: EBdp5gConfig::params,
};

/// The e5G-BDP limiter of a bearer. Amounts are in the unit of grants, as floats: all are whole and
/// far below 2^53.
#[derive(Clone, Debug)]
pub struct EBdp5g {
    unit: CapacityUnit,
    slot_ns: f64,
    config: EBdp5gConfig,
    /// The time of `switch_at`.
    switch_ns: f64,
    /// MTU over the start and idle divisors, and one byte, below which there is no average.
    start: f64,
    idle: f64,
    least: f64,
    /// Submitted since the last pull (srs_bytes).
    submitted: f64,
    /// Left by the last pull (last_acc_bytes).
    left_over: f64,
    /// Capacity of a slot at the current MCS (max_bytes).
    most: f64,
    /// The average's last values, latest first.
    average: [f64; 3],
    /// Amounts that the average allows per nanosecond, early and late: its products with the pace,
    /// computed once per pull.
    opens: [f64; 2],
    pulled_at: Instant,
    /// Start of the slot by `clock`; none until the first poll after a pull.
    began: Option<Instant>,
    /// The last poll.
    polled_at: Instant,
}

impl EBdp5g {
    /// An e5G-BDP limiter for the bearer in `context`.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub fn new(config: &EBdp5gConfig, context: &GrantContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let c = config;
        let mtu = context.amount(1) as f64;
        Ok(Self {
            unit: context.unit,
            slot_ns: context.slot.as_nanos() as f64,
            config: c.clone(),
            switch_ns: c.switch_at.0 * context.slot.as_nanos() as f64,
            start: mtu / c.start_divisor,
            idle: mtu / c.idle_divisor,
            least: mtu / f64::from(context.mtu),
            submitted: 0.0,
            left_over: 0.0,
            most: f64::INFINITY,
            average: [0.0; 3],
            opens: [0.0; 2],
            pulled_at: Instant::ZERO,
            began: Some(Instant::ZERO),
            polled_at: Instant::ZERO,
        })
    }

    /// Algorithm 3.
    #[inline]
    fn paced(&mut self, now: Instant) -> f64 {
        let first = if now.since(self.polled_at).as_nanos() as f64 >= self.slot_ns {
            self.pulled_at
        } else {
            now
        };
        self.polled_at = now;
        let elapsed = now.since(*self.began.get_or_insert(first)).as_nanos().cast_signed() as f64;
        if self.average[0] > 0.0 {
            self.opens[usize::from(elapsed >= self.switch_ns)] * elapsed + self.start
        } else if self.left_over <= 0.0 && elapsed > self.switch_ns {
            self.idle
        } else {
            0.0
        }
    }

    /// Algorithm 2, line 3.
    fn average_in(&mut self, pulled: f64) {
        let [a, b, c] = self.average;
        let [x, y, z] = self.config.ewma_old;
        let next = self.config.ewma_new * pulled + x * a + y * b + z * c;
        self.average = [if next < self.least { 0.0 } else { next }, a, b];
    }
}

impl Limiter for EBdp5g {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }

    #[inline]
    fn room(&mut self, now: Instant, _queue: &RlcView) -> u64 {
        let paced = self.paced(now);
        if self.submitted + self.left_over > self.most {
            return 0;
        }
        // Line 9 is strict: the largest whole size below the bound, which may itself be a whole
        // number.
        let below = paced * self.config.reduce.0 - self.submitted;
        let whole = below as i64;
        let whatever_is_left = whole - i64::from(whole as f64 >= below);
        let backlogged = self.submitted > 0.0 && self.left_over > 0.0;
        let divisor =
            if backlogged { self.config.backlogged_divisor } else { self.config.size_divisor };
        let by_fraction = (divisor * (paced - self.submitted - self.left_over)) as i64;
        whatever_is_left.max(by_fraction).max(0).cast_unsigned()
    }

    fn overdraws(&self) -> bool {
        false
    }

    #[inline]
    fn on_admitted(&mut self, _now: Instant, amount: u64, _queue: &RlcView) {
        self.submitted += amount as f64;
    }

    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}

    fn on_slot(&mut self, report: &SlotReport) {
        // One report stands for all idle slots.
        let passed = report.pulled_at.since(self.pulled_at).as_nanos() as f64 / self.slot_ns;
        let mut idle = (passed + 0.5) as u64;
        while idle > 1 && self.average.iter().any(|value| *value > 0.0) {
            self.average_in(0.0);
            idle -= 1;
        }
        self.average_in(report.used as f64);
        self.submitted = 0.0;
        self.left_over = report.remaining as f64;
        self.most = report.capacity as f64;
        self.pulled_at = report.pulled_at;
        self.began = match self.config.clock {
            EBdp5gClock::Pull => Some(report.pulled_at),
            EBdp5gClock::FirstPoll => None,
        };
        self.opens = [self.config.pace_early, self.config.pace_late]
            .map(|pace| pace * self.average[0] / self.slot_ns);
    }

    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT_US: u64 = 1000;

    fn limiter(config: &EBdp5gConfig) -> EBdp5g {
        let context = GrantContext {
            unit: CapacityUnit::Bytes,
            slot: Duration::from_micros(SLOT_US),
            mtu: 1500,
        };
        EBdp5g::new(config, &context).expect("in bounds")
    }

    fn pull(limiter: &mut EBdp5g, slot: u64, used: u64, remaining: u64, capacity: u64) {
        let pulled_at = Instant::ZERO + Duration::from_micros(slot * SLOT_US);
        limiter.on_slot(&SlotReport {
            pulled_at,
            used,
            remaining,
            capacity,
            ..SlotReport::default()
        });
    }

    fn passes(limiter: &mut EBdp5g, us: u64, size: u64) -> bool {
        let room = limiter.room(Instant::ZERO + Duration::from_micros(us), &RlcView::default());
        let passes = size <= room;
        if passes {
            limiter.on_admitted(Instant::ZERO, size, &RlcView::default());
        }
        passes
    }

    /// The last pull took 1000 bytes and left `left_over`.
    fn after_1000_bytes(reduce: f64, left_over: u64) -> EBdp5g {
        let config = EBdp5gConfig {
            reduce: Ratio(reduce),
            ewma_new: 1.0,
            ewma_old: [0.0; 3],
            ..EBdp5gConfig::default()
        };
        let mut l = limiter(&config);
        pull(&mut l, 1, 1000, left_over, 2292);
        l
    }

    #[test]
    fn the_worked_example_of_section_iv_a() {
        for reduce in [0.1, 0.166, 0.5, 0.9, 1.0] {
            let mut l = after_1000_bytes(reduce, 600);
            assert!(!passes(&mut l, 1250, 1500), "514 < 900");
            assert!(!passes(&mut l, 1500, 1500), "814 or 879 < 900");
            assert!(passes(&mut l, 1750, 200), "1211.5 >= 640");
            assert!(!passes(&mut l, 1750, 1500), "1211.5 < 1300");
            assert!(passes(&mut l, 1999, 1500), "1543 >= 1300");
        }
    }

    #[test]
    fn leftovers_count_only_beyond_the_reduced_share() {
        // At half a slot paced is 1.33 x 500 + 214.3 = 879.3.
        let mut l = after_1000_bytes(1.0, 2000);
        assert_eq!(l.room(Instant::ZERO + Duration::from_micros(1500), &RlcView::default()), 879);
        let mut l = after_1000_bytes(0.5, 2000);
        assert_eq!(l.room(Instant::ZERO + Duration::from_micros(1500), &RlcView::default()), 439);
        let mut l = after_1000_bytes(0.5, 0);
        assert_eq!(l.room(Instant::ZERO + Duration::from_micros(1500), &RlcView::default()), 4396);
    }

    #[test]
    fn a_fifth_of_a_size_counts_but_a_third_where_some_is_left_over_and_some_was_submitted() {
        // At half a slot paced is 879.3.
        let cases = [((0, 0), 4_396), ((0, 100), 3_896), ((100, 0), 3_896), ((100, 100), 2_037)];
        for ((left_over, submitted), room) in cases {
            let mut l = after_1000_bytes(0.1, left_over);
            l.on_admitted(Instant::ZERO, submitted, &RlcView::default());
            let now = Instant::ZERO + Duration::from_micros(1500);
            assert_eq!(l.room(now, &RlcView::default()), room, "{left_over}, {submitted}");
        }
    }

    #[test]
    fn an_average_of_one_byte_is_one_and_less_is_none() {
        for (ewma_new, average) in [(1.0, 1.0), (0.99, 0.0)] {
            let config = EBdp5gConfig { ewma_new, ewma_old: [0.0; 3], ..EBdp5gConfig::default() };
            let mut l = limiter(&config);
            pull(&mut l, 1, 1, 0, 2292);
            assert_eq!(l.average[0].to_bits(), f64::to_bits(average), "{:?}", l.average);
        }
    }

    #[test]
    fn nothing_enters_above_the_slots_capacity() {
        let mut l = after_1000_bytes(1.0, 2292);
        assert!(passes(&mut l, 1990, 1), "2292 are not above 2292");
        assert!(!passes(&mut l, 1990, 1));
    }

    #[test]
    fn without_an_average_one_sdu_enters_an_empty_queue_after_half_a_slot() {
        let mut l = limiter(&EBdp5gConfig::default());
        pull(&mut l, 1, 0, 0, 2292);
        assert!(!passes(&mut l, 1500, 40));
        assert!(passes(&mut l, 1501, 1500), "375 >= 300");
        assert!(!passes(&mut l, 1999, 40), "375 < 1500");
        pull(&mut l, 2, 0, 900, 2292);
        assert!(!passes(&mut l, 2999, 40), "left over, and the radio took nothing");
    }

    #[test]
    fn time_counts_from_the_pull_or_from_the_first_poll_after_it() {
        let room = |clock, before: &[u64]| {
            let config = EBdp5gConfig { clock, ewma_old: [0.0; 3], ..EBdp5gConfig::default() };
            let mut l = limiter(&EBdp5gConfig { ewma_new: 1.0, ..config });
            let at = |us| Instant::ZERO + Duration::from_micros(us);
            for us in before {
                l.room(at(*us), &RlcView::default());
            }
            pull(&mut l, 1, 1000, 2000, 2292);
            // Half of 214.3, and of 1.2 or 1.33 times the elapsed share of 1000 B above that.
            [1200, 1600].map(|us| l.room(at(us), &RlcView::default()))
        };
        assert_eq!(room(EBdp5gClock::Pull, &[900]), [227, 506]);
        assert_eq!(room(EBdp5gClock::FirstPoll, &[900]), [107, 347]);
        assert_eq!(room(EBdp5gClock::FirstPoll, &[]), [227, 506], "polls rarer than pulls");
    }

    #[test]
    fn the_later_programs_average_has_a_gain_of_a_fifth() {
        let config =
            EBdp5gConfig { ewma_new: 0.7, ewma_old: [0.3, 0.09, 0.027], ..EBdp5gConfig::default() };
        let mut l = limiter(&config);
        for slot in 1..100 {
            pull(&mut l, slot, 1000, 0, 2292);
        }
        assert!((l.average[0] - 1000.0 * 0.7 / 0.583).abs() < 1e-6, "{:?}", l.average);
    }

    #[test]
    fn settings_out_of_bounds_are_refused_by_name() {
        let refused = |change: fn(&mut EBdp5gConfig)| {
            let mut config = EBdp5gConfig::default();
            change(&mut config);
            let context = GrantContext {
                unit: CapacityUnit::Bytes,
                slot: Duration::from_millis(1),
                mtu: 1500,
            };
            EBdp5g::new(&config, &context).map(|_| ()).map_err(|e| e.field)
        };
        assert_eq!(refused(|c| c.reduce = Ratio(0.0)), Err("reduce".into()));
        assert_eq!(refused(|c| c.reduce = Ratio(f64::NAN)), Err("reduce".into()));
        assert_eq!(refused(|c| c.ewma_new = 0.0), Err("ewma_new".into()));
        assert_eq!(refused(|c| c.ewma_old = [0.5, 0.5, 0.0]), Err("ewma_old".into()));
        assert_eq!(refused(|c| c.ewma_old = [f64::NAN; 3]), Err("ewma_old".into()));
        assert_eq!(refused(|c| c.pace_early = -0.1), Err("pace_early".into()));
        assert_eq!(refused(|c| c.pace_late = 5.0), Err("pace_late".into()));
        assert_eq!(refused(|c| c.switch_at = Ratio(1.1)), Err("switch_at".into()));
        assert_eq!(refused(|c| c.start_divisor = 0.0), Err("start_divisor".into()));
        assert_eq!(refused(|c| c.idle_divisor = 0.5), Err("idle_divisor".into()));
        assert_eq!(refused(|c| c.size_divisor = f64::INFINITY), Err("size_divisor".into()));
        assert_eq!(refused(|c| c.backlogged_divisor = 0.0), Err("backlogged_divisor".into()));
    }
}
