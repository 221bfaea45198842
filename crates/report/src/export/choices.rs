//! The answer of `recommend` as JSON.

use justfull_lab::recommend::{Agreement, Choice};
use justfull_scenario::MethodSettings;
use serde::Serialize;

/// The answer for one scenario, for one point of its sweep, or for one base round trip.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer<'a> {
    /// The scenario and the point.
    pub scenario: String,
    /// The base round trip in ms; none for the scenario's own, and for the answer over all.
    pub base_rtt_ms: Option<f64>,
    /// The methods that were compared.
    pub choices: Vec<Choice>,
    /// Methods that were not run, each with a reason.
    pub not_run: &'a [(String, String)],
    /// The runs' seeds.
    pub seeds: Vec<u64>,
    /// The recommendations of further seeds, each judged alone; over several base round trips only
    /// in the answer over all of them.
    pub fresh: Option<Agreement>,
    /// The settings in which the methods differ.
    pub settings: &'a [MethodSettings],
    /// Version of the program.
    pub version: &'a str,
}

impl Answer<'_> {
    /// One line of JSON with a line feed.
    ///
    /// # Panics
    /// Never: every field can be written as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        let text = serde_json::to_string(self).expect("names and numbers can be written as JSON");
        text + "\n"
    }
}
