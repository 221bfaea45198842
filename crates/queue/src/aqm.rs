//! Active queue management: decides whether to signal congestion. An AQM stores no packets.
//!
//! To add one: a file in `aqm/`, and a line in the list of `kinds!`.

pub mod abc;
pub mod adaptive_red;
pub mod ared;
pub mod codel;
pub mod dualpi2;
pub mod l4span;
pub mod none;
pub mod pdpc;
pub mod pdu_set;
pub mod pie;
pub mod red;
pub mod ttlred1;
pub mod ttlred2;

use crate::counters::Count;
pub use crate::lane::{Lane, Tag};
use crate::limit::Limit;
use alloc::boxed::Box;
use core::fmt::Debug;
use justfull_base::{BitRate, Duration, Ecn, Instant, Packet, choice, forwarded, kinds};

/// A lane of a queue from an AQM's view, without the packet of the decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneView {
    /// Bytes waiting in it; if the queue has a single lane, the backlog of the queue.
    pub bytes: u64,
    /// Time at which its first waiting packet was enqueued; none in an empty lane, or without
    /// [`Needs::heads`].
    pub head: Option<Instant>,
    /// On dequeue: the discipline spares the lane, and no packet of it is signalled.
    pub spared: bool,
}

impl LaneView {
    /// Time that its first packet has waited at `now`.
    #[must_use]
    pub fn head_age(&self, now: Instant) -> Option<Duration> {
        self.head.map(|head| now.since(head))
    }
}

/// The queue from an AQM's view. Backlogs count waiting and reserved packets of all lanes, without
/// the packet of the decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueView {
    /// Packets in the queue.
    pub backlog_packets: u32,
    /// Bytes in the queue.
    pub backlog_bytes: u64,
    /// The packet's lane. A timeout belongs to no lane: then the whole queue, without a head.
    pub lane: LaneView,
    /// The other lane of a queue with two, with [`Needs::heads`]; else none.
    pub other: Option<LaneView>,
    /// Limit of the queue.
    pub limit: Limit,
    /// Time at which the oldest packet in the queue, waiting or reserved, was enqueued, including
    /// the packet decided on at a dequeue; none in an empty queue, or without [`Needs::oldest`].
    pub oldest: Option<Instant>,
    /// Rate at which the layer below serves the queue; none until a layer reports it. It may be 0.
    pub service_rate: Option<BitRate>,
    /// On enqueue, with [`Needs::new_flows`]: true if the queue has admitted no packet of this
    /// 5-tuple among the last flows that it stores. Else false.
    pub new_flow: bool,
    /// How the queue treats ECT(1).
    pub ect1: Ect1,
}

choice! {
    /// The effect of a classic AQM's signal on a packet with ECT(1).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Ect1 {
        /// A drop: ECT(1) means L4S, whose senders reduce their rate far less for a mark than for a
        /// drop (RFC 9331 section 4.3).
        #[default]
        L4s = "l4s",
        /// A mark, as with ECT(0) (RFC 3168 section 5): in a shared queue L4S senders then starve
        /// the others.
        Classic = "classic",
    }
}

/// Data that a queue and its layer keep for an AQM. Unrequested data costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`QueueView::oldest`].
    pub oldest: bool,
    /// [`QueueView::new_flow`].
    pub new_flows: bool,
    /// [`QueueView::service_rate`].
    pub service_rate: bool,
    /// The service rate includes what slots offer without use, also while the queue is empty; only
    /// with `service_rate`.
    pub offers: bool,
    /// Calls of [`Aqm::on_timeout`].
    pub timeouts: bool,
    /// [`LaneView::head`] and [`QueueView::other`].
    pub heads: bool,
    /// Calls of [`Aqm::on_report`].
    pub reports: bool,
}

/// A delivery report of the layer below the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    /// Data that has left for the radio since the last report.
    pub left: Count,
    /// Bytes in the queue and below that have not left, as the queue's node can count them. They
    /// include data that has left since the report was made.
    pub standing: u64,
}

/// Properties of an AQM that follow from its settings.
pub trait AqmSettings {
    /// True if it needs the rate at which its queue is served.
    fn needs_rate(&self) -> bool {
        false
    }

    /// True if it judges arrivals by the queued packets, so that a limit below the largest packet
    /// makes no sense.
    fn needs_room(&self) -> bool {
        true
    }

    /// True if it needs delivery reports, which only the layer above an RLC gets.
    fn needs_reports(&self) -> bool {
        false
    }

    /// It takes one lane, or two by codepoint (discipline `dual_queue`), and no others.
    fn takes_kinds(&self) -> bool {
        false
    }
}

/// The facts about a queue for its AQM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AqmContext {
    /// Lanes of its queue.
    pub lanes: u32,
    /// Key of its random stream ([`stream_key`](justfull_base::rng::stream_key)).
    pub key: u64,
}

/// Decision of an AQM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// No signal.
    Pass,
    /// Signal congestion on this packet: a mark if it can carry one and the AQM marks, else a drop.
    Signal,
    /// Drop this packet, even if it can carry a mark (RFC 3168 section 7, RFC 8033 section 5.1: if
    /// marks do not help).
    Drop,
    /// Mark this packet if it can carry a mark, ECT(1) too, else pass it: the signal of an AQM that
    /// treats L4S and classic packets differently (RFC 9331 section 5.2).
    Mark,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    Mark,
    Drop,
}

impl Verdict {
    /// The effect of a signal on `packet`, by an AQM that `marks`, in a queue that treats ECT(1) as
    /// `ect1`.
    #[inline]
    pub(crate) fn fate(self, marks: bool, ect1: Ect1, packet: &Packet) -> Fate {
        match self {
            Self::Pass => Fate::Pass,
            Self::Signal if becomes_mark(marks, ect1, packet) => Fate::Mark,
            Self::Mark if packet.ecn.is_capable() => Fate::Mark,
            Self::Mark => Fate::Pass,
            Self::Signal | Self::Drop => Fate::Drop,
        }
    }
}

impl Verdict {
    /// The verdict on a packet that `signals` congestion, by a mark only if it `may_mark`.
    pub(crate) const fn of(signals: bool, may_mark: bool) -> Self {
        match (signals, may_mark) {
            (false, _) => Self::Pass,
            (true, true) => Self::Signal,
            (true, false) => Self::Drop,
        }
    }
}

/// A walk over the waiting packets of a queue. Packets reserved by a lower layer are left out.
pub trait Scan {
    /// Calls `decide` for each waiting packet and its tag, lane by lane from the head. Signals take
    /// effect at once; a signal that becomes a drop counts as
    /// [`justfull_base::DropReason::AqmTimeout`].
    fn each(&mut self, decide: &mut dyn FnMut(Lane, &Packet, Tag) -> Verdict);
}

impl AqmContext {
    /// The context of a queue of `lanes` lanes; `key` is the key of its random stream.
    #[must_use]
    pub const fn new(lanes: u32, key: u64) -> Self {
        Self { lanes, key }
    }
}

/// True if a signal on `packet` becomes a mark, false if it becomes a drop. This is decided only
/// here (RFC 3168 section 5, RFC 7567 section 4.2.1).
#[inline]
#[must_use]
pub fn becomes_mark(marks: bool, ect1: Ect1, packet: &Packet) -> bool {
    match packet.ecn {
        Ecn::NotEct => false,
        Ecn::Ect1 => marks && ect1 == Ect1::Classic,
        Ecn::Ect0 | Ecn::Ce => marks,
    }
}

kinds! {
    $ each;

    /// Which AQM, with its settings, as in a scenario file: `kind = "codel"` and the keys of its
    /// configuration.
    #[derive(Clone, Debug, PartialEq)]
    pub enum AqmConfig = None;

    /// An AQM of any kind. The large ones are boxed: a queue without AQM is small.
    #[derive(Debug)]
    // With an explicit tag here, an enum around a queue keeps its own tag in the discipline's tag,
    // which every packet reads.
    #[repr(u8)]
    pub enum AnyAqm(context: AqmContext) or Box<dyn Aqm + Send>;

    "none" None = none::{NoAqm, NoAqmConfig};
    "codel" CoDel = codel::{CoDel in Box, CoDelConfig};
    "red" Red = red::{Red in Box, RedConfig};
    "adaptive_red" AdaptiveRed = adaptive_red::{AdaptiveRed in Box, AdaptiveRedConfig};
    "ared" ARed = ared::{ARed in Box, ARedConfig};
    "pdpc" Pdpc = pdpc::{Pdpc in Box, PdpcConfig};
    "ttlred1" TtlRed1 = ttlred1::{TtlRed1 in Box, TtlRed1Config};
    "ttlred2" TtlRed2 = ttlred2::{TtlRed2 in Box, TtlRed2Config};
    "pie" Pie = pie::{Pie in Box, PieConfig};
    "dualpi2" DualPi2 = dualpi2::{DualPi2 in Box, DualPi2Config};
    "l4span" L4Span = l4span::{L4Span in Box, L4SpanConfig};
    "pdu_set" PduSet = pdu_set::{PduSets in Box, PduSetConfig};
    "abc" Abc = abc::{Abc in Box, AbcConfig};
}

forwarded! {
    by each for AnyAqm;

    /// Active queue management.
    ///
    /// The caller is [`crate::ManagedQueue`]; `now` never decreases between calls. Every method
    /// does nothing by default: an AQM decides at a packet's arrival, its departure, or a timeout.
    pub trait Aqm: Debug {
        /// Its needs, which never change.
        fn needs(&self) -> Needs {
            Needs::default()
        }

        /// False at an instant at which [`LaneView::head`] and [`QueueView::other`] may be missing
        /// in spite of [`Needs::heads`].
        #[inline]
        fn wants_heads(&self, _now: Instant) -> bool {
            true
        }

        /// True if a signal may be a mark. A packet that is not ECN-capable is still dropped.
        fn marks(&self) -> bool {
            false
        }

        /// A packet arrives in `lane`. The limit is checked afterwards and may still refuse it. The
        /// returned tag is passed to `on_dequeue`; [`Tag::MAX`] is reduced by one.
        fn on_enqueue(
            &mut self,
            _now: Instant,
            _view: &QueueView,
            _lane: Lane,
            _packet: &Packet,
        ) -> (Verdict, Tag) {
            (Verdict::Pass, 0)
        }

        /// A packet has left the head of `lane` after waiting for `sojourn`. If a signal becomes a
        /// drop, this is called again at the same instant with the lane's next packet, until the
        /// AQM passes or marks one or the lane is empty.
        #[inline]
        fn on_dequeue(
            &mut self,
            _now: Instant,
            _view: &QueueView,
            _lane: Lane,
            _packet: &Packet,
            _tag: Tag,
            _sojourn: Duration,
        ) -> Verdict {
            Verdict::Pass
        }

        /// `lane` has become empty: its last packet was passed, dropped, or moved to another lane.
        fn on_empty(&mut self, _now: Instant, _lane: Lane) {}

        /// The limit cost `lane` a packet: the arriving one or a waiting one. `view` shows the
        /// rest.
        fn on_overflow(&mut self, _now: Instant, _view: &QueueView, _lane: Lane) {}

        /// The `report` of the layer below arrives at `at`, which may be earlier than the last
        /// call.
        fn on_report(&mut self, _at: Instant, _report: &DeliveryReport) {}

        /// The next time for a call of `on_timeout`; none for never. Only an arrival and
        /// `on_timeout` may bring it forward. Calls may be early or late.
        fn next_timeout(&self) -> Option<Instant> {
            None
        }

        /// The time returned by `next_timeout` has come. `scan` walks over the waiting packets.
        fn on_timeout(&mut self, _now: Instant, _view: &QueueView, _scan: &mut dyn Scan) {}

        /// Allocates now all that it needs for its lanes.
        fn reserve(&mut self) {}
    }
}

impl AqmConfig {
    /// See [`AqmSettings::needs_rate`]; for a user-defined AQM the built object decides.
    #[must_use]
    pub fn needs_rate(&self) -> bool {
        each!(config self, c => c.needs_rate(), or false)
    }

    /// See [`AqmSettings::needs_room`].
    #[must_use]
    pub fn needs_room(&self) -> bool {
        each!(config self, c => c.needs_room(), or true)
    }

    /// See [`AqmSettings::needs_reports`].
    #[must_use]
    pub fn needs_reports(&self) -> bool {
        each!(config self, c => c.needs_reports(), or false)
    }

    /// See [`AqmSettings::takes_kinds`].
    #[must_use]
    pub fn takes_kinds(&self) -> bool {
        each!(config self, c => c.takes_kinds(), or false)
    }
}

impl AnyAqm {
    /// True without an AQM: no calls are needed.
    #[inline]
    #[must_use]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None(_))
    }
}

#[cfg(test)]
mod tests;
