//! Zhuge on the uplink.

use super::zhuge::Zhuge;
use super::{Uplink, UplinkConfig};
use crate::wire::Wire;
use justfull_base::{BitRate, Duration, Event, Instant};

impl<T: Copy> Uplink<T> {
    /// Gives the base station the Zhuge of `config`, if it has one, for `ues` UEs in the run with
    /// `seed`: each UE has a queue, also if the uplink is no bottleneck. No wire may follow.
    #[must_use]
    pub fn with_zhuge(self, config: &UplinkConfig, ues: usize, seed: u64) -> Self {
        let Some(zhuge) = &config.zhuge else { return self };
        let mut uplink = self.with_moves(ues);
        uplink.zhuge = Some(Box::new(Zhuge::new(zhuge, ues, uplink.warmup, seed)));
        uplink.wires.add(Wire::new(BitRate(0), Duration::ZERO));
        uplink
    }

    /// Lets Zhuge, if there is one, hold the acknowledgements of flow `number`.
    pub fn hold_flow(&mut self, number: u32) {
        if let Some(zhuge) = &mut self.zhuge {
            zhuge.hold_flow(number);
        }
    }

    /// Shows Zhuge an event of the cell. Returns the predicted delay of a packet that arrives.
    pub fn foresee(&mut self, now: Instant, event: &Event) -> Option<Duration> {
        self.zhuge.as_mut()?.on_event(now, event)
    }

    /// True if Zhuge builds the reports of calls.
    #[must_use]
    pub fn builds_reports(&self) -> bool {
        self.zhuge.as_ref().is_some_and(|zhuge| zhuge.reports())
    }

    /// The base station sends `item`, a report of `size` bytes, to the server behind `wire`.
    pub fn push_report(&mut self, now: Instant, wire: u32, size: u32, item: T) {
        if let Some(zhuge) = &mut self.zhuge {
            zhuge.count_report();
        }
        self.counts.entered += 1;
        self.wires.push(now, wire, size, item);
    }
}
