//! Fast paths for the two most common cases: an acknowledgement in order while nothing is lost,
//! sacked, marked or retransmitted; and, behind a gap, an acknowledgement that only sacks the next
//! segment.
//!
//! They equal [`Sender::take_any`] without the steps that would have no effect. Debug builds run
//! the general path too, on a copy, and compare the two.

use super::Sender;
use super::ack::Progress;
use super::offload::Rooms;
use super::spurious::FRto;
use crate::accecn::Feedback;
use crate::control::{RecoveryState, Sent};
use crate::record::Record;
use crate::scoreboard::PlainRun;
use crate::segment::{Ack, Mark, Segment};
use alloc::boxed::Box;
use alloc::format;
use core::fmt::Debug;
use justfull_base::{Duration, Instant};

/// Segments of a sender's ring up to which debug builds compare the fast path with the general one.
const MOST_COMPARED: usize = 256;

/// Takes the segments that a sender lets out.
pub trait Outlet {
    /// `segment` leaves. Inlined, it saves a call for each segment.
    fn take(&mut self, segment: Segment);
}

impl<F: FnMut(Segment)> Outlet for F {
    #[inline(always)]
    fn take(&mut self, segment: Segment) {
        self(segment);
    }
}

impl Sender {
    /// The delivery of `ack` if the fast path can handle it; none if only the general path can.
    #[inline(always)]
    pub(super) fn plain_run(&self, ack: &Ack) -> Option<PlainRun> {
        let open = self.state == RecoveryState::Open && self.f_rto == FRto::Off;
        let judging =
            self.first_retransmission.is_some() || self.tail.is_out() || self.reduction.is_some();
        let counted = self.setup.feedback == Feedback::Accurate;
        let marks = if counted { self.has_marks(ack) } else { ack.flags > 0 };
        if !open || judging || marks || ack.sack_len > 0 {
            return None;
        }
        self.board.plain_run(ack.cumulative, self.rack.latest())
    }

    /// Processes an acknowledgement that delivers `run`, by the fast path.
    #[inline(always)]
    pub(super) fn take_plain<const SAMPLES: bool>(
        &mut self,
        now: Instant,
        ack: &Ack,
        run: PlainRun,
    ) -> Option<Duration> {
        let prior_in_flight = self.board.pipe();
        let delivery = self.board.acknowledge_plain(&run);
        self.rack.on_delivery(now, delivery.once, false);
        let mut progress = Progress {
            delivery,
            advanced: true,
            overtaken: 0,
            prior_in_flight,
            rtt: Some(now.since(delivery.once.sent_at())),
            round_start: false,
            lost: 0,
            ce_count: 0,
            ce_bytes: 0,
        };
        self.take_window(ack, true);
        let sample = self.take_rtt(now, ack, &mut progress);
        self.duplicate_acks = 0;
        self.reorder_deadline = Instant::NEVER;
        let rate = if SAMPLES {
            self.rate.finish_plain(now, delivery.bytes, delivery.once, self.rtt.min())
        } else {
            self.rate.deliver(delivery.bytes)
        };
        self.tell_control(now, &progress, &rate);
        if SAMPLES {
            self.limit_samples();
        }
        self.restart_timers(now, true);
        sample
    }

    /// [`Sender::on_ack`] for a control that uses samples of the delivery rate. It has
    /// a function of its own: with one for both, `s1_bench s1_1mb` takes 0.2 % more instructions.
    #[inline(never)]
    pub(super) fn take_sampled(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        self.take::<true>(now, ack)
    }

    /// The same for a control that uses none.
    #[inline(never)]
    pub(super) fn take_unsampled(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        self.take::<false>(now, ack)
    }

    #[inline(always)]
    fn take<const SAMPLES: bool>(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        if ack.cumulative > self.board.nxt() {
            return None;
        }
        self.stats.acks += 1;
        let Some(run) = self.plain_run(ack) else { return self.take_other(now, ack) };
        let twin = self.twin();
        let sample = self.take_plain::<SAMPLES>(now, ack, run);
        self.check_twin(twin, |general| general.take_any(now, ack, None), &sample);
        sample
    }

    /// Processes an acknowledgement that the fast path cannot handle. If its only news for the
    /// scoreboard is that the next segment is sacked, no search is needed.
    ///
    /// `s1_bench s1_10mb` takes 246.8 million instructions without this and 243.7 with it.
    #[inline(never)]
    pub(super) fn take_other(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        let next = if self.setup.by_reno { None } else { self.board.next_sacked(ack) };
        let twin = if next.is_some() { self.twin() } else { None };
        let sample = self.take_any(now, ack, next);
        self.check_twin(twin, |general| general.take_any(now, ack, None), &sample);
        sample
    }

    /// Gives `outlet` each segment that may leave now. Same as calling [`Sender::poll_transmit`]
    /// until it returns none.
    #[inline]
    pub fn transmit(&mut self, now: Instant, outlet: &mut impl Outlet) {
        if self.sends_plainly(now) {
            let twin = self.twin();
            let before = self.stats.segments_sent;
            // Compiled twice: this saves S1 15 instructions a packet.
            let held = if self.offload.is_on() {
                self.send_plain::<true>(now, outlet)
            } else {
                self.send_plain::<false>(now, outlet)
            };
            let sent = self.stats.segments_sent - before;
            let same = |general: &mut Self| {
                (0..sent).all(|_| general.poll_transmit(now).is_some())
                    && !(held && general.poll_transmit(now).is_some())
            };
            self.check_twin(twin, same, &true);
            if held {
                return;
            }
        }
        self.transmit_any(now, outlet);
    }

    /// [`Sender::transmit`] by the general path.
    #[inline(never)]
    fn transmit_any(&mut self, now: Instant, outlet: &mut impl Outlet) {
        while let Some(segment) = self.poll_transmit(now) {
            outlet.take(segment);
        }
    }

    /// True if new data is in flight and only the window holds more back: nothing is lost, paced or
    /// sampled, no probe is due, and the segments have no flags of ECN.
    #[inline(always)]
    fn sends_plainly(&self, now: Instant) -> bool {
        self.state == RecoveryState::Open
            && self.f_rto == FRto::Off
            && !self.tail.is_due()
            && !self.setup.paced
            && self.next_flags == 0
            && self.rate.is_off()
            && self.board.pipe() > 0
            && !self.board.has_losses()
            && self.rto_deadline != Instant::NEVER
            && !self.turns.repaired_at(now)
    }

    /// Sends full segments of new data, with `BURSTS` in buffers. True if only the window holds
    /// back the rest.
    #[inline(always)]
    fn send_plain<const BURSTS: bool>(&mut self, now: Instant, outlet: &mut impl Outlet) -> bool {
        let (mss, bytes) = (self.mss_bytes(), self.setup.mss);
        let (begin, pipe) = (self.board.nxt(), self.board.pipe());
        let most = self.written.min(self.window_end).saturating_sub(begin);
        let room = self.cwnd().saturating_sub(pipe);
        let record = |seq| Record::new(seq, mss as u16, now);
        let (mut sent, mut deferred) = (0, false);
        let end = self.written;
        while sent + mss <= room && sent + mss <= most {
            if BURSTS {
                let rooms = Rooms {
                    congestion: room - sent,
                    receiver: self.window_end - begin - sent,
                    written: self.written - begin - sent,
                };
                let last = if sent > 0 { Some(now) } else { self.last_sent };
                deferred = !self.begin_buffer(now, last, rooms);
                if deferred {
                    break;
                }
            }
            let in_flight = pipe + sent;
            self.cc.on_sent_with(|| Sent { now, bytes, in_flight, retransmission: false });
            self.board.push(record(begin + sent));
            outlet.take(Segment {
                seq: begin + sent,
                len: bytes,
                retransmission: false,
                sent_at: now,
                ecn: self.setup.ecn,
                flags: 0,
                mark: Mark::pushed((BURSTS && self.offload.leave()) | (begin + sent + mss == end)),
            });
            sent += mss;
            self.stats.segments_sent += 1;
        }
        if sent > 0 {
            self.time(begin + mss, now);
            self.stats.bytes_sent += sent;
            self.last_sent = Some(now);
            self.round.max_in_flight = self.round.max_in_flight.max(self.board.pipe());
            self.tail.on_new_data(now, self.state, self.board.sacked_segments());
        }
        let held = !deferred && sent + mss > room && self.written - begin - sent >= mss;
        if held {
            self.round.limited = true;
            if BURSTS {
                self.offload.cut();
            }
        }
        if held || deferred {
            self.release_at = Instant::NEVER;
        }
        held || deferred
    }

    /// A copy for the general path, in debug builds only. In this crate's tests, always for a
    /// sender that never had much in flight, and now and then for others. Elsewhere, now and then
    /// for senders that never had more than [`MOST_COMPARED`] segments, since it copies and prints
    /// all of them.
    #[inline(always)]
    pub(super) fn twin(&self) -> Option<Box<Self>> {
        let ring = self.board.ring_len();
        // Each write counts too: an application may write 10^6 times between two acknowledgements.
        let steps = self.stats.acks.wrapping_add(self.written);
        let compared = match (cfg!(test), ring) {
            (true, ..=16) => true,
            (true, _) => self.stats.acks.is_multiple_of(256),
            (false, _) => ring <= MOST_COMPARED && steps.is_multiple_of(61),
        };
        (cfg!(debug_assertions) && compared).then(|| Box::new(self.clone()))
    }

    /// Runs the same step on `twin` by the `general` path, and compares the states and the results.
    #[inline(always)]
    pub(super) fn check_twin<T: PartialEq + Debug>(
        &self,
        twin: Option<Box<Self>>,
        general: impl FnOnce(&mut Self) -> T,
        gave: &T,
    ) {
        if let Some(mut twin) = twin {
            assert_eq!(general(&mut twin), *gave, "the short way differs");
            assert_eq!(format!("{self:?}"), format!("{twin:?}"), "the short way differs");
        }
    }
}

#[cfg(test)]
mod tests;
