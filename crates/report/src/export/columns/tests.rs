//! Tests of the columns.

use super::tables::capacity;
use super::*;
use crate::export::Value;
use justfull_run::results::RunResult;

fn check<T: Table>(columns: &[Column<T>]) {
    let suffixes = [
        ("ms", &["_ms", "_ms_mean", "_ms_sd", "_ms_min", "_ms_max", "_ms_p"][..]),
        ("s", &["_s"]),
        ("Mbit/s", &["_mbit_s"]),
        ("packets", &["_packets", "_packets_mean", "_packets_sd"]),
        ("bytes", &["_bytes", "_bytes_mean", "_bytes_sd"]),
        ("packets per slot", &["_packets_per_slot"]),
        ("bytes per slot", &["_bytes_per_slot"]),
        ("slots", &["slots"]),
        ("segments", &["_segments"]),
    ];
    for (i, column) in columns.iter().enumerate() {
        let name = column.name;
        assert!(columns[..i].iter().all(|other| other.name != name), "{name} is there twice");
        assert!(column.meaning.ends_with('.') && !column.unit.is_empty(), "{name}");
        assert!(
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
            "{name}"
        );
        if let Some((_, ends)) = suffixes.iter().find(|(unit, _)| *unit == column.unit) {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            assert!(
                ends.iter().any(|end| stem.ends_with(end)),
                "{name} does not end in {}",
                column.unit
            );
        }
    }
}

#[test]
fn names_are_unique_and_end_in_their_unit_and_meanings_are_sentences() {
    check(COLUMNS);
    check(SERIES_COLUMNS);
    check(FLOW_SERIES_COLUMNS);
    check(CDF_COLUMNS);
    check(ENTITY_COLUMNS);
    check(CELL_COLUMNS);
    check(CARRIER_COLUMNS);
    check(LEG_COLUMNS);
    check(HANDOVER_COLUMNS);
    check(AROUND_COLUMNS);
    check(DRX_COLUMNS);
}

#[test]
fn numbers_that_are_not_finite_are_absent() {
    assert_eq!(Value::Real(f64::NAN).to_string(), "");
    assert_eq!(serde_json::to_string(&Value::Real(f64::INFINITY)).ok().as_deref(), Some("null"));
    assert_eq!(Value::Real(0.1 + 0.2).to_string(), "0.30000000000000004");
}

#[test]
fn capacity_stands_in_the_column_of_its_unit_alone() {
    let comparison = justfull_lab::model::example::comparison(1);
    let group = &comparison.groups[0];
    let row = SeriesPoint { group, run: &group.runs[0], bin: 0 };
    assert_eq!(capacity(&row, "bytes"), None);
    assert_eq!(capacity(&row, "packets"), Some(group.runs[0].series.capacity_per_slot[0]));
}

#[test]
fn idle_mechanisms_are_joined_by_semicolons_and_absent_where_all_acted() {
    let comparison = justfull_lab::model::example::comparison(1);
    let group = &comparison.groups[0];
    let mut run = group.runs[0].clone();
    let column = COLUMNS.iter().find(|c| c.name == "never_acted").expect("a column");
    let value =
        |run: &RunResult| (column.value)(&FlowRow { group, run, flow: &group.runs[0].flows[0] });
    assert_eq!(value(&run), Value::Absent);
    run.never_acted = vec!["limiter".into(), "pacer".into()];
    assert_eq!(value(&run), Value::Text("limiter;pacer".into()));
}

/// A percentile read from a histogram can lie below the exact minimum.
#[test]
fn no_packet_delay_variation_is_negative() {
    let comparison = justfull_lab::model::example::comparison(1);
    let group = &comparison.groups[0];
    let mut flow = group.runs[0].flows[0].clone();
    for edge in [&mut flow.delay.p95_ms, &mut flow.delay.p99_ms, &mut flow.delay.p999_ms] {
        *edge = flow.delay.min_ms - 13e-6;
    }
    for column in COLUMNS.iter().filter(|c| c.name.starts_with("pdv_")) {
        let value = (column.value)(&FlowRow { group, run: &group.runs[0], flow: &flow });
        assert_eq!(value, Value::Real(0.0), "{}", column.name);
    }
}
