//! Forecasts of coming pulls for the clairvoyant policies.

use super::*;
use justfull_base::SlotForecast;

/// Maximum number of pulls fed by one poll: a second of the shortest slots.
const MOST_PULLS: usize = 16_000;

impl Stack {
    /// The next pull for a packet that leaves SDAP at `now`, and the number of SDAP polls before
    /// it. If the next poll comes later, the pulls before the poll count together with this pull.
    pub(super) fn forecast(&self, now: Instant) -> SlotForecast {
        let Clocks { sdap, mac, top_down, .. } = &self.clocks;
        let (mut k, next_pull) = mac.first(now, !top_down);
        let mut capacity = self.takes(k, next_pull);
        let most = 1 + (capacity / u64::from(self.sdap_batch).max(1)) as u32;
        // Top-down, a poll at the instant of the pull is in time for it.
        let too_late = if *top_down { next_pull + Duration::from_nanos(1) } else { next_pull };
        let polls_left = sdap.count_between(now, too_late, most.saturating_add(1));
        if polls_left == 0 {
            let next_poll = sdap.first(now, true).1;
            let mut pull = next_pull;
            for _ in 1..MOST_PULLS {
                (k, pull) = mac.first(pull, true);
                if next_poll < pull || (*top_down && next_poll == pull) {
                    break;
                }
                capacity += self.takes(k, pull);
            }
        }
        SlotForecast { next_pull, capacity, polls_left, packets_per_poll: self.sdap_batch }
    }

    /// The amount that slot `k`, pulled at `now`, takes from the only bearer.
    fn takes(&self, k: u64, now: Instant) -> u64 {
        let own = self.cell.ues.first().and_then(|ue| ue.own.as_ref());
        let channel = own.map_or(&self.cell.channel, |own| &own.channel);
        let slot = Slot { k, now, length: self.slot };
        self.service.whole_slot(channel, slot) + self.service.of_scells(self.cell.number(0), slot).0
    }

    /// The amount that SDAP must hold now so that its polls before the UPF's next opportunity can
    /// feed the pulls before it.
    pub(super) fn clairvoyant_need(&self, now: Instant) -> u64 {
        let Some(context) = &self.clairvoyant else { return 0 };
        let Clocks { upf, sdap, top_down, .. } = &self.clocks;
        let strictly = !top_down;
        let next_upf = upf.first(now, true).1;
        let mut poll = sdap.first(now, strictly).1;
        let mut need = 0;
        let mut counted_pull = None;
        // At one instant SDAP comes before the UPF in bottom-up order, and after it in top-down
        // order.
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
            poll = sdap.first(poll, true).1;
        }
        need.saturating_sub(self.cell.backlog.backlog(self.cell.unit))
    }
}
