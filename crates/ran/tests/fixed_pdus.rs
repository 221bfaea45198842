//! Bearers of PDUs of one size, DCH and HSDPA, and SDUs that are held until they are acknowledged.

use justfull_base::{Bytes, Dscp, Duration, Event, Instant, Layer, Packet, Probe, Qfi, Ratio};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{ChannelConfig, ConstantConfig, PatternConfig};
use justfull_ran::config::{Phase, Skew};
use justfull_ran::rlc::RlcModeConfig;
use justfull_ran::rlc::mode::{AmConfig, Generation};
use justfull_ran::{
    BytesConfig, CarrierConfig, CarrierKind, DchConfig, Egress, FiveTuple, HarqConfig, Hold,
    HsdpaConfig, MacConfig, PacketDetectionRule, PdcpConfig, PollConfig, QosFlowConfig, RbConfig,
    RlcConfig, SdapConfig, Stack, StackConfig, StatusWay, TieOrder, UeConfig, UpfConfig,
};
use std::sync::Arc;

const MTU: u32 = 1500;

/// The deliveries: time and number of each packet.
#[derive(Default)]
struct Driver {
    delivered: Vec<(Instant, u64)>,
    departed: Vec<(Instant, u64)>,
    dropped: u64,
    offered: u64,
    used: u64,
    /// STATUS PDUs by handle; none if they take `mac.status_delay`.
    statuses: Option<Vec<(Instant, u32, u32)>>,
}

impl Probe for Driver {
    fn on_event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Departed { layer: Layer::Rlc, packet, .. } => {
                self.departed.push((now, packet.id));
            }
            Event::Dropped { .. } => self.dropped += 1,
            Event::Slot { capacity, used, .. } => {
                assert!(used <= capacity, "{used} {capacity}");
                self.offered += capacity;
                self.used += used;
            }
            _ => {}
        }
    }
}

impl Egress for Driver {
    fn deliver(&mut self, now: Instant, packet: &Packet, _bound: Option<Instant>) {
        self.delivered.push((now, packet.id));
    }

    fn send_status(&mut self, now: Instant, _ue: u32, handle: u32, bytes: u32) -> StatusWay {
        let Some(statuses) = &mut self.statuses else { return StatusWay::Delayed };
        statuses.push((now, handle, bytes));
        StatusWay::Carried
    }
}

const STATUS_DELAY: Duration = Duration::from_millis(8);

fn slots_of(period: Duration) -> PollConfig {
    PollConfig {
        phase: Phase::Fixed(Duration::ZERO),
        skew: Skew::Ppm(0.0),
        ..PollConfig::every(period)
    }
}

/// A cell with one bearer for each of `ues`.
fn cell(ues: usize, mac: MacConfig, per_slot: u64) -> StackConfig {
    let qfi = Qfi::new(9).expect("below 64");
    let flow = QosFlowConfig { qfi, drb: 0, priority: 0, weight: 1, queue: None };
    let ue = UeConfig {
        drx: None,
        drbs: 1,
        qos_flows: vec![flow],
        rules: vec![PacketDetectionRule::any(qfi)],
        channel: None,
        slice: 0,
    };
    StackConfig {
        upf: UpfConfig::default(),
        sdap: SdapConfig::default(),
        rlc: RlcConfig {
            queue: QueueConfig::tail_drop(Limit::Unlimited),
            mode: RlcModeConfig::Am(AmConfig {
                generation: Generation::Umts,
                ..AmConfig::default()
            }),
            ..RlcConfig::default()
        },
        mac,
        channel: ChannelConfig::Constant(ConstantConfig { per_slot }),
        pdcp: PdcpConfig::default(),
        ues: core::iter::repeat_n(Arc::new(ue), ues).collect(),
        slices: Vec::new(),
        scells: Vec::new(),
        tie_order: TieOrder::TopDown,
        mtu: MTU,
        seed: 1,
        assert_bound: true,
    }
}

/// 64 kbit/s: 4 PDUs in 20 ms.
fn dch(loss: f64) -> StackConfig {
    cell(1, dch_mac(DchConfig { loss: Ratio(loss), burst: 1.5, ..DchConfig::default() }), 10_000)
}

/// `dch` in TTIs of 20 ms.
fn dch_mac(dch: DchConfig) -> MacConfig {
    MacConfig::Dch(DchConfig { slot: slots_of(Duration::from_millis(20)), ..dch })
}

/// `hsdpa` in intervals of 10 ms.
fn hsdpa_mac(hsdpa: HsdpaConfig) -> MacConfig {
    MacConfig::Hsdpa(HsdpaConfig { slot: slots_of(Duration::from_millis(10)), ..hsdpa })
}

fn hsdpa(ues: usize, per_slot: u64) -> StackConfig {
    let mac = hsdpa_mac(HsdpaConfig { wait: Ratio(0.0), ..HsdpaConfig::default() });
    cell(ues, mac, per_slot)
}

/// A stack of `config` with a flow to each UE, and `count` packets of `size` to each at once.
fn loaded(config: &StackConfig, count: u64, size: u32, driver: &mut Driver) -> Stack {
    let mut stack = Stack::new(config).expect("sound");
    for ue in 0..config.ues.len() as u32 {
        let flow = stack.open_flow(ue, &FiveTuple::default(), Dscp::default());
        for _ in 0..count {
            let packet = Packet { flow, size, ..Packet::default() };
            stack.input(Instant::from_nanos(1), packet, driver);
        }
    }
    stack
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn field(config: &StackConfig) -> String {
    Stack::new(config).map(|_| ()).expect_err("out of bounds").to_string()
}

#[test]
fn a_dedicated_channel_carries_its_rate_and_no_more() {
    // 100 SDUs of 399 B and a PDCP header of 1 B: ten PDUs each, without the length indicators.
    let (config, mut driver) = (dch(0.0), Driver::default());
    let mut stack = loaded(&config, 100, 399, &mut driver);
    stack.wake(ms(9_999), &mut driver);
    assert_eq!(driver.delivered.len(), 100);
    let last = driver.delivered[99].0.since(Instant::ZERO).as_secs_f64();
    // 40 000 B at 64 kbit/s are 5 s; an SDU has a length indicator of one byte.
    let expected = (100.0 * 401.0 / 160.0_f64).ceil() * 0.02;
    assert!((last - expected).abs() <= 0.021, "{last} {expected}");
    assert_eq!(driver.offered, 160 * 500);
    assert!(driver.used >= 40_100 && driver.used <= 40_100 + 160, "{}", driver.used);
    stack.assert_conserved();
}

#[test]
fn lost_pdus_arrive_and_a_lost_status_is_repeated() {
    for seed in 0..60 {
        for max_dat in [40, 5] {
            let mut config = dch(0.3);
            config.seed = seed;
            if let RlcModeConfig::Am(am) = &mut config.rlc.mode {
                am.max_dat = max_dat;
            }
            let mut driver = Driver::default();
            let mut stack = loaded(&config, 20, MTU, &mut driver);
            stack.wake(ms(60_000), &mut driver);
            let counts = stack.conserved();
            assert_eq!(counts.queued, 0, "seed {seed}, MaxDAT {max_dat}: {counts:?}");
            assert_eq!(counts.delivered + driver.dropped, 20);
            assert!(max_dat < 40 || counts.delivered == 20, "{counts:?}");
            stack.assert_conserved();
        }
    }
}

#[test]
fn a_rate_that_falls_to_nothing_for_half_a_minute_and_returns_brings_all() {
    for hold in Hold::ALL {
        let mut config = dch(0.015);
        config.rlc.hold = hold;
        // 1500 TTIs without capacity.
        let dark = 1500..3000;
        let bytes = (0..6000).map(|k| if dark.contains(&k) { 0 } else { 1000 }).collect();
        config.channel = ChannelConfig::Pattern(PatternConfig { bytes });
        let mut driver = Driver::default();
        let mut stack = loaded(&config, 200, MTU, &mut driver);
        stack.wake(ms(100_000), &mut driver);
        assert_eq!(driver.delivered.len(), 200, "{hold:?}");
        let gap = driver.delivered.windows(2).map(|w| w[1].0.since(w[0].0)).max();
        assert!(gap >= Some(Duration::from_secs(30)), "{gap:?}");
        assert_eq!(stack.conserved().queued, 0);
        stack.assert_conserved();
    }
}

#[test]
fn credits_are_shared_and_remainders_carried_over() {
    // 0.9 x 625 B = 562 B: 14 PDUs of 40 B and 2 B over; for two bearers, 281 B: 7 PDUs and 1 B.
    for (ues, per_second) in [(1, 56_200), (2, 28_100)] {
        let (config, mut driver) = (hsdpa(ues, 625), Driver::default());
        let mut stack = loaded(&config, 2000, 1000, &mut driver);
        stack.wake(ms(9_999), &mut driver);
        let expected = 10 * per_second * ues as u64;
        assert!(driver.used.abs_diff(expected) <= 40 * 15 * ues as u64, "{}", driver.used);
        assert!(driver.offered.abs_diff(625 * 1000) <= 700, "{}", driver.offered);
        stack.assert_conserved();
    }
}

#[test]
fn a_wait_is_a_delay_or_wastes_its_period() {
    let carried = |wait: f64, wait_wastes: bool| {
        let mut config = hsdpa(1, 1500);
        let wait = Ratio(wait);
        config.mac = hsdpa_mac(HsdpaConfig { wait, wait_wastes, ..HsdpaConfig::default() });
        let mut driver = Driver::default();
        let mut stack = loaded(&config, 2000, MTU, &mut driver);
        stack.wake(ms(10_000), &mut driver);
        stack.assert_conserved();
        driver.used as f64
    };
    let all = carried(0.0, false);
    assert!((carried(0.1, false) / all - 1.0).abs() < 0.02);
    let wasted = carried(0.1, true) / all;
    assert!((wasted - 0.9).abs() < 0.03, "{wasted}");
}

#[test]
fn a_status_of_the_driver_takes_the_payload_of_a_pdu() {
    let (config, mut driver) =
        (dch(0.0), Driver { statuses: Some(Vec::new()), ..Driver::default() });
    let mut stack = loaded(&config, 3, MTU, &mut driver);
    stack.wake(ms(2_000), &mut driver);
    let statuses = driver.statuses.take().expect("it carries them");
    assert!(!statuses.is_empty() && statuses.iter().all(|status| status.2 == 40), "{statuses:?}");
    driver.statuses = Some(Vec::new());
    // They are lost until the timer polls again.
    statuses.iter().for_each(|(_, handle, _)| stack.lose_status(*handle));
    stack.wake(ms(4_000), &mut driver);
    let again = driver.statuses.clone().expect("it carries them");
    assert!(!again.is_empty(), "the unanswered poll is repeated");
    again.iter().for_each(|(_, handle, _)| stack.receive_status(ms(4_000), *handle, &mut driver));
    driver.statuses = Some(Vec::new());
    stack.wake(ms(10_000), &mut driver);
    assert_eq!(driver.statuses, Some(Vec::new()), "all is acknowledged");
}

/// LTE with resource blocks and acknowledged mode.
fn lte(hold: Hold, status_delay: Duration) -> StackConfig {
    let mac = MacConfig::Rb(RbConfig {
        slot: slots_of(Duration::from_millis(1)),
        carrier: CarrierConfig { kind: CarrierKind::Lte, n_prb: 6, ..CarrierConfig::default() },
        harq: HarqConfig { bler: Ratio(0.1), transmissions: 2, ..HarqConfig::default() },
        status_delay,
        ..RbConfig::default()
    });
    let mut config = cell(1, mac, 1);
    config.rlc.mode = RlcModeConfig::Am(AmConfig {
        generation: Generation::Lte,
        sn_bits: 10,
        ..AmConfig::default()
    });
    config.rlc.hold = hold;
    config.channel =
        ChannelConfig::Mcs(justfull_ran::channel::McsConfig { mcs: vec![4], ..Default::default() });
    config
}

#[test]
fn an_sdu_keeps_its_place_until_it_is_acknowledged() {
    let status_delay = Duration::from_millis(300);
    for held in [lte as fn(Hold, Duration) -> StackConfig, |hold, status_delay| {
        let mut config = dch(0.0);
        config.mac = dch_mac(DchConfig { status_delay, ..DchConfig::default() });
        config.rlc.hold = hold;
        config
    }] {
        let admitted = |hold| {
            let mut config = held(hold, status_delay);
            config.rlc.queue = QueueConfig::tail_drop(Limit::Packets(4));
            let mut driver = Driver::default();
            let mut stack = loaded(&config, 4, 100, &mut driver);
            // All four are delivered, but none is acknowledged yet.
            stack.wake(ms(200), &mut driver);
            assert_eq!((driver.delivered.len(), driver.departed.len()), (4, 4), "{hold:?}");
            assert_eq!(stack.backlog_packets(), [0; 3], "nothing waits to be sent");
            assert_eq!(stack.conserved().queued, 0);
            for k in 0..8 {
                let packet = Packet { size: 100, ..Packet::default() };
                stack.input(ms(200) + Duration::from_nanos(k), packet, &mut driver);
            }
            stack.assert_conserved();
            stack.wake(ms(20_000), &mut driver);
            stack.assert_conserved();
            assert_eq!(driver.delivered.len() as u64 + driver.dropped, 12);
            driver.dropped
        };
        assert_eq!(admitted(Hold::Sent), 4, "four find room");
        assert_eq!(admitted(Hold::Acknowledged), 8, "the others have not left it");
    }
}

#[test]
fn a_held_sdu_departs_when_the_ue_has_it() {
    for hold in Hold::ALL {
        let (config, mut driver) = (lte(hold, STATUS_DELAY), Driver::default());
        let mut stack = loaded(&config, 300, 700, &mut driver);
        stack.wake(ms(20_000), &mut driver);
        assert_eq!((driver.delivered.len(), driver.departed.len()), (300, 300));
        let late = driver.delivered.iter().zip(&driver.departed).filter(|(d, q)| d.0 > q.0).count();
        let early =
            driver.delivered.iter().zip(&driver.departed).filter(|(d, q)| d.0 < q.0).count();
        assert_eq!(early, 0);
        // Blocks lost twice make some SDUs late, which stay in the queue until they arrive; but an
        // SDU that is acknowledged while an earlier one is missing leaves before PDCP delivers it.
        assert!(late > 0 || hold == Hold::Acknowledged, "{late}");
        stack.assert_conserved();
    }
}

#[test]
fn each_contradiction_of_settings_is_one_error() {
    let sound = dch(0.01);
    assert!(Stack::new(&sound).is_ok());
    let with = |change: &dyn Fn(&mut StackConfig)| {
        let mut config = sound.clone();
        change(&mut config);
        field(&config)
    };
    let starts = |text: String, start: &str| assert!(text.starts_with(start), "{text}");
    starts(with(&|c| c.mac = MacConfig::Rb(RbConfig::default())), "field `rlc.mode.generation`");
    starts(with(&|c| c.mac = MacConfig::Bytes(BytesConfig::default())), "field `rlc.mode`");
    starts(with(&|c| c.rlc.mode = RlcModeConfig::default()), "field `rlc.mode`");
    starts(
        with(&|c| *c.mac.slot_mut() = slots_of(Duration::from_millis(1))),
        "field `mac.slot.period`",
    );
    starts(with(&|c| *c.mac.slot_mut() = slots_of(Duration::ZERO)), "field `mac.slot.period`");
    let set = |dch: DchConfig| with(&move |c| c.mac = dch_mac(dch.clone()));
    starts(set(DchConfig { loss: Ratio(1.5), ..DchConfig::default() }), "field `mac.loss`");
    starts(set(DchConfig { loss: Ratio(-0.5), ..DchConfig::default() }), "field `mac.loss`");
    starts(set(DchConfig { burst: 0.5, ..DchConfig::default() }), "field `mac.burst`");
    starts(set(DchConfig { pdus: 0, ..DchConfig::default() }), "field `mac.pdus`");
    starts(with(&|c| c.pdcp.umts_header = Bytes(2)), "field `pdcp.umts_header`");
    let mut config = hsdpa(1, 100);
    config.mac = hsdpa_mac(HsdpaConfig { wait: Ratio(1.1), ..HsdpaConfig::default() });
    starts(field(&config), "field `mac.wait`");
    let mut config = lte(Hold::Acknowledged, STATUS_DELAY);
    config.rlc.mode = RlcModeConfig::default();
    starts(field(&config), "field `rlc.hold`");
}
