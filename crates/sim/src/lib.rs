//! Deterministic simulator of the stack: servers, the core network, the chain of `justfull-ran`,
//! user equipments and the return path, in one discrete-event loop.
//!
//! The same world and seed give bit-identical results on every machine. Packets are never queued in
//! the event loop: a link of fixed delay is already in order, so it keeps its own queue and gives
//! the loop one instant.
#![forbid(unsafe_code)]

mod applications;
mod calendar;
mod cell;
mod cells;
pub mod dumbbell;
mod hosts;
mod links;
mod monitor;
mod proxy;
mod radio;
mod receivers;
mod senders;
pub mod world;

pub use dumbbell::{Dumbbell, DumbbellConfig, DumbbellFlow};
pub use world::{Progress, World};
