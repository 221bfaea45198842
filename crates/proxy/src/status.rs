//! The output of a running proxy: its state and its flows in JSON, its metrics for Prometheus.

use crate::engine::Engine;
use crate::flow::{Flow, Outcome};
use crate::guard::UNANSWERED;
use crate::radio::State;
use crate::steering::STALE;
use crate::system;
use justfull_base::Instant;
use justfull_rapid::Windows;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// UEs that `status` lists.
const MOST_UES: usize = 1_000;

impl Engine {
    /// The proxy as a whole.
    pub(crate) fn status(&self, now: Instant) -> String {
        let mut ues = self.shared.steering.status(now);
        let known = ues.len();
        ues.truncate(MOST_UES);
        let outcomes: serde_json::Map<String, Value> = Outcome::ALL
            .into_iter()
            .zip(self.totals.ended)
            .map(|(outcome, count)| (outcome.name().to_owned(), count.into()))
            .collect();
        let value = json!({
            "state": if self.drain_until.is_some() { "draining" } else { "running" },
            "process": std::process::id(),
            "seconds": now.since(Instant::ZERO).as_secs_f64(),
            "table": self.host.table.name(),
            "reclaimed": self.host.delivery.reclaimed(),
            "control": self.config.control.name(),
            "radio_leg": self.shared.leg.way().name(),
            "radio_leg_refused": self.leg_refused,
            "flows": self.open,
            "flows_limit": self.host.limits.flows,
            "unsplit": self.guard.why(now),
            "greedy_ues": self.guard.greedy(),
            "first_segments": self.guard.diverted,
            "accepted_of": self.totals.accepted_of,
            "routes_restored": self.totals.routes_restored,
            "pipes": self.shared.pool.used(),
            "pipes_limit": self.host.limits.pipes,
            "accepted": self.totals.accepted,
            "over_limit": self.totals.over_limit,
            "return_path": self.return_path(),
            "flood": self.flood.is_on(),
            "ended": outcomes,
            "time_waits_ended": self.shared.time_waits,
            "log_lines_lost": self.log.lost,
            "reloads": self.reloads,
            "last_reload": self.last_reload,
            "radio": self.radio_state(now),
            "ues_known": known,
            "ues": ues,
        });
        format!("{value}\n")
    }

    /// Whether the servers' answers pass through this host.
    fn return_path(&self) -> &'static str {
        let unanswered = self.totals.ended[Outcome::NoAnswer as usize];
        if self.totals.answered > 0 || self.flows().any(|flow| flow.connected) {
            "works"
        } else if unanswered >= UNANSWERED {
            "no server has answered: do answers come back through this host?"
        } else {
            "no connection yet"
        }
    }

    fn radio_state(&self, now: Instant) -> Value {
        let (source, of) = (&self.radio, self.shared.steering.counts);
        let coming = self.reported.is_some_and(|at| now.since(at) < STALE);
        let state = match source.state() {
            State::Connected if !coming => "silent".to_owned(),
            state => state.to_string(),
        };
        json!({
            "source": self.config.radio.name(),
            "state": state,
            "taken": of.taken,
            "late": of.late,
            "absurd": of.absurd,
            "without_flows": of.without_flows,
            "garbled": source.garbled(),
            "dropped": source.dropped(),
            "unknown": source.unknown(),
            "connections": source.connections(),
        })
    }

    /// Every open connection.
    pub(crate) fn flow_list(&self, now: Instant) -> String {
        let flows: Vec<Value> = self.flows().map(|flow| self.flow(flow, now)).collect();
        format!("{}\n", Value::Array(flows))
    }

    fn flow(&self, flow: &Flow, now: Instant) -> Value {
        let info = |end: &crate::relay::End| system::tcp_info(&end.socket).unwrap_or_default();
        let (client, server) = (info(&flow.client), info(&flow.server));
        let view = flow.id.and_then(|id| self.shared.steering.view(id));
        let limited = flow.windows != Windows::UNLIMITED;
        json!({
            "client": flow.client_at.to_string(),
            "server": flow.server_at.to_string(),
            "ue": flow.id.and_then(|id| self.shared.steering.ue_of(id)),
            "connected": flow.connected,
            "seconds": now.since(flow.opened).as_secs_f64(),
            "silent_s": now.since(flow.active).as_secs_f64(),
            "bytes_up": flow.up.bytes,
            "bytes_down": flow.down.bytes,
            "closed": [flow.up.closed, flow.down.closed],
            "mss": flow.mss,
            "category": view.map(|view| format!("{:?}", view.category).to_lowercase()),
            "demand_bytes_per_s": view.and_then(|view| view.demand),
            "server_window": limited.then_some(flow.windows.server),
            "advertised": server.advertised,
            "radio_window": limited.then_some(flow.windows.radio),
            "pace_bytes_per_s": flow.pace_rate(),
            "cwnd": client.cwnd,
            "in_flight": client.in_flight,
            "reading": flow.windows.reading,
            "wired_rtt_s": flow.wired.as_secs_f64(),
            "radio_rtt_s": flow.radio.as_secs_f64(),
            "radio_acks": client.acks,
        })
    }

    /// Metrics of diversion and of lost reports.
    fn diversion_metrics(&self, now: Instant, text: &mut String) {
        let mut family = |name: &str, kind: &str, help: &str, samples: &[(String, f64)]| {
            write_family(text, name, kind, help, samples);
        };
        let (one, totals) = (|value: f64| vec![(String::new(), value)], &self.totals);
        let families = |counts: [u64; 2]| -> Vec<(String, f64)> {
            let named = ["ipv4", "ipv6"].into_iter().zip(counts);
            named.map(|(name, n)| (format!("{{family=\"{name}\"}}"), n as f64)).collect()
        };
        let first = families(self.guard.diverted);
        let help = "First segments diverted; those without a connection were never accepted.";
        family("justfull_proxy_first_segments_total", "counter", help, &first);
        let help = "Connections taken, by family.";
        family("justfull_proxy_taken_total", "counter", help, &families(totals.accepted_of));
        let unsplit = one(f64::from(u8::from(!self.guard.why(now).is_empty())));
        let help = "1 while new connections pass unsplit.";
        family("justfull_proxy_unsplit", "gauge", help, &unsplit);
        let greedy = one(self.guard.greedy() as f64);
        let help = "UEs with more than their share, whose new connections pass unsplit.";
        family("justfull_proxy_greedy_ues", "gauge", help, &greedy);
        let restored = one(totals.routes_restored as f64);
        let help = "Times that policy routes were made whole again.";
        family("justfull_proxy_routes_restored_total", "counter", help, &restored);
        let flood = one(f64::from(u8::from(self.flood.is_on())));
        family("justfull_proxy_flood", "gauge", "1 while SYN cookies are out.", &flood);
        let lost = one(self.log.lost as f64);
        family("justfull_proxy_log_lines_lost_total", "counter", "Lines of the log lost.", &lost);
    }

    /// The metrics in Prometheus's text format 0.0.4.
    pub(crate) fn metrics(&self, now: Instant) -> String {
        let mut text = String::new();
        self.diversion_metrics(now, &mut text);
        let mut family = |name: &str, kind: &str, help: &str, samples: &[(String, f64)]| {
            write_family(&mut text, name, kind, help, samples);
        };
        let one = |value: f64| vec![(String::new(), value)];
        let (totals, radio) = (&self.totals, self.shared.steering.counts);
        let open = self
            .flows()
            .fold([0_u64; 2], |sum, flow| [sum[0] + flow.up.bytes, sum[1] + flow.down.bytes]);
        family("justfull_proxy_flows", "gauge", "Open connections.", &one(self.open as f64));
        let limit = one(self.host.limits.flows as f64);
        family("justfull_proxy_flows_limit", "gauge", "Connections that there may be.", &limit);
        let pipes = one(f64::from(self.shared.pool.used()));
        family("justfull_proxy_pipes", "gauge", "Pipes that hold data.", &pipes);
        let accepted = one(totals.accepted as f64);
        family("justfull_proxy_accepted_total", "counter", "Connections taken.", &accepted);
        let over = one(totals.over_limit as f64);
        let help = "Connections reset because there was no room.";
        family("justfull_proxy_over_limit_total", "counter", help, &over);
        let ended: Vec<_> = Outcome::ALL
            .into_iter()
            .zip(totals.ended)
            .map(|(outcome, n)| (format!("{{outcome=\"{}\"}}", outcome.name()), n as f64))
            .collect();
        family("justfull_proxy_ended_total", "counter", "Connections that have ended.", &ended);
        let bytes: Vec<_> = ["up", "down"]
            .into_iter()
            .zip(totals.bytes.into_iter().zip(open))
            .map(|(way, (ended, open))| (format!("{{way=\"{way}\"}}"), (ended + open) as f64))
            .collect();
        family("justfull_proxy_bytes_total", "counter", "Bytes relayed.", &bytes);
        let garbled = self.radio.garbled();
        let (dropped, unknown) = (self.radio.dropped(), self.radio.unknown());
        let reports: Vec<_> = [
            ("taken", radio.taken),
            ("late", radio.late),
            ("absurd", radio.absurd),
            ("garbled", garbled),
            ("dropped", dropped),
            ("unknown", unknown),
        ]
        .into_iter()
        .map(|(what, n)| (format!("{{what=\"{what}\"}}"), n as f64))
        .collect();
        family("justfull_proxy_reports_total", "counter", "Reports of the radio.", &reports);
        let ages = self.shared.steering.status(now);
        let newest = ages.iter().filter_map(|ue| ue.report_age_s).fold(f64::NAN, f64::min);
        let help = "Time since the last report that counts; NaN without one.";
        family("justfull_proxy_report_age_seconds", "gauge", help, &one(newest));
        let seconds = now.since(Instant::ZERO).as_secs_f64();
        family("justfull_proxy_seconds", "gauge", "Time since the start.", &one(seconds));
        text
    }
}

/// One metric: its name, kind and description, and its samples by their labels.
fn write_family(text: &mut String, name: &str, kind: &str, help: &str, samples: &[(String, f64)]) {
    // Writing to a string does not fail.
    let _ok = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in samples {
        let _ok = writeln!(text, "{name}{labels} {value}");
    }
}
