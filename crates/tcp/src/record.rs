//! State of one sent segment.

use justfull_base::Instant;

pub(crate) const SACKED: u8 = 1;
pub(crate) const LOST: u8 = 2;
/// A retransmission is in flight.
pub(crate) const RETRANSMITTED: u8 = 4;
/// It was retransmitted at least once: its round trip is ambiguous.
pub(crate) const EVER_RETRANSMITTED: u8 = 8;

/// A segment that was sent and is not yet cumulatively acknowledged. 24 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    /// First byte.
    pub(crate) seq: u64,
    /// When it last left.
    pub(crate) sent_at: Instant,
    /// For a sacked record: the next `skip` records from here on are all sacked.
    pub(crate) skip: u32,
    /// Payload bytes.
    pub(crate) len: u16,
    pub(crate) flags: u8,
}

impl Record {
    pub(crate) fn new(seq: u64, len: u16, sent_at: Instant) -> Self {
        Self { seq, len, sent_at, skip: 0, flags: 0 }
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }

    pub(crate) fn was_retransmitted(&self) -> bool {
        self.has(EVER_RETRANSMITTED)
    }

    /// Bytes it adds to the pipe: the original unless lost or sacked, and the retransmission unless
    /// sacked (RFC 6675 section 4, `SetPipe`).
    pub(crate) fn in_pipe(&self) -> u64 {
        if self.has(SACKED) {
            return 0;
        }
        u64::from(self.len) * (u64::from(!self.has(LOST)) + u64::from(self.has(RETRANSMITTED)))
    }

    /// Its bytes if it is marked lost.
    pub(crate) fn lost_bytes(&self) -> u64 {
        if self.has(LOST) { u64::from(self.len) } else { 0 }
    }
}

/// Orders segments by when they last left: by time, and at one instant by sequence (RFC 8985
/// section 6.2, `RACK_sent_after`). The default is none, before all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Latest {
    sent_at: Instant,
    /// One more than the serial, so that the default is below all others.
    after: u64,
}

impl Latest {
    #[inline]
    pub(crate) const fn new(sent_at: Instant, serial: u64) -> Self {
        Self { sent_at, after: serial + 1 }
    }

    #[inline]
    pub(crate) const fn is_some(self) -> bool {
        self.after != 0
    }

    #[inline]
    pub(crate) const fn sent_at(self) -> Instant {
        self.sent_at
    }

    /// The later of the two (as `max`, in the form that compiles to two comparisons).
    #[inline]
    pub(crate) fn or_later(self, other: Self) -> Self {
        let later = other.sent_at > self.sent_at
            || (other.sent_at == self.sent_at && other.after > self.after);
        if later { other } else { self }
    }

    /// Meaningless for the default.
    #[inline]
    pub(crate) const fn serial(self) -> u64 {
        self.after.wrapping_sub(1)
    }
}
