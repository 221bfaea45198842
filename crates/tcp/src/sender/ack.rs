//! Processing of acknowledgements.

use super::new_reno::Reduction;
use super::spurious::FRto;
use super::{Round, Sender, SenderStats, Setup};
use crate::accecn::{self, Feedback};
use crate::cc::{CongestionController, Sampled};
use crate::control::{AckSample, Congestion, CongestionCause, RecoveryState};
use crate::pacer::Pacer;
use crate::prr::Prr;
use crate::rate::{Delivery, RateSample, RateSampler};
use crate::rtt::RttEstimator;
use crate::scoreboard::{NextSacked, Scoreboard};
use crate::segment::Ack;
use justfull_base::{Duration, Ecn, Instant};

/// State shared by the steps of one acknowledgement.
pub(super) struct Progress {
    pub(super) delivery: Delivery,
    pub(super) advanced: bool,
    /// Segments by which the lowest hole was overtaken before this acknowledgement.
    pub(super) overtaken: u32,
    pub(super) prior_in_flight: u64,
    pub(super) rtt: Option<Duration>,
    pub(super) round_start: bool,
    pub(super) lost: u64,
    pub(super) ce_count: u64,
    pub(super) ce_bytes: u64,
}

/// Marks that one acknowledgement newly reports by counters.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    packets: u64,
    bytes: u64,
}

/// The parts of a sample.
struct Told<'a> {
    now: Instant,
    progress: &'a Progress,
    rate: &'a RateSample,
    setup: &'a Setup,
    board: &'a Scoreboard,
    rtt: &'a RttEstimator,
    sampler: &'a RateSampler,
    pacer: &'a Pacer,
    round: &'a Round,
    state: &'a RecoveryState,
    stats: &'a SenderStats,
}

impl Sampled for Told<'_> {
    #[inline(always)]
    fn sample(&self) -> AckSample {
        AckSample {
            now: self.now,
            acked: self.progress.delivery.bytes,
            segments: u64::from(self.progress.delivery.segments),
            rtt: self.progress.rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            delivered: self.sampler.delivered,
            prior_delivered: self.rate.prior_delivered,
            interval: self.rate.interval,
            prior_in_flight: self.progress.prior_in_flight,
            in_flight: self.board.pipe(),
            departure: self.pacer.release(),
            lost: self.progress.lost,
            lost_total: self.stats.bytes_lost,
            tx_in_flight: self.rate.tx_in_flight,
            lost_since_sent: self.stats.bytes_lost - self.rate.prior_lost,
            ce_count: self.progress.ce_count,
            ce_bytes: self.progress.ce_bytes,
            app_limited: self.rate.app_limited,
            round_start: self.rate.round_start,
            retransmitted_sample: self.rate.retransmitted,
            // A lone short segment over a whole round trip (Linux `FLAG_ACK_MAYBE_DELAYED`).
            maybe_delayed: self.progress.delivery.segments == 1
                && self.progress.delivery.bytes < u64::from(self.setup.mss)
                && self.rate.prior_delivered + self.progress.delivery.bytes
                    == self.sampler.delivered,
            window_limited: self.round.limited || self.round.limited_before,
            max_in_flight: self.round.max_in_flight.max(self.round.max_in_flight_before),
            sequence_round_start: self.progress.round_start,
            recovery: *self.state,
        }
    }
}

impl Sender {
    /// Processes an acknowledgement. One for data never sent is ignored (RFC 9293 section
    /// 3.10.7.4).
    ///
    /// Returns the round-trip time for the timeout, if there is a sample (RFC 6298, RFC 7323
    /// section 4.3). With timestamps, each acknowledgement that advances, or that sacks segments
    /// sent once, gives a sample; without, only the acknowledgement of the timed segment does.
    #[inline]
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        if self.rate.is_off() { self.take_unsampled(now, ack) } else { self.take_sampled(now, ack) }
    }

    /// Processes any acknowledgement, by the general path. `next`: the acknowledgement only sacks
    /// this segment. Returns the sample of the round-trip time.
    #[inline(always)]
    pub(super) fn take_any(
        &mut self,
        now: Instant,
        ack: &Ack,
        next: Option<NextSacked>,
    ) -> Option<Duration> {
        if self.is_opening() {
            return self.take_syn(now, ack);
        }
        let mut progress = self.take_scoreboard(now, ack, next);
        let duplicate =
            self.setup.by_reno && !progress.advanced && self.is_duplicate(ack, self.window_end);
        self.take_window(ack, progress.advanced);
        let sample = self.take_rtt(now, ack, &mut progress);
        if progress.advanced {
            self.duplicate_acks = 0;
            self.judge_by_echo(now, ack, progress.overtaken);
        } else if duplicate || progress.delivery.bytes > 0 {
            self.duplicate_acks += 1;
        }
        self.judge_tail_probe(now, ack, progress.advanced);
        self.judge_by_next_acks(now, progress.advanced, progress.delivery.bytes > 0);
        progress.lost = if self.setup.by_reno {
            self.take_reno(progress.delivery.bytes, duplicate)
        } else {
            self.detect_losses(now)
        };
        let newest = self.board.newest(&progress.delivery);
        let rate = self.rate.finish(now, progress.delivery.bytes, newest, self.rtt.min());
        self.change_state(now, ack, &mut progress);
        self.count_lost(now, progress.lost);
        self.tell_control(now, &progress, &rate);
        if !self.rate.is_off() {
            self.limit_samples();
        }
        self.reduce(&progress);
        if !progress.advanced && self.setup.sack_restarts && progress.delivery.once.is_some() {
            self.restart_by_sack(now, progress.delivery.once.sent_at());
        }
        self.restart_timers(now, progress.advanced);
        sample
    }

    #[inline(always)]
    pub(super) fn restart_timers(&mut self, now: Instant, advanced: bool) {
        let outstanding = self.board.flight_size() > 0;
        if advanced && !self.keeps_timer() {
            self.rto_deadline = if outstanding { now + self.rtt.rto() } else { Instant::NEVER };
            self.tail.restart(now, self.state, self.board.sacked_segments());
        }
        if !outstanding || self.board.sacked_segments() > 0 {
            self.tail.stop();
        }
    }

    /// Segments that left at `sent`, and only once, are sacked. If the oldest segment left again
    /// after them, the path still delivers data ahead of this copy. So the timer restarts: a queue
    /// that has grown since the timeout was computed must not look like the loss of the copy
    /// (Linux, `tcp_clean_rtx_queue`).
    #[inline(never)]
    fn restart_by_sack(&mut self, now: Instant, sent: Instant) {
        if self.board.oldest().is_some_and(|oldest| oldest > sent) {
            self.rto_deadline = now + self.rtt.rto();
        }
    }

    #[inline(always)]
    fn take_scoreboard(&mut self, now: Instant, ack: &Ack, next: Option<NextSacked>) -> Progress {
        let prior_in_flight = self.board.pipe();
        let una = self.board.una();
        let overtaken = self.board.overtaken();
        let delivery = match next {
            Some(next) => self.board.sack_next(&next),
            None => self.take_blocks(now, ack),
        };
        self.rack.on_delivery(now, delivery.surest(), delivery.reordered);
        let rtt = delivery.once.is_some().then(|| now.since(delivery.once.sent_at()));
        let counted = self.setup.feedback == Feedback::Accurate;
        if counted && ack.ecn == Ecn::Ce {
            self.note_marked_ack();
        }
        let marks = if counted { self.take_marks(ack, &delivery) } else { Marks::default() };
        let advanced = self.board.una() > una;
        Progress {
            delivery,
            advanced,
            overtaken,
            prior_in_flight,
            rtt,
            round_start: false,
            lost: 0,
            ce_count: marks.packets,
            ce_bytes: marks.bytes,
        }
    }

    /// True if `ack`, of a receiver that counts, is marked or may report marks. Without the option,
    /// ACE may have wrapped.
    #[inline(always)]
    pub(super) fn has_marks(&self, ack: &Ack) -> bool {
        ack.flags != accecn::ace(self.ce_packets)
            || ack.option.is_empty()
            || ack.option.has_news(self.ce_bytes)
            || ack.ecn == Ecn::Ce
    }

    /// The marks that `ack`, which delivers `delivery`, newly reports by ACE and the option (RFC
    /// 9768 appendix A). An acknowledgement that delivers nothing may be an old one; a later one
    /// repeats its counters. Without the option the marked segments count by their average size,
    /// and the next option corrects the sum.
    #[inline(never)]
    fn take_marks(&mut self, ack: &Ack, delivery: &Delivery) -> Marks {
        let segments = u64::from(delivery.segments);
        if segments == 0 {
            return Marks::default();
        }
        let (known, mss) = (self.ce_packets, self.mss_bytes());
        let marks = match ack.option.new_ce_bytes(self.ce_bytes) {
            Some(bytes) => {
                let packets = accecn::marks_by_bytes(ack.flags, known, segments, bytes, mss);
                Marks { packets, bytes }
            }
            None => {
                let packets = if self.stretches.take(segments) {
                    accecn::least_marks(ack.flags, known)
                } else {
                    accecn::new_marks(ack.flags, known, segments)
                };
                Marks { packets, bytes: packets * delivery.bytes / segments }
            }
        };
        self.ce_packets += marks.packets;
        self.ce_bytes += marks.bytes;
        marks
    }

    /// Gives the cumulative point and the SACK blocks to the scoreboard.
    #[inline]
    fn take_blocks(&mut self, now: Instant, ack: &Ack) -> Delivery {
        // If a copy is acknowledged sooner than any round trip, or was sent after the echoed
        // timestamp, its original arrived.
        let plausible = if self.rtt.min() == Duration::MAX { now } else { now - self.rtt.min() };
        let known = if self.setup.timestamps { plausible.min(ack.ts_echo) } else { plausible };
        let mut delivery = Delivery::new(self.board.fack(), known);
        self.board.acknowledge(ack.cumulative, &mut delivery);
        if ack.sack_len > 0 && !self.setup.by_reno {
            // An acknowledgement that sacks has an older echo. With a long queue, abandoned
            // originals still arrive many smallest RTTs after their copies left, so a copy counts
            // only after about the current RTT.
            let srtt = self.rtt.srtt().as_nanos();
            delivery.sure_until = plausible.min(now - Duration::from_nanos(srtt - srtt / 8));
            self.take_sack(ack, &mut delivery);
        }
        delivery
    }

    fn take_sack(&mut self, ack: &Ack, delivery: &mut Delivery) {
        if ack.reports_duplicate() {
            self.stats.duplicate_reports += 1;
            self.rack.on_duplicate_report(self.board.una(), self.board.nxt());
        }
        self.board.sack(ack.sack_blocks(), delivery);
    }

    /// The window of the newest acknowledgement counts, even when its right edge moves back (RFC
    /// 9293 section 3.8.6: shrinking is discouraged, but a sender must cope with it).
    #[inline(always)]
    pub(super) fn take_window(&mut self, ack: &Ack, advanced: bool) {
        if advanced || ack.cumulative >= self.board.una() {
            self.window_end = ack.cumulative.saturating_add(ack.window);
            if self.window_end > self.board.nxt() {
                self.persist_deadline = Instant::NEVER;
                self.persist_backoff = 0;
                self.probe_due = false;
            }
        }
    }

    /// With timestamps, every acknowledgement that advances gives a sample (RFC 7323 section 4.1),
    /// even for retransmissions. An acknowledgement that only sacks uses the segment that it sacks.
    #[inline(always)]
    pub(super) fn take_rtt(
        &mut self,
        now: Instant,
        ack: &Ack,
        progress: &mut Progress,
    ) -> Option<Duration> {
        progress.round_start = progress.advanced && self.board.una() > self.round.end;
        if progress.round_start {
            let round = &mut self.round;
            round.end = self.board.nxt();
            round.limited_before = round.limited;
            round.max_in_flight_before = round.max_in_flight;
            round.limited = false;
            round.max_in_flight = self.board.pipe();
        }
        if let Some(rtt) = progress.rtt {
            self.rtt.observe_min(rtt);
        }
        if !self.setup.timestamps {
            return self.take_timed(now);
        }
        let sent = match progress.rtt {
            _ if progress.advanced => ack.ts_echo,
            Some(rtt) => now - rtt,
            None => return None,
        };
        self.rtt.sample(sent, now, progress.round_start);
        if progress.advanced {
            self.rtt.reset_backoff();
        }
        self.tail.on_rtt_sample();
        Some(now.since(sent))
    }

    /// Without timestamps, one segment at a time is timed, and only a segment that was sent once
    /// (RFC 6298 section 3). Until its acknowledgement the timer stays backed off (section 5).
    #[inline(never)]
    fn take_timed(&mut self, now: Instant) -> Option<Duration> {
        let (_, sent) = self.timed.take_if(|(end, _)| self.board.una() >= *end)?;
        self.rtt.sample(sent, now, true);
        self.rtt.reset_backoff();
        self.tail.on_rtt_sample();
        Some(now.since(sent))
    }

    fn change_state(&mut self, now: Instant, ack: &Ack, progress: &mut Progress) {
        // An ECN reduction lasts until the segment with CWR, the first beyond the point, is
        // acknowledged. Until then the receiver keeps echoing the same mark (RFC 3168 section
        // 6.1.2).
        let beyond = u64::from(self.state == RecoveryState::Reducing);
        let done = self.board.una() >= self.recovery_point + beyond;
        if self.state != RecoveryState::Open && done {
            self.leave_recovery(now);
        }
        if self.state < RecoveryState::Recovery {
            let by_count = self.duplicate_acks >= self.board.dup_thresh();
            let counts = !self.setup.by_time && !self.setup.by_reno;
            if by_count && counts && !self.board.has_losses() {
                progress.lost += self.board.mark_front_lost();
            }
            if self.board.has_losses() {
                self.enter_recovery(now);
            }
        }
        let marked = match self.setup.feedback {
            Feedback::Off => false,
            // A second SYN/ACK repeats the answer of the handshake.
            Feedback::Classic => ack.flags & accecn::ECE > 0 && !ack.syn,
            Feedback::Accurate => progress.ce_count > 0 && !self.setup.scalable,
        };
        if marked && self.state == RecoveryState::Open {
            self.enter_reducing(now);
        }
    }

    pub(super) fn leave_recovery(&mut self, now: Instant) {
        if self.state >= RecoveryState::Recovery {
            self.rack.on_recovery_exit();
        }
        self.state = RecoveryState::Open;
        self.reduction = None;
        self.forced = false;
        self.first_retransmission = None;
        self.f_rto = FRto::Off;
        self.cc.on_recovery_exit(now);
    }

    pub(super) fn enter_recovery(&mut self, now: Instant) {
        let was_reducing = self.state == RecoveryState::Reducing;
        self.state = RecoveryState::Recovery;
        self.stats.fast_recoveries += 1;
        self.recovery_point = self.board.nxt();
        self.rescued = false;
        self.forced = true;
        self.tail.forget();
        self.first_retransmission = None;
        self.unjudged = true;
        // A window already being reduced for ECN is not reduced again (RFC 3168 section 6.1.2).
        if !was_reducing {
            self.start_reduction(now, CongestionCause::Loss);
        }
        if self.setup.by_reno {
            self.inflate();
        }
    }

    fn enter_reducing(&mut self, now: Instant) {
        self.state = RecoveryState::Reducing;
        self.stats.ece_reductions += 1;
        self.recovery_point = self.board.nxt();
        self.tail.forget();
        self.start_reduction(now, CongestionCause::Ecn);
    }

    fn start_reduction(&mut self, now: Instant, cause: CongestionCause) {
        let event = self.congestion(now, cause);
        self.cc.on_congestion(&event);
        // The first new segment after any reduction carries CWR (RFC 3168 section 6.1.2).
        self.announce_reduction();
        let bound = self.setup.prr;
        let proportional = bound != crate::config::Prr::Off && !self.cc.owns_recovery();
        if proportional && !self.setup.by_reno {
            let (flight, pipe) = (self.board.flight_size(), self.board.pipe());
            let prr = Prr::new(bound, self.mss_bytes(), self.cc.cwnd(), flight, pipe);
            self.reduction = Some(Reduction::Prr(prr));
        }
    }

    /// The next new segment carries CWR where marks are echoed.
    pub(super) fn announce_reduction(&mut self) {
        if self.setup.feedback == Feedback::Classic {
            self.next_flags = accecn::CWR;
        }
    }

    pub(super) fn congestion(&self, now: Instant, cause: CongestionCause) -> Congestion {
        Congestion {
            now,
            cause,
            flight_size: self.board.flight_size(),
            in_flight: self.board.pipe(),
            delivered: self.rate.delivered,
            lost_total: self.stats.bytes_lost,
        }
    }

    #[inline(always)]
    pub(super) fn tell_control(&mut self, now: Instant, progress: &Progress, rate: &RateSample) {
        let Self { setup, cc, board, rtt, rate: sampler, pacer, round, state, stats, .. } = self;
        let told =
            Told { now, progress, rate, setup, board, rtt, sampler, pacer, round, state, stats };
        cc.on_ack_with(&told);
    }

    /// While the control itself holds data back, samples do not show the network's rate.
    #[inline(always)]
    pub(super) fn limit_samples(&mut self) {
        if self.cc.limits_samples() {
            self.rate.mark_app_limited(self.board.pipe());
        }
    }

    fn reduce(&mut self, progress: &Progress) {
        if let Some(Reduction::Prr(prr)) = &mut self.reduction {
            let safe = progress.advanced && progress.lost == 0;
            prr.on_ack(progress.delivery.bytes, self.board.pipe(), safe);
        }
    }
}
