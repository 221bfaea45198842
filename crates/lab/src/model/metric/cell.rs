//! Figures of a cell: its capacity, its queues, its slices.

use justfull_run::results::{LayerResult, RunResult, SliceResult};

pub(super) fn layer<'a>(run: &'a RunResult, name: &str) -> Option<&'a LayerResult> {
    run.layers.iter().find(|l| l.layer == name)
}

pub(super) fn utilisation(run: &RunResult) -> Option<f64> {
    (run.cell.offered > 0).then_some(run.cell.utilisation)
}

/// Mean share of time in which UEs with DRX listened.
pub(super) fn awake(run: &RunResult) -> Option<f64> {
    let sum: f64 = run.drx.iter().map(|ue| ue.awake_percent).sum();
    (!run.drx.is_empty()).then(|| sum / run.drx.len() as f64)
}

pub(super) fn backlog_of_all(run: &RunResult) -> Option<f64> {
    (!run.layers.is_empty()).then(|| run.layers.iter().map(|l| l.backlog_packets_mean).sum())
}

pub(super) fn rlc_backlog_sd(run: &RunResult) -> Option<f64> {
    let queues = run.entities.iter().filter(|e| e.layer == "rlc");
    queues.map(|e| e.packets_sd).reduce(f64::max)
}

pub(super) fn only_slice(run: &RunResult) -> Option<&SliceResult> {
    if let [only] = run.slices.as_slice() { Some(only) } else { None }
}

/// The greatest `value` of a slice.
pub(super) fn widest(run: &RunResult, value: impl Fn(&SliceResult) -> f64) -> Option<f64> {
    run.slices.iter().map(value).reduce(f64::max)
}
