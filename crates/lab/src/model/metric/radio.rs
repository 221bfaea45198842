//! Figures of the RLC's waits and queue over a run.

use justfull_run::results::{Distribution, RunResult};

/// Time over which goodput and queue are averaged on each side of a fall, in s.
const SIDE_S: f64 = 5.0;

/// The waits of low-latency packets in `layer`; none if no such packet waited.
pub(super) fn wait<'a>(run: &'a RunResult, layer: &str) -> Option<&'a Distribution> {
    super::cell::layer(run, layer).map(|l| &l.low_latency_sojourn).filter(|d| d.count > 0)
}

/// The share of the low-latency packets that waited more than `ms` and at most 1 ms in the RLC, in
/// percent, by linear interpolation between points of the CDF.
pub(super) fn wait_percent(run: &RunResult, ms: f64) -> Option<f64> {
    let waits = wait(run, "rlc")?;
    Some(100.0 * (share_up_to(waits, 1.0) - share_up_to(waits, ms)))
}

/// The share of the values of `d` that are at most `ms`.
fn share_up_to(d: &Distribution, ms: f64) -> f64 {
    let after = d.cdf.partition_point(|(at, _)| *at <= ms);
    let below = after.checked_sub(1).map_or((d.min_ms.min(ms), 0.0), |i| d.cdf[i]);
    let Some(&(at, share)) = d.cdf.get(after) else { return 1.0 };
    let way = if at > below.0 { (ms - below.0) / (at - below.0) } else { 0.0 };
    below.1 + way * (share - below.1)
}

/// The number of times in the window at which the RLC's bytes, averaged over a bin of the series,
/// fell to half of their mean or below. None for an RLC that is always empty.
pub(super) fn drains(run: &RunResult) -> Option<f64> {
    let bytes = &run.series.rlc_bytes[first_bin(run)..];
    let mean = average(bytes).filter(|mean| *mean > 0.0)?;
    let is_low: Vec<bool> = bytes.iter().map(|b| *b <= mean / 2.0).collect();
    let falls = is_low.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    Some(falls as f64 + f64::from(u8::from(is_low.first() == Some(&true))))
}

/// The RLC's bytes in the 5 s after the greatest fall of the goodput of all flows in the window,
/// divided by its bytes in the 5 s before. None if the goodput never falls, or for a window below
/// 10 s. The goodput also shows a fall of the MCS, which a capacity in resource blocks does not.
pub(super) fn after_fall(run: &RunResult) -> Option<f64> {
    let (series, first) = (&run.series, first_bin(run));
    let side = (SIDE_S / series.bin_s).round() as usize;
    let fall = |i: &usize| {
        let of = |from: usize, to: usize| average(&series.delivered_mbit_s[from..to]);
        Some(of(i - side, *i)? - of(*i, i + side)?)
    };
    let last = series.delivered_mbit_s.len().min(series.rlc_bytes.len()).checked_sub(side)?;
    let falls = (first + side..=last).filter_map(|i| Some((i, fall(&i)?)));
    let (at, _) = falls.filter(|(_, by)| *by > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let bytes = |from: usize, to: usize| average(&series.rlc_bytes[from..to]);
    bytes(at - side, at)
        .filter(|before| *before > 0.0)
        .zip(bytes(at, at + side))
        .map(|(b, a)| a / b)
}

/// The first bin of the series of `run` that lies entirely in its window.
fn first_bin(run: &RunResult) -> usize {
    let bins = (run.warmup_s / run.series.bin_s).ceil();
    if bins.is_finite() { (bins as usize).min(run.series.rlc_bytes.len()) } else { 0 }
}

fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use crate::model::metric::Metric;
    use justfull_run::results::{Distribution, LayerResult, RunResult, Series};

    fn with_waits(layer: &str, cdf: Vec<(f64, f64)>) -> RunResult {
        let low_latency_sojourn =
            Distribution { count: 100, min_ms: 0.5, mean_ms: 0.8, cdf, ..Distribution::default() };
        let layer =
            LayerResult { layer: layer.into(), low_latency_sojourn, ..LayerResult::default() };
        RunResult { layers: vec![layer], ..RunResult::default() }
    }

    #[test]
    fn the_share_of_waits_between_two_times_is_read_from_the_cdf() {
        let run = with_waits("rlc", vec![(0.5, 0.1), (0.7, 0.2), (0.8, 0.4), (1.1, 1.0)]);
        // 0.3 at 0.75 ms and 0.8 at 1 ms, by straight lines.
        let shares =
            [Metric::Rlc750, Metric::Rlc500].map(|m| m.of(&run).expect("there are packets"));
        for (share, expected) in shares.into_iter().zip([50.0, 70.0]) {
            assert!((share - expected).abs() < 1e-9, "{shares:?}");
        }
        let short = with_waits("rlc", vec![(0.76, 0.5), (0.9, 1.0)]);
        assert!(Metric::Rlc750.of(&short).is_some_and(|share| share > 50.0 && share < 100.0));
        assert_eq!(Metric::Rlc750.of(&RunResult::default()), None, "no layer");
        assert_eq!(Metric::SdapWait.of(&with_waits("sdap", vec![(1.0, 1.0)])), Some(0.8));
        assert_eq!(Metric::SdapWait.of(&run), None, "nothing waited in SDAP");
    }

    /// Twenty seconds in bins of half a second.
    fn over_time(mbit_s: &dyn Fn(usize) -> f64, bytes: &dyn Fn(usize) -> f64) -> RunResult {
        let of = |f: &dyn Fn(usize) -> f64| (0..40).map(f).collect();
        let series = Series {
            bin_s: 0.5,
            capacity_per_slot: vec![25.0; 40],
            delivered_mbit_s: of(mbit_s),
            rlc_bytes: of(bytes),
            ..Series::default()
        };
        RunResult { warmup_s: 1.0, duration_s: 20.0, series, ..RunResult::default() }
    }

    #[test]
    fn a_queue_drains_each_time_it_falls_to_half_of_its_mean() {
        let constant = |_| 10.0;
        let dips =
            |bytes: &dyn Fn(usize) -> f64| Metric::RlcDrains.of(&over_time(&constant, bytes));
        assert_eq!(dips(&|i| if i % 10 == 5 { 100.0 } else { 1000.0 }), Some(4.0));
        assert_eq!(dips(&|i| if i < 4 { 0.0 } else { 1000.0 }), Some(1.0), "from the start");
        assert_eq!(dips(&|i| if i < 2 { 0.0 } else { 1000.0 }), Some(0.0), "in the warm-up");
        assert_eq!(dips(&|_| 0.0), None, "always empty");
        assert_eq!(Metric::RlcDrains.of(&RunResult::default()), None);
    }

    #[test]
    fn a_queue_is_compared_on_both_sides_of_the_greatest_fall_of_the_goodput() {
        // A small fall after 8 s, a large one after 12.5 s.
        let goodput = |i: usize| match i {
            0..16 => 10.0,
            16..25 => 9.0,
            _ => 2.0,
        };
        let ratio =
            |bytes: &dyn Fn(usize) -> f64| Metric::RlcAfterFall.of(&over_time(&goodput, bytes));
        assert_eq!(ratio(&|i| if i < 25 { 800.0 } else { 200.0 }), Some(0.25));
        assert_eq!(ratio(&|_| 300.0), Some(1.0));
        assert_eq!(ratio(&|_| 0.0), None, "nothing to compare with");
        let rising = over_time(&|i| i as f64, &|_| 300.0);
        assert_eq!(Metric::RlcAfterFall.of(&rising), None, "it never falls");
        assert_eq!(Metric::RlcAfterFall.of(&RunResult::default()), None);
    }
}
