//! Columns of the files other than `runs.csv`.

use super::table::{Cdfs, Column, Entities, FlowPoint, FlowsOverTime, SeriesOverTime, SeriesPoint};
use crate::export::value::Value;

/// One number of a bin; absent if the series is shorter.
fn bin(row: &SeriesPoint<'_>, values: &[f64]) -> Value {
    Value::real(values.get(row.bin).copied())
}

/// Capacity of a bin when the MAC counts in `unit`.
pub(super) fn capacity(row: &SeriesPoint<'_>, unit: &str) -> Value {
    if row.run.cell.unit == unit {
        bin(row, &row.run.series.capacity_per_slot)
    } else {
        Value::Absent
    }
}

/// Columns of `series.csv`.
pub static SERIES_COLUMNS: [Column<SeriesOverTime>; 16] = in_runs![
    column!("time_s", "s", "Start of the bin, from the start of the run.", |r| Value::Real(
        r.bin as f64 * r.run.series.bin_s
    )),
    column!(
        "capacity_packets_per_slot",
        "packets per slot",
        "Mean capacity of a slot where the MAC counts packets.",
        |r| capacity(r, "packets")
    ),
    column!(
        "capacity_bytes_per_slot",
        "bytes per slot",
        "Mean capacity of a slot where the MAC counts bytes.",
        |r| capacity(r, "bytes")
    ),
    column!(
        "capacity_rbs_per_slot",
        "resource blocks per slot",
        "Mean offer of a slot where the MAC deals in resource blocks.",
        |r| capacity(r, "resource_blocks")
    ),
    column!("upf_packets", "packets", "Mean UPF backlog before a pull.", |r| bin(
        r,
        &r.run.series.upf_packets
    )),
    column!("sdap_packets", "packets", "Mean SDAP backlog before a pull.", |r| bin(
        r,
        &r.run.series.sdap_packets
    )),
    column!("rlc_packets", "packets", "Mean RLC backlog before a pull.", |r| bin(
        r,
        &r.run.series.rlc_packets
    )),
    column!("rlc_bytes", "bytes", "Mean RLC backlog before a pull.", |r| bin(
        r,
        &r.run.series.rlc_bytes
    )),
    column!("delivered_mbit_s", "Mbit/s", "Goodput of all flows.", |r| bin(
        r,
        &r.run.series.delivered_mbit_s
    )),
];

/// A percentile of the delays in a bin: 0, 1, 2 for the 10th, 50th, 90th.
fn delay(row: &FlowPoint<'_>, percentile: usize) -> Value {
    let of_bin = row.flow.delay_ms.get(row.bin).copied().flatten();
    Value::real(of_bin.map(|delays| delays[percentile]))
}

/// Columns of `flow_series.csv`.
pub static FLOW_SERIES_COLUMNS: [Column<FlowsOverTime>; 13] = in_runs![
    column!("flow", "text", "Name of the flow; the first 16 of a run are here.", |r| Value::text(
        &r.flow.name
    )),
    column!("time_s", "s", "Start of the bin, from the start of the run.", |r| Value::Real(
        r.bin as f64 * r.run.series.flow_bin_s
    )),
    column!(
        "delay_ms_p10",
        "ms",
        "Delay of the packets delivered in the bin, warm-up included: 10th percentile.",
        |r| delay(r, 0)
    ),
    column!(
        "delay_ms_p50",
        "ms",
        "Delay of the packets delivered in the bin, warm-up included: median.",
        |r| delay(r, 1)
    ),
    column!(
        "delay_ms_p90",
        "ms",
        "Delay of the packets delivered in the bin, warm-up included: 90th percentile.",
        |r| delay(r, 2)
    ),
    column!("goodput_mbit_s", "Mbit/s", "New payload that came in the bin.", |r| Value::real(
        r.flow.goodput_mbit_s.get(r.bin).copied()
    )),
];

/// Columns of `cdf.csv`.
pub static CDF_COLUMNS: [Column<Cdfs>; 11] = in_runs![
    column!(
        "quantity",
        "text",
        "What is distributed: delay, bound, rtt, one_way, frame or page of a flow, \
         low_latency_sojourn or other_sojourn in a layer.",
        |r| Value::text(r.quantity)
    ),
    column!("of", "text", "Name of the flow or of the layer (upf, sdap, rlc).", |r| Value::text(
        r.of
    )),
    column!("time_ms", "ms", "A time.", |r| Value::Real(r.time_ms)),
    column!("share", "ratio", "Share of the values at or below it.", |r| Value::Real(r.share)),
];

/// Columns of `entities.csv`.
pub static ENTITY_COLUMNS: [Column<Entities>; 13] = in_runs![
    column!(
        "entity",
        "text",
        "The queue: LAYER.ueN.qfiN in the UPF and in SDAP, rlc.ueN.drbN in the RLC.",
        |r| Value::text(&r.entity.name)
    ),
    column!("layer", "text", "upf, sdap or rlc.", |r| Value::text(&r.entity.layer)),
    column!("backlog_packets_mean", "packets", "Packets in the queue, mean over time.", |r| {
        Value::Real(r.entity.packets_mean)
    }),
    column!("backlog_packets_sd", "packets", "Standard deviation over time.", |r| Value::Real(
        r.entity.packets_sd
    )),
    column!(
        "backlog_bytes_mean",
        "bytes",
        "Bytes in the queue, mean over time; the packet that the RLC is sending counts whole.",
        |r| Value::Real(r.entity.bytes_mean)
    ),
    column!("backlog_bytes_sd", "bytes", "Standard deviation over time.", |r| Value::Real(
        r.entity.bytes_sd
    )),
];
