//! Columns of the files about several cells, and about UEs with DRX.

use super::table::{Column, Table};
use crate::export::value::Value;
use justfull_lab::model::Group;
use justfull_run::handovers::{AroundPoint, HandoverResult, OneCellResult};
use justfull_run::results::{DrxResult, RunResult};

parts! {
    "cells.csv" Cells: "one cell of one run" CellRow {
        /// The cell.
        cell: &'a OneCellResult,
    }
}

parts! {
    "drx.csv" Drx: "one UE of one run" DrxRow {
        /// The UE.
        ue: &'a DrxResult,
    }
}

parts! {
    "handovers.csv" Handovers: "one handover of one run" HandoverRow {
        /// The handover.
        handover: &'a HandoverResult,
    }
}

parts! {
    "handover_delay.csv" HandoverDelays: "one interval around the handovers of one run" AroundRow {
        /// The interval.
        point: &'a AroundPoint,
    }
}

/// `value` of an interval with packets.
fn of_packets(row: &AroundRow<'_>, value: f64) -> Value {
    Some(value).filter(|_| row.point.packets > 0).into()
}

in_runs! {
    /// Columns of `cells.csv`.
    pub static CELL_COLUMNS: Cells;

    "cell" "text" "Name of the cell." |r| &r.cell.name;
    "offered" "MAC units" "Capacity of its slots in the whole run." |r| r.cell.offered;
    "used" "MAC units" "Part of the capacity that was used." |r| r.cell.used;
    "delivered_packets" "packets" "Packets that reached UEs in it." |r| r.cell.delivered_packets;
    "delivered_bytes" "bytes" "Bytes of these packets." |r| r.cell.delivered_bytes;
    "ues" "number" "UEs in it, or on their way into it, at the end." |r| u64::from(r.cell.ues);
}

in_runs! {
    /// Columns of `drx.csv`.
    pub static DRX_COLUMNS: Drx;

    "ue" "number" "The UE." |r| u64::from(r.ue.ue);
    "awake_percent" "%" "Share of the measured window in which it listened."
        |r| r.ue.awake_percent;
}

in_runs! {
    /// Columns of `handovers.csv`.
    pub static HANDOVER_COLUMNS: Handovers;

    "ue" "number" "The UE." |r| u64::from(r.handover.ue);
    "from" "text" "Name of the source cell." |r| &r.handover.from;
    "to" "text" "Name of the target cell." |r| &r.handover.to;
    "outcome" "text" "complete, reestablished after a failure, or open at the end of the run." |r| r.handover.outcome.name();
    "decided_s" "s" "When the source decided." |r| r.handover.decided_s;
    "preparation_ms" "ms" "From the decision until the UE left." |r| r.handover.preparation_ms;
    "interruption_ms" "ms" "From the UE's departure until it joined the target."
        |r| r.handover.interruption_ms;
    "complete_ms" "ms" "From the UE's departure until the end marker was at the target."
        |r| r.handover.complete_ms;
    "gap_ms" "ms"
        "From the last packet that the UE received in the source to the first in the target; without \
         traffic it is as long as the pause."
        |r| r.handover.gap_ms;
    "forwarded_packets" "packets" "Packets that the source forwarded." |r| r.handover.forwarded;
    "forwarded_bytes" "bytes" "Bytes of these packets, with copies." |r| r.handover.forwarded_bytes;
    "duplicate_packets" "packets"
        "Forwarded copies of packets that the UE had and had not acknowledged; discarded there."
        |r| r.handover.duplicates;
    "lost_packets" "packets" "Packets dropped for the handover: on the air, or not forwarded."
        |r| r.handover.lost;
    "late_packets" "packets" "Forwarded packets that the receiver had given up."
        |r| r.handover.late;
    "forwarded_delay_max_ms" "ms" "Greatest delay of a forwarded packet from the UPF to the UE."
        |r| r.handover.forwarded_delay_max_ms;
}

in_runs! {
    /// Columns of `handover_delay.csv`.
    pub static AROUND_COLUMNS: HandoverDelays;

    "from_ms" "ms" "Begin of the interval after a UE's departure; below 0 before it."
        |r| r.point.from_ms;
    "delivered_packets" "packets" "Packets that reached UEs in it, over all handovers."
        |r| r.point.packets;
    "delay_mean_ms" "ms" "Mean delay of these packets from the UPF to the UE."
        |r| of_packets(r, r.point.mean_ms);
    "delay_max_ms" "ms" "Greatest delay." |r| of_packets(r, r.point.max_ms);
}
