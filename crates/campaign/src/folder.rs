//! The folder of a dataset: its owner, and the files that belong to the dataset.
//!
//! Only a proven part of the dataset is removed or renamed. The proof for the folder is its ledger
//! or the file that names its campaign; for a file, its place and name; for a part without a line
//! in the ledger, its own content.

use crate::failure::Failure;
use crate::ledger::{self, Ledger, METHOD, PARTS, SCENARIO};
use crate::plan::Campaign;
use justfull_report::earlier::CAMPAIGN;
use justfull_report::export::{Sink, remove_left};
use justfull_scenario::input::{SCENARIO_LIMIT, read_capped};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The folder's record of its campaign.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Origin {
    /// Its file.
    file: PathBuf,
}

/// The file of the campaign that made the dataset in `folder`; none if `folder` is no dataset.
#[must_use]
pub fn campaign_of(folder: &Path) -> Option<PathBuf> {
    let text = read_capped(&folder.join(CAMPAIGN), SCENARIO_LIMIT).ok()?;
    serde_json::from_slice::<Origin>(&text).ok().map(|origin| origin.file)
}

/// Refuses the folder at `path` if it has files and is no dataset; nothing is changed.
pub(crate) fn admit(path: &Path) -> Result<(), Failure> {
    let names: io::Result<Vec<_>> = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
    let mut names = match names {
        Ok(names) => names,
        Err(what) if what.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(what) => return Err(Failure::disk(path, what)),
    };
    names.sort_unstable();
    let parts = path.join(PARTS);
    if fs::symlink_metadata(&parts).is_ok_and(|found| !found.is_dir()) {
        return Err(Failure::wrong(
            &parts,
            "",
            "something that is no folder",
            "the folder of all parts",
        ));
    }
    let is_dataset = Ledger::is_begun(path)? || campaign_of(path).is_some();
    let origin = path.join(CAMPAIGN);
    if is_dataset && fs::symlink_metadata(&origin).is_ok() && campaign_of(path).is_none() {
        let allowed = "the file of the dataset's first run; remove it or use another folder";
        return Err(Failure::wrong(&origin, "", "another file", allowed));
    }
    // A process killed at its start leaves only the beginning of these.
    let is_empty = fs::read_dir(&parts).is_ok_and(|mut entries| entries.next().is_none());
    let is_bare = |name: &OsString| *name == *ledger::NAME || *name == *PARTS && is_empty;
    match names.iter().find(|name| !is_bare(name)) {
        Some(name) if !is_dataset => {
            let found = format!("a folder with {} that is no dataset", name.display());
            let allowed = "a new or empty folder, or the dataset of a campaign";
            Err(Failure::wrong(path, "", &found, allowed))
        }
        _ => Ok(()),
    }
}

/// Writes the name of its campaign into the dataset's folder `path`.
pub(crate) fn name(path: &Path, campaign: &Campaign) -> Result<(), Failure> {
    let file = std::path::absolute(&campaign.file).unwrap_or_else(|_| campaign.file.clone());
    if campaign_of(path).as_ref() == Some(&file) {
        return Ok(());
    }
    let text = serde_json::to_string(&Origin { file }).unwrap_or_default();
    let mut sink = Sink::create(&path.join(CAMPAIGN))?;
    sink.write_all(text.as_bytes()).map_err(|what| sink.error(what))?;
    Ok(sink.commit()?)
}

/// Renames the part `name` of the dataset in the folder `path` to the first free of `NAME.WHY`,
/// `NAME.WHY2` ...
pub(crate) fn put_aside(path: &Path, name: &str, why: &str) -> Result<(), Failure> {
    let place = path.join(name);
    let aside = (1_u64..).map(|n| match n {
        1 => place.with_extension(format!("parquet.{why}")),
        _ => place.with_extension(format!("parquet.{why}{n}")),
    });
    for to in aside {
        match renameat_with(CWD, &place, CWD, &to, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            // The file system cannot check and rename in one step.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if to.exists() => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                return fs::rename(&place, to).map_err(|what| Failure::disk(&place, what));
            }
            done => return done.map_err(|what| Failure::disk(&place, what.into())),
        }
    }
    Ok(())
}

/// The parts of the dataset in the folder `path` with their sizes, by their names from that folder.
/// Removes unfinished parts of killed processes and ignores other files.
pub(crate) fn files(path: &Path) -> Result<BTreeMap<String, u64>, Failure> {
    let mut found = BTreeMap::new();
    let is_ours = |name: &OsStr| name.to_str().is_some_and(ledger::is_part);
    for (scenario, _) in entries(&path.join(PARTS), SCENARIO, fs::FileType::is_dir)? {
        for (method, _) in entries(&scenario, METHOD, fs::FileType::is_dir)? {
            remove_left(&method, is_ours).map_err(|what| Failure::disk(&method, what))?;
            for (part, name) in entries(&method, "", fs::FileType::is_file)? {
                if !ledger::is_part(&name) {
                    continue;
                }
                let about = part.metadata().map_err(|what| Failure::disk(&part, what))?;
                if let Some(name) = part.strip_prefix(path).ok().and_then(Path::to_str) {
                    found.insert(name.to_owned(), about.len());
                }
            }
        }
    }
    Ok(found)
}

/// Paths and names in `folder` that begin with `start` and are of this type; no link is followed.
fn entries(
    folder: &Path,
    start: &str,
    is: fn(&fs::FileType) -> bool,
) -> Result<Vec<(PathBuf, String)>, Failure> {
    let disk = |what| Failure::disk(folder, what);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(disk)? {
        let entry = entry.map_err(disk)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with(start) && is(&entry.file_type().map_err(disk)?) {
            found.push((entry.path(), name));
        }
    }
    Ok(found)
}
