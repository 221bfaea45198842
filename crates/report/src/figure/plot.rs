//! Curves and points over axes of any quantity: the figures of the validation pages.

use super::Figure;
use super::axis::Axis;
use super::palette;
use super::panel::{BOUND, Glyph, LINE, Panel, WIDTH, cell, count, legend_height, picture};
use justfull_lab::model::plot::{Frame, Plot, Scale, Stroke};

/// Most points of one line; longer ones are thinned.
const MOST_POINTS: usize = 500;

/// The axis for `value` of the points of `frame`.
fn axis(frame: &Frame, label: &str, scale: Scale, value: fn(&(f64, f64)) -> f64) -> Axis {
    let values = frame.curves.iter().flat_map(|curve| &curve.points).map(value);
    let values: Vec<f64> =
        values.filter(|v| v.is_finite() && (scale != Scale::Logarithmic || *v > 0.0)).collect();
    let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match scale {
        _ if lo >= hi => Axis::from_zero(label, values),
        Scale::FromZero => Axis::from_zero(label, values),
        Scale::Linear => Axis::linear(label, lo, hi),
        Scale::Logarithmic => Axis::logarithmic(label, lo / 1.25, hi * 1.25),
    }
}

/// At most [`MOST_POINTS`] of `points`, evenly by index, including the last.
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

/// The figure of `plot`: one frame across the sheet, more in two columns.
#[must_use]
pub fn figure(plot: &Plot) -> Figure {
    const HEIGHT: i32 = 480;
    let frames = &plot.frames;
    let names = names(frames);
    let coloured: Vec<&str> = names
        .iter()
        .filter(|(_, stroke)| *stroke != Stroke::Published)
        .map(|(name, _)| *name)
        .collect();
    let look =
        |name: &str| palette::nth(coloured.iter().position(|other| *other == name).unwrap_or(0));
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
            let axis = |side: &(String, Scale), value| axis(frame, &side.0, side.1, value);
            let (x, y) = (axis(&frame.x, |p| p.0), axis(&frame.y, |p| p.1));
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
    Figure::new(plot.id.clone(), plot.title.clone(), plot.caption.clone(), &picture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::plot::Curve;

    #[test]
    fn a_plot_shows_every_name_once_in_its_legend_and_every_title() {
        let line: Vec<(f64, f64)> = (0..2000).map(|i| (f64::from(i), f64::from(i * i))).collect();
        let frame = |title| {
            Frame::new(title, ("time, s", Scale::FromZero), ("window", Scale::Linear))
                .with(Curve::new("measured", Stroke::Line, line.clone()))
                .with(Curve::new("formula", Stroke::Published, line.clone()))
                .with(Curve::new("points", Stroke::Marks, vec![(1.0, 1.0)]))
        };
        let figure =
            figure(&Plot::new("id", "Title", "Caption", &[frame("first"), frame("second")]));
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
        let frame = Frame::new("", ("p", Scale::Logarithmic), ("W", Scale::Logarithmic))
            .with(Curve::new("w", Stroke::Marks, points));
        let figure = figure(&Plot::new("id", "t", "c", &[frame]));
        assert!(!figure.svg.contains("NaN") && !figure.svg.contains("inf"));
    }
}
