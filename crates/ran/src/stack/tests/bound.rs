//! The bound of a packet's delay: empty queues and its own transmission.

use super::*;

/// The departure of the last packet of flow 0, and its bound, in ms, for a packet of `size` bytes
/// that arrives at 1 ms after the packets sent by `before`.
fn last(config: &StackConfig, size: u32, before: impl FnOnce(&mut Bench)) -> [u64; 2] {
    let mut bench = Bench::new(config);
    before(&mut bench);
    bench.send(1_000, 0, size, 1);
    bench.run_to(200_000);
    let (at, _, bound) = *bench.log.deliveries.iter().rfind(|d| d.1 == 0).expect("delivered");
    [at, bound.expect("it is tracked")].map(|at| at.as_nanos() / MS)
}

#[test]
fn the_bound_of_a_packet_has_its_own_transmission() {
    let config = bytes(1_250, vec![ue(&[0, 0])]);
    for (size, slots) in [(1_250, 1), (1_251, 2), (2_500, 2), (2_501, 3)] {
        assert_eq!(last(&config, size, |_| {}), [10 * slots; 2], "{size} B alone");
        let busy = last(&config, size, |bench| bench.send(0, 1, 1_250, 5));
        assert!(busy[0] > busy[1] && busy[1] == 10 * slots, "{size} B behind others: {busy:?}");
    }
    let whole = packets(1, vec![ue(&[0, 0])]);
    assert_eq!(last(&whole, 1_500, |bench| bench.send(0, 1, 1_500, 3)), [30, 10]);
}

#[test]
fn the_bound_of_a_packet_has_the_outages_that_it_meets_and_the_headers_of_its_slots() {
    let mut config = bytes(0, vec![ue(&[0, 0])]);
    config.channel =
        ChannelConfig::Pattern(PatternConfig { bytes: vec![600, 0, 0, 500, 400, 1_500] });
    assert_eq!(last(&config, 900, |_| {}), [40, 40], "500 B at 30 ms, the rest at 40 ms");
    assert_eq!(last(&config, 900, |bench| bench.send(0, 1, 1_200, 1)), [50, 40]);
    let mut config = bytes(1_000, vec![ue(&[0, 0])]);
    config.mac = in_bytes(100);
    assert_eq!(last(&config, 901, |_| {}), [20, 20]);
}

#[test]
fn with_a_channel_of_the_ues_own_the_bound_is_the_first_slot() {
    let mut config = bytes(3_000, vec![ue(&[0, 0])]);
    config.ue_mut(0).channel = Some(constant(1_000));
    assert_eq!(last(&config, 1_500, |_| {}), [20, 10]);
}
