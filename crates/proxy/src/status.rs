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
            "directory": self.directory.account(),
            "cells": self.shared.steering.cell_status(now),
            "slowest_turn_s": self.turns.longest(now).as_secs_f64(),
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
            "services": source
                .services()
                .iter()
                .map(|one| json!({ "name": one.name, "state": one.state.to_string() }))
                .collect::<Vec<Value>>(),
            "taken": of.taken,
            "late": of.late,
            "absurd": of.absurd,
            "without_flows": of.without_flows,
            "unknown_cell": of.unknown_cell,
            "two_cells": of.two_cells,
            "disputed": of.disputed,
            "moves": of.moves,
            "merges": of.merges,
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
            "mss": [client.mss, server.mss],
            "category": view.map(|view| format!("{:?}", view.category).to_lowercase()),
            "demand_bytes_per_s": view.and_then(|view| view.demand),
            "server_window": limited.then_some(flow.windows.server),
            "advertised": server.advertised,
            "radio_window": limited.then_some(flow.windows.radio),
            "pace_bytes_per_s": flow.pace_rate(),
            "cwnd": client.cwnd,
            "in_flight": client.in_flight,
            "reading": flow.windows.reading,
            "wired_rtt_s": if flow.wired.is_zero() { server.rtt } else { flow.wired }.as_secs_f64(),
            "radio_rtt_s": client.rtt.as_secs_f64(),
            "radio_acks": client.acks,
        })
    }
}
