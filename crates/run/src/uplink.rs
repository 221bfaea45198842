//! The path from the UEs back to the servers: each UE's queue and its access to the uplink, then a
//! wire of fixed delay.
//!
//! Acknowledgements, replies, requests and uploads of a UE, and the STATUS PDUs of UMTS's RLC,
//! share one queue, in order and bounded in bytes; a packet that does not fit is dropped. There are
//! three modes of access, in the terms of TS 38.321:
//!
//! - *none* (default): the uplink is no bottleneck; a packet is on the wire at once.
//! - *rate*: each UE sends at a constant rate.
//! - *grants*: a UE sends only within its grants. With an empty buffer it has no grant. New data
//!   triggers a scheduling request (clause 5.4.4), sent at the UE's next occasion (`sr_period`,
//!   `sr_offset`). After `grant_delay`, the base station's response time plus k2 (TS 38.214 clause
//!   6.1.2.1), the PUSCH carries `grant` bytes and, if something is left, a buffer status report
//!   (clause 5.4.5). The report brings the next grant `bsr_delay` later; from then on every PUSCH
//!   reports again, so grants follow every `period` until the buffer is empty. With `configured =
//!   true` (clause 5.8.2, configured grant) there is a PUSCH every `period` without requests.
//!
//! The fourth mode, *stack* ([`UplinkConfig::stack`]), is a separate chain: QoS flows, bearers,
//! logical channels, requests and reports of all UEs, which compete for the uplink of the cell.
//!
//! So the wait of a lone packet is uniform from `grant_delay` to `grant_delay + sr_period` with
//! scheduling requests, and from 0 to `period` with configured grants; a full buffer drains at
//! `grant` / `period`. Packets are segmented to fill grants. Not modelled: HARQ retransmissions,
//! power headroom, more than one logical channel (no prioritisation among QoS flows), and UEs that
//! compete for uplink resources. The grant delay stands for all processing.

mod cell_aqm;
mod chain;
mod chained;
mod config;
mod docs;
mod foreseen;
mod opportunities;
mod zhuge;

pub use cell_aqm::{CellAqmConfig, DOC as CELL_AQM_DOC};
pub use config::{Fate, GrantConfig, NO_FLOW, UplinkConfig, UplinkKind, UplinkStack, Way};
pub use docs::DOC;
pub use zhuge::{DOC as ZHUGE_DOC, ZhugeConfig, ZhugePreset};

use self::cell_aqm::CellAqm;
use self::chain::{Carried, Chain};
use self::zhuge::Zhuge;
use crate::cells::CellsConfig;
use crate::results::UplinkResult;
use crate::timers::Timers;
use crate::times::Times;
use crate::wire::{Wire, Wires};

use justfull_base::{BitRate, ConfigError, Dscp, Duration, Ecn, Instant, Rng};
use justfull_ran::{FiveTuple, StackConfig, StatusWay, UplinkAccess};
use justfull_tcp::Ack;
use justfull_tcp::media::MediaReport;

use std::collections::VecDeque;

/// An item that a UE sends.
#[derive(Clone, Copy, Debug)]
pub enum Up {
    /// An acknowledgement for the sender with this number.
    Ack(u32, Ack),
    /// The reply to an echo request that the source with this number sent at this instant.
    Reply(u32, Instant),
    /// An echo request that the UE of the source with this number sent at this instant.
    Asked(u32, Instant),
    /// A segment for the receiver with this number, by its handle in the world's arena.
    Segment(u32, u64),
    /// A request for this many bytes on the connection with this number.
    Request(u32, u64),
    /// A report for the sender of the video call with this number.
    Report(u32, MediaReport),
    /// An input that the user of the source with this number sent at this instant.
    Input(u32, Instant),
    /// The STATUS PDU of the RLC with this handle, for the cell.
    Status(u32),
}

impl Up {
    /// Placeholder for an empty slot. A fn, not a const: a const would be copied in full.
    #[inline(always)]
    pub const fn nothing() -> Self {
        Self::Status(u32::MAX)
    }
}

/// A packet waiting at its UE.
#[derive(Clone, Copy, Debug)]
struct Waiting<T> {
    entered: Instant,
    size: u32,
    wire: u32,
    flow: u32,
    ecn: Ecn,
    item: T,
}

/// A UE's queue.
#[derive(Clone, Debug)]
struct Buffer<T> {
    queue: VecDeque<Waiting<T>>,
    /// Bytes in the queue, without the sent part of the first packet.
    bytes: u64,
    /// Bytes already sent of the first packet.
    head_sent: u32,
    /// True if an opportunity to send is scheduled.
    armed: bool,
    /// The next PUSCH is the first after a scheduling request.
    requested: bool,
    /// The first occasion to send a scheduling request, or the first configured PUSCH.
    offset: Duration,
    /// The next opportunity, while `armed`.
    due: Instant,
    /// The UE is in no cell: nothing leaves.
    paused: bool,
}

/// Packets that UEs sent.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    entered: u64,
    delivered: u64,
    dropped: u64,
    dropped_bytes: u64,
}

/// The return paths of all UEs. `T` is the driver's data for a packet.
pub struct Uplink<T> {
    rate: BitRate,
    limit: u64,
    grants: Option<GrantConfig>,
    warmup: Instant,
    buffers: Vec<Buffer<T>>,
    opportunities: Timers,
    /// One wire per distinct delay.
    wires: Wires<T>,
    /// The wire of the RLC's STATUS PDUs; none unless they share the uplink.
    statuses: Option<u32>,
    counts: Counts,
    waits: Times,
    chain: Option<Box<Chain<T>>>,
    /// The base station's AQM for the UEs' queues.
    cell_aqm: Option<Box<CellAqm>>,
    /// Holds packets at the base station. The last wire is theirs.
    zhuge: Option<Box<Zhuge>>,
    /// Requests and grants that have not reached the cell yet; none unless UEs have DRX.
    accesses: Option<Vec<UplinkAccess>>,
}

impl<T: Copy> Uplink<T> {
    /// The return paths of `ues` UEs to servers with `delays` on top of the configured delay.
    #[must_use]
    pub fn new(
        config: &UplinkConfig,
        ues: usize,
        delays: &[Duration],
        warmup: Instant,
        seed: u64,
    ) -> Self {
        let free = config.is_free();
        let buffer = |ue: usize| Buffer {
            queue: VecDeque::new(),
            bytes: 0,
            head_sent: 0,
            armed: false,
            requested: false,
            due: Instant::ZERO,
            paused: false,
            offset: config.grants.as_ref().map_or(Duration::ZERO, |g| {
                let period = if g.configured { g.period } else { g.sr_period };
                let random = || period.scaled(Rng::stream(seed, &format!("uplink.{ue}")).unit());
                g.sr_offset.filter(|_| !g.configured).unwrap_or_else(random)
            }),
        };
        Self {
            rate: config.rate,
            limit: config.limit.0,
            grants: config.grants.clone(),
            warmup,
            buffers: if free { Vec::new() } else { (0..ues).map(buffer).collect() },
            opportunities: Timers::new(if free { 0 } else { ues }),
            wires: Wires::new(BitRate(0), delays.iter().map(|d| config.delay + *d)),
            statuses: None,
            counts: Counts::default(),
            waits: Times::new(),
            chain: None,
            cell_aqm: None,
            zhuge: None,
            accesses: None,
        }
    }

    /// Builds the base station's AQM of `config`, if it has one and the uplink is a bottleneck.
    fn with_cell_aqm(mut self, config: &UplinkConfig) -> Result<Self, ConfigError> {
        if let Some(aqm) = config.cell_aqm.as_ref().filter(|_| !config.is_free()) {
            let aqm = CellAqm::new(aqm, self.buffers.len());
            self.cell_aqm = Some(Box::new(aqm.map_err(|e| e.within("uplink.cell_aqm"))?));
        }
        Ok(self)
    }

    /// Builds the uplink's stack and the base station's AQM of `config`, if it has them.
    ///
    /// # Errors
    /// The field of either outside its bounds.
    pub fn with_stack(self, config: &UplinkConfig) -> Result<Self, ConfigError> {
        let mut uplink = self.with_cell_aqm(config)?;
        if let Some(stack) = &config.stack {
            let chain = Chain::new(&stack.chain, stack.ack_filter);
            uplink.chain = Some(Box::new(chain.map_err(|e| e.within("uplink.stack"))?));
        }
        Ok(uplink)
    }

    /// Gives the UEs of `cells` the stack of `config`, if it has one, and the base stations its
    /// AQM; `common` has the settings that all cells share.
    ///
    /// # Errors
    /// The field of either outside its bounds.
    pub fn with_stacks(
        self,
        config: &UplinkConfig,
        cells: &CellsConfig,
        common: &StackConfig,
    ) -> Result<Self, ConfigError> {
        let mut uplink = self.with_cell_aqm(config)?;
        if let Some(stack) = &config.stack {
            let chain = Chain::of_cells(&stack.chain, stack.ack_filter, cells, common);
            uplink.chain = Some(Box::new(chain.map_err(|e| e.within("uplink.stack"))?));
        }
        Ok(uplink)
    }

    /// Opens a flow of `ue` with the 5-tuple of its downlink, for a stack or the base station's
    /// AQM. Flows are numbered in the order of opening, as in the cell.
    pub fn open_flow(&mut self, ue: u32, tuple: &FiveTuple, dscp: Dscp) {
        if let Some(aqm) = &mut self.cell_aqm {
            aqm.open_flow(tuple);
        }
        if let Some(chain) = &mut self.chain {
            chain.open_flow(ue, tuple, dscp);
        }
    }

    /// Lets `ues` UEs change cells: each gets a queue, even if the uplink is no bottleneck.
    #[must_use]
    pub fn with_moves(mut self, ues: usize) -> Self {
        if self.buffers.is_empty() {
            let buffer = |_| Buffer {
                queue: VecDeque::new(),
                bytes: 0,
                head_sent: 0,
                armed: false,
                requested: false,
                due: Instant::ZERO,
                paused: false,
                offset: Duration::ZERO,
            };
            self.buffers = (0..ues).map(buffer).collect();
            self.opportunities = Timers::new(ues);
        }
        self
    }

    /// Notes requests and grants of `ues` UEs that may sleep: each has a queue, also if the uplink
    /// is no bottleneck.
    #[must_use]
    pub fn with_drx(mut self, ues: usize) -> Self {
        self.accesses = Some(Vec::new());
        self.with_moves(ues)
    }

    /// Takes the requests and grants since the last call; none unless UEs have DRX.
    #[inline]
    pub fn take_accesses(&mut self) -> Option<std::vec::Drain<'_, UplinkAccess>> {
        Some(self.accesses.as_mut()?.drain(..))
    }

    /// True if the uplink records requests and grants; cells with DRX need them.
    #[must_use]
    pub const fn notes_accesses(&self) -> bool {
        self.accesses.is_some()
    }

    fn note(&mut self, at: Instant, ue: u32, granted: bool) {
        if let Some(accesses) = &mut self.accesses {
            accesses.push(UplinkAccess { at, ue, granted });
        }
    }

    /// UE `ue` leaves its cell at `now`: its packets wait from then on.
    pub fn pause(&mut self, now: Instant, ue: u32) {
        if let Some(chain) = &mut self.chain {
            chain.leave(now, ue);
            return self.opportunities.arm(0, chain.next().max(now));
        }
        if let Some(buffer) = self.buffers.get_mut(ue as usize) {
            buffer.paused = true;
        }
    }

    /// UE `ue` has joined its new cell, `cell`, at `now`. A partly sent packet starts again, and
    /// waiting packets request access like new packets.
    pub fn resume(&mut self, now: Instant, ue: u32, cell: u32) {
        if let Some(chain) = &mut self.chain {
            chain.join(now, ue, cell);
            return self.opportunities.arm(0, chain.next().max(now));
        }
        let Some(buffer) = self.buffers.get_mut(ue as usize) else { return };
        buffer.paused = false;
        buffer.bytes += u64::from(std::mem::take(&mut buffer.head_sent));
        if let Some(first) = buffer.queue.front() {
            let size = first.size;
            self.request_access(now, ue, size);
        }
    }

    /// Lets UEs' STATUS PDUs share the uplink and reach the cell `delay` after their wait at the
    /// UE; none to keep them separate.
    #[must_use]
    pub fn with_statuses(mut self, delay: Option<Duration>) -> Self {
        if let Some(delay) = delay.filter(|_| !self.buffers.is_empty()) {
            self.statuses = Some(self.wires.count());
            self.wires.add(Wire::new(BitRate(0), delay));
        }
        self
    }

    /// True if STATUS PDUs share the uplink.
    #[must_use]
    pub fn carries_statuses(&self) -> bool {
        self.statuses.is_some()
    }

    /// The RLC of `ue` sends `item`, a STATUS PDU that takes `size` bytes.
    pub fn push_status(&mut self, now: Instant, ue: u32, size: u32, item: T) -> StatusWay {
        let Some(wire) = self.statuses else { return StatusWay::Delayed };
        let way = || Way { ue, wire, flow: NO_FLOW, ..Way::default() };
        if self.push(now, wire, size, item, way) { StatusWay::Carried } else { StatusWay::Lost }
    }

    /// The next event: a UE may send, or a packet reaches its server.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Instant {
        self.wires.next().min(self.opportunities.next())
    }

    /// A UE sends `item` of `size` bytes to the servers behind `wire`. `way` is called only by an
    /// uplink with queues. False if the UE's queue is full and drops the item.
    #[inline(always)]
    pub fn push(
        &mut self,
        now: Instant,
        wire: u32,
        size: u32,
        item: T,
        way: impl FnOnce() -> Way,
    ) -> bool {
        self.counts.entered += 1;
        if self.buffers.is_empty() {
            self.wires.push(now, wire, size, item);
            return true;
        }
        self.enqueue(now, way(), size, item)
    }

    /// A packet of `size` bytes is dropped before its UE's queue: the driver has no room for it.
    pub fn turn_away(&mut self, size: u32) {
        self.counts.entered += 1;
        self.count_drop(size);
    }

    fn count_drop(&mut self, size: u32) {
        self.counts.dropped += 1;
        self.counts.dropped_bytes += u64::from(size);
    }

    #[inline(never)]
    fn enqueue(&mut self, now: Instant, way: Way, size: u32, item: T) -> bool {
        if self.chain.is_some() {
            return self.enter_chain(now, Carried { entered: now, size, way, item });
        }
        let Way { ue, wire, flow, ecn, .. } = way;
        let packet = Waiting { entered: now, size, wire, flow, ecn, item };
        let buffer = &mut self.buffers[ue as usize];
        if buffer.bytes + u64::from(packet.size) > self.limit {
            self.count_drop(packet.size);
            return false;
        }
        buffer.bytes += u64::from(packet.size);
        buffer.queue.push_back(packet);
        if !buffer.armed && !buffer.paused {
            self.request_access(now, ue, packet.size);
        }
        true
    }

    /// Reuses the number of an ended flow for another flow.
    pub fn reopen_flow(&mut self, number: u32, ue: u32, tuple: &FiveTuple, dscp: Dscp) {
        if let Some(aqm) = &mut self.cell_aqm {
            aqm.reopen_flow(number, tuple);
        }
        if let Some(chain) = &mut self.chain {
            chain.reopen_flow(number, ue, tuple, dscp);
        }
    }

    /// True if the uplink is a stack.
    #[must_use]
    pub fn is_stack(&self) -> bool {
        self.chain.is_some()
    }

    /// True if the base station has an AQM for the UEs' queues.
    #[must_use]
    pub fn has_cell_aqm(&self) -> bool {
        self.cell_aqm.is_some()
    }

    /// True if the uplink is no bottleneck: a UE's packets are on the wire at once.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.buffers.is_empty()
    }

    /// The next opportunity of a UE to send.
    #[must_use]
    pub fn next_opportunity(&self) -> Instant {
        self.opportunities.next()
    }

    /// Lets UEs use their opportunities up to `now`, for a driver that is about to
    /// [pause](Self::pause) one of them. `sent` is as for [`Self::pop`].
    pub fn use_opportunities(
        &mut self,
        now: Instant,
        mut sent: impl FnMut(Instant, &mut T, Fate) -> bool,
    ) {
        self.take_opportunities(now, &mut sent);
    }

    /// An item that has reached its server by `now`. Calls `sent` for each item that has left its
    /// UE by then, with the instant at which it entered the UE's queue, unless the uplink [is
    /// free](Self::is_free). `sent` may write a mark into the item, and returns true for a lost
    /// item that must be sent again.
    pub fn pop(
        &mut self,
        now: Instant,
        mut sent: impl FnMut(Instant, &mut T, Fate) -> bool,
    ) -> Option<T> {
        self.take_opportunities(now, &mut sent);
        let item = self.wires.pop(now);
        self.counts.delivered += u64::from(item.is_some());
        item
    }

    /// Like [`Self::pop`], but copies the item once, to `place`. Returns false if there is none.
    #[inline(always)]
    pub fn pop_into(
        &mut self,
        now: Instant,
        place: &mut T,
        mut sent: impl FnMut(Instant, &mut T, Fate) -> bool,
    ) -> bool {
        if self.opportunities.next() <= now {
            self.take_opportunities(now, &mut sent);
        }
        let popped = self.wires.pop_into(now, place);
        self.counts.delivered += u64::from(popped);
        popped
    }

    #[inline(never)]
    fn take_opportunities(
        &mut self,
        now: Instant,
        sent: &mut dyn FnMut(Instant, &mut T, Fate) -> bool,
    ) {
        if self.chain.is_some() {
            if self.opportunities.next() <= now {
                self.run_chain(now, sent);
            }
            return;
        }
        while let Some(ue) = self.opportunities.pop(now) {
            self.transmit(now, ue, sent);
        }
    }

    /// The fate of all packets.
    #[must_use]
    pub fn finish(&self) -> UplinkResult {
        let Counts { entered, delivered, dropped, dropped_bytes } = self.counts;
        let waiting: usize = self.buffers.iter().map(|b| b.queue.len()).sum();
        let inside = self.chain.as_ref().map_or(0, |chain| chain.waiting());
        let queued = (waiting + self.wires.len()) as u64 + inside;
        UplinkResult {
            entered,
            delivered,
            overflow_drops: dropped,
            overflow_bytes: dropped_bytes,
            queued,
            wait: self.waits.finish(),
            stack: self.chain.as_ref().map(|chain| chain.result()),
            cell_aqm: self.cell_aqm.as_ref().map(|aqm| aqm.counts()),
            zhuge: self.zhuge.as_ref().map(|zhuge| zhuge.counts()),
        }
    }

    /// A contradiction in the counts of its stack, in words; none in a sound run.
    #[must_use]
    pub fn broken_conservation(&self) -> Option<String> {
        self.chain.as_ref().and_then(|chain| chain.broken())
    }
}

#[cfg(test)]
mod tests;
