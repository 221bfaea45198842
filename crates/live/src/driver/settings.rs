//! The settings of a live run, and the interfaces that it connects.

use crate::lateness::Limit;
use justfull_base::Duration;
use std::net::IpAddr;

/// Settings of a live run beyond the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveOptions {
    /// Packet buffers for each direction, at least 1. Each takes the MTU, rounded up to 64 B, and 8
    /// B. With a proxy, each direction between the proxy and the servers has as many again.
    pub buffers: u32,
    /// Flows tracked at a time, at least 1: about 250 B each. A further flow replaces the least
    /// recently used one.
    pub flows: u32,
    /// Minimum time between wake-ups for slots.
    pub wake: Duration,
    /// Time between readings of the interfaces, if wake-ups for slots are further apart.
    pub read: Duration,
    /// End the run as soon as it is certain to exceed this.
    pub give_up: Option<Limit>,
}

impl Default for LiveOptions {
    fn default() -> Self {
        let (wake, read) = (Duration::from_micros(500), Duration::from_micros(100));
        Self { buffers: 32_768, flows: 16_384, wake, read, give_up: None }
    }
}

/// A UE's interface.
pub struct UePort<P> {
    /// Its interface.
    pub port: P,
    /// The UE's addresses. Without any, it gets every packet that no other UE's addresses match.
    pub addresses: Vec<IpAddr>,
}

/// The interfaces that a run connects.
pub struct Ends<P> {
    /// One for each UE of the scenario, in its order.
    pub ues: Vec<UePort<P>>,
    /// The servers' side.
    pub server: P,
}
