//! Each formula with numbers worked out by hand: packets of 1000 B, RTT 25 ms.

use super::*;
use justfull_base::Instant;

fn at(ms: f64) -> Instant {
    Instant::from_nanos((ms * 1e6) as u64)
}

fn ms(ms: f64) -> Duration {
    Duration::from_nanos((ms * 1e6) as u64)
}

fn control(change: fn(&mut ScreamConfig)) -> Scream {
    let mut config = ScreamConfig::default();
    change(&mut config);
    let birth = MediaBirth {
        least: BitRate(100_000),
        start: BitRate(300_000),
        most: BitRate(20_000_000),
        packet: 1000,
        frame_period: ms(20.0),
    };
    Scream::new(&config, &birth).expect("within its bounds")
}

/// A control with a window of 20 kB after a first reaction 100 ms ago.
fn settled(change: fn(&mut ScreamConfig)) -> Scream {
    let mut control = control(change);
    control.on_sent(&Departure { now: at(0.0), bytes: 1000, in_flight: 100_000 });
    control.window = 20_000.0;
    control.reacted_at = 0.9;
    control.congested_at = 0.9;
    control
}

/// A report.
#[derive(Clone, Copy)]
struct Told {
    now: f64,
    packets: u64,
    marked: u64,
    lost: u64,
    rtt: f64,
    /// Wait in the queue, in ms.
    queue: f64,
}

const TOLD: Told = Told { now: 1000.0, packets: 10, marked: 0, lost: 0, rtt: 25.0, queue: 0.0 };

fn tell(control: &mut Scream, told: Told) {
    // The first packet of all has an empty queue.
    let sent = at(told.now - told.rtt);
    for i in 0..told.packets {
        let arrival = Some(sent + ms(5.0 + told.queue));
        control.on_fate(&Fate { sent, bytes: 1000, arrival, ce: i < told.marked });
    }
    for _ in 0..told.lost {
        control.on_fate(&Fate { sent, bytes: 1000, arrival: None, ce: false });
    }
    control.on_feedback(&Feedback {
        now: at(told.now),
        rtt: Some(ms(told.rtt)),
        newly_acked: 1000 * (told.packets + told.lost),
        in_flight: 10_000,
    });
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{found}, wanted {wanted}");
}

#[test]
fn alpha_rises_by_an_eighth_of_the_distance_and_falls_by_a_128th() {
    let mut control = control(|_| ());
    tell(&mut control, Told { marked: 5, ..TOLD });
    near(control.alpha(), 0.0625);
    tell(&mut control, Told { now: 1020.0, ..TOLD });
    near(control.alpha(), 0.0625 * 127.0 / 128.0);
    // Less than 10 ms later it waits.
    tell(&mut control, Told { now: 1025.0, marked: 10, ..TOLD });
    near(control.alpha(), 0.0625 * 127.0 / 128.0);
}

#[test]
fn a_calm_report_of_a_whole_window_adds_a_packet_and_a_little_more_and_sets_the_rate() {
    let mut control = control(|_| ());
    control.on_sent(&Departure { now: at(0.0), bytes: 1000, in_flight: 10_000 });
    tell(&mut control, Told { packets: 3, ..TOLD });
    // 1000 x (1 + 0.02 x 3 x 0.4), 0.4 of the time after congestion has passed.
    near(control.window, 4024.0);
    assert_eq!(control.window(), Some(12_072));
    assert_eq!(control.target(), BitRate(895_790));
}

#[test]
fn growth_stops_at_one_packet_and_one_and_a_half_of_the_bytes_in_flight() {
    let mut control = control(|_| ());
    control.on_sent(&Departure { now: at(0.0), bytes: 1000, in_flight: 1300 });
    tell(&mut control, Told { packets: 3, ..TOLD });
    near(control.window, 3000.0);
}

#[test]
fn a_mark_takes_off_half_of_alpha_once_and_unmarked_bytes_still_add() {
    let mut control = settled(|_| ());
    tell(&mut control, Told { marked: 2, ..TOLD });
    // alpha = 0.2 / 8.
    let reduced = 20_000.0 * (1.0 - 0.0125);
    near(control.window, reduced + 8000.0 * 1000.0 / reduced);
    // 10 ms later the next mark only slows the growth: `near` is 0.1, and at least a quarter.
    let before = control.window;
    tell(&mut control, Told { now: 1010.0, marked: 2, ..TOLD });
    near(control.window, before + 8000.0 * 1000.0 / before * 0.25);
}

#[test]
fn at_twice_the_virtual_rtt_a_mark_takes_off_half_as_much() {
    let mut control = settled(|_| ());
    tell(&mut control, Told { marked: 2, rtt: 50.0, ..TOLD });
    let reduced = 20_000.0 * (1.0 - 0.00625);
    near(control.window, reduced + 8000.0 * 1000.0 / reduced);
}

#[test]
fn a_mark_after_a_hundred_calm_rtts_cuts_the_window_to_the_bytes_in_flight() {
    let mut control = settled(|_| ());
    (control.reacted_at, control.most_in_flight) = (-2.0, [8000, 8000]);
    tell(&mut control, Told { marked: 2, ..TOLD });
    let reduced = 8000.0 * (1.0 - 0.0125);
    near(control.window, reduced + 8000.0 * 1000.0 / reduced);
}

#[test]
fn classic_ecn_and_losses_have_their_factors() {
    let mut control = settled(|config| config.ecn = ScreamEcn::Classic);
    assert_eq!(control.codepoint(), Ecn::Ect0);
    tell(&mut control, Told { marked: 2, ..TOLD });
    near(control.window, 16_000.0 + 8000.0 * 1000.0 / 16_000.0);
    let mut control = settled(|_| ());
    assert_eq!(control.codepoint(), Ecn::Ect1);
    tell(&mut control, Told { lost: 1, ..TOLD });
    near(control.window, 14_000.0 + 11_000.0 * 1000.0 / 14_000.0);
}

#[test]
fn a_queue_of_three_quarters_of_the_target_counts_as_half_of_the_packets_marked() {
    let mut control = settled(|_| ());
    tell(&mut control, Told { now: 950.0, packets: 1, ..TOLD });
    control.delay.average = 0.045;
    control.window = 20_000.0;
    // Larger than the average, so the average moves by a quarter of the distance: it stays.
    tell(&mut control, Told { queue: 45.0, ..TOLD });
    let reduced = 20_000.0 * 0.75;
    // Only losses and marks end the calm: 100 ms of 2.5 s, and 2 % of 15 packets.
    near(control.window, reduced + 10_000.0 * 1000.0 / reduced * (1.0 + 0.3 * 0.04));
}

#[test]
fn the_average_delay_rises_slowly_and_falls_at_once() {
    let mut delay = QueueDelay::new(0.06, false);
    delay.take(at(10.0), at(5.0));
    delay.take(at(60.0), at(15.0));
    near(delay.last(), 0.04);
    delay.average(1.0, 0.025);
    near(delay.average, 0.01);
    delay.take(at(69.0), at(60.0));
    delay.average(1.02, 0.025);
    near(delay.average, 0.01);
    delay.average(1.03, 0.025);
    near(delay.average, 0.004);
    near(delay.scale(), 1.0);
}

#[test]
fn with_reduced_jitter_a_varying_delay_lowers_the_bytes_in_flight() {
    let mut delay = QueueDelay::new(0.06, true);
    delay.take(at(10.0), at(5.0));
    delay.average(1.0, 0.025);
    // Greatest 60 ms x 15/16 = 56.25; least 56.25/16 = 3.515625; variation of 52.734375 / 32.
    near(delay.scale(), 1.0 - 0.052_734_375 / 32.0 / 0.01);
}

#[test]
fn the_base_delay_is_the_least_of_ten_minutes() {
    let mut delay = QueueDelay::new(0.06, false);
    let minute = |n: u64| Instant::ZERO + Duration::from_secs(60 * n);
    delay.take(minute(0) + ms(5.0), minute(0));
    for n in 1..10 {
        delay.take(minute(n) + ms(9.0), minute(n));
        near(delay.last(), 0.004);
    }
    delay.take(minute(11) + ms(9.0), minute(11));
    near(delay.last(), 0.0);
}

#[test]
fn packets_leave_at_one_and_a_half_of_the_rate_and_faster_near_the_greatest_rate() {
    let mut control = control(|_| ());
    for (target, pace) in [(10e6, 15e6), (16e6, 24e6), (18e6, 54e6), (20e6, 120e6)] {
        control.target = target;
        assert_eq!(control.pacing_rate(), BitRate(pace as u64));
    }
}

#[test]
fn frames_that_wait_or_are_too_large_lower_the_rate() {
    let mut control = control(|_| ());
    control.target = 400_000.0;
    // (25 - 20 / 4) / 20 = 1; twice the nominal 1000 B.
    control.on_frame(&Encoded { bytes: 2000, waited: ms(25.0) });
    near(control.waiting, 1.0 / 16.0);
    near(control.too_large, 1.0 / 64.0);
    (control.srtt, control.window) = (0.025, 20_000.0);
    control.set_target();
    let factor = 1.2 + 1.0 / 16.0 + 1.0 / 64.0;
    near(control.target, 8.0 * 20_000.0 / 0.025 * 1000.0 / 1020.0 / factor);
}

#[test]
fn a_call_that_starts_late_grows_as_a_call_that_starts_at_0() {
    let windows = |start: f64| {
        let mut control = control(|_| ());
        control.on_sent(&Departure { now: at(start), bytes: 1000, in_flight: 10_000 });
        [30.0, 80.0, 300.0].map(|after| {
            tell(&mut control, Told { now: start + after, ..TOLD });
            control.window
        })
    };
    let [early, late] = [windows(0.0), windows(100_000.0)];
    early.iter().zip(late).for_each(|(early, late)| near(late, *early));
}
