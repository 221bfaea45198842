//! Proportional fair: the UE with the highest current rate relative to its mean rate goes first.
//!
//! Source: Jalali, Padovani, Pankaj, "Data throughput of CDMA-HDR, a high efficiency-high data rate
//! personal communication wireless system", VTC 2000 (the scheduler); Kelly, Maulloo, Tan 1998 (its
//! aim: the greatest sum of logarithms of rates). UEs are served in falling order of `r / T`, each
//! with all the units it needs. `r` is the bytes that the whole slot would carry at its MCS; `T` is
//! its mean rate, exponentially weighted over `window`.
//!
//! `T` decays with time, not with slots, so that a window means the same in every numerology: at a
//! slot `d` after the last one, `T = T exp(-d / window) + bytes / window`. An unserved UE costs no
//! time (its decay is applied when it is next considered). Default window 100 ms: short against
//! seconds of traffic, long against fading. 16 bytes per UE.
//!
//! Weaknesses: no bound on delay; a UE that was idle comes first until its mean has grown.
//! Deviations from the source: time instead of slots (above); the rate is the whole slot's, since
//! the channel here is flat over the carrier; slices are ignored.

use super::{RbScheduler, share_parts};
use crate::rb_demand::{RbAllocation, RbDemand, RbUnits, UeServed};
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Ratio, params};

params! {
    /// Settings of [`ProportionalFair`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ProportionalFairConfig: "a mean over several slots" {
        /// Time constant of the mean rate.
        window: Duration = Duration::from_millis(100),
            within(Duration::from_millis(1), Duration::from_secs(3600));
    }
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "proportional_fair",
    kind: "resource block scheduler",
    title: "The UE first whose rate now is highest against its mean rate",
    text: "UEs are served in falling order of the bytes that the slot would carry for them over \
           their mean rate, each with all that it needs; slices do not count. The bearers of a UE \
           share its transport block in equal parts.",
    sources: "Jalali, Padovani, Pankaj 2000",
    deviations: "the mean decays with time instead of slots; the whole slot counts as the rate",
    params: ProportionalFairConfig::params,
};

/// UEs of a page of means: a cell of several has UEs of neighbouring numbers.
const PAGE: usize = 32;

/// Mean rate of a UE.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    /// Bytes per second at `at`.
    rate: f64,
    at: Instant,
}

/// The proportional fair scheduler.
#[derive(Clone, Debug)]
pub struct ProportionalFair {
    /// Seconds.
    window: f64,
    /// Means by UE number: pages of [`PAGE`] UEs, none if no UE of the page has been served.
    means: Vec<Option<Box<[Mean; PAGE]>>>,
    /// Bits of `r / T` and index of each UE; kept for its memory.
    order: Vec<(u64, Reverse<u32>)>,
}

impl ProportionalFair {
    /// A scheduler that has served no UE.
    ///
    /// # Errors
    /// The window or the share outside its bounds.
    pub fn new(config: &ProportionalFairConfig, shares: &[Ratio]) -> Result<Self, ConfigError> {
        config.validate()?;
        share_parts(shares)?;
        Ok(Self { window: config.window.as_secs_f64(), means: Vec::new(), order: Vec::new() })
    }

    /// Mean rate of `ue` at `now`, bytes per second.
    fn mean(&self, ue: u32, now: Instant) -> f64 {
        let page = self.means.get(ue as usize / PAGE).and_then(Option::as_ref);
        let Some(mean) = page.map(|page| page[ue as usize % PAGE]) else { return 0.0 };
        mean.rate * libm::exp(-now.since(mean.at).as_secs_f64() / self.window)
    }
}

impl RbScheduler for ProportionalFair {
    fn schedule(&mut self, demand: &RbDemand, out: &mut RbAllocation) {
        out.clear(demand);
        let mut units = demand.units;
        let all = usize::from(units.rbs());
        self.order.clear();
        for (index, ue) in demand.ues.iter().enumerate() {
            // A mean below one byte per second carries no information: only the current rate counts
            // for such UEs.
            let metric = f64::from(ue.tbs[all]) / self.mean(ue.ue, demand.now).max(1.0);
            // Positive floats sort like their bits.
            self.order.push((metric.to_bits(), Reverse(index as u32)));
        }
        // A heap is built in one pass, and only the served UEs are popped.
        let mut heap = BinaryHeap::from(core::mem::take(&mut self.order));
        while units.count() > 0 {
            let Some((_, Reverse(index))) = heap.pop() else { break };
            let index = index as usize;
            let needed = demand.rbs_needed(index);
            while units.count() > 0 && out.grant(index).rbs < needed {
                out.give(index, units.take());
            }
            if out.grant(index).units > 0 {
                out.split_in_turn(demand, index);
            }
        }
        self.order = heap.into_vec();
    }

    fn wants_sdus(&self) -> bool {
        false
    }

    fn schedule_sole(&mut self, _ue: u32, _slice: u16, units: RbUnits) -> Option<RbUnits> {
        Some(units)
    }

    fn schedule_one_each(&mut self, _ues: &[u32], _units: RbUnits) -> bool {
        true
    }

    fn on_served(&mut self, now: Instant, served: &[UeServed]) {
        for one in served {
            let rate = self.mean(one.ue, now) + f64::from(one.bytes) / self.window;
            let (page, place) = (one.ue as usize / PAGE, one.ue as usize % PAGE);
            if page >= self.means.len() {
                self.means.resize(page + 1, None);
            }
            let page = self.means[page].get_or_insert_default();
            page[place] = Mean { rate, at: now };
        }
    }
}
