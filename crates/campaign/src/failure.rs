//! Errors that stop a campaign.

use justfull_report::export::ExportError;
use justfull_scenario::ScenarioError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a campaign cannot continue. Finished jobs stay.
#[derive(Debug)]
pub enum Failure {
    /// A value in a file is not an allowed one.
    Wrong {
        /// The file.
        file: PathBuf,
        /// The field; may be empty.
        field: String,
        /// The found value.
        found: String,
        /// The allowed values.
        allowed: String,
    },
    /// A scenario is wrong.
    Scenario(ScenarioError),
    /// A file could not be read or written.
    Disk(ExportError),
}

impl Failure {
    /// `file` has `found` in `field`; allowed is `allowed`.
    #[must_use]
    pub fn wrong(file: &Path, field: &str, found: &str, allowed: &str) -> Self {
        Self::Wrong {
            file: file.into(),
            field: field.into(),
            found: found.into(),
            allowed: allowed.into(),
        }
    }

    pub(crate) fn disk(path: &Path, what: io::Error) -> Self {
        Self::Disk(ExportError { path: path.into(), what })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong { file, field, found, allowed } if field.is_empty() => {
                write!(f, "{}: found {found}, allowed is {allowed}", file.display())
            }
            Self::Wrong { file, field, found, allowed } => {
                write!(f, "{}: {field}: found {found}, allowed is {allowed}", file.display())
            }
            Self::Scenario(error) => error.fmt(f),
            Self::Disk(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error)
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        Self::Disk(error)
    }
}
