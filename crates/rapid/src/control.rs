//! The interface: events in, changed windows out.

use crate::cell::Cell;
use crate::config::Config;
use crate::flow::{Flow, Outcome};
use crate::kinds::ControlConfig;
use crate::refused::Refused;
use crate::room::Room;
use crate::sample::{Category, FlowView, Opening, Sample, Windows};
use crate::slab::{CellId, FlowId, Slab, UeId};
use crate::timers::Timers;
use crate::ue::Ue;
use alloc::vec::Vec;
use justfull_base::feedback::RanReport;
use justfull_base::{ConfigError, Instant};

/// The shares of a cell that its flows may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Sum over all reading flows of their rate, divided by the capacity of the whole cell for
    /// their UE.
    pub rates: f64,
    /// The same for the rate of their minimum window. [`Load::rates`] is at most 1 plus this when
    /// free blocks are divided.
    pub floors: f64,
}

/// A control of a split proxy's windows. See the crate's page.
#[derive(Clone, Debug)]
pub struct Control {
    pub(crate) rules: Config,
    /// True when nothing is controlled.
    pub(crate) unlimited: bool,
    pub(crate) cells: Vec<Cell>,
    pub(crate) ues: Slab<Ue>,
    pub(crate) flows: Slab<Flow>,
    pub(crate) timers: Timers,
    pub(crate) changes: Changes,
    pub(crate) room: Room,
    now: Instant,
}

impl Control {
    /// The control of `config`, without cells.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &ControlConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let rules = match config {
            ControlConfig::None(_) => Config::default(),
            ControlConfig::EqualShare(config) => config.rules(),
            ControlConfig::Rapid(config) => config.clone(),
        };
        Ok(Self {
            rules,
            unlimited: matches!(config, ControlConfig::None(_)),
            cells: Vec::new(),
            ues: Slab::new(),
            flows: Slab::new(),
            timers: Timers::new(),
            changes: Changes::default(),
            room: Room::UNBOUNDED,
            now: Instant::ZERO,
        })
    }

    /// Allocates memory for `room`. From now on only [`Control::add_cell`] allocates, and a UE or a
    /// flow beyond it is refused ([`Refused::Full`]).
    pub fn set_room(&mut self, room: Room) {
        self.room = room;
        let (ues, flows) = (room.ues as usize, room.flows as usize);
        self.ues.reserve(ues);
        self.ues.fill(room.ues, || Ue::new(0));
        for ue in 0..self.ues.places() {
            self.ues[ue].flows.reserve(room.flows_of_ue as usize);
        }
        self.flows.reserve(flows);
        self.timers.reserve(ues);
        self.changes.reserve(flows);
    }

    /// Adds a cell. Cells are few and are never removed.
    ///
    /// # Panics
    /// With 2^32 cells.
    pub fn add_cell(&mut self) -> CellId {
        self.cells.push(Cell::default());
        CellId(u32::try_from(self.cells.len() - 1).expect("fewer than 2^32 cells"))
    }

    /// Adds a UE to `cell`, without any knowledge of it.
    ///
    /// # Errors
    /// [`Refused::UnknownCell`] or [`Refused::Full`].
    pub fn add_ue(&mut self, now: Instant, cell: CellId) -> Result<UeId, Refused> {
        if cell.0 as usize >= self.cells.len() {
            return Err(Refused::UnknownCell);
        }
        if self.ues.len() >= self.room.ues as usize {
            return Err(Refused::Full);
        }
        self.at(now);
        let mut ue = Ue::new(cell.0);
        if let Some(before) = self.ues.next_free() {
            // Its list is empty, but has memory.
            core::mem::swap(&mut ue.flows, &mut before.flows);
        }
        Ok(UeId(self.ues.insert(ue)))
    }

    /// Closes the UE's flows and forgets it; its share of the cell becomes free.
    ///
    /// # Errors
    /// [`Refused::UnknownUe`].
    pub fn remove_ue(&mut self, now: Instant, ue: UeId) -> Result<(), Refused> {
        let index = self.ues.find(ue.0).ok_or(Refused::UnknownUe)?;
        let now = self.at(now);
        let flows = &mut self.ues[index].flows;
        for flow in flows.all() {
            self.flows.remove(flow);
        }
        flows.clear();
        self.allocate(now, index);
        self.timers.disarm(index);
        self.ues.remove(index);
        Ok(())
    }

    /// Moves a UE with its flows to `cell`. From now on, reports about the UE must come from
    /// `cell`. The UE's share of the old cell becomes free; its flows get windows within the free
    /// share of the new cell. Until the first report of the new cell, the last report still counts,
    /// by its age.
    ///
    /// # Errors
    /// [`Refused::UnknownUe`] or [`Refused::UnknownCell`].
    pub fn move_ue(&mut self, now: Instant, ue: UeId, cell: CellId) -> Result<(), Refused> {
        let index = self.ues.find(ue.0).ok_or(Refused::UnknownUe)?;
        if cell.0 as usize >= self.cells.len() {
            return Err(Refused::UnknownCell);
        }
        let now = self.at(now);
        let state = &mut self.ues[index];
        if state.cell == cell.0 {
            return Ok(());
        }
        state.leave(&mut self.cells[state.cell as usize]);
        state.cell = cell.0;
        for flow in state.flows.all() {
            self.flows[flow].change_radio();
        }
        self.allocate(now, index);
        Ok(())
    }

    /// A flow opens: all flows of its UE get equal shares (equation 4).
    ///
    /// # Errors
    /// [`Refused::UnknownUe`] or [`Refused::Full`].
    pub fn open(&mut self, now: Instant, ue: UeId, opening: &Opening) -> Result<FlowId, Refused> {
        let index = self.ues.find(ue.0).ok_or(Refused::UnknownUe)?;
        let (own, all) = (self.ues[index].flows.len(), self.flows.len());
        if all >= self.room.flows as usize || own >= self.room.flows_of_ue as usize {
            return Err(Refused::Full);
        }
        let now = self.at(now);
        let flows = &mut self.ues[index].flows;
        let position = u32::try_from(flows.len()).expect("fewer than 2^32 flows");
        let mut flow = Flow::new(now, index, position, opening, &self.rules);
        if self.unlimited {
            flow.windows = Windows::UNLIMITED;
        }
        let key = self.flows.insert(flow);
        flows.push(key.index);
        if self.unlimited {
            self.changes.note(key.index, &self.flows[key.index]);
        } else {
            self.timers.arm(index, self.flows[key.index].deadline(&self.rules));
            self.allocate(now, index);
        }
        Ok(FlowId(key))
    }

    /// Reports the events of a flow in the last round trip of its wired leg.
    ///
    /// # Errors
    /// [`Refused::UnknownFlow`].
    pub fn on_sample(
        &mut self,
        now: Instant,
        flow: FlowId,
        sample: &Sample,
    ) -> Result<(), Refused> {
        let key = self.flows.find(flow.0).ok_or(Refused::UnknownFlow)?;
        let now = self.at(now);
        if self.unlimited {
            return Ok(());
        }
        let flow = &mut self.flows[key];
        let measured = flow.measure(sample.wired_rtt, sample.radio_rtt);
        let greedy = flow.greedy(now, sample);
        let outcome = flow.sample(now, sample, &self.rules);
        let (index, position) = (flow.ue, flow.position);
        let hungry = flow.is_fast() || sample.held;
        self.timers.arm(index, flow.deadline(&self.rules));
        let ue = &mut self.ues[index];
        ue.bypass.delivered(now, sample.delivered);
        greedy.inspect(|greedy| ue.slack.sample(now, greedy));
        if measured {
            ue.together = None;
        }
        let delivered = ue.delivery.add(now, sample.delivered, hungry) && !ue.radio.known;
        if outcome == Outcome::Allocate {
            ue.flows.wake(position as usize);
            self.allocate(now, index);
            return Ok(());
        }
        if measured || outcome == Outcome::Resize {
            let flow = &mut self.flows[key];
            flow.resize(now, &self.rules);
            self.changes.note(key, flow);
        }
        if delivered {
            self.share_out(now, index);
        }
        Ok(())
    }

    /// From now on the proxy has no room and offers the server of `flow` less than its window, so
    /// the server's silence does not make the flow slow. This ends with a sample without
    /// [`Sample::held`].
    ///
    /// # Errors
    /// [`Refused::UnknownFlow`].
    pub fn hold(&mut self, flow: FlowId) -> Result<(), Refused> {
        let key = self.flows.find(flow.0).ok_or(Refused::UnknownFlow)?;
        self.flows[key].hold();
        Ok(())
    }

    /// A report about `ue` arrives.
    ///
    /// # Errors
    /// [`Refused::UnknownUe`], [`Refused::Late`] or [`Refused::Absurd`].
    pub fn on_report(&mut self, now: Instant, ue: UeId, report: &RanReport) -> Result<(), Refused> {
        let index = self.ues.find(ue.0).ok_or(Refused::UnknownUe)?;
        self.ues[index].radio.take(self.now.max(now), report, &self.rules)?;
        let now = self.at(now);
        if self.unlimited {
            return Ok(());
        }
        if self.rules.one_for_all {
            let (radio, cell) = (self.ues[index].radio, self.ues[index].cell);
            for other in 0..self.ues.places() {
                if self.ues.key(other).is_some() && self.ues[other].cell == cell {
                    self.ues[other].radio = radio;
                    self.reported(now, other, report);
                }
            }
        } else {
            self.reported(now, index, report);
        }
        Ok(())
    }

    fn reported(&mut self, now: Instant, ue: u32, report: &RanReport) {
        let state = &mut self.ues[ue];
        let (_, at) = state.age(now, &self.rules);
        self.timers.arm(ue, at);
        if state.close_loops(now, report, &self.rules) {
            let added = state.added();
            for key in state.flows.awake() {
                let flow = &mut self.flows[key];
                flow.added = added;
                flow.resize(now, &self.rules);
                self.changes.note(key, flow);
            }
        }
        self.share_out(now, ue);
    }

    /// A flow closes; the others share its capacity.
    ///
    /// # Errors
    /// [`Refused::UnknownFlow`].
    pub fn close(&mut self, now: Instant, flow: FlowId) -> Result<(), Refused> {
        let key = self.flows.find(flow.0).ok_or(Refused::UnknownFlow)?;
        let now = self.at(now);
        let (index, position) = (self.flows[key].ue, self.flows[key].position);
        if let Some(moved) = self.ues[index].flows.remove(position as usize) {
            self.flows[moved].position = position;
        }
        self.flows.remove(key);
        self.allocate(now, index);
        Ok(())
    }

    /// When [`Control::on_timer`] is due; none if only an event can change anything.
    #[must_use]
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Does the work that is due by `now`.
    pub fn on_timer(&mut self, now: Instant) {
        let now = self.at(now);
        while let Some(ue) = self.timers.pop(now) {
            self.serve(now, ue);
        }
    }

    /// The timer of a UE.
    fn serve(&mut self, now: Instant, index: u32) {
        let ue = &mut self.ues[index];
        let (mut changed, mut next) = ue.age(now, &self.rules);
        if now >= ue.turn_at {
            (ue.turn, ue.turn_at, changed) = (ue.next_turn, Instant::NEVER, true);
        } else {
            next = next.min(ue.turn_at);
        }
        for key in ue.flows.awake() {
            let flow = &mut self.flows[key];
            if flow.stall_at(&self.rules) <= now {
                flow.stall(now, &self.rules);
                changed = true;
            }
            if flow.idle_at(&self.rules) <= now {
                flow.category = Category::Idle;
                changed = true;
            }
            next = next.min(flow.deadline(&self.rules));
        }
        self.timers.arm(index, next);
        if changed {
            self.allocate(now, index);
        }
    }

    /// A flow with changed windows, and these windows; none when there are no more. Drain it after
    /// every event.
    #[inline]
    pub fn poll_change(&mut self) -> Option<(FlowId, Windows)> {
        while let Some(index) = self.changes.pop() {
            let Some(key) = self.flows.key(index) else { continue };
            let flow = &mut self.flows[index];
            if flow.told != Some(flow.windows) {
                flow.told = Some(flow.windows);
                return Some((FlowId(key), flow.windows));
            }
        }
        None
    }

    /// A flow's category, demand and windows; none when it is not open.
    #[must_use]
    pub fn view(&self, flow: FlowId) -> Option<FlowView> {
        self.flows.find(flow.0).map(|key| self.flows[key].view())
    }

    /// The UE of a flow; none when it is not open.
    #[must_use]
    pub fn ue(&self, flow: FlowId) -> Option<UeId> {
        let key = self.flows.find(flow.0)?;
        self.ues.key(self.flows[key].ue).map(UeId)
    }

    /// Time since the last good report about `ue` arrived; none if no report counts.
    #[must_use]
    pub fn report_age(&self, now: Instant, ue: UeId) -> Option<justfull_base::Duration> {
        let index = self.ues.find(ue.0)?;
        let radio = &self.ues[index].radio;
        radio.known.then(|| radio.age(now))
    }

    /// The capacity last divided among the flows of `ue`, in bytes per second with headers; none
    /// while it is unknown.
    #[must_use]
    pub fn capacity(&self, ue: UeId) -> Option<f64> {
        self.ues[self.ues.find(ue.0)?].shared
    }

    /// The shares of `cell` that its flows may use, by the known reports and round trips; flows
    /// without these are left out. Walks all flows of the cell.
    #[must_use]
    pub fn load(&self, cell: CellId) -> Load {
        let mut load = Load::default();
        let known = |ue: &Ue| ue.cell == cell.0 && ue.radio.known && ue.radio.whole > 0.0;
        for (_, ue) in self.ues.iter().filter(|(_, ue)| known(ue)) {
            let whole = ue.radio.whole;
            for flow in ue.flows.all().map(|key| &self.flows[key]).filter(|f| f.windows.reading) {
                load.rates += flow.rate(&self.rules).unwrap_or(0.0) / whole;
                load.floors += flow.floor_rate(&self.rules) / whole;
            }
        }
        load
    }

    /// A time that goes back counts as standing still.
    pub(crate) fn at(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }
}

/// Flows with windows to return, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    list: Vec<u32>,
    listed: Vec<bool>,
}

impl Changes {
    /// Memory for `flows` flows.
    pub(crate) fn reserve(&mut self, flows: usize) {
        self.list.reserve_exact(flows.saturating_sub(self.list.len()));
        self.listed.reserve_exact(flows.saturating_sub(self.listed.len()));
    }

    /// Puts the flow at `index` on the list if its windows changed.
    pub(crate) fn note(&mut self, index: u32, flow: &Flow) {
        if flow.told == Some(flow.windows) {
            return;
        }
        let at = index as usize;
        if at >= self.listed.len() {
            self.listed.resize(at + 1, false);
        }
        if !self.listed[at] {
            self.listed[at] = true;
            self.list.push(index);
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let index = self.list.pop()?;
        self.listed[index as usize] = false;
        Some(index)
    }
}
