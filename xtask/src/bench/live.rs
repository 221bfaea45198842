//! `cargo xtask bench live`: the throughput and the lateness of the live driver, on this machine in
//! its present state.
//!
//! The program is `live_bench` in `crates/live/examples`. Each round runs all its measurements in
//! turn, so that other work on the machine affects all of them; limits apply to medians over the
//! rounds and to their ratios. Throughput is TCP with CUBIC between two namespaces, whose sender
//! and receiver share the machine's cores with the driver. Three programs run between the
//! namespaces: a forwarder that only copies single datagrams, the whole stack with merged segments
//! (GSO and GRO), and the stack with single datagrams. Lateness is measured in the loop of a live
//! run with 100 Mbit/s, down or up over the uplink's stack, and in a bare loop with the same
//! wake-ups.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{Failure, Outcome, process};

/// Rounds by hand, and with enforced floors.
const ROUNDS: [usize; 2] = [5, 3];

/// Least throughput through the stack, in Gbit/s; the goal is 1.
const FLOOR_GBIT_PER_S: f64 = 0.3;

/// Least ratio of the stack's throughput to the forwarder's, with merged segments and with single
/// datagrams (goal 0.8).
const FLOOR_RATIO: f64 = 2.0;
const FLOOR_RATIO_SINGLE: f64 = 0.4;

/// Greatest ratio of the 99th percentile of lateness at slots of 1 ms or 500 us to the bare loop's
/// (goal 1.5). A quarter of the period is allowed in any case.
const CEILING_P99_RATIO: f64 = 3.0;

/// Largest share of slots of 125 us that miss their wake-up, above the bare loop's share.
const CEILING_MISSED: f64 = 0.05;

/// The output of `forward`, `stack` and `single`.
#[derive(Clone, Debug, Deserialize)]
struct Throughput {
    real_time: bool,
    /// Payload that arrived.
    gbit_per_s: f64,
    /// Datagrams of both directions.
    packets: u64,
    /// CPU time of the thread in between, with the kernel's work for it.
    cpu_us_per_packet: f64,
}

/// The output of `bare`, `slots` and `uploads`.
#[derive(Clone, Debug, Deserialize)]
struct Lateness {
    /// Time between wake-ups, with its unit.
    period: String,
    real_time: bool,
    wakes: u64,
    p50_us: f64,
    p99_us: f64,
    slots: u64,
    missed: u64,
}

impl Lateness {
    fn missed_share(&self) -> f64 {
        self.missed as f64 / self.slots.max(1) as f64
    }
}

/// A measurement and its reference, in every round.
struct Pair<T> {
    stack: Vec<T>,
    plain: Vec<T>,
}

impl<T> Pair<T> {
    /// The medians of `figure`: the stack's, and the reference's.
    fn medians(&self, figure: impl Fn(&T) -> f64) -> [f64; 2] {
        [&self.stack, &self.plain].map(|all| super::min_and_median(all.iter().map(&figure)).1)
    }

    fn all(&self) -> impl Iterator<Item = &T> {
        self.stack.iter().chain(&self.plain)
    }
}

impl<T: DeserializeOwned> Pair<T> {
    fn new() -> Self {
        Self { stack: Vec::new(), plain: Vec::new() }
    }

    /// One round of the measurements with these arguments.
    fn measure(&mut self, program: &Path, plain: &[&str], stack: &[&str]) -> Outcome {
        self.plain.push(one(program, plain)?);
        self.stack.push(one(program, stack)?);
        Ok(())
    }
}

/// All measurements.
struct Found {
    throughput: Pair<Throughput>,
    /// The stack with single datagrams.
    single: Vec<Throughput>,
    /// Downloads in slots of 1 ms and of 125 us, and uploads in slots of 500 us.
    slots: [Slots; 3],
}

/// A measurement of lateness.
struct Slots {
    /// Subcommand of `live_bench`, and the duration of a slot in microseconds.
    command: &'static str,
    slot: &'static str,
    pair: Pair<Lateness>,
}

impl Slots {
    fn new(command: &'static str, slot: &'static str) -> Self {
        Self { command, slot, pair: Pair::new() }
    }

    /// A quarter of the period in microseconds.
    fn quarter(&self) -> f64 {
        self.slot.parse::<f64>().map_or(0.0, |slot| slot / 4.0)
    }
}

impl Found {
    /// The median throughput of the stack with single datagrams.
    fn single(&self) -> f64 {
        super::min_and_median(self.single.iter().map(|one| one.gbit_per_s)).1
    }
}

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let program = super::build(root, super::Profile::Release, "justfull-live", "live_bench")?;
    let lacking = process::stdout_of(Command::new(&program).arg("check"))?;
    if !lacking.trim().is_empty() {
        return skipped(lacking.trim());
    }
    let slots = [("slots", "1000"), ("slots", "125"), ("uploads", "500")];
    let slots = slots.map(|(command, slot)| Slots::new(command, slot));
    let mut found = Found { throughput: Pair::new(), single: Vec::new(), slots };
    for _ in 0..ROUNDS[usize::from(enforce)] {
        found.throughput.measure(&program, &["forward", "2"], &["stack", "2"])?;
        found.single.push(one(&program, &["single", "2"])?);
        for Slots { command, slot, pair } in &mut found.slots {
            pair.measure(&program, &["bare", slot, "2"], &[command, slot, "2"])?;
        }
    }
    print!("{}", report(&found));
    super::judge(&violations(&found), enforce)
}

/// Prints that this machine cannot run this; a failure if it must (`CI=true`).
fn skipped(reason: &str) -> Outcome {
    let message = format!("bench live: SKIPPED: {reason}");
    if std::env::var_os("CI").is_some_and(|value| value == "true") {
        return Err(Failure::Environment(message));
    }
    println!("{message}");
    Ok(())
}

fn one<T: DeserializeOwned>(program: &Path, arguments: &[&str]) -> Outcome<T> {
    let output = process::stdout_of(Command::new(program).args(arguments))?;
    let wrong = |error| Failure::Check(format!("live_bench {}: {error}", arguments.join(" ")));
    serde_json::from_str(output.trim()).map_err(wrong)
}

fn report(found: &Found) -> String {
    let [stack, plain] = found.throughput.medians(|one| one.gbit_per_s);
    let [cpu, plain_cpu] = found.throughput.medians(|one| one.cpu_us_per_packet);
    let mut text = format!(
        "throughput: {stack:.2} Gbit/s through the stack, {plain:.2} through a plain forwarder, \
         ratio {:.2}; {cpu:.2} and {plain_cpu:.2} us of CPU for a datagram; {:.2} Gbit/s through \
         the stack with single datagrams\n",
        stack / plain,
        found.single()
    );
    for Slots { command, slot, pair } in &found.slots {
        let Some(run) = pair.stack.first() else { continue };
        let [p50, plain_p50] = pair.medians(|one| one.p50_us);
        let [p99, plain_p99] = pair.medians(|one| one.p99_us);
        let [missed, plain_missed] = pair.medians(|one| 100.0 * one.missed_share());
        text += &format!(
            "{command} of {slot} us: woken every {}, {:.1} slots a wake-up; late by {p50:.0} us (p50) \
             and {p99:.0} us (p99), a bare loop by {plain_p50:.0} and {plain_p99:.0}, ratio of \
             p99 {:.2}; missed {missed:.2} % and {plain_missed:.2} %\n",
            run.period,
            run.slots as f64 / run.wakes.max(1) as f64,
            p99 / plain_p99
        );
    }
    if !real_time(found) {
        text += "without real-time priority\n";
    }
    text + &format!("medians of {} interleaved rounds\n", found.throughput.stack.len())
}

fn real_time(found: &Found) -> bool {
    found.throughput.all().all(|one| one.real_time)
        && found.slots.iter().all(|of| of.pair.all().all(|one| one.real_time))
}

/// Every violation of a limit, one sentence each. Without real-time priority, lateness depends on
/// the machine and has no limit.
fn violations(found: &Found) -> Vec<String> {
    let mut list = Vec::new();
    let [stack, plain] = found.throughput.medians(|one| one.gbit_per_s);
    if stack < FLOOR_GBIT_PER_S {
        list.push(format!("{stack:.2} Gbit/s through the stack, at least {FLOOR_GBIT_PER_S}"));
    }
    if stack < FLOOR_RATIO * plain {
        list.push(format!(
            "{:.2} of a plain forwarder's throughput, at least {FLOOR_RATIO}",
            stack / plain
        ));
    }
    let single = found.single();
    if single < FLOOR_RATIO_SINGLE * plain {
        list.push(format!(
            "{:.2} of a plain forwarder's throughput with single datagrams, at least \
             {FLOOR_RATIO_SINGLE}",
            single / plain
        ));
    }
    if found.throughput.all().any(|one| one.packets == 0) {
        list.push("a run carried no datagram".into());
    }
    if !real_time(found) {
        return list;
    }
    let [long, short, uploads] = &found.slots;
    for of in [long, uploads] {
        let [p99, plain_p99] = of.pair.medians(|one| one.p99_us);
        let (quarter, command, slot) = (of.quarter(), of.command, of.slot);
        if p99 > quarter.max(CEILING_P99_RATIO * plain_p99) {
            list.push(format!(
                "{command}: p99 lateness of {p99:.0} us at slots of {slot} us, at most {quarter} \
                 us or {CEILING_P99_RATIO} times the bare loop's {plain_p99:.0} us"
            ));
        }
    }
    let [missed, plain_missed] = short.pair.medians(Lateness::missed_share);
    if missed > CEILING_MISSED + plain_missed {
        list.push(format!(
            "{:.1} % of slots of 125 us missed their wake-up, at most {:.1} % more than the bare \
             loop's {:.1} %",
            100.0 * missed,
            100.0 * CEILING_MISSED,
            100.0 * plain_missed
        ));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throughput(gbit_per_s: f64) -> Throughput {
        Throughput { real_time: true, gbit_per_s, packets: 1_000, cpu_us_per_packet: 2.0 }
    }

    fn lateness(p99_us: f64, missed: u64) -> Lateness {
        let period = "1ms".into();
        Lateness {
            period,
            real_time: true,
            wakes: 1_000,
            p50_us: 10.0,
            p99_us,
            slots: 1_000,
            missed,
        }
    }

    fn found(stack: f64, p99_us: f64, missed: u64) -> Found {
        let late = |p99_us, missed| vec![lateness(p99_us, missed); 3];
        let of = |command, slot, stack, plain| Slots { command, slot, pair: Pair { stack, plain } };
        Found {
            throughput: Pair { stack: vec![throughput(stack); 3], plain: vec![throughput(0.4); 3] },
            single: vec![throughput(stack / 3.0); 3],
            slots: [
                of("slots", "1000", late(p99_us, 0), late(100.0, 0)),
                of("slots", "125", late(50.0, missed), late(50.0, 10)),
                of("uploads", "500", late(p99_us / 2.0, 0), late(50.0, 0)),
            ],
        }
    }

    #[test]
    fn rounds_inside_every_limit_pass_though_one_was_slow() {
        let mut one_slow = found(1.0, 290.0, 60);
        one_slow.throughput.stack[1] = throughput(0.01);
        assert_eq!(violations(&one_slow), Vec::<String>::new());
    }

    #[test]
    fn every_limit_is_enforced() {
        let mut bad = found(0.2, 301.0, 61);
        bad.throughput.plain[0].packets = 0;
        let list = violations(&bad);
        let uploads = "uploads: p99 lateness of 150 us";
        for words in ["0.20 Gbit/s", "0.50 of a plain", "0.17 of a plain forwarder's throughput w"]
            .into_iter()
            .chain(["no datagram", "slots: p99 lateness of 301 us", uploads, "6.1 %"])
        {
            assert!(list.iter().any(|line| line.contains(words)), "{words} is missing in {list:?}");
        }
    }

    #[test]
    fn lateness_without_real_time_priority_is_reported_and_no_failure() {
        let mut normal = found(1.0, 9_000.0, 900);
        normal.slots[0].pair.stack[0].real_time = false;
        assert_eq!(violations(&normal), Vec::<String>::new());
        assert!(report(&normal).contains("without real-time priority"));
    }
}
