//! The error for a text that does not have the expected format.

use std::fmt;

/// Why a text does not have its format: the wrong part and the allowed form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

impl From<String> for Malformed {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for Malformed {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}
