//! The radio's clock: a clock that slows down with the radio.
//!
//! When a radio falls to a tenth and rises again, the queue holds a window that fits before and
//! after the dip. By the wall clock its packets are too late, and once dropped they are missing at
//! the rise. So while packets wait, this clock advances by the time that the sent bytes take at the
//! queue's mean rate, and never faster than real time. While no packet waits, it runs in real time.
//! The mean follows the rate within the time `dip`, so a radio that stays slow counts as slow. The
//! first rate takes up to 100 ms of waiting packets to measure; until then the clock stands while
//! packets wait, since so short a queue needs no drop.
//!
//! The rate is the queue's, since a lane that shares with others stays slow while they are there.

use super::meter::Meter;
use justfull_base::{Duration, Instant};

/// See the module's page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RadioClock {
    meter: Meter,
    /// Nanoseconds that a byte takes at the mean rate; none before the first period of the meter.
    ns_per_byte: Option<f64>,
    /// Its time at the begin of the meter's period, and the idle time since.
    shown: Duration,
    /// Time of the period with packets waiting, until `last`.
    waited: Duration,
    /// Bytes that left in it before `last`.
    sent: u64,
    /// The last instant at which a packet left, or came to an idle queue.
    last: Instant,
    /// Bytes that left then.
    left: u64,
}

impl RadioClock {
    /// The time that the clock shows. A packet is in the queue, or comes now.
    pub(super) fn at(&self, now: Instant) -> Instant {
        let since = now.since(self.last);
        let left = if since.is_zero() { 0 } else { self.left };
        Instant::ZERO + self.shown + self.advance(self.waited + since, self.sent + left)
    }

    /// The time by which it advances while packets wait for `waited` and `sent` bytes leave.
    fn advance(&self, waited: Duration, sent: u64) -> Duration {
        let Some(ns_per_byte) = self.ns_per_byte else { return Duration::ZERO };
        waited.min(Duration::from_nanos((sent as f64 * ns_per_byte) as u64))
    }

    /// A packet comes to an empty queue: time has passed as usual.
    pub(super) fn on_busy(&mut self, now: Instant) {
        self.shown += now.since(self.last);
        self.sent += self.left;
        (self.last, self.left) = (now, 0);
    }

    /// A packet of `size` bytes left, and `waiting` bytes are still in the queue.
    pub(super) fn on_dequeue(&mut self, now: Instant, size: u32, waiting: u64, dip: Duration) {
        let since = now.since(self.last);
        if !since.is_zero() {
            self.waited += since;
            self.sent += self.left;
            (self.last, self.left) = (now, 0);
        }
        self.left += u64::from(size);
        self.meter.on_dequeue(now, size);
        if waiting == 0 {
            self.meter.on_empty();
        }
        if let Some((rate, time)) = self.meter.period() {
            self.shown += self.advance(self.waited, self.sent);
            (self.waited, self.sent) = (Duration::ZERO, 0);
            let keep = libm::exp(-time.as_secs_f64() / dip.as_secs_f64());
            let before = self.ns_per_byte.map_or(rate, |ns| 1e9 / ns);
            self.ns_per_byte = Some(1e9 / (rate + (before - rate) * keep));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIP: Duration = Duration::from_secs(1);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A packet of `size` bytes leaves each `ms`, and others wait.
    fn leave(clock: &mut RadioClock, ms: impl Iterator<Item = u64>, size: u32) {
        ms.for_each(|ms| clock.on_dequeue(at(ms), size, 1, DIP));
    }

    /// Milliseconds by which it advances in that time.
    fn passed(clock: &RadioClock, from: Instant, ms: u64) -> f64 {
        clock.at(at(ms)).since(from).as_millis_f64()
    }

    /// A clock of a queue that has sent 1000 B each ms for 1 s.
    fn steady() -> RadioClock {
        let mut clock = RadioClock::default();
        leave(&mut clock, 0..=1000, 1000);
        clock
    }

    #[test]
    fn it_stands_until_a_rate_is_known() {
        let mut clock = RadioClock::default();
        leave(&mut clock, 0..10, 1000);
        assert_eq!(clock.at(at(10)), Instant::ZERO);
    }

    #[test]
    fn at_a_steady_rate_it_is_that_on_the_wall() {
        let mut clock = steady();
        let from = clock.at(at(1000));
        leave(&mut clock, 1001..=1500, 1000);
        assert!((passed(&clock, from, 1500) - 500.0).abs() <= 1.0);
        // Bursts of 10 ms are no dips.
        leave(&mut clock, (1510..=2000).step_by(10), 10_000);
        assert!((passed(&clock, from, 2000) - 1000.0).abs() <= 20.0, "{clock:?}");
    }

    #[test]
    fn at_a_tenth_of_the_mean_rate_it_takes_ten_times_as_long_until_the_mean_has_followed() {
        let mut clock = steady();
        let from = clock.at(at(1000));
        leave(&mut clock, (1010..=1100).step_by(10), 1000);
        assert!((passed(&clock, from, 1100) - 10.0).abs() <= 1.0, "{}", passed(&clock, from, 1100));
        leave(&mut clock, (1110..=9000).step_by(10), 1000);
        let from = clock.at(at(9000));
        leave(&mut clock, (9010..=9500).step_by(10), 1000);
        assert!(passed(&clock, from, 9500) > 490.0, "{}", passed(&clock, from, 9500));
    }

    #[test]
    fn it_stands_in_an_outage_and_not_while_nothing_waits() {
        let mut clock = steady();
        let from = clock.at(at(1000));
        assert!(passed(&clock, from, 1500) <= 1.0);
        clock.on_dequeue(at(1500), 1000, 0, DIP);
        clock.on_busy(at(2000));
        assert!(
            (passed(&clock, from, 2000) - 500.0).abs() <= 2.0,
            "{}",
            passed(&clock, from, 2000)
        );
    }

    #[test]
    fn it_never_goes_back() {
        let mut clock = RadioClock::default();
        let mut rng = justfull_base::Rng::from_key(7);
        let (mut now, mut before) = (Instant::ZERO, Instant::ZERO);
        let mut waiting = 0;
        for _ in 0..100_000 {
            now += Duration::from_micros(rng.below(3000));
            if waiting == 0 {
                clock.on_busy(now);
                waiting = 1 + rng.below(40);
            }
            assert!(clock.at(now) >= before && clock.at(now) <= now);
            waiting -= 1;
            clock.on_dequeue(now, 40 + rng.below(1460) as u32, waiting, DIP);
            before = clock.at(now);
        }
    }
}
