//! Checks of a MAC that deals in resource blocks, and of what only such a MAC has.

use super::StackConfig;
use crate::RlcModeConfig;
use alloc::string::String;
use justfull_base::ConfigError;
use justfull_base::error::ensure;

impl StackConfig {
    /// Checks the mode of the RLC with a carrier.
    fn check_mode_of_blocks(&self) -> Result<(), ConfigError> {
        ensure(
            self.rlc.mode.pdu().is_none(),
            "rlc.mode.generation",
            &"umts",
            "nr or lte with mac.carrier",
            "TS 25.322 has PDUs of one size, resource blocks carry transport blocks of many",
        )?;
        self.rlc.mode.validate().map_err(|e| e.within("rlc.mode"))
    }

    /// Checks what needs a carrier, and what is incompatible with one.
    pub(super) fn validate_blocks(&self) -> Result<(), ConfigError> {
        const WHY: &str = "only a MAC that deals in resource blocks has these";
        let fixed = self.validate_fixed_pdus()?;
        let mut channels = self.channels();
        let Some(carrier) = &self.mac.carrier else {
            if let Some((ue, channel)) = channels.find(|(_, channel)| channel.needs_carrier()) {
                let of_ue = ue.map_or_else(String::new, |ue| alloc::format!("ue[{ue}]."));
                let field = of_ue + "channel.kind";
                let allowed = "another kind, or with mac.carrier";
                return ensure(false, &field, &channel.name(), allowed, WHY);
            }
            let sliced = self.slices.len();
            ensure(sliced == 0, "slice", &sliced, "none, or with mac.carrier", WHY)?;
            if fixed {
                return Ok(());
            }
            let mode = self.rlc.mode == RlcModeConfig::default();
            let allowed = "none, or with mac.carrier (umts: mac.dch or mac.hsdpa)";
            return ensure(mode, "rlc.mode", &"a mode", allowed, WHY);
        };
        carrier.validate().map_err(|e| e.within("mac.carrier"))?;
        carrier.check_slot(self.mac.slot.period).map_err(|e| e.within("mac"))?;
        self.mac.harq.validate().map_err(|e| e.within("mac.harq"))?;
        let follows = self.channels().any(|(_, channel)| channel.errors_follow_sinr());
        ensure(
            !follows || self.mac.harq.bler.0 == 0.0,
            "mac.harq.bler",
            &self.mac.harq.bler,
            "0 with a channel whose SINR says how often a block fails",
            "channel umi: the share of block errors follows the SINR and the MCS",
        )?;
        self.check_mode_of_blocks()?;
        self.pdcp.validate().map_err(|e| e.within("pdcp"))?;
        ensure(
            channels.all(|(_, channel)| match channel.map() {
                Some(map) => map.mcs_table() == carrier.table(),
                None => channel.needs_carrier(),
            }),
            "channel",
            &"another channel",
            "kind mcs, or a kind with a CQI whose map leads to the carrier's MCS table",
            "the MAC sizes blocks by the MCS (TS 36.213 section 7.1.7, TS 38.214 section 5.1.3)",
        )?;
        self.validate_slices()
    }

    /// Checks the shares of the slices, and that UEs are in one of them.
    fn validate_slices(&self) -> Result<(), ConfigError> {
        let mut sum = 0.0;
        for (i, share) in self.slices.iter().enumerate() {
            let field = alloc::format!("slice[{i}].share");
            sum += share.0;
            ensure(
                share.0 > 0.0,
                &field,
                share,
                "above 0",
                "a slice without resource blocks carries nothing",
            )?;
            // The slack is for shares such as 0.1, which have no exact sum.
            ensure(
                sum <= 1.0 + 1e-9,
                &field,
                share,
                "at most what the slices before it leave of 1",
                "A21 section IV-B",
            )?;
        }
        for (i, ue) in self.ues.iter().enumerate() {
            let field = alloc::format!("ue[{i}].slice");
            let known = usize::from(ue.slice) < self.slices.len().max(1);
            ensure(known, &field, &ue.slice, "the index of one of the slices", "A21 section IV-B")?;
        }
        Ok(())
    }
}
