//! The steps of a UE's handover, from its decision to the end marker.

use super::home::{Home, Phase};
use super::xn::Item;
use super::{Around, Region};
use crate::cells::{HandoverConfig, State};
use justfull_base::rng::mix;
use justfull_base::{DropReason, Duration, Event, Instant, Layer};
use justfull_ran::stack::{Entry, Forwarded, Kept};
use std::sync::Arc;

impl Region {
    /// The next step of `ue` is due.
    pub(super) fn step<A: Around>(&mut self, now: Instant, ue: u32, around: &mut A) {
        let home = &self.homes[ue as usize];
        let due = home.due;
        if now < due {
            return self.steps.arm(ue, due);
        }
        match home.phase {
            Phase::Settled => self.decide(now, ue),
            Phase::Preparing => self.leave(now, ue, around),
            Phase::Away => self.join(now, ue, around),
            Phase::Joined if home.unknown => self.report_arrival(now, ue),
            Phase::Joined => self.switch(now, ue),
            Phase::Switched => {}
        }
        let home = &self.homes[ue as usize];
        self.steps.arm(ue, home.due);
    }

    /// The source decides on the handover of `ue` if a move is due or a measurement triggers it.
    fn decide(&mut self, now: Instant, ue: u32) {
        let Self { cells, homes, config, log, .. } = self;
        let signal = |cell: u32| cells[cell as usize].sinr_db(ue, now);
        let home = &mut homes[ue as usize];
        let measure = |home: &mut Home| home.measure(now, cells.len(), &config.handover, signal);
        let Some(to) = home.take_move(now).or_else(|| measure(home)) else { return };
        home.phase = Phase::Preparing;
        home.target = to;
        home.record = log.decided(now, ue, home.serving, to);
        let HandoverConfig { conditional, preparation, .. } = config.handover;
        let at_once = conditional || home.link_failed;
        home.due = now + if at_once { Duration::ZERO } else { preparation };
        if home.link_failed {
            log.failed(home.record);
        }
    }

    /// `ue` leaves the source. The source begins to forward.
    fn leave<A: Around>(&mut self, now: Instant, ue: u32, around: &mut A) {
        let home = &mut self.homes[ue as usize];
        let (source, record) = (home.serving, home.record);
        let departure = self.on_cell(source, around, |cell, sited| {
            cell.detach(now, ue, sited).expect("a UE in no handover is in its cell")
        });
        around.leave(now, ue);
        self.log.left(now, ue, record);
        self.log.lost(record, departure.lost);
        let HandoverConfig { conditional, reestablishment, .. } = self.config.handover;
        let link_failed = std::mem::take(&mut self.homes[ue as usize].link_failed);
        let absence = if link_failed { reestablishment } else { self.interruption(ue, record) };
        let due = now + absence;
        let home = &mut self.homes[ue as usize];
        home.leave(departure.context);
        self.under_way += 1;
        home.unknown = conditional || link_failed;
        home.due = due;
        for data in departure.data {
            self.forward(now, ue, data, around);
        }
    }

    /// `ue` joins the target, which has kept the forwarded data.
    fn join<A: Around>(&mut self, now: Instant, ue: u32, around: &mut A) {
        let home = &mut self.homes[ue as usize];
        let Some(context) = home.context.take() else { return };
        let buffer = std::mem::take(&mut home.buffer);
        let (target, record) = (home.serving, home.record);
        home.phase = Phase::Joined;
        let HandoverConfig { path_switch, xn, .. } = &self.config.handover;
        home.switches = now + *path_switch;
        home.due = if home.unknown { now + xn.delay } else { home.switches };
        let kept = match self.config.handover.state {
            State::New => Kept::Nothing,
            State::Kept => Kept::Gate,
        };
        let stacks = std::mem::take(&mut self.stacks);
        let settings = Arc::clone(&self.ues[ue as usize]);
        self.on_cell(target, around, |cell, sited| {
            let entry = Entry { config: &stacks[target as usize], ue: &settings, kept };
            cell.attach(now, context, &entry, sited).expect("it has no place there");
            for data in buffer {
                cell.accept(now, data, sited);
            }
        });
        self.stacks = stacks;
        around.join(now, ue, target);
        self.log.joined(now, record);
    }

    /// A report that `ue` is in the target reaches the source, which forwards the data that it has
    /// kept.
    fn report_arrival(&mut self, now: Instant, ue: u32) {
        let home = &mut self.homes[ue as usize];
        home.unknown = false;
        home.due = home.switches.max(now);
        for data in std::mem::take(&mut home.late) {
            self.xn.push(now, home.source, home.serving, Item { ue, data: Some(data) });
        }
    }

    /// Time for which `ue` is in no cell during the handover of `record`; longer if the handover
    /// fails.
    fn interruption(&mut self, ue: u32, record: usize) -> Duration {
        let HandoverConfig { interruption, failure, t304, reestablishment, .. } =
            self.config.handover;
        let draw = mix(self.key ^ mix(u64::from(ue)).wrapping_add(record as u64));
        if (draw >> 11) as f64 / (1_u64 << 53) as f64 >= failure.0 {
            return interruption;
        }
        self.log.failed(record);
        t304 + reestablishment
    }

    /// The UPF switches the path of `ue`, and sends an end marker on the old one.
    fn switch(&mut self, now: Instant, ue: u32) {
        let home = &mut self.homes[ue as usize];
        home.phase = Phase::Switched;
        home.due = Instant::NEVER;
        self.xn.push(now, home.source, home.serving, Item { ue, data: None });
    }

    /// `item` reaches the target over Xn.
    pub(super) fn arrive<A: Around>(&mut self, now: Instant, item: Item, around: &mut A) {
        let Item { ue, data } = item;
        let Some(data) = data else { return self.complete(now, ue, around) };
        if let Some(secondary) = self.splits.secondary(ue) {
            return self.arrive_at_leg(now, data, secondary, around);
        }
        let home = &mut self.homes[ue as usize];
        if home.context.is_some() {
            return home.buffer.push_back(data);
        }
        let target = home.serving;
        self.on_cell(target, around, |cell, sited| cell.accept(now, data, sited));
    }

    /// The end marker of `ue` has arrived: the target sends the packets that it has kept.
    fn complete<A: Around>(&mut self, now: Instant, ue: u32, around: &mut A) {
        let home = &mut self.homes[ue as usize];
        let (source, target, record) = (home.source as usize, home.serving, home.record);
        let held = std::mem::take(&mut home.held);
        home.phase = Phase::Settled;
        self.under_way -= 1;
        home.due = home.next_decision(now);
        self.steps.arm(ue, home.due);
        self.on_cell(target, around, |cell, sited| {
            held.into_iter().for_each(|p| cell.accept(now, Forwarded::Fresh(p), sited));
        });
        let [from, to] = self.cells.get_disjoint_mut([source, target as usize]).expect("two cells");
        to.switch_path(now, from, ue);
        from.leave_place(ue);
        self.note_wake(source as u32);
        self.note_wake(target);
        self.log.completed(now, record);
    }

    /// Forwards `data` of `ue` from the source to the target, or drops it.
    pub(super) fn forward<A: Around>(
        &mut self,
        now: Instant,
        ue: u32,
        data: Forwarded,
        around: &mut A,
    ) {
        let home = &self.homes[ue as usize];
        if self.config.handover.forwarding {
            self.log.forwarded(home.record, &data);
            if home.unknown {
                return self.homes[ue as usize].late.push_back(data);
            }
            return self.xn.push(now, home.source, home.serving, Item { ue, data: Some(data) });
        }
        let Some(packet) = data.packet().copied() else { return };
        self.log.lost(home.record, 1);
        self.dropped += 1;
        let reason = DropReason::Handover;
        around.on_event(now, &Event::Dropped { layer: Layer::Sdap, packet, reason });
    }
}
