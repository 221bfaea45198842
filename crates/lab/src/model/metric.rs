//! The metrics of a run: names, meanings and scopes.

mod flows;
mod radio;
mod transfers;
mod words;

use self::flows::{
    drop_percent, goodput, mean_of, of_delivered, of_pages, weighted, within, worst,
};
use super::subject::Subject;
use justfull_run::results::{Distribution, FlowResult, LayerResult, RunResult, SliceResult};
use serde::{Deserialize, Deserializer, Serialize};

/// One number that a run yields.
///
/// "Subject" flows are the low-latency flows of a run that has any, otherwise all its flows; "bulk"
/// flows are those that are not low-latency, so all of them in a run without low-latency flows.
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
    /// Mean interarrival jitter (RFC 3550) of the subject flows, in ms.
    Jitter,
    /// Packets of the subject flows that were delivered after their delay budget, in percent of
    /// those delivered.
    Late,
    /// Least of Jain's indices over the bulk flows of a name.
    Jain,
    /// Used over offered capacity, 0 to 1.
    Utilisation,
    /// Goodput of the bulk flows together, in Mbit/s, over the time in which any is active.
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
    /// Lower bound of the mean delay that any policy could have given the subject flows, in ms.
    Bound,
    /// Mean round-trip time of the pings, every reply with equal weight, in ms.
    PingRtt,
    /// Mean opinion score of calls; with several names, the least.
    Mos,
    /// 95th percentile of the time in which a frame is complete; with several names, the greatest;
    /// in ms.
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
    /// Median over slots of what the slice had lent, in resource blocks; only where there is one
    /// slice to speak of.
    QuantumMedian,
    /// Its distance from 0, of the slice where it is greatest.
    QuantumMedianDistance,
    /// Most that a slice had lent or borrowed after a slot, in resource blocks.
    QuantumMost,
    /// Mean time from the pull of the last byte until the UE had the packet, of the subject flows,
    /// in ms.
    ToUe,
    /// Mean time that the bulk flows wait in a proxy that splits them, in ms.
    Residence,
    /// Mean time from the server to the UE of the bulk flows that a proxy splits, in ms.
    ServerToUe,
    /// Median of the round-trip time of the bulk flow where it is longest, in ms.
    RttP50,
    /// 80th percentile of that round-trip time, in ms.
    RttP80,
    /// 90th percentile of that round-trip time, in ms.
    RttP90,
    /// 95th percentile of that round-trip time, in ms.
    RttP95,
    /// 99th percentile of that round-trip time, in ms.
    RttP99,
    /// What the mean round-trip time of a bulk flow is above its least, in percent of the
    /// least; samples of all flows have equal weight.
    RttGrowth,
    /// When the last sized transfer of the bulk flows was whole at its receiver, in s; only
    /// where all are.
    Completion,
    /// Time from the start of the bulk flows until the last of their sized transfers was whole at
    /// its receiver, in s; only where all are, of live runs.
    Took,
    /// Time between the ends of the first and of the last sized transfer of the bulk flows,
    /// in s; only where all are whole.
    CompletionSpread,
    /// Goodput of the bulk flows together until the run's first transfer was whole, in
    /// Mbit/s.
    Together,
    /// Jain's index over the goodputs of all transfers, of whatever name, in that time.
    JainTogether,
    /// Jain's index over the mean bytes in flight of the bulk flows in that time: goodput
    /// times mean round-trip time (Little's law).
    JainInFlight,
    /// Payload that the bulk flows have in flight at the end of the run, together, in kB.
    InFlight,
    /// Packets that found the RLC's queue full.
    RlcOverflow,
    /// Rate of the reports of the radio to a proxy, of each UE, in Mbit/s.
    ReportRate,
    /// That rate in percent of the goodput while all transfers ran.
    ReportShare,
    /// Mean time in which an object of a page is there, in s.
    ObjectTime,
    /// Mean over pages of the bytes of all their objects over their load time, in kbit/s.
    TransferGoodput,
    /// Mean time from the server to the UE of the packets of pages, in ms.
    EndToEndMean,
    /// 95th percentile of that time, where it is longest, in ms.
    EndToEndP95,
    /// Retransmission timeouts of all TCP flows in the whole run.
    Timeouts,
    /// Times that the RLC's window was closed and SDUs waited, in the whole run.
    RlcStalls,
    /// How long these stalls lasted together, in s.
    RlcStalled,
    /// Low-latency packets that waited more than 0.75 and at most 1 ms in the RLC, in percent of
    /// those that left it.
    Rlc750,
    /// The same for more than 0.5 and at most 1 ms.
    Rlc500,
    /// Mean time that low-latency packets waited in SDAP, in ms; only where some did.
    SdapWait,
    /// Times in the window in which the RLC's bytes, averaged over a bin of the series (a
    /// thousandth of the run unless the scenario says otherwise), fell to half of their mean or
    /// below.
    RlcDrains,
    /// RLC's bytes in the 5 s after the greatest fall of the goodput in the window over those in
    /// the 5 s before; the fall is that of the means over these times.
    RlcAfterFall,
}

impl Metric {
    /// All metrics, in the order of the columns.
    pub const ALL: [Self; 66] = [
        Self::DelayMean,
        Self::DelaySd,
        Self::DelayP95,
        Self::DelayP99,
        Self::DelayP999,
        Self::PdvP99,
        Self::Ipdv,
        Self::Jitter,
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
        Self::Residence,
        Self::ServerToUe,
        Self::RttP50,
        Self::RttP80,
        Self::RttP90,
        Self::RttP95,
        Self::RttP99,
        Self::RttGrowth,
        Self::Completion,
        Self::Took,
        Self::CompletionSpread,
        Self::Together,
        Self::JainTogether,
        Self::JainInFlight,
        Self::InFlight,
        Self::RlcOverflow,
        Self::ReportRate,
        Self::ReportShare,
        Self::ObjectTime,
        Self::TransferGoodput,
        Self::EndToEndMean,
        Self::EndToEndP95,
        Self::Timeouts,
        Self::RlcStalls,
        Self::RlcStalled,
        Self::Rlc750,
        Self::Rlc500,
        Self::SdapWait,
        Self::RlcDrains,
        Self::RlcAfterFall,
    ];

    /// The metrics in which one method must not be worse to dominate another.
    pub const CONTENDED: [Self; 6] = [
        Self::DelayMean,
        Self::DelayP95,
        Self::DelayP99,
        Self::Within1,
        Self::Unused,
        Self::Goodput,
    ];

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
            Self::Jitter => "jitter_ms_mean",
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
            Self::Residence => "proxy_residence_ms_mean",
            Self::ServerToUe => "server_to_ue_ms_mean",
            Self::RttP50 => "rtt_ms_p50",
            Self::RttP80 => "rtt_ms_p80",
            Self::RttP90 => "rtt_ms_p90",
            Self::RttP95 => "rtt_ms_p95",
            Self::RttP99 => "rtt_ms_p99",
            Self::RttGrowth => "rtt_growth_percent",
            Self::Completion => "completion_s",
            Self::Took => "took_s",
            Self::CompletionSpread => "completion_spread_s",
            Self::Together => "together_mbit_s",
            Self::JainTogether => "jain_together",
            Self::JainInFlight => "jain_in_flight",
            Self::InFlight => "in_flight_end_kb",
            Self::RlcOverflow => "rlc_overflow_packets",
            Self::ReportRate => "report_mbit_s",
            Self::ReportShare => "report_percent",
            Self::ObjectTime => "object_s_mean",
            Self::TransferGoodput => "transfer_goodput_kbit_s",
            Self::EndToEndMean => "end_to_end_ms_mean",
            Self::EndToEndP95 => "end_to_end_ms_p95",
            Self::Timeouts => "timeouts",
            Self::RlcStalls => "rlc_stalls",
            Self::RlcStalled => "rlc_stalled_s",
            Self::Rlc750 => "rlc_750_to_1000us_percent",
            Self::Rlc500 => "rlc_500_to_1000us_percent",
            Self::SdapWait => "sdap_wait_ms_mean",
            Self::RlcDrains => "rlc_drains",
            Self::RlcAfterFall => "rlc_after_fall_ratio",
        }
    }

    /// The metric called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Which flows it is about.
    #[must_use]
    pub const fn scope(self) -> Scope {
        match self {
            Self::DelayMean
            | Self::DelaySd
            | Self::DelayP95
            | Self::DelayP99
            | Self::DelayP999
            | Self::PdvP99
            | Self::Ipdv
            | Self::Jitter
            | Self::Late
            | Self::Drops
            | Self::RlcAtEntry
            | Self::Bound
            | Self::Within1
            | Self::Within2
            | Self::Within3
            | Self::Within4
            | Self::Within50
            | Self::ToUe => Scope::Subject,
            Self::Jain
            | Self::Residence
            | Self::ServerToUe
            | Self::Goodput
            | Self::Rtt
            | Self::RttP50
            | Self::RttP80
            | Self::RttP90
            | Self::RttP95
            | Self::RttP99
            | Self::RttGrowth
            | Self::Completion
            | Self::Took
            | Self::CompletionSpread
            | Self::Together
            | Self::JainInFlight
            | Self::InFlight => Scope::Bulk,
            Self::DropsOfAll
            | Self::PingRtt
            | Self::PingRttLeast
            | Self::Mos
            | Self::FrameP95
            | Self::PageLoad
            | Self::ObjectTime
            | Self::TransferGoodput
            | Self::EndToEndMean
            | Self::EndToEndP95
            | Self::Timeouts => Scope::All,
            Self::Utilisation
            | Self::Unused
            | Self::Backlog
            | Self::SdapBacklog
            | Self::RlcBacklog
            | Self::RlcBacklogSd
            | Self::QuantumMedian
            | Self::QuantumMedianDistance
            | Self::QuantumMost
            | Self::JainTogether
            | Self::RlcOverflow
            | Self::ReportRate
            | Self::ReportShare
            | Self::RlcStalls
            | Self::RlcStalled
            | Self::Rlc750
            | Self::Rlc500
            | Self::SdapWait
            | Self::RlcDrains
            | Self::RlcAfterFall => Scope::Cell,
        }
    }

    /// The value in `run`; none when the run has no such flow or no such packet. The subject is
    /// what the scenario asks about.
    #[must_use]
    pub fn of(self, run: &RunResult) -> Option<f64> {
        self.about(Subject::asked(run), run)
    }

    /// The value in `run` for the flows of `subject`.
    #[must_use]
    pub fn about(self, subject: Subject, run: &RunResult) -> Option<f64> {
        let flows: Vec<&FlowResult> = match self.scope() {
            Scope::Subject => subject.flows(run).collect(),
            Scope::Bulk => run.flows.iter().filter(|f| !f.low_latency).collect(),
            Scope::All => run.flows.iter().collect(),
            Scope::Cell => Vec::new(),
        };
        self.among(&flows, run)
    }

    /// The value over only `flows` of `run`, for metrics of flows; otherwise that of the cell.
    ///
    /// Several flows are pooled: means weigh by packets or samples, percentiles are those of the
    /// worst flow, and goodput is that of all from the first's beginning to the last's end.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "a table: one arm for each metric")]
    pub fn among(self, flows: &[&FlowResult], run: &RunResult) -> Option<f64> {
        let each = || flows.iter().copied();
        let value = match self {
            Self::DelayMean => weighted(each(), |f| mean_of(&f.delay)),
            Self::DelaySd => weighted(each(), |f| (f.delay.count, f.delay.sd_ms)),
            Self::DelayP95 => worst(flows, |d| d.p95_ms),
            Self::DelayP99 => worst(flows, |d| d.p99_ms),
            Self::DelayP999 => worst(flows, |d| d.p999_ms),
            Self::PdvP99 => worst(flows, |d| pdv(d, d.p99_ms)),
            Self::Ipdv => weighted(each(), |f| of_delivered(f, f.ipdv_mean_ms)),
            Self::Jitter => weighted(each(), |f| of_delivered(f, f.jitter_mean_ms)),
            Self::Late => weighted(each(), |f| {
                let delivered = f.delay_budget_ms.map_or(0, |_| f.delivered_packets);
                (delivered, 100.0 * f.late_packets as f64 / f.delivered_packets as f64)
            }),
            Self::Jain => each().filter_map(|f| f.jain_index).reduce(f64::min),
            Self::Goodput => goodput(flows),
            Self::Rtt => weighted(each().filter(|f| f.ping.is_none()), |f| mean_of(&f.rtt)),
            Self::Drops | Self::DropsOfAll => weighted(each(), drop_percent),
            Self::RlcAtEntry => {
                let down = each().filter(|f| f.direction != "up");
                weighted(down, |f| (f.delivered_packets, f.rlc_packets_at_entry_mean))
            }
            Self::Bound => weighted(each(), |f| mean_of(&f.bound)),
            Self::PingRtt => weighted(each().filter(|f| f.ping.is_some()), |f| mean_of(&f.rtt)),
            Self::PingRttLeast => {
                let pings = each().filter(|f| f.ping.is_some() && f.rtt.count > 0);
                pings.map(|f| f.rtt.min_ms).reduce(f64::min)
            }
            Self::Mos => each().filter_map(|f| Some(f.voip.as_ref()?.mos)).reduce(f64::min),
            Self::FrameP95 => {
                let frames = each().filter_map(|f| f.frames.as_ref());
                frames.filter(|f| f.completed > 0).map(|f| f.completion.p95_ms).reduce(f64::max)
            }
            Self::PageLoad => weighted(each(), of_pages(|p| &p.load)).map(|ms| ms * 1e-3),
            Self::ObjectTime => weighted(each(), of_pages(|p| &p.object)).map(|ms| ms * 1e-3),
            Self::TransferGoodput => weighted(each(), |f| {
                let pages =
                    f.pages.as_ref().and_then(|p| Some((p.loaded, p.transfer_goodput_kbit_s?)));
                pages.unwrap_or((0, 0.0))
            }),
            Self::EndToEndMean => weighted(each(), of_pages(|p| &p.end_to_end)),
            Self::EndToEndP95 => {
                let ways = each().filter_map(|f| Some(&f.pages.as_ref()?.end_to_end));
                ways.filter(|d| d.count > 0).map(|d| d.p95_ms).reduce(f64::max)
            }
            Self::Timeouts => each().map(|f| f.timeouts as f64).reduce(|sum, n| sum + n),
            Self::Within1 => within(flows, 0),
            Self::Within2 => within(flows, 1),
            Self::Within3 => within(flows, 2),
            Self::Within4 => within(flows, 3),
            Self::Within50 => within(flows, 4),
            Self::ToUe => weighted(each(), |f| mean_of(&f.to_ue)),
            Self::Residence => {
                weighted(each(), |f| f.proxy.as_ref().map_or((0, 0.0), |p| mean_of(&p.residence)))
            }
            Self::ServerToUe => weighted(each(), |f| {
                f.proxy.as_ref().map_or((0, 0.0), |p| mean_of(&p.server_to_ue))
            }),
            Self::RttP50 => worst_rtt(flows, |d| d.p50_ms),
            Self::RttP80 => worst_rtt(flows, |d| percentile(d, 0.8)),
            Self::RttP90 => worst_rtt(flows, |d| d.p90_ms),
            Self::RttP95 => worst_rtt(flows, |d| d.p95_ms),
            Self::RttP99 => worst_rtt(flows, |d| d.p99_ms),
            Self::RttGrowth => weighted(each().filter(|f| f.ping.is_none()), |f| {
                (f.rtt.count, 100.0 * (f.rtt.mean_ms / f.rtt.min_ms - 1.0))
            }),
            Self::Completion => transfers::ends(flows).map(|(_, last)| last),
            Self::Took => transfers::took(flows),
            Self::CompletionSpread => transfers::ends(flows).map(|(first, last)| last - first),
            Self::Together => each().map(|f| f.together_mbit_s).reduce(|sum, g| sum + g),
            Self::JainInFlight => transfers::jain_in_flight(flows),
            Self::InFlight => {
                let tcp = each().filter(|f| f.protocol == "tcp");
                tcp.map(|f| f.in_flight_end_bytes as f64 * 1e-3).reduce(|sum, kb| sum + kb)
            }
            Self::Utilisation
            | Self::Unused
            | Self::Backlog
            | Self::SdapBacklog
            | Self::RlcBacklog
            | Self::RlcBacklogSd
            | Self::QuantumMedian
            | Self::QuantumMedianDistance
            | Self::QuantumMost
            | Self::JainTogether
            | Self::RlcOverflow
            | Self::ReportRate
            | Self::ReportShare
            | Self::RlcStalls
            | Self::RlcStalled
            | Self::Rlc750
            | Self::Rlc500
            | Self::SdapWait
            | Self::RlcDrains
            | Self::RlcAfterFall => self.of_cell(run),
        };
        value.filter(|v| v.is_finite())
    }

    /// The value of a metric of the cell.
    fn of_cell(self, run: &RunResult) -> Option<f64> {
        match self {
            Self::Utilisation => (run.cell.offered > 0).then_some(run.cell.utilisation),
            Self::Unused => (run.cell.offered > 0).then_some(100.0 * (1.0 - run.cell.utilisation)),
            Self::Backlog => (!run.layers.is_empty())
                .then(|| run.layers.iter().map(|l| l.backlog_packets_mean).sum()),
            Self::SdapBacklog => layer(run, "sdap").map(|l| l.backlog_packets_mean),
            Self::RlcBacklog => layer(run, "rlc").map(|l| l.backlog_packets_mean),
            Self::RlcBacklogSd => {
                let queues = run.entities.iter().filter(|e| e.layer == "rlc");
                queues.map(|e| e.packets_sd).reduce(f64::max)
            }
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
            Self::JainTogether => run.together.jain_index,
            Self::RlcOverflow => layer(run, "rlc").map(transfers::overflow),
            Self::ReportRate => transfers::report_mbit_s(run),
            Self::ReportShare => transfers::report_percent(run),
            Self::RlcStalls => Some(run.rlc.stalls as f64),
            Self::RlcStalled => Some(run.rlc.stalled_s),
            _ => radio::of(self, run),
        }
    }
}

/// What a metric is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The flows asked about.
    Subject,
    /// The flows that are not low-latency.
    Bulk,
    /// Any flow.
    All,
    /// No flow: the cell, its queues or its slices.
    Cell,
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

/// By how much `quantile` of `d` exceeds the minimum (PDV, RFC 5481). Never below 0: a percentile
/// is read from a histogram with cells coarser than the exact minimum.
#[must_use]
pub fn pdv(d: &Distribution, quantile: f64) -> f64 {
    (quantile - d.min_ms).max(0.0)
}

fn layer<'a>(run: &'a RunResult, name: &str) -> Option<&'a LayerResult> {
    run.layers.iter().find(|l| l.layer == name)
}

/// The least time of `d` that a share of its values is at or below, from its CDF.
fn percentile(d: &Distribution, share: f64) -> f64 {
    d.cdf.iter().find(|(_, at)| *at >= share).map_or(d.max_ms, |(ms, _)| *ms)
}

fn worst_rtt(flows: &[&FlowResult], percentile: impl Fn(&Distribution) -> f64) -> Option<f64> {
    let sampled = flows.iter().filter(|f| f.ping.is_none() && f.rtt.count > 0);
    sampled.map(|f| percentile(&f.rtt)).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_run::results::ProxyResult;

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
    fn the_ways_through_a_proxy_weigh_by_segments_and_leave_others_out() {
        let of = |count, mean_ms| Distribution { count, mean_ms, ..Distribution::default() };
        let flow = |residence, server_to_ue| FlowResult {
            proxy: Some(ProxyResult { residence, server_to_ue, ..ProxyResult::default() }),
            ..FlowResult::default()
        };
        let past = FlowResult { entered_packets: 100, ..FlowResult::default() };
        let run = RunResult {
            flows: vec![flow(of(10, 4.0), of(30, 20.0)), flow(of(30, 8.0), of(10, 40.0)), past],
            ..RunResult::default()
        };
        assert_eq!(Metric::Residence.of(&run), Some(7.0));
        assert_eq!(Metric::ServerToUe.of(&run), Some(25.0));
        let run = RunResult { flows: vec![FlowResult::default()], ..RunResult::default() };
        assert_eq!(Metric::Residence.of(&run), None);
        assert_eq!(Metric::ServerToUe.of(&run), None);
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
}
