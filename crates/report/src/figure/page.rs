//! The place of a figure in a paper: its size, the size and family of its type, its labels.

use super::panel::FONT;
use crate::ReportError;
use std::fmt::{self, Display, Formatter};

/// Points of an inch.
const INCH: f64 = 72.0;
/// Units of length with their points; a pixel is CSS's, of which an inch has 96.
const UNITS: [(&str, f64); 5] =
    [("in", INCH), ("mm", INCH / 25.4), ("cm", INCH / 2.54), ("pt", 1.0), ("px", 0.75)];
/// Least and greatest length of a side, in inches.
const SIDE: (f64, f64) = (1.5, 20.0);
/// Least and greatest size of type, in points. Publishers refuse smaller type.
const TYPE: (f64, f64) = (7.0, 24.0);
/// Size of type in one column of a paper, in points.
const COLUMN_TYPE: f64 = 8.0;
/// Least width, in sizes of type: a legend, axes and a few marks need it.
const LEAST_EMS: f64 = 18.0;
/// Pixels of an inch of a PNG: what publishers ask of line drawings.
const LINE_ART: f64 = 600.0;

/// A length as its user gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Length {
    number: f64,
    unit: &'static str,
    points: f64,
}

impl Length {
    fn new(number: f64, unit: &'static str) -> Self {
        let points = UNITS.iter().find(|(name, _)| *name == unit).map_or(1.0, |unit| unit.1);
        Self { number, unit, points: number * points }
    }

    fn parse(text: &str) -> Option<Self> {
        let (unit, _) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        Some(Self::new(number, unit))
    }

    /// The side of a figure that `option` gives.
    fn side(option: &str, text: &str, least: f64) -> Result<Self, String> {
        let allowed = least / INCH..=SIDE.1;
        let length = Self::parse(text).filter(|length| allowed.contains(&(length.points / INCH)));
        length.ok_or_else(|| {
            format!(
                "{option}: found {text}, allowed is a length of {}in to {}in, such as 3.5in, \
                 88mm, 9cm, 252pt or 600px",
                // Rounded up, so that the length in the message is allowed.
                (least / INCH * 1000.0).ceil() / 1000.0,
                SIDE.1
            )
        })
    }
}

impl Display for Length {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, self.unit)
    }
}

/// Column width and type size of a publisher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// 8 inches with type of 12.6 points, as in reports; type of a smaller width in proportion, of
    /// 8 points at least.
    #[default]
    Plain,
    /// One column of 3.5 inches, type of 8 points: IEEE Author Center, "Size requirements for
    /// graphics" and "Information for authors".
    Ieee,
    /// One column of `sigconf` in ACM's LaTeX class `acmart`: (8.5 inches less two margins of 54
    /// points and a gap of 2 picas) / 2; its `\small` type of 8 points.
    Acm,
}

impl Style {
    /// Width and size of type, in points.
    fn sizes(self) -> (Length, f64) {
        match self {
            Self::Plain => (Length::new(8.0, "in"), 12.6),
            Self::Ieee => (Length::new(3.5, "in"), COLUMN_TYPE),
            Self::Acm => (Length::new(3.33, "in"), COLUMN_TYPE),
        }
    }
}

/// The options of a figure for a paper, each as its user gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Sizes that other options replace.
    pub style: Style,
    /// `--width`.
    pub width: Option<String>,
    /// `--height`.
    pub height: Option<String>,
    /// `--font`: a size, a family, or both.
    pub font: Option<String>,
    /// `--title`.
    pub title: Option<String>,
    /// `--xlabel`.
    pub x_label: Option<String>,
    /// `--ylabel`.
    pub y_label: Option<String>,
}

/// The place of a figure in a paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    width: Length,
    height: Option<Length>,
    /// Size of the type, in points.
    font: f64,
    family: Option<String>,
    pub(super) title: Option<String>,
    pub(crate) x_label: Option<String>,
    pub(crate) y_label: Option<String>,
}

impl Page {
    /// The page that `wishes` ask for; none if they ask for nothing.
    ///
    /// # Errors
    /// A value is not allowed: the text has the option, the value and what is allowed.
    pub fn of(wishes: &Wishes) -> Result<Option<Self>, ReportError> {
        if *wishes == Wishes::default() {
            return Ok(None);
        }
        let (width, size) = wishes.style.sizes();
        let (font, family) = wishes.font.as_deref().map_or(Ok((None, None)), font)?;
        let least = (LEAST_EMS * font.unwrap_or(COLUMN_TYPE)).max(SIDE.0 * INCH);
        let own = wishes.width.as_deref().map(|text| Length::side("--width", text, least));
        let own = own.transpose()?;
        let size = match (wishes.style, &own) {
            (Style::Plain, Some(own)) => (size * own.points / width.points).max(COLUMN_TYPE),
            _ => size,
        };
        let (font, width) = (font.unwrap_or(size), own.unwrap_or(width));
        let height = wishes.height.as_deref();
        let height =
            height.map(|text| Length::side("--height", text, SIDE.0 * INCH)).transpose()?;
        if width.points < LEAST_EMS * font {
            let most = (width.points / LEAST_EMS * 10.0).floor() / 10.0;
            return Err(format!(
                "--font: found {font}pt, allowed are at most {most}pt on a width of {width}"
            )
            .into());
        }
        for (option, text) in [
            ("--title", &wishes.title),
            ("--xlabel", &wishes.x_label),
            ("--ylabel", &wishes.y_label),
        ] {
            if let Some(text) = text.as_ref().filter(|text| text.contains(char::is_control)) {
                return Err(format!(
                    "{option}: found {text:?}, allowed is text without control characters"
                )
                .into());
            }
        }
        let page = Self {
            width,
            height,
            font,
            family,
            title: wishes.title.clone().filter(|title| !title.is_empty()),
            x_label: wishes.x_label.clone(),
            y_label: wishes.y_label.clone(),
        };
        Ok(Some(page))
    }

    /// The page of bars without a wish.
    #[must_use]
    pub fn plain() -> Self {
        let (width, font) = Style::Plain.sizes();
        Self { width, height: None, font, family: None, title: None, x_label: None, y_label: None }
    }

    /// Units of the picture for each point: the type has the same number of units on every page.
    fn scale(&self) -> f64 {
        FONT / self.font
    }

    /// Width of the picture in its units.
    pub(super) fn units(&self) -> i32 {
        (self.width.points * self.scale()).round() as i32
    }

    /// Height of the picture in its units, if one was given.
    pub(super) fn units_down(&self) -> Option<i32> {
        self.height.as_ref().map(|height| (height.points * self.scale()).round() as i32)
    }

    /// Length of a side of `units`, as `--height` takes it.
    pub(super) fn length(&self, units: i32) -> String {
        format!("{:.2}in", (f64::from(units) / self.scale() / INCH * 100.0).ceil() / 100.0)
    }

    /// The attributes of a picture that is `units` high: its size with its unit, and its type.
    pub(super) fn attributes(&self, units: i32) -> String {
        let height = self.height.clone().unwrap_or_else(|| {
            let points = f64::from(units) / self.scale();
            let per = self.width.points / self.width.number;
            Length::new((points / per * 1000.0).round() / 1000.0, self.width.unit)
        });
        let family = self.family.as_deref().unwrap_or("DejaVu Sans");
        format!(
            "width=\"{}\" height=\"{height}\" font-family=\"{}, sans-serif\"",
            self.width,
            super::escape(family)
        )
    }

    /// Pixels of an inch of a PNG.
    #[must_use]
    pub fn resolution(&self) -> f64 {
        if self.width.unit == "px" { 96.0 } else { LINE_ART }
    }

    /// The family of the type, if one was chosen.
    #[must_use]
    pub fn family(&self) -> Option<&str> {
        self.family.as_deref()
    }
}

/// Size and family in the value of `--font`, such as `8pt`, `Times New Roman` or `8pt Times New
/// Roman`.
fn font(text: &str) -> Result<(Option<f64>, Option<String>), String> {
    let wrong = || {
        format!(
            "--font: found {text}, allowed is a size of {}pt to {}pt, a family of letters, digits, \
             blanks and hyphens, or both, such as \"8pt Times New Roman\"",
            TYPE.0, TYPE.1
        )
    };
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (size, family) = match first.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        true => {
            let size = Length::parse(first).filter(|size| size.unit != "px").ok_or_else(wrong)?;
            (Some(size.points), rest.trim())
        }
        false => (None, text.trim()),
    };
    let is_named = |c: char| c.is_alphanumeric() || c == ' ' || c == '-';
    let is_empty = size.is_none() && family.is_empty();
    if is_empty
        || !family.chars().all(is_named)
        || size.is_some_and(|size| !(TYPE.0..=TYPE.1).contains(&size))
    {
        return Err(wrong());
    }
    Ok((size, Some(family.to_owned()).filter(|family| !family.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(change: impl Fn(&mut Wishes)) -> Result<Option<Page>, String> {
        let mut wishes = Wishes::default();
        change(&mut wishes);
        Page::of(&wishes).map_err(|e| e.to_string())
    }

    #[test]
    fn without_a_wish_there_is_no_page_and_a_plain_page_is_as_wide_as_a_report_s_figure() {
        assert_eq!(page(|_| {}), Ok(None));
        let plain = page(|w| w.title = Some("t".into())).expect("sound").expect("a page");
        assert_eq!(plain.units(), super::super::panel::WIDTH);
    }

    #[test]
    fn lengths_of_every_unit_are_the_same_length() {
        for text in ["3.5in", "88.9mm", "8.89cm", "252pt", "336px", "336 px"] {
            let length = Length::side("--width", text, 100.0).expect(text);
            assert!((length.points - 252.0).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn a_size_of_type_is_the_size_of_all_type_at_any_width() {
        for (width, font, points) in [("3.5in", "8pt", 252.0), ("120mm", "10pt", 340.157)] {
            let page = page(|w| {
                w.width = Some(width.into());
                w.font = Some(font.into());
            });
            let page = page.expect("sound").expect("a page");
            let size = FONT * points / f64::from(page.units());
            assert!((size - page.font).abs() < 0.01, "{width}: {size}");
        }
    }

    #[test]
    fn a_bad_value_is_named_with_its_option_and_what_is_allowed() {
        type Change = fn(&mut Wishes);
        let cases: [(Change, &str); 9] = [
            (|w| w.width = Some("3 feet".into()), "--width: found 3 feet, allowed is a length of"),
            (|w| w.width = Some("-3in".into()), "--width: found -3in, allowed is a length of"),
            (|w| w.width = Some("nanin".into()), "--width: found nanin, allowed is a length of"),
            (|w| w.height = Some("9m".into()), "--height: found 9m, allowed is a length of 1.5"),
            (|w| w.height = Some("21in".into()), "--height: found 21in, allowed is a length of"),
            (|w| w.font = Some("6pt".into()), "--font: found 6pt, allowed is a size of 7pt to"),
            (|w| w.font = Some(String::new()), "--font: found , allowed is a size of 7pt to"),
            (|w| w.font = Some("a\"b".into()), "--font: found a\"b, allowed is a size of 7pt to"),
            (|w| w.title = Some("a\u{7}".into()), "--title: found \"a\\u{7}\", allowed is text"),
        ];
        for (change, begin) in cases {
            let said = page(change).expect_err(begin);
            assert!(said.starts_with(begin), "{said}");
        }
        let said = page(|w| {
            w.style = Style::Ieee;
            w.font = Some("20pt Times New Roman".into());
        });
        let said = said.expect_err("too large");
        assert_eq!(said, "--font: found 20pt, allowed are at most 14pt on a width of 3.5in");
    }

    #[test]
    fn without_a_style_the_type_of_a_column_has_eight_points() {
        for (width, size) in [("8in", 12.6), ("6in", 9.45), ("88mm", 8.0), ("600px", 9.84375)] {
            let page = page(|w| w.width = Some(width.into())).expect("sound").expect("a page");
            assert!((page.font - size).abs() < 1e-9, "{width}: {}", page.font);
        }
    }

    #[test]
    fn a_font_is_a_size_a_family_or_both() {
        assert_eq!(font("8pt"), Ok((Some(8.0), None)));
        assert_eq!(font("Times New Roman"), Ok((None, Some("Times New Roman".into()))));
        assert_eq!(font("9pt Arial"), Ok((Some(9.0), Some("Arial".into()))));
    }
}
