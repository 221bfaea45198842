//! ARED: RED whose thresholds follow the rate of the bearer.
//!
//! Source: P06 section III-B, equations (1) and (2). (Not Floyd's Adaptive RED: `adaptive_red`.)
//!
//! Controls the length, as the corresponding delay at the rate of the bearer: min = max(`floor`,
//! `delay` x rate), max = `factor` x min. Otherwise it is RED on the instantaneous length in bytes.
//!
//! Defaults: 0.5 s is P06's example, 7500 B and 3 its equations; `max_p` = 0.1 its section V-A; the
//! spread ns-2's.
//!
//! Known weaknesses: it needs the rate, which few layers report; if the MAC shares resource blocks,
//! the rate is an average of the service, which lags behind the channel; a `delay` below the
//! sender's round trip time costs goodput.
//!
//! Deviations: none if the MAC reports the rate. Before it is known, min is `floor`. Marks end at
//! `max`.

use super::{Aqm, AqmContext, AqmSettings, Needs, QueueView, Tag, Verdict};
use crate::lane::Lane;
use crate::red::{Curve, Spread, SpreadRules};
use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Instant, Packet, Ratio, Rng, params};

impl AqmSettings for ARedConfig {
    fn needs_rate(&self) -> bool {
        true
    }
}

/// Describes ARED.
pub const DOC: MethodDoc = MethodDoc {
    name: "ared",
    kind: "aqm",
    title: "RED with thresholds that follow the bearer's rate",
    text: "RED on the instantaneous length in bytes, with min = max(`floor`, `delay` x rate) and \
           max = `factor` x min. The MAC reports the bearer's rate, so it works on the RLC queue \
           only.",
    sources: "P06 section III-B, equations (1), (2), and section V-A",
    deviations: "Before the rate is known, min is `floor`. Marks end at `max`.",
    params: ARedConfig::params,
};

params! {
    /// Settings of [`ARed`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ARedConfig: "P06 section III-B" {
        /// Queueing delay at which signals begin.
        delay: Duration = Duration::from_millis(500), above(Duration::ZERO);
        /// Least lower threshold.
        floor: Bytes = Bytes(7500), at_least(Bytes(1));
        /// Upper threshold as a multiple of the lower one.
        factor: Ratio = Ratio(3.0), above(Ratio(1.0)).to(Ratio(100.0));
        /// Probability at the upper threshold.
        max_p: Ratio = Ratio(0.1), within(Ratio(0.0), Ratio(1.0));
        /// Let the probability rise from the upper threshold to twice that, in place of 1 from
        /// there on.
        gentle: bool = true;
        /// Let the probability grow with a packet's size (ns-2's `bytes_`).
        by_size: bool = true;
        /// Size of a packet whose probability is neither raised nor lowered.
        mean_packet: Bytes = Bytes(500), within(Bytes(1), Bytes(65_535));
        /// Leave at least 1 / p packets between two signals (ns-2's `wait_`).
        wait: bool = true;
        /// Mark packets that are ECN-capable, up to the upper threshold, in place of dropping
        /// them.
        ecn: bool = true;
    }
}

/// ARED.
#[derive(Clone, Debug)]
pub struct ARed {
    config: ARedConfig,
    /// The thresholds at `rate`.
    curve: Curve,
    rate: Option<BitRate>,
    rules: SpreadRules,
    spread: Spread,
    rng: Rng,
}

impl ARed {
    /// ARED with the settings of `config` for the queue of `context`.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(config: &ARedConfig, context: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let ARedConfig { by_size, wait, mean_packet, .. } = *config;
        Ok(Self {
            config: *config,
            curve: curve(config, None),
            rate: None,
            rules: SpreadRules { by_size, wait, mean_packet: mean_packet.0 as u32 },
            spread: Spread::default(),
            rng: Rng::from_key(context.key),
        })
    }
}

/// P06, equations (1) and (2).
fn curve(config: &ARedConfig, rate: Option<BitRate>) -> Curve {
    let bytes_per_second = rate.map_or(0.0, |rate| rate.0 as f64 / 8.0);
    let min = (config.delay.as_secs_f64() * bytes_per_second).max(config.floor.0 as f64);
    Curve::red(min, config.factor.0 * min, config.max_p.0, config.gentle)
}

impl Aqm for ARed {
    fn needs(&self) -> Needs {
        Needs { service_rate: true, ..Needs::default() }
    }

    fn marks(&self) -> bool {
        self.config.ecn
    }

    fn on_enqueue(
        &mut self,
        _now: Instant,
        view: &QueueView,
        _lane: Lane,
        packet: &Packet,
    ) -> (Verdict, Tag) {
        if self.rate != view.service_rate {
            self.rate = view.service_rate;
            self.curve = curve(&self.config, self.rate);
        }
        let Self { curve, rules, spread, rng, .. } = self;
        let length = view.backlog_bytes as f64;
        let signals = spread.signals(curve.at(length), length >= curve.min, packet, rules, rng);
        (Verdict::of(signals, curve.may_mark(length)), 0)
    }

    fn on_overflow(&mut self, _now: Instant, _view: &QueueView, _lane: Lane) {
        self.spread.restart();
    }
}
