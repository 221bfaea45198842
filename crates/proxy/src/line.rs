//! The line between the process that has all windows and a worker: packets of messages with
//! descriptors over a local socket (unix(7), `SOCK_SEQPACKET`, `SCM_RIGHTS`).
//!
//! Messages about windows and samples are numbers, since there are many; all others are JSON. Both
//! ends are one program, so the line has no versions.

use crate::allocator::{Allocator, Member};
use crate::pools::{ClientHost, PoolId};
use justfull_base::{Duration, Instant};
use justfull_net::clock::now;
use justfull_rapid::{Opening, Sample, Windows};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
    recvmsg, sendmsg, setsockopt, socketpair, sockopt,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::thread;

/// Bytes of a packet after which the next message begins another one.
const PACKET: usize = 16 << 10;
/// Bytes of the longest packet.
const LONGEST: usize = 128 << 10;
/// Descriptors of a packet, fewer than the kernel's `SCM_MAX_FD`.
const MOST_FDS: usize = 32;
/// Bytes that wait in each socket.
const BUFFER: usize = 2 << 20;
/// Packets that wait here before samples wait at their connections.
const FULL: usize = 16;

/// Pause between two attempts to send when the socket has room and the kernel refuses more
/// descriptors.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(1);

/// Kinds of messages.
const OPEN: u8 = 0;
const SAMPLE: u8 = 1;
const HOLD: u8 = 2;
const CLOSE: u8 = 3;
const WINDOWS: u8 = 4;
const TEXT: u8 = 5;
const MARK: u8 = 6;
/// Bytes before a message: its kind and its length.
const HEAD: usize = 5;
/// A time that is unknown.
const UNKNOWN: u64 = u64::MAX;

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message<'a> {
    /// A connection of `client` takes part in the control.
    Open {
        key: u64,
        client: ClientHost,
        opening: Opening,
    },
    Sample {
        key: u64,
        sample: Sample,
    },
    Hold(u64),
    Close(u64),
    Windows {
        key: u64,
        windows: Windows,
    },
    /// To a worker: a request to return the mark after all earlier messages are applied. From a
    /// worker: the returned mark.
    Mark(u64),
    /// JSON.
    Text(&'a [u8]),
}

/// Messages and descriptors that travel together.
#[derive(Debug, Default)]
pub(crate) struct Packet {
    bytes: Vec<u8>,
    pub(crate) fds: VecDeque<OwnedFd>,
}

/// One end of the line.
#[derive(Debug)]
pub(crate) struct Line {
    socket: OwnedFd,
    /// Packets that wait for room in the socket; the last is not full.
    waiting: VecDeque<Packet>,
    /// A received packet.
    buffer: Vec<u8>,
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Line {
    /// Both ends of a new line; the second is for another process.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let (own, other) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
        for end in [&own, &other] {
            // Without CAP_NET_ADMIN it is smaller.
            let _smaller = setsockopt(end, sockopt::SndBufForce, &BUFFER);
        }
        Ok((Self::of(own), other))
    }

    /// The end that another process has made.
    pub(crate) fn of(socket: OwnedFd) -> Self {
        Self { socket, waiting: VecDeque::new(), buffer: vec![0; LONGEST] }
    }

    fn push(&mut self, kind: u8, body: &[u8], fds: impl IntoIterator<Item = OwnedFd>) {
        let fds: Vec<OwnedFd> = fds.into_iter().collect();
        let full = |last: &Packet| {
            last.bytes.len() + HEAD + body.len() > PACKET || last.fds.len() + fds.len() > MOST_FDS
        };
        if self.waiting.back().is_none_or(full) {
            self.waiting.push_back(Packet::default());
        }
        let Some(packet) = self.waiting.back_mut() else { return };
        packet.bytes.push(kind);
        packet.bytes.extend((body.len() as u32).to_le_bytes());
        packet.bytes.extend(body);
        packet.fds.extend(fds);
    }

    fn numbers(&mut self, kind: u8, numbers: &[u64]) {
        let mut body = [0; 16 * 8];
        for (to, number) in body.chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        self.push(kind, &body[..8 * numbers.len()], []);
    }

    /// Adds a text and the descriptors that belong to it.
    pub(crate) fn say<T: Serialize>(&mut self, what: &T, fds: impl IntoIterator<Item = OwnedFd>) {
        // Our own types have no keys that JSON cannot have.
        let text = serde_json::to_vec(what).unwrap_or_default();
        self.push(TEXT, &text, fds);
    }

    /// Adds the new windows of a connection.
    pub(crate) fn windows(&mut self, key: u64, windows: Windows) {
        let Windows { server, radio, reading } = windows;
        self.numbers(WINDOWS, &[key, server, radio, u64::from(reading)]);
    }

    /// Adds a mark.
    pub(crate) fn mark(&mut self, mark: u64) {
        self.numbers(MARK, &[mark]);
    }

    /// True while more packets wait than the other end takes.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() > FULL
    }

    /// Sends what the socket takes.
    ///
    /// # Errors
    /// The other end has gone.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while let Some(packet) = self.waiting.front() {
            let raw: Vec<RawFd> = packet.fds.iter().map(AsRawFd::as_raw_fd).collect();
            let rights = [ControlMessage::ScmRights(&raw)];
            let rights = if raw.is_empty() { &rights[..0] } else { &rights[..] };
            let part = [IoSlice::new(&packet.bytes)];
            let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            match sendmsg::<UnixAddr>(self.socket.as_raw_fd(), &part, rights, flags, None) {
                Ok(_) => self.waiting.pop_front(),
                // Too many descriptors are on their way: as if there were no room.
                Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ETOOMANYREFS) => return Ok(()),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
        }
        Ok(())
    }

    /// Sends everything, and waits for room if need be.
    ///
    /// # Errors
    /// The other end has gone, or reads nothing for `patience`.
    pub(crate) fn flush_all(&mut self, patience: Duration) -> io::Result<()> {
        self.flush()?;
        let (mut left, mut since) = (self.waiting.len(), now());
        while left > 0 {
            self.wait(PollFlags::POLLOUT, patience)?;
            self.flush()?;
            if std::mem::replace(&mut left, self.waiting.len()) != left {
                since = now();
            } else if now().duration_since(since).as_nanos() >= u128::from(patience.as_nanos()) {
                return Err(io::ErrorKind::TimedOut.into());
            } else {
                // The socket has room, but too many descriptors are in flight.
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    fn wait(&self, what: PollFlags, patience: Duration) -> io::Result<()> {
        let millis = u16::try_from(patience.as_nanos() / 1_000_000).unwrap_or(u16::MAX);
        let mut of = [PollFd::new(self.socket.as_fd(), what)];
        match poll(&mut of, PollTimeout::from(millis)) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The next packet; none if none is there.
    ///
    /// # Errors
    /// The other end has gone.
    pub(crate) fn receive(&mut self) -> io::Result<Option<Packet>> {
        let mut space = cmsg_space!([RawFd; MOST_FDS]);
        let (length, fds) = {
            let mut part = [IoSliceMut::new(&mut self.buffer)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
            let message = match recvmsg::<UnixAddr>(
                self.socket.as_raw_fd(),
                &mut part,
                Some(&mut space),
                flags,
            ) {
                Ok(message) => message,
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let mut fds = VecDeque::new();
            for control in message.cmsgs()? {
                if let ControlMessageOwned::ScmRights(raw) = control {
                    // SAFETY: the kernel has just made these descriptors for this process.
                    fds.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
                }
            }
            (message.bytes, fds)
        };
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(Packet { bytes: self.buffer[..length].to_vec(), fds }))
    }

    /// The next packet, which comes within `patience`; without it, some time.
    ///
    /// # Errors
    /// The other end has gone, or sends nothing.
    pub(crate) fn next(&mut self, patience: Option<Duration>) -> io::Result<Packet> {
        loop {
            if let Some(packet) = self.receive()? {
                return Ok(packet);
            }
            match self.wait(PollFlags::POLLIN, patience.unwrap_or(Duration::from_secs(60))) {
                Err(e) if patience.is_none() && e.kind() == io::ErrorKind::TimedOut => {}
                other => other?,
            }
        }
    }
}

/// A worker's end.
impl Allocator for Line {
    fn open(
        &mut self,
        _now: Instant,
        client: ClientHost,
        key: u64,
        opening: &Opening,
    ) -> Option<Member> {
        let (family, bits) = match client.ip {
            IpAddr::V4(address) => (4, u128::from(u32::from(address))),
            IpAddr::V6(address) => (6, u128::from(address)),
        };
        let rtts = [opening.wired_rtt, opening.radio_rtt].map(nanos);
        let halves = [(bits >> 64) as u64, bits as u64];
        let mss = u64::from(opening.mss);
        let pool = client.pool.number().into();
        self.numbers(OPEN, &[key, family, halves[0], halves[1], mss, rtts[0], rtts[1], pool]);
        Some(Member { key, id: None })
    }

    fn takes_samples(&self) -> bool {
        !self.is_full()
    }

    fn sample(&mut self, _now: Instant, of: Member, sample: &Sample) {
        let Sample { arrived, delivered, held, waiting, .. } = *sample;
        let rtts = [sample.wired_rtt, sample.radio_rtt, sample.radio_smoothed].map(nanos);
        let numbers =
            [of.key, arrived, delivered, rtts[0], rtts[1], rtts[2], u64::from(held), waiting];
        self.numbers(SAMPLE, &numbers);
    }

    fn hold(&mut self, of: Member) {
        self.numbers(HOLD, &[of.key]);
    }

    fn close(&mut self, _now: Instant, of: Member) {
        self.numbers(CLOSE, &[of.key]);
    }
}

fn nanos(time: Option<Duration>) -> u64 {
    time.map_or(UNKNOWN, Duration::as_nanos)
}

fn time(nanos: u64) -> Option<Duration> {
    (nanos != UNKNOWN).then(|| Duration::from_nanos(nanos))
}

impl Packet {
    /// Its messages, in order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let (head, after) = rest.split_at_checked(HEAD)?;
            let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let (body, after) = after.split_at_checked(length)?;
            rest = after;
            message(head[0], body)
        })
    }
}

/// A text as a value.
pub(crate) fn read<T: DeserializeOwned>(text: &[u8]) -> io::Result<T> {
    Ok(serde_json::from_slice(text)?)
}

fn message(kind: u8, body: &[u8]) -> Option<Message<'_>> {
    if kind == TEXT {
        return Some(Message::Text(body));
    }
    let mut numbers = body.chunks_exact(8).map(|part| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(part);
        u64::from_le_bytes(bytes)
    });
    let mut next = || numbers.next();
    let key = next()?;
    Some(match kind {
        OPEN => {
            let (family, high, low) = (next()?, next()?, next()?);
            let ip = match family {
                4 => IpAddr::from((low as u32).to_be_bytes()),
                _ => IpAddr::from((u128::from(high) << 64 | u128::from(low)).to_be_bytes()),
            };
            let mss = next()? as u32;
            let opening = Opening { mss, wired_rtt: time(next()?), radio_rtt: time(next()?) };
            let client = ClientHost { pool: PoolId::of_number(next()? as u16), ip };
            Message::Open { key, client, opening }
        }
        SAMPLE => {
            let (arrived, delivered) = (next()?, next()?);
            let sample = Sample {
                arrived,
                delivered,
                wired_rtt: time(next()?),
                radio_rtt: time(next()?),
                radio_smoothed: time(next()?),
                held: next()? != 0,
                waiting: next()?,
            };
            Message::Sample { key, sample }
        }
        HOLD => Message::Hold(key),
        CLOSE => Message::Close(key),
        MARK => Message::Mark(key),
        WINDOWS => {
            let (server, radio, reading) = (next()?, next()?, next()? != 0);
            Message::Windows { key, windows: Windows { server, radio, reading } }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn no_packet_has_more_descriptors_than_a_message_can_carry() {
        let (mut own, other) = Line::pair().expect("a pair");
        let mut other = Line::of(other);
        let open = || OwnedFd::from(File::open("/dev/null").expect("it is there"));
        for _ in 1..MOST_FDS {
            own.say(&1, [open()]);
        }
        own.say(&2, [open(), open()]);
        own.flush_all(PATIENCE).expect("there is room");
        let counts = [0; 2].map(|_| other.next(Some(PATIENCE)).expect("it comes").fds.len());
        assert_eq!(counts, [MOST_FDS - 1, 2]);
    }

    #[test]
    fn all_messages_arrive_as_they_were_in_their_order_with_their_descriptors() {
        let (mut own, other) = Line::pair().expect("a pair");
        let mut other = Line::of(other);
        let now = Instant::ZERO;
        let opening = Opening { mss: 1_448, wired_rtt: None, radio_rtt: Some(PATIENCE) };
        let addresses = ["10.45.0.1", "fd45:1::2"].map(|text| text.parse().expect("an address"));
        let sample = Sample {
            arrived: 1,
            delivered: u64::MAX,
            wired_rtt: Some(Duration::ZERO),
            radio_rtt: None,
            radio_smoothed: Some(PATIENCE),
            held: true,
            waiting: 7,
        };
        let windows = Windows { server: 5, radio: 6, reading: false };
        let clients = addresses.map(|ip| ClientHost { pool: PoolId::of_number(700), ip });
        let members = clients.map(|client| own.open(now, client, 3, &opening).expect("open"));
        own.sample(now, members[0], &sample);
        own.hold(members[0]);
        own.say(&"words", [File::open("/dev/null").expect("it is there").into()]);
        own.windows(u64::MAX, windows);
        own.mark(8);
        own.close(now, members[1]);
        own.flush_all(PATIENCE).expect("there is room");
        let packet = other.next(Some(PATIENCE)).expect("it comes");
        assert_eq!(packet.fds.len(), 1);
        let [v4, v6] = clients.map(|client| Message::Open { key: 3, client, opening });
        assert_eq!(
            packet.messages().collect::<Vec<_>>(),
            [
                v4,
                v6,
                Message::Sample { key: 3, sample },
                Message::Hold(3),
                Message::Text(b"\"words\""),
                Message::Windows { key: u64::MAX, windows },
                Message::Mark(8),
                Message::Close(3),
            ]
        );
        drop(own);
        assert!(other.next(Some(PATIENCE)).is_err(), "the other end has gone");
    }

    #[test]
    fn a_reader_that_stops_fills_the_line_and_loses_no_message() {
        let (mut own, other) = Line::pair().expect("a pair");
        let mut other = Line::of(other);
        let member = Member { key: 9, id: None };
        let mut sent = 0_u64;
        while own.takes_samples() {
            own.sample(Instant::ZERO, member, &Sample { arrived: sent, ..Sample::default() });
            own.flush().expect("the other end is there");
            sent += 1;
        }
        assert!(own.flush_all(Duration::from_millis(1)).is_err(), "nobody reads");
        let mut got = 0;
        while got < sent {
            let packet = other.next(Some(PATIENCE)).expect("it comes");
            for message in packet.messages() {
                let Message::Sample { key: 9, sample } = message else { panic!("{message:?}") };
                assert_eq!(sample.arrived, got);
                got += 1;
            }
            own.flush().expect("the other end is there");
        }
        assert!(own.takes_samples());
    }
}
