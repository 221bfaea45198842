//! Active queue management: whether to signal congestion. An AQM decides and stores nothing.
//!
//! To add one: its file below `aqm/`, a variant of [`AqmConfig`] and of [`AnyAqm`], and its `DOC` in [`AQMS`].

pub mod codel;
pub mod none;

use crate::discipline::Lane;
use crate::limit::Limit;
use alloc::boxed::Box;
use core::fmt::Debug;
use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, ConfigError, Duration, Instant, Packet};

/// What an AQM sees of its queue. Backlogs count waiting and reserved packets of all lanes, without the packet that is
/// asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueView {
    /// Packets in the queue.
    pub backlog_packets: u32,
    /// Bytes in the queue.
    pub backlog_bytes: u64,
    /// Bytes that wait in the lane in question, and where there is a single lane as `backlog_bytes`.
    pub lane_bytes: u64,
    /// Limit of the queue.
    pub limit: Limit,
    /// When the packet that would be served next was enqueued; none when nothing waits.
    pub oldest: Option<Instant>,
    /// Rate at which the layer below serves the queue, where that layer tells it.
    pub service_rate: Option<BitRate>,
    /// On enqueue: the packet's lane was empty. False elsewhere.
    pub new_flow: bool,
}

/// Answer of an AQM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Nothing to signal.
    Pass,
    /// Signal congestion on this packet: a mark where it can carry one and the AQM marks, else a drop.
    Signal,
}

/// What an AQM may note on a packet when it is enqueued and reads when it is dequeued.
pub type Tag = u64;

/// A walk over the packets that wait in a queue and are not reserved by a lower layer.
pub trait Scan {
    /// Asks `decide` about each waiting packet, lane by lane from the head on, with its tag. Signals take effect at
    /// once, with [`justfull_base::DropReason::AqmTimeout`] where they become drops.
    fn each(&mut self, decide: &mut dyn FnMut(Lane, &Packet, Tag) -> Verdict);
}

/// Active queue management.
///
/// The caller is [`crate::ManagedQueue`]; `now` never decreases from call to call. All methods but `on_dequeue` have a
/// default that does nothing.
pub trait Aqm: Debug {
    /// True when a signal may be a mark. A packet that is not ECN-capable is dropped all the same.
    fn marks(&self) -> bool {
        false
    }

    /// A packet arrives in `lane`, before the limit is checked; it may still be refused. The tag comes back in
    /// `on_dequeue`.
    fn on_enqueue(
        &mut self,
        _now: Instant,
        _view: &QueueView,
        _lane: Lane,
        _packet: &Packet,
    ) -> (Verdict, Tag) {
        (Verdict::Pass, 0)
    }

    /// The packet has left the head of `lane` after waiting for `sojourn`. Where a signal becomes a drop, the AQM is
    /// asked again at the same instant about the next packet of that lane, until it passes one, marks one or the lane
    /// is empty.
    fn on_dequeue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        packet: &Packet,
        tag: Tag,
        sojourn: Duration,
    ) -> Verdict;

    /// Nothing waits in `lane` any more: its last packet was passed, dropped, or moved to another lane.
    fn on_empty(&mut self, _now: Instant, _lane: Lane) {}

    /// The limit cost `lane` a packet (the arriving one or one that waited); `view` is what is left.
    fn on_overflow(&mut self, _now: Instant, _view: &QueueView, _lane: Lane) {}

    /// When `on_timeout` wants to be called next; none for never. A call that is early or late is legal.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// The time that `next_timeout` told has come. `scan` walks over the waiting packets.
    fn on_timeout(&mut self, _now: Instant, _view: &QueueView, _scan: &mut dyn Scan) {}
}

/// True when a signal on `packet` becomes a mark, false when it becomes a drop: the only place where this is decided
/// (RFC 3168 section 5, RFC 7567 section 4.2.1).
#[inline]
#[must_use]
pub fn becomes_mark(marks: bool, packet: &Packet) -> bool {
    marks && packet.ecn.is_capable()
}

/// Documentation of every AQM.
pub const AQMS: &[&MethodDoc] = &[&none::DOC, &codel::DOC];

/// Which AQM, with its settings, as in a scenario file: `kind = "codel"` and the keys of its configuration.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "snake_case"))]
pub enum AqmConfig {
    /// No AQM: the limit alone drops.
    None(none::Config),
    /// CoDel.
    #[cfg_attr(feature = "serde", serde(rename = "codel"))]
    CoDel(codel::Config),
}

impl Default for AqmConfig {
    fn default() -> Self {
        Self::None(none::Config {})
    }
}

impl AqmConfig {
    /// Its kind, as in a scenario file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None(_) => none::DOC.name,
            Self::CoDel(_) => codel::DOC.name,
        }
    }

    /// Checks the bounds of all settings.
    ///
    /// # Errors
    /// Names the first setting out of its bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::None(_) => Ok(()),
            Self::CoDel(config) => config.validate(),
        }
    }
}

/// An AQM of any kind. The large ones are boxed: a queue without AQM is small.
#[derive(Debug)]
pub enum AnyAqm {
    /// No AQM.
    None(none::NoAqm),
    /// CoDel.
    CoDel(Box<codel::CoDel>),
    /// A user's own.
    Custom(Box<dyn Aqm + Send>),
}

impl AnyAqm {
    /// The AQM by `config` for a queue of `lanes` lanes.
    ///
    /// # Errors
    /// Names the setting out of its bounds.
    pub fn new(config: &AqmConfig, lanes: u32) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(match config {
            AqmConfig::None(_) => Self::None(none::NoAqm),
            AqmConfig::CoDel(config) => Self::CoDel(Box::new(codel::CoDel::new(config, lanes)?)),
        })
    }

    /// True for no AQM, which need not be asked.
    #[inline]
    #[must_use]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None(_))
    }
}

macro_rules! each {
    ($self:expr, $aqm:ident => $call:expr) => {
        match $self {
            AnyAqm::None($aqm) => $call,
            AnyAqm::CoDel($aqm) => $call,
            AnyAqm::Custom($aqm) => $call,
        }
    };
}

impl Aqm for AnyAqm {
    fn marks(&self) -> bool {
        each!(self, aqm => aqm.marks())
    }

    #[inline]
    fn on_enqueue(&mut self, now: Instant, view: &QueueView, lane: Lane, packet: &Packet) -> (Verdict, Tag) {
        each!(self, aqm => aqm.on_enqueue(now, view, lane, packet))
    }

    #[inline]
    fn on_dequeue(
        &mut self,
        now: Instant,
        view: &QueueView,
        lane: Lane,
        packet: &Packet,
        tag: Tag,
        sojourn: Duration,
    ) -> Verdict {
        each!(self, aqm => aqm.on_dequeue(now, view, lane, packet, tag, sojourn))
    }

    fn on_empty(&mut self, now: Instant, lane: Lane) {
        each!(self, aqm => aqm.on_empty(now, lane));
    }

    fn on_overflow(&mut self, now: Instant, view: &QueueView, lane: Lane) {
        each!(self, aqm => aqm.on_overflow(now, view, lane));
    }

    fn next_timeout(&self) -> Option<Instant> {
        each!(self, aqm => aqm.next_timeout())
    }

    fn on_timeout(&mut self, now: Instant, view: &QueueView, scan: &mut dyn Scan) {
        each!(self, aqm => aqm.on_timeout(now, view, scan));
    }
}
