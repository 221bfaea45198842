//! A data radio bearer, at the sender and at the UE: its SDU queue, and the SDU in transmission.
//! Its limiter is in the [gate](crate::gate) above it.
//!
//! With grants in packets, whole SDUs leave (T20, E19). With grants in bytes, the SDU at the head
//! is cut at the end of the grant and continues in the next slot (TS 38.322 section 5.2.2.1,
//! without header bytes). With grants in resource blocks, a [`Link`] joins PDCP and RLC: it numbers
//! and segments the SDUs and adds headers as 3GPP specifies, and its receiving side reassembles
//! them. With PDUs of one size (UMTS) a [`Link`] does the same.

mod exit;
mod in_flight;
mod link;
mod rate;
mod source;

pub(crate) use crate::rlc::UMTS_HEADER;
pub use exit::{Egress, StatusWay};
pub(crate) use exit::{Exit, Upward};
pub(crate) use in_flight::InFlight;
pub(crate) use link::Link;
pub(crate) use rate::{SentSoFar, ServiceRate, SlotWeight};

use crate::config::{Hold, RlcConfig};
use crate::gate::Gate;
use crate::limiter::{AnyLimiter, CapacityUnit, Limiter, RlcView};
use crate::pdu::{StatusPdu, TbContent};
use alloc::vec::Vec;
use justfull_base::rng::mix;
use justfull_base::{BitRate, ConfigError, Duration, Instant, Layer, Packet, Probe, SlotReport};
use justfull_queue::ManagedQueue;
use source::Source;

/// A bearer's place in the cell: its UE, and its index among the UE's bearers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BearerId {
    pub(crate) ue: u32,
    pub(crate) drb: u8,
}

/// A slot: its number, when the MAC pulls, and its nominal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) k: u64,
    pub(crate) now: Instant,
    pub(crate) length: Duration,
}

/// A slot as one bearer sees it, in the unit of grants: what it could carry for this bearer alone,
/// what a slot without short allocations could at the same MCS, and the bearer's share of what
/// nobody used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) capacity: u64,
    pub(crate) full: u64,
    pub(crate) left: u64,
}

/// The gates of a cell as bearer `id` sees them: its limiter, which is looked up when it is needed.
pub(crate) struct Above<'a> {
    pub(crate) gates: &'a mut [Gate],
    pub(crate) id: BearerId,
}

impl Above<'_> {
    #[inline(always)]
    fn limiter(&mut self) -> &mut AnyLimiter {
        self.gates[self.id.ue as usize].limiter(self.id.drb)
    }

    /// `sdu` has left for the radio at `now`.
    #[inline(always)]
    fn on_departed(&mut self, now: Instant, sdu: &Packet) {
        self.limiter().on_departed(now, now.since(sdu.enqueued));
    }
}

/// Number of a slot before the first.
const NO_SLOT: u64 = u64::MAX;

/// See the module's page. In the order in which a packet that goes through at once needs it: its
/// first two lines of the cache, and the one in which the link begins.
#[repr(C)]
pub(crate) struct Bearer {
    /// How many bytes of the queue have left: of the SDU that is being sent, and all of those that
    /// are held.
    sent: u32,
    sending: bool,
    /// Its limiter admits everything and need not be asked.
    unlimited: bool,
    /// SDUs stay in the queue until they are acknowledged.
    holds: bool,
    queue: ManagedQueue,
    /// The last slot in which it sent, and how much, in the unit of grants.
    used: (u64, u64),
    /// The last slot the limiter was told of.
    told_slot: u64,
    /// PDCP and the RLC proper, where grants are in resource blocks.
    pub(crate) link: Option<Link>,
    /// The SDU that is being sent, reserved from the queue while `sending`.
    head: Packet,
}

impl Bearer {
    /// A bearer that is `unlimited` has a limiter that admits everything.
    pub(crate) fn new(config: &RlcConfig, unlimited: bool, key: u64) -> Result<Self, ConfigError> {
        Ok(Self {
            queue: ManagedQueue::new(Layer::Rlc, &config.queue, mix(key))
                .map_err(|e| e.within("queue"))?,
            unlimited,
            head: Packet::default(),
            sending: false,
            holds: config.hold == Hold::Acknowledged,
            sent: 0,
            told_slot: NO_SLOT,
            used: (NO_SLOT, 0),
            link: None,
        })
    }

    /// Its limiter admits everything and need not be asked.
    #[inline]
    pub(crate) const fn is_unlimited(&self) -> bool {
        self.unlimited
    }

    pub(crate) fn queue(&self) -> &ManagedQueue {
        &self.queue
    }

    pub(crate) fn queue_mut(&mut self) -> &mut ManagedQueue {
        &mut self.queue
    }

    /// The MAC serves the bearer at `rate` from now on, as its AQM sees it.
    pub(crate) fn set_service_rate(&mut self, rate: BitRate) {
        self.queue.set_service_rate(Some(rate));
    }

    /// What has been sent of its SDUs, and whether more waits to be sent.
    pub(crate) fn sent_so_far(&self) -> SentSoFar {
        SentSoFar {
            // What is held has departed and is among what is sent.
            bytes: self.queue.counters().departed.bytes + u64::from(self.sent)
                - self.queue.held().bytes,
            more: self.sending || self.queue.waiting_packets() > 0,
        }
    }

    /// RLC begins anew, for a bearer without PDCP and RLC at both ends: an SDU that is partly sent
    /// waits as a whole again.
    pub(crate) fn re_establish(&mut self) {
        if core::mem::take(&mut self.sending) {
            self.queue.abort(self.head);
        }
        (self.sent, self.used, self.told_slot) = (0, (NO_SLOT, 0), NO_SLOT);
    }

    /// What is still to be sent for the first time: SDUs, and bytes.
    #[inline]
    pub(crate) fn view(&self) -> RlcView {
        let bytes = self.queue.backlog_bytes() - u64::from(self.sent);
        let packets = u64::from(self.queue.waiting_packets()) + u64::from(self.sending);
        RlcView { packets, bytes }
    }

    /// PDCP and RLC, and what their receiving side may do.
    fn upward<'a, 'b, D>(
        &'a mut self,
        now: Instant,
        sdus: &'a mut InFlight,
        exit: &'a mut Exit<'b, D>,
    ) -> Option<(&'a mut Link, Upward<'a, 'b, D>)> {
        let Self { queue, link, holds, .. } = self;
        Some((link.as_mut()?, Upward { now, sdus, exit, holds: holds.then_some(queue) }))
    }

    /// After SDUs have left the queue that were held, or have been sent and are held now.
    fn settle_held(&mut self) {
        let Some(link) = self.link.as_ref().filter(|_| self.holds) else { return };
        let (head, sent) = match self.sending {
            true => (self.head.size, link.sent_of_head(self.head.size)),
            false => (0, 0),
        };
        let held = self.queue.reserved_bytes() - u64::from(head);
        self.sent = sent + u32::try_from(held).expect("a window of RLC holds less than 4 GiB");
    }

    /// The UE has decoded `content`.
    pub(crate) fn receive<D: Probe + Egress>(
        &mut self,
        now: Instant,
        content: &TbContent,
        sdus: &mut InFlight,
        exit: &mut Exit<'_, D>,
    ) {
        if let Some((link, mut up)) = self.upward(now, sdus, exit) {
            link.receive(content, &mut up);
        }
        self.settle_held();
    }

    /// The UE's `status` has reached the sender.
    pub(crate) fn on_status<D: Probe + Egress>(
        &mut self,
        now: Instant,
        status: &StatusPdu,
        sdus: &mut InFlight,
        exit: &mut Exit<'_, D>,
    ) {
        if let Some((link, mut up)) = self.upward(now, sdus, exit) {
            link.on_status(status, &mut up);
        }
        self.settle_held();
    }

    /// Runs the timers of PDCP and RLC that may have expired, at both ends.
    pub(crate) fn on_timeout<D: Probe + Egress>(
        &mut self,
        now: Instant,
        sdus: &mut InFlight,
        exit: &mut Exit<'_, D>,
    ) {
        let more = self.view().packets > 0;
        if let Some((link, mut up)) = self.upward(now, sdus, exit) {
            link.on_timeout(more, &mut up);
        }
        self.settle_held();
    }

    /// An SDU arrives from SDAP. False if the queue has no room for it.
    #[inline(always)]
    pub(crate) fn enqueue<P: Probe>(&mut self, now: Instant, sdu: &Packet, probe: &mut P) -> bool {
        self.queue.enqueue(now, *sdu, probe)
    }

    /// Takes up to `most` SDUs of `queue`, one of SDAP's, at once where no limiter or AQM has to be
    /// asked about them and there is room. Returns how many.
    #[inline(always)]
    pub(crate) fn pour_from<P: Probe>(
        &mut self,
        queue: &mut ManagedQueue,
        now: Instant,
        most: u32,
        probe: &mut P,
    ) -> u32 {
        if !self.unlimited {
            return 0;
        }
        queue.pour(&mut self.queue, now, most.into(), probe).packets as u32
    }

    /// Sends one whole SDU.
    #[inline]
    pub(crate) fn pull_packet<P: Probe>(
        &mut self,
        now: Instant,
        mut above: Above<'_>,
        probe: &mut P,
    ) -> Option<Packet> {
        let sdu = self.queue.dequeue(now, probe)?;
        if !self.unlimited {
            above.on_departed(now, &sdu);
        }
        Some(sdu)
    }

    /// Sends up to `grant` bytes and returns how many. SDUs whose last byte is sent are delivered.
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
            if !self.sending {
                self.sending = self.queue.reserve_into(now, &mut self.head, exit);
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
            self.queue.commit(now, sdu, exit);
            if !self.unlimited {
                above.on_departed(now, sdu);
            }
            exit.deliver(now, sdu);
            self.sending = false;
        }
        grant - left
    }

    /// Fills `content` with PDUs of up to `grant` bytes, MAC headers included, and returns how
    /// many.
    pub(crate) fn pull_block<P: Probe>(
        &mut self,
        now: Instant,
        grant: u32,
        above: Above<'_>,
        sdus: &mut InFlight,
        content: &mut TbContent,
        probe: &mut P,
    ) -> u32 {
        let Self { queue, unlimited, head, sending, link, holds, .. } = self;
        let Some(link) = link else { return 0 };
        let mut source = Source {
            queue,
            above: (!*unlimited).then_some(above),
            head,
            sending,
            pdcp: &mut link.pdcp_tx,
            handle: &mut link.head,
            sdus,
            holds: *holds,
            now,
            probe,
        };
        let took = link.tx.pull(now, grant, &mut source, content);
        link.tx.pulled(now, self.sending || self.queue.waiting_packets() > 0);
        self.sent = if self.sending { link.sent_of_head(self.head.size) } else { 0 };
        self.settle_held();
        took
    }

    /// Appends the size of each pending PDU in a transport block, MAC and RLC headers included, up
    /// to `most` bytes in total. Returns the total of all of them.
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

    /// Bytes that all pending PDUs would take in transport blocks: the same as [`Self::list_sdus`]
    /// returns if it lists all of them, and at least `most` if it stops there.
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

    /// True when at least `most` bytes, without headers, wait here and may be sent.
    #[inline(always)]
    pub(crate) fn fills(&self, most: u32) -> bool {
        let Some(link) = &self.link else { return false };
        let begun = if self.sending { link.tx.head_left().unwrap_or(0) } else { 0 };
        !link.tx.is_stalled() && self.queue.waiting_bytes() + u64::from(begun) >= u64::from(most)
    }

    /// True when a single SDU waits, fits whole into a transport block of `most` bytes, and changes
    /// nothing in PDCP and RLC but their sequence numbers: the UE has received everything before
    /// it.
    #[inline(always)]
    pub(crate) fn is_light(&self, now: Instant, most: u32) -> bool {
        let Some(link) = &self.link else { return false };
        let fits = |sdu: &Packet| {
            link.bytes_of(sdu.size) <= most && !link.pdcp_tx.is_too_old(now, sdu.enqueued)
        };
        self.queue.waiting_packets() == 1
            && !self.sending
            && self.queue.is_plain()
            && link.is_level()
            && self.queue.peek().is_some_and(fits)
    }

    /// Sends and delivers the SDU of a bearer that [is light](Self::is_light). Returns its bytes on
    /// the air.
    #[inline(always)]
    pub(crate) fn send_light<D: Probe + Egress>(
        &mut self,
        now: Instant,
        mut above: Above<'_>,
        exit: &mut Exit<'_, D>,
    ) -> u32 {
        let (Some(sdu), Some(link)) = (self.queue.dequeue(now, exit), &mut self.link) else {
            return 0;
        };
        if !self.unlimited {
            above.on_departed(now, &sdu);
        }
        link.pass_whole();
        exit.deliver_from_air(now, now, &sdu);
        link.bytes_of(sdu.size)
    }

    /// True when it has SDUs or RLC retransmissions to send.
    pub(crate) fn wants_to_send(&self) -> bool {
        // An SDU that is partly sent counts as backlog of the queue; only acknowledged mode keeps
        // more.
        let repeats = |link: &Link| link.is_acknowledged() && link.tx.pending().total() > 0;
        self.view().packets > 0 || self.link.as_ref().is_some_and(repeats)
    }

    /// True when its RLC may send something now: retransmissions and the like, or SDUs that the
    /// window has room for.
    pub(crate) fn may_send(&self) -> bool {
        let Some(link) = &self.link else { return self.view().packets > 0 };
        link.tx.pending().total() > 0 || (self.view().packets > 0 && !link.tx.is_stalled())
    }

    /// How long the next SDU has been here.
    pub(crate) fn head_age(&self, now: Instant) -> Duration {
        if self.sending {
            now.since(self.head.enqueued)
        } else {
            self.queue.head_age(now).unwrap_or_default()
        }
    }

    /// Reports `slot`, which offered the bearer `offer`, to its limiter; grants are in `unit`.
    pub(crate) fn report(
        &mut self,
        slot: Slot,
        unit: CapacityUnit,
        offer: Offer,
        mut above: Above<'_>,
    ) {
        self.told_slot = slot.k;
        let (used, remaining) = (self.used_in(slot.k), self.view().backlog(unit));
        above.limiter().on_slot(&SlotReport {
            pulled_at: slot.now,
            slot: slot.length,
            granted: used + offer.left,
            used,
            remaining,
            capacity: offer.full,
            starved: remaining == 0 && used < offer.capacity,
        });
    }

    /// True when the limiter has no report of slot `k`: the bearer was idle then.
    #[inline]
    pub(crate) fn misses(&self, k: u64) -> bool {
        self.told_slot != k
    }

    /// The bearer sent `amount` in slot `k`.
    #[inline]
    pub(crate) fn add_used(&mut self, k: u64, amount: u64) {
        self.used = (k, self.used_in(k) + amount);
    }

    /// What the bearer sent in slot `k`.
    #[inline]
    pub(crate) fn used_in(&self, k: u64) -> u64 {
        if self.used.0 == k { self.used.1 } else { 0 }
    }
}
