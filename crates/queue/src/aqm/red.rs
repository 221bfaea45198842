//! RED: drops arrivals with a probability that grows with the average length of the queue.
//!
//! Source: Floyd and Jacobson 1993; the gentle variant, Floyd 2000; ns-2.29, queue/red.cc, for
//! details that the papers leave open; P06 section V-A for the thresholds.
//!
//! Controls the average length. It moves at each arrival by `weight` towards the length that the
//! arrival finds; w = 1 is the length itself. The probability p_b is 0 below `min`, rises to
//! `max_p` at `max` and, with `gentle`, to 1 at twice `max`, else it is 1 from `max` on. Signals
//! are spread evenly: with n packets since the last one, p = p_b / (2 - n p_b), and 0 while
//! n p_b < 1 (`wait`), or p = p_b / (1 - n p_b) without; with `by_size` n counts bytes /
//! `mean_packet`, and p grows with the packet's size / `mean_packet`.
//!
//! Defaults: 10 kB, 30 kB, 0.1 and w = 1 are P06's for a buffer of 30 kB; the others ns-2's.
//!
//! Known weaknesses: thresholds in bytes fit one rate, so the delay is too long on a slow bearer
//! and the queue loses goodput on a fast one (P06 Fig. 12); with few flows the length swings
//! between the thresholds.
//!
//! Deviations from ns-2: an ECN-capable packet is marked up to `max`, where ns-2's `mark_p_` = 0.1
//! = `max_p` also ends marking. A queue counts as idle once its last packet is taken, even if the
//! layer below has not finished with the packet.

use super::{Aqm, AqmContext, AqmSettings, Needs, QueueView, Tag, Verdict};
use crate::lane::Lane;
use crate::limit::Limit;
use crate::red::{Average, Curve, Spread, SpreadRules, Unit, packet_time, rise, threshold};
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Instant, Packet, Ratio, Rng, params};

impl AqmSettings for RedConfig {}

/// Describes RED.
pub const DOC: MethodDoc = MethodDoc {
    name: "red",
    kind: "aqm",
    title: "Random early detection",
    text: "Drops arrivals at random: never while the average length is below `min`, with a \
           probability that rises to `max_p` at `max`, and to 1 at twice `max` (`gentle`) or at \
           `max`. Drops are spread evenly and, with `by_size`, grow with the size of packets. \
           Thresholds are in packets or in bytes; they hold for one rate.",
    sources: "Floyd and Jacobson 1993; Floyd 2000 (gentle); ns-2.29 queue/red.cc; P06 section V-A",
    deviations: "Marks end at `max`. Idle time begins when the last packet is taken from the \
                 queue.",
    params: RedConfig::params,
};

params! {
    /// Settings of [`Red`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RedConfig: "Floyd and Jacobson 1993 section IV" {
        /// Average length below which nothing is signalled, in packets or bytes.
        min: Limit = Limit::Bytes(10_000),
            rule("below max, in its unit", |c: &Self| rise(c.min, c.max)), "P06 section V-A";
        /// Average length at which the probability is `max_p`.
        max: Limit = Limit::Bytes(30_000);
        /// Probability at `max`.
        max_p: Ratio = Ratio(0.1), within(Ratio(0.0), Ratio(1.0));
        /// Weight of an arrival in the average length; 1 for the length itself.
        weight: Ratio = Ratio(1.0), above(Ratio(0.0)).to(Ratio(1.0));
        /// Let the probability rise from `max` to twice `max`, in place of 1 from `max` on.
        gentle: bool = true;
        /// Let the probability grow with a packet's size (ns-2's `bytes_`).
        by_size: bool = true;
        /// Size of a packet whose probability is neither raised nor lowered.
        mean_packet: Bytes = Bytes(500), within(Bytes(1), Bytes(65_535));
        /// Leave at least 1 / p packets between two signals (ns-2's `wait_`).
        wait: bool = true;
        /// While the queue is empty, the average falls as if a packet found it so in each such
        /// time; used if no layer reports the rate, and without effect at weight 1.
        packet_time: Duration = Duration::from_millis(1), above(Duration::ZERO);
        /// Mark packets that are ECN-capable, up to `max`, in place of dropping them.
        ecn: bool = true;
    }
}

/// RED.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    curve: Curve,
    unit: Unit,
    rules: SpreadRules,
    average: Average,
    spread: Spread,
    rng: Rng,
}

impl Red {
    /// RED with the settings of `config` for the queue of `context`.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(config: &RedConfig, context: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let ((min, unit), (max, _)) = (threshold(config.min), threshold(config.max));
        let RedConfig { by_size, wait, mean_packet, .. } = *config;
        Ok(Self {
            config: *config,
            curve: Curve::red(min, max, config.max_p.0, config.gentle),
            unit,
            rules: SpreadRules { by_size, wait, mean_packet: mean_packet.0 as u32 },
            average: Average::default(),
            spread: Spread::default(),
            rng: Rng::from_key(context.key),
        })
    }
}

impl Aqm for Red {
    fn needs(&self) -> Needs {
        Needs { service_rate: self.config.weight.0 < 1.0, ..Needs::default() }
    }

    fn marks(&self) -> bool {
        self.config.ecn
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        view: &QueueView,
        _lane: Lane,
        packet: &Packet,
    ) -> (Verdict, Tag) {
        let Self { config, curve, unit, rules, average, spread, rng } = self;
        let length = unit.length(view.backlog_packets, view.backlog_bytes);
        let average = average.arrive(now, length, config.weight.0, || {
            packet_time(view.service_rate, config.mean_packet, config.packet_time)
        });
        let counts = average >= curve.min && length > 1.0;
        let signals = spread.signals(curve.at(average), counts, packet, rules, rng);
        (Verdict::of(signals, curve.may_mark(average)), 0)
    }

    fn on_empty(&mut self, now: Instant, _lane: Lane) {
        self.average.on_empty(now);
    }

    fn on_overflow(&mut self, _now: Instant, _view: &QueueView, _lane: Lane) {
        self.spread.restart();
    }
}
