//! The answers of a running stage.

use crate::machine::Machine;
use crate::packet::Direction;
use serde_json::{Value, json};
use std::fmt::Write;

/// Counts of the loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Unchanged datagrams of the uplink and of the downlink.
    pub(crate) passed: [u64; 2],
    /// Packets of several datagrams, as they were read.
    pub(crate) joined: u64,
    /// Packets that the kernel did not take.
    pub(crate) refused: u64,
    /// Packets of IPsec.
    pub(crate) esp: u64,
}

/// The facts for an answer.
pub(crate) struct Seen<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) totals: Totals,
    /// Since the start.
    pub(crate) seconds: f64,
}

/// Its state, as JSON.
pub(crate) fn status(seen: &Seen<'_>) -> String {
    let [ues, flows] = seen.machine.sizes();
    let unopened = seen.machine.unopened().map(|(to, teid)| format!("TEID {teid:#x} at {to}"));
    let [uplink, downlink] = seen.totals.passed;
    let value = json!({
        "seconds": seen.seconds,
        "ues": ues,
        "flows": flows,
        "packets": seen.machine.counts(),
        "passed": { "uplink": uplink, "downlink": downlink },
        "joined": seen.totals.joined,
        "refused": seen.totals.refused,
        "encrypted": seen.totals.esp,
        "last_unopened": unopened,
    });
    format!("{value}\n")
}

/// Its UEs with their tunnels, as JSON.
pub(crate) fn tunnels(machine: &Machine) -> String {
    let all = machine.tables().ues().map(|(address, ue)| {
        let way = |direction: Direction| {
            ue.ways[direction as usize].map(|header| {
                json!({
                    "from": header.from,
                    "to": header.tunnel.to,
                    "teid": header.tunnel.teid,
                    "qfi": header.qfi(),
                })
            })
        };
        json!({
            "ue": address,
            "flows": ue.flows,
            "uplink": way(Direction::Uplink),
            "downlink": way(Direction::Downlink),
        })
    });
    format!("{}\n", Value::Array(all.collect()))
}

/// Counters and gauges in Prometheus' text format.
pub(crate) fn metrics(seen: &Seen<'_>) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, values: &[(&str, f64)]| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP justfull_n3_{name} {help}");
        let _ = writeln!(text, "# TYPE justfull_n3_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "justfull_n3_{name}{labels} {value}");
        }
    };
    let [ues, flows] = seen.machine.sizes();
    metric("ues", "gauge", "UEs with a known tunnel.", &[("", ues as f64)]);
    metric("flows", "gauge", "Connections that were taken.", &[("", flows as f64)]);
    let counts = serde_json::to_value(seen.machine.counts()).unwrap_or(Value::Null);
    for (name, value) in counts.as_object().into_iter().flatten() {
        let value = value.as_f64().unwrap_or_default();
        metric(&format!("{name}_total"), "counter", "Packets; see the guide.", &[("", value)]);
    }
    let totals = seen.totals;
    let [uplink, downlink] = totals.passed.map(|count| count as f64);
    let ways = [("{direction=\"uplink\"}", uplink), ("{direction=\"downlink\"}", downlink)];
    metric("passed_total", "counter", "Datagrams that passed unchanged.", &ways);
    metric(
        "joined_total",
        "counter",
        "Packets of several datagrams.",
        &[("", totals.joined as f64)],
    );
    metric("refused_total", "counter", "Those the kernel refused.", &[("", totals.refused as f64)]);
    metric("encrypted_total", "counter", "Packets of IPsec.", &[("", totals.esp as f64)]);
    text
}
