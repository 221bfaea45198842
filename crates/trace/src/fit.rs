//! A Markov chain fitted to a trace, and traces made by such a chain.
//!
//! The chain has the form of the channel kind `markov`: one step per interval between states, each
//! a CQI (0 for silence), with the trace's own counts as weights (the maximum-likelihood estimate
//! of a first-order chain, Anderson and Goodman 1957); the last state is followed by the first. A
//! trace without CQI is quantised: each interval gets the CQI whose transport blocks carry the
//! nearest amount, on a number of resource blocks whose highest rate reaches the trace's; that
//! number is taken which keeps mean and spread best. So a fit is a channel that any scenario can
//! use.
//!
//! The memory of a first-order chain over CQIs is too short. So a state may be a CQI within a
//! regime: a class of the trace by its mean over some seconds around. Silence has a state for each
//! doubling of its length. Chains are fitted with one, two, three and five regimes; the one that
//! keeps mean, spread, memory and silences best is taken. The comparison is part of the result.

mod statistics;

use super::quality::capacity_of_cqi;
use super::timeline::Timeline;
use justfull_base::error::ensure;
use justfull_base::rng::stream_key;
use justfull_base::{ConfigError, Duration, Instant};
use justfull_ran::channel::{
    CapacityUnit, Channel, ChannelConfig, ChannelContext, CqiRowsConfig, Fit, MarkovConfig,
};
use serde_json::json;
use std::fmt::Write;

pub use statistics::Statistics;

/// CQIs, 0 included.
const CQIS: usize = 16;
/// Largest weight that the channel accepts.
const MOST: u64 = 1_000_000;
/// Longest step for which a CQI is assumed to hold.
const LONGEST_STEP: Duration = Duration::from_secs(1);
/// Regimes that are tried, the fewest first.
const REGIMES: [usize; 4] = [1, 2, 3, 5];
/// Fewest steps for each state of a chain with regimes.
const STEPS_OF_STATE: usize = 20;
/// Runs as long as the trace by which a chain is judged, and bounds on their steps in all.
const RUNS: usize = 20;
const STEPS: (usize, usize) = (20_000, 400_000);
/// Amounts by which a number of resource blocks is judged.
const SAMPLES: usize = 1000;

/// The input of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The trace's CQIs.
    Cqi,
    /// Its rates, quantised.
    Rate,
}

impl Over {
    const fn name(self) -> &'static str {
        match self {
            Self::Cqi => "cqi",
            Self::Rate => "rate",
        }
    }
}

impl std::str::FromStr for Over {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "cqi" => Ok(Self::Cqi),
            "rate" => Ok(Self::Rate),
            _ => Err(format!("found `{text}`, allowed is one of cqi, rate")),
        }
    }
}

/// A chain and what it was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The states of the chain.
    pub over: Over,
    /// The channel.
    pub channel: MarkovConfig,
    /// The trace itself, over the chain's steps.
    pub trace: Statistics,
    /// The trace quantised to the chain's states.
    pub quantised: Statistics,
    /// The chain's own statistics.
    pub chain: Statistics,
    /// Steps of the trace.
    pub steps: usize,
}

/// Fits a chain to `timeline` with a step every `step` (default: an interval). `quality` says how
/// to convert a CQI to a capacity. For rates the resource blocks are chosen, unless `sized`.
///
/// # Errors
/// When the trace has no CQI but is to be fitted over it, is shorter than two steps, has a step
/// above 1 s, or no number of resource blocks reaches its rates.
pub fn fit(
    timeline: &Timeline,
    over: Over,
    step: Option<Duration>,
    quality: &CqiRowsConfig,
    sized: bool,
) -> Result<Fitted, ConfigError> {
    let step =
        step.unwrap_or(timeline.interval().max(Duration::from_millis(100)).min(LONGEST_STEP));
    ensure(
        !step.is_zero() && step <= LONGEST_STEP,
        "step",
        &step,
        "above 0s, at most 1s",
        "a CQI is taken to hold for a second",
    )?;
    let timeline = whole_steps(timeline, step)?;
    let mut quality = quality.clone();
    let cqi: Vec<u8> = match (over, timeline.cqi()) {
        (Over::Cqi, Some(cqi)) => cqi.to_vec(),
        (Over::Cqi, None) => {
            return Err(ConfigError::new(
                "over",
                &"cqi",
                "rate: the trace has no CQI",
                "a chain needs states",
            ));
        }
        (Over::Rate, _) => {
            if !sized {
                quality.n_prb = blocks(&timeline, &quality)?;
            }
            let levels = levels(step, &quality)?;
            timeline.bytes().iter().map(|&bytes| nearest(&levels, bytes)).collect()
        }
    };
    ensure(cqi.len() > 1, "duration", &timeline.duration(), "two steps or more", "a chain steps")?;
    let levels = levels(step, &quality)?;
    let bytes: Vec<u32> = cqi.iter().map(|&cqi| levels[usize::from(cqi)]).collect();
    let quantised = Statistics::of(&bytes, step, cqi.len());
    // Fits over CQIs are judged by the rates that the map gives these.
    let trace = match over {
        Over::Cqi => quantised.clone(),
        Over::Rate => Statistics::of(timeline.bytes(), step, cqi.len()),
    };
    let mut best: Option<(f64, MarkovConfig, Statistics)> = None;
    for regimes in REGIMES {
        let Some(channel) = chain(&cqi, &bytes, regimes, step, &quality) else { continue };
        let steps = (RUNS * cqi.len()).clamp(STEPS.0, STEPS.1.max(2 * cqi.len()));
        let made = synthesise(&channel, 1, step.times(steps as u64))?;
        let made = Statistics::of(made.bytes(), step, cqi.len());
        let distance = made.distance(&trace);
        if best.as_ref().is_none_or(|(least, ..)| distance < *least) {
            best = Some((distance, channel, made));
        }
    }
    let nothing = || ConfigError::new("duration", &step, "a trace that carries", "a chain steps");
    let (_, channel, chain) = best.ok_or_else(nothing)?;
    Ok(Fitted { over, channel, trace, quantised, chain, steps: cqi.len() })
}

/// The trace in steps, without a shorter one at its end.
fn whole_steps(timeline: &Timeline, step: Duration) -> Result<Timeline, ConfigError> {
    let whole = timeline.duration().as_nanos() / step.as_nanos().max(1);
    if whole < 2 {
        return timeline.resample(step);
    }
    timeline.slice(Duration::ZERO, step.times(whole))?.resample(step)
}

/// Bytes that each CQI carries in a step; 0 for CQI 0.
fn levels(step: Duration, quality: &CqiRowsConfig) -> Result<Vec<u32>, ConfigError> {
    capacity_of_cqi(&(0..=15).collect::<Vec<u8>>(), step, quality)
}

/// The number of resource blocks, of those on which CQI 15 carries the trace's highest amount and
/// up to half as many more, whose levels keep mean and spread best.
fn blocks(timeline: &Timeline, quality: &CqiRowsConfig) -> Result<u16, ConfigError> {
    let step = timeline.interval();
    let with = |n_prb: u16| levels(step, &CqiRowsConfig { n_prb, ..quality.clone() });
    let mut sorted = timeline.bytes().to_vec();
    sorted.sort_unstable();
    let highest = sorted.last().copied().unwrap_or(0);
    let least = (1..=275).find(|n| with(*n).is_ok_and(|levels| levels[15] >= highest));
    let least = least.ok_or_else(|| {
        let mbit = |bytes: u32| f64::from(bytes) * 8e-6 / step.as_secs_f64();
        let most = (1..=275).map_while(|n| with(n).ok()).last().map_or(0.0, |all| mbit(all[15]));
        let bound = format!(
            "at most {most:.1} Mbit/s with the map {} and {} layers; maps nr_t1 to nr_t3 and more \
             layers carry more",
            quality.map.name(),
            quality.layers
        );
        let found = format!("a rate of {:.1} Mbit/s", mbit(highest));
        ConfigError::new("map", &found, &bound, "TS 36.213 and TS 38.214")
    })?;
    let every = sorted.len().div_ceil(SAMPLES);
    let sample: Vec<u32> = sorted.into_iter().step_by(every).collect();
    let want = Statistics::of(&sample, step, sample.len());
    let mut best = (f64::INFINITY, least);
    for n in least..=least + least / 2 + 2 {
        let Ok(levels) = with(n) else { break };
        let taken: Vec<u32> =
            sample.iter().map(|&b| levels[usize::from(nearest(&levels, b))]).collect();
        let distance = Statistics::of(&taken, step, taken.len()).distance_of_rates(&want);
        if distance < best.0 {
            best = (distance, n);
        }
    }
    Ok(best.1)
}

/// The CQI whose level is nearest to `bytes`, the lower one of a tie; 0 for silence alone.
fn nearest(levels: &[u32], bytes: u32) -> u8 {
    let distance = |cqi: &u8| levels[usize::from(*cqi)].abs_diff(bytes);
    if bytes == 0 { 0 } else { (1..=15).min_by_key(distance).unwrap_or(1) }
}

/// The chain over the CQIs of `cqi` within `regimes`; none if the trace is too short for so many,
/// or carries nothing.
fn chain(
    cqi: &[u8],
    bytes: &[u32],
    regimes: usize,
    step: Duration,
    quality: &CqiRowsConfig,
) -> Option<MarkovConfig> {
    let regime = regime_of(bytes, regimes);
    let mut silent = 0_u32;
    let state = |(&cqi, &regime): (&u8, &usize)| {
        silent = if cqi == 0 { silent + 1 } else { 0 };
        // Silence goes by how long it has lasted, so that short and long ones keep their lengths.
        let group = silent.checked_ilog2().map_or(regime, |age| regimes + age as usize);
        group * CQIS + usize::from(cqi)
    };
    let whole: Vec<usize> = cqi.iter().zip(&regime).map(state).collect();
    let mut states = whole.clone();
    states.sort_unstable();
    states.dedup();
    if cqi.iter().all(|&cqi| cqi == 0) || regimes > 1 && cqi.len() < STEPS_OF_STATE * states.len() {
        return None;
    }
    let place = |state: &usize| states.binary_search(state).unwrap_or(0);
    let places: Vec<usize> = whole.iter().map(place).collect();
    let mut counts = vec![vec![0_u64; states.len()]; states.len()];
    let ends = (places[places.len() - 1], places[0]);
    for (from, to) in places.windows(2).map(|two| (two[0], two[1])).chain([ends]) {
        counts[from][to] += 1;
    }
    Some(MarkovConfig {
        fit: Fit::Custom,
        matrix: counts.iter().map(|row| weights(row)).collect(),
        states: states.iter().map(|state| (state % CQIS) as u8).collect(),
        step,
        map: quality.map,
        n_prb: quality.n_prb,
        numerology: quality.numerology,
        layers: quality.layers,
        ..MarkovConfig::default()
    })
}

/// Counts as weights that the channel accepts; one never rounds to 0, however large the others are.
fn weights(counts: &[u64]) -> Vec<u32> {
    let largest = counts.iter().copied().max().unwrap_or(0);
    let weight = |&count: &u64| {
        if largest > MOST { (count * MOST).div_ceil(largest) as u32 } else { count as u32 }
    };
    counts.iter().map(weight).collect()
}

/// The regime of each step: which of `regimes` equal parts of all steps it belongs to by the mean
/// over the steps around it.
fn regime_of(bytes: &[u32], regimes: usize) -> Vec<usize> {
    if regimes == 1 {
        return vec![0; bytes.len()];
    }
    let half = (bytes.len() / 60).clamp(2, 25);
    let sums: Vec<u64> = std::iter::once(0)
        .chain(bytes.iter().scan(0, |sum, &bytes| {
            *sum += u64::from(bytes);
            Some(*sum)
        }))
        .collect();
    let around = |k: usize| {
        let (from, to) = (k.saturating_sub(half), (k + half + 1).min(bytes.len()));
        (sums[to] - sums[from]) / (to - from) as u64
    };
    let means: Vec<u64> = (0..bytes.len()).map(around).collect();
    let mut sorted = means.clone();
    sorted.sort_unstable();
    let edges: Vec<u64> = (1..regimes).map(|r| sorted[r * sorted.len() / regimes]).collect();
    means.iter().map(|mean| edges.partition_point(|edge| edge <= mean)).collect()
}

impl Fitted {
    /// The statistics of the trace, of the trace in the states of the chain, and of the chain in
    /// runs as long as the trace, as lines of a table.
    #[must_use]
    pub fn table(&self) -> Vec<String> {
        let mut lines =
            vec![format!("{:<34} {:>10} {:>10} {:>10}", "", "trace", "quantised", "chain")];
        let all = [&self.trace, &self.quantised, &self.chain].map(Statistics::lines);
        for (k, (name, trace)) in all[0].iter().enumerate() {
            let (quantised, chain) = (&all[1][k].1, &all[2][k].1);
            lines.push(format!("{name:<34} {trace:>10} {quantised:>10} {chain:>10}"));
        }
        lines
    }

    /// A line of JSON: what was fitted, to the trace called `file`, the three statistics, the
    /// channel as in a scenario, and `notes`.
    #[must_use]
    pub fn json(&self, file: &str, notes: &[String]) -> String {
        json!({
            "file": file,
            "over": self.over.name(),
            "steps": self.steps,
            "statistics": {
                "trace": self.trace.json(),
                "quantised": self.quantised.json(),
                "chain": self.chain.json(),
            },
            "channel": ChannelConfig::Markov(self.channel.clone()),
            "notes": notes,
        })
        .to_string()
    }

    /// The fit as a part of a scenario, with its statistics as comments; `title` names what it was
    /// fitted to.
    #[must_use]
    pub fn toml(&self, title: &str) -> String {
        let mut out =
            format!("# Markov chain fitted to {}, {} steps.\n", one_line(title), self.steps);
        for line in self.table() {
            let _ = writeln!(out, "# {line}");
        }
        let c = &self.channel;
        let states: Vec<String> = c.states.iter().map(u8::to_string).collect();
        let _ = write!(
            out,
            "[channel]\nkind = \"markov\"\nfit = \"custom\"\nstep = \"{}\"\nmap = \"{}\"\nn_prb = \
             {}\nnumerology = {}\nlayers = {}\nstates = [{}]\nmatrix = [\n",
            c.step,
            c.map.name(),
            c.n_prb,
            c.numerology,
            c.layers,
            states.join(", ")
        );
        for row in &c.matrix {
            let weights: Vec<String> = row.iter().map(u32::to_string).collect();
            let _ = writeln!(out, "  [{}],", weights.join(", "));
        }
        out.push_str("]\n");
        out
    }
}

/// `text` without characters that would end a comment.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A fit file: a scenario's channel.
#[derive(serde::Deserialize)]
struct FitFile {
    channel: ChannelConfig,
}

/// The chain in `text`: its table `channel`, of kind `markov`.
///
/// # Errors
/// What is wrong, with line and column if TOML gives them.
pub fn parse_fit(text: &str) -> Result<MarkovConfig, String> {
    let file: FitFile = toml::from_str(text).map_err(|error| {
        let place =
            error.span().map(|span| text[..span.start.min(text.len())].to_string()).map(|before| {
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
                format!("{line}:{column}: ")
            });
        format!(
            "{}found {}, allowed is a table [channel] of kind markov",
            place.unwrap_or_default(),
            error.message().replace('\n', ", ")
        )
    })?;
    match file.channel {
        ChannelConfig::Markov(config) => Ok(config),
        _ => Err("found a channel of another kind, allowed is kind = \"markov\"".into()),
    }
}

/// The shipped fit `name`; none if there is no such fit.
#[must_use]
pub fn shipped_fit(name: &str) -> Option<MarkovConfig> {
    let fit = match name {
        "pedestrian-like" => Fit::PedestrianLike,
        "train-like" => Fit::TrainLike,
        _ => return None,
    };
    Some(MarkovConfig { fit, ..MarkovConfig::default() })
}

/// Names of the shipped fits.
pub const SHIPPED_FITS: [&str; 2] = ["pedestrian-like", "train-like"];

/// A trace of `duration` made by the chain `config`, with its CQIs; the same `seed` gives the same
/// trace.
///
/// # Errors
/// When `config` is out of its bounds, its step is above 1 s, or the trace would have too many
/// intervals.
pub fn synthesise(
    config: &MarkovConfig,
    seed: u64,
    duration: Duration,
) -> Result<Timeline, ConfigError> {
    let step = config.step;
    ensure(
        step <= LONGEST_STEP,
        "step",
        &step,
        "at most 1s",
        "a CQI is taken to hold for a second",
    )?;
    // The shipped chains are fits of whole packets (T20).
    let (unit, worth) = match config.fit {
        Fit::Custom => (CapacityUnit::Bytes, 1),
        _ => (CapacityUnit::Packets, config.packet_bytes.0),
    };
    let mut channel = Channel::new(
        &ChannelConfig::Markov(config.clone()),
        &ChannelContext { key: stream_key(seed, "trace"), slot: step, unit, bandwidth: None },
    )?;
    let count = duration.as_nanos().div_ceil(step.as_nanos());
    ensure(
        (1..=super::MAX_INTERVALS as u64).contains(&count),
        "duration",
        &duration,
        "at least a step, and no more than 40000000",
        "a bound on memory",
    )?;
    let (mut bytes, mut cqi) = (Vec::new(), Vec::new());
    for k in 0..count {
        let at = Instant::ZERO + step.times(k);
        let amount = channel.capacity(k, at) * worth;
        bytes.push(u32::try_from(amount).map_err(|_| {
            ConfigError::new(
                "bytes of a step",
                &amount,
                "at most 4294967295",
                "shorter steps carry less",
            )
        })?);
        cqi.extend(channel.cqi(k, at));
    }
    Timeline::new(step, bytes, Some(cqi))?.lasting(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within 3 % of each other, or 0.03.
    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 0.03 * b.abs().max(1.0)
    }

    fn statistics(timeline: &Timeline) -> Statistics {
        Statistics::of(timeline.bytes(), timeline.interval(), timeline.bytes().len())
    }

    #[test]
    fn a_synthetic_trace_has_the_statistics_of_its_fit_and_a_fit_to_it_finds_them_again() {
        for name in SHIPPED_FITS {
            let config = shipped_fit(name).expect("shipped");
            let trace = synthesise(&config, 7, Duration::from_secs(100_000)).expect("a trace");
            let quality = CqiRowsConfig::default();
            let fitted = fit(&trace, Over::Cqi, None, &quality, true).expect("a fit");
            let again = parse_fit(&fitted.toml(name)).expect("the fit is read back");
            assert_eq!(again, fitted.channel);
            let made =
                statistics(&synthesise(&again, 8, Duration::from_secs(100_000)).expect("a trace"));
            let memory = |s: &Statistics| s.autocorrelation[0].expect("it is long");
            for (a, b) in [
                (made.mean_mbit_s, fitted.chain.mean_mbit_s),
                (made.sd_mbit_s, fitted.chain.sd_mbit_s),
                (memory(&made), memory(&fitted.chain)),
                (fitted.quantised.mean_mbit_s, fitted.chain.mean_mbit_s),
                (fitted.quantised.sd_mbit_s, fitted.chain.sd_mbit_s),
                (memory(&fitted.quantised), memory(&fitted.chain)),
            ] {
                assert!(close(a, b), "{name}: {a} for {b}");
            }
        }
    }

    /// A drive of half an hour in steps of 100 ms: slow changes between four levels of some twenty
    /// seconds, noise on them, and outages of some seconds in the lowest.
    fn drive() -> Timeline {
        let mut rng = justfull_base::Rng::stream(3, "drive");
        let (mut level, mut outage) = (2_u32, 0);
        let bytes = (0..18_000).map(|_| {
            if rng.unit() < 0.005 {
                level = (rng.unit() * 4.0) as u32;
            }
            if outage == 0 && level == 0 && rng.unit() < 0.02 {
                outage = 5 + (rng.unit() * 50.0) as u32;
            }
            outage = outage.saturating_sub(1);
            let noise = (rng.unit() * 60_000.0) as u32;
            if outage > 0 { 0 } else { 40_000 + level * 120_000 + noise }
        });
        Timeline::new(Duration::from_millis(100), bytes.collect(), None).expect("a trace")
    }

    #[test]
    fn a_fit_keeps_mean_spread_memory_and_silences_of_a_drive() {
        let quality = CqiRowsConfig::default();
        let fitted = fit(&drive(), Over::Rate, None, &quality, false).expect("a fit");
        let (trace, chain) = (&fitted.trace, &fitted.chain);
        let table = fitted.table().join("\n");
        let near = |a: f64, b: f64, share: f64| (a - b).abs() <= share * b;
        assert!(near(chain.mean_mbit_s, trace.mean_mbit_s, 0.05), "{table}");
        assert!(near(chain.sd_mbit_s, trace.sd_mbit_s, 0.1), "{table}");
        for (a, b) in chain.autocorrelation.iter().zip(&trace.autocorrelation) {
            let (a, b) = (a.expect("it is long"), b.expect("it is long"));
            assert!((a - b).abs() < 0.12, "{table}");
        }
        assert!(trace.silent > 0.01 && near(chain.silent, trace.silent, 0.3), "{table}");
        assert!(near(chain.silence_s, trace.silence_s, 0.3), "{table}");
        assert!(near(chain.longest_silence_s, trace.longest_silence_s, 0.7), "{table}");
        assert!(fitted.channel.states.contains(&0), "silence is a state");
        let again = fit(&drive(), Over::Rate, None, &quality, false).expect("a fit");
        assert_eq!(fitted, again);
    }

    #[test]
    fn the_shipped_fits_keep_their_documented_statistics_in_packets() {
        for (name, mean, sd) in [("pedestrian-like", 4.002, 1.565), ("train-like", 4.662, 2.607)] {
            let trace =
                synthesise(&shipped_fit(name).expect("shipped"), 1, Duration::from_secs(200_000));
            let found = statistics(&trace.expect("a trace"));
            let packet = 1.168;
            assert!(
                close(found.mean_mbit_s, mean * packet) && close(found.sd_mbit_s, sd * packet),
                "{name}: {found:?}"
            );
        }
    }

    #[test]
    fn rates_are_quantised_to_the_nearest_level_on_blocks_that_reach_them() {
        let step = Duration::from_millis(100);
        let rates: Vec<u32> = (0..3000).map(|k| 20_000 + 30_000 * (k / 7 % 4)).collect();
        let trace = Timeline::new(step, rates, None).expect("a trace");
        let fitted =
            fit(&trace, Over::Rate, None, &CqiRowsConfig::default(), false).expect("a fit");
        assert!(close(fitted.trace.mean_mbit_s, 5.2));
        assert!(
            (fitted.quantised.mean_mbit_s / fitted.trace.mean_mbit_s - 1.0).abs() < 0.1,
            "{fitted:?}"
        );
        let memory = |s: &Statistics| s.autocorrelation[0].expect("it is long");
        assert!((memory(&fitted.chain) - memory(&fitted.trace)).abs() < 0.05, "{fitted:?}");
        let top = |n_prb| {
            let quality = CqiRowsConfig { n_prb, ..CqiRowsConfig::default() };
            capacity_of_cqi(&[15], step, &quality).expect("LTE has them")[0]
        };
        assert!(top(fitted.channel.n_prb) >= 110_000);
    }

    #[test]
    fn the_same_seed_gives_the_same_trace_and_another_one_another() {
        let make = |seed| {
            synthesise(&MarkovConfig::default(), seed, Duration::from_secs(50)).expect("a trace")
        };
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
        assert_eq!(make(1).duration(), Duration::from_secs(50));
        let short =
            synthesise(&MarkovConfig::default(), 1, Duration::from_millis(1500)).expect("a trace");
        assert_eq!(short.bytes().len(), 2);
    }

    #[test]
    fn impossible_fits_and_traces_are_refused_by_name() {
        let quality = CqiRowsConfig::default();
        let bare = Timeline::new(Duration::from_secs(1), vec![5, 6], None).expect("a trace");
        let field =
            |result: Result<Fitted, ConfigError>| result.map_err(|e| e.field).expect_err("refused");
        assert_eq!(field(fit(&bare, Over::Cqi, None, &quality, false)), "over");
        assert_eq!(
            field(fit(&bare, Over::Rate, Some(Duration::from_secs(2)), &quality, false)),
            "step"
        );
        let short = bare.slice(Duration::ZERO, Duration::from_secs(1)).expect("a part");
        assert_eq!(field(fit(&short, Over::Rate, None, &quality, false)), "duration");
        let fast = Timeline::new(Duration::from_secs(1), vec![u32::MAX; 3], None).expect("a trace");
        assert_eq!(field(fit(&fast, Over::Rate, None, &quality, false)), "map");
        for (text, part) in [
            ("[channel]\nkind = \"markov\"\nsteps = 3\n", "unknown field `steps`"),
            ("[channel]\nkind = \"constant\"\n", "found a channel of another kind"),
            ("x", "allowed is a table [channel]"),
        ] {
            let refused = parse_fit(text).expect_err("refused");
            assert!(refused.contains(part), "{refused}");
        }
        let slow = MarkovConfig { step: Duration::from_secs(2), ..MarkovConfig::default() };
        assert!(synthesise(&slow, 1, Duration::from_secs(4)).is_err());
        assert!(synthesise(&MarkovConfig::default(), 1, Duration::ZERO).is_err());
    }
}
