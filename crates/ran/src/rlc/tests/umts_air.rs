//! Acknowledged mode of UMTS against a second, naive implementation, for any losses on the air.
//!
//! The oracle segments all SDUs at once, counts PDUs without wrap, and keeps arrived PDUs and
//! pending retransmissions in sets. Each PDU and each report passes through its bytes.

use super::*;
use alloc::collections::BTreeSet;
use justfull_base::{Bytes, Rng};
use proptest::prelude::*;

/// `content` after every PDU was encoded, padded to its size and decoded.
fn through_pdus(pdu: u32, content: &TbContent) -> TbContent {
    let format = Format::UmtsAm { pdu };
    let mut out = TbContent::default();
    let (mut bytes, mut decoded) = (Vec::new(), Decoded::default());
    for made in &content.pdus {
        bytes.clear();
        encode(format, content, made, &mut bytes);
        assert!(bytes.len() as u32 <= pdu);
        let header = bytes.len() as u32;
        bytes.resize(pdu as usize, 0x5a);
        decode(format, &bytes, &mut decoded).expect("what is encoded decodes");
        assert_eq!(decoded.header, made.header);
        let parts = content.parts_of(made);
        if let PduHeader::UmtsAm { open, .. } = made.header {
            let data: u32 = parts.iter().map(|part| part.len).sum();
            assert_eq!(made.header_bytes + data, pdu);
            let spare = if open { made.header_bytes - header } else { 0 };
            assert!(spare <= 1);
            let mut lengths: Vec<u32> = parts.iter().map(|part| part.len).collect();
            *lengths.last_mut().expect("a PDU has parts") += spare;
            assert_eq!(decoded.elements, lengths);
        }
        let first = out.parts.len() as u32;
        out.parts.extend(parts);
        out.push_pdu(decoded.header, made.header_bytes, first);
    }
    out
}

/// `status` after it was encoded, padded and decoded.
fn through_status(pdu: u32, status: &StatusPdu) -> StatusPdu {
    let format = Format::UmtsAm { pdu };
    let mut content = TbContent::default();
    let bytes = codec::status_bytes(format, status);
    content.push_status(bytes).copy_from(status);
    let mut encoded = Vec::new();
    encode(format, &content, &content.pdus[0], &mut encoded);
    assert_eq!(encoded.len() as u32, bytes, "it has as many bytes as were counted");
    encoded.resize(encoded.len() + 7, 0xff);
    let mut decoded = Decoded::default();
    decode(format, &encoded, &mut decoded).expect("what is encoded decodes");
    assert_eq!(&decoded.status, status);
    decoded.status
}

/// A part of an SDU: its number, first byte, length, and whether its end is indicated here.
type Cut = (u64, u32, u32, bool);

/// The parts in each PDU if all SDUs wait from the start.
fn cut_all(pdu: u32, sizes: &[u32]) -> Vec<Vec<Cut>> {
    let indicator = if pdu <= 126 { 1 } else { 2 };
    let mut pdus = vec![Vec::new()];
    let mut room = pdu - 2;
    for (sdu, &size) in sizes.iter().enumerate() {
        let (sdu, mut at) = (sdu as u64, 0);
        loop {
            let rest = size - at;
            // Behind an indicator of 15 bits one byte stays free.
            let is_closed = room == 0 || (indicator == 2 && room == 1);
            if is_closed {
                pdus.push(Vec::new());
                room = pdu - 2;
                continue;
            }
            let last = pdus.last_mut().expect("there is one");
            if rest + indicator <= room {
                last.push((sdu, at, rest, true));
                room -= rest + indicator;
                break;
            }
            let len = rest.min(room);
            last.push((sdu, at, len, false));
            at += len;
            room = 0;
            if at == size {
                pdus.push(vec![(sdu, size, 0, true)]);
                room = pdu - 2 - indicator;
                break;
            }
        }
    }
    pdus
}

/// Both ends, in a naive implementation.
struct Oracle {
    pdus: Vec<Vec<Cut>>,
    window: u64,
    /// VT(S).
    sent: u64,
    acked: BTreeSet<u64>,
    again: BTreeSet<u64>,
    arrived: BTreeSet<u64>,
    /// VR(H).
    highest: u64,
}

impl Oracle {
    fn first_not(set: &BTreeSet<u64>) -> u64 {
        (0..).find(|n| !set.contains(n)).expect("there is one")
    }

    /// VR(R).
    fn next(&self) -> u64 {
        Self::first_not(&self.arrived)
    }

    /// The PDUs of the next batch of `count`.
    fn pull(&mut self, count: u64) -> Vec<u64> {
        let mut batch = Vec::new();
        while (batch.len() as u64) < count {
            if let Some(n) = self.again.pop_first() {
                batch.push(n);
            } else if self.sent < self.pdus.len() as u64
                && self.sent < Self::first_not(&self.acked) + self.window
            {
                batch.push(self.sent);
                self.sent += 1;
            } else {
                break;
            }
        }
        batch
    }

    fn arrive(&mut self, n: u64) {
        if n < self.next() + self.window {
            self.arrived.insert(n);
            self.highest = self.highest.max(n + 1);
        }
    }

    /// Number of delivered SDUs, which are in order.
    fn delivered(&self) -> u64 {
        let joined = self.pdus.iter().take(self.next() as usize).flatten();
        joined.filter(|cut| cut.3).count() as u64
    }

    fn missing(&self) -> Vec<u64> {
        (0..self.highest).filter(|n| !self.arrived.contains(n)).collect()
    }

    fn on_status(&mut self, lsn: u64, missing: &BTreeSet<u64>) {
        for n in (0..lsn).filter(|n| !missing.contains(n)) {
            self.acked.insert(n);
        }
        self.again.extend(missing.iter().filter(|n| !self.acked.contains(n)));
        let acked = &self.acked;
        self.again.retain(|n| !acked.contains(n));
    }

    /// Number of acknowledged SDUs.
    fn acknowledged(&self) -> u64 {
        let gone = self.pdus.iter().take(Self::first_not(&self.acked) as usize).flatten();
        gone.filter(|cut| cut.3).count() as u64
    }
}

/// The faults of the air: losses of PDUs, of whole batches and of reports, in parts of 256, and the
/// number of steps of a report.
#[derive(Clone, Copy, Debug)]
struct Air {
    pdus: u8,
    batches: u8,
    reports: u8,
    delay: u64,
}

struct World {
    tx: RlcTx,
    rx: RlcRx,
    queue: Queue,
    pdu: u32,
    air: Air,
    rng: Rng,
    now: Instant,
    up: VecDeque<(Instant, StatusPdu)>,
    delivered: Vec<u64>,
    acked: Vec<u64>,
    abandoned: Vec<u64>,
    given_up: Vec<u64>,
}

impl World {
    fn new(config: &AmConfig, sizes: &[u32], air: Air, seed: u64) -> Self {
        let mode = RlcModeConfig::Am(config.clone());
        Self {
            tx: RlcTx::new(&mode).expect("valid"),
            rx: RlcRx::new(&mode).expect("valid"),
            queue: Queue::of(sizes),
            pdu: config.pdu.0 as u32,
            air,
            rng: Rng::stream(seed, "umts"),
            now: Instant::ZERO,
            up: VecDeque::new(),
            delivered: Vec::new(),
            acked: Vec::new(),
            abandoned: Vec::new(),
            given_up: Vec::new(),
        }
    }

    fn chance(&mut self, of_256: u8) -> bool {
        self.rng.below(256) < u64::from(of_256)
    }

    fn time_out(&mut self) {
        if self.tx.next_timeout().is_some_and(|at| at <= self.now) {
            self.tx.on_timeout(self.now, self.queue.head().is_some());
            self.tx.given_up(|sdu| self.given_up.push(sdu.0));
            self.tx.assert_sound();
        }
        if self.rx.next_timeout().is_some_and(|at| at <= self.now) {
            self.rx.on_timeout(self.now, |_| {}, |_| {});
        }
    }

    /// The sent content, and its part that arrives.
    fn send(&mut self, count: u32) -> (TbContent, TbContent) {
        let sent = pull(&mut self.tx, self.now, count * self.pdu, &mut self.queue);
        let mut left = through_pdus(self.pdu, &sent);
        let is_lost = self.chance(self.air.batches);
        let pdus = core::mem::take(&mut left.pdus);
        left.pdus = pdus.into_iter().filter(|_| !is_lost && !self.chance(self.air.pdus)).collect();
        (sent, left)
    }

    fn receive(&mut self, content: &TbContent) {
        let (delivered, abandoned) = receive(&mut self.rx, self.now, content);
        self.delivered.extend(delivered);
        self.abandoned.extend(abandoned);
    }

    /// A STATUS PDU of at most `grant` bytes that the UE sends now.
    fn report(&mut self, grant: u32) -> Option<StatusPdu> {
        let status = self.rx.status(self.now, grant)?.clone();
        assert!(codec::status_bytes(Format::UmtsAm { pdu: self.pdu }, &status) <= grant);
        let status = through_status(self.pdu, &status);
        if !self.chance(self.air.reports) {
            self.up.push_back((self.now + Duration::from_millis(self.air.delay), status.clone()));
        }
        Some(status)
    }

    /// The report that reaches the sender now, if any.
    fn pop_report(&mut self) -> Option<StatusPdu> {
        let is_due = self.up.front().is_some_and(|(at, _)| *at <= self.now);
        let status = is_due.then(|| self.up.pop_front()).flatten()?.1;
        self.tx.on_status(self.now, &status, |sdu| self.acked.push(sdu.0));
        self.tx.given_up(|sdu| self.given_up.push(sdu.0));
        self.tx.assert_sound();
        Some(status)
    }

    fn step(&mut self, count: u32) {
        self.time_out();
        let (_, left) = self.send(count);
        self.receive(&left);
        while self.report(42).is_some() {}
        while self.pop_report().is_some() {}
        self.now += Duration::from_millis(10);
    }

    fn is_over(&mut self) -> bool {
        self.queue.head().is_none()
            && self.tx.pending() == Pending::default()
            && self.acked.len() + self.given_up.len() >= self.delivered.len()
            && self.tx.next_timeout().is_none()
            && self.up.is_empty()
    }
}

fn sizes() -> impl Strategy<Value = Vec<u32>> {
    let size = prop_oneof![2 => 1..=3u32, 3 => 36..=43u32, 4 => 1..200u32, 2 => 120..=130u32,
        2 => 200..1600u32];
    prop::collection::vec(size, 1..80)
}

fn configs() -> impl Strategy<Value = AmConfig> {
    let pdu = prop_oneof![Just(6), Just(7), Just(20), Just(42), Just(126), Just(127), 60..=625u64];
    let window = prop_oneof![1..40u32, Just(256), Just(768), Just(4095)];
    let polls = (0..20u32, 0..4u32, 0..99u8, any::<bool>());
    let timers = (10..300u64, 0..150u64, 0..150u64, prop_oneof![Just(0), 20..400u64]);
    (pdu, window, polls, timers, any::<bool>()).prop_map(
        |(pdu, window, (poll_pdu, poll_sdu, poll_window, retx), timers, missing)| AmConfig {
            generation: Generation::Umts,
            pdu: Bytes(pdu),
            window,
            poll_pdu,
            poll_sdu,
            poll_window,
            poll_last_retx: retx,
            timer_poll: Duration::from_millis(timers.0),
            timer_poll_prohibit: Duration::from_millis(timers.1),
            timer_status_prohibit: Duration::from_millis(timers.2),
            timer_status_periodic: Duration::from_millis(timers.3),
            missing_pdu_indicator: missing,
            max_dat: 40,
            ..AmConfig::default()
        },
    )
}

fn airs() -> impl Strategy<Value = Air> {
    (0..90u8, 0..60u8, 0..60u8, 0..80u64).prop_map(|(pdus, batches, reports, delay)| Air {
        pdus,
        batches,
        reports,
        delay,
    })
}

/// The SNs that `status` declares missing.
fn sns(status: &StatusPdu) -> impl Iterator<Item = u32> {
    let of = |nack: &Nack| {
        let (sn, range) = (nack.sn, u32::from(nack.range));
        (0..range).map(move |i| (sn + i) % 4096)
    };
    status.nacks.iter().flat_map(of)
}

/// More steps than any case needs.
const PATIENCE: usize = 80_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Asserts that every PDU, report and delivery equals the oracle's.
    #[test]
    fn both_ends_do_what_the_oracle_does(
        config in configs(), sizes in sizes(), counts in prop::collection::vec(0..14u32, 1..20),
        air in airs(), seed in any::<u64>(),
    ) {
        // The oracle gives nothing up: a poll repeated before its answer can arrive would count
        // towards MaxDAT.
        let config = AmConfig {
            window: config.window.min(2000),
            timer_poll: config.timer_poll + Duration::from_millis(150),
            ..config
        };
        let mut world = World::new(&config, &sizes, air, seed);
        let mut oracle = Oracle {
            pdus: cut_all(world.pdu, &sizes),
            window: u64::from(config.window),
            sent: 0,
            acked: BTreeSet::new(),
            again: BTreeSet::new(),
            arrived: BTreeSet::new(),
            highest: 0,
        };
        let total = oracle.pdus.len() as u64;
        for tti in 0..400 {
            let waiting = world.tx.pending().retransmission;
            world.time_out();
            if world.tx.pending().retransmission > waiting && oracle.sent > 0 {
                oracle.again.insert(oracle.sent - 1);
            }
            let count = counts[tti % counts.len()];
            let (sent, left) = world.send(count);
            let batch = oracle.pull(u64::from(count));
            prop_assert_eq!(sent.pdus.len(), batch.len());
            for (pdu, &n) in sent.pdus.iter().zip(&batch) {
                let PduHeader::UmtsAm { sn, .. } = pdu.header else { panic!("an AMD PDU") };
                prop_assert_eq!(u64::from(sn), n % 4096);
                let cuts: Vec<Cut> = sent.parts_of(pdu).iter()
                    .map(|part| (part.sdu.0, part.offset, part.len, part.last)).collect();
                prop_assert_eq!(&cuts, &oracle.pdus[n as usize]);
            }
            for pdu in &left.pdus {
                let PduHeader::UmtsAm { sn, .. } = pdu.header else { panic!("an AMD PDU") };
                let n = batch.iter().find(|&&n| n % 4096 == u64::from(sn));
                oracle.arrive(*n.expect("it was sent"));
            }
            world.receive(&left);
            prop_assert_eq!(world.delivered.len() as u64, oracle.delivered());
            if let Some(status) = world.report(u32::MAX) {
                let missing: Vec<u64> = sns(&status).map(u64::from).collect();
                let expected: Vec<u64> = oracle.missing().iter().map(|n| n % 4096).collect();
                prop_assert_eq!(missing, expected);
                prop_assert_eq!(u64::from(status.ack_sn), oracle.highest % 4096);
            }
            while let Some(status) = world.pop_report() {
                let base = Oracle::first_not(&oracle.acked);
                let of = |sn: u32| base + (u64::from(sn) + 4096 - base % 4096) % 4096;
                let lsn = of(status.ack_sn);
                if lsn <= oracle.sent {
                    oracle.on_status(lsn, &sns(&status).map(of).collect());
                }
                prop_assert_eq!(world.acked.len() as u64, oracle.acknowledged());
                let waiting = world.tx.pending().retransmission / world.pdu;
                prop_assert_eq!(waiting as usize, oracle.again.len());
            }
            world.now += Duration::from_millis(10);
        }
        prop_assert!(oracle.sent <= total);
        prop_assert!(world.given_up.is_empty() && world.abandoned.is_empty());
    }

    /// With fewer losses than MaxDAT permits every SDU arrives and is acknowledged, once and in
    /// order; no state remains. The rate may be 0 for 30 s.
    #[test]
    fn everything_arrives_once_and_in_order(
        config in configs(), sizes in sizes(), count in 1..14u32, air in airs(),
            seed in any::<u64>(),
        pause_at in prop_oneof![Just(usize::MAX), 0..60usize],
    ) {
        let all: Vec<u64> = (0..sizes.len() as u64).collect();
        // A poll repeated before its answer can arrive would count towards MaxDAT.
        let timer_poll = config.timer_poll + Duration::from_millis(150);
        let mut world = World::new(&AmConfig { timer_poll, ..config }, &sizes, air, seed);
        for tti in 0.. {
            prop_assert!(tti < PATIENCE, "{} of {} acknowledged", world.acked.len(), all.len());
            // Within MaxDAT: late in the run the air loses nothing.
            if tti == 300 {
                world.air = Air { pdus: 0, batches: 0, reports: 0, ..air };
            }
            let is_pause = (pause_at..pause_at.saturating_add(3000)).contains(&tti);
            world.step(if is_pause { 0 } else { count });
            if world.acked.len() == all.len() {
                break;
            }
        }
        prop_assert_eq!(&world.delivered, &all);
        prop_assert_eq!(&world.acked, &all);
        prop_assert!(world.given_up.is_empty() && world.abandoned.is_empty());
        prop_assert_eq!(world.tx.pending(), Pending::default());
    }

    /// With more losses, each SDU is delivered in order or given up, and every SDU that the sender
    /// counts as delivered has been delivered.
    #[test]
    fn undelivered_sdus_are_given_up(
        config in configs(), sizes in sizes(), count in 1..14u32, air in airs(),
            seed in any::<u64>(),
        max_dat in 2..5u8,
    ) {
        let config = AmConfig {
            max_dat,
            window: config.window.max(8),
            timer_status_periodic: Duration::ZERO,
            timer_mrw: Duration::from_millis(50),
            ..config
        };
        let mut world = World::new(&config, &sizes, air, seed);
        for tti in 0.. {
            prop_assert!(tti < PATIENCE, "{:?} still waits", world.tx.pending());
            if tti == 2000 {
                world.air = Air { pdus: 0, batches: 0, reports: 0, ..air };
            }
            world.step(count);
            if tti > 10 && world.is_over() {
                break;
            }
        }
        prop_assert!(world.delivered.windows(2).all(|pair| pair[0] < pair[1]), "once, in order");
        prop_assert!(world.acked.windows(2).all(|pair| pair[0] < pair[1]), "once, in order");
        let set = |list: &[u64]| list.iter().copied().collect::<BTreeSet<u64>>();
        let (delivered, acked) = (set(&world.delivered), set(&world.acked));
        let (gone, abandoned) = (set(&world.given_up), set(&world.abandoned));
        prop_assert_eq!(gone.len(), world.given_up.len(), "given up once");
        prop_assert!(acked.is_subset(&delivered), "{:?}", acked.difference(&delivered));
        prop_assert!(abandoned.is_subset(&gone), "{:?}", abandoned.difference(&gone));
        prop_assert!(acked.is_disjoint(&gone));
        let all: BTreeSet<u64> = (0..sizes.len() as u64).collect();
        prop_assert_eq!(&acked | &gone, all);
    }

    /// An arbitrary report leaves the sender valid and acknowledges no unsent data.
    #[test]
    fn any_report_leaves_the_sender_sound(
        config in configs(), max_dat in 2..6u8,
        reports in prop::collection::vec(
            (0..14u32, 0..300u32, prop::collection::vec((0..300u32, 0..9u8), 0..5)), 1..60),
    ) {
        let config = AmConfig { max_dat, ..config };
        let mode = RlcModeConfig::Am(config.clone());
        let mut tx = RlcTx::new(&mode).expect("valid");
        let mut queue = Queue::of(&[90; 500]);
        let mut acked = Vec::new();
        for (k, (count, ack_sn, nacks)) in reports.into_iter().enumerate() {
            let now = ms(20 * k as u64);
            pull(&mut tx, now, count * config.pdu.0 as u32, &mut queue);
            let mut nacks: Vec<Nack> =
                nacks.into_iter().map(|(sn, range)| Nack { range, ..Nack::whole(sn) }).collect();
            nacks.sort_by_key(|nack| nack.sn);
            tx.on_status(now, &StatusPdu { ack_sn, nacks }, |sdu| acked.push(sdu.0));
            tx.assert_sound();
            tx.on_timeout(now, queue.head().is_some());
            tx.assert_sound();
        }
        let left = queue.0.front().map_or(500, |head| head.handle.0);
        prop_assert!(acked.iter().all(|&sdu| sdu < left));
        prop_assert!(acked.windows(2).all(|pair| pair[0] < pair[1]), "acknowledged once");
    }
}
