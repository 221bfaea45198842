//! The AQMs of P06, Floyd's Adaptive RED and PIE again, implemented plainly from their sources with
//! full access to the queue, for comparison: the length is recounted, an idle time is handled
//! packet by packet, and PIE and TTLRED2 have a clock that ticks at each multiple.

use justfull_base::{Ecn, Packet, Rng};
use justfull_queue::aqm::pie::Estimate;
use justfull_queue::{AqmConfig, Limit};

const SECOND: f64 = 1e9;

/// A packet in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside {
    pub(crate) packet: Packet,
    pub(crate) at: u64,
    /// TTLRED2: end of its lifetime.
    pub(crate) end: u64,
    /// True if it has had its signal.
    done: bool,
}

/// The decision on an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Enter,
    Signal,
    Drop,
}

/// A queue under one AQM.
pub(crate) struct Naive {
    config: AqmConfig,
    pub(crate) waiting: Vec<Inside>,
    pub(crate) held: Vec<Inside>,
    /// Bytes per second, as reported.
    pub(crate) rate: Option<f64>,
    pub(crate) limit: u64,
    pub(crate) dropped: Vec<u64>,
    pub(crate) marked: Vec<u64>,
    /// Ends of all lifetimes given.
    pub(crate) ends: Vec<u64>,
    flows: Vec<u32>,
    rng: Rng,
    empty_since: u64,
    average: f64,
    /// Packets and bytes since the last signal; none below the threshold.
    since: Option<(u64, u64)>,
    accepted: u64,
    max_p: f64,
    thresholds: (f64, f64),
    weight: f64,
    followed: Option<f64>,
    adapted: u64,
    pie: PieState,
}

#[derive(Default)]
struct PieState {
    p: f64,
    delay: f64,
    last: f64,
    burst: f64,
    sum: f64,
    waited: f64,
    cycle: Option<(u64, u64)>,
    cycle_time: f64,
}

/// The spread of drops: by bytes of the mean size instead of packets, and with a wait after each.
#[derive(Clone, Copy)]
struct Spread {
    by_size: bool,
    wait: bool,
    mean: f64,
}

impl Naive {
    pub(crate) fn new(config: &AqmConfig, limit: u64, rng: Rng) -> Self {
        let mut pie = PieState::default();
        let (mut thresholds, mut weight) = ((0.0, 0.0), 0.0);
        if let AqmConfig::Pie(c) = config {
            pie.burst = c.burst.as_nanos() as f64;
        }
        if let AqmConfig::AdaptiveRed(c) = config {
            thresholds = (c.floor.0 as f64, 3.0 * c.floor.0 as f64);
            weight = c.weight.0;
        }
        Self {
            config: config.clone(),
            waiting: Vec::new(),
            held: Vec::new(),
            rate: None,
            limit,
            dropped: Vec::new(),
            marked: Vec::new(),
            ends: Vec::new(),
            flows: Vec::new(),
            rng,
            empty_since: 0,
            average: 0.0,
            since: None,
            accepted: u64::MAX,
            max_p: 0.1,
            thresholds,
            weight,
            followed: None,
            adapted: 0,
            pie,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Inside> {
        self.waiting.iter().chain(&self.held)
    }

    fn bytes(&self) -> u64 {
        self.all().map(|inside| u64::from(inside.packet.size)).sum()
    }

    fn packets(&self) -> u64 {
        self.all().count() as u64
    }

    fn flip(&mut self, p: f64) -> bool {
        p >= 1.0 || (p > 0.0 && self.rng.unit() < p)
    }

    /// A packet arrives at `now`.
    pub(crate) fn arrive(&mut self, now: u64, packet: Packet) {
        let fate = self.fate(now, &packet);
        let end = self.lifetime(now, &packet);
        let mark = fate == Fate::Signal && packet.ecn.is_capable();
        if fate != Fate::Enter && !mark {
            return self.dropped.push(packet.id);
        }
        if self.bytes() + u64::from(packet.size) > self.limit {
            self.dropped.push(packet.id);
            self.since = self.since.map(|_| (0, 0));
            self.pie.sum = 0.0;
            return;
        }
        if mark {
            self.marked.push(packet.id);
        }
        if !self.flows.contains(&packet.flow_hash) {
            self.flows.push(packet.flow_hash);
        }
        self.waiting.push(Inside { packet, at: now, end, done: false });
    }

    fn fate(&mut self, now: u64, packet: &Packet) -> Fate {
        match self.config.clone() {
            AqmConfig::Red(c) => self.red(now, packet, &c),
            AqmConfig::ARed(c) => {
                let by_rate = c.delay.as_secs_f64() * self.rate.unwrap_or(0.0);
                let min = f64::max(c.floor.0 as f64, by_rate);
                let max = c.factor.0 * min;
                let end = if c.gentle { 2.0 * max } else { max };
                let length = self.bytes() as f64;
                let p = gentle(length, min, max, end, c.max_p.0);
                let mean = c.mean_packet.0 as f64;
                self.spread(
                    p,
                    length >= min,
                    packet,
                    Spread { by_size: c.by_size, wait: c.wait, mean },
                    length <= max,
                )
            }
            AqmConfig::AdaptiveRed(c) => self.adaptive(now, packet, &c),
            AqmConfig::Pdpc(c) => {
                let by_rate = c.delay.as_secs_f64() * self.rate.unwrap_or(0.0);
                let min = f64::max(c.floor.0 as f64, by_rate);
                let length = self.bytes() as f64;
                let fate = if length > c.factor.0 * min {
                    Fate::Drop
                } else if length >= min && self.accepted >= u64::from(c.n) {
                    Fate::Signal
                } else {
                    Fate::Enter
                };
                self.count(fate);
                fate
            }
            AqmConfig::TtlRed1(c) => {
                let age = self.all().map(|inside| now - inside.at).max().unwrap_or(0) as f64;
                let [low, high] = [c.low, c.high].map(|d| d.as_nanos() as f64);
                let p = gentle(age, low, high / 2.0, high, c.max_p.0);
                // Every nth packet: n - 1 others are in between.
                let may = self.accepted >= u64::from(c.n) - 1;
                let fate = if p > 0.0 && may && self.flip(p) { Fate::Signal } else { Fate::Enter };
                self.count(fate);
                fate
            }
            AqmConfig::Pie(c) => {
                let drops = self.pie_drops(&c);
                if drops {
                    self.pie.sum = 0.0;
                }
                match drops {
                    true if self.pie.p < c.mark_below.0 => Fate::Signal,
                    true => Fate::Drop,
                    false => Fate::Enter,
                }
            }
            AqmConfig::TtlRed2(_) => Fate::Enter,
            AqmConfig::None(_)
            | AqmConfig::CoDel(_)
            | AqmConfig::DualPi2(_)
            | AqmConfig::L4Span(_)
            | AqmConfig::PduSet(_)
            | AqmConfig::Abc(_)
            | AqmConfig::Custom(_) => {
                unreachable!("not of these")
            }
        }
    }

    fn red(&mut self, now: u64, packet: &Packet, c: &justfull_queue::aqm::RedConfig) -> Fate {
        let in_packets = matches!(c.min, Limit::Packets(_));
        let number = |limit| match limit {
            Limit::Packets(n) => f64::from(n),
            Limit::Bytes(n) => n as f64,
            Limit::Unlimited => unreachable!("a threshold"),
        };
        let length = if in_packets { self.packets() } else { self.bytes() } as f64;
        let mean = c.mean_packet.0 as f64;
        let slot = match self.rate {
            Some(rate) if rate > 0.0 => (mean / rate * SECOND).ceil(),
            _ => c.packet_time.as_nanos() as f64,
        };
        let average = self.averaged(now, length, c.weight.0, slot);
        let (min, max) = (number(c.min), number(c.max));
        let end = if c.gentle { 2.0 * max } else { max };
        let p = gentle(average, min, max, end, c.max_p.0);
        let counts = average >= min && length > 1.0;
        self.spread(
            p,
            counts,
            packet,
            Spread { by_size: c.by_size, wait: c.wait, mean },
            average <= max,
        )
    }

    fn count(&mut self, fate: Fate) {
        self.accepted = if fate == Fate::Enter { self.accepted.saturating_add(1) } else { 0 };
    }

    /// Floyd and Jacobson 1993, Fig. 2: the average, with an idle time of `m` packets.
    fn averaged(&mut self, now: u64, length: f64, weight: f64, slot: f64) -> f64 {
        if length == 0.0 && weight < 1.0 {
            let missed = ((now - self.empty_since) as f64 / slot) as u64;
            for _ in 0..missed {
                self.average -= weight * self.average;
            }
            self.empty_since = now;
        }
        self.average = (1.0 - weight) * self.average + weight * length;
        self.average
    }

    /// Floyd and Jacobson 1993 section VII with ns-2's `bytes_` and `wait_`.
    fn spread(
        &mut self,
        p: f64,
        counts: bool,
        packet: &Packet,
        how: Spread,
        may_mark: bool,
    ) -> Fate {
        let Spread { by_size, wait, mean } = how;
        if !counts {
            self.since = None;
            return Fate::Enter;
        }
        let Some((packets, bytes)) = self.since else {
            self.since = Some((1, packet.size.into()));
            return Fate::Enter;
        };
        let (packets, bytes) = (packets + 1, bytes + u64::from(packet.size));
        self.since = Some((packets, bytes));
        let n = if by_size { (bytes as f64 / mean).floor() } else { packets as f64 };
        let mut chance = if wait {
            if n * p < 1.0 {
                0.0
            } else if n * p < 2.0 {
                p / (2.0 - n * p)
            } else {
                1.0
            }
        } else if n * p < 1.0 {
            p / (1.0 - n * p)
        } else {
            1.0
        };
        if by_size && chance < 1.0 {
            chance = chance * f64::from(packet.size) / mean;
        }
        if !self.flip(chance) {
            return Fate::Enter;
        }
        self.since = Some((0, 0));
        if may_mark { Fate::Signal } else { Fate::Drop }
    }

    fn adaptive(
        &mut self,
        now: u64,
        packet: &Packet,
        c: &justfull_queue::aqm::AdaptiveRedConfig,
    ) -> Fate {
        let due = now - self.adapted >= c.interval.as_nanos();
        let mean = c.mean_packet.0 as f64;
        if self.followed != self.rate && (due || self.followed.is_none()) {
            self.followed = self.rate;
            if let Some(rate) = self.rate.filter(|rate| *rate > 0.0) {
                let min = (c.target.as_secs_f64() * rate / 2.0).max(c.floor.0 as f64);
                self.thresholds = (min, 3.0 * min);
                self.weight = 1.0 - libm_exp(-mean / rate);
            }
        }
        let length = self.bytes() as f64;
        let slot = match self.rate {
            Some(rate) if rate > 0.0 => (mean / rate * SECOND).ceil(),
            _ => c.packet_time.as_nanos() as f64,
        };
        let average = self.averaged(now, length, self.weight, slot);
        let (min, max) = self.thresholds;
        if due {
            self.adapted = now;
            let (low, high) = (min + 0.4 * (max - min), min + 0.6 * (max - min));
            if average < low && self.max_p > 0.01 {
                self.max_p = (self.max_p * 0.9).max(0.01);
            } else if average > high && self.max_p < 0.5 {
                self.max_p += f64::min(0.01, 0.25 * self.max_p);
            }
        }
        let p = gentle(average, min, max, 2.0 * max, self.max_p);
        let counts = average >= min && length > 1.0;
        self.spread(p, counts, packet, Spread { by_size: true, wait: true, mean }, average <= max)
    }

    /// P06 Fig. 3.
    fn lifetime(&mut self, now: u64, packet: &Packet) -> u64 {
        let AqmConfig::TtlRed2(c) = &self.config else { return 0 };
        let [low, high] = [c.low, c.high].map(|d| d.as_nanos());
        let max_p = c.max_p.0;
        let is_new = !self.flows.contains(&packet.flow_hash);
        let life = if self.packets() == 0 || is_new {
            high
        } else if self.rng.unit() < max_p {
            low + self.rng.below(high / 2 - low)
        } else {
            high / 2 + self.rng.below(high - high / 2)
        };
        self.ends.push(now + life);
        now + life
    }

    /// RFC 8033 sections 4.1 and 5.4.
    fn pie_drops(&mut self, c: &justfull_queue::aqm::PieConfig) -> bool {
        let bytes = self.bytes();
        let pie = &mut self.pie;
        if pie.burst > 0.0 {
            return false;
        }
        if (pie.delay < c.target.as_secs_f64() / 2.0 && pie.p < 0.2) || bytes <= 2 * c.mean_packet.0
        {
            return false;
        }
        if c.derandomize {
            if pie.p == 0.0 {
                pie.sum = 0.0;
            }
            pie.sum += pie.p;
            if pie.sum < 0.85 {
                return false;
            }
            if pie.sum >= 8.5 {
                return true;
            }
        }
        let p = pie.p;
        self.flip(p)
    }

    /// The clock ticks at `now`, a multiple of PIE's or TTLRED2's period.
    pub(crate) fn tick(&mut self, now: u64) {
        match self.config.clone() {
            AqmConfig::Pie(c) => self.pie_tick(&c),
            AqmConfig::TtlRed2(c) => {
                for inside in &mut self.waiting {
                    if inside.end >= now || inside.done {
                        continue;
                    }
                    inside.done = true;
                    if c.ecn && inside.packet.ecn.is_capable() {
                        inside.packet.ecn = Ecn::Ce;
                        self.marked.push(inside.packet.id);
                    } else {
                        self.dropped.push(inside.packet.id);
                    }
                }
                let dropped = &self.dropped;
                self.waiting.retain(|inside| !dropped.contains(&inside.packet.id));
            }
            _ => {}
        }
    }

    /// RFC 8033 appendices A and B, `calculate_drop_prob`.
    fn pie_tick(&mut self, c: &justfull_queue::aqm::PieConfig) {
        let bytes = self.bytes() as f64;
        let pie = &mut self.pie;
        let target = c.target.as_secs_f64();
        pie.last = pie.delay;
        pie.delay = match c.estimate {
            Estimate::Timestamp if bytes == 0.0 => 0.0,
            Estimate::Timestamp => pie.waited,
            Estimate::Rate => bytes * pie.cycle_time / 16_384.0,
        };
        let mut change = c.alpha.0 * (pie.delay - target) + c.beta.0 * (pie.delay - pie.last);
        change /= match pie.p {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if c.cap && pie.p >= 0.1 && change > 0.02 {
            change = 0.02;
        }
        pie.p += change;
        if pie.delay == 0.0 && pie.last == 0.0 {
            pie.p *= 0.98;
        }
        pie.p = pie.p.clamp(0.0, 1.0);
        pie.burst = (pie.burst - c.t_update.as_nanos() as f64).max(0.0);
        if pie.p == 0.0 && pie.delay < target / 2.0 && pie.last < target / 2.0 {
            pie.burst = c.burst.as_nanos() as f64;
        }
    }

    /// The head leaves at `now`, or goes to the layer below if `holds`; its number.
    pub(crate) fn leave(&mut self, now: u64, holds: bool) -> Option<u64> {
        if self.waiting.is_empty() {
            return None;
        }
        let inside = self.waiting.remove(0);
        if self.waiting.is_empty() {
            self.empty_since = now;
        }
        if holds {
            self.held.push(inside);
        }
        self.pie.waited = (now - inside.at) as f64 / SECOND;
        let behind = self.bytes() - if holds { u64::from(inside.packet.size) } else { 0 };
        let pie = &mut self.pie;
        if let Some((start, left)) = pie.cycle {
            pie.cycle = Some((start, left + u64::from(inside.packet.size)));
        }
        if let Some((start, left)) = pie.cycle.filter(|(_, left)| *left >= 16_384) {
            let time = (now - start) as f64 / SECOND;
            let _ = left;
            pie.cycle_time =
                if pie.cycle_time == 0.0 { time } else { 0.25 * time + 0.75 * pie.cycle_time };
            pie.cycle = None;
        }
        if behind >= 16_384 && pie.cycle.is_none() {
            pie.cycle = Some((now, 0));
        }
        Some(inside.packet.id)
    }
}

/// Gentle RED's probability.
fn gentle(x: f64, min: f64, max: f64, end: f64, max_p: f64) -> f64 {
    if x < min {
        0.0
    } else if x < max {
        max_p * (x - min) / (max - min)
    } else if x >= end {
        1.0
    } else {
        max_p + (1.0 - max_p) * (x - max) / (end - max)
    }
}

/// An exponential as a sum of its series: the arguments are small.
fn libm_exp(x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..60 {
        term *= x / f64::from(n);
        sum += term;
    }
    sum
}
