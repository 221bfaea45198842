//! Finding the field at fault when a scenario does not read.
//!
//! The reader's error names a way without indices, and stops at tables whose `kind` decides what else they hold. The rest is
//! found by trial: an array is cut after each element, a key is taken out or put in, and where the error changes, there it was.

use super::error::{Locator, ScenarioError};
use super::tree::{get, get_mut, leaves, remove, tables};
use toml::Value;

/// Stands for a value that nothing takes.
const PROBE: &str = "?";

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
        (0..length).find(|i| same(i + 1) && !same(*i)).map(|i| i.to_string())
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
            return self.at_keys(&keys, "nothing", &allowed);
        }
        let (found, allowed) = split(&search.fault.message);
        let keys = match search.fault.named("unknown") {
            Some(name) => search.unknown(&below, name),
            None => search.value(&below),
        };
        self.at_keys(&keys, &found, &allowed)
    }
}

/// The reader's "X, expected Y" as what was found and what is allowed, in plain words.
fn split(message: &str) -> (String, String) {
    let (found, allowed) = message.split_once(", expected ").unwrap_or((message, "another value"));
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
        "a map" => "a table".into(),
        other if other.starts_with("struct ") || other.starts_with("internally tagged enum ") => {
            "a table".into()
        }
        other => other.into(),
    };
    (found.into(), allowed)
}
