//! Fair lanes in two classes: the lanes of urgent QoS flows go before all others.
//!
//! This project's. A lane is one of [`FqCoDel`]'s with `turns = "by_share"` and a quantum of 300 B,
//! from a pool (the module `slots`), in one of two classes:
//!
//! - Urgent: lanes of QoS flows whose priority is better than the last of their UE. They go first,
//!   and their packets are never signalled: a call does not react to signals. An operator polices
//!   these flows (TS 23.501 section 5.7.2: GBR and priority level).
//! - All others: each lane has a CoDel with a reserve ([`crate::aqm::codel`]), which grows with the
//!   round trip of the lane's sender up to `reach`. Only the lane's largest packets are signalled.
//!   Lanes of flows that do not fill their queues are *steady* (the module `steady`): they go
//!   before the other lanes of this class, with at most half of the rate, and are never signalled.
//!
//! A packet of the urgent class, and of the steady lanes, interrupts a packet of another lane that
//! is partly sent. Segments of NR's RLC allow this (TS 38.322 section 6.2.3: SN and SO), if the
//! UE's PDCP delivers out of order (TS 38.331 `outOfOrderDelivery`).
//!
//! A packet that finds the queue full costs the largest lane of the others packets from its head,
//! and an urgent lane only while no other holds any.
//!
//! Defaults: at most 512 lanes a class; CoDel's as the method Justfull has them, chosen on its
//! channels, but for `spacing` and `deadline`, chosen on cases drawn from the seeds 711 and 712;
//! `reach` on cases from the seeds 1 and 2, `steady` from 401 and 402. `tests/memory.rs` has the
//! memory of a lane.
//!
//! Known weaknesses: an urgent flow that fills the radio starves the others. A video call that
//! begins while the radio is slower than it, or that needs over half of the rate, gets one share
//! like a download. A call in a tunnel with a download waits as long as the download. A BBR sender
//! that loses a fifth of its packets assumes a policer and keeps to a lower rate.

use super::steady::Steady;
use super::{FqCoDel, FqCoDelConfig, Turns};
use crate::aqm::AqmConfig;
use crate::aqm::CoDelConfig;
use crate::discipline::{Discipline, DisciplineSettings, Lane, Queued, Victim};
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Packet, params};

impl DisciplineSettings for LanesConfig {
    fn own_aqm(&self) -> Option<AqmConfig> {
        Some(AqmConfig::CoDel(self.codel()))
    }

    fn has_classes(&self) -> bool {
        true
    }

    fn serve_first(&mut self, urgent: u64) {
        self.urgent |= if self.classes { urgent } else { 0 };
    }
}

/// Describes the discipline.
pub const DOC: MethodDoc = MethodDoc {
    name: "lanes",
    kind: "discipline",
    title: "Fair lanes, urgent QoS flows first, each just full",
    text: "Flows are hashed to lanes, which take turns by share: a flow that sends less than its \
           share goes first. Lanes of QoS flows with a better priority than the last of their UE \
           go before all others, and are never signalled. Each other lane has its own CoDel with \
           a reserve that grows with its sender's round trip. Of these lanes the steady ones, \
           which run empty again and again, go first with at most half of the rate, and are not \
           signalled. A lane that goes first does not wait for the rest of a packet that is partly \
           sent. A full queue drops from the head of the lane with most bytes.",
    sources: "This project; RFC 8290; Golestani 1994",
    deviations: "None.",
    params: LanesConfig::params,
};

params! {
    /// Settings of [`Lanes`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LanesConfig {
        /// Most lanes of a class.
        lanes: u16 as "lanes" = 512, within(1, 32_767), "a packet needs a lane";
        /// QoS flows that are served before others, a bit for each QFI; the bearer's priorities add
        /// further ones.
        urgent: u64 as "bits" = 0;
        /// The bearer's priorities add QoS flows to the urgent ones.
        classes: bool = true;
        /// Sojourn time below which a lane's CoDel signals nothing.
        target: Duration = Duration::from_millis(15), stated("above 0s, at most the interval");
        /// How long a lane must stay above the target before the first signal.
        interval: Duration = Duration::from_millis(100), stated("1us to 1h");
        /// Time at its greatest rate of late for which a lane may have bytes.
        reserve: Duration = Duration::from_millis(20), stated("the target to 1s");
        /// A packet that has waited this long is above the target all the same.
        ceiling: Duration = Duration::from_millis(45), stated("at least reserve");
        /// Time in which a greatest rate that is not reached again falls to 1/e.
        memory: Duration = Duration::from_secs(30), stated("100ms to 1h");
        /// Drop a packet that has waited this long while more than four of its size are behind it.
        deadline: Duration = Duration::from_millis(60), stated("0s for off, else above the target");
        /// Time over which the queue's rate is averaged for the radio's clock.
        dip: Duration = Duration::from_secs(2), stated("0s for off, else 100ms to 1h");
        /// A lane drops at most one packet per this many packets that it passes; 0 for no bound.
        spacing: u32 as "packets" = 0, stated("0 to 1000");
        /// Greatest reserve of a lane: half of its sender's round trip as measured at the lane.
        reach: Duration = Duration::from_millis(60), stated("0s for off, else reserve to 1s");
        /// A lane of others is steady until it has held packets for this long: it goes first, and
        /// is never signalled; 0s for off.
        steady: Duration = Duration::from_millis(50),
            rule("0s for off, else 10ms to 1s", |c| {
                let allowed = Duration::from_millis(10)..=Duration::from_secs(1);
                c.steady.is_zero() || allowed.contains(&c.steady)
            }), "longer than a burst of a slot, shorter than a user bears";
        /// Urgent and steady lanes do not wait for the rest of a packet of another lane that is
        /// partly sent.
        interrupt: bool = true;
        /// Pass packets that are smaller than the largest of the last dozens of their lane.
        spare_small: bool = true;
        /// Mark packets that are ECN-capable in place of dropping them.
        ecn: bool = true;
    }
    check |c| c.codel().validate();
}

impl LanesConfig {
    /// Settings of the lanes' CoDel.
    #[must_use]
    pub fn codel(&self) -> CoDelConfig {
        CoDelConfig {
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            reserve: self.reserve,
            ceiling: self.ceiling,
            memory: self.memory,
            deadline: self.deadline,
            dip: self.dip,
            spacing: self.spacing,
            reach: self.reach,
            spare_small: self.spare_small,
            spared: self.lanes,
            ..CoDelConfig::default()
        }
    }
}

/// Lanes of both classes: the urgent ones first, then the others.
#[derive(Clone, Debug)]
pub struct Lanes {
    number: u16,
    urgent_qfis: u64,
    urgent: FqCoDel,
    others: FqCoDel,
    steady: Steady,
    /// The lane in turn goes before the other lanes of its class.
    goes_first: bool,
    /// A packet of the others was given back and is the next.
    given_back: bool,
    interrupt: bool,
}

impl Lanes {
    /// The lanes with the settings of `config`, with the hash keyed by `key`.
    ///
    /// # Errors
    /// Names the setting that is out of its bounds.
    pub fn new(config: &LanesConfig, key: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let class = FqCoDelConfig {
            lanes: config.lanes,
            quantum: Bytes(300),
            turns: Turns::ByShare,
            ..FqCoDelConfig::default()
        };
        Ok(Self {
            number: config.lanes,
            urgent_qfis: config.urgent,
            urgent: FqCoDel::pooled(&class, key)?,
            others: FqCoDel::pooled(&class, key)?,
            steady: Steady::new(config.steady),
            goes_first: false,
            given_back: false,
            interrupt: config.interrupt,
        })
    }

    /// The class of `lane`, its first lane, and its own number there.
    fn class(&mut self, lane: Lane) -> (&mut FqCoDel, Lane) {
        if lane < self.number {
            (&mut self.urgent, lane)
        } else {
            (&mut self.others, lane - self.number)
        }
    }

    fn seen(&self, lane: Lane) -> (&FqCoDel, Lane) {
        if lane < self.number { (&self.urgent, lane) } else { (&self.others, lane - self.number) }
    }

    /// The steady lane, by its own number, that goes before the other lanes of its class.
    fn steady_turn(&self) -> Option<Lane> {
        let holds = |lane| self.others.head(lane).map(|queued| queued.packet.size);
        if self.given_back { None } else { self.steady.turn(holds) }
    }

    fn of_others(&self, victim: Victim) -> Victim {
        Victim { lane: victim.lane + self.number, ..victim }
    }
}

impl Discipline for Lanes {
    fn lanes(&self) -> u32 {
        2 * u32::from(self.number)
    }

    fn lane_of(&self, packet: &Packet) -> Lane {
        if self.urgent_qfis >> packet.qfi.get() & 1 == 1 {
            self.urgent.lane_of(packet)
        } else {
            self.others.lane_of(packet) + self.number
        }
    }

    fn lane_bytes(&self, lane: Lane) -> Option<u64> {
        let (class, lane) = self.seen(lane);
        class.lane_bytes(lane)
    }

    fn push_back(&mut self, lane: Lane, queued: Queued) {
        if lane >= self.number {
            let Packet { enqueued, flow_hash, size, .. } = queued.packet;
            let lane = lane - self.number;
            let is_empty = self.others.head(lane).is_none();
            self.steady.arrives(enqueued, lane, flow_hash, size, is_empty);
        }
        let (class, lane) = self.class(lane);
        class.push_back(lane, queued);
    }

    fn push_front(&mut self, lane: Lane, queued: Queued) {
        self.given_back |= lane >= self.number;
        let (class, lane) = self.class(lane);
        class.push_front(lane, queued);
    }

    fn turn(&self) -> Option<Lane> {
        let others = || self.steady_turn().or_else(|| self.others.turn());
        self.urgent.turn().or_else(|| others().map(|lane| lane + self.number))
    }

    fn advance(&mut self) -> Option<Lane> {
        if self.urgent.len() > 0 {
            return self.urgent.advance();
        }
        let holds = |lane| self.others.head(lane).map(|queued| queued.packet.size);
        let steady = if self.given_back { None } else { self.steady.advance(holds) };
        self.goes_first = steady.is_some();
        let lane = steady.or_else(|| self.others.advance())?;
        Some(lane + self.number)
    }

    fn spares(&self, lane: Lane) -> bool {
        lane >= self.number && self.steady.is_steady(lane - self.number)
    }

    fn interrupts(&self) -> bool {
        self.interrupt
    }

    fn goes_before(&self, begun: &Packet) -> bool {
        if !self.interrupt || self.is_empty() {
            return false;
        }
        let lane = self.lane_of(begun);
        lane >= self.number
            && (self.urgent.len() > 0 || !self.spares(lane) && self.steady_turn().is_some())
    }

    fn head(&self, lane: Lane) -> Option<&Queued> {
        let (class, lane) = self.seen(lane);
        class.head(lane)
    }

    fn pop(&mut self, lane: Lane) -> Option<Queued> {
        let (class, lane) = self.class(lane);
        class.pop(lane)
    }

    fn served(&mut self, lane: Lane, size: u32) {
        if lane >= self.number {
            self.given_back = false;
            if core::mem::take(&mut self.goes_first) {
                self.steady.served_first(lane - self.number, size);
                return;
            }
            self.steady.served(size);
        }
        let (class, lane) = self.class(lane);
        class.served(lane, size);
    }

    /// The lane with most bytes of the class without urgent flows, if that has any.
    fn victim(&self, arriving: Lane, size: u32) -> Option<Victim> {
        let (own, lane) = self.seen(arriving);
        let of_others = if arriving >= self.number {
            own.victim(lane, size)
        } else {
            self.others.victim(Lane::MAX, 0)
        };
        let of_others = of_others.map(|victim| self.of_others(victim));
        of_others.or_else(|| if arriving < self.number { own.victim(lane, size) } else { None })
    }

    fn pop_tail(&mut self, lane: Lane) -> Option<Queued> {
        let (class, lane) = self.class(lane);
        class.pop_tail(lane)
    }

    fn len(&self) -> usize {
        self.urgent.len() + self.others.len()
    }

    fn retain(&mut self, keep: &mut dyn FnMut(Lane, &mut Queued) -> bool) {
        self.urgent.retain(keep);
        let number = self.number;
        self.others.retain(&mut |lane, queued| keep(lane + number, queued));
    }

    fn reserve(&mut self, packets: usize) {
        self.urgent.reserve(packets);
        self.others.reserve(packets);
        self.steady.reserve(self.number.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Qfi;

    fn lanes() -> Lanes {
        Lanes::new(&LanesConfig { urgent: 1 << 1, ..LanesConfig::default() }, 5).expect("sound")
    }

    fn queued(qfi: u8, flow_hash: u32, size: u32) -> Queued {
        let qfi = Qfi::new(qfi).expect("below 64");
        Queued { packet: Packet { qfi, flow_hash, size, ..Packet::default() }, ..Queued::default() }
    }

    fn push(lanes: &mut Lanes, queued: Queued) -> Lane {
        let lane = lanes.lane_of(&queued.packet);
        lanes.push_back(lane, queued);
        lane
    }

    #[test]
    fn urgent_packets_go_before_all_others_whatever_came_first() {
        let mut lanes = lanes();
        (0..20).for_each(|flow| _ = push(&mut lanes, queued(9, flow, 1500)));
        (0..3).for_each(|flow| _ = push(&mut lanes, queued(1, flow, 1500)));
        let mut qfis = alloc::vec::Vec::new();
        while let Some(lane) = lanes.advance() {
            assert_eq!(lanes.head(lane).map(|q| q.packet.qfi.get() == 1), Some(lane < 512));
            let packet = lanes.pop(lane).expect("it is active").packet;
            lanes.served(lane, packet.size);
            qfis.push(packet.qfi.get());
        }
        assert_eq!((&qfis[..3], qfis.len(), lanes.len()), (&[1, 1, 1][..], 23, 0));
    }

    #[test]
    fn an_overflow_costs_an_urgent_lane_packets_only_while_no_other_lane_holds_any() {
        let mut lanes = lanes();
        let urgent = push(&mut lanes, queued(1, 7, 1500));
        assert_eq!(lanes.victim(urgent, 100).map(|victim| victim.lane), Some(urgent));
        let other = push(&mut lanes, queued(9, 7, 40));
        assert!(other >= 512 && urgent < 512);
        for arriving in [urgent, other] {
            assert_eq!(lanes.victim(arriving, 1500).map(|v| (v.lane, v.packets)), Some((other, 1)));
        }
    }

    #[test]
    fn the_lanes_codel_spares_the_urgent_class_and_has_the_settings_of_the_queue() {
        let config = LanesConfig { lanes: 64, ecn: false, ..LanesConfig::default() };
        let codel = config.codel();
        assert!(LanesConfig { steady: Duration::from_millis(9), ..config }.validate().is_err());
        assert_eq!((codel.spared, codel.reach, codel.ecn), (64, config.reach, false));
        let mut changed = config;
        changed.serve_first(0b110);
        assert_eq!(changed.urgent, 0b110);
        let mut plain = LanesConfig { classes: false, ..config };
        plain.serve_first(0b110);
        assert_eq!(plain.urgent, 0);
    }

    #[test]
    fn without_steady_lanes_take_turns_as_by_share() {
        let config = LanesConfig { steady: Duration::ZERO, ..LanesConfig::default() };
        let class = FqCoDelConfig {
            lanes: config.lanes,
            quantum: Bytes(300),
            turns: Turns::ByShare,
            ..FqCoDelConfig::default()
        };
        let mut lanes = Lanes::new(&config, 5).expect("sound");
        let mut plain = FqCoDel::pooled(&class, 5).expect("sound");
        let mut rng = justfull_base::Rng::from_key(3);
        for _ in 0..5000 {
            if rng.chance(0.5) {
                let packet = queued(9, rng.below(20) as u32, 40 + rng.below(1460) as u32);
                let lane = plain.lane_of(&packet.packet);
                plain.push_back(lane, packet);
                assert_eq!(push(&mut lanes, packet), lane + 512);
            }
            let (own, other) = (lanes.advance(), plain.advance());
            assert_eq!(own, other.map(|lane| lane + 512));
            let (Some(own), Some(other)) = (own, other) else { continue };
            let packet = plain.pop(other).expect("it is active");
            assert_eq!(lanes.pop(own), Some(packet));
            assert!(!lanes.spares(own));
            if rng.chance(0.9) {
                lanes.served(own, packet.packet.size);
                plain.served(other, packet.packet.size);
            }
        }
    }

    #[test]
    fn urgent_and_steady_lanes_interrupt_a_packet_of_the_others_and_of_no_lane_like_their_own() {
        let mut lanes = lanes();
        let at = |ms| justfull_base::Instant::ZERO + Duration::from_millis(ms);
        let sent = |qfi, flow, ms| {
            let mut sent = queued(qfi, flow, 1000);
            sent.packet.enqueued = at(ms);
            sent
        };
        let (urgent, other, new) = (sent(1, 2, 70), sent(9, 3, 70), sent(9, 4, 70));
        assert!(!lanes.goes_before(&other.packet), "nothing waits");
        (1..=70).for_each(|ms| _ = push(&mut lanes, sent(9, 3, ms)));
        assert!(!lanes.goes_before(&other.packet), "no lane is better than another that stands");
        push(&mut lanes, new);
        let interrupted = [&other, &new, &urgent].map(|begun| lanes.goes_before(&begun.packet));
        assert_eq!(interrupted, [true, false, false], "by a steady lane");
        push(&mut lanes, urgent);
        let interrupted = [&other, &new, &urgent].map(|begun| lanes.goes_before(&begun.packet));
        assert_eq!(interrupted, [true, true, false], "by an urgent lane");
        lanes.interrupt = false;
        assert!(!lanes.goes_before(&other.packet));
    }

    #[test]
    fn a_new_flow_goes_before_a_lane_that_stands_and_is_spared() {
        let mut lanes = lanes();
        let at = |ms| justfull_base::Instant::ZERO + Duration::from_millis(ms);
        let sent = |flow, ms| {
            let mut sent = queued(9, flow, 1000);
            sent.packet.enqueued = at(ms);
            sent
        };
        let download = (1..80).map(|ms| push(&mut lanes, sent(3, ms))).last().expect("some");
        assert!(!lanes.spares(download));
        let game = (0..5).map(|_| push(&mut lanes, sent(4, 80))).last().expect("five");
        assert!(lanes.spares(game));
        for expected in [game, game, game, game, game, download] {
            assert_eq!((lanes.turn(), lanes.advance()), (Some(expected), Some(expected)));
            let packet = lanes.pop(expected).expect("it is active").packet;
            lanes.served(expected, packet.size);
        }
    }
}
