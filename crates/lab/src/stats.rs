//! Statistics over seeds: means with Student's t intervals, paired differences, pooled
//! distributions.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Arithmetic mean; none without values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation of a sample (divisor n - 1); none for fewer than two values.
#[must_use]
pub fn sd(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// Least number of values for an interval: the interval of two values has twelve standard errors
/// and says nothing.
pub const LEAST_FOR_INTERVAL: usize = 3;

/// Half width of the two-sided 95 % confidence interval of the mean, by Student's t with n - 1
/// degrees of freedom. None below [`LEAST_FOR_INTERVAL`] values.
#[must_use]
pub fn ci95_half_width(values: &[f64]) -> Option<f64> {
    let spread = sd(values).filter(|_| values.len() >= LEAST_FOR_INTERVAL)?;
    let n = values.len() as f64;
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.975);
    Some(t * spread / n.sqrt())
}

/// Mean of independent runs and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half width of the 95 % confidence interval; none below [`LEAST_FOR_INTERVAL`] values.
    pub ci95: Option<f64>,
    /// Number of values.
    pub n: usize,
    /// Least value.
    pub min: f64,
    /// Greatest value: with [`Self::min`], all values of a summary of two.
    pub max: f64,
}

impl Summary {
    /// The summary of `values`; none without values.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let (min, max) =
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| {
                (least.min(*v), most.max(*v))
            });
        Some(Self { mean: mean(values)?, ci95: ci95_half_width(values), n: values.len(), min, max })
    }

    /// Lower end of the interval (the mean itself without one).
    #[must_use]
    pub fn low(&self) -> f64 {
        self.mean - self.ci95.unwrap_or(0.0)
    }

    /// Upper end of the interval (the mean itself without one).
    #[must_use]
    pub fn high(&self) -> f64 {
        self.mean + self.ci95.unwrap_or(0.0)
    }

    /// True if the whole interval lies below `value`. Without an interval nothing is proved.
    #[must_use]
    pub fn is_below(&self, value: f64) -> bool {
        self.ci95.is_some() && self.high() < value
    }

    /// True if the whole interval lies above `value`. Without an interval nothing is proved.
    #[must_use]
    pub fn is_above(&self, value: f64) -> bool {
        self.ci95.is_some() && self.low() > value
    }
}

/// `a - b` over the seeds that both have, each value given as (seed, value); none if they share no
/// seed.
///
/// Runs of one seed see the same channel and the same arrivals, so their difference varies far less
/// than either value.
#[must_use]
pub fn paired_difference(a: &[(u64, f64)], b: &[(u64, f64)]) -> Option<Summary> {
    let right: BTreeMap<u64, f64> = b.iter().copied().collect();
    let differences: Vec<f64> =
        a.iter().filter_map(|(seed, value)| right.get(seed).map(|other| value - other)).collect();
    Summary::of(&differences)
}

/// The mean of `a` minus the mean of `b`, for independent samples: Welch's interval, whose degrees
/// of freedom follow from both spreads (Welch 1947). None if either has no values; without an
/// interval below [`LEAST_FOR_INTERVAL`] values of either. `n` is the smaller number of values;
/// `min` and `max` are the mean.
#[must_use]
pub fn unpaired_difference(a: &[f64], b: &[f64]) -> Option<Summary> {
    let difference = mean(a)? - mean(b)?;
    let n = a.len().min(b.len());
    let interval = || {
        if n < LEAST_FOR_INTERVAL {
            return None;
        }
        let of = |values: &[f64]| Some((sd(values)?.powi(2) / values.len() as f64, values.len()));
        let ((va, na), (vb, nb)) = (of(a)?, of(b)?);
        let sum = va + vb;
        if sum <= 0.0 {
            return Some(0.0);
        }
        let part = |v: f64, n: usize| v * v / (n as f64 - 1.0);
        let freedom = sum * sum / (part(va, na) + part(vb, nb));
        Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975) * sum.sqrt())
    };
    Some(Summary { mean: difference, ci95: interval(), n, min: difference, max: difference })
}

/// Jain's index of fairness (Jain, Chiu, Hawe 1984): 1 if all values are equal, 1/n if one has the
/// whole sum; none without values or if all are 0.
#[must_use]
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|v| v * v).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Share of values at or below `x`, linear between the points (x, share) of a distribution, 0
/// before its first.
#[must_use]
pub fn cdf_share(cdf: &[(f64, f64)], x: f64) -> f64 {
    let after = cdf.partition_point(|point| point.0 <= x);
    match (after.checked_sub(1).map(|i| cdf[i]), cdf.get(after)) {
        (None, _) => 0.0,
        (Some((_, share)), None) => share,
        (Some((x0, s0)), Some(&(x1, s1))) => s0 + (s1 - s0) * (x - x0) / (x1 - x0),
    }
}

/// Least x whose share reaches `p`, linear between the points (x, share); none for an empty
/// distribution.
#[must_use]
pub fn cdf_quantile(cdf: &[(f64, f64)], p: f64) -> Option<f64> {
    let at = cdf.partition_point(|point| point.1 < p).min(cdf.len().checked_sub(1)?);
    let (x1, s1) = cdf[at];
    match at.checked_sub(1).map(|i| cdf[i]) {
        Some((x0, s0)) if s1 > s0 => Some(x0 + (x1 - x0) * ((p - s0) / (s1 - s0)).min(1.0)),
        _ => Some(x1),
    }
}

/// Times of a [`Pool`] per decade; neighbours are 0.58 % apart.
const PER_DECADE: i32 = 400;
/// The decades of a [`Pool`]; values outside count at the nearest end.
const DECADES: std::ops::RangeInclusive<i32> = -6..=9;

/// The times of a [`Pool`].
static TIMES: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let steps = DECADES.start() * PER_DECADE..=DECADES.end() * PER_DECADE;
    steps.map(|step| 10_f64.powf(f64::from(step) / f64::from(PER_DECADE))).collect()
});

/// One distribution from many, each weighted by its number of values. It keeps shares at 400 times
/// a decade and no values: 48 kB for any number of values.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// Values between each of [`TIMES`] and the one before; empty without values.
    between: Vec<f64>,
    values: f64,
    greatest: f64,
}

impl Pool {
    /// Adds the distribution `cdf`, points of a value and the share at or below it, of `count`
    /// values.
    pub fn add(&mut self, count: u64, cdf: &[(f64, f64)]) {
        let (Some(first), Some(last)) = (cdf.first(), cdf.last()) else { return };
        if count == 0 {
            return;
        }
        self.between.resize(TIMES.len(), 0.0);
        let weight = count as f64;
        let (mut before, mut point) = (0.0, 0);
        for at in TIMES.partition_point(|time| *time < first.0)..TIMES.len() {
            let time = TIMES[at];
            while cdf.get(point + 1).is_some_and(|next| next.0 <= time) {
                point += 1;
            }
            let is_last = time >= last.0 || at + 1 == TIMES.len();
            let share = if is_last { last.1 } else { cdf_share(&cdf[point..point + 2], time) };
            self.between[at] += weight * (share - before);
            before = share;
            if is_last {
                break;
            }
        }
        // The last cell takes all values beyond the last time.
        self.between[TIMES.len() - 1] += weight * (last.1 - before);
        self.values += weight;
        self.greatest = self.greatest.max(last.0);
    }

    /// The pooled distribution, at no more than about `most` points (at least 2).
    #[must_use]
    pub fn cdf(&self, most: usize) -> Vec<(f64, f64)> {
        let mut below = 0.0;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (time, count) in TIMES.iter().zip(&self.between).filter(|(_, count)| **count > 0.0) {
            below += count;
            points.push((time.min(self.greatest), below / self.values));
        }
        let step = points.len().div_ceil(most.max(2)).max(1);
        let end = points.len().saturating_sub(1);
        let kept = points.iter().enumerate().filter(|(i, _)| i.is_multiple_of(step) || *i == end);
        let mut kept: Vec<(f64, f64)> = kept.map(|(_, point)| *point).collect();
        if let Some(last) = kept.last_mut() {
            last.0 = self.greatest;
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    /// Two samples with t = -2.8353 at 27.714 degrees of freedom, whose quantile is 2.0494.
    #[test]
    fn the_interval_of_two_independent_means_is_welchs() {
        let a = [
            27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
            21.4,
        ];
        let b = [
            27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.0,
            23.9,
        ];
        let found = unpaired_difference(&a, &b).expect("both have values");
        assert!((found.mean + 2.766_67).abs() < 1e-4, "{found:?}");
        assert!((found.low() + 4.766_5).abs() < 1e-3, "{found:?}");
        assert_eq!(unpaired_difference(&a, &b[..2]).and_then(|s| s.ci95), None);
        assert_eq!(unpaired_difference(&a, &[]), None);
    }

    #[test]
    fn the_interval_of_five_values_follows_the_t_table() {
        // sd = 1.5811, t(0.975; 4) = 2.776445.
        let s = Summary::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("there are values");
        assert!(near(s.mean, 3.0));
        assert!(near(s.ci95.expect("five runs"), 2.776_445_105 * 1.581_138_830 / 5.0_f64.sqrt()));
        // t(0.975; 2) = 4.302653 for three values, whose sd is 1.
        assert!(near(
            ci95_half_width(&[1.0, 2.0, 3.0]).expect("three"),
            4.302_652_730 / 3.0_f64.sqrt()
        ));
        assert_eq!((s.min, s.max, s.n), (1.0, 5.0, 5));
    }

    /// With two values, Student's interval is twelve standard errors wide.
    #[test]
    fn two_values_have_no_interval_and_prove_no_order() {
        let s = Summary::of(&[2.0, 1.0]).expect("two values");
        assert_eq!((s.ci95, s.n, s.min, s.max), (None, 2, 1.0, 2.0));
        assert!(!s.is_below(9.0) && !s.is_above(0.0));
    }

    #[test]
    fn one_run_has_a_mean_but_no_interval_and_proves_no_order() {
        let s = Summary::of(&[7.0]).expect("one value");
        assert_eq!((s.ci95, s.n), (None, 1));
        assert!(!s.is_below(8.0) && !s.is_above(6.0));
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn pairs_are_made_by_seed_and_cancel_what_the_seeds_share() {
        let a = [(1, 10.0), (2, 20.1), (3, 29.9), (9, 500.0)];
        let b = [(3, 28.9), (1, 9.1), (2, 19.0)];
        let d = paired_difference(&a, &b).expect("three seeds are shared");
        assert_eq!(d.n, 3);
        assert!(near(d.mean, 1.0));
        assert!(d.is_above(0.0), "{d:?}");
        assert_eq!(paired_difference(&a, &[(4, 1.0)]), None);
    }

    #[test]
    fn jains_index_is_one_for_equals_and_one_over_n_for_a_sole_winner() {
        assert!(near(jain(&[3.0, 3.0, 3.0]).expect("values"), 1.0));
        assert!(near(jain(&[5.0, 0.0, 0.0, 0.0]).expect("values"), 0.25));
        // (1 + 3)^2 / (2 (1 + 9)).
        assert!(near(jain(&[1.0, 3.0]).expect("values"), 0.8));
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    #[test]
    fn share_and_quantile_of_a_distribution_invert_each_other() {
        let cdf = [(1.0, 0.1), (2.0, 0.5), (4.0, 1.0)];
        assert!(near(cdf_share(&cdf, 0.5), 0.0));
        assert!(near(cdf_share(&cdf, 3.0), 0.75));
        assert!(near(cdf_share(&cdf, 9.0), 1.0));
        for p in [0.2, 0.5, 0.9, 1.0] {
            assert!(near(cdf_share(&cdf, cdf_quantile(&cdf, p).expect("points")), p));
        }
        assert!(near(cdf_quantile(&cdf, 0.0).expect("points"), 1.0));
        assert_eq!(cdf_quantile(&[], 0.5), None);
    }

    fn pooled(parts: &[(u64, &[(f64, f64)])], most: usize) -> Vec<(f64, f64)> {
        let mut pool = Pool::default();
        parts.iter().for_each(|(count, cdf)| pool.add(*count, cdf));
        pool.cdf(most)
    }

    #[test]
    fn pooling_weighs_by_the_number_of_values_and_keeps_the_ends() {
        let (a, b) = ([(0.0, 0.5), (1.0, 1.0)], [(10.0, 0.5), (11.0, 1.0)]);
        let both = pooled(&[(300, &a), (100, &b), (0, &a)], usize::MAX);
        assert!(near(cdf_share(&both, 0.5), 0.75 * 0.75));
        assert!(near(cdf_share(&both, 5.0), 0.75 + 0.125 * 4.0 / 9.0));
        assert!(near(cdf_share(&both, 11.0), 1.0));
        let many: Vec<(f64, f64)> =
            (1..=1000).map(|i| (f64::from(i), f64::from(i) / 1000.0)).collect();
        let thin = pooled(&[(1, &many)], 100);
        assert!(thin.len() <= 102, "{}", thin.len());
        assert_eq!(thin.last().map(|point| point.0), Some(1000.0));
        assert!(pooled(&[], 10).is_empty() && pooled(&[(0, &many), (1, &[])], 10).is_empty());
    }

    #[test]
    fn a_pool_is_within_a_step_of_what_it_pools_and_takes_any_value() {
        let curve = |by: f64| -> Vec<(f64, f64)> {
            (1..=200).map(|i| (by * f64::from(i * i), f64::from(i) / 200.0)).collect()
        };
        let (a, b) = (curve(0.01), curve(0.02));
        let both = pooled(&[(2, &a), (1, &b)], usize::MAX);
        for p in [0.01, 0.1, 0.5, 0.9, 0.99, 1.0] {
            let x = cdf_quantile(&both, p).expect("points");
            let share = |by: f64| (2.0 * cdf_share(&a, by * x) + cdf_share(&b, by * x)) / 3.0;
            assert!(share(0.994) <= p + 1e-9 && p <= share(1.006) + 1e-9, "{p} at {x}");
        }
        let far = pooled(&[(1, &[(0.0, 0.5), (1e12, 1.0)]), (1, &[(2e12, 1.0)])], usize::MAX);
        assert!(near(far[0].1, 0.25) && far[far.len() - 1] == (2e12, 1.0), "{far:?}");
    }
}
