use super::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// Two rungs of 1 and 2 Mbit/s, chunks of 1 s; the throughput decides.
fn config() -> DashConfig {
    DashConfig {
        ladder: vec![BitRate(1_000_000), BitRate(2_000_000)],
        chunk: Duration::from_secs(1),
        buffer: Duration::from_secs(3),
        abr: AbrConfig::Throughput(ThroughputConfig::default()),
        ..DashConfig::default()
    }
}

fn player(config: &DashConfig, stop: Instant) -> Player {
    Player::new(config, 1500, stop, Rng::stream(1, "player"))
}

fn asked(bytes: u64) -> [Request; 1] {
    [Request { connection: 0, bytes, size: 350 }]
}

#[test]
fn a_player_fills_its_buffer_waits_for_room_stalls_and_goes_on() {
    let mut player = player(&config(), Instant::NEVER);
    let mut out = Vec::new();
    player.wake(at(100), &mut out);
    assert_eq!(std::mem::take(&mut out), asked(125_000), "the lowest rung");
    assert_eq!(player.arrived(at(150), 124_999, &mut out), Shown::default(), "a byte is missing");
    // 1 Mbit in 400 ms is 2.5 Mbit/s.
    let shown = player.arrived(at(500), 125_000, &mut out);
    assert_eq!((shown.started, shown.wake), (Some(Duration::from_millis(400)), None));
    let low = Chunk { asked: at(100), rate: BitRate(1_000_000), before: None };
    assert_eq!(shown.chunk, Some(low));
    assert_eq!(std::mem::take(&mut out), asked(250_000));
    // 0.9 s of the first second are left, and with the second chunk 1.9 s.
    player.arrived(at(600), 375_000, &mut out);
    assert_eq!(std::mem::take(&mut out), asked(250_000));
    // 2.8 s: there is room for a further chunk once 2 s are left.
    let shown = player.arrived(at(700), 625_000, &mut out);
    assert_eq!((shown.wake, out.len()), (Some(at(1_500)), 0));
    player.wake(at(1_500), &mut out);
    assert_eq!(std::mem::take(&mut out), asked(250_000));
    // The 2 s end at 3.5 s.
    let shown = player.arrived(at(4_000), 875_000, &mut out);
    assert_eq!((shown.stalled, shown.started), (Some(at(3_500)), None));
    assert_eq!(
        player.watched(at(4_200)),
        Some(Watched { from: at(500), to: at(4_200), stalled: None })
    );
    let lasting = Watched { from: at(500), to: at(6_000), stalled: Some(at(5_000)) };
    assert_eq!(player.watched(at(6_000)), Some(lasting));
}

#[test]
fn a_stall_lasts_until_the_buffer_holds_what_playback_begins_with() {
    let startup = Duration::from_secs(2);
    let mut player = player(&DashConfig { startup, ..config() }, Instant::NEVER);
    let mut out = Vec::new();
    player.wake(at(0), &mut out);
    assert_eq!(player.arrived(at(1_000), 125_000, &mut out).started, None, "1 s of 2 s");
    let shown = player.arrived(at(2_000), 250_000, &mut out);
    assert_eq!(shown.started, Some(Duration::from_secs(2)));
    // The 2 s end at 4 s.
    assert_eq!(player.arrived(at(5_000), 375_000, &mut out).stalled, None);
    assert_eq!(player.arrived(at(6_000), 500_000, &mut out).stalled, Some(at(4_000)));
}

#[test]
fn a_refused_request_is_repeated_and_none_is_sent_once_the_user_has_left() {
    let mut player = player(&config(), at(1_200));
    let mut out = Vec::new();
    player.wake(at(0), &mut out);
    let request = out.remove(0);
    assert_eq!(player.refused(at(0), request), at(1_000));
    player.wake(at(1_000), &mut out);
    assert_eq!(std::mem::take(&mut out), [request]);
    player.wake(at(1_100), &mut out);
    assert!(out.is_empty(), "one chunk at a time");
    let mut late = player.clone();
    assert_eq!(late.arrived(at(1_201), 125_000, &mut out), Shown::default(), "the user has left");
    assert!(player.arrived(at(1_200), 125_000, &mut out).chunk.is_some());
    assert!(out.is_empty());
    let from = at(1_200);
    assert_eq!(player.watched(at(9_000)), Some(Watched { from, to: from, stalled: None }));
}

#[test]
fn the_quality_of_experience_is_pensieve_s_sum() {
    let mut count = DashCount::new(&DashConfig::default());
    let chunk = |before: Option<u64>, rate: u64| Chunk {
        asked: at(0),
        rate: BitRate(rate * 1000),
        before: before.map(|rate| BitRate(rate * 1000)),
    };
    let took = Duration::from_secs(1);
    for (before, rate) in [(None, 300), (Some(300), 1850), (Some(1850), 1200)] {
        count.chunk(&chunk(before, rate), took);
    }
    count.stalled(Duration::from_millis(500));
    count.watched(Duration::from_secs(12));
    let result = count.finish();
    // 3.35 - 4.3 x 0.5 - (1.55 + 0.65) = -1.
    assert!((result.qoe_sum + 1.0).abs() < 1e-12, "{}", result.qoe_sum);
    assert!((result.qoe_mean.expect("chunks") + 1.0 / 3.0).abs() < 1e-12);
    assert!((result.bitrate_mean_mbit_s.expect("chunks") - 3.35 / 3.0).abs() < 1e-12);
    assert_eq!((result.chunks, result.switches, result.stalls), (3, 2, 1));
    assert_eq!((result.stalled_s, result.watched_s), (0.5, 12.0));
    // Stalls without a chunk are worth their penalty.
    let mut count = DashCount::new(&DashConfig::default());
    assert_eq!(count.finish().qoe_mean, None);
    count.stalled(Duration::from_secs(10));
    assert_eq!(count.finish().qoe_mean, Some(-43.0));
}

#[test]
fn settings_out_of_bounds_are_named() {
    let field = |config: DashConfig| config.fits(1500).expect_err("it is out of bounds").field;
    let rates = |rates: &[u64]| rates.iter().map(|rate| BitRate(rate * 1000)).collect();
    assert_eq!(DashConfig::default().fits(1500), Ok(()));
    for ladder in [&[300, 300][..], &[750, 300], &[300], &[0, 300]] {
        assert_eq!(field(DashConfig { ladder: rates(ladder), ..config() }), "ladder");
    }
    assert_eq!(field(DashConfig { buffer: Duration::from_millis(1_900), ..config() }), "buffer");
    assert_eq!(field(DashConfig { startup: Duration::from_millis(2_001), ..config() }), "startup");
    let abr = AbrConfig::Bola(BolaConfig { low: Duration::from_secs(2) });
    assert_eq!(field(DashConfig { abr, ..config() }), "abr.low");
}

#[test]
fn mpc_refuses_a_horizon_with_more_than_100_000_plans() {
    let with = |rungs: u64, horizon| DashConfig {
        ladder: (1..=rungs).map(|rung| BitRate(rung * 1000)).collect(),
        abr: AbrConfig::Mpc(MpcConfig { horizon, robust: true }),
        ..DashConfig::default()
    };
    for (rungs, most) in [(2, 6), (6, 6), (7, 5), (10, 5), (11, 4), (16, 4)] {
        assert_eq!(with(rungs, most).fits(1500), Ok(()), "{rungs}");
        if most < 6 {
            let error = with(rungs, most + 1).fits(1500).expect_err("more plans");
            assert_eq!(error.field, "abr.horizon");
        }
    }
}
