//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02), made for every
//! acknowledgement.

use crate::record::{Latest, Record};
use alloc::vec::Vec;
use justfull_base::{BitRate, Duration, Instant};

/// The connection's part of the estimator: the draft's `C.*`.
#[derive(Clone, Debug)]
pub(crate) struct RateSampler {
    /// Data for the sample of each outstanding segment, by serial; none if the control uses no
    /// samples.
    stamps: Option<Vec<Stamp>>,
    /// Bytes delivered since the start.
    pub(crate) delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    /// Samples of segments sent before this amount is delivered are application-limited; 0 if none
    /// are.
    app_limited_until: u64,
    next_round: u64,
}

/// Data for the later sample of one segment: the draft's `P.*`. 48 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    /// Start of the sending interval.
    first_sent: Instant,
    /// Bytes delivered when it left.
    delivered: u64,
    /// When that count was reached.
    delivered_at: Instant,
    /// Bytes in flight with it.
    in_flight: u64,
    /// Bytes marked lost until it left.
    lost: u64,
    /// It left while the application limited the rate.
    app_limited: bool,
}

/// The state of the connection when a segment leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub(crate) now: Instant,
    /// Bytes in flight without it.
    pub(crate) in_flight: u64,
    /// Its payload bytes.
    pub(crate) bytes: u64,
    /// Bytes marked lost since the start.
    pub(crate) lost: u64,
}

/// Initial number of stamps.
const FIRST_STAMPS: usize = 16;

/// The new deliveries of one acknowledgement, collected while walking the scoreboard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Newly delivered bytes.
    pub(crate) bytes: u64,
    /// Newly delivered segments.
    pub(crate) segments: u32,
    /// The segment sent last among the segments sent once.
    pub(crate) once: Latest,
    /// The segment sent last among the segments sent again.
    again: Latest,
    /// The segment sent last among the segments sent again whose last copy surely arrived.
    surely_again: Latest,
    /// A copy that left after this may be mistaken for its original.
    pub(crate) sure_until: Instant,
    /// Highest offset delivered before this acknowledgement (RFC 8985's `RACK.fack`).
    fack: u64,
    /// A segment sent once lies below data delivered earlier.
    pub(crate) reordered: bool,
}

/// A finished sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateSample {
    pub(crate) prior_delivered: u64,
    pub(crate) interval: Option<Duration>,
    pub(crate) app_limited: bool,
    pub(crate) retransmitted: bool,
    pub(crate) round_start: bool,
    pub(crate) tx_in_flight: u64,
    /// Bytes marked lost before the sampled segment left.
    pub(crate) prior_lost: u64,
}

impl Delivery {
    pub(crate) fn new(fack: u64, sure_until: Instant) -> Self {
        Self {
            bytes: 0,
            segments: 0,
            once: Latest::default(),
            again: Latest::default(),
            surely_again: Latest::default(),
            sure_until,
            fack,
            reordered: false,
        }
    }

    /// Counts `record` with number `serial`, acknowledged for the first time just now.
    #[inline(always)]
    pub(crate) fn add(&mut self, serial: u64, record: &Record) {
        self.bytes += u64::from(record.len);
        self.segments += 1;
        let sent = Latest::new(record.sent_at, serial);
        if record.was_retransmitted() {
            self.again = self.again.or_later(sent);
            if record.sent_at <= self.sure_until {
                self.surely_again = self.surely_again.or_later(sent);
            }
        } else {
            self.once = self.once.or_later(sent);
            self.reordered |= record.end() < self.fack;
        }
    }

    /// The segment sent last among all deliveries.
    #[inline]
    pub(crate) fn newest(&self) -> Latest {
        self.once.or_later(self.again)
    }

    /// The segment sent last among the deliveries that are certain.
    #[inline]
    pub(crate) fn surest(&self) -> Latest {
        self.once.or_later(self.surely_again)
    }
}

impl RateSampler {
    /// A sampler for a new connection; `samples` is true if the control uses them.
    pub(crate) fn new(samples: bool) -> Self {
        Self {
            stamps: samples.then(Vec::new),
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            app_limited_until: 0,
            next_round: 0,
        }
    }

    /// Segment `serial` is about to leave; `first` is the lowest outstanding one.
    #[inline]
    pub(crate) fn stamp(&mut self, leaving: &Leaving, serial: u64, first: u64) {
        let app_limited = self.is_app_limited();
        let Some(stamps) = &mut self.stamps else { return };
        if leaving.in_flight == 0 {
            self.first_sent = leaving.now;
            self.delivered_at = leaving.now;
        }
        if serial - first >= stamps.len() as u64 {
            grow(stamps, first, serial);
        }
        let (first_sent, delivered, delivered_at) =
            (self.first_sent, self.delivered, self.delivered_at);
        let (in_flight, lost) = (leaving.in_flight + leaving.bytes, leaving.lost);
        *slot(stamps, serial) =
            Stamp { first_sent, delivered, delivered_at, in_flight, lost, app_limited };
    }

    /// The stamp of an outstanding segment, by [`RateSampler::stamp`]; none if the control uses no
    /// samples.
    pub(crate) fn stamped(&self, serial: u64) -> Option<RateSample> {
        let stamps = self.stamps.as_ref().filter(|stamps| !stamps.is_empty())?;
        let stamp = &stamps[serial as usize & (stamps.len() - 1)];
        Some(RateSample {
            prior_delivered: stamp.delivered,
            app_limited: stamp.app_limited,
            tx_in_flight: stamp.in_flight,
            prior_lost: stamp.lost,
            ..RateSample::default()
        })
    }

    /// The sender runs dry with `in_flight` bytes out. Until these are acknowledged, samples do not
    /// show the network's rate.
    pub(crate) fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// True when the control uses no samples.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        self.stamps.is_none()
    }

    /// True while samples are application-limited.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until != 0
    }

    /// Counts `bytes` as delivered. Returns the sample for a control that uses none.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, bytes: u64) -> RateSample {
        let prior_delivered = self.delivered;
        self.delivered += bytes;
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        RateSample { prior_delivered, ..RateSample::default() }
    }

    /// Ends the acknowledgement that delivered `bytes`; `serial` and `newest` are its most recently
    /// sent segment. None when it delivered nothing.
    ///
    /// The interval is the longer of the sending and the acknowledging one, so that a burst of
    /// segments or of acknowledgements cannot make the rate too high (section 3.1). An interval
    /// below the smallest RTT is void (3.3).
    #[inline]
    pub(crate) fn finish(
        &mut self,
        now: Instant,
        bytes: u64,
        newest: Option<(u64, &Record)>,
        min_rtt: Duration,
    ) -> RateSample {
        let before = self.deliver(bytes);
        let Some((serial, newest)) = newest else { return before };
        let rate = self.sample(now, Latest::new(newest.sent_at, serial), min_rtt, before);
        RateSample { retransmitted: newest.was_retransmitted(), ..rate }
    }

    /// The same if `newest` was never retransmitted.
    #[inline(always)]
    pub(crate) fn finish_plain(
        &mut self,
        now: Instant,
        bytes: u64,
        newest: Latest,
        min_rtt: Duration,
    ) -> RateSample {
        let before = self.deliver(bytes);
        self.sample(now, newest, min_rtt, before)
    }

    #[inline(always)]
    fn sample(
        &mut self,
        now: Instant,
        newest: Latest,
        min_rtt: Duration,
        before: RateSample,
    ) -> RateSample {
        let Some(stamps) = &mut self.stamps else { return before };
        let (stamp, sent_at) = (*slot(stamps, newest.serial()), newest.sent_at());
        self.delivered_at = now;
        self.first_sent = sent_at;
        let round_start = stamp.delivered >= self.next_round;
        if round_start {
            self.next_round = self.delivered;
        }
        let interval = sent_at.since(stamp.first_sent).max(now.since(stamp.delivered_at));
        let valid = !interval.is_zero() && (min_rtt == Duration::MAX || interval >= min_rtt);
        RateSample {
            prior_delivered: stamp.delivered,
            interval: valid.then_some(interval),
            app_limited: stamp.app_limited,
            retransmitted: false,
            round_start,
            tx_in_flight: stamp.in_flight,
            prior_lost: stamp.lost,
        }
    }
}

/// Segments of the smallest burst of BBR at the pacing rate `pacing`: one at low rates (Linux
/// `bbr_min_tso_rate`).
pub(crate) fn least_burst(pacing: BitRate) -> u64 {
    if pacing < BitRate(1_200_000) { 1 } else { 2 }
}

/// `bytes` over `time`, per second, rounded down.
pub(crate) fn bytes_per_second(bytes: u64, time: Duration) -> u64 {
    // 2^33 x 10^9 is below 2^63, and no window delivers eight gigabytes in one sample.
    bytes.min(1 << 33) * 1_000_000_000 / time.as_nanos().max(1)
}

#[inline]
fn slot(stamps: &mut [Stamp], serial: u64) -> &mut Stamp {
    let mask = stamps.len().wrapping_sub(1);
    &mut stamps[serial as usize & mask]
}

/// Makes room for the stamps of `first` to `serial`.
#[cold]
fn grow(stamps: &mut Vec<Stamp>, first: u64, serial: u64) {
    let mut larger = Vec::new();
    larger.resize((stamps.len() * 2).max(FIRST_STAMPS), Stamp::default());
    if !stamps.is_empty() {
        for kept in first..serial {
            *slot(&mut larger, kept) = *slot(stamps, kept);
        }
    }
    *stamps = larger;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// The sample of segment 7 of 100 when the first was acknowledged before the last 60 left.
    fn sample(samples: bool) -> RateSample {
        let mut sampler = RateSampler::new(samples);
        let leaving = |ms, in_flight| Leaving { now: at(ms), in_flight, bytes: 1000, lost: ms };
        (0..40).for_each(|serial| sampler.stamp(&leaving(serial, serial * 1000), serial, 0));
        sampler.finish(at(50), 1000, Some((0, &Record::new(0, 1000, at(0)))), Duration::MAX);
        (40..100).for_each(|serial| sampler.stamp(&leaving(60, 39_000), serial, 1));
        sampler.finish(at(200), 1000, Some((7, &Record::new(7_000, 1000, at(7)))), Duration::MAX)
    }

    #[test]
    fn a_stamp_outlives_the_growth_of_the_ring() {
        let found = sample(true);
        assert_eq!((found.prior_delivered, found.interval), (0, Some(Duration::from_millis(200))));
        assert_eq!((found.tx_in_flight, found.prior_lost), (8000, 7));
    }

    #[test]
    fn a_control_that_uses_no_samples_gets_none() {
        let found = sample(false);
        assert_eq!(
            (found.prior_delivered, found.interval, found.round_start),
            (1_000, None, false)
        );
    }
}
