//! Fits settings that a paper does not print to some of its values, and judges the other values
//! with them.
//!
//! A coordinate search over the values that the file of claims lists: each parameter in turn takes
//! the value with the least error while the others stay, until none changes. The error is the sum,
//! over the claims of the fit, of the squared logarithm of ours / paper. The search uses only the
//! runs of these claims; all other values are held out.

use super::{Claim, ClaimsError, ClaimsFile, Kind, OWN_CHANNEL, Options, Under, load};
use crate::model::{FitRow, FitTable, SensitivityRow};
use crate::runner::{Outcome, Watch, run_all};
use crate::stats::{Summary, mean};
use justfull_run::results::RunResult;
use justfull_scenario::{Job, Overrides, Scenario, Setting, library};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The parameters of a fit and its targets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Keys of the target claims: values of one method at one point.
    pub claims: Vec<String>,
    /// Seeds of the search.
    pub seeds: u32,
    /// Maximum number of rounds over all parameters.
    pub rounds: u32,
    /// The parameters.
    pub parameter: Vec<FitParameter>,
}

/// A parameter and its possible values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitParameter {
    /// Its description.
    pub name: String,
    /// A description of the scenarios' own value.
    pub default: String,
    /// The other values.
    pub values: Vec<FitValue>,
}

/// A value of a parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitValue {
    /// Its description.
    pub name: String,
    /// Settings at every point.
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
    /// Settings at a point.
    #[serde(default)]
    pub at: BTreeMap<String, BTreeMap<String, toml::Value>>,
}

/// For each parameter the index of its value, 0 for the default.
type Choice = Vec<usize>;

/// The scenario and point of a run.
type Place = (String, String);

/// A task: the choice, the place, the methods, and the number of seeds.
type Task = (Choice, Place, Vec<String>, u32);

/// Results of a task by method.
type ByMethod = BTreeMap<String, Vec<RunResult>>;

impl FitParameter {
    fn name_of(&self, value: usize) -> &str {
        value.checked_sub(1).map_or(&self.default, |i| &self.values[i].name)
    }
}

impl Fit {
    /// The settings of `choice` at `point`.
    fn settings(&self, choice: &Choice, point: &str) -> Result<Vec<Setting>, ClaimsError> {
        let mut settings = Vec::new();
        for (parameter, value) in self.parameter.iter().zip(choice) {
            let Some(value) = value.checked_sub(1).map(|i| &parameter.values[i]) else { continue };
            for (path, value) in value.set.iter().chain(value.at.get(point).into_iter().flatten()) {
                let setting = Setting::new(path, value.clone());
                settings.push(setting.map_err(ClaimsError::Unknown)?);
            }
        }
        Ok(settings)
    }
}

/// The runs of a fit.
struct Search<'a> {
    file: &'a ClaimsFile,
    fit: &'a Fit,
    targets: Vec<&'a Claim>,
    options: &'a Options,
    watch: &'a Watch,
    /// Values of the targets by choice.
    known: BTreeMap<Choice, Vec<f64>>,
}

/// Fits the scenarios of `paper` as its file of claims specifies.
///
/// # Errors
/// A paper whose file specifies no fit, a wrong scenario, or an interruption.
pub fn fit(
    paper: &str,
    options: &Options,
    watch: &Watch,
    announce: &mut dyn FnMut(u64, usize),
) -> Result<FitTable, ClaimsError> {
    let file = load(paper)?;
    let Some(fit) = &file.fit else {
        return Err(ClaimsError::Unknown(format!(
            "--fit: found {paper}, allowed is a paper whose file of claims has a fit: P06"
        )));
    };
    let targets = file.claim.iter().filter(|claim| fit.claims.contains(&claim.id)).collect();
    let mut search = Search { file: &file, fit, targets, options, watch, known: BTreeMap::new() };
    let best = search.descend(announce)?;
    let sensitivity = search.sensitivity(&best, announce)?;
    let rows = search.columns(&best, announce)?;
    let parameters = fit.parameter.iter().zip(&best).map(|(parameter, value)| {
        (parameter.name.clone(), parameter.default.clone(), parameter.name_of(*value).to_owned())
    });
    Ok(FitTable {
        paper: file.paper.clone(),
        parameters: parameters.collect(),
        targets: search.targets.iter().map(|claim| (claim.words_at(), claim.paper[0])).collect(),
        sensitivity,
        rows,
    })
}

/// The only point of the sweep of `claim`.
fn place(claim: &Claim) -> Option<Place> {
    match claim.intervals.as_deref() {
        Some([point]) => Some((claim.scenario.clone(), point.clone())),
        _ => None,
    }
}

impl Search<'_> {
    /// The choice with the least error.
    fn descend(&mut self, announce: &mut dyn FnMut(u64, usize)) -> Result<Choice, ClaimsError> {
        let mut best = vec![0; self.fit.parameter.len()];
        for _ in 0..self.fit.rounds {
            let before = best.clone();
            for i in 0..best.len() {
                let tried = self.around(&best, i);
                self.evaluate(&tried, announce)?;
                let error = |choice: &Choice| self.error(choice);
                let least = tried.iter().min_by(|a, b| error(a).total_cmp(&error(b)));
                best = least.cloned().unwrap_or(best);
            }
            if best == before {
                break;
            }
        }
        Ok(best)
    }

    /// `choice` with each value of parameter `i`.
    fn around(&self, choice: &Choice, i: usize) -> Vec<Choice> {
        let with = |value| {
            let mut changed = choice.clone();
            changed[i] = value;
            changed
        };
        (0..=self.fit.parameter[i].values.len()).map(with).collect()
    }

    /// Sum of the squared logarithms of ours / paper.
    fn error(&self, choice: &Choice) -> f64 {
        let ours = self.known.get(choice).into_iter().flatten();
        let error = |(ours, claim): (&f64, &&Claim)| (ours / claim.paper[0]).ln().powi(2);
        ours.zip(&self.targets).map(error).sum()
    }

    /// Runs the targets under each of `choices` whose values are unknown.
    fn evaluate(
        &mut self,
        choices: &[Choice],
        announce: &mut dyn FnMut(u64, usize),
    ) -> Result<(), ClaimsError> {
        let new: Vec<&Choice> = choices.iter().filter(|c| !self.known.contains_key(*c)).collect();
        let mut wanted: BTreeMap<Place, Vec<String>> = BTreeMap::new();
        for claim in &self.targets {
            let methods = wanted.entry(place(claim).unwrap_or_default()).or_default();
            if !methods.contains(&claim.method) {
                methods.push(claim.method.clone());
            }
        }
        let task = |choice: &Choice, (place, methods): (&Place, &Vec<String>)| -> Task {
            (choice.clone(), place.clone(), methods.clone(), self.fit.seeds)
        };
        let tasks: Vec<Task> =
            new.iter().flat_map(|choice| wanted.iter().map(|w| task(choice, w))).collect();
        let results = self.run(&tasks, announce)?;
        for choice in new {
            let value = |claim: &&Claim| {
                let at = place(claim).unwrap_or_default();
                let own = tasks.iter().zip(&results).find(|(t, _)| t.0 == *choice && t.1 == at);
                let runs = own.and_then(|(_, by)| by.get(&claim.method));
                let values = runs.into_iter().flatten().filter_map(|run| claim.metric.of(run));
                mean(&values.collect::<Vec<_>>()).unwrap_or(f64::NAN)
            };
            let values = self.targets.iter().map(value).collect();
            self.known.insert(choice.clone(), values);
        }
        Ok(())
    }

    /// Makes the runs of `tasks` in one batch.
    fn run(
        &self,
        tasks: &[Task],
        announce: &mut dyn FnMut(u64, usize),
    ) -> Result<Vec<ByMethod>, ClaimsError> {
        let scenarios = tasks.iter().map(|task| self.scenario(task));
        let scenarios: Vec<Scenario> = scenarios.collect::<Result<_, ClaimsError>>()?;
        let jobs: Vec<(usize, Job)> = scenarios
            .iter()
            .enumerate()
            .flat_map(|(i, scenario)| scenario.jobs().into_iter().map(move |job| (i, job)))
            .collect();
        let ms = jobs.iter().map(|(i, _)| scenarios[*i].base.duration.as_nanos() / 1_000_000);
        announce(ms.sum(), jobs.len());
        let list: Vec<(&Scenario, &Job)> =
            jobs.iter().map(|(i, job)| (&scenarios[*i], job)).collect();
        let mut results = vec![ByMethod::new(); tasks.len()];
        for ((i, job), outcome) in
            jobs.iter().zip(run_all(&list, self.options.threads, self.watch)?)
        {
            match outcome {
                Outcome::Done(run) => {
                    results[*i].entry(job.method.clone()).or_default().push(*run);
                }
                Outcome::Broken(invariant) => {
                    return Err(ClaimsError::Run(format!("a run broke: {invariant}")));
                }
                Outcome::Cancelled => return Err(ClaimsError::Cancelled),
            }
        }
        Ok(results)
    }

    fn scenario(&self, task: &Task) -> Result<Scenario, ClaimsError> {
        let (choice, (name, point), methods, seeds) = task;
        let period = usize::from(self.file.period.is_some());
        let case = self.file.case(name, OWN_CHANNEL, "", Under { world: period, switch: "" });
        let overrides = Overrides {
            set: self.fit.settings(choice, point)?,
            runs: Some(*seeds),
            sweep_values: Some(vec![toml::Value::String(point.clone())]),
            ..self.file.overrides(&case, methods, self.options)
        };
        let text = library::scenario(name).unwrap_or_default();
        let file = format!("scenarios/{name}.toml");
        Ok(Scenario::parse(text, Path::new(&file), self.options.data_dir.clone(), overrides)?)
    }

    /// The effect of each value of each parameter on the targets while the others stay at `best`.
    fn sensitivity(
        &mut self,
        best: &Choice,
        announce: &mut dyn FnMut(u64, usize),
    ) -> Result<Vec<SensitivityRow>, ClaimsError> {
        let origin = vec![0; best.len()];
        let mut all = vec![origin.clone(), best.clone()];
        (0..best.len()).for_each(|i| all.extend(self.around(best, i)));
        self.evaluate(&all, announce)?;
        let row = |parameter: &str, value: &str, choice: &Choice| SensitivityRow {
            parameter: parameter.into(),
            value: value.into(),
            values: self.known[choice].clone(),
            error: self.error(choice),
        };
        let mut rows = vec![row("all as in the scenarios", "", &origin), row("fitted", "", best)];
        for (i, parameter) in self.fit.parameter.iter().enumerate() {
            for (value, choice) in self.around(best, i).iter().enumerate() {
                if choice != best {
                    rows.push(row(&parameter.name, parameter.name_of(value), choice));
                }
            }
        }
        Ok(rows)
    }

    /// All claims of one value of one method at one point, with the scenarios' settings and with
    /// `best`.
    fn columns(
        &self,
        best: &Choice,
        announce: &mut dyn FnMut(u64, usize),
    ) -> Result<Vec<FitRow>, ClaimsError> {
        let is_value = |claim: &&Claim| {
            claim.kind == Kind::Range && claim.paper.len() == 1 && place(claim).is_some()
        };
        let claims: Vec<&Claim> = self.file.claim.iter().filter(is_value).collect();
        let mut places: Vec<Place> = claims.iter().filter_map(|claim| place(claim)).collect();
        places.sort_unstable();
        places.dedup();
        let seeds = self.file.runs(self.options);
        let origin = vec![0; best.len()];
        let tasks: Vec<Task> = [&origin, best]
            .into_iter()
            .flat_map(|c| places.iter().map(|p| (c.clone(), p.clone(), Vec::new(), seeds)))
            .collect();
        let results = self.run(&tasks, announce)?;
        let row = |claim: &&Claim| {
            let of = |choice: &Choice| {
                let own = |t: &Task| t.0 == *choice && Some(&t.1) == place(claim).as_ref();
                let (_, by) = tasks.iter().zip(&results).find(|(task, _)| own(task))?;
                let runs = by.get(&claim.method)?;
                Summary::of(&runs.iter().filter_map(|r| claim.metric.of(r)).collect::<Vec<_>>())
            };
            let [low, high] = claim.band.unwrap_or_default();
            let meets = |s: Option<Summary>| s.is_some_and(|s| (low..=high).contains(&s.mean));
            let (ours, fitted) = (of(&origin), of(best));
            FitRow {
                what: claim.words(),
                point: place(claim).unwrap_or_default().1,
                unit: claim.metric.unit().into(),
                paper: claim.paper[0],
                meets: [meets(ours), meets(fitted)],
                ours,
                fitted,
                is_target: self.fit.claims.contains(&claim.id),
            }
        };
        Ok(claims.iter().map(row).collect())
    }
}
