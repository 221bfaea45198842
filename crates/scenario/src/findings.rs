//! Collects mistakes: each one found is removed from the tree, which reveals the next.

use super::error::ScenarioError;
use super::tree::{get, get_mut, remove, size};
use toml::{Table, Value};

/// Maximum number of attempts on one tree; each finds one mistake or removes one. The time of an
/// attempt is proportional to the tree, so a tree of more than [`LARGE`] values gets fewer.
const MOST_ATTEMPTS: usize = 200;
/// Maximum values of a tree that gets all attempts.
const LARGE: usize = 1000;
/// Maximum number of values read by the attempts on all trees: once more have been read and a
/// mistake is known, the search ends. Otherwise a large list that is wrong in many cases would be
/// searched in each.
const MOST_READ: usize = 500_000;
/// Tables of a flow that specify its traffic.
const TRAFFIC: [&str; 10] =
    ["tcp", "udp", "ping", "cbr", "on_off", "voip", "video", "video_call", "page", "dash"];
/// Parts of a scenario that others refer to: without them, the references would seem wrong.
const REFERRED_TO: [&str; 4] = ["ue", "slice", "mac", "pdcp"];

/// The requested number of mistakes has been found, or some after long enough a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Full;

/// Mistakes, each once.
#[derive(Debug)]
pub(super) struct Findings {
    most: usize,
    pub errors: Vec<ScenarioError>,
    /// Values in the trees of all attempts.
    pub read: usize,
    /// True if missing traces are mistakes.
    with_data: bool,
    /// The origin of the settings that count; empty for all.
    by: String,
}

impl Findings {
    /// Findings with room for `most` mistakes.
    pub(super) fn new(most: usize) -> Self {
        Self { most, errors: Vec::new(), read: 0, with_data: true, by: String::new() }
    }

    /// Findings with room for `most` mistakes. Missing traces do not count, and settings of another
    /// origin do not count unless `by` is empty.
    pub(super) fn set_by(most: usize, by: &str) -> Self {
        Self { with_data: false, by: by.into(), ..Self::new(most) }
    }

    /// Checks whether the search continues.
    ///
    /// # Errors
    /// If mistakes are known and enough values have been read.
    pub(super) fn go_on(&self) -> Result<(), Full> {
        if !self.errors.is_empty() && self.read > MOST_READ { Err(Full) } else { Ok(()) }
    }

    /// Adds `error` if it counts and is new.
    ///
    /// # Errors
    /// If there is no room for another one.
    pub(super) fn add(&mut self, error: ScenarioError) -> Result<(), Full> {
        let counts = (self.with_data || !error.needs_data)
            && (self.by.is_empty() || error.set_by == self.by);
        if counts && !self.errors.iter().any(|known| known.is_like(&error)) {
            self.errors.push(error);
        }
        if self.errors.len() >= self.most { Err(Full) } else { Ok(()) }
    }

    /// Adds the mistakes that `attempt` finds in `tree`, one after another. Returns the result for
    /// the tree without them; none if a mistake cannot be removed alone.
    pub(super) fn of<T>(
        &mut self,
        tree: &mut Table,
        mut attempt: impl FnMut(&Table) -> Result<T, ScenarioError>,
    ) -> Result<Option<T>, Full> {
        let mut removed: Option<Vec<String>> = None;
        let values = size(tree);
        let attempts = MOST_ATTEMPTS * LARGE / values.max(LARGE);
        for _ in 0..attempts.max(1) {
            self.read += values;
            let error = match attempt(tree) {
                Ok(made) => return Ok(Some(made)),
                Err(error) => error,
            };
            let keys = error.keys.clone();
            // A mistake at a place just repaired is not a new one.
            let again = removed.filter(|at| at.starts_with(&keys) || keys.starts_with(at));
            let from = match again {
                Some(mut at) => {
                    at.pop();
                    at
                }
                None => {
                    self.add(error)?;
                    keys
                }
            };
            let Some(at) = repair(tree, from) else { return Ok(None) };
            removed = Some(at);
        }
        Ok(None)
    }
}

/// Removes the value at `keys` from `tree`, or the smallest part above it that can be removed or
/// replaced. Returns its keys.
fn repair(tree: &mut Table, mut keys: Vec<String>) -> Option<Vec<String>> {
    let length = keys.len();
    while !keys.is_empty() {
        let below = keys.len() < length || get(tree, &keys).is_none();
        if below && keys.len() > 1 && REFERRED_TO.contains(&keys[0].as_str()) {
            return None;
        }
        if replace(tree, &keys) || removed(tree, &keys) {
            return Some(keys);
        }
        keys.pop();
    }
    None
}

/// Removes a key of a table; an element of a list stays, since others are named by their index.
fn removed(tree: &mut Table, keys: &[String]) -> bool {
    let above = &keys[..keys.len() - 1];
    let of_table = above.is_empty() || get(tree, above).is_some_and(Value::is_table);
    of_table && remove(tree, keys)
}

/// Replaces a required part of a scenario by a valid value. Returns false for any other part.
fn replace(tree: &mut Table, keys: &[String]) -> bool {
    let sound = |pairs: &[(&str, Value)]| {
        Value::Table(pairs.iter().map(|(key, value)| ((*key).to_string(), value.clone())).collect())
    };
    let stand_in = match keys.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["title"] => Value::from("?"),
        ["duration"] => Value::from("1h"),
        ["channel"] => {
            let kind = get(tree, keys).and_then(|c| c.get("kind")?.as_str()).unwrap_or_default();
            match kind.starts_with("mcs") {
                true => sound(&[("kind", "mcs".into()), ("mcs", Value::Array(vec![5.into()]))]),
                false => sound(&[("kind", "constant".into()), ("per_slot", 1.into())]),
            }
        }
        ["flow"] => Value::Array(vec![sound(&[("name", "?".into()), ("tcp", sound(&[]))])]),
        ["flow", _, part] if !TRAFFIC.contains(&part) => return false,
        ["flow", _] | ["flow", _, _] => {
            let Some(flow) = get_mut(tree, &keys[..2]).and_then(Value::as_table_mut) else {
                return false;
            };
            flow.retain(|key, _| !TRAFFIC.contains(&key));
            flow.entry("name").or_insert_with(|| "?".into());
            flow.insert(
                "udp".into(),
                sound(&[("payload", "1B".into()), ("interval", "1s".into())]),
            );
            return true;
        }
        _ => return false,
    };
    tree.insert(keys[0].clone(), stand_in);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locator::Locator;
    use std::path::Path;

    /// A list counts with all its values: a case with a large list takes long to try.
    #[test]
    fn a_large_list_that_is_wrong_in_each_case_ends_the_search_after_few_cases() {
        let list = Value::Array(vec![Value::Array(vec![Value::Integer(1); 4]); 50_000]);
        let tree = Table::from_iter([("values".to_string(), list)]);
        let wrong = |_: &Table| -> Result<(), ScenarioError> {
            Err(Locator::new("", Path::new("x.toml")).plain("title", "a list", "a text"))
        };
        let mut found = Findings::new(100);
        let mut cases = 0;
        while found.go_on().is_ok() && cases < 1000 {
            assert!(found.of(&mut tree.clone(), wrong).is_ok());
            cases += 1;
        }
        assert!(cases <= 3, "{cases}");
        assert_eq!(found.errors.len(), 1);
    }
}
