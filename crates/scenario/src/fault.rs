//! Finds the field at fault when a scenario does not parse.
//!
//! The reader's error names a path without indices, and stops at tables whose `kind` decides what
//! else they hold. The rest is found by trial: whatever can be removed without changing the error
//! is removed for good, halves of lists and tables first, so that the time is about linear in the
//! size of the tree. The few values left show the field.

use super::error::{Locator, ScenarioError};
use super::tree::{get, get_mut, leaves, remove, tables};
use crate::near;
use std::collections::BTreeMap;
use std::mem::take;
use toml::Value;

/// A value that nothing accepts.
const PROBE: &str = "?";
/// What is allowed if the reader does not say.
const TABLE: &str = "a table";
/// What the reader says of a number where one of several names is expected, and how what it says of
/// a table without a key there begins.
const NO_NAME: &str = "invalid type: unit variant, expected string only";
const NO_KEY: &str = "wanted exactly 1 element, found 0";
/// Lists of up to this many names are shown whole, even if some are similar to what was found.
const LISTED: usize = 12;

/// The reader's error, parsed.
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

/// Reads a tree, only for its error.
type Read<'a> = &'a dyn Fn(toml::Table) -> Result<(), toml::de::Error>;

/// Elements of a list by index, or entries of a table by key.
type Parts = Vec<(String, Value)>;

/// A tree that does not parse, reduced to what the fault needs.
struct Search<'a> {
    tree: toml::Table,
    fault: Fault,
    read: Read<'a>,
    /// The original indices of the remaining elements, by the keys of their list.
    left: BTreeMap<Vec<String>, Vec<String>>,
}

impl<'a> Search<'a> {
    /// Reduces `tree`. Also returns the keys of the smallest part known to contain the fault.
    fn new(tree: &toml::Table, fault: Fault, read: Read<'a>) -> (Self, Vec<String>) {
        let mut search = Self { tree: tree.clone(), fault, read, left: BTreeMap::new() };
        let mut keys = Vec::new();
        for key in search.fault.way.clone() {
            search.isolate(&keys, &key);
            keys.push(key);
            if get(&search.tree, &keys).is_some_and(Value::is_array) {
                search.reduce(&keys);
                if search.left.get(&keys).is_some_and(|left| left.len() == 1) {
                    keys.push("0".into());
                }
            }
        }
        search.reduce_below(&keys);
        (search, keys)
    }

    /// The result of reading the tree after `change`; none when `change` is not possible.
    fn after(&self, change: impl FnOnce(&mut toml::Table) -> bool) -> Option<Result<(), Fault>> {
        let mut changed = self.tree.clone();
        change(&mut changed).then(|| (self.read)(changed).map_err(|e| Fault::of(&e)))
    }

    fn changes(&self, after: &Option<Result<(), Fault>>) -> bool {
        after.as_ref().is_some_and(|outcome| outcome.as_ref() != Err(&self.fault))
    }

    /// True when the fault remains with only `parts` in the list or table at `keys`, which is empty
    /// now.
    fn stays_with(&self, keys: &[String], parts: &[(String, Value)]) -> bool {
        !self.changes(&self.after(|tree| fill(tree, keys, parts.to_vec())))
    }

    /// Removes everything from the table at `keys` except the entry `key`, if the fault remains.
    fn isolate(&mut self, keys: &[String], key: &str) {
        let mut parts = empty(&mut self.tree, keys);
        let alone = parts.iter().position(|(k, _)| k == key).map(|at| at..at + 1);
        if let Some(alone) = alone.filter(|alone| self.stays_with(keys, &parts[alone.clone()])) {
            parts = parts.drain(alone).collect();
        }
        fill(&mut self.tree, keys, parts);
    }

    /// Removes from the list or table at `keys` what the fault does not need: all of it, or else
    /// halves, quarters and so on, from the end, so that the first of two equal mistakes remains.
    fn reduce(&mut self, keys: &[String]) {
        let mut parts = empty(&mut self.tree, keys);
        let mut size = parts.len();
        while size > 0 {
            let mut end = parts.len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let cut: Parts = parts.drain(start..end).collect();
                if !self.stays_with(keys, &parts) {
                    parts.splice(start..start, cut);
                }
                end = start;
            }
            size /= 2;
        }
        if get(&self.tree, keys).is_some_and(Value::is_array) {
            self.left.insert(keys.to_vec(), parts.iter().map(|(index, _)| index.clone()).collect());
        }
        fill(&mut self.tree, keys, parts);
    }

    /// Reduces the list or table at `keys` and everything left below it.
    fn reduce_below(&mut self, keys: &[String]) {
        self.reduce(keys);
        let inner = match get(&self.tree, keys) {
            None if keys.is_empty() => self.tree.keys().cloned().collect(),
            Some(Value::Table(table)) => table.keys().cloned().collect(),
            Some(Value::Array(list)) => (0..list.len()).map(|i| i.to_string()).collect(),
            _ => Vec::new(),
        };
        for key in inner {
            self.reduce_below(&[keys, &[key]].concat());
        }
    }

    /// `keys` in the tree before it was reduced.
    fn original(&self, keys: &[String]) -> Vec<String> {
        let original = |(n, key): (usize, &String)| {
            let index = self.left.get(&keys[..n]).zip(key.parse::<usize>().ok());
            index.and_then(|(left, i)| left.get(i)).unwrap_or(key).clone()
        };
        keys.iter().enumerate().map(original).collect()
    }

    /// The keys of the missing field, and what is allowed in it.
    fn missing(&self, below: &[String], name: &str) -> (Vec<String>, String) {
        let generally = || "a value: the field is required".to_string();
        let with = |table: &[String]| {
            let mut keys = table.to_vec();
            keys.push(name.to_string());
            keys
        };
        for table in tables(&self.tree, below) {
            let after = self.after(|tree| {
                let Some(Holder::Table(table)) = holder(tree, &table) else { return false };
                !table.contains_key(name) && table.insert(name.into(), PROBE.into()).is_none()
            });
            if self.changes(&after) {
                let of_probe = after.and_then(Result::err).filter(|f| {
                    f.message.contains(&format!("{PROBE}`"))
                        || f.message.contains(&format!("{PROBE}\""))
                });
                let allowed = of_probe.map(|f| split(&f.message).1).unwrap_or_else(generally);
                return (with(&table), allowed);
            }
        }
        (with(below), generally())
    }

    /// The keys of the unknown field.
    fn unknown(&self, below: &[String], name: &str) -> Vec<String> {
        let keys = tables(&self.tree, below).into_iter().map(|mut table| {
            table.push(name.to_string());
            table
        });
        let mut keys = keys.filter(|keys| self.changes(&self.after(|tree| remove(tree, keys))));
        keys.next().unwrap_or_else(|| below.to_vec())
    }

    /// What the table expected at `keys` may hold, found by trying one without known content.
    fn table_at(&self, keys: &[String]) -> Option<String> {
        let probe = toml::Table::from_iter([(PROBE.to_string(), Value::Boolean(true))]);
        let after = self
            .after(|tree| get_mut(tree, keys).map(|value| *value = Value::Table(probe)).is_some());
        let fault = after.and_then(Result::err)?;
        let known = match (fault.named("unknown"), fault.named("missing")) {
            (Some(PROBE), _) => split(&fault.message).1,
            (_, Some(name)) => format!("`{name}` among others"),
            _ => return None,
        };
        Some(format!("{TABLE} of {known}"))
    }

    /// What was found at `keys` where one of several names is expected, and the names, found by
    /// trying one that is none of them; none where something else is expected. The reader's own
    /// error says neither.
    fn name_at(&self, keys: &[String]) -> Option<(String, String)> {
        let message = &self.fault.message;
        if message != NO_NAME && !message.starts_with(NO_KEY) {
            return None;
        }
        let found = match get(&self.tree, keys)? {
            Value::Integer(n) => format!("integer `{n}`"),
            Value::Float(n) => format!("floating point `{n}`"),
            Value::Boolean(b) => format!("boolean `{b}`"),
            Value::Datetime(at) => format!("date `{at}`"),
            Value::Array(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
            Value::String(_) => return None,
        };
        let after = self.after(|tree| get_mut(tree, keys).map(|v| *v = PROBE.into()).is_some());
        let fault = after.and_then(Result::err)?;
        let names = fault.message.strip_prefix(&format!("unknown variant `{PROBE}`, expected "))?;
        Some((found, format!("text in quotes: {names}")))
    }

    /// The keys of the value at fault at or below `below`. A field whose removal is itself an error
    /// is at fault only if no other is, and a `kind` last of all: it decides whether its neighbours
    /// are right.
    fn value(&self, below: &[String]) -> Vec<String> {
        let mut missed = Vec::new();
        for keys in leaves(&self.tree).into_iter().filter(|keys| keys.starts_with(below)) {
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
        let at = missed
            .iter()
            .position(|keys| kind(keys) == unknown_kind)
            .or((!missed.is_empty()).then_some(0));
        at.map_or_else(|| below.to_vec(), |i| missed.swap_remove(i))
    }
}

impl Locator {
    /// `error`, from reading `tree` with `read`, in plain words.
    pub(super) fn fault(
        &self,
        tree: &toml::Table,
        error: &toml::de::Error,
        read: Read<'_>,
    ) -> ScenarioError {
        let (search, below) = Search::new(tree, Fault::of(error), read);
        let at = |keys: &[String], found: &str, allowed: &str| {
            self.at_keys(&search.original(keys), found, allowed)
        };
        if let Some(name) = search.fault.named("missing") {
            let (keys, allowed) = search.missing(&below, name);
            return ScenarioError { nowhere: name == "kind", ..at(&keys, "nothing", &allowed) };
        }
        let (found, mut allowed) = split(&search.fault.message);
        if let Some(name) = search.fault.named("unknown") {
            let keys = search.unknown(&below, name);
            return ScenarioError {
                nowhere: true,
                ..at(&keys, &found, &suggesting(name, &allowed))
            };
        }
        let keys = search.value(&below);
        if let Some((found, allowed)) = search.name_at(&keys) {
            return at(&keys, &found, &allowed);
        }
        if allowed == TABLE {
            allowed = search.table_at(&keys).unwrap_or(allowed);
        }
        if search.fault.message.starts_with("unknown variant") {
            allowed = suggesting(found.trim_matches('`'), &allowed);
        }
        at(&keys, &found, &allowed)
    }
}

/// The list or table at `keys`.
enum Holder<'a> {
    List(&'a mut Vec<Value>),
    Table(&'a mut toml::Table),
}

fn holder<'a>(tree: &'a mut toml::Table, keys: &[String]) -> Option<Holder<'a>> {
    if keys.is_empty() {
        return Some(Holder::Table(tree));
    }
    match get_mut(tree, keys)? {
        Value::Array(list) => Some(Holder::List(list)),
        Value::Table(table) => Some(Holder::Table(table)),
        _ => None,
    }
}

/// Removes everything from the list or table at `keys`; nothing if there is none.
fn empty(tree: &mut toml::Table, keys: &[String]) -> Parts {
    match holder(tree, keys) {
        Some(Holder::List(list)) => {
            take(list).into_iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect()
        }
        Some(Holder::Table(table)) => take(table).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Puts `parts` into the list or table at `keys`; false if there is none.
fn fill(tree: &mut toml::Table, keys: &[String], parts: Parts) -> bool {
    match holder(tree, keys) {
        Some(Holder::List(list)) => list.extend(parts.into_iter().map(|(_, value)| value)),
        Some(Holder::Table(table)) => table.extend(parts),
        None => return false,
    }
    true
}

/// The reader's list of names; if some are similar to `name`, a long list is replaced by those.
fn suggesting(name: &str, allowed: &str) -> String {
    let known: Vec<&str> = allowed.split('`').skip(1).step_by(2).collect();
    let near: Vec<String> =
        near::near(name, &known).iter().map(|name| format!("`{name}`")).collect();
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    match near.is_empty() {
        true => allowed.to_string(),
        false if known.len() <= LISTED => format!("{allowed}{}", near::did_you_mean(&near)),
        false => format!("one of {} names{}", known.len(), near::did_you_mean(&near)),
    }
}

/// Splits the reader's "X, expected Y" into what was found and what is allowed, in plain words.
fn split(message: &str) -> (String, String) {
    let (found, allowed) = message
        .split_once(", expected ")
        .or_else(|| {
            Some((message.strip_suffix(", there are no fields")?, "none: nothing can be set there"))
        })
        .unwrap_or((message, "another value"));
    let found = ["invalid type: ", "invalid value: ", "unknown variant "]
        .iter()
        .find_map(|p| found.strip_prefix(p));
    let found = found.unwrap_or_else(|| {
        if message.starts_with("unknown field") { "an unknown field" } else { message }
    });
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
        other if other.starts_with("struct ") || other.starts_with("internally tagged enum ") => {
            TABLE.into()
        }
        "a map" => TABLE.into(),
        "variant identifier" => "the name of a kind".into(),
        other => other.into(),
    };
    (found.into(), allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScenarioFile;
    use std::cell::Cell;

    /// The field at fault in `text`, and the number of values read to find it per value in it.
    fn found(text: &str) -> (String, usize) {
        let tree: toml::Table = text.parse().expect("TOML");
        let values = Cell::new(0);
        let read = |tree: toml::Table| {
            values.set(values.get() + leaves(&tree).len());
            tree.try_into::<ScenarioFile>().map(drop)
        };
        let error = read(tree.clone()).expect_err("a mistake");
        let error = Locator::new(text, "test.toml".as_ref()).fault(&tree, &error, &read);
        assert!(error.at.is_some(), "{error}");
        (error.field, values.get() / leaves(&tree).len())
    }

    #[test]
    fn a_mistake_in_a_long_list_is_found_in_time_linear_in_the_list() {
        let head =
            "title = \"t\"\nduration = \"1s\"\nchannel = { kind = \"constant\", per_slot = 4 }\n";
        let flows = |from: usize, to: usize| -> String {
            let flow = |i| format!("[[flow]]\nname = \"f{i}\"\ntcp = {{ size = \"1kB\" }}\n");
            (from..to).map(flow).collect()
        };
        let with = |wrong: &str| format!("{head}{}{wrong}{}", flows(0, 2500), flows(2501, 3000));
        let rows = vec!["{ kind = \"drql\", min = 1 }"; 3000].join(", ");
        for (text, field) in [
            (with("[[flow]]\nname = \"x\"\nstrat = \"1s\"\n"), "flow[2500].strat"),
            (with("[[flow]]\nname = \"x\"\ntcp = { size = 1 }\n"), "flow[2500].tcp.size"),
            (with("[[flow]]\ntcp = {}\n"), "flow[2500].name"),
            (format!("{head}[rlc]\nlimiter = [{rows}]\n{}", flows(0, 1)), "rlc.limiter[0]"),
            (
                format!(
                    "{head}{}\n[rlc.limiter]\nrows = [{rows}]\nkind = \"dqrl\"",
                    flows(0, 3000)
                ),
                "rlc.limiter.kind",
            ),
            (head.replace("4 }", &format!("[{rows}] }}")) + &flows(0, 3000), "channel.per_slot"),
            (format!("{head}{}\n[sweep]\npath = [{rows}]", flows(0, 3000)), "sweep.path"),
            (format!("{head}{}\n[sweep]\npath = {{ a = [{rows}] }}", flows(0, 1)), "sweep.path.a"),
        ] {
            let (at, readings) = found(&text);
            assert_eq!(at, field);
            assert!(readings <= 12, "{field}: {readings} times the tree");
        }
    }
}
