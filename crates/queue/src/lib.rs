//! Queues: active queue management, queue disciplines and the one container that counts.
//!
//! [`ManagedQueue`] is what other crates hold. It stores packets through a [`Discipline`] (which lane is served next,
//! which packet is the victim of an overflow), asks an [`Aqm`] whether to signal congestion, turns a signal into a
//! mark or a drop in one place, and proves that no packet is lost or doubled.
//!
//! Pure: no clock, no thread, no socket. `now` is always an argument.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod aqm;
pub mod counters;
pub mod discipline;
#[cfg(all(test, feature = "serde"))]
mod doc_check;
pub mod limit;
pub mod managed;
mod pool;

pub use aqm::{AQMS, AnyAqm, Aqm, AqmConfig, QueueView, Scan, Tag, Verdict};
pub use counters::{Count, Counters};
pub use discipline::{AnyDiscipline, DISCIPLINES, Discipline, DisciplineConfig, End, Lane, Queued, Victim};
pub use limit::{LIMITS, Limit};
pub use managed::{ManagedQueue, QueueConfig};
