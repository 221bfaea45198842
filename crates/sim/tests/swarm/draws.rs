//! Random settings for worlds: every method and every MAC.

use crate::aqms;
use justfull_base::{Bytes, Duration, Lateness, Qfi, Ratio, Rng};
use justfull_phy::CqiToMcs;
use justfull_queue::aqm::codel::Variant;
use justfull_queue::discipline::dual_queue::DualQueueConfig;
use justfull_queue::discipline::fq_codel::Turns;
use justfull_queue::discipline::lanes::LanesConfig;
use justfull_queue::discipline::sfq::{Overflow, Quantum};
use justfull_queue::{DisciplineConfig, Ect1, Limit, QueueConfig, discipline};
use justfull_ran::channel::{
    AtEnd, Building, CapacityUnit, ChannelConfig, ConstantConfig, CqiRowsConfig, Fit, MarkovConfig,
    McsConfig, OutdoorToIndoor, PatternConfig, RowLength, RowsConfig, UmiConfig,
};
use justfull_ran::config::{Hold, Phase, Skew};
use justfull_ran::limiter::{
    AnyLimiter, Bdp5gConfig, DqlConfig, DrqlConfig, DynRlcConfig, EBdp5gClock, EBdp5gConfig,
    FixedConfig, GrantContext, HedgeConfig, LastPollConfig, Limiter, LimiterConfig,
};
use justfull_ran::pacer::{PacerConfig, UspConfig, UspVariant};
use justfull_ran::rb_scheduler::{
    EqpBlocks, EqpConfig, EqpCredit, EqpInflation, ProportionalFairConfig, RbSchedulerConfig,
};
use justfull_ran::rlc::RlcModeConfig;
use justfull_ran::rlc::mode::{AmConfig, Generation, TmConfig, UmConfig};
use justfull_ran::scheduler::{DrrConfig, SdapSchedulerConfig};
use justfull_ran::{
    AllocationType, BytesConfig, CarrierConfig, CarrierKind, DchConfig, DrxConfig, HarqConfig,
    HsdpaConfig, MacConfig, PacketDetectionRule, PacketsConfig, PdcpConfig, PollConfig,
    QosFlowConfig, RbConfig, RlcConfig, ScellConfig, SdapConfig, StackConfig, TieOrder, UeConfig,
    UpfConfig,
};

/// Largest packet of a cell.
pub(crate) const MTU: u64 = 1500;

/// One of `choices`.
pub(crate) fn pick<T: Clone>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize].clone()
}

/// One of the kinds in `all` that `fits`.
pub(crate) fn kind<C>(rng: &mut Rng, mut all: Vec<C>, fits: impl Fn(&C) -> bool) -> C {
    all.retain(fits);
    all.swap_remove(rng.below(all.len() as u64) as usize)
}

/// From `least` to `most` microseconds.
pub(crate) fn micros(rng: &mut Rng, least: u64, most: u64) -> Duration {
    Duration::from_micros(least + rng.below(most - least + 1))
}

/// A poll at least four times per slot, or at once if `or_at_once`.
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
    // Aligned polls meet at the same instants, where the order of layers matters.
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

/// A queue; `is_told` if the layer below reports its rate.
fn queue(rng: &mut Rng, unlimited: bool, is_told: bool) -> QueueConfig {
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
        let (ecn, drop_batch) = (rng.chance(0.5), 1 + rng.below(64) as u32);
        let ce_threshold =
            if ecn && rng.chance(0.3) { micros(rng, 100, 10_000) } else { Duration::ZERO };
        let l4s_threshold =
            if ecn && rng.chance(0.3) { micros(rng, 100, 10_000) } else { Duration::ZERO };
        let (reserve, ceiling, memory) = aqms::reserve(rng, target, Variant::Rfc8289);
        let (deadline, dip, spacing) = aqms::deadline(rng, target, Variant::Rfc8289);
        let discipline = DisciplineConfig::FqCoDel(discipline::fq_codel::FqCoDelConfig {
            lanes,
            quantum,
            drop_batch,
            target,
            interval,
            ecn,
            ce_threshold,
            l4s_threshold,
            reserve,
            ceiling,
            memory,
            deadline,
            dip,
            spacing,
            turns: pick(rng, &Turns::ALL),
            ways: 1 + (lanes % 16) as u8,
        });
        return QueueConfig { limit, discipline, ..QueueConfig::default() };
    }
    let aqm = aqms::aqm(rng, is_told);
    let fits = |discipline: &DisciplineConfig| {
        let (aqm, discipline) = (aqm.clone(), discipline.clone());
        QueueConfig { aqm, discipline, ..QueueConfig::default() }.validate().is_ok()
    };
    let discipline = match kind(rng, DisciplineConfig::all(), fits) {
        DisciplineConfig::Sfq(_) => DisciplineConfig::Sfq(sfq(rng)),
        DisciplineConfig::DualQueue(base) => {
            let (classic, l4s) = (rng.below(20) as u8, 1 + rng.below(90) as u8);
            DisciplineConfig::DualQueue(DualQueueConfig { classic, l4s, ..base })
        }
        DisciplineConfig::Lanes(base) => {
            let (lanes, urgent) = (1 + rng.below(64) as u16, rng.next_u64());
            let ecn = rng.chance(0.5);
            DisciplineConfig::Lanes(LanesConfig { lanes, urgent, ecn, ..base })
        }
        other => other,
    };
    let ect1 = if rng.chance(0.8) { Ect1::L4s } else { Ect1::Classic };
    QueueConfig { limit, aqm, discipline, ect1 }
}

fn sfq(rng: &mut Rng) -> discipline::sfq::SfqConfig {
    discipline::sfq::SfqConfig {
        lanes: 1 + rng.below(64) as u16,
        perturb: if rng.chance(0.3) { Duration::ZERO } else { micros(rng, 1_000, 300_000) },
        quantum: if rng.chance(0.5) {
            Quantum::Packet
        } else {
            Quantum::Bytes(Bytes(256 + rng.below(3_000)))
        },
        overflow: pick(rng, &[Overflow::LongestLane, Overflow::Arriving]),
        lane_limit: pick(
            rng,
            &[Limit::Unlimited, Limit::Unlimited, Limit::Packets(20), Limit::Bytes(30_000)],
        ),
    }
}

/// A channel with capacity in most runs of a hundred slots, and without capacity in some slots.
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
            ChannelConfig::Constant(ConstantConfig { per_slot: 1 + rng.below(12) })
        }
        (0, CapacityUnit::Bytes) => {
            ChannelConfig::Constant(ConstantConfig { per_slot: 40 + rng.below(9_000) })
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
                interval: slot,
                ..CqiRowsConfig::default()
            })
        }
        (3, _) => {
            let fit = pick(rng, &[Fit::PedestrianLike, Fit::TrainLike]);
            let step = slot.times(1 + rng.below(10));
            ChannelConfig::Markov(MarkovConfig {
                fit,
                step,
                interval: slot,
                ..MarkovConfig::default()
            })
        }
        _ => {
            let packet_bytes = Bytes(40 + rng.below(MTU - 39));
            ChannelConfig::Rows(RowsConfig { amounts, row, interval: slot, at_end, packet_bytes })
        }
    }
}

fn any_limiter(config: &LimiterConfig) -> AnyLimiter {
    let slot = Duration::from_millis(1);
    let context = GrantContext { unit: CapacityUnit::Bytes, slot, mtu: MTU as u32 };
    AnyLimiter::new(config, &context).expect("the settings are in bounds")
}

/// A limiter of any kind; kinds that need the grants only if there is one bearer. Kinds not named
/// here have their defaults.
fn limiter(rng: &mut Rng, one_bearer: bool) -> LimiterConfig {
    let for_cell = |config: &LimiterConfig| one_bearer || !any_limiter(config).wants_forecast();
    match kind(rng, LimiterConfig::all(), for_cell) {
        LimiterConfig::Fixed(_) => {
            let limit = pick(
                rng,
                &[Limit::Packets(1), Limit::Packets(7), Limit::Bytes(10), Limit::Bytes(20_000)],
            );
            LimiterConfig::Fixed(FixedConfig { limit, overdraw: true })
        }
        LimiterConfig::DynRlc(_) => {
            let interval = micros(rng, 1_000, 100_000);
            let target = micros(rng, 500, 20_000);
            let clamp_max = rng.chance(0.7);
            LimiterConfig::DynRlc(DynRlcConfig {
                interval,
                target,
                clamp_max,
                ..DynRlcConfig::default()
            })
        }
        LimiterConfig::Drql(_) => {
            let start = 1 + rng.below(1_024) as u32;
            let hold = pick(rng, &[Duration::ZERO, Duration::from_millis(50)]);
            LimiterConfig::Drql(DrqlConfig { start, hold, ..DrqlConfig::default() })
        }
        LimiterConfig::Bdp5g(_) => {
            let (floor, clamp) = pick(rng, &[(0, true), (1, false)]);
            let offset = Ratio(0.2 + 0.7 * rng.unit());
            LimiterConfig::Bdp5g(Bdp5gConfig { floor, clamp, offset, ..Bdp5gConfig::default() })
        }
        LimiterConfig::Dql(_) => {
            let (min, max) = pick(rng, &[(0, 1 << 30), (3_000, 20_000)]);
            let hold = pick(rng, &[Duration::from_secs(1), Duration::from_millis(20)]);
            LimiterConfig::Dql(DqlConfig { hold, min: Bytes(min), max: Bytes(max) })
        }
        LimiterConfig::EBdp5g(_) => LimiterConfig::EBdp5g(EBdp5gConfig {
            reduce: Ratio(0.1 + 0.9 * rng.unit()),
            ewma_old: [0.4 * rng.unit(), 0.2 * rng.unit(), 0.2 * rng.unit()],
            clock: pick(rng, &EBdp5gClock::ALL),
            ..EBdp5gConfig::default()
        }),
        LimiterConfig::LastPoll(_) => LimiterConfig::LastPoll(LastPollConfig {
            risk: Ratio(0.05 * rng.unit()),
            ..LastPollConfig::default()
        }),
        LimiterConfig::Hedge(_) => LimiterConfig::Hedge(HedgeConfig {
            fall: Ratio(pick(rng, &[0.0, 0.015625, 1.0])),
            start: 1 + rng.below(20) as u32,
        }),
        other => other,
    }
}

/// Delay of the limiter's slot reports: usually none.
fn report_delay(rng: &mut Rng, queue: &QueueConfig, limiter: &LimiterConfig) -> Duration {
    let may_be_late = matches!(queue.discipline, DisciplineConfig::Fifo(_))
        && !matches!(limiter, LimiterConfig::DynRlc(_) | LimiterConfig::Clairvoyant(_));
    if may_be_late && rng.chance(0.3) { micros(rng, 1, 20_000) } else { Duration::ZERO }
}

fn pacer(rng: &mut Rng, one_bearer: bool) -> PacerConfig {
    let for_cell =
        |config: &PacerConfig| one_bearer || !matches!(config, PacerConfig::Clairvoyant(_));
    match kind(rng, PacerConfig::all(), for_cell) {
        PacerConfig::Usp(_) if rng.chance(0.5) => {
            let (min, slack) = (1 + rng.below(4) as u32, rng.below(6) as u32);
            PacerConfig::Usp(UspConfig { variant: UspVariant::Released, min, max: 64, slack })
        }
        other => other,
    }
}

fn scheduler(rng: &mut Rng) -> SdapSchedulerConfig {
    match kind(rng, SdapSchedulerConfig::all(), |_| true) {
        SdapSchedulerConfig::Drr(_) => {
            SdapSchedulerConfig::Drr(DrrConfig { quantum: Bytes(64 + rng.below(3_000)) })
        }
        other => other,
    }
}

fn ue(rng: &mut Rng, drbs: u8, own_channel: Option<ChannelConfig>, bare: bool) -> UeConfig {
    let flows = 1 + rng.below(if bare { 4 } else { 10 }) as u8;
    let qos_flow = |i| QosFlowConfig {
        qfi: Qfi::new(63 - i).expect("below 64"),
        drb: rng.below(u64::from(drbs)) as u8,
        priority: rng.below(3) as u8,
        weight: 1 + rng.below(4) as u32,
        queue: rng.chance(0.2).then(|| Box::new(queue(rng, bare, false))),
    };
    let qos_flows: Vec<QosFlowConfig> = (0..flows).map(qos_flow).collect();
    let rules = qos_flows.iter().zip(0u16..).map(|(flow, i)| PacketDetectionRule {
        destination_port: Some(i),
        ..PacketDetectionRule::any(flow.qfi)
    });
    UeConfig { drbs, rules: rules.collect(), qos_flows, channel: own_channel, slice: 0, drx: None }
}

/// A cell of any kind.
pub(crate) fn cell(rng: &mut Rng, seed: u64) -> StackConfig {
    let config = whole_packets_or_bytes(rng, seed);
    let config = match rng.below(10) {
        _ if config.unit() != CapacityUnit::Bytes => config,
        0..6 => in_blocks(rng, config),
        6 | 7 => return in_fixed_pdus(rng, config),
        _ => config,
    };
    if rng.chance(0.2) { with_sleep(rng, config) } else { config }
}

/// Some UEs have DRX, unless a method knows the coming slots.
fn with_sleep(rng: &mut Rng, mut config: StackConfig) -> StackConfig {
    if matches!(config.rlc.limiter, LimiterConfig::Clairvoyant(_))
        || matches!(config.sdap.pacer, PacerConfig::Clairvoyant(_))
    {
        return config;
    }
    let slot_ms = config.mac.slot().period.as_nanos().div_ceil(1_000_000);
    for ue in 0..config.ues.len() {
        let on = slot_ms * (1 + rng.below(3));
        let short = (on * (1 + rng.below(2))).max(2);
        let long = short * (2 + rng.below(3));
        let drx = DrxConfig {
            long_cycle: Duration::from_millis(long),
            on_duration: Duration::from_millis(on),
            inactivity: Duration::from_millis(rng.below(2 * long)),
            short_cycle: rng.chance(0.5).then(|| Duration::from_millis(short)),
            retransmission: Duration::from_millis(rng.below(20)),
            ..DrxConfig::default()
        };
        config.ue_mut(ue).drx = rng.chance(0.6).then(|| Box::new(drx));
        // An on-duration without a downlink slot is refused.
        if config.validate().is_err() {
            config.ue_mut(ue).drx = None;
        }
    }
    config
}

/// Turns some cells in bytes into UMTS bearers.
fn in_fixed_pdus(rng: &mut Rng, mut config: StackConfig) -> StackConfig {
    let slot = Duration::from_millis(pick(rng, &[10, 20, 40]));
    let law = with_law(rng, slot, 0.2);
    for polled in [&mut config.upf.poll, &mut config.sdap.poll] {
        if !polled.period.is_zero() {
            *polled = poll(rng, slot, false);
        }
    }
    let status_delay = micros(rng, 0, 100_000);
    config.mac = if rng.chance(0.5) {
        MacConfig::Dch(DchConfig {
            slot: law,
            pdus: 1 + rng.below(30) as u32,
            loss: Ratio(pick(rng, &[0.0, 0.015, 0.3])),
            burst: 1.0 + 3.0 * rng.unit(),
            status_delay,
        })
    } else {
        MacConfig::Hsdpa(HsdpaConfig {
            slot: law,
            share: Ratio(pick(rng, &[0.9, 1.0, 0.3])),
            wait: Ratio(pick(rng, &[0.0, 0.1, 0.6])),
            wait_wastes: rng.chance(0.5),
            status_delay,
        })
    };
    let any = 6 + rng.below(200);
    let pdu = pick(rng, &[42, 42, 20, any]);
    config.rlc.mode = RlcModeConfig::Am(umts(rng, pdu));
    config.rlc.hold = pick(rng, &Hold::ALL);
    let umts_header = Bytes(pick(rng, &[0, 1, 3]));
    config.pdcp = PdcpConfig { umts_header, out_of_order: false, ..pdcp(rng) };
    // Slots of a few bytes would take years for a packet.
    let channel = |rng: &mut Rng| {
        let per_slot = pdu * (4 + rng.below(120));
        match rng.below(3) {
            0 => ChannelConfig::Pattern(PatternConfig {
                bytes: vec![per_slot, 0, 3 * per_slot + 7, per_slot],
            }),
            _ => ChannelConfig::Constant(ConstantConfig { per_slot }),
        }
    };
    config.channel = channel(rng);
    for index in 0..config.ues.len() {
        let ue = config.ue_mut(index);
        ue.channel = rng.chance(0.3).then(|| channel(rng));
    }
    config
}

/// A UMTS cell that discards PDUs: small windows, few transmissions, and often SDUs that keep their
/// place until they are acknowledged.
pub(crate) fn umts_cell(rng: &mut Rng, seed: u64) -> StackConfig {
    let mut config = loop {
        let config = whole_packets_or_bytes(rng, seed);
        if config.unit() == CapacityUnit::Bytes {
            break in_fixed_pdus(rng, config);
        }
    };
    if let RlcModeConfig::Am(am) = &mut config.rlc.mode {
        am.window = pick(rng, &[1, 2, 3, 7, 16, 64]);
        am.max_dat = 2 + rng.below(4) as u8;
    }
    if rng.chance(0.5) {
        config.rlc.hold = Hold::Acknowledged;
    }
    config
}

/// Acknowledged mode of UMTS with PDUs of `pdu` bytes.
fn umts(rng: &mut Rng, pdu: u64) -> AmConfig {
    AmConfig {
        generation: Generation::Umts,
        pdu: Bytes(pdu),
        window: pick(rng, &[4095, 768, 256, 16]),
        poll_pdu: pick(rng, &[0, 16]),
        poll_sdu: pick(rng, &[0, 1]),
        poll_window: pick(rng, &[0, 50, 90]),
        poll_last: true,
        timer_poll: micros(rng, 10_000, 500_000),
        timer_poll_prohibit: micros(rng, 0, 200_000),
        timer_status_prohibit: micros(rng, 0, 200_000),
        timer_status_periodic: pick(rng, &[Duration::ZERO, Duration::from_millis(300)]),
        missing_pdu_indicator: rng.chance(0.5),
        max_dat: pick(rng, &[40, 5]),
        ..AmConfig::default()
    }
}

/// A cell whose MAC grants packets or bytes.
fn whole_packets_or_bytes(rng: &mut Rng, seed: u64) -> StackConfig {
    let slot = pick(rng, &[125, 500, 1_000, 1_000, 10_000]);
    let slot = Duration::from_micros(slot);
    let unit = pick(rng, &[CapacityUnit::Packets, CapacityUnit::Bytes]);
    let one_bearer = rng.chance(0.4);
    let ues = if one_bearer { 1 } else { 1 + rng.below(4) };
    let own_channels = rng.chance(0.3);
    let limiter = limiter(rng, one_bearer);
    let pacer = pacer(rng, one_bearer);
    let bare = rng.chance(0.5);
    let rlc_queue = queue(rng, bare, true);
    let report_delay = report_delay(rng, &rlc_queue, &limiter);
    let foresees = matches!(pacer, PacerConfig::Clairvoyant(_));
    let opens_with_time = any_limiter(&limiter).paces();
    let paces = foresees || opens_with_time || !report_delay.is_zero();
    let paced = !matches!(pacer, PacerConfig::Unpaced(_));
    StackConfig {
        upf: UpfConfig {
            poll: poll(rng, slot, !paced),
            batch: pick(rng, &[u32::MAX, 1, 7]),
            queue: queue(rng, bare, false),
        },
        sdap: SdapConfig {
            poll: poll(rng, slot, !paces),
            batch: pick(rng, &[u32::MAX, 1, 10]),
            queue: queue(rng, bare, false),
            scheduler: scheduler(rng),
            pacer,
        },
        rlc: RlcConfig { queue: rlc_queue, limiter, report_delay, ..RlcConfig::default() },
        mac: packets_or_bytes(rng, unit, slot),
        channel: channel(rng, unit, slot),
        pdcp: PdcpConfig::default(),
        slices: Vec::new(),
        scells: Vec::new(),
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

fn packets_or_bytes(rng: &mut Rng, unit: CapacityUnit, slot: Duration) -> MacConfig {
    let (slot, overhead) = (with_law(rng, slot, 0.2), Bytes(pick(rng, &[0, 0, 3])));
    match unit {
        CapacityUnit::Packets => MacConfig::Packets(PacketsConfig { slot }),
        CapacityUnit::Bytes => MacConfig::Bytes(BytesConfig { slot, overhead }),
    }
}

/// Turns some cells in bytes into cells with resource blocks, with random carrier, scheduler,
/// slices, HARQ, modes of RLC and report delays.
fn in_blocks(rng: &mut Rng, mut config: StackConfig) -> StackConfig {
    let lte = rng.chance(0.5);
    let slot = if lte { 1_000 } else { pick(rng, &[125, 250, 500, 1_000]) };
    let slot = with_law(rng, Duration::from_micros(slot), 0.2);
    let tables = if lte { 2 } else { 3 };
    let layers = 1 + rng.below(if lte { 2 } else { 4 }) as u8;
    let most = if lte { 110 / u64::from(layers) } else { 275 };
    // Fewer blocks might never hold a header and a byte.
    let n_prb = 6 + rng.below(most - 5) as u16;
    let mcs_table = 1 + rng.below(tables) as u8;
    let carrier = CarrierConfig {
        kind: if lte { CarrierKind::Lte } else { CarrierKind::Nr },
        n_prb,
        mcs_table,
        layers,
        allocation: pick(
            rng,
            &[AllocationType::Type0, AllocationType::Type0Config2, AllocationType::Type1],
        ),
        offered: pick(rng, &[vec![], vec![n_prb, n_prb / 2, 0], vec![n_prb - 1, n_prb]]),
        tdd: pick(rng, if lte { &["", "DDU"] } else { &["", "DDDSU", "DSUUU"] }).into(),
        special_symbols: rng.below(14) as u8,
        control_symbols: rng.below(4) as u8,
    };
    let mut harq = HarqConfig {
        bler: Ratio(pick(rng, &[0.0, 0.1, 0.6])),
        combining: Ratio(pick(rng, &[0.1, 1.0])),
        round_trip: 1 + rng.below(16) as u8,
        transmissions: 1 + rng.below(4) as u8,
    };
    let cqi_delay = pick(rng, &[0, 0, 1, 40]);
    let status_delay = micros(rng, 0, 20_000);
    let scheduler = rb_scheduler(rng);
    config.rlc.mode = rlc_mode(rng);
    config.pdcp = pdcp(rng);
    config.slices = pick(
        rng,
        &[vec![], vec![Ratio(0.25), Ratio(0.75)], vec![Ratio(0.3), Ratio(0.3), Ratio(0.3)]],
    );
    // A fixed part of a small cell might never hold a header and a byte either.
    if matches!(scheduler, RbSchedulerConfig::FixedPartition(_)) && n_prb < 48 {
        config.slices.clear();
    }
    let mcs = |rng: &mut Rng| quality(rng, lte, mcs_table);
    config.channel = mcs(rng);
    for index in 0..config.ues.len() {
        let slices = config.slices.len().max(1) as u64;
        let ue = config.ue_mut(index);
        ue.slice = rng.below(slices) as u16;
        ue.channel = rng.chance(0.4).then(|| mcs(rng));
    }
    let own = config.ues.iter().filter_map(|ue| ue.channel.as_ref());
    if std::iter::once(&config.channel).chain(own).any(ChannelConfig::errors_follow_sinr) {
        harq.bler = Ratio(0.0);
    }
    config.mac =
        MacConfig::Rb(RbConfig { slot, carrier, scheduler, harq, cqi_delay, status_delay });
    if matches!(config.rlc.mode, RlcModeConfig::Am(_)) {
        config.rlc.hold = pick(rng, &Hold::ALL);
    }
    aggregate(&mut Rng::stream(config.seed, "swarm.scells"), &mut config);
    config
}

/// Gives a quarter of the cells with resource blocks one to three SCells.
fn aggregate(rng: &mut Rng, config: &mut StackConfig) {
    let MacConfig::Rb(rb) = &config.mac else { return };
    if matches!(rb.scheduler, RbSchedulerConfig::Eqp(_)) || !rng.chance(0.25) {
        return;
    }
    let (kind, pcell) = (rb.carrier.kind, rb.slot.period);
    let lte = kind == CarrierKind::Lte;
    let limiter = &config.rlc.limiter;
    // They expect of the next slot what the last ones carried.
    let by_slot = matches!(limiter, LimiterConfig::Bdp5g(_) | LimiterConfig::EBdp5g(_));
    let scell = |rng: &mut Rng, i: u64| {
        let slot = if lte { 1_000 } else { pick(rng, &[125, 250, 500, 1_000]) };
        let channel = quality(rng, lte, 1);
        let bler = if channel.errors_follow_sinr() { 0.0 } else { pick(rng, &[0.0, 0.3]) };
        ScellConfig {
            name: format!("scell{i}"),
            slot: if by_slot { pcell } else { Duration::from_micros(slot).max(pcell) },
            carrier: CarrierConfig {
                kind,
                n_prb: 50 + rng.below(50) as u16,
                ..CarrierConfig::default()
            },
            harq: HarqConfig { bler: Ratio(bler), ..HarqConfig::default() },
            cqi_delay: pick(rng, &[0, 3]),
            channel,
            ues: config.ues.iter().map(|_| rng.chance(0.8)).collect(),
        }
    };
    config.scells = (0..1 + rng.below(3)).map(|i| scell(rng, i)).collect();
}

/// A walk between buildings, from a UE in line of sight to a UE without signal.
fn street(rng: &mut Rng, map: CqiToMcs) -> ChannelConfig {
    let mut place = |most: u64| (rng.below(2 * most) as f64 - most as f64) / 2.0;
    let (start, walk) = ([place(300), place(300), 1.5], vec![[place(300), place(300)]]);
    let buildings = (0..6).map(|n| {
        let ([x, y], n) = ([place(200), place(200)], f64::from(n));
        // The gNB is above the roofs.
        Building { x: [x, x + 10.0 + n], y: [y, y + 20.0 - n], height: 4.0 + n }
    });
    ChannelConfig::Umi(UmiConfig {
        ue: start,
        buildings: buildings.collect(),
        walk,
        speed: 1.0 + 40.0 * rng.unit(),
        gnb_gain: pick(rng, &[18.0, 0.0]),
        shadowing: rng.chance(0.7),
        outdoor_to_indoor: pick(rng, &OutdoorToIndoor::ALL),
        step: micros(rng, 50, 50_000),
        map,
        ..UmiConfig::default()
    })
}

/// A channel that gives the MCS, or a CQI that maps to the carrier's table.
fn quality(rng: &mut Rng, lte: bool, mcs_table: u8) -> ChannelConfig {
    let row = RowLength::Slots(1 + rng.below(90) as u32);
    let map = match (lte, mcs_table) {
        (true, 1) => {
            pick(rng, &[CqiToMcs::Tmc, CqiToMcs::Oai, CqiToMcs::Oai2013, CqiToMcs::Ns3LteAmc])
        }
        (false, 1) => CqiToMcs::NrTable1,
        (false, 2) => CqiToMcs::NrTable2,
        (false, _) => CqiToMcs::NrTable3,
        // No map leads to LTE's 256QAM table.
        (true, _) => {
            let mcs = (0..1 + rng.below(4)).map(|_| rng.below(28) as u8).collect();
            return ChannelConfig::Mcs(McsConfig { mcs, row, at_end: AtEnd::Loop });
        }
    };
    match rng.below(5) {
        4 if !lte => street(rng, map),
        0 => {
            let cqi = (0..1 + rng.below(9)).map(|_| rng.below(16) as u8).chain([5]).collect();
            ChannelConfig::CqiRows(CqiRowsConfig {
                cqi,
                row,
                at_end: AtEnd::Loop,
                map,
                ..Default::default()
            })
        }
        1 => ChannelConfig::Markov(MarkovConfig { map, ..MarkovConfig::default() }),
        _ => {
            let mcs = (0..1 + rng.below(4)).map(|_| rng.below(28) as u8).collect();
            ChannelConfig::Mcs(McsConfig { mcs, row, at_end: AtEnd::Loop })
        }
    }
}

fn pdcp(rng: &mut Rng) -> PdcpConfig {
    PdcpConfig {
        sn_bits: pick(rng, &[12, 18]),
        discard_timer: if rng.chance(0.7) { Duration::ZERO } else { micros(rng, 500, 1_500_000) },
        t_reordering: micros(rng, 0, 200_000),
        out_of_order: rng.chance(0.15),
        ..PdcpConfig::default()
    }
}

fn rb_scheduler(rng: &mut Rng) -> RbSchedulerConfig {
    match kind(rng, RbSchedulerConfig::all(), |_| true) {
        RbSchedulerConfig::ProportionalFair(_) => {
            let window = micros(rng, 1_000, 1_000_000);
            RbSchedulerConfig::ProportionalFair(ProportionalFairConfig { window })
        }
        RbSchedulerConfig::Eqp(_) => RbSchedulerConfig::Eqp(EqpConfig {
            quantum_limit: 1 + rng.below(300) as u32,
            inflation: pick(rng, &EqpInflation::ALL),
            leftover_threshold: Ratio(rng.unit()),
            credit: pick(rng, &EqpCredit::ALL),
            blocks: pick(rng, &EqpBlocks::ALL),
        }),
        other => other,
    }
}

fn rlc_mode(rng: &mut Rng) -> RlcModeConfig {
    let generation = pick(rng, &[Generation::Nr, Generation::Lte]);
    let nr = generation == Generation::Nr;
    let t_reassembly = micros(rng, 0, 100_000);
    if rng.chance(0.04) {
        return RlcModeConfig::Tm(TmConfig {});
    }
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
        poll_byte: pick(rng, &[Bytes(0), Bytes(5_000), Bytes(40 << 20)]),
        max_retx_threshold: pick(rng, &[1, 8, 32]),
        li_bits: pick(rng, &[11, 15]),
        ..AmConfig::default()
    })
}
