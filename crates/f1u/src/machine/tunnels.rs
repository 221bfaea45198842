//! Tunnels of both directions, and their pairs.

use super::bearer::{Bearer, Tunnel};
use super::control::Control;
use super::pairing::Search;
use crate::config::{BearersConfig, F1uConfig};
use justfull_base::{ConfigError, Duration, Instant};
use justfull_nru::DeliveryStatus;
use justfull_ran::limiter::LimiterConfig;
use std::collections::BTreeMap;

/// How often idle tunnels are looked for.
const LOOK: Duration = Duration::from_secs(1);
/// A search visits all bearers, so at most one search begins in this time.
const SEARCHES: Duration = Duration::from_millis(1);

/// An uplink tunnel.
pub(super) struct Reporter {
    pub(super) tunnel: Tunnel,
    pub(super) seen: Instant,
    pub(super) bearer: Option<u32>,
    pub(super) search: Search,
    pub(super) statuses: u64,
    pub(super) rewritten: u64,
}

/// See the module's page.
pub(super) struct Tunnels {
    limiter: LimiterConfig,
    config: BearersConfig,
    downlinks: BTreeMap<Tunnel, u32>,
    /// The place of the last downlink tunnel of each hash; a tunnel that is no longer there is
    /// looked up.
    recent: Vec<u32>,
    uplinks: BTreeMap<Tunnel, u32>,
    pub(super) bearers: Vec<Option<Bearer>>,
    pub(super) reporters: Vec<Option<Reporter>>,
    /// Places without a tunnel.
    free: [Vec<u32>; 2],
    looked: Instant,
    next_search: Instant,
}

impl Tunnels {
    pub(super) fn new(config: &F1uConfig) -> Result<Self, ConfigError> {
        Control::new(&config.limiter, &config.bearers)?;
        Ok(Self {
            limiter: config.limiter.clone(),
            config: config.bearers.clone(),
            downlinks: BTreeMap::new(),
            recent: vec![0; (config.bearers.most as usize * 2).next_power_of_two()],
            uplinks: BTreeMap::new(),
            bearers: Vec::new(),
            reporters: Vec::new(),
            free: [Vec::new(), Vec::new()],
            looked: Instant::ZERO,
            next_search: Instant::ZERO,
        })
    }

    /// The bearer of a downlink tunnel, if there is a place for it.
    pub(super) fn bearer(&mut self, now: Instant, tunnel: Tunnel) -> Option<u32> {
        let recent = tunnel.hash() as usize & (self.recent.len() - 1);
        let index = self.recent[recent];
        let there = self.bearers.get(index as usize).and_then(Option::as_ref);
        if there.is_some_and(|bearer| bearer.tunnel == tunnel) {
            return Some(index);
        }
        let index = match self.downlinks.get(&tunnel) {
            Some(index) => *index,
            None => {
                let config = &self.config;
                let free = &mut self.free[0];
                let index = place(&mut self.bearers, free, config.most as usize)?;
                // The settings were checked at the start.
                let control = Control::new(&self.limiter, config).ok()?;
                let bits = Some(config.pdcp_sn_bits).filter(|bits| *bits > 0);
                let bearer = Bearer::new(tunnel, bits, control, now);
                self.bearers[index as usize] = Some(bearer);
                self.downlinks.insert(tunnel, index);
                index
            }
        };
        self.recent[recent] = index;
        Some(index)
    }

    /// The bearer of a tunnel, if it is a downlink's that is known.
    pub(super) fn found(&self, tunnel: Tunnel) -> Option<u32> {
        self.downlinks.get(&tunnel).copied()
    }

    /// The place of an uplink tunnel, if there is one for it.
    pub(super) fn reporter(&mut self, now: Instant, tunnel: Tunnel) -> Option<u32> {
        if let Some(index) = self.uplinks.get(&tunnel) {
            return Some(*index);
        }
        let most = self.config.most as usize;
        let index = place(&mut self.reporters, &mut self.free[1], most)?;
        let (search, bearer) = (Search::default(), None);
        let reporter = Reporter { tunnel, seen: now, bearer, search, statuses: 0, rewritten: 0 };
        self.reporters[index as usize] = Some(reporter);
        self.uplinks.insert(tunnel, index);
        Some(index)
    }

    /// Looks for the bearer that a status is about.
    pub(super) fn search(&mut self, now: Instant, index: u32, status: &DeliveryStatus<'_>) {
        let Some(reporter) = self.reporters[index as usize].as_mut() else { return };
        let Some(sn) = status.highest_transmitted else { return };
        let (bearers, tunnel) = (&self.bearers, reporter.tunnel);
        let due = now >= self.next_search;
        let next_search = &mut self.next_search;
        let among = || {
            *next_search = if due { now + SEARCHES } else { *next_search };
            let hosts = move |bearer: &Bearer| {
                bearer.wants_reporter()
                    && bearer.tunnel.from == tunnel.to
                    && bearer.tunnel.to == tunnel.from
            };
            let all = bearers.iter().enumerate().take(if due { usize::MAX } else { 0 });
            all.filter_map(move |(number, bearer)| {
                let bearer = bearer.as_ref().filter(|bearer| hosts(bearer))?;
                Some((u32::try_from(number).ok()?, bearer))
            })
        };
        let of = |number: u32| {
            let bearer = bearers.get(number as usize)?.as_ref();
            bearer.filter(|bearer| bearer.wants_reporter())
        };
        let Some(found) = reporter.search.on_report(now, sn, among, of) else { return };
        reporter.bearer = Some(found);
        let Some(bearer) = self.bearers[found as usize].as_mut() else { return };
        let before = bearer.reporter.and_then(|n| self.reporters[n as usize].as_mut());
        if let Some(before) = before {
            (before.bearer, before.search) = (None, Search::default());
        }
        bearer.part(Some(index));
    }

    /// Removes idle tunnels, now and then.
    pub(super) fn forget(&mut self, now: Instant) {
        if now.since(self.looked) < LOOK {
            return;
        }
        self.looked = now;
        let idle = self.config.idle;
        for index in 0..self.bearers.len() {
            // User data may wait for a radio that is gone for longer.
            let is_idle = |b: &mut Bearer| now.since(b.seen) > idle && b.reported.held.is_empty();
            let Some(bearer) = self.bearers[index].take_if(is_idle) else { continue };
            self.downlinks.remove(&bearer.tunnel);
            self.free[0].extend(u32::try_from(index));
            let reporter = bearer.reporter.and_then(|n| self.reporters[n as usize].as_mut());
            if let Some(reporter) = reporter {
                (reporter.bearer, reporter.search) = (None, Search::default());
            }
        }
        for index in 0..self.reporters.len() {
            let Some(reporter) = self.reporters[index].take_if(|r| now.since(r.seen) > idle) else {
                continue;
            };
            self.uplinks.remove(&reporter.tunnel);
            self.free[1].extend(u32::try_from(index));
            if let Some(bearer) = reporter.bearer.and_then(|n| self.bearers[n as usize].as_mut()) {
                bearer.part(None);
            }
        }
    }

    /// Downlink tunnels.
    pub(super) fn downlinks(&self) -> usize {
        self.downlinks.len()
    }

    /// Bytes of memory, without the maps' nodes.
    pub(super) fn memory(&self) -> usize {
        let bearers = self.bearers.capacity() * size_of::<Option<Bearer>>();
        let reporters = self.reporters.capacity() * size_of::<Option<Reporter>>();
        let recent = self.recent.capacity() * size_of::<u32>();
        let heap: usize = self.bearers.iter().flatten().map(Bearer::heap).sum();
        recent + bearers + reporters + heap
    }
}

/// A place in a list of at most `most`.
fn place<T>(list: &mut Vec<Option<T>>, free: &mut Vec<u32>, most: usize) -> Option<u32> {
    free.pop().or_else(|| {
        (list.len() < most).then(|| {
            list.push(None);
            u32::try_from(list.len() - 1).ok()
        })?
    })
}
