//! A world whose cell reports about its UEs during the run to a listener outside the world.

use super::{Progress, World};
use justfull_base::feedback::RanReport;
use justfull_base::{Duration, Instant};
use justfull_ran::Stack;
use justfull_run::results::RunResult;

impl World {
    /// Runs like [`World::run`]. Once per `period` the cell reports each UE, by its number, to
    /// `listener`, after all earlier events; `progress` follows each period, and may delay its end.
    ///
    /// # Panics
    /// If `period` is zero, or if the world has a proxy, to which the cell already reports; and the
    /// panics of [`World::run`].
    pub fn run_reported(
        mut self,
        period: Duration,
        listener: &mut dyn FnMut(u32, &RanReport),
        progress: &mut dyn Progress,
    ) -> Option<RunResult> {
        assert!(!period.is_zero(), "a period of reports is above zero");
        assert!(self.proxy.is_none(), "the cell reports to the proxy");
        match &mut self.several {
            Some(several) => several.region.each_stack(Stack::start_reports),
            None => self.cell.stack.start_reports(),
        }
        let end = Instant::ZERO + self.plan.duration;
        let mut due = Instant::ZERO + period;
        loop {
            let until = due.min(end);
            while self.step_of_any(until) <= until {}
            if due > end {
                return Some(self.finish());
            }
            match &mut self.several {
                Some(several) => {
                    several.region.each_stack(|stack| stack.reports(due, &mut *listener));
                }
                None => self.cell.stack.reports(due, &mut *listener),
            }
            if !progress.advanced(due) {
                return None;
            }
            due += period;
        }
    }

    /// [`World::step`], with any number of cells.
    fn step_of_any(&mut self, end: Instant) -> Instant {
        if self.several.is_some() { self.step_several(end) } else { self.step(end) }
    }
}
