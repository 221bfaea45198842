//! Steady lanes: lanes of flows that do not fill their queues, which go before the others.
//!
//! A sender that takes all that it gets (a download) soon has packets in its lane all the time,
//! also if the lane goes first. The lane of a sender that its application limits (a call, a video
//! call, a game) then runs empty again and again, even if the flow needs more than its share of the
//! lanes. So a flow begins steady. Its lane *stands* once it has held packets for the time
//! `steady`, on the clock and by bytes: the queue has sent as many as in that time at its mean rate
//! of about two seconds, so no lane stands because the radio does. A lane that stands stays steady
//! only if the radio slowed down and the sender did not grow, which these three show:
//!
//! - In the present period of a second, the flow's rate is at most 1.5 times its proven rate: its
//!   greatest in a period in which the lane never stood.
//! - The flow's rate is at most half of the queue's mean rate.
//! - The lane has not stood in each of the [`PATIENCE`] periods before.
//!
//! A lane is steady again after [`CLEAN`] periods in a row in which it never stood.
//!
//! Steady lanes go first while they have saved bytes: each byte that leaves another lane in its
//! turn saves one. So they take at most half of the rate while others wait, and a flow that gains
//! from new connections takes no more. Of steady lanes, the next is the lane that will have sent
//! least since it was empty (least attained service: I. A. Rai, E. W. Biersack and G.
//! Urvoy-Keller, "Size-based scheduling to improve the performance of short TCP flows", IEEE
//! Network, 2005), so a call does not wait for pages.

use crate::discipline::Lane;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use justfull_base::{Duration, Instant};

/// Length of a period, and time over which the queue's rate is measured.
const PERIOD: Duration = Duration::from_secs(1);
/// Part of a period after which its bytes show a rate.
const EARLY: Duration = Duration::from_millis(500);
/// Ratio to a flow's proven rate above which it has grown.
const GROWN: f64 = 1.5;
/// Part of the queue's rate that a lane that stands may have.
const MOST: f64 = 0.5;
/// Periods in a row in which a steady lane may stand.
const PATIENCE: i8 = 3;
/// Periods in a row in which a lane must not stand to be steady again.
const CLEAN: i8 = 8;
/// Most that is saved: bytes at the queue's rate, and at least this many, 20 packets.
const SAVED: Duration = Duration::from_millis(100);
const LEAST_SAVED: i64 = 30_000;
/// Lanes that are compared for the next turn.
const COMPARED: usize = 8;

/// A flow in its lane.
#[derive(Clone, Copy, Debug, Default)]
struct Conduct {
    flow: u32,
    is_steady: bool,
    /// It is in the turns.
    listed: bool,
    /// It stood in this period.
    stood: bool,
    /// Periods in a row in which it never stood, or, below zero, in each of which it stood.
    row: i8,
    /// Bytes that left before others since the lane was last empty.
    burst: u32,
    /// When the lane last was empty or was found standing, and the bytes that had left the queue.
    at: Instant,
    sent: u64,
    /// The begin of the period, and the bytes that came since.
    begun: Instant,
    bytes: u32,
    /// Greatest rate of a period in which it never stood, in bytes a second.
    proven: f32,
}

impl Conduct {
    /// Ends the period, if it is over.
    fn renew(&mut self, now: Instant) {
        let time = now.since(self.begun);
        if time < PERIOD {
            return;
        }
        if self.stood {
            self.row = self.row.min(0).saturating_sub(1);
        } else {
            self.row = self.row.max(0).saturating_add(1);
            let rate = f64::from(self.bytes) / time.as_secs_f64();
            self.proven = self.proven.max(rate as f32);
        }
        (self.begun, self.bytes, self.stood) = (now, 0, false);
    }

    /// True if the sender of this standing lane has not grown; `rate` is the queue's mean rate.
    fn is_excused(&self, now: Instant, rate: f64) -> bool {
        let time = now.since(self.begun).max(EARLY).as_secs_f64();
        let own = f64::from(self.bytes) / time;
        let most = (GROWN * f64::from(self.proven)).min(MOST * rate);
        own <= most && self.row > -PATIENCE
    }
}

/// The steady lanes among the lanes of a class.
#[derive(Clone, Debug)]
pub(super) struct Steady {
    /// Time for which a steady lane may hold packets; 0 if no lane is steady.
    time: Duration,
    lanes: Vec<Conduct>,
    /// Lanes that got a packet while they were steady. Some are steady no longer or empty by now.
    turns: VecDeque<Lane>,
    /// Bytes that steady lanes may send before others.
    saved: i64,
    /// Bytes that have left the class.
    sent: u64,
    /// The begin of the measurement of the rate, and the bytes that had left then.
    since: Instant,
    before: u64,
    /// Mean rate in bytes a second; 0 before the first measurement.
    rate: f64,
}

impl Steady {
    /// Without lanes so far; a steady lane may hold packets for `time`.
    pub(super) const fn new(time: Duration) -> Self {
        Self {
            time,
            lanes: Vec::new(),
            turns: VecDeque::new(),
            saved: LEAST_SAVED,
            sent: 0,
            since: Instant::ZERO,
            before: 0,
            rate: 0.0,
        }
    }

    /// A packet of `size` bytes of `flow` comes to `lane`, which has no other if `is_empty`.
    pub(super) fn arrives(
        &mut self,
        now: Instant,
        lane: Lane,
        flow: u32,
        size: u32,
        is_empty: bool,
    ) {
        if self.time.is_zero() {
            return;
        }
        self.measure(now);
        let at = usize::from(lane);
        if at >= self.lanes.len() {
            self.lanes.resize(at + 1, Conduct::default());
        }
        let least = self.rate * self.time.as_secs_f64();
        let conduct = &mut self.lanes[at];
        if is_empty && (conduct.flow != flow || conduct.begun == Instant::ZERO) {
            let listed = conduct.listed;
            *conduct = Conduct { flow, is_steady: true, listed, begun: now, ..Conduct::default() };
        }
        conduct.renew(now);
        conduct.bytes = conduct.bytes.saturating_add(size);
        if is_empty {
            (conduct.at, conduct.sent, conduct.burst) = (now, self.sent, 0);
        } else if now.since(conduct.at) >= self.time && (self.sent - conduct.sent) as f64 >= least {
            (conduct.at, conduct.sent, conduct.stood) = (now, self.sent, true);
            conduct.is_steady &= conduct.is_excused(now, self.rate);
        }
        conduct.is_steady |= conduct.row >= CLEAN && !conduct.stood;
        if conduct.is_steady && !conduct.listed {
            conduct.listed = true;
            self.turns.push_back(lane);
        }
    }

    fn measure(&mut self, now: Instant) {
        let time = now.since(self.since);
        if time >= PERIOD {
            let rate = (self.sent - self.before) as f64 / time.as_secs_f64();
            self.rate = if self.rate > 0.0 { 0.5 * (self.rate + rate) } else { rate };
            (self.since, self.before) = (now, self.sent);
        }
    }

    /// True when `lane` is steady.
    pub(super) fn is_steady(&self, lane: Lane) -> bool {
        self.lanes.get(usize::from(lane)).is_some_and(|conduct| conduct.is_steady)
    }

    /// Compares the first steady lanes that have a packet; `head` returns its size. Returns the
    /// lane that will have sent least since it was empty.
    fn least(&self, head: impl Fn(Lane) -> Option<u32>) -> Option<Lane> {
        let cost = |lane: &Lane| {
            let conduct = &self.lanes[usize::from(*lane)];
            let size = if conduct.is_steady { head(*lane) } else { None }?;
            Some((conduct.burst.saturating_add(size), *lane))
        };
        let costs = self.turns.iter().filter_map(cost).take(COMPARED);
        costs.min_by_key(|(cost, _)| *cost).map(|(_, lane)| lane)
    }

    /// The steady lane whose turn it is, if any may send; `head` has the size of a lane's first
    /// packet.
    pub(super) fn turn(&self, head: impl Fn(Lane) -> Option<u32>) -> Option<Lane> {
        if self.saved > 0 { self.least(head) } else { None }
    }

    /// The same; forgets the lanes before the first that could have the turn.
    pub(super) fn advance(&mut self, head: impl Fn(Lane) -> Option<u32>) -> Option<Lane> {
        while self.saved > 0 {
            let lane = *self.turns.front()?;
            if self.is_steady(lane) && head(lane).is_some() {
                return self.least(head);
            }
            self.turns.pop_front();
            self.lanes[usize::from(lane)].listed = false;
        }
        None
    }

    /// A packet of `lane` left before others.
    pub(super) fn served_first(&mut self, lane: Lane, size: u32) {
        self.sent += u64::from(size);
        self.saved -= i64::from(size);
        let conduct = &mut self.lanes[usize::from(lane)];
        conduct.burst = conduct.burst.saturating_add(size);
    }

    /// A packet left in the turn of its lane.
    pub(super) fn served(&mut self, size: u32) {
        self.sent += u64::from(size);
        let most = ((self.rate * SAVED.as_secs_f64()) as i64).max(LEAST_SAVED);
        self.saved = (self.saved + i64::from(size)).min(most);
    }

    /// Allocates now all that `lanes` lanes need.
    pub(super) fn reserve(&mut self, lanes: usize) {
        if !self.time.is_zero() {
            self.lanes.reserve_exact(lanes.saturating_sub(self.lanes.len()));
            self.turns.reserve_exact(lanes.saturating_sub(self.turns.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Duration = Duration::from_millis(50);

    /// Lanes of a queue that sends 1000 B each ms, or more slowly, with a count of the bytes in
    /// each lane.
    struct Bench {
        steady: Steady,
        now: Instant,
        waiting: Vec<Vec<u32>>,
    }

    impl Bench {
        fn new() -> Self {
            let waiting = alloc::vec![Vec::new(); 4];
            Self { steady: Steady::new(STEADY), now: at(0), waiting }
        }

        fn push(&mut self, lane: Lane, size: u32) {
            let own = &mut self.waiting[usize::from(lane)];
            self.steady.arrives(self.now, lane, 7 + u32::from(lane), size, own.is_empty());
            own.push(size);
        }

        /// Sends the packet that goes first, else one of the last lane with packets; its lane.
        fn serve(&mut self) -> Option<Lane> {
            let head = |lane: Lane| self.waiting[usize::from(lane)].first().copied();
            let announced = self.steady.turn(head);
            let first = self.steady.advance(head);
            assert_eq!(announced, first);
            let other = || (0..4).rev().find(|lane| head(*lane).is_some());
            let lane = first.or_else(other)?;
            let size = self.waiting[usize::from(lane)].remove(0);
            match first {
                Some(_) => self.steady.served_first(lane, size),
                None => self.steady.served(size),
            }
            Some(lane)
        }

        /// A download in lane 3 keeps 20 packets of 1000 B, for `ms`; a packet leaves each `slot`
        /// ms. `call` adds packets. Returns the packets that left each lane.
        fn run(&mut self, ms: u64, slot: u64, call: impl Fn(u64) -> Option<u32>) -> [u32; 4] {
            let mut left = [0; 4];
            for ms in 0..ms {
                self.now += Duration::from_millis(1);
                while self.waiting[3].len() < 20 {
                    self.push(3, 1000);
                }
                if let Some(size) = call(ms) {
                    self.push(0, size);
                }
                if ms % slot == 0 {
                    let lane = self.serve().expect("the download waits");
                    left[usize::from(lane)] += 1;
                }
            }
            left
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A packet of 1000 B each 4 ms: a quarter of the rate.
    fn quarter(ms: u64) -> Option<u32> {
        ms.is_multiple_of(4).then_some(1000)
    }

    #[test]
    fn a_download_is_steady_no_more_after_its_time_and_a_flow_of_a_quarter_stays_so() {
        let mut bench = Bench::new();
        bench.run(40, 1, |_| None);
        assert!(bench.steady.is_steady(3));
        bench.run(20, 1, |_| None);
        assert!(!bench.steady.is_steady(3));
        let left = bench.run(5000, 1, quarter);
        assert!(bench.steady.is_steady(0) && !bench.steady.is_steady(3));
        assert_eq!(left[0], 1250, "each goes at once");
        assert!(bench.waiting[0].is_empty());
    }

    #[test]
    fn a_proven_flow_stays_steady_when_the_radio_stands_or_is_slow_for_a_while() {
        for (ms, slot) in [(400, 400), (400, 10)] {
            let mut bench = Bench::new();
            bench.run(4000, 1, quarter);
            bench.run(ms, slot, quarter);
            assert!(bench.steady.is_steady(0), "a packet each {slot} ms");
            bench.run(4000, 1, quarter);
            assert!(bench.steady.is_steady(0) && bench.waiting[0].is_empty(), "{slot} ms");
        }
    }

    #[test]
    fn a_flow_that_grows_and_fills_its_lane_is_steady_no_more() {
        let mut bench = Bench::new();
        bench.run(4000, 1, quarter);
        bench.run(1000, 1, |_| Some(1000));
        assert!(!bench.steady.is_steady(0));
    }

    #[test]
    fn a_lane_that_stands_for_three_periods_in_a_row_is_steady_no_more() {
        let mut bench = Bench::new();
        bench.run(4000, 1, quarter);
        // A sixteenth of the rate for good.
        let steady: Vec<bool> = (0..6)
            .map(|_| {
                bench.run(1000, 16, quarter);
                bench.steady.is_steady(0)
            })
            .collect();
        assert!(steady[0] && !steady[5], "{steady:?}");
    }

    #[test]
    fn after_eight_clean_periods_a_lane_is_steady_again() {
        let mut bench = Bench::new();
        bench.run(100, 1, |_| Some(1000));
        assert!(!bench.steady.is_steady(0));
        bench.waiting[0].clear();
        let sparse = |ms: u64| ms.is_multiple_of(20).then_some(100);
        let again = (1..20).find(|_| {
            // The sparse flow's packets leave at once, whoever is in turn.
            for ms in 0..1000 {
                bench.now += Duration::from_millis(1);
                if let Some(size) = sparse(ms) {
                    bench.push(0, size);
                    bench.waiting[0].clear();
                    bench.steady.served(size);
                }
            }
            bench.steady.is_steady(0)
        });
        assert!(again.is_some_and(|seconds| (8..=10).contains(&seconds)), "{again:?}");
    }

    #[test]
    fn steady_lanes_take_half_of_the_rate_and_what_was_saved_at_most() {
        let mut bench = Bench::new();
        bench.run(60, 1, |_| None);
        // Each packet comes from a new flow, which is steady, in an empty lane.
        let mut left = [0_u32; 2];
        for n in 0..10_000 {
            bench.now += Duration::from_millis(1);
            bench.waiting[0].clear();
            bench.steady.arrives(bench.now, 0, 1000 + n, 1000, true);
            bench.waiting[0].push(1000);
            bench.waiting[3].resize(20, 1000);
            let lane = bench.serve().expect("both wait");
            left[usize::from(lane == 3)] += 1;
        }
        assert!(left[0] <= left[1] + 101, "{left:?}");
    }

    #[test]
    fn of_steady_lanes_the_one_that_has_sent_least_goes_next() {
        let mut bench = Bench::new();
        for lane in [0, 1] {
            (0..3).for_each(|_| bench.push(lane, 1500));
        }
        assert_eq!([bench.serve(), bench.serve(), bench.serve()], [Some(0), Some(1), Some(0)]);
        bench.push(2, 200);
        assert_eq!([bench.serve(), bench.serve()], [Some(2), Some(1)]);
    }

    #[test]
    fn without_a_time_no_lane_is_steady() {
        let mut steady = Steady::new(Duration::ZERO);
        (0..4).for_each(|lane| steady.arrives(at(1), lane, 1, 100, true));
        assert!((0..4).all(|lane| !steady.is_steady(lane)));
        assert_eq!(steady.advance(|_| Some(100)), None);
    }
}
