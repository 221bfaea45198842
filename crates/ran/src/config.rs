//! Settings of the chain, in the form of scenario files.

mod dual;
pub(crate) mod f1;
pub(crate) mod marking;
mod poll;
pub(crate) mod queues;
mod scells;

pub use dual::{Leg, Routing, SplitConfig};
pub use marking::{MarkingConfig, MarkingPlace};
pub use poll::{Phase, PollConfig, Skew};
pub use scells::{MOST_SCELLS, PCELL, ScellConfig};

use crate::RlcModeConfig;
use crate::channel::ChannelConfig;
use crate::drx::DrxConfig;
use crate::limiter::{F1Config, LimiterConfig};
use crate::pacer::PacerConfig;
use crate::scheduler::SdapSchedulerConfig;
use crate::upf::PacketDetectionRule;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, Qfi, Ratio, choice, params, table};
use justfull_queue::QueueConfig;

/// Maximum number of data radio bearers of a UE (TS 38.331, maxDRB = 29; T20 uses 8, the limit of
/// TS 36.331; 32 leaves room).
pub const MAX_DRBS: u8 = 32;

choice! {
    /// Order of events that fall on the same instant.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum TieOrder {
        /// Arrival, UPF, SDAP, MAC: a packet may pass the whole chain in one instant.
        #[default]
        TopDown = "top-down",
        /// MAC, SDAP, UPF, arrival: each layer gets the packets that the layer above sent at an
        /// earlier instant.
        BottomUp = "bottom-up",
    }
}

params! {
    /// The user plane function.
    #[derive(Clone, Debug, PartialEq)]
    pub struct UpfConfig {
        /// When it may send to SDAP.
        poll: PollConfig = PollConfig::default();
        /// Most packets per UE and opportunity; at least 1.
        batch: u32 as "packets" = u32::MAX, at_least(1), "an opportunity must move something";
        /// The flow queues of each QFI.
        queue: QueueConfig = QueueConfig::default();
    }
}

params! {
    /// The SDAP sublayer.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SdapConfig {
        /// When it may send to the RLC.
        poll: PollConfig = PollConfig::default();
        /// Most packets per UE and poll; at least 1.
        batch: u32 as "packets" = u32::MAX, at_least(1), "a poll must move something";
        /// The queue of each QFI, unless the QoS flow has its own.
        queue: QueueConfig = QueueConfig::default();
        /// Which QFI's queue is next.
        scheduler: SdapSchedulerConfig = SdapSchedulerConfig::default();
        /// How much of the UPF's packets each queue should hold.
        pacer: PacerConfig = PacerConfig::default();
    }
}

choice! {
    /// How long an SDU keeps its place in the bearer's queue.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Hold {
        /// Until its last byte is sent for the first time.
        #[default]
        Sent = "sent",
        /// Until the UE's RLC has acknowledged all of it.
        Acknowledged = "acknowledged",
    }
}

params! {
    /// The RLC sublayer, alike for each bearer.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RlcConfig {
        /// The queue of each bearer.
        queue: QueueConfig = Default::default();
        /// How much may sit in it.
        limiter: LimiterConfig = Default::default();
        /// How old the limiter's knowledge of the queue is, 0s to 1s: what a slot has left behind
        /// reaches it so much later, as from a DU that is not where its CU is. Then the queue is
        /// fifo: what the DU has cannot be put in another order.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_default"))]
        report_delay: Duration = Duration::ZERO,
            stated("0s to 1s; 0s with another discipline than fifo");
        /// F1-U, if CU and DU are apart. Then the queue is fifo too.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_default"))]
        f1: F1Config = F1Config::default();
        /// The node that sets the AQM's marks on packets with ECT(1), and its reports.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_default"))]
        marking: MarkingConfig = MarkingConfig::default();
        /// How SDUs are cut, numbered and put together again; with a MAC of kind rb, dch or hsdpa.
        mode: RlcModeConfig = Default::default();
        /// How long an SDU keeps its place in the bearer's queue: until it is sent, or, with
        /// acknowledged mode, until it is acknowledged. Then it counts for the queue's limit and
        /// AQM, which drops no SDU that has begun to be sent; results let it depart when the UE
        /// delivers it.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_default"))]
        hold: Hold = Hold::Sent, stated("sent; acknowledged with rlc.mode am");
    }
}

table! {
    /// One QoS flow of a UE.
    #[derive(Clone, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    #[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
    pub struct QosFlowConfig {
        /// Its identifier, 0 to 63, once per UE.
        qfi: Qfi;
        /// The data radio bearer it is mapped to, below the UE's number of bearers.
        #[cfg_attr(feature = "serde", serde(default))]
        drb: u8 = Default::default();
        /// For strict priority: lower goes first.
        #[cfg_attr(feature = "serde", serde(default))]
        priority: u8 = Default::default();
        /// For deficit round robin: share relative to the others; at least 1.
        #[cfg_attr(feature = "serde", serde(default = "one"))]
        weight: u32 = 1, at_least(1), "a share of 0 is never served";
        /// A queue of its own instead of `sdap.queue`.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        queue: Option<Box<QueueConfig>> = None;
    }
}

#[cfg(feature = "serde")]
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(feature = "serde")]
fn one() -> u32 {
    1
}

/// A user equipment with one PDU session.
#[derive(Clone, Debug, PartialEq)]
pub struct UeConfig {
    /// Data radio bearers, 1 to [`MAX_DRBS`].
    pub drbs: u8,
    /// QoS flows; at least one.
    pub qos_flows: Vec<QosFlowConfig>,
    /// Packet detection rules in order of precedence; the first match names the QFI.
    pub rules: Vec<PacketDetectionRule>,
    /// The UE's own channel, if UEs differ; none to share the cell's.
    pub channel: Option<ChannelConfig>,
    /// Index of its slice in the cell; 0 without slices.
    pub slice: u16,
    /// Its discontinuous reception; none if it always listens.
    pub drx: Option<Box<DrxConfig>>,
}

impl UeConfig {
    /// A UE with one bearer, and the QoS flow `qfi` for all its packets.
    #[must_use]
    pub fn plain(qfi: Qfi) -> Self {
        Self {
            drbs: 1,
            qos_flows: alloc::vec![QosFlowConfig {
                qfi,
                drb: 0,
                priority: 0,
                weight: 1,
                queue: None
            }],
            rules: alloc::vec![PacketDetectionRule::any(qfi)],
            channel: None,
            slice: 0,
            drx: None,
        }
    }
}

/// The facts about the cell for a MAC.
#[derive(Clone, Copy, Debug)]
pub struct CellContext<'a> {
    /// UEs.
    pub ues: &'a [Arc<UeConfig>],
    /// The cell's channel.
    pub channel: &'a ChannelConfig,
    /// Radio link control.
    pub rlc: &'a RlcConfig,
    /// Shares of the slices.
    pub slices: &'a [Ratio],
    /// SCells.
    pub scells: &'a [ScellConfig],
    /// Largest packet in bytes.
    pub mtu: u32,
    /// Seed of the random streams.
    pub seed: u64,
}

impl CellContext<'_> {
    /// The cell's channel, and the channels of UEs with their own, each with the UE's index.
    pub(crate) fn channels(&self) -> impl Iterator<Item = (Option<usize>, &ChannelConfig)> {
        let own = self.ues.iter().enumerate().map(|(i, ue)| (Some(i), ue.channel.as_ref()));
        let all = core::iter::once((None, Some(self.channel))).chain(own);
        all.filter_map(|(ue, channel)| Some((ue, channel?)))
    }

    /// Refuses settings that need resource blocks.
    pub(crate) fn refuse_blocks(&self) -> Result<(), ConfigError> {
        const WHY: &str = "only a MAC that deals in resource blocks has these";
        if let Some((ue, channel)) = self.channels().find(|(_, channel)| channel.needs_carrier()) {
            let of_ue = ue.map_or_else(String::new, |ue| alloc::format!("ue[{ue}]."));
            let allowed = "another kind, or with mac.kind rb";
            return ensure(false, &(of_ue + "channel.kind"), &channel.name(), allowed, WHY);
        }
        let sliced = self.slices.len();
        ensure(sliced == 0, "slice", &sliced, "none, or with mac.kind rb", WHY)
    }

    /// Refuses a mode of the RLC if the RLC has neither headers nor a receiver.
    pub(crate) fn refuse_rlc(&self) -> Result<(), ConfigError> {
        ensure(
            self.rlc.mode == RlcModeConfig::default(),
            "rlc.mode",
            &"a mode",
            "none, or with mac.kind rb (umts: dch or hsdpa)",
            "only a MAC with headers has RLC PDUs",
        )
    }
}

/// Checks that `limiter` may get its reports of slots and departures `delay` later.
pub(crate) fn check_report_delay(
    delay: Duration,
    limiter: &LimiterConfig,
) -> Result<(), ConfigError> {
    ensure(
        delay <= Duration::from_secs(1),
        "rlc.report_delay",
        &delay,
        "0s to 1s",
        "TS 38.425 section 5.4.2: reports of the DU",
    )?;
    ensure(
        delay.is_zero() || limiter.allows_late_reports(),
        "rlc.limiter",
        &limiter.name(),
        "one that uses reports of slots, with rlc.report_delay",
        "it needs each departure, or each pull, at once",
    )
}

/// QoS flows with a better priority than the last of a UE's `flows`, a bit for each QFI.
pub(crate) fn urgent(flows: &[QosFlowConfig]) -> u64 {
    let last = flows.iter().map(|flow| flow.priority).max();
    let urgent = flows.iter().filter(|flow| Some(flow.priority) < last);
    urgent.fold(0, |bits, flow| bits | 1 << flow.qfi.get())
}

impl UeConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        ensure(
            (1..=MAX_DRBS).contains(&self.drbs),
            "drbs",
            &self.drbs,
            "1 to 32",
            "TS 38.331 maxDRB, with room",
        )?;
        ensure(
            !self.qos_flows.is_empty(),
            "qos_flow",
            &0,
            "at least one QoS flow",
            "TS 23.501 section 5.7.1",
        )?;
        for (i, flow) in self.qos_flows.iter().enumerate() {
            let at = |field: &str| alloc::format!("qos_flow[{i}].{field}");
            let twice = self.qos_flows[..i].iter().any(|f| f.qfi == flow.qfi);
            ensure(
                !twice,
                &at("qfi"),
                &flow.qfi,
                "a QFI that no other QoS flow of the UE has",
                "TS 23.501 section 5.7.1",
            )?;
            ensure(
                flow.drb < self.drbs,
                &at("drb"),
                &flow.drb,
                "below the UE's number of bearers",
                "TS 37.324 section 5.3",
            )?;
            flow.validate().map_err(|e| e.within(&alloc::format!("qos_flow[{i}]")))?;
        }
        if let Some(drx) = &self.drx {
            drx.validate().map_err(|e| e.within("drx"))?;
        }
        for (i, rule) in self.rules.iter().enumerate() {
            let known = self.qos_flows.iter().any(|f| f.qfi == rule.qfi);
            let field = alloc::format!("rule[{i}].qfi");
            ensure(
                known,
                &field,
                &rule.qfi,
                "the QFI of one of the UE's QoS flows",
                "TS 23.501 section 5.8.2",
            )?;
        }
        Ok(())
    }
}
