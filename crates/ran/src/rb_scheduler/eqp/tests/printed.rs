//! Algorithm 5 of A21 line by line, and cells in which it does not find the greatest number of
//! SDUs.
//!
//! The print leaves one detail open: here `pkt_size` is the bytes of one SDU, converted to blocks
//! together with the SDUs that its UE already has in the permutation, and rounded up to groups by
//! `adjust_rbgs`, as the text of section IV-B says.

use super::*;
use alloc::collections::BTreeMap;

/// The content of a memo entry.
#[derive(Clone, Copy, PartialEq)]
enum Memo {
    /// The whole permutation, as line 31 prints it.
    Whole,
    /// The additions from this state on: the most favourable reading.
    Added,
    /// No memo: every state is searched again.
    None,
}

/// Queue and index of a selected SDU.
type Packet = (usize, usize);

struct Printed<'a> {
    /// UE and SDUs of each queue.
    queues: &'a [(usize, Vec<u32>)],
    per_rb: u32,
    rbg: u32,
    memo_of: Memo,
    memo: BTreeMap<(usize, usize, i64), Vec<Packet>>,
}

impl Printed<'_> {
    /// Capacity in blocks that remains after `packet` has joined `out`.
    fn adjust_rbgs(&self, capacity: i64, out: &[Packet], packet: Packet) -> i64 {
        let ue = self.queues[packet.0].0;
        let own = out.iter().filter(|(q, _)| self.queues[*q].0 == ue);
        let bytes: u32 = own.map(|&(q, i)| self.queues[q].1[i]).sum();
        let groups = |bytes: u32| bytes.div_ceil(self.per_rb).div_ceil(self.rbg);
        let more = groups(bytes + self.queues[packet.0].1[packet.1]) - groups(bytes);
        capacity - i64::from(more * self.rbg)
    }

    fn seg_avoid(
        &mut self,
        mut q: usize,
        mut pkt: usize,
        capacity: i64,
        out: &[Packet],
    ) -> Vec<Packet> {
        if capacity == 0 || q >= self.queues.len() {
            return out.to_vec();
        }
        let key = (q, pkt, capacity);
        match (self.memo.get(&key), self.memo_of) {
            (Some(known), Memo::Whole) => return known.clone(),
            (Some(added), Memo::Added) => return [out, added].concat(),
            _ => {}
        }
        let packet = (q, pkt);
        let left = self.adjust_rbgs(capacity, out, packet);
        if left < 0 {
            return self.seg_avoid(q + 1, 0, capacity, out);
        }
        pkt += 1;
        if pkt == self.queues[q].1.len() {
            (q, pkt) = (q + 1, 0);
        }
        let take = self.seg_avoid(q, pkt, left, &[out, &[packet]].concat());
        let dont_take = self.seg_avoid(packet.0 + 1, 0, capacity, out);
        let best = if take.len() > dont_take.len() { take } else { dont_take };
        let kept =
            if self.memo_of == Memo::Added { best[out.len()..].to_vec() } else { best.clone() };
        self.memo.insert(key, kept);
        best
    }
}

/// Two UEs with two queues each.
fn cell(queues: &[(usize, Vec<u32>)], rbs: u16) -> Cell {
    let ues = (0..2_usize)
        .map(|ue| {
            let own =
                queues.iter().filter(|(of, _)| *of == ue).map(|(_, sdus)| sdus.clone()).collect();
            Ue::new(ue as u32, 0, 100, own)
        })
        .collect();
    Cell::new(rbs, 2, ues)
}

fn printed(queues: &[(usize, Vec<u32>)], rbs: u16, memo_of: Memo) -> usize {
    let mut printed = Printed { queues, per_rb: 100, rbg: 2, memo_of, memo: BTreeMap::new() };
    printed.seg_avoid(0, 0, i64::from(rbs), &[]).len()
}

fn ours(queues: &[(usize, Vec<u32>)], rbs: u16) -> usize {
    let mut scheduler = eqp(EqpConfig::default(), &[1.0]);
    cell(queues, rbs).demand(|demand| scheduler.schedule(demand, &mut RbAllocation::default()));
    scheduler.stats().whole_sdus as usize
}

/// Queues that are alone in their UE or share it with another.
fn queues<const N: usize>(of: [(usize, &[u32]); N]) -> Vec<(usize, Vec<u32>)> {
    of.map(|(ue, sdus)| (ue, sdus.to_vec())).to_vec()
}

#[test]
fn the_printed_memo_forgets_the_groups_of_a_ue_and_misses_the_most_sdus() {
    // The additions at "4th queue, 2 blocks left" are memoised on a visit when UE 1 had no group
    // yet: one SDU for a group. Once the 3rd queue has a group of UE 1, half of it free, two SDUs
    // fit.
    let shared = queues([(0, &[100]), (0, &[300]), (1, &[100]), (1, &[100, 100])]);
    assert_eq!(printed(&shared, 4, Memo::None), 3, "without the memo the recursion finds the best");
    assert_eq!(
        printed(&shared, 4, Memo::Added),
        2,
        "with the kindest reading of the memo it does not"
    );
    assert_eq!(ours(&shared, 4), 3);
}

#[test]
fn a_memo_of_whole_permutations_brings_back_the_choices_of_another_branch() {
    let shared = queues([(0, &[400]), (0, &[200, 100]), (1, &[100])]);
    assert_eq!(printed(&shared, 6, Memo::None), 3);
    assert_eq!(printed(&shared, 6, Memo::Whole), 2, "line 31 as it stands");
    assert_eq!(ours(&shared, 6), 3);
}

#[test]
fn the_printed_recursion_ends_at_no_capacity_though_a_group_has_room() {
    let shared = queues([(0, &[100]), (0, &[100])]);
    assert_eq!(printed(&shared, 2, Memo::None), 1, "lines 1 to 3");
    assert_eq!(ours(&shared, 2), 2, "both in one group");
}

#[test]
fn the_printed_algorithm_never_beats_ours() {
    let mut rng = Rng::stream(1, "algorithm 5");
    for _ in 0..5_000 {
        let sdus = |rng: &mut Rng| {
            (0..1 + rng.below(3)).map(|_| 100 * (1 + rng.below(6) as u32)).collect()
        };
        let queues: Vec<_> =
            (0..2 + rng.below(3) as usize).map(|q| (usize::from(q > 1), sdus(&mut rng))).collect();
        let rbs = 2 * (1 + rng.below(5) as u16);
        let ours = ours(&queues, rbs);
        for memo in [Memo::None, Memo::Added, Memo::Whole] {
            assert!(printed(&queues, rbs, memo) <= ours, "{queues:?} {rbs}");
        }
    }
}
