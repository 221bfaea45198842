//! The vocabulary of every other crate: instants, units, random numbers, packet metadata, events,
//! and the plain data that the radio side and the transport side exchange.
//!
//! Pure: no clock, no thread, no socket, no platform mathematics. The same input gives the same
//! output on every machine.
//!
//! ```
//! use justfull_base::{BitRate, Duration, Instant, Rng};
//!
//! // Quantities have units, in scenario files and in code.
//! let rate: BitRate = "12Mbit/s".parse().unwrap();
//! assert_eq!(rate.time_for_ceil(1500), "1ms".parse().unwrap());
//!
//! // Time is whole nanoseconds since the start of the run.
//! let now = Instant::ZERO + Duration::from_micros(62) + Duration::from_nanos(500);
//! assert_eq!(now.as_nanos(), 62_500);
//!
//! // Each component draws from its own stream, so a new component does not change others' draws.
//! let mut losses = Rng::stream(1, "losses");
//! let mut phases = Rng::stream(1, "phases");
//! assert_ne!(losses.next_u64(), phases.next_u64());
//! assert_eq!(Rng::stream(1, "losses").next_u64(), Rng::stream(1, "losses").next_u64());
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[doc(hidden)]
pub extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod bounds;
mod decimal;
pub mod doc;
pub mod error;
pub mod event;
pub mod feedback;
mod forward;
mod kinds;
mod macros;
pub mod make;
pub mod packet;
pub mod param;
pub mod rng;
#[cfg(feature = "serde")]
mod serde_impls;
pub mod stats;
pub mod ticker;
pub mod time;
pub mod units;

pub use error::ConfigError;
pub use event::{DropReason, Event, Layer, Probe, Silent};
pub use feedback::{CellKind, RanReport, SlotForecast, SlotReport};
pub use packet::{Ecn, Packet, PduSet};
pub use rng::Rng;
pub use ticker::{Lateness, Ticker, TickerConfig};
pub use time::{Duration, Instant};
pub use units::{BitRate, Bytes, Dscp, Qfi, Ratio};
