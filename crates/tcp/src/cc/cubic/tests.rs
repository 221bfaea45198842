use super::*;
use crate::testing::{self, MSS};

fn control(config: &Config) -> Cubic {
    Cubic::new(config, &testing::birth()).expect("the settings are valid")
}

fn without_hystart() -> Config {
    Config { hystart: HyStart::Off, ..Config::default() }
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
    let mut unfair = control(&Config { fast_convergence: false, ..without_hystart() });
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
            let mut c = control(&Config { abe, ..without_hystart() });
            c.curve.cwnd = 1000.0;
            c.on_congestion(&event);
            c.cwnd() / MSS
        };
        assert_eq!((reduced(testing::echo(1000 * MSS)), reduced(testing::loss(1000 * MSS))), (expected, 700));
    }
}

#[test]
fn hystart_plus_plus_grows_at_a_quarter_after_a_rise_and_by_eight_segments_at_most() {
    let mut c = control(&Config { hystart: HyStart::PlusPlus, ..Config::default() });
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
    // Eight and seven whole segments; from the eighth sample of the second round on, quarters.
    assert_eq!(c.cwnd(), (18 + 8 + 7) * MSS + MSS / 4);
}

#[cfg(feature = "serde")]
#[test]
fn the_reference_page_lists_the_settings() {
    testing::check_doc(&DOC, &Config::default());
}
