//! One bearer's limiter over the bytes between the CU-UP and the radio.
//!
//! A limiter of [`justfull_ran`] decides how much may enter an RLC queue in its node. Here the
//! queue is the data that the CU-UP has sent and the DU has not reported as transmitted. A slot is
//! the time between two delivery statuses. The limiter decides once a slot on all data that may
//! enter until the next.
//!
//! The limiter does not count all of the queue. The radio takes a part while a status travels to
//! the CU-UP and data comes back: the measured rate times [`BearersConfig::loop_delay`]. A CU-UP
//! that sends whole packets leaves half a packet unsent on average. The limiter gets the rest.

use super::rewrite::Desired;
use crate::BearersConfig;
use justfull_base::{ConfigError, Duration, Instant, SlotReport};
use justfull_ran::limiter::{
    AnyLimiter, CapacityUnit, GrantContext, Limiter, LimiterConfig, RlcView,
};

/// The slot of limiters that have one: a usual period of delivery statuses.
const SLOT: Duration = Duration::from_millis(5);
/// A status that follows another within this share of the usual time counts with the next one: the
/// CU-UP requested it, or it came twice.
const SOON: f64 = 0.5;
/// Reports in the average of the rate: a third of a second with one each 5 ms.
const STEADY: f64 = 64.0;
/// A limit of this many bytes or more is none: sums of fewer bytes stay comparable.
const NONE: u64 = 1 << 30;
/// A pause longer than this says nothing about the rate.
const LONGEST: Duration = Duration::from_secs(1);

/// The fields of a delivery status about a bearer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) now: Instant,
    /// The DU has transmitted this much since the report before.
    pub(super) freed: u32,
    /// The CU-UP has sent this much since then.
    pub(super) entered: u32,
    /// The data that the DU has not transmitted.
    pub(super) queue: RlcView,
    /// The CU-UP has sent all that it was allowed to.
    pub(super) full: bool,
}

/// See the module's page.
pub(super) struct Control {
    limiter: AnyLimiter,
    least: u32,
    mtu: u64,
    loop_ns: u64,
    /// The last report and the bytes freed since then, if it came too early.
    reported: Option<Instant>,
    freed: u32,
    /// The usual time between reports.
    period: Duration,
    /// Bytes a second in the reports that count.
    rate: f64,
    /// The same, averaged.
    steady: f64,
    limit: u32,
}

impl Control {
    /// A control by `limiter`.
    pub(super) fn new(
        limiter: &LimiterConfig,
        config: &BearersConfig,
    ) -> Result<Self, ConfigError> {
        let mtu = config.mtu;
        let context = GrantContext { unit: CapacityUnit::Bytes, slot: SLOT, mtu };
        Ok(Self {
            limiter: AnyLimiter::new(limiter, &context)?,
            least: u32::try_from(config.least.0).unwrap_or(u32::MAX),
            mtu: u64::from(mtu),
            loop_ns: config.loop_delay.as_nanos(),
            reported: None,
            freed: 0,
            period: SLOT,
            rate: 0.0,
            steady: 0.0,
            limit: u32::MAX,
        })
    }

    /// Bytes a second that the radio takes while the CU-UP has enough for it.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// The same, averaged over some reports.
    pub(super) fn steady(&self) -> f64 {
        self.steady
    }

    /// The usual time between reports.
    pub(super) fn period(&self) -> Duration {
        self.period
    }

    /// The bounds of a status that lets the CU-UP send `size` bytes.
    pub(super) fn desired(&self, size: u32) -> Desired {
        // Twice the rate of the radio: only the size bounds.
        let rate = (self.rate * 2.0) as u32;
        Desired { size, rate: rate.max(self.limit) }
    }

    /// Largest packet, in bytes.
    pub(super) fn mtu(&self) -> u32 {
        self.mtu as u32
    }

    /// The least limit.
    pub(super) fn least(&self) -> u32 {
        self.least
    }

    /// The bytes that may be between the CU-UP and the radio.
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Takes a report, and sets the limit until the next.
    pub(super) fn report(&mut self, report: &Report) {
        let Report { now, queue, .. } = *report;
        let freed = std::mem::take(&mut self.freed).saturating_add(report.freed);
        let Some(before) = self.reported else {
            self.reported = Some(now);
            return;
        };
        let passed = now.since(before);
        if passed < self.period.scaled(SOON) {
            self.freed = freed;
            return;
        }
        self.reported = Some(now);
        if passed > LONGEST {
            return;
        }
        self.measure_period(passed);
        let scale = self.period.as_nanos() as f64 / passed.as_nanos() as f64;
        let used = (f64::from(freed) * scale) as u64;
        let rest = self.rest(&queue);
        // With too little data to send, the sent amount shows nothing about the radio.
        if queue.bytes > 0 || report.full {
            self.rate = f64::from(freed) / passed.as_secs_f64();
            let reports = if self.steady > 0.0 { STEADY } else { 1.0 };
            self.steady += (self.rate - self.steady) / reports;
            let peak = RlcView { bytes: rest.bytes + u64::from(freed), ..rest };
            let entered = match self.limiter.unit() {
                CapacityUnit::Bytes => u64::from(report.entered),
                CapacityUnit::Packets => u64::from(report.entered).div_ceil(self.mtu),
            };
            self.limiter.on_admitted(now, entered, &peak);
            self.limiter.on_slot(&SlotReport {
                pulled_at: now,
                slot: self.period,
                granted: used,
                used,
                remaining: rest.bytes,
                capacity: used,
                starved: rest.bytes == 0,
            });
        }
        let rest = self.rest(&queue);
        let room = self.limiter.room(now + SLOT, &rest);
        let room = match self.limiter.unit() {
            CapacityUnit::Bytes => room,
            CapacityUnit::Packets => room.saturating_mul(self.mtu),
        };
        let limit = rest.bytes.saturating_add(room).saturating_add(self.apart());
        let limit = u32::try_from(limit).ok().filter(|_| limit < NONE);
        self.limit = limit.map_or(u32::MAX, |limit| limit.max(self.least));
    }

    /// Bytes of the queue that the limiter does not see.
    fn apart(&self) -> u64 {
        (self.rate * self.loop_ns as f64 / 1e9) as u64 + self.mtu / 2
    }

    fn rest(&self, queue: &RlcView) -> RlcView {
        let bytes = queue.bytes.saturating_sub(self.apart());
        RlcView { bytes, packets: queue.packets.min(bytes.div_ceil(self.mtu)) }
    }

    /// A lost status doubles one time between two; it moves the average by a little.
    fn measure_period(&mut self, passed: Duration) {
        let (old, new) = (self.period.as_nanos() as f64, passed.as_nanos() as f64);
        let weight = if new < 1.5 * old { 8.0 } else { 64.0 };
        self.period = Duration::from_nanos((old + (new - old) / weight) as u64);
    }
}
