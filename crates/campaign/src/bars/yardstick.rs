//! The figures of a method in a case, beside those of the reference and of low-latency flows alone.

use super::floors::OfFloor;
use super::{Figures, Flow, LACKING, SLOT_MS, elastic};
use std::collections::BTreeMap;

/// The reference values for the runs of a case.
pub(super) struct Yardstick {
    goodput_mbit_s: f64,
    page_ms: Option<f64>,
    /// The shortest round trip of each flow under any method.
    base_ms: BTreeMap<String, f64>,
    /// Under some method several downloads share a cell.
    shared: bool,
    /// The low-latency flows alone, by name.
    alone: BTreeMap<String, Flow>,
}

impl Yardstick {
    pub(super) fn of<'a>(
        reference: &[Flow],
        alone: &[Flow],
        all: impl Iterator<Item = &'a Vec<Flow>>,
    ) -> Self {
        let (mut page_ms, mut base_ms, mut shared) = (None::<f64>, BTreeMap::new(), false);
        for flow in all.flatten() {
            shared |= jain_of(flow).is_some();
            page_ms = flow.page_ms.map(|ms| page_ms.map_or(ms, |least| least.min(ms))).or(page_ms);
            if let Some(ms) = flow.rtt_ms_min {
                let least = base_ms.entry(flow.name.clone()).or_insert(ms);
                *least = f64::min(*least, ms);
            }
        }
        let alone = alone.iter().filter(|flow| flow.low_latency);
        let alone = alone.map(|flow| (flow.name.clone(), flow.clone())).collect();
        Self { goodput_mbit_s: elastic(reference), page_ms, base_ms, shared, alone }
    }

    pub(super) fn hold(&self, flows: &[Flow]) -> Figures {
        let low = || flows.iter().filter(|flow| flow.low_latency);
        let downloads =
            || flows.iter().filter(|flow| ["download", "far"].contains(&flow.name.as_str()));
        let over = |value: f64, whole: f64| (whole > 0.0).then(|| value / whole);
        let alone = |flow: &Flow| self.alone.get(&flow.name);
        let delay = |flow: &Flow| {
            let alone_ms = alone(flow)?.delay_ms_p99?;
            Some(flow.delay_ms_p99.map_or(LACKING, |ms| (ms - SLOT_MS).max(0.0) / alone_ms))
        };
        let loss = |flow: &Flow| {
            let lossless = alone(flow)?.dropped == 0.0;
            over(100.0 * flow.dropped, flow.entered).filter(|_| lossless)
        };
        let frames = |flow: &Flow| over(flow.frames_completed, alone(flow)?.frames_completed);
        let growth = |flow: &Flow| {
            let base_ms = self.base_ms.get(&flow.name)?;
            Some(flow.rtt_ms_p95.map_or(LACKING, |ms| ms - base_ms))
        };
        let bound = || flows.iter().find_map(|flow| flow.floor.goodput_mbit_s);
        let page = flows.iter().find_map(|flow| flow.page_ms);
        let jain = flows.iter().find_map(jain_of);
        Figures {
            delay: low().filter_map(delay).reduce(f64::max),
            loss_percent: low().filter_map(loss).reduce(f64::max),
            goodput: over(elastic(flows), self.goodput_mbit_s),
            goodput_bound: bound().and_then(|most| over(most, self.goodput_mbit_s)),
            round_trip_ms: downloads().filter_map(growth).reduce(f64::max),
            page: self.page_ms.map(|least| page.map_or(LACKING, |ms| ms / least)),
            frames: low().filter_map(frames).reduce(f64::min),
            jain: jain.or(self.shared.then_some(0.0)),
            of_floor: OfFloor::of(flows),
        }
    }
}

/// Jain's index, if `flow` is the flow of the equal downloads.
fn jain_of(flow: &Flow) -> Option<f64> {
    flow.jain.filter(|_| flow.name == "download")
}
