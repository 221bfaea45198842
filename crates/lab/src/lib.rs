//! Runs scenarios and evaluates them: results as data, statistics over seeds, claims of papers,
//! validation of TCP.
//!
//! This crate runs, summarises and judges. It has no algorithm of its own and displays nothing.
#![forbid(unsafe_code)]

pub mod claims;
pub mod model;
pub mod own;
pub mod parity;
pub mod plugin;
pub mod recommend;
pub mod runner;
pub mod stats;
pub mod validation;
