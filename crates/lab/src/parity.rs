//! One scenario simulated and live, side by side: whether the kernel's TCP behind real packets sees the cell that the simulator
//! shows.
//!
//! Three figures are compared: of each flow the distribution of its delay by the distance of Kolmogorov and Smirnov, of each flow
//! its goodput, of the cell its utilisation. A live run is one draw of chance and of a machine, so equal is not asked for; the
//! bands were fixed before the first run.

use crate::stats::cdf_share;
use crate::table::{Grid, Row, RowKind};
use justfull_sim::results::{FlowResult, RunResult};
use serde::Serialize;

/// Greatest distance of two distributions of delay.
pub const DELAY_DISTANCE: f64 = 0.10;
/// Greatest difference of utilisations.
pub const UTILISATION: f64 = 0.01;
/// Greatest difference of goodputs, relative to the simulated one.
pub const GOODPUT: f64 = 0.05;
/// Delays that a flow must have for its distribution to be compared.
pub const LEAST_PACKETS: u64 = 100;

/// One figure of both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParityRow {
    /// What is compared, with its unit.
    pub what: String,
    /// Of the simulated run.
    pub simulated: f64,
    /// Of the live run.
    pub live: f64,
    /// How far they are apart, as the band counts it.
    pub apart: f64,
    /// The most that is allowed.
    pub band: f64,
    /// Apart by no more than that.
    pub met: bool,
}

/// All figures of two runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Parity {
    /// The cell first, then flow by flow.
    pub rows: Vec<ParityRow>,
}

impl Parity {
    /// Compares two runs of one scenario. A flow that only one of them has is compared with nothing, and misses.
    #[must_use]
    pub fn of(simulated: &RunResult, live: &RunResult) -> Self {
        let mut rows = Vec::new();
        let (a, b) = (simulated.cell.utilisation, live.cell.utilisation);
        rows.push(row("utilisation".into(), (a, b), (a - b).abs(), UTILISATION));
        let none = FlowResult::default();
        for flow in &simulated.flows {
            let other = live.flows.iter().find(|other| other.name == flow.name).unwrap_or(&none);
            let (a, b) = (flow.goodput_mbit_s, other.goodput_mbit_s);
            let apart = if a > 0.0 { (a - b).abs() / a } else { b };
            rows.push(row(format!("{}: goodput, Mbit/s", flow.name), (a, b), apart, GOODPUT));
            if flow.delay.count >= LEAST_PACKETS {
                let apart =
                    if other.delay.count == 0 { 1.0 } else { distance(&flow.delay.cdf, &other.delay.cdf) };
                let medians = (flow.delay.p50_ms, other.delay.p50_ms);
                rows.push(row(format!("{}: delay, median ms", flow.name), medians, apart, DELAY_DISTANCE));
            }
        }
        Self { rows }
    }

    /// Figures outside their bands.
    #[must_use]
    pub fn missed(&self) -> usize {
        self.rows.iter().filter(|row| !row.met).count()
    }
}

fn row(what: String, (simulated, live): (f64, f64), apart: f64, band: f64) -> ParityRow {
    ParityRow { what, simulated, live, apart, band, met: apart <= band }
}

/// Distance of Kolmogorov and Smirnov: the greatest difference of the shares at or below a value.
fn distance(a: &[(f64, f64)], b: &[(f64, f64)]) -> f64 {
    let gap = |&(x, _): &(f64, f64)| (cdf_share(a, x) - cdf_share(b, x)).abs();
    a.iter().chain(b).map(gap).fold(0.0, f64::max)
}

/// The figures as a table.
#[must_use]
pub fn grid(parity: &Parity) -> Grid {
    let header = ["figure", "simulated", "live", "apart", "band", "verdict"].map(str::to_owned).to_vec();
    let rows = parity.rows.iter().map(|row| Row {
        cells: vec![
            row.what.clone(),
            format!("{:.4}", row.simulated),
            format!("{:.4}", row.live),
            format!("{:.3}", row.apart),
            format!("{:.2}", row.band),
            if row.met { "met" } else { "MISSED" }.to_owned(),
        ],
        kind: RowKind::Method,
    });
    Grid { header, rows: rows.collect(), numbers_from: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_sim::results::Distribution;

    fn run(goodput: f64, delays: &[(f64, f64)], utilisation: f64) -> RunResult {
        let delay = Distribution { count: 1000, cdf: delays.to_vec(), ..Distribution::default() };
        let flow =
            FlowResult { name: "call".into(), goodput_mbit_s: goodput, delay, ..FlowResult::default() };
        let mut result = RunResult { flows: vec![flow], ..RunResult::default() };
        result.cell.utilisation = utilisation;
        result
    }

    #[test]
    fn a_run_is_at_no_distance_from_itself() {
        let one = run(2.0, &[(1.0, 0.25), (2.0, 0.5), (3.0, 1.0)], 0.9);
        let parity = Parity::of(&one, &one);
        assert_eq!(parity.rows.len(), 3);
        assert!(parity.rows.iter().all(|row| row.met && row.apart == 0.0), "{parity:?}");
    }

    #[test]
    fn each_band_is_crossed_by_its_own_figure() {
        let one = run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.90);
        let apart = |other: &RunResult| {
            let parity = Parity::of(&one, other);
            parity.rows.iter().filter(|row| !row.met).map(|row| row.what.clone()).collect::<Vec<_>>()
        };
        assert_eq!(apart(&run(2.0, &[(1.0, 0.5), (2.0, 1.0)], 0.92)), ["utilisation"]);
        assert_eq!(apart(&run(2.2, &[(1.0, 0.5), (2.0, 1.0)], 0.90)), ["call: goodput, Mbit/s"]);
        assert_eq!(apart(&run(2.0, &[(1.0, 0.3), (2.0, 1.0)], 0.90)), ["call: delay, median ms"]);
        assert_eq!(
            apart(&RunResult { flows: Vec::new(), ..one.clone() }).len(),
            2,
            "a flow that is not there"
        );
    }
}
