//! Packets that move down in one batch arrive like packets that move one by one.

use super::*;
use justfull_base::Rng;
use proptest::prelude::*;

/// A UE with two QFIs behind polls, with random limits and batches.
fn config(rng: &mut Rng) -> StackConfig {
    let drbs: &[u8] = if rng.chance(0.5) { &[0, 0] } else { &[0, 1] };
    let mut config = bytes(1_500 + rng.below(9_000), vec![ue(drbs), ue(&[0])]);
    let limit = |rng: &mut Rng| match rng.below(3) {
        0 => Limit::Packets(1 + rng.below(12) as u32),
        1 => Limit::Bytes(1_500 + rng.below(9_000)),
        _ => Limit::Unlimited,
    };
    let batch = |rng: &mut Rng| if rng.chance(0.5) { 1 + rng.below(5) as u32 } else { u32::MAX };
    config.upf.poll = poll(700, rng.below(700));
    config.sdap.poll = poll(500, rng.below(500));
    *config.mac.slot_mut() = poll(1_000, 0);
    config.upf.batch = batch(rng);
    config.sdap.batch = batch(rng);
    config.upf.queue.limit = limit(rng);
    config.sdap.queue.limit = limit(rng);
    config.rlc.queue.limit = limit(rng);
    config.sdap.scheduler = match rng.below(3) {
        0 => SdapSchedulerConfig::StrictPriority(StrictPriorityConfig {}),
        1 => SdapSchedulerConfig::Drr(DrrConfig::default()),
        _ => SdapSchedulerConfig::default(),
    };
    config.assert_bound = false;
    config
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(64) })]

    #[test]
    fn a_lot_is_its_packets_one_by_one(seed in any::<u64>()) {
        let mut rng = Rng::stream(seed, "pour");
        let config = config(&mut rng);
        let (mut poured, mut moved) = (Bench::new(&config), Bench::new(&config));
        // As with a pacer, which decides on each packet.
        moved.stack.unpaced = false;
        let mut us = 0;
        for _ in 0..200 {
            us += rng.below(400);
            let (flow, size) = (rng.below(3) as u32, 40 + rng.below(1_400) as u32);
            let count = rng.below(4) as usize;
            for bench in [&mut poured, &mut moved] {
                bench.send(us, flow, size, count);
                bench.run_to(us);
            }
            let [a, b] = [&poured, &moved].map(|bench| bench.stack.next_wake());
            prop_assert_eq!(a, b);
        }
        for bench in [&mut poured, &mut moved] {
            bench.run_to(us + 100_000);
        }
        prop_assert_eq!(&poured.log.deliveries, &moved.log.deliveries);
        prop_assert_eq!(&poured.log.drops, &moved.log.drops);
        prop_assert_eq!(poured.log.rlc_peak, moved.log.rlc_peak);
    }
}
