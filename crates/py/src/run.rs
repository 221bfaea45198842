//! Runs. Without Python's algorithms they have their own threads, while Python waits without its
//! lock, so that Ctrl-C works; otherwise they run in Python's own thread.

use crate::arrow;
use crate::errors;
use crate::own::{Own, Trouble};
use crate::results::{Records, Results};
use justfull_base::{Event, Instant, Packet};
use justfull_lab::model::Comparison;
use justfull_lab::runner::{self, Watch, Watched};
use justfull_report::export::RunFacts;
use justfull_report::export::records::{
    PACKET_COLUMNS, PacketRecord, PacketTap, SLOT_COLUMNS, SlotRecord, SlotTap,
};
use justfull_run::Tap;
use justfull_run::results::RunResult;
use justfull_scenario::{Job, ScenarioError};
use justfull_sim::{Progress, World};
use justfull_tcp::Segment;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Time between two checks of Python's signals.
const LOOK: Duration = Duration::from_millis(20);
/// Checks between two calls of the caller's progress.
const TELL: u32 = 5;

/// The records of single runs to keep.
#[derive(Clone, Copy)]
pub(crate) struct Keep {
    pub(crate) packets: bool,
    pub(crate) slots: bool,
}

/// Keeps the records of one run in memory.
struct Kept {
    packets: Option<(PacketTap, Vec<PacketRecord>)>,
    slots: Option<(SlotTap, Vec<SlotRecord>)>,
}

impl Tap for Kept {
    fn on_event(&mut self, now: Instant, event: &Event, _segment: Option<&Segment>) {
        if let Some((tap, records)) = &mut self.packets {
            records.extend(tap.on_event(now, event).copied());
        }
        if let Some((tap, records)) = &mut self.slots {
            records.extend(tap.on_event(now, event));
        }
    }

    fn delivered(&mut self, now: Instant, _left: Instant, packet: &Packet) {
        if let Some((tap, records)) = &mut self.packets {
            records.extend(tap.end(now, packet).copied());
        }
    }
}

/// A scenario and the inputs of its runs.
struct Work {
    scenario: Arc<justfull_scenario::Scenario>,
    keep: Keep,
    own: BTreeMap<String, Own>,
    trouble: Trouble,
    records: Mutex<Vec<(usize, Records)>>,
}

impl Work {
    fn one(
        &self,
        index: usize,
        job: &Job,
        progress: &mut dyn Progress,
    ) -> Result<Option<RunResult>, ScenarioError> {
        let change = |world: &mut _| {
            if let Some(own) = self.own.get(&job.method) {
                own.put_into(world, &self.trouble);
            }
        };
        if !self.keep.packets && !self.keep.slots {
            return Ok(self.scenario.built_by(job, change, World::new)?.run(progress));
        }
        let mut facts = None;
        let point = self.scenario.point(job.point).replace('=', " = ");
        let toml = self.scenario.job_toml(job)?;
        let mut kept = Kept { packets: None, slots: None };
        let result = self
            .scenario
            .built_by(job, change, |world| {
                let made = &*facts.insert(RunFacts::new(world, toml, point));
                kept.packets = self.keep.packets.then(|| (PacketTap::new(made), Vec::new()));
                kept.slots = self.keep.slots.then(|| (SlotTap::new(made), Vec::new()));
                World::tapped(world, &mut kept)
            })?
            .run(progress);
        if let (Some(_), Some(facts)) = (&result, facts) {
            let records = Records {
                packets: kept.packets.map(|(tap, mut records)| {
                    records.extend(tap.rest());
                    arrow::records(&PACKET_COLUMNS, &records, &facts)
                }),
                slots: kept
                    .slots
                    .map(|(_, records)| arrow::records(&SLOT_COLUMNS, &records, &facts)),
            };
            self.records.lock().unwrap_or_else(|e| e.into_inner()).push((index, records));
        }
        Ok(result)
    }
}

/// Follows a run in Python's own thread: it ends at Ctrl-C, or after a failure of the user's
/// algorithm.
struct InPython<'a> {
    progress: &'a mut dyn Progress,
    trouble: &'a Trouble,
}

impl Progress for InPython<'_> {
    fn advanced(&mut self, now: Instant) -> bool {
        let signals = Python::attach(|py| py.check_signals());
        if let Err(error) = signals {
            self.trouble.tell(error);
        }
        self.progress.advanced(now) && !self.trouble.is_told()
    }
}

/// Makes all runs of `scenario` on `threads` threads; in Python's own thread if it has algorithms
/// of the user. `progress` is called about ten times a second.
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Arc<justfull_scenario::Scenario>,
    threads: usize,
    progress: Option<&Py<PyAny>>,
    keep: Keep,
    own: BTreeMap<String, Own>,
) -> PyResult<Results> {
    let watch = Arc::new(Watch::default());
    let in_python = !own.is_empty();
    let work = Arc::new(Work {
        scenario: Arc::clone(scenario),
        keep,
        own,
        trouble: Trouble::default(),
        records: Mutex::default(),
    });
    let comparison = if in_python {
        runs_in_python(&work, &watch, progress)?
    } else {
        runs_beside_python(py, &work, &watch, threads.max(1), progress)?
    };
    let comparison = comparison.map_err(|error| errors::scenario(py, &error))?;
    let mut records = std::mem::take(&mut *work.records.lock().unwrap_or_else(|e| e.into_inner()));
    records.sort_by_key(|(index, _)| *index);
    let records = records.into_iter().map(|(_, records)| records).collect();
    Results::new(comparison, records)
}

/// Makes one job of a campaign with the algorithms `own`, in Python's own thread. An exception of
/// them breaks the run.
pub(crate) fn job_in_python(
    own: &Own,
    scenario: &justfull_scenario::Scenario,
    job: &Job,
    progress: &mut dyn Progress,
) -> Result<Option<RunResult>, ScenarioError> {
    let trouble = Trouble::default();
    let mut follower = InPython { progress, trouble: &trouble };
    let result = scenario
        .built_by(job, |world| own.put_into(world, &trouble), World::new)
        .map(|world| world.run(&mut follower));
    let Some(error) = trouble.take() else { return result };
    let broken = Some(Python::attach(|py| errors::with_line(py, &error)));
    Ok(Some(RunResult { broken, ..RunResult::default() }))
}

type Outcome = Result<Comparison, ScenarioError>;

fn runs_in_python(work: &Work, watch: &Watch, progress: Option<&Py<PyAny>>) -> PyResult<Outcome> {
    let outcome = runner::compare_by(&work.scenario, 1, watch, |i, job| {
        if work.trouble.is_told() {
            return Ok(None);
        }
        let mut watched = Watched::new(watch);
        let mut follower = InPython { progress: &mut watched, trouble: &work.trouble };
        let done = work.one(i, job, &mut follower);
        if let Err(error) = Python::attach(|py| tell(py, progress, watch)) {
            work.trouble.tell(error);
        }
        done
    });
    match work.trouble.take() {
        Some(error) => Err(error),
        None => Ok(outcome),
    }
}

fn runs_beside_python(
    py: Python<'_>,
    work: &Arc<Work>,
    watch: &Arc<Watch>,
    threads: usize,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Outcome> {
    let (to, mut from) = channel();
    let (its_work, its_watch) = (Arc::clone(work), Arc::clone(watch));
    std::thread::spawn(move || {
        let outcome = runner::compare_by(&its_work.scenario, threads, &its_watch, |i, job| {
            its_work.one(i, job, &mut Watched::new(&its_watch))
        });
        // After an exception no receiver is left.
        let _ = to.send(outcome);
    });
    let mut looks = 0;
    loop {
        let from = &mut from;
        match py.detach(move || from.recv_timeout(LOOK)) {
            Ok(outcome) => {
                tell(py, progress, watch)?;
                return Ok(outcome);
            }
            Err(RecvTimeoutError::Timeout) => {
                looks += 1;
                let told = if looks % TELL == 0 { tell(py, progress, watch) } else { Ok(()) };
                if let Err(error) = py.check_signals().and(told) {
                    // The threads check this at each hundredth of a run, and end by themselves.
                    watch.cancel.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the runs ended without results: a bug"));
            }
        }
    }
}

/// Calls `progress` with finished runs and simulated seconds.
pub(crate) fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, watch: &Watch) -> PyResult<()> {
    if let Some(progress) = progress {
        let finished = watch.finished.load(Ordering::Relaxed);
        let simulated_s = watch.simulated_ms.load(Ordering::Relaxed) as f64 / 1e3;
        progress.call1(py, (finished, simulated_s))?;
    }
    Ok(())
}
