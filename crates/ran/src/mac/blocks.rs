//! The common parts of the two services of resource blocks: the cell's and the uplink's.

use super::Cell;
use crate::bearer::Slot;
use crate::carrier::CarrierConfig;
use crate::config::{CellContext, PollConfig};
use crate::harq::{Block, HarqConfig, Reception};
use justfull_base::ConfigError;
use justfull_base::error::ensure;

/// Bytes of the MAC subheader of an RLC PDU: R, F, LCID and a length of 16 bits (TS 38.321 section
/// 6.1.2; TS 36.321 section 6.1.2). A21's transport blocks of 1572 and 2292 B leave 1569 and 2289
/// B.
pub(super) const HEADER: u8 = 3;

/// Settings of PDCP that are not read.
pub(super) const UNREAD: &[(&str, &str)] =
    &[("pdcp.umts_header", "only a MAC of kind dch or hsdpa has it")];

/// The settings of both services that [`check`] reads.
pub(super) struct Blocks<'a> {
    pub(super) slot: &'a PollConfig,
    pub(super) carrier: &'a CarrierConfig,
    pub(super) harq: &'a HarqConfig,
}

/// Checks that the slots fit the carrier, and that channels, RLC and HARQ of `cell` fit resource
/// blocks.
pub(super) fn check(blocks: &Blocks<'_>, cell: &CellContext<'_>) -> Result<(), ConfigError> {
    let Blocks { slot, carrier, harq } = blocks;
    carrier.check_slot(slot.period).map_err(|e| e.within("mac"))?;
    let follows = cell.channels().any(|(_, channel)| channel.errors_follow_sinr());
    ensure(
        !follows || harq.bler.0 == 0.0,
        "mac.harq.bler",
        &harq.bler,
        "0 with a channel whose SINR says how often a block fails",
        "channel umi: the share of block errors follows the SINR and the MCS",
    )?;
    ensure(
        cell.rlc.mode.pdu().is_none(),
        "rlc.mode.generation",
        &"umts",
        "nr or lte with resource blocks",
        "TS 25.322 has PDUs of one size, resource blocks carry transport blocks of many",
    )?;
    ensure(
        cell.channels().all(|(_, channel)| match channel.map() {
            Some(map) => map.mcs_table() == carrier.table(),
            None => channel.needs_carrier(),
        }),
        "channel",
        &"another channel",
        "kind mcs, or a kind with a CQI whose map leads to the carrier's MCS table",
        "the MAC sizes blocks by the MCS (TS 36.213 section 7.1.7, TS 38.214 sections 5.1.3, 6.1.4)",
    )
}

/// The reception of a transmission of `block` in `slot`, if the UE's channel has a SINR.
pub(super) fn reception_by_sinr(
    cell: &mut Cell,
    slot: Slot,
    block: &mut Block,
) -> Option<Reception> {
    if !cell.errors_follow_sinr {
        return None;
    }
    let channel = cell.channel_of(block.ue);
    channel.block_error(slot.k, slot.now, block.mcs, &mut block.sinr).map(Reception::Error)
}
