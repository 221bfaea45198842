//! Trace files of every format, read into one [`Timeline`].

mod cellreplay;
mod columns;
mod intervals;
mod mahimahi;
mod nr_scope;
mod series;
mod serving;
mod suggest;
mod ucc;

#[cfg(test)]
mod tests;

pub(crate) use intervals::UNITS;
pub use serving::{Serving, ServingColumns, serving};

use super::format::{FileFormat, guess};
use super::lines::Marks;
use super::options::ReadOptions;
use super::parse::parse;
use super::quality::capacity_of_cqi;
use super::table::Dialect;
use super::timeline::Timeline;
use super::unpack::{Limits, Unpacked, read_error};
use super::{Format, Gaps, MissingCqi, ReadOption, TraceError, Values, open};
use justfull_base::{ConfigError, Duration};
use std::io::{Cursor, Read};
use std::path::Path;

/// Bytes of a file used to detect its format.
pub(super) const HEAD: u64 = 64 * 1024;

/// A trace that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The trace.
    pub timeline: Timeline,
    /// Its format, as given or detected.
    pub format: FileFormat,
    /// Repairs, estimates and skipped data, one sentence each, with the first line.
    pub notes: Vec<String>,
}

/// Reads the file at `path`.
///
/// # Errors
/// When it cannot be read, its format cannot be detected, or it is not a trace of that format (see
/// [`TraceError`]).
pub fn load(path: &Path, options: &ReadOptions) -> Result<Loaded, TraceError> {
    load_from(open(path)?, path, options)
}

/// Reads a trace from `reader`; messages call it `path`.
///
/// # Errors
/// As [`load`].
pub fn load_from<R: Read>(
    reader: R,
    path: &Path,
    options: &ReadOptions,
) -> Result<Loaded, TraceError> {
    let mut reader = Unpacked::new(reader, path, Limits::ALL)?;
    let gzip = reader.is_gzip();
    let mut head = head_of(&mut reader, path)?;
    let dialect = Dialect::of_file(&mut head, options.separator, options.decimal);
    let source = Source { path, options, dialect };
    let format = source.format(&head)?;
    let timed = suggest::timed(&source, format, &head);
    let source = Source { options: timed.as_ref().unwrap_or(options), ..source };
    source.options.ensure_read(format, path)?;
    let whole = Cursor::new(&head).chain(reader);
    let column = options.rate_column.as_ref().or(options.amount_column.as_ref());
    let parsed = match (format, column) {
        (FileFormat::Mahimahi | FileFormat::Cellreplay, _) => {
            mahimahi::read(whole, &source, format)
        }
        (FileFormat::CellreplayTrain, _) => cellreplay::read(whole, &source),
        (FileFormat::Ucc, _) => ucc::read(whole, &source),
        (FileFormat::Csv, _) => intervals::read(whole, &source),
        (FileFormat::NrScope, _) => nr_scope::read(whole, &source),
        (FileFormat::Rates, Some(name)) => {
            columns::read(whole, &source, columns::What::Rates, name)
        }
        (FileFormat::Amounts, Some(name)) => {
            columns::read(whole, &source, columns::What::Amounts, name)
        }
        (FileFormat::Rates, None) => Err(source.no_column("rates", ReadOption::RateColumn)),
        (FileFormat::Amounts, None) => Err(source.no_column("amounts", ReadOption::AmountColumn)),
        (FileFormat::Cqi, _) if source.options.time_column.is_some() => {
            columns::read(whole, &source, columns::What::Cqis, "cqi")
        }
        (FileFormat::T20 | FileFormat::Cqi | FileFormat::Bytes, _) => {
            source.column(whole, format, &head)
        }
    }?;
    let mut notes = parsed.notes;
    if gzip {
        notes.push("the file was unpacked from gzip".into());
    }
    if parsed.timeline.total() == 0 {
        return Err(
            source.unusable("a channel that never carries anything", "some interval above 0")
        );
    }
    Ok(Loaded { timeline: parsed.timeline, format, notes })
}

/// The first [`HEAD`] bytes of a file.
fn head_of<R: Read>(reader: &mut Unpacked<R>, path: &Path) -> Result<Vec<u8>, TraceError> {
    let mut head = Vec::new();
    let peeked = reader.by_ref().take(HEAD).read_to_end(&mut head);
    peeked.map(|_| head).map_err(|error| read_error(path, None, &error))
}

/// True if the file at `path`, read as CQIs, is a table with a column of times, by which [`load`]
/// then reads it.
///
/// # Errors
/// When it cannot be read.
pub fn cqis_have_times(path: &Path) -> Result<bool, TraceError> {
    let mut head = head_of(&mut Unpacked::new(open(path)?, path, Limits::ALL)?, path)?;
    let dialect = Dialect::of_file(&mut head, None, None);
    let source = Source { path, options: &ReadOptions::default(), dialect };
    Ok(suggest::timed(&source, FileFormat::Cqi, &head).is_some())
}

/// A reader's result.
struct Parsed {
    timeline: Timeline,
    notes: Vec<String>,
}

/// A file being read.
struct Source<'a> {
    path: &'a Path,
    options: &'a ReadOptions,
    dialect: Dialect,
}

impl Source<'_> {
    fn unusable(&self, found: &str, allowed: &str) -> TraceError {
        TraceError::unusable(self.path, found, allowed)
    }

    fn no_column(&self, of: &str, option: ReadOption) -> TraceError {
        let allowed = format!("the name or number of the column{}", self.aside(option));
        self.unusable(&format!("no column of {of}"), &allowed)
    }

    /// ` (--row)` for the option of that name; empty where the reader of messages has none.
    fn aside(&self, option: ReadOption) -> String {
        self.options.words.aside(option, "")
    }

    fn refused(&self, error: &ConfigError) -> TraceError {
        self.unusable(&format!("{} of {}", error.field, error.value), &error.bound)
    }

    /// The format that is named, or that `head` shows.
    fn format(&self, head: &[u8]) -> Result<FileFormat, TraceError> {
        if head.starts_with(b"PAR1") {
            let allowed = "a table as text, which `duckdb -c \"copy (from 'x.parquet') to \
                           'x.csv'\"` makes";
            return Err(self.unusable("a Parquet file", allowed));
        }
        suggest::ensure_narrow(self, head)?;
        if self.options.rate_column.is_some() && self.options.amount_column.is_some() {
            let found = "both a column of rates and one of amounts";
            let [rates, amounts] = [ReadOption::RateColumn, ReadOption::AmountColumn]
                .map(|o| self.options.words.name(o));
            return Err(self.unusable(found, &format!("{rates} or {amounts}")));
        }
        if let Some(format) = self.options.named().or_else(|| guess(head)) {
            return Ok(format);
        }
        if head.is_empty() {
            return Err(self.unusable("an empty file", "a trace"));
        }
        Err(suggest::unplaced(self, head))
    }

    /// Size of the packets that the file counts.
    fn packet(&self, format: FileFormat) -> Result<u32, TraceError> {
        let bytes = self.options.packet.map_or(format.packet_bytes(), |packet| packet.0);
        let allowed = "1B to 65535B: the total length of RFC 791 section 3.1 has 16 bits";
        match u16::try_from(bytes) {
            Ok(bytes) if bytes > 0 => Ok(bytes.into()),
            _ => Err(self.unusable(&format!("a packet size of {bytes}B"), allowed)),
        }
    }

    fn ensure_length(&self, intervals: u64) -> Result<(), TraceError> {
        let most = self.options.max_intervals;
        if intervals <= most as u64 {
            return Ok(());
        }
        Err(self.unusable(&format!("{intervals} intervals"), &format!("at most {most}")))
    }

    /// The timeline of checked rows of one length.
    fn finish(
        &self,
        interval: Duration,
        bytes: Vec<u32>,
        cqi: Option<Vec<u8>>,
        marks: Marks,
        notes: Vec<String>,
    ) -> Result<Parsed, TraceError> {
        let timeline = Timeline::new(interval, bytes, cqi).map_err(|e| self.refused(&e))?;
        Ok(self.marked(timeline, marks, notes))
    }

    /// The result, with what was skipped.
    fn marked(&self, timeline: Timeline, marks: Marks, mut notes: Vec<String>) -> Parsed {
        if marks.bom {
            notes.push("a byte order mark was skipped".into());
        }
        if marks.crlf {
            notes.push("lines end in CRLF".into());
        }
        Parsed { timeline, notes }
    }

    /// The timeline of CQIs, by what their transport blocks carry.
    fn of_cqi(
        &self,
        interval: Duration,
        cqi: Vec<u8>,
        marks: Marks,
        mut notes: Vec<String>,
    ) -> Result<Parsed, TraceError> {
        if cqi.iter().all(|&cqi| cqi == 0) {
            return Err(self.unusable("a channel that never carries anything", "some CQI above 0"));
        }
        let quality = &self.options.quality;
        let capacity = capacity_of_cqi(&cqi, interval, quality);
        let bytes = capacity.map_err(|e| self.refused(&e))?;
        notes.push(format!(
            "the capacity is that of the transport blocks by the map {} on {} resource blocks",
            quality.map.name(),
            quality.n_prb
        ));
        self.finish(interval, bytes, Some(cqi), marks, notes)
    }

    /// The formats of one column, in a file that begins with `head`.
    fn column<R: Read>(
        &self,
        reader: R,
        format: FileFormat,
        head: &[u8],
    ) -> Result<Parsed, TraceError> {
        let missing = match self.options.repairs.gaps.unwrap_or_default() {
            Gaps::Hold => MissingCqi::Hold,
            Gaps::Skip => MissingCqi::Skip,
            Gaps::Zero => MissingCqi::Zero,
            Gaps::Error => MissingCqi::Error,
        };
        let (read_as, row) = match format {
            FileFormat::T20 => (Format::Packets, Duration::from_secs(1)),
            FileFormat::Cqi => {
                (Format::Cqi { missing }, self.options.interval.unwrap_or(Duration::from_secs(1)))
            }
            _ => {
                let interval = self.options.interval;
                (Format::Bytes, interval.ok_or_else(|| suggest::no_interval(self, head))?)
            }
        };
        let most = self.options.max_intervals as u64;
        let (trace, marks) =
            parse(reader, self.path, self.dialect, read_as, most, &self.options.words)?;
        let notes = trace.repair.iter().map(|repair| repair.sentence()).collect();
        let amounts = match trace.values {
            Values::Cqi(cqi) => return self.of_cqi(row, cqi, marks, notes),
            Values::Amounts(amounts) => amounts,
        };
        // T20's rows last a second and count packets per 10 ms.
        let worth =
            if format == FileFormat::T20 { 100 * u64::from(self.packet(format)?) } else { 1 };
        let bytes: Option<Vec<u32>> =
            amounts.iter().map(|&amount| u32::try_from(amount.checked_mul(worth)?).ok()).collect();
        let most = u64::from(u32::MAX) / worth;
        let too_large = || {
            let largest = amounts.iter().max().unwrap_or(&0);
            self.unusable(
                &format!("{largest} in column {}", read_as.column()),
                &format!("at most {most}"),
            )
        };
        self.finish(row, bytes.ok_or_else(too_large)?, None, marks, notes)
    }
}
