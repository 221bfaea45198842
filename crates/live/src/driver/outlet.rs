//! Packets on their way out to one interface at one instant. Consecutive segments of a connection
//! are written as one packet (GRO, RFC 9293 section 3.7).
//!
//! The kernel receives such a packet much faster, but acknowledges it only once. So only long runs
//! are joined: [`LEAST`] segments of 1 500 bytes in slots of 1 ms are 192 Mbit/s. The segments of
//! shorter runs, and of runs with a wrong checksum, are written one by one. Packets keep their
//! order.

use super::ports::send;
use crate::arena::Arena;
use crate::report::Account;
use justfull_net::Port;
use justfull_net::segments::{LONGEST_HEADERS, MOST_SEGMENTS, OFFLOAD_PREFIX, Run, is_sound};
use std::io::{self, IoSlice};

/// Fewest segments that are joined.
const LEAST: usize = 16;

/// The packets that wait to be written.
pub(super) struct Outlet {
    run: Run,
    /// Buffers of the packets.
    handles: Vec<u64>,
    /// Number of the interface for the packets.
    port: u32,
}

impl Outlet {
    pub(super) fn new() -> Self {
        Self { run: Run::default(), handles: Vec::with_capacity(MOST_SEGMENTS), port: 0 }
    }

    /// Number of the interface for which packets wait; none if no packet waits.
    pub(super) fn waits_for(&self) -> Option<u32> {
        (!self.handles.is_empty()).then_some(self.port)
    }

    /// Writes the packet in buffer `handle` to `port` with the number `number`, or keeps it for
    /// [`Self::flush`]. The caller has flushed the packets for other interfaces.
    #[inline]
    pub(super) fn push<P: Port>(
        &mut self,
        port: &mut P,
        number: u32,
        arena: &mut Arena,
        handle: u64,
        account: &mut Account,
    ) -> io::Result<()> {
        if !port.joins() {
            return send(port, arena, handle, account);
        }
        if let Some(first) = self.handles.first() {
            if self.run.add(arena.bytes(*first), arena.bytes(handle)) {
                self.handles.push(handle);
                return Ok(());
            }
            if let Err(error) = self.flush(port, arena, account) {
                refuse(arena, handle, account);
                return Err(error);
            }
        }
        if !self.run.begin(arena.bytes(handle)) {
            return send(port, arena, handle, account);
        }
        self.port = number;
        self.handles.push(handle);
        Ok(())
    }

    /// Writes all waiting packets to `port`.
    pub(super) fn flush<P: Port>(
        &mut self,
        port: &mut P,
        arena: &mut Arena,
        account: &mut Account,
    ) -> io::Result<()> {
        let joined = self.handles.len() >= LEAST
            && self.handles.iter().all(|handle| is_sound(arena.bytes(*handle)));
        if joined {
            return self.write(port, arena, account);
        }
        let mut outcome = Ok(());
        for handle in self.handles.drain(..) {
            if outcome.is_ok() {
                outcome = send(port, arena, handle, account);
            } else {
                refuse(arena, handle, account);
            }
        }
        outcome
    }

    /// Writes all waiting packets to `port` as one packet.
    fn write<P: Port>(
        &mut self,
        port: &mut P,
        arena: &mut Arena,
        account: &mut Account,
    ) -> io::Result<()> {
        let mut head = [0; OFFLOAD_PREFIX + LONGEST_HEADERS];
        let length = self.run.head(arena.bytes(self.handles[0]), &mut head);
        let mut parts = [IoSlice::new(&[]); 1 + MOST_SEGMENTS];
        parts[0] = IoSlice::new(&head[..length]);
        let mut bytes = 0;
        for (part, handle) in parts[1..].iter_mut().zip(&self.handles) {
            let packet = arena.bytes(*handle);
            bytes += packet.len() as u64;
            *part = IoSlice::new(&packet[self.run.payload()..]);
        }
        let sent = port.send_joined(&parts[..=self.handles.len()]);
        let count = self.handles.len() as u64;
        if matches!(sent, Ok(true)) {
            account.delivered += count;
            account.delivered_bytes += bytes;
        } else {
            account.refused += count;
        }
        self.handles.drain(..).for_each(|handle| arena.give_back(handle));
        sent.map(drop)
    }
}

/// Counts the packet in buffer `handle` as refused by an interface that has failed.
pub(super) fn refuse(arena: &mut Arena, handle: u64, account: &mut Account) {
    account.refused += 1;
    arena.give_back(handle);
}
