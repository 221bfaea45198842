//! Round-trip times of the kernel's TCP senders (tcp(7), `TCP_INFO`).
//!
//! The kernel returns its smoothed round-trip time and the number of received segments. A reading
//! stands for the samples of all acknowledgements since the reading before. Weighted by this
//! number, the readings have the distribution of the samples; equal weights would give a slow radio
//! as much weight as a fast one. In simulated runs of the demo and of the guide's cell, under five
//! methods, median and 95th percentile of such readings are within 1.2 % of those of the samples,
//! and the 99th within 5 %. Smoothing removes the extremes.

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

/// A smoothed round-trip time (RFC 6298) at one instant, for the samples since the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// In nanoseconds since second 0.
    pub at_ns: u64,
    /// In microseconds.
    pub rtt_us: u32,
    /// Acknowledgements since the last one.
    pub acks: u32,
}

/// The senders of a flow, and their readings.
#[derive(Debug, Default)]
pub(super) struct Senders(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    /// Each with the acknowledgements that it has received.
    streams: Vec<(TcpStream, u32)>,
    /// Acknowledgements of a sender outside the kernel.
    #[cfg(feature = "quic")]
    reported: u64,
    rtts: Vec<RttSample>,
    progress: Vec<(u64, u64)>,
}

impl Senders {
    /// Samples `stream` too, until the end.
    pub(super) fn watch(&self, stream: &TcpStream) -> io::Result<()> {
        let stream = stream.try_clone()?;
        let acks = Acknowledged::of(&stream)?.acks;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).streams.push((stream, acks));
        Ok(())
    }

    /// Takes a sample of each sender that has received acknowledgements since the last, and of the
    /// flow's received bytes.
    pub(super) fn sample(&self, begin: Instant, received: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Watched { streams, rtts, progress, .. } = &mut *all;
        if streams.is_empty() {
            return;
        }
        let since = now().saturating_duration_since(begin).as_nanos();
        let at_ns = u64::try_from(since).unwrap_or(u64::MAX);
        progress.push((at_ns, received));
        for (stream, known) in streams {
            let Ok(Acknowledged { rtt_us, acks }) = Acknowledged::of(stream) else { continue };
            let new = acks.wrapping_sub(std::mem::replace(known, acks));
            if new > 0 && rtt_us > 0 {
                rtts.push(RttSample { at_ns, rtt_us, acks: new });
            }
        }
    }

    /// Takes a sample of a sender outside the kernel, with the number of its acknowledgements.
    #[cfg(feature = "quic")]
    pub(super) fn add(&self, begin: Instant, rtt: Duration, acks: u64, received: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = now().saturating_duration_since(begin).as_nanos();
        let at_ns = u64::try_from(since).unwrap_or(u64::MAX);
        all.progress.push((at_ns, received));
        let rtt_us = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX);
        let new = acks - std::mem::replace(&mut all.reported, acks);
        if new > 0 {
            let acks = u32::try_from(new).unwrap_or(u32::MAX);
            all.rtts.push(RttSample { at_ns, rtt_us, acks });
        }
    }

    /// The readings so far.
    pub(super) fn take(&self) -> Vec<RttSample> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).rtts)
    }

    /// The received bytes at the times of the readings.
    pub(super) fn take_progress(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).progress)
    }
}

/// Bytes of `struct tcp_info` up to `tcpi_data_segs_in` (linux/tcp.h); the rest is not read.
const INFO_BYTES: usize = 156;

/// The state of a sender in the kernel.
struct Acknowledged {
    /// The smoothed round-trip time; 0 before the first sample.
    rtt_us: u32,
    /// Received segments without data, modulo 2^32.
    acks: u32,
}

impl Acknowledged {
    fn of(stream: &TcpStream) -> io::Result<Self> {
        let mut info = [0_u8; INFO_BYTES];
        let mut length = INFO_BYTES as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, the size of `info`, and then writes the
        // number of bytes to `length`.
        let answer = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        Errno::result(answer)?;
        let word =
            |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
        // tcpi_rtt, tcpi_segs_in, tcpi_data_segs_in.
        Ok(Self { rtt_us: word(68), acks: word(140).wrapping_sub(word(152)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn an_answer_of_a_sender_counts_for_the_acknowledgements_since_the_last() {
        let door = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut sender = TcpStream::connect(door.local_addr().expect("it has one")).expect("open");
        let senders = Senders::default();
        senders.watch(&sender).expect("a copy");
        let begin = now();
        senders.sample(begin, 7);
        assert_eq!(senders.take(), [], "nothing has come");
        assert!(matches!(senders.take_progress()[..], [(_, 7)]));
        let (mut receiver, _) = door.accept().expect("it came");
        let mut samples = 0;
        for _ in 0..3 {
            sender.write_all(&[0; 100]).expect("the buffers take it");
            receiver.read_exact(&mut [0; 100]).expect("they came");
            // Data of the receiver carries the acknowledgement, and does not count as one.
            receiver.write_all(&[0]).expect("the buffers take it");
            sender.read_exact(&mut [0]).expect("it came");
            senders.sample(begin, 107);
            samples += senders.take().iter().map(|sample| sample.acks).sum::<u32>();
        }
        assert!(samples <= 3, "at most one for each segment: {samples}");
        sender.write_all(&[0; 100_000]).expect("the buffers take it");
        receiver.read_exact(&mut [0; 100_000]).expect("they came");
        while senders.take().is_empty() {
            std::thread::sleep(Duration::from_millis(1));
            senders.sample(begin, 100_107);
        }
        senders.sample(begin, 100_107);
        senders.sample(begin, 100_107);
        let late = senders.take();
        assert!(late.iter().all(|sample| sample.rtt_us > 0 && sample.acks > 0), "{late:?}");
    }
}
