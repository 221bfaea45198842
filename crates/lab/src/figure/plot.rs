//! Curves and points over axes of any quantity: the figures of the validation pages.

use super::Figure;
use super::palette;
use super::panel::{Axis, BOUND, Glyph, LINE, Panel, WIDTH, cell, count, legend_height, picture};

/// Most points of one line; longer ones are thinned.
const MOST_POINTS: usize = 500;

/// How the values of an axis are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear, from 0 to above the greatest value.
    FromZero,
    /// Linear, from the least to the greatest value.
    Linear,
    /// Logarithmic; values at or below 0 are not shown.
    Logarithmic,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// A coloured line: what was measured over time.
    Line,
    /// A coloured mark at each point: single measurements.
    Marks,
    /// A grey line: what is published.
    Published,
}

/// One quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend; curves of one name look alike.
    pub name: String,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Its points, in order.
    pub points: Vec<(f64, f64)>,
}

/// A frame with its axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Above the frame.
    pub title: String,
    /// Label and spread of the x axis.
    pub x: (String, Scale),
    /// Label and spread of the y axis.
    pub y: (String, Scale),
    /// What it shows.
    pub curves: Vec<Curve>,
}

impl Curve {
    /// A curve called `name`.
    #[must_use]
    pub fn new(name: &str, stroke: Stroke, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), stroke, points }
    }
}

impl Frame {
    /// An empty frame.
    #[must_use]
    pub fn new(title: &str, x: (&str, Scale), y: (&str, Scale)) -> Self {
        Self { title: title.into(), x: (x.0.into(), x.1), y: (y.0.into(), y.1), curves: Vec::new() }
    }

    /// The frame with one curve more.
    #[must_use]
    pub fn with(mut self, curve: Curve) -> Self {
        self.curves.push(curve);
        self
    }

    fn axis(&self, (label, scale): &(String, Scale), value: fn(&(f64, f64)) -> f64) -> Axis {
        let values = self.curves.iter().flat_map(|curve| &curve.points).map(value);
        let values: Vec<f64> =
            values.filter(|v| v.is_finite() && (*scale != Scale::Logarithmic || *v > 0.0)).collect();
        let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match scale {
            _ if lo >= hi => Axis::from_zero(label, values),
            Scale::FromZero => Axis::from_zero(label, values),
            Scale::Linear => Axis::linear(label, lo, hi),
            Scale::Logarithmic => Axis::logarithmic(label, lo / 1.25, hi * 1.25),
        }
    }
}

/// At most [`MOST_POINTS`] of `points`, evenly by number, the last among them.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(MOST_POINTS).max(1);
    let keep = |i: usize| i.is_multiple_of(step) || i + 1 == points.len();
    points.iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, point)| *point).collect()
}

/// Names in order of first appearance, each with its stroke.
fn names(frames: &[Frame]) -> Vec<(&str, Stroke)> {
    let mut names: Vec<(&str, Stroke)> = Vec::new();
    for curve in frames.iter().flat_map(|frame| &frame.curves) {
        if !names.iter().any(|(name, _)| *name == curve.name) {
            names.push((&curve.name, curve.stroke));
        }
    }
    names
}

/// A figure of `frames`: one across the sheet, more in two columns.
#[must_use]
pub fn plot(id: &str, title: &str, caption: &str, frames: &[Frame]) -> Figure {
    const HEIGHT: i32 = 480;
    let names = names(frames);
    let coloured: Vec<&str> =
        names.iter().filter(|(_, stroke)| *stroke != Stroke::Published).map(|(name, _)| *name).collect();
    let look = |name: &str| palette::nth(coloured.iter().position(|other| *other == name).unwrap_or(0));
    let glyph = |name: &str, stroke| match stroke {
        Stroke::Line => Glyph::Line(look(name).colour),
        Stroke::Marks => Glyph::Mark(look(name)),
        Stroke::Published => Glyph::Line(BOUND),
    };
    let entries: Vec<(String, Glyph)> =
        names.iter().map(|(name, stroke)| ((*name).to_owned(), glyph(name, *stroke))).collect();
    let head = legend_height(&entries) + LINE / 2;
    let columns = if frames.len() > 1 { 2 } else { 1 };
    let rows = count(frames.len().div_ceil(columns));
    let picture = picture(head + rows * HEIGHT, |sheet| {
        sheet.legend(6, &entries);
        for (i, frame) in frames.iter().enumerate() {
            let (column, row) = if columns > 1 { cell(i) } else { (0, count(i)) };
            let width = WIDTH / count(columns);
            let (x, y) = (frame.axis(&frame.x, |p| p.0), frame.axis(&frame.y, |p| p.1));
            let corner = (column * width, head + row * HEIGHT);
            let panel = Panel::new(sheet, corner, (width, HEIGHT), &frame.title, x, y);
            for curve in &frame.curves {
                let points = thinned(&curve.points);
                match curve.stroke {
                    Stroke::Line => panel.line(&points, look(&curve.name).colour, 4),
                    Stroke::Published => panel.line(&points, BOUND, 3),
                    Stroke::Marks => {
                        points.iter().for_each(|(x, y)| panel.mark(*x, *y, look(&curve.name), 11));
                    }
                }
            }
        }
    });
    Figure::new(id.into(), title.into(), caption.into(), &picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_shows_every_name_once_in_its_legend_and_every_title() {
        let line: Vec<(f64, f64)> = (0..2000).map(|i| (f64::from(i), f64::from(i * i))).collect();
        let frame = |title| {
            Frame::new(title, ("time, s", Scale::FromZero), ("window", Scale::Linear))
                .with(Curve::new("measured", Stroke::Line, line.clone()))
                .with(Curve::new("formula", Stroke::Published, line.clone()))
                .with(Curve::new("points", Stroke::Marks, vec![(1.0, 1.0)]))
        };
        let figure = plot("id", "Title", "Caption", &[frame("first"), frame("second")]);
        for name in ["measured", "formula", "points"] {
            assert_eq!(figure.svg.matches(name).count(), 1, "{name}");
        }
        assert!(figure.svg.contains("first") && figure.svg.contains("second"));
        assert!(figure.svg.len() < 60_000, "{} bytes", figure.svg.len());
    }

    #[test]
    fn a_line_is_thinned_to_its_limit_and_keeps_its_ends() {
        let line: Vec<(f64, f64)> = (0..12_345).map(|i| (f64::from(i), 1.0)).collect();
        let thin = thinned(&line);
        assert!(thin.len() <= MOST_POINTS + 1);
        assert_eq!((thin.first(), thin.last()), (line.first(), line.last()));
        assert!(thinned(&[]).is_empty());
    }

    #[test]
    fn a_logarithmic_axis_leaves_out_what_it_cannot_show() {
        let points = vec![(0.0, 0.0), (1e-3, 10.0), (1e-1, 1000.0)];
        let frame = Frame::new("", ("p", Scale::Logarithmic), ("W", Scale::Logarithmic)).with(Curve::new(
            "w",
            Stroke::Marks,
            points,
        ));
        let figure = plot("id", "t", "c", &[frame]);
        assert!(!figure.svg.contains("NaN") && !figure.svg.contains("inf"));
    }
}
