//! An uplink: hand-worked sequences of requests, grants and reports (TS 38.321 clauses 5.4.3 to
//! 5.4.5). The slots are 1 ms from 0 on; a request or a report may cause a PUSCH 6 slots later.

use super::*;
use crate::carrier::{AllocationType, CarrierConfig, CarrierKind};
use crate::channel::McsConfig;
use crate::harq::HarqConfig;
use crate::mac::{BsrConfig, ConfiguredGrantConfig, SrConfig};
use crate::rlc::RlcModeConfig;
use crate::rlc::mode::{AmConfig, UmConfig};
use crate::{AccessCounts, LogicalChannelConfig, UplinkMacConfig};
use justfull_base::{BitRate, Duration};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// 25 blocks of NR at MCS 10, allocated one by one; requests at 5, 25, 45, ... ms; no periodic
/// reports; a logical channel for each bearer, in decreasing priority.
fn uplink(ues: Vec<UeConfig>, change: impl Fn(&mut UplinkMacConfig)) -> StackConfig {
    let mut config = bytes(1, ues);
    let drbs = config.ues.iter().map(|ue| ue.drbs).max().unwrap_or(1);
    let channel =
        |drb: u8| LogicalChannelConfig { group: drb, ..LogicalChannelConfig::of(drb + 1) };
    let mut mac = UplinkMacConfig {
        slot: poll(1_000, 0),
        carrier: CarrierConfig {
            kind: CarrierKind::Nr,
            allocation: AllocationType::Type1,
            ..CarrierConfig::default()
        },
        sr: SrConfig { offset: Some(ms(5)), ..SrConfig::default() },
        bsr: BsrConfig { periodic: Duration::ZERO, ..BsrConfig::default() },
        logical_channel: (0..drbs).map(channel).collect(),
        ..UplinkMacConfig::default()
    };
    change(&mut mac);
    config.mac = MacConfig::Uplink(mac);
    config.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
    config.rlc.mode = RlcModeConfig::Um(UmConfig::default());
    config
}

fn counts(bench: &Bench) -> AccessCounts {
    bench.stack.access_counts().expect("an uplink")
}

/// Delivery times in ms.
fn times(bench: &Bench) -> Vec<u64> {
    bench.log.times_us().into_iter().map(|us| us / 1_000).collect()
}

#[test]
fn an_uplink_over_umi_with_block_errors_by_a_setting_is_refused() {
    use crate::channel::UmiConfig;
    use justfull_base::Ratio;
    let over_umi = |bler: f64| {
        let mut config = uplink(vec![ue(&[0])], |mac| {
            mac.slot = poll(125, 0);
            mac.sr.offset = None;
            mac.harq.bler = Ratio(bler);
        });
        config.channel = ChannelConfig::Umi(UmiConfig::default());
        config.validate()
    };
    assert_eq!(over_umi(0.0), Ok(()));
    let error = over_umi(0.1).expect_err("the SINR says how often a block fails");
    assert_eq!((error.field.as_str(), error.value.as_str()), ("mac.harq.bler", "0.1"));
}

#[test]
fn a_lone_packet_waits_for_its_occasion_and_its_grant() {
    // Occasions at 5 and 25 ms; the PUSCH 2 + 4 slots later.
    for (sent_us, arrives) in [(100, 11), (4_900, 11), (5_000, 11), (5_100, 31), (24_999, 31)] {
        let mut bench = Bench::new(&uplink(vec![ue(&[0])], |_| ()));
        bench.send(sent_us, 0, 100, 1);
        bench.run_to(80_000);
        assert_eq!(times(&bench), [arrives], "sent at {sent_us} us");
        let counts = counts(&bench);
        // The grant of 512 B holds the packet and a report of an empty buffer.
        assert_eq!((counts.requests, counts.grants, counts.regular_reports), (1, 1, 1));
    }
}

#[test]
fn a_report_brings_the_rest_six_slots_after_the_first_grant() {
    let mut bench = Bench::new(&uplink(vec![ue(&[0])], |_| ()));
    bench.send(100, 0, 1_000, 1);
    bench.run_to(80_000);
    // The request at 5 ms, its PUSCH with the report at 11 ms, the rest at 17 ms.
    assert_eq!(times(&bench), [17]);
    let counts = counts(&bench);
    assert_eq!((counts.requests, counts.grants, counts.regular_reports), (1, 2, 1));
    assert!(counts.padding_bytes < 200, "levels of 5 bits are up to 39 % wide: {counts:?}");
}

#[test]
fn a_full_buffer_has_a_grant_in_each_slot_until_the_reported_bytes_are_granted() {
    let mut bench = Bench::new(&uplink(vec![ue(&[0])], |_| ()));
    bench.send(100, 0, 1_000, 5);
    bench.run_to(80_000);
    let times = times(&bench);
    // The first PUSCH of 512 B or more at 11 ms, then from 17 ms on one of 25 blocks in each slot.
    assert_eq!(times[0], 17, "the first slot after the report: {times:?}");
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= 2), "without a pause: {times:?}");
    assert_eq!(counts(&bench).requests, 1);
}

#[test]
fn new_data_of_a_group_with_data_triggers_nothing_and_of_a_better_priority_a_report() {
    let mut bench = Bench::new(&uplink(vec![ue(&[0, 1])], |_| ()));
    bench.send(100, 1, 1_000, 5);
    bench.run_to(17_500);
    let before = counts(&bench);
    bench.send(17_600, 1, 100, 1);
    bench.run_to(18_500);
    assert_eq!(counts(&bench).regular_reports, before.regular_reports);
    bench.send(18_600, 0, 100, 1);
    bench.run_to(19_500);
    let after = counts(&bench);
    assert_eq!(after.regular_reports, before.regular_reports + 1, "in the grant at 19 ms");
    assert_eq!(after.requests, 1, "no request while there are grants");
    assert_eq!(bench.log.delivered_by(19_000, 0), 1, "before the bulk that waits");
}

#[test]
fn a_lost_report_is_made_up_for_after_the_retransmission_timer() {
    let mut bench = Bench::new(&uplink(vec![ue(&[0])], |mac| {
        mac.harq = HarqConfig { bler: Ratio(1.0), transmissions: 1, ..HarqConfig::default() };
    }));
    bench.send(100, 0, 1_000, 1);
    bench.run_to(110_500);
    // Request at 5, PUSCH lost at 11, regular report triggered at 91, request at 105.
    assert_eq!(counts(&bench).requests, 2);
    assert_eq!(counts(&bench).grants, 1);
    bench.run_to(111_000);
    assert_eq!(counts(&bench).grants, 2);
}

#[test]
fn a_periodic_report_comes_with_the_first_grant_after_its_timer() {
    let mut bench = Bench::new(&uplink(vec![ue(&[0])], |mac| mac.bsr.periodic = ms(10)));
    // 25 blocks carry the bulk from 17 ms on; the report of 11 ms is followed by others at 21, ...
    bench.send(100, 0, 1_000, 20);
    bench.run_to(20_500);
    assert_eq!(counts(&bench).periodic_reports, 0);
    bench.run_to(21_500);
    assert_eq!(counts(&bench).periodic_reports, 1);
    bench.run_to(31_500);
    assert_eq!(counts(&bench).periodic_reports, 2);
}

#[test]
fn a_prohibit_timer_spaces_requests_that_have_no_grant() {
    // 60 slots from a request to its grant: occasions each 20 ms, requests 45 ms apart at least.
    let slow = |mac: &mut UplinkMacConfig| {
        (mac.decoding, mac.k2) = (60, 0);
        mac.sr.prohibit = ms(45);
    };
    let mut bench = Bench::new(&uplink(vec![ue(&[0])], slow));
    bench.send(100, 0, 100, 1);
    bench.run_to(64_999);
    // At 5 and not at 25 or 45; the grant at 65 comes before the occasion.
    assert_eq!(counts(&bench).requests, 1);
    bench.run_to(65_000);
    assert_eq!((counts(&bench).requests, counts(&bench).grants), (1, 1));
    let eager = |mac: &mut UplinkMacConfig| (mac.decoding, mac.k2) = (60, 0);
    let mut bench = Bench::new(&uplink(vec![ue(&[0])], eager));
    bench.send(100, 0, 100, 1);
    bench.run_to(65_000);
    assert_eq!(counts(&bench).requests, 3, "at 5, 25 and 45 ms");
}

#[test]
fn a_configured_grant_needs_no_request_and_is_unused_without_data() {
    let grant = ConfiguredGrantConfig { period: ms(10), blocks: 6 };
    let mut bench =
        Bench::new(&uplink(vec![ue(&[0]), ue(&[0])], |mac| mac.configured = Some(grant.clone())));
    // UE 0 has slots 0, 10, 20, ..., UE 1 has slots 1, 11, ...
    bench.send(2_100, 0, 100, 1);
    bench.send(2_100, 1, 100, 1);
    bench.run_to(80_000);
    assert_eq!((times(&bench), bench.log.flows()), (vec![10, 11], vec![0, 1]));
    let counts = counts(&bench);
    // Both UEs send a request at 5 ms and get a grant at 11 ms; UE 0 has no data left.
    assert_eq!(counts.requests, 2);
    assert!(counts.grants <= 4, "no PUSCH without data but those of requests: {counts:?}");
}

#[test]
fn the_uplink_has_the_slots_of_its_letter() {
    let tdd = |mac: &mut UplinkMacConfig| mac.carrier.tdd = "DDDSU".into();
    let mut bench = Bench::new(&uplink(vec![ue(&[0])], tdd));
    bench.send(100, 0, 100, 1);
    bench.run_to(80_000);
    // The occasion of 5 ms is moved to the uplink's slot 9; its PUSCH at 15 or later: 19.
    assert_eq!(times(&bench), [19]);
}

#[test]
fn a_ue_of_little_power_fills_few_blocks() {
    // 6 dB: four times the power of a block, 3.98, so 3 blocks.
    let weak = |mac: &mut UplinkMacConfig| mac.power_headroom = Some(6.0);
    let run = |config: &StackConfig| {
        let mut bench = Bench::new(config);
        bench.send(100, 0, 1_000, 1);
        bench.send(100, 1, 1_000, 1);
        bench.run_to(200_000);
        assert_eq!(bench.log.deliveries.len(), 2);
        *times(&bench).last().expect("delivered")
    };
    let (strong, weak) = (
        run(&uplink(vec![ue(&[0]), ue(&[0])], |_| ())),
        run(&uplink(vec![ue(&[0]), ue(&[0])], weak)),
    );
    assert!(strong <= 20 && weak > 25, "1 kB in slots of 25 and of 3 blocks: {strong}, {weak} ms");
}

#[test]
fn ues_compete_for_the_blocks_of_a_slot() {
    let alone = {
        let mut bench = Bench::new(&uplink(vec![ue(&[0])], |_| ()));
        bench.send(100, 0, 1_000, 10);
        bench.run_to(300_000);
        *times(&bench).last().expect("delivered")
    };
    let mut bench = Bench::new(&uplink(vec![ue(&[0]), ue(&[0]), ue(&[0])], |_| ()));
    for flow in 0..3 {
        bench.send(100, flow, 1_000, 10);
    }
    bench.run_to(300_000);
    assert_eq!(bench.log.deliveries.len(), 30);
    let last = *times(&bench).last().expect("delivered");
    assert!(last > 2 * alone, "three UEs take {last} ms, one {alone} ms");
}

#[test]
fn acknowledged_mode_repairs_blocks_that_harq_gives_up() {
    let mut config = uplink(vec![ue(&[0])], |mac| {
        mac.harq = HarqConfig { bler: Ratio(0.3), transmissions: 1, ..HarqConfig::default() };
        mac.bsr.retransmission = ms(20);
    });
    config.rlc.mode = RlcModeConfig::Am(AmConfig::default());
    // A retransmission may wait for several requests.
    config.pdcp.t_reordering = ms(3_000);
    let mut bench = Bench::new(&config);
    for turn in 0..40 {
        bench.send(turn * 10_000 + 300, 0, 700, 2);
        bench.run_to(turn * 10_000 + 9_000);
    }
    bench.run_to(4_000_000);
    assert_eq!(bench.stack.conserved().delivered, 80, "{:?}", bench.log.drops);
}

#[test]
fn a_bearer_without_a_priority_is_refused() {
    let config = uplink(vec![ue(&[0, 1])], |mac| mac.logical_channel.truncate(1));
    let error = Stack::new(&config).err().expect("one of two channels has no priority");
    assert_eq!(error.field, "mac.logical_channel");
    let none = uplink(vec![ue(&[0])], |mac| mac.logical_channel.clear());
    assert!(Stack::new(&none).is_ok(), "one bearer needs none");
    let out = uplink(vec![ue(&[0])], |mac| mac.logical_channel[0].priority = 17);
    let error = Stack::new(&out).err().expect("17 is above 16");
    assert_eq!(error.field, "mac.logical_channel[0].priority");
    let rate = uplink(vec![ue(&[0])], |mac| {
        mac.logical_channel[0].pbr = Some(BitRate(524_288_001));
    });
    let error = Stack::new(&rate).err().expect("above kBps65536");
    assert_eq!(error.field, "mac.logical_channel[0].pbr");
    let grants = uplink(vec![ue(&[0])], |mac| {
        mac.configured = Some(ConfiguredGrantConfig { period: ms(1), blocks: 26 });
    });
    let error = Stack::new(&grants).err().expect("26 of 25 blocks");
    assert_eq!(error.field, "mac.configured.blocks");
    let down = uplink(vec![ue(&[0])], |mac| mac.carrier.tdd = "DDD".into());
    let error = Stack::new(&down).err().expect("no slot of the uplink");
    assert_eq!(error.field, "mac.carrier.tdd");
}

/// Two bearers, of which the second has a guaranteed bucket: 40 kB/s.
#[test]
fn a_bucket_keeps_a_lower_priority_alive() {
    let run = |pbr: Option<u64>| {
        let mut bench = Bench::new(&uplink(vec![ue(&[0, 1])], |mac| {
            mac.logical_channel[0].pbr = Some(BitRate(0));
            mac.logical_channel[1].pbr = pbr.map(BitRate);
        }));
        bench.send(100, 0, 1_000, 200);
        bench.send(100, 1, 500, 20);
        bench.run_to(150_000);
        bench.log.delivered_by(150_000, 1)
    };
    assert_eq!(run(Some(0)), 0, "strict priority");
    let kept = run(Some(320_000));
    // From 11 to 150 ms 40 kB/s are 5.6 kB, 11 packets of 500 B; the bucket is full of 4 kB first.
    assert!((8..=12).contains(&kept), "{kept}");
}
