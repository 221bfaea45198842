//! Campaigns: made on this machine's threads, or part by part by others.

use crate::errors;
use justfull_campaign::run::{self, MOST};
use justfull_campaign::{Dataset, Failure};
use justfull_lab::runner::Watch;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// How long Python waits between two looks at its signals.
const LOOK: Duration = Duration::from_millis(50);

/// A campaign, and its dataset while it is written.
#[pyclass(frozen, module = "justfull._native")]
pub(crate) struct Campaign {
    campaign: Arc<justfull_campaign::Campaign>,
    path: PathBuf,
    dataset: Arc<Mutex<Option<Dataset>>>,
}

impl Campaign {
    fn dataset(&self) -> MutexGuard<'_, Option<Dataset>> {
        self.dataset.lock().unwrap_or_else(|e| e.into_inner())
    }
}

fn not_open() -> PyErr {
    PyRuntimeError::new_err("the dataset is not open")
}

#[pymethods]
impl Campaign {
    /// Reads the campaign in `file`; its dataset is in the folder `out`.
    #[new]
    #[pyo3(signature = (file, out, data=None))]
    fn new(py: Python<'_>, file: PathBuf, out: PathBuf, data: Option<PathBuf>) -> PyResult<Self> {
        let campaign = py
            .detach(|| justfull_campaign::Campaign::load(&file, data))
            .map_err(|failure| errors::campaign(py, &failure))?;
        Ok(Self { campaign: Arc::new(campaign), path: out, dataset: Arc::default() })
    }

    /// Short name.
    #[getter]
    fn name(&self) -> &str {
        &self.campaign.name
    }

    /// Most seeds of a part.
    #[classattr]
    const MOST_SEEDS: u64 = MOST;

    /// Opens the dataset for writing. Returns what was mended.
    fn open(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let opened = py.detach(|| Dataset::open(&self.path));
        let dataset = opened.map_err(|failure| errors::campaign(py, &failure))?;
        let mended = dataset.mended.clone();
        *self.dataset() = Some(dataset);
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
            None => Dataset::look(&self.path)
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

    /// Stretches of open jobs: index of the case, first and last seed.
    fn stretches(&self) -> PyResult<Vec<(usize, u64, u64)>> {
        let guard = self.dataset();
        let dataset = guard.as_ref().ok_or_else(not_open)?;
        Ok(run::open(&self.campaign, dataset))
    }

    /// Makes a part. Returns what `record` wants, and the seconds of CPU of a job.
    fn make_part(
        &self,
        py: Python<'_>,
        case: usize,
        first: u64,
        last: u64,
    ) -> PyResult<(String, f64)> {
        let watch = Watch::default();
        py.detach(|| run::make_part(&self.campaign, &self.path, (case, first, last), &watch))
            .map_err(|failure| errors::campaign(py, &failure))
    }

    /// Keeps what `make_part` returned, here or elsewhere.
    fn record(&self, py: Python<'_>, lines: &str) -> PyResult<()> {
        let mut guard = self.dataset();
        let dataset = guard.as_mut().ok_or_else(not_open)?;
        dataset.record(lines).map_err(|failure| errors::campaign(py, &failure))
    }

    /// Makes all that is open on `threads` threads of this machine. Ctrl-C ends it; finished jobs
    /// are kept.
    fn run(&self, py: Python<'_>, threads: usize) -> PyResult<()> {
        let watch = Arc::new(Watch::default());
        let (to, mut from) = channel::<Result<(), Failure>>();
        let (campaign, dataset) = (Arc::clone(&self.campaign), Arc::clone(&self.dataset));
        let its_watch = Arc::clone(&watch);
        std::thread::spawn(move || {
            let mut guard = dataset.lock().unwrap_or_else(|e| e.into_inner());
            if let Some(dataset) = guard.as_mut() {
                let made = run::run(&campaign, dataset, threads.max(1), &its_watch);
                drop(guard);
                // Nobody waits any more after an exception.
                let _ = to.send(made.map(drop));
            }
        });
        let mut signal = Ok(());
        loop {
            let from = &mut from;
            match py.detach(move || from.recv_timeout(LOOK)) {
                Ok(made) => {
                    signal?;
                    return made.map_err(|failure| errors::campaign(py, &failure));
                }
                Err(RecvTimeoutError::Timeout) if signal.is_ok() => {
                    signal = py.check_signals();
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
