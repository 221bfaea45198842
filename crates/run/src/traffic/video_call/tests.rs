//! Calls over a path of the test: a link of some rate behind a FIFO, and a way back.

use super::*;
use justfull_base::Ecn;
use std::collections::VecDeque;

const SECOND: u64 = 1_000_000_000;

/// A path and what became of a call over it.
struct Path {
    /// Rate of the link by the second of the run.
    rate: fn(u64) -> u64,
    /// Delay from the link to the UE, and back.
    delay: Duration,
    /// Packets that wait longer than this are marked, if they can be.
    mark: Duration,
    /// Every packet with a multiple of this number is lost.
    lose: u64,
}

/// Counts of a call within a second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    bytes: u64,
    frames: u64,
    broken: u64,
    longest_wait: Duration,
    marked: u64,
}

const PATH: Path = Path {
    rate: |_| 2_000_000,
    delay: Duration::from_millis(20),
    mark: Duration::MAX,
    lose: u64::MAX,
};

/// A packet on its way.
struct Moving {
    at: Instant,
    handle: u64,
    size: u32,
    ce: bool,
}

fn run(control: &str, max_rate: u64, path: &Path, seconds: u64) -> Vec<Second> {
    let config = VideoCallConfig {
        control: RcConfig::by_name(control).expect("it ships"),
        max_rate: BitRate(max_rate),
        ..VideoCallConfig::default()
    };
    let end = Instant::from_nanos(seconds * SECOND);
    let (mut call, mut at) = VideoCall::new(&config, 1, Instant::ZERO, end, 1).expect("in bounds");
    let mut done = vec![Second::default(); seconds as usize + 1];
    let (mut moving, mut back) = (VecDeque::<Moving>::new(), VecDeque::new());
    let (mut free, mut sent) = (Instant::ZERO, 0);
    while at < end {
        let now = at;
        let second = (now.as_nanos() / SECOND) as usize;
        while let Some((_, report)) = back.pop_front_if(|(at, _): &mut (Instant, _)| *at <= now) {
            call.reported(now, report);
        }
        while let Some(packet) = moving.pop_front_if(|packet| packet.at <= now) {
            let Moving { handle, size, ce, .. } = packet;
            let broken = &mut done[second].broken;
            let (payload, progress) = call.arrived(now, handle, size, ce, |_, _| *broken += 1);
            done[second].bytes += payload;
            done[second].frames += u64::from(matches!(progress, FrameProgress::Complete(_)));
        }
        if let Some(report) = call.report(now) {
            back.push_back((now + path.delay, report));
        }
        let rate = BitRate((path.rate)(second as u64));
        call.wake(now, |packet| {
            let Packet { size, payload: handle, ecn, .. } = packet;
            sent += 1;
            let wait = free.since(now);
            free = free.max(now) + rate.time_for_ceil(u64::from(size));
            let ce = ecn == Ecn::Ect1 && wait > path.mark;
            done[second].longest_wait = done[second].longest_wait.max(wait);
            done[second].marked += u64::from(ce);
            if sent % path.lose != 0 {
                moving.push_back(Moving { at: free + path.delay, handle, size, ce });
            }
        });
        let first = |at: Option<Instant>| at.unwrap_or(Instant::NEVER);
        at = call.next().min(call.report_due());
        at = at.min(first(moving.front().map(|packet| packet.at)));
        at = at.min(first(back.front().map(|(at, _)| *at))).max(now);
    }
    done.truncate(seconds as usize);
    done
}

/// Mean payload in kbit/s from second `from` on.
fn rate(seconds: &[Second], from: usize) -> f64 {
    let bytes: u64 = seconds[from..].iter().map(|second| second.bytes).sum();
    bytes as f64 * 8e-3 / (seconds.len() - from) as f64
}

#[test]
fn without_a_limit_both_controls_reach_the_greatest_rate_and_break_no_frame() {
    let path = Path { rate: |_| 100_000_000, ..PATH };
    for control in ["gcc", "scream"] {
        let seconds = run(control, 1_000_000, &path, 40);
        let found = rate(&seconds, 30);
        assert!((950.0..1050.0).contains(&found), "{control}: {found} kbit/s");
        assert_eq!(seconds.iter().map(|s| s.broken).sum::<u64>(), 0, "{control}");
        let frames: u64 = seconds[10..].iter().map(|s| s.frames).sum();
        assert!((895..=905).contains(&frames), "{control}: {frames} frames in 30 s");
    }
}

#[test]
fn a_limit_is_met_from_below_and_a_halved_one_within_seconds() {
    let path = Path { rate: |second| if second < 40 { 2_000_000 } else { 1_000_000 }, ..PATH };
    for control in ["gcc", "scream"] {
        let seconds = run(control, 5_000_000, &path, 60);
        let (before, after) = (rate(&seconds[..40], 30), rate(&seconds, 45));
        assert!((1000.0..2000.0).contains(&before), "{control}: {before} kbit/s");
        assert!((500.0..1000.0).contains(&after), "{control}: {after} kbit/s after");
        let late = seconds[45..].iter().map(|s| s.longest_wait).max().expect("15 s");
        assert!(late < Duration::from_millis(500), "{control}: {late} at the end");
    }
}

#[test]
fn marks_keep_the_queue_of_scream_short_and_gcc_has_none() {
    let path = Path { mark: Duration::from_millis(5), ..PATH };
    let queue = |control, path: &Path| {
        let seconds = run(control, 5_000_000, path, 40);
        let marked: u64 = seconds.iter().map(|s| s.marked).sum();
        (seconds[20..].iter().map(|s| s.longest_wait).max().expect("20 s"), marked)
    };
    let (with, marked) = queue("scream", &path);
    let (without, none) = queue("scream", &PATH);
    assert!(marked > 0 && none == 0 && with < without, "{with} with marks, {without} without");
    assert_eq!(queue("gcc", &path).1, 0);
}

#[test]
fn losses_break_frames_and_lower_the_rate_of_gcc_above_a_tenth_and_of_scream_below() {
    let reached = |control, lose| {
        let path = Path { rate: |_| 100_000_000, lose, ..PATH };
        let seconds = run(control, 2_000_000, &path, 40);
        (rate(&seconds, 30), seconds.iter().map(|s| s.broken).sum::<u64>())
    };
    let (calm, whole) = reached("gcc", u64::MAX);
    let (few, broken) = reached("gcc", 100);
    let (many, _) = reached("gcc", 5);
    assert!(whole == 0 && broken > 0);
    assert!(few > 0.9 * calm && many < 0.5 * calm, "{calm}, {few}, {many} kbit/s");
    let (scream, _) = reached("scream", 20);
    assert!(scream < 0.5 * calm, "{scream} kbit/s");
}

#[test]
fn after_a_second_at_a_tenth_of_the_rate_calls_go_on() {
    let path = Path { rate: |second| if second == 20 { 200_000 } else { 2_000_000 }, ..PATH };
    for control in ["gcc", "scream"] {
        let seconds = run(control, 1_500_000, &path, 45);
        let frames = seconds[44].frames;
        assert!((29..=31).contains(&frames), "{control}: {frames} in the last second");
    }
}

#[test]
fn bad_settings_are_named() {
    let error = |change: fn(&mut VideoCallConfig)| {
        let mut config = VideoCallConfig::default();
        change(&mut config);
        config.fits(1500).map_err(|e| e.field)
    };
    assert_eq!(error(|_| ()), Ok(()));
    assert_eq!(error(|c| c.payload = Bytes(1461)), Err("payload".into()));
    assert_eq!(error(|c| c.start_rate = BitRate(100_000)), Err("start_rate".into()));
    assert_eq!(error(|c| c.max_rate = BitRate(100_000)), Err("start_rate".into()));
    assert_eq!(error(|c| c.fps = 0), Err("fps".into()));
    let gcc = |c: &mut VideoCallConfig| {
        let low = justfull_tcp::rc::GccConfig { low_loss: Ratio(0.2), ..Default::default() };
        c.control = RcConfig::Gcc(low);
    };
    assert!(error(gcc).is_err());
}
