//! RAPID's control loops over radio reports, on radios whose round trip varies.

use justfull_base::{Bytes, Duration, Ratio};
use justfull_queue::Limit;
use justfull_ran::channel::{CapacityUnit, ChannelConfig, CqiRowsConfig, McsConfig, RowLength};
use justfull_ran::{HarqConfig, PacketDetectionRule, RlcModeConfig};
use justfull_rapid::{Config, ControlConfig, Loss};
use justfull_run::results::RunResult;
use justfull_run::{GrantConfig, WorldConfig};
use justfull_tcp::CcConfig;
use justfull_testkit::{ms, qfi, run, tcp, world};

const SECONDS: u64 = 12;

/// A radio whose round trip varies.
#[derive(Clone, Copy, Debug)]
struct Radio {
    /// Round trip of the wires, in milliseconds.
    rtt_ms: u64,
    bler: f64,
    /// Time between scheduling requests; none if the uplink needs no grants.
    sr_ms: Option<u64>,
    /// The UE sleeps for 20 ms of 40.
    sleeps: bool,
}

/// Two downloads, CUBIC and BBR, over a 5 MHz LTE cell with an RLC of 1 MB.
fn downloads(radio: Radio, control: Option<Config>, report_ms: u64) -> WorldConfig {
    let mut stack = justfull_testkit::cell(1, CapacityUnit::Bytes, Limit::Bytes(1_000_000));
    stack.ue_mut(0).rules = vec![PacketDetectionRule::any(qfi(9))];
    justfull_testkit::rb(&mut stack).harq =
        HarqConfig { bler: Ratio(radio.bler), ..HarqConfig::default() };
    stack.rlc.mode = RlcModeConfig::Um(Default::default());
    stack.channel = if radio.sleeps {
        let row = RowLength::Time(ms(20));
        ChannelConfig::CqiRows(CqiRowsConfig { cqi: vec![15, 0], row, ..CqiRowsConfig::default() })
    } else {
        ChannelConfig::Mcs(McsConfig { mcs: vec![28], ..McsConfig::default() })
    };
    let flows = vec![
        tcp("cubic", CcConfig::Cubic(Default::default()), None),
        tcp("bbr", CcConfig::Bbr(Default::default()), None),
    ];
    let mut config = world(stack, flows, Duration::from_secs(SECONDS));
    let quarter = Duration::from_micros(250 * radio.rtt_ms);
    (config.core_delay, config.uplink.delay) = (quarter, quarter.times(3));
    config.uplink.grants = radio.sr_ms.map(|sr| GrantConfig {
        sr_period: ms(sr),
        grant: Bytes(20_000),
        ..GrantConfig::default()
    });
    config.proxy.control = control.map(ControlConfig::Rapid);
    config.proxy.report.period = ms(report_ms);
    config
}

fn goodput(result: &RunResult) -> f64 {
    result.flows.iter().map(|flow| flow.goodput_mbit_s).sum()
}

fn worst_p99(result: &RunResult) -> f64 {
    result.flows.iter().map(|flow| flow.delay.p99_ms).fold(0.0, f64::max)
}

/// The least goodput in a second of the second half, divided by the mean of that half.
fn steadiness(result: &RunResult) -> f64 {
    let bins = &result.series.delivered_mbit_s;
    let half = &bins[bins.len() / 2..];
    let mean = |bins: &[f64]| bins.iter().sum::<f64>() / bins.len() as f64;
    let second = result.series.delivered_mbit_s.len() / SECONDS as usize;
    half.chunks_exact(second).map(mean).fold(f64::INFINITY, f64::min) / mean(half)
}

#[test]
fn the_loop_fills_every_radio_steadily_with_a_short_queue() {
    let mut short = Vec::new();
    for rtt_ms in [1, 20, 200] {
        for (bler, sr_ms, sleeps) in [
            (0.0, None, false),
            (0.0, Some(40), false),
            (0.1, Some(1), false),
            (0.1, Some(10), true),
            (0.3, Some(10), false),
            (0.3, Some(40), false),
        ] {
            let radio = Radio { rtt_ms, bler, sr_ms, sleeps };
            let plain = run(&downloads(radio, None, 1));
            for report_ms in [1, 10, 100] {
                let result = run(&downloads(radio, Some(Config::default()), report_ms));
                let share = goodput(&result) / goodput(&plain);
                let delay = worst_p99(&result) / worst_p99(&plain);
                let steady = steadiness(&result);
                println!(
                    "{radio:?}, reports each {report_ms} ms: {share:.3} {delay:.2} {steady:.2}"
                );
                // At 1 ms a window is two segments or less, and rounding to whole segments leaves
                // much unused.
                let least = if rtt_ms == 1 { 0.85 } else { 0.93 };
                // A sleeping UE counts as one that could use the free blocks.
                let most = if sleeps { 1.5 } else { 0.3 };
                if !(share >= least && delay < most && steady > 0.8) {
                    short.push((radio, report_ms, share, delay, steady));
                }
            }
        }
    }
    assert!(short.is_empty(), "{short:#?}");
}

#[test]
fn a_leg_that_ignores_random_losses_keeps_its_rate_where_another_loses_most_of_it() {
    // One block in fifty is lost for good, over RLC UM.
    let radio = Radio { rtt_ms: 40, bler: 0.02, sr_ms: None, sleeps: false };
    let [ignores, halves] = [Loss::Ignore, Loss::Halve].map(|loss| {
        let mut config = downloads(radio, Some(Config { loss, ..Config::default() }), 1);
        justfull_testkit::rb(&mut config.stack).harq.transmissions = 1;
        goodput(&run(&config))
    });
    assert!(ignores > 14.0 && halves < 0.7 * ignores, "{ignores} {halves}");
}

#[test]
fn beside_a_download_that_bypasses_the_proxy_a_flow_keeps_most_of_what_it_gets_without() {
    let radio = Radio { rtt_ms: 50, bler: 0.0, sr_ms: Some(10), sleeps: false };
    let beside = |control: Option<Config>| {
        let mut config = downloads(radio, control, 1);
        config.flows[1].proxied = Some(false);
        config.duration = Duration::from_secs(40);
        let result = run(&config);
        (result.flows[0].goodput_mbit_s, result.flows[0].delay.mean_ms)
    };
    let (plain, delay) = beside(None);
    let (closed, closed_delay) = beside(Some(Config::default()));
    let (open, _) = beside(Some(Config::open_loop()));
    assert!(
        closed > 0.75 * plain && closed_delay < delay,
        "{closed} {plain} {closed_delay} {delay}"
    );
    assert!(open < 0.5 * plain, "{open}");
}
