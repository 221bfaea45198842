//! The uplinks of several cells. The queues are the UEs': they move with them.
//!
//! At a handover the base station of the source has forwarded to the target, by the time at which
//! the UE is there, the SDUs that it holds out of order in acknowledged mode (TS 38.300 clause
//! 9.2.3.2.3). The UE sends there again the SDUs whose delivery is not confirmed, with their PDCP
//! numbers, and then the rest. In unacknowledged mode PDCP starts anew, and SDUs on the air are
//! lost (TS 38.323 clause 5.1.2). Buffer status and scheduling requests start anew.

use crate::cells::CellsConfig;
use justfull_base::{ConfigError, Dscp, Instant, Packet, Probe};
use justfull_ran::stack::{Entry, Flows, Forwarded, Kept, UeContext};
use justfull_ran::{Egress, FiveTuple, Stack, StackConfig, UeConfig};
use std::sync::Arc;

/// The uplinks of several cells.
pub(super) struct Cells {
    stacks: Vec<Stack>,
    /// The settings of each, without UEs.
    settings: Vec<StackConfig>,
    /// The settings of each UE.
    ues: Vec<Arc<UeConfig>>,
    flows: Flows,
    homes: Vec<Home>,
}

/// The place of a UE.
struct Home {
    /// The cell where it is, or that it has left last.
    cell: u32,
    /// The UE while it is in no cell.
    away: Option<Box<Away>>,
}

/// A UE on its way.
struct Away {
    context: Box<UeContext>,
    /// Its packets, in order.
    data: Vec<Forwarded>,
}

impl Cells {
    pub(super) fn new(
        config: &StackConfig,
        cells: &CellsConfig,
        common: &StackConfig,
    ) -> Result<Self, ConfigError> {
        let homes = cells.places.iter().map(|place| Home { cell: place.cell, away: None });
        let (mut stacks, mut settings) = (Vec::new(), Vec::new());
        for index in 0..cells.cells.len() {
            let mut own = cells.uplink(common, config, index);
            let [here, guests] = cells.uplinks_of(index as u32);
            stacks.push(Stack::of_several(&own, &here, &guests)?);
            own.ues = Vec::new();
            settings.push(own);
        }
        let (ues, flows) = (config.ues.clone(), Flows::default());
        Ok(Self { stacks, settings, ues, flows, homes: homes.collect() })
    }

    pub(super) fn stacks(&self) -> &[Stack] {
        &self.stacks
    }

    pub(super) fn stacks_mut(&mut self) -> &mut [Stack] {
        &mut self.stacks
    }

    pub(super) fn open_flow(&mut self, ue: u32, tuple: &FiveTuple, dscp: Dscp) {
        self.flows.open(ue, &self.ues[ue as usize], tuple, dscp);
    }

    /// Reuses the number of an ended flow for another flow.
    pub(super) fn reopen_flow(&mut self, number: u32, ue: u32, tuple: &FiveTuple, dscp: Dscp) {
        self.flows.reopen(number, ue, &self.ues[ue as usize], tuple, dscp);
    }

    /// `packet` enters at its UE.
    pub(super) fn input<D: Probe + Egress>(
        &mut self,
        now: Instant,
        mut packet: Packet,
        driver: &mut D,
    ) {
        let home = &mut self.homes[self.flows.ue_of(packet.flow) as usize];
        let stack = &mut self.stacks[home.cell as usize];
        let qos = self.flows.stamp(now, &mut packet, stack);
        match &mut home.away {
            Some(away) if qos.is_some() => away.data.push(Forwarded::Fresh(packet)),
            _ => stack.input_stamped(now, &mut packet, qos, driver),
        }
    }

    /// UE `ue` leaves its cell at `now`.
    pub(super) fn leave<D: Probe + Egress>(&mut self, now: Instant, ue: u32, driver: &mut D) {
        let home = &mut self.homes[ue as usize];
        let stack = &mut self.stacks[home.cell as usize];
        let departure = stack.detach(now, ue, driver).expect("a UE in no handover is in its cell");
        stack.leave_place(ue);
        home.away = Some(Box::new(Away { context: departure.context, data: departure.data }));
    }

    /// UE `ue` is in `cell` at `now`.
    pub(super) fn join<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue: u32,
        cell: u32,
        driver: &mut D,
    ) {
        let home = &mut self.homes[ue as usize];
        let Some(away) = home.away.take() else { return };
        home.cell = cell;
        let (stack, config) = (&mut self.stacks[cell as usize], &self.settings[cell as usize]);
        // Limiters and AQMs are the UE's own.
        let entry = Entry { config, ue: &self.ues[ue as usize], kept: Kept::Gate };
        stack.attach(now, away.context, &entry, driver).expect("it has no place there");
        for data in away.data {
            stack.accept(now, data, driver);
        }
    }

    /// True if the first bytes of the packet of `ue` with this `payload` have left its queue, or
    /// may have left it in the last cell.
    pub(super) fn has_begun(&self, ue: u32, payload: u64) -> bool {
        let home = &self.homes[ue as usize];
        home.away.is_some() || self.stacks[home.cell as usize].has_begun(ue, payload)
    }

    /// Does all work up to `now` in cells with packets.
    pub(super) fn wake<D: Probe + Egress>(&mut self, now: Instant, driver: &mut D) {
        for stack in self.stacks.iter_mut().filter(|stack| stack.is_busy()) {
            stack.wake(now, driver);
        }
    }

    /// The next instant with work.
    pub(super) fn next(&self) -> Instant {
        let busy = self.stacks.iter().filter(|stack| stack.is_busy());
        busy.map(Stack::next_wake).min().unwrap_or(Instant::NEVER)
    }

    /// Packets of UEs on their way.
    pub(super) fn away(&self) -> u64 {
        let of = |away: &Away| {
            let data = away.data.iter().filter(|data| data.packet().is_some()).count() as u64;
            away.context.packets() + data
        };
        self.homes.iter().filter_map(|home| home.away.as_deref()).map(of).sum()
    }
}
