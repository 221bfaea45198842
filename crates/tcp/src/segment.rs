//! The messages between the endpoints: segments one way, acknowledgements the other.

use crate::accecn::{AccEcnOption, Flags};
use justfull_base::{Ecn, Instant};

/// Bytes of IPv4 and TCP headers with the timestamps option. A sender adds them to the payload on
/// the IP layer unless it has another setting.
pub const HEADER_BYTES: u32 = 20 + 32;

/// A data segment. `len` 0 is a SYN or a window probe (RFC 9293 section 3.8.6.1), which the
/// receiver acknowledges at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Stream offset of the first byte.
    pub seq: u64,
    /// Payload in bytes, 0 to the sender's MSS.
    pub len: u32,
    /// These bytes were sent before.
    pub retransmission: bool,
    /// When it was sent: the timestamp value of RFC 7323.
    pub sent_at: Instant,
    /// Its ECN codepoint (RFC 3168). Without ECN++ SYNs and probes are not ECN-capable, and
    /// retransmissions only of scalable controls.
    pub ecn: Ecn,
    /// AE, CWR and ECE: of a SYN the offer of ECN; then CWR (RFC 3168) or ACE (RFC 9768).
    pub flags: Flags,
    /// SYN or PSH.
    pub mark: Mark,
}

/// A flag of a segment that the receiver reads. A segment has one at most, so that it takes 24
/// bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// None.
    #[default]
    None,
    /// PSH: it ends a burst of several segments, or the data that the application wrote.
    Push,
    /// Opens a connection; data begins at the segment's `seq`.
    Syn,
}

impl Mark {
    /// `Push` if `push`, else none.
    #[must_use]
    pub const fn pushed(push: bool) -> Self {
        if push { Self::Push } else { Self::None }
    }
}

impl Segment {
    /// Stream offset after the last byte.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64
    }
}

/// A range of bytes that arrived out of order (RFC 2018) or, as the first block, twice (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte.
    pub start: u64,
    /// After the last byte.
    pub end: u64,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// All bytes below this offset have arrived.
    pub cumulative: u64,
    /// Advertised window: bytes beyond `cumulative` that the receiver accepts.
    pub window: u64,
    /// Echo of the timestamp of the segment that caused the acknowledgement (RFC 7323 section
    /// 4.3).
    pub ts_echo: Instant,
    /// Blocks, the most recent first; valid up to `sack_len` (three fit beside timestamps).
    pub sack: [SackBlock; 3],
    /// Number of valid blocks, 0 to 3.
    pub sack_len: u8,
    /// AE, CWR and ECE: of a SYN/ACK the answer to the offer of ECN; then ECE (RFC 3168) or ACE
    /// (RFC 9768).
    pub flags: Flags,
    /// True for the acknowledgement of a SYN.
    pub syn: bool,
    /// Its ECN codepoint; a driver that marks it writes CE here.
    pub ecn: Ecn,
    /// The counters of bytes, if the receiver reports them.
    pub option: AccEcnOption,
}

impl Ack {
    /// True when the first block reports data that arrived twice: it lies below the cumulative
    /// point or within the second block (RFC 2883 section 4).
    #[must_use]
    pub fn reports_duplicate(&self) -> bool {
        let [first, second, _] = self.sack;
        let within = self.sack_len > 1 && second.start <= first.start && first.end <= second.end;
        self.sack_len > 0 && (first.end <= self.cumulative || within)
    }

    /// The valid blocks.
    #[must_use]
    pub fn sack_blocks(&self) -> &[SackBlock] {
        self.sack.get(..usize::from(self.sack_len)).unwrap_or(&self.sack)
    }
}
