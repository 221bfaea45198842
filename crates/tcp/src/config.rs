//! What a user sets of a sender.

use crate::cc::CcConfig;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration};

/// Largest payload of a segment: 65 535 bytes of IPv4 packet less 40 of headers (RFC 6691).
pub const MAX_MSS: u32 = 65_495;

/// When segments are spread over time instead of being sent at the pace of the acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Pacing {
    /// Only if the congestion control asks for a rate, as BBR does.
    #[default]
    Auto,
    /// Always; a control without a rate of its own is paced at cwnd per smoothed RTT, times 2 in slow start and
    /// 1.2 in congestion avoidance (Linux `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
    Always,
}

/// How the window shrinks in a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Prr {
    /// In proportion to what is delivered; below ssthresh as slow start while acknowledgements advance without new losses,
    /// else by packet conservation (RFC 9937, Linux).
    #[default]
    SafeAck,
    /// In proportion; below ssthresh always as slow start (RFC 6937, PRR-SSRB).
    Ssrb,
    /// In proportion; below ssthresh by packet conservation (RFC 6937, PRR-CRB).
    Crb,
    /// At once (RFC 6675).
    Off,
}

/// What tells that a recovery was needless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum SpuriousDetection {
    /// Timestamps: the echo is older than the retransmission (RFC 3522). Judges timeouts and fast recoveries.
    #[default]
    Eifel,
    /// Two acknowledgements after a timeout, with new data sent in between (RFC 5682 section 3). Judges timeouts alone.
    FRto,
    /// Nothing.
    Off,
}

/// How losses are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Recovery {
    /// By time (RACK, RFC 8985), with probes of the tail (TLP).
    #[default]
    Rack,
    /// By counting what is sacked above a hole (RFC 6675).
    Dupack,
}

/// Settings of a [`crate::Sender`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct SenderConfig {
    /// Payload bytes of a full segment, 1 to [`MAX_MSS`].
    pub mss: u32,
    /// Initial window in segments, at least 1 (RFC 6928: 10).
    pub initial_window: u32,
    /// The congestion control.
    pub cc: CcConfig,
    /// Send ECN-capable segments and react to echoes (RFC 3168).
    pub ecn: bool,
    /// Floor of the variance term of the retransmission timeout.
    pub min_rto: Duration,
    /// Ceiling of the retransmission timeout after backoff, at least `min_rto` (RFC 6298 (2.5): at least 60 s).
    pub max_rto: Duration,
    /// When segments are paced.
    pub pacing: Pacing,
    /// How losses are found.
    pub recovery: Recovery,
    /// Probe the tail of a flight before the retransmission timer fires (RFC 8985 section 7); only with RACK.
    pub tail_loss_probe: bool,
    /// What tells that a recovery was needless, so that the control takes its reduction back.
    pub spurious_detection: SpuriousDetection,
    /// How the window shrinks (RFC 6937, RFC 9937).
    pub prr: Prr,
    /// Hold back a short segment while data is in flight (RFC 9293 section 3.7.4).
    pub nagle: bool,
    /// Fall back towards the initial window after a silence longer than the timeout (RFC 5681 section 4.1).
    pub restart_after_idle: bool,
    /// Ceiling in segments to which the duplicate threshold rises when a fast retransmit proves spurious;
    /// 3 keeps RFC 6675's constant. Only where losses are found by counting.
    pub max_reordering: u32,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            mss: 1448,
            initial_window: 10,
            cc: CcConfig::default(),
            ecn: false,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            pacing: Pacing::Auto,
            recovery: Recovery::Rack,
            tail_loss_probe: true,
            spurious_detection: SpuriousDetection::Eifel,
            prr: Prr::SafeAck,
            nagle: false,
            restart_after_idle: true,
            max_reordering: 300,
        }
    }
}

impl SenderConfig {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first field outside its bound.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ensure((1..=MAX_MSS).contains(&self.mss), "mss", &self.mss, "1 to 65495", "RFC 6691: 65535 - 40")?;
        ensure(
            (1..=1024).contains(&self.initial_window),
            "initial_window",
            &self.initial_window,
            "1 to 1024",
            "RFC 6928 has 10; beyond 1024 no start is sensible",
        )?;
        let ms = Duration::from_millis(1);
        ensure(self.min_rto >= ms, "min_rto", &self.min_rto, "at least 1ms", "a timer must not spin")?;
        ensure(self.max_rto >= self.min_rto, "max_rto", &self.max_rto, "at least min_rto", "RFC 6298 (2.5)")?;
        ensure(
            (3..=1_000_000).contains(&self.max_reordering),
            "max_reordering",
            &self.max_reordering,
            "3 to 1000000",
            "RFC 6675: DupThresh is 3",
        )?;
        self.cc.validate().map_err(|e| e.within("cc"))
    }
}

/// What the sender is, for the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "tcp_sender",
    kind: "transport",
    title: "TCP sender with SACK recovery",
    text: "Keeps the data in flight within the congestion window and the advertised window, finds losses from \
           selective acknowledgements, repairs them, and keeps the timers.",
    sources: "RFC 9293, 5681, 8985 (RACK-TLP), 6675 (SACK recovery), \
              6937 and 9937 (PRR), 6298 (RTO), 7323 (timestamps), 3522 (Eifel), 5682 (F-RTO), \
              3042 (limited transmit), 3168 (ECN), 6928 (initial window)",
    deviations: "min_rto is the floor of the variance term, not of the whole timeout, as in Linux: with seconds of \
                 queue a steady RTT would otherwise make every small delay a timeout. The variance follows the \
                 largest deviation of a round, since a sample per acknowledgement would make RFC 6298's gains \
                 forget within a fraction of a round (RFC 7323 appendix G). A spurious fast retransmit raises the \
                 duplicate threshold, as Linux does, and under RACK counts as reordering. RACK's timer is set for the \
                 first suspect, so that each is found when its own time has come.",
    params: &[
        ParamDoc {
            name: "mss",
            unit: "bytes",
            bounds: "1 to 65495",
            default: "1448",
            text: "Payload of a full segment; 52 bytes of headers come on top.",
        },
        ParamDoc {
            name: "initial_window",
            unit: "segments",
            bounds: "1 to 1024",
            default: "10",
            text: "Congestion window at the start.",
        },
        ParamDoc {
            name: "cc",
            unit: "congestion control",
            bounds: "one of the congestion controls",
            default: "cubic",
            text: "The congestion control and its settings.",
        },
        ParamDoc {
            name: "ecn",
            unit: "bool",
            bounds: "true, false",
            default: "false",
            text: "ECN as in RFC 3168: one reduction per window of echoes.",
        },
        ParamDoc {
            name: "min_rto",
            unit: "time",
            bounds: "at least 1ms",
            default: "200ms",
            text: "Floor of the variance term of the retransmission timeout.",
        },
        ParamDoc {
            name: "max_rto",
            unit: "time",
            bounds: "at least min_rto",
            default: "120s",
            text: "Ceiling of the timeout under backoff.",
        },
        ParamDoc {
            name: "pacing",
            unit: "auto, always",
            bounds: "auto or always",
            default: "auto",
            text: "Pace only controls that ask for it, or all.",
        },
        ParamDoc {
            name: "recovery",
            unit: "rack, dupack",
            bounds: "rack or dupack",
            default: "rack",
            text: "Losses are found by time (RFC 8985) or by counting duplicates (RFC 6675).",
        },
        ParamDoc {
            name: "tail_loss_probe",
            unit: "bool",
            bounds: "true, false",
            default: "true",
            text: "Probe the tail of a flight before the timeout (RFC 8985 section 7); only with rack.",
        },
        ParamDoc {
            name: "spurious_detection",
            unit: "eifel, f_rto, off",
            bounds: "eifel, f_rto or off",
            default: "eifel",
            text: "Find needless recoveries by timestamps (RFC 3522), needless timeouts by F-RTO (RFC 5682), or none.",
        },
        ParamDoc {
            name: "prr",
            unit: "safe_ack, ssrb, crb, off",
            bounds: "safe_ack, ssrb, crb or off",
            default: "safe_ack",
            text: "Shrink the window over one round: below ssthresh by RFC 9937, or RFC 6937's SSRB or CRB; off: at once.",
        },
        ParamDoc {
            name: "nagle",
            unit: "bool",
            bounds: "true, false",
            default: "false",
            text: "Hold back short segments while data is in flight.",
        },
        ParamDoc {
            name: "restart_after_idle",
            unit: "bool",
            bounds: "true, false",
            default: "true",
            text: "Shrink the window after a silence longer than the timeout.",
        },
        ParamDoc {
            name: "max_reordering",
            unit: "segments",
            bounds: "3 to 1000000",
            default: "300",
            text: "How far the duplicate threshold may adapt to reordering; only with dupack.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_within_their_bounds_and_wrong_values_are_named() {
        assert_eq!(SenderConfig::default().validate(), Ok(()));
        let bad = |change: fn(&mut SenderConfig)| {
            let mut config = SenderConfig::default();
            change(&mut config);
            config.validate().map_err(|e| e.field)
        };
        assert_eq!(bad(|c| c.mss = 0), Err("mss".into()));
        assert_eq!(bad(|c| c.mss = 65_496), Err("mss".into()));
        assert_eq!(bad(|c| c.initial_window = 0), Err("initial_window".into()));
        assert_eq!(bad(|c| c.max_rto = Duration::from_millis(1)), Err("max_rto".into()));
        assert_eq!(bad(|c| c.max_reordering = 2), Err("max_reordering".into()));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn the_reference_page_lists_the_settings_of_the_sender() {
        crate::testing::check_doc(&DOC, &SenderConfig::default());
    }
}
