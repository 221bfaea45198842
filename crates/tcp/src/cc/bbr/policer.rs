//! Long-term bandwidth (Linux `bbr_lt_bw_sampling`; Flach et al., SIGCOMM 2016): a token-bucket policer lets a burst pass
//! and then drops what exceeds its rate. Two consecutive intervals with at least a fifth lost and with nearly the
//! same throughput are taken for one, and their mean is used for 48 rounds.

use super::{Bbr, Mode, bytes_per_second};
use crate::cc::{AckSample, Congestion};
use justfull_base::{Duration, Instant};

/// Rounds of an interval, at least; four times as many end it without a result.
const MIN_ROUNDS: u32 = 4;
/// Share of lost to delivered bytes: 50 / 256.
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

/// The counters that an interval is measured by.
struct Point {
    now: Instant,
    delivered: u64,
    lost_total: u64,
    app_limited: bool,
    new_losses: bool,
}

impl Policer {
    /// The policer's rate, if one was found.
    pub(super) fn rate(&self) -> Option<u64> {
        self.used.then_some(self.rate)
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self, now: Instant) {
        *self = Self { since: now, ..Self::default() };
    }

    fn start_interval(&mut self, point: &Point) {
        self.since = point.now;
        self.delivered = point.delivered;
        self.lost = point.lost_total;
        self.rounds = 0;
    }

    /// Takes one acknowledgement. An interval begins and ends with a loss, so that it holds whole bucket fillings.
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
        if self.rate > 0 && (difference * RATE_SHARE <= self.rate || difference <= RATE_DIFFERENCE) {
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

    /// A timeout is a loss that ends a round.
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
