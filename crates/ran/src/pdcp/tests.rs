//! Tests of TS 38.323 sections 5.2 and 5.3, and a model that keeps every COUNT.

use super::*;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

/// No packet.
const NONE: [u64; 0] = [];

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn rx(config: &PdcpConfig) -> PdcpRx {
    PdcpRx::new(config).expect("valid")
}

/// Receives the packet with an SN, whose handle is the SN.
fn receive(rx: &mut PdcpRx, now: Instant, sn: u32) -> (PdcpOutcome, Vec<u64>) {
    let mut delivered = vec![];
    let outcome = rx.receive(now, sn, SduHandle(u64::from(sn)), |sdu| delivered.push(sdu.0));
    (outcome, delivered)
}

fn time_out(rx: &mut PdcpRx, now: Instant) -> Vec<u64> {
    let mut delivered = vec![];
    rx.on_timeout(now, |sdu| delivered.push(sdu.0));
    delivered
}

#[test]
fn settings_out_of_bounds_are_refused_with_their_name() {
    let field = |config: PdcpConfig| PdcpRx::new(&config).expect_err("out of bounds").field;
    let valid = PdcpConfig::default();
    assert_eq!(field(PdcpConfig { sn_bits: 7, ..valid.clone() }), "sn_bits");
    let short = Duration::from_micros(400);
    assert_eq!(field(PdcpConfig { discard_timer: short, ..valid.clone() }), "discard_timer");
    assert_eq!(field(PdcpConfig { t_reordering: Duration::from_secs(4), ..valid }), "t_reordering");
}

#[test]
fn numbers_go_round_and_headers_have_two_or_three_bytes() {
    for (sn_bits, bytes) in [(12, 2), (18, 3)] {
        let config = PdcpConfig { sn_bits, ..PdcpConfig::default() };
        let mut tx = PdcpTx::new(&config).expect("valid");
        assert_eq!((config.header_bytes(), tx.header_bytes()), (bytes, bytes));
        let numbers: Vec<u32> = (0..=1 << sn_bits).map(|_| tx.number()).collect();
        assert_eq!((numbers[1], numbers[1 << sn_bits]), (1, 0));
    }
}

#[test]
fn headers_equal_figures_6_2_2() {
    let mut out = vec![];
    encode(12, 0xabc, &mut out);
    assert_eq!(out, [0x8a, 0xbc]);
    encode(18, 0x2_3456, &mut out);
    assert_eq!(out[2..], [0x82, 0x34, 0x56]);
    assert_eq!(
        (decode(12, &[0x8a, 0xbc, 0]), decode(18, &[0x82, 0x34, 0x56, 0])),
        (Some(0xabc), Some(0x2_3456))
    );
    assert_eq!(
        (decode(12, &[0x8a, 0xbc]), decode(12, &[]), decode(18, &[0x02, 0, 0, 0])),
        (None, None, None)
    );
}

#[test]
fn a_packet_is_too_old_at_the_end_of_the_discard_timer() {
    let config = PdcpConfig { discard_timer: Duration::from_millis(50), ..PdcpConfig::default() };
    let tx = PdcpTx::new(&config).expect("valid");
    assert!(!tx.is_too_old(ms(59), ms(10)) && tx.is_too_old(ms(60), ms(10)));
    let tx = PdcpTx::new(&PdcpConfig::default()).expect("valid");
    assert!(!tx.is_too_old(ms(1 << 40), ms(0)), "infinity");
}

#[test]
fn early_pdus_wait_for_missing_ones() {
    let mut rx = rx(&PdcpConfig::default());
    assert_eq!(receive(&mut rx, ms(0), 0).1, [0]);
    assert_eq!(receive(&mut rx, ms(1), 2), (PdcpOutcome::Accepted, vec![]));
    assert_eq!(rx.next_timeout(), Some(ms(101)));
    assert_eq!(receive(&mut rx, ms(2), 2), (PdcpOutcome::Dropped, vec![]), "a copy");
    assert_eq!(receive(&mut rx, ms(3), 1), (PdcpOutcome::Accepted, vec![1, 2]));
    assert_eq!(rx.next_timeout(), None);
    assert_eq!(receive(&mut rx, ms(4), 1), (PdcpOutcome::Dropped, vec![]), "stale");
}

#[test]
fn t_reordering_gives_up_what_is_before_the_packet_that_started_it() {
    let mut rx = rx(&PdcpConfig::default());
    receive(&mut rx, ms(0), 1);
    receive(&mut rx, ms(10), 2);
    receive(&mut rx, ms(20), 4);
    assert_eq!(time_out(&mut rx, ms(99)), NONE, "an early wake does nothing");
    assert_eq!(time_out(&mut rx, ms(100)), [1, 2]);
    assert_eq!(rx.next_timeout(), Some(ms(200)), "packet 3 has not had its time");
    assert_eq!(receive(&mut rx, ms(101), 0).0, PdcpOutcome::Dropped);
    assert_eq!(time_out(&mut rx, ms(200)), [4]);
    assert_eq!(rx.next_timeout(), None);
}

#[test]
fn out_of_order_delivery_waits_for_nothing_and_still_drops_copies() {
    let mut rx = rx(&PdcpConfig { out_of_order: true, ..PdcpConfig::default() });
    assert_eq!(receive(&mut rx, ms(0), 3).1, [3]);
    assert_eq!(receive(&mut rx, ms(0), 3).0, PdcpOutcome::Dropped);
    assert_eq!(receive(&mut rx, ms(0), 0).1, [0]);
    assert_eq!(time_out(&mut rx, ms(100)), NONE);
    assert_eq!(receive(&mut rx, ms(101), 1).0, PdcpOutcome::Dropped, "its time is over");
    assert_eq!(receive(&mut rx, ms(101), 4).1, [4]);
}

#[test]
fn an_sn_beyond_its_field_is_dropped() {
    assert_eq!(receive(&mut rx(&PdcpConfig::default()), ms(0), 4096).0, PdcpOutcome::Dropped);
}

#[test]
fn half_of_the_sn_space_is_ahead_and_half_behind() {
    let mut rx = rx(&PdcpConfig::default());
    (0..5000).for_each(|count| assert_eq!(receive(&mut rx, ms(0), count % 4096).1.len(), 1));
    // RX_DELIV has SN 904.
    assert_eq!(receive(&mut rx, ms(0), 904 + 2048).0, PdcpOutcome::Dropped);
    assert_eq!(receive(&mut rx, ms(0), 904 + 2047).0, PdcpOutcome::Accepted);
    assert_eq!(receive(&mut rx, ms(0), 904).1, [904]);
}

/// The procedure of section 5.2.2, with a map of COUNTs.
struct Model {
    stored: BTreeMap<u64, u64>,
    delivered: Vec<u64>,
    next: u64,
    deliv: u64,
    reord: u64,
    ends: Option<u64>,
    t: u64,
}

impl Model {
    fn arrives(&mut self, now: u64, count: u64) {
        if count < self.deliv || self.stored.contains_key(&count) {
            return;
        }
        self.stored.insert(count, count);
        self.next = self.next.max(count + 1);
        if count == self.deliv {
            self.consecutive();
        }
        if self.ends.is_some() && self.deliv >= self.reord {
            self.ends = None;
        }
        self.start(now);
    }

    fn consecutive(&mut self) {
        while let Some(packet) = self.stored.remove(&self.deliv) {
            self.delivered.push(packet);
            self.deliv += 1;
        }
    }

    fn start(&mut self, now: u64) {
        if self.ends.is_none() && self.deliv < self.next {
            (self.reord, self.ends) = (self.next, Some(now + self.t));
        }
    }

    fn tick(&mut self, now: u64) {
        if self.ends.is_none_or(|at| now < at) {
            return;
        }
        self.ends = None;
        let before: Vec<u64> = self.stored.range(..self.reord).map(|(&count, _)| count).collect();
        self.delivered.extend(before.iter().filter_map(|count| self.stored.remove(count)));
        self.deliv = self.reord;
        self.consecutive();
        self.start(now);
    }
}

proptest! {
    #[test]
    fn it_does_what_the_standard_says_step_by_step(
        sn_bits in prop_oneof![Just(12_u8), Just(18)],
        t in 0..30u64,
        // Distance behind the newest, and milliseconds to the next step; SNs of 12 bits wrap.
        steps in prop::collection::vec((0..40u64, 0..4u64, 1..60u64), 1..600),
    ) {
        let config = PdcpConfig { sn_bits, t_reordering: Duration::from_millis(t),
            ..PdcpConfig::default() };
        let mut rx = rx(&config);
        let mut model = Model {
            stored: BTreeMap::new(), delivered: vec![], next: 0, deliv: 0, reord: 0, ends: None, t,
        };
        let (mut now, mut newest, mut delivered) = (0, 0_u64, vec![]);
        for (back, wait, ahead) in steps {
            newest += if back < 10 { ahead } else { 1 };
            let count = newest.saturating_sub(back);
            let sn = (count & ((1 << sn_bits) - 1)) as u32;
            rx.receive(ms(now), sn, SduHandle(count), |sdu| delivered.push(sdu.0));
            model.arrives(now, count);
            now += wait;
            rx.on_timeout(ms(now), |sdu| delivered.push(sdu.0));
            model.tick(now);
            prop_assert_eq!(rx.next_timeout(), model.ends.map(ms));
            prop_assert_eq!(&delivered, &model.delivered);
        }
    }
}

#[test]
fn both_sides_are_small() {
    assert!(size_of::<PdcpTx>() <= 24 && size_of::<PdcpRx>() <= 32, "{}", size_of::<PdcpRx>());
}
