//! The error of this crate.

use std::fmt::{self, Display, Formatter};

/// The reason why something cannot be shown, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportError(String);

impl Display for ReportError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReportError {}

impl From<String> for ReportError {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for ReportError {
    fn from(why: &str) -> Self {
        Self(why.into())
    }
}
