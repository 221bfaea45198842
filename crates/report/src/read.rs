//! Reads folders of results and the names of their columns.

mod key;
mod saved;
mod series;

pub(crate) use key::Key;
pub use saved::Saved;
pub use series::{OverTime, over_time_of};

use crate::ReportError;
use crate::export::folder::Manifest;
use crate::export::{COLUMNS, Column, Runs};
use csv::StringRecord;
use justfull_lab::model::setting_and_unit;
use justfull_lab::stats::Pool;
use justfull_scenario::near::{did_you_mean, near};
use key::{Wanted, Whose};
use serde::de::DeserializeSeed;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Columns that identify a row.
pub const OF_ROW: [&str; 8] =
    ["scenario", "group", "x_name", "x_value", "grid", "method", "seed", "flow"];

/// The reason why a folder cannot be read.
#[derive(Debug)]
pub struct Refused {
    path: PathBuf,
    why: String,
}

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

/// The column called `name`, or its alias: `delay.p99` is `delay_ms_p99`, `goodput` is
/// `goodput_mbit_s`.
#[must_use]
pub fn column(name: &str) -> Option<&'static Column<Runs>> {
    COLUMNS.iter().find(|column| column.name == name || alias(column) == name)
}

/// The short name of a column: without its unit, and with a point before its statistic.
#[must_use]
pub fn alias(column: &Column<Runs>) -> String {
    short(column.name)
}

/// Like [`alias`], from the column's name.
pub(crate) fn short(column: &str) -> String {
    for unit in ["_ms", "_mbit_s", "_percent", "_us", "_s"] {
        if let Some(stem) = column.strip_suffix(unit) {
            return stem.to_owned();
        }
        if let Some((stem, statistic)) = column.rsplit_once(&format!("{unit}_")) {
            return format!("{stem}.{statistic}");
        }
    }
    column.to_owned()
}

/// The column called `name`.
///
/// # Errors
/// There is no such column; the text names similar ones.
pub fn column_of(name: &str) -> Result<&'static Column<Runs>, ReportError> {
    column(name).ok_or_else(|| {
        let mut names: Vec<String> = COLUMNS.iter().map(alias).collect();
        names.extend(COLUMNS.iter().map(|column| column.name.to_owned()));
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("no column `{name}`{}", did_you_mean(&near(name, &known))).into()
    })
}

/// A row of a [`Folder`].
#[derive(Clone, Copy, Debug)]
pub struct FlowOfRun<'a> {
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Name of the method.
    pub method: &'a str,
    /// Name of the flow.
    pub flow: &'a str,
    /// By the names of the columns of `runs.csv`; a row without a value lacks its column.
    pub values: &'a Map<String, Value>,
}

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The name that the user gave.
    pub name: String,
    /// The command line that made it.
    pub command: String,
    /// The version of the program that made it.
    pub version: String,
    /// The scenario with all its settings, in TOML; may be several.
    pub scenario_toml: String,
    path: PathBuf,
    /// The results are of a paper's claims.
    claims: bool,
    order: Vec<Key>,
    /// The methods of all rows, also of rows that are not kept.
    methods: Vec<String>,
    rows: BTreeMap<Key, Vec<Map<String, Value>>>,
    /// The swept setting on the horizontal axis, if one was chosen.
    over: Option<String>,
}

impl Folder {
    /// Reads the folder at `path`: the columns that identify a row, and those called `columns`.
    ///
    /// # Errors
    /// The folder is not the whole of one run, is of an older format, or cannot be read.
    pub fn read(path: &Path, columns: &[&str]) -> Result<Self, Refused> {
        Self::of_manifest(path, Saved::open(path)?.manifest(), columns)
    }

    /// Like [`Folder::read`], of a folder with `manifest`, without a comparison of the two.
    pub(crate) fn of_manifest(
        path: &Path,
        manifest: &Manifest,
        columns: &[&str],
    ) -> Result<Self, Refused> {
        let file = path.join("runs.jsonl");
        let refused_file = |why: String| Refused { path: file.clone(), why };
        let lines = File::open(&file).map_err(|e| refused_file(e.to_string()))?;
        let claims = manifest.subject.kind == "reproduce";
        let mut found = Self {
            path: path.into(),
            claims,
            name: path.display().to_string(),
            command: manifest.origin.command.clone(),
            version: manifest.origin.version.clone(),
            scenario_toml: manifest.origin.scenario_toml.clone(),
            order: Vec::new(),
            methods: Vec::new(),
            rows: BTreeMap::new(),
            over: None,
        };
        let wanted: Vec<&str> = OF_ROW.into_iter().chain(columns.iter().copied()).collect();
        let (mut lines, mut line) = (BufReader::new(lines), String::new());
        for number in 1.. {
            line.clear();
            if lines.read_line(&mut line).map_err(|e| refused_file(e.to_string()))? == 0 {
                break;
            }
            let mut json = serde_json::Deserializer::from_str(&line);
            let row = Wanted(&wanted).deserialize(&mut json).and_then(|row| {
                json.end()?;
                Ok(row)
            });
            found.add(row.map_err(|e| refused_file(format!("line {number}: {e}")))?);
        }
        Ok(found)
    }

    /// A folder without rows, for results of another kind at `path`, made by `command`.
    /// [`Folder::add`] adds rows.
    #[must_use]
    pub fn empty(path: &Path, command: &str, version: &str) -> Self {
        Self {
            path: path.into(),
            claims: false,
            name: path.display().to_string(),
            command: command.into(),
            version: version.into(),
            scenario_toml: String::new(),
            order: Vec::new(),
            methods: Vec::new(),
            rows: BTreeMap::new(),
            over: None,
        }
    }

    /// Adds a row, keyed by the column names of `runs.csv`.
    pub fn add(&mut self, row: Map<String, Value>) {
        let key = Key::of(&row, self.claims);
        if !self.methods.contains(&key.method) {
            self.methods.push(key.method.clone());
        }
        let rows = self.rows.entry(key.clone()).or_default();
        let row = if rows.is_empty() {
            self.order.push(key);
            row
        } else {
            // The first row of a key holds its identity; later rows keep only values.
            let is_value = |name: &str| name == "seed" || !OF_ROW.contains(&name);
            row.into_iter().filter(|(name, _)| is_value(name)).collect()
        };
        rows.push(row);
    }

    /// Keeps the flows under `methods` and with the names `flows`; an empty list keeps all.
    ///
    /// # Errors
    /// One of the names is not in the folder; the text lists the names.
    pub fn keep(&mut self, methods: &[String], flows: &[String]) -> Result<(), Refused> {
        type Of = fn(&Key) -> &str;
        let method: Of = |key| &key.method;
        let flow: Of = |key| &key.flow;
        for (what, names, of) in [("method", methods, method), ("flow", flows, flow)] {
            if let Some(name) = names.iter().find(|&n| !self.order.iter().any(|key| of(key) == n)) {
                let why = format!("no {what} `{name}`; there is {}", self.names(of));
                return Err(Refused { path: self.name.clone().into(), why });
            }
            if !names.is_empty() {
                self.order.retain(|key| names.iter().any(|name| name == of(key)));
            }
        }
        Ok(())
    }

    /// The methods of the whole folder in the order of its rows; a report chooses their colours
    /// together.
    pub(crate) fn all_methods(&self) -> impl Iterator<Item = String> {
        self.methods.iter().cloned()
    }

    /// All rows, seed by seed.
    pub fn rows(&self) -> impl Iterator<Item = FlowOfRun<'_>> {
        let of = |key| self.rows.get(key).into_iter().flatten().map(move |row| (key, row));
        self.order.iter().flat_map(of).map(|(key, values)| FlowOfRun {
            scenario: &key.scenario,
            method: &key.method,
            flow: &key.flow,
            values,
        })
    }

    /// The names of the methods, in the order of the rows.
    #[must_use]
    pub fn methods(&self) -> Vec<String> {
        self.each(|key| &key.method)
    }

    /// The names of the flows, in the order of the rows.
    #[must_use]
    pub fn flows(&self) -> Vec<String> {
        self.each(|key| &key.flow)
    }

    /// The names of the scenarios, in the order of the rows.
    #[must_use]
    pub fn scenarios(&self) -> Vec<String> {
        self.each(|key| &key.scenario)
    }

    /// A copy with only the rows of the scenario called `name`.
    #[must_use]
    pub fn of_scenario(&self, name: &str) -> Self {
        let mut part = self.clone();
        part.order.retain(|key| key.scenario == name);
        part.rows.retain(|key, _| key.scenario == name);
        part
    }

    /// All names, each once.
    fn each(&self, of: fn(&Key) -> &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.order.iter().map(of) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Number of lines in a figure over the swept setting: methods at each point of the other
    /// settings.
    pub(crate) fn lines(&self) -> usize {
        let lines = self.order.iter().map(|key| (&key.scenario, &key.method, self.beside(key)));
        lines.collect::<std::collections::BTreeSet<_>>().len()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.order.iter()
    }

    /// The keys with the points of each scenario in ascending order of their settings; settings
    /// that are no numbers come after numbers, in the order of the rows.
    pub(crate) fn keys_by_point(&self) -> Vec<&Key> {
        let scenarios = self.scenarios();
        let place = |key: &Key| -> (usize, Vec<f64>) {
            let values = self.axes(key).into_iter();
            let at = values.map(|(_, value)| value.parse().unwrap_or(f64::INFINITY)).collect();
            (scenarios.iter().position(|name| *name == key.scenario).unwrap_or(0), at)
        };
        let mut keys: Vec<(usize, Vec<f64>, &Key)> = self
            .keys()
            .map(|key| {
                let (scenario, at) = place(key);
                (scenario, at, key)
            })
            .collect();
        keys.sort_by(|a, b| {
            let pairs = a.1.iter().zip(&b.1).map(|(a, b)| a.total_cmp(b));
            a.0.cmp(&b.0).then(pairs.fold(Ordering::Equal, Ordering::then))
        });
        keys.into_iter().map(|(_, _, key)| key).collect()
    }

    /// The flow that methods are judged by: the first that is marked as low-latency, or the first.
    pub(crate) fn judged_flow(&self) -> Option<String> {
        let low = self.rows().find(|row| row.values.get("low_latency").is_some_and(|v| v == true));
        low.or_else(|| self.rows().next()).map(|row| row.flow.to_owned())
    }

    pub(crate) fn has(&self, key: &Key) -> bool {
        self.order.contains(key)
    }

    /// The swept setting and its value at `key`; for a grid, the chosen setting.
    pub(crate) fn x(&self, key: &Key) -> Option<(String, f64)> {
        let row = self.rows.get(key)?.first()?;
        let Some(over) = &self.over else {
            return Some((row.get("x_name")?.as_str()?.to_owned(), row.get("x_value")?.as_f64()?));
        };
        let (name, value) = self.axes(key).into_iter().find(|(name, _)| name == over)?;
        Some((name, value.parse().ok()?))
    }

    /// All swept settings with their values at `key`.
    fn axes(&self, key: &Key) -> Vec<(String, String)> {
        let Some(row) = self.rows.get(key).and_then(|rows| rows.first()) else { return Vec::new() };
        let text = |name: &str| row.get(name).and_then(Value::as_str);
        let pair = |axis: &str| {
            axis.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        match (text("grid"), text("x_name"), row.get("x_value")) {
            (Some(grid), ..) => grid.split("; ").filter_map(pair).collect(),
            (None, Some(name), Some(value)) => vec![(name.to_owned(), value.to_string())],
            _ => Vec::new(),
        }
    }

    /// The swept settings other than [`Folder::x`] with their values at `key`; empty for a single
    /// setting.
    pub(crate) fn beside(&self, key: &Key) -> String {
        let across = self.x(key).map(|x| x.0);
        let others = self.axes(key).into_iter().filter(|(name, _)| Some(name) != across.as_ref());
        others.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    }

    /// The two settings of a grid of two, the chosen one first, with their values at `key`.
    pub(crate) fn pair(&self, key: &Key) -> Option<[(String, String); 2]> {
        let across = self.x(key)?.0;
        let (mut x, others): (Vec<_>, Vec<_>) =
            self.axes(key).into_iter().partition(|(name, _)| *name == across);
        let [other] = <[_; 1]>::try_from(others).ok()?;
        Some([x.pop()?, other])
    }

    /// Chooses the swept setting of the horizontal axis, by its name with or without the unit.
    ///
    /// # Errors
    /// The results sweep other settings; the text lists them.
    pub fn choose(&mut self, x: &str) -> Result<(), ReportError> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in self.order.iter().flat_map(|key| self.axes(key)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let is = |name: &&String| {
            name.strip_prefix(x).is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', ',']))
        };
        match names.iter().find(is) {
            Some(name) => self.over = Some(name.clone()),
            None => {
                let paths: Vec<&str> = names.iter().map(|name| setting_and_unit(name).0).collect();
                let swept = if names.is_empty() { "nothing".into() } else { paths.join(" and ") };
                let name = &self.name;
                return Err(format!(
                    "{name} sweeps {swept}, not {x}; --kind points takes a column"
                )
                .into());
            }
        }
        Ok(())
    }

    /// The swept setting, if there is one; the name ends in the unit.
    #[must_use]
    pub fn swept(&self) -> Option<String> {
        self.order.iter().find_map(|key| Some(self.x(key)?.0))
    }

    /// The distributions of `quantity` in `cdf.csv`: all runs of a flow together, each with the
    /// same weight.
    pub(crate) fn distributions(&self, quantity: &str) -> Result<BTreeMap<Key, Pool>, String> {
        let file = self.path.join("cdf.csv");
        let wrong = |why: &dyn Display| format!("{}: {why}", file.display());
        let mut reader = csv::Reader::from_path(&file).map_err(|e| wrong(&e))?;
        let header = reader.headers().map_err(|e| wrong(&e))?.clone();
        let place = |name: &str| header.iter().position(|field| field == name);
        let (Some(of_quantity), true) = (place("quantity"), header.iter().rev().take(2).eq(LAST))
        else {
            return Err(wrong(&"its columns are not those of this version"));
        };
        let mut there: Vec<String> = Vec::new();
        let mut found: BTreeMap<Key, Pool> = BTreeMap::new();
        // The points of a distribution are adjacent; its row is the first of them.
        let (mut first, mut points) = (StringRecord::new(), Vec::new());
        let mut add = |row: &StringRecord, points: &mut Vec<(f64, f64)>| {
            if !points.is_empty() {
                let row: Whose = row.deserialize(Some(&header)).map_err(|e| wrong(&e))?;
                found.entry(Key::new(row, self.claims)).or_default().add(1, points);
                points.clear();
            }
            Ok::<(), String>(())
        };
        let mut row = StringRecord::new();
        while reader.read_record(&mut row).map_err(|e| wrong(&e))? {
            let name = row.get(of_quantity).unwrap_or_default();
            if name != quantity {
                if !there.iter().any(|known| known == name) {
                    there.push(name.to_owned());
                }
                continue;
            }
            let number = |back: usize| -> Result<f64, String> {
                let text = row.get(row.len() - back).unwrap_or_default();
                text.parse().map_err(|_| wrong(&format!("`{text}` is no number")))
            };
            let point = (number(2)?, number(1)?);
            if !is_of(&row, &first) {
                add(&first, &mut points)?;
                first.clone_from(&row);
            }
            points.push(point);
        }
        add(&first, &mut points)?;
        if found.is_empty() {
            return Err(wrong(&format!("no `{quantity}`; there is {}", there.join(", "))));
        }
        Ok(found)
    }

    /// The column's values by seed, over runs that have the column.
    pub(crate) fn values(&self, key: &Key, column: &str) -> Vec<(u64, f64)> {
        let rows = self.rows.get(key).into_iter().flatten();
        rows.filter_map(|row| Some((row.get("seed")?.as_u64()?, row.get(column)?.as_f64()?)))
            .collect()
    }

    /// Scenarios, methods and flows of the folder.
    pub(crate) fn in_words(&self) -> String {
        if self.rows.is_empty() {
            return format!("{} has no finished run", self.name);
        }
        format!(
            "{} has {}, of {}, under {}",
            self.name,
            self.names(|key| &key.flow),
            self.names(|key| &key.scenario),
            self.names(|key| &key.method)
        )
    }

    /// The points of a sweep; of results without one, an empty text.
    pub(crate) fn points(&self) -> Vec<String> {
        self.each(|key| &key.point)
    }

    fn names(&self, of: fn(&Key) -> &str) -> String {
        self.each(of).join(", ")
    }
}

/// The last columns of `cdf.csv`, from the end.
const LAST: [&str; 2] = ["share", "time_ms"];

/// True if two rows of `cdf.csv` are points of one distribution: all cells but the point are equal.
fn is_of(row: &StringRecord, other: &StringRecord) -> bool {
    let head = row.len().saturating_sub(LAST.len());
    row.len() == other.len() && row.iter().zip(other).take(head).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::testing::folder;
    use super::*;
    use std::fs;

    /// The error for a folder whose manifest contains `change`.
    fn said(change: impl Fn(&mut Map<String, Value>)) -> String {
        let room = tempfile::tempdir().expect("a folder");
        let path = room.path().join("r");
        folder(&path, "", &[], None);
        let at = path.join(crate::export::folder::MANIFEST);
        let text = fs::read_to_string(&at).expect("it is there");
        let mut manifest = serde_json::from_str(&text).expect("an object");
        change(&mut manifest);
        fs::write(&at, serde_json::to_string(&manifest).expect("JSON")).expect("it is written");
        let read = Folder::read(&path, &[]);
        read.map_or_else(|e| e.to_string(), |_| "read".into())
            .replace(&*path.to_string_lossy(), "r")
    }

    #[test]
    fn folders_of_other_versions_are_refused_by_name() {
        assert_eq!(said(|_| {}), "read");
        assert_eq!(
            said(|m| {
                m.insert("schema".into(), (crate::export::SCHEMA + 1).into());
            }),
            "r: manifest.json: its schema is 2, of a later version; this one reads 1: read it \
             with that version"
        );
        let first = said(|m| {
            m.remove("schema");
        });
        assert_eq!(first, "read", "1 was not written down");
        let later = said(|m| {
            m.insert("format".into(), 2.into());
        });
        assert_eq!(
            later,
            "r: manifest.json: its format is 2, of a later version; this one reads 1: read it with \
             that version"
        );

        let room = tempfile::tempdir().expect("a folder");
        fs::write(room.path().join("result.json"), "{}").expect("it is written");
        let older = Folder::read(room.path(), &[]).expect_err("no manifest").to_string();
        assert!(older.contains("of an older version, which wrote no manifest.json"), "{older}");
        assert!(older.ends_with("; make the results again"), "{older}");
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::Folder;
    use crate::export::ResultsFolder;
    use crate::export::folder::{Origin, Subject};
    use std::path::Path;

    /// A folder of results with these rows of `runs.jsonl` and this `cdf.csv`, in the form that a
    /// run writes.
    pub(crate) fn folder(path: &Path, toml: &str, rows: &[String], cdf: Option<&str>) -> Folder {
        let cdf: Vec<(&str, &str)> = cdf.map(|cdf| ("cdf.csv", cdf)).into_iter().collect();
        folder_with(path, toml, rows, &cdf)
    }

    /// Like [`folder`], with these further files.
    pub(crate) fn folder_with(
        path: &Path,
        toml: &str,
        rows: &[String],
        files: &[(&str, &str)],
    ) -> Folder {
        let subject = Subject { kind: "run".into(), scenario: "s".into() };
        let (mut folder, _) =
            ResultsFolder::open(path, subject, false, &mut || {}).expect("a new folder");
        let mut write = |name: &str, text: &str| {
            folder.write(name, |out| out.write_all(text.as_bytes())).expect("it is written");
        };
        write("runs.jsonl", &rows.iter().map(|row| format!("{row}\n")).collect::<String>());
        files.iter().for_each(|(name, text)| write(name, text));
        let origin = Origin { scenario_toml: toml.into(), ..Origin::default() };
        folder.publish(origin).expect("it is published");
        let columns: Vec<&str> = crate::export::COLUMNS.iter().map(|c| c.name).collect();
        Folder::read(path, &columns).expect("it is complete")
    }
}
