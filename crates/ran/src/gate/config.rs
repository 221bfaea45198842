//! Settings of a gate, and the calls that it refuses.

use crate::channel::MAX_SLOT;
use crate::config::queues::check_sdap;
use crate::config::{QosFlowConfig, SdapConfig, UeConfig, check_report_delay};
use crate::limiter::{GrantContext, LimiterConfig};
use alloc::vec::Vec;
use core::fmt;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration};

/// The settings of a [`Gate`](super::Gate).
#[derive(Clone, Copy, Debug)]
pub struct GateConfig<'a> {
    /// The queues, the scheduler, the pacers, and the packets per poll. The caller keeps the time:
    /// `sdap.poll` is not read.
    pub sdap: &'a SdapConfig,
    /// The limiter of each bearer.
    pub limiter: &'a LimiterConfig,
    /// Age of the slot reports that limiters get; 0 s to 1 s.
    pub report_delay: Duration,
    /// QoS flows, at least one.
    pub qos_flows: &'a [QosFlowConfig],
    /// Data radio bearers, 1 to [`MAX_DRBS`](crate::config::MAX_DRBS).
    pub drbs: u8,
}

/// A call that a [`Gate`](super::Gate) refuses without any change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateError {
    /// There is no such QoS flow.
    Flow {
        /// The number in the call.
        flow: usize,
        /// Number of flows.
        flows: usize,
    },
    /// There is no such bearer.
    Bearer {
        /// The number in the call.
        drb: u8,
        /// Number of bearers.
        drbs: usize,
    },
    /// No packet has this size.
    Size {
        /// The size in bytes.
        size: u32,
        /// The largest size in bytes.
        mtu: u32,
    },
}

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flow { flow, flows } => {
                write!(f, "QoS flow: found {flow}, allowed is below {flows}")
            }
            Self::Bearer { drb, drbs } => write!(f, "bearer: found {drb}, allowed is below {drbs}"),
            Self::Size { size, mtu } => {
                write!(f, "packet: found {size} B, allowed is 1 to {mtu} B")
            }
        }
    }
}

impl core::error::Error for GateError {}

impl GateConfig<'_> {
    /// Checks everything that a gate without a stack needs.
    pub(super) fn validate(&self, context: &GrantContext) -> Result<(), ConfigError> {
        let GrantContext { slot, mtu, .. } = *context;
        ensure((68..=65_535).contains(&mtu), "mtu", &mtu, "68 to 65535", "RFC 791 section 3.2")?;
        let in_bounds = !slot.is_zero() && slot <= MAX_SLOT;
        ensure(in_bounds, "slot", &slot, "above 0s, at most 1s", "a slot has a length")?;
        self.sdap.validate().map_err(|e| e.within("sdap"))?;
        ensure(
            !(self.limiter.foresees() || self.sdap.pacer.foresees()),
            "rlc.limiter",
            &"clairvoyant",
            "a limiter and a pacer that use reports of slots",
            "a gate has no coming grants",
        )?;
        check_report_delay(self.report_delay, self.limiter)?;
        check_sdap(self.sdap, self.qos_flows, mtu)?;
        let (qos_flows, rules) = (self.qos_flows.to_vec(), Vec::new());
        UeConfig { drbs: self.drbs, qos_flows, rules, channel: None, slice: 0, drx: None }
            .validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::CapacityUnit;
    use crate::gate::Gate;
    use crate::limiter::ClairvoyantConfig;
    use alloc::string::ToString;
    use justfull_base::{Instant, Packet, Qfi, Silent, SlotReport};

    fn flow(qfi: u8, drb: u8) -> QosFlowConfig {
        let qfi = Qfi::new(qfi).expect("below 64");
        QosFlowConfig { qfi, drb, priority: 0, weight: 1, queue: None }
    }

    const CONTEXT: GrantContext =
        GrantContext { unit: CapacityUnit::Bytes, slot: Duration::from_millis(1), mtu: 1500 };

    #[test]
    fn a_gate_of_its_own_names_the_setting_that_is_out_of_bounds() {
        let (sdap, flows) = (SdapConfig::default(), [flow(1, 0)]);
        let (limiter, clairvoyant) =
            (LimiterConfig::default(), LimiterConfig::Clairvoyant(ClairvoyantConfig {}));
        let good = GateConfig {
            sdap: &sdap,
            limiter: &limiter,
            report_delay: Duration::ZERO,
            qos_flows: &flows,
            drbs: 1,
        };
        let field = |config: GateConfig<'_>, context: &GrantContext| {
            Gate::new(&config, context, 1).err().map(|e| e.field.to_string())
        };
        assert_eq!(field(good, &CONTEXT), None);
        let stopped = SdapConfig { batch: 0, ..SdapConfig::default() };
        for (config, name) in [
            (GateConfig { drbs: 0, ..good }, "drbs"),
            (GateConfig { qos_flows: &[], ..good }, "qos_flow"),
            (GateConfig { qos_flows: &[flow(1, 0), flow(1, 0)], ..good }, "qos_flow[1].qfi"),
            (GateConfig { qos_flows: &[flow(1, 1)], ..good }, "qos_flow[0].drb"),
            (GateConfig { limiter: &clairvoyant, ..good }, "rlc.limiter"),
            (GateConfig { report_delay: Duration::from_secs(2), ..good }, "rlc.report_delay"),
            (GateConfig { sdap: &stopped, ..good }, "sdap.batch"),
        ] {
            assert_eq!(field(config, &CONTEXT).as_deref(), Some(name));
        }
        assert_eq!(field(good, &GrantContext { mtu: 67, ..CONTEXT }).as_deref(), Some("mtu"));
        let still = GrantContext { slot: Duration::ZERO, ..CONTEXT };
        assert_eq!(field(good, &still).as_deref(), Some("slot"));
    }

    #[test]
    fn a_wrong_call_is_refused_and_changes_nothing() {
        let (sdap, limiter) = (SdapConfig::default(), LimiterConfig::default());
        let config = GateConfig {
            sdap: &sdap,
            limiter: &limiter,
            report_delay: Duration::ZERO,
            qos_flows: &[flow(1, 0)],
            drbs: 1,
        };
        let mut gate = Gate::new(&config, &CONTEXT, 1).expect("in bounds");
        let now = Instant::ZERO;
        let packet = |size| Packet { size, ..Packet::default() };
        let mut offer = |flow, size| gate.offer(now, flow, packet(size), &mut Silent);
        assert_eq!(offer(1, 100), Err(GateError::Flow { flow: 1, flows: 1 }));
        assert_eq!(offer(0, 0), Err(GateError::Size { size: 0, mtu: 1500 }));
        assert_eq!(offer(0, 1501), Err(GateError::Size { size: 1501, mtu: 1500 }));
        assert!(gate.room(now, 1).is_err());
        assert!(gate.on_slot(1, &SlotReport::default()).is_err());
        let error = gate.on_departed(now, 7, Duration::ZERO).expect_err("there is one bearer");
        assert_eq!(error.to_string(), "bearer: found 7, allowed is below 1");
        assert!(!gate.is_busy());
        assert_eq!(gate.offer(now, 0, packet(1500), &mut Silent), Ok(true));
        assert!(gate.is_busy());
    }
}
