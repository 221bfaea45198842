//! TCP endpoints without input and output: a [`Sender`] and a [`Receiver`] that exchange [`Segment`]s and [`Ack`]s
//! through whatever the caller puts between them.
//!
//! What is modelled: loss detection by time with tail loss probes (RACK-TLP, RFC 8985) or by counting (RFC 6675),
//! proportional rate reduction (RFC 6937), the retransmission timer (RFC 6298) with timestamps
//! (RFC 7323), detection of spurious retransmissions (RFC 3522, RFC 5682),
//! delayed acknowledgements (RFC 5681), flow control with zero-window probes (RFC 9293), ECN (RFC 3168), pacing
//! and delivery-rate samples. What is not: the handshake and the close (a connection is established when it is
//! created) and the bytes themselves (only stream offsets travel; they start at 0 and never wrap).
//!
//! The engine owns recovery, timers and pacing; a [`cc::CongestionController`] only answers how large the window
//! is and, if it likes, at which rate to pace.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod cc;
pub mod config;
mod hystart;
mod pacer;
mod prr;
mod rack;
mod rate;
pub mod receiver;
mod rtt;
mod scoreboard;
pub mod segment;
pub mod sender;
#[cfg(test)]
mod testing;

pub use cc::{AnyControl, CcConfig, CongestionController};
pub use config::{Pacing, Prr, Recovery, SenderConfig, SpuriousDetection};
pub use hystart::HyStart;
pub use receiver::{AutoWindow, Receiver, ReceiverConfig, ReceiverStats, Window};
pub use segment::{Ack, SackBlock, Segment};
pub use sender::{RecoveryState, Sender, SenderSnapshot, SenderStats};
