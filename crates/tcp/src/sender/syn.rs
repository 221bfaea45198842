//! The opening of a connection: a SYN, repeated by the retransmission timer until it is
//! acknowledged (RFC 9293 section 3.5; RFC 6298 section 5).

use super::{INITIAL_PEER_WINDOW, Sender};
use crate::accecn::{self, Feedback};
use crate::config::SenderConfig;
use crate::receiver::Receiver;
use crate::segment::{Ack, Mark, Segment};
use justfull_base::{ConfigError, Duration, Ecn, Instant};

/// The state of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syn {
    /// The connection is open.
    Done,
    /// To be sent once there is data.
    Due,
    /// Sent at this instant, after so many others.
    Sent { at: Instant, before: u32 },
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
        fresh.syn = Syn::Due;
        fresh.stats = core::mem::take(&mut self.stats);
        *self = fresh;
        Ok(())
    }

    /// Settles ECN with `receiver` as a handshake would have, for a connection that is established
    /// from the start; a SYN of this sender settles it later.
    pub fn settle(&mut self, receiver: &mut Receiver) {
        if !self.is_opening() {
            let asked = self.setup.asked.0;
            let answer = receiver.accept(asked.offer(), Ecn::NotEct);
            self.use_feedback(asked.agreed(answer));
        }
    }

    /// The ends agreed on `feedback`. Data is not ECN-capable if a scalable control could not count
    /// its marks.
    pub(super) fn use_feedback(&mut self, feedback: Feedback) {
        let (asked, codepoint) = self.setup.asked;
        let setup = &mut self.setup;
        setup.feedback = feedback;
        let usable = feedback == asked || feedback == Feedback::Classic && !setup.scalable;
        setup.ecn = if usable { codepoint } else { Ecn::NotEct };
        let counted = feedback == Feedback::Accurate;
        let control = counted && setup.wants_control_ecn;
        setup.control_ecn = if control { setup.ecn } else { Ecn::NotEct };
        setup.flags = if counted { accecn::ace(self.ce_acks) } else { 0 };
        self.next_flags = setup.flags;
    }

    /// Counts a marked acknowledgement (RFC 9768 section 3.2.2). The mark is of the way of the
    /// acknowledgements, on which nobody sends data, so no window is reduced.
    #[cold]
    #[inline(never)]
    pub(super) fn note_marked_ack(&mut self) {
        self.stats.marked_acks += 1;
        self.ce_acks += 1;
        self.setup.flags = accecn::ace(self.ce_acks);
        self.next_flags = self.setup.flags;
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
        let before = match self.syn {
            Syn::Due if self.written > seq => 0,
            Syn::Sent { before, .. } if self.probe_due => before + 1,
            _ => return None,
        };
        self.probe_due = false;
        self.syn = Syn::Sent { at: now, before };
        self.rto_deadline = now + self.rtt.rto();
        self.stats.syns += 1;
        // A middlebox may drop a SYN that offers ECN. The offer is repeated once if it is of
        // accurate ECN (RFC 9768 section 3.1.4.1), else not (RFC 3168 section 6.1.1.1; Linux).
        let asked = self.setup.asked.0;
        let offers = before <= u32::from(asked == Feedback::Accurate);
        // A middlebox may also drop an ECN-capable SYN, so a repeated SYN is not (ECN++ section
        // 3.2.1).
        let capable = before == 0 && self.offers_control_ecn();
        Some(Segment {
            seq,
            len: 0,
            retransmission: before > 0,
            sent_at: now,
            ecn: if capable { self.setup.asked.1 } else { Ecn::NotEct },
            flags: if offers { asked.offer() } else { 0 },
            mark: Mark::Syn,
        })
    }

    /// True if the first SYN is ECN-capable: `control_ecn` is on, and the SYN offers counters.
    fn offers_control_ecn(&self) -> bool {
        self.setup.wants_control_ecn && self.setup.asked.0 == Feedback::Accurate
    }

    /// The timer of the SYN has fired.
    #[cold]
    pub(super) fn repeat_syn(&mut self) {
        self.rtt.back_off();
        self.stats.timeouts += 1;
        self.rto_deadline = Instant::NEVER;
        self.probe_due = true;
    }

    /// An acknowledgement before the connection is open: only the SYN's counts, and no late one of
    /// an earlier connection (RFC 9293 section 3.10.7.3). If the SYN was sent twice, it gives no
    /// round-trip time (Karn's rule).
    #[cold]
    pub(super) fn take_syn(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        let Syn::Sent { at, before } = self.syn else { return None };
        if !ack.syn || ack.cumulative != self.board.nxt() {
            return None;
        }
        self.syn = Syn::Done;
        let agreed = self.setup.asked.0.agreed(ack.flags);
        self.use_feedback(agreed);
        if agreed == Feedback::Accurate && ack.ecn == Ecn::Ce {
            self.note_marked_ack();
        }
        // The SYN was marked, or its receiver cannot tell (ECN++ section 3.2.1).
        let marked = agreed != Feedback::Accurate || ack.flags == agreed.answer(Ecn::Ce);
        let careful = self.careful.take();
        if marked
            && self.offers_control_ecn()
            && let Some(careful) = careful
        {
            self.cc = *careful;
        }
        self.rto_deadline = Instant::NEVER;
        self.probe_due = false;
        self.take_window(ack, true);
        if before > 0 {
            return None;
        }
        self.rtt.sample(at, now, true);
        self.rtt.reset_backoff();
        self.tail.on_rtt_sample();
        Some(now.since(at))
    }
}
