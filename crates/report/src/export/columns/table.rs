//! The tables of the result files: descriptions of their columns, and the data for their rows.

use crate::export::value::Value;
use justfull_lab::model::Group;
use justfull_run::results::{Distribution, EntityResult, FlowResult, FlowSeries, RunResult};

/// A table of the result files.
pub trait Table {
    /// The data for one row.
    type Row<'a>;
}

/// `runs.csv` and `runs.jsonl`.
pub enum Runs {}

/// `series.csv`.
pub enum SeriesOverTime {}

/// `flow_series.csv`.
pub enum FlowsOverTime {}

/// `cdf.csv`.
pub enum Cdfs {}

/// `entities.csv`.
pub enum Entities {}

impl Table for Runs {
    type Row<'a> = FlowRow<'a>;
}

impl Table for SeriesOverTime {
    type Row<'a> = SeriesPoint<'a>;
}

impl Table for FlowsOverTime {
    type Row<'a> = FlowPoint<'a>;
}

impl Table for Cdfs {
    type Row<'a> = CdfPoint<'a>;
}

impl Table for Entities {
    type Row<'a> = EntityRow<'a>;
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

/// A row of `runs.csv` and `runs.jsonl`: one flow of one run.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow<'a> {
    /// The group of the run.
    pub group: &'a Group,
    /// The run.
    pub run: &'a RunResult,
    /// The flow.
    pub flow: &'a FlowResult,
}

/// A row of `series.csv`: one bin of one run.
#[derive(Clone, Copy, Debug)]
pub struct SeriesPoint<'a> {
    /// The group of the run.
    pub group: &'a Group,
    /// The run.
    pub run: &'a RunResult,
    /// Number of the bin.
    pub bin: usize,
}

/// A row of `flow_series.csv`: one bin of one flow name of one run.
#[derive(Clone, Copy, Debug)]
pub struct FlowPoint<'a> {
    /// The group of the run.
    pub group: &'a Group,
    /// The run.
    pub run: &'a RunResult,
    /// The flow name.
    pub flow: &'a FlowSeries,
    /// Number of the bin.
    pub bin: usize,
}

/// A row of `cdf.csv`: one point of one distribution.
#[derive(Clone, Copy, Debug)]
pub struct CdfPoint<'a> {
    /// The group of the run.
    pub group: &'a Group,
    /// The run.
    pub run: &'a RunResult,
    /// `delay`, `bound`, `rtt`, `one_way`, `frame`, `page`, `low_latency_sojourn` or
    /// `other_sojourn`.
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
    /// The group of the run.
    pub group: &'a Group,
    /// The run.
    pub run: &'a RunResult,
    /// The queue.
    pub entity: &'a EntityResult,
}
