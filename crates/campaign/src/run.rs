//! Makes the jobs that a dataset lacks, on several threads.

use crate::dataset::{Dataset, Tally};
use crate::failure::Failure;
use crate::ledger::{self, Line, Part};
use crate::part;
use crate::plan::Campaign;
use justfull_lab::model::Group;
use justfull_lab::runner::{self, Outcome, Watch};
use justfull_report::export::FlowRow;
use justfull_report::read;
use justfull_scenario::Job;
use justfull_sim::results::RunResult;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// CPU time that a part should take, in ns: short jobs share a part.
const PART_NS: u64 = 2_000_000_000;
/// Most jobs of a part; a bound on memory and on what a fault costs.
pub const MOST: u64 = 1000;

/// A stretch of successive open seeds of one case.
struct Stretch {
    case: usize,
    from: u64,
    to: u64,
}

/// What all threads share.
struct Shared<'a> {
    campaign: &'a Campaign,
    watch: &'a Watch,
    dataset: Mutex<&'a mut Dataset>,
    left: Mutex<Vec<Stretch>>,
    /// CPU time of a job of each case in ns; 0 before the first.
    job_ns: Vec<AtomicU64>,
    failure: Mutex<Option<Failure>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Makes what `dataset` lacks of `campaign`, on `threads` threads, until all is made or
/// `watch.cancel` is set. Finished jobs are kept in any case.
///
/// # Errors
/// The first failure of the disk.
pub fn run(
    campaign: &Campaign,
    dataset: &mut Dataset,
    threads: usize,
    watch: &Watch,
) -> Result<Tally, Failure> {
    let job_ns: Vec<AtomicU64> = campaign.cases.iter().map(|_| AtomicU64::new(0)).collect();
    let mut shared = Shared {
        campaign,
        watch,
        dataset: Mutex::new(dataset),
        left: Mutex::default(),
        job_ns,
        failure: Mutex::default(),
    };
    // With a target the values of a round say what the next one makes.
    loop {
        *locked(&shared.left) = stretches(campaign, &locked(&shared.dataset));
        if locked(&shared.left).is_empty() || watch.cancel.load(Ordering::Relaxed) {
            break;
        }
        std::thread::scope(|scope| {
            for _ in 1..threads.max(1) {
                scope.spawn(|| work(&shared));
            }
            work(&shared);
        });
        if let Some(failure) = locked(&shared.failure).take() {
            return Err(failure);
        }
    }
    let dataset = shared.dataset.get_mut().unwrap_or_else(|e| e.into_inner());
    Ok(dataset.tally(campaign))
}

/// All that is open, the first case last.
fn stretches(campaign: &Campaign, dataset: &Dataset) -> Vec<Stretch> {
    let mut all = Vec::new();
    for (index, case) in campaign.cases.iter().enumerate() {
        let seeds = dataset.seeds_of(campaign, case);
        for seed in dataset.open_seeds(campaign, case, seeds) {
            match all.last_mut() {
                Some(Stretch { case, to, .. }) if *case == index && *to + 1 == seed => *to = seed,
                _ => all.push(Stretch { case: index, from: seed, to: seed }),
            }
        }
    }
    all.reverse();
    all
}

impl Shared<'_> {
    /// Takes the next batch: as many seeds of a stretch as fit a part.
    fn next(&self) -> Option<Stretch> {
        let mut left = locked(&self.left);
        let stretch = left.last_mut()?;
        let taken = match self.job_ns[stretch.case].load(Ordering::Relaxed) {
            0 => 1,
            ns => (PART_NS / ns).clamp(1, MOST),
        };
        let to = stretch.to.min(stretch.from.saturating_add(taken - 1));
        let batch = Stretch { to, ..*stretch };
        if to == stretch.to {
            left.pop();
        } else {
            stretch.from = to + 1;
        }
        Some(batch)
    }
}

fn work(shared: &Shared<'_>) {
    while !shared.watch.cancel.load(Ordering::Relaxed) && locked(&shared.failure).is_none() {
        let Some(batch) = shared.next() else { return };
        if let Err(failure) = make(shared, &batch) {
            locked(&shared.failure).get_or_insert(failure);
            shared.watch.cancel.store(true, Ordering::Relaxed);
        }
    }
}

/// Seconds of CPU that this thread has taken.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Makes the jobs of `batch` and keeps them.
fn make(shared: &Shared<'_>, batch: &Stretch) -> Result<(), Failure> {
    let path = locked(&shared.dataset).path().to_path_buf();
    let (lines, job_ns) = part_of(shared.campaign, &path, batch, shared.watch)?;
    shared.job_ns[batch.case].fetch_max(job_ns, Ordering::Relaxed);
    if lines.is_empty() { Ok(()) } else { locked(&shared.dataset).keep(lines) }
}

/// Makes the jobs of `batch` and writes their part below `path`. Returns the lines for the ledger,
/// and the CPU time of a job in ns.
fn part_of(
    campaign: &Campaign,
    path: &Path,
    batch: &Stretch,
    watch: &Watch,
) -> Result<(Vec<Line>, u64), Failure> {
    let case = &campaign.cases[batch.case];
    let scenario = &campaign.scenarios[case.scenario];
    let jobs: Vec<Job> = (batch.from..=batch.to).map(|seed| case.of_seed(seed)).collect();
    let runs: Vec<_> = jobs.iter().map(|job| (scenario, job)).collect();
    let start = cpu_s();
    let outcomes = runner::run_all(&runs, 1, watch)?;
    let cpu_s = cpu_s() - start;
    let (mut failed, mut results, mut to) = (BTreeMap::new(), Vec::new(), None);
    for (job, outcome) in jobs.iter().zip(outcomes) {
        match outcome {
            Outcome::Done(result) => results.push(*result),
            Outcome::Broken(error) => {
                failed.insert(job.seed, error);
            }
            // It was ended, and so were those after it.
            Outcome::Cancelled => break,
        }
        to = Some(job.seed);
    }
    let Some(to) = to else { return Ok((Vec::new(), 0)) };
    let lines = if results.is_empty() {
        let line = |(seed, error)| Line::Failed { case: case.id.to_string(), seed, error };
        failed.into_iter().map(line).collect()
    } else {
        let part = Part {
            case: case.id.to_string(),
            from: batch.from,
            to,
            file: String::new(),
            bytes: 0,
            sha256: String::new(),
            cpu_s,
            failed,
            values: values(campaign, &results),
        };
        vec![Line::Part(part::write(path, campaign, case, results, part)?)]
    };
    Ok((lines, (cpu_s * 1e9) as u64 / (to - batch.from + 1) + 1))
}

/// What is open, for those who spread it themselves: index of the case, first and last seed.
#[must_use]
pub fn open(campaign: &Campaign, dataset: &Dataset) -> Vec<(usize, u64, u64)> {
    let all = stretches(campaign, dataset);
    all.into_iter().rev().map(|s| (s.case, s.from, s.to)).collect()
}

/// Makes the jobs of `case` with seeds `from` to `to` and writes their part into the dataset's
/// folder `path`, which may be shared with other machines. Returns what
/// [`Dataset::record`] wants, and the seconds of CPU of a job.
///
/// # Errors
/// The failure of the disk, or a case or seed that the campaign has not.
pub fn make_part(
    campaign: &Campaign,
    path: &Path,
    (case, from, to): (usize, u64, u64),
    watch: &Watch,
) -> Result<(String, f64), Failure> {
    if case >= campaign.cases.len() || from > to || to - from >= MOST {
        let found = format!("case {case}, seeds {from} to {to}");
        let allowed = format!("a case of the campaign, 1 to {MOST} seeds");
        return Err(Failure::wrong(path, "part", &found, &allowed));
    }
    let (lines, job_ns) = part_of(campaign, path, &Stretch { case, from, to }, watch)?;
    Ok((ledger::text(&lines), job_ns as f64 * 1e-9))
}

/// The target's metric of each result.
fn values(campaign: &Campaign, results: &[RunResult]) -> Vec<Option<f64>> {
    let Some(target) = &campaign.target else { return Vec::new() };
    let Ok(column) = read::column_of(&target.metric) else { return Vec::new() };
    let group = Group::default();
    let of = |run: &RunResult| {
        let flow = run.flows.iter().find(|flow| flow.name == target.flow)?;
        (column.value)(&FlowRow { group: &group, run, flow }).number()
    };
    results.iter().map(of).collect()
}
