//! `HyStart++` (RFC 9406): when the delay rises from one round to the next, conservative slow start
//! begins, at a quarter of the growth. If the delay falls again within five rounds, the rise was a
//! mistake and slow start resumes; otherwise it ends. Unlike HyStart it ignores the acknowledgement
//! train.

use super::Growth;
use crate::control::AckSample;
use justfull_base::Duration;

/// Bounds of the rise of the delay (section 4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
/// RTT samples of a round before its delay counts.
const N_RTT_SAMPLE: u32 = 8;
/// Divisor of the growth in conservative slow start.
const CSS_GROWTH_DIVISOR: u32 = 4;
/// Rounds of conservative slow start before it ends.
const CSS_ROUNDS: u32 = 5;

/// State (section 4.2). An unknown delay is [`Duration::MAX`].
#[derive(Clone, Debug)]
pub(crate) struct PlusPlus {
    last_round_min: Duration,
    round_min: Duration,
    samples: u32,
    /// `cssBaselineMinRtt`; unknown outside conservative slow start.
    baseline: Duration,
    /// Rounds of conservative slow start so far.
    rounds: u32,
}

impl Default for PlusPlus {
    fn default() -> Self {
        let unknown = Duration::MAX;
        Self {
            last_round_min: unknown,
            round_min: unknown,
            samples: 0,
            baseline: unknown,
            rounds: 0,
        }
    }
}

impl PlusPlus {
    fn is_conservative(&self) -> bool {
        self.baseline != Duration::MAX
    }

    /// The further course of slow start after this acknowledgement.
    pub(super) fn growth(&mut self, sample: &AckSample) -> Growth {
        if sample.sequence_round_start {
            self.last_round_min = self.round_min;
            self.round_min = Duration::MAX;
            self.samples = 0;
            if self.is_conservative() {
                self.rounds += 1;
                if self.rounds >= CSS_ROUNDS {
                    return Growth::Over;
                }
            }
        }
        if let Some(rtt) = sample.rtt {
            self.round_min = self.round_min.min(rtt);
            self.samples += 1;
            self.judge();
        }
        if self.is_conservative() { Growth::Divided(CSS_GROWTH_DIVISOR) } else { Growth::Full }
    }

    fn judge(&mut self) {
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        if self.is_conservative() {
            if self.round_min < self.baseline {
                self.baseline = Duration::MAX;
            }
        } else if self.last_round_min != Duration::MAX {
            let eighth = Duration::from_nanos(self.last_round_min.as_nanos() / MIN_RTT_DIVISOR);
            if self.round_min >= self.last_round_min + eighth.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
            {
                self.baseline = self.round_min;
                self.rounds = 0;
            }
        }
    }
}
