//! The events of a run between two updates.

use super::last::Seen;
use justfull_base::{DropReason, Instant, Layer};
use justfull_live::driver::{Counts, Sojourns};
use std::fmt::Write;

/// The counts at the last update.
pub(super) struct Before {
    pub(super) at: Instant,
    bytes: u64,
    missed: u64,
    counts: Counts,
    delays: [Sojourns; 2],
}

/// The changes since the last update.
pub(super) struct Change {
    /// Rate of delivery to the UEs, in Mbit/s.
    pub(super) rate: f64,
    /// Used share of the cell's capacity.
    pub(super) used: f64,
    /// Number of late slots.
    pub(super) missed: u64,
    /// Drops and marks.
    pub(super) counts: Counts,
    /// Sojourn times in the stack of low-latency flows, and of the others.
    pub(super) delays: [Sojourns; 2],
}

impl Before {
    /// The start of a run.
    pub(super) fn new() -> Self {
        Self {
            at: Instant::ZERO,
            bytes: 0,
            missed: 0,
            counts: Counts::default(),
            delays: [Sojourns::default(); 2],
        }
    }

    /// The changes from the last update to `seen`; none if nothing is new.
    pub(super) fn change(&mut self, seen: &Seen) -> Option<Change> {
        let Seen { now, view, .. } = seen;
        if *now <= self.at {
            return None;
        }
        let (counts, before) = (&view.counts, &self.counts);
        let mut since = Counts {
            slots: counts.slots - before.slots,
            offered: counts.offered - before.offered,
            used: counts.used - before.used,
            rlc_bytes: counts.rlc_bytes,
            ..*counts
        };
        for layer in 0..before.drops.len() {
            let dropped = since.drops[layer].iter_mut().zip(before.drops[layer]);
            dropped.for_each(|(now, then)| *now -= then);
            since.marks[layer] -= before.marks[layer];
            since.sojourn[layer] = counts.sojourn[layer].since(&before.sojourn[layer]);
        }
        let mut delays = [Sojourns::default(); 2];
        for flows in &view.names {
            delays[usize::from(!flows.low_latency)].add(&flows.delay);
        }
        let change = Change {
            rate: (view.down.delivered_bytes - self.bytes) as f64 * 8e-6
                / now.since(self.at).as_secs_f64(),
            used: since.used as f64 / (since.offered as f64).max(1.0),
            missed: view.lateness.missed - self.missed,
            counts: since,
            delays: [0, 1].map(|of| delays[of].since(&self.delays[of])),
        };
        *self = Self {
            at: *now,
            bytes: view.down.delivered_bytes,
            missed: view.lateness.missed,
            counts: *counts,
            delays,
        };
        Some(change)
    }
}

/// Drops by layer and reason, and marks by layer, since the start.
pub(super) fn drops(counts: &Counts) -> String {
    let mut text = String::new();
    for (i, layer) in Layer::ALL.into_iter().enumerate() {
        let reasons = DropReason::ALL.into_iter().zip(counts.drops[i]).filter(|(_, n)| *n > 0);
        for (reason, n) in reasons {
            let _ok = write!(text, "  {} {}: {n}", layer.name(), reason.name());
        }
        if counts.marks[i] > 0 {
            let _ok = write!(text, "  {} marked: {}", layer.name(), counts.marks[i]);
        }
    }
    if text.is_empty() { "  none".into() } else { text }
}
