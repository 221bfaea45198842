//! The scoreboard against a transcription of RFC 6675 section 4 that walks every octet range each
//! time.

use super::*;
use justfull_base::{Instant, Rng};
use proptest::prelude::*;
use std::vec::Vec;

fn delivery() -> Delivery {
    Delivery::new(0, Instant::ZERO)
}

/// RFC 6675 word by word, segment by segment.
#[derive(Clone, Debug, Default)]
struct Plain {
    segments: Vec<PlainSegment>,
    high_ack: u64,
    high_rxt: u64,
    mss: u64,
    dup_thresh: usize,
}

#[derive(Clone, Debug)]
struct PlainSegment {
    seq: u64,
    len: u64,
    sacked: bool,
    /// Found lost before, or by timeout. It stays lost even when filled gaps merge the runs that
    /// proved it.
    declared: bool,
    retransmitted: bool,
}

impl Plain {
    fn outstanding(&self) -> impl DoubleEndedIterator<Item = &PlainSegment> {
        self.segments.iter().filter(|s| s.seq >= self.high_ack)
    }

    /// "DupThresh discontiguous SACKed sequences have arrived above SeqNum, or more than (DupThresh
    /// - 1) * SMSS bytes with sequence numbers greater than SeqNum have been SACKed."
    fn is_lost(&self, segment: &PlainSegment) -> bool {
        let mut runs = 0;
        let mut bytes = 0;
        let mut in_run = false;
        for above in self.outstanding().filter(|s| s.seq > segment.seq) {
            if above.sacked {
                bytes += above.len;
                runs += usize::from(!in_run);
            }
            in_run = above.sacked;
        }
        segment.declared
            || runs >= self.dup_thresh
            || bytes > (self.dup_thresh as u64 - 1) * self.mss
    }

    fn set_pipe(&self) -> u64 {
        let mut pipe = 0;
        for s in self.outstanding().filter(|s| !s.sacked) {
            pipe += if self.is_lost(s) { 0 } else { s.len };
            pipe += if s.retransmitted { s.len } else { 0 };
        }
        pipe
    }

    fn highest_sacked(&self) -> Option<u64> {
        self.outstanding().rev().find(|s| s.sacked).map(|s| s.seq)
    }

    /// Rule 1 (`lost`) or rule 3 (not `lost`) of `NextSeg()`.
    fn next_seg(&self, lost: bool) -> Option<u64> {
        let candidate = |s: &&PlainSegment| !s.sacked && s.seq >= self.high_rxt && !s.retransmitted;
        let below = |s: &&PlainSegment| self.highest_sacked().is_some_and(|h| s.seq < h);
        if lost {
            return self.outstanding().filter(candidate).find(|s| self.is_lost(s)).map(|s| s.seq);
        }
        self.outstanding().filter(candidate).filter(below).find(|s| !self.is_lost(s)).map(|s| s.seq)
    }
}

/// Scoreboard and transcription side by side, with a receiver that reports arrived segments.
struct Pair {
    board: Scoreboard,
    plain: Plain,
    arrived: Vec<bool>,
    recent: Vec<usize>,
    rng: Rng,
    delivered: u64,
}

impl Pair {
    fn new(seed: u64, dup_thresh: u32) -> Self {
        let mut board = Scoreboard::new(1000, false);
        board.set_dup_thresh(dup_thresh);
        let plain = Plain { mss: 1000, dup_thresh: dup_thresh as usize, ..Plain::default() };
        let rng = Rng::stream(seed, "scoreboard");
        Self { board, plain, arrived: Vec::new(), recent: Vec::new(), rng, delivered: 0 }
    }

    fn push(&mut self) {
        let len = if self.rng.chance(0.8) { 1000 } else { 1 + self.rng.below(1000) };
        let seq = self.board.nxt();
        self.board.push(Record::new(seq, len as u16, Instant::ZERO));
        let segment =
            PlainSegment { seq, len, sacked: false, declared: false, retransmitted: false };
        self.plain.segments.push(segment);
        self.arrived.push(false);
    }

    /// The run of arrived segments around `index`, as a block.
    fn block(&self, index: usize) -> SackBlock {
        let s = &self.plain.segments;
        let first = (0..index).rev().find(|&i| !self.arrived[i]).map_or(0, |i| i + 1);
        let last = (index..s.len()).find(|&i| !self.arrived[i]).unwrap_or(s.len()) - 1;
        SackBlock { start: s[first].seq, end: s[last].seq + s[last].len }
    }

    /// Segment `index` arrives and is acknowledged.
    fn arrive(&mut self, index: usize) {
        self.arrived[index] = true;
        let front = self.arrived.iter().position(|a| !a).unwrap_or(self.arrived.len());
        let cumulative = self.plain.segments.get(front).map_or(self.board.nxt(), |s| s.seq);
        self.recent.retain(|&i| i != index);
        self.recent.insert(0, index);
        let mut blocks: Vec<SackBlock> = Vec::new();
        for &i in &self.recent {
            let block = self.block(i);
            if i >= front && !blocks.contains(&block) && blocks.len() < 3 {
                blocks.push(block);
            }
        }
        let mut delivery = delivery();
        self.board.acknowledge(cumulative, &mut delivery);
        self.board.sack(&blocks, &mut delivery);
        self.delivered += delivery.bytes;
        self.plain.high_ack = cumulative;
        for s in &mut self.plain.segments {
            s.sacked |= blocks.iter().any(|b| b.start <= s.seq && s.seq + s.len <= b.end);
        }
        self.judge();
    }

    fn judge(&mut self) {
        self.board.detect_losses();
        let lost: Vec<u64> = self
            .plain
            .outstanding()
            .filter(|s| !s.sacked && self.plain.is_lost(s))
            .map(|s| s.seq)
            .collect();
        for s in &mut self.plain.segments {
            s.declared |= lost.contains(&s.seq);
        }
    }

    fn time_out(&mut self) {
        self.board.mark_all_lost();
        for s in &mut self.plain.segments {
            s.declared |= !s.sacked;
            s.retransmitted = false;
        }
        self.plain.high_rxt = self.plain.high_ack;
    }

    /// All losses were spurious: only the sacked segments count.
    fn forgive(&mut self) {
        self.board.unmark_lost();
        for s in &mut self.plain.segments {
            s.declared = false;
        }
        self.judge();
    }

    fn retransmit(&mut self, serial: u64) {
        let seq = self.board.record(serial).seq;
        self.board.mark_retransmitted(serial, false);
        let segment =
            self.plain.segments.iter_mut().find(|s| s.seq == seq).expect("it is outstanding");
        segment.retransmitted = true;
        self.plain.high_rxt = self.plain.high_rxt.max(seq + segment.len);
    }

    fn compare(&mut self) {
        assert_eq!(self.board.pipe(), self.plain.set_pipe(), "SetPipe");
        let seq = |board: &Scoreboard, serial: Option<u64>| serial.map(|s| board.record(s).seq);
        let lost = self.board.next_lost();
        assert_eq!(seq(&self.board, lost), self.plain.next_seg(true), "NextSeg rule 1");
        if lost.is_none() {
            let hole = self.board.next_hole();
            assert_eq!(seq(&self.board, hole), self.plain.next_seg(false), "NextSeg rule 3");
        }
        let lost_bytes: u64 = {
            let plain = &self.plain;
            plain.outstanding().filter(|s| !s.sacked && plain.is_lost(s)).map(|s| s.len).sum()
        };
        assert_eq!(self.board.lost_outstanding, lost_bytes, "IsLost");
        let delivered: u64 = self
            .plain
            .segments
            .iter()
            .filter(|s| s.sacked || s.seq < self.plain.high_ack)
            .map(|s| s.len)
            .sum();
        assert_eq!(self.delivered, delivered, "each byte is delivered once");
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..40 => self.push(),
            40..80 => {
                let missing: Vec<usize> =
                    (0..self.arrived.len()).filter(|&i| !self.arrived[i]).collect();
                if !missing.is_empty() {
                    // Mostly the newest, so that holes stay behind.
                    let n = missing.len() as u64;
                    let pick = if self.rng.chance(0.7) {
                        n - 1 - self.rng.below(n.min(4))
                    } else {
                        self.rng.below(n)
                    };
                    self.arrive(missing[pick as usize]);
                }
            }
            80..95 => {
                if let Some(serial) = self.board.next_lost().or_else(|| self.board.next_hole()) {
                    self.retransmit(serial);
                }
            }
            95..98 => {
                if self.board.flight_size() > 0 {
                    self.time_out();
                }
            }
            _ => self.forgive(),
        }
    }
}

const CASES: u32 = 400;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(CASES) })]

    #[test]
    fn the_scoreboard_says_what_rfc_6675_says(seed in any::<u64>(), dup_thresh in 3u32..6) {
        let mut pair = Pair::new(seed, dup_thresh);
        for _ in 0..400 {
            pair.step();
            pair.compare();
        }
    }
}

#[test]
fn three_full_segments_above_a_hole_make_it_lost() {
    let mut pair = Pair::new(1, 3);
    for i in 0..6u16 {
        let record = Record::new(u64::from(i) * 1000, 1000, Instant::ZERO);
        pair.board.push(record);
    }
    let mut sack = |end: u64| {
        pair.board.sack(&[SackBlock { start: 1000, end }], &mut delivery());
        pair.board.detect_losses()
    };
    assert_eq!((sack(2000), sack(3000), sack(4000)), (0, 0, 1000));
}

#[test]
fn a_record_fits_in_24_bytes_and_an_unused_scoreboard_holds_no_memory() {
    assert_eq!(size_of::<Record>(), 24);
    assert_eq!(Scoreboard::new(1448, true).slots.capacity(), 0);
}

#[test]
fn thousands_of_alternating_losses_are_each_marked_and_repaired_once() {
    let mut board = Scoreboard::new(1000, false);
    for i in 0..20_000 {
        board.push(Record::new(i * 1000, 1000, Instant::ZERO));
    }
    let mut delivery = delivery();
    for i in 0..10_000u64 {
        let block = |i: u64| SackBlock { start: (2 * i + 1) * 1000, end: (2 * i + 2) * 1000 };
        let known = [block(i), block(i.saturating_sub(1)), block(i.saturating_sub(2))];
        board.sack(&known, &mut delivery);
        board.detect_losses();
    }
    assert_eq!(delivery.bytes, 10_000_000);
    let mut repaired = 0;
    while let Some(serial) = board.next_lost() {
        board.mark_retransmitted(serial, false);
        repaired += 1;
    }
    assert_eq!(repaired, 9_998, "all but the two holes below the last two runs");
    // The holes are filled from the top: each block now spans all above it.
    for i in (0..10_000u64).rev() {
        let block = SackBlock { start: (2 * i) * 1000, end: 20_000_000 };
        board.sack(&[block], &mut delivery);
    }
    assert_eq!(delivery.bytes, 20_000_000);
    assert_eq!(board.pipe(), 0);
}
