//! Worlds with Zhuge at the base station: it holds the acknowledgements of downloads, and builds
//! the reports of calls.

use justfull_base::{BitRate, Bytes, Duration, Instant};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{CapacityUnit, ChannelConfig, RowLength, RowsConfig};
use justfull_rapid::ControlConfig;
use justfull_run::results::{RunResult, ZhugeResult};
use justfull_run::tap::Tap;
use justfull_run::traffic::VideoCallConfig;
use justfull_run::{FlowConfig, GrantConfig, Traffic, WorldConfig, ZhugeConfig, ZhugePreset};
use justfull_sim::World;
use justfull_tcp::cc::fixed::FixedConfig;
use justfull_tcp::{Ack, CcConfig};
use justfull_testkit::{app, cell, ms, run, tcp, upload, world};
use std::sync::Arc;

/// `flows` over 40 Mbit/s for 2 s, then a tenth of it for 2 s, and again.
fn falling(flows: Vec<FlowConfig>) -> WorldConfig {
    let mut down = cell(1, CapacityUnit::Bytes, Limit::Packets(300));
    down.channel = ChannelConfig::Rows(RowsConfig {
        amounts: vec![5_000, 500],
        row: RowLength::Time(ms(2_000)),
        interval: ms(1),
        packet_bytes: Bytes(1),
        ..RowsConfig::default()
    });
    world(down, flows, ms(10_000))
}

fn with(preset: ZhugePreset, mut config: WorldConfig) -> WorldConfig {
    config.uplink.zhuge = Some(ZhugeConfig { preset, ..ZhugeConfig::default() });
    config
}

fn download(cc: CcConfig) -> FlowConfig {
    tcp("download", cc, None)
}

fn call() -> FlowConfig {
    app(Traffic::VideoCall(Box::new(VideoCallConfig {
        max_rate: BitRate(10_000_000),
        start_rate: BitRate(5_000_000),
        ..VideoCallConfig::default()
    })))
}

fn zhuge(result: &RunResult) -> &ZhugeResult {
    result.uplink.zhuge.as_ref().expect("Zhuge at the base station")
}

#[test]
fn every_access_to_the_uplink_and_every_sender_conserves_what_zhuge_holds() {
    let controls = [CcConfig::Bbr(Default::default()), CcConfig::Cubic(Default::default())];
    for (cc, preset) in controls.into_iter().zip(ZhugePreset::ALL) {
        let free = falling(vec![download(cc)]);
        let mut rate = free.clone();
        rate.uplink.rate = BitRate(5_000_000);
        let mut grants = free.clone();
        grants.uplink.grants = Some(GrantConfig::default());
        for config in [free, rate, grants] {
            let result = run(&with(preset, config.clone()));
            let ZhugeResult { packets, acks, held, reports, .. } = *zhuge(&result);
            assert!(packets > 1_000 && acks > 500 && held > 50 && reports == 0, "{result:?}");
            // A run of the same world gives the same.
            assert!(result == run(&with(preset, config.clone())));
            assert_eq!(run(&config).uplink.zhuge, None);
        }
    }
}

#[test]
fn an_upload_and_a_world_without_downloads_are_not_held() {
    let mut config = falling(vec![upload("upload", CcConfig::default(), None)]);
    config.uplink.rate = BitRate(5_000_000);
    let result = run(&with(ZhugePreset::AsPublished, config.clone()));
    let ZhugeResult { acks, held, .. } = *zhuge(&result);
    assert_eq!((acks, held), (0, 0));
    assert!(result.flows == run(&config).flows);
}

/// Each acknowledgement that reaches the sender: when, and what it acknowledges.
#[derive(Default)]
struct Heard {
    acks: Vec<(Instant, u64)>,
}

impl Tap for Heard {
    fn acknowledged(&mut self, now: Instant, _flow: u32, ack: &Ack, _: Option<Duration>) {
        self.acks.push((now, ack.cumulative));
    }
}

#[test]
fn the_same_acknowledgements_come_in_order_and_none_sooner_than_without() {
    // 6 Mbit/s into 40, which fall to 4: nothing is lost, and the window never stops the sender.
    let fixed = CcConfig::Fixed(FixedConfig { segments: 10_000, ..FixedConfig::default() });
    let mut flow = download(fixed);
    if let Traffic::Tcp { rate, .. } = Arc::make_mut(&mut flow.traffic) {
        *rate = Some(BitRate(6_000_000));
    }
    let mut config = falling(vec![flow]);
    config.stack.rlc.queue = QueueConfig::tail_drop(Limit::Bytes(10_000_000));
    let heard = |config: &WorldConfig| {
        let mut heard = Heard::default();
        let world = World::tapped(config, &mut heard).expect("it is sound");
        assert_eq!(world.run(&mut ()).expect("it ends").broken, None);
        heard.acks
    };
    let without = heard(&config);
    for preset in ZhugePreset::ALL {
        let held = heard(&with(preset, config.clone()));
        // Those that it holds at the end are missing.
        assert!(held.len() + 30 > without.len() && without.len() > 1_000);
        let pairs = || held.iter().zip(&without);
        assert!(pairs().all(|(a, b)| a.1 == b.1 && a.0 >= b.0), "{preset:?}");
        assert!(held.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{preset:?}");
        let later = pairs().filter(|(a, b)| a.0 > b.0).count();
        assert!(later > 100, "{preset:?} holds {later}");
    }
}

#[test]
fn the_base_station_reports_for_a_call_and_the_call_gives_way_sooner() {
    let config = falling(vec![call()]);
    let published = run(&with(ZhugePreset::AsPublished, config.clone()));
    let counts = zhuge(&published);
    assert!(counts.reports > 100 && counts.acks == 0, "{counts:?}");
    let delay = |result: &RunResult| result.flows[0].delay.p95_ms;
    let (with_it, without) = (delay(&published), delay(&run(&config)));
    assert!(with_it < without, "{with_it} ms, {without} ms without");
    // The program's reports are of another protocol; `calls` leaves reports to the UE.
    let mut off = with(ZhugePreset::AsPublished, config.clone());
    off.uplink.zhuge = Some(ZhugeConfig { calls: false, ..ZhugeConfig::default() });
    for config in [with(ZhugePreset::AsReleased, config.clone()), off] {
        assert_eq!(zhuge(&run(&config)).reports, 0);
    }
}

#[test]
fn a_proxy_has_no_zhuge_before_it() {
    let mut config = with(ZhugePreset::AsPublished, falling(vec![call()]));
    config.proxy.control = Some(ControlConfig::Rapid(Default::default()));
    let error = World::new(&config).err().expect("it is refused").to_string();
    assert!(error.contains("uplink.zhuge") && error.contains("none with proxy.control"), "{error}");
}
