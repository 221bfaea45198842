//! Methods and variants: named lists of settings.

use super::error::ScenarioError;
use super::locator::{Locator, Origin};
use super::tree::Setting;
use crate::near;
use justfull_base::bounds::key;
use justfull_base::make::{Make, OwnSetting};
use justfull_base::param::{Form, Param, written_table};
use justfull_base::{choice, table};
use justfull_ran::limiter::LimiterConfig;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The shipped methods, by T20's names.
const SHIPPED: &str = include_str!("methods.toml");

choice! {
    serde;
    /// Where a method's settings of SDAP and RLC go.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum MethodPlace {
        /// Into the cell.
        #[default]
        Cell = "cell",
        /// Into the UEs' stack.
        Ue = "ue",
        /// Into both.
        Both = "both",
    }
}

/// Settings in the order of their paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(BTreeMap<String, toml::Value>);

impl Param for Settings {
    const UNIT: &'static str = "table";

    fn form() -> Form {
        Form::Map(Box::new(Form::Any))
    }

    fn written(&self) -> String {
        let pairs: Vec<_> = self.iter().map(|(path, value)| (path, value.to_string())).collect();
        written_table(&pairs)
    }
}

impl From<BTreeMap<String, toml::Value>> for Settings {
    fn from(all: BTreeMap<String, toml::Value>) -> Self {
        Self(all)
    }
}

impl Settings {
    /// A list of one setting.
    #[must_use]
    pub fn one(path: &str, value: toml::Value) -> Self {
        Self(BTreeMap::from([(path.to_string(), value)]))
    }

    /// Applies all settings to `tree`; `locator` records their origin. Returns an error for each
    /// path that does not exist.
    pub(super) fn apply(
        &self,
        tree: &mut toml::Table,
        locator: &mut Locator,
        origin: &Origin<'_>,
    ) -> Vec<ScenarioError> {
        let one = |(path, value): (&String, &toml::Value)| {
            let setting =
                Setting::new(path, value.clone()).map_err(|e| locator.no_path(path, &e, origin))?;
            locator.apply(tree, path, setting, origin)
        };
        self.0.iter().map(one).filter_map(Result::err).collect()
    }

    /// The settings, with the settings of SDAP and RLC at `place`.
    #[must_use]
    pub(super) fn at(&self, place: MethodPlace) -> Self {
        let layered = |path: &str| path.starts_with("sdap.") || path.starts_with("rlc.");
        let placed = self.0.iter().flat_map(|(path, value)| {
            let above = place != MethodPlace::Cell && layered(path);
            let kept = place != MethodPlace::Ue || !layered(path);
            let own = kept.then(|| (path.clone(), value.clone()));
            let ue = above.then(|| (format!("uplink.stack.{path}"), value.clone()));
            own.into_iter().chain(ue)
        });
        Self(placed.collect())
    }

    /// Paths and values, for display.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &toml::Value)> {
        self.0.iter().map(|(path, value)| (path.as_str(), value))
    }
}

table! {
    /// A way to manage the queues: settings on top of a scenario.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Method {
        /// Name, e.g. `CoDel@DRQL`: what stands at SDAP, then what stands at the RLC.
        name: String;
        /// One line.
        #[serde(default)]
        title: String = Default::default();
        /// The settings.
        #[serde(default)]
        set: Settings = Default::default();
        /// Further settings by the name of the variant.
        #[serde(default)]
        variants: BTreeMap<String, Settings> = Default::default();
    }
}

/// A method derived from another's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derived {
    /// Its name, different from any other method's.
    pub name: String,
    /// A one-line description.
    pub title: String,
    /// Name of the method that gives the first settings.
    pub base: String,
    /// Its own settings, by path.
    pub set: BTreeMap<String, toml::Value>,
    /// Its limiter.
    pub limiter: DerivedLimiter,
}

/// The limiter of a derived method.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DerivedLimiter {
    /// The limiter of its settings.
    #[default]
    OfSettings,
    /// A plugin's, which is not loaded: the method cannot run, and its plugin's settings are
    /// unknown.
    NotLoaded,
    /// A plugin's.
    Own(OwnLimiter),
}

/// The configuration of a limiter with a value for each of its settings.
type BySettings = dyn Fn(&[f64]) -> LimiterConfig + Send + Sync;

/// A limiter that no file can describe.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnLimiter {
    /// Its configuration with a value for each of `settings`; equal values give equal ones.
    pub with: Make<BySettings>,
    /// The settings that it declares.
    pub settings: Vec<OwnSetting>,
    /// Where it comes from, in one line: the file of a plugin and its hash.
    pub source: String,
}

impl Method {
    /// True if its name is `name`, ignoring case.
    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    method: Vec<Method>,
}

/// Methods by name.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodLibrary {
    methods: Vec<Method>,
    /// The last `own` methods are the scenario's own.
    own: usize,
}

impl MethodLibrary {
    /// The shipped methods.
    ///
    /// # Panics
    /// Never: the file is part of the program and tested.
    #[must_use]
    pub fn shipped() -> Self {
        static METHODS: LazyLock<Vec<Method>> = LazyLock::new(|| {
            toml::from_str::<File>(SHIPPED).expect("the shipped methods are sound").method
        });
        Self { methods: METHODS.clone(), own: 0 }
    }

    /// The methods that the scenario `text` defines itself.
    pub(crate) fn of(text: &str) -> Vec<Method> {
        let own = text.parse::<toml::Table>().ok().and_then(|mut tree| tree.remove("method"));
        let own: toml::Table = own.map(|own| ("method".to_string(), own)).into_iter().collect();
        own.try_into::<File>().map(|file| file.method).unwrap_or_default()
    }

    /// Adds the `[[method]]` tables in `own`; a table with the name of a shipped method replaces
    /// it.
    pub(super) fn with_own(
        mut self,
        own: &toml::Table,
        locator: &Locator,
    ) -> Result<Self, ScenarioError> {
        let refused =
            |e| locator.fault(own, &e, &[key::<Vec<Method>>("method", "The scenario's own.")]);
        let own = own.clone().try_into::<File>().map_err(refused)?.method;
        for (i, method) in own.iter().enumerate() {
            if own[..i].iter().any(|m| m.is(&method.name)) {
                return Err(locator.plain(
                    &format!("method[{i}].name"),
                    &method.name,
                    "a name that no other method has",
                ));
            }
        }
        self.methods.retain(|shipped| !own.iter().any(|m| m.is(&shipped.name)));
        self.own = own.len();
        self.methods.extend(own);
        Ok(self)
    }

    /// Adds a method for each of `derived`: the settings of its base and then its own.
    pub(super) fn with_derived(
        mut self,
        derived: &[Derived],
        locator: &Locator,
    ) -> Result<Self, ScenarioError> {
        for own in derived {
            let name = &own.name;
            if name.is_empty() || self.find(name).is_some() {
                return Err(locator.option("method", name, "a name that no other method has"));
            }
            let base = self.find(&own.base).ok_or_else(|| {
                let allowed = near::allowed(&own.base, &self.names(), "a method to begin with");
                locator.option("base", &own.base, &allowed)
            })?;
            let mut method =
                Method { name: name.clone(), title: own.title.clone(), ..base.clone() };
            method.set.0.extend(own.set.clone());
            for of_variant in method.variants.values_mut() {
                of_variant.0.retain(|path, _| !own.set.contains_key(path));
            }
            self.methods.insert(self.methods.len() - self.own, method);
        }
        Ok(self)
    }

    /// The method called `name`, ignoring case.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Method> {
        self.methods.iter().find(|m| m.is(name))
    }

    /// Index of the scenario's `[[method]]` called `name`; none for a shipped method.
    pub(super) fn index_in_file(&self, name: &str) -> Option<usize> {
        let own = &self.methods[self.methods.len() - self.own..];
        own.iter().position(|m| m.is(name))
    }

    /// All names.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.methods.iter().map(|m| m.name.as_str()).collect()
    }

    /// All methods.
    #[must_use]
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }
}
