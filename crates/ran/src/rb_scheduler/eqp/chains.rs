//! Inside a UE: the fewest bytes that send `m` SDUs, over bearers that each send in order.
//!
//! The bearers of a UE share its transport block, so the number of blocks depends on the sum of
//! their bytes. So the least bytes of `m` SDUs alone determine the number of SDUs that a UE can
//! send in `n` blocks: `least(m) = min over k of least of the bearers before (m - k) + bytes of the
//! first k SDUs of this bearer`.

use super::EqpRoom;
use crate::rb_demand::{RbDemand, UeDemand};
use alloc::vec::Vec;

/// The tables of all UEs of a slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Chains {
    /// For each bearer, the least bytes of 0, 1, 2, ... SDUs of its UE's bearers up to it, up to
    /// the capacity of the slot.
    rows: Vec<u32>,
    /// By index of the bearer: start and end of its row.
    spans: Vec<(u32, u32)>,
    /// Bytes of the first 0, 1, 2, ... SDUs of the current bearer.
    prefix: Vec<u32>,
}

impl Chains {
    /// See [`Eqp::reserve`](super::Eqp::reserve). The row of a bearer also holds the SDUs of the
    /// bearers before it.
    pub(super) fn reserve(&mut self, room: &EqpRoom) {
        let EqpRoom { drbs, drbs_of_ue, sdus, .. } = *room;
        self.rows.reserve((drbs_of_ue + 1) * (sdus + drbs + 2));
        self.spans.reserve(drbs);
        self.prefix.reserve(sdus + 2);
    }

    /// Clears the tables of the last slot.
    pub(super) fn begin(&mut self, demand: &RbDemand) {
        self.rows.clear();
        self.spans.clear();
        self.spans.resize(demand.drbs.len(), (0, 0));
    }

    /// Builds the tables of `ue`.
    pub(super) fn build(&mut self, demand: &RbDemand, ue: &UeDemand) {
        let most = ue.tbs[usize::from(demand.units.rbs())];
        for drb in ue.drbs.clone() {
            let sdus = demand.sdus_of(&demand.drbs[drb as usize]);
            let start = self.rows.len();
            if drb == ue.drbs.start {
                push_prefix(&mut self.rows, sdus, most);
            } else {
                self.prefix.clear();
                push_prefix(&mut self.prefix, sdus, most);
                self.merge(self.spans[drb as usize - 1], most);
            }
            self.spans[drb as usize] = (start as u32, self.rows.len() as u32);
        }
    }

    /// Adds a row: the row `before` merged with `prefix`.
    fn merge(&mut self, before: (u32, u32), most: u32) {
        let (from, start) = (before.0 as usize, self.rows.len());
        let length = before.1 as usize - from;
        self.rows.resize(start + length + self.prefix.len() - 1, u32::MAX);
        let (old, new) = self.rows.split_at_mut(start);
        let old = &old[from..from + length];
        for (k, &bytes) in self.prefix.iter().enumerate() {
            for (least, &rest) in new[k..].iter_mut().zip(old) {
                *least = (*least).min(rest.saturating_add(bytes));
            }
        }
        // More SDUs never need fewer bytes, so entries that do not fit are at the end.
        let fits = new.partition_point(|&bytes| bytes <= most);
        self.rows.truncate(start + fits);
    }

    /// Least bytes of 0, 1, 2, ... SDUs of `ue`, up to the capacity of the whole slot.
    pub(super) fn least(&self, ue: &UeDemand) -> &[u32] {
        let (start, end) = self.spans[ue.drbs.end as usize - 1];
        &self.rows[start as usize..end as usize]
    }

    /// Divides the `sdus` SDUs with the least bytes among the bearers of `ue`: adds the bytes of
    /// each to `bytes`.
    pub(super) fn divide(&self, demand: &RbDemand, ue: &UeDemand, sdus: usize, bytes: &mut [u32]) {
        let mut left = sdus;
        for drb in ue.drbs.clone().rev() {
            let target = self.row(drb)[left];
            let own = demand.sdus_of(&demand.drbs[drb as usize]);
            let (mut taken, mut sum) = (0, 0);
            if drb == ue.drbs.start {
                (taken, sum) = (left, target);
            } else {
                let before = self.row(drb - 1);
                while before
                    .get(left - taken)
                    .is_none_or(|&rest| rest.saturating_add(sum) != target)
                {
                    sum += own[taken];
                    taken += 1;
                }
            }
            left -= taken;
            bytes[drb as usize] += sum;
        }
    }

    fn row(&self, drb: u32) -> &[u32] {
        let (start, end) = self.spans[drb as usize];
        &self.rows[start as usize..end as usize]
    }

    /// Bytes of memory that the tables hold.
    pub(super) fn memory(&self) -> usize {
        size_of::<u32>() * (self.rows.capacity() + self.prefix.capacity())
            + size_of::<(u32, u32)>() * self.spans.capacity()
    }
}

/// Adds to `to` the bytes of the first 0, 1, 2, ... of `sdus`, up to `most`.
fn push_prefix(to: &mut Vec<u32>, sdus: &[u32], most: u32) {
    let start = to.len();
    to.resize(start + sdus.len() + 1, 0);
    let (mut sum, mut fits) = (0_u32, 1);
    for (at, &sdu) in to[start + 1..].iter_mut().zip(sdus) {
        sum = sum.saturating_add(sdu);
        if sum > most {
            break;
        }
        *at = sum;
        fits += 1;
    }
    to.truncate(start + fits);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_covers_all_tables() {
        let chains = Chains {
            rows: Vec::with_capacity(3),
            spans: Vec::with_capacity(5),
            prefix: Vec::with_capacity(7),
        };
        assert_eq!(chains.memory(), 3 * 4 + 5 * 8 + 7 * 4);
    }
}
