use super::*;
use crate::testing::{self, MSS};

fn control(config: &Config) -> Bbr {
    Bbr::new(config, &testing::birth()).expect("the settings are valid")
}

/// A path without a queue below its capacity: one acknowledgement per segment, at `rate` bytes per second.
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
    let mut bbr = control(&Config::default());
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
    let mut bbr = control(&Config { ack_aggregation: false, ..Config::default() });
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
    let mut bbr = control(&Config::default());
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
    let mut bbr = control(&Config::default());
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
    let mut bbr = control(&Config::default());
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
        let mut bbr = control(&Config { ack_aggregation, ..Config::default() });
        let mut path = Path::new(2_000_000, 50);
        for i in 0..8000u64 {
            let mut sample = path.sample(100_000);
            // Fourteen segments are acknowledged together, once in about 10 ms.
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
        let mut bbr = control(&Config { policer_detection, ..Config::default() });
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
fn the_start_phase_depends_on_the_seed_and_is_never_the_draining_one() {
    let start = |seed| {
        let mut bbr = control(&Config { seed, ..Config::default() });
        bbr.enter_probe_bw(Instant::ZERO);
        bbr.update_gains();
        (bbr.cycle.gain(), bbr.pacing_gain)
    };
    let gains: std::vec::Vec<_> = (0..64).map(start).collect();
    assert!(gains.iter().all(|g| g.0 >= 1.0 && g.1 >= 1.0));
    assert!(gains.iter().any(|g| g.0 > 1.0) && gains.iter().any(|g| g.0 < 1.1));
}

#[cfg(feature = "serde")]
#[test]
fn the_reference_page_lists_the_settings() {
    testing::check_doc(&DOC, &Config::default());
}
