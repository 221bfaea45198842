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
//! (docs/method-evidence.md, `blockage`); `dip` prevents this.
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
//! `deadline` is this project's. The control law reduces the window of a sender that reacts to
//! drops, after some intervals. Until then the queue stands; with a sender that does not react
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
//! `ceiling` grows in proportion to the reserve, and `deadline` by the time that the reserve grows.
//!
//! `spare_small` is this project's. A call and a download in one tunnel have one lane. A bulk
//! sender fills its packets, so small packets pass, and a signal that is due falls on the next
//! large packet (the module `largest`).
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
mod largest;
mod meter;
mod peak;
mod reach;
mod settings;

use super::{Aqm, AqmContext, QueueView, Tag, Verdict};
use crate::lane::Lane;
use alloc::vec::Vec;
use allowance::Allowance;
use clock::RadioClock;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Packet};
use largest::Largest;
use peak::PeakRate;
use reach::Reach;
pub use settings::{CoDelConfig, Variant};

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
           a packet that has waited longer is dropped at once. With `dip`, its clock is as slow \
           as the radio is below its mean rate. A lane drops at most one packet in `spacing` \
           that it passes. With `spare_small`, only its largest packets are signalled.",
    sources: "RFC 8289 sections 4, 5; RFC 8290 section 5.2.7 (ce_threshold); T20 section 5 (15ms \
              / 300ms at the DRB, 5ms / 100ms at the SDAP)",
    deviations: "A mark ends the dequeue and counts as a drop. Variant t20_released is T20's \
                 program: each drop takes two packets, the next counts from now, no exemption for \
                 one MTU, count rises after the drop, no marks. `reserve`, `deadline`, `dip`, \
                 `spacing`, `reach` and `spare_small`, off by default, are this project's.",
    params: CoDelConfig::params,
};

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

/// State of one lane, with the names of RFC 8289 section 5.3.
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
    /// The largest packet of the last few, with `spare_small`.
    largest: Largest,
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

    /// RFC 8289 section 5.6, the second branch of `dequeue`: enters the dropping state, at the rate
    /// of the last dropping state if that ended recently.
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

    /// Signals. A mark finishes its step at once, a drop once the next packet is known.
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

/// The tag of a packet with these notes: the time of the radio's clock, and the note of its lane.
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
    /// The round trip of each lane's sender, with `reach`.
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
        match self.index(lane) {
            0 => &mut self.lane_0,
            index => {
                if index > self.others.len() {
                    self.grow(index);
                }
                &mut self.others[index - 1]
            }
        }
    }

    /// The place of the state of `lane`: spared lanes need none.
    const fn index(&self, lane: Lane) -> usize {
        lane.saturating_sub(self.config.spared) as usize
    }

    /// Number of lanes with allocated state once `index` is used. Lanes from a pool, of which the
    /// first are spared, are used from the first on; other lanes are used at random.
    const fn allocated(&self, index: usize) -> usize {
        if self.config.spared > 0 { index + 1 } else { 1 + self.number_of_others as usize }
    }

    /// Allocates the state of the lane at `index`, and of the lanes before it.
    fn grow(&mut self, index: usize) {
        let lanes = self.allocated(index);
        let others = lanes.saturating_sub(1);
        if self.others.len() < others {
            self.others.resize(others, LaneState::default());
        }
        if !self.config.reserve.is_zero() && self.peaks.len() < lanes {
            self.peaks.resize(lanes, PeakRate::default());
        }
        if !self.config.reach.is_zero() && self.reaches.len() < lanes {
            self.reaches.resize(lanes, Reach::default());
        }
    }

    /// The recent rates of `lane`; none without `reserve`.
    fn peak(&mut self, lane: Lane) -> Option<&mut PeakRate> {
        if self.config.reserve.is_zero() {
            return None;
        }
        let index = self.index(lane);
        if index >= self.peaks.len() {
            self.grow(index);
        }
        self.peaks.get_mut(index)
    }

    /// The reach of `lane`; none without `reach`.
    fn reach(&mut self, lane: Lane) -> Option<&mut Reach> {
        if self.config.reach.is_zero() {
            return None;
        }
        let index = self.index(lane);
        if index >= self.reaches.len() {
            self.grow(index);
        }
        self.reaches.get_mut(index)
    }

    /// Another flow begins in `lane`: forgets the state of the former flow.
    fn renew(&mut self, lane: Lane, flow: u32) {
        let is_other = self.reach(lane).is_some_and(|reach| !reach.is_of(flow));
        if is_other {
            *self.lane(lane) = LaneState::default();
            self.peak(lane).into_iter().for_each(|peak| *peak = PeakRate::default());
            self.reach(lane).into_iter().for_each(|reach| *reach = Reach::of(flow));
        }
    }

    /// The time on the radio's clock, and the wait on that clock of a packet that came at its time
    /// `note`; without `dip` the time `now` and `sojourn`.
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
        let peak = self.peaks.get(self.index(lane));
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

    /// The control law's verdict on a packet that leaves `lane`; `view` shows the packets that
    /// stay.
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
        let spared = config.spare_small && state.largest.is_above(packet.size);
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
        if spared || !late && begin.is_none() {
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
        self.grow((self.number_of_others as usize).saturating_sub(self.config.spared.into()));
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        packet: &Packet,
    ) -> (Verdict, Tag) {
        let mut of_lane = 0;
        if lane >= self.config.spared {
            if view.lane.bytes == 0 {
                self.renew(lane, packet.flow_hash);
            }
            of_lane = self.peak(lane).map_or(0, |peak| peak.note());
            if let Some(reach) = self.reach(lane) {
                reach.on_enqueue(now);
            }
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
        let verdict = if view.lane.spared {
            Verdict::Pass
        } else {
            self.control(now, lane, packet, tag, sojourn, view)
        };
        if let Some(reach) = self.reach(lane) {
            reach.on_dequeue(now);
        }
        let passed = verdict == Verdict::Pass
            || verdict == Verdict::Signal && self.config.marks(view, packet);
        if passed {
            self.passed(now, lane, packet, view.backlog_bytes);
        }
        if verdict == Verdict::Pass && !view.lane.spared && self.config.is_beyond(packet, sojourn) {
            self.stats.threshold_marks += 1;
            return Verdict::Mark;
        }
        if passed && verdict == Verdict::Signal && self.config.is_l4s(packet) {
            return Verdict::Mark;
        }
        verdict
    }

    fn on_empty(&mut self, now: Instant, lane: Lane) {
        if lane < self.config.spared {
            return;
        }
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
mod tests;
