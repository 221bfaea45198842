//! Results of a comparison: tables as Arrow, text, report and figures.

use crate::arrow::{Table, failed};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use justfull_lab::model::Comparison;
use justfull_lab::stats;
use justfull_report::export::{
    AROUND_COLUMNS, CARRIER_COLUMNS, CDF_COLUMNS, CELL_COLUMNS, COLUMNS, DRX_COLUMNS,
    ENTITY_COLUMNS, FLOW_SERIES_COLUMNS, HANDOVER_COLUMNS, LEG_COLUMNS, ResultsFolder,
    SERIES_COLUMNS, folder, rows,
};
use justfull_report::figure::{Figures, Palette};
use justfull_report::save;
use justfull_report::table::{self, RowKind, Style};
use justfull_report::words;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Records of one run.
pub(crate) struct Records {
    pub(crate) packets: Option<Result<RecordBatch, ArrowError>>,
    pub(crate) slots: Option<Result<RecordBatch, ArrowError>>,
}

/// The runs of a scenario.
#[pyclass(frozen, module = "justfull._native")]
pub(crate) struct Results {
    comparison: Comparison,
    palette: Palette,
    packets: Vec<RecordBatch>,
    slots: Vec<RecordBatch>,
}

/// A group's heading, and its table: headings, rows with their kind and note, notes.
type Group = (String, Vec<String>, Vec<(Vec<String>, &'static str, String)>, Vec<String>);

impl Results {
    pub(crate) fn new(mut comparison: Comparison, records: Vec<Records>) -> PyResult<Self> {
        comparison.command = "justfull (Python)".into();
        let (mut packets, mut slots) = (Vec::new(), Vec::new());
        for of_run in records {
            packets.extend(of_run.packets.transpose().map_err(|error| failed(&error))?);
            slots.extend(of_run.slots.transpose().map_err(|error| failed(&error))?);
        }
        Ok(Self { palette: Palette::of(&comparison), comparison, packets, slots })
    }
}

fn of_runs(batches: &[RecordBatch], option: &str) -> PyResult<Table> {
    match batches.first() {
        Some(first) => Ok(Table::new(batches.to_vec(), first.schema())),
        None => {
            Err(PyValueError::new_err(format!("no {option}: record them by run({option}=True)")))
        }
    }
}

#[pymethods]
impl Results {
    /// A row for each run and flow, as `runs.parquet`.
    #[getter]
    fn runs(&self) -> PyResult<Table> {
        Table::of(COLUMNS, rows::flows(&self.comparison)).map_err(|error| failed(&error))
    }

    /// A row for each run and bin of time, as `series.csv`.
    #[getter]
    fn series(&self) -> PyResult<Table> {
        Table::of(SERIES_COLUMNS, rows::series(&self.comparison)).map_err(|error| failed(&error))
    }

    /// A row for each run, flow name and bin of time, as `flow_series.csv`.
    #[getter]
    fn flow_series(&self) -> PyResult<Table> {
        Table::of(FLOW_SERIES_COLUMNS, rows::flow_series(&self.comparison))
            .map_err(|error| failed(&error))
    }

    /// A row for each run, distribution and point, as `cdf.csv`.
    #[getter]
    fn cdf(&self) -> PyResult<Table> {
        Table::of(CDF_COLUMNS, rows::cdf(&self.comparison)).map_err(|error| failed(&error))
    }

    /// A row for each run and queue, as `entities.csv`.
    #[getter]
    fn entities(&self) -> PyResult<Table> {
        Table::of(ENTITY_COLUMNS, rows::entities(&self.comparison)).map_err(|error| failed(&error))
    }

    /// A row for each run and cell, as `cells.csv`.
    #[getter]
    fn cells(&self) -> PyResult<Table> {
        Table::of(CELL_COLUMNS, rows::cells(&self.comparison)).map_err(|error| failed(&error))
    }

    /// A row for each run and handover, as `handovers.csv`.
    #[getter]
    fn handovers(&self) -> PyResult<Table> {
        Table::of(HANDOVER_COLUMNS, rows::handovers(&self.comparison))
            .map_err(|error| failed(&error))
    }

    /// A row for each run and interval around handovers, as `handover_delay.csv`.
    #[getter]
    fn handover_delay(&self) -> PyResult<Table> {
        Table::of(AROUND_COLUMNS, rows::around(&self.comparison)).map_err(|error| failed(&error))
    }

    /// A row for each run and leg of split bearers, as `legs.csv`.
    #[getter]
    fn legs(&self) -> PyResult<Table> {
        Table::of(LEG_COLUMNS, rows::legs(&self.comparison)).map_err(|error| failed(&error))
    }

    /// A row for each run and carrier, as `carriers.csv`.
    #[getter]
    fn carriers(&self) -> PyResult<Table> {
        Table::of(CARRIER_COLUMNS, rows::carriers(&self.comparison)).map_err(|error| failed(&error))
    }

    /// A row for each run and UE with DRX, as `drx.csv`.
    #[getter]
    fn drx(&self) -> PyResult<Table> {
        Table::of(DRX_COLUMNS, rows::drx(&self.comparison)).map_err(|error| failed(&error))
    }

    /// A row for each packet of each run, as `--packets` writes.
    #[getter]
    fn packets(&self) -> PyResult<Table> {
        of_runs(&self.packets, "packets")
    }

    /// A row for each slot of each run, as `--slots` writes.
    #[getter]
    fn slots(&self) -> PyResult<Table> {
        of_runs(&self.slots, "slots")
    }

    /// Title of the scenario.
    #[getter]
    fn title(&self) -> &str {
        &self.comparison.title
    }

    /// Notes for the reader.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.comparison.notes.clone()
    }

    /// Runs that broke an invariant, each with the invariant. Their results are left out.
    #[getter]
    fn broken(&self) -> Vec<String> {
        self.comparison.broken.clone()
    }

    /// The scenario with every default filled in.
    #[getter]
    fn scenario_toml(&self) -> &str {
        &self.comparison.scenario_toml
    }

    /// Each method's colour in figures, `#rrggbb`.
    fn colour(&self, method: &str) -> String {
        self.palette.colour(method)
    }

    /// The tables of the command line as plain text.
    fn text(&self) -> String {
        let mut text = String::new();
        for group in &self.comparison.groups {
            text.push_str(&format!("{}\n", group.heading()));
            text.push_str(&table::terminal(&table::methods(&group.runs), Style::default()));
        }
        text
    }

    /// The same tables as data.
    fn tables(&self) -> Vec<Group> {
        let of_group = |group: &justfull_lab::model::Group| {
            let grid = table::methods(&group.runs);
            let rows = grid.rows.into_iter().map(|row| {
                let kind = match row.kind {
                    RowKind::Method => "method",
                    RowKind::Part => "part",
                    RowKind::Reference => "reference",
                    RowKind::Claim(_) => "claim",
                };
                (row.cells, kind, row.note)
            });
            let notes = grid.notes.into_iter().chain(table::settings(group)).collect();
            (group.heading(), grid.header, rows.collect(), notes)
        };
        self.comparison.groups.iter().map(of_group).collect()
    }

    /// The report as one HTML page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| justfull_report::html(&self.comparison, &Figures::of(&self.comparison)))
    }

    /// The figures of the report: identifier, caption, SVG.
    fn figures(&self, py: Python<'_>) -> Vec<(String, String, String)> {
        let figures = py.detach(|| Figures::of(&self.comparison));
        figures.iter().map(|f| (f.id.clone(), f.caption.clone(), f.standalone())).collect()
    }

    /// Writes the results folder of the command line to `path`. Returns the messages of the
    /// writing.
    #[pyo3(signature = (path, *, scenario, force=false))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        scenario: &str,
        force: bool,
    ) -> PyResult<Vec<String>> {
        let os = |e: &dyn std::fmt::Display| PyOSError::new_err(e.to_string());
        py.detach(|| {
            let subject = folder::Subject { kind: "run".into(), scenario: scenario.into() };
            let (folder, mut said) = ResultsFolder::open(&path, subject, force, &mut || ())
                .map_err(|e| PyValueError::new_err(e.to_string()))?;
            said.extend(save(folder, &self.comparison).map_err(|e| os(&e))?);
            Ok(said)
        })
    }
}

/// Half width of the 95 % confidence interval of the mean, by Student's t; none with fewer than
/// three values.
#[pyfunction]
pub(crate) fn half_width(values: Vec<f64>) -> Option<f64> {
    stats::Summary::of(&values)?.ci95
}

/// The look in a figure for a paper of each of `methods`, which stand together: its colour,
/// `#rrggbb`, its mark, whether that is an outline, and its dashes in widths of the line.
#[pyfunction]
pub(crate) fn looks(methods: Vec<String>) -> Vec<(String, &'static str, bool, Vec<f64>)> {
    let looks = Palette::of_methods(methods.clone()).on_paper(&methods);
    looks.into_iter().map(|look| (look.colour, look.mark, look.hollow, look.dashes)).collect()
}

/// The column over time with this name or short name, whether each flow has its own, and its words
/// for an axis. If there is none, none and a text with similar names.
#[pyfunction]
pub(crate) fn over_time(name: &str) -> (Option<(&'static str, bool, String)>, String) {
    match justfull_report::read::over_time_of(name) {
        Ok(found) => {
            let words = justfull_report::chosen::over_time_in_words(found);
            (Some((found.name, found.of_flow, words)), String::new())
        }
        Err(why) => (None, hint(&why.to_string())),
    }
}

/// `name` in words with its unit, as on an axis of `justfull plot`: a column of `runs.csv`, else a
/// swept setting.
#[pyfunction]
pub(crate) fn in_words(name: &str) -> String {
    justfull_report::read::column(name).map_or_else(|| words::of_setting(name), words::of_column)
}

/// The quantity of a distribution in words with its unit.
#[pyfunction]
pub(crate) fn time_in_words(quantity: &str) -> String {
    words::of_time(quantity)
}

/// The point of a sweep in words: `rlc.queue.limit_kB=100; core.delay_ms=5`.
#[pyfunction]
pub(crate) fn point_in_words(point: &str) -> String {
    words::of_point(point)
}

/// The part of a message from its first semicolon on.
fn hint(why: &str) -> String {
    why.find("; ").map_or_else(String::new, |at| why[at..].to_owned())
}

/// The column of `runs.csv` with this name or short name. If there is none, none and a text with
/// similar names.
#[pyfunction]
pub(crate) fn column(name: &str) -> (Option<&'static str>, String) {
    match justfull_report::read::column_of(name) {
        Ok(column) => (Some(column.name), String::new()),
        Err(why) => (None, hint(&why.to_string())),
    }
}
