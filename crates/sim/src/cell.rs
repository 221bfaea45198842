//! The cell: UPF, SDAP, RLC and MAC, and the backlogs of its queues if the scenario requests them.

use justfull_base::{Instant, Packet, Probe};
use justfull_ran::{Egress, Stack};
use justfull_run::CoreLoss;
use justfull_run::backlog::{Backlogs, Measured};

/// A call of the stack with `$links` as its driver; the driver updates the backlogs if there are
/// any.
macro_rules! measured {
    ($cell:ident, $links:ident, |$driver:ident| $call:expr) => {
        match &mut $cell.backlogs {
            None => {
                let $driver = $links;
                $call
            }
            Some(backlogs) => {
                let $driver = &mut Measured { driver: $links, backlogs };
                $call
            }
        }
    };
}

/// The downlink chain of one cell.
pub(crate) struct Cell {
    pub(crate) stack: Stack,
    /// Backlog of each queue.
    pub(crate) backlogs: Option<Box<Backlogs>>,
    /// Random loss on the way to the UPF, if the scenario has any.
    pub(crate) loss: Option<Box<CoreLoss>>,
}

impl Cell {
    /// The packet in `place` reaches the UPF unless it is lost on the way.
    #[inline]
    pub(crate) fn input_from<L: Probe + Egress>(
        &mut self,
        now: Instant,
        place: &mut Packet,
        links: &mut L,
    ) {
        if self.loss.as_mut().is_some_and(|loss| loss.takes_next()) {
            return self.lose(now, *place, links);
        }
        measured!(self, links, |driver| self.stack.input_from(now, place, driver))
    }

    #[cold]
    fn lose<L: Probe + Egress>(&mut self, now: Instant, packet: Packet, links: &mut L) {
        measured!(self, links, |driver| self.stack.lose(now, packet, driver));
    }

    /// The STATUS PDU of `handle` reaches the sender's RLC.
    pub(crate) fn receive_status<L: Probe + Egress>(
        &mut self,
        now: Instant,
        handle: u32,
        links: &mut L,
    ) {
        measured!(self, links, |driver| self.stack.receive_status(now, handle, driver));
    }

    /// The next instant at which it acts.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.stack.next_wake()
    }

    /// Acts at `now`, its next instant, and continues until it delivers a packet or reaches
    /// `until`. Returns the last instant at which it acted, and the number of instants.
    #[inline]
    pub(crate) fn wake_before<L: Probe + Egress>(
        &mut self,
        now: Instant,
        until: Instant,
        links: &mut L,
    ) -> (Instant, u64) {
        measured!(self, links, |driver| self.stack.wake_before(now, until, driver))
    }
}
