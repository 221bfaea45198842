//! Dual connectivity: a split bearer's PDCP in the master gNB sends over two RLC entities (TS
//! 37.340 section 4.2.2).
//!
//! The stack of the master cell numbers the PDUs and chooses the leg of each. PDUs of the secondary
//! leg go to the driver ([`Stack::take_routed`]), which carries them to the stack of the secondary
//! cell ([`Stack::accept_leg`]). In both stacks the receiver of RLC passes PDUs of the bearer with
//! their SNs to the driver ([`Egress::deliver_leg`]), which has the UE's PDCP.
//!
//! Each leg has a limiter. The limiter of the master leg decides at once; the reports of the
//! secondary leg carry the room of its limiter as the desired buffer size (TS 38.425 section
//! 5.4.2).

use super::*;
use crate::config::{Leg, Routing, SplitConfig};
use crate::gate::Way;
use crate::limiter::Limiter;
use alloc::collections::BTreeMap;

/// A PDCP PDU for the secondary leg.
#[derive(Clone, Copy, Debug)]
pub struct Routed {
    /// When it leaves PDCP.
    pub at: Instant,
    /// Its SDU.
    pub packet: Packet,
    /// Index of its bearer among the UE's.
    pub drb: u8,
    /// Its PDCP SN.
    pub sn: u32,
}

/// The state of the secondary leg in its node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LegState {
    /// Bytes of SDUs that wait in its RLC.
    pub waiting: u64,
    /// Bytes that its limiter admits to an empty queue; `u64::MAX` for no limit.
    pub room: u64,
}

/// A delivery status report of the secondary leg, in bytes of SDUs since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// Bytes up to the highest transmitted PDCP SN.
    pub transmitted: u64,
    /// Desired buffer size: bytes that the leg requests beyond the highest transmitted PDCP SN.
    pub desired: u64,
    /// False from a radio link outage to the resumption.
    pub up: bool,
}

/// The split bearers of a cell.
#[derive(Default)]
pub(super) struct Splits {
    /// By place of the UE and bearer.
    bearers: BTreeMap<(u32, u8), Split>,
    routed: Vec<Routed>,
}

/// The rate of a leg, from samples.
#[derive(Clone, Copy, Default)]
struct LegRate {
    /// Bytes transmitted by the last sample.
    transmitted: u64,
    /// True if the leg had data to send at the last sample.
    busy: bool,
    /// Bytes per second.
    rate: f64,
}

/// Weight of the last sample in the rate of a leg.
const WEIGHT: f64 = 0.25;

impl LegRate {
    /// The leg has transmitted `transmitted` bytes, `seconds` after the last sample, and has data
    /// to send if `busy`. A leg without data may be faster than the sample.
    fn sample(&mut self, transmitted: u64, busy: bool, seconds: f64) {
        let rate = transmitted.saturating_sub(self.transmitted) as f64 / seconds;
        self.transmitted = transmitted;
        let first = self.rate <= 0.0;
        if (busy && core::mem::replace(&mut self.busy, busy)) || rate > self.rate {
            self.rate += if first { 1.0 } else { WEIGHT } * (rate - self.rate);
        }
        self.busy = busy;
    }

    /// Seconds until the leg has sent `waiting` bytes and `size` more; 0 if no byte waits.
    fn wait(&self, waiting: u64, size: u32) -> f64 {
        match waiting {
            0 => 0.0,
            _ if self.rate <= 0.0 => f64::INFINITY,
            waiting => (waiting + u64::from(size)) as f64 / self.rate,
        }
    }
}

/// PDCP of one split bearer.
pub(super) struct Split {
    config: SplitConfig,
    /// To the secondary cell, in seconds.
    delay: f64,
    /// Bytes and PDUs sent to each leg, the master first.
    sent: [u64; 2],
    pdus: [u64; 2],
    master: LegRate,
    secondary: LegRate,
    /// Bytes up to which the secondary leg takes PDUs.
    most: u64,
    up: bool,
    /// When the last report arrived.
    reported_at: Instant,
}

impl Split {
    /// The leg of the next PDU, of `size` bytes; none if it must wait. The master leg has `waiting`
    /// bytes, and its limiter admits the PDU if `admitted`.
    fn leg(&self, size: u32, waiting: u64, admitted: bool) -> Option<Way> {
        let own = admitted.then_some(Way::Own);
        let [to_master, to_secondary] = self.sent;
        // A PDU may pass the end, as some limiters admit one while there is any room.
        let other = (self.up && to_secondary < self.most).then_some(Way::Other);
        let fixed = |leg: Leg| if leg == Leg::Secondary && self.up { other } else { own };
        match self.config.routing {
            Routing::Primary => fixed(self.config.primary),
            Routing::Weighted => {
                let due =
                    self.config.weight.0 * (to_master + to_secondary + u64::from(size)) as f64;
                let is_due = to_secondary as f64 + 0.5 * f64::from(size) <= due;
                fixed(if is_due { Leg::Secondary } else { Leg::Master })
            }
            Routing::FlowControl => {
                let on_secondary = to_secondary.saturating_sub(self.secondary.transmitted);
                let secondary = self.secondary.wait(on_secondary, size) + self.delay;
                let faster = other.filter(|_| secondary < self.master.wait(waiting, size));
                faster.or(own).or(other)
            }
        }
    }
}

impl Splits {
    /// The leg of the next PDU, of `size` bytes, of `id`; none if it must wait. The master leg has
    /// `waiting` bytes, and its limiter admits the PDU if `admitted`.
    pub(super) fn leg(&self, id: BearerId, size: u32, waiting: u64, admitted: bool) -> Option<Way> {
        self.bearers.get(&(id.ue, id.drb))?.leg(size, waiting, admitted)
    }

    /// The PDU of `sdu` with `sn` of `id` goes over the leg `way`.
    pub(super) fn route(&mut self, at: Instant, id: BearerId, sdu: &Packet, sn: u32, way: Way) {
        let Some(split) = self.bearers.get_mut(&(id.ue, id.drb)) else { return };
        split.sent[way as usize] += u64::from(sdu.size);
        split.pdus[way as usize] += 1;
        if way == Way::Other {
            self.routed.push(Routed { at, packet: *sdu, drb: id.drb, sn });
        }
    }
}

impl Stack {
    /// The bearers of `ue` that `config` names are split: the PDUs of their secondary legs take
    /// `delay` to their cell.
    ///
    /// # Panics
    /// If there is no such UE.
    pub fn split(&mut self, ue: u32, config: &SplitConfig, delay: Duration) {
        let reports = !config.report_period.is_zero();
        let ue = self.cell.place(ue);
        let splits = self.splits.get_or_insert_default();
        for (drb, bearer) in (0..).zip(self.cell.ues[ue as usize].bearers.iter_mut()) {
            if !config.splits(drb) {
                continue;
            }
            bearer.split();
            let split = Split {
                config: config.clone(),
                delay: delay.as_secs_f64(),
                sent: [0; 2],
                pdus: [0; 2],
                master: LegRate::default(),
                secondary: LegRate::default(),
                most: if reports { 0 } else { u64::MAX },
                up: true,
                reported_at: Instant::ZERO,
            };
            splits.bearers.insert((ue, drb), split);
        }
    }

    /// The bearers of `ue` that `config` names are legs of split bearers: their receivers pass PDUs
    /// to the driver.
    ///
    /// # Panics
    /// If there is no such UE.
    pub fn serve_leg(&mut self, ue: u32, config: &SplitConfig) {
        let ue = self.cell.place(ue);
        for (drb, bearer) in (0..).zip(self.cell.ues[ue as usize].bearers.iter_mut()) {
            if let Some(link) = bearer.link.as_mut().filter(|_| config.splits(drb)) {
                link.pdcp_rx().become_leg();
            }
        }
    }

    /// Takes the PDUs that PDCP has sent over secondary legs since the last call.
    pub fn take_routed(&mut self, mut take: impl FnMut(Routed)) {
        if let Some(splits) = &mut self.splits {
            splits.routed.drain(..).for_each(|routed| {
                self.gone += 1;
                take(routed);
            });
        }
    }

    /// PDUs and bytes that PDCP has sent over the legs of `ue`, the master first, over all bearers.
    #[must_use]
    pub fn sent_over_legs(&self, ue: u32) -> [(u64, u64); 2] {
        let ue = self.cell.place(ue);
        let splits = self.splits.iter().flat_map(|splits| &splits.bearers);
        let of_ue = splits.filter(|((of, _), _)| *of == ue).map(|(_, split)| split);
        of_ue.fold([(0, 0); 2], |mut sum, split| {
            for (leg, sum) in sum.iter_mut().enumerate() {
                sum.0 += split.pdus[leg];
                sum.1 += split.sent[leg];
            }
            sum
        })
    }

    /// A PDU of another cell's PDCP reaches the RLC of this cell's leg at `now`. False if its queue
    /// drops it.
    pub fn accept_leg<D: Probe + Egress>(
        &mut self,
        now: Instant,
        routed: &Routed,
        driver: &mut D,
    ) -> bool {
        self.advance(now, !self.clocks.top_down, driver);
        self.came += 1;
        let &Routed { packet, drb, sn, .. } = routed;
        let packet = Packet { enqueued: now, ..packet };
        if let Some(sdus) = self.service.in_flight() {
            sdus.note_number(&packet, sn);
        }
        let (gate, mut bearers) = self.gate_and_bearers(self.cell.place(packet.ue));
        let taken = gate.bypass(now, drb, &packet, &mut bearers, driver) == Ok(true);
        if !taken && let Some(sdus) = self.service.in_flight() {
            let _ = sdus.take_number(&packet);
        }
        taken
    }

    /// The state of the leg of bearer `drb` of `ue` in this cell at `now`.
    pub fn leg_state(&mut self, now: Instant, ue: u32, drb: u8) -> LegState {
        let ue = self.cell.place(ue);
        let view = self.cell.bearer(BearerId { ue, drb }).view();
        let room = self.cell.gates[ue as usize].limiter(drb).room(now, &RlcView::default());
        LegState { waiting: view.bytes, room }
    }

    /// True if the channel of `ue` carried something in the last slot.
    pub fn is_served(&self, ue: u32) -> bool {
        let Some(slot) = self.last_slot else { return false };
        let own = self.cell.ues[self.cell.place(ue) as usize].own.as_ref();
        let channel = own.map_or(&self.cell.channel, |own| &own.channel);
        self.service.full_slot(channel, slot) > 0
    }

    /// The `report` of the secondary leg of bearer `drb` of `ue` reaches PDCP at `now`.
    pub fn take_delivery_status(
        &mut self,
        now: Instant,
        ue: u32,
        drb: u8,
        report: &DeliveryStatus,
    ) {
        let ue = self.cell.place(ue);
        let bearer = self.cell.bearer(BearerId { ue, drb });
        let (own, waits) = (bearer.sent_so_far().bytes, bearer.view().bytes > 0);
        let splits = self.splits.as_mut().map(|splits| &mut splits.bearers);
        let Some(split) = splits.and_then(|all| all.get_mut(&(ue, drb))) else { return };
        let seconds = now.since(split.reported_at).as_secs_f64();
        if seconds > 0.0 && split.up && report.up {
            split.master.sample(own, waits, seconds);
            let waits = split.sent[1] > report.transmitted;
            split.secondary.sample(report.transmitted, waits, seconds);
        }
        split.reported_at = now;
        split.master.transmitted = own;
        split.secondary.transmitted = report.transmitted;
        split.most = report.transmitted.saturating_add(report.desired);
        split.up = report.up;
    }
}
