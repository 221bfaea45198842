//! Pacers: the amount that the SDAP queue should hold, which decides when the UPF may send the next
//! packet.

mod clairvoyant;
mod unpaced;
mod usp;

pub use usp::UspVariant;

/// The grants below the queue that a pacer feeds.
pub use crate::limiter::GrantContext;
use alloc::boxed::Box;
use justfull_base::{Instant, forwarded, kinds};

/// The outcome of one SDAP poll for one QFI queue. Amounts are in the pacer's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SdapPoll {
    /// Moved to the RLC by this poll.
    pub moved: u64,
    /// Left in the queue.
    pub backlog: u64,
    /// Room of the RLC after the poll; `u64::MAX` for no limit.
    pub room: u64,
}

/// Properties of a pacer that follow from its settings.
pub trait PacerSettings {
    /// True if it needs the capacity of coming slots, which only a cell with one bearer can
    /// provide.
    fn foresees(&self) -> bool {
        false
    }

    /// False if it lets everything through at once.
    fn paces(&self) -> bool {
        true
    }
}

kinds! {
    $ each;

    /// Which pacer, with its settings.
    #[derive(Clone, Debug, PartialEq)]
    pub enum PacerConfig = Unpaced;

    /// One of the pacers, an enum so that calls are static, or a user's own. The large one is
    /// boxed.
    // `repr(u8)` forces an explicit tag: it is read several times per packet, and a tag in a
    // variant's fields is slower to decode.
    #[repr(u8)]
    pub enum AnyPacer(context: &GrantContext) or Box<dyn Pacer + Send>;

    "unpaced" Unpaced = unpaced::{Unpaced, UnpacedConfig};
    "usp" Usp = usp::{Usp in Box, UspConfig};
    "clairvoyant" Clairvoyant = clairvoyant::{ClairvoyantPacer, ClairvoyantPacerConfig};
}

forwarded! {
    by each for AnyPacer;

    /// Decides the amount that one SDAP queue should hold.
    pub trait Pacer {
        /// The desired backlog in SDAP now; `u64::MAX` for no limit. Called once per opportunity of
        /// the UPF.
        fn occupancy(&mut self, now: Instant) -> u64;

        /// Called when packets of `amount` entered the SDAP queue.
        fn on_enqueued(&mut self, amount: u64);

        /// Called after each poll of a queue with a backlog before or after it.
        fn on_poll(&mut self, now: Instant, poll: &SdapPoll);

        /// True if [`Pacer::on_need`] must be called before each query.
        fn wants_forecast(&self) -> bool {
            false
        }

        /// Called with the amount that SDAP must hold so that its polls before the UPF's next
        /// opportunity can bring the amount that the radio takes.
        fn on_need(&mut self, _need: u64) {}
    }
}

impl PacerConfig {
    /// See [`PacerSettings::foresees`].
    #[must_use]
    pub fn foresees(&self) -> bool {
        each!(config self, c => c.foresees(), or false)
    }

    /// See [`PacerSettings::paces`].
    #[must_use]
    pub fn paces(&self) -> bool {
        each!(config self, c => c.paces(), or true)
    }
}

impl AnyPacer {
    /// True if the UPF sends everything it has.
    #[must_use]
    pub fn is_unpaced(&self) -> bool {
        matches!(self, Self::Unpaced(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::CapacityUnit;
    use alloc::vec::Vec;
    use justfull_base::Duration;

    const PACKETS: GrantContext =
        GrantContext { unit: CapacityUnit::Packets, slot: Duration::from_millis(10), mtu: 1500 };

    /// Returns more with every call, and records the calls.
    #[derive(Default)]
    struct Own(Vec<&'static str>);

    impl Pacer for Own {
        fn occupancy(&mut self, _: Instant) -> u64 {
            40 + self.0.len() as u64
        }
        fn on_enqueued(&mut self, _: u64) {
            self.0.push("enqueued");
        }
        fn on_poll(&mut self, _: Instant, _: &SdapPoll) {
            self.0.push("poll");
        }
        fn wants_forecast(&self) -> bool {
            true
        }
        fn on_need(&mut self, _: u64) {
            self.0.push("need");
        }
    }

    #[test]
    fn a_users_own_pacer_hears_everything_and_is_taken_at_its_word() {
        let mut any = AnyPacer::Custom(Box::<Own>::default());
        assert!(any.wants_forecast() && !any.is_unpaced());
        assert_eq!(any.occupancy(Instant::ZERO), 40);
        any.on_enqueued(1);
        assert_eq!(any.occupancy(Instant::ZERO), 41);
        any.on_poll(Instant::ZERO, &SdapPoll::default());
        assert_eq!(any.occupancy(Instant::ZERO), 42);
        any.on_need(9);
        assert_eq!(any.occupancy(Instant::ZERO), 43);
    }

    #[test]
    fn without_a_pacer_nothing_is_held_and_the_clairvoyant_one_wants_what_is_needed() {
        let new = |config| AnyPacer::new(&config, &PACKETS).expect("in bounds");
        let mut unpaced = new(PacerConfig::default());
        let mut usp = new(PacerConfig::Usp(UspConfig::default()));
        let mut clairvoyant = new(PacerConfig::Clairvoyant(ClairvoyantPacerConfig {}));
        assert_eq!([&unpaced, &usp, &clairvoyant].map(|p| p.is_unpaced()), [true, false, false]);
        assert_eq!(
            [&unpaced, &usp, &clairvoyant].map(|p| p.wants_forecast()),
            [false, false, true]
        );
        for pacer in [&mut unpaced, &mut usp, &mut clairvoyant] {
            pacer.on_need(7);
        }
        let wanted = [&mut unpaced, &mut usp, &mut clairvoyant].map(|p| p.occupancy(Instant::ZERO));
        assert_eq!(wanted, [u64::MAX, 1024, 7]);
    }

    #[test]
    fn amounts_of_full_packets_are_in_the_pacers_unit() {
        let bytes = GrantContext { unit: CapacityUnit::Bytes, ..PACKETS };
        assert_eq!(
            (PACKETS.amount(3), bytes.amount(3), bytes.amount(u64::MAX)),
            (3, 4_500, u64::MAX)
        );
    }
}
