//! Makes the missing jobs of a dataset, on several threads.

use crate::batch::{Batches, Which};
use crate::dataset::{Dataset, Tally};
use crate::failure::Failure;
use crate::ledger::{self, FailedJob, Line, MOST, Part, Stretch};
use crate::part;
use crate::plan::Campaign;
use justfull_base::Instant;
use justfull_lab::model::Group;
use justfull_lab::runner::{self, Outcome, Watch, Watched};
use justfull_report::export::FlowRow;
use justfull_report::read;
use justfull_run::results::RunResult;
use justfull_scenario::{Job, Scenario, ScenarioError};
use justfull_sim::Progress;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

/// CPU time of a part, in ns: short jobs share a part.
const PART_NS: u64 = 2_000_000_000;

/// State of all threads.
struct Shared<'a> {
    campaign: &'a Campaign,
    watch: &'a Watch,
    dataset: Mutex<&'a mut Dataset>,
    batches: Mutex<Batches>,
    failure: Mutex<Option<Failure>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Makes the missing jobs of `dataset`, without methods in Python, on `threads` threads, until all
/// are made or `watch.cancel` is set. Finished jobs are kept in any case.
///
/// # Errors
/// The first failure of the disk.
pub fn run(
    campaign: &Campaign,
    dataset: &mut Dataset,
    threads: usize,
    watch: &Watch,
) -> Result<Tally, Failure> {
    campaign.check_plugins()?;
    let batches = Mutex::new(Batches::new(campaign, dataset));
    let dataset = Mutex::new(dataset);
    let mut shared = Shared { campaign, watch, dataset, batches, failure: Mutex::default() };
    // With a target, the values of a round determine the jobs of the next one.
    while locked(&shared.batches).fill(campaign, &locked(&shared.dataset), Which::Native)
        && !watch.cancel.load(Ordering::Relaxed)
    {
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

fn work(shared: &Shared<'_>) {
    while !shared.watch.cancel.load(Ordering::Relaxed) && locked(&shared.failure).is_none() {
        let Some(batch) = locked(&shared.batches).next(PART_NS) else { return };
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
fn make(shared: &Shared<'_>, batch: &[Stretch]) -> Result<(), Failure> {
    let path = locked(&shared.dataset).path().to_path_buf();
    let (lines, cpu_s) = part_of(shared.campaign, &path, batch, shared.watch, &simulated)?;
    if lines.is_empty() {
        return Ok(());
    }
    locked(&shared.batches).took(shared.campaign, batch, cpu_s);
    locked(&shared.dataset).keep(lines)
}

/// Ends a run that takes too long.
struct Limited<'a> {
    watched: Watched<'a>,
    /// Time of this thread's CPU at which it ends, in seconds.
    end_s: f64,
    is_over: bool,
}

impl Progress for Limited<'_> {
    fn advanced(&mut self, now: Instant) -> bool {
        self.is_over |= cpu_s() > self.end_s;
        self.watched.advanced(now) && !self.is_over
    }
}

/// Executes a job and reports its progress; none if the progress ended it.
pub type Simulate<'a> = &'a (
        dyn Fn(&Scenario, &Job, &mut dyn Progress) -> Result<Option<RunResult>, ScenarioError>
            + Sync
    );

/// Executes the job of a shipped method.
fn simulated(
    scenario: &Scenario,
    job: &Job,
    progress: &mut dyn Progress,
) -> Result<Option<RunResult>, ScenarioError> {
    scenario.simulated(job, None, 1, progress)
}

/// Executes one job within the campaign's limit; none when it was cancelled.
fn within_limit(
    campaign: &Campaign,
    scenario: &Scenario,
    job: &Job,
    watch: &Watch,
    simulate: Simulate<'_>,
) -> Result<Option<RunResult>, ScenarioError> {
    let mut watched = Watched::new(watch);
    let Some(limit) = campaign.job_limit else { return simulate(scenario, job, &mut watched) };
    let end_s = cpu_s() + limit.as_secs_f64();
    let mut limited = Limited { watched, end_s, is_over: false };
    let result = simulate(scenario, job, &mut limited)?;
    if !limited.is_over {
        return Ok(result);
    }
    let broken = Some(format!("it took more than job_limit, {limit} of CPU"));
    Ok(Some(RunResult { broken, ..RunResult::default() }))
}

/// Makes the jobs of `batch` and writes their part below `path`. Returns the lines for the ledger,
/// and the seconds of CPU that they took.
fn part_of(
    campaign: &Campaign,
    path: &Path,
    batch: &[Stretch],
    watch: &Watch,
    simulate: Simulate<'_>,
) -> Result<(Vec<Line>, f64), Failure> {
    let mut jobs: Vec<(usize, &Scenario, Job)> = Vec::new();
    for (n, stretch) in batch.iter().enumerate() {
        let Some(index) = campaign.index(stretch.case) else {
            let found = format!("case {}", stretch.case);
            let allowed = format!("a case of {} as it is here", campaign.file.display());
            return Err(Failure::wrong(path, "part", &found, &allowed));
        };
        let case = &campaign.cases[index];
        let scenario = &campaign.scenarios[case.scenario];
        jobs.extend((stretch.from..=stretch.to).map(|seed| (n, scenario, case.of_seed(seed))));
    }
    let runs: Vec<_> = jobs.iter().map(|(_, scenario, job)| (*scenario, job)).collect();
    let start = cpu_s();
    let outcomes = runner::run_by(&runs, 1, watch, |scenario, job| {
        within_limit(campaign, scenario, job, watch, simulate)
    })?;
    let cpu_s = cpu_s() - start;
    let (mut done, mut failed, mut results) = (Vec::<Stretch>::new(), Vec::new(), Vec::new());
    for ((n, _, job), outcome) in jobs.iter().zip(outcomes) {
        let stretch = batch[*n];
        // It was ended, and so were the jobs after it.
        if outcome == Outcome::Cancelled {
            break;
        }
        if done.len() == *n {
            done.push(stretch);
            results.push(Vec::new());
        }
        done[*n].to = job.seed;
        match outcome {
            Outcome::Broken(error) => {
                failed.push(FailedJob { case: stretch.case, seed: job.seed, error });
            }
            Outcome::Done(result) => results[*n].push(*result),
            Outcome::Cancelled => {}
        }
    }
    if results.iter().all(Vec::is_empty) {
        return Ok((failed.into_iter().map(Line::Failed).collect(), cpu_s));
    }
    let part = Part {
        jobs: done,
        file: String::new(),
        bytes: 0,
        sha256: String::new(),
        cpu_s,
        failed,
        target: campaign.target.as_ref().map(|t| (t.metric.clone(), t.flow.clone())),
        values: values(campaign, results.iter().flatten()),
    };
    Ok((vec![Line::Part(part::write(path, campaign, results, part)?)], cpu_s))
}

/// Makes the jobs of `batch` and writes their part into the dataset's folder `path`, which other
/// machines may share. `simulate` executes jobs of methods in Python. Returns the input of
/// [`Dataset::record`], and the seconds of CPU that the jobs took.
///
/// # Errors
/// The disk fails, or the campaign does not have a case.
pub fn make_part(
    campaign: &Campaign,
    path: &Path,
    batch: &[Stretch],
    watch: &Watch,
    simulate: Option<Simulate<'_>>,
) -> Result<(String, f64), Failure> {
    campaign.check_plugins()?;
    let jobs = |stretch: &Stretch| stretch.to.checked_sub(stretch.from)?.checked_add(1);
    let all = batch.iter().try_fold(0_u64, |all, stretch| all.checked_add(jobs(stretch)?));
    if !all.is_some_and(|all| (1..=MOST).contains(&all)) {
        let found = all.map_or_else(|| "seeds that end before".into(), |all| all.to_string());
        let found = format!("{found} jobs");
        return Err(Failure::wrong(path, "part", &found, &format!("1 to {MOST} jobs")));
    }
    let (lines, cpu_s) = part_of(campaign, path, batch, watch, simulate.unwrap_or(&simulated))?;
    Ok((ledger::text(&lines), cpu_s))
}

/// The input of [`Dataset::record`] for the jobs of `batch`, which failed for `why`.
#[must_use]
pub fn failed(batch: &[Stretch], why: &str) -> String {
    let job = |case, seed| Line::Failed(FailedJob { case, seed, error: why.into() });
    let jobs = |stretch: &Stretch| {
        let case = stretch.case;
        (stretch.from..=stretch.to).map(move |seed| job(case, seed))
    };
    ledger::text(&batch.iter().flat_map(jobs).collect::<Vec<_>>())
}

/// The target's metric of each of `results`.
fn values<'a>(
    campaign: &Campaign,
    results: impl Iterator<Item = &'a RunResult>,
) -> Vec<Option<f64>> {
    let Some(target) = &campaign.target else { return Vec::new() };
    let Ok(column) = read::column_of(&target.metric) else { return Vec::new() };
    let group = Group::default();
    let of = |run: &RunResult| {
        let flow = run.flows.iter().find(|flow| flow.name == target.flow)?;
        (column.value)(&FlowRow { group: &group, run, flow }).number()
    };
    results.map(of).collect()
}
