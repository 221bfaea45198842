//! Ping: an ICMP echo request every interval from the data network; the UE replies at once.
//!
//! The request goes down the chain like any packet of its flow, and the reply comes back over the
//! uplink. Both have the same size, as RFC 792 requires ("the data received in the echo message
//! must be returned"). With empty queues the round trip is the floor that E19 calls the sum of the
//! configured ways: core delay, the wait for each poll and for the slot, air delay, uplink delay.
//! Requests are sent whether or not earlier ones were answered, as `ping -i` does.

use crate::traffic::{ICMP_HEADER_BYTES, Interval};
use justfull_base::error::ensure;
use justfull_base::{Bytes, ConfigError, table};
use serde::{Deserialize, Serialize};

table! {
    /// Settings of a ping.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PingConfig {
        /// Data bytes of each request and reply, as `ping -s` counts them: 28 B of IPv4 and ICMP
        /// headers come on top.
        payload: Bytes where (stated("at most the MTU less 28B of headers"));
        /// Time between requests: constant, or normal with `mean` and `sd`.
        interval: Interval;
    }
}

impl PingConfig {
    /// Checks every bound; `mtu` is that of the cell.
    ///
    /// # Errors
    /// The first field out of bounds.
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
