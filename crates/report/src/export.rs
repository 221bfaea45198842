//! Result files: tables as CSV and JSON lines, and all results in one `result.json`.
//!
//! Files hold measured numbers, in the shortest decimal form that reads back to the same number; a
//! missing value is an empty cell or `null`, never a zero. A results folder, and each single file,
//! is written beside its final place and moved there when complete ([`folder`], [`Sink`]).

pub mod answer;
pub mod choices;
mod columns;
mod disk;
mod facts;
pub mod flent;
pub mod folder;
pub mod irtt;
pub mod measure;
pub mod outputs;
pub mod pcapng;
pub mod records;
pub mod rows;
pub mod run;
mod sink;
#[cfg(feature = "parquet")]
mod summary;
mod value;

pub use columns::{
    AROUND_COLUMNS, AroundRow, CARRIER_COLUMNS, CDF_COLUMNS, CELL_COLUMNS, COLUMNS, CarrierRow,
    Carriers, CdfPoint, Cdfs, CellRow, Cells, Column, DRX_COLUMNS, Drx, DrxRow, ENTITY_COLUMNS,
    Entities, EntityRow, FLOW_SERIES_COLUMNS, FlowPoint, FlowRow, FlowsOverTime, HANDOVER_COLUMNS,
    HandoverDelays, HandoverRow, Handovers, LEG_COLUMNS, LegRow, Legs, Runs, SERIES_COLUMNS,
    SeriesOverTime, SeriesPoint, Table,
};

pub use folder::ResultsFolder;

pub use facts::{FlowFacts, Provenance, RunFacts, protocol_name};
pub use sink::{ExportError, Sink, remove_left, write_whole};
#[cfg(feature = "parquet")]
use summary::long_parquet;
#[cfg(feature = "parquet")]
pub use summary::{part_parquet, runs_parquet};
pub use value::{Kind, Value};

use crate::figure::Figure;
use justfull_lab::model::Comparison;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Version of the layout of all result files; increases when a column or key is removed or changes
/// its meaning.
pub const SCHEMA: u32 = 1;

/// Writes `runs.csv`, `runs.jsonl`, `runs.parquet` (with the feature `parquet`), `series.csv`,
/// `flow_series.csv`, `cdf.csv`, `result.json`, with several cells `cells.csv`, `handovers.csv` and
/// `handover_delay.csv`, with several carriers `carriers.csv`, with split bearers `legs.csv`, with
/// DRX `drx.csv`, and, if queues were measured, `entities.csv` into `folder`. Returns the number of
/// files.
///
/// # Errors
/// Names the first file that could not be written.
pub fn write_all(
    folder: &mut ResultsFolder,
    comparison: &Comparison,
) -> Result<usize, ExportError> {
    type Writer = fn(&Comparison, &mut dyn Write) -> io::Result<()>;
    let mut files: Vec<(&str, Writer)> = Vec::from([
        ("runs.csv", runs_csv as Writer),
        ("runs.jsonl", runs_jsonl),
        #[cfg(feature = "parquet")]
        ("runs.parquet", runs_parquet),
        ("series.csv", series_csv),
        ("flow_series.csv", flow_series_csv),
        ("cdf.csv", cdf_csv),
        ("result.json", result_json),
    ]);
    if rows::cells(comparison).next().is_some() {
        let several: [(&str, Writer); 3] = [
            ("cells.csv", cells_csv),
            ("handovers.csv", handovers_csv),
            ("handover_delay.csv", handover_delay_csv),
        ];
        files.extend(several);
    }
    if rows::legs(comparison).next().is_some() {
        files.push(("legs.csv", legs_csv));
    }
    if rows::carriers(comparison).next().is_some() {
        files.push(("carriers.csv", carriers_csv));
    }
    if rows::drx(comparison).next().is_some() {
        files.push(("drx.csv", drx_csv));
    }
    if rows::entities(comparison).next().is_some() {
        files.push(("entities.csv", entities_csv));
    }
    for (name, writer) in &files {
        folder.write(name, |out| writer(comparison, out))?;
    }
    Ok(files.len())
}

/// A table that is written as Parquet on request, beside the CSV file of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongTable {
    /// `series.parquet`.
    Series,
    /// `flow_series.parquet`.
    FlowSeries,
    /// `cdf.parquet`.
    Cdf,
    /// `entities.parquet`, without rows if no queues were measured.
    Entities,
}

/// Writes each of `tables` as Parquet into `folder`.
///
/// # Errors
/// Names the first file that could not be written.
#[cfg(feature = "parquet")]
pub fn write_parquet(
    folder: &mut ResultsFolder,
    comparison: &Comparison,
    tables: &[LongTable],
) -> Result<(), ExportError> {
    for table in tables {
        let whole = comparison;
        match table {
            LongTable::Series => folder.write("series.parquet", |out| {
                long_parquet(whole, SERIES_COLUMNS, rows::series(whole), out)
            }),
            LongTable::FlowSeries => folder.write("flow_series.parquet", |out| {
                long_parquet(whole, FLOW_SERIES_COLUMNS, rows::flow_series(whole), out)
            }),
            LongTable::Cdf => folder.write("cdf.parquet", |out| {
                long_parquet(whole, CDF_COLUMNS, rows::cdf(whole), out)
            }),
            LongTable::Entities => folder.write("entities.parquet", |out| {
                long_parquet(whole, ENTITY_COLUMNS, rows::entities(whole), out)
            }),
        }?;
    }
    Ok(())
}

/// Writes each figure as `figures/<id>.svg`, and with `png` as `figures/<id>.png` too, into
/// `folder`.
///
/// # Errors
/// Names the first file that could not be written.
pub fn write_figures<'a>(
    folder: &mut ResultsFolder,
    figures: impl IntoIterator<Item = &'a Figure>,
    png: bool,
) -> Result<(), ExportError> {
    for figure in figures {
        folder.write(&format!("figures/{}.svg", figure.id), |out| {
            out.write_all(figure.standalone().as_bytes())
        })?;
        if png {
            let picture = crate::figure::png(&figure.svg).map_err(io::Error::other);
            folder.write(&format!("figures/{}.png", figure.id), |out| out.write_all(&picture?))?;
        }
    }
    Ok(())
}

fn csv_table<'a, T: Table>(
    columns: &[Column<T>],
    rows: impl Iterator<Item = T::Row<'a>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(columns.iter().map(|c| c.name)).map_err(io::Error::from)?;
    for row in rows {
        csv.write_record(columns.iter().map(|c| (c.value)(&row).cell()))
            .map_err(io::Error::from)?;
    }
    csv.flush()
}

/// One line for each run and flow, by [`COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn runs_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(COLUMNS, rows::flows(comparison), out)
}

/// One JSON object for each run and flow, with the names of [`COLUMNS`] as keys.
///
/// # Errors
/// The errors of `out`.
pub fn runs_jsonl(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    for row in rows::flows(comparison) {
        serde_json::to_writer(&mut *out, &answer::Row(row))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// One line for each run and bin of time, by [`SERIES_COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn series_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(SERIES_COLUMNS, rows::series(comparison), out)
}

/// One line for each run, flow name and bin of time, by [`FLOW_SERIES_COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn flow_series_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(FLOW_SERIES_COLUMNS, rows::flow_series(comparison), out)
}

/// One line for each run, distribution and point, by [`CDF_COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn cdf_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(CDF_COLUMNS, rows::cdf(comparison), out)
}

/// One line for each run and queue, by [`ENTITY_COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn entities_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(ENTITY_COLUMNS, rows::entities(comparison), out)
}

/// One line for each run and cell, by [`CELL_COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn cells_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(CELL_COLUMNS, rows::cells(comparison), out)
}

/// One line for each run and handover, by [`HANDOVER_COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn handovers_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(HANDOVER_COLUMNS, rows::handovers(comparison), out)
}

/// One line for each run and interval around handovers, by [`AROUND_COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn handover_delay_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(AROUND_COLUMNS, rows::around(comparison), out)
}

/// One line for each run and leg of split bearers, by [`LEG_COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn legs_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(LEG_COLUMNS, rows::legs(comparison), out)
}

/// One line for each run and carrier, by [`CARRIER_COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn carriers_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(CARRIER_COLUMNS, rows::carriers(comparison), out)
}

/// One line for each run and UE with DRX, by [`DRX_COLUMNS`].
///
/// # Errors
/// The errors of `out`.
pub fn drx_csv(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    csv_table(DRX_COLUMNS, rows::drx(comparison), out)
}

#[derive(Serialize)]
struct Unit {
    unit: &'static str,
    meaning: &'static str,
}

/// The fields of `result.json`, in the order of its keys.
#[derive(Serialize)]
struct Whole<'a> {
    schema: u32,
    columns: BTreeMap<&'static str, BTreeMap<&'static str, Unit>>,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

fn units<T: Table>(columns: &[Column<T>]) -> BTreeMap<&'static str, Unit> {
    columns.iter().map(|c| (c.name, Unit { unit: c.unit, meaning: c.meaning })).collect()
}

/// The whole result: the number of the schema, the units of all columns, and the comparison with
/// its resolved scenario.
///
/// # Errors
/// The errors of `out`.
pub fn result_json(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = BTreeMap::from([
        ("runs", units(COLUMNS)),
        ("series", units(SERIES_COLUMNS)),
        ("flow_series", units(FLOW_SERIES_COLUMNS)),
        ("cdf", units(CDF_COLUMNS)),
        ("entities", units(ENTITY_COLUMNS)),
    ]);
    if rows::cells(comparison).next().is_some() {
        columns.insert("cells", units(CELL_COLUMNS));
        columns.insert("handovers", units(HANDOVER_COLUMNS));
        columns.insert("handover_delay", units(AROUND_COLUMNS));
    }
    if rows::legs(comparison).next().is_some() {
        columns.insert("legs", units(LEG_COLUMNS));
    }
    if rows::carriers(comparison).next().is_some() {
        columns.insert("carriers", units(CARRIER_COLUMNS));
    }
    if rows::drx(comparison).next().is_some() {
        columns.insert("drx", units(DRX_COLUMNS));
    }
    serde_json::to_writer(&mut *out, &Whole { schema: SCHEMA, columns, comparison })?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::folder::{Origin, Subject};
    use super::*;
    use justfull_lab::model::example;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn text(
        writer: fn(&Comparison, &mut dyn Write) -> io::Result<()>,
        comparison: &Comparison,
    ) -> String {
        let mut out = Vec::new();
        writer(comparison, &mut out).expect("memory takes all");
        String::from_utf8(out).expect("files are UTF-8")
    }

    fn folder(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("justfull-export-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a scratch folder");
        path
    }

    #[test]
    fn csv_and_json_lines_say_the_same_under_the_same_names() {
        let comparison = example::comparison(1);
        let table = text(runs_csv, &comparison);
        let mut csv = csv::Reader::from_reader(table.as_bytes());
        let header = csv.headers().expect("a header").clone();
        assert!(header.iter().eq(COLUMNS.iter().map(|c| c.name)));
        let lines = text(runs_jsonl, &comparison);
        assert_eq!(lines.lines().count(), 4 * 8 * 2);
        for (record, line) in csv.records().zip(lines.lines()) {
            let record = record.expect("a row");
            let object: serde_json::Value = serde_json::from_str(line).expect("a JSON object");
            for (name, cell) in header.iter().zip(&record) {
                match &object[name] {
                    serde_json::Value::Null => assert_eq!(cell, "", "{name}"),
                    serde_json::Value::String(s) => assert_eq!(cell, s, "{name}"),
                    serde_json::Value::Number(n) => {
                        let (a, b): (f64, f64) =
                            (cell.parse().expect("a number"), n.as_f64().expect("finite"));
                        // The JSON reader in this test rounds the last bit; the next test compares
                        // bits.
                        assert!((a - b).abs() <= 1e-15 * a.abs(), "{name}: {a} {b}");
                    }
                    other => assert_eq!(cell, other.to_string(), "{name}"),
                }
            }
        }
    }

    #[test]
    fn a_distribution_without_values_is_empty_and_never_zero() {
        let comparison = example::comparison(1);
        let line = text(runs_jsonl, &comparison).lines().next().map(str::to_owned).expect("a line");
        let voice: serde_json::Value = serde_json::from_str(&line).expect("a JSON object");
        assert!(voice["delay_ms_mean"].is_f64());
        assert!(voice["rtt_ms_mean"].is_null(), "a UDP flow has no round-trip time");
        assert!(voice["completed_s"].is_null());
    }

    #[test]
    fn numbers_read_back_to_the_same_bits() {
        let comparison = example::comparison(1);
        let table = text(series_csv, &comparison);
        let mut csv = csv::Reader::from_reader(table.as_bytes());
        let at = SERIES_COLUMNS.iter().position(|c| c.name == "rlc_packets").expect("a column");
        let series = &comparison.groups[0].runs[0].series.rlc_packets;
        for (record, value) in csv.records().zip(series) {
            let read: f64 = record.expect("a row")[at].parse().expect("a number");
            assert_eq!(read.to_bits(), value.to_bits());
        }
    }

    #[test]
    fn the_distributions_of_every_layer_and_flow_are_there() {
        let table = text(cdf_csv, &example::comparison(1));
        for key in [
            "low_latency_sojourn,upf",
            "other_sojourn,rlc",
            "delay,voice",
            "bound,voice",
            "rtt,bulk",
        ] {
            assert!(table.contains(key), "{key}");
        }
    }

    #[test]
    fn result_json_holds_schema_units_scenario_and_runs() {
        let comparison = example::comparison(1);
        let whole: serde_json::Value =
            serde_json::from_str(&text(result_json, &comparison)).expect("JSON");
        assert_eq!(whole["schema"], SCHEMA);
        assert_eq!(whole["columns"]["runs"]["delay_ms_mean"]["unit"], "ms");
        assert_eq!(whole["scenario_toml"], comparison.scenario_toml);
        assert_eq!(whole["groups"][0]["runs"][0]["flows"][0]["name"], "voice");
        assert_eq!(whole["claims"]["rows"][1]["verdict"], "explained");
    }

    #[test]
    fn all_files_come_whole_and_no_part_is_left() {
        let above = tempfile::tempdir().expect("a folder can be made");
        let out = above.path().join("out");
        let subject = Subject { kind: "run".into(), scenario: "example".into() };
        let (mut folder, _) =
            ResultsFolder::open(&out, subject, false, &mut || {}).expect("it is free");
        let comparison = example::comparison(1);
        let tables = write_all(&mut folder, &comparison).expect("the folder can be written");
        let figures = crate::figure::Figures::of(&comparison);
        write_figures(&mut folder, figures.iter(), true).expect("the folder can be written");
        folder.publish(Origin::default()).expect("the folder can be written");
        let count = |path: &Path| fs::read_dir(path).expect("a folder").count();
        assert_eq!(count(&out), tables + 2, "figures and manifest beside the tables");
        assert_eq!(count(&out.join("figures")), 2 * figures.iter().count());
        assert_eq!(count(above.path()), 1, "nothing is left beside the folder");
    }

    #[test]
    fn a_failure_names_the_file_and_keeps_the_old_one() {
        let folder = folder("fail");
        let path = folder.join("runs.csv");
        fs::write(&path, "old").expect("the folder can be written");
        let error = write_whole(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        })
        .expect_err("it fails");
        assert_eq!(error.to_string(), format!("cannot write {}: the disk is full", path.display()));
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "old");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "no part file is left");
        fs::remove_dir_all(folder).expect("it is ours");
    }
}
