//! The cases: the quantity to measure, the published value, and the allowed band.

use serde::Deserialize;

/// The shipped files by control, and the file of the figures worked out by hand.
const FILES: [(&str, &str); 15] = [
    ("new_reno", include_str!("../../../../claims/validation/new_reno.toml")),
    ("cubic", include_str!("../../../../claims/validation/cubic.toml")),
    ("bbr", include_str!("../../../../claims/validation/bbr.toml")),
    ("bbr3", include_str!("../../../../claims/validation/bbr3.toml")),
    ("vegas", include_str!("../../../../claims/validation/vegas.toml")),
    ("westwood", include_str!("../../../../claims/validation/westwood.toml")),
    ("yeah", include_str!("../../../../claims/validation/yeah.toml")),
    ("prague", include_str!("../../../../claims/validation/prague.toml")),
    ("dctcp", include_str!("../../../../claims/validation/dctcp.toml")),
    ("ledbatpp", include_str!("../../../../claims/validation/ledbatpp.toml")),
    ("abc", include_str!("../../../../claims/validation/abc.toml")),
    ("scream", include_str!("../../../../claims/validation/scream.toml")),
    ("gcc", include_str!("../../../../claims/validation/gcc.toml")),
    ("fixed", include_str!("../../../../claims/validation/fixed.toml")),
    ("by-hand", include_str!("../../../../claims/validation/by-hand.toml")),
];

/// The cases of one control.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// Name of the control.
    pub control: String,
    /// Title of the page, if it is not of a control.
    #[serde(default)]
    pub title: Option<String>,
    /// The model.
    pub models: String,
    /// Limits of the comparison with formulas, and parts that are not modelled.
    pub limits: String,
    /// The kernel of the live runs, such as `Linux 6.18`; none without live runs.
    #[serde(default)]
    pub kernel: Option<String>,
    /// The cases.
    #[serde(rename = "case")]
    pub cases: Vec<Case>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Key, unique in the file.
    pub id: String,
    /// The measured quantity.
    pub what: String,
    /// The source of the expected value.
    pub source: String,
    /// The expected value; none if a formula of the experiment gives it.
    #[serde(default)]
    pub published: Option<f64>,
    /// Its text in the table, if it is not a single number.
    #[serde(default)]
    pub published_text: Option<String>,
    /// Unit of the values.
    pub unit: String,
    /// Digits after the point.
    pub digits: usize,
    /// Least and greatest allowed value.
    #[serde(default)]
    pub band: Option<[f64; 2]>,
    /// Least and greatest allowed value, relative to the published value.
    #[serde(default)]
    pub ratio: Option<[f64; 2]>,
    /// Maximum possible value of the quantity, such as 1 for a share: an interval ends there.
    #[serde(default)]
    pub most: Option<f64>,
    /// The shipped scenario to run, for a case of whole scenarios.
    #[serde(default)]
    pub scenario: Option<String>,
    /// The place of the value in the results of a run of the scenario: a path such as
    /// `flows.NAME.delay.mean_ms`, or two paths joined by ` - ` or ` / `.
    #[serde(default)]
    pub measure: Option<String>,
    /// The reason for the width of its band.
    #[serde(default)]
    pub tolerance: Option<String>,
    /// The known verdict; a worse one fails.
    #[serde(default)]
    pub status: Status,
    /// The reason for a known miss, or for its explanation.
    #[serde(default)]
    pub why: Option<String>,
    /// The result of the kernel's own control on the same path.
    #[serde(default)]
    pub live: Option<Live>,
}

/// The same quantity of the kernel's own control, recorded from live runs. They cannot be repeated
/// to the byte, so they are not part of a validation's run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// One value for each run, in the unit of the case.
    pub runs: Vec<f64>,
    /// The command that makes such runs.
    pub command: String,
}

/// A recorded verdict, from the best to the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// In the band.
    #[default]
    Met,
    /// Outside the band, like the kernel's own control.
    Explained,
    /// Outside.
    Missed,
}

impl CaseFile {
    /// The cases of `control`; none for an unknown name.
    ///
    /// # Panics
    /// Never: the files are part of the program and tested.
    #[must_use]
    pub fn load(control: &str) -> Option<Self> {
        let (_, text) = FILES.iter().find(|(name, _)| *name == control)?;
        Some(toml::from_str(text).expect("the shipped cases are sound"))
    }
}

impl Case {
    /// The band in the unit of the case.
    pub(super) fn band_around(&self, published: f64) -> [f64; 2] {
        match (self.band, self.ratio) {
            (Some(band), _) => band,
            (None, Some([lo, hi])) => [lo * published, hi * published],
            (None, None) => [published, published],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::CONTROLS;

    #[test]
    fn every_shipped_case_has_one_band_that_rises_a_unique_key_and_a_reason_when_it_is_missed() {
        for control in CONTROLS {
            let file = CaseFile::load(control).expect("it ships");
            assert_eq!(file.control, control);
            let mut keys: Vec<&str> = file.cases.iter().map(|case| case.id.as_str()).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), file.cases.len());
            for case in &file.cases {
                assert!(case.band.is_some() != case.ratio.is_some(), "{}", case.id);
                let [lo, hi] = case.band_around(case.published.unwrap_or(1.0));
                assert!(lo <= hi, "{}", case.id);
                assert_eq!(case.why.is_some(), case.status > Status::Met, "{}", case.id);
                let explained = case.status == Status::Explained;
                assert!(case.live.is_some() || !explained, "{}", case.id);
                assert!(file.kernel.is_some() || case.live.is_none(), "{}", case.id);
                let by_hand = file.title.is_some();
                for given in [&case.scenario, &case.measure, &case.tolerance] {
                    assert_eq!(given.is_some(), by_hand, "{}", case.id);
                }
            }
        }
        assert!(CaseFile::load("tahoe").is_none());
    }
}
