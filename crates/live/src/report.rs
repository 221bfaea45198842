//! Facts of a live run that a simulated run does not have.

use crate::capture::CaptureReport;
use crate::lateness::LatenessReport;
use crate::packet::Malformed;
use crate::reports::ReportCounts;
use justfull_base::Duration;
use justfull_net::clock::Priority;
use justfull_net::{Joined, Outages};
use serde::Serialize;

/// Datagrams from one side, and their fate: `received = malformed + no_ue + no_buffer + dropped +
/// delivered + refused + queued`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Read from the interface.
    pub received: u64,
    /// Not forwarded, by reason in the order of [`Malformed::ALL`].
    pub malformed: [u64; Malformed::ALL.len()],
    /// Addressed to no known UE.
    pub no_ue: u64,
    /// All packet buffers of this direction were in use: dropped before the chain or the UE's
    /// queue.
    pub no_buffer: u64,
    /// Dropped in the chain, or by the UE's queue of the uplink.
    pub dropped: u64,
    /// Written to the interface of the other side.
    pub delivered: u64,
    /// Bytes of the delivered datagrams, with IP headers.
    pub delivered_bytes: u64,
    /// The other side's interface accepted no more, or failed.
    pub refused: u64,
    /// On a link, in a queue or on the air when the run ended.
    pub queued: u64,
}

impl Account {
    /// Malformed datagrams of all reasons.
    #[must_use]
    pub fn malformed_total(&self) -> u64 {
        self.malformed.iter().sum()
    }

    /// True when every datagram is accounted for exactly once.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        let gone = self.malformed_total() + self.no_ue + self.no_buffer + self.dropped;
        self.received == gone + self.delivered + self.refused + self.queued
    }
}

/// Timing, packets and memory of a live run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveReport {
    /// How the loop's thread was scheduled.
    pub priority: Priority,
    /// Wake-ups for slots: their period and lateness, and whether the run was late.
    pub lateness: LatenessReport,
    /// Longest time between two readings of the interfaces when on time; stamps are accurate to
    /// half of it.
    pub read_period: Duration,
    /// Number of stops of the process that were too long to catch up.
    pub stops: u64,
    /// Time that these stops cut out of the run.
    pub stopped: Duration,
    /// The run ended early because it was certain to exceed its limit.
    pub given_up: bool,
    /// From the server to the UEs.
    pub down: Account,
    /// From the UEs to the server.
    pub up: Account,
    /// Flows that appeared; a flow that returns after it was replaced counts again.
    pub flows: u64,
    /// Flows that were replaced when the flow table was full, the least recently used first.
    pub aged_flows: u64,
    /// Packets of flows that arrived when every flow in the full table had packets in transit;
    /// they shared one flow per UE and QFI.
    pub shared_packets: u64,
    /// Packet buffers for each direction.
    pub buffers: usize,
    /// Most buffers in use at once: by packets on their way down, and by packets on their way up.
    pub buffers_used: [usize; 2],
    /// Memory of the buffers of both directions in bytes.
    pub buffer_bytes: usize,
    /// Congestion control by side; the code that sets it fills it in.
    pub congestion_control: Vec<(String, String)>,
    /// Counts of the packet capture; none without one.
    pub capture: Option<CaptureReport>,
    /// Counts of the cell's reports; none without a listener.
    pub reports: Option<ReportCounts>,
    /// Between the servers and a proxy, down and up; none without a proxy. The other accounts then
    /// count packets between the proxy and the UEs.
    pub wan: Option<[Account; 2]>,
    /// Packets of many segments that were exchanged with the kernel.
    pub joined: Joined,
    /// Times when an attached interface was down.
    pub outages: Outages,
    /// Servers that ended before the run: their command lines, and statuses as a shell reports
    /// them.
    pub ended_servers: Vec<(String, u8)>,
    /// The kernel's TCP was short of memory, so that receivers offered four segments at most.
    pub tcp_was_short: bool,
    /// Why the run ended early, other than on request.
    pub fault: Option<String>,
}

impl LiveReport {
    /// True if the run was late or short of memory, so that this machine, not the scenario alone,
    /// shaped its delays.
    #[must_use]
    pub fn late(&self) -> bool {
        self.lateness.late || self.tcp_was_short
    }
}
