//! What a group of runs says about each method: the numbers behind every table, figure and claim.

use crate::stats::Summary;
use justfull_sim::results::{Distribution, FlowResult, LayerResult, RunResult, SliceResult};
use serde::{Deserialize, Deserializer, Serialize};

/// Name of the policy that knows the grants ahead of time; tables and figures set it apart.
pub const CLAIRVOYANT: &str = "clairvoyant";

/// True for the policy called [`CLAIRVOYANT`], in any case.
#[must_use]
pub fn is_clairvoyant(method: &str) -> bool {
    method.eq_ignore_ascii_case(CLAIRVOYANT)
}

/// One number that a run yields.
///
/// "Subject" flows are the low-latency flows of a run that has any, otherwise all its flows; "bulk" flows are those
/// that are not low-latency, so all of them in a run without low-latency flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Mean delay of the subject flows, every packet with equal weight, in ms.
    DelayMean,
    /// Standard deviation of that delay within a flow, in ms.
    DelaySd,
    /// 95th percentile of the delay of the worst subject flow, in ms.
    DelayP95,
    /// 99th percentile of the delay of the worst subject flow, in ms.
    DelayP99,
    /// 99.9th percentile of the delay of the worst subject flow, in ms.
    DelayP999,
    /// 99th percentile of the packet delay variation of the worst subject flow, in ms.
    PdvP99,
    /// Mean difference between the delays of neighbours in the subject flows, in ms.
    Ipdv,
    /// Packets of the subject flows that were delivered after their delay budget, in percent of those delivered.
    Late,
    /// Least of Jain's indices over the bulk flows of a name.
    Jain,
    /// Used over offered capacity, 0 to 1.
    Utilisation,
    /// Goodput of the bulk flows together, in Mbit/s.
    Goodput,
    /// Mean round-trip time of the bulk flows, every sample with equal weight, in ms.
    Rtt,
    /// Packets of the subject flows that were dropped, in percent of those that entered.
    Drops,
    /// Packets of all flows that were dropped, in percent of those that entered.
    DropsOfAll,
    /// Backlog of all layers averaged over pulls, in packets.
    Backlog,
    /// SDAP backlog averaged over pulls, in packets.
    SdapBacklog,
    /// RLC backlog averaged over pulls, in packets.
    RlcBacklog,
    /// Standard deviation over time of the backlog of the RLC queue that varies most, in packets.
    RlcBacklogSd,
    /// RLC backlog that packets of the subject flows found when they entered the RLC, in packets.
    RlcAtEntry,
    /// Least mean delay that any policy could have given the subject flows, in ms.
    Bound,
    /// Mean round-trip time of the pings, every reply with equal weight, in ms.
    PingRtt,
    /// Mean opinion score of calls; with several names, the least.
    Mos,
    /// 95th percentile of the time in which a frame is complete; with several names, the greatest; in ms.
    FrameP95,
    /// Mean time in which a page is loaded, in s.
    PageLoad,
    /// Packets of the subject flows that waited at most 1 ms, in percent of those delivered.
    Within1,
    /// The same for 2 ms.
    Within2,
    /// The same for 3 ms.
    Within3,
    /// The same for 4 ms.
    Within4,
    /// The same for 50 ms.
    Within50,
    /// Capacity that was offered and not used, in percent.
    Unused,
    /// Least round-trip time of a ping, in ms.
    PingRttLeast,
    /// Median over slots of what the slice had lent, in resource blocks; only where there is one slice to speak of.
    QuantumMedian,
    /// Its distance from 0, of the slice where it is greatest.
    QuantumMedianDistance,
    /// Most that a slice had lent or borrowed after a slot, in resource blocks.
    QuantumMost,
    /// Mean time from the pull of the last byte until the UE had the packet, of the subject flows, in ms.
    ToUe,
}

impl Metric {
    /// All metrics, in the order of the columns.
    pub const ALL: [Self; 35] = [
        Self::DelayMean,
        Self::DelaySd,
        Self::DelayP95,
        Self::DelayP99,
        Self::DelayP999,
        Self::PdvP99,
        Self::Ipdv,
        Self::Late,
        Self::Jain,
        Self::Utilisation,
        Self::Goodput,
        Self::Rtt,
        Self::Drops,
        Self::DropsOfAll,
        Self::Backlog,
        Self::SdapBacklog,
        Self::RlcBacklog,
        Self::RlcBacklogSd,
        Self::RlcAtEntry,
        Self::Bound,
        Self::PingRtt,
        Self::Mos,
        Self::FrameP95,
        Self::PageLoad,
        Self::Within1,
        Self::Within2,
        Self::Within3,
        Self::Within4,
        Self::Within50,
        Self::Unused,
        Self::PingRttLeast,
        Self::QuantumMedian,
        Self::QuantumMedianDistance,
        Self::QuantumMost,
        Self::ToUe,
    ];

    /// What one method must not be worse in to dominate another.
    pub const CONTENDED: [Self; 6] =
        [Self::DelayMean, Self::DelayP95, Self::DelayP99, Self::Within1, Self::Unused, Self::Goodput];

    /// True when more of it is better, for those of [`Metric::CONTENDED`].
    #[must_use]
    pub const fn grows_better(self) -> bool {
        matches!(self, Self::Within1 | Self::Goodput)
    }

    /// Key with its unit, as claims and files write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DelayMean => "delay_ms_mean",
            Self::DelaySd => "delay_ms_sd",
            Self::DelayP95 => "delay_ms_p95",
            Self::DelayP99 => "delay_ms_p99",
            Self::DelayP999 => "delay_ms_p999",
            Self::PdvP99 => "pdv_ms_p99",
            Self::Ipdv => "ipdv_ms_mean",
            Self::Late => "late_percent",
            Self::Jain => "jain_index",
            Self::Utilisation => "utilisation",
            Self::Goodput => "goodput_mbit_s",
            Self::Rtt => "rtt_ms_mean",
            Self::Drops => "drop_percent",
            Self::DropsOfAll => "drop_percent_of_all",
            Self::Backlog => "backlog_packets_mean",
            Self::SdapBacklog => "sdap_backlog_packets_mean",
            Self::RlcBacklog => "rlc_backlog_packets_mean",
            Self::RlcBacklogSd => "rlc_backlog_packets_sd",
            Self::RlcAtEntry => "rlc_at_entry_packets_mean",
            Self::Bound => "bound_ms_mean",
            Self::PingRtt => "ping_rtt_ms_mean",
            Self::Mos => "mos",
            Self::FrameP95 => "frame_ms_p95",
            Self::PageLoad => "page_load_s_mean",
            Self::Within1 => "within_1ms_percent",
            Self::Within2 => "within_2ms_percent",
            Self::Within3 => "within_3ms_percent",
            Self::Within4 => "within_4ms_percent",
            Self::Within50 => "within_50ms_percent",
            Self::Unused => "unused_percent",
            Self::PingRttLeast => "ping_rtt_ms_min",
            Self::QuantumMedian => "quantum_rbs_p50",
            Self::QuantumMedianDistance => "quantum_rbs_p50_distance",
            Self::QuantumMost => "quantum_rbs_most",
            Self::ToUe => "to_ue_ms_mean",
        }
    }

    /// The metric called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// What claims call it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::DelayMean => "mean delay",
            Self::DelaySd => "standard deviation of the delay",
            Self::DelayP95 => "95th percentile of the delay",
            Self::DelayP99 => "99th percentile of the delay",
            Self::DelayP999 => "99.9th percentile of the delay",
            Self::PdvP99 => "99th percentile of the delay beyond the least",
            Self::Ipdv => "difference between neighbouring delays",
            Self::Late => "packets late for their 5QI",
            Self::Jain => "fairness of the bulk flows",
            Self::Utilisation => "utilisation",
            Self::Goodput => "goodput of the bulk flows",
            Self::Rtt => "round-trip time of the bulk flows",
            Self::Drops => "low-latency packets dropped",
            Self::DropsOfAll => "packets dropped, of all",
            Self::Backlog => "backlog of all layers",
            Self::SdapBacklog => "SDAP backlog",
            Self::RlcBacklog => "RLC backlog",
            Self::RlcBacklogSd => "standard deviation of the RLC backlog",
            Self::PingRtt => "mean round-trip time of pings",
            Self::Mos => "mean opinion score of calls",
            Self::FrameP95 => "95th percentile of the completion of frames",
            Self::PageLoad => "mean page load time",
            Self::Within1 => "packets within 1 ms",
            Self::Within2 => "packets within 2 ms",
            Self::Within3 => "packets within 3 ms",
            Self::Within4 => "packets within 4 ms",
            Self::Within50 => "packets within 50 ms",
            Self::Unused => "capacity left unused",
            Self::PingRttLeast => "least round-trip time of pings",
            Self::QuantumMedian => "median of the quantum",
            Self::QuantumMedianDistance => "distance of the quantum's median from 0",
            Self::QuantumMost => "most blocks lent or borrowed",
            Self::ToUe => "mean time from the last byte's pull to the UE",
            Self::RlcAtEntry => "RLC backlog found on entry",
            Self::Bound => "bound of the mean delay",
        }
    }

    /// Unit for people, empty for a ratio.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::DelayMean
            | Self::DelaySd
            | Self::DelayP95
            | Self::DelayP99
            | Self::DelayP999
            | Self::PdvP99
            | Self::Ipdv
            | Self::Rtt
            | Self::Bound
            | Self::PingRtt
            | Self::PingRttLeast
            | Self::ToUe
            | Self::FrameP95 => "ms",
            Self::Utilisation | Self::Jain | Self::Mos => "",
            Self::PageLoad => "s",
            Self::Goodput => "Mbit/s",
            Self::Drops
            | Self::DropsOfAll
            | Self::Late
            | Self::Within1
            | Self::Within2
            | Self::Within3
            | Self::Within4
            | Self::Within50
            | Self::Unused => "%",
            Self::Backlog | Self::SdapBacklog | Self::RlcBacklog | Self::RlcBacklogSd | Self::RlcAtEntry => {
                "packets"
            }
            Self::QuantumMedian | Self::QuantumMedianDistance | Self::QuantumMost => "RBs",
        }
    }

    /// What it means, one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::DelayMean => {
                "From entry into the UPF to the pull that took the packet's last byte, mean over packets."
            }
            Self::DelaySd => "Standard deviation of that delay within a flow, mean over packets.",
            Self::DelayP95 => "95 % of the packets waited no longer; with several flows, the worst of them.",
            Self::DelayP99 => "99 % of the packets waited no longer; with several flows, the worst of them.",
            Self::DelayP999 => {
                "99.9 % of the packets waited no longer; with several flows, the worst of them."
            }
            Self::PdvP99 => {
                "99 % of the packets waited no longer than this beyond the least delay (PDV, RFC 5481); with several flows, the worst."
            }
            Self::Ipdv => {
                "Difference between the delays of neighbouring packets (IPDV, RFC 5481), mean without sign."
            }
            Self::Late => {
                "Packets delivered after the delay budget of their 5QI, in percent of those delivered."
            }
            Self::Jain => {
                "Jain's index over the goodputs of the bulk flows of one name; with several names, the least."
            }
            Self::Utilisation => "What the slots carried over what they could have carried.",
            Self::Goodput => "New payload that reached the receivers of the bulk flows.",
            Self::Rtt => "Round-trip time that the bulk senders measured, mean over samples.",
            Self::Drops => "Packets dropped in any layer, in percent of the packets that entered.",
            Self::DropsOfAll => "Packets of all flows dropped in any layer, in percent of all that entered.",
            Self::Backlog => "Packets in UPF, SDAP and RLC together, averaged over pulls.",
            Self::SdapBacklog => "Packets in SDAP, averaged over pulls.",
            Self::RlcBacklog => "Packets in the RLC, averaged over pulls.",
            Self::RlcBacklogSd => {
                "Standard deviation over time of the packets in an RLC queue, of the queue that varies most."
            }
            Self::RlcAtEntry => "Packets in the RLC when a packet entered SDAP above it.",
            Self::Bound => {
                "The wait for the next pull after the configured polls, with no queue: no policy can do better."
            }
            Self::PingRtt => {
                "From an echo request's departure from its server to its reply's return, mean over replies."
            }
            Self::Mos => {
                "Mean opinion score by the E-model (ITU-T G.107), 1 to 4.5; with several names of calls, the least."
            }
            Self::FrameP95 => {
                "95 % of the frames were complete after no longer; with several names of videos, the greatest."
            }
            Self::PageLoad => "From a page's first request to its last object's last byte, mean over pages.",
            Self::Within1 => "Packets that waited at most 1 ms, in percent of those delivered.",
            Self::Within2 => "Packets that waited at most 2 ms, in percent of those delivered.",
            Self::Within3 => "Packets that waited at most 3 ms, in percent of those delivered.",
            Self::Within4 => "Packets that waited at most 4 ms, in percent of those delivered.",
            Self::Within50 => "Packets that waited at most 50 ms, in percent of those delivered.",
            Self::Unused => "What the slots could have carried and did not, in percent of what they could.",
            Self::PingRttLeast => "Least time from an echo request's departure to its reply's return.",
            Self::QuantumMedian => {
                "Resource blocks that a slice had lent (negative: borrowed), median over slots."
            }
            Self::QuantumMedianDistance => {
                "How far the median of what a slice had lent is from 0; with several slices, the greatest."
            }
            Self::ToUe => {
                "From the pull of the last byte until the UE had the packet whole and in order: air, HARQ, reassembly; mean over packets."
            }
            Self::QuantumMost => "Most resource blocks that any slice had lent or borrowed after a slot.",
        }
    }

    /// The value in `run`, none when the run has no such flow or no such packet.
    #[must_use]
    pub fn of(self, run: &RunResult) -> Option<f64> {
        let value = match self {
            Self::DelayMean => weighted(subject(run), |f| mean_of(&f.delay)),
            Self::DelaySd => weighted(subject(run), |f| (f.delay.count, f.delay.sd_ms)),
            Self::DelayP95 => worst(run, |d| d.p95_ms),
            Self::DelayP99 => worst(run, |d| d.p99_ms),
            Self::DelayP999 => worst(run, |d| d.p999_ms),
            Self::PdvP99 => worst(run, |d| d.p99_ms - d.min_ms),
            Self::Ipdv => weighted(subject(run), |f| {
                (f.ipdv_mean_ms.map_or(0, |_| f.delivered_packets), f.ipdv_mean_ms.unwrap_or(0.0))
            }),
            Self::Late => weighted(subject(run), |f| {
                let delivered = f.delay_budget_ms.map_or(0, |_| f.delivered_packets);
                (delivered, 100.0 * f.late_packets as f64 / f.delivered_packets as f64)
            }),
            Self::Jain => bulk(run).filter_map(|f| f.jain_index).reduce(f64::min),
            Self::Utilisation => (run.cell.offered > 0).then_some(run.cell.utilisation),
            Self::Goodput => {
                bulk(run).map(|f| f.goodput_mbit_s).fold(None, |sum, g| Some(sum.unwrap_or(0.0) + g))
            }
            Self::Rtt => weighted(bulk(run).filter(|f| f.ping.is_none()), |f| mean_of(&f.rtt)),
            Self::Drops => weighted(subject(run), drop_percent),
            Self::DropsOfAll => weighted(run.flows.iter(), drop_percent),
            Self::Backlog => {
                (!run.layers.is_empty()).then(|| run.layers.iter().map(|l| l.backlog_packets_mean).sum())
            }
            Self::SdapBacklog => layer(run, "sdap").map(|l| l.backlog_packets_mean),
            Self::RlcBacklog => layer(run, "rlc").map(|l| l.backlog_packets_mean),
            Self::RlcBacklogSd => {
                let queues = run.entities.iter().filter(|e| e.layer == "rlc");
                queues.map(|e| e.packets_sd).reduce(f64::max)
            }
            Self::RlcAtEntry => {
                weighted(subject(run), |f| (f.delivered_packets, f.rlc_packets_at_entry_mean))
            }
            Self::Bound => weighted(subject(run), |f| mean_of(&f.bound)),
            Self::PingRtt => weighted(run.flows.iter().filter(|f| f.ping.is_some()), |f| mean_of(&f.rtt)),
            Self::Mos => run.flows.iter().filter_map(|f| Some(f.voip.as_ref()?.mos)).reduce(f64::min),
            Self::FrameP95 => {
                let frames = run.flows.iter().filter_map(|f| f.frames.as_ref());
                frames.filter(|f| f.completed > 0).map(|f| f.completion.p95_ms).reduce(f64::max)
            }
            Self::Within1 => within(run, 0),
            Self::Within2 => within(run, 1),
            Self::Within3 => within(run, 2),
            Self::Within4 => within(run, 3),
            Self::Within50 => within(run, 4),
            Self::Unused => (run.cell.offered > 0).then_some(100.0 * (1.0 - run.cell.utilisation)),
            Self::PingRttLeast => {
                let pings = run.flows.iter().filter(|f| f.ping.is_some() && f.rtt.count > 0);
                pings.map(|f| f.rtt.min_ms).reduce(f64::min)
            }
            Self::ToUe => weighted(subject(run), |f| mean_of(&f.to_ue)),
            Self::QuantumMedian => match run.slices.as_slice() {
                [only] => Some(only.quantum_p50),
                _ => None,
            },
            Self::QuantumMedianDistance => {
                run.slices.iter().map(|slice| slice.quantum_p50.abs()).reduce(f64::max)
            }
            Self::QuantumMost => {
                let most = |slice: &SliceResult| slice.quantum_max.max(-slice.quantum_min);
                run.slices.iter().map(most).reduce(f64::max)
            }
            Self::PageLoad => {
                let pages = |f: &FlowResult| f.pages.as_ref().map_or((0, 0.0), |p| mean_of(&p.load));
                weighted(run.flows.iter(), pages).map(|ms| ms * 1e-3)
            }
        };
        value.filter(|v| v.is_finite())
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let name = String::deserialize(d)?;
        Self::by_name(&name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            serde::de::Error::custom(format!("found {name}, allowed is one of {known}"))
        })
    }
}

/// Low-latency flows of `run`, or all its flows when none is.
pub fn subject(run: &RunResult) -> impl Iterator<Item = &FlowResult> {
    let any = run.flows.iter().any(|f| f.low_latency);
    run.flows.iter().filter(move |f| f.low_latency || !any)
}

fn bulk(run: &RunResult) -> impl Iterator<Item = &FlowResult> {
    run.flows.iter().filter(|f| !f.low_latency)
}

fn mean_of(d: &Distribution) -> (u64, f64) {
    (d.count, d.mean_ms)
}

/// Entry `i` of [`FlowResult::within_percent`] over the subject flows.
fn within(run: &RunResult, i: usize) -> Option<f64> {
    weighted(subject(run), |f| (f.delivered_packets, f.within_percent[i]))
}

fn drop_percent(flow: &FlowResult) -> (u64, f64) {
    (flow.entered_packets, 100.0 * flow.dropped_packets as f64 / flow.entered_packets as f64)
}

fn layer<'a>(run: &'a RunResult, name: &str) -> Option<&'a LayerResult> {
    run.layers.iter().find(|l| l.layer == name)
}

/// Mean of `value` over `flows`, each weighted by its count; none when all counts are 0.
fn weighted<'a>(
    flows: impl Iterator<Item = &'a FlowResult>,
    value: impl Fn(&FlowResult) -> (u64, f64),
) -> Option<f64> {
    let (mut total, mut sum) = (0.0, 0.0);
    for (count, mean) in flows.map(value).filter(|(count, _)| *count > 0) {
        total += count as f64;
        sum += count as f64 * mean;
    }
    (total > 0.0).then(|| sum / total)
}

fn worst(run: &RunResult, percentile: impl Fn(&Distribution) -> f64) -> Option<f64> {
    subject(run).filter(|f| f.delay.count > 0).map(|f| percentile(&f.delay)).reduce(f64::max)
}

/// A method over its seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodSummary {
    /// Name of the method.
    pub method: String,
    /// Number of runs.
    pub runs: usize,
    /// In the order of [`Metric::ALL`].
    values: [Option<Summary>; Metric::ALL.len()],
}

impl MethodSummary {
    /// `metric` over the runs that have it, none when no run has.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<Summary> {
        self.values[metric as usize]
    }
}

/// All methods of a group of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSummary {
    /// The runs have low-latency flows, which delays and drops then speak of.
    pub low_latency: bool,
    /// In order of appearance, the clairvoyant policy last.
    pub methods: Vec<MethodSummary>,
    /// Bound of the mean delay, that of [`bound_method`].
    pub bound: Option<Summary>,
}

impl GroupSummary {
    /// Sums `runs` up: one row for each method in order of appearance.
    #[must_use]
    pub fn of(runs: &[RunResult]) -> Self {
        let methods: Vec<_> = method_names(runs)
            .into_iter()
            .map(|name| {
                let own: Vec<&RunResult> = runs.iter().filter(|r| r.method == name).collect();
                let values = Metric::ALL
                    .map(|metric| Summary::of(&own.iter().filter_map(|r| metric.of(r)).collect::<Vec<_>>()));
                MethodSummary { method: name, runs: own.len(), values }
            })
            .collect();
        let bound = bound_method(runs)
            .and_then(|name| methods.iter().find(|m| m.method == name))
            .and_then(|m| m.get(Metric::Bound));
        let low_latency = runs.iter().flat_map(|r| &r.flows).any(|f| f.low_latency);
        Self { low_latency, methods, bound }
    }
}

/// The method whose packets the bound is shown for: the one with the most packets that have one, the first of equals.
///
/// All methods meet the same arrivals, but a method that drops packets has the bound of those it delivered only, and
/// drops are no random sample of the arrivals.
#[must_use]
pub fn bound_method(runs: &[RunResult]) -> Option<String> {
    let packets = |name: &str| -> u64 {
        runs.iter().filter(|run| run.method == name).flat_map(subject).map(|f| f.bound.count).sum()
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
    use crate::report::example;

    #[test]
    fn metrics_stand_at_their_own_index_and_are_found_by_name() {
        for (i, metric) in Metric::ALL.into_iter().enumerate() {
            assert_eq!(metric as usize, i);
            assert_eq!(Metric::by_name(metric.name()), Some(metric));
        }
        assert_eq!(Metric::by_name("delay"), None);
    }

    #[test]
    fn low_latency_flows_are_the_subject_and_weigh_by_packets() {
        let delay = |count, mean_ms| Distribution {
            count,
            mean_ms,
            p95_ms: 2.0 * mean_ms,
            ..Distribution::default()
        };
        let flow = |low_latency, delay, goodput_mbit_s| FlowResult {
            low_latency,
            delay,
            goodput_mbit_s,
            entered_packets: 100,
            dropped_packets: 1,
            ..FlowResult::default()
        };
        let mut run = RunResult {
            flows: vec![
                flow(true, delay(300, 10.0), 0.1),
                flow(true, delay(100, 20.0), 0.1),
                flow(true, delay(0, 0.0), 0.0),
                flow(false, delay(1000, 900.0), 9.0),
            ],
            ..RunResult::default()
        };
        assert_eq!(Metric::DelayMean.of(&run), Some(12.5));
        assert_eq!(Metric::DelayP95.of(&run), Some(40.0));
        assert_eq!(Metric::Goodput.of(&run), Some(9.0));
        assert_eq!(Metric::Drops.of(&run), Some(1.0));
        assert_eq!(Metric::Utilisation.of(&run), None, "nothing was offered");
        assert_eq!(Metric::Rtt.of(&run), None, "no sample");
        run.flows.retain(|f| !f.low_latency);
        assert_eq!(Metric::DelayMean.of(&run), Some(900.0));
    }

    #[test]
    fn the_quantum_of_one_slice_has_a_sign_and_of_several_a_distance() {
        let slice = |slice, p50, min, max| SliceResult {
            slice,
            quantum_p50: p50,
            quantum_min: min,
            quantum_max: max,
            ..SliceResult::default()
        };
        let mut run = RunResult {
            slices: vec![slice(0, -7.0, -30.0, 3.0), slice(1, 6.0, -4.0, 29.0)],
            ..RunResult::default()
        };
        let three = [Metric::QuantumMedian, Metric::QuantumMedianDistance, Metric::QuantumMost];
        assert_eq!(three.map(|m| m.of(&run)), [None, Some(7.0), Some(30.0)]);
        run.slices.remove(0);
        assert_eq!(three.map(|m| m.of(&run)), [Some(6.0), Some(6.0), Some(29.0)]);
        run.slices.clear();
        assert_eq!(three.map(|m| m.of(&run)), [None; 3], "nothing is lent");
    }

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
        assert!(summary.low_latency);
        assert_eq!(summary.methods[0].runs, 2);
        assert_eq!(summary.bound, summary.methods[0].get(Metric::Bound));
    }

    #[test]
    fn the_bound_is_that_of_the_method_that_lost_the_fewest_packets() {
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
