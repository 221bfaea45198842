//! A part of the radio beside traffic that bypasses the proxy.
//!
//! QUIC beside a proxied flow fills the queue that both share. A window of rate times the least
//! round trip then gets a small share of the radio. A larger window takes a larger share from a
//! sender with a congestion control, and nothing from a sender with a constant rate. Only a trial
//! distinguishes the two.
//!
//! A trial raises the window while a UE's flows get less than their part. If their share grows as
//! well, the window stays. If not, the trial is undone, the next one comes later, and it lowers the
//! window if earlier trials have raised it.

use justfull_base::{Duration, Instant};

/// The proxy's flows are alone after so many measurements in a row with a share of the UE's bytes
/// above `ALONE`. BBR pauses for 0.2 s in each 10 s: one measurement is not enough.
const ALONE: f64 = 0.9;
const ALONE_MEASUREMENTS: u32 = 2;
/// Largest part.
const MOST: f64 = 0.9;
/// A share above the part by more than this lowers the window.
const MARGIN: f64 = 0.08;
/// Largest factor of a trial upwards; factor of a trial downwards; factor if the share is too
/// large.
const UP: f64 = 8.0;
const DOWN: f64 = 1.0 / 1.5;
const EASE: f64 = 0.8;
/// A share follows the window if it changes by at least this part of the change beside a sender
/// with a congestion control.
const FOLLOWS: f64 = 0.35;
/// Round trips until a new window takes effect; length of a measurement, in round trips and at
/// least in seconds.
const SETTLE_RTTS: f64 = 1.5;
const MEASURE_RTTS: f64 = 3.0;
const MEASURE_SECONDS: f64 = 0.7;
/// Pause in seconds after the first failed trial. It doubles after each further one, up to
/// `LAST_PAUSE`.
const FIRST_PAUSE: f64 = 1.0;
const LAST_PAUSE: f64 = 64.0;

/// A report of the radio and the state of the flows at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    /// Bytes of the UE since the last report.
    pub(crate) bytes: u64,
    /// Data of its flows waits in the proxy.
    pub(crate) waits: bool,
    /// Round trip that the window allows for without this module, and present round trip, in
    /// seconds.
    pub(crate) allowed_rtt: f64,
    pub(crate) present_rtt: f64,
    /// Part that its flows should get; most seconds that this module may add.
    pub(crate) part: f64,
    pub(crate) longest: f64,
}

/// The part of the radio for `flows` flows of a UE; one flow alone would get `share`.
pub(crate) fn part(flows: u32, share: f64) -> f64 {
    let flows = f64::from(flows.max(1)) * share;
    (flows / (flows + 1.0 - share)).min(MOST)
}

/// A trial: the state before it, and its factor.
#[derive(Clone, Copy, Debug)]
struct Trial {
    added: f64,
    share: f64,
    factor: f64,
}

/// The state of a UE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bypass {
    /// Seconds that this module adds to the round trip of the radio legs.
    pub(crate) added: f64,
    trial: Option<Trial>,
    /// Bytes of its flows and all bytes, counted from this instant.
    own: f64,
    all: f64,
    since: Instant,
    /// No trial before this instant; pause after the next failed trial, in seconds.
    not_before: Instant,
    pause: f64,
    /// The next trial is downwards.
    down: bool,
    /// Measurements in a row with a share above `ALONE`.
    alone: u32,
}

impl Bypass {
    pub(crate) const NONE: Self = Self {
        added: 0.0,
        trial: None,
        own: 0.0,
        all: 0.0,
        since: Instant::ZERO,
        not_before: Instant::ZERO,
        pause: FIRST_PAUSE,
        down: false,
        alone: 0,
    };

    /// Bytes of a flow were delivered.
    pub(crate) fn delivered(&mut self, now: Instant, bytes: u64) {
        if now >= self.since {
            self.own += bytes as f64;
        }
    }

    /// Takes a report; true when the windows change.
    pub(crate) fn report(&mut self, now: Instant, beside: &Beside) -> bool {
        if now < self.since {
            return false;
        }
        self.all += beside.bytes as f64;
        let length = (MEASURE_RTTS * beside.present_rtt).max(MEASURE_SECONDS);
        if now.since(self.since).as_secs_f64() < length {
            return false;
        }
        let share = if self.all > 0.0 { self.own / self.all } else { 1.0 };
        (self.own, self.all, self.since) = (0.0, 0.0, now);
        let before = self.added;
        self.alone = if share > ALONE { self.alone + 1 } else { 0 };
        if self.alone >= ALONE_MEASUREMENTS {
            *self = Self { since: now, alone: self.alone, ..Self::NONE };
        } else if beside.waits {
            self.decide(now, share, beside);
        } else if let Some(trial) = self.trial.take() {
            self.added = trial.added;
        }
        self.added = self.added.min(beside.longest);
        let changed = self.added.to_bits() != before.to_bits();
        if changed {
            // At first only the larger window fills the queue.
            let rtt = beside.present_rtt + (self.added - before).max(0.0);
            self.since = now + Duration::from_secs_f64(SETTLE_RTTS * rtt);
        }
        changed
    }

    fn decide(&mut self, now: Instant, share: f64, beside: &Beside) {
        if let Some(Trial { added, share: before, factor }) = self.trial.take() {
            let expected = factor * before / (1.0 + (factor - 1.0) * before);
            let follows = (share - before) / (expected - before) >= FOLLOWS;
            let up = factor > 1.0;
            // The share did not grow with the window, or it fell with it.
            if follows != up {
                self.added = added;
                self.not_before = now + Duration::from_secs_f64(self.pause);
                self.pause = (2.0 * self.pause).min(LAST_PAUSE);
                self.down = up;
                return;
            }
            if up {
                self.pause = FIRST_PAUSE;
            }
        }
        if share > beside.part + MARGIN {
            self.stretch(EASE, beside.allowed_rtt);
        } else if share < beside.part && now >= self.not_before {
            let factor = if self.down && self.added > 0.0 {
                DOWN
            } else {
                // The factor that makes this share the part.
                let whole = (1.0 / share.max(0.01) - 1.0) / (1.0 / beside.part - 1.0);
                whole.min(UP)
            };
            self.trial = Some(Trial { added: self.added, share, factor });
            self.stretch(factor, beside.allowed_rtt);
        }
    }

    fn stretch(&mut self, factor: f64, allowed_rtt: f64) {
        self.added = ((allowed_rtt + self.added) * factor - allowed_rtt).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue that a UE's flows share with `other` traffic. Their shares of the queue are their
    /// shares of the radio.
    struct Queue {
        bypass: Bypass,
        now: Instant,
    }

    const RTT: f64 = 0.05;

    impl Queue {
        fn new() -> Self {
            Self { bypass: Bypass::NONE, now: Instant::ZERO }
        }

        /// Sends a report each 10 ms for some seconds, 10 kB in each. `share` returns the flows'
        /// share of the bytes for a window of so many seconds.
        fn pass(&mut self, seconds: u64, share: impl Fn(f64) -> f64) {
            for _ in 0..100 * seconds {
                self.report(share(RTT + self.bypass.added));
            }
        }

        /// Sends reports up to the end of a measurement.
        fn measure(&mut self, share: f64) {
            let since = self.bypass.since;
            while self.bypass.since == since {
                self.report(share);
            }
        }

        /// Sends the next report, in which the flows have this share.
        fn report(&mut self, share: f64) {
            self.now += Duration::from_millis(10);
            self.bypass.delivered(self.now, (1e4 * share) as u64);
            let beside = Beside {
                bytes: 10_000,
                waits: true,
                allowed_rtt: RTT,
                present_rtt: RTT,
                part: 0.7,
                longest: 1.0,
            };
            self.bypass.report(self.now, &beside);
        }
    }

    #[test]
    fn beside_a_sender_that_waits_for_acknowledgements_the_share_becomes_the_part() {
        let mut queue = Queue::new();
        // The other traffic has half a second in the queue.
        let share = |window: f64| window / (window + 0.5);
        queue.pass(20, share);
        let share = share(RTT + queue.bypass.added);
        assert!((0.65..0.75).contains(&share), "{share}");
    }

    #[test]
    fn beside_a_constant_rate_a_trial_is_taken_back_and_the_next_ones_are_rare() {
        let mut queue = Queue::new();
        let mut raised = 0;
        for _ in 0..60 {
            queue.pass(1, |_| 0.5);
            raised += u32::from(queue.bypass.added > 0.0);
        }
        assert!((1..12).contains(&raised), "{raised} of 60 seconds");
    }

    #[test]
    fn it_gives_back_what_it_added_when_its_flows_are_alone() {
        let mut queue = Queue::new();
        queue.pass(20, |window| window / (window + 0.5));
        assert!(queue.bypass.added > 0.1);
        queue.pass(2, |_| 1.0);
        assert_eq!(queue.bypass.added.to_bits(), 0);
    }

    #[test]
    fn one_measurement_without_other_traffic_gives_back_a_fifth_at_most() {
        let mut queue = Queue::new();
        queue.pass(20, |window| window / (window + 0.5));
        queue.measure(0.7);
        let before = queue.bypass.added;
        queue.measure(0.95);
        queue.measure(0.7);
        let after = queue.bypass.added;
        assert!(after > 0.75 * before && after <= before, "{before} {after}");
    }

    #[test]
    fn a_window_that_a_chance_gain_left_is_tried_downwards() {
        let mut queue = Queue::new();
        queue.bypass.added = 0.3;
        queue.pass(60, |_| 0.5);
        assert!(queue.bypass.added < 0.05, "{:?}", queue.bypass);
    }

    #[test]
    fn more_flows_should_get_more_and_never_all() {
        assert!((part(1, 0.8) - 0.8).abs() < 1e-9);
        assert!((part(2, 0.5) - 2.0 / 3.0).abs() < 1e-9);
        assert!((part(1000, 0.8) - MOST).abs() < 1e-9);
        assert!((part(0, 0.8) - 0.8).abs() < 1e-9);
    }
}
