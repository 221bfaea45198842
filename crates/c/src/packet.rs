//! Packets, amounts and counts as C has them.

use crate::status::jf_status::{self, *};
use justfull_base::packet::Protocol;
use justfull_base::{DropReason, Duration, Ecn, Instant, Packet, SlotReport};
use justfull_queue::{Count, ManagedQueue};
use justfull_ran::limiter::RlcView;

/// Largest amount in a call, in packets or bytes.
pub const JF_AMOUNT_MAX: u64 = 1_099_511_627_776;

/// Largest packet in bytes.
pub const JF_PACKET_MAX: u32 = 65_535;

/// `ecn` of a packet that is not ECN-capable. These are the two bits of the IP header.
pub const JF_NOT_ECT: u8 = 0;
/// `ecn`: ECN-capable, codepoint 01.
pub const JF_ECT1: u8 = 1;
/// `ecn`: ECN-capable, codepoint 10.
pub const JF_ECT0: u8 = 2;
/// `ecn`: congestion experienced.
pub const JF_CE: u8 = 3;

/// `protocol`: TCP.
pub const JF_TCP: u8 = 0;
/// `protocol`: UDP.
pub const JF_UDP: u8 = 1;
/// `protocol`: ICMP and ICMPv6.
pub const JF_ICMP: u8 = 2;
/// `protocol`: any other.
pub const JF_OTHER: u8 = 3;

/// Why a packet was dropped: the queue was full, and it was the arriving one.
pub const JF_DROP_OVERFLOW: u8 = 0;
/// Dropped: the queue was full, and the discipline chose this waiting packet.
pub const JF_DROP_VICTIM: u8 = 1;
/// Dropped: the AQM signalled at its arrival.
pub const JF_DROP_AQM_ARRIVAL: u8 = 2;
/// Dropped: the AQM signalled at its departure.
pub const JF_DROP_AQM_DEPARTURE: u8 = 3;
/// Dropped: the AQM signalled at a timeout.
pub const JF_DROP_AQM_TIMEOUT: u8 = 4;
/// Dropped: it came while all places of `capacity` were taken. The queue does not count it.
pub const JF_DROP_CAPACITY: u8 = 5;
/// Not dropped by an algorithm: the object gives it back, since it is drained.
pub const JF_DROP_DRAINED: u8 = 6;

/// One IP packet (an SDU). The content stays with the caller.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_packet {
    /// The caller's number of it.
    pub id: u64,
    /// The caller's handle to its content, such as a pointer or an index. Passed on unread.
    pub content: u64,
    /// When it entered the queue that it is in, in ns. The library writes it.
    pub enqueued: u64,
    /// Hash of its 5-tuple: packets of one flow have the same. For disciplines with lanes.
    pub flow_hash: u32,
    /// Size on the IP layer in bytes, 1 to the MTU.
    pub size: u32,
    /// The caller's own. Passed on unread.
    pub user: u32,
    /// JF_NOT_ECT, JF_ECT1, JF_ECT0 or JF_CE. The library writes JF_CE where it marks.
    pub ecn: u8,
    /// JF_TCP, JF_UDP, JF_ICMP or JF_OTHER.
    pub protocol: u8,
    /// 0.
    pub reserved: u16,
}

/// The content of a bearer's RLC.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_view {
    /// SDUs waiting or partly sent.
    pub packets: u64,
    /// Bytes still to be sent for the first time.
    pub bytes: u64,
}

/// A slot that served a bearer, for its limiter. Amounts are in the unit of the settings.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_slot {
    /// When the MAC pulled, in ns. It does not go back.
    pub pulled_at: u64,
    /// Length of a slot in ns, 1 to 10^9.
    pub slot: u64,
    /// The amount that the slot offered this bearer: its used amount and its share of the rest.
    pub granted: u64,
    /// The amount that it sent.
    pub used: u64,
    /// The amount still in its RLC.
    pub remaining: u64,
    /// The most that a slot carries at the present MCS if the bearer has all of it.
    pub capacity: u64,
    /// Not 0: the bearer could have sent more than it had.
    pub starved: u8,
    /// 0.
    pub reserved: [u8; 7],
}

/// The fate of the packets of one queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_counts {
    /// Offered, taken or not.
    pub arrived_packets: u64,
    /// Bytes of these.
    pub arrived_bytes: u64,
    /// Left for the layer below.
    pub departed_packets: u64,
    /// Bytes of these.
    pub departed_bytes: u64,
    /// Dropped.
    pub dropped_packets: u64,
    /// Bytes of these.
    pub dropped_bytes: u64,
    /// Marked congestion experienced; they also count as departed, dropped or waiting.
    pub marked_packets: u64,
    /// Bytes of these.
    pub marked_bytes: u64,
    /// In the queue.
    pub waiting_packets: u64,
    /// Bytes of these.
    pub waiting_bytes: u64,
}

const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
const PROTOCOLS: [Protocol; 4] = [Protocol::Tcp, Protocol::Udp, Protocol::Icmp, Protocol::Other];

impl jf_packet {
    /// The packet as the algorithms have it; none if an enumerated field is none of its names.
    #[inline]
    pub(crate) fn get(&self) -> Result<Packet, jf_status> {
        let ecn = ECN.get(usize::from(self.ecn)).ok_or(JF_ERROR_RANGE)?;
        let protocol = PROTOCOLS.get(usize::from(self.protocol)).ok_or(JF_ERROR_RANGE)?;
        Ok(Packet {
            id: self.id,
            payload: self.content,
            enqueued: Instant::from_nanos(self.enqueued),
            flow_hash: self.flow_hash,
            flow: self.user,
            size: self.size,
            ecn: *ecn,
            protocol: *protocol,
            ..Packet::default()
        })
    }

    #[inline]
    pub(crate) fn of(packet: &Packet) -> Self {
        Self {
            id: packet.id,
            content: packet.payload,
            enqueued: packet.enqueued.as_nanos(),
            flow_hash: packet.flow_hash,
            size: packet.size,
            user: packet.flow,
            ecn: packet.ecn as u8,
            protocol: packet.protocol as u8,
            reserved: 0,
        }
    }
}

impl jf_view {
    #[inline]
    pub(crate) fn get(self) -> Result<RlcView, jf_status> {
        amount(self.packets)?;
        amount(self.bytes)?;
        Ok(RlcView { packets: self.packets, bytes: self.bytes })
    }

    /// Amounts above the bound count as the bound.
    #[inline]
    pub(crate) fn clamped(self) -> RlcView {
        let most = |amount: u64| amount.min(JF_AMOUNT_MAX);
        RlcView { packets: most(self.packets), bytes: most(self.bytes) }
    }
}

impl jf_slot {
    /// The report; `last` is the time of the report before, and becomes the time of this report.
    pub(crate) fn get(&self, last: &mut u64) -> Result<SlotReport, jf_status> {
        if self.pulled_at < *last || self.pulled_at > crate::object::JF_TIME_MAX {
            return Err(JF_ERROR_TIME);
        }
        if !(1..=1_000_000_000).contains(&self.slot) {
            return Err(JF_ERROR_RANGE);
        }
        let report = SlotReport {
            pulled_at: Instant::from_nanos(self.pulled_at),
            slot: Duration::from_nanos(self.slot),
            granted: amount(self.granted)?,
            used: amount(self.used)?,
            remaining: amount(self.remaining)?,
            capacity: amount(self.capacity)?,
            starved: self.starved != 0,
        };
        *last = self.pulled_at;
        Ok(report)
    }
}

impl jf_counts {
    pub(crate) fn of(queue: &ManagedQueue) -> Self {
        let counters = queue.counters();
        let (dropped, marked) = (counters.dropped_total(), counters.marked());
        let Count { packets: arrived_packets, bytes: arrived_bytes } = counters.arrived;
        let Count { packets: departed_packets, bytes: departed_bytes } = counters.departed;
        Self {
            arrived_packets,
            arrived_bytes,
            departed_packets,
            departed_bytes,
            dropped_packets: dropped.packets,
            dropped_bytes: dropped.bytes,
            marked_packets: marked.packets,
            marked_bytes: marked.bytes,
            waiting_packets: queue.backlog_packets().into(),
            waiting_bytes: queue.backlog_bytes(),
        }
    }
}

/// The number of a drop's reason in C.
pub(crate) const fn reason(reason: DropReason) -> u8 {
    match reason {
        DropReason::Overflow => JF_DROP_OVERFLOW,
        DropReason::OverflowVictim => JF_DROP_VICTIM,
        DropReason::AqmEnqueue => JF_DROP_AQM_ARRIVAL,
        DropReason::AqmDequeue => JF_DROP_AQM_DEPARTURE,
        DropReason::AqmTimeout => JF_DROP_AQM_TIMEOUT,
        _ => JF_DROP_CAPACITY,
    }
}

/// `value` if it is an amount.
#[inline]
pub(crate) const fn amount(value: u64) -> Result<u64, jf_status> {
    if value <= JF_AMOUNT_MAX { Ok(value) } else { Err(JF_ERROR_RANGE) }
}

/// `nanoseconds` if they are a time span.
pub(crate) const fn duration(nanoseconds: u64) -> Result<Duration, jf_status> {
    if nanoseconds <= crate::object::JF_TIME_MAX {
        Ok(Duration::from_nanos(nanoseconds))
    } else {
        Err(JF_ERROR_RANGE)
    }
}

/// An instant that may never come, in C: UINT64_MAX.
pub(crate) fn or_never(instant: Option<Instant>) -> u64 {
    instant.unwrap_or(Instant::NEVER).as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_comes_back_as_it_was_and_unknown_names_are_refused() {
        for (ecn, protocol) in [(JF_NOT_ECT, JF_TCP), (JF_ECT0, JF_UDP), (JF_ECT1, JF_ICMP)] {
            let packet = jf_packet {
                id: 1,
                content: 2,
                enqueued: 3,
                flow_hash: 4,
                size: 5,
                user: 6,
                ecn,
                protocol,
                reserved: 0,
            };
            assert_eq!(packet.get().map(|inner| jf_packet::of(&inner)), Ok(packet));
        }
        let get = |ecn, protocol| jf_packet { ecn, protocol, ..jf_packet::default() }.get();
        assert_eq!(get(JF_CE, JF_OTHER).map(|packet| packet.ecn), Ok(Ecn::Ce));
        assert_eq!(get(JF_ECT0, 0).map(|packet| packet.protocol), Ok(Protocol::Tcp));
        assert_eq!((get(4, 0), get(0, 4)), (Err(JF_ERROR_RANGE), Err(JF_ERROR_RANGE)));
    }
}
