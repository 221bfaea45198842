//! The hosts, the links and the clock of a [`Cell`].

use super::cu_up::{Above, CuUp, Qfi, Sdu};
use super::du::Du;
use super::frames;
use super::inside::Inside;
use justfull_base::{Bytes, Duration, Instant, Rng};
use justfull_f1u::{F1uConfig, Machine, Verdict};
use justfull_nru::Frame;
use justfull_ran::limiter::LimiterConfig;
use justfull_tcp::{Ack, Receiver, ReceiverConfig, Segment, Sender, SenderConfig, Window};
use std::collections::BTreeMap;

/// TEIDs of the downlink and of the uplink.
pub(crate) const TEIDS: [u32; 2] = [0x11, 0x22];
/// The measurement begins then.
const WARM: Duration = Duration::from_secs(4);
const SLOT: Duration = Duration::from_micros(500);
/// From the end of a slot to the UE.
const AIR: Duration = Duration::from_millis(4);
const CORE: Duration = Duration::from_millis(10);
const UPLINK: Duration = Duration::from_millis(15);
/// One packet of the call each, of this size.
const CALL: Duration = Duration::from_millis(20);
const CALL_BYTES: usize = 200;
/// SDAP's poll in a gNB in one piece.
const POLL: Duration = Duration::from_micros(125);

/// The gNB.
#[derive(Clone, Debug)]
pub(crate) enum Gnb {
    /// Split, with a box if there is a configuration of one.
    Split { above: Above, middle: Option<F1uConfig> },
    /// In one piece, with this limiter.
    Inside(LimiterConfig),
}

/// The faults of delivery statuses, each with this chance, and of the hosts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) loss: f64,
    pub(crate) twice: f64,
    /// Comes later than the next one.
    pub(crate) overtaken: f64,
    pub(crate) restart_cu_up: Option<Duration>,
    pub(crate) restart_du: Option<Duration>,
}

#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) gnb: Gnb,
    /// Mean rate of the radio, bit/s; it moves between a half and three halves of it.
    pub(crate) rate: f64,
    /// Between two delivery statuses.
    pub(crate) period: Duration,
    /// Between CU-UP and DU, one way.
    pub(crate) f1: Duration,
    pub(crate) time: Duration,
    pub(crate) faults: Faults,
    pub(crate) chance: Chance,
}

/// The channel, the faults' draws, and the call's phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    pub(crate) seed: u64,
    /// Time for which the radio keeps a mean rate, in whole slots.
    pub(crate) keeps: Duration,
    /// The call's first packet.
    pub(crate) call: Duration,
}

impl Default for Chance {
    fn default() -> Self {
        let keeps = Duration::from_millis(100);
        Self { seed: 7, keeps, call: Duration::from_millis(3) }
    }
}

/// The measurements after the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// One-way delays of the call's packets, sorted.
    pub(crate) delays: Vec<Duration>,
    /// Packets of the call that were sent three seconds before the end or earlier, and the lost
    /// ones among them.
    arrived: u64,
    pub(crate) call_lost: u64,
    /// The download's, bit/s.
    pub(crate) goodput: f64,
    /// Bytes in the RLC queue after each slot, sorted.
    pub(crate) rlc: Vec<u64>,
    pub(crate) dropped_above: [u64; 2],
    pub(crate) dropped_rlc: u64,
    /// The desired sizes that reached the CU-UP, with their times.
    pub(crate) sizes: Vec<(Instant, u32)>,
    pub(crate) counts: justfull_f1u::Counts,
    /// Packets that went into the box and came out, with its own statuses.
    pub(crate) passed: [u64; 2],
    /// Bytes of memory of the user data in the box, at most, and its packets at the end.
    pub(crate) held_most: u64,
    pub(crate) held: u64,
}

impl Found {
    /// The delay that a share of the packets does not exceed.
    pub(crate) fn delay(&self, share: f64) -> Duration {
        let rank = (share * self.delays.len() as f64).ceil() as usize;
        self.delays[rank.clamp(1, self.delays.len()) - 1]
    }

    /// The bytes that the RLC queue does not exceed in a share of the slots.
    pub(crate) fn rlc(&self, share: f64) -> u64 {
        let rank = (share * self.rlc.len() as f64).ceil() as usize;
        self.rlc[rank.clamp(1, self.rlc.len()) - 1]
    }
}

enum Event {
    Call,
    AtGnb(Qfi, u64),
    AtUe(u64),
    Acked(Ack),
    SenderTimer,
    ReceiverTimer,
    Slot,
    Poll,
    Status,
    /// A packet at the box, and then at the end.
    Between(Vec<u8>),
    AtDu(Vec<u8>),
    AtCuUp(Vec<u8>),
    /// The earliest time at which the box has work.
    Middle,
    RestartCuUp,
    RestartDu,
}

enum Content {
    Call(Instant),
    Bulk(Segment),
}

enum Radio {
    Split { cu_up: CuUp, du: Du, middle: Option<Box<Machine>> },
    Inside(Inside),
}

struct World<'a> {
    cell: &'a Cell,
    now: Instant,
    agenda: BTreeMap<(Instant, u64), Event>,
    made: u64,
    rng: Rng,
    faults: Rng,
    /// The radio's rate now, in bytes a slot.
    capacity: f64,
    content: Vec<Content>,
    sender: Sender,
    receiver: Receiver,
    armed: [Option<Instant>; 2],
    radio: Radio,
    /// When the box is due.
    middle_at: Option<Instant>,
    at_warm: u64,
    found: Found,
}

/// Runs a cell.
pub(crate) fn run(cell: &Cell) -> Found {
    let mut world = World::new(cell);
    world.start();
    let end = Instant::ZERO + cell.time;
    while let Some(((at, _), event)) = world.agenda.pop_first().filter(|((at, _), _)| *at <= end) {
        if world.now.since(Instant::ZERO) < WARM && at.since(Instant::ZERO) >= WARM {
            world.at_warm = world.receiver.delivered_bytes();
        }
        world.now = at;
        world.on_event(event);
    }
    world.result()
}

impl<'a> World<'a> {
    fn new(cell: &'a Cell) -> Self {
        let radio = match &cell.gnb {
            Gnb::Split { above, middle } => Radio::Split {
                cu_up: CuUp::new(*above, TEIDS[0]),
                du: Du::new(TEIDS[1]),
                middle: middle
                    .as_ref()
                    .map(|config| Box::new(Machine::new(config).expect("valid"))),
            },
            Gnb::Inside(limiter) => Radio::Inside(Inside::new(limiter, SLOT)),
        };
        let window = Window::Fixed(Bytes(8 << 20));
        let receiver = ReceiverConfig { window, ..ReceiverConfig::default() };
        Self {
            cell,
            now: Instant::ZERO,
            agenda: BTreeMap::new(),
            made: 0,
            rng: Rng::stream(cell.chance.seed, "radio"),
            faults: Rng::stream(cell.chance.seed, "faults"),
            capacity: 0.0,
            content: Vec::new(),
            sender: Sender::new(&SenderConfig::default()).expect("valid"),
            receiver: Receiver::new(&receiver).expect("valid"),
            armed: [None; 2],
            radio,
            middle_at: None,
            at_warm: 0,
            found: Found::default(),
        }
    }

    fn start(&mut self) {
        self.sender.write(u64::MAX / 4);
        self.plan(Duration::from_micros(130), Event::Status);
        self.plan(Duration::from_micros(250), Event::Slot);
        self.plan(self.cell.chance.call, Event::Call);
        if matches!(self.radio, Radio::Inside(_)) {
            self.plan(Duration::ZERO, Event::Poll);
        }
        let faults = self.cell.faults;
        for (at, event) in
            [(faults.restart_cu_up, Event::RestartCuUp), (faults.restart_du, Event::RestartDu)]
        {
            at.into_iter().for_each(|at| self.plan(at, event_of(&event)));
        }
        self.pump();
    }

    fn plan(&mut self, after: Duration, event: Event) {
        self.made += 1;
        self.agenda.insert((self.now + after, self.made), event);
    }

    fn pump(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let number = self.number(Content::Bulk(segment));
            self.plan(CORE, Event::AtGnb(Qfi::Bulk, number));
        }
        self.arm();
    }

    fn number(&mut self, content: Content) -> u64 {
        self.content.push(content);
        self.content.len() as u64 - 1
    }

    fn arm(&mut self) {
        let timers = [self.sender.next_timer(), self.receiver.next_timer()];
        for (index, due) in timers.into_iter().enumerate() {
            if due == self.armed[index] {
                continue;
            }
            self.armed[index] = due;
            let Some(due) = due else { continue };
            let event = if index == 0 { Event::SenderTimer } else { Event::ReceiverTimer };
            self.plan(due.since(self.now), event);
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Call => {
                let number = self.number(Content::Call(self.now));
                self.plan(CORE, Event::AtGnb(Qfi::Call, number));
                self.plan(CALL, Event::Call);
            }
            Event::AtGnb(qfi, number) => self.at_gnb(qfi, number),
            Event::AtUe(number) => self.at_ue(number),
            Event::Acked(ack) => {
                self.sender.on_ack(self.now, &ack);
                self.pump();
            }
            Event::SenderTimer => {
                self.armed[0] = None;
                self.sender.on_timer(self.now);
                self.pump();
            }
            Event::ReceiverTimer => {
                self.armed[1] = None;
                let ack = self.receiver.on_timer(self.now);
                self.reply(ack);
            }
            Event::Slot => self.slot(),
            Event::Poll => {
                if let Radio::Inside(gnb) = &mut self.radio {
                    gnb.poll(self.now);
                }
                self.plan(POLL, Event::Poll);
            }
            Event::Status => self.status(),
            Event::Between(packet) => self.between(packet),
            Event::Middle => {
                self.middle_at = None;
                self.middle();
            }
            Event::AtDu(packet) => {
                if let Radio::Split { du, .. } = &mut self.radio {
                    du.on_message(&frames::opened(&packet));
                }
            }
            Event::AtCuUp(packet) => {
                let Ok(Some(Frame::Status(status))) = frames::opened(&packet).frame() else {
                    panic!("no status")
                };
                self.found.sizes.push((self.now, status.desired_buffer_size));
                let Radio::Split { cu_up, .. } = &mut self.radio else { return };
                let messages = cu_up.on_status(&status);
                self.down(messages);
            }
            Event::RestartCuUp => {
                if let Radio::Split { cu_up, .. } = &mut self.radio {
                    cu_up.restart();
                }
            }
            Event::RestartDu => {
                if let Radio::Split { du, .. } = &mut self.radio {
                    du.restart();
                }
            }
        }
    }

    fn at_gnb(&mut self, qfi: Qfi, number: u64) {
        let bytes = match &self.content[number as usize] {
            Content::Call(_) => CALL_BYTES,
            Content::Bulk(segment) => segment.len as usize + 52,
        };
        let sdu = Sdu { number, bytes };
        match &mut self.radio {
            Radio::Inside(gnb) => gnb.on_sdu(self.now, qfi, sdu),
            Radio::Split { cu_up, .. } => {
                let messages = cu_up.on_sdu(qfi, sdu);
                self.down(messages);
            }
        }
    }

    fn down(&mut self, messages: Vec<Vec<u8>>) {
        for message in messages {
            let packet = frames::packet(frames::CU_UP, frames::DU, &message);
            self.plan(self.cell.f1.scaled(0.5), Event::Between(packet));
        }
    }

    /// Half of the way is before the box, half after it.
    fn between(&mut self, mut packet: Vec<u8>) {
        self.found.passed[0] += 1;
        let length = packet.len();
        if let Radio::Split { middle: Some(middle), .. } = &mut self.radio {
            let verdict = middle.on_datagram(self.now, &mut packet);
            assert!(!matches!(verdict, Verdict::Other | Verdict::Malformed), "{verdict:?}");
            if verdict == Verdict::Held {
                return self.middle();
            }
        }
        assert_eq!(packet.len(), length);
        self.onward(packet);
        self.middle();
    }

    /// A packet leaves the box's host.
    fn onward(&mut self, packet: Vec<u8>) {
        self.found.passed[1] += 1;
        let to_du = packet[16..20] == frames::DU.octets();
        let event = if to_du { Event::AtDu(packet) } else { Event::AtCuUp(packet) };
        self.plan(self.cell.f1.scaled(0.5), event);
    }

    /// What is due in the box.
    fn middle(&mut self) {
        let Radio::Split { middle: Some(middle), .. } = &mut self.radio else { return };
        let mut due: Vec<Vec<u8>> = Vec::new();
        middle.poll(self.now, |packet| due.push(packet.to_vec()));
        let (next, held) = (middle.next(), middle.held() as u64);
        self.found.held_most = self.found.held_most.max(held);
        due.into_iter().for_each(|packet| self.onward(packet));
        let Some(next) = next.filter(|next| self.middle_at.is_none_or(|at| *next < at)) else {
            return;
        };
        self.middle_at = Some(next);
        self.plan(next.since(self.now), Event::Middle);
    }

    fn status(&mut self) {
        self.plan(self.cell.period, Event::Status);
        let Radio::Split { du, .. } = &self.radio else { return };
        let packet = frames::packet(frames::DU, frames::CU_UP, &du.status());
        let way = self.cell.f1.scaled(0.5);
        let faults = self.cell.faults;
        if self.faults.chance(faults.loss) {
            return;
        }
        if self.faults.chance(faults.twice) {
            self.plan(way + Duration::from_micros(700), Event::Between(packet.clone()));
        }
        let late = self.faults.chance(faults.overtaken);
        let more = if late { self.cell.period.scaled(1.5) } else { Duration::ZERO };
        self.plan(way + more, Event::Between(packet));
    }

    fn slot(&mut self) {
        self.plan(SLOT, Event::Slot);
        let slots = self.now.as_nanos() / SLOT.as_nanos();
        let mean = self.cell.rate / 8.0 * SLOT.as_secs_f64();
        // After `keeps` another rate, and some noise in each slot.
        if slots.is_multiple_of(self.cell.chance.keeps.as_nanos() / SLOT.as_nanos()) {
            self.capacity = mean * (0.5 + self.rng.unit());
        }
        let capacity = (self.capacity * (0.8 + 0.4 * self.rng.unit())) as u64;
        let (whole, queued) = match &mut self.radio {
            Radio::Split { du, .. } => (du.slot(self.now, capacity), du.queued),
            Radio::Inside(gnb) => (gnb.slot(self.now, capacity), 0),
        };
        if self.is_warm() {
            self.found.rlc.push(queued);
        }
        for sdu in whole {
            self.plan(AIR, Event::AtUe(sdu.number));
        }
    }

    fn is_warm(&self) -> bool {
        self.now.since(Instant::ZERO) >= WARM
    }

    fn at_ue(&mut self, number: u64) {
        match self.content[number as usize] {
            Content::Call(sent) if sent.since(Instant::ZERO) >= WARM => {
                self.found.delays.push(self.now.since(sent));
                let early = sent.since(Instant::ZERO) <= self.cell.time - Duration::from_secs(3);
                self.found.arrived += u64::from(early);
            }
            Content::Call(_) => {}
            Content::Bulk(segment) => {
                let ack = self.receiver.on_segment(self.now, &segment, false);
                self.reply(ack);
            }
        }
    }

    fn reply(&mut self, ack: Option<Ack>) {
        if let Some(ack) = ack {
            self.plan(UPLINK, Event::Acked(ack));
        }
        self.arm();
    }

    fn result(mut self) -> Found {
        let measured = self.cell.time - WARM;
        let bytes = self.receiver.delivered_bytes() - self.at_warm;
        self.found.goodput = bytes as f64 * 8.0 / measured.as_secs_f64();
        // Packets of the last seconds may still be on their way.
        let counted = WARM..=self.cell.time - Duration::from_secs(3);
        let early = |at: &Instant| counted.contains(&at.since(Instant::ZERO));
        let sent = self.content.iter().filter(|content| match content {
            Content::Call(at) => early(at),
            Content::Bulk(_) => false,
        });
        self.found.call_lost = sent.count() as u64 - self.found.arrived;
        self.found.delays.sort_unstable();
        self.found.rlc.sort_unstable();
        if let Radio::Split { cu_up, du, middle } = &mut self.radio {
            self.found.dropped_above = cu_up.dropped;
            self.found.dropped_rlc = du.dropped;
            if let Some(middle) = middle {
                self.found.counts = *middle.counts();
                middle.release(|_| self.found.held += 1);
            }
        }
        self.found
    }
}

fn event_of(event: &Event) -> Event {
    match event {
        Event::RestartCuUp => Event::RestartCuUp,
        _ => Event::RestartDu,
    }
}
