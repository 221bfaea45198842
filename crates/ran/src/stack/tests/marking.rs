//! Marks that the CU or the UPF sets by the reports of the RAN.

use super::*;
use crate::config::{MarkingConfig, MarkingPlace};
use justfull_base::Ecn;
use justfull_queue::aqm::CoDelConfig;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A packet in each slot of 10 ms; the AQM marks packets with ECT(1) that wait for more than 15 ms.
/// A report each 40 ms comes 5 ms later.
fn marked_at(place: MarkingPlace) -> StackConfig {
    let mut config = packets(1, vec![ue(&[0])]);
    let codel = CoDelConfig {
        l4s_threshold: ms(15),
        interval: ms(500),
        target: ms(500),
        ..CoDelConfig::default()
    };
    config.rlc.queue.aqm = AqmConfig::CoDel(codel);
    if place != MarkingPlace::Du {
        let (report_period, report_delay) = (ms(40), ms(5));
        config.rlc.marking = MarkingConfig { place, report_period, report_delay };
    }
    config
}

/// The marks on `arrivals`, each with its instant in ms, its codepoint and its number of packets.
fn run(config: &StackConfig, arrivals: &[(u64, Ecn, usize)]) -> Log {
    let (mut stack, mut log) = (Bench::new(config).stack, Log::default());
    for &(at, ecn, count) in arrivals {
        for _ in 0..count {
            let packet = Packet { size: 1500, ecn, ..Packet::default() };
            stack.input(Instant::from_nanos(at * MS), packet, &mut log);
        }
    }
    stack.wake(Instant::from_nanos(1_000 * MS), &mut log);
    stack.assert_conserved();
    log
}

#[test]
fn a_node_marks_the_share_that_the_last_report_has() {
    // Four wait for 9, 19, 29 and 39 ms: the report of 40 ms has 3 of 4, from 45 ms on. So of four
    // at 46 ms the first passes. They wait for 4, 14, 24 and 34 ms: the report of 80 ms has 2 of 4,
    // and each second one of those at 86 ms is marked. The report of 160 ms has none.
    let arrivals = [1, 46, 86, 200].map(|at| (at, Ecn::Ect1, 4));
    for (place, layer) in [(MarkingPlace::Cu, Layer::Sdap), (MarkingPlace::Upf, Layer::Upf)] {
        let log = run(&marked_at(place), &arrivals);
        let at = |ms: u64| (layer, ms);
        assert_eq!(log.marks, [at(46), at(46), at(46), at(86), at(86)], "{place:?}");
        let plain = [Ecn::Ect1; 4];
        let ecn: Vec<Ecn> = log.delivered.iter().map(|packet| packet.ecn).collect();
        assert_eq!(ecn[..4], plain);
        assert_eq!(ecn[4..8], [Ecn::Ect1, Ecn::Ce, Ecn::Ce, Ecn::Ce]);
        assert_eq!(ecn[8..12], [Ecn::Ect1, Ecn::Ce, Ecn::Ect1, Ecn::Ce]);
        assert_eq!(ecn[12..], plain);
    }
}

#[test]
fn a_report_has_its_first_effect_after_its_delay() {
    let early = run(&marked_at(MarkingPlace::Upf), &[(1, Ecn::Ect1, 4), (44, Ecn::Ect1, 4)]);
    assert_eq!(early.marks, []);
    let late = run(&marked_at(MarkingPlace::Upf), &[(1, Ecn::Ect1, 4), (45, Ecn::Ect1, 4)]);
    assert_eq!(late.marks, [(Layer::Upf, 45); 3]);
}

#[test]
fn packets_that_are_marked_already_count_as_those_that_would_be() {
    // Six of the eight at 46 ms are marked, three of them among the last four, which leave after 44
    // to 74 ms: the report of 120 ms has 4 of 4. The one of 80 ms has 2 of 4.
    let arrivals = [(1, 4), (46, 8), (86, 2), (126, 2)].map(|(at, n)| (at, Ecn::Ect1, n));
    let log = run(&marked_at(MarkingPlace::Upf), &arrivals);
    let at = |ms| log.marks.iter().filter(|(_, at)| *at == ms).count();
    assert_eq!([at(46), at(86), at(126)], [6, 1, 2]);
}

#[test]
fn classic_packets_are_signalled_at_the_rlc_at_each_place() {
    for place in MarkingPlace::ALL {
        let mut config = marked_at(place);
        let codel = CoDelConfig {
            ce_threshold: ms(15),
            interval: ms(500),
            target: ms(500),
            ..CoDelConfig::default()
        };
        config.rlc.queue.aqm = AqmConfig::CoDel(codel);
        let log = run(&config, &[(1, Ecn::Ect0, 4)]);
        let rlc = |ms: u64| (Layer::Rlc, ms);
        assert_eq!(log.marks, [rlc(20), rlc(30), rlc(40)], "{place:?}");
    }
}

#[test]
fn the_node_of_the_rlc_marks_at_once() {
    let log = run(&marked_at(MarkingPlace::Du), &[(1, Ecn::Ect1, 4)]);
    let rlc = |ms: u64| (Layer::Rlc, ms);
    assert_eq!(log.marks, [rlc(20), rlc(30), rlc(40)]);
}

#[test]
fn a_ue_that_returns_is_marked_by_new_reports() {
    let mut config = marked_at(MarkingPlace::Upf);
    config.sdap.poll = poll(1_000, 0);
    let (mut stack, mut log) = (Bench::new(&config).stack, Log::default());
    let at = |ms: u64| Instant::from_nanos(ms * MS);
    let send = |stack: &mut Stack, log: &mut Log, ms: u64| {
        for _ in 0..4 {
            let packet = Packet { size: 1500, ecn: Ecn::Ect1, ..Packet::default() };
            stack.input(at(ms), packet, log);
        }
    };
    send(&mut stack, &mut log, 1);
    stack.wake(at(46), &mut log);
    let context = stack.release(at(47), 0, &mut log).expect("it is there");
    assert!(stack.admit(at(48), context, &mut log).is_ok());
    send(&mut stack, &mut log, 50);
    stack.wake(at(89), &mut log);
    assert_eq!(log.marks, [], "its report is of the time before");
    send(&mut stack, &mut log, 90);
    stack.wake(at(200), &mut log);
    assert_eq!(log.marks, [(Layer::Upf, 90); 2], "2 of 4 waited for more than 15 ms");
    stack.assert_conserved();
}

#[test]
fn a_place_without_its_report_or_without_marks_is_refused() {
    type Change = fn(&mut StackConfig);
    let changes: [(&str, Change); 6] = [
        ("rlc.marking.report_period", |c| c.rlc.marking.report_period = Duration::ZERO),
        ("rlc.marking.report_period", |c| c.rlc.marking.report_period = ms(1_001)),
        ("rlc.marking.report_period", |c| c.rlc.marking.place = MarkingPlace::Du),
        ("rlc.marking.report_delay", |c| c.rlc.marking.report_delay = ms(1_001)),
        ("rlc.queue.aqm.kind", |c| c.rlc.queue.aqm = AqmConfig::default()),
        ("rlc.queue.aqm.kind", |c| c.rlc.queue.aqm = AqmConfig::CoDel(CoDelConfig::default())),
    ];
    for (field, change) in changes {
        let mut config = marked_at(MarkingPlace::Upf);
        assert_eq!(config.validate(), Ok(()));
        change(&mut config);
        assert_eq!(config.validate().expect_err("refused").field, field);
    }
    let several = Stack::of_several(&marked_at(MarkingPlace::Cu), &[0], &[]).err();
    assert_eq!(several.expect("refused").field, "rlc.marking.place");
}
