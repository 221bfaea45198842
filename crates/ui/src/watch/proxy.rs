//! A proxy, from its metrics or from the answers at its socket.

use super::exposition::Sample;
use super::{MOST_NAMES, Point, Reading, Run};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Connections and UEs of which the page has a row.
const MOST_ROWS: usize = 50;

/// A proxy at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Proxy {
    seconds: f64,
    capacity: f64,
    /// Bytes since the start of the proxy, or of each open connection, by direction.
    bytes: BTreeMap<String, [f64; 2]>,
    /// Round trips of the wired and the radio leg, in seconds.
    legs: [f64; 2],
    /// Windows, in the unit of the source.
    windows: BTreeMap<String, Option<f64>>,
    now: Value,
    rows: Vec<(String, Value)>,
}

impl Proxy {
    /// The proxy whose metrics are `samples`; none if they are not of a proxy.
    pub(super) fn of(samples: &[Sample<'_>]) -> Option<Self> {
        let seconds = samples.iter().find(|sample| sample.name == "justfull_proxy_seconds")?.value;
        let mut proxy = Self { seconds, ..Self::default() };
        let mut now = Map::new();
        for sample in samples {
            let value = sample.value;
            match sample.name {
                "justfull_proxy_bytes_total" => {
                    let way = usize::from(sample.label("way") == "up");
                    proxy.bytes.entry(String::new()).or_default()[way] = value;
                }
                "justfull_proxy_cell_capacity_bytes" => proxy.capacity += value,
                "justfull_proxy_leg_rtt_seconds" => {
                    proxy.legs[usize::from(sample.label("leg") == "radio")] = value;
                }
                "justfull_proxy_cell_windows" if proxy.windows.len() < MOST_NAMES => {
                    let name = format!("windows of cell {}, % of it", sample.label("cell"));
                    proxy.windows.insert(name, Some(100.0 * value));
                }
                "justfull_proxy_flows" | "justfull_proxy_ues" => {
                    let name = sample.name.trim_start_matches("justfull_proxy_");
                    now.insert(name.into(), json!(value));
                }
                _ => {}
            }
        }
        proxy.now = Value::Object(now);
        Some(proxy)
    }

    /// The proxy whose answers to `status` and `flows` are these.
    pub(super) fn answered(status: &Value, flows: &Value) -> Option<Self> {
        let number = |of: &Value, key: &str| of[key].as_f64().unwrap_or_default();
        let list = |of: &Value, key: &str| of[key].as_array().cloned().unwrap_or_default();
        let flows = flows.as_array()?;
        let cells = list(status, "cells");
        let capacity = cells.iter().map(|cell| number(cell, "capacity_bytes_per_s"));
        let leg = |key: &str| {
            let known = flows.iter().map(|flow| number(flow, key)).filter(|rtt| *rtt > 0.0);
            let known: Vec<f64> = known.collect();
            known.iter().sum::<f64>() / known.len() as f64
        };
        let sum =
            |key: &str| flows.iter().filter_map(|flow| flow[key].as_f64()).reduce(|a, b| a + b);
        let windows = [
            ("windows of the servers' legs, kB", "server_window"),
            ("windows of the radio legs, kB", "radio_window"),
            ("in flight to the UEs, kB", "in_flight"),
        ];
        let key = |flow: &Value| format!("{} {} {}", flow["pool"], flow["client"], flow["server"]);
        let bytes =
            |flow: &Value| (key(flow), [number(flow, "bytes_down"), number(flow, "bytes_up")]);
        let mut now =
            json!({ "ues": list(status, "ues").into_iter().take(MOST_ROWS).collect::<Vec<_>>() });
        for name in ["state", "control", "radio_leg", "unsplit", "cells", "return_path"] {
            now[name] = status[name].clone();
        }
        now["source"] = status["radio"]["state"].clone();
        now["open"] = status["flows"].clone();
        Some(Self {
            seconds: status["seconds"].as_f64()?,
            capacity: capacity.sum(),
            bytes: flows.iter().map(bytes).collect(),
            legs: [leg("wired_rtt_s"), leg("radio_rtt_s")],
            windows: windows.map(|(name, of)| (name.to_owned(), sum(of).map(|w| w * 1e-3))).into(),
            now,
            rows: flows.iter().map(|flow| (key(flow), flow.clone())).collect(),
        })
    }

    /// Bytes of each connection since `before`, by direction; none for a connection that `before`
    /// lacks. A younger connection may have the ports of an ended one.
    fn since(&self, before: &Self) -> BTreeMap<&str, [f64; 2]> {
        let since = self.bytes.iter().filter_map(|(key, now)| {
            let then = before.bytes.get(key)?;
            let since = [now[0] - then[0], now[1] - then[1]];
            let grown = since.iter().all(|bytes| *bytes >= 0.0);
            grown.then_some((key.as_str(), since))
        });
        since.collect()
    }
}

impl Reading for Proxy {
    fn run(&self) -> Run {
        Run { kind: "proxy", ..Run::default() }
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn point(&self, before: &Self) -> Point {
        let passed = self.seconds - before.seconds;
        let since = self.since(before);
        let rate = |way: usize| since.values().map(|bytes| bytes[way]).sum::<f64>() * 8e-6 / passed;
        let leg = |at: usize| Some(self.legs[at] * 1e3).filter(|ms| ms.is_finite());
        let named = |pairs: [(&str, Option<f64>); 2]| {
            pairs.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
        };
        let mut rows: Vec<(f64, Value)> = Vec::new();
        for (key, flow) in &self.rows {
            let down = since.get(key.as_str()).map(|bytes| bytes[0] * 8e-6 / passed);
            let mut row = json!({ "down_mbit_s": down });
            for name in [
                "client",
                "server",
                "category",
                "server_window",
                "radio_window",
                "in_flight",
                "wired_rtt_s",
                "radio_rtt_s",
            ] {
                row[name] = flow[name].clone();
            }
            rows.push((down.unwrap_or(-1.0), row));
        }
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows.truncate(MOST_ROWS);
        Point {
            delay_ms: named([("wired leg", leg(0)), ("radio leg", leg(1))]),
            rate_mbit_s: named([("to the UEs", Some(rate(0))), ("from the UEs", Some(rate(1)))]),
            capacity_mbit_s: (self.capacity > 0.0).then_some(self.capacity * 8e-6),
            level: self.windows.clone(),
            rows: rows.into_iter().map(|(_, row)| row).collect(),
            ..Point::default()
        }
    }

    fn now(&self) -> Value {
        self.now.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::exposition::samples;
    use super::*;

    #[test]
    fn metrics_of_a_proxy_become_rates_round_trips_and_shares() {
        let at = |seconds: f64, down: f64| {
            let text = format!(
                "justfull_proxy_bytes_total{{way=\"up\"}} 0\n\
                 justfull_proxy_bytes_total{{way=\"down\"}} {down}\n\
                 justfull_proxy_leg_rtt_seconds{{leg=\"wired\"}} 0.01\n\
                 justfull_proxy_leg_rtt_seconds{{leg=\"radio\"}} NaN\n\
                 justfull_proxy_cell_capacity_bytes{{cell=\"a\"}} 1000000\n\
                 justfull_proxy_cell_capacity_bytes{{cell=\"b\"}} 500000\n\
                 justfull_proxy_cell_windows{{cell=\"a\"}} 0.5\njustfull_proxy_flows 3\n\
                 justfull_proxy_seconds {seconds}\n"
            );
            Proxy::of(&samples(&text).expect("it is sound")).expect("it is a proxy")
        };
        let (before, now) = (at(10.0, 0.0), at(10.5, 125_000.0));
        let point = now.point(&before);
        assert_eq!(point.rate_mbit_s["to the UEs"], Some(2.0));
        assert_eq!(point.capacity_mbit_s, Some(12.0));
        assert_eq!((point.delay_ms["wired leg"], point.delay_ms["radio leg"]), (Some(10.0), None));
        assert_eq!(point.level["windows of cell a, % of it"], Some(50.0));
        assert_eq!(now.now()["flows"], 3.0);
        assert!(Proxy::of(&samples("a 1\n").expect("sound")).is_none());
    }

    #[test]
    fn answers_at_the_socket_become_rates_windows_and_rows_the_busiest_first() {
        let at = |seconds: u64| {
            let flow = |n: u64| {
                json!({
                    "client": format!("10.45.0.1:500{n}"), "server": "10.46.0.1:443",
                    "bytes_down": n * seconds * 125_000, "bytes_up": 0, "server_window": 14_000,
                    "radio_window": 28_000, "in_flight": 1_000, "wired_rtt_s": 0.01,
                    "radio_rtt_s": 0.03,
                })
            };
            let status = json!({
                "state": "running", "seconds": seconds, "control": "rapid", "flows": 2,
                "radio": { "state": "connected" }, "ues": [{ "ue": "10.45.0.1" }],
                "cells": [{ "cell": "a", "capacity_bytes_per_s": 2_500_000.0 }],
            });
            Proxy::answered(&status, &Value::Array((1..=2).map(flow).collect())).expect("sound")
        };
        let (before, now) = (at(1), at(2));
        let point = now.point(&before);
        assert_eq!(point.rate_mbit_s["to the UEs"], Some(3.0));
        assert_eq!(point.capacity_mbit_s, Some(20.0));
        assert_eq!(point.delay_ms["radio leg"], Some(30.0));
        assert_eq!(point.level["windows of the radio legs, kB"], Some(56.0));
        let clients: Vec<_> = point.rows.iter().map(|row| row["client"].clone()).collect();
        assert_eq!(clients, ["10.45.0.1:5002", "10.45.0.1:5001"]);
        assert_eq!(point.rows[0]["down_mbit_s"], 2.0);
        assert_eq!(before.point(&now).rate_mbit_s["to the UEs"], Some(0.0), "other connections");
        assert!(Proxy::answered(&json!({}), &json!([])).is_none());
        assert!(Proxy::answered(&json!("x"), &json!("y")).is_none());
    }
}
