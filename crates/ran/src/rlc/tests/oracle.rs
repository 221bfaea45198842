//! The receiving procedures of TS 38.322 written out a second time, sentence by sentence, with
//! every byte in a map and numbers that never wrap. Random segments run through both, step by step.

use super::*;
use crate::pdu::{Nack, SO_END, SegmentInfo};
use alloc::collections::{BTreeMap, BTreeSet};
use proptest::prelude::*;

/// A segment in transit: SDU, first byte, length, and two flags: last segment, poll bit.
#[derive(Clone, Copy, Debug)]
struct Segment {
    sdu: u64,
    start: u32,
    len: u32,
    last: bool,
    poll: bool,
}

/// The arrived bytes of one SDU.
#[derive(Default)]
struct Stored {
    bytes: BTreeSet<u32>,
    size: Option<u32>,
}

impl Stored {
    fn is_whole(&self) -> bool {
        self.size.is_some_and(|size| self.bytes.len() as u32 == size)
    }

    fn has_gap(&self) -> bool {
        self.bytes.last().is_some_and(|&last| last as usize + 1 != self.bytes.len())
    }

    fn add(&mut self, segment: &Segment) {
        self.bytes.extend(segment.start..segment.start + segment.len);
        self.size = self.size.or(segment.last.then_some(segment.start + segment.len));
    }
}

/// State of either mode; `done` holds delivered SDUs.
struct Oracle {
    window: u64,
    /// t-Reassembly in milliseconds.
    t: u64,
    stored: BTreeMap<u64, Stored>,
    done: BTreeSet<u64>,
    delivered: Vec<u64>,
    abandoned: Vec<u64>,
    next: u64,
    highest: u64,
    highest_status: u64,
    trigger: u64,
    ends: Option<u64>,
    polled: BTreeSet<u64>,
    reports: bool,
}

impl Oracle {
    fn new(window: u64, t: u64) -> Self {
        Self {
            window,
            t,
            stored: BTreeMap::new(),
            done: BTreeSet::new(),
            delivered: Vec::new(),
            abandoned: Vec::new(),
            next: 0,
            highest: 0,
            highest_status: 0,
            trigger: 0,
            ends: None,
            polled: BTreeSet::new(),
            reports: false,
        }
    }

    fn first_not_done(&self, from: u64) -> u64 {
        (from..).find(|sn| !self.done.contains(sn)).expect("there is one")
    }

    fn misses(&self, upper: u64, lower: u64) -> bool {
        upper > lower + 1
            || (upper == lower + 1 && self.stored.get(&lower).is_some_and(Stored::has_gap))
    }

    /// Discards SDUs below `edge` that are not done.
    fn discard_below(&mut self, edge: u64) {
        let kept = self.stored.split_off(&edge);
        self.abandoned.extend(self.stored.keys());
        self.stored = kept;
    }

    fn store(&mut self, segment: &Segment) {
        let stored = self.stored.entry(segment.sdu).or_default();
        stored.add(segment);
        if stored.is_whole() {
            self.stored.remove(&segment.sdu);
            self.done.insert(segment.sdu);
            self.delivered.push(segment.sdu);
        }
    }

    /// Section 5.2.2.2.
    fn um(&mut self, now: u64, segment: &Segment) {
        let x = segment.sdu;
        let low = self.highest.saturating_sub(self.window);
        if (x >= low && x < self.next) || self.done.contains(&x) {
            return;
        }
        self.store(segment);
        if self.done.contains(&x) {
            if x == self.next {
                self.next = self.first_not_done(self.next);
            }
        } else if x >= self.highest {
            self.highest = x + 1;
            let low = self.highest.saturating_sub(self.window);
            self.discard_below(low);
            if self.next < low {
                self.next = self.first_not_done(low);
            }
        }
        let low = self.highest.saturating_sub(self.window);
        let outside = self.trigger < low || self.trigger > self.highest;
        if self.ends.is_some()
            && (self.trigger <= self.next
                || outside
                || (self.highest == self.next + 1 && !self.misses(self.highest, self.next)))
        {
            self.ends = None;
        }
        self.um_start(now);
    }

    fn um_start(&mut self, now: u64) {
        if self.ends.is_none() && self.misses(self.highest, self.next) {
            (self.trigger, self.ends) = (self.highest, Some(now + self.t));
        }
    }

    fn um_tick(&mut self, now: u64) {
        if self.ends.is_none_or(|at| now < at) {
            return;
        }
        self.ends = None;
        self.next = self.first_not_done(self.trigger);
        self.discard_below(self.next);
        self.um_start(now);
    }

    /// Sections 5.2.3.2 and 5.3.4; true if the PDU is accepted.
    fn am(&mut self, now: u64, segment: &Segment) -> bool {
        let x = segment.sdu;
        let mut range = segment.start..segment.start + segment.len;
        let came = |stored: &Stored| range.all(|byte| stored.bytes.contains(&byte));
        let outside = x < self.next || x >= self.next + self.window;
        if outside || self.done.contains(&x) || self.stored.get(&x).is_some_and(came) {
            self.reports |= segment.poll;
            return false;
        }
        self.store(segment);
        self.highest = self.highest.max(x + 1);
        if self.done.contains(&x) {
            if x == self.highest_status {
                self.highest_status = self.first_not_done(x);
            }
            if x == self.next {
                self.next = self.first_not_done(x);
            }
        }
        let (trigger, next) = (self.trigger, self.next);
        if self.ends.is_some()
            && (trigger <= next
                || (trigger == next + 1 && !self.misses(trigger, next))
                || trigger > next + self.window)
        {
            self.ends = None;
        }
        if self.ends.is_none() && self.misses(self.highest, next) {
            (self.trigger, self.ends) = (self.highest, Some(now + self.t));
        }
        if segment.poll {
            self.polled.insert(x);
        }
        self.answer_polls();
        true
    }

    fn answer_polls(&mut self) {
        let waiting = self.polled.split_off(&self.highest_status);
        self.reports |= !self.polled.is_empty();
        self.polled = waiting;
    }

    fn am_tick(&mut self, now: u64) {
        if self.ends.is_none_or(|at| now < at) {
            return;
        }
        self.ends = None;
        self.highest_status = self.first_not_done(self.trigger);
        if self.misses(self.highest, self.highest_status) {
            (self.trigger, self.ends) = (self.highest, Some(now + self.t));
        }
        self.answer_polls();
        self.reports = true;
    }

    /// The bytes that a report must name, SDU by SDU, without the bytes of an unknown end.
    fn missing(&self) -> Vec<(u64, BTreeSet<u32>)> {
        let of = |sn: u64| {
            let came = self.stored.get(&sn);
            let is_missing = |byte: &u32| !came.is_some_and(|stored| stored.bytes.contains(byte));
            let size = came.and_then(|stored| stored.size).unwrap_or(FAR);
            (sn, (0..size).filter(is_missing).collect())
        };
        (self.next..self.highest_status).filter(|sn| !self.done.contains(sn)).map(of).collect()
    }
}

/// A byte number beyond all SDUs of these tests: missing up to here means missing to the end.
const FAR: u32 = 64;

/// The bytes that a report names.
fn named(status: &StatusPdu, base: u64, mask: u64, oracle: &Oracle) -> Vec<(u64, BTreeSet<u32>)> {
    let mut named: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    for Nack { sn, range, so_start, so_end } in status.nacks.iter().copied() {
        let first = base + (u64::from(sn).wrapping_sub(base) & mask);
        let last = first + u64::from(range) - 1;
        for sn in first..=last {
            let size = oracle.stored.get(&sn).and_then(|stored| stored.size).unwrap_or(FAR);
            let start = if sn == first { u32::from(so_start) } else { 0 };
            let end = if sn == last && so_end != SO_END { u32::from(so_end) + 1 } else { size };
            named.entry(sn).or_default().extend(start..end);
        }
    }
    named.into_iter().collect()
}

/// Segments of SDUs 0, 1, 2, ..., some of them lost, late or duplicated, and the waits between
/// them. None is later than 30 SDUs, so that it lies within half of the smallest SN space.
fn traffic(count: u64) -> impl Strategy<Value = Vec<(Segment, u64)>> {
    let cuts = prop::collection::vec(prop::collection::vec(1..9u32, 2..5), count as usize);
    cuts.prop_flat_map(move |cuts| {
        let mut all = Vec::new();
        for (sdu, lengths) in cuts.iter().enumerate() {
            let mut start = 0;
            for (i, &len) in lengths.iter().enumerate() {
                let last = i + 1 == lengths.len();
                all.push(Segment { sdu: sdu as u64, start, len, last, poll: false });
                start += len;
            }
        }
        let fate =
            (0..10u8, 0..60usize, prop_oneof![3 => Just(0_u64), 1 => 1..3u64], any::<bool>());
        prop::collection::vec(fate, all.len()).prop_map(move |fates| {
            let mut sent: Vec<(usize, Segment, u64)> = Vec::new();
            for (i, (segment, (fate, stray, wait, poll))) in all.iter().zip(fates).enumerate() {
                let segment = Segment { poll, ..*segment };
                if fate > 0 {
                    sent.push((i + if fate < 4 { stray } else { 0 }, segment, wait));
                }
                if fate == 9 {
                    sent.push((i + stray, segment, wait));
                }
            }
            sent.sort_by_key(|(place, ..)| *place);
            sent.into_iter().map(|(_, segment, wait)| (segment, wait)).collect()
        })
    })
}

fn block(segment: &Segment, header: PduHeader) -> TbContent {
    let Segment { sdu, start, len, last, .. } = *segment;
    let mut content = TbContent::default();
    content.push_single(header, 4, Part { sdu: SduHandle(sdu), offset: start, len, last });
    content
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn um_does_what_the_standard_says_step_by_step(
        traffic in traffic(90),
        t in prop_oneof![Just(7_u64), Just(80)],
        sn_bits in prop_oneof![Just(6_u8), Just(12)],
    ) {
        let config =
            UmConfig { sn_bits, t_reassembly: Duration::from_millis(t), ..UmConfig::default() };
        let mut rx = RlcRx::new(&RlcModeConfig::Um(config)).expect("valid");
        let mut oracle = Oracle::new(1 << (sn_bits - 1), t);
        let (mut now, mut delivered, mut abandoned) = (0, vec![], vec![]);
        for (segment, wait) in traffic {
            let si = SegmentInfo::new(segment.start == 0, segment.last);
            let sn = segment.sdu as u32 & ((1 << sn_bits) - 1);
            let header = PduHeader::NrUm { si, sn, so: segment.start as u16 };
            let (came, lost) = receive(&mut rx, ms(now), &block(&segment, header));
            oracle.um(now, &segment);
            now += wait;
            let (later, given_up) = time_out(&mut rx, ms(now));
            oracle.um_tick(now);
            delivered.extend(came.into_iter().chain(later));
            abandoned.extend(lost.into_iter().chain(given_up));
            prop_assert_eq!(&delivered, &oracle.delivered);
            prop_assert_eq!(&abandoned, &oracle.abandoned);
            prop_assert_eq!(rx.next_timeout(), oracle.ends.map(ms));
        }
    }

    #[test]
    fn am_does_what_the_standard_says_step_by_step(
        traffic in traffic(90),
        t in prop_oneof![Just(7_u64), Just(80)],
        sn_bits in prop_oneof![Just(12_u8), Just(18)],
        // Sometimes, a step back to a lost segment.
        again in prop::collection::vec(0..1000usize, 300),
    ) {
        let config = AmConfig { sn_bits, t_reassembly: Duration::from_millis(t), ..nr_am() };
        let mut rx = RlcRx::new(&RlcModeConfig::Am(config)).expect("valid");
        let mut oracle = Oracle::new(1 << (sn_bits - 1), t);
        let mask = (1 << sn_bits) - 1;
        let (mut now, mut delivered) = (0, vec![]);
        let repeated = again.iter().filter_map(|&i| traffic.get(i)).copied().collect::<Vec<_>>();
        for (segment, wait) in traffic.into_iter().chain(repeated) {
            let si = SegmentInfo::new(segment.start == 0, segment.last);
            let sn = segment.sdu as u32;
            let header = PduHeader::NrAm { poll: segment.poll, si, sn, so: segment.start as u16 };
            let before = rx.discarded();
            delivered.extend(receive(&mut rx, ms(now), &block(&segment, header)).0);
            let accepted = oracle.am(now, &segment);
            prop_assert_eq!(rx.discarded() == before, accepted);
            now += wait;
            time_out(&mut rx, ms(now));
            oracle.am_tick(now);
            prop_assert_eq!(&delivered, &oracle.delivered);
            prop_assert_eq!(rx.next_timeout(), oracle.ends.map(ms));
            prop_assert_eq!(rx.status_due().is_some(), oracle.reports);
            if let Some(status) = rx.status(ms(now), u32::MAX) {
                prop_assert_eq!(u64::from(status.ack_sn), oracle.highest_status);
                prop_assert_eq!(named(status, oracle.next, mask, &oracle), oracle.missing());
                oracle.reports = false;
            }
        }
    }
}
