//! Times at which the bytes of a proxied flow left their server and arrived at the proxy.

use justfull_base::{Duration, Instant};
use justfull_tcp::Segment;
use std::collections::VecDeque;

/// The bytes from the previous entry's end to an offset.
#[derive(Clone, Copy)]
struct Entry {
    end: u64,
    /// Time of sending by the server, and time of arrival in order at the proxy.
    sent: Instant,
    arrived: Instant,
}

/// Entries for which a ledger makes room at its start: 24 kB.
const FIRST_ENTRIES: usize = 1_024;

/// The times of a flow's bytes. Memory: an entry for each segment that is in the proxy or on the
/// radio leg.
pub struct Ledger {
    entries: VecDeque<Entry>,
}

/// Transit times of the last byte of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Time from its arrival at the proxy to its first departure; none for a retransmitted byte.
    pub residence: Option<Duration>,
    /// Time from its server to the UE.
    pub server_to_ue: Duration,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { entries: VecDeque::with_capacity(FIRST_ENTRIES) }
    }
}

impl Ledger {
    /// All bytes up to `end`, the last of which was sent at `sent`, have arrived in order at the
    /// proxy.
    #[inline]
    pub fn enter(&mut self, now: Instant, end: u64, sent: Instant) {
        self.entries.push_back(Entry { end, sent, arrived: now });
    }

    /// `segment` of the radio leg has reached the UE with new bytes.
    #[inline]
    pub fn trip(&self, now: Instant, segment: &Segment) -> Option<Trip> {
        let first = self.entries.front().filter(|entry| entry.end >= segment.end());
        let entry = first.or_else(|| {
            let at = self.entries.partition_point(|entry| entry.end < segment.end());
            self.entries.get(at)
        })?;
        let left = segment.sent_at;
        Some(Trip {
            residence: (!segment.retransmission).then(|| left.since(entry.arrived)),
            server_to_ue: now.since(entry.sent),
        })
    }

    /// The UE has received all bytes below `delivered` in order.
    #[inline]
    pub fn forget(&mut self, delivered: u64) {
        while self.entries.front().is_some_and(|entry| entry.end <= delivered) {
            self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn segment(seq: u64, sent_ms: u64, retransmission: bool) -> Segment {
        Segment {
            seq,
            len: 100,
            retransmission,
            sent_at: at(sent_ms),
            ecn: justfull_base::Ecn::NotEct,
            flags: 0,
            mark: justfull_tcp::Mark::None,
        }
    }

    #[test]
    fn a_segments_times_are_the_times_of_its_last_byte() {
        let mut ledger = Ledger::default();
        for i in 0..5 {
            ledger.enter(at(10 + i), 100 * (i + 1), at(i));
        }
        let ms = |n| Duration::from_millis(n);
        let trip = |residence: Option<u64>, whole| {
            Some(Trip { residence: residence.map(ms), server_to_ue: ms(whole) })
        };
        assert_eq!(ledger.trip(at(30), &segment(0, 20, false)), trip(Some(10), 30));
        // 150 to 250: its last byte is in the third entry.
        assert_eq!(ledger.trip(at(31), &segment(150, 21, false)), trip(Some(9), 29));
        ledger.forget(250);
        assert_eq!(ledger.trip(at(40), &segment(200, 35, true)), trip(None, 38));
        assert_eq!(ledger.trip(at(40), &segment(400, 35, false)), trip(Some(21), 36));
        ledger.forget(500);
        assert_eq!(ledger.trip(at(41), &segment(400, 35, false)), None);
    }
}
