//! The output of a running proxy: its state and its flows in JSON, its metrics for Prometheus.

use crate::engine::Engine;
use crate::flow::Outcome;
use crate::guard::UNANSWERED;
use crate::held::Held;
use crate::pools::PoolId;
use crate::radio::State;
use crate::steering::STALE;
use crate::workers::Workers;
use justfull_base::Instant;
use justfull_rapid::FlowId;
use serde_json::{Value, json};

/// UEs that `status` lists.
const MOST_UES: usize = 1_000;

impl Engine {
    /// The proxy as a whole.
    pub(crate) fn status(&self, now: Instant) -> String {
        let mut ues = self.steering.status(now);
        let known = ues.len();
        ues.truncate(MOST_UES);
        let load = self.load();
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
            "radio_leg": self.connections.shared.leg.way().name(),
            "radio_leg_refused": self.leg_refused,
            "flows": self.open(),
            "flows_limit": self.host.limits.flows,
            "unsplit": self.guard.why(now),
            "greedy_ues": self.guard.greedy(),
            "first_segments": self.guard.diverted,
            "unknown_reset": self.resets,
            "waiting_for_servers": self.held.as_ref().map(Held::waiting),
            "wait_refused": self.wait_refused,
            "accepted_of": self.totals.accepted_of,
            "routes_restored": self.totals.routes_restored,
            "pipes": load.pipes,
            "pipes_limit": self.host.limits.pipes,
            "accepted": self.totals.accepted,
            "over_limit": self.totals.over_limit,
            "return_path": self.return_path(load.connected),
            "flood": self.flood.is_on(),
            "ended": outcomes,
            "time_waits_ended": load.time_waits,
            "log_lines_lost": self.log.lost,
            "reloads": self.reloads,
            "last_reload": self.last_reload,
            "radio": self.radio_state(now),
            "directory": self.directory.account(),
            "cells": self.steering.cell_status(now),
            "pools": self.pool_list(),
            "workers": self.workers.as_ref().map(Workers::status).unwrap_or_default(),
            "slowest_turn_s": self.turns.longest(now).as_secs_f64(),
            "ues_known": known,
            "ues": ues,
        });
        format!("{value}\n")
    }

    /// The pools of the configuration.
    fn pool_list(&self) -> Vec<Value> {
        let all = self.steering.pools.iter().map(|(id, pool)| {
            let (ues, flows, capacity) = self.steering.pool_sums(id);
            json!({
                "pool": pool.name,
                "interface": pool.interface,
                "servers": pool.servers,
                "ues": ues,
                "flows": flows,
                "capacity_bytes_per_s": capacity,
            })
        });
        all.collect()
    }

    /// Whether the servers' answers pass through this host.
    fn return_path(&self, connected: usize) -> &'static str {
        let unanswered = self.totals.ended[Outcome::NoAnswer as usize];
        if self.totals.answered > 0 || connected > 0 {
            "works"
        } else if unanswered >= UNANSWERED {
            "no server has answered: do answers come back through this host?"
        } else {
            "no connection yet"
        }
    }

    fn radio_state(&self, now: Instant) -> Value {
        let (source, of) = (&self.radio, self.steering.counts);
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
            "unknown_pool": of.unknown_pool,
            "two_cells": of.two_cells,
            "disputed": of.disputed,
            "moves": of.moves,
            "merges": of.merges,
            "garbled": source.garbled(),
            "dropped": source.dropped(),
            "unknown": source.unknown(),
            "lacking": source.lacking(),
            "connections": source.connections(),
        })
    }

    /// Every open connection of this process.
    pub(crate) fn flow_list(&self, now: Instant) -> String {
        let one = |flow: &crate::flow::Flow| {
            let mut value = flow.shown(now);
            self.describe(flow.member.and_then(|member| member.id), &mut value);
            value
        };
        format!("{}\n", self.connections.flows().map(one).collect::<Value>())
    }

    /// Adds the control's view of a connection that takes part.
    pub(crate) fn describe(&self, id: Option<FlowId>, flow: &mut Value) {
        let view = id.and_then(|id| self.steering.view(id));
        let category = view.map(|view| format!("{:?}", view.category).to_lowercase());
        let pool = flow["pool"].as_u64().and_then(|number| u16::try_from(number).ok());
        flow["pool"] =
            pool.and_then(|number| self.steering.pools.name(PoolId::of_number(number))).into();
        flow["ue"] = id.and_then(|id| self.steering.ue_of(id)).into();
        flow["category"] = category.into();
        flow["demand_bytes_per_s"] = view.and_then(|view| view.demand).into();
    }
}
