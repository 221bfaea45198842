//! A flow's state, and the work of its ends: sending and counting.

use super::echo::Echo;
use super::samples::Senders;
use super::{CHUNK, CONNECT, LOOK, SENDER_PRIORITY, ended_by_peer, refused_before, waits, window};
use justfull_net::clock::{now, raise_priority};
use justfull_run::Departures;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, poll};
use socket2::{SockAddr, Socket};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// State that the threads of a flow share: its start and end, and its counters.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) name: String,
    pub(super) begin: Instant,
    pub(super) start: Instant,
    pub(super) end: Option<Instant>,
    /// Ends all flows when it is set.
    pub(super) stop: Arc<AtomicBool>,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
    pub(super) failed: OnceLock<String>,
    pub(super) size: Option<u64>,
    /// When the whole transfer had arrived, since `begin`.
    pub(super) whole: OnceLock<Duration>,
    pub(super) senders: Senders,
}

impl Flow {
    pub(super) fn ended(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.end.is_some_and(|end| now() >= end)
    }

    /// Waits until `when`. False if the end came first.
    pub(super) fn wait_until(&self, when: Instant) -> bool {
        loop {
            if self.ended() {
                return false;
            }
            let left = when.saturating_duration_since(now());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(LOOK));
        }
    }

    /// Opens a connection. False if the end came first, since a stack that has stopped delivers no
    /// answer.
    pub(super) fn connect(&self, socket: &Socket, server: SocketAddr) -> io::Result<bool> {
        socket.set_nonblocking(true)?;
        match socket.connect(&SockAddr::from(server)) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let mut left = CONNECT;
        loop {
            let mut opened = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
            match poll(&mut opened, LOOK.as_millis() as u16) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => break,
                Err(error) => return Err(error.into()),
            }
            if self.ended() {
                return Ok(false);
            }
            left = left.saturating_sub(LOOK);
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        socket.take_error()?.map_or(Ok(()), Err)?;
        socket.set_nonblocking(false).map(|()| true)
    }

    /// Keeps the first failure of an end.
    pub(super) fn note(&self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            let _earlier = self.failed.set(error.to_string());
        }
    }

    /// Sends `size` bytes, or as many as possible until the end.
    pub(super) fn pour(&self, mut stream: TcpStream, size: Option<u64>) -> io::Result<()> {
        stream.set_write_timeout(Some(LOOK))?;
        self.senders.watch(&stream)?;
        let buffer = vec![0; CHUNK];
        let mut left = size.unwrap_or(u64::MAX);
        while left > 0 && !self.ended() {
            let chunk = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match stream.write(&buffer[..chunk]) {
                Ok(bytes) => {
                    left -= bytes as u64;
                    self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
                }
                Err(error) if waits(&error) => {}
                Err(error) => return ended_by_peer(error),
            }
        }
        // The sampler has a copy of the socket, so dropping it would not close it.
        stream.shutdown(Shutdown::Write).or_else(ended_by_peer)
    }

    /// Counts the bytes that a receiver read.
    pub(super) fn took(&self, bytes: u64) {
        let before = self.received.fetch_add(bytes, Ordering::Relaxed);
        if self.size.is_some_and(|size| before + bytes >= size) {
            self.whole.get_or_init(|| now().saturating_duration_since(self.begin));
        }
    }

    /// Reads until the other end closes.
    pub(super) fn sink(&self, mut stream: TcpStream, window: Option<u32>) -> io::Result<()> {
        stream.set_read_timeout(Some(LOOK))?;
        let mut buffer = vec![0; CHUNK];
        while !self.stop.load(Ordering::Relaxed) {
            window.map_or(Ok(()), |window| window::clamp(&stream, window))?;
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(bytes) => self.took(bytes as u64),
                Err(error) if waits(&error) => {}
                Err(error) => return ended_by_peer(error),
            }
        }
        Ok(())
    }

    /// Sends the simulator's datagrams at the simulator's times.
    pub(super) fn tick(
        &self,
        mut departures: Departures,
        mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        let _as_good_as_there_is = raise_priority(SENDER_PRIORITY);
        let buffer = vec![0; usize::from(u16::MAX)];
        let mut payloads = Vec::new();
        while let Some(at) = departures.next() {
            if !self.wait_until(self.begin + Duration::from_nanos(at.as_nanos())) {
                break;
            }
            departures.depart(|payload| payloads.push(payload as usize));
            for payload in payloads.drain(..) {
                match send(&buffer[..payload]) {
                    Ok(bytes) => _ = self.sent.fetch_add(bytes as u64, Ordering::Relaxed),
                    Err(error) if refused_before(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Counts the answers.
    pub(super) fn count_answers(&self, socket: &Socket, echo: Echo) -> io::Result<()> {
        let mut buffer = vec![0; usize::from(u16::MAX)];
        while !self.stop.load(Ordering::Relaxed) {
            self.received.fetch_add(echo.receive(socket, &mut buffer)?, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Counts the datagrams that arrive.
    pub(super) fn count(&self, socket: &UdpSocket) -> io::Result<()> {
        let mut buffer = vec![0; usize::from(u16::MAX)];
        while !self.stop.load(Ordering::Relaxed) {
            match socket.recv(&mut buffer) {
                Ok(bytes) => _ = self.received.fetch_add(bytes as u64, Ordering::Relaxed),
                Err(error) if waits(&error) || refused_before(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
