//! Flows that a proxy splits: the times of both legs.

use super::Recorder;
use super::class::ProxyTimes;
use crate::ledger::Trip;
use justfull_base::{Duration, Instant};

impl Recorder {
    /// A proxy splits `flow`; `wired` is the round trip to its server before the first sample.
    pub fn split(&mut self, flow: u32, wired: Duration) {
        let flows = self.wired.len().max(flow as usize + 1);
        self.wired.resize(flows, None);
        self.wired[flow as usize] = Some(wired);
        self.class_of(flow).proxy.get_or_insert_with(|| Box::new(ProxyTimes::new()));
    }

    /// The counts of `flow`, which a proxy splits, within the window.
    #[inline]
    fn proxy_times(&mut self, now: Instant, flow: u32) -> Option<&mut ProxyTimes> {
        let counts = now >= self.warmup;
        self.class_of(flow).proxy.as_deref_mut().filter(|_| counts)
    }

    /// The server of `flow`, which a proxy splits, measured a round trip.
    #[inline]
    pub fn wired_rtt(&mut self, now: Instant, flow: u32, rtt: Duration) {
        self.wired[flow as usize] = Some(rtt);
        if let Some(times) = self.proxy_times(now, flow) {
            times.server_rtt.record(rtt);
        }
    }

    /// The proxy that splits `flow` measured a round trip of the radio leg. Returns the sum of both
    /// legs' round trips.
    #[inline]
    pub(super) fn radio_rtt(
        &mut self,
        now: Instant,
        flow: u32,
        rtt: Duration,
        wired: Duration,
    ) -> Duration {
        if let Some(times) = self.proxy_times(now, flow) {
            times.radio_rtt.record(rtt);
        }
        rtt + wired
    }

    /// A segment of `flow`, which a proxy splits, reaches the UE after `trip`.
    #[inline]
    pub fn proxied(&mut self, now: Instant, flow: u32, trip: &Trip) {
        if let Some(times) = self.proxy_times(now, flow) {
            times.record(trip);
        }
    }
}
