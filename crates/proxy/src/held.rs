//! First segments that wait until their server has answered, so that no client gets an answer that
//! its server does not give.
//!
//! The rules send such a segment here and drop it. The proxy connects to the server from the
//! client's address and port. When the server has answered, the segment goes to the listener, and
//! the accepted connection gets this leg. When the server refuses, is silent or unreachable, the
//! segment passes unsplit, and the client gets the network's own answer.

use crate::flow::{Outcome, Way, outcome_of, reach};
use crate::inject::{self, checksum};
use crate::nft::{Copied, Copies, TCP};
use crate::pools::{Client, PoolId, Pools};
use justfull_base::{Duration, Instant};
use justfull_net::SystemError;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use socket2::Socket;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

/// A server that is silent for this long: by then a client has sent its third first segment
/// (RFC 6298).
const PATIENCE: Duration = Duration::from_secs(3);
/// The leg to a server that has answered waits this long for its client.
const CLIENT_COMES: Duration = Duration::from_secs(15);
/// A client that sends its first segment once more after so many went to the listener has had no
/// answer: a rule of the host drops them.
const DELIVERIES: u32 = 2;
/// Most datagrams of copies that one event reads.
const READS: usize = 256;
/// Longest use of the hardware address of an interface before it is read again.
const INTERFACES_LAST: Duration = Duration::from_secs(10);
/// Extension headers of IPv6 that may precede TCP's header: hop-by-hop options, routing, fragment,
/// destination options (RFC 8200 section 4).
const EXTENSIONS: [u8; 4] = [0, 43, FRAGMENT, 60];
const FRAGMENT: u8 = 44;
/// Name of the programs in the kernel.
const NAME: &str = "justfull_first";
/// Bytes of an Ethernet header, and of TCP's header.
const ETHERNET: usize = 14;
const TCP_HEADER: usize = 20;

/// Client and server.
type Ends = (Client, SocketAddr);

/// A first segment.
#[derive(Clone, Debug)]
struct First {
    ends: Ends,
    dscp: Option<u8>,
    interface: u32,
    /// From the Ethernet header on.
    frame: Vec<u8>,
}

/// A leg to a server.
#[derive(Debug)]
struct Leg {
    /// Its token among events.
    number: u64,
    first: First,
    server: Socket,
    since: Instant,
    answered: bool,
    /// First segments that went to the listener.
    delivered: u32,
}

/// An interface at which first segments arrive.
#[derive(Debug)]
struct Interface {
    hardware: [u8; 6],
    /// Puts frames there that go to the listener.
    deliver: OwnedFd,
    /// Puts frames there that pass unsplit.
    pass: OwnedFd,
}

/// The end of a wait without a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    pub(crate) client: Client,
    pub(crate) server: SocketAddr,
    pub(crate) outcome: Outcome,
}

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Held {
    copies: Copies,
    /// Interfaces by index. They are read again after [`INTERFACES_LAST`], since an address may
    /// change.
    interfaces: BTreeMap<u32, Interface>,
    interfaces_since: Instant,
    pools: Pools,
    /// The pool behind each interface, read again with the interfaces.
    behind: BTreeMap<u32, PoolId>,
    /// A segment came from an interface that `behind` did not have.
    pub(crate) fresh: bool,
    /// For each family, true if first segments wait; others go to the listener at once.
    pub(crate) waits: [bool; 2],
    mark: u32,
    /// Most legs that wait for a server or for a client. More first segments go to
    /// the listener at once.
    most: usize,
    legs: BTreeMap<Ends, Leg>,
    numbers: BTreeMap<u64, Ends>,
    next: u64,
    /// First segments of each family that came, less the ones that went to the listener.
    pub(crate) kept: [u64; 2],
    /// Ends of waits that the owner has not taken.
    pub(crate) passed: Vec<Passed>,
}

impl Held {
    /// Receives first segments, with at most `most` waiting legs. The number of the nfnetlink_log
    /// group follows from `mark`, which differs between the proxies of a host.
    ///
    /// # Errors
    /// The kernel has no nfnetlink_log, or refuses the programs that put segments back.
    pub(crate) fn start(mark: u32, most: usize, pools: Pools) -> Result<Self, SystemError> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |e: io::Error| SystemError::new(what, e)
        };
        let copies = Copies::open(mark as u16).map_err(failed("receive first segments"))?;
        let trial = inject::program(NAME, 0, Some(mark));
        trial.map_err(failed("put first segments back"))?;
        Ok(Self {
            copies,
            interfaces: BTreeMap::new(),
            interfaces_since: Instant::ZERO,
            pools,
            behind: BTreeMap::new(),
            fresh: false,
            waits: [true; 2],
            mark,
            most,
            legs: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next: 0,
            kept: [0; 2],
            passed: Vec::new(),
        })
    }

    /// The group to which the rules send first segments.
    pub(crate) const fn group(&self) -> u16 {
        self.copies.group
    }

    /// Its descriptor is readable when first segments have come.
    pub(crate) fn descriptor(&self) -> impl AsFd {
        &self.copies
    }

    /// Legs that wait for a server or a client.
    pub(crate) fn waiting(&self) -> usize {
        self.legs.len()
    }

    /// First segments have come. Events of their legs have tokens from `token` on.
    pub(crate) fn arrived(
        &mut self,
        now: Instant,
        epoll: &Epoll,
        token: u64,
        time_waits: &mut u64,
    ) {
        for _ in 0..READS {
            let Some(copies) = self.copies.receive() else { break };
            for copied in copies {
                let Some(pool) = self.behind(copied.interface) else { continue };
                let Some(first) = First::read(&copied, pool) else { continue };
                self.kept[first.family()] += 1;
                self.begin(now, first, epoll, token, time_waits);
            }
        }
    }

    /// The pool behind an interface. None if no pool has it, or no descriptor is left to search it.
    fn behind(&mut self, interface: u32) -> Option<PoolId> {
        if let Some(pool) = self.behind.get(&interface) {
            return Some(*pool);
        }
        let pool = self.pools.behind(interface)?;
        self.behind.insert(interface, pool);
        self.fresh = true;
        Some(pool)
    }

    fn begin(
        &mut self,
        now: Instant,
        first: First,
        epoll: &Epoll,
        token: u64,
        time_waits: &mut u64,
    ) {
        let waiting = self.legs.len();
        match self.legs.get_mut(&first.ends) {
            Some(leg) if !leg.answered => return,
            Some(leg) if leg.delivered >= DELIVERIES => {
                return self.fails(first.ends, Outcome::ClientLeft);
            }
            Some(leg) => {
                leg.delivered += 1;
                return self.deliver(&first);
            }
            None if waiting >= self.most || !self.waits[first.family()] => {
                return self.deliver(&first);
            }
            None => {}
        }
        let (client, server) = first.ends;
        let way = Way { dscp: first.dscp, by: self.pools.servers(client.pool) };
        let leg = reach(client.at, server, way, time_waits);
        let number = token + self.next;
        let watched = leg.and_then(|leg| {
            let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
            epoll.add(&leg, EpollEvent::new(flags, number)).map_err(io::Error::from)?;
            Ok(leg)
        });
        match watched {
            Ok(server) => {
                self.next += 1;
                self.numbers.insert(number, first.ends);
                let leg = Leg { number, first, server, since: now, answered: false, delivered: 0 };
                self.legs.insert(leg.first.ends, leg);
            }
            Err(error) => self.give_up(&first, outcome_of(&error)),
        }
    }

    /// A leg has an event: its server has answered, or it has failed.
    pub(crate) fn event(&mut self, number: u64, epoll: &Epoll) {
        let Some(ends) = self.numbers.get(&number).copied() else { return };
        let Some(leg) = self.legs.get_mut(&ends) else { return };
        match leg.server.take_error() {
            Ok(None) => {
                // From now on its events are for the connection that gets it.
                let _known = epoll.delete(&leg.server);
                (leg.answered, leg.delivered) = (true, 1);
                let first = leg.first.clone();
                self.deliver(&first);
            }
            Ok(Some(_)) | Err(_) => self.fails(ends, Outcome::Refused),
        }
    }

    fn fails(&mut self, ends: Ends, outcome: Outcome) {
        if let Some(leg) = self.forget(ends) {
            // Its socket must be gone before the segment passes.
            drop(leg.server);
            self.give_up(&leg.first, outcome);
        }
    }

    fn forget(&mut self, ends: Ends) -> Option<Leg> {
        let leg = self.legs.remove(&ends)?;
        self.numbers.remove(&leg.number);
        Some(leg)
    }

    /// The leg to the server of an accepted connection; none if it did not wait.
    pub(crate) fn take(&mut self, client: Client, server: SocketAddr) -> Option<Socket> {
        let ends = (client, server);
        let answered = self.legs.get(&ends).is_some_and(|leg| leg.answered);
        answered.then(|| self.forget(ends))?.map(|leg| leg.server)
    }

    /// Gives up legs that have waited too long.
    pub(crate) fn tick(&mut self, now: Instant) {
        if now.since(self.interfaces_since) >= INTERFACES_LAST {
            self.interfaces.clear();
            self.behind.clear();
            self.interfaces_since = now;
        }
        let late =
            |leg: &Leg| now.since(leg.since) >= if leg.answered { CLIENT_COMES } else { PATIENCE };
        let late: Vec<(Ends, bool)> = self
            .legs
            .iter()
            .filter(|(_, leg)| late(leg))
            .map(|(ends, leg)| (*ends, leg.answered))
            .collect();
        for (ends, answered) in late {
            if answered {
                let (client, server) = ends;
                self.forget(ends);
                self.passed.push(Passed { client, server, outcome: Outcome::ClientLeft });
            } else {
                self.fails(ends, Outcome::NoAnswer);
            }
        }
    }

    /// Sends a segment to the listener.
    fn deliver(&mut self, first: &First) {
        self.kept[first.family()] -= 1;
        // If this fails, the client sends it again.
        let _lost = self.put(first, |interface| &interface.deliver);
    }

    /// Lets a segment pass unsplit.
    fn give_up(&mut self, first: &First, outcome: Outcome) {
        let (client, server) = first.ends;
        self.passed.push(Passed { client, server, outcome });
        // If this fails, the client sends it again.
        let _lost = self.put(first, |interface| &interface.pass);
    }

    fn put(&mut self, first: &First, by: fn(&Interface) -> &OwnedFd) -> io::Result<()> {
        let index = first.interface;
        if !self.interfaces.contains_key(&index) {
            let interface = Interface {
                hardware: inject::hardware(index),
                deliver: inject::program(NAME, index, Some(self.mark))?,
                pass: inject::program(NAME, index, Some(!self.mark))?,
            };
            self.interfaces.insert(index, interface);
        }
        let Some(interface) = self.interfaces.get(&index) else { return Ok(()) };
        let mut frame = first.frame.clone();
        frame[..6].copy_from_slice(&interface.hardware);
        crate::bpf::run(by(interface), &frame)
    }
}

impl First {
    const fn family(&self) -> usize {
        self.ends.1.is_ipv6() as usize
    }

    /// None unless a TCP segment follows an IP header and its extension headers.
    fn read(copied: &Copied, pool: PoolId) -> Option<Self> {
        let packet = &copied.packet[..];
        let v6 = packet.first()? >> 4 == 6;
        let (mut head, mut protocol, kind, dscp): (usize, u8, u16, u8) = if v6 {
            let class = (packet[0] << 4) | (packet.get(1)? >> 4);
            (40, *packet.get(6)?, 0x86dd, class >> 2)
        } else {
            (usize::from(packet[0] & 15) * 4, *packet.get(9)?, 0x0800, packet.get(1)? >> 2)
        };
        while v6 && EXTENSIONS.contains(&protocol) {
            let words = if protocol == FRAGMENT { 0 } else { usize::from(*packet.get(head + 1)?) };
            (protocol, head) = (*packet.get(head)?, head + 8 * (words + 1));
        }
        let (ip, tcp) = packet.split_at_checked(head)?;
        if protocol != TCP || tcp.len() < TCP_HEADER {
            return None;
        }
        let addresses = if v6 { ip.get(8..40)? } else { ip.get(12..20)? };
        let port = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
        let (from, to) = addresses.split_at(addresses.len() / 2);
        let end = |octets: &[u8], port: u16| -> Option<SocketAddr> {
            Some(match v6 {
                false => (Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?), port).into(),
                true => (Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?), port).into(),
            })
        };
        let ends = (Client { pool, at: end(from, port(0))? }, end(to, port(2))?);
        let mut frame = vec![0; ETHERNET - 2];
        frame.extend(u16::to_be_bytes(kind));
        frame.extend(packet);
        add_hop(&mut frame[ETHERNET..ETHERNET + head], v6);
        // The copy may come before the network card has filled it in.
        let length = (tcp.len() as u16).to_be_bytes();
        let mut summed = [addresses, &[0, TCP], &length, tcp].concat();
        let at = addresses.len() + 4 + 16;
        summed[at..at + 2].fill(0);
        let at = ETHERNET + head + 16;
        frame[at..at + 2].copy_from_slice(&checksum(&summed));
        Some(Self {
            ends,
            dscp: Some(dscp).filter(|&dscp| dscp > 0),
            interface: copied.interface,
            frame,
        })
    }
}

/// Adds 1 to the TTL or hop limit of an IP header: this host has reduced it once, and reduces it
/// again when it forwards the packet that was put back.
fn add_hop(header: &mut [u8], v6: bool) {
    let hops = if v6 { 7 } else { 8 };
    header[hops] = header[hops].saturating_add(1);
    if !v6 {
        header[10..12].fill(0);
        let sum = checksum(header);
        header[10..12].copy_from_slice(&sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A first segment with options, whose checksum was worked out by hand: the sum of all 16-bit
    /// words of pseudo header and segment with the checksum is 0xffff.
    #[test]
    fn a_first_segment_is_read_and_its_checksum_holds() {
        for (from, to) in [("10.45.0.1:4000", "198.51.100.1:80"), ("[fd45::1]:4000", "[::7]:80")] {
            let ends: [SocketAddr; 2] = [from, to].map(|end| end.parse().expect("an address"));
            let octets = ends.map(|end| crate::nft::octets(end.ip()));
            let mut tcp =
                vec![0x0f, 0xa0, 0, 80, 0, 0, 0, 9, 0, 0, 0, 0, 0x60, 2, 1, 0, 7, 7, 0, 0];
            tcp.extend([2, 4, 5, 0xb4]);
            let mut packet = match ends[0].is_ipv6() {
                true => vec![0x6b, 0x80, 0, 0, 0, 24, TCP, 64],
                false => vec![0x45, 0xb8, 0, 44, 0, 0, 0x40, 0, 64, TCP, 0, 0],
            };
            packet.extend(octets.concat());
            packet.extend(&tcp);
            let pool = PoolId::at(1);
            let first = First::read(&Copied { interface: 3, packet: packet.clone() }, pool);
            let first = first.expect("a first segment");
            let ends = (Client { pool, at: ends[0] }, ends[1]);
            assert_eq!((first.ends, first.dscp, first.interface), (ends, Some(46), 3));
            assert_eq!(first.frame.len(), ETHERNET + packet.len());
            let tcp = &first.frame[first.frame.len() - tcp.len()..];
            let pseudo = [&octets.concat()[..], &[0, TCP, 0, 24], tcp].concat();
            assert_eq!(checksum(&pseudo), [0, 0]);
            // The hop limit or TTL is one higher, and the checksum of IPv4's header is right.
            let header = &first.frame[ETHERNET..];
            match ends.1.is_ipv6() {
                true => assert_eq!(header[7], 65),
                false => assert_eq!((header[8], checksum(&header[..20])), (65, [0, 0])),
            }
            if ends.1.is_ipv6() {
                let mut extended = packet.clone();
                // Hop-by-hop options with only padding, before TCP's header.
                extended.splice(40..40, [TCP, 0, 1, 4, 0, 0, 0, 0]);
                extended[6] = 0;
                let first = First::read(&Copied { interface: 3, packet: extended }, pool);
                assert_eq!(first.expect("a first segment").ends, ends);
            }
            packet.truncate(30);
            assert!(First::read(&Copied { interface: 3, packet }, pool).is_none());
        }
    }
}
