//! Removes or completes folders that killed runs left beside a results folder.

use super::super::disk::{Beside, Dir};
use super::inspect::{State, leftovers};
use super::lock::{self, Lock};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Cleans up after killed runs for `name`, whose lock must be held, and returns messages about it.
///
/// A run killed between two renames has moved the earlier results away but not yet moved its own
/// into their place. Its results are complete, and are moved into place. All other folders left by
/// runs are incomplete or replaced, and are removed.
pub(super) fn recover(parent: &Dir, name: &OsStr) -> io::Result<Vec<String>> {
    let mut said = Vec::new();
    let mut left = leftovers(parent, name)?;
    if !left.is_empty() && parent.look(name)?.is_none() {
        let is_whole = |left: &OsString| matches!(State::of(parent, left), Ok(State::Complete(_)));
        let is_old = |left: &OsString| Beside::parse(left).is_some_and(|beside| beside.old);
        let whole = left.iter().position(|left| !is_old(left) && is_whole(left));
        if let Some(at) = whole.or_else(|| left.iter().position(is_old)) {
            parent.rename_new(&left.remove(at), name)?;
            parent.sync()?;
            said.push(format!(
                "put the results that a killed run had left into {}",
                name.display()
            ));
        }
    }
    let failed: Vec<io::Error> =
        left.iter().filter_map(|left| parent.remove_tree(left).err()).collect();
    let shown = name.display();
    match failed.first() {
        // The folder takes space but does no other harm.
        Some(why) => {
            said.push(format!("cannot remove what a killed run had left beside {shown}: {why}"))
        }
        None if left.is_empty() => {}
        None => said.push(format!("removed what a killed run had left beside {shown}")),
    }
    Ok(said)
}

/// Cleans up all folders of `parent` whose names begin with `prefix` and whose locks are free.
pub(super) fn recover_all(parent: &Dir, prefix: &str) -> io::Result<Vec<String>> {
    let mut said = Vec::new();
    let found = parent.names()?;
    let of = |left| Beside::parse(left).map(|beside| beside.of).or_else(|| lock::of(left));
    let mut names: Vec<&OsStr> = found.iter().filter_map(|left| of(left)).collect();
    names.retain(|name| name.as_bytes().starts_with(prefix.as_bytes()));
    names.sort_unstable();
    names.dedup();
    for name in names {
        if let Some(lock) = Lock::take(parent, name, Duration::ZERO, &mut || {})? {
            let outcome = recover(parent, name);
            lock.release(parent);
            said.extend(outcome?);
        }
    }
    Ok(said)
}
