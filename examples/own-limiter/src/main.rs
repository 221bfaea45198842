//! Runs TwoSlots beside shipped methods: `cargo run -- SCENARIO --set KEY=VALUE`, where SCENARIO is
//! the name of a shipped scenario or a file. The report and all tables are in `results/two-slots`,
//! which `justfull plot` and `justfull compare` read.

#![forbid(unsafe_code)]

use justfull_report::export::ResultsFolder;
use justfull_report::export::folder::Subject;
use justfull_report::save;
use justfull_report::table::{self, Style};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

const BESIDE: [&str; 2] = ["Vanilla", "DRQL"];
const SEEDS: u32 = 3;
const RESULTS: &str = "results/two-slots";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("two-slots: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let (mut name, mut set) = ("voip-over-lte".to_string(), Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--set" {
            set.push(args.next().unwrap_or_default().parse()?);
        } else if arg.starts_with('-') {
            return Err(format!("found {arg}, allowed is --set KEY=VALUE").into());
        } else {
            name = arg;
        }
    }
    let mine = two_slots::method();
    let scenario = mine.scenario(&name, &BESIDE, SEEDS, set)?;
    let threads = thread::available_parallelism()?.get();
    let mut found = mine.compare(&scenario, threads)?;
    found.command = std::env::args().collect::<Vec<_>>().join(" ");
    for group in &found.groups {
        println!("{}", group.heading());
        print!(
            "{}",
            table::terminal(&table::methods(&group.runs), Style::detect())
        );
    }
    for broken in &found.broken {
        eprintln!("broken: {broken}");
    }
    let subject = Subject {
        kind: "run".into(),
        scenario: name,
    };
    let (folder, _) = ResultsFolder::open(Path::new(RESULTS), subject, true, &mut || ())?;
    save(folder, &found)?;
    println!("report: {RESULTS}/report.html");
    Ok(())
}
