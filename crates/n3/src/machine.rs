//! The machine decides without sockets and clock. For a packet of the tunnels and an instant it
//! returns whether the T-PDU goes to the proxy; for a packet of the proxy it returns the tunnel.
//!
//! The machine takes a TCP connection if the first segment, which comes from the UE, has passed and
//! the UE's downlink tunnel is known. All other packets pass unchanged. A packet of the proxy gets
//! the headers of the last packet of its connection in that direction. Before the first such packet
//! it gets the headers of the UE's last packet, with the QFI of the other direction.

use crate::config::TunnelsConfig;
use crate::header::{self, Header, Tunnel};
pub use crate::packet::Direction;
use crate::packet::{self, ACK, FIN, Ip, RST, SYN, Tcp};
use crate::repeat::repeats;
use crate::tables::{FlowKey, Tables, Taken};
use justfull_base::Instant;
use justfull_nru::{Message, gtpu};
use serde::Serialize;
use std::net::IpAddr;
use std::ops::Range;

/// Octets before a packet of the proxy that [`Machine::on_inner`] may need for its headers.
pub const HEADROOM: usize = header::LONGEST;
/// The message about a TEID that is not open at its receiver (TS 29.281 section 7.3.1).
const ERROR_INDICATION: u8 = 26;
/// Octets of TCP's and IP's headers that an MSS leaves out.
const TCP_BYTES: u16 = 20;

/// Packets and connections, by their treatment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// T-PDUs that went to the proxy.
    pub taken: u64,
    /// Packets of the proxy that went into a tunnel.
    pub returned: u64,
    /// Packets of the proxy without a known tunnel; they are dropped.
    pub homeless: u64,
    /// T-PDUs of other protocols than TCP.
    pub other_protocols: u64,
    /// T-PDUs whose UE has no address in `tunnels.ues`, and those between two UEs.
    pub foreign: u64,
    /// T-PDUs of TCP connections that the machine has not taken.
    pub unsplit: u64,
    /// First segments of UEs whose downlink tunnel was not known yet.
    pub early: u64,
    /// First segments of UEs whose address two sessions use at once.
    pub ambiguous: u64,
    /// First segments beyond `tunnels.most_flows`, and packets of UEs beyond `most_ues`.
    pub over_limit: u64,
    /// T-PDUs with an extension header that is unknown, or valid for one packet only.
    pub other_extensions: u64,
    /// G-PDUs with a sequence number.
    pub numbered: u64,
    /// Other messages of GTP-U: echo, End Marker, Error Indication.
    pub other_messages: u64,
    /// Error Indications about TEIDs that the receiver has not opened.
    pub unopened: u64,
    /// Packets whose GTP-U or T-PDU is malformed.
    pub malformed: u64,
    /// First segments whose MSS was lowered.
    pub clamped: u64,
}

/// See the module's page.
#[derive(Debug)]
pub struct Machine {
    config: TunnelsConfig,
    tables: Tables,
    counts: Counts,
    /// The largest inner packet, in bytes.
    mtu: u16,
    /// The next IPv4 identification.
    number: u16,
    /// The last tunnel that was not open.
    unopened: Option<Tunnel>,
    /// The last message had a header that is kept.
    kept: bool,
}

impl Machine {
    /// A machine that has seen nothing. Inner packets of at most `mtu` bytes fit the tunnels; it is
    /// 68 bytes or more.
    #[must_use]
    pub fn new(config: &TunnelsConfig, mtu: u16) -> Self {
        Self {
            tables: Tables::new(config),
            config: config.clone(),
            counts: Counts::default(),
            mtu,
            number: 0,
            unopened: None,
            kept: false,
        }
    }

    /// Its counts.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// UEs with a tunnel in either direction, and connections taken.
    #[must_use]
    pub fn sizes(&self) -> [usize; 2] {
        self.tables.sizes()
    }

    /// The last tunnel that its receiver had not opened: the receiver's address and the TEID.
    #[must_use]
    pub fn unopened(&self) -> Option<(IpAddr, u32)> {
        self.unopened.map(|tunnel| (tunnel.to, tunnel.teid))
    }

    /// Its tables.
    pub(crate) const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Takes an outer packet of `direction`. Returns the place of the T-PDU if this goes to the
    /// proxy; the MSS of a first segment is then lowered to fit the tunnel. None: the packet passes
    /// unchanged.
    pub fn on_outer(
        &mut self,
        now: Instant,
        direction: Direction,
        packet: &mut [u8],
    ) -> Option<Range<usize>> {
        let outer = Ip::read(packet)?;
        let at = outer.tunnelled(packet)?;
        self.on_datagram(now, direction, packet, &outer, at..outer.end)
    }

    /// As [`Self::on_outer`], for the message at `place` of a packet with the headers `outer`.
    pub(crate) fn on_datagram(
        &mut self,
        now: Instant,
        direction: Direction,
        packet: &mut [u8],
        outer: &Ip,
        place: Range<usize>,
    ) -> Option<Range<usize>> {
        let place = self.decide(now, direction, packet, outer, place)?;
        self.counts.taken += 1;
        self.clamp(&mut packet[place.clone()]);
        Some(place)
    }

    /// As [`Self::on_datagram`], for the message at `place` which follows the message at `last`, at
    /// the same instant and in the same packet. The T-PDU `inner` of `last` has gone to the proxy.
    pub(crate) fn on_next(
        &mut self,
        packet: &[u8],
        last: &Range<usize>,
        inner: &Range<usize>,
        place: Range<usize>,
    ) -> Option<Range<usize>> {
        let headers = inner.start - last.start;
        let next = &packet[place.clone()];
        let same = self.kept && repeats(&packet[last.clone()], next, headers);
        self.counts.taken += u64::from(same);
        same.then_some(place.start + headers..place.end)
    }

    fn decide(
        &mut self,
        now: Instant,
        direction: Direction,
        packet: &[u8],
        outer: &Ip,
        place: Range<usize>,
    ) -> Option<Range<usize>> {
        let Ok(message) = Message::read(&packet[place.clone()]) else {
            self.counts.malformed += 1;
            return None;
        };
        if message.kind != gtpu::G_PDU {
            self.on_message(now, outer, &message);
            return None;
        }
        let payload = place.end - message.payload.len();
        let inner = Ip::read(message.payload).filter(|ip| ip.end == message.payload.len());
        let Some(inner) = inner else {
            self.counts.malformed += 1;
            return None;
        };
        let (ue, server) = match direction {
            Direction::Uplink => (inner.source, inner.destination),
            Direction::Downlink => (inner.destination, inner.source),
        };
        if !self.config.has(ue) || self.config.has(server) {
            self.counts.foreign += 1;
            return None;
        }
        self.counts.numbered += u64::from(message.sequence.is_some());
        let header = Header::read(packet, outer, &message);
        self.kept = header.is_some();
        self.counts.other_extensions += u64::from(header.is_none());
        if !self.tables.store(now, direction, ue, header.as_ref()) {
            self.counts.over_limit += 1;
            return None;
        }
        let goes = match inner.protocol {
            packet::TCP => self.on_tcp(now, direction, message.payload, &inner, header.as_ref()),
            packet::ICMP | packet::ICMPV6 => self.on_icmp(direction, message.payload, &inner),
            _ => {
                self.counts.other_protocols += 1;
                false
            }
        };
        goes.then_some(payload..place.end)
    }

    /// True if a T-PDU of TCP goes to the proxy.
    fn on_tcp(
        &mut self,
        now: Instant,
        direction: Direction,
        bytes: &[u8],
        inner: &Ip,
        header: Option<&Header>,
    ) -> bool {
        if inner.fragment {
            // The kernel reassembles the fragments. Fragments of a UE without taken connections
            // pass.
            let (ue, _) = ends(direction, inner);
            let goes = self.tables.has_flows(ue);
            self.counts.unsplit += u64::from(!goes);
            return goes;
        }
        let Some(tcp) = inner.tcp(bytes) else {
            self.counts.malformed += 1;
            return false;
        };
        let key = key(direction, inner, &tcp);
        let flags = tcp.flags & (FIN | RST | SYN);
        if self.tables.see(now, direction, &key, flags, header) {
            return true;
        }
        self.counts.unsplit += 1;
        let FlowKey { ue, server, server_port, .. } = key;
        let selected = self.config.selects(ue, server, server_port);
        let first = direction == Direction::Uplink && tcp.flags & (SYN | ACK | RST) == SYN;
        let Some(header) = header.filter(|_| first && selected) else {
            return false;
        };
        match self.tables.take(now, key, header) {
            Taken::Yes => {
                self.counts.unsplit -= 1;
                return true;
            }
            Taken::Early => self.counts.early += 1,
            Taken::Ambiguous => self.counts.ambiguous += 1,
            Taken::Full => self.counts.over_limit += 1,
        }
        false
    }

    /// True if an ICMP error is about a packet of a taken connection.
    fn on_icmp(&mut self, direction: Direction, bytes: &[u8], inner: &Ip) -> bool {
        let about = inner.reported(bytes).and_then(|at| packet::quoted(bytes.get(at..)?));
        // The packet went the other way.
        let known =
            about.is_some_and(|(ip, tcp)| self.tables.has(&key(direction.other(), &ip, &tcp)));
        self.counts.other_protocols += u64::from(!known);
        known
    }

    fn on_message(&mut self, now: Instant, outer: &Ip, message: &Message<'_>) {
        self.counts.other_messages += 1;
        match message.kind {
            gtpu::END_MARKER => {
                let tunnel = Tunnel { to: outer.destination, teid: message.teid };
                self.tables.end(now, tunnel);
            }
            ERROR_INDICATION => {
                let Some(tunnel) = indicated(message.payload) else {
                    self.counts.malformed += 1;
                    return;
                };
                self.counts.unopened += 1;
                self.unopened = Some(tunnel);
                self.tables.forget(now, tunnel);
            }
            _ => {}
        }
    }

    /// Takes a packet that the proxy's domain sends towards `direction`. The packet is
    /// `room[at..]`, with `at` at least [`HEADROOM`]. Returns where the outer packet begins; none
    /// if no tunnel is known.
    pub fn on_inner(
        &mut self,
        now: Instant,
        direction: Direction,
        room: &mut [u8],
        at: usize,
    ) -> Option<usize> {
        let route = self.route(now, direction, room.get(at..)?)?;
        self.wrap(&route, room, at)
    }

    /// Takes a packet that the proxy's domain sends towards `direction`; it may hold several
    /// segments. Returns the tunnel of each; none if no tunnel is known.
    pub(crate) fn route(
        &mut self,
        now: Instant,
        direction: Direction,
        packet: &[u8],
    ) -> Option<Route> {
        self.way(now, direction, packet).map(Route)
    }

    /// Puts the packet `room[at..]` into a tunnel. Returns where the outer packet begins; none if
    /// it is too long.
    pub(crate) fn wrap(&mut self, route: &Route, room: &mut [u8], at: usize) -> Option<usize> {
        self.clamp(&mut room[at..]);
        let begin = route.0.write(room, at, self.number.wrapping_add(1))?;
        self.numbers(1);
        Some(begin)
    }

    /// Counts `packets` that go into a tunnel. Returns the IPv4 identification of the first.
    pub(crate) fn numbers(&mut self, packets: u16) -> u16 {
        let first = self.number.wrapping_add(1);
        self.number = self.number.wrapping_add(packets);
        self.counts.returned += u64::from(packets);
        first
    }

    fn way(&mut self, now: Instant, direction: Direction, bytes: &[u8]) -> Option<Header> {
        let inner = Ip::read(bytes)?;
        let (ue, _) = ends(direction, &inner);
        if !self.config.has(ue) {
            // The kernel of the domain sends packets of its own to neighbours, of which it has
            // none.
            return None;
        }
        let key = inner.tcp(bytes).map(|tcp| (key(direction, &inner, &tcp), tcp.flags));
        let way = self.tables.way(now, direction, ue, key);
        self.counts.homeless += u64::from(way.is_none());
        way
    }

    /// Lowers the MSS of a first segment, so that the packets of both ends fit the tunnel.
    fn clamp(&mut self, bytes: &mut [u8]) {
        let Some(inner) = Ip::read(bytes) else { return };
        let Some(tcp) = inner.tcp(bytes) else { return };
        if tcp.flags & SYN != 0 {
            let ip = if inner.source.is_ipv6() { 40 } else { 20 };
            let most = self.mtu - ip - TCP_BYTES;
            let lowered = packet::clamp(&mut bytes[inner.at..inner.end], most);
            self.counts.clamped += u64::from(lowered);
        }
    }

    /// Removes UEs and connections that have been silent for `tunnels.idle`. Call it about once a
    /// second.
    pub fn sweep(&mut self, now: Instant) {
        self.tables.sweep(now);
    }
}

/// The tunnel of a packet, with its headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route(pub(crate) Header);

/// UE and server of a packet.
fn ends(direction: Direction, ip: &Ip) -> (IpAddr, IpAddr) {
    match direction {
        Direction::Uplink => (ip.source, ip.destination),
        Direction::Downlink => (ip.destination, ip.source),
    }
}

fn key(direction: Direction, ip: &Ip, tcp: &Tcp) -> FlowKey {
    let (ue, server) = ends(direction, ip);
    let (ue_port, server_port) = match direction {
        Direction::Uplink => (tcp.source, tcp.destination),
        Direction::Downlink => (tcp.destination, tcp.source),
    };
    FlowKey { ue, server, ue_port, server_port }
}

/// The tunnel that an Error Indication is about: TEID Data I and GTP-U Peer Address (TS 29.281
/// sections 8.3 and 8.4).
fn indicated(mut elements: &[u8]) -> Option<Tunnel> {
    const TEID: u8 = 16;
    const PEER: u8 = 133;
    let mut teid = None;
    loop {
        match elements {
            [TEID, a, b, c, d, rest @ ..] => {
                teid = Some(u32::from_be_bytes([*a, *b, *c, *d]));
                elements = rest;
            }
            [PEER, 0, 4, rest @ ..] => {
                let octets: [u8; 4] = *rest.first_chunk()?;
                return Some(Tunnel { to: octets.into(), teid: teid? });
            }
            [PEER, 0, 16, rest @ ..] => {
                let octets: [u8; 16] = *rest.first_chunk()?;
                return Some(Tunnel { to: octets.into(), teid: teid? });
            }
            _ => return None,
        }
    }
}
