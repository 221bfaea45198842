//! Simulations that run for the page: few at a time, bounded in time and memory, and ended when no
//! request for them comes.

use crate::memory;
use justfull_lab::runner::{Outcome, Watch, run_all};
use justfull_run::results::RunResult;
use justfull_scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// Simulations at a time.
const MOST: usize = 4;
/// Threads of simulations at a time, including cancelled ones that have not ended yet.
const MOST_THREADS: usize = 4 * MOST;
/// Memory of all simulations with their results, in bytes; on a small machine half of what is free
/// at the start.
const MOST_MEMORY: u64 = 1 << 30;
/// Longest time of a simulation.
const LONGEST: Duration = Duration::from_secs(300);
/// Time without a request after which a simulation is ended and removed.
const FORGOTTEN: Duration = Duration::from_secs(10);
/// Time between two checks of this.
const LOOK: Duration = Duration::from_millis(500);
/// Checks of the memory in this time.
const GLANCES: u32 = 20;

/// The runs of one scenario.
pub(crate) struct Finished {
    pub(crate) scenario: Scenario,
    pub(crate) runs: Vec<RunResult>,
    /// Runs that broke, in words.
    pub(crate) broken: Vec<String>,
    /// Wall-clock time, in ms.
    pub(crate) took_ms: f64,
}

/// Where a simulation is.
#[derive(Clone)]
pub(crate) enum Progress {
    /// Share of the simulated time that is done, from 0 to 1.
    Running(f64),
    /// Done; none when it was cancelled.
    Done(Arc<Result<Option<Finished>, String>>),
}

struct Job {
    watch: Arc<Watch>,
    simulated_ms: f64,
    outcome: Option<Arc<Result<Option<Finished>, String>>>,
    /// Turns of [`LOOK`] since it began, and since the last request for it.
    age: u32,
    unasked: u32,
}

impl Job {
    /// Ends it with `why` in place of its results.
    fn end(&mut self, why: String) {
        self.watch.cancel.store(true, Ordering::Relaxed);
        self.outcome = Some(Arc::new(Err(why)));
    }
}

#[derive(Default)]
struct Table {
    next: u64,
    jobs: BTreeMap<u64, Job>,
    /// Threads of simulations that have not ended.
    threads: BTreeSet<u64>,
    /// Bytes that this process took when no simulation ran.
    idle: u64,
    /// Bytes that simulations may take beyond that; none for no bound.
    most_memory: Option<u64>,
}

impl Table {
    /// Ends the youngest simulation if all of them take too much, now that this process takes
    /// `taken` bytes. Those that were cancelled before may keep as much each until they have ended.
    fn bound(&mut self, taken: u64) {
        let Some(most) = self.most_memory else { return };
        let found = taken.saturating_sub(self.idle);
        let runs = |id: &u64| self.jobs.get(id).is_some_and(|job| job.outcome.is_none());
        let cancelled = self.threads.iter().filter(|id| !runs(id)).count() as u64;
        if found <= most.saturating_mul(1 + cancelled) {
            return;
        }
        let running = self.jobs.iter().rev().find(|(_, job)| job.outcome.is_none());
        let waiting = || {
            let done = |job: &Job| job.outcome.as_ref().is_some_and(|outcome| outcome.is_ok());
            self.jobs.iter().rev().find(|(_, job)| done(job))
        };
        let Some(id) = running.or_else(waiting).map(|(id, _)| *id) else { return };
        let mega = |bytes: u64| bytes.div_ceil(1_000_000);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.end(format!(
                "found simulations that take {} MB of memory, allowed here are {} MB: `justfull \
                 run` has no such bound; shorter queues, lower rates, fewer flows or runs take less",
                mega(found),
                mega(most)
            ));
        }
    }
}

/// All simulations of a page.
#[derive(Clone, Default)]
pub(crate) struct Jobs(Arc<(Mutex<Table>, Condvar)>);

impl Jobs {
    /// An empty table, which ends simulations without requests and those that take too much memory.
    pub(crate) fn new() -> Self {
        let free = memory::available().unwrap_or(u64::MAX);
        Self::bounded(MOST_MEMORY.min(free / 2))
    }

    /// [`Jobs::new`] with `most_memory` bytes for all simulations.
    fn bounded(most_memory: u64) -> Self {
        let jobs = Self::default();
        jobs.lock().most_memory = Some(most_memory);
        let table = Arc::downgrade(&jobs.0);
        // It ends with the page.
        thread::spawn(move || {
            while let Some(jobs) = table.upgrade().map(Self) {
                jobs.look();
            }
        });
        jobs
    }

    /// Checks the simulations for the time [`LOOK`]; returns earlier only if one begins.
    fn look(&self) {
        let idle = |table: &mut Table| table.threads.is_empty() && table.jobs.is_empty();
        let waited = self.0.1.wait_timeout_while(self.lock(), LOOK, idle);
        let (table, after) = waited.expect("no thread panics with the table");
        drop(table);
        if after.timed_out() {
            return;
        }
        for _ in 0..GLANCES {
            if let Some(taken) = memory::taken() {
                self.lock().bound(taken);
                self.0.1.notify_all();
            }
            thread::sleep(LOOK / GLANCES);
        }
        self.forget();
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.0.lock().expect("no thread panics with the table")
    }

    /// Starts the runs of `scenario`, of `simulated` seconds in all, on `threads` threads; returns
    /// their number. None when there are too many.
    pub(crate) fn start(&self, scenario: Scenario, simulated: f64, threads: usize) -> Option<u64> {
        let simulated_ms = simulated * 1e3;
        let watch = Arc::<Watch>::default();
        let mut table = self.lock();
        let running = table.jobs.values().filter(|job| job.outcome.is_none()).count();
        if running >= MOST || table.threads.len() >= MOST_THREADS {
            return None;
        }
        if table.jobs.is_empty() && table.threads.is_empty() {
            table.idle = memory::taken().unwrap_or(0);
        }
        let id = table.next;
        table.next += 1;
        let job =
            Job { watch: Arc::clone(&watch), simulated_ms, outcome: None, age: 0, unasked: 0 };
        table.jobs.insert(id, job);
        table.threads.insert(id);
        drop(table);
        self.0.1.notify_all();
        let own = self.clone();
        thread::spawn(move || {
            let outcome = Arc::new(simulate(scenario, threads, &watch));
            let mut table = own.lock();
            table.threads.remove(&id);
            // One that was ended has its outcome.
            if let Some(job) = table.jobs.get_mut(&id).filter(|job| job.outcome.is_none()) {
                job.outcome = Some(outcome);
            }
            drop(table);
            own.0.1.notify_all();
        });
        Some(id)
    }

    /// Waits up to `patience` for job `id`. None when there is no such job.
    pub(crate) fn wait(&self, id: u64, patience: Duration) -> Option<Progress> {
        let runs = |table: &mut Table| table.jobs.get(&id).is_some_and(|j| j.outcome.is_none());
        let waited = self.0.1.wait_timeout_while(self.lock(), patience, runs);
        let (mut table, _) = waited.expect("no thread panics with the table");
        let job = table.jobs.get_mut(&id)?;
        job.unasked = 0;
        let progress = match &job.outcome {
            Some(outcome) => Progress::Done(Arc::clone(outcome)),
            None => {
                let done = job.watch.simulated_ms.load(Ordering::Relaxed) as f64;
                Progress::Running((done / job.simulated_ms).min(1.0))
            }
        };
        if matches!(progress, Progress::Done(_)) {
            table.jobs.remove(&id);
        }
        Some(progress)
    }

    /// Ends job `id`.
    pub(crate) fn cancel(&self, id: u64) {
        if let Some(job) = self.lock().jobs.remove(&id) {
            job.watch.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// Ends jobs that are too old or get no requests.
    fn forget(&self) {
        let turns = |time: Duration| (time.as_millis() / LOOK.as_millis()) as u32;
        self.lock().jobs.retain(|_, job| {
            (job.age, job.unasked) = (job.age + 1, job.unasked + 1);
            let keep = job.unasked < turns(FORGOTTEN)
                && (job.outcome.is_some() || job.age < turns(LONGEST));
            if !keep {
                job.watch.cancel.store(true, Ordering::Relaxed);
            }
            keep
        });
    }
}

/// Wall-clock now, for the time that a simulation took.
#[expect(clippy::disallowed_methods, reason = "the page says how long a simulation took")]
fn clock() -> Instant {
    Instant::now()
}

/// Makes the runs of `scenario`; none when they were cancelled.
fn simulate(scenario: Scenario, threads: usize, watch: &Watch) -> Result<Option<Finished>, String> {
    let start = clock();
    let jobs = scenario.jobs();
    let runs: Vec<_> = jobs.iter().map(|job| (&scenario, job)).collect();
    let outcomes = run_all(&runs, threads, watch).map_err(|error| error.to_string())?;
    let (mut done, mut broken) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Outcome::Done(result) => done.push(*result),
            Outcome::Broken(words) => broken.push(words),
            Outcome::Cancelled => return Ok(None),
        }
    }
    drop(runs);
    let took_ms = start.elapsed().as_secs_f64() * 1e3;
    Ok(Some(Finished { scenario, runs: done, broken, took_ms }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_scenario::{Overrides, library};

    fn scenario(duration: &str) -> Scenario {
        let text = library::scenario("demo").expect("it is shipped");
        let set = vec![format!("duration={duration}").parse().expect("a setting")];
        let overrides = Overrides { runs: Some(1), set, ..Overrides::default() };
        Scenario::parse(text, "demo.toml".as_ref(), None, overrides).expect("a sound scenario")
    }

    #[test]
    fn a_simulation_is_done_once_and_then_forgotten() {
        let jobs = Jobs::new();
        let id = jobs.start(scenario("12s"), 60.0, 1).expect("there is room");
        let Some(Progress::Done(outcome)) = jobs.wait(id, LONGEST) else { panic!("it ends") };
        let Ok(Some(finished)) = &*outcome else { panic!("it is done") };
        assert_eq!((finished.runs.len(), finished.broken.len()), (5, 0));
        assert!(jobs.wait(id, Duration::ZERO).is_none());
    }

    #[test]
    fn a_cancelled_simulation_is_gone_and_more_than_the_most_are_refused() {
        let jobs = Jobs::new();
        let ids: Vec<u64> =
            (0..MOST).filter_map(|_| jobs.start(scenario("1h"), 18_000.0, 1)).collect();
        assert_eq!(ids.len(), MOST);
        assert_eq!(jobs.start(scenario("1h"), 18_000.0, 1), None);
        assert!(matches!(jobs.wait(ids[0], Duration::ZERO), Some(Progress::Running(_))));
        ids.iter().for_each(|id| jobs.cancel(*id));
        assert!(jobs.wait(ids[0], Duration::ZERO).is_none());
        let id = jobs.start(scenario("12s"), 60.0, 1).expect("there is room again");
        jobs.cancel(id);
    }

    /// The queue of this scenario has no limit: ten minutes would take 3.7 GB.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_simulation_that_takes_too_much_memory_is_ended_with_a_reason_and_others_go_on() {
        let text = "title = \"t\"\nduration = \"600s\"\nmethods = [\"Vanilla\"]\n[channel]\n\
                    kind = \"constant\"\nper_slot = 1\n[rlc]\nqueue = { limit = \"unlimited\" }\n\
                    [[flow]]\nname = \"u\"\nudp = { payload = \"100B\", interval = \"13us\" }\n";
        let flood = Scenario::parse(text, "t.toml".as_ref(), None, Overrides::default());
        let jobs = Jobs::bounded(100_000_000);
        let first = jobs.start(scenario("12s"), 60.0, 1).expect("there is room");
        let second = jobs.start(flood.expect("a sound scenario"), 600.0, 1).expect("room");
        let outcome = |id| match jobs.wait(id, LONGEST) {
            Some(Progress::Done(outcome)) => outcome,
            _ => panic!("it ends"),
        };
        let Err(why) = &*outcome(second) else { panic!("it takes too much") };
        assert!(
            why.starts_with("found simulations that take ") && why.contains(" 100 MB"),
            "{why}"
        );
        assert!(matches!(&*outcome(first), Ok(Some(_))), "the other one goes on");
    }

    #[test]
    fn a_simulation_that_nobody_asks_for_is_ended() {
        let jobs = Jobs::default();
        let id = jobs.start(scenario("1h"), 18_000.0, 1).expect("there is room");
        for _ in 0..FORGOTTEN.as_millis() / LOOK.as_millis() {
            jobs.forget();
        }
        assert!(jobs.wait(id, Duration::ZERO).is_none());
    }
}
