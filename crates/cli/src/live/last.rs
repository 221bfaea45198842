//! The last view of a run, where the driver leaves it and others look: it never waits for them.

use justfull_base::Instant;
use justfull_live::driver::{View, Watch};
use std::sync::{Arc, Mutex, PoisonError};

/// The run when it was last seen; none before that.
#[derive(Clone, Default)]
pub(super) struct Last(Arc<Mutex<Option<(Instant, View)>>>);

impl Last {
    /// Another run begins, of which nothing has been seen.
    pub(super) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A copy of it.
    pub(super) fn get(&self) -> Option<(Instant, View)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Watch for Last {
    /// A view is left out when somebody is just looking.
    fn saw(&mut self, now: Instant, view: &View) {
        if let Ok(mut last) = self.0.try_lock() {
            *last = Some((now, view.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::metrics::tests::view;

    #[test]
    fn a_driver_whose_view_is_being_looked_at_goes_on() {
        let mut last = Last::default();
        let other = last.clone();
        let held = other.0.lock().expect("nobody panicked");
        last.saw(Instant::ZERO, &view());
        assert!(held.is_none(), "this view is left out");
        drop(held);
        last.saw(Instant::ZERO, &view());
        assert!(other.get().is_some());
    }
}
