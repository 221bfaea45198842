//! Scenarios fitted to some values of a paper, and what the others come to.

use crate::stats::Summary;

/// A fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitTable {
    /// Short name of the paper.
    pub paper: String,
    /// Name, value of the scenarios and fitted value of each parameter.
    pub parameters: Vec<(String, String, String)>,
    /// What it is fitted to: words and the paper's value.
    pub targets: Vec<(String, f64)>,
    /// What the parameters do to the targets.
    pub sensitivity: Vec<SensitivityRow>,
    /// All values of the paper.
    pub rows: Vec<FitRow>,
}

/// The targets with one parameter changed.
#[derive(Clone, Debug, PartialEq)]
pub struct SensitivityRow {
    /// The parameter.
    pub parameter: String,
    /// Its value; the others are as fitted.
    pub value: String,
    /// Means of the targets.
    pub values: Vec<f64>,
    /// Sum over the targets of the squared logarithm of ours / paper.
    pub error: f64,
}

/// A value of the paper and ours, as in the scenarios and fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct FitRow {
    /// In words.
    pub what: String,
    /// Point of the sweep.
    pub point: String,
    /// Unit.
    pub unit: String,
    /// What the paper prints.
    pub paper: f64,
    /// As in the scenarios.
    pub ours: Option<Summary>,
    /// With the fitted values.
    pub fitted: Option<Summary>,
    /// Whether each of the two is in its band.
    pub meets: [bool; 2],
    /// It was fitted to; the others are held out.
    pub is_target: bool,
}
