//! Settings of the MACs of PDUs of one size: dedicated channels and HSDPA.
//!
//! Sources and formulas stand with the services, `mac/dch.rs` and `mac/hsdpa.rs`.

use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, Ratio, params};

params! {
    /// Settings of dedicated channels.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DchConfig: "P06 section V-A" {
        /// Most PDUs of the RLC that a bearer sends in a TTI, which is `mac.slot.period`.
        pdus: u32 as "PDUs" = 4, within(1, 4096), "a bearer that carries nothing never drains";
        /// Mean share of the TTIs of a bearer that are lost.
        loss: Ratio = Ratio(0.0), within(Ratio(0.0), Ratio(0.9));
        /// Mean number of TTIs that are lost in a row.
        burst: f64 as "TTIs" = 1.0, within(1.0, 1e6).and("at least loss / (1 - loss)", |c| {
            c.burst * (1.0 - c.loss.0) >= c.loss.0 - 1e-9
        }), "a run of TTIs that are not lost has at least one";
    }
}

/// Description.
pub(crate) const DCH_DOC: MethodDoc = MethodDoc {
    name: "dch",
    kind: "MAC",
    title: "Dedicated channels of UMTS",
    text: "Each bearer may send `pdus` PDUs in each TTI, whatever others do, or fewer where the \
           channel carries fewer bytes of payload. TTIs are lost whole, in bursts; the RLC sends \
           again what they held.",
    sources: "TS 25.301 section 5.2.1; TS 25.302 section 7.1.2; P06 section V-A",
    deviations: "any number of PDUs up to `pdus` is a transport format; the loss follows no \
                 fading; the UE has a TTI when it begins",
    params: DchConfig::params,
};

impl DchConfig {
    /// Checks that `slot` is a TTI.
    ///
    /// # Errors
    /// The period of the slots.
    pub(crate) fn check_slot(slot: Duration) -> Result<(), ConfigError> {
        let known = [10, 20, 40, 80].map(Duration::from_millis).contains(&slot);
        let bound = "10ms, 20ms, 40ms or 80ms with mac.dch: the TTI";
        ensure(known, "slot.period", &slot, bound, "TS 25.302 section 7.1.2")
    }
}

params! {
    /// Settings of HSDPA.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HsdpaConfig: "P06 section V-A" {
        /// Share of the channel's bytes that bearers get as credits.
        share: Ratio = Ratio(0.9), above(Ratio(0.0)).to(Ratio(1.0));
        /// Chance that a bearer's PDUs of a period wait for the next.
        wait: Ratio = Ratio(0.1), within(Ratio(0.0), Ratio(1.0));
        /// A bearer that waits sends nothing in the period, and its credits expire; otherwise the
        /// UE has the PDUs one period later.
        wait_wastes: bool = false, rule("false, or with wait below 1", |c| {
            !c.wait_wastes || c.wait.0 < 1.0
        }), "with a wait of 1 nothing is ever sent";
    }
}

/// Description.
pub(crate) const HSDPA_DOC: MethodDoc = MethodDoc {
    name: "hsdpa",
    kind: "MAC",
    title: "HSDPA: a cell shared by credits",
    text: "Each period, `mac.slot.period`, the bearers with something to send get equal credits: \
           PDUs for `share` of what the channel carries, remainders carried over. With the chance \
           `wait` a bearer's PDUs reach the UE one period later, as hybrid ARQ makes them.",
    sources: "P06 sections II-C and V-A; TS 25.435 section 5.9; TS 25.308",
    deviations: "the UE has what a period carries when the period begins, without TTIs of 2 ms; \
                 the chance of waiting is that of a bearer and period",
    params: HsdpaConfig::params,
};

impl HsdpaConfig {
    /// Checks that `slot` is an interval of credits.
    ///
    /// # Errors
    /// The period of the slots.
    pub(crate) fn check_slot(slot: Duration) -> Result<(), ConfigError> {
        let step = Duration::from_millis(2).as_nanos();
        let known = !slot.is_zero() && slot.as_nanos().is_multiple_of(step);
        let bound = "a multiple of 2ms with mac.hsdpa, such as 10ms: the interval of its credits";
        ensure(known, "slot.period", &slot, bound, "TS 25.308: TTIs of 2 ms; P06: 10 ms")
    }
}
