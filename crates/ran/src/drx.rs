//! Discontinuous reception: the times at which a UE listens (TS 38.321 clause 5.7).
//!
//! A UE is active, and can be scheduled, while one of these runs or is pending: the on-duration
//! timer, which starts once in each cycle; the inactivity timer, which each grant of new data
//! restarts; the retransmission timer of a transport block that was not decoded; a scheduling
//! request. The short cycle is in use for `short_cycles` of its length after the inactivity timer
//! has expired, the long cycle otherwise.
//!
//! A timer counts from the slot of its grant. The slot that begins when the inactivity timer ends
//! is the last active one; the slot that begins when the on-duration timer ends is not active.

use alloc::collections::VecDeque;
use alloc::string::ToString;
use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, Instant, choice, params};

choice! {
    /// The begin of the time that an AQM counts as a packet's wait.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum AqmClock {
        /// The later of the packet's arrival and the UE's last wake: sleep is no congestion.
        #[default]
        Wake = "wake",
        /// The packet's arrival.
        Arrival = "arrival",
    }
}

params! {
    /// Discontinuous reception of a UE.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DrxConfig: "TS 38.321 clause 5.7, TS 38.331 DRX-Config" {
        /// Length of the long cycle.
        long_cycle: Duration = Duration::from_millis(160),
            within(Duration::from_millis(2), Duration::from_millis(10_240)),
            "TS 38.331 drx-LongCycleStartOffset";
        /// Begin of the on-duration in the cycle; left out, random for each UE, in whole
        /// milliseconds.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        start_offset: Option<Duration> = None, stated("below long_cycle");
        /// Time that the UE listens in each cycle.
        on_duration: Duration = Duration::from_millis(10),
            stated("a slot, and the distance of downlink slots, to 1600ms, at most each cycle"),
            "TS 38.331 drx-onDurationTimer";
        /// Time that the UE listens after a grant of new data; 0s for none.
        inactivity: Duration = Duration::from_millis(100),
            at_most(Duration::from_millis(2_560)), "TS 38.331 drx-InactivityTimer";
        /// Length of the short cycle; left out, there is none.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        short_cycle: Option<Duration> = None,
            stated("2ms to 640ms, a divisor of long_cycle"), "TS 38.331 drx-ShortCycle";
        /// Number of short cycles after the inactivity timer has expired.
        short_cycles: u8 = 2, within(1, 16), "TS 38.331 drx-ShortCycleTimer";
        /// Time that the UE listens for a transport block that was not decoded, from the slot
        /// before HARQ's round trip ends; with a MAC of kind rb.
        retransmission: Duration = Duration::from_millis(8),
            at_most(Duration::from_millis(320)), "TS 38.331 drx-RetransmissionTimerDL";
        /// The begin of the time that AQMs count as a packet's wait.
        aqm_clock: AqmClock = AqmClock::Wake;
    }
    check Self::check_cycles;
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "drx",
    kind: "MAC",
    title: "discontinuous reception of a UE",
    text: "The cell sends to a UE only while it listens: in the on-duration of each cycle, and for \
           `inactivity` after each grant. A packet of the UE wakes it. AQMs count the wait of a \
           packet from the later of its arrival and the UE's wake.",
    sources: "TS 38.321 clause 5.7, TS 38.331 DRX-Config",
    deviations: "no DRX command, no wake-up signal; the cell begins at time 0 of the run; a grant \
                 of the uplink counts at its PUSCH; a UE that enters a cell is active for \
                 `inactivity`",
    params: DrxConfig::params,
};

impl DrxConfig {
    fn check_cycles(&self) -> Result<(), ConfigError> {
        const WHY: &str = "TS 38.331 DRX-Config";
        let Self { long_cycle, on_duration, .. } = self;
        if let Some(short) = self.short_cycle {
            let bounds = Duration::from_millis(2)..=Duration::from_millis(640);
            let divides = bounds.contains(&short)
                && short < *long_cycle
                && long_cycle.as_nanos().is_multiple_of(short.as_nanos());
            let allowed = alloc::format!("2ms to 640ms, a divisor of long_cycle, {long_cycle}");
            ensure(divides, "short_cycle", &short, &allowed, WHY)?;
        }
        let most = self.short_cycle.unwrap_or(*long_cycle).min(Duration::from_millis(1_600));
        let allowed = alloc::format!("above 0s, at most {most}: 1600ms and each cycle");
        let fits = !on_duration.is_zero() && *on_duration <= most;
        ensure(fits, "on_duration", on_duration, &allowed, WHY)?;
        let below = self.start_offset.is_none_or(|offset| offset < *long_cycle);
        let found = self.start_offset.unwrap_or_default().to_string();
        ensure(below, "start_offset", &found, &alloc::format!("below {long_cycle}"), WHY)
    }
}

/// The DRX of a UE.
#[derive(Clone, Debug)]
pub(crate) struct Drx {
    times: Times,
    /// Instant of the state.
    at: Instant,
    /// The next start of the on-duration timer.
    next: Instant,
    /// End of the on-duration timer that started last.
    on_until: Instant,
    /// End of the inactivity timer that started last.
    idle_from: Option<Instant>,
    /// The last instant of the short cycles that followed the last expiry before that.
    short_until: Option<Instant>,
    /// A scheduling request is pending.
    requested: bool,
    /// Starts of the retransmission timers of blocks that will be sent again, in order.
    repeats: VecDeque<Instant>,
    /// Active time from `counts_from` to `at`.
    active: Duration,
    counts_from: Instant,
}

/// The settings in force.
#[derive(Clone, Copy, Debug)]
struct Times {
    long: Duration,
    short: Option<Duration>,
    /// Time for which short cycles are used after the inactivity timer has expired.
    shorts: Duration,
    offset: Duration,
    on: Duration,
    inactivity: Duration,
    retransmission: Duration,
}

/// The first instant after `after` that is `offset` and some `cycle`s.
fn occasion(after: Instant, offset: Duration, cycle: Duration) -> Instant {
    let (after, offset, cycle) =
        (after.as_nanos(), offset.as_nanos() % cycle.as_nanos(), cycle.as_nanos());
    let cycles = if after < offset { 0 } else { (after - offset) / cycle + 1 };
    Instant::from_nanos(offset + cycles * cycle)
}

impl Drx {
    /// The DRX of a UE whose cycle begins at `offset`, unless `config` has an offset.
    pub(crate) fn new(config: &DrxConfig, offset: Duration) -> Self {
        let short = config.short_cycle;
        let times = Times {
            long: config.long_cycle,
            short,
            shorts: short.unwrap_or_default().times(config.short_cycles.into()),
            offset: config.start_offset.unwrap_or(offset),
            on: config.on_duration,
            inactivity: config.inactivity,
            retransmission: config.retransmission,
        };
        Self {
            times,
            at: Instant::ZERO,
            next: Instant::ZERO + times.offset,
            on_until: Instant::ZERO,
            idle_from: None,
            short_until: None,
            requested: false,
            repeats: VecDeque::new(),
            active: Duration::ZERO,
            counts_from: Instant::ZERO,
        }
    }

    /// True if the short cycle is in use at `at`, which is after the last grant.
    fn is_short(&self, at: Instant) -> bool {
        match self.idle_from {
            Some(from) if from < at => at <= from + self.times.shorts,
            _ => self.short_until.is_some_and(|until| at <= until),
        }
    }

    /// The first start of the on-duration timer after `after`, if nothing is granted.
    fn start_after(&self, after: Instant) -> Instant {
        let Times { long, short, offset, .. } = self.times;
        let next = occasion(after, offset, long);
        let Some(short) = short else { return next };
        let first = occasion(after, offset, short);
        if self.is_short(first) {
            return first.min(next);
        }
        // The short cycle comes into use when the inactivity timer expires.
        let later = self.idle_from.filter(|from| *from > after);
        later.map_or(next, |from| next.min(occasion(from, offset, short)))
    }

    /// The end of the active time that has begun by `self.at`; if the UE sleeps, an instant not
    /// after `self.at`.
    fn active_until(&self) -> Instant {
        if self.requested {
            return Instant::NEVER;
        }
        let begun = self.repeats.iter().rev().find(|start| **start <= self.at);
        let repeats = begun.map_or(Instant::ZERO, |start| *start + self.times.retransmission);
        self.on_until.max(self.idle_from.unwrap_or(Instant::ZERO)).max(repeats)
    }

    fn start_on_durations(&mut self) {
        while self.next <= self.at {
            self.on_until = self.next + self.times.on;
            self.next = self.start_after(self.next);
        }
    }

    /// Brings the state to `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.start_on_durations();
        while self.at < now {
            let until = self.active_until();
            if until > self.at {
                let to = until.min(now);
                self.active += to.since(self.at.max(self.counts_from));
                self.at = to;
            } else {
                self.at = self.next_start().min(now);
            }
            self.start_on_durations();
        }
    }

    /// True if the UE is active at `now`.
    pub(crate) fn is_active(&mut self, now: Instant) -> bool {
        self.advance(now);
        self.active_until() > self.at || self.idle_from == Some(self.at)
    }

    /// The next instant at which the UE, which sleeps, becomes active by itself.
    pub(crate) fn next_start(&self) -> Instant {
        let repeat = self.repeats.iter().find(|start| **start > self.at);
        repeat.map_or(self.next, |start| self.next.min(*start))
    }

    /// New data is granted at `now`.
    pub(crate) fn grant(&mut self, now: Instant) {
        self.advance(now);
        if let Some(from) = self.idle_from.filter(|from| *from < self.at) {
            self.short_until = Some(from + self.times.shorts);
        }
        self.idle_from = Some(self.at + self.times.inactivity);
        self.next = self.start_after(self.at);
    }

    /// The UE's scheduling requests are answered by a grant at `now`.
    pub(crate) fn grant_uplink(&mut self, now: Instant) {
        self.grant(now);
        self.requested = false;
    }

    /// The UE sends a scheduling request at `now`.
    pub(crate) fn request(&mut self, now: Instant) {
        self.advance(now);
        self.requested = true;
    }

    /// A block was not decoded: it will be sent again, and the UE listens for it from `start` on.
    pub(crate) fn expect_repeat(&mut self, start: Instant) {
        self.repeats.push_back(start);
    }

    /// The block that was expected first is sent again at `now`.
    pub(crate) fn repeat(&mut self, now: Instant) {
        self.advance(now);
        self.repeats.pop_front();
    }

    /// The UE leaves the cell at `now`: it is not active there until it [enters](Self::enter).
    pub(crate) fn leave(&mut self, now: Instant) {
        self.advance(now);
        self.repeats.clear();
        (self.requested, self.idle_from, self.short_until) = (false, None, None);
        (self.on_until, self.next) = (self.at, Instant::NEVER);
    }

    /// The UE enters the cell at `now`: its last grant belonged to its random access.
    pub(crate) fn enter(&mut self, now: Instant) {
        self.advance(now);
        self.next = self.start_after(self.at);
        self.grant(now);
    }

    /// Active time is counted from `from` on.
    pub(crate) fn count_from(&mut self, from: Instant) {
        self.counts_from = from;
    }

    /// Active time up to `now`.
    pub(crate) fn active(&mut self, now: Instant) -> Duration {
        self.advance(now);
        self.active
    }
}

#[cfg(test)]
mod tests;
