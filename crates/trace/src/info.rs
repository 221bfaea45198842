//! Summary of a trace: length, rates, outages, and coherence time.

use super::read::Loaded;
use super::timeline::Timeline;
use justfull_base::stats::quantile;
use justfull_base::{ConfigError, Duration};
use serde::Serialize;

/// Shortest default bin of rates: below it, single packets dominate.
const SHORTEST_BIN: Duration = Duration::from_millis(100);
/// Most lags at which the autocorrelation is computed.
const MOST_LAGS: usize = 4096;
/// Maximum products summed for autocorrelations: all lags of 131 072 bins, fewer for more bins, so
/// that time stays linear.
const MOST_PRODUCTS: usize = 1 << 29;
/// Percentiles reported.
const PERCENTILES: [u8; 7] = [1, 5, 25, 50, 75, 95, 99];

/// Summary of a trace. Rates are means over bins of `bin_ms`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// Name of the file.
    pub file: String,
    /// Its format.
    pub format: String,
    /// Length.
    pub duration_s: f64,
    /// Length of an interval.
    pub interval_ms: f64,
    /// Number of intervals.
    pub intervals: usize,
    /// Bytes that the whole can carry.
    pub bytes: u64,
    /// Length of a bin.
    pub bin_ms: f64,
    /// Mean rate of the whole.
    pub rate_mbit_s_mean: f64,
    /// Lowest rate of a bin.
    pub rate_mbit_s_min: f64,
    /// Percentile of the bins' rates and its value.
    pub rate_mbit_s_percentiles: Vec<(u8, f64)>,
    /// Highest rate of a bin.
    pub rate_mbit_s_max: f64,
    /// Time in outages: in which nothing passes for 100 ms or more.
    pub outage_s: f64,
    /// Longest outage; 0 without one.
    pub longest_outage_s: f64,
    /// Time after which the autocorrelation of the bins' rates has fallen to 1/e. None when it
    /// does not within half of the trace or within the examined lags (a note then says so), or
    /// when the rate never changes.
    pub coherence_s: Option<f64>,
    /// Channel quality, if the trace has it.
    pub cqi: Option<CqiInfo>,
    /// Repairs, estimates and skipped data of the reader.
    pub notes: Vec<String>,
}

/// Summary of a trace's channel quality, over its intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CqiInfo {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Lowest.
    pub min: u8,
    /// Highest.
    pub max: u8,
    /// Autocorrelation at one interval; none when it never changes.
    pub lag1: Option<f64>,
    /// Intervals whose CQI differs from the one before.
    pub changes: usize,
}

impl CqiInfo {
    fn of(cqi: &[u8]) -> Self {
        let moments = Moments::of(cqi);
        Self {
            mean: moments.mean,
            sd: moments.sd,
            min: cqi.iter().copied().min().unwrap_or(0),
            max: cqi.iter().copied().max().unwrap_or(0),
            lag1: moments.lag1,
            changes: cqi.windows(2).filter(|two| two[0] != two[1]).count(),
        }
    }
}

impl Info {
    /// Summary of `loaded`, called `file`, in bins of length `bin`; by default intervals or 100 ms,
    /// whichever is longer.
    ///
    /// # Errors
    /// When `bin` is zero, above 1 h, or makes too many bins.
    pub fn of(file: &str, loaded: &Loaded, bin: Option<Duration>) -> Result<Self, ConfigError> {
        let timeline = &loaded.timeline;
        let bin = bin.unwrap_or_else(|| default_bin(timeline));
        let mut rates = timeline.rates_mbit_s(bin)?;
        let mut notes = loaded.notes.clone();
        let (coherence, lags) = coherence(&rates, MOST_PRODUCTS);
        if let Some(lags) = lags {
            notes.push(format!(
                "the rates' autocorrelation does not fall to 1/e within {lags} bins of {bin}, and \
                 no more are looked at"
            ));
        }
        // Their order is no longer needed.
        rates.sort_unstable_by(f64::total_cmp);
        let at = |p: u8| quantile(&rates, f64::from(p) / 100.0).unwrap_or(0.0);
        let seconds = timeline.duration().as_secs_f64();
        let outages = outages(timeline);
        Ok(Self {
            file: file.into(),
            format: loaded.format.to_string(),
            duration_s: seconds,
            interval_ms: timeline.interval().as_millis_f64(),
            intervals: timeline.bytes().len(),
            bytes: timeline.total(),
            bin_ms: bin.as_millis_f64(),
            rate_mbit_s_mean: 8e-6 * timeline.total() as f64 / seconds,
            rate_mbit_s_min: at(0),
            rate_mbit_s_percentiles: PERCENTILES.map(|p| (p, at(p))).to_vec(),
            rate_mbit_s_max: at(100),
            outage_s: outages.iter().fold(0.0, |sum, outage| sum + outage.as_secs_f64()),
            longest_outage_s: outages.iter().max().map_or(0.0, |outage| outage.as_secs_f64()),
            coherence_s: coherence.map(|bins| bins * bin.as_secs_f64()),
            cqi: timeline.cqi().map(CqiInfo::of),
            notes,
        })
    }

    /// One line of JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The default bin for rates of `timeline`.
#[must_use]
pub fn default_bin(timeline: &Timeline) -> Duration {
    timeline.interval().max(SHORTEST_BIN)
}

/// Lengths of the times in which nothing passes, of [`SHORTEST_BIN`] or more: less is between two
/// packets.
pub(crate) fn outages(timeline: &Timeline) -> Vec<Duration> {
    let mut all = timeline.silences();
    all.retain(|silence| *silence >= SHORTEST_BIN);
    all
}

/// Mean, spread and autocorrelation of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moments {
    pub(crate) mean: f64,
    /// With divisor n.
    pub(crate) sd: f64,
    /// Autocorrelation at one step; none when the series never changes.
    pub(crate) lag1: Option<f64>,
}

impl Moments {
    pub(crate) fn of<T: Copy + Into<f64>>(values: &[T]) -> Self {
        let centre = mean(values);
        let variance = covariance(values, centre, 0);
        let lag1 = (variance > 0.0).then(|| covariance(values, centre, 1) / variance);
        Self { mean: centre, sd: variance.sqrt(), lag1 }
    }
}

/// Autocorrelation at `lag`; none when the series never changes.
pub(crate) fn autocorrelation(values: &[f64], lag: usize) -> Option<f64> {
    let centre = mean(values);
    let variance = covariance(values, centre, 0);
    (variance > 0.0).then(|| covariance(values, centre, lag) / variance)
}

/// Arithmetic mean; 0 without values.
fn mean<T: Copy + Into<f64>>(values: &[T]) -> f64 {
    values.iter().map(|&value| value.into()).sum::<f64>() / values.len().max(1) as f64
}

/// Autocovariance with divisor n (Box and Jenkins), whose autocorrelation never exceeds 1.
fn covariance<T: Copy + Into<f64>>(values: &[T], centre: f64, lag: usize) -> f64 {
    let later = values.iter().skip(lag);
    let sum: f64 =
        values.iter().zip(later).map(|(&a, &b)| (a.into() - centre) * (b.into() - centre)).sum();
    sum / values.len().max(1) as f64
}

/// Lag at which the autocorrelation falls to 1/e, linear between lags. If not found, the number of
/// lags examined, when that is less than half of the values. Sums at most `products` products.
fn coherence(values: &[f64], products: usize) -> (Option<f64>, Option<usize>) {
    let level = (-1.0_f64).exp();
    let centre = mean(values);
    let variance = covariance(values, centre, 0);
    if variance <= 0.0 {
        return (None, None);
    }
    let (half, most) = (values.len() / 2, MOST_LAGS.min(products / values.len().max(1)));
    let mut before = 1.0;
    for lag in 1..=half.min(most) {
        let now = covariance(values, centre, lag) / variance;
        if now <= level {
            return (Some((lag - 1) as f64 + (before - level) / (before - now)), None);
        }
        before = now;
    }
    (None, (most < half).then_some(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileFormat;

    fn loaded(interval: Duration, bytes: Vec<u32>, cqi: Option<Vec<u8>>) -> Loaded {
        let timeline = Timeline::new(interval, bytes, cqi).expect("a timeline");
        Loaded { timeline, format: FileFormat::Csv, notes: vec!["a note".into()] }
    }

    #[test]
    fn rates_outages_and_cqis_are_told() {
        let second = Duration::from_secs(1);
        let trace = loaded(second, vec![125_000, 0, 0, 375_000], Some(vec![3, 0, 0, 9]));
        let info = Info::of("x.csv", &trace, None).expect("told");
        assert_eq!((info.duration_s, info.intervals, info.bytes), (4.0, 4, 500_000));
        assert_eq!(
            (info.rate_mbit_s_min, info.rate_mbit_s_mean, info.rate_mbit_s_max),
            (0.0, 1.0, 3.0)
        );
        assert_eq!((info.outage_s, info.longest_outage_s, info.bin_ms), (2.0, 2.0, 1000.0));
        assert_eq!(info.rate_mbit_s_percentiles[3], (50, 0.5));
        let cqi = info.cqi.expect("CQI");
        assert_eq!((cqi.mean, cqi.min, cqi.max, cqi.changes), (3.0, 0, 9, 2));
    }

    #[test]
    fn a_trace_without_outages_has_none_of_any_sign() {
        let info = Info::of("x", &loaded(Duration::from_secs(1), vec![5, 6], None), None);
        let info = info.expect("told");
        assert!(
            info.json().contains("\"outage_s\":0.0,\"longest_outage_s\":0.0"),
            "{}",
            info.json()
        );
    }

    #[test]
    fn an_outage_lasts_100_ms_or_more_and_the_longest_is_within_all() {
        let mut bytes = vec![1; 10];
        bytes.extend([0; 99]);
        bytes.push(1);
        bytes.extend([0; 150]);
        bytes.push(1);
        let trace = loaded(Duration::from_millis(1), bytes, None);
        for bin in [1, 7, 100, 200] {
            let info = Info::of("x", &trace, Some(Duration::from_millis(bin))).expect("told");
            assert_eq!((info.outage_s, info.longest_outage_s), (0.15, 0.15), "{bin}");
        }
    }

    #[test]
    fn coherence_is_where_the_autocorrelation_of_a_first_order_process_falls_to_one_over_e() {
        let mut rng = justfull_base::Rng::stream(1, "coherence");
        let (mut x, keep) = (0.0, (-0.05_f64).exp());
        let series: Vec<f64> = (0..200_000)
            .map(|_| {
                x = keep * x + rng.normal();
                x
            })
            .collect();
        let lag = coherence(&series, MOST_PRODUCTS).0.expect("it falls");
        assert!((lag - 20.0).abs() < 1.5, "{lag}");
        assert_eq!(coherence(&[1.0; 50], MOST_PRODUCTS), (None, None));
        assert_eq!(coherence(&[], MOST_PRODUCTS), (None, None));
    }

    #[test]
    fn a_coherence_beyond_the_lags_that_are_looked_at_is_told_and_costs_no_more_for_more_bins() {
        // A rate that changes once, in the middle: its autocorrelation falls to 1/e after a fifth
        // of the trace.
        let step = |bins: usize| {
            (0..bins).map(|k| if k < bins / 2 { 0.0 } else { 1.0 }).collect::<Vec<f64>>()
        };
        assert!(coherence(&step(10_000), MOST_PRODUCTS).0.is_some());
        assert_eq!(coherence(&step(10_000), 1_000_000), (None, Some(100)));
        let trace =
            loaded(Duration::from_millis(1), (0..20_000).map(|k| k / 10_000).collect(), None);
        let info = Info::of("x", &trace, Some(Duration::from_millis(1))).expect("told");
        let said = "the rates' autocorrelation does not fall to 1/e within 4096 bins of 1ms, and \
                    no more are looked at";
        assert_eq!((info.coherence_s, info.notes.last().map(String::as_str)), (None, Some(said)));
    }
}
