//! The floor of a run: bounds on every method, and the figures of an offline schedule.
//!
//! Each bound uses only the slots and the low-latency packets of the run:
//!
//! - Delay: the greatest number of packets of a low-latency flow that can leave within a time.
//!   Slots carry only this flow, oldest bytes first, and drop late packets. This order maximizes
//!   the bytes in time (earliest deadline first). `n` late bytes are at least `n` / largest packet
//!   late packets. A packet that is late without other traffic is late in any case. The least time
//!   in which 99 % of the packets can leave bounds the 99th percentile; a dropped packet never
//!   leaves.
//! - Goodput of all other flows to UEs: the bytes of all slots of the measured window, less the
//!   bytes of the low-latency packets that left, times the greatest share of payload in a packet.
//! - Round trip: the delays of the path.
//!
//! One schedule has all three measures at once. Its input is all arrivals and slots. Low-latency
//! packets go first, in their order. The rest of each slot carries packets of the MTU. They arrive
//! when their first byte can leave, so their round trip is the path's plus their own transmission.
//! The schedule exists where all UEs share the bytes of a slot. In resource blocks a slot's bytes
//! depend on the UE; the bounds then take the largest transport block and are loose.

use crate::config::{WorldConfig, classes};
use crate::results::{FloorResult, FlowResult, RunResult};
use crate::tap::Tap;
use crate::traffic::Traffic;
use justfull_base::error::ensure;
use justfull_base::stats::quantile;
use justfull_base::{ConfigError, Duration, Event, Instant, Layer, Packet};
use justfull_ran::{MacConfig, Stack};
use justfull_tcp::{Ack, Segment};
use std::collections::VecDeque;

/// Bytes of the headers of a datagram.
const DATAGRAM: u64 = 28;
/// Share of the low-latency packets that must leave in time.
const MOST: f64 = 0.99;
/// Quantile of the schedule's round trips.
const ROUND_TRIPS: f64 = 0.95;

/// A slot and its capacity in bytes.
#[derive(Clone, Copy, Debug)]
struct Slot {
    at: Instant,
    bytes: u64,
}

/// A low-latency packet that left the RLC or was dropped.
#[derive(Clone, Copy, Debug)]
struct Urgent {
    class: u32,
    entered: Instant,
    size: u64,
    left: Option<Instant>,
}

/// The flows with one name.
#[derive(Clone, Copy, Debug)]
struct Class {
    low_latency: bool,
    up: bool,
    /// Least round trip of its flows; none with a proxy, or without round trips.
    base: Option<Duration>,
}

/// Collects the slots and packets of a run for its floor, and passes all calls on to another
/// listener.
pub struct Floor<'a> {
    other: Option<&'a mut (dyn Tap + 'a)>,
    warmup: Instant,
    /// A packet that leaves at or after this instant reaches its UE in the window.
    reaches: Instant,
    window: Duration,
    mtu: u64,
    /// Most bytes in a unit of capacity.
    per_unit: u64,
    /// Upper bound of the bytes of packets that were partly sent before the window.
    partly: u64,
    /// Greatest share of payload in a packet of the other flows.
    payload: f64,
    /// True if all UEs share the bytes of a slot.
    shared: bool,
    /// True if a flow to a UE always has data.
    fills: bool,
    classes: Vec<Class>,
    class_of: Vec<u32>,
    slots: Vec<Slot>,
    urgent: Vec<Urgent>,
    received: u64,
    held_before: u64,
}

/// Greatest share of payload in the packets of `traffic`.
fn payload(traffic: &Traffic, mtu: u64) -> f64 {
    let (payload, size) = match traffic.sender() {
        Some(sender) => (u64::from(sender.mss), u64::from(sender.mss) + u64::from(sender.header)),
        None => (mtu - DATAGRAM, mtu),
    };
    payload as f64 / size as f64
}

impl<'a> Floor<'a> {
    /// A listener to the run of `config` that passes all calls on to `other`.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(
        config: &WorldConfig,
        other: Option<&'a mut (dyn Tap + 'a)>,
    ) -> Result<Self, ConfigError> {
        let why = "the floor of a UE that moves is not known";
        ensure(config.cells.is_none(), "floor", &true, "false with several cells", why)?;
        let stack = Stack::new(&config.stack)?;
        let (infos, openings) = classes(config)?;
        let mtu = u64::from(config.stack.mtu);
        let there = config.core_delay + config.air_delay + config.uplink.delay;
        let base = |name: &str| {
            let of_name = config.flows.iter().filter(|flow| &*flow.name == name);
            let base = of_name.map(|flow| there + flow.extra_delay + flow.extra_delay).min();
            base.filter(|_| !config.proxy.is_there())
        };
        let others = || config.flows.iter().filter(|flow| !flow.low_latency && !flow.is_upload());
        let always =
            |traffic: &Traffic| matches!(traffic, Traffic::Tcp { size: None, rate: None, .. });
        let warmup = Instant::ZERO + config.warmup;
        Ok(Self {
            other,
            warmup,
            reaches: Instant::ZERO + config.warmup.saturating_sub(config.air_delay),
            window: config.duration - config.warmup,
            mtu,
            per_unit: stack.most_bytes_per_unit(),
            partly: stack.most_begun() * mtu,
            payload: others().map(|flow| payload(&flow.traffic, mtu)).fold(0.0, f64::max),
            shared: matches!(config.stack.mac, MacConfig::Bytes(_))
                && config.stack.ues.iter().all(|ue| ue.channel.is_none()),
            fills: others().any(|flow| always(&flow.traffic)),
            classes: infos
                .iter()
                .map(|info| Class {
                    low_latency: info.low_latency,
                    up: info.up,
                    base: base(&info.name),
                })
                .collect(),
            class_of: openings.iter().map(|opening| opening.class).collect(),
            slots: Vec::new(),
            urgent: Vec::new(),
            received: 0,
            held_before: 0,
        })
    }

    fn note(&mut self, packet: &Packet, left: Option<Instant>) {
        if packet.tracked && packet.entered >= self.warmup {
            let class = self.class_of[packet.flow as usize];
            let (entered, size) = (packet.entered, u64::from(packet.size));
            self.urgent.push(Urgent { class, entered, size, left });
        }
    }

    /// Adds the floor to `result`. A figure that beats the floor becomes a broken invariant.
    pub fn hold(&mut self, result: &mut RunResult) {
        self.urgent.sort_by_key(|packet| packet.entered);
        let most = self.most_payload();
        let mut broken = (self.received as f64 > most).then(|| {
            format!("goodput <= the floor's: {} B of payload, at most {most:.0} B", self.received)
        });
        let schedule = self.schedule();
        let mbit_s = |bytes: f64| bytes * 8e-6 / self.window.as_secs_f64();
        for (number, (flow, class)) in (0..).zip(result.flows.iter_mut().zip(&self.classes)) {
            let mut floor = FloorResult::default();
            if class.low_latency && !class.up {
                let of_class = |packet: &&Urgent| packet.class == number;
                let packets: Vec<Urgent> = self.urgent.iter().filter(of_class).copied().collect();
                floor.delay_ms_p99 = self.least_time(&packets).map(Duration::as_millis_f64);
                floor.schedule_delay_ms_p99 = schedule.as_ref().and_then(|s| s.delay(number));
                broken = broken.or_else(|| self.beaten(&packets, &flow.name));
            } else if !class.up {
                floor.goodput_mbit_s = Some(mbit_s(most));
                let filled = schedule.as_ref().filter(|_| self.fills);
                floor.schedule_goodput_mbit_s =
                    filled.map(|schedule| mbit_s(schedule.bytes as f64 * self.payload));
                if let Some(base) = class.base.filter(|_| flow.rtt.count > 0) {
                    floor.rtt_ms = Some(base.as_millis_f64());
                    let own = filled.and_then(|schedule| quantile(&schedule.own_ms, ROUND_TRIPS));
                    floor.schedule_rtt_ms_p95 = own.map(|own| base.as_millis_f64() + own);
                    broken = broken.or_else(|| too_short(flow, base));
                }
            }
            flow.floor = Some(Box::new(floor));
        }
        result.broken = result.broken.take().or(broken);
    }

    /// Most payload that the other flows can receive in the window, in bytes.
    fn most_payload(&self) -> f64 {
        let slots: u64 = self.slots.iter().map(|slot| slot.bytes).sum();
        let left = self.urgent.iter().filter(|packet| packet.left.is_some());
        let urgent: u64 = left.map(|packet| packet.size).sum();
        let most = (slots + self.held_before + self.partly).saturating_sub(urgent);
        most as f64 * self.payload
    }

    /// Delay of `packet` if the slots carry no other packet; `ends` has the sums of the slots'
    /// bytes.
    fn alone(&self, packet: &Urgent, ends: &[u64]) -> Duration {
        let first = self.slots.partition_point(|slot| slot.at < packet.entered);
        let before = first.checked_sub(1).map_or(0, |last| ends[last]);
        let last = ends.partition_point(|end| *end < before + packet.size);
        self.slots.get(last).map_or(Duration::MAX, |slot| slot.at.since(packet.entered))
    }

    /// For each slot, the sum of the bytes of all slots up to it.
    fn ends(&self) -> Vec<u64> {
        let add = |sum: &mut u64, slot: &Slot| {
            *sum += slot.bytes;
            Some(*sum)
        };
        self.slots.iter().scan(0, add).collect()
    }

    /// Greatest number of `packets`, sorted by entry, that can each leave within `time`.
    fn most_within(&self, packets: &[Urgent], alone: &[Duration], time: Duration) -> u64 {
        let mut waiting: VecDeque<(Instant, u64)> = VecDeque::new();
        let (mut late, mut late_bytes) = (0, 0);
        let mut coming = packets.iter().zip(alone).peekable();
        for slot in &self.slots {
            while let Some((packet, alone)) = coming.next_if(|(p, _)| p.entered <= slot.at) {
                if *alone > time {
                    late += 1;
                } else {
                    waiting.push_back((packet.entered + time, packet.size));
                }
            }
            while let Some((_, bytes)) = waiting.front().filter(|(until, _)| *until < slot.at) {
                late_bytes += bytes;
                waiting.pop_front();
            }
            let mut capacity = slot.bytes;
            while let Some((_, bytes)) = waiting.front_mut().filter(|_| capacity > 0) {
                let sent = capacity.min(*bytes);
                (capacity, *bytes) = (capacity - sent, *bytes - sent);
                if *bytes == 0 {
                    waiting.pop_front();
                }
            }
        }
        let largest = packets.iter().map(|packet| packet.size).max().unwrap_or(1);
        packets.len() as u64 - late - late_bytes.div_ceil(largest)
    }

    /// The least time within which a share [`MOST`] of `packets` can leave, less at most 1 us.
    fn least_time(&self, packets: &[Urgent]) -> Option<Duration> {
        let needed = (MOST * packets.len() as f64).ceil() as u64;
        let ends = self.ends();
        let alone: Vec<Duration> = packets.iter().map(|p| self.alone(p, &ends)).collect();
        let (mut short, mut enough) = (0, self.window.as_nanos() / 1000 + 1);
        while !packets.is_empty() && enough - short > 1 {
            let middle = short.midpoint(enough);
            let within = self.most_within(packets, &alone, Duration::from_micros(middle));
            *if within >= needed { &mut enough } else { &mut short } = middle;
        }
        (!packets.is_empty()).then(|| Duration::from_micros(short))
    }

    /// A message if the packets of the flow `name` left sooner than the bound at a quantile.
    fn beaten(&self, packets: &[Urgent], name: &str) -> Option<String> {
        let delay = |packet: &Urgent| Some(packet.left?.since(packet.entered));
        let mut delays: Vec<Duration> = packets.iter().filter_map(delay).collect();
        delays.sort_unstable();
        let ends = self.ends();
        let alone: Vec<Duration> = packets.iter().map(|p| self.alone(p, &ends)).collect();
        [0.5, 0.9, MOST, 1.0].into_iter().find_map(|share| {
            let at = ((share * delays.len() as f64) as usize).checked_sub(1)?;
            let within = delays.partition_point(|delay| *delay <= delays[at]) as u64;
            let most = self.most_within(packets, &alone, delays[at]);
            (within > most).then(|| {
                let time = delays[at];
                format!(
                    "delay >= the floor's, flow {name}: {within} left within {time:?}, at most \
                     {most}"
                )
            })
        })
    }

    /// The schedule; none unless all UEs share the bytes of slots.
    fn schedule(&self) -> Option<Schedule> {
        let mut schedule = Schedule::default();
        let mut waiting: VecDeque<(&Urgent, u64)> = VecDeque::new();
        let mut coming = self.urgent.iter().peekable();
        // Instant of the first byte of a partly sent packet, and its bytes left to send.
        let mut under_way: Option<(Instant, u64)> = None;
        for slot in self.slots.iter().filter(|slot| self.shared && slot.at >= self.warmup) {
            while let Some(packet) = coming.next_if(|packet| packet.entered <= slot.at) {
                waiting.push_back((packet, packet.size));
            }
            let mut capacity = slot.bytes;
            while let Some((packet, bytes)) = waiting.front_mut().filter(|_| capacity > 0) {
                let sent = capacity.min(*bytes);
                (capacity, *bytes) = (capacity - sent, *bytes - sent);
                if *bytes == 0 {
                    let delay = slot.at.since(packet.entered).as_millis_f64();
                    schedule.delays_ms.push((packet.class, delay));
                    waiting.pop_front();
                }
            }
            schedule.bytes += capacity;
            while capacity > 0 {
                let (begun, bytes) = under_way.take().unwrap_or((slot.at, self.mtu));
                let sent = capacity.min(bytes);
                capacity -= sent;
                if sent == bytes {
                    schedule.own_ms.push(slot.at.since(begun).as_millis_f64());
                } else {
                    under_way = Some((begun, bytes - sent));
                }
            }
        }
        schedule.own_ms.sort_by(f64::total_cmp);
        self.shared.then_some(schedule)
    }
}

/// A message if a round trip is below the delays of the path.
fn too_short(flow: &FlowResult, base: Duration) -> Option<String> {
    let (least, base_ms) = (flow.rtt.min_ms, base.as_millis_f64());
    (least < base_ms - 1e-9)
        .then(|| format!("round trip >= the floor's, flow {}: {least}, {base_ms} ms", flow.name))
}

/// Results of the schedule in the window.
#[derive(Clone, Debug, Default)]
struct Schedule {
    /// Class and delay of each low-latency packet.
    delays_ms: Vec<(u32, f64)>,
    /// Bytes of the other flows.
    bytes: u64,
    /// Times from the first byte to the last of each of these packets, sorted, in ms.
    own_ms: Vec<f64>,
}

impl Schedule {
    fn delay(&self, class: u32) -> Option<f64> {
        let of_class = self.delays_ms.iter().filter(|(of, _)| *of == class);
        let mut delays: Vec<f64> = of_class.map(|(_, delay)| *delay).collect();
        delays.sort_by(f64::total_cmp);
        quantile(&delays, MOST)
    }
}

impl Tap for Floor<'_> {
    fn on_event(&mut self, now: Instant, event: &Event, segment: Option<&Segment>) {
        match event {
            Event::Slot { capacity, .. } if now >= self.reaches => {
                self.slots.push(Slot { at: now, bytes: capacity * self.per_unit });
            }
            Event::Departed { layer: Layer::Rlc, packet, .. } => self.note(packet, Some(now)),
            Event::Dropped { packet, reason, .. } if !reason.on_air() => self.note(packet, None),
            _ => {}
        }
        if let Some(other) = &mut self.other {
            other.on_event(now, event, segment);
        }
    }

    fn delivered(&mut self, now: Instant, left: Instant, packet: &Packet) {
        if packet.entered < self.warmup && left < self.reaches && now >= self.reaches {
            self.held_before += u64::from(packet.size);
        }
        if let Some(other) = &mut self.other {
            other.delivered(now, left, packet);
        }
    }

    fn received(&mut self, now: Instant, flow: u32, bytes: u64) {
        let class = self.classes[self.class_of[flow as usize] as usize];
        if !class.low_latency && !class.up && now >= self.warmup {
            self.received += bytes;
        }
        if let Some(other) = &mut self.other {
            other.received(now, flow, bytes);
        }
    }

    fn acknowledged(&mut self, now: Instant, flow: u32, ack: &Ack, sample: Option<Duration>) {
        if let Some(other) = &mut self.other {
            other.acknowledged(now, flow, ack, sample);
        }
    }

    fn requested(&mut self, now: Instant, flow: u32, sent: Instant) {
        if let Some(other) = &mut self.other {
            other.requested(now, flow, sent);
        }
    }

    fn replied(&mut self, now: Instant, flow: u32, sent: Instant) {
        if let Some(other) = &mut self.other {
            other.replied(now, flow, sent);
        }
    }
}

#[cfg(test)]
mod tests;
