//! Names, meanings and content of the columns of packet and slot records.

#[cfg(feature = "parquet")]
use super::cells::Cells;
use crate::export::facts::{PROTOCOLS, Provenance, SlotUnit};
use justfull_base::packet::Protocol;
use justfull_base::{DropReason, Layer};
use std::fmt;

/// Width of a whole number in Parquet; both are signed, because few readers support unsigned
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    Four,
    /// 64 bits.
    Eight,
}

/// The source of a column's content.
pub enum Read<R> {
    /// A whole number, or none.
    Whole(Width, fn(&R) -> Option<u64>),
    /// An index in a list of names, or none.
    Name(Names, fn(&R) -> Option<u32>),
    /// The same value in every record of a run.
    Run(Fact),
}

/// A fact that all records of a run share, so that the tables of several runs can be concatenated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Name of the method.
    Method,
    /// Seed.
    Seed,
    /// Point of the sweep; none without a sweep.
    Point,
}

impl Fact {
    /// The text of this fact in the run of `provenance`; none if it does not exist.
    pub(super) fn text(self, provenance: &Provenance) -> Option<String> {
        match self {
            Self::Method => Some(provenance.method.clone()),
            Self::Seed => Some(provenance.seed.to_string()),
            Self::Point => Some(provenance.point.clone()).filter(|point| !point.is_empty()),
        }
    }
}

/// A list of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Names of flows.
    Classes,
    /// `tcp`, `udp`, `icmp`, `other`.
    Protocols,
    /// `upf`, `sdap`, `rlc`.
    Layers,
    /// Names of [`DropReason`].
    Reasons,
}

/// The names that a column may hold, by index; `classes` are the names of the run's flows.
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
    /// Name; ends in the unit.
    pub name: &'static str,
    /// Unit or type.
    pub unit: &'static str,
    /// Meaning, one sentence.
    pub meaning: &'static str,
    /// True if a record may lack the value.
    pub optional: bool,
    /// Content in one record.
    pub read: Read<R>,
    /// Appends the content of many records: `read` inside a loop, which avoids a call through a
    /// pointer for each cell.
    #[cfg(feature = "parquet")]
    pub(super) append: fn(&[R], &mut Cells),
}

/// An instant in ns of simulated time, or none; half the size of an `Option`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    /// The event did not happen.
    pub const NONE: Self = Self(u64::MAX);

    /// The event happened at `ns`, which is below 2^64 - 1.
    #[must_use]
    pub const fn at(ns: u64) -> Self {
        Self(ns)
    }

    /// The instant in ns.
    #[must_use]
    pub const fn get(self) -> Option<u64> {
        if self.0 == u64::MAX { None } else { Some(self.0) }
    }
}

impl Default for Stamp {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// The path of one packet through the chain. Instants are in ns of simulated time. Small, because
/// there is one for each packet in the chain.
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
    /// Entry into the UPF, in ns.
    pub entered: u64,
    /// Departure from the UPF.
    pub left_upf: Stamp,
    /// Departure from SDAP.
    pub left_sdap: Stamp,
    /// The pull that took the packet's last byte.
    pub left_rlc: Stamp,
    /// End in the chain: delivery or drop.
    pub ended: Stamp,
    /// Layer and reason of the drop.
    pub dropped: Option<(Layer, DropReason)>,
    /// The layer that first marked it congestion experienced.
    pub marked_at: Option<Layer>,
}

const _: () = assert!(size_of::<PacketRecord>() == 72, "a record is nine words");

impl PacketRecord {
    /// The pull that took the last byte of a delivered packet, in ns.
    #[must_use]
    pub fn delivered(&self) -> Option<u64> {
        self.left_rlc.get().filter(|_| self.dropped.is_none() && self.ended != Stamp::NONE)
    }

    /// Time from that pull to the arrival at the UE, without the air delay.
    #[must_use]
    pub fn on_air(&self) -> Option<u64> {
        Some(self.ended.get()? - self.delivered()?)
    }
}

/// One slot of the MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotRecord {
    /// The pull, in ns of simulated time.
    pub time: u64,
    /// The unit of `capacity` and `used`.
    pub unit: SlotUnit,
    /// Capacity of the cell in this slot.
    pub capacity: u64,
    /// Part of the capacity that was used.
    pub used: u64,
    /// Packets that waited in UPF, SDAP and RLC before the pull.
    pub packets: [u64; 3],
    /// Bytes that waited in UPF, SDAP and RLC before the pull.
    pub bytes: [u64; 3],
}

macro_rules! is_optional {
    (always) => {
        false
    };
    (maybe) => {
        true
    };
}

/// A table of columns. A row has a name, a unit, a sentence, a mark for a value that every record
/// has, and the source of the value.
macro_rules! records {
    (
        $(#[$doc:meta])*
        pub static $NAME:ident: $Record:ident;
        $(
            $name:literal $unit:literal $meaning:literal
            $presence:ident $kind:ident($what:expr) $(|$r:ident| $value:expr)?;
        )*
    ) => {
        $(#[$doc])*
        pub static $NAME: [RecordColumn<$Record>; [$($name),*].len()] = [$(RecordColumn {
            name: $name,
            unit: $unit,
            meaning: $meaning,
            optional: is_optional!($presence),
            read: Read::$kind($what $(, |$r| $value)?),
            #[cfg(feature = "parquet")]
            append: records!(append $($r $value)?),
        }),*];
    };
    (append $r:ident $value:expr) => {
        |rows, cells| cells.append(rows, |$r| $value)
    };
    (append) => {
        |_, _| {}
    };
}

records! {
    /// Columns of packet records.
    pub static PACKET_COLUMNS: PacketRecord;

    "packet" "number" "Number of the packet in order of entry."
        always Whole(Width::Eight) |r| Some(r.id);
    "flow" "text" "Name of the flow." always Name(Names::Classes) |r| Some(r.class);
    "flow_id" "number" "Number of the flow; several flows may have one name."
        always Whole(Width::Four) |r| Some(u64::from(r.flow));
    "ue" "number" "User equipment." always Whole(Width::Four) |r| Some(u64::from(r.ue));
    "qfi" "number" "QoS flow identifier; none when no rule matched."
        maybe Whole(Width::Four) |r| r.qfi.map(u64::from);
    "drb" "number" "Data radio bearer of the UE, from 0; none when no rule matched."
        maybe Whole(Width::Four) |r| r.drb.map(u64::from);
    "size_bytes" "bytes" "Size on the IP layer."
        always Whole(Width::Four) |r| Some(u64::from(r.size));
    "protocol" "text" "tcp, udp, icmp or, live only, other."
        always Name(Names::Protocols) |r| Some(r.protocol as u32);
    "entered_ns" "ns" "Entry into the UPF, from the start of the run."
        always Whole(Width::Eight) |r| Some(r.entered);
    "left_upf_ns" "ns" "When it went from the UPF to SDAP."
        maybe Whole(Width::Eight) |r| r.left_upf.get();
    "left_sdap_ns" "ns" "When it went from SDAP to the RLC."
        maybe Whole(Width::Eight) |r| r.left_sdap.get();
    "left_rlc_ns" "ns"
        "The pull that took its last byte, also where it was lost on the air after that."
        maybe Whole(Width::Eight) |r| r.left_rlc.get();
    "delivered_ns" "ns" "The pull that took its last byte, where the UE got it whole."
        maybe Whole(Width::Eight) |r| r.delivered();
    "sojourn_upf_ns" "ns" "Time in the UPF."
        maybe Whole(Width::Eight) |r| r.left_upf.get().map(|left| left - r.entered);
    "sojourn_sdap_ns" "ns" "Time in SDAP."
        maybe Whole(Width::Eight) |r| Some(r.left_sdap.get()? - r.left_upf.get()?);
    "sojourn_rlc_ns" "ns" "Time in the RLC, up to the pull that took its last byte."
        maybe Whole(Width::Eight) |r| Some(r.left_rlc.get()? - r.left_sdap.get()?);
    "on_air_ns" "ns"
        "From that pull until the UE had it whole and in order, without `air.delay`: HARQ, RLC's \
         reassembly, PDCP's order; 0 where the MAC does not deal in resource blocks."
        maybe Whole(Width::Eight) |r| r.on_air();
    "dropped_ns" "ns" "When it was dropped."
        maybe Whole(Width::Eight) |r| r.ended.get().filter(|_| r.dropped.is_some());
    "dropped_at" "text" "Layer that dropped it: upf, sdap or rlc."
        maybe Name(Names::Layers) |r| r.dropped.map(|(layer, _)| layer as u32);
    "drop_reason" "text"
        "Why it was dropped: overflow, overflow_victim, aqm_enqueue, aqm_dequeue, aqm_timeout, \
         discard_timer, no_rule, harq, max_retransmissions, reassembly, core_loss or handover."
        maybe Name(Names::Reasons) |r| r.dropped.map(|(_, reason)| reason as u32);
    "marked_at" "text" "Layer that first marked it congestion experienced (ECN): upf, sdap or rlc."
        maybe Name(Names::Layers) |r| r.marked_at.map(|layer| layer as u32);
    "method" "text" "Name of the run's method." always Run(Fact::Method);
    "seed" "number" "Seed of the run." always Run(Fact::Seed);
    "point" "text" "Point of the sweep, e.g. interval_ms = 20; none without a sweep."
        maybe Run(Fact::Point);
}

records! {
    /// Columns of slot records.
    pub static SLOT_COLUMNS: SlotRecord;

    "time_ns" "ns" "The pull, from the start of the run."
        always Whole(Width::Eight) |r| Some(r.time);
    "capacity_packets" "packets" "What the cell could have carried, where the MAC counts packets."
        maybe Whole(Width::Eight) |r| (r.unit == SlotUnit::Packets).then_some(r.capacity);
    "capacity_bytes" "bytes" "What the cell could have carried, where the MAC counts bytes."
        maybe Whole(Width::Eight) |r| (r.unit == SlotUnit::Bytes).then_some(r.capacity);
    "capacity_rbs" "resource blocks"
        "What the cell offered, where the MAC deals in resource blocks."
        maybe Whole(Width::Eight) |r| (r.unit == SlotUnit::ResourceBlocks).then_some(r.capacity);
    "used_packets" "packets" "What it carried, where the MAC counts packets."
        maybe Whole(Width::Eight) |r| (r.unit == SlotUnit::Packets).then_some(r.used);
    "used_bytes" "bytes" "What it carried, where the MAC counts bytes."
        maybe Whole(Width::Eight) |r| (r.unit == SlotUnit::Bytes).then_some(r.used);
    "used_rbs" "resource blocks" "What it used, where the MAC deals in resource blocks."
        maybe Whole(Width::Eight) |r| (r.unit == SlotUnit::ResourceBlocks).then_some(r.used);
    "upf_packets" "packets" "Packets in the UPF before the pull."
        always Whole(Width::Eight) |r| Some(r.packets[0]);
    "upf_bytes" "bytes" "Bytes in the UPF before the pull."
        always Whole(Width::Eight) |r| Some(r.bytes[0]);
    "sdap_packets" "packets" "Packets in SDAP before the pull."
        always Whole(Width::Eight) |r| Some(r.packets[1]);
    "sdap_bytes" "bytes" "Bytes in SDAP before the pull."
        always Whole(Width::Eight) |r| Some(r.bytes[1]);
    "rlc_packets" "packets" "Packets in the RLC before the pull."
        always Whole(Width::Eight) |r| Some(r.packets[2]);
    "rlc_bytes" "bytes" "Bytes in the RLC before the pull."
        always Whole(Width::Eight) |r| Some(r.bytes[2]);
    "method" "text" "Name of the run's method." always Run(Fact::Method);
    "seed" "number" "Seed of the run." always Run(Fact::Seed);
    "point" "text" "Point of the sweep, e.g. interval_ms = 20; none without a sweep."
        maybe Run(Fact::Point);
}
