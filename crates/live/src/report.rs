//! What a live run says of itself beside the results that it shares with the simulator.

use crate::Outages;
use crate::capture::CaptureReport;
use crate::clock::Priority;
use crate::lateness::LatenessReport;
use crate::packet::Malformed;
use justfull_base::Duration;
use serde::Serialize;

/// Datagrams that came from one side, and what became of them:
/// `received = malformed + no_ue + no_buffer + dropped + delivered + refused + queued`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Read from the interface.
    pub received: u64,
    /// Not forwarded, by reason in the order of [`Malformed::ALL`].
    pub malformed: [u64; Malformed::ALL.len()],
    /// For an address that no UE has.
    pub no_ue: u64,
    /// All packet buffers were in use.
    pub no_buffer: u64,
    /// Dropped in the chain, or by the UE's queue of the uplink.
    pub dropped: u64,
    /// Written to the interface of the other side.
    pub delivered: u64,
    /// Bytes of those, with IP headers.
    pub delivered_bytes: u64,
    /// The other side's interface took no more, or failed.
    pub refused: u64,
    /// In a link, a queue or on the air when the run ended.
    pub queued: u64,
}

impl Account {
    /// Malformed datagrams of all reasons.
    #[must_use]
    pub fn malformed_total(&self) -> u64 {
        self.malformed.iter().sum()
    }

    /// True when every datagram is in one place.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        let gone = self.malformed_total() + self.no_ue + self.no_buffer + self.dropped;
        self.received == gone + self.delivered + self.refused + self.queued
    }
}

/// What a live run says of its timing, its packets and its memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveReport {
    /// How the loop's thread was scheduled.
    pub priority: Priority,
    /// Wake-ups for slots: their period, how late they were, and whether the run was late.
    pub lateness: LatenessReport,
    /// Most time between two readings of the interfaces when on time; stamps are good to half of
    /// it.
    pub read_period: Duration,
    /// Times that the process was held up for longer than is caught up.
    pub stops: u64,
    /// Time that those took out of the run.
    pub stopped: Duration,
    /// The run was ended before its time because it was settled that it would be beyond what it
    /// was held to.
    pub given_up: bool,
    /// From the server to the UEs.
    pub down: Account,
    /// From the UEs to the server.
    pub up: Account,
    /// Flows that appeared; one that comes again after it was aged out counts again.
    pub flows: u64,
    /// Flows that gave their place to another when the table of flows was full, the least recently
    /// used first.
    pub aged_flows: u64,
    /// Packets of flows that came when each flow in the full table had packets on their way, and
    /// shared a flow for each UE and QFI.
    pub shared_packets: u64,
    /// Packet buffers.
    pub buffers: usize,
    /// Most that were in use at a time.
    pub buffers_used: usize,
    /// Memory of the buffers in bytes.
    pub buffer_bytes: usize,
    /// Congestion control by side, for whoever set it to fill in.
    pub congestion_control: Vec<(String, String)>,
    /// What a recorder of packets was given; none without one.
    pub capture: Option<CaptureReport>,
    /// Times at which an attached interface was down and waited for.
    pub outages: Outages,
    /// Servers that ended before the run did: their lines, and their statuses as a shell tells
    /// them.
    pub ended_servers: Vec<(String, u8)>,
    /// Why the run ended before its time, other than by being told to.
    pub fault: Option<String>,
}

impl LiveReport {
    /// The run was late: its delays are shaped by this machine and not by the scenario alone.
    #[must_use]
    pub fn late(&self) -> bool {
        self.lateness.late
    }
}
