//! Timeouts of AQMs.

use super::*;

#[test]
fn a_driver_gets_a_timeout_once_unless_an_earlier_one_comes_before_it() {
    #[derive(Debug)]
    struct Alarm;
    impl Aqm for Alarm {
        fn needs(&self) -> Needs {
            Needs { timeouts: true, ..Needs::default() }
        }
        fn on_dequeue(
            &mut self,
            _now: Instant,
            _view: &QueueView,
            _lane: Lane,
            _packet: &Packet,
            _tag: Tag,
            _sojourn: Duration,
        ) -> Verdict {
            Verdict::Pass
        }
        fn next_timeout(&self) -> Option<Instant> {
            Some(at(30))
        }
    }
    let mut queue = fifo_with(Limit::Unlimited, Alarm);
    assert_eq!((queue.arm_timeout(), queue.arm_timeout()), (Some(at(30)), None));
    assert_eq!((queue.take_timeout(at(50)), queue.take_timeout(at(30))), (false, true));
    assert_eq!((queue.take_timeout(at(30)), queue.arm_timeout()), (false, Some(at(30))));
    let mut silent = fifo_with(Limit::Unlimited, Sweeper { next: at(10), marks: true });
    assert_eq!((silent.arm_timeout(), silent.take_timeout(at(10))), (None, false));
}

/// Signals every 10 ms on all packets that have waited 25 ms or more.
#[derive(Debug)]
struct Sweeper {
    next: Instant,
    marks: bool,
}

impl Aqm for Sweeper {
    fn marks(&self) -> bool {
        self.marks
    }

    fn on_dequeue(
        &mut self,
        _now: Instant,
        _view: &QueueView,
        _lane: Lane,
        _packet: &Packet,
        _tag: Tag,
        _sojourn: Duration,
    ) -> Verdict {
        Verdict::Pass
    }

    fn next_timeout(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn on_timeout(&mut self, now: Instant, _view: &QueueView, scan: &mut dyn Scan) {
        self.next = now + Duration::from_millis(10);
        scan.each(&mut |_, packet, _| {
            let old = now.since(packet.enqueued) >= Duration::from_millis(25);
            if old { Verdict::Signal } else { Verdict::Pass }
        });
    }
}

#[test]
fn a_timeout_reaches_every_waiting_packet_and_no_reserved_one() {
    // The last discipline has a limit per lane, which would drop some of the thirty too early.
    for discipline in disciplines().into_iter().take(3) {
        let aqm = AnyAqm::Custom(Box::new(Sweeper { next: at(10), marks: true }));
        let discipline = AnyDiscipline::new(&discipline, 1).expect("within bounds");
        let mut queue = ManagedQueue::from_parts(Layer::Rlc, Limit::Unlimited, discipline, aqm)
            .expect("within bounds");
        let mut ledger = Ledger::default();
        for n in 0..30u32 {
            let ecn = if n % 3 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            let p = Packet { ecn, flow_hash: 9999 * (n % 5), ..packet(u64::from(n), 100) };
            queue.enqueue(at(u64::from(n)), p, &mut ledger);
        }
        let kept = queue.reserve(at(29), &mut ledger).expect("many wait");
        let waiting = u64::from(queue.waiting_packets());
        for _ in 0..2 {
            let due = queue.next_timeout().expect("it has a timer");
            queue.on_timeout(due, &mut ledger);
        }
        assert_eq!(queue.next_timeout(), Some(at(30)));
        assert!(ledger.dropped.is_empty(), "none was 25 ms old at 20 ms");
        queue.on_timeout(at(40), &mut ledger);
        // Packets 0 to 15 are old; a third of them, and the reserved one, stay.
        let old = (0..16u64).filter(|id| *id != kept.id);
        let (capable, others): (Vec<u64>, Vec<u64>) = old.partition(|id| id.is_multiple_of(3));
        ledger.marked.sort_unstable();
        ledger.dropped.sort_unstable_by_key(|d| d.0);
        assert_eq!(ledger.marked, capable);
        assert_eq!(
            ledger.dropped,
            others.iter().map(|id| (*id, DropReason::AqmTimeout)).collect::<Vec<_>>()
        );
        assert_eq!(u64::from(queue.waiting_packets()), waiting - others.len() as u64);
        queue.commit(at(41), &kept, &mut ledger);
        queue.assert_conserved();
    }
}
