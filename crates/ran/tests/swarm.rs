//! Swarm: random cells under random loads, with every assertion on.
//!
//! A failure prints the seed of its world; `JUSTFULL_SWARM_SEED=n cargo test -p justfull-ran --test swarm` runs that
//! world alone, and `JUSTFULL_SWARM_WORLDS=n` runs the first n.

use justfull_base::{
    Bytes, DropReason, Dscp, Duration, Event, Instant, Lateness, Layer, Packet, Probe, Qfi, Ratio, Rng,
};
use justfull_phy::CqiToMcs;
use justfull_queue::{AqmConfig, DisciplineConfig, Limit, QueueConfig, aqm, discipline};
use justfull_ran::channel::{
    AtEnd, CapacityUnit, ChannelConfig, ConstantConfig, CqiRowsConfig, Fit, MarkovConfig, McsConfig,
    PatternConfig, RowLength, RowsConfig,
};
use justfull_ran::config::{Phase, Skew};
use justfull_ran::limiter::{
    Bdp5gConfig, ClairvoyantConfig, DqlConfig, DrqlConfig, DynRlcConfig, EBdp5gConfig, FixedConfig,
    LastPollConfig, LimiterConfig,
};
use justfull_ran::pacer::{ClairvoyantPacerConfig, PacerConfig, UspConfig, UspVariant};
use justfull_ran::rb_scheduler::{
    EqpConfig, EqpInflation, FixedPartitionConfig, ProportionalFairConfig, RbSchedulerConfig,
};
use justfull_ran::rlc::RlcModeConfig;
use justfull_ran::rlc::mode::{AmConfig, Generation, UmConfig};
use justfull_ran::scheduler::{
    DrrConfig, FifoConfig, RoundRobinConfig, SdapSchedulerConfig, StrictPriorityConfig,
};
use justfull_ran::{
    AllocationType, CarrierConfig, CarrierKind, Egress, FiveTuple, HarqConfig, MacConfig,
    PacketDetectionRule, PdcpConfig, PollConfig, QosFlowConfig, RlcConfig, SdapConfig, Stack, StackConfig,
    TieOrder, UeConfig, UpfConfig,
};
use std::collections::BTreeSet;

const WORLDS: u64 = 200;
const MTU: u64 = 1500;
/// Slots after the last arrival in one of which some packet must have met its fate, until all have.
const PATIENCE_SLOTS: u64 = 20_000;

/// The seeds to run: all, or the one that the environment asks for.
fn seeds() -> Vec<u64> {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    match number("JUSTFULL_SWARM_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("JUSTFULL_SWARM_WORLDS").unwrap_or(WORLDS)).collect(),
    }
}

/// Names the world when its thread panics.
struct Named(u64, String);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("world {} failed (JUSTFULL_SWARM_SEED={} runs it alone): {}", self.0, self.0, self.1);
        }
    }
}

/// One fate of one packet: when, which, delivered or where and why dropped.
type Fate = (Instant, u64, Option<(Layer, DropReason)>);

/// Writes down what happens, and asserts what holds at every event.
struct Witness {
    fates: Vec<Fate>,
    unit: CapacityUnit,
    /// The MAC leaves nothing unused while there is something to send.
    work_conserving: bool,
    /// Most that an RLC queue may hold under a fixed limiter.
    rlc_limit: Option<Limit>,
    /// Last packet of each flow that was delivered.
    last_of_flow: Vec<Option<u64>>,
    last_slot: Instant,
    ended: BTreeSet<u64>,
}

impl Witness {
    fn new(config: &StackConfig, flows: usize) -> Self {
        let shared = config.ues.iter().all(|ue| ue.channel.is_none());
        let drops_on_the_way_out = !matches!(config.rlc.queue.aqm, AqmConfig::None(_))
            || matches!(config.rlc.queue.discipline, DisciplineConfig::FqCoDel(_));
        let plain = !drops_on_the_way_out && config.mac.overhead.0 == 0;
        let rlc_limit = match &config.rlc.limiter {
            LimiterConfig::Fixed(fixed) => Some(fixed.limit),
            _ => None,
        };
        Self {
            fates: Vec::new(),
            unit: config.channel.unit(),
            work_conserving: shared && plain && config.mac.carrier.is_none(),
            rlc_limit,
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
            Event::Dropped { layer, packet, reason } => self.end(now, &packet, Some((layer, reason))),
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
                    assert_eq!(used, capacity.min(backlog), "capacity {capacity}, backlog {backlog}");
                }
            }
            _ => {}
        }
    }
}

impl Egress for Witness {
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        let last = &mut self.last_of_flow[packet.flow as usize];
        assert!(*last < Some(packet.id), "flow {} was reordered: {} after {last:?}", packet.flow, packet.id);
        *last = Some(packet.id);
        assert!(bound.is_none_or(|bound| bound <= now));
        assert_eq!(packet.tracked, bound.is_some(), "the bound is told for tracked packets");
        self.end(now, packet, None);
    }
}

/// One packet on its way to the cell.
#[derive(Clone, Copy)]
struct Arrival {
    at: Instant,
    packet: Packet,
}

/// How the driver keeps to the instants that the stack asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wakes {
    /// At each of them.
    Exact,
    /// Early, late, several at once or not at all, between arrivals.
    Erratic,
    /// The stack runs alone until it has delivered something or the next packet arrives.
    Alone,
}

struct Outcome {
    fates: Vec<Fate>,
    queued: u64,
}

/// Runs `arrivals` through the cell and then lets it drain.
fn run(config: &StackConfig, flows: &[(u32, FiveTuple)], arrivals: &[Arrival], wakes: Wakes) -> Outcome {
    let mut stack = Stack::new(config).expect("the swarm draws valid cells");
    for (ue, tuple) in flows {
        stack.open_flow(*ue, tuple, Dscp::default());
    }
    let mut witness = Witness::new(config, flows.len());
    let mut rng = Rng::stream(config.seed, "wakes");
    let top_down = config.tie_order == TieOrder::TopDown;
    let mut before = Instant::ZERO;
    for (i, arrival) in arrivals.iter().enumerate() {
        match wakes {
            // Top-down, an arrival comes before the polls of its instant.
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
    // Both kinds of driver stop at the same instant, so that both see the same slots.
    let (mut idle_slots, mut ended) = (0, witness.fates.len());
    while stack.conserved().queued > 0 && idle_slots < PATIENCE_SLOTS {
        before += config.mac.slot.period.times(64);
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
    if stack.conserved().queued > 0 {
        eprintln!("LEFT {:?} {:?}", stack.backlog_packets(), stack.conserved());
    }
    let conserved = stack.conserved();
    assert_eq!(conserved.entered, arrivals.len() as u64);
    assert_eq!(witness.ended.len() as u64, conserved.delivered + conserved.dropped);
    Outcome { fates: witness.fates, queued: conserved.queued }
}

fn pick<T: Clone>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize].clone()
}

fn micros(rng: &mut Rng, least: u64, most: u64) -> Duration {
    Duration::from_micros(least + rng.below(most - least + 1))
}

/// A poll at least four times a slot, or at once where `or_at_once`.
fn poll(rng: &mut Rng, slot: Duration, or_at_once: bool) -> PollConfig {
    if or_at_once && rng.chance(0.3) {
        return PollConfig::default();
    }
    let period = Duration::from_nanos(slot.as_nanos() / (4 + rng.below(12)));
    with_law(rng, period, 0.3)
}

fn with_law(rng: &mut Rng, period: Duration, most_missed: f64) -> PollConfig {
    let law = match rng.below(3) {
        0 => Lateness::Exact,
        1 => Lateness::Uniform { max: Duration::from_nanos(rng.below(period.as_nanos() + 1)) },
        _ => Lateness::Missed { probability: Ratio(rng.unit() * most_missed) },
    };
    // Aligned polls meet at the same instants, which is where the order of layers matters.
    if rng.chance(0.4) {
        return PollConfig {
            period,
            phase: Phase::Fixed(Duration::ZERO),
            skew: Skew::Ppm(0.0),
            lateness: law,
        };
    }
    PollConfig { lateness: law, ..PollConfig::every(period) }
}

fn queue(rng: &mut Rng, unlimited: bool) -> QueueConfig {
    let limit = match rng.below(3) {
        _ if unlimited => Limit::Unlimited,
        0 => Limit::Unlimited,
        1 => Limit::Packets(1 + rng.below(200) as u32),
        _ => Limit::Bytes(MTU + rng.below(300_000)),
    };
    if rng.chance(0.2) {
        let (target, interval) = (micros(rng, 100, 20_000), micros(rng, 20_000, 200_000));
        let quantum = Bytes(256 + rng.below(3_000));
        let lanes = 1 + rng.below(64) as u16;
        let config = discipline::fq_codel::Config { lanes, quantum, target, interval, ..Default::default() };
        let discipline = DisciplineConfig::FqCoDel(config);
        return QueueConfig { limit, discipline, ..QueueConfig::default() };
    }
    let aqm = if rng.chance(0.4) {
        let (target, interval) = (micros(rng, 100, 20_000), micros(rng, 20_000, 200_000));
        AqmConfig::CoDel(aqm::codel::Config { target, interval, ..aqm::codel::Config::default() })
    } else {
        AqmConfig::default()
    };
    let discipline = if rng.chance(0.4) {
        let perturb = if rng.chance(0.3) { Duration::ZERO } else { micros(rng, 1_000, 300_000) };
        let lanes = 1 + rng.below(64) as u16;
        DisciplineConfig::Sfq(discipline::sfq::Config {
            lanes,
            perturb,
            ..discipline::sfq::Config::default()
        })
    } else {
        DisciplineConfig::default()
    };
    QueueConfig { limit, aqm, discipline }
}

/// A channel that carries something in most stretches of a hundred slots, and nothing in some slots.
fn channel(rng: &mut Rng, unit: CapacityUnit, slot: Duration) -> ChannelConfig {
    let at_end = pick(rng, &[AtEnd::Hold, AtEnd::Loop]);
    let row = if rng.chance(0.5) {
        RowLength::Slots(1 + rng.below(20) as u32)
    } else {
        RowLength::Time(slot.times(1 + rng.below(20)))
    };
    let mut amounts: Vec<u64> = (0..10).map(|_| rng.below(9).saturating_sub(1)).collect();
    amounts.push(3);
    match (rng.below(5), unit) {
        (0, CapacityUnit::Packets) => {
            ChannelConfig::Constant(ConstantConfig { per_slot: 1 + rng.below(12), unit })
        }
        (0, CapacityUnit::Bytes) => {
            ChannelConfig::Constant(ConstantConfig { per_slot: 40 + rng.below(9_000), unit })
        }
        (1, CapacityUnit::Bytes) => {
            let bytes = amounts.iter().map(|n| n * (1 + rng.below(1_500))).collect();
            ChannelConfig::Pattern(PatternConfig { bytes })
        }
        (2, _) => {
            let cqi = amounts.iter().map(|n| *n as u8).collect();
            let map = pick(rng, &[CqiToMcs::Tmc, CqiToMcs::Oai, CqiToMcs::NrTable1]);
            ChannelConfig::CqiRows(CqiRowsConfig {
                cqi,
                row,
                at_end,
                map,
                unit,
                interval: slot,
                ..CqiRowsConfig::default()
            })
        }
        (3, _) => {
            let fit = pick(rng, &[Fit::PedestrianLike, Fit::TrainLike]);
            let step = slot.times(1 + rng.below(10));
            ChannelConfig::Markov(MarkovConfig { fit, step, unit, interval: slot, ..MarkovConfig::default() })
        }
        _ => {
            let packet_bytes = Bytes(40 + rng.below(MTU - 39));
            ChannelConfig::Rows(RowsConfig { amounts, row, interval: slot, at_end, packet_bytes, unit })
        }
    }
}

fn limiter(rng: &mut Rng, one_bearer: bool) -> LimiterConfig {
    match rng.below(if one_bearer { 9 } else { 8 }) {
        0 => LimiterConfig::default(),
        1 => {
            let limit =
                pick(rng, &[Limit::Packets(1), Limit::Packets(7), Limit::Bytes(10), Limit::Bytes(20_000)]);
            LimiterConfig::Fixed(FixedConfig { limit, overdraw: true })
        }
        2 => {
            let interval = micros(rng, 1_000, 100_000);
            let target = micros(rng, 500, 20_000);
            let clamp_max = rng.chance(0.7);
            LimiterConfig::DynRlc(DynRlcConfig { interval, target, clamp_max, ..DynRlcConfig::default() })
        }
        3 => {
            let start = 1 + rng.below(1_024) as u32;
            let hold = pick(rng, &[Duration::ZERO, Duration::from_millis(50)]);
            LimiterConfig::Drql(DrqlConfig { start, hold, ..DrqlConfig::default() })
        }
        4 => {
            let (floor, clamp) = pick(rng, &[(0, true), (1, false)]);
            let offset = Ratio(0.2 + 0.7 * rng.unit());
            LimiterConfig::Bdp5g(Bdp5gConfig { floor, clamp, offset, ..Bdp5gConfig::default() })
        }
        5 => {
            let (min, max) = pick(rng, &[(0, 1 << 30), (3_000, 20_000)]);
            let hold = pick(rng, &[Duration::from_secs(1), Duration::from_millis(20)]);
            LimiterConfig::Dql(DqlConfig { hold, min: Bytes(min), max: Bytes(max) })
        }
        6 => LimiterConfig::EBdp5g(EBdp5gConfig {
            reduce: Ratio(0.1 + 0.9 * rng.unit()),
            ewma_old: [0.4 * rng.unit(), 0.2 * rng.unit(), 0.2 * rng.unit()],
            ..EBdp5gConfig::default()
        }),
        7 => LimiterConfig::LastPoll(LastPollConfig {
            risk: Ratio(0.05 * rng.unit()),
            ..LastPollConfig::default()
        }),
        _ => LimiterConfig::Clairvoyant(ClairvoyantConfig {}),
    }
}

fn pacer(rng: &mut Rng, one_bearer: bool) -> PacerConfig {
    match rng.below(if one_bearer { 4 } else { 3 }) {
        0 => PacerConfig::default(),
        1 => PacerConfig::Usp(UspConfig::default()),
        2 => {
            let (min, slack) = (1 + rng.below(4) as u32, rng.below(6) as u32);
            PacerConfig::Usp(UspConfig { variant: UspVariant::Released, min, max: 64, slack })
        }
        _ => PacerConfig::Clairvoyant(ClairvoyantPacerConfig {}),
    }
}

fn scheduler(rng: &mut Rng) -> SdapSchedulerConfig {
    match rng.below(4) {
        0 => SdapSchedulerConfig::Fifo(FifoConfig {}),
        1 => SdapSchedulerConfig::RoundRobin(RoundRobinConfig {}),
        2 => SdapSchedulerConfig::StrictPriority(StrictPriorityConfig {}),
        _ => SdapSchedulerConfig::Drr(DrrConfig { quantum: Bytes(64 + rng.below(3_000)) }),
    }
}

fn ue(rng: &mut Rng, drbs: u8, own_channel: Option<ChannelConfig>, bare: bool) -> UeConfig {
    let flows = 1 + rng.below(if bare { 4 } else { 10 }) as u8;
    let qos_flow = |i| QosFlowConfig {
        qfi: Qfi::new(63 - i).expect("below 64"),
        drb: rng.below(u64::from(drbs)) as u8,
        priority: rng.below(3) as u8,
        weight: 1 + rng.below(4) as u32,
        queue: rng.chance(0.2).then(|| Box::new(queue(rng, bare))),
    };
    let qos_flows: Vec<QosFlowConfig> = (0..flows).map(qos_flow).collect();
    let rules = qos_flows.iter().zip(0u16..).map(|(flow, i)| PacketDetectionRule {
        destination_port: Some(i),
        ..PacketDetectionRule::any(flow.qfi)
    });
    UeConfig { drbs, rules: rules.collect(), qos_flows, channel: own_channel, slice: 0 }
}

fn cell(rng: &mut Rng, seed: u64) -> StackConfig {
    let slot = pick(rng, &[125, 500, 1_000, 1_000, 10_000]);
    let slot = Duration::from_micros(slot);
    let unit = pick(rng, &[CapacityUnit::Packets, CapacityUnit::Bytes]);
    let one_bearer = rng.chance(0.4);
    let ues = if one_bearer { 1 } else { 1 + rng.below(4) };
    let own_channels = rng.chance(0.3);
    let limiter = limiter(rng, one_bearer);
    let pacer = pacer(rng, one_bearer);
    let foresees = matches!(pacer, PacerConfig::Clairvoyant(_));
    let opens_with_time = matches!(
        limiter,
        LimiterConfig::Bdp5g(_)
            | LimiterConfig::EBdp5g(_)
            | LimiterConfig::LastPoll(_)
            | LimiterConfig::Clairvoyant(_)
    );
    let paces = foresees || opens_with_time;
    let paced = !matches!(pacer, PacerConfig::Unpaced(_));
    let bare = rng.chance(0.5);
    StackConfig {
        upf: UpfConfig {
            poll: poll(rng, slot, !paced),
            batch: pick(rng, &[u32::MAX, 1, 7]),
            queue: queue(rng, bare),
        },
        sdap: SdapConfig {
            poll: poll(rng, slot, !paces),
            batch: pick(rng, &[u32::MAX, 1, 10]),
            queue: queue(rng, bare),
            scheduler: scheduler(rng),
            pacer,
        },
        rlc: RlcConfig { queue: queue(rng, bare), limiter, ..RlcConfig::default() },
        mac: MacConfig {
            slot: with_law(rng, slot, 0.2),
            overhead: Bytes(pick(rng, &[0, 0, 3])),
            ..MacConfig::default()
        },
        channel: channel(rng, unit, slot),
        pdcp: PdcpConfig::default(),
        slices: Vec::new(),
        ues: (0..ues)
            .map(|_| {
                let own = own_channels && rng.chance(0.7);
                let own = own.then(|| channel(rng, unit, slot));
                let drbs = if one_bearer { 1 } else { 1 + pick(rng, &[0, 2, 7, 31]) };
                ue(rng, drbs, own, bare)
            })
            .map(Into::into)
            .collect(),
        tie_order: pick(rng, &[TieOrder::TopDown, TieOrder::BottomUp]),
        mtu: MTU as u32,
        seed,
        assert_bound: true,
    }
}

/// Some cells in bytes deal in resource blocks instead: carrier, scheduler, slices, HARQ, modes of RLC and old reports by chance.
fn in_blocks(rng: &mut Rng, mut config: StackConfig) -> StackConfig {
    let lte = rng.chance(0.5);
    let slot = if lte { 1_000 } else { pick(rng, &[125, 250, 500, 1_000]) };
    config.mac.slot = with_law(rng, Duration::from_micros(slot), 0.2);
    let n_prb = 6 + rng.below(if lte { 95 } else { 268 }) as u16;
    let tables = if lte { 2 } else { 3 };
    config.mac.carrier = Some(CarrierConfig {
        kind: if lte { CarrierKind::Lte } else { CarrierKind::Nr },
        n_prb,
        mcs_table: 1 + rng.below(tables) as u8,
        layers: if lte { 1 } else { 1 + rng.below(4) as u8 },
        allocation: pick(rng, &[AllocationType::Type0, AllocationType::Type0Config2, AllocationType::Type1]),
        offered: pick(rng, &[vec![], vec![n_prb, n_prb / 2, 0], vec![n_prb - 1, n_prb]]),
        tdd: pick(rng, if lte { &["", "DDU"] } else { &["", "DDDSU", "DSUUU"] }).into(),
        ..CarrierConfig::default()
    });
    config.mac.harq = HarqConfig {
        bler: Ratio(pick(rng, &[0.0, 0.1, 0.6])),
        combining: Ratio(pick(rng, &[0.1, 1.0])),
        round_trip: 1 + rng.below(16) as u8,
        transmissions: 1 + rng.below(4) as u8,
    };
    config.mac.cqi_delay = pick(rng, &[0, 0, 1, 40]);
    config.mac.status_delay = micros(rng, 0, 20_000);
    config.mac.scheduler = rb_scheduler(rng);
    config.rlc.mode = rlc_mode(rng);
    config.slices =
        pick(rng, &[vec![], vec![Ratio(0.25), Ratio(0.75)], vec![Ratio(0.3), Ratio(0.3), Ratio(0.3)]]);
    let mcs = |rng: &mut Rng| {
        let mcs = (0..1 + rng.below(4)).map(|_| rng.below(28) as u8).collect();
        ChannelConfig::Mcs(McsConfig {
            mcs,
            row: RowLength::Slots(1 + rng.below(90) as u32),
            at_end: AtEnd::Loop,
        })
    };
    config.channel = mcs(rng);
    for index in 0..config.ues.len() {
        let slices = config.slices.len().max(1) as u64;
        let ue = config.ue_mut(index);
        ue.slice = rng.below(slices) as u16;
        ue.channel = rng.chance(0.4).then(|| mcs(rng));
    }
    config
}

fn rb_scheduler(rng: &mut Rng) -> RbSchedulerConfig {
    let inflation = pick(rng, &[EqpInflation::Added, EqpInflation::Clamped]);
    let quantum_limit = 1 + rng.below(300) as u32;
    pick(
        rng,
        &[
            RbSchedulerConfig::default(),
            RbSchedulerConfig::FixedPartition(FixedPartitionConfig::default()),
            RbSchedulerConfig::ProportionalFair(ProportionalFairConfig::default()),
            RbSchedulerConfig::Eqp(EqpConfig { quantum_limit, inflation, ..EqpConfig::default() }),
        ],
    )
}

fn rlc_mode(rng: &mut Rng) -> RlcModeConfig {
    let generation = pick(rng, &[Generation::Nr, Generation::Lte]);
    let nr = generation == Generation::Nr;
    let t_reassembly = micros(rng, 0, 100_000);
    if rng.chance(0.5) {
        let sn_bits = pick(rng, if nr { &[6, 12] } else { &[5, 10] });
        return RlcModeConfig::Um(UmConfig { generation, sn_bits, t_reassembly });
    }
    RlcModeConfig::Am(AmConfig {
        generation,
        sn_bits: if nr { pick(rng, &[12, 18]) } else { 10 },
        t_reassembly,
        t_status_prohibit: micros(rng, 0, 30_000),
        t_poll_retransmit: micros(rng, 1_000, 100_000),
        poll_pdu: rng.below(40) as u32,
        max_retx_threshold: 32,
        ..AmConfig::default()
    })
}

/// Flows to every QoS flow, several to some, and one that no rule matches.
fn flows(rng: &mut Rng, config: &StackConfig) -> Vec<(u32, FiveTuple)> {
    let mut flows = Vec::new();
    for (ue, settings) in (0..).zip(&config.ues) {
        for (port, _) in (0u16..).zip(&settings.qos_flows) {
            for source_port in 0..1 + rng.below(3) as u16 {
                let tuple = FiveTuple { destination_port: port, source_port, ..FiveTuple::default() };
                flows.push((ue, tuple));
            }
        }
    }
    flows.push((0, FiveTuple { destination_port: 999, ..FiveTuple::default() }));
    flows
}

/// Bursts and pauses, some of them exactly on the slots.
fn arrivals(rng: &mut Rng, config: &StackConfig, flows: usize) -> Vec<Arrival> {
    let slot = config.mac.slot.period.as_nanos();
    let mean_gap = slot / (1 + rng.below(6));
    let mut ns = 0;
    let mut list = Vec::new();
    for _ in 0..200 + rng.below(1_200) {
        if rng.chance(0.6) {
            ns += rng.below(2 * mean_gap);
        } else if rng.chance(0.02) {
            ns += rng.below(50 * slot);
        } else if rng.chance(0.3) {
            ns = ns.next_multiple_of(slot);
        }
        // The last flow matches no rule; it sends seldom.
        let flow = if rng.chance(0.01) { flows as u64 - 1 } else { rng.below(flows as u64 - 1) };
        let size = if rng.chance(0.5) { MTU } else { 1 + rng.below(MTU) };
        let packet = Packet { flow: flow as u32, size: size as u32, tracked: flow == 0, ..Packet::default() };
        list.push(Arrival { at: Instant::from_nanos(ns), packet });
    }
    list
}

#[test]
fn random_cells_conserve_packets_keep_order_and_never_beat_the_bound() {
    for seed in seeds() {
        let mut rng = Rng::stream(seed, "swarm");
        let mut config = cell(&mut rng, seed);
        if config.channel.unit() == CapacityUnit::Bytes && rng.chance(0.6) {
            config = in_blocks(&mut rng, config);
        }
        let _named = Named(seed, format!("{config:?}"));
        let flows = flows(&mut rng, &config);
        let arrivals = arrivals(&mut rng, &config, flows.len());
        let exact = run(&config, &flows, &arrivals, Wakes::Exact);
        let again = run(&config, &flows, &arrivals, Wakes::Exact);
        assert_eq!(exact.fates, again.fates, "the same cell and load have the same outcome");
        for wakes in [Wakes::Erratic, Wakes::Alone] {
            let other = run(&config, &flows, &arrivals, wakes);
            assert_eq!(exact.fates, other.fates, "{wakes:?} wakes change nothing");
        }
        assert_eq!(exact.queued, 0, "every queue runs empty in the end");
        let no_rule = arrivals.iter().filter(|a| a.packet.flow as usize == flows.len() - 1).count();
        let refused = exact.fates.iter().filter(|f| f.2 == Some((Layer::Upf, DropReason::NoRule))).count();
        assert_eq!(refused, no_rule);
    }
}
