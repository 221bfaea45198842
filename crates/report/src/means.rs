//! Means of the runs of each method with their intervals, or differences to one method: a table for
//! any number of scenarios, points, methods and flows.

use crate::ReportError;
use crate::difference::{part_columns, with_interval};
use crate::export::{Column, Runs};
use crate::read::Folder;
use crate::table::{Grid, Row, RowKind};
use crate::words;
use justfull_lab::stats::{Summary, paired_difference};
use serde::Serialize;

/// The means of a flow under a method at a point.
#[derive(Clone, Debug, Serialize)]
pub struct Means {
    /// Name of the scenario.
    pub scenario: String,
    /// The swept setting and its value; empty without a sweep.
    pub point: String,
    /// Name of the method.
    pub method: String,
    /// Name of the flow.
    pub flow: String,
    /// Mean of each column; none if no run has the column.
    pub columns: Vec<Option<Summary>>,
}

/// The means of `columns` for all flows that `folder` keeps, by ascending points. With a method's
/// name in `against`, the means of the differences to this method, seed by seed.
///
/// # Errors
/// There is no such method; the text lists the methods.
pub fn means(
    folder: &Folder,
    columns: &[&'static Column<Runs>],
    against: Option<&str>,
) -> Result<Vec<Means>, ReportError> {
    let methods: Vec<&str> = folder.keys().map(|key| &*key.method).collect();
    if let Some(base) = against.filter(|base| !methods.contains(base)) {
        return Err(format!("no method `{base}`; {}", folder.in_words()).into());
    }
    let keys = folder.keys_by_point().into_iter();
    let keys = keys.filter(|key| Some(&*key.method) != against);
    Ok(keys
        .map(|key| {
            let base = against.map(|method| key.under(method));
            let of = |column: &&'static Column<Runs>| {
                let values = folder.values(key, column.name);
                match &base {
                    Some(base) => paired_difference(&values, &folder.values(base, column.name)),
                    None => Summary::of(&values.iter().map(|v| v.1).collect::<Vec<f64>>()),
                }
            };
            Means {
                scenario: key.scenario.clone(),
                point: key.point.clone(),
                method: key.method.clone(),
                flow: key.flow.clone(),
                columns: columns.iter().map(of).collect(),
            }
        })
        .collect())
}

/// `found` as a table; `columns` and `against` are the arguments of [`means`].
#[must_use]
pub fn table(found: &[Means], columns: &[&'static Column<Runs>], against: Option<&str>) -> Grid {
    let parts = part_columns(found, |m| [&m.scenario, &m.point, &m.method, &m.flow]);
    let mut header: Vec<String> = parts.iter().map(|&(name, _)| name.to_owned()).collect();
    let numbers_from = header.len();
    header.push("n".into());
    header.extend(columns.iter().map(|column| words::heading(column)));
    let rows = found.iter().map(|means| {
        let point = words::of_path(&means.point);
        let place = [&means.scenario, &point, &means.method, &means.flow];
        let mut cells: Vec<String> = parts.iter().map(|&(_, part)| place[part].clone()).collect();
        let n = means.columns.iter().flatten().map(|summary| summary.n).max();
        cells.push(n.unwrap_or(0).to_string());
        let cell = |summary: &Option<Summary>| {
            summary.as_ref().map_or_else(|| "–".into(), |summary| with_interval(summary, 0.0))
        };
        cells.extend(means.columns.iter().map(cell));
        Row::new(cells, RowKind::Method)
    });
    let mut notes = vec![
        "±: half width of the 95 % confidence interval of the mean, by Student's t; below three \
         values there is none."
            .to_owned(),
    ];
    if let Some(method) = against {
        notes.push(format!("All values are differences to {method}, taken seed by seed."));
    }
    Grid { dropped_first: Vec::new(), header, rows: rows.collect(), numbers_from, notes }
}
