//! Earlier runs: the folders of results below a place, each with its settings and chief figures.
//! `justfull_campaign::earlier` reads the datasets of campaigns.
//!
//! The files of a folder are not compared with its manifest, as `justfull check` does: a list of
//! many folders would read all of them.

use crate::export::folder::{self, MANIFEST, Manifest};
use crate::read::Folder;
use crate::table::{Grid, Row, RowKind};
use justfull_lab::stats::Summary;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The file that marks a folder as the dataset of a campaign.
pub const CAMPAIGN: &str = "campaign.json";
/// The file to which each part of a dataset adds a line.
pub const LEDGER: &str = "ledger.jsonl";

/// Folders that a search enters below a place, and how deep they may lie.
const MOST_FOLDERS: usize = 10_000;
const DEEPEST: usize = 4;
/// Largest `runs.jsonl` from which figures are made, in bytes.
const MOST_BYTES: u64 = 64 << 20;
/// Columns of rows that the figures need.
pub const COLUMNS: [&str; 4] = ["duration_s", "low_latency", "delay_ms_p99", "goodput_mbit_s"];
/// Options of a command whose values are settings.
const OPTIONS: [&str; 2] = ["--set", "--grid"];

/// A folder of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Earlier {
    /// Its path.
    #[serde(serialize_with = "displayed")]
    pub folder: PathBuf,
    /// When it was written, in UTC: `2026-03-01T12:30:00Z`.
    pub written: String,
    /// The subcommand that made it; empty if the manifest cannot be read.
    pub kind: String,
    /// Names of the scenarios, or of a paper or a TCP control.
    pub scenario: String,
    /// The command line.
    pub command: String,
    /// The version of the program.
    pub version: String,
    /// Methods in the order of their runs.
    pub methods: Vec<String>,
    /// Seeds, ascending.
    pub seeds: Vec<u64>,
    /// Longest time of a run.
    pub duration_s: Option<f64>,
    /// Values of `--set` and `--grid` in the command.
    pub settings: Vec<String>,
    /// The flow of the delays: the first with low latency, else the first.
    pub flow: Option<String>,
    /// The figures of each method; none for results of several scenarios.
    pub figures: Vec<Figures>,
    /// The reason why something is missing here.
    pub problem: Option<String>,
}

/// A path as text, whatever its bytes.
fn displayed<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// The chief figures of a method: means over its seeds and the points of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Its name.
    pub method: String,
    /// 99th percentile of the delay of [`Earlier::flow`].
    pub delay_ms_p99: Option<f64>,
    /// Goodput of all flows together.
    pub goodput_mbit_s: Option<f64>,
}

/// The folders of results and the datasets at `places` and below them, each once, the latest first.
/// Links below a place are not followed.
///
/// # Errors
/// A place cannot be read.
pub fn folders(places: &[PathBuf]) -> Result<Vec<PathBuf>, (&Path, io::Error)> {
    let (mut found, mut left) = (Vec::new(), MOST_FOLDERS);
    for place in places {
        find(place, 0, &mut left, &mut found).map_err(|error| (place.as_path(), error))?;
    }
    found.sort();
    found.dedup();
    // Keeps the order of names among folders of one second.
    found.sort_by_cached_key(|folder| Reverse(written(folder)));
    Ok(found)
}

/// When the folder was written.
fn written(folder: &Path) -> String {
    let written = |name| fs::symlink_metadata(folder.join(name)).and_then(|file| file.modified());
    [MANIFEST, LEDGER].into_iter().find_map(|name| written(name).ok()).map(utc).unwrap_or_default()
}

/// True if the folder holds the results of a run, or a dataset.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    is_run(path) || is_file(&path.join(CAMPAIGN))
}

/// True if the folder holds the results of a run.
#[must_use]
pub fn is_run(path: &Path) -> bool {
    is_file(&path.join(MANIFEST))
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Adds the folders of results at `place` and below to `found`; enters `left` folders at most.
fn find(place: &Path, depth: usize, left: &mut usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if is_folder(place) {
        found.push(place.into());
        return Ok(());
    }
    let entries = fs::read_dir(place)?;
    if depth == DEEPEST {
        return Ok(());
    }
    let is_shown = |entry: &fs::DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".");
    let folders = entries
        .flatten()
        .filter(|entry| is_shown(entry) && entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        let Some(rest) = left.checked_sub(1) else { break };
        *left = rest;
        // A folder of another user is not of interest here.
        let _closed = find(&folder, depth + 1, left, found);
    }
    Ok(())
}

impl Earlier {
    /// Reads the folder of a run at `path`.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let own = Self::at(path);
        let manifest = match folder::manifest(path) {
            Ok(manifest) => manifest,
            Err(why) => return Self { problem: Some(why), ..own },
        };
        let own = Self {
            kind: manifest.subject.kind.clone(),
            scenario: manifest.subject.scenario.clone(),
            command: manifest.origin.command.clone(),
            version: manifest.origin.version.clone(),
            seeds: manifest.origin.seeds.clone(),
            settings: settings(&manifest.origin.command),
            ..own
        };
        match rows(path, &manifest) {
            Ok(rows) => own.with(&rows),
            Err(why) => Self { problem: Some(why), ..own },
        }
    }

    /// An empty entry for the folder at `path`.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { folder: path.into(), written: written(path), ..Self::default() }
    }

    /// The same with the methods and figures of `rows`.
    #[must_use]
    pub fn with(self, rows: &Folder) -> Self {
        let durations = rows.rows().filter_map(|row| row.values.get("duration_s")?.as_f64());
        let duration_s = durations.reduce(f64::max);
        let flow = rows.judged_flow();
        let methods = rows.methods();
        let one = rows.scenarios().len() < 2;
        let figures = methods.iter().filter(|_| one).map(|method| {
            let flow = flow.as_deref().unwrap_or_default();
            Figures {
                method: method.clone(),
                delay_ms_p99: delay(rows, method, flow),
                goodput_mbit_s: goodput(rows, method),
            }
        });
        Self { figures: figures.collect(), methods, duration_s, flow, ..self }
    }

    /// The methods with the least and the greatest delay.
    fn ends(&self) -> Option<[(&str, f64); 2]> {
        let delay = |figures: &Figures| figures.delay_ms_p99.filter(|delay| delay.is_finite());
        let mut all: Vec<(&str, f64)> =
            self.figures.iter().filter_map(|of| Some((of.method.as_str(), delay(of)?))).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        Some([*all.first()?, *all.last()?])
    }
}

/// The rows of the folder at `path`.
fn rows(path: &Path, manifest: &Manifest) -> Result<Folder, String> {
    manifest.readable()?;
    let file = path.join("runs.jsonl");
    match fs::symlink_metadata(&file) {
        Ok(found) if !found.is_file() => Err("runs.jsonl is not a regular file".into()),
        Ok(found) if found.len() > MOST_BYTES => {
            Err(format!("runs.jsonl has {} bytes, read here are {MOST_BYTES}", found.len()))
        }
        Ok(_) => Folder::of_manifest(path, manifest, &COLUMNS).map_err(|e| e.to_string()),
        // Results without runs, such as pages.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Folder::empty(path, &manifest.origin.command, &manifest.origin.version))
        }
        Err(error) => Err(format!("runs.jsonl: {error}")),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    Some(Summary::of(&values.collect::<Vec<f64>>())?.mean)
}

/// Mean 99th percentile of the delay of `flow` under `method`.
fn delay(rows: &Folder, method: &str, flow: &str) -> Option<f64> {
    let keys = rows.keys().filter(|key| key.method == method && key.flow == flow);
    mean(keys.flat_map(|key| rows.values(key, "delay_ms_p99")).map(|(_, value)| value))
}

/// Mean over runs of the goodput of all flows under `method`.
fn goodput(rows: &Folder, method: &str) -> Option<f64> {
    let mut of_runs: BTreeMap<(&str, u64), f64> = BTreeMap::new();
    for key in rows.keys().filter(|key| key.method == method) {
        for (seed, value) in rows.values(key, "goodput_mbit_s") {
            *of_runs.entry((&key.point, seed)).or_default() += value;
        }
    }
    mean(of_runs.into_values())
}

/// Values of [`OPTIONS`] in a command line of this program.
fn settings(command: &str) -> Vec<String> {
    let mut words = words(command).into_iter();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        match OPTIONS.iter().find_map(|option| word.strip_prefix(option)) {
            Some("") => found.extend(words.next()),
            Some(rest) => found.extend(rest.strip_prefix('=').map(str::to_owned)),
            None => {}
        }
    }
    found
}

/// The words of a command line; a word with blanks stands between quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = command.trim();
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('\'').and_then(|inner| {
            let end =
                inner.find("' ").or_else(|| inner.ends_with('\'').then(|| inner.len() - 1))?;
            Some((&inner[..end], &inner[end + 1..]))
        });
        let (word, after) = quoted.unwrap_or_else(|| rest.split_once(' ').unwrap_or((rest, "")));
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// The last second of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// A time in UTC, as RFC 3339 writes it, at most the last second of the year 9999.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let seconds = seconds.min(LAST_SECOND);
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", days + 1)
}

/// The list as JSON, for programs.
#[must_use]
pub fn json(runs: &[Earlier]) -> String {
    // Serialization fails only for maps whose keys are not strings.
    serde_json::to_string_pretty(runs).unwrap_or_default()
}

/// The list for people.
#[must_use]
pub fn table(runs: &[Earlier]) -> Grid {
    const HEADER: [&str; 9] = [
        "folder",
        "written, UTC",
        "scenario",
        "seeds",
        "time, s",
        "least\np99, ms",
        "greatest\np99, ms",
        "goodput,\nMbit/s",
        "methods",
    ];
    let mut grid = Grid {
        dropped_first: Vec::new(),
        header: HEADER.map(str::to_owned).to_vec(),
        rows: runs.iter().map(row).collect(),
        numbers_from: 3,
        notes: Vec::new(),
    };
    if runs.iter().any(|run| !run.figures.is_empty()) {
        grid.notes.push(
            "p99: 99th percentile of the delay of the first flow with low latency, of the methods \
             with the least and the greatest; goodput: all flows together, from the least to the \
             greatest of the methods. Means over seeds and points of a sweep."
                .into(),
        );
    }
    grid
}

fn row(run: &Earlier) -> Row {
    let number = |value: f64| match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    };
    let none = || "–".to_owned();
    let delay = |end: usize| {
        let ends = run.ends().filter(|[least, most]| end == 0 || least.0 != most.0);
        ends.map_or_else(none, |ends| format!("{} {}", number(ends[end].1), ends[end].0))
    };
    let goodputs = run.figures.iter().filter_map(|figures| figures.goodput_mbit_s);
    let goodput = match (goodputs.clone().reduce(f64::min), goodputs.reduce(f64::max)) {
        (Some(least), Some(most)) if number(least) != number(most) => {
            format!("{} to {}", number(least), number(most))
        }
        (Some(least), _) => number(least),
        _ => none(),
    };
    let written = run.written.replace('T', " ");
    let written = written.get(..16).unwrap_or_default();
    let scenario = match run.kind.as_str() {
        "run" | "demo" | "" => run.scenario.clone(),
        kind => format!("{kind} {}", run.scenario),
    };
    let cells = vec![
        run.folder.display().to_string(),
        written.to_owned(),
        scenario,
        run.seeds.len().to_string(),
        run.duration_s.map_or_else(none, |duration| format!("{duration}")),
        delay(0),
        delay(1),
        goodput,
        run.methods.join(", "),
    ];
    let note = match (&run.problem, run.settings.as_slice()) {
        (Some(problem), _) => format!("not read: {problem}"),
        (None, settings) => settings.join("; "),
    };
    Row { cells, kind: RowKind::Method, note }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    fn line(method: &str, seed: u64, flow: &str, p99: f64) -> String {
        format!(
            "{{\"scenario\":\"s\",\"group\":\"g\",\"method\":\"{method}\",\"seed\":{seed},\
             \"flow\":\"{flow}\",\"low_latency\":{},\"duration_s\":20.0,\"delay_ms_p99\":{p99},\
             \"goodput_mbit_s\":2.5}}",
            flow == "call"
        )
    }

    #[test]
    fn a_folder_is_listed_with_its_methods_and_the_means_of_its_chief_figures() {
        let room = tempfile::tempdir().expect("a folder");
        let rows: Vec<String> = [("Vanilla", 100.0), ("DRQL", 10.0)]
            .into_iter()
            .flat_map(|(method, by)| {
                [1, 3].into_iter().flat_map(move |seed| {
                    ["bulk", "call"].map(|flow| line(method, seed, flow, by * seed as f64))
                })
            })
            .collect();
        testing::folder(&room.path().join("deep/er/r"), "", &rows, None);
        fs::create_dir(room.path().join("empty")).expect("a folder");
        std::os::unix::fs::symlink(room.path().join("deep"), room.path().join("link"))
            .expect("a link");
        let list = |place: &Path| -> Vec<Earlier> {
            let found = folders(&[place.into(), place.into()]).expect("it can be read");
            found.iter().map(|folder| Earlier::read(folder)).collect()
        };
        let found = list(room.path());
        let [run] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(run.folder, room.path().join("deep/er/r"));
        assert_eq!((run.kind.as_str(), run.scenario.as_str()), ("run", "s"));
        assert_eq!((run.methods.join(" "), run.duration_s), ("Vanilla DRQL".into(), Some(20.0)));
        assert_eq!((run.flow.as_deref(), &run.problem), (Some("call"), &None));
        let figures: Vec<_> =
            run.figures.iter().map(|f| (f.delay_ms_p99, f.goodput_mbit_s)).collect();
        assert_eq!(figures, [(Some(200.0), Some(5.0)), (Some(20.0), Some(5.0))]);
        let cells = &table(&found).rows[0].cells;
        assert_eq!(cells[4..], ["20", "20.0 DRQL", "200 Vanilla", "5.00", "Vanilla, DRQL"]);
        assert!(run.written.ends_with('Z') && run.written.starts_with("20"), "{}", run.written);
        assert_eq!(list(&room.path().join("deep/er/r")), found, "itself");
        assert!(folders(&[room.path().join("none")]).is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_listed_with_the_reason() {
        let room = tempfile::tempdir().expect("a folder");
        testing::folder(&room.path().join("r"), "", &["{".into()][..0], None);
        fs::write(room.path().join("r/runs.jsonl"), "{").expect("it is there");
        fs::create_dir(room.path().join("other")).expect("a folder");
        fs::write(room.path().join("other").join(MANIFEST), "[]").expect("a file");
        let found = folders(&[room.path().into()]).expect("it can be read");
        assert_eq!(found.len(), 2);
        for run in &found.iter().map(|folder| Earlier::read(folder)).collect::<Vec<_>>() {
            assert!(run.problem.is_some() && run.figures.is_empty(), "{run:?}");
            assert!(row(run).note.starts_with("not read: "), "{run:?}");
            let odd = Earlier { folder: OsStr::from_bytes(b"a\xff").into(), ..run.clone() };
            let json = serde_json::to_string(&odd).expect("any name can be written");
            assert!(json.contains("\"a\u{fffd}\""), "{json}");
        }
    }

    #[test]
    fn settings_are_the_values_of_their_options() {
        for (command, expected) in [
            ("justfull run a --set x=1 --set=y=2 --grid 'a=[1, 2]' --seed 3", "x=1|y=2|a=[1, 2]"),
            ("justfull run a --set 'c={ kind = \"a\" }'", "c={ kind = \"a\" }"),
            ("justfull run a --settle x --set", ""),
            ("justfull (Python)", ""),
            ("", ""),
        ] {
            assert_eq!(settings(command).join("|"), expected, "{command}");
        }
    }

    #[test]
    fn times_follow_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
