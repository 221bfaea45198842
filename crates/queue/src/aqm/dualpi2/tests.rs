use super::*;
use crate::aqm::LaneView;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(t: u64) -> Instant {
    Instant::ZERO + ms(t)
}

fn built(config: &DualPi2Config) -> DualPi2 {
    DualPi2::new(config, AqmContext::new(2, 7)).expect("within bounds")
}

/// A packet of the lane of `ecn` leaves at `t` ms after `waited` ms; 30 kB wait behind it, and
/// nothing in the other lane.
fn dequeue(aqm: &mut DualPi2, ecn: Ecn, t: u64, waited: u64) -> Verdict {
    let lane = if is_l4s(ecn) { L4S } else { CLASSIC };
    let packet = Packet { size: 1500, ecn, enqueued: at(t) - ms(waited), ..Packet::default() };
    let view = QueueView {
        backlog_packets: 20,
        backlog_bytes: 30_000,
        lane: LaneView { bytes: 30_000, ..LaneView::default() },
        other: Some(LaneView::default()),
        ..QueueView::default()
    };
    aqm.on_dequeue(at(t), &view, lane, &packet, 0, ms(waited))
}

#[test]
fn an_update_moves_the_base_probability_by_distance_and_trend() {
    let mut aqm = built(&DualPi2Config::default());
    // At 15 ms the head has waited 15 ms: 0.15 x 0 + 3 x 0.015.
    let _ = dequeue(&mut aqm, Ecn::NotEct, 15, 15);
    assert!((aqm.p - 0.045).abs() < 1e-12, "{}", aqm.p);
    // At 30 ms 25 ms: 0.15 x 0.01 + 3 x 0.01 more.
    let _ = dequeue(&mut aqm, Ecn::NotEct, 30, 25);
    assert!((aqm.p - 0.0765).abs() < 1e-12, "{}", aqm.p);
    let mut linux = built(&DualPi2Config { preset: Preset::Linux, ..DualPi2Config::default() });
    let _ = dequeue(&mut linux, Ecn::Ect1, 16, 16);
    let expected = 41.0 / 256.0 * 0.001 + 819.0 / 256.0 * 0.016;
    assert!((linux.p - expected).abs() < 1e-12, "it looks at the L4S lane too: {}", linux.p);
    let mut rfc = built(&DualPi2Config::default());
    let _ = dequeue(&mut rfc, Ecn::Ect1, 15, 15);
    assert!(rfc.p.abs() < f64::EPSILON, "the RFC's looks at the classic lane alone");
}

/// Shares of 100 000 packets that `aqm` drops and marks.
fn shares(aqm: &mut DualPi2, ecn: Ecn) -> [f64; 2] {
    let mut counts = [0u32; 2];
    for _ in 0..100_000 {
        match dequeue(aqm, ecn, 0, 0) {
            Verdict::Drop => counts[0] += 1,
            Verdict::Mark => counts[1] += 1,
            _ => {}
        }
    }
    counts.map(|count| f64::from(count) / 1e5)
}

#[test]
fn the_classic_share_is_the_square_of_the_coupled_share_over_k_with_either_preset() {
    for preset in Preset::ALL {
        for k in [1.0, 2.0] {
            let config = DualPi2Config { preset, k: Ratio(k), ..DualPi2Config::default() };
            let mut aqm = built(&config);
            aqm.p = 0.3;
            let [dropped, marked] = shares(&mut aqm, Ecn::NotEct);
            let [_, classic_marked] = shares(&mut aqm, Ecn::Ect0);
            let [lost, coupled] = shares(&mut aqm, Ecn::Ect1);
            assert!((coupled - k * 0.3).abs() < 0.005, "{preset:?} {coupled}");
            let law = (coupled / k).powi(2);
            assert!((dropped - law).abs() < 0.005, "{preset:?} {dropped} {law}");
            assert!((classic_marked - law).abs() < 0.005, "{preset:?} {classic_marked}");
            assert_eq!((lost, marked), (0.0, 0.0), "{preset:?}");
        }
    }
}

#[test]
fn in_overload_both_kinds_are_dropped_alike_and_surviving_l4s_packets_are_marked() {
    for preset in Preset::ALL {
        let mut aqm = built(&DualPi2Config { preset, ..DualPi2Config::default() });
        aqm.p = 0.7;
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
            let [dropped, marked] = shares(&mut aqm, ecn);
            assert!((dropped - 0.49).abs() < 0.005, "{preset:?} {ecn:?} {dropped}");
            let survivors = if ecn == Ecn::Ect1 { 1.0 - dropped } else { 0.0 };
            assert!((marked - survivors).abs() < 1e-4, "{preset:?} {ecn:?} {marked}");
        }
    }
    let spared =
        DualPi2Config { preset: Preset::Linux, drop_overload: false, ..Default::default() };
    let mut aqm = built(&spared);
    let _ = dequeue(&mut aqm, Ecn::NotEct, 1600, 1000);
    assert!((aqm.p - 0.5).abs() < f64::EPSILON, "without drops p stays at 1 / k");
    let [classic, l4s] = shares(&mut aqm, Ecn::Ect1);
    assert!(classic.abs() < f64::EPSILON && (l4s - 1.0).abs() < f64::EPSILON);
}

#[test]
fn a_wait_alone_marks_over_the_ramp_or_from_the_step_on() {
    let shares_after = |config: &DualPi2Config, waited: u64| {
        let mut aqm = built(config);
        aqm.next = Instant::NEVER;
        let marked = |_: &u32| dequeue(&mut aqm, Ecn::Ect1, 100, waited) == Verdict::Mark;
        (0..1000).filter(marked).count()
    };
    let ramp = DualPi2Config { ramp: Some([ms(4), ms(8)]), ..DualPi2Config::default() };
    let found = [4, 5, 6, 7, 8, 20].map(|waited| shares_after(&ramp, waited));
    assert_eq!(found, [0, 249, 499, 749, 999, 999], "a sum of 1 is not above 1 yet");
    let step =
        DualPi2Config { preset: Preset::Linux, ramp: Some([ms(4); 2]), ..DualPi2Config::default() };
    assert_eq!([4, 5].map(|waited| shares_after(&step, waited)), [0, 1000]);
}

#[test]
fn a_lone_packet_or_a_small_backlog_is_spared() {
    let view = QueueView { other: Some(LaneView::default()), ..QueueView::default() };
    let packet = Packet { size: 1500, ecn: Ecn::Ect1, ..Packet::default() };
    let mut rfc = built(&DualPi2Config::default());
    let verdicts: [Verdict; 9] =
        core::array::from_fn(|_| rfc.on_dequeue(at(14), &view, L4S, &packet, 0, ms(14)));
    assert_eq!(verdicts, [Verdict::Pass; 9], "alone in its lane");
    let mut linux = built(&DualPi2Config { preset: Preset::Linux, ..DualPi2Config::default() });
    linux.p = 0.5;
    let of = |ecn, waited| Packet { ecn, enqueued: at(14) - waited, ..packet };
    let below = QueueView { backlog_bytes: 2999, ..view };
    let mut dequeue =
        |ecn, waited| linux.on_dequeue(at(14), &below, L4S, &of(ecn, waited), 0, waited);
    assert_eq!(dequeue(Ecn::NotEct, ms(14)), Verdict::Pass);
    assert_eq!(dequeue(Ecn::Ect1, ms(1)), Verdict::Pass);
    assert_eq!(dequeue(Ecn::Ect1, ms(14)), Verdict::Mark, "but not from the step");
}

#[test]
fn an_idle_queue_forgets_its_probability_and_catches_up_at_once() {
    let mut aqm = built(&DualPi2Config::default());
    let _ = dequeue(&mut aqm, Ecn::NotEct, 1500, 200);
    assert!(aqm.p > 0.5);
    let view = QueueView { other: Some(LaneView::default()), ..QueueView::default() };
    // A century.
    let late = Instant::ZERO + Duration::from_secs(3_155_760_000);
    let _ = aqm.on_enqueue(late, &view, CLASSIC, &Packet::default());
    assert_eq!((aqm.p, aqm.last), (0.0, 0.0));
    assert!(aqm.next > late && aqm.next <= late + ms(15));
    let grid = aqm.next.since(Instant::ZERO).as_nanos();
    assert!(grid.is_multiple_of(15_000_000), "updates stay at multiples");
}

#[test]
fn updates_that_are_skipped_would_have_changed_nothing() {
    let mut rng = Rng::from_key(5);
    let linux = DualPi2Config { preset: Preset::Linux, ..DualPi2Config::default() };
    for config in [DualPi2Config::default(), linux] {
        let (mut aqm, mut naive) = (built(&config), built(&config));
        let mut now = Instant::ZERO;
        for _ in 0..400 {
            now += ms(1 + rng.below(3_000));
            // Some heads came after the updates that are due, and some long ago.
            let mut head = || rng.chance(0.6).then(|| now - ms(rng.below(6_000)));
            let heads = [head(), head()];
            aqm.update_until(now, heads);
            while naive.next <= now {
                naive.update(naive.next, heads);
                naive.next += Duration::from_nanos(naive.period);
            }
            let state = |aqm: &DualPi2| (aqm.p, aqm.last, aqm.next);
            assert_eq!(state(&aqm), state(&naive), "{now:?} {heads:?}");
        }
    }
}

#[test]
fn a_century_of_waiting_at_the_head_costs_no_more_than_a_second() {
    let mut aqm = built(&DualPi2Config::default());
    let late = Instant::ZERO + Duration::from_secs(3_155_760_000);
    for head in [at(0), late - ms(1)] {
        aqm.update_until(late, [Some(head), None]);
        assert!(aqm.next > late && aqm.next <= late + ms(15));
        aqm = built(&DualPi2Config::default());
    }
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let bad = |change: fn(&mut DualPi2Config)| {
        let mut config = DualPi2Config::default();
        change(&mut config);
        config.validate().map_err(|e| e.field)
    };
    assert_eq!(bad(|c| c.ramp = Some([ms(9), ms(8)])), Err("ramp".into()));
    assert_eq!(bad(|c| c.ramp = Some([ms(8), ms(8)])), Ok(()));
    assert_eq!(bad(|c| c.k = Ratio(0.0)), Err("k".into()));
    assert_eq!(bad(|c| c.target = Duration::ZERO), Err("target".into()));
    assert_eq!(bad(|c| c.t_update = Some(Duration::ZERO)), Err("t_update".into()));
    assert_eq!(bad(|c| c.alpha = Some(Ratio(-1.0))), Err("alpha".into()));
    assert_eq!(bad(|c| c.beta = Some(Ratio(f64::NAN))), Err("beta".into()));
    assert_eq!(bad(|c| c.drop_overload = false), Err("drop_overload".into()));
    let ramp_of_linux = |c: &mut DualPi2Config| {
        (c.preset, c.ramp) = (Preset::Linux, Some([ms(1), ms(2)]));
    };
    assert_eq!(bad(ramp_of_linux), Err("ramp".into()));
}
