//! LastPoll: bulk enters the RLC at the last SDAP poll that is safely before the pull, and no more
//! than the pull takes.
//!
//! Source: this project. A more urgent packet can still overtake packets that wait in SDAP, but not
//! packets in the RLC (A21 section III-A). So at each pull the RLC should hold just the amount that
//! the pull takes, and get it as late as the polls allow:
//!
//! - **The time of the next poll** is learnt from the polls: the number of recent gaps between
//!   polls that were longer than each 64th of a slot. A clock on time, a late one and one that
//!   misses polls each give their own distribution. A gap counts only if SDAP was refused at its
//!   start; otherwise SDAP may have been idle in between.
//! - **The amount of the next pull** is learnt from the slots' reports: the offer 1, 2, 4, 5, 8,
//!   10, 20 or 40 slots ago, whichever has recently predicted best (subframes with system
//!   information, TDD patterns), minus its average shortfall. Idle slots say nothing about this; in
//!   them the forecast is at least the average of the offers above 0, since the last forecast may
//!   be of a slot without an offer, for example when retransmissions take everything.
//! - **Due.** With `short` as the share of the pull that the queue cannot fill, waiting for the
//!   next poll leaves P(gap > time to the pull) x `short` of it unused on average. If that is more
//!   than `risk`, an SDU enters even if it will be cut. If polls are rarer than pulls, the same
//!   holds for each pull before the next poll. A poll at the instant of a pull counts as too late
//!   for it once a poll has come after its pull.
//! - **Early.** Until then an SDU enters if the next pull takes it whole and leaves `reserve` bytes
//!   for urgent packets still to come, at no cost to those. An SDU of at most a `small` share of
//!   the MTU may use the reserve too. The reserve follows the greatest amount of small SDUs in a
//!   slot and decays. With grants in packets, small and large SDUs are alike, and nothing enters
//!   early.
//! - **Patience.** On a slow channel an SDU of the MTU occupies `serial` = MTU / pull slots, and
//!   all SDUs behind it wait. The next one then waits until the capacity left unused since the last
//!   one reaches `patience x serial x (serial - 1.5)` slots: none up to 1.5 slots per SDU, 0.14 at
//!   3, 0.4 at 4.6, 8.5 at 18. This gives up little capacity, since it happens only on a slow
//!   channel.
//!
//! Defaults: `risk` and `patience` are chosen on A21's cell so that no more capacity is left unused
//! than with e5G-BDP.
//!
//! Known weaknesses: with gaps near a slot it fills right after each pull and is no better than a
//! queue limit (with a fifth of the polls missed it expects two or three misses in a row). An
//! urgent packet larger than `small` counts as bulk. Prediction fails if other bearers' traffic
//! determines the grants (the average shortfall then keeps more in the RLC). Deviations from the
//! source: none.

use super::{CapacityUnit, GrantContext, Limiter, LimiterSettings, RlcView};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Ratio, SlotReport, params};

/// Distances in slots at which amounts may repeat: LTE's frame of 10 subframes, TDD patterns (TS
/// 38.331, tdd-UL-DL-Pattern) and their multiples.
const PERIODS: [usize; 8] = [1, 2, 4, 5, 8, 10, 20, 40];
/// Slots remembered: the longest period.
const MEMORY: usize = 40;
/// Steps per slot in which gaps between polls are counted, and the longest gap, in steps.
const STEPS_PER_SLOT: u64 = 64;
const GAP_STEPS: usize = 256;
/// Number of counted gaps at which half of them are forgotten, and the minimum before they are
/// used.
const GAPS_COUNTED: u16 = 2048;
const GAPS_NEEDED: u16 = 16;
/// Slots that an SDU of the MTU may occupy before patience begins.
const SWIFT: f32 = 1.5;
/// Maximum number of pulls before the next poll for which it fills.
const MOST_PULLS: u32 = 8;
/// Weight of the latest slot in the average errors.
const NEWS: f32 = 1.0 / 16.0;

params! {
    /// Settings of [`LastPoll`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct LastPollConfig: "a share" {
        /// Share of a pull that may be left unused on average by waiting for the next poll.
        risk: Ratio = Ratio(0.0035), within(Ratio(0.0), Ratio(0.05));
        /// Share of the MTU up to which an SDU may use the reserve.
        small: Ratio = Ratio(0.25), within(Ratio(0.0), Ratio(1.0));
        /// Factor of the slots left unused between bulk packets that take more than 1.5 slots
        /// each.
        patience: Ratio = Ratio(0.03), within(Ratio(0.0), Ratio(1.0));
    }
}

impl LimiterSettings for LastPollConfig {}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "last_poll",
    kind: "limiter",
    title: "LastPoll: bulk enters the RLC at the last poll that is safely before the pull",
    text: "Learns the times of SDAP's polls and the sizes of pulls. At the last safe poll it fills \
           the RLC to the size of the next pull; before, only as far as urgent packets still fit. \
           On a slow channel bulk packets keep a distance. SDAP must be polled several times a \
           slot.",
    sources: "this project; A21 section III-A",
    deviations: "none",
    params: LastPollConfig::params,
};

/// Predicts a bearer's next offer from its earlier offers.
#[derive(Clone, Debug)]
struct Foreteller {
    offered: [u32; MEMORY],
    /// Ring index of the coming slot.
    next: usize,
    /// Average error of each of [`PERIODS`].
    errors: [f32; PERIODS.len()],
    /// Average shortfall of the prediction.
    shortfall: f32,
    foretold: u32,
}

impl Foreteller {
    const fn new() -> Self {
        Self {
            offered: [0; MEMORY],
            next: 0,
            errors: [0.0; PERIODS.len()],
            shortfall: 0.0,
            foretold: 0,
        }
    }

    fn ago(&self, slots: usize) -> u32 {
        self.offered[(self.next + MEMORY - slots) % MEMORY]
    }

    /// The slot after `passed` slots had the offer `amount`.
    fn learn(&mut self, passed: u64, amount: u64) {
        self.next = (self.next + (passed.saturating_sub(1) % MEMORY as u64) as usize) % MEMORY;
        let amount = u32::try_from(amount).unwrap_or(u32::MAX);
        for (i, period) in PERIODS.into_iter().enumerate() {
            let error = amount.abs_diff(self.ago(period)) as f32;
            self.errors[i] += NEWS * (error - self.errors[i]);
        }
        self.shortfall += NEWS * (amount.saturating_sub(self.foretold) as f32 - self.shortfall);
        self.offered[self.next] = amount;
        self.next = (self.next + 1) % MEMORY;
        let mut best = 0;
        for i in 1..PERIODS.len() {
            if self.errors[i] < self.errors[best] {
                best = i;
            }
        }
        self.foretold = self.ago(PERIODS[best]);
    }

    /// The predicted offer of the next slot.
    fn amount(&self) -> u64 {
        u64::from(self.foretold) + self.shortfall as u64
    }
}

/// The distribution of the gaps between polls.
#[derive(Clone, Debug)]
struct Gaps {
    /// Number of counted gaps longer than each number of steps.
    longer: [u16; GAP_STEPS],
    counted: u16,
    step_ns: u64,
}

impl Gaps {
    fn count(&mut self, gap_ns: u64) {
        if self.counted == GAPS_COUNTED {
            self.counted /= 2;
            self.longer.iter_mut().for_each(|n| *n /= 2);
        }
        self.counted += 1;
        let steps = (gap_ns.div_ceil(self.step_ns) as usize).min(GAP_STEPS);
        self.longer[..steps].iter_mut().for_each(|n| *n += 1);
    }

    /// Share of gaps longer than `time_ns`. Times beyond the longest step count as the longest.
    /// Until enough have been counted, assumes a gap of half a slot.
    fn share_longer(&self, time_ns: u64) -> f32 {
        let steps = (time_ns / self.step_ns) as usize;
        if self.counted < GAPS_NEEDED {
            return if steps < (STEPS_PER_SLOT / 2) as usize { 1.0 } else { 0.0 };
        }
        f32::from(self.longer[steps.min(GAP_STEPS - 1)]) / f32::from(self.counted)
    }
}

/// The LastPoll limiter of a bearer. Amounts are in the unit of grants.
#[derive(Clone, Debug)]
pub struct LastPoll {
    unit: CapacityUnit,
    slot_ns: u64,
    risk: f32,
    patience: f32,
    /// Unused capacity since the last large SDU entered, in slots.
    idle: f32,
    small: u64,
    mtu: u64,
    foreteller: Foreteller,
    /// The predicted amount of the next pull, at least 1.
    takes: u64,
    /// Average of the offers above 0; 0 before the first.
    usual: f32,
    reserve: u64,
    /// Small SDUs that entered since the pull.
    small_entered: u64,
    gaps: Gaps,
    polled_at: Instant,
    /// No admission followed the last query: SDAP has more and will query again at its next poll.
    refused: bool,
    pulled_at: Instant,
    has_pulled: bool,
    /// 1 once a poll came after the pull of its own instant, else 0. A poll at the next pull's
    /// instant then comes too late, so the time until the pull is reduced by a nanosecond.
    tie_ns: u64,
}

impl LastPoll {
    /// A LastPoll limiter for the bearer in `context`.
    ///
    /// # Errors
    /// The field outside its bounds.
    pub fn new(config: &LastPollConfig, context: &GrantContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let c = config;
        let slot_ns = context.slot.as_nanos();
        let small = match context.unit {
            CapacityUnit::Packets => 0,
            CapacityUnit::Bytes => (c.small.0 * f64::from(context.mtu)) as u64,
        };
        let step_ns = (slot_ns / STEPS_PER_SLOT).max(1);
        Ok(Self {
            unit: context.unit,
            slot_ns,
            risk: c.risk.0 as f32,
            patience: c.patience.0 as f32,
            idle: 0.0,
            small,
            mtu: context.amount(1),
            foreteller: Foreteller::new(),
            takes: context.amount(1),
            usual: 0.0,
            reserve: small,
            small_entered: 0,
            gaps: Gaps { longer: [0; GAP_STEPS], counted: 0, step_ns },
            polled_at: Instant::ZERO,
            refused: false,
            pulled_at: Instant::ZERO,
            has_pulled: false,
            tie_ns: 0,
        })
    }

    /// Unused slots required between two bulk SDUs; below 0 on a fast channel.
    fn distance(&self) -> f32 {
        let serial = self.mtu as f32 / self.takes as f32;
        self.patience * serial * (serial - SWIFT)
    }

    /// The amount that the queue must hold now, because waiting for the next poll would leave too
    /// much unused on average.
    fn due(&self, now: Instant, backlog: u64) -> u64 {
        let since = now.since(self.pulled_at).as_nanos();
        // If a pull is late, it is due now.
        let mut to_pull = self.slot_ns.saturating_sub(since);
        let short_at =
            |due: u64| due.saturating_sub(backlog).min(self.takes) as f32 / self.takes as f32;
        if self.idle + short_at(self.takes) < self.distance() {
            return 0;
        }
        let (mut due, mut taken) = (0, 0);
        for _ in 0..MOST_PULLS {
            let share = self.gaps.share_longer(to_pull.saturating_sub(self.tie_ns));
            if share <= self.risk {
                break;
            }
            taken += self.takes;
            if share * short_at(taken) > self.risk {
                due = taken;
            }
            to_pull += self.slot_ns;
        }
        due
    }
}

impl Limiter for LastPoll {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }

    fn room(&mut self, now: Instant, queue: &RlcView) -> u64 {
        if now != self.polled_at {
            if self.refused {
                self.gaps.count(now.since(self.polled_at).as_nanos());
            }
            self.polled_at = now;
            if self.has_pulled && now == self.pulled_at {
                self.tie_ns = 1;
            }
        }
        self.refused = true;
        let backlog = queue.backlog(self.unit);
        let due = self.due(now, backlog);
        if backlog < due {
            return due - backlog + self.mtu - 1;
        }
        let fits = self.takes.max(due).saturating_sub(backlog);
        let early =
            if self.unit == CapacityUnit::Packets { 0 } else { fits.saturating_sub(self.reserve) };
        if backlog < self.takes.saturating_add(self.reserve) {
            early.max(self.small)
        } else {
            early
        }
    }

    fn overdraws(&self) -> bool {
        false
    }

    fn on_admitted(&mut self, _now: Instant, amount: u64, _queue: &RlcView) {
        self.refused = false;
        if amount <= self.small {
            self.small_entered += amount;
        } else {
            self.idle = 0.0;
        }
    }

    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}

    fn on_slot(&mut self, report: &SlotReport) {
        let since = report.pulled_at.since(self.pulled_at).as_nanos();
        (self.pulled_at, self.has_pulled) = (report.pulled_at, true);
        let passed = (since + self.slot_ns / 2) / self.slot_ns;
        // An idle slot gives the cell's capacity, not the bearer's share, and one report stands for
        // many slots.
        if report.used == 0 && report.remaining == 0 {
            self.idle += passed as f32;
            // The forecast was for a past slot. It may have been 0, for example when
            // retransmissions took everything; then no bulk would enter, and nothing would be
            // learnt.
            self.takes = self.takes.max(self.usual as u64);
            return;
        }
        if report.granted > 0 {
            let weight = if self.usual > 0.0 { NEWS } else { 1.0 };
            self.usual += weight * (report.granted as f32 - self.usual);
        }
        self.foreteller.learn(passed, report.granted);
        if report.used < report.granted {
            self.idle += (report.granted - report.used) as f32 / report.granted as f32;
        }
        self.takes = self.foreteller.amount().max(1);
        let faded = self.reserve - self.reserve.div_ceil(256);
        self.reserve = self.small_entered.max(faded).min(self.takes);
        self.small_entered = 0;
    }

    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use justfull_base::Rng;

    const SLOT: Duration = Duration::from_millis(1);
    const BULK: u64 = 1500;

    fn limiter() -> LastPoll {
        with(&LastPollConfig::default())
    }

    fn with(config: &LastPollConfig) -> LastPoll {
        let context = GrantContext { unit: CapacityUnit::Bytes, slot: SLOT, mtu: 1500 };
        LastPoll::new(config, &context).expect("in bounds")
    }

    fn after_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn holding(bytes: u64) -> RlcView {
        RlcView { packets: 1, bytes }
    }

    /// Runs slots of `capacity(k)` bytes from `slots.start` to `slots.end`, with polls at
    /// `polls(k)` us after each pull and endless bulk. Returns the bytes of the last slot's polls
    /// and the unused capacity of all slots.
    fn run(
        l: &mut LastPoll,
        slots: core::ops::Range<u64>,
        capacity: impl Fn(u64) -> u64,
        polls: impl Fn(u64) -> Vec<u64>,
    ) -> (Vec<u64>, u64) {
        let (mut view, mut unused, mut entered) = (RlcView::default(), 0, Vec::new());
        for k in slots {
            let pulled_at = Instant::ZERO + SLOT.times(k);
            entered.clear();
            for us in polls(k) {
                let now = pulled_at + Duration::from_micros(us);
                let before = view.bytes;
                while l.room(now, &view) >= BULK {
                    view.bytes += BULK;
                    l.on_admitted(now, BULK, &view);
                }
                entered.push(view.bytes - before);
            }
            let offered = capacity(k);
            let used = view.bytes.min(offered);
            view.bytes -= used;
            unused += offered - used;
            let (pulled_at, remaining) = (pulled_at + SLOT, view.bytes);
            l.on_slot(&SlotReport {
                pulled_at,
                granted: offered,
                used,
                remaining,
                capacity: offered,
                ..SlotReport::default()
            });
        }
        (entered, unused)
    }

    fn every_200_us(_: u64) -> Vec<u64> {
        vec![50, 250, 450, 650, 850]
    }

    #[test]
    fn slots_that_were_not_told_of_keep_their_places_in_the_pattern() {
        let pattern = |k: u64| if k.is_multiple_of(5) { 1572 } else { 2292 };
        let mut told = Foreteller::new();
        let mut k = 0;
        for passed in [1; 300].into_iter().chain((0..300).map(|n| 1 + n % 97)) {
            k += passed;
            told.learn(passed, pattern(k));
            if (250..300).contains(&k) {
                assert_eq!(told.foretold, pattern(k + 1) as u32, "slot {k}");
            }
            assert_eq!(told.ago(1), pattern(k) as u32);
            assert_eq!(told.offered[((k - 1) % MEMORY as u64) as usize], pattern(k) as u32);
        }
    }

    #[test]
    fn the_room_is_what_the_pull_takes_less_the_reserve_and_all_that_is_due_at_the_last_poll() {
        // Without gaps, the gap is half a slot; a pull takes an SDU, and a quarter is reserved.
        let mut l = limiter();
        assert_eq!(l.room(after_us(1), &RlcView::default()), 1_125);
        assert_eq!(l.room(after_us(1), &holding(1_000)), 375, "a small one may use the reserve");
        assert_eq!(
            [1_874, 1_875].map(|bytes| l.room(after_us(1), &holding(bytes))),
            [375, 0],
            "until that is full too"
        );
        assert_eq!(l.room(after_us(600), &holding(500)), 1_000 + 1_499, "an SDU that will be cut");
    }

    #[test]
    fn what_is_left_unused_on_average_must_be_more_than_the_risk() {
        // One gap of 16 is longer than the rest of the slot.
        for (risk, due) in [(0.031_25, 0), (0.031, 1_500)] {
            let mut l = with(&LastPollConfig { risk: Ratio(risk), ..LastPollConfig::default() });
            (0..15).for_each(|_| l.gaps.count(100_000));
            l.gaps.count(900_000);
            // Half of the pull is short: a 32nd on average.
            assert_eq!(l.due(after_us(500), 750), due, "{risk}");
        }
    }

    #[test]
    fn without_patience_a_queue_that_holds_a_pull_gets_the_next_pulls_too() {
        let mut l = with(&LastPollConfig { patience: Ratio(0.0), ..LastPollConfig::default() });
        (0..16).for_each(|_| l.gaps.count(2_500_000));
        // The gaps reach the second pull but not the third.
        assert_eq!(l.due(after_us(0), 1_500), 3_000);
    }

    #[test]
    fn patience_counts_what_was_left_unused_and_what_is_short_now() {
        let mut l = limiter();
        l.takes = 500;
        // 0.03 x 3 x 1.5 = 0.135 slots apart; a fifth of the pull is short.
        (l.idle, l.patience) = (0.1, 0.03);
        assert_eq!(l.due(after_us(900), 400), 500);
        assert_eq!(l.due(after_us(900), 490), 0, "0.12 are not enough");
    }

    /// UMTS's retransmissions may take whole slots while SDUs wait, and these slots grant nothing.
    #[test]
    fn after_slots_that_granted_nothing_an_idle_cell_takes_bulk_again() {
        let mut l = limiter();
        let told = |l: &mut LastPoll, granted, used, remaining| {
            let pulled_at = l.pulled_at + SLOT;
            l.on_slot(&SlotReport { pulled_at, granted, used, remaining, ..SlotReport::default() });
        };
        (0..50).for_each(|_| told(&mut l, 500, 500, 20));
        (0..100).for_each(|_| told(&mut l, 0, 0, 20));
        assert_eq!(l.takes, 1, "what the last slots granted");
        told(&mut l, 500, 0, 0);
        assert_eq!(l.takes, 500);
        // 0.03 x 3 x 1.5 slots apart.
        assert_eq!(l.due(l.pulled_at + Duration::from_micros(600), 0), 500);
    }

    /// Polls at each quarter of the slot, the last at the instant of the pull but after it: an SDU
    /// larger than a pull must enter at the poll before.
    #[test]
    fn a_poll_that_comes_after_the_pull_of_its_instant_is_none_before_it() {
        let mut l = limiter();
        let (_, unused) = run(&mut l, 0..400, |_| 1_000, |_| vec![0, 250, 500, 750]);
        assert!(unused < 400 * 1_000 / 10, "{unused}");
    }

    #[test]
    fn what_pulls_leave_unused_adds_up_until_a_large_sdu_enters() {
        let mut l = limiter();
        let told = |l: &mut LastPoll, slots: u64, granted, used, remaining| {
            let pulled_at = l.pulled_at + SLOT.times(slots);
            l.on_slot(&SlotReport { pulled_at, granted, used, remaining, ..SlotReport::default() });
            (l.idle * 100.0 + 0.5) as u32
        };
        assert_eq!(told(&mut l, 1, 1_000, 600, 0), 40);
        assert_eq!(told(&mut l, 1, 1_000, 750, 0), 65);
        assert_eq!(told(&mut l, 1, 1_000, 1_000, 20), 65);
        assert_eq!(told(&mut l, 1, 0, 0, 20), 65, "nothing was offered");
        assert_eq!(told(&mut l, 3, 1_000, 0, 0), 365, "three idle slots");
        let pulled_at = l.pulled_at + Duration::from_micros(1_600);
        let mut late = l.clone();
        late.on_slot(&SlotReport { pulled_at, granted: 1_000, ..SlotReport::default() });
        assert_eq!(late.idle.to_bits(), 5.65f32.to_bits(), "and the nearest number of slots");
        l.on_admitted(l.pulled_at, 375, &RlcView::default());
        assert_eq!(l.idle.to_bits(), 3.65f32.to_bits());
        l.on_admitted(l.pulled_at, 376, &RlcView::default());
        assert_eq!(l.idle.to_bits(), 0);
    }

    #[test]
    fn the_reserve_is_the_most_small_sdus_of_a_slot_and_fades() {
        let mut l = limiter();
        let mut told = |small: &[u64]| {
            small.iter().for_each(|n| l.on_admitted(l.pulled_at, *n, &RlcView::default()));
            let pulled_at = l.pulled_at + SLOT;
            let (granted, used) = (1_500, 1_500);
            l.on_slot(&SlotReport { pulled_at, granted, used, ..SlotReport::default() });
            l.reserve
        };
        assert_eq!(told(&[]), 373, "by a 256th, rounded up");
        assert_eq!(told(&[200, 300, 1_500]), 500);
        assert_eq!(told(&[40]), 498);
    }

    fn gaps() -> Gaps {
        Gaps { longer: [0; GAP_STEPS], counted: 0, step_ns: 1_000 }
    }

    #[test]
    fn until_sixteen_gaps_are_counted_half_a_slot_stands_for_the_gap() {
        let mut gaps = gaps();
        for counted in 0..16 {
            let shares = [0, 31_999, 32_000, 40_000].map(|ns| gaps.share_longer(ns) > 0.99);
            assert_eq!(shares, [true, true, false, false], "{counted} counted");
            gaps.count(36_000);
        }
        let shares = [0, 35_999, 36_000, 40_000].map(|ns| gaps.share_longer(ns) > 0.01);
        assert_eq!(shares, [true, true, false, false], "longer than all shorter times");
    }

    #[test]
    fn half_of_the_gaps_are_forgotten_when_there_are_enough() {
        let mut gaps = gaps();
        (0..2048).for_each(|_| gaps.count(50_000));
        (0..1024).for_each(|_| gaps.count(10_000));
        assert_eq!((gaps.counted, gaps.share_longer(20_000)), (2048, 0.5));
        gaps.count(10_000);
        assert_eq!((gaps.counted, gaps.share_longer(20_000)), (1025, 512.0 / 1025.0));
    }

    #[test]
    fn bulk_that_leaves_no_room_for_urgent_packets_enters_at_the_last_poll() {
        let mut l = limiter();
        run(&mut l, 0..100, |_| 1500, every_200_us);
        let (entered, unused) = run(&mut l, 100..200, |_| 1500, every_200_us);
        assert_eq!((entered, unused), (vec![0, 0, 0, 0, 1500], 0));
        let now = Instant::ZERO + SLOT.times(200) + Duration::from_micros(50);
        let room = l.room(now, &RlcView::default());
        assert!((200..BULK).contains(&room), "an urgent packet may enter at any poll: {room}");
    }

    #[test]
    fn where_a_fifth_of_the_polls_is_missed_bulk_enters_earlier_and_little_is_left_unused() {
        let polls = |k: u64| {
            let mut rng = Rng::stream(k, "missed polls");
            every_200_us(k).into_iter().filter(|_| !rng.chance(0.2)).collect::<Vec<_>>()
        };
        let mut l = limiter();
        run(&mut l, 0..300, |_| 1500, polls);
        let (_, unused) = run(&mut l, 300..1300, |_| 1500, polls);
        assert!(unused < 1000 * 1500 / 50, "{unused}");
    }

    #[test]
    fn a_pattern_of_ten_slots_is_foretold() {
        let pattern = |k: u64| if k.is_multiple_of(5) { 1572 } else { 2292 };
        let mut l = limiter();
        run(&mut l, 0..200, pattern, every_200_us);
        for k in 200..220 {
            assert_eq!(l.takes, pattern(k), "slot {k}");
            run(&mut l, k..k + 1, pattern, every_200_us);
        }
    }

    #[test]
    fn polls_rarer_than_pulls_fill_for_all_pulls_to_come() {
        let mut l = limiter();
        let seldom = |k: u64| if k.is_multiple_of(3) { vec![500] } else { Vec::new() };
        run(&mut l, 0..300, |_| 3000, seldom);
        let (_, unused) = run(&mut l, 300..600, |_| 3000, seldom);
        assert!(unused <= 3000, "{unused}");
    }

    #[test]
    fn on_a_slow_channel_bulk_keeps_a_distance_and_on_a_swift_one_none() {
        let mut l = limiter();
        let (_, unused) = run(&mut l, 0..3000, |_| 85, every_200_us);
        // 0.03 x 17.6 x 16.1 = 8.5 slots in 26.2.
        assert!((20..40).contains(&(unused * 100 / (3000 * 85))), "{unused}");
        let mut l = limiter();
        run(&mut l, 0..100, |_| 1143, every_200_us);
        let (_, unused) = run(&mut l, 100..3000, |_| 1143, every_200_us);
        assert!(unused < 2900 * 1143 / 1000, "{unused}: pulls short by less than the risk");
    }

    #[test]
    fn settings_out_of_bounds_are_refused_by_name() {
        let refused = |config: LastPollConfig| {
            let context = GrantContext { unit: CapacityUnit::Bytes, slot: SLOT, mtu: 1500 };
            LastPoll::new(&config, &context).map(|_| ()).map_err(|e| e.field)
        };
        let config = LastPollConfig::default;
        assert_eq!(
            refused(LastPollConfig { risk: Ratio(f64::NAN), ..config() }),
            Err("risk".into())
        );
        assert_eq!(refused(LastPollConfig { small: Ratio(-0.1), ..config() }), Err("small".into()));
        assert_eq!(
            refused(LastPollConfig { patience: Ratio(1.1), ..config() }),
            Err("patience".into())
        );
    }
}
