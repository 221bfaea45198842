//! Two lanes by transport protocol, datagrams before TCP.
//!
//! Source: T20's released program. It puts UDP and ICMP in its first flow queue and TCP in its
//! second, and each opportunity serves the queues in the order of their index. A sparse datagram
//! flow never waits behind TCP's packets. The victim of an overflow is the last packet of the
//! longer lane, so TCP cannot displace datagrams.
//!
//! Known weakness: a datagram flow that fills the link starves TCP, and all datagram flows share a
//! lane. To treat flows alike, use [`super::sfq`]. Deviations: the program serves its queues in
//! turn packet by packet and starts again at the first at each opportunity. For a flow of less than
//! one packet per opportunity the order is the same.

use super::{Discipline, DisciplineSettings, Lane, Queued, Victim};
use alloc::collections::VecDeque;
use justfull_base::doc::MethodDoc;
use justfull_base::packet::Protocol;
use justfull_base::{ConfigError, Packet, params};

impl DisciplineSettings for ByProtocolConfig {}

/// Describes the discipline.
pub const DOC: MethodDoc = MethodDoc {
    name: "protocol",
    kind: "discipline",
    title: "Datagrams before TCP, a lane each",
    text: "UDP and ICMP wait in one lane, TCP in another; the first is served before the second. \
           The victim of an overflow is the last packet of the longer lane.",
    sources: "T20's released program",
    deviations: "strict order instead of a round that begins anew at each opportunity",
    params: ByProtocolConfig::params,
};

params! {
    /// Has no settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ByProtocolConfig {}
}

/// The two lanes: datagrams, TCP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByProtocol {
    lanes: [VecDeque<Queued>; 2],
    bytes: [u64; 2],
}

impl ByProtocol {
    fn taken(&mut self, lane: Lane, queued: Option<Queued>) -> Option<Queued> {
        self.bytes[usize::from(lane)] -= queued.map_or(0, |q| u64::from(q.packet.size));
        queued
    }
}

impl ByProtocol {
    /// A discipline without settings.
    ///
    /// # Errors
    /// None.
    pub fn new(_: &ByProtocolConfig, _: u64) -> Result<Self, ConfigError> {
        Ok(Self::default())
    }
}

impl Discipline for ByProtocol {
    fn lanes(&self) -> u32 {
        2
    }

    #[inline]
    fn lane_of(&self, packet: &Packet) -> Lane {
        Lane::from(packet.protocol == Protocol::Tcp)
    }

    #[inline]
    fn push_back(&mut self, lane: Lane, queued: Queued) {
        self.bytes[usize::from(lane)] += u64::from(queued.packet.size);
        self.lanes[usize::from(lane)].push_back(queued);
    }

    fn push_front(&mut self, lane: Lane, queued: Queued) {
        self.bytes[usize::from(lane)] += u64::from(queued.packet.size);
        self.lanes[usize::from(lane)].push_front(queued);
    }

    #[inline]
    fn turn(&self) -> Option<Lane> {
        self.lanes.iter().position(|lane| !lane.is_empty()).map(|i| i as Lane)
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
    fn served(&mut self, _lane: Lane, _size: u32) {}

    fn lane_bytes(&self, lane: Lane) -> Option<u64> {
        Some(self.bytes[usize::from(lane)])
    }

    fn victim(&self, arriving: Lane, _size: u32) -> Option<Victim> {
        let own = self.lanes[usize::from(arriving)].len();
        let other = 1 - arriving;
        (self.lanes[usize::from(other)].len() > own).then_some(Victim::last_of(other))
    }

    fn pop_tail(&mut self, lane: Lane) -> Option<Queued> {
        let queued = self.lanes[usize::from(lane)].pop_back();
        self.taken(lane, queued)
    }

    #[inline]
    fn len(&self) -> usize {
        self.lanes.iter().map(VecDeque::len).sum()
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
    }
}
