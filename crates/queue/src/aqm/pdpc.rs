//! PDPC, the packet discard prevention counter: one drop, then none for some packets.
//!
//! Source: Sagfors, Ludwig, Meyer and Peisa 2003, as P06 section III-C describes and uses it.
//!
//! Controls the length, as the corresponding delay at the rate of the bearer: min = max(`floor`,
//! `delay` x rate), max = `factor` x min (P06 equations (1) and (2)). A packet that finds min or
//! more is dropped, then the next `n` packets are accepted; above max every packet is dropped.
//!
//! Defaults: 20 packets are P06's, the thresholds `ared`'s.
//!
//! Known weaknesses: the same as `ared`'s; all flows of the bearer share the counter, so one flow
//! pays for another.
//!
//! Deviations: it drops the arriving packet, as P06 does; its authors advise to drop the packet at
//! the head. Before the rate is known, min is `floor`. Above max an ECN-capable packet is dropped
//! too.

use super::{Aqm, AqmContext, AqmSettings, Needs, QueueView, Tag, Verdict};
use crate::lane::Lane;
use crate::red::Gap;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Instant, Packet, Ratio, params};

impl AqmSettings for PdpcConfig {
    fn needs_rate(&self) -> bool {
        true
    }
}

/// Describes PDPC.
pub const DOC: MethodDoc = MethodDoc {
    name: "pdpc",
    kind: "aqm",
    title: "Packet discard prevention counter",
    text: "Drops a packet that finds max(`floor`, `delay` x rate) or more, then accepts `n` \
           packets before the next drop, unless the length is above `factor` times that threshold. \
           The MAC reports the bearer's rate, so it works on the RLC queue only. It draws no \
           random numbers.",
    sources: "P06 sections III-B (thresholds) and III-C",
    deviations: "Drops the arriving packet. Before the rate is known, the threshold is `floor`. \
                 Above the upper threshold packets are not marked but dropped.",
    params: PdpcConfig::params,
};

params! {
    /// Settings of [`Pdpc`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PdpcConfig: "P06 section III-C" {
        /// Queueing delay at which drops begin.
        delay: Duration = Duration::from_millis(500), above(Duration::ZERO);
        /// Least lower threshold.
        floor: Bytes = Bytes(7500), at_least(Bytes(1));
        /// Upper threshold as a multiple of the lower one.
        factor: Ratio = Ratio(3.0), above(Ratio(1.0)).to(Ratio(100.0));
        /// Packets accepted after a drop before there may be another.
        n: u32 as "packets" = 20, at_least(1);
        /// Mark packets that are ECN-capable, up to the upper threshold, in place of dropping
        /// them.
        ecn: bool = true;
    }
}

/// PDPC.
#[derive(Clone, Copy, Debug)]
pub struct Pdpc {
    config: PdpcConfig,
    /// Bytes at 1 bit/s of rate.
    bytes_by_rate: f64,
    gap: Gap,
}

impl Pdpc {
    /// PDPC with the settings of `config`.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(config: &PdpcConfig, _: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let bytes_by_rate = config.delay.as_secs_f64() / 8.0;
        Ok(Self { config: *config, bytes_by_rate, gap: Gap::default() })
    }
}

impl Aqm for Pdpc {
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
        _packet: &Packet,
    ) -> (Verdict, Tag) {
        let Self { config, bytes_by_rate, gap } = self;
        let by_rate = view.service_rate.map_or(0.0, |rate| rate.0 as f64 * *bytes_by_rate);
        let min = by_rate.max(config.floor.0 as f64);
        let length = view.backlog_bytes as f64;
        let verdict = if length > config.factor.0 * min {
            Verdict::Drop
        } else if length >= min && gap.is_over() {
            Verdict::Signal
        } else {
            Verdict::Pass
        };
        match verdict {
            Verdict::Pass => gap.accept(),
            Verdict::Signal | Verdict::Drop | Verdict::Mark => gap.begin(config.n),
        }
        (verdict, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_max_every_packet_goes_and_at_max_only_the_counted() {
        let config = PdpcConfig { floor: Bytes(1000), ..PdpcConfig::default() };
        let mut pdpc = Pdpc::new(&config, AqmContext::new(1, 0)).expect("valid");
        let mut finds = |backlog_bytes| {
            let view = QueueView { backlog_packets: 2, backlog_bytes, ..QueueView::default() };
            pdpc.on_enqueue(Instant::ZERO, &view, 0, &Packet::default()).0
        };
        assert_eq!(finds(999), Verdict::Pass);
        assert_eq!(finds(1000), Verdict::Signal);
        assert_eq!(finds(3000), Verdict::Pass, "the counter runs");
        assert_eq!([finds(3001), finds(3001)], [Verdict::Drop; 2]);
    }
}
