//! Cases that a paper's figures show without numbers: every method runs in each.

use super::runs::{Case, Runs};
use super::{ClaimsFile, OWN_CHANNEL, Options, is_place};
use crate::model::{ShownRow, ShownTable};
use crate::stats::Summary;
use serde::Deserialize;

/// The cases of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShownCases {
    /// The figure, e.g. `Fig. 4`.
    pub figure: String,
    /// Scenario's name.
    pub scenario: String,
    /// Point of its sweep.
    pub point: String,
    /// Switches of the scenario, one case each; an empty name is the case without a switch.
    pub cases: Vec<String>,
}

impl ShownCases {
    /// The cases to run, each with its point of the sweep.
    pub(super) fn cases(&self) -> impl Iterator<Item = (Case, String)> {
        self.cases.iter().map(|switch| (self.case(switch), self.point.clone()))
    }

    fn case(&self, switch: &str) -> Case {
        Case { scenario: self.scenario.clone(), trace: OWN_CHANNEL.into(), on: switch.into() }
    }
}

impl ClaimsFile {
    /// The figures' cases that a reproduction with `options` shows.
    pub(super) fn shown_with(&self, options: &Options) -> Vec<&ShownCases> {
        let figure = options.figure.as_deref().map(str::trim);
        let is_wanted =
            |shown: &&ShownCases| figure.is_none_or(|figure| is_place(&shown.figure, figure));
        if options.short {
            return Vec::new();
        }
        self.shown.iter().filter(is_wanted).collect()
    }
}

impl Runs {
    /// The results of `shown`.
    pub(super) fn shown(
        &self,
        file: &ClaimsFile,
        shown: &[&ShownCases],
        options: &Options,
    ) -> ShownTable {
        let mut table = ShownTable { metrics: file.shown_metrics.clone(), rows: Vec::new() };
        for cases in shown {
            let points = file.points(&cases.scenario, options.short);
            let point = points.iter().position(|point| *point == cases.point);
            for switch in &cases.cases {
                let runs = self.by_case.get(&cases.case(switch)).into_iter().flatten();
                let here: Vec<_> = runs.filter(|(job, _)| Some(job.point) == point).collect();
                let mut methods: Vec<&str> = Vec::new();
                for (job, _) in &here {
                    if !methods.contains(&job.method.as_str()) {
                        methods.push(&job.method);
                    }
                }
                for method in methods {
                    let runs = || here.iter().filter(|(job, _)| job.method == method);
                    let values = file.shown_metrics.iter().map(|metric| {
                        Summary::of(&runs().filter_map(|(_, r)| metric.of(r)).collect::<Vec<_>>())
                    });
                    table.rows.push(ShownRow {
                        place: cases.figure.clone(),
                        what: format!("{}, {}", cases.scenario, cases.point),
                        case: switch.clone(),
                        method: method.into(),
                        values: values.collect(),
                    });
                }
            }
        }
        table
    }
}
