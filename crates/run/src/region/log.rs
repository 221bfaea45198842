//! The records of cells and handovers, and the listener to a cell's events that fills them.

use super::around::Around;
use super::legs::OfLegs;
use crate::backlog::Backlogs;
use crate::cells::{CellsConfig, Place};
use crate::handovers::{AroundPoint, CellsResult, HandoverResult, OneCellResult, Outcome};
use justfull_base::{DropReason, Duration, Event, Instant, Packet, Probe};
use justfull_ran::stack::Forwarded;
use justfull_ran::{Egress, StatusWay};
use std::collections::VecDeque;
use std::sync::Arc;

/// Length of an interval around a handover.
const INTERVAL: Duration = Duration::from_millis(20);
/// Intervals before the UE's departure, and after it.
const BEFORE: usize = 25;
const AFTER: usize = 100;

/// Delays in one interval.
#[derive(Clone, Copy, Default)]
struct Delays {
    packets: u64,
    sum_ns: u128,
    most: Duration,
}

impl Delays {
    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.sum_ns += other.sum_ns;
        self.most = self.most.max(other.most);
    }
}

/// The packets that a UE has received.
struct Person {
    /// Its last intervals with packets, by number; none if it does not move.
    recent: Option<VecDeque<(u64, Delays)>>,
    last: Option<Instant>,
    left: Option<Instant>,
    /// The handover whose first packet in the target has not arrived yet.
    waits: Option<usize>,
    /// The handover whose forwarded packets are in transit.
    record: Option<usize>,
}

/// A handover in progress.
struct Record {
    result: HandoverResult,
    decided: Instant,
    left: Instant,
    /// When the UE received its last packet before it left.
    before: Option<Instant>,
    /// Numbers of the first and of the last forwarded packet.
    ids: Option<(u64, u64)>,
    failed: bool,
}

/// The records.
pub(super) struct Log {
    cells: Vec<OneCellResult>,
    /// RLC backlog of each cell, in packets and bytes, and of all.
    backlogs: Vec<(u64, u64)>,
    backlog: (u64, u64),
    records: Vec<Record>,
    people: Vec<Person>,
    /// For each flow, the number of the last packet that its UE received plus one.
    last: Vec<u64>,
    disordered: u64,
    around: [Delays; BEFORE + AFTER],
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Log {
    pub(super) fn new(config: &CellsConfig, flows: usize) -> Self {
        let cell = |name: &str| OneCellResult { name: name.into(), ..OneCellResult::default() };
        let person = |place: &Arc<Place>| Person {
            recent: place.moves().then(VecDeque::new),
            last: None,
            left: None,
            waits: None,
            record: None,
        };
        Self {
            cells: config.cells.iter().map(|c| cell(&c.name)).collect(),
            backlogs: vec![(0, 0); config.cells.len()],
            backlog: (0, 0),
            records: Vec::new(),
            people: config.places.iter().map(person).collect(),
            last: vec![0; flows],
            disordered: 0,
            around: [Delays::default(); BEFORE + AFTER],
        }
    }

    /// `from`, the source of `ue`, decides on a handover to `to`. Returns the number of the record.
    pub(super) fn decided(&mut self, now: Instant, ue: u32, from: u32, to: u32) -> usize {
        let name = |cell: u32| self.cells[cell as usize].name.clone();
        let (from, to, decided_s) = (name(from), name(to), now.as_secs_f64());
        let result = HandoverResult { ue, from, to, decided_s, ..HandoverResult::default() };
        self.records.push(Record {
            result,
            decided: now,
            left: now,
            before: None,
            ids: None,
            failed: false,
        });
        self.records.len() - 1
    }

    pub(super) fn left(&mut self, now: Instant, ue: u32, at: usize) {
        let (person, record) = (&mut self.people[ue as usize], &mut self.records[at]);
        record.left = now;
        record.before = person.last;
        record.result.preparation_ms = Some(ms(now.since(record.decided)));
        person.left = Some(now);
        (person.waits, person.record) = (Some(at), Some(at));
        let here = now.as_nanos() / INTERVAL.as_nanos();
        for (number, delays) in person.recent.iter().flatten() {
            let ago = (here - number) as usize;
            if (1..=BEFORE).contains(&ago) {
                self.around[BEFORE - ago].add(delays);
            }
        }
    }

    /// The UE does not reach the target in time.
    pub(super) fn failed(&mut self, at: usize) {
        self.records[at].failed = true;
    }

    pub(super) fn joined(&mut self, now: Instant, at: usize) {
        let record = &mut self.records[at];
        record.result.interruption_ms = Some(ms(now.since(record.left)));
    }

    pub(super) fn completed(&mut self, now: Instant, at: usize) {
        let record = &mut self.records[at];
        let failed = record.failed;
        record.result.outcome = if failed { Outcome::Reestablished } else { Outcome::Complete };
        record.result.complete_ms = Some(ms(now.since(record.left)));
    }

    pub(super) fn lost(&mut self, at: usize, packets: u64) {
        self.records[at].result.lost += packets;
    }

    pub(super) fn forwarded(&mut self, at: usize, data: &Forwarded) {
        let Record { result, ids, .. } = &mut self.records[at];
        result.forwarded_bytes += u64::from(data.bytes());
        match data.packet() {
            None => result.duplicates += 1,
            Some(packet) => {
                result.forwarded += 1;
                let (first, last) = ids.unwrap_or((packet.id, packet.id));
                *ids = Some((first.min(packet.id), last.max(packet.id)));
            }
        }
    }

    /// The handover in which `packet` was forwarded.
    fn record_of(&mut self, packet: &Packet) -> Option<&mut Record> {
        let record = &mut self.records[self.people[packet.ue as usize].record?];
        let (first, last) = record.ids?;
        (first..=last).contains(&packet.id).then_some(record)
    }

    /// `packet` reaches its UE in cell `c`.
    pub(super) fn received(&mut self, now: Instant, c: u32, packet: &Packet) {
        let cell = &mut self.cells[c as usize];
        cell.delivered_packets += 1;
        cell.delivered_bytes += u64::from(packet.size);
        let last = &mut self.last[packet.flow as usize];
        self.disordered += u64::from(packet.id < *last);
        *last = (*last).max(packet.id + 1);
        let delay = now.since(packet.entered);
        let one = Delays { packets: 1, sum_ns: delay.as_nanos().into(), most: delay };
        let person = &mut self.people[packet.ue as usize];
        if let Some(left) = person.left {
            let after = (now.since(left).as_nanos() / INTERVAL.as_nanos()) as usize;
            if after < AFTER {
                self.around[BEFORE + after].add(&one);
            }
        }
        if let Some(recent) = &mut person.recent {
            let number = now.as_nanos() / INTERVAL.as_nanos();
            match recent.back_mut().filter(|(last, _)| *last == number) {
                Some((_, delays)) => delays.add(&one),
                None => {
                    if recent.len() > BEFORE {
                        recent.pop_front();
                    }
                    recent.push_back((number, one));
                }
            }
        }
        let before = person.last.replace(now);
        if let Some(at) = person.waits.take() {
            self.records[at].result.gap_ms = before.map(|before| ms(now.since(before)));
        }
        if let Some(record) = self.record_of(packet) {
            let most = record.result.forwarded_delay_max_ms.unwrap_or_default();
            record.result.forwarded_delay_max_ms = Some(most.max(ms(delay)));
        }
    }

    /// Another flow is opened.
    pub(super) fn open_flow(&mut self) {
        self.last.push(0);
    }

    pub(super) fn finish(&self) -> CellsResult {
        let around = self.around.iter().enumerate().map(|(i, delays)| AroundPoint {
            from_ms: (i as f64 - BEFORE as f64) * ms(INTERVAL),
            packets: delays.packets,
            mean_ms: delays.sum_ns as f64 / delays.packets.max(1) as f64 * 1e-6,
            max_ms: ms(delays.most),
        });
        CellsResult {
            cells: self.cells.clone(),
            handovers: self.records.iter().map(|record| record.result.clone()).collect(),
            legs: Vec::new(),
            disordered: self.disordered,
            between: 0,
            around: around.collect(),
        }
    }
}

/// The receiver of a cell's radio and events.
pub(super) struct Sited<'a, A> {
    pub(super) around: &'a mut A,
    pub(super) log: &'a mut Log,
    pub(super) cell: u32,
    pub(super) of_legs: &'a mut OfLegs,
    pub(super) backlogs: Option<&'a mut Backlogs>,
    /// A packet has been delivered.
    pub(super) delivered: bool,
}

impl<A> Sited<'_, A> {
    /// The bound of a packet that was in this cell only. Other packets have no known bound.
    fn own(&self, packet: &Packet, bound: Option<Instant>) -> Option<Instant> {
        let left = self.log.people[packet.ue as usize].left;
        bound.filter(|_| left.is_none_or(|left| packet.entered > left))
    }
}

impl<A: Around> Probe for Sited<'_, A> {
    fn on_event(&mut self, now: Instant, event: &Event) {
        if let Some(backlogs) = &mut self.backlogs {
            backlogs.on_event(now, event);
        }
        match event {
            Event::Slot { capacity, used, rlc_packets, rlc_bytes } => {
                let Log { cells, backlogs, backlog, .. } = &mut *self.log;
                let cell = &mut cells[self.cell as usize];
                cell.offered += capacity;
                cell.used += used;
                let own = &mut backlogs[self.cell as usize];
                // The sum over all cells, as for the other layers.
                *backlog = (backlog.0 - own.0 + rlc_packets, backlog.1 - own.1 + rlc_bytes);
                *own = (*rlc_packets, *rlc_bytes);
                let (capacity, used) = (*capacity, *used);
                let (rlc_packets, rlc_bytes) = *backlog;
                let event = Event::Slot { capacity, used, rlc_packets, rlc_bytes };
                return self.around.on_event(now, &event);
            }
            Event::Dropped { packet, reason, .. } => {
                self.of_legs.dropped(self.cell, packet.ue);
                if *reason == DropReason::Reassembly
                    && let Some(record) = self.log.record_of(packet)
                {
                    record.result.late += 1;
                }
            }
            _ => {}
        }
        self.around.on_event(now, event);
    }
}

impl<A: Around> Egress for Sited<'_, A> {
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        self.delivered = true;
        self.log.received(now, self.cell, packet);
        let bound = self.own(packet, bound);
        self.around.deliver(now, packet, bound);
    }

    fn deliver_from_air(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
    ) {
        self.delivered = true;
        self.log.received(now, self.cell, packet);
        let bound = self.own(packet, bound);
        self.around.deliver_from_air(now, left, packet, bound);
    }

    fn deliver_leg(&mut self, now: Instant, left: Instant, packet: &Packet, sn: u32) {
        self.of_legs.arrived(self.cell, now, left, packet, sn);
        self.delivered = true;
    }

    fn send_status(&mut self, _now: Instant, _ue: u32, _handle: u32, _bytes: u32) -> StatusWay {
        StatusWay::Delayed
    }
}
