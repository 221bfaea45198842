//! UEs and cells as `status` and metrics show them.

use super::{CellStatus, STALE, Steering};
use crate::steering::identity::Ue;
use justfull_base::{Duration, Instant};
use serde::Serialize;

/// A UE as `status` shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UeStatus {
    /// Its first known address or prefix, after the name of its pool if there are pools.
    pub(crate) ue: String,
    /// The name of its pool; none without pools.
    pub(crate) pool: Option<String>,
    /// All its addresses and prefixes.
    pub(crate) addresses: Vec<String>,
    /// Its cell; `-` while unknown.
    pub(crate) cell: String,
    /// True if a cell that it has left reported about it within the last second.
    pub(crate) two_cells: bool,
    pub(crate) flows: u32,
    pub(crate) reports: u64,
    /// Time since the last accepted report; none if it no longer counts.
    pub(crate) report_age_s: Option<f64>,
    /// `none`, `coming` or `stopped`.
    pub(crate) radio: &'static str,
    /// The capacity that its flows share, with headers; none while unknown.
    pub(crate) capacity_bytes_per_s: Option<f64>,
    /// The rate that its subscription allows.
    pub(crate) most_bytes_per_s: Option<f64>,
}

impl Steering {
    /// All UEs, in the order of their names.
    pub(crate) fn status(&self, now: Instant) -> Vec<UeStatus> {
        let mut ues: Vec<&Ue> = self.ues.iter().collect();
        ues.sort_by_key(|ue| ue.name);
        ues.into_iter().map(|ue| self.ue_status(now, ue)).collect()
    }

    fn ue_status(&self, now: Instant, ue: &Ue) -> UeStatus {
        let age = self.control.control.report_age(now, ue.id);
        UeStatus {
            ue: self.pools.shown(ue.name),
            pool: self.pools.name(ue.name.pool).map(str::to_owned),
            addresses: ue.addresses.iter().map(|one| one.prefix.to_string()).collect(),
            cell: self.cells.name(ue.cell).to_owned(),
            two_cells: ue.elsewhere.is_some_and(|at| now.since(at) < Duration::from_secs(1)),
            flows: ue.flows,
            reports: ue.reports,
            report_age_s: age.map(Duration::as_secs_f64),
            radio: match ue.last_report {
                None => "none",
                Some(at) if now.since(at) < STALE => "coming",
                Some(_) => "stopped",
            },
            capacity_bytes_per_s: self.control.control.capacity(ue.id),
            most_bytes_per_s: ue.most,
        }
    }

    /// The cells with UEs or reports, in the order in which they became known.
    pub(crate) fn cell_status(&self, now: Instant) -> Vec<CellStatus> {
        let mut cells = self.cells.status(now, &self.control.control);
        for ue in self.ues.iter() {
            let name = self.cells.name(ue.cell);
            let Some(cell) = cells.iter_mut().find(|cell| cell.cell == name) else { continue };
            cell.flows += u64::from(ue.flows);
            cell.capacity_bytes_per_s += self.control.control.capacity(ue.id).unwrap_or(0.0);
        }
        cells
    }
}
