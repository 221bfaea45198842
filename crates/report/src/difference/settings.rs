//! Differences between resolved scenarios.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::Value;

/// A setting that differs between folders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its path, such as `rlc.queue.limit`.
    pub path: String,
    /// Its value in each folder, as TOML; none in a folder that lacks it.
    pub values: Vec<Option<String>>,
}

/// The settings in which `scenarios` differ, by path. Returns none if one text holds several
/// scenarios, as the results of a paper's claims do.
#[must_use]
pub fn settings(scenarios: &[&str]) -> Option<Vec<Change>> {
    let flat: Option<Vec<BTreeMap<String, String>>> = scenarios
        .iter()
        .map(|text| {
            let table: toml::Table = text.parse().ok()?;
            let mut found = BTreeMap::new();
            flatten("", &Value::Table(table), &mut found);
            Some(found)
        })
        .collect();
    let flat = flat?;
    let paths: BTreeSet<&String> = flat.iter().flat_map(BTreeMap::keys).collect();
    let of = |path: &String| Change {
        path: path.clone(),
        values: flat.iter().map(|settings| settings.get(path).cloned()).collect(),
    };
    let changed = |change: &Change| change.values.windows(2).any(|pair| pair[0] != pair[1]);
    Some(paths.into_iter().map(of).filter(changed).collect())
}

fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    let below = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(name, value)| flatten(&below(name), value, into));
        }
        Value::Array(items) if items.iter().any(Value::is_table) => {
            let each = items.iter().enumerate();
            each.for_each(|(i, item)| flatten(&format!("{path}[{i}]"), item, into));
        }
        other => {
            into.insert(path.to_owned(), other.to_string());
        }
    }
}
