//! Shared parts of the RED family of AQMs: the average length, the probability by length, the
//! spread of drops, and random numbers.
//!
//! Source: Floyd and Jacobson 1993, sections IV and VII; Floyd 2000, "Recommendation on using the
//! gentle variant of RED"; ns-2.29, queue/red.cc, for details that the papers leave open.

use crate::limit::Limit;
use justfull_base::{BitRate, Bytes, Duration, Instant, Packet, Rng};

/// The unit of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Packets,
    Bytes,
}

impl Unit {
    /// The length of a queue of `packets` with `bytes`.
    pub(crate) fn length(self, packets: u32, bytes: u64) -> f64 {
        match self {
            Self::Packets => f64::from(packets),
            Self::Bytes => bytes as f64,
        }
    }
}

/// A threshold and its unit.
pub(crate) fn threshold(limit: Limit) -> (f64, Unit) {
    match limit {
        Limit::Packets(packets) => (f64::from(packets), Unit::Packets),
        Limit::Bytes(bytes) => (bytes as f64, Unit::Bytes),
        Limit::Unlimited => (f64::INFINITY, Unit::Bytes),
    }
}

/// The probability of a signal by length: 0 below `min`, then rising to `max_p` at `max`, then to 1
/// at `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) end: f64,
    pub(crate) max_p: f64,
}

impl Curve {
    /// RED's curve: with `gentle` it ends at twice `max`, else at `max`.
    pub(crate) fn red(min: f64, max: f64, max_p: f64, gentle: bool) -> Self {
        Self { min, max, end: if gentle { 2.0 * max } else { max }, max_p }
    }

    /// The probability at `length`, 0 to 1.
    pub(crate) fn at(&self, length: f64) -> f64 {
        let Self { min, max, end, max_p } = *self;
        if length < min {
            0.0
        } else if length < max {
            max_p * (length - min) / (max - min)
        } else if length < end {
            max_p + (1.0 - max_p) * (length - max) / (end - max)
        } else {
            1.0
        }
    }
}

impl Curve {
    /// True if a signal at `length` may be a mark: above `max`, marks have not helped (RFC 3168
    /// section 7; ns-2 marks while p is at most `mark_p_`, which equals `max_p`).
    pub(crate) fn may_mark(&self, length: f64) -> bool {
        length <= self.max
    }
}

/// The average length, moved at each arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Average {
    pub(crate) length: f64,
    /// Time at which the queue became empty.
    empty_since: Instant,
}

impl Average {
    /// The last waiting packet has left.
    pub(crate) fn on_empty(&mut self, now: Instant) {
        self.empty_since = now;
    }

    /// An arrival finds `length`. For the time that the queue was empty, counts as many arrivals at
    /// an empty queue as packets could have left, one each `packet_time` (Floyd and Jacobson 1993
    /// section IV; ns-2, `REDQueue::enque`).
    pub(crate) fn arrive(
        &mut self,
        now: Instant,
        length: f64,
        weight: f64,
        packet_time: impl FnOnce() -> Duration,
    ) -> f64 {
        if length == 0.0 && weight < 1.0 {
            let time = packet_time().as_nanos().max(1);
            let missed = now.since(self.empty_since).as_nanos() / time;
            self.length *= libm::pow(1.0 - weight, missed as f64);
            // The idle time must count only once if this packet does not enter.
            self.empty_since = now;
        }
        self.length += weight * (length - self.length);
        self.length
    }
}

/// Transmission time of a packet of `size` at `rate`; `otherwise` if no rate above 0 is known.
pub(crate) fn packet_time(rate: Option<BitRate>, size: Bytes, otherwise: Duration) -> Duration {
    match rate {
        Some(rate) if rate.0 > 0 => rate.time_for_ceil(size.0),
        _ => otherwise,
    }
}

/// Rules for the spread of signals over packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpreadRules {
    /// A packet's probability grows with its size.
    pub(crate) by_size: bool,
    /// At least 1 / p packets lie between two signals; else from 1 to 1 / p.
    pub(crate) wait: bool,
    pub(crate) mean_packet: u32,
}

/// Packets since the last signal, for an even spread of signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spread {
    packets: u64,
    bytes: u64,
    /// True if the last arrival found the length at or above the lower threshold.
    above: bool,
}

impl Spread {
    /// ns-2, `REDQueue::enque` and `drop_early`: true if `packet`, which finds a length with
    /// probability `p`, takes a signal. `counts`: the length is at or above the lower threshold and
    /// a packet besides this one is queued.
    pub(crate) fn signals(
        &mut self,
        p: f64,
        counts: bool,
        packet: &Packet,
        rules: &SpreadRules,
        rng: &mut Rng,
    ) -> bool {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        if !counts {
            self.above = false;
            return false;
        }
        if !self.above {
            *self = Self { packets: 1, bytes: packet.size.into(), above: true };
            return false;
        }
        let p = self.modified(p, packet.size, rules);
        let signals = p >= 1.0 || (p > 0.0 && rng.chance(p));
        if signals {
            self.restart();
        }
        signals
    }

    /// A packet is dropped for another reason (ns-2: a forced drop).
    pub(crate) fn restart(&mut self) {
        (self.packets, self.bytes) = (0, 0);
    }

    /// ns-2, `REDQueue::modify_p`; Floyd and Jacobson 1993 section VII, method 2.
    fn modified(&self, p: f64, size: u32, rules: &SpreadRules) -> f64 {
        let SpreadRules { by_size, wait, mean_packet } = *rules;
        let mean = u64::from(mean_packet);
        let since = (if by_size { self.bytes / mean } else { self.packets }) as f64 * p;
        let p = match (wait, since) {
            (true, since) if since < 1.0 => 0.0,
            (true, since) if since < 2.0 => p / (2.0 - since),
            (false, since) if since < 1.0 => p / (1.0 - since),
            _ => 1.0,
        };
        if by_size && p < 1.0 { p * f64::from(size) / f64::from(mean_packet) } else { p }
    }
}

/// Accepts at least a given number of packets between two signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gap {
    left: u32,
}

impl Gap {
    /// True if a signal is allowed.
    pub(crate) const fn is_over(self) -> bool {
        self.left == 0
    }

    /// A packet gets no signal.
    pub(crate) const fn accept(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// A packet gets a signal: `packets` are accepted before the next.
    pub(crate) const fn begin(&mut self, packets: u32) {
        self.left = packets;
    }
}

/// True if `min` is below `max`, in the same unit.
pub(crate) fn rise(min: Limit, max: Limit) -> bool {
    match (min, max) {
        (Limit::Packets(min), Limit::Packets(max)) => min < max,
        (Limit::Bytes(min), Limit::Bytes(max)) => min < max,
        _ => false,
    }
}
