//! Limiters: the amount that a bearer's RLC queue may hold. The rest waits above, where it can
//! still be reordered.
//!
//! A limiter returns the amount that may still enter now, and gets a report of each slot. It keeps
//! no count of the queue: the stack shows it the queue itself ([`RlcView`]), so dropped and
//! discarded packets cannot corrupt its state (T20's released DRQL stops for good after the first
//! drop).

mod bdp_5g;
mod clairvoyant;
pub mod conformance;
mod dql;
mod drql;
mod dyn_rlc;
mod e_bdp_5g;
mod fixed;
mod hedge;
mod last_poll;
mod late;
mod unlimited;

pub(crate) use clairvoyant::wanted as clairvoyant_wanted;
pub use e_bdp_5g::EBdp5gClock;
pub(crate) use late::Apart;
pub use late::{F1Config, LimiterNode};

use alloc::boxed::Box;
use justfull_base::{Duration, Instant, Packet, SlotForecast, SlotReport, forwarded, kinds};

/// The unit in which the MAC grants and limiters count.
pub use crate::channel::CapacityUnit;

/// Contents of a bearer's RLC queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcView {
    /// SDUs waiting or partly sent.
    pub packets: u64,
    /// Bytes still to be sent.
    pub bytes: u64,
}

impl RlcView {
    /// The backlog in `unit`.
    #[must_use]
    pub fn backlog(&self, unit: CapacityUnit) -> u64 {
        match unit {
            CapacityUnit::Packets => self.packets,
            CapacityUnit::Bytes => self.bytes,
        }
    }

    /// Updates a total after one part of it has changed from `before` to `after`.
    #[inline]
    pub(crate) const fn change(&mut self, before: &Self, after: &Self) {
        self.packets = self.packets + after.packets - before.packets;
        self.bytes = self.bytes + after.bytes - before.bytes;
    }
}

/// The grants of a bearer, for its limiter and the pacers of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantContext {
    /// Unit of grants, and of the amounts of limiters and pacers.
    pub unit: CapacityUnit,
    /// Length of a slot.
    pub slot: Duration,
    /// Largest SDU in bytes.
    pub mtu: u32,
}

impl GrantContext {
    /// `packets` full-size packets in the unit of grants.
    #[must_use]
    pub fn amount(&self, packets: u64) -> u64 {
        match self.unit {
            CapacityUnit::Packets => packets,
            CapacityUnit::Bytes => packets.saturating_mul(u64::from(self.mtu)),
        }
    }
}

/// Properties of a limiter that follow from its settings.
pub trait LimiterSettings {
    /// True if it needs the capacity of coming slots, which only a cell with one bearer can
    /// provide.
    fn foresees(&self) -> bool {
        false
    }

    /// True if reports of slots are its only input, so that they may be late (`rlc.report_delay`).
    fn allows_late_reports(&self) -> bool {
        true
    }
}

/// A gate for limiters that A21 forwards in a burst: open at the first poll after each pull, then
/// closed until the next pull.
#[derive(Clone, Copy, Debug)]
struct FirstPoll {
    only: bool,
    poll: Option<Instant>,
}

impl FirstPoll {
    /// With `only`, closed after the first poll; otherwise always open.
    const fn new(only: bool) -> Self {
        Self { only, poll: None }
    }

    /// True while `now` is the instant of the first query since the last pull.
    #[inline]
    fn is_open(&mut self, now: Instant) -> bool {
        !self.only || *self.poll.get_or_insert(now) == now
    }

    #[inline]
    fn on_slot(&mut self) {
        self.poll = None;
    }
}

kinds! {
    $ each;

    /// Which limiter, with its settings.
    #[derive(Clone, Debug, PartialEq)]
    pub enum LimiterConfig = Unlimited;

    /// One of the limiters, an enum so that calls are static, or a user's own. The large ones are
    /// boxed.
    // `repr(u8)` forces an explicit tag: it is read several times per packet, and a tag in a
    // variant's fields is slower to decode.
    #[repr(u8)]
    pub enum AnyLimiter(context: &GrantContext) or Box<dyn Limiter + Send>;

    "unlimited" Unlimited = unlimited::{Unlimited, UnlimitedConfig};
    "fixed" Fixed = fixed::{Fixed, FixedConfig};
    "dyn_rlc" DynRlc = dyn_rlc::{DynRlc in Box, DynRlcConfig};
    "drql" Drql = drql::{Drql in Box, DrqlConfig};
    "dql" Dql = dql::{Dql in Box, DqlConfig};
    "bdp_5g" Bdp5g = bdp_5g::{Bdp5g in Box, Bdp5gConfig};
    "e_bdp_5g" EBdp5g = e_bdp_5g::{EBdp5g in Box, EBdp5gConfig};
    "hedge" Hedge = hedge::{Hedge in Box, HedgeConfig};
    "last_poll" LastPoll = last_poll::{LastPoll in Box, LastPollConfig};
    "clairvoyant" Clairvoyant = clairvoyant::{Clairvoyant in Box, ClairvoyantConfig};
}

forwarded! {
    by each for AnyLimiter;

    /// Decides how much may enter the RLC queue of one bearer. Amounts are in [`Limiter::unit`].
    ///
    /// Between two reports the stack may call [`Limiter::room`] any number of times. An idle bearer
    /// gets the report of the latest slot before the next such call; that one report stands for all
    /// idle slots before it.
    pub trait Limiter {
        /// Unit of the result of [`Limiter::room`].
        fn unit(&self) -> CapacityUnit;

        /// Amount that may still enter at `now`; `u64::MAX` for no limit.
        fn room(&mut self, now: Instant, queue: &RlcView) -> u64;

        /// True if an SDU larger than the room may enter while there is any room.
        fn overdraws(&self) -> bool;

        /// Called after an SDU of `amount` entered; `queue` includes it.
        fn on_admitted(&mut self, now: Instant, amount: u64, queue: &RlcView);

        /// Called when the last byte of an SDU has left for the radio.
        fn on_departed(&mut self, now: Instant, sojourn: Duration);

        /// Called after each slot if the limiter [uses reports](Limiter::wants_reports).
        fn on_slot(&mut self, report: &SlotReport);

        /// False if [`Limiter::on_slot`] does nothing and need not be called.
        fn wants_reports(&self) -> bool {
            true
        }

        /// True if the room changes with time alone, so that the layer above must poll.
        fn paces(&self) -> bool {
            false
        }

        /// True if [`Limiter::on_forecast`] must be called with the next pull before each query.
        fn wants_forecast(&self) -> bool {
            false
        }

        /// Called with the amount that the next pull will take, if the driver's grant schedule is
        /// fixed.
        fn on_forecast(&mut self, _forecast: &SlotForecast) {}
    }
}

impl LimiterConfig {
    /// See [`LimiterSettings::foresees`].
    #[must_use]
    pub fn foresees(&self) -> bool {
        each!(config self, c => c.foresees(), or false)
    }

    /// See [`LimiterSettings::allows_late_reports`].
    #[must_use]
    pub fn allows_late_reports(&self) -> bool {
        each!(config self, c => c.allows_late_reports(), or true)
    }
}

impl AnyLimiter {
    /// The amount of the room that `sdu` uses.
    #[must_use]
    #[inline]
    pub fn amount(&self, sdu: &Packet) -> u64 {
        self.unit().amount(sdu)
    }

    /// True if it admits everything and need not be called.
    #[must_use]
    #[inline]
    pub const fn is_unlimited(&self) -> bool {
        matches!(self, Self::Unlimited(_))
    }

    /// True if `sdu` may enter at `now`. Overdraw is applied only here.
    #[inline]
    pub fn admits(&mut self, now: Instant, sdu: &Packet, queue: &RlcView) -> bool {
        let room = self.room(now, queue);
        if self.overdraws() { room > 0 } else { room >= self.amount(sdu) }
    }
}
