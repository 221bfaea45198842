//! The machine's tables: UEs with their tunnels, taken connections, and ended tunnels. All are
//! bounded; entries without packets for `tunnels.idle` are removed.

use crate::config::TunnelsConfig;
use crate::header::{Header, Tunnel};
use crate::packet::{Direction, FIN, RST, SYN};
use justfull_base::{Duration, Instant};
use justfull_net::Prefix;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Two sessions use one address if the first comes back within this time.
const RETURNS: Duration = Duration::from_secs(10);
/// Time for which closed connections and ended tunnels stay in the tables: the kernel keeps a
/// socket in TIME_WAIT for 60 s.
const CLOSED: Duration = Duration::from_secs(90);
/// Most ended tunnels in the tables.
const MOST_ENDED: usize = 65_536;
/// Time between two searches for silent entries.
const SWEEP: Duration = Duration::from_secs(5);
/// Bits of an IPv6 address that distinguish UEs (TS 23.501 section 5.8.2.2.3).
const UE_BITS: u8 = 64;

/// Addresses and ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowKey {
    pub(crate) ue: IpAddr,
    pub(crate) server: IpAddr,
    pub(crate) ue_port: u16,
    pub(crate) server_port: u16,
}

/// Whether the machine takes a connection, or the reason why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Yes,
    /// The UE's downlink tunnel is not known.
    Early,
    /// Two sessions use the UE's address.
    Ambiguous,
    /// The table is full.
    Full,
}

/// An uplink session: a 5G session has one TEID for all flows; an LTE session has one for each
/// bearer, and is known by its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Session {
    to: IpAddr,
    from: Option<IpAddr>,
    teid: u32,
}

impl Session {
    fn of(header: &Header) -> Self {
        let Header { from, tunnel, .. } = *header;
        match header.qfi() {
            Some(_) => Self { to: tunnel.to, from: None, teid: tunnel.teid },
            None => Self { to: tunnel.to, from: Some(from), teid: 0 },
        }
    }
}

/// A UE: the last header of each direction.
#[derive(Clone, Debug)]
pub(crate) struct Ue {
    pub(crate) ways: [Option<Header>; 2],
    session: Option<Session>,
    /// The session before, and the time of its last packet.
    previous: Option<(Session, Instant)>,
    pub(crate) ambiguous_until: Instant,
    pub(crate) flows: u32,
    seen: Instant,
}

/// A connection: its last header of each direction.
#[derive(Clone, Debug)]
struct Flow {
    ways: [Option<Header>; 2],
    seen: Instant,
    /// A FIN of each direction, or a reset.
    ended: [bool; 2],
}

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Tables {
    ues: BTreeMap<IpAddr, Ue>,
    flows: BTreeMap<FlowKey, Flow>,
    /// Tunnels that have ended or were never open, with the time of the message.
    ended: BTreeMap<Tunnel, Instant>,
    most_ues: usize,
    most_flows: usize,
    idle: Duration,
    next_sweep: Instant,
}

impl Tables {
    pub(crate) fn new(config: &TunnelsConfig) -> Self {
        Self {
            ues: BTreeMap::new(),
            flows: BTreeMap::new(),
            ended: BTreeMap::new(),
            most_ues: config.most_ues as usize,
            most_flows: config.most_flows as usize,
            idle: config.idle,
            next_sweep: Instant::ZERO + SWEEP,
        }
    }

    pub(crate) fn sizes(&self) -> [usize; 2] {
        [self.ues.len(), self.flows.len()]
    }

    /// UEs in the order of their addresses.
    pub(crate) fn ues(&self) -> impl Iterator<Item = (IpAddr, &Ue)> {
        self.ues.iter().map(|(address, ue)| (*address, ue))
    }

    /// True if the connection was taken.
    pub(crate) fn has(&self, key: &FlowKey) -> bool {
        self.flows.contains_key(key)
    }

    /// True if a connection of the UE was taken.
    pub(crate) fn has_flows(&self, ue: IpAddr) -> bool {
        self.ues.get(&network(ue)).is_some_and(|ue| ue.flows > 0)
    }

    /// Stores the tunnel of a packet of the UE; false if the table of UEs is full.
    pub(crate) fn store(
        &mut self,
        now: Instant,
        direction: Direction,
        address: IpAddr,
        header: Option<&Header>,
    ) -> bool {
        let address = network(address);
        let full = self.ues.len() >= self.most_ues;
        let ue = match self.ues.get_mut(&address) {
            Some(ue) => ue,
            None if full => return false,
            None => self.ues.entry(address).or_insert(Ue {
                ways: [None, None],
                session: None,
                previous: None,
                ambiguous_until: Instant::ZERO,
                flows: 0,
                seen: now,
            }),
        };
        ue.seen = now;
        let Some(header) = header else { return true };
        if direction == Direction::Uplink {
            ue.on_session(now, Session::of(header));
        }
        let way = &mut ue.ways[direction as usize];
        if way.is_none_or(|way| way.tunnel != header.tunnel) {
            // The TEID is in use again.
            self.ended.remove(&header.tunnel);
        }
        *way = Some(*header);
        true
    }

    /// Registers a segment of a connection; false if the connection is not taken.
    pub(crate) fn see(
        &mut self,
        now: Instant,
        direction: Direction,
        key: &FlowKey,
        flags: u8,
        header: Option<&Header>,
    ) -> bool {
        let Some(flow) = self.flows.get_mut(key) else { return false };
        flow.on_flags(now, direction, flags);
        if let Some(header) = header {
            flow.ways[direction as usize] = Some(*header);
        }
        true
    }

    /// Takes a connection whose first segment has `header`, if possible.
    pub(crate) fn take(&mut self, now: Instant, key: FlowKey, header: &Header) -> Taken {
        let Some(ue) = self.ues.get_mut(&network(key.ue)) else { return Taken::Early };
        let ended = &self.ended;
        match ue.ways[Direction::Downlink as usize] {
            Some(down) if !ended.contains_key(&down.tunnel) => {}
            _ => return Taken::Early,
        }
        if ue.ambiguous_until > now {
            return Taken::Ambiguous;
        }
        if self.flows.len() >= self.most_flows {
            return Taken::Full;
        }
        ue.flows += 1;
        let flow = Flow { ways: [Some(*header), None], seen: now, ended: [false; 2] };
        self.flows.insert(key, flow);
        Taken::Yes
    }

    /// The header for a packet towards `direction`: the connection's, with the flags of `segment`,
    /// if the packet is a whole segment. None if the UE has no tunnel.
    pub(crate) fn way(
        &mut self,
        now: Instant,
        direction: Direction,
        ue: IpAddr,
        segment: Option<(FlowKey, u8)>,
    ) -> Option<Header> {
        let ue = self.ues.get(&network(ue))?;
        let newest = ue.ways[direction as usize];
        let flow = segment.and_then(|(key, flags)| {
            let flow = self.flows.get_mut(&key)?;
            flow.on_flags(now, direction, flags & (FIN | RST));
            Some(flow)
        });
        let Some(flow) = flow else { return newest };
        let own = flow.ways[direction as usize];
        let other = flow.ways[direction.other() as usize];
        match (own, newest) {
            (Some(own), Some(newest)) if moved(&own, &newest, &self.ended) => {
                Some(own.over(&newest))
            }
            (Some(own), _) => Some(own),
            (None, Some(newest)) => match other.and_then(|other| other.qfi()) {
                Some(qfi) => Some(newest.with_qfi(qfi)),
                None => Some(newest),
            },
            (None, None) => None,
        }
    }

    /// A tunnel has ended: its UE has another one, or will get one.
    pub(crate) fn end(&mut self, now: Instant, tunnel: Tunnel) {
        if self.ended.len() < MOST_ENDED {
            self.ended.insert(tunnel, now);
        }
    }

    /// A tunnel is not open. The UE's new connections are not taken before a packet through another
    /// tunnel.
    pub(crate) fn forget(&mut self, now: Instant, tunnel: Tunnel) {
        self.end(now, tunnel);
    }

    /// Removes silent entries.
    pub(crate) fn sweep(&mut self, now: Instant) {
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
        let (idle, ues) = (self.idle, &mut self.ues);
        self.flows.retain(|key, flow| {
            let time = if flow.ended == [true; 2] { CLOSED } else { idle };
            let stays = now.since(flow.seen) < time;
            if !stays && let Some(ue) = ues.get_mut(&network(key.ue)) {
                ue.flows -= 1;
            }
            stays
        });
        ues.retain(|_, ue| ue.flows > 0 || now.since(ue.seen) < idle);
        self.ended.retain(|_, since| now.since(*since) < CLOSED);
    }
}

impl Ue {
    /// Compares the session of an uplink packet with the last one.
    fn on_session(&mut self, now: Instant, session: Session) {
        if self.session == Some(session) {
            return;
        }
        if let Some((previous, left)) = self.previous
            && previous == session
            && now.since(left) < RETURNS
        {
            self.ambiguous_until = now + RETURNS;
        }
        self.previous = self.session.map(|last| (last, now));
        self.session = Some(session);
    }
}

impl Flow {
    fn on_flags(&mut self, now: Instant, direction: Direction, flags: u8) {
        self.seen = now;
        if flags & SYN != 0 {
            self.ended = [false; 2];
        }
        if flags & RST != 0 {
            self.ended = [true; 2];
        }
        self.ended[direction as usize] |= flags & FIN != 0;
    }
}

/// True if a connection's tunnel is no longer the UE's: the tunnel has other ends, or has ended.
fn moved(own: &Header, newest: &Header, ended: &BTreeMap<Tunnel, Instant>) -> bool {
    if own.tunnel == newest.tunnel && own.from == newest.from {
        return false;
    }
    own.tunnel.to != newest.tunnel.to || own.from != newest.from || ended.contains_key(&own.tunnel)
}

/// The address or network that distinguishes a UE.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(_) => Prefix::of(address, UE_BITS).address(),
    }
}
