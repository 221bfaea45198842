//! The cells of a world: one, or several.

use crate::cell::Cell;
use crate::radio::Radio;
use justfull_base::{Instant, Packet};
use justfull_ran::{FiveTuple, Stack};
use justfull_run::CoreLoss;
use justfull_run::region::{Region, Stretch};
use justfull_run::tap::Listener;
use justfull_run::wire::Wires;

/// Several cells, and the way to them.
pub(crate) struct Several {
    pub(crate) region: Region,
    /// Random loss on the way to the UPF, if the scenario has any.
    pub(crate) loss: Option<Box<CoreLoss>>,
}

/// The cells. A lone cell does none of the work for several.
#[expect(clippy::large_enum_variant, reason = "a world has one of them, and uses it at each step")]
pub(crate) enum Cells {
    One(Cell),
    Several(Box<Several>),
}

impl Cells {
    /// Calls `each` with the number and the stack of every cell.
    pub(crate) fn each_stack(&mut self, mut each: impl FnMut(u32, &mut Stack)) {
        match self {
            Self::One(cell) => each(0, &mut cell.stack),
            Self::Several(several) => several.region.each_stack(each),
        }
    }

    /// The stack that serves `ue`, or will serve it next.
    pub(crate) fn stack_of(&self, ue: u32) -> &Stack {
        match self {
            Self::One(cell) => &cell.stack,
            Self::Several(several) => several.region.stack_of(ue),
        }
    }

    /// Flow `number` continues over a new connection with the 5-tuple `tuple`.
    pub(crate) fn renew_flow(&mut self, number: u32, tuple: &FiveTuple) {
        match self {
            Self::One(cell) => cell.stack.renew_flow(number, tuple),
            Self::Several(several) => several.region.renew_flow(number, tuple),
        }
    }
}

impl Several {
    /// Lets packets reach the UPF, or cells act until they deliver a packet or reach `until`,
    /// whichever is due first. Returns the last instant.
    pub(crate) fn reach<T: Listener>(
        &mut self,
        until: Instant,
        radio: &mut Radio<'_, T>,
    ) -> Instant {
        let (arrival, acts) = (radio.links.core.next(), self.region.next());
        if arrival <= acts {
            self.reach_upf(arrival, radio);
            return arrival;
        }
        for access in radio.links.uplink.take_accesses().into_iter().flatten() {
            self.region.note_access(access);
        }
        self.region.act(acts, until.min(arrival), radio)
    }

    /// Packets reach the UPF.
    fn reach_upf<T: Listener>(&mut self, now: Instant, radio: &mut Radio<'_, T>) {
        let Self { region, loss } = self;
        // Cells count their own calls, since the number of steps depends on the other components.
        radio.links.monitor.calls += 1;
        let mut packet = Packet::default();
        while radio.links.core.pop_into(now, &mut packet) {
            radio.links.monitor.calls += 1;
            radio.links.monitor.recorder.entered(now, packet.flow);
            let ue = region.ue_of(packet.flow);
            if loss.as_mut().is_some_and(|loss| loss.takes_next()) {
                region.lose(now, packet, ue, radio);
            } else {
                region.input(now, &mut packet, ue, radio);
            }
        }
    }

    /// Moves the packets that arrive over `core` before the end of `stretch` to its cells.
    pub(crate) fn take_arrivals(&mut self, core: &mut Wires<Packet>, stretch: &mut Stretch) {
        self.region.take_arrivals(core, self.loss.as_deref_mut(), stretch);
    }
}
