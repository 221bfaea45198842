//! Medium access control: the slots, and what bearers send in them.
//!
//! There are five ways to serve a slot, one file each: whole packets ([`Packets`]), bytes
//! ([`Bytes`]), resource blocks of a carrier ([`Rb`]), and PDUs of one size, on dedicated channels
//! ([`Dch`]) or shared by credits ([`Hsdpa`]).
//!
//! To add one: its file, with settings that implement `MacSettings`, a service that implements
//! `SlotService`, and `DOC`; then its `mod` and its line in the list of kinds.

mod bytes;
mod cell;
mod dch;
mod fixed;
mod hsdpa;
mod links;
mod meter;
mod packets;
mod rb;
mod turns;

pub(crate) use cell::{Cell, OwnChannel, Turn, UeRadio};
pub(crate) use meter::{Meter, UeMeter, Weight};

use crate::bearer::{BearerId, Egress, Exit, Slot};
use crate::carried::Carried;
use crate::carrier::CarrierConfig;
use crate::channel::{CapacityUnit, Channel};
use crate::config::{CellContext, PollConfig};
use alloc::boxed::Box;
use justfull_base::feedback::CellKind;
use justfull_base::{ConfigError, Duration, Instant, Probe, forwarded, kinds};

/// What a slot offered and how much was used, in the unit of [`SlotService::unit`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlotUse {
    pub(crate) capacity: u64,
    pub(crate) used: u64,
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
}

forwarded! {
    by each for AnyService;

    /// Serves the slots of a cell.
    pub(crate) trait SlotService {
        /// What [`SlotUse`] counts: `packets`, `bytes` or `resource_blocks`.
        fn unit(&self) -> &'static str;

        /// The most SDU bytes that one unit can carry.
        fn most_bytes_per_unit(&self) -> u64;

        /// `bearer` had nothing to send until now.
        fn join(&mut self, bearer: BearerId);

        /// An AQM's timeout has dropped the last packets of `bearer`: it has nothing to send any
        /// more.
        fn leave(&mut self, bearer: BearerId, cell: &mut Cell);

        /// True when it tells its bearers' rates itself ([`Bearer::set_service_rate`]); otherwise
        /// the stack measures them where an AQM asks.
        ///
        /// [`Bearer::set_service_rate`]: crate::bearer::Bearer::set_service_rate
        fn tells_rates(&self) -> bool {
            false
        }

        /// How many share a slot: bearers, or UEs, with something to send.
        fn sharers(&self) -> usize;

        /// What `slot` can carry, in the unit of grants, if one UE with this `channel` has all of
        /// it.
        fn whole_slot(&self, channel: &Channel, slot: Slot) -> u64;

        /// The same for the largest slot of the pattern, at the MCS of `slot`.
        fn full_slot(&self, channel: &Channel, slot: Slot) -> u64 {
            self.whole_slot(channel, slot)
        }

        /// Lets the bearers of `cell` send what `slot` carries, and records what each was offered
        /// ([`Cell::offer`]).
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

        /// The STATUS PDU of `handle`, which the driver carried, has reached the sender at `now`.
        fn hear_status<D: Probe + Egress>(
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

        /// Whose rules turn resource blocks into bytes; none where it allocates none.
        fn report_kind(&self) -> Option<CellKind> {
            None
        }

        /// The part of a full block that a block of `slot` is.
        fn weight(&self, _slot: Slot) -> Weight {
            Weight::FULL
        }

        /// The MCS that the MAC knows for `ue` in `slot`, the last one; none where it knows none.
        fn known_mcs(&self, _cell: &mut Cell, _ue: u32, _slot: Slot) -> Option<u8> {
            None
        }
    }
}

/// What the settings of a service say of its cell, and what they need there.
pub(crate) trait MacSettings {
    /// See [`MacConfig::unit`].
    fn unit(&self) -> CapacityUnit {
        CapacityUnit::Bytes
    }

    /// See [`MacConfig::carrier`].
    fn carrier(&self) -> Option<&CarrierConfig> {
        None
    }

    /// Slots by which the MAC's knowledge of the channels is old.
    fn cqi_delay(&self) -> u8 {
        0
    }

    /// Bytes that the MAC adds to a PDU of the RLC; none where RLC and PDCP have neither headers
    /// nor a receiving side.
    fn pdu_header(&self) -> Option<u8> {
        None
    }

    /// See [`MacConfig::status_way`].
    fn status_way(&self) -> Option<Duration> {
        None
    }

    /// What takes down how much a slot could carry, where that tells when one packet is through.
    fn carried(&self) -> Carried {
        Carried::default()
    }

    /// Checks what stands beside the settings in `cell`; their own bounds hold.
    fn check(&self, cell: &CellContext<'_>) -> Result<(), ConfigError>;

    /// See [`MacConfig::unread`].
    fn unread(&self) -> &'static [(&'static str, &'static str)];
}

/// What a MAC without headers does not read.
const NO_PDCP: &[(&str, &str)] = &[("pdcp", "only a MAC of kind rb, dch or hsdpa has it")];

impl MacConfig {
    /// The slots: when the MAC pulls.
    #[must_use]
    pub const fn slot(&self) -> &PollConfig {
        each!(config self, c => &c.slot)
    }

    /// The slots, to be changed.
    pub const fn slot_mut(&mut self) -> &mut PollConfig {
        each!(config self, c => &mut c.slot)
    }

    /// The unit of the channel, grants, limiters and pacers. Of resource blocks and of PDUs of one
    /// size that is bytes of SDUs.
    #[must_use]
    pub fn unit(&self) -> CapacityUnit {
        each!(config self, c => c.unit())
    }

    /// The carrier; none where no resource blocks are allocated.
    #[must_use]
    pub fn carrier(&self) -> Option<&CarrierConfig> {
        each!(config self, c => c.carrier())
    }

    /// Width in Hz of the carrier; none without one.
    #[must_use]
    pub fn bandwidth(&self) -> Option<u64> {
        self.carrier()?.bandwidth(self.slot().period)
    }

    /// Where STATUS PDUs share the UEs' uplink: their way from there to the sender's RLC.
    #[must_use]
    pub fn status_way(&self) -> Option<Duration> {
        each!(config self, c => c.status_way())
    }

    /// True where RLC and PDCP have headers and a receiving side.
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

    /// Checks the settings, and those of `cell` that depend on the MAC.
    pub(crate) fn check_in(&self, cell: &CellContext<'_>) -> Result<(), ConfigError> {
        self.validate().map_err(|e| e.within("mac"))?;
        if self.carrier().is_none() {
            cell.refuse_blocks()?;
        }
        each!(config self, c => c.check(cell))
    }
}
