//! The worlds of the experiments, and their instruments.

use justfull_base::{BitRate, Bytes, Duration, Instant};
use justfull_queue::Limit;
use justfull_sim::dumbbell::{Loss, Observer, Outcome, Sample, Series};
use justfull_sim::{Dumbbell, DumbbellConfig, DumbbellFlow};
use justfull_tcp::segment::HEADER_BYTES;
use justfull_tcp::{
    Ack, CcConfig, Kernel, ReceiverConfig, RecoveryState, Segment, Sender, SenderConfig, Window,
};

/// Payload of a segment.
pub(super) const MSS: f64 = 1448.0;
/// Share of the link that is payload.
pub(super) const PAYLOAD: f64 = MSS / (MSS + HEADER_BYTES as f64);

/// Acknowledgements of every second segment or of each, from the first segment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acks {
    /// Each segment at once.
    Each,
    /// Every second, or after 40 ms.
    Delayed,
}

/// A window that never limits; no quick acknowledgements at the start, so that a case has one kind
/// of acknowledgement throughout.
fn receiver(kernel: Kernel, acks: Acks) -> ReceiverConfig {
    ReceiverConfig {
        kernel,
        window: Window::Fixed(Bytes(1 << 30)),
        delayed_ack: acks == Acks::Delayed,
        quick_acks: 0,
        ..ReceiverConfig::default()
    }
}

/// A greedy flow under `cc`, by the RFCs, whose formulas are the reference; BBR runs as in Linux,
/// the source of its published figures.
pub(super) fn flow(cc: &CcConfig, acks: Acks, rtt_ms: u64) -> DumbbellFlow {
    let linux = matches!(cc, CcConfig::Bbr(_) | CcConfig::Bbr3(_));
    let kernel = if linux { Kernel::default() } else { Kernel::Rfc };
    let sender = SenderConfig { cc: cc.clone(), kernel, ..SenderConfig::default() };
    DumbbellFlow::greedy(sender, receiver(kernel, acks), Duration::from_millis(rtt_ms))
}

/// One flow over a fast path whose RTT is the propagation delay, without a queue: only `loss`
/// limits it. Sampled once per RTT.
pub(super) fn wire(
    cc: &CcConfig,
    acks: Acks,
    rtt_ms: u64,
    loss: Loss,
    seconds: u64,
) -> DumbbellConfig {
    DumbbellConfig {
        flows: vec![flow(cc, acks, rtt_ms)],
        rate: BitRate(1_000_000_000_000),
        limit: Limit::Unlimited,
        loss,
        marks: Loss::Never,
        duration: Duration::from_secs(seconds),
        sample_every: Duration::from_millis(rtt_ms),
        seed: 1,
    }
}

/// `flows` over a link of `mbit_s` with a FIFO of `bdps` bandwidth-delay products of `rtt_ms`,
/// without losses on the wire.
pub(super) fn link(
    flows: Vec<DumbbellFlow>,
    mbit_s: u64,
    rtt_ms: u64,
    bdps: u64,
    seconds: u64,
) -> DumbbellConfig {
    let rate = BitRate(mbit_s * 1_000_000);
    let rtt = Duration::from_millis(rtt_ms);
    DumbbellConfig {
        flows,
        rate,
        limit: Limit::Bytes(bdps * rate.bytes_in_floor(rtt)),
        loss: Loss::Never,
        marks: Loss::Never,
        duration: Duration::from_secs(seconds),
        sample_every: rtt,
        seed: 1,
    }
}

/// A loss recovery of the first flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Episode {
    /// When the loss was detected, seconds.
    pub(super) found: f64,
    /// Window before, segments.
    pub(super) before: f64,
    /// Bytes acknowledged up to the loss.
    pub(super) acked: u64,
    /// When the first retransmission left, seconds.
    pub(super) repaired: Option<f64>,
    /// When recovery ended, seconds, and the window then, segments.
    pub(super) end: Option<(f64, f64)>,
}

/// Observations of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Samples of all flows.
    pub(super) series: Series,
    /// Segments that the first flow sent before its first acknowledgement.
    pub(super) first_flight: u64,
    /// Recoveries of the first flow in order.
    pub(super) episodes: Vec<Episode>,
    /// When packets were lost, seconds.
    pub(super) losses: Vec<f64>,
    /// When the first flow first had a slow-start threshold, seconds, and its window then,
    /// segments.
    pub(super) slow_start_end: Option<(f64, f64)>,
    acknowledged: bool,
    open_window: f64,
    recovering: bool,
}

impl Observer for Scope {
    fn sent(&mut self, now: Instant, flow: u32, segment: &Segment) {
        if flow != 0 {
            return;
        }
        self.first_flight += u64::from(!self.acknowledged);
        if segment.retransmission
            && let Some(episode) = self.episodes.last_mut()
        {
            episode.repaired.get_or_insert(now.as_secs_f64());
        }
    }

    fn acknowledged(&mut self, now: Instant, flow: u32, _: &Ack, sender: &Sender) {
        if flow != 0 {
            return;
        }
        self.acknowledged = true;
        let snapshot = sender.snapshot();
        let (now, window) = (now.as_secs_f64(), snapshot.cwnd as f64 / MSS);
        if snapshot.ssthresh != u64::MAX && self.slow_start_end.is_none() {
            self.slow_start_end =
                Some((now, if self.open_window > 0.0 { self.open_window } else { window }));
        }
        let open = snapshot.recovery == RecoveryState::Open;
        if !open && !self.recovering {
            let (before, acked) = (self.open_window, sender.acked_bytes());
            self.episodes.push(Episode { found: now, before, acked, repaired: None, end: None });
        }
        if open
            && self.recovering
            && let Some(episode) = self.episodes.last_mut()
        {
            episode.end = Some((now, window));
        }
        self.recovering = !open;
        if open {
            self.open_window = window;
        }
    }

    fn lost(&mut self, now: Instant, _: u32, _: &Segment) {
        self.losses.push(now.as_secs_f64());
    }

    fn sampled(&mut self, now: Instant, flow: u32, sender: &Sender, delivered: u64) {
        self.series.sampled(now, flow, sender, delivered);
    }
}

/// Runs `config`, whose settings are constants of an experiment.
pub(super) fn run(config: &DumbbellConfig) -> (Outcome, Scope) {
    let mut scope = Scope::default();
    let outcome =
        Dumbbell::new(config).expect("an experiment's settings are sound").run(&mut scope);
    (outcome, scope)
}

impl Scope {
    /// The first flow's window over time: (seconds, segments).
    pub(super) fn windows(&self) -> Vec<(f64, f64)> {
        self.first().iter().map(|s| (s.at.as_secs_f64(), s.cwnd as f64 / MSS)).collect()
    }

    /// The first flow's samples.
    pub(super) fn first(&self) -> &[Sample] {
        self.series.flows.first().map_or(&[], Vec::as_slice)
    }

    /// The first flow's window at `seconds`, linear between samples, segments.
    pub(super) fn window_at(&self, seconds: f64) -> f64 {
        at(&self.windows(), seconds)
    }

    /// Mean window over the whole cycles from recovery `first` to the last one: bytes acknowledged
    /// per RTT, in segments.
    pub(super) fn mean_window(&self, first: usize, rtt_s: f64) -> f64 {
        let (Some(a), Some(b)) = (self.episodes.get(first), self.episodes.last()) else {
            return f64::NAN;
        };
        (b.acked - a.acked) as f64 / MSS / (b.found - a.found) * rtt_s
    }
}

/// The value of rising `points` at `x`, linear between them.
fn at(points: &[(f64, f64)], x: f64) -> f64 {
    let after = points.partition_point(|p| p.0 < x);
    match (after.checked_sub(1).and_then(|i| points.get(i)), points.get(after)) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0),
        (Some(only), None) | (None, Some(only)) => only.1,
        (None, None) => f64::NAN,
    }
}

/// Slope of the line of least squares through `points` with `from` <= x <= `to`.
pub(super) fn slope(points: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let within: Vec<(f64, f64)> =
        points.iter().copied().filter(|p| from <= p.0 && p.0 <= to).collect();
    let n = within.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| within.iter().map(value).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = within.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let variance: f64 = within.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    covariance / variance
}

/// Jain's index of fairness: 1 if all shares are equal, 1 / n if one flow has everything (Jain,
/// Chiu and Hawe 1984).
pub(super) fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    sum * sum / (shares.len() as f64 * squares)
}

/// Bytes that a flow delivered between two instants, each the time of a sample or rounded down to
/// one.
pub(super) fn delivered_between(samples: &[Sample], from_s: f64, to_s: f64) -> f64 {
    let by = |seconds: f64| {
        let after = samples.partition_point(|s| s.at.as_secs_f64() <= seconds + 1e-9);
        after.checked_sub(1).map_or(0, |i| samples[i].delivered)
    };
    (by(to_s) - by(from_s)) as f64
}

/// When a phase of `is` begins and ends: (seconds, seconds).
pub(super) fn spans(samples: &[Sample], is: impl Fn(&Sample) -> bool) -> Vec<(f64, f64)> {
    let mut spans = Vec::new();
    let mut from = None;
    for sample in samples {
        match (from, is(sample)) {
            (None, true) => from = Some(sample.at.as_secs_f64()),
            (Some(begin), false) => {
                spans.push((begin, sample.at.as_secs_f64()));
                from = None;
            }
            _ => {}
        }
    }
    spans
}

/// Payload that a flow delivered between two instants, divided by the payload of all packets that a
/// link of `mbit_s` can transmit in this time.
pub(super) fn utilisation(samples: &[Sample], mbit_s: u64, from_s: f64, to_s: f64) -> f64 {
    let packets = (mbit_s as f64 * 1e6 / 8.0 * PAYLOAD / MSS * (to_s - from_s)).ceil();
    delivered_between(samples, from_s, to_s) / (packets * MSS)
}

/// `count` losses: one ends slow start at packet `first`, the others follow every `period` packets.
pub(super) fn periodic(first: u64, period: u64, count: u64) -> Loss {
    Loss::Listed((0..count).map(|i| first + i * period).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_one_for_equal_shares_and_one_nth_for_one_taker() {
        assert!((jain(&[3.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!((jain(&[5.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_slope_is_fitted_to_the_points_in_the_interval() {
        let points: Vec<(f64, f64)> = (0..20)
            .map(|i| (f64::from(i), if i < 10 { 0.0 } else { 2.0 * f64::from(i) }))
            .collect();
        assert!((slope(&points, 10.0, 19.0) - 2.0).abs() < 1e-12);
        assert!(slope(&points, 0.0, 9.0).abs() < 1e-12);
        assert!((at(&points, 12.5) - 25.0).abs() < 1e-12);
    }

    #[test]
    fn an_episode_tells_the_window_before_and_after_a_loss() {
        let cc = CcConfig::by_name("new_reno").expect("it ships");
        let (outcome, scope) = run(&wire(&cc, Acks::Each, 100, Loss::Listed(vec![100]), 5));
        assert_eq!(outcome.flows[0].stats.fast_recoveries, 1);
        assert_eq!((scope.episodes.len(), scope.losses.len()), (1, 1));
        let episode = scope.episodes[0];
        let (end, after) = episode.end.expect("repaired");
        assert!(episode.repaired.is_some_and(|at| episode.found <= at && at < end));
        assert!(episode.before > after && scope.slow_start_end.is_some());
    }
}
