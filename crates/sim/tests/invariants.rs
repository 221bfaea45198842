//! Invariants of every run, on worlds that once broke them.

use justfull_base::{BitRate, Duration};
use justfull_queue::{AqmConfig, DisciplineConfig, Limit, QueueConfig, aqm, discipline};
use justfull_ran::StackConfig;
use justfull_ran::channel::CapacityUnit;
use justfull_ran::limiter::{FixedConfig, LimiterConfig};
use justfull_ran::pacer::{PacerConfig, UspConfig};
use justfull_run::{Interval, WorldConfig};
use justfull_sim::World;
use justfull_tcp::CcConfig;
use justfull_testkit::{cell, ms, on_time, run, tcp, udp, upload, world};

/// Bytes behind a gap at the receiver count at their arrival, not when the gap closes. Otherwise a
/// window that begins just before that would have more goodput than the link carries.
#[test]
fn goodput_is_never_above_what_the_link_can_carry() {
    let mut bulk = tcp("bulk", CcConfig::Cubic(Default::default()), None);
    bulk.extra_delay = ms(1_000);
    // 10 Mbit/s.
    let mut config =
        world(cell(1_250, CapacityUnit::Bytes, Limit::Packets(300)), vec![bulk], ms(35_000));
    let mut closest: f64 = 0.0;
    for warmup in (6..=34).step_by(4) {
        config.duration = ms(warmup * 1_000 + 1_000);
        config.warmup = ms(warmup * 1_000);
        closest = closest.max(run(&config).flows[0].goodput_mbit_s);
    }
    assert!((8.0..=10.0).contains(&closest), "{closest} Mbit/s over 10 with headers");
}

#[test]
fn bytes_of_a_sender_are_received_dropped_or_under_way_down_and_up() {
    let greedy = |control: &str, up: bool| {
        let cc =
            if control == "bbr" { CcConfig::Bbr(Default::default()) } else { CcConfig::default() };
        if up { upload("up", cc, None) } else { tcp("down", cc, None) }
    };
    let mut config =
        world(cell(3_000, CapacityUnit::Bytes, Limit::Packets(20)), Vec::new(), ms(3_000));
    config.flows = vec![greedy("cubic", false), greedy("bbr", false), greedy("cubic", true)];
    (config.uplink.rate, config.uplink.limit) = (BitRate(5_000_000), justfull_base::Bytes(20_000));
    config.air_delay = ms(4);
    let result = run(&config);
    assert!(result.flows.iter().all(|flow| flow.retransmitted_segments > 0), "{:?}", result.flows);
    assert!(result.flows[1].goodput_mbit_s > 3.0, "{:?}", result.flows);
}

fn codel() -> QueueConfig {
    let aqm = AqmConfig::CoDel(aqm::codel::CoDelConfig::default());
    QueueConfig { limit: Limit::Packets(10_000), aqm, ..QueueConfig::default() }
}

fn bulk(change: impl FnOnce(&mut StackConfig)) -> WorldConfig {
    let mut stack = cell(5, CapacityUnit::Packets, Limit::Packets(10_000));
    stack.sdap.poll = on_time(Duration::from_micros(200));
    stack.upf.poll = on_time(Duration::from_micros(200));
    change(&mut stack);
    let call = udp("call", 100, Interval::Constant(ms(20)));
    world(stack, vec![tcp("bulk", CcConfig::default(), None), call], ms(2_000))
}

fn fixed(limit: Limit) -> LimiterConfig {
    LimiterConfig::Fixed(FixedConfig { limit, ..FixedConfig::default() })
}

#[test]
fn mechanisms_that_never_acted_are_named_and_others_are_not() {
    let idle = |change: fn(&mut StackConfig)| run(&bulk(change)).never_acted;
    assert!(idle(|_| {}).is_empty(), "nothing is configured");
    assert!(idle(|s| s.rlc.limiter = fixed(Limit::Packets(20))).is_empty());
    assert_eq!(idle(|s| s.rlc.limiter = fixed(Limit::Bytes(1 << 40))), ["limiter"]);
    let paced = |s: &mut StackConfig| s.sdap.pacer = PacerConfig::Usp(UspConfig::default());
    assert!(
        run(&bulk(|s| {
            paced(s);
            s.rlc.limiter = fixed(Limit::Packets(5));
        }))
        .never_acted
        .is_empty()
    );
    assert!(idle(|s| s.rlc.queue = codel()).is_empty());
    // In SDAP a packet waits only for a poll if the bearer takes every packet.
    assert_eq!(idle(|s| s.sdap.queue = codel()), ["sdap.aqm"]);
    assert_eq!(idle(|s| s.upf.queue = codel()), ["upf.aqm"]);
    let passed = |s: &mut StackConfig| {
        s.upf.queue.discipline =
            DisciplineConfig::FqCoDel(discipline::fq_codel::FqCoDelConfig::default());
        s.upf.poll.period = Duration::ZERO;
    };
    assert_eq!(run(&bulk(passed)).never_acted, ["upf.aqm"], "the UPF is passed through");
    let lone = |s: &mut StackConfig| {
        s.rlc.queue = codel();
        s.rlc.limiter = fixed(Limit::Packets(1_000));
        s.sdap.pacer = PacerConfig::Usp(UspConfig::default());
    };
    let mut quiet = bulk(lone);
    quiet.flows.remove(0);
    let found = run(&quiet).never_acted;
    assert!(found.contains(&"limiter".into()) && found.contains(&"rlc.aqm".into()), "{found:?}");
}

/// 60 000 names of flows would take 4 GB.
#[test]
fn more_names_of_flows_than_memory_is_for_are_refused_and_flows_of_one_name_are_not() {
    let mut config = bulk(|_| {});
    let flow = config.flows.remove(1);
    let named =
        |i: usize| justfull_run::FlowConfig { name: format!("flow{i}").into(), ..flow.clone() };
    config.flows = (0..1_000).map(named).chain((0..2_000).map(|_| named(7))).collect();
    assert!(World::new(&config).is_ok());
    config.flows.push(named(1_000));
    let Err(error) = World::new(&config) else { panic!("refused") };
    assert_eq!(
        (error.field.as_str(), error.value.as_str()),
        ("flow[3000].name", "`flow1000`, name 1001 of the scenario")
    );
    assert!(error.bound.starts_with("at most 1000 different names"), "{error}");
}
