//! Runs a scenario and writes the files requested for each run.

use super::facts::RunFacts;
use super::outputs::{OutputTap, Outputs};
use super::sink::ExportError;
use justfull_lab::model::Comparison;
use justfull_lab::runner::{self, Watch, Watched};
use justfull_run::results::RunResult;
use justfull_scenario::{Job, Scenario, ScenarioError};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Why runs failed.
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

/// Runs `job` and writes its `outputs`. A cancelled or broken run leaves no files.
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
    let point = scenario.point(job.point).replace('=', " = ");
    let facts = RunFacts::new(&scenario.world(job)?, scenario.job_toml(job)?, point);
    let failed: Arc<OnceLock<ExportError>> = Arc::default();
    let mut tap = OutputTap::create(outputs, facts, progress.stop(), Arc::clone(&failed))?;
    let done = scenario.tapped(job, &mut tap)?.run(&mut progress);
    if let Some(result) = done
        && failed.get().is_none()
    {
        if result.broken.is_none() {
            tap.commit()?;
        }
        return Ok(Some(result));
    }
    // Discards what it could not write.
    drop(tap);
    match Arc::into_inner(failed).and_then(OnceLock::into_inner) {
        Some(failed) => Err(failed.into()),
        None => Ok(None),
    }
}

/// The files of each of `jobs`: as requested for a single job, otherwise with the run's name in
/// each.
#[must_use]
pub fn outputs_of(
    outputs: &Outputs,
    scenario: &Scenario,
    jobs: &[Job],
    prefix: &str,
) -> Vec<Outputs> {
    if jobs.len() == 1 && prefix.is_empty() {
        return vec![outputs.clone()];
    }
    let run = |job: &Job| format!("{prefix}{}", run_name(scenario, job));
    jobs.iter().map(|job| outputs.named(&run(job))).collect()
}

/// The name of a run in names of files: method, point of the sweep, seed.
#[must_use]
pub fn run_name(scenario: &Scenario, job: &Job) -> String {
    let mut x = scenario.point(job.point).replace("; ", "-");
    if !x.is_empty() {
        x.push('-');
    }
    format!("{}-{x}seed{}", job.method, job.seed)
}

/// Runs a whole scenario, writes the files requested by `outputs` for each run, in the order of
/// [`Scenario::jobs`], and groups the results by points of the sweep. A run that breaks an
/// invariant is named instead, and the others go on.
///
/// # Errors
/// What is wrong with the scenario, or the first file that could not be written.
pub fn compare(
    scenario: &Scenario,
    threads: usize,
    watch: &Watch,
    outputs: &[Outputs],
) -> Result<Comparison, RunError> {
    let none = Outputs::default();
    let one = |i: usize, job: &Job| run_with(scenario, job, outputs.get(i).unwrap_or(&none), watch);
    runner::compare(scenario, threads, watch, one)
}
