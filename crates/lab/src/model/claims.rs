//! A paper's values compared with the results here.

use crate::model::metric::Metric;
use crate::stats::Summary;
use serde::Serialize;

/// The claims of one paper after a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClaimTable {
    /// Short name of the paper, e.g. `T20`.
    pub paper: String,
    /// Notes on the runs, e.g. `short: 2 seeds of 5`.
    pub notes: Vec<String>,
    /// The worlds in which the claims were evaluated, today's first.
    pub worlds: Vec<WorldRow>,
    /// One row for each claim.
    pub rows: Vec<ClaimRow>,
    /// The effect of the switches that claims name on the whole paper.
    pub switches: Vec<SwitchRow>,
    /// The cases of the paper's figures.
    pub shown: ShownTable,
}

/// One coherent set of switches, and the paper's tally with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorldRow {
    /// Heading, e.g. `Linux 4.15`.
    pub name: String,
    /// Switches that are on in each scenario that has them.
    pub switches: Vec<String>,
    /// Claims that are met.
    pub met: usize,
    /// Claims that are missed.
    pub missed: usize,
    /// Claims, met or missed, that the seeds do not decide.
    pub undecided: usize,
    /// The reason for the set.
    pub why: String,
}

/// The effect of a switch on the whole paper, in the worlds in which its claims are judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SwitchRow {
    /// Its name; several joined by `+` are on together.
    pub name: String,
    /// Numbers of claims that it changes from missed to met and from met to missed, as the file
    /// records them.
    pub recorded: Option<[usize; 2]>,
    /// Claims that it changes from missed to met, by key; none if not counted.
    pub mends: Option<Vec<String>>,
    /// Claims that it changes from met to missed, by key; none if not counted.
    pub breaks: Option<Vec<String>>,
    /// False if the paper cannot mean it.
    pub may_explain: bool,
    /// The reason for that, or the meaning of the switch; may be empty.
    pub why: String,
}

impl SwitchRow {
    /// The counted numbers of claims that it mends and breaks.
    #[must_use]
    pub fn counted(&self) -> Option<[usize; 2]> {
        Some([self.mends.as_ref()?.len(), self.breaks.as_ref()?.len()])
    }

    /// True if it mends more than it breaks, and the paper can mean it.
    #[must_use]
    pub fn explains(&self) -> bool {
        let counts = self.counted().or(self.recorded);
        self.may_explain && counts.is_some_and(|[mends, breaks]| mends > breaks)
    }
}

/// Cases that figures of a paper show, with or without a claim.
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
    /// Results, one for each metric; none if no run has it.
    pub values: Vec<Option<Summary>>,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimRow {
    /// Key in the file of claims.
    pub id: String,
    /// Place in the paper, e.g. `Fig. 7`.
    pub place: String,
    /// The claim in words, e.g. `CoDel: mean delay`.
    pub what: String,
    /// Unit of all values of the row, empty for ratios.
    pub unit: String,
    /// The values that the paper prints.
    pub paper: Expected,
    /// The results of the authors' program in a new run.
    pub anchor: Expected,
    /// The results here in the world in which the claim is judged, one value for each point of the
    /// sweep; empty if the claim was not run.
    pub ours: Vec<Summary>,
    /// The allowed range of `ours`.
    pub band: Expected,
    /// True if the band was changed after the first run.
    pub changed: bool,
    /// True if the band is the anchor's, which is judged with today's settings.
    pub of_anchor: bool,
    /// The outcome.
    pub verdict: Verdict,
    /// True if the seeds leave another outcome possible: a 95 % interval crosses an edge of the
    /// band, or 0 for a sign.
    pub undecided: bool,
    /// The result in each world, in the order of [`ClaimTable::worlds`].
    pub worlds: Vec<WorldValue>,
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

/// A claim in one world.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorldValue {
    /// One value for each point of the sweep; empty if it was not run there.
    pub ours: Vec<Summary>,
    /// [`Verdict::Met`], [`Verdict::Missed`] or [`Verdict::NotRun`].
    pub verdict: Verdict,
    /// True if the seeds do not decide the verdict.
    pub undecided: bool,
}

impl WorldValue {
    /// The values, whether they meet the claim and whether this is undecided; none if the claim was
    /// not run.
    #[must_use]
    pub fn of(found: Option<(Vec<Summary>, bool, bool)>) -> Self {
        let (ours, verdict, undecided) = match found {
            None => (Vec::new(), Verdict::NotRun, false),
            Some((ours, true, open)) => (ours, Verdict::Met, open),
            Some((ours, false, open)) => (ours, Verdict::Missed, open),
        };
        Self { ours, verdict, undecided }
    }
}

/// Results with one switch on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchValue {
    /// Name of the switch.
    pub name: String,
    /// One value for each point of the sweep.
    pub ours: Vec<Summary>,
    /// True if the claim, or its anchor, is met with it.
    pub meets: bool,
    /// True if the seeds do not decide `meets`.
    pub undecided: bool,
    /// True if the switch may explain a claim that is met with it (see [`SwitchRow::explains`]).
    pub explains: bool,
}

/// Outcome of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within the band.
    Met,
    /// Outside the band, but in the band or at the anchor with a switch that mends more of the
    /// paper than it breaks.
    Explained,
    /// Outside the band.
    Missed,
    /// The claim could not be run.
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

    /// The outcome in one line, e.g. `17 claims: 14 met, 2 explained, 1 missed, 0 not run; 1
    /// undecided: fig7-bbr-delay`.
    #[must_use]
    pub fn tally(&self) -> String {
        let parts = Verdict::ALL.map(|v| format!("{} {}", self.count(v), v.word()));
        let open: Vec<&str> =
            self.rows.iter().filter(|row| row.undecided).map(|row| row.id.as_str()).collect();
        let names = if open.is_empty() { String::new() } else { format!(": {}", open.join(", ")) };
        let count = open.len();
        format!("{} claims: {}; {count} undecided{names}", self.rows.len(), parts.join(", "))
    }
}
