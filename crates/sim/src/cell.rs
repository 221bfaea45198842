//! The cell: UPF, SDAP, RLC and MAC, and what else sees its events: backlogs and Zhuge.

use justfull_base::{Instant, Packet, Probe};
use justfull_ran::{Egress, Stack};
use justfull_run::CoreLoss;
use justfull_run::backlog::{Foresees, Measured, Watch};

/// A call of the stack with `$links` as its driver, and with what else sees the events if there is
/// any.
macro_rules! measured {
    ($cell:ident, $links:ident, |$driver:ident| $call:expr) => {
        match &mut $cell.watch {
            None => {
                let $driver = $links;
                $call
            }
            Some(watch) => {
                let $driver = &mut Measured { driver: $links, watch };
                $call
            }
        }
    };
}

/// The downlink chain of one cell.
pub(crate) struct Cell {
    pub(crate) stack: Stack,
    /// What sees its events beside the driver.
    pub(crate) watch: Option<Box<Watch>>,
    /// Random loss on the way to the UPF, if the scenario has any.
    pub(crate) loss: Option<Box<CoreLoss>>,
}

impl Cell {
    /// The packet in `place` reaches the UPF unless it is lost on the way.
    #[inline]
    pub(crate) fn input_from<L: Probe + Egress + Foresees>(
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
    fn lose<L: Probe + Egress + Foresees>(&mut self, now: Instant, packet: Packet, links: &mut L) {
        measured!(self, links, |driver| self.stack.lose(now, packet, driver));
    }

    /// The STATUS PDU of `handle` reaches the sender's RLC.
    pub(crate) fn receive_status<L: Probe + Egress + Foresees>(
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
    pub(crate) fn wake_before<L: Probe + Egress + Foresees>(
        &mut self,
        now: Instant,
        until: Instant,
        links: &mut L,
    ) -> (Instant, u64) {
        match &mut self.watch {
            None => self.stack.wake_before(now, until, links),
            Some(watch) => {
                // A prediction may make a report due.
                let until = if watch.foresees { now } else { until };
                self.stack.wake_before(now, until, &mut Measured { driver: links, watch })
            }
        }
    }
}
