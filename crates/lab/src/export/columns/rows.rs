//! What the rows of the tables are made from.

use crate::report::Group;
use justfull_sim::results::{EntityResult, FlowResult, RunResult};

/// A row of `runs.csv` and `runs.jsonl`: one flow of one run.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow<'a> {
    /// Where the run belongs.
    pub group: &'a Group,
    /// The run.
    pub run: &'a RunResult,
    /// The flow.
    pub flow: &'a FlowResult,
}

/// A row of `series.csv`: one bin of one run.
#[derive(Clone, Copy, Debug)]
pub struct SeriesPoint<'a> {
    /// Where the run belongs.
    pub group: &'a Group,
    /// The run.
    pub run: &'a RunResult,
    /// Number of the bin.
    pub bin: usize,
}

/// A row of `cdf.csv`: one point of one distribution.
#[derive(Clone, Copy, Debug)]
pub struct CdfPoint<'a> {
    /// Where the run belongs.
    pub group: &'a Group,
    /// The run.
    pub run: &'a RunResult,
    /// `delay`, `bound`, `rtt`, `one_way`, `frame`, `page`, `low_latency_sojourn` or `other_sojourn`.
    pub quantity: &'a str,
    /// Name of the flow or of the layer.
    pub of: &'a str,
    /// Time in ms.
    pub time_ms: f64,
    /// Share of values at or below it.
    pub share: f64,
}

/// A row of `entities.csv`: one queue of one run.
#[derive(Clone, Copy, Debug)]
pub struct EntityRow<'a> {
    /// Where the run belongs.
    pub group: &'a Group,
    /// The run.
    pub run: &'a RunResult,
    /// The queue.
    pub entity: &'a EntityResult,
}
