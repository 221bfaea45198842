//! Signals as marks and as drops.

use super::*;

#[test]
fn a_signal_is_a_mark_only_where_the_aqm_marks_and_the_packet_is_capable() {
    for (marks, ecn, delivered) in [
        (true, Ecn::Ect0, Some(Ecn::Ce)),
        (true, Ecn::Ect1, None),
        (true, Ecn::Ce, Some(Ecn::Ce)),
        (true, Ecn::NotEct, None),
        (false, Ecn::Ect0, None),
    ] {
        // 501 bytes: signalled on enqueue and on dequeue; 1001 bytes: on dequeue only.
        for (size, marked) in [(501, 2), (1001, 1)] {
            let mut queue = fifo_with(Limit::Unlimited, Recorder { marks });
            let mut ledger = Ledger::default();
            queue.enqueue(at(0), Packet { ecn, ..packet(0, size) }, &mut ledger);
            assert_eq!(queue.dequeue(at(1), &mut ledger).map(|p| p.ecn), delivered);
            assert_eq!(ledger.marked.len(), if delivered.is_some() { marked } else { 0 });
            assert_eq!(ledger.dropped.len(), usize::from(delivered.is_none()));
        }
    }
}

/// The codepoint with which a packet with ECT(1) leaves a queue in which each packet waits above
/// CoDel's target for an interval; none if it is dropped.
fn ect1_under_codel(ect1: Ect1) -> Option<Ecn> {
    let aqm = AqmConfig::CoDel(codel::CoDelConfig::default());
    let config = QueueConfig { aqm, ect1, ..QueueConfig::default() };
    let mut queue = ManagedQueue::new(Layer::Sdap, &config, 11).expect("within bounds");
    let mut ledger = Ledger::default();
    for id in 0..4 {
        let ecn = if id == 1 { Ecn::Ect1 } else { Ecn::Ect0 };
        queue.enqueue(at(0), Packet { ecn, ..packet(id, 1500) }, &mut ledger);
    }
    queue.dequeue(at(10), &mut ledger);
    let second = queue.dequeue(at(110), &mut ledger)?;
    (second.id == 1).then_some(second.ecn)
}

#[test]
fn a_classic_aqm_drops_ect1_unless_ect1_is_set_to_classic() {
    assert_eq!(ect1_under_codel(Ect1::L4s), None);
    assert_eq!(ect1_under_codel(Ect1::Classic), Some(Ecn::Ce));
}

#[test]
fn an_arrival_that_is_refused_is_not_marked() {
    let mut queue = fifo_with(Limit::Packets(1), Recorder { marks: true });
    let mut ledger = Ledger::default();
    queue.enqueue(at(0), packet(0, 1000), &mut ledger);
    assert!(!queue.enqueue(at(0), Packet { ecn: Ecn::Ect0, ..packet(1, 501) }, &mut ledger));
    assert_eq!((ledger.marked.len(), ledger.dropped), (0, vec![(1, DropReason::Overflow)]));
}
