//! Whole transfers: every byte arrives once, in time, whatever the path does to it.

use crate::link::{Path, World};
use crate::{all_controls, config, ns2};
use justfull_base::{BitRate, Bytes, Duration};
use justfull_tcp::cc::{cubic, new_reno};
use justfull_tcp::{
    AutoWindow, CcConfig, Pacing, Prr, ReceiverConfig, Recovery, Rto, Sender, SenderConfig,
    SpuriousDetection, Window,
};
use proptest::prelude::*;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn on_a_clean_path_the_bottleneck_is_used() {
    for cc in all_controls() {
        for stack in [config(cc.clone()), ns2(cc.clone())] {
            let mut world = World::with(&stack, &Path::default());
            let time = world.transfer(15_000_000, MINUTE).as_secs_f64();
            // 15 MB of payload and 3.6 % of headers at 12 Mbit/s. Slow start leaves dozens of
            // holes, and without SACK one hole is filled in a round trip.
            let most = if stack.timestamps { 11.5 } else { 13.0 };
            // A slowdown and nine times its length at the full rate.
            let slowdowns = if matches!(cc, CcConfig::Ledbatpp(_)) { 1.0 / 0.9 } else { 1.0 };
            assert!((10.3..most * slowdowns).contains(&time), "{}: {time} s", cc.name());
        }
    }
}

#[test]
fn bbr_keeps_the_queue_short_where_cubic_fills_the_buffer() {
    let path = Path { buffer: 1_000_000, ..Path::default() };
    let queue = |name: &str| {
        let mut world = World::with(&config(CcConfig::by_name(name).expect("it exists")), &path);
        world.sender.write(u64::MAX);
        world.run_for(Duration::from_secs(5));
        world.longest_queue = Duration::ZERO;
        world.run_for(Duration::from_secs(20));
        world.longest_queue.as_millis_f64()
    };
    let (cubic, bbr) = (queue("cubic"), queue("bbr"));
    assert!(cubic > 400.0, "{cubic} ms");
    assert!(bbr < 60.0, "{bbr} ms");
}

#[test]
fn heavy_loss_reordering_and_lost_acknowledgements_only_take_time() {
    let stacks = |cc: CcConfig| [config(cc.clone()), ns2(cc)];
    for stack in all_controls().into_iter().flat_map(stacks) {
        for seed in 0..8 {
            let path = Path { loss: 0.05, ack_loss: 0.05, detour: 0.2, seed, ..Path::default() };
            let mut world = World::with(&stack, &path);
            world.transfer(2_000_000, Duration::from_secs(600));
            let stats = world.sender.stats();
            assert!(stats.segments_retransmitted > 0);
            assert_eq!(stats.bytes_sent, 2_000_000 + stats.bytes_retransmitted);
        }
    }
}

#[test]
fn a_full_window_of_losses_is_repaired() {
    // A burst far beyond the buffer: thousands of losses in one window.
    let path = Path {
        rate: BitRate(50_000_000),
        buffer: 6_000_000,
        one_way: Duration::from_millis(50),
        ..Path::default()
    };
    let cc =
        CcConfig::Cubic(cubic::CubicConfig { hystart: cubic::HyStart::Off, ..Default::default() });
    let receiver =
        ReceiverConfig { window: Window::Fixed(Bytes(20_000_000)), ..Default::default() };
    let mut world = World::new(Sender::new(&config(cc)).expect("valid"), &receiver, &path);
    world.transfer(60_000_000, MINUTE);
    assert!(world.drops > 2000, "{} drops", world.drops);
    let retransmitted = world.sender.stats().segments_retransmitted;
    assert!(
        retransmitted >= world.drops && retransmitted <= world.drops + world.drops / 50,
        "{retransmitted}"
    );
}

#[test]
fn reordering_alone_makes_no_lasting_damage_when_duplicates_are_counted() {
    let path = Path { detour: 0.1, buffer: 1_000_000, ..Path::default() };
    let cc = CcConfig::NewReno(new_reno::NewRenoConfig::default());
    let setup = SenderConfig { recovery: Recovery::Dupack, ..config(cc) };
    let mut adaptive = World::with(&setup, &path);
    // Less than the buffer holds, so that nothing is lost.
    adaptive.sender.set_cwnd_clamp(Some(120_000));
    adaptive.transfer(5_000_000, MINUTE);
    let stats = adaptive.sender.stats();
    assert!(stats.spurious_recoveries > 0);
    let mut fixed = World::with(&SenderConfig { max_reordering: 3, ..setup }, &path);
    fixed.sender.set_cwnd_clamp(Some(120_000));
    fixed.transfer(5_000_000, MINUTE);
    assert_eq!((adaptive.drops, fixed.drops), (0, 0));
    let without = fixed.sender.stats().segments_retransmitted;
    assert!(
        stats.segments_retransmitted * 5 < without,
        "{} against {without}",
        stats.segments_retransmitted
    );
}

#[test]
fn the_loss_of_the_last_segment_is_repaired_by_a_probe_or_without_it_by_the_timer() {
    for tail_loss_probe in [true, false] {
        let setup = SenderConfig { tail_loss_probe, ..config(CcConfig::default()) };
        let mut world = World::with(&setup, &Path::default());
        world.sender.write(14_480);
        world.run_for(Duration::from_secs(1));
        assert!(world.sender.all_acked());
        world.held_back = true;
        world.sender.write(100);
        world.pump();
        world.held_back = false;
        world.run_for(Duration::from_secs(1));
        assert!(world.sender.all_acked());
        let stats = world.sender.stats();
        assert_eq!(
            (stats.tail_probes, stats.timeouts),
            if tail_loss_probe { (1, 0) } else { (0, 1) }
        );
    }
}

#[test]
fn a_path_that_is_gone_is_tried_ever_less_often_and_used_again_when_it_is_back() {
    for cc in all_controls() {
        let mut world = World::with(&config(cc), &Path::default());
        world.sender.write(u64::MAX);
        world.run_for(Duration::from_secs(5));
        world.held_back = true;
        world.run_for(Duration::from_secs(60));
        let timeouts = world.sender.stats().timeouts;
        assert!((5..=10).contains(&timeouts), "{timeouts}");
        world.held_back = false;
        let before = world.sender.acked_bytes();
        world.run_for(Duration::from_secs(60));
        assert!(
            world.sender.acked_bytes() > before + 30_000_000,
            "{}",
            world.sender.acked_bytes() - before
        );
    }
}

#[test]
fn a_sudden_rise_of_the_delay_is_recognised_as_a_spurious_timeout() {
    for spurious_detection in [SpuriousDetection::Eifel, SpuriousDetection::FRto] {
        let setup = SenderConfig { spurious_detection, ..config(CcConfig::default()) };
        recovers_from_a_spike(&setup);
    }
}

fn recovers_from_a_spike(setup: &SenderConfig) {
    let mut world = World::with(setup, &Path { buffer: 50_000, ..Path::default() });
    world.sender.write(u64::MAX);
    world.run_for(Duration::from_secs(3));
    let cwnd = world.sender.cwnd();
    world.stall(Duration::from_millis(600));
    world.run_for(Duration::from_millis(900));
    let stats = world.sender.stats();
    assert!(stats.timeouts > 0);
    assert!(stats.spurious_timeouts > 0);
    assert!(world.sender.cwnd() * 2 > cwnd, "{} after {cwnd}", world.sender.cwnd());
}

#[test]
fn a_closed_window_is_probed_and_the_transfer_goes_on_when_it_opens() {
    let receiver = ReceiverConfig { window: Window::Fixed(Bytes(0)), ..Default::default() };
    let sender = Sender::new(&config(CcConfig::default())).expect("valid");
    let mut world = World::new(sender, &receiver, &Path::default());
    world.sender.write(200_000);
    world.run_for(Duration::from_secs(20));
    // The first acknowledgements close the window behind the first flight.
    assert!(!world.sender.all_acked());
    let probes = world.sender.stats().window_probes;
    assert!((3..10).contains(&probes), "{probes}");
    world.receiver.set_window(Bytes(100_000));
    world.run_for(Duration::from_secs(40));
    assert!(world.sender.all_acked(), "a probe finds the open window");
}

#[test]
fn the_receiver_s_window_bounds_the_data_in_flight_and_so_the_rate() {
    let receiver = ReceiverConfig { window: Window::Fixed(Bytes(30_000)), ..Default::default() };
    for cc in all_controls() {
        let sender = Sender::new(&config(cc)).expect("valid");
        let mut world = World::new(sender, &receiver, &Path::default());
        world.sender.write(u64::MAX);
        world.run_for(Duration::from_secs(10));
        // 20 segments a round trip of about 40 ms and the bottleneck's serialisation.
        let rate = world.sender.acked_bytes() as f64 / 10.0;
        assert!((500_000.0..725_000.0).contains(&rate), "{rate} B/s");
        assert_eq!(world.drops, 0);
    }
}

#[test]
fn a_growing_window_lets_a_transfer_reach_the_rate_of_a_long_path() {
    // A bandwidth-delay product of 625 kB: ten times the first window.
    let path = Path {
        rate: BitRate(50_000_000),
        one_way: Duration::from_millis(50),
        buffer: 700_000,
        ..Path::default()
    };
    let time = |window| {
        let sender = Sender::new(&config(CcConfig::default())).expect("valid");
        let mut world = World::new(sender, &ReceiverConfig { window, ..Default::default() }, &path);
        world.transfer(30_000_000, MINUTE).as_secs_f64()
    };
    let small = time(Window::Fixed(Bytes(64 << 10)));
    let large = time(Window::Fixed(Bytes(6 << 20)));
    let growing = time(Window::Auto(AutoWindow::default()));
    assert!(small > 40.0, "{small} s");
    assert!(growing < large * 1.25, "{growing} s against {large} s");
}

#[test]
fn a_clamp_on_the_window_holds_the_flow_as_the_receiver_would() {
    let mut world =
        World::with(&config(CcConfig::default()), &Path { buffer: 1_000_000, ..Path::default() });
    world.sender.write(u64::MAX);
    world.sender.set_cwnd_clamp(Some(30_000));
    world.run_for(Duration::from_secs(5));
    assert!(world.sender.in_flight() <= 30_000);
    assert!(world.longest_queue < Duration::from_millis(20));
    world.sender.set_cwnd_clamp(None);
    world.run_for(Duration::from_secs(5));
    assert!(world.sender.in_flight() > 60_000);
}

#[test]
fn marks_reduce_the_window_once_a_round_and_nothing_is_lost() {
    for name in ["cubic", "new_reno"] {
        let path = Path { buffer: 1_000_000, mark_above: 30_000, ..Path::default() };
        let cc = CcConfig::by_name(name).expect("it exists");
        let mut world = World::with(&SenderConfig { ecn: true, ..config(cc) }, &path);
        world.transfer(15_000_000, MINUTE);
        let stats = world.sender.stats();
        assert_eq!((world.drops, stats.segments_retransmitted), (0, 0));
        assert!((4..200).contains(&stats.ece_reductions), "{}", stats.ece_reductions);
        assert!(world.longest_queue < Duration::from_millis(80), "{}", world.longest_queue);
    }
}

#[test]
fn forced_pacing_takes_the_burst_out_of_a_restart() {
    let queue = |pacing| {
        let cc = CcConfig::NewReno(new_reno::NewRenoConfig::default());
        let setup = SenderConfig { pacing, restart_after_idle: false, ..config(cc) };
        let mut world = World::with(&setup, &Path::default());
        world.sender.set_cwnd_clamp(Some(58_000));
        world.sender.write(1_000_000);
        world.run_for(Duration::from_secs(3));
        assert!(world.sender.all_acked());
        world.longest_queue = Duration::ZERO;
        world.sender.write(58_000);
        world.run_for(Duration::from_secs(1));
        world.longest_queue.as_millis_f64()
    };
    let (paced, bursty) = (queue(Pacing::Always), queue(Pacing::Auto));
    assert!(bursty > 35.0, "{bursty} ms");
    assert!(paced < 20.0, "{paced} ms");
}

#[test]
fn with_any_bound_of_the_reduction_and_with_nagle_transfers_finish_too() {
    for prr in [Prr::SafeAck, Prr::Ssrb, Prr::Crb, Prr::Off] {
        let setup = SenderConfig { prr, nagle: true, ..config(CcConfig::default()) };
        let mut world = World::with(&setup, &Path { loss: 0.02, ..Path::default() });
        for _ in 0..50 {
            world.sender.write(333);
            world.run_for(Duration::from_millis(3));
        }
        let time = world.transfer(1_000_001, MINUTE).as_secs_f64();
        assert!(time < 30.0, "{time}");
    }
}

/// Without timestamps no retransmission gives a round-trip time, so the timeout stays backed off
/// (Karn's rule, RFC 6298, 3 and 5.7) while each window of one or two segments loses one.
#[test]
fn on_a_path_with_many_losses_a_transfer_without_timestamps_takes_longer_and_finishes() {
    let path = Path {
        rate: BitRate(18_000_000),
        one_way: Duration::from_millis(129),
        buffer: 4256,
        loss: 0.118,
        ack_loss: 0.266,
        detour: 0.446,
        ack_detour: 0.446,
        seed: 6_320_936_017_326_547_061,
        ..Path::default()
    };
    let time = |timestamps| {
        let setup = SenderConfig {
            mss: 100,
            recovery: Recovery::NewReno,
            tail_loss_probe: false,
            limited_transmit: false,
            spurious_detection: SpuriousDetection::Off,
            timestamps,
            ..config(CcConfig::NewReno(new_reno::NewRenoConfig::default()))
        };
        let mut world = World::with(&setup, &path);
        let time = world.transfer(291_001, Duration::from_secs(4 * 3600)).as_secs_f64();
        println!("{timestamps}: {time} s, {} timeouts", world.sender.stats().timeouts);
        time
    };
    let (with, without) = (time(true), time(false));
    assert!(without > 3.0 * with, "{without} s without timestamps, {with} s with them");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(96) })]

    #[test]
    fn any_transfer_over_any_path_finishes(
        seed in any::<u64>(),
        which in 0usize..3,
        bytes in 1u64..400_000,
        mbit in 1u64..100,
        delay_ms in 1u64..150,
        buffer in 3_000u64..300_000,
        loss in 0.0..0.15f64,
        ack_loss in 0.0..0.3f64,
        detour in 0.0..0.5f64,
        twice in 0.0..0.2f64,
        grows in any::<bool>(),
        ecn in any::<bool>(),
        prr in prop_oneof![Just(Prr::SafeAck), Just(Prr::Ssrb), Just(Prr::Crb), Just(Prr::Off)],
        recovery in prop_oneof![
            Just(Recovery::Rack), Just(Recovery::Dupack), Just(Recovery::NewReno)
        ],
        timestamps in any::<bool>(),
        handshake in any::<bool>(),
        rto in prop_oneof![Just(Rto::Linux), Just(Rto::Rfc6298)],
        limited_transmit in any::<bool>(),
        impatient in any::<bool>(),
        tail_loss_probe in any::<bool>(),
        spurious_detection in prop_oneof![
            Just(SpuriousDetection::Eifel), Just(SpuriousDetection::FRto),
                Just(SpuriousDetection::Off)
        ],
        mss in prop_oneof![Just(1448u32), Just(536), Just(100)],
    ) {
        let path = Path {
            rate: BitRate(mbit * 1_000_000),
            one_way: Duration::from_millis(delay_ms),
            buffer, loss, ack_loss, detour, twice, seed, ack_detour: detour, ack_twice: twice,
            mark_above: buffer / 4,
        };
        let spurious_detection = match (recovery, spurious_detection) {
            (Recovery::NewReno, _) => SpuriousDetection::Off,
            (_, SpuriousDetection::Eifel) if !timestamps => SpuriousDetection::Off,
            (_, kept) => kept,
        };
        let fixed = ReceiverConfig::default().window;
        let window = if grows { Window::Auto(AutoWindow::default()) } else { fixed };
        let setup = SenderConfig { ecn, prr, mss, recovery, tail_loss_probe, spurious_detection,
            timestamps, handshake, rto, limited_transmit, impatient,
            ..config(all_controls()[which].clone()) };
        let receiver = ReceiverConfig { window, ..ReceiverConfig::default() };
        let sender = Sender::new(&setup).expect("the settings are valid");
        // Without timestamps a timeout stays backed off, as the test above shows.
        let limit = Duration::from_secs(if timestamps { 3600 } else { 4 * 3600 });
        World::new(sender, &receiver, &path).transfer(bytes, limit);
    }
}
