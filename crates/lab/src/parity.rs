//! One scenario simulated and live, side by side: a check that a cell does the same to the kernel's
//! TCP as to the simulator's.
//!
//! Five kinds of figures are compared: each flow's delay distribution, by the Kolmogorov-Smirnov
//! distance; each flow's goodput; the share of marked packets of a flow that the simulated cell
//! marks; the median, the 95th and the 99th percentile of the round-trip times of each transfer,
//! and of both legs of a transfer that a proxy splits; the cell's utilisation. A live run is one
//! random sample on one machine, so the figures need not be equal. The bands were fixed before the
//! first run.
//!
//! A distribution of few delays differs from run to run, and so does a goodput or a utilisation
//! over a few round trips. A run too short for a figure is reported as such, and does not miss it.
//!
//! If a sender waits for the cell's slots, delays come in steps, as in T20 with slots of 10 ms. A
//! machine is about 50 us later than a model, and this can move whole steps of the distribution.
//! [`Parity::explain`] separates such a miss from a substantial one: it compares again and counts
//! delays as equal if they differ by no more than a given time.
//!
//! Several live runs of the same cell and seed differ too. Their medians are compared. A miss is
//! explained if it is no greater than the median difference between two of them: a band cannot be
//! finer than the kernel's own variation.

use crate::stats::cdf_share;
use justfull_base::Duration;
use justfull_run::results::{Distribution, FlowResult, RunResult};
use serde::Serialize;

/// Greatest distance of two delay distributions.
pub const DELAY_DISTANCE: f64 = 0.10;
/// Greatest difference of utilisations.
pub const UTILISATION: f64 = 0.01;
/// Greatest difference of goodputs, relative to the simulated one.
pub const GOODPUT: f64 = 0.05;
/// Greatest difference of the shares of marked packets, relative to the simulated one: the rate of
/// a scalable sender goes with the inverse of this share, and its model is validated to a tenth.
pub const MARKS: f64 = 0.10;
/// Greatest difference of percentiles of round-trip times, relative to the simulated ones.
pub const ROUND_TRIP: f64 = 0.05;
/// Minimum number of delays for the comparison of a flow's distribution.
pub const LEAST_PACKETS: u64 = 100;
/// Minimum number of round-trip times beyond a percentile for its comparison.
pub const LEAST_BEYOND: f64 = 10.0;
/// Minimum measured time for the comparison of a run's figures: several periods of CUBIC's
/// sawtooth.
pub const LEAST_TIME: Duration = Duration::from_secs(10);

/// One figure of the simulated run and the live ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParityRow {
    /// The compared quantity, with its unit.
    pub what: String,
    /// Value of the simulated run.
    pub simulated: f64,
    /// Value of the live run; the median of several.
    pub live: f64,
    /// Distance between the two in terms of `measure`; the median over several live runs.
    pub apart: f64,
    /// Median distance between two live runs, over all pairs; none for a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_apart: Option<f64>,
    /// The unit of `apart` and of the band.
    pub measure: Measure,
    /// The greatest allowed distance.
    pub band: f64,
    /// True if the distance is within the band.
    pub met: bool,
    /// True if the run was too short for this figure, which then has no meaning.
    pub too_short: bool,
    /// For a distribution that missed: the distance if delays count as equal that differ by no more
    /// than the time given to [`Parity::explain`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart_to_time: Option<f64>,
}

/// The comparison of two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The difference.
    Difference,
    /// The difference as a share of the simulated figure.
    Relative,
    /// The Kolmogorov-Smirnov distance between the distributions.
    KsDistance,
}

impl ParityRow {
    /// True if it missed, but small differences of delay or the variation of live runs account for
    /// the miss.
    #[must_use]
    pub fn explained(&self) -> bool {
        let in_time = self.apart_to_time.is_some_and(|apart| apart <= self.band);
        let in_runs = self.live_apart.is_some_and(|apart| apart >= self.apart);
        !self.met && (in_time || in_runs)
    }

    /// True if it is outside its band, the run was long enough, and nothing explains it.
    #[must_use]
    pub fn missed(&self) -> bool {
        !self.met && !self.too_short && !self.explained()
    }
}

/// All figures of a simulated run and its live ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Parity {
    /// The cell first, then flow by flow.
    pub rows: Vec<ParityRow>,
}

impl Parity {
    /// Compares a simulated run with one or more live runs of the same scenario and seed, all
    /// measured for `window`. A flow that only one side has is not compared, and misses.
    #[must_use]
    pub fn of(simulated: &RunResult, live: &[&RunResult], window: Duration) -> Self {
        let too_short = window < LEAST_TIME;
        let mut rows = vec![row("utilisation".into(), simulated, live, &Utilisation, too_short)];
        for FlowResult { name, delay, marked_packets, .. } in &simulated.flows {
            let what = format!("{name}: goodput, Mbit/s");
            rows.push(row(what, simulated, live, &Goodput { flow: name }, too_short));
            if *marked_packets > 0 {
                let what = format!("{name}: marked packets, %");
                rows.push(row(what, simulated, live, &Marks { flow: name }, too_short));
            }
            if delay.count > 0 {
                let too_short = too_short || delay.count < LEAST_PACKETS;
                let figure = Delay { flow: name, slack_ms: 0.0 };
                rows.push(row(delay_of(name), simulated, live, &figure, too_short));
            }
            for leg in Leg::ALL {
                rows.extend(round_trips(name, leg, simulated, live, too_short));
            }
        }
        Self { rows }
    }

    /// Compares distributions that missed again, and counts delays within `time` of each other as
    /// equal.
    pub fn explain(&mut self, simulated: &RunResult, live: &[&RunResult], time: Duration) {
        let slack_ms = time.as_secs_f64() * 1e3;
        for FlowResult { name, .. } in &simulated.flows {
            let (what, figure) = (delay_of(name), Delay { flow: name, slack_ms });
            for row in self.rows.iter_mut().filter(|row| !row.met && row.what == what) {
                row.apart_to_time = median(live.iter().map(|live| figure.apart(simulated, live)));
            }
        }
    }

    /// Figures outside their bands that nothing explains.
    #[must_use]
    pub fn missed(&self) -> usize {
        self.rows.iter().filter(|row| row.missed()).count()
    }

    /// Figures for which the run was too short.
    #[must_use]
    pub fn too_short(&self) -> usize {
        self.rows.iter().filter(|row| row.too_short).count()
    }
}

/// A figure of a run, and the distance of two runs in it.
trait Figure {
    const MEASURE: Measure;
    const BAND: f64;

    fn value(&self, run: &RunResult) -> f64;

    /// Distance of `b` from `a`.
    fn apart(&self, a: &RunResult, b: &RunResult) -> f64;
}

struct Utilisation;

impl Figure for Utilisation {
    const MEASURE: Measure = Measure::Difference;
    const BAND: f64 = UTILISATION;

    fn value(&self, run: &RunResult) -> f64 {
        run.cell.utilisation
    }

    fn apart(&self, a: &RunResult, b: &RunResult) -> f64 {
        (self.value(a) - self.value(b)).abs()
    }
}

/// The flow of `run` that is called `name`.
fn flow_of<'a>(run: &'a RunResult, name: &str) -> Option<&'a FlowResult> {
    run.flows.iter().find(|flow| flow.name == name)
}

struct Goodput<'a> {
    flow: &'a str,
}

impl Figure for Goodput<'_> {
    const MEASURE: Measure = Measure::Relative;
    const BAND: f64 = GOODPUT;

    fn value(&self, run: &RunResult) -> f64 {
        flow_of(run, self.flow).map_or(0.0, |flow| flow.goodput_mbit_s)
    }

    fn apart(&self, a: &RunResult, b: &RunResult) -> f64 {
        relative(self.value(a), self.value(b))
    }
}

struct Marks<'a> {
    flow: &'a str,
}

impl Figure for Marks<'_> {
    const MEASURE: Measure = Measure::Relative;
    const BAND: f64 = MARKS;

    fn value(&self, run: &RunResult) -> f64 {
        let share = |flow: &FlowResult| {
            100.0 * flow.marked_packets as f64 / flow.delivered_packets.max(1) as f64
        };
        flow_of(run, self.flow).map_or(0.0, share)
    }

    fn apart(&self, a: &RunResult, b: &RunResult) -> f64 {
        relative(self.value(a), self.value(b))
    }
}

struct Delay<'a> {
    flow: &'a str,
    /// Delays are equal if they differ by no more than this.
    slack_ms: f64,
}

impl Figure for Delay<'_> {
    const MEASURE: Measure = Measure::KsDistance;
    const BAND: f64 = DELAY_DISTANCE;

    fn value(&self, run: &RunResult) -> f64 {
        flow_of(run, self.flow).map_or(0.0, |flow| flow.delay.p50_ms)
    }

    fn apart(&self, a: &RunResult, b: &RunResult) -> f64 {
        match (flow_of(a, self.flow), flow_of(b, self.flow)) {
            (Some(a), Some(b)) if a.delay.count > 0 && b.delay.count > 0 => {
                distance(&a.delay.cdf, &b.delay.cdf, self.slack_ms)
            }
            _ => 1.0,
        }
    }
}

/// The source of a flow's round-trip times: its sender, or one leg of a flow that a proxy splits.
#[derive(Clone, Copy)]
enum Leg {
    Whole,
    Server,
    Radio,
}

impl Leg {
    const ALL: [Self; 3] = [Self::Whole, Self::Server, Self::Radio];

    fn words(self) -> &'static str {
        match self {
            Self::Whole => "RTT",
            Self::Server => "RTT to the proxy",
            Self::Radio => "RTT from the proxy",
        }
    }

    /// The round-trip times of `flow` on this leg; none for a ping, which is no transfer.
    fn of(self, flow: &FlowResult) -> Option<&Distribution> {
        let found = match self {
            Self::Whole => flow.ping.is_none().then_some(&flow.rtt),
            Self::Server => flow.proxy.as_ref().map(|legs| &legs.server_rtt),
            Self::Radio => flow.proxy.as_ref().map(|legs| &legs.radio_rtt),
        };
        found.filter(|rtt| rtt.count > 0)
    }
}

/// A percentile of round-trip times.
type Percentile = fn(&Distribution) -> f64;

/// Compared percentiles: their names, their shares, and the functions that read them.
const PERCENTILES: [(&str, f64, Percentile); 3] =
    [("median", 0.50, |d| d.p50_ms), ("p95", 0.95, |d| d.p95_ms), ("p99", 0.99, |d| d.p99_ms)];

struct RoundTrip<'a> {
    flow: &'a str,
    leg: Leg,
    percentile: Percentile,
}

impl Figure for RoundTrip<'_> {
    const MEASURE: Measure = Measure::Relative;
    const BAND: f64 = ROUND_TRIP;

    fn value(&self, run: &RunResult) -> f64 {
        let rtt = flow_of(run, self.flow).and_then(|flow| self.leg.of(flow));
        rtt.map_or(0.0, self.percentile)
    }

    fn apart(&self, a: &RunResult, b: &RunResult) -> f64 {
        relative(self.value(a), self.value(b))
    }
}

/// The difference of `b` as a share of `a`.
fn relative(a: f64, b: f64) -> f64 {
    if a > 0.0 { (a - b).abs() / a } else { b }
}

/// The rows of a leg of `flow`, if the simulated run and all live runs have it.
fn round_trips(
    flow: &str,
    leg: Leg,
    simulated: &RunResult,
    live: &[&RunResult],
    too_short: bool,
) -> Vec<ParityRow> {
    let counted = |run: &RunResult| Some(leg.of(flow_of(run, flow)?)?.count);
    let counts = std::iter::once(simulated).chain(live.iter().copied()).map(counted);
    let Some(least) = counts.min().flatten() else { return Vec::new() };
    let row = |(name, share, percentile)| {
        let what = format!("{flow}: {}, {name} ms", leg.words());
        let few = least as f64 * (1.0 - share) < LEAST_BEYOND;
        let figure = RoundTrip { flow, leg, percentile };
        row(what, simulated, live, &figure, too_short || few)
    };
    PERCENTILES.into_iter().map(row).collect()
}

/// The median; for an even number of values the mean of the middle two.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

fn row<F: Figure>(
    what: String,
    simulated: &RunResult,
    live: &[&RunResult],
    figure: &F,
    too_short: bool,
) -> ParityRow {
    let pairs = live.iter().enumerate().flat_map(|(i, a)| live[..i].iter().map(move |b| (a, b)));
    let apart = median(live.iter().map(|live| figure.apart(simulated, live))).unwrap_or(0.0);
    ParityRow {
        what,
        simulated: figure.value(simulated),
        live: median(live.iter().map(|live| figure.value(live))).unwrap_or(0.0),
        apart,
        live_apart: median(pairs.map(|(a, b)| figure.apart(a, b))),
        measure: F::MEASURE,
        band: F::BAND,
        met: apart <= F::BAND,
        too_short,
        apart_to_time: None,
    }
}

/// The name of the row of a flow's delay.
fn delay_of(flow: &str) -> String {
    format!("{flow}: delay, median ms")
}

/// Kolmogorov-Smirnov distance: the greatest difference of the shares at or below a value. With
/// `slack` above 0, the share of one at a value is compared with the share of the other at any
/// value within `slack` of it.
fn distance(a: &[(f64, f64)], b: &[(f64, f64)], slack: f64) -> f64 {
    let above = |a: &[(f64, f64)], b: &[(f64, f64)]| {
        let gap = |&(x, _): &(f64, f64)| cdf_share(a, x) - cdf_share(b, x + slack);
        // The share of `a` exceeds the share of `b` most at a step of `a`, or just below a step of
        // `b`.
        let below = |&(x, _): &(f64, f64)| {
            cdf_share(a, (x - slack).next_down()) - cdf_share(b, x.next_down())
        };
        a.iter().map(gap).chain(b.iter().map(below)).fold(0.0, f64::max)
    };
    above(a, b).max(above(b, a))
}

#[cfg(test)]
mod tests;
