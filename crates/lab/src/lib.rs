//! Scenario files, runs, statistics, figures and claims: everything between a user's file and the simulator.
//!
//! A door: it parses, builds and shows. No algorithm lives here.
#![forbid(unsafe_code)]

pub mod claims;
pub mod export;
pub mod figure;
pub mod input;
pub mod library;
pub mod near;
pub mod parity;
pub mod reference;
pub mod report;
pub mod runner;
pub mod scenario;
pub mod stats;
pub mod table;
pub mod trace;
pub mod validation;
