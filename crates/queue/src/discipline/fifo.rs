//! First in, first out, in one lane.
//!
//! Source: RFC 7567 section 2. The victim of an overflow is the arriving packet (tail drop). The
//! ring is allocated at the first packet and grows as needed; it does not shrink.
//!
//! Known weakness: a flow that sends little waits behind the packets of a flow that sends much.
//! Deviations: none.

use super::{Discipline, DisciplineSettings, Lane, Queued, Victim};
use alloc::collections::VecDeque;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Packet, params};

impl DisciplineSettings for FifoConfig {}

/// Describes the first-in-first-out discipline.
pub const DOC: MethodDoc = MethodDoc {
    name: "fifo",
    kind: "discipline",
    title: "First in, first out",
    text: "One lane for all flows. The victim of an overflow is the arriving packet (tail drop).",
    sources: "RFC 7567 section 2",
    deviations: "none",
    params: FifoConfig::params,
};

params! {
    /// Has no settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FifoConfig {}
}

/// A single lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fifo {
    ring: VecDeque<Place>,
}

/// A packet in one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Place(Queued);

impl Fifo {
    /// Makes room for one packet at first, then for four, for flows that send little; then for at
    /// least 64, so that bursts do not grow the ring again.
    #[cold]
    fn make_room(&mut self) {
        match self.ring.capacity() {
            0 => self.ring.reserve_exact(1),
            1 => self.ring.reserve_exact(4),
            places => self.ring.reserve(places.max(64)),
        }
    }
}

impl Fifo {
    /// A discipline without settings.
    ///
    /// # Errors
    /// None.
    pub fn new(_: &FifoConfig, _: u64) -> Result<Self, ConfigError> {
        Ok(Self::default())
    }
}

impl Discipline for Fifo {
    #[inline]
    fn lanes(&self) -> u32 {
        1
    }

    #[inline]
    fn lane_of(&self, _packet: &Packet) -> Lane {
        0
    }

    #[inline(always)]
    fn push_back(&mut self, _lane: Lane, queued: Queued) {
        if self.ring.len() == self.ring.capacity() {
            self.make_room();
        }
        self.ring.push_back(Place(queued));
    }

    #[inline]
    fn push_front(&mut self, _lane: Lane, queued: Queued) {
        if self.ring.len() == self.ring.capacity() {
            self.make_room();
        }
        self.ring.push_front(Place(queued));
    }

    #[inline]
    fn turn(&self) -> Option<Lane> {
        if self.ring.is_empty() { None } else { Some(0) }
    }

    #[inline(always)]
    fn head(&self, _lane: Lane) -> Option<&Queued> {
        self.ring.front().map(|place| &place.0)
    }

    fn visit(&self, visit: &mut dyn FnMut(&Packet) -> bool) {
        self.ring.iter().all(|place| visit(&place.0.packet));
    }

    #[inline(always)]
    fn pop(&mut self, _lane: Lane) -> Option<Queued> {
        self.ring.pop_front().map(|place| place.0)
    }

    #[inline]
    fn served(&mut self, _lane: Lane, _size: u32) {}

    #[inline]
    fn victim(&self, _arriving: Lane, _size: u32) -> Option<Victim> {
        None
    }

    fn pop_tail(&mut self, _lane: Lane) -> Option<Queued> {
        self.ring.pop_back().map(|place| place.0)
    }

    #[inline]
    fn len(&self) -> usize {
        self.ring.len()
    }

    fn retain(&mut self, keep: &mut dyn FnMut(Lane, &mut Queued) -> bool) {
        self.ring.retain_mut(|place| keep(0, &mut place.0));
    }

    fn reserve(&mut self, packets: usize) {
        self.ring.reserve_exact(packets.saturating_sub(self.ring.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_has_one_place_then_five_and_then_doubles_or_gets_64_more() {
        for front in [false, true] {
            let mut fifo = Fifo::default();
            let mut places = [0; 80];
            for place in &mut places {
                if front {
                    fifo.push_front(0, Queued::default());
                } else {
                    fifo.push_back(0, Queued::default());
                }
                *place = fifo.ring.capacity();
            }
            assert_eq!((places[0], &places[1..5]), (1, &[5; 4][..]));
            assert!((69..=128).contains(&places[5]), "{}", places[5]);
            assert!(
                places[6..69].iter().all(|place| *place == places[5]),
                "and stays while there is room"
            );
        }
    }
}
