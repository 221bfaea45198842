//! RACK on the scoreboard against a transcription of RFC 8985 section 6.2 that examines every
//! segment each time.

use crate::rack::Judgement;
use crate::rate::Delivery;
use crate::record::{Latest, Record};
use crate::scoreboard::Scoreboard;
use crate::segment::SackBlock;
use justfull_base::{Duration, Instant, Rng};
use proptest::prelude::*;
use std::vec::Vec;

const LEN: u64 = 1000;
const MIN_RTT: Duration = Duration::from_millis(20);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// RFC 8985 section 5.2: a segment's variables.
#[derive(Clone, Debug)]
struct Plain {
    xmit: Instant,
    retransmitted: bool,
    lost: bool,
    delivered: bool,
    /// A copy is in flight and was not found lost.
    again: bool,
    /// The original was found lost.
    original_lost: bool,
}

struct Pair {
    board: Scoreboard,
    plain: Vec<Plain>,
    rng: Rng,
    now: Instant,
    /// `RACK.xmit_ts` and `RACK.end_seq`.
    rack: (Instant, usize),
    fack: usize,
    reordering_seen: bool,
    latest: Latest,
    board_reordered: bool,
}

impl Pair {
    fn new(seed: u64) -> Self {
        Self {
            board: Scoreboard::new(LEN as u32, true),
            plain: Vec::new(),
            rng: Rng::stream(seed, "rack"),
            now: at(1000),
            rack: (Instant::ZERO, 0),
            fack: 0,
            reordering_seen: false,
            latest: Latest::default(),
            board_reordered: false,
        }
    }

    fn send_new(&mut self) {
        self.board.push(Record::new(self.board.nxt(), LEN as u16, self.now));
        self.plain.push(Plain {
            xmit: self.now,
            retransmitted: false,
            lost: false,
            delivered: false,
            again: false,
            original_lost: false,
        });
    }

    fn una(&self) -> usize {
        self.plain.iter().position(|s| !s.delivered).unwrap_or(self.plain.len())
    }

    /// Sends lost segments again, or the last segment as a probe; each copy at a different instant.
    fn send_again(&mut self, probe: bool) {
        self.now += Duration::from_micros(10);
        let serial = if probe {
            self.plain.len() as u64 - 1
        } else {
            self.board.next_lost().expect("asked before")
        };
        let index = serial as usize;
        self.board.record_mut(serial).sent_at = self.now;
        self.board.mark_retransmitted(serial, probe);
        let plain = &mut self.plain[index];
        assert!(probe || plain.lost, "only what is lost is sent again");
        plain.xmit = self.now;
        plain.retransmitted = true;
        plain.lost = false;
        plain.again = true;
    }

    /// An acknowledgement that delivers the segments `new` and echoes `echo`.
    fn deliver(&mut self, new: &[usize], echo: Instant) {
        let una = self.una();
        for &index in new {
            self.plain[index].delivered = true;
        }
        let after = self.una();
        // The board's side.
        let plausible = self.now - MIN_RTT;
        let mut delivery = Delivery::new(self.board.fack(), plausible.min(echo));
        self.board.acknowledge(after as u64 * LEN, &mut delivery);
        delivery.sure_until = plausible;
        for &index in new.iter().filter(|&&i| i >= after) {
            let block = SackBlock { start: index as u64 * LEN, end: (index as u64 + 1) * LEN };
            self.board.sack(&[block], &mut delivery);
        }
        self.latest = self.latest.max(delivery.surest());
        self.board_reordered |= delivery.reordered;
        // Steps 2 and 3, segment by segment in order of sequence.
        let mut inside: Vec<usize> = (una..self.plain.len()).filter(|i| new.contains(i)).collect();
        inside.sort_unstable();
        for index in inside {
            let segment = &self.plain[index];
            if index + 1 > self.fack {
                self.fack = index + 1;
            } else if index + 1 < self.fack && !segment.retransmitted {
                self.reordering_seen = true;
            }
            if segment.retransmitted {
                let echo_is_older = index < after && echo < segment.xmit;
                if echo_is_older || self.now.since(segment.xmit) < MIN_RTT {
                    continue;
                }
            }
            if (segment.xmit, index + 1) > self.rack {
                self.rack = (segment.xmit, index + 1);
            }
        }
    }

    /// Step 5 on both sides. If another check is due, its time is compared too.
    fn detect(&mut self, patience: Duration) {
        let before: u64 = self.plain.iter().filter(|s| s.lost && !s.delivered).count() as u64;
        let mut next = Instant::NEVER;
        let rack = self.rack;
        for (index, segment) in self.plain.iter_mut().enumerate() {
            if segment.delivered || segment.lost || (segment.xmit, index + 1) >= rack {
                continue;
            }
            if segment.xmit + patience <= self.now {
                segment.lost = true;
                segment.original_lost = true;
                segment.again = false;
            } else {
                next = next.min(segment.xmit + patience);
            }
        }
        let after: u64 = self.plain.iter().filter(|s| s.lost && !s.delivered).count() as u64;
        let latest = self.latest;
        let suspects = self.board.has_suspects(latest);
        let found =
            self.board.detect_losses_by_time(&Judgement { now: self.now, latest, patience });
        assert_eq!(found.lost, (after - before) * LEN, "newly lost");
        assert_eq!(found.next, next, "the reordering timer");
        assert!(
            suspects || (found.lost == 0 && found.next == Instant::NEVER),
            "nothing is overlooked"
        );
    }

    fn time_out(&mut self, patience: Duration) {
        let una = self.una();
        for (index, segment) in self.plain.iter_mut().enumerate() {
            if !segment.delivered && (index == una || segment.xmit + patience <= self.now) {
                segment.lost = true;
                segment.original_lost = true;
                segment.again = false;
            }
        }
        self.board.mark_lost_at_timeout(self.now, patience);
        if let Some(serial) = self.board.next_lost() {
            assert_eq!(serial as usize, una, "the timer sends the lowest first");
        }
    }

    fn compare(&mut self) {
        let outstanding = || self.plain.iter().filter(|s| !s.delivered);
        let pipe = outstanding()
            .map(|s| LEN * (u64::from(!s.original_lost) + u64::from(s.again)))
            .sum::<u64>();
        assert_eq!(self.board.pipe(), pipe, "pipe");
        let waiting = outstanding().any(|s| s.lost);
        assert_eq!(self.board.next_lost().is_some(), waiting, "what is lost is found");
        assert_eq!(self.latest.is_some().then(|| self.latest.serial() as usize + 1), {
            (self.rack.1 > 0).then_some(self.rack.1)
        });
        assert_eq!(self.board_reordered, self.reordering_seen, "RACK.reordering_seen");
        let sacked = self.plain[self.una()..].iter().filter(|s| s.delivered).count();
        assert_eq!(self.board.sacked_segments(), sacked as u64, "RACK.segs_sacked");
    }

    fn step(&mut self) {
        self.now += Duration::from_micros(self.rng.below(3000));
        let patience = Duration::from_millis(20 + self.rng.below(30));
        let missing: Vec<usize> =
            (0..self.plain.len()).filter(|&i| !self.plain[i].delivered).collect();
        match self.rng.below(100) {
            0..35 => {
                for _ in 0..=self.rng.below(3) {
                    self.send_new();
                }
            }
            35..75 if !missing.is_empty() => {
                let count = 1 + self.rng.below(3) as usize;
                let reach = missing.len() as u64;
                let new: Vec<usize> =
                    (0..count).map(|_| missing[self.rng.below(reach.min(12)) as usize]).collect();
                let echo =
                    if self.rng.chance(0.5) { self.now } else { self.now - MIN_RTT.times(2) };
                self.deliver(&new, echo);
            }
            75..92 => {
                for _ in 0..=self.rng.below(4) {
                    if self.board.next_lost().is_some() {
                        self.send_again(false);
                    }
                }
            }
            92..95 if !missing.is_empty() && missing.last() == Some(&(self.plain.len() - 1)) => {
                let last = &self.plain[self.plain.len() - 1];
                if !last.lost && !last.again {
                    self.send_again(true);
                }
            }
            95..97 if !missing.is_empty() => self.time_out(patience),
            _ => {}
        }
        self.detect(patience);
        self.compare();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(400) })]

    #[test]
    fn the_scoreboard_says_what_rfc_8985_says(seed in any::<u64>()) {
        let mut pair = Pair::new(seed);
        for _ in 0..300 {
            pair.step();
        }
    }
}
