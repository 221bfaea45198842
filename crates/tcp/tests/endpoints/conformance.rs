//! The duties of every congestion control.

use crate::engine::ack;
use crate::link::{Path, World};
use crate::{all_controls, config, reacts_to_loss};
use justfull_base::{Duration, Instant, Rng};
use justfull_tcp::control::{
    AckSample, Birth, Congestion, CongestionCause, IdleRestart, Lost, RecoveryState, Sent,
};
use justfull_tcp::{Ack, AnyControl, CongestionController, Kernel, Sender};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const MSS: u64 = 1448;

fn controls() -> Vec<(&'static str, AnyControl)> {
    let (mss, initial_window) = (1448, 10 * MSS);
    let birth = Birth { mss, initial_window, kernel: Kernel::default(), key: 0 };
    let ours = all_controls();
    ours.iter()
        .map(|c| (c.name(), AnyControl::new(c, &birth).expect("the defaults are valid")))
        .collect()
}

/// The loss of one of the `lost` bytes in an acknowledgement, of `lost_total` since the start.
fn random_loss(rng: &mut Rng, lost: u64, lost_total: u64) -> Lost {
    Lost {
        now: Instant::ZERO,
        bytes: lost,
        tx_in_flight: lost + rng.below(400_000),
        lost_since_sent: lost + rng.below(lost_total + 1 - lost),
        app_limited: rng.chance(0.1),
        delivered: 0,
        follows: rng.chance(0.5),
    }
}

fn random_cause(rng: &mut Rng) -> Option<CongestionCause> {
    match rng.below(60) {
        0 => Some(CongestionCause::Loss),
        1 => Some(CongestionCause::Ecn),
        2 => Some(CongestionCause::Timeout { repeated: false }),
        3 => Some(CongestionCause::Timeout { repeated: true }),
        _ => None,
    }
}

const fn state_after(cause: CongestionCause) -> RecoveryState {
    match cause {
        CongestionCause::Loss => RecoveryState::Recovery,
        CongestionCause::Ecn => RecoveryState::Reducing,
        CongestionCause::Timeout { .. } => RecoveryState::Loss,
    }
}

fn random_idle(rng: &mut Rng, now: Instant) -> IdleRestart {
    IdleRestart {
        now,
        idle: Duration::from_millis(rng.below(3000)),
        rto: Duration::from_millis(300),
        shrink: true,
        app_limited: rng.chance(0.5),
    }
}

/// Feeds `control` a random but lawful history of `steps` events, the second or a later one when
/// `part` is not 0.
fn play(
    control: &mut AnyControl,
    part: u64,
    rng: &mut Rng,
    steps: u32,
    mut check: impl FnMut(&AnyControl),
) {
    let mut now = Instant::from_nanos(1_000_000_000 + part * 1_000_000_000_000);
    let (mut delivered, mut lost_total, mut state) = (part << 40, part << 40, RecoveryState::Open);
    for _ in 0..steps {
        now += Duration::from_micros(rng.below(20_000));
        let acked = MSS * rng.below(20);
        let prior = delivered.saturating_sub(rng.below(200_000));
        delivered += acked;
        let lost = if rng.chance(0.05) { MSS * rng.below(10) } else { 0 };
        lost_total += lost;
        if let Some(cause) = random_cause(rng) {
            state = state_after(cause);
            let (flight_size, in_flight) = (rng.below(500) * MSS, 0);
            control.on_congestion(&Congestion {
                now,
                cause,
                flight_size,
                in_flight,
                delivered,
                lost_total,
            });
        } else if rng.chance(0.1) {
            state = RecoveryState::Open;
            if rng.chance(0.3) {
                control.on_spurious(now);
            }
            control.on_recovery_exit(now);
        } else if rng.chance(0.02) {
            control.on_idle_restart(&random_idle(rng, now));
        }
        check(control);
        let rtt = Duration::from_micros(20_000 + rng.below(100_000));
        control.on_sent(&Sent { now, bytes: 1448, in_flight: 0, retransmission: false });
        if lost > 0 && control.uses_losses() {
            control.on_lost(&Lost { now, delivered, ..random_loss(rng, lost, lost_total) });
            check(control);
        }
        control.on_ack(&AckSample {
            now,
            acked,
            segments: acked.div_ceil(1448),
            rtt: rng.chance(0.9).then_some(rtt),
            srtt: rtt,
            min_rtt: Duration::from_millis(20),
            delivered,
            prior_delivered: prior,
            interval: rng.chance(0.9).then_some(rtt),
            prior_in_flight: rng.below(400_000),
            in_flight: rng.below(400_000),
            departure: now + Duration::from_micros(rng.below(2_000)),
            lost,
            lost_total,
            tx_in_flight: rng.below(400_000),
            lost_since_sent: rng.below(lost_total + 1),
            ce_count: 0,
            ce_bytes: 0,
            app_limited: rng.chance(0.1),
            round_start: rng.chance(0.1),
            retransmitted_sample: rng.chance(0.05),
            maybe_delayed: rng.chance(0.05),
            window_limited: rng.chance(0.9),
            max_in_flight: 400_000,
            sequence_round_start: rng.chance(0.1),
            recovery: state,
        });
        check(control);
    }
}

#[test]
fn the_window_is_never_below_one_segment_and_a_pacing_rate_is_never_nought() {
    for (name, control) in controls() {
        for seed in 0..20 {
            let mut control = control.clone();
            play(&mut control, 0, &mut Rng::stream(seed, "play"), 3000, |c| {
                assert!(c.cwnd() >= MSS, "{name}: {}", c.cwnd());
                assert!(c.pacing_rate().is_none_or(|r| r.0 > 0), "{name}");
                assert!(!c.phase().is_empty());
            });
        }
    }
}

#[test]
fn a_clone_behaves_as_its_original() {
    for (name, mut original) in controls() {
        play(&mut original, 0, &mut Rng::stream(9, "before"), 500, |_| {});
        let mut copy = original.clone();
        let trace = |control: &mut AnyControl| {
            let mut seen = Vec::new();
            play(control, 1, &mut Rng::stream(9, "after"), 2000, |c| {
                seen.push((c.cwnd(), c.pacing_rate()))
            });
            seen
        };
        assert_eq!(trace(&mut original), trace(&mut copy), "{name}");
    }
}

#[test]
fn only_a_fixed_window_is_its_owners_to_set() {
    for cc in all_controls() {
        let mut sender = Sender::new(&config(cc.clone())).expect("the settings are valid");
        let before = sender.cwnd();
        let taken = sender.set_window(30 * MSS);
        assert_eq!(taken, !reacts_to_loss(&cc), "{}", cc.name());
        assert_eq!(sender.cwnd(), if taken { 30 * MSS } else { before });
        sender.write(u64::MAX);
        let sent = std::iter::from_fn(|| sender.poll_transmit(Instant::from_nanos(1))).count();
        assert_eq!(sent as u64, (sender.cwnd() / MSS).min(45), "the peer takes 64 KiB at first");
    }
}

#[test]
fn a_timeout_leaves_one_segment() {
    for (name, mut control) in controls() {
        play(&mut control, 0, &mut Rng::stream(4, "before"), 200, |_| {});
        let cause = CongestionCause::Timeout { repeated: false };
        let now = Instant::from_nanos(100_000_000_000);
        let event = Congestion {
            now,
            cause,
            flight_size: 100 * MSS,
            in_flight: 0,
            delivered: 1 << 40,
            lost_total: 1 << 40,
        };
        control.on_congestion(&event);
        assert_eq!(control.cwnd(), MSS, "{name}");
    }
}

#[test]
fn a_loss_lowers_the_data_in_flight_or_leaves_a_fixed_window_as_it_is() {
    for cc in all_controls() {
        let (name, reacts) = (cc.name(), reacts_to_loss(&cc));
        // BBR follows its model: the drops come when it has filled the buffer in startup.
        let mut world = World::with(&config(cc), &Path { buffer: 30_000, ..Path::default() });
        world.sender.write(u64::MAX);
        world.pump();
        let mut before = 0;
        while world.sender.stats().fast_recoveries == 0 {
            before = world.sender.in_flight().max(before);
            assert!(world.step());
        }
        let (mut least, mut windows) = (u64::MAX, Vec::new());
        let end = world.now + Duration::from_secs(2);
        while world.now < end {
            assert!(world.step());
            least = least.min(world.sender.in_flight());
            windows.push(world.sender.cwnd());
        }
        if reacts {
            assert!(least <= before * 3 / 4, "{name}: {least} of {before}");
        } else {
            assert!(windows.iter().all(|&w| w == windows[0]), "{name}");
        }
    }
}

#[test]
fn a_cloned_world_goes_on_as_the_original() {
    for cc in all_controls() {
        let path = Path { loss: 0.01, detour: 0.05, ..Path::default() };
        let mut world = World::with(&config(cc), &path);
        world.sender.write(u64::MAX);
        world.run_for(Duration::from_secs(3));
        let mut copy = world.clone();
        world.run_for(Duration::from_secs(3));
        copy.run_for(Duration::from_secs(3));
        assert_eq!(world.digest, copy.digest);
        assert_eq!(world.sender.stats(), copy.sender.stats());
    }
}

/// A control that never changes its window.
#[derive(Clone, Debug)]
struct Constant(u64);

impl CongestionController for Constant {
    fn on_sent(&mut self, _: &Sent) {}
    fn on_ack(&mut self, _: &AckSample) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_spurious(&mut self, _: Instant) {}
    fn on_idle_restart(&mut self, _: &IdleRestart) {}
    fn on_recovery_exit(&mut self, _: Instant) {}
    fn cwnd(&self) -> u64 {
        self.0
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn owns_recovery(&self) -> bool {
        true
    }
}

#[test]
fn a_user_s_own_control_runs_in_the_engine() {
    let setup = config(all_controls()[0].clone());
    let control = AnyControl::custom(Constant(20 * MSS));
    let sender = Sender::with_control(&setup, control).expect("the settings are valid");
    let mut world =
        World::new(sender, &Default::default(), &Path { loss: 0.01, ..Path::default() });
    let mut copy = world.clone();
    let time = world.transfer(2_000_000, Duration::from_secs(60));
    assert_eq!(copy.transfer(2_000_000, Duration::from_secs(60)), time);
    assert_eq!(world.sender.cwnd(), 20 * MSS);
}

/// Counts the acknowledgements with `maybe_delayed`.
#[derive(Clone, Debug, Default)]
struct Listener(Arc<AtomicU32>);

impl CongestionController for Listener {
    fn on_sent(&mut self, _: &Sent) {}
    fn on_ack(&mut self, sample: &AckSample) {
        self.0.fetch_add(u32::from(sample.maybe_delayed), Ordering::Relaxed);
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_spurious(&mut self, _: Instant) {}
    fn on_idle_restart(&mut self, _: &IdleRestart) {}
    fn on_recovery_exit(&mut self, _: Instant) {}
    fn cwnd(&self) -> u64 {
        2 * MSS
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
}

#[test]
fn only_an_acknowledgement_of_a_lone_runt_may_have_been_delayed() {
    let listener = Listener::default();
    let setup = config(all_controls()[0].clone());
    let control = AnyControl::custom(listener.clone());
    let mut sender = Sender::with_control(&setup, control).expect("the settings are valid");
    let mut end = 0;
    // A lone full segment is acknowledged, a lone runt, and a runt behind a full segment.
    for (i, (bytes, heard)) in [(MSS, 0), (100, 1), (MSS + 100, 1)].into_iter().enumerate() {
        let at = |ms| Instant::from_nanos((1000 * (1 + i as u64) + ms) * 1_000_000);
        sender.write(bytes);
        while let Some(segment) = sender.poll_transmit(at(0)) {
            end = segment.end();
        }
        let ack = Ack { cumulative: end, ts_echo: at(0), ..ack(0, &[], 0) };
        sender.on_ack(at(50), &ack);
        assert_eq!(listener.0.load(Ordering::Relaxed), heard, "{bytes}");
    }
}
