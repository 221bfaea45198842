//! `cargo xtask docs readme`: the README's table and its picture, from `justfull demo`. Its text is
//! written by hand.

use super::page::{Maker, Row, distinct, interval};
use crate::Outcome;

const PAGE: &str = "README.md";
const FIGURE: &str = "docs/demo.svg";
/// The demonstration's first figure.
const SHOWN: &str = "figures/delay-time-1.svg";

pub(super) fn make(maker: &Maker<'_>) -> Outcome {
    let results = maker.results("readme", &["demo"])?;
    let mut page = maker.page(PAGE)?;
    page.fill("demo", &table(&results.rows()?))?;
    maker.settle(FIGURE, &results.file(SHOWN)?)?;
    maker.settle_page(&page)
}

/// A row for each method: the call's delay, and what the download has.
fn table(rows: &[Row]) -> String {
    let mut text = "| method | delay of the call, mean, ms | p99, ms | goodput of the download, \
                    Mbit/s | its own RTT, ms |\n|---|---|---|---|---|\n"
        .to_owned();
    for method in distinct(rows.iter().map(|row| row.method.as_str())) {
        let of = |flow: &str, value: fn(&Row) -> Option<f64>, digits| {
            let rows = rows.iter().filter(|row| row.method == method && row.flow == flow);
            interval(&rows.filter_map(value).collect::<Vec<f64>>(), digits)
        };
        text += &format!(
            "| {method} | {} | {} | {} | {} |\n",
            of("call", |row| Some(row.delay_ms_mean), 1),
            of("call", |row| Some(row.delay_ms_p99), 1),
            of("download", |row| Some(row.goodput_mbit_s), 2),
            of("download", |row| row.rtt_ms_mean, 0)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_calls_delay_and_the_downloads_goodput() {
        let row = |flow: &str, delay_ms_mean, rtt_ms_mean| Row {
            method: "DRQL".into(),
            flow: flow.into(),
            goodput_mbit_s: 10.0,
            delay_ms_mean,
            delay_ms_p99: 2.0 * delay_ms_mean,
            rtt_ms_mean,
            ..Row::default()
        };
        let rows = [row("call", 3.0, None), row("download", 800.0, Some(900.0))];
        let text = table(&rows);
        assert_eq!(text.lines().last(), Some("| DRQL | 3.0 | 6.0 | 10.00 | 900 |"));
        assert_eq!(text.lines().count(), 3);
    }
}
