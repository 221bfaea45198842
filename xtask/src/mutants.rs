//! `cargo xtask mutants`: changes the algorithms one place at a time, and counts the changes that no test notices.
//!
//! [cargo-mutants](https://mutants.rs) makes the changes ("mutants") in a copy of the tree and runs the crate's own tests on each. At
//! least [`LEAST_CAUGHT`] of those that compile must be caught in each area. One that is not must stand in `docs/mutants.md` with the
//! reason why it cannot be caught, or why that is not worth a test; any other is a failure.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{Failure, Outcome, process};

/// Share of the mutants that compile which the tests must catch, in percent.
const LEAST_CAUGHT: f64 = 95.0;

/// The version whose mutants `docs/mutants.md` lists: another finds other ones.
const VERSION: &str = "27.1.0";

const LIST: &str = "docs/mutants.md";

const USAGE: &str = "usage: cargo xtask mutants [--shard K/N] [AREA...]
  AREA  aqm, discipline, limiter, pacer, pdcp, rlc, rb_scheduler or cc; all of them unless told otherwise
  K/N   of every N mutants the K-th, from 0 on";

/// Algorithms of one kind, and the tests that must notice when they change.
struct Area {
    name: &'static str,
    package: &'static str,
    files: &'static [&'static str],
    /// Beside the unit tests.
    tests: &'static [&'static str],
}

const RAN: &str = "justfull-ran";

const AREAS: [Area; 8] = [
    Area {
        name: "aqm",
        package: "justfull-queue",
        files: &["crates/queue/src/aqm.rs", "crates/queue/src/aqm/**"],
        tests: &["--test=codel", "--test=managed"],
    },
    Area {
        name: "discipline",
        package: "justfull-queue",
        files: &["crates/queue/src/discipline.rs", "crates/queue/src/discipline/**"],
        tests: &["--test=discipline", "--test=fq_codel", "--test=managed"],
    },
    Area {
        name: "limiter",
        package: RAN,
        files: &["crates/ran/src/limiter.rs", "crates/ran/src/limiter/**"],
        tests: &[],
    },
    Area {
        name: "pacer",
        package: RAN,
        files: &["crates/ran/src/pacer.rs", "crates/ran/src/pacer/**"],
        tests: &[],
    },
    Area { name: "pdcp", package: RAN, files: &["crates/ran/src/pdcp.rs"], tests: &[] },
    Area {
        name: "rlc",
        package: RAN,
        files: &["crates/ran/src/rlc.rs", "crates/ran/src/rlc/**"],
        tests: &[],
    },
    Area {
        name: "rb_scheduler",
        package: RAN,
        files: &["crates/ran/src/rb_scheduler.rs", "crates/ran/src/rb_scheduler/**"],
        tests: &[],
    },
    Area {
        name: "cc",
        package: "justfull-tcp",
        files: &["crates/tcp/src/cc.rs", "crates/tcp/src/cc/**"],
        tests: &["--test=endpoints"],
    },
];

/// What became of the mutants of an area.
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

    /// In percent of those that compile.
    fn share(&self) -> f64 {
        100.0 * self.caught as f64 / self.viable().max(1) as f64
    }

    fn row(&self, area: &str) -> String {
        let (all, viable) = (self.viable() + self.unviable, self.viable());
        let survivors = viable - self.caught;
        format!("| `{area}` | {all} | {viable} | {} | {survivors} | {:.1} % |", self.caught, self.share())
    }
}

pub(crate) fn run(root: &Path, args: &[&str]) -> Outcome {
    let (shard, areas) = parse(args)?;
    install(root)?;
    let text = std::fs::read_to_string(root.join(LIST)).unwrap_or_default();
    let known = listed(&text);
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for area in areas {
        let found = mutate(root, area, shard)?;
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

fn parse<'a>(args: &[&'a str]) -> Outcome<(Option<&'a str>, Vec<&'static Area>)> {
    let wrong = |what: String| Failure::Environment(format!("{what}\n{USAGE}"));
    let (shard, names) = match args {
        ["--shard", shard, names @ ..] => {
            let (k, n) = shard.split_once('/').unwrap_or_default();
            let sound = matches!((k.parse::<u32>(), n.parse::<u32>()), (Ok(k), Ok(n)) if k < n);
            (
                Some(*shard).filter(|_| sound).ok_or_else(|| wrong(format!("no shard `{shard}`")))?.into(),
                names,
            )
        }
        names => (None, names),
    };
    let find = |name: &&str| {
        AREAS.iter().find(|area| area.name == *name).ok_or_else(|| wrong(format!("no area `{name}`")))
    };
    let chosen: Vec<&Area> = names.iter().map(find).collect::<Outcome<_>>()?;
    Ok((shard, if chosen.is_empty() { AREAS.iter().collect() } else { chosen }))
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

/// Runs cargo-mutants over `area`: first the unit tests, which are compiled and run quickly, then on what survives them the other
/// tests of the area too.
fn mutate(root: &Path, area: &Area, shard: Option<&str>) -> Outcome<Verdicts> {
    let out = process::metadata(&root.join("Cargo.toml"))?.target_directory.join("mutants").join(area.name);
    let out = out.into_std_path_buf();
    let files = area.files.iter().flat_map(|file| ["--file", file]);
    let shard = shard.map(|shard| ["--sharding=round-robin", "--shard", shard]);
    let chosen: Vec<&str> = files.chain(shard.into_iter().flatten()).collect();
    let (mut found, missed) = pass(root, area, &chosen, &["--lib"], &out)?;
    if area.tests.is_empty() || missed.is_empty() {
        return Ok(found);
    }
    let survivors: Vec<String> = missed.lines().map(|line| format!("--re=^{}$", escaped(line))).collect();
    let chosen: Vec<&str> = survivors.iter().map(String::as_str).collect();
    let tests: Vec<&str> = std::iter::once(&"--lib").chain(area.tests).copied().collect();
    let (rest, _) = pass(root, area, &chosen, &tests, &out)?;
    found.caught += rest.caught;
    found.missed = rest.missed;
    Ok(found)
}

/// One run of cargo-mutants over the `chosen` mutants; what became of them, and the survivors as it names them.
fn pass(
    root: &Path,
    area: &Area,
    chosen: &[&str],
    tests: &[&str],
    out: &Path,
) -> Outcome<(Verdicts, String)> {
    let folder = out.join("mutants.out");
    // What an earlier run has left must not be taken for the verdicts of one that could not begin.
    for old in [out.join("mutants.out.old"), folder.clone()] {
        std::fs::remove_dir_all(&old).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(Failure::Environment(format!("{}: {error}", old.display()))),
        })?;
    }
    std::fs::create_dir_all(out)
        .map_err(|error| Failure::Environment(format!("{}: {error}", out.display())))?;
    let mut command = process::cargo(root);
    command.args(["mutants", "--package", area.package, "--output"]).arg(out);
    command.args(["--gitignore=true", "--copy-vcs=false", "--colors=never", "--no-times"]);
    command.args(chosen).arg("--").args(tests);
    // Little optimisation: each mutant is compiled once and its tests run once.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "false");
    let outcome = process::must_succeed(&mut command);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let missed = read("missed.txt");
    let found = verdicts(&read("caught.txt"), &read("timeout.txt"), &read("unviable.txt"), &missed);
    // It fails where mutants survive, which is judged here, and where it could not run, and then there are no verdicts.
    if found.viable() == 0 { outcome.map(|()| (found, missed)) } else { Ok((found, missed)) }
}

/// `text` as a regular expression that matches it alone.
fn escaped(text: &str) -> String {
    let special = |c: char| c.is_ascii_punctuation() && !matches!(c, '_' | ':' | '/' | '<' | '>' | '=' | ',');
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// One that loops for ever is caught.
fn verdicts(caught: &str, timeout: &str, unviable: &str, missed: &str) -> Verdicts {
    let mut found = Verdicts {
        caught: caught.lines().count() + timeout.lines().count(),
        unviable: unviable.lines().count(),
        missed: BTreeMap::new(),
    };
    for line in missed.lines() {
        *found.missed.entry(without_place(line)).or_default() += 1;
    }
    found
}

/// `path:line:column: what` without line and column.
fn without_place(line: &str) -> String {
    let mut parts = line.splitn(4, ':');
    let path = parts.next().unwrap_or_default();
    format!("{path}:{}", parts.nth(2).unwrap_or_default())
}

/// The survivors of the list: lines such as ``- `path: what` (2 times): reason``.
fn listed(text: &str) -> BTreeMap<String, usize> {
    let entry = |line: &str| {
        let (key, rest) = line.strip_prefix("- `")?.split_once('`')?;
        let times = rest.strip_prefix(" (").and_then(|rest| rest.split_once(" times)")?.0.parse().ok());
        Some((key.to_owned(), times.unwrap_or(1)))
    };
    text.lines().filter_map(entry).collect()
}

/// What is wrong with an area: too few caught, or survivors that nobody has looked at.
fn compare(area: &Area, found: &Verdicts, known: &BTreeMap<String, usize>) -> Vec<String> {
    let mut faults = Vec::new();
    if found.share() < LEAST_CAUGHT {
        faults.push(format!("{}: {:.1} % are caught, {LEAST_CAUGHT} % must be", area.name, found.share()));
    }
    for (mutant, times) in &found.missed {
        let allowed = known.get(mutant).copied().unwrap_or(0);
        if *times > allowed {
            faults.push(format!("survives and is not in {LIST}: {mutant} ({times} times, {allowed} listed)"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survivor_is_known_without_its_line_and_the_others_are_faults() {
        let missed = "crates/a/src/x.rs:10:5: replace < with <= in f\ncrates/a/src/x.rs:90:5: replace < with <= in f\n\
                      crates/a/src/x.rs:4:1: replace g -> u8 with 0\n";
        let found = verdicts(&"c\n".repeat(96), "t\n", "u\nu\n", missed);
        assert_eq!((found.caught, found.viable(), found.unviable), (97, 100, 2));
        let list = "# Survivors\n- `crates/a/src/x.rs: replace < with <= in f` (2 times): equal\n- other\n";
        assert_eq!(
            compare(&AREAS[0], &found, &listed(list)),
            [
                "survives and is not in docs/mutants.md: crates/a/src/x.rs: replace g -> u8 with 0 (1 times, 0 listed)"
            ]
        );
        assert_eq!(found.row("aqm"), "| `aqm` | 102 | 100 | 97 | 3 | 97.0 % |");
        let few = verdicts("c\n", "", "", missed);
        assert!(compare(&AREAS[0], &few, &listed(list))[0].contains("25.0 % are caught"));
    }

    #[test]
    fn areas_and_a_shard_may_be_named_and_wrong_ones_are_usage_errors() {
        let names = |args: &[&str]| parse(args).unwrap().1.iter().map(|area| area.name).collect::<Vec<_>>();
        assert_eq!(names(&["aqm", "cc"]), ["aqm", "cc"]);
        assert_eq!(names(&[]).len(), AREAS.len());
        assert_eq!(parse(&["--shard", "0/8", "rlc"]).unwrap().0, Some("0/8"));
        for args in [&["rlcs"][..], &["--shard", "8/8"], &["--shard", "x"]] {
            assert!(matches!(parse(args), Err(Failure::Environment(_))), "{args:?}");
        }
    }

    #[test]
    fn a_mutants_name_is_a_pattern_that_matches_it_alone() {
        let name = "src/x.rs:1:2: replace * with + in <impl A for B>::f -> Option<&T> [x|y]";
        let pattern = r"src/x\.rs:1:2: replace \* with \+ in <impl A for B>::f \-> Option<\&T> \[x\|y\]";
        assert_eq!(escaped(name), pattern);
    }

    #[test]
    fn every_area_is_there() {
        for file in AREAS.iter().flat_map(|area| area.files) {
            let path = crate::root().join(file.trim_end_matches("/**"));
            assert!(path.exists(), "{}", path.display());
        }
    }
}
