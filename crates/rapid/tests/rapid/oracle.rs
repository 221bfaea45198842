//! Compares the machine with a second, plain implementation of the rules without loops: any order
//! of events gives the same windows.

use crate::naive::Naive;
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_rapid::{Category, Config, Control, ControlConfig, FlowId, Opening, Sample, UeId};
use proptest::prelude::*;

const UES: usize = 3;

struct Pair {
    now: Instant,
    control: Control,
    naive: Naive,
    ues: Vec<UeId>,
    flows: Vec<FlowId>,
}

impl Pair {
    fn new() -> Self {
        let mut control = Control::new(&ControlConfig::Rapid(Config::open_loop())).expect("valid");
        let cell = control.add_cell();
        let ues = (0..UES).map(|_| control.add_ue(Instant::ZERO, cell).expect("known")).collect();
        Self { now: Instant::ZERO, control, naive: Naive::new(UES), ues, flows: Vec::new() }
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(at) = self.control.next_timer().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            self.control.on_timer(at);
            self.naive.tick(self.now);
        }
        self.now = until;
    }

    /// All flows are silent; the reports show room for all, so no flow waits for its turn.
    fn silence(&mut self, steps: u32) {
        for _ in 0..steps {
            self.pass(Duration::from_millis(20));
            (0..UES).for_each(|ue| self.report(ue, 100, 50, 10_000_000));
        }
    }

    fn report(&mut self, ue: usize, own: u64, others: u64, capacity: u64) {
        let offered = capacity + 1;
        let (own, others) = (own * offered / 512, others * offered / 512);
        let report = RanReport {
            at: self.now,
            kind: CellKind::Bytes,
            slot: Duration::from_millis(1),
            slots: 1,
            offered,
            used: own + others,
            active_ues: 1,
            blocks: own,
            repeats: own / 10,
            bytes: own,
            mcs: None,
            backlog: 0,
        };
        if self.control.on_report(self.now, self.ues[ue], &report).is_ok() {
            self.naive.report(self.now, ue, &report);
        }
    }

    fn event(&mut self, what: u8, which: u8, amount: u16) {
        let ue = usize::from(which) % UES;
        let size = u64::from(amount);
        self.pass(Duration::from_micros(u64::from(which) * 40));
        let flow = (!self.flows.is_empty()).then(|| usize::from(which) % self.flows.len());
        match (what % 12, flow) {
            (0 | 1, _) => {
                let rtt = |x: u64| (x > 0).then(|| Duration::from_micros(500 * x));
                let opening = Opening {
                    mss: if amount & 1 == 0 { 1440 } else { 500 },
                    wired_rtt: rtt(size % 30),
                    radio_rtt: rtt(size / 30 % 30),
                };
                let id = self.control.open(self.now, self.ues[ue], &opening).expect("known");
                self.naive.open(self.now, ue, id, &opening);
                self.flows.push(id);
            }
            (2, Some(at)) => {
                let id = self.flows.swap_remove(at);
                self.control.close(self.now, id).expect("open");
                self.naive.close(self.now, id);
            }
            (3 | 4, _) => self.report(ue, size % 256, size / 256, u64::from(what) * 40),
            (5, _) => {
                let most = (size % 3 > 0).then_some(size as f64 * 100.0).filter(|most| *most > 0.0);
                self.control.limit_ue(self.now, self.ues[ue], most).expect("known");
                self.naive.limit(self.now, ue, most);
            }
            (_, Some(at)) => {
                let id = self.flows[at];
                let sample = Sample {
                    arrived: if what & 32 == 0 { size * 4 } else { 0 },
                    delivered: size * 3,
                    wired_rtt: (what & 64 == 0).then(|| Duration::from_micros(3000 + size / 8)),
                    radio_rtt: (what & 128 == 0).then(|| Duration::from_micros(2000 + size / 4)),
                    radio_smoothed: None,
                    held: size % 7 == 3,
                    waiting: size % 3 * 1000,
                };
                self.control.on_sample(self.now, id, &sample).expect("open");
                self.naive.sample(self.now, id, &sample);
            }
            _ => {}
        }
    }

    /// Here reports never stop for long; the rule for that has its own tests.
    fn keep_fresh(&mut self) {
        for ue in 0..UES {
            let age = self.control.report_age(self.now, self.ues[ue]);
            if age.is_none_or(|age| age > Duration::from_millis(25)) {
                self.report(ue, 100, 50, 2000);
            }
        }
    }

    fn idle(&self) -> usize {
        let category = |&id: &FlowId| self.control.view(id).expect("open").category;
        self.flows.iter().map(category).filter(|&category| category == Category::Idle).count()
    }

    fn compare(&self) {
        for &id in &self.flows {
            let view = self.control.view(id).expect("open");
            let naive = self.naive.view(id);
            assert_eq!((view.category, view.windows), naive, "{id:?} at {:?}", self.now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_machine_does_what_the_plain_rules_do(
        events in prop::collection::vec(any::<(u8, u8, u16)>(), 1..200),
    ) {
        let mut pair = Pair::new();
        pair.keep_fresh();
        for (what, which, amount) in events {
            pair.event(what, which, amount);
            pair.keep_fresh();
            pair.compare();
        }
    }

    #[test]
    fn flows_that_fall_idle_and_wake_have_the_windows_of_the_plain_rules(
        before in 60_u16..140,
        events in prop::collection::vec(any::<(u8, u8, u16)>(), 1..60),
    ) {
        let mut pair = Pair::new();
        pair.keep_fresh();
        for flow in 0..before {
            pair.event(0, if flow % 8 == 0 { 1 } else { 0 }, flow * 61);
        }
        let mut idle = 0;
        for (number, (what, which, amount)) in (0..).zip(events) {
            if number % 8 == 0 {
                pair.silence(60);
            }
            pair.event(what, which, amount);
            pair.keep_fresh();
            pair.compare();
            idle += pair.idle();
        }
        prop_assert!(idle > 0, "no flow was ever idle");
    }
}
