//! Medium access control: the slots, and the data that bearers send in them.
//!
//! There are six services of a slot, one file each: whole packets ([`Packets`]), bytes
//! ([`Bytes`]), resource blocks of a carrier ([`Rb`]), PDUs of one size, on dedicated channels
//! ([`Dch`]) or shared by credits ([`Hsdpa`]), and the resource blocks of an uplink
//! ([`UplinkMac`]), where UEs request and report.
//!
//! To add one: its file, with settings that implement `MacSettings`, a service that implements
//! `SlotService`, and `DOC`; then its `mod` and its line in the list of kinds.

mod active;
mod blocks;
mod bytes;
mod cell;
mod dch;
mod feeds;
mod fixed;
mod hsdpa;
mod links;
mod meter;
mod packets;
mod rb;
mod roster;
mod sleep;
mod turns;
mod uplink;

pub use uplink::{
    AccessCounts, BsrConfig, ConfiguredGrantConfig, LogicalChannelConfig, Reported, SrConfig,
    UPLINK_DOCS, UplinkAccess,
};

pub use rb::CarrierUse;

pub(crate) use cell::{Cell, Turn, UeRadio};
pub(crate) use feeds::Feed;
pub(crate) use meter::{Meter, UeMeter, Weight};
pub(crate) use roster::{OwnChannel, Roster};
pub(crate) use sleep::{Sleep, Wake};

use crate::bearer::{BearerId, Egress, Exit, InFlight, Slot};
use crate::carried::Carried;
use crate::carrier::CarrierConfig;
use crate::channel::{CapacityUnit, Channel};
use crate::config::{CellContext, PollConfig};
use alloc::boxed::Box;
use alloc::vec::Vec;
use justfull_base::feedback::CellKind;
use justfull_base::{ConfigError, Duration, Instant, Probe, forwarded, kinds};

/// The capacity of a slot and its used part, in the unit of [`SlotService::unit`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlotUse {
    pub(crate) capacity: u64,
    pub(crate) used: u64,
}

impl SlotUse {
    /// A bearer sent `sent` bytes in a slot of `whole` bytes and has no more data. Returns the
    /// bytes that the slot could have carried for it besides: the unused part of the slot, or the
    /// rest of its equal share if `sharers` other bearers have data.
    fn offers(self, whole: u64, sent: u64, sharers: u64) -> u64 {
        let unused = whole * (self.capacity - self.used) / self.capacity.max(1);
        if sharers == 0 { unused } else { unused.max((whole / (sharers + 1)).saturating_sub(sent)) }
    }
}

kinds! {
    $ each;

    /// Medium access control: how a slot is served, and when.
    #[derive(Clone, Debug, PartialEq)]
    pub enum MacConfig = Packets;

    /// One of the services, chosen at start.
    pub enum AnyService(cell: &CellContext<'_>);

    "packets" Packets = packets::{Packets, PacketsConfig};
    "bytes" Bytes = bytes::{Bytes, BytesConfig};
    "rb" Rb = rb::{Rb in Box, RbConfig};
    "dch" Dch = dch::{Dch in Box, DchConfig};
    "hsdpa" Hsdpa = hsdpa::{Hsdpa in Box, HsdpaConfig};
    "uplink" Uplink = uplink::{UplinkMac in Box, UplinkMacConfig};
}

forwarded! {
    by each for AnyService;

    /// Serves the slots of a cell.
    pub(crate) trait SlotService {
        /// The unit of [`SlotUse`]: `packets`, `bytes` or `resource_blocks`.
        fn unit(&self) -> &'static str;

        /// Maximum number of SDU bytes in one unit.
        fn most_bytes_per_unit(&self) -> u64;

        /// `bearer` has data to send now; it had none before.
        fn join(&mut self, bearer: BearerId);

        /// An AQM's timeout has dropped the last packets of `bearer`, which has no more data to
        /// send.
        fn leave(&mut self, bearer: BearerId, cell: &mut Cell);

        /// `ue` falls asleep: nothing is sent to it until its bearers join again.
        fn suspend(&mut self, ue: u32) {
            let _ = ue;
        }

        /// True if it reports its bearers' rates itself ([`Bearer::set_service_rate`]); otherwise
        /// the stack measures them for AQMs that need them.
        ///
        /// [`Bearer::set_service_rate`]: crate::bearer::Bearer::set_service_rate
        fn tells_rates(&self) -> bool {
            false
        }

        /// Number of bearers, or of UEs, with data to send, which share a slot.
        fn sharers(&self) -> usize;

        /// The capacity of `slot`, in the unit of grants, if one UE with this `channel` has all of
        /// it.
        fn whole_slot(&self, channel: &Channel, slot: Slot) -> u64;

        /// The capacity of the pattern's largest slot, at the MCS of `slot`.
        fn full_slot(&self, channel: &Channel, slot: Slot) -> u64 {
            self.whole_slot(channel, slot)
        }

        /// [`Self::whole_slot`] of `ue` in bytes, with its SCells; a packet has its most bytes.
        fn slot_bytes(&self, channel: &Channel, ue: u32, slot: Slot) -> u64 {
            let bytes = if self.unit() == "packets" { self.most_bytes_per_unit() } else { 1 };
            bytes * self.whole_slot(channel, slot) + self.of_scells(ue, slot).0
        }

        /// The bytes that SCells add for `ue` to [`Self::whole_slot`] and [`Self::full_slot`].
        fn of_scells(&self, ue: u32, slot: Slot) -> (u64, u64) {
            let _ = (ue, slot);
            (0, 0)
        }

        /// The use of each carrier so far; empty without SCells.
        fn carriers(&self) -> Vec<CarrierUse> {
            Vec::new()
        }

        /// Lets the bearers of `cell` send the data that `slot` carries, and records the offer to
        /// each ([`Cell::offer`]).
        fn serve<D: Probe + Egress>(
            &mut self,
            slot: Slot,
            cell: &mut Cell,
            exit: &mut Exit<'_, D>,
        ) -> SlotUse;

        /// Packets that have left the RLC queue and are neither delivered nor lost, and packets
        /// lost after leaving it.
        fn in_the_air(&self) -> (u64, u64) {
            (0, 0)
        }

        /// `ue` leaves `cell`: it gets no more data, and its timers and reports end.
        fn forget(&mut self, ue: u32, cell: &Cell) {
            let _ = (ue, cell);
        }

        /// UE `number` with `drbs` bearers has entered the cell, in `place`.
        fn enter(&mut self, place: u32, number: u32, drbs: u8) {
            let _ = (place, number, drbs);
        }

        /// The SDUs in transit; none without RLC and PDCP, or if UEs stay in the cell (UMTS).
        fn in_flight(&mut self) -> Option<&mut InFlight> {
            None
        }

        /// `bearer` has entered the cell with its UE; its timers are running.
        fn watch(&mut self, bearer: BearerId, cell: &mut Cell) {
            let _ = (bearer, cell);
        }

        /// The STATUS PDU of `handle`, which the driver carried, has reached the sender at `now`.
        fn receive_status<D: Probe + Egress>(
            &mut self,
            now: Instant,
            handle: u32,
            cell: &mut Cell,
            exit: &mut Exit<'_, D>,
        ) {
            let _ = (now, handle, cell, exit);
        }

        /// The driver has lost the STATUS PDU of `handle`.
        fn lose_status(&mut self, handle: u32) {
            let _ = handle;
        }

        /// Resource blocks that slice `slice` has lent (positive) or borrowed (negative); none if
        /// slices do not lend.
        fn quantum(&self, _slice: usize) -> Option<f64> {
            None
        }

        /// The rules that convert resource blocks to bytes; none without resource blocks.
        fn report_kind(&self) -> Option<CellKind> {
            None
        }

        /// A block of `slot` as a part of a full block.
        fn weight(&self, _slot: Slot) -> Weight {
            Weight::FULL
        }

        /// The MCS that the MAC has for `ue` in `slot`, the last one; none if it has none.
        fn known_mcs(&self, _cell: &mut Cell, _ue: u32, _slot: Slot) -> Option<u8> {
            None
        }

        /// The requests and grants that the caller has not taken yet; none unless UEs of an uplink
        /// have DRX.
        fn accesses(&mut self) -> Option<&mut Vec<UplinkAccess>> {
            None
        }

        /// Counts of UEs and scheduler so far; only an uplink has them.
        fn access_counts(&self) -> Option<AccessCounts> {
            None
        }

        /// The last buffer status report of the UE in place `ue`; only an uplink has it.
        fn reported(&self, _ue: u32) -> Option<Reported> {
            None
        }
    }
}

/// Properties of a service, known from its settings, and their requirements on the cell.
pub(crate) trait MacSettings {
    /// See [`MacConfig::unit`].
    fn unit(&self) -> CapacityUnit {
        CapacityUnit::Bytes
    }

    /// See [`MacConfig::carrier`].
    fn carrier(&self) -> Option<&CarrierConfig> {
        None
    }

    /// Age of the MAC's knowledge of the channels, in slots.
    fn cqi_delay(&self) -> u8 {
        0
    }

    /// Bytes that the MAC adds to a PDU of the RLC; none if RLC and PDCP have neither headers nor a
    /// receiver.
    fn pdu_header(&self) -> Option<u8> {
        None
    }

    /// See [`MacConfig::status_way`].
    fn status_way(&self) -> Option<Duration> {
        None
    }

    /// The store of slot capacities, empty if they do not determine the service of one packet.
    fn carried(&self) -> Carried {
        Carried::default()
    }

    /// Checks related settings in `cell`; the bounds of its own settings already hold.
    fn check(&self, cell: &CellContext<'_>) -> Result<(), ConfigError>;

    /// See [`MacConfig::unread`].
    fn unread(&self) -> &'static [(&'static str, &'static str)];
}

/// The settings that a MAC without headers does not read.
const NO_PDCP: &[(&str, &str)] = &[("pdcp", "only a MAC of kind rb, dch or hsdpa has it")];

impl MacConfig {
    /// The slots: the times of the MAC's pulls.
    #[must_use]
    pub const fn slot(&self) -> &PollConfig {
        each!(config self, c => &c.slot)
    }

    /// The mutable settings of the slots.
    pub const fn slot_mut(&mut self) -> &mut PollConfig {
        each!(config self, c => &mut c.slot)
    }

    /// The unit of the channel, grants, limiters and pacers. With resource blocks and PDUs of one
    /// size it is bytes of SDUs.
    #[must_use]
    pub fn unit(&self) -> CapacityUnit {
        each!(config self, c => c.unit())
    }

    /// The carrier; none if no resource blocks are allocated.
    #[must_use]
    pub fn carrier(&self) -> Option<&CarrierConfig> {
        each!(config self, c => c.carrier())
    }

    /// Width in Hz of the carrier; none without one.
    #[must_use]
    pub fn bandwidth(&self) -> Option<u64> {
        self.carrier()?.bandwidth(self.slot().period)
    }

    /// The delay of STATUS PDUs from the UEs' uplink to the sender's RLC; none unless they share
    /// the uplink.
    #[must_use]
    pub fn status_way(&self) -> Option<Duration> {
        each!(config self, c => c.status_way())
    }

    /// True if RLC and PDCP have headers and a receiver.
    #[must_use]
    pub fn has_rlc(&self) -> bool {
        self.pdu_header().is_some()
    }

    /// Paths of settings elsewhere that are not read with this MAC, each with the reason.
    #[must_use]
    pub fn unread(&self) -> &'static [(&'static str, &'static str)] {
        each!(config self, c => c.unread())
    }

    pub(crate) fn cqi_delay(&self) -> u8 {
        each!(config self, c => c.cqi_delay())
    }

    pub(crate) fn pdu_header(&self) -> Option<u8> {
        each!(config self, c => c.pdu_header())
    }

    pub(crate) fn carried(&self) -> Carried {
        each!(config self, c => c.carried())
    }

    /// Checks the settings, and the settings of `cell` that depend on the MAC.
    pub(crate) fn check_in(&self, cell: &CellContext<'_>) -> Result<(), ConfigError> {
        self.validate().map_err(|e| e.within("mac"))?;
        if self.carrier().is_none() {
            cell.refuse_blocks()?;
        }
        if !matches!(self, Self::Rb(_)) {
            cell.refuse_scells()?;
        }
        each!(config self, c => c.check(cell))
    }
}

#[cfg(test)]
mod tests {
    use super::SlotUse;

    #[test]
    fn a_slot_offers_its_unused_part_or_the_rest_of_a_share_beside_others_with_data() {
        let half = SlotUse { capacity: 50, used: 25 };
        assert_eq!(half.offers(1000, 500, 0), 500);
        assert_eq!(half.offers(1000, 100, 3), 500, "the unused part is above a quarter");
        let full = SlotUse { capacity: 50, used: 50 };
        assert_eq!(full.offers(1000, 100, 3), 150, "a quarter, less what was sent");
        assert_eq!(full.offers(1000, 300, 3), 0, "more than its share was sent");
        assert_eq!(full.offers(1000, 1000, 0), 0);
        assert_eq!(SlotUse::default().offers(1000, 0, 0), 0, "no slot of this direction");
    }
}
