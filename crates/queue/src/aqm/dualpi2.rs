//! `DualPI2`: a coupled AQM for L4S and classic packets, by PI and its square.
//!
//! Source: RFC 9332, pseudo-code in its appendix A; preset `linux`: `sch_dualpi2` of Linux 6.17 and
//! later. The lanes and their weights are the discipline `dual_queue`.
//!
//! Controls the queueing delay of both kinds. Every `t_update` a base probability moves by
//! `alpha` (delay - `target`) + `beta` (delay - last delay). A classic packet is signalled with
//! its square, p_C, a packet with ECT(1) or CE is marked with p_CL = `k` p, so that p_C =
//! (p_CL / k)^2: a window of CUBIC or Reno goes with the inverse root of its probability, a
//! scalable window with the inverse. An L4S packet is also marked for its own wait: with a chance
//! that rises from 0 to 1 over `ramp`. From p_CL = 1 on (overload) both kinds are dropped with p_C.
//!
//! The two presets are two algorithms and are never mixed:
//!
//! - `t_update`, `alpha` and `beta`: 15 ms, 0.15 and 3; 16 ms, 41/256 and 819/256 with `linux`.
//! - The controlled delay: the classic lane's, in overload the longer one of both lanes; with
//!   `linux` always the longer one.
//! - Chance: sums of probabilities that pass 1 (`recur`); with `linux` independent random numbers,
//!   two for p_C.
//! - The mark on an L4S packet: by the greater of its own probability and p_CL; with `linux` by
//!   p_CL, and independently by a step.
//! - Exempt: an L4S packet alone in its lane, from its own mark; with `linux` all packets below a
//!   backlog of two MTUs, except from the step.
//!
//! Defaults: the preset's, but for `ramp`. The RFC's ramp (0.8 to 1.2 ms) and Linux's step (1 ms)
//! suit a wire. In a cell a packet of a correct queue waits for the downlink slots of a TDD period
//! and behind the blocks that HARQ repeats; marks at 1 ms then mark nearly all and leave the cell
//! idle. So the default begins at one TDD period of 2.5 ms (DDDSU at 30 kHz) and one HARQ round
//! trip of 4 ms (8 slots), 6.5 ms, and marks all one further period later, at 9 ms; Linux's step
//! is at 6.5 ms.
//!
//! Known weaknesses: a flow that ignores marks fills the L4S lane until overload; the weights of
//! `dual_queue` bound its harm. In one lane (`fifo`) L4S packets wait behind classic ones.
//!
//! Deviations: updates are due at multiples of `t_update` and run at the next arrival or departure,
//! with the lanes' heads before it; at one instant they come before the packet. A packet that
//! carries CE is not counted as marked again. The limit is the queue's. Linux's filters and its
//! class without marks are left out.

use super::{Aqm, AqmContext, AqmSettings, Needs, QueueView, Tag, Verdict};
use crate::lane::Lane;
use justfull_base::doc::MethodDoc;
use justfull_base::{
    Bytes, ConfigError, Duration, Ecn, Instant, Packet, Ratio, Rng, choice, params,
};

impl AqmSettings for DualPi2Config {
    fn needs_room(&self) -> bool {
        false
    }

    fn takes_kinds(&self) -> bool {
        true
    }
}

/// Describes `DualPI2`.
pub const DOC: MethodDoc = MethodDoc {
    name: "dualpi2",
    kind: "aqm",
    title: "DualPI2: coupled marks for L4S, drops or marks for the rest (RFC 9332)",
    text: "A PI controller moves a base probability p. Classic packets are signalled with its \
           square, packets with ECT(1) are marked with `k` times p, and also for their own wait \
           over `ramp`; in overload both are dropped with the square. Best with discipline \
           `dual_queue`; with `fifo` both kinds share a lane.",
    sources: "RFC 9332 appendix A (rfc9332); Linux sch_dualpi2 (linux)",
    deviations: "The default `ramp` is for a radio: from one TDD period and a HARQ round trip on \
                 (6.5 ms) to one period more (9 ms); the RFC has 0.8 to 1.2 ms, Linux a step at \
                 1 ms. Updates are worked off at the next arrival or departure. No filters.",
    params: DualPi2Config::params,
};

choice! {
    /// Whose algorithm.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Preset {
        /// RFC 9332 appendix A.
        #[default]
        Rfc9332 = "rfc9332",
        /// Linux's `sch_dualpi2`.
        Linux = "linux",
    }
}

params! {
    /// Settings of [`DualPi2`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DualPi2Config: "RFC 9332 appendix A" {
        /// The algorithm, and the values of settings that are left out.
        preset: Preset = Preset::Rfc9332;
        /// Queueing delay that is aimed at.
        target: Duration = Duration::from_millis(15), above(Duration::ZERO);
        /// Time between two updates; left out: 15 ms, with linux 16 ms.
        t_update: Option<Duration> = None, rule("100us to 1min", |c: &Self| {
            let bounds = Duration::from_micros(100)..=Duration::from_secs(60);
            c.t_update.is_none_or(|t| bounds.contains(&t))
        });
        /// Weight of the distance from the target, per second; left out: 0.15, with linux 41/256.
        alpha: Option<Ratio> = None, rule("0 to 1000", |c: &Self| is_gain(c.alpha));
        /// Weight of the trend, per second; left out: 3, with linux 819/256.
        beta: Option<Ratio> = None, rule("0 to 1000", |c: &Self| is_gain(c.beta));
        /// Coupling of the two probabilities.
        k: Ratio = Ratio(2.0), within(Ratio(0.1), Ratio(100.0)),
            "RFC 9332 section 2.1: without coupling L4S packets are not marked for the others";
        /// Waits from which an L4S packet is marked sometimes and always; left out: 6.5 ms and
        /// 9 ms, with linux a step at 6.5 ms.
        ramp: Option<[Duration; 2]> = None,
            rule("two times, the second not below the first; with linux the same twice", |c| {
                c.is_ramp()
            }), "RFC 9332 appendix A has a ramp, Linux a step";
        /// Drop in overload; off, with linux: L4S packets are marked and the queue overflows.
        drop_overload: bool = true, rule("true, false; true with rfc9332", |c: &Self| {
            c.drop_overload || c.preset == Preset::Linux
        }), "RFC 9332 section 2.5.2: overload needs drops";
        /// With linux: nothing but the step signals while less than two of these are queued.
        mtu: Bytes = Bytes(1500), stated("any; without effect with rfc9332");
    }
}

/// One TDD period of 2.5 ms (DDDSU at 30 kHz) and one HARQ round trip of 8 slots.
const RADIO: Duration = Duration::from_micros(6_500);

/// One TDD period later.
const RADIO_END: Duration = Duration::from_micros(9_000);

fn is_gain(gain: Option<Ratio>) -> bool {
    gain.is_none_or(|gain| (0.0..=1000.0).contains(&gain.0))
}

impl DualPi2Config {
    fn is_ramp(&self) -> bool {
        self.ramp.is_none_or(|[lo, hi]| lo == hi || lo < hi && self.preset == Preset::Rfc9332)
    }

    /// Time between two updates.
    #[must_use]
    pub fn period(&self) -> Duration {
        let own = match self.preset {
            Preset::Rfc9332 => Duration::from_millis(15),
            Preset::Linux => Duration::from_millis(16),
        };
        self.t_update.unwrap_or(own)
    }

    /// Weights of distance and trend per second.
    #[must_use]
    pub fn gains(&self) -> [f64; 2] {
        let own = match self.preset {
            Preset::Rfc9332 => [0.15, 3.0],
            Preset::Linux => [41.0 / 256.0, 819.0 / 256.0],
        };
        [self.alpha.map_or(own[0], |a| a.0), self.beta.map_or(own[1], |b| b.0)]
    }

    /// Waits from which an L4S packet is marked sometimes and always.
    #[must_use]
    pub fn thresholds(&self) -> [Duration; 2] {
        let own = match self.preset {
            Preset::Rfc9332 => [RADIO, RADIO_END],
            Preset::Linux => [RADIO, RADIO],
        };
        self.ramp.unwrap_or(own)
    }
}

/// Number of the classic lane of a queue with two.
pub const CLASSIC: Lane = 0;

/// Number of the L4S lane of a queue with two.
pub const L4S: Lane = 1;

/// True for a packet that is treated as L4S: ECT(1), and CE, which may have been ECT(1) (RFC 9331
/// section 5.1).
#[inline]
#[must_use]
pub const fn is_l4s(ecn: Ecn) -> bool {
    matches!(ecn, Ecn::Ect1 | Ecn::Ce)
}

/// `DualPI2`.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    /// The queue has a lane for each kind.
    dual: bool,
    period: u64,
    gains: [f64; 2],
    /// In ns.
    ramp: [u64; 2],
    /// Base probability.
    p: f64,
    /// The delay at the last update, in s.
    last: f64,
    /// When the next update is due.
    next: Instant,
    /// The sum of the probabilities of packets since the last signal, for each kind.
    sums: [f64; 2],
    rng: Rng,
}

impl DualPi2 {
    /// `DualPI2` with the settings of `config` for the queue of `context`.
    ///
    /// # Errors
    /// A setting out of its bounds.
    pub fn new(config: &DualPi2Config, context: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config: *config,
            dual: context.lanes == 2,
            period: config.period().as_nanos(),
            gains: config.gains(),
            ramp: config.thresholds().map(Duration::as_nanos),
            p: 0.0,
            last: 0.0,
            next: Instant::ZERO + config.period(),
            sums: [0.0; 2],
            rng: Rng::from_key(context.key),
        })
    }

    /// The probability of a signal on a classic packet, p_C.
    #[must_use]
    pub const fn classic_probability(&self) -> f64 {
        self.p * self.p
    }

    /// The coupled probability of a mark on an L4S packet, p_CL, before it is bounded by 1.
    #[must_use]
    pub const fn coupled_probability(&self) -> f64 {
        self.config.k.0 * self.p
    }

    /// The heads of the classic and the L4S lane where `lane` has the head `own`.
    fn heads(&self, view: &QueueView, lane: Lane, own: Option<Instant>) -> [Option<Instant>; 2] {
        let other = view.other.and_then(|other| other.head);
        if self.dual && lane == L4S { [other, own] } else { [own, other] }
    }

    /// Works off the updates that are due, with these heads of the lanes since the last arrival or
    /// departure.
    #[cold]
    #[inline(never)]
    fn update_until(&mut self, now: Instant, heads: [Option<Instant>; 2]) {
        while self.next <= now {
            let (at, before) = (self.next, (self.p, self.last));
            self.update(at, heads);
            self.next += Duration::from_nanos(self.period);
            // Until a later head counts, further updates leave all, or the last delay alone moves
            // on while the probability stays at its bound.
            let grows = self.last > before.1.max(self.config.target.as_secs_f64());
            let full = grows && before.0.min(self.p) >= self.most();
            if full || before == (self.p, self.last) {
                let later = heads.into_iter().flatten().filter(|head| *head >= at);
                let until = later.min().unwrap_or(now).min(now);
                let due = until.since(self.next).as_nanos() / self.period;
                self.next += Duration::from_nanos(self.period * due);
            }
        }
    }

    /// The greatest base probability.
    fn most(&self) -> f64 {
        if self.config.drop_overload { 1.0 } else { (1.0 / self.config.k.0).min(1.0) }
    }

    fn update(&mut self, at: Instant, heads: [Option<Instant>; 2]) {
        let [classic, l4s] =
            heads.map(|head| head.map_or(0.0, |head| at.since(head).as_secs_f64()));
        let both = self.config.preset == Preset::Linux || self.coupled_probability() >= 1.0;
        let delay = if both { classic.max(l4s) } else { classic };
        let [alpha, beta] = self.gains;
        self.p += alpha * (delay - self.config.target.as_secs_f64()) + beta * (delay - self.last);
        self.p = self.p.clamp(0.0, self.most());
        self.last = delay;
    }

    /// The probability of a mark for a wait of `sojourn` alone.
    fn native(&self, sojourn: u64) -> f64 {
        let [lo, hi] = self.ramp;
        if sojourn >= hi {
            1.0
        } else if sojourn > lo {
            (sojourn - lo) as f64 / (hi - lo) as f64
        } else {
            0.0
        }
    }

    /// RFC 9332 appendix A, `recur`: true as often as `probability` says, as regularly as can be.
    fn recur(&mut self, kind: Lane, probability: f64) -> bool {
        let sum = &mut self.sums[usize::from(kind)];
        *sum += probability;
        let over = *sum > 1.0;
        if over {
            *sum -= 1.0;
        }
        over
    }

    /// RFC 9332 appendix A, `dualpi2_dequeue`.
    fn by_rfc(&mut self, packet: &Packet, alone: bool, sojourn: Duration) -> Verdict {
        let (coupled, squared) = (self.coupled_probability(), self.classic_probability());
        let overload = coupled >= 1.0;
        if !is_l4s(packet.ecn) {
            return if !self.recur(CLASSIC, squared) {
                Verdict::Pass
            } else if overload {
                Verdict::Drop
            } else {
                signal(packet)
            };
        }
        if overload && self.recur(CLASSIC, squared) {
            return Verdict::Drop;
        }
        let native = if overload || alone { 0.0 } else { self.native(sojourn.as_nanos()) };
        mark_if(self.recur(L4S, native.max(coupled.min(1.0))), packet)
    }

    /// `sch_dualpi2`'s dequeue, with `backlog` bytes left in the queue.
    fn by_linux(&mut self, packet: &Packet, backlog: u64, sojourn: Duration) -> Verdict {
        let (coupled, is_l4s) = (self.coupled_probability(), is_l4s(packet.ecn));
        let overload = coupled > 1.0;
        let mut marked = false;
        if backlog >= 2 * self.config.mtu.0 && self.p > 0.0 {
            let rolls_by_square = !is_l4s || overload && self.config.drop_overload;
            let squared = rolls_by_square && self.rng.chance(self.p) && self.rng.chance(self.p);
            if !is_l4s {
                return match squared {
                    false => Verdict::Pass,
                    true if overload => Verdict::Drop,
                    true => signal(packet),
                };
            }
            if squared {
                return Verdict::Drop;
            }
            marked = overload || self.rng.chance(coupled);
        }
        mark_if(is_l4s && (marked || sojourn.as_nanos() > self.ramp[0]), packet)
    }
}

/// The signal on a classic packet: a mark if it can carry one.
const fn signal(packet: &Packet) -> Verdict {
    if packet.ecn.is_capable() { Verdict::Mark } else { Verdict::Drop }
}

/// A mark if `marked`, unless `packet` carries one.
const fn mark_if(marked: bool, packet: &Packet) -> Verdict {
    if marked && !matches!(packet.ecn, Ecn::Ce) { Verdict::Mark } else { Verdict::Pass }
}

impl Aqm for DualPi2 {
    fn needs(&self) -> Needs {
        Needs { heads: true, ..Needs::default() }
    }

    fn wants_heads(&self, now: Instant) -> bool {
        now >= self.next
    }

    fn marks(&self) -> bool {
        true
    }

    #[inline]
    fn on_enqueue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        _packet: &Packet,
    ) -> (Verdict, Tag) {
        if now >= self.next {
            self.update_until(now, self.heads(view, lane, view.lane.head));
        }
        (Verdict::Pass, 0)
    }

    #[inline]
    fn on_dequeue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        packet: &Packet,
        _tag: Tag,
        sojourn: Duration,
    ) -> Verdict {
        if now >= self.next {
            self.update_until(now, self.heads(view, lane, Some(now - sojourn)));
        }
        match self.config.preset {
            Preset::Rfc9332 => self.by_rfc(packet, view.lane.bytes == 0, sojourn),
            Preset::Linux => self.by_linux(packet, view.backlog_bytes, sojourn),
        }
    }
}

#[cfg(test)]
mod tests;
