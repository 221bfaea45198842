//! How the flows of a UE share its capacity (equations 4 and 11 to 13).
//!
//! Each active flow gets an equal share. A slow flow keeps the part that it needs and releases the
//! rest, in equal parts, to the others. Each change of these leads to a new allocation, so at any
//! time the allocations of a UE sum to at most its capacity, floors excepted.

use crate::config::{ActiveFlows, Cap, Config, Released};
use crate::control::Control;
use crate::flow::Flow;
use crate::slab::Slab;
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
        let released = share.filter(|_| sum.slow > 0).map_or(0.0, |share| {
            let slow = ue.flows.awake().map(|f| &self.flows[f]).filter(|f| f.is_slow());
            slow.map(|flow| releases(flow, share, rules)).sum()
        });
        let fast = f64::from(sum.active - sum.slow);
        let extra = if fast > 0.0 { released / fast } else { 0.0 };
        let (count, first) = (ue.flows.len(), if in_turn { ue.turn as usize } else { 0 });
        ue.next_turn = first as u32;
        let added = ue.added();
        let mut budget = capacity.unwrap_or(0.0);
        let (mut readers, mut stopped) = (0, false);
        let first = first.min(count);
        for mut rest in [first..count, 0..first] {
            while let Some(position) = ue.flows.next_awake(&mut rest) {
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
                let amount = share.and_then(|share| amount(flow, share, extra, capacity, rules));
                if flow.grant(now, amount, added, !(stopped && active), rules) {
                    self.timers.arm(index, flow.deadline(rules));
                }
                self.changes.note(key, flow);
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
