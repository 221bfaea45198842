//! The cost of the decision machine with 100 000 flows on 1 000 UEs.
//!
//! `cargo run --release -p justfull-rapid --example rapid_bench` prints the memory of a flow and
//! the time of an event. On a busy machine, count instructions: after opening the flows,
//! `rapid_bench PHASE ROUNDS` runs one phase (`samples`, `steady`, `changes`, `idle`) ROUNDS times.
//! Run `valgrind --tool=callgrind` with two numbers of rounds; the difference is the cost of the
//! rounds between. `idle` has one UE with 8 000 flows, of which 100 are active.

use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_rapid::{Control, ControlConfig, FlowId, Opening, Sample, UeId};
use std::time::Duration as Wall;

const UES: usize = 1000;
const FLOWS_PER_UE: usize = 100;
/// Flows of the UE of `idle`, in lots of [`FLOWS_PER_UE`]. Only the last lot is active.
const LOTS: usize = 80;
/// Longer than `idle`, the silence after which a flow is idle.
const SILENCE: Duration = Duration::from_millis(1100);
const RTT: Duration = Duration::from_millis(10);
/// Bytes in a slot of 1 ms at 10 Gbit/s.
const CAPACITY: u64 = 1_250_000;

struct World {
    now: Instant,
    control: Control,
    ues: Vec<UeId>,
    flows: Vec<FlowId>,
    changes: u64,
}

impl World {
    fn new(count: usize) -> Self {
        let mut control = Control::new(&ControlConfig::default()).expect("valid");
        let now = Instant::ZERO;
        let mut ues = Vec::with_capacity(count);
        for _ in 0..count {
            let cell = control.add_cell();
            ues.push(control.add_ue(now, cell).expect("known"));
        }
        let flows = Vec::with_capacity(count * FLOWS_PER_UE);
        let mut world = Self { now, control, ues, flows, changes: 0 };
        world.report(CAPACITY);
        world
    }

    /// Opens all flows, the UEs in turn.
    fn open(&mut self) -> u64 {
        let opening = Opening { mss: 1440, wired_rtt: Some(RTT), radio_rtt: Some(RTT) };
        for _ in 0..FLOWS_PER_UE {
            for &ue in &self.ues {
                let flow = self.control.open(self.now, ue, &opening).expect("known");
                self.flows.push(flow);
            }
            self.drain();
        }
        (self.ues.len() * FLOWS_PER_UE) as u64
    }

    /// One UE; nearly all of its flows are silent.
    fn idle() -> Self {
        let mut world = Self::new(1);
        for _ in 1..LOTS {
            world.open();
            world.now += SILENCE;
            world.control.on_timer(world.now);
            world.drain();
        }
        world.open();
        world
    }

    fn drain(&mut self) {
        while self.control.poll_change().is_some() {
            self.changes += 1;
        }
    }

    /// Makes one report for each UE and returns their number.
    fn report(&mut self, capacity: u64) -> u64 {
        self.now += Duration::from_millis(1);
        let report = RanReport {
            at: self.now,
            kind: CellKind::Bytes,
            slot: Duration::from_millis(1),
            slots: 1,
            offered: capacity,
            used: capacity,
            active_ues: 1,
            blocks: capacity,
            repeats: 0,
            bytes: capacity,
            mcs: None,
            backlog: 0,
        };
        for &ue in &self.ues {
            self.control.on_report(self.now, ue, &report).expect("sane");
        }
        self.drain();
        self.ues.len() as u64
    }

    /// Takes one sample of each flow, over one round trip, and returns their number. One flow in
    /// five needs little; its need differs from round to round.
    fn sample(&mut self) -> u64 {
        self.now += RTT;
        self.control.on_timer(self.now);
        let round = self.now.as_nanos() / RTT.as_nanos();
        for (i, &flow) in (0_u64..).zip(&self.flows) {
            let bytes =
                if i % 5 == 0 { 6000 + 100 * (i.wrapping_mul(round) % 30) } else { 125_000 };
            let sample = Sample {
                arrived: bytes,
                delivered: bytes,
                wired_rtt: Some(RTT),
                radio_rtt: Some(RTT),
                radio_smoothed: None,
                held: false,
                waiting: 0,
            };
            self.control.on_sample(self.now, flow, &sample).expect("open");
        }
        self.drain();
        self.flows.len() as u64
    }

    /// One round of `phase`; returns the events.
    fn round(&mut self, phase: &str, round: u64) -> u64 {
        match phase {
            "samples" => self.sample(),
            "steady" => self.report(CAPACITY),
            _ => self.report(CAPACITY / 4 * (2 + round % 2)),
        }
    }
}

/// Resident set in bytes; 0 if the system does not report it.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Time and result of `run`.
fn timed<T>(run: impl FnOnce() -> T) -> (T, Wall) {
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    let begin = std::time::Instant::now();
    (run(), begin.elapsed())
}

fn print(name: &str, events: u64, changes: u64, time: Wall) {
    let ns = time.as_nanos() as f64;
    let each = ns / events as f64;
    let changed = changes as f64 / events as f64;
    println!(
        "{name:8} {events:>9} events {each:>9.1} ns each, {changed:.3} windows changed by each"
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let phase = arguments.next();
    let rounds: u64 = arguments.next().map_or(20, |n| n.parse().expect("a number of rounds"));
    if phase.as_deref() == Some("idle") {
        run(&mut World::idle(), "idle", rounds);
        return;
    }
    let mut world = World::new(UES);
    let before = resident();
    let (opened, time) = timed(|| world.open());
    print("open", opened, world.changes, time);
    println!("{} bytes a flow", (resident() - before) / opened);
    for name in ["samples", "steady", "changes"] {
        if phase.as_ref().is_some_and(|phase| phase != name) {
            continue;
        }
        run(&mut world, name, rounds);
    }
    if phase.is_none() {
        run(&mut World::idle(), "idle", rounds);
    }
}

/// Runs and prints one phase.
fn run(world: &mut World, name: &str, rounds: u64) {
    world.changes = 0;
    let (events, time) = timed(|| (0..rounds).map(|round| world.round(name, round)).sum::<u64>());
    print(name, events.max(1), world.changes, time);
}
