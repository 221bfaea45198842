//! The state of a run in progress, for observers.

use super::{Counts, Live, NamedFlows};
use crate::lateness::{Lateness, LatenessReport};
use crate::report::Account;
use justfull_base::Instant;
use justfull_net::Port;

/// The run at one instant, for observers.
#[derive(Clone, Debug)]
pub struct View {
    /// Packets waiting in UPF, SDAP and RLC.
    pub backlog_packets: [u64; 3],
    /// Counts since the start of the run.
    pub counts: Counts,
    /// From the server to the UEs, without queued packets.
    pub down: Account,
    /// From the UEs to the server, without queued packets.
    pub up: Account,
    /// Flows that have appeared; a flow that returns after it was replaced counts again.
    pub flows: u64,
    /// Flows that were replaced by another when the flow table was full.
    pub aged_flows: u64,
    /// Packets of flows that found no place in it.
    pub shared_packets: u64,
    /// The counts of flows by name.
    pub names: Vec<NamedFlows>,
    /// The unit of slots: `packets`, `bytes` or `resource_blocks`.
    pub unit: &'static str,
    /// Lateness so far.
    pub lateness: LatenessReport,
}

/// Observes the run ten times a second, on the loop's own thread: it must not block.
pub trait Watch {
    /// The run at `now`.
    fn saw(&mut self, now: Instant, view: &View);
}

impl Watch for () {
    fn saw(&mut self, _now: Instant, _view: &View) {}
}

impl<P: Port> Live<P> {
    pub(super) fn view(&self, lateness: &Lateness) -> View {
        View {
            backlog_packets: self.radio.backlog_packets(),
            counts: self.side.counts,
            down: self.down,
            up: self.up,
            flows: self.flows.opened(),
            aged_flows: self.flows.aged,
            shared_packets: self.flows.shared_packets,
            names: self.side.by_name.view(),
            unit: self.radio.slot_unit(),
            lateness: lateness.report(),
        }
    }
}
