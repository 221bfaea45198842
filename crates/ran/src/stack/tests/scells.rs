//! Carrier aggregation: hand-worked capacities and delays, and limiters above several carriers.

use super::*;
use crate::carrier::{CarrierConfig, CarrierKind};
use crate::channel::McsConfig;
use crate::harq::HarqConfig;
use crate::limiter::{EBdp5gConfig, LastPollConfig};
use crate::rb_scheduler::RbSchedulerConfig;
use crate::rlc::RlcModeConfig;
use crate::rlc::mode::AmConfig;
use crate::{CarrierUse, ScellConfig};

fn mcs(index: u8) -> ChannelConfig {
    ChannelConfig::Mcs(McsConfig { mcs: vec![index], ..McsConfig::default() })
}

fn nr(n_prb: u16) -> CarrierConfig {
    CarrierConfig { kind: CarrierKind::Nr, n_prb, ..CarrierConfig::default() }
}

fn scell(name: &str, slot_us: u64, carrier: CarrierConfig, index: u8) -> ScellConfig {
    ScellConfig {
        name: name.into(),
        slot: Duration::from_micros(slot_us),
        carrier,
        harq: HarqConfig::default(),
        cqi_delay: 0,
        channel: mcs(index),
        ues: Arc::new([]),
    }
}

/// A PCell of NR in slots of `slot_us` at MCS `index`, beside `scells`.
fn aggregated(
    slot_us: u64,
    carrier: CarrierConfig,
    index: u8,
    scells: Vec<ScellConfig>,
) -> StackConfig {
    let mut config = bytes(1, vec![ue(&[0])]);
    config.mac = MacConfig::Rb(RbConfig { slot: poll(slot_us, 0), carrier, ..RbConfig::default() });
    config.channel = mcs(index);
    config.scells = scells;
    config
}

fn uses(bench: &Bench) -> Vec<(String, u64, u64)> {
    let of = |c: CarrierUse| (c.name, c.slots, c.bytes);
    bench.stack.carriers().into_iter().map(of).collect()
}

/// TS 38.214 section 5.1.3.2 at MCS 10 of table 1 (16QAM, 340/1024) with 144 resource elements a
/// block: 10 blocks carry 1912.5 bits of information, so a transport block of 1928 bits or 241 B; 5
/// blocks carry 956.25, so 984 bits or 123 B.
const TEN: u64 = 241;
const FIVE: u64 = 123;

#[test]
fn two_constant_carriers_carry_the_sum_of_both() {
    // 0 to 99.75 ms: 100 slots of 1 ms and 400 of 0.25 ms.
    for (pcell, second) in [((1_000, 10), (250, 5)), ((250, 5), (1_000, 10))] {
        let other = scell("second", second.0, nr(second.1), 10);
        let mut bench = Bench::new(&aggregated(pcell.0, nr(pcell.1), 10, vec![other]));
        bench.send(0, 0, 1_000, 400);
        bench.run_to(99_750);
        let (ten, five) = ((100, 100 * TEN), (400, 400 * FIVE));
        let (first, last) = if pcell.0 == 1_000 { (ten, five) } else { (five, ten) };
        let expected = [("pcell", first), ("second", last)];
        for ((name, slots, bytes), (expected, (k, most))) in uses(&bench).iter().zip(expected) {
            assert_eq!((name.as_str(), *slots), (expected, k));
            // The end of a block that holds no header and byte stays empty.
            assert!((most - k / 10..=most).contains(bytes), "{name}: {bytes} of {most}");
        }
        // 500 PDUs, each with a MAC subheader of 3 B and an RLC header of 1 to 3 B; and 2 B of PDCP
        // for each SDU. A PDU may hold the ends of two SDUs.
        let all = ten.1 + five.1;
        let delivered = bench.log.deliveries.len() as u64;
        assert!(delivered * 1_002 <= all - 500 * 4, "{delivered}");
        assert!((delivered + 1) * 1_002 >= all - 700 * 6, "{delivered}");
    }
}

#[test]
fn a_lone_packet_takes_the_slots_of_both_carriers() {
    let pcell_alone = aggregated(1_000, nr(10), 10, Vec::new());
    let both = aggregated(1_000, nr(10), 10, vec![scell("b", 250, nr(5), 10)]);
    let arrival = |config: &StackConfig| {
        let mut bench = Bench::new(config);
        bench.run_to(590);
        bench.send(600, 0, 600, 1);
        bench.run_to(10_000);
        bench.log.times_us()
    };
    // 602 B with PDCP's header. PCell at 1, 2, 3 ms: less than 241 - 4 B in each.
    assert_eq!(arrival(&pcell_alone), [3_000]);
    // SCell at 0.75 ms (119 B at most), both at 1 ms (237 and 119), SCell at 1.25 ms (119): less
    // than 602 together; the last bytes leave at 1.5 ms.
    assert_eq!(arrival(&both), [1_500]);
    // 100 B fit the next slot of any carrier.
    let mut bench = Bench::new(&both);
    bench.run_to(590);
    bench.send(600, 0, 100, 1);
    bench.run_to(10_000);
    assert_eq!(bench.log.times_us(), [750]);
}

#[test]
fn segments_that_a_carrier_sends_again_arrive_late_and_packets_stay_in_order() {
    let harq = HarqConfig { bler: Ratio(0.4), combining: Ratio(0.5), ..HarqConfig::default() };
    let second = ScellConfig { harq, ..scell("b", 250, nr(25), 10) };
    for mode in [RlcModeConfig::default(), RlcModeConfig::Am(AmConfig::default())] {
        let mut config = aggregated(1_000, nr(50), 10, vec![second.clone()]);
        config.rlc.mode = mode;
        let mut bench = Bench::new(&config);
        let mut seen = Vec::new();
        for k in 0..200 {
            bench.send(k * 500, 0, 900, 1);
        }
        bench.run_to(1_000_000);
        seen.extend(bench.log.deliveries.iter().map(|(at, ..)| *at));
        assert!(seen.is_sorted() && seen.len() > 190, "{}", seen.len());
        let [pcell, scell] = &bench.stack.carriers()[..] else { panic!("two carriers") };
        assert!(pcell.bytes > 0 && scell.bytes > 0, "{pcell:?} {scell:?}");
    }
}

#[test]
fn a_ue_without_scells_is_served_by_the_pcell_alone() {
    let one = ScellConfig { ues: Arc::new([true, false]), ..scell("b", 1_000, nr(10), 10) };
    let mut config = aggregated(1_000, nr(10), 10, vec![one]);
    config.ues.push(Arc::new(ue(&[0])));
    let mut bench = Bench::new(&config);
    bench.send(0, 1, 1_000, 100);
    bench.run_to(99_000);
    let [(_, 100, pcell), (_, 100, 0)] = uses(&bench)[..] else { panic!("{:?}", uses(&bench)) };
    assert!((100 * TEN - 10..=100 * TEN).contains(&pcell), "{pcell}");
}

#[test]
fn limiters_keep_the_sum_of_the_carriers_busy() {
    let limiters = [
        (LimiterConfig::Bdp5g(Bdp5gConfig::default()), &[1_000][..]),
        (LimiterConfig::EBdp5g(EBdp5gConfig::default()), &[1_000]),
        (LimiterConfig::LastPoll(LastPollConfig::default()), &[1_000, 250]),
        (LimiterConfig::Drql(DrqlConfig::default()), &[1_000, 250]),
    ];
    let mut idle = Vec::new();
    for (limiter, slots) in limiters {
        for &slot_us in slots {
            let mut config = aggregated(1_000, nr(50), 10, vec![scell("b", slot_us, nr(50), 10)]);
            config.rlc.limiter = limiter.clone();
            config.sdap.poll = poll(125, 50);
            let mut bench = Bench::new(&config);
            // More than both carriers carry in a second.
            bench.send(0, 0, 1_000, 8_000);
            bench.run_to(1_000_000);
            let shares = bench.stack.carriers();
            let (used, offered) =
                shares.iter().fold((0, 0), |sum, c| (sum.0 + c.used, sum.1 + c.offered));
            let share = used as f64 / offered as f64;
            if share < 0.95 {
                idle.push((limiter.name(), slot_us, share));
            }
        }
    }
    assert!(idle.is_empty(), "{idle:?}");
}

#[test]
fn the_clairvoyant_limiter_foresees_the_sum_of_the_carriers() {
    let run = |limiter: LimiterConfig| {
        let mut config = aggregated(1_000, nr(20), 10, vec![scell("b", 500, nr(10), 10)]);
        config.rlc.limiter = limiter;
        config.sdap.poll = poll(250, 100);
        let mut bench = Bench::new(&config);
        bench.send(0, 0, 1_000, 500);
        bench.run_to(200_000);
        (bench.stack.carriers(), bench.log.rlc_peak)
    };
    let (all, _) = run(LimiterConfig::default());
    let (foreseen, peak) = run(LimiterConfig::Clairvoyant(ClairvoyantConfig::default()));
    assert_eq!(foreseen[1].used, all[1].used);
    assert!(peak < 6, "{peak}");
}

#[test]
fn scells_that_no_mac_entity_can_have_are_refused() {
    let refused = |change: &dyn Fn(&mut StackConfig)| {
        let mut config = aggregated(1_000, nr(10), 10, vec![scell("b", 250, nr(5), 10)]);
        change(&mut config);
        Stack::new(&config).map(|_| ()).expect_err("refused").field
    };
    let twice = |c: &mut StackConfig| c.scells.push(c.scells[0].clone());
    assert_eq!(refused(&twice), "scell[1].name");
    assert_eq!(refused(&|c| c.scells[0].name = "pcell".into()), "scell[0].name");
    assert_eq!(refused(&|c| c.scells[0].name.clear()), "scell[0].name");
    assert_eq!(refused(&|c| c.scells[0].carrier.kind = CarrierKind::Lte), "scell[0].carrier.kind");
    assert_eq!(refused(&|c| c.scells[0].carrier.n_prb = 0), "scell[0].carrier.n_prb");
    assert_eq!(refused(&|c| c.scells[0].slot = Duration::from_micros(300)), "scell[0].slot");
    assert_eq!(refused(&|c| c.scells[0].channel = constant(5)), "scell[0].channel");
    assert_eq!(refused(&|c| c.scells[0].harq.bler = Ratio(2.0)), "scell[0].harq.bler");
    let eqp = |c: &mut StackConfig| rb(c).scheduler = RbSchedulerConfig::Eqp(Default::default());
    assert_eq!(refused(&eqp), "mac.scheduler.kind");
    let bdp = |c: &mut StackConfig| c.rlc.limiter = LimiterConfig::Bdp5g(Bdp5gConfig::default());
    assert_eq!(refused(&bdp), "rlc.limiter.kind");
    let packets = |c: &mut StackConfig| {
        c.mac = MacConfig::Packets(PacketsConfig { slot: poll(1_000, 0) });
        c.channel = constant(5);
    };
    assert_eq!(refused(&packets), "scell");
}
