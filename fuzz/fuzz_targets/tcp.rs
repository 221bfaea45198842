//! TCP's two ends with a hostile wire between them. The bytes decide which segments and
//! acknowledgements are lost, copied, delayed and overtaken, under every control and setting. In
//! every case only arrived data is acknowledged and only written data arrives; and once the wire is
//! sound again, all data arrives.
//!
//! One bit of the input also falsifies fields, up to the ends of their ranges: then nothing may
//! panic, and an end may use the false values.

#![no_main]

use justfull_base::{Bytes, Duration, Ecn, Instant};
use justfull_tcp::accecn::{AccEcnOption, ByteCounters, Feedback};
use justfull_tcp::{
    Ack, AutoWindow, CcConfig, Kernel, Mark, Pacing, Prr, Receiver, ReceiverConfig, Recovery,
    SackBlock, Segment, Sender, SenderConfig, SpuriousDetection, Window,
};
use libfuzzer_sys::fuzz_target;

/// Most messages on the wire at once, each way; further ones are lost.
const WIRE: usize = 512;
/// Most steps in which a sound wire must deliver everything: far more than there are segments,
/// acknowledgements and timers.
const ENOUGH: u32 = 200_000;
/// Falsified offsets stay below this, since offsets of a stream never wrap.
const FARTHEST: u64 = 1 << 62;

/// Four values of `d` choose the default besides its own.
fn control(d: u8) -> CcConfig {
    CcConfig::all().get(usize::from(d % 16)).cloned().unwrap_or_default()
}

fn sender_config(a: u8, b: u8, d: u8) -> SenderConfig {
    let timestamps = a & 0x20 == 0;
    let (mut recovery, mut spurious_detection) = (
        [Recovery::Rack, Recovery::Dupack][usize::from(b) % 2],
        [SpuriousDetection::Eifel, SpuriousDetection::FRto, SpuriousDetection::Off]
            [usize::from(b >> 1) % 3],
    );
    if a & 0x10 != 0 {
        (recovery, spurious_detection) = (Recovery::NewReno, SpuriousDetection::Off);
    } else if !timestamps && spurious_detection == SpuriousDetection::Eifel {
        spurious_detection = SpuriousDetection::FRto;
    }
    SenderConfig {
        mss: [1448, 1, 100, 65_495][usize::from(a) % 4],
        initial_window: [10, 1, 3, 64][usize::from(a >> 2) % 4],
        cc: control(d),
        handshake: d & 0x20 != 0,
        ecn: a & 0x40 != 0,
        accecn: d & 0x10 != 0,
        timestamps,
        tail_loss_probe: a & 0x80 != 0,
        recovery,
        spurious_detection,
        prr: [Prr::SafeAck, Prr::Ssrb, Prr::Crb, Prr::Off][usize::from(b >> 3) % 4],
        pacing: [Pacing::Auto, Pacing::Always][usize::from(b >> 5) % 2],
        nagle: b & 0x40 != 0,
        restart_after_idle: b & 0x80 != 0,
        ..SenderConfig::default()
    }
}

fn receiver_config(c: u8, d: u8) -> ReceiverConfig {
    let fixed = |bytes| Window::Fixed(Bytes(bytes));
    let grows = Window::Auto(AutoWindow { initial: Bytes(3000), max: Bytes(1 << 20) });
    ReceiverConfig {
        kernel: [Kernel::Linux6_18, Kernel::Rfc][usize::from(c >> 6 & 1)],
        window: [fixed(6 << 20), fixed(5000), fixed(1), grows][usize::from(c) % 4].clone(),
        window_scale: [0, 7, 14, 1][usize::from(c >> 2) % 4],
        delayed_ack: c & 0x10 == 0,
        quick_acks: u32::from(c >> 5 & 1) * 16,
        ecn: [Feedback::Accurate, Feedback::Accurate, Feedback::Classic, Feedback::Off]
            [usize::from(d >> 6)],
        ce_acks: 1 + u32::from(d >> 6) * 2,
        accecn_option: d & 0x40 == 0,
        ..ReceiverConfig::default()
    }
}

struct World {
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    written: u64,
    /// Segments on their way to the receiver, with congestion experienced or not; and
    /// acknowledgements on their way back.
    segments: Vec<(Segment, bool)>,
    acks: Vec<Ack>,
    /// True if no field was falsified.
    honest: bool,
}

impl World {
    fn pump(&mut self) {
        // Without a limit, a sender that never stops would look like a slow fuzz target.
        for _ in 0..10_000 + self.written {
            let Some(segment) = self.sender.poll_transmit(self.now) else { return self.check() };
            assert!(segment.len <= self.sender.mss());
            assert!(segment.len > 0 || segment.ecn == Ecn::NotEct, "{segment:?}");
            if self.honest {
                assert!(segment.end() <= self.written, "sent beyond what was written");
            }
            if self.segments.len() < WIRE {
                self.segments.push((segment, false));
            }
        }
        panic!("a sender that never stops");
    }

    fn check(&self) {
        assert!(self.sender.cwnd() >= u64::from(self.sender.mss()));
        if self.honest {
            assert!(self.sender.acked_bytes() <= self.receiver.delivered_bytes());
            assert!(self.receiver.delivered_bytes() <= self.written);
            // RFC 6675 counts both a segment and its retransmission.
            assert!(self.sender.in_flight() <= 2 * self.written);
        }
    }

    fn arrive(&mut self, segment: Segment, ce: bool) {
        let ack = self.receiver.on_segment(self.now, &segment, ce && segment.ecn.is_capable());
        self.reply(ack);
    }

    fn reply(&mut self, ack: Option<Ack>) {
        if let Some(ack) = ack
            && self.acks.len() < WIRE
        {
            self.acks.push(ack);
        }
    }

    fn timers(&mut self) {
        if self.sender.next_timer().is_some_and(|at| at <= self.now) {
            self.sender.on_timer(self.now);
        }
        let ack = self.receiver.on_timer(self.now);
        self.reply(ack);
    }

    /// One event, chosen by the two bytes.
    fn step(&mut self, what: u8, more: u8) {
        let at = usize::from(more);
        match what % 16 {
            0..=2 if !self.segments.is_empty() => {
                let segment = self.segments.remove(at % self.segments.len());
                self.arrive(segment.0, what & 0x80 != 0);
            }
            3 if !self.segments.is_empty() => {
                let copy = self.segments[at % self.segments.len()];
                self.arrive(copy.0, copy.1);
            }
            4 if !self.segments.is_empty() => drop(self.segments.remove(at % self.segments.len())),
            5 | 6 if !self.acks.is_empty() => {
                let ack = self.acks.remove(at % self.acks.len());
                self.sender.on_ack(self.now, &ack);
            }
            7 if !self.acks.is_empty() => {
                let ack = self.acks[at % self.acks.len()];
                self.sender.on_ack(self.now, &ack);
            }
            8 if !self.acks.is_empty() => drop(self.acks.remove(at % self.acks.len())),
            9 => self.now += Duration::from_micros(1 << (more % 24)),
            10 => {
                if let Some(at) = self.sender.next_timer() {
                    self.now = self.now.max(at);
                }
            }
            11 if !self.sender.is_closed() => {
                let bytes = u64::from(more) * 40;
                self.written += bytes;
                self.sender.write(bytes);
            }
            12 => {
                self.receiver.set_window(Bytes(u64::from(more) * 100));
                let ack = self.receiver.window_update();
                self.reply(Some(ack));
            }
            13 if what & 0x10 != 0 => drop(self.sender.set_window(u64::from(more) * 1000)),
            13 => self.sender.set_cwnd_clamp((more > 0).then(|| u64::from(more) * 1000)),
            14 if more > 250 => {
                let unsent = self.sender.unsent_bytes();
                self.sender.stop();
                self.written -= unsent;
            }
            14 => self.change_ecn(more),
            15 if !self.honest => self.falsify(what >> 4, more),
            _ => {}
        }
        self.timers();
        self.pump();
    }

    /// A middlebox changes the ECN of the oldest messages.
    fn change_ecn(&mut self, more: u8) {
        if let Some((segment, _)) = self.segments.first_mut() {
            segment.flags = more & 7;
            segment.ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(more >> 3 & 3)];
        }
        if let Some(ack) = self.acks.first_mut() {
            ack.flags = more >> 5;
            if more & 1 != 0 {
                ack.option = AccEcnOption::NONE;
            }
        }
    }

    /// Falsifies the oldest message on the wire.
    fn falsify(&mut self, field: u8, more: u8) {
        let far = (1_u64 << (more % 63)).wrapping_sub(u64::from(more >> 7)) % FARTHEST;
        if let Some((segment, _)) = self.segments.first_mut() {
            match field {
                0 => segment.seq = far,
                1 => segment.len = more.into(),
                2 => segment.len = u32::MAX,
                3 => segment.sent_at = Instant::from_nanos(far),
                4 => segment.flags = more & 7,
                5 => segment.retransmission = !segment.retransmission,
                6 => segment.mark = [Mark::Syn, Mark::Push, Mark::None][usize::from(more) % 3],
                _ => {}
            }
        }
        if let Some(ack) = self.acks.first_mut() {
            match field {
                8 => ack.cumulative = far,
                9 => ack.window = far,
                10 => ack.ts_echo = Instant::from_nanos(far),
                11 => (ack.flags, ack.syn) = (more & 7, more & 8 != 0),
                12 => {
                    let counters = ByteCounters { ect0: 0, ce: far, ect1: far };
                    ack.option = counters.option(more & 3);
                }
                13 => {
                    (ack.sack, ack.sack_len) =
                        ([SackBlock { start: far / 2, end: far }; 3], 1 + more % 3)
                }
                14 => {
                    (ack.sack, ack.sack_len) = ([SackBlock { start: far, end: far / 2 }; 3], more)
                }
                _ => ack.cumulative = ack.cumulative.saturating_sub(far),
            }
        }
    }

    /// A sound wire of a millisecond each way: everything arrives.
    fn drain(&mut self) {
        self.sender.set_cwnd_clamp(None);
        self.receiver.set_window(Bytes(1 << 20));
        let ack = self.receiver.window_update();
        self.reply(Some(ack));
        for _ in 0..ENOUGH {
            if self.sender.all_acked() {
                assert_eq!(self.receiver.delivered_bytes(), self.written);
                return;
            }
            self.now += Duration::from_millis(1);
            for segment in std::mem::take(&mut self.segments) {
                self.arrive(segment.0, segment.1);
            }
            for ack in std::mem::take(&mut self.acks) {
                self.sender.on_ack(self.now, &ack);
            }
            self.timers();
            self.pump();
            if self.segments.is_empty() && self.acks.is_empty() && !self.sender.all_acked() {
                let next =
                    self.sender.next_timer().into_iter().chain(self.receiver.next_timer()).min();
                self.now =
                    self.now.max(next.expect("a sender that waits for nothing has sent all"));
            }
        }
        panic!("{} of {} bytes acknowledged, no more", self.sender.acked_bytes(), self.written);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [a, b, c, d, steps @ ..] = bytes else { return };
    let mut sender = Sender::new(&sender_config(*a, *b, *d)).expect("sound settings");
    let mut receiver = Receiver::new(&receiver_config(*c, *d)).expect("sound settings");
    sender.settle(&mut receiver);
    let mut world = World {
        now: Instant::from_nanos(1),
        sender,
        receiver,
        written: 3000,
        segments: Vec::new(),
        acks: Vec::new(),
        honest: c & 0x80 == 0,
    };
    world.sender.write(3000);
    world.pump();
    for step in steps.chunks_exact(2).take(2000) {
        world.step(step[0], step[1]);
    }
    if world.honest {
        world.drain();
    }
});
