//! Random channel quality: a Markov chain over CQI 1 to 15, or over listed states.
//!
//! Source: a first-order chain is the usual summary of a fading channel (Wang and Moayeri 1995,
//! "Finite-state Markov channel"). The two shipped fits stand in for the traces of T20, which
//! belong to others and are not part of this project.
//!
//! The fits. T20's traces state packets of 1460 B per 10 ms, one row a second. Ten values occur;
//! under T20's map each value stands for one to three CQIs. Transitions between these ten levels
//! were counted over the rows T20 uses (the first 200) and smoothed towards the frequencies of the
//! whole trace, with the weight of six rows per level. The result was then tilted (by a factor
//! exp(a x + b x^2) on the next level x, and a factor on staying) until the chain had the mean,
//! standard deviation and lag-1 autocorrelation of the 200 rows, spread over the CQIs of a level,
//! and rounded to thousandths. The traces do not show CQIs within a level. While the level stays, a
//! CQI stays with probability 3/4, else another CQI of the level follows; a new level is entered at
//! each of its CQIs with equal probability.
//!
//! Statistics in packets per 10 ms (stationary distribution of the matrix as shipped; in brackets
//! the 200 rows):
//!
//! | fit | mean | standard deviation | lag-1 autocorrelation |
//! |--|--|--|--|
//! | `pedestrian-like` | 4.002 (4.010) | 1.565 (1.568) | 0.670 (0.667) |
//! | `train-like` | 4.662 (4.650) | 2.607 (2.603) | 0.763 (0.764) |
//!
//! Each draw is a hash of the key and the step's number, so the same seed gives the same channel
//! for any order of queries. The first state is the state of the chain 256 steps after CQI 8 (65
//! 536 steps for listed states), hence nearly stationary.
//!
//! Weaknesses: one step of memory is too short (the traces have runs of minutes), unless a CQI has
//! several states; nothing changes within a step. Deviations from T20: random numbers in place of a
//! trace.

use super::quality::{Levels, quality_params};
use super::{ChannelContext, ChannelModel, ChannelSettings};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::rng::mix;
use justfull_base::{Bytes, ConfigError, Duration, Instant, choice};
use justfull_phy::CqiToMcs;
use justfull_phy::cqi::MAX_CQI;

/// Number of states of a chain without listed states: CQI 1 to 15.
const STATES: usize = 15;
/// Maximum number of states of a chain.
const MAX_STATES: usize = 128;
/// Weights of the step from each state to each state, row by row.
type Matrix = Vec<u32>;

/// Steps before time zero, for the first state: of a chain over CQIs, and of a chain with listed
/// states, whose several states per CQI give it a longer memory.
const WARM_UP: u64 = 256;
const LONG_WARM_UP: u64 = 1 << 16;
/// Largest weight of a custom matrix.
const MAX_WEIGHT: u32 = 1_000_000;

choice! {
    /// Which transition matrix drives the chain.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Fit {
        /// Fitted to the statistics of T20's pedestrian trace.
        #[default]
        PedestrianLike = "pedestrian-like",
        /// Fitted to the statistics of T20's train trace.
        TrainLike = "train-like",
        /// The configuration's `matrix`.
        Custom = "custom",
    }
}

quality_params! {
    /// Settings of a Markov channel.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MarkovConfig: "a chain over CQI 1 to 15 steps from each to one of them" {
        /// Which transition matrix drives the chain.
        fit: Fit = Fit::PedestrianLike;
        /// Row i, column j: the weight of the step from state i to state j, counted from 1.
        matrix: Vec<Vec<u32>> as "a list of weights for each state" = Vec::new(), stated(
                "with custom: weights of 0 to 1000000, each row's sum above 0; empty otherwise",
            );
        /// CQI of each state of `matrix`, 0 for silence; several states may have the same. CQI 1 to
        /// 15 in order when empty.
        states: Vec<u8> as "list of CQI" = Vec::new(), stated(
                "with custom: up to 128 of 0 to 15, one above 0; empty otherwise",
            );
        /// How long a state lasts.
        step: Duration = Duration::from_secs(1),
            above(Duration::ZERO).and("at least a slot", |_| true), "a state lasts";
    }
    check |c| c.weights().map(|_| ());
}

impl MarkovConfig {
    /// The matrix in use.
    fn weights(&self) -> Result<Matrix, ConfigError> {
        const SOURCE: &str = "a chain steps from each of its states to one of them";
        let shipped = match self.fit {
            Fit::PedestrianLike => PEDESTRIAN_LIKE,
            Fit::TrainLike => TRAIN_LIKE,
            Fit::Custom => return custom(&self.matrix, &self.states),
        };
        for (field, found) in [("matrix", self.matrix.len()), ("states", self.states.len())] {
            let found_rows = format!("{found} rows");
            ensure(found == 0, field, &found_rows, "no rows unless fit is custom", SOURCE)?;
        }
        Ok(shipped.iter().flatten().map(|&weight| u32::from(weight)).collect())
    }

    /// CQI of each state.
    fn qualities(&self) -> Vec<u8> {
        if self.states.is_empty() { (1..=STATES as u8).collect() } else { self.states.clone() }
    }
}

/// A user's matrix, checked.
fn custom(rows: &[Vec<u32>], states: &[u8]) -> Result<Matrix, ConfigError> {
    const SOURCE: &str = "a chain steps from each of its states to one of them";
    let found = format!("{} states", states.len());
    ensure(states.len() <= MAX_STATES, "states", &found, "at most 128", SOURCE)?;
    let sound = states.is_empty()
        || states.iter().any(|cqi| *cqi > 0) && states.iter().all(|cqi| *cqi <= MAX_CQI);
    ensure(sound, "states", &found, "CQIs of 0 to 15, one above 0", SOURCE)?;
    let count = if states.is_empty() { STATES } else { states.len() };
    let found = format!("{} rows", rows.len());
    let allowed = format!("{count} rows of {count} weights");
    ensure(rows.len() == count, "matrix", &found, &allowed, SOURCE)?;
    for (i, row) in rows.iter().enumerate() {
        let field = format!("matrix[{i}]");
        let found = format!("{} weights", row.len());
        ensure(row.len() == count, &field, &found, &format!("{count} weights"), SOURCE)?;
        let largest = row.iter().copied().max().unwrap_or(0);
        ensure(largest > 0, &field, &"only zeros", "some weight above 0", SOURCE)?;
        ensure(largest <= MAX_WEIGHT, &field, &largest, "weights of at most 1000000", SOURCE)?;
    }
    Ok(rows.concat())
}

impl ChannelSettings for MarkovConfig {
    fn map(&self) -> Option<CqiToMcs> {
        Some(self.map)
    }
}

/// A running Markov channel.
#[derive(Clone, Debug)]
pub struct Markov {
    /// Running sums of each row of weights; shared between clones.
    cumulative: Arc<[u32]>,
    /// CQI of each state.
    states: Arc<[u8]>,
    levels: Levels,
    key: u64,
    step: Duration,
    warm_up: u64,
    /// Number of the current step, counted from the start of the warm-up.
    at_step: u64,
    /// Current state.
    state: usize,
}

impl Markov {
    /// The channel of a valid `config`.
    pub(super) fn new(
        config: &MarkovConfig,
        context: &ChannelContext,
    ) -> Result<Self, ConfigError> {
        let ChannelContext { key, slot, .. } = *context;
        ensure(
            config.step >= slot,
            "step",
            &config.step,
            &format!("at least a slot, {slot}"),
            "the MAC reads it once per slot",
        )?;
        let mut cumulative = config.weights()?;
        let states = config.qualities();
        for row in cumulative.chunks_exact_mut(states.len()) {
            let mut sum = 0;
            for weight in row {
                sum += *weight;
                *weight = sum;
            }
        }
        let levels = Levels::new(&config.quality(), context)?;
        // The start is CQI 8 or the next higher one.
        let above = states.iter().enumerate().filter(|(_, cqi)| **cqi >= 8);
        let state = above.min_by_key(|(_, cqi)| **cqi).map_or(states.len() - 1, |(state, _)| state);
        let mut markov = Self {
            cumulative: cumulative.into(),
            states: states.into(),
            levels,
            key,
            step: config.step,
            warm_up: if config.states.is_empty() { WARM_UP } else { LONG_WARM_UP },
            at_step: 0,
            state,
        };
        markov.advance(0, Instant::ZERO);
        Ok(markov)
    }

    /// The CQI at `at`.
    #[inline]
    fn cqi_at(&self, at: Instant) -> u8 {
        self.states[self.state_at(self.step_at(at))]
    }

    fn step_at(&self, at: Instant) -> u64 {
        self.warm_up + at.as_nanos() / self.step.as_nanos()
    }

    /// The state in step number `step`, not before the current one.
    #[inline]
    fn state_at(&self, step: u64) -> usize {
        debug_assert!(step >= self.at_step, "a chain does not run backwards");
        (self.at_step..step).fold(self.state, |state, number| self.next(state, number + 1))
    }

    /// Draws the state of step `number` after `state`.
    fn next(&self, state: usize, number: u64) -> usize {
        let count = self.states.len();
        let row = &self.cumulative[state * count..(state + 1) * count];
        let draw = mix(self.key ^ mix(number));
        let position = ((u128::from(draw) * u128::from(row[count - 1])) >> 64) as u32;
        row.partition_point(|&sum| sum <= position)
    }
}

impl ChannelModel for Markov {
    #[inline]
    fn amount(&self, slot_index: u64, at: Instant) -> u64 {
        self.levels.amount(self.cqi_at(at), slot_index)
    }

    #[inline]
    fn cqi(&self, _: u64, at: Instant) -> Option<u8> {
        Some(self.cqi_at(at))
    }

    fn advance(&mut self, _: u64, now: Instant) {
        let step = self.step_at(now);
        self.state = self.state_at(step);
        self.at_step = step;
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "markov",
    kind: "channel",
    title: "channel quality by chance",
    text: "A chain over CQI 1 to 15 takes a step every `step`; the CQI picks the MCS, the \
           transport block and so the packets or bytes of a slot. Two fits stand in for the \
           traces of T20: pedestrian-like (mean 4.00 packets of 1460 B per 10 ms, standard \
           deviation 1.56, lag-1 autocorrelation 0.67) and train-like (4.66, 2.61, 0.76). The \
           same seed gives the same channel to every method.",
    sources: "Wang and Moayeri 1995; fitted to the statistics of the first 200 rows of T20's \
              traces; TS 36.213; TS 38.214",
    deviations: "a chain has less memory than the traces: runs of minutes at one level do not \
                 occur",
    params: MarkovConfig::params,
};

/// Transitions in thousandths, fitted to the statistics of the first 200 rows of T20's pedestrian
/// trace.
#[rustfmt::skip]
const PEDESTRIAN_LIKE: [[u16; STATES]; STATES] = [
    [418, 70, 70, 63, 63, 126, 126, 35, 14, 14, 0, 0, 0, 0, 1],
    [70, 418, 70, 63, 63, 126, 126, 35, 14, 14, 0, 0, 0, 0, 1],
    [70, 70, 418, 63, 63, 126, 126, 35, 14, 14, 0, 0, 0, 0, 1],
    [36, 36, 36, 391, 130, 160, 160, 30, 8, 8, 4, 0, 0, 0, 1],
    [36, 36, 36, 130, 391, 160, 160, 30, 8, 8, 4, 0, 0, 0, 1],
    [3, 3, 3, 7, 7, 599, 200, 90, 40, 40, 0, 8, 0, 0, 0],
    [3, 3, 3, 7, 7, 200, 599, 90, 40, 40, 0, 8, 0, 0, 0],
    [7, 7, 7, 2, 2, 100, 100, 635, 68, 68, 0, 4, 0, 0, 0],
    [0, 0, 0, 10, 10, 77, 77, 107, 513, 171, 4, 31, 0, 0, 0],
    [0, 0, 0, 10, 10, 77, 77, 107, 171, 513, 4, 31, 0, 0, 0],
    [0, 0, 0, 8, 8, 9, 9, 37, 96, 96, 727, 8, 0, 0, 2],
    [0, 0, 0, 0, 0, 19, 19, 81, 188, 188, 180, 277, 28, 9, 11],
    [0, 0, 0, 1, 1, 1, 1, 3, 296, 296, 8, 14, 369, 8, 2],
    [1, 1, 1, 1, 1, 2, 2, 5, 196, 196, 11, 16, 32, 456, 79],
    [0, 0, 0, 37, 37, 40, 40, 167, 42, 42, 318, 195, 3, 5, 74],
];

/// Transitions in thousandths, fitted to the statistics of the first 200 rows of T20's train trace.
#[rustfmt::skip]
const TRAIN_LIKE: [[u16; STATES]; STATES] = [
    [543, 90, 90, 2, 1, 45, 45, 88, 45, 45, 3, 1, 0, 1, 1],
    [90, 543, 90, 2, 1, 45, 45, 88, 45, 45, 3, 1, 0, 1, 1],
    [90, 90, 543, 2, 1, 45, 45, 88, 45, 45, 3, 1, 0, 1, 1],
    [17, 17, 17, 651, 217, 34, 34, 2, 4, 4, 0, 3, 0, 0, 0],
    [17, 17, 17, 217, 651, 34, 34, 2, 4, 4, 0, 3, 0, 0, 0],
    [9, 9, 9, 21, 21, 563, 188, 96, 40, 40, 1, 1, 0, 1, 1],
    [9, 9, 9, 21, 21, 188, 563, 96, 40, 40, 1, 1, 0, 1, 1],
    [1, 1, 1, 3, 3, 79, 79, 717, 41, 41, 6, 23, 2, 3, 0],
    [3, 3, 3, 1, 1, 24, 23, 66, 546, 182, 122, 5, 3, 1, 17],
    [3, 3, 3, 1, 1, 24, 23, 66, 182, 546, 122, 5, 3, 1, 17],
    [26, 26, 26, 0, 0, 12, 12, 79, 108, 108, 273, 177, 80, 68, 5],
    [8, 8, 8, 1, 1, 7, 7, 11, 72, 72, 128, 657, 2, 14, 4],
    [10, 10, 10, 0, 0, 24, 24, 0, 39, 39, 77, 76, 406, 162, 123],
    [15, 15, 15, 11, 11, 12, 11, 46, 45, 45, 111, 200, 145, 279, 39],
    [6, 5, 5, 0, 0, 76, 76, 0, 75, 75, 16, 92, 31, 160, 383],
];
