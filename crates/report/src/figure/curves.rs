//! Named curves with intervals on one pair of axes.

use super::Figure;
use super::axis::Axis;
use super::page::Page;
use super::palette::{Look, Palette, on_paper};
use super::panel::{Glyph, LINE, Panel, WIDTH, legend_height, picture};
use super::paper::Paper;
use crate::ReportError;
use justfull_lab::stats::Summary;

const HEIGHT: i32 = 720;
/// Least share of a logarithmic tail.
pub(crate) const LEAST_SHARE: f64 = 1e-4;

/// A line or a mark, its name and its points with the intervals of both values.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) method: String,
    /// Points, each with its horizontal and its vertical value.
    pub(crate) points: Vec<[Span; 2]>,
}

/// A value and its interval.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) mid: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Span {
    pub(crate) const fn exact(mid: f64) -> Self {
        Self { mid, low: mid, high: mid }
    }

    pub(crate) fn of(values: &[(u64, f64)]) -> Option<Self> {
        let summary = Summary::of(&values.iter().map(|v| v.1).collect::<Vec<f64>>())?;
        Some(Self { mid: summary.mean, low: summary.low(), high: summary.high() })
    }
}

/// The style of a curve.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// Marks with intervals, joined.
    Joined,
    /// Marks with intervals.
    Marks,
    /// Lines.
    Lines,
}

/// The range of an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    /// Around the values.
    Around,
    /// Around times; times below 0.1 ms count as 0.1 ms.
    Times,
    /// From zero if the values are of one order of magnitude, else logarithmic.
    Amounts,
    /// 0 to 1.
    Shares,
    /// The logarithmic tail of shares.
    Tail,
}

/// The label of an axis and its range.
pub(crate) struct Side<'a> {
    pub(crate) label: &'a str,
    pub(crate) range: Range,
}

impl Side<'_> {
    /// The axis for the values of `curves` at this index of their points. An interval reaches down
    /// to half its mean at most, so that one wide interval does not squeeze the rest.
    fn axis(&self, curves: &[Curve], index: usize) -> Axis {
        let ends = |point: &[Span; 2]| {
            let Span { mid, low, high } = point[index];
            [if mid > 0.0 { low.max(0.5 * mid) } else { low }, high]
        };
        let points = curves.iter().flat_map(|curve| &curve.points);
        let values: Vec<f64> = points.flat_map(ends).filter(|value| !value.is_nan()).collect();
        match self.range {
            Range::Around => Axis::around(self.label, values),
            Range::Times => Axis::around_from(self.label, 0.1, &values),
            Range::Amounts => amounts(self.label, values),
            Range::Shares => Axis::linear(self.label, 0.0, 1.0),
            Range::Tail => Axis::logarithmic(self.label, LEAST_SHARE, 1.0),
        }
    }
}

/// The texts and axes of a figure of curves.
pub(crate) struct Chart<'a> {
    pub(crate) title: String,
    pub(crate) caption: &'a str,
    pub(crate) x: Side<'a>,
    pub(crate) y: Side<'a>,
    pub(crate) stroke: Stroke,
    pub(crate) palette: &'a Palette,
}

/// The figure of `curves`.
pub(crate) fn curves(chart: Chart<'_>, curves: &[Curve]) -> Figure {
    let (x, y) = (chart.x.axis(curves, 0), chart.y.axis(curves, 1));
    let looks = looks(curves, chart.palette);
    let entries = entries(chart.stroke, curves, &looks);
    let head = legend_height(&entries) + LINE / 2;
    let picture = picture(head + HEIGHT, |sheet| {
        sheet.legend(6, &entries);
        let panel = Panel::new(sheet, (0, head), (WIDTH, HEIGHT), "", x, y);
        draw(&panel, chart.stroke, curves, &looks);
    });
    Figure::new("chosen".into(), chart.title, chart.caption.into(), &picture)
}

/// The figure of `curves` for a paper: each curve differs from the others without its colour.
///
/// # Errors
/// The figure does not fit `page`.
pub(crate) fn curves_on(
    page: &Page,
    chart: Chart<'_>,
    curves: &[Curve],
) -> Result<Figure, ReportError> {
    let names = curves.iter().map(|curve| curve.method.as_str());
    let looks = on_paper(&names.zip(looks(curves, chart.palette)).collect::<Vec<_>>());
    let is_lines = chart.stroke == Stroke::Lines;
    let paper = Paper {
        page,
        legend: &entries(if is_lines { Stroke::Joined } else { chart.stroke }, curves, &looks),
        x: chart.x.axis(curves, 0),
        y: chart.y.axis(curves, 1),
        left: 0,
        height: None,
        figure: Figure::new("chosen".into(), chart.title, chart.caption.into(), ""),
    };
    paper.draw(|panel| {
        draw(panel, chart.stroke, curves, &looks);
        for (i, (curve, look)) in curves.iter().zip(&looks).enumerate().filter(|_| is_lines) {
            for stretch in stretches(curve) {
                panel.marks_along(&stretch, *look, i);
            }
        }
    })
}

/// The entries of the legend.
fn entries(stroke: Stroke, curves: &[Curve], looks: &[Look]) -> Vec<(String, Glyph)> {
    let glyph = |look: Look| match stroke {
        Stroke::Joined => Glyph::LineMark(look),
        Stroke::Marks => Glyph::Mark(look),
        Stroke::Lines => Glyph::Stroke(look),
    };
    curves.iter().zip(looks).map(|(curve, look)| (curve.name.clone(), glyph(*look))).collect()
}

/// The points of `curve`, cut at points without a value.
fn stretches(curve: &Curve) -> Vec<Vec<(f64, f64)>> {
    let cut = |[_, y]: &[Span; 2]| y.mid.is_nan();
    let mids = |stretch: &[[Span; 2]]| stretch.iter().map(|[x, y]| (x.mid, y.mid)).collect();
    curve.points.split(cut).filter(|stretch| !stretch.is_empty()).map(mids).collect()
}

fn draw(panel: &Panel<'_, '_>, stroke: Stroke, curves: &[Curve], looks: &[Look]) {
    for (curve, look) in curves.iter().zip(looks) {
        for stretch in stretches(curve).iter().filter(|_| stroke != Stroke::Marks) {
            match stretch.as_slice() {
                [(x, y)] if stroke == Stroke::Lines => panel.mark(*x, *y, *look, 4),
                _ => panel.stroke(stretch, *look, 4),
            }
        }
        if stroke == Stroke::Lines {
            continue;
        }
        for [x, y] in &curve.points {
            panel.line(&[(x.low, y.mid), (x.high, y.mid)], look.colour, 3);
            panel.line(&[(x.mid, y.low), (x.mid, y.high)], look.colour, 3);
            panel.mark(x.mid, y.mid, *look, 11);
        }
    }
}

/// From zero if the values are of one order of magnitude, else logarithmic.
fn amounts(label: &str, values: Vec<f64>) -> Axis {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if least < 0.0 || (least > 0.0 && most > 30.0 * least) {
        Axis::around(label, values)
    } else {
        Axis::from_zero(label, values)
    }
}

/// The look of each curve: the look of its method, with other marks and dashes for a method's
/// further curves.
fn looks(curves: &[Curve], palette: &Palette) -> Vec<Look> {
    let before = |i: usize| curves[..i].iter().filter(|c| c.method == curves[i].method).count();
    let look = |(i, curve): (usize, &Curve)| palette.look(&curve.method).series(before(i));
    curves.iter().enumerate().map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_has_its_colour_in_every_curve_and_its_curves_differ() {
        let curve = |method: &str, of: &str| Curve {
            name: format!("{method}, {of}"),
            method: method.into(),
            points: Vec::new(),
        };
        let methods = ["Justfull", "FQ-CoDel", "Vanilla"];
        let curves: Vec<Curve> =
            methods.iter().flat_map(|m| ["call", "bulk", "game"].map(|of| curve(m, of))).collect();
        let palette = Palette::of_methods(methods.map(str::to_owned));
        let looks = looks(&curves, &palette);
        for (i, (a, curve)) in looks.iter().zip(&curves).enumerate() {
            assert_eq!(a.colour, palette.look(&curve.method).colour);
            assert!(looks[..i].iter().all(|b| b != a), "{}", curve.name);
        }
    }
}
