//! Dotted paths into a scenario's tree, and settings that change it.

use std::fmt;
use std::str::FromStr;

/// A dotted path such as `flow.bulk.tcp.cc.kind`: tables by key, elements of an array of tables by `name` or by index from 0.
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
        // `ue[0].drbs`, as errors write it, is `ue.0.drbs`.
        let plain = text.trim().replace('[', ".").replace(']', "");
        let keys: Vec<String> = plain.split('.').map(str::to_string).collect();
        if keys.iter().any(String::is_empty) {
            return Err(format!("`{text}` is no dotted path"));
        }
        Ok(Self(keys))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// A path and the value it gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Where.
    pub path: Path,
    /// Only where a value stands already; written as `?path`.
    pub if_present: bool,
    /// What.
    pub value: toml::Value,
}

impl Setting {
    /// A setting from a path, perhaps with `?` before it, and a value.
    ///
    /// # Errors
    /// When the path is none.
    pub fn new(path: &str, value: toml::Value) -> Result<Self, String> {
        let (if_present, path) = path.strip_prefix('?').map_or((false, path), |rest| (true, rest));
        Ok(Self { path: path.parse()?, if_present, value })
    }

    /// Puts the value into `tree`; tables on the way are made, array elements are not.
    ///
    /// # Errors
    /// When the path leads through something that is no table, or to an array element that is not there.
    pub fn apply(&self, tree: &mut toml::Table) -> Result<(), String> {
        if self.if_present && get(tree, self.path.keys()).is_none() {
            return Ok(());
        }
        let Some((last, way)) = self.path.keys().split_last() else { return Ok(()) };
        let mut at = Node::Table(tree);
        for key in way {
            at = at.enter(key).map_err(|e| format!("{}: {e}", self.path))?;
        }
        at.put(last, self.value.clone()).map_err(|e| format!("{}: {e}", self.path))
    }
}

impl FromStr for Setting {
    type Err = String;

    /// Reads `path=value`; a value that is no TOML value is a string, so `rlc.queue.limit=31 packets` needs no quotes.
    fn from_str(text: &str) -> Result<Self, String> {
        let (path, value) = text.split_once('=').ok_or_else(|| format!("`{text}`: allowed is path=value"))?;
        let value = value.trim();
        let parsed = format!("v = {value}").parse::<toml::Table>().ok().and_then(|mut t| t.remove("v"));
        Self::new(path.trim(), parsed.unwrap_or_else(|| toml::Value::String(value.into())))
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
                let entry = table.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
                Ok(Self::Value(entry))
            }
            Self::Value(toml::Value::Table(table)) => Self::Table(table).enter(key),
            Self::Value(toml::Value::Array(array)) => element(array, key).map(Self::Value),
            Self::Value(_) => Err(format!("there is no table above `{key}`")),
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
            Self::Value(_) => Err(format!("there is no table above `{key}`")),
        }
    }
}

fn position(array: &[toml::Value], key: &str) -> Option<usize> {
    let named = array.iter().position(|e| e.get("name").and_then(toml::Value::as_str) == Some(key));
    named.or_else(|| key.parse().ok().filter(|i| *i < array.len()))
}

fn element<'a>(array: &'a mut [toml::Value], key: &str) -> Result<&'a mut toml::Value, String> {
    let found = position(array, key);
    found.map(|i| &mut array[i]).ok_or_else(|| format!("no element is named `{key}` or has that index"))
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

/// Takes the value at `keys` out of `tree`; true when one stood there.
pub(super) fn remove(tree: &mut toml::Table, keys: &[String]) -> bool {
    fn remove_in(at: &mut toml::Value, keys: &[String]) -> bool {
        let Some((first, rest)) = keys.split_first() else { return false };
        match at {
            toml::Value::Table(table) if rest.is_empty() => table.remove(first).is_some(),
            toml::Value::Table(table) => table.get_mut(first).is_some_and(|v| remove_in(v, rest)),
            toml::Value::Array(array) if rest.is_empty() => position(array, first).is_some_and(|i| {
                array.remove(i);
                true
            }),
            toml::Value::Array(array) => {
                position(array, first).is_some_and(|i| remove_in(&mut array[i], rest))
            }
            _ => false,
        }
    }
    let Some((first, rest)) = keys.split_first() else { return false };
    if rest.is_empty() {
        tree.remove(first).is_some()
    } else {
        tree.get_mut(first).is_some_and(|v| remove_in(v, rest))
    }
}

/// Paths of all leaves of `tree`, arrays of plain values and empty tables among them; elements of arrays of tables by index.
pub(super) fn leaves(tree: &toml::Table) -> Vec<Vec<String>> {
    fn walk(value: &toml::Value, way: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
        match value {
            toml::Value::Table(table) if !table.is_empty() => {
                for (key, inner) in table {
                    way.push(key.clone());
                    walk(inner, way, found);
                    way.pop();
                }
            }
            toml::Value::Array(array) if array.iter().any(toml::Value::is_table) => {
                for (i, inner) in array.iter().enumerate() {
                    way.push(i.to_string());
                    walk(inner, way, found);
                    way.pop();
                }
            }
            _ => found.push(way.clone()),
        }
    }
    let mut found = Vec::new();
    for (key, value) in tree {
        walk(value, &mut vec![key.clone()], &mut found);
    }
    found
}
