//! `cargo xtask bench growth`: the time of a packet and the memory of a UE as UEs are added to the
//! cell of S1.
//!
//! The program is `s1_bench` in `crates/sim/examples`; `growth_N` is the cell with 1 MB of RLC for
//! each of N UEs, each with a CUBIC download for 60 simulated seconds. The cell carries the same
//! for any number of UEs, so the time should follow the packets, not the UEs.

use std::path::Path;

use super::{Profile, RATIO_CEILING, Run, build, judge, measure};
use crate::Outcome;

/// UEs, and most MiB of the resident set.
const STEPS: [(&str, u64); 5] = [
    ("growth_1", 30),
    ("growth_10", 30),
    ("growth_100", 30),
    ("growth_1000", 80),
    ("growth_10000", 400),
];

/// Most nanoseconds of a packet, relative to the step before.
const COST_CEILING: f64 = 2.0 * RATIO_CEILING;

/// Number of runs; the least time counts.
const ROUNDS: usize = 3;

pub(super) fn run(root: &Path, enforce: bool) -> Outcome {
    let program = build(root, Profile::Release, "justfull-sim", "s1_bench")?;
    let mut steps = Vec::with_capacity(STEPS.len());
    for (name, _) in STEPS {
        let mut runs = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            runs.push(measure(&program, name)?);
        }
        steps.push(runs);
    }
    print!("{}", report(&steps));
    judge(&violations(&steps), enforce)
}

fn least_ms(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.wall_ms).fold(f64::INFINITY, f64::min)
}

/// Nanoseconds of a packet that was delivered or dropped.
fn cost(runs: &[Run]) -> f64 {
    runs.first().map_or(0.0, |run| least_ms(runs) * 1e6 / (run.packets + run.drops).max(1) as f64)
}

fn report(steps: &[Vec<Run>]) -> String {
    let mut text = format!(
        "{:<14} {:>9} {:>9} {:>8} {:>10} {:>9}  digest\n",
        "workload", "min ms", "packets", "drops", "ns/packet", "RSS KiB"
    );
    for ((name, _), runs) in STEPS.iter().zip(steps) {
        let Some(run) = runs.first() else { continue };
        text += &format!(
            "{name:<14} {:>9.1} {:>9} {:>8} {:>10.0} {:>9}  {}\n",
            least_ms(runs),
            run.packets,
            run.drops,
            cost(runs),
            run.rss_kib,
            run.digest
        );
    }
    text
}

/// Every violation of a limit, one sentence each.
fn violations(steps: &[Vec<Run>]) -> Vec<String> {
    let mut found = Vec::new();
    for ((name, most_mib), runs) in STEPS.iter().zip(steps) {
        let rss = runs.iter().map(|run| run.rss_kib).max().unwrap_or(0);
        if rss > most_mib * 1024 {
            found.push(format!(
                "{name}: resident set of {rss} KiB, at most {} KiB",
                most_mib * 1024
            ));
        }
        if runs.iter().any(|run| run.digest != runs[0].digest) {
            found.push(format!("{name}: two runs did different work"));
        }
    }
    for (i, pair) in steps.windows(2).enumerate() {
        let (fewer, more) = (cost(&pair[0]), cost(&pair[1]));
        if more > COST_CEILING * fewer {
            found.push(format!(
                "{}: {more:.0} ns a packet, at most {COST_CEILING:.1} times the {fewer:.0} ns of \
                 {}",
                STEPS[i + 1].0,
                STEPS[i].0
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(wall_ms: f64, rss_kib: u64, digest: &str) -> Vec<Run> {
        vec![Run {
            wall_ms,
            packets: 90,
            drops: 10,
            calls_per_packet: 6.5,
            allocations_after_warmup: 0,
            rss_kib,
            digest: digest.into(),
        }]
    }

    #[test]
    fn time_in_step_with_packets_passes() {
        let steps: Vec<_> = STEPS.map(|_| runs(10.0, 1000, "0")).into();
        assert_eq!(violations(&steps), Vec::<String>::new());
        assert!(report(&steps).contains("100000"), "10 ms for 100 packets: {}", report(&steps));
    }

    #[test]
    fn every_limit_is_enforced() {
        let mut steps: Vec<_> = STEPS.map(|_| runs(10.0, 1000, "0")).into();
        steps[4] = runs(10.0 * COST_CEILING + 1.0, 5_000_000, "0");
        steps[1].extend(runs(10.0, 1000, "1"));
        let found = violations(&steps);
        for words in ["ns a packet", "resident set", "different work"] {
            assert!(
                found.iter().any(|line| line.contains(words)),
                "{words} is missing in {found:?}"
            );
        }
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
