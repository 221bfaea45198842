//! Which of several methods to take on one channel and its traffic.
//!
//! Three numbers decide, each the mean over the seeds: the 99th percentile of the low-latency
//! flows' delay, the goodput of the other flows, and the 95th percentile of their round trips. A
//! method is *dominated* by one that is no worse in any of the three and better in one. The one
//! that is recommended has at least 95 % of the greatest goodput; of those the least delay, where
//! delays within 10 % or 1 ms of the least count as equal; and of those the least round trip.

use crate::model::summary::{GroupSummary, Metric, is_clairvoyant};
use crate::stats::Summary;
use justfull_sim::results::RunResult;
use serde::Serialize;

/// Least part of the greatest goodput.
const GOODPUT: f64 = 0.95;
/// Delays up to this part, or this many ms, above the least are as good.
const AS_GOOD: (f64, f64) = (0.1, 1.0);

/// What a method costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Name of the method.
    pub method: String,
    /// 99th percentile of the delay of the worst low-latency flow, in ms.
    pub delay_ms_p99: Option<Summary>,
    /// Mean delay of the low-latency flows, in ms.
    pub delay_ms_mean: Option<Summary>,
    /// Goodput of the other flows together, in Mbit/s.
    pub goodput_mbit_s: Option<Summary>,
    /// 95th percentile of the round trips of the one of them with the longest, in ms.
    pub rtt_ms_p95: Option<Summary>,
    /// Mean time in which a page is loaded, in s.
    pub page_load_s_mean: Option<Summary>,
    /// The first method that dominates it.
    pub dominated_by: Option<String>,
    /// The clairvoyant policy: a yardstick, which is never recommended.
    pub yardstick: bool,
    /// It is the one to take.
    pub recommended: bool,
}

impl Choice {
    /// Delay and round trip, which are better if they are less, and goodput; 0 where the runs
    /// have none, which is then so of all methods.
    fn numbers(&self) -> (f64, f64, f64) {
        let mean = |summary: &Option<Summary>| summary.map_or(0.0, |s| s.mean);
        (mean(&self.delay_ms_p99), mean(&self.rtt_ms_p95), mean(&self.goodput_mbit_s))
    }

    fn dominates(&self, other: &Self) -> bool {
        let (delay, rtt, goodput) = self.numbers();
        let (its_delay, its_rtt, its_goodput) = other.numbers();
        let no_worse = delay <= its_delay && rtt <= its_rtt && goodput >= its_goodput;
        no_worse && self.numbers() != other.numbers()
    }
}

/// The methods of `runs`, which are of one scenario, in order of appearance.
#[must_use]
pub fn choices(runs: &[RunResult]) -> Vec<Choice> {
    let methods = GroupSummary::of(runs).methods;
    let mut choices: Vec<Choice> = methods
        .iter()
        .map(|method| Choice {
            method: method.method.clone(),
            delay_ms_p99: method.get(Metric::DelayP99),
            delay_ms_mean: method.get(Metric::DelayMean),
            goodput_mbit_s: method.get(Metric::Goodput),
            rtt_ms_p95: method.get(Metric::RttP95),
            page_load_s_mean: method.get(Metric::PageLoad),
            dominated_by: None,
            yardstick: is_clairvoyant(&method.method),
            recommended: false,
        })
        .collect();
    let rivals: Vec<Choice> = choices.iter().filter(|c| !c.yardstick).cloned().collect();
    for choice in choices.iter_mut().filter(|c| !c.yardstick) {
        choice.dominated_by =
            rivals.iter().find(|rival| rival.dominates(choice)).map(|rival| rival.method.clone());
    }
    if let Some(best) = best(&rivals) {
        choices.iter_mut().for_each(|choice| choice.recommended = choice.method == best);
    }
    choices
}

/// The name of the one to take; none of none.
fn best(rivals: &[Choice]) -> Option<String> {
    let most = rivals.iter().map(|c| c.numbers().2).fold(0.0, f64::max);
    let fast: Vec<&Choice> = rivals.iter().filter(|c| c.numbers().2 >= GOODPUT * most).collect();
    let least = fast.iter().map(|c| c.numbers().0).fold(f64::INFINITY, f64::min);
    let enough = (least * (1.0 + AS_GOOD.0)).max(least + AS_GOOD.1);
    let prompt = fast.into_iter().filter(|c| c.numbers().0 <= enough);
    // Of equals the one with the most goodput.
    let order = |c: &&Choice| (c.numbers().1, -c.numbers().2);
    let least =
        prompt.min_by(|a, b| order(a).partial_cmp(&order(b)).expect("no result is not a number"));
    least.map(|choice| choice.method.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(method: &str, delay: f64, rtt: f64, goodput: f64) -> Choice {
        Choice {
            method: method.into(),
            delay_ms_p99: Summary::of(&[delay]),
            delay_ms_mean: None,
            goodput_mbit_s: Summary::of(&[goodput]),
            rtt_ms_p95: Summary::of(&[rtt]),
            page_load_s_mean: None,
            dominated_by: None,
            yardstick: false,
            recommended: false,
        }
    }

    #[test]
    fn a_method_is_dominated_by_one_that_is_better_in_one_number_and_worse_in_none() {
        let a = choice("a", 5.0, 50.0, 10.0);
        assert!(!a.dominates(&a), "an equal");
        assert!(a.dominates(&choice("b", 5.0, 50.0, 9.9)));
        assert!(!a.dominates(&choice("b", 4.9, 90.0, 9.0)));
        assert!(!a.dominates(&choice("b", 9.0, 49.0, 9.0)));
        assert!(!a.dominates(&choice("b", 9.0, 90.0, 10.1)));
    }

    #[test]
    fn goodput_within_a_twentieth_comes_first_then_delay_then_round_trips() {
        let rivals = [
            choice("slow", 1.0, 20.0, 9.49),
            choice("late", 9.0, 30.0, 10.0),
            choice("long", 2.0, 3000.0, 9.9),
            choice("right", 2.9, 60.0, 9.6),
        ];
        assert_eq!(best(&rivals).as_deref(), Some("right"), "0.9 ms more is as good");
        assert_eq!(best(&rivals[..3]).as_deref(), Some("long"));
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn the_clairvoyant_policy_is_never_recommended_and_dominates_nobody() {
        let runs = crate::model::example::comparison(3).groups.remove(0).runs;
        let found = choices(&runs);
        let yardsticks: Vec<&Choice> = found.iter().filter(|c| c.yardstick).collect();
        assert!(yardsticks.len() == 1 && !yardsticks[0].recommended);
        assert_eq!(found.iter().filter(|c| c.recommended).count(), 1);
        let by = |c: &Choice| c.dominated_by.as_deref().is_some_and(is_clairvoyant);
        assert!(!found.iter().any(by));
        assert!(found.iter().all(|c| !c.recommended || c.dominated_by.is_none()));
    }
}
