//! Measurements of datagram flows under the names of irtt's JSON (its json_format 1); times in ns.
//!
//! The simulator's server is irtt's client: it sends, and `send` is the direction down to the UE. A
//! flow without replies (a call) has only one-way delays: its round trips have no `rtt`, and `lost`
//! covers the way down. Time 0 of the simulation is the epoch, and both ends share its clock.
//! irtt's statistics of its own machine (timer error, time in the send call, time in the server) do
//! not exist here: they have n = 0. The file's origin is under `justfull`.

use super::facts::{FlowFacts, RunFacts};
use super::measure::{Measurements, Trip};
use super::sink::{ExportError, write_whole};
use justfull_base::{Duration, Instant};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Version of the layout.
const JSON_FORMAT: u32 = 1;
/// Version of the protocol between irtt's client and server.
const PROTOCOL_VERSION: u32 = 1;
/// The version of irtt that uses these names.
const IRTT: &str = "0.9.1";

/// Statistics of durations in irtt's form.
fn duration_stats(mut ns: Vec<f64>) -> Value {
    ns.sort_by(f64::total_cmp);
    let (Some(min), Some(max), Some(mean)) =
        (ns.first(), ns.last(), justfull_lab::stats::mean(&ns))
    else {
        return json!({"total": 0, "n": 0, "min": 0, "max": 0, "mean": 0, "stddev": 0,
            "variance": 0});
    };
    let sd = justfull_lab::stats::sd(&ns).unwrap_or(0.0);
    let median = justfull_base::stats::quantile(&ns, 0.5).unwrap_or(mean);
    let whole = |x: f64| x.round() as u64;
    json!({
        "total": whole(ns.iter().sum()),
        "n": ns.len(),
        "min": whole(*min),
        "max": whole(*max),
        "mean": whole(mean),
        "median": whole(median),
        "stddev": whole(sd),
        "variance": whole(sd * sd),
    })
}

fn ns(time: Option<Duration>) -> Option<f64> {
    time.map(|t| t.as_nanos() as f64)
}

/// Delay from the UE back to the server.
fn way_back(trip: &Trip) -> Option<Duration> {
    Some(trip.replied?.since(trip.arrived?))
}

/// Signed difference of `of` between trip `i` and the previous trip, in ns; none unless both have a
/// value.
fn variation(trips: &[Trip], i: usize, of: fn(&Trip) -> Option<Duration>) -> Option<f64> {
    let before = of(trips.get(i.checked_sub(1)?)?)?;
    Some(of(&trips[i])?.as_nanos() as f64 - before.as_nanos() as f64)
}

fn variations(trips: &[Trip], of: fn(&Trip) -> Option<Duration>) -> Value {
    duration_stats((0..trips.len()).filter_map(|i| variation(trips, i, of)).map(f64::abs).collect())
}

fn delays(trips: &[Trip], of: fn(&Trip) -> Option<Duration>) -> Value {
    duration_stats(trips.iter().filter_map(|trip| ns(of(trip))).collect())
}

fn stamp(at: Option<Instant>) -> Value {
    at.map_or_else(|| json!({}), |at| json!({"wall": at.as_nanos(), "monotonic": at.as_nanos()}))
}

fn round_trip(trips: &[Trip], i: usize) -> Value {
    let trip = &trips[i];
    let mut delay = Map::new();
    let mut ipdv = Map::new();
    type Of = fn(&Trip) -> Option<Duration>;
    let quantities: [(&str, Of); 3] =
        [("receive", way_back), ("rtt", Trip::round_trip), ("send", Trip::one_way)];
    for (name, of) in quantities {
        if let Some(time) = of(trip) {
            delay.insert(name.into(), json!(time.as_nanos()));
        }
        if let Some(difference) = variation(trips, i, of) {
            ipdv.insert(name.into(), json!(difference as i64));
        }
    }
    json!({
        "seqno": i,
        "lost": if trip.dropped { "true_up" } else { "false" },
        "timestamps": {
            "client": {"receive": stamp(trip.replied), "send": stamp(Some(trip.sent))},
            "server": {"receive": stamp(trip.arrived),
                "send": stamp(trip.replied.and(trip.arrived))},
        },
        "delay": delay,
        "ipdv": ipdv,
    })
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Rate of `packets` of `payload` bytes between `first` and `last`.
fn rate(packets: u64, payload: u32, first: Option<Instant>, last: Option<Instant>) -> Value {
    let seconds = first.zip(last).map_or(0.0, |(first, last)| last.since(first).as_secs_f64());
    let bps = if seconds > 0.0 { (packets * u64::from(payload) * 8) as f64 / seconds } else { 0.0 };
    json!({"bps": bps.round() as u64, "string": format!("{:.1} Kbps", bps * 1e-3)})
}

fn stats(trips: &[Trip], payload: u32, one_way: bool, run: Duration) -> Value {
    let sent = trips.len() as u64;
    let arrived = trips.iter().filter(|trip| trip.arrived.is_some()).count() as u64;
    let replied = trips.iter().filter(|trip| trip.replied.is_some()).count() as u64;
    let down = trips.iter().filter(|trip| trip.dropped).count() as u64;
    // In a flow without replies, "received" counts arrivals at the UE.
    let received = if one_way { arrived } else { replied };
    let end = |trip: &Trip| if one_way { trip.arrived } else { trip.replied };
    let none = || duration_stats(Vec::new());
    json!({
        "start_time": stamp(Some(Instant::ZERO)),
        "send_call": none(),
        "timer_error": none(),
        "rtt": delays(trips, Trip::round_trip),
        "send_delay": delays(trips, Trip::one_way),
        "receive_delay": delays(trips, way_back),
        "server_packets_received": arrived,
        "bytes_sent": sent * u64::from(payload),
        "bytes_received": received * u64::from(payload),
        "duplicates": 0,
        "late_packets": 0,
        "wait": 0,
        "duration": run.as_nanos(),
        "expected_packets_sent": sent,
        "packets_sent": sent,
        "packets_received": received,
        "packet_loss_percent": percent(sent - received, sent),
        "upstream_loss_percent": percent(down, sent),
        "downstream_loss_percent": if one_way { 0.0 } else { percent(arrived - replied, arrived) },
        "duplicate_percent": 0,
        "late_packets_percent": 0,
        "ipdv_send": variations(trips, Trip::one_way),
        "ipdv_receive": variations(trips, way_back),
        "ipdv_round_trip": variations(trips, Trip::round_trip),
        "server_processing_time": none(),
        "timer_err_percent": 0,
        "timer_misses": 0,
        "timer_miss_percent": 0,
        "send_rate": rate(sent, payload, trips.first().map(|t| t.sent),
            trips.last().map(|t| t.sent)),
        "receive_rate": rate(
            received,
            payload,
            trips.iter().find_map(end),
            trips.iter().rev().find_map(end),
        ),
    })
}

/// The JSON of one flow.
fn content(flow: &FlowFacts, class: &str, trips: &[Trip], facts: &RunFacts) -> Value {
    let (payload, interval) = flow.datagrams.unwrap_or_default();
    let address =
        |ip: &[u8; 16], port: u16| format!("{}.{}.{}.{}:{port}", ip[12], ip[13], ip[14], ip[15]);
    let local = address(&flow.tuple.source, flow.tuple.source_port);
    let remote = address(&flow.tuple.destination, flow.tuple.destination_port);
    let own = json!({
        "local_address": local,
        "remote_address": remote,
        "open_timeouts": "",
        "params": {
            "proto_version": PROTOCOL_VERSION,
            "duration": facts.duration.as_nanos(),
            "interval": interval.as_nanos(),
            "length": payload,
            "received_stats": "both",
            "stamp_at": "both",
            "clock": "both",
            "dscp": 0,
            "server_fill": "",
        },
        "loose": false,
        "ip_version": "IPv4",
        "df": 2,
        "ttl": 64,
        "timer": "simple",
        "waiter": "",
        "filler": "none",
        "fill_one": false,
        "thread_lock": false,
    });
    let mut config = own.clone();
    config["supplied"] = own;
    json!({
        "version": {"irtt": IRTT, "protocol": PROTOCOL_VERSION, "json_format": JSON_FORMAT},
        "system_info": {"os": "justfull", "cpus": 1, "go_version": "", "hostname": "server"},
        "config": config,
        "stats": stats(trips, payload, !flow.answered, facts.duration),
        "round_trips": (0..trips.len()).map(|i| round_trip(trips, i)).collect::<Vec<_>>(),
        "justfull": {"provenance": facts.provenance, "flow": class},
    })
}

/// The flow to write: the first datagram flow that the scenario marks `low_latency`, else the first
/// datagram flow.
#[must_use]
pub fn flow_of(facts: &RunFacts) -> Option<usize> {
    let datagrams = |(_, flow): &(usize, &FlowFacts)| flow.datagrams.is_some();
    let flows = || facts.flows.iter().enumerate().filter(datagrams);
    flows().find(|(_, flow)| flow.low_latency).or_else(|| flows().next()).map(|(i, _)| i)
}

/// The error for a run without a datagram flow.
pub(super) fn without_flow(path: &Path) -> ExportError {
    let what =
        std::io::Error::other("the run has no flow of datagrams, which is what irtt measures");
    ExportError { path: path.into(), what }
}

/// Writes the JSON of the flow returned by [`flow_of`].
///
/// # Errors
/// Names the file if it cannot be written; no file is left then. A run without such a flow is an
/// error too.
pub fn write(path: &Path, measured: &Measurements, facts: &RunFacts) -> Result<(), ExportError> {
    let i = flow_of(facts).ok_or_else(|| without_flow(path))?;
    let content =
        content(&facts.flows[i], facts.class_of(i as u32), &measured.flows()[i].trips, facts);
    write_whole(path, |out| {
        serde_json::to_writer_pretty(&mut *out, &content)?;
        out.write_all(b"\n")
    })
}
