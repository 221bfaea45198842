//! How the flows of a UE share its capacity (equations 4 and 11 to 13).
//!
//! Each active flow gets an equal share. A slow flow keeps the part that it needs and releases the
//! rest, in equal parts, to the others. Each change of these leads to a new allocation, so at any
//! time the allocations of a UE sum to at most its capacity, floors excepted.

use crate::config::{ActiveFlows, Cap, Config, Released};
use crate::control::Control;
use crate::flow::Flow;
use crate::slab::Slab;
use crate::steady::{Granted, Steady};
use crate::ue::{Together, Ue};
use justfull_base::{Duration, Instant};

/// Shortest turn of reading.
const SHORTEST_TURN: f64 = 0.01;

impl Control {
    /// Reallocates the capacity of the UE at `index` after a change of its flows.
    pub(crate) fn allocate(&mut self, now: Instant, index: u32) {
        self.ues[index].together = None;
        self.share_out(now, index);
    }

    /// Reallocates the capacity of the UE at `index` if anything changed. Flows that stay idle cost
    /// nothing. A control without limits allocates nothing.
    pub(crate) fn share_out(&mut self, now: Instant, index: u32) {
        if self.unlimited {
            return;
        }
        let rules = &self.rules;
        let ue = &mut self.ues[index];
        let unchanged = ue.together.is_some();
        let sum = ue.together.unwrap_or_else(|| together(ue, &self.flows, rules));
        ue.together = Some(sum);
        if !unchanged && sum.fast == 0 {
            ue.delivery.cut();
        }
        let cell = &mut self.cells[ue.cell as usize];
        let capacity = ue.capacity(cell, sum.active > 0, sum.active > sum.slow, rules);
        if unchanged && capacity.map(f64::to_bits) == ue.shared.map(f64::to_bits) {
            return;
        }
        ue.shared = capacity;
        // Flows that send little do not show how much the UE could get.
        let told = capacity.filter(|_| ue.radio.known);
        let in_turn =
            rules.turns && sum.active > 1 && told.is_some_and(|capacity| sum.floors > capacity);
        if !in_turn {
            ue.turn_at = Instant::NEVER;
        } else if ue.turn_at == Instant::NEVER {
            ue.turn_at = now + Duration::from_secs_f64(sum.longest_rtt.max(SHORTEST_TURN));
            self.timers.arm(index, ue.turn_at);
        }
        let share = capacity.map(|capacity| capacity / f64::from(divisor(sum.active, rules)));
        let lazy = self.steady && unchanged && !in_turn;
        let extra = share.map_or(0.0, |share| {
            extra(sum, || {
                if lazy { ue.flows.left(share) } else { released(ue, &self.flows, share, rules) }
            })
        });
        let (count, first) = (ue.flows.len(), if in_turn { ue.turn as usize } else { 0 });
        ue.next_turn = first as u32;
        let granted = share.map_or(Granted::NONE, |share| Granted::new(share, extra, ue.added()));
        let before = core::mem::replace(&mut ue.granted, granted);
        let skips = lazy && share.is_some() && before.has_added(&granted);
        let (mut budget, mut readers, mut stopped) = (capacity.unwrap_or(0.0), 0, false);
        let first = first.min(count);
        for mut rest in [first..count, 0..first] {
            while let Some(position) = ue.flows.next_awake(&mut rest) {
                if skips && ue.flows.steady[position].keeps(&granted) {
                    continue;
                }
                let key = ue.flows.key(position);
                let flow = &mut self.flows[key];
                let active = flow.is_active();
                if in_turn && active {
                    let floor = flow.floor_rate(rules);
                    // At least one reads.
                    if !stopped && readers > 0 && floor > budget {
                        (stopped, ue.next_turn) = (true, position as u32);
                    }
                    budget -= floor;
                    readers += 1;
                }
                let had = flow.windows;
                let amount = share.and_then(|share| amount(flow, share, extra, capacity, rules));
                if flow.grant(now, amount, ue.added(), !(stopped && active), rules) {
                    self.timers.arm(index, flow.deadline(rules));
                }
                self.changes.note(key, flow);
                if self.steady {
                    ue.flows.steady[position] = Steady::of(flow, had, rules);
                }
                // An idle flow's windows depend on no allocation.
                if !active {
                    ue.flows.sleep(position);
                }
            }
        }
    }
}

fn together(ue: &Ue, flows: &Slab<Flow>, rules: &Config) -> Together {
    let mut sum = Together::default();
    for flow in ue.flows.awake().map(|f| &flows[f]).filter(|f| f.is_active()) {
        sum.active += 1;
        sum.slow += u32::from(flow.is_slow());
        sum.fast += u32::from(flow.is_fast());
        sum.floors += flow.floor_rate(rules);
        sum.longest_rtt = sum.longest_rtt.max(flow.wired_least());
    }
    sum
}

/// What a flow that is not slow gets beside its equal share.
fn extra(sum: Together, released: impl FnOnce() -> f64) -> f64 {
    let fast = sum.active - sum.slow;
    if sum.slow > 0 && fast > 0 { released() / f64::from(fast) } else { 0.0 }
}

/// The sum of what slow flows release of an equal share.
fn released(ue: &Ue, flows: &Slab<Flow>, share: f64, rules: &Config) -> f64 {
    let slow = ue.flows.awake().map(|key| &flows[key]).filter(|flow| flow.is_slow());
    slow.map(|flow| releases(flow, share, rules)).sum()
}

/// The N of equation 4.
fn divisor(active: u32, rules: &Config) -> u32 {
    let active = active.max(1);
    if rules.active == ActiveFlows::PowerOfTwo { active.next_power_of_two() } else { active }
}

/// The allocation of a slow flow when the equal share is `share`.
fn slow_amount(flow: &Flow, share: f64, rules: &Config) -> f64 {
    if rules.cap == Cap::Share { flow.want.min(share) } else { flow.want }
}

/// Equation 11.
fn releases(flow: &Flow, share: f64, rules: &Config) -> f64 {
    let Some(share) = flow.amount_of(share, rules) else { return 0.0 };
    let less = share - slow_amount(flow, share, rules);
    match rules.released {
        Released::ShareLessNew => less.max(0.0),
        Released::ShareMinusNew => less,
        Released::PreviousToNew => flow.released,
    }
}

/// Equation 4, or 10, or 13; none for a flow whose round trip is needed but unknown.
fn amount(
    flow: &Flow,
    share: f64,
    extra: f64,
    capacity: Option<f64>,
    rules: &Config,
) -> Option<f64> {
    let share = flow.amount_of(share, rules)?;
    let amount =
        if flow.is_slow() { slow_amount(flow, share, rules) } else { (share + extra).max(0.0) };
    let whole = capacity.and_then(|capacity| flow.amount_of(capacity, rules))?;
    Some(if rules.cap == Cap::Whole { amount.min(whole) } else { amount })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::ControlConfig;
    use crate::sample::{Opening, Sample};
    use crate::slab::{FlowId, UeId};
    use justfull_base::feedback::{CellKind, RanReport};
    use proptest::prelude::*;
    use std::format;
    use std::vec::Vec;

    const UES: usize = 3;

    /// A control that leaves out visits and one that visits all flows, with the same events.
    struct Pair {
        now: Instant,
        both: [Control; 2],
        ues: Vec<UeId>,
        flows: Vec<FlowId>,
        /// Flows that have not got their amount, summed over all events.
        left_out: usize,
    }

    impl Pair {
        fn new() -> Self {
            let mut control = Control::new(&ControlConfig::default()).expect("valid");
            let cell = control.add_cell();
            let other = control.add_cell();
            let of = |ue| if ue < 2 { cell } else { other };
            let ues = (0..UES).map(|ue| control.add_ue(Instant::ZERO, of(ue)).expect("known"));
            let (now, flows) = (Instant::ZERO, Vec::new());
            let ues = ues.collect();
            let mut plain = control.clone();
            plain.steady = false;
            Self { now, both: [control, plain], ues, flows, left_out: 0 }
        }

        fn each<T: PartialEq + core::fmt::Debug>(&mut self, act: impl Fn(&mut Control) -> T) -> T {
            let [one, other] = self.both.each_mut().map(act);
            assert_eq!(one, other);
            one
        }

        fn report(&mut self, ue: usize, size: u64) {
            let offered = 20_000 + size % 8_192;
            let used = offered - size % 97;
            let report = RanReport {
                at: self.now,
                kind: CellKind::Bytes,
                slot: Duration::from_millis(1),
                slots: 10,
                offered,
                used,
                active_ues: 2,
                blocks: used / 2,
                repeats: size % 11,
                bytes: used / 2,
                mcs: None,
                backlog: size % 4 * 900,
            };
            let (now, ue) = (self.now, self.ues[ue]);
            // A report is refused if no time has passed.
            let _late = self.each(|control| control.on_report(now, ue, &report));
        }

        fn sample(&mut self, at: usize, what: u8, size: u64) {
            let sample = Sample {
                arrived: if what & 16 == 0 { 40 * size } else { size % 900 },
                delivered: size,
                wired_rtt: (what & 32 == 0).then(|| Duration::from_micros(30_000 + size)),
                radio_rtt: (what & 64 == 0).then(|| Duration::from_micros(20_000 + size)),
                radio_smoothed: None,
                held: what & 128 == 0 && size.is_multiple_of(9),
                waiting: size % 3 * 5_000,
            };
            let (now, flow) = (self.now, self.flows[at]);
            self.each(|control| control.on_sample(now, flow, &sample)).expect("open");
        }

        /// Each flow gets its amount.
        fn settle(&mut self) {
            let control = &mut self.both[0];
            for &id in &self.flows {
                let key = control.flows.find(id.0).expect("open");
                let flow = &mut control.flows[key];
                let ue = &mut control.ues[flow.ue];
                let steady = &mut ue.flows.steady[flow.position as usize];
                steady.settle(self.now, flow, &ue.granted, &control.rules);
            }
        }

        fn event(&mut self, what: u8, which: u8, size: u16) {
            self.now += Duration::from_millis(u64::from(which % 11));
            let (now, size) = (self.now, u64::from(size));
            self.each(|control| control.on_timer(now));
            let (ue, open) = (usize::from(which) % UES, self.flows.len());
            match what % 16 {
                0 => {
                    let rtt = Some(Duration::from_millis(20 + size % 30));
                    let opening = Opening { mss: 1_448, wired_rtt: rtt, radio_rtt: rtt };
                    let ue = self.ues[ue];
                    let opened = self.each(|control| control.open(now, ue, &opening));
                    self.flows.push(opened.expect("known"));
                }
                1 if size.is_multiple_of(5) && open > 0 => {
                    let flow = self.flows.swap_remove(usize::from(which) % open);
                    self.each(|control| control.close(now, flow)).expect("open");
                }
                2 if size.is_multiple_of(7) => {
                    let (ue, cell) = (self.ues[ue], [0, 1][usize::from(which) & 1]);
                    let cell = crate::slab::CellId(cell);
                    self.each(|control| control.move_ue(now, ue, cell)).expect("known");
                }
                3..6 if open > 0 => self.sample(usize::from(which) % open, what, size),
                _ => self.report(ue, size),
            }
            while self.each(Control::poll_change).is_some() {}
            let ues = self.both[0].ues.iter().flat_map(|(_, ue)| &ue.flows.steady);
            self.left_out += ues.filter(|steady| steady.is_due()).count();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 256,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn flows_that_are_not_visited_are_as_if_they_were(
            events in prop::collection::vec(any::<(u8, u8, u16)>(), 200..400),
        ) {
            let mut pair = Pair::new();
            for flow in 0..24 {
                pair.event(0, flow, u16::from(flow) * 31);
            }
            for (what, which, size) in events {
                pair.event(what, which, size);
                for &flow in &pair.flows {
                    let [one, other] = pair.both.each_ref().map(|control| control.view(flow));
                    prop_assert_eq!(one, other);
                }
            }
            pair.settle();
            let open = |control: &Control| {
                format!("{:?}", control.flows.iter().collect::<Vec<_>>())
            };
            let [one, other] = pair.both.each_ref().map(open);
            prop_assert_eq!(one, other);
            prop_assert!(pair.left_out > 100, "{} visits left out", pair.left_out);
        }
    }
}
