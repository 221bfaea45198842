//! A cell's reports about its UEs.

use super::*;
use crate::carrier::{CarrierConfig, CarrierKind};
use crate::channel::McsConfig;
use crate::harq::HarqConfig;
use justfull_base::feedback::{CellKind, RanReport};

/// The reports of all UEs at `us`.
fn reports_at(bench: &mut Bench, us: u64) -> Vec<RanReport> {
    bench.run_to(us);
    let mut all = Vec::new();
    bench.stack.reports(Instant::from_nanos(us * 1_000), |ue, report| {
        assert_eq!(ue as usize, all.len());
        all.push(*report);
    });
    all
}

fn assert_sane(reports: &[RanReport]) {
    for r in reports {
        assert!(r.slots > 0 && !r.slot.is_zero(), "{r:?}");
        assert!(r.repeats <= r.blocks && r.blocks <= r.used && r.used <= r.offered, "{r:?}");
    }
}

#[test]
fn nothing_is_told_before_it_is_asked_for_nor_before_a_slot() {
    let mut bench = Bench::new(&bytes(3_000, vec![ue(&[0])]));
    assert!(reports_at(&mut bench, 25_000).is_empty());
    bench.stack.start_reports();
    assert!(reports_at(&mut bench, 29_000).is_empty());
    bench.send(29_500, 0, 1_000, 2);
    let [report] = reports_at(&mut bench, 45_000)[..] else { panic!("one UE") };
    assert_eq!((report.at.as_nanos(), report.kind), (45 * MS, CellKind::Bytes));
    assert_eq!((report.slot, report.slots), (Duration::from_millis(10), 2));
    assert_eq!((report.offered, report.used, report.active_ues), (6_000, 2_000, 1));
    assert_eq!((report.blocks, report.repeats, report.bytes), (2_000, 0, 2_000));
    assert_eq!((report.mcs, report.backlog), (None, 0));
    let [report] = reports_at(&mut bench, 55_000)[..] else { panic!("one UE") };
    assert_eq!((report.slots, report.used, report.active_ues), (1, 0, 0), "it begins anew");
}

#[test]
fn two_ues_share_a_cell_of_packets_whose_blocks_are_bytes_of_whole_packets() {
    let mut bench = Bench::new(&packets(4, vec![ue(&[0]), ue(&[0])]));
    bench.stack.start_reports();
    bench.send(1_000, 0, 500, 4);
    bench.send(1_000, 1, 700, 7);
    let [a, b] = reports_at(&mut bench, 20_000)[..] else { panic!("two UEs") };
    assert_eq!((a.offered, a.used, a.active_ues), (3 * 4 * 1_500, 2 * 4 * 1_500, 2));
    assert_eq!((a.blocks, a.bytes, a.backlog), (4 * 1_500, 4 * 500, 0));
    assert_eq!((b.blocks, b.bytes, b.backlog), (4 * 1_500, 4 * 700, 3 * 700));
}

#[test]
fn a_ue_with_a_channel_of_its_own_is_told_what_slots_carry_to_it() {
    let own = |per_slot| UeConfig { channel: Some(constant(per_slot)), ..ue(&[0]) };
    let mut bench = Bench::new(&bytes(9_999, vec![own(1_000), own(4_000), own(2_000)]));
    bench.stack.start_reports();
    // Half of the slot at 10 ms for the slow UE, a quarter for the fast one.
    bench.send(1_000, 0, 500, 1);
    bench.send(1_000, 1, 1_000, 1);
    let reports = reports_at(&mut bench, 15_000);
    assert_sane(&reports);
    let amounts: Vec<_> = reports.iter().map(|r| (r.offered, r.blocks, r.used)).collect();
    // The slots at 0 and at 10 ms.
    assert_eq!(amounts, [(2_000, 500, 750), (8_000, 1_000, 3_000), (4_000, 0, 1_500)]);
    assert!(reports.iter().all(|r| r.active_ues == 2));
}

#[test]
fn blocks_and_repeats_of_a_lossy_carrier_add_up_to_what_its_slots_used() {
    let mut config = bytes(1, vec![ue(&[0]), ue(&[0, 1])]);
    let harq = HarqConfig { bler: Ratio(0.2), ..HarqConfig::default() };
    config.mac = MacConfig::Rb(RbConfig { slot: poll(1_000, 0), harq, ..RbConfig::default() });
    config.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
    let mut bench = Bench::new(&config);
    bench.stack.start_reports();
    let mut rng = Rng::stream(1, "arrivals");
    let (mut blocks, mut repeats, mut bytes, mut used) = (0, 0, 0, 0);
    for period in 0..50 {
        for _ in 0..10 {
            let us = period * 10_000 + rng.below(10) * 10;
            bench.send(us, rng.below(3) as u32, 40 + rng.below(1_400) as u32, 1);
        }
        let reports = reports_at(&mut bench, (period + 1) * 10_000 - 1);
        assert_sane(&reports);
        assert!(reports.iter().all(|r| (r.mcs, r.slots, r.offered) == (Some(10), 10, 250)));
        assert_eq!(reports[0].kind, CellKind::Lte { mcs_table: 1, layers: 1 });
        assert_eq!(reports.iter().map(|r| r.blocks).sum::<u64>(), reports[0].used);
        used += reports[0].used;
        for r in &reports {
            (blocks, repeats, bytes) = (blocks + r.blocks, repeats + r.repeats, bytes + r.bytes);
        }
    }
    assert!(blocks == used && repeats * 20 > blocks && repeats * 3 < blocks, "{repeats} {blocks}");
    assert!(bytes > 100_000, "{bytes}");
}

#[test]
fn offered_blocks_of_a_tdd_pattern_are_as_many_full_ones_as_its_slots_carry() {
    let mut config = bytes(1, vec![ue(&[0])]);
    let carrier = CarrierConfig {
        kind: CarrierKind::Nr,
        n_prb: 100,
        tdd: "DDDSU".into(),
        ..CarrierConfig::default()
    };
    config.mac = MacConfig::Rb(RbConfig { slot: poll(500, 0), carrier, ..RbConfig::default() });
    config.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![20], ..McsConfig::default() });
    let mut bench = Bench::new(&config);
    bench.stack.start_reports();
    bench.send(100, 0, 1_500, 400);
    let [report] = reports_at(&mut bench, 5_000 - 1)[..] else { panic!("one UE") };
    // Four of five slots carry data: three in all of their 13 symbols, one in 5.
    assert_eq!((report.slots, report.slot), (8, Duration::from_micros(625)));
    assert_eq!(report.offered, 2 * (300 + 100 * 5 / 13));
    let taken = report.offered - 100;
    assert_eq!((report.used, report.blocks), (taken, taken), "all but the slot at 0");
    let CellKind::Nr { symbols, dmrs_res, .. } = report.kind else { panic!("{report:?}") };
    assert_eq!((symbols, dmrs_res), (13, 12));
}
