//! The settings of a sender.

use crate::cc::CcConfig;
use justfull_base::doc::MethodDoc;
use justfull_base::{Duration, choice, params};

/// Largest payload of a segment: 65 535 bytes of IPv4 packet less 40 of headers (RFC 6691).
pub const MAX_MSS: u32 = 65_495;

choice! {
    /// When segments are spread over time instead of being sent at the pace of the
    /// acknowledgements.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Pacing {
        /// Only if the congestion control asks for a rate, as BBR does.
        #[default]
        Auto = "auto",
        /// Always; a control without a rate of its own is paced at cwnd per smoothed RTT, times 2
        /// in slow start and
        /// 1.2 in congestion avoidance (Linux `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
        Always = "always",
    }
}

choice! {
    /// How the window shrinks in a recovery.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Prr {
        /// In proportion to what is delivered; below ssthresh as slow start while acknowledgements
        /// advance without new losses, else by packet conservation (RFC 9937, Linux).
        #[default]
        SafeAck = "safe_ack",
        /// In proportion; below ssthresh always as slow start (RFC 6937, PRR-SSRB).
        Ssrb = "ssrb",
        /// In proportion; below ssthresh by packet conservation (RFC 6937, PRR-CRB).
        Crb = "crb",
        /// At once (RFC 6675).
        Off = "off",
    }
}

choice! {
    /// What tells that a recovery was needless.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum SpuriousDetection {
        /// Timestamps: the echo is older than the retransmission (RFC 3522). Judges timeouts and
        /// fast recoveries.
        #[default]
        Eifel = "eifel",
        /// Two acknowledgements after a timeout, with new data sent in between (RFC 5682 section
        /// 3). Judges timeouts alone.
        FRto = "f_rto",
        /// Nothing.
        Off = "off",
    }
}

choice! {
    /// How losses are found.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Recovery {
        /// By time (RACK, RFC 8985), with probes of the tail (TLP).
        #[default]
        Rack = "rack",
        /// By counting what is sacked above a hole (RFC 6675).
        Dupack = "dupack",
    }
}

params! {
    /// Settings of a [`crate::Sender`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct SenderConfig {
        /// Payload of a full segment; 52 bytes of headers come on top.
        mss: u32 as "bytes" = 1448, within(1, MAX_MSS), "RFC 6691: 65535 - 40";
        /// Congestion window at the start.
        initial_window: u32 as "segments" = 10,
            within(1, 1024), "RFC 6928 has 10; beyond 1024 no start is sensible";
        /// The congestion control and its settings.
        cc: CcConfig as "congestion control" = CcConfig::default();
        /// ECN as in RFC 3168: one reduction per window of echoes.
        ecn: bool = false;
        /// Floor of the variance term of the retransmission timeout.
        min_rto: Duration = Duration::from_millis(200),
            at_least(Duration::from_millis(1)), "a timer must not spin";
        /// Ceiling of the timeout under backoff.
        max_rto: Duration = Duration::from_secs(120),
            rule("at least min_rto", |c| c.max_rto >= c.min_rto), "RFC 6298 (2.5)";
        /// Pace only controls that ask for it, or all.
        pacing: Pacing = Pacing::Auto;
        /// Losses are found by time (RFC 8985) or by counting duplicates (RFC 6675).
        recovery: Recovery = Recovery::Rack;
        /// Probe the tail of a flight before the timeout (RFC 8985 section 7); only with rack.
        tail_loss_probe: bool = true;
        /// Find needless recoveries by timestamps (RFC 3522), needless timeouts by F-RTO (RFC
        /// 5682), or none.
        spurious_detection: SpuriousDetection = SpuriousDetection::Eifel;
        /// Shrink the window over one round: below ssthresh by RFC 9937, or RFC 6937's SSRB or
        /// CRB; off: at once.
        prr: Prr = Prr::SafeAck;
        /// Hold back short segments while data is in flight.
        nagle: bool = false;
        /// Shrink the window after a silence longer than the timeout.
        restart_after_idle: bool = true;
        /// How far the duplicate threshold may adapt to reordering; only with dupack.
        max_reordering: u32 as "segments" = 300, within(3, 1_000_000), "RFC 6675: DupThresh is 3";
    }
}

/// What the sender is, for the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "tcp_sender",
    kind: "transport",
    title: "TCP sender with SACK recovery",
    text: "Keeps the data in flight within the congestion window and the advertised window, finds \
           losses from selective acknowledgements, repairs them, and keeps the timers.",
    sources: "RFC 9293, 5681, 8985 (RACK-TLP), 6675 (SACK recovery), 6937 and 9937 (PRR), 6298 \
              (RTO), 7323 (timestamps), 3522 (Eifel), 5682 (F-RTO), 3042 (limited transmit), 3168 \
              (ECN), 6928 (initial window)",
    deviations: "min_rto is the floor of the variance term, not of the whole timeout, as in \
                 Linux: with seconds of queue a steady RTT would otherwise make every small delay \
                 a timeout. The variance follows the largest deviation of a round, since a sample \
                 per acknowledgement would make RFC 6298's gains forget within a fraction of a \
                 round (RFC 7323 appendix G). A spurious fast retransmit raises the duplicate \
                 threshold, as Linux does, and under RACK counts as reordering. RACK's timer is \
                 set for the first suspect, so that each is found when its own time has come.",
    params: SenderConfig::params,
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
}
