//! A sliding-window maximum in constant space (Nichols; the draft's section 4.1.1.3). Keeps the
//! best three samples with their times, so that the next is at hand when the best expires.

/// A sample and the round it belongs to.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    round: u64,
    value: u64,
}

/// `best[0]` is the maximum; the others are the best of the later parts of the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowedMax {
    best: [Sample; 3],
}

impl WindowedMax {
    /// The maximum, 0 before the first sample.
    pub(crate) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Adds `value` of `round`; samples more than `window` rounds old expire.
    pub(crate) fn update(&mut self, window: u64, round: u64, value: u64) {
        let new = Sample { round, value };
        let best = &mut self.best;
        if value < best[2].value && round - best[0].round <= window / 4 {
            return;
        }
        if value >= best[0].value || round - best[2].round > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].value {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].value {
            best[2] = new;
        }
        let age = round - best[0].round;
        if age > window {
            *best = [best[1], best[2], new];
            if round - best[0].round > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].round == best[0].round && age > window / 4 {
            // A quarter of the window has passed without a second best: take it from the second
            // quarter.
            best[1] = new;
            best[2] = new;
        } else if best[2].round == best[1].round && age > window / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Rng;
    use std::vec::Vec;

    #[test]
    fn the_filter_lies_between_the_best_of_the_last_quarter_and_of_the_window() {
        let mut rng = Rng::stream(3, "filter");
        let mut filter = WindowedMax::default();
        let mut all: Vec<(u64, u64)> = Vec::new();
        for round in 0..5000 {
            let value = 1000 + rng.below(100) + if rng.chance(0.05) { rng.below(1000) } else { 0 };
            all.push((round, value));
            filter.update(10, round, value);
            let best = |age: u64| all.iter().filter(|s| s.0 + age >= round).map(|s| s.1).max();
            assert!(Some(filter.get()) <= best(10));
            assert!(Some(filter.get()) >= best(2));
        }
    }

    #[test]
    fn a_peak_is_forgotten_after_the_window() {
        let mut filter = WindowedMax::default();
        filter.update(10, 0, 100);
        for round in 1..=10 {
            filter.update(10, round, 50);
            assert_eq!(filter.get(), 100);
        }
        filter.update(10, 11, 50);
        assert_eq!(filter.get(), 50);
    }

    /// `minmax_running_max` of Linux (lib/win_minmax.c), on its three samples of (t, v).
    fn linux(s: &mut [(u64, u64); 3], win: u64, t: u64, v: u64) {
        let val = (t, v);
        if v >= s[0].1 || t - s[2].0 > win {
            *s = [val; 3];
            return;
        }
        if v >= s[1].1 {
            (s[2], s[1]) = (val, val);
        } else if v >= s[2].1 {
            s[2] = val;
        }
        let dt = t - s[0].0;
        if dt > win {
            *s = [s[1], s[2], val];
            if t - s[0].0 > win {
                *s = [s[1], s[2], val];
            }
        } else if s[1].0 == s[0].0 && dt > win / 4 {
            (s[2], s[1]) = (val, val);
        } else if s[2].0 == s[1].0 && dt > win / 2 {
            s[2] = val;
        }
    }

    #[test]
    fn the_filter_equals_linuxs() {
        let mut rng = Rng::stream(7, "filter");
        for window in [1, 2, 4, 10, 16] {
            let (mut filter, mut expected) = (WindowedMax::default(), [(0, 0); 3]);
            let mut round = 0;
            for _ in 0..4000 {
                round += rng.below(4) * if rng.chance(0.02) { window } else { 1 };
                let value = rng.below(12);
                filter.update(window, round, value);
                linux(&mut expected, window, round, value);
                assert_eq!(filter.best.map(|sample| (sample.round, sample.value)), expected);
                assert_eq!(filter.get(), expected[0].1);
            }
        }
    }
}
