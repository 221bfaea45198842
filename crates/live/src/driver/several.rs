//! Several cells: the way of packets to them, and the handovers of UEs.

use super::Live;
use super::radio::Radio;
use super::side::Side;
use crate::report::Account;
use justfull_base::{DropReason, Duration, Event, Instant, Packet, Probe};
use justfull_net::Port;
use justfull_ran::{Egress, StatusWay};
use justfull_run::region::Around;
use justfull_run::uplink::Uplink;

/// The run around the cells.
struct Beyond<'a> {
    side: &'a mut Side,
    uplink: &'a mut Uplink<u64>,
    up: &'a mut Account,
}

impl Probe for Beyond<'_> {
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.side.on_event(now, event);
    }
}

impl Egress for Beyond<'_> {
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        self.side.deliver(now, packet, bound);
    }

    fn deliver_from_air(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
    ) {
        self.side.deliver_from_air(now, left, packet, bound);
    }

    fn send_status(&mut self, now: Instant, ue: u32, handle: u32, bytes: u32) -> StatusWay {
        self.side.send_status(now, ue, handle, bytes)
    }
}

impl Around for Beyond<'_> {
    fn leave(&mut self, now: Instant, ue: u32) {
        let Self { side, uplink, up } = self;
        // The uplink is behind the cells by up to a wake-up.
        while uplink.next_opportunity() <= now {
            let due = uplink.next_opportunity();
            uplink.use_opportunities(due, |entered, item, fate| {
                up.dropped += u64::from(side.took_leave_up(due, *item, entered, fate));
                false
            });
        }
        uplink.pause(now, ue);
    }

    fn join(&mut self, now: Instant, ue: u32, cell: u32) {
        self.uplink.resume(now, ue, cell);
    }

    fn entered(&mut self, now: Instant, flow: u32) {
        self.side.record.entered(now, flow);
    }

    /// A live run has no count of calls.
    fn count_call(&mut self) {}
}

impl<P: Port> Live<P> {
    /// [`Live::advance`] for several cells. The order at one instant is the simulator's: packets
    /// reach the UPF, then handovers, Xn and the cells act.
    pub(super) fn advance_several(&mut self, now: Instant) {
        let Self { radio, core, loss, side, uplink, up, .. } = self;
        let Radio::Cells(region) = radio else { return };
        if let Some(accesses) = uplink.take_accesses() {
            accesses.for_each(|access| region.note_access(access));
        }
        let beyond = &mut Beyond { side, uplink, up };
        while core.next() <= now {
            let next = core.next();
            region.act_before(next, beyond);
            while let Some(mut packet) = core.pop(next) {
                beyond.side.record.entered(next, packet.flow);
                let ue = region.ue_of(packet.flow);
                if loss.as_mut().is_some_and(|loss| loss.takes_next()) {
                    region.lose(next, packet, ue, beyond);
                } else {
                    region.input(next, &mut packet, ue, beyond);
                }
            }
        }
        region.act_before(now + Duration::from_nanos(1), beyond);
    }

    /// `packet`, read at `stamp`, finds no buffer.
    #[cold]
    pub(super) fn turn_away(&mut self, stamp: Instant, packet: Packet) {
        let Self { radio, side, uplink, up, down, .. } = self;
        down.no_buffer += 1;
        side.record.entered(stamp, packet.flow);
        let reason = DropReason::NoBuffer;
        match radio {
            Radio::Cell(stack) => stack.turn_away(stamp, packet, reason, side),
            Radio::Cells(region) => {
                region.turn_away(stamp, packet, reason, &mut Beyond { side, uplink, up });
            }
        }
    }
}
