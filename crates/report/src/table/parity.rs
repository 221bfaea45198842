//! The table of a parity: a simulated run and a live one, figure by figure.

use super::{Grid, Row, RowKind};
use justfull_lab::parity::{Measure, Parity, ParityRow};

/// `value` with its meaning.
fn in_words(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Difference => format!("{value:.3}"),
        Measure::Relative => format!("{:.1} %", 100.0 * value),
        Measure::KsDistance => format!("KS {value:.3}"),
    }
}

/// A note on how to read the table.
const APART: &str = "apart: of utilisation the difference, of goodput and round trips (RTT) the \
                     difference in percent of the simulated ones, of delay KS, the distance of \
                     Kolmogorov and Smirnov between the two distributions, 0 to 1: the greatest \
                     difference between the \
                     shares of packets that waited no longer than some time. Of delay the medians \
                     are shown.";

/// The figures as a table.
#[must_use]
pub fn parity(parity: &Parity) -> Grid {
    let several = parity.rows.iter().any(|row| row.live_apart.is_some());
    let mut header =
        ["figure", "simulated", "live", "apart", "band", "verdict"].map(str::to_owned).to_vec();
    if several {
        header.insert(4, "live runs apart".into());
    }
    let row = |row: &ParityRow| {
        let mut cells = vec![
            row.what.clone(),
            format!("{:.4}", row.simulated),
            format!("{:.4}", row.live),
            in_words(row.measure, row.apart),
            in_words(row.measure, row.band),
            match row.apart_to_time {
                _ if row.too_short => "too short".to_owned(),
                _ if row.met => "met".to_owned(),
                Some(apart) if row.explained() => {
                    format!("explained ({})", in_words(row.measure, apart))
                }
                None if row.explained() => "explained".to_owned(),
                Some(apart) => format!("MISSED ({})", in_words(row.measure, apart)),
                None => "MISSED".to_owned(),
            },
        ];
        if several {
            let apart = row.live_apart.map_or(String::new(), |live| in_words(row.measure, live));
            cells.insert(4, apart);
        }
        Row::new(cells, RowKind::Method)
    };
    let mut notes = vec![APART.to_owned()];
    if parity.rows.iter().any(|row| row.apart_to_time.is_some()) {
        notes.push(
            "In brackets: the distance when delays that differ by no more than --explain's time \
             count as equal."
                .into(),
        );
    }
    if several {
        notes.push(
            "Of several live runs the medians are shown; live runs apart: the median distance of \
             two of them, within which a miss is explained."
                .into(),
        );
    }
    Grid {
        dropped_first: Vec::new(),
        header,
        rows: parity.rows.iter().map(row).collect(),
        numbers_from: 1,
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Duration;
    use justfull_lab::parity::LEAST_PACKETS;
    use justfull_run::results::{Distribution, FlowResult, RunResult};

    const LONG: Duration = Duration::from_secs(60);

    fn run(goodput: f64, delays: &[(f64, f64)], utilisation: f64) -> RunResult {
        let delay = Distribution { count: 1000, cdf: delays.to_vec(), ..Distribution::default() };
        let flow = FlowResult {
            name: "call".into(),
            goodput_mbit_s: goodput,
            delay,
            ..FlowResult::default()
        };
        let mut result = RunResult { flows: vec![flow], ..RunResult::default() };
        result.cell.utilisation = utilisation;
        result
    }

    #[test]
    fn a_run_that_is_too_short_says_so_and_misses_nothing() {
        let one = run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.90);
        let other = run(1.0, &[(5.0, 0.5), (6.0, 1.0)], 0.50);
        let verdicts = |parity: &Parity| -> Vec<String> {
            super::parity(parity).rows.iter().map(|row| row.cells[5].clone()).collect()
        };
        let short = Parity::of(&one, &[&other], Duration::from_secs(2));
        assert_eq!((short.missed(), short.too_short()), (0, 3));
        assert_eq!(verdicts(&short), ["too short"; 3]);
        let long = Parity::of(&one, &[&other], LONG);
        assert_eq!((long.missed(), long.too_short()), (3, 0));
        let mut few = one.clone();
        few.flows[0].delay.count = LEAST_PACKETS - 1;
        let few = Parity::of(&few, &[&other], LONG);
        assert_eq!(verdicts(&few), ["MISSED", "MISSED", "too short"], "few delays in a long run");
    }

    /// A reader could mistake "apart 0.330" for a time.
    #[test]
    fn the_table_says_how_each_figure_is_held_against_the_other() {
        let (one, other) =
            (run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.90), run(2.2, &[(1.0, 0.3), (2.0, 1.0)], 0.92));
        let grid = parity(&Parity::of(&one, &[&other], LONG));
        let apart: Vec<&str> = grid.rows.iter().map(|row| row.cells[3].as_str()).collect();
        assert_eq!(apart, ["0.020", "10.0 %", "KS 0.200"]);
        assert!(grid.notes[0].contains("Kolmogorov and Smirnov"));
        let grid = parity(&Parity::of(&one, &[&other, &one], LONG));
        assert_eq!(grid.header[4], "live runs apart");
        let cells: Vec<&str> = grid.rows.iter().map(|row| row.cells[4].as_str()).collect();
        assert_eq!(cells, ["0.020", "10.0 %", "KS 0.200"]);
        assert!(grid.rows.iter().all(|row| row.cells[6] == "met" || row.cells[6] == "explained"));
    }
}
