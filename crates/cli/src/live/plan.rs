//! The runs that a command requests.

use crate::args::{GridArgs, ScenarioArgs};
use crate::failure::Failure;
use crate::plugins::Plugins;
use crate::scenarios;
use justfull_run::WorldConfig;
use justfull_run::reported::{cell_names, one_cell_each};
use justfull_scenario::{Job, Scenario};
use std::path::{Path, PathBuf};

/// A scenario under one method, ready to be run.
pub(super) struct Chosen<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) job: Job,
    pub(super) config: WorldConfig,
}

/// The position of a run among the others: the number of its point, method and repeat, from 1, and
/// the totals.
pub(super) struct Place {
    point: [usize; 2],
    method: [usize; 2],
    repeat: [usize; 2],
}

impl Place {
    /// The text printed at its start.
    pub(super) fn in_words(&self) -> String {
        let of = |what: &str, [n, all]: [usize; 2]| format!("{what} {n} of {all}");
        let mut parts = vec![of("method", self.method), of("repeat", self.repeat)];
        if self.point[1] > 1 {
            parts.insert(0, of("point", self.point));
        }
        parts.join(", ")
    }
}

/// The runs of one command.
pub(super) struct Plan {
    file: PathBuf,
    pub(super) scenario: Scenario,
    /// By point of the sweep, then by method, then by seed: the order of the results.
    pub(super) jobs: Vec<Job>,
}

impl Plan {
    /// `methods`, or the file's first if empty, and `plugins`, at each point of a sweep, with as
    /// many seeds.
    pub(super) fn of(
        file: &Path,
        args: &ScenarioArgs,
        grid: &GridArgs,
        methods: &[String],
        runs: u32,
        plugins: &Plugins,
    ) -> Result<Self, Failure> {
        let mut overrides = scenarios::overrides(args)?;
        overrides.grid = scenarios::axes(grid)?;
        overrides.methods = scenarios::chosen(methods);
        overrides.runs = Some(runs);
        let scenario = plugins.scenario(file, &overrides)?;
        let mut jobs = scenario.jobs();
        let first = jobs.first().cloned();
        let first =
            first.ok_or_else(|| Failure::Usage(format!("{}: no method", file.display())))?;
        let wanted = |job: &Job| {
            !methods.is_empty() || job.method == first.method || plugins.has(&job.method)
        };
        jobs.retain(wanted);
        Ok(Self { file: file.into(), scenario, jobs })
    }

    /// True for more than one run.
    pub(super) fn is_of_several(&self) -> bool {
        self.jobs.len() > 1
    }

    /// Removes the runs at all points of a sweep but the first.
    pub(super) fn at_first_point(mut self) -> Self {
        self.jobs.retain(|job| job.point == 0);
        self
    }

    /// The first run of each method at each point.
    pub(super) fn firsts(&self) -> impl Iterator<Item = Result<Chosen<'_>, Failure>> {
        let first = self.jobs.first().map_or(0, |job| job.seed);
        self.jobs.iter().filter(move |job| job.seed == first).map(|job| self.chosen(job))
    }

    /// Refuses faults under any method before the first run; without a proxy, refuses a method that
    /// needs one.
    pub(super) fn check(&self, proxied: bool) -> Result<(), Failure> {
        for chosen in self.firsts() {
            let Chosen { job, config, .. } = chosen?;
            if let Some(control) = config.proxy.control.as_ref().filter(|_| !proxied) {
                return Err(Failure::Usage(format!(
                    "{}: field `proxy.control` (method {}): found {}, which needs a proxy; allowed \
                     is a method without one, or `--proxy FILE`, which puts a proxy between the \
                     servers and the stack",
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

    /// Refuses cells of `chosen` about which there are no reports of the radio. If `alone`, a
    /// reader knows one cell of each UE.
    pub(super) fn check_reported(&self, chosen: &Chosen<'_>, alone: bool) -> Result<(), Failure> {
        let refused = |e| Failure::Usage(format!("{}: {e}", self.file.display()));
        cell_names(&chosen.config).map_err(refused)?;
        if alone { one_cell_each(&chosen.config).map_err(refused) } else { Ok(()) }
    }

    /// The runs in the order of execution, each with its position: each method at each point once,
    /// then each once more. So an interruption leaves equally many runs of all, and a change of the
    /// machine affects all.
    pub(super) fn order(&self) -> Vec<(usize, Place)> {
        let count = |is: &dyn Fn(&Job, &Job) -> bool| {
            let first = self.jobs.first();
            self.jobs.iter().filter(|job| first.is_some_and(|first| is(job, first))).count().max(1)
        };
        let repeats = count(&|job, first| (job.point, &job.method) == (first.point, &first.method));
        let cases = count(&|job, first| job.seed == first.seed);
        let methods = count(&|job, first| (job.point, job.seed) == (first.point, first.seed));
        let one = |n: usize| {
            let (case, repeat) = (n % cases, n / cases);
            let place = Place {
                point: [case / methods + 1, cases / methods],
                method: [case % methods + 1, methods],
                repeat: [repeat + 1, repeats],
            };
            (case * repeats + repeat, place)
        };
        (0..self.jobs.len()).map(one).collect()
    }

    /// The point of the sweep of `job` for people, after a comma; empty without a sweep.
    pub(super) fn point_in_words(&self, job: &Job) -> String {
        match &*self.scenario.point(job.point) {
            "" => String::new(),
            point => format!(", {}", point.replace('=', " ").replace("; ", ", ")),
        }
    }
}
