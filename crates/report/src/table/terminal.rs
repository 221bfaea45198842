//! Tables on a terminal.

use super::{Grid, RowKind, Style, Verdict};
use std::borrow::Cow;

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, TableStyle,
};

/// True if `c` controls a terminal or changes the order of the displayed text: control characters,
/// separators of lines and paragraphs, and marks of direction (Unicode Standard Annex #9, sections
/// 2.1 to 2.6).
const fn commands(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with escapes in place of characters that control a terminal, except line feeds, so that
/// names and file contents cannot change the screen.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| commands(c) && c != '\n';
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let one = |c: char| if hidden(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(one).collect())
}

/// As [`printable`], but leaves the colours and weights of [`terminal`] (`ESC [` digits and
/// semicolons `m`).
#[must_use]
pub fn printable_in_colour(text: &str) -> Cow<'_, str> {
    let Some((before, rest)) = text.split_once('\u{1b}') else { return printable(text) };
    let mut shown = printable(before).into_owned();
    for part in rest.split('\u{1b}') {
        let end = part.strip_prefix('[').and_then(|codes| {
            let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            codes[end..].starts_with('m').then_some(end + 2)
        });
        let (colour, plain) = part.split_at(end.unwrap_or(0));
        shown.push_str(if end.is_some() { "\u{1b}" } else { "\\u{1b}" });
        shown.push_str(colour);
        shown.push_str(&printable(plain));
    }
    Cow::Owned(shown)
}

/// Columns of a table of words if the terminal's width is unknown.
const WORDS_WIDTH: u16 = 120;

fn paint(cell: Cell, kind: RowKind, last_text: bool) -> Cell {
    match kind {
        RowKind::Method | RowKind::Part => cell,
        RowKind::Reference => cell.add_attribute(Attribute::Dim),
        RowKind::Claim(_) if !last_text => cell,
        RowKind::Claim(Verdict::Met) => cell.fg(Color::Green),
        RowKind::Claim(Verdict::Explained) => cell.fg(Color::Cyan),
        RowKind::Claim(Verdict::Missed) => cell.fg(Color::Red).add_attribute(Attribute::Bold),
        RowKind::Claim(Verdict::NotRun) => cell.fg(Color::Yellow),
    }
}

/// Horizontal rules at the ends and below the header.
const fn rules(line: char) -> TableStyle {
    let rule = LineStyle::none().fill(line).junction(line);
    TableStyle::new().top_border(rule).header_separator(rule).bottom_border(rule)
}

/// Width of column `i` without the blanks before it.
fn column_width(grid: &Grid, i: usize) -> usize {
    let texts = grid.rows.iter().map(|row| &row.cells[i]).chain([&grid.header[i]]);
    texts.flat_map(|text| text.lines()).map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Blanks between two columns.
const GAP: usize = 2;
/// Least width of a column of names, in characters.
const NARROWEST: usize = 8;
/// Columns of numbers for which names leave room: the number of runs and the first figure.
const NUMBERS: usize = 2;

/// The columns of numbers of `grid`, from the most to the least wanted.
fn by_want(grid: &Grid) -> Vec<usize> {
    let numbers = grid.numbers_from..grid.header.len();
    let last = grid.dropped_first.iter().rev().filter(|i| numbers.contains(i));
    numbers.clone().filter(|i| !grid.dropped_first.contains(i)).chain(last.copied()).collect()
}

/// Width of each column of `grid`, such that the names and the [`NUMBERS`] most wanted columns of
/// numbers fit into `width` if possible; the widest names shrink.
fn widths(grid: &Grid, width: Option<usize>) -> Vec<usize> {
    let mut widths: Vec<usize> = (0..grid.header.len()).map(|i| column_width(grid, i)).collect();
    let Some(width) = width else { return widths };
    let names = grid.numbers_from.min(widths.len());
    let wanted = by_want(grid).into_iter().take(NUMBERS);
    let numbers: usize = wanted.map(|i| GAP + widths[i]).sum();
    while numbers + widths[..names].iter().map(|one| GAP + one).sum::<usize>() > width {
        match widths[..names].iter_mut().max_by_key(|one| **one) {
            Some(widest) if *widest > NARROWEST => *widest -= 1,
            _ => break,
        }
    }
    widths
}

/// The columns of `grid` in their order that fit into `width`: names, at least [`NUMBERS`] columns
/// of numbers, and more until one does not fit.
fn fitting(grid: &Grid, widths: &[usize], width: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..grid.numbers_from.min(widths.len())).collect();
    let mut end: usize = kept.iter().map(|i| GAP + widths[*i]).sum();
    for (place, i) in by_want(grid).into_iter().enumerate() {
        end += GAP + widths[i];
        if place >= NUMBERS && end > width {
            break;
        }
        kept.push(i);
    }
    kept.sort_unstable();
    kept
}

/// `text` in lines of at most `width` characters, broken at blanks if possible.
fn broken(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut free = 0;
    for word in text.split(' ') {
        let letters: Vec<char> = word.chars().collect();
        match lines.last_mut() {
            Some(line) if letters.len() < free => {
                line.push(' ');
                line.push_str(word);
                free -= 1 + letters.len();
            }
            _ => {
                lines.extend(letters.chunks(width.max(1)).map(|part| part.iter().collect()));
                free = width - lines.last().map_or(0, |line| line.chars().count()).min(width);
            }
        }
    }
    lines.join("\n")
}

/// `text` in lines of at most `width` characters, all but the first indented by `indent`; a longer
/// word gets its own line.
fn wrapped(text: &str, width: Option<u16>, indent: usize) -> Vec<String> {
    let width = usize::from(width.unwrap_or(u16::MAX)).max(20);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{}{word}", " ".repeat(indent))),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `grid` for a terminal, without its notes and without a line feed at the end.
///
/// A table of numbers that is too wide loses its least wanted columns ([`Grid::dropped_first`]) and
/// says which. It wraps its names if not even two columns of numbers fit beside them. A table of
/// words is wrapped, at 120 columns by default. Reference rows follow an empty line; a row's note
/// is below it.
#[must_use]
pub fn terminal(grid: &Grid, style: Style) -> String {
    let words = grid.numbers_from >= grid.header.len();
    let width = style.width.filter(|_| !words).map(usize::from);
    let widths = widths(grid, width);
    let all = || (0..widths.len()).collect();
    let kept = width.map_or_else(all, |width| fitting(grid, &widths, width));
    let mut lines = drawn(grid, style, words, &widths, &kept);
    if kept.len() < grid.header.len() {
        lines.push("Too narrow for:".into());
        let dropped = grid.header.iter().enumerate().filter(|(i, _)| !kept.contains(i));
        lines.extend(dropped.flat_map(|(_, name)| {
            let name = name.replace('\n', " ");
            wrapped(&format!("  {}", printable(&name)), style.width, 4)
        }));
    }
    lines.join("\n")
}

/// The notes of tables, each once, in lines for a terminal.
#[must_use]
pub fn notes<'a>(grids: impl IntoIterator<Item = &'a Grid>, style: Style) -> String {
    let mut all: Vec<&String> = Vec::new();
    for note in grids.into_iter().flat_map(|grid| &grid.notes) {
        if !all.contains(&note) {
            all.push(note);
        }
    }
    let lines = all
        .into_iter()
        .flat_map(|note| wrapped(&printable(note), style.width.or(Some(WORDS_WIDTH)), 2));
    lines.fold(String::new(), |text, line| text + &line + "\n")
}

/// A line of text, wrapped for a terminal.
#[must_use]
pub fn line(text: &str, style: Style) -> String {
    wrapped(&printable(text), style.width, 2).join("\n")
}

/// The lines of the columns `kept` of `grid`; names are broken to fit their `widths`.
fn drawn(grid: &Grid, style: Style, words: bool, widths: &[usize], kept: &[usize]) -> Vec<String> {
    let fit = |i: usize, text: &str| match widths[i] {
        width if i < grid.numbers_from && !words => {
            text.split('\n').map(|line| broken(line, width)).collect::<Vec<_>>().join("\n")
        }
        _ => text.to_owned(),
    };
    let mut table = Table::new();
    table.load_style(rules(if style.colour { '─' } else { '-' }));
    table.set_content_arrangement(ContentArrangement::Disabled);
    if words {
        let width = style.width.unwrap_or(WORDS_WIDTH).max(20);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    if style.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let align =
        |i: usize| if i >= grid.numbers_from { CellAlignment::Right } else { CellAlignment::Left };
    let verdict_column = grid.header.iter().position(|name| name == "verdict");
    let header = kept.iter().map(|&i| (i, &grid.header[i]));
    table.set_header(
        header.map(|(i, name)| Cell::new(fit(i, &printable(name))).set_alignment(align(i))),
    );
    let mut apart = false;
    // The number of lines of a row of numbers is known, so the position of a note is known too.
    let mut notes: Vec<(usize, &str)> = Vec::new();
    let mut below = 0;
    for row in &grid.rows {
        if row.kind == RowKind::Reference && !apart {
            table.add_row(kept.iter().map(|_| Cell::new("")));
            apart = true;
            below += 1;
        }
        let mut height = 1;
        table.add_row(kept.iter().map(|&i| (i, &row.cells[i])).map(|(i, text)| {
            // A name may contain characters that move the cursor; a replacement for each keeps the
            // width.
            let text = fit(i, &text.replace(commands, "\u{fffd}"));
            height = height.max(text.lines().count());
            let cell = Cell::new(text).set_alignment(align(i));
            if style.colour { paint(cell, row.kind, Some(i) == verdict_column) } else { cell }
        }));
        below += height;
        if !row.note.is_empty() && !words {
            notes.push((below, &row.note));
        }
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((1, 0));
    });
    let mut lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let head = lines.len() - 1 - below.min(lines.len() - 1);
    for (below, note) in notes.into_iter().rev() {
        let text = wrapped(&format!("   {}", printable(note)), style.width, 5);
        lines.splice(head + below..head + below, text);
    }
    lines
}
