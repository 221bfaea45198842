//! Converts a file of CQIs to the rows of a channel.

use super::error::ScenarioError;
use super::file::CqiTraceFile;
use super::locator::Locator;
use super::trace_channel::{self, ensure_rows};
use justfull_base::Duration;
use justfull_ran::channel::{CqiRowsConfig, RowLength};
use justfull_trace::{self, FileFormat, Format, ReadOptions, Repairs, TracePaths, Values, Words};
use std::path::Path;

/// The CQIs of a file.
struct Cqis {
    values: Vec<u8>,
    /// How long a value holds, if the file has times.
    interval: Option<Duration>,
    /// Repairs, estimates and skipped data, one warning each.
    notes: Vec<String>,
}

/// The rows of `file`; `field` names the file in messages.
pub(super) fn rows(
    file: &CqiTraceFile,
    traces: &TracePaths,
    field: &str,
    locator: &Locator,
) -> Result<CqiRowsConfig, ScenarioError> {
    let Cqis { values: mut cqi, interval, .. } = read(file, traces, field, locator)?;
    if let Some(rows) = file.rows {
        ensure_rows(rows, cqi.len(), field, locator)?;
        cqi.truncate(rows);
    }
    let own = file.quality.row;
    if interval.is_some() && own != RowLength::default() {
        let field = field.replace(".file", ".quality.row");
        let allowed = "no such setting: the times of the table say how long a row is in force";
        return Err(locator.plain(&field, "a length", allowed));
    }
    Ok(CqiRowsConfig { cqi, row: interval.map_or(own, RowLength::Time), ..file.quality.clone() })
}

/// The repairs made in `file`, and how its times were read, one warning each.
pub(super) fn notes(
    file: &CqiTraceFile,
    traces: &TracePaths,
    field: &str,
    locator: &Locator,
) -> Result<Vec<String>, ScenarioError> {
    Ok(read(file, traces, field, locator)?.notes)
}

fn read(
    file: &CqiTraceFile,
    traces: &TracePaths,
    field: &str,
    locator: &Locator,
) -> Result<Cqis, ScenarioError> {
    let (name, refused) = (Path::new(&file.file), |e| locator.trace(field, &e));
    let path = traces.resolve(name).map_err(refused)?;
    let options = ReadOptions {
        format: Some(FileFormat::Cqi),
        time_column: file.time_column.clone(),
        time_unit: file.time_unit,
        repairs: Repairs { gaps: Some(file.missing.into()), ..Repairs::default() },
        quality: file.quality.clone(),
        words: Words::CqiTrace,
        ..ReadOptions::default()
    };
    if options.time_column.is_some()
        || options.time_unit.is_some()
        || justfull_trace::cqis_have_times(&path).map_err(refused)?
    {
        let loaded = justfull_trace::load(&path, &options).map_err(refused)?;
        return Ok(Cqis {
            values: loaded.timeline.cqi().unwrap_or_default().to_vec(),
            interval: Some(loaded.timeline.interval()),
            notes: loaded.notes.iter().map(|note| format!("{}: {note}", file.file)).collect(),
        });
    }
    let format = Format::Cqi { missing: file.missing };
    let trace = trace_channel::read(name, traces, format, None, field, locator)?;
    let Values::Cqi(values) = trace.values else {
        return Err(locator.plain(field, "capacities", "channel qualities"));
    };
    let notes = trace.repair.iter().map(ToString::to_string).collect();
    Ok(Cqis { values, interval: None, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(table: &str, keys: &str) -> Result<(CqiRowsConfig, Vec<String>), String> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("q.csv"), table).expect("a file");
        let traces =
            TracePaths { scenario_dir: folder.path().into(), data_dir: None, confined: false };
        let locator = Locator::new("", Path::new("x.toml"));
        let text = format!("file = \"q.csv\"\n{keys}");
        let file: CqiTraceFile = toml::from_str(&text).expect("a trace's settings");
        let place = format!("{}/", folder.path().display());
        let found = rows(&file, &traces, "channel.file", &locator)
            .and_then(|rows| Ok((rows, notes(&file, &traces, "channel.file", &locator)?)));
        found.map_err(|error| error.to_string().replace(&place, ""))
    }

    #[test]
    fn a_table_with_times_holds_each_cqi_until_the_next_row() {
        let (rows, notes) = channel("time,cqi\n0,5\n0.2,7\n0.6,9\n", "").expect("sound");
        assert_eq!(rows.cqi, [5, 7, 7, 9, 9]);
        assert_eq!(rows.row, RowLength::Time(Duration::from_millis(200)));
        assert!(notes[0].starts_with("q.csv: CQIs of `cqi`"), "{notes:?}");
        assert!(notes.iter().all(|note| !note.contains("--")), "{notes:?}");
        let keys = "time_unit = \"ms\"\nrows = 2";
        let (rows, _) = channel("time,cqi\n0,5\n200,7\n600,9\n", keys).expect("sound");
        assert_eq!((rows.cqi, rows.row), (vec![5, 7], RowLength::Time(Duration::from_millis(200))));
        let keys = "missing = \"hold\"\ntime_column = \"when\"";
        let (rows, _) = channel("when,cqi\n0,5\n1,\n2,9\n7,3\n", keys).expect("sound");
        // The last row lasts as long as the one before it.
        assert_eq!(rows.cqi, [5, 5, 9, 9, 9, 9, 9, 3, 3, 3, 3, 3]);
    }

    #[test]
    fn a_table_without_times_has_rows_of_the_length_that_the_scenario_says() {
        let keys = "quality = { row = \"2s\" }";
        let (rows, notes) = channel("place,cqi\nA,5\nB,7\n", keys).expect("sound");
        assert_eq!((rows.cqi, notes.len()), (vec![5, 7], 0));
        assert_eq!(rows.row, RowLength::Time(Duration::from_secs(2)));
    }

    #[test]
    fn a_wrong_table_of_cqis_is_refused_in_keys_of_the_scenario() {
        let times = "time,cqi\n0,5\n1,7\n";
        for (table, keys, told) in [
            (times, "quality = { row = \"2s\" }", "channel.quality.row"),
            (times, "rows = 3", "channel.rows"),
            (times, "time_column = \"when\"", "no such column"),
            ("place,cqi\nA,5\n", "time_unit = \"ms\"", "channel.time_unit"),
            ("time,cqi\n0,5\n1,\n", "", "q.csv:3: column `cqi`: found an empty field"),
            ("time,cqi\n0,5\n1,\n", "", "missing = \"hold\", \"zero\" or \"skip\""),
            ("time,cqi\n0,5\n1,7\n9,8\n10,8\n", "", "missing = \"hold\", \"zero\" or \"skip\""),
            ("time,cqi\n0,5\n100,7\n200,7\n", "", "time_unit = \"ms\", \"us\" or \"ns\""),
            ("time,cqi\n1,5\n0,7\n", "", "q.csv:3: column `time`"),
            ("time,rate\n1,5\n2,7\n", "", "q.csv:1: column `cqi`: found no such column"),
        ] {
            let error = channel(table, keys).expect_err(told);
            assert!(error.contains(told) && !error.contains(" --"), "{told}: {error}");
        }
    }
}
