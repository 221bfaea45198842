//! Cells that run ahead of the hosts, each on any thread.
//!
//! A cell depends only on packets that its UPF receives, on handovers, and on data over Xn. Between
//! two instants of handovers and Xn a cell can therefore run ahead of the servers by up to the
//! delay of the core. It logs its events and deliveries. Hosts and statistics process the log
//! later, in the order of a run without this lead.

use super::home::Phase;
use super::log::Sited;
use super::{Around, Region};
use crate::core_loss::CoreLoss;
use crate::wire::Wires;
use justfull_base::{Duration, Event, Instant, Packet, Probe};
use justfull_ran::{Egress, Stack, StatusWay};

/// An entry in the log of a cell.
enum Deed {
    /// The cell took the next packet of the core.
    Took,
    /// The cell acted at this instant.
    Acted(Instant),
    Event(Instant, Event),
    /// The cell delivered a packet. If the MAC allocates resource blocks, its last byte left the
    /// RLC at `left`.
    Delivered {
        now: Instant,
        left: Option<Instant>,
        packet: Packet,
        bound: Option<Instant>,
    },
}

/// The log of a cell, in order.
#[derive(Default)]
struct Deeds(Vec<Deed>);

impl Probe for Deeds {
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.0.push(Deed::Event(now, *event));
    }
}

impl Egress for Deeds {
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        self.0.push(Deed::Delivered { now, left: None, packet: *packet, bound });
    }

    fn deliver_from_air(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
    ) {
        self.0.push(Deed::Delivered { now, left: Some(left), packet: *packet, bound });
    }

    fn send_status(&mut self, _now: Instant, _ue: u32, _handle: u32, _bytes: u32) -> StatusWay {
        StatusWay::Delayed
    }
}

/// A packet that the UPF receives, with its QoS flow.
struct Arrival {
    at: Instant,
    packet: Packet,
    qos: Option<u8>,
    lost: bool,
}

/// The arrivals and the log of one cell in a stretch.
#[derive(Default)]
pub struct Lane {
    arrivals: Vec<Arrival>,
    deeds: Deeds,
    /// Number of processed log entries.
    read: usize,
}

impl Lane {
    /// Runs `cell` up to `until`, exclusive.
    pub fn run(&mut self, cell: &mut Stack, until: Instant) {
        let Self { arrivals, deeds, .. } = self;
        for Arrival { at, mut packet, qos, lost } in arrivals.drain(..) {
            act_before(cell, at, deeds);
            deeds.0.push(Deed::Took);
            if lost {
                cell.lose_stamped(at, packet, deeds);
            } else {
                cell.input_stamped(at, &mut packet, qos, deeds);
            }
        }
        act_before(cell, until, deeds);
    }

    /// Instant of the cell's next act; never if an arrival comes first.
    fn acts(&self) -> Instant {
        match self.deeds.0.get(self.read) {
            Some(Deed::Acted(at)) => *at,
            _ => Instant::NEVER,
        }
    }
}

fn act_before(cell: &mut Stack, until: Instant, deeds: &mut Deeds) {
    while cell.next_wake() < until {
        let now = cell.next_wake();
        deeds.0.push(Deed::Acted(now));
        cell.wake_before(now, now + Duration::from_nanos(1), deeds);
    }
}

/// An arrival at the UPF, with its cell.
#[derive(Clone, Copy)]
struct Entry {
    at: Instant,
    flow: u32,
    cell: u32,
}

/// The arrivals and logs of all cells in a stretch of time.
pub struct Stretch {
    /// The end of the stretch, exclusive.
    pub until: Instant,
    /// One for each cell.
    pub lanes: Vec<Lane>,
    /// Arrivals in order.
    entries: Vec<Entry>,
    /// Number of processed arrivals.
    read: usize,
    /// The next act of each cell, and the first of these instants.
    acts: Vec<Instant>,
    first: Instant,
}

impl Stretch {
    /// An empty stretch of `cells` cells.
    pub fn new(cells: usize) -> Self {
        Self {
            until: Instant::ZERO,
            lanes: (0..cells).map(|_| Lane::default()).collect(),
            entries: Vec::new(),
            read: 0,
            acts: vec![Instant::NEVER; cells],
            first: Instant::NEVER,
        }
    }

    /// Begins an empty stretch that ends at `until`.
    pub fn begin(&mut self, until: Instant) {
        self.until = until;
        self.entries.clear();
        self.read = 0;
        for lane in &mut self.lanes {
            lane.deeds.0.clear();
            lane.read = 0;
        }
        self.open();
    }

    /// Opens the logs for processing after all cells have run.
    pub fn open(&mut self) {
        for (acts, lane) in self.acts.iter_mut().zip(&self.lanes) {
            *acts = lane.acts();
        }
        self.find_first();
    }

    fn find_first(&mut self) {
        self.first = self.acts.iter().copied().min().unwrap_or(Instant::NEVER);
    }

    /// The next arrival at the UPF.
    fn arrival(&self) -> Instant {
        self.entries.get(self.read).map_or(Instant::NEVER, |entry| entry.at)
    }

    /// The next instant at which a packet reaches the UPF or a cell acts.
    #[must_use]
    pub fn next(&self) -> Instant {
        self.arrival().min(self.first)
    }
}

impl Region {
    /// True if the cells depend on nothing but the core, handovers and Xn.
    pub const fn may_run_ahead(&self) -> bool {
        !self.splits.of_legs.on
    }

    /// Number of cells.
    pub const fn count(&self) -> usize {
        self.cells.len()
    }

    /// The first instant, at most `most`, at which cells depend on each other: a step of a
    /// handover, an arrival over Xn, or an arrival over `core` for a UE between two cells.
    pub fn meets(&self, core: &Wires<Packet>, most: Instant) -> Instant {
        let meets = self.next_between().min(most);
        if self.under_way == 0 {
            return meets;
        }
        let is_under_way = |packet: &Packet| {
            let home = &self.homes[self.ue_of(packet.flow) as usize];
            !matches!(home.phase, Phase::Settled | Phase::Preparing)
        };
        meets.min(core.first_of(is_under_way))
    }

    /// Moves the packets that arrive over `core` before the end of `stretch` to its cells. `loss`
    /// marks some of them as lost.
    pub fn take_arrivals(
        &mut self,
        core: &mut Wires<Packet>,
        mut loss: Option<&mut CoreLoss>,
        stretch: &mut Stretch,
    ) {
        let mut packet = Packet::default();
        while core.next() < stretch.until {
            let at = core.next();
            core.pop_into(at, &mut packet);
            let cell = self.homes[self.flows.ue_of(packet.flow) as usize].serving;
            let lost = loss.as_mut().is_some_and(|loss| loss.takes_next());
            let qos = self.flows.stamp(at, &mut packet, &self.cells[cell as usize]);
            stretch.entries.push(Entry { at, flow: packet.flow, cell });
            stretch.lanes[cell as usize].arrivals.push(Arrival { at, packet, qos, lost });
        }
    }

    /// Takes the cells out of the region, until [`Self::put_back`].
    pub fn take_cells(&mut self) -> Vec<Stack> {
        std::mem::take(&mut self.cells)
    }

    /// Puts the cells back.
    pub fn put_back(&mut self, cells: Vec<Stack>) {
        self.cells = cells;
        for (wake, cell) in self.wakes.iter_mut().zip(&self.cells) {
            *wake = cell.next_wake();
        }
        self.first = self.wakes.iter().copied().min().unwrap_or(Instant::NEVER);
    }

    /// Applies to hosts and statistics the log entries of the next instant. Returns the instant.
    pub fn read<A: Around>(&mut self, stretch: &mut Stretch, around: &mut A) -> Instant {
        let now = stretch.next();
        if stretch.arrival() == now {
            self.read_arrivals(now, stretch, around);
        } else {
            self.read_acts(now, stretch, around);
        }
        now
    }

    /// Applies to hosts and statistics the log entries for the packets that reach the UPF at `now`.
    fn read_arrivals<A: Around>(&mut self, now: Instant, stretch: &mut Stretch, around: &mut A) {
        around.count_call();
        while let Some(&Entry { flow, cell, .. }) =
            stretch.entries.get(stretch.read).filter(|entry| entry.at == now)
        {
            stretch.read += 1;
            around.count_call();
            around.entered(now, flow);
            self.read_deeds(cell, stretch, around);
            // The arrival came before the cell's next act.
            stretch.first = stretch.first.min(stretch.acts[cell as usize]);
        }
    }

    /// Applies to hosts and statistics the log entries of the cells that act at `now`.
    fn read_acts<A: Around>(&mut self, now: Instant, stretch: &mut Stretch, around: &mut A) {
        for c in 0..stretch.acts.len() {
            if stretch.acts[c] == now {
                around.count_call();
                self.read_deeds(c as u32, stretch, around);
            }
        }
        stretch.find_first();
    }

    /// Applies to hosts and statistics the log entries of cell `c` for its next arrival or act.
    fn read_deeds<A: Around>(&mut self, c: u32, stretch: &mut Stretch, around: &mut A) {
        let Self { log, backlogs, splits, .. } = self;
        let sited = &mut Sited {
            around,
            log,
            cell: c,
            of_legs: &mut splits.of_legs,
            backlogs: backlogs.as_deref_mut(),
            delivered: false,
        };
        let lane = &mut stretch.lanes[c as usize];
        for deed in &lane.deeds.0[lane.read + 1..] {
            lane.read += 1;
            match deed {
                Deed::Took | Deed::Acted(_) => {
                    stretch.acts[c as usize] = lane.acts();
                    return;
                }
                Deed::Event(now, event) => sited.on_event(*now, event),
                Deed::Delivered { now, left: None, packet, bound } => {
                    sited.deliver(*now, packet, *bound);
                }
                Deed::Delivered { now, left: Some(left), packet, bound } => {
                    sited.deliver_from_air(*now, *left, packet, *bound);
                }
            }
        }
        lane.read += 1;
        stretch.acts[c as usize] = Instant::NEVER;
    }
}
