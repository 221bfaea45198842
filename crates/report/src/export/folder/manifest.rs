//! `manifest.json`: the origin and the content of a results folder.

use super::super::SCHEMA;
use super::super::disk::Dir;
use justfull_lab::model::Comparison;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Component, Path};

/// Name of the manifest in the folder.
pub const MANIFEST: &str = "manifest.json";

/// Version of the folder's layout: the manifest and the places of files. The version of the files'
/// content is [`SCHEMA`](crate::export::SCHEMA).
pub const FORMAT: u32 = 1;

/// Largest manifest accepted; the manifest of the demonstration has 30 kB.
const MOST_BYTES: u64 = 64 << 20;

/// The subject of results. Results of the same subject are replaced without a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The subcommand: `run`, `demo`, `reproduce`, `validate` or `live`.
    pub kind: String,
    /// Names of the scenarios, or of a paper or a TCP control.
    pub scenario: String,
}

/// The origin of results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The command line.
    pub command: String,
    /// Version of the program, with the commit of its source if known.
    pub version: String,
    /// Seeds of all runs, ascending.
    pub seeds: Vec<u64>,
    /// The resolved scenario as TOML; empty for a command without one.
    pub scenario_toml: String,
}

impl Origin {
    /// The origin of `comparison`.
    #[must_use]
    pub fn of(comparison: &Comparison) -> Self {
        Self {
            command: comparison.command.clone(),
            version: comparison.version.clone(),
            seeds: comparison.seeds(),
            scenario_toml: comparison.scenario_toml.clone(),
        }
    }
}

/// A file of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path in the folder, parts joined by `/`.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// SHA-256 of its contents, in hexadecimal digits.
    pub sha256: String,
}

/// The content of `manifest.json`, which is written last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`] of the program that wrote it.
    pub format: u32,
    /// [`SCHEMA`] of the program that wrote it; 1 if the manifest does not name it.
    #[serde(default = "first")]
    pub schema: u32,
    /// Identity of the run: SHA-256 over subject and origin, in hexadecimal digits.
    pub run: String,
    /// The subject of the results.
    #[serde(flatten)]
    pub subject: Subject,
    /// The origin of the results.
    #[serde(flatten)]
    pub origin: Origin,
    /// Every file except the manifest itself, in the order of writing.
    pub files: Vec<Entry>,
    /// Paths of the files that did not fit on the disk; only for live runs, which cannot be
    /// repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl Manifest {
    pub(super) fn new(
        subject: Subject,
        origin: Origin,
        files: Vec<Entry>,
        missing: Vec<String>,
    ) -> Self {
        let run = identity(&subject, &origin);
        Self { format: FORMAT, schema: SCHEMA, run, subject, origin, files, missing }
    }

    /// Refuses files whose schema is not this program's.
    ///
    /// # Errors
    /// In words: earlier or later version, its number, and the remedy.
    pub(crate) fn readable(&self) -> Result<(), String> {
        of_this_version("schema", self.schema, SCHEMA, Some(&self.origin.version))
    }

    /// Reads the manifest of `folder`; none if there is none.
    ///
    /// # Errors
    /// In words: it cannot be read, or is not a manifest.
    pub(super) fn read(folder: &Dir) -> Result<Option<Self>, String> {
        let name = OsStr::new(MANIFEST);
        let found = folder.look(name).map_err(|e| e.to_string())?;
        if found.is_none() {
            return Ok(None);
        }
        let text = || -> io::Result<Vec<u8>> {
            let mut text = Vec::new();
            folder.read(name)?.take(MOST_BYTES).read_to_end(&mut text)?;
            Ok(text)
        };
        let text = text().map_err(|e| e.to_string())?;
        #[derive(Deserialize)]
        struct Format {
            format: u32,
            version: Option<String>,
        }
        let Format { format, version } =
            serde_json::from_slice(&text).map_err(|e| e.to_string())?;
        of_this_version("format", format, FORMAT, version.as_deref())?;
        let manifest: Self = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
        manifest.sound().map(|()| Some(manifest))
    }

    /// Checks an untrusted manifest: it must name only files in its folder, each once, and its
    /// identity must match its content.
    fn sound(&self) -> Result<(), String> {
        if self.run != identity(&self.subject, &self.origin) {
            return Err("its run is not the one that it describes".into());
        }
        let mut paths: Vec<&str> = self.files.iter().map(|entry| entry.path.as_str()).collect();
        paths.sort_unstable();
        if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("it names {:?} twice", twice[0]));
        }
        match paths.iter().find(|path| !is_inside(path)) {
            Some(outside) => Err(format!("it names {outside:?}, which is no path in its folder")),
            None => Ok(()),
        }
    }
}

/// [`SCHEMA`] of folders whose manifest does not name it.
fn first() -> u32 {
    1
}

/// Refuses `found`, the number of `what`, unless this program can read it; `by` is the version of
/// the program that wrote it.
fn of_this_version(what: &str, found: u32, known: u32, by: Option<&str>) -> Result<(), String> {
    let by = by.filter(|by| !by.is_empty()).map_or_else(String::new, |by| format!(" ({by})"));
    let (when, way) = match found.cmp(&known) {
        Ordering::Equal => return Ok(()),
        _ if found == 0 => return Err(format!("its {what} is 0, which never was")),
        Ordering::Less => ("an earlier", "make the results again, or read them with that version"),
        Ordering::Greater => ("a later", "read it with that version"),
    };
    Err(format!("its {what} is {found}, of {when} version{by}; this one reads {known}: {way}"))
}

/// True if `path` is one or more plain names joined by `/`, and not the path of the manifest.
fn is_inside(path: &str) -> bool {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    plain && path != MANIFEST && path.split('/').all(|part| !part.is_empty() && part != ".")
}

/// SHA-256 over subject and origin.
fn identity(subject: &Subject, origin: &Origin) -> String {
    // JSON gives two different lists of texts different bytes.
    let text = serde_json::json!([subject, origin]).to_string();
    hex(&Sha256::digest(text.as_bytes()))
}

/// `bytes` in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_and_a_later_version_are_told_apart_with_what_to_do() {
        let of = |found| of_this_version("schema", found, 2, Some("justfull 7"));
        assert_eq!(of(2), Ok(()));
        let message = |found| of(found).expect_err("another version");
        assert_eq!(
            message(1),
            "its schema is 1, of an earlier version (justfull 7); this one reads 2: make the \
             results again, or read them with that version"
        );
        assert_eq!(
            message(3),
            "its schema is 3, of a later version (justfull 7); this one reads 2: read it with \
             that version"
        );
        assert_eq!(message(0), "its schema is 0, which never was");
    }
}
