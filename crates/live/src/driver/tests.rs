use super::*;
use crate::packet::{mapped, mark_ce, parse};
use etherparse::PacketBuilder;
use justfull_base::packet::Protocol;
use justfull_base::{BitRate, Bytes, DropReason, Dscp, Ecn, Event, Qfi, Ratio};
use justfull_queue::aqm::{AqmConfig, codel};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{CapacityUnit, ChannelConfig, McsConfig};
use justfull_ran::{
    BytesConfig, FiveTuple, HarqConfig, MacConfig, PacketDetectionRule, QosFlowConfig, RbConfig,
    RlcConfig, StackConfig, UeConfig,
};
use justfull_run::{FlowConfig, Interval, Tap, Traffic, WorldConfig};
use justfull_sim::World;
use justfull_tcp::Segment;
use justfull_testkit as testkit;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

mod buffers;
mod devices;
mod flows;
mod handovers;
mod joined;
mod lateness;
mod split;
mod upload;

const SERVER: [u8; 4] = [10, 0, 0, 1];
const UE: [u8; 4] = [10, 0, 1, 1];

type Timed = (Instant, Vec<u8>);

/// The end of a wire: packets that arrive at their times, and packets that were sent.
struct Wire {
    now: Rc<Cell<Instant>>,
    inbox: VecDeque<Timed>,
    outbox: Rc<RefCell<Vec<Timed>>>,
    full: bool,
    gone_at: Instant,
}

impl Port for Wire {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if self.now.get() >= self.gone_at {
            return Err(io::Error::from_raw_os_error(77));
        }
        let Some((_, bytes)) = self.inbox.pop_front_if(|(at, _)| *at <= self.now.get()) else {
            return Ok(None);
        };
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        Ok(Some(length))
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        self.outbox.borrow_mut().push((self.now.get(), packet.to_vec()));
        Ok(!self.full)
    }
}

/// A clock that is always late by the same time, and stops once.
struct Virtual {
    now: Rc<Cell<Instant>>,
    late: Duration,
    stop: Option<(Instant, Duration)>,
}

impl Clock for Virtual {
    fn now(&mut self) -> Instant {
        self.now.get()
    }

    fn sleep_until(&mut self, due: Instant) -> Instant {
        let mut woke = (due + self.late).max(self.now.get());
        if let Some((_, length)) = self.stop.take_if(|(at, _)| *at <= due) {
            woke += length;
        }
        self.now.set(woke);
        woke
    }
}

/// A run's inputs except its scenario.
struct Bench {
    now: Rc<Cell<Instant>>,
    late: Duration,
    stop: Option<(Instant, Duration)>,
    options: LiveOptions,
    reports: Option<ReportStream>,
    down: Vec<Timed>,
    up: Vec<Timed>,
    ue_full: bool,
    gone_at: Instant,
}

/// Packets that reached the UE, and packets that reached the server.
type Out = (Vec<Timed>, Vec<Timed>);

impl Bench {
    fn new(down: Vec<Timed>, up: Vec<Timed>) -> Self {
        Self {
            now: Rc::new(Cell::new(Instant::ZERO)),
            late: Duration::from_micros(20),
            stop: None,
            options: LiveOptions::default(),
            reports: None,
            down,
            up,
            ue_full: false,
            gone_at: Instant::NEVER,
        }
    }

    fn run(self, config: &WorldConfig) -> (RunResult, LiveReport, Out) {
        self.watched(config, &mut ())
    }

    fn watched(self, config: &WorldConfig, watch: &mut impl Watch) -> (RunResult, LiveReport, Out) {
        let wire = |inbox: Vec<Timed>, full, gone_at| {
            let outbox = Rc::new(RefCell::new(Vec::new()));
            let inbox = inbox.into();
            (Wire { now: self.now.clone(), inbox, outbox: outbox.clone(), full, gone_at }, outbox)
        };
        let (server, at_server) = wire(self.down, false, self.gone_at);
        let (ue, at_ue) = wire(self.up, self.ue_full, Instant::NEVER);
        let ends =
            Ends { ues: vec![UePort { port: ue, addresses: vec![IpAddr::from(UE)] }], server };
        let live = Live::new(config, &self.options, ends).expect("sound settings");
        let live = match self.reports {
            Some(reports) => live.reporting(reports),
            None => live,
        };
        let mut clock = Virtual { now: self.now.clone(), late: self.late, stop: self.stop };
        let stop = AtomicBool::new(false);
        let (result, report) = live.run(&mut clock, Priority::RealTime, &stop, watch);
        (result, report, (at_ue.take(), at_server.take()))
    }
}

/// The last view.
#[derive(Default)]
struct Seen(Option<View>);

impl Watch for Seen {
    fn saw(&mut self, _now: Instant, view: &View) {
        self.0 = Some(view.clone());
    }
}

/// A port that returns the same datagram `left` times.
struct Same(Vec<u8>, Rc<Cell<u32>>);

impl Port for Same {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(left) = self.1.get().checked_sub(1) else { return Ok(None) };
        self.1.set(left);
        buffer[..self.0.len()].copy_from_slice(&self.0);
        Ok(Some(self.0.len()))
    }

    fn send(&mut self, _packet: &[u8]) -> io::Result<bool> {
        Ok(true)
    }
}

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; the counter neither allocates nor
// has a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

fn udp(from: [u8; 4], to: [u8; 4], port: u16, payload: usize) -> Vec<u8> {
    let mut out = Vec::new();
    PacketBuilder::ipv4(from, to, 64)
        .udp(2112, port)
        .write(&mut out, &vec![0; payload])
        .expect("memory takes it");
    out
}

/// A cell of one UE that carries `per_slot` bytes in each slot; its flows are `flows` of UDP, by
/// port from 6000 on.
fn config(slot: Duration, per_slot: u64, rlc: QueueConfig, flows: Vec<Traffic>) -> WorldConfig {
    let qfi = testkit::qfi(1);
    let rule =
        PacketDetectionRule { protocol: Some(Protocol::Udp), ..PacketDetectionRule::any(qfi) };
    let flow = |(i, traffic): (usize, Traffic)| FlowConfig {
        name: format!("udp{i}").into(),
        tuple: FiveTuple {
            source: mapped(SERVER),
            destination: mapped(UE),
            source_port: 2112,
            destination_port: 6000 + i as u16,
            protocol: Protocol::Udp,
        },
        low_latency: i == 0,
        ..testkit::app(traffic)
    };
    let stack = StackConfig {
        rlc: RlcConfig { queue: rlc, ..RlcConfig::default() },
        mac: MacConfig::Bytes(BytesConfig {
            slot: testkit::on_time(slot),
            ..BytesConfig::default()
        }),
        ues: vec![Arc::new(UeConfig { rules: vec![rule], ..UeConfig::plain(qfi) })],
        ..testkit::cell(per_slot, CapacityUnit::Bytes, Limit::Bytes(1))
    };
    WorldConfig {
        core_rate: BitRate(0),
        core_delay: Duration::ZERO,
        warmup: Duration::ZERO,
        series_bins: 10,
        ..testkit::world(stack, flows.into_iter().enumerate().map(flow).collect(), ms(2_000))
    }
}

fn source(payload: u64, us: u64) -> Traffic {
    let interval = Interval::Constant(Duration::from_micros(us));
    Traffic::Udp { payload: Bytes(payload), interval }
}

fn droptail() -> QueueConfig {
    QueueConfig::tail_drop(Limit::Bytes(60_000))
}

/// When each packet entered the simulator's stack, its flow and its size.
#[derive(Default)]
struct Entries(BTreeMap<u64, (Instant, u32, u32)>);

impl Tap for Entries {
    fn on_event(&mut self, _now: Instant, event: &Event, _segment: Option<&Segment>) {
        if let Some(packet) = justfull_run::tap::packet_of(event) {
            self.0.entry(packet.id).or_insert((packet.entered, packet.flow, packet.size));
        }
    }
}

#[test]
fn the_packets_of_a_simulated_run_have_the_same_delays_within_a_slot_when_live() {
    // 15.3 Mbit/s offered to 12 Mbit/s: the queue is full most of the time.
    let config = config(ms(1), 1_500, droptail(), vec![source(172, 20_000), source(1_400, 750)]);
    let mut entries = Entries::default();
    let world = World::tapped(&config, &mut entries).expect("sound settings");
    let simulated = world.run(&mut ()).expect("it ends");
    let packets = entries.0.values().map(|&(entered, flow, size)| {
        (entered, udp(SERVER, UE, 6000 + flow as u16, size as usize - 28))
    });
    let (live, report, (at_ue, _)) = Bench::new(packets.collect(), Vec::new()).run(&config);
    assert!(!report.late(), "{report:?}");
    assert_eq!(live.conservation.entered, simulated.conservation.entered);
    assert!((live.cell.utilisation - simulated.cell.utilisation).abs() < 0.01, "{:?}", live.cell);
    for (found, expected) in live.flows.iter().zip(&simulated.flows) {
        assert_eq!(
            (&found.name, found.entered_packets),
            (&expected.name, expected.entered_packets)
        );
        let lost = found.dropped_packets.abs_diff(expected.dropped_packets);
        assert!(
            lost * 50 <= expected.dropped_packets,
            "{} {}",
            found.dropped_packets,
            expected.dropped_packets
        );
        assert!(
            (found.goodput_mbit_s / expected.goodput_mbit_s - 1.0).abs() < 0.01,
            "{}",
            found.goodput_mbit_s
        );
        let shares = |d: &justfull_run::results::Distribution| {
            [d.mean_ms, d.p25_ms, d.p50_ms, d.p95_ms, d.p99_ms]
        };
        for (a, b) in shares(&found.delay).into_iter().zip(shares(&expected.delay)) {
            assert!(
                (a - b).abs() <= 1.0,
                "{}: {:?} {:?}",
                found.name,
                shares(&found.delay),
                shares(&expected.delay)
            );
        }
    }
    assert_eq!(at_ue.len() as u64, report.down.delivered);
    assert_eq!(live.layers[2].drops[0].0, "overflow");
}

#[test]
fn the_core_loses_the_same_packets_live_as_in_the_simulator() {
    let mut config = config(ms(1), 1_500, droptail(), vec![source(1_000, 1_000)]);
    config.core_loss = Ratio(0.1);
    let mut entries = Entries::default();
    let world = World::tapped(&config, &mut entries).expect("sound settings");
    let simulated = world.run(&mut ()).expect("it ends");
    let packets =
        entries.0.values().map(|&(entered, ..)| (entered, udp(SERVER, UE, 6000, 1_000))).collect();
    let (live, report, (at_ue, _)) = Bench::new(packets, Vec::new()).run(&config);
    let lost = simulated.flows[0].dropped_packets;
    assert!(lost.abs_diff(200) < 54, "{lost}");
    assert_eq!(live.layers[0].drops, [("core_loss".to_string(), lost)]);
    assert_eq!(live.layers[0].drops, simulated.layers[0].drops);
    assert_eq!((report.down.dropped, report.down.delivered), (lost, at_ue.len() as u64));
}

#[test]
fn the_cells_reports_to_a_listener_add_up_to_the_run() {
    let config = config(ms(1), 1_500, droptail(), vec![source(1_400, 750)]);
    let packets = (0..2_600).map(|i| (at(i * 750), udp(SERVER, UE, 6000, 1_400)));
    let mut bench = Bench::new(packets.collect(), Vec::new());
    let mut stream = ReportStream::new(ms(10));
    let (reports, gone) = (stream.listen(), stream.listen());
    drop(gone);
    bench.reports = Some(stream);
    let (result, report, _) = bench.run(&config);
    let patience = std::time::Duration::ZERO;
    let reports: Vec<_> = std::iter::from_fn(|| reports.next(patience).ok().flatten()).collect();
    let counts = report.reports.expect("there was a listener");
    assert_eq!(
        (counts.made, counts.lost),
        (reports.len() as u64, reports.len() as u64),
        "one had gone"
    );
    assert_eq!((result.reports.ues, result.reports.sent), (1, counts.made));
    let planned = config.duration.as_nanos() / ms(10).as_nanos();
    assert!(counts.made.abs_diff(planned) <= 1, "{counts:?}");
    assert!(reports.windows(2).all(|pair| pair[0].ran.at < pair[1].ran.at));
    let slots: u64 = reports.iter().map(|of| u64::from(of.ran.slots)).sum();
    assert!(result.cell.slots.abs_diff(slots) <= 10, "{slots} of {}", result.cell.slots);
    let bytes: u64 = reports.iter().map(|of| of.ran.bytes).sum();
    assert!(result.cell.used.abs_diff(bytes) <= 15_000, "{bytes} of {}", result.cell.used);
    assert!(reports.iter().any(|of| of.ran.backlog > 10 * 1_400), "the queue is full");
}

#[test]
fn without_load_packets_wait_for_half_a_slot_on_average() {
    let config = config(ms(10), 15_000, droptail(), vec![source(100, 7_000)]);
    let packets = (0..280).map(|i| (at(i * 7_003), udp(SERVER, UE, 6000, 100)));
    let (live, _, _) = Bench::new(packets.collect(), Vec::new()).run(&config);
    let delay = &live.flows[0].delay;
    assert!(
        (delay.mean_ms - 5.0).abs() < 0.3,
        "slots of 10 ms are read every 500 us: {}",
        delay.mean_ms
    );
    assert!(delay.max_ms <= 10.25 && delay.min_ms < 0.5, "{} to {}", delay.min_ms, delay.max_ms);
}

#[test]
fn in_resource_blocks_the_way_to_the_ue_is_reported_and_lost_packets_give_their_buffers_back() {
    let mut config = config(ms(1), 1_500, droptail(), vec![source(100, 4_000)]);
    config.duration = ms(4_000);
    config.stack.channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
    let harq = HarqConfig {
        bler: Ratio(0.3),
        combining: Ratio(1.0),
        transmissions: 2,
        ..HarqConfig::default()
    };
    let slot = *config.stack.mac.slot();
    config.stack.mac = MacConfig::Rb(RbConfig { slot, harq, ..RbConfig::default() });
    config.air_delay = ms(3);
    let packets = (0..900).map(|i| (at(i * 4_003), udp(SERVER, UE, 6000, 100)));
    let mut bench = Bench::new(packets.collect(), Vec::new());
    bench.options.buffers = 50;
    let (result, report, (at_ue, _)) = bench.run(&config);
    let (flow, down) = (&result.flows[0], &report.down);
    assert!(down.dropped > 50, "more than there are buffers: {down:?}");
    assert_eq!((down.no_buffer, down.delivered + down.dropped + down.queued), (0, 900));
    assert_eq!((at_ue.len() as u64, flow.to_ue.count), (down.delivered, flow.delivered_packets));
    assert!(flow.to_ue.min_ms >= 3.0 && flow.to_ue.max_ms >= 10.9, "{:?}", flow.to_ue);
    assert!(flow.delay.max_ms < 5.0, "queueing alone: {:?}", flow.delay);
}

#[test]
fn every_datagram_is_accounted_for_whatever_becomes_of_it() {
    let config = config(ms(1), 1_500, droptail(), vec![source(100, 1_000)]);
    let good = udp(SERVER, UE, 6000, 100);
    let change = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        bytes
    };
    let bad = [
        change(0, 0x15),
        good[..60].to_vec(),
        change(0, 0x41),
        change(8, 1),
        udp(SERVER, UE, 1, 1473),
    ];
    let mut down: Vec<Timed> = bad.into_iter().map(|b| (at(100), b)).collect();
    down.push((at(100), Vec::new()));
    down.push((at(200), udp(SERVER, [10, 0, 9, 9], 6000, 10)));
    let mut sctp = Vec::new();
    PacketBuilder::ipv4(SERVER, UE, 64)
        .write(&mut sctp, 132.into(), &[0; 12])
        .expect("memory takes it");
    down.push((at(300), sctp));
    down.extend((0..100).map(|i| (at(1_000 + i), udp(SERVER, UE, 6000 + i as u16, 1_400))));
    let up = vec![(at(50), change(8, 1)), (at(60), udp(UE, SERVER, 9, 9))];
    let mut bench = Bench::new(down, up);
    (bench.options.buffers, bench.options.flows) = (50, 10);
    let (result, report, (at_ue, at_server)) = bench.run(&config);
    let account = report.down;
    assert_eq!(
        account.malformed,
        [1, 2, 1, 1, 0, 1],
        "version, truncated, header, checksum, transport, too big"
    );
    assert_eq!((account.received, account.no_ue, account.no_buffer), (108, 1, 49));
    // SCTP matches no rule; the RLC queue of 60 kB drops its overflow.
    let drops = [("no_rule".to_string(), 1), ("no_buffer".to_string(), 49)];
    assert_eq!(result.layers[0].drops, drops);
    assert_eq!(account.delivered + account.dropped, 52);
    assert_eq!((at_ue.len() as u64, account.refused, account.queued), (account.delivered, 0, 0));
    assert_eq!((report.up.received, report.up.malformed[3], report.up.delivered), (2, 1, 1));
    assert_eq!(at_server[0].1, udp(UE, SERVER, 9, 9));
    assert!(
        at_server[0].0 >= at(10_000) && at_server[0].0 < at(11_000),
        "10 ms up: {:?}",
        at_server[0].0
    );
    assert_eq!((report.flows, report.buffers_used, report.buffers), (13, [50, 2], 50));
    assert_eq!(
        (report.aged_flows, report.shared_packets),
        (2, 89),
        "eleven ports have flows of their own, two of them in place of the SCTP packet's and of \
         what the first slot carried"
    );
}

#[test]
fn an_interface_that_takes_no_more_is_accounted_for() {
    let config = config(ms(1), 1_500, droptail(), vec![source(100, 1_000)]);
    let packets = (0..10).map(|i| (at(i), udp(SERVER, UE, 6000, 100)));
    let mut bench = Bench::new(packets.collect(), Vec::new());
    bench.ue_full = true;
    let (_, report, _) = bench.run(&config);
    assert_eq!((report.down.received, report.down.refused, report.down.delivered), (10, 10, 0));
}

#[test]
fn an_interface_that_goes_ends_the_run_with_its_packets_accounted_for() {
    let config = config(ms(1), 1_500, droptail(), vec![source(100, 1_000)]);
    let packets = (0..100).map(|i| (at(i * 10), udp(SERVER, UE, 6000, 1_400)));
    let mut bench = Bench::new(packets.collect(), Vec::new());
    bench.gone_at = at(5_000);
    let (result, report, _) = bench.run(&config);
    assert!(report.fault.is_some_and(|f| f.starts_with("cannot read from the server's side")));
    assert!(result.duration_s < 0.01 && report.down.received == 100 && report.down.queued > 30);
}

#[test]
fn a_mark_of_the_chain_is_in_the_datagram_with_a_right_checksum() {
    let codel = QueueConfig { aqm: AqmConfig::CoDel(codel::CoDelConfig::default()), ..droptail() };
    let config = config(ms(1), 1_500, codel, vec![source(1_400, 750)]);
    let mut capable = udp(SERVER, UE, 6000, 1_400);
    mark_ce(&mut capable);
    // ECT(0): the change of the checksum by the mark, undone by one.
    capable[1] = 0b10;
    let checksum = u16::from_be_bytes([capable[10], capable[11]]) + 1;
    capable[10..12].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(parse(&capable).map(|d| d.ecn), Ok(Ecn::Ect0));
    let packets = (0..2_600).map(|i| (at(i * 750), capable.clone()));
    let (result, _, (at_ue, _)) = Bench::new(packets.collect(), Vec::new()).run(&config);
    let codepoints: Vec<Ecn> = at_ue.iter().map(|(_, b)| parse(b).expect("sound").ecn).collect();
    let marked = codepoints.iter().filter(|e| **e == Ecn::Ce).count() as u64;
    assert!(marked > 5 && codepoints.contains(&Ecn::Ect0), "{marked}");
    assert!(result.flows[0].marked_packets >= marked, "some still wait");
}

/// Each of `sources` sends ten datagrams at once, behind one interface of two UEs. Returns when the
/// last has gone up.
fn last_up(sources: [[u8; 4]; 2]) -> Instant {
    const SECOND: [u8; 4] = [10, 0, 1, 2];
    let mut config = config(ms(1), 1_500, droptail(), vec![source(100, 1_000)]);
    config.stack.ues.push(config.stack.ues[0].clone());
    config.uplink.rate = BitRate(1_000_000);
    let now = Rc::new(Cell::new(Instant::ZERO));
    let wire = |inbox: VecDeque<Timed>| {
        let outbox = Rc::new(RefCell::new(Vec::new()));
        let wire = Wire {
            now: now.clone(),
            inbox,
            outbox: outbox.clone(),
            full: false,
            gone_at: Instant::NEVER,
        };
        (wire, outbox)
    };
    let inbox = (0..20).map(|n| (Instant::ZERO, udp(sources[n % 2], SERVER, 6000, 972))).collect();
    let ((ues, _), (nothing, _), (server, at_server)) =
        (wire(inbox), wire(VecDeque::new()), wire(VecDeque::new()));
    let second = UePort { port: nothing, addresses: vec![IpAddr::from(SECOND)] };
    let ends = Ends { ues: vec![UePort { port: ues, addresses: Vec::new() }, second], server };
    let live =
        Live::new(&config, &LiveOptions::default(), ends).expect("sound settings").behind_one();
    let mut clock = Virtual { now: now.clone(), late: Duration::ZERO, stop: None };
    let (_, report) = live.run(&mut clock, Priority::RealTime, &AtomicBool::new(false), &mut ());
    assert_eq!(report.up.delivered, 20);
    at_server.borrow().last().map_or(Instant::NEVER, |(at, _)| *at)
}

#[test]
fn ues_behind_one_interface_are_distinguished_by_their_source_addresses() {
    // A datagram of 1000 bytes takes 8 ms at 1 Mbit/s, and the way 10 ms: ten take 90 ms, twenty
    // 170 ms.
    let (two, one) = (last_up([UE, [10, 0, 1, 2]]), last_up([UE, [10, 0, 9, 9]]));
    assert!(two >= at(90_000) && two < at(92_000), "a UE each: {two:?}");
    assert!(
        one >= at(170_000) && one < at(172_000),
        "an address that no UE has is the first's: {one:?}"
    );
}

#[test]
fn a_run_ends_at_once_when_stop_is_set() {
    let config = config(ms(1), 1_500, droptail(), vec![source(100, 1_000)]);
    let now = Rc::new(Cell::new(Instant::ZERO));
    let wire = || Wire {
        now: now.clone(),
        inbox: VecDeque::new(),
        outbox: Rc::default(),
        full: false,
        gone_at: Instant::NEVER,
    };
    let ends = Ends { ues: vec![UePort { port: wire(), addresses: Vec::new() }], server: wire() };
    let live = Live::new(&config, &LiveOptions::default(), ends).expect("sound settings");
    let mut clock = Virtual { now: now.clone(), late: Duration::ZERO, stop: None };
    let (result, _) = live.run(&mut clock, Priority::RealTime, &AtomicBool::new(true), &mut ());
    assert!(result.duration_s < 1e-6, "{}", result.duration_s);
}
