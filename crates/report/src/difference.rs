//! Differences between folders of results, and between the methods of one: columns of `runs.jsonl`,
//! flow by flow, with intervals.

mod condition;
mod settings;

pub use condition::Condition;
pub use settings::{Change, settings};

use crate::ReportError;
use crate::export::{Column, Runs};
use crate::read::{Folder, Key};
use crate::table::{Grid, Row, RowKind};
use crate::words;
use justfull_lab::stats::{Summary, paired_difference, unpaired_difference};
use serde::Serialize;

/// The columns that are compared by default.
pub const USUAL: [&str; 4] = ["delay_ms_mean", "delay_ms_p95", "delay_ms_p99", "goodput_mbit_s"];

/// A column of a flow in one folder, and its change in the other folders.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Name of the scenario.
    pub scenario: String,
    /// The swept setting and its value; empty without a sweep.
    pub point: String,
    /// Name of the method.
    pub method: String,
    /// Name of the flow.
    pub flow: String,
    /// Name of the column.
    pub column: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Values in the first folder.
    pub base: Summary,
    /// The other folders in their order; none for a folder that lacks the column.
    pub others: Vec<Option<Other>>,
}

/// A column of a flow in a folder that is compared with the first.
#[derive(Clone, Debug, Serialize)]
pub struct Other {
    /// Values in this folder.
    pub own: Summary,
    /// This folder minus the first; with pairs, over the seeds that both have.
    pub change: Summary,
    /// The mean change in percent of the first folder's mean; none if that is 0.
    pub percent: Option<f64>,
    /// The interval is over differences between runs of the same seed.
    pub paired: bool,
}

/// Compares `columns` of each flow that the first of `folders` and at least one other have.
///
/// # Errors
/// The folders have no flow under a method in common; the text lists the flows and methods.
pub fn differences(
    folders: &[Folder],
    columns: &[&'static Column<Runs>],
) -> Result<Vec<Difference>, ReportError> {
    let Some((base, others)) = folders.split_first() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for key in base.keys().filter(|key| others.iter().any(|other| other.has(key))) {
        for &column in columns {
            found.extend(difference(&Cell { folder: base, key }, others, key, column));
        }
    }
    if found.is_empty() {
        let what: Vec<String> = folders.iter().map(with_points).collect();
        return Err(format!("nothing in common: {}", what.join("; ")).into());
    }
    Ok(found)
}

/// Flows, scenarios, methods and points of `folder`.
fn with_points(folder: &Folder) -> String {
    let points: Vec<String> = folder.points().iter().map(|point| words::of_path(point)).collect();
    match points.concat().is_empty() {
        true => folder.in_words(),
        false => format!("{}, at {}", folder.in_words(), points.join("; ")),
    }
}

/// Compares `columns` of each flow of `folder` under each method with the same flow under the
/// method `against`.
///
/// # Errors
/// The folder has no such method, or no other one; the text lists its methods.
pub fn differences_of_methods(
    folder: &Folder,
    against: &str,
    columns: &[&'static Column<Runs>],
) -> Result<Vec<Difference>, ReportError> {
    let mut found = Vec::new();
    for key in folder.keys().filter(|key| key.method != against) {
        let mut base_key = key.clone();
        base_key.method = against.into();
        let base = Cell { folder, key: &base_key };
        for &column in columns {
            found.extend(difference(&base, std::slice::from_ref(folder), key, column));
        }
    }
    if found.is_empty() {
        let methods = folder.methods();
        let why = match methods.iter().any(|method| method == against) {
            true => "nothing to compare with method",
            false => "no method",
        };
        let name = &folder.name;
        return Err(format!("{name}: {why} `{against}`; there is {}", methods.join(", ")).into());
    }
    Ok(found)
}

/// A flow under a method in a folder.
struct Cell<'a> {
    folder: &'a Folder,
    key: &'a Key,
}

/// The change of `column` of `key` in `others` from `base`.
fn difference(
    base: &Cell<'_>,
    others: &[Folder],
    key: &Key,
    column: &'static Column<Runs>,
) -> Option<Difference> {
    let values = base.folder.values(base.key, column.name);
    let only = |values: &[(u64, f64)]| values.iter().map(|v| v.1).collect::<Vec<f64>>();
    let summary = Summary::of(&only(&values))?;
    let others: Vec<Option<Other>> = others
        .iter()
        .map(|other| {
            let own_values = other.values(key, column.name);
            let own = Summary::of(&only(&own_values))?;
            let paired = paired_difference(&own_values, &values);
            let change = match paired {
                Some(change) => change,
                None => unpaired_difference(&only(&own_values), &only(&values))?,
            };
            let percent = (summary.mean != 0.0).then(|| 100.0 * change.mean / summary.mean.abs());
            Some(Other { own, change, percent, paired: paired.is_some() })
        })
        .collect();
    others.iter().any(Option::is_some).then(|| Difference {
        scenario: key.scenario.clone(),
        point: key.point.clone(),
        method: key.method.clone(),
        flow: key.flow.clone(),
        column: column.name,
        unit: column.unit,
        base: summary,
        others,
    })
}

/// A comparison of folders as JSON: the folders' names, the settings that differ (null if they
/// cannot be compared), the differences, and the conditions that hold, in words.
#[must_use]
pub fn json(
    names: &[String],
    settings: Option<&[Change]>,
    found: &[Difference],
    broken: &[String],
) -> String {
    let page = serde_json::json!({
        "folders": names, "settings": settings, "differences": found, "broken": broken,
    });
    format!("{page:#}")
}

/// The differences as a table; `names` are the names of the folders, or of the method compared with
/// and of the others' values. On a narrow terminal the changes stay longest.
#[must_use]
pub fn table(found: &[Difference], names: &[String]) -> Grid {
    let parts = part_columns(found, |d| [&d.scenario, &d.point, &d.method, &d.flow]);
    let mut header: Vec<String> = parts.iter().map(|&(name, _)| name.to_owned()).collect();
    header.push("column".into());
    let numbers_from = header.len();
    header.push(names.first().cloned().unwrap_or_default());
    let others = names.iter().skip(1);
    // A change stays without the column of its folder, so its heading says whose it is.
    let of = |name: &str, what: &str| match others.len() {
        1 => what.to_owned(),
        _ => format!("{name}:\n{what}"),
    };
    for name in others.clone() {
        header.extend([name.clone(), of(name, "change"), of(name, "%")]);
    }
    // The changes and the first mean give the rest.
    let own = |place: usize| (0..others.len()).rev().map(move |i| numbers_from + 1 + 3 * i + place);
    let dropped_first = own(0).chain(own(2)).chain([numbers_from]).collect();
    let mut before: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for difference in found {
        let Difference { scenario, point, method, flow, .. } = difference;
        let place = [scenario.clone(), words::of_path(point), method.clone(), flow.clone()];
        let place: Vec<String> = parts.iter().map(|&(_, part)| place[part].clone()).collect();
        let same = place == before;
        let mut cells: Vec<String> =
            place.iter().map(|text| if same { String::new() } else { text.clone() }).collect();
        cells.push(difference.column.into());
        cells.push(with_interval(&difference.base, 0.0));
        for other in &difference.others {
            match other {
                None => cells.extend(["–".to_owned(), "–".into(), "–".into()]),
                Some(other) => {
                    let size = difference.base.mean.abs().max(other.own.mean.abs());
                    cells.push(with_interval(&other.own, 0.0));
                    cells.push(with_interval(&other.change, size));
                    cells.push(other.percent.map_or_else(|| "–".into(), |p| format!("{p:+.1}")));
                }
            }
        }
        let kind = if same { RowKind::Part } else { RowKind::Method };
        rows.push(Row::new(cells, kind));
        before = place;
    }
    let first = names.first().map_or("the first", String::as_str);
    Grid { header, rows, numbers_from, dropped_first, notes: notes(found, first) }
}

/// Names and indexes of the parts of a row's place that a table shows: scenario and point only if
/// they differ between rows.
pub(crate) fn part_columns<T>(
    found: &[T],
    place: fn(&T) -> [&String; 4],
) -> Vec<(&'static str, usize)> {
    let several = |part: usize| found.windows(2).any(|p| place(&p[0])[part] != place(&p[1])[part]);
    let parts = ["scenario", "point", "method", "flow"].into_iter().enumerate();
    parts.filter(|&(part, _)| part > 1 || several(part)).map(|(part, name)| (name, part)).collect()
}

fn notes(found: &[Difference], first: &str) -> Vec<String> {
    let others = || found.iter().flat_map(|d| d.others.iter().flatten());
    let mut notes = vec![format!(
        "change: the value less that of {first}; ±: half width of its 95 % confidence interval, by \
         Student's t. Below three values a change has none."
    )];
    if others().any(|other| other.paired) {
        notes.push("Where both have the same seeds, the change is taken seed by seed.".into());
    }
    if others().any(|other| !other.paired) {
        notes.push(
            "Where they have no seed in common, the interval is Welch's for two means.".into(),
        );
    }
    notes
}

/// A mean with its interval, in digits that suit `size` and the mean itself.
pub(crate) fn with_interval(summary: &Summary, size: f64) -> String {
    let digits = match summary.mean.abs().max(size) {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v > 1.5 => 2,
        _ => 4,
    };
    let mean = summary.mean;
    match summary.ci95 {
        Some(half) => format!("{mean:.digits$} ± {half:.digits$}"),
        None => format!("{mean:.digits$}"),
    }
}

#[cfg(test)]
mod tests;
