//! CU and DU apart.

use super::*;
use crate::limiter::{F1Config, LimiterNode};

fn f1(delay_us: u64, period_us: u64, limiter_at: LimiterNode) -> F1Config {
    let (delay, report_period) =
        (Duration::from_micros(delay_us), Duration::from_micros(period_us));
    F1Config { delay, report_period, limiter_at, ..F1Config::default() }
}

#[test]
fn a_packet_reaches_the_radio_the_delay_of_f1_later() {
    let mut config = packets(4, vec![ue(&[0])]);
    config.rlc.f1 = f1(3_000, 0, LimiterNode::Cu);
    for (arrives_us, leaves_us) in [(4_500, 10_000), (7_000, 10_000), (7_001, 20_000)] {
        let mut bench = Bench::new(&config);
        bench.send(arrives_us, 0, 1500, 1);
        assert!(bench.stack.is_busy());
        bench.run_to(arrives_us + 1);
        assert_eq!(bench.stack.conserved().queued, 1, "it is between CU and DU");
        bench.run_to(40_000);
        assert_eq!(bench.log.times_us(), [leaves_us], "arrived at {arrives_us} us");
        assert!(!bench.stack.is_busy());
    }
}

#[test]
fn the_cu_sends_what_the_report_of_a_period_says_when_it_arrives() {
    let mut config = packets(2, vec![ue(&[0])]);
    config.sdap.poll = poll(1_000, 0);
    let limit = FixedConfig { limit: Limit::Packets(4), overdraw: true };
    config.rlc.limiter = LimiterConfig::Fixed(limit);
    config.rlc.f1 = f1(10_000, 20_000, LimiterNode::Cu);
    let mut bench = Bench::new(&config);
    bench.send(0, 0, 1500, 20);
    bench.run_to(65_000);
    // Four reach the DU at 10 ms, and the report of 20 ms lets four more follow at 30 ms. The
    // report of 40 ms counts two that left then.
    let ms = bench.log.times_us().into_iter().map(|us| us / 1_000);
    assert!(ms.eq([10, 10, 20, 20, 40, 40, 50, 50, 60, 60]));
}

#[test]
fn after_a_lost_report_nothing_is_sent_until_the_next_one_which_has_all_that_left() {
    // Packets that leave in each period of reports, each of which admits four at most.
    let periods = |loss: f64| {
        let mut config = packets(2, vec![ue(&[0])]);
        config.sdap.poll = poll(1_000, 0);
        let limit = FixedConfig { limit: Limit::Packets(4), overdraw: true };
        config.rlc.limiter = LimiterConfig::Fixed(limit);
        config.rlc.f1 = f1(0, 20_000, LimiterNode::Cu);
        config.rlc.f1.report_loss = Ratio(loss);
        let mut bench = Bench::new(&config);
        bench.send(0, 0, 1500, 40);
        bench.run_to(2_000_000);
        let times = bench.log.times_us();
        assert_eq!(times.len(), 40);
        let of = |period| times.iter().filter(|us| us.div_ceil(20_000) == period).count();
        (1..=times[39].div_ceil(20_000)).map(of).collect::<Vec<usize>>()
    };
    let (all, half) = (periods(0.0), periods(0.5));
    assert!(all.iter().all(|count| (2..=4).contains(count)), "{all:?}");
    assert!(half.iter().all(|count| *count <= 4) && half.contains(&0), "{half:?}");
}

#[test]
fn packets_on_the_way_to_the_du_are_dropped_when_their_ue_has_left() {
    let mut config = packets(4, vec![ue(&[0])]);
    config.rlc.f1 = f1(5_000, 0, LimiterNode::Cu);
    let mut bench = Bench::new(&config);
    bench.send(1_000, 0, 1500, 3);
    let Bench { stack, log } = &mut bench;
    let context = stack.release(Instant::from_nanos(2 * MS), 0, log).expect("it is there");
    bench.run_to(8_000);
    assert_eq!(bench.log.drops, [(Layer::Rlc, DropReason::Handover); 3]);
    let Bench { stack, log } = &mut bench;
    assert!(stack.admit(Instant::from_nanos(8 * MS), context, log).is_ok());
    bench.send(9_000, 0, 1500, 1);
    bench.run_to(20_000);
    assert_eq!(bench.log.times_us(), [20_000]);
}

#[test]
fn every_limiter_on_either_side_of_f1_sends_everything_in_the_end() {
    for limiter in LimiterConfig::all() {
        let in_cu = limiter.allows_late_reports();
        for (node, fits) in [(LimiterNode::Cu, in_cu), (LimiterNode::Du, !limiter.foresees())] {
            let mut config = packets(4, vec![ue(&[0])]);
            config.sdap.poll = poll(1_000, 0);
            config.rlc.limiter = limiter.clone();
            config.rlc.f1 = f1(20_000, 50_000, node);
            if !fits {
                assert!(Stack::new(&config).is_err());
                continue;
            }
            for loss in [0.0, 0.5] {
                config.rlc.f1.report_loss = Ratio(loss);
                let mut bench = Bench::new(&config);
                bench.send(0, 0, 1500, 100);
                for second in 1..=120 {
                    bench.run_to(second * 1_000_000);
                }
                let delivered = bench.log.deliveries.len();
                assert_eq!(delivered, 100, "{} {node:?} {loss}", limiter.name());
            }
        }
    }
}
