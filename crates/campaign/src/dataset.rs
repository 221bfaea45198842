//! The folder of a campaign's results.
//!
//! ```text
//! campaign.json                                  the campaign's file
//! ledger.jsonl                                   what is made, and what has failed
//! parts/scenario=NAME/method=NAME/ID.parquet     rows of jobs of one scenario and method
//! ```

mod rows;

pub use rows::Row;

use crate::failure::Failure;
use crate::folder;
pub use crate::folder::campaign_of;
use crate::ledger::{self, FailedJob, Ledger, Line, PARTS, Part, Stretch};
use crate::part;
use crate::plan::{Campaign, Case, Id};
use justfull_lab::stats::Summary;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The state of one case.
#[derive(Clone, Debug, Default)]
struct Known {
    done: BTreeSet<u64>,
    failed: BTreeMap<u64, String>,
    /// The target's metric of each finished job, if the campaign has a target.
    values: BTreeMap<u64, f64>,
}

/// The progress of a campaign.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Cases.
    pub cases: usize,
    /// Planned jobs.
    pub jobs: u64,
    /// Jobs with rows.
    pub done: u64,
    /// Jobs that failed, each in words.
    pub failed: Vec<String>,
    /// Parts.
    pub parts: usize,
    /// Bytes of all parts.
    pub bytes: u64,
    /// Seconds of CPU that the jobs took.
    pub cpu_s: f64,
}

impl Tally {
    /// Jobs that still have to be made.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.jobs.saturating_sub(self.done + self.failed.len() as u64)
    }
}

/// A folder of results.
pub struct Dataset {
    path: PathBuf,
    ledger: Option<Ledger>,
    /// Metric and flow of the target, if there is one.
    target: Option<(String, String)>,
    known: BTreeMap<Id, Known>,
    parts: BTreeMap<String, Part>,
    /// Damaged lines of the ledger that are not repaired, since the folder is opened for reading.
    damaged: usize,
    /// True when the folder has a ledger.
    begun: bool,
    /// In words: damage that was repaired when it was opened, or has to be repaired.
    pub mended: Vec<String>,
}

impl Dataset {
    /// Opens the folder at `path` for writing, or makes it. Parts that a killed process left
    /// without a line in the ledger are adopted. If a part's file is missing or damaged, it is put
    /// aside, and its jobs are made again. Files that do not belong to the dataset stay as they
    /// are.
    ///
    /// # Errors
    /// The folder has other files and is no dataset, another process writes it, another version has
    /// made it, or the disk fails.
    pub fn open(path: &Path, campaign: &Campaign) -> Result<Self, Failure> {
        folder::admit(path)?;
        fs::create_dir_all(path).map_err(|what| Failure::disk(path, what))?;
        // The ledger is written first, since it marks the folder as a dataset.
        let (ledger, lines, damaged) = Ledger::open(path)?;
        fs::create_dir_all(path.join(PARTS)).map_err(|what| Failure::disk(path, what))?;
        let mut dataset = Self::of(path, target(campaign), lines);
        dataset.ledger = Some(ledger);
        if damaged > 0 {
            let lines = if damaged == 1 { "a line".into() } else { format!("{damaged} lines") };
            dataset.mended.push(format!(
                "{lines} of the ledger was damaged: its parts are found or made again"
            ));
        }
        dataset.mend()?;
        dataset.parts.values().for_each(|part| count(&mut dataset.known, part));
        dataset.read_values();
        folder::name(path, campaign)?;
        Ok(dataset)
    }

    /// Opens the folder at `path` for reading.
    ///
    /// # Errors
    /// Another version has made it, or it cannot be read.
    pub fn look(path: &Path, campaign: &Campaign) -> Result<Self, Failure> {
        let (lines, damaged) = Ledger::look(path)?;
        let mut dataset = Self::of(path, target(campaign), lines);
        dataset.damaged = damaged;
        dataset.mended.extend(dataset.damage().map(|lines| {
            format!("the ledger has {lines}: their parts are not counted; run it again")
        }));
        dataset.parts.values().for_each(|part| count(&mut dataset.known, part));
        dataset.read_values();
        Ok(dataset)
    }

    /// The parts and failed jobs in `lines`.
    fn of(path: &Path, target: Option<(String, String)>, lines: Vec<Line>) -> Self {
        let mut dataset = Self {
            path: path.into(),
            ledger: None,
            target,
            known: BTreeMap::new(),
            parts: BTreeMap::new(),
            damaged: 0,
            begun: !lines.is_empty(),
            mended: Vec::new(),
        };
        for line in lines {
            match line {
                Line::Begin { .. } => {}
                Line::Failed(job) => dataset.failed(job),
                Line::Lost { file } => {
                    dataset.parts.remove(&file);
                }
                Line::Part(part) => {
                    dataset.parts.insert(part.file.clone(), part);
                }
            }
        }
        dataset
    }

    fn failed(&mut self, job: FailedJob) {
        let known = self.known.entry(job.case).or_default();
        if !known.done.contains(&job.seed) {
            known.failed.insert(job.seed, job.error);
        }
    }

    /// Compares the files with the ledger.
    fn mend(&mut self) -> Result<(), Failure> {
        let found = folder::files(&self.path)?;
        let (mut lost, mut left) = (Vec::new(), Vec::new());
        for (name, part) in &self.parts {
            if found.get(name) != Some(&part.bytes) || !part::is_whole(&self.path, part) {
                lost.push(name.clone());
            }
        }
        for name in found.keys().filter(|name| !self.parts.contains_key(*name)) {
            left.push(name.clone());
        }
        let mut lines = Vec::new();
        for name in lost {
            if found.contains_key(&name) {
                folder::put_aside(&self.path, &name, "damaged")?;
            }
            self.mended.push(format!("{name} is missing or damaged: its jobs are made again"));
            self.parts.remove(&name);
            lines.push(Line::Lost { file: name });
        }
        let mut jobs: BTreeSet<(Id, u64)> = self.parts.values().flat_map(with_rows).collect();
        for name in left {
            if let Some(part) = part::read(&self.path, &name) {
                if with_rows(&part).any(|job| jobs.contains(&job)) {
                    folder::put_aside(&self.path, &name, "double")?;
                    self.mended.push(format!("{name} has jobs of other parts: put aside"));
                    continue;
                }
                jobs.extend(with_rows(&part));
                self.mended.push(format!("{name} was not in the ledger: taken"));
                lines.push(Line::Part(part.clone()));
                self.parts.insert(name, part);
            } else {
                self.mended.push(format!("{name} is no part of this dataset: left as it is"));
            }
        }
        match &mut self.ledger {
            Some(ledger) if !lines.is_empty() => ledger.append(&lines),
            _ => Ok(()),
        }
    }

    /// Writes `lines` to the ledger and counts them.
    pub(crate) fn keep(&mut self, lines: Vec<Line>) -> Result<(), Failure> {
        if let Some(ledger) = &mut self.ledger {
            ledger.append(&lines)?;
        }
        for line in lines {
            match line {
                Line::Part(part) => {
                    count(&mut self.known, &part);
                    self.read_values_of(&part);
                    self.parts.insert(part.file.clone(), part);
                }
                Line::Failed(job) => self.failed(job),
                Line::Begin { .. } | Line::Lost { .. } => {}
            }
        }
        Ok(())
    }

    /// Keeps the result of [`make_part`](crate::run::make_part), on whatever machine it was made.
    /// Puts the part aside if its jobs are in the dataset: a worker that seemed dead may return.
    ///
    /// # Errors
    /// It is no such result, or the disk fails.
    pub fn record(&mut self, lines: &str) -> Result<(), Failure> {
        let mut kept = Vec::new();
        for text in lines.lines() {
            match ledger::line(text) {
                Some(Line::Part(part)) if self.parts.contains_key(&part.file) => {}
                Some(Line::Part(part))
                    if with_rows(&part).any(|(case, seed)| self.is_done(case, seed)) =>
                {
                    folder::put_aside(&self.path, &part.file, "double")?;
                }
                Some(line @ (Line::Part(_) | Line::Failed(_))) => kept.push(line),
                _ => {
                    let allowed = "the result of a part's maker";
                    return Err(Failure::wrong(&self.path, "part", text, allowed));
                }
            }
        }
        if kept.is_empty() { Ok(()) } else { self.keep(kept) }
    }

    fn is_done(&self, case: Id, seed: u64) -> bool {
        self.known.get(&case).is_some_and(|known| known.done.contains(&seed))
    }

    /// Removes the failures of jobs, so that the jobs run again.
    pub fn retry(&mut self) {
        self.known.values_mut().for_each(|known| known.failed.clear());
    }

    fn read_values(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        parts.values().for_each(|part| self.read_values_of(part));
        self.parts = parts;
    }

    /// The target's metric of the jobs of `part`, from its line, or from its rows if its line has
    /// another target or none.
    fn read_values_of(&mut self, part: &Part) {
        let Some((metric, flow)) = &self.target else { return };
        let values = match part.target == self.target {
            true => part.values.clone(),
            false => part::values(&self.path, part, metric, flow).unwrap_or_default(),
        };
        for ((case, seed), value) in with_rows(part).zip(values) {
            self.known.entry(case).or_default().values.extend(value.map(|value| (seed, value)));
        }
    }

    /// Jobs that were made together, and the seconds of CPU that they took.
    pub(crate) fn costs(&self) -> impl Iterator<Item = (&[Stretch], f64)> {
        self.parts.values().map(|part| (&*part.jobs, part.cpu_s))
    }

    /// True if the folder is a dataset, even without a part.
    pub(crate) const fn is_begun(&self) -> bool {
        self.begun
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of seeds that `case` should have: the campaign's, or with a target the number that
    /// the known values require. The same values give the same number, at any time and with any
    /// number of threads.
    pub(crate) fn seeds_of(&self, campaign: &Campaign, case: &Case) -> u64 {
        let Some(target) = &campaign.target else { return campaign.seeds() };
        let mut seeds = target.least;
        loop {
            let open = self.open_seeds(campaign, case, seeds);
            let values = self.values(campaign, case, seeds);
            let half = half_width(&values);
            let wanted = target.share().unwrap_or(1.0);
            if !open.is_empty() || half <= wanted || seeds >= target.most {
                return seeds;
            }
            // The width falls with the root of the number; at most twice as many at once, for the
            // first width is itself uncertain.
            let more = (seeds as f64 * (half / wanted).powi(2)).ceil();
            seeds = (more.min(2.0 * seeds as f64) as u64).clamp(seeds + 1, target.most);
        }
    }

    /// Number of open jobs, and the seconds that they simulate. With a target there may be more
    /// when these are made.
    #[must_use]
    pub fn open_work(&self, campaign: &Campaign) -> (usize, f64) {
        campaign.cases.iter().fold((0, 0.0), |(jobs, all_s), case| {
            let open = self.open_seeds(campaign, case, self.seeds_of(campaign, case)).len();
            (jobs + open, all_s + open as f64 * campaign.duration_s(case))
        })
    }

    /// The first `seeds` seeds of `case` that are neither done nor failed.
    pub(crate) fn open_seeds(&self, campaign: &Campaign, case: &Case, seeds: u64) -> Vec<u64> {
        let all = campaign.first_seed..campaign.first_seed + seeds;
        match self.known.get(&case.id) {
            None => all.collect(),
            Some(known) => all
                .filter(|seed| !known.done.contains(seed) && !known.failed.contains_key(seed))
                .collect(),
        }
    }

    /// The target's metric of the first `seeds` seeds of `case`.
    pub(crate) fn values(&self, campaign: &Campaign, case: &Case, seeds: u64) -> Vec<f64> {
        let all = campaign.first_seed..campaign.first_seed + seeds;
        let known = self.known.get(&case.id);
        known.map_or_else(Vec::new, |known| known.values.range(all).map(|(_, v)| *v).collect())
    }

    /// The damaged lines of the ledger in words, if there are any.
    fn damage(&self) -> Option<String> {
        match self.damaged {
            0 => None,
            1 => Some("a line that is damaged".into()),
            lines => Some(format!("{lines} lines that are damaged")),
        }
    }

    /// Refuses a ledger with damaged lines, since the missing parts are unknown.
    fn check_ledger(&self) -> Result<(), Failure> {
        let Some(lines) = self.damage() else { return Ok(()) };
        let (file, allowed) = (self.path.join(ledger::NAME), "a whole ledger; run it again");
        Err(Failure::wrong(&file, "", &lines, allowed))
    }

    fn damaged_part(&self, part: &Part) -> Failure {
        let (file, allowed) = (self.path.join(&part.file), "a whole part; run it again");
        Failure::wrong(&file, "", "other content than was written", allowed)
    }

    /// The files of all parts, after a check that they are unchanged.
    ///
    /// # Errors
    /// A file has changed, or a line of the ledger is damaged.
    pub fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        self.check_ledger()?;
        let whole = |part: &Part| match part::is_whole(&self.path, part) {
            true => Ok(self.path.join(&part.file)),
            false => Err(self.damaged_part(part)),
        };
        self.parts.values().map(whole).collect()
    }

    /// The progress of `campaign`.
    #[must_use]
    pub fn tally(&self, campaign: &Campaign) -> Tally {
        let mut tally = Tally {
            cases: campaign.cases.len(),
            parts: self.parts.len(),
            bytes: self.parts.values().fold(0, |sum, part| sum.saturating_add(part.bytes)),
            // From zero: the sum of nothing would be -0.
            cpu_s: self.parts.values().fold(0.0, |sum, part| sum + part.cpu_s),
            ..Tally::default()
        };
        for case in &campaign.cases {
            let seeds = self.seeds_of(campaign, case);
            let wanted = campaign.first_seed..campaign.first_seed + seeds;
            tally.jobs += seeds;
            let Some(known) = self.known.get(&case.id) else { continue };
            tally.done += known.done.range(wanted.clone()).count() as u64;
            let name = &campaign.scenarios[case.scenario].name;
            tally.failed.extend(known.failed.range(wanted).map(|(seed, error)| {
                format!("{name}: {}, point {}, seed {seed}: {error}", case.method, case.point)
            }));
        }
        tally
    }
}

/// Metric and flow of the target of `campaign`.
fn target(campaign: &Campaign) -> Option<(String, String)> {
    campaign.target.as_ref().map(|target| (target.metric.clone(), target.flow.clone()))
}

/// The jobs of `part` that have rows, in their order.
fn with_rows(part: &Part) -> impl Iterator<Item = (Id, u64)> {
    part.each().filter(|(_, _, has_rows)| *has_rows).map(|(case, seed, _)| (case, seed))
}

/// Adds the jobs of `part` to `known`.
fn count(known: &mut BTreeMap<Id, Known>, part: &Part) {
    for (case, seed) in with_rows(part) {
        let known = known.entry(case).or_default();
        known.done.insert(seed);
        known.failed.remove(&seed);
    }
    for FailedJob { case, seed, error } in &part.failed {
        let known = known.entry(*case).or_default();
        if !known.done.contains(seed) {
            known.failed.insert(*seed, error.clone());
        }
    }
}

/// Half width of the interval as a part of the mean; infinite while unknown.
fn half_width(values: &[f64]) -> f64 {
    match Summary::of(values).and_then(|summary| Some((summary.ci95?, summary.mean.abs()))) {
        Some((0.0, _)) => 0.0,
        Some((half, mean)) if mean > 0.0 => half / mean,
        _ => f64::INFINITY,
    }
}
