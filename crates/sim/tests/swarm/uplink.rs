//! Uplinks as stacks, in worlds whose cells allocate resource blocks; the base station's AQM for
//! the UEs' queues.

use crate::draws::{micros, pick};
use justfull_base::{BitRate, Bytes, Duration, Rng};
use justfull_ran::limiter::LimiterConfig;
use justfull_ran::mac::{BsrConfig, ConfiguredGrantConfig, SrConfig};
use justfull_ran::{
    CarrierConfig, Hold, LogicalChannelConfig, MacConfig, RlcConfig, SdapConfig, StackConfig,
    UpfConfig, UplinkMacConfig,
};
use justfull_run::{CellAqmConfig, UplinkStack, WorldConfig, ZhugeConfig, ZhugePreset};

/// Gives the uplink of two of five such worlds a stack.
pub(crate) fn stacked(rng: &mut Rng, config: &mut WorldConfig) {
    let MacConfig::Rb(rb) = &config.stack.mac else { return };
    if !rng.chance(0.4) {
        return;
    }
    let drbs = config.stack.ues.iter().map(|ue| ue.drbs).max().unwrap_or(1);
    let alone = config.stack.ues.len() as u64;
    let blocks = 1 + rng.below(4) as u16;
    let fits = u64::from(rb.carrier.n_prb) >= alone * u64::from(blocks);
    let configured = ConfiguredGrantConfig { period: micros(rng, 125, 40_000), blocks };
    let mac = UplinkMacConfig {
        slot: rb.slot,
        carrier: CarrierConfig { offered: Vec::new(), ..rb.carrier.clone() },
        scheduler: rb.scheduler.clone(),
        harq: rb.harq.clone(),
        status_delay: rb.status_delay,
        sr: SrConfig {
            period: micros(rng, 125, 60_000),
            offset: None,
            prohibit: micros(rng, 0, 128_000),
        },
        bsr: BsrConfig {
            periodic: pick(rng, &[Duration::ZERO, Duration::from_millis(10)]),
            retransmission: micros(rng, 10_000, 200_000),
        },
        decoding: rng.below(9) as u8,
        k2: rng.below(9) as u8,
        sr_grant: Bytes(40 + rng.below(2_000)),
        power_headroom: pick(rng, &[None, Some(10.0), Some(20.0)]),
        logical_channel: (0..drbs).map(|_| logical_channel(rng)).collect(),
        configured: (fits && rng.chance(0.3)).then_some(configured),
    };
    let cell = &config.stack;
    let mut rlc = RlcConfig { hold: Hold::Sent, ..cell.rlc.clone() };
    if matches!(rlc.limiter, LimiterConfig::Clairvoyant(_)) {
        rlc.limiter = LimiterConfig::default();
    }
    let pacer = Default::default();
    let chain = StackConfig {
        upf: UpfConfig::default(),
        sdap: SdapConfig { pacer, ..cell.sdap.clone() },
        rlc,
        mac: MacConfig::Uplink(mac),
        scells: Vec::new(),
        assert_bound: false,
        ..cell.clone()
    };
    if chain.validate().is_err() {
        return;
    }
    config.uplink.rate = BitRate(0);
    config.uplink.grants = None;
    let ack_filter = rng.chance(0.3);
    config.uplink.stack = Some(Box::new(UplinkStack { chain, ack_filter }));
}

fn logical_channel(rng: &mut Rng) -> LogicalChannelConfig {
    LogicalChannelConfig {
        priority: 1 + rng.below(16) as u8,
        group: rng.below(8) as u8,
        pbr: pick(rng, &[None, Some(BitRate(0)), Some(BitRate(64_000)), Some(BitRate(8_192_000))]),
        bucket: micros(rng, 5_000, 1_000_000),
    }
}

/// Gives the base station an AQM for the UEs' queues in a third of the worlds.
pub(crate) fn marked_in_the_cell(rng: &mut Rng, config: &mut WorldConfig) {
    if !rng.chance(0.33) {
        return;
    }
    let target = micros(rng, 1, 50_000);
    config.uplink.cell_aqm = Some(CellAqmConfig {
        target,
        interval: target + micros(rng, 1, 200_000),
        deadline: pick(rng, &[Duration::ZERO, target + Duration::from_millis(20)]),
        spacing: pick(rng, &[0, 1, 8]),
        ecn: rng.chance(0.7),
        memory: micros(rng, 10_000, 2_000_000),
        report_period: micros(rng, 1, 80_000),
        report_delay: micros(rng, 0, 50_000),
    });
}

/// Gives the base station a Zhuge in a third of the worlds that may have one.
pub(crate) fn held_in_the_cell(rng: &mut Rng, config: &mut WorldConfig) {
    if !rng.chance(0.33) || config.cells.is_some() || config.proxy.is_there() {
        return;
    }
    config.uplink.zhuge = Some(ZhugeConfig {
        preset: pick(rng, &ZhugePreset::ALL),
        window: micros(rng, 1_000, 300_000),
        history: micros(rng, 1_000, 200_000),
        least_rate: BitRate(pick(rng, &[1_000, 512_000, 50_000_000])),
        calls: rng.chance(0.7),
    });
}
