//! Clients and servers that load a proxy: one thread each, with epoll, so that they take little CPU
//! time beside it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use justfull_net::chain::Chain;
use justfull_net::clock::now;
use nix::errno::Errno;
use nix::libc;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};
use socket2::{Domain, Socket, Type};

/// Bytes of one write of a server that sends as much as it can, and of one read.
const CHUNK: usize = 256 << 10;
/// Longest time of any step.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest wait for events, in milliseconds.
const TURN_MS: u8 = 20;
/// The token of the listener.
const LISTENER: u64 = u64::MAX;

/// The behaviour of a server on each connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Service {
    /// Sends as much as the socket takes.
    Zeros,
    /// Sends the received bytes back.
    Echo,
    /// Sends a byte after the first received byte, and closes.
    Answer,
    /// After each received byte, sends this many bytes, and again each period.
    Paced(usize, Duration),
}

fn failed(e: Errno) -> io::Error {
    e.into()
}

/// Listens at `at`.
pub(crate) fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(4_096)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Serves until `stop` is set.
pub(crate) fn serve(listener: &TcpListener, service: Service, stop: &AtomicBool) -> io::Result<()> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
    epoll.add(listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER)).map_err(failed)?;
    let watched = match service {
        Service::Zeros => EpollFlags::EPOLLOUT,
        _ => EpollFlags::EPOLLIN,
    };
    let mut open: Vec<Option<TcpStream>> = Vec::new();
    let (mut free, mut paced, mut due) = (Vec::new(), Vec::new(), now());
    let (mut events, mut buffer) = (vec![EpollEvent::empty(); 512], vec![0; CHUNK]);
    while !stop.load(Ordering::Relaxed) {
        let wait = if paced.is_empty() { TURN_MS } else { 1 };
        let count = epoll.wait(&mut events, wait).or_else(interrupted)?;
        for event in &events[..count] {
            let token = event.data();
            if token == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    let index = free.pop().unwrap_or_else(|| {
                        open.push(None);
                        open.len() - 1
                    });
                    let event = EpollEvent::new(watched, index as u64);
                    epoll.add(&stream, event).map_err(failed)?;
                    open[index] = Some(stream);
                }
                continue;
            }
            let index = token as usize;
            let Some(stream) = open[index].as_mut() else { continue };
            match step(stream, service, &mut buffer) {
                Ok(true) => {
                    if matches!(service, Service::Paced(..)) && !paced.contains(&index) {
                        paced.push(index);
                    }
                }
                Ok(false) => {
                    open[index] = None;
                    paced.retain(|other| *other != index);
                    free.push(index);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => {
                    open[index] = None;
                    free.push(index);
                }
            }
        }
        if let Service::Paced(bytes, period) = service
            && now() >= due
        {
            due += period;
            for index in &paced {
                if let Some(stream) = open[*index].as_mut() {
                    // Bytes that the socket does not take are left out.
                    let _full = stream.write(&buffer[..bytes]);
                }
            }
        }
    }
    Ok(())
}

fn interrupted(error: Errno) -> io::Result<usize> {
    if error == Errno::EINTR { Ok(0) } else { Err(error.into()) }
}

/// One turn of a connection; false when it is over.
fn step(stream: &mut TcpStream, service: Service, buffer: &mut [u8]) -> io::Result<bool> {
    match service {
        Service::Zeros => stream.write(buffer).map(|_| true),
        Service::Echo => {
            let length = stream.read(buffer)?;
            stream.write_all(&buffer[..length])?;
            Ok(length > 0)
        }
        Service::Answer => {
            if stream.read(&mut buffer[..1])? > 0 {
                stream.write_all(&buffer[..1])?;
            }
            Ok(false)
        }
        Service::Paced(..) => Ok(stream.read(&mut buffer[..1])? > 0),
    }
}

/// A connection of UE `number`.
pub(crate) fn connect(number: u8, to: SocketAddr) -> io::Result<Socket> {
    let socket = from(number, to)?;
    socket.connect_timeout(&to.into(), PATIENCE)?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket)
}

/// A socket with the address of a UE; the kernel chooses its port when it connects.
fn from(number: u8, to: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    setsockopt(&socket, sockopt::IpBindAddressNoPort, &true)?;
    let own = Chain::ue(number)[usize::from(to.is_ipv6())];
    socket.bind(&SocketAddr::from((own, 0)).into())?;
    Ok(socket)
}

/// `count` connections of UEs in turn. Each has sent a byte and, with `echo`, received it back.
pub(crate) fn open(count: usize, ues: u8, to: SocketAddr, echo: bool) -> io::Result<Vec<Socket>> {
    let one = |index: usize| {
        let mut socket = connect((index % usize::from(ues)) as u8 + 1, to)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.write_all(&[1])?;
        if echo {
            socket.read_exact(&mut [0])?;
        }
        Ok(socket)
    };
    (0..count).map(one).collect()
}

/// Reads all connections for `time` and calls `mark` at its beginning and end; returns the bytes in
/// between.
pub(crate) fn drain(
    sockets: &[Socket],
    times: [Duration; 2],
    mut mark: impl FnMut(),
) -> io::Result<u64> {
    let [warm, time] = times;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
    for (index, socket) in (0..).zip(sockets) {
        socket.set_nonblocking(true)?;
        epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, index)).map_err(failed)?;
    }
    let mut events = vec![EpollEvent::empty(); 512];
    // With this flag the kernel drops the bytes and never writes to the buffer.
    let (mut buffer, flags) = (vec![0; CHUNK], MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT);
    let (begin, mut bytes) = (now() + warm, None);
    loop {
        let count = epoll.wait(&mut events, TURN_MS).or_else(interrupted)?;
        let mut got = 0;
        for event in &events[..count] {
            let socket = &sockets[event.data() as usize];
            match recv(socket.as_raw_fd(), &mut buffer, flags) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => got += length as u64,
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let at = now();
        match &mut bytes {
            Some(bytes) => {
                *bytes += got;
                if at >= begin + time {
                    mark();
                    return Ok(*bytes);
                }
            }
            None if at >= begin => {
                mark();
                bytes = Some(0);
            }
            None => {}
        }
    }
}

/// Makes connections, `parallel` at a time; each requests a byte and waits for the end. Returns the
/// number of complete ones in `time`.
pub(crate) fn connections(
    parallel: usize,
    to: SocketAddr,
    times: [Duration; 2],
    mut mark: impl FnMut(),
) -> io::Result<u64> {
    let [warm, time] = times;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
    let mut next_ue = 0_u8;
    let mut begin_one = |index: usize| -> io::Result<(Socket, bool)> {
        next_ue = next_ue % 200 + 1;
        let socket = from(next_ue, to)?;
        socket.set_nonblocking(true)?;
        match socket.connect(&to.into()) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => return Err(e),
            _ => {}
        }
        let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        epoll.add(&socket, EpollEvent::new(flags, index as u64)).map_err(failed)?;
        Ok((socket, false))
    };
    let mut all = (0..parallel).map(&mut begin_one).collect::<io::Result<Vec<_>>>()?;
    let mut events = vec![EpollEvent::empty(); 512];
    let (begin, mut done) = (now() + warm, None);
    loop {
        let count = epoll.wait(&mut events, TURN_MS).or_else(interrupted)?;
        let mut ended = 0;
        for event in &events[..count] {
            let index = event.data() as usize;
            let (socket, asked) = &mut all[index];
            if !*asked && event.events().contains(EpollFlags::EPOLLOUT) {
                socket.write_all(&[1])?;
                *asked = true;
            }
            loop {
                match socket.read(&mut [0; 8]) {
                    Ok(0) => {
                        ended += 1;
                        all[index] = begin_one(index)?;
                        break;
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        let at = now();
        match &mut done {
            Some(done) => {
                *done += ended;
                if at >= begin + time {
                    mark();
                    return Ok(*done);
                }
            }
            None if at >= begin => {
                mark();
                done = Some(0);
            }
            None => {}
        }
    }
}

/// Sends a byte there and back, `count` times, one each `period`; returns the times in ascending
/// order.
pub(crate) fn ping(to: SocketAddr, count: usize, period: Duration) -> io::Result<Vec<Duration>> {
    let mut socket = connect(1, to)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let begin: Instant = now();
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let due = begin + period * number as u32;
        std::thread::sleep(due.saturating_duration_since(now()));
        let sent = now();
        socket.write_all(&[1])?;
        socket.read_exact(&mut [0])?;
        times.push(sent.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}
