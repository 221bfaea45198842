//! The file of a campaign.

use crate::draw::{self, Draw};
use crate::failure::Failure;
use justfull_base::Duration;
use justfull_report::read;
use justfull_scenario::in_words;
use justfull_scenario::near::{did_you_mean, near};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A campaign's file in its written form.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CampaignFile {
    /// One line.
    #[serde(default)]
    pub(crate) title: String,
    /// Scenario files, beside this one, or names of shipped scenarios.
    #[serde(default)]
    pub(crate) scenarios: Vec<String>,
    /// Scenarios that are drawn from a seed.
    #[serde(default)]
    pub(crate) draw: Option<Draw>,
    /// Methods instead of each scenario's own.
    #[serde(default)]
    pub(crate) methods: Vec<String>,
    /// Variant instead of each scenario's own.
    #[serde(default)]
    pub(crate) variant: Option<String>,
    /// Settings for all, as `--set`.
    #[serde(default)]
    pub(crate) set: BTreeMap<String, Value>,
    /// Settings with several values: all combinations are run, as `--grid`.
    #[serde(default)]
    pub(crate) grid: BTreeMap<String, Vec<Value>>,
    /// Number of seeds of each case.
    #[serde(default)]
    pub(crate) seeds: Option<u64>,
    /// The first seed.
    #[serde(default = "one")]
    pub(crate) first_seed: u64,
    /// The required precision, instead of a number of seeds.
    #[serde(default)]
    pub(crate) target: Option<Target>,
    /// Most time of CPU that a job may take.
    #[serde(default)]
    pub(crate) job_limit: Option<Duration>,
    /// Methods in Python, by name.
    #[serde(default)]
    pub(crate) python: BTreeMap<String, PythonMethod>,
    /// Methods with the limiter of a shared library, by name.
    #[serde(default)]
    pub(crate) plugin: BTreeMap<String, PluginMethod>,
}

/// A method with the limiter of a shared library.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginMethod {
    /// The library; as written, relative to the campaign's file.
    pub file: PathBuf,
    /// The method whose other settings it uses.
    #[serde(default = "vanilla")]
    pub base: String,
}

/// A method that is a class in Python.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PythonMethod {
    /// File with the class; as written, relative to the campaign's file.
    pub file: PathBuf,
    /// Name of the class.
    pub class: String,
    /// The method whose settings it uses; the class must name the same one.
    #[serde(default = "vanilla")]
    pub base: String,
    /// Its own settings, as `--set`.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
}

fn vanilla() -> String {
    "Vanilla".into()
}

const fn one() -> u64 {
    1
}

/// Each case gets seeds until the 95 % confidence interval of a mean is narrow enough.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Column of `runs.csv`, or its short name, such as `delay.p99`.
    pub metric: String,
    /// Name of the flow.
    pub flow: String,
    /// Half width of the interval as a part of the mean, such as `5%`.
    pub within: String,
    /// Seeds to begin with, at least 3.
    #[serde(default = "five")]
    pub least: u64,
    /// Most seeds of a case.
    pub most: u64,
}

const fn five() -> u64 {
    5
}

impl Target {
    /// The part of the mean.
    pub(crate) fn share(&self) -> Option<f64> {
        let percent: f64 = self.within.strip_suffix('%')?.trim().parse().ok()?;
        (percent > 0.0 && percent <= 100.0).then_some(percent / 100.0)
    }
}

/// The path of the first field of the campaign `text` that has a wrong value, or of the table that
/// has a field of an unknown name; none if `text` is no TOML or the fault is at its top.
fn path_of(text: &str) -> Option<String> {
    let error = text.parse::<Table>().ok()?.try_into::<CampaignFile>().err()?.to_string();
    let path = error.lines().find_map(|line| line.strip_prefix("in `")?.strip_suffix('`'))?;
    Some(path.to_owned())
}

/// The name in backticks after `before`, with which `text` begins.
fn between<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    text.strip_prefix(before)?.strip_suffix('`')
}

impl CampaignFile {
    /// Reads `text`, the content of `file`.
    pub(crate) fn read(text: &str, file: &Path) -> Result<Self, Failure> {
        let read: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |at| 1 + text[..at.start].matches('\n').count());
            let (mut found, mut allowed) = in_words(error.message());
            let mut field = path_of(text).map_or_else(String::new, |path| format!(", {path}"));
            if let Some(key) = between(&found, "missing field `") {
                field.push_str(&format!("{}{key}", if field.is_empty() { ", " } else { "." }));
                allowed = "a value: the field is required".into();
                found = "nothing".into();
            } else if let Some(key) = between(&found, "unknown field `") {
                field.push_str(&format!("{}{key}", if field.is_empty() { ", " } else { "." }));
                let names: Vec<&str> = allowed.split('`').skip(1).step_by(2).collect();
                let near: Vec<String> =
                    near(key, &names).iter().map(|name| format!("`{name}`")).collect();
                allowed
                    .push_str(&did_you_mean(&near.iter().map(String::as_str).collect::<Vec<_>>()));
                found = "an unknown field".into();
            } else if allowed.is_empty() {
                allowed = "TOML".into();
            }
            Failure::wrong(file, &format!("line {line}{field}"), &found, &allowed)
        })?;
        read.check(file)?;
        Ok(read)
    }

    fn check(&self, file: &Path) -> Result<(), Failure> {
        let wrong = |field: &str, found: &str, allowed: &str| {
            Err(Failure::wrong(file, field, found, allowed))
        };
        if self.scenarios.is_empty() && self.draw.is_none() {
            return wrong("scenarios", "none", "at least one file or name, or [draw]");
        }
        if let Some(Draw { cases, .. }) = &self.draw
            && !(1..=draw::MOST).contains(cases)
        {
            let allowed = format!("1 to {}", draw::MOST);
            return wrong("draw.cases", &cases.to_string(), &allowed);
        }
        match (&self.seeds, &self.target) {
            (Some(0), _) => return wrong("seeds", "0", "at least 1"),
            (Some(_), Some(_)) => return wrong("seeds", "seeds and target", "one of the two"),
            (None, None) => return wrong("seeds", "nothing", "a number of seeds, or [target]"),
            _ => {}
        }
        for (path, values) in &self.grid {
            if values.is_empty() {
                return wrong(&format!("grid.{path}"), "no values", "at least one");
            }
            if self.set.contains_key(path) {
                return wrong(&format!("grid.{path}"), "set and varied", "one of the two");
            }
        }
        if self.job_limit.is_some_and(Duration::is_zero) {
            return wrong("job_limit", "0s", "more, such as \"60s\"");
        }
        for (table, own) in [
            ("python", Vec::from_iter(self.python.keys())),
            ("plugin", self.plugin.keys().collect()),
        ] {
            if let Some(name) = own.into_iter().find(|name| !self.methods.contains(name)) {
                let allowed = "one that `methods` names";
                return wrong(&format!("{table}.{name}"), "a method that is not used", allowed);
            }
        }
        let Some(target) = &self.target else { return Ok(()) };
        if let Err(why) = read::column_of(&target.metric) {
            let allowed = format!("a column of runs.csv: there is {why}");
            return wrong("target.metric", &target.metric, &allowed);
        }
        if target.share().is_none() {
            return wrong("target.within", &target.within, "above 0% to 100%");
        }
        if target.least < 3 {
            return wrong("target.least", &target.least.to_string(), "at least 3");
        }
        if target.most < target.least {
            return wrong("target.most", &target.most.to_string(), "at least target.least");
        }
        Ok(())
    }
}
