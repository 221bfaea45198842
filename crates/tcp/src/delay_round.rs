//! The least RTT of each round trip. A control that steers by delay reads the queue from it (Brakmo
//! and Peterson 1995). A single sample may belong to a delayed acknowledgement; the least of
//! several is the path's.

use crate::control::AckSample;
use justfull_base::Duration;

/// Samples that a round must have (as Linux: with two or fewer a delayed acknowledgement decides).
const ENOUGH: u32 = 3;

/// The state of the round after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// It goes on.
    Open,
    /// It is over, with too few samples for a decision.
    Unknown,
    /// It is over, with this least RTT.
    Least(Duration),
}

/// The round that is being measured.
#[derive(Clone, Debug)]
pub(crate) struct DelayRound {
    least: Duration,
    samples: u32,
    /// The first round after an interruption is measured only in part, so it does not count.
    partial: bool,
}

impl Default for DelayRound {
    fn default() -> Self {
        Self { least: Duration::MAX, samples: 0, partial: false }
    }
}

impl DelayRound {
    /// Takes an acknowledgement.
    #[inline]
    pub(crate) fn take(&mut self, sample: &AckSample) -> Round {
        if let Some(rtt) = sample.rtt {
            self.least = self.least.min(rtt);
            self.samples += 1;
        }
        if !sample.sequence_round_start {
            return Round::Open;
        }
        let over = core::mem::take(self);
        match over.partial {
            true => Round::Open,
            false if over.samples < ENOUGH => Round::Unknown,
            false => Round::Least(over.least),
        }
    }

    /// Recovery or silence came in between: measures again from the next round on.
    pub(crate) fn interrupt(&mut self) {
        *self = Self { partial: true, ..Self::default() };
    }
}

/// Bytes of a window of `cwnd` that wait in queues. `rtt` is the present RTT, and `base` the path's
/// RTT without a queue: (expected - actual rate) x base (Brakmo and Peterson 1995, section 4.1).
pub(crate) fn queued(cwnd: u64, rtt: Duration, base: Duration) -> f64 {
    if rtt <= base {
        return 0.0;
    }
    cwnd as f64 * ((rtt - base).as_secs_f64() / rtt.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn ack(ms: u64, sequence_round_start: bool) -> AckSample {
        let rtt = Some(Duration::from_millis(ms));
        AckSample { rtt, sequence_round_start, ..testing::sample(1448) }
    }

    #[test]
    fn a_round_gives_its_least_sample_and_the_next_begins_anew() {
        let mut round = DelayRound::default();
        assert_eq!(round.take(&ack(60, false)), Round::Open);
        assert_eq!(round.take(&ack(55, false)), Round::Open);
        assert_eq!(round.take(&ack(70, true)), Round::Least(Duration::from_millis(55)));
        assert_eq!(round.take(&ack(80, false)), Round::Open);
        assert_eq!(round.take(&ack(80, true)), Round::Unknown, "two samples");
    }

    #[test]
    fn the_round_of_an_interruption_is_not_judged() {
        let mut round = DelayRound::default();
        round.take(&ack(10, false));
        round.interrupt();
        for end in [false, false, false, true] {
            assert_eq!(round.take(&ack(50, end)), Round::Open);
        }
        for end in [false, false] {
            round.take(&ack(50, end));
        }
        assert_eq!(round.take(&ack(50, true)), Round::Least(Duration::from_millis(50)));
    }

    #[test]
    fn a_quarter_more_rtt_is_a_fifth_of_the_window_in_the_queue() {
        let [rtt, base] = [50, 40].map(Duration::from_millis);
        assert!((queued(100_000, rtt, base) - 20_000.0).abs() < 1e-6);
        assert_eq!(queued(100_000, base, rtt).to_bits(), 0);
    }
}
