//! `n3`: the stage at N3 or S1-U, and the answers of a running one.

use crate::args::N3Command;
use crate::failure::Failure;
use crate::service::{Lines, answer, checked, plain, table};
use crate::terminal::say;
use justfull_n3::{N3Config, ask};
use serde_json::Value;
use std::path::Path;

/// The service in messages.
const WHO: &str = "the stage";

pub(crate) fn n3(command: &N3Command) -> Result<(), Failure> {
    match command {
        N3Command::Run(args) => {
            let config = read(&args.config)?;
            let socket = config.operation.socket.clone();
            let ready = || say(&format!("taking; justfull n3 status --socket {socket}"));
            justfull_n3::run(&config, ready).map_err(|e| Failure::usage(&e))
        }
        N3Command::Check(args) => {
            checked(WHO, &justfull_n3::check(&read(&args.file.config)?), args.json)
        }
        N3Command::Status(args) => answer(WHO, ask(&args.socket, "status"), args.json, status),
        N3Command::Tunnels(args) => answer(WHO, ask(&args.socket, "tunnels"), args.json, tunnels),
    }
}

fn read(file: &Path) -> Result<N3Config, Failure> {
    N3Config::read(file).map_err(|e| Failure::usage(&e))
}

/// A line for each subject.
fn status(value: &Value) -> String {
    let mut lines = Lines::default();
    lines.add("running", format!("{} s", plain(&value["seconds"])));
    lines.add("UEs", plain(&value["ues"]));
    lines.add("connections", plain(&value["flows"]));
    lines.add_group("packets", &value["packets"]);
    lines.add_group("passed", &value["passed"]);
    lines.add("joined", plain(&value["joined"]));
    lines.add("refused", plain(&value["refused"]));
    lines.add("encrypted", plain(&value["encrypted"]));
    lines.add("last unopened", plain(&value["last_unopened"]));
    lines.text()
}

/// A line for each UE.
fn tunnels(value: &Value) -> String {
    const COLUMNS: [&str; 7] = ["UE", "connections", "gNB", "core", "up TEID", "down TEID", "QFI"];
    let teid = |way: &Value| way["teid"].as_u64().map_or("-".into(), |teid| format!("{teid:#x}"));
    let mut rows = vec![COLUMNS.map(str::to_owned).to_vec()];
    for ue in value.as_array().into_iter().flatten() {
        let (up, down) = (&ue["uplink"], &ue["downlink"]);
        let either = |of_up: &str, of_down: &str| match &up[of_up] {
            Value::Null => plain(&down[of_down]),
            found => plain(found),
        };
        rows.push(vec![
            plain(&ue["ue"]),
            plain(&ue["flows"]),
            either("from", "to"),
            either("to", "from"),
            teid(up),
            teid(down),
            either("qfi", "qfi"),
        ]);
    }
    table(&rows).join("\n") + "\n"
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
        for part in ["UEs                3", "packets malformed  7", "TEID 0x9 at"] {
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
