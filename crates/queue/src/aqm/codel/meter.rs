//! Bytes that have left a lane or a queue, and their rate while packets wait.
//!
//! A rate is measured over a period of time with packets waiting. Two departures in a row add the
//! time between them, if packets waited all along, and the bytes of the second, if packets still
//! wait after it. So a lane that runs empty every few slots has a rate too.
//!
//! A period takes 20 ms if ten packets of 1500 B leave in it, and 100 ms otherwise. 20 ms are two
//! frames of LTE, which hold whole patterns of slots. With periods of 100 ms only, a lane in which
//! packets wait only while its radio is slow would measure no other rate.

use justfull_base::{Duration, Instant};

/// Shortest and longest period.
const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_millis(100);
/// Bytes of a short period.
const MANY: u64 = 15_000;
/// Bytes in one unit of the notes on packets: 32 bits hold a minute at 36 Gbit/s.
const UNIT: u64 = 64;

/// See the module's page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Meter {
    /// Bytes that have left.
    sent: u64,
    /// When packets last left; none if none has waited since.
    left_at: Option<Instant>,
    /// Time with packets waiting from the instant before to the last instant.
    gap: Duration,
    /// Bytes that left then.
    left: u64,
    /// The sums of the period.
    waiting: Duration,
    bytes: u64,
}

impl Meter {
    /// A packet of `size` bytes left.
    pub(super) fn on_dequeue(&mut self, now: Instant, size: u32) {
        let size = u64::from(size);
        self.sent += size;
        match self.left_at.replace(now) {
            Some(before) if before == now => self.left += size,
            Some(before) => {
                self.count();
                (self.gap, self.left) = (now.since(before), size);
            }
            None => (self.gap, self.left) = (Duration::ZERO, size),
        }
    }

    /// No packet waits any more: more bytes than the last ones could have left.
    pub(super) fn on_empty(&mut self) {
        self.left_at = None;
    }

    /// Packets still wait after the last departures, so these count.
    fn count(&mut self) {
        if self.gap.is_zero() {
            return;
        }
        self.waiting += self.gap;
        self.bytes += self.left;
    }

    /// The rate of a complete period, in bytes a second, and its length. The next period begins.
    pub(super) fn period(&mut self) -> Option<(f64, Duration)> {
        let enough = if self.bytes >= MANY { SHORT } else { LONG };
        if self.waiting < enough {
            return None;
        }
        let (waiting, bytes) = (self.waiting, self.bytes);
        (self.waiting, self.bytes) = (Duration::ZERO, 0);
        Some((bytes as f64 / waiting.as_secs_f64(), waiting))
    }

    /// The note on a packet that comes now, for [`Self::since`].
    pub(super) const fn note(&self) -> u32 {
        (self.sent / UNIT) as u32
    }

    /// Bytes that have left since `note`, to 64.
    pub(super) const fn since(&self, note: u32) -> u64 {
        self.note().wrapping_sub(note) as u64 * UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// The periods of a lane that `size` bytes leave each `ms` of `from..to`, while others wait.
    fn periods(meter: &mut Meter, ms: core::ops::Range<u64>, size: u32) -> Vec<(f64, u64)> {
        ms.filter_map(|ms| {
            meter.on_dequeue(at(ms), size);
            meter.period().map(|(rate, waiting)| (rate, waiting.as_nanos() / 1_000_000))
        })
        .collect()
    }

    #[test]
    fn a_period_is_20_ms_with_ten_packets_and_100_ms_without() {
        assert_eq!(periods(&mut Meter::default(), 0..22, 750), [(750e3, 20)]);
        assert_eq!(periods(&mut Meter::default(), 0..102, 149), [(149e3, 100)]);
        assert_eq!(periods(&mut Meter::default(), 0..62, 250), [(250e3, 60)]);
    }

    #[test]
    fn a_lane_that_empties_in_a_few_slots_after_slow_ones_learns_more_than_the_slow_rate() {
        let mut meter = Meter::default();
        let mut rates = Vec::new();
        for round in 0..20 {
            // 100 ms at 1500 B/ms leave 54 kB, which the radio then takes in two slots.
            rates.extend(periods(&mut meter, round * 200..round * 200 + 100, 1500));
            rates.extend(periods(&mut meter, round * 200 + 100..round * 200 + 103, 27_000));
            meter.on_empty();
        }
        let peak = rates.iter().fold(0.0, |most: f64, (rate, _)| most.max(*rate));
        assert!(peak > 2.0 * 1.5e6, "{peak}");
    }

    #[test]
    fn departures_since_a_note_are_known_to_64_bytes_across_an_overflow() {
        let mut meter = Meter { sent: (u64::from(u32::MAX) << 6) - 10_000, ..Meter::default() };
        let note = meter.note();
        (0..20).for_each(|_| meter.on_dequeue(at(1), 1500));
        assert!(meter.since(note).abs_diff(30_000) < UNIT, "{}", meter.since(note));
    }
}
