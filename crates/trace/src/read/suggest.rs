//! The message about a table without named columns: its columns, and the options that would read
//! it.

use super::super::clock::{self, Named, is_instant};
use super::super::error::quote;
use super::super::number::Decimal;
use super::super::table::{Splitter, is_value};
use super::super::unit::{Spelled, in_name};
use super::super::{FileFormat, TraceError};
use super::Source;
use super::columns::starts_as_number;
use std::path::Path;

/// Most columns that are listed.
const LISTED: usize = 40;

/// The refusal of a file that is in no format that its first line shows.
pub(super) fn unplaced(source: &Source<'_>, head: &[u8]) -> TraceError {
    // Without a mark, a letter of the Latin script has a byte 0 beside it.
    let is_wide = |head: &[u8]| matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [_, 0, ..]);
    if is_wide(head) || head.first() == Some(&0) {
        return source.unusable("text in UTF-16", "text in UTF-8");
    }
    if head.contains(&b'\r') && !head.contains(&b'\n') {
        return source.unusable("lines that end in CR alone", "lines that end in LF or CRLF");
    }
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().map(|line| line.trim_start_matches('\u{feff}'));
    let mut rows = lines
        .by_ref()
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let mut splitter = Splitter::new(source.dialect.separator);
    let mut open = false;
    let mut row = || -> Option<Vec<String>> {
        let record = splitter.split(rows.next()?);
        open |= record.is_none();
        Some(record?.iter().map(str::to_string).collect())
    };
    let [first, second, third] = [(); 3].map(|()| row().unwrap_or_default());
    if open {
        return source.unusable("a quote that does not end on its line", "quotes that do");
    }
    let comma = source.dialect.comma;
    let values = |row: &[String]| row.iter().filter(|field| is_value(field, comma)).count();
    // A table has numbers, in its first line or below the names of its columns.
    let has_names = values(&first) < first.len();
    if first.len() > 1 && has_names && second.is_empty() {
        let found = format!("the columns {} and no row", listed(&first));
        return source.unusable(&found, "a table with at least two rows");
    }
    let same = first.len() > 1 && [second.len(), third.len()] == [first.len(); 2];
    if has_names && same && values(&second) == 0 && values(&third) > 0 {
        let found = format!("two lines of names before the numbers, {} second", listed(&second));
        return source.unusable(&found, "one line of names, with the units in it");
    }
    let sample = if has_names { &second } else { &first };
    let has_numbers = values(sample) > 0 || sample.iter().any(|field| starts_as_number(field));
    if first.len() < 2 || sample.len() != first.len() || !has_numbers {
        let names = FileFormat::ALL.map(FileFormat::name).join(", ");
        let allowed = format!("one of {names}; if it is one of them, name it (--from)");
        return source.unusable("no format that is known by its first line", &allowed);
    }
    let names: Vec<String> = if has_names {
        first.clone()
    } else {
        (1..=first.len()).map(|number| number.to_string()).collect()
    };
    let found = format!("a table with the columns {}", listed(&names));
    source.unusable(
        &found,
        &format!("the names of two of them: {}", command(source.path, &names, sample, comma)),
    )
}

fn listed(names: &[String]) -> String {
    let mut all: Vec<String> = names.iter().take(LISTED).map(|name| quote(name)).collect();
    if names.len() > LISTED {
        all.push(format!("{} more", names.len() - LISTED));
    }
    all.join(", ")
}

/// A command that reads the table, with the columns that look right.
fn command(path: &Path, names: &[String], sample: &[String], comma: bool) -> String {
    let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let is_number = |at: &usize| Decimal::parse(&sample[*at], comma).is_some();
    let all = || 0..names.len();
    let has = |at: usize, words: &[&str]| words.iter().any(|word| lower[at].contains(word));
    let time = all()
        .find(|&at| is_instant(&sample[at]))
        .or_else(|| all().find(|&at| has(at, &["time", "date", "zeit"]) || is_time(&names[at])))
        .or_else(|| all().find(is_number))
        .unwrap_or(0);
    // Numbers first; a rate whose first value is missing still has its name.
    let texts = || all().filter(|&at| at != time && !is_number(&at));
    let others = || all().filter(|&at| at != time).filter(is_number).chain(texts());
    let is_rate = |at: &usize| {
        matches!(in_name(&names[*at], true), Some(Spelled::Unit(_)))
            || has(*at, &["rate", "throughput", "tput", "bandwidth", "capacity", "bps"])
    };
    let is_amount = |at: &usize| {
        matches!(in_name(&names[*at], false), Some(Spelled::Unit(_)))
            || has(*at, &["bytes", "bits", "size", "tbs"])
    };
    let down = |at: &usize| has(*at, &["dl", "down", "rx"]);
    let rate = others().filter(is_rate).find(down).or_else(|| others().find(is_rate));
    let amount = others().filter(is_amount).find(down).or_else(|| others().find(is_amount));
    let (option, value, rates, unit) = match (rate, amount) {
        (None, Some(amount)) => ("--amount-column", amount, false, "B"),
        (rate, _) => {
            ("--rate-column", rate.or_else(|| others().next()).unwrap_or(time), true, "Mbit/s")
        }
    };
    // A value with a leading dash looks like an option, unless it is part of its own.
    let named = |option: &str, name: &str| {
        let between = if name.starts_with('-') { '=' } else { ' ' };
        format!("{option}{between}{}", shell(name))
    };
    let mut text = format!(
        "justfull trace info {} {} {}",
        shell(&path.display().to_string()),
        named("--time-column", &names[time]),
        named(option, &names[value])
    );
    if !matches!(in_name(&names[value], rates), Some(Spelled::Unit(_))) {
        text.push_str(&format!(" --unit {unit} (or the unit that it has)"));
    }
    text
}

fn is_time(name: &str) -> bool {
    matches!(clock::in_name(name), Named::Unit(_)) || ["t", "ts"].contains(&&*name.to_lowercase())
}

/// `text` as one word of a shell.
fn shell(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+:@%<>".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.contains(['<', '>']) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
