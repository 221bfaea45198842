//! An observer that stores each flow's samples.

use super::Observer;
use justfull_base::{BitRate, Duration, Instant};
use justfull_tcp::{RecoveryState, Sender};

/// A flow's state at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time of the sample.
    pub at: Instant,
    /// Current congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `u64::MAX` if there is none.
    pub ssthresh: u64,
    /// Bytes in flight (RFC 6675's pipe).
    pub in_flight: u64,
    /// Pacing rate; none without pacing.
    pub pacing_rate: Option<BitRate>,
    /// Smoothed RTT; zero before the first measurement.
    pub srtt: Duration,
    /// State of loss recovery.
    pub recovery: RecoveryState,
    /// Name of the control's phase.
    pub phase: &'static str,
    /// Payload bytes delivered in order since the start; differences over time give the delivery
    /// rate.
    pub delivered: u64,
}

/// The samples of each flow, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Samples by number of the flow.
    pub flows: Vec<Vec<Sample>>,
}

impl Observer for Series {
    fn sampled(&mut self, now: Instant, flow: u32, sender: &Sender, delivered: u64) {
        let flow = flow as usize;
        if self.flows.len() <= flow {
            self.flows.resize_with(flow + 1, Vec::new);
        }
        let s = sender.snapshot();
        self.flows[flow].push(Sample {
            at: now,
            cwnd: s.cwnd,
            ssthresh: s.ssthresh,
            in_flight: s.in_flight,
            pacing_rate: s.pacing_rate,
            srtt: s.srtt,
            recovery: s.recovery,
            phase: s.phase,
            delivered,
        });
    }
}
