//! The flows of a UE and their recent bytes.

use justfull_base::Duration;

/// Time in which the bytes of a flow fall to 1/e.
const MEMORY: Duration = Duration::from_millis(500);

/// Smallest packet that is ever signalled: acknowledgements and calls are smaller.
const LEAST_SIZE: u32 = 256;

/// A flow with fewer bytes is forgotten.
const LEAST: f64 = 20.0;

/// Recent bytes of the flows of a UE.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// Hash of each flow's 5-tuple, and its bytes.
    flows: Vec<(u32, f64)>,
    total: f64,
    /// The largest packet so far.
    largest: u32,
}

impl Shares {
    /// A packet of `size` of the flow `tuple` is received; `elapsed` is the time of a count that
    /// ends with it. True if the flow fills the queue: it has at least an equal share of the recent
    /// bytes, and its packet is at least half as large as the largest, and no small one.
    pub(super) fn count(&mut self, tuple: u32, size: u32, elapsed: Option<Duration>) -> bool {
        if let Some(elapsed) = elapsed {
            self.age(elapsed);
        }
        self.largest = self.largest.max(size);
        self.total += f64::from(size);
        let place = self.flows.iter().position(|flow| flow.0 == tuple);
        let place = place.unwrap_or_else(|| {
            self.flows.push((tuple, 0.0));
            self.flows.len() - 1
        });
        let bytes = &mut self.flows[place].1;
        *bytes += f64::from(size);
        let fills = *bytes * self.flows.len() as f64 >= self.total;
        fills && size >= LEAST_SIZE.max(self.largest / 2)
    }

    fn age(&mut self, elapsed: Duration) {
        let factor = libm::exp(-elapsed.as_secs_f64() / MEMORY.as_secs_f64());
        self.flows.iter_mut().for_each(|flow| flow.1 *= factor);
        self.flows.retain(|flow| flow.1 >= LEAST);
        self.total = self.flows.iter().map(|flow| flow.1).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Option<Duration> = Some(Duration::from_millis(1));

    #[test]
    fn only_large_packets_of_flows_with_an_equal_share_fill_the_queue() {
        let mut shares = Shares::default();
        // The upload sends a packet each millisecond; a call, a slow flow of large packets, and
        // acknowledgements send less.
        let mut fills = [0; 4];
        for n in 0..1_100 {
            if n == 100 {
                fills = [0; 4];
            }
            fills[0] += u32::from(shares.count(1, 1_500, MS));
            if n % 4 == 0 {
                fills[1] += u32::from(shares.count(2, 200, None));
                fills[2] += u32::from(shares.count(3, 1_500, None));
            }
            fills[3] += u32::from(shares.count(4, 60, None));
        }
        assert_eq!(fills[1..], [0, 0, 0]);
        assert!(fills[0] > 990, "{fills:?}");
    }

    #[test]
    fn small_packets_alone_fill_nothing_and_a_flow_is_forgotten() {
        let mut shares = Shares::default();
        assert!((0..100).all(|_| !shares.count(1, 80, MS)));
        shares.count(2, 1_500, Some(Duration::from_secs(60)));
        shares.count(2, 1_500, MS);
        assert_eq!(shares.flows.len(), 1, "{shares:?}");
    }
}
