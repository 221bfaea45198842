//! A world whose cells report about their UEs during the run to a listener outside the world.

use super::{Progress, World};
use crate::cells::Cells;
use justfull_base::feedback::RanReport;
use justfull_base::{Duration, Instant};
use justfull_run::proxy::At;
use justfull_run::results::RunResult;

impl World {
    /// Runs like [`World::run`]. Once per `period` each cell reports each of its UEs, by the
    /// numbers of both, to `listener`, after all earlier events; `progress` follows each period,
    /// and may delay its end.
    ///
    /// # Panics
    /// If `period` is zero, or if the world has a proxy, to which the cell already reports; and the
    /// panics of [`World::run`].
    pub fn run_reported(
        mut self,
        period: Duration,
        listener: &mut dyn FnMut(At, &RanReport),
        progress: &mut dyn Progress,
    ) -> Option<RunResult> {
        assert!(!period.is_zero(), "a period of reports is above zero");
        assert!(self.proxy.is_none(), "the cell reports to the proxy");
        self.cells.each_stack(|_, stack| stack.start_reports());
        let end = Instant::ZERO + self.plan.duration;
        let mut due = Instant::ZERO + period;
        loop {
            let beyond = due.min(end) + Duration::from_nanos(1);
            while self.step_of_any(beyond) < beyond {}
            if due > end {
                return Some(self.finish());
            }
            self.cells.each_stack(|cell, stack| {
                stack.reports(due, |ue, report| listener(At { ue, cell }, report));
            });
            if !progress.advanced(due) {
                return None;
            }
            due += period;
        }
    }

    /// [`World::step`], with any number of cells.
    fn step_of_any(&mut self, beyond: Instant) -> Instant {
        match self.cells {
            Cells::One(_) => self.step(beyond),
            Cells::Several(_) => self.step_several(beyond),
        }
    }
}
