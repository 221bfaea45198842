//! Folders of results as tables of Arrow.

use crate::arrow::{Table, failed};
use justfull_report::earlier;
use justfull_report::export::{
    AROUND_COLUMNS, CARRIER_COLUMNS, CDF_COLUMNS, CELL_COLUMNS, COLUMNS, Column, DRX_COLUMNS,
    ENTITY_COLUMNS, FLOW_SERIES_COLUMNS, HANDOVER_COLUMNS, LEG_COLUMNS, SERIES_COLUMNS,
    Table as Rows,
};
use justfull_report::figure::Palette;
use justfull_report::read;
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A folder of results, with which the command line and `Results.save` end.
#[pyclass(frozen, module = "justfull._native")]
pub(crate) struct Saved {
    saved: read::Saved,
    palette: Palette,
}

impl Saved {
    fn of<T: Rows>(&self, file: &str, columns: &[Column<T>]) -> PyResult<Table> {
        let cells = self.saved.cells(file, columns).map_err(refused)?;
        Table::of_cells(columns, &cells).map_err(|error| failed(&error))
    }

    fn text(&self, file: &str) -> PyResult<Option<String>> {
        let Some(path) = self.saved.file(file) else { return Ok(None) };
        let text = std::fs::read_to_string(&path);
        text.map(Some).map_err(|e| PyOSError::new_err(format!("{}: {e}", path.display())))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn refused(why: read::Refused) -> PyErr {
    PyValueError::new_err(why.to_string())
}

#[pymethods]
impl Saved {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let saved = py.detach(|| read::Saved::open(&path)).map_err(refused)?;
        let cells = saved.cells("runs.csv", COLUMNS).map_err(refused)?;
        let at = COLUMNS.iter().position(|column| column.name == "method");
        let names = at.into_iter().flat_map(|at| &cells[at]).filter_map(|cell| cell.words());
        let mut methods: Vec<String> = Vec::new();
        for name in names {
            if !methods.iter().any(|known| known == name) {
                methods.push(name.to_owned());
            }
        }
        Ok(Self { saved, palette: Palette::of_methods(methods) })
    }

    /// The table called `name`, as `Results` has it.
    fn table(&self, name: &str) -> PyResult<Table> {
        match name {
            "runs" => self.of("runs.csv", COLUMNS),
            "series" => self.of("series.csv", SERIES_COLUMNS),
            "flow_series" => self.of("flow_series.csv", FLOW_SERIES_COLUMNS),
            "cdf" => self.of("cdf.csv", CDF_COLUMNS),
            "entities" => self.of("entities.csv", ENTITY_COLUMNS),
            "cells" => self.of("cells.csv", CELL_COLUMNS),
            "handovers" => self.of("handovers.csv", HANDOVER_COLUMNS),
            "handover_delay" => self.of("handover_delay.csv", AROUND_COLUMNS),
            "legs" => self.of("legs.csv", LEG_COLUMNS),
            "carriers" => self.of("carriers.csv", CARRIER_COLUMNS),
            "drx" => self.of("drx.csv", DRX_COLUMNS),
            name => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// Name of the scenario.
    #[getter]
    fn scenario(&self) -> &str {
        &self.saved.manifest().subject.scenario
    }

    /// The command that made the folder.
    #[getter]
    fn command(&self) -> &str {
        &self.saved.manifest().origin.command
    }

    /// The version of the program that made the folder.
    #[getter]
    fn version(&self) -> &str {
        &self.saved.manifest().origin.version
    }

    /// The scenario with every default filled in.
    #[getter]
    fn scenario_toml(&self) -> &str {
        &self.saved.manifest().origin.scenario_toml
    }

    /// Each method's colour in figures, `#rrggbb`.
    fn colour(&self, method: &str) -> String {
        self.palette.colour(method)
    }

    /// The report; none if the folder has none.
    fn html(&self) -> PyResult<Option<String>> {
        self.text("report.html")
    }

    /// The figures of the folder as SVG, by identifier.
    fn figures(&self) -> PyResult<BTreeMap<String, String>> {
        let files = self.saved.manifest().files.iter();
        let names = files.filter_map(|entry| {
            let name = entry.path.strip_prefix("figures/")?.strip_suffix(".svg")?;
            Some((name, &entry.path))
        });
        let read = |(name, file): (&str, &String)| {
            Ok((name.to_owned(), self.text(file)?.unwrap_or_default()))
        };
        names.map(read).collect()
    }
}

/// The earlier runs and campaigns at `places` and below them, the latest first, as JSON.
#[pyfunction]
pub(crate) fn runs(py: Python<'_>, places: Vec<PathBuf>) -> PyResult<String> {
    py.detach(|| {
        let folders = earlier::folders(&places).map_err(|(place, error)| {
            PyOSError::new_err(format!("{}: {error}", place.display()))
        })?;
        let read = folders.iter().map(|path| justfull_campaign::earlier::read(path));
        Ok(earlier::json(&read.collect::<Vec<_>>()))
    })
}
