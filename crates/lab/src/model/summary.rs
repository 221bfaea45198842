//! A group of runs summarised by method: the numbers behind every table, figure and claim.

pub use super::metric::Metric;
pub use super::subject::Subject;
use crate::stats::Summary;
use justfull_run::results::RunResult;

/// Name of the policy that uses future grants; tables and figures set it apart.
pub const CLAIRVOYANT: &str = "clairvoyant";

/// True for the name [`CLAIRVOYANT`] in any letter case.
#[must_use]
pub fn is_clairvoyant(method: &str) -> bool {
    method.eq_ignore_ascii_case(CLAIRVOYANT)
}

/// A method over its seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodSummary {
    /// Name of the method.
    pub method: String,
    /// Number of runs.
    pub runs: usize,
    /// Values in the order of [`Metric::ALL`].
    values: [Option<Summary>; Metric::ALL.len()],
}

impl MethodSummary {
    /// `metric` over the runs that have it; none if no run has it.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<Summary> {
        self.values[metric as usize]
    }
}

/// All methods of a group of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSummary {
    /// The flows that delays and drops cover.
    pub subject: Subject,
    /// The methods in order of appearance, the clairvoyant policy last.
    pub methods: Vec<MethodSummary>,
    /// Bound of the mean delay, for the packets of [`bound_method`].
    pub bound: Option<Summary>,
}

impl GroupSummary {
    /// Summarises `runs`: one row for each method in order of appearance.
    #[must_use]
    pub fn of(runs: &[RunResult]) -> Self {
        let subject = Subject::of(runs);
        let methods: Vec<_> = method_names(runs)
            .into_iter()
            .map(|name| {
                let own: Vec<&RunResult> = runs.iter().filter(|r| r.method == name).collect();
                let values = Metric::ALL.map(|metric| {
                    Summary::of(
                        &own.iter().filter_map(|r| metric.about(subject, r)).collect::<Vec<_>>(),
                    )
                });
                MethodSummary { method: name, runs: own.len(), values }
            })
            .collect();
        let bound = bound_method(runs)
            .and_then(|name| methods.iter().find(|m| m.method == name))
            .and_then(|m| m.get(Metric::Bound));
        Self { subject, methods, bound }
    }
}

/// The method whose packets determine the displayed bound: the method with the most packets that
/// have a bound, the first among equals.
///
/// All methods meet the same arrivals. But a method that drops packets has only the bound of the
/// packets that it delivered, and drops are no random sample of the arrivals.
#[must_use]
pub fn bound_method(runs: &[RunResult]) -> Option<String> {
    let subject = Subject::of(runs);
    let packets = |name: &str| -> u64 {
        let own = runs.iter().filter(|run| run.method == name);
        own.flat_map(|run| subject.flows(run)).map(|f| f.bound.count).sum()
    };
    let mut best: Option<(u64, String)> = None;
    for name in method_names(runs) {
        let own = packets(&name);
        if own > best.as_ref().map_or(0, |(most, _)| *most) {
            best = Some((own, name));
        }
    }
    best.map(|(_, name)| name)
}

/// Names of the methods in order of appearance, the clairvoyant policy last.
#[must_use]
pub fn method_names(runs: &[RunResult]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for run in runs {
        if !names.contains(&run.method) {
            names.push(run.method.clone());
        }
    }
    names.sort_by_key(|name| is_clairvoyant(name));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example;

    #[test]
    fn methods_keep_their_order_and_the_clairvoyant_policy_comes_last() {
        let mut comparison = example::comparison(2);
        let runs = &mut comparison.groups[0].runs;
        runs.reverse();
        runs.sort_by_key(|r| !is_clairvoyant(&r.method));
        assert!(is_clairvoyant(&runs[0].method));
        let names = method_names(runs);
        assert_eq!(names.last().map(String::as_str), Some(CLAIRVOYANT));
        let summary = GroupSummary::of(runs);
        assert!(summary.subject.is_low_latency());
        assert_eq!(summary.methods[0].runs, 2);
        assert_eq!(summary.bound, summary.methods[0].get(Metric::Bound));
    }

    #[test]
    fn the_bound_belongs_to_the_method_with_the_fewest_losses() {
        let mut runs = example::comparison(2).groups.remove(0).runs;
        let first = runs[0].method.clone();
        assert_eq!(bound_method(&runs), Some(first.clone()));
        for flow in runs.iter_mut().filter(|r| r.method == first).flat_map(|r| &mut r.flows) {
            flow.bound.count /= 2;
        }
        let second = runs[1].method.clone();
        assert_eq!(bound_method(&runs), Some(second));
        let summary = GroupSummary::of(&runs);
        assert_eq!(summary.bound, summary.methods[1].get(Metric::Bound));
        runs.iter_mut().flat_map(|r| &mut r.flows).for_each(|f| f.bound.count = 0);
        assert_eq!(bound_method(&runs), None);
    }
}
