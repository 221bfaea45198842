//! Names, meanings and content of all columns of the result files: the only source of headers,
//! reference and values.
//!
//! A row of a table is `"NAME" "UNIT" "Meaning." |r| value;` for one column, or `"NAME" [mean p95
//! max] "Sentence" |r| distribution;` for the columns of a distribution of times.

/// One row of a table: expands to its columns.
macro_rules! columns {
    ($name:literal [$($number:ident)*] $meaning:literal $r:ident $of:expr) => {
        &[$(columns!($number $name $meaning $r $of)),*]
    };
    ($name:literal $unit:literal $meaning:literal $r:ident $value:expr) => {
        &[Column { name: $name, unit: $unit, meaning: $meaning, value: |$r| ($value).into() }]
    };
    (mean $($row:tt)*) => { columns!(number "mean" "mean" mean_ms $($row)*) };
    (sd $($row:tt)*) => { columns!(number "sd" "standard deviation" sd_ms $($row)*) };
    (min $($row:tt)*) => { columns!(number "min" "least value" min_ms $($row)*) };
    (p25 $($row:tt)*) => { columns!(number "p25" "25th percentile" p25_ms $($row)*) };
    (p50 $($row:tt)*) => { columns!(number "p50" "median" p50_ms $($row)*) };
    (p75 $($row:tt)*) => { columns!(number "p75" "75th percentile" p75_ms $($row)*) };
    (p90 $($row:tt)*) => { columns!(number "p90" "90th percentile" p90_ms $($row)*) };
    (p95 $($row:tt)*) => { columns!(number "p95" "95th percentile" p95_ms $($row)*) };
    (p99 $($row:tt)*) => { columns!(number "p99" "99th percentile" p99_ms $($row)*) };
    (p999 $($row:tt)*) => { columns!(number "p999" "99.9th percentile" p999_ms $($row)*) };
    (max $($row:tt)*) => { columns!(number "max" "greatest value" max_ms $($row)*) };
    (number $end:literal $words:literal $field:ident
        $name:literal $meaning:literal $r:ident $of:expr) => {
        Column {
            name: concat!($name, "_ms_", $end),
            unit: "ms",
            meaning: concat!($meaning, ": ", $words, "."),
            value: |$r| number($of, |d| d.$field),
        }
    };
}

/// A table whose rows each belong to a run: the columns after the run's identity.
macro_rules! in_runs {
    (
        $(#[$doc:meta])*
        pub static $NAME:ident: $Table:ident;
        $($rows:tt)*
    ) => {
        in_runs! {
            @ $(#[$doc])* $NAME $Table
            "scenario" "text" "Name of the scenario." |r| &r.run.scenario;
            "group" "text" "Name of the group of runs." |r| &r.group.label;
            "x_name" "text" "What is swept; the name ends in the unit."
                |r| r.group.x.as_ref().map(|x| &x.0);
            "x_value" "of x_name" "Point of the sweep." |r| r.group.x.as_ref().map(|x| x.1);
            "grid" "text" "All that a grid of several settings varies, and the values."
                |r| &r.group.grid;
            "method" "text" "Name of the method." |r| &r.run.method;
            "seed" "number" "Seed of the run." |r| r.run.seed;
            $($rows)*
        }
    };
    (
        @ $(#[$doc:meta])* $NAME:ident $Table:ident
        $($name:literal $unit:tt $meaning:literal |$r:ident| $value:expr;)*
    ) => {
        $(#[$doc])*
        pub static $NAME: &[Column<$Table>] = {
            const ROWS: &[&[Column<$Table>]] = &[$(columns!($name $unit $meaning $r $value)),*];
            const ALL: [Column<$Table>; super::table::number_of(ROWS)] = super::table::joined(ROWS);
            &ALL
        };
    };
}

/// A file with a row for each part of a run: its table, and the data for a row.
macro_rules! parts {
    (
        $file:literal $Table:ident: $of:literal $Row:ident {
            $($(#[$doc:meta])* $part:ident: $Part:ty,)*
        }
    ) => {
        #[doc = concat!("`", $file, "`.")]
        pub enum $Table {}

        impl Table for $Table {
            type Row<'a> = $Row<'a>;
        }

        #[doc = concat!("A row of `", $file, "`: ", $of, ".")]
        #[derive(Clone, Copy, Debug)]
        pub struct $Row<'a> {
            /// The group of the run.
            pub group: &'a Group,
            /// The run.
            pub run: &'a RunResult,
            $($(#[$doc])* pub $part: $Part,)*
        }
    };
}

mod carriers;
mod cells;
mod runs;
mod table;
mod tables;

pub use carriers::{CARRIER_COLUMNS, CarrierRow, Carriers, LEG_COLUMNS, LegRow, Legs};
pub use cells::{
    AROUND_COLUMNS, AroundRow, CELL_COLUMNS, CellRow, Cells, DRX_COLUMNS, Drx, DrxRow,
    HANDOVER_COLUMNS, HandoverDelays, HandoverRow, Handovers,
};
pub use runs::COLUMNS;
pub use table::{
    CdfPoint, Cdfs, Column, Entities, EntityRow, FlowPoint, FlowRow, FlowsOverTime, Runs,
    SeriesOverTime, SeriesPoint, Table,
};
pub use tables::{CDF_COLUMNS, ENTITY_COLUMNS, FLOW_SERIES_COLUMNS, SERIES_COLUMNS};

#[cfg(test)]
mod tests;
