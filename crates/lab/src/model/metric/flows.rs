//! Means and percentiles over the flows of a metric.

use justfull_run::results::{Distribution, FlowResult};

/// Mean of the values that `of` returns, with equal weight for each of `flows`.
pub(super) fn mean(
    flows: &[&FlowResult],
    of: impl Fn(&FlowResult) -> Option<&Distribution>,
) -> Option<f64> {
    weighted(flows, |f| of(f).map_or((0, 0.0), |d| (d.count, d.mean_ms)))
}

/// The greatest `percentile` of the distributions that `of` returns, over flows that have values.
pub(super) fn worst(
    flows: &[&FlowResult],
    of: impl Fn(&FlowResult) -> Option<&Distribution>,
    percentile: impl Fn(&Distribution) -> f64,
) -> Option<f64> {
    let found = flows.iter().filter_map(|f| of(f).filter(|d| d.count > 0));
    found.map(percentile).reduce(f64::max)
}

/// The least `value` over the flows that have one.
pub(super) fn least(
    flows: &[&FlowResult],
    value: impl Fn(&FlowResult) -> Option<f64>,
) -> Option<f64> {
    flows.iter().filter_map(|f| value(f)).reduce(f64::min)
}

/// The sum of `value` over the flows that have one; none if no flow has one.
pub(super) fn sum(
    flows: &[&FlowResult],
    value: impl Fn(&FlowResult) -> Option<f64>,
) -> Option<f64> {
    flows.iter().filter_map(|f| value(f)).reduce(|sum, value| sum + value)
}

/// Round-trip times of a flow other than a ping.
pub(super) fn rtt(flow: &FlowResult) -> Option<&Distribution> {
    flow.ping.is_none().then_some(&flow.rtt)
}

pub(super) fn ping_rtt(flow: &FlowResult) -> Option<&Distribution> {
    flow.ping.is_some().then_some(&flow.rtt)
}

/// Samples of `flow`, and the excess of their mean over the least, in percent.
pub(super) fn rtt_growth(flow: &FlowResult) -> (u64, f64) {
    rtt(flow).map_or((0, 0.0), |d| (d.count, 100.0 * (d.mean_ms / d.min_ms - 1.0)))
}

pub(super) fn transfer_goodput(flow: &FlowResult) -> (u64, f64) {
    let pages = flow.pages.as_ref();
    pages.and_then(|p| Some((p.loaded, p.transfer_goodput_kbit_s?))).unwrap_or((0, 0.0))
}

pub(super) fn rlc_at_entry(flow: &FlowResult) -> (u64, f64) {
    let packets = if flow.direction == "up" { 0 } else { flow.delivered_packets };
    (packets, flow.rlc_packets_at_entry_mean)
}

/// Late packets of `flow`, beyond their budget, in percent of the delivered ones.
#[must_use]
pub fn late_percent(flow: &FlowResult) -> Option<f64> {
    flow.delay_budget_ms.filter(|_| flow.delivered_packets > 0)?;
    Some(100.0 * flow.late_packets as f64 / flow.delivered_packets as f64)
}

/// The excess of `quantile` of `d` over the minimum (PDV, RFC 5481). Never below 0, although a
/// percentile comes from a histogram whose cells are coarser than the exact minimum.
#[must_use]
pub fn pdv(d: &Distribution, quantile: f64) -> f64 {
    (quantile - d.min_ms).max(0.0)
}

/// The least time in the CDF of `d` with at least `share` of the values at or below it.
pub(super) fn percentile(d: &Distribution, share: f64) -> f64 {
    d.cdf.iter().find(|(_, at)| *at >= share).map_or(d.max_ms, |(ms, _)| *ms)
}

/// A mean weighted by the delivered packets of `flow`, which may be 0.
pub(super) fn of_delivered(flow: &FlowResult, mean: Option<f64>) -> (u64, f64) {
    (mean.map_or(0, |_| flow.delivered_packets), mean.unwrap_or(0.0))
}

/// Entry `i` of [`FlowResult::within_percent`] over `flows`.
pub(super) fn within(flows: &[&FlowResult], i: usize) -> Option<f64> {
    weighted(flows, |f| (f.delivered_packets, f.within_percent[i]))
}

/// Goodput of `flows` together: the sum. If the flows are active at different times, all bytes
/// count from the first start to the last end; otherwise consecutive flows could exceed the cell's
/// capacity.
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

/// Mean of `value` over `flows`, each weighted by its count; none if all counts are 0.
pub(super) fn weighted(
    flows: &[&FlowResult],
    value: impl Fn(&FlowResult) -> (u64, f64),
) -> Option<f64> {
    let (mut total, mut sum) = (0.0, 0.0);
    for (count, mean) in flows.iter().map(|f| value(f)).filter(|(count, _)| *count > 0) {
        total += count as f64;
        sum += count as f64 * mean;
    }
    (total > 0.0).then(|| sum / total)
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
