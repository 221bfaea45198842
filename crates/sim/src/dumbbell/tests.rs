use super::*;
use justfull_base::{BitRate, Bytes};
use justfull_queue::Limit;
use justfull_tcp::{ReceiverConfig, SenderConfig, Window};

fn flow(rtt_ms: u64) -> DumbbellFlow {
    let receiver =
        ReceiverConfig { window: Window::Fixed(Bytes(1 << 28)), ..ReceiverConfig::default() };
    DumbbellFlow::greedy(SenderConfig::default(), receiver, Duration::from_millis(rtt_ms))
}

fn dumbbell(flows: Vec<DumbbellFlow>) -> DumbbellConfig {
    DumbbellConfig {
        flows,
        rate: BitRate(12_000_000),
        limit: Limit::Packets(100),
        loss: Loss::Never,
        marks: Loss::Never,
        duration: Duration::from_secs(20),
        sample_every: Duration::ZERO,
        seed: 1,
    }
}

fn run(config: &DumbbellConfig) -> Outcome {
    Dumbbell::new(config).expect("sound").run(&mut ())
}

#[derive(Default)]
struct Rtts(Vec<Duration>);

impl Observer for Rtts {
    fn acknowledged(&mut self, now: Instant, _: u32, ack: &Ack, _: &Sender) {
        self.0.push(now.since(ack.ts_echo));
    }
}

#[test]
fn the_first_round_trip_is_a_serialisation_and_the_propagation() {
    let mut config = dumbbell(vec![DumbbellFlow { size: Some(Bytes(1448)), ..flow(30) }]);
    let mut rtts = Rtts::default();
    let outcome = Dumbbell::new(&config).expect("sound").run(&mut rtts);
    // 1500 B at 12 Mbit/s take 1 ms.
    assert_eq!(rtts.0, [Duration::from_millis(31)]);
    assert_eq!(outcome.flows[0].completed, Some(Instant::ZERO + Duration::from_millis(31)));
    assert_eq!(outcome.ended, Instant::ZERO + Duration::from_millis(31));
    config.flows[0].access_rate = BitRate(12_000_000);
    let mut rtts = Rtts::default();
    Dumbbell::new(&config).expect("sound").run(&mut rtts);
    assert_eq!(rtts.0, [Duration::from_millis(32)]);
}

#[test]
fn a_greedy_flow_fills_the_link() {
    let outcome = run(&dumbbell(vec![flow(20)]));
    let most = 12_000_000.0 / 8.0 * 20.0 * 1448.0 / 1500.0;
    let share = outcome.flows[0].delivered as f64 / most;
    assert!((0.97..=1.0).contains(&share), "{share}");
}

#[test]
fn every_packet_is_acknowledged_once_dropped_once_or_lost_once() {
    let mut config = dumbbell(vec![
        DumbbellFlow { size: Some(Bytes(3_000_000)), ..flow(20) },
        DumbbellFlow { size: Some(Bytes(3_000_000)), start: Duration::from_secs(1), ..flow(60) },
    ]);
    config.loss = Loss::Every(200);
    config.limit = Limit::Bytes(30_000);
    let outcome = run(&config);
    let mut sent = 0;
    let mut dropped = 0;
    for flow in &outcome.flows {
        assert!(flow.completed.is_some() && flow.delivered == 3_000_000);
        assert!(flow.queue_drops > 0 && flow.wire_losses > 0);
        sent += flow.stats.segments_sent;
        dropped += flow.queue_drops;
    }
    // A spurious retransmission may still be in transit when the last acknowledgement arrives.
    let left = sent - dropped - outcome.carried;
    assert!(left <= 2, "{left} packets are nowhere");
}

#[test]
fn the_same_configuration_gives_the_same_run_and_another_seed_another() {
    let mut config = dumbbell(vec![flow(20), flow(40)]);
    config.loss = Loss::Random(0.01);
    let first = run(&config);
    assert_eq!(first, run(&config));
    config.seed = 2;
    assert_ne!(first, run(&config));
}

#[test]
fn samples_come_at_their_instants_for_every_flow() {
    let mut config = dumbbell(vec![flow(20), flow(40)]);
    config.sample_every = Duration::from_millis(250);
    let mut series = Series::default();
    Dumbbell::new(&config).expect("sound").run(&mut series);
    assert_eq!(series.flows.len(), 2);
    for flow in &series.flows {
        assert_eq!(flow.len(), 80);
        assert_eq!(flow[3].at, Instant::ZERO + Duration::from_secs(1));
        assert!(flow.windows(2).all(|pair| pair[0].delivered <= pair[1].delivered));
        assert!(flow.iter().all(|sample| sample.cwnd > 0));
    }
}

#[test]
fn a_setting_out_of_bounds_is_named_with_its_path() {
    let field = |change: fn(&mut DumbbellConfig)| {
        let mut config = dumbbell(vec![flow(20)]);
        change(&mut config);
        Dumbbell::new(&config).map(|_| ()).map_err(|e| e.field)
    };
    assert_eq!(field(|_| ()), Ok(()));
    assert_eq!(field(|c| c.rate = BitRate(0)), Err("rate".into()));
    assert_eq!(field(|c| c.flows.clear()), Err("flow".into()));
    assert_eq!(field(|c| c.flows[0].rtt = Duration::ZERO), Err("flow[0].rtt".into()));
    assert_eq!(field(|c| c.flows[0].size = Some(Bytes(0))), Err("flow[0].size".into()));
    assert_eq!(field(|c| c.flows[0].sender.mss = 0), Err("flow[0].sender.mss".into()));
    assert_eq!(field(|c| c.loss = Loss::Every(1)), Err("loss.every".into()));
    assert_eq!(field(|c| c.limit = Limit::Packets(0)), Err("limit".into()));
}
