//! Mistakes in a scenario, with their places.

use justfull_trace::input::InputError;
use std::borrow::Cow;
use std::fmt;
use std::path::{Path as FilePath, PathBuf};

/// Maximum number of characters of a found value in a message.
const MOST_REPEATED: usize = 200;
/// Maximum number of characters of a message in place of a value: that of a trace lists columns and
/// ends in a command.
const MOST_SAID: usize = 4000;

/// One mistake in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioError {
    /// The file.
    pub file: PathBuf,
    /// Line and column of the value in the file, from 1.
    pub at: Option<(usize, usize)>,
    /// Dotted path of the field; empty when no field is at fault.
    pub field: String,
    /// Origin of the field, e.g. `method DRQL` or `--set`; empty for the file itself.
    pub set_by: String,
    /// The value found.
    pub found: String,
    /// The values allowed, and their source.
    pub allowed: String,
    /// The method under which the bound was broken, if no setting names it; may be empty.
    pub method: String,
    /// The trace is missing because no data folder was named: the scenario cannot run here.
    pub needs_data: bool,
    /// Keys of the field; elements of arrays by index.
    pub(super) keys: Vec<String>,
    /// True if the scenario has no such field.
    pub(super) nowhere: bool,
}

impl ScenarioError {
    pub(super) fn unreadable(file: &FilePath, why: &str) -> Self {
        Self {
            file: file.into(),
            at: None,
            field: String::new(),
            set_by: String::new(),
            found: why.into(),
            allowed: "a readable scenario file".into(),
            method: String::new(),
            needs_data: false,
            keys: Vec::new(),
            nowhere: false,
        }
    }

    /// True if `other` is the same mistake, perhaps under another method.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (&self.at, &self.field, &self.set_by, &self.found)
            == (&other.at, &other.field, &other.set_by, &other.found)
    }

    /// The error for a file that could not be read.
    pub(super) fn no_input(file: &FilePath, error: &InputError) -> Self {
        let base = Self::unreadable(file, &error.found);
        match error.kind {
            std::io::ErrorKind::InvalidInput => Self { allowed: error.allowed.clone(), ..base },
            _ => base,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": field `{}`", self.field)?;
        }
        if !self.set_by.is_empty() {
            write!(f, " (set by {})", self.set_by)?;
        }
        let most = if self.allowed.is_empty() { MOST_SAID } else { MOST_REPEATED };
        let found = if self.found.is_empty() { "\"\"".into() } else { cut(&self.found, most) };
        if self.allowed.is_empty() {
            write!(f, ": {found}")?;
        } else {
            write!(f, ": found {found}, allowed is {}", self.allowed)?;
        }
        if !self.method.is_empty() {
            write!(f, "; method {}", self.method)?;
        }
        Ok(())
    }
}

/// `text` truncated to `most` characters.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

impl std::error::Error for ScenarioError {}
