//! Worked examples of the chain: time, order, mapping and backpressure.

use super::*;
use crate::channel::{ChannelConfig, ConstantConfig, PatternConfig};
use crate::config::{Phase, Skew};
use crate::limiter::{Bdp5gConfig, ClairvoyantConfig, DrqlConfig, FixedConfig, LimiterConfig};
use crate::pacer::{ClairvoyantPacerConfig, PacerConfig, UspConfig};
use crate::scheduler::{DrrConfig, SdapSchedulerConfig, StrictPriorityConfig};
use crate::upf::PacketDetectionRule;
use crate::{
    BytesConfig, MacConfig, PacketsConfig, PdcpConfig, PollConfig, QosFlowConfig, RbConfig,
    RlcConfig, SdapConfig, UeConfig, UpfConfig,
};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use justfull_base::packet::Protocol;
use justfull_base::{Bytes, Dscp, Lateness, Qfi, Ratio, Rng};
use justfull_queue::{AqmConfig, DisciplineConfig, Limit, QueueConfig};

mod aqms;
mod blocks;
mod bound;
mod contexts;
mod drx;
mod f1;
mod interrupts;
mod marking;
mod pour;
mod refused;
mod reports;
mod scells;
mod uplink;

const MS: u64 = 1_000_000;

/// Events and deliveries of a stack. All tests share it: the stack is compiled once for each type
/// of observer.
#[derive(Default)]
struct Log {
    /// Instant, flow and bound of each delivery.
    deliveries: Vec<(Instant, u32, Option<Instant>)>,
    delivered: Vec<Packet>,
    drops: Vec<(Layer, DropReason)>,
    dropped: Vec<Packet>,
    /// The layer and the instant, in ms, of each mark.
    marks: Vec<(Layer, u64)>,
    /// Greatest number of packets in any RLC queue.
    rlc_peak: u32,
}

impl Probe for Log {
    fn on_event(&mut self, now: Instant, event: &Event) {
        match *event {
            Event::Dropped { layer, reason, packet, .. } => {
                self.drops.push((layer, reason));
                self.dropped.push(packet);
            }
            Event::Marked { layer, .. } => self.marks.push((layer, now.as_nanos() / MS)),
            Event::Enqueued { layer: Layer::Rlc, backlog_packets, .. } => {
                self.rlc_peak = self.rlc_peak.max(backlog_packets + 1);
            }
            _ => {}
        }
    }
}

impl Egress for Log {
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        self.deliveries.push((now, packet.flow, bound));
        self.delivered.push(*packet);
    }
}

impl Log {
    /// Delivery times in microseconds.
    fn times_us(&self) -> Vec<u64> {
        self.deliveries.iter().map(|(at, ..)| at.as_nanos() / 1_000).collect()
    }

    fn flows(&self) -> Vec<u32> {
        self.deliveries.iter().map(|(_, flow, _)| *flow).collect()
    }

    /// Packets of `flow` delivered by `us` microseconds.
    fn delivered_by(&self, us: u64, flow: u32) -> usize {
        self.deliveries
            .iter()
            .filter(|(at, f, _)| at.as_nanos() <= us * 1_000 && *f == flow)
            .count()
    }
}

fn qfi(n: u8) -> Qfi {
    Qfi::new(n).expect("below 64")
}

fn poll(period_us: u64, phase_us: u64) -> PollConfig {
    PollConfig {
        period: Duration::from_micros(period_us),
        phase: Phase::Fixed(Duration::from_micros(phase_us)),
        skew: Skew::Ppm(0.0),
        lateness: Lateness::Exact,
    }
}

fn constant(per_slot: u64) -> ChannelConfig {
    ChannelConfig::Constant(ConstantConfig { per_slot })
}

/// A UE with one QoS flow per entry of `drbs`, distinguished by the port; the first is the most
/// urgent.
fn ue(drbs: &[u8]) -> UeConfig {
    let numbered = || (0u8..).zip(drbs);
    UeConfig {
        drx: None,
        drbs: drbs.iter().max().map_or(1, |most| most + 1),
        qos_flows: numbered()
            .map(|(i, &drb)| QosFlowConfig {
                qfi: qfi(i),
                drb,
                priority: i,
                weight: 1,
                queue: None,
            })
            .collect(),
        rules: numbered()
            .map(|(i, _)| PacketDetectionRule {
                destination_port: Some(u16::from(i)),
                ..PacketDetectionRule::any(qfi(i))
            })
            .collect(),
        channel: None,
        slice: 0,
    }
}

/// Slots of bytes, each 10 ms; a bearer pays `overhead` in each.
fn in_bytes(overhead: u64) -> MacConfig {
    MacConfig::Bytes(BytesConfig { slot: poll(10_000, 0), overhead: Bytes(overhead) })
}

/// The settings of resource blocks in `config`.
fn rb(config: &mut StackConfig) -> &mut RbConfig {
    let MacConfig::Rb(rb) = &mut config.mac else { panic!("no resource blocks") };
    rb
}

/// Slots of 10 ms that carry `per_slot`, the first at 0; UPF and SDAP act at once.
fn cell(per_slot: u64, unit: CapacityUnit, ues: Vec<UeConfig>) -> StackConfig {
    let unlimited = QueueConfig::tail_drop(Limit::Unlimited);
    StackConfig {
        upf: UpfConfig { poll: poll(0, 0), queue: unlimited.clone(), ..UpfConfig::default() },
        sdap: SdapConfig { poll: poll(0, 0), queue: unlimited.clone(), ..SdapConfig::default() },
        rlc: RlcConfig { queue: unlimited, ..RlcConfig::default() },
        mac: match unit {
            CapacityUnit::Packets => MacConfig::Packets(PacketsConfig { slot: poll(10_000, 0) }),
            CapacityUnit::Bytes => in_bytes(0),
        },
        channel: constant(per_slot),
        ues: ues.into_iter().map(Arc::new).collect(),
        pdcp: PdcpConfig::default(),
        slices: Vec::new(),
        scells: Vec::new(),
        tie_order: TieOrder::TopDown,
        mtu: 1500,
        seed: 1,
        assert_bound: true,
    }
}

fn packets(per_slot: u64, ues: Vec<UeConfig>) -> StackConfig {
    cell(per_slot, CapacityUnit::Packets, ues)
}

fn bytes(per_slot: u64, ues: Vec<UeConfig>) -> StackConfig {
    cell(per_slot, CapacityUnit::Bytes, ues)
}

/// A stack with a flow to each QoS flow of each UE, in order.
struct Bench {
    stack: Stack,
    log: Log,
}

impl Bench {
    fn new(config: &StackConfig) -> Self {
        let mut stack = Stack::new(config).expect("a valid cell");
        for (u, ue) in (0..).zip(&config.ues) {
            for (i, _) in ue.qos_flows.iter().enumerate() {
                let tuple = FiveTuple { destination_port: i as u16, ..FiveTuple::default() };
                stack.open_flow(u, &tuple, Dscp::default());
            }
        }
        Self { stack, log: Log::default() }
    }

    /// `count` packets of `size` bytes arrive for `flow`.
    fn send(&mut self, us: u64, flow: u32, size: u32, count: usize) {
        for _ in 0..count {
            let packet = Packet { flow, size, tracked: flow == 0, ..Packet::default() };
            self.stack.input(Instant::from_nanos(us * 1_000), packet, &mut self.log);
        }
    }

    fn run_to(&mut self, us: u64) {
        self.stack.wake(Instant::from_nanos(us * 1_000), &mut self.log);
        self.stack.assert_conserved();
    }
}

#[test]
fn a_packet_meets_each_layer_at_its_next_poll() {
    // UPF at 0.3, 1.3, ... ms, SDAP at 0.7, 1.7, ... ms, MAC at 2, 12, 22, ... ms.
    let mut config = packets(4, vec![ue(&[0])]);
    config.upf.poll = poll(1_000, 300);
    config.sdap.poll = poll(1_000, 700);
    *config.mac.slot_mut() = poll(10_000, 2_000);
    for (arrives_us, leaves_us) in
        [(4_500, 12_000), (11_200, 12_000), (11_300, 12_000), (11_301, 22_000)]
    {
        let mut bench = Bench::new(&config);
        bench.send(arrives_us, 0, 1500, 1);
        bench.run_to(40_000);
        let leaves = Instant::from_nanos(leaves_us * 1_000);
        assert_eq!(bench.log.deliveries, [(leaves, 0, Some(leaves))], "arrived at {arrives_us} us");
        assert_eq!(bench.stack.first_slot(Instant::from_nanos(arrives_us * 1_000)), leaves);
    }
}

#[test]
fn at_one_instant_top_down_lets_a_packet_pass_the_whole_chain_and_bottom_up_one_layer_a_poll() {
    for (tie_order, leaves_us) in [(TieOrder::TopDown, 20_000), (TieOrder::BottomUp, 30_000)] {
        let mut config = packets(4, vec![ue(&[0])]);
        config.upf.poll = poll(1_000, 0);
        config.sdap.poll = poll(1_000, 0);
        config.tie_order = tie_order;
        let mut bench = Bench::new(&config);
        bench.send(20_000, 0, 1500, 1);
        bench.run_to(50_000);
        assert_eq!(bench.log.times_us(), [leaves_us], "{tie_order:?}");
        // Two polls before the pull are early enough for both.
        let mut bench = Bench::new(&config);
        bench.send(17_999, 0, 1500, 1);
        bench.run_to(50_000);
        assert_eq!(bench.log.times_us(), [20_000], "{tie_order:?}");
    }
}

#[test]
fn a_bottom_up_packet_that_arrives_two_polls_before_the_pull_misses_it() {
    // UPF at 19 (strictly after the arrival at 18), SDAP at 20, MAC at 20 has pulled before.
    let mut config = packets(4, vec![ue(&[0])]);
    config.upf.poll = poll(1_000, 0);
    config.sdap.poll = poll(1_000, 0);
    config.tie_order = TieOrder::BottomUp;
    let mut bench = Bench::new(&config);
    bench.send(18_000, 0, 1500, 1);
    bench.run_to(50_000);
    assert_eq!(bench.log.times_us(), [30_000]);
}

#[test]
fn layers_without_a_poll_forward_at_once_and_refill_at_the_pull() {
    let mut config = packets(2, vec![ue(&[0])]);
    config.rlc.limiter =
        LimiterConfig::Fixed(FixedConfig { limit: Limit::Packets(2), overdraw: true });
    let mut bench = Bench::new(&config);
    bench.send(9_999, 0, 1500, 4);
    assert_eq!(bench.stack.backlog_packets(), [0, 2, 2]);
    bench.run_to(10_000);
    assert_eq!(
        bench.stack.backlog_packets(),
        [0, 0, 2],
        "what the pull made room for enters at the pull"
    );
    bench.run_to(30_000);
    assert_eq!(bench.log.times_us(), [10_000, 10_000, 20_000, 20_000]);
}

#[test]
fn an_urgent_packet_overtakes_in_sdap_with_strict_priority_and_not_with_fifo() {
    // Thirty packets of bulk, five per slot: five in the RLC, the rest waits where it can be
    // overtaken.
    let strict = SdapSchedulerConfig::StrictPriority(StrictPriorityConfig {});
    for (scheduler, leaves_us) in [(strict, 20_000), (SdapSchedulerConfig::default(), 70_000)] {
        let mut config = packets(5, vec![ue(&[0, 0])]);
        config.rlc.limiter =
            LimiterConfig::Fixed(FixedConfig { limit: Limit::Packets(5), overdraw: true });
        config.sdap.scheduler = scheduler;
        let mut bench = Bench::new(&config);
        bench.send(1_000, 1, 1500, 30);
        bench.send(2_000, 0, 200, 1);
        bench.run_to(100_000);
        let (at, _, bound) = bench.log.deliveries.iter().find(|d| d.1 == 0).expect("delivered");
        assert_eq!(at.as_nanos() / 1_000, leaves_us);
        assert_eq!(
            *bound,
            Some(Instant::from_nanos(10 * MS)),
            "an empty cell would have served it at 10 ms"
        );
    }
}

#[test]
fn without_containment_nothing_is_left_in_sdap_to_be_overtaken() {
    let mut config = packets(5, vec![ue(&[0, 0])]);
    config.sdap.scheduler = SdapSchedulerConfig::StrictPriority(StrictPriorityConfig {});
    let mut bench = Bench::new(&config);
    bench.send(1_000, 1, 1500, 30);
    bench.send(2_000, 0, 200, 1);
    bench.run_to(100_000);
    assert_eq!(bench.log.flows().iter().position(|f| *f == 0), Some(30));
}

#[test]
fn each_qfi_goes_to_its_own_bearer_up_to_the_most_a_ue_can_have() {
    for drbs in [1, 8, 32u8] {
        let mapping: Vec<u8> = (0..drbs).rev().collect();
        let mut config = packets(u64::from(drbs), vec![ue(&mapping)]);
        config.rlc.limiter =
            LimiterConfig::Fixed(FixedConfig { limit: Limit::Packets(1), overdraw: true });
        let mut bench = Bench::new(&config);
        for flow in 0..u32::from(drbs) {
            bench.send(1_000, flow, 1500, 3);
        }
        for slot in 1..=3 {
            bench.run_to(slot * 10_000);
            for flow in 0..u32::from(drbs) {
                let delivered = bench.log.delivered_by(slot * 10_000, flow);
                assert_eq!(delivered, slot as usize, "{drbs} bearers, flow {flow}, slot {slot}");
            }
        }
    }
}

#[test]
fn qfis_of_one_bearer_share_its_limit_and_others_do_not() {
    // QFIs 0 and 1 to bearer 0, QFI 2 to bearer 1; each may hold two packets.
    let mut config = packets(1, vec![ue(&[0, 0, 1])]);
    config.rlc.limiter =
        LimiterConfig::Fixed(FixedConfig { limit: Limit::Packets(2), overdraw: true });
    let mut bench = Bench::new(&config);
    bench.send(1_000, 0, 1500, 5);
    bench.send(2_000, 1, 1500, 5);
    assert_eq!(bench.stack.backlog_packets(), [0, 8, 2]);
    bench.send(3_000, 2, 1500, 5);
    assert_eq!(bench.stack.backlog_packets(), [0, 11, 4]);
    assert_eq!(bench.log.rlc_peak, 2);
}

#[test]
fn bearers_take_turns_packet_by_packet_and_the_turn_passes_over_the_slot() {
    let mut bench = Bench::new(&packets(4, vec![ue(&[0, 1, 2])]));
    for flow in 0..3 {
        bench.send(1_000 + u64::from(flow), flow, 1500, 8);
    }
    bench.run_to(60_000);
    let in_turn: Vec<u32> = (0..24).map(|i| i % 3).collect();
    assert_eq!(bench.log.flows(), in_turn);
}

#[test]
fn bearers_share_a_slots_bytes_equally_and_one_leaves_what_it_does_not_need() {
    let mut bench = Bench::new(&bytes(3_000, vec![ue(&[0, 1, 2])]));
    for flow in 0..3 {
        bench.send(1_000, flow, 1_000, 4);
    }
    for slot in 1..=4 {
        bench.run_to(slot * 10_000);
        assert_eq!([0, 1, 2].map(|f| bench.log.delivered_by(slot * 10_000, f)), [slot as usize; 3]);
    }
    // 100 B from the first; 2900 B are left, half for each of the others.
    let mut bench = Bench::new(&bytes(3_000, vec![ue(&[0, 1, 2])]));
    bench.send(1_000, 0, 100, 1);
    bench.send(1_000, 1, 1_450, 2);
    bench.send(1_000, 2, 1_450, 2);
    bench.run_to(10_000);
    assert_eq!(bench.log.flows(), [0, 1, 2]);
}

#[test]
fn a_packet_cut_over_slots_is_delivered_with_its_last_byte() {
    let mut bench = Bench::new(&bytes(400, vec![ue(&[0])]));
    bench.send(1_000, 0, 1_500, 1);
    bench.run_to(60_000);
    assert_eq!(bench.log.times_us(), [40_000]);
    // 1500 B in slots 1 and 2, of which 500 B are left for the second packet, whose last byte needs
    // slot 3.
    let mut bench = Bench::new(&bytes(1_000, vec![ue(&[0])]));
    bench.send(1_000, 0, 1_500, 2);
    bench.run_to(60_000);
    assert_eq!(bench.log.times_us(), [20_000, 30_000]);
    // Sizes that end exactly at a grant's end do not need another slot.
    let mut bench = Bench::new(&bytes(1_500, vec![ue(&[0])]));
    bench.send(1_000, 0, 500, 6);
    bench.run_to(60_000);
    assert_eq!(bench.log.times_us(), [10_000, 10_000, 10_000, 20_000, 20_000, 20_000]);
}

#[test]
fn header_bytes_are_paid_once_per_slot_and_bearer() {
    let mut config = bytes(1_003, vec![ue(&[0])]);
    config.mac = in_bytes(3);
    let mut bench = Bench::new(&config);
    bench.send(1_000, 0, 500, 4);
    bench.run_to(60_000);
    assert_eq!(bench.log.times_us(), [10_000, 10_000, 20_000, 20_000]);
}

#[test]
fn a_bearer_that_sends_first_in_a_later_round_of_the_slot_pays_for_its_header_too() {
    // Of 12 B flow 0 may have 4, which its header alone would take; flows 1 and 2 send 1 + 4 B
    // each. Two bytes are left: enough for flow 0's packet, but not with its header.
    let mut config = bytes(12, vec![ue(&[0, 1, 2])]);
    config.mac = in_bytes(4);
    let mut bench = Bench::new(&config);
    for (flow, size) in [(0, 2), (1, 1), (2, 1)] {
        bench.send(1_000, flow, size, 1);
    }
    bench.run_to(20_000);
    assert_eq!(bench.log.flows(), [1, 2, 0]);
    assert_eq!(bench.log.times_us(), [10_000, 10_000, 20_000]);
}

#[test]
fn bearers_under_5g_bdp_are_each_let_have_their_share_of_the_slot_and_waste_nothing() {
    for (unit, per_slot) in [(CapacityUnit::Packets, 12), (CapacityUnit::Bytes, 18_000)] {
        let mut config = cell(per_slot, unit, vec![ue(&[0, 1]), ue(&[0])]);
        config.sdap.poll = poll(1_000, 500);
        config.rlc.limiter = LimiterConfig::Bdp5g(Bdp5gConfig::default());
        let mut bench = Bench::new(&config);
        (0..3).for_each(|flow| bench.send(1_000, flow, 1_500, 2_000));
        let mut most = 0;
        for slot in 1..=300 {
            bench.run_to(slot * 10_000 - 1);
            if slot > 20 {
                most = most.max(bench.stack.backlog_packets()[2]);
            }
        }
        // The allowances may overlap by their offsets and by one SDU each; with reports of the
        // whole cell, each would bring 12 and more.
        assert!(most <= 12 * 133 / 100 + 6, "{unit:?}: {most} packets before a pull");
        let delivered = bench.log.deliveries.len();
        assert!(delivered >= 280 * 12, "{unit:?}: {delivered} of 3588");
        let of_flow = [0, 1, 2].map(|flow| bench.log.delivered_by(3_000_000, flow));
        assert!(of_flow.iter().all(|n| n.abs_diff(delivered / 3) < 60), "{unit:?}: {of_flow:?}");
    }
}

#[test]
fn a_packet_that_no_rule_matches_is_dropped_at_the_upf_with_that_reason() {
    let mut config = packets(4, vec![ue(&[0])]);
    config.ue_mut(0).rules = vec![PacketDetectionRule {
        protocol: Some(Protocol::Udp),
        ..PacketDetectionRule::any(qfi(0))
    }];
    let mut stack = Stack::new(&config).expect("a valid cell");
    let mut log = Log::default();
    let flows = [Protocol::Udp, Protocol::Tcp].map(|protocol| {
        stack.open_flow(0, &FiveTuple { protocol, ..FiveTuple::default() }, Dscp::default())
    });
    for flow in flows {
        stack.input(
            Instant::from_nanos(MS),
            Packet { flow, size: 100, ..Packet::default() },
            &mut log,
        );
    }
    stack.wake(Instant::from_nanos(20 * MS), &mut log);
    stack.assert_conserved();
    assert_eq!(log.drops, [(Layer::Upf, DropReason::NoRule)]);
    assert_eq!(log.flows(), [flows[0]]);
    let expected = Conserved { entered: 2, delivered: 1, dropped: 1, ..Conserved::default() };
    assert_eq!(stack.conserved(), expected);
}

#[test]
fn a_packet_lost_before_the_upf_enters_and_is_dropped_at_once() {
    let mut stack = Stack::new(&packets(4, vec![ue(&[0])])).expect("a valid cell");
    let mut log = Log::default();
    let flow = stack.open_flow(0, &FiveTuple::default(), Dscp::default());
    let packet = Packet { flow, size: 100, ..Packet::default() };
    stack.lose(Instant::from_nanos(MS), packet, &mut log);
    stack.input(Instant::from_nanos(MS), packet, &mut log);
    stack.wake(Instant::from_nanos(20 * MS), &mut log);
    stack.assert_conserved();
    assert_eq!(log.drops, [(Layer::Upf, DropReason::CoreLoss)]);
    let expected = Conserved { entered: 2, delivered: 1, dropped: 1, ..Conserved::default() };
    assert_eq!(stack.conserved(), expected);
}

#[test]
fn ues_with_their_own_channels_share_the_time_of_a_slot() {
    // In packets: 3/10 + 3/5 of the slot are used after three turns each; one tenth is left for the
    // faster UE.
    let mut fast_and_slow = vec![ue(&[0]), ue(&[0])];
    fast_and_slow[0].channel = Some(constant(10));
    fast_and_slow[1].channel = Some(constant(5));
    let mut bench = Bench::new(&packets(10, fast_and_slow));
    bench.send(1_000, 0, 1_500, 50);
    bench.send(1_000, 1, 1_500, 50);
    bench.run_to(10_000);
    assert_eq!(bench.log.flows(), [0, 1, 0, 1, 0, 1, 0]);
    // In bytes: half of the time each is 500 B and 250 B.
    let mut fast_and_slow = vec![ue(&[0]), ue(&[0])];
    fast_and_slow[0].channel = Some(constant(1_000));
    fast_and_slow[1].channel = Some(constant(500));
    let mut bench = Bench::new(&bytes(1_000, fast_and_slow));
    bench.send(1_000, 0, 250, 40);
    bench.send(1_000, 1, 50, 40);
    bench.run_to(40_000);
    assert_eq!([0, 1].map(|f| bench.log.delivered_by(40_000, f)), [8, 20]);
}

#[test]
fn a_ue_out_of_range_leaves_the_slot_to_the_others() {
    for (own, unit, size) in [(4, CapacityUnit::Packets, 1_500), (1_500, CapacityUnit::Bytes, 375)]
    {
        let mut ues = vec![ue(&[0]), ue(&[0])];
        // A channel with capacity in one slot of a thousand, but not in the first.
        let rows = crate::channel::RowsConfig {
            amounts: (0..1_000).map(|i| u64::from(i == 999)).collect(),
            row: crate::channel::RowLength::Slots(1),
            ..Default::default()
        };
        ues[0].channel = Some(ChannelConfig::Rows(rows));
        ues[1].channel = Some(constant(own));
        let mut bench = Bench::new(&cell(own, unit, ues));
        bench.send(1_000, 0, size, 10);
        bench.send(1_000, 1, size, 10);
        bench.run_to(20_000);
        assert_eq!([0, 1].map(|f| bench.log.delivered_by(20_000, f)), [0, 8], "{unit:?}");
    }
}

/// Ten packets per slot, of which the radio takes five, for two simulated seconds.
fn overloaded(pacer: PacerConfig, upf_limit: Limit) -> Bench {
    let mut config = packets(5, vec![ue(&[0])]);
    config.upf.poll = poll(1_000, 100);
    config.upf.queue = QueueConfig::tail_drop(upf_limit);
    config.sdap.poll = poll(1_000, 600);
    config.sdap.pacer = pacer;
    config.rlc.limiter = LimiterConfig::Bdp5g(Bdp5gConfig::default());
    let mut bench = Bench::new(&config);
    for ms in 0..2_000 {
        bench.send(ms * 1_000 + 50, 0, 1_500, 1);
    }
    bench.run_to(2_000_000);
    bench
}

#[test]
fn usp_keeps_bulk_in_the_upf_and_the_radio_busy() {
    let bench = overloaded(PacerConfig::Usp(UspConfig::default()), Limit::Unlimited);
    let [upf, sdap, rlc] = bench.stack.backlog_packets();
    assert!(
        upf > 950 && sdap <= 12 && rlc <= 10,
        "{upf} in the UPF, {sdap} in SDAP, {rlc} in the RLC"
    );
    assert!(bench.log.deliveries.len() >= 985, "{} of 1000 delivered", bench.log.deliveries.len());
    let bench = overloaded(PacerConfig::default(), Limit::Unlimited);
    let [upf, sdap, rlc] = bench.stack.backlog_packets();
    assert!(
        upf <= 1 && sdap > 950 && rlc <= 10,
        "without a pacer the bulk stands in SDAP: {upf}, {sdap}, {rlc}"
    );
}

#[test]
fn backpressure_moves_every_drop_to_the_first_queue_that_is_limited() {
    let bench = overloaded(PacerConfig::Usp(UspConfig::default()), Limit::Packets(100));
    assert!(bench.log.drops.len() > 800, "{} drops", bench.log.drops.len());
    assert!(bench.log.drops.iter().all(|drop| *drop == (Layer::Upf, DropReason::Overflow)));
    // Without backpressure the same load overflows in the RLC.
    let mut config = packets(5, vec![ue(&[0])]);
    config.rlc.queue = QueueConfig::tail_drop(Limit::Packets(31));
    let mut bench = Bench::new(&config);
    bench.send(1_000, 0, 1_500, 100);
    bench.run_to(100_000);
    assert_eq!(bench.log.drops, [(Layer::Rlc, DropReason::Overflow); 69]);
}

#[test]
fn a_bearer_that_is_full_does_not_keep_the_others_from_a_poll() {
    // One packet per poll, with the urgent bearer full: the other's packets must still move down.
    let mut config = packets(1, vec![ue(&[0, 1])]);
    config.sdap.poll = poll(1_000, 500);
    config.sdap.batch = 1;
    config.sdap.scheduler = SdapSchedulerConfig::StrictPriority(StrictPriorityConfig {});
    config.rlc.limiter =
        LimiterConfig::Fixed(FixedConfig { limit: Limit::Packets(1), overdraw: true });
    *config.mac.slot_mut() = poll(10_000, 9_900);
    let mut bench = Bench::new(&config);
    bench.send(100, 0, 1_500, 5);
    bench.send(100, 1, 1_500, 5);
    bench.run_to(5_000);
    assert_eq!(bench.stack.backlog_packets(), [0, 8, 2]);
}

/// The clairvoyant policy in a cell with endless bulk and an occasional urgent packet.
fn assert_clairvoyant_meets_the_bound(config: &StackConfig) {
    let mut bench = Bench::new(config);
    let mut rng = Rng::stream(5, "arrivals");
    bench.send(10, 1, 1_500, 2_000);
    let (mut us, mut urgent) = (10, 0);
    while us < 3_000_000 {
        // Some arrive at the instant of a poll.
        us += 20_000 + rng.below(3_000);
        us = if rng.chance(0.3) { us.next_multiple_of(1_000) } else { us };
        bench.send(us, 0, 200, 1);
        urgent += 1;
    }
    bench.run_to(us + 100_000);
    let of_flow = |flow| bench.log.deliveries.iter().filter(move |d| d.1 == flow);
    let late: Vec<_> = of_flow(0).filter(|(at, _, bound)| Some(*at) != *bound).collect();
    assert!(late.is_empty(), "{} of {urgent} late: {late:?}, {config:?}", late.len());
    assert_eq!(of_flow(0).count(), urgent);
    // 300 slots of four packets; the first may come before there is data.
    let sent = bench.log.delivered_by(3_000_000, 1) + urgent;
    assert!(sent >= 1_190, "{sent} packets, {config:?}");
}

#[test]
fn the_clairvoyant_policy_meets_the_bound_for_urgent_packets_and_fills_every_slot() {
    for (unit, per_slot) in [(CapacityUnit::Packets, 4), (CapacityUnit::Bytes, 6_000)] {
        for tie_order in [TieOrder::TopDown, TieOrder::BottomUp] {
            for (upf_period, upf_phase, sdap_phase) in
                [(0, 0, 700), (1_000, 350, 700), (0, 0, 0), (1_000, 0, 0)]
            {
                let mut config = cell(per_slot, unit, vec![ue(&[0, 0])]);
                config.tie_order = tie_order;
                config.sdap.poll = poll(1_000, sdap_phase);
                config.sdap.scheduler =
                    SdapSchedulerConfig::StrictPriority(StrictPriorityConfig {});
                config.rlc.limiter = LimiterConfig::Clairvoyant(ClairvoyantConfig {});
                if upf_period > 0 {
                    config.upf.poll = poll(upf_period, upf_phase);
                    config.sdap.pacer = PacerConfig::Clairvoyant(ClairvoyantPacerConfig {});
                }
                assert_clairvoyant_meets_the_bound(&config);
            }
        }
    }
}

#[test]
fn polls_rarer_than_pulls_feed_all_pulls_until_the_next_poll() {
    // A poll for every two patterns of three slots, always just before the slot without capacity,
    // so that the next pull alone would say nothing.
    let pattern = || ChannelConfig::Pattern(PatternConfig { bytes: vec![0, 3_000, 1_500] });
    for tie_order in [TieOrder::TopDown, TieOrder::BottomUp] {
        for phase_us in [29_000, 30_000] {
            for own in [false, true] {
                let mut config = bytes(3_000, vec![ue(&[0])]);
                config.channel = if own { constant(7_500) } else { pattern() };
                config.ue_mut(0).channel = own.then(pattern);
                config.tie_order = tie_order;
                config.sdap.poll = poll(60_000, phase_us);
                config.rlc.limiter = LimiterConfig::Clairvoyant(ClairvoyantConfig {});
                let mut bench = Bench::new(&config);
                bench.send(1_000, 0, 1_500, 100);
                bench.run_to(600_000);
                let mut slots: Vec<_> =
                    bench.log.times_us().iter().map(|us| us / 10_000 % 3).collect();
                // Ten polls, the last of which is not over.
                assert_eq!(slots.len(), 57, "{tie_order:?} {phase_us}: {slots:?}");
                slots.sort_unstable();
                assert_eq!(slots, [vec![1; 38], vec![2; 19]].concat(), "two in 1 for one in 2");
            }
        }
    }
}

type Change<'a> = &'a dyn Fn(&mut StackConfig);
