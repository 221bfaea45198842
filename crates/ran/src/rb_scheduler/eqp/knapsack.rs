//! Across UEs and slices: the number of whole SDUs of each UE, such that the most SDUs leave in the
//! units of a slot.
//!
//! A multiple-choice knapsack: for each UE one *choice* (a number of SDUs in a number of units) or
//! none. It is solved exactly in two stages, since UEs of one slice differ only in their choices.
//! *Inside a slice* `best[c]` is the greatest number of SDUs that `c` units send; UEs are added one
//! by one, and every row is kept to recover the choices. *Across slices* the steps of each slice's
//! last row are its choices. The value is as in Algorithm 5: SDUs first, then the sum of their
//! slices' quanta.
//!
//! The short last unit doubles the rows: layer 0 does not use it, layer 1 may, for one UE.
//!
//! Rows are vectors of 16-bit numbers with padding before their start that no choice can reach, so
//! the inner loop has no branch and works on many units at once. Cost: units x choices of all UEs,
//! plus units x units for each slice beyond the second.

use super::EqpRoom;
use crate::rb_demand::RbUnits;
use alloc::vec::Vec;
use core::ops::Range;

/// Units processed at once, by the width of a row: the capacity of 128-bit registers for a short
/// row and for a long one.
const SHORT_ROW: usize = 32;
const LONG_ROW: usize = 96;
/// Padding before the start of a row.
const UNREACHABLE: i16 = i16::MIN;
/// One SDU in the value across slices. Quanta of up to 2^17 for 2^16 SDUs stay below it, and 2^16
/// SDUs are still exact.
const SDU: f64 = (1_u64 << 35) as f64;

/// One way to serve a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice {
    sdus: i16,
    /// Full units, without the short one.
    units: u16,
    /// Full units beside the short one: the same number or one fewer.
    beside_short: u16,
}

/// The choice for a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Picked {
    pub(super) sdus: u16,
    /// True if it also gets the short unit.
    pub(super) short: bool,
}

/// A slice: its UEs, and the number of full units that it may take without and beside the short
/// one.
#[derive(Clone, Debug)]
struct Slice {
    ues: Range<u32>,
    most: u16,
    most_beside_short: Option<u16>,
    quantum: f64,
    /// Its steps in `steps`.
    steps: Range<u32>,
}

/// More SDUs of a slice: their value, and their units.
#[derive(Clone, Copy, Debug)]
struct Step {
    value: f64,
    units: u16,
    short: bool,
}

/// The solver. Keep one and use it again, so that its buffers are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Knapsack {
    units: RbUnits,
    /// By number of blocks: the full units that hold them, alone and beside the short unit.
    units_of: Vec<(u16, u16)>,
    /// Units of a row, rounded up; the padding before it is as wide.
    width: usize,
    layers: usize,
    choices: Vec<Choice>,
    /// By UE: its choices.
    spans: Vec<Range<u32>>,
    slices: Vec<Slice>,
    /// Row 0 serves no UE. Row `i + 1` belongs to UE `i` and builds on row `i` or, for the first of
    /// a slice, on row 0.
    rows: Vec<i16>,
    steps: Vec<Step>,
    /// Rows across slices: the first serves no slice, then one for each slice but the last; layers
    /// one after another.
    values: Vec<f64>,
    picked: Vec<Picked>,
}

impl Knapsack {
    /// Begins a slot with these free units.
    pub(super) fn begin(&mut self, units: RbUnits) {
        let width = usize::from(units.full()) + 1;
        let width = width.next_multiple_of(if width <= SHORT_ROW { SHORT_ROW } else { LONG_ROW });
        let layers = 1 + usize::from(units.short() > 0);
        if (width, layers) != (self.width, self.layers) {
            (self.width, self.layers) = (width, layers);
            self.rows.clear();
        }
        if units != self.units {
            self.units = units;
            let (size, short) = (units.size().max(1), units.short());
            let of =
                |blocks: u16| (blocks.div_ceil(size), blocks.saturating_sub(short).div_ceil(size));
            self.units_of.clear();
            self.units_of.extend((0..=units.rbs()).map(of));
        }
        self.choices.clear();
        self.spans.clear();
        self.slices.clear();
        self.steps.clear();
    }

    /// See [`Eqp::reserve`](super::Eqp::reserve); there are so many `slices`.
    pub(super) fn reserve(&mut self, room: &EqpRoom, slices: usize) {
        let EqpRoom { ues, sdus, rbs, .. } = *room;
        let units = usize::from(rbs) + 1;
        let width = units.next_multiple_of(LONG_ROW);
        self.units_of.reserve(units);
        self.choices.reserve(sdus + 2 * ues);
        self.spans.reserve(ues);
        self.slices.reserve(slices);
        self.rows.reserve(4 * width * (ues + 1));
        self.steps.reserve(2 * units * slices);
        self.values.reserve(2 * units * slices);
        self.picked.reserve(ues);
    }

    /// Adds a slice that may take up to `budget` blocks; its UEs follow. Between equal numbers of
    /// SDUs, its SDUs count `quantum`.
    pub(super) fn add_slice(&mut self, budget: u16, quantum: i64) {
        let next = self.spans.len() as u32;
        let most = |budget: u16| (budget / self.units.size().max(1)).min(self.units.full());
        let beside_short =
            budget.checked_sub(self.units.short()).filter(|_| self.units.short() > 0);
        self.slices.push(Slice {
            ues: next..next,
            most: most(budget),
            most_beside_short: beside_short.map(most),
            quantum: quantum as f64,
            steps: 0..0,
        });
    }

    /// Adds a UE to the last slice. It needs `least[m]` bytes for `m` SDUs; `blocks` returns the
    /// blocks for a number of bytes, none beyond the slot. Of choices with the same units only the
    /// choice with the most SDUs is kept.
    pub(super) fn add_ue(&mut self, least: &[u32], blocks: impl Fn(u32) -> Option<u16>) {
        let start = self.choices.len();
        let Some(slice) = self.slices.last_mut() else { return };
        let most = slice.most.max(slice.most_beside_short.unwrap_or(0));
        self.choices.resize(start + least.len(), Choice::default());
        let own = &mut self.choices[start..];
        // A later choice that needs no more units overwrites the previous one.
        let (mut kept, mut last) = (0, (u16::MAX, 0));
        for (sdus, &bytes) in (1..i16::MAX).zip(&least[1..]) {
            let Some(blocks) = blocks(bytes) else { break };
            let (units, beside_short) = self.units_of[usize::from(blocks)];
            if beside_short > most {
                break;
            }
            kept += usize::from((units, beside_short) != last);
            last = (units, beside_short);
            own[kept - 1] = Choice { sdus, units, beside_short };
        }
        self.choices.truncate(start + kept);
        self.spans.push(start as u32..self.choices.len() as u32);
        slice.ues.end = self.spans.len() as u32;
    }

    /// Finds the best choices of all UEs.
    ///
    /// Ties prefer the fewest units; inside a slice, they prefer the UEs added last.
    pub(super) fn solve(&mut self) {
        self.picked.clear();
        self.picked.resize(self.spans.len(), Picked::default());
        self.fill_rows();
        if let [only] = self.slices.as_slice() {
            let only = only.clone();
            let reached = |layer: usize, units: u16| self.row(only.ues.end)[self.at(layer, units)];
            match only.most_beside_short {
                Some(units) if reached(1, units) > reached(0, only.most) => {
                    self.pick(&only, 1, units)
                }
                _ => self.pick(&only, 0, only.most),
            }
        } else {
            self.solve_across();
        }
    }

    /// The choice for the UE added as number `ue` (from 0).
    pub(super) fn picked(&self, ue: usize) -> Picked {
        self.picked[ue]
    }

    /// Bytes of memory that the tables hold.
    pub(super) fn memory(&self) -> usize {
        size_of::<i16>() * self.rows.capacity()
            + size_of::<f64>() * self.values.capacity()
            + size_of::<Choice>() * self.choices.capacity()
            + size_of::<Step>() * self.steps.capacity()
            + (size_of::<Range<u32>>() + size_of::<Picked>()) * self.spans.capacity()
    }

    /// Row of the UE before `ue`: `ue` is its index plus one. Layers one after another, each with
    /// its padding in front.
    fn row(&self, ue: u32) -> &[i16] {
        let stride = 2 * self.width * self.layers;
        &self.rows[ue as usize * stride..][..stride]
    }

    /// Index in a row of the value of `units` full units in `layer`.
    fn at(&self, layer: usize, units: u16) -> usize {
        (2 * layer + 1) * self.width + usize::from(units)
    }

    /// The row that the row of UE `ue` of `slice` builds on.
    fn row_before(&self, slice: &Slice, ue: u32) -> &[i16] {
        self.row(if ue == slice.ues.start { 0 } else { ue })
    }

    fn fill_rows(&mut self) {
        let (width, stride) = (self.width, 2 * self.width * self.layers);
        let needed = stride * (self.spans.len() + 1);
        if self.rows.len() < needed {
            // The padding in front is written here, once.
            self.rows.resize(needed, UNREACHABLE);
            for layer in self.rows[..stride].chunks_exact_mut(2 * width) {
                layer[width..].fill(0);
            }
        }
        for slice in &self.slices {
            for ue in slice.ues.clone() {
                let own = self.spans[ue as usize].clone();
                let choices = &self.choices[own.start as usize..own.end as usize];
                let before = if ue == slice.ues.start { 0 } else { ue as usize };
                let (old, new) = self.rows.split_at_mut((ue as usize + 1) * stride);
                let (old, new) = (&old[before * stride..][..stride], &mut new[..stride]);
                // No entry beyond the slice's maximum is read.
                let needed = usize::from(slice.most.max(slice.most_beside_short.unwrap_or(0))) + 1;
                relax(&mut new[width..2 * width], &old[..2 * width], needed, choices);
                if self.layers == 2 {
                    relax_beside_short(&mut new[3 * width..], old, needed, choices);
                }
            }
        }
    }

    /// Chooses for the UEs of `slice`, which gets `units` full units in `layer`.
    fn pick(&mut self, slice: &Slice, mut layer: usize, units: u16) {
        let mut units = units;
        let last = self.row(slice.ues.end);
        // The same number in fewer units leaves more to the others.
        while units > 0 && last[self.at(layer, units - 1)] == last[self.at(layer, units)] {
            units -= 1;
        }
        for ue in slice.ues.clone().rev() {
            if let Some((sdus, used, short)) = self.choice_of(slice, ue, layer, units) {
                self.picked[ue as usize] = Picked { sdus: sdus as u16, short };
                units -= used;
                layer -= usize::from(short);
            }
        }
    }

    /// The choice of `ue` that leads to its row's value for `units` units in `layer`: SDUs, full
    /// units, and whether it uses the short one; none if the value does not need this UE.
    fn choice_of(
        &self,
        slice: &Slice,
        ue: u32,
        layer: usize,
        units: u16,
    ) -> Option<(i16, u16, bool)> {
        let value = self.row(ue + 1)[self.at(layer, units)];
        let before = self.row_before(slice, ue);
        let leads = |layer: usize, used: u16, sdus: i16| {
            let rest = units.checked_sub(used);
            rest.is_some_and(|rest| before[self.at(layer, rest)].saturating_add(sdus) == value)
        };
        let own = self.spans[ue as usize].clone();
        self.choices[own.start as usize..own.end as usize].iter().rev().find_map(|choice| {
            let beside = Some(choice.beside_short)
                .filter(|&used| layer == 1 && used < choice.units && leads(0, used, choice.sdus));
            let plain = || leads(layer, choice.units, choice.sdus).then_some((choice.units, false));
            let (used, short) = beside.map(|used| (used, true)).or_else(plain)?;
            Some((choice.sdus, used, short))
        })
    }

    /// Writes the steps of every slice's last row.
    fn find_steps(&mut self) {
        let mut steps = core::mem::take(&mut self.steps);
        for i in 0..self.slices.len() {
            let slice = self.slices[i].clone();
            let start = steps.len() as u32;
            for (layer, most) in [(0, Some(slice.most)), (1, slice.most_beside_short)] {
                let Some(most) = most else { continue };
                let row = self.row(slice.ues.end);
                let of = |layer| &row[self.at(layer, 0)..=self.at(layer, most)];
                let mut reached = 0;
                for (units, (&sdus, &plain)) in (0..).zip(of(layer).iter().zip(of(0))) {
                    // Beside the short unit, only values that are impossible without it.
                    if sdus > reached && (layer == 0 || sdus > plain) {
                        let value = f64::from(sdus) * (SDU + slice.quantum);
                        steps.push(Step { value, units, short: layer == 1 });
                        reached = sdus;
                    }
                }
            }
            self.slices[i].steps = start..steps.len() as u32;
        }
        self.steps = steps;
    }

    /// The second stage: rows of all slices but the last. Of the last slice only the value for the
    /// whole slot matters.
    fn solve_across(&mut self) {
        self.find_steps();
        let width = usize::from(self.units.full()) + 1;
        let stride = width * self.layers;
        self.values.clear();
        self.values.resize(stride * self.slices.len(), 0.0);
        for (i, slice) in self.slices.iter().enumerate().take(self.slices.len() - 1) {
            let (old, new) = self.values.split_at_mut((i + 1) * stride);
            let (old, new) = (&old[i * stride..], &mut new[..stride]);
            let steps = &self.steps[slice.steps.start as usize..slice.steps.end as usize];
            if i == 0 {
                place(new, width, steps);
                continue;
            }
            new.copy_from_slice(old);
            for step in steps {
                let units = usize::from(step.units);
                if step.short {
                    raise(&mut new[width + units..], &old[..width], step.value);
                } else {
                    for (new, old) in new.chunks_exact_mut(width).zip(old.chunks_exact(width)) {
                        raise(&mut new[units..], old, step.value);
                    }
                }
            }
        }
        self.pick_across(width);
    }

    /// Finds the steps that led to the best value, last slice first, and picks inside those slices.
    fn pick_across(&mut self, width: usize) {
        let stride = width * self.layers;
        let (mut layer, mut units) = (self.layers - 1, width - 1);
        for i in (0..self.slices.len()).rev() {
            let slice = self.slices[i].clone();
            let row = &self.values[i * stride..][..stride];
            let at = |step: Step| {
                (layer - usize::from(step.short)) * width + units - usize::from(step.units)
            };
            // The fewest units that reach the value of `step` together with the slices before this
            // one.
            let fewest = |step: Step| {
                let (first, at) = ((layer - usize::from(step.short)) * width, at(step));
                usize::from(step.units) + row[first..at].partition_point(|&less| less < row[at])
            };
            let mut chosen = Step { value: 0.0, units: 0, short: false };
            let mut best = row[at(chosen)];
            for &step in &self.steps[slice.steps.start as usize..slice.steps.end as usize] {
                if usize::from(step.units) > units || usize::from(step.short) > layer {
                    continue;
                }
                let value = row[at(step)] + step.value;
                if value > best || (value >= best && fewest(step) < fewest(chosen)) {
                    (chosen, best) = (step, value);
                }
            }
            layer -= usize::from(chosen.short);
            units -= usize::from(chosen.units);
            if chosen.value > 0.0 {
                self.pick(&slice, usize::from(chosen.short), chosen.units);
            }
        }
    }
}

/// The row of the first slice: each step at its units, and between steps the value of the previous
/// one.
fn place(row: &mut [f64], width: usize, steps: &[Step]) {
    for step in steps {
        let at = usize::from(step.units) + if step.short { width } else { 0 };
        row[at] = step.value;
    }
    let mut reached = 0.0;
    for value in &mut row[..width] {
        reached = f64::max(reached, *value);
        *value = reached;
    }
    let (plain, beside) = row.split_at_mut(width);
    let mut reached = 0.0;
    for (value, plain) in beside.iter_mut().zip(plain) {
        reached = f64::max(reached, value.max(*plain));
        *value = reached;
    }
}

/// `new[c] = max(old[c], old[c - units] + sdus over all choices)` for `c` below `needed`; `old` has
/// its padding in front.
fn relax(new: &mut [i16], old: &[i16], needed: usize, choices: &[Choice]) {
    let units = |choice: &Choice| choice.units;
    let upon = Some(&old[new.len()..]);
    match new.len() {
        SHORT_ROW => raise_lanes::<SHORT_ROW>(new, upon, old, needed, choices, units),
        _ => raise_lanes::<LONG_ROW>(new, upon, old, needed, choices, units),
    }
}

/// [`relax`] for the layer that may use the short unit; `old` holds both layers.
fn relax_beside_short(new: &mut [i16], old: &[i16], needed: usize, choices: &[Choice]) {
    let (plain, beside) = old.split_at(old.len() / 2);
    relax(new, beside, needed, choices);
    let units = |choice: &Choice| choice.beside_short;
    match new.len() {
        SHORT_ROW => raise_lanes::<SHORT_ROW>(new, None, plain, needed, choices, units),
        _ => raise_lanes::<LONG_ROW>(new, None, plain, needed, choices, units),
    }
}

/// Writes the needed part of `new`: the values of `upon`, or its own, raised by `choices` on
/// `from`, `N` units at a time.
#[inline]
fn raise_lanes<const N: usize>(
    new: &mut [i16],
    upon: Option<&[i16]>,
    from: &[i16],
    needed: usize,
    choices: &[Choice],
    units: impl Fn(&Choice) -> u16,
) {
    let width = new.len();
    let needed = needed.next_multiple_of(N);
    for (chunk, new) in new[..needed].chunks_exact_mut(N).enumerate() {
        let Some(new) = new.first_chunk_mut::<N>() else { return };
        let upon = upon.map_or(Some(&*new), |upon| upon[chunk * N..].first_chunk::<N>());
        let Some(&(mut best)) = upon else { return };
        let at = width + chunk * N;
        for choice in choices {
            let units = usize::from(units(choice));
            // Later chunks need even more units.
            if units >= (chunk + 1) * N {
                break;
            }
            let Some(from) = from[at - units..].first_chunk::<N>() else { return };
            for (best, &from) in best.iter_mut().zip(from) {
                *best = (*best).max(from.saturating_add(choice.sdus));
            }
        }
        *new = best;
    }
}

/// `best[i] = max(best[i], from[i] + value)`.
fn raise(best: &mut [f64], from: &[f64], value: f64) {
    for (best, &from) in best.iter_mut().zip(from) {
        let raised = from + value;
        *best = if raised > *best { raised } else { *best };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_covers_all_tables() {
        let knapsack = Knapsack {
            rows: Vec::with_capacity(3),
            values: Vec::with_capacity(5),
            choices: Vec::with_capacity(7),
            steps: Vec::with_capacity(11),
            spans: Vec::with_capacity(13),
            ..Knapsack::default()
        };
        assert_eq!(knapsack.memory(), 3 * 2 + 5 * 8 + 7 * 6 + 11 * 16 + 13 * (8 + 4));
    }
}
