//! UEs that sleep, in whole worlds: the uplink wakes them, and results have the time for which they
//! listened.

use justfull_base::{BitRate, Duration};
use justfull_queue::Limit;
use justfull_ran::DrxConfig;
use justfull_ran::channel::CapacityUnit;
use justfull_run::results::RunResult;
use justfull_run::{CellConfig, CellsConfig, HandoverConfig, Interval, Move, Place, WorldConfig};
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, ping, run, udp, upload, world};
use std::sync::Arc;

/// A cycle of 200 ms with 10 ms of on-duration and 20 ms of inactivity.
fn cycle() -> DrxConfig {
    DrxConfig {
        long_cycle: ms(200),
        on_duration: ms(10),
        inactivity: ms(20),
        ..DrxConfig::default()
    }
}

/// A world of one UE with this DRX and `flows`, in slots of bytes.
fn sleepy(drx: DrxConfig, flows: Vec<justfull_run::FlowConfig>) -> WorldConfig {
    let mut stack = cell(3_000, CapacityUnit::Bytes, Limit::Packets(10_000));
    stack.ue_mut(0).drx = Some(Box::new(drx));
    world(stack, flows, Duration::from_secs(60))
}

fn awake(result: &RunResult) -> f64 {
    assert_eq!(result.drx.len(), 1);
    assert_eq!(result.broken, None);
    result.drx[0].awake_percent
}

#[test]
fn a_silent_ue_listens_for_its_on_durations_and_a_little_longer_for_each_packet() {
    let config = sleepy(cycle(), vec![udp("message", 100, Interval::Constant(ms(1_037)))]);
    let result = run(&config);
    // 10 of 200 ms, and about 11 ms more for each packet.
    let percent = awake(&result);
    assert!((5.5..6.5).contains(&percent), "{percent}");
    let delay = &result.flows[0].delay;
    // 190^2 / (2 x 200) = 90.25 ms, of 57 packets.
    assert!((60.0..120.0).contains(&delay.mean_ms) && delay.max_ms < 192.0, "{delay:?}");
}

#[test]
fn the_reply_of_an_echo_wakes_the_ue_and_keeps_it_awake() {
    // Each reply is a request of the uplink: the UE is awake when it leaves, and for 20 ms.
    let echo = |uplink_rate| {
        let mut config = sleepy(cycle(), vec![ping("echo", 56, Interval::Constant(ms(500)))]);
        config.uplink.rate = BitRate(uplink_rate);
        run(&config)
    };
    for rate in [0, 1_000_000] {
        let result = echo(rate);
        let percent = awake(&result);
        assert!((6.5..9.0).contains(&percent), "{percent} at {rate} bit/s");
        assert!(result.flows[0].ping.is_some_and(|ping| ping.lost == 0 && ping.replies > 50));
    }
}

#[test]
fn an_upload_keeps_its_ue_awake() {
    let mut config = sleepy(cycle(), vec![upload("upload", CcConfig::default(), None)]);
    config.uplink.rate = BitRate(2_000_000);
    let percent = awake(&run(&config));
    assert!(percent > 99.0, "{percent}");
}

#[test]
fn a_ue_that_moves_between_cells_sleeps_in_each() {
    let mut config = sleepy(cycle(), vec![udp("message", 100, Interval::Constant(ms(237)))]);
    let of = |name: &str| CellConfig {
        name: name.into(),
        mac: config.stack.mac.clone(),
        channel: config.stack.channel.clone(),
        gnb: None,
    };
    let moves = (1..50).map(|k| Move { at: ms(1_000 * k), to: (k % 2) as u32 }).collect();
    let place = Place { cell: 0, moves, ..Place::default() };
    config.cells = Some(Box::new(CellsConfig {
        cells: vec![of("a"), of("b")],
        places: vec![Arc::new(place)],
        handover: HandoverConfig::default(),
    }));
    let result = run(&config);
    let percent = awake(&result);
    // 10 of 200 ms, 11 ms more for each packet, 20 to 30 ms in each of 49 new cells.
    assert!((8.0..15.0).contains(&percent), "{percent}");
    let cells = result.cells.as_deref().expect("two cells");
    assert_eq!((cells.handovers.len(), cells.disordered), (49, 0));
    assert_eq!(result.conservation.dropped, 0);
}
