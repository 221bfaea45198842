//! The workload S2: two CUBIC downloads of 200 MB over a plain link of 850 Mbit/s with 1 ms RTT and a FIFO of 10 MB.
//!
//! `cargo run --release -p justfull-sim --example s2_bench -- [--json] [s2]` prints the wall time and the counters that must come
//! out equal, whatever the speed. `cargo xtask bench` runs it many times.

use justfull_base::{BitRate, Bytes, Duration, Instant};
use justfull_queue::Limit;
use justfull_sim::dumbbell::{Loss, Observer};
use justfull_sim::{Dumbbell, DumbbellConfig, DumbbellFlow};
use justfull_tcp::{ReceiverConfig, Sender, SenderConfig, Window};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts allocations.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts the allocations after two thirds of the run: queues have reached their size by then.
#[derive(Default)]
struct AfterWarmup {
    warm: Option<u64>,
    last: u64,
}

impl Observer for AfterWarmup {
    fn sampled(&mut self, now: Instant, _: u32, _: &Sender, _: u64) {
        self.last = ALLOCATIONS.load(Ordering::Relaxed);
        if now >= Instant::ZERO + Duration::from_millis(2600) {
            self.warm.get_or_insert(self.last);
        }
    }
}

fn s2() -> DumbbellConfig {
    let receiver = ReceiverConfig { window: Window::Fixed(Bytes(64 << 20)), ..ReceiverConfig::default() };
    let download = DumbbellFlow {
        size: Some(Bytes(200_000_000)),
        ..DumbbellFlow::greedy(SenderConfig::default(), receiver, Duration::from_millis(1))
    };
    DumbbellConfig {
        flows: vec![download.clone(), download],
        rate: BitRate(850_000_000),
        limit: Limit::Bytes(10_000_000),
        loss: Loss::Never,
        duration: Duration::from_secs(60),
        sample_every: Duration::from_millis(100),
        seed: 1,
    }
}

/// Peak resident memory of this process in KiB, from the kernel.
fn rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// FNV-1a over the results: equal digests mean equal runs.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn main() {
    let json = std::env::args().any(|a| a == "--json");
    let config = s2();
    let start = std::time::Instant::now();
    let dumbbell = Dumbbell::new(&config).expect("the workload is sound");
    let mut warm = AfterWarmup::default();
    let outcome = dumbbell.run(&mut warm);
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    let after = warm.last - warm.warm.unwrap_or(0);
    let packets = outcome.carried;
    let drops: u64 = outcome.flows.iter().map(|flow| flow.queue_drops).sum();
    let calls = outcome.component_calls as f64 / packets as f64;
    if json {
        println!(
            "{{\"name\":\"s2\",\"wall_ms\":{wall_ms:.3},\"packets\":{packets},\"drops\":{drops},\
             \"calls_per_packet\":{calls:.3},\"allocations_after_warmup\":{after},\"rss_kib\":{},\
             \"digest\":\"{:016x}\"}}",
            rss_kib(),
            digest(&format!("{outcome:?}"))
        );
    } else {
        let ends: Vec<f64> =
            outcome.flows.iter().filter_map(|flow| flow.completed).map(Instant::as_secs_f64).collect();
        println!(
            "s2: {wall_ms:.2} ms wall, {packets} packets, {drops} drops, done after {ends:.3?} s, {calls:.2} calls per packet"
        );
    }
}
