//! The tables of a fit: the parameters' sensitivity, and the paper's values beside both columns.

use super::{Grid, PLUS_MINUS, Row, RowKind, digits_for, with_interval};
use justfull_lab::model::fit::{FitTable, SensitivityRow};
use justfull_lab::stats::Summary;

/// The effect of the parameters on the fitted values, and all values of the paper with the
/// scenarios' settings and with the fitted ones.
#[must_use]
pub fn fit(table: &FitTable) -> [Grid; 2] {
    [sensitivity(table), columns(table)]
}

fn sensitivity(table: &FitTable) -> Grid {
    let header = ["parameter", "value"].map(str::to_owned).into_iter();
    let targets = table.targets.iter().map(|(what, _)| what.clone());
    let header = header.chain(targets).chain(["error".to_owned()]).collect();
    let number = |value: &f64| format!("{value:.*}", digits_for(*value));
    let paper: Vec<f64> = table.targets.iter().map(|(_, paper)| *paper).collect();
    let cells = |parameter: &str, value: &str, values: &[f64], error: String| {
        let names = [parameter, value].map(str::to_owned).into_iter();
        names.chain(values.iter().map(number)).chain([error]).collect()
    };
    let first = Row::new(cells("paper", "", &paper, "–".into()), RowKind::Reference);
    let row = |row: &SensitivityRow| {
        let error = format!("{:.3}", row.error);
        Row::new(cells(&row.parameter, &row.value, &row.values, error), RowKind::Method)
    };
    let rows = [first].into_iter().chain(table.sensitivity.iter().map(row)).collect();
    let fitted = table.parameters.iter().map(|(name, from, to)| match from == to {
        true => format!("{name} stays at {from}"),
        false => format!("{name} from {from} to {to}"),
    });
    let fitted: Vec<String> = fitted.collect();
    let notes = vec![
        format!("fitted: {}.", fitted.join("; ")),
        "Each other row has one parameter changed from the fitted values. error: sum over the \
         columns of the squared logarithm of ours / paper."
            .into(),
    ];
    Grid { dropped_first: Vec::new(), header, rows, numbers_from: 2, notes }
}

fn columns(table: &FitTable) -> Grid {
    let names =
        ["value", "point", "paper", "ours", "fitted", "in band", "fitted in band", "fitted to"];
    let word = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let value = |s: Option<Summary>| with_interval(s, s.map_or(0, |s| digits_for(s.mean)));
    let rows = table.rows.iter().map(|row| {
        let cells = vec![
            format!("{}, {}", row.what, row.unit),
            row.point.clone(),
            format!("{}", row.paper),
            value(row.ours),
            value(row.fitted),
            word(row.meets[0]),
            word(row.meets[1]),
            word(row.is_target),
        ];
        Row::new(cells, RowKind::Method)
    });
    let count = |i: usize, target: bool| {
        let met = table.rows.iter().filter(|row| row.is_target == target && row.meets[i]).count();
        let all = table.rows.iter().filter(|row| row.is_target == target).count();
        format!("{met} of {all}")
    };
    let notes = vec![
        PLUS_MINUS.into(),
        format!(
            "in band: {} of what was fitted to, {} of what was held out; with the fitted values {} \
             and {}.",
            count(0, true),
            count(0, false),
            count(1, true),
            count(1, false)
        ),
    ];
    let header = names.map(str::to_owned).to_vec();
    Grid { dropped_first: Vec::new(), header, rows: rows.collect(), numbers_from: 2, notes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::fit::FitRow;

    #[test]
    fn a_fit_shows_what_moved_and_how_many_values_are_in_band() {
        let row = |is_target, fitted: bool| FitRow {
            what: "TD: delay".into(),
            point: "64kbit/s".into(),
            unit: "ms".into(),
            paper: 1363.0,
            ours: Summary::of(&[931.0]),
            fitted: Summary::of(&[1300.0]),
            meets: [false, fitted],
            is_target,
        };
        let table = FitTable {
            paper: "P06".into(),
            parameters: vec![("timer".into(), "100ms".into(), "500ms".into())],
            targets: vec![("TD: delay".into(), 1363.0)],
            sensitivity: vec![SensitivityRow {
                parameter: "fitted".into(),
                value: String::new(),
                values: vec![1300.0],
                error: 0.0022,
            }],
            rows: vec![row(true, true), row(false, true), row(false, false)],
        };
        let [sensitivity, columns] = fit(&table);
        assert_eq!(sensitivity.rows[0].cells, ["paper", "", "1363", "–"]);
        assert_eq!(sensitivity.rows[1].cells, ["fitted", "", "1300", "0.002"]);
        assert_eq!(sensitivity.notes[0], "fitted: timer from 100ms to 500ms.");
        assert_eq!(columns.rows[0].cells[2..5], ["1363", "931.0", "1300"]);
        assert!(columns.notes[1].contains("0 of 1 of what was fitted to, 0 of 2"));
        assert!(columns.notes[1].ends_with("1 of 1 and 1 of 2."));
    }
}
