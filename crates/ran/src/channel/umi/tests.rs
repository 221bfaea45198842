//! Tests of the whole channel, on the scene of R22's program.

use super::*;
use crate::channel::{Channel, ChannelConfig};
use alloc::string::String;
use alloc::vec;

const SLOT: Duration = Duration::from_micros(125);
/// 132 resource blocks of 120 kHz.
const HERTZ: u64 = 132 * 12 * 120_000;

fn context(key: u64) -> ChannelContext {
    let unit = crate::channel::CapacityUnit::Bytes;
    ChannelContext { key, slot: SLOT, unit, bandwidth: Some(HERTZ) }
}

/// The buildings of R22's program; the UE walks along y from `start`.
fn nice(start: [f64; 2]) -> UmiConfig {
    let boxes = [
        ([20.0, 63.0], [3.0, 58.0], 28.0),
        ([20.0, 67.0], [68.0, 114.0], 26.0),
        ([20.0, 122.0], [124.0, 198.0], 31.0),
        ([20.0, 72.0], [215.0, 237.0], 31.0),
        ([78.0, 160.0], [3.0, 66.0], 30.0),
        ([82.0, 143.0], [75.0, 140.0], 24.0),
        ([137.0, 175.0], [149.0, 221.0], 28.0),
        ([87.0, 130.0], [232.0, 268.0], 27.0),
    ];
    let buildings = boxes.map(|(x, y, height)| Building { x, y, height });
    UmiConfig {
        ue: [start[0], start[1], 1.5],
        walk: vec![[start[0], start[1] + 300.0]],
        buildings: buildings.into(),
        ..UmiConfig::default()
    }
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn channel(config: UmiConfig, key: u64) -> Channel {
    Channel::new(&ChannelConfig::Umi(config), &context(key)).expect("a valid channel")
}

fn street(config: &UmiConfig, key: u64) -> Street {
    Street::new(config, &context(key), HERTZ as f64).expect("a valid street")
}

#[test]
fn the_sound_walk_is_in_sight_for_1_3_s_and_then_behind_the_first_house() {
    let scene = Scene::new(&nice([70.0, 2.0]));
    let view = |ms| scene.view(scene.position(at_ms(ms)));
    // The line to (70, y) enters x = 63 at 0.9 y: it meets the house from y = 10 / 3 on.
    assert!((0..=1_333).all(|ms| view(ms).in_sight && view(ms).inside.is_none()));
    assert!((1_334..121_990).step_by(7).all(|ms| !view(ms).in_sight && view(ms).inside.is_none()));
    // 122 s on it walks into the third house.
    assert_eq!(view(122_000).inside, Some(2));
}

#[test]
fn the_walk_of_r22s_program_is_inside_from_the_first_wall_to_the_last() {
    let scene = Scene::new(&nice([100.0, 3.0]));
    let view = |ms| scene.view(scene.position(at_ms(ms)));
    // From the wall at 0 on.
    assert!((0..=63_000).step_by(50).all(|ms| view(ms).inside == Some(4)));
    assert_eq!(view(63_100).inside, None, "out on the other side");
    // The UE's own house does not block the path, but the first one does from 63 y / 100 > 3 on.
    assert!(view(1_700).in_sight && !view(1_800).in_sight);
}

#[test]
fn a_line_over_a_roof_is_in_sight_and_one_below_it_is_not() {
    let config = |height| {
        let house = Building { x: [40.0, 60.0], y: [-5.0, 5.0], height };
        let (ue, buildings) = ([100.0, 0.0, 1.5], vec![house]);
        Scene::new(&UmiConfig { ue, buildings, ..UmiConfig::default() })
    };
    // From 10 m down to 1.5 m the line is at 6.6 m above x = 40 and 4.9 m above x = 60.
    assert!(config(4.89).view([100.0, 0.0]).in_sight);
    assert!(!config(4.91).view([100.0, 0.0]).in_sight);
    // Along a wall and past a corner nothing blocks.
    assert!(config(20.0).view([100.0, 12.5]).in_sight);
    assert!(!config(20.0).view([100.0, 12.4]).in_sight);
}

#[test]
fn the_sinr_is_the_sum_of_powers_and_losses() {
    let plain = |config: UmiConfig| UmiConfig { shadowing: false, ..config };
    let sinr = |config: &UmiConfig, position| street(config, 1).sinr_db(position);
    let sound = plain(nice([70.0, 2.0]));
    // 35 + 18 + 12 - 9 + 91.2106 dB less, at (70, 2), 32.4 + 21 log10(70.5425) + 28.9432 dB.
    let got = sinr(&sound, [70.0, 2.0]);
    assert!((got - 47.050).abs() < 0.005, "{got}");
    // At (70, 12), out of sight, d3D = 71.5280: 35.3 log10(71.528) + 22.4 + 21.3 log10(28) dB.
    let got = sinr(&sound, [70.0, 12.0]);
    assert!((got - 28.523).abs() < 0.005, "{got}");
    // At (100, 23) inside, d3D = 102.9623: the same formula, plus a wall of 17.8288 dB and the mean
    // loss of a third of 25 m behind it.
    let indoor = plain(nice([100.0, 3.0]));
    let got = sinr(&indoor, [100.0, 23.0]);
    let want = 147.2106 - (35.3 * libm::log10(102.9623) + 53.2245) - 17.8288 - 0.5 * 25.0 / 3.0;
    assert!((got - want).abs() < 0.005, "{got} for {want}");
    let high = UmiConfig { outdoor_to_indoor: OutdoorToIndoor::High, ..indoor };
    assert!((got - sinr(&high, [100.0, 23.0]) - (37.9490 - 17.8288)).abs() < 0.001);
}

#[test]
fn a_ue_in_sight_has_mcs_28_and_behind_the_house_less() {
    let config = UmiConfig { shadowing: false, ..nice([70.0, 2.0]) };
    let mut channel = channel(config, 1);
    assert_eq!(channel.next_mcs(0, at_ms(0)), Some(28));
    assert_eq!(channel.next_mcs(1, at_ms(1_330)), Some(28));
    // 28.7 dB just behind the corner, 18.6 dB at (70, 111), 130.8 m away.
    assert_eq!(channel.next_mcs(2, at_ms(1_500)), Some(28));
    let far = channel.next_mcs(3, at_ms(109_000)).expect("a signal");
    assert!((15..28).contains(&far), "MCS {far}");
    assert_eq!(channel.capacity(4, at_ms(109_001)), 0, "bytes are the carrier's business");
}

#[test]
fn the_channel_equals_its_forecast_in_any_order_of_queries() {
    for start in [[70.0, 2.0], [100.0, 3.0]] {
        let config = UmiConfig { speed: 3.0, ..nice(start) };
        let fresh = channel(config, 9);
        let instants: Vec<Instant> = (0..6_000).map(|n| at_ms(n * 17)).collect();
        // Backwards, each query on a channel that was never pulled.
        let mut foretold: Vec<_> = instants.iter().rev().map(|at| fresh.cqi(0, *at)).collect();
        foretold.reverse();
        let mut walked = fresh.clone();
        for (n, at) in instants.iter().enumerate() {
            let later = instants.get(n + 40).copied();
            let ahead = later.map(|later| walked.cqi(0, later));
            assert_eq!(ahead, foretold.get(n + 40).copied(), "looking ahead from {at:?}");
            walked.next_mcs(n as u64, *at);
            assert_eq!(walked.cqi(0, *at), foretold[n], "at {at:?}");
        }
        let seen: alloc::collections::BTreeSet<_> = foretold.iter().collect();
        assert!(seen.len() > 4, "the walk has ups and downs: {seen:?}");
    }
}

#[test]
fn a_seed_has_its_shadows_and_a_clone_shares_them() {
    let cqis = |key| {
        let channel = channel(nice([70.0, 2.0]), key);
        (0..600).map(|n| channel.clone().cqi(0, at_ms(n * 100))).collect::<Vec<_>>()
    };
    assert_eq!(cqis(1), cqis(1));
    assert_ne!(cqis(1), cqis(2));
    // Without shadow fading a seed changes nothing.
    let plain = UmiConfig { shadowing: false, ..nice([100.0, 3.0]) };
    let sinr = |key| street(&plain, key).sinr_db([100.0, 40.0]).to_bits();
    assert_eq!(sinr(1), sinr(2));
}

#[test]
fn buildings_differ_by_wall_and_depth_as_the_tables_say() {
    let config = UmiConfig { outdoor_to_indoor: OutdoorToIndoor::High, ..nice([100.0, 3.0]) };
    let losses: Vec<f64> = (0..4_000).flat_map(|key| street(&config, key).buildings).collect();
    let n = losses.len() as f64;
    let mean = losses.iter().sum::<f64>() / n;
    let variance = losses.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / n;
    // The smaller of two draws from 0 to 1 has mean 1/3 and variance 1/18; 12.5 dB of it.
    assert!((mean - 37.949 - 12.5 / 3.0).abs() < 0.15, "{mean}");
    let want = 6.5 * 6.5 + 12.5 * 12.5 / 18.0;
    assert!((variance / want - 1.0).abs() < 0.03, "{variance} for {want}");
}

#[test]
fn a_ue_that_stands_or_has_arrived_has_a_constant_channel() {
    let mut still = channel(UmiConfig::default(), 3);
    let first = still.next_mcs(0, at_ms(0));
    assert_eq!(still.next_mcs(1, Instant::from_nanos(u64::MAX - 1)), first);
    let walk = vec![[70.0, 12.0], [80.0, 12.0]];
    let street = street(&UmiConfig { walk, ..nice([70.0, 2.0]) }, 3);
    let is_at = |ms, want| distance(street.scene.position(at_ms(ms)), want) < 1e-9;
    assert!(is_at(10_000, [70.0, 12.0]) && is_at(14_000, [74.0, 12.0]));
    assert_eq!(street.scene.arrival(), at_ms(20_000));
    let there = street.signal_at(at_ms(20_000));
    assert_eq!((there.until, there), (Instant::NEVER, street.signal_at(at_ms(9_000_000))));
    assert_eq!(there.sinr.to_bits(), power(street.sinr_db([80.0, 12.0])).to_bits());
}

#[test]
fn a_step_keeps_the_signal_of_its_beginning() {
    let street = street(&nice([70.0, 2.0]), 3);
    for at in [at_ms(50), at_ms(50) + SLOT, at_ms(59) + SLOT.times(7)] {
        assert_eq!(street.signal_at(at).until, at_ms(60), "{at:?}");
        let want = power(street.sinr_db([70.0, 2.05]));
        assert_eq!(street.signal_at(at).sinr.to_bits(), want.to_bits(), "{at:?}");
    }
}

#[test]
fn transmissions_of_a_block_add_up_and_errors_fall_with_each() {
    let config = UmiConfig { shadowing: false, ..nice([70.0, 12.0]) };
    let sender = street(&config, 1);
    let curves = &sender.curves;
    let db = sender.sinr_db([70.0, 12.0]);
    let mut channel = channel(config, 1);
    let mut sinr = 0.0;
    let mut before = 1.0;
    for sent in 1..=4 {
        let share = channel.block_error(sent, at_ms(0), 28, &mut sinr).expect("it has a SINR");
        let want = curves.bler(28, db + 10.0 * libm::log10(sent as f64));
        assert!((share - want).abs() < 1e-9, "{sent}: {share} for {want}");
        assert!(share < before);
        before = share;
    }
}

/// The refused field, and the change that makes it wrong.
type Case = (&'static str, fn(&mut UmiConfig));

#[test]
fn the_wrong_scene_is_refused_by_the_name_of_the_field() {
    let refused = |change: fn(&mut UmiConfig)| {
        let mut config = nice([70.0, 2.0]);
        change(&mut config);
        let refused = Channel::new(&ChannelConfig::Umi(config), &context(1));
        refused.map(|_| ()).map_err(|e| e.field)
    };
    let cases: [Case; 21] = [
        ("buildings[2].x", |c| c.buildings[2].x = [5.0, 5.0]),
        ("buildings[0].y", |c| c.buildings[0].y = [5.0, f64::NAN]),
        ("buildings[0].y", |c| c.buildings[0].y = [5.0, f64::INFINITY]),
        ("buildings[7].height", |c| c.buildings[7].height = 0.0),
        ("buildings[0]", |c| c.gnb = [30.0, 10.0, 10.0]),
        ("buildings", |c| c.buildings = vec![c.buildings[0]; 1001]),
        ("ue", |c| c.ue[2] = -1.5),
        ("ue", |c| c.ue[2] = 23.0),
        ("ue", |c| c.ue[0] = 5_001.0),
        ("ue", |c| c.ue[1] = f64::NAN),
        ("gnb", |c| c.gnb[2] = 1.0),
        ("gnb", |c| c.gnb[0] = f64::INFINITY),
        ("walk[0]", |c| c.walk[0] = [70.0, 6_000.0]),
        ("walk[1]", |c| c.walk.push(c.walk[0])),
        ("speed", |c| c.speed = 0.0),
        ("speed", |c| c.speed = f64::NAN),
        ("frequency", |c| c.frequency = 0.4),
        ("step", |c| c.step = Duration::ZERO),
        ("map", |c| c.map = CqiToMcs::Tmc),
        ("attenuation", |c| c.attenuation = Ratio(1.1)),
        ("bler_width", |c| c.bler_width = 0.0),
    ];
    for (field, change) in cases {
        assert_eq!(refused(change), Err(String::from(field)));
    }
    assert_eq!(refused(|_| ()), Ok(()));
    // A gNB on a roof, on a wall or above a house is outside the house.
    assert_eq!(refused(|c| c.gnb = [30.0, 10.0, 28.0]), Ok(()));
}

#[test]
fn without_a_carrier_there_is_no_width_and_no_noise() {
    let context = ChannelContext { bandwidth: None, ..context(1) };
    let refused = Channel::new(&ChannelConfig::Umi(UmiConfig::default()), &context);
    assert_eq!(refused.map(|_| ()).map_err(|e| e.field), Err(String::from("kind")));
}
