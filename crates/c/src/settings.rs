//! Settings as TOML text, in the form of the sections of a scenario file.

use justfull_base::error::ensure;
use justfull_base::rng::{mix, stream_key};
use justfull_base::{ConfigError, Duration, Layer};
use justfull_queue::{Limit, ManagedQueue, QueueConfig};
use justfull_ran::config::PollConfig;
use justfull_ran::gate::{Gate, GateConfig};
use justfull_ran::limiter::{CapacityUnit, GrantContext, LimiterConfig};
use justfull_ran::{QosFlowConfig, SdapConfig};
use serde::Deserialize;

/// Places of a queue whose limit is not one in packets.
const PLACES: u32 = 4096;

/// Most places of a queue.
pub(crate) const MOST_PLACES: u32 = 65_536;

/// Settings of a gate. See the header.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateSettings {
    #[serde(default = "bytes")]
    unit: CapacityUnit,
    #[serde(default = "millisecond")]
    slot: Duration,
    #[serde(default = "mtu")]
    mtu: u32,
    #[serde(default = "one")]
    bearers: u8,
    #[serde(default = "first_seed")]
    seed: u64,
    #[serde(default)]
    ue: u32,
    capacity: Option<u32>,
    #[serde(default)]
    sdap: SdapConfig,
    #[serde(default)]
    limiter: LimiterConfig,
    qos_flow: Vec<QosFlowConfig>,
}

/// Settings of a queue. See the header.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueSettings {
    #[serde(default = "first_seed")]
    seed: u64,
    capacity: Option<u32>,
    #[serde(default)]
    queue: QueueConfig,
}

const fn bytes() -> CapacityUnit {
    CapacityUnit::Bytes
}

const fn millisecond() -> Duration {
    Duration::from_millis(1)
}

const fn mtu() -> u32 {
    1500
}

const fn one() -> u8 {
    1
}

const fn first_seed() -> u64 {
    1
}

/// The places of a queue with this limit, and whether the limit alone keeps to them.
fn places(capacity: Option<u32>, limit: Limit) -> Result<Places, ConfigError> {
    let most = match limit {
        Limit::Packets(packets) => Some(packets),
        Limit::Bytes(_) | Limit::Unlimited => None,
    };
    let places = capacity.or(most).unwrap_or(PLACES);
    ensure(
        (1..=MOST_PLACES).contains(&places),
        "capacity",
        &places,
        "1 to 65536 packets",
        "the memory of a queue is allocated when it is made; without capacity it is the limit",
    )?;
    Ok(Places { packets: places, kept: most.is_some_and(|most| most <= places) })
}

/// The memory of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) packets: u32,
    /// The queue's limit keeps to them.
    pub(crate) kept: bool,
}

impl Places {
    /// True when `queue` cannot take one more.
    #[inline]
    pub(crate) fn are_taken(self, queue: &ManagedQueue) -> bool {
        !self.kept && queue.backlog_packets() >= self.packets
    }
}

impl GateSettings {
    /// A gate with its memory, and the places of each of its queues.
    pub(crate) fn build(&self) -> Result<(Gate, Places), ConfigError> {
        ensure(
            self.sdap.poll == PollConfig::default(),
            "sdap.poll",
            &"a poll",
            "none",
            "the caller polls",
        )?;
        let places = self.places()?;
        let config = GateConfig {
            sdap: &self.sdap,
            limiter: &self.limiter,
            report_delay: Duration::ZERO,
            qos_flows: &self.qos_flow,
            drbs: self.bearers,
        };
        let context = GrantContext { unit: self.unit, slot: self.slot, mtu: self.mtu };
        // The key of the same UE in a stack with this seed.
        let key = mix(mix(stream_key(self.seed, "ue") ^ u64::from(self.ue)) ^ 2);
        let mut gate = Gate::new(&config, &context, key)?;
        gate.make_places(places.packets);
        Ok((gate, places))
    }

    /// The most places that one of the queues has.
    fn places(&self) -> Result<Places, ConfigError> {
        let own = self.qos_flow.iter().map(|flow| flow.queue.as_deref());
        let mut most = Places { packets: 1, kept: true };
        for queue in own {
            let one = places(self.capacity, queue.unwrap_or(&self.sdap.queue).limit)?;
            most.packets = most.packets.max(one.packets);
            most.kept &= one.kept;
        }
        Ok(most)
    }
}

impl QueueSettings {
    /// A queue with its memory, and its places.
    pub(crate) fn build(&self) -> Result<(ManagedQueue, Places), ConfigError> {
        let places = places(self.capacity, self.queue.limit)?;
        let key = stream_key(self.seed, "queue");
        let mut queue = ManagedQueue::new(Layer::Rlc, &self.queue, key)?;
        queue.make_places(places.packets);
        Ok((queue, places))
    }
}
