//! The delay part: growth until overuse, then a share of the rate that arrives. Times are in
//! seconds, rates in bit/s.

use super::trendline::Usage;

/// RTT before the first report.
const RTT: f64 = 0.2;
/// Bounds of the time between reductions.
const REDUCTION: (f64, f64) = (0.01, 0.2);
/// Taken off beyond the factor, from rates above it.
const EXTRA: f64 = 5_000.0;
/// Growth in a second far from the capacity, and its least step.
const GROWTH: f64 = 1.08;
const LEAST_STEP: f64 = 1_000.0;
/// The rate grows up to this much of the rate that arrives, and this more.
const AHEAD: f64 = 1.5;
const AHEAD_MORE: f64 = 10_000.0;
/// Near the capacity: frames a second, bytes of a packet, the detector's delay, least growth in a
/// second.
const FPS: f64 = 30.0;
const PACKET_BITS: f64 = 1200.0 * 8.0;
const DETECTION: f64 = 0.1;
const LEAST_GROWTH: f64 = 4_000.0;

/// The capacity of the path, from the rates that arrived at overuse. Rates are in kbit/s.
#[derive(Clone, Debug, Default)]
struct Capacity {
    estimate: Option<f64>,
    /// Variance over the estimate; 0 stands for the least.
    deviation: f64,
}

/// Weight of a new rate.
const CAPACITY_GAIN: f64 = 0.05;
/// Bounds of the deviation, and deviations between the estimate and its bounds.
const DEVIATION: (f64, f64) = (0.4, 2.5);
const DEVIATIONS: f64 = 3.0;

impl Capacity {
    /// Forgets the estimate and keeps its deviation, which is a property of the path.
    const fn reset(&mut self) {
        self.estimate = None;
    }

    fn take(&mut self, bits: f64) {
        let sample = bits / 1e3;
        let estimate = match self.estimate {
            None => sample,
            Some(estimate) => estimate + CAPACITY_GAIN * (sample - estimate),
        };
        let error = estimate - sample;
        let deviation = self.deviation.max(DEVIATION.0);
        let moved = deviation + CAPACITY_GAIN * (error * error / estimate.max(1.0) - deviation);
        self.deviation = moved.clamp(DEVIATION.0, DEVIATION.1);
        self.estimate = Some(estimate);
    }

    /// True if `bits` is more than the deviations away from the estimate, on the side of `sign`.
    fn leaves(&self, bits: f64, sign: f64) -> bool {
        self.estimate.is_some_and(|estimate| {
            let spread = DEVIATIONS * libm::sqrt(self.deviation.max(DEVIATION.0) * estimate);
            sign * (bits / 1e3 - estimate) > spread
        })
    }

    fn bits(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate * 1e3)
    }
}

/// State.
#[derive(Clone, Debug)]
pub(super) struct Aimd {
    beta: f64,
    least: f64,
    rate: f64,
    /// The last rate that arrived.
    arrived: f64,
    capacity: Capacity,
    grows: bool,
    changed_at: f64,
    rtt: f64,
}

impl Aimd {
    pub(super) fn new(beta: f64, least: f64, start: f64) -> Self {
        Self {
            beta,
            least,
            rate: start,
            arrived: start,
            capacity: Capacity::default(),
            grows: false,
            changed_at: f64::NEG_INFINITY,
            rtt: RTT,
        }
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) const fn set_rtt(&mut self, rtt: f64) {
        self.rtt = rtt;
    }

    /// A report: the detector found `usage`, and `arrived` of the rate came through.
    pub(super) fn update(&mut self, now: f64, usage: Usage, arrived: Option<f64>) {
        match (usage, arrived) {
            (Usage::Over, None) => (self.rate, self.changed_at) = (self.rate / 2.0, now),
            (Usage::Over, Some(arrived)) if self.may_reduce(now, arrived) => {
                self.arrived = arrived;
                self.reduce(now);
            }
            (Usage::Over, Some(_)) => {}
            (Usage::Under, _) => self.grows = false,
            (Usage::Normal, _) => {
                self.arrived = arrived.unwrap_or(self.arrived);
                if !self.grows {
                    (self.grows, self.changed_at) = (true, now);
                }
                self.grow(now);
            }
        }
        self.rate = self.rate.max(self.least);
    }

    /// True if the last change has had time to act, or if less than half of the rate comes through.
    fn may_reduce(&self, now: f64, arrived: f64) -> bool {
        now - self.changed_at >= self.rtt.clamp(REDUCTION.0, REDUCTION.1)
            || arrived < self.rate / 2.0
    }

    fn grow(&mut self, now: f64) {
        if self.capacity.leaves(self.arrived, 1.0) {
            self.capacity.reset();
        }
        let limit = AHEAD * self.arrived + AHEAD_MORE;
        if self.rate < limit {
            let passed = now - self.changed_at;
            let step = match self.capacity.bits() {
                Some(_) => self.near_growth() * passed,
                None => (self.rate * (libm::pow(GROWTH, passed.min(1.0)) - 1.0)).max(LEAST_STEP),
            };
            self.rate = (self.rate + step).min(limit);
        }
        self.changed_at = now;
    }

    /// Growth in a second near the capacity: half a packet in each RTT and detection.
    pub(super) fn near_growth(&self) -> f64 {
        let frame = self.rate / FPS;
        let packet = frame / libm::ceil(frame / PACKET_BITS);
        (packet / (2.0 * (self.rtt + DETECTION))).max(LEAST_GROWTH)
    }

    fn reduce(&mut self, now: f64) {
        let mut reduced = self.beta * self.arrived;
        if reduced > EXTRA {
            reduced -= EXTRA;
        }
        if reduced > self.rate
            && let Some(capacity) = self.capacity.bits()
        {
            reduced = self.beta * capacity;
        }
        self.rate = self.rate.min(reduced);
        if self.capacity.leaves(self.arrived, -1.0) {
            self.capacity.reset();
        }
        self.capacity.take(self.arrived);
        (self.grows, self.changed_at) = (false, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capacity_that_is_left_forgets_its_estimate_and_keeps_its_deviation() {
        let mut capacity = Capacity::default();
        [1e6, 9e5, 1.1e6, 8e5].into_iter().for_each(|bits| capacity.take(bits));
        let deviation = capacity.deviation;
        assert!(deviation > DEVIATION.0, "{deviation}");
        capacity.reset();
        assert_eq!((capacity.bits(), capacity.deviation), (None, deviation));
    }
}
