//! Content of a cell of the result files.

use serde::{Serialize, Serializer};
use std::fmt;

/// Content of one cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// There is no such value.
    Absent,
    /// Text.
    Text(String),
    /// A whole number.
    Whole(u64),
    /// A measured number; one that is not finite is written as absent.
    Real(f64),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        if text.is_empty() { Self::Absent } else { Self::Text(text.into()) }
    }

    pub(super) fn real(value: Option<f64>) -> Self {
        value.map_or(Self::Absent, Self::Real)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Whole(n) => write!(f, "{n}"),
            Self::Real(x) if x.is_finite() => write!(f, "{x}"),
            Self::Flag(b) => write!(f, "{b}"),
            Self::Absent | Self::Real(_) => Ok(()),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => s.serialize_str(text),
            Self::Whole(n) => s.serialize_u64(*n),
            Self::Real(x) if x.is_finite() => s.serialize_f64(*x),
            Self::Flag(b) => s.serialize_bool(*b),
            Self::Absent | Self::Real(_) => s.serialize_none(),
        }
    }
}
