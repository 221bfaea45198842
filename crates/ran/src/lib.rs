//! The downlink of a radio access network, from the user plane function to the slot: UPF -> SDAP (a
//! queue per QFI) -> RLC (a queue per data radio bearer) -> MAC.
//!
//! Pure: the caller owns the clock. [`Stack`] takes one input at a time (a packet or a wake) and
//! returns when it wants to be woken next. Only `stack.rs`, and `bearer` and `mac` below it, call
//! across layers.
//!
//! ```
//! use justfull_base::{Duration, Instant, Layer, Packet, Silent, SlotReport};
//! use justfull_queue::{Limit, ManagedQueue, QueueConfig};
//! use justfull_ran::channel::CapacityUnit;
//! use justfull_ran::limiter::{AnyLimiter, DrqlConfig, Limiter, LimiterConfig};
//! use justfull_ran::limiter::{LimiterContext, RlcView};
//!
//! // SDAP's queue holds 300 packets. Below it are DRQL and an RLC queue; the radio takes two
//! // packets a slot.
//! let deep = QueueConfig::tail_drop(Limit::Packets(1000));
//! let mut sdap = ManagedQueue::new(Layer::Sdap, &deep, 1)?;
//! let mut rlc = ManagedQueue::new(Layer::Rlc, &deep, 2)?;
//! let slot = Duration::from_millis(1);
//! let context = LimiterContext { unit: CapacityUnit::Packets, slot, mtu: 1500 };
//! let drql = DrqlConfig { start: 10, ..DrqlConfig::default() };
//! let mut drql = AnyLimiter::new(&LimiterConfig::Drql(drql), &context)?;
//! let mut now = Instant::ZERO;
//! for id in 0..300 {
//!     sdap.enqueue(now, Packet { id, size: 1500, ..Packet::default() }, &mut Silent);
//! }
//! let view = |q: &ManagedQueue| RlcView {
//!     packets: q.backlog_packets().into(),
//!     bytes: q.backlog_bytes(),
//! };
//! for _ in 0..100 {
//!     while sdap.peek().is_some_and(|sdu| drql.admits(now, sdu, &view(&rlc))) {
//!         let sdu = sdap.dequeue(now, &mut Silent).expect("it has a head");
//!         rlc.enqueue(now, sdu, &mut Silent);
//!         drql.on_admitted(now, drql.amount(&sdu), &view(&rlc));
//!     }
//!     now += slot;
//!     let mut used = 0;
//!     while used < 2 && let Some(sdu) = rlc.dequeue(now, &mut Silent) {
//!         drql.on_departed(now, now.since(sdu.enqueued));
//!         used += 1;
//!     }
//!     let remaining = rlc.backlog_packets().into();
//!     let (pulled_at, starved) = (now, used < 2);
//!     let (granted, capacity) = (2, 2);
//!     drql.on_slot(&SlotReport {
//!         pulled_at, slot, granted, used, remaining, capacity, starved,
//!     });
//! }
//! assert_eq!(rlc.counters().departed.packets, 200, "no slot was empty");
//! assert!(rlc.backlog_packets() < 5, "what waits does so above, where it can be scheduled");
//! # Ok::<(), justfull_base::ConfigError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bearer;
mod carried;
pub mod carrier;
pub mod channel;
pub mod config;
mod few;
mod harq;
pub mod limiter;
pub mod mac;
pub mod pacer;
pub mod pdcp;
pub mod pdu;
mod poll;
mod prefix;
pub mod rb_demand;
pub mod rb_scheduler;
pub mod rlc;
pub mod scheduler;
mod sdap;
pub mod stack;
mod timeouts;
pub mod upf;

pub use carrier::{AllocationType, CarrierConfig, CarrierKind};
pub use config::{
    CellContext, Hold, PollConfig, QosFlowConfig, RlcConfig, SdapConfig, TieOrder, UeConfig,
    UpfConfig,
};
pub use harq::HarqConfig;
pub use mac::{BytesConfig, DchConfig, HsdpaConfig, MacConfig, PacketsConfig, RbConfig};
pub use pdcp::PdcpConfig;
pub use prefix::Prefix;
pub use rlc::RlcModeConfig;
pub use stack::{Egress, Stack, StackConfig, StatusWay};
pub use upf::{FiveTuple, PacketDetectionRule};

/// Descriptions of the parts of a MAC that allocates resource blocks.
pub const RB_DOCS: [&justfull_base::doc::MethodDoc; 3] = [&carrier::DOC, &harq::DOC, &pdcp::DOC];
