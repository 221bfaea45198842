//! Growth of the advertised window (dynamic right-sizing, Fisk and Feng 2001, in Linux's form).
//! Once per round trip the window becomes twice the bytes that arrived in that round plus 16
//! segments, and more while the rate itself grows, so that the receiver never limits a sender in
//! slow start.
//!
//! The receiver does not see round trips, as its acknowledgements carry no timestamps. It uses the
//! shortest time in which a full window arrived: the RTT while the window limits the sender (the
//! case that matters), and a longer time otherwise.

use justfull_base::{Duration, Instant};

/// Segments added to twice the arrived bytes.
const SLACK: u64 = 16;

/// State of one receiver.
#[derive(Clone, Debug)]
pub(super) struct Autotune {
    max: u64,
    /// Shortest time in which a window of data arrived; the maximum before the first.
    round: Duration,
    /// Start of the window being timed, and the offset that ends it.
    timed_from: Option<Instant>,
    timed_to: u64,
    /// Start of the round being counted.
    counted_from: Instant,
    counted_offset: u64,
    /// Bytes that arrived in the round of the last growth.
    space: u64,
}

impl Autotune {
    pub(super) const fn new(max: u64) -> Self {
        Self {
            max,
            round: Duration::MAX,
            timed_from: None,
            timed_to: 0,
            counted_from: Instant::ZERO,
            counted_offset: 0,
            space: 0,
        }
    }

    /// All bytes below `next` have arrived, in segments of `len` bytes, under a window of `window`.
    /// Returns the new window if it should grow.
    pub(super) fn on_arrival(
        &mut self,
        now: Instant,
        next: u64,
        len: u64,
        window: u64,
    ) -> Option<u64> {
        let Some(from) = self.timed_from else {
            self.timed_from = Some(now);
            self.timed_to = next + window;
            self.counted_from = now;
            self.counted_offset = next;
            return None;
        };
        if next >= self.timed_to {
            self.round = self.round.min(now.since(from));
            self.timed_from = Some(now);
            self.timed_to = next + window;
        }
        if self.round == Duration::MAX || now.since(self.counted_from) < self.round {
            return None;
        }
        let copied = next - self.counted_offset;
        self.counted_from = now;
        self.counted_offset = next;
        if copied <= self.space {
            return None;
        }
        let mut wanted = 2 * copied + SLACK * len;
        // If saturated, it is still far above the maximum that caps it.
        if let Some(rise) = wanted.saturating_mul(copied - self.space).checked_div(self.space) {
            wanted = wanted.saturating_add(rise.saturating_mul(2));
        }
        self.space = copied;
        let wanted = wanted.min(self.max);
        (wanted > window).then_some(wanted)
    }
}
