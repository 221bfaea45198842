//! The settings of a queue.

use crate::aqm::{AqmConfig, Ect1};
use crate::discipline::DisciplineConfig;
use crate::limit::Limit;
use alloc::format;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, params};

params! {
    /// Settings of a [`ManagedQueue`](super::ManagedQueue).
    #[derive(Clone, Debug, PartialEq)]
    pub struct QueueConfig {
        /// Most that the queue holds.
        limit: Limit = Default::default();
        /// When to signal congestion; none with a discipline that brings its own AQM.
        aqm: AqmConfig as "AQM" = Default::default();
        /// In which order to serve.
        discipline: DisciplineConfig as "discipline" = Default::default();
        /// The effect of a classic AQM's signal on a packet with ECT(1): a drop (l4s), or a mark as
        /// with ECT(0) (classic).
        ect1: Ect1 = Ect1::L4s, free(), "RFC 9331 sections 4.3 and 5";
    }
    check Self::check_aqm;
}

impl QueueConfig {
    /// A first-in-first-out queue without AQM.
    #[must_use]
    pub fn tail_drop(limit: Limit) -> Self {
        Self { limit, ..Self::default() }
    }

    /// True if the queue has an AQM: a configured one, or the one built into its discipline.
    #[must_use]
    pub fn has_aqm(&self) -> bool {
        !matches!(self.aqm, AqmConfig::None(_)) || self.discipline.own_aqm().is_some()
    }

    /// True if it marks packets with ECT(1) as L4S requires: earlier than classic packets.
    #[must_use]
    pub fn marks_l4s(&self) -> bool {
        match self.discipline.own_aqm().as_ref().unwrap_or(&self.aqm) {
            AqmConfig::DualPi2(_) | AqmConfig::L4Span(_) | AqmConfig::Custom(_) => true,
            AqmConfig::CoDel(codel) => {
                !codel.l4s_threshold.is_zero() || !codel.ce_threshold.is_zero()
            }
            _ => false,
        }
    }

    /// It has one lane, or two by codepoint.
    const fn lanes_are_kinds(&self) -> bool {
        matches!(
            self.discipline,
            DisciplineConfig::Fifo(_)
                | DisciplineConfig::DualQueue(_)
                | DisciplineConfig::Custom(_)
        )
    }

    fn check_aqm(&self) -> Result<(), ConfigError> {
        ensure(
            !self.aqm.takes_kinds() || self.lanes_are_kinds(),
            "discipline",
            &self.discipline.name(),
            "fifo, dual_queue with aqm dualpi2",
            "RFC 9332 section 2: one lane for each of the two kinds, or one for both",
        )?;
        ensure(
            self.discipline.own_aqm().is_none() || matches!(self.aqm, AqmConfig::None(_)),
            "aqm",
            &self.aqm.name(),
            &format!("none with discipline {}", self.discipline.name()),
            "the discipline has an AQM of its own, which is set with it",
        )
    }
}
