//! The path of a flow's packets.

use justfull_base::Instant;
use justfull_base::packet::Protocol;

/// The properties of a flow that determine the path of its packets through the world.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Number of the flow.
    pub flow: u32,
    /// UE at one end; the other end is a server.
    pub ue: u32,
    /// Number of its wire in the core and of its wire back.
    pub wire: u32,
    /// Protocol of its packets.
    pub protocol: Protocol,
    /// Bytes of headers of its segments, at most 120.
    pub header: u8,
    /// Bytes of its acknowledgements, at most 120.
    pub ack: u8,
    /// Flags of the flow.
    pub marks: Marks,
    /// From this instant on it sends no new data.
    pub stop: Instant,
}

/// Flags of a flow, one bit each, so that a source of datagrams fits a cache line.
#[derive(Clone, Copy, Debug)]
pub struct Marks(u8);

impl Marks {
    /// No flag is set.
    pub const NONE: Self = Self(0);
    const TRACKED: u8 = 1;
    const UP: u8 = 2;

    /// Sets whether the delays of its packets are compared with the bound.
    pub const fn tracked(self, yes: bool) -> Self {
        self.with(Self::TRACKED, yes)
    }

    /// Sets whether data goes from the UE to the server.
    pub const fn up(self, yes: bool) -> Self {
        self.with(Self::UP, yes)
    }

    const fn with(self, bit: u8, yes: bool) -> Self {
        Self(if yes { self.0 | bit } else { self.0 & !bit })
    }
}

impl Route {
    /// True if the delays of its packets are compared with the bound.
    #[inline(always)]
    pub const fn tracked(&self) -> bool {
        self.marks.0 & Marks::TRACKED != 0
    }

    /// True if data goes from the UE to the server.
    #[inline(always)]
    pub const fn up(&self) -> bool {
        self.marks.0 & Marks::UP != 0
    }

    /// Bytes of the headers of a segment.
    #[inline(always)]
    pub const fn header(&self) -> u32 {
        self.header as u32
    }

    /// Bytes of an acknowledgement.
    #[inline(always)]
    pub const fn ack(&self) -> u32 {
        self.ack as u32
    }
}
