//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02), made for every acknowledgement.

use crate::scoreboard::Record;
use justfull_base::{Duration, Instant};

/// The connection's side of the estimator: the draft's `C.*`.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateSampler {
    /// Bytes delivered since the start.
    pub(crate) delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    /// Samples of segments sent before this much is delivered are application-limited; 0 when none is.
    app_limited_until: u64,
    next_round: u64,
}

/// Which of some segments left last: by time, and at one instant by sequence (RFC 8985 section 6.2, `RACK_sent_after`).
/// The default is none, before all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Latest {
    sent_at: Instant,
    /// One more than the serial, so that the default is below all.
    after: u64,
}

impl Latest {
    #[inline]
    pub(crate) const fn new(sent_at: Instant, serial: u64) -> Self {
        Self { sent_at, after: serial + 1 }
    }

    #[inline]
    pub(crate) const fn is_some(self) -> bool {
        self.after != 0
    }

    #[inline]
    pub(crate) const fn sent_at(self) -> Instant {
        self.sent_at
    }

    /// The later of the two (as `max`, in the form that compiles to two comparisons).
    #[inline]
    pub(crate) fn or_later(self, other: Self) -> Self {
        let later =
            other.sent_at > self.sent_at || (other.sent_at == self.sent_at && other.after > self.after);
        if later { other } else { self }
    }

    /// Meaningful if it is one.
    #[inline]
    pub(crate) const fn serial(self) -> u64 {
        self.after.wrapping_sub(1)
    }
}

/// What one acknowledgement newly delivers, collected while the scoreboard is walked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Newly delivered bytes.
    pub(crate) bytes: u64,
    /// Newly delivered segments.
    pub(crate) segments: u32,
    /// The latest of those that were sent once.
    pub(crate) once: Latest,
    /// The latest of those that were sent again.
    again: Latest,
    /// The latest of those that were sent again and of which the last copy surely arrived.
    surely_again: Latest,
    /// A copy that left after this may be taken for its original.
    pub(crate) sure_until: Instant,
    /// Highest offset delivered before this acknowledgement (RFC 8985's `RACK.fack`).
    fack: u64,
    /// One that was sent once lies below what was delivered before it.
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

    /// Counts `record` of number `serial`, which has just been acknowledged for the first time.
    #[inline]
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

    /// The latest sent of all.
    #[inline]
    pub(crate) fn newest(&self) -> Latest {
        self.once.or_later(self.again)
    }

    /// The latest sent of those that are no possible mistake.
    #[inline]
    pub(crate) fn surest(&self) -> Latest {
        self.once.or_later(self.surely_again)
    }
}

impl RateSampler {
    /// Writes into `record`, which is about to leave, what its sample will need. `idle`: nothing is in flight.
    #[inline]
    pub(crate) fn stamp(&mut self, now: Instant, idle: bool, record: &mut Record) {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        record.sent_at = now;
        record.first_sent = self.first_sent;
        record.delivered = self.delivered;
        record.delivered_at = self.delivered_at;
        record.set_app_limited(self.app_limited_until != 0);
    }

    /// The sender runs dry with `in_flight` bytes out: samples say nothing of the network until these are back.
    pub(crate) fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// True while samples are application-limited.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until != 0
    }

    /// Closes the acknowledgement that delivered `bytes`, the most recently sent segment of which is `newest`;
    /// none when it delivered nothing.
    ///
    /// The interval is the longer of the sending and the acknowledging one, so that neither a burst of segments nor
    /// of acknowledgements can make the rate too high (section 3.1); one under the smallest RTT is void (3.3).
    #[inline]
    pub(crate) fn finish(
        &mut self,
        now: Instant,
        bytes: u64,
        newest: Option<&Record>,
        min_rtt: Duration,
    ) -> RateSample {
        let Some(newest) = newest else {
            return RateSample { prior_delivered: self.delivered, ..RateSample::default() };
        };
        self.delivered += bytes;
        self.delivered_at = now;
        self.first_sent = newest.sent_at;
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let round_start = newest.delivered >= self.next_round;
        if round_start {
            self.next_round = self.delivered;
        }
        let interval = newest.sent_at.since(newest.first_sent).max(now.since(newest.delivered_at));
        let valid = !interval.is_zero() && (min_rtt == Duration::MAX || interval >= min_rtt);
        RateSample {
            prior_delivered: newest.delivered,
            interval: valid.then_some(interval),
            app_limited: newest.is_app_limited(),
            retransmitted: newest.was_retransmitted(),
            round_start,
        }
    }
}
