//! Calls from the stack to AQMs: at the instants that they name, and with the rate of their bearer.

use super::*;
use crate::carrier::CarrierConfig;
use crate::channel::{AtEnd, CqiRowsConfig, McsConfig, RowLength};
use crate::limiter::F1Config;
use crate::rlc::RlcModeConfig;
use crate::rlc::mode::AmConfig;
use justfull_queue::aqm::{ARedConfig, L4SpanConfig, TtlRed2Config};

/// Lifetimes of 20 to 50 ms, checked every 10 ms.
fn ttlred2() -> QueueConfig {
    let (low, high) = (Duration::from_millis(20), Duration::from_millis(50));
    let aqm = AqmConfig::TtlRed2(TtlRed2Config { low, high, ..TtlRed2Config::default() });
    QueueConfig { aqm, ..QueueConfig::tail_drop(Limit::Unlimited) }
}

fn under(aqm: AqmConfig) -> QueueConfig {
    QueueConfig { aqm, ..QueueConfig::tail_drop(Limit::Bytes(60_000)) }
}

/// A cell of 6 blocks and RLC AM, in slots of 1 ms.
fn blocks() -> StackConfig {
    let mut config = bytes(1, vec![ue(&[0]), ue(&[0])]);
    let carrier = CarrierConfig { n_prb: 6, ..CarrierConfig::default() };
    config.mac = MacConfig::Rb(RbConfig { slot: poll(1_000, 0), carrier, ..RbConfig::default() });
    config.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
    config.rlc.mode = RlcModeConfig::Am(AmConfig::default());
    config
}

/// A cell that carries `per_slot` bytes in slots of 10 ms, but nothing in slots 100 to 3099.
fn dark_for_half_a_minute(per_slot: u64, ues: Vec<UeConfig>) -> StackConfig {
    let mut config = bytes(1, ues);
    let lit = |slots| core::iter::repeat_n(per_slot, slots);
    let amounts = lit(100).chain(core::iter::repeat_n(0, 3000)).chain(lit(100)).collect();
    config.channel = ChannelConfig::Pattern(PatternConfig { bytes: amounts });
    config
}

#[test]
fn the_queue_of_each_layer_is_called_at_the_first_multiple_after_a_lifetime() {
    type Change = fn(&mut StackConfig);
    let layers: [(Layer, Change); 3] = [
        (Layer::Upf, |c| (c.upf.queue, c.upf.poll) = (ttlred2(), poll(200_000, 199_000))),
        (Layer::Sdap, |c| (c.sdap.queue, c.sdap.poll) = (ttlred2(), poll(200_000, 199_000))),
        (Layer::Rlc, |c| c.rlc.queue = ttlred2()),
    ];
    for (layer, change) in layers {
        let mut config = packets(100, vec![ue(&[0]), ue(&[0, 1])]);
        *config.mac.slot_mut() = poll(200_000, 199_000);
        change(&mut config);
        let mut bench = Bench::new(&config);
        for flow in [0, 1, 2, 0, 1, 2] {
            bench.send(3_000, flow, 1500, 1);
        }
        // The first packet of each queue lives for 50 ms, the others for 20 to 50 ms.
        bench.run_to(29_999);
        assert_eq!(bench.log.drops, []);
        bench.run_to(59_999);
        assert!(bench.log.drops.len() <= 3, "{layer:?}: the others");
        assert_eq!(bench.stack.next_wake(), Instant::from_nanos(60 * MS), "53 ms and then");
        bench.run_to(60_000);
        assert_eq!(bench.log.drops, vec![(layer, DropReason::AqmTimeout); 6]);
        assert_eq!(bench.stack.next_wake(), Instant::from_nanos(199 * MS), "no more timeouts");
        // The queues work as before.
        bench.send(190_000, 0, 1500, 2);
        bench.run_to(200_000);
        assert_eq!(bench.log.deliveries.len(), 2);
    }
}

#[test]
fn a_bearer_whose_last_packets_a_timeout_drops_takes_no_turn_until_it_has_others() {
    let with = |mut config: StackConfig| {
        config.rlc.queue = ttlred2();
        config
    };
    let mut in_packets = with(packets(3, vec![ue(&[0]), ue(&[0])]));
    let mut in_bytes = with(bytes(4_500, vec![ue(&[0]), ue(&[0])]));
    for config in [&mut in_packets, &mut in_bytes] {
        *config.mac.slot_mut() = poll(200_000, 199_000);
    }
    for config in [in_packets, in_bytes] {
        let mut bench = Bench::new(&config);
        for round in 0..5 {
            let start = round * 200_000 + 10_000;
            bench.send(start, 0, 1500, 2);
            bench.send(start, 1, 1500, 1);
            bench.run_to(start + 70_000);
            assert_eq!(bench.log.drops.len() as u64, 3 * (round + 1));
            // Both have a turn once more, and only once.
            bench.send(start + 180_000, 0, 1500, 1);
            bench.send(start + 180_000, 1, 1500, 1);
            bench.run_to(start + 189_999);
            assert_eq!(bench.log.deliveries.len() as u64, 2 * (round + 1));
        }
    }
    // Blocks carry nothing in the first half of each 200 ms.
    let mut in_blocks = with(blocks());
    in_blocks.channel = ChannelConfig::CqiRows(CqiRowsConfig {
        cqi: vec![0, 9],
        row: RowLength::Time(Duration::from_millis(100)),
        at_end: AtEnd::Loop,
        ..CqiRowsConfig::default()
    });
    let mut bench = Bench::new(&in_blocks);
    for round in 0..10 {
        let start = round * 200_000 + 5_000;
        bench.send(start, 0, 1500, 2);
        bench.send(start, 1, 1500, 1);
        bench.run_to(start + 90_000);
        assert_eq!(bench.log.drops.len() as u64, 3 * (round + 1));
        bench.send(start + 110_000, 0, 500, 1);
        bench.send(start + 110_000, 1, 500, 1);
        bench.run_to(start + 190_000);
        assert_eq!(bench.log.deliveries.len() as u64, 2 * (round + 1));
    }
}

#[test]
fn the_rate_that_an_aqm_sees_is_what_its_bearer_gets_while_it_has_more_to_send() {
    let ared = || under(AqmConfig::ARed(ARedConfig::default()));
    // 4 packets of 1500 B, or 3000 B, in slots of 10 ms for two bearers; 6 blocks at MCS 10.
    let cells =
        [packets(4, vec![ue(&[0]), ue(&[0])]), bytes(3_000, vec![ue(&[0]), ue(&[0])]), blocks()];
    for mut config in cells {
        config.rlc.queue = ared();
        let mut bench = Bench::new(&config);
        let rate = |bench: &Bench, ue: usize| {
            bench.stack.cell.ues[ue].bearers[0].queue().service_rate().map(|rate| rate.0)
        };
        bench.run_to(1_000_000);
        assert_eq!(rate(&bench, 0), None, "nothing was sent");
        for ms in 1_000..3_000 {
            bench.send(ms * 1_000, 0, 1500, 1);
            bench.send(ms * 1_000, 1, 1500, 1);
            bench.run_to(ms * 1_000 + 999);
        }
        for ue in 0..2 {
            let found = rate(&bench, ue).expect("much was sent") as f64;
            let log = &bench.log;
            let sent =
                log.delivered_by(3_000_000, ue as u32) - log.delivered_by(2_000_000, ue as u32);
            let sent = (sent * 1500 * 8) as f64;
            assert!((found / sent - 1.0).abs() < 0.05, "{found} bit/s of {sent}");
        }
        let queues = bench.stack.cell.rated.len();
        config.rlc.queue = QueueConfig::default();
        assert_eq!((queues, Bench::new(&config).stack.cell.rated.len()), (2, 0));
    }
}

#[test]
fn every_aqm_outlives_a_rate_of_0_for_half_a_minute() {
    for aqm in AqmConfig::all().into_iter().filter(|aqm| !aqm.needs_reports()) {
        let mut config = dark_for_half_a_minute(3_000, vec![ue(&[0]), ue(&[0])]);
        config.rlc.queue = under(aqm.clone());
        let mut bench = Bench::new(&config);
        for ms in 0..3_200 {
            bench.send(ms * 10_000, (ms % 2) as u32, 1500, 2);
            bench.run_to(ms * 10_000 + 9_999);
        }
        let after = bench.log.times_us().iter().filter(|us| **us > 31_000_000).count();
        assert!(after >= 150, "{after} packets once it carries again: {aqm:?}");
        let before = bench.log.times_us().iter().filter(|us| **us < 1_000_000).count();
        assert!(before >= 100, "{before} packets at first: {aqm:?}");
        let drops = &bench.log.drops;
        let timeouts = drops.contains(&(Layer::Rlc, DropReason::AqmTimeout));
        let wants = bench.stack.queues().any(|queue| queue.needs().timeouts);
        assert_eq!(timeouts, wants, "{aqm:?}");
    }
}

#[test]
fn an_aqm_says_of_its_settings_what_it_needs() {
    use justfull_queue::{AnyAqm, Aqm, AqmContext};
    for config in AqmConfig::all() {
        let aqm = AnyAqm::new(&config, AqmContext::new(1, 1)).expect("the defaults are sound");
        let needs = aqm.needs();
        assert!(needs.service_rate || !config.needs_rate(), "{config:?}");
        assert_eq!(needs.reports, config.needs_reports(), "{config:?}");
    }
}

/// L4Span in SDAP, whose classic packets are all dropped once more than 30 kB stand.
fn l4span() -> QueueConfig {
    let (threshold, factor) = (Bytes(30_000), Ratio(100.0));
    let aqm = AqmConfig::L4Span(L4SpanConfig { threshold, factor, ..L4SpanConfig::default() });
    QueueConfig { aqm, ..QueueConfig::tail_drop(Limit::Unlimited) }
}

/// Packets that SDAP drops if `each_ms` packets a ms arrive until 2 s, at slots of 10 ms and 15 kB.
fn dropped_by_l4span(change: impl FnOnce(&mut StackConfig), each_ms: usize) -> usize {
    let mut config = bytes(15_000, vec![ue(&[0]), ue(&[0])]);
    config.sdap.queue = l4span();
    change(&mut config);
    let mut bench = Bench::new(&config);
    for ms in 0..2_000 {
        bench.send(ms * 1_000, 0, 500, each_ms);
        bench.run_to(ms * 1_000 + 999);
    }
    assert!(bench.log.drops.iter().all(|drop| *drop == (Layer::Sdap, DropReason::AqmEnqueue)));
    bench.log.drops.len()
}

#[test]
fn l4span_signals_for_packets_below_sdap_by_reports_of_each_distance() {
    let at_once = |_: &mut StackConfig| ();
    let apart = |config: &mut StackConfig| {
        let (delay, report_period) = (Duration::from_millis(3), Duration::from_millis(20));
        config.rlc.f1 = F1Config { delay, report_period, ..F1Config::default() };
        config.sdap.poll = poll(500, 0);
    };
    assert_eq!([dropped_by_l4span(at_once, 2), dropped_by_l4span(apart, 2)], [0, 0]);
    // Of 10 000 packets the slots carry 6000, and up to 100 wait at the end. Late reports let the
    // queue run empty, too.
    let (soon, late) = (dropped_by_l4span(at_once, 5), dropped_by_l4span(apart, 5));
    assert!((3_900..=4_000).contains(&soon), "{soon}");
    assert!((3_900..6_000).contains(&late), "{late}");
}

#[test]
fn an_aqm_that_needs_delivery_reports_is_refused_but_in_sdap_of_one_cell() {
    type Change = fn(&mut StackConfig);
    let changes: [(&str, Change); 2] = [
        ("upf.queue.aqm.kind", |config| config.upf.queue = l4span()),
        ("rlc.queue.aqm.kind", |config| config.rlc.queue = l4span()),
    ];
    for (field, change) in changes {
        let mut config = bytes(15_000, vec![ue(&[0])]);
        change(&mut config);
        assert_eq!(config.validate().expect_err("refused").field, field);
    }
    let mut config = bytes(15_000, vec![ue(&[0])]);
    config.sdap.queue = l4span();
    assert_eq!(config.validate(), Ok(()));
    let several = Stack::of_several(&config, &[0], &[]).err().expect("refused");
    assert_eq!(several.field, "sdap.queue.aqm.kind");
}
