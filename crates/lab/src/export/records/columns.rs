//! What the columns of packet and slot records are called, mean and hold.

use crate::export::facts::PROTOCOLS;
use justfull_base::packet::Protocol;
use justfull_base::{DropReason, Layer};

/// How wide a whole number is in Parquet; both are signed there, because few readers know others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    Four,
    /// 64 bits.
    Eight,
}

/// Where the content of a column comes from.
pub enum Read<R> {
    /// A whole number, or none.
    Whole(Width, fn(&R) -> Option<u64>),
    /// A number in a list of names, or none.
    Name(Names, fn(&R) -> Option<u32>),
}

/// A list of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Of the flows.
    Classes,
    /// `tcp`, `udp`, `icmp`.
    Protocols,
    /// `upf`, `sdap`, `rlc`.
    Layers,
    /// Of [`DropReason`].
    Reasons,
}

/// The names that a column may hold, by number; `classes` are those of the run.
#[must_use]
pub fn names_of(names: Names, classes: &[String]) -> Vec<String> {
    let owned = |list: &[&str]| list.iter().map(|name| (*name).to_string()).collect();
    match names {
        Names::Classes => classes.to_vec(),
        Names::Protocols => owned(&PROTOCOLS),
        Names::Layers => owned(&Layer::ALL.map(Layer::name)),
        Names::Reasons => owned(&DropReason::ALL.map(DropReason::name)),
    }
}

/// One column.
pub struct RecordColumn<R> {
    /// Name, ending in the unit.
    pub name: &'static str,
    /// Unit or type.
    pub unit: &'static str,
    /// What it holds, one sentence.
    pub meaning: &'static str,
    /// A record may lack it.
    pub optional: bool,
    /// Its content.
    pub read: Read<R>,
}

/// What became of one packet. Instants and times are in ns of simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketRecord {
    /// Number in order of entry.
    pub id: u64,
    /// Number of the flow.
    pub flow: u32,
    /// Number of the flow's name.
    pub class: u32,
    /// User equipment.
    pub ue: u32,
    /// QoS flow; none when no rule matched.
    pub qfi: Option<u8>,
    /// Data radio bearer; none when no rule matched.
    pub drb: Option<u8>,
    /// Bytes on the IP layer.
    pub size: u32,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Entry into the UPF.
    pub entered: u64,
    /// Left the UPF.
    pub left_upf: Option<u64>,
    /// Left SDAP.
    pub left_sdap: Option<u64>,
    /// The pull that took the last byte.
    pub delivered: Option<u64>,
    /// Dropped.
    pub dropped: Option<u64>,
    /// Where it was dropped.
    pub dropped_at: Option<Layer>,
    /// Why it was dropped.
    pub reason: Option<DropReason>,
    /// Where it was first marked congestion experienced.
    pub marked_at: Option<Layer>,
}

/// One slot of the MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotRecord {
    /// The pull, in ns of simulated time.
    pub time: u64,
    /// The MAC counts bytes, not packets.
    pub in_bytes: bool,
    /// What the cell could have carried.
    pub capacity: u64,
    /// What it carried.
    pub used: u64,
    /// Packets that waited in UPF, SDAP, RLC before the pull.
    pub packets: [u64; 3],
    /// Bytes that waited in UPF, SDAP, RLC before the pull.
    pub bytes: [u64; 3],
}

macro_rules! column {
    ($name:literal, $unit:literal, $meaning:literal, whole $width:ident $value:expr) => {
        column!($name, $unit, $meaning, false, Read::Whole(Width::$width, $value))
    };
    ($name:literal, $unit:literal, $meaning:literal, maybe $width:ident $value:expr) => {
        column!($name, $unit, $meaning, true, Read::Whole(Width::$width, $value))
    };
    ($name:literal, $unit:literal, $meaning:literal, $optional:literal, $read:expr) => {
        RecordColumn { name: $name, unit: $unit, meaning: $meaning, optional: $optional, read: $read }
    };
}

/// Columns of packet records.
pub static PACKET_COLUMNS: [RecordColumn<PacketRecord>; 19] = [
    column!("packet", "number", "Number of the packet in order of entry.", whole Eight |r| Some(r.id)),
    column!("flow", "number", "Number of the flow.", whole Four |r| Some(r.flow.into())),
    column!(
        "class",
        "text",
        "Name of the flow; flows of one name are of one class.",
        false,
        Read::Name(Names::Classes, |r| Some(r.class))
    ),
    column!("ue", "number", "User equipment.", whole Four |r| Some(r.ue.into())),
    column!(
        "qfi", "number", "QoS flow identifier; none when no rule matched.",
        maybe Four |r| r.qfi.map(u64::from)
    ),
    column!(
        "drb", "number", "Data radio bearer of the UE, from 0; none when no rule matched.",
        maybe Four |r| r.drb.map(u64::from)
    ),
    column!("size_bytes", "bytes", "Size on the IP layer.", whole Four |r| Some(r.size.into())),
    column!(
        "protocol",
        "text",
        "tcp, udp or icmp.",
        false,
        Read::Name(Names::Protocols, |r| Some(r.protocol as u32))
    ),
    column!("entered_ns", "ns", "Entry into the UPF, from the start of the run.", whole Eight |r| Some(r.entered)),
    column!("left_upf_ns", "ns", "When it went from the UPF to SDAP.", maybe Eight |r| r.left_upf),
    column!("left_sdap_ns", "ns", "When it went from SDAP to the RLC.", maybe Eight |r| r.left_sdap),
    column!("delivered_ns", "ns", "The pull that took its last byte.", maybe Eight |r| r.delivered),
    column!(
        "sojourn_upf_ns", "ns", "Time in the UPF.",
        maybe Eight |r| r.left_upf.map(|left| left - r.entered)
    ),
    column!(
        "sojourn_sdap_ns", "ns", "Time in SDAP.",
        maybe Eight |r| Some(r.left_sdap? - r.left_upf?)
    ),
    column!(
        "sojourn_rlc_ns", "ns", "Time in the RLC, up to the pull that took its last byte.",
        maybe Eight |r| Some(r.delivered? - r.left_sdap?)
    ),
    column!("dropped_ns", "ns", "When it was dropped.", maybe Eight |r| r.dropped),
    column!(
        "dropped_at",
        "text",
        "Layer that dropped it: upf, sdap or rlc.",
        true,
        Read::Name(Names::Layers, |r| r.dropped_at.map(|layer| layer as u32))
    ),
    column!(
        "drop_reason",
        "text",
        "Why it was dropped: overflow, overflow_victim, aqm_enqueue, aqm_dequeue, aqm_timeout, discard_timer, no_rule, harq, \
         max_retransmissions or reassembly.",
        true,
        Read::Name(Names::Reasons, |r| r.reason.map(|reason| reason as u32))
    ),
    column!(
        "marked_at",
        "text",
        "Layer that first marked it congestion experienced (ECN): upf, sdap or rlc.",
        true,
        Read::Name(Names::Layers, |r| r.marked_at.map(|layer| layer as u32))
    ),
];

/// Columns of slot records.
pub static SLOT_COLUMNS: [RecordColumn<SlotRecord>; 11] = [
    column!("time_ns", "ns", "The pull, from the start of the run.", whole Eight |r| Some(r.time)),
    column!(
        "capacity_packets", "packets", "What the cell could have carried, where the MAC counts packets.",
        maybe Eight |r| (!r.in_bytes).then_some(r.capacity)
    ),
    column!(
        "capacity_bytes", "bytes", "What the cell could have carried, where the MAC counts bytes.",
        maybe Eight |r| r.in_bytes.then_some(r.capacity)
    ),
    column!(
        "used_packets", "packets", "What it carried, where the MAC counts packets.",
        maybe Eight |r| (!r.in_bytes).then_some(r.used)
    ),
    column!(
        "used_bytes", "bytes", "What it carried, where the MAC counts bytes.",
        maybe Eight |r| r.in_bytes.then_some(r.used)
    ),
    column!("upf_packets", "packets", "Packets in the UPF before the pull.", whole Eight |r| Some(r.packets[0])),
    column!("upf_bytes", "bytes", "Bytes in the UPF before the pull.", whole Eight |r| Some(r.bytes[0])),
    column!("sdap_packets", "packets", "Packets in SDAP before the pull.", whole Eight |r| Some(r.packets[1])),
    column!("sdap_bytes", "bytes", "Bytes in SDAP before the pull.", whole Eight |r| Some(r.bytes[1])),
    column!("rlc_packets", "packets", "Packets in the RLC before the pull.", whole Eight |r| Some(r.packets[2])),
    column!("rlc_bytes", "bytes", "Bytes in the RLC before the pull.", whole Eight |r| Some(r.bytes[2])),
];
