use super::*;
use crate::testing::{self, MSS};

fn control(variant: Variant) -> Bbr3 {
    Bbr3::new(&Bbr3Config { variant }, &testing::birth()).expect("the settings are valid")
}

/// A path with no queue below its capacity: one acknowledgement for each segment, at `rate` bytes
/// per second.
struct Path {
    now: Instant,
    delivered: u64,
    lost: u64,
    rate: u64,
    rtt: Duration,
}

impl Path {
    fn new(rate: u64, rtt_ms: u64) -> Self {
        Self {
            now: Instant::from_nanos(1_000_000_000),
            delivered: 0,
            lost: 0,
            rate,
            rtt: Duration::from_millis(rtt_ms),
        }
    }

    fn bdp(&self) -> u64 {
        (self.rate as f64 * self.rtt.as_secs_f64()) as u64
    }

    fn sample(&mut self, in_flight: u64) -> AckSample {
        self.now += BitRate(self.rate * 8).time_for_ceil(MSS);
        self.delivered += MSS;
        let prior_delivered = self.delivered.saturating_sub(self.bdp());
        AckSample {
            now: self.now,
            rtt: Some(self.rtt),
            srtt: self.rtt,
            min_rtt: self.rtt,
            delivered: self.delivered,
            prior_delivered,
            interval: Some(BitRate(self.rate * 8).time_for_ceil(self.delivered - prior_delivered)),
            prior_in_flight: in_flight + MSS,
            in_flight,
            tx_in_flight: in_flight,
            lost_total: self.lost,
            ..testing::sample(MSS)
        }
    }

    /// Acknowledgements for `seconds`; the window is in flight.
    fn run(&mut self, bbr: &mut Bbr3, seconds: f64) {
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            let sample = self.sample(bbr.cwnd());
            bbr.on_ack(&sample);
        }
    }

    /// Runs until `phase`, at most a minute.
    fn run_to(&mut self, bbr: &mut Bbr3, phase: Phase) {
        let end = self.now + Duration::from_secs(60);
        while bbr.phase != phase {
            assert!(self.now < end, "no {phase:?}");
            let in_flight = if bbr.phase == Phase::Drain { self.bdp() } else { bbr.cwnd() };
            let sample = self.sample(in_flight.min(bbr.cwnd()));
            bbr.on_ack(&sample);
        }
    }

    fn lose(&mut self, bbr: &mut Bbr3, tx_in_flight: u64, lost_since_sent: u64, follows: bool) {
        self.lost += MSS;
        bbr.on_lost(&Lost {
            now: self.now,
            bytes: MSS,
            tx_in_flight,
            lost_since_sent,
            app_limited: false,
            delivered: self.delivered,
            follows,
        });
    }
}

#[test]
fn startup_ends_after_three_rounds_without_growth_at_the_rate_of_the_path() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(2_000_000, 50);
    assert_eq!(bbr.phase(), "startup");
    path.run_to(&mut bbr, Phase::Drain);
    let off = bbr.model.max_bandwidth().abs_diff(2_000_000);
    assert!(off <= 40_000, "off by {off} B/s");
    assert!(path.now.as_secs_f64() - 1.0 < 0.4, "{:?}", path.now);
}

#[test]
fn an_application_that_limits_the_rate_does_not_end_startup() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(2_000_000, 50);
    for _ in 0..5000 {
        let sample = AckSample { app_limited: true, ..path.sample(10 * MSS) };
        bbr.on_ack(&sample);
    }
    assert_eq!(bbr.phase, Phase::Startup);
}

#[test]
fn six_ranges_lost_in_a_round_of_recovery_end_startup_and_bound_the_data_in_flight() {
    for (ranges, ends) in [(5, false), (6, true)] {
        let mut bbr = control(Variant::Draft);
        let mut path = Path::new(2_000_000, 50);
        path.run(&mut bbr, 0.02);
        // The application limits the rate, so its growth does not count.
        let recovering = |path: &mut Path, lost| AckSample {
            app_limited: true,
            recovery: RecoveryState::Recovery,
            lost_since_sent: lost,
            ..path.sample(100 * MSS)
        };
        // A first round in recovery, then one in which the ranges are lost.
        for round in 0..2 {
            let end = path.delivered + path.bdp() + 2 * MSS;
            if round == 1 {
                (0..ranges).for_each(|_| path.lose(&mut bbr, 100 * MSS, 10 * MSS, false));
            }
            while path.delivered < end {
                let sample = recovering(&mut path, 10 * MSS);
                bbr.on_ack(&sample);
            }
        }
        assert_eq!(bbr.full.reached, ends, "{ranges} ranges");
        assert_eq!(bbr.model.inflight_long < u64::MAX, ends, "{ranges} ranges");
        bbr.on_spurious(path.now);
        assert!(bbr.phase == Phase::Startup && !bbr.full.reached, "Startup goes on");
    }
}

#[test]
fn drain_ends_at_a_bdp_or_after_three_rounds_in_the_draft_alone() {
    for (variant, ends) in [(Variant::Draft, true), (Variant::Google, false)] {
        let mut bbr = control(variant);
        let mut path = Path::new(2_000_000, 50);
        path.run_to(&mut bbr, Phase::Drain);
        for _ in 0..(6 * path.bdp() / MSS) {
            let sample = path.sample(3 * path.bdp());
            bbr.on_ack(&sample);
        }
        assert_eq!(bbr.phase != Phase::Drain, ends, "{variant:?}");
        let sample = path.sample(path.bdp() / 2);
        bbr.on_ack(&sample);
        assert_ne!(bbr.phase, Phase::Drain);
    }
}

#[test]
fn the_phases_follow_each_other_with_their_gains() {
    for (variant, drain, down) in
        [(Variant::Draft, 0.5, 0.9), (Variant::Google, 1000.0 / 2885.0, 0.91)]
    {
        let mut bbr = control(variant);
        let mut path = Path::new(2_000_000, 50);
        for (phase, pacing, window) in [
            (Phase::Drain, drain, 2.0),
            (Phase::Down, down, 2.0),
            (Phase::Refill, 1.0, 2.0),
            (Phase::Up, 1.25, 2.25),
            (Phase::Down, down, 2.0),
        ] {
            path.run_to(&mut bbr, phase);
            assert!((bbr.pacing_gain() - pacing).abs() < 1e-9, "{phase:?}");
            assert!((bbr.cwnd_gain() - window).abs() < 1e-9, "{phase:?}");
            let wanted = bbr.model.bandwidth() as f64 * 8.0 * 0.99 * pacing;
            let off = bbr.pacing.0 as f64 - wanted;
            assert!(off.abs() < 2.0, "{phase:?}: {off}");
        }
    }
}

#[test]
fn a_probe_comes_after_2_to_3_s_or_as_many_rounds_as_segments_in_a_bdp() {
    // 100 rounds of 10 ms are shorter than 2 s: 63 rounds at most.
    for (rate, rtt_ms, least, most) in
        [(20_000_000, 100, 2.0, 3.2), (20_000_000, 10, 0.6, 0.7), (289_600, 50, 0.4, 0.6)]
    {
        let mut bbr = control(Variant::Draft);
        let mut path = Path::new(rate, rtt_ms);
        path.run_to(&mut bbr, Phase::Cruise);
        let begin = path.now;
        path.run_to(&mut bbr, Phase::Refill);
        let waited = path.now.since(begin).as_secs_f64();
        assert!((least..=most).contains(&waited), "{rtt_ms} ms: {waited}");
    }
}

#[test]
fn down_gives_way_to_cruise_at_a_bdp_with_headroom() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(2_000_000, 50);
    path.run_to(&mut bbr, Phase::Down);
    bbr.model.inflight_long = 100_000;
    assert_eq!(bbr.inflight_with_headroom(), 85_000);
    for (in_flight, phase) in [(85_001, Phase::Down), (85_000, Phase::Cruise)] {
        let mut sample = path.sample(in_flight);
        // The bound would follow more data that passed without loss.
        sample.tx_in_flight = 0;
        bbr.on_ack(&sample);
        assert_eq!(bbr.phase, phase);
    }
    assert!(bbr.cwnd() <= 85_000);
}

#[test]
fn loss_above_two_per_cent_of_the_data_in_flight_ends_a_probe_and_bounds_it_where_it_crossed() {
    for (lost_segments, ends) in [(2, false), (3, true)] {
        let mut bbr = control(Variant::Draft);
        let mut path = Path::new(2_000_000, 50);
        path.run_to(&mut bbr, Phase::Up);
        let tx_in_flight = 100 * MSS;
        path.lose(&mut bbr, tx_in_flight, lost_segments * MSS, false);
        assert_eq!(bbr.phase == Phase::Down, ends, "{lost_segments}");
        if ends {
            // 0.02 x 99 - 2 lost before, over 0.98, are -0.0204 segments beyond the 99 before.
            let expected = 99.0 * MSS as f64 - (2.0 - 0.02 * 99.0) / 0.98 * MSS as f64;
            let off = bbr.model.inflight_long as f64 - expected;
            assert!(off.abs() < 2.0, "{} for {expected}", bbr.model.inflight_long);
        } else {
            assert_eq!(bbr.model.inflight_long, u64::MAX);
        }
    }
}

#[test]
fn a_round_with_any_loss_outside_probes_lowers_the_short_term_bounds_by_at_most_beta() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(2_000_000, 50);
    path.run_to(&mut bbr, Phase::Cruise);
    let (bandwidth, cwnd) = (bbr.model.bandwidth(), bbr.cwnd());
    path.lose(&mut bbr, 1000 * MSS, MSS, false);
    path.rate = 100_000;
    for _ in 0..100 {
        let sample = AckSample { lost: 0, ..path.sample(bbr.cwnd()) };
        bbr.on_ack(&sample);
        if bbr.model.bw_short < u64::MAX {
            break;
        }
    }
    let kept = bbr.model.bw_short as f64 / bandwidth as f64;
    assert!((0.69..=1.0).contains(&kept), "{kept}");
    assert!(bbr.cwnd() <= cwnd);
    path.run_to(&mut bbr, Phase::Refill);
    assert_eq!((bbr.model.bw_short, bbr.model.inflight_short), (u64::MAX, u64::MAX));
}

#[test]
fn the_long_term_bound_grows_by_doubling_steps_while_the_window_limits_a_probe() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(2_000_000, 50);
    path.run_to(&mut bbr, Phase::Up);
    (bbr.model.inflight_long, bbr.cwnd) = (100_000, 100_000);
    let mut growth = std::vec::Vec::new();
    for _ in 0..5 {
        let (round, before) = (bbr.model.round, bbr.model.inflight_long);
        while bbr.model.round == round {
            let mut sample = path.sample(bbr.cwnd());
            sample.tx_in_flight = 0;
            bbr.on_ack(&sample);
        }
        growth.push((bbr.model.inflight_long - before) as f64 / MSS as f64);
    }
    assert!(growth.windows(2).skip(1).all(|w| w[1] > 1.5 * w[0]), "{growth:?}");
    assert_eq!(bbr.phase, Phase::Up, "a probe that the bound holds back does not end");
}

#[test]
fn each_five_seconds_half_a_bdp_is_in_flight_for_200_ms_and_a_round() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(2_000_000, 50);
    path.run_to(&mut bbr, Phase::ProbeRtt);
    assert!((path.now.as_secs_f64() - 6.0).abs() < 0.1, "{:?}", path.now);
    assert!(bbr.limits_samples());
    let window = bbr.cwnd();
    assert!(window.abs_diff(path.bdp() / 2) < 2 * MSS, "{window}");
    let begin = path.now;
    path.run_to(&mut bbr, Phase::Cruise);
    let lasted = path.now.since(begin).as_secs_f64();
    assert!((0.2..0.3).contains(&lasted), "{lasted}");
    assert!(bbr.cwnd() > path.bdp(), "the window of before returns");
}

#[test]
fn a_flow_that_was_idle_resumes_at_the_bandwidth_and_probes_no_rtt() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(2_000_000, 50);
    path.run_to(&mut bbr, Phase::Cruise);
    path.now += Duration::from_secs(8);
    bbr.on_idle_restart(&IdleRestart {
        now: path.now,
        idle: Duration::from_secs(8),
        rto: Duration::from_millis(250),
        shrink: false,
        app_limited: true,
    });
    let sample = path.sample(MSS);
    bbr.on_ack(&sample);
    assert_ne!(bbr.phase, Phase::ProbeRtt);
    let wanted = (bbr.model.bandwidth() as f64 * 0.99 * 8.0) as u64;
    assert!(bbr.pacing.0 >= wanted.min(bbr.pacing.0), "{}", bbr.pacing.0);
}

#[test]
fn a_timeout_leaves_one_segment_beyond_the_data_in_flight_and_recovery_restores_the_window() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(2_000_000, 50);
    path.run_to(&mut bbr, Phase::Cruise);
    let before = bbr.cwnd();
    bbr.on_congestion(&testing::timeout(50 * MSS, false));
    assert_eq!(bbr.cwnd(), MSS);
    bbr.on_recovery_exit(path.now);
    assert_eq!(bbr.cwnd(), before);
}

#[test]
fn a_reduction_for_nothing_gives_the_bounds_and_the_phase_back() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(2_000_000, 50);
    path.run_to(&mut bbr, Phase::Up);
    // The engine marks losses, and then begins to recover.
    path.lose(&mut bbr, 100 * MSS, 20 * MSS, false);
    assert!(bbr.phase == Phase::Down && bbr.model.inflight_long < u64::MAX);
    bbr.on_congestion(&testing::loss(100 * MSS));
    bbr.on_spurious(path.now);
    assert_eq!((bbr.phase, bbr.model.inflight_long), (Phase::Refill, u64::MAX));
    assert!(!bbr.model.loss_in_round);
}

#[test]
fn a_phase_that_no_loss_has_ended_does_not_come_back_after_a_spurious_loss() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(2_000_000, 50);
    path.run(&mut bbr, 0.02);
    assert_eq!(bbr.phase, Phase::Startup);
    path.lose(&mut bbr, 100 * MSS, MSS, false);
    bbr.on_congestion(&testing::loss(100 * MSS));
    path.run_to(&mut bbr, Phase::Drain);
    bbr.on_spurious(path.now);
    assert!(bbr.phase == Phase::Drain && bbr.full.reached);
}

#[test]
fn the_window_is_at_least_four_segments_on_a_path_of_less() {
    let mut bbr = control(Variant::Draft);
    let mut path = Path::new(14_480, 20);
    path.run(&mut bbr, 30.0);
    assert!(bbr.cwnd() >= 4 * MSS);
    assert_eq!(bbr.least_burst(), 1);
}
