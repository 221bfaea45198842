//! A fixed limit on the RLC queue, in packets or bytes, by backpressure, without drops.
//!
//! Source: E19 section IV (DRB limits of 10, 20, 30 packets) and T20 section 4.1, "a naive
//! solution". `room = limit - backlog`. Default 20 packets: E19's best. Weakness: right for only
//! one rate; a small limit starves the radio, a large one delays. Deviations from the source: none.

use super::{CapacityUnit, GrantContext, Limiter, LimiterSettings, RlcView};
use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, Instant, SlotReport, params};
use justfull_queue::Limit;

params! {
    /// Settings of [`Fixed`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct FixedConfig {
        /// Most that the RLC queue may hold.
        limit: Limit as "packets or bytes" = Limit::Packets(20),
            stated("above 0; in bytes without overdraw at least the MTU");
        /// Let an SDU larger than the rest of the allowance enter if anything is left.
        overdraw: bool = true;
    }
}

impl LimiterSettings for FixedConfig {}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "fixed",
    kind: "limiter",
    title: "A fixed limit on the RLC queue, in packets or bytes",
    text: "SDAP stops forwarding while the bearer's RLC queue holds the limit. The rest waits in \
           SDAP, where a scheduler or an AQM can work on it.",
    sources: "E19 section IV; T20 section 4.1",
    deviations: "none",
    params: FixedConfig::params,
};

/// The fixed limiter of a bearer.
#[derive(Clone, Debug)]
pub struct Fixed {
    unit: CapacityUnit,
    limit: u64,
    overdraw: bool,
}

impl Fixed {
    /// A fixed limit for the bearer in `context`.
    ///
    /// # Errors
    /// `limit` is 0 or unlimited, or too small for a full SDU.
    pub fn new(config: &FixedConfig, context: &GrantContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let (unit, limit) = match config.limit {
            Limit::Packets(n) => (CapacityUnit::Packets, u64::from(n)),
            Limit::Bytes(n) => (CapacityUnit::Bytes, n),
            Limit::Unlimited => {
                return Err(ConfigError::new(
                    "limit",
                    &"unlimited",
                    "packets or bytes",
                    "use `unlimited`",
                ));
            }
        };
        let full_sdu_fits = unit == CapacityUnit::Packets || limit >= u64::from(context.mtu);
        ensure(
            config.overdraw || full_sdu_fits,
            "limit",
            &config.limit,
            "at least the MTU with overdraw = false",
            "an SDU that never fits stops its bearer for ever",
        )?;
        Ok(Self { unit, limit, overdraw: config.overdraw })
    }
}

impl Limiter for Fixed {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }
    fn room(&mut self, _now: Instant, queue: &RlcView) -> u64 {
        self.limit.saturating_sub(queue.backlog(self.unit))
    }
    fn overdraws(&self) -> bool {
        self.overdraw
    }
    fn on_admitted(&mut self, _now: Instant, _amount: u64, _queue: &RlcView) {}
    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}
    fn on_slot(&mut self, _report: &SlotReport) {}
    fn wants_reports(&self) -> bool {
        false
    }
}
