//! The state of a running box, for answers.

use crate::machine::{BearerView, Machine};
use serde_json::{Value, json};
use std::fmt::Write;

/// The counts of the loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Datagrams that took the detour.
    pub(crate) passed: u64,
    /// The same of the downlink, at an interface of its own.
    pub(crate) passed_down: u64,
    /// Datagrams that the kernel did not take back.
    pub(crate) refused: u64,
    /// Copies of the downlink that came too fast to be read.
    pub(crate) copies_lost: u64,
}

/// The facts for an answer.
pub(crate) struct Seen<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) totals: Totals,
    /// Since the start.
    pub(crate) seconds: f64,
    /// The device of the detour.
    pub(crate) device: &'a str,
}

/// Its state, as JSON.
pub(crate) fn status(seen: &Seen<'_>) -> String {
    let (bearers, bounded) = seen.machine.bearers();
    let value = json!({
        "seconds": seen.seconds,
        "device": seen.device,
        "bearers": bearers,
        "bounded_bearers": bounded,
        "memory_bytes": seen.machine.memory(),
        "held_bytes": seen.machine.held(),
        "frames": seen.machine.counts(),
        "detour": {
            "passed": seen.totals.passed,
            "passed_down": seen.totals.passed_down,
            "refused": seen.totals.refused,
        },
        "copies_lost": seen.totals.copies_lost,
    });
    format!("{value}\n")
}

/// Its bearers, as JSON.
pub(crate) fn bearers(machine: &Machine) -> String {
    let all: Vec<BearerView> = machine.views().collect();
    // Numbers, addresses and lists are always JSON.
    serde_json::to_string(&all).unwrap_or_default() + "\n"
}

/// Counters and gauges in Prometheus' text format.
pub(crate) fn metrics(seen: &Seen<'_>) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, values: &[(&str, f64)]| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP justfull_f1u_{name} {help}");
        let _ = writeln!(text, "# TYPE justfull_f1u_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "justfull_f1u_{name}{labels} {value}");
        }
    };
    let (bearers, bounded) = seen.machine.bearers();
    metric("bearers", "gauge", "Downlink tunnels.", &[("", bearers as f64)]);
    metric("bounded_bearers", "gauge", "Those whose reports are known.", &[("", bounded as f64)]);
    let in_flight: u64 = seen.machine.views().map(|view| u64::from(view.in_flight)).sum();
    let help = "Bytes between the box and the radio.";
    metric("in_flight_bytes", "gauge", help, &[("", in_flight as f64)]);
    let help = "Memory of the user data that waits in the box.";
    metric("held_bytes", "gauge", help, &[("", seen.machine.held() as f64)]);
    let counts = serde_json::to_value(seen.machine.counts()).unwrap_or(Value::Null);
    for (name, value) in counts.as_object().into_iter().flatten() {
        let value = value.as_f64().unwrap_or_default();
        metric(&format!("{name}_total"), "counter", "Frames; see the guide.", &[("", value)]);
    }
    let totals = seen.totals;
    metric("passed_total", "counter", "Datagrams of the uplink.", &[("", totals.passed as f64)]);
    metric("refused_total", "counter", "Those the kernel refused.", &[("", totals.refused as f64)]);
    let help = "Datagrams of the downlink.";
    metric("passed_down_total", "counter", help, &[("", totals.passed_down as f64)]);
    let help = "Copies of the downlink that were lost.";
    metric("copies_lost_total", "counter", help, &[("", totals.copies_lost as f64)]);
    text
}
