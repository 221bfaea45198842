//! The endpoints over a path of the test.

use super::*;
use crate::rc::{MediaBirth, RcConfig, Reporting};
use alloc::vec::Vec;
use justfull_base::{BitRate, Duration, Instant};

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn sender(name: &str) -> MediaSender {
    let birth = MediaBirth {
        least: BitRate(100_000),
        start: BitRate(1_000_000),
        most: BitRate(5_000_000),
        packet: 1012,
        frame_period: Duration::from_millis(20),
    };
    MediaSender::new(&RcConfig::by_name(name).expect("it ships"), &birth).expect("in bounds")
}

/// All packets that leave up to `until`.
fn drain(sender: &mut MediaSender, until: Instant) -> Vec<(Instant, MediaPacket)> {
    let mut all = Vec::new();
    let mut now = Instant::ZERO;
    while now <= until {
        while let Some(packet) = sender.poll_transmit(now) {
            all.push((now, packet));
        }
        now = sender.next();
    }
    all
}

#[test]
fn a_frame_is_cut_into_full_packets_paced_and_marked_at_its_end() {
    let mut sender = sender("gcc");
    sender.write(Instant::ZERO, 7, 2500);
    assert_eq!(sender.waited(at(3)), Duration::from_millis(3));
    let all = drain(&mut sender, at(1000));
    let found: Vec<_> = all.iter().map(|(_, p)| (p.seq, p.frame, p.payload, p.last)).collect();
    assert_eq!(found, [(0, 7, 1000, false), (1, 7, 1000, false), (2, 7, 500, true)]);
    // 1012 B at 2.5 Mbit/s.
    let gap = all[1].0.since(all[0].0);
    assert_eq!(gap, Duration::from_nanos(3_238_400));
    assert_eq!(sender.next(), Instant::NEVER);
}

#[test]
fn reports_come_after_each_frame_or_16_packets_or_by_time() {
    let mut receiver = MediaReceiver::new(Reporting::Rfc8888);
    assert_eq!(receiver.due(), Instant::NEVER);
    receiver.on_packet(at(10), 0, false, false);
    assert_eq!(receiver.due(), at(40));
    receiver.on_packet(at(12), 1, false, true);
    let report = receiver.report(at(12)).expect("the frame ends");
    assert_eq!((report.begin, report.end, report.bytes), (0, 2, 28 + 20 + 4));
    assert_eq!(receiver.report(at(13)), None);
    for seq in 2..18 {
        assert_eq!(receiver.report(at(14)), None);
        receiver.on_packet(at(14), seq, false, false);
    }
    assert!(receiver.report(at(14)).is_some());
    let mut periodic = MediaReceiver::new(Reporting::TransportWide(Duration::from_millis(50)));
    (0..40).for_each(|seq| periodic.on_packet(at(20), seq, false, true));
    assert_eq!(periodic.due(), at(50));
    let report = periodic.report(at(50)).expect("it is time");
    // 3 chunks of 14 states, 40 times: 46 B, padded to 48.
    assert_eq!(report.bytes, 28 + 20 + 48);
}

#[test]
fn arrival_times_have_the_unit_of_the_report() {
    let mut receiver = MediaReceiver::new(Reporting::TransportWide(Duration::from_millis(50)));
    receiver.on_packet(Instant::from_nanos(1_499_999), 0, true, true);
    let report = receiver.report(at(50)).expect("it is time");
    let all: Vec<_> = receiver.content(report).collect();
    assert_eq!(all, [MediaArrival { seq: 0, at: Instant::from_nanos(1_250_000), ce: true }]);
}

#[test]
fn a_lost_report_is_made_up_for_by_rfc_8888_and_not_by_transport_wide_ones() {
    for (reporting, wanted) in
        [(Reporting::Rfc8888, 2), (Reporting::TransportWide(Duration::from_millis(50)), 1)]
    {
        let mut receiver = MediaReceiver::new(reporting);
        receiver.on_packet(at(1), 0, false, true);
        let _lost = receiver.report(at(50));
        receiver.on_packet(at(60), 1, false, true);
        let report = receiver.report(at(100)).expect("it is time");
        assert_eq!(receiver.content(report).count(), wanted);
        assert_eq!(receiver.content(report).count(), 0, "once");
    }
}

/// Sends six packets in frames of one, of which number 2 is lost, and returns the sender, its
/// receiver and the departures.
fn six(name: &str) -> (MediaSender, MediaReceiver) {
    let mut sender = sender(name);
    let mut receiver = MediaReceiver::new(sender.reporting());
    for frame in 0..6 {
        let now = at(20 * frame);
        sender.write(now, frame, 400);
        let packet = sender.poll_transmit(now).expect("the window has room");
        assert_eq!(packet.seq, frame);
        if frame != 2 {
            receiver.on_packet(now, packet.seq, false, packet.last);
        }
    }
    (sender, receiver)
}

#[test]
fn nothing_of_the_reported_packets_stays_in_flight() {
    for name in ["gcc", "scream"] {
        let (mut sender, mut receiver) = six(name);
        let report = receiver.report(at(120)).expect("it is time");
        sender.on_report(at(120), report, receiver.content(report));
        assert_eq!(sender.in_flight(), 0, "{name}");
    }
}

/// The rate of GCC after 5 s in which each packet whose number is a multiple of `lose` is lost.
fn after_losses(lose: u64) -> BitRate {
    let mut sender = sender("gcc");
    let mut receiver = MediaReceiver::new(sender.reporting());
    for frame in 0..250 {
        let now = at(20 * frame);
        sender.write(now, frame, 400);
        while let Some(packet) = sender.poll_transmit(now) {
            if packet.seq % lose != 0 {
                receiver.on_packet(now, packet.seq, false, packet.last);
            }
        }
        if let Some(report) = receiver.report(now) {
            sender.on_report(now, report, receiver.content(report));
        }
    }
    sender.target()
}

#[test]
fn a_gap_is_a_loss() {
    assert!(after_losses(4) < after_losses(1000));
}

#[test]
fn without_reports_a_window_stops_the_sender_for_half_a_second_only() {
    let mut sender = sender("scream");
    for frame in 0..20 {
        sender.write(Instant::ZERO, frame, 1000);
    }
    // 9000 B may be in flight, eight packets of 1012 B.
    let all = drain(&mut sender, at(600));
    let last = all[7].0;
    assert_eq!(all[8].0, last + Duration::from_millis(500));
}

#[test]
fn predicted_arrivals_are_reported_before_they_happen_and_keep_the_order_of_the_queue() {
    let mut receiver = MediaReceiver::new(Reporting::TransportWide(Duration::from_millis(50)));
    // The wait of 90 ms shrinks faster than time passes.
    for (now, arrives, seq) in [(51, 141, 0), (52, 100, 1), (53, 150, 2)] {
        receiver.on_prediction(at(now), at(arrives), seq, false, false);
    }
    let report = receiver.report(at(53)).expect("the first packet made it due");
    let arrivals: Vec<_> = receiver.content(report).map(|arrival| arrival.at).collect();
    assert_eq!(arrivals, [141, 141, 150].map(at));
}
