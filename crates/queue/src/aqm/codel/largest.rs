//! The largest packet of a lane, beside which other packets are small.
//!
//! A call and a download in one tunnel have one lane. A TCP sender fills its packets, and a call or
//! a video call sends smaller ones, so sizes tell them apart. The size of the largest packet falls
//! with each packet that leaves, so one large packet protects smaller ones for some dozens of
//! packets only.
//!
//! Known weakness: a sender that reacts to no signal and mixes sizes loses its large packets alone,
//! so its lane can grow until the queue is full.

/// Part of the size by which it falls with each packet: a sixteenth in sixteen packets.
const FALL: u32 = 256;

/// See the module's page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Largest(u32);

impl Largest {
    /// A packet of `size` bytes leaves; true if it is below 15/16 of the largest.
    pub(super) fn is_above(&mut self, size: u32) -> bool {
        self.0 = size.max(self.0 - self.0 / FALL);
        u64::from(size) * 16 < u64::from(self.0) * 15
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of `size` that are small in a row after one of 1500 B.
    fn protected(size: u32) -> usize {
        let mut largest = Largest::default();
        assert!(!largest.is_above(1500), "the first packet is the largest");
        (0..1000).take_while(|_| largest.is_above(size)).count()
    }

    #[test]
    fn a_large_packet_makes_some_dozens_of_smaller_ones_small() {
        // 1500 B fall by 5 B a packet: 11 packets leave 1445 B, above 16/15 of 1350 B, 12 do not.
        let counts = [1420, 1350, 1228, 750].map(protected);
        assert_eq!(counts, [0, 11, 38, 182]);
    }
}
