//! Decides which new connections the rules divert, and checks that the host still delivers them
//! here.

use super::{Engine, LISTENER};
use crate::config::UnknownConfig;
use crate::flow::Outcome;
use crate::guard::Places;
use crate::table::{self, Diversion};
use justfull_base::Instant;
use nix::sys::epoll::{EpollEvent, EpollFlags};

impl Engine {
    /// A connection could not begin: connections that would fail in the same way pass unsplit.
    pub(super) fn refused(&mut self, now: Instant, port: u16, outcome: Outcome) {
        let due = match outcome {
            Outcome::NoResources => {
                self.guard.exhausted(now);
                true
            }
            Outcome::AddressInUse => self.guard.port_in_use(now, port),
            _ => false,
        };
        if due {
            self.divert(now);
        }
    }

    /// Checks whether this host tracks connections. Once it does, this stays true.
    fn look_at_tracking(&mut self) {
        let count = std::fs::read_to_string("/proc/sys/net/netfilter/nf_conntrack_count");
        self.guard.tracked |= count.is_ok_and(|count| count.trim() != "0");
    }

    /// Restores policy routes that another program has removed.
    pub(super) fn look_at_routes(&mut self) {
        match self.host.delivery.restore() {
            Ok(false) => self.guard.routes = None,
            Ok(true) => {
                self.guard.routes = None;
                self.totals.routes_restored += 1;
                self.log.note("policy routes", "another program removed some: they are back");
            }
            Err(error) => {
                let why = error.to_string();
                if self.guard.routes.as_ref() != Some(&why) {
                    self.log.note("policy routes", &why);
                }
                self.guard.routes = Some(why);
            }
        }
    }

    /// Listens again at interfaces of pools that have been made again.
    pub(super) fn look_at_pools(&mut self) {
        let renewed = match self.host.renew(&self.connections.shared.pools) {
            Ok(renewed) => renewed,
            Err(error) => return self.log.note("pools", &error.to_string()),
        };
        for at in renewed {
            let listener = &self.host.listeners[at];
            let event = EpollEvent::new(EpollFlags::EPOLLIN, LISTENER + at as u64);
            let watched = self.connections.epoll.add(listener, event);
            let what = match watched {
                Ok(()) => "an interface was made again, and is listened at".to_owned(),
                Err(error) => error.to_string(),
            };
            self.log.note("pools", &what);
        }
    }

    /// Open connections, and the most connections that the running processes can have.
    pub(super) fn places(&self) -> Places {
        let all = self.host.limits.flows;
        let flows = self.workers.as_ref().map_or(all, |workers| workers.running_part(all));
        Places { open: self.open(), flows }
    }

    /// Compares first segments with accepted connections, and diverts as many as the proxy can
    /// serve.
    pub(super) fn look_at_diversion(&mut self, now: Instant) -> std::io::Result<()> {
        self.look_at_tracking();
        if self.config.select.unknown == UnknownConfig::Reset {
            self.resets = self.host.table.resets()?;
        }
        let diverted = self.delivered(now)?;
        let accepted = self.totals.accepted_of;
        for what in self.guard.look(now, diverted, accepted, self.places()) {
            self.log.note("unsplit", &what);
        }
        let all = |counts: [u64; 2]| counts[0] + counts[1];
        if self.flood.look(now, all(diverted), all(accepted)) {
            self.log.note("flood", if self.flood.is_on() { "begins" } else { "ends" });
        }
        self.try_to_divert(now)
    }

    /// Changes the rules to the connections that the proxy can serve now.
    pub(super) fn divert(&mut self, now: Instant) {
        if let Err(error) = self.try_to_divert(now) {
            self.log.note("rules", &table::explain(&error));
        }
    }

    fn try_to_divert(&mut self, now: Instant) -> std::io::Result<()> {
        let logged = self.logged(&self.config);
        let diversion = Diversion { logged, ..self.guard.diversion(now) };
        if self.diversion.as_ref() != Some(&diversion) {
            self.host.table.select(&self.config.select, &diversion)?;
            self.diversion = Some(diversion);
        }
        Ok(())
    }
}
