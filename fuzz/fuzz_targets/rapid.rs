//! Any order of events with any content under every control of RAPID's decision machine: nothing
//! panics, windows keep their floors, each UE has a flow that reads, and under the sound rules the
//! flows of a cell never exceed it.
//!
//! The first byte chooses the control; then come events of eight bytes: the kind, the UE or flow, a
//! step of the clock, and five for the content.

#![no_main]

use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_rapid::{
    CellId, Config, Control, ControlConfig, EqualShareConfig, FlowId, NoneConfig, Opening, Sample,
    UeId,
};
use libfuzzer_sys::fuzz_target;

struct World {
    now: Instant,
    config: ControlConfig,
    control: Control,
    cells: [CellId; 2],
    ues: Vec<UeId>,
    flows: Vec<FlowId>,
}

fn config(choice: u8) -> ControlConfig {
    match choice % 7 {
        0 => ControlConfig::None(NoneConfig {}),
        1 => ControlConfig::EqualShare(EqualShareConfig::default()),
        n => {
            let name = Config::PRESETS[usize::from(n) - 2];
            ControlConfig::Rapid(Config::preset(name).expect("listed"))
        }
    }
}

/// Small numbers and, now and then, ones at the ends of their range.
fn number(byte: u8) -> u64 {
    if byte < 200 { u64::from(byte) * 100 } else { u64::MAX >> (byte - 200) }
}

fn rtt(byte: u8) -> Option<Duration> {
    (byte < 255).then(|| Duration::from_nanos(number(byte).saturating_mul(1000)))
}

impl World {
    fn new(config: ControlConfig) -> Self {
        let mut control = Control::new(&config).expect("valid");
        let cells = [control.add_cell(), control.add_cell()];
        let ues = [0, 0, 1].map(|i| control.add_ue(Instant::ZERO, cells[i]).expect("known"));
        Self { now: Instant::ZERO, config, control, cells, ues: ues.into(), flows: Vec::new() }
    }

    fn report(&self, content: [u8; 5]) -> RanReport {
        let [a, b, c, d, e] = content;
        let kind = match a % 4 {
            0 => CellKind::Lte { mcs_table: 1 + d % 4, layers: e % 4 },
            1 => CellKind::Nr { mcs_table: 1 + d % 4, layers: e % 4, symbols: 13, dmrs_res: d },
            _ => CellKind::Bytes,
        };
        let slots = 1 + u32::from(a >> 4);
        let offered = number(b).wrapping_mul(slots.into()) / 100;
        let used = offered / 256 * u64::from(c) + u64::from(a == 77);
        RanReport {
            at: if e == 250 { Instant::NEVER } else { self.now },
            kind,
            slot: Duration::from_micros(125 << (a >> 2 & 3)),
            slots,
            offered,
            used,
            active_ues: u32::from(d % 4),
            blocks: used / 256 * u64::from(d),
            repeats: used / 256 * u64::from(d) / 256 * u64::from(e),
            bytes: used,
            mcs: (d < 200).then_some(d % 32),
            backlog: number(e),
        }
    }

    fn step(&mut self, what: u8, which: u8, time: u8, content: [u8; 5]) {
        let step = Duration::from_micros(u64::from(time) * u64::from(time));
        self.now = if what >= 250 { self.now - step } else { self.now + step };
        let (now, [a, b, c, d, e]) = (self.now, content);
        let ue = self.ues[usize::from(which) % self.ues.len()];
        let flow =
            (!self.flows.is_empty()).then(|| self.flows[usize::from(which) % self.flows.len()]);
        match (what % 16, flow) {
            (0, _) if self.ues.len() < 16 => {
                let cell = self.cells[usize::from(a) % 2];
                self.ues.push(self.control.add_ue(now, cell).expect("known"));
            }
            (1, _) if a > 200 => drop(self.control.remove_ue(now, ue)),
            (1, _) => drop(self.control.move_ue(now, ue, self.cells[usize::from(b % 2)])),
            (2 | 3, _) if self.flows.len() < 64 => {
                let mss = [1440, 0, 500, u32::MAX][usize::from(c) % 4];
                let opening = Opening { mss, wired_rtt: rtt(a), radio_rtt: rtt(b) };
                self.flows.extend(self.control.open(now, ue, &opening));
            }
            (4, Some(flow)) => drop(self.control.close(now, flow)),
            (5, _) => self.control.on_timer(now),
            (6..=8, _) => drop(self.control.on_report(now, ue, &self.report(content))),
            (_, Some(flow)) => {
                let sample = Sample {
                    arrived: number(a),
                    delivered: number(b),
                    wired_rtt: rtt(c),
                    radio_rtt: rtt(d),
                    radio_smoothed: rtt(e),
                    held: c & 3 == 3,
                    waiting: number(d),
                };
                let _refused = self.control.on_sample(now, flow, &sample);
            }
            _ => {}
        }
        if what & 16 == 0 {
            while let Some((flow, windows)) = self.control.poll_change() {
                assert_eq!(self.control.view(flow).map(|v| v.windows), Some(windows));
            }
        }
    }

    fn check(&self) {
        let sound = self.config == ControlConfig::default()
            || matches!(self.config, ControlConfig::EqualShare(_));
        for cell in self.cells {
            let load = self.control.load(cell);
            assert!(!load.rates.is_nan() && !load.floors.is_nan());
            assert!(!sound || load.rates <= (1.0 + load.floors) * (1.0 + 1e-9), "{load:?}");
        }
        for &flow in &self.flows {
            let Some(view) = self.control.view(flow) else { continue };
            assert!(view.windows.server > 0 && view.windows.radio > 0, "{view:?}");
            assert!(view.demand.is_none_or(|d| d.is_finite() && d >= 0.0), "{view:?}");
            let ue = self.control.ue(flow);
            let reads = |f: &FlowId| self.control.view(*f).is_some_and(|v| v.windows.reading);
            assert!(self.flows.iter().any(|f| self.control.ue(*f) == ue && reads(f)));
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [choice, events @ ..] = bytes else { return };
    let mut world = World::new(config(*choice));
    for event in events.chunks_exact(8).take(500) {
        let content = [event[3], event[4], event[5], event[6], event[7]];
        world.step(event[0], event[1], event[2], content);
        world.check();
    }
});
