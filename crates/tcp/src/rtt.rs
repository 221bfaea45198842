//! The round-trip time and the retransmission timeout (RFC 6298).
//!
//! [`Rto::Linux`] has two deviations from the RFC. (1) The variance term is the largest one of a
//! round: with a sample for every acknowledgement, RFC 6298's gains forget the extremes of a round
//! within a fraction of it (RFC 7323 appendix G). (2) The floor applies to the variance term, RTO =
//! SRTT + max(min_rto, 4 RTTVAR): under seconds of queue the variance is small beside SRTT, and a
//! floor on the sum would never apply.
//!
//! [`Rto::Rfc6298`] follows the RFC, with a clock that ticks: a sample is the ticks between sending
//! and acknowledgement, one at least, and the floor applies to the whole.

use crate::config::{Rto, SenderConfig};
use justfull_base::{Duration, Instant};

/// Estimates of one connection, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: u64,
    /// Running mean deviation times four (the scale of the timeout's variance term).
    deviation: u64,
    /// Largest `deviation` of this round, never below the floor.
    round_max: u64,
    /// The variance term in use.
    variance: u64,
    min: Duration,
    floor: u64,
    ceiling: Duration,
    backoff: u32,
    /// Timeout before the first sample (RFC 6298 (2.1)).
    initial: Duration,
    /// The RFC's rule instead of Linux's.
    by_rfc: bool,
    /// G of RFC 6298, a nanosecond at least.
    tick: u64,
}

impl RttEstimator {
    pub(crate) fn new(config: &SenderConfig) -> Self {
        Self {
            srtt: 0,
            deviation: 0,
            round_max: 0,
            variance: 0,
            min: Duration::MAX,
            floor: config.min_rto.as_nanos(),
            ceiling: config.max_rto,
            backoff: 0,
            initial: config.initial_rto,
            by_rfc: config.rto == Rto::Rfc6298,
            tick: config.rto_tick.as_nanos().max(1),
        }
    }

    /// Takes the sample of a segment that left at `sent` and was acknowledged at `now`.
    /// `round_start`: it is the first of a round trip.
    #[inline(always)]
    pub(crate) fn sample(&mut self, sent: Instant, now: Instant, round_start: bool) {
        let rtt = now.since(sent);
        self.observe_min(rtt);
        if self.by_rfc {
            return self.sample_by_rfc(sent, now);
        }
        let rtt = rtt.as_nanos().max(1);
        if self.srtt == 0 {
            // RFC 6298 (2.2): SRTT = R, RTTVAR = R/2, hence 4 RTTVAR = 2 R.
            self.srtt = rtt;
            self.deviation = 2 * rtt;
            self.variance = self.deviation.max(self.floor);
            self.round_max = self.variance;
            return;
        }
        let error = rtt.abs_diff(self.srtt);
        // RFC 6298 (2.3) with beta = 1/4. A fall of the RTT counts for an eighth: it does not
        // endanger the timer, and would otherwise raise the timeout just when the queue drains.
        if rtt < self.srtt && 4 * error > self.deviation {
            self.deviation = self.deviation - self.deviation / 32 + error / 8;
        } else {
            self.deviation = self.deviation - self.deviation / 4 + error;
        }
        self.srtt = if rtt >= self.srtt { self.srtt + error / 8 } else { self.srtt - error / 8 };
        self.round_max = self.round_max.max(self.deviation);
        self.variance = self.variance.max(self.round_max);
        if round_start {
            if self.round_max < self.variance {
                self.variance -= (self.variance - self.round_max) / 4;
            }
            self.round_max = self.floor;
        }
    }

    /// RFC 6298 (2.2) and (2.3), by the clock's ticks.
    #[inline(never)]
    fn sample_by_rfc(&mut self, sent: Instant, now: Instant) {
        let ticks = now.as_nanos() / self.tick - sent.as_nanos().min(now.as_nanos()) / self.tick;
        let rtt = ticks.max(1) * self.tick;
        if self.srtt == 0 {
            self.srtt = rtt;
            self.deviation = 2 * rtt;
            return;
        }
        let error = rtt.abs_diff(self.srtt);
        self.deviation = self.deviation - self.deviation / 4 + error;
        self.srtt = if rtt >= self.srtt { self.srtt + error / 8 } else { self.srtt - error / 8 };
    }

    /// Uses `rtt` for the minimum only.
    pub(crate) fn observe_min(&mut self, rtt: Duration) {
        self.min = self.min.min(rtt);
    }

    /// Smoothed RTT; zero before the first sample.
    pub(crate) fn srtt(&self) -> Duration {
        Duration::from_nanos(self.srtt)
    }

    /// Smallest sample; [`Duration::MAX`] before the first.
    pub(crate) fn min(&self) -> Duration {
        self.min
    }

    /// The timeout with its backoff (RFC 6298 (2.3), (5.5)).
    pub(crate) fn rto(&self) -> Duration {
        let base = if self.srtt == 0 {
            self.initial
        } else if self.by_rfc {
            let sum = self.srtt + self.deviation.max(self.tick);
            Duration::from_nanos(sum.max(self.floor))
        } else {
            Duration::from_nanos(self.srtt + self.variance.max(self.floor))
        };
        base.times(1 << self.backoff.min(32)).min(self.ceiling)
    }

    /// The timer fired: doubles the timeout (RFC 6298 (5.5)).
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }

    /// True when the timer has fired more than once without an acknowledgement that advanced.
    pub(crate) fn has_backed_off_twice(&self) -> bool {
        self.backoff > 1
    }

    /// The longest timeout.
    pub(crate) fn ceiling(&self) -> Duration {
        self.ceiling
    }

    /// New data was acknowledged, and it is certain which copy arrived (RFC 6298 section 5, RFC
    /// 7323).
    pub(crate) fn reset_backoff(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn estimator() -> RttEstimator {
        RttEstimator::new(&SenderConfig::default())
    }

    fn feed(e: &mut RttEstimator, rtt: Duration, round_start: bool) {
        e.sample(Instant::ZERO, Instant::ZERO + rtt, round_start);
    }

    #[test]
    fn before_the_first_sample_the_timeout_is_one_second_and_doubles_up_to_the_ceiling() {
        let mut e = estimator();
        assert_eq!(e.rto(), Duration::from_secs(1));
        let mut expected = 1;
        for _ in 0..10 {
            e.back_off();
            expected *= 2;
            assert_eq!(e.rto(), Duration::from_secs(expected.min(120)));
        }
        e.reset_backoff();
        assert_eq!(e.rto(), Duration::from_secs(1));
    }

    #[test]
    fn the_first_sample_sets_the_timeout_to_three_times_itself() {
        let mut e = estimator();
        feed(&mut e, ms(400), true);
        assert_eq!(e.srtt(), ms(400));
        assert_eq!(e.rto(), ms(1200));
    }

    #[test]
    fn a_steady_rtt_brings_the_timeout_down_to_srtt_plus_the_floor() {
        let mut e = estimator();
        for i in 0..400 {
            feed(&mut e, ms(3000), i % 4 == 0);
        }
        assert_eq!(e.srtt(), ms(3000));
        assert!(e.rto() < ms(3201), "{}", e.rto());
        assert!(e.rto() >= ms(3200), "{}", e.rto());
    }

    #[test]
    fn a_jump_of_the_rtt_raises_the_timeout_at_once_and_it_stays_for_a_round() {
        let mut e = estimator();
        for i in 0..100 {
            feed(&mut e, ms(50), i % 4 == 0);
        }
        feed(&mut e, ms(650), false);
        let after_jump = e.rto();
        assert!(after_jump > ms(600), "{after_jump}");
        feed(&mut e, ms(125), false);
        assert!(e.rto() + ms(100) > after_jump);
    }

    #[test]
    fn the_minimum_follows_every_sample_and_observation() {
        let mut e = estimator();
        assert_eq!(e.min(), Duration::MAX);
        feed(&mut e, ms(50), true);
        e.observe_min(ms(40));
        feed(&mut e, ms(60), true);
        assert_eq!(e.min(), ms(40));
    }

    #[test]
    fn rfc_6298_has_its_gains_its_floor_on_the_whole_and_ticks() {
        let config = SenderConfig {
            rto: Rto::Rfc6298,
            rto_tick: ms(10),
            initial_rto: Duration::from_secs(6),
            ..SenderConfig::default()
        };
        let mut e = RttEstimator::new(&config);
        assert_eq!(e.rto(), Duration::from_secs(6));
        let mut sample = |sent, now| {
            e.sample(Instant::ZERO + ms(sent), Instant::ZERO + ms(now), false);
            (e.srtt(), e.rto())
        };
        // 3 to 29 ms is two ticks: (2.2) has R + 4 R/2 = 60 ms, which the floor lifts.
        assert_eq!(sample(3, 29), (ms(20), ms(200)));
        // (2.3): RTTVAR = 3/4 x 10 + 1/4 x 400 = 107.5 ms, SRTT = 7/8 x 20 + 1/8 x 420 = 70 ms.
        assert_eq!(sample(1000, 1420), (ms(70), ms(500)));
        // A steady time leaves the tick as the least margin.
        let steady = (0..200).map(|_| sample(0, 1000)).last();
        let (srtt, rto) = steady.expect("there were samples");
        assert!(rto - srtt == ms(10) && srtt > ms(999), "{srtt} {rto}");
        // A time within one tick counts as one tick.
        assert_eq!(RttEstimator::new(&config).tick, 10_000_000);
        let mut e = RttEstimator::new(&config);
        e.sample(Instant::ZERO + ms(1), Instant::ZERO + ms(2), false);
        assert_eq!((e.srtt(), e.min()), (ms(10), ms(1)));
    }
}
