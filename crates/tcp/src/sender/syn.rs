//! The opening of a connection: a SYN, repeated by the retransmission timer until it is
//! acknowledged (RFC 9293 section 3.5; RFC 6298 section 5).

use super::{INITIAL_PEER_WINDOW, Sender};
use crate::config::SenderConfig;
use crate::segment::{Ack, Mark, Segment};
use justfull_base::{ConfigError, Duration, Ecn, Instant};

/// The state of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syn {
    /// The connection is open.
    Done,
    /// To be sent once there is data.
    Due,
    /// Sent at this instant, for the first time unless `again`.
    Sent { at: Instant, again: bool },
}

impl Sender {
    /// Replaces the connection by a new one with `config` and `key`. The byte stream continues;
    /// outstanding data counts as acknowledged, and counters go on.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn reconnect(&mut self, config: &SenderConfig, key: u64) -> Result<(), ConfigError> {
        let mut fresh = Self::with_key(config, key)?;
        let begin = self.board.nxt();
        fresh.board.begin_at(begin);
        fresh.recovery_point = begin;
        fresh.round.end = begin;
        fresh.window_end = begin + INITIAL_PEER_WINDOW;
        fresh.written = self.written.max(begin);
        fresh.closed = self.closed;
        fresh.ce_packets = self.ce_packets;
        fresh.ce_bytes = self.ce_bytes;
        fresh.syn = Syn::Due;
        fresh.stats = core::mem::take(&mut self.stats);
        *self = fresh;
        Ok(())
    }

    /// True until the handshake is done.
    #[inline(always)]
    pub(super) fn is_opening(&self) -> bool {
        self.syn != Syn::Done
    }

    /// The SYN, once there is data to send.
    #[cold]
    pub(super) fn send_syn(&mut self, now: Instant) -> Option<Segment> {
        let seq = self.board.nxt();
        let again = match self.syn {
            Syn::Due if self.written > seq => false,
            Syn::Sent { .. } if self.probe_due => true,
            _ => return None,
        };
        self.probe_due = false;
        self.syn = Syn::Sent { at: now, again };
        self.rto_deadline = now + self.rtt.rto();
        self.stats.syns += 1;
        let (len, retransmission) = (0, again);
        Some(Segment {
            seq,
            len,
            retransmission,
            sent_at: now,
            ecn: Ecn::NotEct,
            cwr: false,
            mark: Mark::Syn,
        })
    }

    /// The timer of the SYN has fired.
    #[cold]
    pub(super) fn repeat_syn(&mut self) {
        self.rtt.back_off();
        self.stats.timeouts += 1;
        self.rto_deadline = Instant::NEVER;
        self.probe_due = true;
    }

    /// An acknowledgement before the connection is open: only the SYN's counts. If the SYN was sent
    /// twice, it gives no round-trip time (Karn's rule).
    #[cold]
    pub(super) fn take_syn(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        let Syn::Sent { at, again } = self.syn else { return None };
        if !ack.syn {
            return None;
        }
        self.syn = Syn::Done;
        self.rto_deadline = Instant::NEVER;
        self.probe_due = false;
        self.take_window(ack, true);
        if again {
            return None;
        }
        self.rtt.sample(at, now, true);
        self.rtt.reset_backoff();
        self.tail.on_rtt_sample();
        Some(now.since(at))
    }
}
