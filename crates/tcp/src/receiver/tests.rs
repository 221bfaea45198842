use super::*;
use crate::accecn::{CWR, ECE, ace};
use justfull_base::Rng;
use std::collections::BTreeSet;
use std::vec;
use std::vec::Vec;

fn segment(index: u64, at: u64) -> Segment {
    Segment {
        seq: index * 1000,
        len: 1000,
        retransmission: false,
        sent_at: Instant::from_nanos(at),
        ecn: Ecn::NotEct,
        flags: 0,
        mark: Mark::None,
    }
}

fn receiver(config: &ReceiverConfig) -> Receiver {
    Receiver::new(config).expect("the settings are valid")
}

/// A receiver by the RFCs.
fn slow() -> Receiver {
    let (kernel, quick_acks) = (Kernel::Rfc, 0);
    receiver(&ReceiverConfig { kernel, quick_acks, ..ReceiverConfig::default() })
}

fn blocks(ack: &Ack) -> Vec<(u64, u64)> {
    ack.sack_blocks().iter().map(|b| (b.start / 1000, b.end / 1000)).collect()
}

#[test]
fn every_second_segment_is_acknowledged_and_a_single_one_after_40_ms() {
    let mut r = slow();
    let now = Instant::from_nanos(1000);
    assert_eq!(r.on_segment(now, &segment(0, 1), false), None);
    let ack = r.on_segment(now, &segment(1, 2), false).expect("the second is acknowledged");
    assert_eq!((ack.cumulative, ack.ts_echo), (2000, Instant::from_nanos(1)));
    assert_eq!(r.on_segment(now, &segment(2, 3), false), None);
    let due = r.next_timer().expect("one is held back");
    assert_eq!(due, now + Duration::from_millis(40));
    assert_eq!(r.on_timer(now), None);
    let ack = r.on_timer(due).expect("its time has come");
    assert_eq!((ack.cumulative, ack.ts_echo), (3000, Instant::from_nanos(3)));
    assert_eq!(r.next_timer(), None);
}

#[test]
fn the_first_sixteen_segments_are_acknowledged_one_by_one() {
    let mut r = receiver(&ReceiverConfig { kernel: Kernel::Rfc, ..ReceiverConfig::default() });
    let acks = (0..20).filter_map(|i| r.on_segment(Instant::ZERO, &segment(i, i), false)).count();
    assert_eq!(acks, 18);
}

#[test]
fn a_gap_and_its_repair_are_acknowledged_at_once_and_the_latest_block_comes_first() {
    let mut r = slow();
    let mut at = |i| r.on_segment(Instant::ZERO, &segment(i, i), false);
    assert_eq!(at(2).map(|a| blocks(&a)), Some(vec![(2, 3)]));
    assert_eq!(at(4).map(|a| blocks(&a)), Some(vec![(4, 5), (2, 3)]));
    assert_eq!(at(6).map(|a| blocks(&a)), Some(vec![(6, 7), (4, 5), (2, 3)]));
    assert_eq!(at(8).map(|a| blocks(&a)), Some(vec![(8, 9), (6, 7), (4, 5)]));
    assert_eq!(at(5).map(|a| blocks(&a)), Some(vec![(4, 7), (8, 9), (2, 3)]));
    let repaired = at(0).expect("a repair is acknowledged at once");
    assert_eq!((repaired.cumulative, blocks(&repaired)), (1000, vec![(4, 7), (8, 9), (2, 3)]));
    let repaired = at(1).expect("a repair is acknowledged at once");
    assert_eq!((repaired.cumulative, repaired.ts_echo), (3000, Instant::from_nanos(1)));
    assert_eq!(blocks(&repaired), vec![(4, 7), (8, 9)]);
}

#[test]
fn bytes_that_arrive_twice_are_reported_in_the_first_block() {
    let mut r = slow();
    let mut at = |i| r.on_segment(Instant::ZERO, &segment(i, i), false);
    at(0);
    at(1);
    let twice = at(1).expect("a duplicate is acknowledged at once");
    assert_eq!((twice.cumulative, blocks(&twice)), (2000, vec![(1, 2)]));
    at(3);
    let twice = at(3).expect("a duplicate is acknowledged at once");
    assert_eq!(blocks(&twice), vec![(3, 4), (3, 4)]);
}

#[test]
fn a_mark_is_echoed_until_the_sender_says_it_has_reduced() {
    let mut r = slow();
    assert_eq!(r.accept(Feedback::Classic.offer(), Ecn::NotEct), ECE);
    let ack =
        r.on_segment(Instant::ZERO, &segment(0, 0), true).expect("a mark is acknowledged at once");
    assert_eq!((ack.flags, ack.option), (ECE, AccEcnOption::NONE));
    r.on_segment(Instant::ZERO, &segment(1, 0), false);
    let flags = |ack: Option<Ack>| ack.expect("the second").flags;
    assert_eq!(flags(r.on_segment(Instant::ZERO, &segment(2, 0), false)), ECE);
    r.on_segment(Instant::ZERO, &Segment { flags: CWR, ..segment(3, 0) }, false);
    assert_eq!(flags(r.on_segment(Instant::ZERO, &segment(4, 0), false)), 0);
}

#[test]
fn counted_marks_are_acknowledged_at_the_first_and_then_each_second_with_their_bytes() {
    let mut r = receiver(&ReceiverConfig { ce_acks: 2, ..slow().config });
    assert_eq!(r.accept(Feedback::Accurate.offer(), Ecn::Ce), 0b110, "the SYN arrived with CE");
    let mut at = |index, ce| {
        let segment = Segment { ecn: Ecn::Ect1, ..segment(index, 0) };
        r.on_segment(Instant::ZERO, &segment, ce).map(|ack| (ack.flags, ack.option))
    };
    assert_eq!(at(0, false), None);
    let (flags, option) = at(1, true).expect("the first mark");
    assert_eq!((flags, option.new_ce_bytes(0)), (ace(1), Some(1000)));
    assert_eq!(option.bytes()[..option.len()], [174, 8, 0, 0x03, 0xe9, 0, 0x03, 0xe8]);
    assert_eq!(at(2, true), None, "the first of two");
    assert_eq!(at(3, true).map(|(flags, _)| flags), Some(ace(3)));
    assert_eq!(at(4, false), None);
    assert_eq!(at(5, false).map(|(flags, _)| flags), Some(ace(3)), "delayed as usual");
    let (flags, option) = at(7, true).expect("beyond a gap");
    assert_eq!((flags, option.new_ce_bytes(3000)), (ace(4), Some(1000)));
}

#[test]
fn of_several_syns_the_first_selects_the_feedback_and_the_last_is_reported() {
    let mut r = slow();
    let syn = |flags, retransmission| Segment {
        len: 0,
        flags,
        retransmission,
        mark: Mark::Syn,
        ..segment(0, 0)
    };
    let mut answer = |syn: &Segment, ce| {
        let ack = r.on_segment(Instant::ZERO, syn, ce).expect("a SYN is acknowledged");
        assert!(ack.syn && ack.option.is_empty());
        ack.flags
    };
    assert_eq!(answer(&syn(0b111, false), true), 0b110);
    assert_eq!(answer(&syn(0, true), false), 0b010, "RFC 9768 section 3.1.5");
    r.on_segment(Instant::ZERO, &Segment { ecn: Ecn::Ect1, ..segment(0, 0) }, true);
    let mut next = Segment { seq: 1000, ..syn(0, false) };
    assert_eq!(r.on_segment(Instant::ZERO, &next, false).map(|ack| ack.flags), Some(0), "new");
    next.flags = 0b111;
    let again = r.on_segment(Instant::ZERO, &next, false);
    assert_eq!(again.map(|ack| ack.flags), Some(0), "this connection has no ECN");
}

#[test]
fn a_copy_of_a_syn_after_data_resets_neither_counters_nor_feedback() {
    let mut r = slow();
    let syn = Segment { len: 0, flags: 0b111, mark: Mark::Syn, ..segment(0, 0) };
    let data = |i| Segment { ecn: Ecn::Ect1, ..segment(i, 0) };
    r.on_segment(Instant::ZERO, &syn, false);
    r.on_segment(Instant::ZERO, &data(0), true);
    for flags in [0b111, 0] {
        let ack = r.on_segment(Instant::ZERO, &Segment { flags, ..syn }, false).expect("at once");
        assert_eq!((ack.cumulative, ack.syn, ack.flags), (1000, false, ace(1)));
    }
    let ack = r.on_segment(Instant::ZERO, &data(1), true).or_else(|| Some(r.window_update()));
    assert_eq!(ack.map(|ack| ack.flags), Some(ace(2)));
}

#[test]
fn the_right_edge_of_the_window_never_moves_back_and_the_scale_rounds_up() {
    let config = ReceiverConfig { window_scale: 8, quick_acks: 99, ..ReceiverConfig::default() };
    let mut r = receiver(&config);
    r.set_window(Bytes(10_000));
    let ack = r.on_segment(Instant::ZERO, &segment(0, 0), false).expect("at once");
    assert_eq!(ack.window, 10_240);
    r.set_window(Bytes(5_000));
    let ack = r.on_segment(Instant::ZERO, &segment(1, 0), false).expect("at once");
    assert_eq!(ack.cumulative + ack.window, 1000 + 10_240);
    for i in 2..9 {
        r.on_segment(Instant::ZERO, &segment(i, 0), false);
    }
    assert_eq!(r.window_update().window, 5_120);
}

#[test]
fn in_any_order_every_byte_is_delivered_once_and_the_blocks_are_what_is_held() {
    for seed in 0..50 {
        let mut rng = Rng::stream(seed, "order");
        let mut r = slow();
        let mut arrived = BTreeSet::new();
        while arrived.len() < 200 {
            let lowest = (0..).find(|i| !arrived.contains(i)).expect("numbers do not end");
            let index = (lowest + rng.below(40)).min(199);
            let new = arrived.insert(index);
            let duplicates = r.stats().duplicates;
            let ack = r.on_segment(Instant::ZERO, &segment(index, 0), false);
            assert_eq!(r.stats().duplicates, duplicates + u64::from(!new));
            let in_order = (0..).find(|i| !arrived.contains(i)).expect("numbers do not end");
            assert_eq!(r.delivered_bytes(), in_order * 1000);
            let Some(ack) = ack else { continue };
            let held = blocks(&ack);
            let skip = usize::from(!new);
            for &(start, end) in &held[skip..] {
                assert!((start..end).all(|i| arrived.contains(&i)), "only what has arrived");
                assert!(!arrived.contains(&(start - 1)) && !arrived.contains(&end), "whole ranges");
            }
            if index > in_order && new {
                assert!((held[0].0..held[0].1).contains(&index), "the latest comes first");
            }
        }
        assert_eq!((r.delivered_bytes(), r.gaps()), (200_000, 0));
    }
}

/// The windows advertised while `rounds` of so many segments arrive, one round every 50 ms.
fn offered(window: Window, rounds: &[u64]) -> Vec<u64> {
    let mut r = receiver(&ReceiverConfig { window, ..ReceiverConfig::default() });
    let mut index = 0;
    let mut seen = Vec::new();
    for (round, &count) in rounds.iter().enumerate() {
        for i in 0..count {
            let now = Instant::from_nanos(1_000_000_000 + round as u64 * 50_000_000 + i);
            r.on_segment(now, &segment(index, 0), false);
            index += 1;
        }
        seen.push(r.window_update().window);
    }
    seen
}

#[test]
fn a_growing_window_doubles_what_arrives_in_a_round_up_to_its_ceiling() {
    let auto = Window::Auto(AutoWindow { initial: Bytes(20_000), max: Bytes(300_000) });
    let seen = offered(auto.clone(), &[20, 20, 40, 80, 160, 160]);
    assert_eq!(
        seen[..2],
        [20_000, 20_000 * 2 + 16_000],
        "a window arrived in 50 ms: twice that and 16 segments"
    );
    assert!(seen.windows(2).all(|w| w[0] <= w[1]) && seen[3] >= 160_000, "{seen:?}");
    assert_eq!(seen.last(), Some(&300_000));
    let slow = offered(auto, &[5; 40]);
    assert!(
        slow.iter().all(|&w| w < 100_000),
        "a sender that is slow by itself needs no more: {slow:?}"
    );
}

#[test]
fn a_growing_window_of_nought_or_beyond_its_ceiling_is_refused() {
    for (initial, max, field) in [
        (0, 9, "window.auto.initial"),
        (9, 8, "window.auto.initial"),
        (9, (1 << 30) + 1, "window.auto.max"),
    ] {
        let window = Window::Auto(AutoWindow { initial: Bytes(initial), max: Bytes(max) });
        let config = ReceiverConfig { window, ..ReceiverConfig::default() };
        assert_eq!(config.validate().map_err(|e| e.field), Err(field.into()));
    }
}

#[test]
fn a_window_beyond_what_the_scale_option_can_say_is_refused() {
    let config =
        ReceiverConfig { window: Window::Fixed(Bytes((1 << 30) + 1)), ..ReceiverConfig::default() };
    assert_eq!(config.validate().map_err(|e| e.field), Err("window.fixed".into()));
}
/// Goodput counts bytes at their first arrival, in order or behind a gap.
#[test]
fn received_bytes_count_each_byte_once_when_it_comes() {
    let mut rng = Rng::stream(7, "pieces");
    for _ in 0..200 {
        let mut r = slow();
        let mut there = BTreeSet::new();
        for at in 0..80 {
            // Pieces of 1 to 400 bytes anywhere in 2000: they overlap, touch, repeat and close
            // gaps.
            let (seq, len) = (rng.below(2_000), 1 + rng.below(400) as u32);
            let piece = Segment { seq, len, ..segment(0, at) };
            r.on_segment(Instant::from_nanos(at), &piece, false);
            there.extend(seq..seq + u64::from(len));
            assert_eq!(r.received_bytes(), there.len() as u64);
        }
    }
}

/// Segments that each acknowledgement covers while `slots` of so many segments arrive, a
/// millisecond apart. In each slot the segments of `pushed` have PSH.
fn covered(r: &mut Receiver, from: u64, slots: &[u64], pushed: impl Fn(u64) -> bool) -> Vec<u64> {
    let (mut next, mut acked, mut all) = (from, from, Vec::new());
    for (slot, &count) in slots.iter().enumerate() {
        let now = Instant::from_nanos((1_000_000 * from).max(1) + 1_000_000 * slot as u64);
        let mut take = |ack: Option<Ack>| {
            if let Some(ack) = ack {
                all.push(ack.cumulative / 1000 - acked);
                acked = ack.cumulative / 1000;
            }
        };
        for _ in 0..count {
            let piece =
                Segment { mark: Mark::pushed(pushed(next)), ..segment(next, now.as_nanos()) };
            take(r.on_segment(now, &piece, false));
            next += 1;
        }
        if r.next_timer().is_some_and(|due| due <= now) {
            take(r.on_timer(now));
        }
    }
    all
}

/// A receiver of `kernel` whose window no longer grows, after 2 000 segments.
fn settled(kernel: Kernel) -> Receiver {
    let mut r = receiver(&ReceiverConfig { kernel, quick_acks: 0, ..ReceiverConfig::default() });
    covered(&mut r, 0, &[1; 2000], |_| false);
    if let Some(due) = r.next_timer() {
        r.on_timer(due).expect("one is held back");
    }
    r
}

/// Like [`settled`]; then a segment arrives late, and four together. The read acknowledges the last
/// two of these and so offers the whole buffer.
fn settled_after_a_gap(kernel: Kernel) -> Receiver {
    let mut r = settled(kernel);
    let now = Instant::from_nanos(2_000_500_000);
    r.on_segment(now, &segment(2001, 1), false).expect("a gap is acknowledged at once");
    r.on_segment(now, &segment(2000, 1), false).expect("its repair too");
    assert_eq!(covered(&mut r, 2002, &[4], |_| false), [2, 2]);
    r
}

#[test]
fn while_the_window_grows_each_segment_is_acknowledged_in_linux() {
    let (kernel, quick_acks) = (Kernel::Linux6_18, 0);
    let mut r = receiver(&ReceiverConfig { kernel, quick_acks, ..ReceiverConfig::default() });
    // 64 KiB grow to 80 KiB less a segment, by two segments with each.
    let all = covered(&mut r, 0, &[2; 8], |_| false);
    assert_eq!(all, [1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2]);
}

#[test]
fn before_a_gap_a_lone_second_segment_is_acknowledged_as_it_arrives_and_two_when_they_are_read() {
    let slots = [1, 2, 1, 2, 4, 2];
    let linux = covered(&mut settled(Kernel::Linux6_18), 2000, &slots, |_| false);
    // The second of two would leave less space than was advertised.
    assert_eq!(linux, [2, 2, 2, 4, 2]);
    let mut rfc = receiver(&ReceiverConfig {
        kernel: Kernel::Rfc,
        quick_acks: 0,
        ..ReceiverConfig::default()
    });
    assert_eq!(covered(&mut rfc, 0, &slots, |_| false), [2; 6]);
}

#[test]
fn after_a_gap_every_acknowledgement_waits_for_the_read() {
    let mut r = settled_after_a_gap(Kernel::Linux6_18);
    assert_eq!(covered(&mut r, 2006, &[1, 2, 1, 2, 4], |_| false), [3, 3, 4]);
}

#[test]
fn a_full_segment_with_push_is_acknowledged_when_it_is_read_since_6_7() {
    let (since, before) = (vec![3, 1, 2], vec![3, 3]);
    for (kernel, expected) in [
        (Kernel::Linux6_18, since),
        (Kernel::Linux5_18, before.clone()),
        (Kernel::Linux5_3, before),
    ] {
        let mut r = settled_after_a_gap(kernel);
        assert_eq!(covered(&mut r, 2006, &[1, 2, 1, 2], |i| i == 2009), expected, "{kernel:?}");
    }
}

#[test]
fn a_short_segment_is_acknowledged_when_it_is_read_in_linux_and_after_40_ms_by_the_rfc() {
    for (kernel, at_once) in [(Kernel::Linux6_18, true), (Kernel::Rfc, false)] {
        let mut r = settled(kernel);
        let now = Instant::from_nanos(2_000_500_000);
        let short = Segment { len: 100, ..segment(2000, now.as_nanos()) };
        assert_eq!(r.on_segment(now, &short, false), None, "{kernel:?}");
        assert_eq!(r.on_timer(now).is_some(), at_once, "{kernel:?}");
        let later = now + Duration::from_millis(40);
        assert_eq!(r.on_timer(later).is_some(), !at_once, "{kernel:?}");
    }
}
