use super::*;
use crate::testing::{self, MSS};
use justfull_base::{Duration, Instant};
use std::vec;
use std::vec::Vec;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The index of the acknowledgement at which Linux's detector ends slow start. Its input is (time
/// in us, RTT in ms) over a path of 40 ms.
fn first_full(rtts_ms: impl Iterator<Item = (u64, f64)>) -> Option<usize> {
    let mut detector = Detector::new(HyStart::Linux);
    rtts_ms.enumerate().find_map(|(i, (now_us, rtt))| {
        let mut sample = testing::sample(MSS);
        sample.now = Instant::from_nanos(now_us * 1000);
        sample.rtt = Some(Duration::from_secs_f64(rtt / 1e3));
        sample.min_rtt = ms(40);
        sample.sequence_round_start = i == 0;
        (detector.growth(&sample, 20.0) == Growth::Over).then_some(i)
    })
}

#[test]
fn hystart_ends_slow_start_when_the_delay_of_a_round_rises_by_an_eighth() {
    assert_eq!(first_full((0..20).map(|i| (1_000_000 + i * 3000, 46.0))), Some(8));
    assert_eq!(first_full((0..20).map(|i| (1_000_000 + i * 3000, 44.0))), None);
}

#[test]
fn hystart_ends_slow_start_when_the_train_lasts_half_the_smallest_rtt() {
    let full = first_full((0..40).map(|i| (1_000_000 + i * 1000, 40.0)));
    assert_eq!(full, Some(21), "acknowledgements 1 ms apart, the first after 20 ms");
}

#[test]
fn hystart_waits_for_sixteen_segments() {
    let mut detector = Detector::new(HyStart::Linux);
    for i in 0..40 {
        let mut sample = testing::sample(MSS);
        sample.now = Instant::from_nanos((1000 + i) * 1_000_000);
        sample.rtt = Some(ms(90));
        sample.min_rtt = ms(40);
        sample.sequence_round_start = i == 0;
        assert_eq!(detector.growth(&sample, 15.0), Growth::Full);
    }
}

/// The decision of `HyStart++` at the last of ten acknowledgements of each round, given each
/// round's smallest RTT.
fn plus_plus(rounds_ms: &[u64]) -> Vec<Growth> {
    let mut detector = Detector::new(HyStart::PlusPlus);
    let mut said = Vec::new();
    for &rtt in rounds_ms {
        let mut last = Growth::Full;
        for i in 0..10 {
            let mut sample = testing::sample(MSS);
            sample.rtt = Some(ms(rtt));
            sample.sequence_round_start = i == 0;
            last = detector.growth(&sample, 100.0);
            if last == Growth::Over {
                break;
            }
        }
        said.push(last);
    }
    said
}

const CSS: Growth = Growth::Divided(4);

#[test]
fn plus_plus_enters_conservative_slow_start_when_a_round_is_slower_than_the_last_by_an_eighth() {
    assert_eq!(plus_plus(&[80, 89, 89]), vec![Growth::Full; 3], "an eighth of 80 ms is 10");
    assert_eq!(plus_plus(&[80, 90]), vec![Growth::Full, CSS]);
    assert_eq!(plus_plus(&[16, 19]), vec![Growth::Full; 2], "4 ms at least");
    assert_eq!(plus_plus(&[16, 20]), vec![Growth::Full, CSS]);
    assert_eq!(plus_plus(&[400, 416]), vec![Growth::Full, CSS], "16 ms at most");
}

#[test]
fn plus_plus_ends_slow_start_after_five_conservative_rounds() {
    let said = plus_plus(&[80, 100, 100, 100, 100, 100, 100]);
    assert_eq!(said, vec![Growth::Full, CSS, CSS, CSS, CSS, CSS, Growth::Over]);
}

#[test]
fn plus_plus_resumes_slow_start_when_the_delay_falls_below_the_delay_at_its_entry() {
    assert_eq!(
        plus_plus(&[80, 100, 100, 95, 95]),
        vec![Growth::Full, CSS, CSS, Growth::Full, Growth::Full]
    );
}

#[test]
fn plus_plus_needs_eight_samples_of_a_round() {
    let mut detector = Detector::new(HyStart::PlusPlus);
    let mut ask = |rtt, first| {
        let mut sample = testing::sample(MSS);
        sample.rtt = Some(ms(rtt));
        sample.sequence_round_start = first;
        detector.growth(&sample, 100.0)
    };
    for i in 0..8 {
        ask(50, i == 0);
    }
    let second: Vec<Growth> = (0..8).map(|i| ask(70, i == 0)).collect();
    assert_eq!(second[..7], [Growth::Full; 7]);
    assert_eq!(second[7], CSS);
}
