//! Notices for the log about contradictory reports, at most one of each kind in ten seconds.

use crate::pools::NoPool;
use justfull_base::{Duration, Instant};
use justfull_net::Prefix;

/// Time between two notices of one kind.
const EVERY: Duration = Duration::from_secs(10);

/// A notice for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The UE concerned.
    pub(crate) ue: Option<Prefix>,
    pub(crate) what: String,
}

/// See the module's page.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    waiting: Vec<Notice>,
    /// Time of the last notice of each kind.
    last: [Option<Instant>; 5],
}

impl Notices {
    fn add(&mut self, now: Instant, kind: usize, ue: Option<Prefix>, what: impl Fn() -> String) {
        if self.last[kind].is_none_or(|at| now.since(at) >= EVERY) {
            self.last[kind] = Some(now);
            self.waiting.push(Notice { ue, what: what() });
        }
    }

    pub(super) fn unknown_cell(&mut self, now: Instant, cell: Option<&str>) {
        self.add(now, 0, None, || match cell {
            Some(cell) => format!("a report of the cell {cell}, which `cells` does not allow"),
            None => "a report without a cell, which `cells.names` does not allow".into(),
        });
    }

    pub(super) fn unknown_pool(&mut self, now: Instant, ue: Prefix, why: &NoPool) {
        self.add(now, 4, Some(ue), || format!("a report is of no pool: {why}"));
    }

    pub(super) fn two_cells(&mut self, now: Instant, ue: Prefix, cells: &[String; 2]) {
        let [own, other] = cells;
        self.add(now, 1, Some(ue), || {
            format!("reports of two cells name one UE: it stays in {own}, {other} has to wait")
        });
    }

    pub(super) fn disputed(&mut self, now: Instant, ue: Prefix) {
        self.add(now, 2, Some(ue), || {
            "reports of two UEs name one address: it stays with the first".into()
        });
    }

    pub(super) fn session(&mut self, now: Instant, ue: Prefix, why: &str) {
        self.add(now, 3, Some(ue), || format!("a session of the directory is left out: {why}"));
    }

    /// The notices since the last call.
    pub(crate) fn take(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.waiting)
    }
}
