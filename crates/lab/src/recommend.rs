//! Recommends one of several methods for a channel and its traffic.
//!
//! Four numbers decide, each the mean over the seeds: the 99th percentile of the low-latency flows'
//! delay, the losses of these flows, the goodput of the other flows, and the 95th percentile of
//! their round trips. A method is *dominated* by another that is no worse in all four and better in
//! one.
//!
//! Delays count only packets that arrive, so a method that drops a call's packets has a smaller
//! delay and leaves more capacity to the other flows. A method is therefore not recommended if it
//! loses over one per cent of the packets more than the method that loses least. It is not
//! recommended either if its delay is above 400 ms while another method's is not: packets that
//! still wait at the end of a run are not lost, but serve no call. Of the rest, the recommended
//! method has at least 95 % of the greatest goodput; the goodput of methods that are too late
//! counts here only if a timely method comes within 95 % of it. Of those it has the least delay,
//! where delays within 10 % or 1 ms of the least count as equal; among equals it has the least
//! round trip.

use crate::model::summary::{GroupSummary, Metric, Subject, is_clairvoyant};
use crate::stats::Summary;
use justfull_run::results::{FlowResult, RunResult};
use serde::Serialize;

/// Greatest loss of a method beyond the least loss of any method, in percent of the packets: a call
/// takes one packet in a hundred (TS 23.501 Table 5.7.4-1, packet error rate of 5QI 1; ITU-T G.1010
/// allows a voice call 3 %).
const LOSS_PERCENT: f64 = 1.0;
/// Greatest 99th percentile of the low-latency flows' delay: ITU-T G.114 calls a one-way delay of
/// over 400 ms unacceptable for a call.
const DELAY_MS: f64 = 400.0;
/// Least share of the greatest goodput.
const GOODPUT: f64 = 0.95;
/// A delay counts as equal to the least if it is above it by up to this part, or by up to this many
/// ms.
const AS_GOOD: (f64, f64) = (0.1, 1.0);

/// The costs of a method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Name of the method.
    pub method: String,
    /// 99th percentile of the delay of the worst low-latency flow, in ms.
    pub delay_ms_p99: Option<Summary>,
    /// Mean delay of the low-latency flows, in ms.
    pub delay_ms_mean: Option<Summary>,
    /// Packets of the worst low-latency flow that were dropped on their way to the UE, in percent
    /// of the packets that entered the UPF in the measured window; as for the delay, UEs' flows of
    /// one name count together. Packets still queued at the end are not lost. TCP flows are left
    /// out, since they retransmit dropped packets; none if there are only TCP flows.
    pub loss_percent: Option<Summary>,
    /// Goodput of the other flows together, in Mbit/s.
    pub goodput_mbit_s: Option<Summary>,
    /// 95th percentile of the round trips of the other flow with the longest, in ms.
    pub rtt_ms_p95: Option<Summary>,
    /// Mean load time of a page, in s.
    pub page_load_s_mean: Option<Summary>,
    /// Its loss exceeds the least loss of any method by over one per cent of the packets; it is
    /// never recommended then.
    pub loses_too_much: bool,
    /// The 99th percentile of the low-latency flows' delay is above 400 ms, while it is not for
    /// another method that does not lose too much; it is never recommended then.
    pub too_late: bool,
    /// The first method that dominates it.
    pub dominated_by: Option<String>,
    /// The clairvoyant policy: a reference that is never recommended.
    pub yardstick: bool,
    /// The recommended method.
    pub recommended: bool,
}

/// The numbers that decide; 0 if the runs have none, which is then true of all methods.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Numbers {
    delay: f64,
    loss: f64,
    rtt: f64,
    /// The only number that is better when greater.
    goodput: f64,
}

impl Choice {
    fn numbers(&self) -> Numbers {
        let mean = |summary: &Option<Summary>| summary.map_or(0.0, |s| s.mean);
        Numbers {
            delay: mean(&self.delay_ms_p99),
            loss: mean(&self.loss_percent),
            rtt: mean(&self.rtt_ms_p95),
            goodput: mean(&self.goodput_mbit_s),
        }
    }

    fn dominates(&self, other: &Self) -> bool {
        let (own, its) = (self.numbers(), other.numbers());
        let no_worse = own.delay <= its.delay
            && own.loss <= its.loss
            && own.rtt <= its.rtt
            && own.goodput >= its.goodput;
        no_worse && own != its
    }
}

/// The methods of `runs`, all of one scenario, in order of appearance.
#[must_use]
pub fn choices(runs: &[RunResult]) -> Vec<Choice> {
    let summary = GroupSummary::of(runs);
    let mut choices: Vec<Choice> = summary
        .methods
        .iter()
        .map(|method| Choice {
            method: method.method.clone(),
            delay_ms_p99: method.get(Metric::DelayP99),
            delay_ms_mean: method.get(Metric::DelayMean),
            loss_percent: losses(summary.subject, runs, &method.method),
            goodput_mbit_s: method.get(Metric::Goodput),
            rtt_ms_p95: method.get(Metric::RttP95),
            page_load_s_mean: method.get(Metric::PageLoad),
            loses_too_much: false,
            too_late: false,
            dominated_by: None,
            yardstick: is_clairvoyant(&method.method),
            recommended: false,
        })
        .collect();
    judge(&mut choices, summary.subject.is_low_latency());
    choices
}

/// Losses of `method` over its runs; none without low-latency flows other than TCP.
fn losses(subject: Subject, runs: &[RunResult], method: &str) -> Option<Summary> {
    if !subject.is_low_latency() {
        return None;
    }
    let of_run = |run: &RunResult| {
        let flows = subject.flows(run).filter(|flow| flow.protocol != "tcp");
        let percent = |flow: &FlowResult| Metric::Drops.among(&[flow], run);
        flows.filter_map(percent).reduce(f64::max)
    };
    let own = runs.iter().filter(|run| run.method == method);
    Summary::of(&own.filter_map(of_run).collect::<Vec<_>>())
}

/// Marks each of `choices` that loses too much, is too late, is dominated, or is recommended.
/// Only low-latency flows count for delays if `for_low_latency`.
fn judge(choices: &mut [Choice], for_low_latency: bool) {
    let rivals: Vec<Choice> = choices.iter().filter(|c| !c.yardstick).cloned().collect();
    let least = rivals.iter().map(|c| c.numbers().loss).fold(f64::INFINITY, f64::min);
    let loses = |c: &Choice| c.numbers().loss > least + LOSS_PERCENT;
    let late = |c: &Choice| for_low_latency && c.numbers().delay > DELAY_MS;
    let one_is_in_time = rivals.iter().any(|c| !loses(c) && !late(c));
    for choice in choices.iter_mut().filter(|c| !c.yardstick) {
        choice.loses_too_much = loses(choice);
        choice.too_late = late(choice) && one_is_in_time;
        choice.dominated_by =
            rivals.iter().find(|rival| rival.dominates(choice)).map(|rival| rival.method.clone());
    }
    let sound: Vec<&Choice> =
        choices.iter().filter(|c| !c.yardstick && !c.loses_too_much).collect();
    if let Some(best) = best(&sound) {
        choices.iter_mut().for_each(|choice| choice.recommended = choice.method == best);
    }
}

/// The name of the recommended method among methods that do not lose too much; none if there are
/// none.
fn best(sound: &[&Choice]) -> Option<String> {
    let in_time: Vec<&&Choice> = sound.iter().filter(|c| !c.too_late).collect();
    let goodput = |c: &&&Choice| c.numbers().goodput;
    let most = sound.iter().map(|c| c.numbers().goodput).fold(0.0, f64::max);
    let most_in_time = in_time.iter().map(goodput).fold(0.0, f64::max);
    // A goodput that only late methods come near does not count.
    let bar = if most_in_time >= GOODPUT * most { most } else { most_in_time };
    let fast: Vec<&&Choice> = in_time.into_iter().filter(|c| goodput(c) >= GOODPUT * bar).collect();
    let least = fast.iter().map(|c| c.numbers().delay).fold(f64::INFINITY, f64::min);
    let enough = (least * (1.0 + AS_GOOD.0)).max(least + AS_GOOD.1);
    let prompt = fast.into_iter().filter(|c| c.numbers().delay <= enough);
    // Of equals the method with the most goodput.
    let order = |c: &&&Choice| (c.numbers().rtt, -c.numbers().goodput);
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
            loss_percent: None,
            goodput_mbit_s: Summary::of(&[goodput]),
            rtt_ms_p95: Summary::of(&[rtt]),
            page_load_s_mean: None,
            loses_too_much: false,
            too_late: false,
            dominated_by: None,
            yardstick: false,
            recommended: false,
        }
    }

    fn lossy(method: &str, loss: f64, delay: f64, goodput: f64) -> Choice {
        Choice { loss_percent: Summary::of(&[loss]), ..choice(method, delay, 50.0, goodput) }
    }

    /// The name of the recommended method of `choices`.
    fn recommended(choices: &[Choice]) -> Option<String> {
        let mut choices = choices.to_vec();
        judge(&mut choices, true);
        let mut found = choices.into_iter().filter(|c| c.recommended).map(|c| c.method);
        let first = found.next();
        assert_eq!(found.next(), None, "one at most");
        first
    }

    #[test]
    fn a_method_is_dominated_by_one_that_is_better_in_one_number_and_worse_in_none() {
        let a = choice("a", 5.0, 50.0, 10.0);
        assert!(!a.dominates(&a), "an equal");
        assert!(a.dominates(&choice("b", 5.0, 50.0, 9.9)));
        assert!(!a.dominates(&choice("b", 4.9, 90.0, 9.0)));
        assert!(!a.dominates(&choice("b", 9.0, 49.0, 9.0)));
        assert!(!a.dominates(&choice("b", 9.0, 90.0, 10.1)));
        let (a, b) = (lossy("a", 0.2, 5.0, 10.0), lossy("b", 0.1, 9.0, 9.0));
        assert!(!a.dominates(&b) && !b.dominates(&a), "it loses less");
        assert!(a.dominates(&lossy("b", 0.3, 5.0, 10.0)));
    }

    #[test]
    fn neither_delay_nor_goodput_is_bought_with_more_than_one_per_cent_of_losses() {
        let call = [
            lossy("sound", 0.5, 40.0, 8.0),
            lossy("deadline", 1.51, 4.0, 10.0),
            lossy("none left", 50.0, 2.0, 12.0),
        ];
        assert_eq!(recommended(&call).as_deref(), Some("sound"));
        let mut judged = call.clone();
        judge(&mut judged, true);
        assert_eq!(judged.map(|c| c.loses_too_much), [false, true, true]);
        let within = [call[0].clone(), lossy("deadline", 1.5, 4.0, 10.0)];
        assert_eq!(recommended(&within).as_deref(), Some("deadline"), "one per cent is allowed");
        assert_eq!(recommended(&call[1..]).as_deref(), Some("deadline"), "the least is beside it");
    }

    #[test]
    fn what_comes_after_400_ms_serves_no_call_if_another_is_in_time() {
        let full = choice("full", 16_000.0, 20_000.0, 10.0);
        let slow = choice("slow", 400.0, 20_000.0, 6.0);
        assert_eq!(recommended(&[full.clone(), slow.clone()]).as_deref(), Some("slow"));
        let lossy = Choice { loss_percent: Summary::of(&[2.0]), ..slow.clone() };
        assert_eq!(recommended(&[full.clone(), lossy]).as_deref(), Some("full"));
        let outage = choice("outage", 450.0, 30.0, 9.9);
        assert_eq!(recommended(&[full.clone(), outage]).as_deref(), Some("outage"));
        let most = choice("most", 5.0, 30.0, 9.6);
        let fastest = choice("fastest", 1.0, 30.0, 9.4);
        let both = [full.clone(), most, fastest];
        assert_eq!(recommended(&both).as_deref(), Some("most"), "94 % of the first");
        let mut downloads = [full, slow];
        judge(&mut downloads, false);
        assert_eq!(downloads.map(|c| c.too_late), [false, false], "of downloads");
    }

    #[test]
    fn the_clairvoyant_policy_sets_no_bar_for_losses() {
        let yardstick = Choice { yardstick: true, ..lossy("clairvoyant", 0.0, 1.0, 12.0) };
        let choices = [yardstick, lossy("a", 3.0, 5.0, 10.0), lossy("b", 3.5, 2.0, 10.0)];
        assert_eq!(recommended(&choices).as_deref(), Some("b"));
    }

    #[test]
    fn losses_are_those_of_the_worst_low_latency_flow_without_tcp_meaned_over_the_runs() {
        let flow = |name: &str, protocol: &str, low_latency, dropped_packets| FlowResult {
            name: name.into(),
            protocol: protocol.into(),
            low_latency,
            entered_packets: 200,
            // Packets neither delivered nor dropped are still queued, and not lost.
            delivered_packets: 10,
            dropped_packets,
            ..FlowResult::default()
        };
        let run = |dropped| RunResult {
            method: "a".into(),
            flows: vec![
                flow("call", "udp", true, dropped),
                flow("game", "udp", true, 1),
                flow("video", "tcp", true, 100),
                flow("download", "tcp", false, 150),
            ],
            ..RunResult::default()
        };
        let mut runs = vec![run(2), run(6)];
        let loss = |runs: &[RunResult]| choices(runs)[0].loss_percent.map(|s| s.mean);
        assert_eq!(loss(&runs), Some(2.0), "of 1 % and 3 %");
        runs.iter_mut().for_each(|run| run.flows.drain(..2).for_each(drop));
        assert_eq!(loss(&runs), None, "TCP alone");
        runs.iter_mut().for_each(|run| run.flows.drain(..1).for_each(drop));
        assert_eq!(loss(&runs), None, "no low-latency flow");
    }

    #[test]
    fn goodput_within_a_twentieth_comes_first_then_delay_then_round_trips() {
        let rivals = [
            choice("slow", 1.0, 20.0, 9.49),
            choice("late", 9.0, 30.0, 10.0),
            choice("long", 2.0, 3000.0, 9.9),
            choice("right", 2.9, 60.0, 9.6),
        ];
        assert_eq!(recommended(&rivals).as_deref(), Some("right"), "0.9 ms more is as good");
        assert_eq!(recommended(&rivals[..3]).as_deref(), Some("long"));
        assert_eq!(recommended(&[]), None);
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
