//! `check` of a folder of results.

use crate::failure::Failure;
use justfull_report::export::folder::{self, State};
use serde::Serialize;
use std::path::Path;

/// True if `path` is a folder, or if killed runs have left a folder for it.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir()
        || (!path.exists() && folder::inspect(path).is_ok_and(|found| !found.leftovers.is_empty()))
}

/// The content of a folder, and the folders that killed runs left beside it.
#[derive(Serialize)]
pub(crate) struct Checked {
    name: String,
    /// The folder is the whole of one run.
    complete: bool,
    /// Its state in words.
    state: String,
    /// A run writes it now.
    in_use: bool,
    leftovers: Vec<Left>,
}

/// A folder of a run that is in progress or was killed.
#[derive(Serialize)]
struct Left {
    name: String,
    state: String,
}

/// Inspects the folder `path` and the folders beside it.
pub(crate) fn check(path: &Path) -> Result<Checked, Failure> {
    let shown = path.display();
    let found = folder::inspect(path).map_err(|e| Failure::Usage(format!("{shown}: {e}")))?;
    let left = |(name, state): &(String, State)| Left {
        name: path.with_file_name(name).display().to_string(),
        state: state.in_words(),
    };
    Ok(Checked {
        name: shown.to_string(),
        complete: matches!(found.state, Some(State::Complete(_))),
        state: found.state.as_ref().map_or_else(|| "not there".into(), State::in_words),
        in_use: found.in_use,
        leftovers: found.leftovers.iter().map(left).collect(),
    })
}

impl Checked {
    /// A line about the folder, and about each leftover.
    pub(crate) fn in_words(&self) -> String {
        let name = &self.name;
        let mut text = format!("{name}: {}\n", self.state);
        if self.in_use {
            text.push_str(&format!("{name}: a run writes it now\n"));
        }
        for left in &self.leftovers {
            let by = if self.in_use {
                "of a run"
            } else {
                "left by a killed run, the next for this folder removes it"
            };
            text.push_str(&format!("{}: {by}: {}\n", left.name, left.state));
        }
        text
    }

    /// Fails if the folder is not the whole of one run.
    pub(crate) fn verdict(&self) -> Result<(), Failure> {
        if self.complete {
            return Ok(());
        }
        Err(Failure::Failed(format!("{}: not the whole results of one run", self.name)))
    }
}
