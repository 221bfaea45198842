//! RAPID (R22): from reports of the radio network and samples of TCP flows to two windows for each
//! flow of a split proxy: the receive window advertised to the server and the congestion window
//! towards the UE.
//!
//! [`Control`] is the whole interface. It has no clock, socket or thread: every event carries
//! `now`, changed windows are drained with [`Control::poll_change`], and [`Control::next_timer`]
//! returns when to call [`Control::on_timer`]. One type runs all controls, so dispatch is static:
//! [`ControlConfig`] chooses between RAPID, an equal share for each flow, and no control.
//! [`PayloadControl`] wraps it for a driver whose windows count payload.
//!
//! ```
//! use justfull_base::feedback::{CellKind, RanReport};
//! use justfull_base::{Duration, Instant};
//! use justfull_rapid::{Control, ControlConfig, Opening};
//!
//! let ms = |n| Instant::ZERO + Duration::from_millis(n);
//! let mut control = Control::new(&ControlConfig::default()).expect("the defaults are valid");
//! let cell = control.add_cell();
//! let ue = control.add_ue(ms(0), cell).expect("the cell exists");
//! let report = RanReport {
//!     at: ms(1),
//!     kind: CellKind::Bytes,
//!     slot: Duration::from_millis(1),
//!     slots: 1,
//!     offered: 2500,
//!     used: 0,
//!     active_ues: 0,
//!     blocks: 0,
//!     repeats: 0,
//!     bytes: 0,
//!     mcs: None,
//!     backlog: 0,
//! };
//! control.on_report(ms(1), ue, &report).expect("a sane report");
//! let opening = Opening {
//!     mss: 1250,
//!     wired_rtt: Some(Duration::from_millis(10)),
//!     radio_rtt: Some(Duration::from_millis(20)),
//! };
//! let flow = control.open(ms(2), ue, &opening).expect("the UE exists");
//! let (changed, windows) = control.poll_change().expect("a new flow has windows");
//! // 20 Mbit/s over 10 ms, and over 20 ms, in whole segments.
//! assert_eq!((changed, windows.server, windows.radio), (flow, 25_000, 50_000));
//! ```
//!
//! # The rule for late, missing and wrong reports
//!
//! A report is refused if a field is outside its bounds, or if the report is not newer than the
//! last. Otherwise the capacity of a UE depends only on how long ago its last good report arrived:
//!
//! 1. *Hold* it for `hold`, or for `hold_reports` mean intervals between its reports if that is
//!    longer: lost and delayed reports change nothing. 50 ms and 4 intervals: with half of the
//!    reports lost, one gap in 16 is longer than 4 periods of the sender, none longer than 50 ms
//!    when the period is 1 ms.
//! 2. *Decay* towards `probe` times the delivery that the flows measure, with the time constant
//!    `decay` (100 ms, the coherence time of shadowing at walking speed, and a few round trips).
//!    Never above the last report. The factor 1.25, as in BBR's probing, lets a flow that fills its
//!    window keep its rate, and bounds the queue to a quarter of the bandwidth-delay product.
//! 3. *Forget* it after `forget` (1 s): from then on the capacity is `probe` times the measured
//!    delivery alone, as for a UE that never had a report, and the UE's share of the cell is free.
//!    Deliveries of applications that have no more to send raise it, but do not lower it.
//! 4. *Recover* with the first good report, at once.
//!
//! Reports that claim too much cannot fill the radio's queue without bound: the radio leg's window
//! is rate times round trip, the round trip is at most `radio_rtt_max` times the smallest ever
//! seen, and the loops over the reports add at most `radio_slack_max` and `bypass_max` to it.
//!
//! # The contract
//!
//! - Time that goes back counts as standing still.
//! - An unknown cell, UE or flow, and a flow closed twice, are [`Refused`] and change nothing.
//! - A control of a [`Room`] refuses UEs and flows beyond it and allocates nothing.
//! - A round trip of 0 is unknown; one above 10 s counts as 10 s.
//! - A server window is never below the floor (`floor_segments`, `floor`). When the floors of a
//!   UE's flows together exceed its reported capacity, flows read in turn ([`Windows::reading`]).
//! - Equal events give equal windows, on every machine.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod allocate;
mod bypass;
mod capacity;
mod cell;
mod config;
mod control;
mod doc;
mod flow;
mod identity;
mod kinds;
mod members;
mod payload;
mod refused;
mod room;
mod sample;
mod slab;
mod slack;
mod timers;
mod ue;

pub use config::{
    ActiveFlows, AllocateIn, Blocks, Cap, Config, EqualShareConfig, Loss, NoneConfig, Periods,
    RadioRtt, RadioWindow, Released, WindowRtt,
};
pub use control::{Control, Load};
pub use doc::DOCS;
pub use kinds::ControlConfig;
pub use payload::PayloadControl;
pub use refused::Refused;
pub use room::Room;
pub use sample::{Category, FlowView, Opening, Sample, Windows};
pub use slab::{CellId, FlowId, UeId};
