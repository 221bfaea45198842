use super::*;
use justfull_base::BitRate;
use std::vec::Vec;

/// A packet of 1000 B leaves a queue with `waiting` bytes behind it, served at 8 Mbit/s.
fn dequeue(aqm: &mut Abc, us: u64, waiting: u64, ecn: Ecn) -> Verdict {
    let view = QueueView {
        backlog_bytes: waiting,
        service_rate: Some(BitRate(8_000_000)),
        ..QueueView::default()
    };
    let packet = Packet { size: 1000, ecn, ..Packet::default() };
    let now = Instant::ZERO + Duration::from_micros(us);
    aqm.on_dequeue(now, &view, 0, &packet, 0, Duration::ZERO)
}

fn built(config: &AbcConfig) -> Abc {
    Abc::new(config, AqmContext::new(1, 0)).expect("within bounds")
}

#[test]
fn the_share_of_accelerates_is_equations_1_and_2() {
    let aqm = built(&AbcConfig::default());
    let share = |left: u32, backlog| aqm.share(50.0 * f64::from(left), backlog, 1e6);
    // In 20 ms the radio carries 20 kB: 0.98 / 2 where all of it was used, and so on.
    assert!((share(20_000, 20_000) - 0.49).abs() < 1e-12);
    assert!((share(10_000, 0) - 0.98).abs() < 1e-12);
    assert!((share(5_000, 0) - 1.0).abs() < 1e-12, "at most all");
    // 63.3 ms wait: 13.3 of 133 above the target take off a tenth of the rate.
    assert!((share(20_000, 63_300) - 0.44).abs() < 1e-12);
    assert!(share(20_000, 300_000).abs() < 1e-12, "at least none");
    assert!((share(0, 300_000) - 1.0).abs() < 1e-12, "nothing has left yet");
}

#[test]
fn tokens_spread_the_brakes_evenly() {
    let config = AbcConfig { tokens: 2, eta: Ratio(0.99), ..AbcConfig::default() };
    let mut aqm = built(&config);
    // A packet each ms is the whole rate: a share of 0.495.
    let brakes: Vec<bool> =
        (0..100).map(|ms| dequeue(&mut aqm, ms * 1000, 0, Ecn::Ect0) == Verdict::Mark).collect();
    let count = brakes[40..].iter().filter(|brake| **brake).count();
    assert!((30..=31).contains(&count), "{count} of 60");
    assert!(brakes[1..].windows(2).all(|pair| pair[0] || pair[1]), "{brakes:?}");
}

#[test]
fn packets_that_leave_at_one_instant_see_one_rate_of_departures() {
    let mut at_once = built(&AbcConfig::default());
    let mut shares = Vec::new();
    for slot in 0..50_u64 {
        for _ in 0..10 {
            let before = at_once.tokens;
            let verdict = dequeue(&mut at_once, slot * 10_000, 0, Ecn::Ect0);
            let spent = f64::from(u8::from(verdict == Verdict::Pass));
            shares.push(at_once.tokens + spent - before);
        }
    }
    // Ten packets in each slot of 10 ms are the whole rate.
    assert!(shares[20..].iter().all(|share| (share - 0.49).abs() < 1e-9), "{shares:?}");
}

#[test]
fn the_rate_of_departures_does_not_depend_on_where_the_window_begins() {
    let rate = |late: u64| {
        let mut departures = Departures::default();
        (0..100_u64).fold(0.0, |_, slot| {
            let now = Instant::ZERO + Duration::from_nanos(1_000_000 * slot + late * (slot % 2));
            departures.leave(now, 1000, Duration::from_millis(20))
        })
    };
    assert!((rate(0) - 1e6).abs() < 1e-6);
    assert!((rate(100) - 1e6).abs() < 20.0, "a slot more or less in the window is no other rate");
}

#[test]
fn packets_without_ecn_pass_and_those_with_ce_take_no_token() {
    let mut aqm = built(&AbcConfig::default());
    let _ = dequeue(&mut aqm, 0, 0, Ecn::Ect0);
    aqm.tokens = 0.0;
    let long = 1_000_000;
    assert_eq!(dequeue(&mut aqm, 1000, long, Ecn::NotEct), Verdict::Pass);
    assert_eq!(dequeue(&mut aqm, 1000, long, Ecn::Ect1), Verdict::Mark);
    aqm.tokens = 3.0;
    assert_eq!(dequeue(&mut aqm, 2000, long, Ecn::Ce), Verdict::Pass);
    assert!((aqm.tokens - 3.0).abs() < 1e-12);
    assert_eq!(dequeue(&mut aqm, 3000, long, Ecn::Ect0), Verdict::Pass);
    assert!((aqm.tokens - 2.0).abs() < 1e-12);
}

#[test]
fn every_packet_accelerates_until_a_rate_is_known() {
    let mut aqm = built(&AbcConfig::default());
    let packet = Packet { size: 1000, ecn: Ecn::Ect0, ..Packet::default() };
    for ms in 0..100 {
        let now = Instant::ZERO + Duration::from_millis(ms);
        let verdict = aqm.on_dequeue(now, &QueueView::default(), 0, &packet, 0, Duration::ZERO);
        assert_eq!(verdict, Verdict::Pass);
    }
}

#[test]
fn a_rate_of_nothing_brakes_every_packet() {
    let mut aqm = built(&AbcConfig { tokens: 2, ..AbcConfig::default() });
    let dark = QueueView { service_rate: Some(BitRate(0)), ..QueueView::default() };
    let packet = Packet { size: 1000, ecn: Ecn::Ect0, ..Packet::default() };
    let brakes = (0..50).filter(|ms| {
        let now = Instant::ZERO + Duration::from_millis(*ms);
        aqm.on_dequeue(now, &dark, 0, &packet, 0, Duration::ZERO) == Verdict::Mark
    });
    assert_eq!(brakes.count(), 49, "all but the first, before which nothing has left");
}
