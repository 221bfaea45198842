//! The rate at which the MAC serves a bearer, for an AQM that needs it.
//!
//! The rate is the average of the sent bytes over the slots that left data waiting; in such slots
//! the bearer sent its whole grant. The weight of a slot falls with `exp(-t / 100 ms)`, t being the
//! time in such slots since then. A slot that empties the queue, and an idle slot, do not change
//! the rate: they show the backlog, not the service.

use justfull_base::{BitRate, Duration};

/// Time in which the weight of a slot falls to 1/e: ten slots of T20, a hundred subframes of LTE,
/// and not many round trips of a slow path.
const TIME_CONSTANT: Duration = Duration::from_millis(100);

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
    /// Length of a slot in seconds.
    seconds: f64,
}

impl SlotWeight {
    /// The weights in a cell with slots of length `slot`, above 0.
    pub(crate) fn of(slot: Duration) -> Self {
        let seconds = slot.as_secs_f64();
        Self { share: 1.0 - libm::exp(-seconds / TIME_CONSTANT.as_secs_f64()), seconds }
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
}

impl ServiceRate {
    /// The rate after a slot, given the bearer's `sent` bytes; none if the slot does not change it.
    pub(crate) fn after_slot(&mut self, sent: SentSoFar, slot: SlotWeight) -> Option<BitRate> {
        let now = (sent.bytes - self.sent) as f64;
        self.sent = sent.bytes;
        if !sent.more {
            return None;
        }
        let Self { bytes, weights, .. } = self;
        *bytes += slot.share * (now - *bytes);
        *weights += slot.share * (1.0 - *weights);
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
        rate.after_slot(sent, SlotWeight::of(SLOT)).map(|rate| rate.0)
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
