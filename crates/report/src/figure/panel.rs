//! The drawing tools of all figures: a canvas, axes, panels with a frame, marks and a legend.
//!
//! Pictures are 1280 units wide and shown at half that width or less, so whole coordinates look
//! smooth.

mod legend;
mod svg;

pub(super) use self::legend::{Glyph, legend_height, legend_height_on, text_width};
pub(super) use self::svg::{finish, finish_with};

use super::axis::Axis;
use super::palette::{Look, PATTERNS, Shape};
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, Drawable, PathElement, PointCollection, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBAColor, RGBColor, TRANSPARENT, TextStyle, WHITE};
use std::ops::Range;

/// A place on the canvas.
pub(super) type Pixel = (i32, i32);

/// Width of every picture.
pub(super) const WIDTH: i32 = 1280;
/// Height of a line of text.
pub(super) const LINE: i32 = 40;

const TEXT: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
const AXIS: RGBColor = RGBColor(0x76, 0x76, 0x76);
/// The bound's colour, dashed in every figure.
pub(super) const BOUND: RGBColor = RGBColor(0x44, 0x44, 0x44);
/// The capacity's colour; no method has it.
pub(super) const CAPACITY: RGBColor = RGBColor(0xc0, 0x00, 0x20);
/// Height of text.
pub(super) const FONT: f64 = 28.0;
/// Height of the text of axes in reports; in papers all text has one height.
const SMALL: f64 = 0.92 * FONT;
/// Mean width of a character of the font, rounded up.
const CHARACTER: f64 = 0.56 * FONT;
/// The factor by which plotters divides font sizes in an SVG.
const PLOTTERS_FONT: f64 = 1.24;
const WRITES: &str = "drawing into a string does not fail";

/// A number of rows, panels or steps as a canvas number.
pub(super) fn count(n: usize) -> i32 {
    i32::try_from(n).expect("a figure has few parts")
}

/// Column and row of panel `i` in a grid of two columns.
pub(super) fn cell(i: usize) -> (i32, i32) {
    (count(i % 2), count(i / 2))
}

/// A sheet to draw on.
pub(super) struct Sheet<'a> {
    root: DrawingArea<SVGBackend<'a>, Shift>,
    width: i32,
    /// Printed in a paper: methods also differ without colours.
    paper: bool,
}

/// A picture of `height` units, drawn by `draw`.
pub(super) fn picture(height: i32, draw: impl FnOnce(&Sheet<'_>)) -> String {
    drawn((WIDTH, height), false, draw)
}

/// A picture of this width and height for a paper, drawn by `draw`.
pub(super) fn paper(size: Pixel, draw: impl FnOnce(&Sheet<'_>)) -> String {
    drawn(size, true, draw)
}

fn drawn(size: Pixel, paper: bool, draw: impl FnOnce(&Sheet<'_>)) -> String {
    let mut svg = String::new();
    let backend = SVGBackend::with_string(&mut svg, (size.0.unsigned_abs(), size.1.unsigned_abs()));
    let sheet = Sheet { root: backend.into_drawing_area(), width: size.0, paper };
    draw(&sheet);
    sheet.root.present().expect(WRITES);
    drop(sheet);
    svg
}

fn font(size: f64, colour: RGBColor, h: HPos, v: VPos) -> TextStyle<'static> {
    let style = ("sans-serif", size * PLOTTERS_FONT).into_font().color(&colour);
    style.pos(Pos::new(h, v))
}

impl Sheet<'_> {
    fn put<E>(&self, element: &E)
    where
        for<'b> &'b E: PointCollection<'b, Pixel>,
        for<'b> E: Drawable<SVGBackend<'b>>,
    {
        self.root.draw(element).expect(WRITES);
    }

    /// Text whose left end is at `at`, centred on its height. Control characters, which are invalid
    /// in SVG, are replaced.
    pub(super) fn text(&self, at: Pixel, text: &str) {
        let text = text.replace(char::is_control, "\u{fffd}");
        self.put(&Text::new(text, at, font(FONT, TEXT, HPos::Left, VPos::Center)));
    }

    /// Text whose right end is at `at`, centred on its height.
    pub(super) fn text_to(&self, at: Pixel, text: &str) {
        self.put(&Text::new(text.to_owned(), at, font(FONT, TEXT, HPos::Right, VPos::Center)));
    }

    /// Text whose middle is at `at`.
    pub(super) fn text_over(&self, at: Pixel, text: &str) {
        self.put(&Text::new(text.to_owned(), at, font(FONT, TEXT, HPos::Center, VPos::Center)));
    }

    /// A line through `points`.
    pub(super) fn line(&self, points: Vec<Pixel>, colour: RGBColor, width: u32) {
        if points.len() > 1 {
            self.put(&PathElement::new(points, colour.stroke_width(width)));
        }
    }

    /// A line through `points` with the dashes of `look`.
    fn stroke(&self, points: &[Pixel], look: Look, width: u32) {
        match PATTERNS[look.dash % PATTERNS.len()] {
            [] => self.line(points.to_vec(), look.colour, width),
            pattern => dashed(points, pattern)
                .into_iter()
                .for_each(|piece| self.line(piece, look.colour, width)),
        }
    }

    /// A straight line in dashes.
    pub(super) fn dashes(&self, from: Pixel, to: Pixel, colour: RGBColor) {
        const DASH: i32 = 22;
        let length = (to.0 - from.0).abs().max((to.1 - from.1).abs());
        let at = |step: i32| {
            let step = step.min(length);
            let along = |a: i32, b: i32| a + (b - a) * step / length.max(1);
            (along(from.0, to.0), along(from.1, to.1))
        };
        for start in (0..length).step_by(DASH.unsigned_abs() as usize) {
            self.line(vec![at(start), at(start + DASH * 6 / 10)], colour, 4);
        }
    }

    /// A filled polygon.
    pub(super) fn fill(&self, points: Vec<Pixel>, colour: RGBAColor) {
        if points.len() > 2 {
            self.put(&Polygon::new(points, colour.filled()));
        }
    }

    /// A rectangle with an outline.
    pub(super) fn bar(&self, corner: Pixel, other: Pixel, colour: RGBColor, alpha: f64) {
        self.put(&Rectangle::new([corner, other], colour.mix(alpha).filled()));
        let (a, b) = (corner, other);
        self.line(vec![a, (b.0, a.1), b, (a.0, b.1), a], colour, 3);
    }

    /// Colour and edge of a mark, and the width of the edge.
    fn tones(&self, look: Look) -> (RGBColor, RGBColor, u32) {
        if self.paper && look.hollow { (WHITE, look.colour, 4) } else { (look.colour, WHITE, 2) }
    }

    /// A method's mark of about `radius` around `at`.
    pub(super) fn mark(&self, at: Pixel, look: Look, radius: i32) {
        // Points on a circle, in degrees from the top, each with its share of the radius.
        let around = |turns: &[(f64, f64)]| -> Vec<Pixel> {
            let r = f64::from(radius);
            let point = |&(degrees, share): &(f64, f64)| {
                let angle = degrees.to_radians();
                (
                    at.0 + (r * share * angle.sin()).round() as i32,
                    at.1 - (r * share * angle.cos()).round() as i32,
                )
            };
            turns.iter().map(point).collect()
        };
        let regular = |corners: u32, first: f64, share: f64| -> Vec<Pixel> {
            let step = 360.0 / f64::from(corners);
            around(&(0..corners).map(|i| (first + step * f64::from(i), share)).collect::<Vec<_>>())
        };
        let outline = match look.shape {
            Shape::Circle => {
                let (inner, edge, width) = self.tones(look);
                self.put(&Circle::new(at, radius, inner.filled()));
                self.put(&Circle::new(at, radius, edge.stroke_width(width)));
                return;
            }
            Shape::Square => regular(4, 45.0, 1.2),
            Shape::Triangle => regular(3, 0.0, 1.25),
            Shape::TriangleDown => regular(3, 180.0, 1.25),
            Shape::Diamond => regular(4, 0.0, 1.3),
            Shape::Pentagon => regular(5, 0.0, 1.15),
            Shape::Star => around(
                &(0..10)
                    .map(|i| (36.0 * f64::from(i), if i % 2 == 0 { 1.5 } else { 0.6 }))
                    .collect::<Vec<_>>(),
            ),
            Shape::Plus | Shape::Cross => {
                let first = if look.shape == Shape::Plus { 0.0 } else { 45.0 };
                let arm =
                    |turn: f64| [(turn - 17.0, 1.25), (turn + 17.0, 1.25), (turn + 45.0, 0.52)];
                let turns = [0.0, 90.0, 180.0, 270.0].map(|turn| turn + first);
                around(&turns.into_iter().flat_map(arm).collect::<Vec<_>>())
            }
        };
        let mut closed = outline.clone();
        closed.extend(outline.first());
        let (inner, edge, width) = self.tones(look);
        self.fill(outline, inner.to_rgba());
        self.line(closed, edge, width);
    }
}

/// The pieces of the line through `points` that `pattern` draws.
fn dashed(points: &[Pixel], pattern: &[f64]) -> Vec<Vec<Pixel>> {
    let (mut pieces, mut turn, mut left) = (Vec::new(), 0, pattern[0]);
    let mut piece: Vec<Pixel> = points.first().copied().into_iter().collect();
    for ends in points.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        let (across, down) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let (length, mut gone) = (across.hypot(down), 0.0);
        while length - gone > left {
            gone += left;
            let share = gone / length;
            let at =
                (from.0 + (across * share).round() as i32, from.1 + (down * share).round() as i32);
            if turn % 2 == 0 {
                piece.push(at);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![at];
            }
            turn = (turn + 1) % pattern.len();
            left = pattern[turn];
        }
        left -= length - gone;
        if turn % 2 == 0 {
            piece.push(to);
        }
    }
    pieces.push(piece);
    pieces
}

/// A frame with axes on a sheet.
pub(super) struct Panel<'a, 'b> {
    sheet: &'a Sheet<'b>,
    x: Axis,
    y: Axis,
    across: Range<i32>,
    down: Range<i32>,
}

impl<'a, 'b> Panel<'a, 'b> {
    /// A panel with corner `corner` and size `size`; draws its axes, and `title` above the frame.
    pub(super) fn new(
        sheet: &'a Sheet<'b>,
        corner: Pixel,
        size: Pixel,
        title: &str,
        x: Axis,
        y: Axis,
    ) -> Self {
        const LEFT: i32 = 112;
        const RIGHT: i32 = 34;
        const BELOW: i32 = 84;
        // Space for the descenders of the axis's name, which stands upright.
        const EDGE: i32 = 8;
        let head = if title.is_empty() { 14 } else { LINE };
        let area =
            sheet.root.clone().shrink(corner, (size.0.unsigned_abs(), size.1.unsigned_abs()));
        let mut builder = ChartBuilder::on(&area);
        builder.margin_top(head).margin_right(RIGHT).margin_left(EDGE);
        builder.x_label_area_size(BELOW).y_label_area_size(LEFT);
        let (x, y, size_of_text) = if sheet.paper {
            let across = size.0 - LEFT - RIGHT - EDGE;
            let x = x.fitted(across, |text| text_width(text) + LINE / 2);
            (x, y.fitted(size.1 - BELOW - head, |_| LINE), FONT)
        } else {
            (x, y, SMALL)
        };
        let mut chart = builder.build_cartesian_2d(x.clone(), y.clone()).expect(WRITES);
        let small = || font(size_of_text, TEXT, HPos::Center, VPos::Center);
        chart
            .configure_mesh()
            .bold_line_style(GRID.stroke_width(2))
            .light_line_style(TRANSPARENT)
            .axis_style(AXIS.stroke_width(2))
            .label_style(small())
            .axis_desc_style(small())
            .x_desc(x.name())
            .y_desc(y.name())
            .x_label_formatter(&|value| x.tick_text(*value))
            .y_label_formatter(&|value| y.tick_text(*value))
            .draw()
            .expect(WRITES);
        let (across, down) = chart.plotting_area().get_pixel_range();
        if !title.is_empty() {
            sheet.text((across.start, corner.1 + LINE / 2), title);
        }
        Self { sheet, x, y, across, down }
    }

    /// The position of a point on the sheet; points outside the axes lie on the frame.
    pub(super) fn at(&self, x: f64, y: f64) -> Pixel {
        let across = self.x.map(&x, (self.across.start, self.across.end - 1));
        (across, self.y.map(&y, (self.down.end - 1, self.down.start)))
    }

    /// A line through `points`.
    pub(super) fn line(&self, points: &[(f64, f64)], colour: RGBColor, width: u32) {
        let mut pixels: Vec<Pixel> = points.iter().map(|(x, y)| self.at(*x, *y)).collect();
        pixels.dedup();
        self.sheet.line(pixels, colour, width);
    }

    /// A line through `points` with the dashes of `look`.
    pub(super) fn stroke(&self, points: &[(f64, f64)], look: Look, width: u32) {
        let mut pixels: Vec<Pixel> = points.iter().map(|(x, y)| self.at(*x, *y)).collect();
        pixels.dedup();
        self.sheet.stroke(&pixels, look, width);
    }

    /// The area between `points` and the bottom of the frame, with its upper edge.
    pub(super) fn area(&self, points: &[(f64, f64)], colour: RGBColor) {
        let mut pixels: Vec<Pixel> = points.iter().map(|(x, y)| self.at(*x, *y)).collect();
        pixels.dedup();
        let (Some(first), Some(last)) = (pixels.first().copied(), pixels.last().copied()) else {
            return;
        };
        let bottom = self.down.end - 1;
        self.sheet.line(pixels.clone(), colour, 2);
        pixels.extend([(last.0, bottom), (first.0, bottom)]);
        self.sheet.fill(pixels, colour.mix(0.35));
    }

    /// The area between `points` and the bottom of the frame; it covers the drawing below it.
    pub(super) fn block(&self, points: &[(f64, f64)], colour: RGBColor) {
        let mut pixels: Vec<Pixel> = points.iter().map(|(x, y)| self.at(*x, *y)).collect();
        pixels.dedup();
        if let (Some(first), Some(last)) = (pixels.first().copied(), pixels.last().copied()) {
            let bottom = self.down.end - 1;
            pixels.extend([(last.0, bottom), (first.0, bottom)]);
            self.sheet.fill(pixels, colour.mix(1.0));
        }
    }

    /// The area between two lines with the same points across.
    pub(super) fn band(&self, points: &[(f64, [f64; 2])], colour: RGBColor) {
        let edge = |i: usize| points.iter().map(move |(x, ends)| (*x, ends[i]));
        let there = edge(0).map(|(x, y)| self.at(x, y));
        let back = edge(1).rev().map(|(x, y)| self.at(x, y));
        let mut pixels: Vec<Pixel> = there.chain(back).collect();
        pixels.dedup();
        self.sheet.fill(pixels, colour.mix(0.15));
    }

    /// A method's mark at a point.
    pub(super) fn mark(&self, x: f64, y: f64, look: Look, radius: i32) {
        self.sheet.mark(self.at(x, y), look, radius);
    }

    /// `look`'s mark at a few places of a line, at equal distances; `turn` shifts them, so that
    /// the marks of several lines do not cover each other.
    pub(super) fn marks_along(&self, points: &[(f64, f64)], look: Look, turn: usize) {
        const APART: f64 = 150.0;
        const SHIFT: f64 = 47.0;
        let mut left = 30.0 + (SHIFT * turn as f64) % APART;
        let pixels: Vec<Pixel> = points.iter().map(|(x, y)| self.at(*x, *y)).collect();
        for ends in pixels.windows(2) {
            let (from, to) = (ends[0], ends[1]);
            let (across, down) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
            let (length, mut gone) = (across.hypot(down), 0.0);
            while length - gone >= left {
                gone += left;
                let share = gone / length;
                let along = |from: i32, by: f64| from + (by * share).round() as i32;
                self.sheet.mark((along(from.0, across), along(from.1, down)), look, 10);
                left = APART;
            }
            left -= length - gone;
        }
    }

    /// A dashed horizontal line at `y`.
    pub(super) fn level(&self, y: f64) {
        let at = self.at(self.x.hi, y);
        self.sheet.dashes((self.across.start, at.1), (self.across.end - 1, at.1), BOUND);
    }

    /// A horizontal box plot at height `y` (in whole rows): whiskers from `low` to `high`, a box
    /// over the quartiles.
    pub(super) fn boxed(&self, low: f64, quartiles: [f64; 3], high: f64, y: f64, colour: RGBColor) {
        let [p25, p50, p75] = quartiles;
        self.line(&[(low, y), (p25, y)], colour, 4);
        self.line(&[(p75, y), (high, y)], colour, 4);
        for end in [low, high] {
            self.line(&[(end, y - 0.14), (end, y + 0.14)], colour, 4);
        }
        self.sheet.bar(self.at(p25, y + 0.3), self.at(p75, y - 0.3), colour, 0.3);
        self.line(&[(p50, y - 0.3), (p50, y + 0.3)], colour, 7);
    }

    /// A horizontal bar between two values at height `y` (in whole rows); `solid` hides the grid.
    pub(super) fn bar(&self, ends: (f64, f64), y: f64, colour: RGBColor, solid: bool) {
        let corners = (self.at(ends.0, y + 0.32), self.at(ends.1, y - 0.32));
        let alpha = if solid { 1.0 } else { 0.45 };
        self.sheet.bar(corners.0, corners.1, colour, alpha);
        if solid {
            self.outline(corners.0, corners.1);
        }
    }

    fn outline(&self, a: Pixel, b: Pixel) {
        self.sheet.line(vec![a, (b.0, a.1), b, (a.0, b.1), a], TEXT, 2);
    }

    /// A square of a heat map from `corner` on, one unit wide and high, with a text.
    pub(super) fn cell(&self, corner: (f64, f64), colour: RGBColor, ink: RGBColor, text: &str) {
        let (a, b) = (self.at(corner.0, corner.1), self.at(corner.0 + 1.0, corner.1 + 1.0));
        self.sheet.fill(vec![a, (b.0, a.1), b, (a.0, b.1)], colour.to_rgba());
        let style = font(FONT, ink, HPos::Center, VPos::Center);
        let middle = self.at(corner.0 + 0.5, corner.1 + 0.5);
        self.sheet.put(&Text::new(text.to_owned(), middle, style));
    }

    /// The name of the column around `x`, below the frame.
    pub(super) fn column_name(&self, x: f64, name: &str) {
        self.sheet.text_over((self.at(x, self.y.hi).0, self.down.end + LINE / 2), name);
    }

    /// The interval of a bar at height `y`.
    pub(super) fn whisker(&self, low: f64, high: f64, y: f64) {
        if low < high {
            self.line(&[(low, y), (high, y)], TEXT, 4);
            for end in [low, high] {
                self.line(&[(end, y - 0.16), (end, y + 0.16)], TEXT, 4);
            }
        }
    }

    /// The name of the row at height `y`, in `lines` left of the frame.
    pub(super) fn row_name(&self, y: f64, lines: &[String]) {
        let top = self.at(self.x.hi, y).1 - (count(lines.len()) - 1) * LINE / 2;
        for (line, at) in lines.iter().zip((top..).step_by(LINE as usize)) {
            let line = line.replace(char::is_control, "\u{fffd}");
            self.sheet.text_to((self.across.start - 12, at), &line);
        }
    }

    /// A dashed vertical line at `x`.
    pub(super) fn upright(&self, x: f64) {
        let at = self.at(x, self.y.hi);
        self.sheet.dashes((at.0, self.down.start), (at.0, self.down.end - 1), BOUND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dashed_line_is_drawn_in_the_shares_of_its_pattern_across_corners() {
        let length = |pieces: &[Vec<Pixel>]| -> f64 {
            let of = |p: &[Pixel]| f64::from(p[1].0 - p[0].0).hypot(f64::from(p[1].1 - p[0].1));
            pieces.iter().flat_map(|piece| piece.windows(2)).map(of).sum()
        };
        let corner = [(0, 0), (300, 0), (300, 310)];
        for pattern in &PATTERNS[1..] {
            let pieces = dashed(&corner, pattern);
            let drawn = pattern.iter().step_by(2).sum::<f64>() / pattern.iter().sum::<f64>();
            let share = length(&pieces) / 610.0;
            assert!((share - drawn).abs() < 0.06, "{pattern:?}: {share} for {drawn}");
            assert!(pieces.len() > 10 && pieces[0][0] == (0, 0));
        }
    }
}
