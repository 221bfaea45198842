//! Grants in bytes: a grant cuts the SDU at the head, and an SDU of the queue that should go before
//! the rest of a partly sent one interrupts it.

use super::{Above, Bearer, Egress, Exit};
use justfull_base::{Instant, Packet, Probe};

/// An SDU whose first bytes are sent. It continues after the SDU that interrupts it.
#[derive(Default)]
pub(super) struct Interrupted {
    sdu: Packet,
    sent: u32,
}

impl Bearer {
    /// Sends up to `grant` bytes and returns the number sent. SDUs whose last byte is sent are
    /// delivered.
    #[inline(always)]
    pub(crate) fn pull_bytes<D: Probe + Egress>(
        &mut self,
        now: Instant,
        grant: u64,
        mut above: Above<'_>,
        exit: &mut Exit<'_, D>,
    ) -> u64 {
        let mut left = grant;
        while left > 0 {
            if self.begun == 0 {
                if !self.queue.reserve_into(now, &mut self.head, exit) {
                    break;
                }
                self.begun = 1;
            } else if !self.queue.is_plain() {
                self.let_interrupt(now, exit);
            }
            let sdu = &self.head;
            let unsent = u64::from(sdu.size - self.sent_of_head());
            if unsent > left {
                self.sent += left as u32;
                return grant;
            }
            left -= unsent;
            self.queue.commit(now, sdu, exit);
            if !self.unlimited {
                above.on_departed(now, sdu);
            }
            exit.deliver(now, sdu);
            self.end_head();
        }
        grant - left
    }

    /// The SDU in transmission waits while an SDU that goes before it is sent, if there is one.
    #[inline(never)]
    fn let_interrupt<P: Probe>(&mut self, now: Instant, probe: &mut P) {
        if self.begun > 1 || !self.queue.goes_before(&self.head) {
            return;
        }
        let begun = self.interrupted.get_or_insert_default();
        **begun = Interrupted { sdu: self.head, sent: self.sent };
        if self.queue.reserve_into(now, &mut self.head, probe) {
            self.begun = 2;
        } else {
            self.head = begun.sdu;
        }
    }

    /// Most SDUs that can be in transmission: two if one may interrupt another.
    pub(crate) fn most_begun(&self) -> u64 {
        if self.queue.interrupts() { 2 } else { 1 }
    }

    /// Bytes of the SDU in transmission that have left.
    #[inline(always)]
    fn sent_of_head(&self) -> u32 {
        if self.begun > 1 { self.sent_of_interrupter() } else { self.sent }
    }

    #[cold]
    fn sent_of_interrupter(&self) -> u32 {
        self.sent - self.interrupted.as_ref().map_or(0, |begun| begun.sent)
    }

    /// The SDU in transmission has left: the interrupted one continues, if there is one.
    #[inline(always)]
    pub(super) fn end_head(&mut self) {
        self.sent = 0;
        self.begun -= 1;
        if self.begun > 0 {
            self.continue_interrupted();
        }
    }

    #[cold]
    fn continue_interrupted(&mut self) {
        if let Some(begun) = &self.interrupted {
            (self.head, self.sent) = (begun.sdu, begun.sent);
        }
    }

    /// True if an SDU in transmission is the packet of `payload`.
    pub(crate) fn is_sending(&self, payload: u64) -> bool {
        let interrupted = self.interrupted.as_ref().filter(|_| self.begun > 1);
        self.begun > 0 && self.head.payload == payload
            || interrupted.is_some_and(|begun| begun.sdu.payload == payload)
    }
}
