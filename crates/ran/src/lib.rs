//! The downlink of a radio access network, from the user plane function to the slot: UPF -> SDAP (a
//! queue per QFI) -> RLC (a queue per data radio bearer) -> MAC.
//!
//! Pure: the caller owns the clock. [`Stack`] takes one input at a time (a packet or a wake) and
//! returns the instant of its next wake. Only `stack.rs`, and `bearer` and `mac` below it, call
//! across layers.
//!
//! [`gate::Gate`] is the part above the RLC of one UE, for a base station with its own RLC and MAC.
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
pub mod desired;
pub mod drx;
mod few;
pub mod gate;
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
    CellContext, Hold, Leg, MarkingConfig, MarkingPlace, PollConfig, QosFlowConfig, RlcConfig,
    Routing, ScellConfig, SdapConfig, SplitConfig, TieOrder, UeConfig, UpfConfig,
};
pub use drx::DrxConfig;
pub use harq::HarqConfig;
pub use limiter::{F1Config, LimiterNode};
pub use mac::{
    AccessCounts, BytesConfig, CarrierUse, DchConfig, HsdpaConfig, LogicalChannelConfig, MacConfig,
    PacketsConfig, RbConfig, Reported, UplinkAccess, UplinkMacConfig,
};
pub use pdcp::PdcpConfig;
pub use prefix::Prefix;
pub use rlc::RlcModeConfig;
pub use stack::{Egress, Stack, StackConfig, StatusWay};
pub use upf::{FiveTuple, PacketDetectionRule};

/// Descriptions of the parts of a MAC that allocates resource blocks.
pub const RB_DOCS: [&justfull_base::doc::MethodDoc; 3] = [&carrier::DOC, &harq::DOC, &pdcp::DOC];
