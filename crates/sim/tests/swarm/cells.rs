//! Random cells alone: packets arrive at random instants, and the driver wakes the stack in three
//! ways, whose results must not differ.

use crate::draws::{self, MTU};
use crate::harness::{Reduction, World};
use crate::reductions;
use justfull_base::{DropReason, Dscp, Duration, Event, Instant, Layer, Packet, Probe, Ratio, Rng};
use justfull_queue::{AqmConfig, Limit};
use justfull_ran::channel::{
    AtEnd, Building, CapacityUnit, ChannelConfig, McsConfig, OutdoorToIndoor, RowLength, UmiConfig,
};
use justfull_ran::config::Hold;
use justfull_ran::limiter::LimiterConfig;
use justfull_ran::rlc::mode::AmConfig;
use justfull_ran::{
    CarrierKind, Egress, FiveTuple, HarqConfig, MacConfig, RlcModeConfig, Stack, StackConfig,
    TieOrder,
};
use std::collections::BTreeSet;
use std::fmt;

/// Maximum number of slots after the last arrival, or after an earlier fate, until the next packet
/// meets its fate.
const PATIENCE_SLOTS: u64 = 20_000;

/// The fate of one packet: its instant, its number, and delivery or the layer and reason of the
/// drop.
type Fate = (Instant, u64, Option<(Layer, DropReason)>);

/// Records events, and asserts invariants at every event.
struct Witness {
    fates: Vec<Fate>,
    unit: CapacityUnit,
    /// The MAC leaves no capacity unused while packets wait.
    work_conserving: bool,
    /// Greatest content of an RLC queue under a fixed limiter.
    rlc_limit: Option<Limit>,
    /// PDCP delivers without reordering.
    out_of_order: bool,
    /// Last delivered packet of each flow.
    last_of_flow: Vec<Option<u64>>,
    last_slot: Instant,
    ended: BTreeSet<u64>,
}

/// A queue of the chain has lanes for kinds of codepoints: marks make a flow's packets overtake.
fn splits_flows(config: &StackConfig) -> bool {
    let of_layers = [&config.upf.queue, &config.sdap.queue, &config.rlc.queue];
    let own = config.ues.iter().flat_map(|ue| &ue.qos_flows).filter_map(|f| f.queue.as_deref());
    of_layers.into_iter().chain(own).any(|queue| queue.discipline.splits_flows())
}

impl Witness {
    fn new(config: &StackConfig, flows: usize) -> Self {
        let shared = config.ues.iter().all(|ue| ue.channel.is_none());
        let drops_on_the_way_out = !matches!(config.rlc.queue.aqm, AqmConfig::None(_))
            || config.rlc.queue.discipline.own_aqm().is_some();
        let plain = !drops_on_the_way_out
            && !matches!(&config.mac, MacConfig::Bytes(bytes) if bytes.overhead.0 > 0);
        // The queue also counts packets held for acknowledgements, the limiter does not.
        let rlc_limit = match &config.rlc.limiter {
            LimiterConfig::Fixed(fixed) if config.rlc.hold == Hold::Sent => Some(fixed.limit),
            _ => None,
        };
        // A slot carries nothing to UEs that sleep.
        let always_awake = config.ues.iter().all(|ue| ue.drx.is_none());
        Self {
            fates: Vec::new(),
            unit: config.unit(),
            work_conserving: shared && plain && always_awake && !config.mac.has_rlc(),
            rlc_limit,
            out_of_order: config.mac.carrier().is_some() && config.pdcp.out_of_order
                || splits_flows(config),
            last_of_flow: vec![None; flows],
            last_slot: Instant::ZERO,
            ended: BTreeSet::new(),
        }
    }

    fn end(&mut self, now: Instant, packet: &Packet, drop: Option<(Layer, DropReason)>) {
        assert!(self.ended.insert(packet.id), "packet {} ends twice", packet.id);
        self.fates.push((now, packet.id, drop));
    }
}

impl Probe for Witness {
    fn on_event(&mut self, now: Instant, event: &Event) {
        match *event {
            Event::Dropped { layer, packet, reason } => {
                self.end(now, &packet, Some((layer, reason)))
            }
            Event::Enqueued { layer: Layer::Rlc, backlog_packets, .. } => {
                if let Some(Limit::Packets(most)) = self.rlc_limit {
                    assert!(backlog_packets < most, "a fixed limit of {most} packets was exceeded");
                }
            }
            Event::Slot { capacity, used, rlc_packets, rlc_bytes } => {
                assert!(now >= self.last_slot, "slots go forward");
                self.last_slot = now;
                assert!(used <= capacity, "{used} sent in a slot of {capacity}");
                let backlog = match self.unit {
                    CapacityUnit::Packets => rlc_packets,
                    CapacityUnit::Bytes => rlc_bytes,
                };
                if self.work_conserving {
                    assert_eq!(
                        used,
                        capacity.min(backlog),
                        "capacity {capacity}, backlog {backlog}"
                    );
                }
            }
            _ => {}
        }
    }
}

impl Egress for Witness {
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        let last = &mut self.last_of_flow[packet.flow as usize];
        assert!(
            *last < Some(packet.id) || self.out_of_order,
            "flow {} was reordered: {} after {last:?}",
            packet.flow,
            packet.id
        );
        *last = Some(packet.id);
        assert!(bound.is_none_or(|bound| bound <= now));
        assert_eq!(packet.tracked, bound.is_some(), "the bound is told for tracked packets");
        self.end(now, packet, None);
    }
}

/// One packet on its way to the cell.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Instant,
    packet: Packet,
}

/// The instants at which the driver wakes the stack.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wakes {
    /// At each requested instant.
    Exact,
    /// At no, one or two random instants between two arrivals.
    Erratic,
    /// The stack runs alone until it has delivered a packet or the next packet arrives.
    Alone,
}

struct Outcome {
    fates: Vec<Fate>,
    queued: u64,
    /// Packets that wait in UPF, SDAP and RLC.
    backlog: [u64; 3],
}

/// Runs `arrivals` through the cell and then lets it drain.
fn run(
    config: &StackConfig,
    flows: &[(u32, FiveTuple)],
    arrivals: &[Arrival],
    wakes: Wakes,
) -> Outcome {
    let mut stack = Stack::new(config).expect("a cell that was accepted");
    for (ue, tuple) in flows {
        stack.open_flow(*ue, tuple, Dscp::default());
    }
    let mut witness = Witness::new(config, flows.len());
    let mut rng = Rng::stream(config.seed, "wakes");
    let top_down = config.tie_order == TieOrder::TopDown;
    let mut before = Instant::ZERO;
    for (i, arrival) in arrivals.iter().enumerate() {
        match wakes {
            // From the top down: an arrival comes before the polls of its instant.
            Wakes::Exact => loop {
                let due = stack.next_wake();
                if due > arrival.at || (due == arrival.at && top_down) {
                    break;
                }
                stack.wake(due, &mut witness);
                assert!(stack.next_wake() >= due, "time goes forward");
            },
            Wakes::Alone => {
                while stack.next_wake() < arrival.at {
                    stack.wake_before(stack.next_wake(), arrival.at, &mut witness);
                }
            }
            Wakes::Erratic => {
                for _ in 0..rng.below(3) {
                    let gap = arrival.at.since(before).as_nanos();
                    if gap > 0 {
                        before += Duration::from_nanos(rng.below(gap));
                        stack.wake(before, &mut witness);
                    }
                }
            }
        }
        before = arrival.at;
        stack.input(arrival.at, arrival.packet, &mut witness);
        if i % 64 == 0 {
            stack.assert_conserved();
        }
    }
    // Both kinds of driver stop at the same instant, so both see the same slots.
    let (mut idle_slots, mut ended) = (0, witness.fates.len());
    while stack.conserved().queued > 0 && idle_slots < PATIENCE_SLOTS {
        before += config.mac.slot().period.times(64);
        match wakes {
            Wakes::Erratic | Wakes::Alone => stack.wake(before, &mut witness),
            Wakes::Exact => {
                while stack.next_wake() <= before {
                    let due = stack.next_wake();
                    stack.wake(due, &mut witness);
                }
            }
        }
        stack.assert_conserved();
        idle_slots = if witness.fates.len() == ended { idle_slots + 64 } else { 0 };
        ended = witness.fates.len();
    }
    let conserved = stack.conserved();
    assert_eq!(conserved.entered, arrivals.len() as u64);
    assert_eq!(witness.ended.len() as u64, conserved.delivered + conserved.dropped);
    Outcome { fates: witness.fates, queued: conserved.queued, backlog: stack.backlog_packets() }
}

/// Flows to every QoS flow, several to some, and a flow without a matching rule.
fn flows(rng: &mut Rng, config: &StackConfig) -> Vec<(u32, FiveTuple)> {
    let mut flows = Vec::new();
    for (ue, settings) in (0..).zip(&config.ues) {
        for (port, _) in (0u16..).zip(&settings.qos_flows) {
            for source_port in 0..1 + rng.below(3) as u16 {
                let tuple =
                    FiveTuple { destination_port: port, source_port, ..FiveTuple::default() };
                flows.push((ue, tuple));
            }
        }
    }
    flows.push((0, FiveTuple { destination_port: 999, ..FiveTuple::default() }));
    flows
}

/// Bursts and pauses, some of them exactly at slots.
fn arrivals(rng: &mut Rng, config: &StackConfig, flows: usize) -> Vec<Arrival> {
    let slot = config.mac.slot().period.as_nanos();
    let mean_gap = slot / (1 + rng.below(6));
    let mut ns = 0;
    let mut list = Vec::new();
    // Some cells get enough packets for PDCP's sequence numbers of 12 bits to wrap.
    let number = if rng.chance(0.03) { 6_000 } else { 200 + rng.below(1_200) };
    for _ in 0..number {
        if rng.chance(0.6) {
            ns += rng.below(2 * mean_gap);
        } else if rng.chance(0.02) {
            ns += rng.below(50 * slot);
        } else if rng.chance(0.3) {
            ns = ns.next_multiple_of(slot);
        }
        // The last flow matches no rule; it sends rarely.
        let flow = if rng.chance(0.01) { flows as u64 - 1 } else { rng.below(flows as u64 - 1) };
        let size = if rng.chance(0.5) { MTU } else { 1 + rng.below(MTU) };
        let packet = Packet {
            flow: flow as u32,
            size: size as u32,
            tracked: flow == 0,
            ..Packet::default()
        };
        list.push(Arrival { at: Instant::from_nanos(ns), packet });
    }
    list
}

/// A cell and its arrivals; with `UMTS`, a UMTS cell whose RLC discards SDUs.
#[derive(Clone)]
pub(crate) struct Cell<const UMTS: bool = false> {
    config: StackConfig,
    flows: Vec<(u32, FiveTuple)>,
    arrivals: Vec<Arrival>,
}

impl<const UMTS: bool> fmt::Debug for Cell<UMTS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.arrivals.len();
        let few = &self.arrivals[..number.min(10)];
        write!(f, "{:?} with {number} packets to {} flows: {few:?}", self.config, self.flows.len())
    }
}

/// Keeps the packets for whose number `keep` returns true; returns false if all are kept.
fn keep<const UMTS: bool>(cell: &mut Cell<UMTS>, keep: impl Fn(usize, usize) -> bool) -> bool {
    let before = cell.arrivals.len();
    let mut i = 0;
    cell.arrivals.retain(|_| {
        i += 1;
        keep(i - 1, before)
    });
    cell.arrivals.len() < before
}

impl<const UMTS: bool> World for Cell<UMTS> {
    const KIND: &'static str = if UMTS { "umts" } else { "cells" };

    const REDUCTIONS: &'static [Reduction<Self>] = &[
        ("later-half", |cell| keep(cell, |i, all| i < all / 2)),
        ("earlier-half", |cell| keep(cell, |i, all| i >= all / 2)),
        ("each-second", |cell| keep(cell, |i, _| i % 2 == 0)),
        ("last-tenth", |cell| keep(cell, |i, all| i < all - all / 10)),
        ("last-packet", |cell| keep(cell, |i, all| i + 1 < all)),
        ("first-packet", |cell| keep(cell, |i, _| i > 0)),
        ("pacer", |cell| reductions::pacer(&mut cell.config)),
        ("limiter", |cell| reductions::limiter(&mut cell.config)),
        ("upf-queue", |cell| reductions::upf_queue(&mut cell.config)),
        ("sdap-queue", |cell| reductions::sdap_queue(&mut cell.config)),
        ("rlc-queue", |cell| reductions::rlc_queue(&mut cell.config)),
        ("own-queues", |cell| reductions::own_queues(&mut cell.config)),
        ("drx", |cell| reductions::drx(&mut cell.config)),
        ("own-channels", |cell| reductions::own_channels(&mut cell.config)),
        ("scells", |cell| reductions::scells(&mut cell.config)),
        ("slices", |cell| reductions::slices(&mut cell.config)),
        ("harq", |cell| reductions::harq(&mut cell.config)),
        ("rb-scheduler", |cell| reductions::rb_scheduler(&mut cell.config)),
        ("rlc-mode", |cell| reductions::rlc_mode(&mut cell.config)),
        ("hold", |cell| reductions::hold(&mut cell.config)),
        ("pdcp", |cell| reductions::pdcp(&mut cell.config)),
        ("delays", |cell| reductions::delays(&mut cell.config)),
        ("pattern", |cell| reductions::pattern(&mut cell.config)),
        ("lateness", |cell| reductions::lateness(&mut cell.config)),
        ("sdap-scheduler", |cell| reductions::sdap_scheduler(&mut cell.config)),
        ("batches", |cell| reductions::batches(&mut cell.config)),
        ("tie-order", |cell| reductions::tie_order(&mut cell.config)),
    ];

    fn draw(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "swarm");
        let draw = if UMTS { draws::umts_cell } else { draws::cell };
        let config = draw(&mut rng, seed);
        let flows = flows(&mut rng, &config);
        let arrivals = arrivals(&mut rng, &config, flows.len());
        Self { config, flows, arrivals }
    }

    fn accepted(&self) -> Result<(), String> {
        Stack::new(&self.config).map(drop).map_err(|e| e.to_string())
    }

    fn check(&self) -> u64 {
        let Self { config, flows, arrivals } = self;
        let exact = run(config, flows, arrivals, Wakes::Exact);
        let again = run(config, flows, arrivals, Wakes::Exact);
        assert_eq!(exact.fates, again.fates, "the same cell and load have the same outcome");
        for wakes in [Wakes::Erratic, Wakes::Alone] {
            let other = run(config, flows, arrivals, wakes);
            assert_eq!(exact.fates, other.fates, "{wakes:?} wakes change nothing");
        }
        // In transparent mode a packet larger than every transport block waits for ever. So does a
        // window of AM whose UE receives nothing: each block uses an MCS above the channel's,
        // without retransmissions or with retransmissions that add nothing. A UE in a building may
        // be out of reach until it walks out.
        let own = config.ues.iter().filter_map(|ue| ue.channel.as_ref());
        let mut channels = std::iter::once(&config.channel).chain(own);
        let may_stay = match (&config.mac, &config.rlc.mode) {
            _ if channels.any(ChannelConfig::errors_follow_sinr) => true,
            (MacConfig::Rb(_), RlcModeConfig::Tm(_)) => true,
            (MacConfig::Rb(rb), RlcModeConfig::Am(_)) => {
                let repeats_help = rb.harq.transmissions > 1 && rb.harq.combining.0 < 1.0;
                rb.cqi_delay > 0 && !repeats_help
            }
            _ => false,
        };
        let Outcome { queued, backlog, .. } = exact;
        assert!(
            queued == 0 || may_stay,
            "{queued} packets never left, {backlog:?} of them in UPF, SDAP and RLC"
        );
        let no_rule = arrivals.iter().filter(|a| a.packet.flow as usize == flows.len() - 1).count();
        let refused =
            exact.fates.iter().filter(|f| f.2 == Some((Layer::Upf, DropReason::NoRule))).count();
        assert_eq!(refused, no_rule);
        exact.fates.iter().filter(|fate| fate.2.is_none()).count() as u64
    }
}

/// Cell 5802: the RLC retransmits in step with the channel, whose rows the MAC knows one row late.
/// Each block uses an MCS above the channel's, for ever, and t-PollRetransmit retransmits only the
/// last SDU (TS 38.322 v17 clause 5.3.3.4): the SDU before it meets no fate.
#[test]
fn a_packet_stays_only_if_the_rlc_repeats_in_step_with_the_channel_and_harq_not_at_all() {
    let mcs = McsConfig { mcs: vec![20, 0, 5], row: RowLength::Slots(3), at_end: AtEnd::Loop };
    let stays = |transmissions: u8, repeats_after_us: u64| {
        let mut config = justfull_testkit::cell(1, CapacityUnit::Bytes, Limit::Unlimited);
        let rb = justfull_testkit::rb(&mut config);
        rb.harq = HarqConfig { transmissions, bler: Ratio(0.0), ..HarqConfig::default() };
        rb.cqi_delay = 3;
        config.channel = ChannelConfig::Mcs(mcs.clone());
        let t_poll_retransmit = Duration::from_micros(repeats_after_us);
        config.rlc.mode = RlcModeConfig::Am(AmConfig { t_poll_retransmit, ..AmConfig::default() });
        let packet = Packet { size: 200, ..Packet::default() };
        // The fifth slot has MCS 0; the MAC knows the second slot's.
        let arrivals = vec![Arrival { at: Instant::from_nanos(3_500_000), packet }; 2];
        let flows = vec![(0, FiveTuple::default()); 2];
        let cell = Cell::<false> { config, flows, arrivals };
        cell.check();
        run(&cell.config, &cell.flows, &cell.arrivals, Wakes::Exact).queued
    };
    assert_eq!([stays(1, 8_500), stays(2, 8_500), stays(1, 10_500)], [1, 0, 0]);
}

/// Cell 4174: in a building the signal is 24 dB below the noise, outside 21 dB above: 35 + 12 - 124
/// (1 km) - 45 (the wall and the way inside) + 98 (the noise of 25 blocks, in dBm).
#[test]
fn a_packet_stays_while_its_ue_is_out_of_reach_in_a_building() {
    let stays = |buildings: Vec<Building>| {
        let mut config = justfull_testkit::cell(1, CapacityUnit::Bytes, Limit::Unlimited);
        let rb = justfull_testkit::rb(&mut config);
        (rb.carrier.kind, rb.harq.bler) = (CarrierKind::Nr, Ratio(0.0));
        let (ue, outdoor_to_indoor) = ([1_000.0, 0.0, 1.5], OutdoorToIndoor::High);
        let umi =
            UmiConfig { ue, buildings, outdoor_to_indoor, gnb_gain: 0.0, ..Default::default() };
        config.channel = ChannelConfig::Umi(umi);
        let arrivals =
            vec![Arrival { at: Instant::ZERO, packet: Packet { size: 200, ..Packet::default() } }];
        let cell = Cell::<false> { config, flows: vec![(0, FiveTuple::default()); 2], arrivals };
        cell.check();
        run(&cell.config, &cell.flows, &cell.arrivals, Wakes::Exact).queued
    };
    let around = Building { x: [990.0, 1_010.0], y: [-10.0, 10.0], height: 6.0 };
    assert_eq!([stays(vec![around]), stays(Vec::new())], [1, 0]);
}
