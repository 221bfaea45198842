//! A control with one UE, and its input.

use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_rapid::{CellId, Control, ControlConfig, FlowId, Opening, Sample, UeId};

/// Payload of a segment, in bytes.
pub(crate) const MSS: u64 = 1440;
/// Round trip of each leg, in ms.
pub(crate) const RTT: u64 = 10;

/// A flow whose legs have round trips of [`RTT`].
pub(crate) const OPENING: Opening =
    Opening { mss: MSS as u32, wired_rtt: ms(RTT), radio_rtt: ms(RTT) };

pub(crate) fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

pub(crate) const fn ms(n: u64) -> Option<Duration> {
    Some(Duration::from_millis(n))
}

/// A report made at `made` ms about a cell of `capacity` bytes in each slot of 1 ms. The UE used
/// `blocks`; no other UE used any.
pub(crate) fn report(made: u64, capacity: u64, blocks: u64) -> RanReport {
    RanReport {
        at: at(made),
        kind: CellKind::Bytes,
        slot: Duration::from_millis(1),
        slots: 1,
        offered: capacity,
        used: blocks,
        active_ues: u32::from(blocks > 0),
        blocks,
        repeats: 0,
        bytes: blocks,
        mcs: None,
        backlog: 0,
    }
}

/// `bytes` arrive and leave in a round trip of [`RTT`] on the wired leg and `radio` on the radio
/// leg.
pub(crate) fn sample(bytes: u64, radio: Option<Duration>) -> Sample {
    Sample {
        arrived: bytes,
        delivered: bytes,
        wired_rtt: ms(RTT),
        radio_rtt: radio,
        radio_smoothed: None,
        held: false,
        waiting: 0,
    }
}

/// The default control with a cell and a UE.
pub(crate) fn one_ue() -> (Control, CellId, UeId) {
    let mut control = Control::new(&ControlConfig::default()).expect("valid");
    let cell = control.add_cell();
    let ue = control.add_ue(at(0), cell).expect("the cell exists");
    (control, cell, ue)
}

/// The window towards the server of `flow`.
pub(crate) fn server(control: &Control, flow: FlowId) -> u64 {
    control.view(flow).expect("open").windows.server
}
