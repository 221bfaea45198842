//! Resource-block schedulers: decide the number of resource blocks of each UE in a slot, and the
//! number of bytes of each bearer.
//!
//! A slice is an agreed share of the cell (A21 section IV-B). Shares are counted in millionths, so
//! that "floor of 29 % of 100 blocks" is 29 on every machine.

mod eqp;
mod fixed_partition;
mod proportional_fair;
mod round_robin;

pub use eqp::{EqpBlocks, EqpCredit, EqpInflation, EqpRoom, EqpStats};

use crate::rb_demand::{RbAllocation, RbDemand, RbUnits, UeServed};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Instant, Ratio, forwarded, kinds};

/// Shares are multiples of one part in this many.
pub const SHARE_PARTS: u32 = 1_000_000;

kinds! {
    $ each;

    /// Which scheduler, with its settings.
    #[derive(Clone, Debug, PartialEq)]
    pub enum RbSchedulerConfig = RoundRobin;

    /// One of the schedulers, an enum so that calls are static, or a user's own. The slices have
    /// the given shares of the cell.
    pub enum AnyRbScheduler(shares: &[Ratio]) or Box<dyn RbScheduler + Send>;

    "fixed_partition" FixedPartition = fixed_partition::{FixedPartition, FixedPartitionConfig};
    "round_robin" RoundRobin = round_robin::{RbRoundRobin, RbRoundRobinConfig};
    "proportional_fair" ProportionalFair =
        proportional_fair::{ProportionalFair, ProportionalFairConfig};
    "eqp" Eqp = eqp::{Eqp in Box, EqpConfig};
}

forwarded! {
    by each for AnyRbScheduler;

    /// Allocates the resource blocks of a slot.
    pub trait RbScheduler {
        /// Fills `out` for the slot of `demand`. Slots come in order of time; slots without demand
        /// may be skipped.
        fn schedule(&mut self, demand: &RbDemand, out: &mut RbAllocation);

        /// True if it decides by the SDUs of each bearer ([`RbDemand::sdus`]), not only by its
        /// backlog.
        fn wants_sdus(&self) -> bool {
            true
        }

        /// The units that a UE of slice `slice` gets of a slot with `units`, if the UE is alone and
        /// its only bearer has more data than all units carry. The result equals
        /// [`Self::schedule`]'s, without a list of the demand. None if the demand must be listed.
        fn schedule_sole(&mut self, ue: u32, slice: u16, units: RbUnits) -> Option<RbUnits> {
            let _ = (ue, slice, units);
            None
        }

        /// Serves `ues`, in ascending order, each of which needs one block, with a full unit for
        /// each. If [`Self::schedule`] would give each one unit, does so and returns true;
        /// otherwise does nothing and returns false.
        fn schedule_one_each(&mut self, ues: &[u32], units: RbUnits) -> bool {
            let _ = (ues, units);
            false
        }

        /// Called at `now` with the data that the UEs with a grant sent.
        fn on_served(&mut self, now: Instant, served: &[UeServed]) {
            let _ = (now, served);
        }

        /// Resource blocks that slice `slice` has lent (positive) or borrowed (negative) so far;
        /// none if slices do not lend or there is no such slice.
        fn quantum(&self, slice: usize) -> Option<f64> {
            let _ = slice;
            None
        }
    }
}

/// Shares in millionths, each rounded to the nearest.
///
/// # Errors
/// `slice` if there is none; `slice[i].share` if it is not above 0 and at most 1, or makes the sum
/// exceed 1.
pub fn share_parts(shares: &[Ratio]) -> Result<Vec<u32>, ConfigError> {
    const SOURCE: &str = "slices divide what the cell offers";
    ensure((1..=1024).contains(&shares.len()), "slice", &shares.len(), "1 to 1024 slices", SOURCE)?;
    let mut sum = 0;
    let mut parts = Vec::with_capacity(shares.len());
    for (i, share) in shares.iter().enumerate() {
        let field = format!("slice[{i}].share");
        // NaN fails the comparison too.
        let ok = share.0 >= 0.5 / f64::from(SHARE_PARTS) && share.0 <= 1.0;
        ensure(ok, &field, share, "at least 0.000001, at most 1", SOURCE)?;
        let part = (share.0 * f64::from(SHARE_PARTS) + 0.5) as u32;
        sum += part;
        ensure(sum <= SHARE_PARTS, &field, share, "a sum over all slices of at most 1", SOURCE)?;
        parts.push(part);
    }
    Ok(parts)
}

/// `floor(share x rbs)` with the share in millionths.
fn floor_of_share(part: u32, rbs: u16) -> u16 {
    (u64::from(part) * u64::from(rbs) / u64::from(SHARE_PARTS)) as u16
}

/// Checks every allocation of a scheduler: no unit is given twice, and no bearer gets more than its
/// backlog or than its UE's transport block carries. Costs two additions per UE and bearer, so it
/// is always on.
pub struct CheckedRbScheduler {
    inner: AnyRbScheduler,
}

impl CheckedRbScheduler {
    /// A checker of the allocations of `inner`.
    #[must_use]
    pub fn new(inner: AnyRbScheduler) -> Self {
        Self { inner }
    }

    /// A scheduler in the same state, if its kind can be compared.
    #[cfg(debug_assertions)]
    pub(crate) fn twin(&self) -> Option<AnyRbScheduler> {
        match &self.inner {
            AnyRbScheduler::RoundRobin(s) => Some(AnyRbScheduler::RoundRobin(s.clone())),
            AnyRbScheduler::ProportionalFair(s) => {
                Some(AnyRbScheduler::ProportionalFair(s.clone()))
            }
            AnyRbScheduler::FixedPartition(s) => Some(AnyRbScheduler::FixedPartition(s.clone())),
            _ => None,
        }
    }
}

impl RbScheduler for CheckedRbScheduler {
    /// # Panics
    /// If the scheduler allocates more than is available, or the caller breaks the order stated in
    /// [`RbDemand`].
    fn schedule(&mut self, demand: &RbDemand, out: &mut RbAllocation) {
        assert!(
            demand.ues.windows(2).all(|pair| pair[0].ue < pair[1].ue),
            "UEs come in ascending order"
        );
        self.inner.schedule(demand, out);
        check(demand, out);
    }

    fn wants_sdus(&self) -> bool {
        self.inner.wants_sdus()
    }

    /// # Panics
    /// If the scheduler allocates more than is available.
    #[inline]
    fn schedule_sole(&mut self, ue: u32, slice: u16, units: RbUnits) -> Option<RbUnits> {
        let given = self.inner.schedule_sole(ue, slice, units)?;
        let whole =
            given.size() == units.size() && (given.short() == 0 || given.short() == units.short());
        assert!(whole && given.full() <= units.full(), "UE {ue} was given {given:?} of {units:?}");
        Some(given)
    }

    /// # Panics
    /// If the scheduler allocates more than is available.
    fn schedule_one_each(&mut self, ues: &[u32], units: RbUnits) -> bool {
        assert!(ues.len() <= usize::from(units.full()), "a full unit for each UE");
        self.inner.schedule_one_each(ues, units)
    }

    fn on_served(&mut self, now: Instant, served: &[UeServed]) {
        self.inner.on_served(now, served);
    }

    fn quantum(&self, slice: usize) -> Option<f64> {
        self.inner.quantum(slice)
    }
}

/// Panics unless `out` is a valid allocation for `demand`.
fn check(demand: &RbDemand, out: &RbAllocation) {
    let (grants, bytes, units) = (out.grants(), out.bytes(), demand.units);
    assert_eq!(
        (grants.len(), bytes.len()),
        (demand.ues.len(), demand.drbs.len()),
        "an answer for everybody"
    );
    let (mut full, mut short) = (0_u32, 0_u32);
    for (ue, grant) in demand.ues.iter().zip(grants) {
        let (given, blocks) = (u32::from(grant.units), u32::from(grant.rbs));
        // All units are full except one, which may be the short one.
        let with_short = u32::from(blocks != given * u32::from(units.size()));
        full += given - with_short;
        short += with_short;
        let expected =
            (given - with_short) * u32::from(units.size()) + with_short * u32::from(units.short());
        assert_eq!(blocks, expected, "UE {} was given whole units", ue.ue);
        let carried = u64::from(ue.tbs[usize::from(grant.rbs)]);
        let own = ue.drbs.start as usize..ue.drbs.end as usize;
        let given: u64 = bytes[own.clone()].iter().map(|&b| u64::from(b)).sum();
        assert!(given <= carried, "UE {}: {given} B in a transport block of {carried} B", ue.ue);
        let fits = bytes[own.clone()]
            .iter()
            .zip(&demand.drbs[own])
            .all(|(&b, drb)| u64::from(b) <= drb.backlog);
        assert!(fits, "UE {}: no bearer is given more than it has", ue.ue);
    }
    assert!(full <= u32::from(units.full()), "{full} full units of {}", units.full());
    assert!(short <= u32::from(units.short() > 0), "the short unit is given once");
    let used = out.rbs() + u32::from(out.withheld());
    assert!(used <= u32::from(units.rbs()), "{used} blocks of {} used or withheld", units.rbs());
}

/// Gives units to UEs in turn, one at a time, until none is free or no UE needs more. The next slot
/// begins with the UE after the last served one.
#[derive(Clone, Debug, Default)]
struct Turns {
    /// Number of the UE that comes first.
    next: u32,
    /// Index of a UE that needs more, and the number of blocks that it still needs.
    waiting: Vec<(u32, u16)>,
}

impl Turns {
    /// The UE at `index` of the demand takes part in this slot. Call in ascending order.
    fn join(&mut self, demand: &RbDemand, index: usize) {
        let needed = demand.rbs_needed(index);
        if needed > 0 {
            self.waiting.push((index as u32, needed));
        }
    }

    /// Allocates `units` to the UEs that joined, and removes them.
    fn serve(&mut self, mut units: RbUnits, demand: &RbDemand, out: &mut RbAllocation) {
        let first = self.waiting.partition_point(|&(i, _)| demand.ues[i as usize].ue < self.next);
        self.waiting.rotate_left(first);
        while !self.waiting.is_empty() && units.count() > 0 {
            self.waiting.retain_mut(|(index, needed)| {
                let rbs = units.take();
                if rbs > 0 {
                    out.give(*index as usize, rbs);
                    self.next = demand.ues[*index as usize].ue.wrapping_add(1);
                    *needed = needed.saturating_sub(rbs);
                }
                *needed > 0
            });
        }
        self.waiting.clear();
    }

    /// Has the same effect as if `ues`, in ascending order, had each joined for one unit and been
    /// served.
    fn serve_one_each(&mut self, ues: &[u32]) {
        let first = ues.partition_point(|&ue| ue < self.next);
        let last = first.checked_sub(1).map_or(ues.last(), |before| ues.get(before));
        self.next = last.map_or(self.next, |ue| ue.wrapping_add(1));
    }

    /// Has the same effect as if UE `ue` had joined alone for more than `units` and been served.
    #[inline]
    fn serve_sole(&mut self, ue: u32, units: RbUnits) {
        if units.count() > 0 {
            self.next = ue.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
