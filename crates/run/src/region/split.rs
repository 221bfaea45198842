//! Dual connectivity: UEs whose split bearers have legs in two cells.
//!
//! ```text
//! UPF -> SDAP -> PDCP -+-> RLC of the master cell -------> PDCP of the UE -> above
//!   (master cell)      +-> Xn -> RLC of the secondary -->
//! ```
//! The secondary cell reports its leg to PDCP; reports take the delay of Xn. After a radio link
//! outage its RLC is re-established, and PDCP sends the PDUs that the UE does not have over the
//! master leg (data recovery, TS 38.323 section 5.5).

use super::legs::{Arrival, OfLegs};
use super::log::Sited;
use super::{Around, Region};
use crate::cells::CellsConfig;
use crate::handovers::LegResult;
use justfull_base::{DropReason, Duration, Event, Instant, Layer};
use justfull_ran::desired::{DesiredBufferSize, ReportTimes};
use justfull_ran::pdcp::{PdcpOutcome, PdcpRx};
use justfull_ran::pdu::SduHandle;
use justfull_ran::stack::{DeliveryStatus, Entry, Forwarded, Kept, LegState, Routed};
use justfull_ran::{PdcpConfig, SplitConfig, Stack, UeConfig};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The UE's PDCP of one bearer, and the secondary leg of the bearer.
struct SplitBearer {
    drb: u8,
    pdcp: PdcpRx,
    /// PDUs that wait for an earlier one, by handle.
    held: Vec<Option<Arrival>>,
    free: Vec<usize>,
    /// Bytes of SDUs that the secondary leg has taken.
    taken: u64,
    desired: DesiredBufferSize,
}

impl SplitBearer {
    /// `arrival` comes from a leg: `out` gets it and the PDUs that waited for it, in order. False
    /// if the UE has it, or has given it up.
    fn receive(&mut self, arrival: Arrival, out: &mut Vec<Arrival>) -> bool {
        let at = self.free.pop().unwrap_or_else(|| {
            self.held.push(None);
            self.held.len() - 1
        });
        self.held[at] = Some(arrival);
        let Self { pdcp, held, free, .. } = self;
        let handle = SduHandle(at as u64);
        let outcome = pdcp.receive(arrival.now, arrival.sn, handle, |sdu| {
            out.extend(held[sdu.0 as usize].take());
            free.push(sdu.0 as usize);
        });
        if outcome == PdcpOutcome::Dropped {
            held[at] = None;
            free.push(at);
        }
        outcome == PdcpOutcome::Accepted
    }

    /// The report of the secondary leg in `state`.
    fn report(&mut self, state: LegState, period: Duration, delay: Duration) -> DeliveryStatus {
        let transmitted = self.taken - state.waiting;
        let times = ReportTimes { since: period, period, delay };
        let desired = self.desired.report(transmitted, state.room, times);
        DeliveryStatus { transmitted, desired, up: true }
    }

    /// t-Reordering has expired: `out` gets the PDUs for which PDCP waits no longer.
    fn expire(&mut self, now: Instant, out: &mut Vec<Arrival>) {
        let Self { pdcp, held, free, .. } = self;
        pdcp.on_timeout(now, |sdu| {
            out.extend(held[sdu.0 as usize].take().map(|sdu| Arrival { now, ..sdu }));
            free.push(sdu.0 as usize);
        });
    }
}

/// A report on its way to PDCP, by bearer, and the PDUs that PDCP sends again when it comes.
struct Report {
    at: Instant,
    status: Vec<(u8, DeliveryStatus)>,
    recovered: Vec<Forwarded>,
}

/// A UE with split bearers.
struct Split {
    ue: u32,
    master: u32,
    secondary: u32,
    config: SplitConfig,
    bearers: Vec<SplitBearer>,
    report_at: Instant,
    reports: VecDeque<Report>,
    /// PDUs that the secondary leg has taken, and those that it has delivered, dropped or given
    /// back.
    taken: u64,
    ended: u64,
    /// Bytes transmitted and PDUs ended on the secondary leg by the last report, and the time of
    /// their last change.
    progress: (u64, u64),
    moved: Instant,
    /// From a radio link outage to the resumption.
    out: bool,
    legs: [LegResult; 2],
}

impl Split {
    fn next(&self) -> Instant {
        let timers = self.bearers.iter().filter_map(|bearer| bearer.pdcp.next_timeout());
        let reports = self.reports.front().map(|report| report.at);
        timers.chain(reports).min().unwrap_or(Instant::NEVER).min(self.report_at)
    }

    fn bearer(&mut self, drb: u8) -> Option<&mut SplitBearer> {
        self.bearers.iter_mut().find(|bearer| bearer.drb == drb)
    }

    /// PDUs that wait in the UE's PDCP.
    fn held(&self) -> u64 {
        self.bearers.iter().map(|bearer| bearer.held.iter().flatten().count() as u64).sum()
    }
}

/// The UEs with split bearers.
#[derive(Default)]
pub(super) struct Splits {
    all: Vec<Split>,
    /// Index of each of their UEs.
    at: BTreeMap<u32, usize>,
    next: Option<Instant>,
    pub(super) of_legs: OfLegs,
    out: Vec<Arrival>,
    /// PDUs that PDCP of UEs has discarded.
    discarded: u64,
}

impl Splits {
    /// The next instant at which one of them acts.
    pub(super) fn next(&self) -> Instant {
        self.next.unwrap_or(Instant::NEVER)
    }

    /// The secondary cell of `ue`, if it has split bearers.
    pub(super) fn secondary(&self, ue: u32) -> Option<u32> {
        self.at.get(&ue).map(|at| self.all[*at].secondary)
    }

    /// PDUs that go back to PDCP after an outage.
    pub(super) fn packets(&self) -> u64 {
        let reports = self.all.iter().flat_map(|split| &split.reports);
        reports.map(|report| report.recovered.len() as u64).sum()
    }

    /// PDUs that legs have delivered and that wait in PDCP of UEs, and PDUs that it has discarded.
    pub(super) fn in_pdcp(&self) -> (u64, u64) {
        (self.all.iter().map(Split::held).sum(), self.discarded)
    }

    /// The results, leg by leg.
    pub(super) fn finish(&self, cells: &[Stack]) -> Vec<LegResult> {
        let of_split = |split: &Split| {
            let sent = cells[split.master as usize].sent_over_legs(split.ue);
            let mut legs = split.legs.clone();
            for (leg, (packets, bytes)) in legs.iter_mut().zip(sent) {
                (leg.routed_packets, leg.routed_bytes) = (packets, bytes);
            }
            legs
        };
        self.all.iter().flat_map(of_split).collect()
    }

    fn update(&mut self) {
        self.next = self.all.iter().map(Split::next).min();
    }

    /// Adds `ue` of `config`, which the cells of `cells` serve.
    fn add(&mut self, config: &CellsConfig, index: usize, ue: &UeConfig, pdcp: &PdcpConfig) {
        let place = &config.places[index];
        let Some((secondary, split)) = &place.split else { return };
        let bearer = |drb| SplitBearer {
            drb,
            pdcp: PdcpRx::new(pdcp).expect("the settings have built a cell before"),
            held: Vec::new(),
            free: Vec::new(),
            taken: 0,
            desired: DesiredBufferSize::default(),
        };
        let leg = |name: &str, cell: u32| LegResult {
            ue: index as u32,
            leg: name.into(),
            cell: config.cells[cell as usize].name.to_string(),
            ..LegResult::default()
        };
        let reports = !split.report_period.is_zero();
        self.at.insert(index as u32, self.all.len());
        self.all.push(Split {
            ue: index as u32,
            master: place.cell,
            secondary: *secondary,
            config: split.clone(),
            bearers: (0..ue.drbs).filter(|drb| split.splits(*drb)).map(bearer).collect(),
            report_at: if reports { Instant::ZERO } else { Instant::NEVER },
            reports: VecDeque::new(),
            taken: 0,
            ended: 0,
            progress: (0, 0),
            moved: Instant::ZERO,
            out: false,
            legs: [leg("master", place.cell), leg("secondary", *secondary)],
        });
    }
}

impl Region {
    /// Connects the UEs with split bearers to their cells.
    pub(super) fn connect_splits(&mut self) {
        let Self { splits, config, stacks, ues, cells, .. } = self;
        for index in 0..config.places.len() {
            let stack = &stacks[config.places[index].cell as usize];
            splits.add(config, index, &ues[index], &stack.pdcp);
        }
        for Split { ue, master, secondary, config: split, .. } in &splits.all {
            let master = &mut cells[*master as usize];
            master.split(*ue, split, config.handover.xn.delay);
            master.serve_leg(*ue, split);
            cells[*secondary as usize].serve_leg(*ue, split);
        }
        splits.of_legs.on = !splits.all.is_empty();
        splits.update();
    }

    /// After cell `c` has acted: PDUs of the secondary legs leave over Xn, and PDUs that have come
    /// over a leg pass through the UE's PDCP.
    pub(super) fn after_cell<A: Around>(&mut self, c: u32, around: &mut A) {
        let Self { splits, cells, xn, .. } = self;
        cells[c as usize].take_routed(|routed| {
            let Routed { at, packet, drb, sn } = routed;
            let Some(&i) = splits.at.get(&packet.ue) else { return };
            let split = &splits.all[i];
            let data = Some(Forwarded::Numbered { packet, drb, sn });
            xn.push(at, split.master, split.secondary, super::Item { ue: packet.ue, data });
        });
        let OfLegs { drops, arrivals, .. } = &mut splits.of_legs;
        if drops.is_empty() && arrivals.is_empty() {
            return;
        }
        for (cell, ue) in drops.drain(..) {
            if let Some(&i) = splits.at.get(&ue) {
                let split = &mut splits.all[i];
                split.ended += u64::from(cell == split.secondary);
            }
        }
        for arrival in std::mem::take(arrivals) {
            self.receive(arrival, around);
        }
        self.splits.update();
    }

    /// `arrival` reaches PDCP of its UE.
    fn receive<A: Around>(&mut self, arrival: Arrival, around: &mut A) {
        let Self { splits, ues, .. } = self;
        let Arrival { packet, cell, now, .. } = arrival;
        let Some(&i) = splits.at.get(&packet.ue) else { return };
        let split = &mut splits.all[i];
        let ue = &ues[packet.ue as usize];
        let flow = ue.qos_flows.iter().find(|flow| flow.qfi == packet.qfi);
        let drb = flow.map_or(0, |flow| flow.drb);
        let secondary = cell == split.secondary;
        split.ended += u64::from(secondary);
        let leg = &mut split.legs[usize::from(secondary)];
        leg.delivered_packets += 1;
        leg.delivered_bytes += u64::from(packet.size);
        let mut out = std::mem::take(&mut splits.out);
        let split = &mut splits.all[i];
        let accepted = split.bearer(drb).is_some_and(|b| b.receive(arrival, &mut out));
        if !accepted {
            split.legs[usize::from(secondary)].late_packets += 1;
            splits.discarded += 1;
            let reason = DropReason::Reassembly;
            let event = Event::Dropped { layer: Layer::Rlc, packet, reason };
            around.on_event(now, &event);
        }
        self.pass_up(now, out, around);
    }

    /// PDUs in order pass from PDCP to the layers above it at `now`.
    fn pass_up<A: Around>(&mut self, now: Instant, mut out: Vec<Arrival>, around: &mut A) {
        for Arrival { left, packet, cell, .. } in out.drain(..) {
            self.log.received(now, cell, &packet);
            around.deliver_from_air(now, left, &packet, None);
        }
        self.splits.out = out;
    }

    /// Timers of PDCP, reports and arrivals of reports that are due at `now`.
    pub(super) fn act_splits<A: Around>(&mut self, now: Instant, around: &mut A) {
        for i in 0..self.splits.all.len() {
            if self.splits.all[i].next() > now {
                continue;
            }
            let mut out = std::mem::take(&mut self.splits.out);
            for bearer in &mut self.splits.all[i].bearers {
                bearer.expire(now, &mut out);
            }
            self.pass_up(now, out, around);
            if self.splits.all[i].report_at <= now {
                self.report(now, i, around);
            }
            while self.splits.all[i].reports.front().is_some_and(|report| report.at <= now) {
                let Some(report) = self.splits.all[i].reports.pop_front() else { break };
                self.take_report(now, i, report, around);
            }
        }
        self.splits.update();
    }

    /// The secondary leg of split `i` reports to PDCP; the report takes the delay of Xn.
    fn report<A: Around>(&mut self, now: Instant, i: usize, around: &mut A) {
        let split = &self.splits.all[i];
        let (ue, secondary) = (split.ue, split.secondary);
        let drbs: Vec<u8> = split.bearers.iter().map(|bearer| bearer.drb).collect();
        let (states, served) = self.on_cell(secondary, around, |cell, _| {
            let state = |drb| cell.leg_state(now, ue, drb);
            (drbs.into_iter().map(state).collect::<Vec<_>>(), cell.is_served(ue))
        });
        let delay = self.config.handover.xn.delay;
        let split = &mut self.splits.all[i];
        let period = split.config.report_period;
        let reports = split.bearers.iter_mut().zip(states);
        let mut status: Vec<(u8, DeliveryStatus)> = reports
            .map(|(bearer, state)| (bearer.drb, bearer.report(state, period, delay)))
            .collect();
        let transmitted = status.iter().map(|(_, status)| status.transmitted).sum();
        let progress = (transmitted, split.ended);
        if progress != split.progress || split.taken == split.ended {
            (split.progress, split.moved) = (progress, now);
        }
        let outage = split.config.outage;
        let mut recovered = Vec::new();
        if !outage.is_zero() && now.since(split.moved) >= outage {
            split.legs[1].outages += u64::from(!split.out);
            split.out = true;
            split.moved = now;
            recovered = self.recover(now, i, around);
            for (at, (_, status)) in status.iter_mut().enumerate() {
                let bearer = &mut self.splits.all[i].bearers[at];
                bearer.desired.recover(bearer.taken);
                status.transmitted = bearer.taken;
            }
        } else if served {
            split.out = false;
        }
        let split = &mut self.splits.all[i];
        status.iter_mut().for_each(|(_, status)| status.up = !split.out);
        split.reports.push_back(Report { at: now + delay, status, recovered });
        split.report_at = now + period;
    }

    /// The RLC of the secondary leg of split `i` is re-established; returns the PDUs that the UE
    /// does not have, in the order of their SNs.
    fn recover<A: Around>(&mut self, now: Instant, i: usize, around: &mut A) -> Vec<Forwarded> {
        let Split { ue, secondary, config: split, .. } = &self.splits.all[i];
        let (ue, secondary, split) = (*ue, *secondary, split.clone());
        let stacks = std::mem::take(&mut self.stacks);
        let settings = Arc::clone(&self.ues[ue as usize]);
        let data = self.on_cell(secondary, around, |cell, sited| {
            let departure = cell.detach(now, ue, sited).expect("the leg is in its cell");
            cell.leave_place(ue);
            let config = &stacks[secondary as usize];
            let entry = Entry { config, ue: &settings, kept: Kept::Nothing };
            cell.attach(now, departure.context, &entry, sited).expect("its place is vacant");
            cell.serve_leg(ue, &split);
            departure.data
        });
        self.stacks = stacks;
        let packets: Vec<Forwarded> =
            data.into_iter().filter(|data| data.packet().is_some()).collect();
        let split = &mut self.splits.all[i];
        split.ended += packets.len() as u64;
        split.legs[1].recovered_packets += packets.len() as u64;
        packets
    }

    /// `report` reaches PDCP of split `i`.
    fn take_report<A: Around>(&mut self, now: Instant, i: usize, report: Report, around: &mut A) {
        let Split { ue, master, .. } = self.splits.all[i];
        self.on_cell(master, around, |cell, sited| {
            for (drb, status) in &report.status {
                cell.take_delivery_status(now, ue, *drb, status);
            }
            for data in report.recovered {
                cell.accept(now, data, sited);
            }
        });
    }

    /// A PDU reaches the secondary leg over Xn at `now`.
    pub(super) fn arrive_at_leg<A: Around>(
        &mut self,
        now: Instant,
        data: Forwarded,
        secondary: u32,
        around: &mut A,
    ) {
        let Forwarded::Numbered { packet, drb, sn } = data else { return };
        let Some(&i) = self.splits.at.get(&packet.ue) else { return };
        let split = &mut self.splits.all[i];
        split.taken += 1;
        if let Some(bearer) = split.bearer(drb) {
            bearer.taken += u64::from(packet.size);
        }
        let routed = Routed { at: now, packet, drb, sn };
        self.on_cell(secondary, around, |cell, sited: &mut Sited<'_, A>| {
            let _ = cell.accept_leg(now, &routed, sited);
        });
    }
}
