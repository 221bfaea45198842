//! CoDel: signal when packets have waited longer than a target for a whole interval.
//!
//! Source: RFC 8289 sections 4 and 5 (pseudo-code in 5.6). T20 section 5 runs it at the DRB (15 ms
//! / 300 ms) and at the SDAP (5 ms / 100 ms).
//!
//! CoDel controls the sojourn time. Once the sojourn time has stayed at or above `target` for an
//! `interval`, CoDel signals. The next signals come `interval / sqrt(count)` apart (the control
//! law, section 4.4); `count` is the number of signals of this dropping state. The state ends when
//! a packet has waited less than `target`, or when one MTU or less is left behind a packet.
//!
//! Defaults 5 ms and 100 ms: section 4.3 (5 to 10 % of the interval) and section 4.2 (an RTT that
//! suits the Internet).
//!
//! Known weaknesses: CoDel reacts over several intervals, which is slow for a link whose rate falls
//! at once. It never meets a target below the time between pulls of the layer below, so a RAN needs
//! a target above its TTI. Flows share a state unless the discipline gives each a lane. Where a
//! radio falls to a tenth for tenths of a second, CoDel drops a window that fits before and after
//! (docs/which-method.md, `blockage`); `dip` prevents this.
//!
//! Deviations from RFC 8289: the RFC does not define marks. Here a mark ends the dequeue, the
//! marked packet is delivered, and the control law counts the mark as a drop. The state of a lane
//! ends when the lane runs empty, and not at the next dequeue of an empty lane; the verdicts are
//! equal, since the last packet of a lane always has a backlog of zero behind it. The backlog
//! behind a packet is the backlog of its lane. `ce_threshold` comes from RFC 8290 section 5.2.7;
//! its marks change no state. `l4s_threshold` is the same for ECT(1) alone (Linux has
//! `ce_threshold_selector`); with it CoDel's own signals mark ECT(1).
//!
//! `reserve` is this project's. A radio's rate changes faster than a sender's window, so a window
//! that a queue drops in a dip is missing at the rise. A packet is below the target if it has
//! waited less than `ceiling`, and if since its arrival its lane has sent no more than the radio
//! sends in the time `reserve` at its greatest recent rate (the module `peak`). At a steady rate
//! this is a target of `reserve`.
//!
//! `deadline` is this project's. The control law reduces the window of a sender that answers to
//! drops, after some intervals. Until then the queue stands, and for a sender that does not answer
//! (BBR, UDP) it stands for good. So a packet that has waited for `deadline` is dropped at once
//! while more than four packets of its size are behind it.
//!
//! `dip` is this project's. When a radio falls to a tenth, a whole window is above the target by
//! the wall clock, and CUBIC needs seconds to grow it again. So intervals, waiting times, `ceiling`
//! and `deadline` run on the radio's clock (the module `clock`), which slows down as much as the
//! radio falls below its mean rate over `dip`. `ce_threshold` stays on the wall clock: a mark costs
//! no window that fits.
//!
//! `spacing` is this project's. BBR takes a path that twice in a row loses a fifth of the packets
//! of four rounds for a token bucket, and keeps to its rate for 48 rounds (Flach and others,
//! SIGCOMM 2016; Linux `bbr_lt_bw_sampling`). So a lane drops at most one packet for `spacing`
//! packets that it passes; the module `allowance` counts them and has the two exceptions. With
//! eight, at most two of the 16 packets in four rounds of BBR's least window (four segments) are
//! dropped.
//!
//! `reach` is this project's. A far sender needs a longer reserve, so the reserve of a lane is half
//! of its sender's round trip (the module `reach`), at least `reserve` and at most `reach`;
//! `ceiling` and `deadline` grow with it.
//!
//! The variant `t20_released` does the same as T20's released program:
//! (a) each drop takes two packets: the program drops the packet *behind* the head, then fetches
//! another and so loses the head too. Here the AQM signals the head and then, without looking
//! at it, the packet behind it; (b) the next drop counts from `now`, not from the time at which
//! this one was due; (c) no exemption for a backlog of one MTU or less;
//! (d) count rises after the drop, and only if the packet that follows is still above the target;
//! (e) a drop that empties the queue neither enters the dropping state nor raises count, and a
//! queue that runs empty without a drop does not restart the interval.
//! The program never marks.

mod allowance;
mod clock;
mod meter;
mod peak;
mod reach;

use super::{Aqm, AqmContext, AqmSettings, QueueView, Tag, Verdict, becomes_mark};
use crate::lane::Lane;
use alloc::vec::Vec;
use allowance::Allowance;
use clock::RadioClock;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, ConfigError, Duration, Ecn, Instant, Packet, choice, params};
use peak::PeakRate;
use reach::Reach;

/// Packets of its size behind one that is not dropped for its `deadline`: a loss among fewer is
/// found by a timeout only (RFC 5681 section 3.2: three duplicate ACKs).
const FEW: u64 = 4;

impl AqmSettings for CoDelConfig {
    fn needs_room(&self) -> bool {
        false
    }
}

/// Describes CoDel.
pub const DOC: MethodDoc = MethodDoc {
    name: "codel",
    kind: "aqm",
    title: "Controlled delay (RFC 8289)",
    text: "Signals once packets have waited `target` or longer for an `interval`; further signals \
           come interval / sqrt(count) apart until a packet has waited less than `target` or one \
           MTU or less is left. State is kept per lane, so that with sfq each lane has its own \
           CoDel. With `reserve`, a lane may also keep what the radio could send in that time at \
           its greatest rate of late, until a packet has waited for `ceiling`. With `deadline`, \
           what waited longer is dropped at once. With `dip`, its clock is as slow as the radio is \
           below its mean rate. With `spacing`, a lane drops at most one packet for so many that \
           it passes.",
    sources: "RFC 8289 sections 4, 5; RFC 8290 section 5.2.7 (ce_threshold); T20 section 5 (15ms \
              / 300ms at the DRB, 5ms / 100ms at the SDAP)",
    deviations: "A mark ends the dequeue and counts as a drop. Variant t20_released is T20's \
                 program: each drop takes two packets, the next counts from now, no exemption for \
                 one MTU, count rises after the drop, no marks. `reserve`, `deadline`, `dip` and \
                 `spacing`, off by default, are this project's.",
    params: CoDelConfig::params,
};

choice! {
    /// Whose algorithm.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Variant {
        /// RFC 8289.
        #[default]
        Rfc8289 = "rfc8289",
        /// T20's released program.
        T20Released = "t20_released",
    }
}

params! {
    /// Settings of [`CoDel`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CoDelConfig {
        /// Sojourn time below which nothing is signalled.
        target: Duration = Duration::from_millis(5),
            above(Duration::ZERO).and("at most the interval", |c: &Self| {
                // An interval of 0 is named itself.
                c.target <= c.interval || c.interval.is_zero()
            }),
            "RFC 8289 section 4.3: 5 to 10 % of the interval";
        /// How long the sojourn time must stay above the target before the first signal; about
        /// one RTT.
        interval: Duration = Duration::from_millis(100),
            within(Duration::from_micros(1), Duration::from_secs(3600)),
            "RFC 8289 section 4.2: the order of an RTT";
        /// Mark packets that are ECN-capable in place of dropping them.
        ecn: bool = true,
            rule("true, false; false with t20_released", |c| {
                !c.ecn || c.variant == Variant::Rfc8289
            }), "T20's program never marks";
        /// No signal while at most this much is left behind the packet in its lane.
        mtu: Bytes = Bytes(1500), stated("any; without effect with t20_released");
        /// Mark every ECN-capable packet that waited longer than this, whatever CoDel says.
        ce_threshold: Duration = Duration::ZERO,
            rule("any, 0s for off; 0s without ecn", |c| c.ecn || c.ce_threshold.is_zero()),
            "RFC 8290 section 5.2.7: the threshold only marks";
        /// Mark every packet with ECT(1) that waited longer than this, and mark it also where CoDel
        /// signals, in place of a drop; 0s for off. For lanes that L4S flows do not share.
        l4s_threshold: Duration = Duration::ZERO,
            rule("any, 0s for off; 0s without ecn", |c| c.ecn || c.l4s_threshold.is_zero()),
            "RFC 9331 section 5.2: an L4S sender expects immediate marks";
        /// A packet is below the target while no more left its lane since it came than the radio
        /// could send in this time at its greatest rate of late; 0s for off.
        reserve: Duration = Duration::ZERO,
            rule("0s for off, else the target to 1s; 0s with t20_released", |c| {
                c.reserve.is_zero()
                    || (c.target..=Duration::from_secs(1)).contains(&c.reserve)
                        && c.variant == Variant::Rfc8289
            }), "a reserve below the target has no effect";
        /// With `reserve`: a packet that has waited this long is above the target all the same.
        ceiling: Duration = Duration::from_millis(60),
            rule("at least reserve", |c| c.ceiling >= c.reserve),
            "at the greatest rate the reserve waits for as long as it says";
        /// With `reserve`: time in which a greatest rate that is not reached again falls to 1/e.
        memory: Duration = Duration::from_secs(30),
            within(Duration::from_millis(100), Duration::from_secs(3600)),
            "CUBIC grows back to its last window in seconds (RFC 9438 section 4.2)";
        /// Drop a packet that has waited this long while more than four of its size are behind it,
        /// whatever CoDel says; 0s for off.
        deadline: Duration = Duration::ZERO,
            rule("0s for off, else above the target; 0s with t20_released", |c| {
                c.deadline.is_zero() || c.deadline > c.target && c.variant == Variant::Rfc8289
            }), "below the target nothing is too late";
        /// Time over which the queue's rate is averaged: while it is lower, all of CoDel's times
        /// but `ce_threshold` pass as much more slowly; 0s for off.
        dip: Duration = Duration::ZERO,
            rule("0s for off, else 100ms to 1h; 0s with t20_released", |c| {
                let bounds = Duration::from_millis(100)..=Duration::from_secs(3600);
                c.dip.is_zero() || bounds.contains(&c.dip) && c.variant == Variant::Rfc8289
            }), "a rate is measured over up to 100 ms";
        /// A lane drops at most one packet for so many that it passes; 0 for no bound.
        spacing: u32 as "packets" = 0,
            rule("0 to 1000; 0 with t20_released", |c| {
                c.spacing == 0 || c.spacing <= 1000 && c.variant == Variant::Rfc8289
            }), "a CoDel that drops one packet in a thousand controls nothing";
        /// Greatest reserve of a lane: half of its sender's round trip as the lane sees it, if that
        /// is more than `reserve`; 0s for off.
        reach: Duration = Duration::ZERO,
            rule("0s for off, else reserve to 1s with a reserve", |c| {
                c.reach.is_zero()
                    || !c.reserve.is_zero()
                        && (c.reserve..=Duration::from_secs(1)).contains(&c.reach)
            }), "only a reserve grows";
        /// Lanes of the lowest numbers that are never signalled.
        spared: u16 as "lanes" = 0;
        /// The RFC's algorithm, or the algorithm of T20's released program.
        variant: Variant = Variant::Rfc8289;
    }
}

impl CoDelConfig {
    /// The settings of a lane with this `reserve`: its ceiling and its deadline grow with it.
    fn reaching(&self, reserve: Duration) -> Self {
        if reserve == self.reserve {
            return *self;
        }
        let factor = reserve.as_secs_f64() / self.reserve.as_secs_f64();
        Self {
            reserve,
            ceiling: self.ceiling.scaled(factor),
            deadline: self.deadline.scaled(factor),
            ..*self
        }
    }

    /// True when `packet` has the codepoint of L4S and is treated so.
    fn is_l4s(&self, packet: &Packet) -> bool {
        packet.ecn == Ecn::Ect1 && !self.l4s_threshold.is_zero()
    }

    /// True when a signal on `packet` is a mark.
    fn marks(&self, view: &QueueView, packet: &Packet) -> bool {
        becomes_mark(self.ecn, view.ect1, packet) || self.is_l4s(packet)
    }

    /// True when `packet` has waited beyond one of the thresholds.
    fn is_beyond(&self, packet: &Packet, sojourn: Duration) -> bool {
        let beyond = |threshold: Duration| !threshold.is_zero() && sojourn > threshold;
        beyond(self.ce_threshold) && packet.ecn.is_capable()
            || self.is_l4s(packet) && beyond(self.l4s_threshold)
    }

    /// True when `packet`, with `bytes_behind` it, is dropped once it has waited for its deadline.
    const fn has_deadline(&self, packet: &Packet, bytes_behind: u64) -> bool {
        !self.deadline.is_zero() && bytes_behind > FEW * packet.size as u64
    }
}

/// The step that the last signal of a dequeue began; the next packet finishes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Unfinished {
    /// Nothing.
    #[default]
    Nothing,
    /// The first drop of a dropping state.
    Entry,
    /// A further drop of a dropping state.
    Drop,
}

/// State of one lane; the names are those of RFC 8289 section 5.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LaneState {
    /// When the sojourn time will have been above the target for an interval; none while below it.
    first_above_time: Option<Instant>,
    /// When to signal next in the dropping state.
    drop_next: Instant,
    /// Signals since the current dropping state was entered.
    count: u32,
    /// `count` when the dropping state was last entered.
    lastcount: u32,
    /// In the dropping state.
    dropping: bool,
    /// The step that the last signal began.
    unfinished: Unfinished,
    /// `t20_released`: the packet behind the head is still to be dropped.
    second_due: bool,
    /// The drops that it may still make, with `spacing`.
    allowance: Allowance,
}

impl LaneState {
    /// RFC 8289 section 5.6, `dodequeue`: has the sojourn time been above the target for an
    /// interval? It counts as below if the lane is `within_reserve`.
    fn ok_to_drop(
        &mut self,
        config: &CoDelConfig,
        now: Instant,
        sojourn: Duration,
        bytes_behind: u64,
        within_reserve: bool,
    ) -> bool {
        let exempt = config.variant == Variant::Rfc8289 && bytes_behind <= config.mtu.0;
        if sojourn < config.target || exempt || within_reserve {
            self.first_above_time = None;
            return false;
        }
        match self.first_above_time {
            None => {
                self.first_above_time = Some(now + config.interval);
                false
            }
            Some(at) => now >= at,
        }
    }

    /// RFC 8289 section 5.6, the second branch of `dequeue`: enters the dropping state, at the last
    /// one's rate if that ended recently.
    fn enter(&mut self, config: &CoDelConfig, now: Instant) {
        let delta = self.count.wrapping_sub(self.lastcount);
        let recent = now.since(self.drop_next) < config.interval.times(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.lastcount = self.count;
        self.drop_next = control_law(config, now, self.count);
        self.dropping = true;
    }

    /// Schedules the next signal of the dropping state once the packet behind a drop is found above
    /// the target.
    fn schedule(&mut self, config: &CoDelConfig, now: Instant) {
        let from = match config.variant {
            Variant::Rfc8289 => self.drop_next,
            Variant::T20Released => {
                self.count = self.count.saturating_add(1);
                now
            }
        };
        self.drop_next = control_law(config, from, self.count);
    }

    /// Signals. A mark finishes what it began at once, a drop when the next packet is known.
    fn signal(&mut self, config: &CoDelConfig, now: Instant, began: Unfinished, marked: bool) {
        if began == Unfinished::Drop && config.variant == Variant::Rfc8289 {
            self.count = self.count.saturating_add(1);
        }
        if !marked {
            self.unfinished = began;
            self.second_due = config.variant == Variant::T20Released;
        } else if began == Unfinished::Entry {
            self.enter(config, now);
        } else {
            self.schedule(config, now);
        }
    }
}

/// RFC 8289 section 4.4: the time `interval / sqrt(count)` after `from`.
fn control_law(config: &CoDelConfig, from: Instant, count: u32) -> Instant {
    from + config.interval.scaled(1.0 / libm::sqrt(f64::from(count)))
}

/// The tag of a packet with these notes: what the radio's clock showed, and that of its lane.
const fn tag(shown: u32, lane: u32) -> Tag {
    (shown as Tag) << 32 | lane as Tag
}

/// The notes of `tag`.
const fn notes(tag: Tag) -> [u32; 2] {
    [(tag >> 32) as u32, tag as u32]
}

/// The radio's clock in microseconds, as a packet's tag holds it: 32 bits are 71 minutes.
const fn micros(shown: Instant) -> u32 {
    (shown.as_nanos() / 1000) as u32
}

/// Counts of CoDel's actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Times a lane entered the dropping state or tried to.
    pub entries: u64,
    /// Packets signalled by the control law.
    pub signals: u64,
    /// Packets marked only because of a threshold.
    pub threshold_marks: u64,
    /// Packets dropped for their deadline.
    pub late: u64,
}

/// CoDel over one or more lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct CoDel {
    config: CoDelConfig,
    stats: Stats,
    lane_0: LaneState,
    /// Lanes 1 and up, allocated when one of them is first used.
    others: Vec<LaneState>,
    /// Number of lanes besides the first.
    number_of_others: u32,
    /// The clock of its radio, with `dip`.
    clock: RadioClock,
    /// Greatest rate of each lane of late; none without `reserve`, or before the first packet.
    peaks: Vec<PeakRate>,
    /// What each lane knows of its sender's round trip, with `reach`.
    reaches: Vec<Reach>,
}

impl CoDel {
    /// CoDel with the settings of `config` for the queue of `context`.
    ///
    /// # Errors
    /// Names the setting that is out of its bounds.
    pub fn new(config: &CoDelConfig, context: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config: *config,
            stats: Stats::default(),
            lane_0: LaneState::default(),
            others: Vec::new(),
            number_of_others: context.lanes.saturating_sub(1),
            clock: RadioClock::default(),
            peaks: Vec::new(),
            reaches: Vec::new(),
        })
    }

    /// Counts of its actions so far.
    #[must_use]
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// State of `lane`.
    ///
    /// # Panics
    /// When the queue has fewer lanes.
    fn lane(&mut self, lane: Lane) -> &mut LaneState {
        match lane {
            0 => &mut self.lane_0,
            _ => {
                self.add_others();
                &mut self.others[usize::from(lane) - 1]
            }
        }
    }

    fn add_others(&mut self) {
        if self.others.is_empty() {
            self.others = alloc::vec![LaneState::default(); self.number_of_others as usize];
        }
    }

    /// The recent rates of `lane`; none without `reserve`.
    fn peak(&mut self, lane: Lane) -> Option<&mut PeakRate> {
        if self.config.reserve.is_zero() {
            return None;
        }
        if self.peaks.is_empty() {
            let lanes = 1 + self.number_of_others as usize;
            self.peaks = alloc::vec![PeakRate::default(); lanes];
        }
        self.peaks.get_mut(usize::from(lane))
    }

    /// The reach of `lane`; none without `reach`.
    fn reach(&mut self, lane: Lane) -> Option<&mut Reach> {
        if self.config.reach.is_zero() {
            return None;
        }
        if self.reaches.is_empty() {
            self.reaches = alloc::vec![Reach::default(); 1 + self.number_of_others as usize];
        }
        self.reaches.get_mut(usize::from(lane))
    }

    /// What the clock of the radio shows, and how long by it a packet has waited that had `note`
    /// when it came; without `dip` the time and its `sojourn`.
    fn radio_time(&self, now: Instant, sojourn: Duration, note: u32) -> (Instant, Duration) {
        if self.config.dip.is_zero() {
            return (now, sojourn);
        }
        let shown = self.clock.at(now);
        let waited = micros(shown).wrapping_sub(note);
        (shown, Duration::from_micros(u64::from(waited)))
    }

    /// True when `packet`, which left `lane` after `sojourn`, is below the target by the reserve.
    fn within_reserve(
        &self,
        config: &CoDelConfig,
        lane: Lane,
        packet: &Packet,
        of_lane: u32,
        sojourn: Duration,
    ) -> bool {
        let CoDelConfig { reserve, ceiling, mtu, .. } = *config;
        let peak = self.peaks.get(usize::from(lane));
        peak.is_some_and(|peak| peak.is_within(of_lane, packet.size, reserve, mtu))
            && sojourn < ceiling
    }

    /// `packet` of `lane` is delivered, and `waiting` bytes are still in the queue.
    fn passed(&mut self, now: Instant, lane: Lane, packet: &Packet, waiting: u64) {
        let config = self.config;
        let mut rate = 0.0;
        if let Some(peak) = self.peak(lane) {
            peak.on_dequeue(now, packet.size, config.memory);
            rate = peak.rate();
        }
        if !config.dip.is_zero() {
            self.clock.on_dequeue(now, packet.size, waiting, config.dip);
        }
        if config.spacing > 0 {
            self.lane(lane).allowance.save(&config, rate);
        }
    }

    /// The control law's verdict on a packet that leaves `lane`; `view` is what is left there.
    fn control(
        &mut self,
        now: Instant,
        lane: Lane,
        packet: &Packet,
        tag: Tag,
        sojourn: Duration,
        view: &QueueView,
    ) -> Verdict {
        let (least, most) = (self.config.reserve, self.config.reach);
        let reserve = self.reach(lane).map_or(least, |reach| reach.reserve(least, most));
        let config = self.config.reaching(reserve);
        let bytes_behind = view.lane.bytes;
        let [note, of_lane] = notes(tag);
        let (now, sojourn) = self.radio_time(now, sojourn, note);
        let within_reserve = self.within_reserve(&config, lane, packet, of_lane, sojourn);
        let late = config.has_deadline(packet, bytes_behind) && sojourn >= config.deadline;
        let state = self.lane(lane);
        if state.second_due {
            state.second_due = false;
            self.stats.signals += 1;
            return Verdict::Signal;
        }
        let ok_to_drop = state.ok_to_drop(&config, now, sojourn, bytes_behind, within_reserve);
        match core::mem::take(&mut state.unfinished) {
            Unfinished::Entry => {
                state.enter(&config, now);
                return Verdict::Pass;
            }
            Unfinished::Drop if ok_to_drop => state.schedule(&config, now),
            Unfinished::Drop | Unfinished::Nothing => {}
        }
        let begin = if state.dropping {
            state.dropping = ok_to_drop;
            (ok_to_drop && now >= state.drop_next).then_some(Unfinished::Drop)
        } else {
            ok_to_drop.then_some(Unfinished::Entry)
        };
        if !late && begin.is_none() {
            return Verdict::Pass;
        }
        let may_drop = state.allowance.is_enough(&config, packet, sojourn);
        if late && may_drop {
            state.allowance.spend(config.spacing);
            self.stats.late += 1;
            return Verdict::Drop;
        }
        let marked = config.marks(view, packet);
        let Some(begin) = begin.filter(|_| may_drop || marked) else { return Verdict::Pass };
        if !marked {
            state.allowance.spend(config.spacing);
        }
        state.signal(&config, now, begin, marked);
        self.stats.entries += u64::from(begin == Unfinished::Entry);
        self.stats.signals += 1;
        Verdict::Signal
    }
}

impl Aqm for CoDel {
    fn marks(&self) -> bool {
        self.config.ecn
    }

    fn reserve(&mut self) {
        self.add_others();
        self.peak(0);
        self.reach(0);
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        _packet: &Packet,
    ) -> (Verdict, Tag) {
        let of_lane = self.peak(lane).map_or(0, |peak| peak.note());
        if let Some(reach) = self.reach(lane) {
            reach.on_enqueue(now);
        }
        if self.config.dip.is_zero() {
            return (Verdict::Pass, tag(0, of_lane));
        }
        if view.backlog_packets == 0 {
            self.clock.on_busy(now);
        }
        (Verdict::Pass, tag(micros(self.clock.at(now)), of_lane))
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        packet: &Packet,
        tag: Tag,
        sojourn: Duration,
    ) -> Verdict {
        if lane < self.config.spared {
            return Verdict::Pass;
        }
        let verdict = self.control(now, lane, packet, tag, sojourn, view);
        if let Some(reach) = self.reach(lane) {
            reach.on_dequeue(now);
        }
        let passed = verdict == Verdict::Pass
            || verdict == Verdict::Signal && self.config.marks(view, packet);
        if passed {
            self.passed(now, lane, packet, view.backlog_bytes);
        }
        if verdict == Verdict::Pass && self.config.is_beyond(packet, sojourn) {
            self.stats.threshold_marks += 1;
            return Verdict::Mark;
        }
        if passed && verdict == Verdict::Signal && self.config.is_l4s(packet) {
            return Verdict::Mark;
        }
        verdict
    }

    fn on_empty(&mut self, now: Instant, lane: Lane) {
        let config = self.config;
        let (now, _) = self.radio_time(now, Duration::ZERO, 0);
        if let Some(peak) = self.peak(lane) {
            peak.on_empty();
        }
        let state = self.lane(lane);
        let unfinished = core::mem::take(&mut state.unfinished);
        state.second_due = false;
        if config.variant == Variant::T20Released && unfinished == Unfinished::Nothing {
            return;
        }
        if config.variant == Variant::Rfc8289 && unfinished == Unfinished::Entry {
            state.enter(&config, now);
        }
        // An empty queue cannot be above the target (RFC 8289 section 5.6). The next packet is
        // below it or starts a new interval; both leave the dropping state.
        state.first_above_time = None;
        state.dropping = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::LaneView;

    const MTU: u64 = 1500;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn codel(variant: Variant) -> CoDel {
        let config =
            CoDelConfig { ecn: variant == Variant::Rfc8289, variant, ..CoDelConfig::default() };
        CoDel::new(&config, AqmContext::new(1, 0)).expect("within bounds")
    }

    /// The verdict on a packet that leaves lane 0 at `ms` after `waited` ms, with 50 packets behind
    /// it.
    fn ask(codel: &mut CoDel, ms: u64, waited: u64, ecn: Ecn) -> Verdict {
        ask_of(codel, ms, waited, ecn, 50)
    }

    /// The same with `behind` packets behind it.
    fn ask_of(codel: &mut CoDel, ms: u64, waited: u64, ecn: Ecn, behind: u32) -> Verdict {
        ask_tagged(codel, ms, waited, ecn, behind, 0)
    }

    /// The same with this tag.
    fn ask_tagged(
        codel: &mut CoDel,
        ms: u64,
        waited: u64,
        ecn: Ecn,
        behind: u32,
        tag: Tag,
    ) -> Verdict {
        let packet = Packet { size: MTU as u32, ecn, ..Packet::default() };
        let view = QueueView {
            backlog_packets: behind,
            backlog_bytes: u64::from(behind) * MTU,
            lane: LaneView { bytes: u64::from(behind) * MTU, head: None },
            ..QueueView::default()
        };
        codel.on_dequeue(at(ms), &view, 0, &packet, tag, Duration::from_millis(waited))
    }

    #[test]
    fn a_wait_of_exactly_the_target_for_exactly_an_interval_is_too_long() {
        // RFC 8289 section 5.6: below is `sojourn_time < TARGET`, over is `now >=
        // first_above_time`.
        let mut codel = codel(Variant::Rfc8289);
        assert_eq!(ask(&mut codel, 10, 5, Ecn::NotEct), Verdict::Pass);
        assert_eq!(ask(&mut codel, 109, 5, Ecn::NotEct), Verdict::Pass);
        assert_eq!(ask(&mut codel, 110, 5, Ecn::NotEct), Verdict::Signal);
    }

    #[test]
    fn exactly_one_mtu_behind_the_packet_is_exempt_and_a_byte_more_is_not() {
        // RFC 8289 section 5.6: `bytes() <= maxpacket_`. The released program has no such
        // exemption.
        let config = CoDelConfig::default();
        let above = |config: &CoDelConfig, behind| {
            let mut state = LaneState::default();
            state.ok_to_drop(config, at(1), config.interval, behind, false);
            state.first_above_time.is_some()
        };
        assert_eq!([above(&config, MTU), above(&config, MTU + 1)], [false, true]);
        assert!(above(&CoDelConfig { variant: Variant::T20Released, ecn: false, ..config }, 0));
    }

    #[test]
    fn the_rate_of_the_last_dropping_state_is_taken_up_for_less_than_sixteen_intervals() {
        // RFC 8289 section 5.6: `delta = count_ - lastcount_; count_ = 1;
        // if (delta > 1 && now - drop_next_ < 16 * INTERVAL) count_ = delta`.
        let config = CoDelConfig::default();
        let entered = |count, lastcount, after: Duration| {
            let mut state =
                LaneState { count, lastcount, drop_next: at(1000), ..LaneState::default() };
            state.enter(&config, at(1000) + after);
            assert!(state.dropping && state.lastcount == state.count);
            let gap = state.drop_next.since(at(1000) + after).as_millis_f64();
            assert!(
                (gap - 100.0 / f64::from(state.count).sqrt()).abs() < 1e-3,
                "section 4.4: {gap} ms"
            );
            state.count
        };
        let limit = config.interval.times(16);
        let before = Duration::from_nanos(limit.as_nanos() - 1);
        assert_eq!([entered(9, 2, before), entered(9, 2, limit)], [7, 1]);
        assert_eq!(
            [entered(3, 1, before), entered(2, 1, before), entered(2, 2, before)],
            [2, 1, 1]
        );
    }

    #[test]
    fn a_drop_whose_next_packet_waited_less_ends_the_dropping_state_and_moves_no_date() {
        // RFC 8289 section 5.6: `if (!r.ok_to_drop) dropping_ = false; else drop_next_ =
        // control_law(...)`.
        let mut codel = codel(Variant::Rfc8289);
        for (ms, expected) in [(0, Verdict::Pass), (100, Verdict::Signal), (100, Verdict::Pass)] {
            assert_eq!(ask(&mut codel, ms, 50, Ecn::NotEct), expected, "{ms} ms");
        }
        let due = codel.lane_0.drop_next;
        assert_eq!(due, at(200));
        assert_eq!(ask(&mut codel, 200, 50, Ecn::NotEct), Verdict::Signal);
        assert_eq!(ask(&mut codel, 200, 1, Ecn::NotEct), Verdict::Pass);
        assert_eq!(
            (codel.lane_0.dropping, codel.lane_0.drop_next, codel.lane_0.count),
            (false, due, 2)
        );
    }

    #[test]
    fn an_l4s_threshold_marks_ect1_alone_and_takes_the_place_of_codels_drops_there() {
        let mut codel = codel(Variant::Rfc8289);
        codel.config.l4s_threshold = Duration::from_millis(2);
        let first = [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct].map(|ecn| ask(&mut codel, 0, 3, ecn));
        assert_eq!(first, [Verdict::Mark, Verdict::Pass, Verdict::Pass]);
        assert_eq!(ask(&mut codel, 0, 2, Ecn::Ect1), Verdict::Pass);
        // Above the target of 5 ms for an interval.
        assert_eq!(ask(&mut codel, 1, 50, Ecn::NotEct), Verdict::Pass);
        assert_eq!(ask(&mut codel, 101, 50, Ecn::Ect1), Verdict::Mark, "CoDel's own signal");
        assert_eq!(codel.stats.signals, 1);
        assert_eq!(ask(&mut codel, 250, 50, Ecn::NotEct), Verdict::Signal, "a drop as before");
    }

    #[test]
    fn what_was_done_is_counted() {
        let mut rfc = codel(Variant::Rfc8289);
        rfc.config.ce_threshold = Duration::from_millis(1);
        let signals = |codel: &mut CoDel, steps: &[u64], ecn| {
            steps.iter().filter(|ms| ask(codel, **ms, 50, ecn) != Verdict::Pass).count()
        };
        let steps = [0, 100, 100, 150, 200, 200, 250, 280];
        // Enters at 100 ms, drops at 200 ms and from 200 + 100 / sqrt(2) ms on; after each drop the
        // next packet is delivered.
        assert_eq!(signals(&mut rfc, &steps, Ecn::NotEct), 3);
        assert_eq!(rfc.stats(), Stats { entries: 1, signals: 3, threshold_marks: 0, late: 0 });
        // Marked packets are delivered, so the control law sees fewer; the threshold marks the
        // rest.
        let mut marking = codel(Variant::Rfc8289);
        marking.config.ce_threshold = Duration::from_millis(1);
        assert_eq!(signals(&mut marking, &steps, Ecn::Ect0), 8);
        assert_eq!(marking.stats(), Stats { entries: 1, signals: 3, threshold_marks: 5, late: 0 });
        // Each drop of the released program takes two packets, the second unseen: at 100 and 200
        // ms.
        let mut released = codel(Variant::T20Released);
        assert_eq!(signals(&mut released, &[0, 100, 100, 100, 150, 200, 200, 200], Ecn::NotEct), 4);
        assert_eq!(released.stats(), Stats { entries: 1, signals: 4, threshold_marks: 0, late: 0 });
    }

    #[test]
    fn a_packet_is_dropped_for_its_deadline_while_five_are_behind_it() {
        let config = CoDelConfig { deadline: Duration::from_millis(90), ..CoDelConfig::default() };
        let has_deadline =
            |size, behind| config.has_deadline(&Packet { size, ..Packet::default() }, behind);
        assert_eq!([has_deadline(1500, 6001), has_deadline(1500, 6000)], [true, false]);
        assert!(has_deadline(200, 801), "what counts is its own size");
        let mut codel = codel(Variant::Rfc8289);
        codel.config.deadline = config.deadline;
        assert_eq!(ask(&mut codel, 0, 90, Ecn::Ect0), Verdict::Drop, "a mark shortens no queue");
        assert_eq!(ask(&mut codel, 0, 89, Ecn::Ect0), Verdict::Pass);
        assert_eq!((codel.stats().late, codel.stats().signals), (1, 0));
    }

    #[test]
    fn a_longer_reserve_lengthens_ceiling_and_deadline_as_much() {
        let config = CoDelConfig {
            target: Duration::from_millis(15),
            reserve: Duration::from_millis(20),
            ceiling: Duration::from_millis(45),
            deadline: Duration::from_millis(90),
            ..CoDelConfig::default()
        };
        let far = config.reaching(Duration::from_millis(60));
        let times = [far.reserve, far.ceiling, far.deadline];
        assert_eq!(times, [60, 135, 270].map(Duration::from_millis));
        assert_eq!(config.reaching(config.reserve), config);
    }

    #[test]
    fn spared_lanes_are_never_signalled() {
        let config = CoDelConfig {
            deadline: Duration::from_millis(90),
            spared: 1,
            ..CoDelConfig::default()
        };
        let mut codel = CoDel::new(&config, AqmContext::new(2, 0)).expect("within bounds");
        assert!((0..500).all(|ms| ask(&mut codel, ms, 400, Ecn::Ect0) == Verdict::Pass));
        assert_eq!(codel.stats(), Stats::default());
    }

    #[test]
    fn with_dip_times_pass_as_slowly_as_the_radio_sends() {
        // One of 1500 B leaves each ms for a second, then one each `gap` ms; 200 ms later, one that
        // came when the slower time began.
        let after = |dip, gap, config: CoDelConfig| {
            let mut codel = codel(Variant::Rfc8289);
            codel.config = CoDelConfig { dip: Duration::from_millis(dip), ..config };
            let note = |codel: &CoDel, ms| tag(micros(codel.clock.at(at(ms))), 0);
            for ms in 0..1000 {
                let comes = note(&codel, ms);
                let verdict = ask_tagged(&mut codel, ms, 0, Ecn::NotEct, 50, comes);
                assert_eq!(verdict, Verdict::Pass);
            }
            let came = note(&codel, 1000);
            for ms in (1000..1200).step_by(gap) {
                let _ = ask_tagged(&mut codel, ms, ms - 1000, Ecn::NotEct, 50, came);
            }
            ask_tagged(&mut codel, 1200, 200, Ecn::NotEct, 50, came)
        };
        let late = CoDelConfig { deadline: Duration::from_millis(90), ..CoDelConfig::default() };
        assert_eq!([after(0, 10, late), after(2000, 10, late)], [Verdict::Drop, Verdict::Pass]);
        assert_eq!(after(2000, 1, late), Verdict::Drop);
        // Above the target for more than an interval, by the clock on the wall alone.
        let plain = CoDelConfig::default();
        let signals = |dip, gap| after(dip, gap, plain) == Verdict::Signal;
        assert_eq!([signals(0, 100), signals(2000, 100)], [true, false]);
    }

    #[test]
    fn a_lane_passes_so_many_packets_for_each_that_it_drops_but_marks_as_it_likes() {
        let signals = |spacing, ecn| {
            let mut codel = codel(Variant::Rfc8289);
            codel.config.spacing = spacing;
            let asked = (0..1000).map(|n| ask_of(&mut codel, n, 50, ecn, 3));
            asked.filter(|verdict| *verdict == Verdict::Signal).count()
        };
        assert!(signals(0, Ecn::NotEct) > 25, "{}", signals(0, Ecn::NotEct));
        assert!((8..=10).contains(&signals(100, Ecn::NotEct)), "{}", signals(100, Ecn::NotEct));
        assert_eq!(signals(100, Ecn::Ect0), signals(0, Ecn::Ect0));
    }

    #[test]
    fn a_lane_that_runs_empty_is_not_above_the_target_but_in_the_released_program() {
        for variant in [Variant::Rfc8289, Variant::T20Released] {
            let mut codel = codel(variant);
            assert_eq!(ask(&mut codel, 0, 50, Ecn::NotEct), Verdict::Pass);
            codel.on_empty(at(60), 0);
            // Deviation (e): a queue that runs empty without a drop does not restart the interval.
            let expected =
                if variant == Variant::Rfc8289 { Verdict::Pass } else { Verdict::Signal };
            assert_eq!(ask(&mut codel, 110, 50, Ecn::NotEct), expected, "{variant:?}");
        }
    }

    #[test]
    fn a_drop_that_empties_the_lane_enters_and_leaves_the_dropping_state() {
        for variant in [Variant::Rfc8289, Variant::T20Released] {
            let mut codel = codel(variant);
            (codel.lane_0.count, codel.lane_0.lastcount, codel.lane_0.drop_next) = (9, 2, at(50));
            assert_eq!(ask(&mut codel, 0, 50, Ecn::NotEct), Verdict::Pass);
            assert_eq!(ask(&mut codel, 100, 50, Ecn::NotEct), Verdict::Signal);
            codel.on_empty(at(100), 0);
            // RFC 8289 enters at the last rate, 9 - 2. Deviation (e): the released program does not
            // enter.
            let count = if variant == Variant::Rfc8289 { 7 } else { 9 };
            let state = codel.lane_0;
            assert_eq!(
                (state.count, state.dropping, state.first_above_time),
                (count, false, None),
                "{variant:?}"
            );
            assert_eq!((state.unfinished, state.second_due), (Unfinished::Nothing, false));
        }
    }

    #[test]
    fn a_further_drop_that_empties_the_lane_is_no_entry() {
        let mut codel = codel(Variant::Rfc8289);
        for (ms, expected) in [
            (0, Verdict::Pass),
            (100, Verdict::Signal),
            (100, Verdict::Pass),
            (200, Verdict::Signal),
        ] {
            assert_eq!(ask(&mut codel, ms, 50, Ecn::NotEct), expected, "{ms} ms");
        }
        codel.on_empty(at(200), 0);
        let state = codel.lane_0;
        assert_eq!(
            (state.count, state.lastcount, state.drop_next, state.dropping),
            (2, 1, at(200), false)
        );
    }
}
