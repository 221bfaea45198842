//! `f1u`: the box on F1-U, and the answers of a running one.

use crate::args::{F1uAskArgs, F1uCommand};
use crate::failure::Failure;
use crate::service::{Lines, answer, checked, listed, plain};
use crate::terminal::say;
use justfull_f1u::{F1uConfig, ask};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The service in messages.
const WHO: &str = "the box";

pub(crate) fn f1u(command: &F1uCommand) -> Result<(), Failure> {
    match command {
        F1uCommand::Run(args) => {
            let config = read(&args.file.config)?;
            let socket = config.operation.socket.clone();
            let ready = || say(&format!("bounding; justfull f1u status --socket {socket}"));
            justfull_f1u::run(&config, args.takeover, ready).map_err(|e| Failure::usage(&e))
        }
        F1uCommand::Check(args) => {
            checked(WHO, &justfull_f1u::check(&read(&args.file.config)?), args.json)
        }
        F1uCommand::Status(args) => answer(WHO, ask(&socket(args)?, "status"), args.json, status),
        F1uCommand::Bearers(args) => {
            answer(WHO, ask(&socket(args)?, "bearers"), args.json, bearers)
        }
    }
}

/// The control socket of the box.
fn socket(args: &F1uAskArgs) -> Result<PathBuf, Failure> {
    let of_file = args.config.as_ref().map(|file| read(file));
    let of_file = of_file.transpose()?.map(|config| PathBuf::from(config.operation.socket));
    Ok(of_file.unwrap_or_else(|| args.socket.clone()))
}

fn read(file: &Path) -> Result<F1uConfig, Failure> {
    F1uConfig::read(file).map_err(|e| Failure::usage(&e))
}

/// A line for each subject.
fn status(value: &Value) -> String {
    let mut lines = Lines::default();
    lines.add("running", format!("{} s", plain(&value["seconds"])));
    lines.add("device", plain(&value["device"]));
    let (all, bounded) = (plain(&value["bearers"]), plain(&value["bounded_bearers"]));
    lines.add("bearers", format!("{all}, {bounded} bounded"));
    lines.add("memory", format!("{} bytes", plain(&value["memory_bytes"])));
    lines.add("held", format!("{} bytes", plain(&value["held_bytes"])));
    lines.add_group("frames", &value["frames"]);
    lines.add_group("detour", &value["detour"]);
    lines.add("copies lost", plain(&value["copies_lost"]));
    lines.text()
}

/// A line for each bearer.
fn bearers(value: &Value) -> String {
    const COLUMNS: [(&str, &str); 9] = [
        ("CU-UP", "cu_up"),
        ("DU", "du"),
        ("down TEID", "downlink_teid"),
        ("up TEID", "uplink_teid"),
        ("bytes", "bytes"),
        ("in flight", "in_flight"),
        ("held", "held"),
        ("limit", "limit"),
        ("Mbit/s", "rate"),
    ];
    let mut value = value.clone();
    for bearer in value.as_array_mut().into_iter().flatten() {
        // As Wireshark and logs of base stations have them.
        for name in ["downlink_teid", "uplink_teid"] {
            if let Some(teid) = bearer[name].as_u64() {
                bearer[name] = format!("{teid:#x}").into();
            }
        }
        if let Some(bytes) = bearer["rate"].as_f64() {
            bearer["rate"] = format!("{:.1}", bytes * 8e-6).into();
        }
    }
    listed(&COLUMNS, &value)
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
        for part in ["bearers           3, 2 bounded", "frames malformed  7", "copies lost"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\u{1b}'));
        let text = bearers(&json!([{
            "cu_up": "10.0.0.1", "limit": null, "in_flight": 12, "downlink_teid": 256,
            "uplink_teid": null, "rate": 3_722_270.0,
        }]));
        assert_eq!(text.lines().count(), 2, "{text}");
        for part in ["10.0.0.1", "12", "0x100", "29.8"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
