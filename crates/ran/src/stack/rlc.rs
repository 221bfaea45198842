//! The bearers of a UE as the RLC below its gate.

use super::marking::Marking;
use super::split::Splits;
use super::wire::Wire;
use super::*;
use crate::gate::Way;
use crate::mac::Sleep;
use alloc::boxed::Box;

/// The bearers of one UE, as the RLC of its gate.
pub(super) struct Bearers<'a> {
    ue: u32,
    pub(super) radio: &'a mut UeRadio,
    backlog: &'a mut RlcView,
    service: &'a mut AnyService,
    sleep: &'a mut Option<Box<Sleep>>,
    clocks: &'a mut Clocks,
    splits: &'a mut Option<Box<Splits>>,
    wire: &'a mut Option<Box<Wire>>,
    marking: &'a mut Option<Box<Marking>>,
}

impl Stack {
    /// The gate of `ue`, and the bearers below it.
    #[inline(always)]
    pub(super) fn gate_and_bearers(&mut self, ue: u32) -> (&mut Gate, Bearers<'_>) {
        let Self { cell, service, clocks, splits, wire, marking, .. } = self;
        let Cell { ues, gates, backlog, sleep, .. } = cell;
        let radio = &mut ues[ue as usize];
        (
            &mut gates[ue as usize],
            Bearers { ue, radio, backlog, service, sleep, clocks, splits, wire, marking },
        )
    }
}

impl Bearers<'_> {
    /// Updates the cell's backlog and the bearer's turn after packets have entered bearer `drb`,
    /// whose backlog was `before`, at `now`.
    #[inline(always)]
    pub(super) fn settle_entry(&mut self, now: Instant, drb: u8, before: RlcView) {
        let after = self.radio.bearers.at(drb.into()).view();
        self.backlog.change(&before, &after);
        if before.packets == 0
            && after.packets > 0
            && self.sleep.as_mut().is_none_or(|sleep| sleep.admits(self.ue, now))
        {
            self.service.join(BearerId { ue: self.ue, drb });
        }
    }

    /// `sdu` reaches bearer `drb` at `now`. False if its queue drops it.
    #[inline(always)]
    pub(super) fn take<P: Probe>(
        &mut self,
        now: Instant,
        drb: u8,
        sdu: &Packet,
        probe: &mut P,
    ) -> bool {
        let bearer = self.radio.bearers.at(drb.into());
        let before = bearer.view();
        let taken = bearer.enqueue(now, sdu, probe);
        self.settle_entry(now, drb, before);
        if self.clocks.have_timeouts() {
            timeouts::arm_bearer(BearerId { ue: self.ue, drb }, self.radio, self.clocks);
        }
        taken
    }
}

/// `sdu` of bearer `id` as it leaves the CU, which may mark it.
#[cold]
#[inline(never)]
fn marked<P: Probe>(
    now: Instant,
    id: BearerId,
    sdu: &Packet,
    marking: &mut Option<Box<Marking>>,
    probe: &mut P,
) -> Packet {
    let mut sdu = *sdu;
    if let Some(marking) = marking {
        marking.mark(now, Layer::Sdap, id, &mut sdu, probe);
    }
    sdu
}

impl Rlc for Bearers<'_> {
    #[inline(always)]
    fn view(&self, drb: u8) -> RlcView {
        self.radio.bearers[usize::from(drb)].view()
    }

    #[inline(always)]
    fn enqueue<P: Probe>(&mut self, now: Instant, drb: u8, sdu: &Packet, probe: &mut P) -> bool {
        // No call takes all of `self`: its fields would go to memory for each packet.
        if let Some(wire) = self.wire {
            let id = BearerId { ue: self.ue, drb };
            let sdu = &marked(now, id, sdu, self.marking, probe);
            if wire.takes_time() {
                wire.send(now, id, sdu, self.clocks);
                return true;
            }
            return self.take(now, drb, sdu, probe);
        }
        self.take(now, drb, sdu, probe)
    }

    #[inline(always)]
    fn is_split(&self, drb: u8) -> bool {
        self.radio.bearers[usize::from(drb)].is_split()
    }

    fn way(&mut self, drb: u8, size: u32, admitted: bool) -> Option<Way> {
        let waiting = self.view(drb).bytes;
        self.splits.as_ref()?.leg(BearerId { ue: self.ue, drb }, size, waiting, admitted)
    }

    fn route<P: Probe>(
        &mut self,
        now: Instant,
        drb: u8,
        sdu: &Packet,
        way: Way,
        probe: &mut P,
    ) -> bool {
        if way == Way::Own && !self.enqueue(now, drb, sdu, probe) {
            return false;
        }
        let link = self.radio.bearers.at(drb.into()).link.as_mut();
        let sn = link.map_or(0, |link| link.pdcp_tx.number());
        if let Some(sdus) = self.service.in_flight().filter(|_| way == Way::Own) {
            sdus.note_number(sdu, sn);
        }
        if let Some(splits) = self.splits {
            splits.route(now, BearerId { ue: self.ue, drb }, sdu, sn, way);
        }
        true
    }
}
