//! R22 section 3.5: CUBIC beside a sender of two segments per round trip, on 15 Mbit/s.

use crate::fixture::{self, MSS, OPENING, sample};
use justfull_base::feedback::RanReport;
use justfull_base::{Duration, Instant};
use justfull_rapid::{Config, Control, ControlConfig, EqualShareConfig, FlowId, NoneConfig};

const RTT: Duration = Duration::from_millis(10);
/// 15 Mbit/s in bytes per second, and in a round trip of one leg.
const CAPACITY: f64 = 15e6 / 8.0;
const BDP: f64 = CAPACITY * 0.01;

/// A sender whose window doubles each round trip up to its own limit.
struct Sender {
    flow: FlowId,
    limit: u64,
    cwnd: u64,
    window: u64,
    radio: u64,
    received: f64,
}

fn report(at: Instant) -> RanReport {
    RanReport { at, ..fixture::report(0, 1875, 1700) }
}

/// Mbit/s that the greedy sender and the small one get after the first 2 s of 20.
fn run(config: &ControlConfig) -> [f64; 2] {
    let mut control = Control::new(config).expect("valid");
    let cell = control.add_cell();
    let ue = control.add_ue(Instant::ZERO, cell).expect("the cell exists");
    control.on_report(Instant::ZERO, ue, &report(Instant::ZERO)).expect("sane");
    let mut senders = [u64::MAX, 2 * MSS].map(|limit| {
        let flow = control.open(Instant::ZERO, ue, &OPENING).expect("the UE exists");
        Sender { flow, limit, cwnd: 10 * MSS, window: 0, radio: 0, received: 0.0 }
    });
    let mut now = Instant::ZERO;
    for round in 1..2000 {
        while let Some((flow, windows)) = control.poll_change() {
            let sender = senders.iter_mut().find(|s| s.flow == flow).expect("ours");
            (sender.window, sender.radio) = (windows.server, windows.radio);
        }
        now += RTT;
        control.on_timer(now);
        // The bytes that each sends in a round trip; the radio carries no more than its capacity.
        let wanted = senders.each_ref().map(|s| {
            let whole = s.cwnd.min(s.limit).min(s.window) / MSS * MSS;
            whole.min(s.radio) as f64
        });
        let scale = (BDP / wanted.iter().sum::<f64>()).min(1.0);
        for (sender, wanted) in senders.iter_mut().zip(wanted) {
            sender.cwnd = sender.cwnd.saturating_mul(2).min(1 << 30);
            let bytes = (wanted * scale) as u64;
            if round > 200 {
                sender.received += bytes as f64;
            }
            control.on_sample(now, sender.flow, &sample(bytes, Some(RTT))).expect("open");
        }
        control.on_report(now, ue, &report(now)).expect("sane");
        let load = control.load(cell);
        if *config == ControlConfig::default() {
            assert!(load.rates <= 1.0 + load.floors, "{load:?}");
        }
    }
    senders.map(|s| s.received * 8.0 / (17.99 * 1e6))
}

fn preset(name: &str) -> [f64; 2] {
    run(&ControlConfig::Rapid(Config::preset(name).expect("listed")))
}

#[test]
fn an_equal_share_leaves_what_the_small_sender_does_not_use() {
    let [cubic, small] = run(&ControlConfig::EqualShare(EqualShareConfig::default()));
    assert!((7.2..=7.6).contains(&cubic), "{cubic}");
    assert!((2.2..2.4).contains(&small), "{small}");
}

#[test]
fn the_sound_rules_give_the_greedy_sender_all_of_it() {
    let [cubic, small] = preset("sound");
    assert!((2.2..2.4).contains(&small), "{small}");
    assert!(cubic >= 0.95 * (15.0 - small), "{cubic} of {}", 15.0 - small);
}

/// If its window is exactly its demand, the small sender seems fast in every other period, and the
/// greedy one gets half again.
#[test]
fn the_printed_rules_give_back_only_a_part_of_it() {
    let [cubic, small] = preset("as-published");
    assert!((9.0..0.85 * (15.0 - small)).contains(&cubic), "{cubic} of {}", 15.0 - small);
}

/// Windows of 16 KiB and 2000 B, radio windows of ten segments and more: both fill the radio.
#[test]
fn the_released_programs_fill_the_radio_and_push_the_small_sender_aside() {
    for name in ["as-released", "as-released-linux"] {
        let [cubic, small] = preset(name);
        assert!(cubic > 13.0 && small < 2.0, "{name}: {cubic} {small}");
    }
}

#[test]
fn without_control_the_greedy_sender_pushes_the_small_one_aside() {
    let [cubic, small] = run(&ControlConfig::None(NoneConfig {}));
    assert!(cubic > 14.9 && small < 0.1, "{cubic} {small}");
}
