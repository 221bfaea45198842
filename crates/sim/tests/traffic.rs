//! Kinds of traffic and the uplink, in whole worlds, against closed formulas.

use justfull_base::{BitRate, Bytes, Duration};
use justfull_queue::Limit;
use justfull_ran::channel::CapacityUnit;
use justfull_run::results::RunResult;
use justfull_run::traffic::{
    Http, ObjectCount, ObjectSize, PageConfig, Span, VideoCallConfig, VideoConfig, VoipConfig,
};
use justfull_run::{FlowConfig, GrantConfig, Interval, Traffic, Transport, WorldConfig};
use justfull_tcp::cc::fixed::FixedConfig;
use justfull_tcp::{CcConfig, RcConfig};
use justfull_testkit::{app, cell, ms, ping, run, tcp, udp, upload, world};
use std::sync::Arc;

fn cubic() -> CcConfig {
    CcConfig::Cubic(Default::default())
}

fn close(found: f64, wanted: f64, share: f64, what: &str) {
    assert!(
        (found / wanted - 1.0).abs() <= share,
        "{what}: {found}, wanted {wanted} within {share}"
    );
}

/// A world over a cell of `per_slot` packets a millisecond with a short queue.
fn over(per_slot: u64, flows: Vec<FlowConfig>, seconds: u64) -> WorldConfig {
    world(cell(per_slot, CapacityUnit::Packets, Limit::Packets(200)), flows, ms(1_000 * seconds))
}

#[test]
fn a_reply_waits_for_its_scheduling_request_and_its_grant() {
    // Requests are far enough apart that no two replies share a grant.
    let apart = Interval::Normal { mean: ms(40), sd: ms(3) };
    let mut config = over(10, vec![ping("ping", 72, apart)], 200);
    config.uplink.grants = Some(GrantConfig {
        sr_period: ms(10),
        // Replies come at whole milliseconds, like slots: the mean wait is the mean of a uniform
        // distribution.
        sr_offset: Some(Duration::from_micros(3_500)),
        grant_delay: ms(8),
        ..GrantConfig::default()
    });
    let result = run(&config);
    let rtt = &result.flows[0].rtt;
    // 20 ms of fixed delay, half a slot down, 8 ms of grant, half a period for the request.
    close(rtt.mean_ms, 20.0008 + 0.5 + 8.0 + 5.0, 0.01, "mean round trip");
    assert!(rtt.min_ms >= 28.0 && rtt.max_ms <= 39.1, "{} to {}", rtt.min_ms, rtt.max_ms);
    close(result.uplink.wait.mean_ms, 13.0, 0.02, "wait at the UE");
}

#[test]
fn an_upload_fills_its_grants() {
    let mut config = over(10, vec![upload("up", cubic(), None)], 20);
    config.uplink.limit = Bytes(100_000);
    config.uplink.grants =
        Some(GrantConfig { grant: Bytes(1_250), period: ms(1), ..GrantConfig::default() });
    let result = run(&config);
    close(result.flows[0].goodput_mbit_s, 10.0 * 1448.0 / 1500.0, 0.02, "goodput of 10 Mbit/s");
    assert!(result.uplink.overflow_drops > 0, "a greedy flow overflows 100 kB");
    assert!(
        result.uplink.wait.max_ms <= 100_000.0 / 1_250.0 + 27.0,
        "{}",
        result.uplink.wait.max_ms
    );
    assert!(result.flows[0].rtt.count > 1_000, "acknowledgements come down");
    assert_eq!(result.flows[0].protocol, "tcp");
}

#[test]
fn a_sized_upload_completes_and_its_acknowledgements_are_packets_of_the_cell() {
    let mut config = over(10, vec![upload("up", cubic(), Some(300_000))], 5);
    config.warmup = Duration::ZERO;
    // With a rate, segments arrive one by one; segments that arrive together are acknowledged
    // together.
    config.uplink.rate = BitRate(50_000_000);
    let RunResult { mut flows, conservation, .. } = run(&config);
    let flow = flows.remove(0);
    close(flow.goodput_bytes(), 300_000.0, 1e-9, "all bytes arrive once");
    assert_eq!(flow.active_to_s, flow.received_s);
    assert!(flow.completed_s.is_some_and(|t| t < 1.0), "{:?}", flow.completed_s);
    assert_eq!((flow.direction.as_str(), flow.delivered_packets), ("up", 208), "its segments");
    assert!(
        (100..=230).contains(&conservation.delivered),
        "every second segment: {}",
        conservation.delivered
    );
}

/// Three transfers of one size over 10 packets a millisecond, then one much longer: all rates are
/// known.
#[test]
fn shares_are_of_the_time_in_which_all_transfers_ran() {
    let sized = |name, size| tcp(name, cubic(), size);
    let flows =
        vec![sized("pair", Some(20_000_000)), sized("pair", Some(30_000_000)), sized("long", None)];
    let mut config = over(10, flows, 10);
    config.warmup = Duration::ZERO;
    let result = run(&config);
    let [pair, long] = result.flows.as_slice() else { panic!("two names") };
    let (first, last) = (pair.first_received_s, pair.received_s);
    let (first, last) = (first.expect("the short one ends"), last.expect("the other one ends"));
    assert!(first < last && (long.received_s, long.first_received_s) == (None, None));
    assert!(last <= pair.completed_s.expect("it ends"));
    close(result.together.until_s, first, 1e-9, "the first end");
    let all = pair.together_mbit_s + long.together_mbit_s;
    close(all, 1448.0 * 0.08, 0.03, "the cell's rate, shared while all ran");
    let least = 20_000_000.0 * 8e-6 / first;
    assert!(pair.together_mbit_s > least, "{} beside {least}", pair.together_mbit_s);
    // The index over three, which says more than the index over one name.
    let jain = result.together.jain_index.expect("three shares");
    assert!((1.0 / 3.0..=1.0).contains(&jain), "{jain}");
    config.flows.remove(0);
    config.flows.remove(0);
    let alone = run(&config);
    assert_eq!((alone.together.jain_index, alone.together.until_s), (None, 10.0));
    let long = &alone.flows[0];
    close(long.together_mbit_s, long.goodput_mbit_s, 1e-9, "the whole window");
}

#[test]
fn an_upload_delays_the_acknowledgements_of_a_download_in_the_shared_queue() {
    let rtt = |flows| {
        let mut config = over(4, flows, 20);
        config.uplink.rate = BitRate(5_000_000);
        config.uplink.limit = Bytes(250_000);
        run(&config).flows[0].rtt.mean_ms
    };
    let alone = rtt(vec![tcp("down", cubic(), None)]);
    let shared = rtt(vec![tcp("down", cubic(), None), upload("up", cubic(), None)]);
    assert!(
        shared > alone + 100.0,
        "a queue of 250 kB is 400 ms: {alone} ms alone, {shared} ms shared"
    );
}

#[test]
fn lost_acknowledgements_of_an_upload_leave_no_trace_in_the_arena() {
    // A cell that carries a packet each 10 ms, shared with a flood: most acknowledgements are
    // dropped.
    let mut stack = cell(1, CapacityUnit::Packets, Limit::Packets(5));
    stack.mac.slot_mut().period = ms(10);
    let flows = vec![upload("up", cubic(), None), udp("flood", 1_000, Interval::Constant(ms(2)))];
    let mut config = world(stack, flows, ms(10_000));
    config.uplink.rate = BitRate(50_000_000);
    let result = run(&config);
    let drops = result.layers.iter().flat_map(|layer| &layer.drops);
    let acks = drops.map(|(_, n)| n).sum::<u64>() - result.flows[1].dropped_packets;
    assert!(acks > 10, "{acks}");
    assert!(result.flows[0].goodput_mbit_s > 0.0);
}

#[test]
fn a_call_over_an_idle_cell_is_as_good_as_its_delay_allows() {
    let result = run(&over(10, vec![app(Traffic::Voip(VoipConfig::default()))], 60));
    let voip = result.flows[0].voip.as_ref().expect("a call");
    assert_eq!((voip.lost, voip.late), (0, 0));
    // 20 ms of packet, 10 ms of core, a wait for the slot, 60 ms of buffer.
    assert!((90.0..=91.1).contains(&voip.mouth_to_ear_ms), "{}", voip.mouth_to_ear_ms);
    assert!((voip.mos - 4.35).abs() < 0.02, "R of 91 is 4.35: {}", voip.mos);
    close(result.flows[0].goodput_mbit_s, 172.0 * 50.0 * 8e-6, 1e-3, "voice and RTP");
}

#[test]
fn a_call_behind_a_full_queue_is_worth_less() {
    let flows = vec![app(Traffic::Voip(VoipConfig::default())), tcp("bulk", cubic(), None)];
    let result = run(&over(1, flows, 60));
    let voip = result.flows[0].voip.as_ref().expect("a call");
    assert!(voip.late > 0, "a queue of up to 200 ms is more than the buffer of 60 ms");
    assert!(voip.mos < 3.0, "{}", voip.mos);
}

#[test]
fn a_frame_is_complete_after_its_datagrams_have_been_served() {
    let video = VideoConfig {
        fps: 50,
        rate: BitRate(4_000_000),
        size_sd: justfull_base::Ratio(0.0),
        jitter_sd: Duration::ZERO,
        payload: Bytes(1_000),
        ..VideoConfig::default()
    };
    // 10 000 B a frame: 10 datagrams, one for each slot.
    let result = run(&over(1, vec![app(Traffic::Video(video))], 40));
    let frames = result.flows[0].frames.as_ref().expect("frames");
    assert_eq!(frames.broken, 0);
    assert!((1_598..=1_602).contains(&frames.sent), "50 a second for 32 s: {}", frames.sent);
    assert!(frames.sent - frames.completed <= 1);
    let completion = &frames.completion;
    assert!(completion.min_ms >= 19.0 && completion.max_ms <= 20.1, "{completion:?}");
    assert_eq!(frames.late, frames.completed, "the budget is 15 ms");
}

#[test]
fn a_frame_that_lost_a_datagram_is_broken() {
    let video = VideoConfig { rate: BitRate(8_000_000), ..VideoConfig::default() };
    let mut config = over(1, vec![app(Traffic::Video(video))], 20);
    config.stack.rlc.queue.limit = Limit::Packets(8);
    let flow = run(&config).flows.remove(0);
    let frames = flow.frames.expect("frames");
    assert!(frames.broken > frames.sent / 2, "12 datagrams a frame into 8 places: {frames:?}");
    assert!(frames.sent - frames.completed - frames.broken <= 2, "{frames:?}");
    assert!(flow.dropped_packets >= frames.broken);
}

fn call(control: &str) -> Traffic {
    let control = RcConfig::by_name(control).expect("it ships");
    Traffic::VideoCall(Box::new(VideoCallConfig { control, ..VideoCallConfig::default() }))
}

#[test]
fn a_call_over_an_idle_cell_reaches_its_greatest_rate_and_its_reports_go_up() {
    for control in ["gcc", "scream"] {
        let result = run(&over(10, vec![app(call(control))], 60));
        let flow = &result.flows[0];
        let frames = flow.frames.as_ref().expect("frames");
        assert_eq!(frames.broken, 0, "{control}");
        // 30 a second for 48 s.
        assert!((1_437..=1_443).contains(&frames.sent), "{control}: {}", frames.sent);
        assert!((2.0..2.6).contains(&flow.goodput_mbit_s), "{control}: {}", flow.goodput_mbit_s);
        assert!(result.uplink.delivered > 20 * 48, "{control}: a report each 50 ms at least");
    }
}

#[test]
fn without_reports_a_call_does_not_grow() {
    let mut config = over(10, vec![app(call("scream"))], 20);
    let result = run(&config);
    config.uplink.rate = BitRate(10);
    let silent = run(&config);
    let rate = |result: &RunResult| result.flows[0].goodput_mbit_s;
    assert!(rate(&silent) < rate(&result) / 4.0, "{} and {}", rate(&silent), rate(&result));
}

#[test]
fn a_page_loads_in_its_round_trips() {
    let page = PageConfig {
        main: ObjectSize::Constant(Bytes(1_000)),
        embedded: ObjectSize::Constant(Bytes(1_000)),
        objects: ObjectCount::Constant(12),
        parsing: Span::Constant(ms(50)),
        reading: Span::Constant(ms(300)),
        connections: 6,
        ..PageConfig::default()
    };
    let result = run(&over(10, vec![app(Traffic::Page(Box::new(page)))], 30));
    let pages = result.flows[0].pages.as_ref().expect("pages");
    // A round trip of 20 ms and a slot for the main object and for each half of the others, and the
    // parsing.
    assert!(pages.load.min_ms >= 110.0 && pages.load.max_ms <= 114.0, "{:?}", pages.load);
    assert!(pages.begun - pages.loaded <= 1, "{pages:?}");
    close(pages.begun as f64, 24_000.0 / (pages.load.mean_ms + 300.0), 0.03, "one after the other");
    close(
        result.flows[0].goodput_mbit_s * 24e6 / 8.0,
        13_000.0 * pages.begun as f64,
        0.03,
        "13 objects a page",
    );
}

#[test]
fn a_page_over_http_1_has_a_handshake_for_each_object_or_one_connection_for_all() {
    let load = |http, connections| {
        let page = PageConfig {
            http,
            connections,
            main: ObjectSize::Constant(Bytes(1_000)),
            embedded: ObjectSize::Constant(Bytes(1_000)),
            objects: ObjectCount::Constant(12),
            parsing: Span::Constant(ms(50)),
            reading: Span::Constant(ms(300)),
            ..PageConfig::default()
        };
        let result = run(&over(10, vec![app(Traffic::Page(Box::new(page)))], 30));
        let flow = &result.flows[0];
        let pages = flow.pages.clone().expect("pages");
        assert!(pages.begun - pages.loaded <= 1, "{pages:?}");
        let bytes = 13_000.0 * pages.begun as f64;
        close(flow.goodput_mbit_s * 24e6 / 8.0, bytes, 0.03, "13 objects a page");
        let goodput = pages.transfer_goodput_kbit_s.expect("pages were loaded");
        close(goodput, 104_000.0 / pages.load.mean_ms, 0.01, "13 kB in the time of a page");
        // Half of the fixed delay, the slot, and the wait before it.
        let ways = &pages.end_to_end;
        assert!(ways.min_ms >= 10.0 && ways.max_ms <= 14.0, "{ways:?}");
        assert_eq!((flow.retransmitted_segments, flow.timeouts), (0, 0));
        (pages.load, pages.object, ways.count / pages.begun)
    };
    // A round trip of 20 ms for the main object and one for all others, and the parsing.
    let (page, object, packets) = load(Http::Http11, 1);
    assert!(page.min_ms >= 90.0 && page.max_ms <= 99.0, "{page:?}");
    assert!(object.min_ms >= 20.0 && object.max_ms <= 29.0, "{object:?}");
    assert!((12..=13).contains(&packets), "{packets}");
    // Two round trips for each object, consecutive in each of four connections, and a SYN each.
    let (page, object, packets) = load(Http::Http10, 4);
    assert!(page.min_ms >= 210.0 && page.max_ms <= 226.0, "{page:?}");
    assert!(object.min_ms >= 40.0 && object.max_ms <= 45.0, "{object:?}");
    assert!((25..=26).contains(&packets), "{packets}");
}

#[test]
fn requests_for_which_there_is_no_room_are_repeated() {
    let page = PageConfig { reading: Span::Constant(ms(100)), ..PageConfig::default() };
    let mut config =
        over(10, vec![app(Traffic::Page(Box::new(page))), upload("up", cubic(), None)], 60);
    config.uplink.rate = BitRate(1_000_000);
    config.uplink.limit = Bytes(6_000);
    config.warmup = Duration::ZERO;
    let result = run(&config);
    let pages = result.flows[0].pages.as_ref().expect("pages");
    assert!(pages.load.max_ms > 1_000.0, "some request was refused: {:?}", pages.load.max_ms);
    assert!(
        pages.loaded > 5 && pages.begun - pages.loaded <= 1,
        "{} of {}",
        pages.loaded,
        pages.begun
    );
}

/// `flow`, whose application writes at `mbit_s`.
fn paced(mut flow: FlowConfig, mbit_s: u64) -> FlowConfig {
    let traffic = Arc::make_mut(&mut flow.traffic);
    if let Traffic::Tcp { rate, .. } | Traffic::Upload { rate, .. } = traffic {
        *rate = Some(BitRate(mbit_s * 1_000_000));
    }
    flow
}

/// `flow` with UDP's protocol number in its packets.
fn over_udp(mut flow: FlowConfig) -> FlowConfig {
    let traffic = Arc::make_mut(&mut flow.traffic);
    if let Traffic::Tcp { transport, .. } | Traffic::Upload { transport, .. } = traffic {
        *transport = Transport::Udp;
    }
    flow.tuple.protocol = flow.traffic.protocol();
    flow
}

#[test]
fn a_transfer_that_its_application_paces_gets_that_rate_and_no_queue() {
    let names = ["cubic", "bbr", "vegas", "new_reno"];
    let mut flows: Vec<FlowConfig> = names
        .iter()
        .map(|name| paced(tcp(name, CcConfig::by_name(name).expect("it exists"), None), 8))
        .collect();
    flows.push(paced(upload("up", cubic(), None), 5));
    // 120 Mbit/s for 32.
    for flow in run(&over(10, flows, 10)).flows {
        let wanted = if flow.name == "up" { 5.0 } else { 8.0 };
        close(flow.goodput_mbit_s, wanted, 0.001, &flow.name);
        assert_eq!(flow.retransmitted_segments, 0, "{}", flow.name);
        assert!(flow.rtt.max_ms < 24.0, "{}: {} ms", flow.name, flow.rtt.max_ms);
    }
}

#[test]
fn a_paced_transfer_of_a_size_ends_when_its_application_has_written_all() {
    let mut flow = paced(tcp("down", cubic(), Some(1_000_000)), 8);
    flow.start = ms(500);
    let mut config = over(10, vec![flow.clone()], 4);
    config.warmup = Duration::ZERO;
    let result = run(&config).flows.remove(0);
    close(result.goodput_bytes(), 1e6, 1e-9, "a megabyte");
    let took = result.received_s.expect("it is whole") - 0.5;
    close(result.goodput_mbit_s, 8.0 / took, 1e-9, "from its start until it is whole");
    // The last write comes after 690 whole segments; then a round trip and the delayed
    // acknowledgement of one.
    let written = 0.5 + 690.0 * 1448.0 * 8.0 / 8e6;
    let completed = result.completed_s.expect("it ends");
    assert!((written + 0.02..written + 0.064).contains(&completed), "{completed}");
    flow.stop = Some(ms(1_000));
    let mut config = over(10, vec![flow], 4);
    config.warmup = Duration::ZERO;
    let stopped = run(&config).flows.remove(0);
    close(stopped.goodput_bytes(), 0.5e6, 0.005, "half a second of 8 Mbit/s");
    let to = stopped.active_to_s.expect("it is active");
    assert!((1.009..1.02).contains(&to), "its last byte comes 10 ms after its end: {to}");
    assert_eq!(stopped.completed_s, None);
}

#[test]
fn a_transfer_over_udp_does_as_tcp_does_and_says_udp() {
    let flows = || vec![tcp("down", cubic(), None), upload("up", cubic(), None)];
    let mut config = over(5, flows(), 10);
    config.uplink.rate = BitRate(8_000_000);
    config.uplink.limit = Bytes(60_000);
    let plain = run(&config);
    config.flows = flows().into_iter().map(over_udp).collect();
    let mut udp = run(&config);
    assert!(udp.flows.iter().all(|flow| flow.protocol == "udp" && flow.rtt.count > 0));
    assert!(udp.flows[0].dropped_packets > 0 && udp.uplink.overflow_drops > 0);
    for (flow, as_tcp) in udp.flows.iter_mut().zip(&plain.flows) {
        // One of the UE's rules matches UDP; both QFIs are served alike.
        assert_eq!((flow.qfi, as_tcp.qfi), (1, 9));
        (flow.qfi, flow.protocol) = (9, "tcp".into());
    }
    assert!(udp == plain, "the ends do the same");
}

#[test]
fn a_rate_of_nought_or_beyond_a_segment_per_microsecond_is_refused() {
    for (mbit_s, valid) in [(0, false), (1, true), (11_584, true), (11_585, false)] {
        let config = over(10, vec![paced(tcp("down", cubic(), None), mbit_s)], 1);
        let found = justfull_sim::World::new(&config).map(drop).map_err(|e| e.field);
        assert_eq!(found, if valid { Ok(()) } else { Err("flow[0].rate".into()) }, "{mbit_s}");
    }
}

#[test]
fn a_slow_uplink_carries_acknowledgements_by_their_size_and_a_full_window_stays_in_flight() {
    // 64 kbit/s carry 153.8 acknowledgements of 52 B a second, and 200 of 40 B.
    for (ack, size) in [(0, 52.0), (40, 40.0)] {
        let mut flow = tcp("down", CcConfig::by_name("fixed").expect("it exists"), None);
        if let Traffic::Tcp { sender, receiver, .. } = Arc::make_mut(&mut flow.traffic) {
            sender.cc = CcConfig::Fixed(FixedConfig { segments: 50, ..FixedConfig::default() });
            (sender.ack, receiver.delayed_ack) = (ack, false);
        }
        let mut config = over(10, vec![flow], 20);
        config.uplink.rate = BitRate(64_000);
        let result = run(&config).flows.remove(0);
        let wanted = 64e-3 / (8.0 * size) * 8.0 * 1448.0;
        close(result.goodput_mbit_s, wanted, 0.005, "one segment for each acknowledgement");
        assert_eq!(result.in_flight_end_bytes, 50 * 1448, "the window");
    }
}
