//! Allocations that leave a flow's windows as they are.
//!
//! Windows are whole segments, so most changes of a UE's capacity change the windows of few of its
//! flows. A window never falls when the allocation rises, so a flow keeps its windows for all
//! allocations of an interval. While a flow's allocation stays in its interval, an allocation of
//! its UE does not visit it; the flow gets its amount before its next event.

use crate::config::{AllocateIn, Cap, Config, RadioWindow, Released};
use crate::flow::Flow;
use crate::sample::Windows;
use crate::steps::Steps;
use justfull_base::Instant;

/// The last allocation of a UE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    /// The equal share.
    share: f64,
    /// The amount of a flow that is not slow.
    fast: f64,
    /// Seconds that the loops add.
    added: f64,
}

impl Granted {
    pub(crate) const NONE: Self = Self { share: 0.0, fast: 0.0, added: 0.0 };

    /// An allocation of an equal `share`, and of `extra` beside it for flows that are not slow.
    pub(crate) fn new(share: f64, extra: f64, added: f64) -> Self {
        Self { share, fast: (share + extra).max(0.0), added }
    }

    /// True if the loops added the same number of seconds in the other allocation.
    pub(crate) fn has_added(&self, other: &Self) -> bool {
        self.added.to_bits() == other.added.to_bits()
    }

    /// The amount of a flow.
    fn amount(&self, want: Option<f64>) -> f64 {
        want.map_or(self.fast, |want| want.min(self.share))
    }
}

/// The interval of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steady {
    from: f64,
    to: f64,
    /// The amount that the flow needs if it is slow.
    want: Option<f64>,
    /// The flow does not have its amount yet.
    due: bool,
}

impl Steady {
    /// No interval: each allocation visits the flow.
    pub(crate) const NEVER: Self =
        Self { from: f64::INFINITY, to: f64::NEG_INFINITY, want: None, due: false };

    /// True if allocations by `rules` have intervals. Others depend on more than the amount, or
    /// have windows in bytes.
    pub(crate) fn applies(rules: &Config) -> bool {
        rules.allocate_in == AllocateIn::Rate
            && rules.cap == Cap::Share
            && rules.released == Released::ShareLessNew
            && rules.radio_window == RadioWindow::RadioRtt
            && rules.unit.0 == 0
    }

    /// The interval of a flow with its present windows. `before` are its windows before the last
    /// change of its amount; if they differ, the next amount is likely to change them too.
    pub(crate) fn of(flow: &Flow, before: Windows, rules: &Config) -> Self {
        let want = flow.is_slow().then_some(flow.want);
        let interval = (flow.windows == before).then(|| flow.steps(rules)).flatten();
        let Some([server, radio]) = interval else { return Self { want, ..Self::NEVER } };
        let [one, other] = [server, radio].map(Steps::interval);
        Self { from: one[0].max(other[0]), to: one[1].min(other[1]), want, due: false }
    }

    /// What a slow flow leaves of an equal share; none if the flow is not slow.
    pub(crate) fn leaves(&self, share: f64) -> Option<f64> {
        self.want.map(|want| (share - want.min(share)).max(0.0))
    }

    /// True if the allocation leaves the flow's windows as they are. The flow then gets its amount
    /// by [`Steady::settle`].
    pub(crate) fn keeps(&mut self, granted: &Granted) -> bool {
        let amount = granted.amount(self.want);
        let keeps = self.from <= amount && amount <= self.to;
        self.due |= keeps;
        keeps
    }

    /// Gives the flow the amount of its UE's last allocation.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        flow: &mut Flow,
        granted: &Granted,
        rules: &Config,
    ) {
        if core::mem::take(&mut self.due) {
            let before = flow.windows;
            flow.grant(now, Some(granted.amount(self.want)), granted.added, true, rules);
            debug_assert_eq!(before, flow.windows, "the interval is wrong");
        }
    }

    /// True if the flow has not got its amount.
    #[cfg(test)]
    pub(crate) const fn is_due(&self) -> bool {
        self.due
    }

    /// An event changes more of the flow than its amount.
    pub(crate) const fn end(&mut self) {
        (self.from, self.to) = (f64::INFINITY, f64::NEG_INFINITY);
    }
}
