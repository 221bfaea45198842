//! Two lanes by ECN codepoint, L4S and classic, with a floor for the classic lane.
//!
//! Source: RFC 9332 section 2.5.1 and appendix A (the scheduler as weighted round robin); the
//! credit is the one of Linux's `sch_dualpi2` (`c_protection`).
//!
//! Controls who waits for whom: a packet with ECT(1) or CE is in the L4S lane. While both lanes
//! hold packets, L4S packets leave while the credit is not above 0. Each L4S packet adds `classic`
//! times its size to the credit, and each classic packet subtracts `l4s` times its size. So at
//! least `classic` of `classic` + `l4s` departing bytes are classic. When the queue was empty, the
//! credit starts anew, at an MTU's lead for the L4S lane. The victim of an overflow is the arriving
//! packet.
//!
//! Defaults: 1 to 15 (RFC 9332 section 2.5.1: 1/16); Linux has 10 to 90.
//!
//! Known weakness: a flow that sets ECT(1) and does not react to marks takes 15 of 16 parts until
//! `DualPI2` drops (overload). Deviations: the time-shifted FIFO of the RFC is left out. A packet
//! that the layer below gives back is the next.

use super::{Discipline, DisciplineSettings, Lane, Queued, Victim};
use crate::aqm::dualpi2::{CLASSIC, L4S, is_l4s};
use alloc::collections::VecDeque;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Packet, params};

impl DisciplineSettings for DualQueueConfig {
    /// A flow's marked packets are in the L4S lane, even if its other packets are classic.
    fn splits_flows(&self) -> bool {
        true
    }
}

/// Describes the discipline.
pub const DOC: MethodDoc = MethodDoc {
    name: "dual_queue",
    kind: "discipline",
    title: "Two lanes, L4S before classic, with a floor (RFC 9332)",
    text: "Packets with ECT(1) or CE wait in one lane, the others in another. The L4S lane is \
           served first, but the classic lane gets `classic` of every `classic` + `l4s` bytes \
           while it has packets. Meant for aqm `dualpi2`.",
    sources: "RFC 9332 section 2.5.1; Linux sch_dualpi2 (the credit)",
    deviations: "weighted round robin alone, no time-shifted FIFO",
    params: DualQueueConfig::params,
};

params! {
    /// Settings of [`DualQueue`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DualQueueConfig: "RFC 9332 section 2.5.1" {
        /// Weight of the classic lane; 0: L4S packets always go first. Linux has 10.
        classic: u8 as "shares" = 1;
        /// Weight of the L4S lane. Linux has 90.
        l4s: u8 as "shares" = 15, at_least(1);
        /// Lead of the L4S lane after an idle time, in packets of this size.
        mtu: Bytes = Bytes(1500), at_most(Bytes(1 << 20));
    }
}

/// The two lanes.
#[derive(Clone, Debug)]
pub struct DualQueue {
    weights: [i64; 2],
    lanes: [VecDeque<Queued>; 2],
    bytes: [u64; 2],
    /// The L4S lane goes first while this is not above 0.
    credit: i64,
    start: i64,
    /// The lanes of the packets that were given back, the next first: a packet may have been marked
    /// meanwhile, so that it comes back to the other lane.
    returned: VecDeque<Lane>,
}

impl DualQueue {
    /// The lanes with the settings of `config`.
    ///
    /// # Errors
    /// Names the setting that is out of its bounds.
    pub fn new(config: &DualQueueConfig, _: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let weights = [config.classic, config.l4s].map(i64::from);
        let start = config.mtu.0.cast_signed() * (weights[0] - weights[1]);
        Ok(Self {
            weights,
            lanes: Default::default(),
            bytes: [0; 2],
            credit: start,
            start,
            returned: VecDeque::new(),
        })
    }

    /// The addition to the credit when a packet of `size` bytes leaves `lane`; 0 while the other
    /// lane is empty.
    fn price(&self, lane: Lane, size: u32) -> i64 {
        let other = &self.lanes[usize::from(1 - lane)];
        match lane {
            _ if other.is_empty() => 0,
            L4S => self.weights[0] * i64::from(size),
            _ => -self.weights[1] * i64::from(size),
        }
    }

    /// The lane of a packet that was given back and is next; none without such a packet.
    fn returned_lane(&self) -> Option<Lane> {
        let waits = |lane: &Lane| self.head(*lane).is_some_and(|head| head.tag().is_none());
        self.returned.iter().copied().find(waits)
    }

    fn taken(&mut self, lane: Lane, queued: Option<Queued>) -> Option<Queued> {
        self.bytes[usize::from(lane)] -= queued.map_or(0, |q| u64::from(q.packet.size));
        queued
    }
}

impl Discipline for DualQueue {
    fn lanes(&self) -> u32 {
        2
    }

    #[inline]
    fn lane_of(&self, packet: &Packet) -> Lane {
        if is_l4s(packet.ecn) { L4S } else { CLASSIC }
    }

    #[inline]
    fn push_back(&mut self, lane: Lane, queued: Queued) {
        if self.is_empty() {
            self.credit = self.start;
        }
        self.bytes[usize::from(lane)] += u64::from(queued.packet.size);
        self.lanes[usize::from(lane)].push_back(queued);
    }

    fn push_front(&mut self, lane: Lane, queued: Queued) {
        self.credit -= self.price(lane, queued.packet.size);
        self.bytes[usize::from(lane)] += u64::from(queued.packet.size);
        self.lanes[usize::from(lane)].push_front(queued);
        self.returned.push_front(lane);
    }

    #[inline]
    fn turn(&self) -> Option<Lane> {
        match (self.lanes[0].is_empty(), self.lanes[1].is_empty()) {
            (true, true) => None,
            (true, false) => Some(L4S),
            (false, true) => Some(CLASSIC),
            (false, false) => {
                self.returned_lane().or(Some(if self.credit <= 0 { L4S } else { CLASSIC }))
            }
        }
    }

    #[inline]
    fn head(&self, lane: Lane) -> Option<&Queued> {
        self.lanes[usize::from(lane)].front()
    }

    #[inline]
    fn pop(&mut self, lane: Lane) -> Option<Queued> {
        let queued = self.lanes[usize::from(lane)].pop_front();
        self.taken(lane, queued)
    }

    #[inline]
    fn served(&mut self, lane: Lane, size: u32) {
        self.credit += self.price(lane, size);
        if let Some(at) = self.returned.iter().position(|returned| *returned == lane) {
            self.returned.remove(at);
        }
    }

    #[inline]
    fn lane_bytes(&self, lane: Lane) -> Option<u64> {
        Some(self.bytes[usize::from(lane)])
    }

    fn victim(&self, _arriving: Lane, _size: u32) -> Option<Victim> {
        None
    }

    fn pop_tail(&mut self, lane: Lane) -> Option<Queued> {
        let queued = self.lanes[usize::from(lane)].pop_back();
        self.taken(lane, queued)
    }

    #[inline]
    fn len(&self) -> usize {
        self.lanes[0].len() + self.lanes[1].len()
    }

    fn retain(&mut self, keep: &mut dyn FnMut(Lane, &mut Queued) -> bool) {
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            lane.retain_mut(|queued| keep(i as Lane, queued));
            self.bytes[i] = lane.iter().map(|queued| u64::from(queued.packet.size)).sum();
        }
    }

    fn reserve(&mut self, packets: usize) {
        for lane in &mut self.lanes {
            lane.reserve_exact(packets.saturating_sub(lane.len()));
        }
        self.returned.reserve_exact(packets.saturating_sub(self.returned.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Ecn;

    fn queued(id: u64, ecn: Ecn) -> Queued {
        Queued { packet: Packet { id, ecn, size: 1000, ..Packet::default() }, ..Queued::default() }
    }

    fn full(config: &DualQueueConfig) -> DualQueue {
        let mut queue = DualQueue::new(config, 0).expect("within bounds");
        for id in 0..2000 {
            let ecn = if id % 2 == 0 { Ecn::Ect0 } else { Ecn::Ect1 };
            let lane = queue.lane_of(&queued(id, ecn).packet);
            queue.push_back(lane, queued(id, ecn));
        }
        queue
    }

    fn serve(queue: &mut DualQueue) -> Lane {
        let lane = queue.advance().expect("packets wait");
        let packet = queue.pop(lane).expect("packets wait").packet;
        queue.served(lane, packet.size);
        lane
    }

    #[test]
    fn marked_and_ect1_packets_are_in_the_l4s_lane() {
        let queue = full(&DualQueueConfig::default());
        let lane = |ecn| queue.lane_of(&queued(0, ecn).packet);
        let lanes = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(lane);
        assert_eq!(lanes, [CLASSIC, CLASSIC, L4S, L4S]);
    }

    #[test]
    fn of_two_full_lanes_the_classic_one_gets_exactly_its_share() {
        for (classic, l4s) in [(1, 15), (10, 90), (1, 1)] {
            let mut queue = full(&DualQueueConfig { classic, l4s, ..Default::default() });
            let rounds = 8 * (usize::from(classic) + usize::from(l4s));
            let served = (0..rounds).filter(|_| serve(&mut queue) == CLASSIC).count();
            let share = 8 * usize::from(classic);
            assert!(share.abs_diff(served) <= 2, "{classic}:{l4s} {served} of {rounds}");
        }
        let mut first = full(&DualQueueConfig { classic: 0, ..Default::default() });
        assert!((0..1000).all(|_| serve(&mut first) == L4S), "without a floor L4S goes first");
        assert_eq!(serve(&mut first), CLASSIC);
    }

    #[test]
    fn a_packet_that_is_given_back_is_next_and_costs_nothing() {
        let mut queue = full(&DualQueueConfig::default());
        (0..15).for_each(|_| {
            serve(&mut queue);
        });
        let before = queue.credit;
        for lane in [CLASSIC, L4S] {
            let taken = queue.pop(lane).expect("packets wait");
            queue.served(lane, taken.packet.size);
            queue.push_front(lane, Queued::passed(taken.packet));
            assert_eq!((queue.credit, queue.turn()), (before, Some(lane)));
            assert_eq!(queue.first().map(|q| q.packet.id), Some(taken.packet.id));
        }
    }

    #[test]
    fn packets_that_are_given_back_leave_in_their_order_also_if_one_was_marked_meanwhile() {
        let mut queue = full(&DualQueueConfig::default());
        let first = queue.pop(CLASSIC).expect("packets wait").packet;
        let second = queue.pop(CLASSIC).expect("packets wait").packet;
        let marked = Packet { ecn: Ecn::Ce, ..second };
        for packet in [marked, first] {
            queue.push_front(queue.lane_of(&packet), Queued::passed(packet));
        }
        let mut next = || {
            let lane = queue.advance()?;
            let packet = queue.pop(lane)?.packet;
            queue.served(lane, packet.size);
            Some(packet.id)
        };
        assert_eq!([next(), next(), next()], [Some(0), Some(2), Some(1)]);
    }

    #[test]
    fn the_credit_starts_anew_once_the_queue_was_empty() {
        let mut queue = full(&DualQueueConfig::default());
        while queue.advance().is_some() {
            serve(&mut queue);
        }
        queue.push_back(CLASSIC, queued(0, Ecn::Ect0));
        queue.push_back(L4S, queued(1, Ecn::Ect1));
        assert_eq!((queue.credit, queue.turn()), (1500 * -14, Some(L4S)));
        let wrong = DualQueueConfig { l4s: 0, ..Default::default() };
        assert_eq!(DualQueue::new(&wrong, 0).expect_err("no share").field, "l4s");
    }
}
