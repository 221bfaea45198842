//! Queue disciplines: they store packets in lanes, and choose the lane to serve and the victim of
//! an overflow.
//!
//! To add one: a file in `discipline/`, and a line in the list of `kinds!`.

pub mod dual_queue;
pub mod fifo;
pub mod fq_codel;
pub mod protocol;
pub mod sfq;

use crate::aqm::AqmConfig;
pub use crate::lane::{Lane, Queued};
use alloc::boxed::Box;
use core::fmt::Debug;
pub use fq_codel::lanes;
use justfull_base::{Instant, Packet, forwarded, kinds};

/// The packets that leave a full queue so that another may enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The lane that loses packets.
    pub lane: Lane,
    /// The end of the lane they leave from.
    pub end: End,
    /// Number of packets: at least 1, at most the number waiting in the lane.
    pub packets: u32,
}

impl Victim {
    /// The last packet of `lane`.
    #[must_use]
    pub const fn last_of(lane: Lane) -> Self {
        Self { lane, end: End::Tail, packets: 1 }
    }

    /// The first `packets` of `lane`.
    #[must_use]
    pub const fn first_of(lane: Lane, packets: u32) -> Self {
        Self { lane, end: End::Head, packets }
    }
}

/// One of the two ends of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end at which packets leave.
    Head,
    /// The end at which packets enter.
    Tail,
}

/// Properties of a discipline that follow from its settings.
pub trait DisciplineSettings {
    /// The AQM that is part of the discipline, if any.
    fn own_aqm(&self) -> Option<AqmConfig> {
        None
    }

    /// True if packets of one flow may wait in different lanes, and so leave in another order than
    /// they arrived.
    fn splits_flows(&self) -> bool {
        false
    }

    /// True if it has a class of lanes for urgent QoS flows.
    fn has_classes(&self) -> bool {
        false
    }

    /// If it has classes, serves the QoS flows in `urgent`, a bit for each QFI, before the others.
    fn serve_first(&mut self, _urgent: u64) {}
}

kinds! {
    $ each;

    /// Which discipline, with its settings, as in a scenario file: `kind = "sfq"` and the keys of
    /// its configuration.
    #[derive(Clone, Debug, PartialEq)]
    pub enum DisciplineConfig = Fifo;

    /// A discipline of any kind; `key` is the key of its stream of chance
    /// ([`stream_key`](justfull_base::rng::stream_key)). The large ones are boxed: a queue with a
    /// single lane is small.
    #[derive(Debug)]
    // `repr(u8)` forces an explicit tag: it is read several times per packet, and a tag in a
    // variant's fields is slower to decode.
    #[repr(u8)]
    pub enum AnyDiscipline(key: u64) or Box<dyn Discipline + Send>;

    "fifo" Fifo = fifo::{Fifo, FifoConfig};
    "protocol" Protocol = protocol::{ByProtocol in Box, ByProtocolConfig};
    "sfq" Sfq = sfq::{Sfq in Box, SfqConfig};
    "fq_codel" FqCoDel = fq_codel::{FqCoDel in Box, FqCoDelConfig};
    "lanes" Lanes = lanes::{Lanes in Box, LanesConfig};
    "dual_queue" DualQueue = dual_queue::{DualQueue in Box, DualQueueConfig};
}

forwarded! {
    by each for AnyDiscipline;

    /// Storage and order of service.
    ///
    /// The caller is [`crate::ManagedQueue`]. A lane that holds packets is *active*. All packets of
    /// one flow are in the same lane, in the order they were pushed, unless the discipline [splits
    /// flows](DisciplineSettings::splits_flows).
    pub trait Discipline: Debug {
        /// Number of lanes, 1 to 65 536.
        fn lanes(&self) -> u32;

        /// Called before each arrival. May move packets between lanes (whole flows, in order); true
        /// if it did.
        fn reshuffle(&mut self, _now: Instant) -> bool {
            false
        }

        /// The lane of `packet`: the same for all packets of its flow until the next `reshuffle`.
        fn lane_of(&self, packet: &Packet) -> Lane;

        /// False if `lane` itself has no room for `size` more bytes, regardless of the whole queue.
        fn lane_admits(&self, _lane: Lane, _size: u32) -> bool {
            true
        }

        /// Bytes waiting in `lane`; none if the discipline has a single lane, since the queue
        /// already counts it.
        #[inline]
        fn lane_bytes(&self, _lane: Lane) -> Option<u64> {
            None
        }

        /// True if the AQM signals no packet of `lane` now.
        #[inline]
        fn spares(&self, _lane: Lane) -> bool {
            false
        }

        /// True if [`Discipline::goes_before`] can be true.
        fn interrupts(&self) -> bool {
            false
        }

        /// True if a waiting packet should leave before the rest of `begun`, a packet of this
        /// discipline that is partly sent.
        #[inline]
        fn goes_before(&self, _begun: &Packet) -> bool {
            false
        }

        /// Appends a packet to `lane`.
        fn push_back(&mut self, lane: Lane, queued: Queued);

        /// Returns a packet to the head of `lane` after `pop` and `served`. It is that lane's turn
        /// again.
        fn push_front(&mut self, lane: Lane, queued: Queued);

        /// The active lane whose turn it is; none if no packet waits.
        fn turn(&self) -> Option<Lane>;

        /// Like [`Discipline::turn`], but as part of a dequeue: does the work that the discipline
        /// defers until then. Also called if no packet waits.
        #[inline]
        fn advance(&mut self) -> Option<Lane> {
            self.turn()
        }

        /// The packet at the head of `lane`.
        fn head(&self, lane: Lane) -> Option<&Queued>;

        /// The packet at the head of the lane whose turn it is.
        #[inline]
        fn first(&self) -> Option<&Queued> {
            self.head(self.turn()?)
        }

        /// Calls `visit` with the waiting packets, in the order in which they would leave without
        /// further arrivals or drops. Stops if `visit` returns false or the order is not known
        /// without a change of state: a discipline with turns visits only the first packet.
        fn visit(&self, visit: &mut dyn FnMut(&Packet) -> bool) {
            if let Some(queued) = self.first() {
                visit(&queued.packet);
            }
        }

        /// Takes the head of `lane`. The lane keeps its turn while it is active.
        fn pop(&mut self, lane: Lane) -> Option<Queued>;

        /// A packet of `size` bytes that `pop` took from `lane` is delivered; the turn may pass on.
        /// A packet that is popped and then dropped costs its lane nothing.
        fn served(&mut self, lane: Lane, size: u32);

        /// The victims that make room for a packet of `size` bytes in `arriving`; none if the
        /// arriving packet is itself the victim.
        fn victim(&self, arriving: Lane, size: u32) -> Option<Victim>;

        /// Takes the last packet of `lane`.
        fn pop_tail(&mut self, lane: Lane) -> Option<Queued>;

        /// Number of waiting packets.
        fn len(&self) -> usize;

        /// True if no packet waits.
        fn is_empty(&self) -> bool {
            self.len() == 0
        }

        /// Visits all packets, lane by lane from the head, and removes each packet for which `keep`
        /// returns false.
        fn retain(&mut self, keep: &mut dyn FnMut(Lane, &mut Queued) -> bool);

        /// Allocates now all that it needs while at most `packets` packets wait.
        fn reserve(&mut self, _packets: usize) {}
    }
}

pub(crate) use each;

impl DisciplineConfig {
    /// See [`DisciplineSettings::own_aqm`].
    #[must_use]
    pub fn own_aqm(&self) -> Option<AqmConfig> {
        each!(config self, c => c.own_aqm(), or None)
    }

    /// See [`DisciplineSettings::has_classes`].
    #[must_use]
    pub fn has_classes(&self) -> bool {
        each!(config self, c => c.has_classes(), or false)
    }

    /// See [`DisciplineSettings::serve_first`].
    pub fn serve_first(&mut self, urgent: u64) {
        each!(config self, c => c.serve_first(urgent), or ());
    }

    /// See [`DisciplineSettings::splits_flows`].
    #[must_use]
    pub fn splits_flows(&self) -> bool {
        each!(config self, c => c.splits_flows(), or true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::vec::Vec;

    fn queued(id: u64) -> Queued {
        Queued { packet: Packet { id, size: 100, ..Packet::default() }, ..Queued::default() }
    }

    /// Two lanes: even packet numbers in lane 6, odd ones in lane 5. Returns values that no other
    /// discipline returns.
    #[derive(Clone, Debug, Default)]
    struct Own {
        waiting: Vec<Queued>,
        served: u32,
        advanced: u32,
    }

    impl Discipline for Own {
        fn lanes(&self) -> u32 {
            7
        }
        fn reshuffle(&mut self, now: Instant) -> bool {
            now > Instant::ZERO
        }
        fn lane_of(&self, packet: &Packet) -> Lane {
            if packet.id.is_multiple_of(2) { 6 } else { 5 }
        }
        fn lane_admits(&self, lane: Lane, _: u32) -> bool {
            lane == 6
        }
        fn lane_bytes(&self, lane: Lane) -> Option<u64> {
            (lane == 6).then_some(9)
        }
        fn push_back(&mut self, _: Lane, queued: Queued) {
            self.waiting.push(queued);
        }
        fn push_front(&mut self, _: Lane, queued: Queued) {
            self.waiting.insert(0, queued);
        }
        fn turn(&self) -> Option<Lane> {
            self.waiting.first().map(|queued| self.lane_of(&queued.packet))
        }
        fn advance(&mut self) -> Option<Lane> {
            self.advanced += 1;
            self.turn()
        }
        fn head(&self, _: Lane) -> Option<&Queued> {
            self.waiting.first()
        }
        fn pop(&mut self, _: Lane) -> Option<Queued> {
            (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
        }
        fn served(&mut self, _: Lane, size: u32) {
            self.served += size;
        }
        fn victim(&self, arriving: Lane, _: u32) -> Option<Victim> {
            (arriving == 5).then(|| Victim::first_of(6, 3))
        }
        fn pop_tail(&mut self, _: Lane) -> Option<Queued> {
            self.waiting.pop()
        }
        fn len(&self) -> usize {
            self.waiting.len()
        }
        fn retain(&mut self, keep: &mut dyn FnMut(Lane, &mut Queued) -> bool) {
            self.waiting.retain_mut(|queued| keep(6, queued));
        }
    }

    fn ids(discipline: &impl Discipline) -> Vec<u64> {
        let mut seen = Vec::new();
        discipline.visit(&mut |packet| {
            seen.push(packet.id);
            true
        });
        seen
    }

    #[test]
    fn a_users_own_discipline_is_asked_everything_and_taken_at_its_word() {
        let mut any = AnyDiscipline::Custom(Box::<Own>::default());
        assert_eq!(
            (any.lanes(), any.len(), any.is_empty(), any.turn(), any.first()),
            (7, 0, true, None, None)
        );
        assert!(!any.reshuffle(Instant::ZERO) && any.reshuffle(Instant::from_nanos(1)));
        assert_eq!([any.lane_of(&queued(2).packet), any.lane_of(&queued(3).packet)], [6, 5]);
        assert_eq!([any.lane_admits(6, 1), any.lane_admits(5, 1)], [true, false]);
        assert_eq!([any.lane_bytes(6), any.lane_bytes(5)], [Some(9), None]);
        any.push_back(6, queued(2));
        any.push_front(5, queued(3));
        assert_eq!(
            (any.len(), any.is_empty(), any.turn(), any.advance()),
            (2, false, Some(5), Some(5))
        );
        assert_eq!([any.first(), any.head(5)], [Some(&queued(3)); 2]);
        assert_eq!(ids(&any), [3], "without a walk of its own the first alone is shown");
        assert_eq!((any.victim(5, 1), any.victim(6, 1)), (Some(Victim::first_of(6, 3)), None));
        assert_eq!((any.pop_tail(6), any.len()), (Some(queued(2)), 1));
        any.push_back(6, queued(4));
        any.retain(&mut |_, queued| queued.packet.id == 4);
        assert_eq!((any.pop(6), any.pop(6)), (Some(queued(4)), None));
        any.served(6, 100);
        assert!(format!("{any:?}").contains("served: 100, advanced: 1"), "{any:?}");
    }

    #[test]
    fn a_discipline_that_says_nothing_more_moves_nothing_and_has_room() {
        let mut fifo = Fifo::default();
        assert!(!fifo.reshuffle(Instant::from_nanos(1)) && fifo.lane_admits(0, u32::MAX));
        assert_eq!(
            (fifo.lane_bytes(0), fifo.advance(), fifo.first(), fifo.is_empty()),
            (None, None, None, true)
        );
        (0..5).for_each(|id| fifo.push_back(0, queued(id)));
        assert_eq!(
            (fifo.advance(), fifo.first(), fifo.is_empty()),
            (Some(0), Some(&queued(0)), false)
        );
        assert_eq!(ids(&fifo), [0, 1, 2, 3, 4]);
        let mut seen = 0;
        fifo.visit(&mut |_| {
            seen += 1;
            seen < 3
        });
        assert_eq!(seen, 3, "until the visitor has enough");
    }

    #[test]
    fn each_kind_has_its_lanes_and_only_fq_codel_an_aqm_of_its_own() {
        let kinds = [
            (DisciplineConfig::default(), 1),
            (DisciplineConfig::Protocol(ByProtocolConfig {}), 2),
            (DisciplineConfig::Sfq(SfqConfig { lanes: 9, ..SfqConfig::default() }), 9),
            (DisciplineConfig::FqCoDel(FqCoDelConfig { lanes: 8, ..FqCoDelConfig::default() }), 8),
        ];
        for (config, lanes) in &kinds {
            assert_eq!(AnyDiscipline::new(config, 1).expect("within bounds").lanes(), *lanes);
            let own = config.own_aqm();
            assert_eq!(own.is_some(), *lanes == 8, "{config:?}");
            assert!(
                own.is_none_or(|aqm| aqm == AqmConfig::CoDel(crate::aqm::CoDelConfig::default()))
            );
        }
        let none = SfqConfig { lanes: 0, ..SfqConfig::default() };
        assert!(DisciplineConfig::Sfq(none).validate().is_err());
    }
}
