//! A channel that offers the same in every slot.
//!
//! Source: none needed; the fixed-MCS experiments of A21 and E19 come close. Controls nothing else.
//! Weakness: hides every effect of fading; a queue that is right here may starve or bloat on a real channel.
//! Deviations: none.

use super::{CapacityUnit, MAX_AMOUNT};
use justfull_base::ConfigError;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_base::error::ensure;

/// Settings of a constant channel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct ConstantConfig {
    /// Amount per slot, in `unit`; 1 to 2^32 - 1.
    pub per_slot: u64,
    /// What the amount counts.
    pub unit: CapacityUnit,
}

impl Default for ConstantConfig {
    /// Four packets: about the mean of T20's pedestrian trace.
    fn default() -> Self {
        Self { per_slot: 4, unit: CapacityUnit::Packets }
    }
}

impl ConstantConfig {
    /// Checks the bounds.
    ///
    /// # Errors
    /// When `per_slot` is 0 or above 2^32 - 1.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ensure(
            (1..=MAX_AMOUNT).contains(&self.per_slot),
            "per_slot",
            &self.per_slot,
            "1 to 4294967295",
            "a channel that carries nothing never drains a queue",
        )
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "constant",
    kind: "channel",
    title: "the same capacity in every slot",
    text: "Every slot offers `per_slot`, whatever its number, time and length.",
    sources: "none",
    deviations: "none",
    params: &[
        ParamDoc {
            name: "per_slot",
            unit: "packets or bytes, as `unit` says",
            bounds: "1 to 4294967295",
            default: "4",
            text: "Amount that every slot offers.",
        },
        ParamDoc {
            name: "unit",
            unit: "packets | bytes",
            bounds: "one of them",
            default: "packets",
            text: "What the amount counts; it is the unit in which the MAC pulls.",
        },
    ],
};
