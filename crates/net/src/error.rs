//! Errors at the boundary to the machine.

use std::fmt;

/// One clear sentence about an operation that failed, with the missing right or resource.
#[derive(Debug)]
pub struct SystemError {
    /// The operation, with the name of its object: "open /dev/net/tun".
    pub doing: String,
    /// The machine's error, or the missing right or resource.
    pub reason: String,
}

impl SystemError {
    /// `doing` failed for `reason`.
    pub fn new(doing: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self { doing: doing.into(), reason: reason.to_string() }
    }
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.doing, self.reason)
    }
}

impl std::error::Error for SystemError {}
