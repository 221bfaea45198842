//! The downlink chain of a radio access network, from the user plane function to the slot:
//! UPF -> SDAP (a queue per QFI) -> RLC (a queue per data radio bearer) -> MAC.
//!
//! Pure: the caller owns the clock. [`Stack`] takes one input at a time (a packet or a wake) and says when it wants to
//! be woken next; only `stack.rs` calls across layers.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod carrier;
pub mod channel;
pub mod config;
mod few;
mod harq;
mod in_flight;
pub mod limiter;
mod link;
pub mod mac;
pub mod pacer;
pub mod pdcp;
pub mod poll;
mod prefix;
pub mod rb_demand;
pub mod rb_scheduler;
pub mod rlc;
pub mod scheduler;
pub mod sdap;
pub mod stack;
pub mod upf;

pub use carrier::{AllocationType, CarrierConfig, CarrierKind};
pub use config::{
    MacConfig, PollConfig, QosFlowConfig, RlcConfig, SdapConfig, StackConfig, TieOrder, UeConfig, UpfConfig,
};
pub use harq::HarqConfig;
pub use pdcp::PdcpConfig;
pub use prefix::Prefix;
pub use rlc::RlcModeConfig;
pub use stack::{Egress, Stack};
pub use upf::{FiveTuple, PacketDetectionRule};
