//! A site: several cells whose UEs share nothing, UEs that move, and identities of UEs.

use crate::fixture::{MSS, OPENING, RTT, at, ms, one_ue, report, sample, server};
use justfull_base::feedback::RanReport;
use justfull_rapid::{CellId, Control, ControlConfig, FlowId, Refused, Sample, UeId};

/// Time between two reports, in ms.
const PERIOD: u64 = 10;
/// Bytes in a slot of each cell: 20 and 40 Mbit/s.
const CAPACITY: [u64; 2] = [2_500, 5_000];

/// A UE with one greedy download.
struct Phone {
    ue: UeId,
    flow: FlowId,
    /// Number of its cell; none while it is between two.
    cell: Option<usize>,
    /// Bytes delivered since the last report, and since the last sample.
    of_report: u64,
    of_sample: u64,
    /// Bytes delivered in each ms.
    delivered: Vec<u64>,
}

/// Two cells whose slots divide their bytes equally among the UEs that have data.
struct Site {
    control: Control,
    cells: [CellId; 2],
    phones: Vec<Phone>,
    now: u64,
}

impl Site {
    fn new(places: &[usize]) -> Self {
        let mut control = Control::new(&ControlConfig::default()).expect("valid");
        let cells = [control.add_cell(), control.add_cell()];
        let mut site = Self { control, cells, phones: Vec::new(), now: 0 };
        for &cell in places {
            let ue = site.control.add_ue(at(0), cells[cell]).expect("the cell exists");
            let flow = site.control.open(at(0), ue, &OPENING).expect("known");
            let phone = Phone {
                ue,
                flow,
                cell: Some(cell),
                of_report: 0,
                of_sample: 0,
                delivered: Vec::new(),
            };
            site.phones.push(phone);
        }
        site
    }

    /// Bytes that the windows of a phone's flow allow in a ms.
    fn wants(&self, phone: &Phone) -> u64 {
        let windows = self.control.view(phone.flow).expect("open").windows;
        windows.server.min(windows.radio) / RTT
    }

    /// One slot of each cell, and the reports and samples that are due.
    fn slot(&mut self) {
        self.now += 1;
        let wants: Vec<u64> = self.phones.iter().map(|phone| self.wants(phone)).collect();
        let mut got = vec![0; wants.len()];
        for (number, capacity) in CAPACITY.into_iter().enumerate() {
            let here: Vec<usize> =
                (0..wants.len()).filter(|&p| self.phones[p].cell == Some(number)).collect();
            let (mut left, mut open) = (capacity, here.len() as u64);
            let mut order = here;
            order.sort_by_key(|&p| wants[p]);
            for p in order {
                got[p] = wants[p].min(left / open.max(1));
                (left, open) = (left - got[p], open - 1);
            }
        }
        for (phone, got) in self.phones.iter_mut().zip(got) {
            phone.of_report += got;
            phone.of_sample += got;
            phone.delivered.push(got);
        }
        let now = at(self.now);
        if self.now.is_multiple_of(RTT) {
            for phone in &mut self.phones {
                let bytes = std::mem::take(&mut phone.of_sample);
                let rtt = ms(RTT).filter(|_| bytes > 0);
                let sample = Sample {
                    wired_rtt: rtt,
                    radio_smoothed: rtt,
                    waiting: bytes,
                    ..sample(bytes, rtt)
                };
                self.control.on_sample(now, phone.flow, &sample).expect("open");
            }
        }
        if self.now.is_multiple_of(PERIOD) {
            self.report();
        }
        while self.control.next_timer().is_some_and(|due| due <= now) {
            self.control.on_timer(now);
        }
        while self.control.poll_change().is_some() {}
        for cell in self.cells {
            let load = self.control.load(cell);
            assert!(load.rates <= (1.0 + load.floors) * (1.0 + 1e-9), "{load:?} at {now:?}");
            assert!(self.control.held(cell) <= 1.0);
        }
    }

    fn report(&mut self) {
        let of = |site: &Self, cell: usize| {
            let here = site.phones.iter().filter(move |phone| phone.cell == Some(cell));
            here.map(|phone| phone.of_report).collect::<Vec<u64>>()
        };
        let all = [of(self, 0), of(self, 1)];
        for phone in &mut self.phones {
            let Some(cell) = phone.cell else { continue };
            // The second cell's clock is half a second behind.
            let made = self.now + 1_000 - 500 * cell as u64;
            let used: u64 = all[cell].iter().sum();
            let report = RanReport {
                slots: PERIOD as u32,
                offered: CAPACITY[cell] * PERIOD,
                used,
                active_ues: all[cell].iter().filter(|bytes| **bytes > 0).count() as u32,
                ..report(made, 0, phone.of_report)
            };
            phone.of_report = 0;
            self.control.on_report(at(self.now), phone.ue, &report).expect("sane");
        }
    }

    fn run(&mut self, until: u64) {
        while self.now < until {
            self.slot();
        }
    }

    /// A UE is in no cell for `gap` ms, and then in `cell`.
    fn hand_over(&mut self, phone: usize, gap: u64, cell: usize) {
        self.phones[phone].cell = None;
        self.run(self.now + gap);
        self.phones[phone].cell = Some(cell);
        self.phones[phone].of_report = 0;
        let moved = self.control.move_ue(at(self.now), self.phones[phone].ue, self.cells[cell]);
        moved.expect("both are known");
    }

    /// Mean bytes of a phone in a ms.
    fn mean(&self, phone: usize, from: u64, to: u64) -> f64 {
        let span = &self.phones[phone].delivered[from as usize..to as usize];
        span.iter().sum::<u64>() as f64 / span.len() as f64
    }
}

/// The goodput of one phone that is alone at the site.
fn alone(cell: usize) -> f64 {
    let mut site = Site::new(&[cell]);
    site.run(2_000);
    site.mean(0, 1_000, 2_000)
}

#[test]
fn two_ues_in_two_full_cells_each_have_all_of_their_own() {
    let mut site = Site::new(&[0, 1]);
    site.run(2_000);
    for (phone, capacity) in CAPACITY.into_iter().enumerate() {
        let (own, mean) = (alone(phone), site.mean(phone, 1_000, 2_000));
        assert!((mean / own - 1.0).abs() < 0.02, "{mean} beside another cell, {own} alone");
        assert!(mean > 0.9 * capacity as f64, "{mean} of {capacity}");
    }
}

#[test]
fn a_ue_that_moves_has_095_of_the_new_cell_300_ms_after_its_first_report() {
    for [from, to] in [[0, 1], [1, 0]] {
        for gap in [0, 50, 300, 1_500] {
            let mut site = Site::new(&[from]);
            site.run(2_000);
            site.hand_over(0, gap, to);
            let first = site.now.next_multiple_of(PERIOD);
            site.run(first + 600);
            let mean = site.mean(0, first + 300, first + 600);
            assert!(mean >= 0.95 * alone(to), "{mean} after a gap of {gap} ms from {from} to {to}");
        }
    }
}

#[test]
fn a_ue_that_moves_into_a_full_cell_has_its_half_and_leaves_the_old_cell_to_the_other() {
    let mut site = Site::new(&[0, 0, 1]);
    site.run(2_000);
    site.hand_over(0, 50, 1);
    let first = site.now.next_multiple_of(PERIOD);
    site.run(first + 1_000);
    let [moved, left, found] = [0, 1, 2].map(|phone| site.mean(phone, first + 300, first + 1_000));
    assert!(left >= 0.95 * alone(0), "{left}");
    for mean in [moved, found] {
        assert!((mean / (alone(1) / 2.0) - 1.0).abs() < 0.05, "{moved}, {found}");
    }
}

#[test]
fn two_ues_that_are_one_share_as_one_and_the_other_handle_is_gone() {
    let (mut control, cell, ue) = one_ue();
    let other = control.add_ue(at(0), cell).expect("the cell exists");
    control.on_report(at(1), ue, &report(1, 10_000, 0)).expect("sane");
    let first = control.open(at(1), ue, &OPENING).expect("known");
    let second = control.open(at(1), other, &OPENING).expect("known");
    control.merge_ues(at(2), other, ue).expect("both are known");
    // 10 000 bytes in 1 ms over 10 ms: half of 100 000 bytes is 34 segments.
    assert_eq!([server(&control, first), server(&control, second)], [34 * MSS; 2]);
    assert_eq!(control.ue(second), Some(ue));
    assert_eq!(control.merge_ues(at(3), other, ue), Err(Refused::UnknownUe));
    control.merge_ues(at(3), ue, ue).expect("nothing changes");
    control.close(at(4), first).expect("open");
    assert_eq!(server(&control, second), 69 * MSS, "all of it");
    assert!(control.held(cell) > 0.999);
}

#[test]
fn a_ue_gets_no_more_than_its_limit_and_the_rest_is_free() {
    let (mut control, cell, ue) = one_ue();
    for wrong in [0.0, -1.0, f64::NAN] {
        assert_eq!(control.limit_ue(at(0), ue, Some(wrong)), Err(Refused::Absurd("most")));
    }
    control.limit_ue(at(0), ue, Some(1_000_000.0)).expect("known");
    control.on_report(at(1), ue, &report(1, 10_000, 0)).expect("sane");
    let flow = control.open(at(1), ue, &OPENING).expect("known");
    assert_eq!(server(&control, flow), 6 * MSS, "1 MB/s over 10 ms");
    assert!((control.held(cell) - 0.1).abs() < 1e-6);
    control.limit_ue(at(2), ue, None).expect("known");
    assert_eq!(server(&control, flow), 69 * MSS);
}
