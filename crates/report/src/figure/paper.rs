//! Figures for papers: title and legend above one frame with axes, on a page of a given size.

use super::Figure;
use super::axis::Axis;
use super::page::Page;
use super::panel::{self, Glyph, LINE, Panel, legend_height_on, paper, text_width};
use crate::ReportError;

/// Height of a frame with its axes for each unit of width, unless the height is given.
const SHARE: f64 = 0.62;
/// Least height of a frame with its axes.
const LEAST: i32 = 260;

/// What a figure for a paper shows, but for the content of its frame.
pub(super) struct Paper<'a> {
    pub(super) page: &'a Page,
    /// The figure without its picture.
    pub(super) figure: Figure,
    pub(super) legend: &'a [(String, Glyph)],
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Space left of the axes.
    pub(super) left: i32,
    /// Height of the frame with its axes, unless the page gives the height.
    pub(super) height: Option<i32>,
}

impl Paper<'_> {
    /// The figure with the content of its frame drawn by `draw`.
    pub(super) fn draw(self, draw: impl FnOnce(&Panel<'_, '_>)) -> Result<Figure, ReportError> {
        let Self { page, figure, legend, x, y, left, height } = self;
        let width = page.units();
        let title = if page.title.is_some() { LINE } else { 0 };
        let head = match legend_height_on(legend, width) {
            0 => title,
            legend => title + legend + LINE / 2,
        };
        let own = height.unwrap_or_else(|| (SHARE * f64::from(width)) as i32);
        let whole = page.units_down().unwrap_or(head + own);
        let most = |what: &str, text: &str, room: i32| match text_width(text) > room {
            true => Err(format!(
                "{what}: found {} characters, allowed are {} at this size",
                text.chars().count(),
                fitting(room)
            )),
            false => Ok(()),
        };
        if whole - head < LEAST {
            let (found, least) = (page.length(whole), page.length(head + LEAST));
            return Err(format!(
                "--height: found {found}, allowed is {least} and more: legend and axes need it"
            )
            .into());
        }
        let x = x.labelled(page.x_label.as_deref());
        let y = y.labelled(page.y_label.as_deref());
        for (option, text, room) in [
            ("--title", &page.title, width),
            ("--xlabel", &page.x_label, width),
            ("--ylabel", &page.y_label, whole - head),
        ] {
            text.as_deref().map_or(Ok(()), |text| most(option, text, room))?;
        }
        let svg = paper((width, whole), |sheet| {
            if let Some(text) = &page.title {
                sheet.text_over((width / 2, 6 + LINE / 2), text);
            }
            sheet.legend(title + 6, legend);
            let size = (width - left, whole - head);
            draw(&Panel::new(sheet, (left, head), size, "", x, y));
        });
        let name = page.title.as_deref().unwrap_or(&figure.title);
        let svg = panel::finish_with(&svg, name, &page.attributes(whole));
        Ok(Figure { svg, ..figure })
    }
}

/// Number of characters that surely fit `room`.
pub(super) fn fitting(room: i32) -> usize {
    (1..).take_while(|n| text_width(&"m".repeat(*n)) <= room).last().unwrap_or(0)
}
