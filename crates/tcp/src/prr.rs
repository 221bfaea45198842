//! Proportional rate reduction (RFC 6937): the bytes that may leave while the window shrinks to
//! ssthresh.

use crate::config::Prr as Bound;

/// State of one reduction.
#[derive(Clone, Debug)]
pub(crate) struct Prr {
    ssthresh: u64,
    recover_flight: u64,
    delivered: u64,
    out: u64,
    window: u64,
    mss: u64,
    bound: Bound,
}

impl Prr {
    /// Starts a reduction to `ssthresh` with `flight` bytes outstanding and `pipe` bytes in flight.
    pub(crate) fn new(bound: Bound, mss: u64, ssthresh: u64, flight: u64, pipe: u64) -> Self {
        Self {
            ssthresh,
            recover_flight: flight.max(1),
            delivered: 0,
            out: 0,
            window: pipe,
            mss,
            bound,
        }
    }

    /// An acknowledgement delivered `delivered` bytes and left `pipe` bytes in flight. If `safe`,
    /// it advanced the cumulative point and showed no new loss.
    pub(crate) fn on_ack(&mut self, delivered: u64, pipe: u64, safe: bool) {
        self.delivered += delivered;
        let may_send = if pipe > self.ssthresh {
            let share = u128::from(self.delivered) * u128::from(self.ssthresh);
            let due = share.div_ceil(u128::from(self.recover_flight)) as u64;
            due.saturating_sub(self.out)
        } else {
            let mut limit = self.delivered.saturating_sub(self.out);
            let slow_start = match self.bound {
                Bound::SafeAck => safe,
                Bound::Ssrb => true,
                Bound::Crb | Bound::Off => false,
            };
            if slow_start {
                limit = limit.max(delivered) + self.mss;
            }
            limit.min(self.ssthresh - pipe)
        };
        self.window = pipe + may_send;
    }

    /// A segment of `bytes` leaves.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// The congestion window now, in bytes.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    const MSS: u64 = 1000;

    fn prr(bound: Bound, ssthresh: u64, flight: u64, pipe: u64) -> Prr {
        Prr::new(bound, MSS, ssthresh * MSS, flight * MSS, pipe * MSS)
    }

    /// Feeds acknowledgements of one segment each, the first leaving `pipe` segments in flight, to
    /// a sender that always has data. Returns pairs: the pipe before sending, and the segments
    /// sent.
    fn run(prr: &mut Prr, mut pipe: u64, acks: usize, safe: bool) -> Vec<(u64, u64)> {
        let step = |i: usize| {
            pipe -= u64::from(i > 0);
            prr.on_ack(MSS, pipe * MSS, safe);
            let sent = (prr.window() / MSS).saturating_sub(pipe);
            prr.on_sent(sent * MSS);
            pipe += sent;
            (pipe - sent, sent)
        };
        (0..acks).map(step).collect()
    }

    #[test]
    fn rfc_6937_section_3_1_a_single_loss_spreads_the_reduction_over_the_round() {
        // Segment 0 of 20 is lost and two new ones have left: the third duplicate finds 18 in
        // flight. 17 acknowledgements.
        for bound in [Bound::Crb, Bound::Ssrb, Bound::SafeAck] {
            let trace = run(&mut prr(bound, 10, 20, 18), 18, 17, false);
            let sent: Vec<u64> = trace.iter().map(|t| t.1).collect();
            assert_eq!(
                sent.iter().sum::<u64>(),
                8,
                "the retransmission and seven new ones: {bound:?}"
            );
            assert!(
                sent.iter().all(|&n| n <= 1) && sent.windows(3).all(|w| w.contains(&1)),
                "{sent:?}"
            );
            assert_eq!(trace.last().map(|t| t.0 + t.1), Some(10), "it arrives at ssthresh");
        }
    }

    #[test]
    fn rfc_6937_section_3_1_fifteen_losses_conserve_packets_or_slow_start() {
        // Segments 0 to 14 of 20 are lost; the third duplicate leaves 4 in flight.
        let three = |bound, safe| run(&mut prr(bound, 10, 20, 4), 4, 3, safe);
        assert_eq!(three(Bound::Crb, true), vec![(4, 1), (4, 1), (4, 1)]);
        assert_eq!(three(Bound::Ssrb, false), vec![(4, 2), (5, 2), (6, 2)]);
        assert_eq!(
            three(Bound::SafeAck, false),
            three(Bound::Crb, false),
            "new losses: conservation"
        );
        assert_eq!(
            three(Bound::SafeAck, true),
            three(Bound::Ssrb, true),
            "progress without: slow start"
        );
    }

    #[test]
    fn slow_start_ends_at_ssthresh() {
        let trace = run(&mut prr(Bound::Ssrb, 10, 20, 4), 4, 12, true);
        assert!(trace.iter().all(|(pipe, sent)| pipe + sent <= 10), "{trace:?}");
        assert_eq!(trace.last().map(|t| t.0 + t.1), Some(10));
    }

    #[test]
    fn segments_held_by_a_stall_are_banked() {
        // Bytes delivered but not used may be sent later (RFC 6937 section 4).
        let mut prr = prr(Bound::Crb, 10, 20, 8);
        for _ in 0..4 {
            prr.on_ack(MSS, 4 * MSS, false);
        }
        assert_eq!(prr.window(), 8 * MSS);
    }

    #[test]
    fn a_reduction_to_seven_tenths_sends_seven_segments_for_ten_delivered() {
        let trace = run(&mut prr(Bound::SafeAck, 70, 100, 98), 98, 50, false);
        let sent: u64 = trace.iter().map(|t| t.1).sum();
        assert!((33..=35).contains(&sent), "{sent}");
    }
}
