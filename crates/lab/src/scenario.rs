//! Scenario files: read, checked against every bound, and built into worlds.
//!
//! A scenario is one TOML file. What differs between methods, variants and points of a sweep are *settings*: a dotted path and
//! the value it gets, applied to the file's tree in this order: the variant's, the method's, the method's for the variant, the
//! sweep's, the switches', the user's (`--set`). The result is then read strictly: an unknown key, a bare number where a
//! unit is needed or a value out of bounds is one error that names file, line, field, what was found and what is allowed.

mod build;
mod error;
mod file;
mod method;
mod tree;

pub use error::ScenarioError;
pub use file::{ChannelFile, FlowFile, ScenarioFile, SweepFile};
pub use method::{Method, MethodLibrary, Settings};
pub use toml::{Table, Value};
pub use tree::{Path, Setting};

use crate::trace::TracePaths;
use error::Locator;
use justfull_sim::{World, WorldConfig};
use std::path::{Path as FilePath, PathBuf};

/// What to make of a scenario besides what its file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Settings that come before the variant's, as if the file said so.
    pub base: Vec<Setting>,
    /// Variant instead of the file's, e.g. `as-released`.
    pub variant: Option<String>,
    /// Methods instead of the file's.
    pub methods: Option<Vec<String>>,
    /// Switches of the file to turn on.
    pub switches: Vec<String>,
    /// Settings of the user.
    pub set: Vec<Setting>,
    /// Seed instead of the file's.
    pub seed: Option<u64>,
    /// Number of runs instead of the file's.
    pub runs: Option<u32>,
    /// Points of the sweep instead of the file's.
    pub sweep_values: Option<Vec<Value>>,
}

/// A scenario file that has been read.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Short name: the file's without its ending.
    pub name: String,
    locator: Locator,
    tree: Table,
    traces: TracePaths,
    methods: MethodLibrary,
    overrides: Overrides,
    /// The file as it reads without a method: title, seeds, sweep, method names.
    pub base: ScenarioFile,
}

/// One run to be made.
#[derive(Clone, Debug)]
pub struct Job {
    /// Method's name.
    pub method: String,
    /// Index of the point of the sweep; 0 without a sweep.
    pub point: usize,
    /// Seed.
    pub seed: u64,
}

impl Scenario {
    /// Reads `text`, which stands in `file`.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(
        text: &str,
        file: &FilePath,
        data_dir: Option<PathBuf>,
        overrides: Overrides,
    ) -> Result<Self, ScenarioError> {
        let locator = Locator::new(text, file);
        let mut tree = locator.parse(text)?;
        let methods = MethodLibrary::shipped().with_own(&mut tree, &locator)?;
        overrides
            .base
            .iter()
            .try_for_each(|s| s.apply(&mut tree))
            .map_err(|e| locator.setting("the base", &e))?;
        let name = file.file_stem().map_or_else(|| "scenario".into(), |s| s.to_string_lossy().into_owned());
        let scenario_dir = file.parent().map_or_else(PathBuf::new, FilePath::to_path_buf);
        let base = ScenarioFile::read(&tree, &locator)?;
        let mut scenario = Self {
            name,
            locator,
            tree,
            traces: TracePaths { scenario_dir, data_dir },
            methods,
            overrides,
            base,
        };
        scenario.base = scenario.resolve(None, None)?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or the first thing that is wrong with it.
    pub fn load(
        path: &FilePath,
        data_dir: Option<PathBuf>,
        overrides: Overrides,
    ) -> Result<Self, ScenarioError> {
        let bytes = std::fs::read(path).map_err(|e| ScenarioError::unreadable(path, &e.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| ScenarioError::unreadable(path, "not UTF-8 text"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Self::parse(text, path, data_dir, overrides)
    }

    /// Names of the methods to compare.
    #[must_use]
    pub fn methods(&self) -> &[String] {
        self.overrides.methods.as_deref().unwrap_or(&self.base.methods)
    }

    /// Seeds of the runs.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        let first = self.overrides.seed.unwrap_or(self.base.seed);
        let runs = u64::from(self.overrides.runs.unwrap_or(self.base.runs));
        (first..first.saturating_add(runs)).collect()
    }

    /// Points of the sweep, in order; one empty point without a sweep.
    #[must_use]
    pub fn points(&self) -> Vec<Option<Value>> {
        match (&self.base.sweep, &self.overrides.sweep_values) {
            (None, _) => vec![None],
            (Some(_), Some(values)) => values.iter().cloned().map(Some).collect(),
            (Some(sweep), None) => sweep.values.iter().cloned().map(Some).collect(),
        }
    }

    /// Name of the swept quantity and its value at `point`, as figures show them.
    #[must_use]
    pub fn x(&self, point: usize) -> Option<(String, f64)> {
        let sweep = self.base.sweep.as_ref()?;
        let value = self.points().into_iter().nth(point)??;
        Some((sweep.label.clone(), sweep_number(&value, &sweep.label)))
    }

    /// All runs, in the order of points, methods and seeds.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for point in 0..self.points().len() {
            for method in self.methods() {
                let job = |seed| Job { method: method.clone(), point, seed };
                jobs.extend(self.seeds().into_iter().map(job));
            }
        }
        jobs
    }

    /// The world of `job`.
    ///
    /// # Errors
    /// What is wrong with the scenario under that method, or its trace cannot be read.
    pub fn world(&self, job: &Job) -> Result<WorldConfig, ScenarioError> {
        let point = self.points().into_iter().nth(job.point).flatten();
        let file = self.resolve(Some(&job.method), point)?;
        build::world(&file, &self.name, job, &self.traces, &self.locator)
    }

    /// The world of `job`, ready to run.
    ///
    /// # Errors
    /// As [`Scenario::world`], or a bound that only the whole world can check.
    pub fn built(&self, job: &Job) -> Result<World, ScenarioError> {
        World::new(&self.world(job)?).map_err(|e| self.locator.config(&e, &job.method))
    }

    /// The scenario under `method` at the first point with every default filled in, as TOML.
    ///
    /// # Errors
    /// What is wrong with the scenario under that method.
    pub fn resolved_toml(&self, method: Option<&str>) -> Result<String, ScenarioError> {
        let mut file = self.resolve(method, None)?;
        file.methods = method.map_or_else(|| self.methods().to_vec(), |m| vec![m.to_string()]);
        toml::to_string(&file).map_err(|e| self.locator.plain("", "a scenario", &e.to_string()))
    }

    /// Warnings about the traces that the scenario reads.
    ///
    /// # Errors
    /// When a trace cannot be read.
    pub fn warnings(&self) -> Result<Vec<String>, ScenarioError> {
        build::trace_warnings(&self.base, &self.traces)
    }

    /// Reads the scenario under a method and a point of the sweep, all settings applied.
    fn resolve(&self, method: Option<&str>, point: Option<Value>) -> Result<ScenarioFile, ScenarioError> {
        let mut tree = self.tree.clone();
        let locator = &self.locator;
        let variant = self.overrides.variant.as_deref().unwrap_or(&self.base.variant);
        let apply = |tree: &mut Table, settings: &Settings, whose: &str| {
            settings.apply(tree).map_err(|e| locator.setting(whose, &e))
        };
        match self.base.variants.get(variant) {
            Some(settings) => apply(&mut tree, settings, &format!("variant {variant}"))?,
            None if variant == file::SOUND => {}
            None => {
                let known = self.base.variants.keys().cloned().chain([file::SOUND.to_string()]);
                return Err(locator.plain("variant", variant, &known.collect::<Vec<_>>().join(", ")));
            }
        }
        if let Some(name) = method {
            let method = self.methods.find(name).ok_or_else(|| {
                locator.plain("methods", name, &format!("one of {}", self.methods.names().join(", ")))
            })?;
            apply(&mut tree, &method.set, &format!("method {name}"))?;
            if let Some(settings) = method.variants.get(variant) {
                apply(&mut tree, settings, &format!("method {name}, {variant}"))?;
            }
        }
        if let (Some(sweep), Some(value)) = (&self.base.sweep, point) {
            let settings = Settings::one(&sweep.path, value);
            apply(&mut tree, &settings, "sweep")?;
        }
        for name in &self.overrides.switches {
            let known =
                || format!("one of {}", self.base.switches.keys().cloned().collect::<Vec<_>>().join(", "));
            let settings =
                self.base.switches.get(name).ok_or_else(|| locator.plain("switch", name, &known()))?;
            apply(&mut tree, settings, &format!("switch {name}"))?;
        }
        for setting in &self.overrides.set {
            setting.apply(&mut tree).map_err(|e| locator.setting("--set", &e))?;
        }
        ScenarioFile::read(&tree, locator)
    }

    /// Every method must be known and give a world, so that a mistake is found before the first run.
    fn check(&self) -> Result<(), ScenarioError> {
        if self.methods().is_empty() {
            return Err(self.locator.plain("methods", "none", "at least one method"));
        }
        let seed = self.seeds().first().copied();
        let seed = seed.ok_or_else(|| self.locator.plain("runs", "0", "at least 1"))?;
        if self.points().is_empty() {
            return Err(self.locator.plain("sweep.values", "none", "at least one value"));
        }
        for point in 0..self.points().len() {
            for method in self.methods() {
                self.built(&Job { method: method.clone(), point, seed })?;
            }
        }
        Ok(())
    }
}

/// A swept value as a number in the unit that `label` ends in (`_ms`, `_us`, `_s`, `_kB`, ...); plain numbers as they are.
fn sweep_number(value: &Value, label: &str) -> f64 {
    match value {
        Value::Integer(n) => *n as f64,
        Value::Float(x) => *x,
        Value::String(text) => {
            let unit = label.rsplit_once('_').map_or("", |(_, unit)| unit);
            let time = text.parse::<justfull_base::Duration>().map(|d| d.as_secs_f64());
            let scale = match unit {
                "ms" => 1e3,
                "us" => 1e6,
                _ => 1.0,
            };
            let size = text.parse::<justfull_base::Bytes>().map(|b| b.0 as f64);
            let rate = text.parse::<justfull_base::BitRate>().map(|r| r.as_mbit_s());
            let first_number = || text.split_whitespace().next().and_then(|w| w.parse().ok());
            time.map(|s| s * scale).or(size).or(rate).ok().or_else(first_number).unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests;
