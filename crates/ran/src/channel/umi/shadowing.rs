//! Shadow fading: a random field over the ground, so that one place has the same shadow at all
//! times and for any order of queries.
//!
//! Source: the field is normally distributed in dB, with the autocorrelation `exp(-d / D)` over a
//! distance `d`, by TR 38.901 section 7.4.4 (Gudmundson 1991). It is a sum of plane waves (Cai and
//! Giannakis 2003, "A two-dimensional channel simulation model for shadowing processes"): a wave's
//! number `k` has the distribution function `1 - 1 / sqrt(1 + (k D)^2)`, which is the field's
//! spectrum in the plane; its direction and phase are uniform. The distribution of `k` is divided
//! into equal parts, one for each wave, and each part gives one `k`. Over seeds, mean, variance and
//! autocorrelation are exact, and the sum of [`WAVES`] is normal except for its tails (its excess
//! kurtosis is -1.5 / 64).

use super::scene::Ground;
use core::f64::consts::TAU;
use justfull_base::Rng;

/// Plane waves of a field.
const WAVES: usize = 64;

/// A plane wave: radians per m along x and y, and its phase.
type Wave = [f64; 3];

/// A field of shadows.
#[derive(Debug)]
pub(super) struct Shadows {
    waves: [Wave; WAVES],
    amplitude: f64,
}

impl Shadows {
    /// The field for `key`, with standard deviation `deviation` in dB and correlation distance
    /// `correlation` in m.
    pub(super) fn new(key: u64, deviation: f64, correlation: f64) -> Self {
        let mut rng = Rng::from_key(key);
        let waves = core::array::from_fn(|n| {
            let above = 1.0 - (n as f64 + rng.unit()) / WAVES as f64;
            let number = libm::sqrt(1.0 / (above * above) - 1.0) / correlation;
            let (direction, phase) = (TAU * rng.unit(), TAU * rng.unit());
            [number * libm::cos(direction), number * libm::sin(direction), phase]
        });
        Self { waves, amplitude: deviation * libm::sqrt(2.0 / WAVES as f64) }
    }

    /// The shadow at `position` in dB; above 0 is a loss.
    pub(super) fn at(&self, position: Ground) -> f64 {
        let [x, y] = position;
        let sum: f64 =
            self.waves.iter().map(|[kx, ky, phase]| libm::cos(kx * x + ky * y + phase)).sum();
        self.amplitude * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use justfull_base::rng::mix;

    /// Shadows of many seeds, `apart` m from each other along a slanted line.
    fn pairs(correlation: f64, apart: f64) -> Vec<[f64; 2]> {
        let field = |key| {
            let field = Shadows::new(mix(key), 4.0, correlation);
            let (x, y) = (70.0 + key as f64, -20.0);
            [field.at([x, y]), field.at([x + 0.6 * apart, y + 0.8 * apart])]
        };
        (0..20_000).map(field).collect()
    }

    #[test]
    fn variance_and_autocorrelation_equal_the_laws() {
        for correlation in [7.0, 10.0, 13.0] {
            for apart in [0.5, 2.0, 10.0, 30.0] {
                let pairs = pairs(correlation, apart);
                let n = pairs.len() as f64;
                let mean = pairs.iter().map(|p| p[0]).sum::<f64>() / n;
                let variance = pairs.iter().map(|p| p[0] * p[0]).sum::<f64>() / n;
                let together = pairs.iter().map(|p| p[0] * p[1]).sum::<f64>() / n;
                let want = libm::exp(-apart / correlation);
                assert!(mean.abs() < 0.1, "mean {mean}");
                assert!((variance / 16.0 - 1.0).abs() < 0.03, "variance {variance}");
                let got = together / variance;
                assert!((got - want).abs() < 0.025, "{apart} m of {correlation}: {got}, {want}");
            }
        }
    }

    #[test]
    fn the_law_is_normal() {
        let values: Vec<f64> = pairs(10.0, 1.0).iter().map(|p| p[0] / 4.0).collect();
        let share = |sigmas: f64| {
            values.iter().filter(|v| **v > sigmas).count() as f64 / values.len() as f64
        };
        for (sigmas, want) in [(-1.0, 0.8413), (0.0, 0.5), (1.0, 0.1587), (2.0, 0.02275)] {
            assert!((share(sigmas) - want).abs() < 0.01, "{sigmas}: {}", share(sigmas));
        }
    }

    #[test]
    fn one_place_has_one_shadow_and_another_seed_another() {
        let field = Shadows::new(5, 7.82, 13.0);
        let forth: Vec<f64> = (0..100).map(|m| field.at([f64::from(m), 3.0])).collect();
        let back: Vec<f64> = (0..100).rev().map(|m| field.at([f64::from(m), 3.0])).collect();
        assert!(forth.iter().eq(back.iter().rev()));
        let other = Shadows::new(6, 7.82, 13.0).at([0.0, 3.0]);
        assert!((forth[0] - other).abs() > 1e-3, "{other}");
    }
}
