//! Presentation of results: tables, figures, pages, and files in many formats.
//!
//! This crate writes down results. It has no algorithm of its own.
#![forbid(unsafe_code)]

pub mod chosen;
pub mod difference;
pub mod earlier;
mod error;
pub mod export;
pub mod figure;
mod html;
pub mod means;
pub mod read;
pub mod reference;
mod save;
pub mod table;
pub mod validation;
pub mod words;

/// The library of charts, uPlot 1.6.32 (MIT).
pub const CHARTS: &str = include_str!("../web/vendor/uPlot.min.js");
/// The style of [`CHARTS`].
pub const CHART_STYLE: &str = include_str!("../web/vendor/uPlot.min.css");

pub use error::ReportError;
pub use html::{Study, html};
pub use save::save;
