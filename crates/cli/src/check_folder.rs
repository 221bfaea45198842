//! `check` of a folder of results.

use crate::Failure;
use crate::terminal::print;
use justfull_report::export::folder::{self, State};
use justfull_report::table::printable;
use std::path::Path;

/// Whether `path` is a folder, or is where killed runs have left one.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir()
        || (!path.exists() && folder::inspect(path).is_ok_and(|found| !found.leftovers.is_empty()))
}

/// Says what is in the folder `path` and what killed runs left beside it; a folder that is not the
/// whole of one run is a failure.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let found = folder::inspect(path).map_err(|e| Failure::Usage(format!("{shown}: {e}")))?;
    let state = found.state.as_ref().map_or_else(|| "not there".into(), State::in_words);
    let mut text = format!("{shown}: {state}\n");
    if found.in_use {
        text.push_str(&format!("{shown}: a run writes it now\n"));
    }
    for (name, state) in &found.leftovers {
        let left = path.with_file_name(name);
        let by = if found.in_use {
            "of a run"
        } else {
            "left by a killed run, the next for this folder removes it"
        };
        text.push_str(&format!("{}: {by}: {}\n", left.display(), state.in_words()));
    }
    print(&printable(&text))?;
    match found.state {
        Some(State::Complete(_)) => Ok(()),
        _ => Err(Failure::Failed(format!("{shown}: not the whole results of one run"))),
    }
}
