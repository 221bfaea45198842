//! Secondary cells of carrier aggregation (TS 38.300 sections 5.4.1 and 6.7): further carriers of
//! the cell that send the data of the same RLC entities.

use super::CellContext;
use crate::carrier::CarrierConfig;
use crate::channel::ChannelConfig;
use crate::harq::HarqConfig;
use crate::limiter::LimiterConfig;
use crate::rb_scheduler::RbSchedulerConfig;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration};

/// Most SCells of a cell (TS 38.331 maxNrofSCells).
pub const MOST_SCELLS: usize = 31;

/// The name of the carrier of `mac.carrier` in results.
pub const PCELL: &str = "pcell";

/// An SCell.
#[derive(Clone, Debug, PartialEq)]
pub struct ScellConfig {
    /// Its name in results.
    pub name: String,
    /// Length of its slots, which begin with those of the other carriers.
    pub slot: Duration,
    /// Its carrier.
    pub carrier: CarrierConfig,
    /// Its HARQ entity.
    pub harq: HarqConfig,
    /// Slots from a measurement of its channel to the first slot whose MCS follows it.
    pub cqi_delay: u8,
    /// Its channel, which all UEs share.
    pub channel: ChannelConfig,
    /// By UE: true if the UE uses it. Empty if all do.
    pub ues: Arc<[bool]>,
}

impl ScellConfig {
    /// True if `ue` uses it.
    #[must_use]
    pub fn serves(&self, ue: u32) -> bool {
        self.ues.get(ue as usize).copied().unwrap_or(true)
    }
}

impl CellContext<'_> {
    /// Refuses SCells of a MAC that cannot have any.
    pub(crate) fn refuse_scells(&self) -> Result<(), ConfigError> {
        let n = self.scells.len();
        let why = "carriers are aggregated in resource blocks";
        ensure(n == 0, "scell", &n, "none, or with mac.kind rb", why)
    }

    /// Checks the SCells beside `pcell`, whose blocks `scheduler` allocates.
    pub(crate) fn check_scells(
        &self,
        pcell: &CarrierConfig,
        slot: Duration,
        scheduler: &RbSchedulerConfig,
    ) -> Result<(), ConfigError> {
        let n = self.scells.len();
        ensure(n <= MOST_SCELLS, "scell", &n, &format!("at most {MOST_SCELLS}"), "TS 38.331")?;
        ensure(
            n == 0 || !matches!(scheduler, RbSchedulerConfig::Eqp(_)),
            "mac.scheduler.kind",
            &scheduler.name(),
            "another kind with scell",
            "a quantum counts the blocks of one carrier",
        )?;
        let by_slot =
            matches!(self.rlc.limiter, LimiterConfig::Bdp5g(_) | LimiterConfig::EBdp5g(_));
        ensure(
            !by_slot || self.scells.iter().all(|scell| scell.slot == slot),
            "rlc.limiter.kind",
            &self.rlc.limiter.name(),
            "another kind, or each scell.slot as long as mac.slot.period",
            "it expects of the next slot what the last ones carried",
        )?;
        for (i, scell) in self.scells.iter().enumerate() {
            let used = |name: &str| self.scells[..i].iter().any(|other| other.name == name);
            ensure(
                !scell.name.is_empty() && scell.name != PCELL && !used(&scell.name),
                &format!("scell[{i}].name"),
                &scell.name,
                &format!("a name that no other carrier has; `{PCELL}` is the one of mac.carrier"),
                "results name the carrier",
            )?;
            scell.check(pcell).map_err(|e| e.within(&format!("scell[{i}]")))?;
        }
        Ok(())
    }
}

impl ScellConfig {
    fn check(&self, pcell: &CarrierConfig) -> Result<(), ConfigError> {
        self.carrier.validate().map_err(|e| e.within("carrier"))?;
        self.harq.validate().map_err(|e| e.within("harq"))?;
        ensure(
            self.carrier.kind == pcell.kind,
            "carrier.kind",
            &self.carrier.kind.name(),
            &format!("{}, as mac.carrier.kind", pcell.kind.name()),
            "the carriers of a MAC entity are of one radio access technology",
        )?;
        self.carrier
            .check_slot(self.slot)
            .map_err(|e| ConfigError { field: "slot".into(), ..e })?;
        let fits = match self.channel.map() {
            Some(map) => map.mcs_table() == self.carrier.table(),
            None => self.channel.needs_carrier(),
        };
        let allowed = "kind mcs, or a kind with a CQI whose map leads to the carrier's MCS table";
        let why = "the MAC sizes blocks by the MCS";
        ensure(fits, "channel", &self.channel.name(), allowed, why)?;
        ensure(
            !self.channel.errors_follow_sinr() || self.harq.bler.0 == 0.0,
            "harq.bler",
            &self.harq.bler,
            "0 with a channel whose SINR says how often a block fails",
            "channel umi: the share of block errors follows the SINR and the MCS",
        )
    }
}
