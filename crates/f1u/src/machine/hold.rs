//! User data that waits in the box: a list of packets for each bearer, in the order in which they
//! came, in one block of memory.
//!
//! The block has the size of [`HoldConfig::total`] and is taken whole when the box starts, so a
//! packet that waits allocates nothing. A packet lies in chunks of 256 bytes that need not be
//! neighbours.
//!
//! [`HoldConfig::total`]: crate::HoldConfig::total

use crate::HoldConfig;
use justfull_base::ConfigError;

/// Bytes of a packet in one chunk.
const BYTES: usize = 240;
/// Bytes of a chunk.
pub(super) const CHUNK: usize = size_of::<Chunk>();
/// The longest packet.
const LONGEST: usize = 65_535;

#[derive(Clone, Debug)]
struct Chunk {
    /// The next chunk of the packet, or the next free one.
    next: Option<Place>,
    /// In the first chunk of a packet: the first chunk of the packet behind it.
    behind: Option<Place>,
    /// In the first chunk: bytes of the PDU; 0 for one that the sums of the bearer leave out.
    pdu: u32,
    /// In the first chunk: bytes of the packet.
    length: u32,
    bytes: [u8; BYTES],
}

/// The number of a chunk, and one.
type Place = std::num::NonZeroU32;

/// The packets of one bearer that wait; their bytes are in a [`Store`].
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The first chunks of the oldest and of the newest packet.
    ends: Option<[Place; 2]>,
    /// The oldest packet's PDU, in bytes.
    oldest: u32,
    packets: u32,
    pdus: u32,
}

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    /// Bytes of PDUs.
    pub(super) fn bytes(&self) -> u32 {
        self.pdus
    }

    /// The bytes of the next PDU.
    pub(super) fn next(&self) -> Option<u32> {
        self.ends.map(|_| self.oldest)
    }
}

/// See the module's page.
#[derive(Debug)]
pub(super) struct Store {
    /// Chunks that have been used; the capacity is never exceeded.
    chunks: Vec<Chunk>,
    free: Option<Place>,
    used: usize,
    /// The packet that [`Store::pop`] returns.
    room: Vec<u8>,
}

impl Store {
    /// An empty store; without memory if nothing may wait.
    ///
    /// # Errors
    /// The host does not give the memory.
    pub(super) fn new(config: &HoldConfig) -> Result<Self, ConfigError> {
        let mut store = Self { chunks: Vec::new(), free: None, used: 0, room: Vec::new() };
        if config.time.is_zero() {
            return Ok(store);
        }
        let bytes = usize::try_from(config.total.0).unwrap_or(usize::MAX);
        // A new packet arrives before another leaves and makes room for it.
        let most = (bytes / CHUNK).saturating_add(LONGEST.div_ceil(BYTES));
        let refused = |_| {
            let source = "the memory is taken at the start";
            ConfigError::new("hold.total", &config.total, "memory that the host has", source)
        };
        store.chunks.try_reserve_exact(most).map_err(refused)?;
        store.room.try_reserve_exact(LONGEST).map_err(refused)?;
        Ok(store)
    }

    /// Bytes of the chunks of packets that wait.
    pub(super) fn used(&self) -> usize {
        self.used * CHUNK
    }

    /// Bytes that have been used at some time; the rest of the block costs only addresses.
    pub(super) fn memory(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    /// Puts `packet` behind the packets of `held`. False, without a change, if it has no place.
    pub(super) fn push(&mut self, held: &mut Held, packet: &[u8], pdu: u32) -> bool {
        let needed = packet.len().div_ceil(BYTES);
        let left = self.chunks.capacity() - self.used;
        let Ok(length) = u32::try_from(packet.len()) else { return false };
        if needed == 0 || needed > left {
            return false;
        }
        let (mut first, mut before) = (None, None);
        for part in packet.chunks(BYTES) {
            let Some(place) = self.take() else { return false };
            self.at(place).bytes[..part.len()].copy_from_slice(part);
            match before.replace(place) {
                None => first = Some(place),
                Some(before) => self.at(before).next = Some(place),
            }
        }
        let Some(first) = first else { return false };
        let chunk = self.at(first);
        (chunk.pdu, chunk.length) = (pdu, length);
        match &mut held.ends {
            Some([_, newest]) => {
                self.at(*newest).behind = Some(first);
                *newest = first;
            }
            none => (*none, held.oldest) = (Some([first, first]), pdu),
        }
        held.packets += 1;
        held.pdus = held.pdus.wrapping_add(pdu);
        true
    }

    /// Takes the oldest packet of `held` out.
    pub(super) fn pop(&mut self, held: &mut Held) -> Option<&[u8]> {
        let [first, newest] = held.ends?;
        let Chunk { behind, pdu, length, .. } = *self.at(first);
        self.room.clear();
        let (mut next, mut left) = (Some(first), length as usize);
        while let Some(place) = next {
            let Self { chunks, room, free, used } = self;
            let chunk = &mut chunks[place.get() as usize - 1];
            let part = left.min(BYTES);
            room.extend_from_slice(&chunk.bytes[..part]);
            left -= part;
            next = std::mem::replace(&mut chunk.next, free.replace(place));
            *used -= 1;
        }
        held.packets -= 1;
        held.pdus = held.pdus.wrapping_sub(pdu);
        held.ends = behind.map(|behind| [behind, newest]);
        held.oldest = behind.map_or(0, |behind| self.at(behind).pdu);
        Some(&self.room)
    }

    /// A chunk that belongs to no packet.
    fn take(&mut self) -> Option<Place> {
        let place = match self.free {
            Some(place) => {
                let chunk = self.at(place);
                chunk.behind = None;
                self.free = std::mem::take(&mut self.at(place).next);
                place
            }
            None if self.chunks.len() < self.chunks.capacity() => {
                let (next, behind, bytes) = (None, None, [0; BYTES]);
                self.chunks.push(Chunk { next, behind, pdu: 0, length: 0, bytes });
                Place::new(u32::try_from(self.chunks.len()).ok()?)?
            }
            None => return None,
        };
        self.used += 1;
        Some(place)
    }

    fn at(&mut self, place: Place) -> &mut Chunk {
        &mut self.chunks[place.get() as usize - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::{Bytes, Duration};

    fn store(total: u64) -> Store {
        let time = Duration::from_millis(20);
        let config = HoldConfig { time, total: Bytes(total), ..HoldConfig::default() };
        Store::new(&config).expect("memory")
    }

    #[test]
    fn packets_of_two_bearers_leave_in_their_own_order_and_their_chunks_are_used_again() {
        assert_eq!(CHUNK, 256);
        let mut store = store(100_000);
        let capacity = store.chunks.capacity();
        let packet = |n: usize| vec![n as u8; 1 + n * 37 % 1_500];
        let mut lists = [Held::default(), Held::default()];
        let mut expected = [0, 1];
        for n in 0..10_000 {
            assert!(store.push(&mut lists[n % 2], &packet(n), n as u32));
            while lists[n % 2].packets() > 5 {
                let of = n % 2;
                assert_eq!(lists[of].next(), Some(expected[of] as u32));
                let left = store.pop(&mut lists[of]).expect("one waits");
                assert_eq!(left, packet(expected[of]));
                expected[of] += 2;
            }
        }
        assert_eq!(lists.each_ref().map(Held::packets), [5, 5]);
        assert_eq!(lists[0].bytes(), (9_990..10_000).step_by(2).sum::<u32>());
        for held in &mut lists {
            while store.pop(held).is_some() {}
            assert_eq!((held.packets(), held.bytes(), held.next()), (0, 0, None));
        }
        assert_eq!((store.used(), store.chunks.capacity()), (0, capacity));
        assert!(store.memory() <= 12 * 7 * CHUNK, "{}", store.memory());
    }

    #[test]
    fn a_full_store_refuses_a_packet_and_stays_as_it_is() {
        let mut store = store(100_000);
        let mut held = Held::default();
        let mut taken = 0;
        while store.push(&mut held, &[7; 1_000], 1_000) {
            taken += 1;
        }
        let bound = 100_000 + (LONGEST.div_ceil(BYTES) + 1) * CHUNK;
        assert!((100_000..=bound).contains(&store.memory()), "{}", store.memory());
        assert_eq!((held.packets(), held.bytes()), (taken, taken * 1_000));
        assert!(!store.push(&mut held, &[], 0), "a packet has bytes");
        assert!(store.pop(&mut held).is_some_and(|packet| packet == [7; 1_000]));
        assert!(store.push(&mut held, &[8; 1_000], 1_000), "its place is free");
        let none = Store::new(&HoldConfig::default()).expect("none is needed");
        assert_eq!((none.chunks.capacity(), none.memory()), (0, 0));
    }

    #[test]
    fn memory_that_the_host_has_not_is_a_wrong_setting() {
        let config = HoldConfig { time: Duration::from_millis(1), ..HoldConfig::default() };
        let config = HoldConfig { total: Bytes(u64::MAX), ..config };
        let error = Store::new(&config).expect_err("more than all addresses").to_string();
        assert!(error.contains("`hold.total`") && error.contains("the host has"), "{error}");
    }
}
