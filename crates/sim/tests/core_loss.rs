//! Random loss between the servers and the UPF.

use justfull_base::{BitRate, Duration, Ratio};
use justfull_queue::Limit;
use justfull_ran::channel::CapacityUnit;
use justfull_rapid::{ControlConfig, NoneConfig};
use justfull_run::{CoreLoss, Interval, WorldConfig};
use justfull_sim::World;
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, ping, run, tcp, udp, upload, world};

/// Datagrams every millisecond for 100 s over a cell that never queues them.
fn datagrams(loss: f64) -> WorldConfig {
    let flow = udp("datagrams", 100, Interval::Constant(ms(1)));
    let mut config =
        world(cell(10, CapacityUnit::Packets, Limit::Packets(100)), vec![flow], ms(100_000));
    (config.core_loss, config.warmup) = (Ratio(loss), Duration::ZERO);
    config
}

#[test]
fn its_share_of_the_packets_is_lost_with_that_reason() {
    let result = run(&datagrams(0.05));
    let entered = result.flows[0].entered_packets;
    let lost = result.flows[0].dropped_packets;
    assert!((99_980..=100_000).contains(&entered), "{entered}");
    // Four standard deviations of a binomial count.
    assert!(lost.abs_diff(5_000) < 276, "{lost}");
    assert_eq!(result.layers[0].drops, [("core_loss".to_string(), lost)]);
    assert!(result.layers[1..].iter().all(|layer| layer.drops.is_empty()));
    let counts = &result.conservation;
    assert_eq!((counts.entered, counts.dropped), (entered, lost));
}

#[test]
fn it_depends_on_the_seed_alone_and_changes_no_other_chance() {
    let config = datagrams(0.05);
    let result = run(&config);
    assert_eq!(run(&config), result);
    let mut other = config.clone();
    other.stack.seed = 2;
    assert_ne!(run(&other).flows[0].dropped_packets, result.flows[0].dropped_packets);
    // Arrived packets have the same delay as without loss: same polls, slots and departures.
    let all = run(&datagrams(0.0));
    assert_eq!(all.flows[0].entered_packets, result.flows[0].entered_packets);
    let shift = (all.flows[0].delay.mean_ms - result.flows[0].delay.mean_ms).abs();
    assert!(shift < 0.01, "{shift} ms");
}

#[test]
fn without_it_nothing_is_drawn() {
    assert!(CoreLoss::new(Ratio(0.0), 1).is_none());
    let mut some = CoreLoss::new(Ratio(0.5), 1).expect("half is lost");
    let lost = (0..1_000).filter(|_| some.takes_next()).count();
    assert!(lost.abs_diff(500) < 64, "{lost}");
}

/// Segments, acknowledgements of an upload, replies and datagrams: `run` checks that packets and
/// the bytes of each TCP flow are conserved.
#[test]
fn whatever_is_lost_is_accounted_for() {
    let cc = || CcConfig::Bbr(Default::default());
    let flows = vec![
        tcp("down", cc(), None),
        upload("up", CcConfig::default(), None),
        ping("ping", 64, Interval::Constant(ms(10))),
        udp("call", 172, Interval::Constant(ms(20))),
    ];
    let mut config =
        world(cell(2_500, CapacityUnit::Bytes, Limit::Bytes(100_000)), flows, ms(10_000));
    (config.core_loss, config.air_delay) = (Ratio(0.1), ms(4));
    config.entity_backlog = true;
    (config.uplink.rate, config.uplink.limit) = (BitRate(5_000_000), justfull_base::Bytes(20_000));
    let result = run(&config);
    // The upload's data takes the uplink, which has no random loss.
    for flow in result.flows.iter().filter(|flow| flow.direction == "down") {
        let lost = flow.dropped_packets as f64 / flow.entered_packets as f64;
        assert!((0.06..0.25).contains(&lost), "{}: {lost}", flow.name);
    }
    assert!(result.flows[0].retransmitted_segments > 100, "{:?}", result.flows[0]);
}

#[test]
fn a_share_out_of_bounds_and_a_proxy_beside_it_are_refused() {
    let refused = |config: &WorldConfig| World::new(config).err().expect("refused");
    for bad in [1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(&datagrams(bad)).field, "core.loss", "{bad}");
    }
    let mut config = datagrams(0.01);
    config.proxy.control = Some(ControlConfig::None(NoneConfig {}));
    let error = refused(&config);
    assert_eq!(error.field, "core.loss");
    assert!(error.to_string().contains("0 with a proxy"), "{error}");
    config.core_loss = Ratio(0.0);
    assert!(World::new(&config).is_ok());
}
