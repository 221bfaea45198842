//! Instructions and cache misses of one run, counted by valgrind's cachegrind: the same on every
//! machine and under every load.

use std::path::Path;
use std::process::Command;

use crate::{Failure, Outcome, process};

/// A first cache of 48 KiB in 12 ways and a second of 1 MiB in 16: a core of today's servers.
const CACHES: [&str; 2] = ["--D1=49152,12,64", "--LL=1048576,16,64"];

/// The counts of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) instructions: u64,
    /// Reads and writes of data that missed the second cache, if caches were simulated.
    pub(super) misses: Option<u64>,
}

/// True if this machine can count.
pub(super) fn possible() -> bool {
    process::exists("valgrind")
}

/// Runs `program --json` with the words of `workload` under valgrind, some 30 times slower than
/// alone, and with `caches` 60 times.
pub(super) fn count(program: &Path, workload: &[&str], caches: bool) -> Outcome<Counted> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cachegrind-out-file=/dev/null"]);
    command.arg(format!("--cache-sim={}", if caches { "yes" } else { "no" })).args(CACHES);
    let summary = process::stderr_of(command.arg(program).arg("--json").args(workload))?;
    read(&summary, caches).ok_or_else(|| {
        let name = workload.join(" ");
        Failure::Check(format!("valgrind counted nothing for {name}:\n{summary}"))
    })
}

/// Reads the summary that cachegrind writes when the run ends.
fn read(summary: &str, caches: bool) -> Option<Counted> {
    let number_after = |label: &str| {
        let line = summary.lines().find_map(|line| Some(line.split_once(label)?.1))?;
        line.split_whitespace().next()?.replace(',', "").parse().ok()
    };
    let misses = if caches { Some(number_after("LLd misses:")?) } else { None };
    Some(Counted {
        instructions: number_after("I   refs:").or_else(|| number_after("I refs:"))?,
        misses,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
==7== I   refs:      1,262,201,234
==7== I1  misses:            5,678
==7== D   refs:        600,000,000  (400,000,000 rd   + 200,000,000 wr)
==7== LLd misses:        6,100,200  (  5,000,000 rd   +   1,100,200 wr)
";

    #[test]
    fn a_summary_is_read_with_and_without_caches() {
        let instructions = 1_262_201_234;
        assert_eq!(read(SUMMARY, true), Some(Counted { instructions, misses: Some(6_100_200) }));
        assert_eq!(
            read("==7== I refs: 1,262,201,234\n", false),
            Some(Counted { instructions, misses: None })
        );
    }

    #[test]
    fn a_summary_without_a_count_is_none() {
        assert_eq!(read("==7== I refs: 5\n", true), None);
        assert_eq!(read("valgrind: no such file\n", false), None);
    }
}
