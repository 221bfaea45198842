//! The rate that arrives, from the arrival times of reported packets. Times are in ms, rates in
//! kbit/s.

/// Length of the first window and of the later ones.
const FIRST_WINDOW: f64 = 500.0;
const WINDOW: f64 = 150.0;
/// Scale of a sample's uncertainty.
const UNCERTAINTY: f64 = 10.0;
/// Variance of the estimate at first, and its growth at each sample.
const VARIANCE: f64 = 50.0;
const VARIANCE_STEP: f64 = 5.0;

/// A Bayesian estimate of the rate.
#[derive(Clone, Debug)]
pub(super) struct Throughput {
    estimate: Option<f64>,
    variance: f64,
    /// Bytes and time of the current window.
    bytes: u64,
    time: f64,
    last: Option<f64>,
}

impl Default for Throughput {
    fn default() -> Self {
        Self { estimate: None, variance: VARIANCE, bytes: 0, time: 0.0, last: None }
    }
}

impl Throughput {
    /// The estimate; none in the first window.
    pub(super) fn bits_per_second(&self) -> Option<f64> {
        self.estimate.map(|rate| rate * 1e3)
    }

    /// A packet of `bytes` arrived at `at`.
    pub(super) fn take(&mut self, at: f64, bytes: u32) {
        let window = if self.estimate.is_some() { WINDOW } else { FIRST_WINDOW };
        let sample = self.sample(at, bytes, window);
        let Some(sample) = sample else { return };
        let Some(estimate) = self.estimate else {
            self.estimate = Some(sample);
            return;
        };
        let apart = UNCERTAINTY * (estimate - sample).abs() / estimate.max(1e-3);
        let noise = apart * apart;
        let predicted = self.variance + VARIANCE_STEP;
        self.estimate = Some((noise * estimate + predicted * sample) / (noise + predicted));
        self.variance = noise * predicted / (noise + predicted);
    }

    /// The rate of the window that ends at `at`, if one does; the packet belongs to the next.
    fn sample(&mut self, at: f64, bytes: u32, window: f64) -> Option<f64> {
        if self.last.is_some_and(|last| at < last) {
            (self.last, self.bytes, self.time) = (None, 0, 0.0);
        }
        if let Some(last) = self.last {
            self.time += at - last;
            // Nothing arrived in a whole window: earlier packets are too old.
            if at - last > window {
                self.bytes = 0;
                self.time %= window;
            }
        }
        self.last = Some(at);
        let sample = (self.time >= window).then(|| {
            self.time -= window;
            8.0 * core::mem::take(&mut self.bytes) as f64 / window
        });
        self.bytes += u64::from(bytes);
        sample
    }
}
