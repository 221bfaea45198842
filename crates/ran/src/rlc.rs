//! Radio link control, transmitting side: the queue of one data radio bearer, its limiter, and the SDU that is partly sent.
//!
//! Where grants are in packets, whole SDUs leave, as in T20 and E19. Where they are in bytes, the SDU at the head is
//! cut at the grant's end and goes on in the next slot (TS 38.322 section 5.2.2.1, without header bytes). Where they are
//! in resource blocks, a [`Link`] numbers, cuts and heads the SDUs as 3GPP says, and its receiving side puts them together.

pub mod codec;
pub mod mode;
pub mod pdu;
mod rx;
mod sn;
#[cfg(test)]
mod tests;
mod tx;

pub use mode::RlcModeConfig;
pub use pdu::{Part, Pdu, PduHeader, SduHandle, SduRef, SduSource, StatusPdu, TbContent};
pub use rx::RlcRx;
pub use tx::{HeaderBytes, Pending, RlcTx};

use crate::config::RlcConfig;
use crate::in_flight::InFlight;
use crate::limiter::{AnyLimiter, Limiter, LimiterContext, RlcView};
use crate::link::Link;
use crate::pdcp::PdcpTx;
use alloc::vec::Vec;
use justfull_base::rng::mix;
use justfull_base::{ConfigError, DropReason, Duration, Event, Instant, Layer, Packet, Probe, SlotReport};
use justfull_queue::ManagedQueue;

/// Number of a slot before the first.
const NO_SLOT: u64 = u64::MAX;

/// The RLC entity of one bearer.
pub(crate) struct RlcEntity {
    queue: ManagedQueue,
    pub(crate) limiter: AnyLimiter,
    /// The SDU that is being sent, reserved from the queue while `sending`.
    head: Packet,
    sending: bool,
    /// How many of its bytes are sent; 0 when there is none.
    sent: u32,
    /// The last slot the limiter was told of.
    told_slot: u64,
    /// The last slot in which it sent, and how much, in the unit of grants.
    used: (u64, u64),
    /// PDCP and the RLC proper, where grants are in resource blocks.
    pub(crate) link: Option<Link>,
}

impl RlcEntity {
    pub(crate) fn new(config: &RlcConfig, context: &LimiterContext, key: u64) -> Result<Self, ConfigError> {
        Ok(Self {
            queue: ManagedQueue::new(Layer::Rlc, &config.queue, mix(key)).map_err(|e| e.within("queue"))?,
            limiter: AnyLimiter::new(&config.limiter, context).map_err(|e| e.within("limiter"))?,
            head: Packet::default(),
            sending: false,
            sent: 0,
            told_slot: NO_SLOT,
            used: (NO_SLOT, 0),
            link: None,
        })
    }

    pub(crate) fn queue(&self) -> &ManagedQueue {
        &self.queue
    }

    /// What the queue holds: SDUs, and bytes still to be sent.
    #[inline]
    pub(crate) fn view(&self) -> RlcView {
        let bytes = self.queue.backlog_bytes() - u64::from(self.sent);
        RlcView { packets: u64::from(self.queue.backlog_packets()), bytes }
    }

    /// Takes an SDU from SDAP; false when it was dropped.
    #[inline(always)]
    pub(crate) fn enqueue<P: Probe>(&mut self, now: Instant, sdu: Packet, probe: &mut P) -> bool {
        if self.limiter.is_unlimited() {
            return self.queue.enqueue(now, sdu, probe);
        }
        let amount = self.limiter.amount(&sdu);
        let admitted = self.queue.enqueue(now, sdu, probe);
        if admitted {
            let view = self.view();
            self.limiter.on_admitted(now, amount, &view);
        }
        admitted
    }

    /// Takes up to `most` SDUs from a queue of SDAP. For a bearer that takes everything, whose limiter needs no telling.
    #[inline(always)]
    pub(crate) fn take_from<P: Probe>(
        &mut self,
        sdap: &mut ManagedQueue,
        now: Instant,
        most: u32,
        probe: &mut P,
    ) {
        debug_assert!(self.limiter.is_unlimited());
        sdap.forward(now, most, &mut self.queue, probe);
    }

    /// Takes `packet`, which has come to a queue of SDAP, through that queue; false where it must wait there. For a bearer that
    /// takes everything.
    #[inline(always)]
    pub(crate) fn take_through<P: Probe>(
        &mut self,
        sdap: &mut ManagedQueue,
        now: Instant,
        packet: &Packet,
        probe: &mut P,
    ) -> bool {
        debug_assert!(self.limiter.is_unlimited());
        sdap.pass(now, packet, &mut self.queue, probe)
    }

    /// Gives one whole SDU to the radio.
    #[inline]
    pub(crate) fn pull_packet<P: Probe>(&mut self, now: Instant, probe: &mut P) -> Option<Packet> {
        let sdu = self.queue.dequeue(now, probe)?;
        self.limiter.on_departed(now, now.since(sdu.enqueued));
        Some(sdu)
    }

    /// Gives up to `grant` bytes to the radio and answers how many; `deliver` gets each SDU whose last byte is among them.
    #[inline]
    pub(crate) fn pull_bytes<P: Probe>(
        &mut self,
        now: Instant,
        grant: u64,
        probe: &mut P,
        mut deliver: impl FnMut(&mut P, &Packet),
    ) -> u64 {
        let mut left = grant;
        while left > 0 {
            if !self.sending {
                self.sending = self.queue.reserve_into(now, &mut self.head, probe);
                if !self.sending {
                    break;
                }
            }
            let sdu = &self.head;
            let unsent = u64::from(sdu.size - self.sent);
            if unsent > left {
                self.sent += left as u32;
                return grant;
            }
            left -= unsent;
            self.sent = 0;
            self.queue.commit(now, sdu, probe);
            if !self.limiter.is_unlimited() {
                self.limiter.on_departed(now, now.since(sdu.enqueued));
            }
            deliver(probe, sdu);
            self.sending = false;
        }
        grant - left
    }

    /// Fills `content` with PDUs of up to `grant` bytes, headers of MAC included, and answers how many.
    pub(crate) fn pull_block<P: Probe>(
        &mut self,
        now: Instant,
        grant: u32,
        sdus: &mut InFlight,
        content: &mut TbContent,
        probe: &mut P,
    ) -> u32 {
        let Self { queue, limiter, head, sending, link, .. } = self;
        let Some(link) = link else { return 0 };
        let mut source = Source {
            queue,
            limiter,
            head,
            sending,
            pdcp: &mut link.pdcp_tx,
            handle: &mut link.head,
            sdus,
            now,
            probe,
        };
        let took = link.tx.pull(now, grant, &mut source, content);
        self.sent = if self.sending { link.sent_of_head(self.head.size) } else { 0 };
        took
    }

    /// Appends what each PDU here would take of a transport block, headers of MAC and RLC included, as far as `most` bytes, and
    /// answers what all of them would.
    pub(crate) fn list_sdus(&self, most: u32, out: &mut Vec<u32>) -> u64 {
        let Some(link) = &self.link else { return 0 };
        let mut listed = 0;
        let mut list = |bytes: u32| {
            listed += u64::from(bytes);
            out.push(bytes);
            listed < u64::from(most)
        };
        let mut unlisted = self.queue.waiting_bytes();
        let more = link.list_begun(self.sending.then_some(self.head.size), &mut list);
        if link.tx.is_stalled() {
            return listed;
        }
        if more {
            self.queue.visit_waiting(&mut |packet| {
                unlisted -= u64::from(packet.size);
                list(link.bytes_of(packet.size))
            });
        }
        listed + unlisted
    }

    /// What all PDUs here would take of transport blocks: as [`Self::list_sdus`] answers where it lists all of them, and at least
    /// `most` where it stops there.
    pub(crate) fn backlog_on_air(&self) -> u64 {
        let Some(link) = &self.link else { return 0 };
        let mut begun = 0;
        link.list_begun(self.sending.then_some(self.head.size), &mut |bytes| {
            begun += u64::from(bytes);
            true
        });
        if link.tx.is_stalled() {
            return begun;
        }
        let headers = u64::from(self.queue.waiting_packets()) * u64::from(link.bytes_of(0));
        begun + self.queue.waiting_bytes() + headers
    }

    /// At least `most` bytes wait here, headers not counted, and may be sent.
    pub(crate) fn fills(&self, most: u32) -> bool {
        let Some(link) = &self.link else { return false };
        let begun = if self.sending { link.tx.head_left().unwrap_or(0) } else { 0 };
        !link.tx.is_stalled() && self.queue.waiting_bytes() + u64::from(begun) >= u64::from(most)
    }

    /// It has something to send: SDUs, or what its RLC has to repeat.
    pub(crate) fn wants_to_send(&self) -> bool {
        // An SDU that is partly sent counts as backlog of the queue; only acknowledged mode keeps more.
        let repeats = |link: &Link| link.is_acknowledged() && link.tx.pending().total() > 0;
        !self.queue.is_empty() || self.link.as_ref().is_some_and(repeats)
    }

    /// How long the SDU that goes next has been here.
    pub(crate) fn head_age(&self, now: Instant) -> Duration {
        if self.sending {
            now.since(self.head.enqueued)
        } else {
            self.queue.head_age(now).unwrap_or_default()
        }
    }

    /// Tells the limiter of slot `k`.
    #[inline]
    pub(crate) fn report(&mut self, k: u64, report: &SlotReport) {
        self.told_slot = k;
        self.limiter.on_slot(report);
    }

    /// True when the limiter has not been told of slot `k`: the bearer was idle then.
    #[inline]
    pub(crate) fn misses(&self, k: u64) -> bool {
        self.told_slot != k
    }

    /// It sent `amount` in slot `k`.
    #[inline]
    pub(crate) fn add_used(&mut self, k: u64, amount: u64) {
        self.used = (k, self.used_in(k) + amount);
    }

    /// What it sent in slot `k`.
    #[inline]
    pub(crate) fn used_in(&self, k: u64) -> u64 {
        if self.used.0 == k { self.used.1 } else { 0 }
    }
}

/// The queue as the RLC proper pulls from it. PDCP numbers an SDU here, at the moment at which its first byte may leave: what the
/// queue's AQM drops before gets no number, so that the receiver waits for none of it.
struct Source<'a, P> {
    queue: &'a mut ManagedQueue,
    limiter: &'a mut AnyLimiter,
    head: &'a mut Packet,
    sending: &'a mut bool,
    handle: &'a mut SduHandle,
    pdcp: &'a mut PdcpTx,
    sdus: &'a mut InFlight,
    now: Instant,
    probe: &'a mut P,
}

impl<P: Probe> SduSource for Source<'_, P> {
    fn head(&mut self) -> Option<SduRef> {
        while !*self.sending {
            if !self.queue.reserve_into(self.now, self.head, self.probe) {
                return None;
            }
            if self.pdcp.is_too_old(self.now, self.head.enqueued) {
                self.queue.discard(self.now, self.head, DropReason::DiscardTimer, self.probe);
                continue;
            }
            *self.sending = true;
            *self.handle = self.sdus.open(self.head, self.pdcp.number());
        }
        Some(SduRef { handle: *self.handle, size: self.head.size + self.pdcp.header_bytes() })
    }

    fn take(&mut self) {
        self.queue.commit(self.now, self.head, self.probe);
        if !self.limiter.is_unlimited() {
            self.limiter.on_departed(self.now, self.now.since(self.head.enqueued));
        }
        *self.sending = false;
        if let Some(packet) = self.sdus.launch(self.now, *self.handle) {
            let reason = DropReason::Harq;
            self.probe.on_event(self.now, &Event::Dropped { layer: Layer::Rlc, packet, reason });
        }
    }
}
