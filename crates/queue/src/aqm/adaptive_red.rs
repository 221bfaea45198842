//! Adaptive RED: RED that adapts its own parameters and keeps the average length in the middle.
//!
//! Source: Floyd, Gummadi and Shenker 2001, sections 4 (max_p) and 5 (thresholds and weight);
//! ns-2.29, queue/red.cc, `updateMaxP` and `initialize_params`. (P06's ARED is `ared`.)
//!
//! Controls the average length: every `interval`, max_p rises by min(0.01, max_p / 4) if the
//! average is above 60 % of the way from min to max, and falls by a tenth if it is below 40 %,
//! while it is above 0.01 and below 0.5. With the rate C of the queue, in packets of `mean_packet`
//! a second: min is `target` x C / 2, at least `floor`; max is 3 x min; the weight is 1 - exp(-1 /
//! C). Otherwise it is gentle RED in bytes, spread like in ns-2.
//!
//! Defaults: 5 ms, 0.5 s and the constants are the paper's, 500 B is ns-2's; the paper's floor of
//! five packets is 7500 B here.
//!
//! Known weaknesses: max_p moves over seconds, too slowly for a radio whose rate changes within
//! tenths of a second; the target is an average, half of the buffer that it allows; few flows swing
//! around it.
//!
//! Deviations: the rate is the layer below's, read every `interval`; without one, min is `floor`
//! and the weight `weight`. max_p starts at 0.1, as in ns-2. Marks end at max.

use super::{Aqm, AqmContext, AqmSettings, Needs, QueueView, Tag, Verdict};
use crate::lane::Lane;
use crate::red::{Average, Curve, Spread, SpreadRules, packet_time};
use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Instant, Packet, Ratio, Rng, params};

impl AqmSettings for AdaptiveRedConfig {}

/// Describes Adaptive RED.
pub const DOC: MethodDoc = MethodDoc {
    name: "adaptive_red",
    kind: "aqm",
    title: "Adaptive RED (Floyd, Gummadi and Shenker 2001)",
    text: "Gentle RED whose `max_p` is adapted every `interval` so that the average length stays \
           between 40 and 60 % of the way from min to max. Thresholds and weight follow the rate \
           that the layer below reports: min = max(`floor`, `target` x rate / 2), max = 3 min.",
    sources: "Floyd, Gummadi and Shenker 2001 sections 4, 5; ns-2.29 queue/red.cc",
    deviations: "The rate is taken anew every `interval`; if no layer reports it, min is `floor` \
                 and the weight is `weight`. Marks end at max.",
    params: AdaptiveRedConfig::params,
};

/// The paper's greatest increase of max_p, section 4.
const ALPHA: f64 = 0.01;

/// The paper's factor of decrease of max_p, section 4.
const BETA: f64 = 0.9;

/// max_p at first (ns-2's `linterm_` = 10).
const FIRST_MAX_P: f64 = 0.1;

params! {
    /// Settings of [`AdaptiveRed`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AdaptiveRedConfig: "Floyd, Gummadi and Shenker 2001 section 5" {
        /// Average queueing delay that is aimed at where the rate is known.
        target: Duration = Duration::from_millis(5), above(Duration::ZERO);
        /// Least lower threshold.
        floor: Bytes = Bytes(7500), at_least(Bytes(1));
        /// Time between adjustments of `max_p`.
        interval: Duration = Duration::from_millis(500), above(Duration::ZERO);
        /// Weight of an arrival in the average length if no layer reports the rate.
        weight: Ratio = Ratio(0.002), above(Ratio(0.0)).to(Ratio(1.0));
        /// While the queue is empty, the average falls as if a packet found it empty in each such
        /// time; used if no layer reports the rate.
        packet_time: Duration = Duration::from_millis(1), above(Duration::ZERO);
        /// Size of a packet whose probability is neither raised nor lowered.
        mean_packet: Bytes = Bytes(500), within(Bytes(1), Bytes(65_535));
        /// Mark packets that are ECN-capable, up to the upper threshold, in place of dropping
        /// them.
        ecn: bool = true;
    }
}

/// Adaptive RED.
#[derive(Clone, Debug)]
pub struct AdaptiveRed {
    config: AdaptiveRedConfig,
    curve: Curve,
    weight: f64,
    /// The rate of the thresholds and the weight.
    rate: Option<BitRate>,
    average: Average,
    spread: Spread,
    /// Time of the next possible change of max_p.
    next: Instant,
    rng: Rng,
}

impl AdaptiveRed {
    /// Adaptive RED with the settings of `config` for the queue of `context`.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(config: &AdaptiveRedConfig, context: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let floor = config.floor.0 as f64;
        Ok(Self {
            config: *config,
            curve: Curve::red(floor, 3.0 * floor, FIRST_MAX_P, true),
            weight: config.weight.0,
            rate: None,
            average: Average::default(),
            spread: Spread::default(),
            next: Instant::ZERO + config.interval,
            rng: Rng::from_key(context.key),
        })
    }

    /// Section 5: sets thresholds and weight from the rate. At rate 0 they stay.
    fn follow(&mut self, rate: Option<BitRate>) {
        self.rate = rate;
        let Some(rate) = rate.filter(|rate| rate.0 > 0) else { return };
        let bytes = rate.0 as f64 / 8.0;
        let config = &self.config;
        let min = (0.5 * config.target.as_secs_f64() * bytes).max(config.floor.0 as f64);
        self.curve = Curve::red(min, 3.0 * min, self.curve.max_p, true);
        self.weight = 1.0 - libm::exp(-(config.mean_packet.0 as f64) / bytes);
    }

    /// Section 4: adapts max_p to the average length.
    fn adapt(&mut self, average: f64) {
        let Curve { min, max, max_p, .. } = &mut self.curve;
        let part = 0.4 * (*max - *min);
        if average < *min + part {
            *max_p = (*max_p * BETA).max(0.01);
        } else if average > *max - part && *max_p < 0.5 {
            *max_p += ALPHA.min(*max_p / 4.0);
        }
    }
}

impl Aqm for AdaptiveRed {
    fn needs(&self) -> Needs {
        Needs { service_rate: true, ..Needs::default() }
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
        let due = now >= self.next;
        if self.rate != view.service_rate && (due || self.rate.is_none()) {
            self.follow(view.service_rate);
        }
        let length = view.backlog_bytes as f64;
        let AdaptiveRedConfig { mean_packet, packet_time: otherwise, .. } = self.config;
        let average = self.average.arrive(now, length, self.weight, || {
            packet_time(view.service_rate, mean_packet, otherwise)
        });
        if due {
            self.adapt(average);
            self.next = now + self.config.interval;
        }
        let Self { curve, spread, rng, .. } = self;
        let rules = SpreadRules { by_size: true, wait: true, mean_packet: mean_packet.0 as u32 };
        let counts = average >= curve.min && length > 1.0;
        let signals = spread.signals(curve.at(average), counts, packet, &rules, rng);
        (Verdict::of(signals, curve.may_mark(average)), 0)
    }

    fn on_empty(&mut self, now: Instant, _lane: Lane) {
        self.average.on_empty(now);
    }

    fn on_overflow(&mut self, _now: Instant, _view: &QueueView, _lane: Lane) {
        self.spread.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 4: between 40 and 60 % of the way, ends included, max_p stays; from 0.5 on it does
    /// not rise.
    #[test]
    fn max_p_stays_at_the_edges_of_its_range() {
        let context = AqmContext::new(1, 0);
        let mut red = AdaptiveRed::new(&AdaptiveRedConfig::default(), context).expect("valid");
        assert_eq!((red.curve.min, red.curve.max), (7500.0, 22_500.0));
        let mut after = |max_p: f64, average: f64| {
            red.curve.max_p = max_p;
            red.adapt(average);
            (red.curve.max_p * 1e6).round() as u64
        };
        assert_eq!(after(0.1, 13_500.0), 100_000);
        assert_eq!(after(0.1, 16_500.0), 100_000);
        assert_eq!(after(0.1, 13_499.0), 90_000);
        assert_eq!(after(0.1, 16_501.0), 110_000);
        assert_eq!(after(0.02, 16_501.0), 25_000, "a quarter of itself");
        assert_eq!(after(0.5, 22_500.0), 500_000);
        assert_eq!(after(0.01, 0.0), 10_000);
    }
}
