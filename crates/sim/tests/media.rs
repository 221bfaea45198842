//! Video as its users see it, and pages over HTTP/2, in whole worlds, against closed formulas.

use justfull_base::{BitRate, Bytes, Duration, Ratio};
use justfull_queue::aqm::PduSetConfig;
use justfull_queue::{AqmConfig, Limit};
use justfull_ran::channel::CapacityUnit;
use justfull_run::results::{DashResult, FrameResult, PageResult};
use justfull_run::traffic::{
    AbrConfig, BbaConfig, DashConfig, Http, InputConfig, MpcConfig, ObjectCount, ObjectSize,
    PageConfig, Span, ThroughputConfig, VideoConfig,
};
use justfull_run::{FlowConfig, Traffic, WorldConfig};
use justfull_testkit::{app, cell, ms, run, world};

/// A world over a cell of a packet of 1500 B in each slot of `slot_us`, with a queue of 200 packets
/// and a round trip of 20 ms.
fn over(slot_us: u64, flow: Traffic, seconds: u64) -> WorldConfig {
    let mut stack = cell(1, CapacityUnit::Packets, Limit::Packets(200));
    stack.mac.slot_mut().period = Duration::from_micros(slot_us);
    world(stack, vec![app(flow)], ms(1_000 * seconds))
}

fn close(found: f64, wanted: f64, share: f64, what: &str) {
    assert!(
        (found / wanted - 1.0).abs() <= share,
        "{what}: {found}, wanted {wanted} within {share}"
    );
}

/// Result of a player over a cell with one packet per slot of `slot_us`, from `warmup_s` to
/// `seconds`.
fn play(dash: DashConfig, slot_us: u64, seconds: u64, warmup_s: u64) -> DashResult {
    let mut config = over(slot_us, Traffic::Dash(Box::new(dash)), seconds);
    config.warmup = ms(1_000 * warmup_s);
    let flow = run(&config).flows.remove(0);
    assert_eq!(flow.protocol, "tcp");
    flow.dash.expect("a player")
}

fn with(abr: AbrConfig) -> DashConfig {
    DashConfig { abr, ..DashConfig::default() }
}

#[test]
fn playback_begins_after_the_round_trips_of_slow_start() {
    // 300 kbit/s x 4 s = 150 kB = 104 segments: 10, 20, 40 and 34 in four round trips of 20 ms. The
    // last ones take 3.4 ms of the cell.
    let dash = play(DashConfig::default(), 100, 10, 5);
    assert_eq!(dash.startup.count, 1, "although it is before the measured window");
    let startup = dash.startup.mean_ms;
    assert!((80.0..=86.0).contains(&startup), "{startup}");
    let chunk = Duration::from_secs(2);
    let two = DashConfig { chunk, startup: Duration::from_secs(3), ..DashConfig::default() };
    let dash = play(two, 100, 10, 5);
    // Two chunks of 75 kB = 52 segments: three round trips, then one, since the window has grown;
    // the last 22 and all 52 take 7.4 ms of the cell.
    assert!((84.0..=89.0).contains(&dash.startup.mean_ms), "{:?}", dash.startup);
}

#[test]
fn a_steady_rate_between_two_rungs_gives_the_lower_one_by_throughput_and_by_mpc() {
    // 1500 B each 6 ms: 1.931 Mbit/s of payload, between 1.85 and 2.85.
    for abr in [
        AbrConfig::Throughput(ThroughputConfig::default()),
        AbrConfig::Mpc(MpcConfig { robust: false, ..MpcConfig::default() }),
    ] {
        let name = abr.name();
        let dash = play(with(abr), 6_000, 120, 40);
        assert_eq!((dash.switches, dash.stalls), (0, 0), "{name}: {dash:?}");
        close(dash.bitrate_mean_mbit_s.expect("chunks"), 1.85, 1e-9, name);
        close(dash.qoe_mean.expect("chunks"), 1.85, 1e-9, name);
        close(dash.watched_s, 80.0, 1e-9, name);
        // A chunk of 7.4 Mbit, and a request's way.
        close(dash.fetch.mean_ms, 1e3 * 7.4 / 1.9307 + 20.0, 0.02, name);
    }
}

#[test]
fn buffer_based_players_alternate_around_a_steady_rate_and_use_it_up() {
    for abr in [AbrConfig::default(), AbrConfig::Bba(BbaConfig::default())] {
        let name = abr.name();
        let dash = play(with(abr), 6_000, 240, 80);
        assert_eq!(dash.stalls, 0, "{name}: {dash:?}");
        assert!(dash.switches > 0, "{name}: {dash:?}");
        let bitrate = dash.bitrate_mean_mbit_s.expect("chunks");
        assert!((1.8..=1.9307).contains(&bitrate), "{name}: {bitrate} of 1.9307 Mbit/s");
    }
}

#[test]
fn above_the_highest_rung_each_player_requests_it_as_its_buffer_has_room() {
    for abr in [
        AbrConfig::default(),
        AbrConfig::Bba(BbaConfig::default()),
        AbrConfig::Mpc(MpcConfig::default()),
        AbrConfig::Throughput(ThroughputConfig::default()),
    ] {
        let name = abr.name();
        let dash = play(with(abr), 100, 130, 30);
        assert_eq!(dash.chunks, 25, "{name}: one each 4 s");
        close(dash.bitrate_mean_mbit_s.expect("chunks"), 4.3, 1e-9, name);
        assert_eq!((dash.switches, dash.stalls, dash.qoe_sum), (0, 0, 25.0 * 4.3), "{name}");
    }
}

#[test]
fn below_the_lowest_rung_playback_stalls_for_what_is_missing() {
    // 1500 B each 48 ms: 241.3 kbit/s of payload for video of 300 kbit/s.
    let dash = play(DashConfig::default(), 48_000, 200, 40);
    let share = dash.stalled_s / dash.watched_s;
    close(share, 1.0 - 241.3 / 300.0, 0.05, "time stalled");
    close(dash.watched_s, 160.0, 1e-9, "the measured window");
    assert_eq!((dash.switches, dash.bitrate_mean_mbit_s), (0, Some(0.3)));
    let qoe = dash.chunks as f64 * 0.3 - 4.3 * dash.stalled_s;
    close(dash.qoe_sum, qoe, 1e-9, "QoE");
    // A cell that carries a packet each second completes no chunk: the first is 104 packets.
    let dash = play(DashConfig::default(), 1_000_000, 100, 0);
    assert_eq!((dash.chunks, dash.stalls, dash.qoe_mean), (0, 0, None), "it never begins");
}

#[test]
fn a_user_who_leaves_ends_the_video_without_a_stall() {
    let mut config = over(6_000, Traffic::Dash(Box::default()), 60);
    config.warmup = Duration::ZERO;
    config.flows[0].stop = Some(ms(20_000));
    let dash = run(&config).flows.remove(0).dash.expect("a player");
    assert_eq!(dash.stalls, 0);
    close(dash.watched_s, 20.0 - dash.startup.mean_ms * 1e-3, 1e-6, "until it leaves");
}

/// Frames of `bytes` each 20 ms, without chance.
fn frames_of(bytes: u64) -> VideoConfig {
    VideoConfig {
        fps: 50,
        rate: BitRate(bytes * 8 * 50),
        size_sd: Ratio(0.0),
        jitter_sd: Duration::ZERO,
        payload: Bytes(1_000),
        ..VideoConfig::default()
    }
}

fn frames(config: &WorldConfig) -> FrameResult {
    run(config).flows.remove(0).frames.expect("frames")
}

#[test]
fn dropping_frames_by_importance_completes_half_of_them_and_tail_drop_few() {
    // 15 packets every 20 ms over a cell for 10 packets: two thirds get through.
    let whole = |aqm: AqmConfig| {
        let video = VideoConfig { layers: 3, ..frames_of(15_000) };
        let mut config = over(2_000, Traffic::Video(video), 30);
        config.stack.rlc.queue.aqm = aqm;
        let FrameResult { sent, completed, broken, .. } = frames(&config);
        assert!(completed + broken <= sent && sent > 1_000, "{completed} {broken} of {sent}");
        100 * completed / sent
    };
    let by_importance = PduSetConfig { low: 3, ..PduSetConfig::default() };
    let found = [whole(AqmConfig::default()), whole(AqmConfig::PduSet(by_importance))];
    // The first two layers have half of the frames.
    assert!(found[0] <= 5 && (50..=67).contains(&found[1]), "{found:?} %");
}

#[test]
fn an_input_waits_for_the_next_frame_and_takes_its_way() {
    let inputs = Some(InputConfig { interval: Duration::from_micros(3_700), ..Default::default() });
    let video = VideoConfig { inputs, ..frames_of(3_000) };
    let found = frames(&over(1_000, Traffic::Video(video), 40));
    close(found.inputs as f64, 32.0 / 0.0037, 0.01, "inputs in 32 s");
    // 10 ms up, a wait between 0 and 20 ms for the frame, and the frame's way.
    close(found.reaction.mean_ms, 10.0 + 10.0 + found.completion.mean_ms, 0.02, "mean");
    let least = 10.0 + found.completion.min_ms;
    assert!(found.reaction.min_ms >= least - 1e-6, "{} and {least}", found.reaction.min_ms);
    assert!(found.reaction.max_ms <= 30.0 + found.completion.max_ms + 0.1, "{found:?}");
    assert!(found.reaction.count + 40 >= found.inputs, "all are shown but those under way");
    assert_eq!((found.freezes, found.frozen_s), (0, 0.0));
}

#[test]
fn a_video_whose_frames_all_break_is_frozen_all_the_time() {
    let mut config = over(2_000, Traffic::Video(frames_of(12_000)), 20);
    config.stack.rlc.queue.limit = Limit::Packets(5);
    config.warmup = ms(4_000);
    let found = frames(&config);
    assert_eq!((found.completed, found.freezes), (0, 1), "{found:?}");
    assert_eq!((found.frozen_s, found.watched_s), (16.0, 16.0));
}

fn pages(http: Http, loss: bool) -> PageResult {
    // With losses an object is less than a frame: few packets of others are between its own.
    let (objects, bytes) = if loss { (100, 12_000) } else { (10, 163_840) };
    let page = PageConfig {
        http,
        connections: 1,
        main: ObjectSize::Constant(Bytes(1_000)),
        embedded: ObjectSize::Constant(Bytes(bytes)),
        objects: ObjectCount::Constant(objects),
        parsing: Span::Constant(ms(50)),
        reading: Span::Constant(ms(300)),
        ..PageConfig::default()
    };
    let mut config = over(1_000, Traffic::Page(Box::new(page)), 120);
    config.stack.rlc.queue.limit = Limit::Packets(if loss { 20 } else { 2_000 });
    let flow = run(&config).flows.remove(0);
    assert_eq!(flow.protocol, if http == Http::Http3 { "udp" } else { "tcp" });
    assert_eq!(flow.retransmitted_segments > 0, loss, "{http:?}");
    flow.pages.expect("pages")
}

#[test]
fn over_http_2_answers_share_the_connection_and_the_page_takes_as_long_as_in_turn() {
    let (turn, shared) = (pages(Http::Http11, false), pages(Http::Http2, false));
    // 1.6 MB at 11.584 Mbit/s of payload.
    let wire_ms = 1e3 * 10.0 * 163_840.0 * 8.0 / 11.584e6;
    for found in [&turn, &shared] {
        let least = wire_ms + 90.0;
        assert!(found.load.min_ms >= least, "{} of {least}", found.load.min_ms);
        close(found.load.mean_ms, wire_ms + 90.0, 0.15, "load");
    }
    close(shared.load.mean_ms, turn.load.mean_ms, 0.05, "the same bytes");
    // Object k of ten, each with ten frames: in turn it ends after k tenths, interleaved after
    // 90 + k hundredths. The main object is an eleventh, after a round trip.
    let mean = |share: f64| (10.0 * share * wire_ms + 21.0) / 11.0;
    close(turn.object.mean_ms, mean(0.55), 0.2, "in turn");
    close(shared.object.mean_ms, mean(0.955), 0.15, "interleaved");
}

#[test]
fn over_http_3_objects_do_not_wait_for_packets_of_others() {
    assert_eq!(pages(Http::Http3, false), pages(Http::Http2, false), "without a loss");
    let (second, third) = (pages(Http::Http2, true), pages(Http::Http3, true));
    let [load, object] = [second.load.mean_ms, second.object.mean_ms];
    close(third.load.mean_ms, load, 0.02, "a page waits for its last packet");
    let gain = object - third.object.mean_ms;
    assert!(gain > 0.0, "{object} ms, {gain} ms less over HTTP/3");
}

#[test]
fn users_of_one_name_are_counted_together() {
    let mut config = over(100, Traffic::Dash(Box::default()), 40);
    let second = FlowConfig { start: ms(1_000), ..config.flows[0].clone() };
    config.flows.push(second);
    config.warmup = Duration::ZERO;
    let results = run(&config).flows;
    let dash = results[0].dash.as_ref().expect("players");
    assert_eq!((results.len(), results[0].flows, dash.startup.count), (1, 2, 2));
    close(dash.watched_s, 79.0 - 2.0 * dash.startup.mean_ms * 1e-3, 1e-6, "both");
}
