//! The results of a run that has ended.

use super::class::Class;
use super::{Bin, LayerCount, Recorder};
use crate::results::{CellResult, FlowResult, LayerResult, Series, SliceResult, WITHIN_MS};
use crate::times::Times;
use justfull_base::{DropReason, Layer};

impl Recorder {
    /// The results of slices that lend each other blocks and have these `shares`.
    pub fn slices(&self, shares: &[f64]) -> Vec<SliceResult> {
        // A cell without slices is one slice with a share of 1.
        let share = |i: usize| shares.get(i).copied().unwrap_or(1.0);
        self.slices.iter().enumerate().map(|(i, slice)| slice.finish(i as u32, share(i))).collect()
    }

    /// The flows' results.
    pub fn flows(&self) -> Vec<FlowResult> {
        let shares = self.shares();
        let finish = |(i, class): (usize, &Class)| {
            let (variation, pairs) = class.variation;
            let of_pairs = |sum_ns: f64| (pairs > 0).then(|| sum_ns / pairs as f64 * 1e-6);
            let mut result = FlowResult {
                ipdv_mean_ms: of_pairs(variation as f64),
                jitter_mean_ms: of_pairs(class.jitter_sum),
                delay: class.delay.finish(),
                within_percent: WITHIN_MS.map(|ms| {
                    100.0 * class.delay.within(ms) as f64
                        / class.result.delivered_packets.max(1) as f64
                }),
                to_ue: class.to_ue.as_ref().map(Times::finish).unwrap_or_default(),
                bound: class.bound.as_ref().map(Times::finish).unwrap_or_default(),
                rtt: class.rtt.as_ref().map(Times::finish).unwrap_or_default(),
                proxy: class.proxy.as_ref().map(|times| times.finish()),
                rlc_packets_at_entry_mean: class.rlc_backlog_sum as f64
                    / class.sdap_entries.max(1) as f64,
                ..class.result.clone()
            };
            class.app.finish(&mut result);
            shares[i].finish(class.goodput_bytes, self.end, &mut result);
            self.finish_transfers(i, &mut result);
            result
        };
        self.classes.iter().enumerate().map(finish).collect()
    }

    /// The layers' results.
    pub fn layers(&self) -> Vec<LayerResult> {
        let finish = |(layer, count): (Layer, &LayerCount)| LayerResult {
            layer: layer.name().into(),
            low_latency_sojourn: count.low_latency.finish(),
            other_sojourn: count.other.finish(),
            drops: DropReason::ALL
                .iter()
                .zip(count.drops)
                .filter(|(_, n)| *n > 0)
                .map(|(reason, n)| (reason.name().into(), n))
                .collect(),
            marks: count.marks,
            backlog_packets_mean: count.backlog_sum as f64 / self.slots.max(1) as f64,
        };
        Layer::ALL.into_iter().zip(&self.layers).map(finish).collect()
    }

    /// Upper bound of the bytes that the radio can have brought to UEs in the window: the units
    /// used by its slots, plus the units that earlier slots had in transit, plus one `mtu` for each
    /// of at most `begun` SDUs that were partly sent. A used unit carries at most `per_unit` bytes.
    pub fn most_carried(&self, per_unit: u64, begun: u64, mtu: u32) -> u64 {
        let used = (self.used + self.used_before).saturating_mul(per_unit);
        used.saturating_add(self.held_before).saturating_add(begun * u64::from(mtu))
    }

    /// The radio's results.
    pub fn cell(&self, unit: &str) -> CellResult {
        CellResult {
            unit: unit.into(),
            offered: self.offered,
            used: self.used,
            utilisation: if self.offered == 0 {
                0.0
            } else {
                self.used as f64 / self.offered as f64
            },
            slots: self.slots,
            starved_slots: self.starved_slots,
        }
    }

    /// State over time.
    pub fn series(&self) -> Series {
        // A run that ended early has no state after its end.
        let bins = &self.series[..self.bins.until(self.end)];
        let per_slot = |f: &dyn Fn(&Bin) -> u64| {
            bins.iter().map(|b| f(b) as f64 / b.slots.max(1) as f64).collect()
        };
        let bin_s = self.bins.width.as_secs_f64();
        let in_one = self.bins.in_one_of_flows();
        let (width, count) = (self.bins.width.times(in_one as u64), bins.len().div_ceil(in_one));
        let flow = |class: &Class| {
            let (name, received) = (&class.result.name, class.received_bytes);
            Some(class.followed()?.finish(name, received, width, count))
        };
        Series {
            bin_s,
            flow_bin_s: width.as_secs_f64(),
            flows: self.classes.iter().filter_map(flow).collect(),
            capacity_per_slot: per_slot(&|b| b.capacity),
            upf_packets: per_slot(&|b| b.backlog[0]),
            sdap_packets: per_slot(&|b| b.backlog[1]),
            rlc_packets: per_slot(&|b| b.backlog[2]),
            rlc_bytes: per_slot(&|b| b.rlc_bytes),
            delivered_mbit_s: bins
                .iter()
                .map(|b| b.delivered_bytes as f64 * 8e-6 / bin_s)
                .collect(),
        }
    }
}
