//! What is wrong with a scenario, and where.

use super::tree::{leaves, remove};
use crate::trace::TraceError;
use justfull_base::ConfigError;
use std::fmt;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use toml_edit::{Item, TableLike};

/// One thing that is wrong with a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioError {
    /// The file.
    pub file: PathBuf,
    /// Line and column from 1, where the value stands in the file.
    pub at: Option<(usize, usize)>,
    /// Dotted path of the field; empty where none is at fault.
    pub field: String,
    /// What was found.
    pub found: String,
    /// What is allowed, and by whom.
    pub allowed: String,
    /// The trace is missing because no folder of data was named: the scenario cannot be run here.
    pub needs_data: bool,
}

impl ScenarioError {
    pub(super) fn unreadable(file: &FilePath, why: &str) -> Self {
        Self {
            file: file.into(),
            at: None,
            field: String::new(),
            found: why.into(),
            allowed: "a readable scenario file".into(),
            needs_data: false,
        }
    }

    pub(super) fn trace(file: &FilePath, field: &str, error: &TraceError) -> Self {
        Self {
            file: file.into(),
            at: None,
            field: field.into(),
            found: error.to_string(),
            allowed: String::new(),
            needs_data: matches!(error, TraceError::NoDataDir { .. }),
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
        if self.allowed.is_empty() { write!(f, ": {}", self.found) } else { write!(f, ": found {}, allowed is {}", self.found, self.allowed) }
    }
}

impl std::error::Error for ScenarioError {}

/// Knows where each key of a file stands.
#[derive(Clone, Debug)]
pub(super) struct Locator {
    file: PathBuf,
    text: String,
    document: Option<toml_edit::Document<String>>,
}

impl Locator {
    pub(super) fn new(text: &str, file: &FilePath) -> Self {
        let document = toml_edit::Document::parse(text.to_string()).ok();
        Self { file: file.into(), text: text.into(), document }
    }

    pub(super) fn file(&self) -> &FilePath {
        &self.file
    }

    /// Reads the text as TOML.
    pub(super) fn parse(&self, text: &str) -> Result<toml::Table, ScenarioError> {
        text.parse::<toml::Table>().map_err(|e| {
            let at = e.span().map(|span| self.line_column(span.start));
            let found = e.message().replace('\n', ", ");
            ScenarioError { at, ..ScenarioError::unreadable(&self.file, &found) }
        })
    }

    fn line_column(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..offset.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        (line, column)
    }

    /// Line and column of the longest part of `keys` that stands in the file.
    fn locate(&self, keys: &[String]) -> Option<(usize, usize)> {
        let span = span_in_table(self.document.as_ref()?.as_table(), keys)?;
        Some(self.line_column(span.start))
    }

    /// An error at a field that is known by its path.
    pub(super) fn plain(&self, field: &str, found: &str, allowed: &str) -> ScenarioError {
        let keys = field_keys(field);
        ScenarioError {
            file: self.file.clone(),
            at: self.locate(&keys),
            field: field.into(),
            found: found.into(),
            allowed: allowed.into(),
            needs_data: false,
        }
    }

    /// A setting could not be applied.
    pub(super) fn setting(&self, whose: &str, error: &str) -> ScenarioError {
        self.plain("", &format!("in {whose}: {error}"), "a path of the scenario")
    }

    /// A bound was broken when the world of a method was built.
    pub(super) fn config(&self, error: &ConfigError, method: &str) -> ScenarioError {
        let allowed = format!("{} ({}); method {method}", error.bound, error.source);
        self.plain(&error.field, &error.value, &allowed)
    }

    /// Finds the key at fault by leaving out one after the other: with it gone, the error is gone or another.
    pub(super) fn fault<E: fmt::Display>(
        &self,
        tree: &toml::Table,
        error: &E,
        read: &dyn Fn(&toml::Table) -> Result<(), E>,
    ) -> ScenarioError {
        let message = error.to_string();
        let culprit = leaves(tree).into_iter().find(|keys| {
            let mut without = tree.clone();
            remove(&mut without, keys) && read(&without).map_or_else(|e| e.to_string() != message, |()| true)
        });
        let keys = culprit.unwrap_or_default();
        let one_line = message.split('\n').map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join(", ");
        let (found, allowed) = split_message(&one_line);
        ScenarioError {
            file: self.file.clone(),
            at: self.locate(&keys),
            field: keys.join("."),
            found,
            allowed,
            needs_data: false,
        }
    }
}

fn span_in_table(table: &dyn TableLike, keys: &[String]) -> Option<Range<usize>> {
    let (first, rest) = keys.split_first()?;
    let (key, value) = table.get_key_value(first)?;
    span_in_item(value, rest).or_else(|| key.span()).or_else(|| value.span())
}

fn span_in_item(item: &Item, keys: &[String]) -> Option<Range<usize>> {
    if let Some(table) = item.as_table_like() {
        return span_in_table(table, keys);
    }
    let (first, rest) = keys.split_first()?;
    let tables = item.as_array_of_tables()?;
    let named = || tables.iter().find(|t| t.get("name").and_then(Item::as_str) == Some(first));
    let table = first.parse().ok().and_then(|i: usize| tables.get(i)).or_else(named)?;
    span_in_table(table, rest).or_else(|| table.span())
}

/// `ue[0].drbs` as keys.
fn field_keys(field: &str) -> Vec<String> {
    field.replace('[', ".").replace(']', "").split('.').filter(|k| !k.is_empty()).map(str::to_string).collect()
}

/// serde's "X, expected Y" as what was found and what is allowed.
fn split_message(message: &str) -> (String, String) {
    match message.split_once(", expected ") {
        Some((found, allowed)) => (found.into(), allowed.into()),
        None => (message.into(), "see `justfull explain`".into()),
    }
}
