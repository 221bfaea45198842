//! Making the runs of a scenario on several threads, with progress, and keeping what is finished when they are interrupted.

use crate::report::{Comparison, Group};
use crate::scenario::{Job, Scenario, ScenarioError};
use justfull_base::Instant;
use justfull_sim::Progress;
use justfull_sim::results::RunResult;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

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
}

impl Progress for Watched<'_> {
    fn advanced(&mut self, now: Instant) -> bool {
        let ms = now.as_nanos() / 1_000_000;
        self.watch.simulated_ms.fetch_add(ms.saturating_sub(self.reported_ms), Ordering::Relaxed);
        self.reported_ms = ms;
        !self.watch.cancel.load(Ordering::Relaxed)
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
    let next = AtomicUsize::new(0);
    let results: Vec<OnceLock<Result<RunResult, ScenarioError>>> =
        runs.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some((scenario, job)) = runs.get(i) else { return };
            if watch.cancel.load(Ordering::Relaxed) {
                return;
            }
            let result = scenario.built(job).map(|world| world.run(&mut Watched { watch, reported_ms: 0 }));
            if let Some(result) = result.transpose() {
                watch.finished.fetch_add(1, Ordering::Relaxed);
                assert!(results[i].set(result).is_ok(), "each run is made once");
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(runs.len()) {
            scope.spawn(work);
        }
        work();
    });
    results.into_iter().map(|slot| slot.into_inner().transpose()).collect()
}

/// Runs a whole scenario and gathers its results by points of the sweep.
///
/// # Errors
/// What is wrong with the scenario.
pub fn compare(scenario: &Scenario, threads: usize, watch: &Watch) -> Result<Comparison, ScenarioError> {
    let jobs = scenario.jobs();
    let runs: Vec<(&Scenario, &Job)> = jobs.iter().map(|job| (scenario, job)).collect();
    let results = run_all(&runs, threads, watch)?;
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
