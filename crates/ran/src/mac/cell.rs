//! The radio side of a cell's UEs, on which every service of a slot works.

use super::feeds::Feed;
use super::roster::{OwnChannel, Roster};
use super::{Meter, Sleep, SlotUse};
use crate::bearer::{Above, Bearer, BearerId, Offer, ServiceRate, Slot, SlotWeight};
use crate::channel::{CapacityUnit, Channel};
use crate::few::Few;
use crate::gate::Gate;
use crate::limiter::RlcView;
use alloc::boxed::Box;
use alloc::vec::Vec;
use justfull_base::Instant;
use justfull_queue::Count;

/// The radio side of a UE.
#[repr(C, align(64))]
pub(crate) struct UeRadio {
    pub(crate) bearers: Few<Bearer>,
    pub(crate) own: Option<Box<OwnChannel>>,
}

impl UeRadio {
    /// True if one of its bearers has data to send.
    #[inline(always)]
    pub(crate) fn wants_to_send(&self) -> bool {
        self.bearers.iter().any(Bearer::wants_to_send)
    }
}

/// The backlog of a bearer before and after its turn.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) before: RlcView,
    pub(crate) after: RlcView,
}

/// The radio side of a cell.
pub(crate) struct Cell {
    pub(crate) ues: Vec<UeRadio>,
    /// SDAP and the limiters of each UE.
    pub(crate) gates: Vec<Gate>,
    /// Slice of each UE.
    pub(crate) slices: Vec<u16>,
    pub(crate) channel: Channel,
    /// The cell's channel in the MAC's view, if that is older than the slot.
    pub(crate) reported: Option<Channel>,
    /// True if UEs have their own channels.
    pub(crate) per_ue_channels: bool,
    /// True if a channel gives the share of blocks that fail.
    pub(crate) errors_follow_sinr: bool,
    /// Unit of grants.
    pub(crate) unit: CapacityUnit,
    /// RLC backlog of all bearers.
    pub(crate) backlog: RlcView,
    /// True if limiters need reports of slots.
    pub(crate) wants_reports: bool,
    /// The offers of the current slot.
    pub(crate) offers: Vec<(BearerId, Offer)>,
    /// Bearers whose AQM needs its service rate, if the MAC does not report it itself.
    pub(crate) rated: Vec<(BearerId, ServiceRate)>,
    /// Weight of a slot in these rates.
    pub(crate) slot_weight: SlotWeight,
    /// Bearers whose AQM in SDAP needs delivery reports.
    pub(crate) feeds: Vec<Feed>,
    /// Counts for reports; none unless reports are requested.
    pub(crate) meter: Option<Box<Meter>>,
    /// The UEs' sleep; none unless a UE has DRX.
    pub(crate) sleep: Option<Box<Sleep>>,
    /// The places of the UEs, if UEs of other cells have none here; otherwise the place of a UE is
    /// its number.
    pub(crate) roster: Option<Box<Roster>>,
}

impl Cell {
    /// The number of the UE in `place`: the key of its order among UEs and of its random numbers.
    #[inline(always)]
    pub(crate) fn number(&self, place: u32) -> u32 {
        self.roster.as_ref().map_or(place, |roster| roster.number(place))
    }

    /// The place of UE `number`, which is in the cell.
    #[inline(always)]
    pub(crate) fn place(&self, number: u32) -> u32 {
        self.roster.as_ref().map_or(number, |roster| roster.place(number))
    }

    /// The place of UE `number`, if it has one.
    pub(crate) fn find(&self, number: u32) -> Option<u32> {
        self.roster.as_ref().map_or(Some(number), |roster| roster.find(number))
    }

    /// `places` becomes the places of all UEs, in the order of their numbers.
    pub(crate) fn list_places(&self, places: &mut Vec<usize>) {
        places.clear();
        match &self.roster {
            None => places.extend(0..self.ues.len()),
            Some(roster) => places.extend(roster.places().map(|place| place as usize)),
        }
    }

    /// The own channel of UE `number`, also of one without a place.
    pub(crate) fn own_channel(&self, number: u32) -> Option<&OwnChannel> {
        let Some(roster) = &self.roster else { return self.ues[number as usize].own.as_deref() };
        match roster.find(number) {
            Some(place) => self.ues[place as usize].own.as_deref(),
            None => roster.elsewhere.get(&number).map(|own| &**own),
        }
    }

    #[inline]
    pub(crate) fn bearer(&mut self, id: BearerId) -> &mut Bearer {
        self.ues[id.ue as usize].bearers.at(id.drb.into())
    }

    /// A bearer and its limiter.
    #[inline(always)]
    pub(crate) fn bearer_below(&mut self, id: BearerId) -> (&mut Bearer, Above<'_>) {
        let Self { ues, gates, .. } = self;
        let above = Above { gates, id };
        (ues[id.ue as usize].bearers.at(id.drb.into()), above)
    }

    /// The capacity of `ue` in `slot` if it had all of it; `shared` is the capacity of the cell's
    /// channel.
    #[inline]
    pub(super) fn capacity(&mut self, ue: u32, slot: Slot, shared: u64) -> u64 {
        if !self.per_ue_channels {
            return shared;
        }
        let own = self.ues[ue as usize].own.as_mut();
        own.map_or(shared, |own| own.channel.capacity(slot.k, slot.now))
    }

    /// The channel of `ue`.
    #[inline]
    pub(super) fn channel_of(&mut self, ue: u32) -> &mut Channel {
        if !self.per_ue_channels {
            return &mut self.channel;
        }
        let own = self.ues[ue as usize].own.as_mut().map(|own| &mut own.channel);
        own.unwrap_or(&mut self.channel)
    }

    /// True if `ue` listens at `now`.
    #[inline(always)]
    pub(super) fn listens(&mut self, ue: u32, now: Instant) -> bool {
        self.sleep.as_mut().is_none_or(|sleep| sleep.listens(ue, now))
    }

    /// True if `ue`, which has data from `now` on, may be served; otherwise it has to be awake
    /// first.
    #[inline(always)]
    pub(crate) fn admits(&mut self, ue: u32, now: Instant) -> bool {
        self.sleep.as_mut().is_none_or(|sleep| sleep.admits(ue, now))
    }

    /// The slot at `now` grants `ue` new data.
    #[inline(always)]
    pub(super) fn granted(&mut self, ue: u32, now: Instant) {
        if let Some(sleep) = &mut self.sleep {
            sleep.transmits(ue, false, now);
        }
    }

    /// Stores `offer` for the report to `bearer` after the slot.
    #[inline]
    pub(super) fn offer(&mut self, bearer: BearerId, offer: Offer) {
        if self.wants_reports {
            self.offers.push((bearer, offer));
        }
    }

    /// Settles the turn of `bearer` in a slot of `sharers`; `held` is its backlog before the turn.
    /// Returns true if it has more to send.
    #[inline]
    pub(super) fn settle(
        &mut self,
        bearer: BearerId,
        held: &Turn,
        offer: impl FnOnce() -> Offer,
        sharers: u64,
    ) -> bool {
        self.backlog.change(&held.before, &held.after);
        let more = held.after.packets > 0;
        if !more && self.wants_reports {
            let Offer { capacity, full, left } = offer();
            self.offers.push((bearer, Offer { capacity, full, left: left / sharers }));
        }
        more
    }

    /// Reports the offers of `slot` to the limiters.
    pub(crate) fn report(&mut self, slot: Slot) {
        let Self { ues, gates, offers, unit, .. } = self;
        for (id, offer) in offers.drain(..) {
            let above = Above { gates, id };
            ues[id.ue as usize].bearers.at(id.drb.into()).report(slot, *unit, offer, above);
        }
    }

    /// Reports service rates to the AQMs that need them, after a slot with `slot_use` that leaves
    /// `sharers` with data; `whole` returns the bytes of the slot if one UE with a channel has all.
    pub(crate) fn tell_rates(
        &mut self,
        slot: Slot,
        slot_use: SlotUse,
        sharers: u64,
        whole: impl Fn(&Channel, u32) -> u64,
    ) {
        let Self { ues, rated, slot_weight, channel, .. } = self;
        for (id, rate) in rated {
            let UeRadio { bearers, own } = &mut ues[id.ue as usize];
            let bearer = bearers.at(id.drb.into());
            let offered = |sent| {
                let own = own.as_mut().map(|own| &mut own.channel);
                let whole = whole(
                    own.map_or(&*channel, |own| {
                        // Keeps an unused channel up to date.
                        own.advance(slot.k, slot.now);
                        own
                    }),
                    id.ue,
                );
                sent + slot_use.offers(whole, sent, sharers)
            };
            if let Some(reported) = rate.after_slot(bearer.sent_so_far(), *slot_weight, offered) {
                bearer.set_service_rate(reported);
            }
        }
    }

    /// Makes and passes on delivery reports after a slot at `now`; `under_way` returns the data on
    /// its way to a bearer.
    pub(crate) fn feed_aqms(&mut self, now: Instant, under_way: impl Fn(BearerId) -> Count) {
        let Self { ues, gates, feeds, .. } = self;
        for feed in feeds {
            let BearerId { ue, drb } = feed.id;
            let bearer = &ues[ue as usize].bearers[usize::from(drb)];
            feed.after_slot(now, bearer, under_way(feed.id), &mut gates[ue as usize]);
        }
    }

    /// Counts `slot` and its use, if reports are requested.
    pub(crate) fn count_slot(&mut self, slot: Slot, slot_use: SlotUse, in_rbs: bool) {
        let Some(mut meter) = self.meter.take() else { return };
        meter.end_slot(slot_use, !in_rbs || slot_use.capacity > 0);
        if self.per_ue_channels && !in_rbs {
            let shared = self.channel.peek(slot.k, slot.now);
            // Keeps unused channels up to date.
            for own in self.ues.iter_mut().filter_map(|ue| ue.own.as_mut()) {
                own.channel.capacity(slot.k, slot.now);
            }
            let own = |ue: u32| self.ues[ue as usize].own.as_ref();
            let peek = |channel: &Channel| channel.peek(slot.k, slot.now);
            meter.end_slot_of_each(|ue| own(ue).map_or(shared, |own| peek(&own.channel)));
        }
        self.meter = Some(meter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seven cache lines. With 512 B, two thousand UEs use half of the cache's sets, and a packet
    /// of a call misses twice as often (`docs/performance.md`).
    #[test]
    fn the_radio_side_of_a_ue_is_seven_lines_of_the_cache() {
        assert_eq!(size_of::<UeRadio>(), 448);
    }
}
