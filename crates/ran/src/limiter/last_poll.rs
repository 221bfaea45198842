//! LastPoll: bulk enters the RLC at the last SDAP poll that is safely before the pull, at most as
//! much as the pull takes.
//!
//! Source: this project. A more urgent packet can still overtake packets that wait in SDAP, but not
//! packets in the RLC (A21 section III-A). So at each pull the RLC should hold exactly the amount
//! that the pull takes, and get it as late as the polls allow:
//!
//! - **The time of the next poll** comes from the polls: the number of recent gaps between polls
//!   that were longer than each 64th of a slot. A clock on time, a late clock and a clock that
//!   misses polls each give their own distribution. A gap counts only if SDAP was refused at its
//!   start; otherwise SDAP may have been idle in between.
//! - **The amount of the next pull** comes from the slots' reports: the offer 1, 2, 4, 5, 8, 10, 20
//!   or 40 slots ago, whichever has recently predicted best (subframes with system information, TDD
//!   patterns), minus its average shortfall. Idle slots say nothing about this; in them the
//!   forecast is at least the average of the offers above 0, since the last forecast may be of a
//!   slot without an offer, for example when retransmissions take everything.
//! - **Due.** With `short` as the share of the pull that the queue cannot fill, waiting for the
//!   next poll leaves P(gap > time to the pull) x `short` of it unused on average. If that is more
//!   than `risk`, an SDU enters even if it will be cut. If polls are rarer than pulls, the same
//!   holds for each pull before the next poll. A poll at the instant of a pull counts as too late
//!   for it once a poll has come after its pull.
//! - **Early.** Until then an SDU enters if the next pull takes it whole and leaves `reserve` bytes
//!   for urgent packets still to come, at no cost to these packets. An SDU of at most a `small`
//!   share of the MTU may use the reserve too. The reserve follows the greatest amount of small
//!   SDUs in a slot, and decays. With grants in packets, small and large SDUs are alike, and
//!   nothing enters early.
//! - **Patience.** On a slow channel an SDU of the MTU occupies `serial` = MTU / pull slots, and
//!   all SDUs behind it wait. The next such SDU then waits until the capacity left unused since the
//!   last one reaches `patience x serial x (serial - 1.5)` slots: none up to 1.5 slots per SDU,
//!   0.14 at 3, 0.4 at 4.6, 8.5 at 18. This gives up little capacity, since it happens only on a
//!   slow channel.
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
/// Slots kept: the longest period.
const MEMORY: usize = 40;
/// Steps per slot in which gaps between polls are counted, and the longest gap, in steps.
const STEPS_PER_SLOT: u64 = 64;
const GAP_STEPS: usize = 256;
/// Number of counted gaps at which the counts are halved, and the minimum before they are used.
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
    text: "Predicts the times of SDAP's polls and the sizes of pulls. At the last safe poll it fills \
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
    fn add(&mut self, passed: u64, amount: u64) {
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
            // retransmissions took everything; then no bulk would enter, and the forecast would
            // stay.
            self.takes = self.takes.max(self.usual as u64);
            return;
        }
        if report.granted > 0 {
            let weight = if self.usual > 0.0 { NEWS } else { 1.0 };
            self.usual += weight * (report.granted as f32 - self.usual);
        }
        self.foreteller.add(passed, report.granted);
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
mod tests;
