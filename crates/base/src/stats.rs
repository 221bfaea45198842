//! Statistics used by more than one crate.

/// Quantile `p` of `sorted` (ascending) values, linear between order statistics (type 7 of Hyndman
/// and Fan 1996, the default of R and NumPy). None without values or when `p` is outside 0 to 1.
#[must_use]
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let position = p * last as f64;
    let below = position as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (position - below as f64) * (sorted[above] - sorted[below]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn quantiles_equal_numpys() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert!(near(quantile(&values, 0.25).expect("values"), 1.75));
        assert!(near(quantile(&values, 0.5).expect("values"), 3.0));
        assert!(near(quantile(&values, 1.0).expect("values"), 8.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&values, 1.5), None);
    }
}
