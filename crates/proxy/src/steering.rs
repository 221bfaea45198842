//! RAPID's control in service: the addresses and the cell of each UE; reports and samples in,
//! windows out.

mod cells;
mod identity;
mod joining;
mod notice;
mod state;

pub(crate) use cells::CellStatus;
pub(crate) use identity::Identity;

use crate::config::{CellsConfig, UesConfig};
use crate::pools::{ClientHost, PoolId, Pools, UeAddress};
use cells::Cells;
use identity::{Ue, Ues};
use justfull_base::{ConfigError, Duration, Instant};
use justfull_net::Prefix;
use justfull_rapid::{
    ControlConfig, FlowId, FlowView, Opening, PayloadControl, Refused, Sample, Windows,
};
use justfull_rnis::{CellChange, Report};
pub(crate) use notice::Notice;
use notice::Notices;
use serde::Serialize;
use std::sync::Arc;

/// Bytes of TCP's header with timestamps (RFC 7323).
const TCP_HEADER: u32 = 32;
const IPV4_HEADER: u32 = 20;
const IPV6_HEADER: u32 = 40;
/// Most UEs that are known only by a report and have no flow.
const MOST_SILENT: usize = 65_536;
/// A UE without flows and reports is forgotten after this time.
const FORGET: Duration = Duration::from_secs(60);
/// If the last report about a UE is younger than this, its reports are `coming`.
pub(crate) const STALE: Duration = Duration::from_millis(750);

/// Bytes of the headers of a connection with timestamps.
pub(crate) const fn headers(v6: bool) -> u32 {
    TCP_HEADER + if v6 { IPV6_HEADER } else { IPV4_HEADER }
}

/// Counts of reports by their result, and of changes of UEs that reports caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ReportCounts {
    /// Taken.
    pub(crate) taken: u64,
    /// Not newer than the last one.
    pub(crate) late: u64,
    /// With a field out of its bounds.
    pub(crate) absurd: u64,
    /// About UEs without flows.
    pub(crate) without_flows: u64,
    /// Reports of cells that the configuration does not allow, or that exceed the number of cells.
    pub(crate) unknown_cell: u64,
    /// Reports that name another pool, or no pool and addresses of no or several pools.
    pub(crate) unknown_pool: u64,
    /// Reports of a cell that the UE has left, while its present cell reports too.
    pub(crate) two_cells: u64,
    /// Reports with an address that another UE's reports also name.
    pub(crate) disputed: u64,
    /// UEs that moved to another cell.
    pub(crate) moves: u64,
    /// UEs merged into another UE.
    pub(crate) merges: u64,
}

/// The parts of a message about a UE.
struct Named {
    cell: usize,
    pool: PoolId,
    /// The UE's place, if it is known.
    known: Option<usize>,
}

/// See the module's page.
pub(crate) struct Steering {
    control: PayloadControl<u64>,
    cells: Cells,
    ues: Ues,
    pub(crate) pools: Pools,
    pub(crate) counts: ReportCounts,
    pub(crate) notices: Notices,
}

impl Steering {
    pub(crate) fn new(
        config: &ControlConfig,
        bits: UesConfig,
        cells: &CellsConfig,
        pools: Pools,
    ) -> Result<Self, ConfigError> {
        let mut control = PayloadControl::new(config).map_err(|e| e.within("control"))?;
        let cells = Cells::new(&mut control.control, cells);
        Ok(Self {
            control,
            cells,
            ues: Ues::new(bits),
            pools,
            counts: ReportCounts::default(),
            notices: Notices::default(),
        })
    }

    /// The place of the UE named `name`, which is added if it is unknown.
    fn ue(&mut self, now: Instant, name: UeAddress) -> Option<usize> {
        if let Some(place) = self.ues.find(name) {
            return Some(place);
        }
        let id = self.control.control.add_ue(now, self.cells.unnamed()).ok()?;
        self.cells.joined(Cells::UNNAMED);
        Some(self.ues.add(now, id, name))
    }

    /// A flow of `client` opens. `key` names it in changes. See
    /// [`PayloadControl::open`].
    pub(crate) fn open(
        &mut self,
        now: Instant,
        client: ClientHost,
        key: u64,
        opening: &Opening,
    ) -> Option<FlowId> {
        let place = self.ue(now, self.ues.key(client))?;
        let id = self.ues.at(place)?.id;
        let headers = headers(client.ip.is_ipv6());
        let flow = self.control.open(now, id, key, headers, opening).ok()?;
        self.ues.opened(place);
        Some(flow)
    }

    /// A sample of a flow, in payload.
    pub(crate) fn sample(&mut self, now: Instant, id: FlowId, sample: &Sample) {
        // The control refuses only a flow that is closed.
        let _closed = self.control.on_sample(now, id, sample);
    }

    /// Data of a flow begins to wait in the proxy.
    pub(crate) fn hold(&mut self, id: FlowId) {
        // The control refuses only a flow that is closed.
        let _closed = self.control.control.hold(id);
    }

    /// A flow closes.
    pub(crate) fn close(&mut self, now: Instant, id: FlowId) {
        let ue = self.control.control.ue(id);
        if self.control.control.close(now, id).is_ok()
            && let Some(ue) = ue
        {
            self.ues.closed(now, ue.index());
        }
    }

    /// The parts that a message names: its UE by `addresses` and `pool`, and a cell. None if the
    /// cell or the pool is not allowed; this is counted.
    fn named(
        &mut self,
        now: Instant,
        addresses: &[Prefix],
        pool: Option<&str>,
        cell: Option<&Arc<str>>,
    ) -> Option<Named> {
        let Some(at) = self.cells.find(&mut self.control.control, cell) else {
            self.counts.unknown_cell += 1;
            self.notices.unknown_cell(now, cell.map(|name| &**name));
            return None;
        };
        match self.pools.find(pool, addresses) {
            Ok(pool) => {
                let place = |name| self.ues.find(self.ues.cut(pool, name));
                Some(Named { cell: at, pool, known: addresses.iter().find_map(place) })
            }
            Err(why) => {
                self.counts.unknown_pool += 1;
                self.notices.unknown_pool(now, addresses[0], &why);
                None
            }
        }
    }

    /// A notification says that a UE has changed its cell. It moves the UE at once, also back into
    /// a cell that the UE has just left: a change is told once, whereas reports of an old cell may
    /// still be on their way.
    pub(crate) fn moved(&mut self, now: Instant, change: &CellChange) {
        let named = self.named(now, &change.ue, None, Some(&change.cell));
        let Some(Named { cell, known, .. }) = named else { return };
        let Some(place) = known else {
            self.counts.without_flows += 1;
            return;
        };
        if self.ues.at(place).is_some_and(|ue| ue.cell != cell) {
            self.move_to(now, place, cell);
        }
    }

    /// A report arrives.
    pub(crate) fn report(&mut self, now: Instant, report: &Report) {
        let pool = report.pool.as_deref();
        let Some(Named { cell, pool, known }) =
            self.named(now, &report.ue, pool, report.cell.as_ref())
        else {
            return;
        };
        if known.is_none() && self.ues.silent >= MOST_SILENT {
            self.counts.without_flows += 1;
            return;
        }
        let first = self.ues.cut(pool, &report.ue[0]);
        let Some(place) = known.or_else(|| self.ue(now, first)) else { return };
        // A report that names no cell is about the present cell of its UE.
        let own = self.ues.at(place).map_or(cell, |ue| ue.cell);
        let cell = if report.cell.is_none() { own } else { cell };
        self.identify(now, place, pool, &report.ue);
        let comes = self.settle(now, place, cell);
        let Some(ue) = self.ues.at_mut(place) else { return };
        self.counts.without_flows += u64::from(ue.flows == 0);
        ue.used = now;
        if !comes {
            return;
        }
        match self.control.on_report(now, ue.id, &report.ran) {
            Ok(()) => {
                ue.reported(now);
                self.cells.reported(now, cell);
                self.counts.taken += 1;
            }
            Err(Refused::Late) => self.counts.late += 1,
            Err(_) => self.counts.absurd += 1,
        }
    }

    /// Puts the UE at `place` into `cell`, whose report names it; false if the report does not
    /// count, since the UE has left that cell.
    ///
    /// A report moves its UE to the report's cell at once. A cell that the UE left within the last
    /// minute gets it back only when the present cell no longer reports: the last reports of an old
    /// cell may arrive after the first reports of a new one, and two cells may serve a UE.
    fn settle(&mut self, now: Instant, place: usize, cell: usize) -> bool {
        let Some(ue) = self.ues.at_mut(place) else { return false };
        if ue.cell == cell {
            return true;
        }
        if ue.has_left(now, cell) && !ue.is_silent(now) {
            ue.elsewhere = Some(now);
            self.counts.two_cells += 1;
            let cells = [ue.cell, cell].map(|cell| self.cells.name(cell).to_owned());
            self.notices.two_cells(now, ue.name.prefix, &cells);
            return false;
        }
        self.move_to(now, place, cell);
        true
    }

    fn move_to(&mut self, now: Instant, place: usize, cell: usize) {
        let Some(ue) = self.ues.at_mut(place) else { return };
        let old = ue.moves(now, cell);
        // Both are known.
        let _moved = self.control.control.move_ue(now, ue.id, self.cells.id(cell));
        self.cells.left(old);
        self.cells.joined(cell);
        // The first report gives the UE's cell; the UE has not moved.
        self.counts.moves += u64::from(old != Cells::UNNAMED);
    }

    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.control.control.next_timer()
    }

    /// Does the work that is due.
    pub(crate) fn on_timer(&mut self, now: Instant) {
        self.control.control.on_timer(now);
    }

    /// Forgets UEs without flows and recent reports.
    pub(crate) fn forget(&mut self, now: Instant) {
        let gone = |ue: &Ue| ue.flows == 0 && !ue.in_session && now.since(ue.used) > FORGET;
        for place in self.ues.places(gone) {
            self.remove(now, place);
        }
    }

    /// Removes the UE at `place` with its addresses.
    fn remove(&mut self, now: Instant, place: usize) {
        let Some(ue) = self.ues.remove(place) else { return };
        self.cells.left(ue.cell);
        // No other code removes UEs.
        let _removed = self.control.remove_ue(now, ue.id);
    }

    /// The key of a flow whose windows changed, and its windows in payload.
    pub(crate) fn change(&mut self) -> Option<(u64, Windows)> {
        self.control.poll_change()
    }

    pub(crate) fn view(&self, id: FlowId) -> Option<FlowView> {
        self.control.control.view(id)
    }

    /// The name of a flow's UE.
    pub(crate) fn ue_of(&self, id: FlowId) -> Option<String> {
        let ue = self.control.control.ue(id)?;
        self.ues.at(ue.index()).map(|ue| self.pools.shown(ue.name))
    }

    /// UEs and connections of a pool, and the sum of the known capacities of its UEs.
    pub(crate) fn pool_sums(&self, pool: PoolId) -> (usize, u64, f64) {
        let of = self.ues.iter().filter(|ue| ue.name.pool == pool);
        of.fold((0, 0, 0.0), |(ues, flows, capacity), ue| {
            let own = self.control.control.capacity(ue.id).unwrap_or(0.0);
            (ues + 1, flows + u64::from(ue.flows), capacity + own)
        })
    }
}

#[cfg(test)]
mod tests;
