//! The message about a table without named columns: its columns, and the options that would read
//! it.

use super::super::clock::{self, Named, is_instant};
use super::super::error::{SINGLE_BYTES, in_utf8, quote};
use super::super::number::Decimal;
use super::super::rows::is_control;
use super::super::table::{Splitter, is_value};
use super::super::unit::{Spelled, in_name};
use super::super::words::Given;
use super::super::{FileFormat, ReadOption, ReadOptions, TraceError};
use super::Source;
use super::columns::{is_unit, starts_as_number, titled};

/// Most columns that are listed.
const LISTED: usize = 40;

/// Refuses a file in UTF-16, which contains no table for any reader.
pub(super) fn ensure_narrow(source: &Source<'_>, head: &[u8]) -> Result<(), TraceError> {
    // Without a mark, a letter of the Latin script has a byte 0 beside it.
    let from = match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16",
        [0, ..] => "UTF-16BE",
        [_, 0, ..] => "UTF-16LE",
        _ => return Ok(()),
    };
    Err(source.unusable("text in UTF-16", &in_utf8(source.path, from)))
}

/// The first line of `head` that is no UTF-8, from 1, if it may be text; its last line may be cut.
fn foreign_line(head: &[u8]) -> Option<usize> {
    if head.iter().any(|byte| is_control(byte) && !matches!(byte, b'\n' | b'\r')) {
        return None;
    }
    let error = std::str::from_utf8(head).err().filter(|error| error.error_len().is_some())?;
    Some(1 + head[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count())
}

/// The refusal of a file that is in no format that its first line shows.
pub(super) fn unplaced(source: &Source<'_>, head: &[u8]) -> TraceError {
    if let Some(line) = foreign_line(head) {
        let found = format!("no UTF-8 in line {line}");
        return source.unusable(&found, &in_utf8(source.path, SINGLE_BYTES));
    }
    if head.contains(&b'\r') && !head.contains(&b'\n') {
        return source.unusable("lines that end in CR alone", "lines that end in LF or CRLF");
    }
    let Some([first, second, third]) = first_rows(source, head) else {
        return source.unusable("a quote that does not end on its line", "quotes that do");
    };
    let comma = source.dialect.comma;
    let values = |row: &[String]| row.iter().filter(|field| is_value(field, comma)).count();
    // A table has numbers, in its first line or below the names of its columns.
    let has_names = values(&first) < first.len();
    if first.len() > 1 && has_names && second.is_empty() {
        let found = format!("the columns {} and no row", listed(&first));
        return source.unusable(&found, "a table with at least two rows");
    }
    let same = first.len() > 1 && [second.len(), third.len()] == [first.len(); 2];
    let has_units = has_names && same && second.iter().any(|field| is_unit(field));
    if has_names && !has_units && same && values(&second) == 0 && values(&third) > 0 {
        let found = format!("two lines of names before the numbers, {} second", listed(&second));
        return source.unusable(&found, "one line of names, with the units in it or below it");
    }
    let sample = match (has_units, has_names) {
        (true, _) => &third,
        (false, true) => &second,
        (false, false) => &first,
    };
    let has_numbers = values(sample) > 0 || sample.iter().any(|field| starts_as_number(field));
    if first.len() < 2 || sample.len() != first.len() || !has_numbers {
        let names = FileFormat::ALL.map(FileFormat::name).join(", ");
        let option = source.aside(ReadOption::Format);
        let allowed = format!("one of {names}; if it is one of them, name it{option}");
        return source.unusable("no format that is known by its first line", &allowed);
    }
    let names: Vec<String> = if has_names {
        first.clone()
    } else {
        (1..=first.len()).map(|number| number.to_string()).collect()
    };
    let titles: Vec<String> = match has_units {
        true => names.iter().zip(&second).map(|(name, unit)| titled(name, unit)).collect(),
        false => names.clone(),
    };
    let guess = guess(Columns { names: &names, titles: &titles, sample, comma });
    TraceError::Unnamed {
        path: source.path.into(),
        found: format!("a table with the columns {}", listed(&names)),
        allowed: format!("the names of two of them: {}", guess.call(source)),
        guess: guess.owned(),
        columns: names,
    }
}

/// The first three rows of a table, empty where it has fewer; none if a quote does not end.
fn first_rows(source: &Source<'_>, head: &[u8]) -> Option<[Vec<String>; 3]> {
    let text = String::from_utf8_lossy(head);
    let lines = text.lines().map(|line| line.trim_start_matches('\u{feff}'));
    let kept = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let mut splitter = Splitter::new(source.dialect.separator);
    let mut rows: [Vec<String>; 3] = Default::default();
    for (row, line) in rows.iter_mut().zip(lines.filter(kept)) {
        *row = splitter.split(line)?.iter().map(str::to_string).collect();
    }
    Some(rows)
}

/// The refusal of a table of bytes whose rows have no length, with the command that reads it by its
/// times if it has any.
pub(super) fn no_interval(source: &Source<'_>, head: &[u8]) -> TraceError {
    let [columns, sample, _] = first_rows(source, head).unwrap_or_default();
    let has_times = columns.len() == sample.len() && time_column(&columns, &sample).is_some();
    let comma = source.dialect.comma;
    let (names, sample) = (&columns, &sample);
    let guess = has_times.then(|| guess(Columns { names, titles: names, sample, comma }));
    let found = match &columns[..] {
        [one] => format!("the column {} alone, which has no times", quote(one)),
        several => format!("the columns {} without the length of a row", listed(several)),
    };
    let row = [Given { option: ReadOption::Row, value: "100ms" }];
    let path = source.path.display().to_string();
    let by_row = source.options.words.call(&path, &row);
    let by_row = format!("the length of a row: {by_row} (or the length that it has)");
    let allowed = match &guess {
        Some(guess) => format!("{by_row}, or the names of two columns: {}", guess.call(source)),
        None => by_row,
    };
    let path = source.path.into();
    let guess = guess.map(|guess| guess.owned()).unwrap_or_default();
    TraceError::Unnamed { path, found, allowed, columns, guess }
}

/// The options for a table of CQIs with a column of times, which they then name.
pub(super) fn timed(source: &Source<'_>, format: FileFormat, head: &[u8]) -> Option<ReadOptions> {
    if format != FileFormat::Cqi || source.options.time_column.is_some() {
        return None;
    }
    let [names, sample, _] = first_rows(source, head)?;
    let time = time_column(&names, &sample).filter(|_| names.len() == sample.len())?;
    let comma = source.dialect.comma;
    let is_time = Decimal::parse(&sample[time], comma).is_some() || is_instant(&sample[time]);
    let name = names[time].clone();
    is_time.then(|| ReadOptions { time_column: Some(name), ..source.options.clone() })
}

fn listed(names: &[String]) -> String {
    let mut all: Vec<String> = names.iter().take(LISTED).map(|name| quote(name)).collect();
    if names.len() > LISTED {
        all.push(format!("{} more", names.len() - LISTED));
    }
    all.join(", ")
}

/// Options that read a table.
struct Guess<'a> {
    options: Vec<Given<'a>>,
    /// No name says the unit, which is the last of them.
    is_unit_open: bool,
}

impl Guess<'_> {
    /// What reads the table with them.
    fn call(&self, source: &Source<'_>) -> String {
        let path = source.path.display().to_string();
        let call = source.options.words.call(&path, &self.options);
        format!("{call}{}", if self.is_unit_open { " (or the unit that it has)" } else { "" })
    }

    fn owned(&self) -> Vec<(ReadOption, String)> {
        self.options.iter().map(|given| (given.option, given.value.into())).collect()
    }
}

/// The columns of a table: their names, these with their units, and the first row.
struct Columns<'a> {
    names: &'a [String],
    titles: &'a [String],
    sample: &'a [String],
    comma: bool,
}

/// Options that read the table, with the columns that look right.
fn guess(columns: Columns<'_>) -> Guess<'_> {
    let Columns { names, titles, sample, comma } = columns;
    let lower: Vec<String> = titles.iter().map(|name| name.to_lowercase()).collect();
    let is_number = |at: &usize| Decimal::parse(&sample[*at], comma).is_some();
    let all = || 0..names.len();
    let has = |at: usize, words: &[&str]| words.iter().any(|word| lower[at].contains(word));
    let time = time_column(titles, sample).or_else(|| all().find(is_number)).unwrap_or(0);
    // Numbers first; a rate whose first value is missing still has its name.
    let texts = || all().filter(|&at| at != time && !is_number(&at));
    let others = || all().filter(|&at| at != time).filter(is_number).chain(texts());
    let is_rate = |at: &usize| {
        matches!(in_name(&titles[*at], true), Some(Spelled::Unit(_)))
            || has(*at, &["rate", "throughput", "tput", "bandwidth", "capacity", "bps"])
    };
    let is_amount = |at: &usize| {
        matches!(in_name(&titles[*at], false), Some(Spelled::Unit(_)))
            || has(*at, &["bytes", "bits", "size", "tbs"])
    };
    let down = |at: &usize| has(*at, &["dl", "down", "rx"]);
    let rate = others().filter(is_rate).find(down).or_else(|| others().find(is_rate));
    let amount = others().filter(is_amount).find(down).or_else(|| others().find(is_amount));
    let (option, value, rates, unit) = match (rate, amount) {
        (None, Some(amount)) => (ReadOption::AmountColumn, amount, false, "B"),
        (rate, _) => {
            let value = rate.or_else(|| others().next()).unwrap_or(time);
            (ReadOption::RateColumn, value, true, "Mbit/s")
        }
    };
    let mut options = vec![
        Given { option: ReadOption::TimeColumn, value: &names[time] },
        Given { option, value: &names[value] },
    ];
    let is_unit_open = !matches!(in_name(&titles[value], rates), Some(Spelled::Unit(_)));
    if is_unit_open {
        options.push(Given { option: ReadOption::Unit, value: unit });
    }
    Guess { options, is_unit_open }
}

/// The column that holds times, by its first value or its name.
fn time_column(names: &[String], sample: &[String]) -> Option<usize> {
    let is_named = |name: &String| {
        let lower = name.to_lowercase();
        ["time", "date", "zeit"].iter().any(|word| lower.contains(word)) || is_time(name)
    };
    let instant = sample.iter().position(|field| is_instant(field));
    instant.or_else(|| names.iter().position(is_named))
}

fn is_time(name: &str) -> bool {
    matches!(clock::in_name(name), Named::Unit(_)) || ["t", "ts"].contains(&&*name.to_lowercase())
}
