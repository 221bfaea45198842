//! `cargo xtask bench`: the speed of workloads S1, S2 and S3, and a check that they still do the
//! same work.
//!
//! S1 is one UE on a 5 MHz LTE cell with one CUBIC bulk flow for 60 simulated seconds, with an RLC
//! buffer of 10 MB (`s1_10mb`) or 1 MB (`s1_1mb`), or of 10 MB with the slots in resource blocks
//! and the RLC at both ends (`s1_blocks`). S2 is two CUBIC downloads of 200 MB over a plain link of
//! 850 Mbit/s. S3 is an NR cell full of calls; its short form has 2 000 of them for 4 seconds
//! (`s3_short`; the full one is run by hand). `r22_vanilla` and `r22_rapid` are R22's two fast
//! downloads of 200 MB each at 28 GHz, without a proxy and with RAPID. The programs are `s1_bench`,
//! `s2_bench`, `s3_bench` and `r22_bench` in `crates/sim/examples`; one is run as `s1_bench --json
//! WORKLOAD`, one process per run so that the resident set belongs to one workload, and prints one
//! line of JSON with the fields of [`Run`] (more fields are ignored).
//!
//! The runs of the workloads are interleaved with a loop of known integer work in this program,
//! which distinguishes a slow machine from slow code: compare the calibration of two reports before
//! their times. The floors apply to the minimum, since other work on a shared machine can only add
//! time.
//!
//! With valgrind, one run of S1, S3 and R22's is counted in instructions. They are the same on
//! every machine, so use them to compare two versions. `--dist` measures the profile of packages
//! instead, without floors.

mod aqm;
mod c;
mod counted;
mod eqp;
mod f1u;
mod growth;
mod live;
mod n3;
mod page;
mod proxy;
mod senders;
mod site;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::{Failure, Outcome, process};
use counted::Counted;

/// The build: the one of `make`, with floors, or the one of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Release,
    Dist,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }
}

/// The package whose examples are the programs of the workloads.
const PACKAGE: &str = "justfull-sim";

/// Rounds of the calibration loop, and of every workload without its own number.
const ROUNDS: usize = 40;

/// A workload and its limits.
#[derive(Clone, Copy)]
struct Workload {
    name: &'static str,
    program: &'static str,
    /// Longest time that a run may take, in milliseconds.
    ceiling_ms: f64,
    /// Most heap allocations after the warm-up.
    allocations: u64,
    /// Number of its runs, at most [`ROUNDS`].
    rounds: usize,
    /// Most instructions of one run in the profile `release`, in millions: 5 % above the present
    /// number. None: not counted.
    instructions_m: Option<f64>,
    /// Most misses of the second cache for a packet: 5 % above the present number.
    misses_per_packet: Option<f64>,
}

/// S1 may take a thousandth of real time, rounded; the ratio of the first two is reported. S2 loses
/// nothing, so its windows grow to the end of the run, and now and then a ring doubles; the same is
/// true of R22's cell, where BBR starts again when CUBIC has ended.
const WORKLOADS: [Workload; 7] = [
    Workload {
        name: "s1_10mb",
        program: "s1_bench",
        ceiling_ms: 60.0,
        allocations: 0,
        rounds: ROUNDS,
        instructions_m: Some(244.0),
        misses_per_packet: None,
    },
    Workload {
        name: "s1_1mb",
        program: "s1_bench",
        ceiling_ms: 54.0,
        allocations: 0,
        rounds: ROUNDS,
        instructions_m: Some(203.0),
        misses_per_packet: None,
    },
    Workload {
        name: "s1_blocks",
        program: "s1_bench",
        ceiling_ms: 80.0,
        allocations: 8,
        rounds: ROUNDS,
        instructions_m: Some(338.0),
        misses_per_packet: None,
    },
    Workload {
        name: "s2",
        program: "s2_bench",
        ceiling_ms: 140.0,
        allocations: 4,
        rounds: ROUNDS,
        instructions_m: None,
        misses_per_packet: None,
    },
    Workload {
        name: "s3_short",
        program: "s3_bench",
        ceiling_ms: 500.0,
        allocations: 0,
        rounds: 10,
        instructions_m: Some(664.0),
        misses_per_packet: Some(5.2),
    },
    Workload {
        name: "r22_vanilla",
        program: "r22_bench",
        ceiling_ms: 440.0,
        allocations: 7,
        rounds: 5,
        instructions_m: Some(818.0),
        misses_per_packet: None,
    },
    Workload {
        name: "r22_rapid",
        program: "r22_bench",
        ceiling_ms: 800.0,
        allocations: 10,
        rounds: 5,
        instructions_m: Some(1702.0),
        misses_per_packet: None,
    },
];

/// Largest ratio of the time at 10 MB to the time at 1 MB: a larger one shows a cost that grows
/// with the backlog.
const RATIO_CEILING: f64 = 2.0;

/// Most component calls for one packet through the whole stack.
const CALLS_PER_PACKET_CEILING: f64 = 8.0;

/// Largest resident set of one run, in KiB.
const RSS_CEILING_KIB: u64 = 30 * 1024;

/// Steps of the calibration loop; each depends on the one before.
const CALIBRATION_STEPS: u32 = 4_000_000;

/// The report of one run of the program.
#[derive(Clone, Debug, Deserialize)]
struct Run {
    /// Wall-clock time of the simulation without its construction, milliseconds.
    wall_ms: f64,
    /// Packets delivered to the UE.
    packets: u64,
    /// Packets dropped anywhere.
    drops: u64,
    /// Component calls of the whole run / `packets`.
    calls_per_packet: f64,
    /// Heap allocations after the warm-up, counted by the program's allocator.
    allocations_after_warmup: u64,
    /// Largest resident set of the process, KiB.
    rss_kib: u64,
    /// Hash of everything simulated, in hexadecimal: equal work has an equal digest.
    digest: String,
}

/// Every round of one workload.
struct Series {
    workload: Workload,
    runs: Vec<Run>,
    counted: Option<Counted>,
}

/// Measures every workload. Floors count for [`Profile::Release`] only; with `enforce` a violation
/// is a failure.
pub(crate) fn run(root: &Path, profile: Profile, enforce: bool) -> Outcome {
    let programs = programs(root, profile)?;
    let counted = count(&programs)?;
    let of = |(workload, counted)| Series { workload, runs: Vec::with_capacity(ROUNDS), counted };
    let mut series: Vec<Series> = WORKLOADS.into_iter().zip(counted).map(of).collect();
    let mut calibration_ms = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let due = |(one, _): &(&mut Series, _)| round < one.workload.rounds;
        for (one, program) in series.iter_mut().zip(&programs).filter(due) {
            one.runs.push(measure(program, one.workload.name)?);
        }
        calibration_ms.push(calibrate());
    }
    print!("{}", report(&series, &calibration_ms));
    match profile {
        Profile::Release => judge(&violations(&series, Judged::All), enforce),
        Profile::Dist => Ok(()),
    }
}

/// Runs each workload once and counts its instructions; no time is judged.
///
/// # Errors
/// A count that is above its floor.
pub(crate) fn counts(root: &Path) -> Outcome {
    let names = examples().into_iter().chain(c::examples());
    process::must_succeed(with_library(root).args(names))?;
    let programs = programs(root, Profile::Release)?;
    let counted = count(&programs)?;
    let mut series = Vec::with_capacity(WORKLOADS.len());
    for ((workload, program), counted) in WORKLOADS.into_iter().zip(&programs).zip(counted) {
        series.push(Series { workload, runs: vec![measure(program, workload.name)?], counted });
    }
    print!("{}", instructions(&series));
    judge(&violations(&series, Judged::Counts), true)?;
    c::run(root, true)
}

/// A build of the library for C in the profile `release`, and of the programs that are added. In
/// one build the library is compiled beside the long units of the workloads. All builds of the
/// library name the same packages: alone it would have other features, and be compiled again.
fn with_library(root: &Path) -> Command {
    let mut build = cargo_build(root, Profile::Release, PACKAGE);
    build.args(["-p", "justfull-c", "--lib"]);
    build
}

/// Builds the program of each workload, all at once, each on a core.
fn programs(root: &Path, profile: Profile) -> Outcome<Vec<PathBuf>> {
    let mut all = cargo_build(root, profile, PACKAGE);
    process::must_succeed(all.args(examples()))?;
    WORKLOADS.into_iter().map(|w| build(root, profile, PACKAGE, w.program)).collect()
}

/// The programs of the workloads as cargo's arguments. The package has another, `site_bench`, that
/// takes as long to build as each of them.
fn examples() -> Vec<&'static str> {
    let mut names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.program).collect();
    names.dedup();
    names.into_iter().flat_map(|name| ["--example", name]).collect()
}

/// Counts the instructions of each workload that has a limit of them, all at once: no load changes
/// them.
fn count(programs: &[PathBuf]) -> Outcome<Vec<Option<Counted>>> {
    if !counted::possible() {
        process::skipped(
            "no valgrind here: instructions are not counted (`.ci/setup --tests` installs it)",
        )?;
        return Ok(vec![None; programs.len()]);
    }
    std::thread::scope(|scope| {
        let started: Vec<_> = WORKLOADS
            .into_iter()
            .zip(programs)
            .map(|(workload, program)| {
                let Workload { name, instructions_m, misses_per_packet, .. } = workload;
                let one = move || counted::count(program, &[name], misses_per_packet.is_some());
                instructions_m.is_some().then(|| scope.spawn(one))
            })
            .collect();
        let joined = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().expect("it does not panic")
        };
        started.into_iter().map(|thread| thread.map(joined).transpose()).collect()
    })
}

/// Prints violations of floors; they fail if floors are enforced.
fn judge(violations: &[String], enforce: bool) -> Outcome {
    if violations.is_empty() {
        return Ok(());
    }
    let list = format!("outside the bench floors:\n  {}", violations.join("\n  "));
    if enforce {
        return Err(Failure::Check(list));
    }
    println!("{list}");
    Ok(())
}

/// `cargo xtask bench eqp`.
pub(crate) fn run_eqp(root: &Path, enforce: bool) -> Outcome {
    eqp::run(root, enforce)
}

/// `cargo xtask bench aqm`.
pub(crate) fn run_aqm(root: &Path, enforce: bool) -> Outcome {
    aqm::run(root, enforce)
}

/// `cargo xtask bench c`.
pub(crate) fn run_c(root: &Path, enforce: bool) -> Outcome {
    c::run(root, enforce)
}

/// `cargo xtask bench growth`.
pub(crate) fn run_growth(root: &Path, enforce: bool) -> Outcome {
    growth::run(root, enforce)
}

/// `cargo xtask bench senders`.
pub(crate) fn run_senders(root: &Path, enforce: bool) -> Outcome {
    senders::run(root, enforce)
}

/// `cargo xtask bench site`.
pub(crate) fn run_site(root: &Path, enforce: bool) -> Outcome {
    site::run(root, enforce)
}

/// `cargo xtask bench live`.
pub(crate) fn run_live(root: &Path, enforce: bool) -> Outcome {
    live::run(root, enforce)
}

/// `cargo xtask bench f1u`.
pub(crate) fn run_f1u(root: &Path, enforce: bool) -> Outcome {
    f1u::run(root, enforce)
}

/// `cargo xtask bench n3`.
pub(crate) fn run_n3(root: &Path, enforce: bool) -> Outcome {
    n3::run(root, enforce)
}

/// `cargo xtask bench page`.
pub(crate) fn run_page(root: &Path, enforce: bool) -> Outcome {
    page::run(root, enforce)
}

/// `cargo xtask bench proxy`.
pub(crate) fn run_proxy(root: &Path, enforce: bool) -> Outcome {
    proxy::run(root, enforce)
}

/// Builds the example `name` of `package` and returns where cargo put it.
fn build(root: &Path, profile: Profile, package: &str, name: &str) -> Outcome<PathBuf> {
    process::built(cargo_build(root, profile, package).args(["--example", name]), name)
}

/// A build of `package`, never incremental: an incremental build inlines less between crates and
/// takes a tenth more instructions.
fn cargo_build(root: &Path, profile: Profile, package: &str) -> Command {
    let mut command = process::cargo(root);
    command
        .args(["build", "--profile", profile.name(), "-p", package])
        .env("CARGO_INCREMENTAL", "0");
    command
}

/// One run of `workload`.
fn measure(program: &Path, workload: &str) -> Outcome<Run> {
    let mut command = Command::new(program);
    let output = process::stdout_of(command.args(["--json", workload]))?;
    parse(&output).map_err(|error| {
        Failure::Check(format!("{} --json {workload}: {error}", program.display()))
    })
}

/// The one line of JSON of a run.
fn parse(output: &str) -> Result<Run, serde_json::Error> {
    serde_json::from_str(output.trim())
}

/// Milliseconds that a fixed chain of integer operations takes. This program is built with the same
/// optimisation wherever `cargo xtask` is used, so that the figure depends on the machine and its
/// load alone.
fn calibrate() -> f64 {
    let start = process::clock();
    let mut state: u64 = 1;
    for step in 0..CALIBRATION_STEPS {
        // One round of a xorshift-multiply generator: shift, xor and multiply, each waiting for the
        // last.
        state ^= state >> 12;
        state ^= state << 25;
        state = state.wrapping_mul(0x2545_F491_4F6C_DD1D).wrapping_add(u64::from(step));
    }
    std::hint::black_box(state);
    start.elapsed().as_secs_f64() * 1e3
}

/// Smallest and median of a list that is not empty.
fn min_and_median(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    (sorted[0], sorted[sorted.len() / 2])
}

impl Series {
    fn min_ms(&self) -> f64 {
        min_and_median(self.runs.iter().map(|run| run.wall_ms)).0
    }
}

/// Time of the first workload over the time of the second, by their minima.
fn ratio(series: &[Series]) -> f64 {
    series[0].min_ms() / series[1].min_ms()
}

fn report(series: &[Series], calibration_ms: &[f64]) -> String {
    let mut text = format!(
        "{:<12} {:>9} {:>10} {:>9} {:>9} {:>7} {:>9} {:>7} {:>8}  digest\n",
        "workload",
        "min ms",
        "median ms",
        "at most",
        "packets",
        "drops",
        "calls/pkt",
        "allocs",
        "RSS KiB"
    );
    for one in series {
        let (min, median) = min_and_median(one.runs.iter().map(|run| run.wall_ms));
        let Some(run) = one.runs.first() else { continue };
        text += &format!(
            "{:<12} {min:>9.2} {median:>10.2} {:>9.1} {:>9} {:>7} {:>9.2} {:>7} {:>8}  {}\n",
            one.workload.name,
            one.workload.ceiling_ms,
            run.packets,
            run.drops,
            run.calls_per_packet,
            most(one, |run| run.allocations_after_warmup),
            most(one, |run| run.rss_kib),
            run.digest
        );
    }
    text += &instructions(series);
    let (min, median) = min_and_median(calibration_ms.iter().copied());
    text += &format!("{:<12} {min:>9.2} {median:>10.2}\n", "calibration");
    text + &format!(
        "ratio {} / {}: {:.2}, at most {RATIO_CEILING:.1}; {ROUNDS} rounds\n",
        series[0].workload.name,
        series[1].workload.name,
        ratio(series)
    )
}

/// The instructions and cache misses of each workload that has been counted, a line for each.
fn instructions(series: &[Series]) -> String {
    let mut text = String::new();
    for one in series {
        let (Some(counted), Some(run)) = (one.counted, one.runs.first()) else { continue };
        let limit = one.workload.instructions_m.unwrap_or(f64::INFINITY);
        text += &format!(
            "{:<12} {:>9.1} M instructions, at most {limit:.1}; {:.0} for a packet",
            one.workload.name,
            counted.instructions as f64 * 1e-6,
            counted.instructions as f64 / run.packets as f64
        );
        if let (Some(misses), Some(most)) = (counted.misses, one.workload.misses_per_packet) {
            let misses = misses as f64 / run.packets as f64;
            text += &format!("; {misses:.2} misses of the second cache, at most {most:.2}");
        }
        text.push('\n');
    }
    text
}

fn most(series: &Series, field: impl Fn(&Run) -> u64) -> u64 {
    series.runs.iter().map(field).max().unwrap_or(0)
}

/// The figures that have limits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    All,
    /// Everything but times.
    Counts,
}

/// Everything of `judged` that is outside its limit, one sentence each.
fn violations(series: &[Series], judged: Judged) -> Vec<String> {
    let mut found = Vec::new();
    for one in series {
        let Workload { name, ceiling_ms, allocations: most_allocations, .. } = one.workload;
        if judged == Judged::All && one.min_ms() > ceiling_ms {
            found.push(format!("{name}: {:.1} ms, at most {ceiling_ms:.1} ms", one.min_ms()));
        }
        let calls = one.runs.iter().map(|run| run.calls_per_packet).fold(0.0, f64::max);
        if calls > CALLS_PER_PACKET_CEILING {
            found.push(format!(
                "{name}: {calls:.2} component calls per packet, at most {CALLS_PER_PACKET_CEILING}"
            ));
        }
        let allocations = most(one, |run| run.allocations_after_warmup);
        if allocations > most_allocations {
            found.push(format!(
                "{name}: {allocations} allocations after the warm-up, at most {most_allocations}"
            ));
        }
        let rss = most(one, |run| run.rss_kib);
        if rss > RSS_CEILING_KIB {
            found.push(format!("{name}: resident set of {rss} KiB, at most {RSS_CEILING_KIB} KiB"));
        }
        if let Some(counted) = one.counted {
            let packets = one.runs.first().map_or(f64::NAN, |run| run.packets as f64);
            let instructions_m = counted.instructions as f64 * 1e-6;
            if one.workload.instructions_m.is_some_and(|most| instructions_m > most) {
                let most = one.workload.instructions_m.unwrap_or_default();
                found.push(format!(
                    "{name}: {instructions_m:.1} million instructions, at most {most:.1}"
                ));
            }
            let misses = counted.misses.map(|misses| misses as f64 / packets);
            if let (Some(misses), Some(most)) = (misses, one.workload.misses_per_packet)
                && misses > most
            {
                found.push(format!(
                    "{name}: {misses:.2} cache misses for a packet, at most {most:.2}"
                ));
            }
        }
        let work = |run: &Run| (run.packets, run.drops, run.digest.clone());
        if one.runs.iter().any(|run| work(run) != work(&one.runs[0])) {
            found.push(format!(
                "{name}: two runs did different work: packets, drops or digest differ"
            ));
        }
        if one.runs.iter().any(|run| run.packets == 0) {
            found.push(format!("{name}: no packet was delivered"));
        }
    }
    let ratio = if judged == Judged::All { ratio(series) } else { 0.0 };
    if ratio > RATIO_CEILING {
        found.push(format!("ratio of 10 MB to 1 MB: {ratio:.2}, at most {RATIO_CEILING:.1}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(wall_ms: f64) -> Run {
        Run {
            wall_ms,
            packets: 80_000,
            drops: 161,
            calls_per_packet: 6.5,
            allocations_after_warmup: 0,
            rss_kib: 3_000,
            digest: "0123456789abcdef".into(),
        }
    }

    fn series_of(ten: Vec<Run>, one: Vec<Run>) -> Vec<Series> {
        let counted = Some(Counted { instructions: 150_000_000, misses: None });
        vec![
            Series { workload: WORKLOADS[0], runs: ten, counted },
            Series { workload: WORKLOADS[1], runs: one, counted: None },
        ]
    }

    #[test]
    fn a_line_of_json_is_read_and_unknown_fields_are_ignored() {
        let line = r#"{"workload":"s1_1mb","wall_ms":9.5,"packets":80000,"drops":161,"calls_per_packet":6.5,
            "allocations_after_warmup":0,"rss_kib":3000,"digest":"0123"}"#;
        let run = parse(line).unwrap();
        assert_eq!((run.packets, run.drops, run.digest.as_str()), (80_000, 161, "0123"));
        assert!(parse(r#"{"wall_ms":9.5}"#).is_err(), "a missing field is an error");
    }

    #[test]
    fn a_run_inside_every_limit_passes() {
        let series = series_of(vec![run_of(12.0), run_of(80.0)], vec![run_of(10.0), run_of(70.0)]);
        assert_eq!(
            violations(&series, Judged::All),
            Vec::<String>::new(),
            "one slow round is the machine, not the code"
        );
    }

    #[test]
    fn every_limit_is_enforced() {
        let bad = Run {
            allocations_after_warmup: 1,
            rss_kib: 31_000,
            calls_per_packet: 9.0,
            ..run_of(61.0)
        };
        let found = violations(&series_of(vec![bad], vec![run_of(10.0)]), Judged::All);
        for word in ["61.0 ms", "component calls", "allocations", "resident set", "ratio"] {
            assert!(found.iter().any(|line| line.contains(word)), "{word} is missing in {found:?}");
        }
        assert_eq!(found.len(), 5, "{found:?}");
    }

    #[test]
    fn instructions_and_misses_are_enforced_where_they_were_counted() {
        let counted = Some(Counted { instructions: 9_000_000_000, misses: Some(8_000_000) });
        let calls = Series { workload: WORKLOADS[4], runs: vec![run_of(10.0)], counted };
        let mut series = series_of(vec![run_of(10.0)], vec![run_of(10.0)]);
        series.push(calls);
        let found = violations(&series, Judged::All);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("s3_short: 9000.0 million instructions"), "{found:?}");
        assert!(found[1].starts_with("s3_short: 100.00 cache misses for a packet"), "{found:?}");
    }

    #[test]
    fn runs_that_did_different_work_are_reported() {
        let other = Run { digest: "f".into(), ..run_of(10.0) };
        let found =
            violations(&series_of(vec![run_of(10.0)], vec![run_of(10.0), other]), Judged::All);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("s1_1mb: two runs did different work"), "{found:?}");
    }

    #[test]
    fn the_median_is_the_middle_of_the_sorted_values() {
        let (min, median) = min_and_median([3.0, 1.0, 2.0].into_iter());
        assert!(min.total_cmp(&1.0).is_eq() && median.total_cmp(&2.0).is_eq());
    }
}
