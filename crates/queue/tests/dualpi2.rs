//! `DualPI2` with the two lanes against a plain transcription of RFC 9332's pseudo-code and of
//! Linux's `sch_dualpi2`, packet by packet: a clock that ticks at each update, two lists, and one
//! loop that schedules, decides and drops.

use justfull_base::rng::{mix, stream_key};
use justfull_base::{
    DropReason, Duration, Ecn, Event, Instant, Layer, Packet, Probe, Ratio, Rng, Silent,
};
use justfull_queue::aqm::dualpi2::{DualPi2Config, Preset};
use justfull_queue::discipline::dual_queue::DualQueueConfig;
use justfull_queue::{AqmConfig, DisciplineConfig, Limit, ManagedQueue, QueueConfig};
use std::collections::VecDeque;

/// Most packets in both queues.
const LIMIT: usize = 60;

/// Key of the queue.
const KEY: u64 = 11;

/// The fate of a packet: its number, and its codepoint at departure or the reason of its drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Left(u64, Ecn),
    Dropped(u64, DropReason),
}

/// A packet in the plain queue: number, size, codepoint, and when it came in ns.
#[derive(Clone, Copy, Debug)]
struct Inside {
    id: u64,
    size: i64,
    ecn: Ecn,
    at: u64,
}

/// The transcription. Names are the sources'.
struct Plain {
    linux: bool,
    drop_overload: bool,
    weights: [i64; 2],
    k: f64,
    lo: u64,
    hi: u64,
    cq: VecDeque<Inside>,
    lq: VecDeque<Inside>,
    p: f64,
    prevq: f64,
    next_update: u64,
    count_c: f64,
    count_l: f64,
    credit: i64,
    rng: Rng,
    fates: Vec<Fate>,
    overloads: u64,
}

impl Plain {
    fn new(config: &DualPi2Config, lanes: &DualQueueConfig) -> Self {
        let [lo, hi] = config.thresholds().map(Duration::as_nanos);
        let weights = [i64::from(lanes.classic), i64::from(lanes.l4s)];
        Self {
            linux: config.preset == Preset::Linux,
            drop_overload: config.drop_overload,
            weights,
            k: config.k.0,
            lo,
            hi,
            cq: VecDeque::new(),
            lq: VecDeque::new(),
            p: 0.0,
            prevq: 0.0,
            next_update: 0,
            count_c: 0.0,
            count_l: 0.0,
            credit: 1500 * (weights[0] - weights[1]),
            rng: Rng::from_key(mix(KEY ^ stream_key(0, "aqm"))),
            fates: Vec::new(),
            overloads: 0,
        }
        .with_first_update()
    }

    fn with_first_update(mut self) -> Self {
        self.next_update = self.tupdate();
        self
    }

    fn tupdate(&self) -> u64 {
        if self.linux { 16_000_000 } else { 15_000_000 }
    }

    /// `dualpi2_update`, `calculate_probability`.
    fn tick(&mut self) {
        let wait = |q: &VecDeque<Inside>| {
            q.front().map_or(0.0, |head| (self.next_update - head.at) as f64 / 1e9)
        };
        let (qc, ql) = (wait(&self.cq), wait(&self.lq));
        let mut curq = qc;
        if self.linux || self.k * self.p >= 1.0 {
            curq = f64::max(qc, ql);
        }
        let (alpha, beta) = if self.linux { (41.0 / 256.0, 819.0 / 256.0) } else { (0.15, 3.0) };
        self.p += alpha * (curq - 0.015) + beta * (curq - self.prevq);
        self.p = self.p.clamp(0.0, 1.0);
        if !self.drop_overload && self.p > 1.0 / self.k {
            self.p = 1.0 / self.k;
        }
        self.prevq = curq;
        self.overloads += u64::from(self.k * self.p > 1.0);
    }

    fn clock(&mut self, now: u64) {
        while self.next_update <= now {
            self.tick();
            self.next_update += self.tupdate();
        }
    }

    fn enqueue(&mut self, now: u64, id: u64, size: i64, ecn: Ecn) {
        self.clock(now);
        if self.cq.len() + self.lq.len() >= LIMIT {
            self.fates.push(Fate::Dropped(id, DropReason::Overflow));
            return;
        }
        if self.cq.is_empty() && self.lq.is_empty() {
            self.credit = 1500 * (self.weights[0] - self.weights[1]);
        }
        let packet = Inside { id, size, ecn, at: now };
        match ecn {
            Ecn::Ect1 | Ecn::Ce => self.lq.push_back(packet),
            Ecn::NotEct | Ecn::Ect0 => self.cq.push_back(packet),
        }
    }

    fn drop(&mut self, packet: &Inside) {
        self.fates.push(Fate::Dropped(packet.id, DropReason::AqmDequeue));
    }

    fn roll(&mut self, p: f64) -> bool {
        self.rng.unit() < p
    }

    fn dequeue(&mut self, now: u64) {
        self.clock(now);
        while !self.cq.is_empty() || !self.lq.is_empty() {
            let from_l = !self.lq.is_empty() && (self.cq.is_empty() || self.credit <= 0);
            let both = !self.cq.is_empty() && !self.lq.is_empty();
            let queue = if from_l { &mut self.lq } else { &mut self.cq };
            let Some(mut packet) = queue.pop_front() else { unreachable!("it is not empty") };
            let other_waits = if from_l { !self.cq.is_empty() } else { !self.lq.is_empty() };
            assert_eq!(both, other_waits);
            let dropped = match (self.linux, from_l) {
                (false, true) => self.rfc_l(now, &mut packet),
                (false, false) => self.rfc_c(&mut packet),
                (true, _) => self.linux(now, &mut packet, from_l),
            };
            if dropped {
                self.drop(&packet);
                continue;
            }
            if both {
                self.credit +=
                    if from_l { self.weights[0] } else { -self.weights[1] } * packet.size;
            }
            self.fates.push(Fate::Left(packet.id, packet.ecn));
            return;
        }
    }

    /// `laqm`.
    fn laqm(&self, qdelay: u64) -> f64 {
        if self.lq.is_empty() {
            return 0.0;
        }
        if qdelay >= self.hi {
            1.0
        } else if qdelay > self.lo {
            (qdelay - self.lo) as f64 / (self.hi - self.lo) as f64
        } else {
            0.0
        }
    }

    fn recur(count: &mut f64, likelihood: f64) -> bool {
        *count += likelihood;
        if *count > 1.0 {
            *count -= 1.0;
            return true;
        }
        false
    }

    fn rfc_l(&mut self, now: u64, packet: &mut Inside) -> bool {
        let (p_cl, p_c) = (self.k * self.p, self.p * self.p);
        if p_cl < 1.0 {
            let p_l = f64::max(self.laqm(now - packet.at), p_cl);
            if Self::recur(&mut self.count_l, p_l) {
                packet.ecn = Ecn::Ce;
            }
            return false;
        }
        if Self::recur(&mut self.count_c, p_c) {
            return true;
        }
        if Self::recur(&mut self.count_l, f64::min(p_cl, 1.0)) {
            packet.ecn = Ecn::Ce;
        }
        false
    }

    fn rfc_c(&mut self, packet: &mut Inside) -> bool {
        if !Self::recur(&mut self.count_c, self.p * self.p) {
            return false;
        }
        if packet.ecn == Ecn::NotEct || self.k * self.p >= 1.0 {
            return true;
        }
        packet.ecn = Ecn::Ce;
        false
    }

    fn linux(&mut self, now: u64, packet: &mut Inside, from_l: bool) -> bool {
        let backlog: i64 = self.cq.iter().chain(&self.lq).map(|inside| inside.size).sum();
        let local_l_prob = self.k * self.p;
        let overload = local_l_prob > 1.0;
        if backlog >= 2 * 1500 && self.p > 0.0 {
            if !from_l {
                if self.roll(self.p) && self.roll(self.p) {
                    if overload || packet.ecn == Ecn::NotEct {
                        return true;
                    }
                    packet.ecn = Ecn::Ce;
                }
            } else if overload {
                if self.drop_overload && self.roll(self.p) && self.roll(self.p) {
                    return true;
                }
                packet.ecn = Ecn::Ce;
            } else if self.roll(local_l_prob) {
                packet.ecn = Ecn::Ce;
            }
        }
        if from_l && now - packet.at > self.lo {
            packet.ecn = Ecn::Ce;
        }
        false
    }
}

/// Collects the fates in order.
#[derive(Default)]
struct Log(Vec<Fate>);

impl Probe for Log {
    fn on_event(&mut self, _: Instant, event: &Event) {
        match event {
            Event::Departed { packet, .. } => self.0.push(Fate::Left(packet.id, packet.ecn)),
            Event::Dropped { packet, reason, .. } => {
                self.0.push(Fate::Dropped(packet.id, *reason));
            }
            _ => {}
        }
    }
}

fn queue(config: DualPi2Config, lanes: DualQueueConfig) -> ManagedQueue {
    let config = QueueConfig {
        limit: Limit::Packets(LIMIT as u32),
        aqm: AqmConfig::DualPi2(config),
        discipline: DisciplineConfig::DualQueue(lanes),
        ..QueueConfig::default()
    };
    ManagedQueue::new(Layer::Rlc, &config, KEY).expect("within bounds")
}

/// Gives both queues the same packets and compares every fate. The load changes every few hundred
/// packets: below the service, around it, far above it, none. Returns the transcription.
fn compare(config: DualPi2Config, lanes: DualQueueConfig, packets: u64) -> Plain {
    let (mut plain, mut managed) = (Plain::new(&config, &lanes), queue(config, lanes));
    let (mut log, mut rng) = (Log::default(), Rng::stream(5, "load"));
    let (mut now, mut id, mut load, mut l4s) = (0u64, 0u64, 5u64, 0.5);
    let mut compared = 0;
    while id < packets {
        if rng.chance(0.004) {
            load = [2, 8, 9, 10, 11, 30][rng.below(6) as usize];
            l4s = [0.0, 0.3, 0.7, 1.0][rng.below(4) as usize];
            now += if rng.chance(0.2) { rng.below(3_000_000_000) } else { 0 };
        }
        now += rng.below(2_000_000);
        let at = Instant::from_nanos(now);
        if rng.below(10 + load) < load {
            let size = if rng.chance(0.2) { 40 } else { 1500 };
            let ecn = match (rng.chance(l4s), rng.chance(0.5)) {
                (true, true) | (true, false) if rng.chance(0.05) => Ecn::Ce,
                (true, _) => Ecn::Ect1,
                (false, true) => Ecn::Ect0,
                (false, false) => Ecn::NotEct,
            };
            let packet = Packet { id, size, ecn, ..Packet::default() };
            managed.enqueue(at, packet, &mut log);
            plain.enqueue(now, id, i64::from(size), ecn);
            id += 1;
        } else {
            managed.dequeue(at, &mut log);
            plain.dequeue(now);
        }
        let (found, expected) = (&log.0[compared..], &plain.fates[compared..]);
        assert_eq!(found, expected, "at {now} ns, after {compared} equal fates");
        compared = plain.fates.len();
    }
    managed.assert_conserved();
    plain
}

/// How many of the fates are marks of packets that came without, drops of the AQM, overflows.
fn counts(plain: &Plain) -> [usize; 3] {
    let count = |of: fn(&Fate) -> bool| plain.fates.iter().filter(|fate| of(fate)).count();
    [
        count(|fate| matches!(fate, Fate::Left(_, Ecn::Ce))),
        count(|fate| matches!(fate, Fate::Dropped(_, DropReason::AqmDequeue))),
        count(|fate| matches!(fate, Fate::Dropped(_, DropReason::Overflow))),
    ]
}

fn linux() -> (DualPi2Config, DualQueueConfig) {
    let config = DualPi2Config { preset: Preset::Linux, ..DualPi2Config::default() };
    (config, DualQueueConfig { classic: 10, l4s: 90, ..DualQueueConfig::default() })
}

#[test]
fn each_of_a_million_packets_of_either_preset_fares_as_in_the_plain_transcription() {
    let packets = 1_000_000;
    let us = Duration::from_micros;
    let wire = |config: DualPi2Config| {
        let ramp = if config.preset == Preset::Linux { [1000, 1000] } else { [800, 1200] };
        DualPi2Config { ramp: Some(ramp.map(us)), ..config }
    };
    let (of_linux, weights) = linux();
    let cases = [
        (DualPi2Config::default(), DualQueueConfig::default()),
        (wire(DualPi2Config::default()), DualQueueConfig::default()),
        (DualPi2Config { k: Ratio(1.5), ..DualPi2Config::default() }, DualQueueConfig::default()),
        (of_linux, weights),
        (wire(of_linux), weights),
        (DualPi2Config { drop_overload: false, ..of_linux }, weights),
    ];
    for (config, lanes) in cases {
        let plain = compare(config, lanes, packets);
        let [marks, drops, overflows] = counts(&plain);
        assert!(marks > 1000 && drops > 1000 && overflows > 10, "{marks} {drops} {overflows}");
        assert!(plain.overloads > 10 || !config.drop_overload, "{}", plain.overloads);
    }
}

#[test]
fn a_packet_that_was_given_back_is_not_judged_again_and_a_mark_is_made_once() {
    let (config, lanes) = linux();
    let mut queue = queue(config, lanes);
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    for id in 0..3 {
        let packet = Packet { id, size: 1500, ecn: Ecn::Ect1, ..Packet::default() };
        queue.enqueue(at(0), packet, &mut Silent);
    }
    for _ in 0..5 {
        let packet = queue.reserve(at(10), &mut Silent).expect("packets wait");
        assert_eq!((packet.id, packet.ecn), (0, Ecn::Ce), "it waited longer than the step");
        queue.abort(packet);
    }
    assert_eq!(queue.counters().marked().packets, 1);
}

#[test]
fn dualpi2_takes_one_lane_or_its_two_and_no_others() {
    let with = |discipline: &str| {
        let discipline = DisciplineConfig::by_name(discipline).expect("it is on the list");
        let aqm = AqmConfig::DualPi2(DualPi2Config::default());
        QueueConfig { aqm, discipline, ..QueueConfig::default() }.validate().map_err(|e| e.field)
    };
    let found = ["fifo", "dual_queue", "sfq", "protocol", "fq_codel"].map(with);
    let refused = || Err("discipline".into());
    assert_eq!(found, [Ok(()), Ok(()), refused(), refused(), refused()]);
}
