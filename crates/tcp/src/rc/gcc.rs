//! GCC, Google Congestion Control: the rate control of WebRTC at the sender.
//!
//! Sources: `goog_cc` of libwebrtc, 2022. Its constants differ from the constants of
//! draft-ietf-rmcat-gcc-02 by orders of magnitude. The files: `inter_arrival_delta.cc`,
//! `trendline_estimator.cc`, `aimd_rate_control.cc`, `link_capacity_estimator.cc`,
//! `bitrate_estimator.cc`, `delay_based_bwe.cc`, `send_side_bandwidth_estimation.cc`.
//!
//! Controls the encoder's rate by the trend of the one-way delay and by losses; the lower rate
//! counts.
//!
//! ```text
//! groups      packets sent within 5 ms, or that arrive in a burst; d = change of the one-way delay
//!             from one to the next
//! trend       slope of the smoothed sum of d over 20 groups, by least squares;
//!             m = 4 min(groups, 60) slope
//! overuse     m above the threshold g for 10 ms and two groups, and the slope does not fall;
//!             underuse: m < -g
//! threshold   g + k (|m| - g) dt, k = 0.0087 per ms up and 0.039 down, in [6, 600] from 12.5; kept
//!             while |m| > g + 15
//! delay part  overuse: 0.85 of the acknowledged rate less 5 kbit/s; underuse: hold; else growth by
//!             8 % a second, or near the capacity by half a packet in RTT + 100 ms, up to 1.5 of
//!             the acknowledged rate and 10 kbit/s
//! loss part   each second: up to 2 %: 1.08 of the least rate of the last second and 1 kbit/s;
//!             above 10 %: x (1 - loss / 2); between: as it is
//! ```
//!
//! Packets are paced at 2.5 of the rate; the receiver reports the arrivals each 50 ms. Without ECN.
//!
//! Defaults: as in the sources.
//!
//! Known weaknesses: a start without probes takes half a minute to 2.5 Mbit/s; a delay that varies
//! by itself, as over radio, is taken for overuse; beside a flow that fills the queue the threshold
//! must rise first.
//!
//! Deviations: no probes, no region limited by the application, no congestion window, no pushback;
//! the loss part is the one with thresholds, not `loss_based_bwe_v2`; it acts at reports, not each
//! 25 ms; reports give the RTT, not sender reports; reports come each 50 ms, the least
//! interval of the sources, at all rates.

mod aimd;
mod groups;
mod loss;
mod throughput;
mod trendline;

use super::{Fate, Feedback, MediaBirth, RateController, Reporting};
use aimd::Aimd;
use groups::Groups;
use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, ConfigError, Duration, Ratio, params};
use loss::LossPart;
use throughput::Throughput;
use trendline::Trendline;

params! {
    /// Settings.
    #[derive(Clone, Debug, PartialEq)]
    pub struct GccConfig: "libwebrtc, goog_cc" {
        /// Factor of the acknowledged rate at overuse.
        beta: Ratio = Ratio(0.85), within(Ratio(0.1), Ratio(1.0));
        /// Share of losses up to which the loss part grows.
        low_loss: Ratio = Ratio(0.02), within(Ratio(0.0), Ratio(1.0));
        /// Share of losses above which the loss part reduces.
        high_loss: Ratio = Ratio(0.1),
            within(Ratio(0.0), Ratio(1.0)).and("at least low_loss", |c: &GccConfig| {
                c.high_loss.0 >= c.low_loss.0
            });
        /// Time between the receiver's reports.
        report: Duration = Duration::from_millis(50),
            within(Duration::from_millis(1), Duration::from_secs(1));
        /// Pacing rate over the target.
        pacing: Ratio = Ratio(2.5), within(Ratio(1.0), Ratio(100.0));
    }
}

/// For the reference pages.
pub const DOC: MethodDoc = MethodDoc {
    name: "gcc",
    kind: "rate control",
    title: "GCC: the rate control of WebRTC, by the trend of the delay and by losses",
    text: "Grows until the one-way delay rises over 20 groups of packets, then takes 85 % of the \
           rate that arrived; a second part reduces above 10 % of losses. Without ECN.",
    sources: "libwebrtc, modules/congestion_controller/goog_cc (2022); not the constants of \
              draft-ietf-rmcat-gcc-02",
    deviations: "No probes and no padding; no region limited by the application; the loss part \
                 with thresholds, not loss_based_bwe_v2; reports each 50 ms at all rates.",
    params: GccConfig::params,
};

/// Time without reports after which the detector starts anew (`kStreamTimeOut`), in ms.
const STREAM_TIMEOUT: f64 = 2000.0;

/// State.
#[derive(Clone, Debug)]
pub struct Gcc {
    config: GccConfig,
    most: f64,
    groups: Groups,
    trendline: Trendline,
    throughput: Throughput,
    aimd: Aimd,
    losses: LossPart,
    /// When the last packet was reported, in ms.
    seen_at: Option<f64>,
}

impl Gcc {
    /// A control for a new call.
    ///
    /// # Errors
    /// The first setting outside its bounds.
    pub fn new(config: &GccConfig, birth: &MediaBirth) -> Result<Self, ConfigError> {
        config.validate()?;
        let [least, start, most] = [birth.least, birth.start, birth.most].map(|r| r.0 as f64);
        Ok(Self {
            config: config.clone(),
            most,
            groups: Groups::default(),
            trendline: Trendline::new(),
            throughput: Throughput::default(),
            aimd: Aimd::new(config.beta.0, least, start),
            losses: LossPart::new([config.low_loss.0, config.high_loss.0], [least, start, most]),
            seen_at: None,
        })
    }
}

impl RateController for Gcc {
    fn on_fate(&mut self, fate: &Fate) {
        self.losses.count(fate.arrival.is_none());
        let Some(arrival) = fate.arrival else { return };
        let [sent, arrival] = [fate.sent, arrival].map(|at| at.as_secs_f64() * 1e3);
        if self.seen_at.is_some_and(|last| arrival - last > STREAM_TIMEOUT) {
            (self.groups, self.trendline) = (Groups::default(), Trendline::new());
        }
        self.seen_at = Some(arrival);
        self.throughput.take(arrival, fate.bytes);
        if let Some(change) = self.groups.take(sent, arrival) {
            self.trendline.take(&change, arrival);
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let now = feedback.now.as_secs_f64();
        if let Some(rtt) = feedback.rtt {
            self.aimd.set_rtt(rtt.as_secs_f64());
            self.losses.set_rtt(rtt.as_secs_f64());
        }
        self.aimd.update(now, self.trendline.usage(), self.throughput.bits_per_second());
        self.losses.update(now, self.aimd.rate());
    }

    fn target(&self) -> BitRate {
        BitRate(self.losses.target().min(self.most) as u64)
    }

    fn pacing_rate(&self) -> BitRate {
        BitRate((self.target().0 as f64 * self.config.pacing.0) as u64)
    }

    fn reporting(&self) -> Reporting {
        Reporting::TransportWide(self.config.report)
    }
}

#[cfg(test)]
mod tests;
