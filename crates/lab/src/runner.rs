//! Making the runs of a scenario on several threads, with progress, and keeping what is finished when they are interrupted.

use crate::export::ExportError;
use crate::export::RunFacts;
use crate::export::outputs::{OutputTap, Outputs};
use crate::report::{Comparison, Group};
use crate::scenario::{Job, Scenario, ScenarioError};
use justfull_base::Instant;
use justfull_sim::Progress;
use justfull_sim::results::RunResult;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Shared by all runs and whoever watches them.
#[derive(Debug, Default)]
pub struct Watch {
    /// Simulated milliseconds so far, over all runs.
    pub simulated_ms: AtomicU64,
    /// Finished runs.
    pub finished: AtomicUsize,
    /// Set to end all runs soon.
    pub cancel: AtomicBool,
}

/// One run's part of the watch.
struct Watched<'a> {
    watch: &'a Watch,
    reported_ms: u64,
    /// Set when a file of the run cannot be written on.
    stop: Arc<AtomicBool>,
}

impl<'a> Watched<'a> {
    fn new(watch: &'a Watch) -> Self {
        Self { watch, reported_ms: 0, stop: Arc::default() }
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

/// Why runs could not be made.
#[derive(Debug)]
pub enum RunError {
    /// The scenario is wrong.
    Scenario(ScenarioError),
    /// A file of a run could not be written.
    Export(ExportError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(e) => e.fmt(f),
            Self::Export(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<ScenarioError> for RunError {
    fn from(e: ScenarioError) -> Self {
        Self::Scenario(e)
    }
}

impl From<ExportError> for RunError {
    fn from(e: ExportError) -> Self {
        Self::Export(e)
    }
}

/// Makes `runs` on `threads` threads. The results stand in the order of the runs, whatever the threads did; none stands for a
/// run that was cancelled.
///
/// # Errors
/// The first scenario error in the order of runs.
///
/// # Panics
/// When a run breaks an assertion of the simulator.
pub fn run_all(
    runs: &[(&Scenario, &Job)],
    threads: usize,
    watch: &Watch,
) -> Result<Vec<Option<RunResult>>, ScenarioError> {
    let one = |i: usize| {
        let (scenario, job): (&Scenario, &Job) = runs[i];
        scenario.built(job).map(|world| world.run(&mut Watched::new(watch)))
    };
    run_each(runs.len(), threads, watch, one)
}

/// Ends all runs when the thread that holds it panics: a broken assertion is told now, not after hours of other runs.
struct EndsAllOnPanic<'a>(&'a Watch);

impl Drop for EndsAllOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cancel.store(true, Ordering::Relaxed);
        }
    }
}

/// Makes run 0 to `runs` - 1, each by `one`, as [`run_all`] does.
fn run_each<E: Send + Sync>(
    runs: usize,
    threads: usize,
    watch: &Watch,
    one: impl Fn(usize) -> Result<Option<RunResult>, E> + Sync,
) -> Result<Vec<Option<RunResult>>, E> {
    let next = AtomicUsize::new(0);
    let results: Vec<OnceLock<Result<RunResult, E>>> = (0..runs).map(|_| OnceLock::new()).collect();
    let work = || {
        let _guard = EndsAllOnPanic(watch);
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= runs || watch.cancel.load(Ordering::Relaxed) {
                return;
            }
            if let Some(result) = one(i).transpose() {
                watch.finished.fetch_add(1, Ordering::Relaxed);
                assert!(results[i].set(result).is_ok(), "each run is made once");
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(runs) {
            scope.spawn(work);
        }
        work();
    });
    results.into_iter().map(|slot| slot.into_inner().transpose()).collect()
}

/// Makes the run of `job` and writes `outputs` of it. A run that is cancelled leaves no files.
fn run_with(
    scenario: &Scenario,
    job: &Job,
    outputs: &Outputs,
    watch: &Watch,
) -> Result<Option<RunResult>, RunError> {
    let mut progress = Watched::new(watch);
    if outputs.is_empty() {
        return Ok(scenario.built(job)?.run(&mut progress));
    }
    let point = scenario.x(job.point).map(|(name, value)| format!("{name} = {value}")).unwrap_or_default();
    let facts = RunFacts::new(&scenario.world(job)?, scenario.job_toml(job)?, point);
    let failed: Arc<OnceLock<ExportError>> = Arc::default();
    let mut tap = OutputTap::create(outputs, facts, Arc::clone(&progress.stop), Arc::clone(&failed))?;
    let done = scenario.tapped(job, &mut tap)?.run(&mut progress);
    if let Some(result) = done
        && failed.get().is_none()
    {
        tap.commit()?;
        return Ok(Some(result));
    }
    // What it could not write goes with it.
    drop(tap);
    match Arc::into_inner(failed).and_then(OnceLock::into_inner) {
        Some(failed) => Err(failed.into()),
        None => Ok(None),
    }
}

/// The files of each of `jobs`: as they are asked for where there is one, otherwise with the run's name in each.
#[must_use]
pub fn outputs_of(outputs: &Outputs, scenario: &Scenario, jobs: &[Job], prefix: &str) -> Vec<Outputs> {
    if jobs.len() == 1 && prefix.is_empty() {
        return vec![outputs.clone()];
    }
    let run = |job: &Job| {
        let x = scenario.x(job.point).map(|(label, value)| format!("{label}={value}-")).unwrap_or_default();
        format!("{prefix}{}-{x}seed{}", job.method, job.seed)
    };
    jobs.iter().map(|job| outputs.named(&run(job))).collect()
}

/// Runs a whole scenario, writes the files that `outputs` asks for of each run, in the order of [`Scenario::jobs`], and gathers the
/// results by points of the sweep.
///
/// # Errors
/// What is wrong with the scenario, or the first file that could not be written.
///
/// # Panics
/// When a run breaks an assertion of the simulator.
pub fn compare(
    scenario: &Scenario,
    threads: usize,
    watch: &Watch,
    outputs: &[Outputs],
) -> Result<Comparison, RunError> {
    let jobs = scenario.jobs();
    let none = Outputs::default();
    let one = |i: usize| run_with(scenario, &jobs[i], outputs.get(i).unwrap_or(&none), watch);
    let results = run_each(jobs.len(), threads, watch, one)?;
    let mut comparison = Comparison {
        title: scenario.base.title.clone(),
        notes: scenario.warnings()?,
        scenario_toml: scenario.resolved_toml(None)?,
        version: env!("CARGO_PKG_VERSION").into(),
        ..Comparison::default()
    };
    for point in 0..scenario.points().len() {
        let runs = jobs.iter().zip(&results).filter(|(job, _)| job.point == point);
        let runs = runs.filter_map(|(_, result)| result.clone()).collect();
        comparison.groups.push(Group { label: scenario.base.title.clone(), x: scenario.x(point), runs });
    }
    let missing = jobs.iter().zip(&results).filter(|(_, result)| result.is_none());
    comparison.missing = missing.map(|(job, _)| describe(scenario, job)).collect();
    Ok(comparison)
}

/// A run in words.
fn describe(scenario: &Scenario, job: &Job) -> String {
    let x = scenario.x(job.point).map(|(label, value)| format!(", {label} {value}")).unwrap_or_default();
    format!("{}: {}{x}, seed {}", scenario.name, job.method, job.seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_run_that_panics_ends_the_others() {
        let watch = Watch::default();
        let made = AtomicUsize::new(0);
        let one = |i: usize| -> Result<Option<RunResult>, ()> {
            assert!(i != 3, "as a broken assertion of the simulator");
            made.fetch_add(1, Ordering::Relaxed);
            // Waits as long as it takes, as a run does that looks at the watch.
            while i > 3 && !watch.cancel.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            Ok(None)
        };
        assert!(catch_unwind(AssertUnwindSafe(|| run_each(1000, 2, &watch, one))).is_err());
        assert!(made.into_inner() <= 4, "three before it, and one beside it");
    }
}
