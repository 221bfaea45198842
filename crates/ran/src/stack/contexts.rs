//! UEs that leave a cell and enter one while packets wait for them.

use super::core_network::Ue;
use super::*;
use crate::bearer::{Bearer, ServiceRate, Taken};
use alloc::boxed::Box;
use core::fmt;

/// A UE in no cell: its gate and its bearers, with the packets that wait in SDAP and RLC. The next
/// cell first sends the first byte of an SDU, since RLC is re-established (TS 38.322 section
/// 5.1.2).
pub struct UeContext {
    /// Its number in all cells.
    pub(super) ue: u32,
    pub(super) slice: u16,
    pub(super) known: Ue,
    pub(super) gate: Gate,
    pub(super) bearers: Few<Bearer>,
    /// For each bearer, the SDUs that wait in the UE's PDCP for an earlier SDU.
    pub(super) waiting: Vec<Vec<Taken>>,
}

/// The reason why a UE could not leave or enter a cell. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoamError {
    /// The UE is not in the cell, or there is no such UE.
    Absent,
    /// The cell has a UE with this number.
    Present,
    /// The MAC has RLC at both ends (resource blocks, DCH, HSDPA), so SDUs may be in the air.
    InTheAir,
    /// The cell grants in another unit, or has other QoS flows for the UE.
    Different,
}

impl fmt::Display for RoamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "the UE is not in the cell",
            Self::Present => "the cell has a UE of this number",
            Self::InTheAir => "a UE leaves a cell that grants packets or bytes, no other",
            Self::Different => "the cell has another unit of grants, or other QoS flows of the UE",
        })
    }
}

impl core::error::Error for RoamError {}

impl UeContext {
    /// The UE's number, the same in all cells.
    #[must_use]
    pub const fn ue(&self) -> u32 {
        self.ue
    }

    /// Number of waiting packets, also of packets that wait in the UE for an earlier one.
    #[must_use]
    pub fn packets(&self) -> u64 {
        let held: u64 = self.waiting.iter().map(|sdus| sdus.len() as u64).sum();
        held + self.queues().map(|queue| u64::from(queue.backlog_packets())).sum::<u64>()
    }

    pub(super) fn queues(&self) -> impl Iterator<Item = &justfull_queue::ManagedQueue> {
        self.gate.queues().chain(self.bearers.iter().map(Bearer::queue))
    }
}

impl Stack {
    /// UE `ue` leaves the cell at `now`, after all work due then. Until it is
    /// [admitted](Self::admit) again, arriving packets of its flows match no rule and are dropped,
    /// and packets in the UPF's queues wait there.
    ///
    /// # Errors
    /// The UE is not in the cell, or the MAC has RLC at both ends.
    pub fn release<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue: u32,
        driver: &mut D,
    ) -> Result<Box<UeContext>, RoamError> {
        self.check_kind()?;
        let place = self.present(ue)?;
        self.advance(now, true, driver);
        Ok(self.take_out(now, place))
    }

    /// The place of UE `number` of this cell.
    pub(super) fn present(&self, number: u32) -> Result<u32, RoamError> {
        let place = self.cell.find(number).ok_or(RoamError::Absent)?;
        let known = self.core.ues.get(place as usize).ok_or(RoamError::Absent)?;
        if known.away { Err(RoamError::Absent) } else { Ok(place) }
    }

    /// Takes the context of the UE in place `ue`, with the packets in its queues, out of the cell
    /// at `now`.
    pub(super) fn take_out(&mut self, now: Instant, ue: u32) -> Box<UeContext> {
        self.core.let_go(ue);
        self.sdap_busy.retain(|busy| *busy != ue);
        let Self { cell, service, .. } = self;
        if let Some(sleep) = &mut cell.sleep {
            sleep.leave(ue, now);
        }
        cell.rated.retain(|(id, _)| id.ue != ue);
        cell.feeds.retain(|feed| feed.id.ue != ue);
        if let Some(marking) = &mut self.marking {
            marking.forget(ue);
        }
        for drb in 0..cell.ues[ue as usize].bearers.len() as u8 {
            let id = BearerId { ue, drb };
            let view = cell.bearer(id).view();
            cell.backlog.change(&view, &RlcView::default());
            if view.packets > 0 {
                service.leave(id, cell);
            }
            cell.bearer(id).re_establish();
        }
        let bearers = Few::Many(Vec::new());
        let bearers = core::mem::replace(&mut cell.ues[ue as usize].bearers, bearers);
        let gate = core::mem::replace(&mut cell.gates[ue as usize], Gate::vacant());
        let (slice, known) = (cell.slices[ue as usize], self.core.ues[ue as usize].clone());
        let ue = cell.number(ue);
        let waiting = Vec::new();
        let mut context = Box::new(UeContext { ue, slice, known, gate, bearers, waiting });
        self.gone += context.packets();
        self.core.refused +=
            context.queues().map(|q| q.counters().dropped_total().packets).sum::<u64>();
        let UeContext { gate, bearers, .. } = &mut *context;
        gate.listed = false;
        gate.sdap.queues.iter_mut().for_each(|queue| queue.queue.count_anew());
        bearers.iter_mut().for_each(|bearer| bearer.queue_mut().count_anew());
        context
    }

    /// The UE of `context` enters the cell at `now`, after all work due then. Its flows, opened on
    /// this stack, have their QFIs again.
    ///
    /// # Errors
    /// The context is returned with the reason: the cell has no vacant place with its number,
    /// another unit of grants, other QoS flows of the UE, or RLC at both ends.
    pub fn admit<D: Probe + Egress>(
        &mut self,
        now: Instant,
        context: Box<UeContext>,
        driver: &mut D,
    ) -> Result<(), (RoamError, Box<UeContext>)> {
        if let Err(error) = self.check_kind().and_then(|()| self.check_admission(&context)) {
            return Err((error, context));
        }
        self.advance(now, true, driver);
        self.put_in(now, *context, driver);
        Ok(())
    }

    /// Puts `context` into its vacant place in the cell.
    pub(super) fn put_in<D: Probe + Egress>(
        &mut self,
        now: Instant,
        context: UeContext,
        driver: &mut D,
    ) {
        self.came += context.packets();
        let UeContext { ue, gate, bearers, waiting, .. } = context;
        let ue = self.cell.place(ue);
        self.core.take_in(ue);
        let Self { cell, service, .. } = self;
        cell.wants_reports |= gate.wants_reports();
        cell.ues[ue as usize].bearers = bearers;
        cell.gates[ue as usize] = gate;
        if let Some(sleep) = &mut cell.sleep {
            sleep.enter(ue, now);
        }
        for drb in 0..cell.ues[ue as usize].bearers.len() as u8 {
            let id = BearerId { ue, drb };
            let view = cell.bearer(id).view();
            cell.backlog.change(&RlcView::default(), &view);
            if view.packets > 0 && cell.admits(ue, now) {
                service.join(id);
            }
            if let (Some(link), Some(sdus)) = (&mut cell.bearer(id).link, service.in_flight()) {
                let held = waiting.get(usize::from(drb)).map_or(&[][..], |held| held);
                link.pdcp_rx().rename(|at| sdus.bring(&held[at.0 as usize]));
                link.armed = Instant::NEVER;
                service.watch(id, cell);
            }
            if !service.tells_rates() {
                let rate = ServiceRate::of(cell.bearer(id).queue().needs());
                cell.rated.extend(rate.map(|rate| (id, rate)));
            }
        }
        self.feed_aqms(ue, None);
        self.watch_marks(ue);
        self.arm_timeouts_of(ue);
        if self.cell.gates[ue as usize].stays_listed() {
            self.sdap_busy.push(ue);
            if self.clocks.sdap.is_event_driven() {
                self.serve_busy_sdap(now, driver);
            } else {
                self.clocks.arm_sdap(now, true);
            }
        }
    }

    fn check_kind(&self) -> Result<(), RoamError> {
        let plain = matches!(self.service, AnyService::Packets(_) | AnyService::Bytes(_));
        if plain { Ok(()) } else { Err(RoamError::InTheAir) }
    }

    pub(super) fn check_admission(&self, context: &UeContext) -> Result<(), RoamError> {
        let known = match &self.cell.roster {
            Some(roster) if roster.find(context.ue).is_some() => return Err(RoamError::Present),
            Some(_) => &context.known,
            None => self.core.ues.get(context.ue as usize).ok_or(RoamError::Absent)?,
        };
        if self.cell.roster.is_none() && !known.away {
            return Err(RoamError::Present);
        }
        let sdap = &context.gate.sdap;
        let same = sdap.unit == self.cell.unit && sdap.queues.len() == known.qfis.len();
        if same { Ok(()) } else { Err(RoamError::Different) }
    }

    /// Arms the timeouts of the AQMs of `ue`, which has just entered.
    fn arm_timeouts_of(&mut self, ue: u32) {
        let flows = (0..self.cell.gates[ue as usize].sdap.queues.len() as u32)
            .map(|qos| QueueId::Sdap { ue, qos });
        let bearers =
            (0..self.cell.ues[ue as usize].bearers.len() as u8).map(|drb| QueueId::Rlc { ue, drb });
        for id in flows.chain(bearers).collect::<Vec<_>>() {
            let queue = self.queue_mut(id);
            let Some(due) = queue.next_timeout() else { continue };
            // The timeout may be armed for the cell that the UE has left.
            let _ = queue.take_timeout(due);
            self.clocks.expect_timeouts();
            self.arm_timeout(id);
        }
    }
}
