//! The flows of a live run. A flow opens on the stack at its first packet, and closes when another
//! needs its place.

use super::radio::Radio;
use crate::recorder::LiveRecorder;
use justfull_base::{Dscp, Duration, Instant};
use justfull_ran::FiveTuple;
use justfull_run::WorldConfig;
use justfull_run::uplink::Uplink;
use std::collections::BTreeMap;

/// The common part of a flow's packets.
pub(super) type Key = (FiveTuple, Dscp);

/// Numbers of a flow that its packets need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Number on the stack.
    pub(super) number: u32,
    /// Number of its link between server and UPF.
    pub(super) pipe: u32,
    /// The scenario measures its delay.
    pub(super) tracked: bool,
}

/// The end of the list, and the beginning of an empty one.
const NONE: u32 = u32::MAX;

/// Most flows examined, from the least recently used on, to find one without a packet in transit.
const TRIES: usize = 32;

/// A flow with its place in the list.
struct Entry {
    key: Key,
    flow: Flow,
    /// The flows used just after it and just before it.
    newer: u32,
    older: u32,
}

/// Number of packets of each flow in transit through the chain, by the flow's number on the stack.
#[derive(Default)]
pub(super) struct OnTheirWay(Vec<u32>);

impl OnTheirWay {
    #[inline]
    pub(super) fn begin(&mut self, flow: u32) {
        if self.0.len() <= flow as usize {
            self.0.resize(flow as usize + 1, 0);
        }
        self.0[flow as usize] += 1;
    }

    /// A packet of `flow` was delivered or dropped.
    #[inline]
    pub(super) fn end(&mut self, flow: u32) {
        self.0[flow as usize] -= 1;
    }

    fn none_of(&self, flow: u32) -> bool {
        self.0.get(flow as usize).is_none_or(|n| *n == 0)
    }
}

/// The parts of a run in which a new flow is opened.
pub(super) struct Members<'a> {
    pub(super) radio: &'a mut Radio,
    pub(super) uplink: &'a mut Uplink<u64>,
    pub(super) record: &'a mut LiveRecorder,
    pub(super) on_their_way: &'a OnTheirWay,
}

/// Flows by 5-tuple and codepoint, up to a maximum, so that memory is bounded. When the table is
/// full, the new flow replaces the least recently used one and takes its number on the stack. A
/// flow with packets in transit is kept, since they carry its number. If all flows have some, new
/// flows share one flow per UE and QFI.
pub(super) struct FlowTable {
    known: BTreeMap<Key, u32>,
    entries: Vec<Entry>,
    newest: u32,
    oldest: u32,
    shared: BTreeMap<(u32, Option<u8>), Flow>,
    most: usize,
    opened: u64,
    /// Flows that were replaced by another.
    pub(super) aged: u64,
    /// Packets of flows that got no place.
    pub(super) shared_packets: u64,
}

impl FlowTable {
    /// A table of at most `most` flows.
    pub(super) fn new(most: u32) -> Self {
        Self {
            known: BTreeMap::new(),
            entries: Vec::new(),
            newest: NONE,
            oldest: NONE,
            shared: BTreeMap::new(),
            most: most as usize,
            opened: 0,
            aged: 0,
            shared_packets: 0,
        }
    }

    /// Flows that have been opened.
    pub(super) fn opened(&self) -> u64 {
        self.opened
    }

    /// The flow of a packet on its way up with `tuple`.
    pub(super) fn up(&self, tuple: &FiveTuple) -> Option<Flow> {
        let down = FiveTuple {
            source: tuple.destination,
            destination: tuple.source,
            source_port: tuple.destination_port,
            destination_port: tuple.source_port,
            protocol: tuple.protocol,
        };
        let first = self.known.range((down, Dscp::default())..).next();
        first
            .filter(|((tuple, _), _)| *tuple == down)
            .map(|(_, entry)| self.entries[*entry as usize].flow)
    }

    /// The flow of `key` to `ue`, opened if necessary at `now`. `delays` are the delays of the
    /// links.
    #[inline]
    pub(super) fn find(
        &mut self,
        now: Instant,
        ue: u32,
        key: &Key,
        delays: &[Duration],
        members: Members<'_>,
    ) -> Flow {
        // The next packet often belongs to the same flow.
        if let Some(last) = self.entries.get(self.newest as usize)
            && last.key == *key
        {
            return last.flow;
        }
        match self.known.get(key) {
            Some(&entry) => {
                self.use_now(entry);
                self.entries[entry as usize].flow
            }
            None => self.open(now, ue, key, delays, members),
        }
    }

    #[cold]
    fn open(
        &mut self,
        now: Instant,
        ue: u32,
        key: &Key,
        delays: &[Duration],
        members: Members<'_>,
    ) -> Flow {
        let Members { radio, uplink, record, on_their_way } = members;
        let (tuple, dscp) = key;
        let pipe_of = |delay| delays.iter().position(|d| *d == delay).unwrap_or(0) as u32;
        if self.entries.len() >= self.most {
            if let Some(entry) = self.idle(on_their_way) {
                let number = self.entries[entry as usize].flow.number;
                radio.reopen_flow(number, ue, tuple, *dscp);
                uplink.reopen_flow(number, ue, tuple, *dscp);
                let opened = record.reopen(now, number, ue, tuple, *dscp);
                let flow =
                    Flow { number, pipe: pipe_of(opened.extra_delay), tracked: opened.low_latency };
                let place = &mut self.entries[entry as usize];
                self.known.remove(&place.key);
                (place.key, place.flow) = (*key, flow);
                self.known.insert(*key, entry);
                self.use_now(entry);
                (self.opened, self.aged) = (self.opened + 1, self.aged + 1);
                return flow;
            }
            self.shared_packets += 1;
            if let Some(flow) = self.shared.get(&(ue, record.qfi(ue, tuple, *dscp))) {
                return *flow;
            }
        }
        let number = radio.open_flow(ue, tuple, *dscp);
        uplink.open_flow(ue, tuple, *dscp);
        let opened = record.open(now, ue, tuple, *dscp);
        let flow = Flow { number, pipe: pipe_of(opened.extra_delay), tracked: opened.low_latency };
        self.opened += 1;
        if self.entries.len() >= self.most {
            self.shared.insert((ue, record.qfi(ue, tuple, *dscp)), flow);
        } else {
            let entry = self.entries.len() as u32;
            self.entries.push(Entry { key: *key, flow, newer: NONE, older: NONE });
            self.link(entry);
            self.known.insert(*key, entry);
        }
        flow
    }

    /// The least recently used flow without packets in transit. Examined flows with some count as
    /// used, so that they come up again only after all others; a search is then short however many
    /// there are.
    fn idle(&mut self, on_their_way: &OnTheirWay) -> Option<u32> {
        for _ in 0..TRIES.min(self.entries.len()) {
            let oldest = self.oldest;
            if on_their_way.none_of(self.entries[oldest as usize].flow.number) {
                return Some(oldest);
            }
            self.use_now(oldest);
        }
        None
    }

    /// Makes `entry` the most recently used.
    fn use_now(&mut self, entry: u32) {
        let Entry { newer, older, .. } = self.entries[entry as usize];
        match self.entries.get_mut(newer as usize) {
            Some(neighbour) => neighbour.older = older,
            // It is already the most recently used.
            None => return,
        }
        match self.entries.get_mut(older as usize) {
            Some(neighbour) => neighbour.newer = newer,
            None => self.oldest = newer,
        }
        self.link(entry);
    }

    /// Puts `entry`, which is in no list, before all others.
    fn link(&mut self, entry: u32) {
        (self.entries[entry as usize].newer, self.entries[entry as usize].older) =
            (NONE, self.newest);
        match self.entries.get_mut(self.newest as usize) {
            Some(newest) => newest.newer = entry,
            None => self.oldest = entry,
        }
        self.newest = entry;
    }
}

/// The delays that flows add to the core's, each value once, and 0.
pub(super) fn extra_delays(config: &WorldConfig) -> Vec<Duration> {
    let mut delays: Vec<Duration> = config.flows.iter().map(|f| f.extra_delay).collect();
    delays.push(Duration::ZERO);
    delays.sort_unstable();
    delays.dedup();
    delays
}
