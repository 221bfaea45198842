//! Finds the position of each key in a file, and the origin of each setting applied to it.

use super::error::ScenarioError;
use super::kinds;
use super::tree::{self, MOST_PARTS, Setting};
use crate::near;
use justfull_base::ConfigError;
use justfull_trace::TraceError;
use justfull_trace::input::SCENARIO_LIMIT;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, OnceLock};
use toml_edit::{Item, TableLike, Value};

/// Maximum number of lines and commas in a file: parsing takes about 500 bytes per value.
const MOST_VALUES: usize = 500_000;
/// Maximum number of elements in a list.
const MOST_ELEMENTS: usize = 100_000;

/// A setting applied on top of the file.
#[derive(Clone, Debug)]
struct Applied {
    /// Keys of the changed place; elements of arrays by index.
    keys: Vec<String>,
    set_by: String,
    /// Keys of the place in the file where the setting is written; a nonexistent path for settings
    /// outside the file.
    written_at: Vec<String>,
}

/// The origin of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The command, on behalf of the file.
    Command,
    Variant,
    Method,
    Sweep,
    Switch,
    /// `--set`.
    User,
}

/// Keys that choose settings, or hold the choices: no setting changes them.
const CHOICE: [&str; 4] = ["variant", "variants", "switches", "method"];
/// Keys that define the content and the presentation of a comparison; no world reads them.
const COMPARISON: [&str; 6] = ["title", "description", "methods", "seed", "runs", "sweep"];
/// Keys that all runs of a comparison share.
const WINDOW: [&str; 3] = ["duration", "warmup", "series_bins"];

impl By {
    /// The reason why `key`, the first of a path, may not be set: the key found and the keys
    /// allowed.
    fn refusal(self, key: &str) -> Option<(&'static str, &'static str)> {
        if self != Self::Command && CHOICE.contains(&key) {
            return Some(("what chooses settings", "a setting of the scenario itself"));
        }
        match self {
            Self::Sweep if COMPARISON.contains(&key) => {
                Some(("a setting that no world reads", "a path whose value changes the world"))
            }
            Self::Method if COMPARISON.contains(&key) || WINDOW.contains(&key) => Some((
                "a setting that all methods share",
                "a setting of the network: compared methods differ in nothing else",
            )),
            _ => None,
        }
    }
}

/// The origin of settings, for messages.
pub(super) struct Origin<'a> {
    /// The kind of the origin.
    pub by: By,
    /// The origin in words, e.g. `method DRQL`.
    pub set_by: &'a str,
    /// Keys of the table in the file that holds them; empty for settings outside the file.
    pub table: &'a [&'a str],
}

impl Origin<'_> {
    /// Keys of the place in the file where the setting `path` is written.
    fn keys(&self, path: &str) -> Vec<String> {
        match self.table {
            [] => Vec::new(),
            table => table.iter().copied().chain([path]).map(str::to_string).collect(),
        }
    }
}

/// The position of each key in a file, and the settings applied to the file's tree.
#[derive(Clone, Debug)]
pub(super) struct Locator {
    source: Arc<Source>,
    applied: Vec<Applied>,
}

#[derive(Debug)]
struct Source {
    file: PathBuf,
    text: String,
    /// The text with the position of each key, parsed only for messages.
    document: OnceLock<Option<toml_edit::Document<String>>>,
}

impl Source {
    fn document(&self) -> Option<&toml_edit::Document<String>> {
        self.document.get_or_init(|| toml_edit::Document::parse(self.text.clone()).ok()).as_ref()
    }
}

impl Locator {
    pub(super) fn new(text: &str, file: &FilePath) -> Self {
        let source = Source { file: file.into(), text: text.into(), document: OnceLock::new() };
        Self { source: Arc::new(source), applied: Vec::new() }
    }

    /// Parses the text as TOML, with bare names expanded.
    pub(super) fn parse(&self) -> Result<toml::Table, ScenarioError> {
        let text = &self.source.text;
        let refused = |found: String, allowed: String| {
            Err(ScenarioError { allowed, ..ScenarioError::unreadable(&self.source.file, &found) })
        };
        if text.len() as u64 > SCENARIO_LIMIT.0 {
            return refused(
                format!("more than {SCENARIO_LIMIT}"),
                format!("at most {SCENARIO_LIMIT}"),
            );
        }
        if text.bytes().filter(|b| matches!(b, b'\n' | b',')).count() > MOST_VALUES {
            let allowed = format!("at most {MOST_VALUES}: a long series belongs in a trace file");
            return refused(format!("more than {MOST_VALUES} lines and commas"), allowed);
        }
        let mut tree = self.toml()?;
        if tree::deeper_than(&tree, MOST_PARTS) {
            return refused(
                "a value deep inside others".into(),
                format!("at most {MOST_PARTS} levels"),
            );
        }
        if let Some((keys, length)) = tree::longer_list(&tree, MOST_ELEMENTS) {
            let allowed =
                format!("at most {MOST_ELEMENTS}: a longer series belongs in a trace file");
            return Err(self.at_keys(&keys, &format!("a list of {length}"), &allowed));
        }
        kinds::expand(&mut tree);
        Ok(tree)
    }

    fn toml(&self) -> Result<toml::Table, ScenarioError> {
        self.source.text.parse::<toml::Table>().map_err(|e| {
            let at = e.span().map(|span| self.line_column(span.start));
            let message = e.message().replace('\n', ", ");
            let (found, allowed) = match message.split_once(", expected ") {
                Some((found, expected)) => (found, format!("TOML, here {expected}")),
                None => (message.as_str(), "TOML".into()),
            };
            ScenarioError { at, allowed, ..ScenarioError::unreadable(&self.source.file, found) }
        })
    }

    /// Applies `setting`, written as `path`, to `tree`, and stores its origin.
    pub(super) fn apply(
        &mut self,
        tree: &mut toml::Table,
        path: &str,
        setting: Setting,
        origin: &Origin<'_>,
    ) -> Result<(), ScenarioError> {
        let written_at = origin.keys(path);
        let at = setting.path.clone();
        let refusal = at.keys().first().and_then(|key| origin.by.refusal(key));
        if let Some((found, allowed)) = refusal {
            let error = self.at_keys(at.keys(), found, allowed);
            let (set_by, at) = (origin.set_by.to_string(), self.locate(&written_at));
            return Err(ScenarioError { set_by, at, ..error });
        }
        let done = setting.apply(tree);
        let keys = tree::indexed(tree, at.keys());
        self.applied.push(Applied { keys, set_by: origin.set_by.into(), written_at });
        done.map_err(|e| {
            let why = e.strip_prefix(&format!("{at}: ")).unwrap_or(&e);
            let named = tree::names_on(tree, at.keys());
            let allowed = match named {
                Some((key, names)) => {
                    near::allowed(key, &names, "the name of one there, or its index from 0")
                }
                None => "a path of the scenario".into(),
            };
            ScenarioError { nowhere: true, ..self.at_keys(at.keys(), why, &allowed) }
        })
    }

    /// The origin of the field at `keys`; none for the file.
    pub(super) fn set_by(&self, keys: &[String]) -> Option<&str> {
        self.setter(keys).map(|applied| applied.set_by.as_str())
    }

    /// The error for an invalid path of a setting.
    pub(super) fn no_path(&self, path: &str, error: &str, origin: &Origin<'_>) -> ScenarioError {
        let plain = error.strip_prefix("found ").unwrap_or(error);
        let (found, allowed) =
            plain.split_once(", allowed is ").unwrap_or((plain, "a dotted path"));
        ScenarioError {
            at: self.locate(&origin.keys(path)),
            set_by: origin.set_by.into(),
            allowed: allowed.into(),
            ..ScenarioError::unreadable(&self.source.file, found)
        }
    }

    pub(super) fn line_column(&self, offset: usize) -> (usize, usize) {
        let text = &self.source.text;
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        (line, column)
    }

    /// Line and column of the longest prefix of `keys` that the file contains.
    fn locate(&self, keys: &[String]) -> Option<(usize, usize)> {
        let (span, _) = span_in_table(self.source.document()?.as_table(), keys)?;
        Some(self.line_column(span.start))
    }

    /// Line and column of `keys`, if the file contains all of them.
    fn locate_whole(&self, keys: &[String]) -> Option<(usize, usize)> {
        let (span, depth) = span_in_table(self.source.document()?.as_table(), keys)?;
        (depth == keys.len()).then(|| self.line_column(span.start))
    }

    /// The last setting that set the field at `keys` or, for a value outside the file, created a
    /// table above it.
    fn setter(&self, keys: &[String]) -> Option<&Applied> {
        let in_file = self.locate_whole(keys).is_some();
        let above = if in_file { keys } else { keys.split_last().map_or(keys, |(_, above)| above) };
        self.applied.iter().rev().find(|applied| {
            let at = &applied.keys;
            let made = !in_file && at.starts_with(keys);
            made || keys.starts_with(at) || (!above.is_empty() && at.starts_with(above))
        })
    }

    /// An error at a field given by its keys.
    pub(super) fn at_keys(&self, keys: &[String], found: &str, allowed: &str) -> ScenarioError {
        let setter = self.setter(keys);
        let at = match setter {
            Some(applied) => self.locate(&applied.written_at),
            None => self.locate(keys),
        };
        ScenarioError {
            at,
            field: in_words(keys),
            set_by: setter.map_or_else(String::new, |applied| applied.set_by.clone()),
            allowed: allowed.into(),
            keys: keys.to_vec(),
            ..ScenarioError::unreadable(&self.source.file, found)
        }
    }

    /// An error at a field given by its path.
    pub(super) fn plain(&self, field: &str, found: &str, allowed: &str) -> ScenarioError {
        self.at_keys(&field_keys(field), found, allowed)
    }

    /// An error in an option of the command line.
    pub(super) fn option(&self, option: &str, found: &str, allowed: &str) -> ScenarioError {
        let base = ScenarioError::unreadable(&self.source.file, found);
        ScenarioError { field: option.into(), allowed: allowed.into(), ..base }
    }

    /// The error for a trace that cannot be read.
    pub(super) fn trace(&self, field: &str, error: &TraceError) -> ScenarioError {
        if let TraceError::Useless { option, format, words, read, .. } = error {
            let key = words.bare(*option).unwrap_or_default();
            let read: Vec<String> = read.iter().filter_map(|option| words.bare(*option)).collect();
            let found = "a key without effect";
            let allowed = format!("a key that the format {format} reads: {}", read.join(", "));
            return self.plain(&field.replace(".file", &format!(".{key}")), found, &allowed);
        }
        let needs_data = matches!(error, TraceError::NoDataDir { .. });
        ScenarioError { needs_data, ..self.plain(field, &error.to_string(), "") }
    }

    /// The error for a bound broken while building the world of a method; `field` is the file's.
    pub(super) fn config(&self, field: &str, error: &ConfigError, method: &str) -> ScenarioError {
        let mut found = self.plain(field, &error.value, &error.allowed());
        if found.set_by.is_empty() {
            found.method = method.into();
        }
        found
    }
}

/// The position of `keys`, and the number of them that exist.
fn span_in_table(table: &dyn TableLike, keys: &[String]) -> Option<(Range<usize>, usize)> {
    let (first, rest) = keys.split_first()?;
    let (key, value) = table.get_key_value(first)?;
    let (span, depth) =
        span_in_item(value, rest).or_else(|| Some((key.span().or_else(|| value.span())?, 0)))?;
    Some((span, depth + 1))
}

fn span_in_item(item: &Item, keys: &[String]) -> Option<(Range<usize>, usize)> {
    if let Some(table) = item.as_table_like() {
        return span_in_table(table, keys);
    }
    let (first, rest) = keys.split_first()?;
    let index: usize = first.parse().ok()?;
    let inner = |found: Option<(Range<usize>, usize)>, own: Option<Range<usize>>| {
        let (span, depth) = found.or_else(|| Some((own?, 0)))?;
        Some((span, depth + 1))
    };
    if let Some(tables) = item.as_array_of_tables() {
        let table = tables.get(index)?;
        return inner(span_in_table(table, rest), table.span());
    }
    let value = item.as_array()?.get(index)?;
    let found = value.as_inline_table().and_then(|t| span_in_table(t, rest));
    inner(found, Value::span(value))
}

/// Keys in the form `ue[0].drbs`.
fn in_words(keys: &[String]) -> String {
    let mut words = String::new();
    for key in keys {
        if !words.is_empty() && key.bytes().all(|b| b.is_ascii_digit()) {
            words.push_str(&format!("[{key}]"));
        } else {
            words.push_str(if words.is_empty() { "" } else { "." });
            words.push_str(key);
        }
    }
    words
}

/// The keys of a `field` in the form `ue[0].drbs`.
fn field_keys(field: &str) -> Vec<String> {
    field
        .replace('[', ".")
        .replace(']', "")
        .split('.')
        .filter(|k| !k.is_empty())
        .map(str::to_string)
        .collect()
}
