//! Conversions between counts and real numbers, below 2^63. They are signed: unsigned ones take
//! several times the instructions.

use justfull_base::Duration;

/// `count` as a real number.
#[inline(always)]
pub(crate) const fn real(count: u64) -> f64 {
    count.cast_signed() as f64
}

/// The whole part of `x`, which is not negative.
#[inline(always)]
pub(crate) const fn whole(x: f64) -> u64 {
    (x as i64).cast_unsigned()
}

/// `x`, which is not negative, rounded down.
#[inline(always)]
pub(crate) const fn floor(x: f64) -> f64 {
    real(whole(x))
}

/// `x`, which is not negative, rounded up.
#[inline(always)]
pub(crate) const fn ceil(x: f64) -> f64 {
    let below = floor(x);
    if below < x { below + 1.0 } else { below }
}

/// The larger of two numbers, neither of which is NaN; `f64::max` takes several times the
/// instructions.
#[inline(always)]
pub(crate) const fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// `duration` in seconds.
#[inline(always)]
pub(crate) const fn seconds(duration: Duration) -> f64 {
    real(duration.as_nanos()) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Rng;

    #[test]
    fn below_2_63_the_conversions_equal_the_unsigned_ones() {
        let mut rng = Rng::stream(1, "numbers");
        for _ in 0..100_000 {
            let count = rng.below(1 << 63) >> rng.below(63);
            let x = count as f64 / (1 + rng.below(1000)) as f64;
            assert_eq!(real(count).to_bits(), (count as f64).to_bits());
            assert_eq!(whole(x), x as u64);
            assert_eq!((floor(x), ceil(x)), (libm::floor(x), libm::ceil(x)));
            let duration = Duration::from_nanos(count);
            assert_eq!(seconds(duration).to_bits(), duration.as_secs_f64().to_bits());
        }
        assert_eq!((larger(1.0, 2.0), larger(2.0, 1.0), larger(1.0, 1.0)), (2.0, 2.0, 1.0));
        assert_eq!((floor(3.0), ceil(3.0), floor(0.0), ceil(0.0)), (3.0, 3.0, 0.0, 0.0));
    }
}
