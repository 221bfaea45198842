//! Means and percentiles over the flows that a metric is about.

use justfull_run::results::{Distribution, FlowResult, PageResult};

/// Number and mean of one of the distributions of a flow's pages.
pub(super) fn of_pages(
    of: impl Fn(&PageResult) -> &Distribution,
) -> impl Fn(&FlowResult) -> (u64, f64) {
    move |flow| flow.pages.as_ref().map_or((0, 0.0), |pages| mean_of(of(pages)))
}

pub(super) fn mean_of(d: &Distribution) -> (u64, f64) {
    (d.count, d.mean_ms)
}

/// A mean over the delivered packets of `flow`, which may have none.
pub(super) fn of_delivered(flow: &FlowResult, mean: Option<f64>) -> (u64, f64) {
    (mean.map_or(0, |_| flow.delivered_packets), mean.unwrap_or(0.0))
}

/// Entry `i` of [`FlowResult::within_percent`] over `flows`.
pub(super) fn within(flows: &[&FlowResult], i: usize) -> Option<f64> {
    weighted(flows.iter().copied(), |f| (f.delivered_packets, f.within_percent[i]))
}

/// Goodput of `flows` together: the sum, but for flows that are active at different times, all of
/// whose bytes count from the first's beginning to the last's end. Otherwise two flows one after
/// the other would have more than the cell.
pub(super) fn goodput(flows: &[&FlowResult]) -> Option<f64> {
    let sum = flows.iter().map(|f| f.goodput_mbit_s).reduce(|sum, goodput| sum + goodput)?;
    let spans = || flows.iter().filter_map(|f| f.active_from_s.zip(f.active_to_s));
    let Some((from, to)) = spans().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
        return Some(sum);
    };
    if spans().all(|span| span == (from, to)) {
        return Some(sum);
    }
    let bytes: f64 = flows.iter().map(|f| f.goodput_bytes()).sum();
    Some(bytes * 8e-6 / (to - from))
}

pub(super) fn drop_percent(flow: &FlowResult) -> (u64, f64) {
    (flow.entered_packets, 100.0 * flow.dropped_packets as f64 / flow.entered_packets as f64)
}

/// Mean of `value` over `flows`, each weighted by its count; none when all counts are 0.
pub(super) fn weighted<'a>(
    flows: impl Iterator<Item = &'a FlowResult>,
    value: impl Fn(&FlowResult) -> (u64, f64),
) -> Option<f64> {
    let (mut total, mut sum) = (0.0, 0.0);
    for (count, mean) in flows.map(value).filter(|(count, _)| *count > 0) {
        total += count as f64;
        sum += count as f64 * mean;
    }
    (total > 0.0).then(|| sum / total)
}

pub(super) fn worst(
    flows: &[&FlowResult],
    percentile: impl Fn(&Distribution) -> f64,
) -> Option<f64> {
    flows.iter().filter(|f| f.delay.count > 0).map(|f| percentile(&f.delay)).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_one_after_the_other_have_no_more_together_than_each_alone() {
        let flow = |from, to, bytes| {
            let mut flow = FlowResult::default();
            flow.set_goodput(bytes, Some([from, to]));
            flow
        };
        let (first, second) = (flow(0.0, 10.0, 1e7), flow(10.0, 20.0, 1e7));
        assert_eq!(goodput(&[&first]), Some(8.0));
        assert_eq!(goodput(&[&first, &second]), Some(8.0));
        assert_eq!(goodput(&[&first, &flow(0.0, 10.0, 5e6)]), Some(12.0), "they share");
        assert_eq!(goodput(&[&first, &FlowResult::default()]), Some(8.0), "one is never active");
        assert_eq!((goodput(&[]), goodput(&[&FlowResult::default()])), (None, Some(0.0)));
    }
}
