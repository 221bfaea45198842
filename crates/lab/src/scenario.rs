//! Scenario files: read, checked against every bound, and built into worlds.
//!
//! A scenario is one TOML file. What differs between methods, variants and points of a sweep are *settings*: a dotted path and
//! the value it gets, applied to the file's tree in this order: the variant's, the method's, the method's for the variant, the
//! sweep's, the switches', the user's (`--set`). The result is then read strictly: an unknown key, a bare number where a
//! unit is needed or a value out of bounds is one error that names file, line, field, what was found and what is allowed.

mod build;
mod error;
mod fault;
mod file;
mod method;
mod notes;
mod origin;
mod trace_channel;
mod tree;

pub use error::ScenarioError;
pub use file::{ChannelFile, FlowFile, ScenarioFile, SweepFile};
pub use method::{Method, MethodLibrary, Settings};
pub use toml::{Table, Value};
pub use tree::{Path, Setting};

use crate::input::{SCENARIO_LIMIT, read_capped};
use crate::trace::TracePaths;
use error::{Locator, Origin};
use justfull_base::ConfigError;
use justfull_sim::{Tap, World, WorldConfig};
use std::path::{Path as FilePath, PathBuf};

/// Most runs of a method at a point; a bound on memory.
const MOST_RUNS: u32 = 100_000;

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
        let mut locator = Locator::new(text, file);
        let mut tree = locator.parse()?;
        let methods = MethodLibrary::shipped().with_own(&mut tree, &locator)?;
        let origin = Origin { set_by: "the command", table: &[] };
        for setting in &overrides.base {
            locator.apply(&mut tree, &setting.path.to_string(), setting, &origin)?;
        }
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
        scenario.base = scenario.resolve(None, None)?.0;
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
        let bytes = read_capped(path, SCENARIO_LIMIT).map_err(|e| ScenarioError::no_input(path, &e))?;
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
        (first..first + runs).collect()
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
        self.prepared(job).map(|(world, _, _)| world)
    }

    /// The world of `job`, ready to run.
    ///
    /// # Errors
    /// As [`Scenario::world`], or a bound that only the whole world can check.
    pub fn built(&self, job: &Job) -> Result<World, ScenarioError> {
        self.built_by(job, World::new)
    }

    /// The world of `job`, ready to run, with `tap` listening.
    ///
    /// # Errors
    /// As [`Scenario::built`].
    pub fn tapped<'a>(
        &self,
        job: &Job,
        tap: &'a mut (dyn Tap + 'a),
    ) -> Result<World<&'a mut (dyn Tap + 'a)>, ScenarioError> {
        self.built_by(job, |world| World::tapped(world, tap))
    }

    fn built_by<W>(
        &self,
        job: &Job,
        build: impl FnOnce(&WorldConfig) -> Result<W, ConfigError>,
    ) -> Result<W, ScenarioError> {
        let (world, file, locator) = self.prepared(job)?;
        build(&world).map_err(|e| locator.config(&origin::field(&file, &e.field), &e, &job.method))
    }

    /// The scenario of `job` alone, every setting applied and every default filled in, as TOML.
    ///
    /// # Errors
    /// What is wrong with the scenario under that method.
    pub fn job_toml(&self, job: &Job) -> Result<String, ScenarioError> {
        let point = self.points().into_iter().nth(job.point).flatten();
        let (mut file, _) = self.resolve(Some(&job.method), point)?;
        file.methods = vec![job.method.clone()];
        (file.seed, file.runs, file.sweep) = (job.seed, 1, None);
        // The variant's settings are in the file already.
        file.variant = file::SOUND.into();
        toml::to_string(&file).map_err(|e| self.locator.plain("", "a scenario", &e.to_string()))
    }

    fn prepared(&self, job: &Job) -> Result<(WorldConfig, ScenarioFile, Locator), ScenarioError> {
        let point = self.points().into_iter().nth(job.point).flatten();
        let (file, locator) = self.resolve(Some(&job.method), point)?;
        Ok((build::world(&file, &self.name, job, &self.traces, &locator)?, file, locator))
    }

    /// The scenario under `method` at the first point with every default filled in, as TOML.
    ///
    /// # Errors
    /// What is wrong with the scenario under that method.
    pub fn resolved_toml(&self, method: Option<&str>) -> Result<String, ScenarioError> {
        let (mut file, _) = self.resolve(method, None)?;
        file.methods = method.map_or_else(|| self.methods().to_vec(), |m| vec![m.to_string()]);
        // Its settings are in the file already, and the file names no variants.
        file.variant = file::SOUND.into();
        toml::to_string(&file).map_err(|e| self.locator.plain("", "a scenario", &e.to_string()))
    }

    /// Warnings about the traces that the scenario reads, and about settings that have no effect, with the methods under which
    /// they have none.
    ///
    /// # Errors
    /// When a trace cannot be read, or what is wrong with the scenario under a method.
    pub fn warnings(&self) -> Result<Vec<String>, ScenarioError> {
        let mut warnings = build::trace_warnings(&self.base, &self.traces, &self.locator)?;
        let mut without_effect: Vec<(String, Vec<&str>)> = Vec::new();
        for method in self.methods() {
            for point in self.points() {
                let (file, _) = self.resolve(Some(method), point)?;
                for note in notes::without_effect(&file) {
                    let known = without_effect.iter_mut().find(|(known, _)| *known == note);
                    match known {
                        Some((_, under)) if under.last() != Some(&method.as_str()) => under.push(method),
                        Some(_) => {}
                        None => without_effect.push((note, vec![method])),
                    }
                }
            }
        }
        warnings.extend(without_effect.into_iter().map(|(note, under)| {
            let all = under.len() == self.methods().len();
            if all { note } else { format!("{}: {note}", under.join(", ")) }
        }));
        Ok(warnings)
    }

    /// Reads the scenario under a method and a point of the sweep, all settings applied; the locator knows whose each is.
    fn resolve(
        &self,
        method: Option<&str>,
        point: Option<Value>,
    ) -> Result<(ScenarioFile, Locator), ScenarioError> {
        let (mut tree, mut locator) = (self.tree.clone(), self.locator.clone());
        let variant = self.overrides.variant.as_deref().unwrap_or(&self.base.variant);
        let mut apply = |settings: &Settings, set_by: &str, table: &[&str]| {
            settings.apply(&mut tree, &mut locator, &Origin { set_by, table })
        };
        match self.base.variants.get(variant) {
            Some(settings) => apply(settings, &format!("variant {variant}"), &["variants", variant])?,
            None if variant == file::SOUND => {}
            None => return Err(self.unknown_variant(variant)),
        }
        if let Some(name) = method {
            let Method { name, set, variants, .. } =
                self.methods.find(name).ok_or_else(|| self.unknown_method(name))?;
            let index = self.methods.index_in_file(name).map(|i| i.to_string());
            let table = |below: &[&'static str]| -> Vec<&str> {
                index
                    .iter()
                    .flat_map(|i| ["method", i.as_str()].into_iter().chain(below.iter().copied()))
                    .collect()
            };
            apply(set, &format!("method {name}"), &table(&["set"]))?;
            if let Some(settings) = variants.get(variant) {
                let mut table = table(&["variants"]);
                table.extend(index.is_some().then_some(variant));
                apply(settings, &format!("method {name}, variant {variant}"), &table)?;
            }
        }
        if let (Some(sweep), Some(value)) = (&self.base.sweep, point) {
            apply(&Settings::one(&sweep.path, value), "sweep", &["sweep", "values"])?;
        }
        for name in &self.overrides.switches {
            let settings = self.base.switches.get(name).ok_or_else(|| self.unknown_switch(name))?;
            apply(settings, &format!("switch {name}"), &["switches", name])?;
        }
        let origin = Origin { set_by: "--set", table: &[] };
        for setting in &self.overrides.set {
            locator.apply(&mut tree, &setting.path.to_string(), setting, &origin)?;
        }
        Ok((ScenarioFile::read(&tree, &locator)?, locator))
    }

    fn unknown_variant(&self, name: &str) -> ScenarioError {
        let known: Vec<&str> = self.base.variants.keys().map(String::as_str).chain([file::SOUND]).collect();
        let allowed = format!("one of {}", known.join(", "));
        match self.overrides.variant {
            Some(_) => self.locator.option("--variant", name, &allowed),
            None => self.locator.plain("variant", name, &allowed),
        }
    }

    fn unknown_method(&self, name: &str) -> ScenarioError {
        let allowed = format!("one of {}", self.methods.names().join(", "));
        match self.overrides.methods {
            Some(_) => self.locator.option("--method", name, &allowed),
            None => self.locator.plain("methods", name, &allowed),
        }
    }

    fn unknown_switch(&self, name: &str) -> ScenarioError {
        let known: Vec<&str> = self.base.switches.keys().map(String::as_str).collect();
        let one_of = format!("one of {}", known.join(", "));
        let allowed = if known.is_empty() { "none: the scenario has no switches" } else { &one_of };
        self.locator.option("--switch", name, allowed)
    }

    /// Every method must be known and give a world, so that a mistake is found before the first run.
    fn check(&self) -> Result<(), ScenarioError> {
        if self.methods().is_empty() {
            return Err(self.locator.plain("methods", "none", "at least one method"));
        }
        let runs = self.overrides.runs.unwrap_or(self.base.runs);
        if !(1..=MOST_RUNS).contains(&runs) {
            let allowed = format!("1 to {MOST_RUNS}");
            return Err(match self.overrides.runs {
                Some(_) => self.locator.option("--runs", &runs.to_string(), &allowed),
                None => self.locator.plain("runs", &runs.to_string(), &allowed),
            });
        }
        let seed = self.overrides.seed.unwrap_or(self.base.seed);
        if seed.checked_add(u64::from(runs)).is_none() {
            let allowed = format!("at most {}: each run has the next seed", u64::MAX - u64::from(runs));
            return Err(self.locator.option("--seed", &seed.to_string(), &allowed));
        }
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

impl Scenario {
    /// Checks what [`Scenario::parse`] leaves until it is asked for: the scenario under each of its variants, and that each switch
    /// goes with some variant and method.
    ///
    /// # Errors
    /// The first thing that is wrong with the scenario under one of them.
    pub fn check_alternatives(&self) -> Result<(), ScenarioError> {
        let variants: Vec<&str> =
            [file::SOUND].into_iter().chain(self.base.variants.keys().map(String::as_str)).collect();
        for variant in &variants {
            match self.under(variant, &[])?.check() {
                // A trace that only this variant reads, and that is not here, is not the scenario's fault.
                Err(error) if error.needs_data && Some(*variant) != self.overrides.variant.as_deref() => {}
                checked => checked?,
            }
        }
        for switch in self.base.switches.keys() {
            let mut first = None;
            let works = variants.iter().any(|variant| {
                let switched = self.under(variant, std::slice::from_ref(switch));
                switched
                    .and_then(|switched| switched.goes_with_some_method())
                    .map_err(|error| first.get_or_insert(error))
                    .is_ok()
            });
            match first {
                Some(error) if !works => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Builds the world of one method after another until one is sound; the error is that of the first.
    fn goes_with_some_method(&self) -> Result<(), ScenarioError> {
        let seed = self.overrides.seed.unwrap_or(self.base.seed);
        let mut first = None;
        for method in self.methods() {
            match self.built(&Job { method: method.clone(), point: 0, seed }) {
                Err(error) if !error.needs_data => _ = first.get_or_insert(error),
                _ => return Ok(()),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// The scenario under a variant and switches of its own.
    fn under(&self, variant: &str, switches: &[String]) -> Result<Self, ScenarioError> {
        let mut other = self.clone();
        other.overrides.variant = Some(variant.into());
        other.overrides.switches.extend_from_slice(switches);
        other.base = other.resolve(None, None)?.0;
        Ok(other)
    }
}

/// A swept value as a number in the unit that `label` ends in (`_s`, `_ms`, `_us`, `_ns`, `_B`, `_kB`, `_MB`,
/// `_kbit`, and Mbit/s for any other rate); plain numbers as they are.
fn sweep_number(value: &Value, label: &str) -> f64 {
    match value {
        Value::Integer(n) => *n as f64,
        Value::Float(x) => *x,
        Value::String(text) => {
            let unit = label.rsplit_once('_').map_or("", |(_, unit)| unit);
            let scale = match unit {
                "ms" | "kbit" => 1e3,
                "us" => 1e6,
                "ns" => 1e9,
                "kB" => 1e-3,
                "MB" => 1e-6,
                _ => 1.0,
            };
            let time = text.parse::<justfull_base::Duration>().map(|d| d.as_secs_f64());
            let size = text.parse::<justfull_base::Bytes>().map(|b| b.0 as f64);
            let rate = text.parse::<justfull_base::BitRate>().map(|r| r.as_mbit_s());
            let measured = time.or(size).or(rate).map(|x| x * scale).ok();
            let first_number = || text.split_whitespace().next().and_then(|w| w.parse().ok());
            measured.or_else(first_number).unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests;
