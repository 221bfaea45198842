//! A heat map: a value at each point of two settings, as a number on a shade.

use super::Figure;
use super::axis::Axis;
use super::page::Page;
use super::panel::{LINE, count, text_width};
use super::paper::Paper;
use crate::ReportError;
use plotters::style::{BLACK, RGBColor, WHITE};

/// Height of a row of cells.
const ROW: i32 = 72;
/// Height of the axis below the rows and of the edge above them.
const EDGES: i32 = 98;
/// Space that a frame leaves for the labels of its vertical axis.
const AXIS: i32 = 112;
/// Shades of the least and the greatest value: their brightness falls steadily, also in grey.
const SHADES: [RGBColor; 2] = [RGBColor(0xf0, 0xf5, 0xfb), RGBColor(0x08, 0x30, 0x6b)];
/// Values this many times apart are shaded by their logarithms.
const FAR: f64 = 30.0;

/// A heat map.
pub(crate) struct Heat<'a> {
    pub(crate) title: String,
    pub(crate) caption: &'a str,
    pub(crate) x_label: &'a str,
    pub(crate) y_label: &'a str,
    /// Values of the settings, from left to right and from the bottom up.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<String>,
    /// Column, row and value of each cell.
    pub(crate) cells: Vec<(usize, usize, f64)>,
}

/// The place of `value` between the ends of `values`, 0 to 1.
fn shade(value: f64, values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let share = match least > 0.0 && most > FAR * least {
        true => (value / least).ln() / (most / least).ln(),
        false => (value - least) / (most - least),
    };
    if share.is_finite() { share } else { 0.0 }
}

fn mixed(share: f64) -> RGBColor {
    let [light, dark] = SHADES;
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
    RGBColor(mix(light.0, dark.0), mix(light.1, dark.1), mix(light.2, dark.2))
}

/// `value` with three significant digits, whole from 100 on.
fn number(value: f64) -> String {
    let digits = if value.abs() < f64::MIN_POSITIVE { 0.0 } else { value.abs().log10().floor() };
    let decimals = (2.0 - digits).clamp(0.0, 4.0) as usize;
    format!("{value:.decimals$}")
}

impl Heat<'_> {
    /// The figure on `page`.
    ///
    /// # Errors
    /// The figure does not fit `page`.
    pub(crate) fn draw(self, page: &Page) -> Result<Figure, ReportError> {
        let values: Vec<f64> = self.cells.iter().map(|cell| cell.2).collect();
        let texts = values.iter().map(|value| text_width(&number(*value)));
        let names = self.columns.iter().map(|name| text_width(name));
        let (across, up) = (count(self.columns.len()), count(self.rows.len()));
        let widest = texts.chain(names).max().unwrap_or(0);
        let aside = self.rows.iter().map(|name| text_width(name)).max().unwrap_or(0);
        let left = (aside + LINE + 24 - AXIS).max(0);
        let least = left + AXIS + LINE + across * widest;
        if least > page.units() {
            return Err(format!(
                "--width: found {}, allowed is {} and more: {across} columns of numbers need it",
                page.length(page.units()),
                page.length(least)
            )
            .into());
        }
        let axis = |label: &str, n: i32| {
            Axis::linear(label, 0.0, f64::from(n)).with_ticks_to(f64::NEG_INFINITY)
        };
        let mut page = page.clone();
        page.title.get_or_insert_with(|| self.title.clone());
        let paper = Paper {
            page: &page,
            legend: &[],
            x: axis(self.x_label, across),
            y: axis(self.y_label, up),
            left,
            height: Some((up * ROW + EDGES).max(300)),
            figure: Figure::new("chosen".into(), self.title, self.caption.into(), ""),
        };
        paper.draw(|panel| {
            for ((column, row, value), share) in
                self.cells.iter().zip(values.iter().map(|value| shade(*value, &values)))
            {
                let ink = if share > 0.5 { WHITE } else { BLACK };
                let at = (*column as f64, *row as f64);
                panel.cell(at, mixed(share), ink, &number(*value));
            }
            for (i, name) in self.columns.iter().enumerate() {
                panel.column_name(i as f64 + 0.5, name);
            }
            for (i, name) in self.rows.iter().enumerate() {
                panel.row_name(i as f64 + 0.5, std::slice::from_ref(name));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_darken_with_the_value_also_in_grey() {
        let grey = |c: RGBColor| 299 * i32::from(c.0) + 587 * i32::from(c.1) + 114 * i32::from(c.2);
        let values = [2.0, 3.0, 7.0, 12.0];
        let tones: Vec<i32> = values.map(|v| grey(mixed(shade(v, &values)))).to_vec();
        assert!(tones.windows(2).all(|pair| pair[0] > pair[1] + 5000), "{tones:?}");
        assert!((shade(7.0, &values) - 0.5).abs() < 1e-9);
        let far = [1.0, 10.0, 100.0];
        assert!((shade(10.0, &far) - 0.5).abs() < 1e-9, "by their logarithms");
        assert!(shade(4.0, &[4.0]).abs() < 1e-9, "one value alone");
    }

    #[test]
    fn numbers_have_three_digits() {
        let cases = [(0.0, "0.00"), (0.123_45, "0.123"), (1.0, "1.00"), (45.67, "45.7")];
        for (value, text) in cases.into_iter().chain([(678.9, "679"), (12_345.0, "12345")]) {
            assert_eq!(number(value), text);
        }
    }
}
