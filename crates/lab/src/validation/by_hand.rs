//! Figures worked out by hand: a case names a scenario and a place in its results, and theory gives
//! the value there.

mod laws;
pub(super) mod place;

use super::{BY_HAND, CaseFile, Evidence, Measured, Task};
use crate::runner::{Watch, simulated};
use justfull_run::results::RunResult;
use justfull_scenario::{Overrides, Scenario};
use toml::Value;

/// [`SCENARIOS`] with these names.
macro_rules! scenarios {
    ($($name:literal)*) => {
        /// The shipped scenarios by name, the slowest first.
        pub const SCENARIOS: &[(&str, &str)] = &[$((
            $name,
            include_str!(concat!("../../../../claims/validation/by-hand/", $name, ".toml")),
        )),*];
    };
}

scenarios! {
    "md1"
    "mm1"
    "md1-fine"
    "mg1"
    "md1-half"
    "md1-uplink"
    "md1-core"
    "md1-five"
    "harq"
    "cubic"
    "cubic-two"
    "two-ues"
    "fair-greedy"
    "fair-sparse"
    "ecn"
    "upload"
    "below"
    "above"
    "rates"
    "late"
    "sized"
    "ping"
    "wires"
    "requests"
    "configured"
    "page"
}

/// One task for each scenario.
pub(super) fn tasks() -> Vec<Task> {
    SCENARIOS.iter().map(|(name, text)| Box::new(|| measured(name, text)) as Task).collect()
}

/// Runs a scenario, and finds the value of each of its cases in each run.
fn measured(name: &str, text: &str) -> Evidence {
    let results = results_of(name, text);
    let file = CaseFile::load(BY_HAND).expect("it ships");
    let own = file.cases.iter().filter(|case| case.scenario.as_deref() == Some(name));
    let measured = own.map(|case| {
        let measure = case.measure.as_deref().unwrap_or_default();
        let ours = results.iter().map(|result| place::value(result, measure)).collect();
        Measured { id: case.id.clone(), published: laws::value(&case.id), ours }
    });
    Evidence { measured: measured.collect(), plots: Vec::new() }
}

/// The results of every run of a scenario as a tree; empty for a run that contradicts itself.
pub(super) fn results_of(name: &str, text: &str) -> Vec<Value> {
    let file = format!("claims/validation/by-hand/{name}.toml");
    let scenario = Scenario::parse(text, file.as_ref(), None, Overrides::default());
    let scenario = scenario.expect("the shipped scenarios are sound");
    let tree = |result: RunResult| match result.broken {
        Some(_) => Value::Boolean(false),
        None => Value::try_from(result).expect("results are plain data"),
    };
    let run = |job| simulated(&scenario, job, &Watch::default()).expect("read above");
    scenario.jobs().iter().filter_map(run).map(tree).collect()
}
