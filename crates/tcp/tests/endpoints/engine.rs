//! The engine, one acknowledgement at a time.

use crate::config;
use justfull_base::{Bytes, Duration, Ecn, Instant};
use justfull_tcp::accecn::{AccEcnOption, CWR, ECE};
use justfull_tcp::cc::new_reno;
use justfull_tcp::{
    Ack, AutoWindow, CcConfig, Kernel, Mark, Prr, Receiver, ReceiverConfig, Recovery,
    RecoveryState, SackBlock, Segment, Sender, SenderConfig, SpuriousDetection, Window,
};

pub(crate) const MSS: u64 = 1448;

pub(crate) fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

pub(crate) fn new_reno() -> SenderConfig {
    config(CcConfig::NewReno(new_reno::NewRenoConfig::default()))
}

pub(crate) fn sender(config: &SenderConfig) -> Sender {
    Sender::new(config).expect("the settings are valid")
}

pub(crate) fn flush(sender: &mut Sender, now: Instant) -> Vec<Segment> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

/// An acknowledgement of the first `segments`, with blocks in segments; the echo is the timestamp
/// of a segment that left at `echo` ms.
pub(crate) fn ack(segments: u64, blocks: &[(u64, u64)], echo: u64) -> Ack {
    let mut sack = [SackBlock::default(); 3];
    for (slot, &(start, end)) in sack.iter_mut().zip(blocks) {
        *slot = SackBlock { start: start * MSS, end: end * MSS };
    }
    Ack {
        cumulative: segments * MSS,
        window: 1 << 30,
        ts_echo: at(echo),
        sack,
        sack_len: blocks.len() as u8,
        flags: 0,
        syn: false,
        ecn: Ecn::NotEct,
        option: AccEcnOption::NONE,
    }
}

/// Ten segments are out at 1 ms.
fn ten_out(config: &SenderConfig) -> Sender {
    let mut s = sender(config);
    s.write(u64::MAX);
    assert_eq!(flush(&mut s, at(1)).len(), 10);
    s
}

#[test]
fn the_initial_window_leaves_at_once_and_slow_start_answers_two_with_four() {
    let mut s = ten_out(&new_reno());
    s.on_ack(at(51), &ack(2, &[], 1));
    assert_eq!(flush(&mut s, at(51)).len(), 4);
    assert_eq!(s.srtt(), Some(Duration::from_millis(50)));
}

#[test]
fn a_sample_comes_from_what_advances_or_sacks_a_segment_sent_once() {
    let ms = |n| Some(Duration::from_millis(n));
    let mut s = ten_out(&new_reno());
    assert_eq!(s.on_ack(at(51), &ack(1, &[], 1)), ms(50));
    // Two more leave. The second segment is lost: each duplicate echoes the first, and the sacked
    // segment gives the time.
    assert_eq!(flush(&mut s, at(60)).len(), 2);
    for end in 3..=5 {
        assert_eq!(s.on_ack(at(70), &ack(1, &[(2, end)], 1)), ms(69));
    }
    assert_eq!(s.on_ack(at(75), &ack(1, &[(2, 5)], 1)), None, "it says nothing new");
    let again = flush(&mut s, at(80));
    assert!(again[0].retransmission && again[0].seq == MSS);
    assert_eq!(s.on_ack(at(110), &ack(1, &[(2, 11)], 1)), ms(50), "the last that was sacked");
    // The copy arrives: its time is echoed.
    assert_eq!(s.on_ack(at(130), &ack(11, &[], 80)), ms(50));
    assert_eq!(s.on_ack(at(131), &ack(11, &[], 80)), None, "it advances nothing");
    assert_eq!(s.on_ack(at(132), &ack(90, &[], 80)), None, "it is for data never sent");
}

#[test]
fn a_sack_of_a_segment_sent_twice_is_no_sample() {
    let mut s = ten_out(&SenderConfig { prr: Prr::Off, ..new_reno() });
    let mut again = Vec::new();
    for (now, end) in [(51, 7), (52, 8), (53, 9), (54, 10)] {
        s.on_ack(at(now), &ack(0, &[(1, 2), (3, end)], 1));
        again.extend(flush(&mut s, at(now)));
    }
    assert!(again.iter().any(|s| s.retransmission && s.seq == 2 * MSS), "{again:?}");
    assert_eq!(s.on_ack(at(104), &ack(0, &[(1, 10)], 1)), None);
}

#[test]
fn without_timestamps_a_segment_sent_twice_is_no_sample() {
    let config = SenderConfig {
        timestamps: false,
        spurious_detection: SpuriousDetection::FRto,
        ..new_reno()
    };
    let mut s = ten_out(&config);
    assert_eq!(s.on_ack(at(51), &ack(2, &[], 1)), Some(Duration::from_millis(50)));
    // One of the four that leave now is timed, and then the third segment is lost.
    assert_eq!(flush(&mut s, at(51)).len(), 4);
    for end in 4..=6 {
        assert_eq!(s.on_ack(at(52), &ack(2, &[(3, end)], 1)), None);
    }
    assert!(flush(&mut s, at(52)).iter().any(|segment| segment.retransmission));
    assert_eq!(s.on_ack(at(300), &ack(14, &[], 1)), None, "it may be for either copy");
}

#[test]
fn the_first_two_duplicates_each_let_a_new_segment_out() {
    let mut s = ten_out(&new_reno());
    for end in [2, 3] {
        s.on_ack(at(51), &ack(0, &[(1, end)], 1));
        let new = flush(&mut s, at(51));
        assert!(!new.is_empty() && new.iter().all(|x| !x.retransmission), "RFC 3042");
    }
    assert_eq!(s.stats().fast_recoveries, 0);
}

#[test]
fn the_third_duplicate_retransmits_the_hole_and_prr_then_sends_in_proportion() {
    let mut s = ten_out(&new_reno());
    for end in [2, 3, 4] {
        s.on_ack(at(51), &ack(0, &[(1, end)], 1));
        if end < 4 {
            flush(&mut s, at(51));
        }
    }
    assert_eq!(s.snapshot().recovery, RecoveryState::Recovery);
    let first = s.poll_transmit(at(51)).expect("the hole");
    assert!(first.retransmission && first.seq == 0);
    flush(&mut s, at(51));
    let mut sent = 0;
    for end in 5..=10 {
        s.on_ack(at(52), &ack(0, &[(1, end)], 1));
        sent += flush(&mut s, at(52)).len();
    }
    // Seven delivered x 5/12 (ssthresh over the outstanding segments) is 2.9: the hole and one
    // more.
    assert_eq!(sent, 1);
}

#[test]
fn recovery_ends_at_its_point_with_half_the_window() {
    let config = SenderConfig { prr: Prr::Off, ..new_reno() };
    let mut s = ten_out(&config);
    s.on_ack(at(51), &ack(0, &[(1, 5)], 1));
    assert_eq!(s.cwnd(), 5 * MSS);
    flush(&mut s, at(51));
    s.on_ack(at(101), &ack(5, &[], 51));
    assert_eq!(s.snapshot().recovery, RecoveryState::Recovery);
    s.on_ack(at(102), &ack(10, &[], 51));
    assert_eq!(s.snapshot().recovery, RecoveryState::Open);
    assert!((5 * MSS..7 * MSS).contains(&s.cwnd()), "{}", s.cwnd());
}

#[test]
fn the_timer_fires_after_one_second_and_then_doubles() {
    let mut s = ten_out(&SenderConfig { tail_loss_probe: false, ..new_reno() });
    let mut due = 1;
    for wait in [1000, 2000, 4000, 8000] {
        due += wait;
        assert_eq!(s.next_timer(), Some(at(due)));
        s.on_timer(at(due - 1));
        assert!(s.poll_transmit(at(due - 1)).is_none(), "an early wake does no harm");
        s.on_timer(at(due));
        let repeat = s.poll_transmit(at(due)).expect("the oldest segment again");
        assert!(repeat.retransmission && repeat.seq == 0);
        assert!(s.poll_transmit(at(due)).is_none(), "the window is one segment");
    }
    assert_eq!(s.stats().timeouts, 4);
    // The same data timed out again: ssthresh stays at half of the outstanding bytes at the first
    // timeout.
    assert_eq!(s.snapshot().ssthresh, 5 * MSS);
}

#[test]
fn after_a_timeout_sacked_segments_are_not_sent_again() {
    let mut s = ten_out(&SenderConfig { recovery: Recovery::Dupack, ..new_reno() });
    s.on_ack(at(51), &ack(0, &[(4, 6)], 1));
    flush(&mut s, at(51));
    let due = s.next_timer().expect("data is out");
    s.on_timer(due);
    let mut repeated = Vec::new();
    let mut now = due;
    for upto in 1..=11 {
        repeated
            .extend(flush(&mut s, now).iter().filter(|x| x.retransmission).map(|x| x.seq / MSS));
        now += Duration::from_millis(50);
        let echo = (now.as_nanos() / 1_000_000) - 50;
        s.on_ack(now, &ack(if upto == 4 || upto == 5 { 6 } else { upto }, &[], echo));
    }
    assert!(!repeated.contains(&4) && !repeated.contains(&5), "{repeated:?}");
    assert!([0, 1, 2, 3, 6].iter().all(|n| repeated.contains(n)), "{repeated:?}");
    assert_eq!(s.stats().spurious_timeouts, 0);
}

#[test]
fn under_linux_a_sack_of_what_left_before_the_copy_restarts_the_timer() {
    // The copy leaves at 51 ms with a timeout of 250 ms; in a growing queue it takes longer.
    let timeouts = |kernel, block| {
        let mut s = ten_out(&SenderConfig { kernel, tail_loss_probe: false, ..new_reno() });
        s.on_ack(at(51), &ack(0, &[(1, 5)], 1));
        let copy = flush(&mut s, at(51));
        assert!(copy.first().is_some_and(|first| first.retransmission && first.seq == 0));
        s.on_ack(at(52), &ack(0, &[(1, 6)], 1));
        flush(&mut s, at(52));
        s.on_ack(at(250), &ack(0, &[(1, 6), block], 1));
        flush(&mut s, at(250));
        s.on_timer(at(400));
        s.stats().timeouts
    };
    let (original, new) = ((6, 7), (10, 11));
    assert_eq!(timeouts(Kernel::Linux6_18, original), 0);
    assert_eq!(timeouts(Kernel::Linux6_18, new), 1, "it left after the copy and says nothing");
    assert_eq!(timeouts(Kernel::Rfc, original), 1);
}

#[test]
fn an_echo_older_than_the_retransmission_undoes_the_timeout() {
    let mut s = ten_out(&SenderConfig { tail_loss_probe: false, ..new_reno() });
    s.on_timer(at(1001));
    flush(&mut s, at(1001));
    assert_eq!(s.cwnd(), MSS);
    s.on_ack(at(1010), &ack(2, &[], 1));
    assert_eq!(s.stats().spurious_timeouts, 1);
    assert!(s.cwnd() >= 10 * MSS);
    let next = s.poll_transmit(at(1010)).expect("the window is open again");
    assert!(!next.retransmission, "nothing is lost");
}

/// Ten segments timed out and the first was sent again, under F-RTO.
fn timed_out_under_f_rto() -> Sender {
    let spurious_detection = SpuriousDetection::FRto;
    let mut s = ten_out(&SenderConfig { tail_loss_probe: false, spurious_detection, ..new_reno() });
    s.on_timer(at(1001));
    let first = flush(&mut s, at(1001));
    assert_eq!((first.len(), first[0].seq), (1, 0));
    s
}

#[test]
fn f_rto_sends_two_new_segments_and_takes_the_timeout_back_when_originals_still_arrive() {
    let mut s = timed_out_under_f_rto();
    s.on_ack(at(1010), &ack(2, &[], 1));
    assert_eq!(s.stats().spurious_timeouts, 0, "one acknowledgement does not tell");
    let new = flush(&mut s, at(1010));
    assert!(new.len() == 2 && new.iter().all(|x| !x.retransmission), "{new:?}");
    s.on_ack(at(1012), &ack(4, &[], 1));
    assert_eq!((s.stats().spurious_timeouts, s.snapshot().recovery), (1, RecoveryState::Open));
    assert!(s.cwnd() >= 10 * MSS);
    assert!(flush(&mut s, at(1012)).iter().all(|x| !x.retransmission));
}

#[test]
fn f_rto_goes_on_repairing_when_only_the_new_segments_arrive() {
    let mut s = timed_out_under_f_rto();
    s.on_ack(at(1050), &ack(1, &[], 1001));
    assert_eq!(flush(&mut s, at(1050)).len(), 2);
    s.on_ack(at(1100), &ack(1, &[(10, 11)], 1001));
    assert_eq!(s.stats().spurious_timeouts, 0);
    let next = flush(&mut s, at(1100));
    assert!(next[0].retransmission && next[0].seq == MSS, "{next:?}");
}

#[test]
fn without_detection_nothing_is_taken_back() {
    let spurious_detection = SpuriousDetection::Off;
    let mut s = ten_out(&SenderConfig { tail_loss_probe: false, spurious_detection, ..new_reno() });
    s.on_timer(at(1001));
    flush(&mut s, at(1001));
    s.on_ack(at(1010), &ack(2, &[], 1));
    assert_eq!(s.snapshot().recovery, RecoveryState::Loss);
    assert!(s.cwnd() < 5 * MSS);
}

#[test]
fn an_echo_reduces_once_a_window_and_the_next_new_segment_says_so() {
    let mut s = ten_out(&SenderConfig { ecn: true, prr: Prr::Off, ..new_reno() });
    let echo = |segments| Ack { flags: ECE, ..ack(segments, &[], 1) };
    s.on_ack(at(51), &echo(2));
    assert_eq!((s.cwnd(), s.stats().ece_reductions), (4 * MSS, 1));
    for segments in 3..=10 {
        s.on_ack(at(52), &echo(segments));
    }
    assert_eq!((s.cwnd(), s.stats().ece_reductions), (4 * MSS, 1));
    let new = flush(&mut s, at(52));
    assert!(new[0].flags == CWR && new[0].ecn == Ecn::Ect0 && new[1].flags == 0);
    s.on_ack(at(102), &ack(11, &[], 52));
    assert_eq!(s.snapshot().recovery, RecoveryState::Open);
    s.on_ack(at(103), &Ack { flags: ECE, ..ack(12, &[], 52) });
    assert_eq!(s.stats().ece_reductions, 2);
}

#[test]
fn a_reduction_after_a_loss_or_a_timeout_is_announced_too_and_answers_the_echoes_of_before() {
    let config = SenderConfig { ecn: true, prr: Prr::Off, ..new_reno() };
    let mut s = ten_out(&config);
    s.on_ack(at(51), &ack(0, &[(1, 6)], 1));
    s.on_ack(at(52), &Ack { flags: ECE, ..ack(0, &[(1, 7)], 1) });
    assert_eq!(s.stats().ece_reductions, 0, "this window is reduced already");
    s.on_ack(at(60), &ack(10, &[], 52));
    assert!(
        flush(&mut s, at(60)).iter().find(|x| !x.retransmission).is_some_and(|x| x.flags == CWR)
    );
    let mut s = ten_out(&SenderConfig { tail_loss_probe: false, ..config });
    s.on_timer(at(1001));
    assert!(
        flush(&mut s, at(1001)).iter().all(|x| x.flags == 0 && x.ecn == Ecn::NotEct),
        "a retransmission is not ECN-capable"
    );
    s.on_ack(at(1050), &ack(10, &[], 1001));
    assert_eq!(flush(&mut s, at(1050))[0].flags, CWR);
}

#[test]
fn an_acknowledgement_of_data_never_sent_is_ignored() {
    let mut s = ten_out(&new_reno());
    s.on_ack(at(51), &ack(11, &[], 1));
    assert_eq!((s.acked_bytes(), s.stats().acks), (0, 0));
}

#[test]
fn a_long_silence_brings_the_initial_window_back_unless_switched_off() {
    for (restart_after_idle, expected) in [(true, 10), (false, 40)] {
        let mut s = sender(&SenderConfig { restart_after_idle, ..new_reno() });
        s.write(30 * MSS);
        let mut acked = 0;
        let mut now = 1;
        while !s.all_acked() {
            let out = flush(&mut s, at(now)).len() as u64;
            let left = now;
            now += 50;
            for segments in acked + 1..=acked + out {
                s.on_ack(at(now), &ack(segments, &[], left));
            }
            acked += out;
        }
        let grown = s.cwnd() / MSS;
        s.write(u64::MAX);
        let burst = flush(&mut s, at(now + 5000)).len() as u64;
        let wanted = if restart_after_idle { expected } else { grown.min(expected) };
        assert_eq!(burst, wanted, "after a window of {grown}");
        assert!(grown > 10);
    }
}

#[test]
fn nagle_holds_a_short_segment_while_data_is_out_and_a_close_lets_it_go() {
    for (nagle, first) in [(true, 1), (false, 2)] {
        let mut s = sender(&SenderConfig { nagle, ..new_reno() });
        s.write(MSS + 100);
        assert_eq!(flush(&mut s, at(1)).len(), first);
        s.close();
        assert_eq!(flush(&mut s, at(2)).len(), 2 - first);
        s.write(1);
        assert_eq!(s.unsent_bytes(), 0, "nothing can be written after a close");
    }
}

#[test]
fn a_window_that_shrinks_stops_new_data() {
    let mut s = ten_out(&new_reno());
    s.on_ack(at(51), &Ack { window: 8 * MSS, ..ack(2, &[], 1) });
    assert_eq!(flush(&mut s, at(51)).len(), 0);
    s.on_ack(at(52), &Ack { window: 9 * MSS, ..ack(2, &[], 1) });
    assert_eq!(flush(&mut s, at(52)).len(), 1);
}

/// A faulty receiver reports the oldest segment as a block and never acknowledges it; the sender's
/// count of bytes in flight must stay right.
#[test]
fn a_front_that_is_only_reported_as_a_block_is_not_counted_out_of_flight_twice() {
    let mut s = sender(&SenderConfig { initial_window: 1, ..new_reno() });
    s.write(5 * MSS);
    let mut now = at(1);
    flush(&mut s, now);
    for round in 0..12 {
        now = s.next_timer().expect("something is outstanding").max(now);
        s.on_timer(now);
        flush(&mut s, now);
        if round == 2 {
            s.on_ack(now, &ack(0, &[(0, 1)], 1));
            flush(&mut s, now);
        }
        assert!(s.in_flight() <= 2 * 5 * MSS, "{} in flight", s.in_flight());
    }
}

/// The window grows by a product of bytes: segments of 4 GB must not make it overflow.
#[test]
fn a_window_that_grows_stays_within_its_maximum_whatever_arrives() {
    let auto = AutoWindow { initial: Bytes(3000), max: Bytes(1 << 20) };
    let config = ReceiverConfig { window: Window::Auto(auto), ..ReceiverConfig::default() };
    let mut receiver = Receiver::new(&config).expect("the settings are valid");
    for k in 0..20_u64 {
        let segment = Segment {
            seq: receiver.delivered_bytes(),
            len: u32::MAX,
            retransmission: false,
            sent_at: at(10 * k),
            ecn: Ecn::NotEct,
            flags: 0,
            mark: Mark::None,
        };
        let ack = receiver.on_segment(at(10 * k + 5), &segment, false);
        assert!(ack.is_none_or(|ack| ack.window <= 1 << 20), "{ack:?}");
    }
}
