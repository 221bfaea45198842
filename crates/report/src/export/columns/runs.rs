//! Columns of `runs.csv`.

use super::table::{Column, Runs};
use crate::export::value::Value;
use justfull_lab::model::metric::{Metric, pdv};
use justfull_run::results::{Distribution, FlowResult, ProxyResult, RunResult};

/// One number of a distribution, absent when it has no values.
fn ms(d: &Distribution, pick: fn(&Distribution) -> f64) -> Value {
    if d.count == 0 { Value::Absent } else { Value::Real(pick(d)) }
}

/// One number of what a proxy does to a flow, absent where none splits it.
fn leg(
    flow: &FlowResult,
    of: fn(&ProxyResult) -> &Distribution,
    pick: fn(&Distribution) -> f64,
) -> Value {
    flow.proxy.as_ref().map_or(Value::Absent, |proxy| ms(of(proxy), pick))
}

/// Packets after their budget in percent of those delivered.
fn late(flow: &FlowResult) -> Option<f64> {
    flow.delay_budget_ms.filter(|_| flow.delivered_packets > 0)?;
    Some(100.0 * flow.late_packets as f64 / flow.delivered_packets as f64)
}

fn whole(value: Option<u64>) -> Value {
    value.map_or(Value::Absent, Value::Whole)
}

fn backlog(run: &RunResult, layer: &str) -> Value {
    Value::real(run.layers.iter().find(|l| l.layer == layer).map(|l| l.backlog_packets_mean))
}

/// Columns of `runs.csv` and keys of `runs.jsonl`.
pub static COLUMNS: [Column<Runs>; 154] = in_runs![
    column!("duration_s", "s", "Simulated time.", |r| Value::Real(r.run.duration_s)),
    column!("warmup_s", "s", "Start of the measured window.", |r| Value::Real(r.run.warmup_s)),
    column!("flow", "text", "Name of the flow.", |r| Value::text(&r.flow.name)),
    column!("protocol", "text", "tcp, udp, icmp or, live only, other.", |r| Value::text(
        &r.flow.protocol
    )),
    column!("control", "text", "Congestion control of a TCP flow.", |r| Value::text(
        &r.flow.control
    )),
    column!("ue", "number", "User equipment.", |r| Value::Whole(u64::from(r.flow.ue))),
    column!("qfi", "number", "QoS flow identifier.", |r| Value::Whole(u64::from(r.flow.qfi))),
    column!("low_latency", "true or false", "The scenario asks for the delay of this flow.", |r| {
        Value::Flag(r.flow.low_latency)
    }),
    column!(
        "direction",
        "text",
        "down: data to UEs; up: data from UEs, whose packets, delay and drops are those of the \
         uplink.",
        |r| Value::text(&r.flow.direction)
    ),
    column!(
        "entered_packets",
        "packets",
        "Packets that entered the UPF, or the UE's queue of the uplink, in the measured window.",
        |r| { Value::Whole(r.flow.entered_packets) }
    ),
    column!(
        "delivered_packets",
        "packets",
        "Packets whose last byte left the RLC and that the UE got, or whose last byte left the UE.",
        |r| Value::Whole(r.flow.delivered_packets)
    ),
    column!(
        "dropped_packets",
        "packets",
        "Packets dropped in any layer, or that found the UE's queue of the uplink full.",
        |r| Value::Whole(r.flow.dropped_packets)
    ),
    column!("marked_packets", "packets", "Packets marked congestion experienced.", |r| {
        Value::Whole(r.flow.marked_packets)
    }),
    column!(
        "goodput_mbit_s",
        "Mbit/s",
        "New payload that reached the receiver, over the time in which the flow is active.",
        |r| Value::Real(r.flow.goodput_mbit_s)
    ),
    column!(
        "active_from_s",
        "s",
        "Begin of that time: of the measured window, or of the first flow of this name, whenever \
         its first byte comes; empty if none is active in the window.",
        |r| Value::real(r.flow.active_from_s)
    ),
    column!(
        "active_to_s",
        "s",
        "Its end: of the measured window, or before it when the last flow of this name ends. A \
         transfer with a size ends when it is whole at its receiver, a flow with a time to stop \
         then, or when its last byte comes after that.",
        |r| Value::real(r.flow.active_to_s)
    ),
    column!(
        "delay_count",
        "values",
        "Time from UPF entry to the pull that took the packet's last byte; of an upload, from entry \
         into the UE's queue until its last byte was sent: number of values.",
        |r| Value::Whole(r.flow.delay.count)
    ),
    column!(
        "delay_ms_mean",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: mean.",
        |r| ms(&r.flow.delay, |d| d.mean_ms)
    ),
    column!(
        "delay_ms_sd",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: standard deviation.",
        |r| ms(&r.flow.delay, |d| d.sd_ms)
    ),
    column!(
        "delay_ms_min",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: least value.",
        |r| ms(&r.flow.delay, |d| d.min_ms)
    ),
    column!(
        "delay_ms_p25",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: 25th percentile.",
        |r| ms(&r.flow.delay, |d| d.p25_ms)
    ),
    column!(
        "delay_ms_p50",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: median.",
        |r| ms(&r.flow.delay, |d| d.p50_ms)
    ),
    column!(
        "delay_ms_p75",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: 75th percentile.",
        |r| ms(&r.flow.delay, |d| d.p75_ms)
    ),
    column!(
        "delay_ms_p90",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: 90th percentile.",
        |r| ms(&r.flow.delay, |d| d.p90_ms)
    ),
    column!(
        "delay_ms_p95",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: 95th percentile.",
        |r| ms(&r.flow.delay, |d| d.p95_ms)
    ),
    column!(
        "delay_ms_p99",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: 99th percentile.",
        |r| ms(&r.flow.delay, |d| d.p99_ms)
    ),
    column!(
        "delay_ms_p999",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: 99.9th percentile.",
        |r| ms(&r.flow.delay, |d| d.p999_ms)
    ),
    column!(
        "delay_ms_max",
        "ms",
        "Time from UPF entry to the pull that took the packet's last byte: greatest value.",
        |r| ms(&r.flow.delay, |d| d.max_ms)
    ),
    column!(
        "to_ue_ms_mean",
        "ms",
        "From that pull until the UE had the packet whole and in order, where the MAC deals in \
         resource blocks: mean.",
        |r| ms(&r.flow.to_ue, |d| d.mean_ms)
    ),
    column!(
        "to_ue_ms_p50",
        "ms",
        "From that pull until the UE had the packet whole and in order, where the MAC deals in \
         resource blocks: median.",
        |r| ms(&r.flow.to_ue, |d| d.p50_ms)
    ),
    column!(
        "to_ue_ms_p95",
        "ms",
        "From that pull until the UE had the packet whole and in order, where the MAC deals in \
         resource blocks: 95th percentile.",
        |r| ms(&r.flow.to_ue, |d| d.p95_ms)
    ),
    column!(
        "to_ue_ms_p99",
        "ms",
        "From that pull until the UE had the packet whole and in order, where the MAC deals in \
         resource blocks: 99th percentile.",
        |r| ms(&r.flow.to_ue, |d| d.p99_ms)
    ),
    column!(
        "to_ue_ms_max",
        "ms",
        "From that pull until the UE had the packet whole and in order, where the MAC deals in \
         resource blocks: greatest value.",
        |r| ms(&r.flow.to_ue, |d| d.max_ms)
    ),
    column!(
        "pdv_ms_p95",
        "ms",
        "Packet delay variation (RFC 5481 section 4.2): delay less the least delay of the flow's \
         packets, 95th percentile.",
        |r| ms(&r.flow.delay, |d| pdv(d, d.p95_ms))
    ),
    column!("pdv_ms_p99", "ms", "Packet delay variation: 99th percentile.", |r| ms(
        &r.flow.delay,
        |d| pdv(d, d.p99_ms)
    )),
    column!("pdv_ms_p999", "ms", "Packet delay variation: 99.9th percentile.", |r| ms(
        &r.flow.delay,
        |d| { pdv(d, d.p999_ms) }
    )),
    column!(
        "ipdv_ms_mean",
        "ms",
        "Difference between the delays up to the UE of a flow's packets delivered one after the \
         other (RFC 5481 section 4.1), mean without sign.",
        |r| Value::real(r.flow.ipdv_mean_ms)
    ),
    column!(
        "jitter_ms_mean",
        "ms",
        "Interarrival jitter (RFC 3550 section 6.4.1, as iperf prints it): those differences, \
         smoothed by a sixteenth from 0 on; mean over packets.",
        |r| Value::real(r.flow.jitter_mean_ms)
    ),
    column!(
        "jain_index",
        "ratio",
        "Jain's index over the goodputs of the flows of this name, each over its own active time: 1 \
         when equal, 1/n when one has all.",
        |r| Value::real(r.flow.jain_index)
    ),
    column!(
        "delay_budget_ms",
        "ms",
        "Packet delay budget of the flow's 5QI (TS 23.501), from UPF to UE.",
        |r| Value::real(r.flow.delay_budget_ms)
    ),
    column!("late_packets", "packets", "Packets delivered after their budget.", |r| {
        if r.flow.delay_budget_ms.is_some() {
            Value::Whole(r.flow.late_packets)
        } else {
            Value::Absent
        }
    }),
    column!("late_percent", "%", "Those, in percent of the packets delivered.", |r| Value::real(
        late(r.flow)
    )),
    column!(
        "bound_count",
        "values",
        "Lower bound of the delay that any policy could have given the same packets: through empty \
         queues, with the packet's own transmission; where the MAC deals in resource blocks or \
         PDUs of one size, or UEs have their own channels, to the first slot only. Number of \
         values.",
        |r| Value::Whole(r.flow.bound.count)
    ),
    column!(
        "bound_ms_mean",
        "ms",
        "Lower bound of the delay that any policy could have given the same packets: mean.",
        |r| ms(&r.flow.bound, |d| d.mean_ms)
    ),
    column!(
        "bound_ms_sd",
        "ms",
        "Lower bound of the delay that any policy could have given the same packets: standard deviation.",
        |r| ms(&r.flow.bound, |d| d.sd_ms)
    ),
    column!(
        "bound_ms_min",
        "ms",
        "Lower bound of the delay that any policy could have given the same packets: least value.",
        |r| ms(&r.flow.bound, |d| d.min_ms)
    ),
    column!(
        "bound_ms_p50",
        "ms",
        "Lower bound of the delay that any policy could have given the same packets: median.",
        |r| ms(&r.flow.bound, |d| d.p50_ms)
    ),
    column!(
        "bound_ms_p95",
        "ms",
        "Lower bound of the delay that any policy could have given the same packets: 95th percentile.",
        |r| ms(&r.flow.bound, |d| d.p95_ms)
    ),
    column!(
        "bound_ms_p99",
        "ms",
        "Lower bound of the delay that any policy could have given the same packets: 99th percentile.",
        |r| ms(&r.flow.bound, |d| d.p99_ms)
    ),
    column!(
        "bound_ms_max",
        "ms",
        "Lower bound of the delay that any policy could have given the same packets: greatest value.",
        |r| ms(&r.flow.bound, |d| d.max_ms)
    ),
    column!(
        "rtt_count",
        "values",
        "Round-trip time samples of a ping, or those from which a TCP sender computes its timeout \
         (RFC 6298, RFC 7323 4.3): one of each acknowledgement that advances or that sacks a \
         segment sent once; without timestamps, of one segment in a round trip, sent once. Where a \
         proxy splits a flow, each of the radio leg and the last of the server leg together, \
         without the wait in the proxy. Live, the kernel's smoothed value, asked each 20 ms and \
         counted as often as acknowledgements have come since. Number of values.",
        |r| { Value::Whole(r.flow.rtt.count) }
    ),
    column!(
        "rtt_ms_mean",
        "ms",
        "Round-trip time samples of a TCP sender or of a ping: mean.",
        |r| ms(&r.flow.rtt, |d| d.mean_ms)
    ),
    column!(
        "rtt_ms_sd",
        "ms",
        "Round-trip time samples of a TCP sender or of a ping: standard deviation.",
        |r| ms(&r.flow.rtt, |d| d.sd_ms)
    ),
    column!(
        "rtt_ms_min",
        "ms",
        "Round-trip time samples of a TCP sender or of a ping: least value.",
        |r| ms(&r.flow.rtt, |d| d.min_ms)
    ),
    column!(
        "rtt_ms_p50",
        "ms",
        "Round-trip time samples of a TCP sender or of a ping: median.",
        |r| ms(&r.flow.rtt, |d| d.p50_ms)
    ),
    column!(
        "rtt_ms_p95",
        "ms",
        "Round-trip time samples of a TCP sender or of a ping: 95th percentile.",
        |r| ms(&r.flow.rtt, |d| d.p95_ms)
    ),
    column!(
        "rtt_ms_p99",
        "ms",
        "Round-trip time samples of a TCP sender or of a ping: 99th percentile.",
        |r| ms(&r.flow.rtt, |d| d.p99_ms)
    ),
    column!(
        "rtt_ms_max",
        "ms",
        "Round-trip time samples of a TCP sender or of a ping: greatest value.",
        |r| ms(&r.flow.rtt, |d| d.max_ms)
    ),
    column!(
        "proxy_residence_ms_mean",
        "ms",
        "From a segment being in order at the proxy that splits the flow until it left for the UE: mean.",
        |r| leg(r.flow, |p| &p.residence, |d| d.mean_ms)
    ),
    column!(
        "proxy_residence_ms_p50",
        "ms",
        "From a segment being in order at the proxy that splits the flow until it left for the UE: median.",
        |r| leg(r.flow, |p| &p.residence, |d| d.p50_ms)
    ),
    column!(
        "proxy_residence_ms_p95",
        "ms",
        "From a segment being in order at the proxy that splits the flow until it left for the UE: 95th percentile.",
        |r| leg(r.flow, |p| &p.residence, |d| d.p95_ms)
    ),
    column!(
        "proxy_residence_ms_p99",
        "ms",
        "From a segment being in order at the proxy that splits the flow until it left for the UE: 99th percentile.",
        |r| leg(r.flow, |p| &p.residence, |d| d.p99_ms)
    ),
    column!(
        "proxy_residence_ms_max",
        "ms",
        "From a segment being in order at the proxy that splits the flow until it left for the UE: greatest value.",
        |r| leg(r.flow, |p| &p.residence, |d| d.max_ms)
    ),
    column!(
        "server_rtt_ms_mean",
        "ms",
        "Round-trip time samples of the server leg of a flow that a proxy splits: mean.",
        |r| leg(r.flow, |p| &p.server_rtt, |d| d.mean_ms)
    ),
    column!(
        "server_rtt_ms_min",
        "ms",
        "Round-trip time samples of the server leg of a flow that a proxy splits: least value.",
        |r| leg(r.flow, |p| &p.server_rtt, |d| d.min_ms)
    ),
    column!(
        "server_rtt_ms_p50",
        "ms",
        "Round-trip time samples of the server leg of a flow that a proxy splits: median.",
        |r| leg(r.flow, |p| &p.server_rtt, |d| d.p50_ms)
    ),
    column!(
        "server_rtt_ms_p95",
        "ms",
        "Round-trip time samples of the server leg of a flow that a proxy splits: 95th percentile.",
        |r| leg(r.flow, |p| &p.server_rtt, |d| d.p95_ms)
    ),
    column!(
        "server_rtt_ms_p99",
        "ms",
        "Round-trip time samples of the server leg of a flow that a proxy splits: 99th percentile.",
        |r| leg(r.flow, |p| &p.server_rtt, |d| d.p99_ms)
    ),
    column!(
        "server_rtt_ms_max",
        "ms",
        "Round-trip time samples of the server leg of a flow that a proxy splits: greatest value.",
        |r| leg(r.flow, |p| &p.server_rtt, |d| d.max_ms)
    ),
    column!(
        "radio_rtt_ms_mean",
        "ms",
        "Round-trip time samples of the radio leg of a flow that a proxy splits: mean.",
        |r| leg(r.flow, |p| &p.radio_rtt, |d| d.mean_ms)
    ),
    column!(
        "radio_rtt_ms_min",
        "ms",
        "Round-trip time samples of the radio leg of a flow that a proxy splits: least value.",
        |r| leg(r.flow, |p| &p.radio_rtt, |d| d.min_ms)
    ),
    column!(
        "radio_rtt_ms_p50",
        "ms",
        "Round-trip time samples of the radio leg of a flow that a proxy splits: median.",
        |r| leg(r.flow, |p| &p.radio_rtt, |d| d.p50_ms)
    ),
    column!(
        "radio_rtt_ms_p95",
        "ms",
        "Round-trip time samples of the radio leg of a flow that a proxy splits: 95th percentile.",
        |r| leg(r.flow, |p| &p.radio_rtt, |d| d.p95_ms)
    ),
    column!(
        "radio_rtt_ms_p99",
        "ms",
        "Round-trip time samples of the radio leg of a flow that a proxy splits: 99th percentile.",
        |r| leg(r.flow, |p| &p.radio_rtt, |d| d.p99_ms)
    ),
    column!(
        "radio_rtt_ms_max",
        "ms",
        "Round-trip time samples of the radio leg of a flow that a proxy splits: greatest value.",
        |r| leg(r.flow, |p| &p.radio_rtt, |d| d.max_ms)
    ),
    column!(
        "server_to_ue_ms_mean",
        "ms",
        "From a server's sending of a segment until the UE has it, of a flow that a proxy splits: mean.",
        |r| leg(r.flow, |p| &p.server_to_ue, |d| d.mean_ms)
    ),
    column!(
        "server_to_ue_ms_p50",
        "ms",
        "From a server's sending of a segment until the UE has it, of a flow that a proxy splits: median.",
        |r| leg(r.flow, |p| &p.server_to_ue, |d| d.p50_ms)
    ),
    column!(
        "server_to_ue_ms_p95",
        "ms",
        "From a server's sending of a segment until the UE has it, of a flow that a proxy splits: 95th percentile.",
        |r| leg(r.flow, |p| &p.server_to_ue, |d| d.p95_ms)
    ),
    column!(
        "server_to_ue_ms_p99",
        "ms",
        "From a server's sending of a segment until the UE has it, of a flow that a proxy splits: 99th percentile.",
        |r| leg(r.flow, |p| &p.server_to_ue, |d| d.p99_ms)
    ),
    column!(
        "server_to_ue_ms_max",
        "ms",
        "From a server's sending of a segment until the UE has it, of a flow that a proxy splits: greatest value.",
        |r| leg(r.flow, |p| &p.server_to_ue, |d| d.max_ms)
    ),
    column!(
        "rlc_at_entry_packets_mean",
        "packets",
        "RLC backlog that the flow's packets found when they entered the RLC, mean.",
        |r| {
            if r.flow.delivered_packets == 0 || r.flow.direction == "up" {
                Value::Absent
            } else {
                Value::Real(r.flow.rlc_packets_at_entry_mean)
            }
        }
    ),
    column!("retransmitted_segments", "segments", "Retransmitted segments of a TCP flow.", |r| {
        Value::Whole(r.flow.retransmitted_segments)
    }),
    column!("timeouts", "number", "Retransmission timeouts of a TCP flow.", |r| Value::Whole(
        r.flow.timeouts
    )),
    column!(
        "completed_s",
        "s",
        "When a sized transfer was acknowledged whole, from the start of the run.",
        |r| Value::real(r.flow.completed_s)
    ),
    column!(
        "first_received_s",
        "s",
        "When the first sized transfer of this name was whole at its receiver, from the start of \
         the run.",
        |r| Value::real(r.flow.first_received_s)
    ),
    column!(
        "received_s",
        "s",
        "When all sized transfers of this name were whole at their receivers.",
        |r| Value::real(r.flow.received_s)
    ),
    column!(
        "together_mbit_s",
        "Mbit/s",
        "Goodput until the first transfer of the run was whole at its receiver, or to the end: \
         what it got while all competed, over its active time until then.",
        |r| Value::Real(r.flow.together_mbit_s)
    ),
    column!(
        "jain_together",
        "ratio",
        "Jain's index over the goodputs of all transfers of the run, of whatever name, in that \
         time.",
        |r| Value::real(r.run.together.jain_index)
    ),
    column!("ping_requests", "number", "Echo requests sent in the measured window.", |r| whole(
        r.flow.ping.map(|p| p.requests)
    )),
    column!("ping_replies", "number", "Replies to those requests that came back.", |r| whole(
        r.flow.ping.map(|p| p.replies)
    )),
    column!("ping_lost", "number", "Those requests and replies that were dropped.", |r| whole(
        r.flow.ping.map(|p| p.lost)
    )),
    column!("voip_lost_packets", "packets", "Voice packets dropped on their way.", |r| whole(
        r.flow.voip.as_ref().map(|v| v.lost)
    )),
    column!("voip_late_packets", "packets", "Voice packets that came after their playout.", |r| {
        whole(r.flow.voip.as_ref().map(|v| v.late))
    }),
    column!("voip_loss_percent", "percent", "Both, of the packets sent.", |r| Value::real(
        r.flow.voip.as_ref().map(|v| v.loss_percent)
    )),
    column!(
        "voip_mouth_to_ear_ms",
        "ms",
        "A packet's 20 ms, the fastest packet's way and the de-jitter buffer.",
        |r| Value::real(r.flow.voip.as_ref().map(|v| v.mouth_to_ear_ms))
    ),
    column!("voip_r", "0 to 100", "Transmission rating R of ITU-T G.107.", |r| Value::real(
        r.flow.voip.as_ref().map(|v| v.rating)
    )),
    column!("voip_mos", "1 to 4.5", "Mean opinion score that follows from R.", |r| Value::real(
        r.flow.voip.as_ref().map(|v| v.mos)
    )),
    column!("frames_sent", "frames", "Video frames sent in the measured window.", |r| whole(
        r.flow.frames.as_ref().map(|f| f.sent)
    )),
    column!("frames_completed", "frames", "Frames of which every datagram arrived.", |r| whole(
        r.flow.frames.as_ref().map(|f| f.completed)
    )),
    column!("frames_broken", "frames", "Frames of which a datagram was lost.", |r| whole(
        r.flow.frames.as_ref().map(|f| f.broken)
    )),
    column!("frames_late", "frames", "Complete frames that took longer than their budget.", |r| {
        whole(r.flow.frames.as_ref().map(|f| f.late))
    }),
    column!(
        "frame_ms_mean",
        "ms",
        "From a frame leaving its server to its last datagram reaching the UE: mean.",
        |r| r.flow.frames.as_ref().map_or(Value::Absent, |f| ms(&f.completion, |d| d.mean_ms))
    ),
    column!(
        "frame_ms_p50",
        "ms",
        "From a frame leaving its server to its last datagram reaching the UE: median.",
        |r| r.flow.frames.as_ref().map_or(Value::Absent, |f| ms(&f.completion, |d| d.p50_ms))
    ),
    column!(
        "frame_ms_p95",
        "ms",
        "From a frame leaving its server to its last datagram reaching the UE: 95th percentile.",
        |r| r.flow.frames.as_ref().map_or(Value::Absent, |f| ms(&f.completion, |d| d.p95_ms))
    ),
    column!(
        "frame_ms_p99",
        "ms",
        "From a frame leaving its server to its last datagram reaching the UE: 99th percentile.",
        |r| r.flow.frames.as_ref().map_or(Value::Absent, |f| ms(&f.completion, |d| d.p99_ms))
    ),
    column!(
        "frame_ms_max",
        "ms",
        "From a frame leaving its server to its last datagram reaching the UE: greatest value.",
        |r| r.flow.frames.as_ref().map_or(Value::Absent, |f| ms(&f.completion, |d| d.max_ms))
    ),
    column!("pages_begun", "pages", "Pages asked for in the measured window.", |r| whole(
        r.flow.pages.as_ref().map(|p| p.begun)
    )),
    column!("pages_loaded", "pages", "Pages of which every object arrived.", |r| whole(
        r.flow.pages.as_ref().map(|p| p.loaded)
    )),
    column!("page_ms_mean", "ms", "From a page's first request to its last byte: mean.", |r| r
        .flow
        .pages
        .as_ref()
        .map_or(Value::Absent, |p| ms(&p.load, |d| d.mean_ms))),
    column!(
        "page_ms_sd",
        "ms",
        "From a page's first request to its last byte: standard deviation.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.load, |d| d.sd_ms))
    ),
    column!("page_ms_p50", "ms", "From a page's first request to its last byte: median.", |r| r
        .flow
        .pages
        .as_ref()
        .map_or(Value::Absent, |p| ms(&p.load, |d| d.p50_ms))),
    column!(
        "page_ms_p95",
        "ms",
        "From a page's first request to its last byte: 95th percentile.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.load, |d| d.p95_ms))
    ),
    column!(
        "page_ms_max",
        "ms",
        "From a page's first request to its last byte: greatest value.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.load, |d| d.max_ms))
    ),
    column!(
        "object_ms_mean",
        "ms",
        "From the request for an object of a page to its last byte: mean.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.object, |d| d.mean_ms))
    ),
    column!(
        "object_ms_p50",
        "ms",
        "From the request for an object of a page to its last byte: median.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.object, |d| d.p50_ms))
    ),
    column!(
        "object_ms_p95",
        "ms",
        "From the request for an object of a page to its last byte: 95th percentile.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.object, |d| d.p95_ms))
    ),
    column!(
        "object_ms_max",
        "ms",
        "From the request for an object of a page to its last byte: greatest value.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.object, |d| d.max_ms))
    ),
    column!(
        "transfer_goodput_kbit_s",
        "kbit/s",
        "Bytes of all objects of a page over its load time: mean over pages.",
        |r| r
            .flow
            .pages
            .as_ref()
            .and_then(|p| p.transfer_goodput_kbit_s)
            .map_or(Value::Absent, Value::Real)
    ),
    column!(
        "end_to_end_ms_mean",
        "ms",
        "Packets of a page's connections, from the server to the UE: mean.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.end_to_end, |d| d.mean_ms))
    ),
    column!(
        "end_to_end_ms_p50",
        "ms",
        "Packets of a page's connections, from the server to the UE: median.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.end_to_end, |d| d.p50_ms))
    ),
    column!(
        "end_to_end_ms_p95",
        "ms",
        "Packets of a page's connections, from the server to the UE: 95th percentile.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.end_to_end, |d| d.p95_ms))
    ),
    column!(
        "end_to_end_ms_p99",
        "ms",
        "Packets of a page's connections, from the server to the UE: 99th percentile.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.end_to_end, |d| d.p99_ms))
    ),
    column!(
        "end_to_end_ms_max",
        "ms",
        "Packets of a page's connections, from the server to the UE: greatest value.",
        |r| r.flow.pages.as_ref().map_or(Value::Absent, |p| ms(&p.end_to_end, |d| d.max_ms))
    ),
    column!(
        "utilisation",
        "ratio",
        "What the cell carried over what it could have carried; the same for all flows of a run.",
        |r| Value::real(Metric::Utilisation.of(r.run))
    ),
    column!(
        "capacity_unit",
        "text",
        "Unit of the next two: packets, bytes or resource_blocks.",
        |r| { Value::text(&r.run.cell.unit) }
    ),
    column!("offered_capacity", "of capacity_unit", "What the slots could have carried.", |r| {
        Value::Whole(r.run.cell.offered)
    }),
    column!("used_capacity", "of capacity_unit", "What the slots carried.", |r| Value::Whole(
        r.run.cell.used
    )),
    column!("slots", "slots", "Slots in the measured window.", |r| Value::Whole(r.run.cell.slots)),
    column!("starved_slots", "slots", "Slots that could have carried more than was there.", |r| {
        Value::Whole(r.run.cell.starved_slots)
    }),
    column!(
        "upf_backlog_packets_mean",
        "packets",
        "UPF backlog averaged over pulls.",
        |r| backlog(r.run, "upf")
    ),
    column!("sdap_backlog_packets_mean", "packets", "SDAP backlog averaged over pulls.", |r| {
        backlog(r.run, "sdap")
    }),
    column!(
        "rlc_backlog_packets_mean",
        "packets",
        "RLC backlog averaged over pulls.",
        |r| backlog(r.run, "rlc")
    ),
    column!(
        "rlc_stalls",
        "number",
        "Times that the RLC's window was closed and SDUs waited, over all bearers and the whole run.",
        |r| Value::Whole(r.run.rlc.stalls)
    ),
    column!("rlc_stalled_s", "s", "How long these stalls lasted together.", |r| Value::Real(
        r.run.rlc.stalled_s
    )),
    column!(
        "run_entered_packets",
        "packets",
        "Packets of all flows that entered in the whole run, warm-up included.",
        |r| Value::Whole(r.run.conservation.entered)
    ),
    column!(
        "run_delivered_packets",
        "packets",
        "Packets of all flows taken whole by the MAC in the whole run.",
        |r| Value::Whole(r.run.conservation.delivered)
    ),
    column!(
        "run_dropped_packets",
        "packets",
        "Packets of all flows dropped in the whole run.",
        |r| { Value::Whole(r.run.conservation.dropped) }
    ),
    column!(
        "run_queued_packets",
        "packets",
        "Packets of all flows still queued at the end of the run.",
        |r| Value::Whole(r.run.conservation.queued)
    ),
    column!("run_uplink_packets", "packets", "Packets that UEs sent in the whole run.", |r| {
        Value::Whole(r.run.uplink.entered)
    }),
    column!("run_uplink_delivered_packets", "packets", "Those that reached their servers.", |r| {
        Value::Whole(r.run.uplink.delivered)
    }),
    column!(
        "run_uplink_dropped_packets",
        "packets",
        "Those that found a UE's queue full, or in a live run no packet buffer.",
        |r| Value::Whole(r.run.uplink.overflow_drops)
    ),
    column!(
        "run_uplink_queued_packets",
        "packets",
        "Those that waited or were on the wire at the end.",
        |r| Value::Whole(r.run.uplink.queued)
    ),
    column!(
        "uplink_wait_ms_mean",
        "ms",
        "From a UE's queue to the PUSCH that took the last byte: mean.",
        |r| ms(&r.run.uplink.wait, |d| d.mean_ms)
    ),
    column!(
        "uplink_wait_ms_p95",
        "ms",
        "From a UE's queue to the PUSCH that took the last byte: 95th percentile.",
        |r| ms(&r.run.uplink.wait, |d| d.p95_ms)
    ),
    column!(
        "uplink_wait_ms_max",
        "ms",
        "From a UE's queue to the PUSCH that took the last byte: greatest value.",
        |r| ms(&r.run.uplink.wait, |d| d.max_ms)
    ),
    column!(
        "never_acted",
        "text",
        "Mechanisms of the method that had no effect in the run, joined by semicolons, e.g. \
         limiter;pacer.",
        |r| Value::text(&r.run.never_acted.join(";"))
    ),
    column!(
        "component_calls",
        "calls",
        "Calls into components in the whole run, a measure of work.",
        |r| { Value::Whole(r.run.component_calls) }
    ),
];
