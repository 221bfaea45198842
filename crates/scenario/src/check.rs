//! Finds all faults of a scenario before its first run.

use super::error::ScenarioError;
use super::file::MOST_RUNS;
use super::file::{self, ScenarioFile};
use super::findings::{Findings, Full};
use super::locator::Locator;
use super::notes::Seen;
use super::resolve::{Case, Resolved};
use super::sweep::{SweepFile, SweepPath};
use super::tree::Path;
use super::{Job, Overrides, Scenario, origin, transparent};
use justfull_run::WorldConfig;
use justfull_sim::World;
use std::path::{Path as FilePath, PathBuf};
use toml::Value;

/// Number of mistakes after which the search ends.
const MOST_MISTAKES: usize = 100;
/// Maximum number of methods listed in a message about a setting.
const SHOWN: usize = 3;

impl Scenario {
    /// Finds all mistakes in `text`, the content of `file`: under each method, under each variant
    /// unless one is given, and with each switch.
    ///
    /// # Errors
    /// Each mistake once, in the order of the file, at most a hundred. The search ends earlier if a
    /// large list is wrong in many cases.
    pub fn examine(
        text: &str,
        file: &FilePath,
        data_dir: Option<PathBuf>,
        overrides: Overrides,
    ) -> Result<Self, Vec<ScenarioError>> {
        let mut found = Findings::new(MOST_MISTAKES);
        let scenario = Self::found_in_all(text, file, data_dir, overrides, &mut found);
        // In the order of the file; mistakes without a place in the file come last.
        found.errors.sort_by_key(|error| (error.at.is_none(), error.at));
        match scenario.filter(|_| found.errors.is_empty()) {
            Some(scenario) => Ok(scenario),
            None => Err(found.errors),
        }
    }

    /// Reads `text` and adds mistakes that do not depend on the case to `found`.
    pub(super) fn found_in_all(
        text: &str,
        file: &FilePath,
        data_dir: Option<PathBuf>,
        overrides: Overrides,
        found: &mut Findings,
    ) -> Option<Self> {
        let scenario = Self::found(text, file, data_dir, overrides, found)?;
        // A full list also ends the search.
        let _ = scenario.find_alternatives(found);
        Some(scenario)
    }

    /// Finds mistakes in the request. Every method must be known and give a world, so that a
    /// mistake is found before the first run.
    pub(super) fn find(&mut self, found: &mut Findings) -> Result<(), Full> {
        self.find_in_numbers(found)?;
        let notes = self.find_under(self.variant(), found)?;
        self.notes.extend(notes);
        Ok(())
    }

    fn find_in_numbers(&self, found: &mut Findings) -> Result<(), Full> {
        if self.methods().is_empty() {
            found.add(self.locator.plain("methods", "none", "at least one method"))?;
        }
        for (i, name) in self.methods().iter().enumerate() {
            if self.methods()[..i].iter().any(|other| other.eq_ignore_ascii_case(name)) {
                let (twice, allowed) = (format!("{name} twice"), "each method once");
                found.add(match self.overrides.methods {
                    Some(_) => self.locator.option("--method", &twice, allowed),
                    None => self.locator.plain("methods", &twice, allowed),
                })?;
            }
        }
        let runs = self.overrides.runs.unwrap_or(self.base.runs);
        if !(1..=MOST_RUNS).contains(&runs) {
            let allowed = format!("1 to {MOST_RUNS}");
            found.add(match self.overrides.runs {
                Some(_) => self.locator.option("--runs", &runs.to_string(), &allowed),
                None => self.locator.plain("runs", &runs.to_string(), &allowed),
            })?;
        }
        let (points, methods) = (self.points().len(), self.methods().len());
        let most = &self.overrides.most;
        if points.saturating_mul(methods).saturating_mul(runs as usize) > most.runs {
            let text = format!("{points} points of {methods} methods with {runs} runs");
            let option = if self.overrides.grid.is_empty() { "--runs" } else { "--grid" };
            let allowed = format!("at most {}", most.allowed(most.runs, "runs"));
            found.add(self.locator.option(option, &text, &allowed))?;
        }
        let seed = self.first_seed();
        if seed.checked_add(u64::from(runs)).is_none() {
            let allowed =
                format!("at most {}: each run has the next seed", u64::MAX - u64::from(runs));
            found.add(self.locator.option("--seed", &seed.to_string(), &allowed))?;
        }
        if self.points().is_empty() {
            found.add(self.locator.plain("sweep.values", "none", "at least one value"))?;
        }
        Ok(())
    }

    /// Finds mistakes in the methods at all points under `variant`. Returns notes for the user of a
    /// valid scenario.
    fn find_under(&self, variant: &str, found: &mut Findings) -> Result<Vec<String>, Full> {
        let before = found.errors.len();
        let (mut seen, mut sweep) = (Seen::default(), SweepEffect::default());
        for method in self.methods() {
            for (at, point) in self.points().iter().enumerate() {
                let case = Case { variant, ..self.case(Some(method), *point) };
                let Some((resolved, world)) = self.find_in_case(case, found)? else { continue };
                if let Some(world) = world {
                    for note in transparent::notes(&world) {
                        seen.note(method, note);
                    }
                    sweep.note(self, &resolved.locator, at, world);
                }
                seen.case(method, at, resolved, |locator| self.sweep_hidden_by(locator));
            }
        }
        let all = !self.overrides.some_methods;
        for (i, under) in seen.homeless.iter().filter(|_| all) {
            if under.len() == self.methods().len() {
                found.add(self.no_such_setting(*i, under))?;
            }
        }
        if found.errors.len() > before {
            return Ok(Vec::new());
        }
        if all && variant == self.variant() {
            self.unread_settings(&seen.unread)
                .into_iter()
                .try_for_each(|error| found.add(error))?;
        }
        match &self.base.sweep {
            Some(file) if all && sweep.is_none(&self.points()) => {
                let why = format!("{}, which changes no method's world", file.path);
                let allowed = "a path whose value changes the world";
                found.add(self.locator.plain("sweep.path", &why, allowed))?;
            }
            _ => {}
        }
        Ok(self.notes_on(seen))
    }

    /// Finds mistakes in `case`; returns its world if there are none. None for an unknown name.
    fn find_in_case(
        &self,
        case: Case<'_>,
        found: &mut Findings,
    ) -> Result<Option<(Resolved, Option<WorldConfig>)>, Full> {
        found.go_on()?;
        let (resolved, errors) = match self.resolve(case) {
            Ok(resolved) => resolved,
            Err(error) => return found.add(error).map(|()| None),
        };
        let wrong = !errors.is_empty();
        for error in errors {
            found.add(error)?;
        }
        let job = self.first_job(case);
        let built = match &resolved.file {
            Ok(file) => self.world_of(file, &job, &resolved.locator),
            Err(error) => Err(error.clone()),
        };
        let world = match built {
            // A trace missing only under another variant is not the scenario's fault.
            Err(error) if error.needs_data && case.variant != self.variant() => None,
            Ok(world) => Some(world).filter(|_| !wrong),
            Err(error) => {
                let locator = &resolved.locator;
                // A second search would take as long as the first.
                let mut known = Some(error);
                let attempt = |tree: &toml::Table| match known.take() {
                    Some(error) => Err(error),
                    None => self
                        .world_of(&ScenarioFile::read(tree, locator)?, &job, locator)
                        .map(|_| ()),
                };
                found.of(&mut resolved.tree.clone(), attempt)?;
                None
            }
        };
        Ok(Some((resolved, world)))
    }

    pub(super) fn first_job(&self, case: Case<'_>) -> Job {
        Job { method: case.method.unwrap_or_default().into(), point: 0, seed: self.first_seed() }
    }

    /// The world of `file`, which has been built and checked before.
    pub(super) fn world_of(
        &self,
        file: &ScenarioFile,
        job: &Job,
        locator: &Locator,
    ) -> Result<WorldConfig, ScenarioError> {
        let world = self.built_from(file, job, locator)?;
        let built = World::new(&world);
        built.map_err(|e| locator.config(&origin::field(file, &e.field), &e, &job.method))?;
        Ok(world)
    }

    /// The error for the user's setting `i`, which does not exist under any method; `under` has the
    /// reason under each.
    fn no_such_setting(&self, i: usize, under: &[(&str, ScenarioError)]) -> ScenarioError {
        let (_, error) = &under[0];
        let path = &self.overrides.set[i].path;
        let mut there = Vec::new();
        for (method, _) in under.iter().take(SHOWN) {
            let Ok((file, _)) = self.read(self.case(Some(method), None)) else { continue };
            let Some(what) = deepest(&file, path) else { return error.clone() };
            there.push(format!("{what} under {method}"));
        }
        if there.is_empty() {
            return error.clone();
        }
        let others = under.len().saturating_sub(SHOWN);
        let others = if others > 0 {
            format!("; {others} other methods have no such setting")
        } else {
            String::new()
        };
        let allowed = format!("one that is there: {}{others}", there.join("; "));
        let keys = super::tree::indexed(&self.tree, path.keys());
        let set_by = "--set".to_string();
        ScenarioError {
            set_by,
            at: None,
            ..self.locator.at_keys(&keys, "no such setting", &allowed)
        }
    }

    /// The later setting that overrides the swept path.
    fn sweep_hidden_by(&self, locator: &Locator) -> Option<String> {
        let swept = self.base.sweep.as_ref()?.path.paths();
        let mut paths = swept.into_iter().map(|path| path.trim_start_matches('?').parse::<Path>());
        paths.find_map(|path| {
            let keys = super::tree::indexed(&self.tree, path.ok()?.keys());
            locator.set_by(&keys).filter(|by| *by != "sweep").map(str::to_string)
        })
    }

    /// Finds mistakes under the variants, unless one is given, and with the switches.
    fn find_alternatives(&self, found: &mut Findings) -> Result<(), Full> {
        let all = || [file::SOUND].into_iter().chain(self.variants.keys().map(String::as_str));
        let variants: Vec<&str> = match &self.overrides.variant {
            Some(variant) => vec![variant],
            None => all().collect(),
        };
        for variant in variants.iter().filter(|variant| **variant != self.variant()) {
            let _notes = self.find_under(variant, found)?;
        }
        self.find_in_switches(&variants, found)
    }

    /// Finds mistakes in each switch: it must work with some variant and method. A mistake that
    /// exists without the switch is not counted.
    fn find_in_switches(&self, variants: &[&str], found: &mut Findings) -> Result<(), Full> {
        let sound = found.errors.is_empty();
        // A switch may need a value from the sweep, so it is tried at the sweep's points only.
        let all = self.points();
        let points: Vec<Option<&Value>> = match (&self.base.sweep, &all[..]) {
            (Some(SweepFile { path: SweepPath::Points(_), .. }), points) => points.to_vec(),
            _ => vec![None],
        };
        for switch in self.switches.keys() {
            let by = format!("switch {switch}");
            let mut switches = self.overrides.switches.clone();
            switches.push(switch.clone());
            found.go_on()?;
            let known =
                || self.methods().iter().filter(|method| self.methods.find(method).is_some());
            let at = |point| {
                let of_variant = move |v| known().map(move |m| (v, m, point));
                variants.iter().flat_map(of_variant)
            };
            let mut cases = points.iter().flat_map(at).map(|(variant, method, point)| Case {
                variant,
                switches: &switches,
                ..self.case(Some(method), *point)
            });
            let wrong = |case, most, found: &mut Findings| {
                let mut own = Findings::set_by(most, if sound { "" } else { &by });
                // A full list also ends the search.
                let _ = self.find_in_case(case, &mut own);
                found.read += own.read;
                own.errors
            };
            let first =
                cases.next().map(|case| wrong(case, MOST_MISTAKES, found)).unwrap_or_default();
            if first.is_empty() {
                continue;
            }
            let mut works = false;
            while let Some(case) = cases.next().filter(|_| !works) {
                found.go_on()?;
                let known = if sound { self.is_sound(case) } else { None };
                works = known.unwrap_or_else(|| wrong(case, 1, found).is_empty());
            }
            if works {
                continue;
            }
            for mut error in first {
                if error.set_by.is_empty() {
                    error.method = format!("{} with {by}", error.method).trim_start().into();
                }
                found.add(error)?;
            }
        }
        Ok(())
    }
}

/// Whether the values of a sweep have an effect.
#[derive(Default)]
struct SweepEffect {
    /// The world at the first point of the current method.
    first: Option<WorldConfig>,
    /// A world differs from its method's first, or cannot because a later setting hides the sweep.
    some: bool,
}

impl SweepEffect {
    fn note(&mut self, scenario: &Scenario, locator: &Locator, point: usize, world: WorldConfig) {
        if self.some || scenario.base.sweep.is_none() {
            return;
        }
        self.some = scenario.sweep_hidden_by(locator).is_some();
        match &self.first {
            Some(first) if point > 0 => self.some |= *first != world,
            _ => self.first = Some(world),
        }
    }

    /// True if several values had no effect.
    fn is_none(&self, points: &[Option<&Value>]) -> bool {
        !self.some && points.iter().any(|point| *point != points[0])
    }
}

/// The deepest existing table along `path` below the root, and the keys that it may have; none if
/// there is no table.
fn deepest(file: &ScenarioFile, path: &Path) -> Option<String> {
    let tree = toml::Table::try_from(file).ok()?;
    let keys = path.keys();
    let n = (1..keys.len()).rev().find(|n| super::tree::get(&tree, &keys[..*n]).is_some())?;
    let (way, value) = (keys[..n].join("."), super::tree::get(&tree, &keys[..n])?);
    let table = value.as_table()?;
    let settings: Vec<&str> =
        table.keys().map(String::as_str).filter(|key| *key != "kind").collect();
    let settings = if settings.is_empty() { "nothing to set".into() } else { settings.join(", ") };
    Some(match table.get("kind").and_then(Value::as_str) {
        Some(kind) => format!("`{way}` is {kind} with {settings}"),
        None => format!("`{way}` has {settings}"),
    })
}
