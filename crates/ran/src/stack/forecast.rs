//! What the clairvoyant yardsticks are told of pulls to come.

use super::*;
use justfull_base::SlotForecast;

impl Stack {
    pub(super) fn forecast_first(&mut self, ue_index: u32, forecast: Option<SlotForecast>) {
        if let (Some(forecast), Some(rlc)) = (forecast, self.ues[ue_index as usize].rlc.first_mut())
            && rlc.limiter.wants_forecast()
        {
            rlc.limiter.on_forecast(&forecast);
        }
    }

    /// The pull that a packet leaving SDAP at `now` meets, and the polls of SDAP before it.
    pub(super) fn forecast(&self, now: Instant) -> SlotForecast {
        let (k, next_pull) = self.mac_poll.first(now, !self.top_down);
        let capacity = self.whole_slot(&self.channel, k, next_pull);
        let most = 1 + (capacity / u64::from(self.sdap_batch).max(1)) as u32;
        // Top-down, a poll at the instant of the pull is in time for it.
        let too_late = if self.top_down { next_pull + Duration::from_nanos(1) } else { next_pull };
        SlotForecast {
            next_pull,
            capacity,
            polls_left: self.sdap_poll.count_between(now, too_late, most.saturating_add(1)),
            packets_per_poll: self.sdap_batch,
        }
    }

    /// What SDAP must hold now so that its polls before the UPF's next opportunity can feed the pulls before it.
    pub(super) fn clairvoyant_need(&self, now: Instant) -> u64 {
        let Some(context) = &self.clairvoyant else { return 0 };
        let strictly = !self.top_down;
        let next_upf = self.upf_poll.first(now, true).1;
        let mut poll = self.sdap_poll.first(now, strictly).1;
        let mut need = 0;
        let mut counted_pull = None;
        // At one instant SDAP is before the UPF bottom-up and after it top-down.
        while poll < next_upf || (strictly && poll == next_upf) {
            let forecast = self.forecast(poll);
            let wanted = crate::limiter::clairvoyant_wanted(context, &forecast);
            need = match counted_pull {
                Some((pull, before)) if pull == forecast.next_pull => before + wanted,
                _ => need + wanted,
            };
            if counted_pull.is_none_or(|(pull, _)| pull != forecast.next_pull) {
                counted_pull = Some((forecast.next_pull, need - wanted));
            }
            poll = self.sdap_poll.first(poll, true).1;
        }
        need.saturating_sub(self.backlog.backlog(self.unit))
    }
}
