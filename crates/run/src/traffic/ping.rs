//! Ping: an ICMP echo request every interval from the data network; the UE replies at once. With
//! `from_ue` the UE sends the requests.
//!
//! The request goes down the chain like any packet of its flow, and the reply comes back over the
//! uplink. Both have the same size, as RFC 792 requires ("the data received in the echo message
//! must be returned"). With empty queues the round trip is E19's floor, the sum of the configured
//! delays: core delay, the wait for each poll and for the slot, air delay, uplink delay. Requests
//! do not wait for the replies to earlier ones, as with `ping -i`.
//!
//! With `from_ue`, requests cross the UE's uplink, and replies come down the chain. A base station
//! forwards received data after it has processed the subframe. If its server is close, replies come
//! back in step with the slots, a fixed time after the pull plus the jitter of the processing. The
//! simulated path to the server stands for other delays too, so this time has its own settings: a
//! reply reaches the cell `phase`, and up to `jitter` more at random, after the first slot that
//! begins once it could have arrived.

use crate::traffic::{ICMP_HEADER_BYTES, Interval};
use justfull_base::error::ensure;
use justfull_base::{Bytes, ConfigError, Duration, table};
use serde::{Deserialize, Serialize};

table! {
    /// When replies to a UE's requests reach the cell, counted from a slot's begin.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct TurnConfig with Default {
        /// Least time after the slot's begin.
        phase: Duration = Duration::ZERO, stated("with the jitter below the slot");
        /// Most time on top of it, at random, uniformly.
        jitter: Duration = Duration::ZERO, stated("with the phase below the slot");
    }
}

impl TurnConfig {
    /// Checks that replies come within `slot`.
    ///
    /// # Errors
    /// The jitter, if its sum with the phase exceeds `slot`.
    pub fn fits(&self, slot: Duration) -> Result<(), ConfigError> {
        let room = slot.saturating_sub(self.phase);
        ensure(
            self.phase < slot,
            "phase",
            &self.phase,
            &format!("below the slot, {slot}"),
            "replies come in step with the slots",
        )?;
        ensure(
            self.jitter < room,
            "jitter",
            &self.jitter,
            &format!("below {room}, the slot less the phase"),
            "replies come in step with the slots",
        )
    }
}

table! {
    /// Settings of a ping.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PingConfig {
        /// Data bytes of each request and reply, as `ping -s` counts them: 28 B of IPv4 and ICMP
        /// headers come on top.
        payload: Bytes where (stated("at most the MTU less 28B of headers"));
        /// Time between requests: constant, normal with `mean` and `sd`, or exponential.
        interval: Interval;
        /// The UE sends the requests over its uplink, and the server replies in step with the
        /// slots. Left out: the server sends the requests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_ue: Option<TurnConfig> = None;
    }
}

impl PingConfig {
    /// Checks every bound; `mtu` is the cell's.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn fits(&self, mtu: u32) -> Result<(), ConfigError> {
        let most = u64::from(mtu.saturating_sub(ICMP_HEADER_BYTES));
        let bound = "at most the MTU less 28B of headers";
        ensure(
            self.payload.0 <= most,
            "payload",
            &self.payload,
            bound,
            "no IP fragmentation is modelled",
        )?;
        self.validate()
    }
}

/// Counts for the pings of one name, over requests sent in the measured window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PingCount {
    pub(crate) requests: u64,
    pub(crate) replies: u64,
    pub(crate) lost: u64,
}
