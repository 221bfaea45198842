//! A MAC that allocates resource blocks.

use super::*;
use crate::carrier::{AllocationType, CarrierConfig, CarrierKind};
use crate::channel::{McsConfig, UmiConfig};
use crate::harq::HarqConfig;
use crate::limiter::{AnyLimiter, CapacityUnit, EBdp5gConfig, LastPollConfig, Limiter, RlcView};
use crate::rb_scheduler::{ProportionalFairConfig, RbSchedulerConfig};
use crate::rlc::RlcModeConfig;
use crate::rlc::mode::{AmConfig, Generation, TmConfig, UmConfig};
use justfull_base::{Duration, Ratio, Rng, SlotReport};
use std::boxed::Box;
use std::sync::{Arc as Shared, Mutex};

/// An LTE cell of 25 blocks in which a tenth of the transport blocks must be retransmitted.
fn lossy(mode: RlcModeConfig) -> StackConfig {
    let mut config = bytes(1, vec![ue(&[0]), ue(&[0, 1])]);
    let harq = HarqConfig { bler: Ratio(0.1), combining: Ratio(1.0), ..HarqConfig::default() };
    config.mac = MacConfig::Rb(RbConfig { slot: poll(1_000, 0), harq, ..RbConfig::default() });
    config.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
    config.rlc.mode = mode;
    config
}

#[test]
fn a_bearers_backlog_is_what_its_list_sums_up_to() {
    let lte = UmConfig { generation: Generation::Lte, sn_bits: 10, ..UmConfig::default() };
    let modes = [
        RlcModeConfig::Tm(TmConfig {}),
        RlcModeConfig::Um(UmConfig::default()),
        RlcModeConfig::Um(lte),
        RlcModeConfig::Am(AmConfig::default()),
    ];
    for mode in modes {
        let mut bench = Bench::new(&lossy(mode));
        let mut rng = Rng::stream(1, "arrivals");
        let (mut listed, mut begun) = (Vec::new(), 0);
        for slot in 0..400 {
            bench.send(slot * 1_000 + 500, rng.below(3) as u32, 40 + rng.below(360) as u32, 2);
            bench.run_to(slot * 1_000 + 999);
            for rlc in bench.stack.cell.ues.iter().flat_map(|ue| ue.bearers.iter()) {
                listed.clear();
                let all = rlc.list_sdus(u32::MAX, &mut listed);
                assert_eq!(all, rlc.backlog_on_air(), "slot {slot}");
                assert_eq!(
                    all,
                    listed.iter().map(|&bytes| u64::from(bytes)).sum::<u64>(),
                    "slot {slot}"
                );
                assert_eq!(rlc.wants_to_send(), all > 0, "slot {slot}");
                // A demand that fills a slot without a list also fills it with a list.
                let most = rng.below(3_000) as u32;
                assert!(!rlc.fills(most) || rlc.list_sdus(most, &mut listed) >= u64::from(most));
                begun += u32::from(rlc.fills(1));
            }
        }
        assert!(begun > 100, "bearers had something to send");
    }
}

#[test]
fn a_cell_of_calls_is_served_alike_whether_a_transmission_might_fail_or_not() {
    // If no block can fail, slots in which every UE has one small SDU take a shorter path. An SDU
    // of 300 B must be segmented, which TM cannot do.
    let cells = [
        (AllocationType::Type0, RlcModeConfig::Um(UmConfig::default()), 300),
        (AllocationType::Type1, RlcModeConfig::Tm(TmConfig {}), 20),
    ];
    for (allocation, rlc, large) in cells {
        let run = |bler: f64, scheduler: &RbSchedulerConfig| {
            let mut config = lossy(rlc.clone());
            config.ues = (0..20).map(|_| Arc::new(ue(&[0]))).collect();
            rb(&mut config).harq.bler = Ratio(bler);
            rb(&mut config).scheduler = scheduler.clone();
            rb(&mut config).carrier.allocation = allocation;
            let mut bench = Bench::new(&config);
            let mut rng = Rng::stream(3, "calls");
            for slot in 0..600 {
                // A burst from time to time, so that slots of both kinds alternate.
                let burst = if slot % 50 == 0 { 3 } else { 1 };
                for at in 0..rng.below(12) {
                    let size = if slot % 70 == 0 { large } else { 20 };
                    bench.send(slot * 1_000 + 10 * at, rng.below(20) as u32, size, burst);
                }
                bench.run_to(slot * 1_000 + 999);
            }
            let Log { deliveries, drops, .. } = bench.log;
            assert!(deliveries.len() > 2_500, "{}", deliveries.len());
            (deliveries, drops, bench.stack.conserved())
        };
        let window = ProportionalFairConfig::default();
        for scheduler in [RbSchedulerConfig::default(), RbSchedulerConfig::ProportionalFair(window)]
        {
            assert_eq!(run(0.0, &scheduler), run(f64::MIN_POSITIVE, &scheduler));
        }
    }
}

#[test]
fn a_second_block_that_carries_less_than_the_first_alone_leaves_nothing() {
    // TS 36.213 Table 7.1.7.2.1-1: at I_TBS 6 one block carries 328 bits, two carry 176.
    let mut config = lossy(RlcModeConfig::Um(UmConfig::default()));
    rb(&mut config).carrier.n_prb = 2;
    rb(&mut config).harq = HarqConfig::default();
    config.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![6], ..McsConfig::default() });
    config.rlc.limiter = LimiterConfig::LastPoll(LastPollConfig::default());
    config.sdap.poll = poll(250, 0);
    let mut bench = Bench::new(&config);
    for slot in 0..50 {
        // With headers less than 41 bytes: one of the two blocks is left.
        bench.send(slot * 1_000 + 100, 0, 28, 1);
        bench.run_to(slot * 1_000 + 999);
    }
    bench.run_to(60_000);
    let conserved = bench.stack.conserved();
    assert_eq!((conserved.entered, conserved.delivered), (50, 50));
}

/// The results of a UE that walks away at 30 m/s from an NR cell whose reports are `cqi_delay`
/// slots old: deliveries and drops, in UM without RLC retransmissions.
fn walked(cqi_delay: u8, transmissions: u8) -> (usize, usize) {
    let mut config = bytes(1, vec![ue(&[0])]);
    let (slot, kind, n_prb) = (poll(125, 0), CarrierKind::Nr, 132);
    let carrier = CarrierConfig { kind, n_prb, ..CarrierConfig::default() };
    let harq = HarqConfig { transmissions, ..HarqConfig::default() };
    config.mac = MacConfig::Rb(RbConfig { slot, carrier, harq, cqi_delay, ..RbConfig::default() });
    config.rlc.mode = RlcModeConfig::Um(UmConfig::default());
    config.channel = ChannelConfig::Umi(UmiConfig {
        ue: [100.0, 0.0, 1.5],
        walk: vec![[1_600.0, 0.0]],
        speed: 300.0,
        gnb_gain: 0.0,
        shadowing: false,
        ..UmiConfig::default()
    });
    let mut bench = Bench::new(&config);
    for slot in 0..40_000 {
        bench.send(slot * 125, 0, 400, 1);
        bench.run_to(slot * 125 + 124);
    }
    bench.run_to(6_000_000);
    let conserved = bench.stack.conserved();
    assert_eq!(conserved.entered, 40_000);
    assert_eq!(conserved.entered, conserved.delivered + bench.log.drops.len() as u64);
    (bench.log.deliveries.len(), bench.log.drops.len())
}

#[test]
fn errors_follow_the_sinr_and_late_reports_make_more_of_them() {
    let (fresh, late) = (walked(0, 1).1, walked(255, 1).1);
    // Fresh reports cost at most a tenth of the blocks, as promised by CQIs.
    assert!((40..4_000).contains(&fresh), "{fresh} of 40 000 lost");
    assert!(late > fresh * 5 / 4, "{late} lost with late reports, {fresh} with fresh ones");
    // A second transmission at the same SINR brings 3 dB, three widths of the curve.
    let repeated = walked(0, 2).1;
    assert!(repeated <= fresh / 100, "{repeated} lost after two transmissions, {fresh} after one");
}

/// Admits everything and keeps the reports.
struct Listener(Shared<Mutex<Vec<SlotReport>>>);

impl Limiter for Listener {
    fn unit(&self) -> CapacityUnit {
        CapacityUnit::Bytes
    }
    fn room(&mut self, _: Instant, _: &RlcView) -> u64 {
        u64::MAX
    }
    fn overdraws(&self) -> bool {
        false
    }
    fn on_admitted(&mut self, _: Instant, _: u64, _: &RlcView) {}
    fn on_departed(&mut self, _: Instant, _: Duration) {}
    fn on_slot(&mut self, report: &SlotReport) {
        self.0.lock().expect("one thread").push(*report);
    }
}

#[test]
fn after_a_short_slot_limiters_hear_what_a_full_one_carries_at_the_mcs() {
    // A bearer alone, two bearers of one UE, and two UEs: the sole slot and the listed ones.
    for ues in [vec![ue(&[0])], vec![ue(&[0, 1])], vec![ue(&[0]), ue(&[0])]] {
        let flows: u32 = ues.iter().map(|ue| ue.qos_flows.len() as u32).sum();
        let mut config = lossy(RlcModeConfig::Um(UmConfig::default()));
        config.ues = ues.into_iter().map(Arc::new).collect();
        rb(&mut config).harq = HarqConfig::default();
        rb(&mut config).carrier.offered = vec![17, 25];
        config.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![28], ..McsConfig::default() });
        config.sdap.poll = poll(200, 100);
        config.rlc.limiter = LimiterConfig::EBdp5g(EBdp5gConfig::default());
        let mut bench = Bench::new(&config);
        let reports = Shared::new(Mutex::new(Vec::new()));
        for (gate, ue) in bench.stack.cell.gates.iter_mut().zip(&config.ues) {
            for drb in 0..ue.drbs {
                *gate.limiter(drb) = AnyLimiter::Custom(Box::new(Listener(reports.clone())));
            }
        }
        bench.run_to(500);
        for flow in 0..flows {
            bench.send(500, flow, 1_400, 6);
        }
        // The last slot before these was short, and the bearers were idle in it.
        bench.run_to(40_500);
        for flow in 0..flows {
            bench.send(40_500, flow, 200, 1);
        }
        bench.run_to(42_999);
        let reports = reports.lock().expect("one thread");
        let short =
            |report: &&SlotReport| (report.pulled_at.as_nanos() / 1_000_000).is_multiple_of(2);
        let (busy, idle): (Vec<&SlotReport>, Vec<_>) =
            reports.iter().filter(short).partition(|r| r.used > 0);
        assert!(!busy.is_empty() && !idle.is_empty(), "{busy:?} {idle:?}");
        for report in &*reports {
            assert_eq!(report.capacity, 2_292, "{report:?}");
        }
        assert!(busy.iter().all(|report| report.granted <= 1_572), "{busy:?}");
    }
}
