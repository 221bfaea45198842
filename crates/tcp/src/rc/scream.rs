//! SCReAM v2 (draft-ietf-ccwg-rfc8298bis-screamv2-01): a window for media, aware of L4S.
//!
//! Controls the reference window W, from which the encoder's rate, the pacing and the limit of
//! bytes in flight follow. Congestion is a loss, a mark, or a queue: an average delay above half of
//! the target T. The delay is a packet's over the least of ten minutes.
//!
//! ```text
//! alpha       each 10 ms, by the share F of marked packets: + (F - alpha) / 8 if F >= alpha,
//!             else x 127/128
//! loss        W x 0.7
//! mark        W x (1 - alpha / 2 / max(1, RTT / 25 ms) x near), near as below but at least 1/4;
//!             near is 1 if the delay is T / 4 or more; with classic ECN W x 0.8
//! queue       W x (1 - v / 2 / max(1, RTT / 25 ms)), v from 0 at T / 2 to 1 at T
//!             one of these in min(RTT, 25 ms)
//! growth      W + a MSS / W x min(1, RTT / 25 ms) x max(1/4, near) x (1 + m W / MSS x calm x near)
//!             for `a` unmarked bytes, up to MSS and 1.5 of the bytes in flight, while the rate is
//!             below the greatest
//! near        (8 (W - I) / I)^2 in [0.1, 1], I: W at the last first reduction
//! calm        time since a loss or mark over 100 max(RTT, 25 ms), at most 1
//! rate        8 W / RTT x (1 - clamp(MSS / W - 0.1, 0, 0.2)) x MSS / (MSS + 20)
//!             / (1.2 + factors for frames that wait or are too large)
//! ```
//!
//! Packets are paced at 1.5 of the rate, at up to 6 near the greatest rate; 3 W may be in flight,
//! down to 1.5 W where `reduce_jitter` sees the delay vary. The receiver reports by RFC 8888.
//!
//! Defaults: as in the draft.
//!
//! Known weaknesses: beside a flow that fills the queue beyond T it falls to its least rate; the
//! delays of schedulers count as a queue; each random loss takes off 30 %.
//!
//! Deviations: the draft's optional parts against random losses, policers, undershoot, clock drift
//! and competing flows are left out, and the draft's MSS of 1000 B is the packet of the call.

mod delay;

use super::{Departure, Encoded, Fate, Feedback, MediaBirth, RateController, Reporting};
use delay::QueueDelay;
use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Ecn, Ratio, choice, params};

choice! {
    /// The use of ECN.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ScreamEcn {
        /// ECT(1), and a reduction by the share of marks.
        #[default]
        L4s = "l4s",
        /// ECT(0), and one reduction for marks.
        Classic = "classic",
        /// None.
        Off = "off",
    }
}

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ScreamConfig: "draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.2" {
        /// The use of ECN.
        ecn: ScreamEcn = ScreamEcn::L4s;
        /// Queueing delay at which the window is halved; reductions begin at half of it.
        delay_target: Duration = Duration::from_millis(60),
            within(Duration::from_millis(1), Duration::from_secs(1));
        /// Grow less, and let less be in flight, while the delay varies.
        reduce_jitter: bool = false;
        /// Least window.
        min_window: Bytes = Bytes(3000), within(Bytes(100), Bytes(1_000_000));
        /// Factor of the window at a loss.
        beta_loss: Ratio = Ratio(0.7), within(Ratio(0.1), Ratio(1.0));
        /// Factor of the window at a mark, with classic ECN.
        beta_ecn: Ratio = Ratio(0.8), within(Ratio(0.1), Ratio(1.0));
        /// Growth of the window in a calm RTT, as a share of it.
        increase: Ratio = Ratio(0.02), within(Ratio(0.0), Ratio(1.0));
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "scream",
    kind: "rate control",
    title: "SCReAM v2: a window for media, aware of L4S",
    text: "Keeps a window as Prague does, by marks, losses and the queue's delay, and sets the \
           encoder's rate to the window over the RTT. Sends ECT(1); a reduction takes off half of \
           the averaged share of marks.",
    sources: "draft-ietf-ccwg-rfc8298bis-screamv2-01",
    deviations: "Its optional parts against random losses, policers, undershoot, clock drift and \
                 competing flows are left out; the MSS is the packet of the call.",
    params: ScreamConfig::params,
};

/// Least RTT that counts, in seconds.
const VIRTUAL_RTT: f64 = 0.025;
/// Weights of a larger and of a smaller share of marks in alpha.
const ALPHA_UP: f64 = 1.0 / 8.0;
const ALPHA_DOWN: f64 = 1.0 / 128.0;
/// Longest time between updates of alpha, in seconds.
const ALPHA_TIME: f64 = 0.01;
/// Headroom of W over the bytes in flight.
const IN_FLIGHT_HEADROOM: f64 = 1.5;
/// RTTs after congestion in which growth is additive.
const POST_CONGESTION_RTTS: f64 = 100.0;
/// Bytes in flight over W: least and greatest.
const OVERHEAD: (f64, f64) = (1.5, 3.0);
/// Pacing: least rate in bit/s, headroom, greatest further factor, share of the greatest rate from
/// which it grows.
const PACE_MIN: f64 = 50_000.0;
const PACE_HEADROOM: f64 = 1.5;
const PACE_RELAXED: f64 = 4.0;
const PACE_FROM: f64 = 0.8;
/// Bytes of headers that the encoder's rate leaves room for.
const PACKET_OVERHEAD: f64 = 20.0;
/// Divisor of the rate without waiting or large frames.
const RATE_MARGIN: f64 = 1.2;
/// Gains of the factors for frames that wait and for frames that are too large.
const WAIT_GAIN: f64 = 1.0 / 16.0;
const SIZE_GAIN: f64 = 1.0 / 64.0;

/// An event to which a control reacts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Signal {
    Loss,
    Mark,
    /// With the share of marks that it stands for.
    Queue(f64),
}

/// State. Times are in seconds, rates in bit/s.
#[derive(Clone, Debug)]
pub struct Scream {
    config: ScreamConfig,
    /// A packet has left; the times below begin there.
    started: bool,
    least: f64,
    most: f64,
    mss: f64,
    frame_period: f64,
    /// Smoothed RTT; 0 before the first sample.
    srtt: f64,
    delay: QueueDelay,
    /// W, and W at the last first reduction.
    window: f64,
    inflection: f64,
    inflection_open: bool,
    alpha: f64,
    alpha_at: f64,
    /// Packets reported, and marked, since the last update of alpha.
    packets: u64,
    marked: u64,
    /// Signals since the last reaction.
    lost: bool,
    seen_mark: bool,
    reacted_at: f64,
    congested_at: f64,
    /// Bytes that are marked in this report.
    marked_bytes: u64,
    /// Most bytes in flight in this round and in the last one.
    most_in_flight: [u64; 2],
    round_at: f64,
    waiting: f64,
    too_large: f64,
    target: f64,
}

impl Scream {
    /// A control for a new call.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &ScreamConfig, birth: &MediaBirth) -> Result<Self, ConfigError> {
        config.validate()?;
        let [least, start, most] = [birth.least, birth.start, birth.most].map(|r| r.0 as f64);
        Ok(Self {
            config: config.clone(),
            started: false,
            least,
            most,
            mss: f64::from(birth.packet),
            frame_period: birth.frame_period.as_secs_f64(),
            srtt: 0.0,
            delay: QueueDelay::new(config.delay_target.as_secs_f64(), config.reduce_jitter),
            window: config.min_window.0 as f64,
            inflection: 1.0,
            inflection_open: true,
            alpha: 0.0,
            alpha_at: 0.0,
            packets: 0,
            marked: 0,
            lost: false,
            seen_mark: false,
            reacted_at: 0.0,
            congested_at: 0.0,
            marked_bytes: 0,
            most_in_flight: [0; 2],
            round_at: 0.0,
            waiting: 0.0,
            too_large: 0.0,
            target: start,
        })
    }

    /// The averaged share of marked packets.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The first packet leaves at `now`: the call is as young as a call that begins at 0.
    const fn start(&mut self, now: f64) {
        self.started = true;
        (self.alpha_at, self.reacted_at) = (now, now);
        (self.congested_at, self.round_at) = (now, now);
        self.delay.start(now);
    }

    /// The longer of the RTT and the virtual RTT.
    const fn long_rtt(&self) -> f64 {
        self.srtt.max(VIRTUAL_RTT)
    }

    /// Near the inflection point: 0.1 there, 1 an eighth away from it.
    fn near(&self) -> f64 {
        let apart = 8.0 * (self.window - self.inflection) / self.inflection;
        (apart * apart).clamp(0.1, 1.0)
    }

    /// Section 4.2.1.3.
    fn update_alpha(&mut self, now: f64) {
        if self.packets == 0 || now - self.alpha_at < self.srtt.min(ALPHA_TIME) {
            return;
        }
        let share = self.marked as f64 / self.packets as f64;
        if share >= self.alpha {
            self.alpha += ALPHA_UP * (share - self.alpha);
        } else {
            self.alpha *= 1.0 - ALPHA_DOWN;
        }
        (self.packets, self.marked, self.alpha_at) = (0, 0, now);
    }

    /// The signal to react to, if it is time.
    fn signal(&mut self, now: f64) -> Option<Signal> {
        if self.lost || self.seen_mark {
            self.congested_at = now;
        }
        if now - self.reacted_at < self.srtt.min(VIRTUAL_RTT) {
            return None;
        }
        if self.lost {
            Some(Signal::Loss)
        } else if self.seen_mark {
            Some(Signal::Mark)
        } else {
            let share = self.delay.virtual_share();
            (share > 0.0).then_some(Signal::Queue(share))
        }
    }

    /// Section 4.2.2.1. `near` is from before the signal.
    fn reduce(&mut self, now: f64, signal: Signal, near: f64) {
        if self.inflection_open {
            self.inflection = self.window;
            self.inflection_open = false;
        }
        let longer = (self.srtt / VIRTUAL_RTT).max(1.0);
        let l4s_mark = signal == Signal::Mark && self.config.ecn == ScreamEcn::L4s;
        if l4s_mark && now - self.reacted_at > POST_CONGESTION_RTTS * self.long_rtt() {
            self.window = self.window.min(self.most_in_flight[1] as f64);
        }
        self.window *= match signal {
            Signal::Loss => self.config.beta_loss.0,
            Signal::Mark if !l4s_mark => self.config.beta_ecn.0,
            Signal::Mark => {
                let mut off = self.alpha / 2.0 / longer;
                if self.delay.last() < self.delay.target() / 4.0 {
                    off *= near.max(0.25) * self.delay.scale().max(0.25);
                }
                1.0 - off
            }
            Signal::Queue(share) => 1.0 - share / 2.0 / longer,
        };
        self.window = self.window.max(self.config.min_window.0 as f64);
        (self.lost, self.seen_mark, self.reacted_at) = (false, false, now);
    }

    /// Section 4.2.2.2.
    fn grow(&mut self, now: f64, unmarked: u64, near: f64) {
        let calm = (now - self.congested_at) / (POST_CONGESTION_RTTS * self.long_rtt());
        let faster = self.config.increase.0 * self.window / self.mss * calm.clamp(0.0, 1.0) * near;
        let step = unmarked as f64
            * (self.mss / self.window).min(1.0)
            * (self.srtt / VIRTUAL_RTT).min(1.0)
            * near.max(0.25)
            * self.delay.scale().max(0.1)
            * (1.0 + faster);
        let most = self.most_in_flight[0].max(self.most_in_flight[1]) as f64;
        let allowed = self.mss + most * IN_FLIGHT_HEADROOM;
        if step > 0.0 && self.window + step <= allowed && self.target < self.most {
            self.window += step;
            self.inflection_open = true;
        }
    }

    /// Section 4.4.
    fn set_target(&mut self) {
        let small = ((self.mss / self.window).min(1.0) - 0.1).clamp(0.0, 0.2);
        let scale = (1.0 - small) * self.mss
            / (self.mss + PACKET_OVERHEAD)
            / (RATE_MARGIN + self.waiting + self.too_large);
        self.target = (scale * 8.0 * self.window / self.srtt).clamp(self.least, self.most);
    }
}

impl RateController for Scream {
    fn on_sent(&mut self, departure: &Departure) {
        if !self.started {
            self.start(departure.now.as_secs_f64());
        }
        self.most_in_flight[0] = self.most_in_flight[0].max(departure.in_flight);
    }

    fn on_fate(&mut self, fate: &Fate) {
        let Some(arrival) = fate.arrival else {
            self.lost = true;
            return;
        };
        self.packets += 1;
        if fate.ce {
            self.marked += 1;
            self.marked_bytes += u64::from(fate.bytes);
            self.seen_mark = true;
        }
        self.delay.take(arrival, fate.sent);
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let now = feedback.now.as_secs_f64();
        if let Some(rtt) = feedback.rtt.map(|rtt| rtt.as_secs_f64()) {
            self.srtt = if self.srtt > 0.0 { self.srtt + (rtt - self.srtt) / 8.0 } else { rtt };
        }
        if self.srtt <= 0.0 {
            return;
        }
        self.update_alpha(now);
        self.delay.average(now, self.srtt.min(VIRTUAL_RTT));
        let near = self.near();
        if let Some(signal) = self.signal(now) {
            self.reduce(now, signal, near);
        }
        let marked = core::mem::take(&mut self.marked_bytes);
        self.grow(now, feedback.newly_acked.saturating_sub(marked), near);
        if now - self.round_at >= self.srtt {
            self.round_at = now;
            self.most_in_flight = [feedback.in_flight, self.most_in_flight[0]];
        }
        self.set_target();
    }

    fn on_frame(&mut self, frame: &Encoded) {
        let error = (frame.waited.as_secs_f64() - self.frame_period / 4.0) / self.frame_period;
        self.waiting = (self.waiting + error * WAIT_GAIN).clamp(0.0, 0.5);
        let nominal = self.target * self.frame_period / 8.0;
        let over = ((frame.bytes as f64 - nominal) / nominal).max(0.0);
        self.too_large = (self.too_large + SIZE_GAIN * (over - self.too_large)).min(0.2);
    }

    fn target(&self) -> BitRate {
        BitRate(self.target as u64)
    }

    fn pacing_rate(&self) -> BitRate {
        let relaxed = (self.target / self.most - PACE_FROM) / (1.0 - PACE_FROM);
        let slower = (1.0 - relaxed).clamp(1.0 / PACE_RELAXED, 1.0);
        BitRate((self.target.max(PACE_MIN) * PACE_HEADROOM / slower) as u64)
    }

    fn window(&self) -> Option<u64> {
        let overhead = OVERHEAD.0 + (OVERHEAD.1 - OVERHEAD.0) * self.delay.scale();
        Some((self.window * overhead) as u64)
    }

    fn codepoint(&self) -> Ecn {
        match self.config.ecn {
            ScreamEcn::L4s => Ecn::Ect1,
            ScreamEcn::Classic => Ecn::Ect0,
            ScreamEcn::Off => Ecn::NotEct,
        }
    }

    fn reporting(&self) -> Reporting {
        Reporting::Rfc8888
    }
}

#[cfg(test)]
mod tests;
