//! Tables of rates or CQIs that hold until the next row, and of amounts at instants. The caller
//! names the columns.
//!
//! A rate or a CQI holds from its row's time to the next row's; the last one as long as the row
//! before it. An amount passes in the interval that its time is in; intervals begin at the first
//! row and are as long as the shortest step between times, in whole milliseconds, unless the caller
//! says.

use super::super::clock::Clock;
use super::super::error::quote;
use super::super::number::{Decimal, is_missing};
use super::super::pieces::PER_BIT;
use super::super::rows::At;
use super::super::table::{self, Record, is_value, nearest, place, several};
use super::super::unit::{Spelled, Unit, capitals, in_name, spelled};
use super::super::{ReadOption, Repeated, TraceError};
use super::series::{Field, Fill, Series};
use super::{Parsed, Source};
use justfull_phy::cqi::MAX_CQI;
use std::io::Read;

/// Largest rate in bit/s and largest amount in bits, as a power of ten.
const MOST: u32 = 15;

/// The quantity of a table's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Rates,
    Amounts,
    Cqis,
}

impl What {
    const fn option(self) -> ReadOption {
        match self {
            Self::Rates => ReadOption::RateColumn,
            Self::Amounts => ReadOption::AmountColumn,
            Self::Cqis => ReadOption::Format,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Rates => "rates",
            Self::Amounts => "amounts",
            Self::Cqis => "CQIs",
        }
    }
}

/// The unit of a column and what said it.
#[derive(Debug)]
struct Said {
    unit: Unit,
    by: String,
}

/// The first line of a table, and where the wanted columns are.
#[derive(Debug)]
struct Layout {
    /// Names of the columns; numbers from 1 where the table has none.
    names: Vec<String>,
    /// Line of the names, if the table has any.
    header: Option<u64>,
    time: Option<usize>,
    value: usize,
    /// The unit; none for CQIs.
    said: Option<Said>,
}

/// The first line of a table, and the line of units below it if there is one.
struct Head {
    line: u64,
    /// True if the line has names; if false, `names` are numbers.
    is_named: bool,
    names: Vec<String>,
    /// Empty without such a line.
    units: Vec<String>,
}

impl Head {
    fn of(table: &Table<'_>, at: &At<'_>, record: &Record<'_>) -> Self {
        let numbers: Vec<String> = (1..=record.len()).map(|number| number.to_string()).collect();
        // A line of names has one in each column that is read.
        let chosen = [Some(table.wanted), table.source.options.time_column.as_deref()];
        let chosen = chosen.into_iter().flatten().map(|name| place(&numbers, name));
        let is_named = match chosen.collect::<Option<Vec<usize>>>() {
            Some(places) => !places.iter().any(|&index| is_value(record.get(index), at.comma)),
            None => record.iter().any(|field| !is_value(field, at.comma)),
        };
        let names = if is_named { record.iter().map(str::to_string).collect() } else { numbers };
        Self { line: at.line, is_named, names, units: Vec::new() }
    }

    /// The name of the column at `place`, with its unit.
    fn title(&self, place: usize) -> String {
        let name = &self.names[place];
        self.units.get(place).map_or_else(|| name.clone(), |unit| titled(name, unit))
    }
}

/// A table being read.
struct Table<'a> {
    source: &'a Source<'a>,
    what: What,
    wanted: &'a str,
    /// The line of names, kept until the next line is read: that may have the units.
    head: Option<Head>,
    layout: Option<Layout>,
    series: Series,
    headers: u64,
}

pub(super) fn read<R: Read>(
    reader: R,
    source: &Source<'_>,
    what: What,
    wanted: &str,
) -> Result<Parsed, TraceError> {
    let options = source.options;
    let repeated = options.repairs.repeated.unwrap_or(match what {
        What::Rates => Repeated::Mean,
        What::Amounts => Repeated::Sum,
        What::Cqis => Repeated::Last,
    });
    if what == What::Cqis && repeated == Repeated::Sum {
        let repairs = ["last", "first", "mean", "error"];
        let repairs = options.words.choice(ReadOption::Repeated, &repairs);
        let allowed = format!("{repairs}: a CQI is no amount");
        return Err(source.unusable("repeated rows to be added up", &allowed));
    }
    let gaps = match what {
        What::Cqis => Some(options.repairs.gaps.unwrap_or_default()),
        What::Rates | What::Amounts => options.repairs.gaps,
    };
    let clock = options.time_column.as_ref();
    let clock = clock.map(|name| Clock::new(options.time_unit, name, options.words.clone()));
    let series = Series::new(clock, repeated, gaps, options);
    let mut table = Table { source, what, wanted, head: None, layout: None, series, headers: 0 };
    let marks = table::each(reader, source.path, source.dialect, wanted, |at, record| {
        table.take(&at, record)
    })?;
    if let Some(head) = table.head.take() {
        table.lay_out(&head)?;
    }
    let Table { layout, series, headers, .. } = table;
    let Some(layout) = layout.filter(|_| series.len() > 0) else {
        return Err(source.unusable("no rows", "a table with at least two rows"));
    };
    let mut notes = layout.note(what, &series);
    notes.extend(source.dialect.note());
    if headers > 0 {
        notes.push(format!("{headers} lines that repeat the header are left out"));
    }
    let row = options.interval.filter(|row| !row.is_zero());
    let fill = Fill { source, row };
    let timeline = match what {
        What::Rates => series.rates(&fill, &mut notes)?,
        What::Amounts => series.amounts(&fill, &mut notes)?,
        What::Cqis => {
            let (interval, cqi) = series.cqis(&fill, &mut notes)?;
            return source.of_cqi(interval, cqi, marks, notes);
        }
    };
    Ok(source.marked(timeline, marks, notes))
}

impl Table<'_> {
    fn take(&mut self, at: &At<'_>, record: &Record<'_>) -> Result<(), TraceError> {
        if self.layout.is_none() && self.takes_head(at, record)? {
            return Ok(());
        }
        let Some(layout) = &self.layout else { return Ok(()) };
        let column = &layout.names[layout.value];
        if layout.is_header(at, record)? {
            self.headers += 1;
            return Ok(());
        }
        record.ensure_fields(at, column, layout.names.len())?;
        let time = layout.time.map(|place| record.get(place));
        let field = record.get(layout.value);
        let value = layout.value(at, field, self)?;
        self.series.push(at, time, Field { column, text: field }, value)
    }

    /// True for a line of names, and for one of units below it.
    fn takes_head(&mut self, at: &At<'_>, record: &Record<'_>) -> Result<bool, TraceError> {
        let Some(mut head) = self.head.take() else {
            let head = Head::of(self, at, record);
            if head.is_named {
                self.head = Some(head);
                return Ok(true);
            }
            self.lay_out(&head)?;
            return Ok(false);
        };
        let value = place(&head.names, self.wanted).map_or("", |place| record.get(place));
        let has_units = self.what != What::Cqis && is_unit(value);
        if has_units {
            head.units = record.iter().map(str::to_string).collect();
        }
        self.lay_out(&head)?;
        Ok(has_units)
    }

    /// Finds the columns.
    fn lay_out(&mut self, head: &Head) -> Result<(), TraceError> {
        let layout = Layout::find(self.source, self.what, self.wanted, head)?;
        if let Some(place) = layout.time {
            self.series.name_times(&head.title(place));
        }
        self.layout = Some(layout);
        Ok(())
    }
}

impl Layout {
    fn find(
        source: &Source<'_>,
        what: What,
        wanted: &str,
        head: &Head,
    ) -> Result<Self, TraceError> {
        let Head { line, is_named, names, .. } = head;
        let at = At { path: source.path, line: *line, comma: source.dialect.comma };
        let find = |option: ReadOption, name: &str| {
            if let Some(numbers) = several(names, name) {
                let found = format!("several columns of this name{}", source.aside(option));
                return Err(at.malformed(name, found, format!("the number of one: {numbers}")));
            }
            place(names, name).ok_or_else(|| {
                let found = format!("no such column{}", source.aside(option));
                let allowed = if *is_named {
                    nearest(names, name)
                } else {
                    format!("a number from 1 to {}: the first line has no names", names.len())
                };
                at.malformed(name, found, allowed)
            })
        };
        let value = find(what.option(), wanted)?;
        let time = source.options.time_column.as_deref();
        let time = time.map(|name| find(ReadOption::TimeColumn, name)).transpose()?;
        let said = match what {
            What::Cqis => None,
            What::Rates | What::Amounts => Some(said(source, what, &at, head, value)?),
        };
        let header = is_named.then_some(at.line);
        Ok(Self { names: names.clone(), header, time, value, said })
    }

    /// True for a line that repeats the header; one with other names is refused.
    fn is_header(&self, at: &At<'_>, record: &Record<'_>) -> Result<bool, TraceError> {
        let Some(line) = self.header else { return Ok(false) };
        let is_text = |field: &str| !is_value(field, at.comma);
        if !is_text(record.get(self.value)) {
            return Ok(false);
        }
        if record.iter().eq(self.names.iter().map(String::as_str)) {
            return Ok(true);
        }
        if record.iter().all(is_text) {
            let names: Vec<&str> = record.iter().collect();
            let found = format!("another header, {}", quote(&names.join(",")));
            let allowed = format!("a row, or the header of line {line} again");
            return Err(at.malformed(&self.names[self.value], found, allowed));
        }
        Ok(false)
    }

    /// The value in `field`: 10^-6 bit/s of a rate, parts of a bit of an amount, a CQI; none if it
    /// is missing.
    fn value(
        &self,
        at: &At<'_>,
        field: &str,
        table: &Table<'_>,
    ) -> Result<Option<u128>, TraceError> {
        if is_missing(field) {
            return Ok(None);
        }
        let column = &self.names[self.value];
        let Some(Said { unit, .. }) = &self.said else {
            return at.number(column, field, MAX_CQI.into()).map(|cqi| Some(cqi.into()));
        };
        let (power, one) = if table.what == What::Rates { (6, 1_000_000) } else { (15, PER_BIT) };
        let number = Decimal::parse(field, at.comma).filter(|number| !number.negative);
        let value = number.and_then(|number| number.scaled(unit.bits, power));
        let most = 10_u128.pow(MOST) * one;
        value.filter(|value| *value <= most).map(Some).ok_or_else(|| {
            let most = (most / one / u128::from(unit.bits)).max(1);
            // A number with either sign has neither.
            let is_other = Decimal::parse(field, at.comma).is_none();
            let aside = |option| table.source.aside(option);
            let hint = match Decimal::parse(field, !at.comma) {
                Some(_) if is_other => {
                    let sign = if at.comma { "comma" } else { "point" };
                    format!(" with a decimal {sign}{}", aside(ReadOption::Decimal))
                }
                _ if is_other && starts_as_number(field) => {
                    let option = aside(ReadOption::Unit);
                    format!(" alone; the unit is that of the whole column{option}")
                }
                _ if is_other && has_thousands(field) => " without signs between thousands".into(),
                _ => String::new(),
            };
            let allowed = format!("a number from 0 to {most} {unit}{hint}");
            at.malformed(column, quote(field), allowed)
        })
    }

    /// The columns in use, for the notes.
    fn note(&self, what: What, series: &Series) -> Vec<String> {
        let column = |place: usize| match self.header {
            Some(_) => quote(&self.names[place]),
            None => format!("column {}", place + 1),
        };
        let (what, value) = (what.name(), column(self.value));
        let unit = self.said.as_ref().map(|said| format!(" in {}, by {}", said.unit, said.by));
        let mut notes = vec![format!("{what} of {value}{}", unit.unwrap_or_default())];
        if let (Some(place), Some(clock)) = (self.time, series.clock()) {
            notes.push(format!("times of {} in {}", column(place), clock.note()));
        }
        notes.extend(series.begun());
        notes
    }
}

/// True for a number with something behind it.
pub(super) fn starts_as_number(field: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let rest = field.trim_start_matches(is_number);
    rest.len() < field.len() && rest.trim().starts_with(char::is_alphabetic)
}

/// True for a unit of rates or amounts, with or without brackets.
pub(super) fn is_unit(field: &str) -> bool {
    spelled(bare(field)).is_some()
}

/// The name of a column with the unit that the line below the names gives it.
pub(super) fn titled(name: &str, unit: &str) -> String {
    let unit = bare(unit);
    if unit.is_empty() { name.into() } else { format!("{name} ({unit})") }
}

/// A unit without brackets.
fn bare(unit: &str) -> &str {
    unit.trim_matches(['(', ')', '[', ']']).trim()
}

/// True for a number such as `1.234,5`.
fn has_thousands(field: &str) -> bool {
    let is_sign = |c: char| matches!(c, '.' | ',' | '\'' | ' ' | '\u{a0}' | '\u{202f}');
    field.contains(is_sign) && field.chars().all(|c| c.is_ascii_digit() || is_sign(c))
}

/// The unit of the column of rates or amounts at `place`.
fn said(
    source: &Source<'_>,
    what: What,
    at: &At<'_>,
    head: &Head,
    place: usize,
) -> Result<Said, TraceError> {
    let (name, title) = (&head.names[place], &head.title(place));
    let rates = what == What::Rates;
    let option = source.options.words.name(ReadOption::Unit);
    let examples = if rates {
        format!("{option} with a unit of rates: bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s")
    } else {
        format!("{option} with a unit of amounts: bit, kbit, Mbit, B, kB, MB")
    };
    let by = |unit: Unit, by: String| Ok(Said { unit, by });
    match (source.options.unit, in_name(title, rates)) {
        (Some(unit), Some(Spelled::Unit(other))) if unit.per_second == rates && unit != other => {
            by(unit, format!("{option}, though its name says {other}"))
        }
        (Some(unit), _) if unit.per_second == rates => by(unit, option),
        (Some(unit), _) => Err(at.malformed(name, format!("the unit {unit}"), examples)),
        (None, Some(Spelled::Unit(unit))) => {
            by(unit, if head.units.is_empty() { "its name" } else { "the line of units" }.into())
        }
        (None, Some(Spelled::Capitals)) => Err(at.malformed(
            name,
            "a unit in capitals",
            format!("{examples} ({})", capitals(title)),
        )),
        (None, None) => Err(at.malformed(name, "no unit in the name of the column", examples)),
    }
}
