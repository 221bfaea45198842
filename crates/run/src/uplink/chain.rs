//! The uplink as a stack: the UEs' packets pass a second [`Stack`], whose data flows from the UEs
//! to the base station.

use super::{Fate, NO_FLOW, Way};
use crate::cells::CellsConfig;
use crate::results::UplinkStackResult;
use crate::traffic::REQUEST_RETRY;
use justfull_base::{ConfigError, DropReason, Dscp, Ecn, Event, Instant, Layer, Packet, Probe};
use justfull_ran::{AccessCounts, Egress, FiveTuple, Reported, Stack, StackConfig, UplinkAccess};

mod cells;

use self::cells::Cells;
use std::collections::VecDeque;

/// Number of reasons for a drop.
const REASONS: usize = DropReason::ALL.len();

/// An item in the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried<T> {
    pub(super) entered: Instant,
    pub(super) size: u32,
    pub(super) way: Way,
    pub(super) item: T,
}

/// An item that has left the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left<T> {
    pub(super) at: Instant,
    payload: u64,
    pub(super) carried: Carried<T>,
    pub(super) fate: Fate,
}

/// The stack of the uplink and the items in it. `T` is the driver's data for a packet.
pub(super) struct Chain<T> {
    radio: Radio,
    /// Number of the first known flow in the stack.
    first: u32,
    hold: Hold<T>,
    /// Items that must be sent again, each with its instant.
    again: Vec<(Instant, Carried<T>)>,
    /// The newest acknowledgement of each flow in the stack; empty without the ACK filter.
    newest: Vec<Option<u64>>,
    filters: bool,
    filtered: u64,
}

/// The UEs' queues and the radio below them.
enum Radio {
    /// One cell.
    Cell(Box<Stack>),
    /// Several cells, between which UEs move.
    Cells(Box<Cells>),
}

impl Radio {
    fn stacks(&self) -> &[Stack] {
        match self {
            Self::Cell(stack) => std::slice::from_ref(stack),
            Self::Cells(cells) => cells.stacks(),
        }
    }

    fn stacks_mut(&mut self) -> &mut [Stack] {
        match self {
            Self::Cell(stack) => std::slice::from_mut(stack),
            Self::Cells(cells) => cells.stacks_mut(),
        }
    }

    /// Packets of UEs on their way between cells.
    fn away(&self) -> u64 {
        if let Self::Cells(cells) = self { cells.away() } else { 0 }
    }

    /// Mechanisms that have acted in no cell.
    fn never_acted(&self) -> Vec<&'static str> {
        let each = self.stacks().iter().map(Stack::never_acted);
        let both = |mut all: Vec<&'static str>, some: Vec<&'static str>| {
            all.retain(|name| some.contains(name));
            all
        };
        each.reduce(both).unwrap_or_default()
    }
}

/// The items in the stack by the payload of their packets, and the items that have left.
struct Hold<T> {
    places: Vec<Option<Carried<T>>>,
    free: Vec<u32>,
    left: VecDeque<Left<T>>,
    inside: u64,
    drops: [u64; REASONS],
}

impl<T: Copy> Hold<T> {
    fn put(&mut self, carried: Carried<T>) -> u64 {
        self.inside += 1;
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(carried);
                place.into()
            }
            None => {
                self.places.push(Some(carried));
                self.places.len() as u64 - 1
            }
        }
    }

    /// The packet of `payload` leaves at `at`. It is lost, or it is sent, marked or not.
    fn take(&mut self, at: Instant, payload: u64, sent: Option<bool>) {
        if let Some(carried) = self.places[payload as usize].take() {
            let flow = carried.way.flow;
            let fate = sent.map_or(Fate::Lost { flow }, |ce| Fate::Sent { ce });
            self.inside -= 1;
            self.free.push(payload as u32);
            self.left.push_back(Left { at, payload, carried, fate });
        }
    }
}

impl<T: Copy> Probe for Hold<T> {
    fn on_event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Dropped { packet, reason, .. } => {
                let place = DropReason::ALL.iter().position(|r| r == reason).unwrap_or(0);
                self.drops[place] += 1;
                self.take(now, packet.payload, None);
            }
            // A later acknowledgement cannot replace it once it is on the air.
            Event::Departed { layer: Layer::Rlc, packet, .. } => {
                if let Some(carried) = &mut self.places[packet.payload as usize] {
                    carried.way.ack = None;
                }
            }
            _ => {}
        }
    }
}

impl<T: Copy> Egress for Hold<T> {
    fn deliver(&mut self, now: Instant, packet: &Packet, _bound: Option<Instant>) {
        self.take(now, packet.payload, Some(packet.ecn == Ecn::Ce));
    }
}

impl<T: Copy> Chain<T> {
    /// The uplink of the UEs of `config`.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub(super) fn new(config: &StackConfig, filters: bool) -> Result<Self, ConfigError> {
        let stack = Stack::new(config)?;
        Ok(Self::above(Radio::Cell(Box::new(stack)), config.ues.len() as u32, filters))
    }

    /// The uplinks of the UEs of `config` in the cells of `cells`; `common` has the settings of all
    /// cells.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub(super) fn of_cells(
        config: &StackConfig,
        filters: bool,
        cells: &CellsConfig,
        common: &StackConfig,
    ) -> Result<Self, ConfigError> {
        let cells = Cells::new(config, cells, common)?;
        Ok(Self::above(Radio::Cells(Box::new(cells)), config.ues.len() as u32, filters))
    }

    /// An empty uplink of `ues` UEs above `radio`.
    fn above(radio: Radio, ues: u32, filters: bool) -> Self {
        let hold = Hold {
            places: Vec::new(),
            free: Vec::new(),
            left: VecDeque::new(),
            inside: 0,
            drops: [0; REASONS],
        };
        let (again, newest) = (Vec::new(), Vec::new());
        let mut chain = Self { radio, first: ues, hold, again, newest, filters, filtered: 0 };
        // The first flow of each UE stands for packets of no known flow.
        for ue in 0..ues {
            chain.open_flow(ue, &FiveTuple::default(), Dscp::default());
        }
        chain
    }

    /// Opens a flow of `ue` with the 5-tuple of its downlink. Its packets get the QFI of the
    /// downlink (reflective QoS, TS 23.501 clause 5.7.5.3).
    pub(super) fn open_flow(&mut self, ue: u32, tuple: &FiveTuple, dscp: Dscp) {
        match &mut self.radio {
            Radio::Cell(stack) => {
                stack.open_flow(ue, tuple, dscp);
            }
            Radio::Cells(cells) => cells.open_flow(ue, tuple, dscp),
        }
    }

    /// UE `ue` leaves its cell at `now`, with all that waits there.
    pub(super) fn leave(&mut self, now: Instant, ue: u32) {
        if let Radio::Cells(cells) = &mut self.radio {
            cells.leave(now, ue, &mut self.hold);
        }
    }

    /// UE `ue` is in `cell` at `now`.
    pub(super) fn join(&mut self, now: Instant, ue: u32, cell: u32) {
        if let Radio::Cells(cells) = &mut self.radio {
            cells.join(now, ue, cell, &mut self.hold);
        }
    }

    /// Reuses the number of an ended flow for another flow.
    pub(super) fn reopen_flow(&mut self, number: u32, ue: u32, tuple: &FiveTuple, dscp: Dscp) {
        let number = self.first + number;
        match &mut self.radio {
            Radio::Cell(stack) => stack.reopen_flow(number, ue, tuple, dscp),
            Radio::Cells(cells) => cells.reopen_flow(number, ue, tuple, dscp),
        }
    }

    /// A packet enters at its UE. False if the stack drops it at once.
    pub(super) fn push(&mut self, now: Instant, carried: Carried<T>) -> bool {
        let Carried { size, way, .. } = carried;
        if self.replaces_waiting(now, &carried) {
            return true;
        }
        let payload = self.hold.put(carried);
        if self.filters && way.flow != NO_FLOW {
            let flow = way.flow as usize;
            if self.newest.len() <= flow {
                self.newest.resize(flow + 1, None);
            }
            // An acknowledgement overtakes no other packet of its flow.
            self.newest[flow] = way.ack.map(|_| payload);
        }
        let known = way.flow != NO_FLOW;
        let flow = if known { self.first + way.flow } else { way.ue };
        let packet = Packet {
            flow,
            size,
            ecn: way.ecn,
            protocol: way.protocol,
            payload,
            ..Packet::default()
        };
        let before = self.hold.left.len();
        match &mut self.radio {
            Radio::Cell(stack) => stack.input(now, packet, &mut self.hold),
            Radio::Cells(cells) => cells.input(now, packet, &mut self.hold),
        }
        let is_it =
            |left: &Left<T>| left.payload == payload && matches!(left.fate, Fate::Lost { .. });
        let refused = self.hold.left.iter().skip(before).position(is_it);
        if let Some(at) = refused {
            self.hold.left.remove(before + at);
        }
        refused.is_none()
    }

    /// True if `carried` is an acknowledgement that has replaced a waiting one.
    fn replaces_waiting(&mut self, now: Instant, carried: &Carried<T>) -> bool {
        let (true, Some(ack)) = (self.filters, carried.way.ack) else { return false };
        let Some(payload) = self.newest.get(carried.way.flow as usize).copied().flatten() else {
            return false;
        };
        let Some(waiting) = &mut self.hold.places[payload as usize] else { return false };
        let older = waiting.way.flow == carried.way.flow
            && waiting.size == carried.size
            && waiting.way.flags == carried.way.flags
            && waiting.way.ack.is_some_and(|old| old < ack);
        let ue = carried.way.ue;
        let begun = match &self.radio {
            Radio::Cell(stack) => stack.has_begun(ue, payload),
            Radio::Cells(cells) => cells.has_begun(ue, payload),
        };
        if !older || begun {
            return false;
        }
        let gone = Carried { entered: waiting.entered, ..*waiting };
        *waiting = Carried { entered: gone.entered, ..*carried };
        self.filtered += 1;
        self.hold.left.push_back(Left { at: now, payload, carried: gone, fate: Fate::Filtered });
        true
    }

    /// Does the stack's work up to `now`. [`Self::left`] returns the packets that have left.
    pub(super) fn wake(&mut self, now: Instant) {
        match &mut self.radio {
            Radio::Cell(stack) => stack.wake(now, &mut self.hold),
            Radio::Cells(cells) => cells.wake(now, &mut self.hold),
        }
    }

    /// Takes the requests and grants since the last call.
    pub(super) fn take_accesses(&mut self) -> impl Iterator<Item = UplinkAccess> + '_ {
        self.radio.stacks_mut().iter_mut().flat_map(Stack::take_accesses)
    }

    /// The next item that must be sent again by `now`.
    pub(super) fn due_again(&mut self, now: Instant) -> Option<Carried<T>> {
        let at = self.again.iter().position(|(at, _)| *at <= now)?;
        Some(Carried { entered: now, ..self.again.swap_remove(at).1 })
    }

    /// The packets that have left the stack, in order.
    pub(super) fn left(&mut self) -> Option<Left<T>> {
        self.hold.left.pop_front()
    }

    /// The item of `carried`, lost at `now`, is sent again later, as by TCP.
    pub(super) fn send_again(&mut self, now: Instant, carried: Carried<T>) {
        self.again.push((now + REQUEST_RETRY, carried));
    }

    /// The next instant with work: never without packets.
    pub(super) fn next(&self) -> Instant {
        let again = self.again.iter().map(|(at, _)| *at).min().unwrap_or(Instant::NEVER);
        if !self.hold.left.is_empty() {
            return Instant::ZERO;
        }
        if self.hold.inside == 0 {
            return again;
        }
        again.min(match &self.radio {
            Radio::Cell(stack) => stack.next_wake(),
            Radio::Cells(cells) => cells.next(),
        })
    }

    /// The last buffer status report of `ue`; none while it is in no cell.
    pub(super) fn reported(&self, ue: u32) -> Option<Reported> {
        self.radio.stacks().iter().find_map(|stack| stack.reported(ue))
    }

    /// Packets in the stack.
    pub(super) fn waiting(&self) -> u64 {
        self.hold.inside
    }

    /// A contradiction in the stack's counts, in words; none if its packets are conserved.
    pub(super) fn broken(&self) -> Option<String> {
        let stacks = self.radio.stacks();
        let away = self.radio.away();
        let queued = stacks.iter().map(|stack| stack.conserved().queued).sum::<u64>() + away;
        stacks.iter().find_map(Stack::broken_conservation).or_else(|| {
            (queued != self.hold.inside)
                .then(|| format!("{queued} packets queued, {} items", self.hold.inside))
        })
    }

    pub(super) fn result(&self) -> UplinkStackResult {
        let AccessCounts {
            requests,
            grants,
            granted_bytes,
            padding_bytes,
            regular_reports,
            periodic_reports,
            padding_reports,
            repeats,
        } = self.radio.stacks().iter().filter_map(Stack::access_counts).sum();
        let named = |(reason, count): (&DropReason, &u64)| (reason.name().to_string(), *count);
        let drops = DropReason::ALL.iter().zip(&self.hold.drops).filter(|(_, count)| **count > 0);
        UplinkStackResult {
            requests,
            grants,
            granted_bytes,
            padding_bytes,
            regular_reports,
            periodic_reports,
            padding_reports,
            repeats,
            filtered_acks: self.filtered,
            drops: drops.map(named).collect(),
            never_acted: self.radio.never_acted().iter().map(|name| (*name).into()).collect(),
        }
    }
}
