//! Campaigns: made on this machine's threads, or part by part by others.

use crate::errors;
use crate::own::Own;
use crate::run::{job_in_python, tell};
use justfull_campaign::{Batches, Dataset, Failure, Id, Stretch, Which, report, run};
use justfull_lab::runner::Watch;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rustix::process::{
    Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal,
};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Time between two checks of Python's signals.
const LOOK: Duration = Duration::from_millis(50);

/// A campaign, and its dataset while it is written.
#[pyclass(frozen, module = "justfull._native")]
pub(crate) struct Campaign {
    campaign: Arc<justfull_campaign::Campaign>,
    path: PathBuf,
    dataset: Arc<Mutex<Option<Dataset>>>,
    batches: Mutex<Option<Batches>>,
}

/// A case by its name, and its first and last seed.
type Jobs = (String, u64, u64);

/// `jobs` in the form of the dataset.
fn stretches(jobs: Vec<Jobs>) -> PyResult<Vec<Stretch>> {
    let stretch = |(case, from, to): Jobs| {
        case.parse::<Id>().map(|case| Stretch { case, from, to }).map_err(PyValueError::new_err)
    };
    jobs.into_iter().map(stretch).collect()
}

impl Campaign {
    fn dataset(&self) -> MutexGuard<'_, Option<Dataset>> {
        self.dataset.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Makes the kernel end this process when its parent process `parent` ends.
#[pyfunction]
pub(crate) fn die_with_parent(parent: i32) -> PyResult<()> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    // The parent may have ended before the call.
    match getppid().is_some_and(|now| now.as_raw_pid() == parent) {
        true => Ok(()),
        false => Err(PyRuntimeError::new_err("the parent has ended")),
    }
}

/// Makes this process the parent of its children's orphans.
#[pyfunction]
pub(crate) fn adopt_orphans() -> PyResult<()> {
    set_child_subreaper(Some(getpid())).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

fn not_open() -> PyErr {
    PyRuntimeError::new_err("the dataset is not open")
}

#[pymethods]
impl Campaign {
    /// Reads the campaign in `file`; its dataset is in the folder `out`. With `plugins` it loads
    /// them.
    #[new]
    #[pyo3(signature = (file, out, data=None, plugins=false))]
    fn new(
        py: Python<'_>,
        file: PathBuf,
        out: PathBuf,
        data: Option<PathBuf>,
        plugins: bool,
    ) -> PyResult<Self> {
        let read = || {
            let mut campaign = justfull_campaign::Campaign::load(&file, data)?;
            if plugins {
                campaign.load_plugins()?;
            }
            Ok(campaign)
        };
        let campaign = py.detach(read).map_err(|failure| errors::campaign(py, &failure))?;
        let (dataset, batches) = (Arc::default(), Mutex::default());
        Ok(Self { campaign: Arc::new(campaign), path: out, dataset, batches })
    }

    /// Short name.
    #[getter]
    fn name(&self) -> &str {
        &self.campaign.name
    }

    /// Its methods in Python: name, file, class and base of each.
    #[getter]
    fn python(&self) -> Vec<(String, PathBuf, String, String)> {
        let python = self.campaign.python.iter();
        python
            .map(|(name, of)| (name.clone(), of.file.clone(), of.class.clone(), of.base.clone()))
            .collect()
    }

    /// The libraries of its methods with a plugin.
    #[getter]
    fn plugins(&self) -> Vec<PathBuf> {
        self.campaign.plugins.values().map(|of| of.file.clone()).collect()
    }

    /// Most seconds of CPU that a job may take.
    #[getter]
    fn job_limit_s(&self) -> Option<f64> {
        self.campaign.job_limit.map(|limit| limit.as_secs_f64())
    }

    /// Opens the dataset for writing, with `retry` to make failed jobs once more. Returns the
    /// mended parts in words.
    fn open(&self, py: Python<'_>, retry: bool) -> PyResult<Vec<String>> {
        let opened = py.detach(|| Dataset::open(&self.path, &self.campaign));
        let mut dataset = opened.map_err(|failure| errors::campaign(py, &failure))?;
        if retry {
            dataset.retry();
        }
        let mended = dataset.mended.clone();
        *self.dataset() = Some(dataset);
        *self.batches.lock().unwrap_or_else(|e| e.into_inner()) = None;
        Ok(mended)
    }

    /// Closes the dataset.
    fn close(&self) {
        *self.dataset() = None;
    }

    /// How far it is.
    fn tally<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let guard = self.dataset();
        let tally = match &*guard {
            Some(dataset) => dataset.tally(&self.campaign),
            None => Dataset::look(&self.path, &self.campaign)
                .map_err(|failure| errors::campaign(py, &failure))?
                .tally(&self.campaign),
        };
        let told = PyDict::new(py);
        told.set_item("cases", tally.cases)?;
        told.set_item("jobs", tally.jobs)?;
        told.set_item("done", tally.done)?;
        told.set_item("open", tally.open())?;
        told.set_item("failed", tally.failed)?;
        told.set_item("parts", tally.parts)?;
        told.set_item("bytes", tally.bytes)?;
        told.set_item("cpu_s", tally.cpu_s)?;
        Ok(told)
    }

    /// Collects open jobs for `next_batch`; False if there are none. With `python`, only methods in
    /// Python. With a target, the jobs recorded since the last call decide.
    fn fill(&self, py: Python<'_>, python: bool) -> PyResult<bool> {
        let which = if python { Which::Python } else { Which::All };
        py.detach(|| {
            let guard = self.dataset();
            let dataset = guard.as_ref()?;
            let mut batches = self.batches.lock().unwrap_or_else(|e| e.into_inner());
            let batches = batches.get_or_insert_with(|| Batches::new(&self.campaign, dataset));
            Some(batches.fill(&self.campaign, dataset, which))
        })
        .ok_or_else(not_open)
    }

    /// The next batch, of about `part_s` seconds of CPU: for each case its name, first and last
    /// seed. None when all are taken.
    fn next_batch(&self, part_s: f64) -> Option<Vec<Jobs>> {
        let mut batches = self.batches.lock().unwrap_or_else(|e| e.into_inner());
        let batch = batches.as_mut()?.next((part_s * 1e9) as u64)?;
        Some(batch.iter().map(|s| (s.case.to_string(), s.from, s.to)).collect())
    }

    /// The jobs of `batch` took `cpu_s` seconds of CPU.
    fn took(&self, batch: Vec<Jobs>, cpu_s: f64) -> PyResult<()> {
        let batch = stretches(batch)?;
        let mut batches = self.batches.lock().unwrap_or_else(|e| e.into_inner());
        batches.as_mut().ok_or_else(not_open)?.took(&self.campaign, &batch, cpu_s);
        Ok(())
    }

    /// Jobs that are open, and the seconds that they simulate.
    fn open_work(&self) -> PyResult<(usize, f64)> {
        Ok(self.dataset().as_ref().ok_or_else(not_open)?.open_work(&self.campaign))
    }

    /// Jobs of `batch`, and the seconds that they simulate.
    fn work(&self, batch: Vec<Jobs>) -> PyResult<(u64, f64)> {
        let of = |(all, all_s): (u64, f64), stretch: &Stretch| {
            let jobs = stretch.to - stretch.from + 1;
            let index = self.campaign.index(stretch.case);
            let job_s = index.map_or(0.0, |i| self.campaign.duration_s(&self.campaign.cases[i]));
            (all + jobs, all_s + jobs as f64 * job_s)
        };
        Ok(stretches(batch)?.iter().fold((0, 0.0), of))
    }

    /// True when the campaign has all cases of `batch`.
    fn knows(&self, batch: Vec<Jobs>) -> PyResult<bool> {
        Ok(stretches(batch)?.iter().all(|stretch| self.campaign.index(stretch.case).is_some()))
    }

    /// Name of the method of `batch` if that is in Python.
    fn python_of(&self, batch: Vec<Jobs>) -> PyResult<Option<String>> {
        let batch = stretches(batch)?;
        let index = batch.first().and_then(|stretch| self.campaign.index(stretch.case));
        let case = index.map(|index| &self.campaign.cases[index]);
        let case = case.filter(|case| self.campaign.python_of(case).is_some());
        Ok(case.map(|case| case.method.clone()))
    }

    /// Makes a part of `batch`, with the algorithms `own` if it is of a method in Python. Returns
    /// what `record` wants, and the seconds of CPU that the jobs took.
    #[pyo3(signature = (batch, own=None))]
    fn make_part(
        &self,
        py: Python<'_>,
        batch: Vec<Jobs>,
        own: Option<Own>,
    ) -> PyResult<(String, f64)> {
        let (batch, watch) = (stretches(batch)?, Watch::default());
        let (campaign, path) = (&self.campaign, &self.path);
        let made = match own {
            None => py.detach(|| run::make_part(campaign, path, &batch, &watch, None)),
            Some(own) => run::make_part(
                campaign,
                path,
                &batch,
                &watch,
                Some(&|scenario, job, progress| job_in_python(&own, scenario, job, progress)),
            ),
        };
        made.map_err(|failure| errors::campaign(py, &failure))
    }

    /// The input of `record` for the jobs of `batch`, which failed for `why`.
    fn failed(&self, batch: Vec<Jobs>, why: &str) -> PyResult<String> {
        Ok(run::failed(&stretches(batch)?, why))
    }

    /// Keeps what `make_part` returned, here or elsewhere.
    fn record(&self, py: Python<'_>, lines: &str) -> PyResult<()> {
        let mut guard = self.dataset();
        let dataset = guard.as_mut().ok_or_else(not_open)?;
        dataset.record(lines).map_err(|failure| errors::campaign(py, &failure))
    }

    /// The files of all parts, after a check that they are unchanged.
    fn parts(&self, py: Python<'_>) -> PyResult<Vec<PathBuf>> {
        py.detach(|| Dataset::look(&self.path, &self.campaign)?.files())
            .map_err(|failure| errors::campaign(py, &failure))
    }

    /// Writes the page of the dataset and returns its file.
    #[pyo3(signature = (columns, against=None))]
    fn report(
        &self,
        py: Python<'_>,
        columns: Vec<String>,
        against: Option<&str>,
    ) -> PyResult<PathBuf> {
        let columns = report::columns(&self.campaign, &columns).map_err(|why| {
            let found = columns.join(", ");
            errors::campaign(
                py,
                &Failure::wrong(&self.campaign.file, "columns", &found, &why.to_string()),
            )
        })?;
        let mut names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        // The page's answer needs these too.
        for name in justfull_report::earlier::COLUMNS {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        py.detach(|| {
            let dataset = Dataset::look(&self.path, &self.campaign)?;
            let folder = dataset.rows(&self.campaign, &names)?;
            report::write(&dataset, &self.campaign, &folder, &columns, against)
        })
        .map_err(|failure| errors::campaign(py, &failure))
    }

    /// Makes all open jobs on `threads` threads of this machine. `progress` is called with finished
    /// runs and simulated seconds. Ctrl-C ends it; finished jobs are kept.
    #[pyo3(signature = (threads, progress=None))]
    fn run(&self, py: Python<'_>, threads: usize, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let watch = Arc::new(Watch::default());
        let (to, mut from) = channel::<Result<(), Failure>>();
        let (campaign, dataset) = (Arc::clone(&self.campaign), Arc::clone(&self.dataset));
        let its_watch = Arc::clone(&watch);
        std::thread::spawn(move || {
            let mut guard = dataset.lock().unwrap_or_else(|e| e.into_inner());
            if let Some(dataset) = guard.as_mut() {
                let made = run::run(&campaign, dataset, threads.max(1), &its_watch);
                drop(guard);
                // After an exception no receiver is left.
                let _ = to.send(made.map(drop));
            }
        });
        let mut signal = Ok(());
        loop {
            let from = &mut from;
            match py.detach(move || from.recv_timeout(LOOK)) {
                Ok(made) => {
                    signal?;
                    tell(py, progress.as_ref(), &watch)?;
                    return made.map_err(|failure| errors::campaign(py, &failure));
                }
                Err(RecvTimeoutError::Timeout) if signal.is_ok() => {
                    signal = py.check_signals().and_then(|()| tell(py, progress.as_ref(), &watch));
                    if signal.is_err() {
                        watch.cancel.store(true, Ordering::Relaxed);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(not_open()),
            }
        }
    }
}
