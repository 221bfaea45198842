//! The results of one run, as plain data in the units of their names.

use crate::handovers::CellsResult;
use justfull_ran::CarrierUse;
use justfull_ran::rlc::Stalls;
use serde::Serialize;

/// Results of one run of one method on one scenario with one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the method, e.g. `CoDel@DRQL`.
    pub method: String,
    /// Seed of the run.
    pub seed: u64,
    /// Simulated time in seconds.
    pub duration_s: f64,
    /// Start of the measured window in seconds.
    pub warmup_s: f64,
    /// One for each flow, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// One for each layer, from the top down.
    pub layers: Vec<LayerResult>,
    /// One for each queue, in the order UPF, SDAP, RLC; empty unless the scenario requests it.
    pub entities: Vec<EntityResult>,
    /// The return path from the UEs.
    pub uplink: UplinkResult,
    /// The windows of the RLC over the whole run.
    pub rlc: RlcResult,
    /// The radio.
    pub cell: CellResult,
    /// The time in which all transfers ran.
    pub together: TogetherResult,
    /// The cell's reports to a proxy.
    pub reports: ReportsResult,
    /// One for each slice; empty unless the scheduler of resource blocks lets slices lend each
    /// other blocks.
    pub slices: Vec<SliceResult>,
    /// One for each UE with DRX.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drx: Vec<DrxResult>,
    /// Backlog and capacity over time.
    pub series: Series,
    /// Fate of every packet over the whole run, including the warm-up.
    pub conservation: Conservation,
    /// The cells and handovers; none in a world with one cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<Box<CellsResult>>,
    /// One for each carrier, the PCell first; empty without carrier aggregation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carriers: Vec<CarrierResult>,
    /// Number of calls into components, a measure of work.
    pub component_calls: u64,
    /// Configured mechanisms without effect in the whole run, e.g. `limiter`, `pacer`, `rlc.aqm`:
    /// the limiter never held a packet back, the pacer never waited, the AQM neither dropped nor
    /// marked. The result is the same as without them.
    pub never_acted: Vec<String>,
    /// The first invariant that the run breaks, with its values: a bug, and the result must not be
    /// used. None in a sound run. Not part of result files.
    #[serde(skip)]
    pub broken: Option<String>,
}

/// Use of one carrier over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CarrierResult {
    /// Its name; `pcell` for the carrier of `mac.carrier`.
    pub name: String,
    /// Slots that could carry data.
    pub slots: u64,
    /// Resource blocks of these slots.
    pub offered: u64,
    /// Resource blocks that were used, also by retransmissions.
    pub used: u64,
    /// Bytes in the first transmissions of its transport blocks, with headers.
    pub bytes: u64,
}

impl From<CarrierUse> for CarrierResult {
    fn from(carrier: CarrierUse) -> Self {
        let CarrierUse { name, slots, offered, used, bytes } = carrier;
        Self { name, slots, offered, used, bytes }
    }
}

/// The limits in milliseconds for [`FlowResult::within_percent`]: A21 counts in TTIs of 1 ms.
pub const WITHIN_MS: [u64; 5] = [1, 2, 3, 4, 50];

/// A distribution of times in milliseconds. All zero and empty if `count` is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Arithmetic mean (exact).
    pub mean_ms: f64,
    /// Standard deviation of the values.
    pub sd_ms: f64,
    /// Least value.
    pub min_ms: f64,
    /// Greatest value.
    pub max_ms: f64,
    /// 25th percentile.
    pub p25_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 75th percentile.
    pub p75_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p999_ms: f64,
    /// Points (time in ms, share of values at or below it), at most 200, ascending.
    pub cdf: Vec<(f64, f64)>,
}

/// Results of one flow in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowResult {
    /// Name in the scenario.
    pub name: String,
    /// `tcp`, `udp` or `icmp`.
    pub protocol: String,
    /// Congestion control of a TCP flow, empty otherwise.
    pub control: String,
    /// Number of flows of this name, counted together.
    pub flows: u32,
    /// User equipment (of the first flow).
    pub ue: u32,
    /// QoS flow (of the first flow).
    pub qfi: u8,
    /// The scenario marks it `low_latency`.
    pub low_latency: bool,
    /// Direction of its data: `down`, to UEs, or `up`. All counts and times of packets cover data.
    /// For uploads they cover the packets on the uplink; acknowledgements on the downlink count
    /// only for the layers and for the conservation of packets.
    pub direction: String,
    /// Packets that entered the UPF; upwards, packets that the UE had to send.
    pub entered_packets: u64,
    /// Packets whose last byte left the RLC and, if the MAC allocates resource blocks, that the UE
    /// has received whole and in order; upwards, packets whose last byte left the UE.
    pub delivered_packets: u64,
    /// Packets dropped anywhere; upwards, packets that found the UE's queue full.
    pub dropped_packets: u64,
    /// Packets marked congestion experienced; the uplink marks none.
    pub marked_packets: u64,
    /// Payload bytes that reached the receiver for the first time within the window, in any order,
    /// divided by the time from `active_from_s` to `active_to_s`, in Mbit/s. Data that waited at
    /// the receiver for an earlier segment counts at its arrival, not at the closing of the gap. 0
    /// without such a time.
    pub goodput_mbit_s: f64,
    /// Time at which the first flow of this name becomes active in the measured window, in seconds
    /// since the start of the run: its `start`, regardless of its first byte. None if no flow is
    /// active in the window. Pauses in between count as active.
    pub active_from_s: Option<f64>,
    /// Time at which the last flow of this name ceases to be active in the measured window: the end
    /// of the window or, before it, the completion of a sized transfer at the receiver, or else the
    /// flow's `stop` or the later arrival of its last byte. A live flow that the scenario does not
    /// name is active from its first packet until its last payload arrives.
    pub active_to_s: Option<f64>,
    /// Time from UPF entry to the pull that took the last byte; upwards, from entry into the UE's
    /// queue to the transmission that took the last byte.
    pub delay: Distribution,
    /// Time from that pull until the UE had the packet whole and in order: the air delay, HARQ
    /// rounds, and the waits for RLC reassembly and PDCP reordering. Empty unless the MAC allocates
    /// resource blocks.
    pub to_ue: Distribution,
    /// Packets whose delay was at most each of [`WITHIN_MS`], in percent of the delivered ones;
    /// zeros without any.
    pub within_percent: [f64; WITHIN_MS.len()],
    /// A lower bound of the delay that any policy could have given the same packets (only for
    /// tracked flows to UEs). In slots of bytes, or of packets that all UEs share, it is the delay
    /// of each packet through empty queues, including its own transmission. With resource blocks,
    /// fixed PDU sizes or separate channels of UEs it ends with the first slot after the polls,
    /// which may be too short for the packet.
    pub bound: Distribution,
    /// Mean absolute difference between the delays, up to the UE, of consecutive delivered packets
    /// of a flow (IPDV, RFC 5481 section 4.1; lost packets in between are skipped), in ms; none
    /// without such a pair.
    pub ipdv_mean_ms: Option<f64>,
    /// Mean interarrival jitter of a flow (RFC 3550 section 6.4.1, as printed by iperf) after each
    /// of these packets, in ms: the same differences, smoothed by a sixteenth from 0 on.
    pub jitter_mean_ms: Option<f64>,
    /// Jain's index over the goodputs of the flows of this name, each over its own active time;
    /// flows that are never active do not count. None for a single flow or without any goodput.
    pub jain_index: Option<f64>,
    /// Packet delay budget of the flow's 5QI in ms; none if the scenario names no 5QI.
    pub delay_budget_ms: Option<f64>,
    /// Packets delivered after their budget, measured up to the UE; 0 without a budget.
    pub late_packets: u64,
    /// Round-trip time samples of a ping, or the samples from which a TCP sender computes its
    /// timeout ([`on_ack`](justfull_tcp::Sender::on_ack)). For a flow that a proxy splits, each is
    /// the sum of a sample of the radio leg and the previous sample of the server leg, without the
    /// wait in the proxy.
    pub rtt: Distribution,
    /// Mean RLC backlog in packets, over all bearers, when this flow's packets entered SDAP (T20
    /// Fig. 5).
    pub rlc_packets_at_entry_mean: f64,
    /// Retransmitted segments of a TCP flow.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts of a TCP flow.
    pub timeouts: u64,
    /// Acknowledgements of a TCP flow that reached its sender marked; none if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked_acks: Option<u64>,
    /// Payload bytes that the senders of a TCP flow have in flight at the end of the run (the pipe
    /// of RFC 6675); for a flow that a proxy splits, the sum of both legs.
    pub in_flight_end_bytes: u64,
    /// Scheduled start of the first transfer of this name, in seconds since the start of the run;
    /// only for live runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_s: Option<f64>,
    /// Time at which a sized transfer was completely acknowledged, in seconds since the start of
    /// the run.
    pub completed_s: Option<f64>,
    /// Number of transfers of this name with a size.
    pub sized: u32,
    /// Time at which all sized transfers of this name were complete at their receivers, in seconds
    /// since the start of the run; none before that.
    pub received_s: Option<f64>,
    /// Time at which the first sized transfer of this name was complete at its receiver.
    pub first_received_s: Option<f64>,
    /// Goodput until [`TogetherResult::until_s`], over the active time until then, in Mbit/s.
    pub together_mbit_s: f64,
    /// The proxy's statistics of the flow, if it splits it.
    pub proxy: Option<ProxyResult>,
    /// Requests and replies of a ping.
    pub ping: Option<PingResult>,
    /// A listener's judgement of a call.
    pub voip: Option<VoipResult>,
    /// Frames of a video.
    pub frames: Option<FrameResult>,
    /// Page loads.
    pub pages: Option<PageResult>,
    /// Adaptive video.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dash: Option<DashResult>,
    /// The floor, if the scenario requests it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<Box<FloorResult>>,
}

/// Bounds on a flow's figures under any method, and the figures of the floor's schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FloorResult {
    /// Lower bound of the 99th percentile of a low-latency flow's delay, in ms; a dropped packet
    /// has an infinite delay.
    pub delay_ms_p99: Option<f64>,
    /// The schedule's 99th percentile of this delay, in ms.
    pub schedule_delay_ms_p99: Option<f64>,
    /// Upper bound of the goodput of all other flows to UEs together, in Mbit/s.
    pub goodput_mbit_s: Option<f64>,
    /// The schedule's goodput in Mbit/s; none unless a flow always has data.
    pub schedule_goodput_mbit_s: Option<f64>,
    /// Lower bound of the round trip, in ms.
    pub rtt_ms: Option<f64>,
    /// 95th percentile of the schedule's round trips, in ms; none unless a flow always has data.
    pub schedule_rtt_ms_p95: Option<f64>,
}

impl FlowResult {
    /// Sets the goodput: `bytes` of new payload in the active time `active`, in seconds.
    pub fn set_goodput(&mut self, bytes: f64, active: Option<[f64; 2]>) {
        let active = active.filter(|[from, to]| from < to);
        self.goodput_mbit_s = active.map_or(0.0, |[from, to]| bytes * 8e-6 / (to - from));
        (self.active_from_s, self.active_to_s) = (active.map(|at| at[0]), active.map(|at| at[1]));
    }

    /// The last flow has ended at `end`, in seconds since the start of the run, which bounds the
    /// active time.
    pub fn ends(&mut self, end: f64) {
        if let Some((from, to)) = self.active_from_s.zip(self.active_to_s) {
            self.set_goodput(self.goodput_bytes(), Some([from, to.min(end)]));
        }
    }

    /// Bytes of new payload in the active time.
    #[must_use]
    pub fn goodput_bytes(&self) -> f64 {
        let time = self.active_from_s.zip(self.active_to_s).map_or(0.0, |(from, to)| to - from);
        self.goodput_mbit_s * time * 1e6 / 8.0
    }
}

/// The time from the start of the measured window until the first sized transfer in it is complete
/// at its receiver, or to the end of the window. All transfers compete until then, so their
/// goodputs are shares.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TogetherResult {
    /// End of this time, in seconds since the start of the run.
    pub until_s: f64,
    /// Jain's index over the goodputs of all transfers of any name, each over its active time until
    /// then; none for a single transfer or without any goodput.
    pub jain_index: Option<f64>,
}

/// A flow that a proxy splits into two connections, in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProxyResult {
    /// Time from the in-order arrival of a segment's last byte at the proxy to its first departure
    /// towards the UE; only for segments that arrived at the UE without retransmission.
    pub residence: Distribution,
    /// Round-trip time samples of the server, on the leg from it to the proxy.
    pub server_rtt: Distribution,
    /// Round-trip time samples of the proxy's sender, on the leg from it to the UE.
    pub radio_rtt: Distribution,
    /// Time from a server's sending of a segment's last byte until the UE has it, in order or not.
    pub server_to_ue: Distribution,
}

/// Reports of the radio over the whole run; all 0 if nobody requested any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReportsResult {
    /// Number of UEs with reports.
    pub ues: u32,
    /// Number of reports sent, including lost ones.
    pub sent: u64,
}

/// A call, over packets sent in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VoipResult {
    /// Packets dropped on the way.
    pub lost: u64,
    /// Packets that arrived after their playout.
    pub late: u64,
    /// Both counts, in percent of the packets sent.
    pub loss_percent: f64,
    /// The sum of a packet's 20 ms, the delay of the fastest packet and the de-jitter buffer.
    pub mouth_to_ear_ms: f64,
    /// R of the E-model (ITU-T G.107), 0 to 100.
    pub rating: f64,
    /// Mean opinion score from R, 1 to 4.5.
    pub mos: f64,
    /// Delay from the server to the UE.
    pub one_way: Distribution,
}

/// Frames of a video sent in the measured window. A frame that was in transit within its budget at
/// the end of the run is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FrameResult {
    /// Frames sent.
    pub sent: u64,
    /// Frames whose datagrams all arrived.
    pub completed: u64,
    /// Frames that lost a datagram.
    pub broken: u64,
    /// Complete frames that took longer than their budget.
    pub late: u64,
    /// Time from the departure of a frame's first datagram from its server to the arrival of its
    /// last at the UE.
    pub completion: Distribution,
    /// Intervals between shown frames that were freezes (W3C webrtc-stats, `freezeCount`): at least
    /// three times the mean of the last 30, and at least 150 ms more than it.
    pub freezes: u64,
    /// The time of these intervals within the measured window, in s.
    pub frozen_s: f64,
    /// The time from the first frame to the end of the run or the flow's `stop` within the measured
    /// window, in s; the sum over videos.
    pub watched_s: f64,
    /// Inputs that the UE sent.
    pub inputs: u64,
    /// Time from the sending of an input until the first frame that shows it is complete at the
    /// UE.
    pub reaction: Distribution,
}

/// Pages begun in the measured window; the rest was in transit at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageResult {
    /// Pages requested.
    pub begun: u64,
    /// Pages whose objects all arrived.
    pub loaded: u64,
    /// Time from the departure of the first request from the UE to the arrival of the last object's
    /// last byte.
    pub load: Distribution,
    /// Time from the departure of an object's request from the UE to the arrival of its last byte.
    pub object: Distribution,
    /// Delay from the server to the UE of every arrived packet of the page's connections; a TCP
    /// retransmission is a packet of its own.
    pub end_to_end: Distribution,
    /// Bytes of all objects of a page divided by its load time: the mean over pages, in kbit/s;
    /// none without a loaded page.
    pub transfer_goodput_kbit_s: Option<f64>,
}

/// Adaptive video: chunks requested in the measured window that arrived, and the playback in that
/// window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DashResult {
    /// Chunks that arrived.
    pub chunks: u64,
    /// Their mean bitrate; none without a chunk.
    pub bitrate_mean_mbit_s: Option<f64>,
    /// Chunks of another bitrate than the chunk before.
    pub switches: u64,
    /// Stalls of the playback in the measured window.
    pub stalls: u64,
    /// The time of these stalls, in s, in the measured window.
    pub stalled_s: f64,
    /// The time from the start of the playback to the end of the run or the flow's `stop`, stalls
    /// included, in s, in the measured window; the sum over players.
    pub watched_s: f64,
    /// Time from a player's first request to the start of its playback, also before the measured
    /// window.
    pub startup: Distribution,
    /// Time from the request for a chunk to the arrival of its last byte.
    pub fetch: Distribution,
    /// QoE_lin: the sum of the chunks' bitrates in Mbit/s, less the penalties of stalls and of
    /// changes of the bitrate.
    pub qoe_sum: f64,
    /// `qoe_sum` over the number of chunks, or `qoe_sum` if stalls let no chunk arrive; none
    /// without chunks and stalls.
    pub qoe_mean: Option<f64>,
}

/// The fate of the packets that UEs sent over the whole run, checked at its end:
/// `entered = delivered + overflow_drops + queued`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UplinkResult {
    /// Packets that UEs sent.
    pub entered: u64,
    /// Packets that reached their servers.
    pub delivered: u64,
    /// Packets dropped at a full queue of a UE or, in a live run, for lack of a packet buffer. With
    /// a stack: packets dropped for any reason, filtered acknowledgements included. With
    /// `uplink.cell_aqm`: received packets that it dropped, too.
    pub overflow_drops: u64,
    /// Bytes of these packets.
    pub overflow_bytes: u64,
    /// Packets waiting or on the wire at the end.
    pub queued: u64,
    /// Time from entry into the UE's queue to the PUSCH that took the last byte, for packets that
    /// entered in the measured window; empty if the uplink is no bottleneck.
    pub wait: Distribution,
    /// The stack of the uplink, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<UplinkStackResult>,
    /// The base station's AQM for the UEs' queues, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell_aqm: Option<CellAqmResult>,
    /// Zhuge at the base station, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zhuge: Option<ZhugeResult>,
}

/// Actions of Zhuge at the base station, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ZhugeResult {
    /// Packets to UEs whose delay it predicted.
    pub packets: u64,
    /// Packets of UEs on connections that it holds.
    pub acks: u64,
    /// Of these, packets that it held for longer than no time.
    pub held: u64,
    /// Reports of calls that it built.
    pub reports: u64,
    /// Holds of packets that it received in the measured window.
    pub hold: Distribution,
}

/// Actions of the base station's AQM for the UEs' queues, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CellAqmResult {
    /// Packets marked.
    pub marked: u64,
    /// Packets dropped after they had been received.
    pub dropped: u64,
    /// Bytes of these packets.
    pub dropped_bytes: u64,
}

/// Counts of the UEs and the scheduler of an uplink with a stack, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UplinkStackResult {
    /// Scheduling requests sent.
    pub requests: u64,
    /// PUSCHs for new data.
    pub grants: u64,
    /// Bytes of their transport blocks.
    pub granted_bytes: u64,
    /// Bytes of padding in them.
    pub padding_bytes: u64,
    /// Regular buffer status reports sent.
    pub regular_reports: u64,
    /// Periodic buffer status reports sent.
    pub periodic_reports: u64,
    /// Padding buffer status reports sent.
    pub padding_reports: u64,
    /// Transport blocks sent again by HARQ.
    pub repeats: u64,
    /// Acknowledgements that a later acknowledgement has replaced.
    pub filtered_acks: u64,
    /// Dropped packets by reason, without replaced acknowledgements.
    pub drops: Vec<(String, u64)>,
    /// Configured mechanisms without effect in the whole run.
    pub never_acted: Vec<String>,
}

/// Echo requests sent in the measured window, and their fate; the rest was in transit at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PingResult {
    /// Requests sent.
    pub requests: u64,
    /// Replies that arrived.
    pub replies: u64,
    /// Requests and replies that were dropped.
    pub lost: u64,
}

/// Backlog of one queue in the measured window, weighted by time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EntityResult {
    /// `LAYER.ueN.qfiN` in the UPF and in SDAP, `rlc.ueN.drbN` in the RLC.
    pub name: String,
    /// `upf`, `sdap` or `rlc`.
    pub layer: String,
    /// Mean number of packets.
    pub packets_mean: f64,
    /// Standard deviation of the number of packets.
    pub packets_sd: f64,
    /// Mean number of bytes; the packet that the RLC is sending counts in full.
    pub bytes_mean: f64,
    /// Standard deviation of the number of bytes.
    pub bytes_sd: f64,
}

/// Results of one layer in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LayerResult {
    /// `upf`, `sdap` or `rlc`.
    pub layer: String,
    /// Sojourn time of the packets of low-latency flows.
    pub low_latency_sojourn: Distribution,
    /// Sojourn time of all other packets.
    pub other_sojourn: Distribution,
    /// Drops (reason, packets), zero entries left out.
    pub drops: Vec<(String, u64)>,
    /// Packets marked.
    pub marks: u64,
    /// Backlog averaged over pulls, in packets.
    pub backlog_packets_mean: f64,
}

/// Stalls of the RLC in acknowledged mode over the whole run, including the warm-up, of all
/// bearers: the window was closed and SDUs waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RlcResult {
    /// Number of stalls.
    pub stalls: u64,
    /// Total length of the stalls, in seconds.
    pub stalled_s: f64,
}

impl From<Stalls> for RlcResult {
    fn from(stalls: Stalls) -> Self {
        Self { stalls: stalls.count, stalled_s: stalls.time.as_secs_f64() }
    }
}

/// Results of the radio in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CellResult {
    /// `packets` or `bytes`: the unit of `offered` and `used`.
    pub unit: String,
    /// Capacity of the slots.
    pub offered: u64,
    /// Part of the capacity that was used.
    pub used: u64,
    /// `used / offered`; 0 if nothing was offered.
    pub utilisation: f64,
    /// Number of slots.
    pub slots: u64,
    /// Number of slots that could have carried more than was there.
    pub starved_slots: u64,
}

/// The blocks that a slice had lent to others after each slot of the measured window (A21 section
/// IV-B, its quantum), in resource blocks; below 0 if it had borrowed. Percentiles are accurate to
/// a hundredth of a block.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SliceResult {
    /// Index in the scenario.
    pub slice: u32,
    /// Its share of the cell's resource blocks.
    pub share: f64,
    /// Number of slots.
    pub slots: u64,
    /// Arithmetic mean.
    pub quantum_mean: f64,
    /// Standard deviation over slots.
    pub quantum_sd: f64,
    /// Minimum: the greatest debt.
    pub quantum_min: f64,
    /// 25th percentile.
    pub quantum_p25: f64,
    /// Median.
    pub quantum_p50: f64,
    /// 75th percentile.
    pub quantum_p75: f64,
    /// Greatest value.
    pub quantum_max: f64,
}

/// A UE with discontinuous reception.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DrxResult {
    /// The UE.
    pub ue: u32,
    /// Share of the measured window in which it listened, in percent.
    pub awake_percent: f64,
}

/// State over time: one value per bin of `bin_s` seconds, from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Width of a bin in seconds.
    pub bin_s: f64,
    /// Mean capacity per slot, in the MAC's unit.
    pub capacity_per_slot: Vec<f64>,
    /// Mean UPF backlog before a pull, in packets.
    pub upf_packets: Vec<f64>,
    /// Mean SDAP backlog before a pull, in packets.
    pub sdap_packets: Vec<f64>,
    /// Mean RLC backlog before a pull, in packets.
    pub rlc_packets: Vec<f64>,
    /// Mean RLC backlog before a pull, in bytes.
    pub rlc_bytes: Vec<f64>,
    /// Goodput of all flows in Mbit/s.
    pub delivered_mbit_s: Vec<f64>,
    /// Width of a bin of `flows` in seconds. Not part of `result.json`.
    #[serde(skip)]
    pub flow_bin_s: f64,
    /// The first 16 flow names over time. Not part of `result.json`.
    #[serde(skip)]
    pub flows: Vec<FlowSeries>,
}

/// Delay and goodput of the flows of one name over time, from the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Name of the flows.
    pub name: String,
    /// Per bin: 10th, 50th and 90th percentile in ms of the delays of the packets delivered in it,
    /// including the warm-up; none without a packet.
    pub delay_ms: Vec<Option<[f64; 3]>>,
    /// Per bin: goodput in Mbit/s.
    pub goodput_mbit_s: Vec<f64>,
}

/// Fate of every packet of a run: `entered = delivered + dropped + queued`, checked at the end of
/// the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Conservation {
    /// Packets handed to the UPF.
    pub entered: u64,
    /// Packets taken whole by the MAC.
    pub delivered: u64,
    /// Packets dropped in any layer.
    pub dropped: u64,
    /// Packets still in a queue at the end.
    pub queued: u64,
}
