//! The congestion controls. Their interface to the engine is in [`crate::control`].

pub mod abc;
pub mod bbr;
pub mod bbr3;
pub mod cubic;
pub mod dctcp;
pub mod fixed;
pub mod ledbatpp;
pub mod new_reno;
pub mod prague;
pub mod vegas;
pub mod westwood;
pub mod yeah;

use crate::control::{AckSample, Birth, Bursts, Congestion, IdleRestart, Lost, Sent};
use alloc::boxed::Box;
use core::fmt;
use justfull_base::{BitRate, Ecn, Instant, forwarded, kinds};

/// A control from outside this crate: anything that can be cloned and sent to another thread.
pub trait CustomControl: CongestionController + Send {
    /// A copy with the same behaviour.
    fn boxed_clone(&self) -> Box<dyn CustomControl>;
}

impl<T: CongestionController + Clone + Send + 'static> CustomControl for T {
    fn boxed_clone(&self) -> Box<dyn CustomControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CustomControl> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

kinds! {
    $ each;

    /// The congestion control, with its settings.
    #[derive(Clone, Debug, PartialEq)]
    pub enum CcConfig = Cubic;

    /// One of our controls, or a user's own. BBR, BBRv3, Prague and LEDBAT++ are boxed, since they
    /// have more state than the others.
    #[derive(Clone)]
    pub enum AnyControl(birth: &Birth) or Box<dyn CustomControl>;

    "new_reno" NewReno = new_reno::{NewReno, NewRenoConfig};
    "cubic" Cubic = cubic::{Cubic, CubicConfig};
    "bbr" Bbr = bbr::{Bbr in Box, BbrConfig};
    "bbr3" Bbr3 = bbr3::{Bbr3 in Box, Bbr3Config};
    "fixed" Fixed = fixed::{Fixed, FixedConfig};
    "vegas" Vegas = vegas::{Vegas, VegasConfig};
    "westwood" Westwood = westwood::{Westwood, WestwoodConfig};
    "yeah" Yeah = yeah::{Yeah, YeahConfig};
    "prague" Prague = prague::{Prague in Box, PragueConfig};
    "dctcp" Dctcp = dctcp::{Dctcp, DctcpConfig};
    "ledbatpp" Ledbatpp = ledbatpp::{Ledbatpp in Box, LedbatppConfig};
    "abc" Abc = abc::{Abc in Box, AbcConfig};
}

forwarded! {
    by each for AnyControl;

    /// A congestion control.
    pub trait CongestionController: fmt::Debug {
        /// A segment leaves.
        fn on_sent(&mut self, sent: &Sent);

        /// An acknowledgement arrived. Called after the engine's own bookkeeping and state changes.
        fn on_ack(&mut self, sample: &AckSample);

        /// Congestion: called once per recovery, once per window of ECN echoes, once per timeout.
        fn on_congestion(&mut self, event: &Congestion);

        /// A segment was just marked lost. Called only if
        /// [`CongestionController::uses_losses`], before [`CongestionController::on_ack`].
        fn on_lost(&mut self, _lost: &Lost) {}

        /// The last reduction was needless: the original segment had arrived (RFC 3522, RFC 4015).
        fn on_spurious(&mut self, now: Instant);

        /// Sending resumes with nothing in flight.
        fn on_idle_restart(&mut self, restart: &IdleRestart);

        /// The reduction or recovery is over.
        fn on_recovery_exit(&mut self, now: Instant);

        /// Congestion window in bytes, at least one MSS.
        fn cwnd(&self) -> u64;

        /// Slow-start threshold in bytes; `u64::MAX` before the first reduction or when the control
        /// has none.
        fn ssthresh(&self) -> u64 {
            u64::MAX
        }

        /// Sets the window from outside to `bytes`, at least one MSS. Returns false, and changes
        /// nothing, for a control that sets its own window.
        fn set_window(&mut self, _bytes: u64) -> bool {
            false
        }

        /// False for a control that never sets a pacing rate.
        fn may_pace(&self) -> bool {
            true
        }

        /// Pacing rate; none to send as the window allows.
        fn pacing_rate(&self) -> Option<BitRate> {
            None
        }

        /// Segments of the smallest burst of a sender that follows a Linux (`min_tso_segs`).
        fn least_burst(&self) -> u64 {
            2
        }

        /// Bursts at the pacing rate; none for Linux's usual bursts.
        fn bursts(&self) -> Option<Bursts> {
            None
        }

        /// Payload bytes of a full segment, at most the MSS; none for the MSS. Prague sends shorter
        /// ones at low rates.
        fn segment(&self) -> Option<u64> {
            None
        }

        /// The codepoint of the segments of a scalable control, which reacts to exact counts of
        /// marks (RFC 9768, [`AckSample::ce_bytes`]); none for a control that gets echoes (RFC
        /// 3168), if its settings have ECN.
        fn codepoint(&self) -> Option<Ecn> {
            None
        }

        /// True in slow start: the window grows by the acknowledged bytes.
        fn in_slow_start(&self) -> bool {
            self.cwnd() < self.ssthresh()
        }

        /// False when the control uses no delivery-rate samples. The sender then takes none: in its
        /// [`AckSample`]s `prior_delivered` is the amount delivered before, `interval` is none, and
        /// `app_limited`, `round_start` and `retransmitted_sample` are false.
        fn uses_rate_samples(&self) -> bool {
            true
        }

        /// True for a control that looks at each lost segment.
        fn uses_losses(&self) -> bool {
            false
        }

        /// True when [`CongestionController::cwnd`] holds during recovery too, without PRR.
        fn owns_recovery(&self) -> bool {
            false
        }

        /// True while the control itself holds data back, so that samples do not show the network's
        /// rate (BBR in `ProbeRTT`).
        fn limits_samples(&self) -> bool {
            false
        }

        /// Name of the phase, for plots.
        fn phase(&self) -> &'static str {
            if self.in_slow_start() { "slow_start" } else { "avoidance" }
        }
    }
}

impl AnyControl {
    /// A user's own control.
    #[must_use]
    pub fn custom(control: impl CustomControl + 'static) -> Self {
        Self::Custom(Box::new(control))
    }
}

impl fmt::Debug for AnyControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, c => c.fmt(f))
    }
}

impl AnyControl {
    /// Like [`CongestionController::on_sent`], but builds the sample only for a control that reads
    /// it.
    #[inline(always)]
    pub(crate) fn on_sent_with(&mut self, sent: impl Fn() -> Sent) {
        each!(self, c => c.on_sent(&sent()));
    }

    /// Like [`CongestionController::on_ack`]. Each arm builds its own sample, so that a control
    /// inlined into its caller computes only the fields it reads.
    #[inline(always)]
    pub(crate) fn on_ack_with(&mut self, told: &impl Sampled) {
        each!(self, c => c.on_ack(&told.sample()));
    }
}

/// Parts of which a sample is made. A method can be inlined always, a closure cannot.
pub(crate) trait Sampled {
    fn sample(&self) -> AckSample;
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Duration;

    #[test]
    fn every_control_on_the_list_is_found_by_its_name_and_no_other_is() {
        for doc in DOCS {
            let config = CcConfig::by_name(doc.name).expect("a control has a configuration");
            assert_eq!(config.name(), doc.name);
            assert_eq!(config.validate(), Ok(()));
            assert_eq!(doc.kind, "congestion control");
        }
        assert_eq!(CcConfig::by_name("tahoe"), None);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_control_is_written_as_its_kind_with_its_settings_and_an_unknown_setting_is_refused() {
        let read = |text| serde_json::from_str::<CcConfig>(text);
        let expected = CubicConfig { hystart: cubic::HyStart::Off, ..CubicConfig::default() };
        let config = read(r#"{"kind": "cubic", "hystart": "off"}"#).expect("both keys are known");
        assert_eq!(config, CcConfig::Cubic(expected));
        assert_eq!(
            read(r#"{"kind": "bbr"}"#).expect("the defaults"),
            CcConfig::Bbr(BbrConfig::default())
        );
        assert!(read(r#"{"kind": "cubic", "histart": "off"}"#).is_err());
        assert!(read(r#"{"kind": "tahoe"}"#).is_err());
    }

    /// Counts its calls, and returns values that no default has.
    #[derive(Clone, Debug, Default)]
    struct Own {
        told: [u32; 6],
    }

    impl CongestionController for Own {
        fn on_sent(&mut self, _: &Sent) {
            self.told[0] += 1;
        }
        fn on_ack(&mut self, _: &AckSample) {
            self.told[1] += 1;
        }
        fn on_congestion(&mut self, _: &Congestion) {
            self.told[2] += 1;
        }
        fn on_spurious(&mut self, _: Instant) {
            self.told[3] += 1;
        }
        fn on_idle_restart(&mut self, _: &IdleRestart) {
            self.told[4] += 1;
        }
        fn on_recovery_exit(&mut self, _: Instant) {
            self.told[5] += 1;
        }
        fn cwnd(&self) -> u64 {
            self.told.iter().map(|&n| u64::from(n)).sum()
        }
        fn ssthresh(&self) -> u64 {
            6
        }
    }

    #[test]
    fn a_users_own_control_gets_every_event_and_has_defaults() {
        let mut control = AnyControl::custom(Own::default());
        let (now, second) = (Instant::ZERO, Duration::from_secs(1));
        assert_eq!((control.phase(), control.in_slow_start()), ("slow_start", true));
        control.on_sent(&Sent { now, bytes: 1, in_flight: 1, retransmission: false });
        control.on_ack(&crate::testing::sample(1));
        control.on_congestion(&crate::testing::loss(1));
        control.on_spurious(now);
        control.on_idle_restart(&IdleRestart {
            now,
            idle: second,
            rto: second,
            shrink: true,
            app_limited: true,
        });
        assert_eq!((control.cwnd(), control.in_slow_start()), (5, true));
        control.on_recovery_exit(now);
        assert_eq!(std::format!("{:?}", control.clone()), "Own { told: [1, 1, 1, 1, 1, 1] }");
        assert_eq!((control.cwnd(), control.ssthresh(), control.pacing_rate()), (6, 6, None));
        assert_eq!((control.phase(), control.in_slow_start()), ("avoidance", false));
        assert!(control.may_pace() && control.uses_rate_samples());
        assert!(!control.owns_recovery() && !control.limits_samples());
        assert!(!control.set_window(1) && control.cwnd() == 6);
    }

    #[test]
    fn each_of_our_controls_is_made_and_called_as_itself() {
        for (name, paces) in [("new_reno", false), ("cubic", false), ("bbr", true)] {
            let config = CcConfig::by_name(name).expect("it is on the list");
            let mut control =
                AnyControl::new(&config, &crate::testing::birth()).expect("defaults are valid");
            assert_eq!(control.cwnd(), 14_480);
            assert_eq!((control.may_pace(), control.owns_recovery()), (paces, paces), "{name}");
            assert_eq!(control.uses_rate_samples(), paces, "only BBR reads them");
            assert_eq!(control.pacing_rate().is_some(), paces);
            assert_eq!((control.ssthresh(), control.in_slow_start()), (u64::MAX, true));
            assert_eq!(control.phase(), if paces { "startup" } else { "slow_start" });
            // Eleven seconds without a smaller RTT: BBR holds data back to measure it again.
            for seconds in [1, 12] {
                let now = Instant::ZERO + Duration::from_secs(seconds);
                control.on_ack(&AckSample { now, ..crate::testing::sample(1) });
            }
            assert_eq!((control.limits_samples(), control.phase() == "probe_rtt"), (paces, paces));
        }
    }

    #[test]
    fn a_window_may_grow_when_it_blocks_or_in_slow_start_when_more_than_half_was_used() {
        let may = |window_limited, max_in_flight, slow_start| {
            AckSample { window_limited, max_in_flight, ..crate::testing::sample(1) }
                .may_grow(100, slow_start)
        };
        assert!(may(true, 0, false) && may(true, 0, true));
        assert!(!may(false, 50, true) && may(false, 51, true) && !may(false, 100, false));
    }

    #[test]
    fn a_setting_out_of_bounds_is_named_with_its_path() {
        let cc = CcConfig::NewReno(NewRenoConfig { abc_limit: 0, ..Default::default() });
        let config = crate::SenderConfig { cc, ..Default::default() };
        assert_eq!(
            crate::Sender::new(&config).map_err(|e| e.field).err(),
            Some("cc.abc_limit".into())
        );
    }
}
