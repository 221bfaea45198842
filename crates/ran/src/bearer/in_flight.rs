//! SDUs between the sender's RLC and the receiver's PDCP, referenced by the descriptors of
//! segments.
//!
//! Segments, PDUs and transport blocks carry a handle, never the packet (there is only one copy of
//! a packet). An entry is made when an SDU is first cut, is *flying* once its last byte is with the
//! radio, and ends at its first complete delivery or when it is lost. The handle of an ended entry
//! is recognised by its generation and refers to nothing.

use crate::pdu::SduHandle;
use alloc::vec::Vec;
use justfull_base::{Instant, Packet};

#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    packet: Packet,
    /// Its PDCP SN.
    pdcp_sn: u32,
    generation: u32,
    /// When its last byte went to the radio; [`Instant::NEVER`] before.
    left: Instant,
    used: bool,
    /// A part of it is lost for good, but the rest has not left yet.
    lost: bool,
}

impl Flight {
    fn is_flying(&self) -> bool {
        self.left < Instant::NEVER
    }
}

/// All SDUs of a cell in transit. Memory: 88 B for each, up to the most there ever were at once.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    entries: Vec<Flight>,
    free: Vec<u32>,
    flying: u64,
    lost: u64,
}

impl InFlight {
    /// A handle for `packet` with PDCP SN `pdcp_sn`.
    pub(crate) fn open(&mut self, packet: &Packet, pdcp_sn: u32) -> SduHandle {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Flight::default());
            (self.entries.len() - 1) as u32
        });
        let entry = &mut self.entries[index as usize];
        let generation = entry.generation.wrapping_add(1);
        *entry = Flight {
            packet: *packet,
            pdcp_sn,
            generation,
            left: Instant::NEVER,
            used: true,
            lost: false,
        };
        SduHandle(u64::from(generation) << 32 | u64::from(index))
    }

    fn entry(&mut self, handle: SduHandle) -> Option<&mut Flight> {
        let entry = self.entries.get_mut(handle.0 as u32 as usize)?;
        (entry.used && u64::from(entry.generation) == handle.0 >> 32).then_some(entry)
    }

    /// The last byte of `handle` went to the radio at `now`: its packet has left the RLC queue.
    /// Returns the packet if a part of it was lost before, since it is now lost.
    pub(crate) fn launch(&mut self, now: Instant, handle: SduHandle) -> Option<Packet> {
        let entry = self.entry(handle)?;
        debug_assert!(!entry.is_flying(), "the last byte leaves once");
        entry.left = now;
        let lost = entry.lost;
        self.flying += 1;
        if lost { self.lose(handle) } else { None }
    }

    /// The PDCP SN of `handle`; none when it is gone.
    pub(crate) fn pdcp_sn(&mut self, handle: SduHandle) -> Option<u32> {
        self.entry(handle).map(|entry| entry.pdcp_sn)
    }

    /// `handle` will never be complete. Returns its packet; none if it was delivered or lost
    /// before, or if part of it has yet to leave ([`Self::launch`] then returns it).
    pub(crate) fn lose(&mut self, handle: SduHandle) -> Option<Packet> {
        let entry = self.entry(handle)?;
        if !entry.is_flying() {
            entry.lost = true;
            return None;
        }
        self.lost += 1;
        self.close(handle).map(|(packet, _)| packet)
    }

    /// `handle` is delivered. Returns its packet and when its last byte went to the radio; none if
    /// it was delivered before or is lost.
    pub(crate) fn close(&mut self, handle: SduHandle) -> Option<(Packet, Instant)> {
        let entry = self.entry(handle)?;
        debug_assert!(entry.is_flying(), "it is whole only when all of it was sent");
        entry.used = false;
        let (packet, left) = (entry.packet, entry.left);
        self.flying -= 1;
        self.free.push(handle.0 as u32);
        Some((packet, left))
    }

    /// SDUs whose last byte has left the RLC and that are neither delivered nor lost.
    pub(crate) const fn flying(&self) -> u64 {
        self.flying
    }

    /// SDUs lost after their last byte left the RLC.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_handle_stands_for_nothing() {
        let mut sdus = InFlight::default();
        let first = sdus.open(&Packet { id: 1, ..Packet::default() }, 7);
        let at = Instant::from_nanos(5);
        assert_eq!(sdus.launch(at, first), None);
        assert_eq!((sdus.flying(), sdus.pdcp_sn(first)), (1, Some(7)));
        assert_eq!(sdus.close(first).map(|(p, left)| (p.id, left)), Some((1, at)));
        let second = sdus.open(&Packet { id: 2, ..Packet::default() }, 8);
        assert_eq!(second.0 as u32, first.0 as u32, "its place is used again");
        assert_eq!((sdus.close(first), sdus.lose(first), sdus.pdcp_sn(first)), (None, None, None));
        assert_eq!((sdus.flying(), sdus.lost()), (0, 0));
        assert_eq!(sdus.launch(at, second), None);
        assert_eq!(sdus.close(second).map(|(p, _)| p.id), Some(2));
    }

    #[test]
    fn a_packet_whose_first_part_is_lost_is_lost_when_its_last_part_leaves() {
        let mut sdus = InFlight::default();
        let handle = sdus.open(&Packet { id: 3, ..Packet::default() }, 0);
        assert_eq!(sdus.lose(handle), None);
        assert_eq!((sdus.flying(), sdus.lost()), (0, 0), "it still counts as queued");
        assert_eq!(sdus.launch(Instant::ZERO, handle).map(|p| p.id), Some(3));
        assert_eq!((sdus.flying(), sdus.lost()), (0, 1));
        assert_eq!(sdus.lose(handle), None);
    }
}
