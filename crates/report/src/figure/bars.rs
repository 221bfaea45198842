//! Bars of means with intervals, and bars of parts that stand one behind the other.

use super::Figure;
use super::axis::Axis;
use super::page::Page;
use super::palette::Palette;
use super::panel::{Glyph, LINE, count, text_width};
use super::paper::{Paper, fitting};
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
            // Bars begin at a power of ten, which has a label.
            true => {
                let begin = 10f64.powf((least / 1.5).log10().floor());
                Axis::logarithmic(self.label, begin, most * 1.25)
            }
            false => Axis::from_zero(self.label, ends),
        }
    }

    /// The figure of `bars` on `page`: a row each, from the top.
    ///
    /// # Errors
    /// The figure does not fit `page`.
    pub(crate) fn draw(self, page: &Page, bars: &[Bar]) -> Result<Figure, ReportError> {
        let rows = count(bars.len());
        // Names take at most half of the width, and as many lines as that needs.
        let most = fitting(page.units() / 2).max(1);
        let names: Vec<Vec<String>> = bars.iter().map(|bar| folded(&bar.name, most)).collect();
        let widest = names.iter().flatten().map(|line| text_width(line)).max().unwrap_or(0);
        let row = names.iter().map(|lines| count(lines.len()) * LINE + 16).fold(ROW, i32::max);
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
            left: widest + 20 - AXIS,
            height: Some((rows * row + EDGES).max(260)),
            figure: Figure::new("chosen".into(), self.title, self.caption.into(), ""),
        };
        let is_parts = !self.parts.is_empty();
        paper.draw(|panel| {
            for (i, (bar, name)) in bars.iter().zip(&names).enumerate() {
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
                panel.row_name(middle, name);
            }
        })
    }
}

/// `name` in lines of at most `most` characters, broken after blanks and hyphens, and within a word
/// that is longer than a line.
fn folded(name: &str, most: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in name.split_inclusive([' ', '-']) {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(most) {
            let piece: String = piece.iter().collect();
            if (line.clone() + &piece).trim_end().chars().count() > most {
                lines.push(std::mem::take(&mut line));
            }
            line.push_str(&piece);
        }
    }
    lines.push(line);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::coord::ranged1d::Ranged;

    #[test]
    fn bars_far_apart_begin_at_a_power_of_ten_that_has_a_label() {
        let bar = |mid| Bar {
            name: String::new(),
            method: String::new(),
            parts: vec![Span { mid, low: -mid, high: 2.0 * mid }],
        };
        let palette = Palette::of_methods(Vec::<String>::new());
        let texts =
            Bars { title: String::new(), caption: "", label: "", parts: &[], palette: &palette };
        let axis = texts.axis(&[bar(4.5), bar(1800.0)]);
        assert_eq!((axis.is_logarithmic(), axis.range().start), (true, 1.0));
        assert!(!texts.axis(&[bar(200.0), bar(1800.0)]).is_logarithmic());
    }

    #[test]
    fn a_long_name_is_broken_after_blanks_and_hyphens_and_keeps_each_letter() {
        for (name, most, lines) in [
            ("CoDel, voip", 20, &["CoDel, voip"][..]),
            ("CoDel, voip", 6, &["CoDel,", "voip"]),
            ("Justfull-2-split, download", 12, &["Justfull-2-", "split,", "download"]),
            ("Longer_than_a_line, voip", 8, &["Longer_t", "han_a_li", "ne, voip"]),
            ("", 8, &[""]),
        ] {
            assert_eq!(folded(name, most), lines, "{name}");
        }
    }
}
