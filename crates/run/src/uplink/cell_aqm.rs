//! An AQM of the base station for the queues of the UEs, which it does not hold.
//!
//! This project's. An upload fills the UE's queue, and acknowledgements and calls of the UE wait
//! behind it. No UE has to change: the base station sees from the buffer status reports how much
//! waits in the UE, and it receives the packets. The wait is the reported backlog over the rate at
//! which the UE's packets come (the module `meter`). A CoDel decides by this wait on each received
//! packet of a flow that fills the queue: it marks the packet, or drops it, and the sender in the
//! UE backs off. The air time of a dropped packet is lost.
//!
//! - The wait is the future wait of a packet that enters the UE's queue now. The received packet
//!   itself has waited before, so the signal comes a queue's time earlier than by its wait.
//! - A flow fills the queue if it has at least an equal share of the UE's recent bytes (the module
//!   `shares`). No packet below 256 B or half of the UE's largest is signalled: acknowledgements,
//!   requests, calls.
//! - The last level of a report has no upper end. The wait is then at least the target.
//!
//! Known weaknesses: all flows of a tunnel are one flow. In a queue that no upload fills, as with
//! calls in an outage, the flow with most bytes is signalled. A UE whose queue is short enough
//! loses a few percent of its rate on a long path: half a window of CUBIC does not cover it.

mod meter;
mod shares;

use self::meter::Meter;
use self::shares::Shares;
use crate::results::CellAqmResult;

use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Ecn, Instant, Packet, table};
use justfull_queue::aqm::becomes_mark;
use justfull_queue::aqm::codel::{CoDel, CoDelConfig};
use justfull_queue::{Aqm, AqmContext, LaneView, QueueView, Verdict};
use justfull_ran::{FiveTuple, Reported};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Greatest age of a report at its use.
const MOST_DELAY: Duration = Duration::from_secs(1);

table! {
    /// Settings of the base station's AQM for the UEs' queues.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct CellAqmConfig with Default {
        /// Wait in the UE below which nothing is signalled.
        target: Duration = Duration::from_millis(30), stated("above 0s, at most the interval");
        /// How long the wait must stay above the target before the first signal.
        interval: Duration = Duration::from_millis(100), stated("1us to 1h");
        /// Drop a packet at once while the wait is this long; 0s for off.
        deadline: Duration = Duration::from_millis(90), stated("0s for off, else above the target");
        /// Drop at most one packet per this many packets that pass; 0 for no bound.
        spacing: u32 as "packets" = 8, stated("0 to 1000");
        /// Mark packets that are ECN-capable in place of dropping them.
        ecn: bool = true;
        /// Time over which the UE's rate is averaged.
        memory: Duration = Duration::from_millis(500),
            within(Duration::from_millis(10), Duration::from_secs(60)), "a rate changes";
        /// Time between a UE's buffer status reports, with `kind = "queue"`. A stack has its own.
        report_period: Duration = Duration::from_millis(10),
            within(Duration::from_micros(1), Duration::from_secs(10)),
            "TS 38.331 periodicBSR-Timer; OCUDU's default";
        /// Age at which a report is used, beside `rlc.report_delay`.
        report_delay: Duration = Duration::ZERO, at_most(MOST_DELAY), "an older one says nothing";
    }
    check |c| c.codel().validate();
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "uplink.cell_aqm",
    kind: "uplink",
    title: "An AQM of the base station for the UEs' queues, by buffer status reports",
    text: "The wait in a UE is its reported backlog over the rate at which its packets come. A \
           CoDel with this wait decides on each received packet of a flow with at least an equal \
           share of the UE's bytes, and marks or drops it. Packets below 256 B or half of the UE's \
           largest pass. With one queue, reports are short and come each `report_period`; a stack \
           has its own. An uplink that is no bottleneck has no such AQM.",
    sources: "This project; RFC 8289; TS 38.321 clauses 5.4.5, 6.1.3.1",
    deviations: "None.",
    params: CellAqmConfig::params,
};

impl CellAqmConfig {
    /// The settings with reports that are older by `delay`, up to a second in all.
    #[must_use]
    pub fn later_by(self, delay: Duration) -> Self {
        let most = MOST_DELAY.max(self.report_delay);
        Self { report_delay: (self.report_delay + delay).min(most), ..self }
    }

    fn codel(&self) -> CoDelConfig {
        CoDelConfig {
            target: self.target,
            interval: self.interval,
            deadline: self.deadline,
            spacing: self.spacing,
            ecn: self.ecn,
            ..CoDelConfig::default()
        }
    }
}

/// A received packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    pub(super) ue: u32,
    /// Its flow's number. A packet of an unknown flow is never signalled.
    pub(super) flow: u32,
    pub(super) size: u32,
    pub(super) ecn: Ecn,
}

/// The decision on a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Pass,
    Mark,
    Drop,
}

/// The AQM for the queues of all UEs.
#[derive(Debug)]
pub(super) struct CellAqm {
    config: CellAqmConfig,
    ues: Vec<Queue>,
    /// Hash of the 5-tuple of each flow.
    tuples: Vec<u32>,
    counts: CellAqmResult,
}

/// The queue of one UE, as the base station knows it.
#[derive(Debug)]
struct Queue {
    codel: CoDel,
    /// Reports on the way, each with the instant of its use.
    coming: VecDeque<(Instant, Reported)>,
    reported: Reported,
    /// Bytes received since that report is in use.
    received: u64,
    /// The last report that came, in use or not.
    last: Reported,
    /// The next periodic report of a UE without a stack.
    report_at: Instant,
    meter: Meter,
    shares: Shares,
}

impl Queue {
    fn take_reports(&mut self, now: Instant) {
        while let Some((_, reported)) = self.coming.front().filter(|(at, _)| *at <= now) {
            (self.reported, self.received) = (*reported, 0);
            self.coming.pop_front();
        }
    }

    /// Most bytes that wait in the UE: the reported ones less those received since.
    fn standing(&self) -> u64 {
        self.reported.bytes.saturating_sub(self.received)
    }

    /// True if the UE certainly has packets. Each level is 1.4 times the level before.
    fn is_busy(&self) -> bool {
        self.reported.more || self.received < self.reported.bytes / 10 * 7
    }
}

impl CellAqm {
    /// The AQM for the queues of `ues` UEs.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub(super) fn new(config: &CellAqmConfig, ues: usize) -> Result<Self, ConfigError> {
        let queue = |_| {
            Ok(Queue {
                codel: CoDel::new(&config.codel(), AqmContext::new(1, 0))?,
                coming: VecDeque::new(),
                reported: Reported::default(),
                received: 0,
                last: Reported::default(),
                report_at: Instant::ZERO,
                meter: Meter::new(config.memory),
                shares: Shares::default(),
            })
        };
        let ues = (0..ues).map(queue).collect::<Result<_, _>>()?;
        Ok(Self { config: *config, ues, tuples: Vec::new(), counts: CellAqmResult::default() })
    }

    /// Opens the next flow.
    pub(super) fn open_flow(&mut self, tuple: &FiveTuple) {
        self.tuples.push(tuple.hash(0));
    }

    /// Reuses the number of an ended flow for another flow.
    pub(super) fn reopen_flow(&mut self, number: u32, tuple: &FiveTuple) {
        if let Some(place) = self.tuples.get_mut(number as usize) {
            *place = tuple.hash(0);
        }
    }

    /// A PUSCH of `ue`, which has no stack, ends at `now` and leaves `bytes` in the UE's queue. It
    /// carries a report if one is due or the queue is empty (padding BSR, TS 38.321 clause 5.4.5).
    pub(super) fn sent(&mut self, now: Instant, ue: u32, bytes: u64) {
        let queue = &mut self.ues[ue as usize];
        if now >= queue.report_at || bytes == 0 {
            queue.report_at = now + self.config.report_period;
            let reported = queue.last.next_short(bytes);
            self.report(now, ue, reported);
        }
    }

    /// `reported` is the last report of `ue` at `now`.
    pub(super) fn report(&mut self, now: Instant, ue: u32, reported: Reported) {
        let queue = &mut self.ues[ue as usize];
        if queue.last.number != reported.number {
            queue.last = reported;
            queue.coming.push_back((now + self.config.report_delay, reported));
        }
    }

    /// Decides on a packet that is received at `now`.
    pub(super) fn received(&mut self, now: Instant, packet: Received) -> Decision {
        let Received { ue, flow, size, ecn } = packet;
        let queue = &mut self.ues[ue as usize];
        queue.take_reports(now);
        queue.received += u64::from(size);
        let elapsed = queue.meter.count(now, size, queue.is_busy());
        let Some(tuple) = self.tuples.get(flow as usize) else { return Decision::Pass };
        if !queue.shares.count(*tuple, size, elapsed) {
            return Decision::Pass;
        }
        let bytes = queue.standing();
        let mut wait = queue.meter.time_for(bytes);
        if queue.reported.more {
            wait = wait.max(self.config.target);
        }
        let lane = LaneView { bytes, head: None, spared: false };
        let view = QueueView { backlog_bytes: bytes, lane, ..QueueView::default() };
        let packet = Packet { size, ecn, ..Packet::default() };
        let verdict = queue.codel.on_dequeue(now, &view, 0, &packet, 0, wait);
        let marks = becomes_mark(self.config.ecn, view.ect1, &packet);
        match verdict {
            Verdict::Signal if marks => {
                self.counts.marked += 1;
                Decision::Mark
            }
            Verdict::Signal | Verdict::Drop => {
                self.counts.dropped += 1;
                self.counts.dropped_bytes += u64::from(size);
                Decision::Drop
            }
            Verdict::Pass | Verdict::Mark => Decision::Pass,
        }
    }

    /// Its actions so far.
    pub(super) const fn counts(&self) -> CellAqmResult {
        self.counts
    }
}
