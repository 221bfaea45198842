//! Data files of flent (version 4 of its format), for `flent -p` and its GUI.
//!
//! The run appears as flent's test `tcp_download` (one TCP flow), `tcp_ndown` (several) or `ping`
//! (none), so that flent's own plots for these tests work. Time 0 of the simulation is the epoch.
//!
//! | series | meaning here |
//! |---|---|
//! | `TCP download`, `TCP download::N` | goodput at the UE in a step, Mbit/s |
//! | `TCP download sum`, `avg`, `fairness` | of the download series |
//! | `TCP upload` and so on | the same of uploads, at the server |
//! | `Ping (ms) ICMP` | mean round-trip time of the first flow of pings, by time of sending |
//! | `VoIP::delay`, `jitter`, `loss` | of the first flow of datagrams without replies: see below |
//!
//! `VoIP::delay` is the mean one-way delay from server to UE, `jitter` the mean delay difference of
//! consecutive datagrams, `loss` the number of datagrams lost; each over the datagrams sent in a
//! step.
//!
//! `raw_values` has the single values of every datagram. The test parameter `voip_host` makes flent
//! show its VoIP plots too.

use super::facts::{FlowFacts, RunFacts, Way};
use super::measure::{FlowMeasure, Measurements, Trip};
use super::sink::{ExportError, write_whole};
use flate2::Compression;
use flate2::write::GzEncoder;
use justfull_base::Duration;
use justfull_lab::stats::jain;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Default length of flent's steps, as in flent.
pub const STEP: Duration = Duration::from_millis(200);

/// Version of flent's data format.
const FORMAT: u32 = 4;
/// The version of flent that defines this format.
const FLENT: &str = "2.3.0";
/// Extension of flent's files.
const SUFFIX: &str = ".flent.gz";
/// Time 0 of the simulation.
const EPOCH: &str = "1970-01-01T00:00:00.000000Z";

/// A series: one value per step, or none.
type Series = Vec<Option<f64>>;

/// The parts of a data file.
#[derive(Default)]
struct Data {
    results: Map<String, Value>,
    raw: Map<String, Value>,
    meta: Map<String, Value>,
}

impl Data {
    fn add(&mut self, name: &str, units: &str, series: Series, raw: Vec<Value>) {
        self.results.insert(name.into(), json!(series));
        self.raw.insert(name.into(), Value::Array(raw));
        let mean = mean(series.iter().flatten().copied());
        self.meta.insert(name.into(), json!({"UNITS": units, "MEAN_VALUE": mean}));
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    justfull_lab::stats::mean(&values)
}

/// Middles of the steps in seconds, the horizontal positions of values.
fn middle(measured: &Measurements, step: usize) -> f64 {
    (step as f64 + 0.5) * measured.step().as_secs_f64()
}

fn goodput(measured: &Measurements, flow: &FlowMeasure) -> Series {
    let to_mbit = 8e-6 / measured.step().as_secs_f64();
    let value = |step| Some(flow.received.get(step).copied().unwrap_or(0) as f64 * to_mbit);
    (0..measured.steps()).map(value).collect()
}

/// Goodput of the TCP flows whose payload goes `way`; flent names them `title`.
fn streams(data: &mut Data, measured: &Measurements, facts: &RunFacts, way: Way, title: &str) {
    let flows: Vec<&FlowMeasure> = facts
        .flows
        .iter()
        .zip(measured.flows())
        .filter(|(f, _)| f.stream == Some(way))
        .map(|(_, m)| m)
        .collect();
    let all: Vec<Series> = flows.iter().map(|flow| goodput(measured, flow)).collect();
    for (i, series) in all.iter().enumerate() {
        let name = if all.len() == 1 { title.into() } else { format!("{title}::{}", i + 1) };
        let raw = series.iter().enumerate();
        let raw =
            raw.map(|(step, value)| json!({"t": middle(measured, step), "val": value})).collect();
        data.add(&name, "Mbits/s", series.clone(), raw);
    }
    if all.len() < 2 {
        return;
    }
    let over = |of: &dyn Fn(&[f64]) -> Option<f64>| -> Series {
        (0..measured.steps())
            .map(|step| of(&all.iter().filter_map(|s| s[step]).collect::<Vec<_>>()))
            .collect()
    };
    data.add(&format!("{title} sum"), "Mbits/s", over(&|v| Some(v.iter().sum())), Vec::new());
    data.add(&format!("{title} avg"), "Mbits/s", over(&justfull_lab::stats::mean), Vec::new());
    data.add(&format!("{title} fairness"), "Idx", over(&jain), Vec::new());
}

/// Mean of `value` over the trips that began in each step.
fn by_step(
    measured: &Measurements,
    trips: &[Trip],
    value: impl Fn(usize) -> Option<f64>,
) -> Series {
    let mut sums = vec![(0u32, 0.0); measured.steps()];
    for (i, trip) in trips.iter().enumerate() {
        let step = (trip.sent.as_nanos() / measured.step().as_nanos()) as usize;
        if let (Some(sum), Some(value)) = (sums.get_mut(step), value(i)) {
            sum.0 += 1;
            sum.1 += value;
        }
    }
    sums.into_iter().map(|(n, sum)| (n > 0).then(|| sum / f64::from(n))).collect()
}

fn raw(trips: &[Trip], value: impl Fn(usize) -> Option<f64>) -> Vec<Value> {
    let point = |(i, trip): (usize, &Trip)| {
        Some(json!({"t": trip.sent.as_secs_f64(), "seq": i, "val": value(i)?}))
    };
    trips.iter().enumerate().filter_map(point).collect()
}

/// Difference between the one-way delays of trip `i` and the previous one.
fn variation(trips: &[Trip], i: usize) -> Option<f64> {
    let (before, own) = (trips.get(i.checked_sub(1)?)?.one_way()?, trips[i].one_way()?);
    Some((own.as_millis_f64() - before.as_millis_f64()).abs())
}

fn voip(data: &mut Data, measured: &Measurements, trips: &[Trip]) {
    let delay = |i: usize| trips[i].one_way().map(Duration::as_millis_f64);
    data.add("VoIP::delay", "ms", by_step(measured, trips, delay), raw(trips, delay));
    let jitter = |i| variation(trips, i);
    data.add("VoIP::jitter", "ms", by_step(measured, trips, jitter), raw(trips, jitter));
    let mut lost: Series = vec![Some(0.0); measured.steps()];
    for trip in trips.iter().filter(|trip| trip.dropped) {
        let step = (trip.sent.as_nanos() / measured.step().as_nanos()) as usize;
        if let Some(Some(lost)) = lost.get_mut(step) {
            *lost += 1.0;
        }
    }
    data.add(
        "VoIP::loss",
        "count",
        lost,
        raw(trips, |i| Some(f64::from(u8::from(trips[i].dropped)))),
    );
}

/// The content of the data file at `path`.
fn content(path: &Path, measured: &Measurements, facts: &RunFacts) -> Value {
    let mut data = Data::default();
    streams(&mut data, measured, facts, Way::Down, "TCP download");
    streams(&mut data, measured, facts, Way::Up, "TCP upload");
    let streams = facts.flows.iter().filter(|flow| flow.stream == Some(Way::Down)).count();
    let first = |answered: bool| {
        let wanted =
            |(flow, _): &(&FlowFacts, _)| flow.datagrams.is_some() && flow.answered == answered;
        facts.flows.iter().zip(measured.flows()).find(wanted).map(|(_, measure)| measure)
    };
    if let Some(FlowMeasure { trips, .. }) = first(true) {
        let rtt = |i: usize| trips[i].round_trip().map(Duration::as_millis_f64);
        data.add("Ping (ms) ICMP", "ms", by_step(measured, trips, rtt), raw(trips, rtt));
    }
    let mut parameters = Map::new();
    if let Some(FlowMeasure { trips, .. }) = first(false) {
        voip(&mut data, measured, trips);
        parameters.insert("voip_host".into(), json!("ue"));
    }
    let test = match streams {
        0 => "ping",
        1 => "tcp_download",
        _ => {
            parameters.insert("download_streams".into(), json!(streams.to_string()));
            "tcp_ndown"
        }
    };
    let seconds = facts.duration.as_secs_f64();
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let file = if file.ends_with(SUFFIX) { file } else { format!("{file}{SUFFIX}") };
    let own = &facts.provenance;
    let x: Vec<f64> = (0..measured.steps()).map(|step| middle(measured, step)).collect();
    json!({
        "version": FORMAT,
        "metadata": {
            "NAME": test,
            "TITLE": format!("{} {} seed {}", own.scenario, own.method, own.seed),
            "NOTE": "simulated by justfull; its settings are under JUSTFULL",
            "DATA_FILENAME": file,
            "HOST": "ue",
            "HOSTS": ["ue"],
            "LOCAL_HOST": "server",
            "T0": EPOCH,
            "TIME": EPOCH,
            "LENGTH": seconds,
            "TOTAL_LENGTH": seconds,
            "STEP_SIZE": measured.step().as_secs_f64(),
            "TEST_PARAMETERS": parameters,
            "FLENT_VERSION": FLENT,
            "IP_VERSION": 4,
            "BATCH_NAME": null,
            "BATCH_TIME": null,
            "BATCH_TITLE": null,
            "BATCH_UUID": null,
            "SERIES_META": data.meta,
            "JUSTFULL": own,
        },
        "x_values": x,
        "results": data.results,
        "raw_values": data.raw,
    })
}

/// Writes the data file of a run; flent expects a name that ends in `.flent.gz`.
///
/// # Errors
/// Names the file if it cannot be written; no file is left then.
pub fn write(path: &Path, measured: &Measurements, facts: &RunFacts) -> Result<(), ExportError> {
    let content = content(path, measured, facts);
    write_whole(path, |out| {
        // The gzip header holds no time, so equal runs give equal files.
        let mut gz = GzEncoder::new(out, Compression::default());
        serde_json::to_writer(&mut gz, &content)?;
        gz.finish().map(drop)
    })
}
