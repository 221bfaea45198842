//! The fast path against the general one, over a path that loses, marks and reorders.

use super::*;
use crate::cc::CcConfig;
use crate::config::{Recovery, SenderConfig, SpuriousDetection};
use crate::receiver::{Receiver, ReceiverConfig};
use justfull_base::{Duration, Rng};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::vec::Vec;

/// Two senders with the same input, one of them restricted to the general path, and the messages in
/// transit in both directions.
struct Pair {
    short: Sender,
    general: Sender,
    receiver: Receiver,
    segments: VecDeque<(Instant, Segment)>,
    acks: VecDeque<(Instant, Ack)>,
    rng: Rng,
    now: Instant,
    plain: u32,
    next: u32,
    bursts: u32,
}

const ONE_WAY: Duration = Duration::from_millis(10);

impl Pair {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "plain");
        let control = ["cubic", "new_reno", "bbr", "bbr3", "prague"][rng.below(5) as usize];
        let cc = CcConfig::by_name(control).expect("it is on the list");
        let ecn = rng.below(2) == 0;
        let timestamps = rng.below(2) == 0;
        let recovery = [Recovery::Rack, Recovery::Dupack, Recovery::NewReno][rng.below(3) as usize];
        let spurious_detection = match recovery {
            Recovery::NewReno => SpuriousDetection::Off,
            _ if timestamps && rng.below(2) == 0 => SpuriousDetection::Eifel,
            _ => SpuriousDetection::FRto,
        };
        let config = SenderConfig {
            cc,
            recovery,
            spurious_detection,
            timestamps,
            ecn,
            accecn: rng.below(2) == 0,
            handshake: rng.below(4) == 0,
            ..SenderConfig::default()
        };
        let mut sender = Sender::new(&config).expect("the settings are sound");
        let mut receiver = Receiver::new(&ReceiverConfig::default()).expect("the defaults are");
        sender.settle(&mut receiver);
        Self {
            short: sender.clone(),
            general: sender,
            receiver,
            segments: VecDeque::new(),
            acks: VecDeque::new(),
            rng,
            now: Instant::ZERO,
            plain: 0,
            next: 0,
            bursts: 0,
        }
    }

    /// Both send as much as they may; chance loses and delays it.
    fn transmit(&mut self) {
        let mut sent = Vec::new();
        self.bursts += u32::from(self.short.sends_plainly(self.now));
        self.short.transmit(self.now, &mut |segment| sent.push(segment));
        for segment in &sent {
            assert_eq!(self.general.poll_transmit(self.now).as_ref(), Some(segment));
        }
        assert_eq!(self.general.poll_transmit(self.now), None);
        for segment in sent {
            let late = if self.rng.below(80) == 0 { self.rng.below(6_000_000) } else { 0 };
            if self.rng.below(60) != 0 {
                let at = self.now + ONE_WAY + Duration::from_nanos(late);
                let place = self.segments.partition_point(|(other, _)| *other <= at);
                self.segments.insert(place, (at, segment));
            }
        }
    }

    /// Runs the earliest event: a segment or an acknowledgement arrives, or a timer fires.
    fn step(&mut self) {
        let first = |queue: Option<Instant>| queue.unwrap_or(Instant::NEVER);
        let due = [
            first(self.segments.front().map(|(at, _)| *at)),
            first(self.acks.front().map(|(at, _)| *at)),
            first(self.short.next_timer()),
            first(self.receiver.next_timer()),
        ];
        assert_eq!(self.short.next_timer(), self.general.next_timer());
        self.now = due.into_iter().fold(Instant::NEVER, Instant::min).max(self.now);
        if self.now == Instant::NEVER {
            return;
        }
        match due.iter().position(|at| *at <= self.now) {
            Some(0) => {
                let (_, segment) = self.segments.pop_front().expect("it is due");
                let ce = segment.ecn.is_capable() && self.rng.below(100) == 0;
                let ack = self.receiver.on_segment(self.now, &segment, ce);
                self.acks.extend(ack.map(|ack| (self.now + ONE_WAY, ack)));
            }
            Some(1) => {
                let (_, ack) = self.acks.pop_front().expect("it is due");
                if self.rng.below(100) != 0 {
                    self.acknowledge(&ack);
                }
            }
            Some(2) => {
                self.short.on_timer(self.now);
                self.general.on_timer(self.now);
            }
            _ => {
                let ack = self.receiver.on_timer(self.now);
                self.acks.extend(ack.map(|ack| (self.now + ONE_WAY, ack)));
            }
        }
        self.transmit();
    }

    fn acknowledge(&mut self, ack: &Ack) {
        let run = self.short.plain_run(ack);
        self.plain += u32::from(run.is_some());
        self.next += u32::from(self.short.board.next_sacked(ack).is_some());
        let sample = self.short.on_ack(self.now, ack);
        if ack.cumulative <= self.general.board.nxt() {
            self.general.stats.acks += 1;
            assert_eq!(self.general.take_any(self.now, ack, None), sample);
        }
        assert_eq!(format!("{:?}", self.short), format!("{:?}", self.general));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(64) })]

    #[test]
    fn the_short_way_ends_where_the_general_one_does(seed in any::<u64>()) {
        let mut pair = Pair::new(seed);
        for turn in 0..400 {
            if turn % 100 == 0 {
                let bytes = 1 + pair.rng.below(200_000);
                pair.short.write(bytes);
                pair.general.write(bytes);
                pair.transmit();
            }
            pair.step();
        }
    }
}

#[test]
fn a_transfer_without_loss_takes_the_short_way() {
    // A sender that paces never sends by the fast path.
    let mut pair = (0..).map(Pair::new).find(|pair| !pair.short.setup.paced).expect("many do not");
    pair.short.write(100_000);
    pair.general.write(100_000);
    pair.transmit();
    (0..40).for_each(|_| pair.step());
    assert!(pair.plain > 5 && pair.bursts > 5, "{} and {}", pair.plain, pair.bursts);
}

#[test]
fn acknowledgements_of_a_sampled_transfer_take_the_short_way() {
    let sampled = |pair: &Pair| !pair.short.rate.is_off();
    let mut pair = (0..).map(Pair::new).find(sampled).expect("BBR does");
    pair.short.write(100_000);
    pair.general.write(100_000);
    pair.transmit();
    (0..200).for_each(|_| pair.step());
    assert!(pair.plain > 5, "{}", pair.plain);
}

#[test]
fn segments_behind_a_gap_are_sacked_without_a_search() {
    let mut pair = (0..).map(Pair::new).find(|pair| !pair.short.setup.by_reno).expect("many sack");
    pair.short.write(4_000_000);
    pair.general.write(4_000_000);
    pair.transmit();
    (0..2000).for_each(|_| pair.step());
    let losses = pair.short.stats.segments_retransmitted;
    assert!(losses > 0 && u64::from(pair.next) > losses, "{} after {losses} losses", pair.next);
}
