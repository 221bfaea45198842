//! The cases that the figures of a paper show.

use super::{Grid, PLUS_MINUS, Row, RowKind, with_interval};
use justfull_lab::model::claims::ShownTable;

/// One row for each case and method; none if the paper shows no case.
#[must_use]
pub fn shown(table: &ShownTable) -> Option<Grid> {
    if table.rows.is_empty() {
        return None;
    }
    let metric = |m: &justfull_lab::model::metric::Metric| match m.unit() {
        "" => m.words().to_owned(),
        unit => format!("{}, {unit}", m.words()),
    };
    let header = ["figure", "what", "switch", "method"].map(str::to_owned).into_iter();
    let header = header.chain(table.metrics.iter().map(metric)).collect();
    let mut last = None;
    let rows = table.rows.iter().map(|row| {
        let case = (&row.place, &row.what, &row.case);
        let kind = if last == Some(case) { RowKind::Part } else { RowKind::Method };
        last = Some(case);
        let values = row.values.iter().zip(&table.metrics);
        let switch = if row.case.is_empty() { "–" } else { &row.case };
        let cells = [&row.place, &row.what, switch, &row.method].map(str::to_owned).into_iter();
        Row::new(cells.chain(values.map(|(v, m)| with_interval(*v, m.decimals()))).collect(), kind)
    });
    let rows = rows.collect();
    Some(Grid {
        dropped_first: Vec::new(),
        header,
        rows,
        numbers_from: 4,
        notes: vec![PLUS_MINUS.into()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::claims::ShownRow;
    use justfull_lab::model::metric::Metric;
    use justfull_lab::stats::Summary;

    #[test]
    fn a_case_has_a_row_for_each_method_and_its_metrics_as_columns() {
        let row = |case: &str, method: &str, ms: Option<f64>| ShownRow {
            place: "Fig. 4".into(),
            what: "files, 64kbit/s".into(),
            case: case.into(),
            method: method.into(),
            values: vec![ms.and_then(|ms| Summary::of(&[ms])), Summary::of(&[3.0])],
        };
        let metrics = vec![Metric::EndToEndP95, Metric::Timeouts];
        let rows = vec![row("", "RED", Some(12.5)), row("window_60", "RED", None)];
        let grid = shown(&ShownTable { metrics, rows }).expect("rows");
        assert_eq!(grid.header.len(), 6);
        assert!(grid.header[4].ends_with(", ms") && grid.header[5] == "TCP timeouts");
        assert_eq!(grid.rows[0].cells[2..], ["–", "RED", "12.50", "3"]);
        assert_eq!(grid.rows[1].cells[2..], ["window_60", "RED", "–", "3"]);
        assert_eq!(shown(&ShownTable::default()), None);
    }
}
