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
