//! `n3`: the stage at N3 or S1-U, and the answers of a running one.

use crate::args::{N3AskArgs, N3Command};
use crate::failure::Failure;
use crate::terminal::{print, print_exact, say};
use justfull_n3::N3Config;
use serde_json::Value;
use std::path::Path;

pub(crate) fn n3(command: &N3Command) -> Result<(), Failure> {
    match command {
        N3Command::Run(args) => {
            let config = read(&args.config)?;
            let socket = config.operation.socket.clone();
            let ready = || say(&format!("taking; justfull n3 status --socket {socket}"));
            justfull_n3::run(&config, ready).map_err(|e| Failure::usage(&e))
        }
        N3Command::Check(args) => check(&read(&args.config)?),
        N3Command::Status(args) => answer(args, "status", status),
        N3Command::Tunnels(args) => answer(args, "tunnels", tunnels),
    }
}

fn read(file: &Path) -> Result<N3Config, Failure> {
    N3Config::read(file).map_err(|e| Failure::usage(&e))
}

fn check(config: &N3Config) -> Result<(), Failure> {
    let mut text = String::new();
    let mut lacking = Vec::new();
    for capability in justfull_n3::check(config) {
        let (word, what) = match &capability.found {
            Ok(found) => ("yes", found),
            Err(why) => ("no", why),
        };
        text.push_str(&format!("{:24} {word:3}  {what}\n", capability.name));
        if capability.required && capability.found.is_err() {
            lacking.push(capability.name);
        }
    }
    if lacking.is_empty() {
        text.push_str("the stage can run\n");
    }
    print(&text)?;
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!("the stage needs {}", lacking.join(", "))))
}

fn answer(args: &N3AskArgs, question: &str, text: fn(&Value) -> String) -> Result<(), Failure> {
    let said = justfull_n3::ask(&args.socket, question).map_err(|e| Failure::usage(&e))?;
    if args.json {
        return print_exact(&said);
    }
    let wrong = |e| Failure::Failed(format!("the stage's answer: {e}"));
    print(&text(&serde_json::from_str(&said).map_err(wrong)?))
}

/// A value without JSON's quotes and without characters that control a terminal.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text
            .chars()
            .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
            .collect(),
        Value::Null => "-".into(),
        Value::Number(number) if number.is_f64() => {
            format!("{:.3}", number.as_f64().unwrap_or_default())
        }
        other => other.to_string(),
    }
}

/// A line for each subject.
fn status(value: &Value) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: String| text.push_str(&format!("{name:26} {what}\n"));
    line("running", format!("{} s", plain(&value["seconds"])));
    line("UEs", plain(&value["ues"]));
    line("connections", plain(&value["flows"]));
    for (group, what) in [("packets", &value["packets"]), ("passed", &value["passed"])] {
        for (name, count) in what.as_object().into_iter().flatten() {
            line(&format!("{group} {name}"), plain(count));
        }
    }
    line("refused", plain(&value["refused"]));
    line("encrypted", plain(&value["encrypted"]));
    line("last unopened", plain(&value["last_unopened"]));
    text
}

/// A line for each UE.
fn tunnels(value: &Value) -> String {
    const COLUMNS: [&str; 7] = ["UE", "connections", "gNB", "core", "up TEID", "down TEID", "QFI"];
    let teid = |way: &Value| way["teid"].as_u64().map_or("-".into(), |teid| format!("{teid:#x}"));
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    for ue in value.as_array().into_iter().flatten() {
        let (up, down) = (&ue["uplink"], &ue["downlink"]);
        let either = |of_up: &str, of_down: &str| match &up[of_up] {
            Value::Null => plain(&down[of_down]),
            found => plain(found),
        };
        rows.push([
            plain(&ue["ue"]),
            plain(&ue["flows"]),
            either("from", "to"),
            either("to", "from"),
            teid(up),
            teid(down),
            either("qfi", "qfi"),
        ]);
    }
    let mut widths = [0; COLUMNS.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn status_and_tunnels_are_lines_that_obey_no_name() {
        let text = status(&json!({
            "ues": 3, "flows": 2, "packets": { "malformed": 7 }, "encrypted": 5,
            "last_unopened": "TEID 0x9 at \u{1b}[2J",
        }));
        for part in ["UEs                        3", "packets malformed          7", "TEID 0x9 at"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\u{1b}'));
        let up = json!({ "from": "192.0.2.1", "to": "192.0.2.2", "teid": 17, "qfi": 9 });
        let text = tunnels(&json!([
            { "ue": "10.45.0.1", "flows": 1, "uplink": up, "downlink": null },
        ]));
        let words: Vec<&str> = text.lines().nth(1).expect("a UE").split_whitespace().collect();
        assert_eq!(words, ["10.45.0.1", "1", "192.0.2.1", "192.0.2.2", "0x11", "-", "9"]);
    }
}
