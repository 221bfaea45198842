//! The order in which windows reach workers. A fall is sent at once. A rise is sent after the
//! workers have applied every earlier fall. So the sum of a cell's applied windows never exceeds
//! its bound, whichever workers have its connections.
//!
//! A mark follows the falls to each worker. The worker returns the mark after it has applied the
//! falls. A rise that comes while a mark is out waits for the next mark.

use justfull_base::{Duration, Instant};
use justfull_rapid::Windows;
use std::collections::{BTreeMap, BTreeSet};

/// Longest wait for the return of a mark.
const PATIENCE: Duration = Duration::from_millis(250);

/// The next messages to workers.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// Send this mark to these workers.
    Mark(u64, Vec<usize>),
    /// Send these windows, by key.
    Rise(BTreeMap<u64, Windows>),
}

/// The order of the windows of all connections. The first windows of a connection are a rise.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// Windows that the workers have applied, or that are on the lines to them, by key.
    has: BTreeMap<u64, Windows>,
    /// Rises that wait for the mark that is out, and rises for the next mark.
    waiting: BTreeMap<u64, Windows>,
    later: BTreeMap<u64, Windows>,
    /// Workers with falls after the last mark.
    fell: BTreeSet<usize>,
    /// The last mark, its time, and the workers that have not returned it.
    mark: u64,
    since: Instant,
    unanswered: BTreeSet<usize>,
}

/// The smaller window of each side, and reading only if both read.
fn least(a: Windows, b: Windows) -> Windows {
    Windows {
        server: a.server.min(b.server),
        radio: a.radio.min(b.radio),
        reading: a.reading && b.reading,
    }
}

impl Order {
    /// Takes new windows for a connection of `worker`. Returns the windows to send at once; none if
    /// no window falls.
    pub(crate) fn change(&mut self, worker: usize, key: u64, new: Windows) -> Option<Windows> {
        let had = self.has.get(&key).copied();
        let falls = had.map(|had| least(had, new));
        let rises = |waiting: &mut BTreeMap<u64, Windows>, to: Windows| {
            match falls == Some(to) {
                true => waiting.remove(&key),
                false => waiting.insert(key, to),
            };
        };
        if let Some(&waits) = self.waiting.get(&key) {
            rises(&mut self.waiting, least(waits, new));
        }
        match self.waiting.get(&key) == Some(&new) {
            true => _ = self.later.remove(&key),
            false => rises(&mut self.later, new),
        }
        let falls = falls.filter(|_| falls != had)?;
        self.has.insert(key, falls);
        self.fell.insert(worker);
        Some(falls)
    }

    /// The next step; none if no rise waits, or if all rises wait for workers.
    pub(crate) fn step(&mut self, now: Instant) -> Option<Step> {
        if self.waiting.is_empty() {
            if self.later.is_empty() {
                return None;
            }
            self.waiting = std::mem::take(&mut self.later);
            // If all rises of the last mark were withdrawn, its falls may still be on the lines.
            self.unanswered.append(&mut self.fell);
            (self.mark, self.since) = (self.mark + 1, now);
            if !self.unanswered.is_empty() {
                return Some(Step::Mark(self.mark, self.unanswered.iter().copied().collect()));
            }
        }
        if !self.unanswered.is_empty() && now.since(self.since) < PATIENCE {
            return None;
        }
        self.unanswered.clear();
        let rises = std::mem::take(&mut self.waiting);
        self.has.extend(&rises);
        Some(Step::Rise(rises))
    }

    /// Notes that a worker has applied all messages before a mark.
    pub(crate) fn answered(&mut self, worker: usize, mark: u64) {
        if mark == self.mark {
            self.unanswered.remove(&worker);
        }
    }

    /// Removes the windows of a connection that has ended.
    pub(crate) fn forget(&mut self, key: u64) {
        for map in [&mut self.has, &mut self.waiting, &mut self.later] {
            map.remove(&key);
        }
    }

    /// Removes a worker that has ended, and its connections: the keys for which `is_of` is true.
    pub(crate) fn gone(&mut self, worker: usize, is_of: impl Fn(u64) -> bool) {
        for map in [&mut self.has, &mut self.waiting, &mut self.later] {
            map.retain(|key, _| !is_of(*key));
        }
        self.fell.remove(&worker);
        self.unanswered.remove(&worker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    const WORKERS: usize = 3;
    const FLOWS: u64 = 12;
    const CELL: u64 = 1_000;

    fn windows(size: u64) -> Windows {
        Windows { server: size, radio: 2 * size, reading: true }
    }

    /// The messages to a worker and from it, and the windows that it has applied.
    #[derive(Default)]
    struct Line {
        down: VecDeque<Sent>,
        up: VecDeque<u64>,
        has: BTreeMap<u64, Windows>,
    }

    enum Sent {
        Windows(u64, Windows),
        Mark(u64),
    }

    /// A generator of numbers below `most` (Marsaglia 2003, xorshift).
    fn random(state: &mut u64, most: u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 16) % most
    }

    fn worker_of(key: u64) -> usize {
        key as usize % WORKERS
    }

    fn steps(order: &mut Order, lines: &mut [Line]) {
        while let Some(step) = order.step(Instant::ZERO) {
            match step {
                Step::Mark(mark, workers) => {
                    workers.into_iter().for_each(|at| lines[at].down.push_back(Sent::Mark(mark)));
                }
                Step::Rise(rises) => {
                    for (key, windows) in rises {
                        lines[worker_of(key)].down.push_back(Sent::Windows(key, windows));
                    }
                }
            }
        }
    }

    /// The control moves shares between connections of one cell, connections begin and end, and
    /// each worker reads and answers at random times.
    #[test]
    fn windows_that_workers_have_applied_never_exceed_their_cell() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        let (mut order, mut targets) = (Order::default(), BTreeMap::new());
        let mut lines: Vec<Line> = (0..WORKERS).map(|_| Line::default()).collect();
        let (mut most, mut equal) = (0, 0);
        for _ in 0..200_000 {
            let key = random(&mut state, FLOWS);
            let at = worker_of(key);
            match random(&mut state, 8) {
                0 => {
                    // Another connection's window is halved. The new window is at most the rest.
                    let other = random(&mut state, FLOWS);
                    if let Some(size) = targets.get_mut(&other) {
                        *size /= 2;
                        let fall = order.change(worker_of(other), other, windows(*size));
                        fall.into_iter().for_each(|fall| {
                            lines[worker_of(other)].down.push_back(Sent::Windows(other, fall));
                        });
                    }
                    targets.remove(&key);
                    let free = CELL - targets.values().sum::<u64>();
                    let size = random(&mut state, free + 1);
                    targets.insert(key, size);
                    let fall = order.change(at, key, windows(size));
                    fall.into_iter()
                        .for_each(|fall| lines[at].down.push_back(Sent::Windows(key, fall)));
                }
                1 if random(&mut state, 20) == 0 => {
                    // The connection has ended; the line has no more messages about it.
                    let line = &mut lines[at];
                    line.has.remove(&key);
                    line.down.retain(|sent| !matches!(sent, Sent::Windows(of, _) if *of == key));
                    targets.remove(&key);
                    order.forget(key);
                }
                2..5 => match lines[at].down.pop_front() {
                    Some(Sent::Windows(key, windows)) => {
                        lines[at].has.insert(key, windows);
                    }
                    Some(Sent::Mark(mark)) => lines[at].up.push_back(mark),
                    None => {}
                },
                5 => lines[at].up.pop_front().into_iter().for_each(|m| order.answered(at, m)),
                _ => {}
            }
            steps(&mut order, &mut lines);
            let applied = || lines.iter().flat_map(|line| line.has.values());
            let [server, radio] =
                [applied().map(|w| w.server).sum::<u64>(), applied().map(|w| w.radio).sum()];
            assert!(server <= CELL && radio <= 2 * CELL, "{server} {radio}");
            most = most.max(server);
            let all = |(key, size): (&u64, &u64)| {
                lines[worker_of(*key)].has.get(key) == Some(&windows(*size))
            };
            equal += u64::from(targets.iter().all(all));
        }
        assert!(most > CELL * 9 / 10 && equal > 100, "{most} {equal}");
    }

    #[test]
    fn rises_wait_250_ms_for_a_silent_worker_and_not_for_a_worker_that_has_ended() {
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        let begin = || {
            let mut order = Order::default();
            for key in 0..2 {
                assert_eq!(order.change(worker_of(key), key, windows(500)), None);
            }
            assert!(matches!(order.step(ms(0)), Some(Step::Rise(rises)) if rises.len() == 2));
            assert_eq!(order.change(0, 0, windows(100)), Some(windows(100)));
            assert_eq!(order.change(1, 1, windows(900)), None);
            assert_eq!(order.step(ms(0)), Some(Step::Mark(2, vec![0])));
            order
        };
        let rise = Some(Step::Rise(BTreeMap::from([(1, windows(900))])));
        let mut order = begin();
        order.answered(0, 1);
        order.answered(1, 2);
        assert_eq!(order.step(ms(249)), None);
        assert_eq!(order.step(ms(250)), rise);
        let mut order = begin();
        order.gone(0, |key| worker_of(key) == 0);
        assert_eq!(order.step(ms(1)), rise);
        assert_eq!(order.has.len(), 1);
        let mut order = begin();
        order.answered(0, 2);
        assert_eq!(order.step(ms(1)), rise);
        assert_eq!(order.step(ms(1)), None);
        // A rise that is withdrawn before the return of its mark is never sent. The next rise also
        // waits for the falls before that mark.
        let mut order = begin();
        assert_eq!(order.change(1, 1, windows(500)), None);
        assert_eq!(order.step(ms(1)), None);
        assert_eq!(order.change(2, 2, windows(400)), None);
        assert_eq!(order.step(ms(1)), Some(Step::Mark(3, vec![0])));
        order.answered(0, 2);
        assert_eq!(order.step(ms(1)), None);
        order.answered(0, 3);
        let rise = Some(Step::Rise(BTreeMap::from([(2, windows(400))])));
        assert_eq!(order.step(ms(1)), rise);
    }
}
