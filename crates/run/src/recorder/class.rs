//! Counts for each flow name and each flow.

use super::active::{Opening, Shares};
use super::over_time::OverTime;
use crate::app_stats::AppStats;
use crate::ledger::Trip;
use crate::results::{FlowResult, ProxyResult};
use crate::times::Times;
use justfull_base::{Duration, Instant};

/// The identity of a class of flows with one name.
pub struct ClassInfo {
    /// Name of its flows.
    pub name: String,
    /// `tcp`, `udp` or `icmp`.
    pub protocol: &'static str,
    /// Counts beyond packets.
    pub app: AppStats,
    /// Name of the congestion control; empty without one.
    pub control: String,
    /// UE at one end.
    pub ue: u32,
    /// QFI of its packets.
    pub qfi: u8,
    /// The scenario marks it as low-latency.
    pub low_latency: bool,
    /// Its data goes from UEs to servers.
    pub up: bool,
    /// Number of flows.
    pub flows: u32,
    /// Greatest useful delay, if the scenario states one.
    pub delay_budget: Option<Duration>,
}

/// Counts for the flows of one name.
pub(super) struct Class {
    pub(super) result: FlowResult,
    pub(super) delay: Times,
    /// Packets that enter the UPF from this instant on count: the packets of the measured window,
    /// and no packets of uploads, whose data takes the uplink.
    pub(super) from: Instant,
    /// For data to UEs; none for names beyond the followed ones.
    pub(super) over_time: Option<OverTime>,
    /// For uploads.
    pub(super) over_time_up: Option<Box<OverTime>>,
    /// From the pull of the last byte to the UE; none before the first packet with such a time.
    pub(super) to_ue: Option<Times>,
    pub(super) bound: Option<Times>,
    pub(super) rtt: Option<Times>,
    /// None unless a proxy splits a flow of the class.
    pub(super) proxy: Option<Box<ProxyTimes>>,
    pub(super) app: AppStats,
    /// Sum in ns and number of the differences between consecutive delays.
    pub(super) variation: (u64, u64),
    /// Sum over these differences of the flow's jitter after each, in ns.
    pub(super) jitter_sum: f64,
    /// Longest time in the chain within the delay budget.
    pub(super) budget: Duration,
    pub(super) rlc_backlog_sum: u64,
    pub(super) sdap_entries: u64,
    pub(super) goodput_bytes: u64,
    /// New payload at the receivers, including the time before the window.
    pub(super) received_bytes: u64,
    /// Shares of flows that have ended.
    pub(super) closed: Shares,
    /// Sized transfers that are complete at their receivers.
    pub(super) whole: u32,
}

impl Class {
    /// The counts of a class, over time too if `followed`.
    pub(super) fn new(
        info: ClassInfo,
        followed: bool,
        warmup: Instant,
        air_delay: Duration,
    ) -> Self {
        Self {
            delay: Times::new(),
            from: if info.up { Instant::NEVER } else { warmup },
            over_time: (followed && !info.up).then(OverTime::default),
            over_time_up: (followed && info.up).then(Box::default),
            to_ue: None,
            bound: (info.low_latency && !info.up).then(Times::new),
            // A transfer has round trips whatever its packets' protocol number.
            rtt: (matches!(info.protocol, "tcp" | "icmp") || !info.control.is_empty())
                .then(Times::new),
            proxy: None,
            app: info.app,
            variation: (0, 0),
            jitter_sum: 0.0,
            budget: info
                .delay_budget
                .map_or(Duration::MAX, |budget| budget.saturating_sub(air_delay)),
            rlc_backlog_sum: 0,
            sdap_entries: 0,
            goodput_bytes: 0,
            received_bytes: 0,
            closed: Shares::default(),
            whole: 0,
            result: FlowResult {
                name: info.name,
                protocol: info.protocol.into(),
                control: info.control,
                flows: info.flows,
                ue: info.ue,
                qfi: info.qfi,
                low_latency: info.low_latency,
                direction: if info.up { "up" } else { "down" }.into(),
                delay_budget_ms: info.delay_budget.map(Duration::as_millis_f64),
                ..FlowResult::default()
            },
        }
    }

    /// The statistics over time of its data.
    pub(super) fn followed(&self) -> Option<&OverTime> {
        self.over_time.as_ref().or(self.over_time_up.as_deref())
    }

    /// The mutable statistics over time of its data.
    pub(super) fn followed_mut(&mut self) -> Option<&mut OverTime> {
        self.over_time.as_mut().or(self.over_time_up.as_deref_mut())
    }

    /// Counts a packet of `single` that entered at `entered`, left the queues at `left`, and
    /// reached its end at `now`.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        single: &mut Single,
        entered: Instant,
        left: Instant,
        now: Instant,
    ) {
        let delay = now.since(entered);
        let last = std::mem::replace(&mut single.last_delay, delay.as_nanos() + 1);
        self.result.delivered_packets += 1;
        self.delay.record(left.since(entered));
        self.result.late_packets += u64::from(delay > self.budget);
        if last > 0 {
            let difference = (delay.as_nanos() + 1).abs_diff(last);
            self.variation.0 += difference;
            self.variation.1 += 1;
            self.jitter_sum += single.jitter(difference);
        }
    }
}

/// Times of flows that a proxy splits.
pub(super) struct ProxyTimes {
    residence: Times,
    pub(super) server_rtt: Times,
    pub(super) radio_rtt: Times,
    server_to_ue: Times,
}

impl ProxyTimes {
    pub(super) fn new() -> Self {
        Self {
            residence: Times::new(),
            server_rtt: Times::new(),
            radio_rtt: Times::new(),
            server_to_ue: Times::new(),
        }
    }

    #[inline]
    pub(super) fn record(&mut self, trip: &Trip) {
        if let Some(residence) = trip.residence {
            self.residence.record(residence);
        }
        self.server_to_ue.record(trip.server_to_ue);
    }

    pub(super) fn finish(&self) -> ProxyResult {
        ProxyResult {
            residence: self.residence.finish(),
            server_rtt: self.server_rtt.finish(),
            radio_rtt: self.radio_rtt.finish(),
            server_to_ue: self.server_to_ue.finish(),
        }
    }
}

/// Counts for one flow: half a cache line, since each packet reads and writes it.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Single {
    /// Number of its class.
    pub(super) class: u32,
    pub(super) goodput_bytes: u64,
    /// Delay in ns of the last delivered packet, plus one; 0 before the first.
    pub(super) last_delay: u64,
    /// Bytes of a transfer that its receiver still lacks, the maximum value if the transfer has no
    /// size; 0 if each packet must be noted ([`Active::stops`](super::Active::stops)).
    pub(super) left: u64,
    /// Interarrival jitter in ns (RFC 3550 section 6.4.1).
    jitter: f32,
}

const _: () = assert!(size_of::<Single>() == 32);

impl Single {
    pub(super) fn new(opening: &Opening) -> Self {
        let left = if opening.stop < Instant::NEVER { 0 } else { u64::MAX };
        Self { class: opening.class, goodput_bytes: 0, last_delay: 0, left, jitter: 0.0 }
    }

    /// The jitter in ns after a packet whose delay differs by `difference` ns from the previous
    /// packet's.
    #[inline(always)]
    pub(super) fn jitter(&mut self, difference: u64) -> f64 {
        self.jitter += (difference as f32 - self.jitter) / 16.0;
        f64::from(self.jitter)
    }
}
