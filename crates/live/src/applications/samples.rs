//! Round-trip times of the kernel's TCP senders (tcp(7), `TCP_INFO`).

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use justfull_net::clock::now;
use nix::errno::Errno;
use nix::libc;

/// Time between two samples of a sender.
pub(super) const PERIOD: Duration = Duration::from_millis(20);

/// A smoothed round-trip time (RFC 6298) at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// In nanoseconds since second 0.
    pub at_ns: u64,
    /// In microseconds.
    pub rtt_us: u32,
}

/// The senders of a flow, and what they said.
#[derive(Debug, Default)]
pub(super) struct Senders(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    streams: Vec<TcpStream>,
    rtts: Vec<RttSample>,
    progress: Vec<(u64, u64)>,
}

impl Senders {
    /// Asks `stream` too, until the end.
    pub(super) fn watch(&self, stream: &TcpStream) -> io::Result<()> {
        let stream = stream.try_clone()?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).streams.push(stream);
        Ok(())
    }

    /// A sample of each that has data in flight, and of what has been received of a flow that has
    /// some.
    pub(super) fn sample(&self, begin: Instant, received: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Watched { streams, rtts, progress } = &mut *all;
        if streams.is_empty() {
            return;
        }
        let since = now().saturating_duration_since(begin).as_nanos();
        let at_ns = u64::try_from(since).unwrap_or(u64::MAX);
        let of_each = streams.iter().filter_map(|stream| rtt_us(stream).ok().flatten());
        progress.push((at_ns, received));
        rtts.extend(of_each.map(|rtt_us| RttSample { at_ns, rtt_us }));
    }

    /// A sample of a sender that is not the kernel's.
    #[cfg(feature = "quic")]
    pub(super) fn told(&self, begin: Instant, rtt: Duration, received: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = now().saturating_duration_since(begin).as_nanos();
        let at_ns = u64::try_from(since).unwrap_or(u64::MAX);
        all.progress.push((at_ns, received));
        let rtt_us = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX);
        all.rtts.push(RttSample { at_ns, rtt_us });
    }

    /// What they have said.
    pub(super) fn take(&self) -> Vec<RttSample> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).rtts)
    }

    /// What had been received when they were asked.
    pub(super) fn take_progress(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).progress)
    }
}

/// The smoothed round-trip time of `stream`; none while it has nothing in flight.
fn rtt_us(stream: &TcpStream) -> io::Result<Option<u32>> {
    // SAFETY: all fields are numbers, of which 0 is one.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of `info`, and what it wrote to
    // `length`.
    let answer = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    Errno::result(answer)?;
    Ok((info.tcpi_unacked > 0 && info.tcpi_rtt > 0).then_some(info.tcpi_rtt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn a_sender_is_asked_while_it_has_data_in_flight() {
        let door = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut sender = TcpStream::connect(door.local_addr().expect("it has one")).expect("open");
        let senders = Senders::default();
        senders.watch(&sender).expect("a copy");
        let begin = now();
        senders.sample(begin, 7);
        assert_eq!(senders.take(), [], "nothing is in flight");
        assert!(matches!(senders.take_progress()[..], [(_, 7)]));
        sender.write_all(&[0; 100]).expect("the buffers take it");
        let (mut receiver, _) = door.accept().expect("it came");
        receiver.read_exact(&mut [0; 100]).expect("they came");
        // Their acknowledgement may still be on its way: then there is a sample.
        senders.sample(begin, 107);
        assert!(senders.take().iter().all(|sample| sample.rtt_us > 0));
    }
}
