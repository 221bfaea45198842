//! Runs scenarios and evaluates them: results as data, statistics over seeds, claims of papers,
//! validation of TCP.
//!
//! A door: it runs, summarises and judges. No algorithm lives here, and nothing is displayed.
#![forbid(unsafe_code)]

pub mod claims;
pub mod model;
pub mod own;
pub mod parity;
pub mod recommend;
pub mod runner;
pub mod stats;
pub mod validation;
