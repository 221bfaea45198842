//! Events of applications that are not bound to one item in the measured window.

use super::Recorder;
use crate::app_stats::AppEvent;
use justfull_base::{Duration, Instant};

impl Recorder {
    /// Counts the event that `of` makes of the part of the time between `from` and `to` within the
    /// measured window, if there is one.
    #[cold]
    pub fn app_span(
        &mut self,
        flow: u32,
        from: Instant,
        to: Instant,
        of: impl FnOnce(Duration) -> AppEvent,
    ) {
        let from = from.max(self.warmup);
        if from < to {
            self.class_of(flow).app.count(of(to.since(from)));
        }
    }

    /// Playback of `flow` begins `after` its first request; this counts before the measured window
    /// too.
    #[cold]
    pub fn playback_started(&mut self, flow: u32, after: Duration) {
        self.class_of(flow).app.count(AppEvent::Started(after));
    }
}
