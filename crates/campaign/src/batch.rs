//! Groups jobs into parts: short ones of a scenario and a method share a part.

use crate::dataset::Dataset;
use crate::ledger::{MOST, Stretch};
use crate::plan::{Campaign, Case};
use std::collections::BTreeMap;

/// The cases to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All cases.
    All,
    /// Cases of methods in Python.
    Python,
    /// Cases of other methods.
    Native,
}

impl Which {
    fn has(self, campaign: &Campaign, case: &Case) -> bool {
        self == Self::All || (self == Self::Python) == campaign.python_of(case).is_some()
    }
}

/// Open jobs, to be taken in batches, and known durations of jobs.
#[derive(Debug)]
pub struct Batches {
    /// For each case the number of its scenario and method, its kind.
    kinds: Vec<usize>,
    /// Index of the case and its open seeds; the next is the last.
    left: Vec<(usize, Stretch)>,
    /// CPU time of a job of each case in ns; 0 before the first.
    of_case: Vec<u64>,
    /// CPU time of the latest job of each kind.
    of_kind: Vec<u64>,
}

impl Batches {
    /// No open jobs yet; durations are taken from `dataset`.
    #[must_use]
    pub fn new(campaign: &Campaign, dataset: &Dataset) -> Self {
        let mut numbers = BTreeMap::new();
        let kinds = campaign.cases.iter().map(|case| {
            let next = numbers.len();
            *numbers.entry((case.scenario, &case.method)).or_insert(next)
        });
        let kinds: Vec<usize> = kinds.collect();
        let (of_case, of_kind) = (vec![0; kinds.len()], vec![0; numbers.len()]);
        let mut batches = Self { kinds, left: Vec::new(), of_case, of_kind };
        for (jobs, cpu_s) in dataset.costs() {
            batches.took(campaign, jobs, cpu_s);
        }
        batches
    }

    /// Takes the open jobs of these cases, and returns whether there is any. With a target, the
    /// jobs made since the last call decide.
    pub fn fill(&mut self, campaign: &Campaign, dataset: &Dataset, which: Which) -> bool {
        self.left.clear();
        let cases = campaign.cases.iter().enumerate();
        for (index, case) in cases.filter(|(_, case)| which.has(campaign, case)) {
            let seeds = dataset.seeds_of(campaign, case);
            let from = self.left.len();
            for seed in dataset.open_seeds(campaign, case, seeds) {
                match self.left[from..].last_mut() {
                    Some((_, stretch)) if stretch.to + 1 == seed => stretch.to = seed,
                    _ => {
                        self.left.push((index, Stretch { case: case.id, from: seed, to: seed }));
                    }
                }
            }
        }
        // Jobs that may share a part stand together, otherwise in the order of the cases.
        self.left.sort_by_key(|(case, _)| self.kinds[*case]);
        self.left.reverse();
        !self.left.is_empty()
    }

    /// The next batch: jobs of one scenario and method that take about `part_ns` of CPU together.
    /// While their duration is unknown, a single job. At most 1000.
    pub fn next(&mut self, part_ns: u64) -> Option<Vec<Stretch>> {
        let kind = self.kinds[self.left.last()?.0];
        let (mut batch, mut jobs, mut ns) = (Vec::new(), 0, 0);
        while let Some((case, stretch)) = self.left.last_mut() {
            if self.kinds[*case] != kind {
                break;
            }
            let of_one = match (self.of_case[*case], self.of_kind[kind]) {
                (0, 0) => u64::MAX,
                (0, of_kind) => of_kind,
                (of_case, _) => of_case,
            };
            let room = (part_ns.saturating_sub(ns) / of_one).min(MOST - jobs);
            let taken = if batch.is_empty() { room.max(1) } else { room };
            if taken == 0 {
                break;
            }
            let to = stretch.to.min(stretch.from.saturating_add(taken - 1));
            let count = to - stretch.from + 1;
            (jobs, ns) = (jobs + count, ns.saturating_add(of_one.saturating_mul(count)));
            batch.push(Stretch { to, ..*stretch });
            if to == stretch.to {
                self.left.pop();
            } else {
                stretch.from = to + 1;
                break;
            }
        }
        Some(batch)
    }

    /// The jobs of `batch` took `cpu_s` seconds of CPU.
    pub fn took(&mut self, campaign: &Campaign, batch: &[Stretch], cpu_s: f64) {
        let jobs: u64 = batch.iter().map(|stretch| stretch.to - stretch.from + 1).sum();
        let ns = (cpu_s * 1e9) as u64 / jobs.max(1) + 1;
        if cpu_s <= 0.0 {
            return;
        }
        for index in batch.iter().filter_map(|stretch| campaign.index(stretch.case)) {
            self.of_case[index] = self.of_case[index].max(ns);
            self.of_kind[self.kinds[index]] = ns;
        }
    }
}
