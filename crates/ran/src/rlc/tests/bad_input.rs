//! Corrupt, stale and impossible input: each has a defined result, and none panics.

use super::*;
use crate::pdu::{FramingInfo, Nack, PduSegment, SO_END, SegmentInfo};

fn all_modes() -> Vec<RlcModeConfig> {
    vec![
        RlcModeConfig::Tm(mode::TmConfig {}),
        um(Generation::Nr, 6),
        um(Generation::Nr, 12),
        um(Generation::Lte, 5),
        um(Generation::Lte, 10),
        RlcModeConfig::Am(nr_am()),
        RlcModeConfig::Am(AmConfig { sn_bits: 18, ..nr_am() }),
        RlcModeConfig::Am(lte_am()),
    ]
}

#[test]
fn settings_out_of_bounds_are_refused_with_their_name() {
    let field = |config: RlcModeConfig| RlcTx::new(&config).expect_err("out of bounds").field;
    assert_eq!(field(um(Generation::Nr, 10)), "sn_bits");
    assert_eq!(field(um(Generation::Lte, 12)), "sn_bits");
    let am = |config: AmConfig| field(RlcModeConfig::Am(config));
    assert_eq!(am(AmConfig { sn_bits: 10, ..nr_am() }), "sn_bits");
    assert_eq!(am(AmConfig { li_bits: 12, ..lte_am() }), "li_bits");
    assert_eq!(am(AmConfig { t_reassembly: Duration::from_secs(2), ..nr_am() }), "t_reassembly");
    assert_eq!(
        am(AmConfig { t_status_prohibit: Duration::from_secs(3), ..nr_am() }),
        "t_status_prohibit"
    );
    assert_eq!(am(AmConfig { t_poll_retransmit: Duration::ZERO, ..nr_am() }), "t_poll_retransmit");
    assert_eq!(am(AmConfig { poll_pdu: 65_537, ..nr_am() }), "poll_pdu");
    assert_eq!(am(AmConfig { max_retx_threshold: 0, ..nr_am() }), "max_retx_threshold");
    assert_eq!(am(AmConfig { max_retx_threshold: 33, ..nr_am() }), "max_retx_threshold");
    let config =
        RlcModeConfig::Um(UmConfig { t_reassembly: Duration::from_secs(9), ..UmConfig::default() });
    assert_eq!(RlcRx::new(&config).expect_err("out of bounds").field, "t_reassembly");
}

#[test]
fn pdus_of_another_mode_are_discarded() {
    let part = Part { sdu: SduHandle(1), offset: 0, len: 9, last: true };
    let headers = [
        PduHeader::Tm,
        PduHeader::NrUm { si: SegmentInfo::Whole, sn: 0, so: 0 },
        PduHeader::LteUm { fi: FramingInfo::default(), sn: 0 },
        PduHeader::NrAm { poll: true, si: SegmentInfo::Whole, sn: 0, so: 0 },
        PduHeader::LteAm { poll: true, fi: FramingInfo::default(), sn: 0, segment: None },
    ];
    for mode in all_modes() {
        let mut rx = RlcRx::new(&mode).expect("valid");
        let mut content = TbContent::default();
        headers.iter().for_each(|&header| content.push_single(header, 2, part));
        assert_eq!(receive(&mut rx, ms(0), &content).0, [1], "{mode:?}");
        assert_eq!(rx.discarded(), 4, "{mode:?}");
    }
}

#[test]
fn a_report_is_no_bad_input_of_the_receiving_side() {
    for mode in all_modes() {
        let mut rx = RlcRx::new(&mode).expect("valid");
        let mut content = TbContent::default();
        content.push_status(3).copy_from(&StatusPdu::default());
        assert_eq!(receive(&mut rx, ms(0), &content), (vec![], vec![]));
        assert_eq!(rx.discarded(), 0, "{mode:?}");
    }
}

#[test]
fn segments_in_transparent_mode_are_discarded() {
    let mut rx = RlcRx::new(&RlcModeConfig::Tm(mode::TmConfig {})).expect("valid");
    for (offset, last) in [(0, false), (4, true), (4, false)] {
        let mut content = TbContent::default();
        let part = Part { sdu: SduHandle(1), offset, len: 4, last };
        content.push_single(PduHeader::Tm, 0, part);
        assert_eq!(receive(&mut rx, ms(0), &content), (vec![], vec![]));
    }
    assert_eq!(rx.discarded(), 3);
}

#[test]
fn headers_that_contradict_their_parts_are_discarded() {
    let part = |offset, len, last| Part { sdu: SduHandle(1), offset, len, last };
    let um = |si, so| PduHeader::NrUm { si, sn: 0, so };
    let wrong: Vec<(PduHeader, Vec<Part>)> = vec![
        (um(SegmentInfo::Whole, 0), vec![]),
        (um(SegmentInfo::Whole, 0), vec![part(0, 4, true), part(0, 4, true)]),
        (um(SegmentInfo::Whole, 0), vec![part(0, 4, false)]),
        (um(SegmentInfo::Whole, 0), vec![part(0, 0, true)]),
        (um(SegmentInfo::First, 0), vec![part(2, 4, false)]),
        (um(SegmentInfo::Middle, 3), vec![part(2, 4, false)]),
        (um(SegmentInfo::Last, 2), vec![part(2, 0, true)]),
        (um(SegmentInfo::Last, 2), vec![part(2, u32::MAX, true)]),
        (PduHeader::NrUm { si: SegmentInfo::First, sn: 4096, so: 0 }, vec![part(0, 4, false)]),
    ];
    let mut rx = RlcRx::new(&RlcModeConfig::default()).expect("valid");
    let count = wrong.len() as u64;
    for (header, parts) in wrong {
        let mut content = TbContent::default();
        content.parts.extend(parts);
        content.push_pdu(header, 1, 0);
        assert_eq!(receive(&mut rx, ms(0), &content), (vec![], vec![]));
    }
    assert_eq!((rx.discarded(), rx.next_timeout()), (count, None));
    let mut content = TbContent::default();
    content.push_pdu(um(SegmentInfo::Whole, 0), 1, 7);
    receive(&mut rx, ms(0), &content);
    assert_eq!(rx.discarded(), count + 1, "a range that the block does not have");
}

#[test]
fn pieces_of_lte_that_do_not_follow_each_other_are_discarded() {
    let part = |offset, len, last| Part { sdu: SduHandle(1), offset, len, last };
    let fi = |starts_inside, ends_inside| FramingInfo { starts_inside, ends_inside };
    let wrong = [
        (fi(true, false), vec![part(0, 4, true)]),
        (fi(false, false), vec![part(0, 4, false)]),
        (fi(false, false), vec![part(0, 4, false), part(4, 4, true)]),
        (fi(false, false), vec![part(0, 4, true), part(4, 4, true)]),
        (fi(false, false), vec![part(0, u32::MAX, true)]),
        (fi(false, false), vec![]),
    ];
    for mode in [um(Generation::Lte, 10), RlcModeConfig::Am(lte_am())] {
        let mut rx = RlcRx::new(&mode).expect("valid");
        for (fi, parts) in &wrong {
            let mut content = TbContent::default();
            content.parts.extend(parts);
            let header = match mode {
                RlcModeConfig::Um(_) => PduHeader::LteUm { fi: *fi, sn: 0 },
                _ => PduHeader::LteAm { poll: false, fi: *fi, sn: 0, segment: None },
            };
            content.push_pdu(header, 2, 0);
            assert_eq!(receive(&mut rx, ms(0), &content), (vec![], vec![]));
        }
        assert_eq!(rx.discarded(), wrong.len() as u64);
    }
}

#[test]
fn segments_that_contradict_each_other_are_discarded() {
    let mut rx = RlcRx::new(&RlcModeConfig::Am(lte_am())).expect("valid");
    let mut feed = |so, len, last: bool| {
        let part = Part { sdu: SduHandle(1), offset: 5, len, last: true };
        let fi = FramingInfo { starts_inside: true, ends_inside: false };
        let segment = Some(PduSegment { so, last });
        let mut content = TbContent::default();
        content.push_single(PduHeader::LteAm { poll: false, fi, sn: 3, segment }, 4, part);
        receive(&mut rx, ms(0), &content);
        rx.discarded()
    };
    assert_eq!(feed(10, 10, true), 0);
    assert_eq!(feed(15, 10, true), 1, "another end");
    assert_eq!(feed(15, 10, false), 2, "beyond the end");
    assert_eq!(feed(32_767, 4, false), 3);
}

#[test]
fn an_sn_that_comes_round_to_a_stale_sdu_starts_a_new_one() {
    let mut rx = RlcRx::new(&um(Generation::Nr, 6)).expect("valid");
    let segment = |sdu, sn, offset: u32, last| {
        let part = Part { sdu: SduHandle(sdu), offset, len: 10, last };
        let si = SegmentInfo::new(offset == 0, last);
        let mut content = TbContent::default();
        content.push_single(PduHeader::NrUm { si, sn, so: offset as u16 }, 1, part);
        content
    };
    receive(&mut rx, ms(0), &segment(1, 5, 0, false));
    // 64 SDUs later.
    assert_eq!(receive(&mut rx, ms(0), &segment(2, 5, 10, true)), (vec![], vec![1]));
    assert_eq!(receive(&mut rx, ms(0), &segment(2, 5, 0, false)), (vec![2], vec![]));
}

#[test]
fn reports_of_what_was_not_sent_or_out_of_order_are_discarded() {
    for config in [nr_am(), lte_am()] {
        let mut queue = Queue::of(&[100; 4]);
        let mut tx = RlcTx::new(&RlcModeConfig::Am(config)).expect("valid");
        (0..4).for_each(|_| drop(pull(&mut tx, ms(0), 102, &mut queue)));
        let nack = |sn, so_start, so_end| Nack { sn, range: 1, so_start, so_end };
        let wrong = [
            StatusPdu { ack_sn: 5, nacks: vec![] },
            StatusPdu { ack_sn: 1023, nacks: vec![] },
            StatusPdu { ack_sn: u32::MAX, nacks: vec![] },
            StatusPdu { ack_sn: 2, nacks: vec![Nack::whole(2)] },
            StatusPdu { ack_sn: 4, nacks: vec![Nack::whole(2), Nack::whole(1)] },
            StatusPdu { ack_sn: 4, nacks: vec![Nack::whole(2), Nack::whole(2)] },
            StatusPdu { ack_sn: 4, nacks: vec![nack(2, 50, 60), nack(2, 40, 45)] },
            StatusPdu { ack_sn: 4, nacks: vec![Nack { range: 0, ..Nack::whole(1) }] },
            StatusPdu { ack_sn: 4, nacks: vec![Nack { range: 3, ..Nack::whole(2) }] },
            StatusPdu { ack_sn: 4, nacks: vec![Nack { range: 255, ..Nack::whole(2) }] },
        ];
        for status in &wrong {
            tx.on_status(ms(1), status, |_| panic!("{status:?}"));
            assert_eq!(tx.pending().retransmission, 0, "{status:?}");
        }
        let beyond = StatusPdu { ack_sn: 4, nacks: vec![nack(3, 500, 600), nack(3, 700, SO_END)] };
        let mut acked = 0;
        tx.on_status(ms(1), &beyond, |_| acked += 1);
        assert_eq!(
            (acked, tx.pending().retransmission),
            (3, 0),
            "bytes that the last one does not have"
        );
        tx.on_status(ms(1), &StatusPdu { ack_sn: 2, nacks: vec![] }, |_| panic!("stale"));
        tx.assert_sound();
    }
}

#[test]
fn other_modes_know_no_reports_and_no_timeouts() {
    for mode in &all_modes()[..5] {
        let mut tx = RlcTx::new(mode).expect("valid");
        tx.queue_status(&StatusPdu::default());
        tx.on_status(ms(0), &StatusPdu::default(), |_| panic!("nothing"));
        tx.on_timeout(ms(9), true);
        tx.given_up(|_| panic!("nothing"));
        assert_eq!(tx.next_timeout(), None);
        assert_eq!((tx.pending(), tx.is_stalled()), (Pending::default(), false));
        let mut rx = RlcRx::new(mode).expect("valid");
        assert_eq!((rx.status_due(), rx.status(ms(0), 100).is_none()), (None, true));
    }
}
