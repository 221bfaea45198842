//! `cargo xtask bench senders`: compares the cost of an acknowledgement of Prague and BBRv3 with
//! CUBIC's, by all that a packet of a whole run costs.
//!
//! The program is `senders_bench` in `crates/sim/examples`, which describes the load. Each control
//! gets a short run and one twice as long, both counted in instructions. The instructions of
//! the second half over its packets are the cost of a packet.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::counted;
use crate::{Failure, Outcome, process};

/// Seconds of the short and the long run.
const SECONDS: [&str; 2] = ["6", "12"];

/// The measured controls; the first is the reference.
const CONTROLS: [&str; 3] = ["cubic", "prague", "bbr3"];

/// Most instructions for a packet, as a multiple of the reference's.
const CEILING: f64 = 1.3;

/// One line of the program.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
struct Line {
    /// Packets delivered, each of which is acknowledged.
    packets: u64,
    drops: u64,
    /// Hash of everything simulated.
    digest: String,
}

/// The results of one control.
#[derive(Clone, Debug)]
struct Taken {
    control: &'static str,
    /// Of two long runs.
    lines: [Line; 2],
    /// Instructions for a packet; none if this machine cannot count them.
    instructions: Option<f64>,
}

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let program = super::build(root, super::Profile::Release, "justfull-sim", "senders_bench")?;
    let possible = counted::possible();
    if !possible {
        process::skipped("no valgrind here: instructions are not counted")?;
    }
    let line = |name: &str| -> Outcome<Line> {
        let mut command = Command::new(&program);
        parse(&process::stdout_of(command.args(["--json", name]))?)
    };
    let mut all = Vec::new();
    for control in CONTROLS {
        let [short, long] = SECONDS.map(|seconds| format!("{control}_{seconds}"));
        let lines = [line(&long)?, line(&long)?];
        let mut instructions = None;
        if possible {
            let count = |name: &str| counted::count(&program, &[name], false);
            let more = count(&long)?.instructions - count(&short)?.instructions;
            let packets = lines[0].packets - line(&short)?.packets;
            instructions = Some(more as f64 / packets as f64);
        }
        all.push(Taken { control, lines, instructions });
    }
    print!("{}", report(&all));
    super::judge(&violations(&all), enforce)
}

fn parse(output: &str) -> Outcome<Line> {
    let wrong = |error| Failure::Check(format!("senders_bench --json: {error}"));
    serde_json::from_str(output.trim()).map_err(wrong)
}

/// The cost of `taken` over the reference's.
fn ratio(all: &[Taken], taken: &Taken) -> Option<f64> {
    Some(taken.instructions? / all.first()?.instructions?)
}

fn report(all: &[Taken]) -> String {
    let mut text =
        format!("{:<8} {:>12} {:>12} {:>8}\n", "control", "instructions", "over cubic", "packets");
    for taken in all {
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        text += &format!(
            "{:<8} {:>12} {:>12} {:>8}\n",
            taken.control,
            shown(taken.instructions, 0),
            shown(ratio(all, taken), 3),
            taken.lines[0].packets
        );
    }
    text
}

/// Every violation of a limit, one sentence each.
fn violations(all: &[Taken]) -> Vec<String> {
    let mut found = Vec::new();
    for taken in all {
        let Taken { control, lines: [line, again], .. } = taken;
        if line != again {
            found.push(format!("{control}: two runs differ"));
        }
        if let Some(ratio) = ratio(all, taken)
            && ratio > CEILING
        {
            found.push(format!("{control}: {ratio:.3} of the reference, at most {CEILING}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(control: &'static str, instructions: f64) -> Taken {
        let line = Line { packets: 9, drops: 1, digest: "8".into() };
        Taken { control, lines: [line.clone(), line], instructions: Some(instructions) }
    }

    #[test]
    fn a_control_above_its_limit_and_one_that_differs_are_named() {
        let fine = [taken("cubic", 100.0), taken("prague", 130.0)];
        assert_eq!(violations(&fine), Vec::<String>::new());
        let mut bad = [taken("cubic", 100.0), taken("prague", 130.1), taken("bbr3", 1.0)];
        bad[2].lines[1].drops = 2;
        let found = violations(&bad);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("prague: 1.301") && found[1].contains("bbr3: two runs"));
        assert!(report(&bad).contains("1.301"));
    }

    #[test]
    fn the_programs_line_is_read() {
        let text = r#"{"name":"bbr3","packets":2,"drops":1,"digest":"x"}"#;
        assert_eq!(parse(text).map(|line| line.packets).ok(), Some(2));
        assert!(parse("{}").is_err(), "a missing field is an error");
    }
}
