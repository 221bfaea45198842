//! Dotted paths into a scenario's tree, and settings that change it.

use super::kinds;
use std::fmt;
use std::str::FromStr;

/// Maximum number of parts of a path, and of levels of a file: trees are walked recursively, and no
/// scenario needs a quarter of this.
pub(super) const MOST_PARTS: usize = 64;

/// A dotted path such as `flow.bulk.tcp.cc.kind`: tables by key, elements of an array of tables by
/// `name` or by index from 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(Vec<String>);

impl Path {
    /// The keys from the root on.
    #[must_use]
    pub fn keys(&self) -> &[String] {
        &self.0
    }

    /// The path of `keys`.
    #[must_use]
    pub fn of(keys: Vec<String>) -> Self {
        Self(keys)
    }
}

impl FromStr for Path {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = 1 + text.bytes().filter(|b| matches!(b, b'.' | b'[')).count();
        if parts > MOST_PARTS {
            return Err(format!(
                "found {parts} parts, allowed is a dotted path of at most {MOST_PARTS} parts"
            ));
        }
        // `ue[0].drbs`, the form in errors, is `ue.0.drbs`.
        let plain = text.trim().replace('[', ".").replace(']', "");
        let keys: Vec<String> = plain.split('.').map(str::to_string).collect();
        if keys.iter().any(String::is_empty) {
            return Err(format!("found `{text}`, allowed is a dotted path"));
        }
        Ok(Self(keys))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// A path and its new value.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The path.
    pub path: Path,
    /// True to set it only if the path already has a value; written as `?path`.
    pub if_present: bool,
    /// The value.
    pub value: toml::Value,
}

impl Setting {
    /// A setting from a path, perhaps with `?` before it, and a value.
    ///
    /// # Errors
    /// If the path is invalid.
    pub fn new(path: &str, mut value: toml::Value) -> Result<Self, String> {
        let (if_present, path) = path.strip_prefix('?').map_or((false, path), |rest| (true, rest));
        let path: Path = path.parse()?;
        path.0.last().into_iter().for_each(|key| kinds::expand_value(key, &mut value));
        Ok(Self { path, if_present, value })
    }

    /// Puts the value into `tree`; missing tables are created, array elements are not.
    ///
    /// # Errors
    /// If the path passes through a value that is not a table, or through an array element that
    /// does not exist.
    pub fn apply(self, tree: &mut toml::Table) -> Result<(), String> {
        if self.if_present && get(tree, self.path.keys()).is_none() {
            return Ok(());
        }
        let Some((last, way)) = self.path.keys().split_last() else { return Ok(()) };
        let mut at = Node::Table(tree);
        for key in way {
            at = at.enter(key).map_err(|e| format!("{}: {e}", self.path))?;
        }
        at.put(last, self.value).map_err(|e| format!("{}: {e}", self.path))
    }
}

enum Node<'a> {
    Table(&'a mut toml::Table),
    Value(&'a mut toml::Value),
}

impl<'a> Node<'a> {
    fn enter(self, key: &str) -> Result<Self, String> {
        match self {
            Self::Table(table) => {
                let entry =
                    table.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
                Ok(Self::Value(entry))
            }
            Self::Value(toml::Value::Table(table)) => Self::Table(table).enter(key),
            Self::Value(toml::Value::Array(array)) => element(array, key).map(Self::Value),
            Self::Value(_) => Err(format!("a value that is no table above `{key}`")),
        }
    }

    fn put(self, key: &str, value: toml::Value) -> Result<(), String> {
        match self {
            Self::Table(table) | Self::Value(toml::Value::Table(table)) => {
                table.insert(key.into(), value);
                Ok(())
            }
            Self::Value(toml::Value::Array(array)) => {
                *element(array, key)? = value;
                Ok(())
            }
            Self::Value(_) => Err(format!("a value that is no table above `{key}`")),
        }
    }
}

fn position(array: &[toml::Value], key: &str) -> Option<usize> {
    let named = array.iter().position(|e| e.get("name").and_then(toml::Value::as_str) == Some(key));
    named.or_else(|| key.parse().ok().filter(|i| *i < array.len()))
}

fn element<'a>(array: &'a mut [toml::Value], key: &str) -> Result<&'a mut toml::Value, String> {
    match position(array, key) {
        Some(i) => Ok(&mut array[i]),
        None => Err(format!("no element that is called `{key}` or has that index")),
    }
}

/// The value at `keys`.
#[must_use]
pub(super) fn get<'a>(tree: &'a toml::Table, keys: &[String]) -> Option<&'a toml::Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter().try_fold(tree.get(first)?, |at, key| match at {
        toml::Value::Table(table) => table.get(key),
        toml::Value::Array(array) => position(array, key).map(|i| &array[i]),
        _ => None,
    })
}

/// The first of `keys` that is not the name of an element of its array, and the existing names.
pub(super) fn names_on<'a>(
    tree: &'a toml::Table,
    keys: &'a [String],
) -> Option<(&'a str, Vec<&'a str>)> {
    let lost = (1..keys.len()).find(|n| get(tree, &keys[..=*n]).is_none())?;
    let array = get(tree, &keys[..lost])?.as_array()?;
    let names = array.iter().filter_map(|element| element.get("name")?.as_str()).collect();
    Some((&keys[lost], names))
}

/// The value at `keys`, mutable.
pub(super) fn get_mut<'a>(
    tree: &'a mut toml::Table,
    keys: &[String],
) -> Option<&'a mut toml::Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter().try_fold(tree.get_mut(first)?, |at, key| match at {
        toml::Value::Table(table) => table.get_mut(key),
        toml::Value::Array(array) => position(array, key).map(|i| &mut array[i]),
        _ => None,
    })
}

/// Removes the value at `keys` from `tree`; true if there was one.
pub(super) fn remove(tree: &mut toml::Table, keys: &[String]) -> bool {
    let Some((last, above)) = keys.split_last() else { return false };
    if above.is_empty() {
        return tree.remove(last).is_some();
    }
    match get_mut(tree, above) {
        Some(toml::Value::Table(table)) => table.remove(last).is_some(),
        Some(toml::Value::Array(array)) => position(array, last).map(|i| array.remove(i)).is_some(),
        _ => false,
    }
}

/// `keys` with array elements by index instead of by name, as far as they exist.
pub(super) fn indexed(tree: &toml::Table, keys: &[String]) -> Vec<String> {
    let mut way: Vec<String> = Vec::with_capacity(keys.len());
    for key in keys {
        let index = match get(tree, &way) {
            Some(toml::Value::Array(array)) => position(array, key),
            _ => None,
        };
        way.push(index.map_or_else(|| key.clone(), |i| i.to_string()));
    }
    way
}

/// The first list in `tree` of more than `most` elements, and its length.
pub(super) fn longer_list(tree: &toml::Table, most: usize) -> Option<(Vec<String>, usize)> {
    fn walk(
        value: &toml::Value,
        way: &mut Vec<String>,
        most: usize,
    ) -> Option<(Vec<String>, usize)> {
        match value {
            toml::Value::Table(table) => within(table, way, most),
            toml::Value::Array(array) if array.len() > most => Some((way.clone(), array.len())),
            toml::Value::Array(array) => array.iter().enumerate().find_map(|(i, inner)| {
                matches!(inner, toml::Value::Table(_) | toml::Value::Array(_)).then_some(())?;
                way.push(i.to_string());
                let found = walk(inner, way, most);
                way.pop();
                found
            }),
            _ => None,
        }
    }
    fn within(
        table: &toml::Table,
        way: &mut Vec<String>,
        most: usize,
    ) -> Option<(Vec<String>, usize)> {
        table.iter().find_map(|(key, inner)| {
            way.push(key.clone());
            let found = walk(inner, way, most);
            way.pop();
            found
        })
    }
    within(tree, &mut Vec::new(), most)
}

/// True if values of `tree` are more than `most` levels deep.
pub(super) fn deeper_than(tree: &toml::Table, most: usize) -> bool {
    fn walk(value: &toml::Value, left: usize) -> bool {
        match value {
            toml::Value::Table(table) => {
                left == 0 || table.iter().any(|(_, inner)| walk(inner, left - 1))
            }
            toml::Value::Array(array) => {
                left == 0 || array.iter().any(|inner| walk(inner, left - 1))
            }
            _ => false,
        }
    }
    tree.iter().any(|(_, value)| walk(value, most.saturating_sub(1)))
}

/// Number of values in `tree`, a measure of the time to copy or read it.
pub(super) fn size(tree: &toml::Table) -> usize {
    fn of(value: &toml::Value) -> usize {
        match value {
            toml::Value::Table(table) => size(table),
            toml::Value::Array(array) => 1 + array.iter().map(of).sum::<usize>(),
            _ => 1,
        }
    }
    1 + tree.values().map(of).sum::<usize>()
}
