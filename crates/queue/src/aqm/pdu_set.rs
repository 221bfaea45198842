//! Discard of whole PDU sets: frames of a video that would come too late, the less important first.
//!
//! Sources: TS 38.323 (Release 18) section 5.3, SDU discard with `discardTimer`,
//! `discardTimerForLowImportance` and `pdu-SetDiscard`; TS 23.501 section 5.37.5, PDU sets and
//! their importance; TS 37.483, PSI-based discard, 0 to 100 ms.
//!
//! Controls the age of waiting packets. A packet lives for `timer`. In congestion, while the oldest
//! waiting packet is older than `congested`, a packet of a set with the importance `low` or less (a
//! greater number) lives for `low_timer`. With `whole` the end of one packet is the end of its set:
//! waiting packets of the set are dropped at once, later ones at their arrival. A frame without one
//! of its packets is worth nothing, and its rest would only delay the next frame.
//!
//! With `low_timer` 0 all waiting sets of low importance are dropped as soon as there is
//! congestion: frames are dropped by their priority, as in Octopus (SEC 2023), of which only the
//! abstract was read.
//!
//! Defaults: a timer of 150 ms, the budget of a call; 0 ms for low importance once the queue is
//! 50 ms old; importance 2 and beyond is low.
//!
//! Known weaknesses: congestion control takes the drops for losses; without information on sets
//! only `timer` acts. Dependencies between sets are unknown.
//!
//! Deviations: the specification leaves the detection of congestion in the downlink to the network:
//! here it is the age of the queue. The queue is looked at each `period` while it holds packets.
//! Packets that RLC has begun to send stay, and the last 64 ended sets are known, for 60 s. The
//! drops count as `aqm_timeout`, and as `aqm_enqueue` at arrival.

use super::{Aqm, AqmContext, AqmSettings, Needs, QueueView, Scan, Tag, Verdict};
use crate::lane::Lane;
use alloc::collections::VecDeque;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Packet, PduSet, params};

impl AqmSettings for PduSetConfig {
    fn needs_room(&self) -> bool {
        false
    }
}

/// Describes the discard of PDU sets.
pub const DOC: MethodDoc = MethodDoc {
    name: "pdu_set",
    kind: "aqm",
    title: "Discard of whole PDU sets by importance and age (PSI-based SDU discard)",
    text: "Drops packets that have waited for `timer`, and in congestion those of sets of low \
           importance that have waited for `low_timer`; with `whole` the rest of a set goes with \
           its first packet. Video flows with `layers` mark their frames as sets.",
    sources: "TS 38.323 section 5.3; TS 23.501 section 5.37.5; TS 37.483",
    deviations: "Congestion is an age of the queue. Looks at the queue each `period`. Packets that \
                 RLC has begun to send stay.",
    params: PduSetConfig::params,
};

params! {
    /// Settings of [`PduSets`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PduSetConfig: "TS 38.323 section 5.3" {
        /// Longest wait of a packet (`discardTimer`).
        timer: Duration = Duration::from_millis(150),
            above(Duration::ZERO).to(Duration::from_secs(60));
        /// Longest wait in congestion of a packet of low importance
        /// (`discardTimerForLowImportance`).
        low_timer: Duration = Duration::ZERO, rule("0s to timer", |c| c.low_timer <= c.timer);
        /// Importance from which on a set is low; 1 is the greatest.
        low: u8 as "importance" = 2, within(1, 15), "TS 23.501 has 4 bits";
        /// Age of the queue from which on there is congestion.
        congested: Duration = Duration::from_millis(50), rule("0s to timer", |c| {
            c.congested <= c.timer
        });
        /// Drop the rest of a set with its first packet (`pdu-SetDiscard`).
        whole: bool = true;
        /// Time between two looks at the queue.
        period: Duration = Duration::from_millis(1),
            within(Duration::from_micros(100), Duration::from_secs(1));
    }
}

/// Number of ended sets that are known.
const KNOWN: usize = 64;
/// Time for which they are known; the numbers of a flow take longer to begin anew.
const KNOWN_FOR: Duration = Duration::from_secs(60);

/// A set: its flow and its number there.
type SetId = (u32, u16);

/// Discard of PDU sets.
#[derive(Clone, Debug)]
pub struct PduSets {
    config: PduSetConfig,
    /// The last sets that have ended, and when.
    ended: VecDeque<(SetId, Instant)>,
    /// When the queue is looked at next; none while it is empty.
    next: Option<Instant>,
}

impl PduSets {
    /// Discard of PDU sets with the settings of `config`.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(config: &PduSetConfig, _: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self { config: *config, ended: VecDeque::with_capacity(KNOWN), next: None })
    }

    /// The set of `packet`, if it has one and sets end as a whole.
    fn set_of(&self, packet: &Packet) -> Option<SetId> {
        let PduSet { number, importance } = packet.set;
        (importance > 0 && self.config.whole).then_some((packet.flow, number))
    }

    /// True if `packet` is of a set that has ended.
    fn has_ended(&self, packet: &Packet, now: Instant) -> bool {
        let Some(set) = self.set_of(packet) else { return false };
        self.ended.iter().any(|&(ended, at)| ended == set && now.since(at) < KNOWN_FOR)
    }

    /// The set of `packet` ends, if it has one.
    fn end(&mut self, packet: &Packet, now: Instant) {
        if let Some(set) = self.set_of(packet)
            && !self.has_ended(packet, now)
        {
            if self.ended.len() == KNOWN {
                self.ended.pop_front();
            }
            self.ended.push_back((set, now));
        }
    }

    /// The first multiple of the period after `now`.
    fn after(&self, now: Instant) -> Instant {
        let period = self.config.period.as_nanos();
        Instant::from_nanos((now.as_nanos() / period + 1).saturating_mul(period))
    }

    /// True if the lifetime of `packet` has ended at `now`.
    fn is_over(&self, packet: &Packet, now: Instant, congestion: bool) -> bool {
        let PduSetConfig { timer, low_timer, low, .. } = self.config;
        let is_low = congestion && packet.set.importance >= low;
        now.since(packet.enqueued) >= if is_low { low_timer } else { timer }
    }
}

impl Aqm for PduSets {
    fn needs(&self) -> Needs {
        Needs { timeouts: true, ..Needs::default() }
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        _view: &QueueView,
        _lane: Lane,
        packet: &Packet,
    ) -> (Verdict, Tag) {
        if self.has_ended(packet, now) {
            return (Verdict::Drop, 0);
        }
        self.next = self.next.or_else(|| Some(self.after(now)));
        (Verdict::Pass, 0)
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.next
    }

    fn on_timeout(&mut self, now: Instant, _view: &QueueView, scan: &mut dyn Scan) {
        let mut oldest = Instant::NEVER;
        scan.each(&mut |_, packet, _| {
            oldest = oldest.min(packet.enqueued);
            Verdict::Pass
        });
        if oldest == Instant::NEVER {
            self.next = None;
            return;
        }
        self.next = Some(self.after(now));
        let congestion = now.since(oldest) >= self.config.congested;
        if !congestion && now.since(oldest) < self.config.timer {
            return;
        }
        scan.each(&mut |_, packet, _| {
            if self.is_over(packet, now, congestion) {
                self.end(packet, now);
            }
            Verdict::Pass
        });
        scan.each(&mut |_, packet, _| {
            let ends = self.has_ended(packet, now) || self.is_over(packet, now, congestion);
            match ends {
                true => Verdict::Drop,
                false => Verdict::Pass,
            }
        });
    }
}

#[cfg(test)]
mod tests;
