//! ECN between two ends: the handshake, and counters over a path that loses acknowledgements.

use crate::engine::{MSS, at, flush};
use crate::link::{Path, World};
use justfull_base::{Duration, Ecn, Instant};
use justfull_tcp::accecn::{ControlEcn, Feedback};
use justfull_tcp::cc::CongestionController;
use justfull_tcp::control::{AckSample, Congestion, IdleRestart, Sent};
use justfull_tcp::{Ack, AnyControl, CcConfig, Receiver, ReceiverConfig, Sender, SenderConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A constant window of 40 segments that counts the reported bytes with CE.
#[derive(Clone, Debug, Default)]
struct Counting {
    marked: Arc<AtomicU64>,
}

impl CongestionController for Counting {
    fn on_sent(&mut self, _: &Sent) {}
    fn on_ack(&mut self, sample: &AckSample) {
        self.marked.fetch_add(sample.ce_bytes, Ordering::Relaxed);
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_spurious(&mut self, _: Instant) {}
    fn on_idle_restart(&mut self, _: &IdleRestart) {}
    fn on_recovery_exit(&mut self, _: Instant) {}
    fn cwnd(&self) -> u64 {
        40 * MSS
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn codepoint(&self) -> Option<Ecn> {
        Some(Ecn::Ect1)
    }
}

/// Bytes with CE of 2000 segments, as the receiver counts them and as the sender hears of them.
fn marked(receiver: &ReceiverConfig, ack_loss: f64) -> (u64, u64) {
    let control = Counting::default();
    let marked = Arc::clone(&control.marked);
    let sender = Sender::with_control(&SenderConfig::default(), AnyControl::custom(control));
    // 60 kB in flight less 15 kB on the way leave 45 kB in the queue.
    let one_way = Duration::from_millis(5);
    let path = Path { one_way, mark_above: 43_000, ack_loss, ..Path::default() };
    let mut world = World::new(sender.expect("valid"), receiver, &path);
    world.transfer(2_000 * MSS, Duration::from_secs(600));
    (world.receiver.stats().ce_bytes, marked.load(Ordering::Relaxed))
}

#[test]
fn the_option_tells_the_marked_bytes_though_nine_of_ten_acknowledgements_are_lost() {
    let receiver = ReceiverConfig::default();
    let (arrived, heard) = marked(&receiver, 0.0);
    assert!(arrived > 200 * MSS && arrived < 1_900 * MSS, "{arrived}");
    assert_eq!(heard, arrived);
    let (arrived, heard) = marked(&receiver, 0.9);
    assert!(arrived.abs_diff(heard) <= 2 * MSS, "{arrived} {heard}");
}

#[test]
fn ace_alone_tells_each_mark_until_lost_acknowledgements_make_it_ambiguous() {
    for ce_acks in [1, 2, 7] {
        let receiver = ReceiverConfig { accecn_option: false, ce_acks, ..Default::default() };
        let (arrived, heard) = marked(&receiver, 0.0);
        assert_eq!(heard, arrived, "{ce_acks}");
    }
    let receiver = ReceiverConfig { accecn_option: false, ..Default::default() };
    let (arrived, heard) = marked(&receiver, 0.5);
    assert!(heard > arrived, "now and then ACE may have wrapped: {arrived} {heard}");
    let (arrived, heard) = marked(&receiver, 0.95);
    assert!(heard < arrived, "it wraps often, and long jumps are common: {arrived} {heard}");
}

#[test]
fn counters_reduce_a_window_once_in_a_round_trip_as_echoes_do() {
    let path = Path { mark_above: 20_000, ..Path::default() };
    let of = |accecn| {
        let config = SenderConfig { ecn: true, accecn, ..crate::config(CcConfig::default()) };
        let mut world = World::with(&config, &path);
        world.transfer(20_000_000, Duration::from_secs(600));
        assert_eq!(world.drops, 0);
        (world.sender.stats().ece_reductions, world.sender.marked_segments())
    };
    let [(by_echo, none), (by_count, counted)] = [false, true].map(of);
    assert!(by_echo >= 8 && by_count.abs_diff(by_echo) <= 2, "{by_echo} {by_count}");
    assert!(none == 0 && counted >= by_count, "{counted}");
}

/// The codepoint of the first data from a sender with `sender` to a receiver with `server`, after a
/// handshake in which the first `lost` SYNs are lost, and the flags of its SYNs.
fn opened(sender: &SenderConfig, server: Feedback, lost: usize) -> (Ecn, Vec<u8>) {
    let mut sender =
        Sender::new(&SenderConfig { handshake: true, ..sender.clone() }).expect("valid");
    let receiver = ReceiverConfig { ecn: server, ..ReceiverConfig::default() };
    let mut receiver = Receiver::new(&receiver).expect("valid");
    sender.write(10 * MSS);
    let (mut now, mut syns) = (at(1), Vec::new());
    loop {
        let syn = flush(&mut sender, now).pop().expect("a SYN");
        assert_eq!((syn.len, syn.ecn), (0, Ecn::NotEct));
        syns.push(syn.flags);
        if syns.len() > lost {
            let answer = receiver.on_segment(now, &syn, false).expect("a SYN/ACK");
            sender.on_ack(now + Duration::from_millis(20), &answer);
            break;
        }
        now = sender.next_timer().expect("the SYN is repeated");
        sender.on_timer(now);
    }
    let data = flush(&mut sender, now + Duration::from_millis(20));
    assert!(data.len() == 10 && data.iter().all(|segment| segment.ecn == data[0].ecn));
    (data[0].ecn, syns)
}

#[test]
fn data_is_ecn_capable_only_with_the_feedback_that_its_sender_asked_for() {
    use Feedback::{Accurate, Classic, Off};
    let prague = crate::config(CcConfig::by_name("prague").expect("it is on the list"));
    let cubic = crate::config(CcConfig::default());
    let ecn = SenderConfig { ecn: true, ..cubic.clone() };
    let of =
        |config: &SenderConfig| [Accurate, Classic, Off].map(|server| opened(config, server, 0).0);
    assert_eq!(of(&prague), [Ecn::Ect1, Ecn::NotEct, Ecn::NotEct]);
    assert_eq!(of(&ecn), [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct]);
    let accurate = SenderConfig { accecn: true, ..ecn };
    assert_eq!(of(&accurate), [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct]);
    assert_eq!(of(&cubic), [Ecn::NotEct; 3]);
}

#[test]
fn a_syn_that_is_lost_twice_offers_no_counters_and_a_classic_one_no_echo_after_one_loss() {
    let prague = crate::config(CcConfig::by_name("prague").expect("it is on the list"));
    let ecn = SenderConfig { ecn: true, ..crate::config(CcConfig::default()) };
    let all = |config, lost| opened(config, Feedback::Accurate, lost);
    assert_eq!(all(&prague, 1), (Ecn::Ect1, vec![0b111, 0b111]), "RFC 9768 section 3.1.4.1");
    assert_eq!(all(&prague, 2), (Ecn::NotEct, vec![0b111, 0b111, 0]));
    assert_eq!(all(&ecn, 1), (Ecn::NotEct, vec![0b011, 0]), "RFC 3168 section 6.1.1.1");
}

#[test]
fn a_second_syn_ack_of_a_slow_handshake_reduces_no_window() {
    let config = SenderConfig { ecn: true, handshake: true, ..SenderConfig::default() };
    let mut sender = Sender::new(&config).expect("valid");
    let mut receiver = Receiver::new(&ReceiverConfig::default()).expect("valid");
    sender.write(10 * MSS);
    let mut answers = Vec::new();
    for _ in 0..2 {
        let now = sender.next_timer().unwrap_or(at(1));
        sender.on_timer(now);
        let syn = flush(&mut sender, now).pop().expect("a SYN");
        answers.push(receiver.on_segment(now, &syn, false).expect("a SYN/ACK"));
    }
    for answer in &answers {
        sender.on_ack(at(1_500), answer);
        assert!(answer.syn && flush(&mut sender, at(1_500)).iter().all(|s| s.ecn == Ecn::Ect0));
    }
    assert_eq!(sender.stats().ece_reductions, 0);
}

/// ECN++ of a control for L4S at both ends.
fn generalized() -> (SenderConfig, ReceiverConfig) {
    let prague = crate::config(CcConfig::by_name("prague").expect("it is on the list"));
    let sender = SenderConfig { control_ecn: true, handshake: true, ..prague };
    let receiver = ReceiverConfig { control_ecn: ControlEcn::Ect1, ..ReceiverConfig::default() };
    (sender, receiver)
}

#[test]
fn with_generalized_ecn_each_segment_is_capable_but_a_repeated_syn() {
    let (config, receiver) = generalized();
    let mut s = Sender::new(&config).expect("valid");
    let mut r = Receiver::new(&receiver).expect("valid");
    s.write(10 * MSS);
    let syn = flush(&mut s, at(1)).pop().expect("a SYN");
    assert_eq!((syn.ecn, syn.flags), (Ecn::Ect1, 0b111));
    let timer = s.next_timer().expect("the SYN is repeated");
    s.on_timer(timer);
    let again = flush(&mut s, timer).pop().expect("a SYN");
    assert_eq!((again.ecn, again.flags), (Ecn::NotEct, 0b111));
    let answer = r.on_segment(timer, &again, false).expect("a SYN/ACK");
    assert_eq!((answer.ecn, answer.syn, answer.flags), (Ecn::Ect1, true, 0b010));
    s.on_ack(timer, &answer);
    let data = flush(&mut s, timer);
    assert_eq!(data.len(), 10);
    let ack = r.on_segment(timer, &data[0], false).expect("an acknowledgement");
    assert_eq!((ack.ecn, ack.syn), (Ecn::Ect1, false));
}

#[test]
fn without_counters_no_segment_without_data_is_capable() {
    let (config, receiver) = generalized();
    for ecn in [Feedback::Classic, Feedback::Off] {
        let mut s = Sender::new(&config).expect("valid");
        let mut r = Receiver::new(&ReceiverConfig { ecn, ..receiver.clone() }).expect("valid");
        s.write(10 * MSS);
        let syn = flush(&mut s, at(1)).pop().expect("a SYN");
        let answer = r.on_segment(at(2), &syn, false).expect("a SYN/ACK");
        assert_eq!(answer.ecn, Ecn::NotEct);
        s.on_ack(at(3), &answer);
        let data = flush(&mut s, at(3));
        assert_eq!(data.len(), 1, "the SYN may have been marked: nobody tells");
        let ack = r.on_segment(at(4), &data[0], false).expect("an acknowledgement");
        assert_eq!((data[0].ecn, ack.ecn), (Ecn::NotEct, Ecn::NotEct));
    }
}

#[test]
fn a_marked_syn_makes_the_first_window_one_segment() {
    let (config, receiver) = generalized();
    for (marked, first) in [(false, 10), (true, 1)] {
        let mut s = Sender::new(&config).expect("valid");
        let mut r = Receiver::new(&receiver).expect("valid");
        s.write(40 * MSS);
        let syn = flush(&mut s, at(1)).pop().expect("a SYN");
        let answer = r.on_segment(at(20), &syn, marked).expect("a SYN/ACK");
        s.on_ack(at(40), &answer);
        assert_eq!(flush(&mut s, at(40)).len(), first);
        assert_eq!(r.stats().ce_marks, 0, "it is no data (RFC 9768 section 3.2.1)");
    }
}

#[test]
fn marked_acknowledgements_are_counted_and_reported_in_ace() {
    let (config, receiver) = generalized();
    let mut s = Sender::new(&config).expect("valid");
    let mut r = Receiver::new(&receiver).expect("valid");
    s.write(u64::MAX);
    let syn = flush(&mut s, at(1)).pop().expect("a SYN");
    let marked = |ack: Ack| Ack { ecn: Ecn::Ce, ..ack };
    s.on_ack(at(40), &marked(r.on_segment(at(20), &syn, false).expect("a SYN/ACK")));
    let data = flush(&mut s, at(40));
    assert!(data.iter().all(|segment| segment.flags == 0b110), "6: five and the SYN/ACK");
    let window = s.cwnd();
    for (i, segment) in data.iter().enumerate() {
        let ack = r.on_segment(at(60), segment, false).expect("an acknowledgement");
        s.on_ack(at(80), &if i < 3 { marked(ack) } else { ack });
    }
    assert_eq!((s.stats().marked_acks, s.marked_segments()), (4, 0));
    assert!(s.cwnd() > window, "the way of the data is free");
    assert!(flush(&mut s, at(80)).iter().all(|segment| segment.flags == 0b001), "9 modulo 8");
}

#[test]
fn with_generalized_ecn_a_classic_controls_retransmissions_and_probes_are_capable() {
    let base = SenderConfig { ecn: true, accecn: true, ..crate::config(CcConfig::default()) };
    for (control_ecn, expected) in [(false, Ecn::NotEct), (true, Ecn::Ect0)] {
        let mut s = Sender::new(&SenderConfig { control_ecn, ..base.clone() }).expect("valid");
        let mut r = Receiver::new(&ReceiverConfig::default()).expect("valid");
        s.settle(&mut r);
        s.write(10 * MSS);
        assert_eq!(flush(&mut s, at(1)).len(), 10);
        let timer = s.next_timer().expect("a tail probe");
        s.on_timer(timer);
        let again = flush(&mut s, timer);
        assert!(again[0].retransmission && again[0].ecn == expected, "{again:?}");
        let mut closed = Sender::new(&SenderConfig { control_ecn, ..base.clone() }).expect("valid");
        closed.settle(&mut r);
        closed.on_ack(at(1), &Ack { window: 0, ..r.window_update() });
        closed.write(MSS);
        assert!(flush(&mut closed, at(2)).is_empty());
        let timer = closed.next_timer().expect("a window probe");
        closed.on_timer(timer);
        let probe = flush(&mut closed, timer).pop().expect("a window probe");
        assert_eq!((probe.len, probe.ecn), (0, expected));
    }
}
