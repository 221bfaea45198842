//! The tables of the result files: descriptions of their columns, and the data for their rows.

use crate::export::value::Value;
use justfull_lab::model::Group;
use justfull_run::results::{Distribution, EntityResult, FlowResult, FlowSeries, RunResult};

/// A table of the result files.
pub trait Table {
    /// The data for one row.
    type Row<'a>;
}

/// One column of a table.
pub struct Column<T: Table> {
    /// Name; ends in the unit and, for a distribution, in the statistic.
    pub name: &'static str,
    /// Unit or type.
    pub unit: &'static str,
    /// Meaning, one sentence.
    pub meaning: &'static str,
    /// Content in a row.
    pub value: for<'a> fn(&T::Row<'a>) -> Value,
}

impl<T: Table> Clone for Column<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Table> Copy for Column<T> {}

/// Number of columns in `rows`.
pub(super) const fn number_of<T: Table>(rows: &[&[Column<T>]]) -> usize {
    let (mut n, mut row) = (0, 0);
    while row < rows.len() {
        n += rows[row].len();
        row += 1;
    }
    n
}

/// The `N` columns of `rows`, concatenated.
pub(super) const fn joined<T: Table, const N: usize>(rows: &[&[Column<T>]]) -> [Column<T>; N] {
    let mut columns = [rows[0][0]; N];
    let (mut n, mut row) = (0, 0);
    while row < rows.len() {
        let mut i = 0;
        while i < rows[row].len() {
            columns[n] = rows[row][i];
            (n, i) = (n + 1, i + 1);
        }
        row += 1;
    }
    columns
}

/// One statistic of a distribution; absent if the distribution has no values.
pub(super) fn number(d: Option<&Distribution>, pick: fn(&Distribution) -> f64) -> Value {
    d.filter(|d| d.count > 0).map(pick).into()
}

parts! {
    "runs.csv" Runs: "one flow of one run; also of `runs.jsonl` and `runs.parquet`" FlowRow {
        /// The flow.
        flow: &'a FlowResult,
    }
}

parts! {
    "series.csv" SeriesOverTime: "one bin of one run" SeriesPoint {
        /// Number of the bin.
        bin: usize,
    }
}

parts! {
    "flow_series.csv" FlowsOverTime: "one bin of one flow name of one run" FlowPoint {
        /// The flow name.
        flow: &'a FlowSeries,
        /// Number of the bin.
        bin: usize,
    }
}

parts! {
    "cdf.csv" Cdfs: "one point of one distribution of one run" CdfPoint {
        /// `delay`, `bound`, `rtt`, `one_way`, `frame`, `page`, `low_latency_sojourn` or
        /// `other_sojourn`.
        quantity: &'a str,
        /// Name of the flow or of the layer.
        of: &'a str,
        /// Time in ms.
        time_ms: f64,
        /// Share of values at or below it.
        share: f64,
    }
}

parts! {
    "entities.csv" Entities: "one queue of one run" EntityRow {
        /// The queue.
        entity: &'a EntityResult,
    }
}
