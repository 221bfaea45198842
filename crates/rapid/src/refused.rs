//! Events that the machine refuses.

use core::fmt;

/// Why an event was refused; it changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No such cell.
    UnknownCell,
    /// No such UE, or it was removed.
    UnknownUe,
    /// No such flow, or it was closed.
    UnknownFlow,
    /// A control of a [`Room`](crate::Room) has no place for another UE or flow.
    Full,
    /// The report is not newer than the last one of this UE.
    Late,
    /// This field of the report is outside its bounds, or contradicts another.
    Absurd(&'static str),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCell => f.write_str("no such cell"),
            Self::UnknownUe => f.write_str("no such UE"),
            Self::UnknownFlow => f.write_str("no such flow"),
            Self::Full => f.write_str("no room for another UE or flow"),
            Self::Late => f.write_str("the report is not newer than the last one"),
            Self::Absurd(field) => write!(f, "field `{field}` of the report is out of bounds"),
        }
    }
}

impl core::error::Error for Refused {}
