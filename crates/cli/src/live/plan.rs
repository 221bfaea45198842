//! Which runs a command asks for.

use crate::Failure;
use crate::args::{PaceArgs, ScenarioArgs};
use crate::compare::{self, load};
use justfull_scenario::{Job, Scenario, Setting, Value};
use justfull_sim::WorldConfig;
use std::path::{Path, PathBuf};

/// A scenario under one method, ready to be run.
pub(super) struct Chosen<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) job: Job,
    pub(super) config: WorldConfig,
}

/// The runs of one command.
pub(super) struct Plan {
    file: PathBuf,
    pub(super) scenario: Scenario,
    /// By method, then by seed: the order of the results.
    pub(super) jobs: Vec<Job>,
}

impl Plan {
    /// `methods`, the file's first if there are none, at the first point of a sweep, with as many
    /// seeds.
    pub(super) fn of(
        file: &Path,
        (args, pace): (&ScenarioArgs, &PaceArgs),
        methods: &[String],
        runs: u32,
    ) -> Result<Self, Failure> {
        let mut overrides = compare::overrides(args)?;
        if let Some(time) = &pace.time {
            let time = Setting::new("duration", Value::String(time.clone()));
            overrides.set.push(time.map_err(Failure::Usage)?);
        }
        overrides.methods = compare::chosen(methods);
        overrides.runs = Some(runs);
        let scenario = load(file, overrides)?;
        let mut jobs = scenario.jobs();
        let first = jobs.first().cloned();
        let first =
            first.ok_or_else(|| Failure::Usage(format!("{}: no method", file.display())))?;
        let wanted = |job: &Job| !methods.is_empty() || job.method == first.method;
        jobs.retain(|job| job.point == first.point && wanted(job));
        Ok(Self { file: file.into(), scenario, jobs })
    }

    /// More than one run.
    pub(super) fn is_of_several(&self) -> bool {
        self.jobs.len() > 1
    }

    /// The first run of each method.
    pub(super) fn firsts(&self) -> impl Iterator<Item = Result<Chosen<'_>, Failure>> {
        let first = self.jobs.first().map_or(0, |job| job.seed);
        self.jobs.iter().filter(move |job| job.seed == first).map(|job| self.chosen(job))
    }

    /// Refuses what is wrong under any method, before the first run: without a proxy, a method that
    /// needs one.
    pub(super) fn check(&self, proxied: bool) -> Result<(), Failure> {
        for chosen in self.firsts() {
            let Chosen { job, config, .. } = chosen?;
            if let Some(control) = config.proxy.control.as_ref().filter(|_| !proxied) {
                return Err(Failure::Usage(format!(
                    "{}: field `proxy.control` (method {}): found {}, allowed is nothing without \
                     a proxy, which `justfull live --proxy FILE` puts between the servers and the \
                     stack",
                    self.file.display(),
                    job.method,
                    control.name()
                )));
            }
        }
        Ok(())
    }

    /// The run of `job`.
    pub(super) fn chosen(&self, job: &Job) -> Result<Chosen<'_>, Failure> {
        let config = self.scenario.world(job).map_err(|e| Failure::usage(&e))?;
        Ok(Chosen { scenario: &self.scenario, job: job.clone(), config })
    }

    /// The runs in the order in which they are made: each method once, then each once more, so that
    /// an interruption leaves as many of all, and a machine that changes meanwhile changes for all.
    /// With each: the number of its method and of its repeat, from 1, and how many there are.
    pub(super) fn order(&self) -> Vec<(usize, [usize; 4])> {
        let first = |at: &usize| self.jobs[*at].seed == self.jobs[0].seed;
        let methods = (0..self.jobs.len()).filter(first).count().max(1);
        let repeats = self.jobs.len() / methods;
        let place = |n: usize| (n % methods, n / methods);
        let one = |n: usize| {
            let (method, repeat) = place(n);
            (method * repeats + repeat, [method + 1, methods, repeat + 1, repeats])
        };
        (0..self.jobs.len()).map(one).collect()
    }
}
