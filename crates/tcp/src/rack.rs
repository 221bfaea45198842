//! RACK (RFC 8985 section 6): a segment is lost when a segment sent later was delivered, and a
//! round trip plus the reordering window have passed since it was sent.
//!
//! A segment is lost if it was sent before the latest delivered one, and sent_at + RACK.rtt +
//! reo_wnd <= now. The window is min(mult x min_RTT / 4, SRTT). It is 0 while no reordering has
//! been seen and either a recovery is under way or three segments are sacked (step 4). `mult` grows
//! with each round that reports data received twice (DSACK, RFC 2883) and falls back after 16
//! recoveries without. The scoreboard keeps the marks per segment; this file keeps the state per
//! connection.
//!
//! Deviations:
//! - (1) The timestamp echo proves that a retransmission, not its original, was delivered only if
//!   the cumulative acknowledgement covers it, since an acknowledgement that sacks echoes an older
//!   segment (RFC 7323 section 4.3). A segment delivered by SACK must have taken the smallest RTT
//!   and 7/8 of SRTT. (Linux requires only the smallest RTT. With seconds of queue it gives up an
//!   original too soon, and takes its arrival for the copy's. It then marks everything sent before
//!   the copy lost, and so on without end.)
//! - (2) A fast recovery that Eifel detection proves needless counts as reordering: its segments
//!   had been retransmitted, which step 3 leaves out.
//! - (3) The timer of step 5 is set for the first suspect instead of the last, so that each is
//!   found when its own time has come.

use crate::record::Latest;
use justfull_base::{Duration, Instant};

/// RFC 6675's `DupThresh`: while no reordering has been seen, this many sacked segments make a loss
/// certain.
const DUP_THRESH: u64 = 3;
/// Recoveries without a DSACK after which the window's multiplier falls back.
const PERSISTENCE: u32 = 16;

/// RFC 8985's per-connection variables (section 5.3).
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// `RACK.xmit_ts` and `RACK.end_seq`: of the delivered segment that was sent last.
    latest: Latest,
    rtt: Duration,
    reordering_seen: bool,
    /// `RACK.dsack_round`: reports count once until this offset is acknowledged.
    dsack_round: Option<u64>,
    multiplier: u32,
    persist: u32,
}

/// The inputs with which the scoreboard judges its segments at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judgement {
    pub(crate) now: Instant,
    /// Only segments sent before this one are suspect.
    pub(crate) latest: Latest,
    /// Time until a suspect is lost: RTT plus reordering window.
    pub(crate) patience: Duration,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            latest: Latest::default(),
            rtt: Duration::ZERO,
            reordering_seen: false,
            dsack_round: None,
            multiplier: 1,
            persist: 0,
        }
    }

    /// Steps 2 and 3. `latest` is the segment sent last among the segments that an acknowledgement
    /// has newly and surely delivered. `reordered`: a segment sent once was delivered after a later
    /// one.
    #[inline]
    pub(crate) fn on_delivery(&mut self, now: Instant, latest: Latest, reordered: bool) {
        if latest.is_some() {
            self.rtt = now.since(latest.sent_at());
            self.latest = self.latest.or_later(latest);
        }
        self.reordering_seen |= reordered;
    }

    /// A fast recovery was needless: its segments had only been reordered.
    pub(crate) fn on_needless_recovery(&mut self) {
        self.reordering_seen = true;
    }

    /// Step 4: data arrived twice; the window grows once per round.
    pub(crate) fn on_duplicate_report(&mut self, una: u64, nxt: u64) {
        if self.dsack_round.is_none_or(|round| una >= round) {
            self.dsack_round = Some(nxt);
            self.multiplier = self.multiplier.saturating_add(1);
            self.persist = PERSISTENCE;
        }
    }

    /// Step 4: a fast or timeout recovery ends.
    pub(crate) fn on_recovery_exit(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// The segment sent last among all delivered segments.
    #[inline]
    pub(crate) const fn latest(&self) -> Latest {
        self.latest
    }

    /// Step 4: the reordering window. `certain`: a recovery is under way.
    pub(crate) fn window(
        &self,
        certain: bool,
        sacked: u64,
        min_rtt: Duration,
        srtt: Duration,
    ) -> Duration {
        if !self.reordering_seen && (certain || sacked >= DUP_THRESH) {
            return Duration::ZERO;
        }
        if min_rtt == Duration::MAX {
            return Duration::ZERO;
        }
        let quarter = Duration::from_nanos(min_rtt.as_nanos() / 4);
        quarter.times(u64::from(self.multiplier)).min(srtt)
    }

    /// The limits for step 5 with the current reordering `window`.
    pub(crate) fn judgement(&self, now: Instant, window: Duration) -> Judgement {
        Judgement { now, latest: self.latest, patience: self.rtt + window }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn without_reordering_there_is_no_window_in_recovery_or_from_three_sacked_segments_on() {
        let mut rack = Rack::new();
        let window = |rack: &Rack, certain, sacked| rack.window(certain, sacked, ms(40), ms(50));
        assert_eq!(window(&rack, true, 0), Duration::ZERO);
        assert_eq!(window(&rack, false, 3), Duration::ZERO);
        assert_eq!(window(&rack, false, 2), ms(10));
        rack.on_delivery(Instant::ZERO + ms(60), Latest::new(Instant::ZERO, 4), true);
        assert_eq!((window(&rack, true, 0), window(&rack, false, 3)), (ms(10), ms(10)));
        assert_eq!(
            rack.window(true, 9, Duration::MAX, Duration::ZERO),
            Duration::ZERO,
            "no RTT is known yet"
        );
    }

    #[test]
    fn duplicate_reports_widen_the_window_up_to_the_smoothed_rtt_for_sixteen_recoveries() {
        let mut rack = Rack::new();
        rack.on_needless_recovery();
        let window = |rack: &Rack| rack.window(true, 9, ms(40), ms(45));
        rack.on_duplicate_report(1000, 5000);
        rack.on_duplicate_report(4000, 6000);
        assert_eq!(window(&rack), ms(20), "the same round counts once");
        rack.on_duplicate_report(5000, 9000);
        rack.on_duplicate_report(9000, 9500);
        assert_eq!(window(&rack), ms(40));
        rack.on_duplicate_report(9500, 9900);
        assert_eq!(window(&rack), ms(45), "never beyond SRTT");
        for _ in 0..15 {
            rack.on_recovery_exit();
        }
        assert_eq!(window(&rack), ms(45));
        rack.on_recovery_exit();
        assert_eq!(window(&rack), ms(10));
    }

    #[test]
    fn the_latest_sent_segment_counts_and_at_one_instant_the_higher_sequence() {
        let mut rack = Rack::new();
        let at = |n| Instant::ZERO + ms(n);
        rack.on_delivery(at(50), Latest::new(at(10), 7), false);
        rack.on_delivery(at(55), Latest::new(at(10), 6), false);
        assert_eq!((rack.latest(), rack.rtt), (Latest::new(at(10), 7), ms(45)));
        rack.on_delivery(at(60), Latest::default(), false);
        assert_eq!(rack.rtt, ms(45), "nothing was surely delivered");
    }
}
