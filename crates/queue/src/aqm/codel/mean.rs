//! The mean rate at which a queue was served of late, and the age of a packet by it.
//!
//! A radio that falls to a tenth for tenths of a second, and rises again, leaves in the queue the
//! window that was right before and will be right after. By the clock it is too late; dropped, it
//! is missing at the rise. So age is counted in what the queue sent, too: a packet is no older than
//! the time that all that left since it came takes at the mean rate. The mean follows the rate in
//! the time `dip`, so that a radio that stays slow counts as slow.
//!
//! It is the queue's rate and not the lane's: a lane that has to share with others is slow for as
//! long as they are there.

use super::meter::Meter;
use justfull_base::{Duration, Instant};

/// See the module's page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MeanRate {
    meter: Meter,
    /// In bytes a second; none before the first period.
    rate: Option<f64>,
}

impl MeanRate {
    /// What to note on a packet that comes now, for [`Self::is_younger`].
    pub(super) const fn note(&self) -> u32 {
        self.meter.note()
    }

    /// A packet of `size` bytes left, and `waiting` bytes are still in the queue.
    pub(super) fn on_dequeue(&mut self, now: Instant, size: u32, waiting: u64, dip: Duration) {
        self.meter.on_dequeue(now, size);
        if waiting == 0 {
            self.meter.on_empty();
        }
        if let Some((rate, time)) = self.meter.period() {
            let before = self.rate.unwrap_or(rate);
            let keep = libm::exp(-time.as_secs_f64() / dip.as_secs_f64());
            self.rate = Some(rate + (before - rate) * keep);
        }
    }

    /// True when less has left since `note` than the queue sends in `limit` at its mean rate.
    pub(super) fn is_younger(&self, note: u32, limit: Duration) -> bool {
        let most = self.rate.unwrap_or(0.0) * limit.as_secs_f64();
        (self.meter.since(note) as f64) < most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIP: Duration = Duration::from_secs(1);

    /// `size` bytes leave each `ms`, and others wait.
    fn leave(mean: &mut MeanRate, ms: core::ops::Range<u64>, size: u32) {
        for ms in ms {
            mean.on_dequeue(Instant::ZERO + Duration::from_millis(ms), size, 1, DIP);
        }
    }

    /// Most bytes that may leave before a packet is 50 ms old, to 100 B.
    fn most(mean: &MeanRate) -> u64 {
        let limit = Duration::from_millis(50);
        let mut later = *mean;
        let note = mean.note();
        let left = |_: &u64| {
            later.meter.on_dequeue(Instant::ZERO, 100);
            later.is_younger(note, limit)
        };
        (1..10_000).map(|n| n * 100).take_while(left).last().unwrap_or(0)
    }

    #[test]
    fn before_the_first_period_all_that_waited_is_old() {
        assert_eq!(most(&MeanRate::default()), 0);
    }

    #[test]
    fn a_packet_is_as_old_as_what_left_since_it_came_at_the_mean_rate() {
        let mut mean = MeanRate::default();
        leave(&mut mean, 0..200, 1000);
        assert!(most(&mean).abs_diff(50_000) <= 100, "{}", most(&mean));
        // A tenth for a second: 1/e of the fall is left.
        leave(&mut mean, 200..1202, 100);
        let expected = 50.0 * (100.0 + 900.0 / core::f64::consts::E);
        assert!((most(&mean) as f64 / expected - 1.0).abs() < 0.05, "{}", most(&mean));
    }

    #[test]
    fn an_outage_counts_and_an_empty_queue_does_not() {
        let mut mean = MeanRate::default();
        leave(&mut mean, 0..200, 1000);
        let mut idle = mean;
        idle.on_dequeue(Instant::ZERO + Duration::from_millis(200), 1000, 0, DIP);
        for mean in [&mut mean, &mut idle] {
            leave(mean, 1200..1203, 1000);
        }
        assert!(most(&mean) < 20_000, "a second without a packet: {}", most(&mean));
        assert!(most(&idle) > 49_000, "a second without any to send: {}", most(&idle));
    }
}
