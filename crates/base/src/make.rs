//! Functions that make a user's own kind of algorithm.

use alloc::sync::Arc;
use core::fmt;

/// A function that makes a user's own algorithm, for each place that it works in. Two are equal if
/// they are the same function.
pub struct Make<F: ?Sized>(pub Arc<F>);

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
