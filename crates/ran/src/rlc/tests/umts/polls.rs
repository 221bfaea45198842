//! Polls, and the timers that repeat and prohibit them.

use super::*;

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
/// lets it leave the window: then no data waits, and later polls need no PDU that is gone.
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
    let at = tx.next_timeout().expect("the poll is pending");
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
fn a_delayed_poll_is_dropped_when_all_has_arrived() {
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
