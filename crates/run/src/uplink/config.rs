//! Settings of the uplink, and the way of a packet on it.

use super::cell_aqm::CellAqmConfig;
use super::zhuge::ZhugeConfig;
use justfull_base::error::ensure;
use justfull_base::packet::Protocol;
use justfull_base::{BitRate, Bytes, ConfigError, Duration, Ecn, choice, table};
use justfull_ran::{Hold, MacConfig, StackConfig};
use justfull_tcp::accecn::Flags;
use serde::{Deserialize, Serialize};

table! {
    /// Settings of grants.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct GrantConfig with Default {
        /// Time between a UE's occasions to send a scheduling request.
        sr_period: Duration = Duration::from_millis(10),
            within(Duration::from_micros(1), Duration::from_secs(3600)),
            "TS 38.331: 2 symbols to 640 slots";
        /// The first occasion. Left out: random for each UE.
        #[serde(skip_serializing_if = "Option::is_none")]
        sr_offset: Option<Duration> = None,
            rule("below sr_period", |c| c.sr_offset.unwrap_or_default() < c.sr_period),
            "TS 38.331, schedulingRequestResourceConfig";
        /// From a scheduling request to its PUSCH.
        grant_delay: Duration = Duration::from_millis(8), at_most(Duration::from_secs(3600)),
            "a grant comes";
        /// From that PUSCH, with its buffer status report, to the next.
        bsr_delay: Duration = Duration::from_millis(8),
            within(Duration::from_micros(1), Duration::from_secs(3600)), "a grant comes";
        /// Time between PUSCHs while the UE has data.
        period: Duration = Duration::from_millis(1),
            within(Duration::from_micros(1), Duration::from_secs(3600)), "finer would not end";
        /// Bytes that a PUSCH carries.
        grant: Bytes = Bytes(1_250), within(Bytes(1), Bytes(1 << 24)), "a grant carries something";
        /// Each UE has a PUSCH in each period without scheduling requests.
        configured: bool = false;
    }
}

/// Access to the uplink.
#[derive(Clone, Debug, PartialEq)]
pub struct UplinkConfig {
    /// Rate of each UE; 0 for no transmission time.
    pub rate: BitRate,
    /// One-way delay from UE to server.
    pub delay: Duration,
    /// Maximum bytes in a UE's queue.
    pub limit: Bytes,
    /// Grants; a rate and grants exclude each other.
    pub grants: Option<GrantConfig>,
    /// The uplink as a stack; none for one queue of each UE.
    pub stack: Option<Box<UplinkStack>>,
    /// The base station's AQM for the UEs' queues; without effect if the uplink is no bottleneck.
    pub cell_aqm: Option<CellAqmConfig>,
    /// Zhuge at the base station.
    pub zhuge: Option<ZhugeConfig>,
}

choice! {
    serde;
    /// How the uplink is modelled.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum UplinkKind {
        /// One queue of each UE, with no limit, a rate or grants.
        #[default]
        Queue = "queue",
        /// A separate stack.
        Stack = "stack",
    }
}

/// The uplink as a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct UplinkStack {
    /// The chain from the UEs to the base station; its MAC is an uplink's.
    pub chain: StackConfig,
    /// A new acknowledgement replaces the acknowledgement of its flow that waits in the UE and has
    /// the same ECN flags.
    pub ack_filter: bool,
}

/// No flow: the packet gets the default QoS flow of its UE.
pub const NO_FLOW: u32 = u32::MAX;

/// The path of a packet from a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// The UE.
    pub ue: u32,
    /// The wire to its server.
    pub wire: u32,
    /// Its flow in the stack, or [`NO_FLOW`].
    pub flow: u32,
    /// Its ECN bits.
    pub ecn: Ecn,
    /// Its protocol.
    pub protocol: Protocol,
    /// The acknowledged bytes, if the packet is a pure acknowledgement without other information,
    /// so that a later one may replace it.
    pub ack: Option<u64>,
    /// The ECN flags of an acknowledgement. One with other flags does not replace it, so that a
    /// filter preserves the feedback of ECN (RFC 3449 section 5.2.1, RFC 9768 section 3.3.3).
    pub flags: Flags,
}

/// The fate of a packet that has left its UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The base station has received it.
    Sent {
        /// A queue has marked it.
        ce: bool,
    },
    /// The stack dropped it after it had accepted it.
    Lost {
        /// Its flow in the stack.
        flow: u32,
    },
    /// A later acknowledgement has replaced it.
    Filtered,
}

impl UplinkConfig {
    /// Default maximum bytes in a UE's queue.
    pub const LIMIT: Bytes = Bytes(4_000_000);

    /// The uplink, and behind it a way of `delay`.
    #[must_use]
    pub fn beyond(&self, delay: Duration) -> Self {
        Self { delay: self.delay + delay, ..self.clone() }
    }

    /// True if the uplink is no bottleneck.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.rate.0 == 0 && self.grants.is_none() && self.stack.is_none()
    }

    /// Checks every bound; `mtu` is the cell's.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn validate(&self, mtu: u32) -> Result<(), ConfigError> {
        let least = u64::from(mtu);
        ensure(
            self.limit.0 >= least,
            "limit",
            &self.limit,
            "at least the MTU",
            "a packet must fit",
        )?;
        if let Some(aqm) = &self.cell_aqm {
            aqm.validate().map_err(|e| e.within("cell_aqm"))?;
        }
        if let Some(zhuge) = &self.zhuge {
            zhuge.validate().map_err(|e| e.within("zhuge"))?;
        }
        if let Some(stack) = &self.stack {
            let alone = self.rate.0 == 0 && self.grants.is_none();
            let why = "the stack's grants are the rate";
            ensure(alone, "kind", &"stack", "queue with a rate or grants", why)?;
            let uplink = matches!(stack.chain.mac, MacConfig::Uplink(_));
            ensure(uplink, "stack.mac.kind", &stack.chain.mac.name(), "uplink", "it carries one")?;
            let held = stack.chain.rlc.hold == Hold::Acknowledged;
            let why = "an acknowledgement on the air keeps its place then";
            let ok = !(stack.ack_filter && held);
            ensure(ok, "stack.ack_filter", &true, "false with rlc.hold acknowledged", why)?;
            return stack.chain.validate().map_err(|e| e.within("stack"));
        }
        let Some(g) = &self.grants else { return Ok(()) };
        ensure(self.rate.0 == 0, "rate", &self.rate, "0bit/s with grants", "grants are the rate")?;
        g.validate().map_err(|e| e.within("grants"))
    }
}
