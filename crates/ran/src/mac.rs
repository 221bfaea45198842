//! Medium access control: the slots, and what bearers send in them.
//!
//! There are five ways to serve a slot, one file each: whole packets ([`packets`]), bytes
//! ([`bytes`]), resource blocks of a carrier ([`rb`]), and PDUs of one size, on dedicated channels
//! ([`dch`]) or shared by credits ([`hsdpa`]). To add one: a file that implements [`SlotService`],
//! and an arm of [`AnyService`] and of its `each!`.

mod bytes;
mod cell;
pub(crate) mod dch;
mod fixed;
pub(crate) mod hsdpa;
mod links;
mod meter;
mod packets;
mod rb;
mod turns;

pub(crate) use cell::{Cell, OwnChannel, Turn, UeRadio};
pub(crate) use meter::{Meter, UeMeter, Weight};

use crate::bearer::{BearerId, Egress, Exit, Slot, UMTS_HEADER};
use crate::channel::{CapacityUnit, Channel};
use crate::config::StackConfig;
use alloc::boxed::Box;
use justfull_base::feedback::CellKind;
use justfull_base::{ConfigError, Instant, Probe, forwarded};

/// What a slot offered and how much was used, in the unit of [`SlotService::unit`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlotUse {
    pub(crate) capacity: u64,
    pub(crate) used: u64,
}

/// One of the services, chosen at start.
pub(crate) enum AnyService {
    Packets(packets::Packets),
    Bytes(bytes::Bytes),
    Rb(Box<rb::Rb>),
    Dch(Box<dch::Dch>),
    Hsdpa(Box<hsdpa::Hsdpa>),
}

macro_rules! each {
    ($self:ident, $service:ident => $body:expr) => {
        match $self {
            AnyService::Packets($service) => $body,
            AnyService::Bytes($service) => $body,
            AnyService::Rb($service) => $body,
            AnyService::Dch($service) => $body,
            AnyService::Hsdpa($service) => $body,
        }
    };
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

impl AnyService {
    /// The service for the cell of `config`.
    ///
    /// # Errors
    /// The field that is out of bounds.
    pub(crate) fn new(config: &StackConfig) -> Result<Self, ConfigError> {
        if let Some(pdu) = config.rlc.mode.pdu() {
            if let Some(dch) = &config.mac.dch {
                return Ok(Self::Dch(Box::new(dch::Dch::new(config, dch, pdu, UMTS_HEADER))));
            }
            if let Some(hsdpa) = &config.mac.hsdpa {
                return Ok(Self::Hsdpa(Box::new(hsdpa::Hsdpa::new(
                    config,
                    hsdpa,
                    pdu,
                    UMTS_HEADER,
                ))));
            }
        }
        Ok(match (&config.mac.carrier, config.unit()) {
            (Some(carrier), _) => Self::Rb(Box::new(rb::Rb::new(config, carrier)?)),
            (None, CapacityUnit::Packets) => Self::Packets(packets::Packets::new(config.mtu)),
            (None, CapacityUnit::Bytes) => Self::Bytes(bytes::Bytes::new(config.mac.overhead.0)),
        })
    }
}
