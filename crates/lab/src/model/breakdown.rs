//! The results of a group by flow, and pooled.

use super::metric::Metric;
use super::subject::{Subject, had_packets};
use super::summary::method_names;
use crate::stats::Summary;
use justfull_run::results::{FlowResult, RunResult};
use std::collections::{BTreeMap, BTreeSet};

/// Suffix for the name of an uplink flow.
pub const UPLINK: &str = " (uplink)";

/// Several flows pooled, or the flows of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name in rows: `all low-latency`, `call`, `call x4` for four flows of one name, and `photos
    /// (uplink)` for uploads.
    pub label: String,
    /// Names of its flows.
    names: Vec<String>,
    /// True for the flows that the results are about.
    pub subject: bool,
}

impl Part {
    /// True if it pools flows of several names.
    #[must_use]
    pub fn is_pool(&self) -> bool {
        self.names.len() > 1
    }
}

/// The runs of one method, each with its flows by name.
pub struct MethodRuns<'a> {
    /// Name of the method.
    pub method: String,
    runs: Vec<(&'a RunResult, BTreeMap<&'a str, &'a FlowResult>)>,
}

impl MethodRuns<'_> {
    /// Number of runs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// `metric` of `part` over the runs that have it; none if no run has it.
    #[must_use]
    pub fn get(&self, metric: Metric, part: &Part) -> Option<Summary> {
        let value = |(run, by_name): &(&RunResult, BTreeMap<&str, &FlowResult>)| {
            let flows: Vec<&FlowResult> =
                part.names.iter().filter_map(|name| by_name.get(name.as_str()).copied()).collect();
            metric.among(&flows, run)
        };
        Summary::of(&self.runs.iter().filter_map(value).collect::<Vec<_>>())
    }

    /// `metric` of the cell over the runs that have it.
    #[must_use]
    pub fn of_cell(&self, metric: Metric) -> Option<Summary> {
        Summary::of(
            &self.runs.iter().filter_map(|(run, _)| metric.among(&[], run)).collect::<Vec<_>>(),
        )
    }

    /// The parts of the method that never acted, in words: `limiter, pacer`, with the number of
    /// runs unless it is all of them; empty if everything acted.
    #[must_use]
    pub fn never_acted(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for name in self.runs.iter().flat_map(|(run, _)| &run.never_acted) {
            match counts.iter_mut().find(|(other, _)| other == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        let all = self.count();
        let text = counts.iter().map(|(name, count)| match *count == all {
            true => (*name).to_owned(),
            false => format!("{name} ({count} of {all} runs)"),
        });
        text.collect::<Vec<_>>().join(", ")
    }
}

/// The parts shown for every method, and the runs by method.
pub struct Breakdown<'a> {
    /// The flows that the results are about.
    pub subject: Subject,
    /// The subject's flows, then the others; before each group its pool, if the group has several
    /// names.
    pub parts: Vec<Part>,
    /// Names of flows that had no packet in any run.
    pub silent: Vec<String>,
    /// The methods in order of appearance, the clairvoyant policy last.
    pub methods: Vec<MethodRuns<'a>>,
}

impl<'a> Breakdown<'a> {
    /// The breakdown of `runs`.
    #[must_use]
    pub fn of(runs: &'a [RunResult]) -> Self {
        let subject = Subject::of(runs);
        let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
        let mut sizes: BTreeMap<&str, u32> = BTreeMap::new();
        let mut loud: BTreeSet<&str> = BTreeSet::new();
        for flow in runs.iter().flat_map(|run| &run.flows) {
            if seen.insert(flow.name.as_str()) {
                names.push(flow);
            }
            let size = sizes.entry(&flow.name).or_default();
            *size = flow.flows.max(*size);
            if had_packets(flow) {
                loud.insert(&flow.name);
            }
        }
        let (active, silent): (Vec<&FlowResult>, Vec<&FlowResult>) =
            names.into_iter().partition(|flow| loud.contains(flow.name.as_str()));
        let (own, others): (Vec<&FlowResult>, Vec<&FlowResult>) =
            active.into_iter().partition(|flow| subject.has(flow));
        let pool = if subject.is_low_latency() { "all low-latency" } else { "all flows" };
        let mut parts = parts(&own, &sizes, pool, true);
        parts.extend(self::parts(&others, &sizes, "all others", false));
        let methods = method_names(runs).into_iter().map(|method| {
            let own = runs.iter().filter(|run| run.method == method);
            let by_name =
                |run: &'a RunResult| run.flows.iter().map(|f| (f.name.as_str(), f)).collect();
            MethodRuns { runs: own.map(|run| (run, by_name(run))).collect(), method }
        });
        let methods = methods.collect();
        Self {
            subject,
            parts,
            silent: silent.iter().map(|flow| flow.name.clone()).collect(),
            methods,
        }
    }
}

/// One part for each of `flows`, after a pool of all if there are several.
fn parts(
    flows: &[&FlowResult],
    sizes: &BTreeMap<&str, u32>,
    pool: &str,
    subject: bool,
) -> Vec<Part> {
    let mut parts = Vec::new();
    if flows.len() > 1 {
        let names = flows.iter().map(|flow| flow.name.clone()).collect();
        parts.push(Part { label: pool.into(), names, subject });
    }
    parts.extend(flows.iter().map(|flow| {
        let mut label = match sizes.get(flow.name.as_str()) {
            Some(&size) if size > 1 => format!("{} x{size}", flow.name),
            _ => flow.name.clone(),
        };
        if flow.direction == "up" {
            label.push_str(UPLINK);
        }
        Part { label, names: vec![flow.name.clone()], subject }
    }));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example;
    use justfull_run::results::Distribution;

    fn labels(breakdown: &Breakdown<'_>) -> Vec<String> {
        breakdown.parts.iter().map(|part| part.label.clone()).collect()
    }

    /// One row for a game and a call would have the percentiles of the worse flow.
    #[test]
    fn flows_have_parts_of_their_own_and_pools_only_where_there_are_several() {
        let mut runs = example::comparison(2).groups.remove(0).runs;
        assert_eq!(labels(&Breakdown::of(&runs)), ["voice", "bulk"]);
        for run in &mut runs {
            let delay =
                Distribution { count: 1000, mean_ms: 2.0, p95_ms: 3.0, ..Distribution::default() };
            let mut game =
                FlowResult { name: "game".into(), delay, flows: 4, ..run.flows[0].clone() };
            game.entered_packets = 10;
            run.flows.insert(1, game);
            let silent =
                FlowResult { name: "late".into(), low_latency: true, ..FlowResult::default() };
            run.flows.push(silent);
        }
        let breakdown = Breakdown::of(&runs);
        assert_eq!(labels(&breakdown), ["all low-latency", "voice", "game x4", "bulk"]);
        assert_eq!(breakdown.silent, ["late"]);
        runs.iter_mut().for_each(|run| run.flows[1].direction = "up".into());
        let of_uploads = labels(&Breakdown::of(&runs));
        assert_eq!(of_uploads[2], "game x4 (uplink)");
        let breakdown = Breakdown::of(&runs);
        let method = &breakdown.methods[0];
        let of =
            |metric, part: usize| method.get(metric, &breakdown.parts[part]).expect("a value").mean;
        let same = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(same(of(Metric::DelayMean, 2), 2.0));
        assert!(
            same(of(Metric::DelayP95, 0), of(Metric::DelayP95, 1)),
            "the pool has the worst flow's"
        );
        assert!(of(Metric::DelayMean, 0) < of(Metric::DelayMean, 1));
    }

    #[test]
    fn an_idle_mechanism_has_its_number_of_runs() {
        let mut runs = example::comparison(3).groups.remove(0).runs;
        runs.retain(|run| run.method == "DRQL");
        assert_eq!(Breakdown::of(&runs).methods[0].never_acted(), "");
        runs.iter_mut().for_each(|run| run.never_acted.push("limiter".into()));
        runs[1].never_acted.push("pacer".into());
        assert_eq!(Breakdown::of(&runs).methods[0].never_acted(), "limiter, pacer (1 of 3 runs)");
    }
}
