//! Packets that interrupt another that is partly sent.

use super::*;
use justfull_queue::discipline::{DisciplineConfig, lanes::LanesConfig};

/// Slots of 400 B for a UE with an urgent QoS flow (0) and another (1) on one bearer, with lanes.
fn slow(interrupt: bool) -> Bench {
    let lanes = LanesConfig { interrupt, ..LanesConfig::default() };
    let mut config = bytes(400, vec![ue(&[0, 0])]);
    config.rlc.queue.discipline = DisciplineConfig::Lanes(lanes);
    Bench::new(&config)
}

#[test]
fn an_urgent_packet_interrupts_a_packet_that_is_partly_sent_and_that_continues_where_it_was() {
    for (interrupt, expected) in [
        // The urgent packet takes 200 B of the slot at 20 ms. 1500 B and 200 B take 5 slots.
        (true, [(20_000, 0), (50_000, 1)]),
        (false, [(40_000, 1), (50_000, 0)]),
    ] {
        let mut bench = slow(interrupt);
        assert_eq!(bench.stack.most_begun(), if interrupt { 2 } else { 1 });
        bench.send(1_000, 1, 1_500, 1);
        bench.run_to(10_000);
        bench.send(11_000, 0, 200, 1);
        bench.run_to(60_000);
        let found: Vec<_> = bench.log.times_us().into_iter().zip(bench.log.flows()).collect();
        assert_eq!(found, expected, "{interrupt}");
    }
}

#[test]
fn an_urgent_packet_that_takes_many_slots_is_itself_not_interrupted_and_all_bytes_count() {
    let mut bench = slow(true);
    bench.send(1_000, 1, 1_500, 1);
    bench.run_to(10_000);
    bench.send(11_000, 0, 1_000, 1);
    bench.run_to(20_000);
    let view = bench.stack.cell.ues[0].bearers[0].view();
    assert_eq!((view.packets, view.bytes), (2, 1_500 + 1_000 - 800), "400 B of each have left");
    bench.send(21_000, 0, 100, 1);
    bench.run_to(80_000);
    assert_eq!(bench.log.flows(), [0, 0, 1]);
    assert_eq!(bench.log.times_us(), [40_000, 40_000, 70_000]);
}

#[test]
fn a_new_flow_interrupts_a_download_that_stands() {
    let lanes = LanesConfig { classes: false, ..LanesConfig::default() };
    let mut config = bytes(400, vec![ue(&[0, 0])]);
    config.rlc.queue.discipline = DisciplineConfig::Lanes(lanes);
    let mut bench = Bench::new(&config);
    // Two packets wait for longer than a steady lane may hold packets.
    for ms in [1, 51, 101, 151] {
        bench.send(ms * 1_000, 1, 1_500, 2);
        bench.run_to((ms + 49) * 1_000);
    }
    let before = bench.log.flows().len();
    bench.send(201_000, 0, 200, 1);
    bench.run_to(210_000);
    assert_eq!(bench.log.flows()[before..], [0]);
}
