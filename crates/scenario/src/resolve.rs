//! Resolves a scenario under a method, a variant, a point of the sweep and switches: applies all
//! settings in order.

use super::error::ScenarioError;
use super::file::{self, ScenarioFile};
use super::kinds;
use super::locator::{By, Locator, Origin};
use super::method::{Method, MethodPlace, Settings};
use super::tree::{self, Path, Setting};
use super::{Job, Scenario};
use crate::near;
use toml::{Table, Value};

/// A choice of the scenario's alternatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub variant: &'a str,
    pub method: Option<&'a str>,
    pub point: Option<&'a Value>,
    pub switches: &'a [String],
}

/// The scenario's tree under a case.
pub(super) struct Resolved {
    pub tree: Table,
    /// The origin of each setting.
    pub locator: Locator,
    /// The user's settings that do not exist in this case: index and reason.
    pub homeless: Vec<(usize, ScenarioError)>,
    /// The parsed tree.
    pub file: Result<ScenarioFile, ScenarioError>,
}

impl Scenario {
    /// The requested variant.
    pub(super) fn variant(&self) -> &str {
        self.overrides.variant.as_deref().unwrap_or(&self.base.variant)
    }

    /// The chosen variant and switches with `method` at `point`.
    pub(super) fn case<'a>(
        &'a self,
        method: Option<&'a str>,
        point: Option<&'a Value>,
    ) -> Case<'a> {
        Case { variant: self.variant(), method, point, switches: &self.overrides.switches }
    }

    /// Reads the scenario of `job`; the locator has the origin of each setting.
    pub(super) fn of_job(&self, job: &Job) -> Result<(ScenarioFile, Locator), ScenarioError> {
        self.read(self.case(Some(&job.method), self.value_at(job.point)))
    }

    /// Reads the scenario under `case` with every setting applied.
    pub(super) fn read(&self, case: Case<'_>) -> Result<(ScenarioFile, Locator), ScenarioError> {
        let (resolved, errors) = self.resolve(case)?;
        match errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok((resolved.file?, resolved.locator)),
        }
    }

    /// Applies all settings of `case`; also returns the mistakes in their paths.
    ///
    /// # Errors
    /// An unknown name.
    pub(super) fn resolve(
        &self,
        case: Case<'_>,
    ) -> Result<(Resolved, Vec<ScenarioError>), ScenarioError> {
        let (tree, locator, errors) = self.applied(case)?;
        Ok((self.with_user(tree, locator), errors))
    }

    /// True if `case` has no mistake; none if a missing trace leaves this open. Faster than the
    /// search for mistakes.
    pub(super) fn is_sound(&self, case: Case<'_>) -> Option<bool> {
        let Ok((tree, locator, errors)) = self.applied(case) else { return Some(false) };
        let file = match &self.overrides.set[..] {
            [] => ScenarioFile::of(tree).ok(),
            _ => self.with_user(tree, locator.clone()).file.ok(),
        };
        let Some(file) = file.filter(|_| errors.is_empty()) else { return Some(false) };
        match self.world_of(&file, &self.first_job(case), &locator) {
            Err(error) if error.needs_data => None,
            world => Some(world.is_ok()),
        }
    }

    /// The scenario's tree under `case` without the user's settings, the origin of each setting,
    /// and the mistakes in the settings' paths.
    fn applied(
        &self,
        case: Case<'_>,
    ) -> Result<(Table, Locator, Vec<ScenarioError>), ScenarioError> {
        let (mut tree, mut locator) = (self.tree.clone(), self.locator.clone());
        let mut errors = Vec::new();
        let mut apply = |settings: &Settings, by: By, set_by: &str, table: &[&str]| {
            errors.extend(settings.apply(&mut tree, &mut locator, &Origin { by, set_by, table }));
        };
        let variant = case.variant;
        match self.variants.get(variant) {
            Some(settings) => {
                apply(settings, By::Variant, &format!("variant {variant}"), &["variants", variant]);
            }
            None if variant == file::SOUND => {}
            None => return Err(self.unknown_variant(variant)),
        }
        let place = self.method_place(case, &self.tree);
        if let Some(name) = case.method {
            let method = self.methods.find(name).ok_or_else(|| self.unknown_method(name))?;
            self.apply_method(method, variant, &mut |settings, by, set_by, table| {
                apply(&settings.at(place), by, set_by, table);
            });
        }
        let switches = case
            .switches
            .iter()
            .map(|name| self.switches.get_key_value(name).ok_or_else(|| self.unknown_switch(name)));
        let switches = switches.collect::<Result<Vec<_>, _>>()?;
        if let (Some(sweep), Some(value)) = (&self.base.sweep, case.point) {
            let origin = Origin { by: By::Sweep, set_by: "sweep", table: &["sweep", "values"] };
            match sweep.path.settings(value) {
                Ok(settings) => {
                    let paths = settings.iter().filter_map(|(path, _)| path.parse::<Path>().ok());
                    paths.for_each(|path| name_kinds(&mut tree, &path));
                    errors.extend(settings.apply(&mut tree, &mut locator, &origin));
                }
                Err((found, allowed)) => {
                    errors.push(locator.plain("sweep.values", &found, &allowed));
                }
            }
        }
        for (name, settings) in switches {
            let (set_by, table) = (&format!("switch {name}"), &["switches", name.as_str()]);
            errors.extend(settings.apply(
                &mut tree,
                &mut locator,
                &Origin { by: By::Switch, set_by, table },
            ));
        }
        Ok((tree, locator, errors))
    }

    /// Where `case` puts a method's settings of SDAP and RLC: by the user's setting, else by a
    /// switch's, the sweep's, the variant's or the file's.
    fn method_place(&self, case: Case<'_>, tree: &Table) -> MethodPlace {
        const PATH: &str = "uplink.method_at";
        let of = |settings: &Settings| {
            settings.iter().find(|(path, _)| *path == PATH).map(|(_, value)| value.clone())
        };
        let user = self.overrides.set.iter().rfind(|set| set.path.to_string() == PATH);
        let user = user.map(|set| set.value.clone());
        let mut switches = case.switches.iter().filter_map(|name| of(self.switches.get(name)?));
        let swept = || {
            let sweep = self.base.sweep.as_ref()?;
            of(&sweep.path.settings(case.point?).ok()?)
        };
        let keys: Vec<String> = PATH.split('.').map(str::to_string).collect();
        let value = user
            .or_else(|| switches.next_back())
            .or_else(swept)
            .or_else(|| of(self.variants.get(case.variant)?))
            .or_else(|| tree::get(tree, &keys).cloned());
        let name = value.as_ref().and_then(Value::as_str);
        MethodPlace::ALL.into_iter().find(|place| Some(place.name()) == name).unwrap_or_default()
    }

    /// Applies the settings of `method`, and then its settings for `variant`.
    fn apply_method(
        &self,
        method: &Method,
        variant: &str,
        apply: &mut impl FnMut(&Settings, By, &str, &[&str]),
    ) {
        let name = &method.name;
        let index = self.methods.index_in_file(name).map(|i| i.to_string());
        let table = |below: &[&'static str]| -> Vec<&str> {
            let own = index.iter().flat_map(|i| ["method", i.as_str()]);
            own.chain(below.iter().copied().filter(|_| index.is_some())).collect()
        };
        apply(&method.set, By::Method, &format!("method {name}"), &table(&["set"]));
        if let Some(settings) = method.variants.get(variant) {
            let mut table = table(&["variants"]);
            table.extend(index.is_some().then_some(variant));
            apply(settings, By::Method, &format!("method {name}, variant {variant}"), &table);
        }
    }

    /// Applies the user's settings, last of all, except settings that do not exist in `tree`.
    fn with_user(&self, tree: Table, locator: Locator) -> Resolved {
        let mut left: Vec<usize> = (0..self.overrides.set.len()).collect();
        let mut homeless = Vec::new();
        loop {
            let (mut tree, mut locator) = (tree.clone(), locator.clone());
            let origin = Origin { by: By::User, set_by: "--set", table: &[] };
            let failed = left.iter().find_map(|&i| {
                let setting = &self.overrides.set[i];
                name_kinds(&mut tree, &setting.path);
                let done =
                    locator.apply(&mut tree, &setting.path.to_string(), setting.clone(), &origin);
                done.err().map(|error| (Some(i).filter(|_| error.nowhere), error))
            });
            let file = match failed {
                Some((None, error)) => Err(error),
                Some((Some(i), error)) => {
                    left.retain(|other| *other != i);
                    homeless.push((i, error));
                    continue;
                }
                None => ScenarioFile::read(&tree, &locator),
            };
            if let Err(error) = &file
                && let Some(i) = self.without_place(error, &tree, &left)
            {
                left.retain(|other| *other != i);
                homeless.push((i, error.clone()));
                continue;
            }
            return Resolved { tree, locator, homeless, file };
        }
    }

    /// The user's setting in `left` that does not exist, according to `error`.
    fn without_place(&self, error: &ScenarioError, tree: &Table, left: &[usize]) -> Option<usize> {
        let missing =
            error.keys.last().is_some_and(|key| key == "kind") && error.found == "nothing";
        let at = if missing { error.keys.split_last()?.1 } else { &error.keys[..] };
        left.iter().rev().copied().filter(|_| error.nowhere && !at.is_empty()).find(|&i| {
            let path = tree::indexed(tree, self.overrides.set[i].path.keys());
            path.starts_with(at) && !(missing && path.len() == at.len())
        })
    }

    fn unknown_variant(&self, name: &str) -> ScenarioError {
        let known: Vec<&str> =
            self.variants.keys().map(String::as_str).chain([file::SOUND]).collect();
        let allowed = near::allowed(name, &known, "a variant of the file");
        match self.overrides.variant {
            Some(_) => self.locator.option("--variant", name, &allowed),
            None => self.locator.plain("variant", name, &allowed),
        }
    }

    fn unknown_method(&self, name: &str) -> ScenarioError {
        let allowed = near::allowed(
            name,
            &self.methods.names(),
            "a method of `justfull list` or of the file",
        );
        match self.overrides.methods {
            Some(_) => self.locator.option("--method", name, &allowed),
            None => self.locator.plain("methods", name, &allowed),
        }
    }

    fn unknown_switch(&self, name: &str) -> ScenarioError {
        let known: Vec<&str> = self.switches.keys().map(String::as_str).collect();
        let one_of = near::allowed(name, &known, "a switch of the file");
        let allowed = if known.is_empty() { "none: the scenario has no switches" } else { &one_of };
        self.locator.option("--switch", name, allowed)
    }
}

/// Inserts the default kind of each table along `path` that is missing in `tree`, so that the
/// setting applies to the scenario's default and not to a table without a kind.
fn name_kinds(tree: &mut Table, path: &Path) {
    let keys = path.keys();
    for n in 1..keys.len() {
        let way = &keys[..n];
        if !way.last().is_some_and(|key| kinds::holds(key)) || tree::get(tree, way).is_some() {
            continue;
        }
        let whole = ScenarioFile::of(tree.clone()).ok().and_then(|file| Table::try_from(file).ok());
        let kind = whole.as_ref().and_then(|whole| tree::get(whole, way)?.get("kind").cloned());
        let keys = way.iter().cloned().chain(["kind".to_string()]).collect();
        if let Some(value) = kind {
            // A path that does not exist is reported when the setting itself is applied.
            let _ = Setting { path: Path::of(keys), if_present: false, value }.apply(tree);
        }
    }
}
