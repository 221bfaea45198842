use super::*;
use crate::testing::{self, MSS};

const BASE_MS: u64 = 40;

fn built(config: &LedbatppConfig) -> Ledbatpp {
    Ledbatpp::new(config, &testing::birth()).expect("within bounds")
}

/// A control that has left the first slow start with `cwnd` segments on a path of 40 ms, and slows
/// down at `slowdown` ms.
fn steady(cwnd: u64, slowdown: u64) -> Ledbatpp {
    let mut control = built(&LedbatppConfig::default());
    ack(&mut control, 0, BASE_MS, 0);
    (control.window.cwnd, control.window.ssthresh) = (cwnd * MSS, cwnd * MSS);
    control.stage = Stage::Normal(Some(at(slowdown)));
    control
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// At `now` ms an acknowledgement of `segments` whose round trip, and the smoothed one, was `rtt`
/// ms; returns the window in segments.
fn ack(control: &mut Ledbatpp, now: u64, rtt: u64, segments: u64) -> f64 {
    let rtt = Duration::from_millis(rtt);
    control.on_ack(&AckSample {
        now: at(now),
        rtt: Some(rtt),
        srtt: rtt,
        ..testing::sample(segments * MSS)
    });
    control.cwnd() as f64 / MSS as f64
}

/// Fills the filter with samples of `rtt` ms.
fn wait(control: &mut Ledbatpp, rtt: u64) {
    (0..FILTER).for_each(|_| {
        control.delays.take(Instant::ZERO, Duration::from_millis(rtt));
    });
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 2.0 / MSS as f64
}

#[test]
fn the_gain_follows_the_base_and_has_a_sixteenth_as_its_least() {
    for (base, divisor) in [(1, 16.0), (10, 12.0), (30, 4.0), (40, 3.0), (60, 2.0), (121, 1.0)] {
        let mut control = built(&LedbatppConfig::default());
        let window = ack(&mut control, 0, base, 24);
        assert!(near(window, 2.0 + 24.0 / divisor), "{base} ms: {window}");
    }
}

#[test]
fn the_first_slow_start_ends_above_three_quarters_of_the_target() {
    let mut control = built(&LedbatppConfig::default());
    ack(&mut control, 0, BASE_MS, 30);
    wait(&mut control, 85);
    assert!(near(ack(&mut control, 1, 85, 3), 13.0));
    assert_eq!(control.phase(), "slow_start");
    wait(&mut control, 86);
    ack(&mut control, 2, 86, 0);
    assert_eq!((control.phase(), control.ssthresh()), ("avoidance", control.cwnd()));
    assert_eq!(control.stage, Stage::Normal(Some(at(2 + 2 * 86))));
}

#[test]
fn a_round_adds_the_gain_up_to_the_target_and_takes_off_the_excess_above_it_but_half_at_most() {
    // Gain 1/3; 100 segments take off 25, 50 and 50, less the gain unless that is the half.
    for (queue, expected) in
        [(0, 100.0 + 1.0 / 3.0), (60, 100.0 + 1.0 / 3.0), (75, 75.0 + 1.0 / 3.0), (150, 50.0)]
    {
        let mut control = steady(100, 1000);
        wait(&mut control, BASE_MS + queue);
        let window = ack(&mut control, 1, BASE_MS + queue, 100);
        assert!(near(window, expected), "{queue} ms: {window}");
        assert_eq!(control.phase(), "avoidance", "the window shrinks without a slow start after");
    }
    let mut control = steady(3, 1000);
    wait(&mut control, 400);
    assert!(near(ack(&mut control, 1, 400, 100), 2.0), "two segments are the least");
}

#[test]
fn a_slowdown_freezes_two_segments_for_two_rtts_and_the_next_comes_after_nine_times_its_length() {
    let mut control = steady(9, 1000);
    assert!(ack(&mut control, 999, 50, 0) > 8.9);
    assert!(near(ack(&mut control, 1000, 50, 3), 2.0));
    for now in [1010, 1099] {
        assert!(near(ack(&mut control, now, 50, 9), 2.0));
        assert_eq!(control.phase(), "slowdown");
    }
    assert!(near(ack(&mut control, 1100, 50, 9), 5.0));
    assert_eq!(control.phase(), "ramp");
    assert!(near(ack(&mut control, 1200, 50, 90), 9.0), "it returns to the window before");
    ack(&mut control, 1210, 50, 0);
    assert_eq!(control.stage, Stage::Normal(Some(at(1210 + 9 * 210))));
}

#[test]
fn without_slowdowns_there_is_none() {
    let mut control = built(&LedbatppConfig { slowdowns: false, ..LedbatppConfig::default() });
    ack(&mut control, 0, BASE_MS, 30);
    wait(&mut control, 100);
    ack(&mut control, 1, 100, 0);
    assert_eq!(control.stage, Stage::Normal(None));
}

#[test]
fn the_base_is_the_least_of_ten_minutes_and_the_present_the_least_of_four_samples() {
    let mut delays = Delays::new();
    assert_eq!(delays.queue(), Duration::ZERO);
    let mut take = |minute: u64, ms: u64| {
        delays.take(at(minute * 60_000), Duration::from_millis(ms));
        (delays.base.as_nanos() / 1_000_000, delays.queue().as_nanos() / 1_000_000)
    };
    assert_eq!(take(0, 40), (40, 0));
    let queues: [u64; 4] = [1, 2, 3, 4].map(|minute| take(minute, 70).1);
    assert_eq!(queues, [0, 0, 0, 30], "one sample of 40 ms is among the four");
    let bases: [u64; 6] = [5, 6, 7, 8, 9, 10].map(|minute| take(minute, 70).0);
    assert_eq!(bases, [40, 40, 40, 40, 40, 70]);
}

#[test]
fn a_loss_halves_and_one_in_a_slowdown_halves_the_window_to_return_to() {
    let mut control = steady(100, 1000);
    control.on_congestion(&testing::loss(100 * MSS));
    assert_eq!((control.cwnd(), control.ssthresh()), (50 * MSS, 50 * MSS));
    ack(&mut control, 1000, 50, 0);
    control.on_congestion(&testing::loss(50 * MSS));
    assert_eq!((control.cwnd(), control.ssthresh()), (2 * MSS, 25 * MSS));
    control.on_congestion(&testing::timeout(MSS, false));
    assert_eq!(control.cwnd(), MSS);
}

#[test]
fn a_needless_reduction_is_undone_but_ends_no_slowdown_and_leaves_a_threshold() {
    let mut control = steady(100, 1000);
    control.on_congestion(&testing::loss(100 * MSS));
    ack(&mut control, 1000, 50, 0);
    control.on_spurious(at(1001));
    assert_eq!((control.cwnd(), control.ssthresh()), (2 * MSS, 100 * MSS));
    let mut control = built(&LedbatppConfig::default());
    ack(&mut control, 0, BASE_MS, 30);
    control.on_congestion(&testing::loss(12 * MSS));
    ack(&mut control, 1, BASE_MS, 0);
    control.on_spurious(at(2));
    assert_eq!((control.cwnd(), control.ssthresh()), (12 * MSS, 12 * MSS));
}

#[test]
fn a_target_out_of_bounds_is_named() {
    let config = LedbatppConfig { target: Duration::ZERO, ..LedbatppConfig::default() };
    let refused = Ledbatpp::new(&config, &testing::birth()).map_err(|e| e.field);
    assert_eq!(refused.err(), Some("target".into()));
}
