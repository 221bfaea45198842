//! Axes: their range, their ticks, and the position of a value.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use std::ops::Range;

/// Least margin around the values of an axis, as a part of the greatest value: values that differ
/// by a thousandth do not span a figure.
const LEAST_PAD: f64 = 0.02;

/// One axis: its range, linear or logarithmic, and the positions of its labels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) label: String,
    lo: f64,
    /// The greatest value.
    pub(super) hi: f64,
    log: bool,
    ticks: Vec<f64>,
    decimals: usize,
    /// The label is the whole name.
    plain: bool,
}

impl Axis {
    /// A linear axis from 0 to just above the greatest of `values`.
    pub(super) fn from_zero(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let hi = extent(values).map_or(1.0, |(_, hi)| hi);
        Self::linear(label, 0.0, if hi > 0.0 { hi * 1.06 } else { 1.0 })
    }

    /// A linear axis from `lo` to `hi`.
    pub(super) fn linear(label: &str, lo: f64, hi: f64) -> Self {
        let step = nice_step((hi - lo) / 5.0);
        let first = (lo / step - 1e-9).ceil();
        let ticks =
            (0..20).map(|i| (first + f64::from(i)) * step).take_while(|t| *t <= hi + step * 1e-9);
        let decimals = (-(step * 1.000_001).log10().floor()).max(0.0) as usize;
        Self {
            label: label.into(),
            lo,
            hi,
            log: false,
            ticks: ticks.collect(),
            decimals,
            plain: false,
        }
    }

    /// An axis around `values`: logarithmic when they are above 0 and span more than a factor of
    /// 10.
    pub(super) fn around(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        match extent(values) {
            None => Self::linear(label, 0.0, 1.0),
            Some((lo, hi)) if lo > 0.0 && hi > 10.0 * lo => {
                Self::logarithmic(label, lo / 1.25, hi * 1.25)
            }
            Some((lo, hi)) => {
                let most = lo.abs().max(hi.abs());
                let pad = match hi > lo {
                    true => (0.08 * (hi - lo)).max(LEAST_PAD * most),
                    false => 0.1 * most.max(1.0),
                };
                Self::linear(label, lo - pad, hi + pad)
            }
        }
    }

    /// An axis around `values`, none below 0. Like [`Self::around`], but values below `floor` count
    /// as `floor`, so that a zero among large values does not force a linear axis.
    pub(super) fn around_from(label: &str, floor: f64, values: &[f64]) -> Self {
        match extent(values.iter().copied()) {
            Some((lo, hi)) if lo < floor && hi > 10.0 * floor => {
                Self::logarithmic(label, floor / 1.6, hi * 1.25)
            }
            _ => Self::around(label, values.iter().copied()),
        }
    }

    /// A logarithmic axis from `lo` to `hi`, both above 0.
    pub(super) fn logarithmic(label: &str, lo: f64, hi: f64) -> Self {
        let digits: &[f64] = if hi / lo > 1000.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let decades = lo.log10().floor() as i32..=hi.log10().ceil() as i32;
        let all = decades.flat_map(|e| digits.iter().map(move |d| d * 10f64.powi(e)));
        let ticks: Vec<f64> = all.filter(|t| (lo..=hi).contains(t)).collect();
        Self { label: label.into(), lo, hi, log: true, ticks, decimals: 0, plain: false }
    }

    /// Omits labels until they fit an axis of this length, on which each takes `room`: on a
    /// logarithmic axis first those that are no powers of ten.
    pub(super) fn fitted(mut self, length: i32, room: impl Fn(&str) -> i32) -> Self {
        let is_crowded = |axis: &Self| {
            axis.ticks.iter().map(|tick| room(&axis.tick_text(*tick))).sum::<i32>() > length
        };
        let power = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
        if self.log && is_crowded(&self) && self.ticks.iter().filter(|t| power(t)).count() > 1 {
            self.ticks.retain(power);
        }
        while is_crowded(&self) && self.ticks.len() > 2 {
            self.ticks = self.ticks.iter().copied().step_by(2).collect();
        }
        self
    }

    /// Omits labels above `most`, the greatest possible value of the quantity.
    pub(super) fn with_ticks_to(mut self, most: f64) -> Self {
        self.ticks.retain(|t| *t <= most + 1e-9);
        self
    }

    /// The same axis with its label, or another one, as its whole name.
    pub(super) fn labelled(mut self, label: Option<&str>) -> Self {
        self.plain = true;
        label.into_iter().for_each(|label| label.clone_into(&mut self.label));
        self
    }

    /// True if equal distances are equal ratios.
    pub(super) fn is_logarithmic(&self) -> bool {
        self.log
    }

    /// Omits the label text: for panels inside a grid whose neighbours carry it.
    pub(super) fn unlabelled(mut self) -> Self {
        self.label.clear();
        self
    }

    /// The label; it says whether the axis is logarithmic.
    pub(super) fn name(&self) -> String {
        let labelled = self.log && !self.plain && !self.label.is_empty();
        if labelled { format!("{} (log)", self.label) } else { self.label.clone() }
    }

    /// The position of `value` in the coordinate that is linear on the canvas; clamped to the axis.
    fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.lo, self.hi);
        if self.log { value.log10() } else { value }
    }

    /// The tick label of `value`.
    pub(super) fn tick_text(&self, value: f64) -> String {
        let own = (-(value * 1.000_001).log10().floor()).max(0.0) as usize;
        let decimals = if self.log { own } else { self.decimals };
        // Adding 0 turns a negative zero into 0.
        format!("{:.decimals$}", value + 0.0)
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let (lo, hi) = (self.place(self.lo), self.place(self.hi));
        let share = (self.place(*value) - lo) / (hi - lo);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.lo..self.hi
    }
}

/// Least and greatest finite value.
fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| v.is_finite()).fold(None, |range, v| {
        let (lo, hi): (f64, f64) = range.unwrap_or((v, v));
        Some((lo.min(v), hi.max(v)))
    })
}

/// The smallest of 1, 2 and 5 times a power of ten that is not far below `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= rough * 0.7).unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_inside_the_axis() {
        let texts = |axis: &Axis| -> Vec<String> {
            axis.ticks.iter().map(|t| axis.tick_text(*t)).collect()
        };
        assert_eq!(texts(&Axis::linear("", 0.0, 10.6)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(
            texts(&Axis::linear("", 0.9873, 1.0004)),
            ["0.988", "0.990", "0.992", "0.994", "0.996", "0.998", "1.000"]
        );
        assert_eq!(
            texts(&Axis::linear("", -0.2, 0.9)),
            ["-0.2", "0.0", "0.2", "0.4", "0.6", "0.8"]
        );
        assert_eq!(texts(&Axis::around("", [6.1, 81.0])), ["5", "10", "20", "50", "100"]);
        assert_eq!(texts(&Axis::logarithmic("", 0.08, 3.0)), ["0.1", "0.2", "0.5", "1", "2"]);
    }

    #[test]
    fn labels_that_do_not_fit_are_left_out_at_equal_distances() {
        let texts = |axis: &Axis| -> Vec<String> {
            axis.ticks.iter().map(|t| axis.tick_text(*t)).collect()
        };
        let wide = Axis::logarithmic("", 0.08, 900.0);
        assert_eq!(texts(&wide.clone().fitted(13 * 50, |_| 50)), texts(&wide));
        assert_eq!(texts(&wide.clone().fitted(400, |_| 50)), ["0.1", "1", "10", "100"]);
        assert_eq!(texts(&wide.fitted(150, |_| 50)), ["0.1", "10"]);
        let linear = Axis::linear("", 0.0, 10.6);
        assert_eq!(texts(&linear.fitted(200, |_| 50)), ["0", "4", "8"]);
        let narrow = Axis::logarithmic("", 15.0, 60.0);
        assert_eq!(texts(&narrow.fitted(60, |_| 50)), ["20", "50"]);
    }

    #[test]
    fn an_axis_is_logarithmic_only_for_positive_values_that_span_more_than_ten_times() {
        assert!(Axis::around("", [6.0, 80.0]).log);
        assert!(!Axis::around("", [9.0, 80.0]).log);
        assert!(!Axis::around("", [0.0, 80.0]).log);
        assert!(Axis::around_from("", 0.1, &[0.0, 80.0]).log);
        assert!(
            !Axis::around_from("", 0.1, &[0.0, 0.9]).log
                && !Axis::around_from("", 0.1, &[20.0, 80.0]).log
        );
        let close = Axis::around("", [0.9998, 1.0]);
        assert!(close.lo < 0.981 && close.hi > 1.019, "{close:?}");
        assert!(!Axis::around("", [5.0]).log && !Axis::around("", [f64::NAN]).log);
    }
}
