//! PIE: drops arrivals with a probability that a controller adapts to the queueing delay and its
//! trend.
//!
//! Source: RFC 8033 sections 4 (basic PIE) and 5 (ECN, estimate of the rate, spread of drops, cap),
//! pseudo-code in its appendices A and B.
//!
//! Controls the queueing delay. Every `t_update` the probability changes by `alpha` (delay -
//! `target`) + `beta` (delay - last delay), scaled down while it is small (section 4.2), and decays
//! by 2 % while both delays are 0. An arrival is dropped with the probability, but not while the
//! last delay is below half of `target` and the probability below 0.2, while two packets or fewer
//! are queued (section 4.1), or within the `burst` that an uncongested queue may take (section
//! 4.4). With `derandomize` no drop comes before the probabilities of the packets since the last
//! drop add up to 0.85, and a drop comes at 8.5 (section 5.4). With `cap` a probability of 0.1 or
//! more rises by at most 0.02 (section 5.5).
//!
//! Defaults: the RFC's.
//!
//! Known weaknesses: the controller needs some tenths of a second, so that a sudden fall of the
//! rate fills the queue first; a target below the time between pulls of the layer below is never
//! met; flows share one probability.
//!
//! Deviations: the delay is by default the wait of the last packet that left (appendix A), and 0 if
//! nothing is queued; `rate` estimates it from the rate of departures (section 5.2), in cycles of
//! 16 KiB, which take 2 s at 64 kbit/s. Updates are due at multiples of `t_update` and run at the
//! next arrival or departure, with the backlog before it, so an idle queue costs nothing; at one
//! instant they come before the packet. PIE is always active: section 5.3's threshold for turning
//! on is left out.

use super::{Aqm, AqmContext, AqmSettings, QueueView, Tag, Verdict};
use crate::lane::Lane;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Instant, Packet, Ratio, Rng, choice, params};

impl AqmSettings for PieConfig {}

/// Describes PIE.
pub const DOC: MethodDoc = MethodDoc {
    name: "pie",
    kind: "aqm",
    title: "Proportional integral controller enhanced (RFC 8033)",
    text: "Drops arrivals with a probability that moves every `t_update` by the queueing delay's \
           distance from `target` and by its trend. Bursts of up to `burst` pass an uncongested \
           queue. ECN-capable packets are marked while the probability is below `mark_below`.",
    sources: "RFC 8033 sections 4, 5.1, 5.2, 5.4, 5.5, appendices A, B",
    deviations: "The delay is 0 when nothing is queued. Updates are worked off at the next arrival \
                 or departure. Section 5.3 (turning PIE on and off) is left out.",
    params: PieConfig::params,
};

choice! {
    /// How the queueing delay is known.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Estimate {
        /// The wait of the packet that left last (RFC 8033 section 4.3 and appendix A).
        #[default]
        Timestamp = "timestamp",
        /// The length over the rate of departures (RFC 8033 section 5.2).
        Rate = "rate",
    }
}

params! {
    /// Settings of [`Pie`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PieConfig: "RFC 8033 section 4" {
        /// Queueing delay that is aimed at (QDELAY_REF).
        target: Duration = Duration::from_millis(15), above(Duration::ZERO);
        /// Time between two updates of the probability (T_UPDATE).
        t_update: Duration = Duration::from_millis(15),
            within(Duration::from_micros(100), Duration::from_secs(60));
        /// Burst that an uncongested queue takes without drops (MAX_BURST).
        burst: Duration = Duration::from_millis(150);
        /// Weight of the distance from the target, per second.
        alpha: Ratio = Ratio(0.125), within(Ratio(0.0), Ratio(100.0));
        /// Weight of the trend, per second.
        beta: Ratio = Ratio(1.25), within(Ratio(0.0), Ratio(100.0));
        /// Size of a packet, of which two or fewer in the queue are never a reason to drop.
        mean_packet: Bytes = Bytes(1024);
        /// Spread drops evenly.
        derandomize: bool = true, free(), "RFC 8033 section 5.4";
        /// Limit the rise of a probability of 0.1 or more to 0.02.
        cap: bool = true, free(), "RFC 8033 section 5.5";
        /// How the queueing delay is known.
        estimate: Estimate = Estimate::Timestamp;
        /// Mark packets that are ECN-capable in place of dropping them.
        ecn: bool = true;
        /// Drop ECN-capable packets too from this probability on.
        mark_below: Ratio = Ratio(0.1), within(Ratio(0.0), Ratio(1.0)),
            "RFC 8033 section 5.1";
    }
}

/// Below these probabilities the change is divided by this (RFC 8033 section 4.2).
const TUNING: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];

/// Bytes of a cycle of the estimate of the rate (RFC 8033 section 5.2, DQ_THRESHOLD).
const CYCLE: u64 = 1 << 14;

/// Weight of a cycle: DQ_THRESHOLD / 2^16.
const CYCLE_WEIGHT: f64 = 0.25;

/// The estimate of the time in which [`CYCLE`] bytes leave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Departures {
    /// Start of the cycle, and the bytes that have left since; none between cycles.
    cycle: Option<(Instant, u64)>,
    /// Average length of a cycle in s; 0 before the first.
    time: f64,
}

impl Departures {
    /// RFC 8033 section 5.2 and appendix B: `size` bytes leave and `behind` remain.
    fn leave(&mut self, now: Instant, size: u32, behind: u64) {
        if let Some((start, left)) = &mut self.cycle {
            *left += u64::from(size);
            if *left >= CYCLE {
                let time = now.since(*start).as_secs_f64();
                let weight = if self.time == 0.0 { 1.0 } else { CYCLE_WEIGHT };
                self.time += weight * (time - self.time);
                self.cycle = None;
            }
        }
        if self.cycle.is_none() && behind >= CYCLE {
            self.cycle = Some((now, 0));
        }
    }
}

/// PIE.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    /// Probability of a drop.
    p: f64,
    /// The last two delays in s, the later first.
    delays: [f64; 2],
    /// The rest of the burst allowance, in ns.
    burst: u64,
    /// Sum of the probabilities since the last signal.
    sum: f64,
    /// Wait of the last packet that left, in s.
    waited: f64,
    departures: Departures,
    /// Time of the next update.
    next: Instant,
    rng: Rng,
}

impl Pie {
    /// PIE with the settings of `config` for the queue of `context`.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(config: &PieConfig, context: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config: *config,
            p: 0.0,
            delays: [0.0; 2],
            burst: config.burst.as_nanos(),
            sum: 0.0,
            waited: 0.0,
            departures: Departures::default(),
            next: Instant::ZERO + config.t_update,
            rng: Rng::from_key(context.key),
        })
    }

    /// Runs the updates that are due, with the `bytes` queued since the last arrival or departure.
    #[inline]
    fn catch_up(&mut self, now: Instant, bytes: u64) {
        if now >= self.next {
            self.update_until(now, bytes);
        }
    }

    #[inline(never)]
    fn update_until(&mut self, now: Instant, bytes: u64) {
        let period = self.config.t_update.as_nanos();
        let due = now.since(self.next).as_nanos() / period + 1;
        for _ in 0..due {
            let before = (self.p, self.delays, self.burst);
            self.update(self.delay(bytes));
            // Further updates would not change anything.
            if before == (self.p, self.delays, self.burst) {
                break;
            }
        }
        self.next += Duration::from_nanos(period.saturating_mul(due));
    }

    /// The queueing delay in s with `bytes` in the queue.
    fn delay(&self, bytes: u64) -> f64 {
        match self.config.estimate {
            Estimate::Timestamp if bytes == 0 => 0.0,
            Estimate::Timestamp => self.waited,
            Estimate::Rate => bytes as f64 * self.departures.time / CYCLE as f64,
        }
    }

    /// RFC 8033 sections 4.2, 4.4 and 5.5.
    fn update(&mut self, delay: f64) {
        let config = &self.config;
        let (target, last) = (config.target.as_secs_f64(), self.delays[0]);
        let change = config.alpha.0 * (delay - target) + config.beta.0 * (delay - last);
        let tuning = TUNING.iter().find(|(below, _)| self.p < *below);
        let mut change = change / tuning.map_or(1.0, |(_, divisor)| *divisor);
        if config.cap && self.p >= 0.1 {
            change = change.min(0.02);
        }
        self.p += change;
        if delay == 0.0 && last == 0.0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.delays = [delay, last];
        self.burst = self.burst.saturating_sub(config.t_update.as_nanos());
        if self.p == 0.0 && delay < target / 2.0 && last < target / 2.0 {
            self.burst = config.burst.as_nanos();
        }
    }

    /// RFC 8033 sections 4.1 and 5.4, with `bytes` in the queue.
    fn drops_early(&mut self, bytes: u64) -> bool {
        let config = &self.config;
        let is_short = self.delays[0] < config.target.as_secs_f64() / 2.0 && self.p < 0.2;
        if self.burst > 0 || is_short || bytes <= 2 * config.mean_packet.0 {
            return false;
        }
        if config.derandomize {
            self.sum = if self.p == 0.0 { 0.0 } else { self.sum + self.p };
            if self.sum < 0.85 {
                return false;
            }
            if self.sum >= 8.5 {
                return true;
            }
        }
        self.p >= 1.0 || (self.p > 0.0 && self.rng.chance(self.p))
    }
}

impl Aqm for Pie {
    fn marks(&self) -> bool {
        self.config.ecn
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        view: &QueueView,
        _lane: Lane,
        _packet: &Packet,
    ) -> (Verdict, Tag) {
        self.catch_up(now, view.backlog_bytes);
        if !self.drops_early(view.backlog_bytes) {
            return (Verdict::Pass, 0);
        }
        self.sum = 0.0;
        let marks = self.p < self.config.mark_below.0;
        (if marks { Verdict::Signal } else { Verdict::Drop }, 0)
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        view: &QueueView,
        _lane: Lane,
        packet: &Packet,
        _tag: Tag,
        sojourn: Duration,
    ) -> Verdict {
        self.catch_up(now, view.backlog_bytes + u64::from(packet.size));
        if self.config.estimate == Estimate::Timestamp {
            self.waited = sojourn.as_secs_f64();
        } else {
            self.departures.leave(now, packet.size, view.backlog_bytes);
        }
        Verdict::Pass
    }

    fn on_overflow(&mut self, _now: Instant, _view: &QueueView, _lane: Lane) {
        self.sum = 0.0;
    }
}
