//! Metrics of video for its users.

use justfull_run::results::FlowResult;

/// Frames of `flow`, and the share that was not complete in time, in percent.
pub(super) fn missed(flow: &FlowResult) -> (u64, f64) {
    flow.frames.as_ref().filter(|f| f.sent > 0).map_or((0, 0.0), |f| {
        let in_time = f.completed - f.late;
        (f.sent, 100.0 * (1.0 - in_time as f64 / f.sent as f64))
    })
}

/// Frames of `flow`, and the percentage that was complete.
pub(super) fn whole(flow: &FlowResult) -> (u64, f64) {
    flow.frames
        .as_ref()
        .filter(|f| f.sent > 0)
        .map_or((0, 0.0), |f| (f.sent, 100.0 * f.completed as f64 / f.sent as f64))
}

/// The time of `flows` in which rendered video stood still, in percent.
pub(super) fn frozen(flows: &[&FlowResult]) -> Option<f64> {
    percent(flows, |f| f.frames.as_ref().map(|f| (f.frozen_s, f.watched_s)))
}

/// The time of `flows` in which adaptive video stalled, in percent.
pub(super) fn stalled(flows: &[&FlowResult]) -> Option<f64> {
    percent(flows, |f| f.dash.as_ref().map(|d| (d.stalled_s, d.watched_s)))
}

/// The sum of the first times that `of` returns over the sum of the second ones, in percent.
fn percent(flows: &[&FlowResult], of: impl Fn(&FlowResult) -> Option<(f64, f64)>) -> Option<f64> {
    let (mut part, mut whole) = (0.0, 0.0);
    for (some, all) in flows.iter().filter_map(|f| of(f)) {
        part += some;
        whole += all;
    }
    (whole > 0.0).then(|| 100.0 * part / whole)
}

/// Chunks of `flow`, and their mean bitrate.
pub(super) fn bitrate(flow: &FlowResult) -> (u64, f64) {
    let dash = flow.dash.as_ref();
    dash.and_then(|d| Some((d.chunks, d.bitrate_mean_mbit_s?))).unwrap_or((0, 0.0))
}

/// Chunks of `flow`, and the percentage with another bitrate than the chunk before.
pub(super) fn switches(flow: &FlowResult) -> (u64, f64) {
    let dash = flow.dash.as_ref().filter(|d| d.chunks > 0);
    dash.map_or((0, 0.0), |d| (d.chunks, 100.0 * d.switches as f64 / d.chunks as f64))
}

/// Chunks of `flow`, and their mean quality of experience; a flow whose stalls let no chunk arrive
/// counts as one chunk.
pub(super) fn qoe(flow: &FlowResult) -> (u64, f64) {
    let dash = flow.dash.as_ref();
    dash.and_then(|d| Some((d.chunks.max(1), d.qoe_mean?))).unwrap_or((0, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_run::results::{DashResult, FrameResult};

    #[test]
    fn times_of_several_users_add_up_and_chunks_weigh_alike() {
        let dash = |chunks, mbit_s, qoe_sum: f64, stalled_s| FlowResult {
            dash: Some(DashResult {
                chunks,
                bitrate_mean_mbit_s: Some(mbit_s),
                switches: 1,
                qoe_sum,
                qoe_mean: Some(qoe_sum / chunks as f64),
                stalled_s,
                watched_s: 40.0,
                ..DashResult::default()
            }),
            ..FlowResult::default()
        };
        let [one, other, none] =
            [dash(10, 1.0, 5.0, 0.0), dash(30, 2.0, 45.0, 4.0), FlowResult::default()];
        assert_eq!(stalled(&[&one, &other, &none]), Some(5.0));
        assert_eq!((bitrate(&other), qoe(&other)), ((30, 2.0), (30, 1.5)));
        assert_eq!(switches(&one), (10, 10.0));
        assert_eq!(
            (stalled(&[&none]), bitrate(&none), switches(&none).0, qoe(&none).0),
            (None, (0, 0.0), 0, 0)
        );
        let starved = DashResult { stalls: 1, qoe_mean: Some(-43.0), ..DashResult::default() };
        assert_eq!(qoe(&FlowResult { dash: Some(starved), ..none }), (1, -43.0));
    }

    #[test]
    fn a_frame_is_missed_if_it_is_late_broken_or_over_its_budget_under_way() {
        let frames = FrameResult {
            sent: 200,
            completed: 190,
            broken: 8,
            late: 10,
            frozen_s: 1.5,
            watched_s: 10.0,
            ..FrameResult::default()
        };
        let flow = FlowResult { frames: Some(frames), ..FlowResult::default() };
        assert_eq!(missed(&flow).0, 200);
        assert!((missed(&flow).1 - 10.0).abs() < 1e-9);
        assert!((whole(&flow).1 - 95.0).abs() < 1e-9);
        assert_eq!(frozen(&[&flow]), Some(15.0));
        assert_eq!(frozen(&[]), None);
    }
}
