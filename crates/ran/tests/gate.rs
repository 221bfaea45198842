//! A gate above a simple RLC of five lines decides like the stack's own in the same cell.

use justfull_base::rng::{mix, stream_key};
use justfull_base::{
    Dscp, Duration, Event, Instant, Lateness, Layer, Packet, Probe, Qfi, Rng, SlotReport,
};
use justfull_queue::{AqmConfig, Limit, QueueConfig};
use justfull_ran::channel::{CapacityUnit, ChannelConfig, ConstantConfig};
use justfull_ran::config::{Phase, Skew};
use justfull_ran::gate::{Gate, GateConfig, Rlc};
use justfull_ran::limiter::{GrantContext, LimiterConfig, RlcView};
use justfull_ran::scheduler::SdapSchedulerConfig;
use justfull_ran::{
    Egress, FiveTuple, MacConfig, PacketDetectionRule, PacketsConfig, PdcpConfig, PollConfig,
    QosFlowConfig, RlcConfig, SdapConfig, Stack, StackConfig, TieOrder, UeConfig, UpfConfig,
};
use std::collections::VecDeque;
use std::sync::Arc;

const SLOT: Duration = Duration::from_millis(1);
const PER_SLOT: u64 = 3;
const FLOWS: u8 = 3;

/// Entries into the RLC and drops in any layer: the time and the packet of each.
#[derive(Debug, Default, PartialEq)]
struct Decisions(Vec<(Instant, bool, u64)>);

impl Probe for Decisions {
    fn on_event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Enqueued { layer: Layer::Rlc, packet, .. } => {
                self.0.push((now, true, packet.id))
            }
            Event::Dropped { packet, .. } => self.0.push((now, false, packet.id)),
            _ => {}
        }
    }
}

impl Egress for Decisions {
    fn deliver(&mut self, _now: Instant, _packet: &Packet, _bound: Option<Instant>) {}
}

#[derive(Default)]
struct Fifo(VecDeque<Packet>);

impl Rlc for Fifo {
    fn view(&self, _drb: u8) -> RlcView {
        let bytes = self.0.iter().map(|sdu| u64::from(sdu.size)).sum();
        RlcView { packets: self.0.len() as u64, bytes }
    }

    fn enqueue<P: Probe>(&mut self, now: Instant, _: u8, sdu: &Packet, probe: &mut P) -> bool {
        self.0.push_back(Packet { enqueued: now, ..*sdu });
        let (packet, layer) = (*sdu, Layer::Rlc);
        let (backlog_packets, backlog_bytes) = (self.0.len() as u32, 0);
        probe.on_event(now, &Event::Enqueued { layer, packet, backlog_packets, backlog_bytes });
        true
    }
}

fn polled(period: Duration) -> PollConfig {
    let (phase, skew) = (Phase::Fixed(Duration::ZERO), Skew::Ppm(0.0));
    PollConfig { period, phase, skew, lateness: Lateness::Exact }
}

/// SDAP is polled each half slot; the slot takes three packets.
fn cell(limiter: &str, scheduler: &str) -> StackConfig {
    let queue = QueueConfig {
        aqm: AqmConfig::by_name("codel").expect("it is on the list"),
        ..QueueConfig::tail_drop(Limit::Packets(40))
    };
    let qfi = |i| Qfi::new(i).expect("below 64");
    let flows = (0..FLOWS).map(|i| QosFlowConfig {
        qfi: qfi(i),
        drb: 0,
        priority: i,
        weight: 1 + u32::from(i),
        queue: None,
    });
    let rules = (0..FLOWS).map(|i| PacketDetectionRule {
        destination_port: Some(i.into()),
        ..PacketDetectionRule::any(qfi(i))
    });
    let ue = UeConfig {
        drx: None,
        drbs: 1,
        qos_flows: flows.collect(),
        rules: rules.collect(),
        channel: None,
        slice: 0,
    };
    StackConfig {
        upf: UpfConfig::default(),
        sdap: SdapConfig {
            poll: polled(Duration::from_micros(500)),
            queue,
            scheduler: SdapSchedulerConfig::by_name(scheduler).expect("it is on the list"),
            batch: 5,
            ..SdapConfig::default()
        },
        rlc: RlcConfig {
            queue: QueueConfig::tail_drop(Limit::Unlimited),
            limiter: LimiterConfig::by_name(limiter).expect("it is on the list"),
            ..RlcConfig::default()
        },
        mac: MacConfig::Packets(PacketsConfig { slot: polled(SLOT) }),
        channel: ChannelConfig::Constant(ConstantConfig { per_slot: PER_SLOT }),
        ues: vec![Arc::new(ue)],
        pdcp: PdcpConfig::default(),
        slices: Vec::new(),
        scells: Vec::new(),
        tie_order: TieOrder::TopDown,
        mtu: 1500,
        seed: 1,
        assert_bound: true,
    }
}

/// Packets between the polls: three per slot, and bursts of thirty.
fn arrivals() -> Vec<(Instant, Packet)> {
    let mut rng = Rng::stream(7, "arrivals");
    let at = |slot: u64| Instant::ZERO + SLOT.times(slot) + Duration::from_micros(100);
    let count = |rng: &mut Rng| if rng.chance(0.02) { 30 } else { rng.below(6) };
    let mut all = Vec::new();
    for slot in 0..2_000 {
        for _ in 0..count(&mut rng) {
            let (id, flow) = (all.len() as u64, rng.below(FLOWS.into()) as u32);
            let size = 40 + rng.below(1_400) as u32;
            all.push((at(slot), Packet { id, flow, size, ..Packet::default() }));
        }
    }
    all
}

fn by_stack(config: &StackConfig) -> Decisions {
    let (mut stack, mut made) = (Stack::new(config).expect("in bounds"), Decisions::default());
    for destination_port in 0..FLOWS.into() {
        let tuple = FiveTuple { destination_port, ..FiveTuple::default() };
        stack.open_flow(0, &tuple, Dscp::default());
    }
    for (at, packet) in arrivals() {
        stack.input(at, packet, &mut made);
    }
    stack.wake(Instant::ZERO + SLOT.times(2_100), &mut made);
    stack.assert_conserved();
    made
}

/// A slot: the MAC takes packets, and reports.
fn pull(now: Instant, gate: &mut Gate, rlc: &mut Fifo) {
    let mut used = 0;
    while used < PER_SLOT
        && let Some(sdu) = rlc.0.pop_front()
    {
        used += 1;
        gate.on_departed(now, 0, now.since(sdu.enqueued)).expect("there is a bearer");
    }
    let (granted, capacity, remaining) = (PER_SLOT, PER_SLOT, rlc.0.len() as u64);
    let starved = used < PER_SLOT;
    let report =
        SlotReport { pulled_at: now, slot: SLOT, granted, used, remaining, capacity, starved };
    gate.on_slot(0, &report).expect("there is a bearer");
}

fn by_gate(stack: &StackConfig) -> Decisions {
    let config = GateConfig {
        sdap: &stack.sdap,
        limiter: &stack.rlc.limiter,
        report_delay: Duration::ZERO,
        qos_flows: &stack.ues[0].qos_flows,
        drbs: 1,
    };
    let context = GrantContext { unit: CapacityUnit::Packets, slot: SLOT, mtu: stack.mtu };
    let key = mix(mix(stream_key(stack.seed, "ue")) ^ 2);
    let mut gate = Gate::new(&config, &context, key).expect("in bounds");
    let (mut rlc, mut made) = (Fifo::default(), Decisions::default());
    let mut arrivals = arrivals().into_iter().peekable();
    for half in 0..=4_200 {
        let now = Instant::ZERO + Duration::from_micros(500).times(half);
        while let Some((at, packet)) = arrivals.next_if(|(at, _)| *at <= now) {
            gate.offer(at, packet.flow as usize, packet, &mut made).expect("a flow and a size");
        }
        gate.poll(now, &mut rlc, &mut made);
        if half % 2 == 0 {
            pull(now, &mut gate, &mut rlc);
        }
    }
    assert!(!gate.is_busy() && rlc.0.is_empty());
    made
}

#[test]
fn a_gate_above_another_rlc_decides_packet_by_packet_as_the_stack_does() {
    for limiter in ["unlimited", "drql", "dql", "dyn_rlc", "bdp_5g", "e_bdp_5g", "hedge"] {
        for scheduler in ["fifo", "round_robin", "strict_priority", "drr"] {
            let config = cell(limiter, scheduler);
            let (stack, gate) = (by_stack(&config), by_gate(&config));
            let drops = gate.0.iter().filter(|(_, entered, _)| !entered).count();
            assert!(
                (drops > 0 || limiter == "unlimited") && gate.0.len() > 5_000,
                "{limiter}, {scheduler}: {drops} drops"
            );
            assert_eq!(stack, gate, "{limiter} under {scheduler}");
        }
    }
}
