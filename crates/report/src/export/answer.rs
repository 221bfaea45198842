//! The results of `run` and `reproduce` as one JSON document for programs.

use super::{COLUMNS, FlowRow, SCHEMA, rows};
use justfull_lab::model::Comparison;
use justfull_lab::model::claims::ClaimTable;
use serde::{Serialize, Serializer};
use std::path::Path;

/// A run and flow, with the names of [`COLUMNS`] as keys.
pub(super) struct Row<'a>(pub(super) FlowRow<'a>);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(COLUMNS.iter().map(|c| (c.name, (c.value)(&self.0))))
    }
}

/// The fields of the document, in the order of its keys.
#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    title: &'a str,
    version: &'a str,
    command: &'a str,
    folder: Option<&'a str>,
    notes: &'a [String],
    missing: &'a [String],
    broken: &'a [String],
    claims: Option<&'a ClaimTable>,
    rows: Vec<Row<'a>>,
}

/// The rows and notes of `comparison` and the path of the results `folder`, as one line of JSON
/// with a line feed.
///
/// # Panics
/// Never: a path that is not UTF-8 is written with replacement characters.
#[must_use]
pub fn answer(comparison: &Comparison, folder: Option<&Path>) -> String {
    let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
    let answer = Answer {
        schema: SCHEMA,
        title: &comparison.title,
        version: &comparison.version,
        command: &comparison.command,
        folder: folder.as_deref(),
        notes: &comparison.notes,
        missing: &comparison.missing,
        broken: &comparison.broken,
        claims: comparison.claims.as_ref(),
        rows: rows::flows(comparison).map(Row).collect(),
    };
    serde_json::to_string(&answer).expect("names and numbers can be written as JSON") + "\n"
}
