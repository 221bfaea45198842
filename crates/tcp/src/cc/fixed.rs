//! A fixed window: the sender of RAPID's section 3.5 has one, and a proxy steers its radio leg with
//! one (Diarra et al. 2022).
//!
//! Controls the congestion window, which is `segments` of MSS, or the value that the sender's owner
//! set last ([`crate::Sender::set_window`]). It does not grow. By default neither a loss nor an
//! echo reduces it. With `loss = "halve"` they bound it to half of the bytes in flight (RFC 5681
//! equation 4); the bound then grows by an eighth in each of 8 round trips, then twofold, until it
//! reaches the window. After a timeout one segment leaves; the first acknowledgement that delivers
//! data restores the window. The rate on a path that is not full is window / RTT.
//!
//! Defaults: 10 segments, the initial window of RFC 6928.
//!
//! Known weaknesses: it is no congestion control. A window larger than the path causes losses in
//! each round for as long as there is data, and the flow does not react to others: RFC 2914 forbids
//! it on the Internet.
//!
//! Deviations: none from the source, which does not define the reaction to a timeout.

use super::CongestionController;
use crate::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, RecoveryState, Sent,
};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Instant, choice, params};

choice! {
    /// The reaction of the window to a loss or a mark.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Loss {
        /// Half of the bytes in flight, then back to the window.
        Halve = "halve",
        /// The window stays.
        Ignore = "ignore",
    }
}

/// Round trips in which the bound grows by an eighth.
const SLOW_ROUNDS: u32 = 8;

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FixedConfig {
        /// The window.
        segments: u32 as "segments" = 10,
            within(1, 1_000_000), "no receive window holds more (RFC 7323 section 2.3: 2^30 bytes)";
        /// A loss or a mark halves the bytes that may be in flight, for some round trips, or
        /// changes nothing.
        loss: Loss = Loss::Ignore;
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "fixed",
    kind: "congestion control",
    title: "Fixed: a window that does not change",
    text: "Keeps a number of segments in flight, whatever is lost or marked. After a timeout it \
           keeps one, until an acknowledgement delivers data. Its owner may set the window in \
           bytes at any time, as a proxy does. With loss = \"halve\" a loss or a mark halves the \
           bytes that may be in flight, for some round trips.",
    sources: "Diarra et al. 2022 (RAPID) section 3.5",
    deviations: "None; the source does not describe its sender after a timeout.",
    params: FixedConfig::params,
};

/// State.
#[derive(Clone, Debug)]
pub struct Fixed {
    mss: u64,
    window: u64,
    /// The timer has fired and nothing has been delivered since.
    timed_out: bool,
    loss: Loss,
    /// Most bytes in flight after a loss, or none without a bound; and its value before the last
    /// loss, in case that loss was spurious.
    bound: Option<u64>,
    before: Option<u64>,
    /// Round trips since the last loss.
    rounds: u32,
}

impl Fixed {
    /// A control for a new connection. It ignores the sender's initial window.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &FixedConfig, birth: &Birth) -> Result<Self, ConfigError> {
        config.validate()?;
        let mss = u64::from(birth.mss);
        Ok(Self {
            mss,
            window: u64::from(config.segments) * mss,
            timed_out: false,
            loss: config.loss,
            bound: None,
            before: None,
            rounds: 0,
        })
    }

    fn bounded(&self) -> u64 {
        self.bound.map_or(self.window, |bound| bound.min(self.window))
    }

    /// A round trip without loss has ended.
    fn grow(&mut self) {
        self.rounds += 1;
        let slow = self.rounds <= SLOW_ROUNDS;
        let grown = |bound: u64| if slow { bound + bound / 8 } else { 2 * bound };
        self.bound = self.bound.map(grown).filter(|&bound| slow || bound < self.window);
    }
}

impl CongestionController for Fixed {
    fn on_sent(&mut self, _: &Sent) {}

    #[inline(always)]
    fn on_ack(&mut self, sample: &AckSample) {
        self.timed_out &= sample.acked == 0;
        if self.bound.is_some() && sample.round_start && sample.recovery == RecoveryState::Open {
            self.grow();
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.timed_out |= matches!(event.cause, CongestionCause::Timeout { .. });
        if self.loss == Loss::Halve {
            let half = event.flight_size.min(self.bounded()) / 2;
            (self.before, self.bound) = (self.bound, Some(half.max(2 * self.mss)));
            self.rounds = 0;
        }
    }

    fn on_spurious(&mut self, _: Instant) {
        self.timed_out = false;
        self.bound = self.before;
    }

    fn on_idle_restart(&mut self, _: &IdleRestart) {}

    fn on_recovery_exit(&mut self, _: Instant) {}

    fn cwnd(&self) -> u64 {
        if self.timed_out { self.mss } else { self.bounded() }
    }

    fn set_window(&mut self, bytes: u64) -> bool {
        self.window = bytes.max(self.mss);
        true
    }

    fn may_pace(&self) -> bool {
        false
    }

    fn in_slow_start(&self) -> bool {
        false
    }

    fn uses_rate_samples(&self) -> bool {
        false
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn phase(&self) -> &'static str {
        "fixed"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MSS};

    fn control() -> Fixed {
        let config = FixedConfig { segments: 7, ..FixedConfig::default() };
        Fixed::new(&config, &testing::birth()).expect("the settings are valid")
    }

    #[test]
    fn neither_acknowledgements_nor_losses_nor_marks_nor_silence_move_the_window() {
        let mut c = control();
        assert_eq!(c.cwnd(), 7 * MSS, "not the initial window of ten");
        for event in [testing::loss(7 * MSS), testing::echo(7 * MSS)] {
            c.on_congestion(&event);
            c.on_ack(&testing::sample(100 * MSS));
            assert_eq!(c.cwnd(), 7 * MSS);
        }
        let [idle, rto] = [5, 1].map(justfull_base::Duration::from_secs);
        c.on_idle_restart(&IdleRestart {
            now: Instant::ZERO,
            idle,
            rto,
            shrink: true,
            app_limited: true,
        });
        c.on_recovery_exit(Instant::ZERO);
        assert_eq!((c.cwnd(), c.ssthresh(), c.phase()), (7 * MSS, u64::MAX, "fixed"));
    }

    #[test]
    fn after_a_timeout_one_segment_probes_the_path() {
        let mut c = control();
        for repeated in [false, true] {
            c.on_congestion(&testing::timeout(7 * MSS, repeated));
            c.on_ack(&testing::sample(0));
            assert_eq!(c.cwnd(), MSS);
        }
        c.on_ack(&testing::sample(1));
        assert_eq!(c.cwnd(), 7 * MSS);
        c.on_congestion(&testing::timeout(7 * MSS, false));
        c.on_spurious(Instant::ZERO);
        assert_eq!(c.cwnd(), 7 * MSS);
    }

    #[test]
    fn a_loss_that_counts_halves_the_flight_and_some_round_trips_restore_the_window() {
        let config = FixedConfig { segments: 40, loss: Loss::Halve };
        let mut c = Fixed::new(&config, &testing::birth()).expect("the settings are valid");
        c.on_congestion(&testing::loss(40 * MSS));
        assert_eq!(c.cwnd(), 20 * MSS);
        let round = AckSample { round_start: true, ..testing::sample(MSS) };
        c.on_ack(&AckSample { recovery: RecoveryState::Recovery, ..round });
        c.on_ack(&AckSample { round_start: false, ..round });
        assert_eq!(c.cwnd(), 20 * MSS, "neither in recovery nor within a round trip");
        c.on_ack(&round);
        assert_eq!(c.cwnd(), 20 * MSS * 9 / 8);
        (1..9).for_each(|_| c.on_ack(&round));
        assert_eq!(c.cwnd(), 40 * MSS, "20 x 1.125^8 is above the window");
        c.on_congestion(&testing::loss(40 * MSS));
        c.on_spurious(Instant::ZERO);
        assert_eq!(c.cwnd(), 40 * MSS, "there was no loss");
        c.on_congestion(&testing::loss(2 * MSS));
        assert_eq!(c.cwnd(), 2 * MSS, "two segments at least");
    }

    #[test]
    fn its_owner_sets_the_window_to_a_segment_at_least() {
        let mut c = control();
        assert!(c.set_window(123_456));
        assert_eq!(c.cwnd(), 123_456);
        assert!(c.set_window(0));
        assert_eq!(c.cwnd(), MSS);
    }

    #[test]
    fn a_window_without_a_segment_is_refused() {
        let found =
            Fixed::new(&FixedConfig { segments: 0, ..FixedConfig::default() }, &testing::birth());
        assert_eq!(found.map_err(|e| e.field).err(), Some("segments".into()));
    }
}
