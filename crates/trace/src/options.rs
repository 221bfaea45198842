//! How a trace file is read, and which options each format reads.

use super::clock::TimeUnit;
use super::format::FileFormat;
use super::quality::capacity_of_cqi;
use super::table::{DecimalSign, Separator};
use super::timeline::MAX_INTERVALS;
use super::unit::Unit;
use super::words::{ReadOption, Words};
use super::{MissingCqi, TraceError};
use justfull_base::{Bytes, ConfigError, Duration, choice};
use justfull_phy::CqiToMcs;
use justfull_ran::channel::CqiRowsConfig;
use std::fmt;
use std::path::Path;

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

    pub(super) const fn names(self) -> &'static [&'static str] {
        match self {
            Self::DlBitrate => &["dl_bitrate", "dl_kbps"],
            Self::UlBitrate => &["ul_bitrate", "ul_kbps"],
            Self::Cqi => &["cqi"],
        }
    }
}

choice! {
    serde;
    /// The treatment of rows that share a time.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Repeated {
        /// The last is kept.
        #[default]
        Last = "last",
        /// The first is kept.
        First = "first",
        /// They are one row with the mean of their values.
        Mean = "mean",
        /// They are one row with the sum of their values.
        Sum = "sum",
        /// The file is refused.
        Error = "error",
    }
}

choice! {
    serde;
    /// The treatment of times without a row, and of rows without a value.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Gaps {
        /// Each holds the value before it; those before the first value take that one.
        #[default]
        Hold = "hold",
        /// Nothing is carried.
        Zero = "zero",
        /// They are left out: time is compressed.
        Skip = "skip",
        /// The file is refused.
        Error = "error",
    }
}

impl From<MissingCqi> for Gaps {
    fn from(missing: MissingCqi) -> Self {
        match missing {
            MissingCqi::Error => Self::Error,
            MissingCqi::Hold => Self::Hold,
            MissingCqi::Zero => Self::Zero,
            MissingCqi::Skip => Self::Skip,
        }
    }
}

choice! {
    serde;
    /// The treatment of rows in which the phone was idle (state `I`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Idle {
        /// They are left out, since their rate says nothing of the link: time is compressed.
        #[default]
        Cut = "cut",
        /// They count as any other.
        Keep = "keep",
    }
}

choice! {
    serde;
    /// Which direction of a log of grants is read.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Link {
        /// Downlink, DCI formats 1_0 and 1_1.
        #[default]
        Down = "dl",
        /// Uplink, DCI formats 0_0 and 0_1.
        Up = "ul",
    }
}

/// Reads a choice by its name in scenarios and on the command line.
macro_rules! by_name {
    ($($choice:ident),+) => {
        $(impl fmt::Display for $choice {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $choice {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.into_iter().find(|choice| choice.name() == text).ok_or_else(|| {
                    format!("found `{text}`, allowed is one of {}",
                        Self::ALL.map(Self::name).join(", "))
                })
            }
        })+
    };
}

by_name!(Column, Repeated, Gaps, Idle, Link, Separator, DecimalSign, TimeUnit);

/// Which terminals of a log of grants are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rnti {
    /// All of them, added up.
    #[default]
    Sum,
    /// This one.
    One(u16),
}

impl fmt::Display for Rnti {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum => f.write_str("sum"),
            Self::One(rnti) => write!(f, "{rnti}"),
        }
    }
}

impl std::str::FromStr for Rnti {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = match text.strip_prefix("0x") {
            Some(hex) => u16::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        };
        match (text, number) {
            ("sum", _) => Ok(Self::Sum),
            (_, Some(number)) => Ok(Self::One(number)),
            _ => Err(format!("found `{text}`, allowed is sum or a number from 0 to 65535")),
        }
    }
}

/// Repairs; each is the format's own when none is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Rows that share a time.
    pub repeated: Option<Repeated>,
    /// Times without a row, and rows without a value.
    pub gaps: Option<Gaps>,
    /// Idle rows of a phone log.
    pub idle: Option<Idle>,
}

/// How to read a file. An option that the file's format does not read is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOptions {
    /// Its format; detected from content by default.
    pub format: Option<FileFormat>,
    /// Size of the packets that the file counts, 1 to 65 535 B; the format's own by default.
    pub packet: Option<Bytes>,
    /// Length of a row in formats that do not state it: `bytes` needs it, `cqi` without times has
    /// 1 s. In tables with times, the length of the intervals that their rows become.
    pub interval: Option<Duration>,
    /// Column of the rates of a table, by name or by number from 1.
    pub rate_column: Option<String>,
    /// Column of the amounts of a table, likewise.
    pub amount_column: Option<String>,
    /// Column of its times, likewise; without one, `interval` is the length of a row. A table of
    /// CQIs has one if the name or the values of a column show it.
    pub time_column: Option<String>,
    /// Unit of the rates or amounts; that in the column's name by default.
    pub unit: Option<Unit>,
    /// Unit of the times; that in the column's name, or what an epoch shows, by default.
    pub time_unit: Option<TimeUnit>,
    /// The separator of fields; found from the file by default.
    pub separator: Option<Separator>,
    /// The sign before a fraction; found from the file by default.
    pub decimal: Option<DecimalSign>,
    /// Terminals of a log of grants.
    pub rnti: Option<Rnti>,
    /// Direction of a log of grants.
    pub link: Option<Link>,
    /// Column of a phone log; `dl_bitrate` by default.
    pub column: Option<Column>,
    /// The treatment of faults.
    pub repairs: Repairs,
    /// How to convert a CQI to a capacity: uses `map`, `n_prb`, `numerology` and `layers` only.
    pub quality: CqiRowsConfig,
    /// Which of `map`, `prbs` and `layers` the user has set.
    pub given: [bool; 3],
    /// Options that the caller uses itself.
    pub elsewhere: &'static [ReadOption],
    /// The words of messages.
    pub words: Words,
    /// Maximum number of intervals, at most [`MAX_INTERVALS`]; bounds the memory for a hostile
    /// file.
    pub max_intervals: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            packet: None,
            interval: None,
            rate_column: None,
            amount_column: None,
            time_column: None,
            unit: None,
            time_unit: None,
            separator: None,
            decimal: None,
            rnti: None,
            link: None,
            column: None,
            repairs: Repairs::default(),
            quality: CqiRowsConfig::default(),
            given: [false; 3],
            elsewhere: &[],
            words: Words::default(),
            max_intervals: MAX_INTERVALS,
        }
    }
}

/// Options of every table.
const TABLE: [ReadOption; 2] = [ReadOption::Separator, ReadOption::Decimal];

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
        self.given = [map.is_some(), n_prb.is_some(), layers.is_some()];
        capacity_of_cqi(&[], Duration::from_millis(1), &self.quality).map(|_| ())
    }

    /// The same for a caller that uses the options `names` itself, so that they have an effect on
    /// any format.
    #[must_use]
    pub fn used_elsewhere(self, names: &'static [ReadOption]) -> Self {
        Self { elsewhere: names, ..self }
    }

    /// Sets `option`, but none of those of [`Self::set_quality`], to the value of `text`.
    ///
    /// # Errors
    /// A sentence when `text` is no value of it.
    pub fn set(&mut self, option: ReadOption, text: &str) -> Result<(), String> {
        fn value<T: std::str::FromStr>(text: &str) -> Result<Option<T>, String>
        where
            T::Err: fmt::Display,
        {
            text.parse().map(Some).map_err(|why: T::Err| why.to_string())
        }
        match option {
            ReadOption::Format => self.format = value(text)?,
            ReadOption::Packet => self.packet = value(text)?,
            ReadOption::Row => self.interval = value(text)?,
            ReadOption::RateColumn => self.rate_column = Some(text.into()),
            ReadOption::AmountColumn => self.amount_column = Some(text.into()),
            ReadOption::TimeColumn => self.time_column = Some(text.into()),
            ReadOption::Unit => self.unit = value(text)?,
            ReadOption::TimeUnit => self.time_unit = value(text)?,
            ReadOption::Separator => self.separator = value(text)?,
            ReadOption::Decimal => self.decimal = value(text)?,
            ReadOption::Rnti => self.rnti = value(text)?,
            ReadOption::Link => self.link = value(text)?,
            ReadOption::Column => self.column = value(text)?,
            ReadOption::Repeated => self.repairs.repeated = value(text)?,
            ReadOption::Gaps => self.repairs.gaps = value(text)?,
            ReadOption::Idle => self.repairs.idle = value(text)?,
            ReadOption::Map | ReadOption::Prbs | ReadOption::Layers => {}
        }
        Ok(())
    }

    /// The format that the columns name, or the given format.
    pub(super) fn named(&self) -> Option<FileFormat> {
        match (&self.rate_column, &self.amount_column) {
            (Some(_), _) => Some(FileFormat::Rates),
            (None, Some(_)) => Some(FileFormat::Amounts),
            (None, None) => self.format,
        }
    }

    /// The options that were given, apart from the format.
    fn given(&self) -> impl Iterator<Item = ReadOption> {
        use ReadOption as Of;
        let [map, prbs, layers] = self.given;
        [
            (Of::Packet, self.packet.is_some()),
            (Of::Row, self.interval.is_some()),
            (Of::RateColumn, self.rate_column.is_some()),
            (Of::AmountColumn, self.amount_column.is_some()),
            (Of::TimeColumn, self.time_column.is_some()),
            (Of::Unit, self.unit.is_some()),
            (Of::TimeUnit, self.time_unit.is_some()),
            (Of::Separator, self.separator.is_some()),
            (Of::Decimal, self.decimal.is_some()),
            (Of::Rnti, self.rnti.is_some()),
            (Of::Link, self.link.is_some()),
            (Of::Column, self.column.is_some()),
            (Of::Repeated, self.repairs.repeated.is_some()),
            (Of::Gaps, self.repairs.gaps.is_some()),
            (Of::Idle, self.repairs.idle.is_some()),
            (Of::Map, map),
            (Of::Prbs, prbs),
            (Of::Layers, layers),
        ]
        .into_iter()
        .filter_map(|(option, given)| given.then_some(option))
    }

    /// The options that a file of `format` reads.
    fn read_by(&self, format: FileFormat) -> Vec<ReadOption> {
        use ReadOption as Of;
        let table = |own: &[ReadOption]| [own, &TABLE].concat();
        let times: &[ReadOption] =
            if self.time_column.is_some() { &[Of::TimeUnit, Of::Repeated] } else { &[] };
        let timed = |own: &[ReadOption]| {
            table(&[own, &[Of::TimeColumn, Of::Row, Of::Gaps], times].concat())
        };
        match format {
            FileFormat::Mahimahi | FileFormat::Cellreplay | FileFormat::CellreplayTrain => {
                vec![Of::Packet]
            }
            FileFormat::T20 => table(&[Of::Packet]),
            FileFormat::Ucc => {
                let of_cqi: &[ReadOption] =
                    if self.column == Some(Column::Cqi) { &Of::QUALITY } else { &[] };
                table(&[&[Of::Column, Of::Repeated, Of::Gaps, Of::Idle], of_cqi].concat())
            }
            FileFormat::Cqi => timed(&Of::QUALITY),
            FileFormat::Bytes => table(&[Of::Row]),
            FileFormat::Csv => table(&[]),
            FileFormat::NrScope => table(&[Of::Row, Of::Rnti, Of::Link]),
            FileFormat::Rates => timed(&[Of::RateColumn, Of::Unit]),
            FileFormat::Amounts => timed(&[Of::AmountColumn, Of::Unit]),
        }
    }

    /// Refuses an option that has no effect on a file of `format`, which messages call `path`.
    ///
    /// # Errors
    /// [`TraceError::Useless`] for the first of them.
    pub fn ensure_read(&self, format: FileFormat, path: &Path) -> Result<(), TraceError> {
        let read = self.read_by(format);
        let named = self.format.filter(|named| *named != format).map(|_| ReadOption::Format);
        let useless =
            |option: &ReadOption| !read.contains(option) && !self.elsewhere.contains(option);
        let Some(option) = named.or_else(|| self.given().find(useless)) else {
            return Ok(());
        };
        let (path, format, words) = (path.into(), format.name(), self.words.clone());
        Err(TraceError::Useless { path, option, format, read, words })
    }
}
