//! Prague: a scalable control for L4S.
//!
//! Sources: preset `linux`: TCP Prague 0.7 (`tcp_prague.c`, L4STeam); preset `udp-prague`:
//! `prague_cc.cpp` of `udp_prague` (L4STeam). Requirements: RFC 9331 section 4. The two differ in
//! more than constants and are never mixed.
//!
//! Controls the window by the share of marked packets. Its segments carry ECT(1), and their marks
//! are counted exactly (RFC 9768), not echoed.
//! - Once in T = max(SRTT, 25 ms), and not before the data that left at the begin of T is
//!   acknowledged, alpha moves by 1/16 of the distance to the share F of marked bytes.
//! - The first mark of a T takes off alpha / 2 of the window W.
//! - Each acknowledged packet without a mark adds s / W packets, also after a reduction, with
//!   s = (SRTT / 25 ms)^2 below 25 ms and 1 above: each flow adds one packet in 25 ms for the same
//!   rate, whatever its RTT below (RTT independence; `linux`: from `transition` rounds after slow
//!   start on).
//! - A loss halves W once in a T; a spurious loss restores W.
//!
//! So a flow that sees marks with probability p has the rate r = 2 (1/p - 1) packets per T, if the
//! marks are evenly spread; r in Mbit/s is about 1/p - 1 with packets of 1500 B.
//!
//! The two presets:
//! - Start: slow start, in which the first mark halves W; `udp-prague`: a rate of 100 kbit/s.
//! - Growth: one packet in T; with `udp-prague`, the data of 1 ms at the rate once there was no
//!   mark for 7 T, and one T more for each 15.36 Mbit/s.
//! - Window: W rounded up, which moves by one packet for an acknowledgement; `udp-prague`: 1.03 W
//!   and one packet.
//! - The rate is controlled in place of the window: at four packets or less, once there were marks;
//!   `udp-prague`: at an SRTT of at most 2 ms, or at most the time of a packet at the rate.
//! - Pacing: W / SRTT, twice that below half of the threshold; `udp-prague`, and `linux` where it
//!   controls the rate: 3 % more in the first half of a T, 3 % less in the second.
//!
//! In both a burst has at most 250 us of the rate, and at least one packet; the least rate is 100
//! kbit/s. With `udp-prague` a burst that the window has held back earns no credit: the next one
//! waits its whole time (`udp_prague_sender.cpp`, `nextSend`).
//!
//! Known weaknesses: behind a classic queue that marks ECT(1) as ECT(0) it starves the others (RFC
//! 9331 appendix A.1.5); without an L4S AQM it answers to losses alone, and fills the queue.
//!
//! Deviations: with `linux` the packets stay full at rates at which the source shortens them, as
//! `udp-prague` does (two in T, down to 150 B). Windows are real numbers. `linux` grows while the
//! window or most of it is in use.

mod seen;
mod udp;

use super::CongestionController;
use crate::control::{AckSample, Birth, Bursts, Congestion, CongestionCause, IdleRestart, Sent};
use crate::numbers::{ceil, floor, larger, real, seconds, whole};
use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, ConfigError, Duration, Ecn, Instant, choice, params};
use seen::Seen;

choice! {
    /// Whose Prague.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Preset {
        /// TCP Prague in Linux, version 0.7.
        #[default]
        Linux = "linux",
        /// `udp_prague`.
        UdpPrague = "udp-prague",
    }
}

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PragueConfig {
        /// Whose algorithm.
        preset: Preset = Preset::Linux;
        /// Least virtual RTT: flows with a smaller RTT behave as if they had this one.
        virtual_rtt: Duration = Duration::from_millis(25),
            within(Duration::from_millis(1), Duration::from_millis(100)),
            "tcp_prague.c: the scaling holds up to 100 ms";
        /// Rounds after slow start from which on a flow is independent of its RTT; with linux.
        transition: u32 as "rounds" = 4, stated("any; without effect with udp-prague");
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "prague",
    kind: "congestion control",
    title: "Prague: a scalable control for L4S",
    text: "Sends ECT(1), counts marks, and takes off half of the averaged share of marked \
           packets once per virtual RTT, 25 ms or more. Below 25 ms its rate does not depend on \
           the RTT. Needs an L4S AQM at the bottleneck, such as `dualpi2`.",
    sources: "TCP Prague 0.7 for Linux (tcp_prague.c); udp_prague (prague_cc.cpp); RFC 9331 \
              section 4",
    deviations: "With linux packets are never shortened at low rates, and the window also grows \
                 while most of it is in use, since a paced sender seldom fills it.",
    params: PragueConfig::params,
};

/// Gain of alpha.
const GAIN: f64 = 1.0 / 16.0;
/// Least rate in bytes a second.
const LEAST_RATE: f64 = 12_500.0;
/// Payload of a packet of 1500 B, the growth of `linux` in T.
const REFERENCE: f64 = 1448.0;
/// Offset of the pacing rate in the halves of a T; `linux` has 4/128.
const OFFSET: [f64; 2] = [4.0 / 128.0, 0.03];
/// Packets down to which `linux` controls the window.
const LEAST_WINDOW: f64 = 4.0;
/// `udp-prague`: least number of T without a mark before it grows faster, and the rate in bytes a
/// second for which it waits one more.
const PATIENCE: (f64, f64) = (7.0, 1_920_000.0);
/// `udp-prague`: least payload of a packet.
const LEAST_PACKET: f64 = 150.0;
/// `udp-prague`: SRTT in seconds up to which it controls the rate.
const SHORT: f64 = 0.002;

/// The amount that a loss took off, for the case that it was spurious.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    window: f64,
    rate: f64,
    /// Added to the patience.
    patience: f64,
}

/// State.
#[derive(Clone, Debug)]
pub struct Prague {
    udp: bool,
    target: f64,
    transition: u32,
    mss: f64,
    initial_window: f64,
    /// W in packets.
    window: f64,
    /// In bytes a second.
    rate: f64,
    /// The rate is controlled, and the window follows it.
    by_rate: bool,
    /// `linux`: the window that the engine sees, in packets.
    whole: f64,
    /// `udp-prague`: payload of a packet, two in T at low rates.
    size: f64,
    /// `linux`: threshold of slow start in packets.
    ssthresh: f64,
    alpha: f64,
    /// When alpha was last updated, and the bytes delivered and marked by then; `udp-prague` counts
    /// packets.
    alpha_at: Instant,
    delivered: u64,
    marked: u64,
    /// Bytes or packets reported as marked.
    marks: u64,
    /// `udp-prague`: packets delivered since the start.
    packets: u64,
    saw_mark: bool,
    /// Rounds since slow start.
    rounds: u32,
    /// When the last reduction for a mark began, and the last that took something off.
    reducing: Option<Instant>,
    reduced_at: Instant,
    /// When the loss of the present recovery was found.
    losing: Option<Instant>,
    taken: Taken,
    /// `linux`: slow average of the SRTT in seconds.
    slow_rtt: f64,
    /// `udp-prague`: T without a mark before it grows faster, and T in seconds.
    patience: f64,
    virtual_rtt: f64,
    timed_out: bool,
    cwnd: u64,
    pacing: BitRate,
}

impl Prague {
    /// A control for a new connection.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &PragueConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        let mss = f64::from(birth.mss);
        let initial = (birth.initial_window as f64 / mss).max(1.0);
        let mut control = Self {
            udp: config.preset == Preset::UdpPrague,
            target: seconds(config.virtual_rtt),
            transition: config.transition,
            mss,
            initial_window: initial,
            window: initial,
            rate: LEAST_RATE,
            by_rate: false,
            whole: initial,
            size: mss,
            ssthresh: f64::INFINITY,
            alpha: 0.0,
            alpha_at: Instant::ZERO,
            delivered: 0,
            marked: 0,
            marks: 0,
            packets: 0,
            saw_mark: false,
            rounds: 0,
            reducing: None,
            reduced_at: Instant::ZERO,
            losing: None,
            taken: Taken::default(),
            slow_rtt: 0.0,
            patience: PATIENCE.0,
            virtual_rtt: seconds(config.virtual_rtt),
            timed_out: false,
            cwnd: 0,
            pacing: BitRate(0),
        };
        control.publish_window();
        if control.udp {
            control.size = (LEAST_RATE * control.target / 2.0).max(LEAST_PACKET).min(mss);
            control.publish_rate(LEAST_RATE);
            control.publish_window();
        }
        Ok(control)
    }

    /// Average share of marked bytes.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    fn publish_window(&mut self) {
        if self.udp {
            let packets = floor(self.window * self.mss * (1.0 + OFFSET[1]) / self.size + 1.0);
            self.cwnd = whole(packets.max(2.0) * self.size).max(whole(self.mss));
        } else {
            self.cwnd = whole(self.whole.max(1.0) * self.mss);
        }
    }

    fn publish_rate(&mut self, rate: f64) {
        self.pacing = BitRate(whole(rate.max(LEAST_RATE) * 8.0));
    }

    /// `linux`: it behaves as if its RTT were the virtual one.
    fn is_independent(&self) -> bool {
        !self.in_slow_start() && self.rounds >= self.transition
    }

    /// The control sets the rate, not the window.
    fn rules_rate(&self) -> bool {
        self.by_rate && (self.udp || self.is_independent())
    }

    /// The window that corresponds to the rate: `linux` uses the slow average of the RTT.
    fn window_of_rate(&self, srtt: f64) -> f64 {
        let rtt = if self.udp || self.slow_rtt == 0.0 { srtt } else { self.slow_rtt };
        self.rate * rtt / self.mss
    }

    fn rate_of_window(&self, srtt: f64) -> f64 {
        if srtt > 0.0 { (self.window * self.mss / srtt).max(LEAST_RATE) } else { LEAST_RATE }
    }

    /// Alpha moves once T is over and the data that left at its begin is acknowledged. `delivered`:
    /// bytes or packets since the start.
    fn update_alpha(&mut self, sample: &Seen, delivered: u64, virtual_rtt: f64) {
        if !sample.has_left_since(self.alpha_at) {
            return;
        }
        let waits = self.udp || self.is_independent();
        let least = if self.udp { virtual_rtt } else { self.target };
        if waits && seconds(sample.now.since(self.alpha_at)) < least {
            return;
        }
        if self.udp || self.saw_mark {
            let acked = (delivered - self.delivered) as f64;
            let share = if acked > 0.0 { (self.marks - self.marked) as f64 / acked } else { 0.0 };
            self.alpha += GAIN * (share.min(1.0) - self.alpha);
        }
        self.patience = (self.patience - 1.0).max(0.0);
        let srtt = seconds(sample.srtt);
        self.slow_rtt = if self.slow_rtt == 0.0 {
            srtt
        } else {
            self.slow_rtt + (srtt - self.slow_rtt) / 128.0
        };
        if !self.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        (self.alpha_at, self.delivered, self.marked) = (sample.now, delivered, self.marks);
    }

    /// The first mark of a T.
    fn reduce(&mut self, sample: &Seen, virtual_rtt: f64) {
        if let Some(since) = self.reducing {
            let over = sample.has_left_since(since)
                && (!self.udp || seconds(sample.now.since(since)) >= virtual_rtt);
            if !over {
                return;
            }
            self.reducing = None;
        }
        if sample.ce_bytes == 0 || self.losing.is_some() {
            return;
        }
        self.reducing = Some(sample.now);
        self.patience = PATIENCE.0 + floor(self.rate / PATIENCE.1);
        let held = !self.udp && self.is_independent();
        if held && seconds(sample.now.since(self.reduced_at)) < self.target {
            return;
        }
        self.reduced_at = sample.now;
        let kept = 1.0 - self.alpha / 2.0;
        self.rate = (self.rate * kept).max(LEAST_RATE);
        self.window *= kept;
    }

    /// Growth by `packets` full packets without a mark.
    fn grow(&mut self, packets: f64, srtt: f64, virtual_rtt: f64) {
        let mut step = if self.udp { self.mss } else { REFERENCE };
        if self.udp && self.patience == 0.0 {
            step = step.max(self.rate * 0.001);
        }
        if self.rules_rate() {
            // In T the rate grows by the step per T.
            let in_flight = if self.udp {
                self.whole_packets(virtual_rtt)
            } else {
                (self.rate * virtual_rtt / self.mss).max(1e-9)
            };
            self.rate += packets * step / virtual_rtt / in_flight;
            return;
        }
        let scaled = srtt < self.target && (self.udp || self.is_independent());
        let scale = if scaled { (srtt / self.target) * (srtt / self.target) } else { 1.0 };
        self.window += packets * scale * (step / self.mss) / self.window.max(1e-9);
    }

    /// 3 % more in the first half of a T, 3 % less in the second.
    fn pace_in_halves(&mut self, now: Instant, virtual_rtt: f64) {
        let late = seconds(now.since(self.alpha_at)) >= virtual_rtt / 2.0;
        let rate = match (self.udp, late) {
            (true, true) => self.rate / (1.0 + OFFSET[1]),
            (true, false) => self.rate * (1.0 + OFFSET[1]),
            (false, true) => self.rate * (1.0 - OFFSET[0]),
            (false, false) => self.rate * (1.0 + OFFSET[0]),
        };
        self.publish_rate(rate);
    }

    /// `linux`: the window of the engine follows W by a packet at a time.
    fn follow(&mut self) {
        let aim = ceil(self.window).max(2.0);
        if self.whole > aim {
            self.whole -= 1.0;
            self.ssthresh = self.whole;
        } else if self.whole < aim {
            self.whole += 1.0;
        }
        self.publish_window();
    }

    fn grow_linux(&mut self, sample: &Seen, srtt: f64, virtual_rtt: f64) {
        let mut unmarked = real(sample.acked.saturating_sub(sample.ce_bytes));
        let may = sample.window_limited
            || 4 * sample.max_in_flight >= 3 * self.cwnd
            || self.in_slow_start() && self.cwnd < 2 * sample.max_in_flight;
        if unmarked <= 0.0 || self.losing.is_some() || !may {
            return;
        }
        if self.in_slow_start() {
            let add = (unmarked / self.mss).min(self.ssthresh - self.whole);
            self.whole += add;
            self.window = self.whole;
            unmarked -= add * self.mss;
        }
        if unmarked > 0.0 {
            self.grow(unmarked / self.mss, srtt, virtual_rtt);
        }
        if self.rules_rate() {
            self.window = self.window.max(self.window_of_rate(srtt));
        } else {
            self.rate = larger(self.rate, self.rate_of_window(srtt));
        }
    }

    fn ack_linux(&mut self, sample: &Seen) {
        let srtt = seconds(sample.srtt);
        let virtual_rtt = larger(srtt, self.target);
        self.reduce(sample, virtual_rtt);
        if self.rules_rate() {
            self.window = self.window_of_rate(srtt);
        } else {
            self.rate = self.rate_of_window(srtt);
        }
        if sample.ce_bytes > 0 && !self.saw_mark {
            self.saw_mark = true;
            self.window /= 2.0;
        }
        self.grow_linux(sample, srtt, virtual_rtt);
        self.follow();
        self.timed_out &= sample.acked == 0;
        self.update_alpha(sample, sample.delivered, virtual_rtt);
        self.set_linux_pace(sample, srtt, virtual_rtt);
        let low = self.saw_mark && self.whole <= LEAST_WINDOW * REFERENCE / self.mss;
        if low && !self.by_rate {
            self.window = self.window_of_rate(srtt);
        }
        self.by_rate = low;
    }

    #[inline(never)]
    fn acknowledge(&mut self, sample: &Seen) {
        if self.udp {
            self.marks += sample.ce_count;
            self.packets += sample.segments;
            self.ack_udp(sample);
        } else {
            self.marks += sample.ce_bytes;
            self.ack_linux(sample);
        }
    }

    fn set_linux_pace(&mut self, sample: &Seen, srtt: f64, virtual_rtt: f64) {
        if self.rules_rate() {
            return self.pace_in_halves(sample.now, virtual_rtt);
        }
        let flight = floor(self.window).max(real(sample.in_flight) / self.mss);
        self.rate = if srtt > 0.0 { flight * self.mss / srtt } else { 0.0 }.max(LEAST_RATE);
        let early = self.whole < self.ssthresh / 2.0;
        self.publish_rate(if early { 2.0 * self.rate } else { self.rate });
    }
}

impl CongestionController for Prague {
    fn on_sent(&mut self, _: &Sent) {}

    // Inlined, so that the engine computes only the fields that are read.
    #[inline(always)]
    fn on_ack(&mut self, sample: &AckSample) {
        if sample.srtt.is_zero() {
            return;
        }
        self.acknowledge(&Seen::of(sample));
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.cause == CongestionCause::Ecn {
            return;
        }
        let timeout = matches!(event.cause, CongestionCause::Timeout { .. });
        if self.udp && timeout {
            self.reset_udp(event.now);
        } else if self.losing.is_none() || !self.udp {
            let (window, rate) = (self.window, self.rate);
            self.window /= 2.0;
            self.rate = (self.rate / 2.0).max(LEAST_RATE);
            let patience = if self.udp { self.lose_patience(rate) } else { 0.0 };
            self.taken = Taken { window: window - self.window, rate: rate - self.rate, patience };
            self.losing = Some(event.now);
        }
        self.publish_window();
        if timeout {
            self.timed_out = true;
            self.whole = 1.0;
            self.cwnd = self.mss as u64;
        }
    }

    fn on_spurious(&mut self, _: Instant) {
        self.window += self.taken.window;
        self.rate += self.taken.rate;
        self.patience = (self.patience - self.taken.patience).max(0.0);
        self.taken = Taken::default();
        self.losing = None;
        if !self.udp {
            self.whole = self.whole.max(ceil(self.window));
        }
        self.publish_window();
    }

    fn on_idle_restart(&mut self, restart: &IdleRestart) {
        if !self.udp && restart.shrink && restart.idle > restart.rto {
            self.whole = self.whole.min(self.initial_window);
            self.publish_window();
        }
    }

    fn on_recovery_exit(&mut self, _: Instant) {
        if !self.udp {
            self.losing = None;
        }
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        // An infinite threshold saturates to the largest integer.
        (self.ssthresh * self.mss) as u64
    }

    fn in_slow_start(&self) -> bool {
        !self.udp && self.whole < self.ssthresh
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        (self.pacing.0 > 0).then_some(self.pacing)
    }

    fn segment(&self) -> Option<u64> {
        (self.size < self.mss).then_some(self.size as u64)
    }

    fn bursts(&self) -> Option<Bursts> {
        Some(Bursts { time: Duration::from_micros(250), credited: !self.udp })
    }

    fn uses_rate_samples(&self) -> bool {
        false
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn codepoint(&self) -> Option<Ecn> {
        Some(Ecn::Ect1)
    }
}

#[cfg(test)]
mod tests;
