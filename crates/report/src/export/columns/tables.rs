//! Columns of the files other than `runs.csv`.

use super::table::{Cdfs, Column, Entities, FlowPoint, FlowsOverTime, SeriesOverTime, SeriesPoint};

/// One value of a bin; absent if the series is shorter.
fn bin(row: &SeriesPoint<'_>, values: &[f64]) -> Option<f64> {
    values.get(row.bin).copied()
}

/// Capacity of a bin when the MAC counts in `unit`.
pub(super) fn capacity(row: &SeriesPoint<'_>, unit: &str) -> Option<f64> {
    bin(row, &row.run.series.capacity_per_slot).filter(|_| row.run.cell.unit == unit)
}

/// A percentile of the delays in a bin: 0, 1, 2 for the 10th, 50th, 90th.
fn delay(row: &FlowPoint<'_>, percentile: usize) -> Option<f64> {
    row.flow.delay_ms.get(row.bin).copied().flatten().map(|delays| delays[percentile])
}

in_runs! {
    /// Columns of `series.csv`.
    pub static SERIES_COLUMNS: SeriesOverTime;

    "time_s" "s"
        "Start of the bin, from the start of the run." |r| r.bin as f64 * r.run.series.bin_s;
    "capacity_packets_per_slot" "packets per slot"
        "Mean capacity of a slot where the MAC counts packets." |r| capacity(r, "packets");
    "capacity_bytes_per_slot" "bytes per slot"
        "Mean capacity of a slot where the MAC counts bytes." |r| capacity(r, "bytes");
    "capacity_rbs_per_slot" "resource blocks per slot"
        "Mean offer of a slot where the MAC deals in resource blocks."
        |r| capacity(r, "resource_blocks");
    "upf_packets" "packets" "Mean UPF backlog before a pull." |r| bin(r, &r.run.series.upf_packets);
    "sdap_packets" "packets" "Mean SDAP backlog before a pull."
        |r| bin(r, &r.run.series.sdap_packets);
    "rlc_packets" "packets" "Mean RLC backlog before a pull." |r| bin(r, &r.run.series.rlc_packets);
    "rlc_bytes" "bytes" "Mean RLC backlog before a pull." |r| bin(r, &r.run.series.rlc_bytes);
    "delivered_mbit_s" "Mbit/s" "Goodput of all flows." |r| bin(r, &r.run.series.delivered_mbit_s);
}

in_runs! {
    /// Columns of `flow_series.csv`.
    pub static FLOW_SERIES_COLUMNS: FlowsOverTime;

    "flow" "text" "Name of the flow; the first 16 of a run are here." |r| &r.flow.name;
    "time_s" "s"
        "Start of the bin, from the start of the run." |r| r.bin as f64 * r.run.series.flow_bin_s;
    "delay_ms_p10" "ms"
        "Delay of the packets delivered in the bin, warm-up included: 10th percentile."
        |r| delay(r, 0);
    "delay_ms_p50" "ms"
        "Delay of the packets delivered in the bin, warm-up included: median." |r| delay(r, 1);
    "delay_ms_p90" "ms"
        "Delay of the packets delivered in the bin, warm-up included: 90th percentile."
        |r| delay(r, 2);
    "goodput_mbit_s" "Mbit/s" "New payload that came in the bin."
        |r| r.flow.goodput_mbit_s.get(r.bin).copied();
}

in_runs! {
    /// Columns of `cdf.csv`.
    pub static CDF_COLUMNS: Cdfs;

    "quantity" "text"
        "What is distributed: delay, bound, rtt, one_way, frame or page of a flow, \
         low_latency_sojourn or other_sojourn in a layer." |r| r.quantity;
    "of" "text" "Name of the flow or of the layer (upf, sdap, rlc)." |r| r.of;
    "time_ms" "ms" "A time." |r| r.time_ms;
    "share" "ratio" "Share of the values at or below it." |r| r.share;
}

in_runs! {
    /// Columns of `entities.csv`.
    pub static ENTITY_COLUMNS: Entities;

    "entity" "text"
        "The queue: LAYER.ueN.qfiN in the UPF and in SDAP, rlc.ueN.drbN in the RLC."
        |r| &r.entity.name;
    "layer" "text" "upf, sdap or rlc." |r| &r.entity.layer;
    "backlog_packets_mean" "packets" "Packets in the queue, mean over time."
        |r| r.entity.packets_mean;
    "backlog_packets_sd" "packets" "Standard deviation over time." |r| r.entity.packets_sd;
    "backlog_bytes_mean" "bytes"
        "Bytes in the queue, mean over time; the packet that the RLC is sending counts whole."
        |r| r.entity.bytes_mean;
    "backlog_bytes_sd" "bytes" "Standard deviation over time." |r| r.entity.bytes_sd;
}
