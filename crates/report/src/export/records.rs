//! Records of single packets and slots, streamed while the run goes on: Parquet, CSV or JSON lines.
//!
//! A packet's record is written when the packet has left the chain (delivered or dropped), those
//! still queued when the run ends come last; so memory holds the packets that wait, one row group
//! and the records on their way to it, whatever the length of the run. A value that does not exist
//! is a null, an empty cell, or a key left out; never a zero.
//!
//! Each file says of itself which schema it has, which version of the program made it, seed, method
//! and the resolved scenario: Parquet in its key-value metadata, CSV in a first line that starts
//! with `#`, JSON lines in a first record whose only key is `justfull`.

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
