//! SDUs between the sender's RLC and the receiver's PDCP, referenced by the descriptors of
//! segments.
//!
//! Segments, PDUs and transport blocks carry a handle, never the packet, so there is only one copy
//! of a packet. An entry is made when an SDU is first cut, is *flying* once its last byte is with
//! the radio, and ends at its first complete delivery or when it is lost. The handle of an ended
//! entry is recognised by its generation and refers to nothing.
//!
//! If an SDU is held until it is acknowledged ([`Hold`](crate::config::Hold)), its entry lasts
//! until both have happened; it is flying only if it is acknowledged before it is delivered.

use crate::pdu::SduHandle;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use justfull_base::{Instant, Packet};

#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    packet: Packet,
    /// Its PDCP SN.
    pdcp_sn: u32,
    generation: u32,
    /// Time at which its last byte went to the radio; [`Instant::NEVER`] before.
    left: Instant,
    used: bool,
    /// A part of it is lost for good, but the rest has not left yet.
    lost: bool,
    /// It is with the radio, and still in its bearer's queue.
    held: bool,
    /// It was delivered while held.
    delivered: bool,
}

impl Flight {
    fn has_left(&self) -> bool {
        self.left < Instant::NEVER
    }
}

/// A delivered or lost SDU, and whether its bearer's queue still holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Landed {
    pub(crate) packet: Packet,
    /// Time at which its last byte went to the radio.
    pub(crate) left: Instant,
    pub(crate) held: bool,
}

/// An SDU that goes with its UE to another cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) packet: Packet,
    pub(crate) pdcp_sn: u32,
    /// Time at which its last byte went to the radio; none before.
    pub(crate) left: Option<Instant>,
}

/// The effect of an acknowledgement on the bearer's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledged {
    /// The SDU was delivered before: its place becomes free.
    Delivered(Packet),
    /// The UE has all of the SDU, but its PDCP delivers it later: it leaves the queue.
    Flying(Packet),
}

/// All SDUs of a cell in transit. Memory: 88 B for each, up to the greatest number at one time.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    entries: Vec<Flight>,
    free: Vec<u32>,
    flying: u64,
    lost: u64,
    /// PDCP SNs of waiting SDUs that another cell has numbered, by UE and packet.
    numbered: BTreeMap<(u32, u64), u32>,
}

impl InFlight {
    /// A handle for `packet` with PDCP SN `pdcp_sn`.
    #[inline(always)]
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
            held: false,
            delivered: false,
        };
        SduHandle(u64::from(generation) << 32 | u64::from(index))
    }

    /// The entry of `handle`, including delivered entries that are still held.
    #[inline(always)]
    fn any(&mut self, handle: SduHandle) -> Option<&mut Flight> {
        let entry = self.entries.get_mut(handle.0 as u32 as usize)?;
        (entry.used && u64::from(entry.generation) == handle.0 >> 32).then_some(entry)
    }

    #[inline(always)]
    fn entry(&mut self, handle: SduHandle) -> Option<&mut Flight> {
        self.any(handle).filter(|entry| !entry.delivered)
    }

    #[inline(always)]
    fn free(&mut self, handle: SduHandle) {
        let index = handle.0 as u32;
        self.entries[index as usize].used = false;
        self.free.push(index);
    }

    /// The last byte of `handle` went to the radio at `now`: its packet has left the RLC queue.
    /// Returns the packet if a part of it was lost before, because it is lost now.
    #[inline(always)]
    pub(crate) fn launch(&mut self, now: Instant, handle: SduHandle) -> Option<Packet> {
        let entry = self.entry(handle)?;
        debug_assert!(!entry.has_left(), "the last byte leaves once");
        entry.left = now;
        let lost = entry.lost;
        self.flying += 1;
        if lost { self.lose(handle).map(|lost| lost.packet) } else { None }
    }

    /// Like [`Self::launch`], but its bearer's queue holds the packet until it is acknowledged. A
    /// packet that was lost before is returned, and leaves the queue.
    pub(crate) fn launch_held(&mut self, now: Instant, handle: SduHandle) -> Option<Packet> {
        let entry = self.entry(handle)?;
        debug_assert!(!entry.has_left(), "the last byte leaves once");
        (entry.left, entry.held) = (now, true);
        if entry.lost { self.lose(handle).map(|lost| lost.packet) } else { None }
    }

    /// The PDCP SN of `handle`; none if the entry has ended.
    #[inline(always)]
    pub(crate) fn pdcp_sn(&mut self, handle: SduHandle) -> Option<u32> {
        self.entry(handle).map(|entry| entry.pdcp_sn)
    }

    /// `handle` will never be complete. Returns its SDU; none if it was delivered or lost before,
    /// or if part of it has yet to leave ([`Self::launch`] then returns it).
    #[inline(never)]
    pub(crate) fn lose(&mut self, handle: SduHandle) -> Option<Landed> {
        let entry = self.entry(handle)?;
        if !entry.has_left() {
            entry.lost = true;
            return None;
        }
        let Flight { packet, left, held, .. } = *entry;
        self.flying -= u64::from(!held);
        self.lost += 1;
        self.free(handle);
        Some(Landed { packet, left, held })
    }

    /// `handle` is delivered. Returns its SDU; none if it was delivered before or is lost. A held
    /// entry stays for [`Self::acknowledge`].
    #[inline(always)]
    pub(crate) fn close(&mut self, handle: SduHandle) -> Option<Landed> {
        let entry = self.entry(handle)?;
        debug_assert!(entry.has_left(), "it is whole only when all of it was sent");
        let Flight { packet, left, held, .. } = *entry;
        if held {
            entry.delivered = true;
        } else {
            self.flying -= 1;
            self.free(handle);
        }
        Some(Landed { packet, left, held })
    }

    /// The receiver has acknowledged `handle`, or the sender gives up a held one. None if the entry
    /// has ended or was not held.
    pub(crate) fn acknowledge(&mut self, handle: SduHandle) -> Option<Acknowledged> {
        let entry = self.any(handle).filter(|entry| entry.held)?;
        let packet = entry.packet;
        if entry.delivered {
            self.free(handle);
            return Some(Acknowledged::Delivered(packet));
        }
        entry.held = false;
        self.flying += 1;
        Some(Acknowledged::Flying(packet))
    }

    /// Removes and returns the PDCP SN that another cell gave to `packet`.
    #[inline(always)]
    pub(crate) fn take_number(&mut self, packet: &Packet) -> Option<u32> {
        if self.numbered.is_empty() {
            return None;
        }
        self.numbered.remove(&(packet.ue, packet.id))
    }

    /// Stores the PDCP SN `sn` that another cell gave to `packet`.
    pub(crate) fn note_number(&mut self, packet: &Packet, sn: u32) {
        self.numbered.insert((packet.ue, packet.id), sn);
    }

    /// Removes and returns the numbers that another cell has given to SDUs of `ue`, by packet.
    pub(crate) fn take_numbers(&mut self, ue: u32) -> BTreeMap<u64, u32> {
        let keys: Vec<(u32, u64)> =
            self.numbered.range((ue, 0)..=(ue, u64::MAX)).map(|(key, _)| *key).collect();
        let taken = keys.into_iter().filter_map(|key| Some((key.1, self.numbered.remove(&key)?)));
        taken.collect()
    }

    /// The UE of `handle` leaves the cell. Returns the SDU, its PDCP SN, and the instant at which
    /// its last byte left; none if the SDU has ended. The SDU is neither delivered nor lost.
    pub(crate) fn take_along(&mut self, handle: SduHandle) -> Option<Taken> {
        let &mut Flight { packet, pdcp_sn, left, .. } = self.entry(handle)?;
        let left = (left < Instant::NEVER).then_some(left);
        self.flying -= u64::from(left.is_some());
        self.free(handle);
        Some(Taken { packet, pdcp_sn, left })
    }

    /// Adds an SDU that comes with its UE: the UE has it, and it waits there for an earlier SDU.
    pub(crate) fn bring(&mut self, sdu: &Taken) -> SduHandle {
        let handle = self.open(&sdu.packet, sdu.pdcp_sn);
        if let Some(left) = sdu.left {
            let _ = self.launch(left, handle);
        }
        handle
    }

    /// `ue` leaves the cell. Its SDUs on the air are lost, and `lost` gets each; the numbers of its
    /// waiting SDUs are removed.
    pub(crate) fn lose_all_of(&mut self, ue: u32, mut lost: impl FnMut(&Packet)) {
        for index in 0..self.entries.len() {
            let entry = &self.entries[index];
            if !entry.used || entry.packet.ue != ue {
                continue;
            }
            let handle = SduHandle(u64::from(entry.generation) << 32 | index as u64);
            match self.lose(handle) {
                Some(landed) => lost(&landed.packet),
                None => self.free(handle),
            }
        }
        self.numbered.retain(|(of, _), _| *of != ue);
    }

    /// Number of SDUs that have left their bearer's queue and are neither delivered nor lost.
    pub(crate) const fn flying(&self) -> u64 {
        self.flying
    }

    /// Number of SDUs lost after their last byte left the RLC.
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
        assert_eq!(sdus.close(first).map(|sdu| (sdu.packet.id, sdu.left)), Some((1, at)));
        let second = sdus.open(&Packet { id: 2, ..Packet::default() }, 8);
        assert_eq!(second.0 as u32, first.0 as u32, "its place is used again");
        assert_eq!((sdus.close(first), sdus.lose(first), sdus.pdcp_sn(first)), (None, None, None));
        assert_eq!((sdus.flying(), sdus.lost()), (0, 0));
        assert_eq!(sdus.launch(at, second), None);
        assert_eq!(sdus.close(second).map(|sdu| sdu.packet.id), Some(2));
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
