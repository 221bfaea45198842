use super::*;
use justfull_base::{Duration, Ratio, Rng};

/// Pensieve's ladder, in Mbit/s.
const LADDER: [f64; 6] = [0.3, 0.75, 1.2, 1.85, 2.85, 4.3];

fn history(throughputs: &[f64]) -> History {
    let mut history = History::new();
    throughputs.iter().for_each(|mbit_s| history.push(*mbit_s));
    history
}

/// A player with chunks of 4 s and a buffer of 60 s.
fn view(buffer_s: f64, last: Option<usize>, history: &History) -> View<'_> {
    let penalties = [4.3, 1.0];
    View { ladder: &LADDER, chunk_s: 4.0, most_s: 56.0, buffer_s, last, history, penalties }
}

fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

#[test]
fn bola_climbs_at_the_levels_of_the_buffer_that_its_formula_gives() {
    // S_m / S_1 = 1, 2.5, 4, 6.1667, 9.5, 14.3333; v_m = 0, 0.91629, 1.38629, 1.81916, 2.25129,
    // 2.66259. a = 0.91629 / 1.5 = 0.61086, V = (14 - 2.5) / (2.66259 + 0.61086) = 3.51311,
    // gp = 14 / 3.51311 - 2.66259 = 1.32248. Two rungs m < n are equal at
    // Q = V (gp - (S_m v_n - S_n v_m) / (S_n - S_m)) chunks of 4 s.
    let bola = AbrConfig::Bola(BolaConfig { low: seconds(10.0) });
    let none = History::new();
    for (rung, level_s) in [(1, 10.0), (2, 20.453), (3, 26.835), (4, 32.914), (5, 38.86)] {
        let at = |buffer_s| bola.choose(&view(buffer_s, None, &none));
        assert_eq!(at(level_s - 0.02), rung - 1, "below {level_s} s");
        assert_eq!(at(level_s + 0.02), rung, "above {level_s} s");
    }
}

#[test]
fn bba_keeps_its_rung_until_the_line_reaches_the_next() {
    // The line: 0.3 Mbit/s up to 5 s, 4.3 from 15 s on, 0.4 Mbit/s more for each second.
    let bba = AbrConfig::Bba(BbaConfig::default());
    let none = History::new();
    let at = |buffer_s, last| bba.choose(&view(buffer_s, Some(last), &none));
    assert_eq!(bba.choose(&view(12.0, None, &none)), 0, "the first chunk");
    assert_eq!((at(5.0, 3), at(15.0, 2)), (0, 5), "the reservoir, and beyond the cushion");
    assert_eq!((at(6.1, 0), at(6.2, 0)), (0, 1), "0.74 and 0.78 Mbit/s around 0.75");
    assert_eq!(at(8.0, 0), 2, "1.5 Mbit/s: the highest rung below it is 1.2");
    // From 1.85 Mbit/s the line must fall to 1.2 Mbit/s, at 7.25 s: the lowest rung above is then
    // taken.
    assert_eq!((at(7.3, 3), at(7.2, 3)), (3, 2), "1.22 and 1.18 Mbit/s");
}

#[test]
fn the_prediction_is_the_harmonic_mean_of_the_last_five() {
    let share = |share| AbrConfig::Throughput(ThroughputConfig { share: Ratio(share) });
    // 5 / (1/1 + 3/2 + 1/4) = 1.818 Mbit/s; the first sample has left.
    let last = history(&[100.0, 1.0, 2.0, 2.0, 2.0, 4.0]);
    assert!((last.predicted().expect("there is one") - 5.0 / 2.75).abs() < 1e-12);
    assert_eq!(share(1.0).choose(&view(20.0, Some(0), &last)), 2);
    assert_eq!(share(0.6).choose(&view(20.0, Some(0), &last)), 1, "1.09 Mbit/s");
    assert_eq!(share(1.0).choose(&view(20.0, None, &History::new())), 0);
    let exact = history(&[1.85; 5]);
    assert_eq!(share(1.0).choose(&view(20.0, Some(0), &exact)), 3, "a rung that just fits");
}

#[test]
fn the_error_is_the_greatest_of_the_last_five_predictions() {
    // 2 after 1: 0.5. 1 after a mean of 4/3: 1/3.
    let last = history(&[1.0, 2.0, 1.0]);
    assert!((last.error() - 0.5).abs() < 1e-12);
    let later = history(&[1.0, 10.0, 4.0, 4.0, 4.0, 4.0, 4.0]);
    assert!(later.error() < 0.9, "the error of 10 after 1 has left: {}", later.error());
}

/// The plan by enumeration: every sequence as a number in base six, each judged from its start.
fn naive(horizon: u32, mbit_s: f64, view: &View<'_>) -> usize {
    let rungs = view.ladder.len();
    let most = rungs.pow(horizon);
    let mut best = (f64::NEG_INFINITY, 0);
    for code in 0..most {
        let plan: Vec<usize> =
            (0..horizon).rev().map(|digit| code / rungs.pow(digit) % rungs).collect();
        let (mut buffer, mut stalled, mut rates, mut changes) = (view.buffer_s, 0.0, 0.0, 0.0);
        let mut last = view.ladder[view.last.expect("a chunk before")];
        for rung in &plan {
            let rate = view.ladder[*rung];
            let download = rate * view.chunk_s / mbit_s;
            if download > buffer {
                stalled += download - buffer;
            }
            buffer = f64::max(buffer - download, 0.0) + view.chunk_s;
            buffer = f64::min(buffer, view.most_s);
            rates += rate;
            changes += (rate - last).abs();
            last = rate;
        }
        let quality = rates - 4.3 * stalled - changes;
        if quality > best.0 + 1e-9 {
            best = (quality, plan[0]);
        }
    }
    best.1
}

#[test]
fn mpc_requests_the_first_chunk_of_the_plan_that_an_enumeration_finds() {
    let mut rng = Rng::stream(1, "mpc");
    let mut seen = [0_u32; 6];
    for case in 0..60 {
        let horizon = 1 + case % 5;
        let scale = 0.2 + 5.0 * rng.unit();
        let samples: Vec<f64> = (0..6).map(|_| scale * (0.7 + 0.6 * rng.unit())).collect();
        let last = history(&samples);
        let at = view(60.0 * rng.unit() * rng.unit(), Some(rng.below(6) as usize), &last);
        for robust in [false, true] {
            let mpc = AbrConfig::Mpc(MpcConfig { horizon, robust });
            let error = if robust { last.error() } else { 0.0 };
            let mbit_s = last.predicted().expect("there are samples") / (1.0 + error);
            let found = mpc.choose(&at);
            assert_eq!(found, naive(horizon, mbit_s, &at), "case {case}, robust {robust}");
            seen[found] += 1;
        }
    }
    assert!(seen.iter().all(|times| *times > 0), "each rung is chosen: {seen:?}");
    let none = History::new();
    assert_eq!(AbrConfig::Mpc(MpcConfig::default()).choose(&view(30.0, Some(3), &none)), 0);
}

#[test]
fn a_lone_step_of_mpc_weighs_bitrate_change_and_stall() {
    // Horizon 1, 2 Mbit/s, 3 s of buffer, last rung 1.2: 1.85 Mbit/s takes 3.7 s, so it stalls
    // 0.7 s: 1.85 - 3.01 - 0.65. 1.2 has 1.2, and 0.75 has 0.75 - 0.45.
    let mpc = AbrConfig::Mpc(MpcConfig { horizon: 1, robust: true });
    let steady = history(&[2.0; 5]);
    assert_eq!(mpc.choose(&view(3.0, Some(2), &steady)), 2);
    // With 6 s of buffer 2.85 Mbit/s takes 5.7 s: the changes cost as much as they gain, so the
    // lowest of the equal rungs is taken; from the highest it costs less to stay high.
    assert_eq!(mpc.choose(&view(6.0, Some(2), &steady)), 2);
    assert_eq!(mpc.choose(&view(6.0, Some(5), &steady)), 4);
}
