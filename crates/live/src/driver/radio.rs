//! The cells of a live run: one, or several between which UEs move.

use crate::recorder::LiveRecorder;
use justfull_base::feedback::RanReport;
use justfull_base::{ConfigError, Dscp, Duration, Instant, Probe};
use justfull_ran::stack::Flows;
use justfull_ran::{Egress, FiveTuple, Stack};
use justfull_run::WorldConfig;
use justfull_run::gather::conservation;
use justfull_run::proxy::At;
use justfull_run::region::Region;
use justfull_run::results::{Conservation, RunResult};
use justfull_run::uplink::Uplink;

/// The downlink of all UEs.
#[expect(clippy::large_enum_variant, reason = "a run has one; the way to one cell stays short")]
pub(super) enum Radio {
    /// One cell.
    Cell(Stack),
    /// Several cells.
    Cells(Box<Region>),
}

impl Radio {
    /// The cells of `config`, without flows.
    ///
    /// # Errors
    /// A field out of bounds.
    pub(super) fn new(config: &WorldConfig) -> Result<Self, ConfigError> {
        let warmup = Instant::ZERO + config.warmup;
        Ok(match &config.cells {
            None => {
                let mut stack = Stack::new(&config.stack)?;
                stack.count_awake_from(warmup);
                Self::Cell(stack)
            }
            Some(cells) => {
                let mut region = Region::new(cells, &config.stack, Flows::default())?;
                region.each_stack(|_, stack| stack.count_awake_from(warmup));
                Self::Cells(Box::new(region))
            }
        })
    }

    /// Opens a flow of `ue`, and returns its number.
    pub(super) fn open_flow(&mut self, ue: u32, tuple: &FiveTuple, dscp: Dscp) -> u32 {
        match self {
            Self::Cell(stack) => stack.open_flow(ue, tuple, dscp),
            Self::Cells(region) => region.open_flow(ue, tuple, dscp),
        }
    }

    /// Opens a flow of `ue` under the number of a flow that has ended.
    pub(super) fn reopen_flow(&mut self, number: u32, ue: u32, tuple: &FiveTuple, dscp: Dscp) {
        match self {
            Self::Cell(stack) => stack.reopen_flow(number, ue, tuple, dscp),
            Self::Cells(region) => region.reopen_flow(number, ue, tuple, dscp),
        }
    }

    /// The cells begin to count for reports about their UEs.
    pub(super) fn start_reports(&mut self) {
        match self {
            Self::Cell(stack) => stack.start_reports(),
            Self::Cells(region) => region.each_stack(|_, stack| stack.start_reports()),
        }
    }

    /// Calls `each` with the report of each cell about each of its UEs; `now` must be after the
    /// last call.
    pub(super) fn each_report(&mut self, now: Instant, mut each: impl FnMut(At, &RanReport)) {
        let mut of_cell = |cell, stack: &mut Stack| {
            stack.reports(now, |ue, report| each(At { ue, cell }, report));
        };
        match self {
            Self::Cell(stack) => of_cell(0, stack),
            Self::Cells(region) => region.each_stack(of_cell),
        }
    }

    /// The next slot of any cell.
    #[inline]
    pub(super) fn next_slot(&self) -> Instant {
        match self {
            Self::Cell(stack) => stack.next_slot(),
            Self::Cells(region) => {
                region.stacks().map(Stack::next_slot).min().unwrap_or(Instant::NEVER)
            }
        }
    }

    /// Slots of length `slot` that were served since `first` was the next one. With one cell this
    /// is the number of its slots, `counted`.
    #[inline]
    pub(super) fn served(&self, first: Instant, slot: Duration, counted: u64) -> u64 {
        match self {
            Self::Cell(_) => counted,
            Self::Cells(_) => {
                let slot = slot.as_nanos();
                (self.next_slot().since(first).as_nanos() + slot / 2) / slot
            }
        }
    }

    /// Packets in UPF, SDAP and RLC.
    pub(super) fn backlog_packets(&self) -> [u64; 3] {
        match self {
            Self::Cell(stack) => stack.backlog_packets(),
            Self::Cells(region) => {
                region.stacks().map(Stack::backlog_packets).fold([0; 3], |mut sum, own| {
                    sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
                    sum
                })
            }
        }
    }

    /// The unit of slots.
    pub(super) fn slot_unit(&self) -> &'static str {
        match self {
            Self::Cell(stack) => stack.slot_unit(),
            Self::Cells(region) => region.stacks().next().map_or("", Stack::slot_unit),
        }
    }

    /// The fate of all packets up to `end`.
    pub(super) fn conserved(&self, end: Instant) -> Conservation {
        match self {
            Self::Cell(stack) => conservation(&stack.conserved()),
            Self::Cells(region) => region.chain(end).conservation,
        }
    }

    /// The result of a run that ended at `end`, recorded by `record`.
    pub(super) fn finish(
        &self,
        record: LiveRecorder,
        end: Instant,
        uplink: &Uplink<u64>,
    ) -> RunResult {
        match self {
            Self::Cell(stack) => record.finish(end, stack, uplink),
            Self::Cells(region) => record.finish_cells(end, region, uplink),
        }
    }

    /// The STATUS PDU of `handle` reaches the sender's RLC at `now`. UEs that change cells send
    /// none over the uplink.
    pub(super) fn receive_status<D: Probe + Egress>(
        &mut self,
        now: Instant,
        handle: u32,
        driver: &mut D,
    ) {
        if let Self::Cell(stack) = self {
            stack.receive_status(now, handle, driver);
        }
    }
}
