//! The native part of the Python package `justfull`: an interface to `scenario`, `lab` and
//! `report`. The part that users see is in `python/justfull`.
//!
//! It only converts. No algorithm lives here.
#![deny(unsafe_code)]

mod arrow;
mod campaign;
mod errors;
mod own;
mod results;
mod run;
mod saved;
mod scenario;
mod trace;

use pyo3::prelude::*;

/// The native part of justfull.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::arrow::Table;
    #[pymodule_export]
    use super::campaign::{Campaign, adopt_orphans, die_with_parent};
    #[pymodule_export]
    use super::own::aqm::{Packet, Queue};
    #[pymodule_export]
    use super::own::check_limiter;
    #[pymodule_export]
    use super::own::control::Ack;
    #[pymodule_export]
    use super::own::limiter::SlotReport;
    #[pymodule_export]
    use super::own::rb_scheduler::{Demand, UeDemand};
    #[pymodule_export]
    use super::results::{
        Results, column, half_width, in_words, looks, over_time, point_in_words, time_in_words,
    };
    #[pymodule_export]
    use super::saved::{Saved, runs};
    #[pymodule_export]
    use super::scenario::{Scenario, scenario_text, shipped_methods, shipped_scenarios};
    #[pymodule_export]
    use super::trace::{Trace, shipped_fits, synthesise};

    /// Version of the program.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Hash of the source that determines results.
    #[pymodule_export]
    const SOURCE: &str = justfull_campaign::SOURCE;
}
