//! A MAC that deals in resource blocks.

use super::*;
use crate::carrier::CarrierConfig;
use crate::channel::McsConfig;
use crate::harq::HarqConfig;
use crate::rlc::RlcModeConfig;
use crate::rlc::mode::{AmConfig, Generation, TmConfig, UmConfig};
use justfull_base::{Ratio, Rng};

/// An LTE cell of 25 blocks where a tenth of the blocks must be sent again.
fn lossy(mode: RlcModeConfig) -> StackConfig {
    let mut config = bytes(1, vec![ue(&[0]), ue(&[0, 1])]);
    config.mac.slot = poll(1_000, 0);
    config.mac.carrier = Some(CarrierConfig::default());
    config.mac.harq = HarqConfig { bler: Ratio(0.1), combining: Ratio(1.0), ..HarqConfig::default() };
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
            for rlc in bench.stack.ues.iter().flat_map(|ue| ue.rlc.iter()) {
                listed.clear();
                let all = rlc.list_sdus(u32::MAX, &mut listed);
                assert_eq!(all, rlc.backlog_on_air(), "slot {slot}");
                assert_eq!(all, listed.iter().map(|&bytes| u64::from(bytes)).sum::<u64>(), "slot {slot}");
                assert_eq!(rlc.wants_to_send(), all > 0, "slot {slot}");
                // What fills a slot without being listed fills it listed too.
                let most = rng.below(3_000) as u32;
                assert!(!rlc.fills(most) || rlc.list_sdus(most, &mut listed) >= u64::from(most));
                begun += u32::from(rlc.fills(1));
            }
        }
        assert!(begun > 100, "bearers had something to send");
    }
}
