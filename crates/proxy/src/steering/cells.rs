//! The cells of a site, by their names in reports.

use crate::config::CellsConfig;
use justfull_base::Instant;
use justfull_rapid::{CellId, Control};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the cell of reports that name no cell.
const NO_NAME: &str = "-";

/// A cell.
#[derive(Debug)]
struct Cell {
    id: CellId,
    name: Arc<str>,
    ues: usize,
    reports: u64,
    reported: Option<Instant>,
}

/// A cell as `status` shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CellStatus {
    /// Its name; `-` for the cell of UEs without reports, or whose reports name no cell.
    pub(crate) cell: String,
    /// UEs in it.
    pub(crate) ues: usize,
    /// Open connections of its UEs.
    pub(crate) flows: u64,
    pub(crate) reports: u64,
    /// Time since its last good report about any UE.
    pub(crate) report_age_s: Option<f64>,
    /// Sum of the capacities of its UEs, headers included; UEs without a known capacity are left
    /// out.
    pub(crate) capacity_bytes_per_s: f64,
    /// Share of the cell that its UEs hold, 0 to 1.
    pub(crate) held: f64,
    /// Shares of the cell in the windows of its flows, and in their floors: the first is at most 1
    /// plus the second.
    pub(crate) windows: f64,
    pub(crate) floors: f64,
}

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Cells {
    all: Vec<Cell>,
    by_name: BTreeMap<Arc<str>, usize>,
    /// True if reports of other cells are refused.
    closed: bool,
    most: usize,
}

impl Cells {
    /// The cell of reports that name no cell.
    pub(crate) const UNNAMED: usize = 0;

    pub(crate) fn new(control: &mut Control, config: &CellsConfig) -> Self {
        let mut cells = Self {
            all: Vec::new(),
            by_name: BTreeMap::new(),
            closed: !config.names.is_empty(),
            // One more for the cell without a name.
            most: config.most as usize + 1,
        };
        cells.add(control, NO_NAME.into());
        for name in &config.names {
            if !cells.by_name.contains_key(name.as_str()) {
                let at = cells.add(control, name.as_str().into());
                cells.by_name.insert(name.as_str().into(), at);
            }
        }
        cells
    }

    fn add(&mut self, control: &mut Control, name: Arc<str>) -> usize {
        let id = control.add_cell();
        self.all.push(Cell { id, name, ues: 0, reports: 0, reported: None });
        self.all.len() - 1
    }

    /// The cell of that name, added if it is new; none if it is not allowed.
    pub(crate) fn find(&mut self, control: &mut Control, name: Option<&Arc<str>>) -> Option<usize> {
        let Some(name) = name else { return (!self.closed).then_some(Self::UNNAMED) };
        if let Some(&at) = self.by_name.get(name) {
            return Some(at);
        }
        if self.closed || self.all.len() >= self.most {
            return None;
        }
        let at = self.add(control, Arc::clone(name));
        self.by_name.insert(Arc::clone(name), at);
        Some(at)
    }

    pub(crate) fn unnamed(&self) -> CellId {
        self.all[Self::UNNAMED].id
    }

    pub(crate) fn id(&self, at: usize) -> CellId {
        self.all[at].id
    }

    pub(crate) fn name(&self, at: usize) -> &str {
        &self.all[at].name
    }

    pub(crate) fn joined(&mut self, at: usize) {
        self.all[at].ues += 1;
    }

    pub(crate) fn left(&mut self, at: usize) {
        self.all[at].ues -= 1;
    }

    /// A good report came.
    pub(crate) fn reported(&mut self, now: Instant, at: usize) {
        self.all[at].reports += 1;
        self.all[at].reported = Some(now);
    }

    /// The cells with UEs or reports. Walks all flows of each.
    pub(crate) fn status(&self, now: Instant, control: &Control) -> Vec<CellStatus> {
        let alone = self.all.len() == 1;
        let shown = |cell: &&Cell| {
            let named = self.closed && cell.id != self.unnamed();
            alone || named || cell.ues > 0 || cell.reports > 0
        };
        let status = |cell: &Cell| {
            let load = control.load(cell.id);
            CellStatus {
                cell: cell.name.to_string(),
                ues: cell.ues,
                flows: 0,
                reports: cell.reports,
                report_age_s: cell.reported.map(|at| now.since(at).as_secs_f64()),
                capacity_bytes_per_s: 0.0,
                held: control.held(cell.id),
                windows: load.rates,
                floors: load.floors,
            }
        };
        self.all.iter().filter(shown).map(status).collect()
    }
}
