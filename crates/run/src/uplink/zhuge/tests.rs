use super::teller::{Teller, Told};
use super::updater::Updater;
use super::{Zhuge, ZhugeConfig, ZhugePreset};
use justfull_base::{Bytes, DropReason, Duration, Event, Instant, Layer, Packet, Qfi, Rng};

mod plain;

const PRESETS: [ZhugePreset; 2] = ZhugePreset::ALL;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn us(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000)
}

fn of(preset: ZhugePreset) -> ZhugeConfig {
    ZhugeConfig { preset, ..ZhugeConfig::default() }
}

/// A time in us until the next step: often none, mostly short, seldom an outage.
fn step(rng: &mut Rng) -> u64 {
    match rng.below(20) {
        0..4 => 0,
        4..12 => rng.below(400),
        12..19 => rng.below(3_000),
        _ => rng.below(300_000),
    }
}

#[test]
fn predictions_equal_those_of_a_plain_transcription_of_paper_and_program() {
    for preset in PRESETS {
        for seed in 0..20 {
            let mut rng = Rng::stream(seed, "zhuge.teller");
            let window = 1 + rng.below(40);
            let config = ZhugeConfig { window: ms(window), ..of(preset) };
            let (mut teller, mut plain) = (Teller::new(&config), plain::Queue::new(&config));
            let (mut now, mut queue) = (0, std::collections::VecDeque::new());
            for _ in 0..2_000 {
                now += step(&mut rng);
                match rng.below(3) {
                    0 | 1 if queue.len() < 60 => {
                        let size = 40 + rng.below(1_461) as u32;
                        assert_eq!(teller.tell(us(now)).total, plain.tell(now), "{preset:?}");
                        teller.entered(us(now), size);
                        plain.entered(now, size);
                        queue.push_back(size);
                    }
                    _ => {
                        let Some(size) = queue.pop_front() else { continue };
                        if rng.chance(0.05) {
                            teller.dropped(us(now), size);
                            plain.dropped(now, size);
                        } else {
                            teller.departed(us(now), size);
                            plain.departed(now, size);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn holds_equal_those_of_a_plain_transcription_of_paper_and_program() {
    for preset in PRESETS {
        for seed in 0..40 {
            let mut rng = Rng::stream(seed, "zhuge.updater");
            let mut updater = Updater::new(&of(preset));
            let mut plain = plain::Feedback::new(preset);
            let [mut ours, mut theirs] = [(); 2].map(|()| Rng::stream(seed, "zhuge.draws"));
            let (mut now, mut bytes) = (1_000_000, 0);
            for _ in 0..2_000 {
                now += step(&mut rng);
                if rng.chance(0.6) {
                    bytes = if rng.chance(0.2) { 0 } else { bytes + rng.below(3_000) };
                    let total = ms(bytes / 1_000 + rng.below(3));
                    updater.told(us(now), &Told { total, bytes });
                    plain.told(now, total.as_nanos(), bytes);
                } else {
                    let left = updater.release(us(now), &mut ours);
                    assert_eq!(left.as_nanos(), plain.release(now, &mut theirs), "{preset:?}");
                }
            }
            assert_eq!(ours, theirs, "the draws are the same");
        }
    }
}

#[test]
fn no_packet_leaves_before_it_came_or_before_the_one_before_it() {
    for preset in PRESETS {
        let mut rng = Rng::stream(7, "zhuge.order");
        let mut updater = Updater::new(&of(preset));
        let (mut now, mut last, mut held) = (0, Instant::ZERO, 0);
        for _ in 0..20_000 {
            now += step(&mut rng);
            if rng.chance(0.5) {
                let told = Told { total: ms(rng.below(60)), bytes: rng.below(3) };
                updater.told(us(now), &told);
                continue;
            }
            let left = updater.release(us(now), &mut rng);
            assert!(left >= us(now) && left >= last, "{preset:?}: {left:?} after {last:?}");
            held += u32::from(left > us(now));
            last = left;
        }
        assert!(held > 1_000, "{preset:?} holds: {held}");
    }
}

#[test]
fn growth_is_held_at_once_and_a_steady_queue_holds_nothing() {
    for preset in PRESETS {
        let mut updater = Updater::new(&of(preset));
        let mut rng = Rng::stream(1, "zhuge");
        let mut told = |n: u64, total: Duration, updater: &mut Updater| {
            updater.told(us(n), &Told { total, bytes: 3_000 });
            updater.release(us(n), &mut rng).since(us(n))
        };
        told(1_000_000, ms(5), &mut updater);
        // The change from nothing to 5 ms is older than 40 ms.
        let steady = (0..50).map(|n| told(1_100_000 + n * 1_000, ms(5), &mut updater)).max();
        assert_eq!(steady, Some(Duration::ZERO), "{preset:?}");
        let grown = (0..20).map(|n| told(1_200_000 + n * 100, ms(6 + n), &mut updater)).max();
        assert!(grown >= Some(ms(1)), "{preset:?}: {grown:?}");
        // A queue that shrinks gives tokens.
        for n in 0..20 {
            told(1_210_000 + n * 100, ms(25 - n), &mut updater);
        }
        let after = (0..50).map(|n| told(1_300_000 + n * 1_000, ms(6), &mut updater)).max();
        assert_eq!(after, Some(Duration::ZERO), "{preset:?}");
    }
}

fn packet(ue: u32, flow: u32, size: u32) -> Packet {
    let qfi = Qfi::new(9).expect("below 64");
    Packet { ue, flow, size, qfi, ..Packet::default() }
}

#[test]
fn each_ue_has_a_queue_of_its_own_and_packets_that_the_rlc_drops_on_arrival_do_not_wait() {
    let mut zhuge = Zhuge::new(&of(ZhugePreset::AsReleased), 2, Instant::ZERO, 1);
    let mut enter = |n: u64, ue: u32| {
        let packet = packet(ue, ue, 64_000);
        let backlog = Event::Enqueued {
            layer: Layer::Sdap,
            packet,
            backlog_packets: 0,
            backlog_bytes: Bytes(0).0,
        };
        let told = zhuge.on_event(us(n), &backlog).expect("a prediction");
        let turned_away =
            Event::Dropped { layer: Layer::Rlc, packet, reason: DropReason::Overflow };
        if ue == 1 {
            assert_eq!(zhuge.on_event(us(n), &turned_away), None);
        }
        told
    };
    // 64 kB at the least rate take a second.
    assert_eq!([0, 1].map(|ue| enter(0, ue)), [Duration::ZERO; 2]);
    assert_eq!([0, 1].map(|ue| enter(1, ue)), [ms(1_000), Duration::ZERO]);
}

#[test]
fn only_flows_that_are_named_are_held() {
    let mut zhuge = Zhuge::new(&ZhugeConfig::default(), 1, Instant::ZERO, 1);
    zhuge.hold_flow(2);
    assert_eq!([0, 1, 3, u32::MAX].map(|flow| zhuge.hold(us(1), flow)), [None; 4]);
    assert_eq!(zhuge.hold(us(1), 2), Some(Duration::ZERO));
    assert_eq!((zhuge.counts().acks, zhuge.counts().held), (1, 0));
}
