//! `cargo xtask mutants`: changes the algorithms one place at a time, and counts the changes that
//! no test catches.
//!
//! [cargo-mutants](https://mutants.rs) lists the changes ("mutants"). All of an area are built into
//! one copy of the tree, each behind a switch ([`schemata`]), and each then runs the tests that
//! reach its function ([`trial`]). Compiling the crate for each would take a hundred times as long.
//! At least [`LEAST_CAUGHT`] of those that compile must be caught in each area. One that is not
//! must stand in `docs/mutants.md` with the reason why it cannot be caught, or why that is not
//! worth a test; any other is a failure.

mod areas;
mod list;
mod schemata;
mod scratch;
mod trial;

use std::collections::BTreeMap;
use std::path::Path;

use areas::{AREAS, Area};
use list::Mutant;
use scratch::Scratch;

use crate::{Failure, Outcome, process};

/// Share of the mutants that compile which the tests must catch, in percent.
const LEAST_CAUGHT: f64 = 95.0;

/// The version whose mutants `docs/mutants.md` lists: another finds other ones.
const VERSION: &str = "27.1.0";

const LIST: &str = "docs/mutants.md";

const USAGE: &str = "usage: cargo xtask mutants [AREA...]
  AREA  aqm, discipline, limiter, pacer, pdcp, rlc, rb_scheduler or cc; all of them by \
                     default";

/// The fates of the mutants of an area.
#[derive(Debug, Default, PartialEq)]
struct Verdicts {
    caught: usize,
    unviable: usize,
    /// Without their line and column, which move with every edit, and how often each is found.
    missed: BTreeMap<String, usize>,
}

impl Verdicts {
    fn viable(&self) -> usize {
        self.caught + self.missed.values().sum::<usize>()
    }

    /// In percent of the mutants that compile.
    fn share(&self) -> f64 {
        100.0 * self.caught as f64 / self.viable().max(1) as f64
    }

    fn row(&self, area: &str) -> String {
        let (all, viable) = (self.viable() + self.unviable, self.viable());
        let survivors = viable - self.caught;
        format!(
            "| `{area}` | {all} | {viable} | {} | {survivors} | {:.1} % |",
            self.caught,
            self.share()
        )
    }
}

pub(crate) fn run(root: &Path, args: &[&str]) -> Outcome {
    let areas = parse(args)?;
    install(root)?;
    let text = std::fs::read_to_string(root.join(LIST)).unwrap_or_default();
    let known = listed(&text);
    let target = process::metadata(&root.join("Cargo.toml"))?.target_directory;
    let folder = target.join("mutants").into_std_path_buf();
    let scratch = Scratch::copy(root, &folder)?;
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for area in areas {
        let found = mutate(&scratch, area, &folder)?;
        rows.push(found.row(area.name));
        faults.extend(compare(area, &found, &known));
    }
    println!("\n| area | mutants | compile | caught | survive | caught of those that compile |");
    println!("|---|---|---|---|---|---|\n{}", rows.join("\n"));
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::Check(format!("mutants:\n{}", faults.join("\n"))))
}

fn parse(args: &[&str]) -> Outcome<Vec<&'static Area>> {
    let find = |name: &&str| {
        let area = AREAS.iter().find(|area| area.name == *name);
        area.ok_or_else(|| Failure::Environment(format!("no area `{name}`\n{USAGE}")))
    };
    let chosen: Vec<&Area> = args.iter().map(find).collect::<Outcome<_>>()?;
    Ok(if chosen.is_empty() { AREAS.iter().collect() } else { chosen })
}

/// Installs cargo-mutants where it is missing, or says how.
fn install(root: &Path) -> Outcome {
    let version = process::cargo(root).args(["mutants", "--version"]).output();
    match version {
        Ok(output) if output.status.success() => {
            let version = String::from_utf8_lossy(&output.stdout);
            if !version.contains(VERSION) {
                println!("mutants: {LIST} lists what {VERSION} finds; this is {}", version.trim());
            }
            Ok(())
        }
        _ => process::must_succeed(process::cargo(root).args([
            "install",
            "--locked",
            "--version",
            VERSION,
            "cargo-mutants",
        ])),
    }
}

/// Tries the mutants of `area`; prints each survivor with its place.
fn mutate(scratch: &Scratch, area: &Area, folder: &Path) -> Outcome<Verdicts> {
    let mutants = list::list(scratch.tree(), area)?;
    println!("mutants: {} of {}", mutants.len(), area.name);
    let built = scratch.schemata(area, &mutants)?;
    let tests = trial::record(&built.programs, folder)?;
    println!("mutants: {} tests on {}", tests.len(), built.functions.len());
    let mut unviable = 0;
    let mut refused = |number: usize| {
        println!("does not compile: {}", mutants[number - 1].name);
        unviable += 1;
    };
    built.unviable.into_iter().for_each(&mut refused);
    let survives = |number: usize| println!("survives: {}", mutants[number - 1].name);
    let switched: Vec<_> = built.functions.into_iter().collect();
    let mut missed = trial::survivors(&tests, &switched, survives)?;
    println!("mutants: {} to build one by one", built.alone.len());
    for number in built.alone {
        if !scratch.one(area, &mutants[number - 1])? {
            refused(number);
        } else if trial::pass_now(&tests)? {
            survives(number);
            missed.push(number);
        }
    }
    let missed: Vec<&Mutant> = missed.into_iter().map(|number| &mutants[number - 1]).collect();
    Ok(verdicts(mutants.len(), unviable, &missed))
}

fn verdicts(all: usize, unviable: usize, missed: &[&Mutant]) -> Verdicts {
    let caught = all - unviable - missed.len();
    let mut found = Verdicts { caught, unviable, missed: BTreeMap::new() };
    for mutant in missed {
        *found.missed.entry(mutant.key()).or_default() += 1;
    }
    found
}

/// The survivors of the list: lines such as ``- `path: what` (2 times): reason``.
fn listed(text: &str) -> BTreeMap<String, usize> {
    let entry = |line: &str| {
        let (key, rest) = line.strip_prefix("- `")?.split_once('`')?;
        let times =
            rest.strip_prefix(" (").and_then(|rest| rest.split_once(" times)")?.0.parse().ok());
        Some((key.to_owned(), times.unwrap_or(1)))
    };
    text.lines().filter_map(entry).collect()
}

/// The faults of an area: too few mutants caught, or unexamined survivors.
fn compare(area: &Area, found: &Verdicts, known: &BTreeMap<String, usize>) -> Vec<String> {
    let mut faults = Vec::new();
    if found.share() < LEAST_CAUGHT {
        faults.push(format!(
            "{}: {:.1} % are caught, {LEAST_CAUGHT} % must be",
            area.name,
            found.share()
        ));
    }
    for (mutant, times) in &found.missed {
        let allowed = known.get(mutant).copied().unwrap_or(0);
        if *times > allowed {
            faults.push(format!(
                "survives and is not in {LIST}: {mutant} ({times} times, {allowed} listed)"
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survivor_is_known_without_its_line_and_the_others_are_faults() {
        let at = |what, line| Mutant::at(what, (line, 5), (line, 6), "");
        let missed = [
            at("replace < with <= in f", 10),
            at("replace < with <= in f", 90),
            at("replace g -> u8 with 0", 4),
        ];
        let missed: Vec<&Mutant> = missed.iter().collect();
        let found = verdicts(102, 2, &missed);
        assert_eq!((found.caught, found.viable(), found.unviable), (97, 100, 2));
        let list = "# Survivors\n- `src/x.rs: replace < with <= in f` (2 times): equal\n- other\n";
        assert_eq!(
            compare(&AREAS[0], &found, &listed(list)),
            ["survives and is not in docs/mutants.md: src/x.rs: replace g -> u8 with 0 (1 times, \
              0 listed)"]
        );
        assert_eq!(found.row("aqm"), "| `aqm` | 102 | 100 | 97 | 3 | 97.0 % |");
        let few = verdicts(4, 0, &missed);
        assert!(compare(&AREAS[0], &few, &listed(list))[0].contains("25.0 % are caught"));
    }

    #[test]
    fn areas_may_be_named_and_a_wrong_one_is_a_usage_error() {
        let names =
            |args: &[&str]| parse(args).unwrap().iter().map(|area| area.name).collect::<Vec<_>>();
        assert_eq!(names(&["aqm", "cc"]), ["aqm", "cc"]);
        assert_eq!(names(&[]).len(), AREAS.len());
        assert!(matches!(parse(&["rlcs"]), Err(Failure::Environment(_))));
    }
}
