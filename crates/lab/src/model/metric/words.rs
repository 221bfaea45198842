//! What the metrics are called, in which units, and what they mean.

use super::Metric;

impl Metric {
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
            Self::Jitter => "jitter by RFC 3550",
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
            Self::ObjectTime => "mean time of an object",
            Self::TransferGoodput => "goodput of page loads",
            Self::EndToEndMean => "mean delay server to UE",
            Self::EndToEndP95 => "95th percentile of the delay server to UE",
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
            Self::Residence => "mean wait in the proxy",
            Self::ServerToUe => "mean time from the server to the UE",
            Self::RlcAtEntry => "RLC backlog found on entry",
            Self::Bound => "bound of the mean delay",
            Self::RttP50 => "median of the round-trip time",
            Self::RttP80 => "80th percentile of the round-trip time",
            Self::RttP90 => "90th percentile of the round-trip time",
            Self::RttP95 => "95th percentile of the round-trip time",
            Self::RttP99 => "99th percentile of the round-trip time",
            Self::RttGrowth => "growth of the round-trip time",
            Self::Completion => "end of the last transfer",
            Self::Took => "time of the transfers",
            Self::CompletionSpread => "time between the ends of the first and the last transfer",
            Self::Together => "goodput while all transfers ran",
            Self::JainTogether => "fairness of all transfers while all ran",
            Self::JainInFlight => "equality of the bytes in flight",
            Self::InFlight => "payload in flight at the end",
            Self::RlcOverflow => "packets that found the RLC full",
            Self::ReportRate => "rate of the reports of a UE",
            Self::ReportShare => "reports of a UE, of the goodput",
            Self::Timeouts => "TCP timeouts",
            Self::RlcStalls => "stalls of the RLC's window",
            Self::RlcStalled => "time of these stalls",
            Self::Rlc750 => "packets that wait 0.75 to 1 ms in the RLC",
            Self::Rlc500 => "packets that wait 0.5 to 1 ms in the RLC",
            Self::SdapWait => "mean wait in SDAP",
            Self::RlcDrains => "times that the RLC drains",
            Self::RlcAfterFall => "RLC's bytes after the greatest fall of the goodput / before",
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
            | Self::Jitter
            | Self::Rtt
            | Self::Bound
            | Self::PingRtt
            | Self::PingRttLeast
            | Self::ToUe
            | Self::Residence
            | Self::ServerToUe
            | Self::FrameP95
            | Self::RttP50
            | Self::RttP80
            | Self::RttP90
            | Self::RttP95
            | Self::RttP99
            | Self::EndToEndMean
            | Self::EndToEndP95
            | Self::SdapWait => "ms",
            Self::Utilisation
            | Self::Jain
            | Self::Mos
            | Self::JainTogether
            | Self::JainInFlight
            | Self::Timeouts
            | Self::RlcStalls
            | Self::RlcDrains
            | Self::RlcAfterFall => "",
            Self::PageLoad
            | Self::ObjectTime
            | Self::Completion
            | Self::Took
            | Self::CompletionSpread
            | Self::RlcStalled => "s",
            Self::TransferGoodput => "kbit/s",
            Self::InFlight => "kB",
            Self::Goodput | Self::Together | Self::ReportRate => "Mbit/s",
            Self::Drops
            | Self::DropsOfAll
            | Self::Late
            | Self::Within1
            | Self::Within2
            | Self::Within3
            | Self::Within4
            | Self::Within50
            | Self::Unused
            | Self::RttGrowth
            | Self::ReportShare
            | Self::Rlc750
            | Self::Rlc500 => "%",
            Self::Backlog
            | Self::SdapBacklog
            | Self::RlcBacklog
            | Self::RlcBacklogSd
            | Self::RlcAtEntry
            | Self::RlcOverflow => "packets",
            Self::QuantumMedian | Self::QuantumMedianDistance | Self::QuantumMost => "RBs",
        }
    }

    /// What it means, one sentence.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "a table: one arm for each metric")]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::DelayMean => {
                "From entry into the UPF to the pull that took the packet's last byte, mean over \
                 packets."
            }
            Self::DelaySd => "Standard deviation of that delay within a flow, mean over packets.",
            Self::DelayP95 => {
                "95 % of the packets waited no longer; with several flows, the worst of them."
            }
            Self::DelayP99 => {
                "99 % of the packets waited no longer; with several flows, the worst of them."
            }
            Self::DelayP999 => {
                "99.9 % of the packets waited no longer; with several flows, the worst of them."
            }
            Self::PdvP99 => {
                "99 % of the packets waited no longer than this beyond the least delay (PDV, RFC \
                 5481); with several flows, the worst."
            }
            Self::Ipdv => {
                "Difference between the delays of neighbouring packets (IPDV, RFC 5481), mean \
                 without sign."
            }
            Self::Jitter => {
                "Interarrival jitter (RFC 3550, as iperf prints it): those differences, smoothed by \
                 a sixteenth, mean over packets."
            }
            Self::Late => {
                "Packets delivered after the delay budget of their 5QI, in percent of those \
                 delivered."
            }
            Self::Jain => {
                "Jain's index over the goodputs of the bulk flows of one name, each over its own \
                 active time; with several names, the least."
            }
            Self::Utilisation => "What the slots carried over what they could have carried.",
            Self::Goodput => {
                "New payload that reached the receivers of the bulk flows, over the time in which \
                 they are active."
            }
            Self::Rtt => {
                "Round-trip time from which the bulk senders compute their timeouts (RFC 6298, RFC \
                 7323 4.3; no retransmission is mistaken for its original), mean over samples."
            }
            Self::Drops => "Packets dropped in any layer, in percent of the packets that entered.",
            Self::DropsOfAll => {
                "Packets of all flows dropped in any layer, in percent of all that entered."
            }
            Self::Backlog => "Packets in UPF, SDAP and RLC together, averaged over pulls.",
            Self::SdapBacklog => "Packets in SDAP, averaged over pulls.",
            Self::RlcBacklog => "Packets in the RLC, averaged over pulls.",
            Self::RlcBacklogSd => {
                "Standard deviation over time of the packets in an RLC queue, of the queue that \
                 varies most."
            }
            Self::RlcAtEntry => "Packets in the RLC when a packet entered SDAP above it.",
            Self::Bound => {
                "Lower bound of the mean delay: no policy can do better. It is the way of each \
                 packet through empty queues, its own transmission included; where the MAC deals \
                 in resource blocks or PDUs of one size, or UEs have their own channels, up to the \
                 first slot only."
            }
            Self::PingRtt => {
                "From an echo request's departure to its reply's return, mean over replies."
            }
            Self::Mos => {
                "Mean opinion score by the E-model (ITU-T G.107), 1 to 4.5; with several names of \
                 calls, the least."
            }
            Self::FrameP95 => {
                "95 % of the frames were complete after no longer; with several names of videos, \
                 the greatest."
            }
            Self::PageLoad => {
                "From a page's first request to its last object's last byte, mean over pages."
            }
            Self::ObjectTime => {
                "From the request for an object of a page to its last byte, mean over objects."
            }
            Self::TransferGoodput => {
                "Bytes of all objects of a page over its load time, without reading; mean over pages."
            }
            Self::EndToEndMean => {
                "From the server to the UE, every packet of a page's connections; TCP's repetitions count anew."
            }
            Self::EndToEndP95 => {
                "From the server to the UE, 95 % of the packets of a page's connections took no longer."
            }
            Self::Within1 => "Packets that waited at most 1 ms, in percent of those delivered.",
            Self::Within2 => "Packets that waited at most 2 ms, in percent of those delivered.",
            Self::Within3 => "Packets that waited at most 3 ms, in percent of those delivered.",
            Self::Within4 => "Packets that waited at most 4 ms, in percent of those delivered.",
            Self::Within50 => "Packets that waited at most 50 ms, in percent of those delivered.",
            Self::Unused => {
                "What the slots could have carried and did not, in percent of what they could."
            }
            Self::PingRttLeast => {
                "Least time from an echo request's departure to its reply's return."
            }
            Self::QuantumMedian => {
                "Resource blocks that a slice had lent (negative: borrowed), median over slots."
            }
            Self::QuantumMedianDistance => {
                "How far the median of what a slice had lent is from 0; with several slices, the \
                 greatest."
            }
            Self::ToUe => {
                "From the pull of the last byte until the UE had the packet whole and in order: \
                 air, HARQ, reassembly; mean over packets."
            }
            Self::Residence => {
                "From a segment being in order at the proxy that splits the bulk flows until it \
                 left for the UE; mean over segments."
            }
            Self::ServerToUe => {
                "From the server's sending of a segment until the UE has it, of the bulk flows \
                 that a proxy splits; mean over segments."
            }
            Self::RttP50 => {
                "Half of the bulk senders' samples were no longer; with several flows, the worst of them."
            }
            Self::RttP80 => {
                "80 % of the bulk senders' samples were no longer; with several flows, the worst of them."
            }
            Self::RttP90 => {
                "90 % of the bulk senders' samples were no longer; with several flows, the worst of them."
            }
            Self::RttP95 => {
                "95 % of the bulk senders' samples were no longer; with several flows, the worst of them."
            }
            Self::RttP99 => {
                "99 % of the bulk senders' samples were no longer; with several flows, the worst of them."
            }
            Self::RttGrowth => {
                "Mean round-trip time beyond the flow's least one, in percent of the least; mean over samples."
            }
            Self::Completion => {
                "From the start of the run until all sized transfers were whole at their receivers."
            }
            Self::Took => {
                "From the start of the first transfer until the last sized one was whole at its receiver."
            }
            Self::CompletionSpread => {
                "From the first sized transfer that was whole at its receiver to the last."
            }
            Self::Together => {
                "Goodput of the bulk flows until the run's first sized transfer was whole at its receiver, or to the end."
            }
            Self::JainTogether => {
                "Jain's index over the goodputs of all transfers, of whatever name, until the first was whole."
            }
            Self::JainInFlight => {
                "Jain's index over what the bulk flows had in flight: goodput while all ran times mean round-trip time."
            }
            Self::InFlight => {
                "Payload that the TCP senders of the bulk flows have in flight when the run ends, together."
            }
            Self::RlcOverflow => "Packets dropped because the RLC's queue was full.",
            Self::ReportRate => {
                "What the reports of the radio about one UE take on their way to a proxy, at R22's 170 B each."
            }
            Self::Timeouts => {
                "Retransmission timeouts of all TCP flows in the whole run, warm-up included."
            }
            Self::RlcStalls => {
                "Times that the window of RLC AM was closed and SDUs waited, over all bearers and the whole run."
            }
            Self::RlcStalled => "How long these stalls lasted together.",
            Self::ReportShare => {
                "That rate, in percent of the goodput of all transfers while all ran."
            }
            Self::QuantumMost => {
                "Most resource blocks that any slice had lent or borrowed after a slot."
            }
            Self::Rlc750 => {
                "Low-latency packets that waited more than 0.75 and at most 1 ms in the RLC, in \
                 percent of those that left it."
            }
            Self::Rlc500 => {
                "Low-latency packets that waited more than 0.5 and at most 1 ms in the RLC, in \
                 percent of those that left it."
            }
            Self::SdapWait => "Time of low-latency packets in SDAP, mean over packets.",
            Self::RlcDrains => {
                "Times that the RLC's bytes, averaged over a bin of the series, fell to half of \
                 their mean or below."
            }
            Self::RlcAfterFall => {
                "RLC's bytes in the 5 s after the greatest fall of the goodput over those in the \
                 5 s before."
            }
        }
    }
}
