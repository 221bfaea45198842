//! Trace files of every format, read into one [`Timeline`].

#[cfg(feature = "parquet")]
mod caught;
mod cellreplay;
mod intervals;
mod mahimahi;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
mod rates;
#[cfg(feature = "parquet")]
mod thrift;
mod ucc;

#[cfg(test)]
mod tests;

pub(crate) use intervals::UNITS;

use super::format::{FileFormat, guess};
use super::lines::Marks;
use super::parse::parse;
use super::timeline::{MAX_INTERVALS, Timeline};
use super::unpack::{Limits, Unpacked, read_error};
use super::{Format, MissingCqi, TraceError, Values, open};
use justfull_base::{Bytes, ConfigError, Duration, Instant, choice};
use justfull_phy::CqiToMcs;
use justfull_ran::channel::{
    AtEnd, CapacityUnit, Channel, ChannelConfig, ChannelContext, CqiRowsConfig, RowLength,
};
use std::io::{Cursor, Read};
use std::path::Path;

/// Bytes of a file used to detect its format.
const HEAD: u64 = 64 * 1024;

choice! {
    serde;
    /// Which column of a phone log is the capacity.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Column {
        /// `DL_bitrate`.
        #[default]
        DlBitrate = "dl_bitrate",
        /// `UL_bitrate`.
        UlBitrate = "ul_bitrate",
        /// `CQI`, by the transport blocks that answer it.
        Cqi = "cqi",
    }
}

impl Column {
    /// Its name in the log.
    #[must_use]
    pub const fn in_log(self) -> &'static str {
        match self {
            Self::DlBitrate => "DL_bitrate",
            Self::UlBitrate => "UL_bitrate",
            Self::Cqi => "CQI",
        }
    }

    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::DlBitrate => &["dl_bitrate", "dl_kbps"],
            Self::UlBitrate => &["ul_bitrate", "ul_kbps"],
            Self::Cqi => &["cqi"],
        }
    }
}

choice! {
    serde;
    /// What becomes of rows of a phone log that share a second.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Repeated {
        /// The last is kept: time stamps jitter, and the last row is the most recent.
        #[default]
        Last = "last",
        /// The first is kept.
        First = "first",
        /// The second takes the mean of their rates.
        Mean = "mean",
        /// The log is refused.
        Error = "error",
    }
}

choice! {
    serde;
    /// What becomes of seconds that a phone log lacks, and of rows without a value.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Gaps {
        /// Each holds the value before it; those before the first value take that one.
        #[default]
        Hold = "hold",
        /// Nothing is carried.
        Zero = "zero",
        /// They are left out: time is compressed.
        Skip = "skip",
        /// The log is refused.
        Error = "error",
    }
}

choice! {
    serde;
    /// What becomes of rows in which the phone was idle (state `I`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Idle {
        /// They are left out, since their rate says nothing of the link: time is compressed.
        #[default]
        Cut = "cut",
        /// They count as any other.
        Keep = "keep",
    }
}

/// Repairs of phone logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Rows that share a second.
    pub repeated: Repeated,
    /// Missing seconds and values.
    pub gaps: Gaps,
    /// Idle rows.
    pub idle: Idle,
}

choice! {
    serde;
    /// Unit of a column of rates.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RateUnit {
        /// bit/s.
        Bit = "bit/s",
        /// 1000 bit/s.
        Kbit = "kbit/s",
        /// 10^6 bit/s.
        #[default]
        Mbit = "Mbit/s",
        /// 10^9 bit/s.
        Gbit = "Gbit/s",
        /// Bytes per second.
        Byte = "B/s",
        /// 1000 bytes per second.
        Kbyte = "kB/s",
        /// 10^6 bytes per second.
        Mbyte = "MB/s",
    }
}

impl RateUnit {
    /// Its bytes per second.
    const fn bytes(self) -> f64 {
        match self {
            Self::Bit => 0.125,
            Self::Kbit => 125.0,
            Self::Mbit => 125e3,
            Self::Gbit => 125e6,
            Self::Byte => 1.0,
            Self::Kbyte => 1e3,
            Self::Mbyte => 1e6,
        }
    }
}

/// Columns of a table of rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTable {
    /// Column of the times, in seconds or in what its name ends in (`_ms`, `_us`, `_ns`); without
    /// one, [`ReadOptions::interval`] is the length of a row.
    pub time: Option<String>,
    /// Column of the rates.
    pub rate: String,
    /// Their unit.
    pub unit: RateUnit,
}

/// How to read a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOptions {
    /// Its format; detected from content by default.
    pub format: Option<FileFormat>,
    /// Size of the packets that the file counts, 1 to 65 535 B; the format's own by default.
    pub packet: Option<Bytes>,
    /// Length of a row in formats that do not state it: `bytes` needs it, `cqi` has 1 s.
    pub interval: Option<Duration>,
    /// Columns of a table of rates, which the file then is.
    pub rates: Option<RateTable>,
    /// Column of a phone log.
    pub column: Column,
    /// Repairs of a phone log; for the format `cqi`, `gaps` says what to do with rows without one.
    pub repairs: Repairs,
    /// How to convert a CQI to a capacity: uses `map`, `n_prb`, `numerology` and `layers` only.
    pub quality: CqiRowsConfig,
    /// Maximum number of intervals, at most [`MAX_INTERVALS`]; bounds the memory for a hostile
    /// file.
    pub max_intervals: usize,
}

/// Reads a choice by its name in scenarios and on the command line.
macro_rules! by_name {
    ($choice:ident: $($name:literal => $variant:ident),+) => {
        impl std::str::FromStr for $choice {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(format!("found `{text}`, allowed is one of {}",
                        [$($name),+].join(", "))),
                }
            }
        }
    };
}

by_name!(Column: "dl_bitrate" => DlBitrate, "ul_bitrate" => UlBitrate, "cqi" => Cqi);
by_name!(RateUnit: "bit/s" => Bit, "kbit/s" => Kbit, "Mbit/s" => Mbit, "Gbit/s" => Gbit,
    "B/s" => Byte, "kB/s" => Kbyte, "MB/s" => Mbyte);
by_name!(Repeated: "last" => Last, "first" => First, "mean" => Mean, "error" => Error);
by_name!(Gaps: "hold" => Hold, "zero" => Zero, "skip" => Skip, "error" => Error);
by_name!(Idle: "cut" => Cut, "keep" => Keep);

impl ReadOptions {
    /// Sets how to convert a CQI to a capacity, as far as given: the map from CQI to MCS, the
    /// resource blocks, the layers.
    ///
    /// # Errors
    /// When there is no such map, or the tables have no such number of resource blocks or layers.
    pub fn set_quality(
        &mut self,
        map: Option<&str>,
        n_prb: Option<u16>,
        layers: Option<u8>,
    ) -> Result<(), ConfigError> {
        if let Some(name) = map {
            let found = CqiToMcs::ALL.into_iter().find(|map| map.name() == name);
            let allowed = format!("one of {}", CqiToMcs::ALL.map(CqiToMcs::name).join(", "));
            let unknown = || {
                ConfigError::new(
                    "map",
                    &name,
                    &allowed,
                    "TS 36.213 and TS 38.214 leave the map open",
                )
            };
            self.quality.map = found.ok_or_else(unknown)?;
        }
        self.quality.n_prb = n_prb.unwrap_or(self.quality.n_prb);
        self.quality.layers = layers.unwrap_or(self.quality.layers);
        capacity_of_cqi(&[], Duration::from_millis(1), &self.quality).map(|_| ())
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            packet: None,
            interval: None,
            rates: None,
            column: Column::default(),
            repairs: Repairs::default(),
            quality: CqiRowsConfig::default(),
            max_intervals: MAX_INTERVALS,
        }
    }
}

/// A trace that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The trace.
    pub timeline: Timeline,
    /// Its format, as given or detected.
    pub format: FileFormat,
    /// What was repaired, estimated or skipped, one sentence each, with the line where it began.
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
    let source = Source { path, options };
    let mut reader = Unpacked::new(reader, path, Limits::ALL)?;
    let gzip = reader.is_gzip();
    let mut head = Vec::new();
    let peeked = reader.by_ref().take(HEAD).read_to_end(&mut head);
    peeked.map_err(|error| read_error(path, None, &error))?;
    let named = options.rates.as_ref().map(|_| FileFormat::Rates).or(options.format);
    let format = named.or_else(|| guess(&head)).ok_or_else(|| {
        let found = if head.is_empty() {
            "an empty file"
        } else {
            "no format that is known by its first line"
        };
        let names = FileFormat::ALL.map(FileFormat::name).join(", ");
        source.unusable(found, &format!("one of {names}; if it is one of them, name it"))
    })?;
    let whole = Cursor::new(head).chain(reader);
    let parsed = match format {
        FileFormat::Mahimahi | FileFormat::Cellreplay => mahimahi::read(whole, &source, format),
        FileFormat::CellreplayTrain => cellreplay::read(whole, &source),
        FileFormat::Ucc => ucc::read(whole, &source),
        FileFormat::Csv => intervals::read(whole, &source),
        FileFormat::Rates => match &options.rates {
            Some(table) => rates::read(whole, &source, table),
            None => {
                Err(source.unusable("no column of rates", "the name of the column (--rate-column)"))
            }
        },
        #[cfg(feature = "parquet")]
        FileFormat::Parquet => parquet::read(whole, &source),
        #[cfg(not(feature = "parquet"))]
        FileFormat::Parquet => {
            Err(source
                .unusable("a Parquet file", &format!("another format: {}", super::NO_PARQUET)))
        }
        FileFormat::T20 | FileFormat::Cqi | FileFormat::Bytes => source.column(whole, format),
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

/// A reader's result.
struct Parsed {
    timeline: Timeline,
    notes: Vec<String>,
}

/// A file being read.
struct Source<'a> {
    path: &'a Path,
    options: &'a ReadOptions,
}

impl Source<'_> {
    fn unusable(&self, found: &str, allowed: &str) -> TraceError {
        TraceError::unusable(self.path, found, allowed)
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

    /// The timeline of checked rows.
    fn finish(
        &self,
        interval: Duration,
        bytes: Vec<u32>,
        cqi: Option<Vec<u8>>,
        marks: Marks,
        mut notes: Vec<String>,
    ) -> Result<Parsed, TraceError> {
        if marks.bom {
            notes.push("a byte order mark was skipped".into());
        }
        if marks.crlf {
            notes.push("lines end in CRLF".into());
        }
        let timeline = Timeline::new(interval, bytes, cqi);
        let timeline = timeline
            .map_err(|e| self.unusable(&format!("{} of {}", e.field, e.value), &e.bound))?;
        Ok(Parsed { timeline, notes })
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
        let bytes = capacity
            .map_err(|e| self.unusable(&format!("{} of {}", e.field, e.value), &e.bound))?;
        notes.push(format!(
            "the capacity is that of the transport blocks by the map {} on {} resource blocks",
            quality.map.name(),
            quality.n_prb
        ));
        self.finish(interval, bytes, Some(cqi), marks, notes)
    }

    /// The formats of one column.
    fn column<R: Read>(&self, reader: R, format: FileFormat) -> Result<Parsed, TraceError> {
        let missing = match self.options.repairs.gaps {
            Gaps::Hold => MissingCqi::Hold,
            Gaps::Skip => MissingCqi::Skip,
            Gaps::Zero | Gaps::Error => MissingCqi::Error,
        };
        let (read_as, row) = match format {
            FileFormat::T20 => (Format::Packets, Duration::from_secs(1)),
            FileFormat::Cqi => {
                (Format::Cqi { missing }, self.options.interval.unwrap_or(Duration::from_secs(1)))
            }
            _ => {
                let allowed = "the length of a row, which the format bytes does not say (interval)";
                let interval =
                    self.options.interval.ok_or_else(|| self.unusable("no interval", allowed))?;
                (Format::Bytes, interval)
            }
        };
        let (trace, marks) = parse(reader, self.path, read_as, self.options.max_intervals as u64)?;
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

/// Bytes that the transport blocks of each CQI carry in `interval`.
///
/// # Errors
/// When `quality` has no transport block for a CQI, or the interval is above 1 s, the longest a CQI
/// is taken to hold.
pub(crate) fn capacity_of_cqi(
    cqi: &[u8],
    interval: Duration,
    quality: &CqiRowsConfig,
) -> Result<Vec<u32>, ConfigError> {
    let rows = CqiRowsConfig {
        cqi: (0..=15).collect(),
        row: RowLength::Slots(1),
        at_end: AtEnd::Hold,
        unit: CapacityUnit::Bytes,
        ..quality.clone()
    };
    let channel = Channel::new(
        &ChannelConfig::CqiRows(rows),
        &ChannelContext { key: 0, slot: interval, bandwidth: None },
    );
    let channel = channel.map_err(|e| ConfigError {
        field: if e.field == "slot" { "interval".into() } else { e.field },
        ..e
    })?;
    // Row q of the channel is CQI q: its bytes in an interval, whole ones.
    let bytes: Vec<u32> = (0..=15).map(|q| channel.peek(q, Instant::ZERO) as u32).collect();
    Ok(cqi.iter().map(|&q| bytes[usize::from(q.min(15))]).collect())
}
