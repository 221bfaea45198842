//! Validation of the TCP controls and of figures: the values of formulas and papers, our values,
//! and the verdict.
//!
//! The cases with their bands are data (`claims/validation`), committed before the first run. The
//! measurements of TCP's controls run in dumbbells ([`justfull_sim::dumbbell`]), the measurements
//! of calls in whole scenarios; both are code, one file for each. A data file defines the figures
//! by hand and their measurements, in whole scenarios too. The results are the same bytes on every
//! machine.

mod abc;
mod bbr;
mod bbr3;
mod by_hand;
mod calls;
mod case;
mod cubic;
mod dctcp;
mod fixed;
mod ledbatpp;
mod new_reno;
mod prague;
mod scope;
mod shared;
mod vegas;
mod watch;
mod westwood;
mod yeah;

pub use by_hand::SCENARIOS;
pub use case::{Case, CaseFile, Live, Status};

use crate::model::claims::Verdict;
use crate::model::plot::Plot;
use crate::stats::Summary;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The controls with cases, by name, and the figures worked out by hand.
pub const CONTROLS: [&str; 15] = [
    "new_reno", "cubic", "bbr", "bbr3", "vegas", "westwood", "yeah", "fixed", "prague", "dctcp",
    "ledbatpp", "abc", "scream", "gcc", BY_HAND,
];

/// The figures worked out by hand.
const BY_HAND: &str = "by-hand";

/// The experiments that measure the cases of `control`.
fn experiments(control: &str) -> Option<Vec<Task>> {
    let own = match control {
        "new_reno" => new_reno::EXPERIMENTS,
        "cubic" => cubic::EXPERIMENTS,
        "bbr" => bbr::EXPERIMENTS,
        "bbr3" => bbr3::EXPERIMENTS,
        "vegas" => vegas::EXPERIMENTS,
        "westwood" => westwood::EXPERIMENTS,
        "yeah" => yeah::EXPERIMENTS,
        "fixed" => fixed::EXPERIMENTS,
        "prague" => prague::EXPERIMENTS,
        "dctcp" => dctcp::EXPERIMENTS,
        "ledbatpp" => ledbatpp::EXPERIMENTS,
        "abc" => abc::EXPERIMENTS,
        "scream" => calls::SCREAM,
        "gcc" => calls::GCC,
        BY_HAND => return Some(by_hand::tasks()),
        _ => return None,
    };
    Some(own.iter().map(|experiment| Box::new(experiment) as Task).collect())
}

/// The measurement for a case: one value for each seed, and the formula's value if the case does
/// not state it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    id: String,
    published: Option<f64>,
    ours: Vec<f64>,
}

/// The results of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evidence {
    measured: Vec<Measured>,
    plots: Vec<Plot>,
}

/// Runs worlds and measures the cases they concern.
type Experiment = fn() -> Evidence;

/// An experiment that may hold data.
type Task = Box<dyn Fn() -> Evidence + Sync>;

/// A case with its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The case.
    pub case: Case,
    /// The published value, in the case's unit.
    pub published: f64,
    /// The band in the case's unit.
    pub band: [f64; 2],
    /// Our value; with several seeds, its 95 % interval.
    pub ours: Summary,
    /// The result of the kernel's own control on the same path, if it was measured.
    pub live: Option<Summary>,
    /// Met if the whole interval lies in the band, or, in a case of whole scenarios, if every run
    /// lies in it. Else explained if all runs of the kernel's own control lie outside the band too,
    /// or if our value is among them.
    pub verdict: Verdict,
}

/// All cases of one control.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The text of the page beside the table.
    pub file: CaseFile,
    /// The cases in order of the file.
    pub rows: Vec<Row>,
    /// Its figures in order of the experiments.
    pub plots: Vec<Plot>,
}

impl Evidence {
    /// Adds a value that does not depend on chance.
    fn exact(&mut self, id: &str, ours: f64) {
        self.random(id, vec![ours]);
    }

    /// Adds values, one for each seed.
    fn random(&mut self, id: &str, ours: Vec<f64>) {
        self.measured.push(Measured { id: id.into(), published: None, ours });
    }

    /// Adds values with the formula's value.
    fn formula(&mut self, id: &str, published: f64, ours: Vec<f64>) {
        self.measured.push(Measured { id: id.into(), published: Some(published), ours });
    }
}

impl Validation {
    /// True if no case is worse than its file records.
    #[must_use]
    pub fn as_recorded(&self) -> bool {
        self.rows.iter().all(|row| match row.verdict {
            Verdict::Met => true,
            Verdict::Explained => row.case.status >= Status::Explained,
            Verdict::Missed | Verdict::NotRun => row.case.status == Status::Missed,
        })
    }

    /// The outcome in one line.
    #[must_use]
    pub fn tally(&self) -> String {
        let count = |verdict| self.rows.iter().filter(|row| row.verdict == verdict).count();
        let (met, explained) = (count(Verdict::Met), count(Verdict::Explained));
        let missed = self.rows.len() - met - explained;
        let explained =
            if explained > 0 { format!(", {explained} explained") } else { String::new() };
        let (control, cases) = (&self.file.control, self.rows.len());
        format!("{control}: {cases} cases, {met} met{explained}, {missed} missed")
    }
}

/// Runs the cases of `control`, one of [`CONTROLS`], on `threads` threads; none for another name.
///
/// # Panics
/// Never: the pages of `docs/validation` have every case of every shipped file.
#[must_use]
pub fn validate(control: &str, threads: usize) -> Option<Validation> {
    let file = CaseFile::load(control)?;
    let evidence = run_all(&experiments(control)?, threads);
    if cfg!(debug_assertions) {
        assert_complete(&file, &evidence);
    }
    let rows = file.cases.iter().map(|case| judge(case, &evidence.measured)).collect();
    Some(Validation { rows, plots: evidence.plots, file })
}

/// Runs `experiments` and joins their results, in order.
fn run_all(experiments: &[Task], threads: usize) -> Evidence {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Evidence)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, experiments.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(experiment) = experiments.get(i) else { return };
                    let evidence = experiment();
                    done.lock().expect("no experiment panics").push((i, evidence));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no experiment panics");
    done.sort_by_key(|(i, _)| *i);
    let mut all = Evidence::default();
    for (_, evidence) in done {
        all.measured.extend(evidence.measured);
        all.plots.extend(evidence.plots);
    }
    all
}

/// Asserts that each case of `file` is measured once and nothing else is, that either the file or
/// the measurement has the published value, and that no two figures have the same name.
fn assert_complete(file: &CaseFile, evidence: &Evidence) {
    let mut measured: Vec<&str> = evidence.measured.iter().map(|m| m.id.as_str()).collect();
    let mut cases: Vec<&str> = file.cases.iter().map(|case| case.id.as_str()).collect();
    measured.sort_unstable();
    cases.sort_unstable();
    assert_eq!(measured, cases);
    for case in &file.cases {
        let found = evidence.measured.iter().find(|m| m.id == case.id);
        let published = found.is_some_and(|found| found.published.is_some());
        assert!(published != case.published.is_some(), "{}", case.id);
    }
    let figures: BTreeSet<&str> = evidence.plots.iter().map(|plot| plot.id.as_str()).collect();
    assert_eq!(figures.len(), evidence.plots.len());
}

fn judge(case: &Case, measured: &[Measured]) -> Row {
    let found = measured.iter().find(|m| m.id == case.id).expect("every case is measured");
    let published = case.published.or(found.published).expect("the file or the formula says it");
    let band = case.band_around(published);
    let ours = Summary::of(&found.ours).expect("an experiment measures something");
    // With too few values for an interval, all must lie in the band, and so must all runs of whole
    // scenarios.
    let by_interval = ours.ci95.is_some() && case.scenario.is_none();
    let (low, high) = if by_interval { (ours.low(), ours.high()) } else { (ours.min, ours.max) };
    let high = case.most.map_or(high, |most| high.min(most.max(ours.mean)));
    // An undefined value has no minimum and no maximum.
    let inside = ours.mean.is_finite() && band[0] <= low && high <= band[1];
    let live = case.live.as_ref().and_then(|live| Summary::of(&live.runs));
    let by_kernel = live.as_ref().is_some_and(|live| explains(live, &ours, band));
    let verdict = match (inside, by_kernel) {
        (true, _) => Verdict::Met,
        (false, true) => Verdict::Explained,
        (false, false) => Verdict::Missed,
    };
    Row { case: case.clone(), published, band, ours, live, verdict }
}

/// True if all runs of the kernel's own control are on the same side of `band` as `ours`, or `ours`
/// is among them.
fn explains(live: &Summary, ours: &Summary, band: [f64; 2]) -> bool {
    let below = ours.mean < band[0] && live.max < band[0];
    let above = ours.mean > band[1] && live.min > band[1];
    below || above || (live.min..=live.max).contains(&ours.mean)
}

#[cfg(test)]
mod tests;
