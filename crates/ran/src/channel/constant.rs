//! A channel with the same capacity in every slot.
//!
//! Source: none needed; the fixed-MCS experiments of A21 and E19 come close. Weakness: hides every
//! effect of fading; a queue that is right here may starve or bloat on a real channel. Deviations:
//! none.

use super::{ChannelContext, ChannelModel, ChannelSettings, MAX_AMOUNT};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Instant, params};

params! {
    /// Settings of a constant channel.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ConstantConfig {
        /// Amount that every slot offers.
        per_slot: u64 as "packets or bytes, as mac.kind says" = 4,
            within(1, MAX_AMOUNT), "a channel that carries nothing never drains a queue";
    }
}

impl ChannelSettings for ConstantConfig {}

/// A running constant channel.
#[derive(Clone, Debug)]
pub struct Constant(u64);

impl Constant {
    /// The channel of a valid `config`.
    pub(super) fn new(config: &ConstantConfig, _: &ChannelContext) -> Result<Self, ConfigError> {
        Ok(Self(config.per_slot))
    }
}

impl ChannelModel for Constant {
    #[inline]
    fn amount(&self, _: u64, _: Instant) -> u64 {
        self.0
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
