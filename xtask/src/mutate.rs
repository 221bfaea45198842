//! `cargo xtask mutate`: scenarios and traces that are nearly right, given to the program under
//! limits of time and memory.
//!
//! Each case takes a shipped scenario, or a trace of one of the formats, and changes it a few
//! times: values, keys, types, units, extreme numbers, tables that are there twice, text that is
//! cut off, odd bytes, huge arrays, deep paths, damaged archives. Whatever comes of
//! that, `justfull` must end by itself with exit status 0, 1 or 2, without a panic, within
//! [`program::SECONDS`] of processor time and [`program::MEMORY`] of address space. The seed is a
//! fresh one unless it is named; a case is made again from it and the case's number.

mod program;
mod random;
mod scenario;
mod trace;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Failure, Outcome, process};
use program::{Program, Verdict};
use random::Random;

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) scenarios: u64,
    pub(crate) traces: u64,
    /// None: a fresh one.
    pub(crate) seed: Option<u64>,
    /// Seconds after which no further case begins.
    pub(crate) seconds: u64,
    /// The one case that is run.
    pub(crate) only: Option<u64>,
}

impl Default for Plan {
    fn default() -> Self {
        Self { scenarios: 3000, traces: 1500, seed: None, seconds: 3600, only: None }
    }
}

const USAGE: &str =
    "usage: cargo xtask mutate [--scenarios N] [--traces N] [--seed S] [--seconds T] [--only CASE]";

pub(crate) fn parse(args: &[&str]) -> Outcome<Plan> {
    let usage = || Failure::Environment(USAGE.into());
    let mut plan = Plan::default();
    for option in args.chunks(2) {
        let [name, value] = option else { return Err(usage()) };
        let value: u64 = value.parse().map_err(|_| usage())?;
        match *name {
            "--scenarios" => plan.scenarios = value,
            "--traces" => plan.traces = value,
            "--seed" => plan.seed = Some(value),
            "--seconds" => plan.seconds = value,
            "--only" => plan.only = Some(value),
            _ => return Err(usage()),
        }
    }
    Ok(plan)
}

/// Builds the program with the assertions of a debug build and tries it.
pub(crate) fn run(root: &Path, plan: &Plan) -> Outcome {
    let mut build = process::cargo(root);
    build.args(["build", "-q", "-p", "justfull"]);
    run_with(root, plan, &process::built(&mut build, "justfull")?)
}

/// Tries the `justfull` that is given.
pub(crate) fn run_with(root: &Path, plan: &Plan, justfull: &Path) -> Outcome {
    let seed = plan.seed.unwrap_or_else(random::fresh_seed);
    println!(
        "mutate: seed {seed}: {} scenarios and {} traces, each run within {} s of processor time \
         and {} MB",
        plan.scenarios,
        plan.traces,
        program::SECONDS,
        program::MEMORY / 1_000_000
    );
    let target = process::metadata(&root.join("Cargo.toml"))?.target_directory.into_std_path_buf();
    let folder = target.join("xtask").join("mutate");
    fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    let trial = Trial {
        scenarios: scenario::seeds(root)?,
        traces: trace::seeds(root, justfull, &folder)?,
        program: Program::new(justfull, &folder),
        folder,
        seed,
        plan: *plan,
    };
    let tally = trial.all()?;
    println!("{}", tally.summary(seed));
    match tally.failures.len() {
        0 => Ok(()),
        count => Err(Failure::Check(format!("mutate: {count} cases failed, seed {seed}"))),
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("{}: {error}", path.display()))
}

/// The state that all cases share.
struct Trial {
    program: Program,
    folder: PathBuf,
    scenarios: scenario::Seeds,
    traces: trace::Seeds,
    seed: u64,
    plan: Plan,
}

/// Their results.
#[derive(Default)]
struct Tally {
    scenarios: u64,
    traces: u64,
    /// Exit statuses 0, 1 and 2.
    exits: [u64; 3],
    longest: Duration,
    peak: u64,
    failures: Vec<String>,
}

impl Tally {
    fn summary(&self, seed: u64) -> String {
        let [sound, worse, refused] = self.exits;
        let mut text: String =
            self.failures.iter().map(|failure| format!("FAILED   {failure}\n")).collect();
        text += &format!(
            "mutate: {} scenarios, {} traces; exit status 0: {sound}, 1: {worse}, 2: {refused}; \
             failed: {}\nmutate: longest run {:.1} s of processor time, most memory {} MB, seed {seed}",
            self.scenarios,
            self.traces,
            self.failures.len(),
            self.longest.as_secs_f64(),
            self.peak / 1_000_000
        );
        text
    }
}

/// A mutated file and the commands that are to survive it.
struct Case {
    name: String,
    bytes: Vec<u8>,
    commands: Vec<Vec<String>>,
}

impl Trial {
    /// Runs the cases on as many threads as there are processors.
    fn all(&self) -> Outcome<Tally> {
        let count = self.plan.scenarios + self.plan.traces;
        let cases = self.plan.only.map_or(0..count, |only| only..only + 1);
        let next = AtomicU64::new(cases.start);
        let tally = Mutex::new(Tally::default());
        let start = process::clock();
        let work = || -> Outcome {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= cases.end || start.elapsed().as_secs() >= self.plan.seconds {
                    return Ok(());
                }
                self.one(index, &tally)?;
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| {
                worker
                    .join()
                    .map_err(|_| Failure::Check("mutate: a thread of its own panicked".into()))?
            })
        })?;
        Ok(tally.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn one(&self, index: u64, tally: &Mutex<Tally>) -> Outcome {
        let is_scenario = index < self.plan.scenarios;
        let mut random = Random::of(self.seed, index);
        let case = if is_scenario {
            self.scenarios.case(&mut random)
        } else {
            self.traces.case(&mut random)
        };
        let file = self.folder.join(format!("{}-{index}-{}", self.seed, case.name));
        fs::write(&file, &case.bytes).map_err(|error| cannot(&file, &error))?;
        let mut kept = false;
        for command in &case.commands {
            let ran = self.program.run(command, &file)?;
            let mut tally = tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            tally.longest = tally.longest.max(ran.took);
            tally.peak = tally.peak.max(ran.peak);
            match ran.verdict {
                Verdict::Exit(status) => tally.exits[usize::from(status)] += 1,
                Verdict::Failed(what) => {
                    let failure = format!(
                        "case {index}: justfull {}: {what}",
                        program::shown(command, &file)
                    );
                    println!("{failure}");
                    tally.failures.push(failure);
                    kept = true;
                }
            }
        }
        let mut tally = tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *if is_scenario { &mut tally.scenarios } else { &mut tally.traces } += 1;
        drop(tally);
        if !kept && self.plan.only.is_none() {
            fs::remove_file(&file).map_err(|error| cannot(&file, &error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_wrong_ones_refused() {
        assert_eq!(parse(&[]).unwrap(), Plan::default());
        let plan =
            parse(&["--traces", "5", "--seed", "7", "--seconds", "9", "--scenarios", "0"]).unwrap();
        assert_eq!(
            (plan.scenarios, plan.traces, plan.seed, plan.seconds, plan.only),
            (0, 5, Some(7), 9, None)
        );
        for args in [&["--seed"][..], &["--seed", "x"], &["--turbo", "1"], &["5"]] {
            assert!(matches!(parse(args), Err(Failure::Environment(_))), "{args:?}");
        }
    }

    #[test]
    fn a_case_is_made_again_from_its_seed_and_number() {
        let root = crate::root();
        let seeds = scenario::seeds(&root).unwrap();
        let make = |seed, index| {
            let case = seeds.case(&mut Random::of(seed, index));
            (case.name, case.bytes, case.commands)
        };
        assert!((0..20).all(|index| make(7, index) == make(7, index)));
        let differ = |(a, b): (u64, u64)| make(a, b).1 != make(7, 0).1;
        assert!([(7, 1), (8, 0)].into_iter().all(differ));
    }

    #[test]
    fn the_summary_names_failures_and_the_seed() {
        let tally = Tally {
            scenarios: 2,
            exits: [1, 0, 1],
            failures: vec!["case 1: x".into()],
            ..Tally::default()
        };
        let text = tally.summary(9);
        assert!(text.starts_with("FAILED   case 1: x\n") && text.ends_with("seed 9"), "{text}");
        assert!(
            text.contains("2 scenarios, 0 traces; exit status 0: 1, 1: 0, 2: 1; failed: 1"),
            "{text}"
        );
    }
}
