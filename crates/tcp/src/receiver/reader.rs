//! Linux's rules for acknowledging data in order.
//!
//! A second segment is acknowledged at its arrival only if the window to advertise is then no
//! smaller than the last one (`__tcp_ack_snd_check`, `__tcp_select_window`). Otherwise the
//! application's read triggers the acknowledgement: of more than one segment, or of a segment with
//! PSH that leaves nothing to read (`__tcp_cleanup_rbuf`). Unread data takes space of the buffer,
//! so the threshold of the window (`rcv_ssthresh`) decides. Data in order raises it to the buffer
//! less the arriving segment: a lone second segment is then acknowledged at once, two segments that
//! arrive together are not. A segment beyond a gap is counted only after the growth
//! (`tcp_data_queue_ofo`), so from the first such segment on the threshold may be the whole buffer,
//! and every acknowledgement waits for the read. While the threshold grows, each segment is
//! acknowledged at once (`tcp_grow_window`).
//!
//! The application reads at the end of the instant in which data arrives.

use justfull_base::Instant;

/// Bytes that a buffer holds at first (`tcp_rmem`: 128 KiB; full segments fill five eighths of it).
pub(super) const FIRST_SPACE: u64 = 80 << 10;
/// Most bytes to which it grows by itself (`tcp_rmem`).
pub(super) const MOST_SPACE: u64 = 6 << 20;

/// State of one receiver. Sizes are bytes of payload.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// The read of a full segment with PSH acknowledges it.
    push_of_full: bool,
    /// The limit to which the window has grown (`rcv_ssthresh`).
    threshold: u64,
    /// The window of the last acknowledgement (`rcv_wnd`).
    window: u64,
    /// Bytes in order that were unread when the last segment arrived.
    unread: u64,
    /// When the last segment arrived.
    arrived: Instant,
    /// The largest segment (`rcv_mss`).
    full: u64,
    /// A segment with PSH, or a short one, is not acknowledged (`ICSK_ACK_PUSHED`).
    pushed: bool,
}

/// A segment that arrives in order.
pub(super) struct InOrder {
    pub(super) len: u64,
    /// With PSH.
    pub(super) push: bool,
    /// Bytes that become in order with it.
    pub(super) new: u64,
}

impl Reader {
    /// A receiver whose buffer holds `space` at first: the first window is four fifths of it, in
    /// Linux 64 KiB.
    pub(super) fn new(push_of_full: bool, space: u64) -> Self {
        let window = space - space / 5;
        Self {
            push_of_full,
            threshold: window,
            window,
            unread: 0,
            arrived: Instant::ZERO,
            full: 0,
            pushed: false,
        }
    }

    /// Starts a new connection.
    pub(super) fn restart(&mut self, space: u64) {
        *self = Self::new(self.push_of_full, space);
    }

    /// A segment of `len` bytes arrives in order, with or without PSH, and completes `new` bytes;
    /// `beyond` bytes wait beyond gaps, and `most` is the largest window that the buffer could
    /// advertise. Returns true if the threshold has grown.
    #[inline]
    pub(super) fn in_order(
        &mut self,
        now: Instant,
        arrived: InOrder,
        beyond: u64,
        most: u64,
    ) -> bool {
        let InOrder { len, push, new } = arrived;
        self.read_before(now);
        if len < self.full {
            self.pushed = true;
        } else {
            self.full = len;
            self.pushed |= push && self.push_of_full;
        }
        // A short segment takes no less memory.
        self.unread += new.max(self.full);
        self.grow(len, most.saturating_sub(self.unread + beyond))
    }

    /// `len` bytes arrive beyond a gap, where `beyond` bytes waited before.
    pub(super) fn beyond_gap(&mut self, now: Instant, len: u64, beyond: u64, most: u64) {
        self.read_before(now);
        self.grow(len, most.saturating_sub(self.unread + beyond));
    }

    /// Data of an earlier instant has been read.
    #[inline]
    fn read_before(&mut self, now: Instant) {
        if self.arrived != now {
            self.unread = 0;
            self.arrived = now;
        }
    }

    #[inline]
    fn grow(&mut self, len: u64, most: u64) -> bool {
        let grows = most > self.threshold;
        if grows {
            self.threshold = most.min(self.threshold + 2 * len);
        }
        grows
    }

    /// True if `unacked` bytes, more than one segment, are acknowledged at arrival; `space` is the
    /// buffer.
    #[inline]
    pub(super) fn at_arrival(&self, unacked: u64, beyond: u64, space: u64) -> bool {
        unacked > self.full && self.offer(beyond, space) >= self.window
    }

    /// True if the read that empties the buffer acknowledges `unacked` bytes.
    #[inline]
    pub(super) fn at_read(&self, unacked: u64) -> bool {
        unacked > self.full || self.pushed
    }

    /// The application reads all data in order.
    pub(super) fn read(&mut self) {
        self.unread = 0;
    }

    /// The last `unacked` bytes are acknowledged. An advertised window stays valid.
    #[inline]
    pub(super) fn acknowledged(&mut self, unacked: u64, beyond: u64, space: u64) {
        self.window = self.offer(beyond, space).max(self.window.saturating_sub(unacked));
        self.pushed = false;
    }

    fn offer(&self, beyond: u64, space: u64) -> u64 {
        space.saturating_sub(self.unread + beyond).min(self.threshold)
    }
}
