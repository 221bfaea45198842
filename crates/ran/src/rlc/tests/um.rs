//! TM and UM: TS 38.322 sections 5.2.1 and 5.2.2, TS 36.322 sections 5.1.1 and 5.1.2.

use super::*;
use crate::pdu::SegmentInfo::{self, First, Last, Middle, Whole};

/// One block for each grant.
fn blocks(config: &RlcModeConfig, sizes: &[u32], grants: &[u32]) -> Vec<TbContent> {
    let (mut tx, mut queue) = (RlcTx::new(config).expect("valid"), Queue::of(sizes));
    grants.iter().map(|&grant| pull(&mut tx, ms(0), grant, &mut queue)).collect()
}

/// SI, SN, SO and length of each PDU.
fn segments(content: &TbContent) -> Vec<(SegmentInfo, u32, u16, u32)> {
    let of = |pdu: &Pdu| match pdu.header {
        PduHeader::NrUm { si, sn, so } => (si, sn, so, content.parts_of(pdu)[0].len),
        header => panic!("{header:?}"),
    };
    content.pdus.iter().map(of).collect()
}

#[test]
fn tm_sends_whole_sdus_without_headers() {
    let config = RlcModeConfig::Tm(mode::TmConfig {});
    let made = blocks(&config, &[100, 50, 80], &[99, 170, 100]);
    assert!(made[0].is_empty(), "an SDU waits for a grant that holds it");
    assert_eq!(made[1].bytes(), 150);
    let mut rx = RlcRx::new(&config).expect("valid");
    assert_eq!(receive(&mut rx, ms(0), &made[1]).0, [0, 1]);
    assert_eq!(receive(&mut rx, ms(0), &made[2]).0, [2]);
}

#[test]
fn headers_of_the_layer_below_count_in_tm() {
    let config = RlcModeConfig::Tm(mode::TmConfig {});
    let mut tx = RlcTx::above(2, &config).expect("valid");
    let mut queue = Queue::of(&[100, 50, 80]);
    assert!(pull(&mut tx, ms(0), 101, &mut queue).is_empty());
    let made = pull(&mut tx, ms(0), 153, &mut queue);
    assert_eq!((made.pdus.len(), made.bytes()), (1, 102), "51 bytes are left for 52");
    assert_eq!(pull(&mut tx, ms(0), 134, &mut queue).bytes(), 134);
}

#[test]
fn only_segments_have_an_sn_in_um_of_nr() {
    let made = blocks(&um(Generation::Nr, 12), &[100, 100, 100], &[150, 20, 200]);
    assert_eq!(segments(&made[0]), [(Whole, 0, 0, 100), (First, 0, 0, 47)]);
    assert_eq!(segments(&made[1]), [(Middle, 0, 47, 16)]);
    assert_eq!(segments(&made[2]), [(Last, 0, 63, 37), (Whole, 0, 0, 100)]);
    let made = blocks(&um(Generation::Nr, 6), &[100, 100], &[50, 102, 60]);
    assert_eq!(segments(&made[1])[1], (First, 1, 0, 47), "the SN counts segmented SDUs");
}

#[test]
fn a_grant_that_holds_no_byte_of_data_gives_nothing() {
    for (config, least) in [
        (um(Generation::Nr, 6), 2),
        (um(Generation::Nr, 12), 3),
        (um(Generation::Lte, 5), 2),
        (um(Generation::Lte, 10), 3),
    ] {
        for grant in 0..least {
            assert!(blocks(&config, &[100], &[grant])[0].is_empty(), "{config:?} {grant}");
        }
        assert_eq!(blocks(&config, &[100], &[least])[0].bytes(), u64::from(least));
    }
}

#[test]
fn the_rest_of_a_segmented_head_is_reported_with_its_header() {
    for (config, header) in [
        (um(Generation::Nr, 12), 4),
        (um(Generation::Lte, 10), 2),
        (RlcModeConfig::Am(nr_am()), 4),
        (RlcModeConfig::Am(lte_am()), 2),
    ] {
        let (mut tx, mut queue) = (RlcTx::new(&config).expect("valid"), Queue::of(&[100]));
        assert_eq!((tx.pending(), tx.head_left()), (Pending::default(), None));
        pull(&mut tx, ms(0), 42, &mut queue);
        assert_eq!(tx.head_left(), Some(60));
        assert_eq!(tx.pending().total(), 60 + header);
        let mut sizes = Vec::new();
        tx.next_sizes(8, &mut sizes);
        assert_eq!(sizes, [60 + header]);
        assert_eq!(pull(&mut tx, ms(0), 60 + header, &mut queue).bytes(), u64::from(60 + header));
        assert_eq!(tx.pending().total(), 0);
    }
}

#[test]
fn whole_sdus_are_forgotten_in_tm_and_in_um_of_nr_while_none_is_begun() {
    let nr = um(Generation::Nr, 12);
    for (config, forgets) in [
        (RlcModeConfig::Tm(mode::TmConfig {}), true),
        (nr.clone(), true),
        (um(Generation::Lte, 10), false),
        (RlcModeConfig::Am(nr_am()), false),
        (RlcModeConfig::Am(lte_am()), false),
    ] {
        let tx = RlcTx::new(&config).expect("valid");
        assert_eq!(tx.forgets_whole(), forgets, "{config:?}");
        assert_eq!(tx.is_acknowledged(), matches!(config, RlcModeConfig::Am(_)));
        let mut sizes = vec![7];
        tx.next_sizes(8, &mut sizes);
        assert_eq!(sizes, [7], "{config:?}: nothing waits");
    }
    let (mut tx, mut queue) = (RlcTx::new(&nr).expect("valid"), Queue::of(&[100]));
    for (grant, forgets) in [(42, false), (64, true)] {
        pull(&mut tx, ms(0), grant, &mut queue);
        assert_eq!(tx.forgets_whole(), forgets);
    }
}

#[test]
fn lte_concatenates_and_nr_does_not() {
    let sizes = [40, 40, 40, 40];
    let nr = &blocks(&um(Generation::Nr, 12), &sizes, &[164])[0];
    assert_eq!((nr.pdus.len(), nr.bytes()), (4, 164), "a byte for each");
    let tx = RlcTx::new(&um(Generation::Nr, 12)).expect("valid");
    assert_eq!(tx.headers().of_whole(4), 4);
    let lte = &blocks(&um(Generation::Lte, 10), &sizes, &[167])[0];
    assert_eq!(
        (lte.pdus.len(), lte.bytes()),
        (1, 167),
        "2 bytes, and 12 bits for each but the last"
    );
    let tx = RlcTx::new(&um(Generation::Lte, 10)).expect("valid");
    assert_eq!(tx.headers().of_whole(4), 7);
    assert!(lte.parts.iter().all(|part| part.last));
}

#[test]
fn a_piece_longer_than_a_length_indicator_ends_its_pdu() {
    let made = &blocks(&um(Generation::Lte, 10), &[2047, 2048, 10], &[9000])[0];
    let parts: Vec<usize> = made.pdus.iter().map(|pdu| made.parts_of(pdu).len()).collect();
    assert_eq!(parts, [2, 1]);
}

#[test]
fn segments_that_come_in_any_order_are_put_together() {
    let config = um(Generation::Nr, 6);
    let made = blocks(&config, &[100], &[31, 33, 33, 33]);
    let mut rx = RlcRx::new(&config).expect("valid");
    for i in [2, 0, 3] {
        assert_eq!(receive(&mut rx, ms(0), &made[i]).0, NONE);
    }
    assert_eq!(receive(&mut rx, ms(0), &made[1]).0, [0]);
    assert_eq!(receive(&mut rx, ms(0), &made[1]).0, NONE, "a late copy is stale");
    assert_eq!((rx.discarded(), rx.next_timeout()), (1, None));
}

#[test]
fn t_reassembly_runs_from_a_gap_and_gives_up_what_is_before_its_trigger() {
    let config = um(Generation::Nr, 6);
    // Each SDU in two segments; a block holds the end of one SDU and the start of the next.
    let made = blocks(&config, &[100; 4], &[50, 104, 104, 104, 60]);
    let mut rx = RlcRx::new(&config).expect("valid");
    assert_eq!(receive(&mut rx, ms(0), &made[0]), (vec![], vec![]));
    assert_eq!(rx.next_timeout(), None, "nothing misses between what came");
    assert_eq!(receive(&mut rx, ms(10), &made[2]), (vec![], vec![]));
    assert_eq!(rx.next_timeout(), Some(ms(45)));
    assert_eq!(time_out(&mut rx, ms(44)), (vec![], vec![]), "an early wake does nothing");
    assert_eq!(
        time_out(&mut rx, ms(45)),
        (vec![], vec![0, 1]),
        "SDU 2 came after the trigger's SN... or is it"
    );
}

#[test]
fn a_window_that_moves_on_gives_up_what_falls_out_of_it() {
    let config = um(Generation::Nr, 6);
    let grants: Vec<u32> = core::iter::once(50).chain(core::iter::repeat_n(104, 40)).collect();
    let made = blocks(&config, &[100; 60], &grants);
    let mut rx = RlcRx::new(&config).expect("valid");
    receive(&mut rx, ms(0), &made[0]);
    assert_eq!(receive(&mut rx, ms(0), &made[31]).1, NONE, "SNs 0 to 31 are a window");
    assert_eq!(receive(&mut rx, ms(0), &made[32]).1, [0]);
}

#[test]
fn lte_delivers_in_order_and_gives_up_when_t_reordering_ends() {
    let config = um(Generation::Lte, 10);
    let made = blocks(&config, &[100; 4], &[52, 102, 102, 102, 60]);
    let mut rx = RlcRx::new(&config).expect("valid");
    assert_eq!(receive(&mut rx, ms(0), &made[0]).0, NONE);
    assert_eq!(receive(&mut rx, ms(1), &made[2]).0, NONE);
    assert_eq!(
        receive(&mut rx, ms(2), &made[3]).0,
        NONE,
        "SDU 2 is complete and waits for its turn"
    );
    assert_eq!(rx.next_timeout(), Some(ms(36)));
    assert_eq!(time_out(&mut rx, ms(36)), (vec![2], vec![0, 1]));
    assert_eq!(rx.next_timeout(), None);
    assert_eq!(receive(&mut rx, ms(37), &made[1]), (vec![], vec![]), "too late");
    assert_eq!(receive(&mut rx, ms(38), &made[4]).0, [3]);
}

/// One PDU of LTE for each SDU, with an SN of 5 bits: a window of 16.
fn lte_pdus(count: usize) -> (RlcRx, Vec<TbContent>) {
    let config = um(Generation::Lte, 5);
    let made = blocks(&config, &vec![10; count], &vec![11; count]);
    (RlcRx::new(&config).expect("valid"), made)
}

#[test]
fn a_pdu_that_fills_the_first_gap_of_lte_stops_the_timer() {
    let (mut rx, made) = lte_pdus(4);
    for i in [1, 2] {
        assert_eq!(receive(&mut rx, ms(i), &made[i as usize]), (vec![], vec![]));
    }
    assert_eq!(rx.next_timeout(), Some(ms(36)));
    assert_eq!(time_out(&mut rx, ms(35)), (vec![], vec![]), "an early wake does nothing");
    assert_eq!(receive(&mut rx, ms(35), &made[0]).0, [0, 1, 2]);
    assert_eq!((rx.next_timeout(), rx.discarded()), (None, 0));
    let (mut rx, made) = lte_pdus(4);
    assert_eq!(receive(&mut rx, ms(0), &made[1]).0, NONE);
    assert_eq!(receive(&mut rx, ms(1), &made[0]).0, [0, 1]);
    assert_eq!(rx.next_timeout(), None, "VR(UX) is VR(UR)");
}

#[test]
fn t_reordering_runs_on_while_its_gap_is_there() {
    let (mut rx, made) = lte_pdus(4);
    receive(&mut rx, ms(0), &made[3]);
    receive(&mut rx, ms(10), &made[1]);
    assert_eq!(rx.next_timeout(), Some(ms(35)), "VR(UX) is VR(UH)");
    assert_eq!(receive(&mut rx, ms(11), &made[0]).0, [0, 1]);
    assert_eq!(rx.next_timeout(), Some(ms(35)));
}

#[test]
fn an_sn_a_window_behind_the_highest_is_in_the_window() {
    let (mut rx, made) = lte_pdus(16);
    assert_eq!(receive(&mut rx, ms(0), &made[15]).0, NONE);
    assert_eq!(receive(&mut rx, ms(0), &made[0]).0, [0]);
    let config = um(Generation::Nr, 6);
    let grants: Vec<u32> = core::iter::once(50).chain(core::iter::repeat_n(104, 31)).collect();
    let made = blocks(&config, &[100; 32], &grants);
    let mut rx = RlcRx::new(&config).expect("valid");
    // The second PDU of a block is the first segment of its SDU.
    assert_eq!(receive(&mut rx, ms(0), &made[31]), (vec![], vec![]));
    assert_eq!(receive(&mut rx, ms(0), &made[0]), (vec![], vec![]));
    assert_eq!(receive(&mut rx, ms(0), &made[1]).0, [0]);
    assert_eq!(rx.discarded(), 0);
}

#[test]
fn an_sn_beyond_the_window_of_lte_moves_it_by_as_much() {
    let (mut rx, made) = lte_pdus(18);
    assert_eq!(receive(&mut rx, ms(0), &made[1]).0, NONE);
    assert_eq!(receive(&mut rx, ms(0), &made[15]).0, NONE);
    assert_eq!(receive(&mut rx, ms(0), &made[16]).0, [1], "SN 0 is given up");
}

#[test]
fn a_segment_of_another_sdu_does_not_continue_the_begun_sdu() {
    let config = um(Generation::Nr, 6);
    let made = blocks(&config, &[100], &[50, 60]);
    let mut rx = RlcRx::new(&config).expect("valid");
    assert_eq!(receive(&mut rx, ms(0), &made[0]), (vec![], vec![]));
    let mut other = made[1].clone();
    other.parts[0].sdu = SduHandle(64);
    assert_eq!(receive(&mut rx, ms(0), &other), (vec![], vec![0]));
}

#[test]
fn a_copy_of_a_segment_that_is_held_does_not_start_its_sdu_again() {
    let config = um(Generation::Nr, 6);
    let made = blocks(&config, &[100], &[31, 33, 60]);
    let mut rx = RlcRx::new(&config).expect("valid");
    for i in [1, 0] {
        assert_eq!(receive(&mut rx, ms(0), &made[i]), (vec![], vec![]));
    }
    assert_eq!((rx.next_timeout(), rx.discarded()), (None, 0), "nothing misses between them");
    receive(&mut rx, ms(0), &made[0]);
    assert_eq!(rx.discarded(), 1);
    assert_eq!(receive(&mut rx, ms(0), &made[2]).0, [0]);
}

#[test]
fn a_transmitting_entity_is_small() {
    assert!(size_of::<RlcTx>() <= 64, "{}", size_of::<RlcTx>());
}
