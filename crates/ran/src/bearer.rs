//! A data radio bearer, at the sender and at the UE: its SDU queue, and the SDU in transmission.
//! Its limiter is in the [gate](crate::gate) above it.
//!
//! With grants in packets, whole SDUs leave (T20, E19). With grants in bytes (the module `bytes`),
//! the grant cuts the SDU at the head, which continues in the next slot (TS 38.322 section 5.2.2.1,
//! without header bytes) or after an SDU that interrupts it. With grants in resource blocks, a
//! [`Link`] joins PDCP and RLC: it numbers and segments the SDUs and adds headers as 3GPP
//! specifies, and its receiver reassembles them. With PDUs of one size (UMTS) a [`Link`] does the
//! same.

mod bytes;
mod exit;
mod in_flight;
mod link;
mod rate;
mod source;

pub(crate) use crate::rlc::UMTS_HEADER;
pub use exit::{Egress, StatusWay};
pub(crate) use exit::{Exit, Upward};
pub(crate) use in_flight::{InFlight, Taken};
pub(crate) use link::Link;
pub(crate) use rate::{SentSoFar, ServiceRate, SlotWeight};

use crate::config::{Hold, RlcConfig};
use crate::gate::Gate;
use crate::limiter::{AnyLimiter, CapacityUnit, Limiter, RlcView};
use crate::pdu::{StatusPdu, TbContent};
use alloc::boxed::Box;
use alloc::vec::Vec;
use bytes::Interrupted;
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

/// A slot: its number, the instant of the MAC's pull, and its nominal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) k: u64,
    pub(crate) now: Instant,
    pub(crate) length: Duration,
}

/// A slot from one bearer's view, in the unit of grants: its capacity for this bearer alone, the
/// capacity of a slot without short allocations at the same MCS, and the bearer's share of the
/// unused rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) capacity: u64,
    pub(crate) full: u64,
    pub(crate) left: u64,
}

/// The gates of a cell from the view of bearer `id`: its limiter is looked up on use.
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

/// Number of a slot before the first slot.
const NO_SLOT: u64 = u64::MAX;

/// A data radio bearer; the module's page describes it. The fields are in the order of use by a
/// packet that passes at once: two cache lines, and the line in which the link begins.
#[repr(C)]
pub(crate) struct Bearer {
    /// Bytes of the queue that have left: of the SDU in transmission, and of all held SDUs.
    sent: u32,
    /// SDUs in transmission: none, `head`, or two if `head` interrupts another.
    begun: u8,
    /// Packets come straight from SDAP: the limiter admits everything and is not called.
    unlimited: bool,
    /// SDUs stay in the queue until they are acknowledged.
    holds: bool,
    /// PDCP sends over two legs; this bearer is one of them.
    split: bool,
    queue: ManagedQueue,
    /// The last pull at which it sent, and the amount sent, in the unit of grants.
    used: (Instant, u64),
    /// The last slot reported to the limiter.
    reported_slot: u64,
    /// PDCP and RLC, if grants are in resource blocks or PDUs have one size.
    pub(crate) link: Option<Link>,
    /// The SDU in transmission, reserved from the queue.
    head: Packet,
    /// With grants in bytes: the place of the SDU that is interrupted, from the first one on.
    interrupted: Option<Box<Interrupted>>,
}

impl Bearer {
    /// The bearer of `config`; if `unlimited`, its limiter admits everything, at once.
    pub(crate) fn new(config: &RlcConfig, unlimited: bool, key: u64) -> Result<Self, ConfigError> {
        Ok(Self {
            queue: ManagedQueue::new(Layer::Rlc, &config.queue, mix(key))
                .map_err(|e| e.within("queue"))?,
            unlimited,
            head: Packet::default(),
            begun: 0,
            holds: config.hold == Hold::Acknowledged,
            split: false,
            sent: 0,
            reported_slot: NO_SLOT,
            used: (Instant::NEVER, 0),
            link: None,
            interrupted: None,
        })
    }

    /// True if packets come straight from SDAP: the limiter admits everything and is not called.
    #[inline]
    pub(crate) const fn is_unlimited(&self) -> bool {
        self.unlimited
    }

    /// From now on its PDCP sends over two legs and chooses the leg of each SDU.
    pub(crate) fn split(&mut self) {
        (self.split, self.unlimited) = (true, false);
    }

    /// True if its PDCP sends over two legs.
    #[inline(always)]
    pub(crate) const fn is_split(&self) -> bool {
        self.split
    }

    pub(crate) fn queue(&self) -> &ManagedQueue {
        &self.queue
    }

    pub(crate) fn queue_mut(&mut self) -> &mut ManagedQueue {
        &mut self.queue
    }

    /// The MAC serves the bearer at `rate` from now on; passes this to the AQM.
    pub(crate) fn set_service_rate(&mut self, rate: BitRate) {
        self.queue.set_service_rate(Some(rate));
    }

    /// The sent bytes of its SDUs, and whether more data waits.
    pub(crate) fn sent_so_far(&self) -> SentSoFar {
        SentSoFar {
            // Held SDUs have departed and are part of the sent bytes.
            bytes: self.queue.counters().departed.bytes + u64::from(self.sent)
                - self.queue.held().bytes,
            more: self.begun > 0 || self.queue.waiting_packets() > 0,
        }
    }

    /// Re-establishes RLC, for a bearer without PDCP and RLC at both ends: a partly sent SDU waits
    /// as a whole again.
    pub(crate) fn re_establish(&mut self) {
        while self.begun > 0 {
            self.queue.abort(self.head);
            self.end_head();
        }
        (self.sent, self.used, self.reported_slot) = (0, (Instant::NEVER, 0), NO_SLOT);
    }

    /// Takes every waiting SDU out of the queue ([`ManagedQueue::withdraw`]).
    pub(crate) fn withdraw<P: Probe>(
        &mut self,
        now: Instant,
        probe: &mut P,
        take: &mut dyn FnMut(Packet),
    ) {
        self.queue.withdraw(now, probe, take);
    }

    /// The SDU in transmission, if there is one.
    pub(crate) const fn head(&self) -> Option<&Packet> {
        if self.begun > 0 { Some(&self.head) } else { None }
    }

    /// The data still to be sent for the first time: SDUs and bytes.
    #[inline]
    pub(crate) fn view(&self) -> RlcView {
        let bytes = self.queue.backlog_bytes() - u64::from(self.sent);
        let packets = u64::from(self.queue.waiting_packets()) + u64::from(self.begun);
        RlcView { packets, bytes }
    }

    /// PDCP and RLC, and the layers above their receiver.
    fn upward<'a, 'b, D>(
        &'a mut self,
        now: Instant,
        sdus: &'a mut InFlight,
        exit: &'a mut Exit<'b, D>,
    ) -> Option<(&'a mut Link, Upward<'a, 'b, D>)> {
        let Self { queue, link, holds, .. } = self;
        Some((link.as_mut()?, Upward { now, sdus, exit, holds: holds.then_some(queue) }))
    }

    /// Updates the state after held SDUs have left the queue, or sent SDUs have become held.
    fn settle_held(&mut self) {
        let Some(link) = self.link.as_ref().filter(|_| self.holds) else { return };
        let (head, sent) = match self.begun > 0 {
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

    /// An SDU arrives from SDAP. Returns false if the queue has no room for it.
    #[inline(always)]
    pub(crate) fn enqueue<P: Probe>(&mut self, now: Instant, sdu: &Packet, probe: &mut P) -> bool {
        self.queue.enqueue(now, *sdu, probe)
    }

    /// Takes up to `most` SDUs of `queue`, a queue of SDAP, at once, if no limiter or AQM must
    /// decide on them and there is room. Returns their number.
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

    /// Fills `content` with PDUs of up to `grant` bytes, including MAC headers, and returns the
    /// number of bytes.
    pub(crate) fn pull_block<P: Probe>(
        &mut self,
        now: Instant,
        grant: u32,
        above: Above<'_>,
        sdus: &mut InFlight,
        content: &mut TbContent,
        probe: &mut P,
    ) -> u32 {
        let Self { queue, unlimited, head, begun, link, holds, .. } = self;
        let Some(link) = link else { return 0 };
        let mut source = Source {
            queue,
            above: (!*unlimited).then_some(above),
            head,
            begun,
            pdcp: &mut link.pdcp_tx,
            handle: &mut link.head,
            sdus,
            holds: *holds,
            now,
            probe,
        };
        let took = link.tx.pull(now, grant, &mut source, content);
        link.tx.pulled(now, self.begun > 0 || self.queue.waiting_packets() > 0);
        self.sent = if self.begun > 0 { link.sent_of_head(self.head.size) } else { 0 };
        self.settle_held();
        took
    }

    /// Appends the size of each pending PDU in a transport block, with MAC and RLC headers, up to
    /// `most` bytes in total. Returns the total of the listed PDUs.
    pub(crate) fn list_sdus(&self, most: u32, out: &mut Vec<u32>) -> u64 {
        let Some(link) = &self.link else { return 0 };
        let mut listed = 0;
        let mut list = |bytes: u32| {
            listed += u64::from(bytes);
            out.push(bytes);
            listed < u64::from(most)
        };
        let mut unlisted = self.queue.waiting_bytes();
        let more = link.list_begun((self.begun > 0).then_some(self.head.size), &mut list);
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

    /// Bytes that all pending PDUs take in transport blocks: equal to the result of
    /// [`Self::list_sdus`] if that lists all PDUs; at least `most` if it stops at this limit.
    pub(crate) fn backlog_on_air(&self) -> u64 {
        let Some(link) = &self.link else { return 0 };
        let mut begun = 0;
        link.list_begun((self.begun > 0).then_some(self.head.size), &mut |bytes| {
            begun += u64::from(bytes);
            true
        });
        if link.tx.is_stalled() {
            return begun;
        }
        let headers = u64::from(self.queue.waiting_packets()) * u64::from(link.bytes_of(0));
        begun + self.queue.waiting_bytes() + headers
    }

    /// True if at least `most` bytes, without headers, wait and may be sent.
    #[inline(always)]
    pub(crate) fn fills(&self, most: u32) -> bool {
        let Some(link) = &self.link else { return false };
        let begun = if self.begun > 0 { link.tx.head_left().unwrap_or(0) } else { 0 };
        !link.tx.is_stalled() && self.queue.waiting_bytes() + u64::from(begun) >= u64::from(most)
    }

    /// True if a single SDU waits, fits whole into a transport block of `most` bytes, and changes
    /// only the sequence numbers of PDCP and RLC: the UE has received all earlier data.
    #[inline(always)]
    pub(crate) fn is_light(&self, now: Instant, most: u32) -> bool {
        let Some(link) = &self.link else { return false };
        let fits = |sdu: &Packet| {
            link.bytes_of(sdu.size) <= most && !link.pdcp_tx.is_too_old(now, sdu.enqueued)
        };
        self.queue.waiting_packets() == 1
            && self.begun == 0
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

    /// True if it has SDUs or RLC retransmissions to send.
    pub(crate) fn wants_to_send(&self) -> bool {
        // A partly sent SDU counts as backlog of the queue; only acknowledged mode has further
        // pending data.
        let repeats = |link: &Link| link.is_acknowledged() && link.tx.pending().total() > 0;
        self.view().packets > 0 || self.link.as_ref().is_some_and(repeats)
    }

    /// True if its RLC may send now: retransmissions or control PDUs, or SDUs for which the window
    /// has room.
    pub(crate) fn may_send(&self) -> bool {
        let Some(link) = &self.link else { return self.view().packets > 0 };
        link.tx.pending().total() > 0 || (self.view().packets > 0 && !link.tx.is_stalled())
    }

    /// Age of the next SDU in this queue.
    pub(crate) fn head_age(&self, now: Instant) -> Duration {
        if self.begun > 0 {
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
        self.reported_slot = slot.k;
        let (used, remaining) = (self.used_at(slot.now), self.view().backlog(unit));
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

    /// True if the limiter has no report of slot `k`, because the bearer was idle.
    #[inline]
    pub(crate) fn misses(&self, k: u64) -> bool {
        self.reported_slot != k
    }

    /// The bearer sent `amount` at the pull at `now`.
    #[inline]
    pub(crate) fn add_used(&mut self, now: Instant, amount: u64) {
        self.used = (now, self.used_at(now) + amount);
    }

    /// The amount that the bearer sent at the pull at `now`.
    #[inline]
    pub(crate) fn used_at(&self, now: Instant) -> u64 {
        if self.used.0 == now { self.used.1 } else { 0 }
    }
}
