//! L4Span: marks at the CU for the wait in the RLC that the reports of the DU predict.
//!
//! Source: Wan and Jamieson, L4Span, `CoNEXT` 2025; its release of October 2025
//! (github.com/PrincetonUniversity/L4Span, cef83f8, `lib/mark`).
//!
//! Controls the wait of a bearer's data below SDAP. Each report of the DU that more data has left
//! (TS 38.425 section 5.4.2, highest transmitted number) gives a rate: the bytes that have left
//! over the time since the last such report. The mean r and the standard deviation e of the rates
//! of the last `window` packets predict the coming rate. Q bytes that wait in SDAP and below
//! require the rate q = Q / `target`.
//!
//! ```text
//! ECT(1)            marked with 0 for q < r - e, 1 for q > r + e, else (q - r + e) / 2e
//! ECT(0), Not-ECT   for Q > threshold signalled with (factor x mss / Q)^2, else 0
//! ```
//!
//! The law of classic packets follows from a window of `factor` mss / sqrt(p) that just fills Q.
//! Both probabilities hold until the next report; chance is independent.
//!
//! The two presets are two algorithms and are never mixed. `as-released` follows the program where
//! it departs from its design: rates in B/us are cast to whole numbers, x to floor(floor(x) / 2) /
//! e, so that the ramp is a step for an e below 1 B/us; the law of classic packets has bits over
//! bytes, so its p is 64 times as great; packets of the first report count with the rate 0; Not-ECT
//! packets pass.
//!
//! Defaults: the release's; it divides `threshold` by the number of UEs.
//!
//! Known weaknesses: the rate of departures is the capacity only while data stands in the RLC, so a
//! queue that runs dry keeps the rate low; reports are late; a mark waits in the whole queue.
//!
//! Deviations: marks are in the downlink's IP header, as in the release for UDP; for TCP the
//! release writes the counts of Accurate ECN into acknowledgements, and `as-released` counts a
//! tenth of the marks there. Bytes of a partly sent SDU count as sent. Of the paper itself only the
//! abstract was read: `as-published` is the design that the release states.

use super::{Aqm, AqmContext, AqmSettings, DeliveryReport, Needs, QueueView, Tag, Verdict};
use crate::lane::Lane;
use alloc::collections::VecDeque;
use justfull_base::doc::MethodDoc;
use justfull_base::{
    Bytes, ConfigError, Duration, Ecn, Instant, Packet, Ratio, Rng, choice, params,
};

impl AqmSettings for L4SpanConfig {
    fn needs_room(&self) -> bool {
        false
    }

    fn needs_reports(&self) -> bool {
        true
    }
}

/// Describes L4Span.
pub const DOC: MethodDoc = MethodDoc {
    name: "l4span",
    kind: "aqm",
    title: "L4Span: marks at the CU from delivery reports of the DU",
    text: "Predicts the rate of a bearer from the delivery reports of the DU, and marks packets \
           with ECT(1) by the rate that the standing data requires to leave within `target`; \
           classic packets are signalled by the window that fills the queue, above `threshold`. \
           Works on SDAP's queue only; `rlc.f1` has the period, delay and loss of reports.",
    sources: "Wan and Jamieson, CoNEXT 2025 (as-published); \
              github.com/PrincetonUniversity/L4Span, cef83f8 (as-released)",
    deviations: "Marks packets of the downlink, as the release does for UDP, and no \
                 acknowledgements. The design is that of the release: of the paper only the \
                 abstract was read.",
    params: L4SpanConfig::params,
};

choice! {
    /// Whose algorithm.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Preset {
        /// The design.
        #[default]
        AsPublished = "as-published",
        /// The program.
        AsReleased = "as-released",
    }
}

params! {
    /// Settings of [`L4Span`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct L4SpanConfig: "L4Span, cef83f8" {
        /// The algorithm.
        preset: Preset = Preset::AsPublished;
        /// Wait of L4S packets that is aimed at.
        target: Duration = Duration::from_millis(10),
            within(Duration::from_micros(100), Duration::from_secs(10));
        /// Packets whose rates predict the rate.
        window: u32 as "packets" = 50, within(1, 10_000), "the release has 50";
        /// Least time between two reports for a new rate.
        least: Duration = Duration::from_millis(1),
            within(Duration::from_micros(1), Duration::from_secs(1)),
            "shorter times keep the last rate";
        /// Standing bytes above which classic packets are signalled.
        threshold: Bytes = Bytes(225_000), at_least(Bytes(1)),
            "the release has 150 packets of 1500 B over the number of UEs";
        /// Segment of classic senders.
        mss: Bytes = Bytes(1460), within(Bytes(1), Bytes(65_535));
        /// Segments in the window of a classic sender at a probability of 1.
        factor: Ratio = Ratio(0.875), above(Ratio(0.0)).to(Ratio(100.0)),
            "the release has 1.75 / 2";
    }
}

/// The rates of the last packets, in B/us, each with its number of packets.
#[derive(Clone, Debug, Default)]
struct Rates {
    samples: VecDeque<(f64, u64)>,
    packets: u64,
}

impl Rates {
    /// Adds `packets` of this `rate`, and keeps the last `window`.
    fn push(&mut self, rate: f64, packets: u64, window: u64) {
        if packets == 0 {
            return;
        }
        self.samples.push_back((rate, packets));
        self.packets += packets;
        while self.packets > window
            && let Some((_, first)) = self.samples.front_mut()
        {
            let excess = (self.packets - window).min(*first);
            *first -= excess;
            self.packets -= excess;
            if *first == 0 {
                self.samples.pop_front();
            }
        }
    }

    /// Mean and standard deviation; none without a packet.
    fn mean_and_deviation(&self) -> Option<[f64; 2]> {
        let over = |of: &dyn Fn(f64) -> f64| -> f64 {
            let sum: f64 = self.samples.iter().map(|&(rate, n)| of(rate) * n as f64).sum();
            sum / self.packets as f64
        };
        let mean = over(&|rate| rate);
        let variance = over(&|rate| (rate - mean) * (rate - mean));
        (self.packets > 0).then(|| [mean, libm::sqrt(variance)])
    }
}

/// L4Span.
#[derive(Clone, Debug)]
pub struct L4Span {
    config: L4SpanConfig,
    rates: Rates,
    /// The last report of departures, and its rate.
    last: Option<Instant>,
    rate: f64,
    /// Probabilities of a signal on a classic packet and of a mark on an L4S packet.
    p: [f64; 2],
    rng: Rng,
}

impl L4Span {
    /// L4Span with the settings of `config` for the queue of `context`.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(config: &L4SpanConfig, context: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config: *config,
            rates: Rates::default(),
            last: None,
            rate: 0.0,
            p: [0.0; 2],
            rng: Rng::from_key(context.key),
        })
    }

    /// The probability of a signal on a classic packet.
    #[must_use]
    pub const fn classic_probability(&self) -> f64 {
        self.p[0]
    }

    /// The probability of a mark on an L4S packet.
    #[must_use]
    pub const fn l4s_probability(&self) -> f64 {
        self.p[1]
    }

    fn is_released(&self) -> bool {
        self.config.preset == Preset::AsReleased
    }

    /// The rate of `report`, which arrived at `at`, and its number of packets.
    fn learn(&mut self, at: Instant, report: &DeliveryReport) {
        let mut packets = report.left.packets;
        match self.last.replace(at).map(|last| at.since(last)) {
            // The release counts no rate for the very first packet.
            None if self.is_released() => packets -= 1,
            None => return,
            Some(time) if time < self.config.least => {}
            Some(time) => self.rate = report.left.bytes as f64 / micros(time),
        }
        self.rates.push(self.rate, packets, self.config.window.into());
    }

    /// The probability of a mark on an L4S packet where `required`, in B/us, meets `predicted`: a
    /// mean and its deviation.
    fn ramp(&self, required: f64, predicted: [f64; 2]) -> f64 {
        let [mean, deviation] = predicted;
        if required > mean + deviation {
            return 1.0;
        }
        if required <= mean - deviation {
            return 0.0;
        }
        let above = required - mean + deviation;
        if self.is_released() {
            return libm::floor(libm::floor(above) / 2.0) / deviation;
        }
        above / (2.0 * deviation)
    }

    /// The probability of a signal on a classic packet.
    fn classic(&self, standing: u64) -> f64 {
        let L4SpanConfig { threshold, mss, factor, .. } = self.config;
        if standing <= threshold.0 {
            return 0.0;
        }
        let bits = if self.is_released() { 8.0 } else { 1.0 };
        let root = bits * factor.0 * mss.0 as f64 / standing as f64;
        (root * root).min(1.0)
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

impl Aqm for L4Span {
    fn needs(&self) -> Needs {
        Needs { reports: true, ..Needs::default() }
    }

    fn marks(&self) -> bool {
        true
    }

    fn on_report(&mut self, at: Instant, report: &DeliveryReport) {
        if report.left.packets == 0 {
            return;
        }
        self.learn(at, report);
        let Some(predicted) = self.rates.mean_and_deviation() else { return };
        let required = report.standing as f64 / micros(self.config.target);
        self.p = [self.classic(report.standing), self.ramp(required, predicted)];
    }

    #[inline]
    fn on_enqueue(
        &mut self,
        _now: Instant,
        _view: &QueueView,
        _lane: Lane,
        packet: &Packet,
    ) -> (Verdict, Tag) {
        let p = self.p[usize::from(packet.ecn == Ecn::Ect1)];
        let signals = p > 0.0 && packet.ecn != Ecn::Ce && self.rng.chance(p);
        let verdict = match packet.ecn {
            _ if !signals => Verdict::Pass,
            Ecn::NotEct if self.is_released() => Verdict::Pass,
            Ecn::NotEct => Verdict::Drop,
            _ => Verdict::Mark,
        };
        (verdict, 0)
    }
}

#[cfg(test)]
mod tests;
