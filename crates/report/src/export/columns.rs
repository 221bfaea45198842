//! Names, meanings and content of all columns of the result files: the one source of headers,
//! reference and values.

macro_rules! column {
    ($name:literal, $unit:literal, $meaning:literal, $value:expr) => {
        Column { name: $name, unit: $unit, meaning: $meaning, value: $value }
    };
}

/// A table whose rows each belong to a run: its columns after those that identify the run.
macro_rules! in_runs {
    ($($column:expr),* $(,)?) => {
        [
            column!("scenario", "text", "Name of the scenario.", |r| Value::text(&r.run.scenario)),
            column!("group", "text", "Name of the group of runs.", |r| Value::text(&r.group.label)),
            column!("x_name", "text", "What is swept; the name ends in the unit.", |r| r
                .group
                .x
                .as_ref()
                .map_or(Value::Absent, |x| Value::text(&x.0))),
            column!("x_value", "of x_name", "Point of the sweep.",
                |r| Value::real(r.group.x.as_ref().map(|x| x.1))),
            column!("grid", "text", "All that a grid of several settings varies, and the values.",
                |r| if r.group.grid.is_empty() {
                    Value::Absent
                } else {
                    Value::text(&r.group.grid)
                }),
            column!("method", "text", "Name of the method.", |r| Value::text(&r.run.method)),
            column!("seed", "number", "Seed of the run.", |r| Value::Whole(r.run.seed)),
            $($column,)*
        ]
    };
}

mod runs;
mod table;
mod tables;

pub use runs::COLUMNS;
pub use table::{
    CdfPoint, Cdfs, Column, Entities, EntityRow, FlowPoint, FlowRow, FlowsOverTime, Runs,
    SeriesOverTime, SeriesPoint, Table,
};
pub use tables::{CDF_COLUMNS, ENTITY_COLUMNS, FLOW_SERIES_COLUMNS, SERIES_COLUMNS};

#[cfg(test)]
mod tests;
