//! A base station and a UPF that speak GTP-U over real sockets, and the UEs and the server behind
//! them, each with the kernel's own TCP.
//!
//! ```text
//!   ue -- TUN -- gNB ===== stage and proxy ===== UPF -- TUN -- server
//! ```

use justfull_net::chain::{Chain, Place};
use justfull_net::segments::{LONGEST_HEADERS, OFFLOAD_PREFIX, Run};
use justfull_net::{Network, NetworkConfig, Port, Side, Tun};
use justfull_nru::{Message, Session, SessionKind, gtpu};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
    sockopt,
};
use std::collections::BTreeSet;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// UEs behind the base station.
pub(crate) const UES: usize = 4;
/// Inner packets have at most so many bytes.
pub(crate) const INNER_MTU: u32 = 1_400;
/// QFIs of TCP and of everything else.
pub(crate) const QFI_TCP: u8 = 9;
pub(crate) const QFI_OTHER: u8 = 5;

/// The state that both ends share and tests change.
#[derive(Debug)]
pub(crate) struct Shared {
    /// A TEID of the uplink or the downlink is this number plus the UE's number.
    pub(crate) uplink: AtomicU32,
    pub(crate) downlink: AtomicU32,
    /// G-PDUs with another TEID, or without a PDU session container of their direction.
    pub(crate) strange: AtomicU32,
    /// Inner packets of the downlink above this size cause an ICMP error.
    pub(crate) path_mtu: AtomicU16,
    /// Extension headers and QFIs that arrived, as direction, protocol and QFI.
    seen: Mutex<BTreeSet<(bool, u8, u8)>>,
    ends: AtomicBool,
}

impl Shared {
    pub(crate) fn seen(&self) -> Vec<(bool, u8, u8)> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().copied().collect()
    }
}

/// See the module's page. Dropping it ends the threads.
pub(crate) struct Tunnels {
    pub(crate) network: Network,
    pub(crate) shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Tunnels {
    /// Puts base station and UPF at the ends of `chain`, over its addresses of `family`: 0 for
    /// IPv4.
    ///
    /// With `joined`, the ends send and receive several datagrams in one packet, as interfaces with
    /// offloads do.
    pub(crate) fn build(chain: &Chain, family: usize, joined: bool) -> Self {
        let config = NetworkConfig { mtu: INNER_MTU, ..NetworkConfig::new(UES) };
        let mut network = Network::build(&config).expect("a network");
        let shared = Arc::new(Shared {
            uplink: AtomicU32::new(0x100),
            downlink: AtomicU32::new(0x200),
            strange: AtomicU32::new(0),
            path_mtu: AtomicU16::new(u16::MAX),
            seen: Mutex::default(),
            ends: AtomicBool::new(false),
        });
        let ues: Vec<Tun> =
            (0..UES).map(|ue| network.take_tun(Side::Ue(ue)).expect("a device")).collect();
        let server = vec![network.take_tun(Side::Server).expect("a device")];
        let (gnb, upf) = (Chain::ue(1)[family], Chain::server()[family]);
        let at = |place, own, peer, ports| End {
            ports,
            socket: socket(chain, place, own, joined),
            peer: SocketAddr::from((peer, gtpu::PORT)),
            uplink: place == Place::Ue,
            shared: Arc::clone(&shared),
            joins: joined.then(Joins::default),
        };
        let ends = [at(Place::Ue, gnb, upf, ues), at(Place::Server, upf, gnb, server)];
        let threads = ends.map(|mut end| thread::spawn(move || end.serve())).into();
        Self { network, shared, threads }
    }
}

impl Drop for Tunnels {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "an end of the tunnels");
        }
    }
}

fn socket(chain: &Chain, place: Place, address: IpAddr, joined: bool) -> UdpSocket {
    let bound = chain.inside(place, || {
        let socket = UdpSocket::bind((address, gtpu::PORT))?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, sockopt::RcvBufForce, &(16 << 20))?;
        setsockopt(&socket, sockopt::UdpGroSegment, &joined)?;
        Ok(socket)
    });
    bound.expect("it binds")
}

/// One end of the tunnels.
struct End {
    ports: Vec<Tun>,
    socket: UdpSocket,
    peer: SocketAddr,
    /// True at the base station: it sends the uplink.
    uplink: bool,
    shared: Arc<Shared>,
    joins: Option<Joins>,
}

/// Datagrams and segments that wait for others.
#[derive(Default)]
struct Joins {
    /// Messages of `size` bytes, of which the last may be shorter.
    messages: Vec<u8>,
    size: usize,
    /// The first segment, and the payloads of others, for a port.
    first: Vec<u8>,
    payloads: Vec<u8>,
    run: Run,
    port: usize,
}

impl End {
    fn serve(&mut self) {
        let mut room = vec![0; 65_535];
        while !self.shared.ends.load(Ordering::Relaxed) {
            let mut fds: Vec<PollFd<'_>> = self
                .ports
                .iter()
                .map(AsFd::as_fd)
                .chain([self.socket.as_fd()])
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
                .collect();
            let _interrupted = poll(&mut fds, PollTimeout::from(20_u8));
            for port in 0..self.ports.len() {
                for _ in 0..64 {
                    match self.ports[port].receive(&mut room).expect("a device") {
                        Some(length) => self.send(port, &room[..length]),
                        None => break,
                    }
                }
                self.send_messages();
            }
            for _ in 0..64 {
                match self.read(&mut room) {
                    Ok([length, size]) => {
                        room[..length].chunks(size.max(1)).for_each(|one| self.receive(one));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // A port that is closed for a moment.
                    Err(_) => {}
                }
            }
            self.deliver_segments();
        }
    }

    /// Reads datagrams: their bytes, and the length of each but the last.
    fn read(&self, room: &mut [u8]) -> io::Result<[usize; 2]> {
        if self.joins.is_none() {
            return self.socket.recv(room).map(|length| [length; 2]);
        }
        let mut control = nix::cmsg_space!(i32);
        let mut parts = [IoSliceMut::new(room)];
        let flags = MsgFlags::MSG_DONTWAIT;
        let socket = self.socket.as_raw_fd();
        let got = recvmsg::<SockaddrStorage>(socket, &mut parts, Some(&mut control), flags)?;
        let size = got.cmsgs()?.find_map(|message| match message {
            ControlMessageOwned::UdpGroSegments(size) => usize::try_from(size).ok(),
            _ => None,
        });
        Ok([got.bytes, size.unwrap_or(got.bytes)])
    }

    /// Sends the messages that wait as one packet.
    fn send_messages(&mut self) {
        let Some(joins) = &mut self.joins else { return };
        let size = u16::try_from(joins.size).expect("a datagram");
        let control = [ControlMessage::UdpGsoSegments(&size)];
        let control = if joins.messages.len() > joins.size { &control[..] } else { &[] };
        if !joins.messages.is_empty() {
            let parts = [IoSlice::new(&joins.messages)];
            let to = SockaddrStorage::from(self.peer);
            // The path is down while interfaces change.
            let _lost =
                sendmsg(self.socket.as_raw_fd(), &parts, control, MsgFlags::empty(), Some(&to));
        }
        joins.messages.clear();
    }

    /// Sends one message, or lets it wait for others of its length.
    fn send_message(&mut self, message: &[u8]) {
        let Some(joins) = &self.joins else {
            // The path is down while interfaces change.
            let _lost = self.socket.send_to(message, self.peer);
            return;
        };
        let (length, size) = (joins.messages.len(), joins.size);
        let closed = length > 0 && length % size > 0 || length >= 64 * size;
        if closed || message.len() > size || length + message.len() > 60_000 {
            self.send_messages();
        }
        let Some(joins) = &mut self.joins else { return };
        if joins.messages.is_empty() {
            joins.size = message.len();
        }
        joins.messages.extend_from_slice(message);
    }

    /// Gives a packet to the kernel behind a port, or lets it wait for segments that follow it.
    fn deliver(&mut self, port: usize, packet: &[u8]) {
        if let Some(joins) = &mut self.joins {
            if joins.port == port && joins.run.add(&joins.first, packet) {
                joins.payloads.extend_from_slice(&packet[joins.run.payload()..]);
                return;
            }
            self.deliver_segments();
        }
        if let Some(joins) = &mut self.joins
            && self.ports[port].joins()
            && joins.run.begin(packet)
        {
            joins.first.clear();
            joins.first.extend_from_slice(packet);
            joins.port = port;
            return;
        }
        assert!(self.ports[port].send(packet).expect("a device"), "its queue has room");
    }

    /// Gives the segments that wait to the kernel as one packet.
    fn deliver_segments(&mut self) {
        let Some(joins) = self.joins.as_mut().filter(|joins| joins.run.segments() > 0) else {
            return;
        };
        let mut head = [0; OFFLOAD_PREFIX + LONGEST_HEADERS];
        let length = joins.run.head(&joins.first, &mut head);
        let first = &joins.first[joins.run.payload()..];
        let parts = [&head[..length], first, &joins.payloads].map(IoSlice::new);
        let sent = self.ports[joins.port].send_joined(&parts);
        assert!(sent.expect("a device"), "its queue has room");
        joins.run = Run::default();
        joins.payloads.clear();
    }

    /// The number of a UE, by its address: the last octets are the number and one.
    fn ue(packet: &[u8], uplink: bool) -> Option<usize> {
        let last = match (packet[0] >> 4, uplink) {
            (4, true) => packet[15],
            (4, false) => packet[19],
            (6, true) => packet[23],
            (6, false) => packet[39],
            _ => return None,
        };
        usize::from(last).checked_sub(1).filter(|ue| *ue < UES)
    }

    fn teid(&self, uplink: bool, ue: usize) -> u32 {
        let base = if uplink { &self.shared.uplink } else { &self.shared.downlink };
        base.load(Ordering::Relaxed) + ue as u32
    }

    fn send(&mut self, port: usize, packet: &[u8]) {
        let Some(ue) = Self::ue(packet, self.uplink) else { return };
        assert!(!self.uplink || ue == port, "a UE sends from its own address");
        let message = g_pdu(self.uplink, self.teid(self.uplink, ue), packet);
        self.send_message(&message);
    }

    fn receive(&mut self, bytes: &[u8]) {
        let message = Message::read(bytes).expect("GTP-U");
        if message.kind != gtpu::G_PDU {
            return;
        }
        let packet = message.payload;
        let towards_server = !self.uplink;
        let ue = Self::ue(packet, towards_server);
        let session = message.session().expect("a container");
        let kind = session.map(|session| session.kind);
        let right = match kind {
            Some(SessionKind::Uplink) => towards_server,
            Some(SessionKind::Downlink { .. }) => !towards_server,
            _ => false,
        };
        let known = ue.is_some_and(|ue| message.teid == self.teid(towards_server, ue));
        if !right || !known {
            self.shared.strange.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let qfi = session.map_or(0, |session| session.qfi);
        let mut seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert((towards_server, protocol(packet), qfi));
        drop(seen);
        let most = usize::from(self.shared.path_mtu.load(Ordering::Relaxed));
        let port = if self.uplink { ue.unwrap_or(0) } else { 0 };
        if packet.len() > most {
            // A router behind this end.
            let error = too_big(packet, most);
            let ue = ue.unwrap_or(0);
            let message = g_pdu(self.uplink, self.teid(self.uplink, ue), &error);
            let _lost = self.socket.send_to(&message, self.peer);
            return;
        }
        self.deliver(port, packet);
    }
}

pub(crate) fn protocol(packet: &[u8]) -> u8 {
    if packet[0] >> 4 == 4 { packet[9] } else { packet[6] }
}

/// A G-PDU with a PDU session container.
pub(crate) fn g_pdu(uplink: bool, teid: u32, packet: &[u8]) -> Vec<u8> {
    let qfi = if protocol(packet) == 6 { QFI_TCP } else { QFI_OTHER };
    let kind = match uplink {
        true => SessionKind::Uplink,
        false => SessionKind::Downlink { paging_policy: false, reflective: false },
    };
    let mut bytes = vec![0; packet.len() + 32];
    let mut builder = gtpu::Builder::new(&mut bytes, gtpu::G_PDU, teid).expect("room");
    let session = Session { kind, qfi, flags: 0, rest: &[] };
    builder.extension(gtpu::PDU_SESSION_CONTAINER, |room| session.write(room)).expect("room");
    builder.payload(packet).expect("room");
    let length = builder.finish().expect("short enough");
    bytes.truncate(length);
    bytes
}

/// The ICMP error of a router with a smaller MTU about `packet` (RFC 1191, RFC 4443).
fn too_big(packet: &[u8], mtu: usize) -> Vec<u8> {
    use justfull_nru::checksum;
    let quoted = &packet[..packet.len().min(96)];
    let mtu = u16::try_from(mtu).expect("small").to_be_bytes();
    let length = u16::try_from(8 + quoted.len()).expect("small");
    let (mut bytes, icmp) = if packet[0] >> 4 == 4 {
        let mut head = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0];
        head[2..4].copy_from_slice(&(length + 20).to_be_bytes());
        // From the packet's destination back to its source.
        head.extend_from_slice(&packet[16..20]);
        head.extend_from_slice(&packet[12..16]);
        let sum = !checksum::sum(&head);
        head[10..12].copy_from_slice(&sum.to_be_bytes());
        (head, vec![3, 4, 0, 0, 0, 0, mtu[0], mtu[1]])
    } else {
        let mut head = vec![0x60, 0, 0, 0, 0, 0, 58, 64];
        head[4..6].copy_from_slice(&length.to_be_bytes());
        head.extend_from_slice(&packet[24..40]);
        head.extend_from_slice(&packet[8..24]);
        (head, vec![2, 0, 0, 0, 0, 0, mtu[0], mtu[1]])
    };
    let mut body = icmp;
    body.extend_from_slice(quoted);
    let pseudo = match packet[0] >> 4 {
        4 => 0,
        _ => checksum::add(checksum::sum(&bytes[8..40]), checksum::add(length, 58)),
    };
    let sum = !checksum::add(pseudo, checksum::sum(&body));
    body[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes.extend_from_slice(&body);
    bytes
}
