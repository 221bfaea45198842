//! Long-term bandwidth (Linux `bbr_lt_bw_sampling`; Flach et al., SIGCOMM 2016). A token-bucket
//! policer passes a burst and then drops packets above its rate. Two consecutive intervals with
//! similar throughput, each with at least a fifth lost, indicate one; BBR then uses their mean for
//! 48 rounds.

use super::{Bbr, Mode, bytes_per_second};
use crate::control::{AckSample, Congestion};
use justfull_base::{Duration, Instant};

/// Minimum rounds of an interval; four times as many end it without a result.
const MIN_ROUNDS: u32 = 4;
/// Minimum share of lost to delivered bytes: 50 / 256.
const LOSS_SHARE: (u64, u64) = (50, 256);
/// Two rates agree within an eighth or within 4 kbit/s.
const RATE_SHARE: u64 = 8;
const RATE_DIFFERENCE: u64 = 500;
/// Rounds for which the rate is used.
const USE_ROUNDS: u32 = 48;

/// State; rates in bytes per second.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    used: bool,
    rounds: u32,
    rate: u64,
    since: Instant,
    delivered: u64,
    lost: u64,
}

/// Counters at one end of an interval.
struct Point {
    now: Instant,
    delivered: u64,
    lost_total: u64,
    app_limited: bool,
    new_losses: bool,
}

impl Policer {
    /// The policer's rate, if one has been detected.
    pub(super) fn rate(&self) -> Option<u64> {
        self.used.then_some(self.rate)
    }

    #[cfg(test)]
    pub(super) fn assume(&mut self, rate: u64) {
        (self.used, self.rate) = (true, rate);
    }

    /// Resets all state.
    pub(super) fn reset(&mut self, now: Instant) {
        *self = Self { since: now, ..Self::default() };
    }

    fn start_interval(&mut self, point: &Point) {
        self.since = point.now;
        self.delivered = point.delivered;
        self.lost = point.lost_total;
        self.rounds = 0;
    }

    /// Processes one acknowledgement. An interval begins and ends with a loss, so that it spans
    /// whole fillings of the bucket.
    fn sample(&mut self, point: &Point, round_start: bool) {
        if !self.sampling {
            if !point.new_losses {
                return;
            }
            self.start_interval(point);
            self.sampling = true;
        }
        if point.app_limited {
            self.reset(point.now);
            return;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < MIN_ROUNDS {
            return;
        }
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset(point.now);
            return;
        }
        let lost = point.lost_total - self.lost;
        let delivered = point.delivered - self.delivered;
        let elapsed = point.now.since(self.since);
        let lossy = delivered > 0 && lost * LOSS_SHARE.1 >= delivered * LOSS_SHARE.0;
        if point.new_losses && lossy && elapsed >= Duration::from_millis(1) {
            self.end_interval(point, bytes_per_second(delivered, elapsed));
        }
    }

    fn end_interval(&mut self, point: &Point, rate: u64) {
        let difference = rate.abs_diff(self.rate);
        if self.rate > 0 && (difference * RATE_SHARE <= self.rate || difference <= RATE_DIFFERENCE)
        {
            self.rate = u64::midpoint(self.rate, rate);
            self.used = true;
            self.rounds = 0;
            return;
        }
        self.rate = rate;
        self.start_interval(point);
    }
}

impl Bbr {
    pub(super) fn sample_policer(&mut self, sample: &AckSample) {
        self.take_point(&Point {
            now: sample.now,
            delivered: sample.delivered,
            lost_total: sample.lost_total,
            app_limited: sample.app_limited,
            new_losses: sample.lost > 0,
        });
    }

    /// Counts a timeout as a loss that ends a round.
    pub(super) fn sample_policer_at_timeout(&mut self, event: &Congestion) {
        self.take_point(&Point {
            now: event.now,
            delivered: event.delivered,
            lost_total: event.lost_total,
            app_limited: false,
            new_losses: true,
        });
    }

    fn take_point(&mut self, point: &Point) {
        if !self.policer_detection {
            return;
        }
        if !self.policer.used {
            self.policer.sample(point, self.round_start);
            return;
        }
        if self.mode == Mode::ProbeBw && self.round_start {
            self.policer.rounds += 1;
            if self.policer.rounds >= USE_ROUNDS {
                self.policer.reset(point.now);
                self.enter_probe_bw(point.now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionController;
    use crate::cc::bbr::{Bbr, BbrConfig, tests::control};
    use crate::testing::{self, MSS};

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn point(us: u64, delivered: u64, lost_total: u64, new_losses: bool) -> Point {
        Point { now: at(us), delivered, lost_total, app_limited: false, new_losses }
    }

    /// An interval that began at 1 s with 9000 B delivered and 800 B lost, `rounds` ago.
    fn begun(rounds: u32) -> Policer {
        let mut policer = Policer::default();
        policer.sample(&point(1_000_000, 9000, 800, true), false);
        policer.rounds = rounds;
        policer
    }

    #[test]
    fn an_interval_begins_with_a_loss_and_counts_rounds() {
        let mut policer = Policer::default();
        policer.sample(&point(1_000_000, 9000, 800, false), true);
        assert!(!policer.sampling && policer.rounds == 0);
        policer.sample(&point(1_000_000, 9000, 800, true), true);
        assert!(policer.sampling && policer.rounds == 1);
        assert_eq!((policer.since, policer.delivered, policer.lost), (at(1_000_000), 9000, 800));
        policer.sample(&point(1_001_000, 9000, 800, false), false);
        policer.sample(&point(1_002_000, 9000, 800, false), true);
        assert_eq!((policer.rounds, policer.since), (2, at(1_000_000)));
    }

    #[test]
    fn an_interval_ends_with_a_loss_after_four_rounds_in_which_50_of_256_bytes_were_lost() {
        let ended = |rounds, us: u64, delivered: u64, lost: u64, new_losses| {
            let mut policer = begun(rounds);
            let end = point(1_000_000 + us, 9000 + delivered, 800 + lost, new_losses);
            policer.sample(&end, false);
            assert!(!policer.used, "one interval is not enough");
            // A new interval begins where the last one ended.
            if policer.since == end.now {
                let state = (policer.rounds, policer.delivered, policer.lost);
                assert_eq!(state, (0, 9000 + delivered, 800 + lost));
            }
            (policer.rate, policer.since == end.now)
        };
        assert_eq!(ended(4, 10_000, 25_600, 5000, true), (2_560_000, true));
        assert_eq!(ended(3, 10_000, 25_600, 5000, true), (0, false), "too few rounds");
        assert_eq!(ended(4, 10_000, 25_600, 4999, true), (0, false), "too little is lost");
        assert_eq!(ended(4, 10_000, 25_600, 5000, false), (0, false), "it ends with a loss");
        assert_eq!(ended(4, 1000, 25_600, 5000, true), (25_600_000, true));
        assert_eq!(ended(4, 999, 25_600, 5000, true), (0, false), "less than a millisecond");
        assert_eq!(ended(4, 10_000, 0, 5000, true), (0, false), "nothing was delivered");
        // A first rate cannot agree with an earlier one, even within 500 B/s of zero.
        assert_eq!(ended(4, 1_000_000, 256, 256, true), (256, true));
    }

    #[test]
    fn an_interval_of_more_than_sixteen_rounds_or_without_enough_data_is_given_up() {
        for (rounds, kept) in [(16, true), (17, false)] {
            let mut policer = begun(rounds);
            policer.sample(&point(2_000_000, 90_000, 800, false), false);
            assert_eq!(policer.sampling, kept, "{rounds} rounds");
            assert_eq!(policer.since == at(2_000_000), !kept);
        }
        let mut policer = begun(4);
        policer
            .sample(&Point { app_limited: true, ..point(2_000_000, 90_000, 50_000, true) }, false);
        assert!(!policer.sampling && policer.since == at(2_000_000));
    }

    #[test]
    fn two_rates_within_an_eighth_or_500_bytes_per_second_are_a_policers() {
        let found = |first, second| {
            let mut policer = Policer { rounds: 7, rate: first, ..begun(7) };
            policer.end_interval(&point(2_000_000, 90_000, 5000, true), second);
            assert_eq!(policer.rounds, 0);
            let kept = if policer.used { at(1_000_000) } else { at(2_000_000) };
            assert_eq!(policer.since, kept);
            assert_eq!(policer.rate().unwrap_or(second), policer.rate);
            policer.rate()
        };
        assert_eq!([found(80_000, 90_000), found(80_000, 70_000)], [Some(85_000), Some(75_000)]);
        assert_eq!([found(80_000, 90_001), found(80_000, 69_999)], [None, None]);
        assert_eq!([found(1000, 1500), found(1000, 1501)], [Some(1250), None]);
    }

    #[test]
    fn a_rate_that_was_found_is_used_for_48_rounds_of_probe_bw() {
        let mut bbr = control(&BbrConfig::default());
        (bbr.policer.used, bbr.policer.rate) = (true, 5000);
        let mut take = |mode, round_start| {
            (bbr.mode, bbr.round_start) = (mode, round_start);
            bbr.take_point(&point(3_000_000, 0, 0, true));
            (bbr.policer.rounds, bbr.policer.rate())
        };
        assert_eq!(take(Mode::ProbeBw, false), (0, Some(5000)));
        assert_eq!(take(Mode::ProbeRtt, true), (0, Some(5000)));
        for round in 1..48 {
            assert_eq!(take(Mode::ProbeBw, true), (round, Some(5000)));
        }
        assert_eq!(take(Mode::ProbeBw, true), (0, None));
        assert_eq!((bbr.policer.since, bbr.mode), (at(3_000_000), Mode::ProbeBw));
    }

    #[test]
    fn an_acknowledgement_with_losses_and_a_timeout_begin_an_interval_unless_it_is_switched_off() {
        let begun = |detection, act: &dyn Fn(&mut Bbr)| {
            let mut bbr =
                control(&BbrConfig { policer_detection: detection, ..BbrConfig::default() });
            act(&mut bbr);
            bbr.policer.sampling.then_some((bbr.policer.delivered, bbr.policer.lost))
        };
        let acked = |lost| {
            move |bbr: &mut Bbr| {
                let mut sample = testing::sample(MSS);
                (sample.delivered, sample.lost, sample.lost_total) = (9000, lost, 800);
                bbr.on_ack(&sample);
            }
        };
        let timeout = |bbr: &mut Bbr| {
            let mut event = testing::timeout(7000, false);
            event.lost_total = 300;
            bbr.on_congestion(&event);
            // The timeout ends a round.
            assert!(bbr.round_start && bbr.policer.rounds == u32::from(bbr.policer.sampling));
        };
        assert_eq!(begun(true, &acked(0)), None);
        assert_eq!([begun(true, &acked(1)), begun(false, &acked(1))], [Some((9000, 800)), None]);
        assert_eq!([begun(true, &timeout), begun(false, &timeout)], [Some((7000, 300)), None]);
    }
}
