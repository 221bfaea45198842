//! Queues: active queue management, queue disciplines and the container that counts packets.
//!
//! [`ManagedQueue`] is the type that other crates use. It stores packets through a [`Discipline`]
//! (which selects the lane to serve and the victim of an overflow), calls an [`Aqm`] that decides
//! whether to signal congestion, turns a signal into a mark or a drop in one place, and checks that
//! no packet is lost or duplicated.
//!
//! Pure: no clock, no thread, no socket. `now` is always an argument.
//!
//! ```
//! use justfull_base::{DropReason, Duration, Instant, Layer, Packet, Silent};
//! use justfull_queue::{AqmConfig, Limit, ManagedQueue, QueueConfig};
//!
//! // A queue under CoDel, offered a packet each millisecond for four seconds and served every
//! // second one.
//! let aqm = AqmConfig::CoDel(Default::default());
//! let config = QueueConfig { limit: Limit::Packets(1000), aqm, ..QueueConfig::default() };
//! let mut queue = ManagedQueue::new(Layer::Sdap, &config, 1)?;
//! for id in 0..4_000 {
//!     let now = Instant::ZERO + Duration::from_millis(id);
//!     queue.enqueue(now, Packet { id, size: 1500, ..Packet::default() }, &mut Silent);
//!     if id % 2 == 1 {
//!         let packet = queue.dequeue(now, &mut Silent).expect("it is never empty");
//!         assert!(now.since(packet.enqueued) < Duration::from_secs(2));
//!     }
//! }
//! let counters = queue.counters();
//! let dropped = counters.dropped(DropReason::AqmDequeue).packets;
//! assert!(dropped > 0, "it signals that the queue stands");
//! // No packet is lost or duplicated.
//! let ended = counters.departed.packets + counters.dropped_total().packets;
//! assert_eq!(counters.arrived.packets, ended + u64::from(queue.waiting_packets()));
//! # Ok::<(), justfull_base::ConfigError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod aqm;
pub mod counters;
pub mod discipline;
mod lane;
pub mod limit;
pub mod managed;
mod pool;
mod red;

pub use aqm::{
    AnyAqm, Aqm, AqmConfig, AqmContext, DeliveryReport, Ect1, LaneView, Needs, QueueView, Scan,
    Verdict,
};
pub use counters::{Count, Counters, Withheld};
pub use discipline::{AnyDiscipline, Discipline, DisciplineConfig, End, Victim};
pub use lane::{Lane, Queued, Tag};
pub use limit::Limit;
pub use managed::{ManagedQueue, Pass, QueueConfig};
