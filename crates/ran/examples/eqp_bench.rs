//! Measures a slot of EQP: `cargo run --release -p justfull-ran --example eqp_bench -- [--json]`.
//!
//! Backlogged bearers of mixed SDUs on an NR carrier of up to 275 resource blocks, in single blocks
//! and in groups. Each workload is a list of prepared slots. A scheduler runs through it twice, and
//! only the second run is measured; this is repeated several times. The least time of each slot
//! counts, since other work on a shared machine can only add to it. The decisions are counted and
//! must be equal in every round: less work done faster is a failure.

use justfull_base::{Duration, Instant, Ratio, Rng};
use justfull_phy::nr::{McsTable, NrTbsInput, mcs, tbs_bits};
use justfull_ran::rb_demand::{DrbDemand, RbAllocation, RbDemand, RbUnits, UeDemand};
use justfull_ran::rb_scheduler::{Eqp, EqpConfig, EqpStats, RbScheduler};
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

const ROUNDS: usize = 30;
const SLOTS: u64 = 100;
/// Bytes on the air of SDUs: acknowledgements, voice, games, pages, bulk.
const SDUS: [u32; 5] = [44, 204, 352, 776, 1504];

/// The scheduled workload.
#[derive(Clone, Copy)]
struct Workload {
    rbs: u16,
    unit: u16,
    slices: u32,
    ues: u32,
    drbs_per_ue: u32,
    depth: u32,
}

/// The workload of the goal: single blocks, one bearer per UE.
const GOAL: Workload =
    Workload { rbs: 275, unit: 1, slices: 2, ues: 128, drbs_per_ue: 1, depth: 8 };

impl Workload {
    fn name(&self) -> String {
        let Self { rbs, unit, slices, ues, drbs_per_ue, depth } = self;
        format!("{rbs}rb_{unit}unit_{slices}slices_{ues}ues_{drbs_per_ue}drbs_{depth}sdus")
    }
}

/// One slot, owned.
struct Slot {
    /// Transport block sizes and slice of each UE.
    ues: Vec<(usize, u16)>,
    drbs: Vec<DrbDemand>,
    sdus: Vec<u32>,
}

/// Transport block sizes in bytes of 0 to 275 blocks at each MCS, with 4 layers and 14 symbols
/// minus one reference symbol.
fn tables() -> Vec<Vec<u32>> {
    let table = |index| {
        let row = mcs(McsTable::Table1, index)?;
        let bytes = |n_prb| {
            let input = NrTbsInput {
                n_prb,
                symbols: 14,
                dmrs_res: 12,
                overhead_res: 0,
                modulation: row.modulation,
                code_rate: row.code_rate,
                layers: 4,
            };
            tbs_bits(&input).map_or(0, |bits| bits / 8)
        };
        Some((0..=275).map(bytes).collect())
    };
    let tables: Vec<Vec<u32>> = (0..29).filter_map(table).collect();
    assert!(tables.iter().all(|table| table.is_sorted()), "more blocks never carry less");
    tables
}

fn slot(rng: &mut Rng, workload: &Workload) -> Slot {
    let (mut drbs, mut sdus, mut ues) = (vec![], vec![], vec![]);
    for ue in 0..workload.ues {
        ues.push((4 + rng.below(24) as usize, (ue % workload.slices) as u16));
        for drb in 0..workload.drbs_per_ue {
            let start = sdus.len() as u32;
            sdus.extend((0..workload.depth).map(|_| SDUS[rng.below(5) as usize]));
            let own = start..sdus.len() as u32;
            let backlog = sdus[start as usize..].iter().map(|&b| u64::from(b)).sum();
            drbs.push(DrbDemand {
                drb: drb as u8,
                sdus: own,
                backlog,
                head_of_line: Duration::ZERO,
            });
        }
    }
    Slot { ues, drbs, sdus }
}

/// The counts of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counters {
    whole_sdus: u64,
    leftover_units: u64,
    bytes: u64,
    digest: u64,
}

struct Figures {
    /// Mean and maximum over slots of the least time of each.
    mean_us: f64,
    worst_us: f64,
    allocations: u64,
    memory: usize,
    counters: Counters,
}

/// Runs through `slots` once; calls `done` with each slot's number, time in microseconds, and
/// answer.
#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn pass(
    scheduler: &mut Eqp,
    demands: &[RbDemand],
    out: &mut RbAllocation,
    mut done: impl FnMut(usize, f64, &RbAllocation),
) {
    for (i, demand) in demands.iter().enumerate() {
        let start = std::time::Instant::now();
        scheduler.schedule(demand, out);
        done(i, start.elapsed().as_secs_f64() * 1e6, out);
    }
}

fn measure(workload: &Workload, tables: &[Vec<u32>]) -> Figures {
    let mut rng = Rng::stream(1, "eqp bench");
    let slots: Vec<Slot> = (0..SLOTS).map(|_| slot(&mut rng, workload)).collect();
    let per_ue = workload.drbs_per_ue;
    let ue = |(i, &(mcs, slice)): (u32, &(usize, u16))| UeDemand {
        ue: i,
        slice,
        tbs: &tables[mcs],
        drbs: i * per_ue..(i + 1) * per_ue,
    };
    let ues: Vec<Vec<UeDemand>> =
        slots.iter().map(|slot| (0..).zip(&slot.ues).map(ue).collect()).collect();
    let units = RbUnits::new(workload.rbs, workload.unit).expect("units have a size");
    let demands: Vec<RbDemand> = (0..SLOTS)
        .zip(slots.iter().zip(&ues))
        .map(|(number, (slot, ues))| RbDemand {
            slot: number,
            now: Instant::ZERO + Duration::from_micros(500 * number),
            units,
            ues,
            drbs: &slot.drbs,
            sdus: &slot.sdus,
        })
        .collect();
    let shares = vec![Ratio(1.0 / f64::from(workload.slices)); workload.slices as usize];
    let (mut least, mut found) = (vec![f64::INFINITY; slots.len()], None);
    let (mut allocations, mut memory) = (0, 0);
    for _ in 0..ROUNDS {
        let mut scheduler = Eqp::new(&EqpConfig::default(), &shares).expect("sound");
        let mut out = RbAllocation::default();
        pass(&mut scheduler, &demands, &mut out, |_, _, _| ());
        let (warm, before) = (ALLOCATIONS.load(Ordering::Relaxed), scheduler.stats());
        let (mut bytes, mut digest) = (0, 0xcbf2_9ce4_8422_2325);
        pass(&mut scheduler, &demands, &mut out, |slot, us, out| {
            least[slot] = us.min(least[slot]);
            for &granted in out.bytes() {
                bytes += u64::from(granted);
                digest = (digest ^ u64::from(granted)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        });
        allocations = allocations.max(ALLOCATIONS.load(Ordering::Relaxed) - warm);
        memory = scheduler.memory();
        let EqpStats { whole_sdus, leftover_units, .. } = scheduler.stats();
        let counters = Counters {
            whole_sdus: whole_sdus - before.whole_sdus,
            leftover_units: leftover_units - before.leftover_units,
            bytes,
            digest,
        };
        assert_eq!(*found.get_or_insert(counters), counters, "every round does the same work");
    }
    let mean_us = least.iter().sum::<f64>() / least.len() as f64;
    let worst_us = least.iter().copied().fold(0.0, f64::max);
    Figures { mean_us, worst_us, allocations, memory, counters: found.expect("rounds were run") }
}

/// The goal in units of 1, 4, 8 and 16 blocks; then variants with one change.
fn workloads() -> Vec<Workload> {
    let mut all: Vec<Workload> = [1, 4, 8, 16].map(|unit| Workload { unit, ..GOAL }).to_vec();
    all.extend([1, 4, 8].map(|slices| Workload { slices, ..GOAL }));
    all.extend([(32, 4), (4, 32)].map(|(ues, drbs_per_ue)| Workload { ues, drbs_per_ue, ..GOAL }));
    all.extend([8, 32, 64, 256, 512, 1024].map(|ues| Workload { ues, ..GOAL }));
    all.extend([1, 2, 4, 16, 32].map(|depth| Workload { depth, ..GOAL }));
    all.extend([25, 52, 106, 217].map(|rbs| Workload { rbs, ..GOAL }));
    all
}

fn main() {
    let json = std::env::args().any(|a| a == "--json");
    let tables = tables();
    if !json {
        println!(
            "RBs unit slices   UEs x bearers x SDUs   mean us  worst us  allocations  memory KiB  \
             whole SDUs of a slot"
        );
    }
    for workload in workloads() {
        let Figures { mean_us, worst_us, allocations, memory, counters } =
            measure(&workload, &tables);
        let Counters { whole_sdus, leftover_units, bytes, digest } = counters;
        if json {
            println!(
                "{{\"name\":\"{}\",\"mean_us\":{mean_us:.3},\"worst_us\":{worst_us:.3},\"\
                 allocations_after_warmup\":{allocations},\"memory_bytes\":{memory},\"whole_sdus\"\
                 :{whole_sdus},\"leftover_units\":{leftover_units},\"bytes\":{bytes},\"digest\":\"\
                 {digest:016x}\"}}",
                workload.name()
            );
        } else {
            let Workload { rbs, unit, slices, ues, drbs_per_ue, depth } = workload;
            println!(
                "{rbs:>3} {unit:>4} {slices:>6} {ues:>5} x {drbs_per_ue:>7} x {depth:>4} \
                 {mean_us:>9.1} {worst_us:>9.1} {allocations:>12} {:>11.0} {:>11.1}",
                memory as f64 / 1024.0,
                whole_sdus as f64 / SLOTS as f64
            );
        }
    }
}
