//! `cargo xtask swarm`: random worlds from fresh seeds, for a given time.
//!
//! The worlds are those of `crates/sim/tests/swarm`, which `cargo test` runs with fixed seeds. Here
//! the first seed is random, and printed. A failing world is made as small as possible and printed
//! with the command that runs it again.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::time::Duration;

use crate::{Failure, Outcome, process};

const USAGE: &str =
    "usage: cargo xtask swarm [--for TIME] [--kind KIND] [--seed N [--without PART,PART...]]
  TIME  such as 90s, 30m or 1h; 10m by default
  KIND  cells, umts, worlds or wires; all of them by default
  N     the first seed; without --for that world alone is run";

/// Kinds of worlds, and the tests that run them.
const KINDS: [(&str, &str); 4] = [
    ("cells", "random_cells_conserve"),
    ("umts", "random_cells_of_umts"),
    ("worlds", "random_worlds"),
    ("wires", "random_transfers"),
];

#[derive(Debug, Default, PartialEq, Eq)]
struct Options<'a> {
    time: Option<Duration>,
    test: Option<&'a str>,
    seed: Option<u64>,
    without: Option<&'a str>,
}

pub(crate) fn run(root: &Path, args: &[&str]) -> Outcome {
    let options = parse(args)?;
    let mut command = process::cargo(root);
    command.args(["test", "--package", "justfull-sim", "--test", "swarm", "--"]);
    // A thread for each kind: in sequence, a later kind might start after the end of the time.
    command.args([options.test.unwrap_or("random_"), "--nocapture", "--test-threads=4"]);
    let seed = options.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    command.env("JUSTFULL_SWARM_SEED", seed.to_string());
    command.env("JUSTFULL_SWARM_WITHOUT", options.without.unwrap_or_default());
    if options.seed.is_none() || options.time.is_some() {
        let time = options.time.unwrap_or(Duration::from_secs(600));
        println!("swarm: worlds from seed {seed} on, for {} s", time.as_secs());
        command.env("JUSTFULL_SWARM_FOR", time.as_secs().to_string());
    }
    process::must_succeed(&mut command)
}

fn parse<'a>(args: &[&'a str]) -> Outcome<Options<'a>> {
    let wrong = |what: String| Failure::Environment(format!("{what}\n{USAGE}"));
    let mut options = Options::default();
    let mut words = args.iter();
    while let Some(name) = words.next() {
        let value = *words.next().ok_or_else(|| wrong(format!("`{name}` without a value")))?;
        match *name {
            "--for" => {
                options.time =
                    Some(seconds(value).ok_or_else(|| wrong(format!("`{value}` is no time")))?)
            }
            "--seed" => {
                options.seed =
                    Some(value.parse().map_err(|_| wrong(format!("`{value}` is no seed")))?)
            }
            "--without" => options.without = Some(value),
            "--kind" => {
                let known = KINDS.iter().find(|kind| kind.0 == value);
                options.test = Some(known.ok_or_else(|| wrong(format!("no kind `{value}`")))?.1);
            }
            _ => return Err(wrong(format!("unknown option `{name}`"))),
        }
    }
    if options.without.is_some() && options.seed.is_none() {
        return Err(wrong("`--without` needs `--seed`".into()));
    }
    Ok(options)
}

/// A time in whole seconds, minutes or hours; at least a second.
pub(crate) fn seconds(text: &str) -> Option<Duration> {
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return None,
    };
    let seconds = number.parse::<u64>().ok()?.checked_mul(factor)?;
    (seconds > 0).then_some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_seconds_minutes_or_hours() {
        let read = |text| seconds(text).map(|time| time.as_secs());
        assert_eq!(
            [read("90"), read("90s"), read("30m"), read("1h")],
            [Some(90), Some(90), Some(1800), Some(3600)]
        );
        assert_eq!([read("0s"), read("1d"), read("h"), read("-1s"), read("1.5h")], [None; 5]);
    }

    #[test]
    fn a_seed_alone_is_one_world_and_a_time_makes_it_the_first() {
        let one = parse(&["--kind", "cells", "--seed", "7", "--without", "pacer,limiter"]).unwrap();
        let expected = Options {
            test: Some("random_cells_conserve"),
            seed: Some(7),
            without: Some("pacer,limiter"),
            time: None,
        };
        assert_eq!(one, expected);
        assert_eq!(parse(&["--for", "1m"]).unwrap().time, Some(Duration::from_secs(60)));
    }

    #[test]
    fn wrong_arguments_are_usage_errors_that_name_them() {
        for args in [
            &["--for"][..],
            &["--for", "soon"],
            &["--kind", "dreams"],
            &["--seed", "x"],
            &["--without", "a"],
        ] {
            let Err(Failure::Environment(message)) = parse(args) else { panic!("{args:?}") };
            assert!(
                message.contains(args.last().unwrap()) || message.contains("--seed"),
                "{message}"
            );
        }
    }
}
