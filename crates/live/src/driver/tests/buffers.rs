//! Packets that arrive while all buffers of their direction are in use.

use super::*;

/// `number` packets of `payload` bytes to the UE's ports 6000 and 6001 in turn, all at once.
fn burst(number: u64, payload: usize) -> Vec<Timed> {
    (0..number).map(|i| (at(1_000), udp(SERVER, UE, 6000 + (i % 2) as u16, payload))).collect()
}

#[test]
fn a_datagram_without_a_buffer_has_entered_and_is_dropped_under_the_name_of_its_flow() {
    let config = config(ms(1), 1_500, droptail(), vec![source(100, 1_000); 2]);
    let mut bench = Bench::new(burst(100, 100), Vec::new());
    bench.options.buffers = 30;
    let mut seen = Seen::default();
    let (result, report, (at_ue, _)) = bench.watched(&config, &mut seen);
    let down = report.down;
    assert_eq!((down.received, down.no_buffer, down.dropped, down.delivered), (100, 70, 0, 30));
    assert_eq!(at_ue.len(), 30);
    for flow in &result.flows {
        let packets = (flow.entered_packets, flow.dropped_packets, flow.delivered_packets);
        assert_eq!(packets, (50, 35, 15), "{}", flow.name);
    }
    assert_eq!(result.layers[0].drops, [("no_buffer".to_string(), 70)]);
    let chain = &result.conservation;
    assert_eq!((chain.entered, chain.delivered, chain.dropped), (100, 30, 70));
    let view = seen.0.expect("it was watched");
    assert_eq!(view.names.iter().map(|of| of.dropped).sum::<u64>(), 70);
    assert_eq!(view.counts.drops[0][DropReason::NoBuffer as usize], 70);
}

#[test]
fn a_flood_of_one_direction_takes_no_buffer_from_the_other() {
    let config = config(ms(1), 1_500, droptail(), vec![source(100, 1_000)]);
    let up = |number: u64| (0..number).map(|i| (at(1_000 + i), udp(UE, SERVER, 9, 9)));
    let run = |down: u64, number: u64| {
        let mut bench = Bench::new(burst(down, 1_400), up(number).collect());
        bench.options.buffers = 10;
        bench.run(&config).1
    };
    let flooded = run(1_000, 10);
    assert_eq!((flooded.down.no_buffer, flooded.up.no_buffer, flooded.up.delivered), (990, 0, 10));
    let flooded = run(10, 1_000);
    assert_eq!(
        (flooded.up.no_buffer, flooded.down.no_buffer, flooded.down.delivered),
        (990, 0, 10)
    );
    assert_eq!(flooded.buffers_used, [10, 10]);
}

#[test]
fn between_servers_and_a_proxy_a_flood_of_one_way_takes_no_buffer_from_the_other() {
    let config = config(ms(1), 1_500, droptail(), vec![source(100, 1_000)]);
    let now = Rc::new(Cell::new(Instant::ZERO));
    let port = |inbox: Vec<Timed>| Wire {
        now: now.clone(),
        inbox: inbox.into(),
        outbox: Rc::default(),
        full: false,
        gone_at: Instant::NEVER,
    };
    let up = (0..5).map(|i| (at(1_000 + i), udp(UE, SERVER, 9, 9)));
    let (servers, proxy) = (port(burst(100, 1_400)), port(up.collect()));
    let arrived = proxy.outbox.clone();
    let ues = vec![UePort { port: port(Vec::new()), addresses: vec![IpAddr::from(UE)] }];
    let ends = Ends { ues, server: port(Vec::new()) };
    let options = LiveOptions { buffers: 10, ..LiveOptions::default() };
    let live = Live::new(&config, &options, ends).expect("sound settings");
    let live = live.behind_proxy(&config, servers, proxy).expect("the delays fit");
    let mut clock = Virtual { now, late: Duration::from_micros(20), stop: None };
    let stop = AtomicBool::new(false);
    let (_, report) = live.run(&mut clock, Priority::RealTime, &stop, &mut ());
    let [down, up] = report.wan.expect("there is a proxy");
    assert_eq!((down.received, down.no_buffer, down.delivered), (100, 90, 10));
    assert_eq!((up.received, up.no_buffer, up.delivered), (5, 0, 5));
    assert_eq!(arrived.borrow().len(), 10);
}

#[test]
fn data_of_an_upload_without_a_buffer_has_entered_and_is_dropped_too() {
    let config = config(ms(1), 1_500, droptail(), vec![upload::upload()]);
    let down = vec![(at(0), udp(SERVER, UE, 6000, 20))];
    let up = (0..10).map(|_| (at(100_000), upload::to_server(1_000)));
    let mut bench = Bench::new(down, up.collect());
    bench.options.buffers = 4;
    let (result, report, _) = bench.run(&config);
    let flow = &result.flows[0];
    let packets = (flow.entered_packets, flow.dropped_packets, flow.delivered_packets);
    assert_eq!((flow.direction.as_str(), packets), ("up", (10, 6, 4)));
    assert_eq!((report.up.received, report.up.no_buffer, report.up.dropped), (10, 6, 0));
    let uplink = &result.uplink;
    assert_eq!((uplink.entered, uplink.overflow_drops, uplink.delivered), (10, 6, 4));
}

#[test]
fn without_a_buffer_malformed_packets_and_packets_for_no_ue_are_counted_apart() {
    let config = config(ms(1), 1_500, droptail(), vec![source(100, 1_000)]);
    let mut down = burst(5, 100);
    down.push((at(1_001), vec![0x15; 40]));
    down.push((at(1_001), udp(SERVER, [10, 0, 9, 9], 6000, 10)));
    let mut bench = Bench::new(down, Vec::new());
    bench.options.buffers = 2;
    let down = bench.run(&config).1.down;
    let counts = (down.received, down.malformed_total(), down.no_ue, down.no_buffer);
    assert_eq!((counts, down.delivered), ((7, 1, 1, 3), 2));
}

#[test]
fn a_datagram_without_a_buffer_allocates_nothing() {
    let config = config(ms(1), 60_000, droptail(), vec![source(100, 1_000)]);
    let (down, up) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let ends = Ends {
        ues: vec![UePort { port: Same(udp(UE, SERVER, 7, 40), up.clone()), addresses: Vec::new() }],
        server: Same(udp(SERVER, UE, 6000, 1_400), down.clone()),
    };
    let options = LiveOptions { buffers: 20, ..LiveOptions::default() };
    let mut live = Live::new(&config, &options, ends).expect("sound settings");
    let mut turns = |from: u64, to: u64| {
        let before = ALLOCATIONS.get();
        for i in from..to {
            down.set(500);
            up.set(500);
            live.turn(at(i * 1_000)).expect("memory does not fail");
        }
        ALLOCATIONS.get() - before
    };
    assert!(turns(0, 100) > 0, "queues grow at first");
    assert_eq!(turns(100, 1_000), 0);
    let (_, report) = live.finish(Priority::RealTime, &Lateness::new(ms(1)));
    assert!(report.down.no_buffer > 300_000 && report.up.no_buffer > 300_000, "{report:?}");
}
