//! Runs on a machine that is late.

use super::*;

#[test]
fn a_process_that_was_stopped_catches_up_a_bounded_time_and_leaves_the_rest_out() {
    let config = config(ms(1), 1_500, droptail(), vec![source(100, 1_000)]);
    let packets = (0..1_000).map(|i| (at(i * 1_000), udp(SERVER, UE, 6000, 100)));
    let mut bench = Bench::new(packets.collect(), Vec::new());
    bench.stop = Some((at(300_000), Duration::from_secs(3_600)));
    let (result, report, _) = bench.run(&config);
    assert_eq!((report.stops, result.duration_s), (1, 2.0));
    assert!(
        report.stopped > Duration::from_secs(3_599) && report.lateness.max_us > 3.5e9,
        "{report:?}"
    );
    assert!(
        report.late() && result.cell.slots <= 2_001,
        "slots that were left out are missed, not served"
    );
    assert_eq!((report.down.received, report.down.delivered + report.down.dropped), (1_000, 1_000));
}

#[test]
fn a_stall_of_tens_of_milliseconds_is_caught_up_whole() {
    let config = config(ms(1), 1_500, droptail(), vec![source(1_400, 1_000)]);
    let packets = (0..100).map(|i| (at(i), udp(SERVER, UE, 6000, 500)));
    let mut bench = Bench::new(packets.collect(), Vec::new());
    bench.stop = Some((at(10_000), ms(50)));
    let (result, report, (at_ue, _)) = bench.run(&config);
    assert_eq!((report.stops, report.lateness.missed), (0, 50));
    assert_eq!((result.cell.slots, at_ue.len()), (2_001, 100));
    let together =
        at_ue.iter().filter(|(when, _)| *when > at(60_000) && *when < at(60_900)).count();
    assert!(together > 60, "all that was served in the stall leaves at its end: {together}");
}

#[test]
fn a_run_that_gives_up_ends_once_it_is_settled_that_it_will_be_beyond_its_limit() {
    let config = config(ms(1), 1_500, droptail(), vec![source(1_400, 1_000)]);
    for (stall, seconds) in [(19, 2.0), (21, 0.031)] {
        let mut bench = Bench::new(Vec::new(), Vec::new());
        bench.stop = Some((at(10_000), ms(stall)));
        bench.options.give_up = Some(crate::lateness::Limit::LATE);
        let (result, report, _) = bench.run(&config);
        // 1 % of 2000 slots.
        assert_eq!((report.late(), report.given_up), (stall > 20, stall > 20), "{report:?}");
        assert!((result.duration_s - seconds).abs() < 0.002, "{stall} ms: {}", result.duration_s);
    }
}

#[test]
fn short_slots_are_handled_in_batches_of_a_wake_up() {
    let config = config(Duration::from_micros(125), 1_500, droptail(), vec![source(100, 1_000)]);
    let (result, report, _) = Bench::new(Vec::new(), Vec::new()).run(&config);
    assert_eq!(report.lateness.period, Duration::from_micros(500));
    assert_eq!((result.cell.slots, report.lateness.wakes), (16_001, 4_001));
    assert!(!report.late());
}
