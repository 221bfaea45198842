//! The next tick of one layer, and the skipping of ticks at which there is nothing to do.

use justfull_base::{Instant, Ticker};

/// A layer's poll: armed while there is something to do, silent otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Poll {
    ticker: Option<Ticker>,
    /// The armed tick, or the least that may be armed next.
    tick: u64,
    /// When the armed tick is due; never when none is armed.
    due: Instant,
}

impl Poll {
    pub(crate) fn new(ticker: Option<Ticker>) -> Self {
        Self { ticker, tick: 0, due: Instant::NEVER }
    }

    /// True when the layer acts at once instead of being polled.
    #[inline]
    pub(crate) fn is_event_driven(&self) -> bool {
        self.ticker.is_none()
    }

    /// Something is there to do from `now` on.
    #[inline]
    pub(crate) fn arm(&mut self, now: Instant, strictly: bool) {
        if self.due == Instant::NEVER
            && let Some(ticker) = &self.ticker
        {
            (self.tick, self.due) = ticker.first(self.tick, now, strictly);
        }
    }

    /// When the armed tick is due; never when nothing is armed.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Takes the armed tick: its number and instant.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(u64, Instant)> {
        if self.due == Instant::NEVER {
            return None;
        }
        let taken = (self.tick, self.due);
        self.tick += 1;
        self.due = Instant::NEVER;
        Some(taken)
    }

    /// The first tick at or after `t` (after, when `strictly`) whether armed or not; `t` itself when event-driven.
    pub(crate) fn first(&self, t: Instant, strictly: bool) -> (u64, Instant) {
        self.ticker.as_ref().map_or((0, t), |ticker| ticker.first(0, t, strictly))
    }

    /// Number of ticks strictly between two instants, at most `most`; 0 when event-driven.
    pub(crate) fn count_between(&self, after: Instant, before: Instant, most: u32) -> u32 {
        self.ticker.as_ref().map_or(0, |ticker| ticker.count_between(after, before, most))
    }
}
