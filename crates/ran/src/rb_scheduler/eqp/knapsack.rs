//! Across UEs and slices: which UEs send how many whole SDUs, so that most SDUs leave in the units of a slot.
//!
//! A multiple-choice knapsack: of each UE one *choice* (so many SDUs in so many units) or none. Solved exactly in two stages,
//! since UEs of one slice differ in nothing but their choices. *Inside a slice* `best[c]` is the greatest number of SDUs that
//! `c` units send; UEs are added one by one, and every row is kept to find the choices again. *Across slices* the same with
//! the steps of each slice's last row as its choices, and with the value that Algorithm 5 compares: SDUs first, then the sum
//! of their slices' quanta.
//!
//! The short last unit doubles the rows: in layer 0 it is not used, in layer 1 it may be, by one UE.
//!
//! Rows are vectors of 16-bit numbers with room before their start that no choice can reach, so that the inner loop has no
//! branch and works on many units at once. Cost: units x choices of all UEs, plus units x units for each slice beyond the second.

use crate::rb_demand::RbUnits;
use alloc::vec::Vec;
use core::ops::Range;

/// Units that are worked on at once.
const LANES: usize = 32;
/// Before the start of a row.
const UNREACHABLE: i16 = i16::MIN;
/// One SDU in the value across slices; quanta of up to 2^17 for 2^16 SDUs stay below it, and 2^16 SDUs are still exact.
const SDU: f64 = (1_u64 << 35) as f64;

/// One way to serve a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    sdus: i16,
    /// Full units, without the short one.
    units: u16,
    /// Full units beside the short one, when these are fewer.
    beside_short: Option<u16>,
}

/// What a UE is to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Picked {
    pub(super) sdus: u16,
    /// The short unit is meant for it.
    pub(super) short: bool,
}

/// A slice: its UEs, and how many full units it may take without and beside the short one.
#[derive(Clone, Debug)]
struct Slice {
    ues: Range<u32>,
    most: u16,
    most_beside_short: Option<u16>,
    quantum: f64,
    /// Its steps in `steps`.
    steps: Range<u32>,
}

/// More SDUs of a slice: their value, and the units that they need.
#[derive(Clone, Copy, Debug)]
struct Step {
    value: f64,
    units: u16,
    short: bool,
}

/// See the module's page. Keep one and use it again: its buffers are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Knapsack {
    units: RbUnits,
    /// Units of a row, rounded up to whole lanes; as much room stands before it.
    width: usize,
    layers: usize,
    choices: Vec<Choice>,
    /// By UE: its choices.
    spans: Vec<Range<u32>>,
    slices: Vec<Slice>,
    /// Row 0 serves nobody; row `i + 1` is that of UE `i`, upon row `i` or, for the first of a slice, row 0.
    rows: Vec<i16>,
    steps: Vec<Step>,
    /// Rows across slices, the first serving nobody, each with its layers one after another.
    values: Vec<f64>,
    picked: Vec<Picked>,
}

impl Knapsack {
    /// Begins a slot with these free units.
    pub(super) fn begin(&mut self, units: RbUnits) {
        let width = (usize::from(units.full()) + 1).next_multiple_of(LANES);
        let layers = 1 + usize::from(units.short() > 0);
        if (width, layers) != (self.width, self.layers) {
            (self.width, self.layers) = (width, layers);
            self.rows.clear();
        }
        self.units = units;
        self.choices.clear();
        self.spans.clear();
        self.slices.clear();
        self.steps.clear();
    }

    /// Adds a slice, whose UEs follow, that may take up to `budget` blocks; its SDUs count `quantum` where numbers are equal.
    pub(super) fn add_slice(&mut self, budget: u16, quantum: i64) {
        let next = self.spans.len() as u32;
        let most = |budget: u16| (budget / self.units.size().max(1)).min(self.units.full());
        let beside_short = budget.checked_sub(self.units.short()).filter(|_| self.units.short() > 0);
        self.slices.push(Slice {
            ues: next..next,
            most: most(budget),
            most_beside_short: beside_short.map(most),
            quantum: quantum as f64,
            steps: 0..0,
        });
    }

    /// Adds a UE to the slice added last, which needs `blocks[m]` blocks for `m + 1` SDUs. Of choices with the same units only
    /// the most SDUs are kept.
    pub(super) fn add_ue(&mut self, blocks: impl Iterator<Item = u16>) {
        let start = self.choices.len();
        let (size, short) = (self.units.size().max(1), self.units.short());
        for (sdus, blocks) in (1..=i16::MAX).zip(blocks) {
            let units = blocks.div_ceil(size);
            let beside = blocks.saturating_sub(short).div_ceil(size);
            let choice =
                Choice { sdus, units, beside_short: (short > 0 && beside < units).then_some(beside) };
            if choice.units > self.units.full() && choice.beside_short.is_none() {
                break;
            }
            match self.choices[start..].last_mut() {
                Some(last) if (last.units, last.beside_short) == (choice.units, choice.beside_short) => {
                    *last = choice;
                }
                _ => self.choices.push(choice),
            }
        }
        self.spans.push(start as u32..self.choices.len() as u32);
        if let Some(slice) = self.slices.last_mut() {
            slice.ues.end = self.spans.len() as u32;
        }
    }

    /// Finds the best choices of all UEs.
    ///
    /// Where several are best: the fewest units; inside a slice the UEs that were added last come first.
    pub(super) fn solve(&mut self) {
        self.picked.clear();
        self.picked.resize(self.spans.len(), Picked::default());
        self.fill_rows();
        if let [only] = self.slices.as_slice() {
            let only = only.clone();
            let reached = |layer: usize, units: u16| self.row(only.ues.end)[self.at(layer, units)];
            match only.most_beside_short {
                Some(units) if reached(1, units) > reached(0, only.most) => self.pick(&only, 1, units),
                _ => self.pick(&only, 0, only.most),
            }
        } else {
            self.solve_across();
        }
    }

    /// What the UE that was added as number `ue` (from 0) is to send.
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

    /// Row of the UE before `ue`: `ue` is one more than its index. Layers one after another, each with its room in front.
    fn row(&self, ue: u32) -> &[i16] {
        let stride = 2 * self.width * self.layers;
        &self.rows[ue as usize * stride..][..stride]
    }

    /// Where a row says what `units` full units send in `layer`.
    fn at(&self, layer: usize, units: u16) -> usize {
        (2 * layer + 1) * self.width + usize::from(units)
    }

    /// The row upon which that of UE `ue` of `slice` stands.
    fn row_before(&self, slice: &Slice, ue: u32) -> &[i16] {
        self.row(if ue == slice.ues.start { 0 } else { ue })
    }

    fn fill_rows(&mut self) {
        let (width, stride) = (self.width, 2 * self.width * self.layers);
        let needed = stride * (self.spans.len() + 1);
        if self.rows.len() < needed {
            // The room in front is written here, once.
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
                relax(&mut new[width..2 * width], &old[..2 * width], choices);
                if self.layers == 2 {
                    relax_beside_short(&mut new[3 * width..], old, choices);
                }
            }
        }
    }

    /// Chooses for the UEs of `slice`, which is given `units` full units in `layer`.
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

    /// The choice of `ue` that leads to what its row says of `units` units in `layer`: SDUs, full units, and whether the short
    /// one is used; none when the UE is not needed for it.
    fn choice_of(&self, slice: &Slice, ue: u32, layer: usize, units: u16) -> Option<(i16, u16, bool)> {
        let value = self.row(ue + 1)[self.at(layer, units)];
        let before = self.row_before(slice, ue);
        let leads = |layer: usize, used: u16, sdus: i16| {
            let rest = units.checked_sub(used);
            rest.is_some_and(|rest| before[self.at(layer, rest)].saturating_add(sdus) == value)
        };
        let own = self.spans[ue as usize].clone();
        self.choices[own.start as usize..own.end as usize].iter().rev().find_map(|choice| {
            let beside = choice.beside_short.filter(|&used| layer == 1 && leads(0, used, choice.sdus));
            let plain = || leads(layer, choice.units, choice.sdus).then_some((choice.units, false));
            let (used, short) = beside.map(|used| (used, true)).or_else(plain)?;
            Some((choice.sdus, used, short))
        })
    }

    /// Writes the steps of every slice's last row.
    fn find_steps(&mut self) {
        for i in 0..self.slices.len() {
            let slice = self.slices[i].clone();
            let start = self.steps.len() as u32;
            for (layer, most) in [(0, Some(slice.most)), (1, slice.most_beside_short)] {
                let Some(most) = most else { continue };
                let mut reached = 0;
                for units in 0..=most {
                    let row = self.row(slice.ues.end);
                    let sdus = row[self.at(layer, units)];
                    // Beside the short unit only what could not be had without it.
                    let had = if layer == 1 && units <= slice.most { row[self.at(0, units)] } else { 0 };
                    if sdus > reached.max(had) {
                        let value = f64::from(sdus) * (SDU + slice.quantum);
                        self.steps.push(Step { value, units, short: layer == 1 });
                        reached = sdus;
                    }
                }
            }
            self.slices[i].steps = start..self.steps.len() as u32;
        }
    }

    /// The second stage.
    fn solve_across(&mut self) {
        self.find_steps();
        let width = usize::from(self.units.full()) + 1;
        let stride = width * self.layers;
        self.values.clear();
        self.values.resize(stride * (self.slices.len() + 1), 0.0);
        for (i, slice) in self.slices.iter().enumerate() {
            let (old, new) = self.values.split_at_mut((i + 1) * stride);
            let (old, new) = (&old[i * stride..], &mut new[..stride]);
            new.copy_from_slice(old);
            for step in &self.steps[slice.steps.start as usize..slice.steps.end as usize] {
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

    /// Finds the steps that led to the best value, and picks inside their slices.
    fn pick_across(&mut self, width: usize) {
        let stride = width * self.layers;
        let (mut row, mut units) = (self.slices.len() * stride, width - 1);
        let mut layer = self.layers - 1;
        if layer == 1 && self.values[row + units] >= self.values[row + width + units] {
            layer = 0;
        }
        let at = |row: usize, layer: usize, units: usize| row + layer * width + units;
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        while units > 0 && same(self.values[at(row, layer, units - 1)], self.values[at(row, layer, units)]) {
            units -= 1;
        }
        for i in (0..self.slices.len()).rev() {
            let slice = self.slices[i].clone();
            let value = self.values[at(row, layer, units)];
            row -= stride;
            if same(self.values[at(row, layer, units)], value) {
                continue;
            }
            let leads = |step: &&Step| {
                let from = layer.checked_sub(usize::from(step.short));
                let rest = units.checked_sub(usize::from(step.units));
                from.zip(rest).is_some_and(|(l, u)| same(self.values[at(row, l, u)] + step.value, value))
            };
            let steps = &self.steps[slice.steps.start as usize..slice.steps.end as usize];
            if let Some(&step) = steps.iter().find(leads) {
                units -= usize::from(step.units);
                layer -= usize::from(step.short);
                self.pick(&slice, usize::from(step.short), step.units);
            }
        }
    }
}

/// `new[c] = max(old[c], old[c - units] + sdus over all choices)`; `old` has its room in front.
fn relax(new: &mut [i16], old: &[i16], choices: &[Choice]) {
    let width = new.len();
    for (chunk, new) in new.chunks_exact_mut(LANES).enumerate() {
        let at = width + chunk * LANES;
        let mut best = [0_i16; LANES];
        best.copy_from_slice(&old[at..at + LANES]);
        for choice in choices {
            let units = usize::from(choice.units);
            // What follows needs more still.
            if units >= (chunk + 1) * LANES {
                break;
            }
            raise_lanes(&mut best, &old[at - units..], choice.sdus);
        }
        new.copy_from_slice(&best);
    }
}

/// The same for the layer in which the short unit may be used; `old` are both layers.
fn relax_beside_short(new: &mut [i16], old: &[i16], choices: &[Choice]) {
    let width = new.len();
    relax(new, &old[2 * width..], choices);
    for (chunk, new) in new.chunks_exact_mut(LANES).enumerate() {
        let at = width + chunk * LANES;
        for choice in choices {
            let Some(units) = choice.beside_short.map(usize::from) else { continue };
            if units >= (chunk + 1) * LANES {
                break;
            }
            raise_lanes(new, &old[at - units..], choice.sdus);
        }
    }
}

/// `best[i] = max(best[i], from[i] + sdus)` for as many as there are in `best`.
#[inline]
fn raise_lanes(best: &mut [i16], from: &[i16], sdus: i16) {
    for (best, &from) in best.iter_mut().zip(&from[..LANES]) {
        *best = (*best).max(from.saturating_add(sdus));
    }
}

/// `best[i] = max(best[i], from[i] + value)`.
fn raise(best: &mut [f64], from: &[f64], value: f64) {
    for (best, &from) in best.iter_mut().zip(from) {
        let raised = from + value;
        *best = if raised > *best { raised } else { *best };
    }
}
