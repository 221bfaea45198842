//! The round trip of a lane's sender, measured at the bottleneck, and the reserve that it needs.
//!
//! A sender begins with a burst, the initial window of its connection (RFC 6928: ten packets), and
//! sends more when the burst's first packet is acknowledged. So one round trip, without the lane's
//! own wait, passes from the first departure of an idle lane to the first arrival after a pause. A
//! pause lasts at least half of that time. A paced sender makes no pause, so its lane keeps the
//! setting. A lane with packets at regular intervals, such as a call's, keeps it too if the
//! intervals are shorter. The least of a lane's round trips counts: the response time of a server
//! makes them longer.
//!
//! No header is read, so it works with QUIC and in a tunnel.

use justfull_base::{Duration, Instant};

/// A lane without an arrival for this time is idle: the next packet may begin a burst again.
const IDLE: Duration = Duration::from_secs(1);
/// Shorter pauses lie between two slots.
const SHORT: Duration = Duration::from_millis(2);
/// Part of a round trip by which the reserve exceeds its setting: a sender that cuts its window to
/// 0.7 (RFC 9438 section 4.6) needs 0.43 round trips, and a sender that halves it needs a whole
/// round trip.
const SHARE: f64 = 0.5;

/// See the module's page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reach {
    /// Least round trip so far, in ns; 0 before the first.
    round_trip: Duration,
    /// The last arrival; none before the first.
    arrived: Option<Instant>,
    /// The first departure since the lane was idle.
    departed: Option<Instant>,
    /// The first departure, or the pause after it, is still to come.
    is_open: bool,
    /// Hash of the flow.
    flow: u32,
}

impl Reach {
    /// The reach of a flow that begins.
    pub(super) fn of(flow: u32) -> Self {
        Self { flow, ..Self::default() }
    }

    /// True if it is of `flow`.
    pub(super) const fn is_of(&self, flow: u32) -> bool {
        self.flow == flow
    }

    /// The reserve that the sender needs, `least` to `most`.
    pub(super) fn reserve(&self, least: Duration, most: Duration) -> Duration {
        self.round_trip.scaled(SHARE).clamp(least, most.max(least))
    }

    /// A packet comes.
    pub(super) fn on_enqueue(&mut self, now: Instant) {
        let pause = self.arrived.map(|at| now.since(at));
        self.arrived = Some(now);
        if pause.is_none_or(|pause| pause >= IDLE) {
            (self.is_open, self.departed) = (true, None);
            return;
        }
        let (Some(pause), Some(departed)) = (pause, self.departed) else { return };
        if !self.is_open || pause < SHORT {
            return;
        }
        let since = now.since(departed);
        if pause.times(2) >= since {
            let known = !self.round_trip.is_zero();
            self.round_trip = if known { self.round_trip.min(since) } else { since };
            self.is_open = false;
        }
    }

    /// A packet leaves.
    pub(super) fn on_dequeue(&mut self, now: Instant) {
        if self.is_open && self.departed.is_none() {
            self.departed = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// The reserve in ms of at least 20 and at most 100.
    fn reserve(reach: &Reach) -> u64 {
        let reserve = reach.reserve(Duration::from_millis(20), Duration::from_millis(100));
        reserve.as_nanos() / 1_000_000
    }

    /// Ten packets come at once from `us` on, and leave 1 ms later, one each ms.
    fn burst(reach: &mut Reach, us: u64) {
        (0..10).for_each(|n| reach.on_enqueue(at(us + n)));
        (1..=10).for_each(|n| reach.on_dequeue(at(us + 1000 * n)));
    }

    #[test]
    fn the_first_answer_to_a_burst_tells_the_round_trip() {
        let mut reach = Reach::default();
        assert_eq!(reserve(&reach), 20);
        burst(&mut reach, 0);
        reach.on_enqueue(at(161_000));
        assert_eq!(reserve(&reach), 80);
        // Later pauses are the sender's own.
        reach.on_enqueue(at(400_000));
        assert_eq!(reserve(&reach), 80);
    }

    #[test]
    fn after_an_idle_second_a_shorter_round_trip_counts_and_a_longer_one_does_not() {
        let mut reach = Reach::default();
        for (begun, answered, expected) in
            [(0, 161_000, 80), (2_000_000, 2_400_000, 80), (4_000_000, 4_101_000, 50)]
        {
            burst(&mut reach, begun);
            reach.on_enqueue(at(answered));
            assert_eq!(reserve(&reach), expected, "{begun} us");
        }
    }

    #[test]
    fn a_paced_sender_and_a_call_leave_the_reserve_as_it_is() {
        for interval in [500, 20_000] {
            let mut reach = Reach::default();
            for n in 0..200 {
                reach.on_enqueue(at(n * interval));
                reach.on_dequeue(at(n * interval + 300));
            }
            assert_eq!(reserve(&reach), 20, "{interval} us");
        }
    }
}
