//! Decides which segments may leave now.

use super::Sender;
use super::new_reno::Reduction;
use super::offload::Rooms;
use crate::cc::CongestionController;
use crate::control::{IdleRestart, RecoveryState, Sent};
use crate::rate::Leaving;
use crate::record::Record;
use crate::segment::{Mark, Segment};
use justfull_base::Instant;

impl Sender {
    /// The next segment that may leave now; none when the window, the receiver, the pacer or the
    /// application prevents it. Call until it returns none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        self.release_at = Instant::NEVER;
        if self.is_opening() {
            return self.send_syn(now);
        }
        if self.tail.is_due() {
            return self.send_tail_probe(now);
        }
        if self.prefers_new_data() {
            return self.send_instead_of_lost(now);
        }
        let pipe = self.board.pipe();
        let cwnd = self.cwnd();
        if let Some(serial) = self.board.next_lost() {
            let len = u64::from(self.board.record(serial).len);
            if !self.forced && pipe > 0 && pipe + len > cwnd {
                return self.hold_by_window();
            }
            return self.retransmit(now, serial, false);
        }
        let available = self.written - self.board.nxt();
        if available == 0 {
            return self.run_dry(now, pipe, cwnd);
        }
        let full = self.segment_bytes();
        let len = available.min(full);
        if pipe > 0 && pipe + len > cwnd {
            return self.hold_by_window();
        }
        let room = self.window_end.saturating_sub(self.board.nxt());
        if room < len {
            return self.send_into_small_window(now, room, pipe, cwnd);
        }
        if self.setup.nagle && len < full && self.board.flight_size() > 0 && !self.closed {
            return self.run_dry(now, pipe, cwnd);
        }
        if self.offload.is_on() {
            let rooms =
                Rooms { congestion: cwnd.saturating_sub(pipe), receiver: room, written: available };
            if self.is_paced(now) || !self.begin_buffer(now, self.last_sent, rooms) {
                return None;
            }
        }
        self.send_new(now, len)
    }

    /// The window holds the next segment back, and a burst that it cuts ends there.
    fn hold_by_window(&mut self) -> Option<Segment> {
        self.round.limited = true;
        self.pacer.cut();
        self.offload.cut();
        None
    }

    /// No new data: the application limits the rate, and recovery may use its last rules (RFC 6675
    /// `NextSeg` 3, 4).
    #[inline(never)]
    fn run_dry(&mut self, now: Instant, pipe: u64, cwnd: u64) -> Option<Segment> {
        if pipe < cwnd {
            self.rate.mark_app_limited(pipe);
        }
        self.repair_speculatively(now, pipe, cwnd)
    }

    /// RFC 6675 retransmits possibly lost segments when there is nothing better to send; RACK waits
    /// until they are lost.
    fn repair_speculatively(&mut self, now: Instant, pipe: u64, cwnd: u64) -> Option<Segment> {
        let counting = !self.setup.by_time && !self.setup.by_reno;
        let by_rules = self.state == RecoveryState::Recovery && counting;
        if !by_rules || pipe + self.mss_bytes() > cwnd {
            return None;
        }
        if let Some(hole) = self.board.next_hole() {
            return self.retransmit(now, hole, false);
        }
        if self.rescued {
            return None;
        }
        let segment = self.board.rescue().and_then(|last| self.retransmit(now, last, true));
        self.rescued = segment.is_some() || self.release_at == Instant::NEVER;
        segment
    }

    /// The receiver accepts fewer bytes than are ready. With nothing in flight, sends a short
    /// segment or, if the window is closed, a probe. Otherwise the data waits for a larger window
    /// (RFC 9293 sections 3.8.6.1 and 3.8.6.2.1).
    #[inline(never)]
    fn send_into_small_window(
        &mut self,
        now: Instant,
        room: u64,
        pipe: u64,
        cwnd: u64,
    ) -> Option<Segment> {
        if self.board.flight_size() > 0 {
            return self.repair_speculatively(now, pipe, cwnd);
        }
        if room > 0 {
            return self.send_new(now, room);
        }
        if self.probe_due {
            self.probe_due = false;
            self.stats.window_probes += 1;
            let seq = self.board.nxt();
            return Some(Segment {
                seq,
                len: 0,
                retransmission: false,
                sent_at: now,
                ecn: self.setup.control_ecn,
                flags: self.setup.flags,
                mark: Mark::None,
            });
        }
        if self.persist_deadline == Instant::NEVER {
            self.persist_deadline = now + self.rtt.rto();
        }
        None
    }

    /// True when the pacer holds the next segment back; stores until when.
    fn is_paced(&mut self, now: Instant) -> bool {
        if !self.setup.paced {
            return false;
        }
        self.release_at = self.pacer.blocked_until(now).unwrap_or(Instant::NEVER);
        self.release_at != Instant::NEVER
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, now: Instant, len: u64) -> Option<Segment> {
        if self.is_paced(now) {
            return None;
        }
        if self.board.flight_size() == 0 {
            self.restart(now);
        }
        let segment = self.emit(now, len);
        self.tail.on_new_data(now, self.state, self.board.sacked_segments());
        Some(segment)
    }

    /// New data leaves.
    #[inline(always)]
    pub(super) fn emit(&mut self, now: Instant, len: u64) -> Segment {
        let seq = self.board.nxt();
        let (first, serial) = self.board.serials();
        self.rate.stamp(&self.leaving(now, len), serial, first);
        let len = len as u32;
        self.leave(now, len, false);
        self.board.push(Record::new(seq, len as u16, self.turns.new_data(now)));
        self.round.max_in_flight = self.round.max_in_flight.max(self.board.pipe());
        self.time(seq + u64::from(len), now);
        let mark = Mark::pushed(self.offload.leave() | self.ends_data(seq + u64::from(len)));
        let flags = core::mem::replace(&mut self.next_flags, self.setup.flags);
        let ecn = self.setup.ecn;
        Segment { seq, len, retransmission: false, sent_at: now, ecn, flags, mark }
    }

    /// The state in which a segment of `bytes` leaves.
    #[inline(always)]
    fn leaving(&self, now: Instant, bytes: u64) -> Leaving {
        Leaving { now, in_flight: self.board.pipe(), bytes, lost: self.stats.bytes_lost }
    }

    /// Without timestamps, times the new segment up to `end` if none is timed.
    #[inline(always)]
    pub(super) fn time(&mut self, end: u64, now: Instant) {
        if !self.setup.timestamps && self.timed.is_none() {
            self.timed = Some((end, now));
        }
    }

    #[inline(never)]
    fn retransmit(&mut self, now: Instant, serial: u64, rescue: bool) -> Option<Segment> {
        if self.is_paced(now) {
            return None;
        }
        self.forced = false;
        Some(self.emit_again(now, serial, rescue))
    }

    /// `serial` leaves again.
    pub(super) fn emit_again(&mut self, now: Instant, serial: u64, rescue: bool) -> Segment {
        let leaving = self.leaving(now, self.board.record(serial).len.into());
        self.rate.stamp(&leaving, serial, self.board.serials().0);
        let after = self.last_sent == Some(now);
        self.board.record_mut(serial).sent_at = self.turns.again(now, after);
        let (seq, len) = (self.board.record(serial).seq, u32::from(self.board.record(serial).len));
        self.leave(now, len, true);
        self.board.mark_retransmitted(serial, rescue);
        // RFC 6298 section 3: with a copy out, the timed segment is ambiguous.
        self.timed = None;
        if self.board.is_front(serial) && !self.keeps_timer() {
            // The timer now measures this copy; with seconds of queue it would otherwise fire
            // before the copy can arrive.
            self.rto_deadline = now + self.rtt.rto();
            if self.unjudged && self.first_retransmission.is_none() {
                self.first_retransmission = Some(now);
            }
        }
        self.stats.segments_retransmitted += 1;
        self.stats.bytes_retransmitted += u64::from(len);
        // RFC 3168 section 6.1.5: retransmissions are not ECN-capable, except with ECN++ and of
        // scalable controls (RFC 9331 section 4.1; tcp_prague.c).
        let ecn = if self.setup.scalable { self.setup.ecn } else { self.setup.control_ecn };
        let flags = self.setup.flags;
        let mark = Mark::pushed(self.ends_data(seq + u64::from(len)));
        Segment { seq, len, retransmission: true, sent_at: now, ecn, flags, mark }
    }

    /// True if the application has written nothing beyond `end`: PSH.
    #[inline(always)]
    pub(super) fn ends_data(&self, end: u64) -> bool {
        end == self.written
    }

    /// The common steps of every data segment as it leaves.
    #[inline(always)]
    fn leave(&mut self, now: Instant, len: u32, retransmission: bool) {
        let bytes = u64::from(len);
        self.cc.on_sent(&Sent { now, bytes: len, in_flight: self.board.pipe(), retransmission });
        if self.setup.paced {
            self.pace(now, len);
        }
        if let Some(Reduction::Prr(prr)) = &mut self.reduction {
            prr.on_sent(bytes);
        }
        if self.rto_deadline == Instant::NEVER {
            self.rto_deadline = now + self.rtt.rto();
        }
        self.last_sent = Some(now);
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += bytes;
    }

    fn pace(&mut self, now: Instant, len: u32) {
        if let Some(rate) = self.pacing_rate() {
            let (mss, least) = (self.segment_bytes() as u32, self.cc.least_burst());
            self.pacer.on_sent(now, len, mss, least, rate, self.rtt.min());
        } else {
            self.pacer.reset();
        }
    }

    fn restart(&mut self, now: Instant) {
        let Some(last) = self.last_sent else { return };
        self.cc.on_idle_restart(&IdleRestart {
            now,
            idle: now.since(last),
            rto: self.rtt.rto(),
            shrink: self.setup.restart_after_idle,
            app_limited: self.rate.is_app_limited(),
        });
    }
}
