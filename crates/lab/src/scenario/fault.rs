//! Finding the field at fault when a scenario does not read.
//!
//! The reader's error names a way without indices, and stops at tables whose `kind` decides what else they hold. The rest is
//! found by trial: an array is cut after each element, a key is taken out or put in, and where the error changes, there it was.

use super::error::{Locator, ScenarioError};
use super::tree::{get, get_mut, leaves, remove, tables};
use crate::near;
use toml::Value;

/// Stands for a value that nothing takes.
const PROBE: &str = "?";
/// What is allowed where the reader says no more.
const TABLE: &str = "a table";
/// Names of a list that is told whole though some of them come near to what was found.
const LISTED: usize = 12;

/// The reader's error taken apart.
#[derive(Clone, Debug, PartialEq)]
struct Fault {
    message: String,
    /// Keys without indices.
    way: Vec<String>,
}

impl Fault {
    fn of(error: &toml::de::Error) -> Self {
        let text = error.to_string();
        let line = text.lines().find_map(|l| l.strip_prefix("in `")?.strip_suffix('`'));
        let way = line.map(|l| l.split('.').map(str::to_string).collect()).unwrap_or_default();
        Self { message: error.message().lines().map(str::trim).collect::<Vec<_>>().join(", "), way }
    }

    /// The name in "unknown field `x`" or "missing field `x`".
    fn named(&self, what: &str) -> Option<&str> {
        self.message.strip_prefix(what)?.strip_prefix(" field `")?.split('`').next()
    }
}

/// A tree that does not read.
struct Search<'a> {
    tree: &'a toml::Table,
    fault: Fault,
    read: &'a dyn Fn(&toml::Table) -> Result<(), toml::de::Error>,
}

impl Search<'_> {
    /// What reading the tree after `change` says; none when `change` is not possible.
    fn after(&self, change: impl FnOnce(&mut toml::Table) -> bool) -> Option<Result<(), Fault>> {
        let mut changed = self.tree.clone();
        change(&mut changed).then(|| (self.read)(&changed).map_err(|e| Fault::of(&e)))
    }

    fn changes(&self, after: &Option<Result<(), Fault>>) -> bool {
        after.as_ref().is_some_and(|outcome| outcome.as_ref() != Err(&self.fault))
    }

    /// The reader's way with indices.
    fn concrete(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for key in &self.fault.way {
            keys.extend(self.index(&keys));
            keys.push(key.clone());
        }
        keys.extend(self.index(&keys));
        keys
    }

    /// The element at fault of the array at `keys`: the first after which it can be cut without losing the error.
    fn index(&self, keys: &[String]) -> Option<String> {
        let length = get(self.tree, keys).and_then(Value::as_array).map_or(0, Vec::len);
        let cut = |tree: &mut toml::Table, keep: usize| {
            get_mut(tree, keys).and_then(Value::as_array_mut).map(|a| a.truncate(keep)).is_some()
        };
        let same = |keep: usize| !self.changes(&self.after(|tree| cut(tree, keep)));
        if length == 0 || same(0) {
            return None;
        }
        // The reader goes from element to element and stops at the first error: bisect where it comes to be.
        let (mut without, mut with) = (0, length);
        while with - without > 1 {
            let middle = without + (with - without) / 2;
            if same(middle) { with = middle } else { without = middle }
        }
        Some(without.to_string())
    }

    /// The keys of the field that should be there, and what is allowed in it.
    fn missing(&self, below: &[String], name: &str) -> (Vec<String>, String) {
        let generally = || "a value: the field is required".to_string();
        let with = |table: &[String]| {
            let mut keys = table.to_vec();
            keys.push(name.to_string());
            keys
        };
        for table in tables(self.tree, below) {
            let after = self.after(|tree| {
                let table = if table.is_empty() {
                    Some(tree)
                } else {
                    get_mut(tree, &table).and_then(Value::as_table_mut)
                };
                table.is_some_and(|t| !t.contains_key(name) && t.insert(name.into(), PROBE.into()).is_none())
            });
            if self.changes(&after) {
                let of_probe = after.and_then(Result::err).filter(|f| {
                    f.message.contains(&format!("{PROBE}`")) || f.message.contains(&format!("{PROBE}\""))
                });
                let allowed = of_probe.map(|f| split(&f.message).1).unwrap_or_else(generally);
                return (with(&table), allowed);
            }
        }
        (with(below), generally())
    }

    /// The keys of the field that nobody knows.
    fn unknown(&self, below: &[String], name: &str) -> Vec<String> {
        let keys = tables(self.tree, below).into_iter().map(|mut table| {
            table.push(name.to_string());
            table
        });
        let mut keys = keys.filter(|keys| self.changes(&self.after(|tree| remove(tree, keys))));
        keys.next().unwrap_or_else(|| below.to_vec())
    }

    /// What the table that should stand at `keys` may hold, found out with one that holds nothing that is known.
    fn table_at(&self, keys: &[String]) -> Option<String> {
        let probe = toml::Table::from_iter([(PROBE.to_string(), Value::Boolean(true))]);
        let after =
            self.after(|tree| get_mut(tree, keys).map(|value| *value = Value::Table(probe)).is_some());
        let fault = after.and_then(Result::err)?;
        let known = match (fault.named("unknown"), fault.named("missing")) {
            (Some(PROBE), _) => split(&fault.message).1,
            (_, Some(name)) => format!("`{name}` among others"),
            _ => return None,
        };
        Some(format!("{TABLE} of {known}"))
    }

    /// The keys of the value at fault at or below `below`. A field that is missed when it is gone is at fault only where no
    /// other is, and a `kind` last of all: it is what makes its neighbours right or wrong.
    fn value(&self, below: &[String]) -> Vec<String> {
        let mut missed = Vec::new();
        for keys in leaves(self.tree).into_iter().filter(|keys| keys.starts_with(below)) {
            let after = self.after(|tree| remove(tree, &keys));
            if !self.changes(&after) {
                continue;
            }
            let fault = after.and_then(Result::err);
            if fault.and_then(|f| f.named("missing").map(str::to_string)).as_ref() != keys.last() {
                return keys;
            }
            missed.push(keys);
        }
        let kind = |keys: &Vec<String>| keys.last().is_some_and(|k| k == "kind");
        let unknown_kind = self.fault.message.starts_with("unknown variant");
        let at =
            missed.iter().position(|keys| kind(keys) == unknown_kind).or((!missed.is_empty()).then_some(0));
        at.map_or_else(|| below.to_vec(), |i| missed.swap_remove(i))
    }
}

impl Locator {
    /// The error that `error`, from reading `tree` with `read`, is in plain words.
    pub(super) fn fault(
        &self,
        tree: &toml::Table,
        error: &toml::de::Error,
        read: &dyn Fn(&toml::Table) -> Result<(), toml::de::Error>,
    ) -> ScenarioError {
        let search = Search { tree, fault: Fault::of(error), read };
        let below = search.concrete();
        if let Some(name) = search.fault.named("missing") {
            let (keys, allowed) = search.missing(&below, name);
            return ScenarioError { nowhere: name == "kind", ..self.at_keys(&keys, "nothing", &allowed) };
        }
        let (found, mut allowed) = split(&search.fault.message);
        if let Some(name) = search.fault.named("unknown") {
            let keys = search.unknown(&below, name);
            return ScenarioError {
                nowhere: true,
                ..self.at_keys(&keys, &found, &suggesting(name, &allowed))
            };
        }
        let keys = search.value(&below);
        if allowed == TABLE {
            allowed = search.table_at(&keys).unwrap_or(allowed);
        }
        if search.fault.message.starts_with("unknown variant") {
            allowed = suggesting(found.trim_matches('`'), &allowed);
        }
        self.at_keys(&keys, &found, &allowed)
    }
}

/// The reader's list of names; where some of them come near to `name`, a long list gives way to those.
fn suggesting(name: &str, allowed: &str) -> String {
    let known: Vec<&str> = allowed.split('`').skip(1).step_by(2).collect();
    let near: Vec<String> = near::near(name, &known).iter().map(|name| format!("`{name}`")).collect();
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    match near.is_empty() {
        true => allowed.to_string(),
        false if known.len() <= LISTED => format!("{allowed}{}", near::did_you_mean(&near)),
        false => format!("one of {} names{}", known.len(), near::did_you_mean(&near)),
    }
}

/// The reader's "X, expected Y" as what was found and what is allowed, in plain words.
fn split(message: &str) -> (String, String) {
    let (found, allowed) = message
        .split_once(", expected ")
        .or_else(|| Some((message.strip_suffix(", there are no fields")?, "none: nothing can be set there")))
        .unwrap_or((message, "another value"));
    let found =
        ["invalid type: ", "invalid value: ", "unknown variant "].iter().find_map(|p| found.strip_prefix(p));
    let found = found
        .unwrap_or_else(|| if message.starts_with("unknown field") { "an unknown field" } else { message });
    let found = match found {
        "map" => "a table",
        "sequence" => "a list",
        other => other,
    };
    let whole = |largest: u64| format!("a whole number from 0 to {largest}");
    let allowed = match allowed {
        "u8" => whole(u8::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        "u64" | "usize" => whole(i64::MAX as u64),
        "f32" | "f64" => "a number".into(),
        "a sequence" => "a list".into(),
        other if other.starts_with("struct ") || other.starts_with("internally tagged enum ") => TABLE.into(),
        "a map" => TABLE.into(),
        other => other.into(),
    };
    (found.into(), allowed)
}
