//! The queue of a bearer, from which its RLC pulls.

use super::{Above, InFlight};
use crate::pdcp::PdcpTx;
use crate::pdu::{SduHandle, SduRef, SduSource};
use justfull_base::{DropReason, Event, Instant, Layer, Packet, Probe};
use justfull_queue::ManagedQueue;

/// The source of SDUs. PDCP numbers an SDU here, when its first byte may leave. SDUs that the
/// queue's AQM drops earlier have no number, so the receiver does not wait for them.
pub(super) struct Source<'a, P> {
    pub(super) queue: &'a mut ManagedQueue,
    /// Its limiter; none if the limiter needs no reports.
    pub(super) above: Option<Above<'a>>,
    pub(super) head: &'a mut Packet,
    /// Number of SDUs in transmission: at most one.
    pub(super) begun: &'a mut u8,
    pub(super) handle: &'a mut SduHandle,
    pub(super) pdcp: &'a mut PdcpTx,
    pub(super) sdus: &'a mut InFlight,
    /// SDUs stay in the queue until they are acknowledged.
    pub(super) holds: bool,
    pub(super) now: Instant,
    pub(super) probe: &'a mut P,
}

impl<P: Probe> Source<'_, P> {
    /// Begins the next SDU; false if there is none.
    #[inline(never)]
    fn start(&mut self) -> bool {
        while self.queue.reserve_into(self.now, self.head, self.probe) {
            if self.pdcp.is_too_old(self.now, self.head.enqueued) {
                let _ = self.sdus.take_number(self.head);
                self.queue.discard(self.now, self.head, DropReason::DiscardTimer, self.probe);
                continue;
            }
            *self.begun = 1;
            let sn = self.sdus.take_number(self.head).unwrap_or_else(|| self.pdcp.number());
            *self.handle = self.sdus.open(self.head, sn);
            return true;
        }
        false
    }
}

impl<P: Probe> SduSource for Source<'_, P> {
    #[inline(always)]
    fn head(&mut self) -> Option<SduRef> {
        if *self.begun == 0 && !self.start() {
            return None;
        }
        Some(SduRef { handle: *self.handle, size: self.head.size + self.pdcp.header_bytes() })
    }

    fn take(&mut self) {
        if !self.holds {
            self.queue.commit(self.now, self.head, self.probe);
        }
        if let Some(above) = &mut self.above {
            above.on_departed(self.now, self.head);
        }
        *self.begun = 0;
        let lost = if self.holds {
            let lost = self.sdus.launch_held(self.now, *self.handle);
            lost.inspect(|packet| self.queue.commit(self.now, packet, self.probe))
        } else {
            self.sdus.launch(self.now, *self.handle)
        };
        if let Some(packet) = lost {
            let reason = DropReason::Harq;
            self.probe.on_event(self.now, &Event::Dropped { layer: Layer::Rlc, packet, reason });
        }
    }
}
