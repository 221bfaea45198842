//! A limiter that gets the reports of a remote RLC late.
//!
//! Source: TS 38.401 section 6.1 (CU and DU), TS 38.425 section 5.4.2 (downlink data delivery
//! status): the DU reports the departed data to the CU, and the CU itself counts the data that it
//! sent. So the limiter's RLC backlog is all data that entered minus the data that had left by the
//! last reported slot.

use super::{AnyLimiter, CapacityUnit, Limiter, RlcView};
use alloc::collections::VecDeque;
use justfull_base::{Duration, Instant, SlotReport};

/// A limiter with delayed reports. It keeps a report for each slot of the delay.
pub(crate) struct Late {
    limiter: AnyLimiter,
    delay: Duration,
    /// Total amount that entered.
    entered: u64,
    /// Amount that had left, by the limiter's knowledge.
    left: u64,
    /// Reports in transit, each with the amount that had left by then.
    coming: VecDeque<(u64, SlotReport)>,
}

impl Late {
    /// `limiter` with reports that arrive `delay` later.
    pub(crate) fn new(limiter: AnyLimiter, delay: Duration) -> Self {
        Self { limiter, delay, entered: 0, left: 0, coming: VecDeque::new() }
    }

    /// Gives the limiter the reports that have arrived, and returns its view of `queue`.
    fn known(&mut self, now: Instant, queue: &RlcView) -> RlcView {
        while let Some((left, report)) = self.coming.front()
            && report.pulled_at + self.delay <= now
        {
            self.left = *left;
            self.limiter.on_slot(report);
            self.coming.pop_front();
        }
        let backlog = self.entered - self.left;
        match self.limiter.unit() {
            CapacityUnit::Packets => RlcView { packets: backlog, ..*queue },
            CapacityUnit::Bytes => RlcView { bytes: backlog, ..*queue },
        }
    }
}

impl Limiter for Late {
    fn unit(&self) -> CapacityUnit {
        self.limiter.unit()
    }

    fn room(&mut self, now: Instant, queue: &RlcView) -> u64 {
        let known = self.known(now, queue);
        self.limiter.room(now, &known)
    }

    fn overdraws(&self) -> bool {
        self.limiter.overdraws()
    }

    fn on_admitted(&mut self, now: Instant, amount: u64, queue: &RlcView) {
        self.entered += amount;
        let known = self.known(now, queue);
        self.limiter.on_admitted(now, amount, &known);
    }

    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}

    fn on_slot(&mut self, report: &SlotReport) {
        self.coming.push_back((self.entered - report.remaining.min(self.entered), *report));
    }

    /// True because reports arrive with time.
    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::{FixedConfig, GrantContext, LimiterConfig};
    use justfull_queue::Limit;

    #[test]
    fn what_left_is_known_when_its_report_arrives() {
        let context =
            GrantContext { unit: CapacityUnit::Packets, slot: Duration::from_millis(1), mtu: 1500 };
        let ten = FixedConfig { limit: Limit::Packets(10), overdraw: true };
        let fixed = AnyLimiter::new(&LimiterConfig::Fixed(ten), &context).expect("in bounds");
        let mut late = Late::new(fixed, Duration::from_millis(5));
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let queue = |packets| RlcView { packets, bytes: packets * 1500 };
        for n in 1..=4 {
            late.on_admitted(at(0), 1, &queue(n));
        }
        assert_eq!(late.room(at(0), &queue(4)), 6);
        // Three leave at 1 ms; the limiter gets the report at 6 ms.
        late.on_slot(&SlotReport { pulled_at: at(1), remaining: 1, ..SlotReport::default() });
        late.on_admitted(at(2), 1, &queue(2));
        assert_eq!([1, 2, 5].map(|ms| late.room(at(ms), &queue(2))), [5, 5, 5]);
        assert_eq!(late.room(at(6), &queue(2)), 8);
        assert!(late.coming.is_empty());
    }
}
