//! NewReno without SACK and timestamps, acknowledgement by acknowledgement, and the handshake.

use crate::engine::{MSS, ack, at, flush, sender};
use crate::link::{Path, World};
use crate::ns2;
use justfull_base::{Bytes, Duration};
use justfull_tcp::cc::new_reno::NewRenoConfig;
use justfull_tcp::{
    Ack, CcConfig, Kernel, Mark, Receiver, ReceiverConfig, RecoveryState, Segment, Sender,
    SenderConfig, Window,
};

/// Ten segments in the first window, without a handshake.
fn setup() -> SenderConfig {
    SenderConfig {
        mss: 1448,
        initial_window: 10,
        handshake: false,
        ..ns2(CcConfig::NewReno(NewRenoConfig::default()))
    }
}

fn numbers(segments: &[Segment]) -> Vec<(u64, bool)> {
    segments.iter().map(|s| (s.seq / MSS, s.retransmission)).collect()
}

/// Twelve segments are out at 101 ms, the window is eleven, and the first has been acknowledged.
fn twelve_out(config: &SenderConfig) -> Sender {
    let mut s = sender(config);
    s.write(u64::MAX);
    assert_eq!(flush(&mut s, at(1)).len(), 10);
    // A change of the window is no duplicate.
    s.on_ack(at(101), &ack(1, &[], 0));
    assert_eq!(numbers(&flush(&mut s, at(101))), [(10, false), (11, false)]);
    assert_eq!((s.cwnd(), s.in_flight()), (11 * MSS, 11 * MSS));
    s
}

#[test]
fn the_first_two_duplicates_each_let_a_new_segment_out_if_they_may() {
    for limited_transmit in [true, false] {
        let mut s = twelve_out(&SenderConfig { limited_transmit, ..setup() });
        let mut sent = Vec::new();
        for now in [102, 103] {
            s.on_ack(at(now), &ack(1, &[], 0));
            sent.extend(numbers(&flush(&mut s, at(now))));
        }
        let wanted = if limited_transmit { vec![(12, false), (13, false)] } else { vec![] };
        assert_eq!(sent, wanted, "RFC 3042 section 2");
        // An acknowledgement that advances ends it.
        s.on_ack(at(104), &ack(4, &[], 0));
        assert_eq!(s.cwnd(), 13 * MSS, "L = 2 of RFC 3465");
    }
}

#[test]
fn rfc_6582_the_window_is_inflated_deflated_and_left_at_ssthresh() {
    let mut s = twelve_out(&SenderConfig { limited_transmit: false, ..setup() });
    for now in 102..=104 {
        s.on_ack(at(now), &ack(1, &[], 0));
    }
    // Step 2: FlightSize is 11, so ssthresh is 5.5, and cwnd three more.
    let half = 11 * MSS / 2;
    assert_eq!(s.snapshot().recovery, RecoveryState::Recovery);
    assert_eq!((s.snapshot().ssthresh, s.cwnd()), (half, half + 3 * MSS));
    assert_eq!(numbers(&flush(&mut s, at(104))), [(1, true)], "11 are out");
    // Step 3: each further duplicate inflates by one. 5.5 + 3 + 6 = 14.5.
    let mut sent = Vec::new();
    for now in 105..=110 {
        s.on_ack(at(now), &ack(1, &[], 0));
        sent.extend(numbers(&flush(&mut s, at(now))));
    }
    assert_eq!(s.cwnd(), half + 9 * MSS);
    assert_eq!(sent, [(12, false), (13, false), (14, false)], "14 are out");
    // Step 3 (b): a partial acknowledgement of 4 deflates by 3 and retransmits.
    s.on_ack(at(204), &ack(5, &[], 0));
    assert_eq!(s.cwnd(), half + 6 * MSS);
    assert_eq!(numbers(&flush(&mut s, at(204))), [(5, true), (15, false)]);
    // Step 3 (a): all of 12 arrived: ssthresh. They are a whole window, so it grows by a segment.
    s.on_ack(at(304), &ack(12, &[], 0));
    assert_eq!(s.snapshot().recovery, RecoveryState::Open);
    assert_eq!(s.cwnd(), half + MSS);
    assert_eq!(s.stats().fast_recoveries, 1);
}

#[test]
fn duplicates_of_what_a_recovery_repeated_start_no_second_one() {
    let mut s = twelve_out(&setup());
    for now in 102..=104 {
        s.on_ack(at(now), &ack(1, &[], 0));
        flush(&mut s, at(now));
    }
    s.on_ack(at(204), &ack(14, &[], 0));
    assert_eq!(s.snapshot().recovery, RecoveryState::Open);
    flush(&mut s, at(204));
    for now in 205..=210 {
        s.on_ack(at(now), &ack(14, &[], 0));
        flush(&mut s, at(now));
    }
    assert_eq!(s.stats().fast_recoveries, 1, "step 2: not beyond `recover`");
    s.on_ack(at(211), &ack(15, &[], 0));
    for now in 212..=214 {
        s.on_ack(at(now), &ack(15, &[], 0));
    }
    assert_eq!(s.stats().fast_recoveries, 2);
}

#[test]
fn the_impatient_variant_restarts_the_timer_once_and_the_other_each_time() {
    for impatient in [true, false] {
        let mut s = twelve_out(&SenderConfig { impatient, ..setup() });
        for now in 102..=104 {
            s.on_ack(at(now), &ack(1, &[], 0));
            flush(&mut s, at(now));
        }
        let timer = |s: &Sender| s.next_timer().expect("data is out");
        s.on_ack(at(150), &ack(2, &[], 0));
        flush(&mut s, at(150));
        let after_first = timer(&s);
        s.on_ack(at(180), &ack(3, &[], 0));
        flush(&mut s, at(180));
        let moved = timer(&s).since(after_first);
        assert_eq!(moved, Duration::from_millis(if impatient { 0 } else { 30 }));
    }
}

#[test]
fn after_a_timeout_it_goes_back_and_the_timer_stays_backed_off_until_a_segment_was_timed() {
    let mut s = twelve_out(&setup());
    // R = 100 ms: RTO = 100 + 4 x 50.
    let due = s.next_timer().expect("data is out");
    assert_eq!(due, at(401));
    s.on_timer(due);
    assert_eq!(numbers(&flush(&mut s, due)), [(1, true)]);
    assert_eq!(s.snapshot().rto, Duration::from_millis(600));
    s.on_ack(at(500), &ack(2, &[], 0));
    assert_eq!(numbers(&flush(&mut s, at(500))), [(2, true), (3, true)], "slow start from one");
    assert_eq!(s.snapshot().rto, Duration::from_millis(600), "Karn: which copy is not known");
    s.on_ack(at(600), &ack(12, &[], 0));
    let new = flush(&mut s, at(600));
    assert!(new.iter().all(|segment| !segment.retransmission) && !new.is_empty());
    assert_eq!(s.snapshot().rto, Duration::from_millis(600));
    s.on_ack(at(700), &ack(13, &[], 0));
    // RTTVAR = 3/4 x 50 and SRTT = 100 again.
    assert_eq!(s.snapshot().rto, Duration::from_millis(250));
}

#[test]
fn a_syn_opens_the_connection_and_is_repeated_after_six_seconds() {
    let config = SenderConfig { handshake: true, ..setup() };
    let mut s = sender(&config);
    assert!(s.poll_transmit(at(1)).is_none(), "there is nothing to send yet");
    s.write(50 * MSS);
    let syn = s.poll_transmit(at(1)).expect("the SYN");
    assert!(syn.mark == Mark::Syn && syn.len == 0 && s.poll_transmit(at(1)).is_none());
    assert_eq!(s.next_timer(), Some(at(6001)));
    s.on_timer(at(6001));
    let again = flush(&mut s, at(6001));
    assert!(again.len() == 1 && again[0].mark == Mark::Syn && again[0].retransmission);
    assert_eq!(s.next_timer(), Some(at(18_001)), "it doubles");
    s.on_ack(at(6100), &ack(0, &[], 0));
    assert!(flush(&mut s, at(6100)).is_empty(), "only the SYN's acknowledgement counts");
    s.on_ack(at(6101), &Ack { syn: true, ..ack(0, &[], 0) });
    assert_eq!(flush(&mut s, at(6101)).len(), 10);
    assert_eq!((s.stats().syns, s.stats().timeouts, s.srtt()), (2, 1, None));
}

#[test]
fn a_new_connection_begins_where_the_last_one_ended_with_everything_else_as_at_the_start() {
    let config = SenderConfig { handshake: true, ..setup() };
    let by_rfc = ReceiverConfig { kernel: Kernel::Rfc, ..ReceiverConfig::default() };
    let (mut s, mut r) = (sender(&config), Receiver::new(&by_rfc).expect("valid"));
    for connection in 1..=3u64 {
        if connection > 1 {
            s.reconnect(&config, 0).expect("valid");
        }
        s.write(40 * MSS);
        let mut rounds = Vec::new();
        for round in 0..10 {
            let now = at(connection * 10_000 + 100 * round);
            let out = flush(&mut s, now);
            rounds.push(out.len());
            for segment in out {
                if let Some(ack) = r.on_segment(now, &segment, false) {
                    s.on_ack(at(connection * 10_000 + 100 * round + 99), &ack);
                }
            }
        }
        assert_eq!(rounds[..4], [1, 10, 20, 10], "the SYN, then slow start");
        assert_eq!(r.delivered_bytes(), connection * 40 * MSS);
        assert!(s.all_acked());
    }
    assert_eq!((s.stats().syns, s.stats().segments_retransmitted), (3, 0));
}

#[test]
fn a_late_syn_ack_of_an_earlier_connection_opens_no_new_one() {
    let config = SenderConfig { handshake: true, ..setup() };
    let mut s = sender(&config);
    let syn_ack = |end| Ack { syn: true, ..ack(end, &[], 0) };
    s.write(5 * MSS);
    assert_eq!(flush(&mut s, at(1)).len(), 1, "the SYN");
    s.on_ack(at(100), &syn_ack(0));
    assert_eq!(flush(&mut s, at(100)).len(), 5);
    s.on_ack(at(200), &ack(5, &[], 0));
    s.reconnect(&config, 0).expect("valid");
    s.write(5 * MSS);
    assert_eq!(flush(&mut s, at(300)).len(), 1, "the second SYN");
    s.on_ack(at(310), &syn_ack(0));
    assert!(flush(&mut s, at(310)).is_empty() && s.srtt().is_none());
    s.on_ack(at(400), &syn_ack(5));
    assert_eq!(flush(&mut s, at(400)).len(), 5);
    assert_eq!(s.srtt(), Some(Duration::from_millis(100)));
}

#[test]
fn a_transfer_over_a_lossy_path_takes_time_and_no_more() {
    let receiver = ReceiverConfig {
        window: Window::Fixed(Bytes(30 * 1440)),
        delayed_ack: false,
        ..ReceiverConfig::default()
    };
    for impatient in [true, false] {
        let sender = Sender::new(&SenderConfig { impatient, ..SenderConfig::ns2() });
        let path = Path { loss: 0.02, ..Path::default() };
        let mut world = World::new(sender.expect("valid"), &receiver, &path);
        let time = world.transfer(2_500_000, Duration::from_secs(600)).as_secs_f64();
        let stats = world.sender.stats();
        assert!(stats.fast_recoveries > 5, "{stats:?}");
        assert!((3.0..40.0).contains(&time), "{time} s");
    }
}
