//! Figures as SVG. Text stays text, colours are safe for colour-blind readers, and shapes carry the
//! same information in print.

mod axis;
mod backlog;
mod bars;
mod boxes;
mod cdf;
mod curves;
mod front;
mod handover;
mod heat;
mod layers;
mod over_sweep;
mod over_time;
pub mod page;
mod palette;
mod panel;
mod paper;
#[cfg(feature = "png")]
mod pdf;
pub mod plot;
#[cfg(feature = "png")]
mod png;
mod quantum;
mod scatter;
pub mod trace;

pub(crate) use bars::{Bar, Bars};
pub(crate) use cdf::tail;
pub(crate) use curves::{Chart, Curve, Range, Side, Span, Stroke, curves, curves_on};
pub use front::front;
pub(crate) use heat::Heat;
pub(crate) use over_time::charts;
pub use palette::{Palette, PaperLook, dash_patterns};
#[cfg(feature = "png")]
pub use pdf::{pdf, pdf_on};
#[cfg(feature = "png")]
pub use png::{png, png_on};

use justfull_lab::model::{Comparison, Family, Group};
use serde::Serialize;

/// A figure with its texts for a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// Unique in a comparison, suitable for a file name and an anchor.
    pub id: String,
    /// Heading.
    pub title: String,
    /// The caption: the content and how to read it.
    pub caption: String,
    /// The picture: a complete SVG document without a fixed size, which scales to its container's
    /// width. The surrounding page has the colours for dark screens.
    pub svg: String,
}

/// The style of figures on a dark screen.
pub(crate) const DARK: &str = include_str!("figure/dark.css");

impl Figure {
    /// The picture as a document of its own, with its colours for dark screens.
    #[must_use]
    pub fn standalone(&self) -> String {
        self.svg.replacen("</title>", &format!("</title><style>{DARK}</style>"), 1)
    }

    fn new(id: String, title: String, caption: String, picture: &str) -> Self {
        let svg = panel::finish(picture, &title);
        Self { id, title, caption, svg }
    }
}

/// Figures over all points of a sweep; `number` makes their ids unique.
fn of_family(family: &Family<'_>, number: usize, palette: &Palette) -> Vec<Figure> {
    let figures = [
        over_sweep::over_sweep(family, number, palette),
        scatter::delay_against_utilisation(family, number, palette),
        scatter::delay_against_backlog(family, number, palette),
        quantum::quantum_boxes(family, number),
    ];
    figures.into_iter().flatten().collect()
}

/// Figures of one point of a sweep; `number` makes their ids unique.
fn of_group(group: &Group, number: usize, palette: &Palette) -> Vec<Figure> {
    let figures = [
        over_time::delay_over_time(group, number, palette),
        over_time::goodput_over_time(group, number, palette),
        boxes::delay_boxes(group, number, palette),
        cdf::sojourn_cdfs(group, number, palette),
        cdf::delay_tails(group, number, palette),
        handover::delay_around(group, number, palette),
        backlog::backlog_over_time(group, number, palette),
        layers::backlog_by_layer(group, number, palette),
    ];
    figures.into_iter().flatten().collect()
}

/// All figures of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Figures of each family, over all its points.
    pub(crate) families: Vec<Vec<Figure>>,
    /// Figures of each group.
    pub(crate) groups: Vec<Vec<Figure>>,
}

impl Figures {
    /// Draws the figures of `comparison`.
    #[must_use]
    pub fn of(comparison: &Comparison) -> Self {
        let palette = Palette::of(comparison);
        let families = comparison.families();
        let (families, groups) =
            (families.iter().enumerate(), comparison.groups.iter().enumerate());
        Self {
            families: families.map(|(i, family)| of_family(family, i + 1, &palette)).collect(),
            groups: groups.map(|(i, group)| of_group(group, i + 1, &palette)).collect(),
        }
    }

    /// The figures, families before groups.
    pub fn iter(&self) -> impl Iterator<Item = &Figure> {
        self.families.iter().chain(&self.groups).flatten()
    }
}

/// The picture `svg` as a PNG file.
///
/// # Errors
/// Always: this build cannot draw PNG.
#[cfg(not(feature = "png"))]
pub fn png(_svg: &str) -> Result<Vec<u8>, crate::ReportError> {
    Err("this build has no PNG; build with --features png".into())
}

/// The picture `svg` of a page as a PNG file.
///
/// # Errors
/// Always: this build cannot draw PNG.
#[cfg(not(feature = "png"))]
pub fn png_on(_page: &page::Page, svg: &str) -> Result<Vec<u8>, crate::ReportError> {
    png(svg)
}

/// The picture `svg` of a page as a PDF file.
///
/// # Errors
/// Always: this build cannot draw PDF.
#[cfg(not(feature = "png"))]
pub fn pdf_on(_page: &page::Page, svg: &str) -> Result<Vec<u8>, crate::ReportError> {
    pdf(svg)
}

/// The picture `svg` as a PDF file.
///
/// # Errors
/// Always: this build cannot draw PDF.
#[cfg(not(feature = "png"))]
pub fn pdf(_svg: &str) -> Result<Vec<u8>, crate::ReportError> {
    Err("this build has no PDF; build with --features png".into())
}

/// `text` with the special characters of SVG and HTML escaped, for text and attributes. Control
/// characters, invalid in both, are replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// `n` and `noun`, in the plural unless `n` is one.
fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::example;

    #[test]
    fn every_figure_is_drawn_once_and_names_every_method() {
        let comparison = example::comparison(2);
        let figures = Figures::of(&comparison);
        let figures: Vec<&Figure> = figures.iter().collect();
        assert_eq!(figures.len(), 3 + 7 * comparison.groups.len());
        let mut ids: Vec<&str> = figures.iter().map(|f| f.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), figures.len());
        for figure in figures {
            assert!(figure.svg.starts_with("<svg ") && figure.svg.trim_end().ends_with("</svg>"));
            for method in ["Vanilla", "CoDel", "5G-BDP", "clairvoyant"] {
                assert!(figure.svg.contains(method), "{} lacks {method}", figure.id);
            }
            assert!(!figure.svg.contains("NaN") && !figure.svg.contains("inf"), "{}", figure.id);
        }
    }

    #[test]
    fn the_same_runs_give_the_same_picture() {
        assert_eq!(Figures::of(&example::comparison(1)), Figures::of(&example::comparison(1)));
    }

    #[test]
    fn names_are_escaped_inside_a_picture() {
        let mut comparison = example::comparison(1);
        comparison.groups.truncate(1);
        comparison.groups[0].runs[0].method = "<a&b>".into();
        for figure in Figures::of(&comparison).iter() {
            assert!(!figure.svg.contains("<a&b>"), "{}", figure.id);
            assert!(figure.svg.contains("&lt;a&amp;b&gt;"), "{}", figure.id);
        }
    }

    #[test]
    fn runs_without_flows_or_series_give_fewer_figures_and_no_panic() {
        let mut comparison = example::comparison(1);
        comparison.groups.truncate(1);
        for run in &mut comparison.groups[0].runs {
            run.flows.clear();
            run.layers.clear();
            run.series = justfull_run::results::Series::default();
        }
        for comparison in [comparison, Comparison::default()] {
            assert_eq!(Figures::of(&comparison).iter().count(), 0);
        }
    }

    #[test]
    fn long_series_are_thinned() {
        let comparison = example::comparison(1);
        for figure in Figures::of(&comparison).iter() {
            let paths = figure.svg.split(" d=\"").skip(1).filter_map(|rest| rest.split('"').next());
            // Each step but the first holds a comma or a sign between its two numbers.
            let points = paths.map(|path| path.matches([' ', '-']).count());
            assert!(points.max().unwrap_or(0) <= 2000, "{}", figure.id);
            assert!(figure.svg.len() < 150_000, "{}: {} bytes", figure.id, figure.svg.len());
        }
    }
}
