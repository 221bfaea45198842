//! Gathering mistakes: what is at fault leaves the tree, so that the next mistake comes to light.

use super::error::ScenarioError;
use super::tree::{get, get_mut, leaves, remove};
use toml::{Table, Value};

/// Attempts on one tree; each finds one mistake or makes room for the next. An attempt takes time
/// by the size of the tree: a tree of more than [`LARGE`] values gets fewer.
const MOST_ATTEMPTS: usize = 200;
/// Values of a tree that is attempted as often as may be.
const LARGE: usize = 1000;
/// Tables of a flow that say what it sends.
const TRAFFIC: [&str; 8] = ["tcp", "udp", "ping", "cbr", "on_off", "voip", "video", "page"];
/// Parts of a scenario that others refer to: without them, what refers to them would seem wrong.
const REFERRED_TO: [&str; 4] = ["ue", "slice", "mac", "pdcp"];

/// There are as many mistakes as were asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Full;

/// Mistakes, each once.
#[derive(Debug)]
pub(super) struct Findings {
    most: usize,
    pub errors: Vec<ScenarioError>,
}

impl Findings {
    /// Room for `most` mistakes.
    pub(super) fn new(most: usize) -> Self {
        Self { most, errors: Vec::new() }
    }

    /// Adds `error`, unless it is there.
    ///
    /// # Errors
    /// When there is no room for another one.
    pub(super) fn add(&mut self, error: ScenarioError) -> Result<(), Full> {
        if !self.errors.iter().any(|known| known.is_like(&error)) {
            self.errors.push(error);
        }
        if self.errors.len() >= self.most { Err(Full) } else { Ok(()) }
    }

    /// Adds what `attempt` finds wrong with `tree`, one mistake after the other, and returns what
    /// it makes of the tree without them; none when a mistake cannot be taken out alone.
    pub(super) fn of<T>(
        &mut self,
        tree: &mut Table,
        mut attempt: impl FnMut(&Table) -> Result<T, ScenarioError>,
    ) -> Result<Option<T>, Full> {
        let mut removed: Option<Vec<String>> = None;
        let attempts = MOST_ATTEMPTS * LARGE / leaves(tree).len().max(LARGE);
        for _ in 0..attempts.max(1) {
            let error = match attempt(tree) {
                Ok(made) => return Ok(Some(made)),
                Err(error) => error,
            };
            let keys = error.keys.clone();
            // What is missed now, or still at fault, where something was just taken out is not
            // another mistake.
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

/// Takes what stands at `keys` out of `tree`, or the least above it that can leave or be replaced,
/// and returns its keys.
fn repair(tree: &mut Table, mut keys: Vec<String>) -> Option<Vec<String>> {
    let asked = keys.len();
    while !keys.is_empty() {
        let below = keys.len() < asked || get(tree, &keys).is_none();
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

/// Takes out a key of a table; an element of a list stays, since others are named by their index.
fn removed(tree: &mut Table, keys: &[String]) -> bool {
    let above = &keys[..keys.len() - 1];
    let of_table = above.is_empty() || get(tree, above).is_some_and(Value::is_table);
    of_table && remove(tree, keys)
}

/// Puts something sound in the place of what a scenario cannot do without. False for everything
/// else.
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
