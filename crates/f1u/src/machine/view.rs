//! Treatments, counts and bearers, for drivers and operators.

use serde::Serialize;
use std::net::IpAddr;

/// The kind of a packet, by its treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// User data of the downlink.
    UserData,
    /// User data that the box keeps, or a packet that follows it in its tunnel:
    /// [`Machine::poll`](super::Machine::poll) gives it back. Every other packet goes on at once.
    Held,
    /// A delivery status that stays as it is.
    Status,
    /// A delivery status whose bounds were changed.
    Rewritten,
    /// Something else, or GTP-U of an unknown kind.
    Other,
    /// GTP-U or NR-U with a wrong length or value.
    Malformed,
}

/// Packets by their treatment, and the reasons for unchanged statuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets with user data of the downlink.
    pub user_data: u64,
    /// Delivery statuses.
    pub statuses: u64,
    /// Delivery statuses whose bounds were changed.
    pub rewritten: u64,
    /// Delivery statuses whose bearer is not known yet.
    pub unpaired: u64,
    /// Delivery statuses about numbers that were not seen.
    pub unknown: u64,
    /// Packets that are no frames of NR-U, or of an unknown type.
    pub other: u64,
    /// Packets with a wrong length or value.
    pub malformed: u64,
    /// Packets of tunnels for which there is no place.
    pub over_limit: u64,
    /// Packets that waited in the box: user data, and packets that followed it in its tunnel.
    pub held: u64,
    /// Packets among them that left early for lack of room.
    pub early: u64,
    /// Delivery statuses of the box's own.
    pub own_statuses: u64,
}

impl Counts {
    pub(super) fn add(&mut self, verdict: Verdict) {
        let count = match verdict {
            Verdict::UserData | Verdict::Held => &mut self.user_data,
            Verdict::Status | Verdict::Rewritten => &mut self.statuses,
            Verdict::Other => &mut self.other,
            Verdict::Malformed => &mut self.malformed,
        };
        *count += 1;
        self.rewritten += u64::from(verdict == Verdict::Rewritten);
    }
}

/// A bearer, for its operator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BearerView {
    /// Address of the CU-UP.
    pub cu_up: IpAddr,
    /// Address of the DU.
    pub du: IpAddr,
    /// TEID of the downlink, of the DU's.
    pub downlink_teid: u32,
    /// TEID of the uplink, of the CU-UP's; none until it is known.
    pub uplink_teid: Option<u32>,
    /// User data sent down, in packets and bytes.
    pub packets: u64,
    /// The same in bytes.
    pub bytes: u64,
    /// Bytes that the DU has but has not transmitted.
    pub in_flight: u32,
    /// Bytes that wait in the box.
    pub held: u32,
    /// Bytes that it may have; none without a limit yet.
    pub limit: Option<u32>,
    /// Bytes a second that the radio takes.
    pub rate: f64,
    /// Delivery statuses.
    pub statuses: u64,
    /// Delivery statuses that were changed.
    pub rewritten: u64,
}
