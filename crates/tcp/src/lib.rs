//! TCP endpoints without input and output: a [`Sender`] and a [`Receiver`] that exchange
//! [`Segment`]s and [`Ack`]s over any path of the caller.
//!
//! The model has: loss detection by time with tail loss probes (RACK-TLP, RFC 8985) or by counting
//! (RFC 6675, or RFC 6582 without SACK), proportional rate reduction (RFC 6937), the retransmission
//! timer (RFC 6298) with timestamps (RFC 7323) or without, detection of spurious retransmissions
//! (RFC 3522, RFC 5682), delayed acknowledgements (RFC 5681), flow control with zero-window probes
//! (RFC 9293), ECN (RFC 3168, RFC 9768), pacing and delivery-rate samples;
//! on request a SYN that data waits for. The model has neither the close nor the bytes themselves
//! (only stream offsets travel; they start at 0 and never wrap).
//!
//! The engine owns recovery, timers and pacing; a [`CongestionController`] only sets the window
//! and, optionally, the pacing rate.
//!
//! ```
//! use justfull_base::{Duration, Instant};
//! use justfull_tcp::{Receiver, ReceiverConfig, Sender, SenderConfig};
//!
//! // CUBIC sends a megabyte to a receiver 10 ms away, over a network without a limit.
//! let mut sender = Sender::new(&SenderConfig::default())?;
//! let mut receiver = Receiver::new(&ReceiverConfig::default())?;
//! sender.write(1_000_000);
//! sender.close();
//! let (mut now, mut rounds) = (Instant::ZERO, 0);
//! while !sender.all_acked() {
//!     let mut flight = Vec::new();
//!     while let Some(segment) = sender.poll_transmit(now) {
//!         flight.push(segment);
//!     }
//!     now += Duration::from_millis(20);
//!     for segment in &flight {
//!         if let Some(ack) = receiver.on_segment(now, segment, false) {
//!             sender.on_ack(now, &ack);
//!         }
//!     }
//!     // An odd last segment is acknowledged by the timer.
//!     if let Some(ack) = receiver.next_timer().and_then(|due| receiver.on_timer(due)) {
//!         sender.on_ack(now, &ack);
//!     }
//!     rounds += 1;
//! }
//! assert_eq!(receiver.delivered_bytes(), 1_000_000);
//! assert!(rounds < 10, "the window doubles in each round: {rounds}");
//! assert_eq!(sender.stats().segments_retransmitted, 0);
//! # Ok::<(), justfull_base::ConfigError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod accecn;
pub mod cc;
pub mod config;
pub mod control;
mod delay_round;
mod hystart;
pub mod kernel;
pub mod media;
mod numbers;
mod pacer;
mod prr;
mod rack;
mod rate;
pub mod rc;
pub mod receiver;
mod record;
mod reno;
mod rtt;
mod scoreboard;
pub mod segment;
pub mod sender;
#[cfg(test)]
mod testing;
mod windowed_max;

pub use cc::CongestionController;
pub use cc::{AnyControl, CcConfig};
pub use config::{Pacing, Preset, Prr, Recovery, Rto, SenderConfig, SpuriousDetection};
pub use control::RecoveryState;
pub use hystart::HyStart;
pub use kernel::Kernel;
pub use rc::{RateController, RcConfig};
pub use receiver::{AutoWindow, Receiver, ReceiverConfig, ReceiverStats, Window};
pub use segment::{Ack, Mark, SackBlock, Segment};
pub use sender::{Outlet, Sender, SenderSnapshot, SenderStats};
