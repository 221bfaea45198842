use super::*;
use crate::aqm::AqmConfig;
use crate::limit::Limit;
use crate::managed::{ManagedQueue, QueueConfig};
use justfull_base::{DropReason, Event, Layer, Probe, Silent};
use std::vec::Vec;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// The dropped packets by flow and set, with the reason.
#[derive(Default)]
struct Drops(Vec<(u32, u16, DropReason)>);

impl Probe for Drops {
    fn on_event(&mut self, _: Instant, event: &Event) {
        if let Event::Dropped { packet, reason, .. } = event {
            self.0.push((packet.flow, packet.set.number, *reason));
        }
    }
}

fn queue(config: PduSetConfig) -> ManagedQueue {
    let aqm = AqmConfig::PduSet(config);
    let config = QueueConfig { aqm, ..QueueConfig::tail_drop(Limit::Unlimited) };
    ManagedQueue::new(Layer::Rlc, &config, 1).expect("in bounds")
}

/// `packets` of set `number` with this `importance` arrive at `ms`.
fn arrive(queue: &mut ManagedQueue, ms: u64, number: u16, importance: u8, packets: u64) {
    for id in 0..packets {
        let set = PduSet { number, importance };
        let packet = Packet { id, size: 1000, set, ..Packet::default() };
        queue.enqueue(at(ms), packet, &mut Silent);
    }
}

/// The drops of the looks up to `ms`.
fn looks(queue: &mut ManagedQueue, ms: u64) -> Vec<(u32, u16, DropReason)> {
    let mut drops = Drops::default();
    while let Some(due) = queue.next_timeout().filter(|due| *due <= at(ms)) {
        queue.on_timeout(due, &mut drops);
    }
    drops.0
}

const LATE: DropReason = DropReason::AqmTimeout;

#[test]
fn in_congestion_waiting_sets_of_low_importance_go_whole_and_important_ones_stay() {
    let mut queue = queue(PduSetConfig::default());
    arrive(&mut queue, 0, 0, 1, 2);
    arrive(&mut queue, 20, 1, 3, 2);
    assert_eq!(looks(&mut queue, 49), []);
    assert_eq!(looks(&mut queue, 50), [(0, 1, LATE); 2]);
    // Of a set that has ended, later packets are dropped at their arrival.
    let before = queue.backlog_packets();
    arrive(&mut queue, 51, 1, 3, 1);
    assert_eq!(queue.backlog_packets(), before);
    assert_eq!(queue.counters().dropped(DropReason::AqmEnqueue).packets, 1);
    // All go at the end of the timer.
    assert_eq!(looks(&mut queue, 149), []);
    assert_eq!(looks(&mut queue, 150), [(0, 0, LATE); 2]);
    assert_eq!((queue.backlog_packets(), looks(&mut queue, 400).len()), (0, 0));
    assert_eq!(queue.next_timeout(), None, "an empty queue is not looked at");
    queue.assert_conserved();
}

#[test]
fn a_set_ends_with_its_first_packet_if_sets_are_whole_and_packet_by_packet_if_not() {
    for (whole, dropped) in [(true, 2), (false, 1)] {
        let config = PduSetConfig { whole, ..PduSetConfig::default() };
        let mut queue = queue(config);
        arrive(&mut queue, 0, 7, 1, 1);
        arrive(&mut queue, 30, 7, 1, 1);
        assert_eq!(looks(&mut queue, 150).len(), dropped, "{whole}");
    }
}

#[test]
fn a_low_timer_spares_sets_that_are_younger() {
    let config = PduSetConfig { low_timer: Duration::from_millis(40), ..PduSetConfig::default() };
    let mut queue = queue(config);
    arrive(&mut queue, 0, 0, 1, 1);
    arrive(&mut queue, 5, 1, 2, 1);
    arrive(&mut queue, 30, 2, 2, 1);
    assert_eq!(looks(&mut queue, 60), [(0, 1, LATE)]);
    assert_eq!(looks(&mut queue, 70), [(0, 2, LATE)]);
}

#[test]
fn packets_without_a_set_live_for_the_timer_alone() {
    let mut queue = queue(PduSetConfig::default());
    arrive(&mut queue, 0, 0, 0, 1);
    arrive(&mut queue, 100, 0, 0, 1);
    assert_eq!(looks(&mut queue, 150), [(0, 0, LATE)], "the other one is another packet");
    assert_eq!(queue.backlog_packets(), 1);
}

#[test]
fn a_set_with_the_number_of_a_set_of_an_earlier_round_is_new() {
    let mut queue = queue(PduSetConfig::default());
    arrive(&mut queue, 0, 7, 1, 1);
    assert_eq!(looks(&mut queue, 150), [(0, 7, LATE)]);
    // 65 536 frames at 60 a second are 18 minutes.
    for (later, waiting) in [(59_000, 0), (1_092_266, 1)] {
        arrive(&mut queue, 150 + later, 7, 1, 1);
        assert_eq!(queue.backlog_packets(), waiting, "{later} ms later");
    }
}

#[test]
fn packets_that_the_rlc_has_begun_stay_and_the_rest_of_their_set_goes() {
    let mut queue = queue(PduSetConfig::default());
    arrive(&mut queue, 0, 3, 1, 3);
    let sent = queue.reserve(at(1), &mut Silent).expect("three wait");
    assert_eq!(looks(&mut queue, 150), [(0, 3, LATE); 2]);
    queue.commit(at(151), &sent, &mut Silent);
    assert_eq!(queue.counters().departed.packets, 1);
}
