//! In which order new data and retransmissions leave at one instant.
//!
//! RACK takes the higher of two segments with one time for the later one (RFC 8985 section 6.2).
//! Acknowledgements that arrive at one instant here are microseconds apart on a machine, so that
//! new data that leaves before a retransmission has an earlier time there. It would otherwise be
//! the later one here, and delivered first it would show the retransmission to be lost.

use justfull_base::{Duration, Instant};

/// The last turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    at: Instant,
    /// How often new data and retransmissions have taken turns at that instant.
    count: u32,
    /// It was a retransmission's.
    again: bool,
}

impl Turns {
    /// The time to note of a segment that leaves at `now`, a retransmission if `again`: a
    /// nanosecond later after each change from one to the other.
    #[inline(always)]
    pub(super) fn stamp(&mut self, now: Instant, again: bool) -> Instant {
        if self.at != now {
            *self = Self { at: now, count: 0, again };
        } else if self.again != again {
            self.count += 1;
            self.again = again;
        }
        now + Duration::from_nanos(u64::from(self.count))
    }

    /// True if something was sent again at `now`.
    #[inline(always)]
    pub(super) fn repaired_at(&self, now: Instant) -> bool {
        self.at == now && (self.again || self.count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_is_a_nanosecond_later_than_the_one_before() {
        let (mut turns, now) = (Turns::default(), Instant::from_nanos(1_000));
        let mut stamp = |again| turns.stamp(now, again).as_nanos();
        assert_eq!(
            [false, false, true, true, false].map(&mut stamp),
            [0, 0, 1, 1, 2].map(|n| 1_000 + n)
        );
        assert!(turns.repaired_at(now) && !turns.repaired_at(Instant::from_nanos(1_001)));
        let later = Instant::from_nanos(2_000);
        assert_eq!(turns.stamp(later, false), later);
        assert!(!turns.repaired_at(later), "a new instant begins anew");
    }
}
