//! Cells side by side on threads, ahead of the hosts ([`Stretch`]).
//!
//! Conservative synchronisation: a packet of a server reaches a cell after at least the delay of
//! the core. A stretch lasts at most half of this delay. While the hosts process one stretch, the
//! cells run the next one. A stretch ends where cells depend on each other; the world runs that
//! instant in single steps ([`World::step_several`]). The result is the same, to the byte, as in a
//! run of single steps.

use super::{Progress, Reports, World};
use crate::cells::Cells;
use crate::radio::Radio;
use justfull_base::{Duration, Instant};
use justfull_run::region::{Region, Stretch};
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
        let cells = self.region().map_or(0, Region::count);
        let threads = most.clamp(1, (cells / CELLS_OF_THREAD).max(1));
        if self.stretch().is_some() { threads } else { 1 }
    }

    /// The longest stretch; none if the world runs in single steps only.
    pub(super) fn stretch(&self) -> Option<Duration> {
        let region = self.region()?;
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
        let cells = self.region().map_or(0, Region::count);
        let [mut done, mut next] = [(); 2].map(|()| Stretch::new(cells));
        let mut reports = Reports::new(self.plan.duration);
        let beyond = reports.beyond;
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
                now = (until + Duration::from_nanos(1)).min(beyond);
                while self.step_several(now) < now {}
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
        let meets = |region: &Region| region.meets(&self.links.core, now + most);
        self.region().map_or(Instant::NEVER, meets)
    }

    /// The cells of a world with several.
    fn region(&self) -> Option<&Region> {
        match &self.cells {
            Cells::One(_) => None,
            Cells::Several(several) => Some(&several.region),
        }
    }

    fn take_arrivals(&mut self, until: Instant, next: &mut Stretch) {
        let Cells::Several(several) = &mut self.cells else { return };
        next.begin(until);
        several.take_arrivals(&mut self.links.core, next);
    }

    /// Runs the cells through `next`, on `threads` threads, and the hosts through `done`.
    fn run_stretch(&mut self, threads: usize, done: &mut Stretch, next: &mut Stretch) {
        let Cells::Several(several) = &mut self.cells else { return };
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
        if let Cells::Several(several) = &mut self.cells {
            several.region.put_back(cells);
        }
    }

    /// Runs the hosts through `done`, whose logs act in the place of the cells.
    fn read(&mut self, done: &mut Stretch) {
        let until = done.until;
        let mut now = Instant::ZERO;
        while now < until {
            now = self.step_with(until, done.next(), |world, until| {
                let Self { cells: Cells::Several(several), hosts, links, .. } = world else {
                    return until;
                };
                several.region.read(done, &mut Radio { hosts, links, delivered: false })
            });
        }
    }
}
