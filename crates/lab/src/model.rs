//! The results of a comparison as one value.

pub mod breakdown;
pub mod claims;
pub mod example;
pub mod fit;
pub mod grouped;
pub mod metric;
pub mod plot;
pub mod subject;
pub mod summary;

pub use claims::{
    ClaimRow, ClaimTable, Expected, ShownRow, ShownTable, SwitchRow, SwitchValue, Verdict,
    WorldRow, WorldValue,
};
pub use fit::{FitRow, FitTable, SensitivityRow};
pub use grouped::{Grouped, GroupedRow};

use justfull_run::results::RunResult;
use justfull_scenario::MethodSettings;
use serde::Serialize;

/// Runs of several methods on the same scenarios, with all data needed to repeat them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Heading.
    pub title: String,
    /// Notes that a reader must know, e.g. that the channel is synthetic and not the paper's trace.
    pub notes: Vec<String>,
    /// Runs, one group for each scenario and point of a sweep.
    pub groups: Vec<Group>,
    /// The scenario with every default filled in.
    pub scenario_toml: String,
    /// Version of the program.
    pub version: String,
    /// Command line that made it.
    pub command: String,
    /// The runs took real time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
    /// A paper's claims compared with the results.
    pub claims: Option<ClaimTable>,
    /// Requested runs that are missing, e.g. after an interruption.
    pub missing: Vec<String>,
    /// Runs whose results contradict themselves, each with the broken invariant. Their results are
    /// left out.
    pub broken: Vec<String>,
}

/// Runs of all methods and seeds on one scenario at one point of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Group {
    /// Name of the scenario for people. Groups with one name form a [`Family`] and differ in `x`.
    pub label: String,
    /// The swept setting and its value here, e.g. `("interval_ms", 20.0)`; the name ends in the
    /// unit.
    pub x: Option<(String, f64)>,
    /// All settings that a grid varies, with their values here, e.g. `rlc.queue.limit_kB=100;
    /// core.delay_ms=5`. The label repeats the settings other than `x`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub grid: String,
    /// All methods and seeds.
    pub runs: Vec<RunResult>,
    /// The settings in which the methods differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<MethodSettings>,
    /// The parts of the trace that the runs play; none if each plays its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<String>,
}

/// Units at the end of a swept setting's name, and as they are printed.
const UNITS: [(&str, &str); 12] = [
    ("s", "s"),
    ("ms", "ms"),
    ("us", "us"),
    ("ns", "ns"),
    ("B", "B"),
    ("kB", "kB"),
    ("MB", "MB"),
    ("kbit", "kbit"),
    ("mbit_s", "Mbit/s"),
    ("Mbit/s", "Mbit/s"),
    ("packets", "packets"),
    ("rbs", "resource blocks"),
];

/// The name of a swept setting without its unit, and the unit.
#[must_use]
pub fn setting_and_unit(name: &str) -> (&str, Option<&'static str>) {
    let with = |unit: &str| name.strip_suffix(unit).and_then(|rest| rest.strip_suffix('_'));
    let found = UNITS.iter().filter_map(|(unit, words)| Some((with(unit)?, *words)));
    // The longest unit leaves the shortest name: `mbit_s` before `s`.
    found.min_by_key(|(rest, _)| rest.len()).map_or((name, None), |(rest, unit)| (rest, Some(unit)))
}

/// `rlc.queue.limit 100 kB` for the value 100 of the swept setting `rlc.queue.limit_kB`. Labels of
/// a file are words: `report period 10 ms` for `report_period_ms`.
#[must_use]
pub fn of_value(name: &str, value: &str) -> String {
    let (what, unit) = setting_and_unit(name);
    let what = if what.contains('.') { what.into() } else { what.replace('_', " ") };
    unit.map_or_else(|| format!("{what} {value}"), |unit| format!("{what} {value} {unit}"))
}

impl Group {
    /// The point of the sweep for people, e.g. `interval 20 ms`; empty without a sweep.
    #[must_use]
    pub fn x_text(&self) -> String {
        match &self.x {
            None => String::new(),
            Some((name, value)) => of_value(name, &value.to_string()),
        }
    }

    /// Label and point of the sweep, e.g. `scenario 1, pedestrian-like: interval 20 ms`.
    #[must_use]
    pub fn heading(&self) -> String {
        match &self.x {
            None => self.label.clone(),
            Some(_) => format!("{}: {}", self.label, self.x_text()),
        }
    }
}

/// Groups of one label: the points of one sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Family<'a> {
    /// The label that the groups share.
    pub label: &'a str,
    /// The groups in the order of the comparison, each with its index there.
    pub groups: Vec<(usize, &'a Group)>,
}

impl Comparison {
    /// The groups by label, in order of appearance.
    #[must_use]
    pub fn families(&self) -> Vec<Family<'_>> {
        let mut families: Vec<Family<'_>> = Vec::new();
        for (i, group) in self.groups.iter().enumerate() {
            match families.iter_mut().find(|f| f.label == group.label) {
                Some(family) => family.groups.push((i, group)),
                None => families.push(Family { label: &group.label, groups: vec![(i, group)] }),
            }
        }
        families
    }

    /// Seeds of all runs, ascending, each once.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        let mut seeds: Vec<u64> =
            self.groups.iter().flat_map(|g| &g.runs).map(|r| r.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        seeds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swept_value_reads_as_words_and_groups_of_one_label_are_a_family() {
        let group = |label: &str, x: Option<(&str, f64)>| Group {
            label: label.into(),
            x: x.map(|(name, value)| (name.into(), value)),
            ..Group::default()
        };
        assert_eq!(
            group("a", Some(("rlc_limit_packets", 20.0))).heading(),
            "a: rlc limit 20 packets"
        );
        for (name, words) in [
            ("flows", "flows 4"),
            ("channel.n_prb", "channel.n_prb 4"),
            ("rlc.queue.limit_kB", "rlc.queue.limit 4 kB"),
            ("bearer_mbit_s", "bearer 4 Mbit/s"),
            ("quantum_limit_rbs", "quantum limit 4 resource blocks"),
            ("s", "s 4"),
        ] {
            assert_eq!(group("a", Some((name, 4.0))).x_text(), words);
        }
        assert_eq!(group("a", None).heading(), "a");
        let comparison = Comparison {
            groups: vec![
                group("a", Some(("x_ms", 1.0))),
                group("b", None),
                group("a", Some(("x_ms", 2.0))),
            ],
            ..Comparison::default()
        };
        let families = comparison.families();
        let indices: Vec<Vec<usize>> =
            families.iter().map(|f| f.groups.iter().map(|(i, _)| *i).collect()).collect();
        assert_eq!(indices, [vec![0, 2], vec![1]]);
    }
}
