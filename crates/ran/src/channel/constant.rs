//! A channel that offers the same in every slot.
//!
//! Source: none needed; the fixed-MCS experiments of A21 and E19 come close. Controls nothing else.
//! Weakness: hides every effect of fading; a queue that is right here may starve or bloat on a real
//! channel. Deviations: none.

use super::{CapacityUnit, MAX_AMOUNT};
use justfull_base::doc::MethodDoc;
use justfull_base::params;

params! {
    /// Settings of a constant channel.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ConstantConfig {
        /// Amount that every slot offers.
        per_slot: u64 as "packets or bytes, as `unit` says" = 4,
            within(1, MAX_AMOUNT), "a channel that carries nothing never drains a queue";
        /// What the amount counts; it is the unit in which the MAC pulls.
        unit: CapacityUnit = CapacityUnit::Packets;
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
    params: ConstantConfig::params,
};
