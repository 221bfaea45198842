//! User-defined algorithms in the places of shipped ones. They run beside shipped methods and must
//! keep the rules of every method.

use crate::model::Comparison;
use crate::runner::{self, Watch, Watched};
use justfull_base::ConfigError;
use justfull_base::make::Make;
use justfull_ran::limiter::{GrantContext, Limiter, LimiterConfig};
use justfull_run::WorldConfig;
use justfull_run::results::RunResult;
use justfull_scenario::{Derived, Job, Overrides, Scenario, ScenarioError, Setting, library};
use justfull_sim::World;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A cell of every kind: grants in packets, in bytes and in resource blocks; one UE and several;
/// transfers, calls, pages and games.
const CELLS: [&str; 5] =
    ["t20-individual", "live-lte", "voip-over-lte", "several-ues", "nr-100mhz"];
/// Long enough for every flow in [`CELLS`] to be served.
const SHORT: [&str; 2] = ["duration=4s", "warmup=1s"];
/// The method whose served flows are the reference.
const PLAIN: &str = "Vanilla";

/// A method with a user-defined algorithm.
#[derive(Clone)]
pub struct OwnMethod {
    /// Its name, different from every shipped method's.
    pub name: String,
    /// Name of the method from which it takes its other settings.
    pub base: String,
    /// Installs the algorithm in a world.
    pub change: Arc<dyn Fn(&mut WorldConfig) + Send + Sync>,
}

impl fmt::Debug for OwnMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {}", self.name, self.base)
    }
}

impl OwnMethod {
    /// Vanilla with the limiter that `make` returns, one for each bearer.
    #[must_use]
    pub fn limiter<L: Limiter + Send + 'static>(
        name: &str,
        make: impl Fn(&GrantContext) -> Result<L, ConfigError> + Send + Sync + 'static,
    ) -> Self {
        let boxed = move |context: &GrantContext| {
            make(context).map(|limiter| Box::new(limiter) as Box<dyn Limiter + Send>)
        };
        let config = LimiterConfig::Custom(Make(Arc::new(boxed)));
        let change =
            Arc::new(move |world: &mut WorldConfig| world.stack.rlc.limiter = config.clone());
        Self { name: name.into(), base: PLAIN.into(), change }
    }

    /// The shipped scenario `name`, or the scenario in the file of that name, with the settings
    /// `set`, the `methods`, and then this method.
    ///
    /// # Errors
    /// There is no such scenario or method, a setting is wrong, or a method of this name ships.
    pub fn scenario(
        &self,
        name: &str,
        methods: &[&str],
        seeds: u32,
        set: Vec<Setting>,
    ) -> Result<Scenario, ScenarioError> {
        let file = Path::new(name);
        let text = match library::scenario(name) {
            Some(text) => text.to_string(),
            None => Scenario::text_of(file)?,
        };
        let all = methods.iter().copied().chain([self.name.as_str()]);
        let overrides = Overrides {
            methods: Some(all.map(str::to_string).collect()),
            runs: Some(seeds),
            set,
            derived: vec![Derived {
                name: self.name.clone(),
                title: format!("{}, with an algorithm of one's own", self.base),
                base: self.base.clone(),
                ..Derived::default()
            }],
            ..Overrides::default()
        };
        Scenario::parse(&text, file, None, overrides)
    }

    /// Runs `scenario` on `threads` threads; this method runs with its own algorithm.
    ///
    /// # Errors
    /// The fault of the scenario, or of the algorithm in it.
    pub fn compare(
        &self,
        scenario: &Scenario,
        threads: usize,
    ) -> Result<Comparison, ScenarioError> {
        let watch = Watch::default();
        runner::compare_by(scenario, threads, &watch, |_, job| self.run(scenario, job, &watch))
    }

    fn run(
        &self,
        scenario: &Scenario,
        job: &Job,
        watch: &Watch,
    ) -> Result<Option<RunResult>, ScenarioError> {
        let change = |world: &mut WorldConfig| {
            if job.method == self.name {
                (self.change)(world);
            }
        };
        Ok(scenario.built_by(job, change, World::new)?.run(&mut Watched::new(watch)))
    }

    /// Runs this method in cells of every kind and checks the rules. Returns the rules that it
    /// kept.
    ///
    /// - It can be built in each cell and keeps the simulator's invariants: every packet is
    ///   delivered, dropped with a reason, or still queued.
    /// - It is deterministic: the same seed gives the same results, regardless of earlier runs.
    /// - It does not starve the cell: every flow that Vanilla serves is served.
    ///
    /// # Errors
    /// The first broken rule, in words.
    pub fn check(&self) -> Result<Vec<String>, String> {
        CELLS.iter().map(|cell| self.check_in(cell)).collect()
    }

    fn check_in(&self, cell: &str) -> Result<String, String> {
        let message = |error: ScenarioError| format!("{cell}: {}: {error}", self.name);
        let short = SHORT.iter().map(|text| text.parse()).collect::<Result<_, String>>()?;
        let scenario = self.scenario(cell, &[PLAIN], 1, short).map_err(message)?;
        let once = || -> Result<Comparison, String> {
            let found = self.compare(&scenario, 1).map_err(message)?;
            match found.broken.first() {
                Some(broken) => Err(format!("it breaks an invariant: {broken}")),
                None => Ok(found),
            }
        };
        let (first, second) = (once()?, once()?);
        let (first, second) = (&first.groups[0].runs, &second.groups[0].runs);
        if first != second {
            let name = &self.name;
            return Err(format!(
                "{cell}: {name} is not deterministic: the same seed gave other results"
            ));
        }
        let (plain, own) = (&first[0].flows, &first[1].flows);
        let starved = plain
            .iter()
            .zip(own)
            .find(|(plain, own)| plain.delivered_packets > 0 && own.delivered_packets == 0);
        match starved {
            Some((plain, _)) => Err(format!(
                "{cell}: {} starves {}: {PLAIN} delivers {} packets, it none",
                self.name, plain.name, plain.delivered_packets
            )),
            None => Ok(format!("{cell}: built, sound, deterministic, served")),
        }
    }
}

#[cfg(test)]
mod tests;
