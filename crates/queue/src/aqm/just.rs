//! Just full: a lane keeps what its sender needs to fill the radio through its answer to a signal,
//! and no more.
//!
//! This project's. A sender that answers to a signal cuts its window, so its lane shrinks. If the
//! lane runs empty then, the signal came too early: the radio idles, and the sender takes seconds
//! to grow back. If much is left, it came too late: all of it is delay. How much a lane must hold
//! depends on the round trip and on the sender, and a base station knows neither. It sees the
//! outcome:
//!
//! - A lane may hold `reserve` at its greatest rate of late. Above it for an interval, packets are
//!   signalled as in CoDel: one, then others `interval / sqrt(count)` apart until the lane is below.
//! - After the first signal of such a state the lane's least backlog is kept. If the lane runs
//!   empty, `reserve` grows by 1.4 times the time for which it then stays empty; the time counts
//!   from the first emptiness for as long as that was after the signal: one round trip.
//! - Otherwise `reserve` shrinks by half of the least backlog at the next such state.
//!
//! So the reserve settles where a window that is cut by 0.7 (CUBIC, RFC 9438 section 4.6) still
//! covers the path: 0.43 round trips for one flow, less for many in one lane, more for Reno. It
//! needs neither a header nor a timestamp, so it works with QUIC, in a tunnel, and where
//! acknowledgements wait in the uplink.
//!
//! The interval is `interval` and two reserves: an answer takes a round trip to show. Bytes are
//! held against the greatest rate, so that a radio that falls and rises again costs no window; in
//! an outage nothing leaves and nothing is signalled.
//!
//! Controls each lane's backlog. Known weaknesses: a sender that does not answer to signals keeps a
//! lane full until signals are frequent enough; a radio that stays slow keeps its reserve for
//! `memory`.

use super::codel::peak::PeakRate;
use super::{Aqm, AqmContext, AqmSettings, QueueView, Tag, Verdict};
use crate::lane::Lane;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Packet, Ratio, params};

/// Backlog in bytes below which nothing is signalled: a loss among fewer than four packets is found
/// by a timeout only (RFC 5681 section 3.2: three duplicate ACKs).
const FEW: u64 = 4 * 1500;
/// Shorter idle times are those between two slots.
const IDLE: Duration = Duration::from_millis(2);

impl AqmSettings for JustConfig {
    fn needs_room(&self) -> bool {
        false
    }
}

/// Describes the AQM.
pub const DOC: MethodDoc = MethodDoc {
    name: "just",
    kind: "aqm",
    title: "Just full: the reserve that keeps the radio busy through a sender's answer",
    text: "A lane may hold a reserve at its greatest rate of late. Above it for an interval, \
           packets are signalled as in CoDel. The reserve grows by the time for which the lane is \
           empty after a signal, and shrinks by half of the least backlog after one, so it follows \
           the lane's own round trip and sender.",
    sources: "This project; the spacing of signals is RFC 8289 section 4.4's",
    deviations: "None.",
    params: JustConfig::params,
};

params! {
    /// Settings of [`Just`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct JustConfig {
        /// Reserve of a lane before its first signal.
        start: Duration = Duration::from_millis(50),
            within(Duration::from_millis(1), Duration::from_secs(1)), "a window of CUBIC";
        /// Least reserve.
        least: Duration = Duration::from_millis(15),
            within(Duration::from_millis(1), Duration::from_secs(1)), "some slots of a radio";
        /// Greatest reserve.
        most: Duration = Duration::from_secs(1),
            rule("at least least and start, at most 10s", |c| {
                c.most >= c.least && c.most >= c.start && c.most <= Duration::from_secs(10)
            }), "0.43 round trips";
        /// Time above the reserve before a signal, besides two reserves.
        interval: Duration = Duration::from_millis(100),
            within(Duration::from_millis(1), Duration::from_secs(10)), "an answer takes a round trip";
        /// Time in which a greatest rate that is not reached again falls to 1/e.
        memory: Duration = Duration::from_secs(30),
            within(Duration::from_millis(100), Duration::from_secs(3600)),
            "CUBIC grows back to its last window in seconds (RFC 9438 section 4.2)";
        /// Part of the idle time after a signal by which the reserve grows.
        growth: Ratio = Ratio(1.4), within(Ratio(0.0), Ratio(4.0)), "a window is cut to 0.7";
        /// Part of the least backlog after a signal by which it shrinks.
        shrink: Ratio = Ratio(0.5), within(Ratio(0.0), Ratio(1.0)), "no more than is left";
        /// Lanes of the lowest numbers that are never signalled.
        spared: u16 as "lanes" = 0;
        /// Mark packets that are ECN-capable in place of dropping them.
        ecn: bool = true;
    }
}

/// State of one lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LaneState {
    peak: PeakRate,
    /// In microseconds; 0 before the first packet.
    reserve_us: u32,
    /// Since when the backlog has been above the reserve.
    above_since: Option<Instant>,
    /// In the signalling state: signals so far, and when the next is due.
    count: u32,
    next: Instant,
    /// The first signal of the last such state, while its outcome is open.
    signal_at: Option<Instant>,
    /// Least backlog in bytes since then.
    least: u64,
    /// When the lane ran empty after it, and until when idle time counts.
    empty_at: Option<Instant>,
    learns_until: Option<Instant>,
}

impl LaneState {
    fn reserve(&self) -> Duration {
        Duration::from_micros(u64::from(self.reserve_us))
    }

    fn set_reserve(&mut self, config: &JustConfig, reserve: f64) {
        let [least, most] = [config.least, config.most].map(Duration::as_secs_f64);
        self.reserve_us = (reserve.clamp(least, most) * 1e6) as u32;
    }

    /// Bytes that may wait.
    fn allowed(&self) -> u64 {
        ((self.peak.rate() * self.reserve().as_secs_f64()) as u64).max(FEW)
    }

    /// The outcome of the last signal is known: a new state begins.
    fn settle(&mut self, config: &JustConfig) {
        if self.signal_at.is_some() && self.learns_until.is_none() && self.peak.rate() > 0.0 {
            let surplus = self.least as f64 / self.peak.rate();
            self.set_reserve(config, self.reserve().as_secs_f64() - config.shrink.0 * surplus);
        }
        self.learns_until = None;
    }

    /// The verdict on a packet that leaves with `behind` bytes left.
    fn control(&mut self, config: &JustConfig, now: Instant, behind: u64) -> Verdict {
        self.least = self.least.min(behind);
        if behind <= self.allowed() || self.peak.rate() == 0.0 {
            (self.above_since, self.count) = (None, 0);
            return Verdict::Pass;
        }
        let since = *self.above_since.get_or_insert(now);
        let interval = config.interval + self.reserve().times(2);
        let due = if self.count == 0 { since + interval } else { self.next };
        if now < due {
            return Verdict::Pass;
        }
        if self.count == 0 {
            self.settle(config);
            (self.signal_at, self.least) = (Some(now), behind);
        }
        self.count += 1;
        self.next = now + interval.scaled(1.0 / libm::sqrt(f64::from(self.count)));
        Verdict::Signal
    }

    fn on_empty(&mut self, now: Instant) {
        self.peak.on_empty();
        (self.above_since, self.count) = (None, 0);
        let Some(signal_at) = self.signal_at else { return };
        self.empty_at = Some(now);
        if self.learns_until.is_none() {
            self.learns_until = Some(now + now.since(signal_at));
        }
    }

    /// A packet comes to the empty lane.
    fn on_busy(&mut self, config: &JustConfig, now: Instant) {
        let (Some(empty_at), Some(until)) = (self.empty_at.take(), self.learns_until) else {
            return;
        };
        let idle = now.since(empty_at);
        if now <= until && idle >= IDLE {
            let more = config.growth.0 * idle.as_secs_f64();
            self.set_reserve(config, self.reserve().as_secs_f64() + more);
        }
    }
}

/// The AQM over one or more lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct Just {
    config: JustConfig,
    lanes: Vec<LaneState>,
    number: u32,
}

impl Just {
    /// With the settings of `config` for the queue of `context`.
    ///
    /// # Errors
    /// Names the setting that is out of its bounds.
    pub fn new(config: &JustConfig, context: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self { config: *config, lanes: Vec::new(), number: context.lanes })
    }

    /// The state of `lane`; lanes are allocated at the first packet.
    fn lane(&mut self, lane: Lane) -> &mut LaneState {
        if self.lanes.is_empty() {
            let reserve_us = (self.config.start.as_nanos() / 1000) as u32;
            let state = LaneState { reserve_us, ..LaneState::default() };
            self.lanes = alloc::vec![state; self.number as usize];
        }
        &mut self.lanes[usize::from(lane)]
    }
}

impl Aqm for Just {
    fn marks(&self) -> bool {
        self.config.ecn
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        _packet: &Packet,
    ) -> (Verdict, Tag) {
        if view.lane.bytes == 0 && lane >= self.config.spared {
            let config = self.config;
            self.lane(lane).on_busy(&config, now);
        }
        (Verdict::Pass, 0)
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        packet: &Packet,
        _tag: Tag,
        _sojourn: Duration,
    ) -> Verdict {
        let config = self.config;
        if lane < config.spared {
            return Verdict::Pass;
        }
        let state = self.lane(lane);
        let verdict = state.control(&config, now, view.lane.bytes);
        if verdict == Verdict::Pass || super::becomes_mark(config.ecn, packet) {
            state.peak.on_dequeue(now, packet.size, config.memory);
        }
        verdict
    }

    fn on_empty(&mut self, now: Instant, lane: Lane) {
        if lane >= self.config.spared {
            self.lane(lane).on_empty(now);
        }
    }
}
