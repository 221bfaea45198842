//! No limit: everything in SDAP goes down at once (the *Vanilla* case of T20, E19 and A21).
//!
//! Source: TS 37.324, which has neither queue nor scheduler in SDAP. The bottleneck queue, and so
//! all of the delay, is in the RLC. Weakness: bufferbloat. Deviations from the source: none.

use super::{CapacityUnit, GrantContext, Limiter, LimiterSettings, RlcView};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, SlotReport, params};

params! {
    /// No settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UnlimitedConfig {}
}

impl LimiterSettings for UnlimitedConfig {}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "unlimited",
    kind: "limiter",
    title: "No containment of the RLC queue (Vanilla)",
    text: "Packets go from SDAP to the RLC as fast as SDAP is polled. The RLC's own limit \
           (rlc.limit) is the only bound on its queue; packets beyond it are dropped.",
    sources: "TS 37.324 section 4; T20 section 6 (Vanilla)",
    deviations: "none",
    params: UnlimitedConfig::params,
};

/// The absence of a limiter.
#[derive(Clone, Debug)]
pub struct Unlimited {
    unit: CapacityUnit,
}

impl Unlimited {
    /// An unlimited limiter for the bearer in `context`.
    ///
    /// # Errors
    /// None.
    pub fn new(_: &UnlimitedConfig, context: &GrantContext) -> Result<Self, ConfigError> {
        Ok(Self { unit: context.unit })
    }
}

impl Limiter for Unlimited {
    #[inline]
    fn unit(&self) -> CapacityUnit {
        self.unit
    }
    #[inline]
    fn room(&mut self, _now: Instant, _queue: &RlcView) -> u64 {
        u64::MAX
    }
    #[inline]
    fn overdraws(&self) -> bool {
        true
    }
    #[inline]
    fn on_admitted(&mut self, _now: Instant, _amount: u64, _queue: &RlcView) {}
    #[inline]
    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}
    #[inline]
    fn on_slot(&mut self, _report: &SlotReport) {}
    fn wants_reports(&self) -> bool {
        false
    }
}
