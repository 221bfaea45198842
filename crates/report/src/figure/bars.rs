//! Bars of means with intervals, and bars of parts that stand one behind the other.

use super::Figure;
use super::axis::Axis;
use super::page::Page;
use super::palette::Palette;
use super::panel::{Glyph, count, text_width};
use super::paper::Paper;
use crate::ReportError;
use crate::figure::Span;
use plotters::style::RGBColor;

/// Height of a bar's row.
const ROW: i32 = 56;
/// Height of the axis below the rows and of the edge above them.
const EDGES: i32 = 98;
/// Space that a frame leaves for the labels of its vertical axis; bars have none.
const AXIS: i32 = 112;

/// Means this many times apart need a logarithmic axis.
const FAR: f64 = 30.0;

/// A row: its name, its method and its parts from left to right.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) parts: Vec<Span>,
}

/// The texts of a figure of bars.
pub(crate) struct Bars<'a> {
    pub(crate) title: String,
    pub(crate) caption: &'a str,
    pub(crate) label: &'a str,
    /// Names of the parts; of bars with one part, none.
    pub(crate) parts: &'a [&'a str],
    pub(crate) palette: &'a Palette,
}

/// Greys of parts: apart in print, and no method's colour.
const GREYS: [u8; 3] = [0xd8, 0x98, 0x40];

fn grey(part: usize) -> RGBColor {
    let tone = GREYS[part % GREYS.len()];
    RGBColor(tone, tone, tone)
}

impl Bars<'_> {
    /// From zero, or logarithmic if means of one part are more than [`FAR`] times apart.
    fn axis(&self, bars: &[Bar]) -> Axis {
        let ends = bars.iter().map(|bar| {
            let before: f64 = bar.parts.iter().rev().skip(1).map(|part| part.mid).sum();
            before + bar.parts.last().map_or(0.0, |last| last.high)
        });
        let most = ends.clone().fold(0.0, f64::max);
        let least = bars.iter().flat_map(|bar| &bar.parts).map(|part| part.mid);
        let least = least.fold(f64::INFINITY, f64::min);
        match self.parts.is_empty() && least > 0.0 && most > FAR * least {
            true => Axis::logarithmic(self.label, least / 3.0, most * 1.25),
            false => Axis::from_zero(self.label, ends),
        }
    }

    /// The figure of `bars` on `page`: a row each, from the top.
    ///
    /// # Errors
    /// The figure does not fit `page`.
    pub(crate) fn draw(self, page: &Page, bars: &[Bar]) -> Result<Figure, ReportError> {
        let rows = count(bars.len());
        let names = bars.iter().map(|bar| text_width(&bar.name)).max().unwrap_or(0);
        if names > page.units() / 2 {
            return Err(format!(
                "--width: found {}, allowed is {} and more: names of bars need half of it",
                page.length(page.units()),
                page.length(2 * names)
            )
            .into());
        }
        let legend: Vec<(String, Glyph)> = self
            .parts
            .iter()
            .enumerate()
            .map(|(i, name)| ((*name).to_owned(), Glyph::Block(grey(i))))
            .collect();
        let paper = Paper {
            page,
            legend: &legend,
            x: self.axis(bars),
            y: Axis::linear("", 0.0, f64::from(rows)).with_ticks_to(f64::NEG_INFINITY),
            left: names + 20 - AXIS,
            height: Some((rows * ROW + EDGES).max(260)),
            figure: Figure::new("chosen".into(), self.title, self.caption.into(), ""),
        };
        let is_parts = !self.parts.is_empty();
        paper.draw(|panel| {
            for (i, bar) in bars.iter().enumerate() {
                let middle = f64::from(rows) - i as f64 - 0.5;
                let mut from: f64 = 0.0;
                for (part, span) in bar.parts.iter().enumerate() {
                    let colour =
                        if is_parts { grey(part) } else { self.palette.look(&bar.method).colour };
                    panel.bar((from, from + span.mid), middle, colour, is_parts);
                    from += span.mid;
                }
                if let [only] = &bar.parts[..] {
                    panel.whisker(only.low, only.high, middle);
                }
                panel.row_name(middle, &bar.name);
            }
        })
    }
}
