//! The files of each run of a scenario, written during the run.

use super::facts::RunFacts;
use super::outputs::{OutputTap, Outputs};
use super::sink::ExportError;
use justfull_lab::runner::{BoxedTap, RunSink, RunTap};
use justfull_run::results::RunResult;
use justfull_scenario::{Job, Scenario, ScenarioError};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The reason why runs failed.
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

/// The files of each run, in the order of [`Scenario::jobs`]; runs beyond the list have none.
#[derive(Clone, Copy, Debug)]
pub struct RunFiles<'a>(pub &'a [Outputs]);

impl RunSink for RunFiles<'_> {
    type Error = RunError;

    fn open(
        &self,
        index: usize,
        scenario: &Scenario,
        job: &Job,
        stop: Arc<AtomicBool>,
    ) -> Result<Option<BoxedTap<RunError>>, RunError> {
        let Some(outputs) = self.0.get(index).filter(|outputs| !outputs.is_empty()) else {
            return Ok(None);
        };
        let point = scenario.point(job.point).replace('=', " = ");
        let facts = RunFacts::new(&scenario.world(job)?, scenario.job_toml(job)?, point);
        Ok(Some(Box::new(OutputTap::create(outputs, facts, stop)?)))
    }
}

/// A cancelled or broken run leaves no files.
impl RunTap<RunError> for OutputTap {
    fn close(self: Box<Self>, result: Option<&RunResult>) -> Result<(), RunError> {
        let sound = result.is_some_and(|result| result.broken.is_none());
        Ok(self.end(sound)?)
    }
}

/// The files of each of `jobs`: the requested names for a single job, otherwise with the run's name
/// in each.
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

/// The name of a run in file names: method, point of the sweep, seed.
#[must_use]
pub fn run_name(scenario: &Scenario, job: &Job) -> String {
    let mut x = scenario.point(job.point).replace("; ", "-");
    if !x.is_empty() {
        x.push('-');
    }
    format!("{}-{x}seed{}", job.method, job.seed)
}
