//! The legend of a figure.

use super::super::palette::Look;
use super::{CHARACTER, LINE, Sheet, WIDTH};
use plotters::style::RGBColor;

/// The symbol before a text in a legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::figure) enum Glyph {
    Mark(Look),
    LineMark(Look),
    Line(RGBColor),
    /// A line with a method's dashes.
    Stroke(Look),
    Dashes(RGBColor),
    Area(RGBColor),
    /// An area that covers the drawing below it.
    Block(RGBColor),
}

const GLYPH: i32 = 54;

/// Upper estimate of the width of `text`, in pixels.
pub(in crate::figure) fn text_width(text: &str) -> i32 {
    (text.chars().count() as f64 * CHARACTER) as i32
}

/// Left end and row of each entry on a sheet of this width.
fn legend_places(entries: &[(String, Glyph)], sheet: i32) -> Vec<(i32, i32)> {
    const LEFT: i32 = 30;
    let (mut x, mut row) = (LEFT, 0);
    let mut places = Vec::with_capacity(entries.len());
    for (text, _) in entries {
        let width = GLYPH + 12 + text_width(text) + 36;
        if x > LEFT && x + width > sheet {
            (x, row) = (LEFT, row + 1);
        }
        places.push((x, row));
        x += width;
    }
    places
}

/// Height of a legend of `entries`.
pub(in crate::figure) fn legend_height(entries: &[(String, Glyph)]) -> i32 {
    legend_height_on(entries, WIDTH)
}

/// Height of a legend of `entries` on a sheet of this width.
pub(in crate::figure) fn legend_height_on(entries: &[(String, Glyph)], sheet: i32) -> i32 {
    legend_places(entries, sheet).last().map_or(0, |(_, row)| (row + 1) * LINE)
}

impl Sheet<'_> {
    /// Draws a legend from `top` down, in as many rows as necessary.
    pub(in crate::figure) fn legend(&self, top: i32, entries: &[(String, Glyph)]) {
        for ((text, glyph), (x, row)) in entries.iter().zip(legend_places(entries, self.width)) {
            let y = top + row * LINE + LINE / 2;
            let middle = (x + GLYPH / 2, y);
            match glyph {
                Glyph::Mark(look) => self.mark(middle, *look, 11),
                Glyph::LineMark(look) => {
                    self.stroke(&[(x, y), (x + GLYPH, y)], *look, 5);
                    self.mark(middle, *look, 10);
                }
                Glyph::Stroke(look) => self.stroke(&[(x, y), (x + GLYPH, y)], *look, 4),
                Glyph::Line(colour) => self.line(vec![(x, y), (x + GLYPH, y)], *colour, 4),
                Glyph::Dashes(colour) => self.dashes((x, y), (x + GLYPH, y), *colour),
                Glyph::Area(colour) => self.bar((x, y - 10), (x + GLYPH, y + 10), *colour, 0.35),
                Glyph::Block(colour) => self.bar((x, y - 10), (x + GLYPH, y + 10), *colour, 1.0),
            }
            self.text((x + GLYPH + 12, y), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::style::BLACK;

    #[test]
    fn a_legend_breaks_into_rows_inside_the_sheet() {
        let entries: Vec<_> =
            (0..20).map(|i| (format!("CoDel@DynRLC {i}"), Glyph::Line(BLACK))).collect();
        for ((text, _), (x, row)) in entries.iter().zip(legend_places(&entries, WIDTH)) {
            assert!(x + GLYPH + 12 + text_width(text) <= WIDTH);
            assert!((row + 1) * LINE <= legend_height(&entries));
        }
        assert_eq!(legend_height(&[]), 0);
    }
}
