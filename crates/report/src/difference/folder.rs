//! A folder of results, read again.

use crate::export::folder::{self, State};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Why a folder cannot be compared.
#[derive(Debug)]
pub struct Refused {
    path: PathBuf,
    why: String,
}

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

/// What is compared: a flow under a method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) scenario: String,
    pub(super) point: String,
    /// Only of a paper's claims, which run a scenario under several settings.
    group: String,
    pub(super) method: String,
    pub(super) flow: String,
}

/// A folder of results.
#[derive(Debug)]
pub struct Folder {
    /// As it was named.
    pub name: String,
    /// The command line that made it.
    pub command: String,
    /// The version of the program that made it.
    pub version: String,
    /// The scenario with all its settings, in TOML; perhaps several.
    pub scenario_toml: String,
    order: Vec<Key>,
    rows: BTreeMap<Key, Vec<Map<String, Value>>>,
}

impl Folder {
    /// Reads the folder at `path`.
    ///
    /// # Errors
    /// It is not the whole of one run, is of an older format, or cannot be read.
    pub fn read(path: &Path) -> Result<Self, Refused> {
        let refused = |why: String| Refused { path: path.into(), why };
        let state = folder::inspect(path).map_err(|e| refused(e.to_string()))?.state;
        let manifest = match &state {
            Some(State::Complete(manifest)) => manifest,
            Some(other) => {
                return Err(refused(format!("{}, not complete results", other.in_words())));
            }
            None => return Err(refused("no folder of results is there".into())),
        };
        let file = path.join("runs.jsonl");
        let refused_file = |why: String| Refused { path: file.clone(), why };
        let lines = File::open(&file).map_err(|e| refused_file(e.to_string()))?;
        let mut found = Self {
            name: path.display().to_string(),
            command: manifest.origin.command.clone(),
            version: manifest.origin.version.clone(),
            scenario_toml: manifest.origin.scenario_toml.clone(),
            order: Vec::new(),
            rows: BTreeMap::new(),
        };
        let claims = manifest.subject.kind == "reproduce";
        for (number, line) in BufReader::new(lines).lines().enumerate() {
            let line = line.map_err(|e| refused_file(e.to_string()))?;
            let row: Map<String, Value> = serde_json::from_str(&line)
                .map_err(|e| refused_file(format!("line {}: {e}", number + 1)))?;
            let key = Key::of(&row, claims);
            if !found.rows.contains_key(&key) {
                found.order.push(key.clone());
            }
            found.rows.entry(key).or_default().push(row);
        }
        Ok(found)
    }

    /// Keeps the flows under `methods` and called `flows`; an empty list keeps all.
    ///
    /// # Errors
    /// One of the names is not in the folder: the names that are.
    pub fn keep(&mut self, methods: &[String], flows: &[String]) -> Result<(), Refused> {
        type Of = fn(&Key) -> &str;
        let method: Of = |key| &key.method;
        let flow: Of = |key| &key.flow;
        for (what, names, of) in [("method", methods, method), ("flow", flows, flow)] {
            if let Some(name) = names.iter().find(|&n| !self.order.iter().any(|key| of(key) == n)) {
                let why = format!("no {what} `{name}`; there is {}", self.names(of));
                return Err(Refused { path: self.name.clone().into(), why });
            }
            if !names.is_empty() {
                self.order.retain(|key| names.iter().any(|name| name == of(key)));
            }
        }
        Ok(())
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.order.iter()
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.order.contains(key)
    }

    /// The column's values by seed, of runs that have it.
    pub(super) fn values(&self, key: &Key, column: &str) -> Vec<(u64, f64)> {
        let rows = self.rows.get(key).into_iter().flatten();
        rows.filter_map(|row| Some((row.get("seed")?.as_u64()?, row.get(column)?.as_f64()?)))
            .collect()
    }

    /// Its scenarios, methods and flows.
    pub(super) fn in_words(&self) -> String {
        format!(
            "{} has {}, of {}, under {}",
            self.name,
            self.names(|key| &key.flow),
            self.names(|key| &key.scenario),
            self.names(|key| &key.method)
        )
    }

    fn names(&self, of: fn(&Key) -> &str) -> String {
        let mut names: Vec<&str> = Vec::new();
        for name in self.order.iter().map(of) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }
}

impl Key {
    fn of(row: &Map<String, Value>, claims: bool) -> Self {
        let text = |name: &str| match row.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let (x, at) = (text("x_name"), text("x_value"));
        Self {
            scenario: text("scenario"),
            point: if x.is_empty() { x } else { format!("{x} = {at}") },
            group: if claims { text("group") } else { String::new() },
            method: text("method"),
            flow: text("flow"),
        }
    }
}
