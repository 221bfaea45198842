//! Telephony with G.711: 160 B of voice every 20 ms; 200 B on the IP layer with RTP (12 B), UDP (8
//! B) and IPv4 (20 B) headers.
//!
//! The call is judged from a listener's view. Packets wait in a de-jitter buffer of fixed length,
//! so that all packets that arrive in time are played at one delay: the delay of the fastest packet
//! plus the buffer. Later packets count as lost. Mouth-to-ear delay is this delay plus one packet's
//! 20 ms of voice. Loss and delay go into the E-model (`emodel.rs`). The paths beyond the server
//! and beyond the UE are not included: use `extra_delay` of the flow for them.

use crate::results::VoipResult;
use crate::times::Times;
use crate::traffic::emodel::{self, Codec};
use crate::traffic::{Interval, Span};
use justfull_base::{Bytes, ConfigError, Duration, table};
use serde::{Deserialize, Serialize};

/// Voice and RTP header of one packet.
pub const PAYLOAD: Bytes = Bytes(160 + 12);

/// Voice in one packet.
const PACKET: Duration = Duration::from_millis(20);

table! {
    /// Settings of a G.711 call.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct VoipConfig with Default {
        /// Length of the de-jitter buffer.
        jitter_buffer: Duration = Duration::from_millis(60);
        /// The decoder conceals losses (G.711 appendix I).
        concealment: bool = true;
        /// Time of a talk spurt; left out, the talker never pauses.
        #[serde(skip_serializing_if = "Option::is_none")]
        talk: Option<Span> = None, stated("a mean of at least 1us");
        /// Time of a pause between spurts; goes with `talk`.
        #[serde(skip_serializing_if = "Option::is_none")]
        silence: Option<Span> = None, stated("a mean of at least 1us");
    }
    check Self::check_pauses;
}

impl VoipConfig {
    /// Time between packets while the talker talks.
    #[must_use]
    pub const fn interval(&self) -> Interval {
        Interval::Constant(PACKET)
    }

    fn check_pauses(&self) -> Result<(), ConfigError> {
        let error = |field: &str, allowed: &str| {
            ConfigError::new(field, &"nothing", allowed, "they go together")
        };
        match (&self.talk, &self.silence) {
            (Some(_), Some(_)) | (None, None) => Ok(()),
            (None, Some(_)) => Err(error("talk", "a time, as `silence` has one")),
            (Some(_), None) => Err(error("silence", "a time, as `talk` has one")),
        }
    }

    /// G.113 appendix I: G.711 with and without concealment under random losses.
    const fn codec(&self) -> Codec {
        Codec { ie: 0.0, bpl: if self.concealment { 25.1 } else { 4.3 } }
    }
}

/// Counts for the calls of one name, over packets sent in the measured window.
pub(crate) struct VoipCount {
    config: VoipConfig,
    pub(crate) one_way: Times,
    pub(crate) lost: u64,
}

impl VoipCount {
    pub(crate) fn new(config: &VoipConfig) -> Self {
        Self { config: config.clone(), one_way: Times::new(), lost: 0 }
    }

    /// The call's quality for a listener; none if nothing arrived.
    pub(crate) fn finish(&self) -> Option<VoipResult> {
        let one_way = self.one_way.finish();
        if one_way.count == 0 {
            return None;
        }
        let buffer_ms = self.config.jitter_buffer.as_millis_f64();
        let playout_ms = one_way.min_ms + buffer_ms;
        let late = self.one_way.above(playout_ms);
        let sent = one_way.count + self.lost;
        let loss = (self.lost + late) as f64 / sent as f64;
        let mouth_to_ear_ms = PACKET.as_millis_f64() + playout_ms;
        let rating = emodel::rating(mouth_to_ear_ms, loss, self.config.codec());
        Some(VoipResult {
            lost: self.lost,
            late,
            loss_percent: 100.0 * loss,
            mouth_to_ear_ms,
            rating,
            mos: emodel::opinion(rating),
            one_way,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(config: &VoipConfig, delays_ms: &[u64], lost: u64) -> VoipResult {
        let mut count = VoipCount::new(config);
        delays_ms.iter().for_each(|ms| count.one_way.record(Duration::from_millis(*ms)));
        count.lost = lost;
        count.finish().expect("something arrived")
    }

    #[test]
    fn a_packet_that_misses_its_playout_is_lost_to_the_listener() {
        let config =
            VoipConfig { jitter_buffer: Duration::from_millis(40), ..VoipConfig::default() };
        let found = judged(&config, &[10, 20, 50, 51, 90, 300], 2);
        assert_eq!((found.lost, found.late), (2, 3), "50 ms is in time, 51 ms is not");
        assert!((found.loss_percent - 62.5).abs() < 1e-9);
        assert!(
            (found.mouth_to_ear_ms - 70.0).abs() < 1e-9,
            "20 of packet, 10 of way, 40 of buffer"
        );
    }

    #[test]
    fn concealment_is_worth_more_than_a_point_at_five_percent() {
        let delays = [20; 95];
        let plain = judged(&VoipConfig { concealment: false, ..VoipConfig::default() }, &delays, 5);
        let concealed = judged(&VoipConfig::default(), &delays, 5);
        // 20 + 20 + 60 ms: R falls by 95 x 5 / (5 + Bpl).
        let clean = judged(&VoipConfig::default(), &delays, 0);
        assert!((clean.rating - concealed.rating - 95.0 * 5.0 / 30.1).abs() < 1e-9);
        assert!((clean.rating - plain.rating - 95.0 * 5.0 / 9.3).abs() < 1e-9);
        assert!(concealed.mos > plain.mos + 1.0, "{} against {}", concealed.mos, plain.mos);
        assert!((clean.mos - 4.34).abs() < 0.03, "100 ms from mouth to ear: {}", clean.mos);
    }
}
