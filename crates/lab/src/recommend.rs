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
//! still wait at the end of a run are not lost, but serve no call. A delay of which no packet
//! arrives is longer than all others, and so is a round trip that never ends, if another method has
//! one. If nothing arrives under any method, none is recommended. A method is *sluggish* if pages
//! load five times as long as under another, if adaptive video stalls for over one per cent more of
//! the time than under another, or if round trips exceed a second and are ten times as long as
//! under another. Of the rest, the recommended method has at least 95 % of the greatest
//! goodput; the goodput of methods that are too late or sluggish counts here only if one of the
//! rest comes within 95 % of it. Of those it has the least delay, where delays within 10 % or 1 ms
//! of the least count as equal; among equals it has the least round trip.

mod fresh;

pub use fresh::{Agreement, agreement, over_all};

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
/// Greatest page load, as a multiple of another method's.
const PAGES: f64 = 5.0;
/// Greatest stall time of adaptive video above the least of all methods, in percent of the time
/// watched. Stalls for one per cent more of the time shorten the viewing of a live event
/// of 90 minutes by over three minutes (Dobrian et al., SIGCOMM 2011).
const STALLED_PERCENT: f64 = 1.0;
/// Greatest round trip in ms, unless no other method has a tenth of it.
const RTT_MS: f64 = 1000.0;
/// See [`RTT_MS`].
const RTT_SHARE: f64 = 0.1;
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
    /// 99th percentile of the delay of the worst low-latency flow, in ms; none if in some run such
    /// a flow sent packets of which none arrived, though not all were dropped.
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
    /// Time in which adaptive video stalls, in percent of the time watched.
    pub dash_stalled_percent: Option<Summary>,
    /// Mean quality of experience of a chunk of adaptive video.
    pub dash_qoe_mean: Option<Summary>,
    /// Its loss exceeds the least loss of any method by over one per cent of the packets; it is
    /// never recommended then.
    pub loses_too_much: bool,
    /// The 99th percentile of the low-latency flows' delay is above 400 ms, or no packet arrives,
    /// while it is not so for another method that does not lose too much; it is never recommended
    /// then.
    pub too_late: bool,
    /// Pages load five times as long as under another method, or not at all; or adaptive video
    /// stalls for over one per cent more of the time, or never begins; or the 95th percentile of
    /// round trips is above a second and ten times another's. The other method neither loses too
    /// much nor is too late. It is not recommended unless all are so.
    pub sluggish: bool,
    /// The first method that dominates it.
    pub dominated_by: Option<String>,
    /// The clairvoyant policy: a reference that is never recommended.
    pub yardstick: bool,
    /// It has the goodput and the delay of the best of the methods that qualify.
    pub as_good: bool,
    /// The recommended method.
    pub recommended: bool,
}

/// The numbers that decide.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Numbers {
    delay: f64,
    loss: f64,
    rtt: f64,
    /// The only number that is better when greater.
    goodput: f64,
}

impl Choice {
    /// A delay or a round trip that it lacks is endless; a loss or a goodput is 0.
    fn numbers(&self) -> Numbers {
        let mean = |summary: &Option<Summary>, none| summary.map_or(none, |s: Summary| s.mean);
        Numbers {
            delay: mean(&self.delay_ms_p99, f64::INFINITY),
            loss: mean(&self.loss_percent, 0.0),
            rtt: mean(&self.rtt_ms_p95, f64::INFINITY),
            goodput: mean(&self.goodput_mbit_s, 0.0),
        }
    }

    /// True if some packet of some flow arrived.
    #[must_use]
    pub fn carries(&self) -> bool {
        let delay = self.delay_ms_p99.or(self.delay_ms_mean);
        delay.is_some() || self.goodput_mbit_s.is_some_and(|s| s.mean > 0.0)
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
            delay_ms_p99: method
                .get(Metric::DelayP99)
                .filter(|_| !starves(summary.subject, runs, &method.method)),
            delay_ms_mean: method.get(Metric::DelayMean),
            loss_percent: losses(summary.subject, runs, &method.method),
            goodput_mbit_s: method.get(Metric::Goodput),
            rtt_ms_p95: method.get(Metric::RttP95),
            page_load_s_mean: method.get(Metric::PageLoad),
            dash_stalled_percent: method.get(Metric::DashStalled),
            dash_qoe_mean: method.get(Metric::DashQoe),
            loses_too_much: false,
            too_late: false,
            sluggish: false,
            dominated_by: None,
            yardstick: is_clairvoyant(&method.method),
            as_good: false,
            recommended: false,
        })
        .collect();
    judge(&mut choices, summary.subject.is_low_latency());
    choices
}

/// True if the delays of the runs are delays of low-latency flows.
#[must_use]
pub fn for_low_latency(groups: &[&[RunResult]]) -> bool {
    groups.iter().any(|runs| GroupSummary::of(runs).subject.is_low_latency())
}

/// The recommended method of `choices`; none if `choices` is empty or nothing arrives under any.
#[must_use]
pub fn recommended(choices: &[Choice]) -> Option<&Choice> {
    choices.iter().find(|choice| choice.recommended)
}

/// True if some run of `method` has a low-latency flow whose packets wait to the end, all that were
/// not dropped.
fn starves(subject: Subject, runs: &[RunResult], method: &str) -> bool {
    let waits = |flow: &FlowResult| {
        flow.delivered_packets == 0 && flow.entered_packets > flow.dropped_packets
    };
    let mut own = runs.iter().filter(|run| run.method == method);
    subject.is_low_latency() && own.any(|run| subject.flows(run).any(waits))
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
    let sound: Vec<&Choice> = rivals.iter().filter(|c| !loses(c) && !late(c)).collect();
    let pages = |c: &Choice| c.page_load_s_mean.map_or(f64::INFINITY, |s| s.mean);
    let least_page = sound.iter().map(|c| pages(c)).fold(f64::INFINITY, f64::min);
    let stalled = |c: &Choice| c.dash_stalled_percent.map_or(f64::INFINITY, |s| s.mean);
    let least_stalled = sound.iter().map(|c| stalled(c)).fold(f64::INFINITY, f64::min);
    let least_rtt = sound.iter().filter_map(|c| Some(c.rtt_ms_p95?.mean));
    let least_rtt = least_rtt.fold(f64::INFINITY, f64::min);
    let sluggish = |c: &Choice| {
        let rtt = c.numbers().rtt;
        let slow = least_page.is_finite() && pages(c) > PAGES * least_page;
        let choppy = least_stalled.is_finite() && stalled(c) > least_stalled + STALLED_PERCENT;
        let long = least_rtt.is_finite() && rtt > RTT_MS && least_rtt <= RTT_SHARE * rtt;
        slow || choppy || long
    };
    for choice in choices.iter_mut().filter(|c| !c.yardstick) {
        choice.loses_too_much = loses(choice);
        choice.too_late = late(choice) && !sound.is_empty();
        choice.sluggish = sluggish(choice);
        choice.dominated_by =
            rivals.iter().find(|rival| rival.dominates(choice)).map(|rival| rival.method.clone());
    }
    let sound: Vec<&Choice> =
        choices.iter().filter(|c| !c.yardstick && !c.loses_too_much).collect();
    let as_good = as_good(&sound);
    // Among equals the least round trip decides, then the greatest goodput.
    let order = |c: &&&Choice| (c.numbers().rtt, -c.numbers().goodput);
    let best = as_good
        .iter()
        .filter(|_| rivals.iter().any(Choice::carries))
        .min_by(|a, b| order(a).partial_cmp(&order(b)).expect("no result is not a number"));
    let Some(best) = best.map(|choice| choice.method.clone()) else { return };
    let as_good: Vec<String> = as_good.iter().map(|choice| choice.method.clone()).collect();
    for choice in choices {
        choice.as_good = as_good.contains(&choice.method);
        choice.recommended = choice.method == best;
    }
}

/// The methods that do not lose too much and have the goodput and the delay of the best.
fn as_good<'a>(sound: &[&'a Choice]) -> Vec<&'a Choice> {
    let in_time: Vec<&Choice> = sound.iter().copied().filter(|c| !c.too_late).collect();
    let swift: Vec<&Choice> = in_time.iter().copied().filter(|c| !c.sluggish).collect();
    let in_time = if swift.is_empty() { in_time } else { swift };
    let goodput = |c: &&Choice| c.numbers().goodput;
    let most = sound.iter().map(goodput).fold(0.0, f64::max);
    let most_in_time = in_time.iter().map(goodput).fold(0.0, f64::max);
    // A goodput that only late or sluggish methods approach does not count.
    let bar = if most_in_time >= GOODPUT * most { most } else { most_in_time };
    let fast: Vec<&Choice> = in_time.into_iter().filter(|c| goodput(c) >= GOODPUT * bar).collect();
    let least = fast.iter().map(|c| c.numbers().delay).fold(f64::INFINITY, f64::min);
    let enough = (least * (1.0 + AS_GOOD.0)).max(least + AS_GOOD.1);
    fast.into_iter().filter(|c| c.numbers().delay <= enough).collect()
}

#[cfg(test)]
mod tests;
