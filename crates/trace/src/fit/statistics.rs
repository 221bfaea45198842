//! Statistics of a series of rates that determine a queue: mean, spread, memory, silences.

use crate::info::{Moments, autocorrelation};
use justfull_base::Duration;
use justfull_base::stats::quantile;
use serde_json::{Map, Value, json};

/// Steps after which memory is computed.
const LAGS: [usize; 3] = [1, 10, 100];

/// The statistics of a rate over steps of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Mean rate in Mbit/s.
    pub mean_mbit_s: f64,
    /// Standard deviation in Mbit/s.
    pub sd_mbit_s: f64,
    /// 5th, 50th and 95th percentile in Mbit/s.
    pub percentiles: [f64; 3],
    /// Autocorrelation of the rate after 1, 10 and 100 steps; 0 when it never changes, none if the
    /// trace has fewer than four times as many steps.
    pub autocorrelation: [Option<f64>; 3],
    /// Share of steps in which nothing passes.
    pub silent: f64,
    /// Mean length of times in which nothing passes; 0 without any.
    pub silence_s: f64,
    /// Longest of them, the mean over runs as long as the trace.
    pub longest_silence_s: f64,
}

impl Statistics {
    /// Of `bytes` per `step`, which are one or several runs of `run` steps.
    pub(super) fn of(bytes: &[u32], step: Duration, run: usize) -> Self {
        let to_mbit = 8e-6 / step.as_secs_f64();
        let rates: Vec<f64> = bytes.iter().map(|&b| f64::from(b) * to_mbit).collect();
        let Moments { mean, sd, .. } = Moments::of(&rates);
        let lag =
            |lag: usize| (lag * 4 <= run).then(|| autocorrelation(&rates, lag).unwrap_or(0.0));
        let mut sorted = rates.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |p: f64| quantile(&sorted, p).unwrap_or(0.0);
        let silences = |bytes: &[u32]| -> Vec<usize> {
            let runs = bytes.chunk_by(|a, b| (*a == 0) == (*b == 0));
            runs.filter(|run| run[0] == 0).map(<[u32]>::len).collect()
        };
        let all = silences(bytes);
        let silent: usize = all.iter().sum();
        let runs = bytes.chunks_exact(run.max(1));
        let longest: Vec<usize> =
            runs.map(|run| silences(run).into_iter().max().unwrap_or(0)).collect();
        let mean_of = |of: &[usize]| {
            of.iter().sum::<usize>() as f64 / of.len().max(1) as f64 * step.as_secs_f64()
        };
        Self {
            mean_mbit_s: mean,
            sd_mbit_s: sd,
            percentiles: [at(0.05), at(0.5), at(0.95)],
            autocorrelation: LAGS.map(lag),
            silent: silent as f64 / bytes.len().max(1) as f64,
            silence_s: mean_of(&all),
            longest_silence_s: mean_of(&longest),
        }
    }

    /// How far mean and spread are from `other`'s, as shares of its mean.
    pub(super) fn distance_of_rates(&self, other: &Self) -> f64 {
        let unit = other.mean_mbit_s.max(f64::MIN_POSITIVE);
        ((self.mean_mbit_s - other.mean_mbit_s).abs() + (self.sd_mbit_s - other.sd_mbit_s).abs())
            / unit
    }

    /// How far all is from `other`'s: sums of shares and correlations.
    pub(super) fn distance(&self, other: &Self) -> f64 {
        let share = |a: f64, b: f64| (a - b).abs() / a.max(b).max(f64::MIN_POSITIVE);
        let memory: f64 = self
            .autocorrelation
            .iter()
            .zip(&other.autocorrelation)
            .filter_map(|(a, b)| Some(((*a)? - (*b)?).abs()))
            .sum();
        self.distance_of_rates(other)
            + memory
            + share(self.silent, other.silent)
            + 0.5 * share(self.silence_s, other.silence_s)
            + 0.5 * share(self.longest_silence_s, other.longest_silence_s)
    }

    /// An object with a member for each figure; `null` for memory that the trace is too short for.
    pub(super) fn json(&self) -> Value {
        let [p5, p50, p95] = self.percentiles;
        let memory = LAGS.into_iter().zip(self.autocorrelation);
        json!({
            "rate_mbit_s_mean": self.mean_mbit_s,
            "rate_mbit_s_sd": self.sd_mbit_s,
            "rate_mbit_s_p5": p5,
            "rate_mbit_s_p50": p50,
            "rate_mbit_s_p95": p95,
            "autocorrelation": memory
                .map(|(lag, value)| (lag.to_string(), value.into()))
                .collect::<Map<String, Value>>(),
            "silent_share": self.silent,
            "silence_s_mean": self.silence_s,
            "silence_s_longest": self.longest_silence_s,
        })
    }

    /// Names and values, in order.
    pub(super) fn lines(&self) -> Vec<(String, String)> {
        let number = |x: f64| format!("{x:.3}");
        let mut lines = vec![
            ("mean, Mbit/s".to_string(), number(self.mean_mbit_s)),
            ("standard deviation, Mbit/s".into(), number(self.sd_mbit_s)),
        ];
        for (p, value) in [5, 50, 95].into_iter().zip(self.percentiles) {
            lines.push((format!("p{p}, Mbit/s"), number(value)));
        }
        for (lag, value) in LAGS.into_iter().zip(self.autocorrelation) {
            let name = format!("autocorrelation after {lag} steps");
            lines.push((name, value.map_or_else(|| "-".into(), number)));
        }
        lines.push(("share of silence".into(), number(self.silent)));
        lines.push(("mean silence, s".into(), number(self.silence_s)));
        lines.push(("longest silence, s".into(), number(self.longest_silence_s)));
        lines
    }
}
