use super::*;
use crate::kernel::Kernel;
use crate::testing::{self, MSS};

pub(super) fn control(config: &BbrConfig) -> Bbr {
    Bbr::new(config, &testing::birth()).expect("the settings are valid")
}

/// A path with no queue below its capacity: one acknowledgement per segment, at `rate` bytes per
/// second.
struct Path {
    now: Instant,
    delivered: u64,
    rate: u64,
    rtt: Duration,
}

impl Path {
    fn new(rate: u64, rtt_ms: u64) -> Self {
        Self {
            now: Instant::from_nanos(1_000_000_000),
            delivered: 0,
            rate,
            rtt: Duration::from_millis(rtt_ms),
        }
    }

    fn sample(&mut self, in_flight: u64) -> AckSample {
        self.now += BitRate(self.rate * 8).time_for_ceil(MSS);
        self.delivered += MSS;
        let mut sample = testing::sample(MSS);
        sample.now = self.now;
        sample.rtt = Some(self.rtt);
        sample.srtt = self.rtt;
        sample.min_rtt = self.rtt;
        sample.delivered = self.delivered;
        let window = (self.rate as f64 * self.rtt.as_secs_f64()) as u64;
        sample.prior_delivered = self.delivered.saturating_sub(window);
        let delta = sample.delivered - sample.prior_delivered;
        sample.interval = Some(BitRate(self.rate * 8).time_for_ceil(delta));
        sample.prior_in_flight = in_flight + MSS;
        sample.in_flight = in_flight;
        sample
    }

    fn run(&mut self, bbr: &mut Bbr, seconds: f64, in_flight: impl Fn(&Bbr) -> u64) {
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            let sample = self.sample(in_flight(bbr));
            bbr.on_ack(&sample);
        }
    }
}

#[test]
fn startup_ends_after_three_rounds_without_growth_and_drain_ends_at_one_bdp() {
    let mut bbr = control(&BbrConfig::default());
    let mut path = Path::new(2_000_000, 50);
    assert_eq!(bbr.phase(), "startup");
    path.run(&mut bbr, 0.9, |_| 300_000);
    assert_eq!(bbr.phase(), "drain");
    assert!(bbr.pacing.0 < 2_000_000 * 8 / 2);
    let sample = path.sample(100_000);
    bbr.on_ack(&sample);
    assert_eq!(bbr.phase(), "probe_bw");
}

#[test]
fn the_bandwidth_and_the_window_follow_the_path() {
    let mut bbr = control(&BbrConfig { ack_aggregation: false, ..BbrConfig::default() });
    let mut path = Path::new(2_000_000, 50);
    path.run(&mut bbr, 3.0, |_| 100_000);
    assert!(bbr.bandwidth.get().abs_diff(2_000_000) < 2_000);
    let bdp = 70; // 100 000 B in segments of 1448 B, rounded up
    let burst = bbr.burst_segments();
    let expected = (2 * bdp - 1 + 3 * burst).next_multiple_of(2);
    assert!((bbr.cwnd() / MSS).abs_diff(expected) <= 2, "{} for {expected}", bbr.cwnd() / MSS);
}

#[test]
fn the_eight_phases_pace_at_the_draft_s_gains_less_one_per_cent() {
    let mut bbr = control(&BbrConfig::default());
    let mut path = Path::new(2_000_000, 50);
    path.run(&mut bbr, 2.0, |_| 100_000);
    let mut seen = [0u32; 3];
    for _ in 0..2000 {
        let probing = bbr.pacing_gain > 1.1;
        let sample = path.sample(if probing { 200_000 } else { 100_000 });
        bbr.on_ack(&sample);
        let ratio = bbr.pacing.0 as f64 / (bbr.bandwidth.get() as f64 * 8.0 * 0.99);
        let which = [1.25, 0.75, 1.0].iter().position(|g| (ratio - g).abs() < 1e-3);
        seen[which.expect("no other gain is used")] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0 && seen[2] > seen[0] && seen[2] > seen[1], "{seen:?}");
}

#[test]
fn after_ten_seconds_without_a_smaller_rtt_four_segments_are_in_flight_for_200_ms() {
    let mut bbr = control(&BbrConfig::default());
    let mut path = Path::new(2_000_000, 50);
    path.run(&mut bbr, 5.0, |_| 100_000);
    path.rtt = Duration::from_millis(60);
    let before = bbr.cwnd();
    while bbr.phase() != "probe_rtt" {
        let sample = path.sample(100_000);
        bbr.on_ack(&sample);
        assert!(path.now < Instant::from_nanos(12_000_000_000));
    }
    assert_eq!(bbr.cwnd(), 4 * MSS);
    let entered = path.now;
    assert!(bbr.limits_samples());
    while bbr.phase() == "probe_rtt" {
        let sample = path.sample(4 * MSS);
        bbr.on_ack(&sample);
    }
    let lasted = path.now.since(entered);
    assert!((0.2..0.3).contains(&lasted.as_secs_f64()), "{lasted}");
    assert!(bbr.cwnd() >= before.min(bbr.conservation.prior_cwnd));
    assert_eq!(bbr.min_rtt, Some(Duration::from_millis(60)));
}

#[test]
fn the_first_round_of_recovery_conserves_packets_and_the_window_returns_after_it() {
    let mut bbr = control(&BbrConfig::default());
    let mut path = Path::new(2_000_000, 50);
    path.run(&mut bbr, 2.0, |_| 100_000);
    let before = bbr.cwnd();
    bbr.on_congestion(&testing::loss(before));
    let mut sample = path.sample(90_000);
    sample.recovery = RecoveryState::Recovery;
    sample.lost = 3 * MSS;
    bbr.on_ack(&sample);
    assert_eq!(bbr.cwnd(), 90_000 + MSS);
    let mut sample = path.sample(90_000);
    sample.recovery = RecoveryState::Open;
    bbr.on_ack(&sample);
    assert!(bbr.cwnd() >= before.min(bbr.target_in_flight(bbr.bandwidth.get(), 2.0)));
}

#[test]
fn aggregated_acknowledgements_raise_the_window_only_when_the_switch_is_on() {
    let run = |ack_aggregation| {
        let mut bbr = control(&BbrConfig { ack_aggregation, ..BbrConfig::default() });
        let mut path = Path::new(2_000_000, 50);
        for i in 0..8000u64 {
            let mut sample = path.sample(100_000);
            // Fourteen segments are acknowledged together, about every 10 ms.
            sample.now = Instant::from_nanos(sample.now.as_nanos() / 10_000_000 * 10_000_000);
            sample.acked = MSS;
            bbr.on_ack(&sample);
            assert!(bbr.cwnd() >= MSS, "{i}");
        }
        bbr.cwnd() / MSS
    };
    let (with, without) = (run(true), run(false));
    assert!((8..=16).contains(&(with - without)), "{with} against {without}");
}

#[test]
fn a_policer_is_found_by_two_lossy_intervals_of_one_rate() {
    let run = |policer_detection| {
        let mut bbr = control(&BbrConfig { policer_detection, ..BbrConfig::default() });
        let mut path = Path::new(2_000_000, 50);
        let mut lost_total = 0;
        for i in 0..2500u64 {
            let mut sample = path.sample(100_000);
            if i % 3 == 0 {
                lost_total += MSS;
                sample.lost = MSS;
            }
            sample.lost_total = lost_total;
            bbr.on_ack(&sample);
        }
        bbr.policer.rate()
    };
    assert_eq!(run(false), None);
    let rate = run(true).expect("a third is lost at a steady rate");
    assert!(rate.abs_diff(2_000_000) < 100_000, "{rate}");
}

#[test]
fn the_start_phase_depends_on_the_key_and_is_never_the_draining_one() {
    let start = |key| {
        let birth = Birth { key, ..testing::birth() };
        let mut bbr = Bbr::new(&BbrConfig::default(), &birth).expect("the settings are valid");
        bbr.enter_probe_bw(Instant::ZERO);
        bbr.update_gains();
        (bbr.cycle.gain(), bbr.pacing_gain)
    };
    let gains: std::vec::Vec<_> = (0..64).map(start).collect();
    assert!(gains.iter().all(|g| g.0 >= 1.0 && g.1 >= 1.0));
    assert!(gains.iter().any(|g| g.0 > 1.0) && gains.iter().any(|g| g.0 < 1.1));
}

/// A control on a path of 1 MB/s and 50 ms: 34.5 segments of 1448 B.
fn measured(mode: Mode) -> Bbr {
    let mut bbr = control(&BbrConfig::default());
    bbr.bandwidth.update(10, 0, 1_000_000);
    bbr.min_rtt = Some(Duration::from_millis(50));
    bbr.mode = mode;
    bbr
}

#[test]
fn the_bdp_is_in_whole_segments_rounded_up_and_the_initial_window_before_an_rtt() {
    let bbr = measured(Mode::ProbeBw);
    assert_eq!([bbr.bdp_segments(1_000_000, 1.0), bbr.bdp_segments(1_000_000, 2.0)], [35, 70]);
    assert_eq!([bbr.bdp_segments(28_960, 1.0), bbr.bdp_segments(28_961, 1.0)], [1, 2]);
    let young = control(&BbrConfig::default());
    assert_eq!(young.bdp_segments(1_000_000, 2.0), 10);
}

#[test]
fn the_target_has_three_bursts_is_even_and_has_two_more_while_probing() {
    let mut bbr = measured(Mode::ProbeBw);
    bbr.pacing = BitRate(5 * 1448 * 8 * 1024);
    bbr.cycle = Cycle::default();
    assert_eq!([bbr.with_quanta(10), bbr.with_quanta(11)], [28, 28]);
    bbr.mode = Mode::Startup;
    assert_eq!([bbr.with_quanta(10), bbr.with_quanta(11)], [26, 26]);
    assert_eq!(bbr.target_in_flight(1_000_000, 1.0), 50 * MSS);
    bbr.enter_probe_bw(Instant::ZERO);
    while bbr.cycle.is_probing_up() {
        bbr.enter_probe_bw(Instant::ZERO);
    }
    assert_eq!(bbr.with_quanta(10), 26);
}

#[test]
fn a_round_ends_when_what_was_delivered_at_its_start_is_acknowledged_again() {
    let mut bbr = measured(Mode::ProbeBw);
    (bbr.next_round, bbr.round) = (9000, 3);
    let mut update = |prior_delivered, delivered, interval: Option<u64>| {
        let interval = interval.map(Duration::from_millis);
        bbr.update_bandwidth(&AckSample {
            prior_delivered,
            delivered,
            interval,
            ..testing::sample(MSS)
        });
        (bbr.round_start, bbr.round, bbr.next_round)
    };
    assert_eq!(update(8999, 10_000, Some(50)), (false, 3, 9000));
    assert_eq!(update(9000, 11_000, Some(50)), (true, 4, 11_000));
    assert_eq!(update(10_999, 12_000, Some(50)), (false, 4, 11_000));
    assert_eq!(update(11_000, 12_000, None), (false, 4, 11_000));
}

#[test]
fn a_sample_that_the_application_limited_counts_only_where_it_is_not_lower() {
    for (app_limited, delivered, expected) in
        [(true, 49_999, 1_000_000), (true, 60_000, 1_200_000), (false, 49_999, 999_980)]
    {
        let mut bbr = measured(Mode::ProbeBw);
        // So old that any sample replaces the maximum.
        bbr.round = 50;
        bbr.next_round = u64::MAX;
        bbr.update_bandwidth(&AckSample {
            app_limited,
            delivered: 7 + delivered,
            prior_delivered: 7,
            ..testing::sample(MSS)
        });
        assert_eq!(bbr.bandwidth.get(), expected);
    }
    // A sample equal to the maximum replaces it, so that it does not age.
    let mut bbr = measured(Mode::ProbeBw);
    (bbr.round, bbr.next_round) = (9, u64::MAX);
    bbr.update_bandwidth(&AckSample {
        app_limited: true,
        delivered: 50_000,
        ..testing::sample(MSS)
    });
    bbr.bandwidth.update(BANDWIDTH_ROUNDS, 19, 1);
    assert_eq!(bbr.bandwidth.get(), 1_000_000);
}

#[test]
fn a_rate_is_bytes_over_time_rounded_down() {
    assert_eq!(bytes_per_second(1448, Duration::from_millis(3)), 482_666);
    assert_eq!(bytes_per_second(u64::MAX, Duration::from_secs(1)), 1 << 33);
    assert_eq!(bytes_per_second(7, Duration::ZERO), 7_000_000_000);
}

#[test]
fn each_mode_has_its_gains_and_its_name() {
    let high = 2.885;
    for (mode, phase, gains) in [
        (Mode::Startup, "startup", (high, high)),
        (Mode::Drain, "drain", (1.0 / high, high)),
        (Mode::ProbeBw, "probe_bw", (1.25, 2.0)),
        (Mode::ProbeRtt, "probe_rtt", (1.0, 1.0)),
    ] {
        let mut bbr = measured(mode);
        bbr.update_gains();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(bbr.pacing_gain, gains.0) && near(bbr.cwnd_gain, gains.1), "{phase}");
        assert_eq!((bbr.phase(), bbr.in_slow_start()), (phase, mode == Mode::Startup));
        assert_eq!(bbr.ssthresh(), u64::MAX);
        assert!(bbr.owns_recovery() && bbr.pacing_rate() == Some(bbr.pacing));
    }
    let mut policed = measured(Mode::ProbeBw);
    policed.policer.assume(5000);
    policed.update_gains();
    assert!((policed.pacing_gain - 1.0).abs() < 1e-12 && (policed.cwnd_gain - 2.0).abs() < 1e-12);
    assert_eq!(policed.estimated_bandwidth(), 5000);
}

#[test]
fn the_window_grows_by_what_is_acknowledged_up_to_its_target_once_the_pipe_was_full() {
    let grown = |reached, cwnd: u64, delivered| {
        let mut bbr = measured(Mode::Drain);
        (bbr.full_pipe.reached, bbr.cwnd, bbr.cwnd_gain, bbr.pacing) =
            (reached, cwnd, 2.0, BitRate(1));
        bbr.ack_aggregation = false;
        bbr.update_cwnd(&AckSample { delivered, ..testing::sample(2 * MSS) }, 1_000_000);
        bbr.cwnd
    };
    // Twice 34.5 segments, rounded up, plus three bursts of one, made even: 74.
    assert_eq!([grown(true, 70 * MSS, 0), grown(true, 73 * MSS, 0)], [72 * MSS, 74 * MSS]);
    assert_eq!(grown(true, 90 * MSS, 0), 74 * MSS);
    let late = 10 * MSS;
    assert_eq!(
        [grown(false, 74 * MSS - 1, late), grown(false, 74 * MSS, late)],
        [76 * MSS - 1, 74 * MSS]
    );
    assert_eq!(
        grown(false, 80 * MSS, late - 1),
        82 * MSS,
        "within the initial window it grows always"
    );
    assert_eq!(grown(true, 1, 0), 4 * MSS, "the least window");
}

#[test]
fn probe_rtt_holds_four_segments_and_an_acknowledgement_of_nothing_changes_nothing() {
    let mut bbr = measured(Mode::ProbeRtt);
    bbr.update_cwnd(&testing::sample(MSS), 1_000_000);
    assert_eq!(bbr.cwnd(), 4 * MSS);
    let mut bbr = measured(Mode::ProbeBw);
    bbr.cwnd = MSS;
    bbr.update_cwnd(&testing::sample(0), 1_000_000);
    assert_eq!(bbr.cwnd(), MSS);
    // Recovery alone sets the window in its first round.
    bbr.cwnd = 40 * MSS;
    bbr.update_cwnd(
        &AckSample { recovery: RecoveryState::Recovery, ..testing::sample(MSS) },
        1_000_000,
    );
    assert_eq!(bbr.cwnd(), 11 * MSS);
}

#[test]
fn the_excess_of_aggregation_is_part_of_the_target() {
    let mut bbr = measured(Mode::Drain);
    (bbr.full_pipe.reached, bbr.cwnd, bbr.cwnd_gain, bbr.pacing) =
        (true, 200 * MSS, 2.0, BitRate(1));
    bbr.update_aggregation(&AckSample { acked: 6 * MSS, ..testing::sample(MSS) });
    bbr.update_cwnd(&testing::sample(MSS), 1_000_000);
    assert_eq!(bbr.cwnd(), 80 * MSS);
}

#[test]
fn a_timeout_leaves_one_segment_more_than_is_in_flight_and_a_loss_the_window() {
    let mut bbr = measured(Mode::Startup);
    bbr.cwnd = 30 * MSS;
    bbr.on_congestion(&testing::loss(30 * MSS));
    assert_eq!(
        (bbr.cwnd(), bbr.conservation.prior_cwnd, bbr.round_start),
        (30 * MSS, 30 * MSS, false)
    );
    let event = Congestion { in_flight: 2 * MSS, ..testing::timeout(30 * MSS, false) };
    bbr.on_congestion(&event);
    assert_eq!((bbr.cwnd(), bbr.round_start), (3 * MSS, true));
    assert_eq!(bbr.conservation.previous, RecoveryState::Loss);
}

#[test]
fn a_reduction_for_nothing_measures_growth_and_policer_anew() {
    let mut bbr = measured(Mode::Startup);
    bbr.policer.assume(5000);
    for _ in 0..2 {
        bbr.round_start = true;
        bbr.check_full_pipe(&testing::sample(1));
    }
    bbr.on_spurious(Instant::ZERO);
    assert_eq!(bbr.policer.rate(), None);
    for _ in 0..3 {
        bbr.round_start = true;
        bbr.check_full_pipe(&testing::sample(1));
        assert!(!bbr.full_pipe.reached);
    }
}

#[test]
fn a_flow_that_was_idle_resumes_at_the_bandwidth_and_may_end_a_probe() {
    let now = Instant::from_nanos(9_000_000_000);
    let second = Duration::from_secs(1);
    let restart = |bbr: &mut Bbr, app_limited| {
        bbr.on_idle_restart(&IdleRestart {
            now,
            idle: second,
            rto: second,
            shrink: false,
            app_limited,
        });
        (bbr.idle_restart, bbr.pacing.0)
    };
    let mut bbr = measured(Mode::ProbeBw);
    (bbr.full_pipe.reached, bbr.pacing) = (true, BitRate(1));
    assert_eq!(restart(&mut bbr, false), (false, 1));
    assert_eq!(restart(&mut bbr, true), (true, 7_920_000));
    let mut startup = measured(Mode::Startup);
    startup.pacing = BitRate(1);
    assert_eq!(restart(&mut startup, true), (true, 1));
    let mut probe = measured(Mode::ProbeRtt);
    let little =
        AckSample { now: Instant::from_nanos(8_000_000_000), in_flight: 0, ..testing::sample(MSS) };
    probe.update_min_rtt(&little);
    restart(&mut probe, true);
    assert_eq!((probe.mode, probe.min_rtt_at), (Mode::Startup, now));
}

#[test]
fn a_min_rtt_window_below_a_second_is_refused_by_name() {
    let config =
        |ms| BbrConfig { min_rtt_window: Duration::from_millis(ms), ..BbrConfig::default() };
    assert_eq!(config(1000).validate(), Ok(()));
    assert_eq!(config(999).validate().map_err(|error| error.field), Err("min_rtt_window".into()));
    let birth = Birth { initial_window: 100, ..testing::birth() };
    assert_eq!(
        Bbr::new(&config(1000), &birth).map(|bbr| bbr.cwnd()),
        Ok(MSS),
        "a segment at least"
    );
}

#[test]
fn bytes_delivered_before_the_next_burst_are_no_longer_in_flight_since_4_20() {
    let in_flight = |kernel, gain, wait_us| {
        let birth = Birth { kernel, ..testing::birth() };
        let mut bbr = Bbr::new(&BbrConfig::default(), &birth).expect("the defaults are valid");
        bbr.bandwidth.update(10, 0, 1_000_000);
        (bbr.pacing_gain, bbr.pacing) = (gain, BitRate(8_000_000));
        let mut sample = testing::sample(MSS);
        sample.now = Instant::from_nanos(5_000_000_000);
        sample.departure = sample.now + Duration::from_micros(wait_us);
        bbr.at_departure(&sample, 10 * MSS) / MSS
    };
    let recent = |gain, wait_us| in_flight(Kernel::Linux6_18, gain, wait_us);
    // At 1 MB/s a segment takes 1448 us, and a burst has two.
    assert_eq!([recent(1.0, 0), recent(1.0, 1400), recent(1.0, 1500)], [10, 10, 9]);
    assert_eq!([recent(1.25, 0), recent(1.25, 2897), recent(1.0, 99_000)], [12, 10, 0]);
    let of = |kernel| in_flight(kernel, 1.0, 1500);
    assert_eq!(Kernel::ALL.map(of), [10, 10, 9, 9, 9]);
    assert_eq!(in_flight(Kernel::Linux4_15, 1.25, 2897), 10);
}

#[test]
fn before_5_1_aggregated_acknowledgements_have_no_room_whatever_the_setting() {
    let room = |kernel, ack_aggregation| {
        let birth = Birth { kernel, ..testing::birth() };
        let config = BbrConfig { ack_aggregation, ..BbrConfig::default() };
        Bbr::new(&config, &birth).expect("the settings are valid").ack_aggregation
    };
    assert_eq!(Kernel::ALL.map(|kernel| room(kernel, true)), [true, false, true, true, true]);
    assert_eq!(Kernel::ALL.map(|kernel| room(kernel, false)), [false; 5]);
}
