//! The rate at which the MAC serves a bearer, for an AQM that needs it.
//!
//! The rate is the average of the sent bytes over the slots that left data waiting; in such slots
//! the bearer sent its whole grant. The weight of a slot falls with `exp(-t / 100 ms)`, t being the
//! time in such slots since then. A slot that empties the queue, and an idle slot, do not change
//! the rate: they show the backlog, not the service.
//!
//! For an AQM that needs offers, every slot counts: a slot that empties the queue, and a slot
//! without data, with the bytes that it would have carried. Weights then fall with `exp(-t / 20
//! ms)`. Slots of a time without data in the whole cell are skipped, and do not count.

use justfull_base::{BitRate, Duration};
use justfull_queue::Needs;

/// Time in which the weight of a slot falls to 1/e: ten slots of T20, a hundred subframes of LTE,
/// and not many round trips of a slow path.
const TIME_CONSTANT: Duration = Duration::from_millis(100);

/// The same with offers, as the window of ABC's release.
const OFFERS_CONSTANT: Duration = Duration::from_millis(20);

/// The sent bytes of a bearer's SDUs, without headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentSoFar {
    /// Bytes since the start.
    pub(crate) bytes: u64,
    /// More data waits.
    pub(crate) more: bool,
}

/// The weights of a cell's slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SlotWeight {
    /// Weight of the last slot, relative to 1 for all.
    share: f64,
    /// The same with offers.
    offers_share: f64,
    /// Length of a slot in seconds.
    seconds: f64,
}

impl SlotWeight {
    /// The weights in a cell with slots of length `slot`, above 0.
    pub(crate) fn of(slot: Duration) -> Self {
        let seconds = slot.as_secs_f64();
        let share = |constant: Duration| 1.0 - libm::exp(-seconds / constant.as_secs_f64());
        let offers_share = share(OFFERS_CONSTANT);
        Self { share: share(TIME_CONSTANT), offers_share, seconds }
    }
}

/// The service rate of a bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ServiceRate {
    /// Bytes sent before this slot.
    sent: u64,
    /// Weighted sum of the bytes sent in the slots that count.
    bytes: f64,
    /// Sum of their weights: 0 before the first slot, then rising to 1.
    weights: f64,
    /// Every slot counts.
    offers: bool,
}

impl ServiceRate {
    /// The rate for an AQM of these `needs`; none without the need of a rate.
    pub(crate) fn of(needs: Needs) -> Option<Self> {
        needs.service_rate.then(|| Self { offers: needs.offers, ..Self::default() })
    }

    /// The rate after a slot, given the bearer's `sent` bytes; none if the slot does not change it.
    /// `offered` returns the bytes that a slot would have carried in which the given bytes were
    /// sent and none waits.
    pub(crate) fn after_slot(
        &mut self,
        sent: SentSoFar,
        slot: SlotWeight,
        offered: impl FnOnce(u64) -> u64,
    ) -> Option<BitRate> {
        let now = sent.bytes - self.sent;
        self.sent = sent.bytes;
        if !sent.more && !self.offers {
            return None;
        }
        let now = if sent.more { now } else { offered(now) } as f64;
        let share = if self.offers { slot.offers_share } else { slot.share };
        let Self { bytes, weights, .. } = self;
        *bytes += share * (now - *bytes);
        *weights += share * (1.0 - *weights);
        // The weights are above 0 from the first such slot on.
        Some(BitRate(libm::round(8.0 * *bytes / (*weights * slot.seconds)) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const SLOT: Duration = Duration::from_millis(10);

    fn after(rate: &mut ServiceRate, bytes: u64, more: bool) -> Option<u64> {
        let sent = SentSoFar { bytes: rate.sent + bytes, more };
        let none = |sent| panic!("{sent} B: an AQM without offers");
        rate.after_slot(sent, SlotWeight::of(SLOT), none).map(|rate| rate.0)
    }

    #[test]
    fn with_offers_a_slot_that_empties_the_queue_counts_with_what_it_would_have_carried() {
        let needs = Needs { service_rate: true, offers: true, ..Needs::default() };
        let mut rate = ServiceRate::of(needs).expect("the AQM needs a rate");
        let mut slot = |bytes, more| {
            let sent = SentSoFar { bytes: rate.sent + bytes, more };
            rate.after_slot(sent, SlotWeight::of(SLOT), |sent| sent + 600).map(|rate| rate.0)
        };
        assert_eq!(slot(400, false), Some(800_000));
        assert_eq!(slot(1000, true), Some(800_000));
        // Weights of exp(-1) and exp(-0.5), and 1 for a slot that carries nothing.
        let (a, b, c) = ((-0.5_f64).exp(), (-1.0_f64).exp(), 1.0);
        let expected = 800_000.0 * (a + b) / (a + b + c);
        let found = slot(0, true).expect("it counts") as f64;
        assert!((found - expected).abs() < 2.0, "{found} {expected}");
        assert_eq!(ServiceRate::of(Needs::default()), None);
    }

    #[test]
    fn the_first_slot_is_the_rate_and_later_ones_move_it_by_their_weight() {
        let mut rate = ServiceRate::default();
        assert_eq!(after(&mut rate, 1000, true), Some(800_000));
        // Weights of exp(-0.1) and 1: (1000 exp(-0.1) + 2000) / (exp(-0.1) + 1) in 10 ms.
        let fall = (-0.1_f64).exp();
        let expected = (1000.0 * fall + 2000.0) / (fall + 1.0) * 800.0;
        let found = after(&mut rate, 2000, true).expect("it counts") as f64;
        assert!((found - expected).abs() < 2.0, "{found} {expected}");
    }

    #[test]
    fn a_slot_that_empties_the_queue_says_nothing() {
        let mut rate = ServiceRate::default();
        assert_eq!(after(&mut rate, 500, false), None);
        assert_eq!(after(&mut rate, 1000, true), Some(800_000));
        assert_eq!(after(&mut rate, 0, false), None);
        assert_eq!(after(&mut rate, 1000, true), Some(800_000));
    }

    #[test]
    fn a_rate_that_falls_to_nothing_for_half_a_minute_is_0_and_returns() {
        let mut rate = ServiceRate::default();
        (0..100).for_each(|_| assert_eq!(after(&mut rate, 1000, true), Some(800_000)));
        let dark: Vec<Option<u64>> = (0..3000).map(|_| after(&mut rate, 0, true)).collect();
        assert!(dark.is_sorted_by(|a, b| a >= b) && dark[2999] == Some(0), "{dark:?}");
        let light: Vec<Option<u64>> = (0..100).map(|_| after(&mut rate, 1000, true)).collect();
        assert!(light.is_sorted() && light[99] >= Some(799_900), "{light:?}");
    }
}
