//! Acknowledged mode of UMTS: TS 25.322, clause by clause.

use super::*;
use justfull_base::Bytes;

/// Timers off; polls only as the test requests.
fn quiet() -> AmConfig {
    AmConfig {
        generation: Generation::Umts,
        timer_poll_prohibit: Duration::ZERO,
        timer_status_prohibit: Duration::ZERO,
        poll_window: 0,
        poll_last: false,
        poll_last_retx: false,
        poll_pdu: 65_536,
        missing_pdu_indicator: false,
        ..AmConfig::default()
    }
}

fn entities(config: &AmConfig) -> (RlcTx, RlcRx) {
    let mode = RlcModeConfig::Am(config.clone());
    (RlcTx::new(&mode).expect("valid"), RlcRx::new(&mode).expect("valid"))
}

/// Offset, length and end of each part, for each PDU.
fn cuts(content: &TbContent) -> Vec<Vec<(u32, u32, bool)>> {
    let parts = |pdu| content.parts_of(pdu).iter().map(|p| (p.offset, p.len, p.last)).collect();
    content.pdus.iter().map(parts).collect()
}

/// SNs of the AMD PDUs, with their poll bits.
fn polls(content: &TbContent) -> Vec<(u32, bool)> {
    let of = |pdu: &Pdu| match pdu.header {
        PduHeader::UmtsAm { sn, poll, .. } => Some((sn, poll)),
        _ => None,
    };
    content.pdus.iter().filter_map(of).collect()
}

/// `content` without the PDUs at these places.
fn without(content: &TbContent, lost: &[usize]) -> TbContent {
    let mut left = content.clone();
    let mut at = 0;
    left.pdus.retain(|_| {
        at += 1;
        !lost.contains(&(at - 1))
    });
    left
}

fn report(ack_sn: u32, nacks: &[(u32, u8)]) -> StatusPdu {
    let nacks = nacks.iter().map(|&(sn, range)| Nack { range, ..Nack::whole(sn) }).collect();
    StatusPdu { ack_sn, nacks }
}

fn on_status(tx: &mut RlcTx, now: Instant, status: &StatusPdu) -> Vec<u64> {
    let mut acked = Vec::new();
    tx.on_status(now, status, |sdu| acked.push(sdu.0));
    tx.assert_sound();
    acked
}

/// The SDUs given up by the last report or timeout.
fn given_up(tx: &RlcTx) -> Vec<u64> {
    let mut gone = Vec::new();
    tx.given_up(|sdu| gone.push(sdu.0));
    gone
}

/// A stall begins when SDUs wait behind a closed window, and ends with the report that opens it.
#[test]
fn a_closed_window_is_a_stall_while_sdus_wait() {
    let (mut tx, _) = entities(&AmConfig { window: 4, ..quiet() });
    let stalls = |tx: &RlcTx, at| {
        let Stalls { count, time } = tx.stalls(at);
        (count, time.as_nanos() / 1_000_000)
    };
    let mut queue = Queue::of(&[1000]);
    pull(&mut tx, ms(0), 3 * 42, &mut queue);
    tx.pulled(ms(0), true);
    assert_eq!(stalls(&tx, ms(5)), (0, 0), "it is open");
    pull(&mut tx, ms(10), 3 * 42, &mut queue);
    tx.pulled(ms(10), false);
    assert_eq!(stalls(&tx, ms(15)), (0, 0), "nothing waits");
    tx.pulled(ms(20), true);
    assert_eq!(stalls(&tx, ms(25)), (1, 5));
    on_status(&mut tx, ms(30), &report(0, &[(0, 1)]));
    pull(&mut tx, ms(30), 42, &mut queue);
    tx.pulled(ms(30), true);
    assert_eq!(stalls(&tx, ms(35)), (1, 15), "it is closed still");
    on_status(&mut tx, ms(40), &report(2, &[]));
    assert_eq!(stalls(&tx, ms(90)), (1, 20));
    pull(&mut tx, ms(90), 3 * 42, &mut queue);
    tx.pulled(ms(90), true);
    assert_eq!(stalls(&tx, ms(91)), (2, 21));
}

#[test]
fn a_tti_of_64_kbit_s_is_four_pdus_of_42_bytes() {
    let (mut tx, mut rx) = entities(&quiet());
    let content = pull(&mut tx, ms(0), 4 * 42, &mut Queue::of(&[1000]));
    assert_eq!(content.bytes(), 168);
    assert_eq!(
        cuts(&content),
        [[(0, 40, false)], [(40, 40, false)], [(80, 40, false)], [(120, 40, false)]]
    );
    assert_eq!(content.pdus[0].header_bytes, 2);
    assert_eq!(tx.pending().rest_of_head, 21 * 42, "840 bytes");
    assert_eq!(receive(&mut rx, ms(0), &content).0, NONE);
    assert_eq!((tx.pdu(), tx.head_left()), (Some(42), Some(840)));
    let mut sizes = Vec::new();
    tx.next_sizes(9, &mut sizes);
    assert_eq!(sizes, [21 * 42]);
    assert_eq!(RlcModeConfig::Am(quiet()).pdu(), Some(42));
}

#[test]
fn what_the_grant_leaves_below_a_pdu_is_left() {
    let (mut tx, _) = entities(&quiet());
    let mut queue = Queue::of(&[1000]);
    assert!(pull(&mut tx, ms(0), 41, &mut queue).is_empty());
    assert_eq!(pull(&mut tx, ms(0), 125, &mut queue).bytes(), 84);
}

/// Clause 9.2.2.8.
#[test]
fn a_length_indicator_ends_an_sdu_and_the_next_follows() {
    let (mut tx, mut rx) = entities(&quiet());
    let content = pull(&mut tx, ms(0), 84, &mut Queue::of(&[10, 20, 30]));
    let expected: [&[_]; 2] = [&[(0, 10, true), (0, 20, true), (0, 8, false)], &[(8, 22, true)]];
    assert_eq!(cuts(&content), expected);
    assert_eq!(content.pdus[0].header_bytes, 4, "two indicators of 7 bits");
    assert_eq!(content.pdus[1].header_bytes, 20, "with padding");
    assert_eq!(receive(&mut rx, ms(0), &content).0, [0, 1, 2]);
}

/// Clause 9.2.2.8: the next PDU indicates the end of an SDU that fills its PDU.
#[test]
fn an_sdu_that_fills_its_pdu_ends_with_the_next() {
    let (mut tx, mut rx) = entities(&quiet());
    let mut queue = Queue::of(&[40]);
    let first = pull(&mut tx, ms(0), 42, &mut queue);
    assert_eq!(cuts(&first), [[(0, 40, false)]]);
    assert!(queue.0.is_empty() && tx.head_left().is_none());
    assert_eq!(tx.pending().rest_of_head, 42, "its end is to be told");
    assert_eq!(receive(&mut rx, ms(0), &first).0, NONE);
    queue.push(5);
    let next = pull(&mut tx, ms(1), 42, &mut queue);
    assert_eq!(cuts(&next), [[(40, 0, true), (0, 5, true)]]);
    assert_eq!(receive(&mut rx, ms(1), &next).0, [0, 0], "the second queue counts from 0 again");

    let (mut tx, mut rx) = entities(&quiet());
    let both = pull(&mut tx, ms(0), 84, &mut Queue::of(&[40]));
    assert_eq!(cuts(&both)[1], [(40, 0, true)], "alone, with padding");
    assert_eq!(receive(&mut rx, ms(0), &both).0, [0]);
    assert_eq!(tx.pending().total(), 0);
}

/// Clause 9.2.2.8: with a length indicator the last byte but one is the last possible end.
#[test]
fn an_sdu_one_byte_short_of_its_pdu_has_its_indicator() {
    let (mut tx, _) = entities(&quiet());
    let content = pull(&mut tx, ms(0), 42, &mut Queue::of(&[39]));
    assert_eq!(cuts(&content), [[(0, 39, true)]]);
    assert_eq!(content.pdus[0].header_bytes, 3);
}

/// Clause 9.2.2.8, indicators of 15 bits.
#[test]
fn in_large_pdus_an_sdu_may_end_one_byte_short_of_the_pdu() {
    let large = AmConfig { pdu: Bytes(127), ..quiet() };
    for (size, first, rest, header, one_short) in [
        (125, (0, 125, false), (125, 0, true), 2, false),
        (124, (0, 124, false), (124, 0, true), 3, true),
        (123, (0, 123, true), (0, 50, true), 4, false),
    ] {
        let (mut tx, mut rx) = entities(&large);
        let content = pull(&mut tx, ms(0), 254, &mut Queue::of(&[size, 50]));
        assert_eq!((cuts(&content)[0][0], cuts(&content)[1][0]), (first, rest), "{size}");
        assert_eq!(content.pdus[0].header_bytes, header, "{size}");
        let PduHeader::UmtsAm { one_short: found, .. } = content.pdus[1].header else {
            panic!("an AMD PDU");
        };
        assert_eq!(found, one_short, "{size}");
        assert_eq!(receive(&mut rx, ms(0), &content).0, [0, 1]);
    }
}

/// Clause 9.2.2.8: no SDU starts in the one byte behind an indicator of 15 bits.
#[test]
fn one_byte_behind_an_indicator_of_15_bits_is_padding() {
    let (mut tx, mut rx) = entities(&AmConfig { pdu: Bytes(127), ..quiet() });
    let content = pull(&mut tx, ms(0), 254, &mut Queue::of(&[122, 60]));
    assert_eq!(cuts(&content), [[(0, 122, true)], [(0, 60, true)]]);
    assert_eq!(receive(&mut rx, ms(0), &content).0, [0, 1]);
}

#[test]
fn the_smallest_pdus_carry_four_bytes() {
    let (mut tx, mut rx) = entities(&AmConfig { pdu: Bytes(6), ..quiet() });
    let content = pull(&mut tx, ms(0), 600, &mut Queue::of(&[5, 1, 2, 3]));
    assert_eq!(receive(&mut rx, ms(0), &content).0, [0, 1, 2, 3]);
}

/// Clause 11.3.3: in sequence, and duplicates are discarded.
#[test]
fn delivery_is_in_sequence_and_once() {
    let (mut tx, mut rx) = entities(&quiet());
    let content = pull(&mut tx, ms(0), 42 * 4, &mut Queue::of(&[39, 39, 39, 39]));
    assert_eq!(receive(&mut rx, ms(0), &without(&content, &[1])).0, [0]);
    assert_eq!(receive(&mut rx, ms(1), &without(&content, &[1])).0, NONE);
    assert_eq!(rx.discarded(), 3);
    assert_eq!(receive(&mut rx, ms(2), &content).0, [1, 2, 3]);
    assert_eq!(rx.discarded(), 6);
}

/// Clause 11.3.4.2: a PDU outside the window is discarded; its poll is answered.
#[test]
fn a_pdu_outside_the_window_is_discarded_and_its_poll_answered() {
    let config = AmConfig { window: 2, poll_pdu: 1, ..quiet() };
    let (mut tx, _) = entities(&AmConfig { window: 8, ..config.clone() });
    let (_, mut rx) = entities(&config);
    let content = pull(&mut tx, ms(0), 42 * 3, &mut Queue::of(&[39, 39, 39]));
    assert_eq!(receive(&mut rx, ms(0), &without(&content, &[0, 1])).0, NONE);
    assert_eq!(rx.discarded(), 1);
    assert_eq!(rx.status(ms(0), 42), Some(&report(0, &[])));
}

/// Clause 9.7.2: a poll triggers a report, and so does a missing PDU if configured.
#[test]
fn reports_are_triggered_by_polls_and_by_missing_pdus() {
    for (indicator, expected) in [(false, None), (true, Some(report(4, &[(1, 2)])))] {
        let config = AmConfig { missing_pdu_indicator: indicator, ..quiet() };
        let (mut tx, mut rx) = entities(&config);
        let content = pull(&mut tx, ms(0), 42 * 4, &mut Queue::of(&[400]));
        receive(&mut rx, ms(0), &without(&content, &[1, 2]));
        assert_eq!(rx.status(ms(0), 42), expected.as_ref());
        receive(&mut rx, ms(1), &pull(&mut tx, ms(1), 42, &mut Queue::of(&[400])));
        assert_eq!(rx.status_due(), None, "nothing more is missing");
    }
    let (mut tx, mut rx) = entities(&AmConfig { poll_pdu: 2, ..quiet() });
    let content = pull(&mut tx, ms(0), 42 * 4, &mut Queue::of(&[400]));
    assert_eq!(polls(&content), [(0, false), (1, true), (2, false), (3, true)]);
    receive(&mut rx, ms(0), &content);
    assert_eq!(rx.status(ms(0), 42), Some(&report(4, &[])));
    assert_eq!(rx.status(ms(0), 42), None, "one report for all polls");
}

/// Clause 9.7.2.
#[test]
fn the_prohibit_timer_delays_a_report_and_the_periodic_one_triggers_it() {
    let config = AmConfig {
        poll_pdu: 1,
        timer_status_prohibit: Duration::from_millis(50),
        timer_status_periodic: Duration::from_millis(300),
        ..quiet()
    };
    let (mut tx, mut rx) = entities(&config);
    let mut queue = Queue::of(&[400]);
    receive(&mut rx, ms(0), &pull(&mut tx, ms(0), 42, &mut queue));
    assert!(rx.status(ms(0), 42).is_some());
    receive(&mut rx, ms(10), &pull(&mut tx, ms(10), 42, &mut queue));
    assert_eq!(rx.status_due(), Some(ms(50)));
    assert_eq!(rx.status(ms(49), 42), None);
    assert_eq!(rx.status(ms(50), 42), Some(&report(2, &[])));
    assert_eq!(rx.next_timeout(), Some(ms(300)));
    rx.on_timeout(ms(299), |_| {}, |_| {});
    assert_eq!(rx.status(ms(299), 42), None);
    rx.on_timeout(ms(300), |_| {}, |_| {});
    assert_eq!(rx.status(ms(300), 42), Some(&report(2, &[])));
    assert_eq!(rx.next_timeout(), Some(ms(600)));
}

/// Clause 9.7.1, Poll_SDU: the PDU with the end of the SDU polls.
#[test]
fn every_second_sdu_polls_where_it_ends() {
    let (mut tx, _) = entities(&AmConfig { poll_sdu: 2, ..quiet() });
    let content = pull(&mut tx, ms(0), 42 * 6, &mut Queue::of(&[50, 40, 30, 30, 10]));
    // SDU 1 fills up to byte 90: its end is in the third PDU.
    let sdus: Vec<u64> = content.parts.iter().filter(|p| p.last).map(|p| p.sdu.0).collect();
    assert_eq!(sdus, [0, 1, 2, 3, 4]);
    let ends = |sdu: u64| {
        content
            .pdus
            .iter()
            .position(|pdu| content.parts_of(pdu).iter().any(|part| part.last && part.sdu.0 == sdu))
    };
    let polled: Vec<usize> =
        polls(&content).iter().enumerate().filter(|(_, p)| p.1).map(|(i, _)| i).collect();
    assert_eq!(polled, [ends(1).expect("ends"), ends(3).expect("ends")]);
}

/// Clause 9.6 d): J = (VT(S) + 1 - VT(A)) / VT(WS).
#[test]
fn from_a_part_of_the_window_on_every_pdu_polls() {
    let (mut tx, _) = entities(&AmConfig { poll_window: 50, window: 8, ..quiet() });
    let mut queue = Queue::of(&[4000]);
    let content = pull(&mut tx, ms(0), 42 * 20, &mut queue);
    let polled: Vec<bool> = polls(&content).iter().map(|p| p.1).collect();
    assert_eq!(polled, [false, false, false, true, true, true, true, true]);
    assert!(tx.is_stalled());
    assert_eq!(on_status(&mut tx, ms(1), &report(3, &[])), NONE);
    assert!(!tx.is_stalled());
    assert_eq!(polls(&pull(&mut tx, ms(1), 420, &mut queue)), [(8, true), (9, true), (10, true)]);
}

/// Clause 9.7.1: the last PDU polls, because no data waits or the window is full.
#[test]
fn the_last_pdu_polls() {
    let config = AmConfig { poll_last: true, window: 3, ..quiet() };
    let (mut tx, _) = entities(&config);
    let mut queue = Queue::of(&[60]);
    assert_eq!(
        polls(&pull(&mut tx, ms(0), 42 * 4, &mut queue)),
        [(0, false), (1, true)],
        "no SDU waits"
    );
    queue.push(400);
    assert_eq!(polls(&pull(&mut tx, ms(0), 42 * 4, &mut queue)), [(2, true)], "the window is full");
    on_status(&mut tx, ms(1), &report(3, &[]));
    assert_eq!(
        polls(&pull(&mut tx, ms(1), 42, &mut queue)),
        [(3, false)],
        "only the grant ends here"
    );
}

/// Clauses 9.7.1 and 11.3.2: retransmissions go first; the last of them polls.
#[test]
fn what_is_named_as_missing_is_sent_again_first() {
    let (mut tx, mut rx) = entities(&AmConfig { poll_last_retx: true, ..quiet() });
    let mut queue = Queue::of(&[400, 39]);
    let content = pull(&mut tx, ms(0), 42 * 5, &mut queue);
    receive(&mut rx, ms(0), &without(&content, &[1, 3]));
    assert_eq!(on_status(&mut tx, ms(1), &report(5, &[(1, 1), (3, 1)])), NONE);
    assert_eq!(tx.pending().retransmission, 84);
    let again = pull(&mut tx, ms(1), 42 * 3, &mut queue);
    assert_eq!(polls(&again), [(1, false), (3, true), (5, false)]);
    assert_eq!(again.parts_of(&again.pdus[0]), content.parts_of(&content.pdus[1]));
    receive(&mut rx, ms(1), &again);
    let rest = pull(&mut tx, ms(2), 4200, &mut queue);
    assert_eq!(receive(&mut rx, ms(2), &rest).0, [0, 1]);
    assert_eq!(on_status(&mut tx, ms(3), &report(12, &[])), [0, 1], "in order");
}

/// Clause 11.5: a report on unsent data is discarded (here without RESET).
#[test]
fn a_report_that_acknowledges_what_was_not_sent_is_discarded() {
    let (mut tx, _) = entities(&quiet());
    let mut queue = Queue::of(&[39, 39, 39, 39]);
    pull(&mut tx, ms(0), 42 * 3, &mut queue);
    for bad in [
        report(4, &[]),
        report(4095, &[]),
        report(5000, &[]),
        report(3, &[(2, 2)]),
        report(3, &[(3, 1)]),
        report(3, &[(1, 1), (0, 1)]),
        report(3, &[(0, 2), (1, 1)]),
        report(3, &[(0, 0)]),
        report(3, &[(4096, 1)]),
    ] {
        assert_eq!(on_status(&mut tx, ms(1), &bad), NONE, "{bad:?}");
        assert_eq!(tx.pending().retransmission, 0, "{bad:?}");
    }
    assert_eq!(on_status(&mut tx, ms(1), &report(3, &[(1, 1)])), [0]);
    assert_eq!(tx.pending().retransmission, 42);
    assert_eq!(on_status(&mut tx, ms(2), &report(0, &[])), NONE, "older than the window");
    assert_eq!(on_status(&mut tx, ms(2), &report(3, &[])), [1, 2]);
    assert_eq!(tx.pending().retransmission, 0, "it had arrived");
}

/// Clause 9.5 a).
#[test]
fn an_unanswered_poll_is_repeated_with_the_last_pdu() {
    let (mut tx, mut rx) = entities(&AmConfig { poll_last: true, ..quiet() });
    let mut queue = Queue::of(&[60]);
    let lost = pull(&mut tx, ms(0), 420, &mut queue);
    assert_eq!(tx.next_timeout(), Some(ms(200)));
    tx.on_timeout(ms(199), false);
    assert_eq!(tx.pending().total(), 0);
    tx.on_timeout(ms(200), false);
    assert_eq!(tx.pending().retransmission, 42);
    let again = pull(&mut tx, ms(200), 420, &mut queue);
    assert_eq!(polls(&again), [(1, true)]);
    assert_eq!(tx.next_timeout(), Some(ms(400)));
    receive(&mut rx, ms(200), &again);
    let status = rx.status(ms(200), 42).expect("polled").clone();
    assert_eq!(status, report(2, &[(0, 1)]));
    on_status(&mut tx, ms(210), &status);
    let rest = pull(&mut tx, ms(210), 420, &mut queue);
    assert_eq!(polls(&rest), [(0, false)]);
    assert_eq!(rest.parts, lost.parts[..1]);
}

/// Clause 9.5 a): acknowledgements of all up to VT(S) - 1, or VT(S) - 1 named as missing.
#[test]
fn only_an_answer_to_the_poll_stops_timer_poll() {
    for (answer, stops) in [
        (report(3, &[]), true),
        (report(3, &[(2, 1)]), true),
        (report(3, &[(0, 1), (2, 1)]), true),
        (report(3, &[(0, 3)]), true),
        (report(0, &[(0, 1), (2, 1)]), true),
        (report(2, &[]), false),
        (report(3, &[(1, 1)]), false),
        (report(0, &[(0, 1)]), false),
    ] {
        let (mut tx, _) = entities(&AmConfig { poll_last: true, ..quiet() });
        pull(&mut tx, ms(0), 420, &mut Queue::of(&[100]));
        on_status(&mut tx, ms(100), &answer);
        assert_eq!(tx.next_timeout().is_none(), stops, "{answer:?}");
    }
}

/// A poll alone repeats the last PDU even though it has arrived. A report that ends before the PDU
/// lets it leave the window: then no data waits, and later polls need no absent carrier.
#[test]
fn a_pdu_that_has_arrived_and_is_to_carry_a_poll_may_leave_before_it_goes() {
    let timer_poll = Duration::from_millis(100);
    let config = AmConfig { timer_poll, poll_last: true, ..quiet() };
    let (mut tx, _) = entities(&config);
    let mut queue = Queue::of(&[90]);
    let sent = pull(&mut tx, ms(0), 3 * 42, &mut queue);
    assert_eq!(polls(&sent), [(0, false), (1, false), (2, true)]);
    // 1 and 2 have arrived; 0 is sent again, and the poll is not answered.
    assert_eq!(on_status(&mut tx, ms(10), &report(3, &[(0, 1)])), NONE);
    assert_eq!(polls(&pull(&mut tx, ms(10), 42, &mut queue)), [(0, false)]);
    tx.on_timeout(ms(100), false);
    assert_eq!(tx.pending().retransmission, 42, "2 carries the poll");
    assert_eq!(on_status(&mut tx, ms(101), &report(1, &[])), [0]);
    assert_eq!(tx.pending(), Pending::default());
    assert_eq!(tx.next_timeout(), None);
}

#[test]
fn an_expired_timer_poll_polls_with_the_next_new_pdu() {
    let (mut tx, _) = entities(&AmConfig { poll_last: true, ..quiet() });
    let mut queue = Queue::of(&[30]);
    pull(&mut tx, ms(0), 420, &mut queue);
    queue.push(400);
    tx.on_timeout(ms(200), true);
    assert_eq!(tx.pending().retransmission, 0, "the new PDU will carry it");
    assert_eq!(polls(&pull(&mut tx, ms(200), 84, &mut queue)), [(1, true), (2, false)]);
}

/// The SDU that should carry the poll was dropped from its queue meanwhile.
#[test]
fn a_poll_whose_carrier_is_gone_goes_alone() {
    let (mut tx, _) = entities(&AmConfig { poll_last: true, ..quiet() });
    let mut queue = Queue::of(&[30]);
    pull(&mut tx, ms(0), 420, &mut queue);
    tx.on_timeout(ms(200), true);
    assert!(pull(&mut tx, ms(200), 84, &mut queue).is_empty());
    let at = tx.next_timeout().expect("the poll is not forgotten");
    assert!(at > ms(200));
    tx.on_timeout(at, false);
    assert_eq!(polls(&pull(&mut tx, at, 84, &mut queue)), [(0, true)]);
}

/// Clause 9.5 b): polls that Timer_Poll_Prohibit delays become one.
#[test]
fn prohibited_polls_wait_and_become_one() {
    let config =
        AmConfig { poll_last: true, timer_poll_prohibit: Duration::from_millis(100), ..quiet() };
    let (mut tx, _) = entities(&config);
    let mut queue = Queue::of(&[30]);
    assert_eq!(polls(&pull(&mut tx, ms(0), 420, &mut queue)), [(0, true)]);
    on_status(&mut tx, ms(5), &report(1, &[]));
    assert_eq!(tx.next_timeout(), None);
    for at in [10, 20] {
        queue.push(30);
        assert!(!polls(&pull(&mut tx, ms(at), 420, &mut queue))[0].1);
    }
    assert_eq!(tx.next_timeout(), Some(ms(100)));
    tx.on_timeout(ms(99), false);
    assert_eq!(tx.pending().total(), 0);
    tx.on_timeout(ms(100), false);
    assert_eq!(polls(&pull(&mut tx, ms(100), 420, &mut queue)), [(2, true)], "the last again");
    assert_eq!(tx.next_timeout(), Some(ms(300)), "Timer_Poll");
}

#[test]
fn a_delayed_poll_is_forgotten_when_all_has_arrived() {
    let config =
        AmConfig { poll_last: true, timer_poll_prohibit: Duration::from_millis(100), ..quiet() };
    let (mut tx, _) = entities(&config);
    let mut queue = Queue::of(&[30]);
    pull(&mut tx, ms(0), 420, &mut queue);
    queue.push(30);
    pull(&mut tx, ms(10), 420, &mut queue);
    on_status(&mut tx, ms(50), &report(2, &[]));
    assert_eq!(tx.next_timeout(), None);
    assert_eq!(tx.pending().total(), 0);
}

/// Clauses 9.6 a), 9.7.3.3 and 11.6: sent MaxDAT - 1 times, then discarded.
#[test]
fn a_pdu_is_sent_one_time_less_than_max_dat_and_then_its_sdus_go() {
    let (mut tx, mut rx) = entities(&AmConfig { max_dat: 3, ..quiet() });
    let mut queue = Queue::of(&[50, 60, 70, 30]);
    // PDU 0: SDU 0; 1: 0, 1; 2: 1, 2; 3: 2; 4: 2, 3; 5: 3.
    let content = pull(&mut tx, ms(0), 4200, &mut queue);
    assert_eq!(content.pdus.len(), 6);
    assert_eq!(receive(&mut rx, ms(0), &without(&content, &[1])).0, NONE);
    let missing = report(6, &[(1, 1)]);
    on_status(&mut tx, ms(1), &missing);
    assert_eq!(given_up(&tx), NONE);
    assert_eq!(polls(&pull(&mut tx, ms(1), 4200, &mut queue)), [(1, false)]);
    assert_eq!(on_status(&mut tx, ms(2), &missing), NONE);
    assert_eq!(given_up(&tx), [0, 1], "all with a byte in PDUs up to the first");
    let order = pull(&mut tx, ms(2), 4200, &mut queue);
    assert_eq!(order.pdus[0].header, PduHeader::UmtsMrw { sn: 2, end: 1 });
    assert_eq!(order.bytes(), 42);
    let (delivered, abandoned) = receive(&mut rx, ms(3), &order);
    assert_eq!((delivered, abandoned), (vec![2, 3], vec![0, 1]), "0 and 1 were held in part");
    let status = rx.status(ms(3), 42).expect("the answer").clone();
    assert_eq!(status, report(6, &[]));
    assert_eq!(on_status(&mut tx, ms(4), &status), [2, 3], "not those that were discarded");
    assert_eq!((tx.pending().total(), tx.next_timeout()), (0, None));
}

/// Clause 9.2.2.11.7: the order names the first remaining PDU, and the indicator in it that ends
/// the last discarded SDU.
#[test]
fn an_order_moves_to_where_the_discarded_sdu_ends() {
    let cases =
        [(&[150, 50][..], 3, 1), (&[150][..], 4, 0), (&[159, 50][..], 4, 0), (&[39, 50][..], 1, 0)];
    for (sdus, sn, end) in cases {
        let (mut tx, mut rx) = entities(&AmConfig { max_dat: 2, ..quiet() });
        let mut queue = Queue::of(sdus);
        let content = pull(&mut tx, ms(0), 4200, &mut queue);
        receive(&mut rx, ms(0), &without(&content, &[0]));
        let sent = content.pdus.len() as u32;
        on_status(&mut tx, ms(1), &report(sent, &[(0, 1)]));
        assert_eq!(given_up(&tx), [0], "{sdus:?}");
        let order = pull(&mut tx, ms(1), 4200, &mut queue);
        assert_eq!(order.pdus[0].header, PduHeader::UmtsMrw { sn, end }, "{sdus:?}");
        let (delivered, _) = receive(&mut rx, ms(2), &order);
        assert_eq!(delivered, (1..sdus.len() as u64).collect::<Vec<_>>());
        let status = rx.status(ms(2), 42).expect("the answer").clone();
        on_status(&mut tx, ms(3), &status);
        assert_eq!((tx.pending().total(), tx.next_timeout()), (0, None));
        let mut sizes = Vec::new();
        tx.next_sizes(9, &mut sizes);
        assert!(sizes.is_empty(), "{sizes:?}");
    }
}

/// Clause 11.6: an unanswered order is repeated when Timer_MRW expires.
#[test]
fn an_unanswered_order_is_repeated() {
    let (mut tx, mut rx) = entities(&AmConfig { max_dat: 2, ..quiet() });
    let mut queue = Queue::of(&[30, 400]);
    let content = pull(&mut tx, ms(0), 84, &mut queue);
    receive(&mut rx, ms(0), &without(&content, &[0]));
    on_status(&mut tx, ms(1), &report(2, &[(0, 1)]));
    assert_eq!(given_up(&tx), [0, 1], "PDU 0 has a byte of both");
    let lost = pull(&mut tx, ms(1), 42, &mut queue);
    assert_eq!(lost.pdus[0].header, PduHeader::UmtsMrw { sn: 2, end: 0 }, "beyond what is sent");
    assert_eq!(tx.next_timeout(), Some(ms(201)));
    tx.on_timeout(ms(200), true);
    assert_eq!(tx.pending().control, 0);
    tx.on_timeout(ms(201), true);
    assert_eq!(tx.pending().control, 42);
    let again = pull(&mut tx, ms(201), 42, &mut queue);
    assert_eq!(again.pdus[0].header, lost.pdus[0].header);
    receive(&mut rx, ms(202), &again);
    let status = rx.status(ms(202), 42).expect("the answer").clone();
    assert_eq!(on_status(&mut tx, ms(203), &status), NONE);
    // The rest of the discarded SDU is sent in vain, since its queue holds it.
    queue.push(39);
    let rest = pull(&mut tx, ms(203), 4200, &mut queue);
    assert_eq!(receive(&mut rx, ms(203), &rest).0, [2]);
    assert_eq!(receive(&mut rx, ms(204), &again), (vec![], vec![]), "an old order moves nothing");
    assert_eq!(rx.status_due(), Some(ms(204)), "and is answered");
}

/// Clause 11.5: a report that does not fit one STATUS PDU takes several, none of which
/// acknowledges more than VR(R).
#[test]
fn a_long_report_takes_several_pdus() {
    let (mut tx, mut rx) = entities(&AmConfig { pdu: Bytes(20), poll_last: true, ..quiet() });
    let mut queue = Queue::of(&[17; 400]);
    let content = pull(&mut tx, ms(0), 8000, &mut queue);
    assert_eq!(content.pdus.len(), 400);
    let lost: Vec<usize> =
        (0..400).filter(|sn| *sn != 399 && (sn % 3 != 1 && sn % 50 != 0 || *sn == 0)).collect();
    receive(&mut rx, ms(0), &without(&content, &lost));
    let mut reports = 0;
    while let Some(status) = rx.status(ms(1), 20).cloned() {
        assert!(codec::status_bytes(Format::UmtsAm { pdu: 20 }, &status) <= 20);
        assert_eq!(status.ack_sn, 0);
        on_status(&mut tx, ms(1), &status);
        reports += 1;
    }
    assert!(reports > 2, "{reports}");
    assert_eq!(rx.status_due(), None);
    let again: Vec<usize> =
        polls(&pull(&mut tx, ms(2), 8000, &mut queue)).iter().map(|p| p.0 as usize).collect();
    assert_eq!(again, lost);
}

/// Clause 9.4: the numbers are modulo 4096.
#[test]
fn numbers_wrap() {
    let (mut tx, mut rx) = entities(&AmConfig { poll_last: true, window: 4095, ..quiet() });
    let mut queue = Queue::of(&[39; 9000]);
    let (mut delivered, mut acked) = (Vec::new(), Vec::new());
    for tti in 0..4000 {
        let content = pull(&mut tx, ms(tti), 42 * 1000, &mut queue);
        let lost: Vec<usize> =
            (0..content.pdus.len()).filter(|i| (i + tti as usize).is_multiple_of(7)).collect();
        delivered.extend(receive(&mut rx, ms(tti), &without(&content, &lost)).0);
        while let Some(status) = rx.status(ms(tti), 42).cloned() {
            acked.extend(on_status(&mut tx, ms(tti), &status));
        }
        if tx.next_timeout().is_some_and(|at| at <= ms(tti)) {
            tx.on_timeout(ms(tti), queue.head().is_some());
        }
    }
    assert_eq!(delivered.len(), 9000);
    assert!(delivered.is_sorted() && delivered == acked);
}

/// A report of the entity's own receiving side takes a PDU of the batch.
#[test]
fn a_status_pdu_takes_a_pdu() {
    let (mut tx, _) = entities(&quiet());
    tx.queue_status(&report(7, &[(3, 2)]));
    assert_eq!(tx.pending().control, 42);
    let content = pull(&mut tx, ms(0), 84, &mut Queue::of(&[100]));
    assert_eq!(content.statuses(), [report(7, &[(3, 2)])]);
    assert_eq!(polls(&content), [(0, false)]);
    let mut sizes = Vec::new();
    tx.queue_status(&report(7, &[]));
    on_status(&mut tx, ms(1), &report(1, &[(0, 1)]));
    tx.next_sizes(9, &mut sizes);
    assert_eq!(sizes, [42, 42, 84], "report, retransmission, 60 bytes of the head");
}

#[test]
fn each_bad_setting_is_named() {
    let field =
        |config: AmConfig| RlcModeConfig::Am(config).validate().expect_err("out of bounds").field;
    assert_eq!(field(AmConfig { pdu: Bytes(5), ..quiet() }), "pdu");
    assert_eq!(field(AmConfig { window: 4096, ..quiet() }), "window");
    assert_eq!(field(AmConfig { window: 0, ..quiet() }), "window");
    assert_eq!(field(AmConfig { poll_pdu: 0, ..quiet() }), "poll_last");
    assert_eq!(field(AmConfig { max_dat: 1, ..quiet() }), "max_dat");
    assert_eq!(field(AmConfig { sn_bits: 10, ..quiet() }), "sn_bits");
    let um = um(Generation::Umts, 5).validate().expect_err("no UM of UMTS");
    assert_eq!(um.field, "generation");
}

/// PDUs that no sender makes are discarded and move nothing.
#[test]
fn hostile_pdus_are_discarded() {
    let (_, mut rx) = entities(&quiet());
    let part = |offset, len, last| Part { sdu: SduHandle(9), offset, len, last };
    let bad: [(u32, bool, &[Part]); 9] = [
        (0, false, &[]),
        (4096, false, &[part(0, 5, true)]),
        (0, true, &[part(0, 5, true)]),
        (0, false, &[part(0, 5, false)]),
        (0, false, &[part(0, 0, true)]),
        (0, true, &[part(5, 0, false)]),
        (0, false, &[part(0, 5, true), part(3, 5, true)]),
        (0, false, &[part(0, 5, false), part(0, 5, true)]),
        (0, true, &[part(u32::MAX, 5, false)]),
    ];
    for (i, (sn, open, parts)) in bad.into_iter().enumerate() {
        let mut content = TbContent::default();
        content.parts.extend(parts);
        let header = PduHeader::UmtsAm { poll: true, sn, open, one_short: false };
        content.push_pdu(header, 2, 0);
        assert_eq!(receive(&mut rx, ms(0), &content), (vec![], vec![]));
        assert_eq!(rx.discarded(), i as u64 + 1, "{sn} {open} {parts:?}");
        assert_eq!(rx.status_due(), None);
    }
    let mut content = TbContent::default();
    content.push_pdu(PduHeader::UmtsMrw { sn: 4096, end: 0 }, 42, 0);
    receive(&mut rx, ms(0), &content);
    assert_eq!(rx.discarded(), 10);
}

/// The size of an SDU in a PDU of its own, and the bytes that the layer below adds to every PDU.
#[test]
fn headers_and_what_is_below_count() {
    let mode = RlcModeConfig::Am(quiet());
    let mut tx = RlcTx::above(3, &mode).expect("valid");
    let headers = tx.headers();
    assert_eq!((headers.whole, headers.first, headers.later), (6, 5, 5));
    assert_eq!(headers.of_whole(3), 8, "a further SDU adds an indicator of a byte");
    assert!(tx.is_acknowledged() && !tx.forgets_whole());
    let content = pull(&mut tx, ms(0), 2 * 45, &mut Queue::of(&[100]));
    assert_eq!((content.pdus.len(), content.bytes()), (2, 90));
    assert_eq!(content.pdus[0].header_bytes, 5);
    assert_eq!(tx.pending().rest_of_head, 45);
}

/// Clause 11.6: Timer_Status_Prohibit does not delay the answer to an order.
#[test]
fn an_order_is_answered_at_once() {
    let config =
        AmConfig { poll_pdu: 1, timer_status_prohibit: Duration::from_millis(100), ..quiet() };
    let (mut tx, mut rx) = entities(&config);
    let content = pull(&mut tx, ms(0), 84, &mut Queue::of(&[400]));
    receive(&mut rx, ms(0), &without(&content, &[0]));
    assert_eq!(rx.status(ms(0), 42), Some(&report(2, &[(0, 1)])));
    let mut order = TbContent::default();
    order.push_pdu(PduHeader::UmtsMrw { sn: 5, end: 0 }, 42, 0);
    receive(&mut rx, ms(10), &order);
    assert_eq!(rx.status(ms(10), 42), Some(&report(5, &[])), "VR(H) moves with VR(R)");
}

/// An order that moves the window short of arrived PDUs keeps them.
#[test]
fn an_order_keeps_what_waits_behind_it() {
    let (mut tx, mut rx) = entities(&AmConfig { poll_pdu: 1, ..quiet() });
    let content = pull(&mut tx, ms(0), 42 * 5, &mut Queue::of(&[39; 5]));
    receive(&mut rx, ms(0), &without(&content, &[0, 2, 3]));
    let mut order = TbContent::default();
    order.push_pdu(PduHeader::UmtsMrw { sn: 1, end: 0 }, 42, 0);
    assert_eq!(receive(&mut rx, ms(1), &order), (vec![1], vec![]));
    assert_eq!(rx.status(ms(1), 42), Some(&report(5, &[(2, 2)])));
}

/// In large windows one order moves by at most 2047 PDUs, and no new PDU goes beyond half of the
/// SNs until the order is answered.
#[test]
fn an_order_moves_by_less_than_half_of_the_numbers() {
    let (mut tx, mut rx) = entities(&AmConfig { max_dat: 2, window: 4095, ..quiet() });
    let mut queue = Queue::of(&[39; 4095]);
    let content = pull(&mut tx, ms(0), 42 * 3000, &mut queue);
    let lost: Vec<usize> = vec![0, 2500];
    receive(&mut rx, ms(0), &without(&content, &lost));
    on_status(&mut tx, ms(1), &report(3000, &[(0, 1), (2500, 1)]));
    assert_eq!(given_up(&tx), (0..2047).collect::<Vec<u64>>());
    assert!(tx.is_stalled());
    let order = pull(&mut tx, ms(1), 42 * 100, &mut queue);
    assert_eq!(order.pdus[0].header, PduHeader::UmtsMrw { sn: 2047, end: 0 });
    assert_eq!(polls(&order), [(2500, false)], "and what was to be sent again");
    receive(&mut rx, ms(2), &order);
    let status = rx.status(ms(2), 42).expect("the answer").clone();
    assert_eq!(status, report(3000, &[]));
    assert_eq!(on_status(&mut tx, ms(3), &status), (2047..3000).collect::<Vec<u64>>());
    assert!(!tx.is_stalled());
}

/// A report from before the order does not answer it.
#[test]
fn only_a_report_from_behind_the_order_answers_it() {
    let (mut tx, _) = entities(&AmConfig { max_dat: 2, ..quiet() });
    let mut queue = Queue::of(&[39; 10]);
    pull(&mut tx, ms(0), 42 * 6, &mut queue);
    let early = report(6, &[(1, 1)]);
    assert_eq!(on_status(&mut tx, ms(1), &early), [0]);
    assert_eq!(given_up(&tx), [1]);
    pull(&mut tx, ms(1), 42, &mut queue);
    assert_eq!(on_status(&mut tx, ms(2), &early), NONE);
    assert_eq!(given_up(&tx), NONE);
    assert_eq!(on_status(&mut tx, ms(2), &report(1, &[])), NONE);
    assert_eq!(tx.next_timeout(), Some(ms(201)), "Timer_MRW goes on");
    assert_eq!(on_status(&mut tx, ms(3), &report(6, &[])), [2, 3, 4, 5]);
    assert_eq!(tx.next_timeout(), None);
}

/// Clause 9.7.2: a report that needs more than a grant of six bytes waits for one.
#[test]
fn a_grant_that_names_nothing_missing_gets_no_report() {
    let (mut tx, mut rx) = entities(&AmConfig { poll_pdu: 1, ..quiet() });
    let content = pull(&mut tx, ms(0), 84, &mut Queue::of(&[400]));
    receive(&mut rx, ms(0), &without(&content, &[0]));
    for grant in 0..6 {
        assert_eq!(rx.status(ms(0), grant), None);
        assert_eq!(rx.status_due(), Some(Instant::ZERO));
    }
    assert_eq!(rx.status(ms(0), 6), Some(&report(2, &[(0, 1)])));
}

/// A report is never larger than the entity's PDUs, so the smallest allowed PDU must hold a report
/// that names a missing SN: otherwise the report would be due for ever.
#[test]
fn the_smallest_pdu_holds_a_report_that_names_what_is_missing() {
    let smallest = (1..=42)
        .map(Bytes)
        .find(|&pdu| RlcModeConfig::Am(AmConfig { pdu, ..quiet() }).validate().is_ok());
    let pdu = smallest.expect("42 bytes are allowed");
    let (mut tx, mut rx) = entities(&AmConfig { pdu, poll_pdu: 1, ..quiet() });
    let grant = pdu.0 as u32;
    let content = pull(&mut tx, ms(0), 2 * grant, &mut Queue::of(&[400]));
    receive(&mut rx, ms(0), &without(&content, &[0]));
    assert_eq!(rx.status(ms(0), grant), Some(&report(2, &[(0, 1)])));
    assert_eq!(rx.status_due(), None);
}
