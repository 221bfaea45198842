//! Runs a scenario on several threads, with progress; an interruption keeps the finished runs.

use crate::model::{Comparison, Group};
use justfull_base::Instant;
use justfull_run::Tap;
use justfull_run::results::RunResult;
use justfull_scenario::{Job, Scenario, ScenarioError};
use justfull_sim::Progress;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// State shared by all runs and their observers.
#[derive(Debug, Default)]
pub struct Watch {
    /// Simulated milliseconds so far, over all runs.
    pub simulated_ms: AtomicU64,
    /// Finished runs.
    pub finished: AtomicUsize,
    /// Set to end all runs soon.
    pub cancel: AtomicBool,
}

/// The part of one run in the watch.
#[derive(Debug)]
pub struct Watched<'a> {
    watch: &'a Watch,
    reported_ms: u64,
    stop: Arc<AtomicBool>,
}

impl<'a> Watched<'a> {
    /// The part of a run that has not begun.
    #[must_use]
    pub fn new(watch: &'a Watch) -> Self {
        Self { watch, reported_ms: 0, stop: Arc::default() }
    }

    /// A flag that ends only this run soon if set.
    #[must_use]
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }
}

impl Progress for Watched<'_> {
    fn advanced(&mut self, now: Instant) -> bool {
        let ms = now.as_nanos() / 1_000_000;
        self.watch.simulated_ms.fetch_add(ms.saturating_sub(self.reported_ms), Ordering::Relaxed);
        self.reported_ms = ms;
        !self.watch.cancel.load(Ordering::Relaxed) && !self.stop.load(Ordering::Relaxed)
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A sound result.
    Done(Box<RunResult>),
    /// The run broke an invariant or an assertion of the simulator: a bug, given with its values.
    /// Its result must not be used.
    Broken(String),
    /// The run was ended early.
    Cancelled,
}

impl Outcome {
    /// The result of a finished run.
    #[must_use]
    pub fn done(self) -> Option<RunResult> {
        match self {
            Self::Done(result) => Some(*result),
            Self::Broken(_) | Self::Cancelled => None,
        }
    }
}

/// Executes `runs` on `threads` threads. The outcomes are in the order of the runs, for any timing
/// of the threads. A broken run does not end the others.
///
/// # Errors
/// The first scenario error in the order of runs.
pub fn run_all(
    runs: &[(&Scenario, &Job)],
    threads: usize,
    watch: &Watch,
) -> Result<Vec<Outcome>, ScenarioError> {
    let each = threads_of_each(threads, runs.len());
    run_by(runs, threads, watch, |scenario, job| {
        scenario.simulated(job, None, each, &mut Watched::new(watch))
    })
}

/// Number of threads for each of `runs` runs that share `threads` threads.
fn threads_of_each(threads: usize, runs: usize) -> usize {
    (threads / runs.max(1)).max(1)
}

/// Simulates one run; none if it was cancelled.
///
/// # Errors
/// The fault of the scenario.
pub fn simulated(
    scenario: &Scenario,
    job: &Job,
    watch: &Watch,
) -> Result<Option<RunResult>, ScenarioError> {
    scenario.simulated(job, None, 1, &mut Watched::new(watch))
}

/// Executes `runs`, each by `one`, like [`run_all`].
///
/// # Errors
/// The first error in the order of runs.
pub fn run_by<E: Send + Sync>(
    runs: &[(&Scenario, &Job)],
    threads: usize,
    watch: &Watch,
    one: impl Fn(&Scenario, &Job) -> Result<Option<RunResult>, E> + Sync,
) -> Result<Vec<Outcome>, E> {
    run_each(runs.len(), threads, watch, |i| one(runs[i].0, runs[i].1))
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").into()
}

/// Executes one run; none if it was cancelled.
fn guarded<E>(one: impl FnOnce() -> Result<Option<RunResult>, E>) -> Result<Outcome, E> {
    // All state that the run has changed is dropped with it: its world, and its files, which are
    // not committed.
    match catch_unwind(AssertUnwindSafe(one)) {
        Err(panic) => Ok(Outcome::Broken(words(&*panic))),
        Ok(made) => Ok(match made? {
            None => Outcome::Cancelled,
            Some(RunResult { broken: Some(invariant), .. }) => Outcome::Broken(invariant),
            Some(result) => Outcome::Done(Box::new(result)),
        }),
    }
}

/// Executes runs 0 to `runs` - 1, each by `one`, like [`run_all`].
fn run_each<E: Send + Sync>(
    runs: usize,
    threads: usize,
    watch: &Watch,
    one: impl Fn(usize) -> Result<Option<RunResult>, E> + Sync,
) -> Result<Vec<Outcome>, E> {
    let next = AtomicUsize::new(0);
    let results: Vec<OnceLock<Result<Outcome, E>>> = (0..runs).map(|_| OnceLock::new()).collect();
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= runs || watch.cancel.load(Ordering::Relaxed) {
                return;
            }
            let outcome = guarded(|| one(i));
            let cancelled = matches!(outcome, Ok(Outcome::Cancelled));
            watch.finished.fetch_add(usize::from(!cancelled), Ordering::Relaxed);
            assert!(results[i].set(outcome).is_ok(), "each run is made once");
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(runs) {
            scope.spawn(work);
        }
        work();
    });
    results.into_iter().map(|slot| slot.into_inner().unwrap_or(Ok(Outcome::Cancelled))).collect()
}

/// Follows the runs of a scenario, for example to write files during the runs.
pub trait RunSink: Sync {
    /// The reason why a run cannot be followed.
    type Error: From<ScenarioError> + Send + Sync;

    /// Begins to follow `job`, which has this `index` in [`Scenario::jobs`]; none if nothing
    /// follows it. A tap that sets `stop` ends the run.
    ///
    /// # Errors
    /// The sink cannot take the run.
    fn open(
        &self,
        index: usize,
        scenario: &Scenario,
        job: &Job,
        stop: Arc<AtomicBool>,
    ) -> Result<Option<BoxedTap<Self::Error>>, Self::Error>;
}

/// Any tap of a run.
pub type BoxedTap<E> = Box<dyn RunTap<E>>;

/// Follows one run.
pub trait RunTap<E>: Tap {
    /// Ends the run with this result; none if it was cancelled.
    ///
    /// # Errors
    /// The first failure since the run began.
    fn close(self: Box<Self>, result: Option<&RunResult>) -> Result<(), E>;
}

/// Follows nothing.
impl RunSink for () {
    type Error = ScenarioError;

    fn open(
        &self,
        _: usize,
        _: &Scenario,
        _: &Job,
        _: Arc<AtomicBool>,
    ) -> Result<Option<BoxedTap<ScenarioError>>, ScenarioError> {
        Ok(None)
    }
}

/// Runs a whole scenario, followed by `sink`, and groups the results by points of the sweep. A run
/// that breaks an invariant is named in place of its result, and the others go on.
///
/// # Errors
/// The fault of the scenario, or the first failure of `sink`.
pub fn compare<S: RunSink>(
    scenario: &Scenario,
    threads: usize,
    watch: &Watch,
    sink: &S,
) -> Result<Comparison, S::Error> {
    let each = threads_of_each(threads, scenario.jobs().len());
    compare_by(scenario, threads, watch, |index, job| {
        let mut progress = Watched::new(watch);
        let Some(mut tap) = sink.open(index, scenario, job, progress.stop())? else {
            return Ok(scenario.simulated(job, None, each, &mut progress)?);
        };
        let result = scenario.simulated(job, Some(&mut *tap), each, &mut progress)?;
        tap.close(result.as_ref())?;
        Ok(result)
    })
}

/// Like [`compare`], but `one` executes each run: it gets the run's index and job, in the order of
/// [`Scenario::jobs`], and returns none if cancelled.
///
/// # Errors
/// The fault of the scenario, or the first failed run.
pub fn compare_by<E: From<ScenarioError> + Send + Sync>(
    scenario: &Scenario,
    threads: usize,
    watch: &Watch,
    one: impl Fn(usize, &Job) -> Result<Option<RunResult>, E> + Sync,
) -> Result<Comparison, E> {
    let jobs = scenario.jobs();
    let outcomes = run_each(jobs.len(), threads, watch, |i| one(i, &jobs[i]))?;
    Ok(gathered(scenario, &jobs, outcomes)?)
}

/// The comparison of `jobs` with these `outcomes`.
fn gathered(
    scenario: &Scenario,
    jobs: &[Job],
    outcomes: Vec<Outcome>,
) -> Result<Comparison, ScenarioError> {
    let mut comparison = Comparison {
        title: scenario.base.title.clone(),
        notes: scenario.warnings()?,
        scenario_toml: scenario.resolved_toml(None)?,
        version: env!("CARGO_PKG_VERSION").into(),
        ..Comparison::default()
    };
    let parts = scenario.parts()?;
    let settings = scenario.method_settings()?;
    for point in 0..scenario.points().len() {
        let (label, x, grid) = (scenario.label(point), scenario.x(point), scenario.grid(point));
        let (settings, parts) = (settings.clone(), parts.clone());
        comparison.groups.push(Group { label, x, grid, runs: Vec::new(), settings, parts });
    }
    for (job, outcome) in jobs.iter().zip(outcomes) {
        match outcome {
            Outcome::Done(result) => comparison.groups[job.point].runs.push(*result),
            Outcome::Broken(invariant) => comparison.broken.push(broken(scenario, job, &invariant)),
            Outcome::Cancelled => comparison.missing.push(describe(scenario, job)),
        }
    }
    Ok(comparison)
}

/// The text for a run that broke `invariant`.
pub(crate) fn broken(scenario: &Scenario, job: &Job, invariant: &str) -> String {
    format!("{}: {invariant}", describe(scenario, job))
}

/// A run in words.
#[must_use]
pub fn describe(scenario: &Scenario, job: &Job) -> String {
    let mut x = scenario.point(job.point).replace('=', " ").replace("; ", ", ");
    if !x.is_empty() {
        x.insert_str(0, ", ");
    }
    format!("{}: {}{x}, seed {}", scenario.name, job.method, job.seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_scenario::Overrides;
    use std::path::Path;

    #[test]
    fn a_broken_run_is_named_with_what_it_broke_and_left_out_and_the_others_stand() {
        let text = justfull_scenario::library::scenario("several-ues").expect("it ships");
        let methods = Some(vec!["Vanilla".to_string(), "DRQL".into()]);
        let overrides = Overrides { methods, runs: Some(2), seed: Some(5), ..Overrides::default() };
        let scenario = Scenario::parse(text, Path::new("several-ues.toml"), None, overrides)
            .expect("it is sound");
        let jobs = scenario.jobs();
        let result = |job: &Job| RunResult {
            method: job.method.clone(),
            seed: job.seed,
            ..RunResult::default()
        };
        let mut outcomes: Vec<Outcome> =
            jobs.iter().map(|job| Outcome::Done(Box::new(result(job)))).collect();
        outcomes[1] = Outcome::Broken("used <= offered: 2, 1".into());
        outcomes[2] = Outcome::Cancelled;
        let found = gathered(&scenario, &jobs, outcomes).expect("it is sound");
        assert_eq!(found.broken, ["several-ues: Vanilla, seed 6: used <= offered: 2, 1"]);
        assert_eq!(found.missing, ["several-ues: DRQL, seed 5"]);
        let runs: Vec<(&str, u64)> =
            found.groups[0].runs.iter().map(|run| (run.method.as_str(), run.seed)).collect();
        assert_eq!(runs, [("Vanilla", 5), ("DRQL", 6)]);
    }

    #[test]
    fn a_run_that_panics_or_breaks_an_invariant_is_told_by_its_words_and_the_others_are_made() {
        let watch = Watch::default();
        let one = |i: usize| -> Result<Option<RunResult>, ()> {
            assert!(i != 3, "the assertion of run {i}");
            assert!(i != 5, "no format");
            let broken = (i == 7).then(|| "used <= offered: 2, 1".to_string());
            Ok((i != 8).then(|| RunResult { seed: i as u64, broken, ..RunResult::default() }))
        };
        let outcomes = run_each(20, 3, &watch, one).expect("no run is refused");
        let outcome = |i: usize| match &outcomes[i] {
            Outcome::Done(result) => result.seed.to_string(),
            Outcome::Broken(invariant) => invariant.clone(),
            Outcome::Cancelled => "cancelled".into(),
        };
        let found: Vec<String> = [2, 3, 5, 7, 8, 19].into_iter().map(outcome).collect();
        let expected = [
            "2",
            "the assertion of run 3",
            "no format",
            "used <= offered: 2, 1",
            "cancelled",
            "19",
        ];
        assert_eq!(found, expected);
        assert_eq!(watch.finished.into_inner(), 19);
    }
}
