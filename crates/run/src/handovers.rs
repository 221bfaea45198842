//! The results of a world with several cells: its cells, its handovers, and the delay around them.

use serde::Serialize;

/// Results of a world with several cells, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CellsResult {
    /// One for each cell, in the order of the scenario.
    pub cells: Vec<OneCellResult>,
    /// The handovers, in the order of their decisions.
    pub handovers: Vec<HandoverResult>,
    /// The legs of split bearers, two for each UE that has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub legs: Vec<LegResult>,
    /// Packets delivered to a UE behind a later packet of their flow: 0, unless a discipline splits
    /// flows or PDCP delivers out of order.
    pub disordered: u64,
    /// Packets on an Xn wire or in a buffer of a target at the end.
    pub between: u64,
    /// Delay of the packets that reach UEs around handovers.
    pub around: Vec<AroundPoint>,
}

/// Results of one cell over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OneCellResult {
    /// Its name.
    pub name: String,
    /// Capacity of its slots, in the unit of the radio's results.
    pub offered: u64,
    /// Part of the capacity that was used.
    pub used: u64,
    /// Packets that reached UEs in it.
    pub delivered_packets: u64,
    /// Bytes of these packets.
    pub delivered_bytes: u64,
    /// UEs in it at the end, including a UE on its way into it.
    pub ues: u32,
}

/// Results of one leg of the split bearers of a UE, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LegResult {
    /// The UE.
    pub ue: u32,
    /// `master` or `secondary`.
    pub leg: String,
    /// Name of its cell.
    pub cell: String,
    /// PDCP PDUs sent over it, without PDUs that PDCP sends again after an outage.
    pub routed_packets: u64,
    /// Bytes of their packets.
    pub routed_bytes: u64,
    /// PDCP PDUs that reached the UE over it.
    pub delivered_packets: u64,
    /// Bytes of their packets.
    pub delivered_bytes: u64,
    /// PDCP PDUs of it that PDCP sent again over the other leg after an outage.
    pub recovered_packets: u64,
    /// PDCP PDUs that came after the UE's PDCP had given them up.
    pub late_packets: u64,
    /// Radio link outages.
    pub outages: u64,
}

/// The fate of a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The run ended before it was complete.
    #[default]
    Open,
    /// The UE is in the target, and the end marker has arrived.
    Complete,
    /// It failed: the UE has re-established its connection in the target, and the end marker has
    /// arrived.
    Reestablished,
}

impl Outcome {
    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Complete => "complete",
            Self::Reestablished => "reestablished",
        }
    }
}

/// One handover. It counts packets towards the UE.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HandoverResult {
    /// The UE.
    pub ue: u32,
    /// Name of the source cell.
    pub from: String,
    /// Name of the target cell.
    pub to: String,
    /// Its fate.
    pub outcome: Outcome,
    /// When the source decided.
    pub decided_s: f64,
    /// From the decision until the UE left; none if it has not left.
    pub preparation_ms: Option<f64>,
    /// From the UE's departure until it joined the target; none if it has not joined.
    pub interruption_ms: Option<f64>,
    /// From the UE's departure until the end marker reached the target; none if it has not.
    pub complete_ms: Option<f64>,
    /// From the last packet that the UE received in the source to the first in the target; none if
    /// either is missing.
    pub gap_ms: Option<f64>,
    /// Packets forwarded.
    pub forwarded: u64,
    /// Bytes of these packets, with copies.
    pub forwarded_bytes: u64,
    /// Forwarded copies of packets that the UE had received but not acknowledged; the target
    /// discards them.
    pub duplicates: u64,
    /// Packets dropped by the handover: on the air, or not forwarded.
    pub lost: u64,
    /// Forwarded packets that arrived after the UE's PDCP had given them up.
    pub late: u64,
    /// Greatest delay of a forwarded packet from the UPF to the UE; none without one.
    pub forwarded_delay_max_ms: Option<f64>,
}

/// Delay of the packets that reached UEs in one interval before or after the departure of the UE
/// from the source, over all handovers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AroundPoint {
    /// Start of the interval relative to the departure; negative before it.
    pub from_ms: f64,
    /// Packets.
    pub packets: u64,
    /// Mean delay from the UPF to the UE.
    pub mean_ms: f64,
    /// Greatest delay.
    pub max_ms: f64,
}
