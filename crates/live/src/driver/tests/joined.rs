//! Segments that are written as one packet.

use super::*;
use justfull_net::segments::{Cut, OFFLOAD_PREFIX};
use std::io::IoSlice;

/// A wire that takes many segments as one packet and delivers them one by one.
struct Joining {
    wire: Wire,
    /// Number of segments in each joined packet.
    joined: Rc<RefCell<Vec<usize>>>,
    joins: bool,
    gone_after: usize,
}

impl Port for Joining {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.wire.receive(buffer)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        self.wire.send(packet)
    }

    fn joins(&self) -> bool {
        self.joins
    }

    fn send_joined(&mut self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        if self.joined.borrow().len() == self.gone_after {
            return Err(io::ErrorKind::NotFound.into());
        }
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let mut cut = Cut::new(&bytes).expect("the prefix fits");
        let mut room = [0; 1_500];
        let mut segments = 0;
        while let Some(length) = cut.next(&bytes[OFFLOAD_PREFIX..], &mut room) {
            self.wire.send(&room[..length])?;
            segments += 1;
        }
        self.joined.borrow_mut().push(segments);
        Ok(!self.wire.full)
    }
}

/// Segment `n` with a payload of 1000 bytes, to a port of the UE.
fn segment(port: u16, n: u32) -> Vec<u8> {
    let mut header = etherparse::Ipv4Header::new(1_020, 64, etherparse::IpNumber::TCP, SERVER, UE)
        .expect("it fits");
    header.dont_fragment = true;
    header.identification = n as u16;
    let mut out = Vec::new();
    PacketBuilder::ip(etherparse::IpHeaders::Ipv4(header, Default::default()))
        .tcp(80, port, n * 1_000, 500)
        .ack(1)
        .write(&mut out, &[n as u8; 1_000])
        .expect("memory takes it");
    out
}

/// A cell that carries 60 000 bytes in each slot of 1 ms.
fn wide() -> WorldConfig {
    let mut config = config(ms(1), 60_000, droptail(), vec![source(100, 1_000)]);
    config.stack.ues = vec![Arc::new(UeConfig::plain(testkit::qfi(1)))];
    config
}

/// Results of a run: its report, the packets at the UE, and the segments of each joined packet.
type Left = (LiveReport, Vec<Timed>, Vec<usize>);

/// Runs the packets `down` to the port of a UE. The port takes joined packets if `joins`, takes no
/// packet if `full`, and fails after `gone_after` joined packets.
fn run(down: &[Timed], joins: bool, full: bool, gone_after: usize) -> Left {
    let config = wide();
    let (now, joined) = (Rc::new(Cell::new(Instant::ZERO)), Rc::new(RefCell::new(Vec::new())));
    let port = |inbox: &[Timed], full| {
        let (now, inbox) = (now.clone(), inbox.iter().cloned().collect());
        let wire = Wire { now, inbox, outbox: Rc::default(), full, gone_at: Instant::NEVER };
        Joining { wire, joined: joined.clone(), joins, gone_after }
    };
    let (server, ue) = (port(down, false), port(&[], full));
    let at_ue = ue.wire.outbox.clone();
    let ends = Ends { ues: vec![UePort { port: ue, addresses: vec![IpAddr::from(UE)] }], server };
    let live = Live::new(&config, &LiveOptions::default(), ends).expect("sound settings");
    let mut clock = Virtual { now, late: Duration::from_micros(20), stop: None };
    let (_, report) = live.run(&mut clock, Priority::RealTime, &AtomicBool::new(false), &mut ());
    (report, at_ue.take(), joined.take())
}

#[test]
fn long_runs_are_joined_and_packets_their_order_and_their_times_are_the_same() {
    let all = |at_us: u64, packets: Vec<Vec<u8>>| packets.into_iter().map(move |p| (at(at_us), p));
    let of = |port, numbers: std::ops::Range<u32>| numbers.map(|n| segment(port, n)).collect();
    let mut damaged: Vec<Vec<u8>> = of(3, 0..30);
    damaged[20][100] ^= 1;
    let in_turn = (0..20).flat_map(|n| [segment(4, n), segment(5, n)]).collect();
    let mut marked: Vec<Vec<u8>> = of(6, 0..50);
    mark_ce(&mut marked[20]);
    let down: Vec<Timed> = all(10_000, of(1, 0..40))
        .chain(all(20_000, of(1, 40..55)))
        .chain(all(30_000, damaged))
        .chain(all(40_000, in_turn))
        .chain(all(50_000, marked))
        .collect();
    let (single, expected, none) = run(&down, false, false, usize::MAX);
    let (report, found, joined) = run(&down, true, false, usize::MAX);
    assert_eq!(joined, [40, 20, 29], "not 15 segments, a damaged run, or two connections in turn");
    assert!(none.is_empty());
    assert_eq!(found, expected);
    assert_eq!((report.down, report.up), (single.down, single.up));
    assert_eq!(report.down.delivered, down.len() as u64);
}

#[test]
fn joined_segments_that_an_interface_refuses_are_counted_each() {
    let down: Vec<Timed> = (0..40).map(|n| (at(10_000), segment(1, n))).collect();
    let (report, ..) = run(&down, true, true, usize::MAX);
    assert_eq!((report.down.refused, report.down.delivered), (40, 0));
    let more = (0..80).map(|n| (at(10_000 + u64::from(n / 40) * 5_000), segment(1, n)));
    let more: Vec<Timed> = more.collect();
    let (report, ..) = run(&more, true, false, 1);
    assert_eq!((report.down.refused, report.down.delivered), (40, 40));
    assert!(report.fault.is_some_and(|fault| fault.contains("write to UE 0's side")));
}

/// A port that delivers the same segments again and again, `left` in total, and takes joined
/// packets.
struct Again {
    segments: Vec<Vec<u8>>,
    next: usize,
    left: Rc<Cell<u32>>,
    joined: Rc<Cell<u64>>,
}

impl Port for Again {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(left) = self.left.get().checked_sub(1) else { return Ok(None) };
        self.left.set(left);
        let segment = &self.segments[self.next % self.segments.len()];
        self.next += 1;
        buffer[..segment.len()].copy_from_slice(segment);
        Ok(Some(segment.len()))
    }

    fn send(&mut self, _packet: &[u8]) -> io::Result<bool> {
        Ok(true)
    }

    fn joins(&self) -> bool {
        true
    }

    fn send_joined(&mut self, _parts: &[IoSlice<'_>]) -> io::Result<bool> {
        self.joined.set(self.joined.get() + 1);
        Ok(true)
    }
}

#[test]
fn no_joined_packet_allocates_once_the_queues_have_their_size() {
    let segments: Vec<Vec<u8>> = (0..50).map(|n| segment(1, n)).collect();
    let (left, joined) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let port = |left: &Rc<Cell<u32>>| {
        let (segments, left, joined) = (segments.clone(), left.clone(), joined.clone());
        Again { segments, next: 0, left, joined }
    };
    let ues = vec![UePort { port: port(&Rc::default()), addresses: Vec::new() }];
    let ends = Ends { ues, server: port(&left) };
    let mut live = Live::new(&wide(), &LiveOptions::default(), ends).expect("sound settings");
    let mut turns = |from: u64, to: u64| {
        let before = ALLOCATIONS.get();
        for i in from..to {
            left.set(50);
            live.turn(at(i * 1_000)).expect("memory does not fail");
        }
        ALLOCATIONS.get() - before
    };
    turns(0, 100);
    assert_eq!(turns(100, 1_000), 0);
    assert!(joined.get() >= 990, "{}", joined.get());
    let (_, report) = live.finish(Priority::RealTime, &Lateness::new(ms(1)));
    assert_eq!(report.down.received, 50_000);
}
