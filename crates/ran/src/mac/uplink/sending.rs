//! A PUSCH: how a UE fills its grant, and the fate of the transport block.

use super::access::{Format, GROUPS, News, Report, Trigger};
use super::prioritisation::{Channel as LogicalChannel, divide};
use super::{Grant, Scratch, UplinkMac};
use crate::bearer::{BearerId, Egress, Exit, Offer, Slot};
use crate::harq::{Block, Outcome, Reception};
use crate::mac::Cell;
use crate::mac::blocks::reception_by_sinr;
use justfull_base::{Instant, Probe};

impl UplinkMac {
    /// The UE of `grant` fills its transport block and sends it. Returns the bytes of data.
    pub(super) fn send<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        grant: Grant,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> u32 {
        let Grant { ue, mcs, rbs, bytes } = grant;
        self.counts.grants += 1;
        self.note(slot.now, cell.number(ue), true);
        self.counts.granted_bytes += u64::from(bytes);
        self.ues[ue as usize].grant(slot.now, bytes, &self.times);
        let mut block = self.harq.open(ue);
        (block.n_prb, block.mcs, block.tag) = (rbs, mcs, 0);
        let (mut held, _) = self.held(ue, cell);
        let all: u64 = held.iter().sum();
        let groups = held.iter().filter(|bytes| **bytes > 0).count() as u32;
        let format = Format::triggered(groups);
        let trigger = self.ues[ue as usize].trigger;
        let report = format.size(groups);
        // A grant that holds all data but not also the report needs no report (clause 5.4.5).
        let unneeded = all <= bytes.into() && all + u64::from(report) > bytes.into();
        let reports = trigger != Trigger::None && !unneeded && report <= bytes;
        if trigger != Trigger::None && unneeded {
            self.ues[ue as usize].cancel();
        }
        let room = bytes - if reports { report } else { 0 };
        let sent = self.fill(slot, ue, room, &mut block, cell, exit);
        let mut padding = room - sent;
        let first;
        (held, first) = self.held(ue, cell);
        let left = held.iter().filter(|bytes| **bytes > 0).count() as u32;
        let format = if reports { Some(format) } else { Format::padding(padding, left) };
        if let Some(format) = format {
            if !reports {
                padding -= format.size(left);
                self.counts.padding_reports += 1;
            } else if trigger == Trigger::Regular {
                self.counts.regular_reports += 1;
            } else {
                self.counts.periodic_reports += 1;
            }
            let access = &mut self.ues[ue as usize];
            let report = Report::of(format, &held, first, access.granted);
            access.reported(slot.now, report.truncated, &self.times);
            block.tag = self.keep_report(report);
        }
        self.counts.padding_bytes += u64::from(padding);
        self.offer(ue, bytes, padding, mcs, cell);
        self.transmit(slot, block, cell, exit);
        sent
    }

    /// Bytes of `ue` in each group, headers included, and the group with the best priority (0 if
    /// none has data). Records which bearers have data.
    pub(super) fn held(&mut self, ue: u32, cell: &Cell) -> ([u64; GROUPS], usize) {
        let Self { ues, channels, by_priority, .. } = self;
        let bearers = &cell.ues[ue as usize].bearers;
        let (mut held, mut first, mut holding) = ([0; GROUPS], None, 0);
        for &drb in by_priority.iter() {
            let Some(bearer) = bearers.get(usize::from(drb)) else { continue };
            let bytes = bearer.backlog_on_air();
            if bytes > 0 {
                let group = usize::from(channels[usize::from(drb)].group);
                held[group] += bytes;
                first.get_or_insert(group);
                holding |= 1 << drb;
            }
        }
        ues[ue as usize].holding = holding;
        (held, first.unwrap_or_else(|| usize::from(channels[usize::from(by_priority[0])].group)))
    }

    /// Divides `room` bytes of `block` among the logical channels of `ue`; returns the bytes used.
    pub(super) fn fill<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        ue: u32,
        room: u32,
        block: &mut Block,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) -> u32 {
        let Self { scratch, channels, by_priority, ues, links, .. } = self;
        let Scratch { channels: list, lengths, .. } = scratch;
        let buckets = &mut ues[ue as usize].buckets;
        let growth = |drb: usize| channels[drb].growth();
        buckets.fill(slot.now.since(Instant::ZERO).as_nanos(), growth);
        list.clear();
        lengths.clear();
        for &drb in by_priority.iter() {
            let Some(bearer) = cell.ues[ue as usize].bearers.get(usize::from(drb)) else {
                continue;
            };
            let start = lengths.len() as u32;
            let backlog = bearer.list_sdus(room, lengths);
            if backlog > 0 {
                let channel = &channels[usize::from(drb)];
                let bucket = channel.pbr.map(|_| buckets.bytes(drb.into()));
                let (priority, sdus) = (channel.priority, start..lengths.len() as u32);
                list.push(LogicalChannel { drb, priority, bucket, sdus, backlog, given: 0 });
            }
        }
        divide(room.into(), list, lengths);
        let mut sent = 0;
        for channel in list.iter().filter(|channel| channel.given > 0) {
            let id = BearerId { ue, drb: channel.drb };
            let given = channel.given as u32;
            let took = links.pull(slot, id, given, block.add(channel.drb), cell, exit);
            buckets.spend(channel.drb.into(), took);
            sent += took;
        }
        sent
    }

    /// Reports the grant to the limiters of `ue`.
    pub(super) fn offer(&self, ue: u32, bytes: u32, padding: u32, mcs: u8, cell: &mut Cell) {
        if !cell.wants_reports {
            return;
        }
        let drbs = cell.ues[ue as usize].bearers.iter().count();
        let left = u64::from(padding) / drbs as u64;
        let offer = Offer { capacity: bytes.into(), full: self.carrier.full_slot(mcs), left };
        for drb in 0..drbs as u8 {
            cell.offer(BearerId { ue, drb }, offer);
        }
    }

    /// Stores `report`; returns the tag of its block.
    pub(super) fn keep_report(&mut self, report: Report) -> u32 {
        match self.free_reports.pop() {
            Some(place) => {
                self.reports[place as usize] = report;
                place + 1
            }
            None => {
                self.reports.push(report);
                self.reports.len() as u32
            }
        }
    }

    /// Sends `block` in `slot`.
    pub(super) fn transmit<D: Probe + Egress>(
        &mut self,
        slot: Slot,
        mut block: Block,
        cell: &mut Cell,
        exit: &mut Exit<'_, D>,
    ) {
        let met = reception_by_sinr(cell, slot, &mut block).unwrap_or(Reception::Borne);
        let ue = block.ue;
        let outcome = self.harq.transmit(slot.k, &mut block, met, || cell.number(ue));
        if outcome == Outcome::Again {
            return self.harq.keep(slot.k, block);
        }
        for (drb, content) in block.contents() {
            let id = BearerId { ue: block.ue, drb: *drb };
            if outcome == Outcome::Decoded {
                self.links.receive(slot.now, id, content, cell, exit);
            } else {
                self.links.lose(slot.now, id, content, cell, exit);
            }
        }
        if let Some(place) = block.tag.checked_sub(1) {
            self.free_reports.push(place);
            if outcome == Outcome::Decoded {
                let report = self.reports[place as usize];
                self.send_news(slot.k, block.ue, News::Report(report));
            }
        }
        self.harq.close(block);
    }
}
