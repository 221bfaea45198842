//! TTLRED for buffered packets: each packet gets a random lifetime, and is dropped when it ends.
//!
//! Source: P06 section IV-B and Fig. 3.
//!
//! Controls the time in the queue. The lifetime of an arrival is U(`low`, `high` / 2) with
//! probability `max_p`, else U(`high` / 2, `high`); it is `high` if the queue is empty or the
//! packet is the first of its flow, which may be a SYN. At multiples of `period` the waiting
//! packets whose lifetime has ended are dropped, or marked and kept. Packets that the layer below
//! holds are left alone, since RLC has numbered them.
//!
//! Defaults: 0.5 s, 3 s, 0.1 and 10 ms are P06's (section V-A).
//!
//! Known weaknesses: a drop comes after the whole wait, so it reaches the sender late; P06 finds
//! less goodput with a fast bearer, several flows and large windows. It bounds the delay of waiting
//! packets, not of packets that are sent.
//!
//! Deviations: P06 does not print the "higher lifetime"; here it is `high`. A marked packet is not
//! marked or dropped again. The queue is called at the first multiple of `period` after the end of
//! the shortest lifetime that has not been checked; if its packet has left by then, the call has no
//! effect. A packet that the layer below gave back has no lifetime. A flow is new while its 5-tuple
//! is not among the last flows that the queue stores: see `QueueView::new_flow`.

use super::{Aqm, AqmContext, AqmSettings, Needs, QueueView, Scan, Tag, Verdict};
use crate::lane::Lane;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, Packet, Ratio, Rng, params};

impl AqmSettings for TtlRed2Config {}

/// Describes TTLRED for buffered packets.
pub const DOC: MethodDoc = MethodDoc {
    name: "ttlred2",
    kind: "aqm",
    title: "Time-to-live RED for buffered packets",
    text: "Gives each packet a random lifetime, below half of `high` with the probability `max_p`; \
           the first packet of a flow or of an empty queue gets the longest lifetime. At multiples \
           of `period` it drops the waiting packets whose lifetime has ended; packets that RLC \
           holds stay. The reason of these drops is aqm_timeout.",
    sources: "P06 section IV-B, Fig. 3, section V-A",
    deviations: "The higher lifetime, which P06 does not print, is `high`. A marked packet is not \
                 signalled again. A packet that the layer below gave back keeps no lifetime. Of \
                 flows the last 1024 are known, in 256 sets of 4.",
    params: TtlRed2Config::params,
};

params! {
    /// Settings of [`TtlRed2`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TtlRed2Config: "P06 section IV-B, Fig. 3" {
        /// Shortest lifetime.
        low: Duration = Duration::from_millis(500),
            above(Duration::ZERO).and("below half of high", |c: &Self| {
                // A `low` of 0 is named itself.
                c.low.is_zero() || c.low.times(2) < c.high
            });
        /// Longest lifetime.
        high: Duration = Duration::from_secs(3),
            within(Duration::from_nanos(2), Duration::from_secs(3600));
        /// Share of the packets whose lifetime is below half of `high`.
        max_p: Ratio = Ratio(0.1), within(Ratio(0.0), Ratio(1.0));
        /// Time between two looks at the queue.
        period: Duration = Duration::from_millis(10),
            above(Duration::ZERO).to(Duration::from_secs(60));
        /// Mark packets that are ECN-capable in place of dropping them.
        ecn: bool = true;
    }
}

/// TTLRED for buffered packets. A packet's tag is the end of its lifetime in ns.
#[derive(Clone, Debug)]
pub struct TtlRed2 {
    config: TtlRed2Config,
    /// Lifetimes that end before this have been checked.
    looked: u64,
    /// No unchecked lifetime of a waiting packet ends earlier.
    earliest: u64,
    rng: Rng,
}

impl TtlRed2 {
    /// TTLRED2 with the settings of `config` for the queue of `context`.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(config: &TtlRed2Config, context: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let rng = Rng::from_key(context.key);
        Ok(Self { config: *config, looked: 0, earliest: u64::MAX, rng })
    }

    /// P06 Fig. 3.
    fn lifetime(&mut self, view: &QueueView) -> u64 {
        let Self { config, rng, .. } = self;
        let [low, high] = [config.low, config.high].map(Duration::as_nanos);
        if view.backlog_packets == 0 || view.new_flow {
            return high;
        }
        let half = high / 2;
        let (from, to) = if rng.chance(config.max_p.0) { (low, half) } else { (half, high) };
        from + rng.below(to - from)
    }
}

impl Aqm for TtlRed2 {
    fn needs(&self) -> Needs {
        Needs { new_flows: true, timeouts: true, ..Needs::default() }
    }

    fn marks(&self) -> bool {
        self.config.ecn
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        view: &QueueView,
        _lane: Lane,
        _packet: &Packet,
    ) -> (Verdict, Tag) {
        let end = now.as_nanos().saturating_add(self.lifetime(view));
        self.earliest = self.earliest.min(end);
        (Verdict::Pass, end)
    }

    fn next_timeout(&self) -> Option<Instant> {
        let period = self.config.period.as_nanos();
        // The packet is dropped once the time exceeds the end of its lifetime.
        let after = (self.earliest / period).checked_add(1)?.checked_mul(period)?;
        Some(Instant::from_nanos(after))
    }

    fn on_timeout(&mut self, now: Instant, _view: &QueueView, scan: &mut dyn Scan) {
        let period = self.config.period.as_nanos();
        let now = now.as_nanos() / period * period;
        if now <= self.earliest {
            return;
        }
        let looked = core::mem::replace(&mut self.looked, now);
        let mut earliest = u64::MAX;
        scan.each(&mut |_, _, end| {
            if end >= now {
                earliest = earliest.min(end);
                return Verdict::Pass;
            }
            // A packet whose lifetime ended before the last check was marked then, or has no
            // lifetime.
            if end >= looked && end > 0 { Verdict::Signal } else { Verdict::Pass }
        });
        self.earliest = earliest;
    }
}
