//! The rules of the table: the packets that go to the proxy.

use super::{DIVERTED, Diversion, FIRST, LOOPBACK, PASSED, Table, lost, of_family, of_pool};
use crate::config::{SelectConfig, UnknownConfig};
use crate::nft::{
    self, ACCEPT, Batch, DROP, Family, GOTO, JUMP, META_IIFNAME, META_OIFNAME, RETURN, SetAction,
};
use crate::pools::PoolId;
use justfull_net::Prefix;

impl Table {
    pub(super) fn rules(&self, batch: &mut Batch, select: &SelectConfig, diversion: &Diversion) {
        let ways = diversion.families.into_iter().zip(diversion.logged);
        for (family, (diverts, logged)) in self.families.iter().zip(ways) {
            batch.family(family);
            self.arrivals(batch, family, select);
            self.untracked(batch, family, select);
            for (pool, interface) in self.sides(select) {
                let first = |r: nft::Expressions| r.interface(META_IIFNAME, interface).first();
                let diverted = of_pool(DIVERTED, pool);
                if diverts {
                    batch.rule("forward", |r| first(r).verdict(JUMP, "select"));
                }
                // This first segment passes, so a later third segment of the same ports does not go
                // to the proxy.
                batch
                    .rule("forward", |r| first(r).change_set(family, &diverted, SetAction::Remove));
            }
            if select.unknown == UnknownConfig::Reset {
                lost::rules(batch, family, select);
            }
            // The proxy has put back this first segment to pass unsplit, and [`PASSED`] was full.
            batch.rule("select", |r| r.marked(!self.mark).verdict(RETURN, ""));
            self.selection(batch, family, select, diversion);
            for (pool, interface) in self.sides(select) {
                batch.rule("divert", |r| {
                    let at = r.interface(META_IIFNAME, interface);
                    let set = of_pool(DIVERTED, pool);
                    let counted = at.change_set(family, &set, SetAction::Add).counted(FIRST);
                    if let Some(group) = logged {
                        return counted.logged(group).verdict(DROP, "");
                    }
                    let marked = counted.mark(self.mark);
                    marked.copy_to_loopback(family, self.loopback).verdict(DROP, "")
                });
            }
        }
    }

    /// The interfaces towards UEs, each with its pool.
    fn sides<'a>(&self, select: &'a SelectConfig) -> impl Iterator<Item = (PoolId, &'a str)> {
        let pools = self.pools > 0;
        let pool = move |place| if pools { PoolId::at(place) } else { PoolId::NONE };
        let all = select.interfaces.iter().enumerate();
        all.map(move |(place, interface)| (pool(place), interface.as_str()))
    }

    /// Delivers the UEs' legs here without connection tracking. Tracking would take both legs for
    /// one connection, since they have the same addresses and ports. It sees only the servers'
    /// legs, and translates them.
    fn untracked(&self, batch: &mut Batch, family: &Family, select: &SelectConfig) {
        for (pool, interface) in self.sides(select) {
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
                    .change_set(family, &of_pool(PASSED, pool), SetAction::Add)
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
        for (pool, interface) in self.sides(select) {
            batch.rule("arrive", |r| {
                r.interface(META_IIFNAME, interface)
                    .third()
                    .in_set(family, &of_pool(DIVERTED, pool))
                    .tproxy(family, self.port)
                    .mark(mark)
                    .verdict(ACCEPT, "")
            });
        }
    }

    /// The rules that select first segments.
    fn selection(
        &self,
        batch: &mut Batch,
        family: &Family,
        select: &SelectConfig,
        diversion: &Diversion,
    ) {
        for (pool, interface) in self.sides(select) {
            let passed = of_pool(PASSED, pool);
            batch.rule("select", |r| {
                r.interface(META_IIFNAME, interface).in_set(family, &passed).verdict(RETURN, "")
            });
            let of = diversion.pass.iter().filter(|ue| ue.pool == pool).map(|ue| ue.prefix);
            for (address, bits) in of_family(family, &of.collect::<Vec<Prefix>>()) {
                batch.rule("select", |r| {
                    r.interface(META_IIFNAME, interface)
                        .prefix(family, true, &address, bits)
                        .verdict(RETURN, "")
                });
            }
        }
        selected(batch, family, select, diversion);
    }
}

fn selected(batch: &mut Batch, family: &Family, select: &SelectConfig, diversion: &Diversion) {
    if diversion.tracked {
        // The client knows another address of the server.
        batch.rule("select", |r| r.destination_translated().verdict(RETURN, ""));
    }
    let all = |prefixes: &[Prefix]| of_family(family, prefixes);
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
