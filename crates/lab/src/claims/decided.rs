//! Decides whether the seeds leave a verdict open: they do if a 95 % interval crosses an edge of
//! the band.

use super::{Claim, Kind};
use crate::model::summary::Metric;
use crate::stats::Summary;

/// True if the intervals of `ours` leave both verdicts of `claim` possible: no interval lies
/// entirely outside the band, and at least one crosses an edge. A value without an interval decides
/// nothing.
pub(super) fn is_open(claim: &Claim, ours: &[Summary]) -> bool {
    let Some([low, high]) = claim.band else { return false };
    let (least, greatest) = bounds(claim);
    let outside = |s: &Summary| s.ci95.is_some() && (s.high() < low || s.low() > high);
    // No value lies beyond a bound of the quantity, so an interval beyond it crosses no edge.
    let crosses = |s: &Summary| {
        let crosses_low = low > least && s.low() < low && s.high() > low;
        let crosses_high = high < greatest && s.low() < high && s.high() > high;
        s.ci95.is_none() || crosses_low || crosses_high
    };
    !ours.iter().any(outside) && ours.iter().any(crosses)
}

/// True if not all of the differences are below 0, as they must be, and none is at least 0 with its
/// whole interval.
pub(super) fn is_open_sign(differences: &[Summary]) -> bool {
    let below = differences.iter().all(|s| s.is_below(0.0));
    let refuted = |s: &Summary| s.ci95.is_some() && s.low() >= 0.0;
    !below && !differences.iter().any(refuted)
}

/// The least and the greatest possible value of `claim`.
fn bounds(claim: &Claim) -> (f64, f64) {
    use Metric::{
        Awake, Drops, DropsOfAll, Jain, JainInFlight, JainTogether, Late, QuantumMedian, Unused,
        Utilisation, Within1, Within2, Within3, Within4, Within50,
    };
    match (claim.kind, claim.metric) {
        (Kind::Range, Utilisation | Jain | JainTogether | JainInFlight) => (0.0, 1.0),
        (
            Kind::Range,
            Awake | Drops | DropsOfAll | Late | Unused | Within1 | Within2 | Within3 | Within4
            | Within50,
        ) => (0.0, 100.0),
        (Kind::Range, QuantumMedian) | (Kind::Change, _) => (f64::NEG_INFINITY, f64::INFINITY),
        _ => (0.0, f64::INFINITY),
    }
}
