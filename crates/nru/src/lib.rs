//! Frames of F1-U, between a CU-UP and a DU: GTP-U (TS 29.281, Release 17) with its extension
//! headers, of which the NR RAN container carries a frame of NR-U (TS 38.425, Release 17).
//!
//! Reading borrows from the datagram and allocates nothing; every wrong length is a [`Malformed`].
//! Writing fills a buffer of the caller. [`edit`] changes, in place, the two fields of a delivery
//! status that bound a CU-UP, and updates the checksum.
//!
//! ```
//! use justfull_nru::{DeliveryStatus, Frame, Message, gtpu};
//!
//! let mut bytes = [0; 64];
//! let status = DeliveryStatus { desired_buffer_size: 15_000, ..DeliveryStatus::default() };
//! let mut builder = gtpu::Builder::new(&mut bytes, gtpu::G_PDU, 7)?;
//! builder.extension(gtpu::NR_RAN_CONTAINER, |room| Frame::Status(status).write(room))?;
//! let length = builder.finish()?;
//!
//! let message = Message::read(&bytes[..length])?;
//! assert_eq!(message.teid, 7);
//! assert_eq!(message.frame()?, Some(Frame::Status(status)));
//! # Ok::<(), justfull_nru::Malformed>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod assistance;
pub mod checksum;
mod cursor;
pub mod edit;
mod error;
mod frame;
pub mod gtpu;
mod list;
mod session;
mod status;
mod user_data;

pub use assistance::{Assistance, RadioQualities, RadioQuality};
pub use error::Malformed;
pub use frame::Frame;
pub use gtpu::Message;
pub use list::{DiscardBlock, DiscardBlocks, SnRange, SnRanges};
pub use session::{Session, SessionKind};
pub use status::DeliveryStatus;
pub use user_data::{Discard, UserData};

/// Sequence numbers are below this: NR-U's own, and PDCP's in its 24 bits (TS 38.425 sections
/// 5.5.3.2 to 5.5.3.27).
pub const SN_END: u32 = 1 << 24;
