//! Scenarios fitted to some values of a paper, and the results for the other values.

use crate::stats::Summary;

/// The result of a fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitTable {
    /// Short name of the paper.
    pub paper: String,
    /// Name, value of the scenarios and fitted value of each parameter.
    pub parameters: Vec<(String, String, String)>,
    /// The targets: words and the paper's value.
    pub targets: Vec<(String, f64)>,
    /// The effect of the parameters on the targets.
    pub sensitivity: Vec<SensitivityRow>,
    /// All values of the paper.
    pub rows: Vec<FitRow>,
}

/// The targets with one parameter changed.
#[derive(Clone, Debug, PartialEq)]
pub struct SensitivityRow {
    /// The parameter.
    pub parameter: String,
    /// Its value; the other parameters have their fitted values.
    pub value: String,
    /// Means of the targets.
    pub values: Vec<f64>,
    /// Sum over the targets of the squared logarithm of ours / paper.
    pub error: f64,
}

/// A value of the paper and ours, with the scenarios' settings and with the fitted ones.
#[derive(Clone, Debug, PartialEq)]
pub struct FitRow {
    /// Its description.
    pub what: String,
    /// Point of the sweep.
    pub point: String,
    /// Unit.
    pub unit: String,
    /// The value that the paper prints.
    pub paper: f64,
    /// Our value with the scenarios' settings.
    pub ours: Option<Summary>,
    /// Our value with the fitted settings.
    pub fitted: Option<Summary>,
    /// Whether each of the two is in the claim's band.
    pub meets: [bool; 2],
    /// True for a target of the fit; the other values are held out.
    pub is_target: bool,
}
