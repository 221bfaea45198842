//! Reports about split bearers: one of each leg, as in the simulator.

use super::handovers::{in_blocks, simulated, simulated_reports, two_cells};
use super::*;
use crate::reports::UeReport;
use justfull_ran::{Routing, SplitConfig};
use justfull_run::Place;
use justfull_run::reported::{cell_names, secondaries};

/// One UE with a leg in each of two cells, west for the master's.
fn split() -> WorldConfig {
    let traffic = vec![source(172, 20_000), source(1_400, 1_500)];
    let mut config = config(ms(1), 1_500, droptail(), traffic);
    in_blocks(&mut config, "am");
    two_cells(&mut config, ms(10_000));
    let split = SplitConfig { routing: Routing::Weighted, ..SplitConfig::default() };
    let cells = config.cells.as_mut().expect("two cells");
    cells.places = vec![Arc::new(Place { split: Some((1, split)), ..Place::default() })];
    config
}

#[test]
fn both_legs_of_a_split_bearer_have_the_reports_of_the_simulated_ones_and_no_move_counts() {
    let config = split();
    let period = ms(10);
    let (packets, _) = simulated(&config);
    let mut bench = Bench::new(packets, Vec::new());
    let names = cell_names(&config).expect("names");
    assert_eq!(secondaries(&config), [Some(1)]);
    let mut stream = ReportStream::new(period).of_cells(names, secondaries(&config));
    let reports = stream.listen();
    bench.reports = Some(stream);
    let (live, report, _) = bench.run(&config);
    assert_eq!(live.broken, None);
    let counts = report.reports.expect("there was a listener");
    assert_eq!((counts.ues, counts.lost, counts.moves), (1, 0, 0));

    let patience = std::time::Duration::ZERO;
    let found: Vec<UeReport> =
        std::iter::from_fn(|| reports.next(patience).ok().flatten()).collect();
    let expected = simulated_reports(&config, period);
    let legs = &live.cells.as_deref().expect("two cells").legs;
    for (cell, leg) in (0..).zip(legs) {
        let found: Vec<_> = found.iter().filter(|of| of.cell == cell).collect();
        assert!(found.iter().all(|of| of.ue == 0 && of.secondary == (leg.leg == "secondary")));
        let expected: Vec<_> =
            expected.iter().filter(|(of, _)| of.cell == cell).map(|(_, ran)| ran).collect();
        // The last period ends with the run.
        assert!(found.len().abs_diff(expected.len()) <= 1 && found.len() > 190, "{}", found.len());
        for (found, expected) in found.iter().zip(&expected) {
            let [found, expected] = [&found.ran, *expected]
                .map(|ran| (ran.kind, ran.slot, ran.slots, ran.offered, ran.mcs));
            assert_eq!(found, expected);
        }
        let sum = |of: &dyn Fn(usize) -> [u64; 2], count: usize| {
            (0..count).map(of).fold([0; 2], |sum, next| [sum[0] + next[0], sum[1] + next[1]])
        };
        let both = found.len().min(expected.len());
        let [bytes, blocks] = sum(&|i| [found[i].ran.bytes, found[i].ran.blocks], both);
        let simulated = sum(&|i| [expected[i].bytes, expected[i].blocks], both);
        // A stamp is accurate to 50 us, so a packet may be in the next slot.
        let near = |a: u64, b: u64| a.abs_diff(b) * 50 <= b;
        assert!(near(bytes, simulated[0]), "{} {bytes} {simulated:?}", leg.cell);
        assert!(near(blocks, simulated[1]), "{} {blocks} {simulated:?}", leg.cell);
        // All that the leg delivered, and headers, went over its cell.
        assert!(leg.delivered_bytes > 500_000 && bytes > leg.delivered_bytes, "{leg:?} {bytes}");
        assert!(bytes < leg.delivered_bytes + leg.delivered_bytes / 20 + 60_000, "{leg:?} {bytes}");
        assert!(found.iter().all(|of| of.ran.blocks <= of.ran.used), "{}", leg.cell);
    }
}
