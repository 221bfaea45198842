//! Where a flow's packets go.

use justfull_base::Instant;
use justfull_base::packet::Protocol;

/// What the way of a flow's packets through the world depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// Number of the flow.
    pub(crate) flow: u32,
    /// UE at one end; at the other is a server.
    pub(crate) ue: u32,
    /// Number of its wire in the core and of the one back.
    pub(crate) wire: u32,
    /// Its packets' delays are compared with the bound.
    pub(crate) tracked: bool,
    /// What its packets say they are.
    pub(crate) protocol: Protocol,
    /// Bytes of headers of its segments, at most 120.
    pub(crate) header: u8,
    /// Bytes of its acknowledgements, at most 120.
    pub(crate) ack: u8,
    /// Data goes from the UE to the server.
    pub(crate) up: bool,
    /// It sends no new data from here on.
    pub(crate) stop: Instant,
}

impl Route {
    /// Bytes of the headers of a segment.
    #[inline(always)]
    pub(crate) const fn header(&self) -> u32 {
        self.header as u32
    }

    /// Bytes of an acknowledgement.
    #[inline(always)]
    pub(crate) const fn ack(&self) -> u32 {
        self.ack as u32
    }
}
