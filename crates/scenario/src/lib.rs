//! Scenario files: read, checked against every bound, and built into worlds.
//!
//! A scenario is one TOML file. Methods, variants and points of a sweep differ in *settings*: a
//! dotted path and its value, applied to the file's tree in this order: the variant's, the
//! method's, the method's for the variant, the sweep's, the switches', the user's (`--set`, under
//! each method that has a place for it). The result is then read strictly: an unknown key, a bare
//! number in place of a unit or a value out of bounds is one error that names file, line, field,
//! the value found and the values allowed.
//!
//! This crate parses, checks and builds. It has no algorithm of its own.
#![forbid(unsafe_code)]

mod base_rtt;
mod build;
mod cells;
mod chain;
mod channel;
mod check;
mod cqi_channel;
mod error;
mod fault;
mod file;
mod findings;
mod former;
mod grid;
pub mod keys;
mod kinds;
pub mod library;
mod locator;
mod method;
mod most;
mod notes;
mod origin;
mod own;
mod parts;
mod preset;
mod resolve;
pub mod schema;
mod settings;
pub mod starter;
mod sweep;
mod trace_channel;
mod trace_start;
mod transparent;
mod tree;
mod unread;
mod written;

pub use error::ScenarioError;
pub use file::docs;
pub use file::{ChannelFile, FlowFile, ScenarioFile};
pub use grid::Axis;
pub use justfull_base::make::{Make, OwnSetting};
pub use method::{Derived, DerivedLimiter, Method, MethodLibrary, OwnLimiter, Settings};
pub use most::Most;
pub use settings::MethodSettings;
pub use sweep::{SweepFile, SweepPath};
pub use toml::{Table, Value};
pub use tree::{Path, Setting};

use findings::{Findings, Full};
use justfull_base::ConfigError;
use justfull_run::floor::Floor;
use justfull_run::results::RunResult;
use justfull_run::{Tap, WorldConfig};
use justfull_sim::{Progress, World};
use justfull_trace::TracePaths;
use justfull_trace::input::{SCENARIO_LIMIT, read_capped};
pub use justfull_trace::settings::in_words;
pub use justfull_trace::{input, near};
use locator::{By, Locator, Origin};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path as FilePath, PathBuf};

/// Changes to a scenario from outside its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Settings applied before the variant's, as if the file had them.
    pub base: Vec<Setting>,
    /// Variant in place of the file's, e.g. `as-released`.
    pub variant: Option<String>,
    /// Methods in place of the file's.
    pub methods: Option<Vec<String>>,
    /// Switches of the file to turn on.
    pub switches: Vec<String>,
    /// Settings of the user.
    pub set: Vec<Setting>,
    /// Seed in place of the file's.
    pub seed: Option<u64>,
    /// Number of runs in place of the file's.
    pub runs: Option<u32>,
    /// Points of the sweep in place of the file's.
    pub sweep_values: Option<Vec<Value>>,
    /// A grid in place of the file's sweep.
    pub grid: Vec<Axis>,
    /// Methods in addition to the shipped ones and the file's.
    pub derived: Vec<Derived>,
    /// The methods are only a part of a comparison. It is no mistake if none of them has or reads a
    /// user's setting, or if a sweep changes none of them.
    pub some_methods: bool,
    /// Traces are read only from the folders of the scenario and of the data
    /// ([`TracePaths::confined`]).
    pub confined: bool,
    /// Bounds of the request.
    pub most: Most,
}

/// A scenario file that has been read.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Short name: the file's name without its extension.
    pub name: String,
    locator: Locator,
    tree: Table,
    traces: TracePaths,
    methods: MethodLibrary,
    /// Settings by the name of the variant.
    variants: BTreeMap<String, Settings>,
    /// Settings by the name of the switch.
    switches: BTreeMap<String, Settings>,
    overrides: Overrides,
    /// Notes for the user about the settings.
    notes: Vec<String>,
    /// The file without a method: title, seeds, sweep, method names.
    pub base: ScenarioFile,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The method's name.
    pub method: String,
    /// Index of the point of the sweep; 0 without a sweep.
    pub point: usize,
    /// Seed.
    pub seed: u64,
}

impl Scenario {
    /// Reads `text`, the content of `file`.
    ///
    /// # Errors
    /// The first mistake in it.
    pub fn parse(
        text: &str,
        file: &FilePath,
        data_dir: Option<PathBuf>,
        overrides: Overrides,
    ) -> Result<Self, ScenarioError> {
        let mut found = Findings::new(1);
        let scenario = Self::found(text, file, data_dir, overrides, &mut found);
        match (found.errors.into_iter().next(), scenario) {
            (Some(error), _) => Err(error),
            (None, Some(scenario)) => Ok(scenario),
            (None, None) => unreachable!("a scenario that cannot be read has an error"),
        }
    }

    /// Reads `text` and adds its mistakes; none if there are too many to continue.
    fn found(
        text: &str,
        file: &FilePath,
        data_dir: Option<PathBuf>,
        overrides: Overrides,
        found: &mut Findings,
    ) -> Option<Self> {
        let mut scenario =
            Self::read_text(text, file, data_dir, overrides, found).ok().flatten()?;
        // If there is no room for more mistakes, the known ones are reported.
        let _ = scenario.find(found);
        Some(scenario)
    }

    /// Reads `text` without its mistakes, which are added to `found`.
    fn read_text(
        text: &str,
        file: &FilePath,
        data_dir: Option<PathBuf>,
        overrides: Overrides,
        found: &mut Findings,
    ) -> Result<Option<Self>, Full> {
        let mut locator = Locator::new(text, file);
        let mut tree = match locator.parse() {
            Ok(tree) => tree,
            Err(error) => return found.add(error).map(|()| None),
        };
        let former = former::replace(&mut tree);
        let own = tree.remove("method").map(|own| ("method".to_string(), own));
        let library = |own: &Table| {
            MethodLibrary::shipped()
                .with_own(own, &locator)?
                .with_derived(&overrides.derived, &locator)
        };
        let Some(methods) = found.of(&mut own.into_iter().collect(), library)? else {
            return Ok(None);
        };
        let origin = Origin { by: By::Command, set_by: "the command", table: &[] };
        for setting in &overrides.base {
            if let Err(error) =
                locator.apply(&mut tree, &setting.path.to_string(), setting.clone(), &origin)
            {
                found.add(error)?;
            }
        }
        let grid = match grid::sweep(&overrides.grid, &locator) {
            Ok(grid) => grid,
            Err(error) => return found.add(error).map(|()| None),
        };
        if grid.is_some() {
            tree.remove("sweep");
        }
        let name = file
            .file_stem()
            .map_or_else(|| "scenario".into(), |s| s.to_string_lossy().into_owned());
        let scenario_dir = file.parent().map_or_else(PathBuf::new, FilePath::to_path_buf);
        let Some(mut base) = found.of(&mut tree, |tree| ScenarioFile::read(tree, &locator))? else {
            return Ok(None);
        };
        // They are applied to the tree many times, so they are parsed once here.
        let (variants, switches) =
            (std::mem::take(&mut base.variants), std::mem::take(&mut base.switches));
        tree.remove("variants");
        tree.remove("switches");
        let mut scenario = Self {
            name,
            locator,
            tree,
            traces: TracePaths { scenario_dir, data_dir, confined: overrides.confined },
            methods,
            variants,
            switches,
            overrides,
            notes: former.into_iter().collect(),
            base,
        };
        match scenario.read(scenario.case(None, None)) {
            Ok((base, _)) => scenario.base = base,
            Err(error) => found.add(error)?,
        }
        // A grid may have a million points. It is kept out of the tree, so that no case reads them.
        if grid.is_some() {
            scenario.base.sweep = grid;
        }
        Ok(Some(scenario))
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, or the first mistake in it.
    pub fn load(
        path: &FilePath,
        data_dir: Option<PathBuf>,
        overrides: Overrides,
    ) -> Result<Self, ScenarioError> {
        Self::parse(&Self::text_of(path)?, path, data_dir, overrides)
    }

    /// The text of the file at `path`, without a byte order mark.
    ///
    /// # Errors
    /// If it cannot be read, is longer than [`SCENARIO_LIMIT`], or is not text.
    pub fn text_of(path: &FilePath) -> Result<String, ScenarioError> {
        let bytes =
            read_capped(path, SCENARIO_LIMIT).map_err(|e| ScenarioError::no_input(path, &e))?;
        Self::decoded(bytes, path)
    }

    /// The text from `reader`, without a byte order mark; `path` is its name in messages.
    ///
    /// # Errors
    /// If it cannot be read, is longer than [`SCENARIO_LIMIT`], or is not text.
    pub fn text_from(reader: impl Read, path: &FilePath) -> Result<String, ScenarioError> {
        let mut bytes = Vec::new();
        reader
            .take(SCENARIO_LIMIT.0.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| ScenarioError::unreadable(path, &e.to_string()))?;
        if bytes.len() as u64 > SCENARIO_LIMIT.0 {
            let found = format!("more than {SCENARIO_LIMIT}");
            return Err(ScenarioError::unreadable(path, &found));
        }
        Self::decoded(bytes, path)
    }

    fn decoded(bytes: Vec<u8>, path: &FilePath) -> Result<String, ScenarioError> {
        let text = String::from_utf8(bytes)
            .map_err(|_| ScenarioError::unreadable(path, "not UTF-8 text"))?;
        Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
    }

    /// Names of the methods to compare.
    #[must_use]
    pub fn methods(&self) -> &[String] {
        self.overrides.methods.as_deref().unwrap_or(&self.base.methods)
    }

    /// Seeds of the runs.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        let first = self.first_seed();
        let runs = u64::from(self.overrides.runs.unwrap_or(self.base.runs));
        (first..first + runs).collect()
    }

    /// Points of the sweep, in order; one empty point without a sweep.
    #[must_use]
    pub fn points(&self) -> Vec<Option<&Value>> {
        match self.swept() {
            None => vec![None],
            Some(values) => values.iter().map(Some).collect(),
        }
    }

    /// Values of the sweep, in order; none without a sweep.
    fn swept(&self) -> Option<&[Value]> {
        let sweep = self.base.sweep.as_ref()?;
        Some(self.overrides.sweep_values.as_ref().unwrap_or(&sweep.values))
    }

    /// The value of the sweep at `point`.
    fn value_at(&self, point: usize) -> Option<&Value> {
        self.swept()?.get(point)
    }

    /// Name of the swept quantity and its value at `point`, for figures.
    #[must_use]
    pub fn x(&self, point: usize) -> Option<(String, f64)> {
        if !self.overrides.grid.is_empty() {
            return self.grid_x(point);
        }
        let sweep = self.base.sweep.as_ref()?;
        let value = self.value_at(point)?;
        Some((sweep.label.clone(), sweep_number(value, &sweep.label)))
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
    /// The fault of the scenario under that method, or of its trace.
    pub fn world(&self, job: &Job) -> Result<WorldConfig, ScenarioError> {
        self.prepared(job).map(|(world, _, _)| world)
    }

    /// The world of `job`, ready to run.
    ///
    /// # Errors
    /// The errors of [`Scenario::world`], or a bound that only the whole world can check.
    pub fn built(&self, job: &Job) -> Result<World, ScenarioError> {
        self.built_by(job, |_| (), World::new)
    }

    /// Simulates `job` on at most `threads` threads with `tap` as its listener, and adds the floor
    /// if the file requests it. None if `progress` ended the run.
    ///
    /// # Errors
    /// The errors of [`Scenario::built`].
    pub fn simulated(
        &self,
        job: &Job,
        tap: Option<&mut dyn Tap>,
        threads: usize,
        progress: &mut dyn Progress,
    ) -> Result<Option<RunResult>, ScenarioError> {
        let (world, file, locator) = self.prepared(job)?;
        let fault =
            |e: ConfigError| locator.config(&origin::field(&file, &e.field), &e, &job.method);
        if file.floor {
            let mut floor = Floor::new(&world, tap).map_err(fault)?;
            let mut result =
                World::tapped(&world, &mut floor).map_err(fault)?.run_on(threads, progress);
            result.iter_mut().for_each(|result| floor.hold(result));
            return Ok(result);
        }
        match tap {
            Some(tap) => Ok(World::tapped(&world, tap).map_err(fault)?.run_on(threads, progress)),
            None => Ok(World::new(&world).map_err(fault)?.run_on(threads, progress)),
        }
    }

    /// The result of `build` for the world of `job`, after `change` has installed parts that no
    /// file can describe, such as user-defined algorithms.
    ///
    /// # Errors
    /// The errors of [`Scenario::built`].
    pub fn built_by<W>(
        &self,
        job: &Job,
        change: impl FnOnce(&mut WorldConfig),
        build: impl FnOnce(&WorldConfig) -> Result<W, ConfigError>,
    ) -> Result<W, ScenarioError> {
        let (mut world, file, locator) = self.prepared(job)?;
        change(&mut world);
        let floor = if file.floor { Floor::new(&world, None).map(drop) } else { Ok(()) };
        let fault =
            |e: ConfigError| locator.config(&origin::field(&file, &e.field), &e, &job.method);
        floor.and_then(|()| build(&world)).map_err(fault)
    }

    /// The scenario of `job` alone, every setting applied and every default filled in, as TOML.
    ///
    /// # Errors
    /// The fault of the scenario under that method.
    pub fn job_toml(&self, job: &Job) -> Result<String, ScenarioError> {
        let (mut file, _) = self.of_job(job)?;
        file.methods = vec![job.method.clone()];
        (file.seed, file.runs, file.sweep) = (job.seed, 1, None);
        // The file already contains the variant's settings.
        file.variant = file::SOUND.into();
        self.written(file)
    }

    fn prepared(&self, job: &Job) -> Result<(WorldConfig, ScenarioFile, Locator), ScenarioError> {
        let (file, locator) = self.of_job(job)?;
        Ok((self.built_from(&file, job, &locator)?, file, locator))
    }

    /// The world of `file` for `job`.
    fn built_from(
        &self,
        file: &ScenarioFile,
        job: &Job,
        locator: &Locator,
    ) -> Result<WorldConfig, ScenarioError> {
        let most = &self.overrides.most;
        let mut world = build::world(file, &self.name, job, &self.traces, locator, most)?;
        self.put_own(job, file, locator, &mut world)?;
        most.check(&world, locator)?;
        Ok(world)
    }

    /// The scenario under `method` without a sweep, with every default filled in, as TOML.
    ///
    /// # Errors
    /// The fault of the scenario under that method.
    pub fn resolved_toml(&self, method: Option<&str>) -> Result<String, ScenarioError> {
        let (mut file, _) = self.read(self.case(method, None))?;
        file.methods = method.map_or_else(|| self.methods().to_vec(), |m| vec![m.to_string()]);
        if !self.overrides.grid.is_empty() {
            file.sweep.clone_from(&self.base.sweep);
        }
        // The file already contains the variant's settings, and names no variants.
        file.variant = file::SOUND.into();
        self.written(file)
    }

    /// `file` as TOML, after a comment for each of its methods with a limiter of its own.
    fn written(&self, mut file: ScenarioFile) -> Result<String, ScenarioError> {
        self.complete_own(&mut file);
        let text = toml::to_string(&file);
        let text = text.map_err(|e| self.locator.plain("", "a scenario", &e.to_string()))?;
        Ok(self.own_in_comments(&file.methods) + &text)
    }

    /// Notes for the user before the first run: settings that do not apply to every method or have
    /// no effect under some, and repairs of the traces.
    ///
    /// # Errors
    /// If a trace cannot be read.
    pub fn warnings(&self) -> Result<Vec<String>, ScenarioError> {
        let of_traces = build::trace_warnings(&self.base, &self.traces, &self.locator)?;
        let own = self.own_in_words();
        Ok(self.notes.iter().cloned().chain(own).chain(of_traces).collect())
    }

    fn first_seed(&self) -> u64 {
        self.overrides.seed.unwrap_or(self.base.seed)
    }
}

/// A swept value as a number in the unit at the end of `label` (`_s`, `_ms`, `_us`, `_ns`, `_B`,
/// `_kB`, `_MB`, `_kbit`; Mbit/s for any other rate); plain numbers are unchanged.
fn sweep_number(value: &Value, label: &str) -> f64 {
    match value {
        Value::Integer(n) => *n as f64,
        Value::Float(x) => *x,
        Value::String(text) => {
            let unit = label.rsplit_once('_').map_or("", |(_, unit)| unit);
            // Nanoseconds, bytes or bit/s divided by a power of ten, with one rounding, so 100 kB
            // is 0.1 MB.
            let over = |amount: u64, whole: f64| {
                let parts = match unit {
                    "ms" | "MB" => 1e6,
                    "us" | "kB" | "kbit" => 1e3,
                    "ns" => 1.0,
                    _ => whole,
                };
                amount as f64 / parts
            };
            let time = text.parse::<justfull_base::Duration>().map(|d| over(d.as_nanos(), 1e9));
            let size = text.parse::<justfull_base::Bytes>().map(|b| over(b.0, 1.0));
            let rate = text.parse::<justfull_base::BitRate>().map(|r| over(r.0, 1e6));
            let measured = time.or(size).or(rate).ok();
            let first_number = || text.split_whitespace().next().and_then(|w| w.parse().ok());
            measured.or_else(first_number).unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests;
