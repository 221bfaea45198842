//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus, versions 01 and 02): a control for background
//! traffic.
//!
//! Controls the congestion window by the time that packets wait in queues. This is the difference
//! of the RTT, the least of four samples, and the base, the least of ten minutes. A flow alone
//! keeps `target` in the queue; beside a flow that keeps more, it shrinks to two segments.
//!
//! ```text
//! gain        = 1 / min(16, ceil(2 target / base))
//! slow start  window + gain for each segment acknowledged; the first one ends above 3/4 target
//! each RTT    queue <= target: window + gain
//!             queue >  target: window + max(gain - window (queue / target - 1), -window / 2)
//! slowdown    two segments for two RTTs, then slow start to the window before; the first one two
//!             RTTs after the first slow start, each next one nine times the last one's length
//!             after it
//! ```
//!
//! A loss or an echo halves the window, a timeout leaves one segment (RFC 5681). A loss within the
//! two RTTs of a slowdown halves the window to which it returns.
//!
//! Defaults: target = 60 ms (the draft).
//!
//! Known weaknesses: where no queue reaches `target`, as with a small buffer or an AQM, only the
//! smaller gain gives way; a flow that starts in a queue that never empties takes it for a part of
//! the path; delay on the way back, or of a scheduler, counts as a queue; slowdowns cost up to a
//! tenth of the rate.
//!
//! Deviations: none from the draft, which leaves these open: gain and decrease are spread over the
//! acknowledgements of a round; a slowdown's RTT is the smoothed RTT at its begin; a slowdown that
//! finds the window below the threshold returns to the threshold. The window does not grow while it
//! is not in use.

use super::CongestionController;
use crate::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, RecoveryState, Sent,
};
use crate::reno::RenoWindow;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, params};

/// Segments of the first window, of the least, and of a slowdown.
const LEAST_WINDOW: u64 = 2;
/// Divisor of the smallest gain.
const MAX_DIVISOR: u64 = 16;
/// RTTs before the first slowdown, and RTTs at the least window.
const ROUNDS: u64 = 2;
/// Time between slowdowns over the length of the last one.
const PAUSE: u64 = 9;
/// Minutes whose least RTTs are kept (RFC 6817: `BASE_HISTORY`).
const MINUTES: usize = 10;
/// Samples of which the least is the present RTT (RFC 6817: `CURRENT_FILTER`).
const FILTER: usize = 4;

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LedbatppConfig {
        /// Time in the queue that a flow alone keeps.
        target: Duration = Duration::from_millis(60),
            within(Duration::from_millis(1), Duration::from_secs(1)),
            "draft-irtf-iccrg-ledbat-plus-plus: 60 ms; RFC 6817: at most 100 ms";
        /// Slows down at times to measure the path without its own queue. Without it a flow that
        /// starts in a queue takes the queue for a part of the path.
        slowdowns: bool = true;
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "ledbatpp",
    kind: "congestion control",
    title: "LEDBAT++: background traffic that gives way",
    text: "Keeps 60 ms in the queue when alone, and two segments beside a flow that keeps more. At \
           times it slows down for some round trips to measure the path without its queue. For \
           updates and backups.",
    sources: "draft-irtf-iccrg-ledbat-plus-plus, versions 01 and 02; RFC 6817 (history and filter \
              of delays)",
    deviations: "A slowdown's RTT is the smoothed one at its begin; no growth while the window is \
                 not in use.",
    params: LedbatppConfig::params,
};

/// Round-trip times of the last minutes and of the last samples.
#[derive(Clone, Debug)]
struct Delays {
    /// Least delay in each of the last minutes; [`Duration::MAX`] in a minute without a sample.
    minutes: [Duration; MINUTES],
    minute: usize,
    minute_ends: Instant,
    /// Least of all minutes.
    base: Duration,
    recent: [Duration; FILTER],
    next: usize,
}

impl Delays {
    const fn new() -> Self {
        Self {
            minutes: [Duration::MAX; MINUTES],
            minute: 0,
            minute_ends: Instant::ZERO,
            base: Duration::MAX,
            recent: [Duration::MAX; FILTER],
            next: 0,
        }
    }

    /// Takes a sample; true if the base is another.
    fn take(&mut self, now: Instant, rtt: Duration) -> bool {
        self.recent[self.next] = rtt;
        self.next = (self.next + 1) % FILTER;
        let base = self.base;
        if now >= self.minute_ends {
            self.minute = (self.minute + 1) % MINUTES;
            self.minutes[self.minute] = Duration::MAX;
            self.minute_ends = now + Duration::from_secs(60);
            self.base = self.minutes.iter().copied().fold(rtt, Duration::min);
        }
        let least = &mut self.minutes[self.minute];
        *least = rtt.min(*least);
        self.base = self.base.min(rtt);
        self.base != base
    }

    /// Time in queues; zero before the first sample.
    fn queue(&self) -> Duration {
        let [a, b, c, d] = self.recent;
        let now = a.min(b).min(c.min(d));
        now.saturating_sub(self.base)
    }
}

/// The place in the cycle of slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first slow start.
    First,
    /// Between slowdowns; the next one is at this instant, if ever.
    Normal(Option<Instant>),
    /// The window is the least one.
    Frozen { began: Instant, until: Instant },
    /// Slow start back to the window before.
    Ramp { began: Instant },
}

/// State.
#[derive(Clone, Debug)]
pub struct Ledbatpp {
    window: RenoWindow,
    delays: Delays,
    stage: Stage,
    slowdowns: bool,
    target: Duration,
    /// 1 / gain.
    divisor: f64,
    /// Part of a byte by which the window is to change.
    part: f64,
}

impl Ledbatpp {
    /// The control at the start of a connection.
    ///
    /// # Errors
    /// The first setting outside its bound.
    pub fn new(config: &LedbatppConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        let least = LEAST_WINDOW * u64::from(birth.mss);
        let birth = Birth { initial_window: birth.initial_window.min(least), ..*birth };
        Ok(Self {
            window: RenoWindow::new(&birth),
            delays: Delays::new(),
            stage: Stage::First,
            slowdowns: config.slowdowns,
            target: config.target,
            divisor: MAX_DIVISOR as f64,
            part: 0.0,
        })
    }

    fn measure(&mut self, sample: &AckSample) {
        let Some(rtt) = sample.rtt else { return };
        if self.delays.take(sample.now, rtt) {
            let base = self.delays.base.as_nanos().max(1);
            let divisor = (2 * self.target.as_nanos()).div_ceil(base);
            self.divisor = divisor.clamp(1, MAX_DIVISOR) as f64;
        }
    }

    fn next_slowdown(&self, at: Instant) -> Stage {
        Stage::Normal(self.slowdowns.then_some(at))
    }

    /// Moves to the next stage where it is time.
    fn advance(&mut self, sample: &AckSample, queue: Duration) {
        let now = sample.now;
        match self.stage {
            Stage::First => {
                let full = 4 * queue.as_nanos() > 3 * self.target.as_nanos();
                if full || !self.window.in_slow_start() {
                    self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
                    self.stage = self.next_slowdown(now + sample.srtt.times(ROUNDS));
                }
            }
            Stage::Normal(Some(at)) if now >= at => {
                if !self.window.in_slow_start() {
                    self.window.ssthresh = self.window.cwnd;
                }
                self.window.cwnd = self.window.cwnd.min(LEAST_WINDOW * self.window.mss);
                self.stage = Stage::Frozen { began: now, until: now + sample.srtt.times(ROUNDS) };
            }
            Stage::Frozen { began, until } if now >= until => self.stage = Stage::Ramp { began },
            Stage::Ramp { began } if !self.window.in_slow_start() => {
                self.stage = self.next_slowdown(now + now.since(began).times(PAUSE));
            }
            _ => {}
        }
    }

    /// Change of the window in a round of `queue`, as a share of it. Whole segments are
    /// acknowledged in a round.
    fn share(&self, queue: Duration) -> f64 {
        let segments = (self.window.cwnd / self.window.mss).max(1);
        let gain = 1.0 / (segments as f64 * self.divisor);
        if queue <= self.target {
            return gain;
        }
        let over = queue.as_nanos() as f64 / self.target.as_nanos() as f64 - 1.0;
        (gain - over).max(-0.5)
    }

    /// Changes the window by the acknowledgement of `acked` bytes.
    fn step(&mut self, sample: &AckSample, queue: Duration) {
        let starting = self.window.in_slow_start();
        let share = if starting { 1.0 / self.divisor } else { self.share(queue) };
        if share > 0.0 && !sample.may_grow(self.window.cwnd, starting) {
            return;
        }
        self.part += share * sample.acked as f64;
        let whole = self.part as i64;
        self.part -= whole as f64;
        let RenoWindow { cwnd, ssthresh, mss, .. } = &mut self.window;
        let changed = cwnd.saturating_add_signed(whole);
        if starting {
            *cwnd = changed.min(*ssthresh);
        } else {
            *cwnd = changed.max(LEAST_WINDOW * *mss);
            *ssthresh = (*ssthresh).min(*cwnd);
        }
    }
}

impl CongestionController for Ledbatpp {
    fn on_sent(&mut self, _: &Sent) {}

    #[inline]
    fn on_ack(&mut self, sample: &AckSample) {
        self.measure(sample);
        if !matches!(sample.recovery, RecoveryState::Open | RecoveryState::Loss) {
            return;
        }
        let queue = self.delays.queue();
        self.advance(sample, queue);
        if !matches!(self.stage, Stage::Frozen { .. }) {
            self.step(sample, queue);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let cwnd = self.window.cwnd;
        let frozen = matches!(self.stage, Stage::Frozen { .. });
        let whole = if frozen { self.window.ssthresh } else { cwnd };
        self.window.reduce(event, whole / 2);
        // The losses in a slowdown belong to the window before it.
        if frozen && !matches!(event.cause, CongestionCause::Timeout { .. }) {
            self.window.cwnd = cwnd;
        }
        self.part = 0.0;
    }

    fn on_spurious(&mut self, _: Instant) {
        let cwnd = self.window.cwnd;
        self.window.restore();
        let RenoWindow { cwnd: before, ssthresh, .. } = &mut self.window;
        if self.stage != Stage::First && *ssthresh == u64::MAX {
            *ssthresh = *before;
        }
        if matches!(self.stage, Stage::Frozen { .. }) {
            *ssthresh = (*ssthresh).max(*before);
            *before = cwnd;
        }
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        self.window.restart(restart);
    }

    fn on_recovery_exit(&mut self, _: Instant) {}

    fn may_pace(&self) -> bool {
        false
    }

    fn uses_rate_samples(&self) -> bool {
        false
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }

    fn phase(&self) -> &'static str {
        match self.stage {
            Stage::Frozen { .. } => "slowdown",
            Stage::Ramp { .. } => "ramp",
            _ if self.in_slow_start() => "slow_start",
            _ => "avoidance",
        }
    }
}

#[cfg(test)]
mod tests;
