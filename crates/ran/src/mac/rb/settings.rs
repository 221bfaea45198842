//! Settings of resource blocks, and the related settings of the cell.

use crate::carrier::CarrierConfig;
use crate::config::{CellContext, PollConfig};
use crate::harq::HarqConfig;
use crate::mac::MacSettings;
use crate::mac::blocks::{self, Blocks};
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
        /// The carrier: the number of resource blocks, and their sizes.
        carrier: CarrierConfig = CarrierConfig::default();
        /// Who gets resource blocks.
        scheduler: RbSchedulerConfig = RbSchedulerConfig::default();
        /// Transport blocks that are sent again.
        harq: HarqConfig = HarqConfig::default();
        /// Slots from a measurement of the channel to the first slot whose MCS follows it, 0 to
        /// 255. A block whose MCS is above the channel's MCS by then is not decoded at its first
        /// transmission.
        cqi_delay: u8 = 0;
        /// Time from a STATUS PDU of the UE to the sender's RLC (AM), the uplink included.
        status_delay: Duration = Duration::from_millis(8);
    }
}

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
        Some(blocks::HEADER)
    }

    fn unread(&self) -> &'static [(&'static str, &'static str)] {
        blocks::UNREAD
    }

    fn check(&self, cell: &CellContext<'_>) -> Result<(), ConfigError> {
        let Self { slot, carrier, harq, .. } = self;
        blocks::check(&Blocks { slot, carrier, harq }, cell)?;
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
