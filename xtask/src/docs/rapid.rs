//! `cargo xtask docs rapid`: the tables and figures of `docs/rapid.md`, from runs of shipped
//! scenarios. The page's text is written by hand; what stands between `<!-- made: NAME -->` and
//! `<!-- end -->` is made here, and the figures are in `docs/rapid`.

use std::collections::BTreeMap;

use super::page::{Maker, Row, distinct, head, interval, line};
use crate::{Failure, Outcome};

const PAGE: &str = "docs/rapid.md";
const FIGURES: &str = "docs/rapid";

/// A run whose results the page shows: its name there, the arguments of `justfull run`, its table,
/// and the figure to keep.
struct Made {
    name: &'static str,
    arguments: &'static [&'static str],
    table: fn(&[Row], &Series) -> String,
    figure: Option<&'static str>,
}

const MADE: [Made; 3] = [
    Made {
        name: "beside",
        arguments: &["run", "rapid-beside-ran"],
        table: beside,
        figure: Some("delay-utilisation-1.svg"),
    },
    Made {
        name: "quic",
        arguments: &["run", "rapid-beside-ran", "--switch", "quic"],
        table: beside,
        figure: Some("delay-utilisation-1.svg"),
    },
    Made { name: "reports", arguments: &["run", "rapid-reports"], table: reports, figure: None },
];

/// When the reports of `rapid-reports` that fall silent are back, the width of the windows in which
/// goodput is compared, and what counts as back.
const BACK_AT: f64 = 7.0;
const WINDOW: f64 = 0.25;
const BACK: f64 = 0.95;

/// Goodput of all flows by the start of a bin in seconds, by method and seed.
type Series = BTreeMap<(String, u64), Vec<(f64, f64)>>;

/// Makes the page, or compares it.
pub(super) fn make(maker: &Maker<'_>) -> Outcome {
    let mut page = maker.page(PAGE)?;
    for made in &MADE {
        let folder = format!("{FIGURES}/{}", made.name);
        let results = maker.results(&folder, made.arguments)?;
        let series = series(&results.file("series.csv")?)?;
        page.fill(made.name, &(made.table)(&results.rows()?, &series))?;
        if let Some(figure) = made.figure {
            let figure = results.file(&format!("figures/{figure}"))?;
            maker.settle(&format!("{folder}.svg"), &figure)?;
        }
    }
    maker.settle_page(&page)
}

/// Reads the columns that [`Series`] needs; no name of these scenarios holds a quote.
fn series(text: &str) -> Outcome<Series> {
    let mut series = Series::new();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap_or_default();
    let bad = || Failure::Check("series.csv: a column is missing or not a number".into());
    let column = |name| header.iter().position(|column| *column == name).ok_or_else(bad);
    let at = [column("method")?, column("seed")?, column("time_s")?, column("delivered_mbit_s")?];
    for line in lines.filter(|line| line.len() == header.len()) {
        let number = |i: usize| line[at[i]].parse::<f64>().map_err(|_| bad());
        let seed = line[at[1]].parse().map_err(|_| bad())?;
        let bins: &mut Vec<_> = series.entry((line[at[0]].to_owned(), seed)).or_default();
        bins.push((number(2)?, number(3)?));
    }
    Ok(series)
}

/// Points of the sweep and methods, in order of the rows.
fn groups(rows: &[Row]) -> Vec<(Option<f64>, &str)> {
    distinct(rows.iter().map(|row| (row.x_value, row.method.as_str())))
}

/// The rows of one group for which `wanted` holds, and `value` of each.
fn values(
    rows: &[Row],
    x: Option<f64>,
    method: &str,
    flow: &str,
    value: impl Fn(&Row) -> Option<f64>,
) -> Vec<f64> {
    let of = |row: &&Row| row.x_value == x && row.method == method && row.flow == flow;
    rows.iter().filter(of).filter_map(value).collect()
}

/// From a server's sending to the UE: of a proxied flow as measured, of others the 10 ms of the
/// core and what the chain took.
fn server_to_ue(row: &Row) -> Option<f64> {
    const CORE_MS: f64 = 10.0;
    row.server_to_ue_ms_mean
        .or_else(|| Some(CORE_MS + row.delay_ms_mean + row.to_ue_ms_mean.unwrap_or(0.0)))
}

/// RAPID and the methods in the RAN.
fn beside(rows: &[Row], _: &Series) -> String {
    let mut text = head(&[
        "UEs",
        "method",
        "utilisation",
        "bulk, Mbit/s",
        "other, Mbit/s",
        "call to the radio, mean, ms",
        "p99",
        "dropped, %",
        "bulk from server to UE, ms",
        "other",
    ]);
    for (x, method) in groups(rows) {
        let of = |flow, value: fn(&Row) -> Option<f64>, digits| {
            interval(&values(rows, x, method, flow, value), digits)
        };
        let ues = x.unwrap_or(1.0);
        let cells = [
            format!("{ues:.0}"),
            method.to_owned(),
            of("bulk", |row| Some(row.utilisation), 3),
            of("bulk", |row| Some(row.goodput_mbit_s), 1),
            of("other", |row| Some(row.goodput_mbit_s), 1),
            of("call", |row| Some(row.delay_ms_mean), 2),
            of("call", |row| Some(row.delay_ms_p99), 1),
            of("call", |row| Some(row.dropped_percent()), 2),
            of("bulk", server_to_ue, 1),
            of("other", server_to_ue, 1),
        ];
        text += &line(&cells);
    }
    text
}

/// RAPID with bad reports.
fn reports(rows: &[Row], series: &Series) -> String {
    let mut text = head(&[
        "reports",
        "utilisation",
        "goodput, Mbit/s",
        "growth of the round trip, %",
        "from server to UE, ms",
        "packets that the RLC dropped",
        "full again after, s",
    ]);
    for (x, method) in groups(rows) {
        // Two flows of equal weight.
        let mean = |value: fn(&Row) -> Option<f64>| -> Vec<f64> {
            let [cubic, bbr] = ["cubic", "bbr"].map(|flow| values(rows, x, method, flow, value));
            cubic.iter().zip(&bbr).map(|(a, b)| f64::midpoint(*a, *b)).collect()
        };
        let growth = |row: &Row| Some(100.0 * (row.rtt_ms_mean? / row.rtt_ms_min? - 1.0));
        let sum = |values: Vec<f64>| values.iter().map(|v| 2.0 * v).collect::<Vec<_>>();
        let drops: f64 = sum(mean(|row| Some(row.dropped_packets as f64))).iter().sum();
        let name = if method == "RAPID" { "all, in time and true" } else { method };
        let cells = [
            name.to_owned(),
            interval(&mean(|row| Some(row.utilisation)), 3),
            interval(&sum(mean(|row| Some(row.goodput_mbit_s))), 1),
            interval(&mean(growth), 1),
            interval(&mean(server_to_ue), 1),
            format!("{drops:.0}"),
            if method.starts_with("silent") { back(method, series) } else { "–".into() },
        ];
        text += &line(&cells);
    }
    text
}

/// The longest time over the seeds from [`BACK_AT`] until the goodput of `method` in a window is at
/// least [`BACK`] of what it is without a fault.
fn back(method: &str, series: &Series) -> String {
    let of = |bins: &[(f64, f64)], from: f64| -> f64 {
        let inside = |(t, _): &&(f64, f64)| *t >= from - 1e-9 && *t < from + WINDOW - 1e-9;
        bins.iter().filter(inside).map(|(_, rate)| rate).sum()
    };
    let mut longest = 0.0_f64;
    for ((_, seed), bins) in series.iter().filter(|((name, _), _)| name == method) {
        let Some(sound) = series.get(&("RAPID".to_owned(), *seed)) else { return "–".into() };
        let starts = bins.iter().map(|(t, _)| *t).filter(|t| *t >= BACK_AT - 1e-9);
        let full = starts.into_iter().find(|t| of(bins, *t) >= BACK * of(sound, *t));
        longest = longest.max(full.map_or(f64::INFINITY, |t| t - BACK_AT));
    }
    format!("{longest:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_until_goodput_is_back_is_the_slowest_seeds() {
        let bins = |low_until: f64| {
            let bin = |i| f64::from(i) * 0.05;
            let rate = |t: f64| if t < low_until { 5.0 } else { 10.0 };
            (0..240).map(bin).map(|t| (t, rate(t))).collect::<Vec<_>>()
        };
        let mut series = Series::new();
        for (seed, until) in [(1, 7.5), (2, 0.0)] {
            series.insert(("silent".into(), seed), bins(until));
            series.insert(("RAPID".into(), seed), bins(0.0));
        }
        assert_eq!(back("silent", &series), "0.50");
        series.insert(("silent".into(), 1), bins(100.0));
        assert_eq!(back("silent", &series), "inf");
    }
}
