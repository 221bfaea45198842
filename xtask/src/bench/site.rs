//! `cargo xtask bench site`: 64 cells of 100 UEs for 10 simulated seconds on one thread and on two,
//! and the memory of a quiet UE among them.
//!
//! The program is `site_bench` in `crates/sim/examples`.

use std::path::Path;

use super::{Profile, Run, build, judge, measure};
use crate::Outcome;

/// Longest time of `site` in milliseconds: what it simulates.
const CEILING_MS: f64 = 10_000.0;

/// Least speedup of two threads over one.
const GAIN_FLOOR: f64 = 1.8;

/// Most bytes of a quiet UE.
const QUIET_CEILING: f64 = 1_536.0;

/// UEs that `site_quiet` has and `site_few` has not.
const QUIET: f64 = 64.0 * 99.0;

/// Number of runs; the least time counts.
const ROUNDS: usize = 3;

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let program = build(root, Profile::Release, "justfull-sim", "site_bench")?;
    let [few, quiet] = [measure(&program, "site_few")?, measure(&program, "site_quiet")?];
    let [mut one, mut two] = [Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS)];
    for _ in 0..ROUNDS {
        one.push(measure(&program, "site")?);
        two.push(measure(&program, "site_two")?);
    }
    let measured = Measured { few, quiet, one, two };
    print!("{}", measured.report());
    judge(&measured.violations(), enforce)
}

/// The runs.
struct Measured {
    few: Run,
    quiet: Run,
    /// `site` on one thread.
    one: Vec<Run>,
    /// `site` on two threads.
    two: Vec<Run>,
}

fn least_ms(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.wall_ms).fold(f64::INFINITY, f64::min)
}

impl Measured {
    /// Memory of a quiet UE in bytes.
    fn quiet_bytes(&self) -> f64 {
        (self.quiet.rss_kib as f64 - self.few.rss_kib as f64) * 1024.0 / QUIET
    }

    /// Speedup of two threads over one.
    fn gain(&self) -> f64 {
        least_ms(&self.one) / least_ms(&self.two)
    }

    fn report(&self) -> String {
        let [one, two] = [&self.one, &self.two].map(|runs| least_ms(runs));
        let (bytes, gain) = (self.quiet_bytes(), self.gain());
        let Some(run) = self.one.first() else { return String::new() };
        let each = one * 1e6 / (run.packets + run.drops).max(1) as f64;
        format!(
            "64 cells of 100 UEs, 10 s: {one:.0} ms, {} packets, {each:.0} ns a packet, {} KiB, \
             digest {}\non two threads: {two:.0} ms, {gain:.2} times as fast\na quiet UE: \
             {bytes:.0} bytes\n",
            run.packets, run.rss_kib, run.digest
        )
    }

    /// Every violation of a limit, one sentence each.
    fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        let (bytes, gain) = (self.quiet_bytes(), self.gain());
        if bytes > QUIET_CEILING {
            found.push(format!("a quiet UE: {bytes:.0} bytes, at most {QUIET_CEILING}"));
        }
        let least = least_ms(&self.two);
        if least > CEILING_MS {
            found.push(format!("site on two threads: {least:.0} ms, at most {CEILING_MS}"));
        }
        if gain < GAIN_FLOOR {
            found.push(format!("two threads: {gain:.2} times as fast, at least {GAIN_FLOOR}"));
        }
        let digest = &self.one[0].digest;
        if self.one.iter().chain(&self.two).any(|run| run.digest != *digest) {
            found.push("site: two runs did different work".to_string());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(wall_ms: f64, rss_kib: u64, digest: &str) -> Run {
        Run {
            wall_ms,
            packets: 90,
            drops: 10,
            calls_per_packet: 6.5,
            allocations_after_warmup: 0,
            rss_kib,
            digest: digest.into(),
        }
    }

    #[test]
    fn every_limit_is_enforced() {
        let few = || run(1.0, 3_000, "0");
        let sound = Measured {
            few: few(),
            quiet: run(1.0, 3_000 + 9_000, "0"),
            one: vec![run(15_000.0, 30_000, "1"), run(17_000.0, 30_000, "1")],
            two: vec![run(9_000.0, 30_000, "1"), run(8_000.0, 30_000, "1")],
        };
        assert_eq!(sound.violations(), Vec::<String>::new());
        assert!(sound.report().contains("15000 ms, 90 packets"));
        assert!(sound.report().contains("8000 ms, 1.88 times as fast"));
        let faulty = Measured {
            few: few(),
            quiet: run(1.0, 13_000, "0"),
            one: vec![run(15_000.0, 30_000, "1")],
            two: vec![run(10_001.0, 30_000, "2")],
        };
        assert_eq!(faulty.violations().len(), 4);
    }
}
