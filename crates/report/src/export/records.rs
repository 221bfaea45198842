//! Records of single packets and slots, streamed during the run: Parquet, CSV or JSON lines.
//!
//! A packet's record is written when the packet has left the chain (delivered or dropped). Packets
//! still queued at the end of the run come last. Memory holds the packets in the chain, one row
//! group and the records on their way to it, for a run of any length. A missing value is a null, an
//! empty cell, or an absent key, never a zero.
//!
//! Each file records its schema, the version of the program, seed, method and the resolved
//! scenario: Parquet in its key-value metadata, CSV in a first line that starts with `#`, JSON
//! lines in a first record whose only key is `justfull`.

#[cfg(feature = "parquet")]
mod cells;
mod columns;
mod file;
#[cfg(feature = "parquet")]
mod parquet;
mod taps;
mod text;

pub use columns::{
    Fact, PACKET_COLUMNS, PacketRecord, Read, RecordColumn, SLOT_COLUMNS, SlotRecord, Stamp, Width,
    names_of,
};
pub use file::{Format, RecordFile};
#[cfg(feature = "parquet")]
pub(super) use parquet::plain;
pub use taps::{PacketTap, SlotTap};
