//! Tables as text: what separates the fields of a line, found from the file, and its rows.
//!
//! The rules of quotes follow the csv crate's parser (RFC 4180). A record ends with its line.

use super::clock::is_instant;
use super::error::quote;
use super::lines::Marks;
use super::number::{Decimal, is_missing};
use super::rows::{self, At};
use super::{MAX_LINE, TraceError};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use justfull_base::choice;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// Lines looked at to find what separates fields.
const LOOKED_AT: usize = 64;

choice! {
    serde;
    /// The separator of the fields of a line.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Separator {
        /// A tab.
        Tab = "tab",
        /// `;`.
        Semicolon = "semicolon",
        /// `,`.
        #[default]
        Comma = "comma",
        /// `|`.
        Pipe = "pipe",
        /// One or more blanks.
        Blank = "blank",
    }
}

impl Separator {
    const fn byte(self) -> u8 {
        match self {
            Self::Tab => b'\t',
            Self::Semicolon => b';',
            Self::Comma => b',',
            Self::Pipe => b'|',
            Self::Blank => b' ',
        }
    }
}

choice! {
    serde;
    /// The sign before the fraction of a number.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DecimalSign {
        /// `12.5`.
        #[default]
        Point = "point",
        /// `12,5`.
        Comma = "comma",
    }
}

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) separator: Separator,
    /// Numbers have a decimal comma.
    pub(super) comma: bool,
}

impl Dialect {
    /// The dialect of the file that begins with `head`; `separator` and `sign` take precedence. A
    /// first line that states the separator becomes a comment.
    pub(super) fn of_file(
        head: &mut [u8],
        separator: Option<Separator>,
        sign: Option<DecimalSign>,
    ) -> Self {
        let stated = stated(head);
        Self::find(head, separator.or(stated), sign)
    }

    /// The dialect of the table that begins with `head`, as far as it is not given.
    pub(super) fn find(
        head: &[u8],
        separator: Option<Separator>,
        sign: Option<DecimalSign>,
    ) -> Self {
        let lines = first_lines(head);
        let allowed = |candidate: &Separator| match separator {
            Some(given) => given == *candidate,
            None => sign != Some(DecimalSign::Comma) || *candidate != Separator::Comma,
        };
        let mut best = (0, Self { separator: separator.unwrap_or_default(), comma: false });
        for candidate in Separator::ALL.into_iter().filter(allowed) {
            let comma = match sign {
                Some(sign) => sign == DecimalSign::Comma,
                // Between commas only a field in quotes has one.
                None => has_commas(candidate, &lines),
            };
            let score = score(candidate, comma, &lines);
            if score > best.0 {
                best = (score, Self { separator: candidate, comma });
            }
        }
        best.1.comma |= sign == Some(DecimalSign::Comma);
        best.1
    }

    /// In words, where it is not what a CSV file has.
    pub(super) fn note(self) -> Option<String> {
        let separated = match self.separator {
            Separator::Comma => None,
            Separator::Tab => Some("tabs"),
            Separator::Semicolon => Some("semicolons"),
            Separator::Pipe => Some("pipes"),
            Separator::Blank => Some("blanks"),
        };
        match (separated, self.comma) {
            (None, false) => None,
            (Some(what), false) => Some(format!("fields are separated by {what}")),
            (Some(what), true) => {
                Some(format!("fields are separated by {what} and numbers have a decimal comma"))
            }
            (None, true) => Some("numbers have a decimal comma".into()),
        }
    }
}

/// The separator from a first line such as `sep=;`, which Excel writes. The line becomes a comment.
fn stated(head: &mut [u8]) -> Option<Separator> {
    let from = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let end = head.iter().position(|&byte| byte == b'\n')?;
    let line = head.get(from..end)?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let (name, sign) = line.split_at_checked(4)?;
    if !name.eq_ignore_ascii_case(b"sep=") {
        return None;
    }
    let found = Separator::ALL.into_iter().find(|one| sign == [one.byte()])?;
    head[from] = b'#';
    Some(found)
}

/// The first lines that are neither empty nor comments; the last of them may be cut, and is left
/// out when there are others.
fn first_lines(head: &[u8]) -> Vec<&str> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let whole = head.ends_with(b"\n") || head.len() < MAX_LINE;
    let text = |line| std::str::from_utf8(line).ok();
    let kept = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let all = head.split(|&byte| byte == b'\n').filter_map(text).filter(kept);
    let mut lines: Vec<&str> = all.take(LOOKED_AT + 1).collect();
    if lines.len() > LOOKED_AT || (!whole && lines.len() > 1) {
        lines.pop();
    }
    lines
}

/// How well `separator` fits: by the lines with as many fields as the first one, and the share of
/// their fields that are values. 0 where it separates nothing.
fn score(separator: Separator, comma: bool, lines: &[&str]) -> u64 {
    let mut splitter = Splitter::new(separator);
    let (mut wanted, mut same, mut fields, mut values) = (0, 0, 0, 0);
    for (index, line) in lines.iter().enumerate() {
        let Some(record) = splitter.split(line) else { continue };
        if index == 0 {
            wanted = record.len();
        }
        if record.len() == wanted {
            same += 1;
            fields += record.len() as u64;
            values += record.iter().filter(|field| is_value(field, comma)).count() as u64;
        }
    }
    if wanted < 2 || 2 * same < lines.len() {
        return 0;
    }
    // Lines count first, since a wrong separator gives lines of several lengths.
    let share = |part: u64, all: u64| part * 1000 / all.max(1);
    1 + share(same as u64, lines.len() as u64) * 1000 + share(values, fields)
}

/// True where some field between separators is a number only with a decimal comma, and none is one
/// only with a point. Quoted numbers between commas that could all have thousands, such as `1,500`,
/// show no decimal comma.
fn has_commas(separator: Separator, lines: &[&str]) -> bool {
    let mut splitter = Splitter::new(separator);
    let (mut commas, mut points, mut fractions) = (false, false, separator != Separator::Comma);
    for line in lines {
        let Some(record) = splitter.split(line) else { continue };
        for field in record.iter() {
            let (comma, point) = (Decimal::parse(field, true), Decimal::parse(field, false));
            commas |= comma.is_some() && point.is_none();
            points |= point.is_some() && comma.is_none();
            fractions |= comma.is_some() && point.is_none() && !may_have_thousands(field);
        }
    }
    commas && fractions && !points
}

/// True for `1,500`: a thousand and a half, or one and a half.
fn may_have_thousands(field: &str) -> bool {
    field.split_once(',').is_some_and(|(whole, rest)| {
        rest.len() == 3 && matches!(whole.len(), 1..=3) && !whole.starts_with('0')
    })
}

/// True for a field of a row rather than the name of a column.
pub(super) fn is_value(field: &str, comma: bool) -> bool {
    Decimal::parse(field, comma).is_some() || is_missing(field) || is_instant(field)
}

/// Splits lines into fields.
#[derive(Debug)]
pub(super) struct Splitter {
    reader: Reader,
    blanks: bool,
    text: Vec<u8>,
    ends: Vec<usize>,
    spans: Vec<Range<usize>>,
}

impl Splitter {
    pub(super) fn new(separator: Separator) -> Self {
        Self {
            reader: ReaderBuilder::new().delimiter(separator.byte()).build(),
            blanks: separator == Separator::Blank,
            text: vec![0; MAX_LINE + 1],
            ends: vec![0; MAX_LINE + 2],
            spans: Vec::new(),
        }
    }

    /// The fields of `line`, of at most [`MAX_LINE`] bytes; none if a quote does not end. A line
    /// may end with a carriage return.
    pub(super) fn split(&mut self, line: &str) -> Option<Record<'_>> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        self.reader.reset();
        self.spans.clear();
        let (_, _, written, ended) =
            self.reader.read_record(line.as_bytes(), &mut self.text, &mut self.ends);
        let (done, _, more, last) =
            self.reader.read_record(b"\n", &mut self.text[written..], &mut self.ends[ended..]);
        if done != ReadRecordResult::Record {
            return None;
        }
        let text = std::str::from_utf8(&self.text[..written + more]).ok()?;
        let mut from = 0;
        for &end in &self.ends[..ended + last] {
            if !self.blanks || end > from {
                self.spans.push(from..end);
            }
            from = end;
        }
        Some(Record { text, spans: &self.spans })
    }
}

/// The fields of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    text: &'a str,
    spans: &'a [Range<usize>],
}

impl<'a> Record<'a> {
    pub(super) const fn len(&self) -> usize {
        self.spans.len()
    }

    /// The field at `index`, without blanks around it; empty beyond the last.
    pub(super) fn get(&self, index: usize) -> &'a str {
        self.spans.get(index).map_or("", |span| self.text[span.clone()].trim())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a str> {
        let text = self.text;
        self.spans.iter().map(move |span| text[span.clone()].trim())
    }

    /// Refuses a row that has not `wanted` fields; one more that is empty is the end of its line.
    pub(super) fn ensure_fields(
        &self,
        at: &At<'_>,
        column: &str,
        wanted: usize,
    ) -> Result<(), TraceError> {
        let found = self.len();
        if found == wanted || (found == wanted + 1 && self.get(wanted).is_empty()) {
            return Ok(());
        }
        let allowed = format!("{wanted} fields as in the first line");
        let fields = if found == 1 { "field" } else { "fields" };
        Err(at.malformed(column, format!("{found} {fields}"), allowed))
    }
}

/// Calls `take` with each row of a table; `column` names the subject of an error about a whole
/// line. Empty lines are no rows.
pub(super) fn each<'p, R: Read>(
    reader: R,
    path: &'p Path,
    dialect: Dialect,
    column: &str,
    mut take: impl FnMut(At<'p>, &Record<'_>) -> Result<(), TraceError>,
) -> Result<Marks, TraceError> {
    let mut splitter = Splitter::new(dialect.separator);
    rows::each(reader, path, column, rows::Empty::Skipped, |at, row| {
        let at = At { comma: dialect.comma, ..at };
        let text = at.text(column, row)?;
        let Some(record) = splitter.split(text) else {
            let allowed = "quotes that end on their line";
            return Err(at.malformed(column, quote(text), allowed));
        };
        take(at, &record)
    })
}

/// Where the column called `name` is among `names`: by its name whatever the case, else by its
/// number from 1.
pub(super) fn place(names: &[String], name: &str) -> Option<usize> {
    let by_name = || names.iter().position(|own| own.eq_ignore_ascii_case(name));
    let by_number = || {
        let number: usize = name.parse().ok()?;
        (1..=names.len()).contains(&number).then(|| number - 1)
    };
    names.iter().position(|own| own == name).or_else(by_name).or_else(by_number)
}

/// The numbers from 1 of the columns called `name`, where there are several.
pub(super) fn several(names: &[String], name: &str) -> Option<String> {
    let same = names.iter().zip(1..).filter(|(own, _)| *own == name);
    let numbers: Vec<String> = same.map(|(_, number): (_, usize)| number.to_string()).collect();
    (numbers.len() > 1).then(|| numbers.join(" or "))
}

/// The three names that are most like `name`, and how many there are.
pub(super) fn nearest(names: &[String], name: &str) -> String {
    let wanted = name.to_lowercase();
    let likeness = |own: &String| strsim::jaro_winkler(&wanted, &own.to_lowercase());
    let mut near: Vec<&String> = names.iter().collect();
    near.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    near.truncate(3);
    let near: Vec<String> = near.into_iter().map(|own| quote(own)).collect();
    match names.len() {
        count @ ..=3 => format!("{}, or a number from 1 to {count}", near.join(", ")),
        count => format!("one of {count} columns, such as {}", near.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(head: &str) -> (Separator, bool) {
        let dialect = Dialect::find(head.as_bytes(), None, None);
        (dialect.separator, dialect.comma)
    }

    #[test]
    fn the_separator_of_fields_is_found_from_the_file() {
        use Separator::{Blank, Comma, Pipe, Semicolon, Tab};
        for (head, want) in [
            ("time,rate\n0,12.5\n1,11\n", (Comma, false)),
            ("zeit;rate\n0,0;12,5\n0,5;11,25\n1,0;9\n", (Semicolon, true)),
            ("time;a;b\n0;1;1.2e+07\n1;1;5\n", (Semicolon, false)),
            ("0.0 1.58\n0.5 3.35\n", (Blank, false)),
            ("0.0   1.58\n10.5  3.35\n", (Blank, false)),
            ("0,0 1,58\n0,5 3,35\n", (Blank, true)),
            ("0.0\t1.58\n0.5\t3.35\n", (Tab, false)),
            ("t\trate\n0,0\t1,58\n", (Tab, true)),
            ("time,place,rate\n0,\"Cork, IE\",12.5\n1,x,3\n", (Comma, false)),
            ("Time (s),DL rate (Mbit/s)\n0,12.5\n", (Comma, false)),
            ("time,rate\n2024-05-14 09:31:02.113,12.5\n", (Comma, false)),
            ("time;rate\n2024-05-14 09:31:02;12,5\n", (Semicolon, true)),
            ("# a, b; c\n\n0 1\n", (Blank, false)),
            ("zeit,rate\n\"0,0\",\"12,5\"\n1,\"3,5\"\n", (Comma, true)),
            ("time,rate\n0,\"1,500\"\n1,\"12,250\"\n", (Comma, false)),
            ("time,rate\n0,\"0,500\"\n1,\"1,250\"\n", (Comma, true)),
            ("time|rate\n0|1.5\n1|2\n", (Pipe, false)),
            ("bytes\n5\n", (Comma, false)),
            ("", (Comma, false)),
        ] {
            assert_eq!(found(head), want, "{head:?}");
            let carriage_returns = head.replace('\n', "\r\n");
            assert_eq!(found(&carriage_returns), want, "{carriage_returns:?}");
        }
        let given = Dialect::find(b"0,5 1,25\n", None, Some(DecimalSign::Comma));
        assert_eq!((given.separator, given.comma), (Blank, true));
        let given = Dialect::find(b"a;b,c\n", Some(Comma), None);
        assert_eq!(given.separator, Comma);
    }

    #[test]
    fn fields_are_split_by_the_rules_of_quotes() {
        let mut splitter = Splitter::new(Separator::Comma);
        let mut fields = |line: &str| -> Option<Vec<String>> {
            Some(splitter.split(line)?.iter().map(str::to_string).collect())
        };
        assert_eq!(
            fields("0,\"Cork, IE\", 12.5 "),
            Some(vec!["0".into(), "Cork, IE".into(), "12.5".into()])
        );
        assert_eq!(fields("\"a \"\"b\"\"\",,"), Some(vec!["a \"b\"".into(), "".into(), "".into()]));
        assert_eq!(fields("\"open,1"), None);
        assert_eq!(fields("1,2"), Some(vec!["1".into(), "2".into()]), "after an open quote");
        let mut blanks = Splitter::new(Separator::Blank);
        let record = blanks.split("  0.5   12  x ").expect("fields");
        assert_eq!(record.iter().collect::<Vec<_>>(), ["0.5", "12", "x"]);
        let long = "1,".repeat(MAX_LINE / 2);
        assert_eq!(
            Splitter::new(Separator::Comma).split(&long).map(|r| r.len()),
            Some(MAX_LINE / 2 + 1)
        );
    }

    #[test]
    fn columns_go_by_name_or_number_and_the_nearest_are_named() {
        let names: Vec<String> = ["Time", "DL_rate", "UL_rate", "2"].map(String::from).into();
        assert_eq!(place(&names, "dl_rate"), Some(1));
        assert_eq!(place(&names, "3"), Some(2));
        assert_eq!(place(&names, "2"), Some(3), "a name comes before a number");
        assert_eq!(
            (place(&names, "0"), place(&names, "5"), place(&names, "x")),
            (None, None, None)
        );
        assert_eq!(
            nearest(&names, "dlrate"),
            "one of 4 columns, such as `DL_rate`, `UL_rate`, `Time`"
        );
    }
}
