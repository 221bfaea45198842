//! Several cells, between which UEs move, simulated or live.
//!
//! ```text
//! core wires -> UPF -+-> source cell -> air
//!                    |       | Xn wire
//!                    +-> target cell -> air
//! ```
//! A UE's handover has five instants: the decision, its departure, its arrival, the switch of the
//! UPF, and the arrival of the end marker ([`crate::cells`]). A UE begins no other handover before
//! the end marker: a move that is due earlier begins then.
//!
//! The driver has everything around the cells: [`Around`].

mod ahead;
mod around;
mod flows;
mod home;
mod legs;
mod log;
mod moves;
mod split;
mod xn;

pub use self::ahead::{Lane, Stretch};
pub use self::around::Around;

use self::home::{Home, Phase};
use self::log::{Log, Sited};
use self::split::Splits;
use self::xn::{Item, Xn};
use crate::backlog::Backlogs;
use crate::cells::CellsConfig;
use crate::gather::Chain;
use crate::handovers::CellsResult;
use crate::results::Conservation;
use crate::timers::Timers;
use justfull_base::rng::stream_key;
use justfull_base::{ConfigError, Duration, Instant, Packet};
use justfull_ran::stack::{Flows, Forwarded};
use justfull_ran::{Stack, StackConfig, UeConfig, UplinkAccess};
use std::sync::Arc;

/// The cells of a world with several, and the UEs' places in them.
pub struct Region {
    config: CellsConfig,
    /// The settings of each cell, without UEs.
    stacks: Vec<StackConfig>,
    /// The settings of each UE.
    ues: Vec<Arc<UeConfig>>,
    flows: Flows,
    cells: Vec<Stack>,
    /// When each cell acts next, and the first of them.
    wakes: Vec<Instant>,
    first: Instant,
    homes: Vec<Home>,
    /// Number of UEs between their departure from a cell and the arrival of the end marker.
    under_way: usize,
    /// The next step of each UE: a move or a part of its handover.
    steps: Timers,
    /// Key of the random numbers of failures.
    key: u64,
    xn: Xn,
    log: Log,
    /// UEs with split bearers.
    splits: Splits,
    /// Packets dropped on the way between cells.
    dropped: u64,
    /// Backlog of each queue of all UEs, if the scenario measures it.
    backlogs: Option<Box<Backlogs>>,
}

impl Region {
    /// The cells of `config`, with the settings `common` of all cells, for `flows`.
    ///
    /// # Errors
    /// The field of a cell outside its bounds.
    pub fn new(
        config: &CellsConfig,
        common: &StackConfig,
        flows: Flows,
    ) -> Result<Self, ConfigError> {
        let homes: Vec<Home> = config.places.iter().map(Home::new).collect();
        let mut steps = Timers::new(homes.len());
        for (ue, home) in (0..).zip(&homes) {
            steps.arm(ue, home.next_decision(Instant::ZERO));
        }
        let mut region = Self {
            xn: Xn::new(&config.handover.xn),
            log: Log::new(config, flows.count()),
            wakes: Vec::new(),
            first: Instant::NEVER,
            config: config.clone(),
            stacks: Vec::new(),
            ues: common.ues.clone(),
            flows,
            cells: Vec::new(),
            homes,
            under_way: 0,
            steps,
            key: stream_key(common.seed, "handover.failure"),
            splits: Splits::default(),
            dropped: 0,
            backlogs: None,
        };
        for index in 0..config.cells.len() {
            region.add_cell(common, index)?;
        }
        region.connect_splits();
        Ok(region)
    }

    /// Builds cell `index`.
    fn add_cell(&mut self, common: &StackConfig, index: usize) -> Result<(), ConfigError> {
        let mut settings = self.config.stack(common, index);
        let [here, guests] = self.config.ues_of(index as u32);
        let stack = Stack::of_several(&settings, &here, &guests)?;
        settings.ues = Vec::new();
        self.first = self.first.min(stack.next_wake());
        self.wakes.push(stack.next_wake());
        self.cells.push(stack);
        self.stacks.push(settings);
        Ok(())
    }

    /// Measures `backlogs`, if there are any.
    pub fn measure(&mut self, backlogs: Option<Box<Backlogs>>) {
        self.backlogs = backlogs;
    }

    /// The measured backlogs.
    pub fn backlogs(&mut self) -> Option<&mut Backlogs> {
        self.backlogs.as_deref_mut()
    }

    /// The next instant of a cell, a handover, or an arrival over Xn.
    #[inline]
    pub fn next(&self) -> Instant {
        self.first.min(self.next_between())
    }

    /// The next instant at which it acts without a cell.
    fn next_between(&self) -> Instant {
        self.steps.next().min(self.xn.next()).min(self.splits.next())
    }

    /// The stack that serves `ue`, or will serve it next.
    pub fn stack_of(&self, ue: u32) -> &Stack {
        &self.cells[self.homes[ue as usize].serving as usize]
    }

    /// A UE has sent a scheduling request, or has been granted the uplink.
    pub fn note_access(&mut self, access: UplinkAccess) {
        let serving = self.homes[access.ue as usize].serving as usize;
        self.cells[serving].note_access(access);
    }

    /// Calls `each` with the number and the stack of every cell.
    pub fn each_stack(&mut self, mut each: impl FnMut(u32, &mut Stack)) {
        (0..).zip(&mut self.cells).for_each(|(number, stack)| each(number, stack));
    }

    /// The stacks of all cells.
    pub fn stacks(&self) -> impl Iterator<Item = &Stack> + Clone {
        self.cells.iter()
    }

    /// Packets that are in no cell: on Xn wires, in buffers of targets, at UEs on their way.
    pub fn between(&self) -> u64 {
        self.xn.packets()
            + self.splits.packets()
            + self.homes.iter().map(Home::packets).sum::<u64>()
    }

    /// The facts about all cells together at the end of a run, `end`.
    pub fn chain(&self, end: Instant) -> Chain {
        let between = Conservation {
            dropped: self.dropped,
            queued: self.between(),
            ..Conservation::default()
        };
        let named = self.stacks().zip(&self.config.cells);
        let each = named.map(|(stack, cell)| Chain::of(stack, end).in_cell(&cell.name));
        let chain =
            each.reduce(Chain::with).map_or_else(Chain::default, |chain| chain.and(&between));
        // Legs have delivered what waits in PDCP of UEs, and what it has discarded.
        let (held, discarded) = self.splits.in_pdcp();
        chain.not_delivered(held, discarded)
    }

    /// The results of cells and handovers.
    pub fn finish(&self) -> CellsResult {
        let mut result = self.log.finish();
        for home in &self.homes {
            result.cells[home.serving as usize].ues += 1;
        }
        result.between = self.between();
        result.legs = self.splits.finish(&self.cells);
        result
    }

    /// Runs `call` on cell `c` and the listener to its events.
    fn on_cell<A: Around, R>(
        &mut self,
        c: u32,
        around: &mut A,
        call: impl FnOnce(&mut Stack, &mut Sited<'_, A>) -> R,
    ) -> R {
        let Self { cells, log, backlogs, splits, .. } = self;
        let cell = &mut cells[c as usize];
        let result = call(
            cell,
            &mut Sited {
                around,
                log,
                cell: c,
                of_legs: &mut splits.of_legs,
                backlogs: backlogs.as_deref_mut(),
                delivered: false,
            },
        );
        self.note_wake(c);
        if self.splits.of_legs.on {
            self.after_cell(c, around);
        }
        result
    }

    /// Cell `c` may act at another instant than before.
    fn note_wake(&mut self, c: u32) {
        let Self { cells, wakes, first, .. } = self;
        let next = cells[c as usize].next_wake();
        let before = std::mem::replace(&mut wakes[c as usize], next);
        if next < *first {
            *first = next;
        } else if before == *first {
            *first = wakes.iter().copied().min().unwrap_or(Instant::NEVER);
        }
    }

    /// `packet` reaches the UPF.
    pub fn input<A: Around>(&mut self, now: Instant, packet: &mut Packet, ue: u32, around: &mut A) {
        let home = &self.homes[ue as usize];
        match home.phase {
            Phase::Settled | Phase::Preparing => {
                let at = home.serving;
                let qos = self.flows.stamp(now, packet, &self.cells[at as usize]);
                self.on_cell(at, around, |cell, sited| {
                    cell.input_stamped(now, packet, qos, sited);
                });
            }
            Phase::Away | Phase::Joined | Phase::Switched => {
                let switched = home.phase == Phase::Switched;
                let polled = self.cells[home.source as usize].has_upf_queues();
                let at = if switched && !polled { home.serving } else { home.source };
                let qos = self.flows.stamp(now, packet, &self.cells[at as usize]);
                let kept =
                    self.on_cell(at, around, |cell, sited| cell.pass_by(now, packet, qos, sited));
                if kept {
                    return;
                }
                if switched {
                    self.homes[ue as usize].held.push_back(*packet);
                } else {
                    self.forward(now, ue, Forwarded::Fresh(*packet), around);
                }
            }
        }
    }

    /// A packet that the core lost on its way to `ue`.
    pub fn lose<A: Around>(&mut self, now: Instant, mut packet: Packet, ue: u32, around: &mut A) {
        let at = self.homes[ue as usize].serving;
        self.flows.stamp(now, &mut packet, &self.cells[at as usize]);
        self.on_cell(at, around, |cell, sited| cell.lose_stamped(now, packet, sited));
    }

    /// Acts at `now`: handovers first, then arrivals over Xn, then the cells in order. The cells
    /// continue until they deliver a packet or reach `until`.
    pub fn act<A: Around>(&mut self, now: Instant, until: Instant, around: &mut A) -> Instant {
        if self.next_between() > now {
            return self.serve(now, until, around);
        }
        while let Some(ue) = self.steps.pop(now) {
            self.step(now, ue, around);
        }
        while let Some(item) = self.xn.pop(now) {
            self.arrive(now, item, around);
        }
        if self.splits.next() <= now {
            self.act_splits(now, around);
        }
        // A departing UE may have received packets. Hosts act on them before later slots.
        self.serve(now, now, around)
    }

    /// Acts at all instants before `until`, for a driver whose hosts do nothing before it.
    pub fn act_before<A: Around>(&mut self, until: Instant, around: &mut A) {
        while self.next() < until {
            self.act(self.next(), until, around);
        }
    }

    /// Lets cells serve their slots from `now` to `until`; returns the last instant.
    fn serve<A: Around>(&mut self, now: Instant, until: Instant, around: &mut A) -> Instant {
        let mut last = now;
        loop {
            let due = self.first;
            if due >= until.min(self.next_between()) && due > now {
                return last;
            }
            last = last.max(due);
            let mut delivered = false;
            for c in 0..self.cells.len() {
                if self.wakes[c] == due {
                    delivered |= self.wake(due, c as u32, around);
                }
            }
            if delivered {
                return last;
            }
        }
    }

    /// Cell `c` acts at `now`; true if it delivered a packet.
    fn wake<A: Around>(&mut self, now: Instant, c: u32, around: &mut A) -> bool {
        around.count_call();
        self.on_cell(c, around, |cell, sited| {
            let after = now + Duration::from_nanos(1);
            cell.wake_before(now, after, sited);
            sited.delivered
        })
    }
}
