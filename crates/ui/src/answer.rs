//! The data of a simulation that the page draws, as JSON.

use crate::jobs::Finished;
use justfull_lab::model::of_value;
use justfull_run::results::{Distribution, FlowResult, RunResult, Series};
use serde_json::{Value, json};

/// The runs of `finished`, in the order of points, methods and seeds.
pub(crate) fn answer(finished: &Finished) -> Value {
    let scenario = &finished.scenario;
    json!({
        "title": if scenario.base.title.is_empty() { &scenario.name } else { &scenario.base.title },
        "warnings": scenario.warnings().unwrap_or_default(),
        "methods": scenario.methods(),
        "points": (0..scenario.points().len())
            .map(|i| scenario.x(i).map(|(name, value)| of_value(&name, &value.to_string())))
            .collect::<Vec<_>>(),
        "took_ms": finished.took_ms,
        "broken": finished.broken,
        "runs": finished.runs.iter().map(run).collect::<Vec<_>>(),
    })
}

fn run(run: &RunResult) -> Value {
    json!({
        "method": run.method,
        "seed": run.seed,
        "duration_s": run.duration_s,
        "warmup_s": run.warmup_s,
        "utilisation": run.cell.utilisation,
        "never_acted": run.never_acted,
        "flows": run.flows.iter().map(flow).collect::<Vec<_>>(),
        "series": series(&run.series),
    })
}

fn flow(flow: &FlowResult) -> Value {
    let total = flow.delivered_packets + flow.dropped_packets;
    json!({
        "name": flow.name,
        "direction": flow.direction,
        "low_latency": flow.low_latency,
        "goodput_mbit_s": flow.goodput_mbit_s,
        "drops_percent": 100.0 * flow.dropped_packets as f64 / total.max(1) as f64,
        "delay": distribution(&flow.delay),
        "rtt": distribution(&flow.rtt),
        "bound_ms": (flow.bound.count > 0).then_some(flow.bound.mean_ms),
        "mos": flow.voip.as_ref().map(|voip| voip.mos),
        "page_load_ms": flow.pages.as_ref().map(|pages| pages.load.mean_ms),
    })
}

/// None without values.
fn distribution(times: &Distribution) -> Option<Value> {
    (times.count > 0).then(|| {
        json!({
            "mean": times.mean_ms, "p50": times.p50_ms, "p95": times.p95_ms, "p99": times.p99_ms,
            "max": times.max_ms, "cdf": times.cdf,
        })
    })
}

fn series(series: &Series) -> Value {
    let flows = series.flows.iter().map(|flow| {
        let median = flow.delay_ms.iter().map(|bin| bin.map(|[_, median, _]| median));
        let high = flow.delay_ms.iter().map(|bin| bin.map(|[_, _, high]| high));
        json!({
            "name": flow.name,
            "delay_ms": median.collect::<Vec<_>>(),
            "delay_p90_ms": high.collect::<Vec<_>>(),
            "goodput_mbit_s": flow.goodput_mbit_s,
        })
    });
    json!({
        "bin_s": series.bin_s,
        "flow_bin_s": series.flow_bin_s,
        "capacity_per_slot": series.capacity_per_slot,
        "delivered_mbit_s": series.delivered_mbit_s,
        "queues": {
            "UPF": series.upf_packets, "SDAP": series.sdap_packets, "RLC": series.rlc_packets,
        },
        "flows": flows.collect::<Vec<_>>(),
    })
}

/// The state of a simulation that goes on.
pub(crate) fn running(id: u64, share: f64) -> Value {
    json!({ "id": id, "done": false, "progress": share })
}
