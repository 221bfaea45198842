//! Simulations that run for the page: few at a time, bounded in time, and ended when no request for
//! them comes.

use justfull_lab::runner::{Outcome, Watch, run_all};
use justfull_run::results::RunResult;
use justfull_scenario::Scenario;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// Simulations at a time, including finished ones whose results wait for a request.
const MOST: usize = 4;
/// Longest time of a simulation.
const LONGEST: Duration = Duration::from_secs(300);
/// Time without a request after which a simulation is ended and removed.
const FORGOTTEN: Duration = Duration::from_secs(10);
/// Time between two checks of this.
const LOOK: Duration = Duration::from_millis(500);

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

#[derive(Default)]
struct Table {
    next: u64,
    jobs: BTreeMap<u64, Job>,
}

/// All simulations of a page.
#[derive(Clone, Default)]
pub(crate) struct Jobs(Arc<(Mutex<Table>, Condvar)>);

impl Jobs {
    /// An empty table, which ends simulations without requests.
    pub(crate) fn new() -> Self {
        let jobs = Self::default();
        let table = Arc::downgrade(&jobs.0);
        // It ends with the page.
        thread::spawn(move || {
            while let Some(table) = table.upgrade() {
                Self(table).forget();
                thread::sleep(LOOK);
            }
        });
        jobs
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
        if table.jobs.values().filter(|job| job.outcome.is_none()).count() >= MOST {
            return None;
        }
        let id = table.next;
        table.next += 1;
        let job =
            Job { watch: Arc::clone(&watch), simulated_ms, outcome: None, age: 0, unasked: 0 };
        table.jobs.insert(id, job);
        drop(table);
        let own = self.clone();
        thread::spawn(move || {
            let outcome = Arc::new(simulate(scenario, threads, &watch));
            if let Some(job) = own.lock().jobs.get_mut(&id) {
                job.outcome = Some(outcome);
            }
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
