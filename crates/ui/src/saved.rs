//! A folder of earlier results, in the form in which the page draws a simulation.

use justfull_report::export::{
    CDF_COLUMNS, COLUMNS, Column, FLOW_SERIES_COLUMNS, SERIES_COLUMNS, Table, Value as Cell,
};
use justfull_report::read::Saved;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Largest file that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// The rows of a file, by the names of its columns.
struct Rows {
    names: Vec<&'static str>,
    cells: Vec<Vec<Cell>>,
}

impl Rows {
    fn read<T: Table>(saved: &Saved, file: &str, columns: &[Column<T>]) -> Result<Self, String> {
        let entry = saved.manifest().files.iter().find(|entry| entry.path == file);
        if let Some(bytes) = entry.map(|entry| entry.bytes).filter(|bytes| *bytes > MOST_BYTES) {
            return Err(format!(
                "{file}: found {bytes} bytes, the page shows at most {MOST_BYTES}; `justfull plot` \
                 has no such bound"
            ));
        }
        let cells = saved.cells(file, columns).map_err(|e| e.to_string())?;
        Ok(Self { names: columns.iter().map(|column| column.name).collect(), cells })
    }

    fn count(&self) -> usize {
        self.cells.first().map_or(0, Vec::len)
    }

    fn at(&self, row: usize, name: &str) -> &Cell {
        let column = self.names.iter().position(|own| *own == name);
        column.map_or(&Cell::Absent, |column| &self.cells[column][row])
    }

    fn text(&self, row: usize, name: &str) -> &str {
        self.at(row, name).words().unwrap_or_default()
    }

    fn number(&self, row: usize, name: &str) -> Option<f64> {
        self.at(row, name).number()
    }

    /// Whose row it is: the point in words, the method and the seed.
    fn whose(&self, row: usize) -> Whose {
        let at = self.number(row, "x_value").map(|x| x.to_string()).unwrap_or_default();
        let point = match (self.text(row, "grid"), self.text(row, "x_name")) {
            ("", "") => self.text(row, "group").to_owned(),
            ("", name) => format!("{name} = {at}"),
            (grid, _) => grid.to_owned(),
        };
        let seed = self.number(row, "seed").unwrap_or_default() as u64;
        Whose { point, method: self.text(row, "method").to_owned(), seed }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Whose {
    point: String,
    method: String,
    seed: u64,
}

/// The run of `whose` in `runs`, which follow each other; a new one if there is none.
fn run_of<'a>(runs: &'a mut Vec<(Whose, Value)>, whose: Whose, last: &mut usize) -> &'a mut Value {
    if runs.get(*last).is_none_or(|(own, _)| *own != whose) {
        *last = runs.iter().position(|(own, _)| *own == whose).unwrap_or(runs.len());
    }
    if *last == runs.len() {
        let series = json!({ "queues": { "UPF": [], "SDAP": [], "RLC": [] }, "flows": [] });
        let run = json!({
            "point": whose.point, "method": whose.method, "seed": whose.seed, "flows": [],
            "series": series,
        });
        runs.push((whose, run));
    }
    &mut runs[*last].1
}

/// The runs of the folder of results at `path`.
///
/// # Errors
/// The folder is not the whole of one run, or too large for the page.
pub(crate) fn saved(path: &Path) -> Result<Value, String> {
    let saved = Saved::open(path).map_err(|e| e.to_string())?;
    let mut runs: Vec<(Whose, Value)> = Vec::new();
    let mut last = 0;
    let rows = Rows::read(&saved, "runs.csv", COLUMNS)?;
    for row in 0..rows.count() {
        let run = run_of(&mut runs, rows.whose(row), &mut last);
        push(&mut run["flows"], flow(&rows, row));
    }
    let cdf = Rows::read(&saved, "cdf.csv", CDF_COLUMNS)?;
    for row in (0..cdf.count()).filter(|row| cdf.text(*row, "quantity") == "delay") {
        let run = run_of(&mut runs, cdf.whose(row), &mut last);
        let point = json!([cdf.number(row, "time_ms"), cdf.number(row, "share")]);
        if let Some(flow) = named(&mut run["flows"], cdf.text(row, "of")) {
            push(&mut flow["delay"]["cdf"], point);
        }
    }
    let bins = Rows::read(&saved, "flow_series.csv", FLOW_SERIES_COLUMNS)?;
    for row in 0..bins.count() {
        let series = &mut run_of(&mut runs, bins.whose(row), &mut last)["series"];
        width(series, "flow_bin_s", bins.number(row, "time_s"));
        let name = bins.text(row, "flow");
        if named(&mut series["flows"], name).is_none() {
            let lists = json!({
                "name": name, "delay_ms": [], "delay_p90_ms": [], "goodput_mbit_s": [],
            });
            push(&mut series["flows"], lists);
        }
        let Some(flow) = named(&mut series["flows"], name) else { continue };
        for (list, column) in [
            ("delay_ms", "delay_ms_p50"),
            ("delay_p90_ms", "delay_ms_p90"),
            ("goodput_mbit_s", "goodput_mbit_s"),
        ] {
            push(&mut flow[list], json!(bins.number(row, column)));
        }
    }
    let cell = Rows::read(&saved, "series.csv", SERIES_COLUMNS)?;
    for row in 0..cell.count() {
        let series = &mut run_of(&mut runs, cell.whose(row), &mut last)["series"];
        width(series, "bin_s", cell.number(row, "time_s"));
        for (layer, column) in
            [("UPF", "upf_packets"), ("SDAP", "sdap_packets"), ("RLC", "rlc_packets")]
        {
            push(&mut series["queues"][layer], json!(cell.number(row, column)));
        }
    }
    Ok(json!({ "runs": runs.into_iter().map(|(_, run)| run).collect::<Vec<_>>() }))
}

fn flow(rows: &Rows, row: usize) -> Value {
    let times = |of: &str| {
        let mut found = Map::new();
        for statistic in ["mean", "p50", "p95", "p99", "max"] {
            let value = rows.number(row, &format!("{of}_ms_{statistic}"));
            found.extend(value.map(|value| (statistic.to_owned(), json!(value))));
        }
        Value::Object(found)
    };
    let number = |name| rows.number(row, name);
    let dropped = number("dropped_packets").unwrap_or_default();
    let all = number("delivered_packets").unwrap_or_default() + dropped;
    json!({
        "name": rows.text(row, "flow"),
        "goodput_mbit_s": number("goodput_mbit_s"),
        "drops_percent": 100.0 * dropped / all.max(1.0),
        "delay": times("delay"),
        "rtt": times("rtt"),
    })
}

/// Adds `value` to a list, which may be new.
fn push(list: &mut Value, value: Value) {
    match list {
        Value::Array(all) => all.push(value),
        other => *other = json!([value]),
    }
}

/// The entry with this name.
fn named<'a>(list: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    list.as_array_mut()?.iter_mut().find(|one| one["name"] == name)
}

/// Sets the width of bins: the start of the second bin.
fn width(series: &mut Value, key: &str, time: Option<f64>) {
    if series[key].is_null() && time.is_some_and(|time| time > 0.0) {
        series[key] = json!(time);
    }
}
