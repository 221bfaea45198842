//! The receiver: keeps track of arrived bytes and decides when to acknowledge them.
//!
//! Sources: RFC 5681 section 4.2 (delayed acknowledgements, at once on a gap or its repair), RFC
//! 2018 and 2883 (the most recent block first, duplicates reported), RFC 7323 section 4.3 (the
//! timestamp to echo), RFC 3168 section 6.1.3 (echo of marks until the sender sets CWR), RFC 9768
//! section 3.2 (counters of marks, and when they are reported), RFC 9293 section 3.8.6 (the
//! window's right edge never moves back). The application reads at once, so out-of-order bytes do
//! not narrow the window.
//!
//! As in Linux: acknowledges every second full segment or after 40 ms, each of the first 16
//! segments at once, and a mark at once. The state of the window decides whether the second segment
//! or the application's read triggers the acknowledgement (module `reader`). Unlike Linux: a
//! silence does not bring back immediate acknowledgements, and SACKs are not compressed. The window
//! is fixed or, on request, grows as Linux's does.

mod autotune;
mod ranges;
mod reader;
mod window;

use crate::accecn::{self, AccEcnOption, ControlEcn, Counters, Feedback, Flags};
use crate::kernel::Kernel;
use crate::segment::{Ack, Mark, SackBlock, Segment};
use alloc::collections::VecDeque;
use autotune::Autotune;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Ecn, Instant, params};
use reader::{FIRST_SPACE, MOST_SPACE, Reader};
pub use window::{AutoWindow, Window};

/// Number of ranges allocated at the first gap: 1 KiB.
const FIRST_RANGES: usize = 64;

params! {
    /// Settings of a [`Receiver`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ReceiverConfig {
        /// The Linux to follow where its versions differ (`justfull explain kernel`); rfc: every
        /// second segment is acknowledged as it arrives.
        kernel: Kernel = Kernel::Linux6_18;
        /// Bytes offered beyond the in-order point: fixed, or growing with the bytes that arrive in
        /// a round trip.
        window: Window = Window::Fixed(Bytes(6 << 20));
        /// The window is rounded up to a multiple of 2 to this power.
        window_scale: u8 as "bits" = 0, at_most(14), "RFC 7323 section 2.3";
        /// Acknowledge every second segment instead of each.
        delayed_ack: bool = true;
        /// Longest time that an acknowledgement is held back.
        delayed_ack_timeout: Duration = Duration::from_millis(40),
            at_least(Duration::ZERO).below(Duration::from_millis(500)), "RFC 5681 section 4.2";
        /// Segments at the start that are acknowledged one by one.
        quick_acks: u32 as "segments" = 16;
        /// The feedback of marks that it supports; a sender uses it or less.
        ecn: Feedback = Feedback::Accurate;
        /// With accurate feedback, marked segments after which it acknowledges at once; it also
        /// does so for the first mark after an unmarked segment. RFC 9768 recommends 2; with 1 a
        /// sender of few segments hears of each mark at once.
        ce_acks: u32 as "segments" = 1, within(1, 7), "RFC 9768 section 3.2.2.5.1";
        /// With accurate feedback, report the counters of bytes too, where they fit beside SACK.
        accecn_option: bool = true, free(), "RFC 9768 section 3.2.3.3";
        /// ECN codepoint of SYN/ACKs and acknowledgements once counters are agreed on (ECN++).
        control_ecn: ControlEcn = ControlEcn::Off;
    }
}

/// The description of the receiver, for the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "tcp_receiver",
    kind: "transport",
    title: "TCP receiver with SACK and delayed acknowledgements",
    text: "Puts segments in order. It acknowledges a gap, its repair and a congestion mark at \
           once; with counters, of a row of marks the first and each `ce_acks`-th. It acknowledges \
           data in order when the second segment arrives or, if the state of the window demands it \
           as in Linux, when the application reads it.",
    sources: "RFC 5681 section 4.2, RFC 2018, RFC 2883, RFC 7323, RFC 3168 section 6.1.3, RFC \
              9768, RFC 9293; Fisk and Feng 2001 (the growing window); Linux: \
              __tcp_ack_snd_check, __tcp_cleanup_rbuf",
    deviations: "The application reads at the end of the instant in which data arrives, so only \
                 the setting narrows the window; a window of 0 closes it until it is set anew. The \
                 growing window uses the time in which a window arrives as the RTT. A silence \
                 brings back no immediate acknowledgements, and SACKs are not compressed.",
    params: ReceiverConfig::params,
};

/// Counters since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiverStats {
    /// Segments with data that arrived.
    pub segments: u64,
    /// Payload bytes of these, counted each time they arrive.
    pub bytes: u64,
    /// Of these, segments that arrived ahead of a gap.
    pub out_of_order: u64,
    /// Of these, segments whose bytes had all arrived before.
    pub duplicates: u64,
    /// Segments with congestion experienced.
    pub ce_marks: u64,
    /// Payload bytes of the segments with congestion experienced.
    pub ce_bytes: u64,
    /// Acknowledgements sent.
    pub acks: u64,
}

/// A TCP receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    window: u64,
    /// The window grows with the buffer.
    grows: bool,
    /// How the buffer grows by itself.
    autotune: Option<Autotune>,
    /// Bytes that the buffer holds, if its state decides when to acknowledge.
    space: u64,
    reader: Option<Reader>,
    /// Next byte expected.
    next: u64,
    /// First byte beyond the largest advertised window.
    offered: u64,
    /// Ranges that have arrived beyond a gap: disjoint, not touching, in order.
    ranges: VecDeque<SackBlock>,
    /// Bytes in `ranges`.
    beyond: u64,
    /// The ranges that changed last, latest first; one more than fit in an acknowledgement, since
    /// two may merge.
    recent: [SackBlock; 4],
    recent_len: usize,
    /// Timestamp to echo (RFC 7323's `TS.Recent`).
    ts_recent: Instant,
    /// The cumulative point of the last acknowledgement (RFC 7323's `Last.ACK.sent`).
    last_ack: u64,
    unacked_segments: u32,
    quick_left: u32,
    deadline: Option<Instant>,
    /// How marks are fed back.
    feedback: Feedback,
    /// The flags and the option of the next acknowledgement: the echo of RFC 3168, or the counters
    /// as last reported.
    flags: Flags,
    option: AccEcnOption,
    /// The codepoint of acknowledgements.
    ecn: Ecn,
    counters: Counters,
    /// Position of the stream at the last SYN.
    syn_at: Option<u64>,
    stats: ReceiverStats,
}

impl Receiver {
    /// A receiver of an established connection.
    ///
    /// # Errors
    /// The first setting outside its bound.
    pub fn new(config: &ReceiverConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let features = config.kernel.features();
        let space = match config.window {
            Window::Fixed(_) => FIRST_SPACE,
            Window::Auto(auto) => auto.initial.0,
        };
        let by_window = features.by_window && config.delayed_ack;
        let reader = by_window.then(|| Reader::new(features.push_of_full, space));
        let autotune = match config.window {
            Window::Fixed(_) if reader.is_none() => None,
            Window::Fixed(window) => Some(Autotune::new(window.0.max(MOST_SPACE))),
            Window::Auto(auto) => Some(Autotune::new(auto.max.0)),
        };
        let grows = matches!(config.window, Window::Auto(_));
        let mut receiver = Self {
            config: config.clone(),
            window: 0,
            grows,
            autotune,
            space,
            reader,
            next: 0,
            offered: 0,
            ranges: VecDeque::new(),
            beyond: 0,
            recent: [SackBlock::default(); 4],
            recent_len: 0,
            ts_recent: Instant::ZERO,
            last_ack: 0,
            unacked_segments: 0,
            quick_left: config.quick_acks,
            deadline: None,
            feedback: Feedback::Off,
            flags: 0,
            option: AccEcnOption::NONE,
            ecn: Ecn::NotEct,
            counters: Counters::default(),
            syn_at: None,
            stats: ReceiverStats::default(),
        };
        receiver.set_window(config.window.initial());
        Ok(receiver)
    }

    /// Advertises `window` from the next acknowledgement on. An earlier offer stays valid.
    pub fn set_window(&mut self, window: Bytes) {
        let unit = 1u64 << self.config.window_scale;
        self.window = window.0.div_ceil(unit).saturating_mul(unit);
    }

    /// Bytes delivered to the application in order.
    #[must_use]
    pub const fn delivered_bytes(&self) -> u64 {
        self.next
    }

    /// Bytes that have arrived, each counted once, in order or beyond a gap.
    #[inline]
    #[must_use]
    pub const fn received_bytes(&self) -> u64 {
        self.next + self.beyond
    }

    /// Counters since the start.
    #[must_use]
    pub const fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// Number of ranges held beyond gaps.
    #[must_use]
    pub fn gaps(&self) -> usize {
        self.ranges.len()
    }

    /// When a delayed acknowledgement must be sent.
    #[must_use]
    pub const fn next_timer(&self) -> Option<Instant> {
        self.deadline
    }

    /// A wake-up: returns the delayed acknowledgement if its time has come.
    pub fn on_timer(&mut self, now: Instant) -> Option<Ack> {
        if self.deadline.is_none_or(|at| at > now) {
            return None;
        }
        if let Some(reader) = &mut self.reader {
            reader.read();
        }
        Some(self.acknowledge(None))
    }

    /// An acknowledgement of the current state, e.g. when the window opens.
    pub fn window_update(&mut self) -> Ack {
        self.acknowledge(None)
    }

    /// A segment arrives; `ce`: with congestion experienced, which without ECN means nothing.
    /// Returns an acknowledgement or delays it.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment, ce: bool) -> Option<Ack> {
        if segment.len == 0 {
            return Some(self.on_empty(segment, ce));
        }
        self.stats.segments += 1;
        self.stats.bytes += u64::from(segment.len);
        let marked = self.feedback != Feedback::Off && self.take_codepoint(segment, ce);
        // RFC 7323 section 4.3 (2): the first segment since the last acknowledgement counts. So
        // does a repeated one whose acknowledgement was lost; otherwise the sender would time its
        // own silence.
        if segment.seq <= self.last_ack && segment.sent_at >= self.ts_recent {
            self.ts_recent = segment.sent_at;
        }
        if segment.seq > self.next || segment.end() <= self.next || !self.ranges.is_empty() {
            return Some(self.on_disorder(now, segment));
        }
        self.advance(now, segment);
        let quick = self.quick_left > 0;
        self.quick_left = self.quick_left.saturating_sub(1);
        if quick || marked || !self.config.delayed_ack {
            return Some(self.acknowledge(None));
        }
        if self.reader.is_some() {
            return self.by_window(now);
        }
        if self.unacked_segments >= 2 {
            return Some(self.acknowledge(None));
        }
        self.deadline = Some(now + self.config.delayed_ack_timeout);
        None
    }

    /// Notes the codepoint of `segment`, which may be CE by now. True if it must be reported at
    /// once. Cold, so that a segment without ECN saves no registers for this call.
    #[cold]
    #[inline(never)]
    fn take_codepoint(&mut self, segment: &Segment, ce: bool) -> bool {
        if ce {
            self.stats.ce_marks += 1;
            self.stats.ce_bytes += u64::from(segment.len);
        }
        match self.feedback {
            Feedback::Off => false,
            Feedback::Classic => {
                // RFC 3168 section 6.1.3: CWR ends the echo unless this very segment is marked.
                let echo = ce || self.flags > 0 && segment.flags & accecn::CWR == 0;
                self.flags = if echo { accecn::ECE } else { 0 };
                ce
            }
            Feedback::Accurate => {
                let arrived = if ce { Ecn::Ce } else { segment.ecn };
                self.counters.take(arrived, segment.len.into(), self.config.ce_acks.into())
            }
        }
    }

    /// Decides whether data in order is acknowledged at its arrival, at its read, or later. This
    /// function and the next are calls: inlined they cost S1, whose receiver follows the RFCs, 26
    /// instructions a packet.
    #[inline(never)]
    fn by_window(&mut self, now: Instant) -> Option<Ack> {
        let unacked = self.next - self.last_ack;
        let reader = self.reader.as_ref()?;
        if reader.at_arrival(unacked, self.beyond, self.space) {
            return Some(self.acknowledge(None));
        }
        if reader.at_read(unacked) {
            self.deadline = Some(now);
        } else if self.deadline.is_none() {
            self.deadline = Some(now + self.config.delayed_ack_timeout);
        }
        None
    }

    /// A segment arrives in order and completes `new` bytes.
    #[inline(never)]
    fn note_arrival(&mut self, now: Instant, segment: &Segment, new: u64) {
        let (beyond, most) = (self.beyond, self.most());
        let Some(reader) = &mut self.reader else { return };
        let (len, push) = (segment.len.into(), segment.mark == Mark::Push);
        let arrived = reader::InOrder { len, push, new };
        if reader.in_order(now, arrived, beyond, most) {
            self.quick_left |= 1;
        }
    }

    /// The largest window that the empty buffer could advertise.
    fn most(&self) -> u64 {
        self.space.min(self.window)
    }

    /// A segment without data: a SYN or a probe. A copy of a SYN that arrives after data of its
    /// connection opens none (RFC 5961 section 4).
    #[cold]
    fn on_empty(&mut self, segment: &Segment, ce: bool) -> Ack {
        let probes = segment.mark != Mark::Syn && segment.ecn.is_capable();
        if probes && self.feedback != Feedback::Off {
            self.take_codepoint(segment, ce);
        }
        if segment.mark != Mark::Syn || segment.seq < self.next {
            return self.acknowledge(None);
        }
        let flags = self.open(segment, if ce { Ecn::Ce } else { segment.ecn });
        Ack { syn: true, flags, option: AccEcnOption::NONE, ..self.acknowledge(None) }
    }

    /// A segment out of order, or a segment that arrives while ranges wait beyond a gap, is
    /// acknowledged at once.
    #[inline(never)]
    fn on_disorder(&mut self, now: Instant, segment: &Segment) -> Ack {
        let mut duplicate = None;
        if segment.seq > self.next {
            let (beyond, most) = (self.beyond, self.most());
            if let Some(reader) = &mut self.reader {
                reader.beyond_gap(now, u64::from(segment.len), beyond, most);
            }
            duplicate = self.insert(segment);
        } else if segment.end() <= self.next {
            self.stats.duplicates += 1;
            duplicate = Some(SackBlock { start: segment.seq, end: segment.end() });
        } else {
            self.advance(now, segment);
        }
        self.acknowledge(duplicate)
    }

    /// The next segment has arrived.
    #[inline]
    fn advance(&mut self, now: Instant, segment: &Segment) {
        let before = self.next;
        self.next = segment.end();
        self.unacked_segments += 1;
        if !self.ranges.is_empty() {
            self.absorb();
        }
        self.tune(now, segment.len);
        if self.reader.is_some() {
            self.note_arrival(now, segment, self.next - before);
        }
    }

    #[inline]
    fn tune(&mut self, now: Instant, len: u32) {
        if let Some(autotune) = &mut self.autotune
            && let Some(space) = autotune.on_arrival(now, self.next, u64::from(len), self.space)
        {
            self.space = space;
            if self.grows {
                self.set_window(Bytes(space));
            }
        }
    }

    #[inline]
    fn acknowledge(&mut self, duplicate: Option<SackBlock>) -> Ack {
        self.stats.acks += 1;
        self.unacked_segments = 0;
        self.deadline = None;
        if self.reader.is_some() {
            self.note_acknowledgement();
        }
        self.last_ack = self.next;
        self.offered = self.offered.max(self.next + self.window);
        let mut sack = [SackBlock::default(); 3];
        let mut sack_len = 0;
        if duplicate.is_some() || self.recent_len > 0 {
            sack_len = self.list_blocks(duplicate, &mut sack);
        }
        if self.feedback == Feedback::Accurate {
            self.report(sack_len);
        }
        Ack {
            cumulative: self.next,
            window: self.offered - self.next,
            ts_echo: self.ts_recent,
            sack,
            sack_len,
            flags: self.flags,
            syn: false,
            ecn: self.ecn,
            option: self.option,
        }
    }

    /// Puts the counters in the next acknowledgement, which has `blocks` SACK blocks.
    #[cold]
    #[inline(never)]
    fn report(&mut self, blocks: u8) {
        (self.flags, self.option) = self.counters.report(self.config.accecn_option, blocks);
    }

    #[inline(never)]
    fn note_acknowledgement(&mut self) {
        let unacked = self.next - self.last_ack;
        if let Some(reader) = &mut self.reader {
            reader.acknowledged(unacked, self.beyond, self.space);
        }
    }

    /// Puts `duplicate` and then the ranges that changed last in `sack`; returns their number.
    #[inline(never)]
    fn list_blocks(&self, duplicate: Option<SackBlock>, sack: &mut [SackBlock; 3]) -> u8 {
        let mut used = 0;
        if let Some(block) = duplicate {
            sack[0] = block;
            used = 1;
        }
        let recent = self.recent_len.min(sack.len() - used);
        for (slot, block) in sack[used..].iter_mut().zip(&self.recent[..recent]) {
            *slot = *block;
        }
        (used + recent) as u8
    }

    /// A SYN that arrives as `ecn`: a connection begins; the stream keeps its position. Returns the
    /// flags of the SYN/ACK. Of several SYNs of one connection the first selects the feedback (RFC
    /// 9768 section 3.1.5).
    #[cold]
    fn open(&mut self, syn: &Segment, ecn: Ecn) -> Flags {
        self.quick_left = self.config.quick_acks;
        self.ts_recent = syn.sent_at;
        if let Some(reader) = &mut self.reader {
            reader.restart(self.space);
        }
        if self.syn_at.replace(self.next) == Some(self.next) {
            return self.feedback.answer(ecn);
        }
        self.accept(syn.flags, ecn)
    }

    /// Selects the feedback that a SYN with these flags offers, which arrived as `ecn`, and starts
    /// to count. Returns the flags of the SYN/ACK.
    pub(crate) fn accept(&mut self, syn: Flags, ecn: Ecn) -> Flags {
        self.feedback = self.config.ecn.answering(syn);
        (self.flags, self.option) = (0, AccEcnOption::NONE);
        let counts = self.feedback == Feedback::Accurate;
        self.ecn = if counts { self.config.control_ecn.codepoint() } else { Ecn::NotEct };
        self.counters = Counters::default();
        self.feedback.answer(ecn)
    }
}

#[cfg(test)]
mod tests;
