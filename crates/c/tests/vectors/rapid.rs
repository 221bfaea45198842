//! RAPID's control over two cells: flows that open and close, UEs that move, reports that stop.

use super::Vector;
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant, Rng};
use justfull_rapid::{
    CellId, ControlConfig, FlowId, Opening, PayloadControl, Room, Sample, UeId, Windows,
};

const ROOM: Room = Room { ues: 3, flows: 8, flows_of_ue: 4 };
const HEADERS: u32 = 52;

pub(super) fn all() -> impl Iterator<Item = Vector> {
    ControlConfig::all().into_iter().map(|config| World::new(&config).run())
}

struct Flow {
    number: u64,
    ue: usize,
    id: FlowId,
    rtt: Duration,
    sampled: Instant,
    /// Bytes that its server has in one round trip.
    needs: u64,
    windows: Windows,
}

struct World {
    vector: Vector,
    rng: Rng,
    now: Instant,
    control: PayloadControl<u64>,
    cells: [CellId; 2],
    ues: Vec<(UeId, usize)>,
    flows: Vec<Flow>,
    opened: u64,
}

impl World {
    fn new(config: &ControlConfig) -> Self {
        let name = config.name();
        let settings = [
            "cells = 2",
            "ues = 3",
            "flows = 8",
            "flows_of_ue = 4",
            &format!("control.kind = \"{name}\""),
        ];
        let mut control = PayloadControl::new(config).expect("in bounds");
        let cells = [control.control.add_cell(), control.control.add_cell()];
        control.set_room(ROOM);
        Self {
            vector: Vector::new("rapid", name, &settings),
            rng: Rng::stream(5, "vectors"),
            now: Instant::ZERO,
            control,
            cells,
            ues: Vec::new(),
            flows: Vec::new(),
            opened: 0,
        }
    }

    fn run(mut self) -> Vector {
        for number in 0..3 {
            let cell = number % 2;
            self.say(&format!("ue {{}} {number} {cell}"));
            let ue = self.control.control.add_ue(self.now, self.cells[cell]).expect("room");
            self.ues.push((ue, cell));
        }
        for step in 1..400 {
            self.now = Instant::ZERO + Duration::from_millis(step);
            if self.control.control.next_timer().is_some_and(|due| due <= self.now) {
                self.say("timer {}");
                self.control.control.on_timer(self.now);
                self.windows();
            }
            // UE 2 has no report for a while.
            let ue = step as usize % 3;
            if step % 5 == 0 && !(ue == 2 && (150..300).contains(&step)) {
                self.report(ue);
            }
            self.samples();
            match self.rng.below(60) {
                0 | 1 => self.open(),
                2 if self.flows.len() > 4 => self.close(),
                3 if step % 3 == 0 => self.change_cell(ue),
                4 if step % 7 == 0 => self.limit(ue),
                _ => {}
            }
        }
        self.vector
    }

    /// A line, with the time in place of `{}`.
    fn say(&mut self, line: &str) {
        self.vector.say(line.replace("{}", &self.now.as_nanos().to_string()));
    }

    /// Notes the windows that have changed.
    fn windows(&mut self) {
        while let Some((number, windows)) = self.control.poll_change() {
            let Windows { server, radio, reading } = windows;
            let most = |window| if window > 1 << 40 { u64::MAX } else { window };
            let (server, radio, reading) = (most(server), most(radio), u8::from(reading));
            self.vector.say(format!("windows {number} {server} {radio} {reading}"));
            let flow = self.flows.iter_mut().find(|flow| flow.number == number);
            flow.expect("an open flow").windows = windows;
        }
    }

    fn open(&mut self) {
        let ue = self.rng.below(3) as usize;
        if self.flows.len() == 8 || self.flows.iter().filter(|flow| flow.ue == ue).count() == 4 {
            return;
        }
        let (wired, radio) = (1 + self.rng.below(20), 5 + self.rng.below(20));
        let rtt = Duration::from_millis(wired);
        let opening = Opening {
            mss: 1448,
            wired_rtt: Some(rtt),
            radio_rtt: Some(Duration::from_millis(radio)),
        };
        let number = self.opened;
        let (wired, radio) = (wired * 1_000_000, radio * 1_000_000);
        self.say(&format!("open {{}} {number} {ue} 1448 {HEADERS} {wired} {radio}"));
        let opened = self.control.open(self.now, self.ues[ue].0, number, HEADERS, &opening);
        let id = opened.expect("room");
        let needs = [2_000, 20_000, u64::MAX][self.rng.below(3) as usize];
        let (sampled, windows) = (self.now, Windows::UNLIMITED);
        self.flows.push(Flow { number, ue, id, rtt, sampled, needs, windows });
        self.opened += 1;
        self.windows();
    }

    fn close(&mut self) {
        let gone = self.flows.remove(self.rng.below(self.flows.len() as u64) as usize);
        self.say(&format!("close {{}} {}", gone.number));
        self.control.control.close(self.now, gone.id).expect("open");
        self.windows();
    }

    fn change_cell(&mut self, ue: usize) {
        let cell = 1 - self.ues[ue].1;
        self.say(&format!("move {{}} {ue} {cell}"));
        self.control.control.move_ue(self.now, self.ues[ue].0, self.cells[cell]).expect("known");
        self.ues[ue].1 = cell;
        self.windows();
    }

    fn limit(&mut self, ue: usize) {
        let most = 100_000 + self.rng.below(2_000_000);
        self.say(&format!("limit {{}} {ue} {most}"));
        let most = Some(most as f64);
        self.control.control.limit_ue(self.now, self.ues[ue].0, most).expect("known");
        self.windows();
    }

    fn samples(&mut self) {
        for i in 0..self.flows.len() {
            let flow = &mut self.flows[i];
            if self.now.since(flow.sampled) < flow.rtt {
                continue;
            }
            flow.sampled = self.now;
            let id = flow.id;
            let arrived = flow.needs.min(flow.windows.server).min(60_000);
            let waiting = (flow.needs == u64::MAX && self.rng.chance(0.5)).then_some(5_000);
            let radio = Duration::from_micros(5_000 + self.rng.below(20_000));
            let sample = Sample {
                arrived,
                delivered: arrived,
                waiting: waiting.unwrap_or(0),
                wired_rtt: Some(flow.rtt),
                radio_rtt: Some(radio),
                radio_smoothed: None,
                held: self.rng.chance(0.05),
            };
            let (wired, radio, held) =
                (flow.rtt.as_nanos(), radio.as_nanos(), u8::from(sample.held));
            let (number, waiting) = (flow.number, sample.waiting);
            self.say(&format!(
                "sample {{}} {number} {arrived} {arrived} {waiting} {wired} {radio} 0 {held}"
            ));
            self.control.on_sample(self.now, id, &sample).expect("open");
            self.windows();
        }
    }

    /// A report about 15 ms: of a cell of NR in one cell, of bytes in the other.
    fn report(&mut self, ue: usize) {
        let (id, cell) = self.ues[ue];
        let nr = CellKind::Nr { mcs_table: 2, layers: 2, symbols: 13, dmrs_res: 12 };
        let kind = if cell == 0 { nr } else { CellKind::Bytes };
        let (slots, each) = if cell == 0 { (30, 51) } else { (15, 4_000) };
        let offered = u64::from(slots) * each;
        let used = self.rng.below(offered + 1);
        let blocks = self.rng.below(used + 1);
        let report = RanReport {
            at: self.now,
            kind,
            slot: Duration::from_micros(15_000 / u64::from(slots)),
            slots,
            offered,
            used,
            active_ues: self.rng.below(3) as u32,
            blocks,
            repeats: self.rng.below(blocks / 10 + 1),
            bytes: self.rng.below(100_000),
            mcs: (cell == 0).then(|| 5 + self.rng.below(22) as u8),
            backlog: self.rng.below(20_000),
        };
        let RanReport { active_ues, repeats, bytes, backlog, .. } = report;
        let (at, slot) = (report.at.as_nanos(), report.slot.as_nanos());
        let of_kind = if cell == 0 { "2 2 2 13 12" } else { "0 0 0 0 0" };
        let mcs = report.mcs.unwrap_or(255);
        self.say(&format!(
            "report {{}} {ue} {at} {of_kind} {slot} {slots} {offered} {used} {active_ues} \
             {blocks} {repeats} {bytes} {mcs} {backlog}"
        ));
        self.control.on_report(self.now, id, &report).expect("sane");
        self.windows();
    }
}
