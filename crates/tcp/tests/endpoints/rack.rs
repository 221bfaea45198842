//! RACK-TLP, one acknowledgement at a time: the examples of RFC 8985 sections 3.4, 3.5 and 9.1, and
//! the rules of the probe.

use crate::engine::{MSS, ack, at, flush, new_reno, sender};
use crate::link::{Path, World};
use crate::{all_controls, config, uses_initial_window};
use justfull_base::Duration;
use justfull_tcp::{
    CcConfig, Prr, Recovery, RecoveryState, SackBlock, Segment, Sender, SenderConfig,
};

/// Segment numbers.
fn numbers(segments: &[Segment]) -> Vec<u64> {
    segments.iter().map(|s| s.seq / MSS).collect()
}

/// A sender that has measured an RTT of 40 ms on a first segment, with the rest of `segments` out
/// at `first`, `first + gap`, ... ms.
fn measured(segments: u64, first: u64, gap: u64) -> Sender {
    // The examples do not mention the window, so it is cut at once.
    let mut s = sender(&SenderConfig { prr: Prr::Off, ..new_reno() });
    s.write(MSS);
    assert_eq!(flush(&mut s, at(0)).len(), 1);
    s.on_ack(at(40), &ack(1, &[], 0));
    for i in 1..segments {
        s.write(MSS);
        assert_eq!(numbers(&flush(&mut s, at(first + (i - 1) * gap))), [i]);
    }
    s
}

fn state(s: &Sender) -> RecoveryState {
    s.snapshot().recovery
}

#[test]
fn section_3_4_a_probe_finds_a_lost_tail_and_rack_a_lost_retransmission() {
    // P1 to P4 leave at 100 ms (P0 measured the RTT); P2 to P4 are dropped, P1 is acknowledged.
    let mut s = measured(5, 100, 0);
    s.on_ack(at(140), &ack(2, &[], 100));
    let due = s.next_timer().expect("the probe timer is armed");
    assert_eq!(due, at(140 + 80), "two smoothed RTTs of 40 ms after the acknowledgement");
    s.on_timer(due);
    assert_eq!(numbers(&flush(&mut s, due)), [4], "the highest segment again");
    s.on_ack(at(260), &ack(2, &[(4, 5)], 100));
    assert_eq!(
        numbers(&flush(&mut s, at(260))),
        [2, 3],
        "sent before the probe, and their time is up"
    );
    assert_eq!(state(&s), RecoveryState::Recovery);
    // The retransmission of P2 is dropped.
    s.on_ack(at(300), &ack(2, &[(3, 5)], 100));
    assert_eq!(numbers(&flush(&mut s, at(300))), [2], "the lost retransmission");
    s.on_ack(at(340), &ack(5, &[], 300));
    assert!(s.all_acked());
    let stats = s.stats();
    assert_eq!((stats.timeouts, stats.fast_recoveries, stats.segments_retransmitted), (0, 1, 4));
}

#[test]
fn section_3_5_when_the_probe_is_lost_too_the_timer_marks_all_and_the_window_is_one() {
    let mut s = measured(5, 100, 0);
    s.on_ack(at(140), &ack(2, &[], 100));
    s.on_timer(at(220));
    assert_eq!(numbers(&flush(&mut s, at(220))), [4]);
    let due = s.next_timer().expect("the retransmission timer");
    assert_eq!(due, at(220) + s.snapshot().rto, "counted from the probe");
    s.on_timer(due);
    assert_eq!((s.stats().timeouts, s.cwnd()), (1, MSS));
    assert_eq!(numbers(&flush(&mut s, due)), [2]);
    let now = due + Duration::from_millis(40);
    s.on_ack(now, &justfull_tcp::Ack { ts_echo: due, ..ack(3, &[], 0) });
    assert_eq!(numbers(&flush(&mut s, now)), [3, 4], "slow start over what was marked");
}

#[test]
fn section_9_1_example_1_a_tail_is_repaired_without_probe_or_timeout() {
    // P1, P2, P3 leave 15 ms apart (more than the reordering window of 10 ms); P1 and P3 are lost.
    let mut s = measured(4, 100, 15);
    s.on_ack(at(155), &ack(1, &[(2, 3)], 0));
    assert_eq!(numbers(&flush(&mut s, at(155))), [1], "one segment sacked is enough");
    s.on_ack(at(195), &ack(3, &[], 155));
    assert_eq!(numbers(&flush(&mut s, at(195))), [3], "sent before what was delivered last");
    s.on_ack(at(235), &ack(4, &[], 195));
    assert_eq!((s.stats().timeouts, s.stats().tail_probes), (0, 0));
}

#[test]
fn section_9_1_example_2_a_lost_retransmission_is_sent_again() {
    // P1 and P2 are lost.
    let mut s = measured(4, 100, 15);
    s.on_ack(at(170), &ack(1, &[(3, 4)], 0));
    assert_eq!(numbers(&flush(&mut s, at(170))), [1, 2]);
    s.on_ack(at(210), &ack(1, &[(2, 4)], 0));
    assert_eq!(numbers(&flush(&mut s, at(210))), [1]);
    assert_eq!(s.stats().timeouts, 0);
}

#[test]
fn section_9_1_example_3_a_small_reordering_is_waited_for_and_a_large_one_is_not() {
    for (late, retransmitted) in [(9, 0), (11, 2)] {
        let mut s = measured(4, 100, 0);
        let before = s.cwnd();
        // P3 comes first: RACK waits min_RTT / 4 from then.
        s.on_ack(at(140), &ack(1, &[(3, 4)], 0));
        assert!(flush(&mut s, at(140)).is_empty());
        assert_eq!(s.next_timer(), Some(at(150)), "the reordering timer");
        if late > 10 {
            s.on_timer(at(150));
            flush(&mut s, at(150));
        }
        s.on_ack(at(140 + late), &ack(4, &[], 100));
        assert_eq!(s.stats().segments_retransmitted, retransmitted);
        assert_eq!(s.stats().spurious_recoveries, u64::from(retransmitted > 0), "and undone");
        assert_eq!(s.cwnd(), before);
    }
}

#[test]
fn from_three_sacked_segments_on_a_hole_is_lost_at_once_until_reordering_is_seen() {
    let mut s = measured(5, 100, 0);
    s.on_ack(at(140), &ack(1, &[(2, 5)], 0));
    assert_eq!(numbers(&flush(&mut s, at(140))), [1]);
    let mut s = measured(11, 100, 0);
    s.on_ack(at(140), &ack(1, &[(2, 3)], 0));
    // The first arrives after the second: reordering.
    s.on_ack(at(141), &ack(3, &[], 100));
    s.on_ack(at(142), &ack(3, &[(4, 8)], 100));
    assert!(
        flush(&mut s, at(142)).iter().all(|x| !x.retransmission),
        "four sacked, yet there is time"
    );
    assert_eq!(s.next_timer(), Some(at(100 + 42 + 10)));
}

#[test]
fn the_probe_prefers_new_data_and_ignores_the_window() {
    let mut s = measured(2, 100, 0);
    s.write(20 * MSS);
    assert_eq!(flush(&mut s, at(100)).len(), 9, "the window of ten segments is full");
    let due = s.next_timer().expect("the probe timer");
    assert_eq!(due, at(180));
    s.on_timer(due);
    let sent = flush(&mut s, due);
    assert_eq!((numbers(&sent), sent[0].retransmission), (vec![11], false));
    assert_eq!(s.in_flight(), 11 * MSS);
    let next = s.next_timer().expect("the retransmission timer");
    assert_eq!(next, at(180) + s.snapshot().rto, "no second probe");
}

#[test]
fn a_lone_segment_is_given_the_time_of_a_delayed_acknowledgement_and_the_timeout_bounds_it() {
    let s = measured(2, 100, 0);
    assert_eq!(s.snapshot().rto, Duration::from_millis(240));
    assert_eq!(s.next_timer(), Some(at(100 + 240)), "80 ms and 200 ms are beyond the timeout");
}

#[test]
fn without_a_round_trip_the_probe_waits_for_a_second() {
    let mut s = sender(&new_reno());
    s.write(2 * MSS);
    flush(&mut s, at(5));
    assert_eq!(s.next_timer(), Some(at(1005)));
    s.on_timer(at(1005));
    assert_eq!(numbers(&flush(&mut s, at(1005))), [1]);
    assert_eq!((s.stats().tail_probes, s.stats().timeouts), (1, 0));
}

/// The probe has sent P2, the last of three, again at 180 ms.
fn probed() -> Sender {
    let mut s = measured(3, 100, 0);
    s.on_timer(at(180));
    assert_eq!(numbers(&flush(&mut s, at(180))), [2]);
    s
}

#[test]
fn a_loss_that_the_probe_repaired_is_congestion() {
    let mut s = probed();
    let before = s.cwnd();
    // P1 and the probe arrive; P2's original does not.
    s.on_ack(at(220), &ack(3, &[], 100));
    assert_eq!(s.stats().tail_losses_repaired, 0, "it may still be on its way");
    s.write(MSS);
    flush(&mut s, at(230));
    s.on_ack(at(270), &ack(4, &[], 230));
    assert_eq!(s.stats().tail_losses_repaired, 1);
    assert!(s.cwnd() < before, "{} after {before}", s.cwnd());
    assert_eq!((state(&s), s.stats().fast_recoveries), (RecoveryState::Open, 0));
}

#[test]
fn a_probe_that_arrived_twice_is_no_congestion() {
    let mut s = probed();
    let before = s.cwnd();
    s.on_ack(at(185), &ack(3, &[], 100));
    let mut twice = ack(3, &[(2, 3)], 100);
    twice.sack[0] = SackBlock { start: 2 * MSS, end: 3 * MSS };
    s.on_ack(at(220), &twice);
    s.write(MSS);
    flush(&mut s, at(230));
    s.on_ack(at(270), &ack(4, &[], 230));
    assert_eq!((s.stats().tail_losses_repaired, s.stats().duplicate_reports), (0, 1));
    assert!(s.cwnd() >= before);
}

#[test]
fn a_lost_tail_of_any_flight_is_repaired_without_a_timeout_whatever_the_control() {
    for cc in all_controls().into_iter().filter(uses_initial_window) {
        for tail in 1..8 {
            let mut world = World::with(&config(cc.clone()), &Path::default());
            world.sender.write(14_480);
            world.run_for(Duration::from_secs(1));
            assert!(world.sender.all_acked());
            // Some segments arrive, the last ones do not, and there is no more data.
            world.sender.write(3 * MSS);
            world.pump();
            world.held_back = true;
            world.sender.write(tail * MSS);
            world.pump();
            world.run_for(Duration::from_millis(20));
            world.held_back = false;
            world.run_for(Duration::from_secs(1));
            assert!(world.sender.all_acked(), "{} {tail}", cc.name());
            assert_eq!(world.sender.stats().timeouts, 0, "{} {tail}", cc.name());
            assert!(world.sender.stats().tail_probes > 0, "{} {tail}", cc.name());
        }
    }
}

#[test]
fn retransmissions_lost_again_and_again_cost_no_timeout_while_others_arrive() {
    let mut timeouts = [0, 0];
    for seed in 0..6 {
        for (recovery, count) in [Recovery::Rack, Recovery::Dupack].into_iter().zip(&mut timeouts) {
            let path = Path { loss: 0.1, buffer: 1_000_000, seed, ..Path::default() };
            let setup = SenderConfig { recovery, ..config(CcConfig::default()) };
            let mut world = World::with(&setup, &path);
            world.transfer(2_000_000, Duration::from_secs(600));
            *count += world.sender.stats().timeouts;
        }
    }
    let [by_time, by_counting] = timeouts;
    assert!(by_time * 4 < by_counting, "{by_time} against {by_counting}");
}

#[test]
fn under_a_long_queue_a_late_original_is_not_taken_for_its_copy() {
    for (after, sent) in [(100, 0), (400, 1)] {
        let mut s = measured(1, 0, 0);
        // The queue grows: the RTT is ten times the smallest one.
        for i in 0..40 {
            s.write(MSS);
            flush(&mut s, at(1000 * (i + 1)));
            s.on_ack(at(1000 * (i + 1) + 400), &ack(i + 2, &[], 1000 * (i + 1)));
        }
        s.write(4 * MSS);
        assert_eq!(numbers(&flush(&mut s, at(50_000))), [41, 42, 43, 44]);
        s.on_ack(at(50_400), &ack(41, &[(44, 45)], 50_000));
        let due = s.next_timer().expect("the reordering timer");
        s.on_timer(due);
        assert_eq!(numbers(&flush(&mut s, due)), [41, 42], "all that half the window lets out");
        // Segment 42 is sacked: too early for its copy, or just in time for it; then 41 is lost
        // again.
        let now = due + Duration::from_millis(after);
        s.on_ack(now, &ack(41, &[(42, 43), (44, 45)], 50_000));
        let again = numbers(&flush(&mut s, now));
        assert_eq!(again.iter().filter(|&&n| n == 41).count(), sent, "{after} ms: {again:?}");
    }
}
