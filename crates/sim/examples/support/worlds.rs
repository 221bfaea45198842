//! Runs of the workloads that are worlds.

use super::support::{AfterWarmup, Line};
use justfull_base::{Duration, Instant};
use justfull_run::WorldConfig;
use justfull_run::results::RunResult;
use justfull_sim::{Progress, World};

impl Progress for AfterWarmup {
    fn advanced(&mut self, now: Instant) -> bool {
        self.reached(now);
        true
    }
}

/// The arguments of a workload: names, and `--json`.
pub(crate) struct Arguments(pub(crate) Vec<String>);

impl Arguments {
    /// Those of this program.
    pub(crate) fn read() -> Self {
        Self(std::env::args().skip(1).collect())
    }

    /// True if the workload `name` is selected: no name, or this name alone, is given.
    pub(crate) fn select(&self, name: &str) -> bool {
        self.0.iter().all(|a| a.starts_with("--") || a == name)
    }
}

/// A finished run.
pub(crate) struct Ran {
    pub(crate) result: RunResult,
    /// Wall-clock time, with the construction.
    pub(crate) wall_ms: f64,
    pub(crate) packets: u64,
    pub(crate) drops: u64,
    /// Component calls per packet.
    pub(crate) calls: f64,
    /// Allocations after the warm-up.
    pub(crate) allocations: u64,
}

impl Ran {
    /// Runs the world of `make` on at most `threads` threads; allocations count from `warm` on.
    #[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    pub(crate) fn of(threads: usize, make: impl FnOnce() -> WorldConfig, warm: Duration) -> Self {
        let start = std::time::Instant::now();
        let config = make();
        let world = World::new(&config).expect("the workload is sound");
        drop(config);
        let mut counter = AfterWarmup::new(Instant::ZERO + warm);
        let result = world.run_on(threads, &mut counter).expect("nobody ends it");
        let wall_ms = start.elapsed().as_secs_f64() * 1e3;
        let packets = result.conservation.delivered;
        Self {
            wall_ms,
            packets,
            drops: result.conservation.dropped,
            calls: result.component_calls as f64 / packets as f64,
            allocations: counter.allocations(),
            result,
        }
    }

    /// Prints the run of the workload `name`: a line of JSON, or `text` behind the counters.
    pub(crate) fn print(&self, name: &str, arguments: &Arguments, text: &str) {
        let &Self { ref result, wall_ms, packets, drops, calls, allocations } = self;
        if arguments.0.iter().any(|a| a == "--json") {
            Line { name, wall_ms, packets, drops, calls, allocations }.print(result);
        } else {
            println!(
                "{name}: {wall_ms:.2} ms wall, {packets} packets, {drops} drops, {calls:.2} calls \
                 per packet, {allocations} allocations after the start, {text}"
            );
        }
    }
}
