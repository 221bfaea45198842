//! Errors in trace files.

use super::words::{ReadOption, Words, shell};
use std::fmt;
use std::path::{Path, PathBuf};

/// Longest excerpt of a file in a message, in characters.
const QUOTE: usize = 40;

/// Why a trace could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// The scenario's folder has no such file, and `JUSTFULL_DATA` names no other folder. Runs that
    /// need the trace are skipped; they have not failed.
    NoDataDir {
        /// Name in the scenario.
        name: PathBuf,
        /// Where it was looked for.
        scenario_dir: PathBuf,
    },
    /// No such file, neither beside the scenario nor in the folder named by `JUSTFULL_DATA`.
    NotFound {
        /// Name in the scenario.
        name: PathBuf,
        /// Where it was looked for.
        tried: Vec<PathBuf>,
    },
    /// The file as a whole is not a trace: a directory, unreadable, empty, a damaged archive.
    Unusable {
        /// File.
        path: PathBuf,
        /// The value found.
        found: String,
        /// The allowed values.
        allowed: String,
    },
    /// An option has no effect on the file.
    Useless {
        /// File.
        path: PathBuf,
        /// The option.
        option: ReadOption,
        /// Format of the file.
        format: &'static str,
        /// Options that this format reads.
        read: Vec<ReadOption>,
        /// The words of the message.
        words: Words,
    },
    /// A table, and nothing names its columns or says how long its rows are.
    Unnamed {
        /// File.
        path: PathBuf,
        /// The value found.
        found: String,
        /// The allowed values.
        allowed: String,
        /// The names of its columns, numbers where it has none.
        columns: Vec<String>,
        /// The options that would read it, with their values.
        guess: Vec<(ReadOption, String)>,
    },
    /// A line is wrong.
    Malformed {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Column.
        column: String,
        /// The value found.
        found: String,
        /// The allowed values.
        allowed: String,
    },
}

impl TraceError {
    pub(super) fn unusable(
        path: &Path,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Unusable { path: path.into(), found: found.into(), allowed: allowed.into() }
    }

    /// Adds to the allowed values of a line that `options` read other times.
    pub(super) fn or_by(mut self, options: &str) -> Self {
        if let Self::Malformed { allowed, .. } = &mut self {
            allowed.push_str(&format!("; {options} reads other times"));
        }
        self
    }

    /// True when the file is absent, so that what needs it could not run.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::NoDataDir { .. } | Self::NotFound { .. })
    }
}

/// An excerpt of a file for a message: in backticks, escaped and truncated.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::new();
    for char in text.chars().take(QUOTE) {
        // Quotes and backslashes stay, so that a reader can copy the name of a column.
        match char {
            '\'' | '"' | '\\' => quoted.push(char),
            char => quoted.extend(char.escape_debug()),
        }
    }
    if text.chars().nth(QUOTE).is_some() {
        quoted.push_str("...");
    }
    format!("`{quoted}`")
}

/// The allowed form of a file at `path` in the encoding `from`: UTF-8, with the command that
/// converts it.
pub(super) fn in_utf8(path: &Path, from: &str) -> String {
    let (file, made) = (path.display().to_string(), path.with_extension("utf8.csv"));
    let (file, made) = (shell(&file), shell(&made.display().to_string()));
    format!("text in UTF-8, as from `iconv -f {from} -t UTF-8 {file} > {made}`")
}

/// An encoding in which every file of single bytes is text.
pub(super) const SINGLE_BYTES: &str = "ISO-8859-1";

/// `path`, or `empty` for a path without a name.
fn shown(path: &Path, empty: &str) -> String {
    if path.as_os_str().is_empty() { empty.into() } else { path.display().to_string() }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDataDir { name, scenario_dir } => write!(
                f,
                "{}: not found in {}, and JUSTFULL_DATA is not set; allowed is a file there or in \
                 the folder that JUSTFULL_DATA names",
                shown(name, "\"\""),
                shown(scenario_dir, "the working folder")
            ),
            Self::NotFound { name, tried } => {
                write!(f, "{}: not found; looked for", name.display())?;
                for (i, path) in tried.iter().enumerate() {
                    let and = if i > 0 { " and" } else { "" };
                    write!(f, "{and} {}", path.display())?;
                }
                Ok(())
            }
            Self::Unusable { path, found, allowed }
            | Self::Unnamed { path, found, allowed, .. } => {
                write!(f, "{}: found {found}, allowed is {allowed}", path.display())
            }
            Self::Useless { path, option, format, read, words } => {
                let read: Vec<String> = read.iter().map(|option| words.name(*option)).collect();
                write!(
                    f,
                    "{}: {}: found an option without effect on the format {format}, allowed is {}",
                    path.display(),
                    words.name(*option),
                    read.join(", ")
                )
            }
            Self::Malformed { path, line, column, found, allowed } => {
                write!(
                    f,
                    "{}:{line}: column `{column}`: found {found}, allowed is {allowed}",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for TraceError {}
