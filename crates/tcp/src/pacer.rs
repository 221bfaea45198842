//! The release clock of paced segments.
//!
//! Segments leave in bursts of about a millisecond's worth, at least two, like those of TCP
//! segmentation offload (Linux `tcp_tso_autosize`). This bounds the wake-ups per second. Since 5.18
//! Linux adds a term that is larger for smaller RTTs: 64 KiB, halved once for each 512 us of the
//! least RTT. After each burst the clock waits until the rate has paid for it. If the window cuts a
//! burst short, the burst ends there: a burst is one buffer, and later segments form another. A
//! burst that starts late is credited with at most half of its whole time, as in Linux
//! (`tcp_update_skb_after_send`; there the segments of a burst are one buffer). A control may have
//! bursts of its own, with this credit or without.

use crate::control::Bursts;
use crate::kernel::Features;
use justfull_base::{BitRate, Duration, Instant};

/// Largest burst in bytes (the largest offloaded segment).
const MAX_BURST: u64 = 65_536;
/// [`MAX_BURST`] less the largest headers (Linux `sk_gso_max_size`).
const MAX_BUFFER: u64 = 65_535 - 320;
/// The added term is halved once for each 2 to this power of microseconds of the least RTT (Linux
/// `tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;

/// State of the clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    features: Features,
    release: Instant,
    burst_left: u64,
    /// The part of the burst's lateness that is not yet credited.
    late: Duration,
    /// In place of Linux's usual bursts.
    own: Option<Bursts>,
}

impl Pacer {
    /// A clock for a new connection that follows a version with these `features`.
    pub(crate) fn new(features: Features) -> Self {
        Self { features, ..Self::default() }
    }

    /// The same with the bursts of a control.
    pub(crate) fn with_bursts(self, own: Option<Bursts>) -> Self {
        Self { own, ..self }
    }

    /// When the next burst may leave.
    pub(crate) fn release(&self) -> Instant {
        self.release
    }

    /// Only the window holds the next segment back.
    pub(crate) fn cut(&mut self) {
        if self.features.one_buffer {
            self.burst_left = 0;
        }
    }

    /// Bytes that leave together at a rate of `bytes` a second, `least` segments or more.
    pub(crate) fn burst(&self, mss: u64, bytes: u64, least: u64, min_rtt: Duration) -> u64 {
        if let Some(own) = self.own {
            let paid = BitRate(bytes.saturating_mul(8)).bytes_in_floor(own.time);
            return (paid / mss).max(1) * mss;
        }
        if !self.features.one_buffer {
            return (bytes / 1000).clamp(2 * mss, MAX_BURST.max(2 * mss));
        }
        let halvings = (min_rtt.as_nanos() / 1000) >> RTT_LOG;
        let more = if self.features.rtt_bursts && halvings < u64::from(u32::BITS) {
            MAX_BUFFER >> halvings
        } else {
            0
        };
        ((bytes / 1024 + more).min(MAX_BUFFER) / mss).max(least) * mss
    }

    /// None if a segment may leave now, else the instant from which it may.
    pub(crate) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        (now < self.release && self.burst_left == 0).then_some(self.release)
    }

    /// A segment of `bytes` leaves at `rate`. The smallest burst is `least` segments of `mss`;
    /// `min_rtt` is the least RTT of the connection.
    pub(crate) fn on_sent(
        &mut self,
        now: Instant,
        bytes: u32,
        mss: u32,
        least: u64,
        rate: BitRate,
        min_rtt: Duration,
    ) {
        let bytes = u64::from(bytes);
        // 65 495 bytes x 8e9 is below 2^63.
        let cost = Duration::from_nanos((bytes * 8_000_000_000) / rate.0.max(1));
        if now >= self.release {
            self.burst_left = self.burst(u64::from(mss), rate.0 / 8, least, min_rtt);
            let credited = self.own.is_none_or(|own| own.credited);
            self.late = if credited { now.since(self.release) } else { Duration::ZERO };
            self.release = now;
        }
        let credit = self.late.min(Duration::from_nanos(cost.as_nanos() / 2));
        self.late -= credit;
        self.release += cost - credit;
        self.burst_left = self.burst_left.saturating_sub(bytes);
    }

    /// Forgets sent segments, e.g. when the rate was unknown until now.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.features).with_bursts(self.own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn over_a_second_the_released_bytes_equal_the_rate() {
        for rate in [BitRate(1_000_000), BitRate(12_000_000), BitRate(900_000_000)] {
            let mut pacer = Pacer::default();
            let (mut now, mut sent) = (Instant::from_nanos(5_000_000_000), 0u64);
            let end = now + Duration::from_secs(1);
            while now < end {
                match pacer.blocked_until(now) {
                    Some(at) => now = at,
                    None => {
                        pacer.on_sent(now, 1448, 1448, 2, rate, Duration::MAX);
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
            pacer.on_sent(begin, 1448, 1448, 2, rate, Duration::MAX);
            pacer.on_sent(begin, 1448, 1448, 2, rate, Duration::MAX);
            let due = pacer.blocked_until(begin).expect("the burst is to be paid for");
            let now = due + Duration::from_micros(late_us);
            pacer.on_sent(now, 1448, 1448, 2, rate, Duration::MAX);
            pacer.on_sent(now, 1448, 1448, 2, rate, Duration::MAX);
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
            pacer.on_sent(now, 1448, 1448, 2, rate, Duration::MAX);
            burst += 1;
        }
        assert_eq!(burst, 2);
    }

    #[test]
    fn a_control_may_do_without_the_credit_for_a_late_burst() {
        // A segment takes a millisecond; the second leaves 400 us late.
        for (credited, waited_us) in [(true, 600), (false, 1_000)] {
            let own = Bursts { time: Duration::from_micros(250), credited };
            let mut pacer = Pacer::default().with_bursts(Some(own));
            let (begin, rate) = (Instant::from_nanos(10_000_000_000), BitRate(1448 * 8_000));
            pacer.on_sent(begin, 1448, 1448, 2, rate, Duration::MAX);
            let now = pacer.release() + Duration::from_micros(400);
            pacer.on_sent(now, 1448, 1448, 2, rate, Duration::MAX);
            let waited = pacer.release().since(now).as_nanos() / 1_000;
            assert_eq!(waited, waited_us, "credited: {credited}");
        }
    }

    fn of(kernel: Kernel) -> Pacer {
        Pacer::new(kernel.features())
    }

    #[test]
    fn since_5_18_a_burst_grows_as_the_least_rtt_shrinks() {
        let segments = |kernel, ms| {
            let slow = BitRate(4_000_000);
            of(kernel).burst(1448, slow.0 / 8, 2, Duration::from_millis(ms)) / 1448
        };
        // 65 215 bytes, halved once, three times, five times and 39 times.
        assert_eq!([1, 2, 3, 20].map(|ms| segments(Kernel::Linux6_18, ms)), [22, 5, 2, 2]);
        assert_eq!([Kernel::Linux4_15, Kernel::Linux5_3].map(|k| segments(k, 1)), [2, 2]);
        let fast = |kernel| of(kernel).burst(1448, 100_000_000 / 8, 2, Duration::MAX);
        // A 1024th of a second in whole segments, or a thousandth.
        assert_eq!([fast(Kernel::Linux6_18), fast(Kernel::Rfc)], [8 * 1448, 12_500]);
        let most = of(Kernel::Linux5_18).burst(1448, 900_000_000 / 8, 2, Duration::ZERO);
        let lone = of(Kernel::Linux6_18).burst(1448, 100_000, 1, Duration::MAX);
        assert_eq!(lone, 1448);
        assert_eq!(most, 45 * 1448);
    }

    #[test]
    fn a_control_may_bound_its_bursts_by_time_to_a_segment_or_more() {
        let own = Bursts { time: Duration::from_micros(250), credited: true };
        let pacer = of(Kernel::Linux6_18).with_bursts(Some(own));
        let segments = |bytes| pacer.burst(1448, bytes, 2, Duration::ZERO) / 1448;
        assert_eq!([100_000, 12_500_000, 125_000_000].map(segments), [1, 2, 21]);
    }

    #[test]
    fn a_burst_that_the_window_cuts_ends_there_in_linux() {
        let goes_on = |kernel| {
            let (mut pacer, now) = (of(kernel), Instant::from_nanos(1_000_000_000));
            pacer.on_sent(now, 1448, 1448, 2, BitRate(4_000_000), Duration::MAX);
            assert_eq!(pacer.blocked_until(now), None);
            pacer.cut();
            pacer.blocked_until(now).is_none()
        };
        assert_eq!(Kernel::ALL.map(goes_on), [true, false, false, false, false]);
    }
}
