//! A Markov chain fitted to a trace, and traces made by such a chain.
//!
//! The chain is that of the channel kind `markov`: one step per interval between CQI 1 to 15, with
//! the trace's own counts as weights (the maximum-likelihood estimate of a first-order chain,
//! Anderson and Goodman 1957). A trace without CQI is quantised first: each interval gets the CQI
//! whose transport blocks carry the nearest amount, on the fewest resource blocks whose highest
//! rate reaches the trace's. So a fit is a channel that any scenario can use, and the quantisation
//! loss is reported with it.
//!
//! Weaknesses: a chain forgets geometrically and has no runs of minutes; silence becomes CQI 1, the
//! lowest rate.

use super::info::Moments;
use super::read::capacity_of_cqi;
use super::timeline::Timeline;
use justfull_base::error::ensure;
use justfull_base::rng::stream_key;
use justfull_base::{ConfigError, Duration, Instant};
use justfull_ran::channel::{
    CapacityUnit, Channel, ChannelConfig, ChannelContext, CqiRowsConfig, Fit, MarkovConfig,
};
use std::fmt::Write;

/// States of the chain.
const STATES: usize = 15;
/// Largest weight that the channel accepts.
const MOST: u64 = 1_000_000;
/// Longest step for which a CQI is assumed to hold.
const LONGEST_STEP: Duration = Duration::from_secs(1);
/// Steps after which a chain is assumed to be stationary.
const SETTLED: usize = 10_000;

/// What a chain is fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The trace's CQIs.
    Cqi,
    /// Its rates, quantised.
    Rate,
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

/// Mean, standard deviation and autocorrelation at one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Mean rate in Mbit/s.
    pub mean_mbit_s: f64,
    /// Standard deviation in Mbit/s.
    pub sd_mbit_s: f64,
    /// Autocorrelation of the rate at one step; 0 when it never changes.
    pub lag1: f64,
}

impl Statistics {
    fn of(bytes: &[u32], step: Duration) -> Self {
        let to_mbit = 8e-6 / step.as_secs_f64();
        let rates: Vec<f64> = bytes.iter().map(|&b| f64::from(b) * to_mbit).collect();
        let Moments { mean, sd, lag1 } = Moments::of(&rates);
        Self { mean_mbit_s: mean, sd_mbit_s: sd, lag1: lag1.unwrap_or(0.0) }
    }
}

/// A chain and what it was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
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
        step <= LONGEST_STEP,
        "step",
        &step,
        "at most 1s",
        "a CQI is taken to hold for a second",
    )?;
    let timeline = timeline.resample(step)?;
    let mut quality = quality.clone();
    let states: Vec<u8> = match (over, timeline.cqi()) {
        (Over::Cqi, Some(cqi)) => cqi.iter().map(|&cqi| cqi.max(1)).collect(),
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
                quality.n_prb = enough(&timeline, &quality)?;
            }
            let levels = capacity_of_cqi(&(1..=15).collect::<Vec<u8>>(), step, &quality)?;
            timeline.bytes().iter().map(|&bytes| nearest(&levels, bytes)).collect()
        }
    };
    ensure(
        states.len() > 1,
        "duration",
        &timeline.duration(),
        "two steps or more",
        "a chain steps",
    )?;
    let matrix = weights(&states);
    let channel = MarkovConfig {
        fit: Fit::Custom,
        matrix: matrix.iter().map(|row| row.to_vec()).collect(),
        step,
        map: quality.map,
        n_prb: quality.n_prb,
        numerology: quality.numerology,
        layers: quality.layers,
        unit: CapacityUnit::Bytes,
        ..MarkovConfig::default()
    };
    let levels = capacity_of_cqi(&(1..=15).collect::<Vec<u8>>(), step, &quality)?;
    let quantised: Vec<u32> = states.iter().map(|&cqi| levels[usize::from(cqi) - 1]).collect();
    Ok(Fitted {
        chain: stationary(&matrix, &levels, step),
        trace: Statistics::of(timeline.bytes(), step),
        quantised: Statistics::of(&quantised, step),
        steps: states.len(),
        channel,
    })
}

/// The fewest resource blocks on which CQI 15 carries the trace's highest amount; the most in the
/// map's tables if that comes close.
fn enough(timeline: &Timeline, quality: &CqiRowsConfig) -> Result<u16, ConfigError> {
    let highest = timeline.bytes().iter().copied().max().unwrap_or(0);
    let top = |n_prb: u16| {
        capacity_of_cqi(&[15], timeline.interval(), &CqiRowsConfig { n_prb, ..quality.clone() })
    };
    let sizes: Vec<(u16, u32)> =
        (1..=275).map_while(|n| top(n).ok().map(|bytes| (n, bytes[0]))).collect();
    let found = sizes.iter().find(|(_, bytes)| *bytes >= highest).map(|(n, _)| *n);
    found.ok_or_else(|| {
        let mbit = f64::from(highest) * 8e-6 / timeline.interval().as_secs_f64();
        let most = sizes
            .last()
            .map_or(0.0, |(_, b)| f64::from(*b) * 8e-6 / timeline.interval().as_secs_f64());
        let bound = format!(
            "at most {most:.1} Mbit/s with the map {} and {} layers; maps nr_t1 to nr_t3 and more \
             layers carry more",
            quality.map.name(),
            quality.layers
        );
        ConfigError::new(
            "map",
            &format!("a rate of {mbit:.1} Mbit/s"),
            &bound,
            "TS 36.213 and TS 38.214",
        )
    })
}

/// The CQI whose level is nearest to `bytes`; the lower one of a tie.
fn nearest(levels: &[u32], bytes: u32) -> u8 {
    let distance = |cqi: &u8| levels[usize::from(*cqi) - 1].abs_diff(bytes);
    (1..=15).min_by_key(distance).unwrap_or(1)
}

/// Counts of steps from each state to each. States that the trace never leaves go to the nearest
/// one that it does.
fn weights(states: &[u8]) -> [[u32; STATES]; STATES] {
    let mut counts = [[0_u64; STATES]; STATES];
    for two in states.windows(2) {
        counts[usize::from(two[0]) - 1][usize::from(two[1]) - 1] += 1;
    }
    let known: Vec<usize> =
        (0..STATES).filter(|&i| counts[i].iter().any(|&count| count > 0)).collect();
    let mut matrix = [[0; STATES]; STATES];
    for (i, (row, out)) in counts.iter().zip(&mut matrix).enumerate() {
        let largest = row.iter().copied().max().unwrap_or(0);
        if largest == 0 {
            let home = known.iter().copied().min_by_key(|k| k.abs_diff(i)).unwrap_or(i);
            out[home] = 1;
            continue;
        }
        // A count never rounds to 0, however large the others are.
        for (count, weight) in row.iter().zip(out) {
            *weight = if largest > MOST { (count * MOST).div_ceil(largest) } else { *count } as u32;
        }
    }
    matrix
}

/// Statistics of the chain in its stationary state, reached from CQI 8 as the channel starts.
fn stationary(matrix: &[[u32; STATES]; STATES], levels: &[u32], step: Duration) -> Statistics {
    let rows = matrix.map(|row| {
        let sum: f64 = row.iter().map(|&w| f64::from(w)).sum();
        row.map(|w| f64::from(w) / sum)
    });
    let forward = |p: &[f64; STATES]| -> [f64; STATES] {
        std::array::from_fn(|j| (0..STATES).map(|i| p[i] * rows[i][j]).sum())
    };
    let mut p = [0.0; STATES];
    p[7] = 1.0;
    for _ in 0..SETTLED {
        // Mixing in half a step at rest keeps a periodic chain from oscillating and has the same
        // stationary state.
        let next = forward(&p);
        p = std::array::from_fn(|i| (p[i] + next[i]) / 2.0);
    }
    let to_mbit = 8e-6 / step.as_secs_f64();
    let rates: [f64; STATES] = std::array::from_fn(|i| f64::from(levels[i]) * to_mbit);
    let mean: f64 = p.iter().zip(&rates).map(|(p, r)| p * r).sum();
    let variance: f64 = p.iter().zip(&rates).map(|(p, r)| p * (r - mean) * (r - mean)).sum();
    let joint = |i: usize| {
        (0..STATES).map(|j| rows[i][j] * (rates[j] - mean)).sum::<f64>() * (rates[i] - mean)
    };
    let covariance: f64 = (0..STATES).map(|i| p[i] * joint(i)).sum();
    let lag1 = if variance > 0.0 { covariance / variance } else { 0.0 };
    Statistics { mean_mbit_s: mean, sd_mbit_s: variance.sqrt(), lag1 }
}

impl Fitted {
    /// The fit as a part of a scenario, with its statistics as comments; `title` names what it was
    /// fitted to.
    #[must_use]
    pub fn toml(&self, title: &str) -> String {
        let mut out =
            format!("# Markov chain fitted to {}, {} steps.\n", one_line(title), self.steps);
        out.push_str("# Rates in Mbit/s:     mean         sd  autocorrelation at one step\n");
        for (name, s) in
            [("trace", &self.trace), ("quantised", &self.quantised), ("chain", &self.chain)]
        {
            let _ = writeln!(
                out,
                "# {name:<12} {:>12.4} {:>10.4} {:>10.4}",
                s.mean_mbit_s, s.sd_mbit_s, s.lag1
            );
        }
        let c = &self.channel;
        let _ = write!(
            out,
            "[channel]\nkind = \"markov\"\nfit = \"custom\"\nstep = \"{}\"\nmap = \"{}\"\nn_prb = \
             {}\nnumerology = {}\nlayers = {}\nunit = \"bytes\"\nmatrix = [\n",
            c.step,
            c.map.name(),
            c.n_prb,
            c.numerology,
            c.layers
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
    let mut channel = Channel::new(
        &ChannelConfig::Markov(config.clone()),
        &ChannelContext { key: stream_key(seed, "trace"), slot: step, bandwidth: None },
    )?;
    let worth = match config.unit {
        CapacityUnit::Packets => config.packet_bytes.0,
        CapacityUnit::Bytes => 1,
    };
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
        Statistics::of(timeline.bytes(), timeline.interval())
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
            for (a, b) in [
                (made.mean_mbit_s, fitted.chain.mean_mbit_s),
                (made.sd_mbit_s, fitted.chain.sd_mbit_s),
                (made.lag1, fitted.chain.lag1),
                (fitted.quantised.mean_mbit_s, fitted.chain.mean_mbit_s),
                (fitted.quantised.sd_mbit_s, fitted.chain.sd_mbit_s),
                (fitted.quantised.lag1, fitted.chain.lag1),
            ] {
                assert!(close(a, b), "{name}: {a} for {b}");
            }
        }
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
    fn rates_are_quantised_to_the_nearest_level_on_as_few_blocks_as_reach_them() {
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
        assert!((fitted.chain.lag1 - fitted.trace.lag1).abs() < 0.05, "{fitted:?}");
        let blocks = fitted.channel.n_prb;
        let top = |n_prb| {
            let quality = CqiRowsConfig { n_prb, ..CqiRowsConfig::default() };
            capacity_of_cqi(&[15], step, &quality).expect("LTE has them")[0]
        };
        assert!(top(blocks) >= 110_000 && top(blocks - 1) < 110_000);
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
    fn what_cannot_be_fitted_or_made_is_refused_by_name() {
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
