//! `f1u`: the box on F1-U, and what a running one says of itself.

use crate::args::{F1uAskArgs, F1uCommand};
use crate::failure::Failure;
use crate::terminal::{print, print_exact, say};
use justfull_f1u::F1uConfig;
use serde_json::Value;
use std::path::Path;

pub(crate) fn f1u(command: &F1uCommand) -> Result<(), Failure> {
    match command {
        F1uCommand::Run(args) => {
            let config = read(&args.config)?;
            let socket = config.operation.socket.clone();
            let ready = || say(&format!("bounding; justfull f1u status --socket {socket}"));
            justfull_f1u::run(&config, args.takeover, ready).map_err(|e| Failure::usage(&e))
        }
        F1uCommand::Check(args) => check(&read(&args.config)?),
        F1uCommand::Status(args) => answer(args, "status", status),
        F1uCommand::Bearers(args) => answer(args, "bearers", bearers),
    }
}

fn read(file: &Path) -> Result<F1uConfig, Failure> {
    F1uConfig::read(file).map_err(|e| Failure::usage(&e))
}

fn check(config: &F1uConfig) -> Result<(), Failure> {
    let mut text = String::new();
    let mut lacking = Vec::new();
    for capability in justfull_f1u::check(config) {
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
        text.push_str("the box can run\n");
    }
    print(&text)?;
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!("the box needs {}", lacking.join(", "))))
}

fn answer(args: &F1uAskArgs, question: &str, text: fn(&Value) -> String) -> Result<(), Failure> {
    let said = justfull_f1u::ask(&args.socket, question).map_err(|e| Failure::usage(&e))?;
    if args.json {
        return print_exact(&said);
    }
    let wrong = |e| Failure::Failed(format!("the box's answer: {e}"));
    print(&text(&serde_json::from_str(&said).map_err(wrong)?))
}

/// A value without the quotes of JSON, and without what a terminal would obey.
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

/// A line for each thing.
fn status(value: &Value) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: String| text.push_str(&format!("{name:20} {what}\n"));
    line("running", format!("{} s", plain(&value["seconds"])));
    line("device", plain(&value["device"]));
    let (all, bounded) = (plain(&value["bearers"]), plain(&value["bounded_bearers"]));
    line("bearers", format!("{all}, {bounded} bounded"));
    line("memory", format!("{} bytes", plain(&value["memory_bytes"])));
    for (group, what) in [("frames", &value["frames"]), ("uplink", &value["detour"])] {
        for (name, count) in what.as_object().into_iter().flatten() {
            line(&format!("{group} {name}"), plain(count));
        }
    }
    line("copies lost", plain(&value["copies_lost"]));
    text
}

/// A line for each bearer.
fn bearers(value: &Value) -> String {
    const COLUMNS: [(&str, &str); 8] = [
        ("CU-UP", "cu_up"),
        ("DU", "du"),
        ("down TEID", "downlink_teid"),
        ("up TEID", "uplink_teid"),
        ("bytes", "bytes"),
        ("in flight", "in_flight"),
        ("limit", "limit"),
        ("bytes/s", "rate"),
    ];
    let mut rows = vec![COLUMNS.map(|(title, _)| title.to_owned())];
    let all = value.as_array().into_iter().flatten();
    rows.extend(all.map(|bearer| COLUMNS.map(|(_, key)| plain(&bearer[key]))));
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
    fn status_and_bearers_are_lines_that_obey_no_name() {
        let text = status(&json!({
            "bearers": 3, "bounded_bearers": 2, "device": "\u{1b}[2J",
            "frames": { "malformed": 7 }, "copies_lost": 5,
        }));
        for part in ["bearers              3, 2 bounded", "frames malformed     7", "copies lost"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\u{1b}'));
        let text = bearers(&json!([{ "cu_up": "10.0.0.1", "limit": null, "in_flight": 12 }]));
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("10.0.0.1") && text.contains("12"), "{text}");
    }
}
