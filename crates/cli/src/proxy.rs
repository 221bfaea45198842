//! `proxy`: RAPID in service, and the status of a running proxy.

mod reload;
mod top;

use crate::args::ProxyCommand;
use crate::failure::Failure;
use crate::service::{Lines, answer, checked, listed, parsed, plain};
use crate::terminal::say;
use justfull_proxy::{ProxyConfig, ask};
use serde_json::Value;
use std::path::Path;
use top::client_of;

/// The service in messages.
const WHO: &str = "the proxy";

pub(crate) fn proxy(command: &ProxyCommand) -> Result<(), Failure> {
    match command {
        ProxyCommand::Run(args) => {
            let config = read(&args.file.config)?;
            let socket = config.operation.socket.clone();
            let ready = || say(&format!("proxying; justfull proxy status --socket {socket}"));
            let ended = match args.takeover {
                true => justfull_proxy::take_over(config, &args.file.config, ready),
                false => justfull_proxy::run(config, &args.file.config, ready),
            };
            ended.map_err(|e| Failure::usage(&e))
        }
        ProxyCommand::Check(args) => {
            checked(WHO, &justfull_proxy::check(&read(&args.file.config)?), args.json)
        }
        ProxyCommand::Reload(args) => reload::reload(&args.config),
        ProxyCommand::Status(args) => answer(WHO, ask(&args.socket, "status"), args.json, status),
        ProxyCommand::Flows(args) => answer(WHO, ask(&args.socket, "flows"), args.json, flows),
        ProxyCommand::Top(args) => top::run(args),
    }
}

fn read(file: &Path) -> Result<ProxyConfig, Failure> {
    ProxyConfig::read(file).map_err(|e| Failure::usage(&e))
}

/// The answer of the proxy at `socket`.
fn answer_of(socket: &Path, question: &str) -> Result<Value, Failure> {
    parsed(WHO, &ask(socket, question).map_err(|e| Failure::usage(&e))?)
}

/// A line for each subject, and then a line for each UE.
fn status(value: &Value) -> String {
    let mut lines = Lines::default();
    let mut line = |name: &str, what: String| lines.add(name, what);
    line("state", format!("{}, {} s", plain(&value["state"]), plain(&value["seconds"])));
    line("control", plain(&value["control"]));
    line("radio leg by", plain(&value["radio_leg"]));
    for why in value["radio_leg_refused"].as_array().into_iter().flatten() {
        line("", plain(why));
    }
    line("connections", format!("{} of {}", value["flows"], value["flows_limit"]));
    line("pipes", format!("{} of {}", value["pipes"], value["pipes_limit"]));
    let unsplit = value["unsplit"].as_array().map_or(&[][..], Vec::as_slice);
    if unsplit.is_empty() {
        line("new connections", "are split".into());
    }
    for why in unsplit {
        line("new connections", format!("pass unsplit: {}", plain(why)));
    }
    if value["greedy_ues"] != 0 {
        let ues = plain(&value["greedy_ues"]);
        line("", format!("those of {ues} UEs pass unsplit, which have more than their share"));
    }
    for (number, family) in ["IPv4", "IPv6"].into_iter().enumerate() {
        let of = |what: &str| plain(&value[what][number]);
        let (first, taken) = (of("first_segments"), of("accepted_of"));
        line("", format!("{family}: {first} first segments diverted, {taken} connections"));
    }
    if value["waiting_for_servers"].is_u64() {
        line("waiting", format!("{} for their servers", value["waiting_for_servers"]));
    }
    if value["wait_refused"].is_string() {
        line("waiting", format!("no client does: {}", plain(&value["wait_refused"])));
    }
    if value["unknown_reset"].as_u64().is_some_and(|count| count > 0) {
        let what = "segments of connections that this host does not have were answered with resets";
        line("unknown", format!("{} {what}", value["unknown_reset"]));
    }
    for one in value["workers"].as_array().into_iter().flatten() {
        let state = if one["runs"] == true { "runs" } else { "is started again" };
        let [flows, restarts] = ["flows", "restarts"].map(|key| plain(&one[key]));
        let what = format!("{state}, {flows} connections, restarted {restarts} times");
        line(&format!("worker {}", plain(&one["worker"])), what);
    }
    line("return path", plain(&value["return_path"]));
    line("flood", if value["flood"] == true { "yes: cookies are out" } else { "no" }.into());
    line("over the limit", plain(&value["over_limit"]));
    line("policy routes", format!("restored {} times", plain(&value["routes_restored"])));
    line("reclaimed at start", plain(&value["reclaimed"]));
    line("log lines lost", plain(&value["log_lines_lost"]));
    line("last reload", plain(&value["last_reload"]));
    lines.add_group("ended", &value["ended"]);
    let mut radio = value["radio"].clone();
    let services = radio.as_object_mut().and_then(|radio| radio.remove("services"));
    lines.add_group("radio", &radio);
    site(value, &services.unwrap_or_default(), &mut lines);
    lines.text()
}

/// A line for each service of the source, for the directory, and for each cell and UE.
fn site(value: &Value, services: &Value, lines: &mut Lines) {
    for one in services.as_array().into_iter().flatten() {
        lines.add(&format!("source {}", plain(&one["name"])), plain(&one["state"]));
    }
    lines.add_group("directory", &value["directory"]);
    for cell in value["cells"].as_array().into_iter().flatten() {
        let age = cell["report_age_s"].as_f64();
        let age = age.map_or("no report yet".into(), |age| format!("last report {age:.3} s ago"));
        let rate = cell["capacity_bytes_per_s"].as_f64().unwrap_or(0.0) * 8e-6;
        let held = cell["held"].as_f64().unwrap_or(0.0) * 100.0;
        let [ues, flows] = ["ues", "flows"].map(|key| plain(&cell[key]));
        lines.add(
            &format!("cell {}", plain(&cell["cell"])),
            format!("{ues} UEs, {flows} connections, {rate:.1} Mbit/s, {held:.0} % held, {age}"),
        );
    }
    for pool in value["pools"].as_array().into_iter().flatten() {
        let [name, interface, servers] =
            ["pool", "interface", "servers"].map(|key| plain(&pool[key]));
        let [ues, flows] = ["ues", "flows"].map(|key| plain(&pool[key]));
        let what = format!("{ues} UEs, {flows} connections, {interface} to {servers}");
        lines.add(&format!("pool {name}"), what);
    }
    for ue in value["ues"].as_array().into_iter().flatten() {
        let age = ue["report_age_s"].as_f64();
        let age = age.map_or(String::new(), |age| format!(", the last {age:.3} s ago"));
        lines.add(
            &plain(&ue["ue"]),
            format!(
                "cell {}, {} connections, reports: {}{age}{}",
                plain(&ue["cell"]),
                ue["flows"],
                plain(&ue["radio"]),
                if ue["two_cells"] == true { ", another cell reports it too" } else { "" },
            ),
        );
    }
}

/// A line for each connection.
fn flows(value: &Value) -> String {
    const COLUMNS: [(&str, &str); 9] = [
        ("client", "client"),
        ("server", "server"),
        ("category", "category"),
        ("bytes down", "bytes_down"),
        ("server window", "server_window"),
        ("radio window", "radio_window"),
        ("in flight", "in_flight"),
        ("wired s", "wired_rtt_s"),
        ("radio s", "radio_rtt_s"),
    ];
    let mut value = value.clone();
    for flow in value.as_array_mut().into_iter().flatten() {
        flow["client"] = client_of(flow).into();
    }
    listed(&COLUMNS, &value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn status_names_faults_and_obeys_no_name() {
        let text = status(&json!({
            "unsplit": ["no place is left\u{1b}[2J"], "greedy_ues": 2, "flood": true,
            "workers": [{ "worker": 0, "runs": true, "flows": 5, "restarts": 2 }],
            "first_segments": [7, 1], "accepted_of": [5, 0], "return_path": "works",
            "cells": [{ "cell": "east", "ues": 2, "flows": 9, "held": 0.5, "report_age_s": 0.01,
                "capacity_bytes_per_s": 2_500_000.0 }],
            "pools": [{ "pool": "blue", "interface": "eth1", "servers": "eth2", "ues": 2,
                "flows": 9 }],
            "reclaimed": 3, "log_lines_lost": 4, "routes_restored": 6, "control": "\u{1b}]0;x\u{7}",
        }));
        for part in [
            "pass unsplit: no place is left",
            "those of 2 UEs pass unsplit",
            "IPv4: 7 first segments diverted, 5 connections",
            "worker 0            runs, 5 connections, restarted 2 times",
            "return path         works",
            "flood               yes",
            "reclaimed at start  3",
            "log lines lost      4",
            "restored 6 times",
            "pool blue           2 UEs, 9 connections, eth1 to eth2",
            "cell east           2 UEs, 9 connections, 20.0 Mbit/s, 50 % held, last report 0.010",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        let listed = flows(&json!([{ "client": "10.0.0.5:80", "pool": "blue" }]));
        assert!(listed.contains("blue/10.0.0.5:80"), "{listed}");
        let text = status(&json!({ "unsplit": [], "greedy_ues": 0 }));
        assert!(text.contains("are split") && !text.contains("share"), "{text}");
    }
}
