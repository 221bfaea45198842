//! Methods and variants: named lists of settings.

use super::error::{Locator, ScenarioError};
use super::tree::Setting;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The methods that ship, by T20's names.
const SHIPPED: &str = include_str!("methods.toml");

/// Settings in the order of their paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(BTreeMap<String, toml::Value>);

impl Settings {
    /// One setting.
    #[must_use]
    pub fn one(path: &str, value: toml::Value) -> Self {
        Self(BTreeMap::from([(path.to_string(), value)]))
    }

    /// Applies all to `tree`.
    ///
    /// # Errors
    /// The first path that leads nowhere.
    pub fn apply(&self, tree: &mut toml::Table) -> Result<(), String> {
        self.0.iter().try_for_each(|(path, value)| Setting::new(path, value.clone())?.apply(tree))
    }

    /// Paths and values, for people.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &toml::Value)> {
        self.0.iter().map(|(path, value)| (path.as_str(), value))
    }
}

/// A way to manage the queues: settings on top of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// Name, e.g. `CoDel@DRQL`: what stands at SDAP, then what stands at the RLC.
    pub name: String,
    /// One line.
    #[serde(default)]
    pub title: String,
    /// The settings.
    #[serde(default)]
    pub set: Settings,
    /// Further settings by the name of the variant.
    #[serde(default)]
    pub variants: BTreeMap<String, Settings>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    method: Vec<Method>,
}

/// Methods by name.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodLibrary(Vec<Method>);

impl MethodLibrary {
    /// The methods that ship.
    ///
    /// # Panics
    /// Never: the file is part of the program and tested.
    #[must_use]
    pub fn shipped() -> Self {
        Self(toml::from_str::<File>(SHIPPED).expect("the shipped methods are sound").method)
    }

    /// Adds the `[[method]]` tables of a scenario, which leave the tree; one of the same name replaces a shipped one.
    pub(super) fn with_own(
        mut self,
        tree: &mut toml::Table,
        locator: &Locator,
    ) -> Result<Self, ScenarioError> {
        let Some(own) = tree.remove("method") else { return Ok(self) };
        let own = toml::Table::from_iter([("method".to_string(), own)]);
        let read = |t: &toml::Table| t.clone().try_into::<File>();
        let own = read(&own).map_err(|e| locator.fault(&own, &e, &|t| read(t).map(|_| ())))?;
        for method in own.method {
            self.0.retain(|m| m.name != method.name);
            self.0.push(method);
        }
        Ok(self)
    }

    /// The method called `name`; upper and lower case are one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Method> {
        self.0.iter().find(|m| m.name.eq_ignore_ascii_case(name))
    }

    /// All names.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|m| m.name.as_str()).collect()
    }

    /// All methods.
    #[must_use]
    pub fn methods(&self) -> &[Method] {
        &self.0
    }
}
