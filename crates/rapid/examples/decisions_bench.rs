//! The share of a core that the decisions take at a site: 64 cells, 2 000 UEs, 20 000 flows,
//! reports about each UE every 10 ms and samples of each active flow once a round trip of 40 ms.
//!
//! `cargo run --release -p justfull-rapid --example decisions_bench` prints it for several shares
//! of active flows; `decisions_bench PERCENT SECONDS` runs one alone. Consecutive reports differ by
//! a tenth, as on a radio. The time is the CPU time of the thread, so other programs do not count.
//! Parsing of reports is not included: sources have their own threads.

use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_rapid::{ControlConfig, FlowId, Opening, PayloadControl, Sample, UeId};

const CELLS: usize = 64;
const UES: usize = 2_000;
const FLOWS_PER_UE: usize = 10;
const PERIOD: Duration = Duration::from_millis(10);
/// Reports between two samples of a flow.
const PERIODS_PER_RTT: usize = 4;
const RTT: Duration = Duration::from_millis(40);
/// Bytes in a slot of 1 ms: 300 Mbit/s.
const CAPACITY: u64 = 37_500;
/// UEs of a cell.
const UES_PER_CELL: u64 = (UES / CELLS) as u64;

struct Site {
    now: Instant,
    control: PayloadControl<u64>,
    ues: Vec<UeId>,
    /// The active flows.
    flows: Vec<FlowId>,
    changes: u64,
    state: u64,
}

impl Site {
    /// A site in which `active` flows of each UE have data to send.
    fn new(active: usize) -> Self {
        let mut control = PayloadControl::new(&ControlConfig::default()).expect("valid");
        let cells: Vec<_> = (0..CELLS).map(|_| control.control.add_cell()).collect();
        let now = Instant::ZERO;
        let add = |at: usize| control.control.add_ue(now, cells[at % CELLS]).expect("known");
        let ues: Vec<UeId> = (0..UES).map(add).collect();
        let mut site = Self { now, control, ues, flows: Vec::new(), changes: 0, state: 0x9e37 };
        let opening = Opening { mss: 1_448, wired_rtt: Some(RTT), radio_rtt: Some(RTT) };
        for number in 0..FLOWS_PER_UE {
            for place in 0..UES {
                let key = (number * UES + place) as u64;
                let ue = site.ues[place];
                let flow = site.control.open(now, ue, key, 52, &opening).expect("known");
                if number < active {
                    site.flows.push(flow);
                }
            }
        }
        site.drain();
        site
    }

    fn drain(&mut self) {
        while self.control.poll_change().is_some() {
            self.changes += 1;
        }
    }

    /// A number below `most` (Marsaglia 2003, xorshift).
    fn random(&mut self, most: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 16) % most
    }

    /// One period of reports, and the part of the samples that falls into it.
    fn period(&mut self, round: usize) {
        self.now += PERIOD;
        self.control.control.on_timer(self.now);
        for place in 0..UES {
            let offered = 10 * CAPACITY;
            let own = offered / UES_PER_CELL;
            let blocks = own - own / 10 + self.random(own / 5);
            let report = RanReport {
                at: self.now,
                kind: CellKind::Bytes,
                slot: Duration::from_millis(1),
                slots: 10,
                offered,
                used: offered - offered / 20 + self.random(offered / 20),
                active_ues: UES_PER_CELL as u32,
                blocks,
                repeats: blocks / 10,
                bytes: blocks,
                mcs: None,
                backlog: 0,
            };
            self.control.on_report(self.now, self.ues[place], &report).expect("sane");
            self.drain();
        }
        let bytes = 10 * CAPACITY * PERIODS_PER_RTT as u64 / UES_PER_CELL;
        let bytes = bytes * UES as u64 / self.flows.len().max(1) as u64;
        for at in (round % PERIODS_PER_RTT..self.flows.len()).step_by(PERIODS_PER_RTT) {
            let sample = Sample {
                arrived: bytes,
                delivered: bytes,
                wired_rtt: Some(RTT),
                radio_rtt: Some(RTT),
                radio_smoothed: None,
                held: false,
                waiting: bytes,
            };
            self.control.on_sample(self.now, self.flows[at], &sample).expect("open");
            self.drain();
        }
    }
}

/// CPU time of this thread in seconds.
fn on_core() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanos: u64 = text.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
    nanos as f64 * 1e-9
}

/// Runs a site for `seconds` of simulated time; prints the share of a core.
fn run(percent: usize, seconds: u64) {
    let mut site = Site::new(FLOWS_PER_UE * percent / 100);
    let rounds = |seconds: u64| (seconds * 1_000_000_000 / PERIOD.as_nanos()) as usize;
    // Until the silent flows are idle.
    (0..rounds(2)).for_each(|round| site.period(round));
    site.changes = 0;
    let began = on_core();
    (0..rounds(seconds)).for_each(|round| site.period(round));
    let took = on_core() - began;
    println!(
        "{percent:>3} % of {} flows active: {:.1} % of a core, {} windows changed a second",
        UES * FLOWS_PER_UE,
        100.0 * took / seconds as f64,
        site.changes / seconds,
    );
}

fn main() {
    let given: Vec<u64> =
        std::env::args().skip(1).map(|n| n.parse().expect("percent and seconds")).collect();
    match given[..] {
        [percent, seconds] => run(percent as usize, seconds),
        _ => [10, 20, 50, 100].into_iter().for_each(|percent| run(percent, 5)),
    }
}
