//! A call's media endpoints without input and output: a [`MediaSender`] that cuts, paces and
//! follows packets under a rate control ([`crate::rc`]), and a [`MediaReceiver`] that reports on
//! them.
//!
//! The packets are RTP's (RFC 3550): a packet has a number and the number of its frame, and the
//! last packet of a frame is marked. Nothing is sent twice, and no packet is rebuilt from others.

mod receiver;
mod sender;

pub use receiver::{MediaArrival, MediaReceiver, MediaReport};
pub use sender::{MediaPacket, MediaSender};

/// Bytes of RTP's header.
pub const RTP_HEADER_BYTES: u32 = 12;

#[cfg(test)]
mod tests;
