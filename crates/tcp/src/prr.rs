//! Proportional rate reduction (RFC 6937): how many bytes may leave while the window shrinks to ssthresh.
//!
//! Above ssthresh the sender sends `ssthresh / RecoverFS` bytes for each byte delivered, so that the window arrives
//! at its target after one round trip without a silence of half a round. At or below ssthresh the bound is the
//! slow-start one (PRR-SSRB) when an acknowledgement advances without new losses, and packet conservation
//! (PRR-CRB) otherwise: the choice that Linux makes and that RFC 6937 section 3 leaves open.

/// State of one reduction.
#[derive(Clone, Debug)]
pub(crate) struct Prr {
    ssthresh: u64,
    recover_flight: u64,
    delivered: u64,
    out: u64,
    window: u64,
    mss: u64,
}

impl Prr {
    /// Starts a reduction to `ssthresh` with `flight` bytes outstanding and `pipe` bytes in flight.
    pub(crate) fn new(mss: u64, ssthresh: u64, flight: u64, pipe: u64) -> Self {
        Self { ssthresh, recover_flight: flight.max(1), delivered: 0, out: 0, window: pipe, mss }
    }

    /// An acknowledgement delivered `delivered` bytes and left `pipe` bytes in flight; `safe`: it advanced the
    /// cumulative point and revealed no new loss.
    pub(crate) fn on_ack(&mut self, delivered: u64, pipe: u64, safe: bool) {
        self.delivered += delivered;
        let may_send = if pipe > self.ssthresh {
            let share = u128::from(self.delivered) * u128::from(self.ssthresh);
            let due = share.div_ceil(u128::from(self.recover_flight)) as u64;
            due.saturating_sub(self.out)
        } else {
            let mut limit = self.delivered.saturating_sub(self.out);
            if safe {
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

    #[test]
    fn a_reduction_to_seven_tenths_sends_seven_segments_for_ten_delivered() {
        let mss = 1000;
        let mut prr = Prr::new(mss, 70 * mss, 100 * mss, 99 * mss);
        let (mut pipe, mut sent) = (99 * mss, 0);
        for _ in 0..50 {
            pipe -= mss;
            prr.on_ack(mss, pipe, false);
            while pipe + mss <= prr.window() {
                pipe += mss;
                sent += 1;
                prr.on_sent(mss);
            }
        }
        assert!((33..=35).contains(&sent), "{sent}");
    }

    #[test]
    fn far_below_the_target_a_safe_acknowledgement_opens_one_segment_more_than_it_delivers() {
        let mss = 1000;
        let mut prr = Prr::new(mss, 70 * mss, 100 * mss, 10 * mss);
        prr.on_ack(mss, 9 * mss, true);
        assert_eq!(prr.window(), 11 * mss);
        prr.on_sent(2 * mss);
        prr.on_ack(mss, 9 * mss, false);
        assert_eq!(prr.window(), 9 * mss, "conservation: two were delivered and two have left");
    }
}
