//! A recommendation over several base round trips, and how sure it is.

use super::{Choice, choices, judge, recommended};
use crate::stats::Summary;
use justfull_run::results::RunResult;
use serde::Serialize;
use std::collections::BTreeMap;

/// The methods that are in all of `of`, each with the means of its numbers, judged anew.
/// `for_low_latency`: delays are of low-latency flows.
#[must_use]
pub fn over_all(of: &[Vec<Choice>], for_low_latency: bool) -> Vec<Choice> {
    let Some((first, others)) = of.split_first() else { return Vec::new() };
    let everywhere = first.iter().filter_map(|choice| {
        let same = |list: &Vec<Choice>| list.iter().find(|c| c.method == choice.method).cloned();
        let others: Option<Vec<Choice>> = others.iter().map(same).collect();
        Some(mean(choice, &others?))
    });
    let mut all: Vec<Choice> = everywhere.collect();
    judge(&mut all, for_low_latency);
    all
}

/// `choice` with the means of its numbers and those of `others`. A number that one of them lacks is
/// none.
fn mean(choice: &Choice, others: &[Choice]) -> Choice {
    let of = |number: fn(&Choice) -> Option<Summary>| {
        let all = std::iter::once(choice).chain(others).map(|c| Some(number(c)?.mean));
        let values: Option<Vec<f64>> = all.collect();
        values.and_then(|values| Summary::of(&[values.iter().sum::<f64>() / values.len() as f64]))
    };
    Choice {
        delay_ms_p99: of(|c| c.delay_ms_p99),
        delay_ms_mean: of(|c| c.delay_ms_mean),
        loss_percent: of(|c| c.loss_percent),
        goodput_mbit_s: of(|c| c.goodput_mbit_s),
        rtt_ms_p95: of(|c| c.rtt_ms_p95),
        page_load_s_mean: of(|c| c.page_load_s_mean),
        dash_stalled_percent: of(|c| c.dash_stalled_percent),
        dash_qoe_mean: of(|c| c.dash_qoe_mean),
        ..choice.clone()
    }
}

/// How many further seeds make the same recommendation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// The seeds, each judged alone.
    pub seeds: Vec<u64>,
    /// The method that the other seeds recommend.
    pub method: String,
    /// Number of seeds under which it is as good as the best ([`Choice::as_good`]).
    pub as_good: u32,
    /// Number of seeds that recommend a method, by its name.
    pub recommended: BTreeMap<String, u32>,
}

/// Judges each of `seeds` alone over `groups`, one for each base round trip; `method` is the
/// recommended method.
#[must_use]
pub fn agreement(groups: &[&[RunResult]], seeds: &[u64], method: &str) -> Agreement {
    let mut found = Agreement {
        seeds: seeds.to_vec(),
        method: method.to_owned(),
        as_good: 0,
        recommended: BTreeMap::new(),
    };
    for seed in seeds {
        let of_group = |runs: &&[RunResult]| {
            let own: Vec<RunResult> = runs.iter().filter(|r| r.seed == *seed).cloned().collect();
            choices(&own)
        };
        let by_group: Vec<Vec<Choice>> = groups.iter().map(of_group).collect();
        let all = match &by_group[..] {
            [one] => one.clone(),
            several => over_all(several, super::for_low_latency(groups)),
        };
        found.as_good += u32::from(all.iter().any(|c| c.as_good && c.method == method));
        if let Some(choice) = recommended(&all) {
            *found.recommended.entry(choice.method.clone()).or_default() += 1;
        }
    }
    found
}
