//! Records that cross the boundary: openings and samples of flows, reports of the radio, windows.

use crate::packet::{JF_AMOUNT_MAX, amount, duration};
use crate::status::jf_status::{self, JF_ERROR_RANGE};
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_rapid::{Opening, Sample, Windows};

/// `kind` of a cell: a block is a byte that the UE could receive.
pub const JF_CELL_BYTES: u8 = 0;
/// `kind` of a cell: resource blocks of LTE (TS 36.213 section 7.1.7).
pub const JF_CELL_LTE: u8 = 1;
/// `kind` of a cell: resource blocks of NR (TS 38.214 section 5.1.3).
pub const JF_CELL_NR: u8 = 2;

/// `mcs`: unknown.
pub const JF_MCS_NONE: u8 = 255;

/// A flow that opens: a TCP connection that the proxy has split.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_rapid_opening {
    /// The caller's, returned with the windows of the flow.
    pub tag: u64,
    /// Round trip of the leg to the server in ns, from its handshake; 0 when unknown.
    pub wired_rtt: u64,
    /// Round trip of the leg to the UE in ns, from its handshake; 0 when unknown.
    pub radio_rtt: u64,
    /// Payload bytes of a full segment, at least 1.
    pub mss: u32,
    /// Bytes of its IP and TCP headers; with `mss` at most 65535.
    pub headers: u32,
}

/// Events of a flow since its last sample. Amounts are payload in bytes, times ns.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_rapid_sample {
    /// Came from the server.
    pub arrived: u64,
    /// Acknowledged by the UE.
    pub delivered: u64,
    /// Waits in the proxy because the window of the leg to the UE is full; 0 if it waits for
    /// another reason.
    pub waiting: u64,
    /// Smoothed round trip of the leg to the server; 0 when unknown.
    pub wired_rtt: u64,
    /// Smallest round trip of the leg to the UE since the last sample; 0 when unknown.
    pub radio_rtt: u64,
    /// Smoothed round trip of the leg to the UE; 0 when unknown.
    pub radio_smoothed: u64,
    /// 1 if the proxy had no room and offered the server less than its window, else 0.
    pub held: u8,
    /// 0.
    pub reserved: [u8; 7],
}

/// A cell in a period: the part of a report that its UEs have in common.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_cell_report {
    /// End of the period in ns, by the cell's clock. It increases from report to report.
    pub at: u64,
    /// Mean time between two downlink slots in ns, 1 to 10^9.
    pub slot: u64,
    /// Blocks that the slots of the period offered in total.
    pub offered: u64,
    /// Blocks given to all UEs.
    pub used: u64,
    /// Downlink slots in the period.
    pub slots: u32,
    /// UEs that were given blocks.
    pub active_ues: u32,
    /// JF_CELL_BYTES, JF_CELL_LTE or JF_CELL_NR. `mcs_table` and `layers` are for LTE and NR,
    /// `symbols` and `dmrs_res` for NR.
    pub kind: u8,
    /// Table of modulation and coding schemes: LTE 1 (64QAM) or 2 (256QAM), NR 1 to 3.
    pub mcs_table: u8,
    /// Spatial layers, 1 to 4.
    pub layers: u8,
    /// Symbols of a slot that carry data or its reference signals, 1 to 14.
    pub symbols: u8,
    /// Resource elements of a block that reference signals take.
    pub dmrs_res: u8,
    /// 0.
    pub reserved: [u8; 3],
}

/// A UE in the same period.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_ue_report {
    /// Blocks given to it.
    pub blocks: u64,
    /// Blocks among these that carried HARQ retransmissions.
    pub repeats: u64,
    /// Bytes sent to it in transport blocks, without retransmissions.
    pub bytes: u64,
    /// Bytes in its RLC queues at the end.
    pub backlog: u64,
    /// Its last modulation and coding scheme, or JF_MCS_NONE.
    pub mcs: u8,
    /// 0.
    pub reserved: [u8; 7],
}

/// A flow with new windows, in payload bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct jf_rapid_change {
    /// The caller's, from jf_rapid_opening.
    pub tag: u64,
    /// Receive window advertised to the server; UINT64_MAX without a limit.
    pub server: u64,
    /// Congestion window of the leg to the UE; UINT64_MAX without a limit.
    pub radio: u64,
    /// 0 while the flow waits for its turn: read nothing from the server, so that its window
    /// closes. Else 1.
    pub reading: u8,
    /// 0.
    pub reserved: [u8; 7],
}

impl jf_rapid_opening {
    pub(super) fn get(&self) -> Result<Opening, jf_status> {
        let Self { mss, headers, .. } = *self;
        if mss == 0 || mss.saturating_add(headers) > 65_535 {
            return Err(JF_ERROR_RANGE);
        }
        let (wired_rtt, radio_rtt) = (duration(self.wired_rtt)?, duration(self.radio_rtt)?);
        Ok(Opening { mss, wired_rtt: Some(wired_rtt), radio_rtt: Some(radio_rtt) })
    }
}

impl jf_rapid_sample {
    pub(super) fn get(&self) -> Result<Sample, jf_status> {
        let smoothed = Some(duration(self.radio_smoothed)?);
        Ok(Sample {
            arrived: amount(self.arrived)?,
            delivered: amount(self.delivered)?,
            waiting: amount(self.waiting)?,
            wired_rtt: Some(duration(self.wired_rtt)?),
            radio_rtt: Some(duration(self.radio_rtt)?),
            radio_smoothed: smoothed.filter(|rtt| !rtt.is_zero()),
            held: match self.held {
                0 => false,
                1 => true,
                _ => return Err(JF_ERROR_RANGE),
            },
        })
    }
}

impl jf_cell_report {
    fn kind(&self) -> Result<CellKind, jf_status> {
        let Self { mcs_table, layers, symbols, dmrs_res, .. } = *self;
        match self.kind {
            JF_CELL_BYTES => Ok(CellKind::Bytes),
            JF_CELL_LTE => Ok(CellKind::Lte { mcs_table, layers }),
            JF_CELL_NR => Ok(CellKind::Nr { mcs_table, layers, symbols, dmrs_res }),
            _ => Err(JF_ERROR_RANGE),
        }
    }

    pub(super) fn of(&self, ue: &jf_ue_report) -> Result<RanReport, jf_status> {
        Ok(RanReport {
            at: Instant::ZERO + duration(self.at)?,
            kind: self.kind()?,
            slot: Duration::from_nanos(self.slot),
            slots: self.slots,
            offered: self.offered,
            used: self.used,
            active_ues: self.active_ues,
            blocks: ue.blocks,
            repeats: ue.repeats,
            bytes: amount(ue.bytes)?,
            mcs: Some(ue.mcs).filter(|mcs| *mcs != JF_MCS_NONE),
            backlog: amount(ue.backlog)?,
        })
    }
}

impl jf_rapid_change {
    pub(super) fn of(tag: u64, windows: Windows) -> Self {
        let bytes = |window| if window > JF_AMOUNT_MAX { u64::MAX } else { window };
        let (server, radio) = (bytes(windows.server), bytes(windows.radio));
        Self { tag, server, radio, reading: u8::from(windows.reading), reserved: [0; 7] }
    }
}
