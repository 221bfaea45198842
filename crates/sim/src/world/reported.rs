//! A world whose cell reports of its UEs while it runs, for those outside it.

use super::{Progress, World};
use justfull_base::feedback::RanReport;
use justfull_base::{Duration, Instant};
use justfull_run::results::RunResult;

impl World {
    /// [`World::run`], in which the cell tells `listener` once a `period` of each UE by its number,
    /// after all that happened until then; `progress` follows each period, and may make it last.
    ///
    /// # Panics
    /// If `period` is zero, or the world has a proxy, for which the cell reports already; and as
    /// [`World::run`].
    pub fn run_reported(
        mut self,
        period: Duration,
        listener: &mut dyn FnMut(u32, &RanReport),
        progress: &mut dyn Progress,
    ) -> Option<RunResult> {
        assert!(!period.is_zero(), "a period of reports is above zero");
        assert!(self.proxy.is_none(), "the cell reports to the proxy");
        self.cell.stack.start_reports();
        let end = Instant::ZERO + self.plan.duration;
        let mut due = Instant::ZERO + period;
        loop {
            let until = due.min(end);
            while self.step(until) <= until {}
            if due > end {
                return Some(self.finish());
            }
            self.cell.stack.reports(due, &mut *listener);
            if !progress.advanced(due) {
                return None;
            }
            due += period;
        }
    }
}
