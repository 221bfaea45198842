//! Checks of a MAC of PDUs of one size (UMTS), and of SDUs that are held.

use super::{Hold, MacConfig, StackConfig};
use crate::RlcModeConfig;
use crate::channel::CapacityUnit;
use crate::fixed_pdus::{DchConfig, HsdpaConfig};
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration};

impl StackConfig {
    /// Where STATUS PDUs share the UEs' uplink (dch, hsdpa): their way from there to the RLC.
    #[must_use]
    pub fn status_way(&self) -> Option<Duration> {
        self.rlc.mode.pdu().map(|_| self.mac.status_delay)
    }

    /// Checks that SDUs are held only where something is acknowledged.
    pub(super) fn validate_hold(&self) -> Result<(), ConfigError> {
        let acknowledges = matches!(self.rlc.mode, RlcModeConfig::Am(_));
        ensure(
            self.rlc.hold == Hold::Sent || acknowledges,
            "rlc.hold",
            &self.rlc.hold.name(),
            "sent, or with rlc.mode am",
            "only acknowledged mode has acknowledgements",
        )
    }

    /// Checks a MAC of PDUs of one size; true when it is one.
    pub(super) fn validate_fixed_pdus(&self) -> Result<bool, ConfigError> {
        let MacConfig { carrier, dch, hsdpa, slot, .. } = &self.mac;
        let (name, settings, check_slot): (_, _, fn(Duration) -> _) = match (dch, hsdpa) {
            (None, None) => return Ok(false),
            (Some(dch), _) => ("mac.dch", dch.validate(), DchConfig::check_slot),
            (None, Some(hsdpa)) => ("mac.hsdpa", hsdpa.validate(), HsdpaConfig::check_slot),
        };
        let why = "one MAC, one kind of grant";
        ensure(carrier.is_none(), name, &"a table", "none with mac.carrier", why)?;
        ensure(
            dch.is_none() || hsdpa.is_none(),
            "mac.hsdpa",
            &"a table",
            "none with mac.dch",
            why,
        )?;
        settings.map_err(|e| e.within(name))?;
        check_slot(slot.period).map_err(|e| e.within("mac"))?;
        ensure(
            self.rlc.mode.pdu().is_some(),
            "rlc.mode",
            &self.rlc.mode.name(),
            "am with generation umts, with mac.dch or mac.hsdpa",
            "only the RLC of UMTS has PDUs of one size (TS 25.322)",
        )?;
        self.rlc.mode.validate().map_err(|e| e.within("rlc.mode"))?;
        self.pdcp.validate().map_err(|e| e.within("pdcp"))?;
        ensure(
            self.channel.unit() == CapacityUnit::Bytes,
            "channel.unit",
            &"packets",
            "bytes with mac.dch or mac.hsdpa",
            "PDUs carry bytes",
        )?;
        Ok(true)
    }
}
