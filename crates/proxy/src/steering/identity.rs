//! The UEs: their addresses, their cells, and when reports came.

use crate::config::UesConfig;
use crate::pools::{ClientHost, PoolId, UeAddress};
use justfull_base::{Duration, Instant};
use justfull_net::Prefix;
use justfull_rapid::UeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::cells::Cells;

/// Time after a move in which a report alone does not move the UE back.
const REMEMBERED: Duration = Duration::from_secs(60);
/// Number of stored cells that a UE has left.
const LEFT: usize = 4;
/// Bounds of the time without a report after which a cell is silent about a UE; between them it is
/// three intervals between reports.
const SILENT: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(3)];
/// A UE with a report in this time has reports of its own.
const CURRENT: Duration = Duration::from_secs(1);

/// A UE as the previous process hands it over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) addresses: Vec<Prefix>,
    #[serde(default)]
    pub(crate) pool: PoolId,
    /// Its cell; none while unknown.
    pub(crate) cell: Option<String>,
}

/// A UE.
#[derive(Debug)]
pub(crate) struct Ue {
    pub(crate) id: UeId,
    /// Its first known address.
    pub(crate) name: UeAddress,
    /// All its addresses, in one pool.
    pub(crate) addresses: Vec<UeAddress>,
    /// The addresses in its last report.
    pub(crate) told: Vec<UeAddress>,
    pub(crate) cell: usize,
    /// Cells that it has left, with the times; the latest first.
    left: [Option<(usize, Instant)>; LEFT],
    /// When a cell that it has left reported about it.
    pub(crate) elsewhere: Option<Instant>,
    /// Time of its last move or good report, and the time between the last two of these.
    heard: Instant,
    interval: Duration,
    pub(crate) flows: u32,
    pub(crate) last_report: Option<Instant>,
    pub(crate) used: Instant,
    pub(crate) reports: u64,
    /// The directory has a session of it.
    pub(crate) in_session: bool,
    /// Bytes per second that its subscription allows.
    pub(crate) most: Option<f64>,
}

impl Ue {
    /// A good report came.
    pub(crate) fn reported(&mut self, now: Instant) {
        self.interval = now.since(self.heard);
        (self.heard, self.last_report) = (now, Some(now));
        self.reports += 1;
    }

    /// Moves it to `cell`; returns the old cell.
    pub(crate) fn moves(&mut self, now: Instant, cell: usize) -> usize {
        let old = std::mem::replace(&mut self.cell, cell);
        if old != Cells::UNNAMED {
            self.left.rotate_right(1);
            self.left[0] = Some((old, now));
        }
        (self.heard, self.elsewhere) = (now, None);
        old
    }

    /// True if it has left `cell` within the last minute.
    pub(crate) fn has_left(&self, now: Instant, cell: usize) -> bool {
        let left = |&(old, at): &(usize, Instant)| old == cell && now.since(at) < REMEMBERED;
        self.left.iter().flatten().any(left)
    }

    /// True if its cell no longer reports about it.
    pub(crate) fn is_silent(&self, now: Instant) -> bool {
        let patience = Duration::from_nanos(self.interval.as_nanos().saturating_mul(3));
        now.since(self.heard) >= patience.clamp(SILENT[0], SILENT[1])
    }

    /// True if it has recent reports that name this address.
    pub(crate) fn claims(&self, now: Instant, address: UeAddress) -> bool {
        self.has_reports(now) && self.told.contains(&address)
    }

    /// True if it has recent reports.
    pub(crate) fn has_reports(&self, now: Instant) -> bool {
        self.last_report.is_some_and(|at| now.since(at) < CURRENT)
    }
}

/// All UEs, by place ([`UeId::index`]) and by address.
#[derive(Debug)]
pub(crate) struct Ues {
    bits: UesConfig,
    all: Vec<Option<Ue>>,
    by_address: BTreeMap<UeAddress, usize>,
    /// UEs without flows.
    pub(crate) silent: usize,
}

impl Ues {
    pub(crate) const fn new(bits: UesConfig) -> Self {
        Self { bits, all: Vec::new(), by_address: BTreeMap::new(), silent: 0 }
    }

    /// The address of a client, cut to the bits that distinguish UEs.
    pub(crate) fn key(&self, client: ClientHost) -> UeAddress {
        let ClientHost { pool, ip } = client;
        let v4 = Prefix::of(ip, 128).address().is_ipv4();
        let bits = if v4 { self.bits.ipv4_bits } else { self.bits.ipv6_bits };
        UeAddress { pool, prefix: Prefix::of(ip, bits) }
    }

    /// The same of a prefix in a pool.
    pub(crate) fn cut(&self, pool: PoolId, prefix: &Prefix) -> UeAddress {
        self.key(ClientHost { pool, ip: prefix.address() })
    }

    /// The place of the UE with an address.
    pub(crate) fn find(&self, address: UeAddress) -> Option<usize> {
        self.by_address.get(&address).copied()
    }

    pub(crate) fn at(&self, place: usize) -> Option<&Ue> {
        self.all.get(place)?.as_ref()
    }

    pub(crate) fn at_mut(&mut self, place: usize) -> Option<&mut Ue> {
        self.all.get_mut(place)?.as_mut()
    }

    /// Adds a UE in the cell without a name.
    pub(crate) fn add(&mut self, now: Instant, id: UeId, name: UeAddress) -> usize {
        let place = id.index();
        if place >= self.all.len() {
            self.all.resize_with(place + 1, || None);
        }
        self.all[place] = Some(Ue {
            id,
            name,
            addresses: vec![name],
            told: Vec::new(),
            cell: Cells::UNNAMED,
            left: [None; LEFT],
            elsewhere: None,
            heard: now,
            interval: Duration::ZERO,
            flows: 0,
            last_report: None,
            used: now,
            reports: 0,
            in_session: false,
            most: None,
        });
        self.by_address.insert(name, place);
        self.silent += 1;
        place
    }

    /// Gives an address to the UE at `place`; another UE loses it.
    pub(crate) fn give(&mut self, address: UeAddress, place: usize) {
        let old = self.by_address.insert(address, place);
        if old == Some(place) {
            return;
        }
        if let Some(old) = old.and_then(|old| self.at_mut(old)) {
            old.addresses.retain(|own| *own != address);
        }
        if let Some(ue) = self.at_mut(place) {
            ue.addresses.push(address);
        }
    }

    /// Removes an address: it belongs to no UE from now on.
    pub(crate) fn release(&mut self, address: UeAddress) {
        if let Some(ue) = self.by_address.remove(&address).and_then(|old| self.at_mut(old)) {
            ue.addresses.retain(|own| *own != address);
        }
    }

    pub(crate) fn opened(&mut self, place: usize) {
        let Some(ue) = self.at_mut(place) else { return };
        ue.flows += 1;
        self.silent -= usize::from(ue.flows == 1);
    }

    pub(crate) fn closed(&mut self, now: Instant, place: usize) {
        let Some(ue) = self.at_mut(place) else { return };
        ue.flows -= 1;
        ue.used = now;
        self.silent += usize::from(ue.flows == 0);
    }

    /// Removes a UE and its addresses.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Ue> {
        let ue = self.all.get_mut(place)?.take()?;
        self.silent -= usize::from(ue.flows == 0);
        for address in &ue.addresses {
            self.by_address.remove(address);
        }
        Some(ue)
    }

    /// Merges the UE at `from` into the UE at `into`.
    pub(crate) fn merge(&mut self, from: usize, into: usize) -> Option<Ue> {
        let gone = self.all.get_mut(from)?.take()?;
        let flows_before = self.at(into)?.flows;
        for &address in &gone.addresses {
            self.by_address.insert(address, into);
        }
        let ue = self.at_mut(into)?;
        ue.addresses.extend(&gone.addresses);
        ue.flows += gone.flows;
        ue.used = ue.used.max(gone.used);
        self.silent -= usize::from(gone.flows == 0 || flows_before == 0);
        Some(gone)
    }

    /// The places of all UEs for which `is` holds.
    pub(crate) fn places(&self, is: impl Fn(&Ue) -> bool) -> Vec<usize> {
        let found = self.all.iter().enumerate();
        found.filter(|(_, ue)| ue.as_ref().is_some_and(&is)).map(|(place, _)| place).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Ue> {
        self.all.iter().flatten()
    }

    #[cfg(test)]
    pub(crate) fn sizes(&self) -> [usize; 2] {
        [self.all.len(), self.by_address.len()]
    }
}
