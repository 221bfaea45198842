//! The release clock of paced segments.
//!
//! Segments leave in bursts of about a millisecond's worth, at least two, like those of TCP
//! segmentation offload (Linux `tcp_tso_autosize`). This bounds the wake-ups per second. After each
//! burst the clock waits until the rate has paid for it. A burst that starts late is credited with
//! at most half of its whole time, as in Linux (`tcp_update_skb_after_send`, where the segments of
//! a burst are one buffer).

use justfull_base::{BitRate, Duration, Instant};

/// Largest burst in bytes (the largest offloaded segment).
const MAX_BURST: u64 = 65_536;

/// State of the clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    release: Instant,
    burst_left: u64,
    /// How late the burst started, as far as not yet credited.
    late: Duration,
}

impl Pacer {
    /// None if a segment may leave now, else the instant from which it may.
    pub(crate) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        (now < self.release && self.burst_left == 0).then_some(self.release)
    }

    /// A segment of `bytes` leaves at `rate`; `mss` sets the smallest burst.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u32, mss: u32, rate: BitRate) {
        let bytes = u64::from(bytes);
        // 65 495 bytes x 8e9 is below 2^63.
        let cost = Duration::from_nanos((bytes * 8_000_000_000) / rate.0.max(1));
        if now >= self.release {
            let per_millisecond = rate.0 / 8_000;
            self.burst_left =
                per_millisecond.clamp(2 * u64::from(mss), MAX_BURST.max(2 * u64::from(mss)));
            self.late = now.since(self.release);
            self.release = now;
        }
        let credit = self.late.min(Duration::from_nanos(cost.as_nanos() / 2));
        self.late -= credit;
        self.release += cost - credit;
        self.burst_left = self.burst_left.saturating_sub(bytes);
    }

    /// Forgets what was sent, e.g. when the rate was unknown until now.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_a_second_the_bytes_released_are_those_of_the_rate() {
        for rate in [BitRate(1_000_000), BitRate(12_000_000), BitRate(900_000_000)] {
            let mut pacer = Pacer::default();
            let (mut now, mut sent) = (Instant::from_nanos(5_000_000_000), 0u64);
            let end = now + Duration::from_secs(1);
            while now < end {
                match pacer.blocked_until(now) {
                    Some(at) => now = at,
                    None => {
                        pacer.on_sent(now, 1448, 1448, rate);
                        sent += 1448;
                    }
                }
            }
            let wanted = rate.0 / 8;
            assert!(sent.abs_diff(wanted) <= 65_536 + wanted / 1000, "{sent} of {wanted}");
        }
    }

    #[test]
    fn a_late_burst_is_credited_with_at_most_half_of_its_time() {
        // A segment takes a millisecond; a burst has two.
        let rate = BitRate(1448 * 8_000);
        let released = |late_us: u64| {
            let mut pacer = Pacer::default();
            let begin = Instant::from_nanos(10_000_000_000);
            pacer.on_sent(begin, 1448, 1448, rate);
            pacer.on_sent(begin, 1448, 1448, rate);
            let due = pacer.blocked_until(begin).expect("the burst is to be paid for");
            let now = due + Duration::from_micros(late_us);
            pacer.on_sent(now, 1448, 1448, rate);
            pacer.on_sent(now, 1448, 1448, rate);
            pacer.blocked_until(now).expect("likewise").since(now).as_nanos() / 1_000
        };
        assert_eq!([0, 400, 1_000, 5_000].map(released), [2_000, 1_600, 1_000, 1_000]);
    }

    #[test]
    fn a_long_silence_earns_no_burst_beyond_the_usual_one() {
        let mut pacer = Pacer::default();
        let rate = BitRate(12_000_000);
        let now = Instant::from_nanos(10_000_000_000);
        let mut burst = 0;
        while pacer.blocked_until(now).is_none() {
            pacer.on_sent(now, 1448, 1448, rate);
            burst += 1;
        }
        assert_eq!(burst, 2);
    }
}
