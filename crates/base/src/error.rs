//! The error that constructors return for an impossible setting.

use alloc::string::{String, ToString};
use core::fmt;

/// A setting outside its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Dotted name of the field within the object that was built, e.g. `target`.
    pub field: String,
    /// The value that was found.
    pub value: String,
    /// The allowed values.
    pub bound: String,
    /// Where the bound comes from (a standard's section, a paper, or the reason in words); may be
    /// empty.
    pub source: &'static str,
}

impl ConfigError {
    /// An error for `field`, which holds `value` but must satisfy `bound` according to `source`.
    #[must_use]
    pub fn new(field: &str, value: &dyn fmt::Display, bound: &str, source: &'static str) -> Self {
        Self { field: field.into(), value: value.to_string(), bound: bound.into(), source }
    }

    /// The same error one level further out: `field` becomes `parent.field`.
    #[must_use]
    pub fn within(mut self, parent: &str) -> Self {
        self.field = if self.field.is_empty() {
            parent.into()
        } else {
            alloc::format!("{parent}.{}", self.field)
        };
        self
    }

    /// The allowed values, and in brackets the source of the bound, if it has one.
    #[must_use]
    pub fn allowed(&self) -> String {
        match self.source {
            "" => self.bound.clone(),
            source => alloc::format!("{} ({source})", self.bound),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field `{}`: found {}, allowed is {}", self.field, self.value, self.allowed())
    }
}

impl core::error::Error for ConfigError {}

/// Returns an error unless `ok`.
///
/// # Errors
/// A [`ConfigError`] from the other arguments when `ok` is false.
pub fn ensure(
    ok: bool,
    field: &str,
    value: &dyn fmt::Display,
    bound: &str,
    source: &'static str,
) -> Result<(), ConfigError> {
    if ok { Ok(()) } else { Err(ConfigError::new(field, value, bound, source)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_source_has_no_brackets() {
        let error = |source| ConfigError::new("max", &1, "at least 2", source).within("limits");
        assert_eq!(error("").to_string(), "field `limits.max`: found 1, allowed is at least 2");
        assert_eq!(
            error("RFC 0000").to_string(),
            "field `limits.max`: found 1, allowed is at least 2 (RFC 0000)"
        );
    }
}
