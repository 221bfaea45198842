//! TwoSlots: a limiter of one's own, for the RLC queues of justfull.
//!
//! Idea: the queue of a bearer may hold twice what its latest slot with data took. While the radio
//! takes all there is, the limit doubles from slot to slot; when it takes less, the limit falls.

#![forbid(unsafe_code)]

use justfull_base::{Duration, Instant, SlotReport};
use justfull_lab::own::OwnMethod;
use justfull_ran::limiter::{CapacityUnit, GrantContext, Limiter, RlcView};

/// One for each bearer. Amounts are in the unit in which the MAC grants.
#[derive(Debug)]
pub struct TwoSlots {
    unit: CapacityUnit,
    least: u64,
    limit: u64,
}

impl TwoSlots {
    /// A limiter for the bearer of `context`.
    #[must_use]
    pub fn new(context: &GrantContext) -> Self {
        Self {
            unit: context.unit,
            least: context.amount(2),
            limit: context.amount(8),
        }
    }
}

impl Limiter for TwoSlots {
    fn unit(&self) -> CapacityUnit {
        self.unit
    }

    fn room(&mut self, _now: Instant, queue: &RlcView) -> u64 {
        self.limit.saturating_sub(queue.backlog(self.unit))
    }

    fn overdraws(&self) -> bool {
        true
    }

    fn on_admitted(&mut self, _now: Instant, _amount: u64, _queue: &RlcView) {}

    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}

    fn on_slot(&mut self, report: &SlotReport) {
        if report.used > 0 {
            self.limit = (2 * report.used).max(self.least);
        }
    }
}

/// The method that has it: Vanilla with this limiter.
#[must_use]
pub fn method() -> OwnMethod {
    OwnMethod::limiter("TwoSlots", |context| Ok(TwoSlots::new(context)))
}
