//! `cargo xtask docs slow-bearers`: the table and the figure of `docs/guide/slow-bearers.md`, from
//! runs of shipped scenarios. The page's text is written by hand.

use super::page::{Maker, Row, head, interval, line};
use crate::Outcome;

const PAGE: &str = "docs/guide/slow-bearers.md";
const FIGURE: &str = "docs/guide/slow-bearers.svg";

const METHODS: [&str; 10] = [
    "Vanilla",
    "CoDel",
    "FQ-CoDel",
    "PIE",
    "AdaptiveRED",
    "RED",
    "ARED",
    "PDPC",
    "TTLRED1",
    "TTLRED2",
];

/// A cell of the page: a scenario, its flow that must not wait, and the settings that let its
/// transfers use ECN.
struct Cell {
    scenario: &'static str,
    title: &'static str,
    /// Which point of a sweep.
    x: Option<f64>,
    call: &'static str,
    ecn: &'static [&'static str],
    /// It has a PDCP that can discard.
    discards: bool,
}

const CELLS: [Cell; 3] = [
    Cell {
        scenario: "slow-bearer",
        title: "slow-bearer: about 0.25 Mbit/s",
        x: None,
        call: "call",
        ecn: &["flow.bulk.tcp.sender.ecn=true", "flow.pages.page.sender.ecn=true"],
        discards: true,
    },
    Cell {
        scenario: "t20-individual",
        title: "t20-individual: about 4 Mbit/s",
        x: Some(20.0),
        call: "game",
        ecn: &["flow.bulk.tcp.sender.ecn=true"],
        discards: false,
    },
    Cell {
        scenario: "a21-one-call",
        title: "a21-one-call: about 17 Mbit/s",
        x: None,
        call: "voip",
        ecn: &["flow.bulk.tcp.sender.ecn=true"],
        discards: true,
    },
];

/// The figures of a method in a cell, a value for each seed.
#[derive(Clone, Debug, PartialEq)]
struct Outcomes {
    name: String,
    goodput: Vec<f64>,
    delay: Vec<f64>,
    delay_p95: Vec<f64>,
    dropped: Vec<f64>,
}

pub(super) fn make(maker: &Maker<'_>) -> Outcome {
    let mut cells = Vec::new();
    for cell in &CELLS {
        let mut all = outcomes(cell, &run(maker, cell, "plain", &METHODS, &[])?, "");
        let with_ecn = run(maker, cell, "ecn", &METHODS[1..], cell.ecn)?;
        all.extend(outcomes(cell, &with_ecn, " with ECN"));
        if cell.discards {
            let timer = ["pdcp.discard_timer=500ms"];
            let rows = run(maker, cell, "discard", &METHODS[..1], &timer)?;
            let mut discard = outcomes(cell, &rows, "");
            discard.iter_mut().for_each(|one| one.name = "PDCP discards at 500 ms".into());
            all.extend(discard);
        }
        cells.push(all);
    }
    let mut page = maker.page(PAGE)?;
    page.fill("methods", &table(&cells))?;
    maker.settle(FIGURE, &figure(&cells))?;
    maker.settle_page(&page)
}

/// Runs `cell` with `methods` and `settings`.
fn run(
    maker: &Maker<'_>,
    cell: &Cell,
    name: &str,
    methods: &[&str],
    settings: &[&str],
) -> Outcome<Vec<Row>> {
    let mut arguments = vec!["run", cell.scenario, "--variant", "sound", "--runs", "3"];
    arguments.extend(methods.iter().flat_map(|method| ["--method", method]));
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    maker.results(&format!("slow-bearers/{}/{name}", cell.scenario), &arguments)?.rows()
}

/// The figures of each method, in order of appearance; `suffix` goes behind their names.
fn outcomes(cell: &Cell, rows: &[Row], suffix: &str) -> Vec<Outcomes> {
    let mut all: Vec<Outcomes> = Vec::new();
    let rows: Vec<&Row> = rows.iter().filter(|row| row.x_value == cell.x).collect();
    for row in rows.iter().filter(|row| row.flow == cell.call) {
        let name = format!("{}{suffix}", row.method);
        let of_run = |other: &&&Row| other.method == row.method && other.seed == row.seed;
        let goodput = rows.iter().filter(of_run).map(|other| other.goodput_mbit_s).sum();
        let at = all.iter().position(|one| one.name == name).unwrap_or_else(|| {
            let [goodput, delay, delay_p95, dropped] = [(); 4].map(|()| Vec::new());
            all.push(Outcomes { name, goodput, delay, delay_p95, dropped });
            all.len() - 1
        });
        let one = &mut all[at];
        one.goodput.push(goodput);
        one.delay.push(row.delay_ms_mean);
        one.delay_p95.push(row.delay_ms_p95);
        one.dropped.push(row.dropped_percent());
    }
    all
}

fn table(cells: &[Vec<Outcomes>]) -> String {
    let mut text = String::new();
    for (cell, all) in CELLS.iter().zip(cells) {
        text += &format!("### {}\n\n", cell.title);
        let delay = format!("delay of `{}`, mean, ms", cell.call);
        text += &head(&["method", "goodput of all, Mbit/s", &delay, "p95", "its drops, %"]);
        for one in all {
            text += &line(&[
                one.name.clone(),
                interval(&one.goodput, 3),
                interval(&one.delay, 1),
                interval(&one.delay_p95, 1),
                interval(&one.dropped, 2),
            ]);
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// One panel for each cell: goodput as a share of the most across, the call's mean delay upwards by
/// powers of ten. Hollow points have ECN.
fn figure(cells: &[Vec<Outcomes>]) -> String {
    const COLOURS: [&str; 11] = [
        "#000000", "#009e73", "#cc79a7", "#56b4e9", "#808080", "#e69f00", "#d55e00", "#0072b2",
        "#d8cb1f", "#7f3c8d", "#8c510a",
    ];
    let names: Vec<&str> = METHODS.iter().copied().chain(["PDCP discards at 500 ms"]).collect();
    let mut text = "<svg viewBox=\"0 0 1200 520\" xmlns=\"http://www.w3.org/2000/svg\" \
                    role=\"img\" font-family=\"sans-serif\" font-size=\"14\"><title>Delay of the \
                    call against goodput on three cells</title><rect width=\"100%\" \
                    height=\"100%\" fill=\"#ffffff\"/>\n"
        .to_owned();
    for (panel, (cell, all)) in CELLS.iter().zip(cells).enumerate() {
        let left = 60.0 + 385.0 * panel as f64;
        let most = all.iter().map(|one| mean(&one.goodput)).fold(0.0, f64::max);
        // A quarter of the most to all of it; 0.1 ms to 10 s.
        let x = |share: f64| left + 320.0 * ((share - 0.25) / 0.75).clamp(0.0, 1.0);
        let y = |ms: f64| 400.0 - 340.0 * ((ms.max(0.1).log10() + 1.0) / 5.0).min(1.0);
        text += &format!(
            "<text x=\"{left:.0}\" y=\"30\">{}</text><rect x=\"{left:.0}\" y=\"60\" \
             width=\"320\" height=\"340\" fill=\"none\" stroke=\"#222222\"/>\n",
            cell.title
        );
        for ms in [0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0] {
            text += &format!(
                "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{ms}</text>\n",
                left - 6.0,
                y(ms) + 5.0
            );
        }
        for share in [0.25, 0.5, 0.75, 1.0] {
            text += &format!(
                "<text x=\"{:.0}\" y=\"418\" text-anchor=\"middle\">{:.0} %</text>\n",
                x(share),
                100.0 * share
            );
        }
        for one in all {
            let plain = one.name.strip_suffix(" with ECN");
            let at = names.iter().position(|name| *name == plain.unwrap_or(&one.name));
            let colour = COLOURS[at.unwrap_or(0) % COLOURS.len()];
            let fill = if plain.is_some() { "#ffffff" } else { colour };
            text += &format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"6\" fill=\"{fill}\" stroke=\"{colour}\" \
                 stroke-width=\"2\"/>\n",
                x(mean(&one.goodput) / most.max(f64::MIN_POSITIVE)),
                y(mean(&one.delay))
            );
        }
    }
    text += "<text x=\"600\" y=\"438\" text-anchor=\"middle\">goodput of all flows, share of the \
             most on the cell; upwards: mean delay of the call in ms; hollow: with ECN</text>\n";
    for (i, name) in names.iter().enumerate() {
        let (x, y) = (60 + 190 * (i % 6), 470 + 28 * (i / 6));
        let colour = COLOURS[i % COLOURS.len()];
        text += &format!(
            "<circle cx=\"{x}\" cy=\"{}\" r=\"6\" fill=\"{colour}\"/><text x=\"{}\" \
             y=\"{y}\">{name}</text>\n",
            y - 5,
            x + 12
        );
    }
    text + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_methods_goodput_is_of_all_flows_and_its_delay_of_the_call() {
        let row = |flow: &str, seed, goodput_mbit_s, delay_ms_mean| Row {
            x_value: None,
            method: "PIE".into(),
            seed,
            flow: flow.into(),
            goodput_mbit_s,
            delay_ms_mean,
            delay_ms_p95: 2.0 * delay_ms_mean,
            entered_packets: 200,
            dropped_packets: 3,
            ..Row::default()
        };
        let rows = [
            row("bulk", 1, 3.0, 50.0),
            row("call", 1, 0.5, 20.0),
            row("bulk", 2, 4.0, 60.0),
            row("call", 2, 0.5, 30.0),
        ];
        let all = outcomes(&CELLS[0], &rows, " with ECN");
        let expected = Outcomes {
            name: "PIE with ECN".into(),
            goodput: vec![3.5, 4.5],
            delay: vec![20.0, 30.0],
            delay_p95: vec![40.0, 60.0],
            dropped: vec![1.5, 1.5],
        };
        assert_eq!(all, [expected]);
        let drawn = figure(&[all.clone(), all.clone(), all]);
        assert_eq!(drawn.matches("fill=\"#ffffff\" stroke").count(), 3, "hollow points");
    }
}
