//! The files of single runs: their content agrees with the run, with each other, and with other
//! programs' readings.

use flate2::read::GzDecoder;
use justfull_lab::model::Comparison;
use justfull_lab::runner::{self, Watch};
use justfull_report::export::outputs::Outputs;
use justfull_report::export::records::{Format, PACKET_COLUMNS, SLOT_COLUMNS};
use justfull_report::export::run::RunFiles;
use justfull_scenario::{Overrides, Scenario};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A cell that drops at every layer, a download, a call and a ping; its queues are short.
const SCENARIO: &str = r#"
title = "All that a packet can meet"
duration = "4s"
warmup = "1s"
methods = ["Vanilla"]
[channel]
kind = "constant"
per_slot = 2500
[mac]
kind = "bytes"
[air]
delay = "3ms"
[upf]
poll = { period = "500us" }
queue = { limit = "300kB" }
[sdap]
poll = { period = "200us" }
queue = { limit = "60kB" }
[rlc]
queue = { limit = "30kB", aqm = { kind = "codel" } }
[[ue]]
qos_flow = [{ qfi = 1, priority = 1 }, { qfi = 9, priority = 2 }]
[[flow]]
name = "down, loaded"
count = 2
qfi = 9
tcp = {}
[[flow]]
name = "call"
qfi = 1
low_latency = true
udp = { payload = "172B", interval = "20ms" }
[[flow]]
name = "ping"
qfi = 9
ping = { payload = "56B", interval = "50ms" }
"#;

struct Made {
    folder: TempDir,
    comparison: Comparison,
}

impl Made {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, Path::new("all.toml"), None, Overrides::default())
        .expect("the scenario is sound")
}

fn make(text: &str, outputs: impl Fn(&Path) -> Outputs) -> Made {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let outputs = outputs(folder.path());
    let done = runner::compare(&scenario(text), 1, &Watch::default(), &RunFiles(&[outputs]));
    let comparison = done.unwrap_or_else(|e| panic!("{e}"));
    Made { folder, comparison }
}

fn records(name: &'static str, slots: &'static str, format: Format) -> impl Fn(&Path) -> Outputs {
    move |folder| Outputs {
        packets: Some((folder.join(name), format)),
        slots: Some((folder.join(slots), format)),
        ..Outputs::default()
    }
}

/// Rows as texts by column, with an empty text for an absent value, and the file's own metadata.
type Rows = (Vec<BTreeMap<String, String>>, BTreeMap<String, String>);

fn parquet_rows(path: &Path) -> Rows {
    let reader =
        SerializedFileReader::new(File::open(path).expect("it is there")).expect("it is Parquet");
    let pairs = reader.metadata().file_metadata().key_value_metadata().expect("it has pairs");
    let meta =
        pairs.iter().map(|kv| (kv.key.clone(), kv.value.clone().unwrap_or_default())).collect();
    let text = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Int(n) => n.to_string(),
        Field::Long(n) => n.to_string(),
        other => panic!("{other:?}"),
    };
    let rows = reader.get_row_iter(None).expect("rows").map(|row| {
        let row = row.expect("a row");
        row.get_column_iter().map(|(name, field)| (name.clone(), text(field))).collect()
    });
    (rows.collect(), meta)
}

fn header_of(line: &str) -> BTreeMap<String, String> {
    let whole: Value = serde_json::from_str(line).expect("JSON");
    let plain = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    whole["justfull"]
        .as_object()
        .expect("an object")
        .iter()
        .map(|(k, v)| (k.clone(), plain(v)))
        .collect()
}

fn csv_rows(path: &Path) -> Rows {
    let text = fs::read_to_string(path).expect("it is there");
    let (first, rest) = text.split_once('\n').expect("a first line");
    let meta = header_of(first.strip_prefix("# ").expect("a comment"));
    let mut csv = csv::Reader::from_reader(rest.as_bytes());
    let names = csv.headers().expect("a header").clone();
    let row =
        |r: csv::StringRecord| names.iter().zip(&r).map(|(n, v)| (n.into(), v.into())).collect();
    (csv.records().map(|r| row(r.expect("a row"))).collect(), meta)
}

fn json_rows(path: &Path, names: &[&str]) -> Rows {
    let text = fs::read_to_string(path).expect("it is there");
    let mut lines = text.lines();
    let meta = header_of(lines.next().expect("a first record"));
    let row = |line: &str| {
        let object: Value = serde_json::from_str(line).expect("JSON");
        let cell = |name: &&str| match &object[*name] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        names.iter().map(|name| ((*name).to_string(), cell(name))).collect()
    };
    (lines.map(row).collect(), meta)
}

#[test]
fn all_three_forms_hold_the_same_records() {
    let packets: Vec<&str> = PACKET_COLUMNS.iter().map(|c| c.name).collect();
    let slots: Vec<&str> = SLOT_COLUMNS.iter().map(|c| c.name).collect();
    let parquet = make(SCENARIO, records("p.parquet", "s.parquet", Format::Parquet));
    let csv = make(SCENARIO, records("p.csv", "s.csv", Format::Csv));
    let json = make(SCENARIO, records("p.jsonl", "s.jsonl", Format::JsonLines));
    for (name, columns) in [("p", &packets), ("s", &slots)] {
        let (rows, meta) = parquet_rows(&parquet.path(&format!("{name}.parquet")));
        let (csv_rows, csv_meta) = csv_rows(&csv.path(&format!("{name}.csv")));
        let (json_rows, json_meta) = json_rows(&json.path(&format!("{name}.jsonl")), columns);
        assert!(rows.len() > 1000 && rows == csv_rows && rows == json_rows, "{name}");
        assert!(rows[0].keys().map(String::as_str).all(|key| columns.contains(&key)));
        // Each row names its run, so that files of several runs can be joined.
        let own = |row: &BTreeMap<String, String>| {
            row["method"] == csv_meta["method"]
                && row["seed"] == csv_meta["seed"]
                && row["point"].is_empty()
        };
        assert!(rows.iter().all(own), "{name}");
        for key in ["schema", "version", "seed", "method", "scenario_toml"] {
            assert_eq!(meta[&format!("justfull.{key}")], csv_meta[key], "{key}");
            assert_eq!(csv_meta[key], json_meta[key], "{key}");
        }
    }
}

#[test]
fn packet_records_agree_with_the_results_of_the_run() {
    let made = make(SCENARIO, records("p.parquet", "s.parquet", Format::Parquet));
    let run = &made.comparison.groups[0].runs[0];
    let (rows, _) = parquet_rows(&made.path("p.parquet"));
    let count = |key: &str| rows.iter().filter(|row| !row[key].is_empty()).count() as u64;
    assert_eq!(rows.len() as u64, run.conservation.entered);
    assert_eq!(count("delivered_ns"), run.conservation.delivered);
    assert_eq!(count("dropped_ns"), run.conservation.dropped);
    assert_eq!(count("drop_reason"), run.conservation.dropped);
    assert!(
        run.conservation.dropped > 0 && run.conservation.queued > 0,
        "the scenario is hard enough"
    );
    let number = |row: &BTreeMap<String, String>, key: &str| row[key].parse::<u64>().expect(key);
    let warmup = (run.warmup_s * 1e9) as u64;
    for flow in &run.flows {
        let own = || rows.iter().filter(|row| row["flow"] == flow.name);
        let measured: Vec<u64> = own()
            .filter(|row| !row["delivered_ns"].is_empty() && number(row, "entered_ns") >= warmup)
            .map(|row| number(row, "delivered_ns") - number(row, "entered_ns"))
            .collect();
        let mean = measured.iter().sum::<u64>() as f64 / measured.len() as f64 * 1e-6;
        assert_eq!(measured.len() as u64, flow.delay.count, "{}", flow.name);
        assert!((mean / flow.delay.mean_ms - 1.0).abs() < 1e-9, "{}: {mean}", flow.name);
        assert!(own().all(
            |row| row["protocol"] == flow.protocol && number(row, "qfi") == u64::from(flow.qfi)
        ));
    }
    for row in rows.iter().filter(|row| !row["delivered_ns"].is_empty()) {
        let parts =
            ["sojourn_upf_ns", "sojourn_sdap_ns", "sojourn_rlc_ns"].map(|key| number(row, key));
        assert_eq!(
            parts.iter().sum::<u64>(),
            number(row, "delivered_ns") - number(row, "entered_ns")
        );
    }
}

/// The same scenario with a MAC that allocates resource blocks, sends a block twice at most and
/// loses some for good.
fn lossy() -> String {
    let cell = "[channel]\nkind = \"mcs\"\nmcs = [28]\n[mac]\nkind = \"rb\"\n\
                [mac.harq]\nbler = 0.3\ncombining = 1.0\ntransmissions = 2\n";
    SCENARIO
        .replace("[channel]\nkind = \"constant\"\nper_slot = 2500\n[mac]\nkind = \"bytes\"\n", cell)
}

#[test]
fn losses_on_the_air_are_recorded_as_drops_and_arrivals_with_their_time_on_the_air() {
    let made = make(&lossy(), records("p.csv", "s.csv", Format::Csv));
    let run = &made.comparison.groups[0].runs[0];
    let (rows, _) = csv_rows(&made.path("p.csv"));
    let has = |row: &BTreeMap<String, String>, name: &str| {
        row.get(name).is_some_and(|cell| !cell.is_empty())
    };
    let count = |is: &dyn Fn(&BTreeMap<String, String>) -> bool| {
        rows.iter().filter(|row| is(row)).count() as u64
    };
    let c = &run.conservation;
    assert_eq!(count(&|row| has(row, "delivered_ns")), c.delivered);
    assert_eq!(count(&|row| has(row, "dropped_ns")), c.dropped);
    assert_eq!(count(&|row| !has(row, "delivered_ns") && !has(row, "dropped_ns")), c.queued);
    let on_air = |row: &BTreeMap<String, String>| {
        matches!(row["drop_reason"].as_str(), "harq" | "reassembly")
    };
    let lost = rows.iter().filter(|row| on_air(row)).collect::<Vec<_>>();
    assert!(lost.len() > 20, "9 % of the blocks are lost: {}", lost.len());
    assert!(
        lost.iter().all(|row| has(row, "left_rlc_ns")
            && !has(row, "delivered_ns")
            && !has(row, "on_air_ns"))
    );
    let times = rows.iter().filter_map(|row| row["on_air_ns"].parse::<u64>().ok());
    let most = times.max().unwrap_or(0);
    assert!(most > 7_900_000, "a block is sent again after 8 slots: {most}");
}

#[test]
fn slot_records_agree_with_the_results_of_the_run() {
    let made = make(SCENARIO, records("p.parquet", "s.parquet", Format::Parquet));
    let run = &made.comparison.groups[0].runs[0];
    let (rows, _) = parquet_rows(&made.path("s.parquet"));
    let warmup = (run.warmup_s * 1e9) as u64;
    let number = |row: &BTreeMap<String, String>, key: &str| row[key].parse::<u64>().expect(key);
    let measured: Vec<_> = rows.iter().filter(|row| number(row, "time_ns") >= warmup).collect();
    let sum = |key: &str| measured.iter().map(|row| number(row, key)).sum::<u64>();
    assert_eq!(measured.len() as u64, run.cell.slots);
    assert_eq!((sum("capacity_bytes"), sum("used_bytes")), (run.cell.offered, run.cell.used));
    assert!(
        measured
            .iter()
            .all(|row| row["capacity_packets"].is_empty() && row["used_packets"].is_empty())
    );
    for (layer, result) in ["upf", "sdap", "rlc"].iter().zip(&run.layers) {
        let mean = sum(&format!("{layer}_packets")) as f64 / measured.len() as f64;
        assert!((mean - result.backlog_packets_mean).abs() < 1e-9, "{layer}: {mean}");
    }
}

#[test]
fn a_file_tells_how_to_make_it_again() {
    let made = make(SCENARIO, records("p.parquet", "s.parquet", Format::Parquet));
    let (_, meta) = parquet_rows(&made.path("p.parquet"));
    let again =
        make(&meta["justfull.scenario_toml"], records("p.parquet", "s.parquet", Format::Parquet));
    let bytes = |made: &Made| fs::read(made.path("p.parquet")).expect("it is there");
    assert_eq!(again.comparison.groups[0].runs, made.comparison.groups[0].runs);
    assert_eq!(bytes(&again), bytes(&made));
}

#[test]
fn a_run_is_the_same_whether_or_not_somebody_listens() {
    let all = |folder: &Path| Outputs {
        packets: Some((folder.join("p.csv"), Format::Csv)),
        pcapng: Some(folder.join("c.pcapng")),
        flent: Some(folder.join("f.flent.gz")),
        irtt: Some(folder.join("i.json")),
        ..Outputs::default()
    };
    let listened = make(SCENARIO, all);
    let alone = make(SCENARIO, |_| Outputs::default());
    assert_eq!(listened.comparison.groups[0].runs, alone.comparison.groups[0].runs);
}

#[test]
fn equal_runs_give_equal_files() {
    let all = |folder: &Path| Outputs {
        pcapng: Some(folder.join("c.pcapng")),
        flent: Some(folder.join("f.flent.gz")),
        irtt: Some(folder.join("i.json")),
        ..Outputs::default()
    };
    let (a, b) = (make(SCENARIO, all), make(SCENARIO, all));
    for name in ["c.pcapng", "f.flent.gz", "i.json"] {
        assert_eq!(
            fs::read(a.path(name)).expect(name),
            fs::read(b.path(name)).expect(name),
            "{name}"
        );
    }
}

#[test]
fn a_full_disk_ends_the_run_with_one_error_and_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let outputs = Outputs {
        packets: Some((PathBuf::from("/dev/full"), Format::Parquet)),
        pcapng: Some(folder.path().join("c.pcapng")),
        ..Outputs::default()
    };
    let error = runner::compare(&scenario(SCENARIO), 1, &Watch::default(), &RunFiles(&[outputs]))
        .expect_err("it is full");
    assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
}

#[test]
fn a_full_disk_while_the_run_goes_on_ends_it_too() {
    let outputs = Outputs { pcapng: Some(PathBuf::from("/dev/full")), ..Outputs::default() };
    let watch = Watch::default();
    let error = runner::compare(&scenario(SCENARIO), 1, &watch, &RunFiles(&[outputs]))
        .expect_err("it is full");
    assert!(error.to_string().contains("/dev/full"), "{error}");
    let simulated = watch.simulated_ms.load(std::sync::atomic::Ordering::Relaxed);
    assert!(simulated < 4_000, "the run was ended, not run through: {simulated} ms");
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("it is there")).expect("it is JSON")
}

#[test]
fn flent_data_hold_goodput_ping_and_call_over_time() {
    let made = make(SCENARIO, |folder| Outputs {
        flent: Some(folder.join("f.flent.gz")),
        ..Outputs::default()
    });
    let run = &made.comparison.groups[0].runs[0];
    let mut text = String::new();
    let file = File::open(made.path("f.flent.gz")).expect("it is there");
    GzDecoder::new(file).read_to_string(&mut text).expect("it is gzip");
    let data: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((&data["version"], &data["metadata"]["NAME"]), (&4.into(), &"tcp_ndown".into()));
    assert_eq!(data["metadata"]["TEST_PARAMETERS"]["download_streams"], "2");
    assert_eq!(data["metadata"]["JUSTFULL"]["method"], "Vanilla");
    let steps = data["x_values"].as_array().expect("steps").len();
    assert_eq!(steps, 20);
    for (name, series) in data["results"].as_object().expect("series") {
        assert_eq!(series.as_array().expect("values").len(), steps, "{name}");
        assert!(data["metadata"]["SERIES_META"][name]["UNITS"].is_string(), "{name}");
    }
    // The run measures the steps after the warm-up of 1 s.
    let sum = data["results"]["TCP download sum"].as_array().expect("values");
    let mean = sum[5..].iter().filter_map(Value::as_f64).sum::<f64>() / 15.0;
    let goodput = run.flows[0].goodput_mbit_s;
    assert!((mean / goodput - 1.0).abs() < 1e-9, "{mean} {goodput}");
    let pings = data["raw_values"]["Ping (ms) ICMP"].as_array().expect("pings");
    let measured: Vec<f64> = pings
        .iter()
        .filter(|p| p["t"].as_f64().is_some_and(|t| t >= 1.0))
        .filter_map(|p| p["val"].as_f64())
        .collect();
    assert_eq!(measured.len() as u64, run.flows[2].rtt.count);
    let mean = measured.iter().sum::<f64>() / measured.len() as f64;
    assert!((mean / run.flows[2].rtt.mean_ms - 1.0).abs() < 1e-9, "{mean}");
    assert!(
        data["results"]["VoIP::delay"][10].as_f64().is_some_and(|ms| ms > 13.0),
        "core and air alone take 13 ms"
    );
}

#[test]
fn irtt_json_has_its_names_and_the_delays_of_the_call() {
    let made = make(SCENARIO, |folder| Outputs {
        irtt: Some(folder.join("i.json")),
        ..Outputs::default()
    });
    let run = &made.comparison.groups[0].runs[0];
    let data = json(&made.path("i.json"));
    let trips = data["round_trips"].as_array().expect("trips");
    let delays: Vec<u64> = trips.iter().filter_map(|t| t["delay"]["send"].as_u64()).collect();
    let stats = &data["stats"];
    assert_eq!(stats["send_delay"]["n"], delays.len());
    assert_eq!(stats["send_delay"]["min"].as_u64(), delays.iter().copied().min());
    assert_eq!(stats["rtt"]["n"], 0, "a call has no replies");
    assert_eq!(data["config"]["params"]["interval"], 20_000_000);
    assert_eq!(data["justfull"]["flow"], "call");
    // From the server to the UE: 10 ms in the core, the time in the chain, 3 ms on the air.
    let least = *delays.iter().min().expect("delays") as f64 * 1e-6;
    assert!(least >= 13.0 && least < 13.0 + run.flows[1].delay.max_ms, "{least}");
    for key in ["version", "system_info", "config", "stats", "round_trips"] {
        assert!(!data[key].is_null(), "{key}");
    }
}

#[test]
fn irtt_json_of_a_ping_has_round_trips() {
    let text = SCENARIO
        .replace("low_latency = true\n", "")
        .replace("[[flow]]\nname = \"ping\"\n", "[[flow]]\nname = \"ping\"\nlow_latency = true\n");
    let made =
        make(&text, |folder| Outputs { irtt: Some(folder.join("i.json")), ..Outputs::default() });
    let data = json(&made.path("i.json"));
    let trip =
        data["round_trips"].as_array().expect("trips").iter().find(|t| t["delay"]["rtt"].is_u64());
    let delay = &trip.expect("a reply")["delay"];
    let ns = |key: &str| delay[key].as_u64().expect("a time");
    assert_eq!(ns("rtt"), ns("send") + ns("receive"));
    assert_eq!(ns("receive"), 10_000_000, "the uplink is a delay of 10 ms");
    assert!(data["stats"]["rtt"]["n"].as_u64().is_some_and(|n| n > 50));
}

#[test]
fn irtt_json_of_a_ping_that_the_ue_sends_has_its_round_trips() {
    let asked = r#"interval = "50ms", from_ue = { } }"#;
    let text = SCENARIO
        .replace("low_latency = true\n", "")
        .replace("[[flow]]\nname = \"ping\"\n", "[[flow]]\nname = \"ping\"\nlow_latency = true\n")
        .replace(r#"interval = "50ms" }"#, asked);
    let made =
        make(&text, |folder| Outputs { irtt: Some(folder.join("i.json")), ..Outputs::default() });
    let data = json(&made.path("i.json"));
    let trips = data["round_trips"].as_array().expect("trips");
    let whole = trips.iter().find(|t| t["delay"]["rtt"].is_u64()).expect("a reply");
    let ns = |key: &str| whole["delay"][key].as_u64().expect("a time");
    assert_eq!(ns("rtt"), ns("send") + ns("receive"));
    assert_eq!(ns("send"), 10_000_000, "the uplink is a delay of 10 ms");
    assert!(data["stats"]["rtt"]["n"].as_u64().is_some_and(|n| n > 50));
}

#[test]
fn a_run_without_datagrams_has_nothing_for_irtt() {
    let text = SCENARIO.split("[[flow]]\nname = \"call\"").next().expect("a first part");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let outputs = Outputs { irtt: Some(folder.path().join("i.json")), ..Outputs::default() };
    let error = runner::compare(&scenario(text), 1, &Watch::default(), &RunFiles(&[outputs]))
        .expect_err("no datagrams");
    assert!(error.to_string().contains("no flow of datagrams"), "{error}");
}
