//! The core network: the flows of all UEs, the rules that detect them, and the UPF's queues.

use super::Stack;
use crate::config::UeConfig;
use crate::upf::{FiveTuple, PacketDetectionRule, UeUpf, detect};
use alloc::sync::Arc;
use alloc::vec::Vec;
use justfull_base::{Dscp, Instant, Packet, Qfi};

/// A flow opened on the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) ue: u32,
    pub(super) hash: u32,
    /// Index of the QoS flow among the UE's; none if no rule matched, or while the UE is away.
    pub(super) qos: Option<u8>,
    /// Index of the QoS flow, also while the UE is away.
    pub(super) detected: Option<u8>,
    /// Its QFI, if it has one.
    pub(super) qfi: Qfi,
}

/// The QFIs of the QoS flows of one UE, and the rules that detect them. UEs share equal lists.
#[derive(Clone)]
pub(super) struct Ue {
    pub(super) qfis: Arc<[Qfi]>,
    pub(super) rules: Arc<[PacketDetectionRule]>,
    /// True if it is in no cell of this stack.
    pub(super) away: bool,
}

/// The flows of a world with several cells: they number and stamp packets before a cell takes them.
#[derive(Default)]
pub struct Flows {
    flows: Vec<WorldFlow>,
    next_id: u64,
}

/// A flow of a world with several cells.
struct WorldFlow {
    ue: u32,
    tuple: FiveTuple,
    /// Index of its QoS flow among the UE's; none if no rule matches.
    qos: Option<u8>,
    qfi: Qfi,
    /// The hash of `tuple` under the key of a cell, and that key.
    hash: (u32, u64),
}

impl WorldFlow {
    fn of(ue: u32, config: &UeConfig, tuple: &FiveTuple, dscp: Dscp) -> Self {
        let qfi = detect(&config.rules, tuple, dscp);
        let mut qfis = config.qos_flows.iter().map(|flow| flow.qfi);
        let qos = qfi.and_then(|qfi| qfis.position(|q| q == qfi)).map(|i| i as u8);
        let (tuple, qfi) = (*tuple, qfi.unwrap_or_default());
        Self { ue, tuple, qos, qfi, hash: (tuple.hash(0), 0) }
    }
}

impl Flows {
    /// Opens a flow of UE number `ue` with the settings `config`. Returns its number.
    pub fn open(&mut self, ue: u32, config: &UeConfig, tuple: &FiveTuple, dscp: Dscp) -> u32 {
        self.flows.push(WorldFlow::of(ue, config, tuple, dscp));
        (self.flows.len() - 1) as u32
    }

    /// Like [`Flows::open`], but reuses the number of a flow that has ended and none of whose
    /// packets is in transit.
    ///
    /// # Panics
    /// If `number` is not a flow.
    pub fn reopen(
        &mut self,
        number: u32,
        ue: u32,
        config: &UeConfig,
        tuple: &FiveTuple,
        dscp: Dscp,
    ) {
        self.flows[number as usize] = WorldFlow::of(ue, config, tuple, dscp);
    }

    /// Flow `number` continues over a new connection with the 5-tuple `tuple`.
    ///
    /// # Panics
    /// If `number` is not a flow.
    pub fn renew(&mut self, number: u32, tuple: &FiveTuple) {
        let flow = &mut self.flows[number as usize];
        (flow.tuple, flow.hash) = (*tuple, (tuple.hash(0), 0));
    }

    /// Number of flows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.flows.len()
    }

    /// The UE of flow `number`.
    ///
    /// # Panics
    /// If `number` is not a flow.
    #[must_use]
    pub fn ue_of(&self, number: u32) -> u32 {
        self.flows[number as usize].ue
    }

    /// Numbers and stamps `packet`, which arrives at `now` at the UPF of `cell`. Returns the index
    /// of its QoS flow among its UE's; none if no rule matches.
    pub fn stamp(&mut self, now: Instant, packet: &mut Packet, cell: &Stack) -> Option<u8> {
        let flow = &mut self.flows[packet.flow as usize];
        let key = cell.core.hash_key;
        if flow.hash.1 != key {
            flow.hash = (flow.tuple.hash(key), key);
        }
        packet.id = self.next_id;
        self.next_id += 1;
        packet.entered = now;
        packet.enqueued = now;
        packet.ue = flow.ue;
        packet.flow_hash = flow.hash.0;
        packet.qfi = flow.qfi;
        flow.qos
    }
}

/// The core network of a cell.
pub(super) struct Core {
    pub(super) flows: Vec<Flow>,
    pub(super) ues: Vec<Ue>,
    /// The UEs' queues in the UPF; empty if packets pass through it.
    pub(super) upfs: Vec<UeUpf>,
    /// Maximum number of packets per UE and opportunity.
    pub(super) batch: u32,
    /// UEs with packets in the UPF.
    pub(super) busy: Vec<u32>,
    pub(super) hash_key: u64,
    /// True if the UPF's queues have an AQM, but packets pass through the UPF.
    pub(super) aqm_idles: bool,
    /// Number of opportunities at which a pacer left packets waiting.
    pub(super) paced: u64,
    /// Packets that have entered so far: the number of the next, unless [`Flows`] number them.
    pub(super) next_id: u64,
    /// Number of packets dropped before a queue: no rule matched them, the core lost them, or the
    /// driver had no room for them.
    pub(super) refused: u64,
}

impl Core {
    /// The flow of `ue` with this 5-tuple and this DSCP.
    pub(super) fn flow(&self, ue: u32, tuple: &FiveTuple, dscp: Dscp) -> Flow {
        let Ue { rules, qfis, away } = &self.ues[ue as usize];
        let qfi = detect(rules, tuple, dscp);
        let detected = qfi.and_then(|qfi| qfis.iter().position(|q| *q == qfi)).map(|i| i as u8);
        let (hash, qos) = (tuple.hash(self.hash_key), detected.filter(|_| !away));
        Flow { ue, hash, qos, detected, qfi: qfi.unwrap_or_default() }
    }

    /// `ue` has left: no packet matches its rules.
    pub(super) fn let_go(&mut self, ue: u32) {
        self.ues[ue as usize].away = true;
        self.flows.iter_mut().filter(|flow| flow.ue == ue).for_each(|flow| flow.qos = None);
    }

    /// `ue` has entered.
    pub(super) fn take_in(&mut self, ue: u32) {
        self.ues[ue as usize].away = false;
        for flow in self.flows.iter_mut().filter(|flow| flow.ue == ue) {
            flow.qos = flow.detected;
        }
    }

    /// Numbers and stamps `packet`, which arrives at `now`. Returns its flow.
    #[inline(always)]
    pub(super) fn number(&mut self, now: Instant, packet: &mut Packet) -> Flow {
        let flow = self.flows[packet.flow as usize];
        packet.id = self.next_id;
        self.next_id += 1;
        packet.entered = now;
        packet.enqueued = now;
        packet.ue = flow.ue;
        packet.flow_hash = flow.hash;
        packet.qfi = flow.qfi;
        flow
    }
}
