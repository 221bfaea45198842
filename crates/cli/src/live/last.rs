//! The last view of a run. The driver stores it and others read it; the driver never waits for
//! them.

use justfull_base::{Duration, Instant};
use justfull_live::driver::{View, Watch};
use std::sync::{Arc, Mutex, PoisonError};

/// The identity of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    pub(super) scenario: String,
    pub(super) method: String,
    /// Point of a sweep for people, after a comma; empty without one.
    pub(super) point: String,
    pub(super) seed: u64,
    pub(super) duration: Duration,
}

/// A run at one instant.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) about: Arc<About>,
    pub(super) now: Instant,
    pub(super) view: View,
}

#[derive(Default)]
struct State {
    about: Arc<About>,
    seen: Option<(Instant, View)>,
}

/// The last view of the run; none before the first.
#[derive(Clone, Default)]
pub(super) struct Last(Arc<Mutex<State>>);

impl Last {
    /// Another run begins; it has no view yet.
    pub(super) fn begin(&self, about: About) {
        let state = State { about: Arc::new(about), seen: None };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// A copy of the view.
    pub(super) fn get(&self) -> Option<Seen> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, view) = state.seen.clone()?;
        Some(Seen { about: Arc::clone(&state.about), now, view })
    }
}

impl Watch for Last {
    /// The view is skipped while another thread reads.
    fn saw(&mut self, now: Instant, view: &View) {
        if let Ok(mut last) = self.0.try_lock() {
            last.seen = Some((now, view.clone()));
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
        assert!(held.seen.is_none(), "this view is left out");
        drop(held);
        last.saw(Instant::ZERO, &view());
        assert!(other.get().is_some());
    }
}
