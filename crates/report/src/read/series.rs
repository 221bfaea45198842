//! Quantities over time, from `flow_series.csv` and `series.csv`.

use super::{Folder, Key, Whose, short};
use crate::ReportError;
use crate::export::{Column, FLOW_SERIES_COLUMNS, SERIES_COLUMNS, Table};
use csv::StringRecord;
use justfull_scenario::near::{did_you_mean, near};
use std::collections::BTreeMap;
use std::fmt::Display;

/// A column over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverTime {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Each flow has its own values; else the cell has them.
    pub of_flow: bool,
}

/// The lines of a quantity: times and values of the bins; a bin without a value is not a number.
pub(crate) type Lines = BTreeMap<Key, Vec<(f64, f64)>>;

/// A running mean; not a number without a value.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn value(self) -> f64 {
        self.sum / self.count
    }
}

impl OverTime {
    fn all() -> Vec<Self> {
        fn of<T: Table>(columns: &'static [Column<T>], of_flow: bool) -> Vec<OverTime> {
            let after = columns.iter().position(|column| column.name == "time_s");
            let own = &columns[after.map_or(0, |at| at + 1)..];
            let one = |c: &'static Column<T>| OverTime { name: c.name, unit: c.unit, of_flow };
            own.iter().map(one).collect()
        }
        [of(FLOW_SERIES_COLUMNS, true), of(SERIES_COLUMNS, false)].concat()
    }
}

/// The quantity over time called `name`: a column of `flow_series.csv` or `series.csv`, by its name
/// or short name; `delay` is the median.
///
/// # Errors
/// There is no such column; the text names similar ones.
pub fn over_time_of(name: &str) -> Result<OverTime, ReportError> {
    let wanted = if name == "delay" { "delay.p50" } else { name };
    let all = OverTime::all();
    let found = all.iter().find(|one| one.name == wanted || short(one.name) == wanted);
    found.copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|one| short(one.name)).collect();
        let mut known: Vec<&str> = names.iter().map(String::as_str).collect();
        known.insert(0, "delay");
        let hint = match near(name, &known) {
            close if close.is_empty() => format!("; there is {}", known.join(", ")),
            close => did_you_mean(&close),
        };
        format!("no quantity `{name}` over time{hint}").into()
    })
}

impl Folder {
    /// Keeps the rows of the first flow under each method and at each point.
    pub(crate) fn keep_first_flow(&mut self) {
        let mut seen: Vec<Key> = Vec::new();
        self.order.retain(|key| {
            let own = key.in_layer("");
            let is_first = !seen.contains(&own);
            seen.push(own);
            is_first
        });
    }

    /// The lines of `what`: of the runs with `seed`, or without a seed the means over all runs that
    /// have a value.
    pub(crate) fn over_time(&self, what: OverTime, seed: Option<u64>) -> Result<Lines, String> {
        let file = self.path.join(if what.of_flow { "flow_series.csv" } else { "series.csv" });
        let wrong = |why: &dyn Display| format!("{}: {why}", file.display());
        let mut reader = csv::Reader::from_path(&file).map_err(|e| wrong(&e))?;
        let header = reader.headers().map_err(|e| wrong(&e))?.clone();
        let place = |name: &str| {
            let found = header.iter().position(|field| field == name);
            found.ok_or_else(|| wrong(&"its columns are not those of this version"))
        };
        let (of_seed, time, value) = (place("seed")?, place("time_s")?, place(what.name)?);
        let mut seeds: Vec<u64> = Vec::new();
        // Times are not negative, so their bits sort like their values.
        let mut found: BTreeMap<Key, BTreeMap<u64, Mean>> = BTreeMap::new();
        let mut row = StringRecord::new();
        while reader.read_record(&mut row).map_err(|e| wrong(&e))? {
            let number = |at: usize| -> Result<f64, String> {
                let text = row.get(at).unwrap_or_default();
                text.parse().map_err(|_| wrong(&format!("`{text}` is no number")))
            };
            let own: u64 = row.get(of_seed).and_then(|text| text.parse().ok()).unwrap_or_default();
            if !seeds.contains(&own) {
                seeds.push(own);
            }
            if seed.is_some_and(|seed| seed != own) {
                continue;
            }
            let whose: Whose = row.deserialize(Some(&header)).map_err(|e| wrong(&e))?;
            let line = found.entry(Key::new(whose, self.claims)).or_default();
            let bin = line.entry(number(time)?.to_bits()).or_default();
            if !row[value].is_empty() {
                bin.add(number(value)?);
            }
        }
        match seed {
            Some(seed) if found.is_empty() && !seeds.is_empty() => {
                let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
                Err(wrong(&format!("no seed {seed}; there is {}", seeds.join(", "))))
            }
            _ => {
                let point = |(time, bin): (u64, Mean)| (f64::from_bits(time), bin.value());
                let line = |bins: BTreeMap<u64, Mean>| bins.into_iter().map(point).collect();
                Ok(found.into_iter().map(|(key, bins)| (key, line(bins))).collect())
            }
        }
    }
}
