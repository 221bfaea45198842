//! The content shipped inside the program: scenarios, and the descriptions of every algorithm.

use crate::method::{Method, MethodLibrary};
use justfull_base::doc::MethodDoc;
use std::sync::LazyLock;

/// The shipped scenarios: name and text of the file.
pub const SCENARIOS: &[(&str, &str)] = &[
    ("demo", include_str!("../../../scenarios/demo.toml")),
    ("t20-individual", include_str!("../../../scenarios/t20-individual.toml")),
    ("t20-individual-two-flows", include_str!("../../../scenarios/t20-individual-two-flows.toml")),
    ("t20-shared", include_str!("../../../scenarios/t20-shared.toml")),
    ("t20-shared-two-flows", include_str!("../../../scenarios/t20-shared-two-flows.toml")),
    ("e19-one-qfi", include_str!("../../../scenarios/e19-one-qfi.toml")),
    ("e19-two-qfis", include_str!("../../../scenarios/e19-two-qfis.toml")),
    ("a21-one-call", include_str!("../../../scenarios/a21-one-call.toml")),
    ("a21-calls", include_str!("../../../scenarios/a21-calls.toml")),
    ("a21-slices-25-75", include_str!("../../../scenarios/a21-slices-25-75.toml")),
    ("a21-slices-50-50", include_str!("../../../scenarios/a21-slices-50-50.toml")),
    ("a21-slices-calls", include_str!("../../../scenarios/a21-slices-calls.toml")),
    ("a21-quantum-limit", include_str!("../../../scenarios/a21-quantum-limit.toml")),
    ("a21-slices-mobile", include_str!("../../../scenarios/a21-slices-mobile.toml")),
    ("voip-over-lte", include_str!("../../../scenarios/voip-over-lte.toml")),
    ("live-lte", include_str!("../../../scenarios/live-lte.toml")),
    ("live-l4s", include_str!("../../../scenarios/live-l4s.toml")),
    ("live-bbr3", include_str!("../../../scenarios/live-bbr3.toml")),
    ("bbr-under-loss", include_str!("../../../scenarios/bbr-under-loss.toml")),
    ("download-pages-call", include_str!("../../../scenarios/download-pages-call.toml")),
    ("several-ues", include_str!("../../../scenarios/several-ues.toml")),
    ("two-cells-walk", include_str!("../../../scenarios/two-cells-walk.toml")),
    ("two-cells-live", include_str!("../../../scenarios/two-cells-live.toml")),
    ("train-handovers", include_str!("../../../scenarios/train-handovers.toml")),
    ("train-no-forwarding", include_str!("../../../scenarios/train-no-forwarding.toml")),
    ("dual-connectivity", include_str!("../../../scenarios/dual-connectivity.toml")),
    ("dual-no-recovery", include_str!("../../../scenarios/dual-no-recovery.toml")),
    ("carrier-aggregation", include_str!("../../../scenarios/carrier-aggregation.toml")),
    ("cu-du-apart", include_str!("../../../scenarios/cu-du-apart.toml")),
    ("cu-du-apart-fades", include_str!("../../../scenarios/cu-du-apart-fades.toml")),
    ("drx-call", include_str!("../../../scenarios/drx-call.toml")),
    ("drx-l4s", include_str!("../../../scenarios/drx-l4s.toml")),
    ("handovers-often", include_str!("../../../scenarios/handovers-often.toml")),
    ("rrul-like", include_str!("../../../scenarios/rrul-like.toml")),
    ("page-loads", include_str!("../../../scenarios/page-loads.toml")),
    ("video-over-a-download", include_str!("../../../scenarios/video-over-a-download.toml")),
    ("cloud-gaming", include_str!("../../../scenarios/cloud-gaming.toml")),
    ("frames-by-importance", include_str!("../../../scenarios/frames-by-importance.toml")),
    ("voip-g711", include_str!("../../../scenarios/voip-g711.toml")),
    ("nr-100mhz", include_str!("../../../scenarios/nr-100mhz.toml")),
    ("nr-28ghz", include_str!("../../../scenarios/nr-28ghz.toml")),
    ("l4s-cell", include_str!("../../../scenarios/l4s-cell.toml")),
    ("l4s-places", include_str!("../../../scenarios/l4s-places.toml")),
    ("l4span-cell", include_str!("../../../scenarios/l4span-cell.toml")),
    ("abc-cell", include_str!("../../../scenarios/abc-cell.toml")),
    ("zhuge-cell", include_str!("../../../scenarios/zhuge-cell.toml")),
    ("zhuge-call", include_str!("../../../scenarios/zhuge-call.toml")),
    ("video-calls", include_str!("../../../scenarios/video-calls.toml")),
    ("upload-and-call", include_str!("../../../scenarios/upload-and-call.toml")),
    ("rrul-5g", include_str!("../../../scenarios/rrul-5g.toml")),
    ("uplink-live", include_str!("../../../scenarios/uplink-live.toml")),
    ("uplink-access", include_str!("../../../scenarios/uplink-access.toml")),
    ("r22-fast", include_str!("../../../scenarios/r22-fast.toml")),
    ("r22-fast-nlos", include_str!("../../../scenarios/r22-fast-nlos.toml")),
    ("r22-mixed", include_str!("../../../scenarios/r22-mixed.toml")),
    ("r22-mixed-nlos", include_str!("../../../scenarios/r22-mixed-nlos.toml")),
    ("r22-25-cubic", include_str!("../../../scenarios/r22-25-cubic.toml")),
    ("r22-three-controls", include_str!("../../../scenarios/r22-three-controls.toml")),
    ("r22-six-controls", include_str!("../../../scenarios/r22-six-controls.toml")),
    ("r22-demand", include_str!("../../../scenarios/r22-demand.toml")),
    ("r22-slow-start", include_str!("../../../scenarios/r22-slow-start.toml")),
    ("r22-two-cells", include_str!("../../../scenarios/r22-two-cells.toml")),
    ("r22-two-ues", include_str!("../../../scenarios/r22-two-ues.toml")),
    ("r22-live-fast", include_str!("../../../scenarios/r22-live-fast.toml")),
    ("r22-live-short-flow", include_str!("../../../scenarios/r22-live-short-flow.toml")),
    ("r22-live-cbr-8", include_str!("../../../scenarios/r22-live-cbr-8.toml")),
    ("r22-live-cbr-150", include_str!("../../../scenarios/r22-live-cbr-150.toml")),
    ("r22-live-quic", include_str!("../../../scenarios/r22-live-quic.toml")),
    ("r22-live-8-ues", include_str!("../../../scenarios/r22-live-8-ues.toml")),
    ("r22-two-cells-live", include_str!("../../../scenarios/r22-two-cells-live.toml")),
    ("p06-file", include_str!("../../../scenarios/p06-file.toml")),
    ("p06-web", include_str!("../../../scenarios/p06-web.toml")),
    ("slow-bearer", include_str!("../../../scenarios/slow-bearer.toml")),
    ("rapid-beside-ran", include_str!("../../../scenarios/rapid-beside-ran.toml")),
    ("rapid-reports", include_str!("../../../scenarios/rapid-reports.toml")),
];

/// The shipped scenario called `name`.
#[must_use]
pub fn scenario(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    SCENARIOS.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// Points of the sweep of the shipped scenario called `name`, as text; one empty text without a
/// sweep.
#[must_use]
pub fn sweep_points(name: &str) -> Vec<String> {
    let tree = scenario(name).and_then(|text| text.parse::<toml::Table>().ok());
    let values = tree.as_ref().and_then(|t| t.get("sweep")?.get("values")?.as_array());
    let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), String::from);
    values.map_or_else(|| vec![String::new()], |values| values.iter().map(text).collect())
}

/// The name of each shipped scenario, and the methods that it defines itself.
#[must_use]
pub fn methods_of_scenarios() -> &'static [(&'static str, Vec<Method>)] {
    static METHODS: LazyLock<Vec<(&str, Vec<Method>)>> = LazyLock::new(|| {
        SCENARIOS.iter().map(|(name, text)| (*name, MethodLibrary::of(text))).collect()
    });
    &METHODS
}

/// Every algorithm's description, by kind and then by name.
#[must_use]
pub fn algorithms() -> Vec<&'static MethodDoc> {
    let mut docs: Vec<&MethodDoc> = Vec::new();
    docs.extend(justfull_queue::aqm::DOCS);
    docs.extend(justfull_queue::limit::DOCS);
    docs.extend(justfull_queue::discipline::DOCS);
    docs.extend(justfull_ran::limiter::DOCS);
    docs.extend(justfull_ran::pacer::DOCS);
    docs.extend(justfull_ran::scheduler::DOCS);
    docs.extend(justfull_ran::rb_scheduler::DOCS);
    docs.extend(justfull_ran::mac::DOCS);
    docs.extend(justfull_ran::RB_DOCS);
    docs.push(&justfull_ran::drx::DOC);
    docs.extend(justfull_ran::mac::UPLINK_DOCS);
    docs.extend(justfull_ran::rlc::mode::DOCS);
    docs.extend(justfull_ran::channel::DOCS);
    docs.extend(crate::docs::DOCS);
    docs.extend(justfull_tcp::cc::DOCS);
    docs.extend(justfull_tcp::rc::DOCS);
    docs.push(&justfull_tcp::config::DOC);
    docs.push(&justfull_tcp::kernel::DOC);
    docs.push(&justfull_tcp::receiver::DOC);
    docs.push(&justfull_run::uplink::DOC);
    docs.push(&justfull_run::uplink::CELL_AQM_DOC);
    docs.push(&justfull_run::uplink::ZHUGE_DOC);
    docs.push(&justfull_run::PROXY_DOC);
    docs.extend(justfull_rapid::DOCS);
    docs.extend(justfull_run::traffic::DOCS);
    docs.extend(justfull_run::traffic::ABR_DOCS);
    docs
}
