//! Reads results for commands that show them.

use crate::failure::Failure;
use justfull_report::export::{Column, Runs};
use justfull_report::read::Folder;
use std::path::PathBuf;

/// Reads folders of runs, and datasets of campaigns with `columns`, limited to `methods` and
/// `flows`; an empty list keeps all.
pub(crate) fn read(
    paths: &[PathBuf],
    columns: &[&'static Column<Runs>],
    methods: &[String],
    flows: &[String],
) -> Result<Vec<Folder>, Failure> {
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let mut folders = Vec::new();
    for path in paths {
        #[cfg(feature = "campaign")]
        let of_campaign = crate::campaign::folder(path, columns)?;
        #[cfg(not(feature = "campaign"))]
        let of_campaign = None;
        let mut folder = match of_campaign {
            Some(folder) => folder,
            None => Folder::read(path, &names).map_err(|e| Failure::usage(&e))?,
        };
        folder.keep(methods, flows).map_err(|e| Failure::usage(&e))?;
        folders.push(folder);
    }
    Ok(folders)
}
