use super::*;
use crate::kernel::Kernel;
use crate::testing::{self, MSS};

/// A control by RFC 9438.
fn control(config: &CubicConfig) -> Cubic {
    of(Kernel::Rfc, config)
}

fn of(kernel: Kernel, config: &CubicConfig) -> Cubic {
    let birth = Birth { kernel, ..testing::birth() };
    Cubic::new(config, &birth).expect("the settings are valid")
}

fn without_hystart() -> CubicConfig {
    CubicConfig { hystart: HyStart::Off, ..CubicConfig::default() }
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

#[test]
fn slow_start_doubles_the_window_each_round() {
    let mut c = control(&without_hystart());
    for round in 0..6 {
        let window = c.cwnd();
        assert_eq!(window, (10 << round) * MSS);
        for _ in 0..window / (2 * MSS) {
            c.on_ack(&testing::sample(2 * MSS));
        }
    }
}

#[test]
fn after_a_loss_the_window_follows_the_cubic_of_the_elapsed_time() {
    // A long RTT keeps the Reno-friendly estimate below the curve.
    let rtt = 200;
    let mut c = control(&without_hystart());
    c.curve.cwnd = 1000.0;
    c.publish();
    c.on_congestion(&testing::loss(1000 * MSS));
    assert_eq!(c.cwnd(), 700 * MSS);
    let k = libm::cbrt(1000.0 * 0.3 / 0.4);
    let mut worst: f64 = 0.0;
    for round in 0..80 {
        let now = round * rtt;
        let window = c.curve.cwnd as u64;
        for i in 0..window {
            let mut sample = testing::sample(MSS);
            sample.now = at(now + i * rtt / window);
            sample.srtt = Duration::from_millis(rtt);
            c.on_ack(&sample);
        }
        let t = (now + rtt) as f64 / 1e3;
        let expected = 0.4 * (t - k) * (t - k) * (t - k) + 1000.0;
        worst = worst.max((c.curve.cwnd / expected - 1.0).abs());
    }
    assert!(worst < 0.01, "the worst relative error is {worst}");
    assert!(c.curve.cwnd > 1000.0, "the convex side is reached");
}

#[test]
fn at_a_short_rtt_the_window_grows_as_reno_that_shares_equally() {
    let mut c = control(&without_hystart());
    c.curve.cwnd = 20.0;
    c.publish();
    c.on_congestion(&testing::loss(20 * MSS));
    let start = c.curve.cwnd;
    for round in 0..10 {
        for i in 0..c.curve.cwnd as u64 {
            let mut sample = testing::sample(MSS);
            sample.now = Instant::from_nanos((round * 1000 + i) * 1000);
            sample.srtt = Duration::from_millis(1);
            c.on_ack(&sample);
        }
    }
    let grown = c.curve.cwnd - start;
    let alpha = 3.0 * 0.3 / 1.7;
    assert!((grown / (10.0 * alpha) - 1.0).abs() < 0.1, "grew {grown} in ten rounds");
}

#[test]
fn a_second_loss_below_the_last_maximum_lowers_the_remembered_window() {
    let mut c = control(&without_hystart());
    c.curve.cwnd = 100.0;
    c.on_congestion(&testing::loss(100 * MSS));
    assert!((c.curve.w_max - 100.0).abs() < 1e-9);
    c.on_congestion(&testing::loss(70 * MSS));
    assert!((c.curve.w_max - 70.0 * 0.85).abs() < 1e-9);
    let mut unfair = control(&CubicConfig { fast_convergence: false, ..without_hystart() });
    unfair.curve.cwnd = 100.0;
    unfair.on_congestion(&testing::loss(100 * MSS));
    unfair.on_congestion(&testing::loss(70 * MSS));
    assert!((unfair.curve.w_max - 70.0).abs() < 1e-9);
}

#[test]
fn a_spurious_reduction_restores_the_curve() {
    let mut c = control(&without_hystart());
    c.curve.cwnd = 100.0;
    c.publish();
    c.on_congestion(&testing::timeout(100 * MSS, false));
    assert_eq!(c.cwnd(), MSS);
    c.on_spurious(at(5));
    assert_eq!((c.cwnd(), c.ssthresh()), (100 * MSS, u64::MAX));
}

#[test]
fn an_echo_multiplies_by_beta_or_under_abe_by_0_85_and_a_loss_always_by_beta() {
    for (abe, expected) in [(false, 700), (true, 850)] {
        let reduced = |event| {
            let mut c = control(&CubicConfig { abe, ..without_hystart() });
            c.curve.cwnd = 1000.0;
            c.on_congestion(&event);
            c.cwnd() / MSS
        };
        assert_eq!(
            (reduced(testing::echo(1000 * MSS)), reduced(testing::loss(1000 * MSS))),
            (expected, 700)
        );
    }
}

#[test]
fn hystart_plus_plus_grows_at_a_quarter_after_a_rise_and_by_eight_segments_at_most() {
    let mut c = control(&CubicConfig { hystart: HyStart::PlusPlus, ..CubicConfig::default() });
    c.on_ack(&testing::sample(100 * MSS));
    assert_eq!(c.cwnd(), 18 * MSS);
    for round in 0..2 {
        for i in 0..8 {
            let mut sample = testing::sample(MSS);
            sample.rtt = Some(Duration::from_millis(50 + round * 20));
            sample.sequence_round_start = i == 0;
            c.on_ack(&sample);
        }
    }
    // Eight and seven whole segments, then quarters from the eighth sample of the second round on.
    assert_eq!(c.cwnd(), (18 + 8 + 7) * MSS + MSS / 4);
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// A curve in congestion avoidance since 1 s, at `cwnd` segments with the maximum at 100.
fn avoiding(cwnd: f64) -> Cubic {
    let mut c = control(&without_hystart());
    c.curve = Curve {
        cwnd,
        ssthresh: 1.0,
        w_max: 100.0,
        epoch: Some(at(1000)),
        k: 2.0,
        w_est: 1.0,
        cwnd_prior: 1000.0,
    };
    c.publish();
    c
}

fn acked(c: &mut Cubic, ms: u64, rtt: u64, bytes: u64) -> f64 {
    let mut sample = testing::sample(bytes);
    (sample.now, sample.srtt) = (at(ms), Duration::from_millis(rtt));
    c.on_ack(&sample);
    c.curve.cwnd
}

#[test]
fn the_curve_starts_at_the_window_of_now_and_aims_at_the_last_maximum() {
    // RFC 9438 Figure 2: K = cbrt((W_max - cwnd_epoch) / C); without a higher maximum K is 0.
    let mut c = control(&without_hystart());
    (c.curve.cwnd, c.curve.w_max) = (92.0, 95.2);
    c.start_epoch(at(5));
    assert!(near(c.curve.k, 2.0) && near(c.curve.w_max, 95.2) && near(c.curve.w_est, 92.0));
    assert_eq!(c.curve.epoch, Some(at(5)));
    for t in [0.0, 1.0, 2.0, 5.0] {
        let cubed = (t - 2.0) * (t - 2.0) * (t - 2.0);
        assert!(near(c.window_at(t), 0.4 * cubed + 95.2), "Figure 1 at {t} s");
    }
    c.curve.cwnd = 100.0;
    c.start_epoch(at(6));
    assert!(near(c.curve.k, 0.0) && near(c.curve.w_max, 100.0));
    c.start_epoch(at(7));
    assert!(near(c.curve.k, 0.0) && near(c.curve.w_max, 100.0), "just at the maximum");
}

#[test]
fn an_acknowledged_segment_moves_the_window_by_its_share_of_the_way_to_the_curve_in_an_rtt() {
    // Section 4.4: cwnd += (target - cwnd) / cwnd, target = W(t + RTT); here W(3 s) = 100.4 with K
    // = 2 s.
    let mut c = avoiding(100.0);
    assert!(near(acked(&mut c, 3500, 500, MSS), 100.0 + 0.4 / 100.0));
    // Two segments add twice as much; 200 on a window of 100 add no more than the whole share.
    assert!(near(acked(&mut avoiding(100.0), 3500, 500, 2 * MSS), 100.0 + 0.4 / 100.0 * 2.0));
    assert!(near(acked(&mut avoiding(100.0), 3500, 500, 200 * MSS), 100.4));
    // The target is between the window and half more than it (section 4.2).
    assert!(near(acked(&mut avoiding(100.0), 1000, 100, MSS), 100.0));
    assert!(near(acked(&mut avoiding(100.0), 61_000, 500, 100 * MSS), 150.0));
}

#[test]
fn w_est_grows_by_alpha_for_each_window_and_as_reno_from_the_window_before_the_reduction_on() {
    // Section 4.3: alpha = 3 (1 - beta) / (1 + beta) = 9 / 17 until W_est >= cwnd_prior, then 1.
    for (w_est, prior, expected) in [(200.0, 200.1, 9.0 / 17.0), (200.0, 200.0, 1.0)] {
        let mut c = avoiding(100.0);
        (c.curve.w_est, c.curve.cwnd_prior) = (w_est, prior);
        // The Reno flow has more than W(0 s) = 96.8: its estimate is the window.
        let cwnd = acked(&mut c, 1000, 50, 10 * MSS);
        assert!(near(c.curve.w_est, w_est + expected * 0.1) && near(cwnd, c.curve.w_est));
    }
    // An estimate above the curve but below the window does not lower the window.
    let mut c = avoiding(100.0);
    c.curve.w_est = 98.0;
    assert!(near(acked(&mut c, 1000, 5000, 10 * MSS), 100.0));
    // When both are equal the window follows the curve.
    let mut c = avoiding(100.0);
    (c.curve.w_est, c.alpha) = (c.window_at(2.0), 0.0);
    assert!(near(acked(&mut c, 3000, 1000, 100 * MSS), 100.4));
}

#[test]
fn the_first_acknowledgement_after_a_reduction_starts_the_epoch() {
    let mut c = avoiding(70.0);
    c.curve.epoch = None;
    acked(&mut c, 9000, 50, MSS);
    assert_eq!(c.curve.epoch, Some(at(9000)));
    acked(&mut c, 9500, 50, MSS);
    assert_eq!(c.curve.epoch, Some(at(9000)));
}

#[test]
fn the_rest_of_an_acknowledgement_after_slow_start_is_for_congestion_avoidance() {
    let mut c = control(&without_hystart());
    (c.curve.cwnd, c.curve.ssthresh) = (10.0, 12.5);
    assert!(near(c.slow_start(4.0, Growth::Full), 1.5) && near(c.curve.cwnd, 12.5));
    assert!(!c.in_slow_start());
    (c.curve.cwnd, c.curve.ssthresh) = (10.0, 12.5);
    assert!(near(c.slow_start(2.0, Growth::Divided(4)), 0.0) && near(c.curve.cwnd, 10.5));
    (c.curve.cwnd, c.curve.epoch) = (10.0, None);
    acked(&mut c, 4000, 50, MSS);
    assert_eq!(c.curve.epoch, None, "all of it is used up");
    acked(&mut c, 4000, 50, 2 * MSS);
    assert_eq!(c.curve.epoch, Some(at(4000)));
}

#[test]
fn the_window_grows_only_in_use_and_out_of_recovery_or_after_a_timeout() {
    let grows = |change: &dyn Fn(&mut AckSample)| {
        let mut c = control(&without_hystart());
        let mut sample = testing::sample(MSS);
        change(&mut sample);
        c.on_ack(&sample);
        c.cwnd() > 10 * MSS
    };
    assert!(grows(&|_| {}) && grows(&|sample| sample.recovery = RecoveryState::Loss));
    assert!(!grows(&|sample| sample.recovery = RecoveryState::Recovery));
    assert!(!grows(&|sample| sample.recovery = RecoveryState::Reducing));
    assert!(!grows(&|sample| sample.acked = 0));
    let unused = |in_flight| {
        move |sample: &mut AckSample| {
            (sample.window_limited, sample.max_in_flight) = (false, in_flight)
        }
    };
    // In slow start more than half of the window must be used; later all of it.
    assert!(!grows(&unused(5 * MSS)) && grows(&unused(5 * MSS + 1)));
    let mut c = avoiding(100.0);
    let mut sample = testing::sample(MSS);
    (sample.now, sample.window_limited, sample.max_in_flight) = (at(9000), false, 100 * MSS);
    c.on_ack(&sample);
    assert!(near(c.curve.cwnd, 100.0));
}

#[test]
fn hystart_ends_slow_start_where_the_window_is_and_begins_anew_after_a_reduction() {
    // An acknowledgement train longer than half the smallest RTT of 50 ms, from 16 segments on.
    let mut c = control(&CubicConfig::default());
    c.curve.cwnd = 20.0;
    for ms in 0..=25 {
        let mut sample = testing::sample(MSS);
        (sample.now, sample.sequence_round_start) = (at(1000 + ms), ms == 0);
        c.on_ack(&sample);
        assert_eq!(c.ssthresh(), u64::MAX);
    }
    let mut sample = testing::sample(MSS);
    sample.now = at(1026);
    c.on_ack(&sample);
    assert_eq!(c.ssthresh(), 46 * MSS);
    let mut delay = control(&CubicConfig { hystart: HyStart::PlusPlus, ..CubicConfig::default() });
    for ms in [50_u64, 70] {
        for i in 0..8 {
            let mut sample = testing::sample(MSS);
            (sample.rtt, sample.sequence_round_start) = (Some(Duration::from_millis(ms)), i == 0);
            delay.on_ack(&sample);
        }
    }
    delay.on_congestion(&testing::timeout(20 * MSS, false));
    delay.on_ack(&testing::sample(MSS));
    assert_eq!(delay.cwnd(), 2 * MSS, "whole segments again");
}

#[test]
fn a_reduction_remembers_the_window_and_leaves_two_segments_of_threshold_at_least() {
    let mut c = avoiding(120.0);
    c.on_congestion(&testing::loss(120 * MSS));
    let curve = c.curve;
    assert!(
        near(curve.cwnd_prior, 120.0) && near(curve.w_max, 120.0) && near(curve.ssthresh, 84.0)
    );
    assert!(near(curve.cwnd, 84.0) && curve.epoch.is_none() && c.cwnd() == 84 * MSS);
    // A flow exactly at the last maximum has regained it.
    let mut c = avoiding(100.0);
    c.on_congestion(&testing::loss(100 * MSS));
    assert!(near(c.curve.w_max, 100.0));
    c.curve.cwnd = 2.0;
    c.on_congestion(&testing::loss(2 * MSS));
    assert_eq!((c.cwnd(), c.ssthresh()), (2 * MSS, 2 * MSS));
    c.on_congestion(&testing::timeout(2 * MSS, false));
    let before = c.before.cwnd;
    c.curve.cwnd = 5.0;
    c.on_congestion(&testing::timeout(2 * MSS, true));
    assert!(c.cwnd() == MSS && near(c.before.cwnd, before), "a repeated timeout remembers nothing");
}

#[test]
fn a_reduction_that_was_made_up_for_is_not_undone() {
    let mut c = avoiding(100.0);
    c.on_congestion(&testing::loss(100 * MSS));
    c.curve.cwnd = 100.0;
    c.on_spurious(at(5));
    assert!(near(c.curve.ssthresh, 70.0));
}

#[test]
fn silence_moves_the_epoch_and_beyond_a_timeout_takes_the_window_back() {
    let restart = |idle, shrink| {
        let mut c = avoiding(100.0);
        let (idle, rto) = (Duration::from_millis(idle), Duration::from_millis(300));
        c.on_idle_restart(&IdleRestart { now: at(9000), idle, rto, shrink, app_limited: true });
        (c.curve.epoch, c.cwnd() / MSS, c.ssthresh() / MSS)
    };
    assert_eq!(restart(300, true), (Some(at(1300)), 100, 1));
    assert_eq!(restart(301, false), (Some(at(1301)), 100, 1));
    // RFC 5681 section 4.1; the threshold keeps three quarters (RFC 2861).
    assert_eq!(restart(301, true), (Some(at(1301)), 10, 75));
    let mut small = avoiding(4.0);
    let idle = Duration::from_secs(1);
    small.on_idle_restart(&IdleRestart {
        now: at(9000),
        idle,
        rto: idle,
        shrink: true,
        app_limited: true,
    });
    assert_eq!(small.cwnd(), 4 * MSS);
}

#[test]
fn settings_out_of_bounds_are_refused_by_name_and_a_window_has_a_segment() {
    let refused = |config: CubicConfig| config.validate().map_err(|error| error.field);
    for c in [0.0, -1.0, 10.1, f64::NAN] {
        assert_eq!(refused(CubicConfig { c, ..CubicConfig::default() }), Err("c".into()));
    }
    for beta in [0.09, 0.96] {
        assert_eq!(
            refused(CubicConfig { beta: Ratio(beta), ..CubicConfig::default() }),
            Err("beta".into())
        );
    }
    for (c, beta) in [(10.0, 0.1), (1e-3, 0.95)] {
        assert_eq!(refused(CubicConfig { c, beta: Ratio(beta), ..CubicConfig::default() }), Ok(()));
    }
    let tiny =
        Cubic::new(&CubicConfig::default(), &Birth { initial_window: 7, ..testing::birth() });
    assert_eq!(
        tiny.map(|c| (c.cwnd(), c.in_slow_start(), c.phase())),
        Ok((MSS, true, "slow_start"))
    );
}

/// `bictcp_update` and `tcp_cong_avoid_ai` of Linux, for 410 / 1024 and 717 / 1024 at 250 Hz, from
/// the epoch's first acknowledgement on; times in ticks.
#[derive(Default)]
struct Reference {
    cnt: u64,
    last_cwnd: u64,
    last_time: u64,
    epoch_start: Option<u64>,
    origin: u64,
    k: u64,
    ack_cnt: u64,
    tcp_cwnd: u64,
    cwnd_cnt: u64,
}

impl Reference {
    fn update(&mut self, now: u64, delay: u64, cwnd: u64, last_max: u64, acked: u64) {
        self.ack_cnt += acked;
        if self.last_cwnd == cwnd && now - self.last_time <= 7 && self.epoch_start.is_some() {
            return;
        }
        if self.epoch_start.is_none() || now != self.last_time {
            (self.last_cwnd, self.last_time) = (cwnd, now);
            if self.epoch_start.is_none() {
                self.epoch_start = Some(now);
                (self.ack_cnt, self.tcp_cwnd) = (acked, cwnd);
                self.k = libm::cbrt(2_681_735_677.0 * last_max.saturating_sub(cwnd) as f64) as u64;
                self.origin = last_max.max(cwnd);
            }
            let t = ((now - self.epoch_start.unwrap_or(now) + delay) << 10) / 250;
            let delta = (410 * t.abs_diff(self.k).pow(3)) >> 40;
            let target = if t < self.k { self.origin - delta } else { self.origin + delta };
            self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            if last_max == 0 {
                self.cnt = self.cnt.min(20);
            }
        }
        let delta = (cwnd * 15) >> 3;
        while self.ack_cnt > delta {
            self.ack_cnt -= delta;
            self.tcp_cwnd += 1;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
        self.cnt = self.cnt.max(2);
    }

    fn avoid(&mut self, mut cwnd: u64, acked: u64) -> u64 {
        if self.cwnd_cnt >= self.cnt {
            (self.cwnd_cnt, cwnd) = (0, cwnd + 1);
        }
        self.cwnd_cnt += acked;
        cwnd += self.cwnd_cnt / self.cnt;
        self.cwnd_cnt %= self.cnt;
        cwnd
    }
}

#[test]
fn by_count_the_window_grows_as_linux_grows_it() {
    for (cwnd, rtt) in [(30, 10), (43, 40), (200, 30), (1000, 100)] {
        let mut c = of(Kernel::default(), &without_hystart());
        c.curve.cwnd = cwnd as f64;
        c.publish();
        c.on_congestion(&testing::loss(cwnd * MSS));
        let mut window = cwnd * 717 / 1024;
        assert_eq!(c.cwnd(), window * MSS);
        let (mut linux, mut rng) = (Reference::default(), justfull_base::Rng::stream(1, "acks"));
        let mut ms = 1000;
        for i in 0..5000 {
            ms += rng.below(2 * rtt) / 8;
            let acked = 1 + rng.below(3);
            let mut sample = testing::sample(acked * MSS);
            (sample.now, sample.min_rtt) = (at(ms), Duration::from_millis(rtt));
            c.on_ack(&sample);
            linux.update(ms / 4, rtt.div_ceil(4), window, cwnd, acked);
            window = linux.avoid(window, acked);
            assert_eq!(c.cwnd(), window * MSS, "{cwnd} segments, {rtt} ms, step {i}");
        }
        assert!(window > cwnd);
    }
}

#[test]
fn by_count_a_round_trip_that_is_not_known_adds_nothing_to_the_time() {
    let grown = |min_rtt| {
        let mut c = of(Kernel::default(), &without_hystart());
        (c.curve.cwnd, c.curve.ssthresh, c.curve.w_max) = (40.0, 20.0, 100.0);
        c.publish();
        for i in 0..500 {
            let mut sample = testing::sample(MSS);
            (sample.now, sample.min_rtt) = (at(1000 + 20 * i), min_rtt);
            c.on_ack(&sample);
        }
        c.cwnd()
    };
    assert_eq!(grown(Duration::MAX), grown(Duration::ZERO));
    assert!(grown(Duration::ZERO) > 41 * MSS);
}

#[test]
fn before_the_first_loss_a_count_adds_a_twentieth_of_the_window_a_round_trip_and_the_curve_nothing()
{
    // HyStart has ended slow start at 200 segments, 10 ms ago; the round trip is 1 ms.
    let grown = |kernel, steps| {
        let mut c = of(kernel, &CubicConfig { steps, ..without_hystart() });
        (c.curve.cwnd, c.curve.ssthresh) = (200.0, 200.0);
        c.publish();
        for i in 0..10 * 200 {
            let mut sample = testing::sample(MSS);
            sample.now = Instant::from_nanos(1_000_000_000 + i * 5000);
            (sample.srtt, sample.min_rtt) = (Duration::from_millis(1), Duration::from_millis(1));
            c.on_ack(&sample);
        }
        c.curve.cwnd - 200.0
    };
    // 2000 segments are acknowledged, and the window grows by one for each 20.
    for (kernel, steps) in [
        (Kernel::Rfc, Steps::Whole),
        (Kernel::Linux6_18, Steps::Kernel),
        (Kernel::Linux4_15, Steps::Whole),
    ] {
        let grown = grown(kernel, steps);
        assert!((grown - 100.0).abs() < 1e-9, "as Linux: {grown}");
    }
    for (kernel, steps) in [(Kernel::Rfc, Steps::Kernel), (Kernel::Linux6_18, Steps::Fractions)] {
        let grown = grown(kernel, steps);
        assert!((0.0..11.0).contains(&grown), "a segment each round trip, as Reno: {grown}");
    }
}

#[test]
fn by_count_a_reduction_rounds_down_and_a_timeout_forgets_the_maximum() {
    let mut c = of(Kernel::default(), &without_hystart());
    c.curve.cwnd = 43.0;
    c.on_congestion(&testing::loss(43 * MSS));
    assert_eq!((c.cwnd(), c.ssthresh(), c.curve.w_max as u64), (30 * MSS, 30 * MSS, 43));
    // 30 did not regain 43: 30 x 1741 / 2048.
    c.on_congestion(&testing::loss(30 * MSS));
    assert_eq!((c.cwnd(), c.curve.w_max as u64), (21 * MSS, 25));
    c.on_congestion(&testing::timeout(21 * MSS, false));
    assert_eq!((c.cwnd(), c.ssthresh(), c.curve.w_max as u64), (MSS, 14 * MSS, 0));
}
