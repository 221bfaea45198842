//! Duration of the loop's turns.

use justfull_base::{Duration, Instant};

/// Length of a part of the record.
const PART: Duration = Duration::from_secs(10);

/// The longest turn of the present part and of the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    longest: [Duration; 2],
    since: Instant,
}

impl Turns {
    /// A turn of this length has ended.
    pub(crate) fn took(&mut self, now: Instant, turn: Duration) {
        let passed = now.since(self.since);
        if passed >= PART {
            let before = if passed < PART + PART { self.longest[0] } else { Duration::ZERO };
            (self.longest, self.since) = ([Duration::ZERO, before], now);
        }
        self.longest[0] = self.longest[0].max(turn);
    }

    /// The longest turn within the last 10 to 20 s.
    pub(crate) fn longest(&self, now: Instant) -> Duration {
        let passed = now.since(self.since);
        let [present, before] = self.longest;
        if passed < PART {
            present.max(before)
        } else if passed < PART + PART {
            present
        } else {
            Duration::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_turn_is_shown_for_ten_seconds_at_least_and_then_forgotten() {
        let (s, ms) = (|n| Instant::ZERO + Duration::from_secs(n), Duration::from_millis);
        let mut turns = Turns::default();
        turns.took(s(9), ms(80));
        for at in 10..19 {
            turns.took(s(at), ms(1));
            assert_eq!(turns.longest(s(at)), ms(80), "{at}");
        }
        turns.took(s(20), ms(2));
        assert_eq!(turns.longest(s(20)), ms(2));
        assert_eq!(turns.longest(s(45)), Duration::ZERO);
    }
}
