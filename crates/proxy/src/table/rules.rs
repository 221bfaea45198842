//! The rules of the table: the packets that go to the proxy.

use super::{DIVERTED, Diversion, FIRST, LOOPBACK, PASSED, Table, lost, of_family};
use crate::config::{SelectConfig, UnknownConfig};
use crate::nft::{
    self, ACCEPT, Batch, DROP, Family, GOTO, JUMP, META_IIFNAME, META_OIFNAME, RETURN, SetAction,
};
use justfull_net::Prefix;

impl Table {
    pub(super) fn rules(&self, batch: &mut Batch, select: &SelectConfig, diversion: &Diversion) {
        let ways = diversion.families.into_iter().zip(diversion.logged);
        for (family, (diverts, logged)) in self.families.iter().zip(ways) {
            batch.family(family);
            self.arrivals(batch, family, select);
            self.untracked(batch, family, select);
            for interface in &select.interfaces {
                let first = |r: nft::Expressions| r.interface(META_IIFNAME, interface).first();
                if diverts {
                    batch.rule("forward", |r| first(r).verdict(JUMP, "select"));
                }
                // This first segment passes, so a later third segment of the same ports does not go
                // to the proxy.
                batch.rule("forward", |r| first(r).change_set(family, DIVERTED, SetAction::Remove));
            }
            if select.unknown == UnknownConfig::Reset {
                lost::rules(batch, family, select);
            }
            // The proxy has put back this first segment to pass unsplit, and [`PASSED`] was full.
            batch.rule("select", |r| r.marked(!self.mark).verdict(RETURN, ""));
            selection(batch, family, select, diversion);
            batch.rule("divert", |r| {
                let counted = r.change_set(family, DIVERTED, SetAction::Add).counted(FIRST);
                if let Some(group) = logged {
                    return counted.logged(group).verdict(DROP, "");
                }
                counted.mark(self.mark).copy_to_loopback(family, self.loopback).verdict(DROP, "")
            });
        }
    }

    /// Delivers the UEs' legs here without connection tracking. Tracking would take both legs for
    /// one connection, since they have the same addresses and ports. It sees only the servers'
    /// legs, and translates them.
    fn untracked(&self, batch: &mut Batch, family: &Family, select: &SelectConfig) {
        for interface in &select.interfaces {
            // The proxy has put back a first segment whose server has answered: its leg to the
            // server is tracked already.
            batch.rule("raw", |r| {
                r.interface(META_IIFNAME, interface)
                    .first()
                    .marked(self.mark)
                    .untracked()
                    .verdict(ACCEPT, "")
            });
            // The proxy has put back a first segment whose server has not answered.
            batch.rule("raw", |r| {
                r.interface(META_IIFNAME, interface)
                    .first()
                    .marked(!self.mark)
                    .change_set(family, PASSED, SetAction::Add)
                    .mark(0)
                    .verdict(ACCEPT, "")
            });
            batch.rule("raw", |r| {
                r.interface(META_IIFNAME, interface)
                    .not_first()
                    .of_transparent_socket()
                    .mark(self.mark)
                    .untracked()
                    .verdict(ACCEPT, "")
            });
            batch.rule("rawout", |r| {
                r.interface(META_OIFNAME, interface)
                    .not_first()
                    .of_transparent_socket()
                    .untracked()
                    .verdict(RETURN, "")
            });
        }
    }

    /// The packets that are delivered here.
    fn arrivals(&self, batch: &mut Batch, family: &Family, select: &SelectConfig) {
        let mark = self.mark;
        batch.rule("arrive", |r| {
            r.interface(META_IIFNAME, LOOPBACK)
                .marked(mark)
                .first()
                .tproxy(family, self.port)
                .verdict(ACCEPT, "")
        });
        // The proxy has put back a first segment whose server has answered.
        for interface in &select.interfaces {
            batch.rule("arrive", |r| {
                r.interface(META_IIFNAME, interface)
                    .marked(mark)
                    .first()
                    .tproxy(family, self.port)
                    .verdict(ACCEPT, "")
            });
        }
        batch.rule("arrive", |r| r.marked(mark).verdict(ACCEPT, ""));
        // A client reuses a port whose last connection is in TIME_WAIT here, or repeats its first
        // segment. The kernel forwards no packet that belongs to a socket.
        for interface in &select.interfaces {
            batch.rule("arrive", |r| {
                r.interface(META_IIFNAME, interface)
                    .first()
                    .of_transparent_socket()
                    .tproxy(family, self.port)
                    .mark(mark)
                    .verdict(ACCEPT, "")
            });
        }
        batch.rule("arrive", |r| {
            r.not_first().of_transparent_socket().mark(mark).verdict(ACCEPT, "")
        });
        batch.rule("arrive", |r| {
            r.protocol(family.icmp).of_transparent_socket().mark(mark).verdict(ACCEPT, "")
        });
        for interface in &select.interfaces {
            batch.rule("arrive", |r| {
                r.interface(META_IIFNAME, interface)
                    .third()
                    .in_set(family, DIVERTED)
                    .tproxy(family, self.port)
                    .mark(mark)
                    .verdict(ACCEPT, "")
            });
        }
    }
}

/// The rules that select first segments.
fn selection(batch: &mut Batch, family: &Family, select: &SelectConfig, diversion: &Diversion) {
    batch.rule("select", |r| r.in_set(family, PASSED).verdict(RETURN, ""));
    if diversion.tracked {
        // The client knows another address of the server.
        batch.rule("select", |r| r.destination_translated().verdict(RETURN, ""));
    }
    let all = |prefixes: &[Prefix]| of_family(family, prefixes);
    for (address, bits) in all(&diversion.pass) {
        batch.rule("select", |r| r.prefix(family, true, &address, bits).verdict(RETURN, ""));
    }
    for port in &diversion.pass_ports {
        batch.rule("select", |r| r.source_port(*port).verdict(RETURN, ""));
    }
    for (address, bits) in all(&select.except) {
        for source in [true, false] {
            batch.rule("select", |r| r.prefix(family, source, &address, bits).verdict(RETURN, ""));
        }
    }
    for (address, bits) in all(&select.ues) {
        batch.rule("select", |r| r.prefix(family, true, &address, bits).verdict(GOTO, "ports"));
    }
    if select.ues.is_empty() {
        batch.rule("select", |r| r.verdict(GOTO, "ports"));
    }
    for ports in &select.ports {
        batch.rule("ports", |r| r.ports(false, ports.first, ports.last).verdict(GOTO, "divert"));
    }
    if select.ports.is_empty() {
        batch.rule("ports", |r| r.verdict(GOTO, "divert"));
    }
}
