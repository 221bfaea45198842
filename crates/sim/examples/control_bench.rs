//! The load of `cargo xtask bench c` by the functions of RAPID's control:
//! `control_bench --json KIND STEPS`. Kind `load` draws the numbers alone, each other kind is one
//! of the control. `crates/c/examples/rapid_bench.c` does the same through the C library.

use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_rapid::{ControlConfig, FlowId, Opening, PayloadControl, Room, Sample, UeId};

const UES: u64 = 3;
const FLOWS: u64 = 12;
const MS: u64 = 1_000_000;

struct Load {
    state: u64,
    control: Option<PayloadControl<u64>>,
    ues: Vec<UeId>,
    flows: Vec<FlowId>,
    digest: u64,
}

impl Load {
    fn new(kind: &str) -> Self {
        let (mut ues, mut flows) = (Vec::new(), Vec::new());
        let control = (kind != "load").then(|| {
            let config = ControlConfig::by_name(kind).expect("a kind of control");
            let mut control = PayloadControl::new(&config).expect("in bounds");
            let cell = control.control.add_cell();
            control.set_room(Room { ues: 3, flows: 12, flows_of_ue: 4 });
            for _ in 0..UES {
                ues.push(control.control.add_ue(Instant::ZERO, cell).expect("room"));
            }
            for tag in 0..FLOWS {
                let rtt = |ms| Some(Duration::from_millis(ms));
                let opening = Opening { mss: 1448, wired_rtt: rtt(10), radio_rtt: rtt(20) };
                let ue = ues[(tag % UES) as usize];
                let opened = control.open(Instant::ZERO, ue, tag, 52, &opening);
                flows.push(opened.expect("room"));
            }
            control
        });
        Self { state: 1, control, ues, flows, digest: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        let (factor, term) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.state = self.state.wrapping_mul(factor).wrapping_add(term);
        (self.state >> 33) % bound
    }

    fn changes(&mut self) {
        let Some(control) = &mut self.control else { return };
        while let Some((tag, windows)) = control.poll_change() {
            for word in [tag, windows.server, windows.radio, u64::from(windows.reading)] {
                // A window without a limit is the largest number in C.
                let word = if word > 1 << 40 { u64::MAX } else { word };
                self.digest = self.digest.wrapping_mul(31).wrapping_add(word);
            }
        }
    }

    fn report(&mut self, now: Instant, ue: usize) {
        let used = self.below(2_001);
        let blocks = self.below(used + 1);
        let report = RanReport {
            at: now,
            kind: CellKind::Nr { mcs_table: 2, layers: 2, symbols: 13, dmrs_res: 12 },
            slot: Duration::from_nanos(500_000),
            slots: 10,
            offered: 2_000,
            used,
            active_ues: 3,
            blocks,
            repeats: self.below(blocks / 10 + 1),
            bytes: self.below(100_000),
            mcs: Some(5 + self.below(22) as u8),
            backlog: self.below(20_000),
        };
        if let Some(control) = &mut self.control {
            control.on_report(now, self.ues[ue], &report).expect("sane");
        }
        self.changes();
    }

    fn sample(&mut self, now: Instant, flow: usize) {
        let arrived = self.below(40_000);
        let sample = Sample {
            arrived,
            delivered: arrived,
            waiting: self.below(2) * 5_000,
            wired_rtt: Some(Duration::from_millis(10)),
            radio_rtt: Some(Duration::from_nanos(5 * MS + self.below(20 * MS))),
            radio_smoothed: None,
            held: false,
        };
        if let Some(control) = &mut self.control {
            control.on_sample(now, self.flows[flow], &sample).expect("open");
        }
        self.changes();
    }

    fn timer(&mut self, now: Instant) {
        let Some(control) = &mut self.control else { return };
        if control.control.next_timer().is_some_and(|due| due <= now) {
            control.control.on_timer(now);
            self.changes();
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [_, kind, steps] = &words[..] else { panic!("control_bench --json KIND STEPS") };
    let steps: u64 = steps.parse().expect("a number");
    let mut load = Load::new(kind);
    for step in 1..=steps {
        let now = Instant::from_nanos(step * MS);
        load.timer(now);
        if step % 5 < UES {
            load.report(now, (step % 5) as usize);
        }
        for flow in (0..FLOWS).filter(|flow| step % 10 == flow % 10) {
            load.sample(now, flow as usize);
        }
    }
    println!("{}", load.digest);
}
