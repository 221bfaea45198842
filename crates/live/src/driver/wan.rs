//! The way between the servers and a proxy: the core's links, each with buffers of its own.
//!
//! ```text
//! servers' port -> core link -> proxy's port
//! servers' port <- core link <- proxy's port
//! ```
//! Packets between the proxy's host and the UEs pass the stack's port.

use super::outlet::Outlet;
use super::ports::{Read, Reads, receive};
use crate::arena::Arena;
use crate::packet::FragmentPorts;
use crate::recorder::LiveRecorder;
use crate::report::Account;
use justfull_base::{BitRate, Duration, Instant};
use justfull_net::{Port, SystemError};
use justfull_ran::FiveTuple;
use justfull_run::WorldConfig;
use justfull_run::wire::Wires;
use std::collections::BTreeMap;

/// One direction.
struct Way {
    arena: Arena,
    fragments: FragmentPorts,
    wires: Wires<u64>,
    outlet: Outlet,
    account: Account,
}

impl Way {
    fn new(arena: Arena, rate: BitRate, delays: impl Iterator<Item = Duration>) -> Self {
        let wires = Wires::new(rate, delays);
        let (fragments, outlet) = (FragmentPorts::new(), Outlet::new());
        Self { arena, fragments, wires, outlet, account: Account::default() }
    }

    /// Reads the packets that wait at `from`, with `stamp`; `link` finds the link of a flow.
    fn read<P: Port>(
        &mut self,
        stamp: Instant,
        from: &mut P,
        mtu: u32,
        link: impl Fn(&FiveTuple) -> u32,
    ) -> std::io::Result<()> {
        let mut reads = Reads::default();
        while reads.go_on(from) {
            match receive(from, &mut self.arena, mtu, &mut self.account)? {
                Read::Nothing => break,
                Read::Accounted => {}
                Read::Packet(handle, _) if handle == self.arena.spare() => {
                    self.account.no_buffer += 1;
                }
                Read::Packet(handle, mut datagram) => {
                    self.fragments.complete(&mut datagram);
                    self.wires.push(stamp, link(&datagram.tuple), datagram.size, handle);
                }
            }
        }
        Ok(())
    }

    /// Writes the packets that have arrived by `now` to `to`.
    fn write<P: Port>(&mut self, now: Instant, to: &mut P) -> std::io::Result<()> {
        while self.wires.next() <= now {
            let due = self.wires.next();
            while let Some(handle) = self.wires.pop(due) {
                self.outlet.push(to, 0, &mut self.arena, handle, &mut self.account)?;
            }
        }
        self.outlet.flush(to, &mut self.arena, &mut self.account)
    }

    /// Its account at the end of the run.
    fn finish(mut self) -> Account {
        self.account.queued = self.wires.len() as u64;
        assert!(self.account.is_balanced(), "datagrams are accounted for: {:?}", self.account);
        let in_use = self.arena.in_use() as u64;
        assert_eq!(in_use, self.account.queued, "each buffer in use holds a queued packet");
        self.account
    }
}

/// See the module's page.
pub(super) struct Wan<P> {
    servers: P,
    proxy: P,
    mtu: u32,
    /// Delays of the links on top of the core's.
    delays: Vec<Duration>,
    down: Way,
    up: Way,
}

impl<P: Port> Wan<P> {
    /// The link of `config` with `buffers` for the packets of each direction, and the rest of the
    /// uplink's delay.
    pub(super) fn new(
        config: &WorldConfig,
        buffers: u32,
        delays: &[Duration],
        servers: P,
        proxy: P,
    ) -> Result<(Self, Duration), String> {
        if config.core_loss.0 > 0.0 {
            let loss = config.core_loss.0;
            return Err(format!(
                "core.loss is {loss}, and the way from the servers to the proxy loses nothing: \
                 allowed is 0"
            ));
        }
        let (core, back) = (config.core_delay, config.proxy.wan_delay.unwrap_or(config.core_delay));
        let Some(left) = config.uplink.delay.as_nanos().checked_sub(back.as_nanos()) else {
            let uplink = config.uplink.delay;
            return Err(format!(
                "uplink.delay is {uplink}, and the way from the proxy to the servers takes {back} \
                 of it (proxy.wan_delay, or else core.delay): allowed is at most {uplink}"
            ));
        };
        let (arena, mtu) = (|| Arena::new(buffers, config.stack.mtu), config.stack.mtu);
        let down = Way::new(arena(), config.core_rate, delays.iter().map(|delay| core + *delay));
        let up = Way::new(arena(), BitRate(0), delays.iter().map(|delay| back + *delay));
        let delays = delays.to_vec();
        let wan = Self { servers, proxy, mtu, delays, down, up };
        Ok((wan, Duration::from_nanos(left)))
    }

    /// When the next packet arrives.
    pub(super) fn next(&self) -> Instant {
        self.down.wires.next().min(self.up.wires.next())
    }

    /// Reads waiting packets, with `stamp`, and writes those that have arrived by `now`. `ue_of`
    /// and `record` find the link of a flow.
    pub(super) fn turn(
        &mut self,
        stamp: Instant,
        now: Instant,
        ue_of: &BTreeMap<[u8; 16], u32>,
        record: &LiveRecorder,
    ) -> Result<(), SystemError> {
        let Self { servers, proxy, mtu, delays, down, up } = self;
        let link = |down: &FiveTuple| {
            let ue = ue_of.get(&down.destination).filter(|_| delays.len() > 1);
            let delay = ue.map(|ue| record.extra_delay(*ue, down)).unwrap_or_default();
            delays.iter().position(|own| *own == delay).unwrap_or(0) as u32
        };
        let failed = |doing: &'static str| move |e| SystemError::new(doing, e);
        down.read(stamp, servers, *mtu, link).map_err(failed("read from the servers' side"))?;
        up.read(stamp, proxy, *mtu, |tuple| {
            link(&FiveTuple {
                source: tuple.destination,
                destination: tuple.source,
                source_port: tuple.destination_port,
                destination_port: tuple.source_port,
                protocol: tuple.protocol,
            })
        })
        .map_err(failed("read from the proxy's side"))?;
        down.write(now, proxy).map_err(failed("write to the proxy's side"))?;
        up.write(now, servers).map_err(failed("write to the servers' side"))
    }

    /// The accounts of both directions, down first.
    pub(super) fn finish(self) -> [Account; 2] {
        [self.down.finish(), self.up.finish()]
    }
}
