//! The queueing delay, and how it varies (section 4.2.1.4).

use justfull_base::{Duration, Instant};

/// Minutes whose least delays are kept (RFC 6817: `BASE_HISTORY`).
const MINUTES: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// Weight of a larger delay in the average.
const AVERAGE_GAIN: f64 = 1.0 / 4.0;
/// Weights of the averages of greatest and least delay, and of their difference.
const EXTREMES_GAIN: f64 = 1.0 / 16.0;
const VARIATION_GAIN: f64 = 1.0 / 32.0;
/// Variation at which the window no longer grows, in seconds.
const VARIATION_LIMIT: f64 = 0.01;

/// One-way delays over the least of the last minutes. Times are in seconds.
#[derive(Clone, Debug)]
pub(super) struct QueueDelay {
    target: f64,
    reduce_jitter: bool,
    /// Least of each of the last minutes; [`Duration::MAX`] for one without a sample.
    minutes: [Duration; MINUTES],
    minute: usize,
    minute_ends: Instant,
    last: f64,
    pub(super) average: f64,
    averaged_at: f64,
    greatest: f64,
    least: f64,
    variation: f64,
}

impl QueueDelay {
    pub(super) const fn new(target: f64, reduce_jitter: bool) -> Self {
        Self {
            target,
            reduce_jitter,
            minutes: [Duration::MAX; MINUTES],
            minute: 0,
            minute_ends: Instant::ZERO,
            last: 0.0,
            average: 0.0,
            averaged_at: 0.0,
            greatest: target,
            least: 0.0,
            variation: 0.0,
        }
    }

    /// Averages count from `now` on.
    pub(super) const fn start(&mut self, now: f64) {
        self.averaged_at = now;
    }

    pub(super) const fn target(&self) -> f64 {
        self.target
    }

    /// The delay of the last packet.
    pub(super) const fn last(&self) -> f64 {
        self.last
    }

    /// A packet that left at `sent` arrived at `arrival`.
    pub(super) fn take(&mut self, arrival: Instant, sent: Instant) {
        if arrival >= self.minute_ends {
            self.minute = (self.minute + 1) % MINUTES;
            self.minutes[self.minute] = Duration::MAX;
            self.minute_ends = arrival + MINUTE;
        }
        let way = arrival.since(sent);
        self.minutes[self.minute] = self.minutes[self.minute].min(way);
        let base = self.minutes.iter().fold(Duration::MAX, |least, minute| least.min(*minute));
        self.last = way.saturating_sub(base).as_secs_f64();
        if self.reduce_jitter {
            self.greatest = self.last.max(self.greatest).min(self.target);
            self.least = self.least.min(self.last);
        }
    }

    /// Averages, at most once in `period`.
    pub(super) fn average(&mut self, now: f64, period: f64) {
        if now - self.averaged_at < period {
            return;
        }
        self.averaged_at = now;
        let gain = if self.last < self.average { 1.0 } else { AVERAGE_GAIN };
        self.average += gain * (self.last - self.average);
        if self.reduce_jitter {
            self.greatest *= 1.0 - EXTREMES_GAIN;
            self.least += EXTREMES_GAIN * (self.greatest - self.least);
            self.variation += VARIATION_GAIN * (self.greatest - self.least - self.variation);
        }
    }

    /// The share of marks for which the queue stands: 0 at half of the target, 1 at the target.
    pub(super) fn virtual_share(&self) -> f64 {
        let half = self.target / 2.0;
        ((self.average - half) / half).clamp(0.0, 1.0)
    }

    /// 1 without variation, down to 0.
    pub(super) fn scale(&self) -> f64 {
        (1.0 - self.variation / VARIATION_LIMIT).clamp(0.0, 1.0)
    }
}
