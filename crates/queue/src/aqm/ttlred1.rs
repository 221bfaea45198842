//! TTLRED for incoming packets: RED by the age of the oldest packet in the queue.
//!
//! Source: P06 section IV-A and Fig. 2.
//!
//! Controls the time in the queue. An arrival uses the age of the oldest packet, waiting or already
//! with the layer below, in the way RED uses the average length: the probability is 0 below `low`,
//! rises to `max_p` at half of `high` and to 1 at `high`. Only every `n`th packet may take a
//! signal, also above `high`.
//!
//! Defaults: 0.25 s, 1.5 s and 0.1 are P06's (section V-A). It does not print N; 20 is PDPC's.
//!
//! Known weaknesses: the age depends on arrivals long ago, so a burst passes (P06 Fig. 5); one
//! signal in n packets is too little against several flows.
//!
//! Deviations: signals are not spread like RED's, since the counter spreads them.

use super::{Aqm, AqmContext, AqmSettings, Needs, QueueView, Tag, Verdict};
use crate::lane::Lane;
use crate::red::{Curve, Gap};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Packet, Ratio, Rng, params};

impl AqmSettings for TtlRed1Config {}

/// Describes TTLRED for incoming packets.
pub const DOC: MethodDoc = MethodDoc {
    name: "ttlred1",
    kind: "aqm",
    title: "Time-to-live RED for incoming packets",
    text: "Drops arrivals with a probability by the age of the oldest packet in the queue, \
           whether it waits or the layer below holds it: 0 below `low`, `max_p` at half of `high`, \
           1 at `high`. Only every `n`th packet can be dropped.",
    sources: "P06 section IV-A, Fig. 2, section V-A",
    deviations: "P06 does not print N (20 is PDPC's). Drops are not spread further.",
    params: TtlRed1Config::params,
};

params! {
    /// Settings of [`TtlRed1`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TtlRed1Config: "P06 section IV-A" {
        /// Age below which nothing is signalled.
        low: Duration = Duration::from_millis(250),
            rule("below half of high", |c: &Self| c.low.times(2) < c.high),
            "P06 Fig. 3: the probability is max_p at half of high";
        /// Age from which every packet that may take a signal does.
        high: Duration = Duration::from_millis(1500),
            within(Duration::from_nanos(2), Duration::from_secs(3600));
        /// Probability at half of `high`.
        max_p: Ratio = Ratio(0.1), within(Ratio(0.0), Ratio(1.0));
        /// Only every so-many-th packet can be dropped.
        n: u32 as "packets" = 20, at_least(1);
        /// Mark packets that are ECN-capable in place of dropping them.
        ecn: bool = true;
    }
}

/// TTLRED for incoming packets.
#[derive(Clone, Debug)]
pub struct TtlRed1 {
    config: TtlRed1Config,
    /// Probability by age in ns.
    curve: Curve,
    gap: Gap,
    rng: Rng,
}

impl TtlRed1 {
    /// TTLRED1 with the settings of `config` for the queue of `context`.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(config: &TtlRed1Config, context: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let [low, high] = [config.low, config.high].map(|age| age.as_nanos() as f64);
        Ok(Self {
            config: *config,
            curve: Curve { min: low, max: 0.5 * high, end: high, max_p: config.max_p.0 },
            gap: Gap::default(),
            rng: Rng::from_key(context.key),
        })
    }
}

impl Aqm for TtlRed1 {
    fn needs(&self) -> Needs {
        Needs { oldest: true, ..Needs::default() }
    }

    fn marks(&self) -> bool {
        self.config.ecn
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        view: &QueueView,
        _lane: Lane,
        _packet: &Packet,
    ) -> (Verdict, Tag) {
        let Self { config, curve, gap, rng } = self;
        let age = view.oldest.map_or(0, |oldest| now.since(oldest).as_nanos());
        let p = curve.at(age as f64);
        if p > 0.0 && gap.is_over() && (p >= 1.0 || rng.chance(p)) {
            gap.begin(config.n - 1);
            return (Verdict::Signal, 0);
        }
        gap.accept();
        (Verdict::Pass, 0)
    }
}
