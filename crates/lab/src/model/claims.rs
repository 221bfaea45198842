//! What a paper reports against the results here.

use crate::model::metric::Metric;
use crate::stats::Summary;
use serde::Serialize;

/// The claims of one paper after a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClaimTable {
    /// Short name of the paper, e.g. `T20`.
    pub paper: String,
    /// How it was run, e.g. `short: 2 seeds of 5`.
    pub notes: Vec<String>,
    /// One row for each claim.
    pub rows: Vec<ClaimRow>,
    /// The cases of the paper's figures.
    pub shown: ShownTable,
}

/// Cases that figures of a paper show, claimed or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ShownTable {
    /// The columns.
    pub metrics: Vec<Metric>,
    /// One row for each case and method.
    pub rows: Vec<ShownRow>,
}

/// A method in a case that a figure shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownRow {
    /// The figure, e.g. `Fig. 4`.
    pub place: String,
    /// Scenario and point of its sweep.
    pub what: String,
    /// Switch of the scenario; empty for none.
    pub case: String,
    /// Name of the method.
    pub method: String,
    /// Results, one for each metric; none where no run has it.
    pub values: Vec<Option<Summary>>,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimRow {
    /// Key in the file of claims.
    pub id: String,
    /// Where the paper says it, e.g. `Fig. 7`.
    pub place: String,
    /// What is claimed, e.g. `CoDel: mean delay`.
    pub what: String,
    /// Unit of all values of the row, empty for ratios.
    pub unit: String,
    /// What the paper prints.
    pub paper: Expected,
    /// What the authors' program gave when it was run again.
    pub anchor: Expected,
    /// The results here, one value for each point of the sweep; empty when the claim was not run.
    pub ours: Vec<Summary>,
    /// The allowed range of `ours`.
    pub band: Expected,
    /// True when the band was changed after the first run.
    pub changed: bool,
    /// The outcome.
    pub verdict: Verdict,
    /// The reason, if the numbers do not show it (e.g. `no trace`); may be empty.
    pub reason: String,
    /// Results with each switch that affects the claim.
    pub switches: Vec<SwitchValue>,
}

/// A value given by a paper or a band.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Not given.
    #[default]
    Absent,
    /// From the first to the second, both included.
    Range(f64, f64),
    /// Words, e.g. `DRQL below DynRLC`.
    Words(String),
}

/// Results with one switch on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchValue {
    /// Name of the switch.
    pub name: String,
    /// One value for each point of the sweep.
    pub ours: Vec<Summary>,
    /// True when the claim is met with it.
    pub meets: bool,
}

/// Outcome of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within the band.
    Met,
    /// Outside the band, but within it or at the anchor with a switch of the tree.
    Explained,
    /// Outside the band.
    Missed,
    /// Could not be run.
    NotRun,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 4] = [Self::Met, Self::Explained, Self::Missed, Self::NotRun];

    /// The word in tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Explained => "explained",
            Self::Missed => "missed",
            Self::NotRun => "not run",
        }
    }
}

impl ClaimTable {
    /// Number of rows with `verdict`.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// The outcome in one line, e.g. `17 claims: 14 met, 2 explained, 1 missed, 0 not run`.
    #[must_use]
    pub fn tally(&self) -> String {
        let parts = Verdict::ALL.map(|v| format!("{} {}", self.count(v), v.word()));
        format!("{} claims: {}", self.rows.len(), parts.join(", "))
    }
}
