//! Settings as TOML text, in the form of the sections of a scenario file.

use justfull_base::error::ensure;
use justfull_base::rng::{mix, stream_key};
use justfull_base::{ConfigError, Duration, Layer};
use justfull_queue::{Limit, ManagedQueue, QueueConfig};
use justfull_ran::config::PollConfig;
use justfull_ran::gate::{Gate, GateConfig};
use justfull_ran::limiter::{CapacityUnit, GrantContext, LimiterConfig};
use justfull_ran::{QosFlowConfig, SdapConfig};
use justfull_rapid::{CellId, ControlConfig, PayloadControl, Room};
use serde::Deserialize;

/// Places of a queue whose limit is not one in packets.
const PLACES: u32 = 4096;

/// Most places of a queue.
pub(crate) const MOST_PLACES: u32 = 65_536;

/// Most places for flows in the lists of a control's UEs.
const MOST_MEMBERS: u64 = 1 << 23;

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

/// Settings of RAPID's control. See the guide.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RapidSettings {
    #[serde(default = "one_cell")]
    cells: u32,
    #[serde(default = "few_ues")]
    ues: u32,
    #[serde(default = "some_flows")]
    flows: u32,
    flows_of_ue: Option<u32>,
    #[serde(default)]
    control: ControlConfig,
}

const fn one_cell() -> u32 {
    1
}

const fn few_ues() -> u32 {
    32
}

const fn some_flows() -> u32 {
    1024
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

/// The places of a queue with this limit, and true if the limit admits no more packets than places.
fn places(capacity: Option<u32>, limit: Limit) -> Result<(u32, bool), ConfigError> {
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
    Ok((places, most.is_some_and(|most| most <= places)))
}

/// The memory of an object's queues: all have the same number of places.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    packets: u32,
    /// A bit for each queue whose limit may admit more packets than places.
    exceeding: u64,
}

impl Places {
    /// Adds the queue of `flow`, below 64, which has this limit.
    fn add(&mut self, flow: usize, capacity: Option<u32>, limit: Limit) -> Result<(), ConfigError> {
        let (packets, kept) = places(capacity, limit)?;
        self.packets = self.packets.max(packets);
        self.exceeding |= u64::from(!kept) << (flow % 64);
        Ok(())
    }

    /// True when `queue`, the queue of `flow`, has no place for another packet.
    #[inline]
    pub(crate) fn are_taken(self, flow: u32, queue: &ManagedQueue) -> bool {
        self.may_lack(flow) && queue.backlog_packets() >= self.packets
    }

    /// False when the limit of `flow` admits no more packets than places.
    #[inline]
    pub(crate) const fn may_lack(self, flow: u32) -> bool {
        self.exceeding >> (flow % 64) & 1 == 1
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

    fn places(&self) -> Result<Places, ConfigError> {
        let mut all = Places::default();
        for (flow, qos) in self.qos_flow.iter().enumerate() {
            let queue = qos.queue.as_deref().unwrap_or(&self.sdap.queue);
            all.add(flow, self.capacity, queue.limit)?;
        }
        Ok(all)
    }
}

impl QueueSettings {
    /// A queue with its memory, and its places.
    pub(crate) fn build(&self) -> Result<(ManagedQueue, Places), ConfigError> {
        let mut places = Places::default();
        places.add(0, self.capacity, self.queue.limit)?;
        let aqm = &self.queue.aqm;
        let allowed = "an AQM that needs no delivery reports";
        let why = "a queue of its own gets none";
        ensure(!aqm.needs_reports(), "aqm.kind", &aqm.name(), allowed, why)?;
        let key = stream_key(self.seed, "queue");
        let mut queue = ManagedQueue::new(Layer::Rlc, &self.queue, key)?;
        queue.make_places(places.packets);
        Ok((queue, places))
    }
}

impl RapidSettings {
    fn room(&self) -> Result<Room, ConfigError> {
        const WHY: &str = "the memory of a control is allocated when it is made";
        let (ues, flows) = (self.ues, self.flows);
        let flows_of_ue = self.flows_of_ue.unwrap_or(flows.min(256));
        for (field, number, most) in [
            ("cells", self.cells, 4096),
            ("ues", ues, 16_384),
            ("flows", flows, 262_144),
            ("flows_of_ue", flows_of_ue, flows),
        ] {
            let allowed = format!("1 to {most}");
            ensure((1..=most).contains(&number), field, &number, &allowed, WHY)?;
        }
        let places = u64::from(ues) * u64::from(flows_of_ue);
        ensure(
            places <= MOST_MEMBERS,
            "flows_of_ue",
            &flows_of_ue,
            &format!("{MOST_MEMBERS} places for flows of all UEs together"),
            WHY,
        )?;
        Ok(Room { ues, flows, flows_of_ue })
    }

    /// A control with its memory, and its cells.
    pub(crate) fn build(&self) -> Result<(PayloadControl<u64>, Vec<CellId>), ConfigError> {
        let room = self.room()?;
        let mut control =
            PayloadControl::new(&self.control).map_err(|error| error.within("control"))?;
        let cells = (0..self.cells).map(|_| control.control.add_cell()).collect();
        control.set_room(room);
        Ok((control, cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_larger_than_any_bound_is_refused_before_its_memory_is_allocated() {
        let refused = |text: &str| {
            let settings: RapidSettings = toml::from_str(text).expect("settings");
            settings.build().err().map(|error| error.field.to_string())
        };
        for (text, field) in [
            ("cells = 0", "cells"),
            ("ues = 16385", "ues"),
            ("flows = 262145", "flows"),
            ("flows = 10\nflows_of_ue = 11", "flows_of_ue"),
            ("ues = 16384\nflows = 1024\nflows_of_ue = 1024", "flows_of_ue"),
            ("ues = 16384\nflows = 262144\nflows_of_ue = 262144", "flows_of_ue"),
        ] {
            assert_eq!(refused(text).as_deref(), Some(field), "{text}");
        }
        let wrong = refused("control = { kind = \"rapid\", probe = 9 }");
        assert_eq!(wrong.as_deref(), Some("control.probe"));
        assert_eq!(refused(""), None);
    }

    #[test]
    fn an_aqm_that_needs_delivery_reports_is_refused_in_a_queue_and_in_a_gate() {
        let queue: QueueSettings = toml::from_str("queue.aqm.kind = \"l4span\"").expect("settings");
        assert_eq!(queue.build().err().map(|e| e.field.to_string()).as_deref(), Some("aqm.kind"));
        let text = "sdap.queue.aqm.kind = \"l4span\"\n[[qos_flow]]\nqfi = 1\n";
        let gate: GateSettings = toml::from_str(text).expect("settings");
        let field = gate.build().err().map(|e| e.field.to_string());
        assert_eq!(field.as_deref(), Some("sdap.queue.aqm.kind"));
    }

    #[test]
    fn a_queue_lacks_places_only_where_its_own_limit_does_not_keep_to_them() {
        let text = "capacity = 20\n[sdap.queue]\nlimit = \"10 packets\"\n[[qos_flow]]\nqfi = 1\n\
                    [[qos_flow]]\nqfi = 2\nqueue = { limit = \"1MB\" }\n[[qos_flow]]\nqfi = 3\n\
                    queue = { limit = \"21 packets\" }\n";
        let settings: GateSettings = toml::from_str(text).expect("settings");
        let places = settings.places().expect("in bounds");
        assert_eq!(
            (places.packets, [0, 1, 2].map(|flow| places.may_lack(flow))),
            (20, [false, true, true])
        );
        let own = GateSettings { capacity: None, ..settings };
        let places = own.places().expect("in bounds");
        assert_eq!(
            (places.packets, [0, 1, 2].map(|flow| places.may_lack(flow))),
            (4096, [false, true, false])
        );
        let none = GateSettings { capacity: Some(0), ..own };
        assert_eq!(none.places().err().map(|error| error.field), Some("capacity".into()));
    }
}
