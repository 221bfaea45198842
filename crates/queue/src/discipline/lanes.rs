//! Fair lanes in two classes: what [`super::fq_codel`] does by share, urgent QoS flows first, with
//! [`crate::aqm::just`] in each lane.

use super::fq_codel::{FqCoDel, FqCoDelConfig, Turns};
use super::{Discipline, DisciplineSettings, Lane, Queued, Victim};
use crate::aqm::AqmConfig;
use crate::aqm::just::JustConfig;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Packet, Ratio, params};

impl DisciplineSettings for LanesConfig {
    fn own_aqm(&self) -> Option<AqmConfig> {
        Some(AqmConfig::Just(self.just()))
    }

    fn serve_first(&mut self, urgent: u64) {
        self.urgent |= urgent;
    }
}

/// Describes the discipline.
pub const DOC: MethodDoc = MethodDoc {
    name: "lanes",
    kind: "discipline",
    title: "Fair lanes, urgent QoS flows first, each just full",
    text: "Flows are hashed to lanes, which take turns by share: a flow that sends less than its \
           share goes first. Lanes of QoS flows with a better priority than the bearer's last go \
           before all others. Each lane has its own AQM `just`. A full queue drops from the head \
           of the lane with most bytes.",
    sources: "This project; RFC 8290; Golestani 1994",
    deviations: "None.",
    params: LanesConfig::params,
};

params! {
    /// Settings of [`Lanes`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct LanesConfig {
        /// Number of lanes of a class.
        lanes: u16 as "lanes" = 512, within(1, 32_767), "a packet needs a lane";
        /// QoS flows that go before others, a bit for each QFI; those of the bearer's priorities
        /// are added.
        urgent: u64 as "bits" = 0;
        /// Reserve of a lane before its first signal.
        start: Duration = JustConfig::default().start, stated("1ms to 1s");
        /// Least reserve.
        least: Duration = JustConfig::default().least, stated("1ms to 1s");
        /// Greatest reserve.
        most: Duration = JustConfig::default().most, stated("at least least and start, at most 10s");
        /// Time above the reserve before a signal, besides two reserves.
        interval: Duration = JustConfig::default().interval, stated("1ms to 10s");
        /// Time in which a greatest rate that is not reached again falls to 1/e.
        memory: Duration = JustConfig::default().memory, stated("100ms to 1h");
        /// Part of the idle time after a signal by which the reserve grows.
        growth: Ratio = JustConfig::default().growth, stated("0 to 4");
        /// Part of the least backlog after a signal by which it shrinks.
        shrink: Ratio = JustConfig::default().shrink, stated("0 to 1");
        /// Mark packets that are ECN-capable in place of dropping them.
        ecn: bool = true;
    }
    check |c| c.just().validate();
}

impl LanesConfig {
    /// Settings of the lanes' AQM.
    #[must_use]
    pub const fn just(&self) -> JustConfig {
        let Self { lanes, start, least, most, interval, memory, growth, shrink, ecn, .. } = *self;
        JustConfig { start, least, most, interval, memory, growth, shrink, spared: lanes, ecn }
    }
}

/// Lanes of both classes: the urgent ones first, then the others.
#[derive(Clone, Debug)]
pub struct Lanes {
    number: u16,
    urgent_qfis: u64,
    urgent: FqCoDel,
    others: FqCoDel,
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
            ways: 8,
            quantum: Bytes(300),
            turns: Turns::ByShare,
            ..FqCoDelConfig::default()
        };
        Ok(Self {
            number: config.lanes,
            urgent_qfis: config.urgent,
            urgent: FqCoDel::new(&class, key)?,
            others: FqCoDel::new(&class, key)?,
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
        let (class, lane) = self.class(lane);
        class.push_back(lane, queued);
    }

    fn push_front(&mut self, lane: Lane, queued: Queued) {
        let (class, lane) = self.class(lane);
        class.push_front(lane, queued);
    }

    fn turn(&self) -> Option<Lane> {
        let others = || self.others.turn().map(|lane| lane + self.number);
        self.urgent.turn().or_else(others)
    }

    fn advance(&mut self) -> Option<Lane> {
        if self.urgent.len() > 0 {
            return self.urgent.advance();
        }
        let lane = self.others.advance()?;
        Some(lane + self.number)
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
}
