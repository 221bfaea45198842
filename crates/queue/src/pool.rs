//! The packets of many lanes in one pool, shared by the disciplines with hashed lanes.
//!
//! Each lane is a [`List`] of nodes in its queue's [`Pool`]. Freed nodes are reused, so the pool
//! has the greatest size of the queue so far, for any distribution over lanes. 72 bytes per packet,
//! 24 bytes per list.

use crate::lane::Queued;
use alloc::vec::Vec;

/// Null index.
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    queued: Queued,
    next: u32,
    prev: u32,
}

/// The packets of one lane in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    bytes: u64,
    head: u32,
    tail: u32,
    packets: u32,
}

impl List {
    /// A list without packets.
    pub(crate) const EMPTY: Self = Self { bytes: 0, head: NIL, tail: NIL, packets: 0 };

    #[inline]
    pub(crate) const fn packets(&self) -> u32 {
        self.packets
    }

    #[inline]
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

/// The packets of all lists of one queue. A list belongs to one pool throughout its life.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    nodes: Vec<Node>,
    /// First free node; free nodes are linked by `next`.
    free: u32,
    len: usize,
}

impl Pool {
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new(), free: NIL, len: 0 }
    }

    /// Allocates room for `packets` packets in all lists together.
    pub(crate) fn reserve(&mut self, packets: usize) {
        self.nodes.reserve_exact(packets.saturating_sub(self.nodes.len()));
    }

    /// Packets in all lists.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Slots for packets, used and free.
    #[cfg(test)]
    pub(crate) const fn places(&self) -> usize {
        self.nodes.len()
    }

    /// First packet of `list`.
    #[inline]
    pub(crate) fn head(&self, list: &List) -> Option<&Queued> {
        self.nodes.get(list.head as usize).map(|node| &node.queued)
    }

    pub(crate) fn push_back(&mut self, list: &mut List, queued: Queued) {
        let index = self.allocate(Node { queued, next: NIL, prev: list.tail });
        match self.nodes.get_mut(list.tail as usize) {
            Some(tail) => tail.next = index,
            None => list.head = index,
        }
        list.tail = index;
        self.count(list, &queued);
    }

    pub(crate) fn push_front(&mut self, list: &mut List, queued: Queued) {
        let index = self.allocate(Node { queued, next: list.head, prev: NIL });
        match self.nodes.get_mut(list.head as usize) {
            Some(head) => head.prev = index,
            None => list.tail = index,
        }
        list.head = index;
        self.count(list, &queued);
    }

    pub(crate) fn pop_front(&mut self, list: &mut List) -> Option<Queued> {
        (list.head != NIL).then(|| self.unlink(list, list.head))
    }

    pub(crate) fn pop_back(&mut self, list: &mut List) -> Option<Queued> {
        (list.tail != NIL).then(|| self.unlink(list, list.tail))
    }

    /// Visits the packets of `list` in order and removes each packet for which `keep` returns
    /// false.
    pub(crate) fn retain(&mut self, list: &mut List, mut keep: impl FnMut(&mut Queued) -> bool) {
        let mut index = list.head;
        while let Some(node) = self.nodes.get_mut(index as usize) {
            let next = node.next;
            if !keep(&mut node.queued) {
                self.unlink(list, index);
            }
            index = next;
        }
    }

    fn count(&mut self, list: &mut List, queued: &Queued) {
        list.packets += 1;
        list.bytes += u64::from(queued.packet.size);
        self.len += 1;
    }

    /// Puts `node` in a free slot or at the end of the pool.
    fn allocate(&mut self, node: Node) -> u32 {
        let index = self.free;
        match self.nodes.get_mut(index as usize) {
            Some(place) => {
                self.free = place.next;
                *place = node;
                index
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        }
    }

    /// Takes node `index` out of `list` and frees it.
    fn unlink(&mut self, list: &mut List, index: u32) -> Queued {
        let Node { queued, next, prev } = self.nodes[index as usize];
        match self.nodes.get_mut(prev as usize) {
            Some(node) => node.next = next,
            None => list.head = next,
        }
        match self.nodes.get_mut(next as usize) {
            Some(node) => node.prev = prev,
            None => list.tail = prev,
        }
        list.packets -= 1;
        list.bytes -= u64::from(queued.packet.size);
        self.nodes[index as usize].next = self.free;
        self.free = index;
        self.len -= 1;
        queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Packet;
    use std::vec::Vec;

    fn queued(id: u64, size: u32) -> Queued {
        Queued { packet: Packet { id, size, ..Packet::default() }, ..Queued::default() }
    }

    fn ids(pool: &Pool, list: &List) -> Vec<u64> {
        let (mut pool, mut list) = (pool.clone(), *list);
        core::iter::from_fn(|| pool.pop_front(&mut list)).map(|q| q.packet.id).collect()
    }

    #[test]
    fn lists_in_one_pool_keep_their_own_order_from_both_ends() {
        let mut pool = Pool::new();
        let mut lists = [List::EMPTY; 2];
        for id in 0..10 {
            pool.push_back(&mut lists[id as usize % 2], queued(id, 100));
        }
        pool.push_front(&mut lists[0], queued(10, 50));
        assert_eq!(pool.pop_back(&mut lists[1]).map(|q| q.packet.id), Some(9));
        pool.retain(&mut lists[1], |q| q.packet.id != 3);
        assert_eq!(
            (ids(&pool, &lists[0]), ids(&pool, &lists[1])),
            ([10, 0, 2, 4, 6, 8].into(), [1, 5, 7].into())
        );
        assert_eq!((lists[0].packets(), lists[0].bytes(), pool.len()), (6, 550, 9));
    }

    #[test]
    fn a_place_that_became_free_is_used_again() {
        let mut pool = Pool::new();
        let mut lists = [List::EMPTY; 3];
        for id in 0..1000u64 {
            let list = &mut lists[id as usize % 3];
            pool.push_back(list, queued(id, 1));
            if pool.len() == 4 {
                pool.pop_front(list);
            }
        }
        assert!(pool.places() <= 4, "{}", pool.places());
    }

    #[test]
    fn nodes_and_lists_have_the_stated_size() {
        assert_eq!((size_of::<Node>(), size_of::<List>()), (72, 24));
    }
}
