//! The words every other crate speaks: instants, units, chance, packet metadata, events and the plain data
//! that the radio side and the transport side tell each other.
//!
//! Pure: no clock, no thread, no socket, no platform mathematics. What comes out depends on what went in, on
//! every machine.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod doc;
pub mod error;
pub mod event;
pub mod feedback;
pub mod packet;
pub mod rng;
#[cfg(feature = "serde")]
mod serde_impls;
pub mod ticker;
pub mod time;
pub mod units;

pub use error::ConfigError;
pub use event::{DropReason, Event, Layer, Probe, Silent};
pub use feedback::{SlotForecast, SlotReport};
pub use packet::{Ecn, Packet};
pub use rng::Rng;
pub use ticker::{Lateness, Ticker, TickerConfig};
pub use time::{Duration, Instant};
pub use units::{BitRate, Bytes, Dscp, Qfi, Ratio};
