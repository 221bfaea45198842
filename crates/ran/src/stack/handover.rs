//! Handover: a UE leaves the source cell, and its data follows it to the target (TS 38.300 section
//! 9.2.3.2).
//!
//! RLC is re-established at both ends (TS 38.322 section 5.1.2). In acknowledged mode the UE's PDCP
//! and the numbers of the gNB's PDCP continue, and the target again sends the SDUs without a
//! confirmed delivery, in the order of their COUNTs. In other modes PDCP starts anew, and SDUs on
//! the air are lost (TS 38.323 section 5.1.2). Without PDCP and RLC at both ends (packets, bytes)
//! the target sends a partly sent SDU again as a whole.

use super::build::{build_bearers, build_gate, build_upf, ue_key};
use super::core_network::Ue;
use super::*;
use crate::UeConfig;
use crate::bearer::{Taken, Upward};
use crate::pdu::SduHandle;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use justfull_base::rng::mix;

/// A packet that goes from the source cell to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarded {
    /// An unacknowledged SDU that the source sent on bearer `drb`, with its PDCP SN.
    Numbered {
        /// The packet.
        packet: Packet,
        /// Index of its bearer among the UE's.
        drb: u8,
        /// Its PDCP SN.
        sn: u32,
    },
    /// A packet without a PDCP SN.
    Fresh(Packet),
    /// The size in bytes of a copy of an SDU that the UE has received but not acknowledged. The
    /// target discards the copy on the UE's PDCP status report (TS 38.323 section 5.4).
    Copy(u32),
}

impl Forwarded {
    /// The packet; none for a copy.
    #[must_use]
    pub const fn packet(&self) -> Option<&Packet> {
        match self {
            Self::Numbered { packet, .. } | Self::Fresh(packet) => Some(packet),
            Self::Copy(_) => None,
        }
    }

    /// Bytes on the IP layer.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        match self {
            Self::Numbered { packet, .. } | Self::Fresh(packet) => packet.size,
            Self::Copy(bytes) => *bytes,
        }
    }
}

/// A UE that has left a cell, and its data there.
pub struct Departure {
    /// Its gate and bearers, with empty queues, and the state of its PDCP.
    pub context: Box<UeContext>,
    /// The data for the target, in order: SDUs with a PDCP SN first.
    pub data: Vec<Forwarded>,
    /// Number of SDUs lost on the air.
    pub lost: u64,
}

/// The state that a UE's bearers keep in the target cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Limiters, pacers and AQMs start anew.
    Nothing,
    /// Limiters, pacers and AQMs keep the state that they had in the source cell.
    Gate,
}

/// The entry of a UE into a cell.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// The settings that built the cell; the list of UEs is not read.
    pub config: &'a StackConfig,
    /// The UE's settings.
    pub ue: &'a UeConfig,
    /// The state that it keeps.
    pub kept: Kept,
}

const BUILT: &str = "the settings have built a cell before";

impl Stack {
    /// UE `ue` leaves the cell at `now`, after all work due then, with the data of its queues.
    /// Until it is [attached](Self::attach) again, its packets go to [`Stack::pass_by`].
    ///
    /// # Errors
    /// The UE is not in the cell, or the MAC is of UMTS.
    pub fn detach<D: Probe + Egress>(
        &mut self,
        now: Instant,
        ue: u32,
        driver: &mut D,
    ) -> Result<Departure, RoamError> {
        self.check_handover()?;
        let number = ue;
        let ue = self.present(number)?;
        self.advance(now, true, driver);
        let mut departure = Radio::default();
        let drbs = self.cell.ues[ue as usize].bearers.len() as u8;
        for drb in 0..drbs {
            self.end_link(now, BearerId { ue, drb }, &mut departure, driver);
        }
        let Radio { mut data, waiting, heads } = departure;
        let mut numbers = self.numbers_of_leg(number, ue);
        let lost = self.lose_in_flight(now, number, driver);
        let mut lost_heads = 0;
        for drb in 0..drbs {
            let Self { cell, service, core, .. } = self;
            let id = BearerId { ue, drb };
            let bearer = cell.bearer(id);
            let head = heads[usize::from(drb)];
            let before = bearer.view();
            bearer.re_establish();
            let mut sdus = Vec::new();
            bearer.withdraw(now, driver, &mut |packet| sdus.push(packet));
            cell.backlog.change(&before, &RlcView::default());
            if before.packets > 0 {
                service.leave(id, cell);
            }
            for packet in sdus {
                match head.filter(|head| head.id == packet.id) {
                    Some(Head { sn: Some(sn), .. }) => {
                        data.push(Forwarded::Numbered { packet, drb, sn });
                    }
                    Some(_) => {
                        lost_heads += 1;
                        core.refused += 1;
                        let reason = DropReason::Handover;
                        driver.on_event(now, &Event::Dropped { layer: Layer::Rlc, packet, reason });
                    }
                    None => data.push(match numbers.remove(&packet.id) {
                        Some(sn) => Forwarded::Numbered { packet, drb, sn },
                        None => Forwarded::Fresh(packet),
                    }),
                }
            }
        }
        for queue in &mut *self.cell.gates[ue as usize].sdap.queues {
            queue.queue.withdraw(now, driver, &mut |packet| data.push(Forwarded::Fresh(packet)));
        }
        self.service.forget(ue, &self.cell);
        // SDUs with a number, of all bearers, come before the others.
        data.sort_by_key(|sdu| matches!(sdu, Forwarded::Fresh(_)));
        self.gone += data.iter().filter(|sdu| sdu.packet().is_some()).count() as u64;
        let mut context = self.take_out(now, ue);
        self.gone += waiting.iter().map(|sdus| sdus.len() as u64).sum::<u64>();
        context.waiting = waiting;
        Ok(Departure { context, data, lost: lost + lost_heads })
    }

    /// Ends PDCP and RLC of `id`, and adds their data to `radio`.
    fn end_link<D: Probe + Egress>(
        &mut self,
        now: Instant,
        id: BearerId,
        radio: &mut Radio,
        driver: &mut D,
    ) {
        let Self { clocks, assert_bound, delivered, carried, service, cell, .. } = self;
        let mut exit = Exit { clocks, assert_bound: *assert_bound, delivered, carried, driver };
        let bearer = cell.bearer(id);
        let mut head = bearer.head().map(|head| Head { id: head.id, sn: None });
        let mut waiting = Vec::new();
        if let (Some(link), Some(sdus)) = (&mut bearer.link, service.in_flight()) {
            if link.is_acknowledged() {
                link.pdcp_rx().rename(|sdu| {
                    waiting.extend(sdus.take_along(sdu));
                    SduHandle(waiting.len() as u64 - 1)
                });
                // The head has its number even before its first byte leaves.
                let first = head.is_some().then_some(link.head);
                if let Some(taken) = first.and_then(|sdu| sdus.take_along(sdu)) {
                    head = Some(Head { id: taken.packet.id, sn: Some(taken.pdcp_sn) });
                }
                link.tx.unacknowledged(|sdu, bytes| {
                    if first == Some(sdu) {
                        return;
                    }
                    radio.data.push(match sdus.take_along(sdu) {
                        None => Forwarded::Copy(bytes),
                        Some(Taken { packet, pdcp_sn: sn, .. }) => {
                            Forwarded::Numbered { packet, drb: id.drb, sn }
                        }
                    });
                });
            } else {
                if head.is_some() && link.tx.head_left().is_none() {
                    // No byte of the head has left: it continues as a packet without a number.
                    let taken = sdus.take_along(link.head).filter(|_| link.pdcp_rx().is_leg());
                    head = taken.map(|sdu| Head { id: sdu.packet.id, sn: Some(sdu.pdcp_sn) });
                }
                let mut up = Upward { now, sdus, exit: &mut exit, holds: None };
                link.pdcp_rx().re_establish(|sdu| up.deliver(sdu));
            }
        } else {
            // Without RLC at both ends nothing of the head has arrived.
            head = None;
        }
        radio.waiting.push(waiting);
        radio.heads.push(head);
    }

    /// The PDCP SNs of the SDUs that wait in the legs of UE `number` in `place`, by packet.
    fn numbers_of_leg(&mut self, number: u32, place: u32) -> BTreeMap<u64, u32> {
        let mut links = self.cell.ues[place as usize].bearers.iter_mut();
        let is_leg = links.any(|b| b.link.as_mut().is_some_and(|link| link.pdcp_rx().is_leg()));
        let sdus = self.service.in_flight().filter(|_| is_leg);
        sdus.map_or_else(BTreeMap::new, |sdus| sdus.take_numbers(number))
    }

    /// The SDUs of `ue` on the air are lost; returns their number.
    fn lose_in_flight<D: Probe>(&mut self, now: Instant, ue: u32, driver: &mut D) -> u64 {
        let mut lost = 0;
        if let Some(sdus) = self.service.in_flight() {
            sdus.lose_all_of(ue, |packet| {
                lost += 1;
                let reason = DropReason::Handover;
                let packet = *packet;
                driver.on_event(now, &Event::Dropped { layer: Layer::Rlc, packet, reason });
            });
        }
        lost
    }

    /// The UE of `context`, which has left another cell, enters this cell at `now`, after all work
    /// due then. The UE's data follows ([`Stack::accept`]).
    ///
    /// # Errors
    /// The cell has a UE of this number, another unit of grants, other QoS flows, or a MAC of UMTS.
    ///
    /// # Panics
    /// If `config` is not the configuration that built the cell; its list of UEs is not read.
    pub fn attach<D: Probe + Egress>(
        &mut self,
        now: Instant,
        mut context: Box<UeContext>,
        entry: &Entry<'_>,
        driver: &mut D,
    ) -> Result<(), RoamError> {
        self.check_handover()?;
        self.check_admission(&context)?;
        self.advance(now, true, driver);
        self.fit(&mut context, entry);
        self.make_place(&context, entry);
        self.put_in(now, *context, driver);
        Ok(())
    }

    /// Builds the parts of `context` that are the cell's own.
    fn fit(&self, context: &mut UeContext, entry: &Entry<'_>) {
        let Entry { config, ue, kept } = *entry;
        let grants = GrantContext { unit: self.cell.unit, slot: self.slot, mtu: config.mtu };
        // A UE that returns gets other random numbers.
        let key = mix(ue_key(config, context.ue as usize) ^ mix(self.came + self.gone));
        let gate = build_gate(config, ue, &grants, key).expect(BUILT);
        let mut bearers = build_bearers(config, ue, &gate, key).expect(BUILT);
        for (new, old) in bearers.iter_mut().zip(context.bearers.iter_mut()) {
            if let (Some(new), Some(old)) = (&mut new.link, old.link.take()) {
                new.adopt(old);
            }
            if kept == Kept::Gate {
                old.link = new.link.take();
            }
        }
        if kept == Kept::Nothing {
            (context.gate, context.bearers) = (gate, bearers);
        }
    }

    /// Makes a place for the UE of `context` in a cell of several.
    fn make_place(&mut self, context: &UeContext, entry: &Entry<'_>) {
        let Self { cell, core, clocks, service, unpaced, .. } = self;
        let Some(roster) = &mut cell.roster else { return };
        let place = roster.add(context.ue);
        let own = roster.elsewhere.remove(&context.ue);
        service.enter(place, context.ue, entry.ue.drbs);
        let at = place as usize;
        if at == cell.ues.len() {
            cell.ues.push(UeRadio { bearers: Few::Many(Vec::new()), own: None });
            cell.gates.push(Gate::vacant());
            cell.slices.push(0);
            core.ues.push(context.known.clone());
        }
        (cell.ues[at].own, cell.slices[at], core.ues[at]) =
            (own, context.slice, context.known.clone());
        if let Some(meter) = &mut cell.meter {
            meter.enter(place);
        }
        if let Some(sleep) = &mut cell.sleep {
            sleep.make_place(place, context.ue);
        }
        if !(clocks.upf.is_event_driven() && *unpaced) {
            let upf = build_upf(entry.config, context.ue as usize, entry.ue).expect(BUILT);
            if at == core.upfs.len() {
                core.upfs.push(upf);
            } else {
                core.upfs[at] = upf;
            }
        }
        let queues = context.queues().any(|queue| queue.needs().timeouts);
        let upf = core.upfs.get(at).is_some_and(|upf| upf.queues[0].queue.needs().timeouts);
        if queues || upf {
            clocks.expect_timeouts();
        }
    }

    /// UE `number` is in another cell, and the UPF sends nothing here for it any more: its place is
    /// vacant.
    pub fn leave_place(&mut self, number: u32) {
        let Self { cell, clocks, .. } = self;
        let Some(roster) = &mut cell.roster else { return };
        let Some(place) = roster.find(number) else { return };
        roster.remove(number);
        if let Some(sleep) = &mut cell.sleep {
            sleep.leave_place(place, number);
        }
        if let Some(own) = cell.ues[place as usize].own.take() {
            roster.elsewhere.insert(number, own);
        }
        clocks.forget_timeouts(place);
    }

    /// `data` of a UE in this cell arrives at `now` from the UE's last cell.
    pub fn accept<D: Probe + Egress>(&mut self, now: Instant, data: Forwarded, driver: &mut D) {
        self.advance(now, !self.clocks.top_down, driver);
        match data {
            Forwarded::Copy(_) => {}
            Forwarded::Numbered { packet, drb, sn } => {
                self.came += 1;
                if let Some(sdus) = self.service.in_flight() {
                    sdus.note_number(&packet, sn);
                }
                let (_, mut bearers) = self.gate_and_bearers(self.cell.place(packet.ue));
                if !bearers.enqueue(now, drb, &packet, driver)
                    && let Some(sdus) = self.service.in_flight()
                {
                    let _ = sdus.take_number(&packet);
                }
            }
            Forwarded::Fresh(mut packet) => {
                self.came += 1;
                packet.enqueued = now;
                let place = self.cell.place(packet.ue);
                let Ue { qfis, away, .. } = &self.core.ues[place as usize];
                let qos = qfis.iter().position(|qfi| *qfi == packet.qfi).filter(|_| !away);
                let Some(qos) = qos else {
                    self.core.refused += 1;
                    let reason = DropReason::NoRule;
                    driver.on_event(now, &Event::Dropped { layer: Layer::Upf, packet, reason });
                    return;
                };
                self.enter_sdap(now, place, qos, &mut packet, driver);
            }
        }
    }

    /// A packet of a UE in the cell reaches the UPF at `now`. [`Flows`] has stamped it, and found
    /// the index of its QoS flow, `qos`.
    pub fn input_stamped<D: Probe + Egress>(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        qos: Option<u8>,
        driver: &mut D,
    ) {
        self.advance(now, !self.clocks.top_down, driver);
        self.core.next_id += 1;
        // A packet without a QoS flow is dropped, also if its UE is on the way to another cell.
        let place = if qos.is_some() { self.cell.place(packet.ue) } else { 0 };
        self.enter_upf(now, place, qos, packet, driver);
    }

    /// Like [`Stack::input_stamped`], for a UE on the way to another cell. A UPF without a queue
    /// passes the packet on at once: false. Otherwise the UPF keeps or drops it: true.
    pub fn pass_by<D: Probe + Egress>(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        qos: Option<u8>,
        driver: &mut D,
    ) -> bool {
        self.advance(now, !self.clocks.top_down, driver);
        self.core.next_id += 1;
        let Some(qos) = qos else {
            self.refuse(now, *packet, DropReason::NoRule, driver);
            return true;
        };
        if self.core.upfs.is_empty() {
            self.gone += 1;
            return false;
        }
        let ue = self.cell.place(packet.ue);
        let upf = &mut self.core.upfs[ue as usize];
        upf.queues[usize::from(qos)].queue.enqueue_from(now, packet, driver);
        if self.clocks.have_timeouts() {
            self.arm_timeout(QueueId::Upf { ue, qos: qos.into() });
        }
        true
    }

    /// From `now` on the UPF sends the packets of `ue` to this cell and no longer to `source`. The
    /// UE's packets in the UPF move too.
    pub fn switch_path(&mut self, now: Instant, source: &mut Self, ue: u32) {
        if self.core.upfs.is_empty() || source.core.upfs.is_empty() {
            return;
        }
        let (from, ue) = (source.cell.place(ue), self.cell.place(ue));
        let at = ue as usize;
        let upf = &mut source.core.upfs[from as usize];
        for queue in &mut upf.queues {
            let moved = u64::from(queue.queue.backlog_packets());
            source.core.refused += queue.queue.counters().dropped_total().packets;
            source.gone += moved;
            self.came += moved;
            queue.queue.count_anew();
        }
        core::mem::swap(upf, &mut self.core.upfs[at]);
        (upf.listed, self.core.upfs[at].listed) = (false, false);
        source.core.busy.retain(|busy| *busy != from);
        if self.core.upfs[at].is_busy() {
            self.core.upfs[at].listed = true;
            self.core.busy.push(ue);
            self.clocks.arm_upf(now, true);
        }
        for qos in 0..self.core.upfs[at].queues.len() as u32 {
            let id = QueueId::Upf { ue, qos };
            let Some(due) = self.queue_mut(id).next_timeout() else { continue };
            // The timeout may be armed for the source cell.
            let _ = self.queue_mut(id).take_timeout(due);
            self.clocks.expect_timeouts();
            self.arm_timeout(id);
        }
    }

    /// The SINR in dB of this cell at `ue`, which may be in another cell, at `now`. None if the UE
    /// has no channel of its own, or a channel without a SINR.
    #[must_use]
    pub fn sinr_db(&self, ue: u32, now: Instant) -> Option<f64> {
        self.cell.own_channel(ue)?.channel.sinr_db(now)
    }

    /// True if packets may wait in the UPF.
    #[must_use]
    pub fn has_upf_queues(&self) -> bool {
        !self.core.upfs.is_empty()
    }

    fn check_handover(&self) -> Result<(), RoamError> {
        let umts = matches!(self.service, AnyService::Dch(_) | AnyService::Hsdpa(_));
        if umts { Err(RoamError::InTheAir) } else { Ok(()) }
    }
}

/// The data of a UE's PDCP and RLC. A list of lists has one list for each bearer.
#[derive(Default)]
struct Radio {
    data: Vec<Forwarded>,
    waiting: Vec<Vec<Taken>>,
    heads: Vec<Option<Head>>,
}

/// The SDU in transmission: the number of its packet, and its PDCP SN if it is a retransmission.
#[derive(Clone, Copy)]
struct Head {
    id: u64,
    sn: Option<u32>,
}
