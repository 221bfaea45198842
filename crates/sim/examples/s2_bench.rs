//! The workload S2: two CUBIC downloads of 200 MB over a plain link of 850 Mbit/s with 1 ms RTT and
//! a FIFO of 10 MB.
//!
//! `cargo run --release -p justfull-sim --example s2_bench -- [--json] [s2]` prints the wall time
//! and the counters, which must not depend on speed. `cargo xtask bench` runs it many times.

use justfull_base::{BitRate, Bytes, Duration, Instant};
use justfull_queue::Limit;
use justfull_sim::dumbbell::{Loss, Observer};
use justfull_sim::{Dumbbell, DumbbellConfig, DumbbellFlow};
use justfull_tcp::{CcConfig, ReceiverConfig, Sender, SenderConfig, Window};

#[path = "support/mod.rs"]
mod support;
use support::{AfterWarmup, Line};

/// Reports the progress of the run to the counter.
struct Warm(AfterWarmup);

impl Observer for Warm {
    fn sampled(&mut self, now: Instant, _: u32, _: &Sender, _: u64) {
        self.0.reached(now);
    }
}

/// With `prague` the two send L4S, and one packet in 400 is marked.
fn s2(prague: bool) -> DumbbellConfig {
    let receiver =
        ReceiverConfig { window: Window::Fixed(Bytes(64 << 20)), ..ReceiverConfig::default() };
    let cc = if prague { CcConfig::by_name("prague") } else { None }.unwrap_or_default();
    let sender = SenderConfig { cc, ..SenderConfig::default() };
    let download = DumbbellFlow {
        size: Some(Bytes(200_000_000)),
        ..DumbbellFlow::greedy(sender, receiver, Duration::from_millis(1))
    };
    DumbbellConfig {
        flows: vec![download.clone(), download],
        rate: BitRate(850_000_000),
        limit: Limit::Bytes(10_000_000),
        loss: Loss::Never,
        marks: if prague { Loss::Every(400) } else { Loss::Never },
        duration: Duration::from_secs(60),
        sample_every: Duration::from_millis(100),
        seed: 1,
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn main() {
    let json = std::env::args().any(|a| a == "--json");
    let prague = std::env::args().any(|a| a == "s2_prague");
    let config = s2(prague);
    let start = std::time::Instant::now();
    let dumbbell = Dumbbell::new(&config).expect("the workload is sound");
    let mut warm = Warm(AfterWarmup::new(Instant::ZERO + Duration::from_millis(2600)));
    let outcome = dumbbell.run(&mut warm);
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    let packets = outcome.carried;
    let drops: u64 = outcome.flows.iter().map(|flow| flow.queue_drops).sum();
    let calls = outcome.component_calls as f64 / packets as f64;
    if json {
        let name = if prague { "s2_prague" } else { "s2" };
        Line { name, wall_ms, packets, drops, calls, allocations: warm.0.allocations() }
            .print(&outcome);
    } else {
        let ends: Vec<f64> = outcome
            .flows
            .iter()
            .filter_map(|flow| flow.completed)
            .map(Instant::as_secs_f64)
            .collect();
        println!(
            "s2: {wall_ms:.2} ms wall, {packets} packets, {drops} drops, done after {ends:.3?} s, \
             {calls:.2} calls per packet"
        );
    }
}
