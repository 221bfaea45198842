//! The metrics of a run: names, meanings and scopes.

mod cell;
mod flows;
mod media;
mod radio;
mod transfers;

pub use self::flows::{late_percent, pdv};

use self::cell::{awake, backlog_of_all, layer, only_slice, rlc_backlog_sd, utilisation, widest};
use self::flows::{
    drop_percent, goodput, least, mean, of_delivered, percentile, ping_rtt, rlc_at_entry, rtt,
    rtt_growth, sum, transfer_goodput, weighted, within, worst,
};
use super::subject::Subject;
use justfull_run::results::{FlowResult, RunResult};
use serde::{Deserialize, Deserializer, Serialize};

/// The evaluation of a metric: over the flows of its scope, or in the run of a cell.
enum Reading {
    Subject(fn(&[&FlowResult]) -> Option<f64>),
    Bulk(fn(&[&FlowResult]) -> Option<f64>),
    All(fn(&[&FlowResult]) -> Option<f64>),
    Cell(fn(&RunResult) -> Option<f64>),
}

/// The texts and the evaluation of a metric.
struct Row {
    name: &'static str,
    words: &'static str,
    unit: &'static str,
    decimals: usize,
    meaning: &'static str,
    reading: Reading,
}

/// The table of metrics. A row has the meaning; the key in claims and files, the words in claims,
/// the unit and the decimals; the scope and the evaluation.
macro_rules! metrics {
    ($(
        $(#[$($doc:tt)*])*
        $id:ident($name:literal, $words:literal, $unit:literal, $decimals:literal)
            = $scope:ident($read:expr);
    )*) => {
        /// One number that a run yields.
        ///
        /// "Subject" flows are the low-latency flows of a run that has any, otherwise all its
        /// flows; "bulk" flows are those that are not low-latency, so all of them in a run without
        /// low-latency flows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Metric {
            $($(#[$($doc)*])* $id,)*
        }

        /// The rows in the order of [`Metric`].
        static ROWS: [Row; Metric::ALL.len()] = [$(Row {
            name: $name,
            words: $words,
            unit: $unit,
            decimals: $decimals,
            meaning: justfull_base::doc_text!($([$($doc)*])*),
            reading: Reading::$scope($read),
        }),*];

        impl Metric {
            /// All metrics, in the order of the columns.
            pub const ALL: [Self; [$(stringify!($id)),*].len()] = [$(Self::$id),*];
        }
    };
}

metrics! {
    /// From entry into the UPF to the pull that took the packet's last byte, mean over packets.
    DelayMean("delay_ms_mean", "mean delay", "ms", 2) = Subject(|f| mean(f, |f| Some(&f.delay)));
    /// Standard deviation of that delay within a flow, mean over packets.
    DelaySd("delay_ms_sd", "standard deviation of the delay", "ms", 2)
        = Subject(|f| weighted(f, |f| (f.delay.count, f.delay.sd_ms)));
    /// 95 % of the packets waited no longer; with several flows, the worst of them.
    DelayP95("delay_ms_p95", "95th percentile of the delay", "ms", 1)
        = Subject(|f| worst(f, |f| Some(&f.delay), |d| d.p95_ms));
    /// 99 % of the packets waited no longer; with several flows, the worst of them.
    DelayP99("delay_ms_p99", "99th percentile of the delay", "ms", 1)
        = Subject(|f| worst(f, |f| Some(&f.delay), |d| d.p99_ms));
    /// 99.9 % of the packets waited no longer; with several flows, the worst of them.
    DelayP999("delay_ms_p999", "99.9th percentile of the delay", "ms", 1)
        = Subject(|f| worst(f, |f| Some(&f.delay), |d| d.p999_ms));
    /// 99 % of the packets waited no longer than this beyond the least delay (PDV, RFC 5481); with
    /// several flows, the worst.
    PdvP99("pdv_ms_p99", "99th percentile of the delay beyond the least", "ms", 1)
        = Subject(|f| worst(f, |f| Some(&f.delay), |d| pdv(d, d.p99_ms)));
    /// Difference between the delays of neighbouring packets (IPDV, RFC 5481), mean without sign.
    Ipdv("ipdv_ms_mean", "difference between neighbouring delays", "ms", 2)
        = Subject(|f| weighted(f, |f| of_delivered(f, f.ipdv_mean_ms)));
    /// Interarrival jitter (RFC 3550, as iperf prints it): those differences, smoothed by a
    /// sixteenth, mean over packets.
    Jitter("jitter_ms_mean", "jitter by RFC 3550", "ms", 2)
        = Subject(|f| weighted(f, |f| of_delivered(f, f.jitter_mean_ms)));
    /// Packets delivered after the delay budget of their 5QI, in percent of those delivered.
    Late("late_percent", "packets late for their 5QI", "%", 2)
        = Subject(|f| weighted(f, |f| of_delivered(f, late_percent(f))));
    /// Jain's index over the goodputs of the bulk flows of one name, each over its own active time;
    /// with several names, the least.
    Jain("jain_index", "fairness of the bulk flows", "", 4) = Bulk(|f| least(f, |f| f.jain_index));
    /// The share of the slots' capacity that was used.
    Utilisation("utilisation", "utilisation", "", 4) = Cell(utilisation);
    /// Share of the measured window in which UEs with DRX listened, mean over these UEs.
    Awake("awake_percent", "time awake of UEs with DRX", "%", 1) = Cell(awake);
    /// New payload that reached the receivers of the bulk flows, over the time in which they are
    /// active.
    Goodput("goodput_mbit_s", "goodput of the bulk flows", "Mbit/s", 2) = Bulk(goodput);
    /// Round-trip time from which the bulk senders compute their timeouts (RFC 6298, RFC 7323 4.3;
    /// no retransmission is mistaken for its original), mean over samples.
    Rtt("rtt_ms_mean", "round-trip time of the bulk flows", "ms", 1) = Bulk(|f| mean(f, rtt));
    /// Packets dropped in any layer, in percent of the packets that entered.
    Drops("drop_percent", "low-latency packets dropped", "%", 2)
        = Subject(|f| weighted(f, drop_percent));
    /// Packets of all flows dropped in any layer, in percent of all that entered.
    DropsOfAll("drop_percent_of_all", "packets dropped, of all", "%", 2)
        = All(|f| weighted(f, drop_percent));
    /// Packets in UPF, SDAP and RLC together, averaged over pulls.
    Backlog("backlog_packets_mean", "backlog of all layers", "packets", 1) = Cell(backlog_of_all);
    /// Packets in SDAP, averaged over pulls.
    SdapBacklog("sdap_backlog_packets_mean", "SDAP backlog", "packets", 1)
        = Cell(|run| Some(layer(run, "sdap")?.backlog_packets_mean));
    /// Packets in the RLC, averaged over pulls.
    RlcBacklog("rlc_backlog_packets_mean", "RLC backlog", "packets", 1)
        = Cell(|run| Some(layer(run, "rlc")?.backlog_packets_mean));
    /// Standard deviation over time of the packets in an RLC queue, of the queue that varies most.
    RlcBacklogSd("rlc_backlog_packets_sd", "standard deviation of the RLC backlog", "packets", 1)
        = Cell(rlc_backlog_sd);
    /// Packets in the RLC when a packet entered SDAP above it.
    RlcAtEntry("rlc_at_entry_packets_mean", "RLC backlog found on entry", "packets", 1)
        = Subject(|f| weighted(f, rlc_at_entry));
    /// Lower bound of the mean delay: no policy can do better. It is the way of each packet through
    /// empty queues, its own transmission included; where the MAC deals in resource blocks or PDUs
    /// of one size, or UEs have their own channels, up to the first slot only.
    Bound("bound_ms_mean", "bound of the mean delay", "ms", 2)
        = Subject(|f| mean(f, |f| Some(&f.bound)));
    /// From an echo request's departure to its reply's return, mean over replies.
    PingRtt("ping_rtt_ms_mean", "mean round-trip time of pings", "ms", 2)
        = All(|f| mean(f, ping_rtt));
    /// Mean opinion score by the E-model (ITU-T G.107), 1 to 4.5; with several names of calls, the
    /// least.
    Mos("mos", "mean opinion score of calls", "", 2)
        = All(|f| least(f, |f| Some(f.voip.as_ref()?.mos)));
    /// 95 % of the frames were complete after no longer; with several names of videos, the
    /// greatest.
    FrameP95("frame_ms_p95", "95th percentile of the completion of frames", "ms", 1)
        = All(|f| worst(f, |f| Some(&f.frames.as_ref()?.completion), |d| d.p95_ms));
    /// Frames that were not complete within their budget, in percent of those sent.
    FrameMissed("frame_missed_percent", "frames not complete in time", "%", 2)
        = All(|f| weighted(f, media::missed));
    /// Frames whose packets all arrived, in percent of those sent.
    FrameWhole("frame_whole_percent", "frames complete", "%", 2) = All(|f| weighted(f, media::whole));
    /// Time in which rendered videos stood still, in percent of the time watched: intervals between
    /// frames of at least three times the mean of the last 30, and at least 150 ms more than it
    /// (W3C webrtc-stats).
    Frozen("frozen_percent", "time in which rendered video stood still", "%", 2)
        = All(media::frozen);
    /// 95 % of the inputs of a rendered video's user were shown after no longer; with several names
    /// of videos, the greatest.
    InputP95("input_to_frame_ms_p95", "95th percentile from an input to its frame", "ms", 1)
        = All(|f| worst(f, |f| Some(&f.frames.as_ref()?.reaction), |d| d.p95_ms));
    /// Bitrate of adaptive video, mean over chunks.
    DashBitrate("dash_bitrate_mbit_s", "mean bitrate of adaptive video", "Mbit/s", 2)
        = All(|f| weighted(f, media::bitrate));
    /// Time in which adaptive video stalled, in percent of the time watched.
    DashStalled("dash_stalled_percent", "time in which adaptive video stalled", "%", 2)
        = All(media::stalled);
    /// Chunks of adaptive video of another bitrate than the chunk before, in percent.
    DashSwitches("dash_switch_percent", "chunks of another bitrate", "%", 1)
        = All(|f| weighted(f, media::switches));
    /// From a player's first request to the start of the playback, mean over players.
    DashStartup("dash_startup_s_mean", "mean startup delay of adaptive video", "s", 2)
        = All(|f| Some(mean(f, |f| Some(&f.dash.as_ref()?.startup))? * 1e-3));
    /// Quality of experience of adaptive video: bitrate in Mbit/s, less 4.3 for each second of
    /// stall, less the change of the bitrate (QoE_lin of Pensieve); mean over chunks.
    DashQoe("dash_qoe_mean", "quality of experience of adaptive video", "", 3)
        = All(|f| weighted(f, media::qoe));
    /// From a page's first request to its last object's last byte, mean over pages.
    PageLoad("page_load_s_mean", "mean page load time", "s", 2)
        = All(|f| Some(mean(f, |f| Some(&f.pages.as_ref()?.load))? * 1e-3));
    /// Packets that waited at most 1 ms, in percent of those delivered.
    Within1("within_1ms_percent", "packets within 1 ms", "%", 1) = Subject(|f| within(f, 0));
    /// Packets that waited at most 2 ms, in percent of those delivered.
    Within2("within_2ms_percent", "packets within 2 ms", "%", 1) = Subject(|f| within(f, 1));
    /// Packets that waited at most 3 ms, in percent of those delivered.
    Within3("within_3ms_percent", "packets within 3 ms", "%", 1) = Subject(|f| within(f, 2));
    /// Packets that waited at most 4 ms, in percent of those delivered.
    Within4("within_4ms_percent", "packets within 4 ms", "%", 1) = Subject(|f| within(f, 3));
    /// Packets that waited at most 50 ms, in percent of those delivered.
    Within50("within_50ms_percent", "packets within 50 ms", "%", 1) = Subject(|f| within(f, 4));
    /// The share of the slots' capacity that was not used, in percent.
    Unused("unused_percent", "capacity left unused", "%", 2)
        = Cell(|run| Some(100.0 * (1.0 - utilisation(run)?)));
    /// Least time from an echo request's departure to its reply's return.
    PingRttLeast("ping_rtt_ms_min", "least round-trip time of pings", "ms", 2)
        = All(|f| least(f, |f| ping_rtt(f).filter(|d| d.count > 0).map(|d| d.min_ms)));
    /// Resource blocks that a slice had lent (negative: borrowed), median over slots.
    QuantumMedian("quantum_rbs_p50", "median of the quantum", "RBs", 1)
        = Cell(|run| only_slice(run).map(|slice| slice.quantum_p50));
    /// How far the median of what a slice had lent is from 0; with several slices, the greatest.
    QuantumMedianDistance("quantum_rbs_p50_distance", "distance of the quantum's median from 0", "RBs", 1)
        = Cell(|run| widest(run, |slice| slice.quantum_p50.abs()));
    /// Most resource blocks that any slice had lent or borrowed after a slot.
    QuantumMost("quantum_rbs_most", "most blocks lent or borrowed", "RBs", 1)
        = Cell(|run| widest(run, |slice| slice.quantum_max.max(-slice.quantum_min)));
    /// From the pull of the last byte until the UE had the packet whole and in order: air, HARQ,
    /// reassembly; mean over packets.
    ToUe("to_ue_ms_mean", "mean time from the last byte's pull to the UE", "ms", 2)
        = Subject(|f| mean(f, |f| Some(&f.to_ue)));
    /// From a segment being in order at the proxy that splits the bulk flows until it left for the
    /// UE; mean over segments.
    Residence("proxy_residence_ms_mean", "mean wait in the proxy", "ms", 2)
        = Bulk(|f| mean(f, |f| Some(&f.proxy.as_ref()?.residence)));
    /// From the server's sending of a segment until the UE has it, of the bulk flows that a proxy
    /// splits; mean over segments.
    ServerToUe("server_to_ue_ms_mean", "mean time from the server to the UE", "ms", 2)
        = Bulk(|f| mean(f, |f| Some(&f.proxy.as_ref()?.server_to_ue)));
    /// Half of the bulk senders' samples were no longer; with several flows, the worst of them.
    RttP50("rtt_ms_p50", "median of the round-trip time", "ms", 1)
        = Bulk(|f| worst(f, rtt, |d| d.p50_ms));
    /// 80 % of the bulk senders' samples were no longer; with several flows, the worst of them.
    RttP80("rtt_ms_p80", "80th percentile of the round-trip time", "ms", 1)
        = Bulk(|f| worst(f, rtt, |d| percentile(d, 0.8)));
    /// 90 % of the bulk senders' samples were no longer; with several flows, the worst of them.
    RttP90("rtt_ms_p90", "90th percentile of the round-trip time", "ms", 1)
        = Bulk(|f| worst(f, rtt, |d| d.p90_ms));
    /// 95 % of the bulk senders' samples were no longer; with several flows, the worst of them.
    RttP95("rtt_ms_p95", "95th percentile of the round-trip time", "ms", 1)
        = Bulk(|f| worst(f, rtt, |d| d.p95_ms));
    /// 99 % of the bulk senders' samples were no longer; with several flows, the worst of them.
    RttP99("rtt_ms_p99", "99th percentile of the round-trip time", "ms", 1)
        = Bulk(|f| worst(f, rtt, |d| d.p99_ms));
    /// Mean round-trip time beyond the flow's least one, in percent of the least; mean over
    /// samples.
    RttGrowth("rtt_growth_percent", "growth of the round-trip time", "%", 0)
        = Bulk(|f| weighted(f, rtt_growth));
    /// From the start of the run until all sized transfers were whole at their receivers.
    Completion("completion_s", "end of the last transfer", "s", 2)
        = Bulk(|f| Some(transfers::ends(f)?.last_s));
    /// From the start of the first transfer until the last sized one was whole at its receiver.
    Took("took_s", "time of the transfers", "s", 2) = Bulk(transfers::took);
    /// From the first sized transfer that was whole at its receiver to the last.
    CompletionSpread("completion_spread_s", "time between the ends of the first and the last transfer", "s", 2)
        = Bulk(|f| transfers::ends(f).map(|ends| ends.last_s - ends.first_s));
    /// Goodput of the bulk flows until the run's first sized transfer was whole at its receiver, or
    /// to the end.
    Together("together_mbit_s", "goodput while all transfers ran", "Mbit/s", 2)
        = Bulk(|f| sum(f, |f| Some(f.together_mbit_s)));
    /// Jain's index over the goodputs of all transfers, of whatever name, until the first was
    /// whole.
    JainTogether("jain_together", "fairness of all transfers while all ran", "", 4)
        = Cell(|run| run.together.jain_index);
    /// Jain's index over what the bulk flows had in flight: goodput while all ran times mean
    /// round-trip time.
    JainInFlight("jain_in_flight", "equality of the bytes in flight", "", 4)
        = Bulk(transfers::jain_in_flight);
    /// Payload that the TCP senders of the bulk flows have in flight when the run ends, together.
    InFlight("in_flight_end_kb", "payload in flight at the end", "kB", 2)
        = Bulk(|f| sum(f, |f| (f.protocol == "tcp").then_some(f.in_flight_end_bytes as f64 * 1e-3)));
    /// Packets dropped because the RLC's queue was full.
    RlcOverflow("rlc_overflow_packets", "packets that found the RLC full", "packets", 0)
        = Cell(|run| layer(run, "rlc").map(transfers::overflow));
    /// The rate of the radio's reports about one UE to a proxy, at R22's 170 B each.
    ReportRate("report_mbit_s", "rate of the reports of a UE", "Mbit/s", 2)
        = Cell(transfers::report_mbit_s);
    /// That rate, in percent of the goodput of all transfers while all ran.
    ReportShare("report_percent", "reports of a UE, of the goodput", "%", 2)
        = Cell(transfers::report_percent);
    /// From the request for an object of a page to its last byte, mean over objects.
    ObjectTime("object_s_mean", "mean time of an object", "s", 2)
        = All(|f| Some(mean(f, |f| Some(&f.pages.as_ref()?.object))? * 1e-3));
    /// Bytes of all objects of a page over its load time, without reading; mean over pages.
    TransferGoodput("transfer_goodput_kbit_s", "goodput of page loads", "kbit/s", 2)
        = All(|f| weighted(f, transfer_goodput));
    /// From the server to the UE, every packet of a page's connections; TCP's repetitions count
    /// anew.
    EndToEndMean("end_to_end_ms_mean", "mean delay server to UE", "ms", 2)
        = All(|f| mean(f, |f| Some(&f.pages.as_ref()?.end_to_end)));
    /// From the server to the UE, 95 % of the packets of a page's connections took no longer.
    EndToEndP95("end_to_end_ms_p95", "95th percentile of the delay server to UE", "ms", 2)
        = All(|f| worst(f, |f| Some(&f.pages.as_ref()?.end_to_end), |d| d.p95_ms));
    /// Retransmission timeouts of all TCP flows in the whole run, warm-up included.
    Timeouts("timeouts", "TCP timeouts", "", 0) = All(|f| sum(f, |f| Some(f.timeouts as f64)));
    /// Times that the window of RLC AM was closed and SDUs waited, over all bearers and the whole
    /// run.
    RlcStalls("rlc_stalls", "stalls of the RLC's window", "", 0)
        = Cell(|run| Some(run.rlc.stalls as f64));
    /// How long these stalls lasted together.
    RlcStalled("rlc_stalled_s", "time of these stalls", "s", 1)
        = Cell(|run| Some(run.rlc.stalled_s));
    /// Low-latency packets that waited more than 0.75 and at most 1 ms in the RLC, in percent of
    /// those that left it.
    Rlc750("rlc_750_to_1000us_percent", "packets that wait 0.75 to 1 ms in the RLC", "%", 1)
        = Cell(|run| radio::wait_percent(run, 0.75));
    /// Low-latency packets that waited more than 0.5 and at most 1 ms in the RLC, in percent of
    /// those that left it.
    Rlc500("rlc_500_to_1000us_percent", "packets that wait 0.5 to 1 ms in the RLC", "%", 1)
        = Cell(|run| radio::wait_percent(run, 0.5));
    /// Time of low-latency packets in SDAP, mean over packets.
    SdapWait("sdap_wait_ms_mean", "mean wait in SDAP", "ms", 2)
        = Cell(|run| Some(radio::wait(run, "sdap")?.mean_ms));
    /// Times that the RLC's bytes, averaged over a bin of the series, fell to half of their mean or
    /// below.
    RlcDrains("rlc_drains", "times that the RLC drains", "", 1) = Cell(radio::drains);
    /// RLC's bytes in the 5 s after the greatest fall of the goodput over those in the 5 s before.
    RlcAfterFall("rlc_after_fall_ratio", "RLC's bytes after the greatest fall of the goodput / before", "", 2)
        = Cell(radio::after_fall);
}

impl Metric {
    /// The metrics in which one method must not be worse to dominate another.
    pub const CONTENDED: [Self; 6] = [
        Self::DelayMean,
        Self::DelayP95,
        Self::DelayP99,
        Self::Within1,
        Self::Unused,
        Self::Goodput,
    ];

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// True if a greater value is better, for members of [`Metric::CONTENDED`].
    #[must_use]
    pub const fn grows_better(self) -> bool {
        matches!(self, Self::Within1 | Self::Goodput)
    }

    /// Key with its unit, in claims and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its words in claims.
    #[must_use]
    pub fn words(self) -> &'static str {
        self.row().words
    }

    /// Unit for people; empty for a ratio.
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.row().unit
    }

    /// Meaning, one sentence.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        self.row().meaning.trim_ascii_start()
    }

    /// Digits after the point that suit its values.
    #[must_use]
    pub fn decimals(self) -> usize {
        self.row().decimals
    }

    /// The metric called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// The flows of the metric.
    #[must_use]
    pub fn scope(self) -> Scope {
        match self.row().reading {
            Reading::Subject(_) => Scope::Subject,
            Reading::Bulk(_) => Scope::Bulk,
            Reading::All(_) => Scope::All,
            Reading::Cell(_) => Scope::Cell,
        }
    }

    /// The value in `run`; none if the run has no such flow or no such packet. The subject follows
    /// from the scenario.
    #[must_use]
    pub fn of(self, run: &RunResult) -> Option<f64> {
        self.about(Subject::of_scenario(run), run)
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

    /// The value over only `flows` of `run`, for metrics of flows; otherwise the cell's value.
    ///
    /// Several flows are pooled: means weigh by packets or samples, percentiles are those of the
    /// worst flow, and goodput covers all flows from the first start to the last end.
    #[must_use]
    pub fn among(self, flows: &[&FlowResult], run: &RunResult) -> Option<f64> {
        let value = match self.row().reading {
            Reading::Subject(read) | Reading::Bulk(read) | Reading::All(read) => read(flows),
            Reading::Cell(read) => read(run),
        };
        value.filter(|v| v.is_finite())
    }
}

/// The scope of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The flows of the subject.
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

#[cfg(test)]
mod tests;
