//! Values at times, in order: what becomes of equal times, of gaps and of missing values, and the
//! timeline of the rest.

use super::super::clock::Clock;
use super::super::error::quote;
use super::super::pieces::{PER_BYTE, Pieces};
use super::super::rows::{At, Tally};
use super::super::{
    Duration, Gaps, ReadOption, ReadOptions, Repeated, Timeline, TraceError, Words,
};
use super::Source;

/// Most rows of a table: a bound on memory (280 MB), since rows are kept until all are known.
const MOST_ROWS: usize = 10_000_000;
/// Longest time from the first row to the last, in ns: ten years.
const LONGEST: i128 = 10 * 365 * 24 * 3600 * 1_000_000_000;
/// A step above so many median ones is a gap.
const GAP: u64 = 2;
/// Shortest interval that is chosen by itself, in ns.
const LEAST: u64 = 1_000_000;
/// Longest interval of a CQI that is chosen by itself, in ns.
const LONGEST_CQI: u64 = 1_000_000_000;
/// Median step in s at which times without a unit are doubted.
const DOUBTED: u64 = 100;
/// Stands for a value that is missing.
const NONE: u128 = u128::MAX;

/// Rows of a table.
#[derive(Debug)]
pub(super) struct Series {
    clock: Option<Clock>,
    repeated: Repeated,
    gaps: Option<Gaps>,
    most: usize,
    words: Words,
    /// Time of the first row, and how the file writes it.
    first: Option<(i128, String)>,
    /// ns from the first row on.
    times: Vec<u64>,
    values: Vec<u128>,
    lines: Vec<u32>,
    /// Sum and number of the values of the last time.
    group: (u128, u128),
    shared: Tally,
    missing: Tally,
    /// Lines of rows, those that share a time counted each.
    rows: u64,
}

/// The settings for making a timeline of a series.
#[derive(Clone, Copy)]
pub(super) struct Fill<'a> {
    pub(super) source: &'a Source<'a>,
    /// The length that the caller names.
    pub(super) row: Option<Duration>,
}

/// A field of a table.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) column: &'a str,
    pub(super) text: &'a str,
}

impl Series {
    pub(super) fn new(
        clock: Option<Clock>,
        repeated: Repeated,
        gaps: Option<Gaps>,
        options: &ReadOptions,
    ) -> Self {
        Self {
            clock,
            repeated,
            gaps,
            most: options.max_intervals.min(MOST_ROWS),
            words: options.words.clone(),
            first: None,
            times: Vec::new(),
            values: Vec::new(),
            lines: Vec::new(),
            group: (0, 0),
            shared: Tally::default(),
            missing: Tally::default(),
            rows: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) const fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }

    /// The name that the column of times has in the file.
    pub(super) fn name_times(&mut self, name: &str) {
        if let Some(clock) = &mut self.clock {
            clock.rename(name);
        }
    }

    /// The note on a first row that is not at 0.
    pub(super) fn begun(&self) -> Option<String> {
        let (time, text) = self.first.as_ref()?;
        (*time != 0).then(|| format!("the first row is at {text}, which became 0"))
    }

    /// Takes a row; its time is `time` where the table has a column of times.
    pub(super) fn push(
        &mut self,
        at: &At<'_>,
        time: Option<&str>,
        field: Field<'_>,
        value: Option<u128>,
    ) -> Result<(), TraceError> {
        self.rows += 1;
        let Field { column, text } = field;
        if value.is_none() {
            self.refuse_missing(at, column, text)?;
            self.missing.add(at.line);
        }
        if let (Some(clock), Some(time)) = (&mut self.clock, time) {
            let now = clock.read(at, time)?;
            let (first, _) = self.first.get_or_insert_with(|| (now, time.to_string()));
            let since = now - *first;
            let last = self.times.last().copied();
            if since < 0 || last.is_some_and(|last| since < i128::from(last)) {
                let allowed =
                    "a time that is not before that of the row before; sort the rows by time";
                return Err(at.malformed(clock.column(), quote(time), allowed));
            }
            if since > LONGEST {
                let allowed = "a time within ten years of the first row";
                return Err(at.malformed(clock.column(), quote(time), allowed));
            }
            if last == Some(since as u64) {
                return self.join(at, column, value);
            }
            self.times.push(since as u64);
        }
        if self.values.len() == self.most {
            let allowed = format!("at most {} rows", self.most);
            return Err(at.malformed(column, "one row more", allowed));
        }
        self.values.push(value.unwrap_or(NONE));
        self.lines.push(at.line as u32);
        self.group = (value.unwrap_or(0), u128::from(value.is_some()));
        Ok(())
    }

    /// Refuses a row without a value, if the option that decides on it says so.
    fn refuse_missing(&self, at: &At<'_>, column: &str, field: &str) -> Result<(), TraceError> {
        match self.gaps {
            None | Some(Gaps::Error) => {
                let found = if field.is_empty() { "an empty field".into() } else { quote(field) };
                let allowed = format!("a number; {} reads rows without one", self.repairs());
                Err(at.malformed(column, found, allowed))
            }
            Some(_) => Ok(()),
        }
    }

    /// The repairs of gaps.
    fn repairs(&self) -> String {
        self.words.choice(ReadOption::Gaps, &["hold", "zero", "skip"])
    }

    /// A row at the time of the one before.
    fn join(&mut self, at: &At<'_>, column: &str, value: Option<u128>) -> Result<(), TraceError> {
        self.shared.add(at.line);
        if self.repeated == Repeated::Error {
            let repairs = ["mean", "sum", "last", "first"];
            let repair = self.words.choice(ReadOption::Repeated, &repairs);
            let allowed = format!("a time of its own, or {repair}");
            return Err(at.malformed(column, "the time of the row before", allowed));
        }
        let (Some(value), Some(last)) = (value, self.values.last_mut()) else { return Ok(()) };
        self.group = (self.group.0.saturating_add(value), self.group.1 + 1);
        *last = match self.repeated {
            Repeated::First if *last != NONE => *last,
            Repeated::Mean => self.group.0 / self.group.1,
            Repeated::Sum => self.group.0,
            _ => value,
        };
        Ok(())
    }

    /// The timeline of values that are rates in 10^-6 bit/s.
    pub(super) fn rates(
        self,
        fill: &Fill<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Timeline, TraceError> {
        let (pieces, interval) = self.pieces(fill, None, notes)?;
        Timeline::of_rows(pieces, interval).map_err(|e| fill.source.refused(&e))
    }

    /// The interval, at most a second if the caller names none, and the CQI at the beginning of
    /// each; the last one is whole.
    pub(super) fn cqis(
        self,
        fill: &Fill<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(Duration, Vec<u8>), TraceError> {
        let (pieces, interval) = self.pieces(fill, Some(LONGEST_CQI), notes)?;
        let (mut cqi, mut end) = (Vec::new(), 0);
        for (length, amount) in pieces.rows() {
            end += length;
            let count = end.div_ceil(interval.as_nanos()) as usize;
            cqi.resize(count, (amount / u128::from(length)) as u8);
        }
        Ok((interval, cqi))
    }

    /// Rows that carry their values per ns, and the interval for them, at most `longest` if the
    /// caller names none.
    fn pieces(
        mut self,
        fill: &Fill<'_>,
        longest: Option<u64>,
        notes: &mut Vec<String>,
    ) -> Result<(Pieces, Duration), TraceError> {
        let steps = self.steps(fill)?;
        let usual = median(&steps);
        let limit = usual.saturating_mul(GAP);
        let capped = self.gap_steps(&steps, limit, usual, fill, notes)?;
        self.note(notes, "each holds the value before it");
        self.hold();
        let mut pieces = Pieces::default();
        for ((&value, &step), &own) in self.values.iter().zip(&steps).zip(&capped) {
            match self.gaps {
                Some(Gaps::Skip) if value == NONE => {}
                Some(Gaps::Skip) => pieces.push_rate(own, value),
                _ => {
                    pieces.push_rate(own, if value == NONE { 0 } else { value });
                    pieces.push(step - own, 0);
                }
            }
        }
        if pieces.len() == 0 {
            return Err(fill.source.unusable("no row with a value", "some row with one"));
        }
        let interval = fill.row.filter(|_| self.clock.is_some());
        let interval = interval.unwrap_or_else(|| {
            let own = pieces.interval().as_nanos();
            Duration::from_nanos(own / own.div_ceil(longest.unwrap_or(own)))
        });
        fill.source.ensure_length(pieces.duration().div_ceil(interval.as_nanos()))?;
        let (shortest, longest) = pieces.lengths();
        if shortest < longest || longest != interval.as_nanos() {
            let option = self.words.aside(ReadOption::Row, " names another length");
            let edges = if pieces.fit(interval) {
                "whose edges keep those of the rows".into()
            } else {
                format!("which move the edges of rows and keep what they carry{option}")
            };
            notes.push(format!(
                "rows of {} to {} became intervals of {interval}, {edges}",
                Duration::from_nanos(shortest),
                Duration::from_nanos(longest)
            ));
        }
        Ok((pieces, interval))
    }

    /// The timeline of values that are parts of a bit, each in the interval that its time is in.
    pub(super) fn amounts(
        mut self,
        fill: &Fill<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Timeline, TraceError> {
        let interval = self.interval_of_amounts(fill)?;
        if self.clock.is_none() {
            self.times =
                (0..self.values.len() as u64).map(|k| k.saturating_mul(interval)).collect();
        }
        self.note(notes, "each holds the amount before it");
        self.hold();
        let last = self.times.last().copied().unwrap_or(0);
        fill.source.ensure_length(last / interval + 1)?;
        let mut bytes = vec![0_u32; (last / interval + 1) as usize];
        let (mut sum, mut note) = (0_u128, 0_u128);
        for (&time, &value) in self.times.iter().zip(&self.values) {
            sum += if value == NONE { 0 } else { value };
            let whole = sum / PER_BYTE;
            let cell = &mut bytes[(time / interval) as usize];
            let more = u32::try_from(whole - note).ok().and_then(|more| cell.checked_add(more));
            *cell = more.ok_or_else(|| {
                let allowed = format!("shorter intervals{}", fill.source.aside(ReadOption::Row));
                fill.source.unusable("an interval of 4 GB or more", &allowed)
            })?;
            note = whole;
        }
        let interval = Duration::from_nanos(interval);
        notes.push(format!(
            "an amount passes in the interval of {interval} that its time is in; the trace ends \
             with that of the last"
        ));
        Timeline::new(interval, bytes, None).map_err(|e| fill.source.refused(&e))
    }

    /// Length of the intervals of amounts, in ns.
    fn interval_of_amounts(&self, fill: &Fill<'_>) -> Result<u64, TraceError> {
        if self.clock.is_none() {
            return row_length(fill.row, fill.source);
        }
        if let Some(row) = fill.row {
            return Ok(row.as_nanos());
        }
        let steps = self.steps(fill)?;
        Ok(steps.iter().copied().min().unwrap_or(LEAST).div_ceil(LEAST) * LEAST)
    }

    /// How long each row lasts: to the next; the last as long as the one before it.
    fn steps(&self, fill: &Fill<'_>) -> Result<Vec<u64>, TraceError> {
        let Some(clock) = &self.clock else {
            return Ok(vec![row_length(fill.row, fill.source)?; self.values.len()]);
        };
        let mut steps: Vec<u64> = self.times.windows(2).map(|two| two[1] - two[0]).collect();
        let last = match (steps.last(), fill.row) {
            (Some(last), _) => *last,
            (None, Some(row)) => row.as_nanos(),
            (None, None) => {
                let line = self.lines.first().map_or(1, |line| u64::from(*line));
                let length = match self.words.aside(ReadOption::Row, "") {
                    none if none.is_empty() => none,
                    option => format!(", or one and its length{option}"),
                };
                let allowed = format!("two rows at different times{length}");
                return Err(fill.at(line).malformed(clock.column(), "one row alone", allowed));
            }
        };
        let usual = median(&steps);
        steps.push(last);
        if clock.is_assumed() && usual >= DOUBTED * 1_000_000_000 {
            let line = u64::from(self.lines[1]);
            let found = format!("rows {} apart if times are in s", Duration::from_nanos(usual));
            let units = self.words.choice(ReadOption::TimeUnit, &["ms", "us", "ns"]);
            let allowed = format!("{units}, or s if they are");
            return Err(fill.at(line).malformed(clock.column(), found, allowed));
        }
        Ok(steps)
    }

    /// How long the value of each row counts: gaps are cut where they are not held.
    fn gap_steps(
        &self,
        steps: &[u64],
        limit: u64,
        usual: u64,
        fill: &Fill<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<u64>, TraceError> {
        let is_gap = |step: &u64| *step > limit && limit > 0;
        // The last row has no next one to be far from.
        let among = &steps[..steps.len().saturating_sub(1)];
        let count = among.iter().filter(|step| is_gap(step)).count();
        let Some(first) = among.iter().position(is_gap) else {
            return Ok(steps.to_vec());
        };
        let (usual_step, line) = (Duration::from_nanos(usual), u64::from(self.lines[first + 1]));
        let step = Duration::from_nanos(steps[first]);
        let how = match self.gaps {
            Some(Gaps::Error) => {
                let column = self.clock.as_ref().map_or("time", Clock::column);
                let found =
                    format!("a row {step} after the one before, where {usual_step} is usual");
                let allowed = format!("rows without gaps, or {}", self.repairs());
                return Err(fill.at(line).malformed(column, found, allowed));
            }
            Some(Gaps::Zero) => "the rest of the time carries nothing".into(),
            Some(Gaps::Skip) => "the rest of the time is left out".into(),
            Some(Gaps::Hold) | None => {
                format!("the value before it holds{}", self.words.aside(ReadOption::Gaps, ""))
            }
        };
        notes.push(format!(
            "line {line}: {count} of {} rows come after more than twice the usual step of \
             {usual_step}; {how}",
            steps.len()
        ));
        if matches!(self.gaps, Some(Gaps::Hold) | None) {
            return Ok(steps.to_vec());
        }
        Ok(steps.iter().map(|step| if is_gap(step) { usual } else { *step }).collect())
    }

    /// Says what became of rows of equal times and of rows without a value.
    fn note(&self, notes: &mut Vec<String>, held: &str) {
        if self.shared.rows > 0 {
            let how = match self.repeated {
                Repeated::First => "the first is kept",
                Repeated::Mean => "their mean is taken",
                Repeated::Sum => "they are added",
                Repeated::Last | Repeated::Error => "the last is kept",
            };
            let (rows, line) = (self.shared.rows, self.shared.first);
            notes.push(format!(
                "line {line}: {rows} of {} rows have the time of the row before; {how}",
                self.rows
            ));
        }
        if self.missing.rows > 0 {
            let how = match self.gaps {
                Some(Gaps::Zero) => "each carries nothing",
                Some(Gaps::Skip) => "they are left out",
                _ => held,
            };
            let (rows, line) = (self.missing.rows, self.missing.first);
            notes.push(format!("line {line}: {rows} of {} rows have no value; {how}", self.rows));
        }
    }

    /// Gives rows without a value the one before it, and the first ones the first there is.
    fn hold(&mut self) {
        if self.gaps != Some(Gaps::Hold) {
            return;
        }
        let mut held = self.values.iter().copied().find(|value| *value != NONE).unwrap_or(NONE);
        for value in &mut self.values {
            if *value == NONE {
                *value = held;
            }
            held = *value;
        }
    }
}

impl<'a> Fill<'a> {
    const fn at(&self, line: u64) -> At<'a> {
        At { path: self.source.path, line, comma: false }
    }
}

/// The middle one of `steps`, the lower of two; 0 without any.
fn median(steps: &[u64]) -> u64 {
    let mut sorted = steps.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// Length of a row of a table without times.
fn row_length(row: Option<Duration>, source: &Source<'_>) -> Result<u64, TraceError> {
    let [row_option, time] = [ReadOption::Row, ReadOption::TimeColumn].map(|o| source.aside(o));
    let allowed = format!("the length of a row{row_option}, or the column of its time{time}");
    row.map(Duration::as_nanos).ok_or_else(|| source.unusable("no length of a row", &allowed))
}
