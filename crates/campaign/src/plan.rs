//! The cases and jobs of a campaign, each with a name that identifies its content.

use crate::draw::Drawn;
use crate::draw::variant::SPLIT;
use crate::failure::Failure;
use crate::file::{CampaignFile, PluginMethod, PythonMethod, Target};
use crate::{SOURCE, VERSION};
use justfull_base::Duration;
use justfull_lab::plugin::own_limiter;
use justfull_plugin::{Plugin, PluginError, sha256_of};
use justfull_report::export::outputs::as_file_name;
use justfull_run::WorldConfig;
use justfull_scenario::{
    Derived, DerivedLimiter, Job, Overrides, Scenario, ScenarioError, Setting, library,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use toml::Value;

/// Most jobs of a campaign.
const MOST_JOBS: u64 = 10_000_000;

/// A name of 128 bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Id([u8; 16]);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("found `{text}`, allowed is a name of 32 hexadecimal digits");
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| digits);
        Ok(Self(number.ok_or_else(wrong)?.to_be_bytes()))
    }
}

impl Id {
    pub(crate) fn of(hash: Sha256) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&hash.finalize()[..16]);
        Self(id)
    }
}

/// A scenario at one point of its grid under one method.
#[derive(Clone, Debug)]
pub struct Case {
    /// Index of the scenario.
    pub scenario: usize,
    /// Index of the point; 0 without a grid.
    pub point: usize,
    /// Name of the method.
    pub method: String,
    /// Its name: a hash of the resolved world, the version and the source.
    pub id: Id,
    hash: Sha256,
}

impl Case {
    /// The name of its job with `seed`.
    #[must_use]
    pub fn job(&self, seed: u64) -> Id {
        let mut hash = self.hash.clone();
        hash.update(seed.to_le_bytes());
        Id::of(hash)
    }

    /// The job with `seed`, for the scenario.
    #[must_use]
    pub fn of_seed(&self, seed: u64) -> Job {
        Job { method: self.method.clone(), point: self.point, seed }
    }
}

/// Adds formatted text to a hash.
struct Hashed<'a>(&'a mut Sha256);

impl fmt::Write for Hashed<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// A campaign that has been read and resolved.
#[derive(Debug)]
pub struct Campaign {
    /// Its file.
    pub file: PathBuf,
    /// Short name: the file's without its ending.
    pub name: String,
    /// One line.
    pub title: String,
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
    /// Those of them that were drawn, the first ones.
    pub drawn: Vec<Drawn>,
    /// The cases, in the order of scenarios, points and methods.
    pub cases: Vec<Case>,
    /// First seed of each case.
    pub first_seed: u64,
    /// The required precision, if it decides the number of seeds.
    pub target: Option<Target>,
    /// Most time of CPU that a job may take; a longer one fails.
    pub job_limit: Option<Duration>,
    /// Its methods in Python, by name; their files with openable paths.
    pub python: BTreeMap<String, PythonMethod>,
    /// Its methods with the limiter of a shared library, by name; their files with openable paths.
    pub plugins: BTreeMap<String, PluginMethod>,
    seeds: u64,
    /// True if it has a grid of its own.
    is_varied: bool,
    /// Names of the methods with a plugin that have their limiter.
    installed: BTreeSet<String>,
    /// Indices of cases.
    indices: BTreeMap<Id, usize>,
}

impl Campaign {
    /// Reads the campaign in `path`. Traces that do not ship are read from `data_dir`.
    ///
    /// # Errors
    /// A mistake in the campaign or one of its scenarios.
    pub fn load(path: &Path, data_dir: Option<PathBuf>) -> Result<Self, Failure> {
        let text = Scenario::text_of(path).map_err(|mut error| {
            error.allowed = "a readable file of a campaign".into();
            error
        })?;
        Self::parse(&text, path, data_dir)
    }

    /// Reads the campaign in `text`, the content of `path`, as [`Campaign::load`] does.
    ///
    /// # Errors
    /// A mistake in the campaign or one of its scenarios.
    pub fn parse(text: &str, path: &Path, data_dir: Option<PathBuf>) -> Result<Self, Failure> {
        let file = CampaignFile::read(text, path)?;
        let mut scenarios: Vec<Scenario> = Vec::new();
        let draw = file.draw.as_ref();
        let drawn: Vec<Drawn> = draw
            .map(|draw| (0..draw.cases).map(|number| draw.case(number)).collect())
            .unwrap_or_default();
        for case in &drawn {
            scenarios.push(drawn_scenario(case, path, &file, data_dir.clone())?);
        }
        for name in &file.scenarios {
            let scenario = read(name, path, &file, data_dir.clone())?;
            if scenarios.iter().any(|other| other.name == scenario.name) {
                let twice = format!("{} twice", scenario.name);
                return Err(Failure::wrong(path, "scenarios", &twice, "each name once"));
            }
            scenarios.push(scenario);
        }
        let seeds = file.seeds.or(file.target.as_ref().map(|t| t.least)).unwrap_or(1);
        let most = file.target.as_ref().map_or(seeds, |target| target.most);
        let cases = scenarios.iter().map(|scenario| scenario.jobs().len() as u64).sum::<u64>();
        let jobs = cases.saturating_mul(most);
        if jobs > MOST_JOBS || file.first_seed.checked_add(most).is_none() {
            let found = format!("{cases} cases with {most} seeds");
            let allowed = format!("at most {MOST_JOBS} jobs, seeds of 64 bits");
            return Err(Failure::wrong(path, "seeds", &found, &allowed));
        }
        let mut campaign = Self {
            file: path.into(),
            name: path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned()),
            title: file.title,
            cases: Vec::new(),
            first_seed: file.first_seed,
            target: file.target,
            job_limit: file.job_limit,
            python: file.python,
            plugins: file.plugin,
            seeds,
            is_varied: !file.grid.is_empty(),
            scenarios,
            drawn,
            installed: BTreeSet::new(),
            indices: BTreeMap::new(),
        };
        let beside = |file: &mut PathBuf| {
            *file = path.parent().unwrap_or(Path::new("")).join(&*file);
        };
        campaign.python.values_mut().for_each(|method| beside(&mut method.file));
        campaign.plugins.values_mut().for_each(|method| beside(&mut method.file));
        campaign.resolve(path)?;
        Ok(campaign)
    }

    /// Index of the case named `id`, if there is one.
    #[must_use]
    pub fn index(&self, id: Id) -> Option<usize> {
        self.indices.get(&id).copied()
    }

    /// Seconds that a job of `case` simulates.
    #[must_use]
    pub fn duration_s(&self, case: &Case) -> f64 {
        self.scenarios[case.scenario].base.duration.as_secs_f64()
    }

    /// Its method, if it is in Python.
    #[must_use]
    pub fn python_of(&self, case: &Case) -> Option<&PythonMethod> {
        self.python.get(&case.method)
    }

    /// Seeds of each case at the start: all of them without a target.
    #[must_use]
    pub const fn seeds(&self) -> u64 {
        self.seeds
    }

    /// Jobs at the start, each with its case.
    pub fn jobs(&self) -> impl Iterator<Item = (&Case, u64, Id)> {
        let seeds = self.first_seed..self.first_seed + self.seeds;
        self.cases
            .iter()
            .flat_map(move |case| seeds.clone().map(move |seed| (case, seed, case.job(seed))))
    }

    /// The flow of the target must be in each world.
    fn target_fits(&self, file: &Path, world: &WorldConfig) -> Result<(), Failure> {
        let Some(Target { flow, .. }) = &self.target else { return Ok(()) };
        if world.flows.iter().any(|known| *known.name == **flow) {
            return Ok(());
        }
        let mut names: Vec<&str> = world.flows.iter().map(|known| &*known.name).collect();
        names.dedup();
        let allowed = format!("a flow of {}: {}", world.scenario, names.join(", "));
        Err(Failure::wrong(file, "target.flow", flow, &allowed))
    }

    /// Class and file of each method in Python.
    fn texts_of_python(&self, file: &Path) -> Result<BTreeMap<String, (String, Vec<u8>)>, Failure> {
        let text = |(name, method): (&String, &PythonMethod)| {
            let text = std::fs::read(&method.file).map_err(|error| {
                let found = format!("{}: {error}", method.file.display());
                let allowed = "a file that can be read";
                Failure::wrong(file, &format!("python.{name}.file"), &found, allowed)
            })?;
            Ok((name.clone(), (method.class.clone(), text)))
        };
        self.python.iter().map(text).collect()
    }

    /// SHA-256 of the library of each method with a plugin.
    fn hashes_of_plugins(&self, file: &Path) -> Result<BTreeMap<String, String>, Failure> {
        let hash = |(name, method): (&String, &PluginMethod)| {
            let hash = sha256_of(&method.file).map_err(|error| no_plugin(file, name, &error))?;
            Ok((name.clone(), hash))
        };
        self.plugins.iter().map(hash).collect()
    }

    /// Loads its plugins, whose code runs with the user's rights, and gives each method its
    /// limiter.
    ///
    /// # Errors
    /// A file is no plugin, or the campaign or a scenario gives one a wrong setting.
    pub fn load_plugins(&mut self) -> Result<Vec<Plugin>, Failure> {
        let mut all = Vec::new();
        for (name, method) in self.plugins.clone() {
            let mut plugin =
                Plugin::load(&method.file).map_err(|error| no_plugin(&self.file, &name, &error))?;
            plugin.name.clone_from(&name);
            self.install(&name, &plugin)?;
            all.push(plugin);
        }
        Ok(all)
    }

    /// Gives the method called `name` the limiter of `plugin` in each scenario.
    fn install(&mut self, name: &str, plugin: &Plugin) -> Result<(), Failure> {
        let own = own_limiter(plugin);
        for scenario in &mut self.scenarios {
            let done = scenario.install(name, &own);
            done.map_err(|error| in_campaign(&self.file, self.is_varied, error))?;
        }
        self.installed.insert(name.into());
        Ok(())
    }

    /// Refuses to run methods with a plugin whose limiter has not been installed.
    pub(crate) fn check_plugins(&self) -> Result<(), Failure> {
        let Some(name) = self.plugins.keys().find(|name| !self.installed.contains(*name)) else {
            return Ok(());
        };
        let allowed = "a run by `justfull campaign run --plugins` or `campaign(plugins=True)`";
        Err(Failure::wrong(&self.file, &format!("plugin.{name}"), "a plugin", allowed))
    }

    /// Finds the cases; of equal ones the first.
    fn resolve(&mut self, file: &Path) -> Result<(), Failure> {
        let (mut cases, mut indices) = (Vec::new(), BTreeMap::new());
        let python = self.texts_of_python(file)?;
        let plugins = self.hashes_of_plugins(file)?;
        for (index, scenario) in self.scenarios.iter().enumerate() {
            short_enough(file, "scenarios", &scenario.name)?;
            for job in scenario.jobs() {
                short_enough(file, "methods", &job.method)?;
                // The seed belongs to the job; all else of the world belongs to the case, traces
                // included.
                let world = scenario.world(&Job { seed: 0, ..job.clone() })?;
                self.target_fits(file, &world)?;
                let mut hash = Sha256::new();
                hash.update(format!("justfull {VERSION} {SOURCE}\n").as_bytes());
                // Further content of its rows.
                let (label, x) = (scenario.label(job.point), scenario.x(job.point));
                let _ = writeln!(Hashed(&mut hash), "{label:?} {x:?} {}", scenario.grid(job.point));
                // The hash takes everything.
                let _ = write!(Hashed(&mut hash), "{world:?}");
                if let Some((class, text)) = python.get(&job.method) {
                    hash.update(format!("\n{class} of {} bytes\n", text.len()).as_bytes());
                    hash.update(text);
                }
                if let Some(library) = plugins.get(&job.method) {
                    hash.update(format!("\nplugin {library}\n").as_bytes());
                    let settings = scenario.plugin_settings(&job)?;
                    if !settings.is_empty() {
                        let _ = writeln!(Hashed(&mut hash), "{settings:?}");
                    }
                }
                let id = Id::of(hash.clone());
                let Job { method, point, .. } = job;
                if let Entry::Vacant(free) = indices.entry(id) {
                    free.insert(cases.len());
                    cases.push(Case { scenario: index, point, method, id, hash });
                }
            }
        }
        (self.cases, self.indices) = (cases, indices);
        Ok(())
    }
}

/// The failure of the plugin of the method `name` in the campaign `file`.
fn no_plugin(file: &Path, name: &str, error: &PluginError) -> Failure {
    let found = format!("{}: {}", error.file, error.found);
    Failure::wrong(file, &format!("plugin.{name}.file"), &found, &error.allowed)
}

/// Most bytes in the name of a folder of parts.
const LONGEST_NAME: usize = 200;

/// Refuses a name that no folder can have, before any work.
fn short_enough(file: &Path, field: &str, name: &str) -> Result<(), Failure> {
    let bytes = as_file_name(name).len();
    if bytes <= LONGEST_NAME {
        return Ok(());
    }
    let start: String = name.chars().take(20).collect();
    let found = format!("{start}..., a name of {bytes} bytes");
    Err(Failure::wrong(file, field, &found, &format!("at most {LONGEST_NAME}")))
}

/// The scenario `name`, with the settings of `file`.
fn read(
    name: &str,
    path: &Path,
    file: &CampaignFile,
    data_dir: Option<PathBuf>,
) -> Result<Scenario, Failure> {
    let beside = path.parent().unwrap_or(Path::new("")).join(name);
    let (text, place) = match library::scenario(name).filter(|_| !beside.exists()) {
        Some(text) => (text.to_string(), Path::new(name).with_extension("toml")),
        None => (Scenario::text_of(&beside)?, beside),
    };
    Scenario::parse(&text, &place, data_dir, overrides(path, file)?)
        .map_err(|error| in_campaign(path, !file.grid.is_empty(), error))
}

/// `error` with the names that the campaign in `path` has for its settings in a scenario. Unless it
/// `varies` settings by a grid, a sweep is the scenario's own.
fn in_campaign(path: &Path, varies: bool, mut error: ScenarioError) -> Failure {
    let own = match error.field.as_str() {
        "--method" => "methods",
        "--variant" => "variant",
        "--seed" => "first_seed",
        "sweep.path" | "--grid" if varies => "grid",
        _ => "",
    };
    if !own.is_empty() {
        return Failure::wrong(path, own, &error.found, &error.allowed);
    }
    let table = match error.set_by.as_str() {
        "--set" => "set",
        "sweep" if varies => "grid",
        _ => return error.into(),
    };
    error.set_by = format!("[{table}] of {}", path.display());
    error.into()
}

/// The scenario of `case`. With CU and DU apart it has only the methods that keep the RLC's order.
/// With both together it leaves out a method's form for CU and DU apart if it has the method.
fn drawn_scenario(
    case: &Drawn,
    path: &Path,
    file: &CampaignFile,
    data_dir: Option<PathBuf>,
) -> Result<Scenario, Failure> {
    let place = Path::new(&case.name).with_extension("toml");
    let mut all = overrides(path, file)?;
    let fits = |method: &&String| {
        if !case.apart {
            let whole = method.strip_suffix(SPLIT);
            return whole.is_none_or(|whole| !file.methods.iter().any(|method| method == whole));
        }
        let one = Overrides { methods: Some(vec![(*method).clone()]), ..all.clone() };
        Scenario::parse(&case.toml, &place, data_dir.clone(), one)
            .is_ok_and(|scenario| scenario.jobs().iter().all(|job| scenario.world(job).is_ok()))
    };
    if !file.methods.is_empty() {
        all.methods = Some(file.methods.iter().filter(fits).cloned().collect());
    }
    Ok(Scenario::parse(&case.toml, &place, data_dir, all)?)
}

/// The settings of `file`, the campaign in `path`, for each scenario.
fn overrides(path: &Path, file: &CampaignFile) -> Result<Overrides, Failure> {
    let wrong = |field: String, why: String| {
        let said = why.strip_prefix("found ").and_then(|why| why.split_once(", allowed is "));
        let (found, allowed) = said.unwrap_or((&why, "a setting"));
        Failure::wrong(path, &field, found, allowed)
    };
    let set = file.set.iter().map(|(path, value)| {
        Setting::new(path, value.clone()).map_err(|why| wrong(format!("set.{path}"), why))
    });
    let axis = |(path, values): (&String, &Vec<Value>)| {
        let list = Value::Array(values.clone());
        format!("{path}={list}").parse().map_err(|why| wrong(format!("grid.{path}"), why))
    };
    let derived = file.python.iter().map(|(name, method)| {
        let set = method.settings.iter().map(|(path, value)| {
            let field = || format!("python.{name}.settings.{path}");
            let setting = Setting::new(path, value.clone()).map_err(|why| wrong(field(), why))?;
            Ok((path.clone(), setting.value))
        });
        Ok(Derived {
            name: name.clone(),
            title: format!("{}, changed in Python", method.base),
            base: method.base.clone(),
            set: set.collect::<Result<_, Failure>>()?,
            limiter: DerivedLimiter::OfSettings,
        })
    });
    let plugins = file.plugin.iter().map(|(name, method)| {
        let (base, title) = (method.base.clone(), format!("{}, with a plugin", method.base));
        let limiter = DerivedLimiter::NotLoaded;
        Ok(Derived { name: name.clone(), title, base, limiter, ..Derived::default() })
    });
    Ok(Overrides {
        derived: derived.chain(plugins).collect::<Result<_, Failure>>()?,
        set: set.collect::<Result<_, _>>()?,
        grid: file.grid.iter().map(axis).collect::<Result<_, _>>()?,
        methods: (!file.methods.is_empty()).then(|| file.methods.clone()),
        variant: file.variant.clone(),
        runs: Some(1),
        seed: Some(file.first_seed),
        ..Overrides::default()
    })
}
