use super::*;
use crate::aqm::LaneView;
use justfull_base::Ecn;

const MTU: u64 = 1500;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn codel(variant: Variant) -> CoDel {
    let config =
        CoDelConfig { ecn: variant == Variant::Rfc8289, variant, ..CoDelConfig::default() };
    CoDel::new(&config, AqmContext::new(1, 0)).expect("within bounds")
}

/// The verdict on a packet that leaves lane 0 at `ms` after `waited` ms, with 50 packets behind
/// it.
fn dequeue(codel: &mut CoDel, ms: u64, waited: u64, ecn: Ecn) -> Verdict {
    dequeue_of(codel, ms, waited, ecn, 50)
}

/// The same with `behind` packets behind it.
fn dequeue_of(codel: &mut CoDel, ms: u64, waited: u64, ecn: Ecn, behind: u32) -> Verdict {
    ask_tagged(codel, ms, waited, ecn, behind, 0)
}

/// The same with this tag.
fn ask_tagged(codel: &mut CoDel, ms: u64, waited: u64, ecn: Ecn, behind: u32, tag: Tag) -> Verdict {
    let packet = Packet { size: MTU as u32, ecn, ..Packet::default() };
    let view = QueueView {
        backlog_packets: behind,
        backlog_bytes: u64::from(behind) * MTU,
        lane: LaneView { bytes: u64::from(behind) * MTU, ..LaneView::default() },
        ..QueueView::default()
    };
    codel.on_dequeue(at(ms), &view, 0, &packet, tag, Duration::from_millis(waited))
}

#[test]
fn a_wait_of_exactly_the_target_for_exactly_an_interval_is_too_long() {
    // RFC 8289 section 5.6: below is `sojourn_time < TARGET`, over is `now >=
    // first_above_time`.
    let mut codel = codel(Variant::Rfc8289);
    assert_eq!(dequeue(&mut codel, 10, 5, Ecn::NotEct), Verdict::Pass);
    assert_eq!(dequeue(&mut codel, 109, 5, Ecn::NotEct), Verdict::Pass);
    assert_eq!(dequeue(&mut codel, 110, 5, Ecn::NotEct), Verdict::Signal);
}

#[test]
fn exactly_one_mtu_behind_the_packet_is_exempt_and_a_byte_more_is_not() {
    // RFC 8289 section 5.6: `bytes() <= maxpacket_`. The released program has no such
    // exemption.
    let config = CoDelConfig::default();
    let above = |config: &CoDelConfig, behind| {
        let mut state = LaneState::default();
        state.ok_to_drop(config, at(1), config.interval, behind, false);
        state.first_above_time.is_some()
    };
    assert_eq!([above(&config, MTU), above(&config, MTU + 1)], [false, true]);
    assert!(above(&CoDelConfig { variant: Variant::T20Released, ecn: false, ..config }, 0));
}

#[test]
fn the_rate_of_the_last_dropping_state_is_taken_up_for_less_than_sixteen_intervals() {
    // RFC 8289 section 5.6: `delta = count_ - lastcount_; count_ = 1;
    // if (delta > 1 && now - drop_next_ < 16 * INTERVAL) count_ = delta`.
    let config = CoDelConfig::default();
    let entered = |count, lastcount, after: Duration| {
        let mut state = LaneState { count, lastcount, drop_next: at(1000), ..LaneState::default() };
        state.enter(&config, at(1000) + after);
        assert!(state.dropping && state.lastcount == state.count);
        let gap = state.drop_next.since(at(1000) + after).as_millis_f64();
        assert!(
            (gap - 100.0 / f64::from(state.count).sqrt()).abs() < 1e-3,
            "section 4.4: {gap} ms"
        );
        state.count
    };
    let limit = config.interval.times(16);
    let before = Duration::from_nanos(limit.as_nanos() - 1);
    assert_eq!([entered(9, 2, before), entered(9, 2, limit)], [7, 1]);
    assert_eq!([entered(3, 1, before), entered(2, 1, before), entered(2, 2, before)], [2, 1, 1]);
}

#[test]
fn a_drop_whose_next_packet_waited_less_ends_the_dropping_state_and_moves_no_date() {
    // RFC 8289 section 5.6: `if (!r.ok_to_drop) dropping_ = false; else drop_next_ =
    // control_law(...)`.
    let mut codel = codel(Variant::Rfc8289);
    for (ms, expected) in [(0, Verdict::Pass), (100, Verdict::Signal), (100, Verdict::Pass)] {
        assert_eq!(dequeue(&mut codel, ms, 50, Ecn::NotEct), expected, "{ms} ms");
    }
    let due = codel.lane_0.drop_next;
    assert_eq!(due, at(200));
    assert_eq!(dequeue(&mut codel, 200, 50, Ecn::NotEct), Verdict::Signal);
    assert_eq!(dequeue(&mut codel, 200, 1, Ecn::NotEct), Verdict::Pass);
    assert_eq!(
        (codel.lane_0.dropping, codel.lane_0.drop_next, codel.lane_0.count),
        (false, due, 2)
    );
}

#[test]
fn an_l4s_threshold_marks_ect1_alone_and_takes_the_place_of_codels_drops_there() {
    let mut codel = codel(Variant::Rfc8289);
    codel.config.l4s_threshold = Duration::from_millis(2);
    let first = [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct].map(|ecn| dequeue(&mut codel, 0, 3, ecn));
    assert_eq!(first, [Verdict::Mark, Verdict::Pass, Verdict::Pass]);
    assert_eq!(dequeue(&mut codel, 0, 2, Ecn::Ect1), Verdict::Pass);
    // Above the target of 5 ms for an interval.
    assert_eq!(dequeue(&mut codel, 1, 50, Ecn::NotEct), Verdict::Pass);
    assert_eq!(dequeue(&mut codel, 101, 50, Ecn::Ect1), Verdict::Mark, "CoDel's own signal");
    assert_eq!(codel.stats.signals, 1);
    assert_eq!(dequeue(&mut codel, 250, 50, Ecn::NotEct), Verdict::Signal, "a drop as before");
}

#[test]
fn entries_signals_and_marks_are_counted() {
    let mut rfc = codel(Variant::Rfc8289);
    rfc.config.ce_threshold = Duration::from_millis(1);
    let signals = |codel: &mut CoDel, steps: &[u64], ecn| {
        steps.iter().filter(|ms| dequeue(codel, **ms, 50, ecn) != Verdict::Pass).count()
    };
    let steps = [0, 100, 100, 150, 200, 200, 250, 280];
    // Enters at 100 ms, drops at 200 ms and from 200 + 100 / sqrt(2) ms on; after each drop the
    // next packet is delivered.
    assert_eq!(signals(&mut rfc, &steps, Ecn::NotEct), 3);
    assert_eq!(rfc.stats(), Stats { entries: 1, signals: 3, threshold_marks: 0, late: 0 });
    // Marked packets are delivered, so the control law counts fewer; the threshold marks the
    // rest.
    let mut marking = codel(Variant::Rfc8289);
    marking.config.ce_threshold = Duration::from_millis(1);
    assert_eq!(signals(&mut marking, &steps, Ecn::Ect0), 8);
    assert_eq!(marking.stats(), Stats { entries: 1, signals: 3, threshold_marks: 5, late: 0 });
    // Each drop of the released program takes two packets, the second unseen: at 100 and 200
    // ms.
    let mut released = codel(Variant::T20Released);
    assert_eq!(signals(&mut released, &[0, 100, 100, 100, 150, 200, 200, 200], Ecn::NotEct), 4);
    assert_eq!(released.stats(), Stats { entries: 1, signals: 4, threshold_marks: 0, late: 0 });
}

#[test]
fn a_packet_is_dropped_for_its_deadline_while_five_are_behind_it() {
    let config = CoDelConfig { deadline: Duration::from_millis(90), ..CoDelConfig::default() };
    let has_deadline =
        |size, behind| config.has_deadline(&Packet { size, ..Packet::default() }, behind);
    assert_eq!([has_deadline(1500, 6001), has_deadline(1500, 6000)], [true, false]);
    assert!(has_deadline(200, 801), "what counts is its own size");
    let mut codel = codel(Variant::Rfc8289);
    codel.config.deadline = config.deadline;
    assert_eq!(dequeue(&mut codel, 0, 90, Ecn::Ect0), Verdict::Drop, "a mark shortens no queue");
    assert_eq!(dequeue(&mut codel, 0, 89, Ecn::Ect0), Verdict::Pass);
    assert_eq!((codel.stats().late, codel.stats().signals), (1, 0));
}

#[test]
fn a_longer_reserve_lengthens_the_ceiling_as_much_and_the_deadline_by_the_difference() {
    let config = CoDelConfig {
        target: Duration::from_millis(15),
        reserve: Duration::from_millis(20),
        ceiling: Duration::from_millis(45),
        deadline: Duration::from_millis(90),
        ..CoDelConfig::default()
    };
    let far = config.reaching(Duration::from_millis(60));
    let times = [far.reserve, far.ceiling, far.deadline];
    assert_eq!(times, [60, 135, 130].map(Duration::from_millis));
    let endless = CoDelConfig { deadline: Duration::ZERO, ..config };
    assert_eq!(endless.reaching(far.reserve).deadline, Duration::ZERO);
    assert_eq!(config.reaching(config.reserve), config);
}

#[test]
fn spared_lanes_are_never_signalled() {
    let config =
        CoDelConfig { deadline: Duration::from_millis(90), spared: 1, ..CoDelConfig::default() };
    let mut codel = CoDel::new(&config, AqmContext::new(2, 0)).expect("within bounds");
    assert!((0..500).all(|ms| dequeue(&mut codel, ms, 400, Ecn::Ect0) == Verdict::Pass));
    assert_eq!(codel.stats(), Stats::default());
}

#[test]
fn with_dip_times_pass_as_slowly_as_the_radio_sends() {
    // A packet of 1500 B leaves each ms for a second, then one each `gap` ms; 200 ms later leaves a
    // packet that came when the slower time began.
    let after = |dip, gap, config: CoDelConfig| {
        let mut codel = codel(Variant::Rfc8289);
        codel.config = CoDelConfig { dip: Duration::from_millis(dip), ..config };
        let note = |codel: &CoDel, ms| tag(micros(codel.clock.at(at(ms))), 0);
        for ms in 0..1000 {
            let comes = note(&codel, ms);
            let verdict = ask_tagged(&mut codel, ms, 0, Ecn::NotEct, 50, comes);
            assert_eq!(verdict, Verdict::Pass);
        }
        let came = note(&codel, 1000);
        for ms in (1000..1200).step_by(gap) {
            let _ = ask_tagged(&mut codel, ms, ms - 1000, Ecn::NotEct, 50, came);
        }
        ask_tagged(&mut codel, 1200, 200, Ecn::NotEct, 50, came)
    };
    let late = CoDelConfig { deadline: Duration::from_millis(90), ..CoDelConfig::default() };
    assert_eq!([after(0, 10, late), after(2000, 10, late)], [Verdict::Drop, Verdict::Pass]);
    assert_eq!(after(2000, 1, late), Verdict::Drop);
    // Above the target for more than an interval, by the clock on the wall alone.
    let plain = CoDelConfig::default();
    let signals = |dip, gap| after(dip, gap, plain) == Verdict::Signal;
    assert_eq!([signals(0, 100), signals(2000, 100)], [true, false]);
}

#[test]
fn a_lane_passes_so_many_packets_for_each_that_it_drops_but_marks_as_it_likes() {
    let signals = |spacing, ecn| {
        let mut codel = codel(Variant::Rfc8289);
        codel.config.spacing = spacing;
        let verdicts = (0..1000).map(|n| dequeue_of(&mut codel, n, 50, ecn, 3));
        verdicts.filter(|verdict| *verdict == Verdict::Signal).count()
    };
    assert!(signals(0, Ecn::NotEct) > 25, "{}", signals(0, Ecn::NotEct));
    assert!((8..=10).contains(&signals(100, Ecn::NotEct)), "{}", signals(100, Ecn::NotEct));
    assert_eq!(signals(100, Ecn::Ect0), signals(0, Ecn::Ect0));
}

/// Dequeues a packet of this size at `ms` that waited for `waited` ms, with 100 kB behind it.
fn dequeue_sized(codel: &mut CoDel, ms: u64, waited: u64, size: u32) -> Verdict {
    let packet = Packet { size, ..Packet::default() };
    let view = QueueView {
        backlog_packets: 100,
        backlog_bytes: 100_000,
        lane: LaneView { bytes: 100_000, ..LaneView::default() },
        ..QueueView::default()
    };
    codel.on_dequeue(at(ms), &view, 0, &packet, 0, Duration::from_millis(waited))
}

#[test]
fn signals_pass_over_small_packets_while_larger_ones_leave_the_lane() {
    let dropped = |spare_small, call: u32, large: u32, of: u64| {
        let mut codel = codel(Variant::Rfc8289);
        codel.config.spare_small = spare_small;
        codel.config.deadline = Duration::from_millis(90);
        let mut drops = [0; 2];
        for ms in 0..3000 {
            let size = if ms % of == 0 { large } else { call };
            let verdict = dequeue_sized(&mut codel, ms, 60 + ms % 40, size);
            drops[usize::from(size == large)] += u32::from(verdict != Verdict::Pass);
        }
        drops
    };
    let [small, large] = dropped(false, 1228, 1500, 2);
    assert!(small > 300 && large > 300, "{small} {large}");
    let [small, large] = dropped(true, 1228, 1500, 2);
    assert!(small == 0 && large > 300, "{small} {large}");
    assert_eq!(dropped(true, 200, 1500, 10)[0], 0, "a tenth of the packets is large");
    let [small, _] = dropped(true, 1228, 1500, 3000);
    assert!(small > 600, "one large packet long ago protects none: {small}");
    assert!(dropped(true, 1450, 1500, 2)[0] > 300, "nearly the size of the largest");
}

#[test]
fn a_lane_that_runs_empty_is_not_above_the_target_but_in_the_released_program() {
    for variant in [Variant::Rfc8289, Variant::T20Released] {
        let mut codel = codel(variant);
        assert_eq!(dequeue(&mut codel, 0, 50, Ecn::NotEct), Verdict::Pass);
        codel.on_empty(at(60), 0);
        // Deviation (e): a queue that runs empty without a drop does not restart the interval.
        let expected = if variant == Variant::Rfc8289 { Verdict::Pass } else { Verdict::Signal };
        assert_eq!(dequeue(&mut codel, 110, 50, Ecn::NotEct), expected, "{variant:?}");
    }
}

#[test]
fn a_drop_that_empties_the_lane_enters_and_leaves_the_dropping_state() {
    for variant in [Variant::Rfc8289, Variant::T20Released] {
        let mut codel = codel(variant);
        (codel.lane_0.count, codel.lane_0.lastcount, codel.lane_0.drop_next) = (9, 2, at(50));
        assert_eq!(dequeue(&mut codel, 0, 50, Ecn::NotEct), Verdict::Pass);
        assert_eq!(dequeue(&mut codel, 100, 50, Ecn::NotEct), Verdict::Signal);
        codel.on_empty(at(100), 0);
        // RFC 8289 enters at the last rate, 9 - 2. Deviation (e): the released program does not
        // enter.
        let count = if variant == Variant::Rfc8289 { 7 } else { 9 };
        let state = codel.lane_0;
        assert_eq!(
            (state.count, state.dropping, state.first_above_time),
            (count, false, None),
            "{variant:?}"
        );
        assert_eq!((state.unfinished, state.second_due), (Unfinished::Nothing, false));
    }
}

#[test]
fn a_further_drop_that_empties_the_lane_is_no_entry() {
    let mut codel = codel(Variant::Rfc8289);
    for (ms, expected) in
        [(0, Verdict::Pass), (100, Verdict::Signal), (100, Verdict::Pass), (200, Verdict::Signal)]
    {
        assert_eq!(dequeue(&mut codel, ms, 50, Ecn::NotEct), expected, "{ms} ms");
    }
    codel.on_empty(at(200), 0);
    let state = codel.lane_0;
    assert_eq!(
        (state.count, state.lastcount, state.drop_next, state.dropping),
        (2, 1, at(200), false)
    );
}
