//! AM: TS 38.322 sections 5.2.3 and 5.3, TS 36.322 sections 5.1.3 and 5.2.

use super::*;
use crate::pdu::{FramingInfo, Nack, PduSegment, SO_END, SegmentInfo};
use justfull_base::Bytes;

/// Both ends of a bearer, and the queue.
struct Bearer {
    tx: RlcTx,
    rx: RlcRx,
    queue: Queue,
}

impl Bearer {
    fn new(config: &AmConfig, sizes: &[u32]) -> Self {
        let mode = RlcModeConfig::Am(config.clone());
        Self {
            tx: RlcTx::new(&mode).expect("valid"),
            rx: RlcRx::new(&mode).expect("valid"),
            queue: Queue::of(sizes),
        }
    }

    fn pull(&mut self, now: Instant, grant: u32) -> TbContent {
        pull(&mut self.tx, now, grant, &mut self.queue)
    }

    /// A report of the receiver, and the SDUs that it acknowledges.
    fn report(&mut self, now: Instant) -> (StatusPdu, Vec<u64>) {
        let status = self.rx.status(now, u32::MAX).expect("a report is due").clone();
        let mut acked = Vec::new();
        self.tx.on_status(now, &status, |sdu| acked.push(sdu.0));
        assert!(given_up(&self.tx).is_empty());
        self.tx.assert_sound();
        (status, acked)
    }
}

fn polls(content: &TbContent) -> Vec<bool> {
    let of = |pdu: &Pdu| match pdu.header {
        PduHeader::NrAm { poll, .. } | PduHeader::LteAm { poll, .. } => poll,
        header => panic!("{header:?}"),
    };
    content.pdus.iter().map(of).collect()
}

#[test]
fn it_polls_when_nothing_is_left_and_after_poll_pdu_and_poll_byte() {
    let config = AmConfig { poll_pdu: 2, ..nr_am() };
    let made = Bearer::new(&config, &[100; 5]).pull(ms(0), 1000);
    assert_eq!(polls(&made), [false, true, false, true, true]);
    let config = AmConfig { poll_byte: Bytes(250), ..nr_am() };
    let made = Bearer::new(&config, &[100; 5]).pull(ms(0), 1000);
    assert_eq!(polls(&made), [false, false, true, false, true]);
    let made = Bearer::new(&nr_am(), &[100; 5]).pull(ms(0), 300);
    assert_eq!(polls(&made), [false, false, false], "more waits");
    let made = Bearer::new(&lte_am(), &[100; 5]).pull(ms(0), 300);
    assert_eq!(polls(&made), [false], "more waits");
    let config = AmConfig { poll_byte: Bytes(250), ..nr_am() };
    let mut bearer = Bearer::new(&config, &[1000]);
    let polled = [104; 3].map(|grant| polls(&bearer.pull(ms(0), grant)));
    assert_eq!(polled, [[false], [false], [true]], "a segment counts with its own bytes");
}

#[test]
fn an_acknowledged_sdu_leaves_and_the_timer_stops() {
    for config in [nr_am(), lte_am()] {
        let mut bearer = Bearer::new(&config, &[100; 3]);
        let made = bearer.pull(ms(0), 1000);
        assert_eq!(bearer.tx.next_timeout(), Some(ms(45)));
        assert_eq!(receive(&mut bearer.rx, ms(1), &made).0, [0, 1, 2]);
        assert_eq!(bearer.rx.status_due(), Some(ms(0)));
        let (status, acked) = bearer.report(ms(2));
        assert_eq!((status.nacks.len(), acked), (0, vec![0, 1, 2]));
        assert_eq!((bearer.tx.next_timeout(), bearer.rx.status_due()), (None, None));
    }
}

#[test]
fn a_lost_sdu_is_reported_and_sent_again_in_smaller_pieces() {
    let mut bearer = Bearer::new(&nr_am(), &[100; 3]);
    let lost = bearer.pull(ms(0), 102);
    let made = bearer.pull(ms(1), 1000);
    assert_eq!((lost.pdus.len(), made.pdus.len()), (1, 2));
    assert_eq!(receive(&mut bearer.rx, ms(2), &made).0, [1, 2], "order is PDCP's matter");
    assert_eq!(bearer.rx.status_due(), None, "the poll waits for t-Reassembly (section 5.3.4)");
    assert_eq!(bearer.rx.next_timeout(), Some(ms(37)));
    time_out(&mut bearer.rx, ms(37));
    let (status, acked) = bearer.report(ms(37));
    assert_eq!(status, StatusPdu { ack_sn: 3, nacks: vec![Nack::whole(0)] });
    assert_eq!(acked, [1, 2]);
    assert_eq!(bearer.tx.pending().retransmission, 102);
    let first = bearer.pull(ms(38), 52);
    let PduHeader::NrAm { si, sn, .. } = first.pdus[0].header else { panic!("{first:?}") };
    assert_eq!((si, sn), (SegmentInfo::First, 0));
    assert_eq!(bearer.tx.pending().retransmission, 54);
    let second = bearer.pull(ms(39), 1000);
    assert_eq!((polls(&first), polls(&second)), (vec![false], vec![true]));
    assert_eq!(receive(&mut bearer.rx, ms(40), &second).0, NONE);
    assert_eq!(receive(&mut bearer.rx, ms(40), &first).0, [0]);
    assert_eq!(bearer.report(ms(41)).1, [0]);
}

#[test]
fn a_report_names_the_bytes_that_miss() {
    let mut bearer = Bearer::new(&nr_am(), &[100; 6]);
    // SDU 0 in four segments of 25 bytes, the second of them lost; SDUs 1 to 3 and the start of SDU
    // 4 are lost.
    let made: Vec<TbContent> =
        [27, 29, 29, 29, 306, 52, 300].iter().map(|&grant| bearer.pull(ms(0), grant)).collect();
    for i in [0, 2, 3, 6] {
        receive(&mut bearer.rx, ms(1), &made[i]);
    }
    time_out(&mut bearer.rx, ms(36));
    assert_eq!(
        bearer.rx.next_timeout(),
        Some(ms(71)),
        "once more for what is after the first trigger"
    );
    time_out(&mut bearer.rx, ms(71));
    let (status, acked) = bearer.report(ms(71));
    let nacks = vec![
        Nack { sn: 0, range: 1, so_start: 25, so_end: 49 },
        Nack { sn: 1, range: 4, so_start: 0, so_end: 49 },
    ];
    assert_eq!(status, StatusPdu { ack_sn: 6, nacks });
    assert_eq!(acked, [5]);
    let mut sizes = Vec::new();
    bearer.tx.next_sizes(9, &mut sizes);
    assert_eq!(sizes, [29, 102, 102, 102, 52]);
    let again = bearer.pull(ms(72), 1000);
    assert_eq!(receive(&mut bearer.rx, ms(73), &again).0, [0, 1, 2, 3, 4]);
}

#[test]
fn lte_repeats_parts_of_a_pdu_and_delivers_in_order() {
    let mut bearer = Bearer::new(&lte_am(), &[100; 4]);
    // One PDU: 2 bytes, one length indicator in 2 bytes, SDU 0 and half of SDU 1.
    let lost = bearer.pull(ms(0), 154);
    let made = bearer.pull(ms(1), 1000);
    assert_eq!(receive(&mut bearer.rx, ms(2), &made).0, NONE, "what is before them misses");
    time_out(&mut bearer.rx, ms(37));
    let (status, acked) = bearer.report(ms(37));
    assert_eq!((status.nacks, acked), (vec![Nack::whole(0)], vec![]));
    assert_eq!(u64::from(bearer.tx.pending().retransmission), lost.bytes());
    // Segments with 4 bytes of header and 46 of data.
    let first = bearer.pull(ms(38), 50);
    assert_eq!(bearer.tx.pending().retransmission, 4 + 2 + 104, "the ends of two SDUs");
    let second = bearer.pull(ms(38), 90);
    let third = bearer.pull(ms(38), 90);
    let PduHeader::LteAm { sn: 0, segment: Some(segment), .. } = second.pdus[0].header else {
        panic!("{second:?}")
    };
    assert_eq!((segment.so, segment.last, second.bytes()), (46, false, 90));
    assert_eq!(receive(&mut bearer.rx, ms(39), &first).0, NONE);
    assert_eq!(receive(&mut bearer.rx, ms(39), &third).0, NONE);
    assert_eq!(receive(&mut bearer.rx, ms(39), &second).0, [0, 1, 2, 3]);
    assert_eq!(bearer.report(ms(40)).1, [0, 1, 2, 3]);
}

#[test]
fn sdus_in_the_part_of_a_pdu_that_came_are_delivered_at_once_in_lte() {
    let mut bearer = Bearer::new(&lte_am(), &[40; 3]);
    bearer.pull(ms(0), 1000);
    bearer.tx.on_timeout(ms(45), false);
    let first = bearer.pull(ms(45), 60);
    let second = bearer.pull(ms(45), 1000);
    assert_eq!(receive(&mut bearer.rx, ms(46), &first).0, [0]);
    assert_eq!(receive(&mut bearer.rx, ms(46), &second).0, [1, 2]);
}

/// The SDUs given up by the last report or timeout.
fn given_up(tx: &RlcTx) -> Vec<u64> {
    let mut list = Vec::new();
    tx.given_up(|sdu| list.push(sdu.0));
    list
}

#[test]
fn an_unanswered_poll_is_repeated_until_the_threshold_says_so() {
    for config in [nr_am(), lte_am()] {
        let config = AmConfig { max_retx_threshold: 2, ..config };
        let mut bearer = Bearer::new(&config, &[100, 100]);
        bearer.pull(ms(0), 1000);
        bearer.tx.on_timeout(ms(44), false);
        assert!(bearer.pull(ms(44), 1000).is_empty(), "an early wake does nothing");
        let mut reached = Vec::new();
        for k in 1..=4 {
            bearer.tx.on_timeout(ms(45 * k), false);
            reached.push(given_up(&bearer.tx));
            let again = bearer.pull(ms(45 * k), 1000);
            assert_eq!(polls(&again), [true], "the last one carries the poll");
        }
        // NR repeats the last SDU; LTE repeats the PDU, which has both.
        let last = if config.generation == Generation::Nr { vec![1] } else { vec![0, 1] };
        assert_eq!(
            reached,
            [vec![], vec![], last, vec![]],
            "RETX_COUNT starts at 0 (section 5.3.2)"
        );
    }
}

#[test]
fn one_report_gives_up_every_sdu_that_it_asks_for_once_too_often() {
    for config in [nr_am(), lte_am()] {
        let config = AmConfig { max_retx_threshold: 1, ..config };
        let mut bearer = Bearer::new(&config, &[100; 4]);
        // In LTE PDU 0 has SDU 0 and half of SDU 1, PDU 1 the rest of SDU 1 and SDU 2, PDU 2 SDU 3.
        for grant in [155, 153, 1000] {
            bearer.pull(ms(0), grant);
        }
        let last = if config.generation == Generation::Nr { 4 } else { 3 };
        let status = StatusPdu { ack_sn: last, nacks: (0..last - 1).map(Nack::whole).collect() };
        for expected in [vec![], vec![0, 1, 2], vec![]] {
            bearer.tx.on_status(ms(1), &status, |_| {});
            let mut found = given_up(&bearer.tx);
            found.dedup();
            assert_eq!(found, expected, "{:?}", config.generation);
            bearer.pull(ms(1), 1000);
        }
    }
}

#[test]
fn the_poll_rides_on_what_waits_anyway() {
    let mut bearer = Bearer::new(&nr_am(), &[100]);
    bearer.pull(ms(0), 1000);
    bearer.queue.push(100);
    bearer.queue.push(100);
    bearer.tx.on_timeout(ms(45), true);
    assert!(given_up(&bearer.tx).is_empty());
    assert_eq!(bearer.tx.pending().total(), 0, "nothing is repeated");
    assert_eq!(polls(&bearer.pull(ms(46), 102)), [true]);
}

#[test]
fn a_full_window_stops_new_sdus_and_polls() {
    for (config, window) in [(nr_am(), 2048), (lte_am(), 512)] {
        let mut bearer = Bearer::new(&config, &vec![3; 3000]);
        let mut made = Vec::new();
        for _ in 0..3000 {
            made.push(bearer.pull(ms(0), 5));
        }
        let sent: usize = made.iter().map(|content| content.pdus.len()).sum();
        assert_eq!(sent, window);
        assert!(bearer.tx.is_stalled());
        assert_eq!(polls(&made[window - 1]), [true]);
        for content in &made {
            receive(&mut bearer.rx, ms(1), content);
        }
        assert_eq!(bearer.report(ms(1)).1.len(), window);
        assert!(!bearer.tx.is_stalled() && !bearer.pull(ms(2), 5).is_empty());
    }
}

#[test]
fn reports_keep_their_distance_and_fit_their_grant() {
    let config = AmConfig { t_status_prohibit: Duration::from_millis(20), poll_pdu: 1, ..nr_am() };
    let mut bearer = Bearer::new(&config, &[100; 3]);
    for (at, due) in [(0, 0), (5, 20)] {
        let made = bearer.pull(ms(at), 102);
        receive(&mut bearer.rx, ms(at), &made);
        assert_eq!(bearer.rx.status_due(), Some(ms(due)));
        assert_eq!(bearer.rx.status(ms(at), 2), None, "the least report has 3 bytes");
        assert_eq!(bearer.rx.status(ms(at), 3).is_some(), due <= at);
    }
    assert!(bearer.rx.status(ms(20), 3).is_some() && bearer.rx.status_due().is_none());
}

#[test]
fn its_own_report_goes_first_and_is_cut_to_the_grant() {
    for (config, grant) in [(nr_am(), 5), (lte_am(), 4)] {
        let mut bearer = Bearer::new(&config, &[100]);
        let status = StatusPdu { ack_sn: 9, nacks: vec![Nack::whole(3), Nack::whole(5)] };
        bearer.tx.queue_status(&status);
        assert!(bearer.tx.pending().control > 0);
        let made = bearer.pull(ms(0), grant);
        assert_eq!(made.statuses(), [StatusPdu { ack_sn: 5, nacks: vec![Nack::whole(3)] }]);
        assert_eq!((made.pdus.len(), bearer.tx.pending().control), (1, 0));
    }
}

#[test]
fn a_copy_asks_for_a_report_and_is_not_delivered_again() {
    for config in [nr_am(), lte_am()] {
        let mut bearer = Bearer::new(&config, &[100]);
        let made = bearer.pull(ms(0), 1000);
        assert_eq!(receive(&mut bearer.rx, ms(0), &made).0, [0]);
        bearer.report(ms(0));
        assert_eq!(receive(&mut bearer.rx, ms(1), &made).0, NONE);
        assert_eq!((bearer.rx.discarded(), bearer.rx.status_due()), (1, Some(ms(0))));
    }
}

#[test]
fn a_nack_of_what_is_not_sent_yet_repeats_only_what_was() {
    let mut bearer = Bearer::new(&nr_am(), &[100]);
    bearer.pull(ms(0), 42);
    let status = StatusPdu {
        ack_sn: 1,
        nacks: vec![Nack { sn: 0, range: 1, so_start: 30, so_end: SO_END }],
    };
    bearer.tx.on_status(ms(1), &status, |_| panic!("nothing is acknowledged"));
    assert_eq!(bearer.tx.pending(), Pending { control: 0, retransmission: 14, rest_of_head: 64 });
    let lies = StatusPdu { ack_sn: 1, nacks: vec![] };
    bearer.tx.on_status(ms(1), &lies, |_| panic!("what is not all sent cannot have come"));
}

#[test]
fn a_part_that_is_sent_again_is_counted_and_framed_as_a_part() {
    // Of a part, in both.
    let header = 4;
    for config in [nr_am(), lte_am()] {
        let mut bearer = Bearer::new(&config, &[100]);
        bearer.pull(ms(0), 1000);
        let status = StatusPdu {
            ack_sn: 1,
            nacks: vec![Nack { sn: 0, range: 1, so_start: 40, so_end: 59 }],
        };
        bearer.tx.on_status(ms(1), &status, |_| {});
        assert_eq!(bearer.tx.pending().retransmission, header + 20);
        let made = bearer.pull(ms(2), header + 5);
        assert_eq!(bearer.tx.pending().retransmission, header + 15);
        let rest = bearer.pull(ms(2), 1000);
        assert_eq!(bearer.tx.pending().total(), 0);
        for (content, (offset, len)) in [(made, (40, 5)), (rest, (45, 15))] {
            let part = content.parts[0];
            assert_eq!((part.offset, part.len, part.last), (offset, len, false));
            match content.pdus[0].header {
                PduHeader::NrAm { si, so, .. } => {
                    assert_eq!((si, u32::from(so)), (SegmentInfo::Middle, offset));
                }
                PduHeader::LteAm { segment, .. } => {
                    let segment = segment.expect("a segment");
                    assert_eq!((u32::from(segment.so), segment.last), (offset, false));
                }
                header => panic!("{header:?}"),
            }
        }
    }
}

#[test]
fn a_part_of_lte_whose_ends_add_up_to_the_size_is_a_segment() {
    let mut bearer = Bearer::new(&lte_am(), &[100]);
    bearer.pull(ms(0), 1000);
    let status =
        StatusPdu { ack_sn: 1, nacks: vec![Nack { sn: 0, range: 1, so_start: 40, so_end: 59 }] };
    bearer.tx.on_status(ms(1), &status, |_| {});
    let made = bearer.pull(ms(2), 1000);
    let PduHeader::LteAm { segment, .. } = made.pdus[0].header else { panic!("{made:?}") };
    assert_eq!(segment, Some(PduSegment { so: 40, last: false }));
}

#[test]
fn requested_bytes_join_the_waiting_ones() {
    for config in [nr_am(), lte_am()] {
        let mut bearer = Bearer::new(&config, &[100]);
        bearer.pull(ms(0), 1000);
        let nack = |so_start, so_end| StatusPdu {
            ack_sn: 1,
            nacks: vec![Nack { sn: 0, range: 1, so_start, so_end }],
        };
        for status in [nack(30, 49), nack(0, SO_END)] {
            bearer.tx.on_status(ms(1), &status, |_| {});
            bearer.tx.assert_sound();
        }
        let made = bearer.pull(ms(2), 1000);
        let parts: Vec<_> = made.parts.iter().map(|part| (part.offset, part.len)).collect();
        assert_eq!(parts, [(0, 30), (30, 20), (50, 50)]);
    }
}

#[test]
fn an_sdu_is_given_up_once_however_often_it_is_asked_for() {
    let config = AmConfig { max_retx_threshold: 2, ..nr_am() };
    let mut bearer = Bearer::new(&config, &[100]);
    bearer.pull(ms(0), 1000);
    let status = StatusPdu { ack_sn: 1, nacks: vec![Nack::whole(0)] };
    let mut times = 0;
    for _ in 0..600 {
        bearer.tx.on_status(ms(1), &status, |_| {});
        times += given_up(&bearer.tx).len();
        bearer.pull(ms(1), 1000);
    }
    assert_eq!(times, 1);
}

#[test]
fn nothing_is_repeated_for_a_poll_while_an_sdu_is_partly_sent() {
    let mut bearer = Bearer::new(&AmConfig { poll_pdu: 1, ..nr_am() }, &[100]);
    assert_eq!(polls(&bearer.pull(ms(0), 42)), [true]);
    bearer.tx.on_timeout(ms(45), false);
    assert_eq!(bearer.tx.pending().retransmission, 0, "the rest carries the poll bit");
    assert_eq!(polls(&bearer.pull(ms(46), 1000)), [true]);
}

#[test]
fn the_timer_of_a_whole_window_runs_on() {
    for (config, window) in [(nr_am(), 2048), (lte_am(), 512)] {
        let mut bearer = Bearer::new(&config, &vec![3; window]);
        let made: Vec<_> = (0..window).map(|_| bearer.pull(ms(0), 5)).collect();
        receive(&mut bearer.rx, ms(0), &made[window - 1]);
        receive(&mut bearer.rx, ms(10), &made[5]);
        assert_eq!(bearer.rx.next_timeout(), Some(ms(35)));
    }
}

#[test]
fn more_sdus_than_a_range_counts_are_two_nacks() {
    let mut bearer = Bearer::new(&nr_am(), &[3; 301]);
    let made: Vec<_> = (0..301).map(|_| bearer.pull(ms(0), 5)).collect();
    receive(&mut bearer.rx, ms(0), &made[300]);
    time_out(&mut bearer.rx, ms(35));
    let (status, _) = bearer.report(ms(35));
    let range = |sn, range| Nack { range, ..Nack::whole(sn) };
    assert_eq!(status.nacks, [range(0, 255), range(255, 45)]);
}

#[test]
fn a_byte_that_so_end_of_lte_cannot_name_is_the_end() {
    let mut rx = RlcRx::new(&RlcModeConfig::Am(lte_am())).expect("valid");
    let part = Part { sdu: SduHandle(0), offset: 7, len: 4, last: false };
    let fi = FramingInfo { starts_inside: true, ends_inside: true };
    let segment = Some(PduSegment { so: 0x8000, last: false });
    let mut content = TbContent::default();
    content.push_single(PduHeader::LteAm { poll: true, fi, sn: 0, segment }, 4, part);
    receive(&mut rx, ms(0), &content);
    time_out(&mut rx, ms(35));
    let status = rx.status(ms(35), u32::MAX).expect("a report is due");
    assert_eq!(status.nacks[0], Nack::whole(0), "0x7fff would be read as the end");
}
