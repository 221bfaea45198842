//! The columns of a table that serves as a trace.

use crate::failure::Failure;
use clap::Args;
use justfull_trace::{Gaps, ReadOptions, Repairs, TimeUnit, Unit, load};
use std::path::Path;

// Which columns of the table, and how they are read.
#[derive(Args)]
pub(crate) struct ColumnsArgs {
    /// Column of the rates, if the trace is a table, by name or by number from 1
    #[arg(long, value_name = "COLUMN", help_heading = "Tables")]
    rate_column: Option<String>,
    /// Column of amounts at instants; amounts of one instant are added
    #[arg(long, value_name = "COLUMN", conflicts_with = "rate_column", help_heading = "Tables")]
    amount_column: Option<String>,
    /// Column of the times, which may be epochs or dates
    #[arg(long, value_name = "COLUMN", help_heading = "Tables")]
    time_column: Option<String>,
    /// Unit of the rates or amounts, such as kbit/s, Mbps, MB/s, B [default: that in the column's
    /// name]
    #[arg(long, help_heading = "Tables")]
    unit: Option<Unit>,
    /// Unit of the times: h, min, s, ms, us, ns [default: that in the column's name, or what an
    /// epoch shows, or s]
    #[arg(long, help_heading = "Tables")]
    time_unit: Option<TimeUnit>,
    /// Times without a row, and rows without a value: hold, zero, skip (compresses time), error
    /// [default: hold; a table with empty fields is refused]
    #[arg(long, value_name = "REPAIR", help_heading = "Tables")]
    gaps: Option<Gaps>,
}

impl ColumnsArgs {
    /// Keys and values of a channel that reads these columns.
    pub(crate) fn keys(&self) -> Vec<(&'static str, String)> {
        let text = |given: &Option<String>| given.clone();
        let all = [
            ("rate_column", text(&self.rate_column)),
            ("amount_column", text(&self.amount_column)),
            ("time_column", text(&self.time_column)),
            ("rate_unit", self.unit.map(|unit| unit.to_string())),
            ("time_unit", self.time_unit.map(|unit| unit.to_string())),
            ("gaps", self.gaps.map(|repair| repair.to_string())),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The error of the trace `file` for `command`, in words of the file; `else_` if it is sound.
    pub(crate) fn unread(&self, file: &Path, command: &str, else_: Failure) -> Failure {
        let options = ReadOptions {
            rate_column: self.rate_column.clone(),
            amount_column: self.amount_column.clone(),
            time_column: self.time_column.clone(),
            unit: self.unit,
            time_unit: self.time_unit,
            repairs: Repairs { gaps: self.gaps, ..Repairs::default() },
            ..ReadOptions::default()
        };
        match load(file, &options) {
            Ok(_) => else_,
            Err(error) => Failure::Usage(error.to_string().replace("justfull trace info", command)),
        }
    }
}
