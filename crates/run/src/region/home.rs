//! The place of one UE, and the state of its handover.

use crate::cells::{HandoverConfig, Place};
use justfull_base::{Instant, Packet};
use justfull_ran::stack::{Forwarded, UeContext};
use std::collections::VecDeque;
use std::sync::Arc;

/// The state of a UE's handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is in its cell, and the UPF sends to that cell.
    Settled,
    /// The source has decided and still serves it.
    Preparing,
    /// It is in no cell.
    Away,
    /// It is in the target; the UPF still sends to the source.
    Joined,
    /// The UPF sends to the target; the end marker has not arrived.
    Switched,
}

/// The place of a UE.
pub(super) struct Home {
    place: Arc<Place>,
    /// Number of begun moves.
    moves: usize,
    /// The cell that serves it; after its departure the target.
    pub(super) serving: u32,
    /// The last cell that it left.
    pub(super) source: u32,
    /// The target of its handover.
    pub(super) target: u32,
    pub(super) phase: Phase,
    /// The end of its phase, or the time of its next move.
    pub(super) due: Instant,
    /// The time of the path switch, once the UE has joined.
    pub(super) switches: Instant,
    /// The UE while it is away.
    pub(super) context: Option<Box<UeContext>>,
    /// Data that the source keeps until the target has reported the UE's arrival.
    pub(super) late: VecDeque<Forwarded>,
    /// The target has not yet reported the UE's arrival to the source.
    pub(super) unknown: bool,
    /// Forwarded data that arrived before the UE.
    pub(super) buffer: VecDeque<Forwarded>,
    /// Packets of the new path that arrived before the end marker.
    pub(super) held: VecDeque<Packet>,
    /// The neighbour for which event A3 holds, and the start of the event.
    candidate: Option<(u32, Instant)>,
    /// Start of the time with the serving cell's SINR below `qout`; none otherwise.
    weak: Option<Instant>,
    /// True after a radio link failure: the UE re-establishes its connection in the target.
    pub(super) link_failed: bool,
    /// Number of the record of its last handover.
    pub(super) record: usize,
}

impl Home {
    /// The state of a UE of `place` before its first move.
    pub(super) fn new(place: &Arc<Place>) -> Self {
        let mut home = Self {
            place: Arc::clone(place),
            moves: 0,
            serving: place.cell,
            source: place.cell,
            target: place.cell,
            phase: Phase::Settled,
            due: Instant::NEVER,
            switches: Instant::NEVER,
            context: None,
            late: VecDeque::new(),
            unknown: false,
            buffer: VecDeque::new(),
            held: VecDeque::new(),
            candidate: None,
            weak: None,
            link_failed: false,
            record: 0,
        };
        home.due = home.next_decision(Instant::ZERO);
        home
    }

    /// The time of its next move or measurement, not before `now`; never if there is none.
    pub(super) fn next_decision(&self, now: Instant) -> Instant {
        if let Some(a3) = &self.place.a3 {
            return now + a3.period;
        }
        let next = self.place.moves.get(self.moves);
        next.map_or(Instant::NEVER, |next| (Instant::ZERO + next.at).max(now))
    }

    /// The target of the move that begins at `now`. A move to the present cell is skipped: the
    /// moves before it came too late.
    pub(super) fn take_move(&mut self, now: Instant) -> Option<u32> {
        let next = self.place.moves.get(self.moves).copied();
        let due = next.filter(|next| Instant::ZERO + next.at <= now)?;
        self.moves += 1;
        self.due = self.next_decision(now);
        Some(due.to).filter(|to| *to != self.serving)
    }

    /// The UE measures the `signal` of `cells` cells in dB at `now`. Returns the target if event A3
    /// has held for the time to trigger (TS 38.331 section 5.5.4.4), or if the radio link fails.
    pub(super) fn measure(
        &mut self,
        now: Instant,
        cells: usize,
        handover: &HandoverConfig,
        signal: impl Fn(u32) -> Option<f64>,
    ) -> Option<u32> {
        let a3 = self.place.a3?;
        self.due = self.next_decision(now);
        let own = signal(self.serving)?;
        if self.is_weak(now, own, handover) {
            let others = (0..cells as u32).filter(|cell| *cell != self.serving);
            let better = others.filter_map(|cell| Some((signal(cell)?, cell)));
            let best = better
                .filter(|(there, _)| *there > own)
                .max_by(|(a, first), (b, second)| a.total_cmp(b).then(second.cmp(first)));
            self.link_failed = best.is_some();
            return best.map(|(_, cell)| cell);
        }
        let better = |cell: u32| Some(signal(cell)? - own - a3.offset);
        let stays =
            |(cell, _): &(u32, Instant)| better(*cell).is_some_and(|by| by + a3.hysteresis >= 0.0);
        self.candidate = self.candidate.filter(stays);
        if self.candidate.is_none() {
            let others = (0..cells as u32).filter(|cell| *cell != self.serving);
            let entering = others.filter_map(|cell| Some((better(cell)?, cell)));
            let best = entering
                .filter(|(by, _)| *by > a3.hysteresis)
                .max_by(|(a, first), (b, second)| a.total_cmp(b).then(second.cmp(first)));
            self.candidate = best.map(|(_, cell)| (cell, now));
        }
        let (to, since) = self.candidate?;
        if now.since(since) < a3.time_to_trigger {
            return None;
        }
        self.candidate = None;
        Some(to)
    }

    /// True if the signal of its cell, `own` dB at `now`, has been below `qout` for T310.
    fn is_weak(&mut self, now: Instant, own: f64, handover: &HandoverConfig) -> bool {
        if !handover.rlf || own >= handover.qout {
            self.weak = None;
            return false;
        }
        now.since(*self.weak.get_or_insert(now)) >= handover.t310
    }

    /// The UE, `context`, leaves its cell.
    pub(super) fn leave(&mut self, context: Box<UeContext>) {
        (self.weak, self.candidate) = (None, None);
        self.context = Some(context);
        self.source = self.serving;
        self.serving = self.target;
        self.phase = Phase::Away;
    }

    /// Packets that wait for the UE outside the cells.
    pub(super) fn packets(&self) -> u64 {
        let outside = self.buffer.iter().chain(&self.late);
        let waiting = outside.filter(|data| data.packet().is_some()).count();
        let own = self.context.as_ref().map_or(0, |context| context.packets());
        (waiting + self.held.len()) as u64 + own
    }
}
