//! Acknowledged mode of UMTS: TS 25.322, clause by clause.

mod orders;
mod pdus;
mod polls;

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

/// Clauses 9.7.1 and 11.3.2: retransmissions go first; the last of them polls.
#[test]
fn pdus_named_as_missing_are_sent_again_first() {
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
