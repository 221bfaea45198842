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
        if self.allowed.is_empty() {
            write!(f, ": {}", self.found)
        } else {
            write!(f, ": found {}, allowed is {}", self.found, self.allowed)
        }
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

    /// True when all of `keys` stand in the file.
    fn holds(&self, keys: &[String]) -> bool {
        self.text.parse::<toml::Table>().is_ok_and(|tree| super::tree::get(&tree, keys).is_some())
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

    /// Finds the key at fault: among those at the place that the message names, the one without which the error is gone or
    /// another (the message does not say which element of an array it means).
    pub(super) fn fault<E: fmt::Display>(
        &self,
        tree: &toml::Table,
        error: &E,
        read: &dyn Fn(&toml::Table) -> Result<(), E>,
    ) -> ScenarioError {
        let whole = error.to_string();
        let lines = whole.split('\n').map(str::trim).filter(|l| !l.is_empty());
        let (place, words): (Vec<&str>, Vec<&str>) = lines.partition(|l| l.starts_with("in `"));
        let place = place.first().map_or("", |l| l.trim_start_matches("in `").trim_end_matches('`'));
        let (found, allowed) = split_message(&words.join(", "));
        let mut keys = field_keys(place);
        if let Some(name) = quoted(&whole, "missing field `") {
            keys.push(name.to_string());
            return self.plain(&in_words(&keys), "nothing", "a value");
        }
        keys.extend(quoted(&found, "unknown field `").map(str::to_string));
        let at_place = |leaf: &Vec<String>| {
            let named: Vec<&String> = leaf.iter().filter(|k| k.parse::<usize>().is_err()).collect();
            keys.len() <= named.len() && keys.iter().zip(named).all(|(a, b)| a == b)
        };
        let culprit = leaves(tree).into_iter().filter(at_place).find(|leaf| {
            let mut without = tree.clone();
            remove(&mut without, leaf) && read(&without).map_or_else(|e| e.to_string() != whole, |()| true)
        });
        let keys = culprit.unwrap_or(keys);
        let on_top = if self.holds(&keys) {
            ""
        } else {
            " (set on top of the file by --set, a method, a variant or a switch)"
        };
        let allowed = format!("{allowed}{on_top}");
        ScenarioError {
            file: self.file.clone(),
            at: self.locate(&keys),
            field: in_words(&keys),
            found,
            allowed,
            needs_data: false,
        }
    }
}

/// What stands between `before` and the next backquote.
fn quoted<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once('`').map(|(name, _)| name)
}

/// Keys as `ue[0].drbs`.
fn in_words(keys: &[String]) -> String {
    let mut words = String::new();
    for key in keys {
        if key.parse::<usize>().is_ok() {
            words.push_str(&format!("[{key}]"));
        } else {
            words.push_str(if words.is_empty() { "" } else { "." });
            words.push_str(key);
        }
    }
    words
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
    field
        .replace('[', ".")
        .replace(']', "")
        .split('.')
        .filter(|k| !k.is_empty())
        .map(str::to_string)
        .collect()
}

/// serde's "X, expected Y" as what was found and what is allowed.
fn split_message(message: &str) -> (String, String) {
    match message.split_once(", expected ") {
        Some((found, allowed)) => (found.into(), allowed.into()),
        None => (message.into(), "see `justfull explain`".into()),
    }
}
