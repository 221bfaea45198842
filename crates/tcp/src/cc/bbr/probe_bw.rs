//! `ProbeBW` (draft section 4.3.4): a cycle of eight phases of about one smallest RTT each. The
//! first sends a quarter more, the second drains the queue that this built, the others cruise.

use super::{Bbr, Mode};
use crate::control::AckSample;
use justfull_base::Instant;

const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// State.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    phase: usize,
    started: Instant,
}

impl Cycle {
    pub(super) fn gain(&self) -> f64 {
        GAINS[self.phase]
    }

    /// True in the phase that probes for more.
    pub(super) fn is_probing_up(&self) -> bool {
        self.phase == 0
    }

    fn advance(&mut self, now: Instant) {
        self.phase = (self.phase + 1) % GAINS.len();
        self.started = now;
    }
}

impl Bbr {
    /// Starts in a random phase, except the draining one, so that flows do not probe together.
    pub(super) fn enter_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        let back = self.rng.below(GAINS.len() as u64 - 1) as usize;
        self.cycle.phase = GAINS.len() - 1 - back;
        self.cycle.advance(now);
    }

    pub(super) fn update_cycle(&mut self, sample: &AckSample) {
        if self.mode == Mode::ProbeBw && self.is_next_phase(sample) {
            self.cycle.advance(sample.now);
        }
    }

    /// A cruising phase lasts one smallest RTT. Probing continues until the extra quarter is in
    /// flight or something is lost. Draining ends early once at most one BDP is in flight.
    fn is_next_phase(&self, sample: &AckSample) -> bool {
        let full_length =
            self.min_rtt.is_some_and(|rtt| sample.now.since(self.cycle.started) > rtt);
        let gain = self.cycle.gain();
        let bandwidth = self.bandwidth.get();
        let in_flight = || self.at_departure(sample, sample.prior_in_flight);
        if self.policer.rate().is_some() {
            return full_length;
        }
        if gain > 1.0 {
            let filled = || in_flight() >= self.target_in_flight(bandwidth, gain);
            return full_length && (sample.lost > 0 || filled());
        }
        full_length || (gain < 1.0 && in_flight() <= self.target_in_flight(bandwidth, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bbr::{BbrConfig, tests::control};
    use crate::testing::{self, MSS};
    use justfull_base::Duration;
    use std::collections::BTreeSet;

    const RATE: u64 = 1_000_000;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// In `phase` since 1 s, on a path of 1 MB/s and 50 ms: 35 segments.
    fn probing(phase: usize) -> Bbr {
        let mut bbr = control(&BbrConfig::default());
        bbr.bandwidth.update(10, 0, RATE);
        bbr.min_rtt = Some(Duration::from_millis(50));
        (bbr.mode, bbr.cycle) = (Mode::ProbeBw, Cycle { phase, started: at(1000) });
        bbr.update_gains();
        bbr
    }

    /// The phase after an acknowledgement `ms` into `phase`, with `in_flight` bytes before it.
    fn next(bbr: &Bbr, ms: u64, in_flight: u64, lost: u64) -> usize {
        let mut bbr = bbr.clone();
        let before = bbr.cycle.phase;
        let mut sample = testing::sample(MSS);
        (sample.now, sample.prior_in_flight, sample.lost) = (at(1000 + ms), in_flight, lost);
        bbr.update_cycle(&sample);
        let started = if bbr.cycle.phase == before { at(1000) } else { sample.now };
        assert_eq!(bbr.cycle.started, started);
        bbr.cycle.phase
    }

    #[test]
    fn it_begins_in_any_phase_but_the_draining_one() {
        let mut bbr = control(&BbrConfig::default());
        let mut seen = BTreeSet::new();
        for ms in 0..200 {
            bbr.enter_probe_bw(at(ms));
            assert_eq!((bbr.mode, bbr.cycle.started), (Mode::ProbeBw, at(ms)));
            seen.insert(bbr.cycle.phase);
        }
        assert_eq!(seen, [0, 2, 3, 4, 5, 6, 7].into());
    }

    #[test]
    fn a_cruising_phase_lasts_longer_than_the_smallest_rtt() {
        for phase in 2..8 {
            let bbr = probing(phase);
            assert_eq!([next(&bbr, 50, 0, MSS), next(&bbr, 51, 0, 0)], [phase, (phase + 1) % 8]);
        }
        let mut elsewhere = probing(3);
        elsewhere.mode = Mode::ProbeRtt;
        assert_eq!(next(&elsewhere, 51, 0, 0), 3);
    }

    #[test]
    fn probing_goes_on_until_a_quarter_more_is_in_flight_or_something_is_lost() {
        let bbr = probing(0);
        // The burst that is about to leave counts.
        let target = bbr.target_in_flight(RATE, 1.25) - bbr.burst_segments() * MSS;
        assert_eq!([next(&bbr, 51, target - 1, 0), next(&bbr, 51, target, 0)], [0, 1]);
        assert_eq!([next(&bbr, 51, target - 1, 1), next(&bbr, 50, target, 1)], [1, 0]);
    }

    #[test]
    fn draining_ends_early_once_no_more_than_a_bdp_is_in_flight() {
        let bbr = probing(1);
        let target = bbr.target_in_flight(RATE, 1.0);
        assert_eq!([next(&bbr, 1, target + 1, 0), next(&bbr, 1, target, 0)], [1, 2]);
        assert_eq!([next(&bbr, 51, target + 1, 0), next(&probing(2), 1, target, 0)], [2, 2]);
    }

    #[test]
    fn with_a_policers_rate_phases_only_last_their_time() {
        let mut bbr = probing(0);
        bbr.policer.assume(RATE);
        assert_eq!([next(&bbr, 51, 0, 0), next(&bbr, 50, u64::MAX, 1)], [1, 0]);
        bbr.cycle.phase = 1;
        assert_eq!(next(&bbr, 50, 0, 0), 1);
    }
}
