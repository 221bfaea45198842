//! Random AQMs, with settings that let them act on the queues of small cells.

use crate::draws::{MTU, kind, micros, pick};
use justfull_base::{Bytes, Duration, Ratio, Rng};
use justfull_queue::aqm::codel::Variant;
use justfull_queue::aqm::dualpi2::{DualPi2Config, Preset};
use justfull_queue::aqm::pie::Estimate;
use justfull_queue::aqm::{
    ARedConfig, AbcConfig, AdaptiveRedConfig, CoDelConfig, PdpcConfig, PduSetConfig, PieConfig,
    RedConfig, TtlRed1Config, TtlRed2Config,
};
use justfull_queue::{AqmConfig, Limit};

/// An AQM of any kind that works without delivery reports. Kinds that need the rate are drawn only
/// if `is_told`.
pub(crate) fn aqm(rng: &mut Rng, is_told: bool) -> AqmConfig {
    let fits = |config: &AqmConfig| !config.needs_reports() && (is_told || !config.needs_rate());
    let drawn = kind(rng, AqmConfig::all(), fits);
    let (ecn, max_p) = (rng.chance(0.7), Ratio(rng.unit()));
    let (low, high) = (micros(rng, 100, 20_000), micros(rng, 50_000, 300_000));
    let (delay, floor) = (micros(rng, 1_000, 50_000), Bytes(MTU + rng.below(9_000)));
    let n = 1 + rng.below(20) as u32;
    let factor = Ratio(1.1 + 3.0 * rng.unit());
    match drawn {
        AqmConfig::CoDel(_) => codel(rng),
        AqmConfig::Red(base) => AqmConfig::Red(red(rng, RedConfig { ecn, max_p, ..base })),
        AqmConfig::AdaptiveRed(base) => {
            let weight = Ratio(0.01 + 0.99 * rng.unit());
            let interval = micros(rng, 1_000, 500_000);
            let target = delay;
            AqmConfig::AdaptiveRed(AdaptiveRedConfig {
                target,
                floor,
                interval,
                weight,
                ecn,
                ..base
            })
        }
        AqmConfig::ARed(base) => {
            let (gentle, wait) = (rng.chance(0.5), rng.chance(0.5));
            AqmConfig::ARed(ARedConfig { delay, floor, factor, max_p, gentle, wait, ecn, ..base })
        }
        AqmConfig::Pdpc(_) => AqmConfig::Pdpc(PdpcConfig { delay, floor, factor, n, ecn }),
        AqmConfig::TtlRed1(_) => AqmConfig::TtlRed1(TtlRed1Config { low, high, max_p, n, ecn }),
        AqmConfig::TtlRed2(_) => {
            let period = micros(rng, 100, 20_000);
            AqmConfig::TtlRed2(TtlRed2Config { low, high, max_p, period, ecn })
        }
        AqmConfig::Pie(base) => AqmConfig::Pie(PieConfig {
            target: low,
            t_update: micros(rng, 1_000, 30_000),
            burst: pick(rng, &[Duration::ZERO, Duration::from_millis(30)]),
            derandomize: rng.chance(0.5),
            estimate: pick(rng, &[Estimate::Timestamp, Estimate::Rate]),
            ecn,
            ..base
        }),
        AqmConfig::DualPi2(base) => AqmConfig::DualPi2(dualpi2(rng, base)),
        AqmConfig::PduSet(base) => AqmConfig::PduSet(PduSetConfig {
            timer: high,
            low_timer: low,
            congested: delay,
            whole: rng.chance(0.7),
            ..base
        }),
        AqmConfig::Abc(_) => AqmConfig::Abc(AbcConfig {
            eta: Ratio(0.5 + 0.5 * rng.unit()),
            delta: high,
            target: low,
            window: micros(rng, 1_000, 100_000),
            tokens: 1 + n,
        }),
        other @ (AqmConfig::None(_) | AqmConfig::L4Span(_) | AqmConfig::Custom(_)) => other,
    }
}

fn dualpi2(rng: &mut Rng, base: DualPi2Config) -> DualPi2Config {
    let preset = pick(rng, &Preset::ALL);
    let lo = micros(rng, 0, 10_000);
    let hi = if preset == Preset::Linux { lo } else { lo + micros(rng, 0, 10_000) };
    DualPi2Config {
        preset,
        target: micros(rng, 500, 30_000),
        t_update: rng.chance(0.5).then(|| micros(rng, 500, 30_000)),
        alpha: rng.chance(0.3).then(|| Ratio(10.0 * rng.unit())),
        k: Ratio(0.5 + 3.0 * rng.unit()),
        ramp: rng.chance(0.7).then_some([lo, hi]),
        drop_overload: preset == Preset::Rfc9332 || rng.chance(0.5),
        ..base
    }
}

fn red(rng: &mut Rng, base: RedConfig) -> RedConfig {
    let least = 1 + rng.below(10);
    let most = least + 1 + rng.below(20);
    let (min, max) = if rng.chance(0.5) {
        (Limit::Packets(least as u32), Limit::Packets(most as u32))
    } else {
        (Limit::Bytes(least * MTU), Limit::Bytes(most * MTU))
    };
    RedConfig {
        min,
        max,
        weight: pick(rng, &[Ratio(1.0), Ratio(0.2), Ratio(0.002)]),
        gentle: rng.chance(0.5),
        by_size: rng.chance(0.5),
        wait: rng.chance(0.5),
        ..base
    }
}

fn codel(rng: &mut Rng) -> AqmConfig {
    let (target, interval) = (micros(rng, 100, 20_000), micros(rng, 20_000, 200_000));
    let variant = pick(rng, &[Variant::Rfc8289, Variant::Rfc8289, Variant::T20Released]);
    let ecn = variant == Variant::Rfc8289 && rng.chance(0.7);
    let mtu = Bytes(pick(rng, &[0, MTU, 9_000]));
    let ce_threshold =
        if ecn && rng.chance(0.2) { micros(rng, 100, 10_000) } else { Duration::ZERO };
    let l4s_threshold =
        if ecn && rng.chance(0.2) { micros(rng, 100, 10_000) } else { Duration::ZERO };
    let (reserve, ceiling, memory) = reserve(rng, target, variant);
    let (deadline, dip, spacing) = deadline(rng, target, variant);
    let reach = if reserve.is_zero() || rng.chance(0.5) {
        Duration::ZERO
    } else {
        reserve + micros(rng, 0, 100_000)
    };
    AqmConfig::CoDel(CoDelConfig {
        target,
        interval,
        ecn,
        mtu,
        ce_threshold,
        l4s_threshold,
        variant,
        reserve,
        ceiling,
        memory,
        deadline,
        dip,
        spacing,
        reach,
        spare_small: rng.chance(0.3),
        spared: 0,
    })
}

/// Usually none; else reserve, ceiling and memory of a CoDel with this `target`.
pub(crate) fn reserve(
    rng: &mut Rng,
    target: Duration,
    variant: Variant,
) -> (Duration, Duration, Duration) {
    let plain = CoDelConfig::default();
    if variant == Variant::T20Released || rng.chance(0.6) {
        return (plain.reserve, plain.ceiling, plain.memory);
    }
    let reserve = target + micros(rng, 0, 50_000);
    (reserve, reserve + micros(rng, 0, 100_000), micros(rng, 100_000, 60_000_000))
}

/// Usually none; else deadline, dip and spacing of a CoDel with this `target`.
pub(crate) fn deadline(
    rng: &mut Rng,
    target: Duration,
    variant: Variant,
) -> (Duration, Duration, u32) {
    let plain = CoDelConfig::default();
    if variant == Variant::T20Released || rng.chance(0.6) {
        return (plain.deadline, plain.dip, plain.spacing);
    }
    let dip = if rng.chance(0.3) { plain.dip } else { micros(rng, 100_000, 5_000_000) };
    (target + micros(rng, 1, 200_000), dip, rng.below(20) as u32)
}
