//! The settings of a sender.

use crate::cc::CcConfig;
use crate::cc::new_reno::NewRenoConfig;
use crate::kernel::Kernel;
use crate::segment::HEADER_BYTES;
use justfull_base::doc::MethodDoc;
use justfull_base::{Duration, choice, params};

/// Largest payload of a segment: 65 535 bytes of IPv4 packet less 40 of headers (RFC 6691).
pub const MAX_MSS: u32 = 65_495;

choice! {
    /// When segments are spread over time instead of leaving with the acknowledgements.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Pacing {
        /// Only if the congestion control sets a rate, as BBR does.
        #[default]
        Auto = "auto",
        /// Always; a control without a rate of its own is paced at cwnd per smoothed RTT, times 2
        /// in slow start and 1.2 in congestion avoidance (Linux `tcp_pacing_ss_ratio`,
        /// `tcp_pacing_ca_ratio`).
        Always = "always",
    }
}

choice! {
    /// How the window shrinks in a recovery.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Prr {
        /// In proportion to the delivered bytes; below ssthresh as slow start while
        /// acknowledgements advance without new losses, else by packet conservation (RFC 9937,
        /// Linux).
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
    /// The evidence that a recovery was needless.
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
        /// By counting segments acknowledged above a hole (RFC 6675).
        Dupack = "dupack",
        /// By counting duplicate acknowledgements, without SACK: fast recovery by partial
        /// acknowledgements (RFC 6582).
        NewReno = "new_reno",
    }
}

choice! {
    /// The rule for the retransmission timeout.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Rto {
        /// SRTT + max(min_rto, the largest deviation of a round), as in Linux.
        #[default]
        Linux = "linux",
        /// max(min_rto, SRTT + max(rto_tick, 4 RTTVAR)), with RTTVAR from each sample (RFC 6298).
        Rfc6298 = "rfc_6298",
    }
}

choice! {
    /// The defaults of settings that are left out.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Preset {
        /// The defaults: a stack like Linux's.
        #[default]
        Linux = "linux",
        /// The defaults of ns-2.29's NewReno: neither SACK nor timestamps, a SYN, an initial window
        /// of 2 segments, a clock of 10 ms, a timeout of 0.2 to 60 s and 6 s at first.
        Ns2 = "ns2",
    }
}

params! {
    /// Settings of a [`crate::Sender`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct SenderConfig {
        /// The defaults of settings that are left out; in a scenario only.
        preset: Preset = Preset::Linux;
        /// The Linux to follow where its versions differ (`justfull explain kernel`).
        kernel: Kernel = Kernel::Linux6_18;
        /// Payload of a full segment; `header` comes on top.
        mss: u32 as "bytes" = 1448, within(1, MAX_MSS), "RFC 6691: 65535 - 40";
        /// Bytes of headers of each segment and acknowledgement: 52 for IPv4 with TCP's
        /// timestamps, 60 for IPv6 without them.
        header: u32 as "bytes" = HEADER_BYTES,
            within(40, 120), "IP and TCP: 20 + 20 without options, 40 + 60 and extensions";
        /// Bytes of an acknowledgement without data; 0: those of `header`. ns-2's receivers send
        /// 40.
        ack: u32 as "bytes" = 0, at_most(120).and("0, or at least 40", |c| {
            c.ack == 0 || c.ack >= 40
        });
        /// Open the connection with a SYN; data waits for its acknowledgement.
        handshake: bool = false;
        /// Time each acknowledgement by its timestamp (RFC 7323). Off: time one segment at a time,
        /// of those sent only once.
        timestamps: bool = true;
        /// Congestion window at the start.
        initial_window: u32 as "segments" = 10,
            within(1, 1024), "RFC 6928 has 10; beyond 1024 no start is sensible";
        /// The congestion control and its settings.
        cc: CcConfig as "congestion control" = CcConfig::default();
        /// Ask for ECN as in RFC 3168: one reduction per window of echoes. Prague, DCTCP and ABC
        /// ask for counters of marks (RFC 9768) with their own codepoint, whatever this says; from
        /// a receiver without them they send data that is not ECN-capable.
        ecn: bool = false;
        /// With `ecn`, ask for counters of marks, and for echoes only if the receiver has none; one
        /// reduction in a round trip with marks.
        accecn: bool = false, free(), "RFC 9768 section 4";
        /// SYN, window probes and retransmissions are ECN-capable too, with the codepoint of the
        /// data (ECN++); without effect unless it asks for counters of marks.
        control_ecn: bool = false, free(), "draft-ietf-tcpm-generalized-ecn";
        /// The rule for the retransmission timeout.
        rto: Rto = Rto::Linux;
        /// Timeout before the first sample.
        initial_rto: Duration = Duration::from_secs(1),
            above(Duration::ZERO), "RFC 6298 (2.1) has 1 s";
        /// Floor of the variance term of the retransmission timeout; with rfc_6298, of the whole
        /// timeout.
        min_rto: Duration = Duration::from_millis(200),
            at_least(Duration::from_millis(1)), "a timer must not spin";
        /// Ceiling of the timeout under backoff.
        max_rto: Duration = Duration::from_secs(120),
            rule("at least min_rto", |c| c.max_rto >= c.min_rto), "RFC 6298 (2.5)";
        /// Tick of the clock that times segments, 0 for an exact clock; only with rfc_6298.
        rto_tick: Duration = Duration::ZERO,
            at_least(Duration::ZERO).below(Duration::from_secs(1)), "RFC 6298 section 4: G";
        /// Pace only controls that set a rate, or all.
        pacing: Pacing = Pacing::Auto;
        /// Losses are found by time (RFC 8985), by counting selective acknowledgements (RFC 6675)
        /// or without SACK (RFC 6582).
        recovery: Recovery = Recovery::Rack;
        /// Each of the first two duplicates lets a new segment out (RFC 3042); only with new_reno,
        /// since SACK has the same effect.
        limited_transmit: bool = true;
        /// Only the first partial acknowledgement of a recovery restarts the timer (RFC 6582
        /// section 4); only with new_reno.
        impatient: bool = true;
        /// Probe the tail of a flight before the timeout (RFC 8985 section 7); only with rack.
        tail_loss_probe: bool = true;
        /// Find needless recoveries by timestamps (RFC 3522), needless timeouts by F-RTO (RFC
        /// 5682), or none.
        spurious_detection: SpuriousDetection = SpuriousDetection::Eifel,
            rule("eifel, f_rto, off; off with recovery = new_reno, not eifel without timestamps", |c| {
                c.can_judge()
            }),
            "RFC 3522 needs timestamps, RFC 5682 section 3 SACK";
        /// Shrink the window over one round: below ssthresh by RFC 9937, or RFC 6937's SSRB or
        /// CRB; off: at once.
        prr: Prr = Prr::SafeAck;
        /// Hold back short segments while data is in flight.
        nagle: bool = false;
        /// Shrink the window after a silence longer than the timeout.
        restart_after_idle: bool = true;
        /// Upper bound of the duplicate threshold, which adapts to reordering; only with dupack.
        max_reordering: u32 as "segments" = 300, within(3, 1_000_000), "RFC 6675: DupThresh is 3";
    }
}

impl SenderConfig {
    /// The settings of ns-2.29's NewReno, from its file of defaults, with IPv6's header. In a
    /// scenario: `preset = "ns2"`.
    #[must_use]
    pub fn ns2() -> Self {
        Self {
            preset: Preset::Ns2,
            kernel: Kernel::Rfc,
            mss: 1440,
            header: 60,
            handshake: true,
            timestamps: false,
            initial_window: 2,
            cc: CcConfig::NewReno(NewRenoConfig::default()),
            rto: Rto::Rfc6298,
            initial_rto: Duration::from_secs(6),
            max_rto: Duration::from_secs(60),
            rto_tick: Duration::from_millis(10),
            recovery: Recovery::NewReno,
            tail_loss_probe: false,
            spurious_detection: SpuriousDetection::Off,
            prr: Prr::Off,
            ..Self::default()
        }
    }

    /// Bytes of an acknowledgement alone.
    #[must_use]
    pub const fn ack_size(&self) -> u32 {
        if self.ack == 0 { self.header } else { self.ack }
    }

    fn can_judge(&self) -> bool {
        match self.spurious_detection {
            SpuriousDetection::Eifel => self.timestamps && self.recovery != Recovery::NewReno,
            SpuriousDetection::FRto => self.recovery != Recovery::NewReno,
            SpuriousDetection::Off => true,
        }
    }
}

/// The description of the sender, for the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "tcp_sender",
    kind: "transport",
    title: "TCP sender, with SACK or without",
    text: "Keeps the data in flight within the congestion window and the advertised window, finds \
           losses from selective acknowledgements or from duplicates, repairs them, and keeps \
           the timers.",
    sources: "RFC 9293, 5681, 8985 (RACK-TLP), 6675 (SACK recovery), 6582 (NewReno, without \
              SACK), 6937 and 9937 (PRR), 6298 (RTO), 7323 (timestamps), 3522 (Eifel), 5682 \
              (F-RTO), 3042 (limited transmit), 3168 (ECN), 9768 (accurate ECN), 6928 (initial \
              window)",
    deviations: "min_rto is the floor of the variance term, not of the whole timeout, as in Linux: \
                 with seconds of queue a steady RTT would otherwise make every small delay a \
                 timeout. The variance follows the largest deviation of a round: with a sample per \
                 acknowledgement, RFC 6298's gains would forget it within a fraction of a round \
                 (RFC 7323 appendix G). A spurious fast retransmit raises the duplicate threshold, \
                 as in Linux, and under RACK counts as reordering. RACK's timer is set for the \
                 first suspect, so that each is found at its own time. A SYN carries no byte of \
                 the stream, and its loss does not change the initial window.",
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
        assert_eq!(
            [bad(|c| c.ack = 39), bad(|c| c.ack = 121)],
            [(); 2].map(|()| Err("ack".into()))
        );
        assert_eq!(bad(|c| c.ack = 40), Ok(()));
    }
}
