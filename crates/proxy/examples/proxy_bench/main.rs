//! The cost of a proxy, for `cargo xtask bench proxy`: `proxy_bench PROXY CASE [SECONDS [FLOWS]]`
//! builds a row of three hosts, puts a proxy in the middle, loads it and prints its figures as a
//! line of JSON. `proxy_bench check` says which program is missing.

mod cases;
mod crowd;
mod load;
mod rivals;

use std::io;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rivals::Kind;

fn run(arguments: &[&str]) -> io::Result<()> {
    if let Some(file) = rivals::role() {
        return rivals::play(&file);
    }
    if let Some(ended) = crowd::play() {
        return ended;
    }
    if arguments == ["check"] {
        println!("{}", missing().join("; "));
        return Ok(());
    }
    let usage = || io::Error::other("usage: proxy_bench PROXY CASE [SECONDS [FLOWS]], or check");
    let [kind, case, rest @ ..] = arguments else { return Err(usage()) };
    let kind = Kind::parse(kind).ok_or_else(usage)?;
    let seconds = rest.first().map_or(Ok(2.0), |text| text.parse::<f64>()).map_err(|_| usage())?;
    let idle = rest.get(1).map_or(Ok(8_000), |text| text.parse()).map_err(|_| usage())?;
    if *case == "site" {
        let flows = rest.get(1).map_or(Ok(20_000), |text| text.parse()).map_err(|_| usage())?;
        println!("{}", crowd::run(flows, Duration::from_secs_f64(seconds), &[])?);
        return Ok(());
    }
    let times = [Duration::from_millis(500), Duration::from_secs_f64(seconds)];
    let size = cases::Size { times, pings: (1_000.0 * seconds) as usize, idle };
    println!("{}", cases::run(case, kind, size, &[])?);
    Ok(())
}

/// Programs that are missing on this machine.
fn missing() -> Vec<String> {
    let capabilities = justfull_net::capabilities().into_iter();
    let mut list: Vec<String> = capabilities
        .filter(|one| one.required && one.found.is_err())
        .map(|one| one.name.to_owned())
        .collect();
    for (program, argument) in [("haproxy", "-v"), ("nginx", "-v"), ("nft", "-v")] {
        if Command::new(program).arg(argument).output().is_err() {
            list.push(format!("no {program}"));
        }
    }
    list
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("proxy_bench: {error}");
            ExitCode::FAILURE
        }
    }
}
