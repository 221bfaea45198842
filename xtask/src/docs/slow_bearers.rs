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

/// Behind the names of methods whose transfers use ECN.
const ECN: &str = " with ECN";
const DISCARD: &str = "PDCP discards at 500 ms";

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
        all.extend(outcomes(cell, &with_ecn, ECN));
        if cell.discards {
            let timer = ["pdcp.discard_timer=500ms"];
            let rows = run(maker, cell, "discard", &METHODS[..1], &timer)?;
            let mut discard = outcomes(cell, &rows, "");
            discard.iter_mut().for_each(|one| one.name = DISCARD.into());
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

/// Colours by day and by night.
const STYLE: &str = "<style>text { fill: #222222 } .paper { fill: #ffffff } .line { stroke: \
                     #dddddd } circle { stroke: #0072b2; stroke-width: 2; fill: #0072b2 } \
                     circle.ecn { fill: #ffffff }\n@media screen and (prefers-color-scheme: dark) \
                     { text { fill: #e4e6e8 } .paper, circle.ecn { fill: #17191c } .line { stroke: \
                     #34383d } circle { stroke: #4aa8e0 } circle:not(.ecn) { fill: #4aa8e0 } \
                     }</style>";

/// Places in the figure, in units of its box.
const WIDTH: f64 = 1030.0;
const TOP: f64 = 78.0;
const ROW: f64 = 28.0;
const NAMES: f64 = 212.0;
const PANEL: f64 = 190.0;
const STEP: f64 = 272.0;

/// A row for each method and a panel for each cell: the call's mean delay across by powers of ten,
/// and the goodput as a share of the most. Hollow points have ECN.
fn figure(cells: &[Vec<Outcomes>]) -> String {
    let names: Vec<&str> = METHODS.iter().copied().chain([DISCARD]).collect();
    let bottom = TOP + ROW * names.len() as f64;
    let height = bottom + 60.0;
    let mut text = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"15\"><title>Mean delay of the call and goodput \
         under each method on three cells</title>{STYLE}<rect class=\"paper\" width=\"100%\" \
         height=\"100%\"/>\n"
    );
    for (row, name) in names.iter().enumerate() {
        let y = TOP + ROW * (row as f64 + 0.5);
        text += &format!(
            "<path class=\"line\" d=\"M{NAMES} {y}H{:.0}\"/><text x=\"{:.0}\" y=\"{:.0}\" \
             text-anchor=\"end\">{name}</text>\n",
            WIDTH - 10.0,
            NAMES - 12.0,
            y + 5.0
        );
    }
    for (panel, (cell, all)) in CELLS.iter().zip(cells).enumerate() {
        text += &panel_of(cell, all, &names, NAMES + STEP * panel as f64);
    }
    let (x, y) = (NAMES + 6.0, height - 14.0);
    text += &format!(
        "<circle cx=\"{x}\" cy=\"{:.0}\" r=\"6\"/><text x=\"{:.0}\" y=\"{y}\">without ECN</text>\
         <circle class=\"ecn\" cx=\"{:.0}\" cy=\"{:.0}\" r=\"6\"/><text x=\"{:.0}\" \
         y=\"{y}\">with ECN</text>\n",
        y - 5.0,
        x + 14.0,
        x + 130.0,
        y - 5.0,
        x + 144.0
    );
    text + "</svg>\n"
}

/// The panel of a cell, whose left edge is at `left`.
fn panel_of(cell: &Cell, all: &[Outcomes], names: &[&str], left: f64) -> String {
    let bottom = TOP + ROW * names.len() as f64;
    let most = all.iter().map(|one| mean(&one.goodput)).fold(f64::MIN_POSITIVE, f64::max);
    // 0.1 ms to 10 s.
    let x = |ms: f64| left + PANEL * ((ms.max(0.1).log10() + 1.0) / 5.0).min(1.0);
    let middle = left + PANEL / 2.0;
    let mut text = format!(
        "<text x=\"{left:.0}\" y=\"22\" font-weight=\"bold\">{}</text><text x=\"{middle:.0}\" \
         y=\"62\" text-anchor=\"middle\">mean delay of the call</text><text x=\"{:.0}\" y=\"62\" \
         text-anchor=\"end\">goodput</text>\n",
        cell.title.replace(": about", ","),
        left + PANEL + 68.0
    );
    for (ms, name) in [(0.1, "0.1 ms"), (10.0, "10 ms"), (1e3, "1 s")] {
        let at = x(ms);
        text += &format!(
            "<path class=\"line\" d=\"M{at:.1} {TOP}V{bottom}\"/><text x=\"{at:.1}\" y=\"{:.0}\" \
             text-anchor=\"middle\">{name}</text>\n",
            bottom + 20.0
        );
    }
    // Hollow points lie below.
    for with_ecn in [true, false] {
        for one in all.iter().filter(|one| one.name.ends_with(ECN) == with_ecn) {
            let name = one.name.strip_suffix(ECN).unwrap_or(&one.name);
            let Some(row) = names.iter().position(|other| *other == name) else { continue };
            let y = TOP + ROW * (row as f64 + 0.5);
            let class = if with_ecn { " class=\"ecn\"" } else { "" };
            let at = x(mean(&one.delay));
            text += &format!("<circle{class} cx=\"{at:.1}\" cy=\"{y}\" r=\"6\"/>\n");
            if !with_ecn {
                text += &format!(
                    "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{:.0} %</text>\n",
                    left + PANEL + 68.0,
                    y + 5.0,
                    100.0 * mean(&one.goodput) / most
                );
            }
        }
    }
    text
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
        let all = outcomes(&CELLS[0], &rows, ECN);
        let expected = Outcomes {
            name: "PIE with ECN".into(),
            goodput: vec![3.5, 4.5],
            delay: vec![20.0, 30.0],
            delay_p95: vec![40.0, 60.0],
            dropped: vec![1.5, 1.5],
        };
        assert_eq!(all, [expected]);
        let drawn = figure(&[all.clone(), all.clone(), all]);
        assert_eq!(drawn.matches("<circle class=\"ecn\"").count(), 4, "hollow points and the key");
    }
}
