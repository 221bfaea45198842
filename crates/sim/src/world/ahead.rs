//! Cells side by side on threads, ahead of the hosts ([`Stretch`]).
//!
//! Conservative synchronisation: a packet of a server reaches a cell after at least the delay of
//! the core. A stretch lasts at most half of this delay. While the hosts process one stretch, the
//! cells run the next one. A stretch ends where cells depend on each other; the world runs that
//! instant in single steps ([`World::step_several`]). The result is the same, to the byte, as in a
//! run of single steps.

use super::World;
use super::several::Several;
use super::{Progress, Reports};
use crate::radio::Radio;
use justfull_base::{Duration, Instant};
use justfull_run::region::Stretch;
use justfull_run::results::RunResult;
use justfull_run::tap::Listener;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

/// Least number of cells for each thread. With fewer, a stretch takes less time than the start of a
/// thread.
const CELLS_OF_THREAD: usize = 4;

/// Least number of cells of a world that runs in stretches. On one thread too, a run of each cell
/// through a stretch is faster than a change of the cell at each slot.
const LEAST_CELLS: usize = 2 * CELLS_OF_THREAD;

/// Least length of a stretch, as one part in this number of the longest stretch. The world runs a
/// shorter time in single steps, since the start of a stretch has a cost.
const SHORTEST: u64 = 4;

impl<T: Listener> World<T> {
    /// Number of threads, at most `most`, on which the world runs with [`World::run_on`].
    #[must_use]
    pub fn threads(&self, most: usize) -> usize {
        let cells = self.several.as_ref().map_or(0, |several| several.region.count());
        let threads = most.clamp(1, (cells / CELLS_OF_THREAD).max(1));
        if self.stretch().is_some() { threads } else { 1 }
    }

    /// The longest stretch; none if the world runs in single steps only.
    pub(super) fn stretch(&self) -> Option<Duration> {
        let Several { region, .. } = self.several.as_deref()?;
        let stretch = Duration::from_nanos(self.links.core.least_delay().as_nanos() / 2);
        let apart = self.proxy.is_none()
            && region.count() >= LEAST_CELLS
            && region.may_run_ahead()
            && !self.links.uplink.notes_accesses()
            && !self.hosts.senders.reconnect();
        (apart && !stretch.is_zero()).then_some(stretch)
    }

    /// Runs to the end on `threads` threads, in stretches of at most `most`.
    pub(super) fn run_ahead(
        mut self,
        threads: usize,
        most: Duration,
        progress: &mut dyn Progress,
    ) -> Option<RunResult> {
        let beyond = Instant::ZERO + self.plan.duration + Duration::from_nanos(1);
        let cells = self.several.as_ref().map_or(0, |several| several.region.count());
        let [mut done, mut next] = [(); 2].map(|()| Stretch::new(cells));
        let mut reports = Reports::new(self.plan.duration);
        // Cells have run up to `now`, hosts up to the start of `done`.
        let mut now = Instant::ZERO;
        while now < beyond {
            let until = self.end_of_stretch(now, most);
            if until.since(now).times(SHORTEST) >= most {
                now = until.min(beyond);
                self.take_arrivals(now, &mut next);
                self.run_stretch(threads, &mut done, &mut next);
                std::mem::swap(&mut done, &mut next);
            } else {
                self.read(&mut done);
                let last = until.min(reports.end);
                while self.step_several(last) <= last {}
                now = last + Duration::from_nanos(1);
                done.begin(now);
            }
            if now > reports.at && !reports.report(now, progress) {
                return None;
            }
        }
        self.read(&mut done);
        Some(self.finish())
    }

    /// The end of the stretch that begins at `now`; `now` if cells depend on each other at `now`.
    fn end_of_stretch(&self, now: Instant, most: Duration) -> Instant {
        let Some(Several { region, .. }) = self.several.as_deref() else { return Instant::NEVER };
        region.meets(&self.links.core, now + most)
    }

    fn take_arrivals(&mut self, until: Instant, next: &mut Stretch) {
        let Some(Several { region, loss }) = self.several.as_deref_mut() else { return };
        next.begin(until);
        region.take_arrivals(&mut self.links.core, loss.as_deref_mut(), next);
    }

    /// Runs the cells through `next`, on `threads` threads, and the hosts through `done`.
    fn run_stretch(&mut self, threads: usize, done: &mut Stretch, next: &mut Stretch) {
        let Some(several) = self.several.as_deref_mut() else { return };
        let mut cells = several.region.take_cells();
        let until = next.until;
        let work = Mutex::new(cells.iter_mut().zip(&mut next.lanes));
        let serve = || {
            loop {
                let one = work.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((cell, lane)) = one else { return };
                lane.run(cell, until);
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(serve)).collect();
            self.read(done);
            serve();
            for other in others {
                if let Err(panic) = other.join() {
                    resume_unwind(panic);
                }
            }
        });
        next.open();
        if let Some(several) = self.several.as_deref_mut() {
            several.region.put_back(cells);
        }
    }

    /// Runs the hosts through `done`. The order at one instant is the same as in
    /// [`World::step_several`].
    fn read(&mut self, done: &mut Stretch) {
        loop {
            let Self { several, hosts, links, .. } = self;
            let Some(Several { region, .. }) = several.as_deref_mut() else { return };
            let hosted = hosts.senders.next().min(hosts.applications.next());
            let before = hosted.min(links.uplink.next());
            let after = links.air.next().min(hosts.receivers.next());
            let (arrival, acts) = (done.arrival(), done.acts_at());
            let now = before.min(arrival).min(acts).min(after);
            if now >= done.until {
                return;
            }
            if acts == now && before > now && arrival > now {
                region.read_acts(now, done, &mut Radio { hosts, links, delivered: false });
                continue;
            }
            links.monitor.calls += 1;
            if before == now {
                self.act_before_cell(now);
            } else if arrival == now {
                region.read_arrivals(now, done, &mut Radio { hosts, links, delivered: false });
            } else {
                self.act_after_cell(now);
            }
        }
    }
}
