//! The rate at which a UE's packets come while some wait in the UE.

use justfull_base::{Duration, Instant};

/// Shortest time over which bytes are counted.
const LEAST: Duration = Duration::from_millis(10);

/// Longest time that counts for one rate: the rest is an outage.
const MOST: Duration = Duration::from_millis(100);

/// A mean rate over the time `memory`.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    memory: Duration,
    /// Bytes a second; none before the first measurement.
    rate: Option<f64>,
    /// When the count began, and what has been counted.
    since: Instant,
    bytes: u64,
    /// Packets have waited in the UE all the time since.
    busy: bool,
}

impl Meter {
    pub(super) fn new(memory: Duration) -> Self {
        Self { memory, rate: None, since: Instant::ZERO, bytes: 0, busy: false }
    }

    /// A packet of `size` is received at `now`; more wait in the UE if `busy`. Returns the time of
    /// a count that ends.
    pub(super) fn count(&mut self, now: Instant, size: u32, busy: bool) -> Option<Duration> {
        self.bytes += u64::from(size);
        let was_busy = self.busy && busy;
        self.busy = was_busy;
        let elapsed = now.since(self.since);
        if elapsed < LEAST {
            return None;
        }
        let counted = elapsed.min(MOST).as_secs_f64();
        let found = self.bytes as f64 / counted;
        let rate = self.rate.unwrap_or(found);
        // While the queue was empty for a part of the time, the radio could send this at least.
        if was_busy || self.rate.is_some_and(|rate| found > rate) {
            let part = (counted / self.memory.as_secs_f64()).min(1.0);
            self.rate = Some(rate + part * (found - rate));
        }
        (self.since, self.bytes, self.busy) = (now, 0, busy);
        Some(elapsed)
    }

    /// Time for `bytes` at the mean rate; zero before the first measurement.
    pub(super) fn time_for(&self, bytes: u64) -> Duration {
        match self.rate {
            Some(rate) if rate > 0.0 => Duration::from_secs_f64(bytes as f64 / rate),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A packet of 1000 B each millisecond of `from..to`; more wait if `busy`.
    fn each_ms(meter: &mut Meter, from: u64, to: u64, busy: bool) {
        for n in from..to {
            meter.count(Instant::ZERO + ms(n), 1_000, busy);
        }
    }

    #[test]
    fn the_rate_is_measured_while_packets_wait_and_a_pause_does_not_lower_it() {
        let mut meter = Meter::new(ms(500));
        each_ms(&mut meter, 0, 50, false);
        assert_eq!(meter.time_for(1_000_000), Duration::ZERO, "nothing is known");
        each_ms(&mut meter, 50, 3_000, true);
        let second = meter.time_for(1_000_000);
        let found = second.as_secs_f64();
        assert!((0.99..1.01).contains(&found), "{found} s for a second's bytes");
        // The queue runs empty, and a packet comes each second.
        for n in 4..14 {
            meter.count(Instant::ZERO + ms(1_000 * n), 1_000, false);
        }
        assert_eq!(meter.time_for(1_000_000), second);
    }

    #[test]
    fn an_outage_counts_as_a_tenth_of_a_second() {
        let mut meter = Meter::new(ms(500));
        each_ms(&mut meter, 0, 3_000, true);
        meter.count(Instant::ZERO + ms(9_000), 1_000, true);
        let after = meter.time_for(1_000_000).as_secs_f64();
        assert!((1.1..1.3).contains(&after), "{after} s");
    }
}
