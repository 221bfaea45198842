//! How a table that serves as a trace is read.

use crate::failure::Failure;
use clap::Args;
use justfull_trace::{
    Column, DecimalSign, Duration, Gaps, Idle, Link, ReadOptions, Repairs, Repeated, Rnti,
    Separator, TimeUnit, Unit, Words, load,
};
use std::path::Path;

// Which columns of the table, and how they are read.
#[derive(Args)]
#[command(next_help_heading = "Tables")]
pub(crate) struct ColumnsArgs {
    /// Length of a row, for the formats bytes and cqi and for tables without times; or of the
    /// intervals into which rows with times are divided [default: 1s for cqi; what fits the rows]
    #[arg(long, value_name = "TIME")]
    row: Option<Duration>,
    /// Column of the rates of a table, by name or by number from 1
    #[arg(long, value_name = "COLUMN")]
    rate_column: Option<String>,
    /// Column of a table with amounts at instants; amounts of one instant are added
    #[arg(long, value_name = "COLUMN", conflicts_with = "rate_column")]
    amount_column: Option<String>,
    /// Column of the times, which may be epochs or dates; the first time becomes 0 [default: rows
    /// as long as --row; with a column cqi the column that looks like times]
    #[arg(long, value_name = "COLUMN")]
    time_column: Option<String>,
    /// Unit of the rates or amounts, such as kbit/s, Mbps, MB/s, B: b is bits, B bytes [default:
    /// that in the column's name]
    #[arg(long)]
    unit: Option<Unit>,
    /// Unit of the times: h, min, s, ms, us, ns [default: that in the column's name, or what an
    /// epoch shows, or s]
    #[arg(long, value_name = "UNIT")]
    time_unit: Option<TimeUnit>,
    /// Separator of fields: comma, semicolon, tab, pipe, blank [default: found from the file]
    #[arg(long)]
    separator: Option<Separator>,
    /// Sign before a fraction: point, comma [default: found from the file]
    #[arg(long)]
    decimal: Option<DecimalSign>,
    /// Terminal of NR-Scope's log: its RNTI, or sum [default: sum]
    #[arg(long, value_name = "RNTI")]
    rnti: Option<Rnti>,
    /// Direction of NR-Scope's log: dl, ul [default: dl]
    #[arg(long)]
    link: Option<Link>,
    /// Column of a phone log: dl_bitrate, ul_bitrate, cqi [default: dl_bitrate]
    #[arg(long)]
    column: Option<Column>,
    /// Rows of one time: last, first, mean, sum, error [default: mean of rates, sum of amounts,
    /// last of a phone log and of CQIs]
    #[arg(long, value_name = "REPAIR")]
    repeated: Option<Repeated>,
    /// Times without a row, and rows without a value: hold, zero, skip (compresses time), error
    /// [default: hold; a table of rates or amounts with empty fields is refused]
    #[arg(long, value_name = "REPAIR")]
    gaps: Option<Gaps>,
    /// Idle rows of a phone log (state I): cut (compresses time), keep [default: cut]
    #[arg(long, value_name = "REPAIR")]
    idle: Option<Idle>,
}

impl ColumnsArgs {
    /// The options for reading the file.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            interval: self.row,
            rate_column: self.rate_column.clone(),
            amount_column: self.amount_column.clone(),
            time_column: self.time_column.clone(),
            unit: self.unit,
            time_unit: self.time_unit,
            separator: self.separator,
            decimal: self.decimal,
            rnti: self.rnti,
            link: self.link,
            column: self.column,
            repairs: Repairs { repeated: self.repeated, gaps: self.gaps, idle: self.idle },
            ..ReadOptions::default()
        }
    }

    /// Keys and values of a channel that reads the file so.
    pub(crate) fn keys(&self) -> Vec<(&'static str, String)> {
        fn text(value: Option<&impl ToString>) -> Option<String> {
            value.map(ToString::to_string)
        }
        let all = [
            ("interval", text(self.row.as_ref())),
            ("rate_column", text(self.rate_column.as_ref())),
            ("amount_column", text(self.amount_column.as_ref())),
            ("time_column", text(self.time_column.as_ref())),
            ("rate_unit", text(self.unit.as_ref())),
            ("time_unit", text(self.time_unit.as_ref())),
            ("separator", text(self.separator.as_ref())),
            ("decimal", text(self.decimal.as_ref())),
            ("rnti", text(self.rnti.as_ref())),
            ("link", text(self.link.as_ref())),
            ("column", text(self.column.as_ref())),
            ("repeated", text(self.repeated.as_ref())),
            ("gaps", text(self.gaps.as_ref())),
            ("idle", text(self.idle.as_ref())),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The first option that is given, as it is typed.
    pub(crate) fn first(&self) -> Option<String> {
        let (key, _) = *self.keys().first()?;
        Some(match key {
            "interval" => "--row".into(),
            "rate_unit" => "--unit".into(),
            _ => format!("--{}", key.replace('_', "-")),
        })
    }

    /// The error of the trace `file` for `command`, in words of the file; `else_` if it is sound.
    pub(crate) fn unread(&self, file: &Path, command: &str, else_: Failure) -> Failure {
        let words = Words::Command(command.into());
        match load(file, &ReadOptions { words, ..self.options() }) {
            Ok(_) => else_,
            Err(error) => Failure::usage(&error),
        }
    }
}
