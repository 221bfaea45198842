//! The candidate methods and the recommended one.

use super::{Grid, Row, RowKind, with_interval};
use justfull_lab::recommend::{Agreement, Choice};
use justfull_lab::stats::Summary;

/// The table of `choices`.
#[must_use]
pub fn choices(choices: &[Choice]) -> Grid {
    type Column = (&'static str, usize, fn(&Choice) -> Option<Summary>);
    const COLUMNS: [Column; 8] = [
        ("low-latency delay\np99 ms", 2, |c| c.delay_ms_p99),
        ("low-latency delay\nmean ms", 2, |c| c.delay_ms_mean),
        ("low-latency loss\n%", 2, |c| c.loss_percent),
        ("goodput of the others\nMbit/s", 2, |c| c.goodput_mbit_s),
        ("their round trip\np95 ms", 1, |c| c.rtt_ms_p95),
        ("page load\nmean s", 2, |c| c.page_load_s_mean),
        ("video stalled\n%", 2, |c| c.dash_stalled_percent),
        ("video QoE\nmean", 3, |c| c.dash_qoe_mean),
    ];
    let has = |column: &&Column| choices.iter().any(|c| (column.2)(c).is_some());
    let shown: Vec<&Column> = COLUMNS.iter().filter(has).collect();
    let mut header = vec!["method".to_string(), String::new()];
    header.extend(shown.iter().map(|column| column.0.to_string()));
    let rows = choices.iter().map(|choice| {
        let word = match (&choice.dominated_by, choice.recommended, choice.yardstick) {
            (_, true, _) => "recommended".into(),
            (_, _, true) => "uses future grants".into(),
            _ if choice.loses_too_much => "loses too much".into(),
            _ if choice.too_late => "too late".into(),
            _ if choice.sluggish => "sluggish".into(),
            (Some(other), ..) => format!("dominated by {other}"),
            _ => String::new(),
        };
        let mut cells = vec![choice.method.clone(), word];
        cells.extend(shown.iter().map(|column| with_interval((column.2)(choice), column.1)));
        let kind = if choice.yardstick { RowKind::Reference } else { RowKind::Method };
        Row::new(cells, kind)
    });
    let nothing = !choices.iter().any(Choice::carries);
    let nothing =
        nothing.then(|| "Nothing is recommended: no packet arrives under any method.".into());
    Grid {
        dropped_first: Vec::new(),
        header,
        rows: rows.collect(),
        numbers_from: 2,
        notes: nothing.into_iter().chain(notes()).collect(),
    }
}

/// The words of the table.
fn notes() -> [String; 7] {
    [
        super::PLUS_MINUS.into(),
        "recommended: of the methods that neither lose too much nor are too late or sluggish \
         those with 95 % of the greatest goodput, of these those with the least p99 (to 10 % \
         or 1 ms), and of these the one with the least round trip."
            .into(),
        "loss: packets of the low-latency flows that were dropped, of the flow that loses most; \
         a delay is that of packets that arrive."
            .into(),
        "loses too much: over one per cent of the packets more than the method that loses least."
            .into(),
        "too late: p99 above 400 ms, or none where a flow's packets wait to the end, while \
         another that does not lose too much has less."
            .into(),
        "sluggish: pages take over 5 times another method's, or adaptive video stalls for over \
         one per cent more of the time, or round trips take over a second and 10 times \
         another's."
            .into(),
        "dominated: another method is no worse in p99, loss, goodput and round trip, and better \
         in one of them."
            .into(),
    ]
}

/// The recommendations of the further seeds, in a sentence.
#[must_use]
pub fn agreement(found: &Agreement) -> String {
    let n = found.seeds.len();
    let ends = (found.seeds.first(), found.seeds.last());
    let seeds = match ends {
        (Some(first), Some(last)) if first < last => format!("{first} to {last}"),
        (first, _) => first.unwrap_or(&0).to_string(),
    };
    let mut sorted: Vec<(&String, &u32)> = found.recommended.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1));
    let each: Vec<String> =
        sorted.iter().map(|(method, times)| format!("{method} by {times}")).collect();
    format!(
        "Of {n} fresh seeds ({seeds}), each judged alone, {} find {} as good as the best. \
         Recommended: {}.",
        found.as_good,
        found.method,
        each.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_lab::model::example;
    use justfull_lab::recommend;

    #[test]
    fn losses_have_a_column_and_too_many_come_before_being_dominated() {
        let runs = example::comparison(3).groups.remove(0).runs;
        let mut found = recommend::choices(&runs);
        found[0].loss_percent = Summary::of(&[4.25]);
        found[0].dominated_by = Some("another".into());
        (found[0].loses_too_much, found[0].recommended) = (true, false);
        let grid = choices(&found);
        let column = grid.header.iter().position(|h| h == "low-latency loss\n%");
        let row = &grid.rows[0].cells;
        assert_eq!(row[1], "loses too much");
        assert_eq!(row[column.expect("it has losses")], "4.25");
    }

    #[test]
    fn one_method_is_recommended_and_columns_without_values_are_left_out() {
        let runs = example::comparison(3).groups.remove(0).runs;
        let grid = choices(&recommend::choices(&runs));
        assert!(!grid.header.iter().any(|h| h.starts_with("page load")), "{:?}", grid.header);
        let word = |row: &&Row| row.cells[1] == "recommended";
        assert_eq!(grid.rows.iter().filter(word).count(), 1);
        assert!(grid.rows.iter().all(|row| row.cells.len() == grid.header.len()));
    }

    #[test]
    fn where_nothing_arrives_the_notes_say_so() {
        let runs = example::comparison(3).groups.remove(0).runs;
        let mut found = recommend::choices(&runs);
        let said = |found: &[Choice]| choices(found).notes[0].starts_with("Nothing is recommended");
        assert!(!said(&found));
        for choice in &mut found {
            (choice.delay_ms_p99, choice.delay_ms_mean) = (None, None);
            choice.goodput_mbit_s = Summary::of(&[0.0]);
        }
        assert!(said(&found));
    }

    #[test]
    fn fresh_seeds_are_counted_for_each_method_the_most_frequent_first() {
        let recommended = [("A".to_owned(), 1), ("B".to_owned(), 2)].into();
        let (seeds, method) = (vec![4, 5, 6], "A".to_owned());
        let text = agreement(&Agreement { seeds, method, as_good: 3, recommended });
        let all = "Of 3 fresh seeds (4 to 6), each judged alone, 3 find A as good as the best. \
                   Recommended: B by 2, A by 1.";
        assert_eq!(text, all);
    }
}
