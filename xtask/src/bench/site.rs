//! `cargo xtask bench site`: 64 cells of 100 UEs for 10 simulated seconds, and the memory of a
//! quiet UE among them.
//!
//! The program is `site_bench` in `crates/sim/examples`.

use std::path::Path;

use super::{Profile, Run, build, judge, measure};
use crate::Outcome;

/// Longest time of `site` in milliseconds: what it simulates.
const CEILING_MS: f64 = 10_000.0;

/// Most bytes of a quiet UE.
const QUIET_CEILING: f64 = 1_536.0;

/// UEs that `site_quiet` has and `site_few` has not.
const QUIET: f64 = 64.0 * 99.0;

/// Number of runs; the least time counts.
const ROUNDS: usize = 3;

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let program = build(root, Profile::Release, "justfull-sim", "site_bench")?;
    let [few, quiet] = [measure(&program, "site_few")?, measure(&program, "site_quiet")?];
    let mut site = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        site.push(measure(&program, "site")?);
    }
    print!("{}", report(&few, &quiet, &site));
    judge(&violations(&few, &quiet, &site), enforce)
}

fn least_ms(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.wall_ms).fold(f64::INFINITY, f64::min)
}

/// Bytes of a quiet UE.
fn quiet_bytes(few: &Run, quiet: &Run) -> f64 {
    (quiet.rss_kib as f64 - few.rss_kib as f64) * 1024.0 / QUIET
}

fn report(few: &Run, quiet: &Run, site: &[Run]) -> String {
    let (bytes, least) = (quiet_bytes(few, quiet), least_ms(site));
    let Some(run) = site.first() else { return String::new() };
    let each = least * 1e6 / (run.packets + run.drops).max(1) as f64;
    format!(
        "64 cells of 100 UEs, 10 s: {least:.0} ms, {} packets, {each:.0} ns a packet, {} KiB, digest \
         {}\na quiet UE: {bytes:.0} bytes\n",
        run.packets, run.rss_kib, run.digest
    )
}

/// Every violation of a limit, one sentence each.
fn violations(few: &Run, quiet: &Run, site: &[Run]) -> Vec<String> {
    let mut found = Vec::new();
    let (bytes, least) = (quiet_bytes(few, quiet), least_ms(site));
    if bytes > QUIET_CEILING {
        found.push(format!("a quiet UE: {bytes:.0} bytes, at most {QUIET_CEILING}"));
    }
    if least > CEILING_MS {
        found.push(format!("site: {least:.0} ms, at most {CEILING_MS}"));
    }
    if site.iter().any(|run| run.digest != site[0].digest) {
        found.push("site: two runs did different work".to_string());
    }
    found
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
        let (few, quiet) = (run(1.0, 3_000, "0"), run(1.0, 3_000 + 9_000, "0"));
        let site = [run(9_000.0, 30_000, "1"), run(11_000.0, 30_000, "1")];
        assert_eq!(violations(&few, &quiet, &site), Vec::<String>::new());
        assert!(report(&few, &quiet, &site).contains("9000 ms, 90 packets"));
        let heavy = run(1.0, 13_000, "0");
        let slow = [run(10_001.0, 30_000, "1"), run(10_001.0, 30_000, "2")];
        assert_eq!(violations(&few, &heavy, &slow).len(), 3);
    }
}
