//! Claims of papers: their statements, the runs that test them, and the verdicts.

mod decided;
mod evaluate;
mod fit;
mod reproduce;
mod runs;
mod shown;
mod switched;
mod words;
mod worlds;

use crate::model::summary::Metric;
use crate::runner::Watch;
pub use fit::{Fit, FitParameter, FitValue, fit};
use justfull_run::results::RunResult;
use justfull_scenario::{Job, Overrides, Scenario, ScenarioError, Setting, library, near};
pub use reproduce::{Reproduced, reproduce, reproduce_groups};
use runs::{Case, Runs};
use serde::Deserialize;
pub use shown::ShownCases;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
pub use worlds::{Period, SwitchRecord, World};
use worlds::{TODAY, Under, has_switch, parts};

/// The claims of the papers: short name and text of the file.
pub const CLAIMS: &[(&str, &str)] = &[
    ("E19", include_str!("../../../claims/E19.toml")),
    ("T20", include_str!("../../../claims/T20.toml")),
    ("A21", include_str!("../../../claims/A21.toml")),
    ("R22", include_str!("../../../claims/R22.toml")),
    ("P06", include_str!("../../../claims/P06.toml")),
    ("L4S", include_str!("../../../claims/l4s.toml")),
    ("Handover", include_str!("../../../claims/handover.toml")),
    ("Dual", include_str!("../../../claims/dual.toml")),
    ("Split", include_str!("../../../claims/split.toml")),
    ("DRX", include_str!("../../../claims/drx.toml")),
    ("Uplink", include_str!("../../../claims/uplink.toml")),
    ("LastPoll", include_str!("../../../claims/last-poll.toml")),
    ("Justfull", include_str!("../../../claims/justfull.toml")),
    ("Justfull-fresh", include_str!("../../../claims/justfull-fresh.toml")),
    ("Justfull-held-out", include_str!("../../../claims/justfull-held-out.toml")),
    ("Justfull-unseen", include_str!("../../../claims/justfull-unseen.toml")),
];

/// The claims of papers that are run live.
pub const LIVE_CLAIMS: &[(&str, &str)] = &[("R22", include_str!("../../../claims/R22-live.toml"))];

/// Trace name for a scenario's own channel.
pub const OWN_CHANNEL: &str = "scenario";

/// The claims of one paper, as written in its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimsFile {
    /// Short name of the paper.
    pub paper: String,
    /// Variant of the scenarios under which claims are run.
    pub variant: String,
    /// Seeds of a whole run.
    pub seeds: u32,
    /// Seeds of a short run.
    pub seeds_short: u32,
    /// Simulated time; if absent, each scenario's own.
    #[serde(default)]
    pub duration: Option<String>,
    /// Start of the measured window; if absent, each scenario's own.
    #[serde(default)]
    pub warmup: Option<String>,
    /// Points of the sweep; if absent, the points of each scenario's own sweep.
    #[serde(default)]
    pub intervals: Vec<String>,
    /// Points of the sweep of a short run.
    #[serde(default)]
    pub intervals_short: Vec<String>,
    /// Scenarios whose claims a short run judges; if absent, all. With this list, a short run omits
    /// the switches of claims recorded as missed, and tries the switches of other claims one after
    /// the other until one explains the claim.
    #[serde(default)]
    pub scenarios_short: Vec<String>,
    /// The claims are run live. Such a run cannot be repeated and shares its machine, so a claim is
    /// met if two runs of three meet it.
    #[serde(default)]
    pub live: bool,
    /// Switch that is on in a short run of each scenario that has it.
    #[serde(default)]
    pub switch_short: Option<String>,
    /// The TCP of the paper's time; if absent, today's.
    #[serde(default)]
    pub period: Option<Period>,
    /// Further worlds in which the whole paper is judged.
    #[serde(default)]
    pub world: Vec<World>,
    /// The effect of each switch on the whole paper.
    #[serde(default)]
    pub switch: BTreeMap<String, SwitchRecord>,
    /// Channels by the name of the trace; [`OWN_CHANNEL`] is the scenario's own.
    pub traces: BTreeMap<String, toml::Value>,
    /// The claims.
    pub claim: Vec<Claim>,
    /// Cases that the paper's figures show, with or without a claim.
    #[serde(default)]
    pub shown: Vec<ShownCases>,
    /// Metrics of these cases.
    #[serde(default)]
    pub shown_metrics: Vec<Metric>,
    /// Settings of the scenarios that may be fitted to the paper.
    #[serde(default)]
    pub fit: Option<Fit>,
}

/// The kind of a claim's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The value at each point of the sweep lies in the band.
    Range,
    /// A value relative to another method's lies in the band.
    Ratio,
    /// Methods from least to greatest.
    Order,
    /// Each method's value, relative to the base's if there is one, is greater at the last point of
    /// the sweep than at the first.
    Trend,
    /// The method's value at the last point of the sweep, minus its value at the first, lies in the
    /// band.
    Change,
    /// The first method is worse than the second in none of [`Metric::CONTENDED`] and better in at
    /// least two of them, each by a 95 % interval of the paired difference.
    Dominates,
}

/// The method of forming a ratio over the points of the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The least value of the method over the greatest value of the base.
    MinMax,
    /// Mean over mean.
    MeanMean,
}

/// The source of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The value that the paper prints.
    Paper,
    /// The result of the authors' program in a new run.
    Anchor,
}

/// One claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Key.
    pub id: String,
    /// Place in the paper, e.g. `Fig. 7`.
    pub figure: String,
    /// Scenario's name.
    pub scenario: String,
    /// Trace's name.
    pub trace: String,
    /// Kind of statement.
    pub kind: Kind,
    /// Measured quantity.
    pub metric: Metric,
    /// Method (not for orders).
    #[serde(default)]
    pub method: String,
    /// Method in the denominator of a ratio.
    #[serde(default)]
    pub base: String,
    /// Scenario of `base`, if it differs.
    #[serde(default)]
    pub base_scenario: Option<String>,
    /// The switch under which the claim holds.
    #[serde(default)]
    pub under: Option<String>,
    /// The switch for the base, if it differs.
    #[serde(default)]
    pub base_under: Option<String>,
    /// The flow of the claim; if absent, all flows that the metric counts.
    #[serde(default)]
    pub flow: Option<String>,
    /// The flow of `base`, if it differs.
    #[serde(default)]
    pub base_flow: Option<String>,
    /// The index of the slice, for metrics of slices.
    #[serde(default)]
    pub slice: Option<u32>,
    /// The band must contain the whole 95 % interval, not only the mean; for signs.
    #[serde(default)]
    pub strictly: bool,
    /// The method of forming a ratio.
    #[serde(default)]
    pub rule: Option<Rule>,
    /// Methods from least to greatest, or the methods of a trend.
    #[serde(default)]
    pub order: Vec<String>,
    /// Values that the paper prints.
    #[serde(default)]
    pub paper: Vec<f64>,
    /// Results of the authors' program.
    #[serde(default)]
    pub anchor: Vec<f64>,
    /// The source of the band.
    pub basis: Basis,
    /// The band; none for orders and trends.
    #[serde(default)]
    pub band: Option<[f64; 2]>,
    /// Points of the sweep; if absent, all.
    #[serde(default)]
    pub intervals: Option<Vec<String>>,
    /// Switches that may affect the claim; several joined by `+` are on together.
    pub switches: Vec<String>,
    /// The reason for a change of the band after the first run.
    #[serde(default)]
    pub changed: Option<String>,
    /// Known and accepted verdict, `met` by default; a worse verdict fails.
    #[serde(default)]
    pub status: Status,
    /// The seeds leave the verdict open: a worse verdict that is undecided does not fail.
    #[serde(default)]
    pub undecided: bool,
}

/// A recorded verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// In band.
    #[default]
    Met,
    /// In the band or at the anchor with a switch.
    Explained,
    /// Outside the band.
    Missed,
}

/// Options of a reproduction.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Fewer seeds and points.
    pub short: bool,
    /// Number of seeds in place of the file's; at least 3, for an interval.
    pub runs: Option<u32>,
    /// First seed in place of the scenarios' own.
    pub seed: Option<u64>,
    /// Only claims of this figure, e.g. `7` (see [`select`]).
    pub figure: Option<String>,
    /// Count the effect of each switch on the whole paper instead of reading it from the file.
    pub switches: bool,
    /// Run each claim only in the world in which it is judged.
    pub judged_alone: bool,
    /// Number of threads.
    pub threads: usize,
    /// Folder of the traces.
    pub data_dir: Option<PathBuf>,
}

/// The reason why claims could not be run.
#[derive(Debug)]
pub enum ClaimsError {
    /// No such paper, or no claim of that figure.
    Unknown(String),
    /// A scenario is wrong.
    Scenario(ScenarioError),
    /// A run failed.
    Run(String),
    /// The runs were interrupted.
    Cancelled,
}

impl std::fmt::Display for ClaimsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(what) | Self::Run(what) => f.write_str(what),
            Self::Scenario(e) => e.fmt(f),
            Self::Cancelled => f.write_str("interrupted: no claim was judged"),
        }
    }
}

impl std::error::Error for ClaimsError {}

impl From<ScenarioError> for ClaimsError {
    fn from(e: ScenarioError) -> Self {
        Self::Scenario(e)
    }
}

/// Executes one run; none if it was cancelled.
pub type One<'a> = dyn Fn(&Scenario, &Job) -> Result<Option<RunResult>, ClaimsError> + Sync + 'a;

/// The functions that make and follow the runs.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Follows the runs.
    pub watch: &'a Watch,
    /// Makes one run.
    pub one: &'a One<'a>,
}

/// The claims of `paper`.
///
/// # Errors
/// If no such paper ships.
///
/// # Panics
/// Never: the files are part of the program and tested.
pub fn load(paper: &str) -> Result<ClaimsFile, ClaimsError> {
    load_of(CLAIMS, paper)
}

/// The claims of `paper` that are run live.
///
/// # Errors
/// If no such paper ships.
///
/// # Panics
/// Never: the files are part of the program and tested.
pub fn load_live(paper: &str) -> Result<ClaimsFile, ClaimsError> {
    load_of(LIVE_CLAIMS, paper)
}

fn load_of(all: &[(&str, &str)], paper: &str) -> Result<ClaimsFile, ClaimsError> {
    let found = all.iter().find(|(name, _)| name.eq_ignore_ascii_case(paper));
    let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let (_, text) = found.ok_or_else(|| {
        let all = format!("one of {}", known.join(", "));
        ClaimsError::Unknown(format!(
            "paper: found {paper}, allowed is {}",
            near::allowed(paper, &known, &all)
        ))
    })?;
    Ok(toml::from_str(text).expect("the shipped claims are sound"))
}

/// The claims of `file` in `figure`, which is the text in the file or a figure's number; all claims
/// if none.
///
/// # Errors
/// If the file has no claim of that figure.
pub fn select<'a>(
    file: &'a ClaimsFile,
    figure: Option<&str>,
) -> Result<Vec<&'a Claim>, ClaimsError> {
    let places = |c: &Claim| c.figure.split(", ").map(String::from).collect::<Vec<_>>();
    let is_wanted =
        |c: &&Claim| figure.is_none_or(|n| places(c).iter().any(|place| is_place(place, n.trim())));
    let claims: Vec<&Claim> = file.claim.iter().filter(is_wanted).collect();
    if claims.is_empty() {
        let mut known: Vec<String> = file.claim.iter().flat_map(places).collect();
        known.sort_unstable();
        known.dedup();
        let found = figure.unwrap_or("none");
        return Err(ClaimsError::Unknown(format!(
            "--figure: found {found}, allowed is one of {}",
            known.join(", ")
        )));
    }
    Ok(claims)
}

/// True if `named`, the user's text, means `place`, the file's text.
fn is_place(place: &str, named: &str) -> bool {
    place.eq_ignore_ascii_case(named) || place == format!("Fig. {named}")
}

fn notes(file: &ClaimsFile, options: &Options) -> Vec<String> {
    let source = match file.variant.as_str() {
        "as-released" => "the authors' program as it was run again",
        "sound" => "the scenarios' own settings",
        _ => "the paper's text",
    };
    let mut notes = vec![format!("variant {}: {source}", file.variant)];
    let first = options.seed.map(|seed| format!(" from {seed} on")).unwrap_or_default();
    notes.push(format!("{} seeds{first}", file.runs(options)));
    if let Some(period) = &file.period {
        notes.push(format!(
            "claims of the paper are judged under {} ({}), those of an anchor under today's \
             settings",
            period.name,
            period.switches.join(", ")
        ));
    }
    if file.live {
        notes.push("live: a claim is met if it is in two runs of three".into());
    }
    if options.short && !file.intervals.is_empty() {
        notes.push(format!(
            "short: intervals {} of {}",
            file.intervals_short.join(", "),
            file.intervals.join(", ")
        ));
    }
    if file.is_part(options) {
        notes.push(format!(
            "short: claims of {}, without the switches of those recorded as missed, and of others \
             until one explains them",
            file.scenarios_short.join(", ")
        ));
    }
    notes
}

impl ClaimsFile {
    /// True if only some claims are judged.
    fn is_part(&self, options: &Options) -> bool {
        options.short && !self.scenarios_short.is_empty()
    }

    /// True if `claim` is judged.
    fn judges(&self, claim: &Claim, options: &Options) -> bool {
        !self.is_part(options) || self.scenarios_short.contains(&claim.scenario)
    }

    /// Points of the sweep of `scenario`; a single unnamed point if it has no sweep.
    fn points(&self, scenario: &str, short: bool) -> Vec<String> {
        match (self.intervals.is_empty(), short) {
            (true, _) => library::sweep_points(scenario),
            (false, true) => self.intervals_short.clone(),
            (false, false) => self.intervals.clone(),
        }
    }

    fn runs(&self, options: &Options) -> u32 {
        options.runs.unwrap_or(if options.short { self.seeds_short } else { self.seeds })
    }

    /// The switches of `case`, and the switch of a short run if its scenario has that switch.
    fn switches(&self, case: &Case, options: &Options) -> Vec<String> {
        let short = self.switch_short.as_deref();
        let short = short.filter(|name| options.short && has_switch(&case.scenario, name));
        short.into_iter().chain(parts(&case.on)).map(String::from).collect()
    }

    /// The settings of `case` with `methods`, or with all methods of the scenario if the list is
    /// empty.
    fn overrides(&self, case: &Case, methods: &[String], options: &Options) -> Overrides {
        let Case { scenario: name, trace, .. } = case;
        let set = |path: &str, value: toml::Value| {
            Setting::new(path, value).expect("a constant path is sound")
        };
        let text_value = |text: &str| toml::Value::String(text.into());
        let times = [("duration", &self.duration), ("warmup", &self.warmup)].into_iter();
        let mut base: Vec<Setting> = times
            .filter_map(|(path, time)| Some(set(path, text_value(time.as_deref()?))))
            .collect();
        if trace != OWN_CHANNEL {
            let channel = self.traces.get(trace).cloned().unwrap_or(toml::Value::Boolean(false));
            base.push(set("channel", channel));
        }
        let points = || self.points(name, options.short).iter().map(|p| text_value(p)).collect();
        Overrides {
            base,
            variant: Some(self.variant.clone()),
            methods: (!methods.is_empty()).then(|| methods.to_vec()),
            switches: self.switches(case, options),
            seed: options.seed,
            runs: Some(self.runs(options)),
            sweep_values: (!self.intervals.is_empty()).then(points),
            ..Overrides::default()
        }
    }

    /// The scenario of `case` with `methods`, or with all its own methods if the list is empty.
    fn scenario(
        &self,
        case: &Case,
        methods: &[String],
        options: &Options,
    ) -> Result<Scenario, ScenarioError> {
        let name = &case.scenario;
        let text = library::scenario(name).unwrap_or_default();
        let overrides = self.overrides(case, methods, options);
        let file = format!("scenarios/{name}.toml");
        Scenario::parse(text, Path::new(&file), options.data_dir.clone(), overrides)
    }
}
