//! The round-trip time and the retransmission timeout (RFC 6298).
//!
//! Two deviations, both Linux's. (1) The variance term is the largest deviation seen in a round:
//! with a sample for every acknowledgement, RFC 6298's gains forget the extremes of a round within
//! a fraction of it (RFC 7323 appendix G). (2) The floor applies to the variance term, RTO = SRTT +
//! max(min_rto, 4 RTTVAR): under seconds of queue the variance is small beside SRTT, and a floor on
//! the sum would never apply.

use justfull_base::Duration;

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
}

/// Timeout before the first sample (RFC 6298 (2.1)).
const INITIAL_RTO: Duration = Duration::from_secs(1);

impl RttEstimator {
    pub(crate) fn new(min_rto: Duration, max_rto: Duration) -> Self {
        Self {
            srtt: 0,
            deviation: 0,
            round_max: 0,
            variance: 0,
            min: Duration::MAX,
            floor: min_rto.as_nanos(),
            ceiling: max_rto,
            backoff: 0,
        }
    }

    /// Takes a sample; `round_start`: the first of a round trip.
    pub(crate) fn sample(&mut self, rtt: Duration, round_start: bool) {
        self.observe_min(rtt);
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
            INITIAL_RTO
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

    /// New data was acknowledged, and timestamps tell which copy (RFC 6298 section 5, RFC 7323).
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
        RttEstimator::new(ms(200), Duration::from_secs(120))
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
        e.sample(ms(400), true);
        assert_eq!(e.srtt(), ms(400));
        assert_eq!(e.rto(), ms(1200));
    }

    #[test]
    fn a_steady_rtt_brings_the_timeout_down_to_srtt_plus_the_floor() {
        let mut e = estimator();
        for i in 0..400 {
            e.sample(ms(3000), i % 4 == 0);
        }
        assert_eq!(e.srtt(), ms(3000));
        assert!(e.rto() < ms(3201), "{}", e.rto());
        assert!(e.rto() >= ms(3200), "{}", e.rto());
    }

    #[test]
    fn a_jump_of_the_rtt_raises_the_timeout_at_once_and_it_stays_for_a_round() {
        let mut e = estimator();
        for i in 0..100 {
            e.sample(ms(50), i % 4 == 0);
        }
        e.sample(ms(650), false);
        let after_jump = e.rto();
        assert!(after_jump > ms(600), "{after_jump}");
        e.sample(ms(125), false);
        assert!(e.rto() + ms(100) > after_jump);
    }

    #[test]
    fn the_minimum_follows_every_sample_and_observation() {
        let mut e = estimator();
        assert_eq!(e.min(), Duration::MAX);
        e.sample(ms(50), true);
        e.observe_min(ms(40));
        e.sample(ms(60), true);
        assert_eq!(e.min(), ms(40));
    }
}
