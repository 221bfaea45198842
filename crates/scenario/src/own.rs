//! Limiters that no file can describe, such as those of plugins, in the place of a method's, and
//! their settings.

use super::error::ScenarioError;
use super::file::ScenarioFile;
use super::locator::Locator;
use super::method::{Derived, DerivedLimiter, MethodPlace, OwnLimiter};
use super::{Job, Scenario};
use crate::near;
use justfull_base::make::OwnSetting;
use justfull_run::WorldConfig;
use std::collections::BTreeMap;
use toml::Value;

/// The table of a scenario with the settings of plugins.
const TABLE: &str = "plugin";

impl Scenario {
    /// Gives the [`Derived`] method called `name`, if there is one, the limiter `own`.
    ///
    /// # Errors
    /// The scenario gives a plugin a wrong setting.
    pub fn install(&mut self, name: &str, own: &OwnLimiter) -> Result<(), ScenarioError> {
        let mut all = self.overrides.derived.iter_mut();
        let Some(derived) = all.find(|derived| derived.name == name) else { return Ok(()) };
        derived.limiter = DerivedLimiter::Own(own.clone());
        for point in self.points() {
            let (file, locator) = self.read(self.case(Some(name), point))?;
            self.check_own(&file, &locator)?;
        }
        Ok(())
    }

    /// The settings that the scenario gives the plugin of `job`, by name.
    ///
    /// # Errors
    /// The fault of the scenario under that method.
    pub fn plugin_settings(&self, job: &Job) -> Result<BTreeMap<String, f64>, ScenarioError> {
        Ok(self.of_job(job)?.0.plugin.remove(&job.method).unwrap_or_default())
    }

    /// The methods in `names` with a limiter of their own.
    fn own<'a>(
        &'a self,
        names: &'a [String],
    ) -> impl Iterator<Item = (&'a Derived, &'a OwnLimiter)> {
        let all = self.overrides.derived.iter();
        all.filter(|derived| names.iter().any(|name| name.eq_ignore_ascii_case(&derived.name)))
            .filter_map(|derived| match &derived.limiter {
                DerivedLimiter::Own(own) => Some((derived, own)),
                DerivedLimiter::OfSettings | DerivedLimiter::NotLoaded => None,
            })
    }

    /// Checks the settings of all plugins in `file`.
    fn check_own(&self, file: &ScenarioFile, locator: &Locator) -> Result<(), ScenarioError> {
        let all = self.overrides.derived.iter();
        let plugins: Vec<&Derived> =
            all.filter(|derived| derived.limiter != DerivedLimiter::OfSettings).collect();
        for (name, given) in &file.plugin {
            let refused = |keys: &[&str], found: &str, allowed: &str| {
                let keys: Vec<String> =
                    [TABLE, name].iter().chain(keys).map(ToString::to_string).collect();
                Err(locator.at_keys(&keys, found, allowed))
            };
            let Some(derived) = plugins.iter().find(|derived| derived.name == *name) else {
                let known: Vec<&str> = plugins.iter().map(|d| d.name.as_str()).collect();
                let allowed = match &known[..] {
                    [] => "those of a loaded plugin (`--plugin FILE`)".into(),
                    _ => near::allowed(name, &known, "those of a loaded plugin"),
                };
                return refused(&[], "settings of a plugin that is not loaded", &allowed);
            };
            let DerivedLimiter::Own(own) = &derived.limiter else { continue };
            for (key, value) in given {
                let Some(setting) = own.settings.iter().find(|setting| setting.name == *key) else {
                    let known: Vec<&str> = own.settings.iter().map(|s| s.name.as_str()).collect();
                    let allowed = near::allowed(key, &known, "a setting of the plugin");
                    return refused(&[key], "no such setting", &allowed);
                };
                if !setting.allows(*value) {
                    return refused(&[key], &value.to_string(), &setting.allowed());
                }
            }
        }
        Ok(())
    }

    /// Puts the limiter of the method of `job`, if it has one of its own, where the method's
    /// settings go.
    pub(super) fn put_own(
        &self,
        job: &Job,
        file: &ScenarioFile,
        locator: &Locator,
        world: &mut WorldConfig,
    ) -> Result<(), ScenarioError> {
        self.check_own(file, locator)?;
        let names = std::slice::from_ref(&job.method);
        let Some((derived, own)) = self.own(names).next() else { return Ok(()) };
        let values: Vec<f64> =
            own.settings.iter().map(|setting| value(setting, &derived.name, file)).collect();
        let limiter = (own.with.0)(&values);
        let place = file.uplink.method_at;
        if let Some(above) = world.uplink.stack.as_mut().filter(|_| place != MethodPlace::Cell) {
            above.chain.rlc.limiter = limiter.clone();
        }
        if place != MethodPlace::Ue {
            world.stack.rlc.limiter = limiter;
        }
        Ok(())
    }

    /// Shows the limiter of `method`, if it has one of its own, among its settings in `file`;
    /// settings in `swept` as swept.
    pub(super) fn show_own(
        &self,
        method: &String,
        file: &ScenarioFile,
        swept: &[&str],
        found: &mut BTreeMap<String, Value>,
    ) {
        let Some((derived, own)) = self.own(std::slice::from_ref(method)).next() else { return };
        let name = &derived.name;
        let one = |setting: &OwnSetting| match &setting.name {
            key if swept.contains(&&*format!("{TABLE}.{name}.{key}")) => format!("{key} swept"),
            key => format!("{key} {}", value(setting, name, file)),
        };
        let settings: Vec<String> = own.settings.iter().map(one).collect();
        let shown = match &settings[..] {
            [] => own.source.clone(),
            some => format!("{} ({})", own.source, some.join(", ")),
        };
        let (cell, ue) = ("rlc.limiter", "uplink.stack.rlc.limiter");
        let paths: &[&str] = match file.uplink.method_at {
            MethodPlace::Cell => &[cell],
            MethodPlace::Ue => &[ue],
            MethodPlace::Both => &[cell, ue],
        };
        for path in paths {
            found.insert((*path).into(), shown.clone().into());
        }
    }

    /// Fills in the settings of the plugins of the methods of `file`, and removes those of others.
    pub(super) fn complete_own(&self, file: &mut ScenarioFile) {
        let ScenarioFile { methods, plugin, .. } = file;
        plugin.retain(|name, _| methods.iter().any(|method| method.eq_ignore_ascii_case(name)));
        for (derived, own) in self.own(methods) {
            for setting in &own.settings {
                let given = plugin.entry(derived.name.clone()).or_default();
                given.entry(setting.name.clone()).or_insert(setting.default);
            }
        }
    }

    /// A note for each method with a limiter of its own.
    pub(super) fn own_in_words(&self) -> impl Iterator<Item = String> {
        self.own(self.methods()).map(|(derived, own)| {
            let Derived { name, base, .. } = derived;
            format!("{name} is {base} with the limiter of {}", own.source)
        })
    }

    /// The same as lines of comments in TOML, for the methods in `names`.
    pub(super) fn own_in_comments(&self, names: &[String]) -> String {
        let line = |(derived, own): (&Derived, &OwnLimiter)| {
            // A name may hold what would end a comment.
            format!("# {:?}: rlc.limiter of {:?}\n", derived.name, own.source)
        };
        self.own(names).map(line).collect()
    }
}

/// The value of `setting` of the plugin `name` in `file`.
fn value(setting: &OwnSetting, name: &str, file: &ScenarioFile) -> f64 {
    let given = file.plugin.get(name).and_then(|given| given.get(&setting.name));
    given.copied().unwrap_or(setting.default)
}
