//! One direction of a connection: moves bytes, and the end of data, from one socket to the other
//! through a pipe of a pool.
//!
//! Large amounts move by splice(2): they are not copied, and a pipe is held only while there is
//! data in it. Small amounts are read and written, which takes fewer calls; bytes that the other
//! socket does not accept at once go into the pipe. Without a free pipe, data is peeked in its
//! socket, sent as far as the other socket accepts it, and only then removed, so nothing is held
//! here. When the other socket accepts no more, the rest waits in its own socket, and that socket's
//! window closes.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::unistd::{pipe2, write};
use serde::{Deserialize, Serialize};
use socket2::Socket;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Bytes that one read moves at most.
const CHUNK: usize = 256 << 10;
/// A smaller amount is read and written; a full buffer shows that more follows.
const LITTLE: usize = 16 << 10;
/// The least that a pipe holds: a page (pipe(7)).
const LEAST_PIPE: usize = 4_096;
/// Reads of one direction before other connections have their turn.
const READS: u32 = 4;

/// Both ends of a pipe.
#[derive(Debug)]
pub(crate) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    /// Bytes of a write that it accepts when it is empty.
    room: usize,
}

/// Empty pipes, and the greatest number of pipes.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Vec<Pipe>,
    made: u32,
    most: u32,
    size: i32,
}

impl Pool {
    /// A pool of at most `most` pipes of `size` bytes; it makes them when they are needed.
    pub(crate) const fn new(most: u32, size: i32) -> Self {
        Self { free: Vec::new(), made: 0, most, size }
    }

    fn take(&mut self) -> Option<Pipe> {
        if let Some(pipe) = self.free.pop() {
            return Some(pipe);
        }
        if self.made >= self.most {
            return None;
        }
        let (read, write) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).ok()?;
        // A smaller pipe works as well: pipe-user-pages-soft limits users other than root.
        let room = fcntl(&read, FcntlArg::F_SETPIPE_SZ(self.size));
        let room = room.map_or(LEAST_PIPE, |size| usize::try_from(size).unwrap_or(LEAST_PIPE));
        self.made += 1;
        Some(Pipe { read, write, room })
    }

    /// Adds the pipe of another process, even beyond the limit.
    fn adopt(&mut self, read: OwnedFd, write: OwnedFd) -> Pipe {
        let room = fcntl(&read, FcntlArg::F_GETPIPE_SZ);
        let room = room.map_or(LEAST_PIPE, |size| usize::try_from(size).unwrap_or(LEAST_PIPE));
        self.made += 1;
        Pipe { read, write, room }
    }

    /// Takes a pipe back; one that holds data is closed.
    fn give(&mut self, pipe: Pipe, empty: bool) {
        if empty {
            self.free.push(pipe);
        } else {
            self.made -= 1;
        }
    }

    /// Pipes that hold data.
    pub(crate) fn used(&self) -> u32 {
        self.made - self.free.len() as u32
    }
}

/// One socket of a connection, and its state by the last event or call.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) socket: Socket,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// Its end or urgent data has arrived, so a short read does not show that no more data waits.
    pub(crate) to_the_end: bool,
    /// Since the last check for the end, an event showed that both directions are shut.
    pub(crate) shut: bool,
    /// Both directions have ended, and all data is acknowledged.
    pub(crate) over: bool,
}

impl End {
    pub(crate) const fn new(socket: Socket) -> Self {
        Self {
            socket,
            readable: false,
            writable: false,
            to_the_end: false,
            shut: false,
            over: false,
        }
    }
}

/// The socket that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The source.
    From,
    /// The target.
    To,
}

impl Failed {
    /// The same socket, named from the other direction.
    pub(crate) const fn other_way(self) -> Self {
        match self {
            Self::From => Self::To,
            Self::To => Self::From,
        }
    }
}

/// The state of a direction that its descriptors do not have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DirectionState {
    /// Bytes in its pipe; the pipe's ends then come with it.
    held: usize,
    ended: bool,
    closed: bool,
    bytes: u64,
}

/// Bytes from one end to the other.
#[derive(Debug, Default)]
pub(crate) struct Direction {
    pipe: Option<Pipe>,
    held: usize,
    /// The last read was large.
    bulk: bool,
    /// All bytes are read.
    ended: bool,
    /// All bytes are sent, and the end of data.
    pub(crate) closed: bool,
    /// Bytes read.
    pub(crate) bytes: u64,
}

impl Direction {
    pub(crate) const fn state(&self) -> DirectionState {
        let &Self { held, ended, closed, bytes, .. } = self;
        DirectionState { held, ended, closed, bytes }
    }

    /// Both ends of the pipe with data, if any.
    pub(crate) fn pipe(&self) -> Option<[BorrowedFd<'_>; 2]> {
        let pipe = self.pipe.as_ref().filter(|_| self.held > 0)?;
        Some([pipe.read.as_fd(), pipe.write.as_fd()])
    }

    /// The direction of `state`, with a pipe from `fds` if it holds data.
    pub(crate) fn restore(
        state: &DirectionState,
        fds: &mut impl Iterator<Item = OwnedFd>,
        pool: &mut Pool,
    ) -> Option<Self> {
        let &DirectionState { held, ended, closed, bytes } = state;
        let pipe = match held {
            0 => None,
            _ => Some(pool.adopt(fds.next()?, fds.next()?)),
        };
        Some(Self { pipe, held, bulk: false, ended, closed, bytes })
    }

    /// Bytes in the pipe.
    pub(crate) const fn held(&self) -> u64 {
        self.held as u64
    }

    /// Moves as much as it can without waiting; reads only if `reading`. True if there may be more
    /// and others should have their turn first.
    pub(crate) fn pump(
        &mut self,
        from: &mut End,
        to: &mut End,
        pool: &mut Pool,
        scratch: &mut [u8],
        reading: bool,
    ) -> Result<bool, Failed> {
        let mut reads = 0;
        let more = loop {
            if self.held > 0 && !self.empty(to)? {
                break false;
            }
            if self.ended {
                if !self.closed {
                    // A failed socket shows its failure elsewhere.
                    let _failed = to.socket.shutdown(Shutdown::Write);
                    self.closed = true;
                }
                break false;
            }
            if !(reading && from.readable && to.writable) {
                break false;
            }
            if reads == READS {
                break true;
            }
            reads += 1;
            if self.pipe.is_none() {
                self.pipe = pool.take();
            }
            if self.pipe.is_none() {
                self.copy(from, to, scratch)?;
            } else if !self.bulk || !self.fill(from)? {
                self.relay_little(from, to, scratch)?;
            }
        };
        if self.held == 0
            && let Some(pipe) = self.pipe.take()
        {
            pool.give(pipe, true);
        }
        Ok(more)
    }

    /// Reads into the empty pipe, so that the end of reading is due to the socket. False at the end
    /// of data.
    fn fill(&mut self, from: &mut End) -> Result<bool, Failed> {
        let Some(pipe) = &self.pipe else { return Ok(false) };
        let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
        match splice(&from.socket, None, &pipe.write, None, CHUNK, flags) {
            Ok(0) => return Ok(false),
            Ok(bytes) => {
                self.held = bytes;
                self.bulk = bytes >= LITTLE;
                self.bytes += bytes as u64;
            }
            // Before urgent data the result is the same as without data; only a read shows the
            // difference.
            Err(Errno::EAGAIN) => (from.readable, self.bulk) = (from.to_the_end, false),
            Err(Errno::EINTR) => {}
            Err(_) => return Err(Failed::From),
        }
        Ok(true)
    }

    /// Reads a small amount and sends it. The rest goes into the pipe, which is empty and has room
    /// for all of it. A short read shows that no more data waits.
    fn relay_little(
        &mut self,
        from: &mut End,
        to: &mut End,
        scratch: &mut [u8],
    ) -> Result<(), Failed> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let dont_wait = MsgFlags::MSG_DONTWAIT;
        let most = LITTLE.min(pipe.room).min(scratch.len());
        let read = match recv(from.socket.as_raw_fd(), &mut scratch[..most], dont_wait) {
            Ok(0) => {
                self.ended = true;
                return Ok(());
            }
            Ok(read) => read,
            Err(Errno::EAGAIN) => {
                from.readable = false;
                return Ok(());
            }
            Err(Errno::EINTR) => return Ok(()),
            Err(_) => return Err(Failed::From),
        };
        self.bulk = read == most;
        from.readable = self.bulk || from.to_the_end;
        self.bytes += read as u64;
        let flags = MsgFlags::MSG_NOSIGNAL | dont_wait;
        let sent = match send(to.socket.as_raw_fd(), &scratch[..read], flags) {
            Ok(sent) => sent,
            Err(Errno::EAGAIN | Errno::EINTR) => 0,
            Err(_) => return Err(Failed::To),
        };
        if sent < read {
            match write(&pipe.write, &scratch[sent..read]) {
                Ok(kept) if kept == read - sent => self.held = kept,
                // The bytes that were read would be lost.
                Ok(_) | Err(_) => return Err(Failed::From),
            }
        }
        Ok(())
    }

    /// Sends the bytes in the pipe; true if it is empty then.
    fn empty(&mut self, to: &mut End) -> Result<bool, Failed> {
        let Some(pipe) = &self.pipe else { return Ok(true) };
        let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
        while self.held > 0 {
            match splice(&pipe.read, None, &to.socket, None, self.held, flags) {
                Ok(bytes) => self.held -= bytes,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => {
                    to.writable = false;
                    return Ok(false);
                }
                Err(_) => return Err(Failed::To),
            }
        }
        Ok(true)
    }

    /// Copies without a pipe; bytes that the other end does not accept stay in the socket.
    fn copy(&mut self, from: &mut End, to: &mut End, scratch: &mut [u8]) -> Result<(), Failed> {
        let (source, target) = (from.socket.as_raw_fd(), to.socket.as_raw_fd());
        let dont_wait = MsgFlags::MSG_DONTWAIT;
        let seen = match recv(source, scratch, MsgFlags::MSG_PEEK | dont_wait) {
            Ok(0) => {
                self.ended = true;
                return Ok(());
            }
            Ok(seen) => seen,
            Err(Errno::EAGAIN) => {
                from.readable = false;
                return Ok(());
            }
            Err(Errno::EINTR) => return Ok(()),
            Err(_) => return Err(Failed::From),
        };
        let sent = match send(target, &scratch[..seen], MsgFlags::MSG_NOSIGNAL | dont_wait) {
            Ok(sent) => sent,
            Err(Errno::EAGAIN) => {
                to.writable = false;
                return Ok(());
            }
            Err(Errno::EINTR) => return Ok(()),
            Err(_) => return Err(Failed::To),
        };
        let mut left = sent;
        while left > 0 {
            match recv(source, &mut scratch[..left], dont_wait) {
                Ok(bytes) if bytes > 0 => left -= bytes,
                Err(Errno::EINTR) => {}
                Ok(_) | Err(_) => return Err(Failed::From),
            }
        }
        self.bytes += sent as u64;
        Ok(())
    }

    /// Gives the pipe back.
    pub(crate) fn release(&mut self, pool: &mut Pool) {
        if let Some(pipe) = self.pipe.take() {
            pool.give(pipe, self.held == 0);
        }
    }
}

/// Moves a byte from a socket to another through a pipe of `size` bytes. Returns the result in
/// words.
pub(crate) fn attempt(size: u64) -> io::Result<String> {
    use socket2::{Domain, Type};
    let (near, far) = Socket::pair(Domain::UNIX, Type::STREAM, None)?;
    let mut pool = Pool::new(1, i32::try_from(size).unwrap_or(i32::MAX));
    let Some(pipe) = pool.take() else {
        return Err(io::Error::other("no pipe can be made"));
    };
    send(far.as_raw_fd(), b"x", MsgFlags::empty())?;
    let none = SpliceFFlags::empty();
    splice(&near, None, &pipe.write, None, 1, none)?;
    splice(&pipe.read, None, &near, None, 1, none)?;
    let got = fcntl(&pipe.read, FcntlArg::F_GETPIPE_SZ)?;
    Ok(format!("pipes of {got} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system;
    use socket2::{Domain, Type};
    use std::io::{Read, Write};

    /// A socket of the relay, and its far end.
    fn pair() -> (End, Socket) {
        let (near, far) = Socket::pair(Domain::UNIX, Type::STREAM, None).expect("a pair");
        near.set_nonblocking(true).expect("it is set");
        far.set_nonblocking(true).expect("it is set");
        (End { readable: true, writable: true, ..End::new(near) }, far)
    }

    /// Relays `bytes` with a pool of `pipes`; the far end reads `slowly` or not.
    fn relay(bytes: usize, pipes: u32, slowly: bool) {
        let ((mut from, mut source), (mut to, mut sink)) = (pair(), pair());
        let data: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect();
        let (mut pool, mut scratch) = (Pool::new(pipes, 65_536), vec![0; 10_000]);
        let (mut direction, mut written, mut got) = (Direction::default(), 0, Vec::new());
        let mut buffer = vec![0; if slowly { 1_000 } else { 100_000 }];
        for _ in 0..1_000_000 {
            if written < bytes {
                written += source.write(&data[written..]).unwrap_or(0);
            } else {
                source.shutdown(Shutdown::Write).expect("it is open");
            }
            (from.readable, to.writable, from.to_the_end) = (true, true, written == bytes);
            direction.pump(&mut from, &mut to, &mut pool, &mut scratch, true).expect("it moves");
            assert!(pool.used() <= pipes);
            match sink.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => got.extend_from_slice(&buffer[..length]),
                Err(_) => {}
            }
        }
        assert!(got == data, "{} of {bytes} bytes", got.len());
        assert!(direction.closed && direction.bytes == bytes as u64 && pool.used() == 0);
    }

    #[test]
    fn all_bytes_arrive_and_their_end_with_pipes_and_without() {
        for pipes in [0, 1] {
            for bytes in [0, 1, 3_000_000] {
                relay(bytes, pipes, false);
            }
            relay(600_000, pipes, true);
        }
    }

    /// Two ends of a connection over the loopback interface.
    fn connection() -> (End, Socket) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("it listens");
        let far = std::net::TcpStream::connect(listener.local_addr().expect("an address"));
        let near = Socket::from(listener.accept().expect("it comes").0);
        near.set_nonblocking(true).expect("it is set");
        near.set_out_of_band_inline(true).expect("it is set");
        (End { writable: true, ..End::new(near) }, Socket::from(far.expect("it connects")))
    }

    #[test]
    fn urgent_data_amid_much_other_data_is_read_after_its_event() {
        let ((mut from, mut source), (mut to, mut sink)) = (connection(), pair());
        let (mut pool, mut scratch) = (Pool::new(1, 65_536), vec![0; 10_000]);
        let mut direction = Direction { bulk: true, ..Direction::default() };
        let part = [7; 20_000];
        for _ in 0..3 {
            source.write_all(&part).expect("there is room");
            source.send_out_of_band(b"!").expect("there is room");
        }
        let total = 3 * (part.len() + 1);
        // When the far end has acknowledged all bytes, the kernel here has received them.
        let all_sent = || system::tcp_info(&source).is_ok_and(|info| info.in_flight == 0);
        while !all_sent() {
            std::thread::yield_now();
        }
        (from.readable, from.to_the_end) = (true, true);
        let mut got = 0;
        let mut buffer = vec![0; 100_000];
        for _ in 0..100 {
            direction.pump(&mut from, &mut to, &mut pool, &mut scratch, true).expect("it moves");
            to.writable = true;
            got += sink.read(&mut buffer).unwrap_or(0);
        }
        assert_eq!(got, total);
    }

    #[test]
    fn a_reader_that_stops_holds_one_pipe_and_lets_the_source_fill() {
        let ((mut from, mut source), (mut to, _sink)) = (pair(), pair());
        let (mut pool, mut scratch) = (Pool::new(4, 65_536), vec![0; 10_000]);
        let mut direction = Direction::default();
        let mut taken = 0;
        for _ in 0..10_000 {
            taken += source.write(&[7; 10_000]).unwrap_or(0);
            from.readable = true;
            direction.pump(&mut from, &mut to, &mut pool, &mut scratch, true).expect("it moves");
        }
        assert!(!to.writable && pool.used() == 1);
        assert!(taken < 4_000_000, "the source is stopped: {taken}");
        direction.release(&mut pool);
        assert_eq!((pool.used(), pool.free.len()), (0, 0), "a pipe with data is not used again");
    }

    #[test]
    fn nothing_is_read_while_a_flow_may_not_read() {
        let ((mut from, mut source), (mut to, mut sink)) = (pair(), pair());
        let (mut pool, mut scratch) = (Pool::new(4, 65_536), vec![0; 10_000]);
        source.write_all(b"later").expect("there is room");
        let mut direction = Direction::default();
        direction.pump(&mut from, &mut to, &mut pool, &mut scratch, false).expect("it waits");
        assert!(sink.read(&mut [0; 8]).is_err() && direction.bytes == 0);
        direction.pump(&mut from, &mut to, &mut pool, &mut scratch, true).expect("it moves");
        assert_eq!(sink.read(&mut [0; 8]).ok(), Some(5));
    }
}
