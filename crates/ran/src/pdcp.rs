//! Packet data convergence: numbers packets, discards packets that are too old, and reorders the
//! packets that the RLC delivers.
//!
//! Source: TS 38.323 sections 5.2.1 (transmitting), 5.2.2 (receiving), 5.3 (discard), 6.2.2
//! (headers), 7.1 to 7.3; TS 36.323 has the same headers with SNs of 12 and 18 bits; TS 25.323
//! section 8.2 has UMTS's. Controls order and age: an SDU that has waited discardTimer is not sent;
//! packets that arrive out of order wait at most t-Reordering.
//!
//! Formula: a COUNT is an HFN followed by an SN. Of the COUNTs with the received SN, the receiver
//! takes the one within half of the SN space from RX_DELIV.
//!
//! Defaults: SN of 12 bits; no discardTimer (infinity, TS 38.331 section 9.2.1); t-Reordering 100
//! ms, which the standard leaves to the network: more than t-Reassembly and a few retransmissions,
//! so that RLC gives up first. Known weaknesses: in-order delivery holds back all packets behind a
//! lost one for t-Reordering.
//!
//! Deviations from the source: no ciphering, integrity, header compression or status reports, none
//! of which change time here; any time between the standard's least and greatest is allowed;
//! infinity is written 0 (discardTimer) and t-Reordering is never infinite; a COUNT has 64 bits, so
//! it never wraps.

use crate::pdu::SduHandle;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Instant, params};

params! {
    /// Settings of both sides.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PdcpConfig {
        /// Length of the sequence number.
        sn_bits: u8 as "bits" = 12,
            rule("12 or 18", |c| matches!(c.sn_bits, 12 | 18)), "TS 38.323 section 6.3.2";
        /// Age at which a packet is not sent any more.
        discard_timer: Duration = Duration::ZERO,
            rule("0s (infinity), or 0.5ms to 1.5s", |c| {
                let finite = Duration::from_micros(500)..=Duration::from_millis(1500);
                c.discard_timer.is_zero() || finite.contains(&c.discard_timer)
            }), "TS 38.331 discardTimer";
        /// Most time that a packet waits for one before it.
        t_reordering: Duration = Duration::from_millis(100),
            within(Duration::ZERO, Duration::from_secs(3)), "TS 38.331 t-Reordering";
        /// Packets do not wait for one another.
        out_of_order: bool = false;
        /// UMTS: bytes of the header of each packet, instead of those that `sn_bits` makes. None in
        /// a PDCP-No-Header PDU, 1 in a PDCP Data PDU, 3 in a PDCP SeqNum PDU. PDCP puts nothing in
        /// order there: the RLC has.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_data_pdu"))]
        umts_header: Bytes = DATA_PDU,
            rule("0B, 1B or 3B", |c| matches!(c.umts_header.0, 0 | 1 | 3)),
            "TS 25.323 section 8.2";
    }
}

/// Header of a UMTS PDCP Data PDU (TS 25.323 section 8.2.2).
const DATA_PDU: Bytes = Bytes(1);

#[cfg(feature = "serde")]
fn is_data_pdu(header: &Bytes) -> bool {
    *header == DATA_PDU
}

/// Description for users.
pub const DOC: MethodDoc = MethodDoc {
    name: "pdcp",
    kind: "PDCP",
    title: "Packet data convergence: order and age",
    text: "Each packet gets a number and a header. One that waited longer than discardTimer is not \
           sent. The UE delivers in order and waits at most t-Reordering for missing packets.",
    sources: "TS 38.323 sections 5.2, 5.3 and 6.2",
    deviations: "no ciphering, integrity, header compression or status reports; any time between \
                 the standard's least and greatest; 0 stands for an infinite discardTimer, and \
                 t-Reordering is never infinite",
    params: PdcpConfig::params,
};

impl PdcpConfig {
    /// Bytes of the header (TS 38.323 section 6.2.2): 2 or 3.
    #[must_use]
    pub const fn header_bytes(&self) -> u32 {
        if self.sn_bits == 12 { 2 } else { 3 }
    }
}

/// Transmitting side; 24 B.
#[derive(Clone, Debug)]
pub struct PdcpTx {
    /// TX_NEXT.
    next: u64,
    discard: Duration,
    sn_bits: u8,
    header: u8,
}

impl PdcpTx {
    /// A transmitting side before its first packet.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &PdcpConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let discard =
            if config.discard_timer.is_zero() { Duration::MAX } else { config.discard_timer };
        Ok(Self { next: 0, discard, sn_bits: config.sn_bits, header: config.header_bytes() as u8 })
    }

    /// A transmitting side with UMTS's header.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn umts(config: &PdcpConfig) -> Result<Self, ConfigError> {
        Ok(Self { header: config.umts_header.0 as u8, ..Self::new(config)? })
    }

    /// The SN of the packet that goes to the RLC now. With 2^(sn_bits - 1) packets in flight the
    /// oldest must arrive before another is numbered (TS 38.323 section 5.2.1); otherwise the
    /// receiver confuses the two.
    #[inline]
    pub fn number(&mut self) -> u32 {
        let sn = (self.next & ((1 << self.sn_bits) - 1)) as u32;
        self.next += 1;
        sn
    }

    /// The numbers continue where `before` ended: SN Status Transfer (TS 38.300 section 9.2.3.2.2).
    pub(crate) fn continue_from(&mut self, before: &Self) {
        self.next = before.next;
    }

    /// TX_NEXT, the COUNT of the next packet.
    #[must_use]
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Bytes of the header of each packet.
    #[must_use]
    #[inline]
    pub const fn header_bytes(&self) -> u32 {
        self.header as u32
    }

    /// True if a packet that arrived from above at `arrived` must no longer be sent (TS 38.323
    /// section 5.3).
    #[must_use]
    #[inline]
    pub fn is_too_old(&self, now: Instant, arrived: Instant) -> bool {
        now.since(arrived) >= self.discard
    }
}

/// The outcome for a packet that the RLC delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PdcpOutcome {
    /// The packet was delivered, or waits for an earlier one.
    Accepted,
    /// The packet was dropped: its number was received before, or was given up.
    Dropped,
}

/// A COUNT after RX_DELIV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Missing,
    Waiting(SduHandle),
    Delivered,
}

/// Receiving side; 32 B while all packets arrive in order. From the first gap on 80 B, plus 16 B
/// for each number from the first missing to the highest received, at most half of the SN space.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct PdcpRx {
    /// RX_DELIV: the first COUNT not yet delivered.
    deliv: u64,
    /// Allocated at the first gap.
    reordering: Option<Box<Reordering>>,
    t_reordering: Duration,
    sn_bits: u8,
    out_of_order: bool,
    /// The bearer is split: the UE's PDCP is above the legs.
    leg: bool,
}

/// The packets that wait behind a gap.
#[derive(Clone, Debug)]
struct Reordering {
    /// RX_REORD: the COUNT after the COUNT that started t-Reordering.
    reord: u64,
    /// Arrivals from RX_DELIV on; RX_NEXT is one past the end.
    places: VecDeque<Place>,
    /// Expiry of t-Reordering.
    timer: Instant,
}

impl Reordering {
    fn new() -> Self {
        Self { reord: 0, places: VecDeque::new(), timer: Instant::NEVER }
    }

    /// RX_DELIV moves to the first COUNT that has not arrived.
    fn deliver_in_order(&mut self, deliv: &mut u64, deliver: &mut impl FnMut(SduHandle)) {
        while let Some(&place) = self.places.front().filter(|&&place| place != Place::Missing) {
            self.pop(place, deliv, deliver);
        }
    }

    fn pop(&mut self, place: Place, deliv: &mut u64, deliver: &mut impl FnMut(SduHandle)) {
        if let Place::Waiting(sdu) = place {
            deliver(sdu);
        }
        self.places.pop_front();
        *deliv += 1;
    }

    fn update_timer(&mut self, deliv: u64, ends: Instant) {
        if self.timer != Instant::NEVER && deliv >= self.reord {
            self.timer = Instant::NEVER;
        }
        if self.timer == Instant::NEVER && !self.places.is_empty() {
            self.timer = ends;
            self.reord = deliv + self.places.len() as u64;
        }
    }
}

impl PdcpRx {
    /// A receiving side before its first packet.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &PdcpConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            deliv: 0,
            reordering: None,
            t_reordering: config.t_reordering,
            sn_bits: config.sn_bits,
            out_of_order: config.out_of_order,
            leg: false,
        })
    }

    /// The bearer is split, and this entity is one leg's: packets pass to the UE's PDCP above.
    pub(crate) fn become_leg(&mut self) {
        // No COUNT is the next: no packet takes the path of packets in order.
        (self.leg, self.deliv) = (true, u64::MAX);
    }

    /// True if this entity is one leg's of a split bearer.
    #[inline(always)]
    pub(crate) const fn is_leg(&self) -> bool {
        self.leg
    }

    /// Distance of the COUNT of a packet with `sn` ahead of RX_DELIV; none if it is behind (section
    /// 5.2.2.1: it is within half of the SN space either way).
    #[inline]
    fn ahead(&self, sn: u32) -> Option<usize> {
        let mask = (1 << self.sn_bits) - 1;
        let ahead = u64::from(sn).wrapping_sub(self.deliv) & mask;
        (ahead <= mask / 2).then_some(ahead as usize)
    }

    /// True if all packets with COUNTs before `count` are delivered and none waits for an earlier
    /// one.
    #[must_use]
    #[inline]
    pub fn has_all_before(&self, count: u64) -> bool {
        self.deliv == count && self.reordering.as_ref().is_none_or(|held| held.places.is_empty())
    }

    /// Renames the waiting packets in the order of their COUNTs, since the UE has changed the cell.
    pub(crate) fn rename(&mut self, mut new: impl FnMut(SduHandle) -> SduHandle) {
        let Some(held) = &mut self.reordering else { return };
        for place in &mut held.places {
            if let Place::Waiting(sdu) = place {
                *sdu = new(*sdu);
            }
        }
    }

    /// Re-establishes an entity of unacknowledged mode: delivers the waiting packets in the order
    /// of their COUNTs, and starts anew (TS 38.323 section 5.1.2).
    pub(crate) fn re_establish(&mut self, mut deliver: impl FnMut(SduHandle)) {
        for place in self.reordering.take().into_iter().flat_map(|held| held.places) {
            if let Place::Waiting(sdu) = place {
                deliver(sdu);
            }
        }
        self.deliv = 0;
    }

    /// Receives from the RLC the packet whose COUNT [is next](Self::has_all_before); it is
    /// delivered at once.
    #[inline]
    pub fn receive_next(&mut self) {
        debug_assert!(self.has_all_before(self.deliv), "nothing waits for the packet");
        self.deliv += 1;
    }

    /// Receives a packet from the RLC. `deliver` gets it and the packets that waited for it, in
    /// order. An SN too large for its field is dropped. TS 38.323 v17 clause 5.2.2.1.
    #[inline]
    pub fn receive(
        &mut self,
        now: Instant,
        sn: u32,
        sdu: SduHandle,
        mut deliver: impl FnMut(SduHandle),
    ) -> PdcpOutcome {
        if sn >> self.sn_bits != 0 {
            return PdcpOutcome::Dropped;
        }
        let Some(at) = self.ahead(sn) else { return PdcpOutcome::Dropped };
        if at == 0 && self.reordering.as_ref().is_none_or(|held| held.places.is_empty()) {
            self.deliv += 1;
            deliver(sdu);
            return PdcpOutcome::Accepted;
        }
        let held = self.reordering.get_or_insert_with(|| Box::new(Reordering::new()));
        if held.places.get(at).is_some_and(|&place| place != Place::Missing) {
            return PdcpOutcome::Dropped;
        }
        if held.places.len() <= at {
            held.places.resize(at + 1, Place::Missing);
        }
        if self.out_of_order {
            deliver(sdu);
            held.places[at] = Place::Delivered;
        } else {
            held.places[at] = Place::Waiting(sdu);
        }
        held.deliver_in_order(&mut self.deliv, &mut deliver);
        held.update_timer(self.deliv, now + self.t_reordering);
        PdcpOutcome::Accepted
    }

    /// The expiry of t-Reordering, at which [`Self::on_timeout`] has work; none while it does not
    /// run.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.reordering.as_ref().map(|held| held.timer).filter(|&at| at != Instant::NEVER)
    }

    /// Handles an expiry of t-Reordering: gives up missing packets before RX_REORD and delivers the
    /// packets that waited for them. TS 38.323 v17 clause 5.2.2.2.
    pub fn on_timeout(&mut self, now: Instant, mut deliver: impl FnMut(SduHandle)) {
        let Some(held) = &mut self.reordering else { return };
        if now < held.timer || held.timer == Instant::NEVER {
            return;
        }
        held.timer = Instant::NEVER;
        while let Some(&place) = held.places.front().filter(|_| self.deliv < held.reord) {
            held.pop(place, &mut self.deliv, &mut deliver);
        }
        held.deliver_in_order(&mut self.deliv, &mut deliver);
        held.update_timer(self.deliv, now + self.t_reordering);
    }
}

/// Appends the header of a data PDU with `sn` (TS 38.323 figures 6.2.2.2-1 and 6.2.2.3-1).
pub fn encode(sn_bits: u8, sn: u32, out: &mut alloc::vec::Vec<u8>) {
    // D/C is 1; three or five reserved bits follow.
    let [_, high, middle, low] = sn.to_be_bytes();
    if sn_bits == 12 {
        out.extend_from_slice(&[0x80 | (middle & 0x0f), low]);
    } else {
        out.extend_from_slice(&[0x80 | (high & 0x03), middle, low]);
    }
}

/// The SN of a data PDU; none for a control PDU, or for a PDU too short for its header and a byte.
#[must_use]
pub fn decode(sn_bits: u8, bytes: &[u8]) -> Option<u32> {
    let sn = match (sn_bits, bytes) {
        (12, [a, b, _, ..]) => u32::from_be_bytes([0, 0, a & 0x0f, *b]),
        (18, [a, b, c, _, ..]) => u32::from_be_bytes([0, a & 0x03, *b, *c]),
        _ => return None,
    };
    (bytes[0] & 0x80 != 0).then_some(sn)
}

#[cfg(test)]
mod tests;
