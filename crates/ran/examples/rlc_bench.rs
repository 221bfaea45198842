//! Measures RLC: nanoseconds per PDU, both sides together, and bytes per bearer.
//!
//! `cargo run --release -p justfull-ran --example rlc_bench` prints a line for each workload with
//! counters that must not depend on speed. `--bearers N` sets the number of bearers that take turns
//! (default 1: all in the cache).

use justfull_base::{Duration, Instant};
use justfull_ran::rlc::mode::{AmConfig, Generation, RlcModeConfig, UmConfig};
use justfull_ran::rlc::{RlcRx, RlcTx, SduHandle, SduRef, SduSource, TbContent};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts allocations and bytes in use.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// An endless queue of SDUs of one size.
struct Endless {
    next: u64,
    size: u32,
}

impl SduSource for Endless {
    #[inline]
    fn head(&mut self) -> Option<SduRef> {
        Some(SduRef { handle: SduHandle(self.next), size: self.size })
    }

    #[inline]
    fn take(&mut self) {
        self.next += 1;
    }
}

/// A bearer: both ends and its queue.
struct Bearer {
    tx: RlcTx,
    rx: RlcRx,
    source: Endless,
}

/// A workload: SDUs of `size`, blocks of `grant` bytes, one block in `lost_in` lost (0: none).
struct Load {
    name: &'static str,
    mode: RlcModeConfig,
    size: u32,
    grant: u32,
    lost_in: u64,
}

/// Number of PDUs in each workload.
const PDUS: u64 = 4_000_000;

fn run(load: &Load, count: usize) {
    let before = BYTES.load(Ordering::Relaxed);
    let mut bearers: Vec<Bearer> = (0..count)
        .map(|_| Bearer {
            tx: RlcTx::new(&load.mode).expect("valid"),
            rx: RlcRx::new(&load.mode).expect("valid"),
            source: Endless { next: 0, size: load.size },
        })
        .collect();
    let mut content = TbContent::default();
    let (mut pdus, mut blocks, mut delivered, mut acked) = (0, 0_u64, 0_u64, 0_u64);
    let (mut now, mut warm, mut allocations) = (Instant::ZERO, false, 0);
    #[expect(clippy::disallowed_methods, reason = "it measures the time of this machine")]
    let start = std::time::Instant::now();
    while pdus < PDUS {
        if !warm && pdus > PDUS / 2 {
            (warm, allocations) = (true, ALLOCATIONS.load(Ordering::Relaxed));
        }
        for bearer in &mut bearers {
            content.clear();
            bearer.tx.pull(now, load.grant, &mut bearer.source, &mut content);
            pdus += content.pdus.len() as u64;
            blocks += 1;
            if load.lost_in == 0 || !blocks.is_multiple_of(load.lost_in) {
                bearer.rx.receive(now, &content, |_| delivered += 1, |_| {});
            }
            if bearer.rx.next_timeout().is_some_and(|at| at <= now) {
                bearer.rx.on_timeout(now, |_| delivered += 1, |_| {});
            }
            while bearer.rx.status_due().is_some_and(|at| at <= now)
                && let Some(status) = bearer.rx.status(now, 200)
            {
                bearer.tx.on_status(now, status, |_| acked += 1);
            }
            if bearer.tx.next_timeout().is_some_and(|at| at <= now) {
                bearer.tx.on_timeout(now, true);
            }
        }
        now += Duration::from_millis(1);
    }
    let ns = start.elapsed().as_nanos() as f64 / pdus as f64;
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - allocations;
    let bytes = (BYTES.load(Ordering::Relaxed) - before) / count as u64;
    println!(
        "{:<24} {ns:6.1} ns/PDU  pdus {pdus}  delivered {delivered}  acked {acked}  \
         {allocations} allocations in the second half  {bytes} B/bearer",
        load.name
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count = match arguments.as_slice() {
        [_] => 1,
        [_, flag, number] if flag == "--bearers" => {
            number.parse::<std::num::NonZeroUsize>().expect("a number above 0").get()
        }
        _ => panic!("usage: rlc_bench [--bearers N]"),
    };
    let um = |generation, sn_bits| {
        RlcModeConfig::Um(UmConfig { generation, sn_bits, ..UmConfig::default() })
    };
    let am = |generation, sn_bits| {
        RlcModeConfig::Am(AmConfig { generation, sn_bits, poll_pdu: 32, ..AmConfig::default() })
    };
    let (nr, lte) = (Generation::Nr, Generation::Lte);
    let umts = RlcModeConfig::Am(AmConfig {
        generation: Generation::Umts,
        window: 4095,
        poll_window: 10,
        ..AmConfig::default()
    });
    let load = |name, mode, size, grant, lost_in| Load { name, mode, size, grant, lost_in };
    for load in [
        load("NR UM, one whole SDU", um(nr, 12), 72, 73, 0),
        load("NR UM, SDUs cut", um(nr, 12), 1500, 4000, 0),
        load("NR UM, 1 in 101 lost", um(nr, 12), 1500, 4000, 101),
        load("LTE UM, SDUs cut", um(lte, 10), 1500, 4000, 0),
        load("LTE UM, 1 in 101 lost", um(lte, 10), 1500, 4000, 101),
        load("NR AM, SDUs cut", am(nr, 18), 1500, 40_000, 0),
        load("NR AM, 1 in 101 lost", am(nr, 18), 1500, 40_000, 101),
        load("LTE AM, SDUs cut", am(lte, 10), 1500, 4000, 0),
        load("LTE AM, 1 in 101 lost", am(lte, 10), 1500, 4000, 101),
        load("UMTS AM, 12 PDUs a TTI", umts.clone(), 1500, 12 * 42, 0),
        load("UMTS AM, 1 TTI in 67 lost", umts.clone(), 1500, 12 * 42, 67),
        load("UMTS AM, SDUs of 40 B", umts, 40, 12 * 42, 67),
    ] {
        run(&load, count);
    }
}
