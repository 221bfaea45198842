//! Measures the decisions of each limiter.
//!
//! `cargo run --release -p justfull-ran --example limiter_bench` polls a bearer five times per slot
//! of 1 ms with an SDU of 1500 B and one of 200 B, admits the allowed SDUs, pulls 2292 B, and
//! prints the time per query, including pulls, of the fastest of 20 runs. The line of `unlimited`,
//! which decides nothing, is the cost of the loop.

use justfull_base::{Duration, Instant, Packet, SlotReport};
use justfull_ran::channel::CapacityUnit;
use justfull_ran::limiter::{
    AnyLimiter, Bdp5gConfig, DqlConfig, DrqlConfig, DynRlcConfig, EBdp5gConfig, FixedConfig,
    GrantContext, LastPollConfig, Limiter, LimiterConfig, RlcView,
};
use std::hint::black_box;

const SLOTS: u64 = 200_000;
const RUNS: u32 = 20;
const CAPACITY: u64 = 2292;

/// Queries the limiter; returns the number of queries.
fn run(limiter: &mut AnyLimiter) -> u64 {
    let slot = Duration::from_millis(1);
    let sdus = [200, 1500].map(|size| Packet { size, ..Packet::default() });
    let mut queue = RlcView::default();
    let (mut asked, mut pulled_at) = (0, Instant::ZERO);
    for _ in 0..SLOTS {
        for poll in 0..5 {
            let now = pulled_at + Duration::from_micros(100 + poll * 200);
            for sdu in &sdus {
                asked += 1;
                if black_box(limiter.admits(now, black_box(sdu), &queue)) {
                    queue.packets += 1;
                    queue.bytes += u64::from(sdu.size);
                    limiter.on_admitted(now, limiter.amount(sdu), &queue);
                }
            }
        }
        pulled_at += slot;
        let used = queue.bytes.min(CAPACITY);
        queue.bytes -= used;
        queue.packets = queue.bytes.div_ceil(1500);
        let remaining = queue.bytes;
        let starved = used < CAPACITY;
        limiter.on_slot(&SlotReport {
            pulled_at,
            slot,
            granted: CAPACITY,
            used,
            remaining,
            capacity: CAPACITY,
            starved,
        });
    }
    asked
}

fn main() {
    let context =
        GrantContext { unit: CapacityUnit::Bytes, slot: Duration::from_millis(1), mtu: 1500 };
    for (name, config) in [
        ("unlimited", LimiterConfig::default()),
        ("fixed", LimiterConfig::Fixed(FixedConfig::default())),
        ("dyn_rlc", LimiterConfig::DynRlc(DynRlcConfig::default())),
        ("drql", LimiterConfig::Drql(DrqlConfig::default())),
        ("dql", LimiterConfig::Dql(DqlConfig::default())),
        ("bdp_5g", LimiterConfig::Bdp5g(Bdp5gConfig::default())),
        ("e_bdp_5g", LimiterConfig::EBdp5g(EBdp5gConfig::default())),
        ("last_poll", LimiterConfig::LastPoll(LastPollConfig::default())),
    ] {
        let mut limiter = AnyLimiter::new(&config, &context).expect("defaults are in bounds");
        let times = (0..RUNS).map(|_| {
            #[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
            let start = std::time::Instant::now();
            let asked = run(&mut limiter);
            start.elapsed().as_nanos() as f64 / asked as f64
        });
        let least = times.fold(f64::INFINITY, f64::min);
        println!("{name:12} {least:5.2} ns per decision");
    }
}
