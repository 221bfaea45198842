//! The folder of a campaign's results.
//!
//! ```text
//! ledger.jsonl                                       what is made, and what has failed
//! parts/scenario=NAME/method=NAME/JOB.parquet        rows of jobs with successive seeds
//! ```

use crate::failure::Failure;
use crate::ledger::{Ledger, Line, Part};
use crate::part;
use crate::plan::{Campaign, Case};
use justfull_lab::stats::Summary;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What is known of one case.
#[derive(Clone, Debug, Default)]
struct Known {
    done: BTreeSet<u64>,
    failed: BTreeMap<u64, String>,
    values: BTreeMap<u64, f64>,
}

/// How far a campaign is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Cases.
    pub cases: usize,
    /// Jobs that are wanted.
    pub jobs: u64,
    /// Jobs with rows.
    pub done: u64,
    /// Jobs that failed, each in words.
    pub failed: Vec<String>,
    /// Parts.
    pub parts: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Seconds of CPU that the jobs took.
    pub cpu_s: f64,
}

impl Tally {
    /// Jobs that are still to be made.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.jobs.saturating_sub(self.done + self.failed.len() as u64)
    }
}

/// A folder of results.
pub struct Dataset {
    path: PathBuf,
    ledger: Option<Ledger>,
    known: BTreeMap<String, Known>,
    parts: BTreeMap<String, Part>,
    /// What was mended when it was opened, in words.
    pub mended: Vec<String>,
}

impl Dataset {
    /// Opens the folder at `path` for writing, or makes it. Parts that a killed process left
    /// without a line in the ledger are taken; those whose files are missing or damaged are put
    /// aside, and their jobs are made again.
    ///
    /// # Errors
    /// When another process writes it, another version has made it, or the disk fails.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(path.join("parts")).map_err(|what| Failure::disk(path, what))?;
        let (ledger, lines) = Ledger::open(path)?;
        let mut dataset = Self::of(path, lines);
        dataset.ledger = Some(ledger);
        dataset.mend()?;
        Ok(dataset)
    }

    /// Looks at the folder at `path`.
    ///
    /// # Errors
    /// When another version has made it, or it cannot be read.
    pub fn look(path: &Path) -> Result<Self, Failure> {
        Ok(Self::of(path, Ledger::look(path)?))
    }

    fn of(path: &Path, lines: Vec<Line>) -> Self {
        let mut dataset = Self {
            path: path.into(),
            ledger: None,
            known: BTreeMap::new(),
            parts: BTreeMap::new(),
            mended: Vec::new(),
        };
        lines.into_iter().for_each(|line| dataset.note(line));
        dataset
    }

    fn note(&mut self, line: Line) {
        match line {
            Line::Begin { .. } => {}
            Line::Failed { case, seed, error } => {
                self.known.entry(case).or_default().failed.insert(seed, error);
            }
            Line::Lost { file } => {
                if let Some(part) = self.parts.remove(&file)
                    && let Some(known) = self.known.get_mut(&part.case)
                {
                    for seed in part.from..=part.to {
                        known.done.remove(&seed);
                        known.failed.remove(&seed);
                        known.values.remove(&seed);
                    }
                }
            }
            Line::Part(part) => {
                let known = self.known.entry(part.case.clone()).or_default();
                known.failed.extend(part.failed.clone());
                let seeds = (part.from..=part.to).filter(|seed| !part.failed.contains_key(seed));
                let seeds: Vec<u64> = seeds.collect();
                for (seed, value) in seeds.iter().zip(&part.values) {
                    known.values.extend(value.map(|value| (*seed, value)));
                }
                known.done.extend(seeds);
                self.parts.insert(part.file.clone(), part);
            }
        }
    }

    /// Compares the files with the ledger.
    fn mend(&mut self) -> Result<(), Failure> {
        let found = files(&self.path)?;
        let (mut lost, mut left) = (Vec::new(), Vec::new());
        for (name, part) in &self.parts {
            if found.get(name) != Some(&part.bytes) || !part::is_whole(&self.path, part) {
                lost.push(name.clone());
            }
        }
        for name in found.keys().filter(|name| !self.parts.contains_key(*name)) {
            left.push(name.clone());
        }
        for name in &lost {
            if found.contains_key(name) {
                self.put_aside(name)?;
            }
            self.mended.push(format!("{name} is missing or damaged: its jobs are made again"));
        }
        for name in left {
            let place = self.path.join(&name);
            if name.rsplit('/').next().is_some_and(|file| file.starts_with('.')) {
                fs::remove_file(&place).map_err(|what| Failure::disk(&place, what))?;
            } else if !name.ends_with(".parquet") {
                continue;
            } else if let Some(part) = part::read(&self.path, &name) {
                self.mended.push(format!("{name} was not in the ledger: taken"));
                self.keep(vec![Line::Part(part)])?;
            } else {
                self.put_aside(&name)?;
                self.mended.push(format!("{name} is no whole part: put aside"));
            }
        }
        let lines: Vec<Line> = lost.into_iter().map(|file| Line::Lost { file }).collect();
        if lines.is_empty() { Ok(()) } else { self.keep(lines) }
    }

    fn put_aside(&self, name: &str) -> Result<(), Failure> {
        let place = self.path.join(name);
        fs::rename(&place, place.with_extension("parquet.damaged"))
            .map_err(|what| Failure::disk(&place, what))
    }

    /// Writes `lines` to the ledger and counts them.
    pub(crate) fn keep(&mut self, lines: Vec<Line>) -> Result<(), Failure> {
        if let Some(ledger) = &mut self.ledger {
            ledger.append(&lines)?;
        }
        lines.into_iter().for_each(|line| self.note(line));
        Ok(())
    }

    /// Keeps what [`make_part`](crate::run::make_part) returned, wherever it was made.
    ///
    /// # Errors
    /// When it is nothing of that kind, or the disk fails.
    pub fn record(&mut self, lines: &str) -> Result<(), Failure> {
        let read = |line: &str| match serde_json::from_str(line) {
            Ok(line @ (Line::Part(_) | Line::Failed { .. })) => Ok(line),
            _ => Err(Failure::wrong(&self.path, "part", line, "what a part's maker returned")),
        };
        let lines = lines.lines().map(read).collect::<Result<Vec<_>, _>>()?;
        if lines.is_empty() { Ok(()) } else { self.keep(lines) }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Seeds that `case` should have: those of the campaign, or with a target as many as what is
    /// known of it asks for. The same values give the same number, so that it does not matter when
    /// and by how many threads they were made.
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

    /// Number of jobs of `case` that are open.
    #[must_use]
    pub fn open_jobs(&self, campaign: &Campaign, case: &Case) -> usize {
        self.open_seeds(campaign, case, self.seeds_of(campaign, case)).len()
    }

    /// The first `seeds` seeds of `case` that are neither done nor failed.
    pub(crate) fn open_seeds(&self, campaign: &Campaign, case: &Case, seeds: u64) -> Vec<u64> {
        let all = campaign.first_seed..campaign.first_seed + seeds;
        match self.known.get(&case.id.to_string()) {
            None => all.collect(),
            Some(known) => all
                .filter(|seed| !known.done.contains(seed) && !known.failed.contains_key(seed))
                .collect(),
        }
    }

    /// The target's metric of the first `seeds` seeds of `case`.
    pub(crate) fn values(&self, campaign: &Campaign, case: &Case, seeds: u64) -> Vec<f64> {
        let all = campaign.first_seed..campaign.first_seed + seeds;
        let known = self.known.get(&case.id.to_string());
        known.map_or_else(Vec::new, |known| known.values.range(all).map(|(_, v)| *v).collect())
    }

    /// How far `campaign` is.
    #[must_use]
    pub fn tally(&self, campaign: &Campaign) -> Tally {
        let mut tally = Tally {
            cases: campaign.cases.len(),
            parts: self.parts.len(),
            bytes: self.parts.values().map(|part| part.bytes).sum(),
            cpu_s: self.parts.values().map(|part| part.cpu_s).sum(),
            ..Tally::default()
        };
        for case in &campaign.cases {
            let seeds = self.seeds_of(campaign, case);
            let wanted = campaign.first_seed..campaign.first_seed + seeds;
            tally.jobs += seeds;
            let Some(known) = self.known.get(&case.id.to_string()) else { continue };
            tally.done += known.done.range(wanted.clone()).count() as u64;
            let name = &campaign.scenarios[case.scenario].name;
            tally.failed.extend(known.failed.range(wanted).map(|(seed, error)| {
                format!("{name}: {}, point {}, seed {seed}: {error}", case.method, case.point)
            }));
        }
        tally
    }
}

/// Half width of the interval as a part of the mean; infinite as long as nothing is known.
fn half_width(values: &[f64]) -> f64 {
    match Summary::of(values).and_then(|summary| Some((summary.ci95?, summary.mean.abs()))) {
        Some((0.0, _)) => 0.0,
        Some((half, mean)) if mean > 0.0 => half / mean,
        _ => f64::INFINITY,
    }
}

/// Files below `parts` with their sizes, by their names from the dataset's folder.
fn files(path: &Path) -> Result<BTreeMap<String, u64>, Failure> {
    let mut found = BTreeMap::new();
    let mut folders = vec![path.join("parts")];
    while let Some(folder) = folders.pop() {
        let disk = |what| Failure::disk(&folder, what);
        for entry in fs::read_dir(&folder).map_err(disk)? {
            let entry = entry.map_err(disk)?;
            let about = entry.metadata().map_err(disk)?;
            if about.is_dir() {
                folders.push(entry.path());
            } else if let Ok(name) = entry.path().strip_prefix(path) {
                found.insert(name.to_string_lossy().into_owned(), about.len());
            }
        }
    }
    Ok(found)
}
