//! Columns of `runs.csv`.

use super::table::{Column, Runs, number};
use justfull_lab::model::metric::{Metric, late_percent, pdv};
use justfull_run::results::{FloorResult, FlowResult, RunResult};

fn rlc_at_entry(flow: &FlowResult) -> Option<f64> {
    let came = flow.delivered_packets > 0 && flow.direction != "up";
    came.then_some(flow.rlc_packets_at_entry_mean)
}

fn floor(flow: &FlowResult, of: fn(&FloorResult) -> Option<f64>) -> Option<f64> {
    of(flow.floor.as_ref()?)
}

fn backlog(run: &RunResult, layer: &str) -> Option<f64> {
    run.layers.iter().find(|l| l.layer == layer).map(|l| l.backlog_packets_mean)
}

in_runs! {
    /// Columns of `runs.csv` and keys of `runs.jsonl`.
    pub static COLUMNS: Runs;

    "duration_s" "s" "Simulated time." |r| r.run.duration_s;
    "warmup_s" "s" "Start of the measured window." |r| r.run.warmup_s;
    "flow" "text" "Name of the flow." |r| &r.flow.name;
    "protocol" "text" "tcp, udp, icmp or, live only, other." |r| &r.flow.protocol;
    "control" "text" "Congestion control of a TCP flow." |r| &r.flow.control;
    "ue" "number" "User equipment." |r| u64::from(r.flow.ue);
    "qfi" "number" "QoS flow identifier." |r| u64::from(r.flow.qfi);
    "low_latency" "true or false"
        "The scenario marks this flow as low-latency." |r| r.flow.low_latency;
    "direction" "text"
        "down: data to UEs; up: data from UEs, whose packets, delay and drops are those of the \
         uplink." |r| &r.flow.direction;
    "entered_packets" "packets"
        "Packets that entered the UPF, or the UE's queue of the uplink, in the measured window."
        |r| r.flow.entered_packets;
    "delivered_packets" "packets"
        "Packets whose last byte left the RLC and that the UE got, or whose last byte left the UE."
        |r| r.flow.delivered_packets;
    "dropped_packets" "packets"
        "Packets dropped in any layer, or that found the UE's queue of the uplink full."
        |r| r.flow.dropped_packets;
    "marked_packets" "packets" "Packets marked congestion experienced." |r| r.flow.marked_packets;
    "goodput_mbit_s" "Mbit/s"
        "New payload that reached the receiver, over the time in which the flow is active."
        |r| r.flow.goodput_mbit_s;
    "active_from_s" "s"
        "Begin of that time: of the measured window, or of the first flow of this name, whenever \
         its first byte comes; empty if none is active in the window." |r| r.flow.active_from_s;
    "active_to_s" "s"
        "Its end: of the measured window, or before it when the last flow of this name ends. A \
         transfer with a size ends when it is whole at its receiver, a flow with a time to stop \
         then, or when its last byte comes after that." |r| r.flow.active_to_s;
    "delay_count" "values"
        "Time from UPF entry to the pull that took the packet's last byte; of an upload, from \
         entry into the UE's queue until its last byte was sent: number of values."
        |r| r.flow.delay.count;
    "delay" [mean sd min p25 p50 p75 p90 p95 p99 p999 max]
        "Time from UPF entry to the pull that took the packet's last byte" |r| Some(&r.flow.delay);
    "to_ue" [mean p50 p95 p99 max]
        "From that pull until the UE had the packet whole and in order, where the MAC deals in \
         resource blocks" |r| Some(&r.flow.to_ue);
    "pdv_ms_p95" "ms"
        "Packet delay variation (RFC 5481 section 4.2): delay less the least delay of the flow's \
         packets, 95th percentile." |r| number(Some(&r.flow.delay), |d| pdv(d, d.p95_ms));
    "pdv_ms_p99" "ms" "Packet delay variation: 99th percentile."
        |r| number(Some(&r.flow.delay), |d| pdv(d, d.p99_ms));
    "pdv_ms_p999" "ms" "Packet delay variation: 99.9th percentile."
        |r| number(Some(&r.flow.delay), |d| pdv(d, d.p999_ms));
    "ipdv_ms_mean" "ms"
        "Difference between the delays up to the UE of a flow's packets delivered one after the \
         other (RFC 5481 section 4.1), mean without sign." |r| r.flow.ipdv_mean_ms;
    "jitter_ms_mean" "ms"
        "Interarrival jitter (RFC 3550 section 6.4.1, as iperf prints it): those differences, \
         smoothed by a sixteenth from 0 on; mean over packets." |r| r.flow.jitter_mean_ms;
    "jain_index" "ratio"
        "Jain's index over the goodputs of the flows of this name, each over its own active time: \
         1 when equal, 1/n when one has all." |r| r.flow.jain_index;
    "delay_budget_ms" "ms"
        "Packet delay budget of the flow's 5QI (TS 23.501), from UPF to UE."
        |r| r.flow.delay_budget_ms;
    "late_packets" "packets" "Packets delivered after their budget."
        |r| r.flow.delay_budget_ms.map(|_| r.flow.late_packets);
    "late_percent" "%" "Those, in percent of the packets delivered." |r| late_percent(r.flow);
    "bound_count" "values"
        "Lower bound of the delay that any policy could have given the same packets: through \
         empty queues, with the packet's own transmission; where the MAC deals in resource blocks \
         or PDUs of one size, or UEs have their own channels, to the first slot only. Number of \
         values." |r| r.flow.bound.count;
    "bound" [mean sd min p50 p95 p99 max]
        "Lower bound of the delay that any policy could have given the same packets"
        |r| Some(&r.flow.bound);
    "floor_delay_ms_p99" "ms"
        "With `floor`: least 99th percentile of the delay that any method can reach for the \
         low-latency flow's packets, dropped ones included." |r| floor(r.flow, |f| f.delay_ms_p99);
    "schedule_delay_ms_p99" "ms"
        "What the floor's schedule reaches; empty unless all UEs share the bytes of a slot."
        |r| floor(r.flow, |f| f.schedule_delay_ms_p99);
    "floor_goodput_mbit_s" "Mbit/s"
        "With `floor`: most goodput that all flows to UEs without low latency can have together."
        |r| floor(r.flow, |f| f.goodput_mbit_s);
    "schedule_goodput_mbit_s" "Mbit/s"
        "What the floor's schedule reaches; empty unless a flow always has data."
        |r| floor(r.flow, |f| f.schedule_goodput_mbit_s);
    "floor_rtt_ms" "ms" "With `floor`: the delays of the flow's path alone."
        |r| floor(r.flow, |f| f.rtt_ms);
    "schedule_rtt_ms_p95" "ms"
        "95th percentile of the round trips in the floor's schedule, with its greatest goodput."
        |r| floor(r.flow, |f| f.schedule_rtt_ms_p95);
    "rtt_count" "values"
        "Round-trip time samples of a ping, or those from which a TCP sender computes its timeout \
         (RFC 6298, RFC 7323 4.3): one of each acknowledgement that advances or that sacks a \
         segment sent once; without timestamps, of one segment in a round trip, sent once. Where \
         a proxy splits a flow, each of the radio leg and the last of the server leg together, \
         without the wait in the proxy. Live, the kernel's smoothed value, read each 20 ms and \
         counted as often as acknowledgements have come since. Number of values."
        |r| r.flow.rtt.count;
    "rtt" [mean sd min p50 p95 p99 max]
        "Round-trip time samples of a TCP sender or of a ping" |r| Some(&r.flow.rtt);
    "proxy_residence" [mean p50 p95 p99 max]
        "From a segment being in order at the proxy that splits the flow until it left for the UE"
        |r| r.flow.proxy.as_ref().map(|p| &p.residence);
    "server_rtt" [mean min p50 p95 p99 max]
        "Round-trip time samples of the server leg of a flow that a proxy splits"
        |r| r.flow.proxy.as_ref().map(|p| &p.server_rtt);
    "radio_rtt" [mean min p50 p95 p99 max]
        "Round-trip time samples of the radio leg of a flow that a proxy splits"
        |r| r.flow.proxy.as_ref().map(|p| &p.radio_rtt);
    "server_to_ue" [mean p50 p95 p99 max]
        "From a server's sending of a segment until the UE has it, of a flow that a proxy splits"
        |r| r.flow.proxy.as_ref().map(|p| &p.server_to_ue);
    "rlc_at_entry_packets_mean" "packets"
        "RLC backlog that the flow's packets found when they entered the RLC, mean."
        |r| rlc_at_entry(r.flow);
    "retransmitted_segments" "segments" "Retransmitted segments of a TCP flow."
        |r| r.flow.retransmitted_segments;
    "timeouts" "number" "Retransmission timeouts of a TCP flow." |r| r.flow.timeouts;
    "completed_s" "s"
        "When a sized transfer was acknowledged whole, from the start of the run."
        |r| r.flow.completed_s;
    "first_received_s" "s"
        "When the first sized transfer of this name was whole at its receiver, from the start of \
         the run." |r| r.flow.first_received_s;
    "received_s" "s"
        "When all sized transfers of this name were whole at their receivers."
        |r| r.flow.received_s;
    "together_mbit_s" "Mbit/s"
        "Goodput until the first transfer of the run was whole at its receiver, or to the end: \
         what it got while all competed, over its active time until then."
        |r| r.flow.together_mbit_s;
    "jain_together" "ratio"
        "Jain's index over the goodputs of all transfers of the run, of whatever name, in that \
         time." |r| r.run.together.jain_index;
    "ping_requests" "number" "Echo requests sent in the measured window."
        |r| r.flow.ping.map(|p| p.requests);
    "ping_replies" "number" "Replies to those requests that came back."
        |r| r.flow.ping.map(|p| p.replies);
    "ping_lost" "number"
        "Those requests and replies that were dropped." |r| r.flow.ping.map(|p| p.lost);
    "voip_lost_packets" "packets" "Voice packets dropped on their way."
        |r| r.flow.voip.as_ref().map(|v| v.lost);
    "voip_late_packets" "packets"
        "Voice packets that came after their playout." |r| r.flow.voip.as_ref().map(|v| v.late);
    "voip_loss_percent" "percent" "Both, of the packets sent."
        |r| r.flow.voip.as_ref().map(|v| v.loss_percent);
    "voip_mouth_to_ear_ms" "ms"
        "A packet's 20 ms, the fastest packet's way and the de-jitter buffer."
        |r| r.flow.voip.as_ref().map(|v| v.mouth_to_ear_ms);
    "voip_r" "0 to 100" "Transmission rating R of ITU-T G.107."
        |r| r.flow.voip.as_ref().map(|v| v.rating);
    "voip_mos" "1 to 4.5" "Mean opinion score that follows from R."
        |r| r.flow.voip.as_ref().map(|v| v.mos);
    "frames_sent" "frames" "Video frames sent in the measured window."
        |r| r.flow.frames.as_ref().map(|f| f.sent);
    "frames_completed" "frames" "Frames of which every datagram arrived."
        |r| r.flow.frames.as_ref().map(|f| f.completed);
    "frames_broken" "frames" "Frames of which a datagram was lost."
        |r| r.flow.frames.as_ref().map(|f| f.broken);
    "frames_late" "frames"
        "Complete frames that took longer than their budget."
        |r| r.flow.frames.as_ref().map(|f| f.late);
    "frame" [mean p50 p95 p99 max]
        "From a frame leaving its server to its last datagram reaching the UE"
        |r| r.flow.frames.as_ref().map(|f| &f.completion);
    "freezes" "number"
        "Intervals between frames of at least three times the mean of the last 30, and at least \
         150 ms more than it (W3C webrtc-stats)." |r| r.flow.frames.as_ref().map(|f| f.freezes);
    "frozen_s" "s" "How long these intervals lasted together."
        |r| r.flow.frames.as_ref().map(|f| f.frozen_s);
    "frames_watched_s" "s"
        "From the first frame to the end of the run or the flow's `stop`, the sum over videos."
        |r| r.flow.frames.as_ref().map(|f| f.watched_s);
    "inputs" "number" "Inputs that users of rendered video sent in the measured window."
        |r| r.flow.frames.as_ref().map(|f| f.inputs);
    "input_to_frame" [mean p50 p95 p99 max]
        "From an input leaving the UE to the first complete frame that shows it"
        |r| r.flow.frames.as_ref().map(|f| &f.reaction);
    "dash_chunks" "chunks" "Chunks of adaptive video asked for in the measured window that arrived."
        |r| r.flow.dash.as_ref().map(|d| d.chunks);
    "dash_bitrate_mbit_s" "Mbit/s" "Their mean bitrate."
        |r| r.flow.dash.as_ref().and_then(|d| d.bitrate_mean_mbit_s);
    "dash_switches" "chunks" "Those of another bitrate than the chunk before."
        |r| r.flow.dash.as_ref().map(|d| d.switches);
    "dash_stalls" "number" "Times that playback stood still for an empty buffer."
        |r| r.flow.dash.as_ref().map(|d| d.stalls);
    "dash_stalled_s" "s" "How long these stalls lasted together."
        |r| r.flow.dash.as_ref().map(|d| d.stalled_s);
    "dash_watched_s" "s"
        "From the start of the playback to the end of the run or the flow's `stop`, stalls \
         included, the sum over players." |r| r.flow.dash.as_ref().map(|d| d.watched_s);
    "dash_startup" [mean max]
        "From a player's first request to the start of the playback"
        |r| r.flow.dash.as_ref().map(|d| &d.startup);
    "dash_fetch" [mean p50 p95 max]
        "From the request for a chunk to its last byte" |r| r.flow.dash.as_ref().map(|d| &d.fetch);
    "dash_qoe_sum" "number"
        "QoE_lin of Pensieve: the sum of the bitrates, less the penalties of stalls and of changes \
         of the bitrate." |r| r.flow.dash.as_ref().map(|d| d.qoe_sum);
    "dash_qoe_mean" "number" "That sum over the chunks."
        |r| r.flow.dash.as_ref().and_then(|d| d.qoe_mean);
    "pages_begun" "pages" "Pages asked for in the measured window."
        |r| r.flow.pages.as_ref().map(|p| p.begun);
    "pages_loaded" "pages" "Pages of which every object arrived."
        |r| r.flow.pages.as_ref().map(|p| p.loaded);
    "page" [mean sd p50 p95 max]
        "From a page's first request to its last byte" |r| r.flow.pages.as_ref().map(|p| &p.load);
    "object" [mean p50 p95 max]
        "From the request for an object of a page to its last byte"
        |r| r.flow.pages.as_ref().map(|p| &p.object);
    "transfer_goodput_kbit_s" "kbit/s"
        "Bytes of all objects of a page over its load time: mean over pages."
        |r| r.flow.pages.as_ref().and_then(|p| p.transfer_goodput_kbit_s);
    "end_to_end" [mean p50 p95 p99 max]
        "Packets of a page's connections, from the server to the UE"
        |r| r.flow.pages.as_ref().map(|p| &p.end_to_end);
    "utilisation" "ratio"
        "What the cell carried over what it could have carried; the same for all flows of a run."
        |r| Metric::Utilisation.of(r.run);
    "capacity_unit" "text"
        "Unit of the next two: packets, bytes or resource_blocks." |r| &r.run.cell.unit;
    "offered_capacity" "of capacity_unit" "What the slots could have carried."
        |r| r.run.cell.offered;
    "used_capacity" "of capacity_unit" "What the slots carried." |r| r.run.cell.used;
    "slots" "slots" "Slots in the measured window." |r| r.run.cell.slots;
    "starved_slots" "slots"
        "Slots that could have carried more than was there." |r| r.run.cell.starved_slots;
    "upf_backlog_packets_mean" "packets" "UPF backlog averaged over pulls."
        |r| backlog(r.run, "upf");
    "sdap_backlog_packets_mean" "packets" "SDAP backlog averaged over pulls."
        |r| backlog(r.run, "sdap");
    "rlc_backlog_packets_mean" "packets" "RLC backlog averaged over pulls."
        |r| backlog(r.run, "rlc");
    "rlc_stalls" "number"
        "Times that the RLC's window was closed and SDUs waited, over all bearers and the whole \
         run." |r| r.run.rlc.stalls;
    "rlc_stalled_s" "s" "How long these stalls lasted together." |r| r.run.rlc.stalled_s;
    "run_entered_packets" "packets"
        "Packets of all flows that entered in the whole run, warm-up included."
        |r| r.run.conservation.entered;
    "run_delivered_packets" "packets"
        "Packets of all flows taken whole by the MAC in the whole run."
        |r| r.run.conservation.delivered;
    "run_dropped_packets" "packets"
        "Packets of all flows dropped in the whole run." |r| r.run.conservation.dropped;
    "run_queued_packets" "packets"
        "Packets of all flows still queued at the end of the run." |r| r.run.conservation.queued;
    "run_uplink_packets" "packets" "Packets that UEs sent in the whole run."
        |r| r.run.uplink.entered;
    "run_uplink_delivered_packets" "packets" "Those that reached their servers."
        |r| r.run.uplink.delivered;
    "run_uplink_dropped_packets" "packets"
        "Those that found a UE's queue full, or in a live run no packet buffer."
        |r| r.run.uplink.overflow_drops;
    "run_uplink_queued_packets" "packets"
        "Those that waited or were on the wire at the end." |r| r.run.uplink.queued;
    "uplink_wait" [mean p95 max]
        "From a UE's queue to the PUSCH that took the last byte" |r| Some(&r.run.uplink.wait);
    "never_acted" "text"
        "Mechanisms of the method that had no effect in the run, joined by semicolons, e.g. \
         limiter;pacer." |r| r.run.never_acted.join(";");
    "component_calls" "calls"
        "Calls into components in the whole run, a measure of work." |r| r.run.component_calls;
}
