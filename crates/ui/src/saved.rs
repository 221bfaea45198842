//! Converts a folder of earlier results, or the dataset of a campaign, to the JSON of a simulation
//! for the page.

use justfull_campaign::earlier;
use justfull_lab::model::of_value;
use justfull_report::export::{
    CDF_COLUMNS, COLUMNS, Column, FLOW_SERIES_COLUMNS, SERIES_COLUMNS, Table, Value as Cell,
};
use justfull_report::read::{OF_ROW, Saved};
use justfull_report::words;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Largest file that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// The rows of a table, by the names of its columns.
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

    /// The rows of the dataset at `path`.
    fn of_dataset(path: &Path) -> Result<Self, String> {
        let wanted = COLUMNS
            .iter()
            .map(|column| column.name)
            .filter(|name| OF_ROW.contains(name) || OF_FLOW.contains(name) || of_times(name));
        let names: Vec<&'static str> = wanted.collect();
        let rows = earlier::rows(path, &names).map_err(|e| e.to_string())?;
        let cell = |row: &earlier::Row, name: &str| match row.get(name) {
            Some(Value::String(text)) => Cell::Text(text.clone()),
            Some(Value::Number(number)) => number.as_f64().into(),
            _ => Cell::Absent,
        };
        let cells = names.iter().map(|name| rows.iter().map(|row| cell(row, name)).collect());
        Ok(Self { cells: cells.collect(), names })
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

    /// The run of the row.
    fn whose(&self, row: usize) -> Whose {
        let at = self.number(row, "x_value").map(|x| x.to_string()).unwrap_or_default();
        let (label, settings) = match (self.text(row, "grid"), self.text(row, "x_name")) {
            ("", "") => (self.text(row, "group").to_owned(), String::new()),
            ("", name) => (of_value(name, &at), format!("{name}={at}")),
            (grid, _) => (words::of_path(grid), grid.to_owned()),
        };
        let scenario = self.text(row, "scenario").to_owned();
        let seed = self.number(row, "seed").unwrap_or_default() as u64;
        Whose { scenario, label, settings, method: self.text(row, "method").to_owned(), seed }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Whose {
    scenario: String,
    /// The point of the sweep in words.
    label: String,
    /// The swept settings: `a=1; b=2`.
    settings: String,
    method: String,
    seed: u64,
}

/// Values with names, in the order of their insertion.
#[derive(Default)]
struct Named {
    places: BTreeMap<String, usize>,
    values: Vec<Value>,
}

impl Named {
    fn add(&mut self, name: &str, value: Value) {
        self.places.entry(name.to_owned()).or_insert(self.values.len());
        self.values.push(value);
    }

    fn get(&mut self, name: &str) -> Option<&mut Value> {
        self.places.get(name).map(|at| &mut self.values[*at])
    }
}

/// The data of a run for the page.
#[derive(Default)]
struct Run {
    flows: Named,
    series: Named,
    queues: [Vec<Value>; 3],
    /// Width of the bins of the cell and of flows, in s.
    bin_s: Option<f64>,
    flow_bin_s: Option<f64>,
}

/// Layers with their columns.
const LAYERS: [(&str, &str); 3] =
    [("UPF", "upf_packets"), ("SDAP", "sdap_packets"), ("RLC", "rlc_packets")];

impl Run {
    /// `scenario` is empty if all runs have the same one.
    fn json(self, whose: &Whose, scenario: &str) -> Value {
        let queues: Map<String, Value> = LAYERS
            .iter()
            .zip(self.queues)
            .map(|((layer, _), values)| ((*layer).to_owned(), Value::Array(values)))
            .collect();
        let settings: Vec<(&str, &str)> = settings(&whose.settings).collect();
        let words = [scenario, &whose.label].into_iter().filter(|words| !words.is_empty());
        json!({
            "point": words.collect::<Vec<_>>().join(": "), "scenario": scenario,
            "settings": settings, "method": whose.method, "seed": whose.seed,
            "flows": self.flows.values,
            "series": {
                "queues": queues, "flows": self.series.values,
                "bin_s": self.bin_s, "flow_bin_s": self.flow_bin_s,
            },
        })
    }

    /// Adds a bin of a flow.
    fn bin(&mut self, bins: &Rows, row: usize) {
        width(&mut self.flow_bin_s, bins.number(row, "time_s"));
        let name = bins.text(row, "flow");
        if self.series.get(name).is_none() {
            let lists = json!({
                "name": name, "delay_ms": [], "delay_p90_ms": [], "goodput_mbit_s": [],
            });
            self.series.add(name, lists);
        }
        let Some(flow) = self.series.get(name) else { return };
        for (list, column) in [
            ("delay_ms", "delay_ms_p50"),
            ("delay_p90_ms", "delay_ms_p90"),
            ("goodput_mbit_s", "goodput_mbit_s"),
        ] {
            push(&mut flow[list], json!(bins.number(row, column)));
        }
    }
}

/// The names and values of `a=1; b=2`.
fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("; ").filter_map(|one| one.split_once('='))
}

/// All runs in the order of their insertion.
#[derive(Default)]
struct Runs {
    places: BTreeMap<Whose, usize>,
    all: Vec<(Whose, Run)>,
}

impl Runs {
    fn of(&mut self, whose: Whose) -> &mut Run {
        let at = *self.places.entry(whose.clone()).or_insert(self.all.len());
        if at == self.all.len() {
            self.all.push((whose, Run::default()));
        }
        &mut self.all[at].1
    }

    fn json(self) -> Value {
        let first = self.all.first().map(|(whose, _)| whose.scenario.clone()).unwrap_or_default();
        let several = self.all.iter().any(|(whose, _)| whose.scenario != first);
        let (mut runs, mut names) = (Vec::new(), BTreeMap::new());
        for (whose, run) in self.all {
            for (name, value) in settings(&whose.settings) {
                names.insert(name.to_owned(), words::of_setting(name));
                names.insert(format!("{name}={value}"), of_value(name, value));
            }
            runs.push(run.json(&whose, if several { &whose.scenario } else { "" }));
        }
        json!({ "runs": runs, "words": names })
    }
}

/// The runs of the folder of results, or of the dataset, at `path`.
///
/// # Errors
/// The folder is not the whole of one run, or too large for the page.
pub(crate) fn saved(path: &Path) -> Result<Value, String> {
    let mut runs = Runs::default();
    let mut take = |rows: &Rows| {
        for row in 0..rows.count() {
            runs.of(rows.whose(row)).flows.add(rows.text(row, "flow"), flow(rows, row));
        }
    };
    if earlier::is_dataset(path) {
        take(&Rows::of_dataset(path)?);
        return Ok(runs.json());
    }
    let saved = Saved::open(path).map_err(|e| e.to_string())?;
    take(&Rows::read(&saved, "runs.csv", COLUMNS)?);
    let cdf = Rows::read(&saved, "cdf.csv", CDF_COLUMNS)?;
    for row in (0..cdf.count()).filter(|row| cdf.text(*row, "quantity") == "delay") {
        let point = json!([cdf.number(row, "time_ms"), cdf.number(row, "share")]);
        if let Some(flow) = runs.of(cdf.whose(row)).flows.get(cdf.text(row, "of")) {
            push(&mut flow["delay"]["cdf"], point);
        }
    }
    let bins = Rows::read(&saved, "flow_series.csv", FLOW_SERIES_COLUMNS)?;
    for row in 0..bins.count() {
        runs.of(bins.whose(row)).bin(&bins, row);
    }
    let cell = Rows::read(&saved, "series.csv", SERIES_COLUMNS)?;
    for row in 0..cell.count() {
        let run = runs.of(cell.whose(row));
        width(&mut run.bin_s, cell.number(row, "time_s"));
        for ((_, column), queue) in LAYERS.iter().zip(&mut run.queues) {
            queue.push(json!(cell.number(row, column)));
        }
    }
    Ok(runs.json())
}

/// Columns of `runs.csv` about a flow that the page shows.
const OF_FLOW: [&str; 3] = ["goodput_mbit_s", "dropped_packets", "delivered_packets"];
/// Times whose statistics the page shows.
const TIMES: [&str; 2] = ["delay", "rtt"];
const STATISTICS: [&str; 5] = ["mean", "p50", "p95", "p99", "max"];

/// True for the column of a shown statistic.
fn of_times(column: &str) -> bool {
    column.split_once("_ms_").is_some_and(|(of, s)| TIMES.contains(&of) && STATISTICS.contains(&s))
}

fn flow(rows: &Rows, row: usize) -> Value {
    let times = |of: &str| {
        let mut found = Map::new();
        for statistic in STATISTICS {
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

/// Sets the width of bins, in s, from the start of the second bin.
fn width(of: &mut Option<f64>, time: Option<f64>) {
    *of = of.or(time.filter(|time| *time > 0.0));
}
