//! Claims in words.

use super::{Claim, Kind};
use crate::model::summary::Metric;

impl Claim {
    /// The claim in words, with its points of the sweep.
    pub(super) fn words_at(&self) -> String {
        let points = self.intervals.as_deref().unwrap_or_default().join(", ");
        format!("{}, {points}", self.words())
    }

    pub(super) fn words(&self) -> String {
        let slice = self.slice.map(|slice| format!("slice {slice}, "));
        let of = self.flow.as_ref().map(|flow| format!("{flow}, ")).or(slice).unwrap_or_default();
        let under = self.under.as_ref().map(|switch| format!(", {switch}")).unwrap_or_default();
        let on = format!("{of}{}, {}{under}", self.trace, self.scenario);
        let (method, what) = (&self.method, self.metric.words());
        match (self.kind, &self.base_scenario) {
            (Kind::Range, _) => format!("{method}: {what} ({on})"),
            (Kind::Ratio, Some(base)) => {
                format!("{method}: {what}, {} / {base} ({})", self.scenario, self.trace)
            }
            (Kind::Ratio, None) if self.base_flow.is_some() => {
                let [flow, base] =
                    [&self.flow, &self.base_flow].map(|f| f.as_deref().unwrap_or(""));
                format!(
                    "{method}: {what}, {flow} / {base} ({}, {}{under})",
                    self.trace, self.scenario
                )
            }
            (Kind::Ratio, None) if self.base_under.is_some() => {
                let switches = self.base_under.as_deref().filter(|switches| !switches.is_empty());
                let base = switches.unwrap_or("no switch");
                format!("{method}: {what}, over {} with {base} ({on})", self.base)
            }
            (Kind::Ratio, None) => format!("{method} / {}: {what} ({on})", self.base),
            (Kind::Order, _) => format!("{}: {what} ({on})", self.order.join(" < ")),
            (Kind::Dominates, _) => {
                let metrics: Vec<String> = Metric::CONTENDED
                    .iter()
                    .map(|m| format!("{} {}", m.words(), m.unit()))
                    .collect();
                format!("{}: {} ({on})", self.order.join(" dominates "), metrics.join(", "))
            }
            (Kind::Trend, _) if !self.base.is_empty() => {
                let (methods, base) = (self.order.join(", "), &self.base);
                format!("{methods} / {base}: {what}, first point < last ({on})")
            }
            (Kind::Trend, _) => {
                format!("{}: {what}, first point < last ({on})", self.order.join(", "))
            }
            (Kind::Change, _) => {
                let points = self.intervals.as_deref().unwrap_or_default().join(" to ");
                format!("{method}: change of {what} from {points} ({on})")
            }
        }
    }
}
