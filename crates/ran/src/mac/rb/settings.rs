//! Settings of resource blocks, and the related settings of the cell.

use crate::carrier::CarrierConfig;
use crate::config::{CellContext, PollConfig};
use crate::harq::HarqConfig;
use crate::mac::MacSettings;
use crate::rb_scheduler::RbSchedulerConfig;
use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, params};

params! {
    /// Settings of resource blocks.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RbConfig {
        /// The slots: 1ms with an LTE carrier, 1ms to 125us with an NR carrier.
        slot: PollConfig = PollConfig::every(Duration::from_millis(1));
        /// The carrier: how many blocks, and what they carry.
        carrier: CarrierConfig = CarrierConfig::default();
        /// Who gets resource blocks.
        scheduler: RbSchedulerConfig = RbSchedulerConfig::default();
        /// Transport blocks that are sent again.
        harq: HarqConfig = HarqConfig::default();
        /// Slots from a measurement of the channel to the first slot whose MCS follows it, 0 to
        /// 255. A block whose MCS is above what the channel bears by then is not decoded at its
        /// first transmission.
        cqi_delay: u8 = 0;
        /// Time from a STATUS PDU of the UE to the sender's RLC (AM), the uplink included.
        status_delay: Duration = Duration::from_millis(8);
    }
}

/// Bytes of the MAC subheader of an RLC PDU: R, F, LCID and a length of 16 bits (TS 38.321 section
/// 6.1.2; TS 36.321 section 6.1.2). A21's transport blocks of 1572 and 2292 B leave 1569 and 2289
/// B.
const MAC_HEADER: u8 = 3;

/// Description.
pub(crate) const DOC: MethodDoc = MethodDoc {
    name: "rb",
    kind: "MAC",
    title: "slots of resource blocks",
    text: "Each slot offers the resource blocks of `carrier`. HARQ's repeats come first, then \
           `scheduler` gives the rest to UEs. RLC and PDCP have headers and a receiving side.",
    sources: "TS 36.321, TS 38.321; A21 section V",
    deviations: "see carrier and harq",
    params: RbConfig::params,
};

impl MacSettings for RbConfig {
    fn carrier(&self) -> Option<&CarrierConfig> {
        Some(&self.carrier)
    }

    fn cqi_delay(&self) -> u8 {
        self.cqi_delay
    }

    fn pdu_header(&self) -> Option<u8> {
        Some(MAC_HEADER)
    }

    fn unread(&self) -> &'static [(&'static str, &'static str)] {
        &[("pdcp.umts_header", "only a MAC of kind dch or hsdpa has it")]
    }

    fn check(&self, cell: &CellContext<'_>) -> Result<(), ConfigError> {
        self.carrier.check_slot(self.slot.period).map_err(|e| e.within("mac"))?;
        let follows = cell.channels().any(|(_, channel)| channel.errors_follow_sinr());
        ensure(
            !follows || self.harq.bler.0 == 0.0,
            "mac.harq.bler",
            &self.harq.bler,
            "0 with a channel whose SINR says how often a block fails",
            "channel umi: the share of block errors follows the SINR and the MCS",
        )?;
        ensure(
            cell.rlc.mode.pdu().is_none(),
            "rlc.mode.generation",
            &"umts",
            "nr or lte with mac.kind rb",
            "TS 25.322 has PDUs of one size, resource blocks carry transport blocks of many",
        )?;
        ensure(
            cell.channels().all(|(_, channel)| match channel.map() {
                Some(map) => map.mcs_table() == self.carrier.table(),
                None => channel.needs_carrier(),
            }),
            "channel",
            &"another channel",
            "kind mcs, or a kind with a CQI whose map leads to the carrier's MCS table",
            "the MAC sizes blocks by the MCS (TS 36.213 section 7.1.7, TS 38.214 section 5.1.3)",
        )?;
        cell.check_scells(&self.carrier, self.slot.period, &self.scheduler)?;
        check_slices(cell)
    }
}

/// Checks the shares of the slices, and that each UE is in one of them.
fn check_slices(cell: &CellContext<'_>) -> Result<(), ConfigError> {
    let mut sum = 0.0;
    for (i, share) in cell.slices.iter().enumerate() {
        let field = alloc::format!("slice[{i}].share");
        sum += share.0;
        let why = "a slice without resource blocks carries nothing";
        ensure(share.0 > 0.0, &field, share, "above 0", why)?;
        // The slack is for shares such as 0.1, which have no exact sum.
        let allowed = "at most what the slices before it leave of 1";
        ensure(sum <= 1.0 + 1e-9, &field, share, allowed, "A21 section IV-B")?;
    }
    for (i, ue) in cell.ues.iter().enumerate() {
        let field = alloc::format!("ue[{i}].slice");
        let known = usize::from(ue.slice) < cell.slices.len().max(1);
        ensure(known, &field, &ue.slice, "the index of one of the slices", "A21 section IV-B")?;
    }
    Ok(())
}
