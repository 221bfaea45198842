//! Small cells and worlds for tests and benches.
#![forbid(unsafe_code)]

use justfull_base::packet::Protocol;
use justfull_base::{BitRate, Bytes, Dscp, Duration, Lateness, Qfi};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{CapacityUnit, ChannelConfig, ConstantConfig};
use justfull_ran::config::{Phase, Skew};
use justfull_ran::{
    BytesConfig, FiveTuple, MacConfig, PacketDetectionRule, PacketsConfig, PdcpConfig, PollConfig,
    QosFlowConfig, RbConfig, RlcConfig, SdapConfig, StackConfig, TieOrder, UeConfig, UpfConfig,
};
use justfull_run::results::RunResult;
use justfull_run::{
    FlowConfig, Interval, PingConfig, Traffic, Transport, TurnConfig, UplinkConfig, WorldConfig,
};
use justfull_sim::World;
use justfull_tcp::{CcConfig, ReceiverConfig, SenderConfig, Window};
use std::sync::Arc;

/// `n` milliseconds.
pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The QFI `n`.
///
/// # Panics
/// Above 63.
pub fn qfi(n: u8) -> Qfi {
    Qfi::new(n).expect("below 64")
}

/// A poll at exact multiples of `period`.
pub fn on_time(period: Duration) -> PollConfig {
    PollConfig {
        period,
        phase: Phase::Fixed(Duration::ZERO),
        skew: Skew::Ppm(0.0),
        lateness: Lateness::Exact,
    }
}

/// A cell that carries `per_slot` in each slot of 1 ms; one UE, one bearer, QFI 1 for UDP and 9 for
/// the rest.
pub fn cell(per_slot: u64, unit: CapacityUnit, rlc_limit: Limit) -> StackConfig {
    let flow =
        |n, priority| QosFlowConfig { qfi: qfi(n), drb: 0, priority, weight: 1, queue: None };
    StackConfig {
        upf: UpfConfig::default(),
        sdap: SdapConfig::default(),
        rlc: RlcConfig { queue: QueueConfig::tail_drop(rlc_limit), ..RlcConfig::default() },
        mac: match unit {
            CapacityUnit::Packets => MacConfig::Packets(PacketsConfig { slot: on_time(ms(1)) }),
            CapacityUnit::Bytes => {
                MacConfig::Bytes(BytesConfig { slot: on_time(ms(1)), ..BytesConfig::default() })
            }
        },
        channel: ChannelConfig::Constant(ConstantConfig { per_slot }),
        ues: vec![Arc::new(UeConfig {
            drx: None,
            drbs: 1,
            qos_flows: vec![flow(1, 0), flow(9, 1)],
            rules: vec![
                PacketDetectionRule {
                    protocol: Some(Protocol::Udp),
                    ..PacketDetectionRule::any(qfi(1))
                },
                PacketDetectionRule::any(qfi(9)),
            ],
            channel: None,
            slice: 0,
        })],
        pdcp: PdcpConfig::default(),
        slices: Vec::new(),
        scells: Vec::new(),
        tie_order: TieOrder::TopDown,
        mtu: 1500,
        seed: 1,
        assert_bound: true,
    }
}

/// The settings of resource blocks in `stack`. A cell of another MAC gets resource blocks with the
/// same slots.
///
/// # Panics
/// Never.
pub fn rb(stack: &mut StackConfig) -> &mut RbConfig {
    if stack.mac.carrier().is_none() {
        stack.mac = MacConfig::Rb(RbConfig { slot: *stack.mac.slot(), ..RbConfig::default() });
    }
    let MacConfig::Rb(rb) = &mut stack.mac else { panic!("it has just got them") };
    rb
}

fn flow(name: &str, protocol: Protocol, traffic: Traffic) -> FlowConfig {
    FlowConfig {
        name: name.into(),
        ue: 0,
        tuple: FiveTuple { protocol, ..FiveTuple::default() },
        traffic: traffic.into(),
        dscp: Dscp::default(),
        low_latency: protocol == Protocol::Udp,
        start: Duration::ZERO,
        stop: None,
        extra_delay: Duration::ZERO,
        proxied: None,
        delay_budget: None,
    }
}

/// Datagrams of `payload` bytes.
pub fn udp(name: &str, payload: u64, interval: Interval) -> FlowConfig {
    flow(name, Protocol::Udp, Traffic::Udp { payload: Bytes(payload), interval })
}

/// Echo requests of `payload` bytes.
pub fn ping(name: &str, payload: u64, interval: Interval) -> FlowConfig {
    let ping = PingConfig { payload: Bytes(payload), interval, from_ue: None };
    flow(name, Protocol::Icmp, Traffic::Ping(ping))
}

/// Echo requests of `payload` bytes that the UE sends.
pub fn ping_from_ue(name: &str, payload: u64, interval: Interval, turn: TurnConfig) -> FlowConfig {
    let ping = PingConfig { payload: Bytes(payload), interval, from_ue: Some(turn) };
    flow(name, Protocol::Icmp, Traffic::Ping(ping))
}

fn ends(cc: CcConfig) -> (Box<SenderConfig>, Box<ReceiverConfig>) {
    let receiver =
        ReceiverConfig { window: Window::Fixed(Bytes(64 << 20)), ..ReceiverConfig::default() };
    (Box::new(SenderConfig { cc, ..SenderConfig::default() }), Box::new(receiver))
}

/// A TCP transfer to the UE; greedy without a size.
pub fn tcp(name: &str, cc: CcConfig, size: Option<u64>) -> FlowConfig {
    let ((sender, receiver), size) = (ends(cc), size.map(Bytes));
    let (rate, transport) = (None, Transport::Tcp);
    flow(name, Protocol::Tcp, Traffic::Tcp { sender, receiver, size, rate, transport })
}

/// A TCP transfer from the UE; greedy without a size.
pub fn upload(name: &str, cc: CcConfig, size: Option<u64>) -> FlowConfig {
    let ((sender, receiver), size) = (ends(cc), size.map(Bytes));
    let (rate, transport) = (None, Transport::Tcp);
    flow(name, Protocol::Tcp, Traffic::Upload { sender, receiver, size, rate, transport })
}

/// A flow called after its kind.
pub fn app(traffic: Traffic) -> FlowConfig {
    flow(traffic.kind(), traffic.protocol(), traffic)
}

/// A world with 20 ms of round trip around the cell.
pub fn world(stack: StackConfig, flows: Vec<FlowConfig>, duration: Duration) -> WorldConfig {
    WorldConfig {
        scenario: "test".into(),
        method: "test".into(),
        stack,
        flows,
        core_rate: BitRate(1_000_000_000),
        core_delay: ms(10),
        core_loss: Default::default(),
        air_delay: Duration::ZERO,
        uplink: UplinkConfig {
            rate: BitRate(0),
            delay: ms(10),
            limit: UplinkConfig::LIMIT,
            grants: None,
            stack: None,
            cell_aqm: None,
            zhuge: None,
        },
        duration,
        warmup: Duration::from_nanos(duration.as_nanos() / 5),
        series_bins: 100,
        cells: None,
        entity_backlog: false,
        proxy: Default::default(),
    }
}

/// Runs `config` to its end; the run must break no invariant.
pub fn run(config: &WorldConfig) -> RunResult {
    let result = World::new(config).expect("a valid world").run(&mut ()).expect("nobody ends it");
    assert_eq!(result.broken, None);
    result
}
