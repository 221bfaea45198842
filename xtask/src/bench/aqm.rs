//! `cargo xtask bench aqm`: compares the cost per packet of each AQM with CoDel, and of the lanes
//! of Justfull and Justfull-2 with FQ-CoDel.
//!
//! The program is `aqm_bench` in `crates/queue/examples`, which describes the load. Each AQM gets a
//! short load and one twice as long again, both counted in instructions. The difference, less the
//! load's own, is the cost of its packets.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::counted;
use crate::{Failure, Outcome, process};

/// Packets of the short and the long load.
const PACKETS: [u64; 2] = [20_000, 60_000];

/// Most instructions for a packet, as a multiple of the reference's.
const CEILING: f64 = 2.0;

/// The same for `DualPI2`.
const CEILING_OF_DUALPI2: f64 = 1.5;

/// The measured kinds, each with its reference.
const KINDS: [(&str, &str); 14] = [
    ("none", "codel"),
    ("codel", "codel"),
    ("red", "codel"),
    ("adaptive_red", "codel"),
    ("ared", "codel"),
    ("pdpc", "codel"),
    ("ttlred1", "codel"),
    ("ttlred2", "codel"),
    ("pie", "codel"),
    ("dualpi2", "codel"),
    ("dualpi2_linux", "codel"),
    ("fq_codel", "fq_codel"),
    ("justfull", "fq_codel"),
    ("lanes", "fq_codel"),
];

/// One line of the program.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
struct Line {
    arrived: u64,
    departed: u64,
    dropped: u64,
    marked: u64,
    /// Packets that the AQM dropped or marked.
    signals: u64,
    /// Hash of the drops by reason, and of the packets that left.
    digest: String,
}

/// The results of one AQM.
#[derive(Clone, Debug)]
struct Taken {
    kind: &'static str,
    beside: &'static str,
    /// Of two runs of the long load.
    lines: [Line; 2],
    /// Instructions for a packet; none if this machine cannot count them.
    instructions: Option<f64>,
}

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let program = super::build(root, super::Profile::Release, "justfull-queue", "aqm_bench")?;
    let possible = counted::possible();
    if !possible {
        process::skipped("no valgrind here: instructions are not counted")?;
    }
    let [short, long] = PACKETS;
    let count = |kind: &str| -> Outcome<f64> {
        let count = |packets| counted::count(&program, &[kind, &format!("{packets}")], false);
        Ok((count(long)?.instructions - count(short)?.instructions) as f64 / (long - short) as f64)
    };
    let load = if possible { count("load")? } else { 0.0 };
    let mut all = Vec::new();
    for (kind, beside) in KINDS {
        let line = || {
            parse(&process::stdout_of(
                Command::new(&program).args(["--json", kind]).arg(long.to_string()),
            )?)
        };
        let lines = [line()?, line()?];
        let instructions = if possible { Some(count(kind)? - load) } else { None };
        all.push(Taken { kind, beside, lines, instructions });
    }
    print!("{}", report(&all));
    super::judge(&violations(&all), enforce)
}

fn parse(output: &str) -> Outcome<Line> {
    let wrong = |error| Failure::Check(format!("aqm_bench --json: {error}"));
    serde_json::from_str(output.trim()).map_err(wrong)
}

/// The cost of `kind` for a packet.
fn of(all: &[Taken], kind: &str) -> Option<f64> {
    all.iter().find(|taken| taken.kind == kind)?.instructions
}

fn report(all: &[Taken]) -> String {
    let mut text = format!(
        "{:<14} {:>12} {:>16}  {:>8} {:>8} {:>8} {:>8} {:>8}\n",
        "AQM", "instructions", "beside", "arrived", "departed", "dropped", "marked", "signals"
    );
    for Taken { kind, beside, lines: [line, _], instructions } in all {
        let ratio = instructions.zip(of(all, beside)).map(|(own, other)| own / other);
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        text += &format!(
            "{kind:<14} {:>12} {:>16}  {:>8} {:>8} {:>8} {:>8} {:>8}\n",
            shown(*instructions, 1),
            format!("{beside} x {}", shown(ratio, 2)),
            line.arrived,
            line.departed,
            line.dropped,
            line.marked,
            line.signals
        );
    }
    text
}

/// Every violation of a limit, one sentence each.
fn violations(all: &[Taken]) -> Vec<String> {
    let mut found = Vec::new();
    for Taken { kind, beside, lines: [line, again], instructions } in all {
        let ceiling = if kind.starts_with("dualpi2") { CEILING_OF_DUALPI2 } else { CEILING };
        let most = of(all, beside).map(|other| ceiling * other);
        if line != again {
            found.push(format!("{kind}: two runs decided differently"));
        }
        if *kind != "none" && line.signals == 0 {
            found.push(format!("{kind}: it signalled nothing"));
        }
        if let (Some(own), Some(most)) = (instructions, most)
            && *own > most
        {
            found.push(format!("{kind}: {own:.1} instructions for a packet, at most {most:.1}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(kind: &'static str, instructions: f64) -> Taken {
        let line = Line {
            arrived: 9,
            departed: 8,
            dropped: 1,
            marked: 0,
            signals: 1,
            digest: "[1] 8".into(),
        };
        let lines = [line.clone(), line];
        Taken { kind, beside: "codel", lines, instructions: Some(instructions) }
    }

    #[test]
    fn every_limit_is_enforced() {
        let fine = [taken("codel", 100.0), taken("red", 200.0)];
        assert_eq!(violations(&fine), Vec::<String>::new());
        let mut bad = [
            taken("codel", 100.0),
            taken("red", 200.1),
            taken("pie", 1.0),
            taken("dualpi2", 150.1),
        ];
        bad[0].lines[1].marked = 1;
        bad[2].lines = [0, 1].map(|_| Line { signals: 0, ..bad[2].lines[0].clone() });
        let found = violations(&bad);
        for words in
            ["codel: two runs", "red: 200.1", "pie: it signalled nothing", "dualpi2: 150.1"]
        {
            assert!(found.iter().any(|line| line.contains(words)), "{words}: {found:?}");
        }
        assert!(report(&bad).contains("2.00"));
    }

    #[test]
    fn the_programs_line_is_read() {
        let text = r#"{"kind":"pie","arrived":2,"departed":1,"dropped":1,"marked":0,"signals":1,"digest":"x"}"#;
        assert_eq!(parse(text).map(|line| line.dropped).ok(), Some(1));
        assert!(parse("{}").is_err(), "a missing field is an error");
    }
}
