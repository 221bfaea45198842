//! Where a flow's packets go.

use justfull_base::Instant;
use justfull_base::packet::Protocol;

/// What the way of a flow's packets through the world depends on.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Number of the flow.
    pub flow: u32,
    /// UE at one end; at the other is a server.
    pub ue: u32,
    /// Number of its wire in the core and of the one back.
    pub wire: u32,
    /// What its packets say they are.
    pub protocol: Protocol,
    /// Bytes of headers of its segments, at most 120.
    pub header: u8,
    /// Bytes of its acknowledgements, at most 120.
    pub ack: u8,
    /// What is true of the flow.
    pub marks: Marks,
    /// It sends no new data from here on.
    pub stop: Instant,
}

/// What is true of a flow, a bit each, so that a source of datagrams is a line of the cache.
#[derive(Clone, Copy, Debug)]
pub struct Marks(u8);

impl Marks {
    /// None is true.
    pub const NONE: Self = Self(0);
    const TRACKED: u8 = 1;
    const UP: u8 = 2;

    /// The delays of its packets are compared with the bound.
    pub const fn tracked(self, yes: bool) -> Self {
        self.with(Self::TRACKED, yes)
    }

    /// Data goes from the UE to the server.
    pub const fn up(self, yes: bool) -> Self {
        self.with(Self::UP, yes)
    }

    const fn with(self, bit: u8, yes: bool) -> Self {
        Self(if yes { self.0 | bit } else { self.0 & !bit })
    }
}

impl Route {
    /// The delays of its packets are compared with the bound.
    #[inline(always)]
    pub const fn tracked(&self) -> bool {
        self.marks.0 & Marks::TRACKED != 0
    }

    /// Data goes from the UE to the server.
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
