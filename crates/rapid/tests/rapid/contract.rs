//! The machine's promises about odd input, old reports, silence and too many flows.

use crate::fixture::{MSS, OPENING, RTT, at, ms, one_ue, report, sample, server};
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_rapid::{
    Category, CellId, Control, ControlConfig, FlowId, Load, NoneConfig, Opening, Refused, Sample,
    Windows,
};

fn drain(control: &mut Control) -> Vec<(FlowId, Windows)> {
    std::iter::from_fn(|| control.poll_change()).collect()
}

/// Lets every timer fire up to `until`.
fn pass(control: &mut Control, until: Instant) {
    while let Some(due) = control.next_timer().filter(|&due| due <= until) {
        control.on_timer(due);
    }
}

#[test]
fn handles_of_removed_entries_are_refused_and_name_no_other() {
    let (mut control, _, ue) = one_ue();
    let first = control.open(at(1), ue, &OPENING).expect("known");
    assert_eq!(control.close(at(2), first), Ok(()));
    assert_eq!(control.close(at(3), first), Err(Refused::UnknownFlow));
    let second = control.open(at(4), ue, &OPENING).expect("known");
    assert_eq!(second.index(), first.index(), "the place is used again");
    assert_eq!(control.close(at(5), first), Err(Refused::UnknownFlow));
    assert_eq!(control.on_sample(at(5), first, &Sample::default()), Err(Refused::UnknownFlow));
    assert_eq!(control.view(first), None);
    assert_eq!(drain(&mut control).len(), 1, "the closed flow is not told of");
    assert_eq!(control.remove_ue(at(6), ue), Ok(()));
    assert_eq!(control.remove_ue(at(7), ue), Err(Refused::UnknownUe));
    assert_eq!(control.close(at(8), second), Err(Refused::UnknownFlow));
    assert_eq!(control.open(at(8), ue, &OPENING), Err(Refused::UnknownUe));
    assert_eq!(control.on_report(at(8), ue, &report(8, 1000, 0)), Err(Refused::UnknownUe));
    assert_eq!((control.next_timer(), control.report_age(at(8), ue)), (None, None));
    let mut other = Control::new(&ControlConfig::None(NoneConfig {})).expect("valid");
    assert_eq!(other.add_ue(at(0), CellId::clone(&one_ue().1)), Err(Refused::UnknownCell));
}

#[test]
fn a_control_without_limits_sets_no_timer_and_no_window_whatever_happens_to_its_ues() {
    let mut control = Control::new(&ControlConfig::None(NoneConfig {})).expect("valid");
    let [cell, other_cell] = [control.add_cell(), control.add_cell()];
    let [ue, other] = [cell, other_cell].map(|cell| control.add_ue(at(0), cell).expect("known"));
    let [first, second] = [ue, other].map(|ue| control.open(at(0), ue, &OPENING).expect("known"));
    control.merge_ues(at(1), other, ue).expect("both are known");
    control.limit_ue(at(2), ue, Some(1.0)).expect("known");
    control.on_report(at(3), ue, &report(3, 1000, 0)).expect("sane");
    control.move_ue(at(4), ue, other_cell).expect("known");
    assert_eq!(control.next_timer(), None);
    control.on_timer(at(100_000));
    for flow in [first, second] {
        assert_eq!(control.view(flow).map(|view| view.windows), Some(Windows::UNLIMITED));
    }
    control.close(at(100_001), first).expect("open");
    assert_eq!(control.view(second).map(|view| view.windows), Some(Windows::UNLIMITED));
}

#[test]
fn time_that_goes_back_stands_still() {
    let (mut control, _, ue) = one_ue();
    control.on_report(at(100), ue, &report(1, 1000, 0)).expect("sane");
    control.on_report(at(50), ue, &report(2, 2000, 0)).expect("sane");
    assert_eq!(control.report_age(at(130), ue), ms(30));
    let flow = control.open(at(20), ue, &OPENING).expect("known");
    control.on_timer(at(10));
    assert_eq!(server(&control, flow), 20_000 / MSS * MSS);
}

#[test]
fn a_round_trip_of_0_is_not_known_and_a_very_long_one_counts_as_10_s() {
    let (mut control, _, ue) = one_ue();
    control.on_report(at(1), ue, &report(1, 1000, 0)).expect("sane");
    let zero = Some(Duration::ZERO);
    let opening = Opening { mss: 1440, wired_rtt: zero, radio_rtt: None };
    let flow = control.open(at(1), ue, &opening).expect("known");
    let initial = Windows { server: 10 * MSS, radio: 10 * MSS, reading: true };
    assert_eq!(drain(&mut control), [(flow, initial)]);
    let long = Sample { wired_rtt: Some(Duration::MAX), ..Sample::default() };
    control.on_sample(at(2), flow, &long).expect("open");
    assert_eq!(server(&control, flow), 10_000_000 / MSS * MSS);
    let opening = Opening { mss: 0, wired_rtt: None, radio_rtt: None };
    let odd = control.open(at(3), ue, &opening).expect("known");
    assert_eq!(server(&control, odd), 10, "a segment of 0 bytes counts as 1");
    let opening = Opening { mss: u32::MAX, ..opening };
    let odd = control.open(at(3), ue, &opening).expect("known");
    assert_eq!(server(&control, odd), 655_350);
}

#[test]
fn a_window_is_returned_once_and_only_when_it_changes() {
    let (mut control, _, ue) = one_ue();
    control.on_report(at(1), ue, &report(1, 1440, 0)).expect("sane");
    let flow = control.open(at(1), ue, &OPENING).expect("known");
    assert_eq!(drain(&mut control).len(), 1);
    control.on_report(at(2), ue, &report(2, 1440, 0)).expect("sane");
    control.on_report(at(3), ue, &report(3, 2880, 0)).expect("sane");
    control.on_report(at(4), ue, &report(4, 1440, 0)).expect("sane");
    assert_eq!(drain(&mut control), [], "what it was before needs no telling");
    control.on_report(at(5), ue, &report(5, 2880, 0)).expect("sane");
    assert_eq!(drain(&mut control).first().map(|(f, w)| (*f, w.server)), Some((flow, 20 * MSS)));
}

#[test]
fn no_rest_of_a_rounding_lifts_a_window_above_the_largest_of_tcp() {
    let (mut control, _, ue) = one_ue();
    // 8 Tbit/s and 20 ms are 20 GB.
    control.on_report(at(1), ue, &report(1, 1_000_000_000, 0)).expect("sane");
    let flow = control.open(at(1), ue, &OPENING).expect("known");
    for round in 1..2_000 {
        let now = 1 + 2 * RTT * round;
        control.on_report(at(now), ue, &report(now, 1_000_000_000, 0)).expect("sane");
        control.on_sample(at(now), flow, &sample(1 << 34, ms(RTT))).expect("open");
        let windows = control.view(flow).expect("open").windows;
        assert!(windows.server <= 1 << 30 && windows.radio <= 1 << 30, "{round}: {windows:?}");
    }
    let view = control.view(flow).expect("open");
    assert!(view.windows.server > (1 << 30) - 2 * MSS, "{view:?}");
}

#[test]
fn reports_that_are_late_or_absurd_are_refused_and_change_nothing() {
    let (mut control, _, ue) = one_ue();
    control.on_report(at(10), ue, &report(10, 1440, 0)).expect("sane");
    let flow = control.open(at(10), ue, &OPENING).expect("known");
    let refused = |control: &mut Control, report: &RanReport| {
        control.on_report(at(11), ue, report).expect_err("odd")
    };
    assert_eq!(refused(&mut control, &report(10, 9000, 0)), Refused::Late);
    assert_eq!(refused(&mut control, &report(12, 9000, 9001)), Refused::Absurd("used"));
    let lte = CellKind::Lte { mcs_table: 1, layers: 1 };
    let no_scheme = RanReport { kind: lte, ..report(12, 25, 0) };
    assert_eq!(refused(&mut control, &no_scheme), Refused::Absurd("mcs"));
    assert_eq!(
        refused(&mut control, &RanReport { slots: 0, ..report(12, 9, 0) }),
        Refused::Absurd("slots")
    );
    assert_eq!((server(&control, flow), control.report_age(at(12), ue)), (10 * MSS, ms(2)));
    assert_eq!(
        Refused::Absurd("slots").to_string(),
        "field `slots` of the report is out of bounds"
    );
}

#[test]
fn a_reserved_scheme_holds_the_last_one() {
    let (mut control, _, ue) = one_ue();
    let lte = |made, mcs| RanReport {
        kind: CellKind::Lte { mcs_table: 1, layers: 1 },
        mcs,
        ..report(made, 25, 0)
    };
    control.on_report(at(1), ue, &lte(1, Some(28))).expect("sane");
    let flow = control.open(at(1), ue, &OPENING).expect("known");
    let before = server(&control, flow);
    control.on_report(at(2), ue, &lte(2, Some(31))).expect("a retransmission");
    control.on_report(at(3), ue, &lte(3, None)).expect("not known");
    assert_eq!(server(&control, flow), before);
}

/// Hold, decay, forget, recover.
#[test]
fn an_old_report_holds_then_decays_towards_delivery_and_is_forgotten() {
    let (mut control, _, ue) = one_ue();
    let flow = control.open(at(0), ue, &OPENING).expect("known");
    let mut made = 0;
    // The reports show 20 Mbit/s; half of it is delivered.
    let mut run = |control: &mut Control, from: u64, to: u64, reports: bool| {
        for t in (from..to).step_by(10) {
            pass(control, at(t));
            made += 10;
            if reports {
                control.on_report(at(t), ue, &report(made, 2500, 1000)).expect("sane");
            }
            let sample = sample(12_500, ms(10));
            control.on_sample(at(t), flow, &sample).expect("open");
        }
        // Fast or slow, its radio window is rate times 10 ms: as if it were fast.
        control.view(flow).expect("open")
    };
    assert_eq!(run(&mut control, 0, 1000, true).windows.radio, 12 * MSS);
    assert_eq!(run(&mut control, 1000, 1040, false).windows.radio, 12 * MSS, "held");
    // 1.25 times the delivery, and at 90 ms of decay e^-0.9 of the rest.
    let decayed = 15_625.0 + (25_000.0 - 15_625.0) * f64::exp(-0.9);
    let share = control.view(flow).expect("open");
    assert!(share.demand.is_some_and(|d| (d - 1_250_000.0).abs() < 1.0), "{share:?}");
    run(&mut control, 1040, 1140, false);
    assert_eq!(control.report_age(at(1140), ue), ms(150));
    let slow = (1.2 * 12_500.0 + 1440.0) / 1440.0;
    assert!(decayed / 1440.0 > slow, "a slow flow is not touched: it gets {slow} segments");
    run(&mut control, 1140, 2100, false);
    assert_eq!(control.report_age(at(2100), ue), None, "forgotten");
    made = 2200;
    control.on_report(at(2100), ue, &report(made, 5000, 0)).expect("sane");
    assert_eq!(control.report_age(at(2101), ue), ms(1));
}

#[test]
fn a_greedy_flow_follows_the_decay_and_the_first_good_report() {
    let (mut control, _, ue) = one_ue();
    let flow = control.open(at(0), ue, &OPENING).expect("known");
    let mut windows = Vec::new();
    for t in (0..3000).step_by(10) {
        pass(&mut control, at(t));
        if !(1000..2500).contains(&t) {
            control.on_report(at(t), ue, &report(t + 1, 2880, 2880)).expect("sane");
        }
        // The cell carries half of the reported capacity; the flow fills its whole window.
        let may = control.view(flow).expect("open").windows.server.min(14_400);
        let radio = 10 * may.max(5000) / 14_400;
        let sample = sample(may, ms(radio.max(1)));
        control.on_sample(at(t), flow, &sample).expect("open");
        windows.push(control.view(flow).expect("open"));
    }
    let of = |t: usize| windows[t / 10].windows.server / MSS;
    // It arrives at half of its window's rate: it is slow and gets 1.2 times its demand and a
    // segment.
    assert!((12..=13).contains(&of(990)), "{}", of(990));
    // Without reports 1.25 times the delivery is the bound.
    assert!((11..=13).contains(&of(2400)), "{}", of(2400));
    assert!(of(2600) >= 12, "{}", of(2600));
}

#[test]
fn without_any_report_the_capacity_grows_with_delivery() {
    let (mut control, _, ue) = one_ue();
    let flow = control.open(at(0), ue, &OPENING).expect("known");
    assert_eq!(server(&control, flow), 10 * MSS);
    // A path of 100 Mbit/s: 125 kB in 10 ms.
    for t in (10..3000).step_by(10) {
        pass(&mut control, at(t));
        let may = server(&control, flow).min(125_000);
        let sample = sample(may, ms(10));
        control.on_sample(at(t), flow, &sample).expect("open");
    }
    let window = server(&control, flow);
    assert!((125_000..=160_000).contains(&window), "{window}");
}

/// A download has measured the radio. Its measurement still holds while the UE's applications send
/// little or nothing, and the next download begins with it. A download that gets less lowers it.
#[test]
fn without_any_report_an_application_that_sends_little_does_not_lower_the_capacity() {
    let (mut control, _, ue) = one_ue();
    let mut run = |times: std::ops::Range<u64>, most: u64, each: usize| {
        let flow = control.open(at(times.start), ue, &OPENING).expect("known");
        let begins_with = server(&control, flow);
        for t in times.clone().step_by(10).skip(1).step_by(each) {
            pass(&mut control, at(t));
            let may = server(&control, flow);
            // The chat's application has no more to send; data beyond the radio's capacity waits.
            let held = each == 1 && may > most;
            let data = Sample { held, ..sample(may.min(most), ms(10)) };
            control.on_sample(at(t), flow, &data).expect("open");
        }
        control.close(at(times.end), flow).expect("open");
        begins_with
    };
    // 100 Mbit/s, then a segment each 50 ms, nothing for 5 s, and downloads again.
    assert_eq!(run(0..3_000, 125_000, 1), 10 * MSS);
    run(3_000..8_000, MSS, 5);
    let after = run(13_000..16_000, 12_500, 1);
    assert!((125_000..=160_000).contains(&after), "{after}");
    // The second had 10 Mbit/s.
    let less = run(16_000..17_000, 12_500, 1);
    assert!((12_500..=16_000).contains(&less), "{less}");
}

/// 50 flows that send a byte now and then do not show that the capacity is small.
#[test]
fn without_any_report_flows_with_little_to_say_all_read() {
    let (mut control, _, ue) = one_ue();
    let flows: Vec<FlowId> =
        (0..50).map(|_| control.open(at(0), ue, &OPENING).expect("known")).collect();
    for t in (10..1_000).step_by(10) {
        pass(&mut control, at(t));
        for &flow in &flows {
            control.on_sample(at(t), flow, &sample(1, ms(10))).expect("open");
            assert!(control.view(flow).expect("open").windows.reading, "after {t} ms");
        }
    }
}

/// Equation 8 compares the arrivals with the window. If the proxy had no room, the server could not
/// send a whole window.
#[test]
fn a_flow_that_the_proxy_has_no_room_for_is_not_slow() {
    let (mut control, _, ue) = one_ue();
    let [held, stalled] = [(); 2].map(|()| control.open(at(0), ue, &OPENING).expect("known"));
    for t in (10..500).step_by(10) {
        pass(&mut control, at(t));
        control.on_report(at(t), ue, &report(t + 1, 2880, 2880)).expect("sane");
        let may = server(&control, held);
        // From 200 to 400 ms the radio stands still, and all data waits in the proxy.
        let waits = (200..400).contains(&t);
        let arrived = if waits || t == 400 { 0 } else { may };
        let data = Sample { held: waits, ..sample(arrived, ms(10)) };
        control.on_sample(at(t), held, &data).expect("open");
        control.on_sample(at(t), stalled, &Sample { held: false, ..data }).expect("open");
        let category = |flow| control.view(flow).map(|v| v.category);
        assert_ne!(category(held), Some(Category::Slow), "at {t} ms");
        if t == 390 {
            assert_eq!(category(stalled), Some(Category::Slow));
        }
    }
}

/// The same if nothing arrives and so no sample is made: the proxy reports at once that it has no
/// room.
#[test]
fn a_server_that_may_not_send_is_not_found_slow_for_its_silence() {
    let (mut control, _, ue) = one_ue();
    let [held, stalled] = [(); 2].map(|()| control.open(at(0), ue, &OPENING).expect("known"));
    control.on_report(at(0), ue, &report(1, 2880, 2880)).expect("sane");
    for t in (10..=200).step_by(10) {
        pass(&mut control, at(t));
        for flow in [held, stalled] {
            let may = server(&control, flow);
            control.on_sample(at(t), flow, &sample(may, ms(10))).expect("open");
        }
    }
    control.hold(held).expect("open");
    pass(&mut control, at(500));
    let category = |flow| control.view(flow).map(|view| view.category);
    assert_eq!(category(held), Some(Category::Fast));
    assert_eq!(category(stalled), Some(Category::Slow));
    control.close(at(500), held).expect("open");
    assert_eq!(control.hold(held), Err(Refused::UnknownFlow));
}

#[test]
fn a_silent_flow_is_slow_then_idle_and_its_share_goes_to_the_other() {
    let (mut control, _, ue) = one_ue();
    control.on_report(at(0), ue, &report(1, 1440, 0)).expect("sane");
    let [loud, silent] = [(); 2].map(|()| control.open(at(0), ue, &OPENING).expect("known"));
    assert_eq!((server(&control, loud), server(&control, silent)), (5 * MSS, 5 * MSS));
    for t in (10..1500).step_by(10) {
        pass(&mut control, at(t));
        control.on_report(at(t), ue, &report(t + 1, 1440, 700)).expect("sane");
        let may = server(&control, loud);
        let sample = sample(may, ms(10));
        control.on_sample(at(t), loud, &sample).expect("open");
        if t == 100 {
            let view = control.view(silent).expect("open");
            assert_eq!((view.category, view.windows.server), (Category::Slow, 2 * MSS));
        }
    }
    let view = control.view(silent).expect("open");
    assert_eq!((view.category, view.windows.server), (Category::Idle, 2 * MSS));
    assert_eq!(server(&control, loud), 10 * MSS);
    let data = Sample { arrived: 100, ..Sample::default() };
    control.on_sample(at(1500), silent, &data).expect("open");
    assert_eq!(control.view(silent).map(|v| v.category), Some(Category::New));
    assert_eq!((server(&control, loud), server(&control, silent)), (5 * MSS, 5 * MSS));
}

/// 50 flows with floors of 2 segments in 10 ms on 1.44 MB/s: room for five at a time.
#[test]
fn when_the_floors_exceed_the_capacity_reading_stops_in_turn() {
    let (mut control, cell, ue) = one_ue();
    control.on_report(at(0), ue, &report(1, 1440, 0)).expect("sane");
    let flows: Vec<FlowId> =
        (0..50).map(|_| control.open(at(0), ue, &OPENING).expect("known")).collect();
    let mut turns = vec![0; flows.len()];
    for t in (0..1000).step_by(10) {
        pass(&mut control, at(t));
        control.on_report(at(t), ue, &report(t + 2, 1440, 1440)).expect("sane");
        let mut readers = 0;
        for (&flow, turns) in flows.iter().zip(&mut turns) {
            let view = control.view(flow).expect("open");
            assert_eq!(view.windows.server, 2 * MSS);
            if view.windows.reading {
                (readers, *turns) = (readers + 1, *turns + 1);
                let sample = sample(2880, ms(10));
                control.on_sample(at(t), flow, &sample).expect("open");
            }
        }
        assert_eq!(readers, 5);
        assert!(control.load(cell).rates <= 1.0 + 1e-9);
    }
    assert!(turns.iter().all(|&n| (9..=11).contains(&n)), "{turns:?}");
}

#[test]
fn a_ue_that_goes_leaves_its_share_to_the_others() {
    let (mut control, cell, first) = one_ue();
    let second = control.add_ue(at(0), cell).expect("known");
    let mut flows = Vec::new();
    for ue in [first, second] {
        control.on_report(at(1), ue, &report(1, 1440, 0)).expect("sane");
        flows.push(control.open(at(1), ue, &OPENING).expect("known"));
    }
    for t in 2..20 {
        for ue in [first, second] {
            let used = RanReport { used: 1440, active_ues: 2, ..report(t, 1440, 720) };
            control.on_report(at(t), ue, &used).expect("sane");
        }
    }
    assert_eq!((server(&control, flows[0]), server(&control, flows[1])), (5 * MSS, 5 * MSS));
    control.remove_ue(at(20), first).expect("known");
    for t in 21..200 {
        control.on_report(at(t), second, &report(t, 1440, 720)).expect("sane");
    }
    assert_eq!(server(&control, flows[1]), 10 * MSS);
}

#[test]
fn a_ue_that_moves_counts_in_the_new_cell_at_once_and_leaves_the_old() {
    let (mut control, old, ue) = one_ue();
    let new = control.add_cell();
    let resident = control.add_ue(at(0), new).expect("the cell exists");
    let [mover, other] = [ue, resident].map(|ue| {
        control.on_report(at(100), ue, &report(100, 14_400, 0)).expect("sane");
        control.open(at(100), ue, &OPENING).expect("known")
    });
    assert_eq!([mover, other].map(|flow| server(&control, flow)), [100 * MSS; 2]);
    control.move_ue(at(101), ue, new).expect("both are known");
    let within = |control: &Control| {
        let load = control.load(new);
        assert!(load.rates <= 1.0 + load.floors && load.rates > 0.99, "{load:?}");
        load
    };
    // The resident has all of the new cell, so the mover begins with its floor.
    assert!(within(&control).floors > 0.0);
    assert_eq!(control.load(old), Load::default());
    assert!(server(&control, mover) < 5 * MSS && control.ue(mover) == Some(ue));
    // The clock of the new cell is behind the clock of the old cell.
    control.on_report(at(102), resident, &report(102, 14_400, 14_400)).expect("sane");
    control.on_report(at(103), ue, &report(3, 14_400, 0)).expect("of another cell");
    within(&control);
    assert_eq!([mover, other].map(|flow| server(&control, flow)), [50 * MSS; 2]);
    assert_eq!(control.on_report(at(104), ue, &report(2, 14_400, 0)), Err(Refused::Late));
    assert_eq!(control.move_ue(at(105), ue, new), Ok(()), "it is there already");
    let (mut larger, ..) = one_ue();
    larger.add_cell();
    let unknown = larger.add_cell();
    assert_eq!(control.move_ue(at(105), ue, unknown), Err(Refused::UnknownCell));
    control.remove_ue(at(106), ue).expect("known");
    assert_eq!(control.move_ue(at(107), ue, old), Err(Refused::UnknownUe));
}

#[test]
fn after_a_move_the_radio_legs_window_follows_the_new_round_trip() {
    let (mut control, _, ue) = one_ue();
    let new = control.add_cell();
    control.on_report(at(1), ue, &report(1, 1_440, 0)).expect("sane");
    let flow = control.open(at(1), ue, &OPENING).expect("known");
    let radio = |control: &Control| control.view(flow).expect("open").windows.radio;
    assert_eq!(radio(&control), 10 * MSS);
    control.move_ue(at(2), ue, new).expect("known");
    control.on_report(at(3), ue, &report(3, 1_440, 0)).expect("sane");
    control.on_sample(at(12), flow, &sample(10 * MSS, ms(80))).expect("open");
    assert_eq!(radio(&control), 80 * MSS, "longer than any round trip of the old cell");
}

#[test]
fn a_setting_out_of_bounds_is_named() {
    use justfull_rapid::{Config, EqualShareConfig};
    let field = |config: Config| config.validate().expect_err("out of bounds").field;
    let default = Config::default();
    for (name, config) in [
        ("slow_threshold", Config { slow_threshold: f64::NAN, ..default.clone() }),
        ("fast_threshold", Config { fast_threshold: 0.7, ..default.clone() }),
        ("slow_growth", Config { slow_growth: 0.9, ..default.clone() }),
        ("room_segments", Config { room_segments: 2, ..default.clone() }),
        ("floor_segments", Config { floor_segments: 1001, ..default.clone() }),
        ("hold", Config { hold: Duration::ZERO, ..default.clone() }),
        ("forget", Config { forget: Duration::from_millis(49), ..default.clone() }),
        ("probe", Config { probe: 0.5, ..default }),
    ] {
        assert_eq!(field(config), name);
    }
    let idle = ControlConfig::EqualShare(EqualShareConfig { idle: Duration::ZERO });
    assert_eq!(idle.validate().map_err(|e| e.field), Err("idle".into()));
    assert!(Control::new(&idle).is_err());
}
