//! Shared parts of the workloads: a counting allocator, memory, digests, and the line of JSON for
//! `cargo xtask bench`.

use justfull_base::Instant;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::{self, Debug, Write};
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

/// Counts the allocations of the event loop in the last third of the run, when queues have reached
/// their size. The making of results after the last event does not count.
pub(crate) struct AfterWarmup {
    from: Instant,
    warm: Option<u64>,
    last: u64,
}

impl AfterWarmup {
    /// Counts from the instant `from` on.
    pub(crate) fn new(from: Instant) -> Self {
        Self { from, warm: None, last: 0 }
    }

    /// The run has reached `now`.
    pub(crate) fn reached(&mut self, now: Instant) {
        self.last = ALLOCATIONS.load(Ordering::Relaxed);
        if now >= self.from {
            self.warm.get_or_insert(self.last);
        }
    }

    /// Allocations since the warm-up.
    pub(crate) fn allocations(&self) -> u64 {
        self.last - self.warm.unwrap_or(0)
    }
}

/// The report of a run.
pub(crate) struct Line<'a> {
    /// Name of the workload.
    pub(crate) name: &'a str,
    /// Wall-clock time.
    pub(crate) wall_ms: f64,
    /// Packets delivered.
    pub(crate) packets: u64,
    /// Packets dropped anywhere.
    pub(crate) drops: u64,
    /// Component calls per packet.
    pub(crate) calls: f64,
    /// Allocations after the warm-up.
    pub(crate) allocations: u64,
}

impl Line<'_> {
    /// Prints the line of JSON; equal digests of `result` mean equal runs.
    pub(crate) fn print(&self, result: &impl Debug) {
        let Self { name, wall_ms, packets, drops, calls, allocations } = self;
        println!(
            "{{\"name\":\"{name}\",\"wall_ms\":{wall_ms:.3},\"packets\":{packets},\"drops\":\
             {drops},\"calls_per_packet\":{calls:.3},\"allocations_after_warmup\":{allocations},\"\
             rss_kib\":{},\"digest\":\"{:016x}\"}}",
            rss_kib(),
            digest(result)
        );
    }
}

/// Peak resident memory of this process in KiB, from the kernel.
pub(crate) fn rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// FNV-1a over the text that is written to it.
struct Digest(u64);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fold = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 = text.bytes().fold(self.0, fold);
        Ok(())
    }
}

/// The digest of `result` as text.
fn digest(result: &impl Debug) -> u64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    write!(digest, "{result:?}").expect("a digest takes all");
    digest.0
}
