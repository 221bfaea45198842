//! The model: rounds, rates, the bounds from loss, and aggregated acknowledgements.

use super::seen::Seen;
use super::{Bbr3, Phase};
use crate::control::Lost;
use crate::numbers::{real, seconds, whole};
use crate::windowed_max::WindowedMax;
use justfull_base::Instant;

/// Rounds in the filter of extra acknowledgements (`BBRExtraAckedFilterLen`).
const EXCESS_ROUNDS: u64 = 10;

/// State.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Round trips since the start.
    pub(super) round: u64,
    pub(super) round_start: bool,
    next_round: u64,
    /// Bytes delivered since the start.
    delivered: u64,
    /// Largest delivery rates of the last cycle and of this one.
    max_bw: [u64; 2],
    /// The larger of them, within the short-term bound.
    bw: u64,
    /// `bw_shortterm`; `u64::MAX` for none, as the other bounds.
    pub(super) bw_short: u64,
    pub(super) inflight_short: u64,
    pub(super) inflight_long: u64,
    /// Largest rate and volume of a sample in this round.
    bw_latest: u64,
    pub(super) inflight_latest: u64,
    /// A round of the signals of loss ends when this amount is delivered.
    loss_round_end: u64,
    pub(super) loss_round_start: bool,
    pub(super) loss_in_round: bool,
    /// Ranges of data lost in this round.
    pub(super) ranges_lost: u32,
    epoch: Instant,
    epoch_acked: u64,
    excess: WindowedMax,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            round: 0,
            round_start: false,
            next_round: 0,
            delivered: 0,
            max_bw: [0; 2],
            bw: 0,
            bw_short: u64::MAX,
            inflight_short: u64::MAX,
            inflight_long: u64::MAX,
            bw_latest: 0,
            inflight_latest: 0,
            loss_round_end: 0,
            loss_round_start: false,
            loss_in_round: false,
            ranges_lost: 0,
            epoch: Instant::ZERO,
            epoch_acked: 0,
            excess: WindowedMax::default(),
        }
    }
}

impl Model {
    /// The largest delivery rate of the last two cycles.
    pub(super) fn max_bandwidth(&self) -> u64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// The bandwidth within its short-term bound.
    pub(super) fn bandwidth(&self) -> u64 {
        self.bw
    }

    /// The rates or their bound have changed.
    fn bound_bandwidth(&mut self) {
        self.bw = self.max_bandwidth().min(self.bw_short);
    }

    /// A cycle ends: the filter drops the largest rate of the cycle before.
    pub(super) fn advance_filter(&mut self) {
        if self.max_bw[1] != 0 {
            self.max_bw = [self.max_bw[1], 0];
            self.bound_bandwidth();
        }
    }

    /// The next round begins now.
    pub(super) fn start_round(&mut self) {
        self.next_round = self.delivered;
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    pub(super) fn reset_short_term(&mut self) {
        self.bw_short = u64::MAX;
        self.inflight_short = u64::MAX;
        self.bound_bandwidth();
    }

    /// The last losses were spurious: raises the bounds to their former values.
    pub(super) fn undo(&mut self, bw_short: u64, inflight_short: u64, inflight_long: u64) {
        self.loss_in_round = false;
        self.bw_short = self.bw_short.max(bw_short);
        self.bound_bandwidth();
        self.inflight_short = self.inflight_short.max(inflight_short);
        self.inflight_long = self.inflight_long.max(inflight_long);
    }

    pub(super) fn restart_aggregation(&mut self, now: Instant) {
        self.epoch = now;
        self.epoch_acked = 0;
    }
}

impl Bbr3 {
    /// Counts rounds, and keeps the largest rate and volume of each (`BBRUpdateRound`,
    /// `BBRUpdateLatestDeliverySignals`).
    pub(super) fn update_latest(&mut self, sample: &Seen) {
        let model = &mut self.model;
        model.delivered = sample.delivered;
        (model.round_start, model.loss_round_start) = (false, false);
        let Some(rate) = sample.rate else { return };
        if sample.prior_delivered >= model.next_round {
            model.next_round = sample.delivered;
            model.round += 1;
            model.round_start = true;
            self.cycle.rounds += 1;
        }
        model.bw_latest = model.bw_latest.max(rate);
        model.inflight_latest =
            model.inflight_latest.max(sample.delivered - sample.prior_delivered);
        if sample.prior_delivered >= model.loss_round_end {
            model.loss_round_end = sample.delivered;
            model.loss_round_start = true;
        }
        if rate >= model.max_bandwidth() || !sample.app_limited {
            model.max_bw[1] = model.max_bw[1].max(rate);
            model.bound_bandwidth();
        }
    }

    /// At the end of a round with loss lowers the short-term bounds, unless the control probes
    /// (`BBRAdaptLowerBoundsFromCongestion`).
    pub(super) fn update_bounds(&mut self, sample: &Seen) {
        if sample.lost > 0 {
            self.model.loss_in_round = true;
        }
        let probes = matches!(self.phase, Phase::Startup | Phase::Refill | Phase::Up);
        if !self.model.loss_round_start || !self.model.loss_in_round || probes {
            return;
        }
        let beta = self.constants.beta;
        let model = &mut self.model;
        let lowered = |bound: u64, first: u64, latest: u64| {
            let bound = if bound == u64::MAX { first } else { bound };
            latest.max((bound as f64 * beta) as u64)
        };
        model.bw_short = lowered(model.bw_short, model.max_bandwidth(), model.bw_latest);
        model.inflight_short = lowered(model.inflight_short, self.cwnd, model.inflight_latest);
        model.bound_bandwidth();
    }

    /// Begins the next round of signals (`BBRAdvanceLatestDeliverySignals`).
    pub(super) fn advance_latest(&mut self, sample: &Seen) {
        let model = &mut self.model;
        if model.loss_round_start {
            model.loss_in_round = false;
            model.ranges_lost = 0;
            model.bw_latest = sample.rate.unwrap_or(0);
            model.inflight_latest = sample.delivered - sample.prior_delivered;
        }
    }

    /// True if more than the threshold of the data in flight was lost (`IsInflightTooHigh`).
    pub(super) fn is_too_high(&self, lost: u64, tx_in_flight: u64) -> bool {
        lost > 0 && real(lost) > real(tx_in_flight) * self.constants.loss_threshold
    }

    /// A segment is lost (`BBRHandleLostPacket`).
    pub(super) fn note_lost(&mut self, lost: &Lost) {
        let model = &mut self.model;
        model.delivered = lost.delivered;
        if !model.loss_in_round {
            model.loss_round_end = lost.delivered;
            model.loss_in_round = true;
            self.save_for_undo();
        }
        let model = &mut self.model;
        model.ranges_lost += u32::from(!lost.follows);
        if !self.cycle.samples || !self.is_too_high(lost.lost_since_sent, lost.tx_in_flight) {
            return;
        }
        let inflight = self.inflight_at_loss(lost);
        self.bound_by_loss(lost.now, inflight, lost.app_limited);
    }

    /// The data in flight at which the loss crossed the threshold, within the segments that left
    /// between the former loss and this one (`BBRInflightAtLoss`).
    fn inflight_at_loss(&self, lost: &Lost) -> u64 {
        let threshold = self.constants.loss_threshold;
        let before = lost.tx_in_flight.saturating_sub(lost.bytes) as f64;
        let lost_before = lost.lost_since_sent.saturating_sub(lost.bytes) as f64;
        let prefix = (threshold * before - lost_before) / (1.0 - threshold);
        (before + prefix).max(0.0) as u64
    }

    /// Too much is in flight: bounds it, and ends the probe (`BBRHandleInflightTooHigh`).
    pub(super) fn bound_by_loss(&mut self, now: Instant, inflight: u64, app_limited: bool) {
        self.cycle.samples = false;
        if !app_limited {
            let least = (self.target_inflight() as f64 * self.constants.beta) as u64;
            self.model.inflight_long = inflight.max(least);
        }
        if self.phase == Phase::Up {
            self.left_by_loss = Some(Phase::Up);
            self.start_down(now);
        }
    }

    /// Keeps the largest excess of acknowledged over expected bytes (`BBRUpdateACKAggregation`).
    pub(super) fn update_aggregation(&mut self, sample: &Seen) {
        let bandwidth = self.model.bandwidth();
        let model = &mut self.model;
        let elapsed = seconds(sample.now.since(model.epoch));
        let mut expected = whole(real(bandwidth) * elapsed);
        if model.epoch_acked <= expected {
            model.restart_aggregation(sample.now);
            expected = 0;
        }
        model.epoch_acked += sample.acked;
        let excess = (model.epoch_acked - expected).min(self.cwnd);
        let rounds = if self.full.reached { EXCESS_ROUNDS } else { 1 };
        model.excess.update(rounds, model.round, excess);
    }

    /// The room of the window beyond the BDP, since acknowledgements come in batches.
    pub(super) fn extra_acked(&self, bandwidth: u64) -> u64 {
        let most = self.constants.excess_time.map(|time| bandwidth as f64 * time.as_secs_f64());
        self.model.excess.get().min(most.map_or(u64::MAX, |most| most as u64))
    }
}
