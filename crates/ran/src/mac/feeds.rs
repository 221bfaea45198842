//! Delivery reports of a DU for the AQMs of SDAP's queues, beside the reports for limiters.
//!
//! The DU reports the data that has left a bearer (TS 38.425 section 5.4.2), at the times and with
//! the delay and loss of the way between CU and DU. A report is read at the end of the first slot
//! after its arrival, and keeps the instant of its arrival. Data that the RLC drops has left it.

use crate::bearer::{Bearer, BearerId};
use crate::gate::Gate;
use crate::limiter::Apart;
use alloc::collections::VecDeque;
use justfull_base::Instant;
use justfull_queue::Count;

/// The reports on one bearer.
pub(crate) struct Feed {
    pub(crate) id: BearerId,
    apart: Option<Apart>,
    /// All data that had left by the last arrived report.
    left: Count,
    /// Reports on the way, each with its arrival and the data that had left by then.
    coming: VecDeque<(Instant, Count)>,
}

impl Feed {
    /// The reports on bearer `id` over the way `apart`; at once after each slot without it.
    pub(crate) fn new(id: BearerId, apart: Option<Apart>) -> Self {
        let apart = apart.map(|apart| apart.of_bearer(id.drb));
        Self { id, apart, left: Count::default(), coming: VecDeque::new() }
    }

    /// A slot of `bearer` ends at `now`; `under_way` is the data on its way to the DU. Passes the
    /// reports that have arrived to the queues of `gate`.
    pub(crate) fn after_slot(
        &mut self,
        now: Instant,
        bearer: &Bearer,
        under_way: Count,
        gate: &mut Gate,
    ) {
        let (entered, waits) = (bearer.queue().counters().arrived, bearer.view());
        let left =
            Count { packets: entered.packets - waits.packets, bytes: entered.bytes - waits.bytes };
        self.report(now, left);
        while let Some(&(at, left)) = self.coming.front()
            && at <= now
        {
            self.coming.pop_front();
            let before = core::mem::replace(&mut self.left, left);
            let freed =
                Count { packets: left.packets - before.packets, bytes: left.bytes - before.bytes };
            let below = entered.bytes + under_way.bytes - left.bytes;
            gate.report_delivery(at, self.id.drb, freed, below);
        }
    }

    /// The DU has sent `left` in all.
    fn report(&mut self, now: Instant, left: Count) {
        let Some(apart) = &self.apart else { return self.coming.push_back((now, left)) };
        let made = apart.report_from(now);
        if apart.loses(made) {
            return;
        }
        let at = apart.arrival(made);
        // A report has the state after the last slot before it.
        match self.coming.back_mut().filter(|(last, _)| *last == at) {
            Some(last) => last.1 = left,
            None => self.coming.push_back((at, left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::F1Config;
    use justfull_base::{Duration, Ratio};
    use std::vec::Vec;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// The arrivals in us, and the packets, of the reports after slots of 500 us that free one
    /// packet each.
    fn reports(f1: &F1Config) -> Vec<(u64, u64)> {
        let id = BearerId { ue: 0, drb: 0 };
        let mut feed = Feed::new(id, Apart::of(Duration::ZERO, f1, 1));
        for slot in 1..=12 {
            feed.report(at(500 * slot), Count { packets: slot, bytes: 1000 * slot });
        }
        feed.coming.iter().map(|(at, left)| (at.as_nanos() / 1000, left.packets)).collect()
    }

    #[test]
    fn without_a_way_between_cu_and_du_each_slot_is_a_report() {
        let all: Vec<_> = (1..=12).map(|slot| (500 * slot, slot)).collect();
        assert_eq!(reports(&F1Config::default()), all);
    }

    #[test]
    fn a_report_comes_once_a_period_and_a_delay_later_and_has_the_last_slot() {
        let (delay, report_period) = (Duration::from_micros(700), Duration::from_millis(2));
        let f1 = F1Config { delay, report_period, ..F1Config::default() };
        assert_eq!(reports(&f1), [(2_700, 4), (4_700, 8), (6_700, 12)]);
    }

    #[test]
    fn a_lost_report_is_missing_and_the_next_one_has_all_that_left() {
        let report_period = Duration::from_millis(1);
        let f1 = F1Config { report_period, report_loss: Ratio(0.5), ..F1Config::default() };
        let found = reports(&f1);
        assert!((1..6).contains(&found.len()), "{found:?}");
        assert!(found.iter().all(|(us, packets)| *packets == us / 500), "{found:?}");
    }
}
