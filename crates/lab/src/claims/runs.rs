//! The runs that claims need.

use super::{ClaimsError, ClaimsFile, Means, Options, notes};
use crate::model::{Comparison, Group};
use crate::runner::{self, Outcome, run_by};
use justfull_run::results::RunResult;
use justfull_scenario::{Job, Scenario, ScenarioError};
use std::collections::BTreeMap;

/// A set of runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    pub(super) scenario: String,
    pub(super) trace: String,
    /// Switches that are on, joined by `+`; empty for none.
    pub(super) on: String,
}

/// The wanted part of a case.
#[derive(Default)]
pub(super) struct Wanted {
    methods: Vec<String>,
    /// All methods of the scenario.
    all_methods: bool,
    /// Points of the sweep.
    points: Vec<String>,
    /// All points of the sweep.
    all_points: bool,
}

impl Wanted {
    /// Adds all methods at `points`, or at all points if the list is empty.
    pub(super) fn add_all(&mut self, points: Vec<String>) {
        self.all_methods = true;
        self.all_points |= points.is_empty();
        self.points.extend(points);
    }

    fn wants(&self, point: &String) -> bool {
        self.all_points || self.points.contains(point)
    }

    pub(super) fn add(&mut self, method: String, points: Vec<String>) {
        if !self.methods.contains(&method) {
            self.methods.push(method);
        }
        for point in points {
            if !self.points.contains(&point) {
                self.points.push(point);
            }
        }
    }
}

impl ClaimsFile {
    /// The scenario of `case` with the `wanted` methods, after its own methods if these are wanted
    /// too.
    fn scenario_with(
        &self,
        case: &Case,
        wanted: &Wanted,
        options: &Options,
    ) -> Result<Scenario, ScenarioError> {
        if !wanted.all_methods {
            return self.scenario(case, &wanted.methods, options);
        }
        let own = self.scenario(case, &[], options)?;
        let is_new = |name: &&String| !own.methods().contains(name);
        let others: Vec<&String> = wanted.methods.iter().filter(is_new).collect();
        if others.is_empty() {
            return Ok(own);
        }
        let all: Vec<String> = own.methods().iter().chain(others).cloned().collect();
        self.scenario(case, &all, options)
    }
}

/// Results by case, then method, point and seed.
#[derive(Default)]
pub(super) struct Runs {
    pub(super) by_case: BTreeMap<Case, Vec<(Job, RunResult)>>,
    /// Cases whose trace is absent, each with the reason.
    pub(super) not_run: BTreeMap<Case, String>,
    /// Runs that broke an invariant.
    broken: Vec<String>,
}

impl Runs {
    fn has(&self, case: &Case, wanted: &Job) -> bool {
        let key = |job: &Job| (job.point, job.seed);
        let runs = self.by_case.get(case).into_iter().flatten();
        runs.into_iter().any(|(job, _)| key(job) == key(wanted) && job.method == wanted.method)
    }

    pub(super) fn make(
        &mut self,
        file: &ClaimsFile,
        wanted: BTreeMap<Case, Wanted>,
        options: &Options,
        means: Means<'_>,
        announce: &mut dyn FnMut(u64, usize),
    ) -> Result<(), ClaimsError> {
        let mut scenarios = Vec::new();
        for (case, wanted) in wanted {
            match file.scenario_with(&case, &wanted, options) {
                Ok(scenario) => {
                    let names = file.points(&case.scenario, options.short);
                    let matters = |i: &usize| wanted.wants(&names[*i]);
                    let points: Vec<usize> = (0..names.len()).filter(matters).collect();
                    scenarios.push((case, scenario, points));
                }
                Err(e) if e.needs_data => {
                    self.not_run.insert(case, "no trace: JUSTFULL_DATA is not set".into());
                }
                Err(e) => return Err(e.into()),
            }
        }
        let mut tasks = Vec::new();
        for (i, (case, scenario, points)) in scenarios.iter().enumerate() {
            let is_new = |job: &Job| points.contains(&job.point) && !self.has(case, job);
            let jobs = scenario.jobs().into_iter().filter(is_new);
            tasks.extend(jobs.map(|job| (i, job)));
        }
        let seconds: f64 =
            tasks.iter().map(|(i, _)| scenarios[*i].1.base.duration.as_secs_f64()).sum();
        announce((seconds * 1e3) as u64, tasks.len());
        let list: Vec<(&Scenario, &Job)> =
            tasks.iter().map(|(i, job)| (&scenarios[*i].1, job)).collect();
        let results = run_by(&list, options.threads, means.watch, means.one)?;
        for ((i, job), result) in tasks.iter().zip(results) {
            match result {
                Outcome::Done(result) => {
                    self.by_case
                        .entry(scenarios[*i].0.clone())
                        .or_default()
                        .push((job.clone(), *result));
                }
                Outcome::Broken(invariant) => {
                    self.broken.push(runner::broken(&scenarios[*i].1, job, &invariant));
                }
                Outcome::Cancelled => return Err(ClaimsError::Cancelled),
            }
        }
        Ok(())
    }

    /// The runs without a switch, one group for each scenario, trace and point.
    pub(super) fn comparison(
        &self,
        file: &ClaimsFile,
        options: &Options,
    ) -> Result<Comparison, ClaimsError> {
        let mut comparison = Comparison {
            title: format!("Reproduction of {}", file.paper),
            version: env!("CARGO_PKG_VERSION").into(),
            notes: notes(file, options),
            ..Comparison::default()
        };
        for (case, runs) in self.by_case.iter().filter(|(case, _)| case.on.is_empty()) {
            let scenario = file.scenario(case, &[], options)?;
            for point in 0..scenario.points().len() {
                let at_point = runs.iter().filter(|(job, _)| job.point == point);
                let runs: Vec<_> = at_point.map(|(_, result)| result.clone()).collect();
                if runs.is_empty() {
                    continue;
                }
                comparison.groups.push(Group {
                    label: format!("{}, {}", scenario.base.title, case.trace),
                    x: scenario.x(point),
                    grid: String::new(),
                    runs,
                    settings: scenario.method_settings()?,
                    parts: scenario.parts()?,
                });
            }
            comparison.scenario_toml.push_str(&format!(
                "# {} on the trace {}\n{}\n",
                case.scenario,
                case.trace,
                scenario.resolved_toml(None)?
            ));
        }
        comparison.broken.clone_from(&self.broken);
        let not_run = self.not_run.iter();
        comparison.missing = not_run
            .map(|(case, why)| format!("{} on {}: {why}", case.scenario, case.trace))
            .collect();
        Ok(comparison)
    }
}
