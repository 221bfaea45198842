//! Functions that make a user's own kind of algorithm, and settings that it declares itself.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

/// A function that makes a user's own algorithm, for each place that it works in. Two are equal if
/// they are the same function.
pub struct Make<F: ?Sized>(pub Arc<F>);

/// A setting that a user's own algorithm declares: a number.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OwnSetting {
    /// Its name.
    pub name: String,
    /// Its unit in words.
    pub unit: String,
    /// Its value if none is given.
    pub default: f64,
    /// Its least value.
    pub min: f64,
    /// Its greatest value.
    pub max: f64,
    /// One sentence about it.
    pub text: String,
}

impl OwnSetting {
    /// True if `value` is within the bounds.
    #[must_use]
    pub fn allows(&self, value: f64) -> bool {
        (self.min..=self.max).contains(&value)
    }

    /// The allowed values in words.
    #[must_use]
    pub fn allowed(&self) -> String {
        let Self { unit, min, max, .. } = self;
        format!("{min} to {max} {unit}")
    }
}

impl<F: ?Sized> Clone for Make<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F: ?Sized> fmt::Debug for Make<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a user's own")
    }
}

impl<F: ?Sized> Eq for Make<F> {}

impl<F: ?Sized> PartialEq for Make<F> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
