//! The AQMs of P06, Floyd's Adaptive RED and PIE against plain transcriptions of their sources, on
//! random loads.

use justfull_base::rng::{mix, stream_key};
use justfull_base::{
    BitRate, Bytes, DropReason, Duration, Ecn, Event, Instant, Layer, Packet, Probe, Ratio, Rng,
};
use justfull_queue::aqm::pie::Estimate;
use justfull_queue::aqm::{
    ARedConfig, AdaptiveRedConfig, PdpcConfig, PieConfig, RedConfig, TtlRed1Config, TtlRed2Config,
};
use justfull_queue::{AqmConfig, Limit, ManagedQueue, QueueConfig};
use naive::Naive;

mod naive;

const KEY: u64 = 77;
const LIMIT: u64 = 100_000;

/// Records drops and marks in order.
#[derive(Default)]
struct Log {
    dropped: Vec<u64>,
    timeouts: u64,
    marked: Vec<u64>,
}

impl Probe for Log {
    fn on_event(&mut self, _now: Instant, event: &Event) {
        match event {
            Event::Dropped { packet, reason, .. } => {
                self.dropped.push(packet.id);
                self.timeouts += u64::from(*reason == DropReason::AqmTimeout);
            }
            Event::Marked { packet, .. } => self.marked.push(packet.id),
            _ => {}
        }
    }
}

/// The properties of a load.
#[derive(Clone, Copy)]
struct Load {
    seed: u64,
    /// True if the layer below keeps packets for some time.
    holds: bool,
    /// True if a rate is reported.
    tells: bool,
}

fn queue(aqm: &AqmConfig) -> ManagedQueue {
    let config =
        QueueConfig { limit: Limit::Bytes(LIMIT), aqm: aqm.clone(), ..QueueConfig::default() };
    ManagedQueue::new(Layer::Rlc, &config, KEY).expect("within bounds")
}

fn period(aqm: &AqmConfig) -> Option<u64> {
    match aqm {
        AqmConfig::Pie(c) => Some(c.t_update.as_nanos()),
        AqmConfig::TtlRed2(c) => Some(c.period.as_nanos()),
        _ => None,
    }
}

/// Packets arrive and leave, with alternating excess, and from time to time there is a long pause.
fn run(aqm: &AqmConfig, load: Load, steps: u64) -> (Log, Naive, Vec<u64>) {
    let mut rng = Rng::from_key(load.seed);
    let mut ours = queue(aqm);
    let mut naive = Naive::new(aqm, LIMIT, Rng::from_key(mix(KEY ^ stream_key(0, "aqm"))));
    let mut log = Log::default();
    let (mut now, mut arrivals, mut ticked, mut wakes) = (0, 0.5, 0, Vec::new());
    let mut held: Vec<Packet> = Vec::new();
    for id in 0..steps {
        if rng.chance(0.005) {
            arrivals = 0.25 + 0.4 * rng.unit();
        }
        now += match rng.below(1000) {
            0 => rng.below(3_000_000_000),
            1..=20 => 0,
            _ => rng.below(8_000_000),
        };
        let at = Instant::from_nanos(now);
        if let Some(period) = period(aqm) {
            while (ticked + 1) * period <= now {
                ticked += 1;
                naive.tick(ticked * period);
            }
        }
        while let Some(due) = ours.next_timeout().filter(|due| *due <= at) {
            wakes.push(due.as_nanos());
            ours.on_timeout(due, &mut log);
        }
        if load.tells && rng.chance(0.02) {
            let bits = if rng.chance(0.1) { 0 } else { 8 * (4_000 + rng.below(400_000)) };
            ours.set_service_rate(Some(BitRate(bits)));
            naive.rate = Some(bits as f64 / 8.0);
        }
        if load.holds && rng.chance(0.5) && !held.is_empty() {
            let gone = rng.below(held.len() as u64) as usize;
            ours.commit(at, &held.remove(gone), &mut log);
            naive.held.remove(gone);
        } else if rng.chance(arrivals) {
            let ecn = if rng.chance(0.5) { Ecn::Ect0 } else { Ecn::NotEct };
            let flow_hash = if rng.chance(0.01) { 1000 + id as u32 } else { rng.below(5) as u32 };
            let size = 40 + rng.below(1461) as u32;
            let packet = Packet { id, size, ecn, flow_hash, ..Packet::default() };
            ours.enqueue(at, packet, &mut log);
            naive.arrive(now, packet);
        } else if load.holds {
            let taken = ours.reserve(at, &mut log);
            assert_eq!(taken.map(|packet| packet.id), naive.leave(now, true));
            held.extend(taken);
        } else {
            let left = ours.dequeue(at, &mut log).map(|packet| packet.id);
            assert_eq!(left, naive.leave(now, false), "{aqm:?} {now}");
        }
        assert_eq!(log.dropped, naive.dropped, "dropped by {now}: {aqm:?}");
        assert_eq!(log.marked, naive.marked, "marked by {now}: {aqm:?}");
    }
    ours.assert_conserved();
    (log, naive, wakes)
}

/// Compares on loads with and without a reported rate and held packets. Asserts many drops and
/// marks over all of them.
fn compare(aqm: &AqmConfig, holds: &[bool]) {
    let (mut drops, mut marks) = (0, 0);
    for (seed, tells) in [(1, true), (2, true), (3, false), (4, false)] {
        for &holds in holds {
            let (log, naive, _) = run(aqm, Load { seed, holds, tells }, 12_000);
            assert_eq!(log.dropped, naive.dropped);
            (drops, marks) = (drops + log.dropped.len(), marks + log.marked.len());
        }
    }
    assert!(drops > 200 && marks > 10, "{drops} drops, {marks} marks: {aqm:?}");
}

#[test]
fn red_decides_as_floyd_and_jacobson_and_ns_2_do() {
    let base = RedConfig::default();
    let configs = [
        base,
        RedConfig { gentle: false, ..base },
        RedConfig { wait: false, by_size: false, max_p: Ratio(0.3), ..base },
        RedConfig { weight: Ratio(0.02), ..base },
        RedConfig {
            min: Limit::Packets(5),
            max: Limit::Packets(20),
            weight: Ratio(0.1),
            packet_time: Duration::from_micros(300),
            ..base
        },
        // The queue overflows.
        RedConfig { min: Limit::Bytes(1_000), max: Limit::Bytes(2_000_000), ..base },
    ];
    configs.into_iter().for_each(|config| compare(&AqmConfig::Red(config), &[false, true]));
}

#[test]
fn ared_decides_by_the_equations_of_p06() {
    let base = ARedConfig::default();
    let quick = ARedConfig { delay: Duration::from_millis(50), gentle: false, ..base };
    for config in [base, quick, ARedConfig { factor: Ratio(1.5), by_size: false, ..base }] {
        compare(&AqmConfig::ARed(config), &[false, true]);
    }
}

#[test]
fn pdpc_accepts_as_many_packets_after_a_drop_as_p06_says() {
    let base = PdpcConfig::default();
    for config in [base, PdpcConfig { n: 1, delay: Duration::from_millis(20), ..base }] {
        compare(&AqmConfig::Pdpc(config), &[false, true]);
    }
}

#[test]
fn ttlred1_decides_by_the_oldest_packet_of_all() {
    let base = TtlRed1Config {
        low: Duration::from_millis(30),
        high: Duration::from_millis(300),
        ..TtlRed1Config::default()
    };
    for config in [base, TtlRed1Config { n: 1, max_p: Ratio(0.5), ..base }] {
        compare(&AqmConfig::TtlRed1(config), &[false, true]);
    }
}

#[test]
fn adaptive_red_decides_as_its_paper_says() {
    let base = AdaptiveRedConfig::default();
    let quick = AdaptiveRedConfig {
        target: Duration::from_millis(200),
        weight: Ratio(0.05),
        floor: Bytes(3000),
        ..base
    };
    [base, quick].into_iter().for_each(|c| compare(&AqmConfig::AdaptiveRed(c), &[false, true]));
}

#[test]
fn pie_decides_as_with_a_clock_that_ticks_at_each_update() {
    let base = PieConfig::default();
    let configs = [
        base,
        PieConfig { estimate: Estimate::Rate, ..base },
        PieConfig { derandomize: false, cap: false, burst: Duration::ZERO, ..base },
        PieConfig { target: Duration::from_millis(80), mark_below: Ratio(1.0), ..base },
        // The queue overflows while the probabilities add up.
        PieConfig {
            target: Duration::from_millis(400),
            alpha: Ratio(0.02),
            mark_below: Ratio(1.0),
            ..base
        },
    ];
    configs.into_iter().for_each(|config| compare(&AqmConfig::Pie(config), &[false]));
}

#[test]
fn ttlred2_drops_as_with_a_clock_that_ticks_at_each_period() {
    let base = TtlRed2Config {
        low: Duration::from_millis(20),
        high: Duration::from_millis(250),
        ..TtlRed2Config::default()
    };
    for config in [base, TtlRed2Config { period: Duration::from_millis(7), ecn: false, ..base }] {
        for (seed, holds) in [(1, false), (2, true)] {
            let aqm = AqmConfig::TtlRed2(config);
            let (log, naive, wakes) = run(&aqm, Load { seed, holds, tells: false }, 12_000);
            assert!(log.timeouts > 100 && (log.marked.len() > 100) == config.ecn);
            // Each call is at the first multiple after the end of a lifetime.
            let period = config.period.as_nanos();
            let firsts: std::collections::BTreeSet<u64> =
                naive.ends.iter().map(|end| (end / period + 1) * period).collect();
            assert!(wakes.is_sorted_by(|a, b| a < b));
            assert!(wakes.iter().all(|wake| firsts.contains(wake)), "at another time");
        }
    }
}

#[test]
fn an_empty_queue_under_ttlred2_wants_no_call() {
    let mut queue = queue(&AqmConfig::TtlRed2(TtlRed2Config::default()));
    assert_eq!(queue.next_timeout(), None);
    queue.enqueue(Instant::ZERO, Packet { size: 100, ..Packet::default() }, &mut Log::default());
    // The first packet lives for 3 s.
    let due = Instant::ZERO + Duration::from_millis(3010);
    assert_eq!(queue.next_timeout(), Some(due));
    queue.dequeue(Instant::ZERO, &mut Log::default());
    queue.on_timeout(due, &mut Log::default());
    assert_eq!(queue.next_timeout(), None);
}
