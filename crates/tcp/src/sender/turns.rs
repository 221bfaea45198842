//! The order of new data and retransmissions that leave at one instant.
//!
//! Of two segments with one time, RACK treats the higher as the later one (RFC 8985 section 6.2).
//! On a machine acknowledgements are microseconds apart, so new data that leaves before a
//! retransmission has an earlier time. Here acknowledgements may arrive at one instant. New data
//! would then count as the later one, and its delivery would show the retransmission to be lost.

use justfull_base::{Duration, Instant};

/// The turns at the instant of the last retransmission.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    at: Instant,
    /// How often new data and retransmissions have taken turns at it.
    count: u32,
    /// The last turn belongs to a retransmission.
    again: bool,
}

impl Turns {
    /// The time to note for a retransmission that leaves at `now`; `after`: another segment has
    /// left at `now` before. Each change of turns adds a nanosecond.
    pub(super) fn again(&mut self, now: Instant, after: bool) -> Instant {
        if self.at != now {
            *self = Self { at: now, count: u32::from(after), again: true };
        } else if !self.again {
            self.count += 1;
            self.again = true;
        }
        self.time()
    }

    /// The time to note for new data.
    #[inline(always)]
    pub(super) fn new_data(&mut self, now: Instant) -> Instant {
        if self.at != now {
            return now;
        }
        if self.again {
            self.count += 1;
            self.again = false;
        }
        self.time()
    }

    fn time(&self) -> Instant {
        self.at + Duration::from_nanos(u64::from(self.count))
    }

    /// True if a retransmission left at `now`.
    #[inline(always)]
    pub(super) fn repaired_at(&self, now: Instant) -> bool {
        self.at == now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_is_a_nanosecond_later_than_the_one_before() {
        let (mut turns, now) = (Turns::default(), Instant::from_nanos(1_000));
        assert_eq!(turns.new_data(now), now);
        assert!(!turns.repaired_at(now));
        let stamps = [
            turns.again(now, true),
            turns.again(now, true),
            turns.new_data(now),
            turns.new_data(now),
            turns.again(now, true),
        ];
        assert_eq!(stamps.map(Instant::as_nanos), [1_001, 1_001, 1_002, 1_002, 1_003]);
        assert!(turns.repaired_at(now));
        let later = Instant::from_nanos(2_000);
        assert_eq!(turns.new_data(later), later, "a new instant begins anew");
        assert!(!turns.repaired_at(later));
        assert_eq!(turns.again(later, false), later, "nothing left before it");
    }
}
