//! The workload S1: one greedy CUBIC flow and one VoIP flow over a 5 MHz LTE cell for 60 simulated seconds.
//!
//! `cargo run --release -p justfull-sim --example s1_bench -- [--json] [s1_10mb | s1_1mb]` prints, for each case, the wall time and
//! the counters that must come out equal, whatever the speed. `cargo xtask bench` runs it many times.

use justfull_base::packet::Protocol;
use justfull_base::{BitRate, Bytes, Duration, Instant, Qfi};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{ChannelConfig, PatternConfig};
use justfull_ran::{
    FiveTuple, MacConfig, PacketDetectionRule, PollConfig, QosFlowConfig, RlcConfig, SdapConfig, StackConfig,
    TieOrder, UeConfig, UpfConfig,
};
use justfull_sim::{FlowConfig, Interval, Progress, Traffic, UplinkConfig, World, WorldConfig};
use justfull_tcp::{ReceiverConfig, SenderConfig, Window};
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

/// counts the allocations of the event loop after two thirds of the run: queues have reached their size by then. Making the
/// results after the last event is not counted.
#[derive(Default)]
struct AfterWarmup {
    warm: Option<u64>,
    last: u64,
}

impl Progress for AfterWarmup {
    fn advanced(&mut self, now: Instant) -> bool {
        self.last = ALLOCATIONS.load(Ordering::Relaxed);
        if now >= Instant::ZERO + Duration::from_secs(40) {
            self.warm.get_or_insert(self.last);
        }
        true
    }
}

/// S1 with an RLC queue of `rlc_bytes`: 2292 B in eight slots of ten, 1572 B in two (25 PRB, MCS 28, A21).
fn s1(rlc_bytes: u64) -> WorldConfig {
    let ms = Duration::from_millis;
    let qfi = Qfi::new(9).expect("below 64");
    let flow = |name: &str, port, protocol, traffic, low_latency, start| FlowConfig {
        name: name.into(),
        ue: 0,
        tuple: FiveTuple { destination_port: port, protocol, ..FiveTuple::default() },
        traffic,
        low_latency,
        start,
        stop: None,
        extra_delay: Duration::ZERO,
        delay_budget: None,
    };
    let receiver = ReceiverConfig { window: Window::Fixed(Bytes(64 << 20)), ..ReceiverConfig::default() };
    let bulk = Traffic::Tcp { sender: SenderConfig::default(), receiver, size: None };
    let voip = Traffic::Udp { payload: Bytes(172), interval: Interval::Constant(ms(20)) };
    let (full, less) = (2292, 1572);
    WorldConfig {
        scenario: "s1".into(),
        method: "Vanilla".into(),
        stack: StackConfig {
            upf: UpfConfig::default(),
            sdap: SdapConfig { poll: PollConfig::every(Duration::from_micros(200)), ..SdapConfig::default() },
            rlc: RlcConfig { queue: QueueConfig::tail_drop(Limit::Bytes(rlc_bytes)), ..RlcConfig::default() },
            mac: MacConfig::default(),
            channel: ChannelConfig::Pattern(PatternConfig {
                bytes: vec![less, full, full, full, full, less, full, full, full, full],
            }),
            ues: vec![UeConfig {
                drbs: 1,
                qos_flows: vec![QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None }],
                rules: vec![PacketDetectionRule::any(qfi)],
                channel: None,
            }],
            tie_order: TieOrder::TopDown,
            mtu: 1500,
            seed: 1,
            assert_bound: false,
        },
        flows: vec![
            flow("bulk", 5001, Protocol::Tcp, bulk, false, Duration::ZERO),
            flow("voip", 5004, Protocol::Udp, voip, true, Duration::from_secs(5)),
        ],
        core_rate: BitRate(1_000_000_000),
        core_delay: ms(10),
        air_delay: Duration::ZERO,
        uplink: UplinkConfig { rate: BitRate(0), delay: ms(10), limit: UplinkConfig::LIMIT, grants: None },
        duration: Duration::from_secs(60),
        warmup: Duration::from_secs(5),
        series_bins: 1000,
        entity_backlog: false,
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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|a| a == "--json");
    let asked = |name: &str| arguments.iter().all(|a| a.starts_with("--") || a == name);
    for (name, rlc_bytes) in [("s1_10mb", 10_000_000), ("s1_1mb", 1_000_000)] {
        if !asked(name) {
            continue;
        }
        let config = s1(rlc_bytes);
        let start = std::time::Instant::now();
        let world = World::new(&config).expect("the workload is sound");
        let mut warm = AfterWarmup::default();
        let result = world.run(&mut warm).expect("nobody ends it");
        let wall_ms = start.elapsed().as_secs_f64() * 1e3;
        let after = warm.last - warm.warm.unwrap_or(0);
        let packets = result.conservation.delivered;
        let drops = result.conservation.dropped;
        let calls = result.component_calls as f64 / packets as f64;
        let goodput = result.flows[0].goodput_mbit_s;
        let digest = digest(&format!("{result:?}"));
        if json {
            println!(
                "{{\"name\":\"{name}\",\"wall_ms\":{wall_ms:.3},\"packets\":{packets},\"drops\":{drops},\
                 \"calls_per_packet\":{calls:.3},\"allocations_after_warmup\":{after},\"rss_kib\":{},\
                 \"digest\":\"{digest:016x}\"}}",
                rss_kib()
            );
        } else {
            println!(
                "{name}: {wall_ms:.2} ms wall, {packets} packets, {drops} drops, {goodput:.2} Mbit/s, {calls:.2} calls per packet"
            );
        }
    }
}
