//! Discards after `MaxDAT`, and the orders that move the receiver (MRW).

use super::*;

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
